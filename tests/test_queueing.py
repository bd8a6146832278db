"""costlib.queueing: published tables, exact arithmetic, identities, limits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.arguments import ArgumentError
from costlib.queueing import (
    allen_cunneen_wait,
    erlang_b,
    erlang_c,
    kingman_wait,
    mg1_wait,
    mmc_wait,
    number_in_system,
    offered_load,
    variability_factor,
)
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

SECOND = quantity("1 s")
servers = st.integers(1, 300)
shares = st.floats(0.01, 0.999)
scvs = st.floats(0, 50)


def rate(utilisation, servers=1):
    """Arrivals a second that keep servers of a mean time of one second so busy."""
    return Quantity(utilisation * servers, "sequence/second")


# ---------------------------------------------------------------- Little's law


@pytest.mark.parametrize("time, number", [("360 s", 720), ("60 s", 120)])
def test_the_trajectories_alive_and_inside_a_call(time, number):
    assert number_in_system(quantity("2 trajectory/s"), quantity(time)) == Quantity(number, "sequence")


def test_the_offered_load_is_a_plain_number():
    assert offered_load(quantity("30 sequence/s"), quantity("4 s")) == Quantity(120, "")


# ---------------------------------------------------------------- Erlang


def exact_b(servers, load):
    """Erlang's loss formula by its recursion, in fractions."""
    blocked = Fraction(1)
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked


@pytest.mark.parametrize(
    "lines, load, blocking",
    [(1, 0.0101, 0.01), (5, 1.36, 0.01), (10, 4.46, 0.01), (20, 12.03, 0.01), (50, 37.90, 0.01), (100, 84.06, 0.01),
     (10, 6.22, 0.05), (20, 15.25, 0.05), (100, 95.24, 0.05)],
)  # fmt: skip
def test_the_traffic_tables_of_telephony(lines, load, blocking):
    """Loads that so many lines carry at a blocking of 1 % and of 5 %, as every published Erlang B table has them."""
    assert erlang_b(lines, load).magnitude == pytest.approx(blocking, rel=5e-3)


@steady
@given(st.integers(1, 60), st.integers(1, 6000))
def test_erlang_b_is_that_of_exact_arithmetic(lines, hundredths):
    exact = float(exact_b(lines, Fraction(hundredths, 100)))
    assert erlang_b(lines, hundredths / 100).magnitude == pytest.approx(exact, rel=1e-13)


