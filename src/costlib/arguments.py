"""The gate of every public function: names, dimensions and signs of its arguments."""

import functools
import inspect
import math

import pint

from costlib.units import Quantity, show

__all__ = ["ArgumentError", "takes"]


class ArgumentError(ValueError):
    """An argument that a function cannot use; the message names it, what was given and what is wanted."""


def takes(*, returns, **units):
    """Check a function's arguments and convert them, and its result, to the units declared.

    Every argument has to be finite and more than zero; ``"token >= 0"`` allows
    zero, ``"byte >= -inf"`` either sign, ``"accelerator >= 1"`` nothing below one,
    and a default of None allows None.
    Numbers and arrays of numbers pass only where the unit is ``""``.

    Parameters
    ----------
    returns : str
        Unit of the result.
    **units : str
        Unit of each argument, by name.

    Raises
    ------
    TypeError
        When the module is imported, if the names are not those of the signature.
    """
    wanted = {name: _Wanted(text) for name, text in units.items()}

    def decorate(function):
        signature = inspect.signature(function)
        result = Quantity(1, returns).units
        if list(wanted) != list(signature.parameters):
            raise TypeError(f"{function.__name__}{signature} declares units for {', '.join(wanted)}")

        @functools.wraps(function)
        def checked(*args, **kwargs):
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}{signature}: {error}") from None
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                if value is None and signature.parameters[name].default is None:
                    continue
                try:
                    bound.arguments[name] = wanted[name].converted(value)
                except ArgumentError as error:
                    raise ArgumentError(f"{function.__name__}: {name} = {error}; wanted {wanted[name]}") from None
            try:
                return function(**bound.arguments).to(result)
            except ArgumentError:
                raise
            except ValueError as error:  # numpy, of shapes that do not broadcast
                raise ArgumentError(f"{function.__name__}: {error}") from None

        checked.units = {name: want.unit for name, want in wanted.items()}
        checked.returns = returns
        return checked

    return decorate


_VAST = 1e50  # products of larger sizes, and quotients by the reciprocal, would leave the range of a float

_RANGES = {"": "more than zero", "0": "zero or more", "1": "one or more", "-inf": "finite"}


class _Wanted:
    """What one argument must be: a unit and a range."""

    def __init__(self, text):
        self.unit, _, low = text.partition(" >= ")
        self.range = _RANGES[low]
        self.low = float(low or 0)
        self.low_allowed = bool(low)
        self.units = Quantity(1, self.unit).units  # a misspelt unit fails at import

    def __str__(self):
        name = show(Quantity(2, self.unit)).partition(" ")[2]
        return f"a quantity in {name}, {self.range}" if name else f"a number, {self.range}"

    def converted(self, value):
        if isinstance(value, str | bytes) or value is None:
            raise ArgumentError(f"{value!r} is no quantity")
        bare = not isinstance(value, Quantity)
        if bare:
            value = _wrapped(value)
        value = Quantity(_floats(value.magnitude), value.units)
        if bare and self.unit:
            raise ArgumentError(f"{_shown(value)} has no unit")
        try:
            if value.units != self.units:
                value = Quantity(_settled(value.m_as(self.units)), self.units)
        except pint.DimensionalityError:
            raise ArgumentError(f"{_shown(value)} has another dimension") from None
        low, high = extremes(value.magnitude)
        in_range = low > self.low or (self.low_allowed and low == self.low)
        if not in_range or high == math.inf or low == -math.inf:  # a NaN is in no range
            raise ArgumentError(_shown(value))
        if max(-low, high) > _VAST or (not self.low_allowed and low < 1 / _VAST):
            raise ArgumentError(f"{_shown(value)}, too large or too small to compute with")
        return value


def _wrapped(value):
    """What came without a unit, as a quantity without dimension."""
    if hasattr(value, "magnitude"):
        raise ArgumentError(f"{value!r} belongs to another unit registry")
    try:
        return Quantity(value)
    except (TypeError, ValueError):  # pint and numpy each have their own word for it
        raise ArgumentError(f"{value!r} is no quantity") from None


def _floats(magnitude):
    """The magnitude in double precision: integers of a fixed width would wrap around without a word."""
    if hasattr(magnitude, "dtype"):
        if magnitude.shape and type(magnitude).__name__ != "ndarray":  # a matrix multiplies by other rules
            raise ArgumentError(f"a {type(magnitude).__name__}, not an array")
        if magnitude.dtype.kind not in "iuf":
            raise ArgumentError(f"an array of {magnitude.dtype}")
        return magnitude.astype(float, copy=False)
    if not isinstance(magnitude, int | float):  # pint itself refuses a bool
        raise ArgumentError(f"{magnitude!r} is no number")
    try:
        return float(magnitude)
    except OverflowError:
        raise ArgumentError("a whole number too large to compute with") from None


def _settled(converted):
    """Whole numbers that a change of unit has moved by a rounding error, whole again: 2.007 ktoken are 2,007."""
    if hasattr(converted, "shape"):
        import numpy  # loaded already by whoever made the array

        whole = numpy.round(converted)
        return numpy.where(numpy.abs(converted - whole) <= _ROUNDING * numpy.abs(whole), whole, converted)
    if not math.isfinite(converted):
        return converted
    whole = float(round(converted))
    return whole if abs(converted - whole) <= _ROUNDING * abs(whole) else converted


_ROUNDING = 4e-15


def extremes(magnitude):
    """The smallest and the largest entry; NaN, if there is one."""
    if not hasattr(magnitude, "min"):
        return magnitude, magnitude
    if magnitude.size == 0:
        raise ArgumentError("an empty array")
    return magnitude.min(), magnitude.max()


def _shown(value):
    if not hasattr(value.magnitude, "min") or value.magnitude.size == 1:
        return f"{value:~P}"
    low, high = extremes(value.magnitude)
    return f"an array from {low} to {high} {value.units:~P}".rstrip()
