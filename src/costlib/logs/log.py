"""What a log says: sizes, pools and the ranks that spoke, and how a server at work used them."""

import math
from dataclasses import dataclass, field

from costlib.units import Quantity

__all__ = ["Log", "Pool", "Rank", "Use"]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One pool of state, as an engine allocates it.

    Parameters
    ----------
    kind : str
        ``full``, ``sliding``, ``indexer``, ``recurrent``; ``draft`` where it is of a second model.
    size : Quantity [byte]
    tokens : int, optional
        Tokens or cells that it holds; of a recurrent pool, slots.
    layers, sequences, streams : int, optional
        Layers that share it; sequences for which it is, and the parts into which it is split for them.
    keys, values : str, optional
        Formats.
    """

    kind: str
    size: Quantity
    tokens: int | None = None
    layers: int | None = None
    sequences: int | None = None
    streams: int = 1
    keys: str | None = None
    values: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rank:
    """One tensor-parallel rank, or one device, that speaks in a log."""

    name: str
    weights: Quantity | None = None
    cache: Quantity | None = None
    tokens: Quantity | None = None
    memory: Quantity | None = None


@dataclass(frozen=True, kw_only=True)
class Use:
    """How a server at work used its pool, over all lines that say so.

    Parameters
    ----------
    lines : int
    mean, peak : float
        Shares of the pool.
    running, waiting : int
        Requests, at most.
    preemptions : int, optional
        Requests that had to give their state back.
    hit_rate : float, optional
        Share of the prefix found in the cache: by tokens where the engine counts them, otherwise as it last printed.
    """

    lines: int
    mean: float | None = None
    peak: float | None = None
    running: int | None = None
    waiting: int | None = None
    preemptions: int | None = None
    hit_rate: float | None = None


@dataclass(frozen=True, kw_only=True)
class Log:
    """What the last complete start-up of a log says; None where it does not.

    Parameters
    ----------
    engine : str
        ``vllm``, ``sglang``, ``llama.cpp``, ``ollama`` or ``tensorrt_llm``.
    version, model : str, optional
    ranks : tuple of Rank
        Those that speak: of an engine that splits layers, its ranks; of llama.cpp and ollama, devices.
    smallest : Rank, optional
        The rank whose pool is least.
    weights : Quantity [byte], optional
        Of all ranks that say so.
    cache : Quantity [byte], optional
        The pool: that of the smallest rank, where ranks have one each.
    tokens : Quantity [token], optional
        What the pool holds, as printed.
    block : Quantity [token], optional
    blocks : int, optional
    context_limit : Quantity [token], optional
        Of one sequence.
    concurrency : float, optional
        Sequences of that length, as printed.
    sequences : int, optional
        Slots, or requests that may run at once.
    kv_format : str, optional
    utilisation : float, optional
        Share of a card's memory that the engine may use.
    memory : Quantity [byte], optional
        Of a card.
    needed : Quantity [byte], optional
        What one sequence needs, where it refused to start.
    refused : str, optional
        Why it did not start.
    settings : dict
        What else it says of itself: ``tensor_parallel``, ``batched_tokens``, ``micro_batch``, ``unified``, …
    pools : tuple of Pool
        Parts of the cache, where they are printed.
    hybrid : bool, optional
        Whether layers of several kinds share the pool, so that its tokens are no measure; None where the log does
        not tell.
    use : Use, optional
        Of the server at work.
    rounding : dict
        Half a unit of the last digit that was printed, of ``weights``, ``cache``, ``needed`` in bytes and of
        ``concurrency``.
    notes : tuple of str
        Units that are printed wrongly, what was passed over, and what is contradictory.
    readings : tuple of Reading
        The lines that it comes from.
    starts : int
        Start-ups that came to their end; the last counts.
    known, unknown : int
        Lines.
    """

    engine: str
    version: str | None = None
    model: str | None = None
    ranks: tuple[Rank, ...] = ()
    smallest: Rank | None = None
    weights: Quantity | None = None
    cache: Quantity | None = None
    tokens: Quantity | None = None
    block: Quantity | None = None
    blocks: int | None = None
    context_limit: Quantity | None = None
    concurrency: float | None = None
    sequences: int | None = None
    kv_format: str | None = None
    utilisation: float | None = None
    memory: Quantity | None = None
    needed: Quantity | None = None
    refused: str | None = None
    settings: dict = field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    hybrid: bool | None = None
    use: Use | None = None
    rounding: dict = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    readings: tuple = field(default=(), repr=False, compare=False)
    starts: int = 0
    known: int = 0
    unknown: int = 0

    def sessions(self, context=None, model=None):
        """Whole contexts of a length that the pool holds.

        Parameters
        ----------
        context : Quantity [token], optional
            By default the context limit that the log states.
        model : ModelConfig, optional
            With it a printed count of tokens can be trusted, or not.

        Returns
        -------
        Quantity [sequence] or None
            None where the log does not tell: of layers of several kinds the tokens of the pool are no measure, and
            concurrency holds for the length that it was printed for.
        """
        context = self.context_limit if context is None else context
        if context is None or not context.m_as("token") > 0:
            return None
        count = self._sessions(math.ceil(context.m_as("token")), self._plain(model))
        return None if count is None else Quantity(float(math.floor(count + 1e-9)), "sequence")

    def _plain(self, model):
        """Whether every layer keeps the whole context, so that tokens are a measure."""
        if model is not None:
            return not model.states and all(cache.window is None for cache in model.caches)
        return self.hybrid is False

    def _sessions(self, context, plain):
        if self.engine in ("llama.cpp", "ollama"):
            return self._slots(context)
        at_limit = self.context_limit is not None and context == self.context_limit.m_as("token")
        if self.engine == "vllm" and at_limit and self.concurrency is not None:
            return self._printed(context)
        if self.engine == "vllm" and at_limit and self.needed is not None and self.cache is not None:
            return max(0, self.cache.m_as("byte")) // max(1, self.needed.m_as("byte"))
        if self.settings.get("recurrent_slots") and self.tokens is not None:  # a pool of its own, beside that of tokens
            return min(self.tokens.m_as("token") // context, self.sequences or self.settings["recurrent_slots"])
        if not plain or self.tokens is None:
            return None
        block = 1 if self.block is None else max(1, self.block.m_as("token"))
        return self.tokens.m_as("token") // (math.ceil(context / block) * block)

    def _printed(self, context):
        """The printed concurrency: at the least that it may be, unless the tokens say it with more digits."""
        half = self.rounding.get("concurrency", 0.0)
        by_tokens = None if self.tokens is None else self.tokens.m_as("token") / context
        if by_tokens is not None and abs(by_tokens - self.concurrency) <= half:
            return by_tokens
        started = 1 if self.refused is None and self.concurrency >= 1 else 0  # it does not start with less
        return max(started, self.concurrency - half)

    def _slots(self, context):
        """Of an engine that gives each slot its cells at the start."""
        if self.sequences is None or self.context_limit is None:
            return None
        if context > self.context_limit.m_as("token"):
            return 0
        if self.settings.get("unified") and self.tokens is not None:
            return min(self.sequences, self.tokens.m_as("token") // context)
        return self.sequences
