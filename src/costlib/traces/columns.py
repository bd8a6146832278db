"""Which column of a file is which: names that are in use, and what was given in their place."""

import re
from dataclasses import dataclass

from costlib.schema import InputError, nearest

__all__ = ["AGAIN", "ALIASES", "Chosen", "chosen", "ends", "plain", "with_numbers"]

# Earlier names win, but two columns that could both be the tokens are asked about. A name stands for its
# ends, too: usage.prompt_tokens is a prompt_tokens.
ALIASES = {
    "input_tokens": "gen_ai.usage.input_tokens input_tokens prompt_tokens gen_ai.usage.prompt_tokens ContextTokens "
    "input_length prompt_length input_len prompt_len request_tokens num_prompt_tokens "
    "num_input_tokens n_prompt_tokens prompt_token_count tokens_prompt tokens_in usage.input usageDetails.input "
    "llm.token_count.prompt",
    "output_tokens": "gen_ai.usage.output_tokens output_tokens completion_tokens gen_ai.usage.completion_tokens "
    "GeneratedTokens output_length generation_length output_len response_tokens "
    "num_output_tokens num_generated_tokens num_completion_tokens n_completion_tokens candidates_token_count "
    "tokens_completion tokens_out usage.output usageDetails.output llm.token_count.completion",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens cache_read_input_tokens cached_tokens num_cached_tokens "
    "prompt_cache_hit_tokens cached_content_token_count input_cached_tokens input_token_details.cache_read",
    "written_tokens": "cache_creation_input_tokens",
    "session": "session session_id gen_ai.conversation.id conversation_id chat_id thread_id trajectory_id "
    "run_id trace_id",
    "time": "timestamp time start_time startTimeUnixNano arrival_time arrived_at request_time created_at created date "
    "ts start",
    "end": "end_time endTimeUnixNano ended_at finished_at completed_at",
    "duration": "duration duration_s duration_ms duration_ns latency latency_s latency_ms e2e_latency elapsed_time "
    "elapsed request_latency response_time api_time",
    "blocks": "hash_ids block_hashes prefix_hashes blocks",
    "operation": "gen_ai.operation.name run_type openinference.span.kind",
}

SESSION_ALIASES = {
    "session": "session session_id id conversation_id thread_id trajectory_id trace_id",
    "length": "length session_length max_total max_context max_context_tokens max_in max_input_tokens last_total "
    "final_context last_context last_in",
    "requests": "requests n_req n_requests num_requests request_count turns n_turns num_turns steps n_steps",
    "input_tokens": "sum_in total_input_tokens sum_input_tokens input_tokens prompt_tokens",
    "output_tokens": "sum_out total_output_tokens sum_output_tokens output_tokens completion_tokens",
    "cached_tokens": "total_cached_tokens sum_cached_tokens cached_tokens",
    "start": "start start_time started_at timestamp created_at",
    "lifetime": "dur_s duration_s duration lifetime dur",
    "model_time": "api_s model_time api_time llm_time",
    "wait": "think_s wait wait_s think_time tool_time",
    "bytes": "bytes file_size size_bytes",
}

NUMBERS = {"input_tokens": "prompt", "output_tokens": "completion"}  # texts, elsewhere: asked for only if numbers
ASKED = ("input_tokens", "output_tokens", "length")  # where two columns fit, the file's owner says which
AGAIN = " (again)"  # a name that is there twice
UNITS = ("s", "ms", "us", "ns")


@dataclass(frozen=True)
class Chosen:
    """The column of a file that stands for a canonical one, its unit of time where given, and what else fits."""

    column: str
    unit: str | None = None
    given: bool = False
    others: tuple[str, ...] = ()


def chosen(names, given, aliases, where):
    """The column of each canonical name, as given or guessed.

    Parameters
    ----------
    names : iterable of str
        Columns of the file; those of nested tables joined by points.
    given : mapping of str to str
        Canonical name to ``COLUMN``, ``COLUMN:UNIT`` where it is a time, or ``""`` for none.
    aliases : mapping of str to str
        The canonical names, and what is guessed for each.
    where : str
        How messages call the file.

    Returns
    -------
    dict of str to Chosen

    Raises
    ------
    InputError
        If a given column does not exist, or two fit where it matters.
    """
    for name in given:
        if name not in aliases:
            raise InputError(f"{where}: nothing is called {name!r} here; {nearest(name, aliases)}")
    found = {}
    for name in aliases:
        choice = _given(names, name, given[name], where) if name in given else _guessed(names, name, aliases, where)
        if choice is not None:
            found[name] = choice
    return found


def _given(names, name, text, where):
    column, _, unit = text.rpartition(":")
    if text in names or unit not in UNITS:
        column, unit = text, None
    if column in ("", "none"):
        return None
    if column not in names:
        raise InputError(f"{where}: no column {column!r} for {name}; {nearest(column, names)}")
    return Chosen(column, unit, True)


def _guessed(names, name, aliases, where):
    ranks = {plain(alias): rank for rank, alias in enumerate(aliases[name].split())}
    others = {plain(alias) for other in aliases if other != name for alias in aliases[other].split()}
    fitting = sorted(
        (min(ranks[end] for end in ends(column) if end in ranks), i, column)
        for i, column in enumerate(names)
        if fit(column, ranks) > 0 and fit(column, ranks) >= fit(column, others)
    )
    if not fitting:
        return None
    (_, _, first), *rest = fitting
    others = tuple(column for _, _, column in rest)
    if others and name in ASKED:
        both = " and ".join(repr(column) for column in (first, *others))
        raise InputError(f"{where}: {both} could each be {name}; say which with --column {name}={first}")
    return Chosen(first, others=others)


def with_numbers(names, given, aliases, where, is_number):
    """The aliases, and with them the names that stand for counts only in columns of numbers.

    Parameters
    ----------
    names : iterable of str
        Columns of the file.
    given : mapping of str to str
        What is not to be guessed.
    aliases : mapping of str to str
        The canonical names, and what is guessed for each.
    where : str
        How messages call the file.
    is_number : callable
        Whether a column holds numbers.

    Returns
    -------
    dict of str to str
    """
    more = {}
    for name, bare in NUMBERS.items():
        if name in given or _guessed(names, name, aliases, where) is not None:
            continue
        if any(bare in ends(column) and is_number(column) for column in names):
            more[name] = f"{aliases[name]} {bare}"
    return aliases | more


def fit(column, known):
    """How many parts of a nested name, at its end, are a known name: cache_read.input_tokens is no input_tokens."""
    return max((parts for end, parts in ends(column).items() if end in known), default=0)


def plain(name):
    """A name without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def ends(name):
    """A name and what is left of it without the tables that it is nested in, plain, each with its number of parts.

    What belongs to ``gen_ai`` does not stand alone: gen_ai.usage.text.input_tokens are not all input tokens.
    """
    parts = name.removesuffix(AGAIN).split(".")
    last = parts.index("gen_ai") if "gen_ai" in parts else len(parts) - 1
    return {plain(".".join(parts[i:])): len(parts) - i for i in range(last + 1)}
