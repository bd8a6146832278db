"""What a trace comes to: the figures that a worksheet takes from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from costlib.traces.distribution import CutOff, Distribution
from costlib.traces.statistics import Growth
from costlib.units import Quantity

__all__ = ["Summary", "summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    """Figures of a trace; None where it does not say, and ``notes`` why.

    Tokens and counts are plain numbers, times are quantities. Those named
    "per session", ``lifetime``, ``model_time`` and ``wait`` are means over sessions.
    """

    lengths: Distribution
    cut_off: CutOff
    sessions: int
    requests: int | None
    requests_per_session: float | None
    input_per_session: float | None
    output_per_session: float | None
    lifetime: Quantity | None
    model_time: Quantity | None
    wait: Quantity | None
    wait_share: float | None
    hits_by_tokens: float | None
    hits_by_requests: float | None
    arrival_scv: float | None
    session_scv: float | None
    session_rate: Quantity | None
    growth: Growth | None
    columns: Mapping[str, str]
    rejected: Mapping[str, int]
    notes: tuple[str, ...]


def summary(trace):
    """All figures of a trace."""
    raise NotImplementedError
