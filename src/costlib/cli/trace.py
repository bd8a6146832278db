"""``costlib trace``: what a trace says of sessions: their lengths, growth, waits, arrivals and shared prefixes."""

import sys
import threading
import time
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from costlib.cli.options import LONGEST, AsJson, Explain, sized

__all__ = ["Column", "SessionRule", "read_trace", "trace"]

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)

CANONICAL = (  # of costlib.traces.columns, which takes too long to load for a shell that waits
    *("input_tokens", "output_tokens", "cached_tokens", "written_tokens", "session", "time", "end", "duration"),
    *("blocks", "operation", "length", "requests", "start", "lifetime", "model_time", "wait", "bytes"),
)

Column = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=COLUMN",
        autocompletion=lambda incomplete: [f"{name}=" for name in CANONICAL if name.startswith(incomplete)],
        help="Which column of a trace is what, as in input_tokens=ContextTokens or time=at:ms (s, ms, us, ns). "
        "Can be repeated; without, columns are guessed, and shown.",
    ),
]
SessionRule = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda incomplete: [rule for rule in ("blocks", "none") if rule.startswith(incomplete)],
        help="What makes a session: a column; COLUMN,gap=SECONDS for a user of whom nothing is heard that long, "
        "as in user,gap=1800 or 'user,gap=30 min'; blocks, for shared prefixes; none.",
    ),
]


def trace(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, JSON lines, a JSON array, Parquet, or spans of OpenTelemetry; a folder or pattern of files; "
            "or - for standard input.",
        ),
    ],
    column: Column = (),
    session: SessionRule = None,
    cap: Annotated[
        Any, sized("token", 1, LONGEST, "context cap of a session, to hold the lengths against", "TOKENS")
    ] = None,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="What DuckDB may use before it spills to the disk, as in 4GB.")
    ] = "1GB",
    explain: Explain = False,
    as_json: AsJson = False,
):  # fmt: skip
    """Say how long sessions are and how sure that is, how they grow, wait, arrive, and share their prefixes."""
    from costlib.cli.printed import plain, print_json, print_text

    answer = _answer(*read_trace(file, column, session, memory), cap)
    print_json(plain(answer)) if as_json else print_text(_blocks(answer, explain))


def read_trace(file, column=(), session=None, memory="1GB"):
    """A trace, and its figures."""
    columns, traces = _columns(column), _traces()
    with _watched() as watched:
        found = traces.read(file, columns, session, memory)
        if watched:
            watched.follow(found.sessions.get_backend())
        return found, traces.summary(found)  # and with it all that is asked of DuckDB


def _traces():
    """The library that queries traces, where it is installed."""
    from costlib.schema import InputError

    try:
        from costlib import traces
    except ModuleNotFoundError as error:
        raise InputError(
            f"traces need {error.name}; install the extra trace: pip install '.[trace]' in costlib's folder"
        ) from None
    return traces


def _columns(given):
    """The columns given, by canonical name."""
    columns = {}
    for text in given:
        name, equals, column = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(
                f"{text!r}; wanted NAME=COLUMN, as in input_tokens=ContextTokens", param_hint="--column"
            )
        columns[name.strip()] = column.strip()
    return columns


class _Watched:
    """What a person who waits sees: for how long it has gone on, and how far the present pass over the trace is."""

    def __init__(self):
        self.began, self.connection, self.done = time.monotonic(), None, None

    def __rich__(self):
        passed = "" if self.done is None else f", {self.done:.0f} % of this pass"
        return f"Reading the trace: {time.monotonic() - self.began:,.0f} s{passed}"

    def follow(self, connection):
        from costlib.traces.engine import counting

        self.connection = counting(connection)

    def ask(self, over):
        """Ask DuckDB how far it is, until the work is over."""
        from costlib.traces.engine import progress

        while not over.wait(0.2):
            self.done = self.connection and progress(self.connection)


