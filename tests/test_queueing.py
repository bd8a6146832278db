"""costlib.queueing: published tables, exact arithmetic, identities, limits."""

import math
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
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
    utilisation,
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


def test_the_utilisation_is_the_load_of_each_server_and_may_exceed_one():
    assert utilisation(quantity("30 sequence/s"), quantity("4 s"), 128) == Quantity(0.9375, "")
    assert utilisation(quantity("30 sequence/s"), quantity("4 s"), 100) == Quantity(1.2, "")


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


def array(*numbers):
    return Quantity(np.array(numbers), "")


@steady
@given(st.integers(1, 60), st.integers(1, 6000))
@example(15, 1400)  # the last whose factorial is looked up
@example(16, 1400)
def test_erlang_b_is_that_of_exact_arithmetic(lines, hundredths):
    load = hundredths / 100
    exact = float(exact_b(lines, Fraction(load)))
    assert erlang_b(lines, load).magnitude == pytest.approx(exact, rel=1e-14)
    assert erlang_b(lines, array(load)).magnitude[0] == pytest.approx(exact, rel=2e-13)


@steady
@given(st.integers(1, 40), st.floats(-20, 20))
def test_erlang_b_is_exact_for_loads_of_any_size(lines, magnitude):
    load = 10**magnitude
    exact = pytest.approx(float(exact_b(lines, Fraction(load))), rel=2e-13, abs=1e-290)
    assert erlang_b(lines, load).magnitude == exact
    assert erlang_b(lines, array(load)).magnitude[0] == exact


@steady
@given(st.integers(1, 3000), st.floats(0.01, 3))
def test_another_server_follows_from_the_last(lines, share):
    """B(c) = a B(c - 1) / (c + a B(c - 1)): Erlang's recursion."""
    load = lines * share
    fewer, more = erlang_b(array(lines, lines + 1.0), load).magnitude
    assert more == pytest.approx(load * fewer / (lines + 1 + load * fewer), rel=1e-11, abs=1e-290)


@steady
@given(servers, shares)
def test_arrays_and_scalars_take_different_ways_to_the_same_number(lines, share):
    load = lines * share
    for formula in (erlang_b, erlang_c):
        one = formula(lines, load).magnitude
        assert formula(lines, array(load, load)).magnitude.tolist() == pytest.approx([one, one], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("servers", [1e4, 1e6, 1e7])
@pytest.mark.parametrize("deviations", [-40, -20, -4.6, -1, -1e-3, 0, 1, 20, 1e4])
def test_many_servers_by_both_ways(servers, deviations):
    """Apart by no more than the load's own last digit moves the result, some deviations times their root."""
    load = servers + deviations * math.sqrt(servers)
    one = erlang_b(servers, load).magnitude
    apart = max(1e-12, 1e-16 * abs(servers - load))
    assert erlang_b(servers, array(load)).magnitude[0] == pytest.approx(one, rel=apart, abs=1e-290)


def test_arrays_of_servers_need_no_package_but_numpy():
    code = (
        "import sys; sys.modules['scipy'] = None  # an import of it fails\n"
        "import numpy; from costlib.queueing import erlang_c\n"
        "print(erlang_c(numpy.array([2.0, 14.0]), numpy.array([1.0, 10.0])).magnitude.round(4))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0.3333 0.1741]"


def test_no_warning_of_numpy_comes_through():
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        erlang_b(array(1.0, 1e3, 1e6, 1e9), array([1e-20], [1e-3], [1e50]))


@pytest.mark.parametrize(
    "load, lost, waits",
    [
        (1e6 * (1 - 1e-9), 0.00079745967091277225, 0.99999874701974792),
        (999_000, 0.00028742137577686792, 0.22330339029134409),
    ],
)
def test_a_million_servers_up_to_a_billionth_from_full(load, lost, waits):
    """Against the series summed in 50 digits, with Python's decimal."""
    for loads in (load, array(load)):
        assert erlang_b(1e6, loads).magnitude == pytest.approx(lost, rel=1e-12)
        assert erlang_c(1e6, loads).magnitude == pytest.approx(waits, rel=1e-12)


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
        formula(array(2, 2.5), 1)


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


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_docstring_of_kingman_says_how_far_off_it_is(share):
    """For a clock's arrivals the wait is exact, too: the share s that waits solves s = exp(-(1 - s) / rho)."""
    waiting = share
    for _ in range(1000):
        waiting = math.exp(-(1 - waiting) / share)
    excess = kingman_wait(share, SECOND, 0, 1).m_as("s") / (waiting / (1 - waiting)) - 1
    assert (
        re.search(rf"(\d+) % (too high )?at (a utilisation of )?{share}", kingman_wait.__doc__)[1]
        == f"{excess:.0%}"[:-1]
    )


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
@pytest.mark.parametrize("name", REFUSED)
def test_a_full_queue_is_refused_with_the_reason(name, full):
    reason = rf"^{name}: utilisation = [17].*wanted less than one: .* no steady state"
    with pytest.raises(ArgumentError, match=reason):
        REFUSED[name](full)


@pytest.mark.parametrize("formula", REFUSED.values(), ids=REFUSED)
def test_a_queue_as_near_to_full_as_a_float_can_be_has_a_wait(formula):
    assert 0 < formula(math.nextafter(1, 0)).magnitude < math.inf


def test_one_full_queue_among_many_is_refused():
    with pytest.raises(ArgumentError, match="utilisation = 1.02; .* no steady state"):
        kingman_wait(array(0.5, 1.02), SECOND, 1, 1)


def test_arrays_broadcast():
    waits = allen_cunneen_wait(array([0.5], [0.9]), SECOND, 1, 1, array(1.0, 4.0, 16.0))
    assert waits.shape == (2, 3)
    assert waits[1, 2] == allen_cunneen_wait(array(0.9), SECOND, 1, 1, 16)[0]
    assert erlang_b(np.float64(2), 1).shape == ()


def test_the_sum_ends_where_its_terms_are_lost():
    for load in (1e-3, array(1e-3)):
        assert erlang_b(1e6, load).magnitude == 0
        assert erlang_c(1e6, load).magnitude == 0


@pytest.mark.parametrize("servers", [1e15, Quantity(np.array([3.0, 1e15]), "")])
def test_more_servers_than_can_be_summed_over_are_refused(servers):
    with pytest.raises(ArgumentError, match=r"servers = 1e\+15; wanted at most 1e\+09"):
        erlang_b(servers, 5)


def test_a_thousand_million_servers_are_not():
    one = erlang_c(1e9, 1e9 - 1e4).magnitude
    assert 0 < one < 1
    with pytest.raises(ArgumentError, match="servers = 1000000001; wanted at most"):
        erlang_c(1e9 + 1, 1e9)
    assert erlang_c(1e9, array(1e9 - 1e4)).magnitude[0] == pytest.approx(one, rel=1e-11)
