"""costlib.simulation: small cases by hand, exact recursions, and the formulas of costlib.queueing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.arguments import ArgumentError
from costlib.queueing import kingman_wait, mmc_wait, number_in_system
from costlib.simulation import call_waits, half_width, queue_waits, static_batch_waits
from costlib.units import Quantity, quantity

steady = settings(derandomize=True, deadline=None, max_examples=60)

times = st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=40)


def seconds(values):
    return Quantity(np.asarray(values, dtype=float), "second")


def sample(pairs):
    gaps, services = np.array(pairs).T
    return np.cumsum(gaps), services


# ---------------------------------------------------------------- one queue


@steady
@given(times)
def test_one_server_follows_lindleys_recursion(pairs):
    arrivals, services = sample(pairs)
    expected = [0.0]
    for n in range(1, len(arrivals)):
        expected.append(max(0, expected[-1] + services[n - 1] - (arrivals[n] - arrivals[n - 1])))
    waits = queue_waits(seconds(arrivals), seconds(services), 1).m_as("s")
    assert waits == pytest.approx(np.array(expected), abs=1e-9)


@steady
@given(times, st.integers(1, 4))
def test_several_servers_follow_the_recursion_of_kiefer_and_wolfowitz(pairs, servers):
    arrivals, services = sample(pairs)
    free, expected = np.zeros(servers), []
    for arrival, service in zip(arrivals, services, strict=True):
        start = max(arrival, free.min())
        expected.append(start - arrival)
        free[free.argmin()] = start + service
    waits = queue_waits(seconds(arrivals), seconds(services), servers).m_as("s")
    assert waits == pytest.approx(np.array(expected), abs=1e-9)


def runs_of_exponential_calls(utilisation, servers, runs=6, calls=8_000):
    means = []
    for seed in range(runs):
        rng = np.random.default_rng([seed, servers])
        arrivals = np.cumsum(rng.exponential(1 / (utilisation * servers), calls))
        waits = queue_waits(seconds(arrivals), seconds(rng.exponential(1, calls)), servers)
        means.append(waits.magnitude[500:].mean())
    return means


@pytest.mark.parametrize("utilisation, servers", [(0.5, 1), (0.7, 1), (0.7, 4), (0.8, 16)])
def test_the_exact_formula_lies_inside_the_interval(utilisation, servers):
    """A seed is fixed, so this is no matter of luck: if engine or formula changes, it fails."""
    means = runs_of_exponential_calls(utilisation, servers)
    exact = mmc_wait(Quantity(utilisation * servers, "sequence/s"), quantity("1 s"), servers).m_as("s")
    assert abs(np.mean(means) - exact) <= half_width(means)


def test_the_interval_is_narrow_enough_to_notice_a_fault():
    means = runs_of_exponential_calls(0.7, 1)
    assert half_width(means) < 0.2 * np.mean(means)
    wrong = kingman_wait(0.7, quantity("1 s"), 1, 0).m_as("s")
    assert abs(np.mean(means) - wrong) > half_width(means)


# ---------------------------------------------------------------- static batches


def test_a_batch_is_held_by_its_longest_call():
    waits = static_batch_waits(seconds([0, 1, 2, 3]), seconds([4, 1, 9, 1]), 2)
    assert waits.m_as("s").tolist() == [0, 3, 2, 10]


@steady
@given(times)
def test_batches_of_one_are_a_queue(pairs):
    arrivals, services = map(seconds, sample(pairs))
    one = static_batch_waits(arrivals, services, 1).m_as("s")
    assert one == pytest.approx(queue_waits(arrivals, services, 1).m_as("s"), abs=1e-9)


@steady
@given(times, st.integers(1, 5))
def test_all_calls_of_a_batch_start_together_and_batches_one_after_the_other(pairs, slots):
    arrivals, services = sample(pairs)
    starts = arrivals + static_batch_waits(seconds(arrivals), seconds(services), slots).m_as("s")
    batches = np.split(np.arange(len(starts)), np.flatnonzero(np.diff(starts) > 1e-9) + 1)
    for batch, following in zip(batches, batches[1:], strict=False):
        assert starts[following[0]] >= starts[batch[0]] + services[batch].max() - 1e-9


def test_continuous_batching_carries_what_a_static_batch_cannot():
    rng = np.random.default_rng(1)
    arrivals, services = np.cumsum(rng.exponential(1 / 4, 4_000)), rng.lognormal(-0.55, 1.05, 4_000)
    static, continuous = (
        batching(seconds(arrivals), seconds(services), 8) for batching in (static_batch_waits, queue_waits)
    )
    assert continuous.magnitude.mean() < 0.1 < 100 < static.magnitude.mean()


# ---------------------------------------------------------------- trajectories


def test_tools_run_without_a_queue_and_calls_wait_for_a_slot():
    waits = call_waits(seconds([0, 1, 1]), seconds([[4, 4]] * 3), seconds([[2, 2]] * 3), 1)
    assert waits.m_as("s").tolist() == [[0, 6], [3, 6], [7, 6]]


@steady
@given(times, st.integers(1, 4))
def test_one_turn_without_a_tool_is_a_queue(pairs, slots):
    starts, model_times = sample(pairs)
    column = seconds(model_times[:, None])
    waits = call_waits(seconds(starts), column, 0 * column, slots).m_as("s")[:, 0]
    assert waits == pytest.approx(queue_waits(seconds(starts), seconds(model_times), slots).m_as("s"), abs=1e-9)


@steady
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_littles_law_holds_to_rounding_over_a_whole_run(seed, slots):
    """From empty to empty, the area under the number alive is the sum of the times in the system."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum(rng.exponential(1, 30))
    model_times, tool_times = rng.exponential(2, (30, 3)), rng.exponential(3, (30, 3))
    waits = call_waits(seconds(starts), seconds(model_times), seconds(tool_times), slots).m_as("s")
    ends = starts + (waits + model_times + tool_times).sum(axis=1)
    moments = np.sort(np.concatenate([starts, ends]))
    alive = [(np.sum(starts <= t) - np.sum(ends <= t)) for t in moments[:-1]]
    area = np.dot(alive, np.diff(moments))
    span = moments[-1] - moments[0]
    mean_time = Quantity((ends - starts).mean(), "s")
    number = number_in_system(Quantity(30 / span, "sequence/s"), mean_time).m_as("sequence")
    assert number == pytest.approx(area / span, rel=1e-9)


