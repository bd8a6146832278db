"""From requests to sessions: one row a session, from a session column or by a gap in time."""

import ibis

from costlib.arguments import ArgumentError

__all__ = ["by_gap", "in_seconds", "sessions", "wanted"]


def sessions(requests):
    """One row a session: what its requests add up to.

    Parameters
    ----------
    requests : ibis.Table
        Of any backend, with ``input_tokens`` and ``output_tokens`` and, where
        known, ``session``, ``time`` [s], ``duration`` [s] and ``cached_tokens``.
        Without ``session``, each request is its own.

    Returns
    -------
    ibis.Table
        ``session``, ``length`` (the most that input plus output reached in one
        request), ``requests``, ``input_tokens``, ``output_tokens`` and, where
        known, ``start``, ``end``, ``model_time``, ``wait`` [s] and ``cached_tokens``.
        Model time and wait are those of sessions of which each call has a duration, and a time where there is one.
        Where calls of one session overlap, they leave no wait: 0.
    """
    wanted(requests, "input_tokens", "output_tokens")
    in_seconds(requests, "time", "duration")
    if "session" not in requests.columns:
        return _alone(requests)
    named = requests.filter(requests.session.notnull())
    sums = {
        "length": (named.input_tokens + named.output_tokens).max(),
        "requests": named.count(),
        "input_tokens": named.input_tokens.sum(),
        "output_tokens": named.output_tokens.sum(),
    }
    if "cached_tokens" in named.columns:
        sums["cached_tokens"] = named.cached_tokens.sum()
    if "time" in named.columns:
        sums["start"] = named.time.min()
        sums["end"] = (named.time + named.duration if "duration" in named.columns else named.time).max()
    if "duration" in named.columns:
        complete = named.duration.count() == named.count()
        if "time" in named.columns:
            complete &= named.time.count() == named.count()
        sums["model_time"] = ibis.ifelse(complete, named.duration.sum(), ibis.null("float64"))
    return _with_wait(named.group_by("session").agg(**sums))


def _alone(requests):
    """Each request as a session of its own."""
    columns = {
        "length": requests.input_tokens + requests.output_tokens,
        "requests": ibis.literal(1, "int64"),
        "input_tokens": requests.input_tokens,
        "output_tokens": requests.output_tokens,
    }
    if "cached_tokens" in requests.columns:
        columns["cached_tokens"] = requests.cached_tokens
    if "time" in requests.columns:
        columns["start"] = requests.time
        columns["end"] = requests.time + requests.duration if "duration" in requests.columns else requests.time
    if "duration" in requests.columns:
        columns["model_time"] = requests.duration
    return _with_wait(requests.select(**columns))


def _with_wait(table):
    """What of a session's life is outside its calls."""
    if not {"model_time", "end"} <= set(table.columns):
        return table
    outside = table.end - table.start - table.model_time
    return table.mutate(wait=ibis.ifelse(outside < 0, ibis.literal(0.0), outside))  # what is not known is not 0


def by_gap(requests, user, gap):
    """Requests with a session that ends where its user is silent for longer than a gap.

    Parameters
    ----------
    requests : ibis.Table
        Of any backend, with ``time`` [s].
    user : str
        The column that says whose request it is.
    gap : float
        Seconds of silence after which a new session begins.

    Returns
    -------
    ibis.Table
        With ``session``, a text.

    Notes
    -----
    The silence is counted from one request to the next, so it holds the first one's
    own time. A user who works at two things at once has one session here.
    """
    wanted(requests, user, "time")
    in_seconds(requests, "time")
    if not gap > 0:
        raise ArgumentError(f"by_gap: gap = {gap}; wanted seconds, more than zero")
    timed = requests.filter(requests.time.notnull() & requests[user].notnull())
    in_turn = ibis.window(group_by=timed[user], order_by=timed.time)
    late = timed.mutate(late=(timed.time - timed.time.lag().over(in_turn) > gap).fill_null(True).cast("int64"))
    so_far = ibis.cumulative_window(group_by=late[user], order_by=late.time)
    turn = late.late.sum().over(so_far)
    return late.mutate(session=late[user].cast("string") + "#" + turn.cast("string")).drop("late")


def wanted(table, *columns):
    """Refuse a table without these columns."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ArgumentError(f"given a table without {missing[0]}; it has {', '.join(table.columns)}")


def in_seconds(table, *columns):
    """Refuse a table in which one of these columns, where it has them, is no number."""
    for name in columns:
        if name not in table.columns:
            continue
        type = table[name].type()
        if type.is_timestamp() or type.is_date():
            raise ArgumentError(
                f"{name} is a {'timestamp' if type.is_timestamp() else 'date'}; wanted seconds: "
                f"t.mutate({name}=t.{name}.epoch_seconds())"
            )
        if not (type.is_numeric() or type.is_null() or type.is_unknown()):
            raise ArgumentError(f"{name} is of type {type}; wanted seconds, as a number")
