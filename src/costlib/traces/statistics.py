"""Statistics of requests and sessions: functions of an Ibis table of any backend.

Group-bys, joins and unnested arrays, with windows only within a session or a span
of time, so that the engine which holds the table does the work and only small tables come back.
"""

from dataclasses import dataclass

import ibis
import numpy as np

from costlib.traces.distributions import Distribution, distribution
from costlib.traces.grouping import in_seconds, wanted
from costlib.traces.prefixes import block_size

__all__ = [
    "Burstiness",
    "Copies",
    "Growth",
    "Hits",
    "Waits",
    "burstiness",
    "context_growth",
    "copies",
    "prefix_hits",
    "repeated",
    "session_lengths",
    "waits",
]

STEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
COUNTED = ("added", "following", "shrinking", "repeated")
SPANS = 4096  # of time, each ordered on its own


def session_lengths(sessions):
    """The lengths of sessions, in tokens.

    Parameters
    ----------
    sessions : ibis.Table
        Of any backend, with ``length``.

    Returns
    -------
    Distribution
        In tokens, as plain numbers.
    """
    wanted(sessions, "length")
    return distribution(sessions, "length")


@dataclass(frozen=True)
class Waits:
    """Means over sessions whose calls have a duration, in seconds, and the share of their lives outside of calls."""

    sessions: int
    lifetime: float
    model_time: float
    wait: float
    share: float | None
    overlapping: int
    sessions_left_out: int


def waits(sessions):
    """How much of a session's life is outside its model calls: tools, people, queues before the call.

    Parameters
    ----------
    sessions : ibis.Table
        Of any backend, with ``wait``, ``model_time`` [s].

    Returns
    -------
    Waits
        In seconds, as plain numbers; the share is that of the sums, so long sessions weigh more.
        None where no session tells.
    """
    wanted(sessions, "wait", "model_time")
    in_seconds(sessions, "wait", "model_time")
    told = sessions.filter(sessions.wait.notnull() & sessions.model_time.notnull())
    sums = {"sessions": told.count(), "model_time": told.model_time.sum(), "wait": told.wait.sum()}
    if "lifetime" in told.columns:
        sums["lifetime"] = told.lifetime.sum()
    elif {"start", "end"} <= set(told.columns):
        sums["lifetime"] = (told.end - told.start).sum()
        sums["overlapping"] = (told.model_time > told.end - told.start + 1e-6).sum()
    row = _one(told.agg(**sums))
    number = row["sessions"]
    if not number:
        return None
    calls, wait = row["model_time"], row["wait"]
    return Waits(
        sessions=number,
        lifetime=row.get("lifetime", calls + wait) / number,
        model_time=calls / number,
        wait=wait / number,
        share=wait / (wait + calls) if wait + calls > 0 else None,
        overlapping=int(row.get("overlapping") or 0),
        sessions_left_out=_one(sessions.agg(all=sessions.count()))["all"] - number,
    )


@dataclass(frozen=True, eq=False)
class Growth:
    """Context at chosen steps, tokens added from one step to the next, and requests that are there again."""

    steps: dict[int, Distribution]
    added: float | None
    shrinking: float | None
    repeated: int


