"""From the columns of a file to checked requests: what each value is, and why a row is none."""

import re
from dataclasses import dataclass

from costlib.schema import InputError
from costlib.traces.csv_files import NO_TRACE, head_of, is_table
from costlib.traces.engine import shortened, text
from costlib.traces.source import SAMPLE, Source

__all__ = ["COUNTS", "ONLY_BESIDE", "Reading", "is_number", "requests_of", "seconds", "sessions_of"]

COUNTS = ("input_tokens", "output_tokens")  # without which a request is none
SUMS = ("length", "requests", "input_tokens", "output_tokens")  # without which a session is none
MOST_TOKENS = 10**9  # of one request; more is no count
MOST_SUM = 10**15  # of a session
WORDS = "date and time"
ZONE = r":[\d.]+ ?([zZ]|[+-]\d\d(:?\d\d)?|[A-Za-z_]+(/[A-Za-z_]+)*)$"
ZONED = "time with a zone"
ZONELESS = "time without a zone, where others have one: taken as UTC"
DATED = "time that is a date"
UNDATED = "time that is no date, where others are: may be in another unit"
DATES = "BETWEEN 1e8 AND 1e11"  # seconds since 1970: what is less counts from a start of its own
ONLY_BESIDE = {ZONELESS: ZONED, UNDATED: DATED}  # doubts, and those beside which alone they are doubtful
NAMELESS = ("null", "none", "nan", "n/a", "undefined", "")
SCALES = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}
TOOLS = ("execute_tool", "tool")
AGENTS = (
    *("invoke_agent", "create_agent", "invoke_workflow", *TOOLS, "embeddings", "retrieval"),  # of OpenTelemetry
    *("chain", "agent", "retriever", "reranker", "embedding", "prompt", "parser"),  # of LangSmith and OpenInference
)


@dataclass(frozen=True)
class Reading:
    """How rows of a source become requests or sessions, in DuckDB's SQL.

    ``values`` are the canonical columns; ``reason`` says why a row is not read, or is NULL
    exactly where ``valid`` is true; ``doubts`` count what is noticed of rows that are kept.
    """

    source: Source
    values: dict[str, str]
    valid: str
    reason: str
    doubts: dict[str, str]
    shown: dict[str, str]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    tools: str | None


def requests_of(connection, source, choices, user=None):
    """How the rows of a source become requests; ``user`` is a column to be kept for a rule of sessions."""
    if "input_tokens" not in choices and source.format == "CSV" and not is_table(head_of(source)):
        raise InputError(f"{source.where}: {NO_TRACE}; its lines have not the cells of one table")
    if "input_tokens" not in choices:
        raise InputError(
            f"{source.where}: no column of input tokens among {shortened(', '.join(source.columns))}; "
            "name it and that of the output, as in --column input_tokens=ContextTokens "
            "--column output_tokens=GeneratedTokens"
        )
    source = source.with_numbers([choices[name].column for name in COUNTS if name in choices])
    checks, values, doubts, notes = [], {}, {}, []
    prompt = _checked(source, choices, "input_tokens", checks, MOST_TOKENS)
    apart = [name for name in ("cached_tokens", "written_tokens") if name in choices and _is_apart(choices, name)]
    for name in apart:
        prompt += f" + coalesce(greatest(try_cast({_number(source, choices[name])} AS BIGINT), 0), 0)"
    if apart:
        notes.append("input tokens here are those beside the cache: those read from it and written to it are added")
    values["input_tokens"] = f"({prompt})"
    if "output_tokens" in choices:
        values["output_tokens"] = _checked(source, choices, "output_tokens", checks, MOST_TOKENS)
    else:
        values["output_tokens"] = "0::BIGINT"
        notes.append("no column of output tokens: lengths are those of the input alone")
    units = _times(connection, source, choices, values, doubts)
    if "cached_tokens" in choices:
        cached = _number(source, choices["cached_tokens"])
        usable = f"{cached} >= 0 AND {cached} <= {values['input_tokens']}"
        values["cached_tokens"] = f"CASE WHEN {usable} THEN try_cast({cached} AS BIGINT) END"
        told = f"{_raw(source, choices['cached_tokens'])} IS NOT NULL"
        doubts["cached tokens are negative, or more than the input: left out"] = f"{told} AND ({usable}) IS NOT TRUE"
    if "blocks" in choices:
        _need(source, choices["blocks"], "blocks", ("array",))
        values["blocks"] = _raw(source, choices["blocks"])
        values["request"] = "row_number() OVER ()"  # the order of arrival is that of the file
        doubts["no hashes of blocks: in no session, and not among prefix hits"] = (
            f"coalesce(len({values['blocks']}), 0) = 0"
        )
    if "session" in choices:
        values["session"] = _raw(source, choices["session"])
        checks.append((f"{values['session']} IS NOT NULL", "'session missing'"))
        doubts["session is called null or the like: all of a name are counted as one"] = (
            f"lower(trim({values['session']}::VARCHAR)) IN ({_listed(NAMELESS)})"
        )
    if user is not None:
        values["user"] = f"({source.columns[user].sql})"
        checks.append((f"{values['user']} IS NOT NULL", text(user + " missing")))
        if "time" in values:  # without which it is in no session
            checks.append((f"({values['time']}) IS NOT NULL", "'time missing or none'"))
    _only_calls(source, choices, checks)
    return _reading(source, choices, values, checks, doubts, notes, units, *([user] if user else []))


