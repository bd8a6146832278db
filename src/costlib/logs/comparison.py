"""A log against the prediction for a model, and what explains the difference.

A prediction is an interval, since what it starts from was rounded to be printed.
Where the printed figure lies outside it, one setting after the other is changed
to what an engine may have had, and what brings the figure into the interval is
named. Nothing is fitted: if none does, that is said, and by how much they differ.
"""

import math
import re
from dataclasses import dataclass, replace

from costlib.arguments import ArgumentError
from costlib.model_config.engines import sglang, vllm_blocks
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.precision import precision_of
from costlib.schema import InputError
from costlib.serving import weight_bytes
from costlib.units import Quantity

__all__ = ["Comparison", "compared"]

AS_PREDICTED = "as predicted, within the digits printed"
RANKS = (1, 2, 4, 8, 16)
FORMATS = ("bf16", "fp8", "nvfp4")
STEPS = (2048, 8192, 16384)  # tokens of a step, as vLLM takes them by itself on one card or another
PER_PARAMETER = Quantity(1, "element/parameter")
VOCABULARY = 64  # rows of the table of tokens come in so many
EVEN = (1.5, 1.25)  # vLLM pads the smaller kind of layers where the larger has less than this times as many


@dataclass(frozen=True)
class Comparison:
    """One figure of a log beside its prediction.

    Parameters
    ----------
    what : str
    predicted : Quantity, float or None
        None where there is no prediction; the explanation says why.
    printed : Quantity or float
    difference : float or None
        By which share of the predicted the printed one is more.
    explanation : str
    closed : bool
        Whether the printed figure follows from the prediction, or from it and what the explanation names.
    """

    what: str
    predicted: object
    printed: object
    difference: float | None
    explanation: str
    closed: bool = False


def compared(log, model, *, kv_precision=None, tensor_parallel=None):
    """A log's figures beside the predictions for a model, with what explains their difference.

    Parameters
    ----------
    log : Log
        As :func:`costlib.logs.reader.read` gives it.
    model : ModelConfig
        As :func:`costlib.model_config.sources.read` gives it.
    kv_precision : Quantity [byte/element], optional
        Stored size of an element of the cache; by default what the log says, or else the model's file.
    tensor_parallel : int, optional
        Ranks that share the heads; by default as the log says.

    Returns
    -------
    list of Comparison
        Of what the log prints and the library predicts: weights, block, tokens, concurrency, what a sequence needs,
        and the pools.

    Raises
    ------
    InputError
        If the log's format of the cache is not known, and none is given.

    Examples
    --------
    >>> from costlib.logs import read
    >>> from costlib.model_config import read_table
    >>> log = read(["Available KV cache memory: 69.66 GiB", "GPU KV cache size: 652,144 tokens"])
    >>> model = read_table({"model_type": "qwen3", "num_hidden_layers": 28, "num_attention_heads": 16, "head_dim": 128,
    ...                     "num_key_value_heads": 8, "hidden_size": 1024, "dtype": "bfloat16"}, "example")
    >>> [(c.what, c.explanation) for c in compared(log, model)]
    [('tokens', 'as predicted, within the digits printed')]
    """
    ranks = tensor_parallel or log.settings.get("tensor_parallel") or _speaking(log)
    found = [*_weights(log, model, ranks)]
    compare = {"vllm": _of_vllm, "sglang": _of_sglang, "tensorrt_llm": _of_tensorrt_llm}.get(log.engine, _of_llama_cpp)
    try:
        found += compare(log, model, kv_precision, ranks)
    except ArgumentError as error:
        if log.cache is not None:
            found.append(Comparison("cache", None, log.cache, None, f"not predicted: {error}"))
    return found


def _speaking(log):
    """Ranks that say what their pool is."""
    return max(1, sum(rank.cache is not None for rank in log.ranks)) if log.engine in ("vllm", "sglang") else 1


