"""What accelerators hold beside a model's weights: the state of a token, of a session, and how many sessions."""

import bisect
import math
from dataclasses import dataclass, field

from costlib import capacity
from costlib.arguments import ArgumentError
from costlib.hardware import Accelerator
from costlib.model_config import ModelConfig, Refused
from costlib.model_config.engines import sglang, vllm
from costlib.model_config.fields import TOKENS
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.rank import Rank
from costlib.model_config.weights import Weights
from costlib.units import Quantity, show

__all__ = [
    "AS_LOADED",
    "ENGINES",
    "FAR",
    "NEEDS",
    "Cards",
    "count_of",
    "engine_of",
    "foreign",
    "loaded",
    "on_host",
    "quantised",
    "ranks_of",
    "settings_of",
]

NEEDS = "the model needs"
ENGINES = ("vLLM", "SGLang", "llama.cpp")
OF_LOGS = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp", "ollama": "llama.cpp"}
SETTINGS = {"vLLM": "batched_tokens", "llama.cpp": "micro_batch"}  # of a log, as the engines' functions have them
SAME = 0.1  # of a card's memory: a process sees a few per cent less than the driver
FAR = 0.15  # of what is predicted: no padding and no rounding explains it
MORE = 1.5  # times what is stored: ranks that load less than that share one copy
SMALLER = 0.6  # of what an engine may use: it fills a card, but for what is neither weights nor cache
LEAST = 0.09  # of 16 bits: no format stores a weight in less than a bit and a half
FILLS = ("vllm", "sglang")  # engines whose pool is what the weights leave
WIDE = ("F16", "BF16", "F32")  # files of llama.cpp that are not quantised
AS_LOADED = "as loaded, by the log"
NOTHING = Quantity(0.0, "byte")
MANY = 10**6  # sessions: more than any pool holds


def foreign(cards, log, comparisons, *, weights_given=False):
    """Why a log is not of this model on this machine, as a sentence; None where it can be."""
    if log is None:
        return None
    why = _other_model(cards, log, comparisons, weights_given) or _other_machine(cards, log)
    return why and f"The log {why}{f' ({log.model})' if log.model else ''}. It is shown here, and not used."


def _other_model(cards, log, comparisons, weights_given):
    """Why it cannot be of this model, stored so."""
    weights, *_ = loaded(log, cards.count, cards.weights.size)
    less = weights is not None and weights < (1 - FAR) * cards.weights.size
    if less and (weights_given or not quantised(log) or weights < LEAST * cards.weights.size):
        return (
            f"is of another model, whose weights are {show(weights, 'GB', 3)}, not {show(cards.weights.size, 'GB', 3)}"
        )
    for one in comparisons:
        if one.what != "weights" and abs(one.difference or 0) > FAR and not one.closed:
            share = show(Quantity(1 + one.difference, ""), "percent", 3)
            are = "are" if one.what.endswith("s") else "is"
            return f"is of another model, as its {one.what} {are} {share} of what is predicted"
    return None


def _other_machine(cards, log):
    """Why it is of another machine: by what it states of it, or else by what its cards hold."""
    ranks = ranks_of(log, cards.count, cards.weights.size)
    if ranks != cards.count:
        return f"is of another machine, {show(Quantity(ranks, 'accelerator'))} to a copy"
    memory = cards.accelerator.memory
    if log.memory is not None:
        differs = abs(log.memory / memory - 1) > SAME
        return f"is of another machine, {show(log.memory, 'GB', 3)} to a card" if differs else None
    taken = max((_held_by(rank) for rank in log.ranks if not on_host(rank)), default=NOTHING)
    if taken > memory:
        return (
            f"is of another machine: weights and cache take {show(taken, 'GB', 3)} on each card, "
            f"which has {show(memory, 'GB', 3)}"
        )
    usable = memory * (cards.utilisation if log.utilisation is None else log.utilisation)
    if _takes_what_is_left(log) and taken < SMALLER * usable:
        return (
            f"looks like one of a smaller card: weights and cache take {show(taken, 'GB', 3)} on each, "
            f"and the engine may use {show(usable, 'GB', 3)} of this one"
        )
    return None


def _held_by(rank):
    return sum((size for size in (rank.weights, rank.cache) if size is not None), NOTHING)


def _takes_what_is_left(log):
    """Whether the pool of every rank is all that was left on its card, and what it stands beside is known too."""
    told = log.engine not in FILLS or "override" in log.settings or log.refused
    return not told and bool(log.ranks) and all(None not in (rank.weights, rank.cache) for rank in log.ranks)


def quantised(log):
    """Whether the weights of a log may be quantised where those of the model's file are not."""
    if log.engine in ("llama.cpp", "ollama"):
        return log.settings.get("file_type") not in WIDE
    return log.settings.get("quantisation", "None") != "None"


def on_host(rank):
    """Whether a device of a log is the main memory."""
    return rank.name.upper().startswith("CPU") or rank.name.endswith("_Host")


def count_of(log):
    """Accelerators of a log: as it states, or else the ranks or devices that speak; one without a log."""
    if log is None:
        return 1
    return _stated(log) or max(1, sum(not on_host(rank) for rank in log.ranks))


