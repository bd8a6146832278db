"""Discrete-event simulation of what :mod:`costlib.queueing` has formulas for: waits, call by call.

Arrivals and times are given, so that one sample can be run through several
designs, and a seed fixes the result.
"""

import numpy as np
import simpy
from scipy import stats

from costlib.arguments import ArgumentError, takes
from costlib.units import Quantity

__all__ = ["call_waits", "half_width", "queue_waits", "static_batch_waits"]


@takes(arrivals="second >= 0", services="second >= 0", servers=" >= 1", returns="second")
def queue_waits(arrivals, services, servers):
    r"""Time that each arrival waits for one of several servers, first come first served.

    .. math:: W_n = \max(0, \; F_{n} - A_n)

    Parameters
    ----------
    arrivals : Quantity [second]
        Times of arrival, A_n, in order; zero allowed. Array.
    services : Quantity [second]
        Time that each is served, of the same shape; zero allowed. Array.
    servers : Quantity []
        Servers, a whole number. A scalar.

    Returns
    -------
    Quantity [second]
        One wait an arrival: F_n is when a server is first free for it.

    Raises
    ------
    ArgumentError
        For a wrong dimension or shape, a value that is not finite or is negative, or arrivals out of order.

    Notes
    -----
    Exact for the arrivals given, which begin with an empty system. The mean of a
    long run approaches that of the steady state; :func:`half_width` says how near it is.

    References
    ----------
    Kiefer, Wolfowitz (1955), doi:10.1090/S0002-9947-1955-0066587-3

    Examples
    --------
    >>> from costlib.units import Quantity
    >>> queue_waits(Quantity([0, 1, 2], "s"), Quantity([5, 5, 5], "s"), Quantity(2, "")).m_as("s").tolist()
    [0.0, 0.0, 3.0]
    """
    arrivals, services = _in_order("queue_waits", arrivals, services)
    env = simpy.Environment()
    slots = simpy.Resource(env, _whole("queue_waits", "servers", servers))
    waits = [0.0] * len(arrivals)

    def customer(n, service):
        waits[n] = yield from _served(env, slots, service)

    def source():
        for n, (arrival, service) in enumerate(zip(arrivals, services, strict=True)):
            yield _until(env, arrival)
            env.process(customer(n, service))

    env.process(source())
    env.run()
    return Quantity(np.array(waits), "second")


def _until(env, moment):
    """Wait for a moment, which rounding may have put a little into the past."""
    return env.timeout(max(moment - env.now, 0.0))


def _served(env, slots, service):
    """Wait for a slot and hold it for so long; how long the wait was."""
    asked = env.now
    with slots.request() as slot:
        yield slot
        waited = env.now - asked
        yield env.timeout(service)
    return waited


@takes(starts="second >= 0", model_times="second >= 0", tool_times="second >= 0", slots=" >= 1", returns="second")
def call_waits(starts, model_times, tool_times, slots):
    r"""Time that each model call of each trajectory waits for a slot; tools run without a queue.

    .. math:: A_{k+1} = A_k + W_k + T_{model}^{(k)} + T_{tool}^{(k)}

    Parameters
    ----------
    starts : Quantity [second]
        Times at which trajectories start, in order; zero allowed. Array.
    model_times : Quantity [second]
        Model time of each turn, a row a trajectory and a column a turn; zero allowed. Array.
    tool_times : Quantity [second]
        Tool time of each turn, of the same shape; zero allowed. Array.
    slots : Quantity []
        Calls that the model serves at once, a whole number. A scalar.

    Returns
    -------
    Quantity [second]
        Wait of each call, W_k, of the shape of the model times.

    Raises
    ------
    ArgumentError
        For a wrong dimension or shape, a value that is not finite or is negative, or starts out of order.

    Notes
    -----
    Exact for the times given. Calls are served first come first served, and a
    call takes its time however many are served beside it.

    References
    ----------
    Yu et al. (2022), Orca, https://www.usenix.org/conference/osdi22/presentation/yu;
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import Quantity
    >>> turns = Quantity([[4, 4], [4, 4]], "s")
    >>> call_waits(Quantity([0, 1], "s"), turns, turns, Quantity(1, "")).m_as("s").tolist()
    [[0.0, 0.0], [3.0, 0.0]]
    """
    model_times, tool_times = (np.atleast_2d(times.m_as("second")) for times in (model_times, tool_times))
    if model_times.shape != tool_times.shape or model_times.ndim != 2:
        raise ArgumentError(
            f"call_waits: model_times of shape {model_times.shape}, tool_times of {tool_times.shape}; "
            "wanted the same, a row a trajectory"
        )
    (starts,) = _in_order("call_waits", starts)
    if len(starts) != len(model_times):
        raise ArgumentError(f"call_waits: {len(starts)} starts for {len(model_times)} rows of times; wanted one each")
    env = simpy.Environment()
    free = simpy.Resource(env, _whole("call_waits", "slots", slots))
    waits = np.zeros(model_times.shape)

    def trajectory(n, turns):
        for k, (model_time, tool_time) in enumerate(turns):
            waits[n, k] = yield from _served(env, free, model_time)
            yield env.timeout(tool_time)

    def source():
        turns = np.stack([model_times, tool_times], axis=-1).tolist()
        for n, start in enumerate(starts):
            yield _until(env, start)
            env.process(trajectory(n, turns[n]))

    env.process(source())
    env.run()
    return Quantity(waits, "second")