def context_growth(requests, steps=STEPS):
    """The context (input tokens) at steps of a session, and what a step adds.

    Parameters
    ----------
    requests : ibis.Table
        Of any backend, with ``session``, ``time``, ``input_tokens`` and ``output_tokens``. Requests of the same
        time are taken in the order of their tokens, so that it is the same on every engine.
    steps : iterable of int
        Steps to look at, the first request being 1.

    Returns
    -------
    Growth
        ``steps``: step to the distribution of input tokens over the sessions that reach it, so the later ones are
        of long sessions only. ``added``: mean tokens from one step to the next, ``shrinking``: share of steps at
        which the context shrank, as compaction does; None where no session has a second step. ``repeated``: requests
        that agree with one before in session, time, and tokens.
    """
    order = ["time", "input_tokens", "output_tokens"]
    wanted(requests, "session", *order)
    in_seconds(requests, "time")
    known = requests.filter(requests.session.notnull() & requests.time.notnull())
    in_turn = ibis.window(group_by=known.session, order_by=order)
    same = [(known[name] == known[name].lag().over(in_turn)).fill_null(False) for name in order]
    numbered = known.select(
        context=known.input_tokens,
        step=ibis.row_number().over(in_turn) + 1,
        added=known.input_tokens - known.input_tokens.lag().over(in_turn),
        again=same[0] & same[1] & same[2],
    )
    looked_at = numbered.step.isin(list(steps))
    sorted_out = numbered.mutate(
        step=ibis.ifelse(looked_at, numbered.step, ibis.literal(0)),
        context=ibis.ifelse(looked_at, numbered.context, ibis.literal(0)),
    )
    counted = sorted_out.group_by(["step", "context"]).agg(
        number=sorted_out.count(),
        added=sorted_out.added.sum(),
        following=sorted_out.added.count(),
        shrinking=(sorted_out.added < 0).sum(),
        repeated=sorted_out.again.sum(),
    )
    arrow = counted.order_by(["step", "context"]).to_pyarrow()
    step, context, number = (arrow[name].to_numpy() for name in ("step", "context", "number"))
    at = {int(k): Distribution(context[step == k], number[step == k]) for k in np.unique(step) if k}
    total, following, shrinking, again = (sum(filter(None, arrow[name].to_pylist())) for name in COUNTED)
    if not following:
        return Growth(at, None, None, 0)
    return Growth(at, total / following, shrinking / following, int(again))


@dataclass(frozen=True)
class Burstiness:
    """Squared coefficient of variation of the times between events, and their mean rate per second."""

    scv: float | None
    rate: float | None
    events: int
    first: float
    last: float


def burstiness(events, time="time"):
    """How unevenly events arrive: the squared coefficient of variation of the times between them.

    .. math:: c^2 = \\operatorname{Var}(A) / \\operatorname{E}(A)^2

    Parameters
    ----------
    events : ibis.Table
        Of any backend; requests, or sessions with ``time="start"``.
    time : str
        The column of times, in seconds.

    Returns
    -------
    Burstiness
        1 for a Poisson stream, 0 for a clock. None where fewer than three events, or all at one time, say nothing.

    Notes
    -----
    The variance is that of the sample itself (divided by its number). A trace of several days holds day and
    night in it: the figure is of arrivals as they came, not of an hour's.
    """
    wanted(events, time)
    in_seconds(events, time)
    times = events.filter(events[time].notnull()).select(time=events[time].cast("float64"))
    row = _one(times.agg(number=times.count(), first=times.time.min(), last=times.time.max()))
    number, first, last = row["number"], row["first"], row["last"]
    if number < 3 or last <= first:
        return Burstiness(None, None, number, first, last) if number else None
    since = times.select(time=times.time - first)
    spans = since.mutate(span=(since.time * (SPANS / (last - first))).floor().cast("int64"))
    gap = spans.time - spans.time.lag().over(ibis.window(group_by=spans.span, order_by=spans.time))
    within = spans.mutate(square=gap * gap)
    parts = within.group_by("span").agg(first=within.time.min(), last=within.time.max(), squares=within.square.sum())
    arrow = parts.order_by("span").to_pyarrow()
    starts, ends, squares = (arrow[name].to_numpy(zero_copy_only=False) for name in ("first", "last", "squares"))
    total = np.nansum(squares.astype(float)) + ((starts[1:] - ends[:-1]) ** 2).sum()
    gaps, life = number - 1, last - first
    return Burstiness(float(total * gaps / life**2 - 1), gaps / life, number, first, last)


@dataclass(frozen=True)
class Hits:
    """Share of the prompt that a cache which forgets nothing would hold: of all tokens, and averaged over requests."""

    by_tokens: float
    by_requests: float
    requests: int
    block: int | None