def _precision(log, model, given):
    """The stored size of an element: as given, as the log says, or as the file declares."""
    if given is not None:
        return given
    if log.kv_format is None:
        return model.kv_precision
    try:
        return precision_of(re.sub(r"_ds_mla|_e\dm\d\w*$", "", log.kv_format))
    except InputError:
        raise InputError(
            f"the log's cache is in {log.kv_format!r}, which is not known here; wanted its --kv-precision"
        ) from None


# ---------------------------------------------------------------- what closes a difference


def _judged(what, printed, unit, half, base, candidates, otherwise=""):
    """A comparison: within the interval of the prediction, or of the candidates that bring it there.

    ``base`` and what a candidate's function gives are (low, high) of the prediction, before ``half`` a printed digit.
    """
    shown = (lambda value: Quantity(float(value), unit)) if unit else float
    predicted = sum(base) / 2
    difference = printed / predicted - 1 if predicted else None
    made = (what, shown(predicted), shown(printed), difference)
    if _within(printed, base, half):
        return Comparison(*made, AS_PREDICTED, True)
    closing = []
    for name, interval in candidates:
        try:
            if _within(printed, interval(), half):
                closing.append(name)
        except ArgumentError:  # heads that cannot be split so, and the like
            continue
    if closing:
        return Comparison(*made, " or ".join(dict.fromkeys(closing)), True)
    more = "more" if difference and difference > 0 else "less"
    gap = f"{abs(difference):.2%} {more} than predicted" if difference is not None else "not as predicted"
    return Comparison(*made, f"not explained: {gap}{otherwise and '; ' + otherwise}")


def _within(printed, interval, half):
    low, high = interval
    slack = half + 1e-9 * max(abs(low), abs(high), abs(printed))
    return low - slack <= printed <= high + slack


# ---------------------------------------------------------------- weights


def _weights(log, model, ranks):
    """The weights of all ranks that say so, beside those of the files or those counted."""
    if log.weights is None:
        return
    predicted, quantised = _predicted_weights(model), log.settings.get("quantisation", "None")
    if predicted is None or quantised != "None" and model.weights is None:
        why = "not predicted: how its quantisation stores which weights is not known without its files"
        why = why if model.parameters else "not predicted: how many weights it has is not known here"
        yield Comparison("weights", None, log.weights, None, why)
        return
    speaking = sum(rank.weights is not None for rank in log.ranks)
    ranks *= log.settings.get("pipeline_parallel", 1)
    share = speaking / ranks if log.engine in ("vllm", "sglang", "tensorrt_llm") else 1
    expected, printed = predicted.m_as("byte") * share, log.weights.m_as("byte")
    half = log.rounding.get("weights", 0.0)
    candidates = [
        (name, lambda more=more: (expected + more * speaking, expected + more * speaking))
        for name, more in _buffers(model, ranks)
    ]
    decimal = expected * 2**30 / 1e9
    candidates.append(("the size is in GB, not in GiB", lambda: (decimal, decimal)))
    otherwise = (
        "buffers, padding and parts that every rank keeps whole are not taken apart"
        if share == 1
        else (f"{speaking} of {ranks} ranks, each of which keeps some parts whole")
    )
    yield _judged("weights", printed, "byte", half, (expected, expected), candidates, otherwise)


def _predicted_weights(model):
    """The size of its files, or of all parameters in the declared format; None if that is not known."""
    if model.weights is not None:
        return model.weights
    fields = model.fields
    if model.parameters is None or fields is None or fields.has("quantization_config"):
        return None
    stored = precision_of(fields.text("dtype") or "bf16") * PER_PARAMETER
    return weight_bytes(Quantity(float(model.parameters.total), "parameter"), stored)


def _buffers(model, ranks):
    """What an engine keeps beside the parameters, on each rank: name and bytes."""
    table = model.fields.table if model.fields is not None else {}
    found = [*_rotations(model, table), *_padding(table)] if ranks == 1 else [*_rotations(model, table)]
    yield from found
    if len(found) > 1:
        yield ", and ".join(name for name, _ in found), sum(size for _, size in found)
    if model.parameters and table.get("tie_word_embeddings") and ranks == 1:
        yield "the output head is kept apart from the table of tokens", model.parameters.embedding * 2


