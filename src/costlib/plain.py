"""Plain numbers, as JSON and the cells of a spreadsheet have them: bytes, seconds, whole counts."""

import math

from costlib.units import Quantity, ureg

__all__ = ["base", "plain"]


def base(value):
    """A quantity in bytes, seconds and whole counts, without prefixes."""
    in_bits = value.to_base_units()
    power = in_bits.dimensionality.get("[information]", 0)
    return in_bits.to(in_bits.units * (ureg.byte / ureg.bit) ** power)


def plain(value):
    """What JSON has for a value or a nest of them: quantities in base units, and null for infinity."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # of a file: JSON as Python reads it has NaN
    if not isinstance(value, Quantity):
        return value
    number = float(base(value).magnitude)
    if not math.isfinite(number):
        return None
    if value.is_compatible_with("byte") and not math.isclose(number, round(number), rel_tol=1e-12):
        number = float(math.floor(number))
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
