"""What a part of a scenario consists of: its fields, their units and limits.

A part (a model, an accelerator, ...) is a frozen dataclass. Its fields are
declared with :func:`size`; :func:`read` turns a TOML table into their values,
or says which key is wrong, what was given and what is wanted.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from costlib.units import Quantity, UnitError, quantity, show

__all__ = ["InputError", "Origin", "Part", "build", "choice", "nearest", "parts", "read", "required", "size", "sized"]


class InputError(ValueError):
    """A file or name that cannot be used; the message says where, what and why."""


@dataclass(frozen=True)
class Origin:
    """Where a value comes from."""

    title: str
    address: str = ""
    date: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A named thing with sized fields and, for each of them, its origin."""

    title: str
    origin: Mapping[str, Origin] = field(default_factory=dict, compare=False, repr=False)

    @property
    def changed_title(self):
        """What to call it once values of it were changed: by its name, and that they were."""
        return self.title.removesuffix(", changed") + ", changed"


def size(unit, low, high, text, *, optional=False):
    """A field that holds a quantity of this unit between two limits, beyond which it is absurd."""
    low, high = (quantity(limit) if isinstance(limit, str) else Quantity(limit, unit) for limit in (low, high))
    metadata = {"unit": unit, "low": low, "high": high, "text": text}
    return field(metadata=metadata, **({"default": None} if optional else {}))


def choice(options, text):
    """A field that holds one of a few texts."""
    return field(metadata={"options": tuple(options), "text": text})


def parts(cls, text):
    """A field that holds one or more smaller parts, as an array of tables."""
    return field(metadata={"parts": cls, "text": text})


def build(cls, table, where, origin=None):
    """A part from a complete table.

    Raises
    ------
    InputError
        As :func:`read`, and for what is missing.
    """
    values = read(cls, table, where)
    missing = [name for name in required(cls) if name not in values]
    if missing:
        f = next(f for f in _fields(cls) if f.name == missing[0])
        raise InputError(f"{where}: {f.name} is missing; wanted {_wanted(f)}")
    try:
        return cls(**values, **({"origin": origin} if origin else {}))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def read(cls, table, where):
    """The values of the fields that a table gives.

    Raises
    ------
    InputError
        For an unknown key, a wrong unit, a value that is no quantity or beyond its limits.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: given {table!r}; wanted a table")
    known = {f.name: f for f in _fields(cls)}
    for key in table:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}; {nearest(key, known)}")
    return {key: _value(known[key], given, f"{where} {key}") for key, given in table.items()}


def nearest(name, known):
    """The advice after an unknown name: the nearest valid one, and all of them."""
    by_lower = {str(valid).lower(): valid for valid in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
    return (f"did you mean {by_lower[close[0]]!r}? " if close else "") + "Valid: " + ", ".join(sorted(known))


def required(cls):
    """Names of the fields that a part cannot be without."""
    return [f.name for f in _fields(cls) if f.default is dataclasses.MISSING]


def _fields(cls):
    return [f for f in dataclasses.fields(cls) if f.name != "origin"]


def _value(f, given, where):
    if f.metadata.get("parts"):
        if not isinstance(given, list) or not given:
            raise InputError(f"{where} = {given!r}; wanted {_wanted(f)}")
        cls = f.metadata["parts"]
        return tuple(build(cls, item, f"{where}[{i}]") for i, item in enumerate(given, 1))
    if "unit" not in f.metadata:
        if not isinstance(given, str) or not given or given not in f.metadata.get("options", [given]):
            raise InputError(f"{where} = {given!r}; wanted {_wanted(f)}")
        return given
    return sized(f, given, where)


_GROUPED_BY_POINTS = re.compile(r"\s*\d{1,3}\.\d{3}\s*(?!thousand|million|billion|trillion)[a-z]")


def sized(f, given, where):
    """A quantity in the field's unit; a bare number only where the unit is a count."""
    meta = f.metadata
    try:
        if isinstance(given, str):
            value = quantity(given)
            if _counts(meta["unit"]) and _GROUPED_BY_POINTS.match(given):
                raise UnitError(f"{given!r} is a count with a decimal point; group thousands as in 128,000")
        elif (
            isinstance(given, int | float)
            and not isinstance(given, bool)
            and (_counts(meta["unit"]) or not meta["unit"])
        ):
            value = Quantity(float(given), meta["unit"])
        else:
            raise UnitError(f"{given!r} has no unit")
        if str(value.units) == "dimensionless" and _counts(meta["unit"]):
            value = Quantity(value.magnitude, meta["unit"])
    except (UnitError, OverflowError) as error:
        raise InputError(f"{where}: {error}; wanted {_wanted(f)}") from None
    if not value.is_compatible_with(meta["unit"]):
        unit = show(Quantity(1, value.units))[2:]
        raise InputError(f"{where} = {given!r} {f'is in {unit}' if unit else 'has no unit'}; wanted {_wanted(f)}")
    if not meta["low"] <= value <= meta["high"]:  # a NaN is not, either
        raise InputError(f"{where} = {given!r}; wanted {_wanted(f)}")
    if _counts(meta["unit"]) and not _whole(value.m_as(meta["unit"])):
        raise InputError(f"{where} = {given!r}; wanted a whole number: {_wanted(f)}")
    return value


def _whole(number):
    """Whether a number is whole, but for rounding: 1.001 times 1e9 is not, quite."""
    return math.isclose(number, round(number), rel_tol=1e-12)


def _counts(unit):
    """Whether a unit counts whole things, so that a bare integer says enough."""
    return unit in {
        "parameter",
        "layer",
        "head",
        "channel",
        "channel/head",
        "expert",
        "expert/token",
        "token",
        "accelerator",
        "sequence",
    }


def _wanted(f):
    if "parts" in f.metadata:
        return f"{f.metadata['text']}, as [[...]] tables"
    if "options" in f.metadata:
        return f"{f.metadata['text']}: {' or '.join(f.metadata['options'])}"
    if "unit" not in f.metadata:
        return "a text"
    low, high = f.metadata["low"], f.metadata["high"]
    return f"{f.metadata['text']}, from {show(low, digits=15)} to {show(high, digits=15)}"