# ---------------------------------------------------------------- intervals and refusals


def test_the_half_width_is_students():
    """Nine runs: t is 2.306, the table's value for 8 degrees of freedom."""
    means = np.arange(1.0, 10.0)
    assert half_width(means) == pytest.approx(2.306 * means.std(ddof=1) / 3, rel=1e-3)


def test_one_run_has_no_interval():
    with pytest.raises(ArgumentError, match="wanted the finite means of two runs or more"):
        half_width([1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queue_waits(seconds([1, 0]), seconds([1, 1]), 1), "arrivals go back in time"),
        (lambda: queue_waits(seconds([0, 1]), seconds([1]), 1), "wanted one row, as many as arrivals"),
        (lambda: queue_waits(seconds([0, 1]), seconds([1, 1]), 1.5), "servers = 1.5; wanted one whole number"),
        (lambda: static_batch_waits(seconds([0]), seconds([1]), 0), "slots = 0"),
        (lambda: static_batch_waits(seconds([[0]]), seconds([[1]]), 1), "wanted one row"),
        (lambda: call_waits(seconds([0]), seconds([[1]]), seconds([[1, 1]]), 1), "wanted the same"),
        (lambda: call_waits(seconds([0, 1]), seconds([[1]]), seconds([[1]]), 1), "2 starts for 1 rows"),
        (lambda: call_waits(seconds([0]), seconds([[1]]), seconds([[1]]), [1, 2]), "wanted one whole number"),
    ],
)
def test_times_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_a_moment_that_rounding_puts_into_the_past_is_now():
    arrivals = np.cumsum(np.full(2_000, 0.1))
    assert queue_waits(seconds(arrivals), seconds(np.full(2_000, 0.1)), 1).magnitude.max() < 1e-9
