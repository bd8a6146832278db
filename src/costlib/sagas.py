"""Sagas: short steps that each take effect at once, with a compensation for what cannot be rolled back."""

import inspect
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
    _check(steps, attempts)
    trace, done, past_pivot = [], [], False
    for step in steps:
        if not _succeeds(step.name, step.action, attempts if past_pivot else 1, trace):
            if past_pivot:
                raise Stuck(f"{step.name} failed {attempts} times, after: {', '.join(trace)}")
            while done:
                if not _succeeds(f"undo {done[-1].name}", done[-1].compensation, attempts, trace):
                    left = ", ".join(step.name for step in reversed(done))
                    raise Stuck(
                        f"undo {done[-1].name} failed {attempts} times, after: {', '.join(trace)}; left: {left}"
                    )
                done.pop()
            return Outcome(False, tuple(trace))
        done.append(step)
        past_pivot = past_pivot or step.compensation is None
    return Outcome(True, tuple(trace))


def _check(steps, attempts):
    """Refuse, before anything takes effect, what would fail for no reason of the world's."""
    if not isinstance(attempts, int) or attempts < 1:
        raise ValueError(f"attempts = {attempts!r}; wanted a whole number, one or more")
    for number, step in enumerate(steps, 1):
        if not isinstance(step, Step):
            raise ValueError(f"step {number} = {step!r}; wanted a Step")
        for action in (step.action, step.compensation or step.action):
            if not callable(action) or inspect.iscoroutinefunction(action):
                raise ValueError(f"step {step.name!r} has {action!r}; wanted a function to call")


def _succeeds(name, action, attempts, trace):
    """Whether it goes well on one of the attempts; how each of them went is written down."""
    for _ in range(attempts):
        try:
            action()
        except Stuck:  # of a saga within this one: somebody has to look
            raise
        except Exception:
            trace.append(f"{name} failed")
        else:
            trace.append(name)
            return True
    return False
