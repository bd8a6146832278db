"""The header of a GGUF file, the format of llama.cpp's models, as a model's configuration.

A file says more than a ``config.json``: the sizes of all its tensors, so that
parameters and weights are exact. It says less of windows and of recurrent
layers: for many architectures llama.cpp itself knows which layers have them.
"""

import math
import mmap
import re
import struct
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from costlib.model_config.config import ModelConfig
from costlib.model_config.fields import HEADS, LAYERS, TOKENS, WIDTH, Fields, Refused
from costlib.model_config.layers import AttentionCache, RecurrentState
from costlib.model_config.parameters import Parameters
from costlib.model_config.sources import answers, assume_field
from costlib.schema import InputError, nearest
from costlib.units import Quantity

__all__ = ["read_gguf", "read_header"]

# Every layer attends to the whole context.
PLAIN = (
    "apertus arcee arctic baichuan bailingmoe bailingmoe2 bitnet bloom chameleon chatglm codeshell cogvlm"
    " command-r dbrx deci deepseek dots1 ernie4_5 ernie4_5-moe exaone falcon gemma glm4 glm4moe gpt2 gptneox"
    " granite granitemoe grok grovemoe hunyuan-dense hunyuan-moe hunyuan_vl internlm2 jais jais2 llama maincoder"
    " minicpm minicpm3 minimax-m2 mistral3 mpt nanbeige nemotron olmo olmoe openelm orion paddleocr pangu-embedded"
    " phi2 plamo plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe refact seed_oss smollm3"
    " stablelm starcoder starcoder2 xverse"
).split()
# The whole context in each n-th layer, a window in the others, where the header has no pattern of its own.
EVERY = {
    "afmoe": 4,
    "cohere2": 4,
    "cohere2moe": 4,
    "exaone-moe": 4,
    "exaone4": 4,
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "llama4": 4,
    "mellum": 4,
    "olmo2": 4,
    "plamo3": 8,
    "smallthinker": 4,
}
WINDOWED = ("gemma4", "granite_swa", "mimo2", "spark2_5", "step35")  # the header has the pattern
UNHEEDED = ("phi3", "phimoe")  # every layer has the window; llama.cpp keeps the whole context all the same
LATENT = ("deepseek2", "mistral4")
INDEXED = ("deepseek32", "glm-dsa")
ALWAYS_RECURRENT = ("mamba", "mamba2", "rwkv6", "rwkv7", "rwkv6qwen2", "arwkv7")
NO_HEADS_RECUR = ("granitehybrid", "jamba", "kimi-linear", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "plamo2")
INTERVAL = ("qwen3next", "qwen35", "qwen35moe")
KNOWN = {
    *PLAIN, *EVERY, *WINDOWED, *UNHEEDED, *LATENT, *INDEXED, *ALWAYS_RECURRENT, *NO_HEADS_RECUR, *INTERVAL,
    "falcon-h1",
}  # fmt: skip
FIRST_FULL = ("cohere2moe", "smallthinker")  # their period begins with the whole context
FIXED = {"llama4": 8192, "smallthinker": 4096}  # windows that llama.cpp takes whatever the header says

SEEN = (  # fields whose names could mislead: they do not change what is kept
    "attention.causal attention.clamp_kqv attention.indexer.head_count attention.indexer.top_k"
    " attention.rope_pattern attention.decay_lora_rank attention.iclr_lora_rank"
    " attention.value_residual_mix_lora_rank attention.gate_lora_rank ssm.time_step_rank ssm.dt_b_c_rms"
    " kda.safe_gate kda.gate_lower_bound attention.head_count attention.head_count_kv attention.key_length"
    " attention.value_length attention.key_length_mla attention.value_length_mla attention.kv_lora_rank"
    " attention.q_lora_rank leading_dense_block_count"
).split()
COUNTS = (0, HEADS[1])


