"""The pool of TensorRT-LLM: the bytes of its tokens, in whole blocks."""

from dataclasses import replace

from costlib.logs.comparison.judged import not_predicted, within
from costlib.logs.comparison.settings import precision, ranks_of
from costlib.logs.comparison.vllm import Case, Settings, one_sequence, stated_by_few

__all__ = ["pools"]

BLOCKS = (16, 32, 64, 128)


def pools(log, model, kv_precision, tensor_parallel):
    """What a log of TensorRT-LLM says of its pool, against the prediction."""
    if log.cache is None or log.tokens is None:
        return
    if model.states or any(cache.window is not None or cache.stride > 1 for cache in model.caches):
        yield not_predicted(
            "cache", log.cache, "how it divides the pool among layers of several kinds is not known here"
        )
        return
    tokens, printed = int(log.tokens.m_as("token")), log.cache.m_as("byte")
    half = log.rounding.get("cache", 0.0)

    def size(model, settings):
        return one_sequence(model, settings, tokens)

    block = int(log.block.m_as("token")) if log.block is not None else 1
    base = Settings(precision(log, model, kv_precision), ranks_of(log, tensor_parallel), block)
    if log.block is None:  # the last one may be in part
        cut = (replace(base, block=block) for block in BLOCKS)
        base = next((settings for settings in cut if within(printed, size(model, settings), half)), base)

    def changes(model, settings):
        return stated_by_few(log, model, settings, kv_precision)

    yield Case(model, base, changes).compared("cache", printed, "byte", half, size)
