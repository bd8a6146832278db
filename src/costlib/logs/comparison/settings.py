"""What a log states of an engine's settings, and what those that it does not state may have been."""

import re
from collections import Counter
from dataclasses import replace

from costlib.model_config.precision import precision_of
from costlib.schema import InputError

__all__ = ["RANKS", "other_formats", "other_ranks", "precision", "ranks_of", "split", "whole"]

RANKS = (1, 2, 4, 8, 16)
FORMATS = ("bf16", "fp8", "nvfp4")
OF_TORCH = {"float8": "fp8", "float4": "nvfp4"}
OF_THE_MODEL = ("auto", "bfloat16", "float16", "float32", "half", "float")  # a cache in the format of the model


def precision(log, model, given):
    """The stored size of an element: as given, as the log says, or as the file declares."""
    if given is not None:
        return given
    if log.kv_format is None:
        return model.kv_precision
    name = re.sub(r"_e\dm\d\w*$", "", log.kv_format)
    try:
        return precision_of(OF_TORCH.get(name, name))
    except InputError:
        raise InputError(
            f"the log's cache is in {log.kv_format!r}, which is not known here; wanted its --kv-precision"
        ) from None


def other_formats(log, given, base):
    """Formats in which the cache may be: name and stored size; none where the log, or who asks, says which."""
    stated = log.kv_format is not None and log.kv_format not in OF_THE_MODEL
    if given is not None or stated or log.settings.get("allocated_format"):
        return
    for name in FORMATS:
        if precision_of(name) != base:
            yield f"the cache is in {name}", precision_of(name)


def ranks_of(log, given, of="cache"):
    """Ranks that share the heads: as given, as the log says, or those that speak; of weights, those that share them."""
    stated = log.settings.get("attention_parallel") if of == "cache" else None
    return given or stated or log.settings.get("tensor_parallel") or _speaking(log)


def _speaking(log):
    """Ranks of one replica and one stage that say what their pool is."""
    if log.engine not in ("vllm", "sglang"):
        return 1
    names = [rank.name for rank in log.ranks if rank.cache is not None]
    groups = Counter(tuple(re.findall(r"(?:DP|PP)\d+", name)) for name in names)
    return max(groups.values(), default=1)


def other_ranks(log, model, ranks):
    """Ranks over which a model may be split; of those that change nothing, the least; none where the log states it."""
    if "tensor_parallel" in log.settings:
        return []
    heads = max((cache.heads for cache in model.caches), default=1)
    return [n for n in RANKS if n != ranks and (model.states or n < 2 * heads and min(n, heads) != min(ranks, heads))]


def split(ranks):
    """In words, over how many ranks heads are split."""
    return "heads are not split over ranks" if ranks == 1 else f"heads are split over {ranks} ranks"


def whole(caches):
    """The caches, those with windows as if they had none."""
    return tuple(replace(cache, window=None, kind="full") if cache.window else cache for cache in caches)
