"""One figure of a log beside its prediction, and what closes their difference."""

from dataclasses import dataclass

from costlib.arguments import ArgumentError
from costlib.units import Quantity

__all__ = ["AS_PREDICTED", "Comparison", "judged", "not_predicted", "within"]

AS_PREDICTED = "as predicted, within the digits printed"


@dataclass(frozen=True)
class Comparison:
    """One figure of a log beside its prediction.

    Parameters
    ----------
    what : str
    predicted : Quantity, float or None
        None where there is no prediction; the explanation says why.
    printed : Quantity or float
    difference : float or None
        By which share of the predicted the printed one is more.
    explanation : str
    closed : bool
        Whether the printed figure follows from the prediction, or from it and what the explanation names.
    """

    what: str
    predicted: object
    printed: object
    difference: float | None
    explanation: str
    closed: bool = False


def not_predicted(what, printed, why):
    """A figure for which there is no prediction, and why."""
    return Comparison(what, None, printed, None, f"not predicted: {why}")


def judged(what, printed, unit, half, base, candidates, otherwise=""):
    """A figure within the interval of its prediction, or of the candidates that bring it there.

    Parameters
    ----------
    what : str
        What the figure is of.
    printed : float
        As the log has it.
    unit : str
        Of the figure; empty for a number.
    half : float
        What the printed figure may be off.
    base : tuple of float
        The prediction, at the least and at the most.
    candidates : iterable of (str, function)
        What may have been otherwise, and the interval that it gives.
    otherwise : str
        What is to be said if none closes the difference.

    Returns
    -------
    Comparison
    """
    shown = (lambda value: Quantity(float(value), unit)) if unit else float
    predicted = sum(base) / 2
    difference = printed / predicted - 1 if predicted else None
    made = (what, shown(predicted), shown(printed), difference)
    if within(printed, base, half):
        return Comparison(*made, AS_PREDICTED, True)
    if closing := _closing(printed, half, candidates):
        return Comparison(*made, " or ".join(dict.fromkeys(closing)), True)
    more = "more" if difference and difference > 0 else "less"
    gap = f"{abs(difference):.2%} {more} than predicted" if difference is not None else "not as predicted"
    return Comparison(*made, f"not explained: {gap}{otherwise and '; ' + otherwise}")


def _closing(printed, half, candidates):
    """The names of the candidates that bring a figure into their interval."""
    closing = []
    for name, interval in candidates:
        try:
            if within(printed, interval(), half):
                closing.append(name)
        except ArgumentError:  # heads that cannot be split so, and the like
            continue
    return closing


def within(printed, interval, half):
    """Whether a figure lies in an interval, but for what it may be off."""
    low, high = interval
    slack = half + 1e-9 * max(abs(low), abs(high), abs(printed))
    return low - slack <= printed <= high + slack
