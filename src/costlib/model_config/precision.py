"""The formats in which engines store the elements of a cache."""

from costlib.kv_cache import block_precision
from costlib.schema import InputError, nearest
from costlib.units import Quantity

__all__ = ["FORMATS", "precision_of"]

# bits of an element, elements that share scales, bytes of those scales
FORMATS = {
    "fp32": (32, None, 0),
    "fp16": (16, None, 0),
    "bf16": (16, None, 0),
    "fp8": (8, None, 0),
    "int8": (8, None, 0),
    "int4": (4, None, 0),
    "q8_0": (8, 32, 2),
    "q5_0": (5, 32, 2),
    "q5_1": (5, 32, 4),
    "q4_0": (4, 32, 2),
    "q4_1": (4, 32, 4),
    "nvfp4": (4, 16, 1),
    "mxfp4": (4, 32, 1),
}
SPELLINGS = {
    **{name: name for name in FORMATS},
    "float32": "fp32",
    "f32": "fp32",
    "float16": "fp16",
    "f16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
}


def precision_of(name):
    """Stored size of one element in a format, by its name: with the scales of its blocks.

    Parameters
    ----------
    name : str
        ``bf16``, ``fp8``, ``q8_0``, …, or a spelling of it such as ``bfloat16``.

    Returns
    -------
    Quantity [byte/element]

    Raises
    ------
    InputError
        For a name that is not known.

    Notes
    -----
    Exact where heads divide into whole blocks. Scales of a whole tensor are too few to count.

    References
    ----------
    Rouhani et al. (2023), doi:10.48550/arXiv.2310.10537; ggml-common.h of llama.cpp

    Examples
    --------
    >>> from costlib.units import show
    >>> show(precision_of("q8_0"), digits=5)
    '1.0625 B/element'
    """
    name = SPELLINGS.get(str(name).lower(), str(name))
    if name not in FORMATS:
        raise InputError(f"precision {name!r} is not known; {nearest(name, FORMATS)}")
    bits, block, scales = FORMATS[name]
    size = Quantity(bits, "bit/element")
    if block is None:
        return size.to("byte/element")
    return block_precision(size, Quantity(block, "element"), Quantity(scales, "byte"))
