"""Whether two values are surely the same, so that what was computed from one stands for the other."""

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, ModuleType

from costlib.schema import Origin
from costlib.units import Quantity

__all__ = ["same"]

PLAIN = (str, bytes, int, float, complex, bool, type(None), range, PurePath, Fraction, Decimal)


def same(one, other):
    """Whether two values are of an immutable kind, and equal to the last bit; False where that is not sure."""
    if type(one) is not type(other):
        return False
    if isinstance(one, PLAIN):
        return one == other and repr(one) == repr(other)  # 0.0 is not -0.0
    if isinstance(one, Quantity):
        return type(one.magnitude) in PLAIN and same(one.magnitude, other.magnitude) and one.units == other.units
    if isinstance(one, ModuleType | BuiltinFunctionType | type):
        return one is other
    if isinstance(one, FunctionType):
        return one is other or _same_function(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one) and type(one).__dataclass_params__.frozen:
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, Mapping) and one and one.keys() == other.keys():  # of a frozen object: its origins
        return all(isinstance(value, Origin) and value == other[key] for key, value in one.items())
    return False


def _same_function(one, other):
    """Functions of a cell that ran again: what they read of the page is looked up when they are called."""
    parts = [(f.__defaults__ or (), tuple((f.__kwdefaults__ or {}).items())) for f in (one, other)]
    return (
        one.__code__ == other.__code__
        and one.__globals__ is other.__globals__
        and one.__closure__ is None is other.__closure__
        and not one.__dict__
        and not other.__dict__
        and same(*parts)
    )