@takes(arrivals="second >= 0", services="second >= 0", slots=" >= 1", returns="second")
def static_batch_waits(arrivals, services, slots):
    r"""Time that each call waits where a batch is kept together until its longest call is done.

    .. math:: F_{j+1} = S_j + \max_{n \in j} T_n

    Parameters
    ----------
    arrivals : Quantity [second]
        Times of arrival, in order; zero allowed. Array.
    services : Quantity [second]
        Time of each call by itself, T_n, of the same shape; zero allowed. Array.
    slots : Quantity []
        Most calls in a batch, a whole number. A scalar.

    Returns
    -------
    Quantity [second]
        Wait of each call until its batch starts.

    Raises
    ------
    ArgumentError
        For a wrong dimension or shape, a value that is not finite or is negative, or arrivals out of order.

    Notes
    -----
    Batch j starts at S_j with whoever waits, up to the slots, once batch j - 1 is
    done, at F_j; it does not wait to be full. With one slot it is :func:`queue_waits` with one server.

    References
    ----------
    Yu et al. (2022), Orca, https://www.usenix.org/conference/osdi22/presentation/yu;
    Bailey (1954), doi:10.1111/j.2517-6161.1954.tb00149.x

    Examples
    --------
    >>> from costlib.units import Quantity
    >>> static_batch_waits(Quantity([0, 1, 2], "s"), Quantity([5, 1, 9], "s"), Quantity(2, "")).m_as("s").tolist()
    [0.0, 4.0, 3.0]
    """
    arrivals, services = _in_order("static_batch_waits", arrivals, services)
    most = _whole("static_batch_waits", "slots", slots)
    env = simpy.Environment()
    queue = simpy.Store(env)
    waits = [0.0] * len(arrivals)

    def source():
        for n, arrival in enumerate(arrivals):
            yield _until(env, arrival)
            queue.put((n, env.now))

    def server():
        while True:
            batch = [(yield queue.get())]
            while queue.items and len(batch) < most:
                batch.append((yield queue.get()))
            for n, arrived in batch:
                waits[n] = env.now - arrived
            yield env.timeout(max(services[n] for n, _ in batch))

    env.process(source())
    env.process(server())
    env.run()
    return Quantity(np.array(waits), "second")


def half_width(means):
    """Half the width of the 95 % confidence interval of a mean from independent runs.

    Student's t for one run fewer than there are, times the standard error of the mean of the runs.

    Parameters
    ----------
    means : sequence of float
        The mean of each run, all in one unit.

    Returns
    -------
    float
        Half a width, in the same unit, to add to and to take from the mean of the means.

    Raises
    ------
    ArgumentError
        For fewer than two runs, or what is not finite.

    Notes
    -----
    For runs with random numbers of their own, whose means are near to normal. Runs
    that begin empty are biased towards short waits: make them long, or leave out their beginning.

    References
    ----------
    Student (1908), doi:10.1093/biomet/6.1.1

    Examples
    --------
    >>> round(half_width([9.0, 10.0, 11.0]), 2)
    2.48
    """
    try:
        means = np.asarray([float(mean) for mean in means])
    except (TypeError, ValueError):
        raise ArgumentError(f"half_width: means = {means!r}; wanted numbers") from None
    if means.ndim != 1 or means.size < 2 or not np.all(np.isfinite(means)):
        raise ArgumentError(f"half_width: means = {means}; wanted the finite means of two runs or more")
    return float(stats.t.ppf(0.975, means.size - 1) * stats.sem(means))


def _in_order(function, arrivals, *others):
    """The times as lists; refused where they are not in order, or not as many."""
    arrivals, *others = (np.atleast_1d(times.m_as("second")) for times in (arrivals, *others))
    for times in (arrivals, *others):
        if times.ndim != 1 or times.shape != arrivals.shape:
            raise ArgumentError(f"{function}: times of shape {times.shape}; wanted one row, as many as arrivals")
    if np.any(np.diff(arrivals) < 0):
        raise ArgumentError(f"{function}: arrivals go back in time; wanted them in order")
    return [times.tolist() for times in (arrivals, *others)]


def _whole(function, name, number):
    """A count as SimPy wants it."""
    number = np.asarray(number.magnitude)
    if number.size != 1 or number.item() != round(number.item()):
        raise ArgumentError(f"{function}: {name} = {number}; wanted one whole number")
    return int(number.item())
