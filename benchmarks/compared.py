"""Time of functions against each other, in one run, so that a slow machine is slow for all."""

import statistics
import time


def seconds(function):
    """Time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def medians(*functions, repeats=15):
    """Median time of each function, called in turn so that a slow moment falls on all."""
    times = [[seconds(function) for function in functions] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*times, strict=True)]
