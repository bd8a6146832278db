"""How often each value occurs: the exact table that quantiles, their confidence and their tail are read from."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from costlib.arguments import ArgumentError

__all__ = ["CutOff", "Distribution", "distribution"]

TAIL = 0.1  # of the values are excesses, at most MOST of them
MOST = 2000
FEWEST = 30  # excesses below which nothing is said of the tail
LIGHT = -0.3  # shape of a tail that is lighter than nature's: the normal law's looks like -0.2 at such depths
SURE, DOUBTFUL = 0.002, 0.05  # chances of so even a tail in an exponential law below which one is cut off, or may be
TRIALS = 4000  # exponential samples from which that chance is told
HEAP = 0.1  # of the excesses within a hundredth of their range below the maximum: a heap


@dataclass(frozen=True)
class CutOff:
    """Whether the largest values look cut off.

    ``looks`` is None where there are too few values to say; ``near`` is the value
    near which the tail ends, ``shape`` that of the generalised Pareto law fitted
    to ``excesses`` values, ``chance`` that of so even a tail if it were
    exponential, and ``why`` says it in words. Where ``may`` is true, it is between 0.2 and 5 %, and not ``looks``.
    """

    looks: bool | None
    near: float | None
    shape: float | None
    chance: float | None
    excesses: int
    why: str

    @property
    def may(self):
        """Whether the largest values may be cut off, though it is not sure."""
        return self.looks is False and self.near is not None


@dataclass(frozen=True, eq=False)
class Distribution:
    """Distinct values in ascending order, and how often each occurs.

    Plain numbers, in the unit of the column that they were counted from (tokens,
    for session lengths). Bounded by the number of distinct values, exact, and the
    same from every engine that counts them.
    """

    values: np.ndarray
    counts: np.ndarray
    count: int = field(init=False)

    def __post_init__(self):
        if len(self.values) == 0:
            raise ArgumentError("Distribution: given no values; wanted one or more")
        object.__setattr__(self, "count", int(self.counts.sum()))
        object.__setattr__(self, "_up_to", np.cumsum(self.counts))

    @property
    def mean(self):
        """Mean of all values."""
        return float(np.dot(self.values.astype(float), self.counts) / self.count)

    @property
    def minimum(self):
        """Smallest value."""
        return self.values[0].item()

    @property
    def maximum(self):
        """Largest value."""
        return self.values[-1].item()

    def ranked(self, rank):
        """The value of this rank, from 1 for the smallest to ``count``."""
        return self.values[np.searchsorted(self._up_to, rank)].item()

    def quantile(self, p):
        """The value below which a share p lies: between order statistics by straight line, as NumPy's default."""
        _check_share(p, 0, 1, closed=True)
        position = 1 + p * (self.count - 1)
        below = math.floor(position)
        low = self.ranked(below)
        high = self.ranked(min(below + 1, self.count))
        return float(low + (position - below) * (high - low))

    def interval(self, p, confidence=0.95):
        """Two values of the sample between which the quantile of the whole population lies, whatever its law.

        The number of values below the quantile is binomial, so ranks are found
        that leave half of the rest on either side; an end is None where the sample is too small to have one.
        The values are taken as independent: copies, and sessions of one origin, make it too narrow.
        See David and Nagaraja (2003), doi:10.1002/0471722162, section 7.1.
        """
        _check_share(p, 0, 1)
        _check_share(confidence, 0, 1)
        from scipy import stats  # slow to load, and not needed for a quantile

        outside = (1 - confidence) / 2
        lower = int(stats.binom.ppf(outside, self.count, p))
        upper = int(stats.binom.ppf(1 - outside, self.count, p)) + 1
        return (self.ranked(lower) if lower >= 1 else None, self.ranked(upper) if upper <= self.count else None)

    def wanted(self, p, confidence=0.95):
        """How many values it takes for the interval of this quantile to have an upper end: p^n at most half the rest.

        Computed as :meth:`interval` computes it, so that the two agree at the edge.
        """
        _check_share(p, 0, 1)
        _check_share(confidence, 0, 1)
        return math.ceil(math.log((1 - confidence) / 2) / math.log(p) * (1 - 1e-12))

    def share_above(self, x):
        """Share of the values that are larger than x."""
        at = np.searchsorted(self.values, x, side="right")
        return float(self.counts[at:].sum() / self.count)

    def cut_off(self):
        """Whether the largest values look cut off, and near what.

        A generalised Pareto law is fitted to the excesses over a high quantile, as
        the theory of extremes has it for all common laws; it ends at a finite
        value where its shape is negative. A tail is called cut off where the shape
        is below -0.3 and the largest excess is so small a part of their sum as
        in 0.2 % of samples of an exponential law of their number, or where a tenth of the excesses, or of
        all values, is heaped within a hundredth of their range below the maximum. From 0.2 to 5 % it may
        be cut off (``may``). Cuts that take less than about a hundredth of the values are not seen.
        The chance is that of seeded samples, so it holds for 30 excesses, too, where that of a likelihood ratio does
        not. See Hosking and Wallis (1987), doi:10.1080/00401706.1987.10488243, and :class:`CutOff`.
        """
        if (of_all := self._heaped(self.minimum)) >= TAIL * self.count and len(self.values) >= FEWEST:
            return self._heap(of_all, self.count, "values", None, None)
        threshold, excess = self._excesses()
        number = len(excess)
        if number < FEWEST:
            return CutOff(None, None, None, None, number, f"{number} values in the tail are too few to say")
        shape, end = _generalised_pareto(excess)
        chance = _chance(excess)
        of_tail = self._heaped(threshold)
        if of_tail >= max(10, HEAP * number) and excess[0] < excess[-1]:
            return self._heap(of_tail, number, "largest values", shape, chance)
        if shape < LIGHT and chance < DOUBTFUL:
            end += threshold
            why = f"the {number:,} largest values thin out as if none could pass {end:,.0f} (shape {shape:.2f})"
            if chance >= SURE:
                why += f", but {100 * chance:.1f} % of samples of an exponential law do so, too"
            return CutOff(chance < SURE, end, shape, chance, number, why)
        return CutOff(False, None, shape, chance, number, f"the {number:,} largest values thin out as tails do")

    def _heaped(self, low):
        """How many values lie within a hundredth of the range from low below the maximum."""
        near = self.maximum - 0.01 * (self.maximum - low)
        return int(self.counts[np.searchsorted(self.values, near) :].sum())

    def _heap(self, heaped, number, what, shape, chance):
        why = f"{heaped:,} of the {number:,} {what} are heaped up to {self.maximum:,}"
        return CutOff(True, float(self.maximum), shape, chance, number, why)

    def _excesses(self):
        """A high threshold, and by how much each larger value exceeds it, in ascending order."""
        most = min(int(TAIL * self.count), MOST)
        first = int(np.searchsorted(self._up_to, self.count - most))  # the last value that is no excess
        threshold = self.values[first].item()
        return threshold, np.repeat(self.values[first + 1 :] - threshold, self.counts[first + 1 :]).astype(float)