@contextmanager
def _watched():
    """A line that says that work goes on, where a person watches."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    watched, over = _Watched(), threading.Event()
    asking = threading.Thread(target=watched.ask, args=[over])
    with Console(stderr=True).status(watched):
        asking.start()
        try:
            yield watched
        finally:
            over.set()
            asking.join()


def _answer(found, summary, cap):
    """The whole answer, in quantities and plain numbers."""
    lengths = summary.lengths
    return {
        "file": found.where,
        "format": found.format,
        "columns": dict(summary.columns),
        "rows": summary.rows,
        "rejected": dict(summary.rejected),
        "examples": dict(found.checks.examples),
        "requests": summary.requests,
        "sessions": summary.sessions,
        "sessions_are_requests": found.alone,
        "session_rule": summary.rule,
        "length_tokens": {
            "mean": lengths.mean,
            "longest": lengths.maximum,
            "quantiles": [_quantile(lengths, p) for p in QUANTILES],
        },
        "cap": None if cap is None else _against(lengths, cap),
        "cut_off": {
            "looks_cut_off": summary.cut_off.looks,
            "may_be_cut_off": summary.cut_off.may,
            "near": summary.cut_off.near,
            "chance": summary.cut_off.chance,
            "why": summary.cut_off.why,
        },
        "per_session": {
            "requests": summary.requests_per_session,
            "input_tokens": summary.input_per_session,
            "output_tokens": summary.output_per_session,
            "lifetime_s": summary.lifetime,
            "model_time_s": summary.model_time,
            "wait_s": summary.wait,
            "tool_time_s": summary.tool_time,
        },
        "growth": _growth(summary.growth),
        "wait_share": summary.wait_share,
        "arrivals": {
            "request_scv": summary.arrival_scv,
            "session_scv": summary.session_scv,
            "sessions_per_s": summary.session_rate,
        },
        "prefix_hits": {"by_tokens": summary.hits_by_tokens, "by_requests": summary.hits_by_requests},
        "notes": list(summary.notes),
    }


def _quantile(lengths, p):
    low, high = lengths.interval(p)
    return {"p": p, "tokens": lengths.quantile(p), "low": low, "high": high, "sessions_wanted": lengths.wanted(p)}


def _against(lengths, cap):
    """The cap, and what the 99th percentile says of it."""
    from costlib.units import Quantity
    from costlib.worksheet.lengths import IDLE, NEAR, verdict

    tokens = cap.m_as("token")
    p99 = lengths.quantile(0.99)
    return {
        "tokens": tokens,
        "p99_share": p99 / tokens,
        "longer": lengths.share_above(tokens),
        "verdict": verdict(Quantity(p99, "token"), cap),
        "works_from": NEAR,
        "idle_to": IDLE,
    }


def _growth(growth):
    if growth is None:
        return None
    steps = [
        {"step": step, "sessions": at.count, "median": at.quantile(0.5), "p90": at.quantile(0.9)}
        for step, at in growth.steps.items()
    ]
    return {"steps": steps, "added_tokens": growth.added, "shrinking_steps": growth.shrinking}


def _blocks(answer, explain):
    """The answer for people, in blocks."""
    from costlib.cli.printed import listed, table, wrapped
    from costlib.units import counted

    yield _headline(answer)
    yield table(_columns_read(answer), ["read as", "column"])
    yield from listed("Not read", [_rejected(answer, reason, explain) for reason in answer["rejected"]])
    if not answer["sessions_are_requests"]:
        yield f"{counted(answer['sessions'], 'session')}; what makes one: {answer['session_rule']}"
    yield _lengths(answer)
    if answer["cap"]:
        yield wrapped(_verdict(answer["cap"]))
    yield wrapped(_cut_off(answer["cut_off"]))
    yield table(_figures(answer))
    if answer["growth"] and answer["growth"]["steps"]:
        yield _steps(answer["growth"])
    yield from listed("Note", answer["notes"])
    if explain:
        yield _explained()


def _headline(answer):
    from costlib.units import counted

    read = answer["rows"] - sum(answer["rejected"].values())
    head = f"{answer['file']} ({answer['format']}): {counted(answer['rows'], 'row')}, of which {read:,} are read"
    return f"{head}: {answer['session_rule']}" if answer["sessions_are_requests"] else head


def _columns_read(answer):
    """What each column is read as; one of the output that is missing, too, as it makes lengths too short."""
    columns = dict(answer["columns"])
    if "input_tokens" in columns and "length" not in columns and "output_tokens" not in columns:
        columns["output_tokens"] = "none: lengths are those of the input alone; name it with --column output_tokens=..."
    return list(columns.items())


def _rejected(answer, reason, explain):
    from costlib.units import counted

    example = answer["examples"].get(reason)
    shown = f", as in {example!r}" if example and explain else ""
    return f"{counted(answer['rejected'][reason], 'row')}: {reason}{shown}"


def _lengths(answer):
    """Quantiles of session length, each with the interval that the sample allows."""
    from costlib.cli.printed import table

    lengths, one = answer["length_tokens"], "request" if answer["sessions_are_requests"] else "session"
    rows = [
        (_percent(row["p"]), _tokens(row["tokens"]), _tokens(row["low"]), _tokens(row["high"]) or _too_few(row, one))
        for row in lengths["quantiles"]
    ]
    rows += [("mean", _tokens(lengths["mean"]), "", ""), ("longest", _tokens(lengths["longest"]), "", "")]
    what = "session length" if one == "session" else "length of a request"
    return table(rows, [what, "tokens", "95 % sure: from", "to"], right={1, 2, 3})


def _tokens(value):
    return "" if value is None else f"{value:,.0f}"


def _too_few(row, one):
    from costlib.units import counted

    return f"needs {counted(row['sessions_wanted'], one)}"


def _verdict(cap):
    from costlib.worksheet.lengths import SAYS

    said = SAYS[cap["verdict"]].format(above=_percent(cap["longer"], 2), share=_percent(cap["p99_share"]))
    limits = (
        f" A cap works when the 99th percentile is {_percent(cap['works_from'])} of it or more; "
        f"at {_percent(cap['idle_to'])} or less it is idle."
    )
    return f"Cap of {cap['tokens']:,.0f} tokens. {said}{limits if cap['verdict'] == 'between' else ''}"


def _percent(share, digits=3):
    from costlib.units import show

    return f"{show(100 * share, digits=digits)} %"


def _cut_off(cut_off):
    if cut_off["looks_cut_off"] is None:
        return f"Whether long sessions are cut off cannot be told: {cut_off['why']}."
    near = "" if cut_off["near"] is None else f" near {_tokens(cut_off['near'])} tokens"
    looks = f"look cut off{near}" if cut_off["looks_cut_off"] else "do not look cut off"
    if cut_off["may_be_cut_off"]:
        looks = f"may be cut off{near}"
    return f"Long sessions {looks}: {cut_off['why']}."


def _figures(answer):
    """What else is known, a line each."""
    from costlib.units import show

    mean, arrivals, hits = answer["per_session"], answer["arrivals"], answer["prefix_hits"]
    plainly = {
        "requests": "requests a session",
        "input_tokens": "input tokens a session",
        "output_tokens": "output tokens a session",
    }
    times = {
        "lifetime_s": "life of a session",
        "model_time_s": "of it within model calls",
        "wait_s": "outside of them",
        "tool_time_s": "within tool calls",
    }
    yield from ((said, show(mean[name], digits=4)) for name, said in plainly.items() if mean[name] is not None)
    yield from ((said, show(mean[name])) for name, said in times.items() if mean[name] is not None)
    if answer["wait_share"] is not None:
        yield "share of life that waits", _percent(answer["wait_share"])
    if arrivals["request_scv"] is not None:
        yield "burstiness of requests (c², 1 for Poisson)", show(arrivals["request_scv"])
    if arrivals["session_scv"] is not None:
        yield "burstiness of session starts (c²)", show(arrivals["session_scv"])
    if arrivals["sessions_per_s"] is not None:
        yield "sessions that start", f"{show(arrivals['sessions_per_s'].m_as('1/hour'))} an hour"
    if hits["by_tokens"] is not None:
        yield "prefix hits, of all input tokens", _percent(hits["by_tokens"])
        yield "prefix hits, averaged over requests", _percent(hits["by_requests"])


def _steps(growth):
    from costlib.cli.printed import table

    rows = [(f"{r['step']:,}", f"{r['sessions']:,}", _tokens(r["median"]), _tokens(r["p90"])) for r in growth["steps"]]
    grown = table(rows, ["step", "sessions that reach it", "context, median", "90 %"], right=range(4))
    if growth["added_tokens"] is None:
        return grown
    shrinking = f"{_percent(growth['shrinking_steps'])} of steps shrink the context"
    return f"{grown}\nA step adds {growth['added_tokens']:,.0f} tokens on average; {shrinking}."


def _explained():
    """How each figure comes about: the first lines of what computes it."""
    import inspect

    from costlib import traces
    from costlib.cli.printed import table
    from costlib.traces.statistics import copies, repeated

    parts = {
        "length": "the most that input plus output reached in one request of a session",
        "quantile": inspect.getdoc(traces.Distribution.quantile),
        "interval": inspect.getdoc(traces.Distribution.interval),
        "cut off": inspect.getdoc(traces.Distribution.cut_off),
        "growth": inspect.getdoc(traces.context_growth),
        "waits": inspect.getdoc(traces.waits),
        "burstiness": inspect.getdoc(traces.burstiness),
        "prefix hits": inspect.getdoc(traces.prefix_hits),
        "repeated": inspect.getdoc(repeated),
        "near-copies": inspect.getdoc(copies),
    }
    return table([(name, text.partition("\n")[0]) for name, text in parts.items()], ["figure", "how it comes about"])
