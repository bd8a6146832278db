"""The one unit registry: how a quantity is read and printed.

Everything that must not be mistaken for something else is a dimension of its
own: a token is not a number, a bit is not a byte, a batch is not a context.
Constants that join two of them carry both, as in 2 operations per parameter
per token.
"""

import difflib
import functools
import math
import re
from decimal import Decimal
from pathlib import Path

import pint

__all__ = ["Quantity", "UnitError", "counted", "maximum", "minimum", "quantity", "show", "size_unit", "times", "ureg"]


class UnitError(ValueError):
    """A text that is not one number with one known unit."""


class _Quantity(pint.UnitRegistry.Quantity):
    def ito_reduced_units(self):
        """As pint has it, which asks again after every product which of its units share a dimension."""
        reduced = _reduced(tuple(self._units.items()))
        if reduced != self._units:
            self.ito(reduced)

    def __reduce__(self):
        # Names the registry, so that another process finds it without being told.
        return _restore, (self.magnitude, str(self.units))

    def __format__(self, spec):
        if spec.endswith("%"):  # pint would append "dimensionless"
            return format(self.m_as(""), spec)
        return super().__format__(spec)


class _Registry(pint.UnitRegistry):
    Quantity = _Quantity

    @functools.lru_cache(maxsize=1024)  # noqa: B019  There is one registry, and its units never change.
    def parse_units_as_container(self, *args):
        return super().parse_units_as_container(*args)


@functools.lru_cache(maxsize=1024)
def _reduced(powers):
    """The units with one of each dimension; none where they cancel. Which remains, the order of the powers decides."""
    return Quantity(1.0, pint.util.UnitsContainer(dict(powers))).to_reduced_units()._units


def _strict(text):
    """Refuse a comma that does not group thousands, also that of 0,500; pint drops every comma."""
    if re.search(r",", re.sub(r"(?<![\d,.])[1-9]\d{0,2}(,\d{3})+(?![\d,])", "", text)):
        raise UnitError(f"{text!r}: a comma may only group thousands, as in 1,979; write decimals with a point")
    return text


ureg = _Registry(
    Path(__file__).with_name("units.txt"),
    auto_reduce_dimensions=True,  # 16 GB / 16 GiB is 0.93, not 1
    preprocessors=[_strict],
)
pint.set_application_registry(ureg)
Quantity = ureg.Quantity


def _restore(magnitude, units):
    return Quantity(magnitude, units)


_NUMBER = r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?"
_UNIT = r"(?:[A-Za-zµμ%/·*() ]|(?:\^|\*\*)-?[0-9])*"  # digits only as powers
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SPELLINGS = (
    "B kB MB GB TB KiB MiB GiB TiB bit kbit Mbit Gbit Tbit byte byte/s MB/s GB/s TB/s GiB/s Gbit/s "
    "bit/parameter byte/parameter bit/element byte/element Top/s TOPS TFLOPS PFLOPS "
    "token tokens ktoken Mtoken token/s parameter parameters USD USD/Mtoken USD/hour s ms µs us ns min hour day %"
).split()


def quantity(text):
    """The quantity that a text states: one number and one unit.

    Parameters
    ----------
    text : str
        For example ``"3.35 TB/s"``, ``"1,979 TOPS"``, ``"70.6 billion parameters"``,
        ``"$0.55 per million tokens"``.

    Returns
    -------
    Quantity
        With the unit as written.

    Raises
    ------
    UnitError
        If the text is no number, or its unit is not defined; names the nearest.

    Examples
    --------
    >>> quantity("3.35 TB/s").to("byte/s").magnitude
    3350000000000.0
    >>> quantity("1 Gb")
    Traceback (most recent call last):
    costlib.units.UnitError: '1 Gb': no unit 'Gb'; nearest: GB, Gbit, GiB
    """
    found = re.fullmatch(rf"\s*(\$?)\s*({_NUMBER})\s*({'|'.join(_SCALES)})?\s*({_UNIT})\s*", text)
    if not found:
        raise UnitError(f"{text!r} is not a number with a unit, such as '3.35 TB/s'")
    _strict(text)
    dollar, number, scale, unit = found.groups()
    unit = re.sub(r"(?:/|\bper) *(?:M|million) +token", "/Mtoken", unit)
    unit = ("USD " if dollar else "") + unit
    try:
        value = float(number.replace(",", "")) * _SCALES.get(scale, 1)
        unit = ureg.parse_units(re.sub(r"\s*\bper\s+", "/", unit))
    except pint.UndefinedUnitError as error:
        raise UnitError(f"{text!r}: {_unknown(error)}") from None
    except Exception:  # pint raises whatever its tokenizer meets
        raise UnitError(f"{text!r} is not a number with a unit, such as '3.35 TB/s'") from None
    if math.isinf(value):
        raise UnitError(f"{text!r}: the number is too large")
    return Quantity(value, unit)