def distribution(table, column):
    """How often each value of a column occurs, counted by the engine with one group-by.

    Parameters
    ----------
    table : ibis.Table
        Of any backend.
    column : str
        A column of whole numbers; rows without a value are left out.

    Returns
    -------
    Distribution

    Raises
    ------
    ArgumentError
        If no row has a value.
    """
    counted = table.filter(table[column].notnull()).group_by(value=table[column]).agg(number=lambda t: t.count())
    arrow = counted.to_pyarrow()
    values, counts = (arrow[name].to_numpy() for name in ("value", "number"))
    order = np.argsort(values)
    return Distribution(values[order], counts[order].astype(np.int64))


def _check_share(value, low, high, closed=False):
    if not (low <= value <= high if closed else low < value < high):
        raise ArgumentError(f"given {value}; wanted a share between {low} and {high}")


def _generalised_pareto(excess):
    """Shape, and the excess at which the law ends.

    Below a shape of -1 the likelihood grows without bound as the end comes near the largest excess: -1 and that then.
    """
    from scipy import stats

    reach = excess.max()
    scaled = excess / reach
    shape, _, scale = stats.genpareto.fit(scaled, floc=0)
    end = reach * max(scale / -shape, 1) if shape < 0 else np.inf
    return max(float(shape), -1.0), float(end)


def _chance(excess):
    """The chance that of so many exponential values the largest is as small a part of the sum; always the same."""
    return float((_shortness(len(excess)) <= excess.max() / excess.sum()).mean())


@lru_cache(maxsize=8)
def _shortness(number):
    """Largest value over the sum, of seeded exponential samples; the scale drops out."""
    rng = np.random.default_rng(number)
    rows = max(1, 2**20 // number)  # a few megabytes at a time
    parts = (rng.exponential(size=(min(rows, TRIALS - i), number)) for i in range(0, TRIALS, rows))
    return np.concatenate([part.max(axis=1) / part.sum(axis=1) for part in parts])