def _rotations(model, table):
    """The table of rotary positions, of all that the model was made for."""
    heads = [cache for cache in model.caches if cache.kind in ("full", "sliding", "chunked")]
    if model.context_limit and heads:
        width = round(heads[0].key_dim * (table.get("partial_rotary_factor") or 1))
        what = f"a table of rotations, {model.context_limit:,} tokens × {width} in 16 bits, is no parameter"
        yield what, model.context_limit * width * 2


def _padding(table):
    """Rows that fill up the table of tokens, and the output head where it is another."""
    rows, width = table.get("vocab_size"), table.get("hidden_size")
    if isinstance(rows, int) and isinstance(width, int) and rows % VOCABULARY:
        tables = 1 if table.get("tie_word_embeddings") else 2
        what = f"the table of tokens is padded to a multiple of {VOCABULARY}"
        yield what, -rows % VOCABULARY * width * tables * 2


# ---------------------------------------------------------------- vLLM


@dataclass(frozen=True)
class Settings:
    """With what vLLM may have run."""

    precision: Quantity
    ranks: int
    block: int
    batched: int
    copies: int = 0
    drafts: int = 0


@dataclass(frozen=True)
class Held:
    """How vLLM cuts a pool: bytes of a block of all layers of a group, its tokens, blocks of a request, groups."""

    size: float
    block: int
    request: int
    groups: int

    def blocks(self, pool):
        return math.floor(pool / self.size)

    def tokens(self, pool):
        """As printed until about 0.20: the blocks of a group."""
        return self.blocks(pool) // self.groups * self.block

    def concurrency(self, pool):
        return self.blocks(pool) / self.request


def _of_vllm(log, model, kv_precision, ranks):
    base = Settings(
        precision=_precision(log, model, kv_precision),
        ranks=ranks,
        block=int(log.block.m_as("token")) if log.block is not None and not model.states else 16,
        batched=log.settings.get("batched_tokens", 8192),
    )
    length = int(log.context_limit.m_as("token")) if log.context_limit is not None else None
    if why := _why_not_predicted(log, model):
        if log.cache is not None:
            yield Comparison("cache", None, log.cache, None, f"not predicted: {why}")
        return
    pool = None
    if log.cache is not None:
        half = log.rounding.get("cache", 0.0)
        pool = log.cache.m_as("byte") - half, log.cache.m_as("byte") + half
    yield from _budget_of_vllm(log)
    case = Case(log, model, base)
    if log.block is not None and model.states:
        yield _block_of_vllm(case)
    if log.tokens is not None and pool:
        yield _tokens_of_vllm(case, pool, length)
    if log.concurrency is not None and length and (pool or log.tokens is not None):
        yield _concurrency_of_vllm(case, pool, length)
    if log.needed is not None and length:
        yield _needed_by_vllm(case, length)


def _why_not_predicted(log, model):
    """What is not known of how vLLM cuts a pool; None where all is."""
    if any(cache.stride > 1 for cache in model.caches):
        return "how vLLM groups layers that share an entry for several tokens is not known here"
    if (stages := log.settings.get("pipeline_parallel", 1)) > 1:
        return f"each of {stages} pipeline stages has other layers, and the log does not say which"
    if (parts := log.settings.get("context_parallel", 1)) > 1:
        return f"contexts are split over {parts} ranks"
    return None


