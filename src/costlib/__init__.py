"""What an inference token costs: rooflines, attention state and capacity, with units.

One topic a module, functions named for the quantity that they return:

- :mod:`costlib.roofline`, :mod:`costlib.serving`: the time of prefill and decode
- :mod:`costlib.decoding`, :mod:`costlib.speculation`: what goes on around the forward pass
- :mod:`costlib.kv_cache`, :mod:`costlib.paging`, :mod:`costlib.capacity`: the memory of a context, and what fits
- :mod:`costlib.trajectories`, :mod:`costlib.queueing`: how many live, and how long they wait
- :mod:`costlib.cost`: what a session costs, on hired accelerators and from a host
- :mod:`costlib.attention`, :mod:`costlib.grammar`, :mod:`costlib.simulation`, :mod:`costlib.sagas`,
  :mod:`costlib.recovery`: the things themselves, small, to hold the formulas against
- :mod:`costlib.scenario`, :mod:`costlib.catalog`: what to compute for
- :mod:`costlib.units`: quantities, read and printed

And what reads a user's own files, each a package on top of these:

- :mod:`costlib.model_config`: a model's configuration, and what engines reserve for it
- :mod:`costlib.logs`, :mod:`costlib.traces`: what an engine says of memory, what sessions did
- :mod:`costlib.worksheet`: five numbers from all of them

Importing it loads the standard library; pint comes with the first name that is used.
"""

import importlib

__version__ = "0.1.0"
__all__ = ["Quantity", "load", "quantity", "show"]

_HOMES = {"Quantity": "units", "quantity": "units", "show": "units", "load": "scenario"}


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'costlib' has no attribute {name!r}")
    return getattr(importlib.import_module(f"costlib.{_HOMES[name]}"), name)
