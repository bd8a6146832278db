"""What became of every row of a file: read, or not read and why; and what is doubtful of those that are read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from costlib.traces.csv_files import lines_of_text
from costlib.traces.requests import ONLY_BESIDE

__all__ = ["Checks", "checked"]


@dataclass(frozen=True)
class Checks:
    """Rows of a file, how many of them were not read and why, an example of each, and what is doubtful of the rest."""

    rows: int
    rejected: Mapping[str, int]
    examples: Mapping[str, str]
    doubts: Mapping[str, int]

    @property
    def read(self):
        """Rows that were read."""
        return self.rows - sum(self.rejected.values())


def checked(connection, reading):
    """Count every row of a source under what became of it.

    Parameters
    ----------
    connection : ibis backend
        The DuckDB that has the views.
    reading : Reading
        How rows become requests or sessions, and of which source.

    Returns
    -------
    Checks
    """
    counts, examples, doubts, unreadable = _of_rows(connection, reading)
    rows = sum(counts.values()) + sum(unreadable.values())
    rejected = unreadable | {reason: count for reason, count in counts.items() if reason is not None}
    for doubt, other in ONLY_BESIDE.items():
        if not doubts.pop(other, 0):
            doubts.pop(doubt, None)
    if reading.source.format == "CSV" and (lines := lines_of_text(reading.source)) is not None:
        doubts["further lines lie within quotations of several lines, or could not be told apart"] = max(
            0, lines - len(reading.source.files) - rows
        )
    if "time" in reading.values:
        doubts |= _of_clock(connection, reading)
    doubts = {doubt: count for doubt, count in doubts.items() if count}
    return Checks(rows, rejected, examples, doubts)


def _of_rows(connection, reading):
    """Rows by reason, an example of each, doubts of those that are read, and lines that are no rows."""
    source = reading.source
    raw = ", ".join(f"{source.columns[name].sql}::VARCHAR" for name in reading.columns)
    doubts = "".join(f", count(*) FILTER ({sql})" for sql in reading.doubts.values())
    more = {"store_rejects": "true"} if source.format == "CSV" else {}
    rows = connection.raw_sql(
        f"SELECT reason, count(*), any_value(CASE WHEN reason IS NOT NULL THEN left(concat_ws(', ', {raw}), 60) END)"
        f"{doubts} FROM (SELECT *, {reading.reason} AS reason FROM {source.relation(reading.columns, **more)}) "
        "GROUP BY reason"
    ).fetchall()
    counts = {reason: count for reason, count, *_ in rows}
    examples = {reason: example for reason, _, example, *_ in rows if reason is not None}
    of_read = next((row[3:] for row in rows if row[0] is None), [0] * len(reading.doubts))
    passed_over = {"CSV": _lines_of_csv, "JSON lines": _lines_of_json}.get(source.format)
    unreadable, lines = passed_over(connection, reading, counts) if passed_over else ({}, {})
    return counts, examples | lines, dict(zip(reading.doubts, of_read, strict=True)), unreadable


LINES = {
    "MISSING COLUMNS": "line with too few columns",
    "TOO MANY COLUMNS": "line with too many columns",
    "UNQUOTED VALUE": "line with a quotation that does not end",
    "LINE SIZE OVER MAXIMUM": "line too long",
    "INVALID ENCODING": "line not in UTF-8",
}


def _lines_of_csv(connection, reading, counts):
    """Lines that DuckDB passed over in the scan just done; a quotation without an end takes those after it along."""
    lines = "1 + length(rtrim(csv_line, chr(10))) - length(replace(rtrim(csv_line, chr(10)), chr(10), ''))"
    turns = (
        "SELECT file_id, line AS place, error_type, column_name, csv_line, "
        "column_idx + 1e9 * (error_type = 'CAST')::INT AS turn FROM reject_errors"
    )
    once = (
        "SELECT arg_min(error_type, turn)::VARCHAR AS kind, arg_min(column_name, turn) AS name, "
        f"max({lines}) AS lines, any_value(csv_line) AS line FROM ({turns}) GROUP BY file_id, place"
    )
    kinds = f"SELECT kind, CASE kind WHEN 'CAST' THEN name END AS name, lines, line FROM ({once})"
    found = connection.raw_sql(
        f"SELECT kind, name, sum(lines)::BIGINT, left(any_value(line), 60) FROM ({kinds}) GROUP BY kind, name"
    ).fetchall()
    connection.raw_sql("DROP TABLE reject_errors; DROP TABLE reject_scans")
    canonical = {column: name for name, column in reading.shown.items()}
    reasons = [f"{canonical[name]} not a number" if name else LINES.get(kind, kind.lower()) for kind, name, *_ in found]
    unread = {reason: row[2] for reason, row in zip(reasons, found, strict=True)}
    for reason in unread.keys() & counts.keys():  # NaN is a number to the reader, but none to us
        unread[reason] += counts.pop(reason)
    return unread, {reason: row[3] for reason, row in zip(reasons, found, strict=True)}


def _lines_of_json(connection, reading, counts):
    """Lines that are no JSON object: DuckDB reads them as one that has nothing, so its first column was missed."""
    source = reading.source
    missing = [reason for reason in ("input_tokens missing", "length missing") if reason in counts]
    within = source.wrapped != "{}"  # then such a line has no row at all
    if not missing and not within:
        return {}, {}
    options = {name: value for name, value in source.options.items() if name != "records"}
    lines = replace(source, reader="read_json_objects", format="", options=options, wrapped="{}").relation()
    bad = "json IS NULL OR json_type(json) <> 'OBJECT'"
    found = connection.raw_sql(f"SELECT count(*) FROM {lines} WHERE {bad}").fetchall()[0][0]
    if not within:
        counts[missing[0]] -= found
        if not counts[missing[0]]:
            del counts[missing[0]]
    return ({"line that is no JSON object": found} if found else {}), {}


def _of_clock(connection, reading):
    """How often the clock goes back from one row to the next or, where sessions have a name, within one."""
    back = "count(*) FILTER (time < before)"
    found = connection.raw_sql(f"SELECT {back} FROM (SELECT time, lag(time) OVER () AS before FROM requests)")
    number = found.fetchall()[0][0]
    if not number or "session" not in reading.values:
        return {"the clock goes back from one row to the next: put in order of time": number}
    numbered = "SELECT session, time, row_number() OVER () AS number FROM requests"
    ordered = "lag(time) OVER (PARTITION BY session ORDER BY number) AS before"
    found = connection.raw_sql(f"SELECT {back} FROM (SELECT time, {ordered} FROM ({numbered}))")
    return {"the clock goes back within a session: put in order of time": found.fetchall()[0][0]}
