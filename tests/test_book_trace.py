"""costlib.book.trace: the book's own trace has the shape that the page says, and is the same everywhere."""

import csv
import hashlib
import json
import math
from collections import defaultdict

import numpy as np
import pytest

from costlib import traces
from costlib.book import trace


@pytest.fixture(scope="module")
def made():
    return trace.requests()


@pytest.fixture(scope="module")
def sessions(made):
    by_name = defaultdict(list)
    for request in made:
        by_name[request.session].append(request)
    return by_name


def digest(requests):
    return hashlib.sha256(repr([(r.session, r.time, r.input_tokens, r.blocks) for r in requests]).encode()).hexdigest()


def test_it_is_the_same_everywhere(made):
    assert digest(made)[:16] == "b7761eaa6a751c19"


def test_another_seed_is_another_week(made):
    assert digest(trace.requests(seed=1)) != digest(made)


def test_requests_are_in_order_and_of_one_week(made):
    times = [request.time for request in made]
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] < trace.WEEK * 1000


def test_sizes_are_possible(made):
    for r in made:
        assert 0 <= r.cached_tokens <= r.input_tokens
        assert r.input_tokens > 0 < r.output_tokens
        assert r.input_tokens + r.output_tokens <= trace.LIMIT
        assert len(r.blocks) == math.ceil(r.input_tokens / trace.BLOCK)
        assert r.duration > 0


def test_a_session_makes_one_call_at_a_time(sessions):
    for session in sessions.values():
        for before, after in zip(session, session[1:], strict=False):
            assert before.time + before.duration <= after.time


def test_a_context_grows_until_it_is_compacted(sessions):
    compacted = 0
    for session in sessions.values():
        for before, after in zip(session, session[1:], strict=False):
            if after.input_tokens > before.input_tokens:
                assert after.input_tokens > before.input_tokens + before.output_tokens
                full = before.input_tokens // trace.BLOCK
                assert after.blocks[:full] == before.blocks[:full]
            else:
                compacted += 1
                assert after.input_tokens <= max(trace.SYSTEM_PROMPTS.values()) + trace.SUMMARY
    assert 5 < compacted < 100


def test_sessions_of_one_agent_share_the_blocks_of_its_prompt_and_no_others(sessions):
    owners = defaultdict(set)
    for name, session in sessions.items():
        for block in {block for request in session for block in request.blocks}:
            owners[block].add(name)
    shared = [names for names in owners.values() if len(names) > 1]
    assert len(shared) == sum(trace.SYSTEM_PROMPTS.values()) // trace.BLOCK
    assert all(len(names) > 100 for names in shared)


def test_what_is_cached_are_whole_blocks_of_what_came_before(sessions):
    for session in sessions.values():
        for before, after in zip(session, session[1:], strict=False):
            assert after.cached_tokens <= before.input_tokens + before.output_tokens
            assert after.cached_tokens % trace.BLOCK == 0


def test_csv_has_every_request(made, tmp_path):
    trace.write_csv(made, tmp_path / "week.csv")
    with (tmp_path / "week.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["session_id"], int(row["prompt_tokens"])) for row in rows] == [
        (r.session, r.input_tokens) for r in made
    ]
    assert rows[0]["timestamp"].startswith("2026-11-02T") and rows[0]["timestamp"].endswith("Z")


def test_json_lines_have_the_blocks(made, tmp_path):
    trace.write_json_lines(made[:50], tmp_path / "week.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "week.jsonl").read_text().splitlines()]
    assert [tuple(row["hash_ids"]) for row in rows] == [r.blocks for r in made[:50]]


@pytest.mark.parametrize("write", [trace.write_csv, trace.write_json_lines])
def test_every_form_is_read_as_the_same_week(made, sessions, tmp_path, write):
    write(made, tmp_path / "week")
    read = traces.read(tmp_path / "week")
    lengths = traces.session_lengths(read.sessions)
    longest = sorted(max(r.input_tokens + r.output_tokens for r in session) for session in sessions.values())
    assert list(np.repeat(lengths.values, lengths.counts)) == longest
    assert read.requests.cached_tokens.sum().to_pyarrow().as_py() == sum(r.cached_tokens for r in made)
    assert not read.rejected
