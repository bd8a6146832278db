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
        For a wrong dimension, a value that is not finite or not more than zero, or a part of a server.

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
        or as much load as servers.

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
        For a wrong dimension, a value that is not finite or not more than zero, a part of a server, or a
        utilisation of one or more.

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
    utilisation = offered_load(arrival_rate, service_time)
    return kingman_wait(utilisation, service_time, Quantity(1, ""), service_scv)


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
    most others whose gaps are independent. Arrivals in groups or in long bursts can wait
    several times as long, or half as long.

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
        For a wrong dimension, a value that is not finite or is negative, a part of a server, or a utilisation of
        one or more.

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
    if hasattr(servers, "shape") or hasattr(load, "shape"):
        return _erlang_b_of_arrays(function, servers, load)
    _check_servers(function, servers)
    return _erlang_b_of_one(servers, load)


def _erlang_b_of_one(servers, load):
    total = term = 1.0
    k = 0
    while term > _NEGLIGIBLE * total and total < _HUGE:
        term *= (servers - k) / load
        total += term
        k += 1
    return 1 / total if total < _HUGE else 0.0


_NEGLIGIBLE, _HUGE = 1e-17, 1e300


def _erlang_b_of_arrays(function, servers, load):
    """The same as a Poisson probability over a cumulative one: the sum takes too many steps for an array."""
    import numpy as np
    from scipy import special

    shape = np.broadcast_shapes(np.shape(servers), np.shape(load))
    servers, load = (np.broadcast_to(given, shape or 1) for given in (servers, load))
    _check_servers(function, servers)
    beyond = (load - servers) / servers
    exactly = servers * (np.log1p(beyond) - beyond) - _stirling_error(servers)
    probability = np.exp(exactly) / np.sqrt(2 * np.pi * servers)
    cumulative = special.gammaincc(servers + 1, load)
    overloaded = cumulative < 1e-250  # so far that both are lost; there the sum takes few steps
    blocked = probability / np.where(overloaded, 1, cumulative)
    blocked[overloaded] = [_erlang_b_of_one(*pair) for pair in zip(servers[overloaded], load[overloaded], strict=True)]
    return blocked.reshape(shape)


def _stirling_error(n):
    """Logarithm of n! over Stirling's formula; the logarithms themselves would lose digits for large n."""
    import numpy as np

    square = 1 / (n * n)
    of_large = (1 / 12 - square * (1 / 360 - square / 1260)) / n
    return np.where(n < 64, np.take(_OF_SMALL, np.minimum(n, 63).astype(int)), of_large)


_OF_SMALL = [0.0] + [
    math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi) for n in range(1, 64)
]


MOST_SERVERS = 1e9  # beyond, the sums take long and lose digits


def _check_servers(function, servers):
    if not extremes(servers)[1] <= MOST_SERVERS:
        raise ArgumentError(f"{function}: servers = {extremes(servers)[1]:g}; wanted at most {MOST_SERVERS:g}")
    if extremes(servers // 1 != servers)[1]:
        raise ArgumentError(f"{function}: servers = {servers}; wanted a whole number")
