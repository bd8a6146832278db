"""costlib.capacity: what fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.capacity import resident_sequences, state_pool
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
