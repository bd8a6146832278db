"""Queues: how many are in a system, and how long they wait."""

from costlib.arguments import takes

__all__ = ["number_in_system"]


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