class Case:
    """A log of vLLM and what is taken to have run: one explanation has to hold for all of its figures."""

    def __init__(self, log, model, base):
        self.log, self.model, self.base = log, model, base
        self.given, self.held = [], []

    def compared(self, what, printed, unit, half, value, more=(), otherwise=""):
        """A figure against what a function of model and settings gives; what closes it holds for those that follow."""

        def fits(model, s):
            return _within(printed, value(model, s), half)

        changes = [each for each in _changes(self.log, self.model, self.base) if self._allows(*each[1:])]
        candidates = [(name, lambda f=f: f(self.model, self.base)) for name, f in more]
        candidates += [(name, lambda m=m, s=s: value(m, s)) for name, m, s in changes]
        found = _judged(what, printed, unit, half, value(self.model, self.base), candidates, otherwise)
        explanation = found.explanation
        if found.closed:
            closing = [each for each in changes if each[0] == found.explanation]
            self.held += [fits] if found.explanation == AS_PREDICTED or closing else []
            if found.explanation == AS_PREDICTED and self.given:
                explanation = f"{AS_PREDICTED}, if {' and '.join(self.given)}"
            for name, self.model, self.base in closing:
                self.given.append(name)
        return replace(found, explanation=explanation)

    def _allows(self, model, s):
        """Whether a change leaves alone what is explained already."""
        try:
            return all(fits(model, s) for fits in self.held)
        except ArgumentError:  # heads that cannot be split so
            return False


def _changes(log, model, base):
    """What may have been otherwise: name, model and settings."""
    predictors = model.fields.table.get("num_nextn_predict_layers") if model.fields is not None else None
    for drafts in sorted({1, predictors if isinstance(predictors, int) and 0 < predictors < 100 else 1}):
        yield f"{drafts} layer{'s' if drafts > 1 else ''} more, of a draft", model, replace(base, drafts=drafts)
    for name in FORMATS:
        if precision_of(name) != base.precision:
            yield f"the cache is in {name}", model, replace(base, precision=precision_of(name))
    for ranks in _other_ranks(model, base.ranks):
        yield _split(ranks), model, replace(base, ranks=ranks)
    if model.states:
        speculated = log.settings.get("speculated", 1)
        for copies in sorted({1, speculated, speculated + 1}):
            name = f"{copies + 1} pages of recurrent state a sequence, as with prefix caching or speculation"
            yield name, model, replace(base, copies=copies)
        for size, bits in ((4, 32), (2, 16)):
            states = tuple(replace(state, precision=size, declared=True) for state in model.states)
            yield f"the recurrent state is in {bits} bits", replace(model, states=states), base
    if any(cache.window is not None for cache in model.caches):
        yield "windows are counted whole", replace(model, caches=_whole(model.caches)), base
        if "batched_tokens" not in log.settings:
            for batched in STEPS:
                yield f"{batched:,} tokens a step", model, replace(base, batched=batched)


def _other_ranks(model, ranks):
    """Numbers of ranks over which a model may be split otherwise; of those that change nothing, the least."""
    heads = max((cache.heads for cache in model.caches), default=1)
    return [n for n in RANKS if n != ranks and (model.states or n < 2 * heads and min(n, heads) != min(ranks, heads))]


def _whole(caches):
    """The caches, those with windows as if they had none."""
    return tuple(replace(cache, window=None, kind="full") if cache.window else cache for cache in caches)


def _blocks(model, s, length):
    tokens = Quantity(float(length), "token")
    return vllm_blocks(model, tokens, s.precision, s.ranks, s.block, s.batched, s.copies, s.drafts)


def _held(model, s, length, even=EVEN[0]):
    """How vLLM cuts a pool for this model."""
    kinds = _blocks(model, s, length)
    if not model.states and all(cache.window is None for cache in model.caches):
        size = sum(kind.kept.layers * kind.page for kind in kinds)
        return Held(size, s.block, max(kind.count for kind in kinds), 1)
    alike = {}  # layers that store the same, those of a draft too, are of one kind
    for kind in kinds:
        layers, _ = alike.get(key := (replace(kind.kept, layers=1), kind.tokens), (0, 0))
        alike[key] = layers + kind.kept.layers, kind.count
    counts = [layers for layers, _ in alike.values()]
    least, most = min(counts), max(counts)
    size = most if most < even * least else least
    groups = [math.ceil(layers / size) for layers in counts]
    request = sum(n * count for n, (_, count) in zip(groups, alike.values(), strict=True))
    block = min((kind.tokens for kind in kinds if kind.tokens), default=1)
    return Held(size * kinds[0].page, block, request, sum(groups))


