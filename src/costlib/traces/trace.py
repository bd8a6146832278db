"""A trace: files read into requests and sessions that a DuckDB on this machine queries where they lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from costlib.schema import InputError
from costlib.traces.columns import ALIASES, SESSION_ALIASES, chosen
from costlib.traces.requests import requests_of, sessions_of
from costlib.traces.sessions import by_gap, sessions
from costlib.traces.sources import connect, opened, quoted, readable

__all__ = ["Trace", "read"]


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests and sessions of a file, as tables that are computed when they are asked for.

    ``requests`` is None for a file with one row a session. ``columns`` says which
    column stands for what, ``rule`` by which rule requests are put into sessions.
    """

    where: str
    format: str
    requests: object
    sessions: object
    columns: Mapping[str, str]
    rule: str
    notes: tuple[str, ...]
    _check: object

    @cached_property
    def checks(self):
        """How many rows were read, why others were not, and what is doubtful; one pass over the file."""
        return self._check()

    @property
    def rejected(self):
        """Reason to number of rows that are not read, for that reason."""
        return self.checks.rejected


@dataclass(frozen=True)
class Checks:
    """Every row of a file: read, or rejected for a reason; and what is doubtful of those that are read."""

    rows: int
    rejected: Mapping[str, int]
    examples: Mapping[str, str]
    doubts: Mapping[str, int]


def read(path, columns=None, session=None, memory="1GB", threads=None):
    """A trace from CSV, JSON lines, a JSON array, Parquet, or OpenTelemetry's spans.

    Parameters
    ----------
    path : path-like or str
        A file, a folder or pattern of files of one format, or ``-`` for standard input; the format is told by content.
    columns : mapping of str to str, optional
        Canonical name to the file's column where the guess is wrong, as in ``{"input_tokens": "ContextTokens"}``;
        ``COLUMN:ms`` names the unit of a time.
    session : str, optional
        What makes a session: a column, ``"COLUMN,gap=SECONDS"`` for silence of its user, ``"blocks"`` for shared
        prefixes, ``"none"``. By default a column that looks like one, else shared prefixes, else none.
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
    >>> file = pathlib.Path(tempfile.mkdtemp(), "trace.csv")
    >>> _ = file.write_text("session_id,prompt_tokens,completion_tokens\\na,100,20\\na,150,30\\nb,90,10\\n")
    >>> trace = read(file)
    >>> trace.sessions.order_by("session").length.to_list()
    [180, 100]
    """
    connection = connect(memory, threads)
    source = opened(connection, path)
    given = dict(columns or {})
    with readable(source.where):
        if _is_of_sessions(source, given):
            return _of_sessions(connection, source, given)
        return _of_requests(connection, source, given, session)


def _is_of_sessions(source, given):
    """Whether a file has one row a session: its columns are lengths and numbers of requests."""
    if "length" in given:
        return True
    if "input_tokens" in given:
        return False
    found = chosen(source.columns, {}, {name: SESSION_ALIASES[name] for name in ("requests",)}, source.where)
    lengths = chosen(source.columns, {"length": ""}, SESSION_ALIASES | {"length": ""}, source.where)
    return "requests" in found and "length" in lengths


def _of_requests(connection, source, given, session):
    choices = chosen(source.columns, given, ALIASES, source.where)
    reading = requests_of(connection, source, choices, "session" if "session" in choices else None)
    _view(connection, "requests", source, reading)
    table = connection.table("requests")
    return Trace(source.where, source.format, table, sessions(table), reading.shown, "", reading.notes, None)


def _of_sessions(connection, source, given):
    choices = chosen(source.columns, given, SESSION_ALIASES, source.where)
    reading = sessions_of(source, choices)
    _view(connection, "sessions", source, reading)
    return Trace(
        source.where, source.format, None, connection.table("sessions"), reading.shown, "", reading.notes, None
    )


def _view(connection, name, source, reading):
    """A view of the rows that are read."""
    columns = ", ".join(f"{sql} AS {quoted(column)}" for column, sql in reading.values.items())
    connection.raw_sql(
        f"CREATE VIEW {name} AS SELECT {columns} FROM {source.relation(reading.columns)} WHERE {reading.valid}"
    )
