"""costlib.sagas: every failure point of an order; its invariants, and what does not come back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.sagas import Outcome, Step, Stuck, run

steady = settings(derandomize=True, deadline=None, max_examples=200)

NAMES = ["reserve", "charge", "mail", "ship", "close"]


class Shop:
    """What the tools of an agent change; each action fails as often as it is told to."""

    def __init__(self, failures=()):
        self.failures = dict(failures)
        self.seats, self.held, self.sold = 5, 0, 0
        self.customer, self.till = 100, 0
        self.mails, self.journal, self.next_order = [], [], 1

    def does(self, name, change):
        def action():
            if self.failures.get(name, 0):
                self.failures[name] -= 1
                raise RuntimeError(name)
            change()
            self.journal.append(name)

        return action

    def move(self, **changes):
        def change():
            for name, by in changes.items():
                setattr(self, name, getattr(self, name) + by)

        return change

    def steps(self):
        return [
            Step("reserve", self.does("reserve", self.move(seats=-1, held=1, next_order=1)),
                 self.does("undo reserve", self.move(seats=1, held=-1))),
            Step("charge", self.does("charge", self.move(customer=-30, till=30)),
                 self.does("undo charge", self.move(customer=30, till=-30))),
            Step("mail", self.does("mail", lambda: self.mails.append("confirmed"))),  # nobody unreads it: the pivot
            Step("ship", self.does("ship", self.move(held=-1, sold=1)),
                 self.does("undo ship", self.move(held=1, sold=-1))),
            Step("close", self.does("close", lambda: None)),
        ]  # fmt: skip

    def holds(self):
        """What the application cares for: no seat and no money is lost or made, and a sale is paid and confirmed."""
        whole = self.seats + self.held + self.sold == 5 and self.customer + self.till == 100
        return whole and self.held == 0 and self.till == 30 * self.sold and len(self.mails) == self.sold


failures = st.dictionaries(st.sampled_from([*NAMES, "undo reserve", "undo charge"]), st.integers(1, 2))


@steady
@given(failures)
def test_whatever_fails_the_invariant_holds_at_the_end(failing):
    shop = Shop(failing)
    outcome = run(shop.steps())
    assert shop.holds()
    before_pivot = any(failing.get(name) for name in ("reserve", "charge", "mail"))
    assert outcome.completed == (not before_pivot)
    assert shop.sold == outcome.completed


@pytest.mark.parametrize("failing", NAMES)
def test_the_earlier_state_does_not_come_back(failing):
    """The number of an order is spent, and the journal remembers, however the saga ends."""
    shop, untouched = Shop({failing: 1}), Shop()
    run(shop.steps())
    if failing != "reserve":
        assert shop.next_order != untouched.next_order and shop.journal != untouched.journal


@pytest.mark.parametrize(
    "failing, trace",
    [
        ("reserve", ["reserve failed"]),
        ("charge", ["reserve", "charge failed", "undo reserve"]),
        ("mail", ["reserve", "charge", "mail failed", "undo charge", "undo reserve"]),
        ("ship", ["reserve", "charge", "mail", "ship failed", "ship", "close"]),
        ("close", ["reserve", "charge", "mail", "ship", "close failed", "close"]),
        ("nothing", ["reserve", "charge", "mail", "ship", "close"]),
    ],
)
def test_before_the_pivot_it_goes_back_in_reverse_and_past_it_only_forward(failing, trace):
    assert list(run(Shop({failing: 1}).steps()).trace) == trace


@pytest.mark.parametrize("failing", [{"ship": 3}, {"charge": 1, "undo reserve": 3}])
def test_what_must_succeed_and_does_not_is_somebodys_to_look_at(failing):
    with pytest.raises(Stuck, match=r"(ship|undo reserve) failed 3 times, after: reserve"):
        run(Shop(failing).steps())


def test_a_saga_of_nothing_is_done():
    assert run([]) == Outcome(True, ())


def test_no_attempt_is_no_way_to_run():
    with pytest.raises(ValueError, match="attempts = 0; wanted a whole number, one or more"):
        run([], attempts=0)


async def later():
    pass


@pytest.mark.parametrize(
    "steps",
    [[Step("a", lambda: None), None], [Step("a", None)], [Step("a", later)], [Step("a", print, 3)]],
)
def test_what_is_no_step_is_refused_before_anything_takes_effect(steps):
    with pytest.raises(ValueError, match="wanted a (Step|function to call)"):
        run(steps)


def test_a_saga_within_a_saga_that_is_stuck_is_not_a_failed_step():
    inner = [Step("pivot", lambda: None), Step("fail", lambda: 1 / 0)]
    with pytest.raises(Stuck, match="fail failed 3 times"):
        run([Step("first", lambda: None, lambda: None), Step("inner", lambda: run(inner), lambda: None)])


def test_a_stuck_compensation_names_what_is_left():
    shop = Shop({"mail": 1, "undo charge": 3})
    with pytest.raises(Stuck, match="left: charge, reserve"):
        run(shop.steps())
