"""What an inference token costs: rooflines, attention state and capacity, with units.

One topic a module, functions named for the quantity that they return:

- :mod:`costlib.roofline`, :mod:`costlib.serving`: the time of prefill and decode
- :mod:`costlib.kv_cache`, :mod:`costlib.capacity`: the memory of a context, and what fits
- :mod:`costlib.scenario`, :mod:`costlib.catalog`: what to compute for
- :mod:`costlib.units`: quantities, read and printed

Importing it loads the standard library and pint, nothing else.
"""

from costlib.scenario import load
from costlib.units import Quantity, quantity, show

__all__ = ["Quantity", "load", "quantity", "show"]
__version__ = "0.1.0"