def sessions_of(source, choices):
    """How the rows of a source that has one row a session become sessions."""
    source = source.with_numbers([choices[name].column for name in SUMS if name in choices])
    checks, values, doubts, notes = [], {}, {}, []
    for name in SUMS:
        if name in choices:
            values[name] = _checked(source, choices, name, checks, MOST_SUM)
    if "session" in choices:
        values["session"] = _raw(source, choices["session"])
    for name in ("cached_tokens", "bytes"):
        if name in choices:
            value = _number(source, choices[name])
            values[name] = f"CASE WHEN {value} >= 0 THEN try_cast({value} AS BIGINT) END"
    for name in ("lifetime", "model_time", "wait"):
        if name in choices:
            value = f"{_number(source, choices[name])} / {SCALES[_unit_of_name(choices[name]) or 's']}"
            values[name] = f"CASE WHEN {value} >= 0 AND isfinite({value}) THEN {value} END"
            doubts[f"{name} is missing or negative: left out"] = f"{values[name]} IS NULL"
    return _reading(source, choices, values, checks, doubts, notes, {})


def _reading(source, choices, values, checks, doubts, notes, units, *more):
    valid = " AND ".join(f"({condition})" for condition, _ in checks)
    cases = " ".join(f"WHEN ({condition}) IS NOT TRUE THEN {reason}" for condition, reason in checks)
    reason = f"CASE {cases} END"
    shown = {name: choice.column + (f" [{units[name]}]" if name in units else "") for name, choice in choices.items()}
    for name, choice in choices.items():
        if choice.others:
            notes.append(f"{name} is taken from {choice.column}; {', '.join(choice.others)} could be meant, too")
    columns = tuple(dict.fromkeys([*(choice.column for choice in choices.values()), *more]))
    tools = f"lower({_raw(source, choices['operation'])}) IN ({_listed(TOOLS)})" if "operation" in choices else None
    return Reading(source, values, valid, reason, doubts, shown, tuple(notes), columns, tools)


def _listed(words):
    """Texts as SQL lists them."""
    return ", ".join(map(text, words))


def _raw(source, choice):
    return f"({source.columns[choice.column].sql})"


def _need(source, choice, name, kinds):
    kind = source.columns[choice.column].kind
    if kind not in kinds:
        raise InputError(
            f"{source.where}: column {choice.column!r} is of type {kind}; wanted {name}: {' or '.join(kinds)}"
        )


def _number(source, choice):
    """A column as numbers, NULL where it has none."""
    kind = source.columns[choice.column].kind
    _need(source, choice, "numbers", ("text", "integer", "number"))
    return _raw(source, choice) if kind == "integer" else f"try_cast({_raw(source, choice)} AS DOUBLE)"


def is_number(connection, source, column):
    """Whether a column holds numbers, or a text that mostly is one."""
    kind, raw = source.columns[column].kind, f"({source.columns[column].sql})"
    if kind != "text":
        return kind in ("integer", "number")
    sample = f"SELECT {raw} AS raw FROM {source.relation([column])} LIMIT {SAMPLE}"
    count = f"SELECT count(try_cast(raw AS DOUBLE)), count(raw) FROM ({sample})"
    numbers, told = connection.raw_sql(count).fetchall()[0]
    return numbers > told / 2


def _checked(source, choices, name, checks, most):
    """A column as a count of tokens; what makes it none goes to the checks."""
    value, raw = _number(source, choices[name]), _raw(source, choices[name])
    whole = source.columns[choices[name].column].kind == "integer"
    condition = f"{value} BETWEEN 0 AND {most}"
    if not whole:  # in a CASE, since with an AND DuckDB looks at floor twice
        condition = f"CASE WHEN {condition} THEN {value} = floor({value}) END"
    checks.append((condition, _why_not(value, raw, name, most)))
    return f"try_cast({value} AS BIGINT)"