def prefix_hits(requests, block=None):
    """The share of prompts that is found in a prefix cache.

    From ``cached_tokens``, what a real cache of limited size served; otherwise
    from ``blocks``, what one that forgets nothing would serve.

    Parameters
    ----------
    requests : ibis.Table
        Of any backend, with ``input_tokens`` and ``cached_tokens`` or ``blocks``, an array of hashes of which each
        stands for its block and all before it. Arrivals are ordered by ``request``, a number, where there is one,
        otherwise by ``time``; requests of the same time then do not find each other's blocks.
    block : int, optional
        Tokens of a block; by default the power of two that agrees with the prompts.

    Returns
    -------
    Hits
        The two shares differ, since long prompts weigh more in the first. None where no prompt tells.
    """
    wanted(requests, "input_tokens")
    prompts = requests.filter(requests.input_tokens > 0)
    if "cached_tokens" in requests.columns:
        return _hits_as_served(prompts)
    wanted(requests, "blocks")
    prompts = prompts.filter(prompts.blocks.notnull() & (prompts.blocks.length() > 0))
    block = block or block_size(prompts)
    if block is None:
        return None
    order = "request" if "request" in prompts.columns else "time"
    wanted(prompts, order)
    totals = _one(prompts.agg(tokens=prompts.input_tokens.sum(), number=prompts.count()))
    entries = prompts.select(at=prompts[order], total=prompts.input_tokens, blocks=prompts.blocks)
    entries = entries.unnest("blocks", offset="place")
    firsts = entries.group_by("blocks").agg(first=entries["at"].min())
    found = entries.join(firsts, "blocks").filter(lambda t: t["at"] > t.first)
    held = ibis.greatest(ibis.least(ibis.literal(block), found.total - found.place * block), ibis.literal(0))
    row = _one(found.agg(tokens=held.sum(), shares=(held / found.total).sum()))
    return Hits(
        (row["tokens"] or 0) / totals["tokens"], (row["shares"] or 0.0) / totals["number"], totals["number"], block
    )


def _hits_as_served(prompts):
    told = prompts.filter(prompts.cached_tokens.notnull())
    share = told.cached_tokens / told.input_tokens
    sums = {"cached": told.cached_tokens.sum(), "tokens": told.input_tokens.sum(), "share": share.mean()}
    row = _one(told.agg(number=told.count(), **sums))
    if not row["number"]:
        return None
    return Hits(row["cached"] / row["tokens"], float(row["share"]), row["number"], None)


def repeated(table, *columns):
    """How many rows repeat an earlier one.

    Parameters
    ----------
    table : ibis.Table
        Of any backend.
    *columns : str
        In which they agree; by default time, tokens and session, where there. Rows that lack one agree with none.

    Returns
    -------
    int
    """
    columns = columns or [n for n in ("session", "time", "input_tokens", "output_tokens") if n in table.columns]
    known = table.filter([table[name].notnull() for name in columns])
    counted = known.group_by(list(columns)).agg(number=known.count())
    return int(_one(counted.agg(again=(counted.number - 1).sum()))["again"] or 0)


@dataclass(frozen=True)
class Copies:
    """Groups of sessions that agree in several sums, and how many sessions are in them."""

    groups: int
    rows: int


def copies(sessions, least=3):
    """Sessions that agree in requests, length, and the sums of input and output tokens: hardly by chance.

    Parameters
    ----------
    sessions : ibis.Table
        Of any backend.
    least : int
        Requests below which sessions may well agree by chance, and are not looked at.

    Returns
    -------
    Copies or None
        None where a sum is not known.
    """
    sums = ["requests", "input_tokens", "output_tokens", "length"]
    if not set(sums) <= set(sessions.columns):
        return None
    long = sessions.filter(sessions.requests >= least)
    counted = long.group_by(sums).agg(number=lambda t: t.count()).filter(lambda t: t.number > 1)
    row = _one(counted.agg(groups=counted.count(), rows=counted.number.sum()))
    return Copies(row["groups"], int(row["rows"] or 0))


def _one(table):
    """The only row of a table, as a mapping."""
    return table.to_pyarrow().to_pylist()[0]
