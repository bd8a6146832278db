"""What serving engines reserve for a sequence, by their published rules; not what the architecture needs.

An engine stores whole blocks, gives layers of different kinds pages of one
size, and keeps more than a window while it works through a prompt.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from costlib.arguments import ArgumentError
from costlib.units import Quantity

__all__ = ["Blocks", "Reserved", "sglang", "vllm", "vllm_blocks"]


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """What an engine reserves on one accelerator for one sequence, or for several.

    Parameters
    ----------
    engine : str
    total : Quantity [byte]
    bytes_per_token : Quantity [byte/token]
        What one more token adds on average, once every window is full.
    constant : Quantity [byte]
        What is reserved however long a sequence is.
    rows : tuple of (str, str, Quantity [byte])
        How the total comes about: what for, the formula with the values put in, and the bytes.
    assumptions : tuple of str
        Settings of the engine that were taken for granted.
    """

    engine: str
    total: Quantity
    bytes_per_token: Quantity
    constant: Quantity
    rows: tuple[tuple[str, str, Quantity], ...]
    assumptions: tuple[str, ...] = ()


class Blocks(NamedTuple):
    """What vLLM reserves in layers of one kind: blocks in each layer, bytes of a page, the tokens that it holds."""

    kept: object
    count: int
    page: float
    tokens: int | None
    formula: str


def vllm(
    config, tokens, kv_precision=None, *, tensor_parallel=1, block=16, batched_tokens=8192, speculated_tokens=0,
    draft_layers=0,
):  # fmt: skip
    """What vLLM reserves on one accelerator for a sequence.

    Parameters
    ----------
    config : ModelConfig
        What was read of the model.
    tokens : Quantity [token]
        Length of the sequence.
    kv_precision : Quantity [byte/element], optional
        Stored size of an element of the cache; by default what the file declares.
    tensor_parallel : int
        Accelerators over which heads are split; key-value heads fewer than these are replicated, latents always.
    block : int
        Tokens of a block, unless a recurrent state's page is larger.
    batched_tokens : int
        Tokens of a step at most, ``max_num_batched_tokens``: a window keeps that many more.
    speculated_tokens : int
        Tokens speculated in a step; each keeps a copy of a recurrent state.
    draft_layers : int
        Layers of a draft head for speculation; each keeps what a full layer of the model keeps.

    Returns
    -------
    Reserved

    Raises
    ------
    ArgumentError
        If the heads cannot be split so, or a setting is no whole number.

    Notes
    -----
    Full attention takes ceil(T / block) blocks, a window
    ceil(min(w - 1 + batched, T) / block) + 1, chunks ceil(min(c + batched, T) / block),
    a recurrent layer one page. With recurrent layers the block is raised until
    its page is at least the state's: 16 ceil(state / (16 bytes per token)).
    Layers of several kinds are grouped; where the groups do not come out even, vLLM leaves a little more unused.
    The state's precision is what the file declares, or else that of the model.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165; vllm/v1/kv_cache_interface.py

    Examples
    --------
    >>> from costlib.model_config import read_table
    >>> from costlib.units import quantity, show
    >>> config = read_table({"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
    ...                      "num_key_value_heads": 8, "hidden_size": 4096, "dtype": "bfloat16"}, "example")
    >>> show(vllm(config, quantity("20000 token")).total, "GiB", digits=5)
    '2.4414 GiB'
    """
    settings = tensor_parallel, block, batched_tokens, speculated_tokens, draft_layers
    blocks = vllm_blocks(config, tokens, kv_precision, *settings)
    rows, slope, constant = [], 0.0, 0.0
    for kept, count, page, size, formula in blocks:
        rows.append(row(kept, formula, kept.layers * count * page))
        if size is None:
            constant += kept.layers * count * page
        elif kept.grows:
            slope += kept.layers * page / (size * kept.stride)
    caches = [each.kept for each in blocks if each.tokens is not None]
    precision = _precision(config, kv_precision)
    sizes = sorted({each.tokens for each in blocks if each.tokens})
    assumptions = [f"blocks of {' and of '.join(f'{size:,.0f}' for size in sizes)} tokens"] if sizes else []
    assumptions += _stored_otherwise(caches, precision)
    if precision == 1 and any(cache.kind.startswith("latent") for cache in caches):
        assumptions.append("8-bit latents with their scales; attention that is not sparse may be stored without")
    if any(cache.window for cache in caches):
        assumptions.append(f"at most {batched_tokens:,} tokens a step")
    own = dict.fromkeys(8 * size for state in config.states if (size := _precision_of_state(state)) < state.precision)
    assumptions += [f"recurrent states in the model's {bits:g} bits" for bits in own]
    return reserved("vLLM", rows, slope, constant, assumptions)


def vllm_blocks(
    config, tokens, kv_precision=None, tensor_parallel=1, block=16, batched_tokens=8192, speculated_tokens=0,
    draft_layers=0,
):  # fmt: skip
    """The blocks that vLLM reserves on one accelerator for a sequence, kind of layer by kind.

    Parameters
    ----------
    config : ModelConfig
        What was read of the model.
    tokens : Quantity [token]
        Length of the sequence.
    kv_precision : Quantity [byte/element], optional
        As in :func:`vllm`.
    tensor_parallel : int
        As in :func:`vllm`.
    block : int
        As in :func:`vllm`.
    batched_tokens : int
        As in :func:`vllm`.
    speculated_tokens : int
        As in :func:`vllm`.
    draft_layers : int
        As in :func:`vllm`.

    Returns
    -------
    list of Blocks
        Those of caches, of a draft, and of recurrent states, whose pages hold no tokens.

    Raises
    ------
    ArgumentError
        As :func:`vllm`.
    """
    n = whole_tokens(tokens)
    for name, value in (("tensor_parallel", tensor_parallel), ("block", block), ("batched_tokens", batched_tokens)):
        check_setting("vllm", name, value, 1)
    check_setting("vllm", "speculated_tokens", speculated_tokens, 0)
    check_setting("vllm", "draft_layers", draft_layers, 0)
    precision = _precision(config, kv_precision)
    _check_split(config, tensor_parallel)
    caches = [_on_one_rank(cache, tensor_parallel) for cache in _with_draft(config.caches, draft_layers)]
    states = [_state_of_vllm(state) / tensor_parallel for state in config.states]
    state_page, pages = _pages(caches, states, precision, block)
    found = []
    for cache, (page, size) in zip(caches, pages, strict=True):
        count, formula = _blocks_of_vllm(cache, n, size, batched_tokens)
        found.append(Blocks(cache, count, page, size, f"{cache.layers} layers × {formula} blocks × {page:,.0f} B"))
    copies = 1 + speculated_tokens
    for state in config.states:
        formula = f"{state.layers} layers × {copies} pages × {state_page:,.0f} B"
        found.append(Blocks(state, copies, state_page, None, formula))
    return found


def sglang(config, tokens, kv_precision=None, *, tensor_parallel=1, sequences=1, window_share=0.8):
    """What SGLang reserves on one accelerator for so many tokens.

    Parameters
    ----------
    config : ModelConfig
        What was read of the model.
    tokens : Quantity [token]
        Tokens that the pool shall hold.
    kv_precision : Quantity [byte/element], optional
        Stored size of an element of the cache; by default what the file declares.
    tensor_parallel : int
        Accelerators over which heads are split.
    sequences : int
        Requests that run at once; the pool of recurrent states has a slot more.
    window_share : float
        Tokens of the pool for windows, over those of the pool for whole contexts: ``swa_full_tokens_ratio``.

    Returns
    -------
    Reserved

    Raises
    ------
    ArgumentError
        If the heads cannot be split so, or a setting is out of range.

    Notes
    -----
    Tokens are stored one by one, in pages of one token. A model with windows has
    two pools, whose sizes stand in a fixed ratio. A recurrent state is kept in 32
    bits unless the file says otherwise.

    References
    ----------
    Zheng et al. (2024), SGLang, doi:10.48550/arXiv.2312.07104

    Examples
    --------
    >>> from costlib.model_config import read_table
    >>> from costlib.units import quantity, show
    >>> config = read_table({"model_type": "qwen3", "num_hidden_layers": 94, "num_attention_heads": 64, "head_dim": 128,
    ...                      "num_key_value_heads": 4, "hidden_size": 4096, "dtype": "bfloat16"}, "example")
    >>> show(sglang(config, quantity("367404 token"), tensor_parallel=4).total / 2, "GiB")
    '8.23 GiB'
    """
    n = whole_tokens(tokens)
    check_setting("sglang", "tensor_parallel", tensor_parallel, 1)
    check_setting("sglang", "sequences", sequences, 1)
    _check_split(config, tensor_parallel)
    if not isinstance(window_share, int | float) or not 0 < window_share <= 1:
        raise ArgumentError(f"sglang: window_share = {window_share!r}; wanted a number above 0, at most 1")
    precision = _precision(config, kv_precision)
    rows, slope, constant = [], 0.0, 0.0
    for cache in (_on_one_rank(cache, tensor_parallel) for cache in config.caches):
        size = _entry(cache, precision) * cache.layers
        held = n if cache.window is None else math.ceil(n * window_share)
        entries = held % cache.stride if cache.remainder else held // cache.stride
        rows.append(row(cache, f"{entries:,} tokens × {size:,.0f} B", entries * size))
        slope += 0 if cache.remainder else size / cache.stride * (1 if cache.window is None else window_share)
    for state in config.states:
        size = state.layers * state.bytes_per_layer / tensor_parallel
        constant += (sequences + 1) * size
        rows.append(row(state, f"({sequences} + 1) slots × {size:,.0f} B", (sequences + 1) * size))
    assumptions = _stored_otherwise(config.caches, precision)
    if windows := [cache.window for cache in config.caches if cache.window]:
        short = math.ceil(n * window_share) < min(n, max(windows))
        few = ", fewer than one sequence of this length keeps there" if short else ""
        assumptions.append(f"a pool for windows of {window_share:g} of the tokens{few}")
    if config.states:
        assumptions.append(f"{sequences} running and one spare slot for recurrent states")
    return reserved("SGLang", rows, slope, constant, assumptions)


def _with_draft(caches, layers):
    """The caches, and so many layers more of the first full kind."""
    full = next((cache for cache in caches if cache.grows), None)
    return [*caches, replace(full, layers=layers)] if layers and full else list(caches)


def _check_split(config, ranks):
    """Refuse ranks over which query heads or recurrent states do not come out even."""
    if config.query_heads is not None and config.query_heads % ranks:
        raise ArgumentError(f"tensor_parallel = {ranks}; wanted a divisor of {config.query_heads} query heads")
    if any(state.elements % ranks or state.conv_elements % ranks for state in config.states):
        raise ArgumentError(f"tensor_parallel = {ranks}; wanted a divisor of the heads that recur")


def _on_one_rank(cache, ranks):
    """What one of several accelerators holds: its share of the heads, one at least; a latent whole."""
    if cache.heads == 1 or ranks == 1:
        return cache
    if cache.heads % ranks and ranks % cache.heads:
        raise ArgumentError(
            f"tensor_parallel = {ranks}; wanted a divisor or a multiple of the {cache.heads} key-value heads"
        )
    return replace(cache, heads=max(1, cache.heads // ranks))


def _pages(caches, states, precision, block):
    """The page of a recurrent state, and for each cache the size of its page and the tokens that it holds.

    Layers that all keep the whole context have pages of their own; those of
    different kinds share the size of the largest.
    """
    sizes = [_entry_of_vllm(cache, precision) for cache in caches]
    if not states and all(cache.window is None for cache in caches):
        return 0, [(block * size, block) for size in sizes]
    widest, state = max(sizes, default=0), max(states, default=0)
    if widest == 0:
        return state, []
    page = widest * max(block, block * math.ceil(state / (block * widest)))
    return page, [(page, page // size // block * block) for size in sizes]


def _blocks_of_vllm(cache, n, size, batched):
    """Blocks that a sequence takes in one layer, and their formula."""
    tokens, shown = n, f"{n:,}"
    if cache.remainder:
        tokens, shown = min(n, cache.stride), f"{min(n, cache.stride):,}"
    elif cache.stride > 1:
        tokens, shown = n // cache.stride, f"{n:,}/{cache.stride}"
    if cache.window is None:
        return math.ceil(tokens / size), f"ceil({shown} / {size:,.0f})"
    if cache.kind == "chunked":
        return math.ceil(
            min(cache.window + batched, n) / size
        ), f"ceil(min({cache.window:,} + {batched:,}, {n:,}) / {size:,.0f})"
    held = min(cache.window - 1 + batched, n)
    return math.ceil(held / size) + 1, f"(ceil(min({cache.window:,} - 1 + {batched:,}, {n:,}) / {size:,.0f}) + 1)"


def _entry_of_vllm(cache, precision):
    """Bytes of one token in one layer; an 8-bit latent has scales, and its positional key stays in 16 bits."""
    if cache.kind.startswith("latent") and precision == 1:
        return cache.key_dim + math.ceil(cache.key_dim / 128) * 4 + 2 * cache.value_dim
    return _entry(cache, precision)


def _entry(cache, precision):
    """Bytes of one token in one layer; an indexer's key is stored in 8 bits, with a scale of 32 for each 128."""
    if cache.kind == "indexer":
        return cache.key_dim + math.ceil(cache.key_dim / 128) * 4
    return cache.heads * (cache.key_dim + cache.value_dim) * (precision if cache.precision is None else cache.precision)