@steady
@given(servers, shares)
def test_arrays_and_scalars_take_different_ways_to_the_same_number(lines, share):
    load = lines * share
    array = Quantity(np.array([load, load]), "")
    for formula in (erlang_b, erlang_c):
        one = formula(lines, load).magnitude
        assert formula(lines, array).magnitude.tolist() == pytest.approx([one, one], rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("load", [1e5, 2e6, 999_999.999, 950_000.0, 1e6, 1.0001e6])
def test_a_million_servers_by_both_ways(load):
    one = erlang_b(1e6, load).magnitude
    assert erlang_b(1e6, Quantity(np.array([load]), "")).magnitude[0] == pytest.approx(one, rel=1e-10, abs=1e-290)


@pytest.mark.parametrize(
    "load, lost, waits",
    [
        (1e6 * (1 - 1e-9), 0.00079745967091277225, 0.99999874701974792),
        (999_000, 0.00028742137577686792, 0.22330339029134409),
    ],
)
def test_a_million_servers_up_to_a_billionth_from_full(load, lost, waits):
    """Against the series summed in 50 digits, with Python's decimal."""
    assert erlang_b(1e6, load).magnitude == pytest.approx(lost, rel=1e-12)
    assert erlang_c(1e6, load).magnitude == pytest.approx(waits, rel=1e-12)


def test_one_server_is_busy_as_often_as_its_utilisation():
    assert erlang_c(1, 1 - 1e-9).magnitude == pytest.approx(1 - 1e-9, abs=3e-16)


@steady
@given(servers, shares)
def test_erlang_c_is_above_erlang_b_and_both_are_probabilities(lines, share):
    load = lines * share
    assert 0 <= erlang_b(lines, load).magnitude <= erlang_c(lines, load).magnitude <= 1


@steady
@given(servers, shares)
def test_a_larger_pool_makes_waiting_rarer_at_the_same_utilisation(lines, share):
    assert erlang_c(lines + 1, (lines + 1) * share) <= erlang_c(lines, lines * share)


def test_a_lost_call_needs_no_steady_state():
    assert show(erlang_b(2, 1e6), digits=6) == "0.999998"


@pytest.mark.parametrize("formula", [erlang_b, erlang_c])
def test_there_is_no_part_of_a_server(formula):
    with pytest.raises(ArgumentError, match=r"servers = 2\.5; wanted a whole number"):
        formula(2.5, 1)
    with pytest.raises(ArgumentError, match="wanted a whole number"):
        formula(Quantity(np.array([2, 2.5]), ""), 1)


# ---------------------------------------------------------------- waits


@pytest.mark.parametrize("utilisation, wait", [(0.5, 1.5), (0.7, 3.5), (0.9, 13.5)])
def test_the_stated_knee(utilisation, wait):
    """Foundations of inference cost, §4: bursty arrivals, exponential times."""
    assert variability_factor(2, 1) == Quantity(1.5, "")
    assert kingman_wait(utilisation, SECOND, 2, 1).m_as("s") == pytest.approx(wait, rel=1e-12)


@steady
@given(shares)
def test_with_one_server_all_formulas_are_that_of_one_exponential_server(share):
    expected = pytest.approx(share / (1 - share), rel=1e-9)
    assert mmc_wait(rate(share), SECOND, 1).m_as("s") == expected
    assert mg1_wait(rate(share), SECOND, 1).m_as("s") == expected
    assert kingman_wait(share, SECOND, 1, 1).m_as("s") == expected
    assert allen_cunneen_wait(share, SECOND, 1, 1, 1).m_as("s") == expected


@steady
@given(shares, servers)
def test_allen_and_cunneen_are_exact_for_exponential_servers(share, lines):
    exact = mmc_wait(rate(share, lines), SECOND, lines).m_as("s")
    assert allen_cunneen_wait(share, SECOND, 1, 1, lines).m_as("s") == pytest.approx(exact, rel=1e-9, abs=1e-290)


@steady
@given(shares, scvs, scvs)
def test_allen_and_cunneen_with_one_server_are_kingman(share, arrivals, services):
    one = kingman_wait(share, SECOND, arrivals, services).m_as("s")
    assert allen_cunneen_wait(share, SECOND, arrivals, services, 1).m_as("s") == pytest.approx(one, rel=1e-9)


def test_times_all_alike_halve_the_wait_of_exponential_ones():
    assert mg1_wait(rate(0.8), SECOND, 0).m_as("s") == pytest.approx(mg1_wait(rate(0.8), SECOND, 1).m_as("s") / 2)


def test_a_clock_that_serves_a_clock_makes_nobody_wait():
    assert kingman_wait(0.9, SECOND, 0, 0) == quantity("0 s")


@steady
@given(shares, shares, servers)
def test_a_fuller_queue_waits_longer(one, other, lines):
    low, high = sorted((one, other))
    assert mmc_wait(rate(low, lines), SECOND, lines) <= mmc_wait(rate(high, lines), SECOND, lines) * (1 + 1e-12)


def test_a_billionth_from_full():
    """Exact: rho / (1 - rho), as far as a float can hold a rho so near to one."""
    assert kingman_wait(1 - 1e-9, SECOND, 1, 1).m_as("s") == pytest.approx(1e9, rel=1e-6)
    assert mmc_wait(rate(1 - 1e-9, 1e6), SECOND, 1e6).m_as("s") == pytest.approx(1e3, rel=1e-5)


REFUSED = {
    "mmc_wait": lambda full: mmc_wait(rate(full, 4), SECOND, 4),
    "mg1_wait": lambda full: mg1_wait(rate(full), SECOND, 1),
    "kingman_wait": lambda full: kingman_wait(full, SECOND, 1, 1),
    "allen_cunneen_wait": lambda full: allen_cunneen_wait(full, SECOND, 1, 1, 4),
    "erlang_c": lambda full: erlang_c(4, 4 * full),
}


@pytest.mark.parametrize("full", [1.0, 1 + 1e-12, 7.0])
@pytest.mark.parametrize("formula", REFUSED.values(), ids=REFUSED)
def test_a_full_queue_is_refused_with_the_reason(formula, full):
    with pytest.raises(ArgumentError, match=r"utilisation = [17].*wanted less than one: .* no steady state"):
        formula(full)


def test_one_full_queue_among_many_is_refused():
    with pytest.raises(ArgumentError, match="no steady state"):
        kingman_wait(Quantity(np.array([0.5, 1.0]), ""), SECOND, 1, 1)


def test_arrays_broadcast():
    waits = allen_cunneen_wait(
        Quantity(np.array([[0.5], [0.9]]), ""), SECOND, 1, 1, Quantity(np.array([1.0, 4.0, 16.0]), "")
    )
    assert waits.shape == (2, 3)
    assert waits[1, 2] == allen_cunneen_wait(Quantity(np.array([0.9]), ""), SECOND, 1, 1, 16)[0]


def test_the_sum_ends_where_its_terms_are_lost():
    assert math.isfinite(erlang_b(1e6, 1e-3).magnitude)
    assert erlang_b(1e6, 1e-3).magnitude == 0


@pytest.mark.parametrize("servers", [1e15, Quantity(np.array([3.0, 1e15]), "")])
def test_more_servers_than_can_be_summed_over_are_refused(servers):
    with pytest.raises(ArgumentError, match=r"servers = 1e\+15; wanted at most 1e\+09"):
        erlang_b(servers, 5)


def test_a_thousand_million_servers_are_not():
    assert 0 < erlang_c(1e9, 1e9 - 1e4).magnitude < 1
