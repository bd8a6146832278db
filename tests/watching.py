"""Watches objects: what they hold, down to what cannot change, to be compared later."""

import functools
import types
from collections.abc import Iterator
from pathlib import PurePath

import numpy as np

from costlib.units import Quantity

FIXED = (str, bytes, int, float, complex, type(None), type, range, slice, np.generic, np.dtype)
FIXED += (PurePath, types.ModuleType, types.BuiltinFunctionType)


def pictures(values):
    """What each value of a dictionary holds, as nested tuples."""
    known = {}
    return {name: picture(value, known) for name, value in values.items()}


def picture(value, known):
    """What a value holds. Of what only C can look into, nothing but its type."""
    if isinstance(value, FIXED):
        return type(value), value
    assert not isinstance(value, Iterator), f"{value!r} is used up by whoever reads it"
    if id(value) not in known:
        known[id(value)] = value, "within itself"
        held = type(value), *(picture(part, known) for part in parts(value))
        known[id(value)] = value, held  # the value too, so that nothing else gets its id
    return known[id(value)][1]


def parts(value):
    """What of an object may change."""
    if isinstance(value, np.ndarray):
        return [*value.shape, *(value.ravel().tolist() if value.dtype == object else [value.tobytes()])]
    if isinstance(value, np.random.Generator):
        return [str(value.bit_generator.state)]
    if isinstance(value, Quantity):
        return [value.magnitude, str(value.units)]
    if isinstance(value, dict | types.MappingProxyType):
        return [part for item in value.items() for part in item]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, types.FunctionType):
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__defaults__, value.__kwdefaults__, vars(value), *held]
    return [attribute for name, attribute in sorted(attributes(value)) if not computed(value, name)]


def attributes(value):
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()) if hasattr(value, name)]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots}}.items()


def computed(value, name):
    """Whether an attribute is but remembered, and can be had again from the others."""
    return isinstance(getattr(type(value), name, None), functools.cached_property)
