"""What llama.cpp reserves, by the rules of its source; a test compares it with what the real one allocates.

Its caches have their whole size from the start: cells for all the context that
a slot may have. Nothing is stored in blocks of tokens, and nothing grows later.
"""

import math

from costlib.arguments import ArgumentError
from costlib.model_config.engines import check_setting, reserved, row, whole_tokens
from costlib.model_config.precision import FORMATS, precision_of
from costlib.units import Quantity

__all__ = ["llama_cpp"]

PAD = 256  # cells of a cache are a multiple of it
STORED = "fp32 fp16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0".split()  # its formats of a cache
STATE = 4  # bytes of an element of a recurrent state, of the convolution's inputs too
KNOWN = ("full", "sliding", "chunked", "latent", "indexer")

# Architectures whose windows it knows; of all others every layer keeps the whole context.
WINDOWED = frozenset(
    "afmoe cohere2 cohere2moe exaone4 exaonemoe gemma2 gemma3 gemma3n gemma4 gptoss graniteswa laguna lfm2 llama4"
    " mellum mimo2 mimov2 olmo2 olmo3 plamo3 smallthinker spark25 step35 step3p5".split()
)


def llama_cpp(
    config, tokens, kv_precision=None, *, value_precision=None, sequences=1, unified=False, micro_batch=512
):  # fmt: skip
    """What llama.cpp reserves for so many slots, each for a sequence of so many tokens.

    Parameters
    ----------
    config : ModelConfig
        What was read of the model.
    tokens : Quantity [token]
        Length of a sequence: ``--ctx-size`` over ``--parallel``.
    kv_precision : Quantity [byte/element], optional
        Stored size of an element of the keys, ``--cache-type-k``; by default what the file declares.
    value_precision : Quantity [byte/element], optional
        The same of the values, ``--cache-type-v``; by default that of the keys.
    sequences : int
        Slots, ``--parallel``.
    unified : bool
        Whether all slots share one cache, ``--kv-unified``.
    micro_batch : int
        Tokens that are computed at once, ``--ubatch-size``: a window keeps that many more.

    Returns
    -------
    Reserved

    Raises
    ------
    ArgumentError
        If it has no such format, heads are no whole blocks of it, it is not
        known how it stores a layer, or a setting is no whole number.

    Notes
    -----
    A cache has the context's cells, rounded up to 256, and one of windows
    min(context, w + micro-batch), rounded up: for each slot, or once where it is
    unified, with a window for each sequence. A latent has no values. Recurrent
    states are in 32 bits, the convolution's inputs too, one for each slot.
    Exact for an architecture that llama.cpp has, without a draft model.

    References
    ----------
    src/llama-kv-cache.cpp, src/llama-kv-cache-iswa.cpp, src/llama-memory-recurrent.cpp and src/llama-hparams.cpp
    in https://github.com/ggml-org/llama.cpp

    Examples
    --------
    >>> from costlib.model_config import read_table
    >>> from costlib.units import quantity, show
    >>> config = read_table({"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
    ...                      "num_key_value_heads": 8, "hidden_size": 4096, "dtype": "float16"}, "example")
    >>> show(llama_cpp(config, quantity("20000 token")).total, "MiB", digits=5)
    '2,528 MiB'
    >>> show(llama_cpp(config, quantity("20000 token"), quantity("1.0625 byte/element")).total, "MiB", digits=5)
    '1,343 MiB'
    """
    check_setting("llama_cpp", "sequences", sequences, 1)
    check_setting("llama_cpp", "micro_batch", micro_batch, 1)
    keys = _format("kv_precision", config.kv_precision if kv_precision is None else kv_precision)
    values = keys if value_precision is None else _format("value_precision", value_precision)
    slots, windows = (1, sequences) if unified else (sequences, 1)
    context = _padded(whole_tokens(tokens) * (sequences if unified else 1))
    heeds = _heeds_windows(config.model_type)
    rows, slope, constant = [], 0.0, 0.0
    for cache in config.caches:
        size = _entry(cache, keys, values)
        cells, shown = context, f"{context:,}"
        if cache.window is not None and heeds:
            cells = _padded(min(context, cache.window * windows + micro_batch))
            shown = f"pad(min({context:,}, {cache.window:,} × {windows} + {micro_batch:,})) = {cells:,}"
        else:
            slope += cache.layers * size
        formula = f"{cache.layers} layers × {slots} × {shown} cells × {size:,.0f} B"
        rows.append(row(cache, formula, cache.layers * slots * cells * size))
    for state in config.states:
        elements = state.elements + state.conv_elements
        size = state.layers * sequences * elements * STATE
        constant += size
        rows.append(row(state, f"{state.layers} layers × {sequences} slots × {elements:,} × {STATE} B", size))
    stored = f"keys stored as {keys[0]}, values as {values[0]}"
    assumptions = [stored, *_assumed(config, heeds, slots, sequences, micro_batch)]
    return reserved("llama.cpp", rows, slope, constant, assumptions)


def _assumed(config, heeds, slots, sequences, micro_batch):
    """Settings that were taken for granted, and what it does otherwise than the architecture."""
    if sequences == 1:
        yield "one slot"
    else:
        yield f"one cache for {sequences} slots" if slots < sequences else f"a cache for each of {sequences} slots"
    if any(cache.window for cache in config.caches):
        yield (
            f"{micro_batch:,} tokens computed at once"
            if heeds
            else f"the whole context in every layer: it has no windows for {config.model_type}"
        )


def _heeds_windows(model_type):
    """Whether it knows windows of this architecture, by its name there or in a config.json."""
    return model_type.removesuffix("_text").replace("-", "").replace("_", "").replace(".", "") in WINDOWED


def _entry(cache, keys, values):
    """Bytes of a cell in one layer: a row of keys and one of values, each of whole blocks."""
    if cache.kind not in KNOWN or cache.stride > 1:
        raise ArgumentError(f"llama_cpp: {cache.layers} layers of kind {cache.kind!r}; how it stores them is unknown")
    if cache.kind == "latent":
        if values != keys:
            raise ArgumentError(
                "llama_cpp: value_precision is not kv_precision; wanted one for both, as it stores latents"
            )
        return cache.heads * _row_size("kv_precision", keys, cache.key_dim + cache.value_dim)
    return cache.heads * (
        _row_size("kv_precision", keys, cache.key_dim) + _row_size("value_precision", values, cache.value_dim)
    )


def _row_size(name, stored, width):
    _, precision, block = stored
    if width % block:
        raise ArgumentError(
            f"llama_cpp: {name} = {precision:g} B/element; wanted a format whose blocks of {block} divide {width}"
        )
    return width * precision


def _format(name, given):
    """The first format of this size: its name, bytes of an element, and elements of a block."""
    sizes = {precision_of(label).m_as("byte/element"): label for label in reversed(STORED)}
    size = given.m_as("byte/element") if isinstance(given, Quantity) and given.is_compatible_with("byte/element") else 0
    if size not in sizes:
        said = f"{size:g} B/element" if size else repr(given)
        raise ArgumentError(f"llama_cpp: {name} = {said}; wanted that of {', '.join(STORED)}")
    return sizes[size], size, FORMATS[sizes[size]][1] or 1


def _padded(cells):
    return math.ceil(cells / PAD) * PAD
