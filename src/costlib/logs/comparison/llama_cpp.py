"""The cells of llama.cpp, and of ollama that has it inside: kind by kind, and all together."""

from dataclasses import replace

from costlib.logs.comparison.judged import judged
from costlib.logs.comparison.settings import whole
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.precision import precision_of

__all__ = ["pools"]

HALF = 0.005 * 2**20  # what a size may be off that is printed with two decimals of a MiB
MICRO_BATCHES = (128, 256, 1024, 2048)
FORMATS = ("fp16", "q8_0", "q4_0")
KINDS = {"chunked": "sliding", "latent": "full"}  # of layers that it stores as it does others


def pools(log, model, kv_precision, tensor_parallel):
    """What a log of llama.cpp says of its cells, against the prediction; it splits no heads."""
    if log.cache is None or log.context_limit is None:
        return
    case = _Case(log, model, kv_precision)
    base, changes = case.sizes(), list(_changes(case))
    main = [pool for pool in log.pools if pool.kind != "draft"]
    kinds = dict.fromkeys(pool.kind for pool in main)
    for kind in kinds if len(main) > 1 else ():
        of_kind = [pool for pool in main if pool.kind == kind]
        printed = sum(pool.size.m_as("byte") for pool in of_kind)
        what = "recurrent states" if kind == "recurrent" else f"{kind} cells"
        yield _judged(what, printed, len(of_kind) * HALF, base, changes, {kind})
    missing = {kind for kind, _ in base} - set(kinds)
    if main and missing and set(kinds) <= {kind for kind, _ in base}:
        shown = [(kind, size) for kind, size in base if kind in kinds]
        changes.append((f"the log does not show the {' and '.join(sorted(missing))} part", lambda: shown))
    yield _judged("cache", log.cache.m_as("byte"), log.rounding.get("cache", 0.0), base, changes)


class _Case:
    """A log and the settings that it states."""

    def __init__(self, log, model, kv_precision):
        self.model = model
        self.keys, self.values = kv_precision or _stored("keys", log), kv_precision or _stored("values", log)
        self.formats_stated = self.keys is not None
        self.unified, self.sequences = bool(log.settings.get("unified")), log.sequences or 1
        self.micro_batch = log.settings.get("micro_batch", 512)
        self.micro_batch_stated = "micro_batch" in log.settings
        self.copies = 1 + log.settings.get("state_copies", 0)
        shared = self.unified and log.settings.get("n_ctx") == log.context_limit.m_as("token")
        self.tokens = log.context_limit / self.sequences if shared else log.context_limit
        self.kinds = [KINDS.get(cache.kind, cache.kind) for cache in model.caches]
        self.kinds += ["recurrent" for _ in model.states]

    def sizes(self, model=None, **changed):
        """Kind and bytes of each row of the prediction, with something changed or not."""
        asked = {"sequences": self.sequences, "unified": self.unified, "micro_batch": self.micro_batch}
        asked |= {"kv_precision": self.keys, "value_precision": self.values} | changed
        rows = llama_cpp(model or self.model, self.tokens, **asked).rows
        sizes = [(kind, row[2].m_as("byte")) for kind, row in zip(self.kinds, rows, strict=True)]
        return [(kind, size * (self.copies if kind == "recurrent" else 1)) for kind, size in sizes]


def _stored(name, log):
    """The stored size of keys or of values; None where the log does not say."""
    pool = next((pool for pool in log.pools if pool.keys and pool.kind != "recurrent"), None)
    label = getattr(pool, name, None) or (log.kv_format if log.kv_format and "/" not in log.kv_format else None)
    return None if label is None else precision_of(label)


def _changes(case):
    """What may have been otherwise: name, and the sizes by kind."""
    if any(cache.window is not None for cache in case.model.caches):
        yield from _of_windows(case)
    for name in () if case.formats_stated else FORMATS:
        both = dict.fromkeys(("kv_precision", "value_precision"), precision_of(name))
        yield f"the cache is in {name}", lambda both=both: case.sizes(**both)
    if case.sequences > 1:
        yield "the slots share one cache", lambda: case.sizes(unified=not case.unified)


def _of_windows(case):
    uncut = replace(case.model, caches=whole(case.model.caches))
    yield "windows keep the whole context, as with --swa-full or before May 2025", lambda: case.sizes(uncut)
    for batch in () if case.micro_batch_stated else MICRO_BATCHES:
        yield f"{batch:,} tokens computed at once", lambda batch=batch: case.sizes(micro_batch=batch)
    sixteen = dict.fromkeys(("kv_precision", "value_precision"), precision_of("fp16"))
    yield "windows are kept in 16 bits, as since April 2026", lambda: _mixed(case.sizes(), case.sizes(**sixteen))


def _mixed(all_kinds, sixteen):
    """The windows of one, the rest of the other."""
    return [b if a[0] == "sliding" else a for a, b in zip(all_kinds, sixteen, strict=True)]


def _judged(what, printed, half, base, changes, kinds=None):
    """The sum over some kinds, or all, against the prediction."""

    def total(parts):
        size = sum(size for kind, size in parts if kinds is None or kind in kinds)
        return size, size

    candidates = [(name, lambda parts=parts: total(parts())) for name, parts in changes]
    return judged(what, printed, "byte", half, total(base), candidates)
