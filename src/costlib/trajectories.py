"""A trajectory: turns of a model call and a tool call each, and how long it all takes."""

from costlib.arguments import takes
from costlib.units import minimum

__all__ = ["live_after", "model_share", "trajectory_time"]


@takes(turns="", model_time="second", tool_time="second >= 0", returns="second")
def trajectory_time(turns, model_time, tool_time):
    r"""Time from the start of a trajectory to its end.

    .. math:: W_{traj} = H (T_{model} + T_{tool})

    Parameters
    ----------
    turns : Quantity []
        Turns, H. Scalar or array.
    model_time : Quantity [second]
        Mean time of a model call, waits for a slot included, T_model. Scalar or array.
    tool_time : Quantity [second]
        Mean time of a tool call, T_tool; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact for the means, where the number of turns does not depend on how long they take.
    Approvals by a person, and the time of the program around the model, come on top.

    References
    ----------
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(trajectory_time(quantity("15"), quantity("4 s"), quantity("20 s")))
    '360 s'
    """
    return turns * (model_time + tool_time)


@takes(model_time="second", tool_time="second >= 0", returns="")
def model_share(model_time, tool_time):
    r"""Share of a trajectory's life that it spends inside model calls.

    .. math:: T_{model} / (T_{model} + T_{tool})

    Parameters
    ----------
    model_time : Quantity [second]
        Mean time of a model call, T_model. Scalar or array.
    tool_time : Quantity [second]
        Mean time of a tool call, T_tool; zero allowed. Scalar or array.

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
    Of the trajectories alive at any moment, this share is inside a model call, on average.

    References
    ----------
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import quantity
    >>> f'{model_share(quantity("4 s"), quantity("20 s")):.1%}'
    '16.7%'
    """
    return model_time / (model_time + tool_time)


@takes(start_rate="sequence/second", trajectory_time="second", elapsed="second >= 0", returns="sequence")
def live_after(start_rate, trajectory_time, elapsed):
    r"""Mean number of trajectories alive some time after the first could start.

    .. math:: L(t) = \lambda \min(t, W)

    Parameters
    ----------
    start_rate : Quantity [sequence/second]
        Trajectories started a second, lambda. Scalar or array.
    trajectory_time : Quantity [second]
        Time from the start of a trajectory to its end, W. Scalar or array.
    elapsed : Quantity [second]
        Time since the system was empty, t; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [sequence]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact where all take equally long and none waits. Where times differ, it is the
    mean of this over them: the corner at t = W becomes a bend.

    References
    ----------
    Eick, Massey, Whitt (1993), doi:10.1287/opre.41.4.731

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> rate, life = quantity("2 trajectory/s"), quantity("360 s")
    >>> show(live_after(rate, life, quantity("1 min"))), show(live_after(rate, life, quantity("1 hour")))
    ('120 sequences', '720 sequences')
    """
    return start_rate * minimum(elapsed, trajectory_time)
