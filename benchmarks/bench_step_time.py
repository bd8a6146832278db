"""What the units and checks of ``step_time`` cost over a million points, against the same arithmetic in plain NumPy."""

import sys
import tracemalloc

import numpy as np
from compared import medians

from costlib.kv_cache import context_state
from costlib.serving import step_time
from costlib.units import Quantity

TIME_TARGET = 1.3
MEMORY_TARGET = 2.0
REPEATS = 15
SIDE = 1000  # so many batches by so many contexts

WEIGHTS, OPERATIONS = 70.6e9, 141.2e9  # of the 70-billion-parameter model at 8 bits
PEAK_RATE, BANDWIDTH = 1979e12, 3.35e12  # of an H100 SXM
BYTES_PER_TOKEN = 327_680

batches = np.repeat(np.arange(1.0, SIDE + 1), SIDE)
contexts = np.tile(np.linspace(1, 131_072, SIDE), SIDE)
states = contexts * BYTES_PER_TOKEN


def plain(batch=batches, state=states):
    return np.maximum((WEIGHTS + batch * state) / BANDWIDTH, batch * OPERATIONS / PEAK_RATE)


BATCH = Quantity(batches, "sequence")
STATE = context_state(Quantity(contexts, "token"), Quantity(BYTES_PER_TOKEN, "byte/token"))
CONSTANTS = (
    Quantity(OPERATIONS, "operation/token"),
    Quantity(PEAK_RATE, "operation/second"),
    Quantity(BANDWIDTH, "byte/second"),
)


def with_units():
    return step_time(BATCH, Quantity(WEIGHTS, "byte"), STATE, *CONSTANTS)


def peak_memory(function):
    """Bytes allocated at most at one time; NumPy reports its arrays to tracemalloc."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    assert np.allclose(with_units().m_as("second"), plain(), rtol=1e-12)
    ours, peer = medians(with_units, plain, repeats=REPEATS)
    peaks = {function: peak_memory(function) for function in (with_units, plain)}
    slower, larger = ours / peer, peaks[with_units] / peaks[plain]
    for time, function, name in ((ours, with_units, "costlib"), (peer, plain, "NumPy")):
        print(f"{name:8} {time * 1e3:6.1f} ms  {peaks[function] / 1e6:6.1f} MB")
    print(f"time of a million points, costlib over NumPy: {slower:.2f}  (target: at most {TIME_TARGET})")
    print(f"peak memory, costlib over NumPy: {larger:.2f}  (target: at most {MEMORY_TARGET:g})")
    return slower > TIME_TARGET or larger > MEMORY_TARGET


if __name__ == "__main__":
    sys.exit(main())
