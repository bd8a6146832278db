"""How long ``import costlib``, and its whole core, take against ``import pint``, in fresh processes."""

import statistics
import subprocess
import sys

TARGET = 1.3
REPEATS = 15


def seconds(module):
    """Time of one import, measured inside a new process, so that Python's own start is left out."""
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main():
    times = {"costlib": [], "costlib.scenario": [], "pint": []}  # scenario imports every module of the core
    for module in times:
        seconds(module)  # once unmeasured: compiles the bytecode and fills the file cache
    for _ in range(REPEATS):  # one after the other, so that a slow moment falls on both
        for module, measured in times.items():
            measured.append(seconds(module))
    medians = {module: statistics.median(measured) for module, measured in times.items()}
    for module, median in medians.items():
        print(f"import {module:17} {median * 1e3:6.1f} ms, {median / medians['pint']:.2f} of pint")
    print(f"target for import costlib: at most {TARGET}")
    return medians["costlib"] > TARGET * medians["pint"]


if __name__ == "__main__":
    sys.exit(main())
