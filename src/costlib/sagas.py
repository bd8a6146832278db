"""Sagas: short steps that each take effect at once, with a compensation for what cannot be rolled back."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Outcome", "Step", "Stuck", "run"]


@dataclass(frozen=True)
class Step:
    """One step of a saga.

    A step that fails has done nothing; one whose effect is unsure has to be harmless when repeated.
    Without a compensation a step is a pivot: once it is done, the saga only goes forward.
    """

    name: str
    action: Callable[[], None]
    compensation: Callable[[], None] | None = None


@dataclass(frozen=True)
class Outcome:
    """Whether a saga completed or was compensated, and what it did, in order."""

    completed: bool
    trace: tuple[str, ...]


class Stuck(Exception):
    """A step past the pivot, or a compensation, failed on every attempt: somebody has to look."""


def run(steps, attempts=3):
    """Run a saga to one of its two ends: all steps done, or those done compensated in reverse.

    Before the pivot, the first failure turns the saga around. Past it there is no
    way back, and a step is tried again; so is a compensation at any time.

    Parameters
    ----------
    steps : sequence of Step
        In the order in which they run.
    attempts : int, optional
        How often a step past the pivot, or a compensation, is tried.

    Returns
    -------
    Outcome
        Completed, or compensated.

    Raises
    ------
    Stuck
        If what has to succeed fails on every attempt; the trace so far is in its message.

    Notes
    -----
    Compensation restores what the application cares for, not the earlier state:
    others have seen the steps, and may have acted on them.

    References
    ----------
    Garcia-Molina, Salem (1987), doi:10.1145/38713.38742

    Examples
    --------
    >>> def fail():
    ...     raise RuntimeError("card declined")
    >>> done = []
    >>> book = Step("book", lambda: done.append("booked"), lambda: done.append("cancelled"))
    >>> run([book, Step("charge", fail, lambda: None)]).trace
    ('book', 'charge failed', 'undo book')
    >>> done
    ['booked', 'cancelled']
    """
    if attempts < 1:
        raise ValueError(f"attempts = {attempts}; wanted one or more")
    trace, done, past_pivot = [], [], False
    for step in steps:
        try:
            _try(step.name, step.action, attempts if past_pivot else 1, trace)
        except Stuck:
            if past_pivot:
                raise
            for finished in reversed(done):
                _try(f"undo {finished.name}", finished.compensation, attempts, trace)
            return Outcome(False, tuple(trace))
        done.append(step)
        past_pivot = past_pivot or step.compensation is None
    return Outcome(True, tuple(trace))


def _try(name, action, attempts, trace):
    """Do it, and write down how it went."""
    for _ in range(attempts):
        try:
            action()
        except Exception:
            trace.append(f"{name} failed")
        else:
            trace.append(name)
            return
    raise Stuck(f"{name} failed {attempts} times, after: {', '.join(trace)}")
