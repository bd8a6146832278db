"""The pools of SGLang: keys and values, those of windows, and recurrent states, each from its tokens or slots."""

from dataclasses import replace

from costlib.logs.comparison.judged import AS_PREDICTED, judged
from costlib.logs.comparison.settings import other_formats, other_ranks, precision, ranks_of, split, whole
from costlib.model_config.engines import sglang
from costlib.units import Quantity

__all__ = ["pools"]

NAMES = {"full": "keys and values", "sliding": "keys and values of windows", "recurrent": "recurrent states"}
TWO_SIZES = 2 * 0.005 * 2**30  # what the sum of two sizes may be off, each printed with two decimals of a GiB


def pools(log, model, kv_precision, tensor_parallel):
    """Each pool that a log of SGLang says, against the prediction."""
    base = {"precision": precision(log, model, kv_precision), "ranks": ranks_of(log, tensor_parallel)}
    changes = [(name, {"precision": stored}) for name, stored in other_formats(log, kv_precision, base["precision"])]
    changes += [(split(ranks), {"ranks": ranks}) for ranks in other_ranks(log, model, base["ranks"])]
    parts = _parts(log, model)
    for pool in log.pools:
        if pool.tokens and pool.kind == "recurrent":
            yield _states(pool, parts["recurrent"], base["ranks"], changes)
        elif pool.tokens and pool.kind in parts:
            yield _keys_and_values(pool, parts[pool.kind], base, changes)


def _parts(log, model):
    """The layers of each pool, as models of their own; windows have a pool where one is printed."""
    full, windows = model.caches, ()
    if any(pool.kind == "sliding" for pool in log.pools):
        full = tuple(cache for cache in model.caches if cache.window is None)
        windows = tuple(cache for cache in model.caches if cache.window is not None)
    return {
        "full": replace(model, caches=whole(full), states=()),
        "sliding": replace(model, caches=whole(windows), states=()),
        "recurrent": replace(model, caches=()),
    }


def _size(model, tokens, precision, **asked):
    total = sglang(model, Quantity(float(tokens), "token"), precision, **asked).total.m_as("byte")
    return total, total


def _keys_and_values(pool, model, base, changes):
    def size(precision, ranks):
        return _size(model, pool.tokens, precision, tensor_parallel=ranks)

    candidates = [(name, lambda change=change: size(**{**base, **change})) for name, change in changes]
    return judged(NAMES[pool.kind], pool.size.m_as("byte"), "byte", TWO_SIZES, size(**base), candidates)


def _states(pool, model, ranks, changes):
    def size(model=model, ranks=ranks, slots=pool.tokens):
        return _size(model, 0, None, tensor_parallel=ranks, sequences=slots)

    candidates = [(name, lambda change=change: size(**change)) for name, change in changes if "ranks" in change]
    candidates.append(("there is no spare slot", lambda: size(slots=pool.tokens - 1)))
    for bits, width in ((32, 4), (16, 2)):
        states = tuple(replace(state, precision=width) for state in model.states)
        name = f"the recurrent state is in {bits} bits"
        candidates.append((name, lambda states=states: size(replace(model, states=states))))
    found = judged(NAMES["recurrent"], pool.size.m_as("byte"), "byte", TWO_SIZES, size(), candidates)
    if found.explanation == AS_PREDICTED:
        return replace(found, explanation=f"{AS_PREDICTED}, with one slot more than {pool.tokens:,}")
    return found