def _stored_otherwise(caches, precision):
    """What is stored in another precision than that of the cache, or in the one format of a size that engines have."""
    said = [f"keys and values stored as {STORED[precision]}"] if precision < 1 else []
    return [*said, *(["keys of the indexer in 8 bits"] if any(cache.kind == "indexer" for cache in caches) else [])]


def _state_of_vllm(state):
    """Bytes of a layer's state: in the model's precision, unless the file declares another."""
    return state.elements * _precision_of_state(state) + state.conv_elements * state.conv_precision


def _precision_of_state(state):
    """Bytes of an element of a state in vLLM."""
    return state.precision if state.declared else state.conv_precision


STORED = {4: "fp32", 2: "bf16 or fp16", 1: "fp8", 0.5625: "nvfp4"}  # bytes of an element, scales included


def _precision(config, given):
    size = config.precision(given).m_as("byte/element")
    if size not in STORED:
        raise ArgumentError(f"kv_precision = {size:g} B/element; wanted that of {', '.join(STORED.values())}")
    return size


def whole_tokens(tokens):
    """A length as a plain number, refused where it is not whole."""
    n = tokens.m_as("token") if isinstance(tokens, Quantity) and tokens.is_compatible_with("token") else None
    if not isinstance(n, int | float) or not 0 <= n < 1e15 or n != int(n):
        raise ArgumentError(f"tokens = {tokens!r}; wanted a whole number of tokens")
    return int(n)


def check_setting(engine, name, value, low):
    """Refuse a setting that is no whole number from so much on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ArgumentError(f"{engine}: {name} = {value!r}; wanted a whole number, {low} or more")


def row(kept, formula, size):
    """A line of how a total comes about."""
    return f"{kept.layers} layers, {kept.kind}", formula, Quantity(float(size), "byte")


def reserved(engine, rows, slope, constant, assumptions):
    """An answer from its lines."""
    return Reserved(
        engine=engine,
        total=sum((size for _, _, size in rows), Quantity(0.0, "byte")),
        bytes_per_token=Quantity(float(slope), "byte/token"),
        constant=Quantity(float(constant), "byte"),
        rows=tuple(rows),
        assumptions=tuple(assumptions),
    )
