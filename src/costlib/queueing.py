"""Queues: how many are in a system, and how long they wait.

Squared coefficients of variation, variance over squared mean, say how irregular
gaps and times are: 0 for a clock, 1 for an exponential, more for bursts.
"""

import math

from costlib.arguments import ArgumentError, extremes, takes
from costlib.units import Quantity

__all__ = [
    "allen_cunneen_wait",
    "erlang_b",
    "erlang_c",
    "kingman_wait",
    "mg1_wait",
    "mmc_wait",
    "number_in_system",
    "offered_load",
    "utilisation",
    "variability_factor",
]

CALL = Quantity(1, "1/sequence")  # a load counts calls, not trajectories


@takes(arrival_rate="sequence/second", time_in_system="second", returns="sequence")
def number_in_system(arrival_rate, time_in_system):
    r"""Mean number in a stable system, by Little's law.

    .. math:: L = \lambda W

    Parameters
    ----------
    arrival_rate : Quantity [sequence/second]
        Arrivals that are served, lambda. Scalar or array.
    time_in_system : Quantity [second]
        Mean time from arrival to departure, W. Scalar or array.

    Returns
    -------
    Quantity [sequence]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Exact for any arrivals, service and order, once the system is stable. The
    rate is the one achieved, not the one offered.

    References
    ----------
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(number_in_system(quantity("2 trajectory/s"), quantity("360 s")), "trajectory")
    '720 trajectories'
    """
    return arrival_rate * time_in_system


@takes(arrival_rate="sequence/second", service_time="second", returns="")
def offered_load(arrival_rate, service_time):
    r"""Servers that arrivals would keep busy if none had to wait, in erlang.

    .. math:: a = \lambda \, \mathbb{E}[S]

    Parameters
    ----------
    arrival_rate : Quantity [sequence/second]
        Arrivals, lambda. Scalar or array.
    service_time : Quantity [second]
        Mean time of service, E[S]. Scalar or array.

    Returns
    -------
    Quantity []
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Little's law for the servers. Over c servers, a / c is their utilisation.

    References
    ----------
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(offered_load(quantity("30 sequence/s"), quantity("4 s")))
    '120'
    """
    return arrival_rate * service_time * CALL


@takes(arrival_rate="sequence/second", service_time="second", servers=" >= 1", returns="")
def utilisation(arrival_rate, service_time, servers):
    r"""Share of time that a server is busy, if nobody is turned away.

    .. math:: \rho = \lambda \, \mathbb{E}[S] / c

    Parameters
    ----------
    arrival_rate : Quantity [sequence/second]
        Arrivals, lambda. Scalar or array.
    service_time : Quantity [second]
        Mean time of service, E[S]. Scalar or array.
    servers : Quantity []
        Servers, c. Scalar or array.

    Returns
    -------
    Quantity []
        Of the shape to which the arguments broadcast; one or more where the servers cannot keep up.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or less than one server.

    Notes
    -----
    Exact for any arrivals, times and order. At one or more there is no steady state: the formulas of waits refuse it.

    References
    ----------
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(utilisation(quantity("30 sequence/s"), quantity("4 s"), quantity("128")), "percent")
    '93.8 %'
    """
    return offered_load(arrival_rate, service_time) / servers


@takes(servers=" >= 1", load="", returns="")
def erlang_b(servers, load):
    r"""Share of arrivals that find all servers busy, where those leave at once: Erlang's loss formula.

    .. math:: B(c, a) = \left( \sum_{k=0}^{c} \frac{c!}{(c - k)!} \, a^{-k} \right)^{-1}

    Parameters
    ----------
    servers : Quantity []
        Servers, c, a whole number. Scalar or array.
    load : Quantity []
        Offered load, a, as :func:`offered_load` gives it; it may exceed the servers. Scalar or array.

    Returns
    -------
    Quantity []
        Of the shape to which the arguments broadcast; zero where it is below the smallest float.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, a part of a server, or more than
        1e9 of them.

    Notes
    -----
    Exact for arrivals at random and times of any distribution. All terms are positive, so that
    nothing cancels: to 1e-13 for a million servers, to 1e-11 in arrays.

    References
    ----------
    Gans, Koole, Mandelbaum (2003), doi:10.1287/msom.5.2.79.16071

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(erlang_b(quantity("2"), quantity("1")))
    '0.2'
    """
    return Quantity(_erlang_b("erlang_b", servers.magnitude, load.magnitude), "")