def _unknown(error):
    """What to say of an undefined unit: its name and the nearest spellings."""
    names = error.unit_names if isinstance(error.unit_names, str) else error.unit_names[0]
    by_lower = {}
    for spelling in _SPELLINGS:
        by_lower.setdefault(spelling.lower(), []).append(spelling)
    near = difflib.get_close_matches(names.lower(), by_lower, n=3, cutoff=0.6)
    if names == "Gb":  # closest by letters is not closest by meaning
        near = ["gb", "gbit", "gib"]
    hint = ", ".join(spelling for lower in near for spelling in by_lower[lower])
    return f"no unit {names!r}" + (f"; nearest: {hint}" if hint else "")


def show(value, unit=None, digits=3):
    """How a value is printed: rounded to significant digits, with a readable unit.

    Parameters
    ----------
    value : Quantity, float or str
        A text is returned as it is.
    unit : str, optional
        Unit to print in; the value's own by default.
    digits : int
        Significant digits; whole numbers of fewer digits keep no decimals.

    Returns
    -------
    str

    Examples
    --------
    >>> show(quantity("107727 token"))
    '108,000 tokens'
    >>> show(quantity("0.0210746 s/token"), "ms/token")
    '21.1 ms/token'
    >>> show(quantity("70.6e9 parameter"), "Gparameter")
    '70.6 billion parameters'
    """
    if isinstance(value, str):
        return value
    if hasattr(value, "magnitude") and not isinstance(value, Quantity):
        raise UnitError(f"{value!r} belongs to another unit registry")
    value = Quantity(value).to(unit) if unit else Quantity(value)
    number = significant(value.magnitude, digits)
    name = unit_name(value.units, plural=number != "1")
    return f"{number} {name}".strip()


def size_unit(size):
    """The unit in which a size is read without zeros in front: TB from a tenth of one on, or else GB, or MB.

    Examples
    --------
    >>> [size_unit(quantity(size)) for size in ("7.7 TB", "0.0017 TB", "9 B")]
    ['TB', 'GB', 'MB']
    """
    return next((unit for unit in ("TB", "GB") if size >= Quantity(0.1, unit)), "MB")


def counted(number, one, many=None):
    """A whole number of things that are no unit, in words: '1 row', '1,952 blocks', '2 entries'."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def times(copies):
    """How often something is stored, in words: "once" where no more would be seen in the digits shown.

    Examples
    --------
    >>> times(quantity("1.0049")), times(quantity("8"))
    ('once', '8 times')
    """
    return "once" if round(copies.m_as(""), 2) == 1 else f"{show(copies)} times"


def significant(number, digits):
    """A number as text, rounded to significant digits, thousands grouped; what is exact in fewer keeps fewer."""
    number = float(number) + 0.0  # no zero is negative
    if math.isnan(number):
        raise UnitError("nan is no number that could be printed")
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    rounded = float(f"{number:.{digits - 1}e}")
    if rounded == number:
        if 0 < abs(number) < 1e-4:
            return f"{Decimal(repr(number)):f}"
        return f"{number:,.15g}" if abs(number) < 1e15 else f"{number:,.0f}"
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}"


_COUNTED = {
    name: name + "s"
    for name in "parameter element token layer head channel expert accelerator node sequence stream session".split()
} | {"trajectory": "trajectories"}
_LARGE = {"": "", "k": "thousand ", "M": "million ", "G": "billion ", "T": "trillion "}


@functools.lru_cache(maxsize=1024)
def unit_name(units, plural):
    """The unit's symbols, with what is counted spelled out: '70.6 billion parameters', 'USD per million tokens'."""
    above, *below = f"{units:~P}".split("/")
    words = "|".join(_COUNTED)
    if found := re.fullmatch(rf"([kMGT]?)({words})", above):
        scale, name = found.groups()
        above = _LARGE[scale] + (_COUNTED[name] if plural or scale else name)
    below = ["/" + name for name in below]
    for i, name in enumerate(below):
        if found := re.fullmatch(rf"/([kMGT])({words})", name):
            below[i] = f" per {_LARGE[found[1]]}{_COUNTED[found[2]]}"
    return above + "".join(below)


def maximum(one, other, overwrite=False):
    """The larger of two quantities, element by element where either is an array.

    With overwrite, the result may take the memory of the first, which the caller gives up.
    """
    return _elementwise("maximum", max, one, other, overwrite)


def minimum(one, other):
    """The smaller of two quantities, element by element where either is an array."""
    return _elementwise("minimum", min, one, other, overwrite=False)


def _elementwise(name, scalar, one, other, overwrite):
    if not (hasattr(one.magnitude, "shape") or hasattr(other.magnitude, "shape")):
        return scalar(one, other)
    import numpy  # loaded already by whoever made the array

    here, there = one.magnitude, other.m_as(one.units)
    fits = numpy.ndim(here) and here.shape == numpy.broadcast_shapes(here.shape, numpy.shape(there))
    return Quantity(getattr(numpy, name)(here, there, out=here if overwrite and fits else None), one.units)
