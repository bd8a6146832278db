"""Time of functions against each other, in one run, so that a slow machine is slow for all."""

import statistics
import time


def timed(function):
    """Time of one call, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def medians(*functions, repeats=15):
    """Median time of each function, called in turn so that a slow moment falls on all."""
    times = [[timed(function)[0] for function in functions] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*times, strict=True)]