@takes(servers=" >= 1", load="", returns="")
def erlang_c(servers, load):
    r"""Share of arrivals that find all servers busy, where those wait: Erlang's delay formula.

    .. math:: C(c, a) = \frac{c \, B(c, a)}{c - a + a \, B(c, a)}

    Parameters
    ----------
    servers : Quantity []
        Servers, c, a whole number. Scalar or array.
    load : Quantity []
        Offered load, a, as :func:`offered_load` gives it; less than the servers. Scalar or array.

    Returns
    -------
    Quantity []
        Of the shape to which the arguments broadcast; zero where it is below the smallest float.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, a part of a server,
        more than 1e9 of them, or as much load as servers.

    Notes
    -----
    Exact for arrivals at random and exponential times. Callers that give up make it smaller.

    References
    ----------
    Gans, Koole, Mandelbaum (2003), doi:10.1287/msom.5.2.79.16071

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(erlang_c(quantity("14"), quantity("10")))
    '0.174'
    """
    _steady("erlang_c", (load / servers).magnitude)
    return Quantity(_erlang_c("erlang_c", servers.magnitude, load.magnitude), "")


@takes(arrival_rate="sequence/second", service_time="second", servers=" >= 1", returns="second")
def mmc_wait(arrival_rate, service_time, servers):
    r"""Mean wait for one of several servers, for random arrivals and exponential times.

    .. math:: W_q = \frac{C(c, a)}{c - a} \, \mathbb{E}[S], \qquad a = \lambda \, \mathbb{E}[S]

    Parameters
    ----------
    arrival_rate : Quantity [sequence/second]
        Arrivals, lambda. Scalar or array.
    service_time : Quantity [second]
        Mean time of service, E[S]. Scalar or array.
    servers : Quantity []
        Servers, c, a whole number. Scalar or array.

    Returns
    -------
    Quantity [second]
        Mean over all arrivals, those that need not wait included. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, a part of a server,
        more than 1e9 of them, or a utilisation of one or more.

    Notes
    -----
    Exact. Near a utilisation of one the wait is as uncertain as the gap to one:
    at 1 - 1e-9, a change of the rate in its tenth digit changes the wait by a tenth.

    References
    ----------
    Gans, Koole, Mandelbaum (2003), doi:10.1287/msom.5.2.79.16071

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(mmc_wait(quantity("200 sequence/s"), quantity("12.5 ms"), quantity("3")), "ms")
    '17.6 ms'
    """
    load = offered_load(arrival_rate, service_time)
    _steady("mmc_wait", (load / servers).magnitude)
    return Quantity(_erlang_c("mmc_wait", servers.magnitude, load.magnitude), "") / (servers - load) * service_time


@takes(arrival_rate="sequence/second", service_time="second", service_scv=" >= 0", returns="second")
def mg1_wait(arrival_rate, service_time, service_scv):
    r"""Mean wait for one server, for random arrivals and times of any distribution.

    .. math:: W_q = \frac{1 + c_s^2}{2} \cdot \frac{\rho}{1 - \rho} \, \mathbb{E}[S], \qquad
        \rho = \lambda \, \mathbb{E}[S]

    Parameters
    ----------
    arrival_rate : Quantity [sequence/second]
        Arrivals, lambda. Scalar or array.
    service_time : Quantity [second]
        Mean time of service, E[S]. Scalar or array.
    service_scv : Quantity []
        Squared coefficient of variation of the times, c_s^2; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a utilisation of one or more.

    Notes
    -----
    Exact: the formula of Pollaczek and Khinchine. A distribution of infinite variance has an infinite mean wait.

    References
    ----------
    Harchol-Balter (2013), doi:10.1017/CBO9781139226424

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(mg1_wait(quantity("4 sequence/hour"), quantity("12 min"), quantity("1")), "hour")
    '0.800 h'
    """
    busy = offered_load(arrival_rate, service_time)
    _steady("mg1_wait", busy.magnitude)
    return kingman_wait(busy, service_time, Quantity(1, ""), service_scv)


