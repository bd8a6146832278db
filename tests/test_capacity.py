"""costlib.capacity: what fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.arguments import ArgumentError
from costlib.capacity import (
    break_even_bandwidth,
    break_even_wait,
    nodes_for_state,
    reload_time,
    resident_sequences,
    state_pool,
)
from costlib.serving import prefill_time
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

WEIGHTS, RESERVE = quantity("141.2 GB"), quantity("20 GB")
STATE = 32768 * quantity("327680 B")


@pytest.mark.parametrize("memory, pool, fitting", [("80 GiB", 525.995, 48), ("80 GB", 478.8, 44)])
def test_the_node_pool_hangs_on_what_80_gb_means(memory, pool, fitting):
    left = state_pool(8 * quantity(memory), WEIGHTS, RESERVE)
    assert left.m_as("GB") == pytest.approx(pool, abs=5e-4)
    assert resident_sequences(left, STATE) == Quantity(fitting, "sequence")


def test_the_pool_is_negative_where_the_weights_do_not_fit():
    assert state_pool(quantity("80 GB"), WEIGHTS, RESERVE).m_as("GB") == pytest.approx(-81.2)


def test_nothing_fits_into_a_negative_pool():
    assert show(resident_sequences(quantity("-81.2 GB"), STATE)) == "0 sequences"


def test_nothing_fits_where_an_array_of_pools_is_negative():
    pools = Quantity(np.array([-5.0, 0.0, 5.0, 25.0]), "GB")
    assert [show(fitting) for fitting in resident_sequences(pools, quantity("10 GB"))] == [
        "0 sequences", "0 sequences", "0 sequences", "2 sequences",
    ]  # fmt: skip


@steady
@given(st.floats(-1e15, 1e15), st.floats(1, 1e12))
def test_what_fits_does_fit_and_one_more_does_not(pool, state):
    fitting = resident_sequences(Quantity(pool, "byte"), Quantity(state, "byte")).m_as("sequence")
    assert fitting == int(fitting) >= 0
    assert fitting * state <= max(pool, 0) * (1 + 1e-12)
    assert (fitting + 1) * state > pool * (1 - 1e-12)


@steady
@given(st.integers(1, 1000), st.integers(1, 10**9))
def test_a_pool_of_exactly_so_many_states_holds_them(sequences, state):
    assert (
        resident_sequences(Quantity(sequences * state, "byte"), Quantity(state, "byte")).m_as("sequence") == sequences
    )


@pytest.mark.parametrize(
    ("pool", "state", "fit"), [("4.1 GB", "0.1 GB", 41), ("524.8 GB", "12.8 GB", 41), ("4.09 GB", "0.1 GB", 40)]
)
def test_an_exact_multiple_is_not_lost_to_rounding(pool, state, fit):
    assert resident_sequences(quantity(pool), quantity(state)).magnitude == fit


# ---------------------------------------------------------------- keep, recompute or reload

POOL = state_pool(8 * quantity("80 GiB"), WEIGHTS, RESERVE)
positive = st.floats(1e-3, 1e6)


@pytest.mark.parametrize("alive, nodes", [(720, 14.6978), (120, 2.44963)])
def test_nodes_that_hold_the_state_of_the_worked_fleet(alive, nodes):
    """Foundations of inference cost, §4: about 15 nodes, or 2.4."""
    assert nodes_for_state(Quantity(alive, "trajectory"), STATE, POOL).m_as("node") == pytest.approx(nodes, rel=1e-5)


def test_no_pool_no_nodes():
    with pytest.raises(ArgumentError, match="pool = "):
        nodes_for_state(quantity("1 trajectory"), STATE, quantity("-5 GB"))


def test_the_link_at_which_recomputing_and_reloading_a_token_are_even():
    """The rule of §4, m_token pi / 2N: 4.59 GB/s on the reference accelerator."""
    time = prefill_time(quantity("70.6e9 parameter"), quantity("1979 Top/s")) * quantity("1 token")
    assert break_even_bandwidth(quantity("327680 B"), time).m_as("GB/s") == pytest.approx(4.59263, rel=1e-5)


@steady
@given(positive, positive)
def test_over_the_break_even_link_a_reload_takes_as_long_as_recomputing(state, time):
    state, time = Quantity(state, "MB"), Quantity(time, "ms")
    again = reload_time(state, break_even_bandwidth(state, time))
    assert again.m_as("ms") == pytest.approx(time.magnitude)


@steady
@given(positive, positive, positive)
def test_at_the_break_even_wait_keeping_takes_as_much_of_the_node(time, state, pool):
    time, state, pool = Quantity(time, "s"), Quantity(state, "MB"), Quantity(pool, "GB")
    kept = break_even_wait(time, state, pool) * state / pool
    assert kept.m_as("s") == pytest.approx(time.magnitude)
