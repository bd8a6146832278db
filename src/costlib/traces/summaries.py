"""What a trace comes to: the figures that a worksheet takes from it."""

from collections.abc import Mapping
from dataclasses import dataclass

import ibis

from costlib.arguments import ArgumentError
from costlib.schema import InputError
from costlib.traces.distributions import CutOff, Distribution, distribution
from costlib.traces.engine import readable
from costlib.traces.prefixes import kept
from costlib.traces.statistics import (
    Growth,
    burstiness,
    context_growth,
    copies,
    prefix_hits,
    repeated,
    session_lengths,
    waits,
)
from costlib.traces.trace import ALONE, Trace, of_table
from costlib.units import Quantity, counted

__all__ = ["Summary", "summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    """Figures of a trace; None where it does not say, and ``notes`` why.

    Tokens, counts and shares are plain numbers, times and rates are quantities.
    Those "per session", ``lifetime``, ``model_time`` and ``wait`` are means over sessions.
    """

    lengths: Distribution
    cut_off: CutOff
    sessions: int
    requests: int | None
    requests_per_session: float | None
    input_per_session: float | None
    output_per_session: float | None
    lifetime: Quantity | None
    model_time: Quantity | None
    wait: Quantity | None
    tool_time: Quantity | None
    wait_share: float | None
    hits_by_tokens: float | None
    hits_by_requests: float | None
    arrival_scv: float | None
    session_scv: float | None
    session_rate: Quantity | None
    growth: Growth | None
    rule: str
    alone: bool  # nothing joins requests: each is counted as a session
    columns: Mapping[str, str]
    rows: int
    rejected: Mapping[str, int]
    notes: tuple[str, ...]


def summary(trace):
    """All figures of a trace.

    Parameters
    ----------
    trace : Trace or ibis.Table
        As :func:`~costlib.traces.trace.read` gives it; or a table of requests of any backend, with ``input_tokens``,
        ``output_tokens`` and, where known, ``session``, ``time`` [s], ``duration`` [s], ``cached_tokens``, ``blocks``.

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        If no row could be read: the reasons, each with an example.
    ArgumentError
        If a table has not the columns of requests, or its times are no numbers.
    """
    if isinstance(trace, ibis.Table):
        trace = of_table(trace)
    if not isinstance(trace, Trace):
        raise ArgumentError(f"summary: given {type(trace).__name__}; wanted a Trace or an Ibis table of requests")
    with readable(trace.where):
        return _summary(trace)


def _summary(trace):
    checks = trace.checks
    if not checks.read:
        raise InputError(f"{trace.where}: {_nothing_read(checks)}")
    notes = [*trace.notes, *(f"{counted(count, 'row')}: {doubt}" for doubt, count in checks.doubts.items())]
    sessions = trace.sessions
    if trace.requests is not None and "session" in trace.requests.columns:
        sessions = kept(sessions)
    lengths = session_lengths(sessions)
    sums = _sums(sessions)
    waited = _waits(sessions, notes)
    hits = _hits(trace, notes)
    arrivals = _arrivals(trace.requests, "time")
    starts = _arrivals(sessions, "start")
    growth = _growth(trace, notes)
    return Summary(
        lengths=lengths,
        cut_off=_cut_off(lengths, sessions, notes),
        sessions=lengths.count,
        requests=sums.get("requests"),
        requests_per_session=_mean(sums, "requests", lengths.count),
        input_per_session=_mean(sums, "input_tokens", lengths.count),
        output_per_session=_mean(sums, "output_tokens", lengths.count) if "output_tokens" in trace.columns else None,
        lifetime=_lifetime(waited, sessions, trace, notes),
        model_time=_seconds(waited and waited.model_time),
        wait=_seconds(waited and waited.wait),
        tool_time=_tool_time(trace, lengths.count),
        wait_share=waited and waited.share,
        hits_by_tokens=hits and hits.by_tokens,
        hits_by_requests=hits and hits.by_requests,
        arrival_scv=arrivals and arrivals.scv,
        session_scv=starts and starts.scv,
        session_rate=Quantity(starts.rate, "1/s") if starts and starts.rate else None,
        growth=growth,
        alone=trace.alone,
        rule=f"{counted(lengths.count, 'request')}, {ALONE}" if trace.alone else trace.rule,
        columns=trace.columns,
        rows=checks.rows,
        rejected=checks.rejected,
        notes=(*notes, *_doubles(trace, sessions, growth)),
    )


def _nothing_read(checks):
    """Why no row is left."""
    if not checks.rows:
        return "has a header and no row"
    reasons = (
        f"{count:,} × {reason}" + (f" ({checks.examples[reason]!r})" if checks.examples.get(reason) else "")
        for reason, count in checks.rejected.items()
    )
    return f"none of its {checks.rows:,} rows could be read: " + "; ".join(reasons)


def _sums(sessions):
    """Sums over all sessions."""
    names = [n for n in ("requests", "input_tokens", "output_tokens", "cached_tokens") if n in sessions.columns]
    if not names:
        return {}
    row = sessions.agg(**{name: sessions[name].sum() for name in names}).to_pyarrow().to_pylist()[0]
    return {name: int(value) for name, value in row.items() if value is not None}


def _mean(sums, name, number):
    return sums[name] / number if name in sums else None


def _seconds(value):
    return None if value is None else Quantity(value, "s")


def _waits(sessions, notes):
    """Waits where calls have a duration; the mean life at least where they have a time."""
    if {"wait", "model_time"} <= set(sessions.columns):
        waited = waits(sessions)
        if waited is not None:
            if waited.sessions_left_out:
                left_out = counted(waited.sessions_left_out, "session")
                notes.append(f"{left_out} with a call without duration or time: not among the waits")
            if waited.overlapping:
                notes.append(
                    f"{counted(waited.overlapping, 'session')} with calls that overlap: less wait is counted there"
                )
            if waited.wait + waited.model_time > 1.01 * waited.lifetime:
                notes.append("waits and calls of the file come to more than its lifetimes: some overlap")
            return waited
    what = "session whose calls have a duration and a time" if "model_time" in sessions.columns else "duration of calls"
    notes.append(f"no {what}: what of a session's life is outside of them is not known")
    return None


def _lifetime(waited, sessions, trace, notes):
    """The mean life of a session; without durations, from its first request to the beginning of its last."""
    if waited is not None:
        return _seconds(waited.lifetime)
    if trace.requests is None or not {"session", "time"} <= set(trace.requests.columns):
        return None
    mean = sessions.agg(mean=(sessions.end - sessions.start).mean()).to_pyarrow().to_pylist()[0]["mean"]
    if mean is not None:
        notes.append("lifetime is that from the first request to the beginning of the last, and holds the model's time")
    return _seconds(mean)


def _tool_time(trace, sessions):
    """Time of calls of tools a session, where there are any."""
    if trace.tools is None:
        return None
    row = trace.tools.agg(total=trace.tools.duration.sum()).to_pyarrow().to_pylist()[0]
    return None if row["total"] is None else Quantity(row["total"] / sessions, "s")


def _hits(trace, notes):
    """Prefix hits, of requests or, where only sessions are known, of their sums."""
    if trace.requests is None:
        return None
    if not {"cached_tokens", "blocks"} & set(trace.requests.columns):
        return None
    hits = prefix_hits(trace.requests)
    if hits is None:
        notes.append("prefix hits: the hashes of blocks fit no number of tokens a block, or no prompt has any")
    elif hits.block is None:
        notes.append(
            "prefix hits are those that the cache served (cached tokens), not those of one that forgets nothing"
        )
    else:
        notes.append(f"prefix hits are those of a cache that forgets nothing, in blocks of {hits.block} tokens")
    return hits


def _arrivals(table, time):
    return burstiness(table, time) if table is not None and time in table.columns else None


def _growth(trace, notes):
    if trace.requests is None:
        notes.append("one row a session: growth, hits and arrivals of its requests are not known")
        return None
    if {"session", "time"} <= set(trace.requests.columns):
        return context_growth(trace.requests)
    return None


def _cut_off(lengths, sessions, notes):
    """Whether lengths look cut off, or the files that they were read from."""
    found = lengths.cut_off()
    if "bytes" in sessions.columns:
        sizes = distribution(sessions, "bytes").cut_off()
        if sizes.looks:
            notes.append(
                f"sizes of the sessions' files look cut off near {sizes.near / 2**20:,.2f} MiB: {sizes.why}; "
                "long sessions are missing, and the upper quantiles of length are too low"
            )
    return found


def _doubles(trace, sessions, growth):
    """What is in the trace more than once."""
    if trace.requests is not None and "time" in trace.requests.columns:
        again = repeated(trace.requests) if growth is None else growth.repeated
        if again:
            what = "the time and tokens of another one, and its session if they have one"
            yield f"{counted(again, 'request')} with {what}: exact repeats; all are counted"
    if trace.requests is None and "session" in sessions.columns:
        again = repeated(sessions, "session")
        if again:
            yield f"{counted(again, 'row')} with the name of a session that was there before: all are counted"
    same = copies(sessions)
    if same and same.rows:
        yield (
            f"{counted(same.rows, 'session')} in {counted(same.groups, 'group')} agree in requests, length and sums of "
            "tokens: near-copies; all are counted, so the intervals are too narrow"
        )