def ranks_of(log, count, stored):
    """Ranks that share one copy of the model, by a log: as it states, or else so many as are planned.

    If those that speak load about what is stored, they are all, and be they more than are planned.
    """
    speak = _with_weights(log)
    if (
        not _stated(log)
        and speak > count
        and log.engine in FILLS
        and stored is not None
        and log.weights < MORE * stored
    ):
        return speak
    if _stated(log) or not 0 < speak < count or engine_of(log) == "llama.cpp":
        return _stated(log) or count
    return speak if stored is not None and stored**2 < log.weights**2 * count / speak else count


def loaded(log, count, stored=None):
    """Weights on all ranks, by a log, and how many of how many speak; the others are taken to load as much."""
    if log is None or log.weights is None:
        return None, count, count
    ranks, speak = ranks_of(log, count, stored), _with_weights(log)
    if not 0 < speak < ranks or engine_of(log) == "llama.cpp":
        return log.weights, ranks, ranks
    return log.weights * ranks / speak, speak, ranks


def _with_weights(log):
    return sum(rank.weights is not None for rank in log.ranks)


def _stated(log):
    stated = [log.settings[name] for name in ("tensor_parallel", "pipeline_parallel") if name in log.settings]
    return math.prod(stated) if stated else None


def settings_of(log):
    """Settings that a log states, by the engine's column."""
    engine = engine_of(log)
    name = SETTINGS.get(engine)
    value = log.settings.get(name) if name else None
    return {engine: {name: value}} if value else {}


def engine_of(log):
    """The engine of a log, as its column is called; None where what it reserves is not known here."""
    return OF_LOGS.get(log.engine) if log is not None else None


@dataclass(frozen=True, kw_only=True)
class Cards:
    """So many accelerators that share a model, and what they hold.

    Parameters
    ----------
    model : ModelConfig
    accelerator : Accelerator
    count : int
        Accelerators that share one copy of the model.
    precision : Quantity [byte/element]
        Stored size of an element of the cache.
    weights : Weights
        Of the whole model.
    utilisation : Quantity []
        Share of an accelerator's memory that the engine may use.
    runtime : Quantity [byte]
        What is neither weights nor cache, on each.
    settings : dict of str to dict
        Of an engine, by its column: arguments of the function that says what it reserves.
    """

    model: ModelConfig
    accelerator: Accelerator
    count: int
    precision: Quantity
    weights: Weights
    utilisation: Quantity
    runtime: Quantity
    settings: dict = field(default_factory=dict)

    @property
    def room(self):
        """What is left for state on one accelerator; negative where the weights do not fit."""
        share = self.weights.size / self.count
        return capacity.engine_pool(self.accelerator.memory, self.utilisation, share, self.runtime)

    def kept(self, column, tokens):
        """State of one session on all accelerators: what grows a token, what does not, and the whole."""
        if column == NEEDS:
            total, growth = self.model.state(tokens, self.precision), self.model.bytes_per_token(self.precision)
        else:
            reserved = self._reserved(column, tokens)
            times = 1 if column == "llama.cpp" else self.count
            total, growth = times * reserved.total, times * reserved.bytes_per_token
        return growth, total - growth * tokens, total

    def sessions(self, column, tokens, room=None):
        """Sessions of so many tokens in the room of each accelerator, by what the model needs or an engine reserves."""
        room = self.room if room is None else room
        if column == "SGLang":
            return Quantity(float(self._slots(tokens, room)), "session")
        return capacity.resident_sequences(room, self.on_each(column, tokens)).to("session")

    def on_each(self, column, tokens):
        """State of one session on each accelerator."""
        if column == NEEDS:
            return self._rank(tokens).state(tokens.m_as("token"))
        reserved = self._reserved(column, tokens).total
        return reserved / self.count if column == "llama.cpp" else reserved

    def copies(self, tokens):
        """How many times the accelerators store each byte of state between them."""
        return self._rank(tokens).copies

    def lacks(self, column, tokens):
        """Why an engine does not serve this; None where it does."""
        if column == "llama.cpp" and self.count > self.model.layers:
            return f"it splits layers; wanted at most {self.model.layers} accelerators"
        try:
            _, _, total = self.kept(column, tokens)
        except (ArgumentError, Refused) as error:
            return str(error)
        return None if total.magnitude > 0 else f"of {show(tokens, digits=15)} it keeps nothing"

    def assumptions(self, column, tokens):
        """Settings of an engine that were taken for granted."""
        return () if column == NEEDS else self._reserved(column, tokens).assumptions

    def _rank(self, tokens):
        return Rank(self.model, tokens, self.precision, self.count)

    def _reserved(self, column, tokens, sequences=1):
        """What an engine reserves on one accelerator; llama.cpp, which splits layers and not heads, on all of them."""
        settings = self.settings.get(column, {})
        if column == "vLLM":
            return vllm(self.model, tokens, self.precision, tensor_parallel=self.count, **settings)
        if column == "llama.cpp":
            return llama_cpp(self.model, tokens, self.precision, **settings)
        pool = sequences * tokens
        return sglang(self.model, pool, self.precision, tensor_parallel=self.count, sequences=sequences)

    def _slots(self, tokens, room):
        """Sessions whose tokens and states SGLang's pools hold."""

        def taken(sessions):
            return self._reserved("SGLang", tokens, sessions).total.m_as("byte")

        most = min(MANY, int(TOKENS[1] / tokens.m_as("token")))
        return bisect.bisect_right(range(1, most + 1), room.m_as("byte") * (1 + 1e-12), key=taken)