def _interval(value, pool):
    """A value at the least and at the most that a pool may be."""
    return value(pool[0]), value(pool[1])


def _budget_of_vllm(log):
    """The pool from what the engine may use of a card, and what it measured beside it."""
    outside, peak, activations = (log.settings.get(name) for name in ("outside", "peak", "activations"))
    if None in (log.cache, log.memory, log.utilisation, outside) or (peak is None and activations is None):
        return
    if peak is None:  # without the weights, which the peak of older versions has
        rank = log.smallest if log.smallest is not None and log.smallest.weights is not None else log.ranks[0]
        if rank.weights is None:
            return
        peak = activations + rank.weights.m_as("byte")
    cent, room = 0.005 * 2**30, log.memory.m_as("byte")
    budget = log.settings.get("budget") or room * log.utilisation
    expected, slack = budget - peak - outside, 0.005 * room
    share = "its share of the card is rounded to two digits", lambda: (expected - slack, expected + slack)
    printed = log.cache.m_as("byte")
    candidates = () if "budget" in log.settings else (share,)
    yield _judged("cache, from its budget", printed, "byte", 4 * cent, (expected, expected), candidates)


def _block_of_vllm(case):
    """Tokens of a block, raised until its page is as large as a recurrent state."""

    def block(model, s):
        tokens = next(kind.tokens for kind in _blocks(model, s, 1) if kind.tokens and kind.kept.grows)
        return tokens, tokens

    return case.compared("block", case.log.block.m_as("token"), "token", 0, block)


def _tokens_of_vllm(case, pool, length):
    """The tokens of the pool, as one version or another counts them."""

    def tokens(model, s):
        return _interval(_held(model, s, length or s.block).tokens, pool)

    def as_concurrency(model, s):
        return _interval(lambda size: math.floor(_held(model, s, length).concurrency(size) * length), pool)

    printed = case.log.tokens.m_as("token")
    more = [("concurrency times the context limit, as newer versions print it: no measure of its own", as_concurrency)]
    return case.compared("tokens", printed, "token", 0, tokens, more if length else (), _other_rank(case, length))


def _other_rank(case, length):
    """What the pool would have to be, if it is that of a rank that the log does not show."""
    log, s = case.log, case.base
    held, printed = _held(case.model, s, length or s.block), log.tokens.m_as("token")
    if held.tokens(log.cache.m_as("byte")) <= printed or s.ranks <= sum(rank.cache is not None for rank in log.ranks):
        return ""
    size = Quantity(printed / held.block * held.groups * held.size, "byte").to("GiB")
    return f"the pool is the least of {s.ranks} ranks, which the log does not all show; it would be {size:.2f~P}"


def _concurrency_of_vllm(case, pool, length):
    """Sequences at the limit, from the pool, or from the tokens where it is not printed."""

    def concurrency(model, s):
        held = _held(model, s, length)
        if pool:
            return _interval(held.concurrency, pool)
        blocks = case.log.tokens.m_as("token") / held.block * held.groups
        return blocks / held.request, (blocks + held.groups - 1) / held.request

    def in_parts(model, s):  # as long as it was tokens over the limit
        return tuple(value * _held(model, s, length).request * s.block / length for value in concurrency(model, s))

    half = case.log.rounding.get("concurrency", 0.0)
    more = [("tokens over the limit, the last block in part", in_parts)] if case.log.hybrid is not True else []
    return case.compared("concurrency", case.log.concurrency, "", half, concurrency, more)


def _needed_by_vllm(case, length):
    """What one sequence at the limit takes."""

    def needed(model, s):
        size = sum(kind.kept.layers * kind.count * kind.page for kind in _blocks(model, s, length))
        return size, size

    return case.compared(
        "needed by one sequence", case.log.needed.m_as("byte"), "byte", case.log.rounding["needed"], needed
    )