def read_gguf(path, assume=()):
    """A model as the header of its GGUF file describes it.

    Parameters
    ----------
    path : path-like
        The file; of a model in parts, the first.
    assume : iterable of str
        Assumptions, ``FIELD=VALUE``, that stand in for what the header says, by its names without the
        architecture: ``attention.sliding_window=4096``.

    Returns
    -------
    ModelConfig
        Its ``parameters`` and ``weights`` are those of the table of tensors, or None where a part is missing.

    Raises
    ------
    InputError
        If the file is no GGUF file, ends too early, or a field has an impossible value.
    Refused
        If the architecture, or a field that could change what is kept, is not understood.

    Notes
    -----
    Exact for what llama.cpp allocates, which a test compares for every kind of layer.

    References
    ----------
    docs/gguf.md in https://github.com/ggml-org/ggml

    Examples
    --------
    >>> read_gguf("README.md")
    Traceback (most recent call last):
    costlib.schema.InputError: README.md: is no GGUF file; it begins with b'# Wh'
    """
    path = Path(path)
    header, tensors = read_header(path)
    architecture = header.get("general.architecture")
    if not isinstance(architecture, str):
        raise InputError(f"{path}: general.architecture = {architecture!r}; wanted the name of an architecture")
    prefix = architecture + "."
    table = {key.removeprefix(prefix): value for key, value in header.items() if key.startswith(prefix)}
    assumed = [assume_field(table, item) for item in assume]
    if architecture not in KNOWN:
        raise Refused(
            "general.architecture",
            architecture,
            "how it stores its state is not known here; " + nearest(architecture, KNOWN).partition("Valid")[0],
        )
    parts = _parts(path, header)
    f = Fields(table, str(path))
    config = _config(f, architecture, header)
    f.see(*SEEN)
    f.refuse_what_was_overlooked(lambda field, value: answers(config, field, value))
    if parts is None:
        f.note("weights are not counted: not all parts of the file are here")
    else:
        tensors = [*tensors, *(tensor for part in parts for tensor in read_header(part)[1])]
        if not tensors:
            f.note("weights are not counted: the file has none")
    whole = parts is not None and tensors
    return replace(
        config,
        parameters=_counted(tensors, table, config.layers) if whole else None,
        weights=Quantity(float(sum(size for _, _, size in tensors)), "byte") if whole else None,
        assumptions=(*assumed, *f.assumptions.values()),
        notes=tuple(f.notes),
    )


def _config(f, architecture, header):
    """What the layers keep, by the fields of the header."""
    predictors = f.whole("nextn_predict_layers", (0, 100), 0)
    count = f.whole("block_count", LAYERS) - predictors
    if count < 1:
        raise InputError(f"{f.where}: block_count = {count + predictors}; wanted more than nextn_predict_layers")
    if predictors:
        layers = f"{predictors} more layers predict" if predictors > 1 else "one more layer predicts"
        f.note(f"{layers} further tokens; state is kept there only where an engine speculates so")
    if architecture in (*LATENT, *INDEXED) and not f.has("attention.key_length_mla"):
        f.note("an old file: llama.cpp keeps the keys and values of each head for it, not the latent")
    found = Counter(kept for layer in range(count) for kept in _kept(f, architecture, layer, count))
    kept = [replace(one, layers=layers) for one, layers in found.items()]
    return ModelConfig(
        name=header.get("general.name") or Path(f.where).stem,
        model_type=architecture,
        caches=tuple(one for one in kept if isinstance(one, AttentionCache) and one.elements),
        states=tuple(one for one in kept if isinstance(one, RecurrentState)),
        layers=count,
        kv_format="fp16",
        context_limit=f.optional("context_length", TOKENS),
        query_heads=_heads(f, "attention.head_count", 0) or None,
        fields=f,
    )


def _kept(f, architecture, layer, count):
    """What one layer keeps."""
    recurs = _recurs(f, architecture, layer)
    if recurs or architecture == "falcon-h1":
        yield _state(f)
    if recurs or layer >= _own_caches(f, architecture, count):
        return
    heads = _heads(f, "attention.head_count_kv", layer)
    if architecture in NO_HEADS_RECUR and not heads:
        return
    query = _heads(f, "attention.head_count", layer) or None
    if f.has("attention.key_length_mla"):
        yield _latent(f, query)
        if architecture in INDEXED:
            yield _cache("indexer", 1, f.whole("attention.indexer.key_length", WIDTH), 0)
        return
    windowed = _windowed(f, architecture, layer, count)
    key, value = (_head_size(f, name, windowed) for name in ("key", "value"))
    if not windowed:
        yield _cache("full", heads, key, value, query)
    else:
        window = FIXED.get(architecture) or f.whole("attention.sliding_window", TOKENS)
        kind = "chunked" if architecture == "llama4" else "sliding"
        yield replace(_cache(kind, heads, key, value, query), window=window)


def _recurs(f, architecture, layer):
    """Whether a layer recurs and does not attend."""
    if architecture in ALWAYS_RECURRENT:
        return True
    if architecture in INTERVAL:
        return (layer + 1) % f.whole("full_attention_interval", LAYERS, 4) != 0
    if architecture not in NO_HEADS_RECUR or _heads(f, "attention.head_count_kv", layer):
        return False
    # Nemotron-H has layers that are nothing but a feed-forward part.
    return not architecture.startswith("nemotron_h") or not f.at("feed_forward_length", layer, (0, WIDTH[1]), 0)


def _own_caches(f, architecture, count):
    """How many layers, from the first, have a cache of their own; those after them read another's."""
    shared = f.whole("attention.shared_kv_layers", (0, LAYERS[1]), 0)
    if architecture == "gemma3n":
        return min(count, 20)  # in llama.cpp a constant; both sizes of the model have it
    return count - shared