@takes(arrival_scv=" >= 0", service_scv=" >= 0", returns="")
def variability_factor(arrival_scv, service_scv):
    r"""How irregular the work of a queue is, against random arrivals and exponential times.

    .. math:: (c_a^2 + c_s^2) / 2

    Parameters
    ----------
    arrival_scv : Quantity []
        Squared coefficient of variation of the gaps between arrivals, c_a^2; zero allowed. Scalar or array.
    service_scv : Quantity []
        Squared coefficient of variation of the times of service, c_s^2; zero allowed. Scalar or array.

    Returns
    -------
    Quantity []
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Two numbers do not describe arrivals that come in groups, or bursts that last.

    References
    ----------
    Kingman (1961), doi:10.1017/S0305004100036094

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(variability_factor(quantity("2"), quantity("1")))
    '1.5'
    """
    return (arrival_scv + service_scv) / 2


@takes(utilisation="", service_time="second", arrival_scv=" >= 0", service_scv=" >= 0", returns="second")
def kingman_wait(utilisation, service_time, arrival_scv, service_scv):
    r"""Mean wait for one server, approximately.

    .. math:: W_q \approx \frac{c_a^2 + c_s^2}{2} \cdot \frac{\rho}{1 - \rho} \cdot \mathbb{E}[S]

    Parameters
    ----------
    utilisation : Quantity []
        Share of time that the server is busy, rho. Scalar or array.
    service_time : Quantity [second]
        Mean time of service, E[S]. Scalar or array.
    arrival_scv : Quantity []
        Squared coefficient of variation of the gaps between arrivals, c_a^2; zero allowed. Scalar or array.
    service_scv : Quantity []
        Squared coefficient of variation of the times of service, c_s^2; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a utilisation of one or more.

    Notes
    -----
    Exact for random arrivals, right in the limit of a full server, too high for
    most others whose gaps are independent: for a clock's arrivals and exponential times
    96 % too high at a utilisation of 0.5, 8 % at 0.9. Arrivals in groups or in long bursts
    can wait several times as long, or half as long.

    References
    ----------
    Kingman (1961), doi:10.1017/S0305004100036094

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(kingman_wait(quantity("0.9"), quantity("1 s"), quantity("2"), quantity("1")))
    '13.5 s'
    """
    _steady("kingman_wait", utilisation.magnitude)
    return variability_factor(arrival_scv, service_scv) * utilisation / (1 - utilisation) * service_time


@takes(
    utilisation="", service_time="second", arrival_scv=" >= 0", service_scv=" >= 0", servers=" >= 1", returns="second"
)
def allen_cunneen_wait(utilisation, service_time, arrival_scv, service_scv, servers):
    r"""Mean wait for one of several servers, approximately.

    .. math:: W_q \approx \frac{c_a^2 + c_s^2}{2} \cdot \frac{C(c, c \rho)}{c (1 - \rho)} \cdot \mathbb{E}[S]

    Parameters
    ----------
    utilisation : Quantity []
        Share of time that a server is busy, rho. Scalar or array.
    service_time : Quantity [second]
        Mean time of service, E[S]. Scalar or array.
    arrival_scv : Quantity []
        Squared coefficient of variation of the gaps between arrivals, c_a^2; zero allowed. Scalar or array.
    service_scv : Quantity []
        Squared coefficient of variation of the times of service, c_s^2; zero allowed. Scalar or array.
    servers : Quantity []
        Servers, c, a whole number. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, a part of a server,
        more than 1e9 of them, or a utilisation of one or more.

    Notes
    -----
    Exact for random arrivals and exponential times; with one server it is :func:`kingman_wait`.
    Within some ten per cent for moderate variability near a full pool; further off for heavy tails and light loads.

    References
    ----------
    Whitt (1993), doi:10.1111/j.1937-5956.1993.tb00094.x

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(allen_cunneen_wait(quantity("0.9"), quantity("1 s"), quantity("2"), quantity("1"), quantity("16")))
    '0.554 s'
    """
    _steady("allen_cunneen_wait", utilisation.magnitude)
    load = utilisation * servers
    waiting = Quantity(_erlang_c("allen_cunneen_wait", servers.magnitude, load.magnitude), "")
    return variability_factor(arrival_scv, service_scv) * waiting / (servers * (1 - utilisation)) * service_time


