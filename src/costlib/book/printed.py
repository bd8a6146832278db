"""How a value is quoted: the same on a page as it is built, and in the reader's browser."""

from costlib.units import Quantity, show

__all__ = ["printed"]


def printed(record, form=""):
    """How a record is printed: as it was stated, or with the digits and unit that a role asks for."""
    if not form:
        return record["printed"]
    if form == "number":
        return record["printed"].partition(" ")[0]
    if form == "each":
        return record["printed"].partition("/")[0]
    digits, _, unit = form.strip().partition(" ")
    if not digits.isdigit():
        digits, unit = record["digits"], form.strip()
    return show(Quantity(float(record["value"]), record["unit"]), unit or None, int(digits))
