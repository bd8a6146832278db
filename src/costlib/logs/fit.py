"""Constant and slope of the state of a sequence, from runs with different contexts."""

import statistics
from dataclasses import dataclass

from costlib.capacity import constant_between, growth_between
from costlib.schema import InputError
from costlib.units import Quantity

__all__ = ["Fit", "fitted", "point"]


@dataclass(frozen=True)
class Fit:
    """A line through what several runs say.

    Parameters
    ----------
    what : str
        What the sizes are of.
    points : tuple of (Quantity [token], Quantity [byte])
        A length, or the tokens of a pool, and what they take; in their order.
    growth : Quantity [byte/token]
    constant : Quantity [byte]
        Slightly negative where sizes were rounded to be printed.
    residual : Quantity [byte] or None
        The farthest that a point lies off the line; None of two points, which any line meets.
    """

    what: str
    points: tuple
    growth: Quantity
    constant: Quantity
    residual: Quantity | None


def point(log):
    """A length and what it takes, as one run says.

    Parameters
    ----------
    log : Log
        Of one run.

    Returns
    -------
    tuple of (str, Quantity [token], Quantity [byte]) or None
        What the size is of, the length, and the size. Of vLLM and llama.cpp one sequence at its context limit; of
        SGLang and TensorRT-LLM, and where slots of llama.cpp share their cells, all tokens.
    """
    if log.settings.get("unified") and log.cache is not None and log.tokens is not None:
        return f"the cells that {log.sequences} slots share", log.tokens, log.cache
    if log.engine in ("llama.cpp", "ollama"):
        if log.cache is not None and log.context_limit is not None:
            return "a slot at its context limit", log.context_limit, log.cache / (log.sequences or 1)
    elif log.engine == "vllm":
        if log.context_limit is not None and log.needed is not None:
            return "a sequence at the context limit, on a rank", log.context_limit, log.needed
        if log.context_limit is not None and log.cache is not None and log.concurrency:
            return "a sequence at the context limit, on a rank", log.context_limit, log.cache / log.concurrency
    elif log.tokens is not None and log.cache is not None:
        return "the pool, on a rank", log.tokens, log.cache
    return None


def fitted(logs, names=None):
    """Constant and slope from two or more runs of one model.

    Parameters
    ----------
    logs : sequence of Log
        Of two runs or more, alike but for the length.
    names : sequence of str, optional
        How messages call them; by default ``run 1`` and so on.

    Returns
    -------
    Fit
        The line, the points, and how far they lie off it.

    Raises
    ------
    InputError
        For fewer than two lengths, for a run that does not say a length and its size, or runs that are not alike.

    Notes
    -----
    The line through two points, or the least squares of more. Figures that were
    rounded to be printed leave an error of the rounding over the difference of lengths.

    Examples
    --------
    >>> from costlib.logs import read
    >>> runs = [read([f"llama_context: n_ctx = {n}", f"llama_kv_cache: size = {n / 8:.2f} MiB ({n} cells, 32 layers)"])
    ...         for n in (4096, 8192)]
    >>> fitted(runs).growth
    <Quantity(131072.0, 'byte / token')>
    """
    logs = list(logs)
    names = [f"run {number}" for number in range(1, len(logs) + 1)] if names is None else list(names)
    points = [_required(log, name) for log, name in zip(logs, names, strict=True)]
    _check_alike(logs, names)
    pairs = sorted((tokens.m_as("token"), size.m_as("byte")) for _, tokens, size in points)
    lengths, sizes = zip(*pairs, strict=True)
    if len(set(lengths)) < 2:
        raise InputError(f"the runs are all of {lengths[0]:,.0f} tokens; wanted two lengths or more, for a slope")
    quantities = tuple((Quantity(n, "token"), Quantity(size, "byte")) for n, size in pairs)
    if len(pairs) == 2:
        between = (*quantities[0], *quantities[1])
        return Fit(points[0][0], quantities, growth_between(*between), constant_between(*between), None)
    growth, constant = statistics.linear_regression(lengths, sizes)
    residual = max(abs(size - constant - growth * n) for n, size in pairs)
    line = Quantity(growth, "byte/token"), Quantity(constant, "byte")
    return Fit(points[0][0], quantities, *line, Quantity(residual, "byte"))


def _required(log, name):
    found = point(log)
    if found is None:
        raise InputError(f"{name}: does not say a length and what it takes; wanted both, for a slope")
    return found


ALIKE = ("engine", "model", "kv_format")
SETTINGS = ("tensor_parallel", "pipeline_parallel", "micro_batch", "batched_tokens", "unified", "architecture")


def _check_alike(logs, names):
    """Refuse runs of different models or settings, as far as they say which."""
    first = _settings(logs[0])
    for log, name in zip(logs[1:], names[1:], strict=True):
        for setting, other in _settings(log).items():
            one = first.get(setting)
            if one != other and None not in (one, other):
                wanted = "wanted runs that are alike"
                raise InputError(f"{name}: {setting} = {other!r}, and {one!r} in {names[0]}; {wanted}")


def _settings(log):
    """What has to be alike, as far as a log says it."""
    found = {name: getattr(log, name) for name in ALIKE} | {name: log.settings.get(name) for name in SETTINGS}
    return found | ({"sequences": log.sequences} if log.engine in ("llama.cpp", "ollama") else {})