def _why_not(value, raw, name, most):
    """Why a value is no count of tokens, in SQL."""
    return (
        f"CASE WHEN {raw} IS NULL OR trim({raw}::VARCHAR) = '' THEN '{name} missing' "
        f"WHEN {value} IS NULL OR NOT isfinite({value}::DOUBLE) THEN '{name} not a number' "
        f"WHEN {value} < 0 THEN '{name} negative' "
        f"WHEN {value} > {most} THEN '{name} absurd: more than {most:,}' ELSE '{name} not whole' END"
    )


def _is_apart(choices, name):
    """Whether tokens of the cache are counted beside the input, as Anthropic's API does, not within it."""
    of_input = re.search(r"(^|\.)(input_tokens|inputTokens)$", choices["input_tokens"].column)
    of_cache = re.search(r"(^|\.)cache_(read|creation)_input_tokens$", choices[name].column)
    return bool(of_input and of_cache and "gen_ai" not in choices["input_tokens"].column)


def _times(connection, source, choices, values, doubts):
    """Times and durations in seconds; the unit of each."""
    units = {}
    if "time" in choices:
        values["time"], units["time"] = seconds(connection, source, choices, "time")
        if units["time"] == WORDS and source.columns[choices["time"].column].kind == "text":
            zoned = f"regexp_matches({_raw(source, choices['time'])}, '{ZONE}')"
            doubts[ZONED], doubts[ZONELESS] = zoned, f"({values['time']}) IS NOT NULL AND NOT {zoned}"
        doubts[DATED], doubts[UNDATED] = f"({values['time']}) {DATES}", f"({values['time']}) NOT {DATES}"
        doubts["time is missing or none: not used where times are needed"] = f"({values['time']}) IS NULL"
    if "duration" in choices:
        units["duration"] = choices["duration"].unit or _unit_of_name(choices["duration"]) or "s"
        span = f"{_number(source, choices['duration'])} / {SCALES[units['duration']]:.0f}"
    elif {"time", "end"} <= choices.keys():
        end, units["end"] = seconds(connection, source, choices, "end")
        span = f"({end}) - ({values['time']})"
    else:
        return units
    values["duration"] = f"CASE WHEN {span} >= 0 AND isfinite({span}) THEN {span} END"
    doubts["duration is missing or negative: left out"] = f"({values['duration']}) IS NULL"
    return units


def seconds(connection, source, choices, name):
    """A time in seconds, in SQL, and the unit or kind that it was read in."""
    choice = choices[name]
    _need(source, choice, "a time", ("text", "integer", "number", "time"))
    raw, kind = _raw(source, choice), source.columns[choice.column].kind
    if kind == "time":
        return f"epoch_us({raw}::TIMESTAMPTZ) / 1e6", WORDS
    number = _number(source, choice)
    sample = f"SELECT {raw} AS raw, {number} AS number FROM {source.relation([choice.column])} LIMIT {SAMPLE}"
    finite = "FILTER (isfinite(number::DOUBLE))"
    counted = f"SELECT count(number) {finite}, count(raw), median(abs(number)) {finite} FROM"
    numbers, told, size = connection.raw_sql(f"{counted} ({sample})").fetchall()[0]
    if numbers >= max(told, 1) / 2:
        unit = choice.unit or _unit_of_name(choice) or _unit_of_size(size) or _unit_of_kin(choices) or "s"
        return f"CASE WHEN isfinite({number}::DOUBLE) THEN {number} / {SCALES[unit]:.0f} END", unit
    return f"epoch_us(try_cast({raw} AS TIMESTAMPTZ)) / 1e6", WORDS


def _unit_of_name(choice):
    """The unit of time that a column's name ends in."""
    found = re.search(r"(?:_|\b)(s|sec|secs|seconds|ms|millis|us|micros|ns|nanos)$", choice.column, re.IGNORECASE)
    if found:
        short = found[1].lower()
        return {"mil": "ms", "mic": "us", "nan": "ns", "sec": "s"}.get(short[:3], short)
    return "ns" if choice.column.endswith("Nano") else "ms" if re.search(r"M(illi)?s$", choice.column) else choice.unit


def _unit_of_size(size):
    """The unit that makes a number a time of our days: seconds since 1970 have ten digits."""
    if size is None or size < 1e8:
        return None
    return "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"


def _unit_of_kin(choices):
    """Traces in the form of Mooncake's count milliseconds from their start."""
    return "ms" if "blocks" in choices and choices["blocks"].column == "hash_ids" else None


def _only_calls(source, choices, checks):
    """Spans of agents and tools hold the tokens of the calls within them a second time, or none."""
    if "operation" in choices:
        name = _raw(source, choices["operation"])
        checks.insert(0, (f"coalesce(lower({name}), '') NOT IN ({_listed(AGENTS)})", f"'no model call: ' || {name}"))