def _windowed(f, architecture, layer, count):
    """Whether a layer has a window: by the header's pattern, a list or a period; or by the architecture's own."""
    name = "attention.sliding_window_pattern"
    if architecture not in (*EVERY, *WINDOWED, *UNHEEDED):
        return False
    pattern, window = f.get(name), f.optional("attention.sliding_window", COUNTS)
    if window is None and architecture in ("gemma2", "gpt-oss", "cohere2"):
        raise InputError(f"{f.where}: attention.sliding_window is missing; wanted the window of {architecture}")
    if architecture in UNHEEDED:
        return bool(window)
    if architecture == "exaone4" and count != 64:  # of its two sizes the smaller has none
        return False
    if not (window or architecture in FIXED):
        return False
    if isinstance(pattern, list):
        if len(pattern) != count or any(entry not in (0, 1) for entry in pattern):
            raise InputError(f"{f.where}: {name} = {pattern!r}; wanted true or false for each of {count} layers")
        return bool(pattern[layer])
    if architecture in WINDOWED:
        raise InputError(f"{f.where}: {name} = {pattern!r}; wanted true or false for each of {count} layers")
    period = f.whole(name, (0, LAYERS[1]), EVERY[architecture])
    return period == 0 or layer % period != (0 if architecture in FIRST_FULL else period - 1)


def _latent(f, query):
    """Multi-head latent attention: one latent and one positional key, for all heads."""
    rank, key = f.whole("attention.kv_lora_rank", WIDTH), f.whole("attention.key_length", WIDTH)
    if key < rank:
        raise InputError(f"{f.where}: attention.key_length = {key}; wanted at least attention.kv_lora_rank = {rank}")
    f.see("attention.value_length", "attention.head_count_kv")
    return _cache("latent", 1, rank, key - rank, query)


def _state(f):
    """What a recurrent layer keeps: a state, and the last inputs of a convolution."""
    if f.has("kda.head_dim"):
        heads, size = _heads(f, "attention.head_count", 0), f.whole("kda.head_dim", WIDTH)
        return _recurrent("Kimi delta rule", heads * size**2, 3 * heads * size * _taps(f, "ssm.conv_kernel"))
    width = f.whole("embedding_length", WIDTH)
    if f.has("wkv.head_size"):
        shifted = f.whole("token_shift_count", (1, 100), 2)
        return _recurrent("rwkv", width * f.whole("wkv.head_size", WIDTH), width * shifted)
    if f.has("shortconv.l_cache"):
        return _recurrent("convolution", 0, width * _taps(f, "shortconv.l_cache"))
    inner, state = f.whole("ssm.inner_size", WIDTH), f.whole("ssm.state_size", WIDTH)
    groups = f.whole("ssm.group_count", COUNTS, 0)
    channels = inner + 2 * groups * state
    return _recurrent("mamba2" if groups else "mamba", inner * state, channels * _taps(f, "ssm.conv_kernel"))


def _taps(f, name):
    """Inputs that a convolution keeps: one fewer than its kernel has."""
    return f.whole(name, (1, 1000)) - 1


def _recurrent(kind, elements, conv_elements):
    return RecurrentState(kind=kind, layers=1, elements=elements, precision=4.0, conv_elements=conv_elements)


def _cache(kind, heads, key_dim, value_dim, query_heads=None):
    return AttentionCache(
        kind=kind, layers=1, heads=heads, key_dim=key_dim, value_dim=value_dim, query_heads=query_heads
    )


def _heads(f, name, layer):
    """Heads of a layer; key-value heads are as many as query heads where the header does not say."""
    if name == "attention.head_count_kv" and f.get(name) is None:
        name = "attention.head_count"
    f.check_one_a_layer(name, f.whole("block_count", LAYERS))
    return f.at(name, layer, COUNTS, 0)


def _head_size(f, name, windowed):
    """Elements of a key or a value; layers with windows may have a size of their own."""
    own = f.optional(f"attention.{name}_length_swa", WIDTH)
    declared = own if windowed and own else f.optional(f"attention.{name}_length", WIDTH)
    if declared:
        return declared
    heads = f.whole("attention.head_count", HEADS)
    return f.quotient(f"attention.{name}_length", f.whole("embedding_length", WIDTH), heads)


def _counted(tensors, table, layers):
    """Counts of the table of tensors."""
    used, experts = table.get("expert_used_count"), table.get("expert_count")
    share = Fraction(used, experts) if isinstance(used, int) and isinstance(experts, int) and experts > 0 else None
    total = active = predictors = 0
    for name, elements, _ in tensors:
        block = re.match(r"blk\.(\d+)\.", name)
        if block and int(block[1]) >= layers:
            predictors += elements
            continue
        total += elements
        if "_exps." in name:
            active = None if share is None or active is None else active + int(elements * share)
        elif active is not None:
            active += elements
    embedding = sum(elements for name, elements, _ in tensors if name == "token_embd.weight")
    return Parameters(total, active, embedding, predictors, *((experts, used) if share else (None, None)))


