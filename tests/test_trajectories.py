"""costlib.trajectories: stated values, limits and identities."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.queueing import number_in_system
from costlib.trajectories import live_after, model_share, trajectory_time
from costlib.units import Quantity, quantity

steady = settings(derandomize=True, deadline=None, max_examples=60)

MODEL, TOOL, RATE = quantity("4 s"), quantity("20 s"), quantity("2 trajectory/s")
positive = st.floats(1e-3, 1e5)


def test_the_worked_trajectory():
    """Foundations of inference cost, §4: 360 s, a sixth of it in model calls."""
    assert trajectory_time(15, MODEL, TOOL) == quantity("360 s")
    assert model_share(MODEL, TOOL).magnitude == pytest.approx(1 / 6)


def test_without_tools_a_trajectory_is_model_calls_only():
    assert model_share(MODEL, quantity("0 s")) == Quantity(1, "")
    assert trajectory_time(15, MODEL, quantity("0 s")) == quantity("60 s")


@steady
@given(positive, positive)
def test_the_share_of_the_time_is_the_share_of_those_alive(model, tool):
    model, tool = Quantity(model, "s"), Quantity(tool, "s")
    live = number_in_system(RATE, trajectory_time(7, model, tool))
    active = number_in_system(RATE, 7 * model)
    assert (active / live).magnitude == pytest.approx(model_share(model, tool).magnitude)


@pytest.mark.parametrize("elapsed, alive", [("0 s", 0), ("60 s", 120), ("360 s", 720), ("1 day", 720)])
def test_a_fleet_fills_for_one_life(elapsed, alive):
    assert live_after(RATE, quantity("360 s"), quantity(elapsed)) == Quantity(alive, "trajectory")
