"""What the sources state: the rows of ``stated-values.csv``, and what a cell must print to agree."""

import csv
import re
from dataclasses import dataclass, fields
from pathlib import Path

from costlib.units import Quantity, significant, unit_name

__all__ = ["Row", "rows"]


@dataclass(frozen=True)
class Row:
    """One figure that a source states, beside an independent calculation of it.

    ``key`` and ``page`` say which cell of which page computes it; ``source``,
    ``place`` and ``quantity`` what it is. ``stated`` is the source's own text,
    ``computed`` a calculation that is not ours, in ``unit``, whose spelling is
    that of :mod:`costlib.units`; ``remark`` says where the source is loose.
    """

    key: str
    page: str
    source: str
    place: str
    quantity: str
    stated: str
    computed: str
    unit: str
    remark: str

    @property
    def number(self):
        """The number stated, as written; None where the source has words, a rule or a range."""
        found = re.match(r"\d[\d,]*(\.\d+)?(?![\d.,]*\w)", self.stated)
        return found[0] if found and not re.search(r"\d to \S", self.stated) else None

    @property
    def digits(self):
        """Significant digits stated: zeros at the end of a whole number are not."""
        if self.number is None:
            return 3
        digits = re.sub(r"\D", "", self.number).lstrip("0")
        return len(digits if "." in self.number else digits.rstrip("0"))

    @property
    def expected(self):
        """What the cell prints if it agrees: the stated number, or the independent one where there is none."""
        text = self.number or self.computed
        low, range_of, high = text.partition("..")
        if range_of:
            return f"{low} to {high} {unit_name(Quantity(2, self.unit).units, plural=True)}"
        try:
            number, computed = float(text.replace(",", "")), float(self.computed)
        except ValueError:
            return text  # a verdict
        # An exact result prints without the zeros that a source may put after the point.
        written = text if self.number and number != computed else significant(number, self.digits)
        return f"{written} {unit_name(Quantity(number, self.unit).units, plural=written != '1')}".strip()

    def agrees(self, printed):
        """Whether a cell that prints this agrees with the source."""
        return printed == self.expected


_COLUMNS = [field.name for field in fields(Row)]


def rows(path):
    """The rows of a file of stated values, by key."""
    found = {}
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        for number, given in enumerate(csv.DictReader(file), 2):
            try:
                row = Row(**given)
            except TypeError:
                raise ValueError(f"{path}, row {number}: wanted the columns {', '.join(_COLUMNS)}") from None
            if row.key in found:
                raise ValueError(f"{path}, row {number}: the key {row.key!r} stands twice")
            found[row.key] = row
    return found
