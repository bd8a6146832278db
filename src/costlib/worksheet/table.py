"""What a worksheet consists of: sections of rows, each row with its value, its unit and where it is from."""

import re
from dataclasses import dataclass

from costlib.units import show

__all__ = ["Row", "Section", "cell", "minus"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a worksheet.

    Parameters
    ----------
    key : str
        What programs call it.
    what : str
        What it is.
    values : tuple of (Quantity or str or None)
        One for each column of the section; None where it is not known.
    source : str
        Where the values are from.
    units : tuple of str
        Units to print in, one after another; by default the value's own.
    digits : int
        Significant digits.
    missing : str
        How to get the value where there is none.
    needs : str
        Instead of that, which other rows it follows from.
    """

    key: str
    what: str
    values: tuple
    source: str = ""
    units: tuple[str, ...] = ()
    digits: int = 4
    missing: str = ""
    needs: str = ""

    @property
    def known(self):
        """Whether any column has a value."""
        return any(value is not None for value in self.values)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table of a worksheet, and what it comes to.

    Parameters
    ----------
    key : str
        What programs call it.
    title : str
        Empty where it goes on with the section before.
    rows : tuple of Row
    columns : tuple of str
        Names of the columns of values; one without a name where there is one.
    says : tuple of str
        Sentences below the table: verdicts, and what explains a difference.
    """

    key: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...] = ("",)
    says: tuple[str, ...] = ()

    def __getitem__(self, key):
        """The row of this key."""
        return next(row for row in self.rows if row.key == key)


def minus(shown):
    """A number as it was shown, with a minus sign where it has a hyphen for one."""
    return f"−{shown[1:]}" if re.match(r"-\d", shown) else shown


def cell(row, value):
    """A value as it is printed in its row."""
    if value is None:
        return "–"
    first, *others = [minus(show(value, unit, row.digits)) for unit in row.units or (None,)]
    return first + (f" ({', '.join(others)})" if others else "")
