"""What products of quantities cost, against pint with the same units and no memory of them."""

import sys
from pathlib import Path

import pint
from compared import medians

from costlib import units

TARGET = 1.5
PRODUCTS = 2000

ours = units.ureg
pints = pint.UnitRegistry(Path(units.__file__).with_name("units.txt"), auto_reduce_dimensions=True)


def products(registry):
    """Products as formulas have them: of units that cancel, that are of one dimension, and that stay."""
    size, rate, tokens = (registry.Quantity(2.0, unit) for unit in ("GiB/token", "GB/second", "token"))
    return lambda: [size * tokens / rate for _ in range(PRODUCTS)]


def main():
    mine, theirs = products(ours), products(pints)
    assert mine()[0].m_as("second") == theirs()[0].m_as("second")
    quick, slow = medians(mine, theirs)
    print(f"a product and a quotient: costlib {quick / PRODUCTS * 1e6:.1f} us, pint {slow / PRODUCTS * 1e6:.1f} us")
    print(f"pint over costlib: {slow / quick:.1f}  (target: at least {TARGET:g})")
    return slow / quick < TARGET


if __name__ == "__main__":
    sys.exit(main())