# ---------------------------------------------------------------- SGLang


TWO_SIZES = 2 * 0.005 * 2**30  # what the sum of two sizes may be off, each printed with two decimals of a GiB


def _of_sglang(log, model, kv_precision, ranks):
    precision = _precision(log, model, kv_precision)
    held = {
        "full": replace(model, caches=tuple(cache for cache in model.caches if cache.window is None), states=()),
        "sliding": replace(model, caches=_whole(tuple(c for c in model.caches if c.window is not None)), states=()),
        "recurrent": replace(model, caches=()),
    }
    if not any(pool.kind == "sliding" for pool in log.pools):
        held["full"] = replace(model, caches=_whole(model.caches), states=())
    for pool in log.pools:
        if pool.kind in held and pool.tokens:
            yield _pool_of_sglang(log, pool, held[pool.kind], precision, ranks)


def _pool_of_sglang(log, pool, model, precision, ranks):
    """One pool, from the tokens or slots that it is printed to have."""
    recurrent = pool.kind == "recurrent"

    def size(model, ranks=ranks, precision=precision, slots=pool.tokens):
        tokens, sequences = (0, slots) if recurrent else (pool.tokens, 1)
        asked = {"tensor_parallel": ranks, "sequences": sequences}
        total = sglang(model, Quantity(float(tokens), "token"), precision, **asked).total.m_as("byte")
        return total, total

    candidates = [(_split(other), lambda other=other: size(model, ranks=other)) for other in _other_ranks(model, ranks)]
    if recurrent:
        candidates.append(("there is no spare slot", lambda: size(model, slots=pool.tokens - 1)))
        for bits, width in ((32, 4), (16, 2)):
            states = tuple(replace(state, precision=width) for state in model.states)
            name = f"the recurrent state is in {bits} bits"
            candidates.append((name, lambda states=states: size(replace(model, states=states))))
    else:
        candidates += [
            (f"the cache is in {name}", lambda name=name: size(model, precision=precision_of(name)))
            for name in FORMATS
            if precision_of(name) != precision
        ]
    printed = pool.size.m_as("byte")
    what = {"full": "keys and values", "sliding": "keys and values of windows"}.get(pool.kind, "recurrent states")
    found = _judged(what, printed, "byte", TWO_SIZES, size(model), candidates)
    if recurrent and found.explanation == AS_PREDICTED:
        return replace(found, explanation=f"{AS_PREDICTED}, with one slot more than {pool.tokens:,}")
    return found


def _split(ranks):
    return "heads are not split over ranks" if ranks == 1 else f"heads are split over {ranks} ranks"


# ---------------------------------------------------------------- llama.cpp and ollama


def _of_llama_cpp(log, model, kv_precision, ranks):
    if log.cache is None or log.context_limit is None:
        return
    stored = [pool for pool in log.pools if pool.keys and pool.kind != "recurrent"] or [None]
    keys, values = (kv_precision or _stored(stored[0], "keys", log)), _stored(stored[0], "values", log)
    values = kv_precision or values
    slots = {"sequences": log.sequences or 1, "unified": bool(log.settings.get("unified"))}
    slots["micro_batch"] = log.settings.get("micro_batch", 512)
    tokens = log.context_limit
    tokens = (
        tokens / slots["sequences"]
        if slots["unified"] and log.settings.get("n_ctx") == tokens.m_as("token")
        else tokens
    )

    kinds = [*(_part(cache.kind) for cache in model.caches), *("recurrent" for _ in model.states)]

    def sizes(model, **changed):
        asked = {**slots, "value_precision": values, **changed}
        asked.setdefault("kv_precision", keys)
        rows = llama_cpp(model, tokens, **asked).rows
        return [(kind, row[2].m_as("byte")) for kind, row in zip(kinds, rows, strict=True)]

    changes = [("", lambda: sizes(model)), *_changes_of_llama_cpp(model, slots, sizes)]
    main = [pool for pool in log.pools if pool.kind != "draft"]
    for kind in dict.fromkeys(pool.kind for pool in main) if len(main) > 1 else ():
        printed = sum(pool.size.m_as("byte") for pool in main if pool.kind == kind)
        yield _size_of_llama_cpp(f"{kind} cells" if kind != "recurrent" else "recurrent states", printed, changes, kind)
    half = log.rounding.get("cache", 0.0)
    shown = {pool.kind for pool in main}
    missing = {kind for kind, _ in sizes(model)} - shown
    if main and missing and shown <= {kind for kind, _ in sizes(model)}:
        only = [(kind, size) for kind, size in sizes(model) if kind in shown]
        changes.append((f"the log does not show the {' and '.join(sorted(missing))} part", lambda: only))
    yield _size_of_llama_cpp("cache", log.cache.m_as("byte"), changes, None, half)