def _parts(path, header):
    """The other parts of a model that was split; None where one is not beside the first."""
    count = header.get("split.count", 1)
    if type(count) is not int:
        raise InputError(f"{path}: split.count = {count!r}; wanted a whole number")
    if count in (0, 1):
        return []
    name = re.fullmatch(r"(.*)-00001-of-(\d{5})(\.gguf)", path.name, re.IGNORECASE)
    if header.get("split.no", 0) != 0 or not name or int(name[2]) != count:
        raise InputError(
            f"{path}: is a part of {count}; wanted the first, whose name ends in -00001-of-{count:05}.gguf"
        )
    parts = [path.with_name(f"{name[1]}-{number:05}-of-{name[2]}{name[3]}") for number in range(2, int(name[2]) + 1)]
    return parts if all(part.is_file() for part in parts) else None


# The format. The package gguf reads it too, but makes an object of each token: seconds, where this takes a tenth.

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


def read_header(path):
    """The fields and the tensors of a GGUF file.

    Parameters
    ----------
    path : Path
        The file, which is mapped, not read.

    Returns
    -------
    dict, list of (str, int, int)
        Fields by their names, lists of texts left out; and of each tensor its name, elements and bytes.

    Raises
    ------
    InputError
        If it is no GGUF file, or ends before its last tensor does.
    """
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path}: is empty; wanted a GGUF file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Header(path, data).read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, MemoryError) as error:  # a file of no size, or a list that no memory holds
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read: {error or 'a list in its header is too long'}") from None


class _Header:
    """A position in a mapped file."""

    def __init__(self, path, data):
        self.path, self.data, self.at = path, data, 0

    def read(self):
        magic = self.data[:4]
        if magic != b"GGUF":
            raise InputError(f"{self.path}: is no GGUF file; it begins with {magic!r}")
        self.at = 4
        version = self.scalar("I")
        if version not in (2, 3):
            raise InputError(f"{self.path}: version {version} of the format; wanted 2 or 3, little-endian")
        tensors, fields = self.scalar("Q"), self.scalar("Q")
        table = {}
        for _ in range(fields):
            name = self.text()
            if name in table:
                raise InputError(f"{self.path}: {name} stands twice")
            table[name] = self.value(self.scalar("I"))
        found = [self.tensor() for _ in range(tensors)]
        align = table.get("general.alignment", 32)
        start = math.ceil(self.at / align) * align if isinstance(align, int) and align > 0 else self.at
        end = max((start + offset + size for _, _, size, offset in found), default=0)
        if end > len(self.data):
            raise InputError(f"{self.path}: has {len(self.data):,} bytes, its tensors need {end:,}; it is cut off")
        return table, [tensor[:3] for tensor in found]

    def tensor(self):
        from gguf.constants import GGML_QUANT_SIZES

        name, dimensions = self.text(), self.scalar("I")
        if dimensions > 8:
            raise InputError(f"{self.path}: {name} has {dimensions} dimensions; wanted at most 4")
        elements = math.prod(self.scalar("Q") for _ in range(dimensions))
        kind, offset = self.scalar("I"), self.scalar("Q")
        if kind not in GGML_QUANT_SIZES:
            raise InputError(f"{self.path}: {name} is stored in format {kind}, which the installed gguf does not know")
        block, size = GGML_QUANT_SIZES[kind]
        return name, elements, elements // block * size, offset

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind != ARRAY:
            raise InputError(f"{self.path}: a field of type {kind}; wanted 0 to 12")
        inner, length = self.scalar("I"), self.scalar("Q")
        if inner in SCALARS:
            form = SCALARS[inner]
            start = self.skip(length * struct.calcsize("<" + form))
            return list(struct.unpack_from(f"<{length}{form}", self.data, start))
        if inner != STRING:
            raise InputError(f"{self.path}: a list of type {inner}; wanted numbers or texts")
        for _ in range(length):
            self.skip(self.scalar("Q"))
        return None

    def text(self):
        start = self.skip(self.scalar("Q"))
        return self.data[start : self.at].decode("utf-8", errors="replace")

    def scalar(self, form):
        start = self.skip(struct.calcsize("<" + form))
        return struct.unpack_from("<" + form, self.data, start)[0]

    def skip(self, size):
        """Go on; where it was."""
        start = self.at
        self.at += size
        if self.at > len(self.data):
            raise InputError(f"{self.path}: ends in its header, after {len(self.data):,} bytes; it is cut off")
        return start
