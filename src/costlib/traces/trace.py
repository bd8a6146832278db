"""A trace: files read into requests and sessions that a DuckDB on this machine queries where they lie."""

import functools
import math
import operator
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import ibis
from pint import DimensionalityError

from costlib.schema import InputError, nearest
from costlib.traces.checks import Checks, checked
from costlib.traces.columns import ALIASES, SESSION_ALIASES, chosen, ends, plain, with_numbers
from costlib.traces.engine import connect, quoted, readable
from costlib.traces.grouping import by_gap, in_seconds, sessions, wanted
from costlib.traces.prefixes import block_size, by_prefix
from costlib.traces.requests import COUNTS, is_number, requests_of, sessions_of
from costlib.traces.sources import opened
from costlib.traces.spans import is_of_spans, spans_of
from costlib.units import Quantity, UnitError, quantity, show

__all__ = ["ALONE", "Trace", "of_table", "read"]

BY_PREFIX = (
    "a request goes on where another one ended, by {column} in blocks of {size} tokens; one that ends in the block "
    "after a shared prompt, and what follows a compaction, begin a session of their own"
)


ALONE = "each counted as a session of its own"
USERS = "user user_id userid customer customer_id client client_id account account_id end_user end_user_id username"
SILENCE = 1800  # seconds, proposed where a user's requests may make sessions


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests and sessions of a file, as tables that are computed when they are asked for.

    ``requests`` is None for a file with one row a session; ``tools`` are the spans
    of calls of tools, where a file has such. ``columns`` says which
    column stands for what, ``rule`` how requests were put into sessions.
    """

    where: str
    format: str
    requests: ibis.Table | None
    sessions: ibis.Table
    tools: ibis.Table | None
    columns: Mapping[str, str]
    rule: str
    notes: tuple[str, ...]
    _check: Callable[[], Checks] = field(repr=False)

    @property
    def alone(self):
        """Whether nothing joins requests, so that each is counted as a session of its own."""
        return self.requests is not None and "session" not in self.requests.columns

    @cached_property
    def checks(self):
        """How many rows were read, why others were not, and what is doubtful: one pass over the file."""
        with readable(self.where):
            return self._check()

    @property
    def rejected(self):
        """Reason to the number of rows that are not read for it; computed when it is first asked for."""
        return self.checks.rejected


def read(path, columns=None, session=None, memory="1GB", threads=None):
    """A trace from CSV, JSON lines, a JSON array, Parquet, or OpenTelemetry's spans.

    Parameters
    ----------
    path : path-like or str
        A file, a folder or pattern of files of one format, or ``-`` for standard input; the format is told by content.
    columns : mapping of str to str, optional
        Canonical name to the file's column where the guess is wrong, as in ``{"input_tokens": "ContextTokens"}``;
        ``COLUMN:ms`` names the unit of a time, ``none`` leaves it out.
    session : str, optional
        What makes a session: a column; ``"COLUMN,gap=SECONDS"`` for a user of whom nothing is heard that long
        (or a time with its unit, ``"gap=30 min"``); ``"blocks"`` for shared prefixes; ``"none"``.
        By default a column that looks like one, else shared
        prefixes where there are any, else none.
    memory : str
        What DuckDB may use; what is more is spilled to a folder that is removed with the trace.
    threads : int, optional
        As many as the machine has by default.

    Returns
    -------
    Trace

    Raises
    ------
    InputError
        If the file cannot be read, a given column does not exist, or no column holds the tokens.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "trace.csv")
    >>> _ = file.write_text("session_id,prompt_tokens,completion_tokens\\na,100,20\\na,150,30\\nb,90,10\\n")
    >>> trace = read(file)
    >>> trace.sessions.order_by("session").length.to_list()
    [180, 100]
    >>> folder.cleanup()
    """
    connection = connect(memory, threads)
    source = opened(connection, path)
    given = dict(columns or {})
    with readable(source.where):
        if is_of_spans(source):
            source = spans_of(connection, source)
        if _is_of_sessions(source, given):
            return _of_sessions(connection, source, given, session)
        return _of_requests(connection, source, given, session)


def _is_of_sessions(source, given):
    """Whether a file has one row a session: a number of requests and a length."""
    if "length" in given or "requests" in given:
        return True
    if "input_tokens" in given:
        return False
    telling = {name: SESSION_ALIASES[name] for name in ("requests", "length")}
    try:
        return len(chosen(source.columns, {}, telling, source.where)) == 2
    except InputError:  # several columns could be the length; which one is asked later
        return True


def _of_sessions(connection, source, given, session):
    if session not in (None, "none"):
        raise InputError(
            f"{source.where}: has one row a session; session = {session!r} is for files with one a request"
        )
    choices = chosen(source.columns, given, SESSION_ALIASES, source.where)
    reading = sessions_of(source, choices)
    _view(connection, "sessions", reading)
    table = connection.table("sessions")
    rule = "one row a session"
    return Trace(
        source.where,
        source.kind,
        None,
        table,
        None,
        reading.shown,
        rule,
        reading.notes,
        lambda: checked(connection, reading),
    )


def _of_requests(connection, source, given, session):
    rule, column, gap = _rule(source, given, session)
    if rule == "column" and session is not None:
        given = given | {"session": column}
    elif rule in ("gap", "none", "blocks"):
        given = given | {"session": "none"}
    aliases = with_numbers(
        source.columns, given, ALIASES, source.where, lambda column: is_number(connection, source, column)
    )
    choices = chosen(source.columns, given, aliases, source.where)
    reading = requests_of(connection, source, choices, column if rule == "gap" else None)
    _view(connection, "requests", reading)
    table, said = _with_sessions(connection, source, choices, rule, column, gap)
    notes = reading.notes
    if session is None and "session" not in table.columns:
        notes = (*notes, *_telling(source, "time" in choices))
    return Trace(
        source.where,
        source.kind,
        table,
        sessions(table),
        _tools(connection, reading),
        reading.shown,
        said,
        notes,
        lambda: checked(connection, reading),
    )


def _rule(source, given, session):
    """The kind of rule that makes sessions, its column, and its gap in seconds."""
    if session is None:
        return ("column" if given.get("session") else None), None, None
    if session in ("none", "blocks"):
        return session, None, None
    found = None if session in source.columns else re.fullmatch(r"(.+?)\s*,\s*gap\s*=(.*)", session)
    column = found[1] if found else session
    if column not in source.columns:
        wanted = "a column, COLUMN,gap=SECONDS, blocks or none"
        raise InputError(
            f"{source.where}: session = {session!r} is no column; wanted {wanted}; {nearest(column, source.columns)}"
        )
    return ("gap", column, _gap(source, found[2].strip())) if found else ("column", column, None)


def _gap(source, given):
    """Seconds of silence, from a plain number of them or a time with its unit."""
    try:
        gap = float(given) if re.fullmatch(r"[\d.]+", given) else quantity(given).m_as("second")
    except (UnitError, DimensionalityError, ValueError):
        gap = math.nan
    if not 0 < gap < math.inf:
        raise InputError(
            f"{source.where}: gap = {given!r}; wanted seconds, as in gap=3600, or a time, as in gap='30 min'"
        )
    return gap


def _with_sessions(connection, source, choices, rule, column, gap):
    """The requests with their sessions, and what was done in words."""
    table = connection.table("requests")
    if rule == "gap":
        if "time" not in choices:
            raise InputError(
                f"{source.where}: session = '{column},gap={gap:.15g}' needs a time; "
                "name its column with --column time=..."
            )
        silence = show(Quantity(gap, "s"), digits=15)
        return by_gap(table, "user", gap), f"requests of one {column}, until nothing is heard of it for {silence}"
    if "session" in choices:
        return table, f"column {choices['session'].column}"
    if rule == "blocks" and "blocks" not in choices:
        raise InputError(
            f"{source.where}: session = 'blocks' needs hashes of prefixes; name their column with --column blocks=..."
        )
    if rule != "none" and "blocks" in choices:
        size = block_size(table)
        if size is not None:
            return by_prefix(table, size), BY_PREFIX.format(size=size, column=choices["blocks"].column)
    return table, f"none: requests, {ALONE}"


def _telling(source, timed):
    """Columns that may tell sessions, though none is named for them."""
    users = {plain(name) for name in USERS.split()}
    for column in source.columns:
        if users & ends(column).keys():
            rule = f"{column},gap={SILENCE}" if timed else column
            yield f"column {column} may tell sessions: --session {shlex.quote(rule)}"


def _tools(connection, reading):
    """The spans of calls of tools, of which the duration counts."""
    if reading.tools is None or "duration" not in reading.values:
        return None
    relation = reading.source.relation(reading.columns)
    connection.raw_sql(
        f"CREATE VIEW tools AS SELECT {reading.values['duration']} AS duration FROM {relation} WHERE {reading.tools}"
    )
    return connection.table("tools")


def _view(connection, name, reading):
    """A view of the rows that are read."""
    columns = ", ".join(f"{sql} AS {quoted(column)}" for column, sql in reading.values.items())
    relation = reading.source.relation(reading.columns)
    connection.raw_sql(f"CREATE VIEW {name} AS SELECT {columns} FROM {relation} WHERE {reading.valid}")


def of_table(table):
    """A table of requests, of any backend, as a trace.

    Parameters
    ----------
    table : ibis.Table
        With ``input_tokens`` and ``output_tokens`` and, where known, ``session``, ``time`` [s],
        ``duration`` [s], ``cached_tokens`` and ``blocks``.

    Returns
    -------
    Trace

    Raises
    ------
    ArgumentError
        If it has no such columns, or its times are no numbers.
    """
    wanted(table, *COUNTS)
    in_seconds(table, "time", "duration")
    valid = [table[name].notnull() & (table[name] >= 0) for name in COUNTS]
    requests = table.filter(valid)
    if "session" in table.columns:
        valid.append(table.session.notnull())
        requests = requests.filter(requests.session.notnull())

    def check():
        row = table.agg(rows=table.count(), read=functools.reduce(operator.and_, valid).sum()).to_pyarrow().to_pylist()
        rows, read = row[0]["rows"], int(row[0]["read"] or 0)
        reason = "tokens missing or negative, or session missing"
        return Checks(rows, {reason: rows - read} if rows > read else {}, {}, {})

    known = [name for name in ALIASES if name in table.columns]
    alone = "session" not in table.columns
    return Trace(
        "the table",
        "Ibis",
        requests,
        sessions(requests),
        None,
        {name: name for name in known},
        f"none: requests, {ALONE}" if alone else "column session",
        (),
        check,
    )