def _steady(function, utilisation):
    """Refuse a queue that would grow without end."""
    fullest = extremes(utilisation)[1]
    if fullest >= 1:
        raise ArgumentError(
            f"{function}: utilisation = {fullest:.12g}; wanted less than one: at one or more the queue has no steady "
            "state, it grows without end"
        )


def _erlang_c(function, servers, load):
    blocked = _erlang_b(function, servers, load)
    return servers * blocked / (servers - load + load * blocked)


def _erlang_b(function, servers, load):
    _check_servers(function, servers)
    arrays = hasattr(servers, "shape") or hasattr(load, "shape")
    return (_erlang_b_of_arrays if arrays else _erlang_b_of_one)(servers, load)


_NEGLIGIBLE = 1e-17


def _erlang_b_of_one(servers, load):
    total = term = 1.0
    k = 0
    while term > _NEGLIGIBLE * total:  # false, too, once the total is infinite
        term *= (servers - k) / load
        total += term
        k += 1
    return 1 / total


def _erlang_b_of_arrays(servers, load):
    """The same sum where its terms fall, from all servers busy down to none.

    Where they would rise first, it takes too many steps for an array. There, B is the
    probability p of c busy among servers without number, given that no more are:
    p / (1 - p (a / (c + 1) + a^2 / ((c + 1) (c + 2)) + ...)), of which few terms count.
    """
    import numpy as np

    shape = np.broadcast_shapes(np.shape(servers), np.shape(load))
    servers, load = (np.broadcast_to(given, shape).ravel() for given in (servers, load))
    blocked = np.empty(load.size)
    over = load >= servers
    blocked[over] = 1 / (1 + _following(np.ones(np.count_nonzero(over)), servers[over], -1, load[over], 0))
    servers, load = servers[~over], load[~over]
    probability = _poisson(servers, load)
    blocked[~over] = probability / (1 - _following(probability, load, 0, servers + 1, 1))
    return blocked.reshape(shape)


def _following(term, above, above_step, below, below_step):
    """Sum of what follows a term of at most one: each that before it times above / below, which fall as they step."""
    import numpy as np

    total = np.zeros_like(term)
    counting = np.flatnonzero(term > _NEGLIGIBLE)
    left = counting
    while left.size:
        term, above, below = term[counting], above[counting], below[counting]
        added = np.zeros_like(term)
        for _ in range(16):  # to drop those that are done costs as much as a few steps
            term *= above / below
            added += term
            above += above_step
            below += below_step
        total[left] += added
        counting = np.flatnonzero(term > _NEGLIGIBLE)
        left = left[counting]
    return total


def _poisson(count, mean):
    """Probability of a whole count, with Stirling's formula taken out: the logarithms alone lose digits when large."""
    import numpy as np

    beyond = (mean - count) / count
    logarithm = np.log(mean / count)
    near = beyond > -0.5
    logarithm[near] = np.log1p(beyond[near])
    return np.exp(count * (logarithm - beyond) - _stirling_error(count)) / np.sqrt(2 * np.pi * count)


def _stirling_error(n):
    """Logarithm of n! over Stirling's formula."""
    import numpy as np

    square = 1 / (n * n)
    of_large = (1 / 12 - square * (1 / 360 - square / 1260)) / n
    return np.where(n < 64, np.take(_OF_SMALL, np.minimum(n, 63).astype(int)), of_large)


_OF_SMALL = [0.0] + [
    math.log(math.factorial(n) * math.exp(n) / (n**n * math.sqrt(2 * math.pi * n))) for n in range(1, 64)
]


MOST_SERVERS = 1e9  # beyond, the sums take long and lose digits


def _check_servers(function, servers):
    if not extremes(servers)[1] <= MOST_SERVERS:
        raise ArgumentError(f"{function}: servers = {extremes(servers)[1]:.12g}; wanted at most {MOST_SERVERS:g}")
    if extremes(servers // 1 != servers)[1]:
        raise ArgumentError(f"{function}: servers = {servers}; wanted a whole number")
