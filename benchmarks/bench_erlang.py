"""What the units and checks of ``erlang_c`` cost over 10^5 points, against the usual formula in plain SciPy.

At a million servers the usual formula is good to eight digits; ours to twelve, and without SciPy.
"""

import sys

import numpy as np
from compared import medians
from scipy import special

from costlib.queueing import erlang_c
from costlib.units import Quantity

TARGET = 1.3
REPEATS = 15
POINTS = 100_000

random = np.random.default_rng(0)
servers = random.integers(1, 1001, POINTS).astype(float)
loads = servers * random.uniform(0.05, 0.999, POINTS)
SERVERS, LOADS = Quantity(servers, ""), Quantity(loads, "")


def plain():
    blocked = np.exp(servers * np.log(loads) - loads - special.gammaln(servers + 1)) / special.gammaincc(
        servers + 1, loads
    )
    return servers * blocked / (servers - loads + loads * blocked)


def with_units():
    return erlang_c(SERVERS, LOADS)


def main():
    assert np.allclose(with_units().magnitude, plain(), rtol=1e-10, atol=1e-290)
    ours, peer = medians(with_units, plain, repeats=REPEATS)
    print(f"costlib {ours * 1e3:5.1f} ms")
    print(f"SciPy   {peer * 1e3:5.1f} ms")
    ratio = ours / peer
    print(f"erlang_c of {POINTS:,} points, costlib over SciPy: {ratio:.2f}  (target: at most {TARGET})")
    return ratio > TARGET


if __name__ == "__main__":
    sys.exit(main())