def _stored(pool, name, log):
    """The stored size of keys or of values."""
    label = getattr(pool, name, None) or (log.kv_format if log.kv_format and "/" not in log.kv_format else None)
    return None if label is None else precision_of(label)


def _part(kind):
    return {"chunked": "sliding", "latent": "full"}.get(kind, kind)


def _changes_of_llama_cpp(model, slots, sizes):
    """What may have been otherwise: name, and the sizes by kind."""
    if any(cache.window is not None for cache in model.caches):
        whole = replace(model, caches=_whole(model.caches))
        yield "windows keep the whole context, as with --swa-full or before May 2025", lambda: sizes(whole)
        for batch in (128, 256, 1024, 2048):
            name = f"{batch:,} tokens computed at once"
            yield name, lambda batch=batch: sizes(model, micro_batch=batch)
        sixteen = {"kv_precision": precision_of("fp16"), "value_precision": precision_of("fp16")}
        yield "windows are kept in 16 bits, as since April 2026", lambda: _mixed(sizes(model), sizes(model, **sixteen))
    for name in ("fp16", "q8_0", "q4_0"):
        both = {"kv_precision": precision_of(name), "value_precision": precision_of(name)}
        yield f"the cache is in {name}", lambda both=both: sizes(model, **both)
    if slots["sequences"] > 1:
        yield "the slots share one cache", lambda: sizes(model, unified=not slots["unified"])


def _mixed(all_kinds, sixteen):
    """The windows of one, the rest of the other."""
    return [b if a[0] == "sliding" else a for a, b in zip(all_kinds, sixteen, strict=True)]


def _size_of_llama_cpp(what, printed, changes, kind, half=0.005 * 2**20):
    def total(parts):
        size = sum(size for part, size in parts if kind in (None, part))
        return size, size

    (_, base), *others = changes
    candidates = [(name, lambda parts=parts: total(parts())) for name, parts in others]
    return _judged(what, printed, "byte", half, total(base()), candidates)


# ---------------------------------------------------------------- TensorRT-LLM


def _of_tensorrt_llm(log, model, kv_precision, ranks):
    if log.cache is None or log.tokens is None:
        return
    if model.states or any(cache.window is not None or cache.stride > 1 for cache in model.caches):
        why = "not predicted: how it divides the pool among layers of several kinds is not known here"
        yield Comparison("cache", None, log.cache, None, why)
        return
    block = int(log.block.m_as("token")) if log.block is not None else 1
    base = Settings(_precision(log, model, kv_precision), ranks, block, 8192)

    def size(model, s):
        tokens = int(log.tokens.m_as("token"))
        total = sum(kind.kept.layers * kind.count * kind.page for kind in _blocks(model, s, tokens))
        return total, total

    if log.block is None:
        for blocks in (16, 32, 64, 128):
            if _within(
                log.cache.m_as("byte"), size(model, replace(base, block=blocks)), log.rounding.get("cache", 0.0)
            ):
                base = replace(base, block=blocks)
                break
    yield Case(log, model, base).compared("cache", log.cache.m_as("byte"), "byte", log.rounding.get("cache", 0.0), size)
