"""Traces: every row counted, columns as guessed, statistics against independent calculations and published figures."""

import csv
import functools
import gzip
import hashlib
import io
import itertools
import json
import lzma
import math
import os
import pty
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import ibis
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from costlib import traces
from costlib.arguments import ArgumentError
from costlib.schema import InputError
from costlib.traces import csv_files, engine, prefixes, sources, statistics
from costlib.traces.columns import ALIASES, SESSION_ALIASES, chosen, plain
from costlib.traces.distributions import Distribution
from costlib.traces.prefixes import block_size, by_prefix

DATA = Path(__file__).parent / "traces"
pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")  # Ibis, for SQLite
steady = settings(derandomize=True, deadline=None, max_examples=60)


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    """A function that unpacks a public trace once, and gives its path."""
    folder = tmp_path_factory.mktemp("public")

    def unpacked(name):
        path = folder / name
        if not path.exists():
            path.write_bytes(lzma.decompress((DATA / f"{name}.xz").read_bytes()))
        return path

    return unpacked


@pytest.fixture
def file(tmp_path):
    """A function that writes a trace and gives its path."""

    def written(content, name="trace.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


@pytest.fixture
def run(run):
    """A function that runs ``costlib trace``, as that of all tests does ``costlib``."""
    return functools.partial(run, "trace")


def table_of(rows):
    """Rows, given as mappings or by columns, as a table of DuckDB's."""
    columns = rows if isinstance(rows, dict) else {name: [row[name] for row in rows] for name in rows[0]}
    return ibis.memtable(pyarrow.table(columns))


def counted(values):
    return Distribution(*np.unique(np.asarray(values), return_counts=True))


# The figures of public traces.


@pytest.mark.parametrize("name", [path.name[:-3] for path in DATA.glob("*.xz")])
def test_a_public_trace_is_what_its_record_says(name, public):
    digest = hashlib.sha256(public(name).read_bytes()).hexdigest()
    assert digest in next(line for line in (DATA / "README.md").read_text("utf-8").splitlines() if name in line)


def test_azure_code_requests(public):
    """Published as p50/p99 of 1,469 / 7,436 tokens in and 13 / 251 out, and a squared variation of arrivals of 173."""
    trace = traces.read(public("AzureLLMInferenceTrace_code.csv"))
    sizes = {name: traces.distribution(trace.requests, name) for name in ("input_tokens", "output_tokens")}
    assert [sizes["input_tokens"].quantile(p) for p in (0.5, 0.99)] == [1469, 7436]
    assert [sizes["output_tokens"].quantile(p) for p in (0.5, 0.99)] == pytest.approx([13, 251.46])
    assert traces.burstiness(trace.requests).scv == pytest.approx(172.956, abs=1e-3)
    summary = traces.summary(trace)
    assert (summary.rows, summary.sessions, summary.rejected) == (8819, 8819, {})
    assert summary.cut_off.looks
    assert summary.growth is None


def test_mooncake_prefix_hits(public):
    """Published as p50/p99 of 11,587 / 66,456 tokens in, and hits of 65.1 % of tokens, 43.2 % a request."""
    trace = traces.read(public("mooncake_synthetic_trace.jsonl"))
    sizes = traces.distribution(trace.requests, "input_tokens")
    assert [round(sizes.quantile(p)) for p in (0.5, 0.99)] == [11587, 66456]
    hits = traces.prefix_hits(trace.requests)
    assert (round(hits.by_tokens, 3), round(hits.by_requests, 3), hits.block) == (0.651, 0.432, 512)
    assert trace.columns["time"] == "timestamp [ms]"
    assert traces.burstiness(trace.requests).rate == pytest.approx(3992 / 1022.025)


def test_agent_sessions(public):
    """Published as p50/p90/p99 of the last context of 134,735.5 / 335,127 / 791,262; files from 4 MiB are missing."""
    trace = traces.read(public("agent_sessions.csv"), {"length": "last_total"})
    summary = traces.summary(trace)
    assert [summary.lengths.quantile(p) for p in (0.5, 0.9, 0.99)] == pytest.approx([134735.5, 335126.9, 791262.06])
    said = "\n".join(summary.notes)
    assert "23 sessions in 5 groups agree" in said
    near = float(re.search(r"files look cut off near ([\d.]+) MiB", said)[1])
    assert near == pytest.approx(4, rel=0.01)
    assert (trace.requests, summary.growth, summary.arrival_scv, summary.hits_by_tokens) == (None, None, None, None)
    assert "one row a session" in said
    assert summary.requests == 48658
    assert summary.wait_share == pytest.approx(0.9512, abs=1e-4)


def test_the_length_of_agent_sessions_is_asked_for_or_guessed(public):
    guessed = {"max_in", "last_total", "last_in"}
    with pytest.raises(InputError) as refused:
        traces.read(public("agent_sessions.csv"))
    assert all(repr(name) in str(refused.value) for name in guessed)


# Distributions.


@steady
@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.floats(0, 1))
def test_a_quantile_is_that_of_numpy(values, p):
    assert counted(values).quantile(p) == pytest.approx(np.quantile(values, p), abs=1e-9)


@steady
@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(-1, 51))
def test_other_figures_of_a_distribution(values, x):
    found = counted(values)
    assert (found.count, found.maximum, found.minimum) == (len(values), max(values), min(values))
    assert found.mean == pytest.approx(np.mean(values))
    assert found.share_above(x) == pytest.approx(np.mean(np.asarray(values) > x))


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("size", [40, 400, 2000])
def test_an_interval_covers_the_quantile_as_often_as_it_says(p, size):
    """The chance that order statistics l and u enclose it is the binomial one of l to u - 1; computed, not sampled."""
    found = counted(np.arange(1, size + 1))
    low, high = found.interval(p)
    chance = stats.binom.cdf((high or size + 1) - 1, size, p) - stats.binom.cdf((low or 0) - 1, size, p)
    assert chance >= 0.95
    if high is not None:
        assert stats.binom.sf(high - 2, size, p) > 0.025  # and no narrower one on this side does


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_sample_that_is_wanted_is_the_least_with_an_upper_end(p, confidence):
    wanted = counted([1]).wanted(p, confidence)
    assert counted(np.arange(wanted)).interval(p, confidence)[1] is not None
    assert counted(np.arange(wanted - 1)).interval(p, confidence)[1] is None


def test_the_known_number_of_sessions_for_the_99th_percentile():
    assert counted([1]).wanted(0.99) == 368


NO_SHARES = {
    "1.1": lambda found: found.quantile(1.1),
    "given 0;": lambda found: found.interval(0),
    "given 1;": lambda found: found.interval(0.5, 1),
    "nan": lambda found: found.wanted(math.nan),
}


@pytest.mark.parametrize("what", NO_SHARES)
def test_what_is_no_share_is_refused(what):
    with pytest.raises(ArgumentError, match=re.escape(what)):
        NO_SHARES[what](counted([1, 2, 3]))


def test_no_value_is_refused():
    with pytest.raises(ArgumentError, match="no values"):
        counted([])


LAWS = {
    "exponential": lambda rng: rng.exponential(30_000, 2000),
    "lognormal": lambda rng: rng.lognormal(10, 1, 2000),
    "pareto": lambda rng: 1000 * (1 + rng.pareto(1.5, 2000)),
    "normal": lambda rng: rng.normal(100_000, 20_000, 2000),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_tail_as_it_comes_is_not_called_cut_off(law):
    called = [counted(LAWS[law](np.random.default_rng(seed)).astype(int)).cut_off().looks for seed in range(20)]
    assert sum(called) <= 2


@pytest.mark.parametrize(("size", "trials"), [(400, 200), (1000, 100), (8000, 40)])
def test_the_chance_of_a_false_alarm_is_no_more_than_it_says(size, trials):
    rng = np.random.default_rng(size)
    laws = {"exponential": lambda: rng.exponential(30_000, size), "gamma": lambda: rng.gamma(3, 10_000, size)}
    for law in laws.values():
        called = [counted(law().astype(int)).cut_off() for _ in range(trials)]
        assert sum(found.looks for found in called) <= 0.02 * trials
        if law is laws["exponential"]:
            assert sum(found.chance <= 0.05 for found in called) <= 0.08 * trials
            assert sum(found.looks or found.may for found in called) <= 0.05 * trials


@pytest.mark.parametrize("size", [1000, 8000])
def test_a_sample_that_is_cut_off_is_seen(size):
    rng = np.random.default_rng(size)
    values = rng.exponential(30_000, size)
    found = counted(values[values < 80_000].astype(int)).cut_off()
    assert found.looks
    assert found.near == pytest.approx(80_000, rel=0.1)


def test_what_is_not_sure_to_be_cut_off_is_said_with_its_chance(run, file):
    rng = np.random.default_rng(0)
    samples = (rng.exponential(30_000, 400).astype(int) for _ in range(500))
    doubtful = next(values for values in samples if counted(values).cut_off().may)
    found = counted(doubtful).cut_off()
    assert (found.looks, 0.002 <= found.chance < 0.05) == (False, True)
    path = file("prompt_tokens,completion_tokens\n" + "".join(f"{value},0\n" for value in doubtful))
    out = re.sub(r"\s+", " ", run(path)[1])
    assert "Long sessions may be cut off near" in out
    assert f"{100 * found.chance:.1f} % of samples of an exponential law do so" in out


@pytest.mark.parametrize("law", ["exponential", "lognormal", "pareto"])
def test_a_tail_without_its_last_twentieth_is(law):
    for seed in range(5):
        values = LAWS[law](np.random.default_rng(seed)).astype(int)
        end = np.quantile(values, 0.95)
        found = counted(values[values < end]).cut_off()
        assert found.looks
        assert found.near == pytest.approx(end, rel=0.25)


def test_a_heap_at_the_limit_is():
    values = np.minimum(LAWS["lognormal"](np.random.default_rng(1)).astype(int), 100_000)
    found = counted(values).cut_off()
    assert (found.looks, found.near) == (True, 100_000)
    assert "heaped" in found.why


def test_of_few_values_nothing_is_said():
    assert counted(range(100)).cut_off().looks is None
    assert counted([5] * 1000).cut_off().looks is None


@pytest.mark.parametrize("outputs", [1, 20])
@pytest.mark.parametrize("share", [0.02, 0.12, 0.6])
def test_a_heap_of_any_size_is_seen(share, outputs):
    """Prompts are cut at the cap, and an answer of some tokens comes on top."""
    rng = np.random.default_rng(2)
    lengths = rng.lognormal(10, 1, 3000)
    cap = np.quantile(lengths, 1 - share)
    found = counted((np.minimum(lengths, cap) + rng.geometric(1 / outputs, 3000)).astype(int)).cut_off()
    assert found.looks
    assert found.near == pytest.approx(cap, rel=0.2)


@pytest.mark.parametrize("values", [[5], [5, 6]])
def test_a_few_different_values_are_no_heap(values):
    assert counted(np.repeat(values, 100)).cut_off().looks is None


# Statistics, against a second calculation in Python, on DuckDB and on SQLite.


def made(seed=7, sessions=60):
    """Requests of interleaved sessions, of which the contexts grow, with what is to be found."""
    rng = random.Random(seed)
    rows = []
    for session in range(sessions):
        clock, context = rng.uniform(0, 3000), rng.randrange(100, 2000)
        for _ in range(rng.randrange(1, 9)):
            output, duration = rng.randrange(1, 300), rng.uniform(0.1, 5)
            cached = rng.randrange(0, context)
            rows.append((f"s{session}", clock, context, output, duration, cached))
            clock += duration + rng.expovariate(1 / 30)
            context += output + rng.randrange(-200, 900)
            context = max(context, 50)
    return sorted(rows, key=lambda row: row[1])


NAMES = ("session", "time", "input_tokens", "output_tokens", "duration", "cached_tokens")


@pytest.fixture(params=["duckdb", "sqlite"])
def requests(request):
    """The same requests in two engines."""
    columns = dict(zip(NAMES, map(list, zip(*made(), strict=True)), strict=True))
    backend = getattr(ibis, request.param).connect()
    return backend.create_table("requests", table_of(columns))


def by_session():
    found = {}
    for row in made():
        found.setdefault(row[0], []).append(row)
    return found


def test_lengths_and_sums_of_sessions(requests):
    expected = {
        name: (max(r[2] + r[3] for r in rows), len(rows), sum(r[2] for r in rows), sum(r[3] for r in rows))
        for name, rows in by_session().items()
    }
    table = traces.sessions(requests)
    columns = table.select("session", "length", "requests", "input_tokens", "output_tokens").to_pyarrow().to_pylist()
    assert {row.pop("session"): tuple(row.values()) for row in columns} == expected
    lengths = traces.session_lengths(table)
    assert lengths.quantile(0.9) == pytest.approx(np.quantile([length for length, *_ in expected.values()], 0.9))


def test_waits_of_sessions(requests):
    lives = [(rows[-1][1] + rows[-1][4] - rows[0][1], sum(r[4] for r in rows)) for rows in by_session().values()]
    found = traces.waits(traces.sessions(requests))
    assert found.lifetime == pytest.approx(np.mean([life for life, _ in lives]))
    assert found.model_time == pytest.approx(np.mean([calls for _, calls in lives]))
    assert found.share == pytest.approx(1 - sum(calls for _, calls in lives) / sum(life for life, _ in lives))
    assert found.overlapping == found.sessions_left_out == 0


def test_what_is_not_known_of_a_wait_is_not_zero(requests):
    """Of one session a call has no time, of another no duration."""
    holes = requests.mutate(
        time=ibis.ifelse(requests.session == "s1", ibis.null("float64"), requests.time),
        duration=ibis.ifelse(requests.session == "s2", ibis.null("float64"), requests.duration),
    )
    assert traces.waits(traces.sessions(holes)).sessions_left_out == 2
    nowhere = requests.mutate(time=ibis.null("float64"))
    assert traces.waits(traces.sessions(nowhere)) is None


def test_repeats_are_counted_with_growth_and_without(requests):
    again = requests.union(requests.filter(requests.session == "s3"))
    number = len(by_session()["s3"])
    assert traces.context_growth(again).repeated == statistics.repeated(again) == number
    assert traces.context_growth(requests).repeated == statistics.repeated(requests) == 0
    told_apart = requests.union(requests.mutate(output_tokens=requests.output_tokens + 1))
    assert traces.context_growth(told_apart).repeated == statistics.repeated(told_apart) == 0
    assert statistics.repeated(again.mutate(time=ibis.null("float64"))) == 0


def test_growth_of_contexts(requests):
    growth = traces.context_growth(requests, steps=(1, 2, 3))
    for step in (1, 2, 3):
        contexts = [rows[step - 1][2] for rows in by_session().values() if len(rows) >= step]
        assert growth.steps[step].count == len(contexts)
        assert growth.steps[step].quantile(0.5) == np.median(contexts)
    added = [b[2] - a[2] for rows in by_session().values() for a, b in itertools.pairwise(rows)]
    assert growth.added == pytest.approx(np.mean(added))
    assert growth.shrinking == pytest.approx(np.mean(np.asarray(added) < 0))


def test_burstiness_of_arrivals(requests):
    gaps = np.diff([row[1] for row in made()])
    found = traces.burstiness(requests)
    assert found.scv == pytest.approx(gaps.var() / gaps.mean() ** 2)
    assert found.rate == pytest.approx(1 / gaps.mean())


def test_hits_as_the_cache_served_them(requests):
    rows = made()
    found = traces.prefix_hits(requests)
    assert found.by_tokens == pytest.approx(sum(r[5] for r in rows) / sum(r[2] for r in rows))
    assert found.by_requests == pytest.approx(np.mean([r[5] / r[2] for r in rows]))


def test_sessions_by_silence(requests):
    by_user = requests.mutate(user=requests.session).drop("session")
    found = traces.sessions(traces.by_gap(by_user, "user", 30.0))
    expected = sum(1 + sum(b[1] - a[1] > 30 for a, b in itertools.pairwise(rows)) for rows in by_session().values())
    assert found.count().to_pyarrow().as_py() == expected


WITHOUT_SECONDS = {
    "sessions": traces.sessions,
    "by_gap": lambda t: traces.by_gap(t, "session", 60),
    "burstiness": traces.burstiness,
    "context_growth": traces.context_growth,
    "summary": traces.summary,
}


@pytest.mark.parametrize("what", WITHOUT_SECONDS)
def test_a_time_that_is_no_number_of_seconds_is_refused(what):
    seconds = table_of(
        [{"session": "a", "time": 1_700_000_000 + i, "input_tokens": 5, "output_tokens": 1} for i in (0, 9)]
    )
    stamped = seconds.mutate(time=seconds.time.as_timestamp("s"))
    with pytest.raises(ArgumentError, match=r"time is a timestamp; wanted seconds: t.mutate\(time=t.time.epoch_sec"):
        WITHOUT_SECONDS[what](stamped)
    with pytest.raises(ArgumentError, match="time is of type string; wanted seconds"):
        WITHOUT_SECONDS[what](seconds.mutate(time=seconds.time.cast("string")))
    WITHOUT_SECONDS[what](stamped.mutate(time=stamped.time.epoch_seconds()))


def test_a_table_of_requests_has_a_summary(requests):
    found = traces.summary(requests)
    assert found.lengths.count == len(by_session())
    assert found.rule == "column session"
    assert found.rejected == {}
    alone = traces.summary(table_of({"input_tokens": [5, 6, None], "output_tokens": [1, -1, 2]}))
    assert (alone.sessions, alone.rows, list(alone.rejected.values())) == (1, 3, [2])
    assert alone.rule == "1 request, each counted as a session of its own"
    with pytest.raises(ArgumentError, match="without input_tokens"):
        traces.summary(requests.drop("input_tokens"))
    with pytest.raises(ArgumentError, match="wanted a Trace or an Ibis table"):
        traces.summary("trace.csv")


def test_repeats_and_copies():
    rows = [
        ("a", 1.0, 10, 1),
        ("a", 1.0, 10, 1),
        ("a", 2.0, 20, 1),
        ("b", 5.0, 10, 1),
        ("b", 6.0, 10, 1),
        ("b", 7.0, 20, 1),
    ]
    table = table_of(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=False)))
    assert statistics.repeated(table) == 1
    assert statistics.copies(traces.sessions(table)) == statistics.Copies(groups=1, rows=2)


def test_one_event_or_all_at_once_have_no_burstiness():
    assert traces.burstiness(table_of({"time": [1.0, 1.0, 1.0]})).scv is None
    assert traces.burstiness(table_of({"time": [1.0]})).rate is None


@pytest.mark.parametrize("law", ["poisson", "clock"])
def test_burstiness_of_known_streams(law):
    rng = np.random.default_rng(5)
    gaps = rng.exponential(2, 20_000) if law == "poisson" else np.full(20_000, 2.0)
    table = table_of({"time": list(1.7e9 + np.cumsum(gaps))})
    assert traces.burstiness(table).scv == pytest.approx({"poisson": 1, "clock": 0}[law], abs=0.05)


def prefixed(block=16):
    """Sessions over shared prompts, as requests with the hashes of their blocks."""
    rng, numbers, rows = random.Random(11), {}, []
    for session in range(40):
        system, clock = session % 2, rng.uniform(0, 1000)
        text = [("system", system, i) for i in range(3 * block)] + [(session, i) for i in range(2 * block)]
        for _ in range(rng.randrange(1, 6)):
            whole = [tuple(text[: end + block]) for end in range(0, len(text), block)]
            hashes = [numbers.setdefault(prefix, len(numbers)) for prefix in whole]
            rows.append(
                {"real": session, "time": clock, "input_tokens": len(text), "output_tokens": 5, "blocks": hashes}
            )
            text += [(session, len(text) + i) for i in range(rng.randrange(1, 5 * block))]
            clock += rng.uniform(1, 50)
    rows.sort(key=lambda row: row["time"])
    return [row | {"request": i} for i, row in enumerate(rows)]


def test_hits_of_a_cache_that_forgets_nothing():
    rows, seen, tokens, shares = prefixed(), set(), 0, []
    for row in rows:
        held = sum(min(16, row["input_tokens"] - 16 * i) for i, block in enumerate(row["blocks"]) if block in seen)
        seen.update(row["blocks"])
        tokens += held
        shares.append(held / row["input_tokens"])
    table = table_of(rows)
    assert block_size(table) == 16
    found = traces.prefix_hits(table)
    assert found.by_tokens == pytest.approx(tokens / sum(row["input_tokens"] for row in rows))
    assert found.by_requests == pytest.approx(np.mean(shares))


def test_sessions_from_prefixes_are_the_real_ones():
    found = by_prefix(table_of(prefixed())).to_pyarrow().to_pylist()
    assert len(found) == len(prefixed())
    real, told = Counter(row["real"] for row in found), Counter((row["real"], row["session"]) for row in found)
    assert len({row["session"] for row in found}) == len(real)
    assert sorted(told.values()) == sorted(real.values())


def test_a_later_request_does_not_begin_the_session_of_an_earlier_one():
    rows = [(0, 48, [1, 2, 3]), (1, 32, [1, 2]), (2, 64, [1, 2, 3, 4])]
    table = table_of([{"request": n, "input_tokens": size, "output_tokens": 1, "blocks": b} for n, size, b in rows])
    found = {row["request"]: row["session"] for row in by_prefix(table, 16).to_pyarrow().to_pylist()}
    assert found[0] == found[2] != found[1]


def test_a_shared_prompt_does_not_join_sessions():
    """Thirty users whose first message ends within the block after the system prompt."""
    rows = [
        {"request": i, "input_tokens": 32 + length, "output_tokens": 1, "blocks": [1, 2, 100 + i]}
        for i, length in enumerate([5, 9, 3, 12] * 8)
    ]
    found = by_prefix(table_of(rows), 16)
    assert found.session.nunique().to_pyarrow().as_py() == 32


DIALECTS = ("duckdb", "pyspark", "bigquery", "trino", "clickhouse")


@pytest.fixture(scope="module")
def queries():
    """All that the functions of tables ask of an engine, as asked of DuckDB."""
    asked = []

    def recorded(answer):
        return lambda expression, *args, **kwargs: asked.append(expression) or answer(expression, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for kind in (ibis.Table, ibis.Scalar):
            patch.setattr(kind, "to_pyarrow", recorded(kind.to_pyarrow))
        patch.setattr(prefixes, "kept", recorded(prefixes.kept))
        rows = [row | {"duration": 1.0, "cached_tokens": 1, "session": f"s{row['real']}"} for row in prefixed()]
        table = ibis.duckdb.connect().create_table("requests", table_of(rows))
        sessions = traces.sessions(table)
        for ask in (traces.session_lengths, traces.waits, statistics.copies, statistics.repeated):
            ask(sessions if ask != statistics.repeated else table)
        for ask in (traces.context_growth, traces.burstiness, traces.prefix_hits):
            ask(table)
        traces.prefix_hits(table.drop("cached_tokens"))
        for told in (by_prefix(table), traces.by_gap(table, "session", 60.0), table.drop("session")):
            traces.session_lengths(traces.sessions(told))
    return asked


class SparkOptions(ibis.config.Config):
    """What Ibis registers where pyspark is installed."""

    treat_nan_as_null: bool = False


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_is_one_of_the_engines_that_are_at_hand(dialect, queries, monkeypatch):
    monkeypatch.setattr(ibis.options, "pyspark", SparkOptions())
    assert len(queries) > 20
    for query in queries:
        assert ibis.to_sql(query, dialect=dialect)


# Reading: every row is a request, or has a reason.

HEADER = "session_id,timestamp,prompt_tokens,completion_tokens\n"
ROW = "a,2026-01-01 00:00:00,100,10\n"
BAD = {
    "input_tokens negative": "a,2026-01-01 00:00:01,-5,1\n",
    "input_tokens not whole": "a,2026-01-01 00:00:01,1.5,1\n",
    "input_tokens not a number": "a,2026-01-01 00:00:01,many,1\n",
    "input_tokens missing": "a,2026-01-01 00:00:01,,1\n",
    "input_tokens absurd: more than 1,000,000,000": "a,2026-01-01 00:00:01,1e12,1\n",
    "output_tokens negative": "a,2026-01-01 00:00:01,5,-1\n",
    "output_tokens missing": "a,2026-01-01 00:00:01,5,\n",
    "session missing": ",2026-01-01 00:00:01,5,5\n",
    "line with too few columns": "a,2026-01-01 00:00:01,5\n",
    "line with too many columns": "a,2026-01-01 00:00:01,5,5,5\n",
    "line not in UTF-8": b"\xe9,2026-01-01 00:00:01,5,5\n",
}


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_row_of_csv_is_counted_under_its_reason(reason, file):
    trace = traces.read(file(encoded(HEADER) + encoded(ROW) + encoded(BAD[reason]) * 3 + encoded(ROW)))
    assert (trace.checks.rows, trace.rejected) == (5, {reason: 3})
    assert trace.requests.count().to_pyarrow().as_py() == trace.checks.read == 2
    assert reason in trace.checks.examples


@pytest.mark.parametrize("value", ["NaN", "inf", "-inf", "1e400", '"1,469"', "12 tokens", "0x10", "12k", "٣"])
def test_what_is_no_number_is_none(value, file):
    trace = traces.read(file(HEADER + ROW + f"a,2026-01-01 00:00:01,{value},1\n"))
    assert sum(trace.rejected.values()) == 1
    assert trace.requests.input_tokens.to_list() == [100]


@settings(steady, max_examples=20)
@given(st.lists(st.sampled_from(["good", *BAD]), min_size=1, max_size=30))
def test_requests_and_reasons_come_to_all_rows(tmp_path_factory, kinds):
    path = tmp_path_factory.mktemp("mixed") / "trace.csv"
    path.write_bytes(encoded(HEADER) + b"".join(encoded(ROW if kind == "good" else BAD[kind]) for kind in kinds))
    trace = traces.read(path)
    assert trace.rejected == Counter(kind for kind in kinds if kind != "good")
    assert trace.checks.rows == len(kinds)
    assert trace.requests.count().to_pyarrow().as_py() == kinds.count("good")


def test_a_quotation_without_an_end_takes_the_lines_after_it_along_and_they_are_counted(file):
    trace = traces.read(file(HEADER + ROW + 'a,"2026-01-01 00:00:00,100,10\n' + 3 * ROW))
    assert (trace.rejected, trace.checks.rows) == ({"line with a quotation that does not end": 4}, 5)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way_but_in_one(end, file):
    rows = ["prompt_tokens,completion_tokens", "1,2", "3,4", "5,6", ""]
    trace = traces.read(file(end.join(rows)))
    assert (trace.requests.input_tokens.to_list(), trace.checks.doubts) == ([1, 3, 5], {})
    for other in {"\n", "\r\n", "\r"} - {end}:
        with pytest.raises(InputError, match="end in different ways"):
            traces.read(file(end.join(rows) + other.join(["7,8", "9,10", ""])))


def test_a_line_that_ends_otherwise_far_down_is_not_lost_without_a_word(file):
    content = "prompt_tokens,completion_tokens\n" + "1,2\n" * 400_000 + "3,4\r\n" + "5,6\n" * 10
    trace = traces.read(file(content))
    try:
        assert sum(trace.checks.doubts.values()) + trace.checks.rows == 400_011
    except InputError as refused:
        assert "end in different ways" in str(refused)


def test_a_text_of_several_lines_in_quotations_is_one_cell(file):
    trace = traces.read(file('prompt,prompt_tokens\r\n"one\ntwo",5\r\n"three",7\r\n'))
    assert trace.requests.input_tokens.to_list() == [5, 7]
    assert list(trace.checks.doubts.values()) == [1]


@steady
@given(st.lists(st.sampled_from(["a", "bb\n", "\n", "\r\n", "c\r\n", "d\r"]), max_size=30), st.integers(1, 9))
def test_lines_are_counted(tmp_path_factory, parts, stride):
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_text("".join(parts), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "STRIDE", stride)
        found = csv_files._lines(path, "none")
    assert found == sum(line != "" for line in re.split("\r\n|\r|\n", "".join(parts)))


LINES = [
    {"input_length": 100, "output_length": 5, "timestamp": 0},
    "nonsense",
    [1, 2],
    {"input_length": -1, "output_length": 5, "timestamp": 1},
    {"output_length": 5, "timestamp": 2},
    {"input_length": "many", "output_length": 5, "timestamp": 3},
    {"input_length": 2.5, "output_length": 5, "timestamp": 3},
    {"input_length": "70", "output_length": 5, "timestamp": 4},
]


def json_lines(rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def test_bad_lines_of_json_are_counted(file):
    trace = traces.read(file(json_lines(LINES) + '{"input_length": 7, "outp', "trace.log"))
    assert trace.rejected == {
        "line that is no JSON object": 3,
        "input_tokens negative": 1,
        "input_tokens missing": 1,
        "input_tokens not a number": 1,
        "input_tokens not whole": 1,
    }
    assert trace.checks.rows == 9
    assert sorted(trace.requests.input_tokens.to_list()) == [70, 100]


GOOD = [
    {"prompt_tokens": 100 + i, "completion_tokens": i, "session_id": "ab"[i % 2], "timestamp": 1.7e9 + i}
    for i in range(9)
]


def as_csv(rows, delimiter=","):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_parquet(rows):
    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), made)
    return made.getvalue()


USAGE = ("prompt_tokens", "completion_tokens")
NESTED = [
    {
        "usage": {name: row[name] for name in USAGE},
        "metadata": {"session_id": row["session_id"]},
        "created": row["timestamp"],
    }
    for row in GOOD
]
FORMS = {
    "CSV": as_csv(GOOD),
    "CSV of tabs": as_csv(GOOD, "\t"),
    "CSV of semicolons": as_csv(GOOD, ";"),
    "CSV of Unix": as_csv(GOOD).replace("\r", ""),
    "CSV with a mark": b"\xef\xbb\xbf" + as_csv(GOOD).encode(),
    "CSV in UTF-16": as_csv(GOOD).encode("utf-16"),
    "CSV after blank lines": "\n\n" + as_csv(GOOD).replace("\r", ""),
    "CSV, packed": gzip.compress(as_csv(GOOD).encode()),
    "JSON lines": json_lines(GOOD),
    "JSON lines, packed": gzip.compress(json_lines(GOOD).encode()),
    "JSON lines with a mark": b"\xef\xbb\xbf" + json_lines(GOOD).encode(),
    "JSON array": json.dumps(GOOD, indent=1),
    "JSON objects": "\n".join(json.dumps(row, indent=1) for row in GOOD),
    "JSON, nested": json_lines(NESTED),
    "Parquet": as_parquet(GOOD),
    "Parquet, nested": as_parquet(NESTED),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_told_by_its_content(form, file):
    trace = traces.read(file(FORMS[form], "trace"))
    assert trace.rejected == {}
    assert sorted(trace.sessions.to_pyarrow().select(["session", "length", "requests"]).to_pylist(), key=str) == [
        {"session": "a", "length": 116, "requests": 5},
        {"session": "b", "length": 114, "requests": 4},
    ]
    assert sorted(trace.requests.time.to_list()) == [1.7e9 + i for i in range(9)]


@pytest.mark.parametrize("nested", [False, True])
def test_times_to_the_nanosecond_with_a_zone_are_read(nested, tmp_path):
    """As pandas writes ``datetime64[ns, UTC]``; a type that Ibis does not know."""
    times = [1_767_225_600_500_000_000 + i * 10**9 for i in range(3)]
    column = pyarrow.array(times, pyarrow.timestamp("ns", "UTC"))
    table = pyarrow.table({"ts": column, "prompt_tokens": [1, 2, 3]})
    if nested:
        table = pyarrow.table({"call": table.to_struct_array(), "n": [1, 2, 3]})
    pyarrow.parquet.write_table(table, tmp_path / "trace.parquet")
    trace = traces.read(tmp_path / "trace.parquet")
    assert sorted(trace.requests.time.to_list()) == [1_767_225_600.5 + i for i in range(3)]
    assert traces.summary(trace).arrival_scv == pytest.approx(0)


def test_a_type_that_only_duckdb_knows_is_named_as_it_names_it(tmp_path):
    times = pyarrow.array([1_767_225_600_500_000_000], pyarrow.timestamp("ns", "UTC"))
    pyarrow.parquet.write_table(pyarrow.table({"prompt_tokens": times}), tmp_path / "trace.parquet")
    with pytest.raises(InputError, match="'prompt_tokens' is of type time; wanted numbers"):
        traces.read(tmp_path / "trace.parquet")
    kind = engine.connect()
    kind.raw_sql("CREATE TEMP VIEW file AS SELECT TIME_NS '10:00:00' AS at")
    assert sources._unknown(kind, '"at"').kind == "TIME_NS"


@pytest.mark.parametrize("name", ["a[1].csv", "what? *.csv", "it's.csv", "ä ö.csv"])
def test_a_name_is_no_pattern_and_no_sql(name, file):
    assert traces.session_lengths(traces.read(file(as_csv(GOOD), name)).sessions).count == 2


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[as_csv(GOOD)])
    writer.start()
    assert traces.session_lengths(traces.read(tmp_path / "pipe").sessions).count == 2
    writer.join()


def test_a_folder_and_a_pattern_are_one_trace(tmp_path):
    for i in range(3):
        (tmp_path / f"part-{i}.csv").write_text(as_csv(GOOD[3 * i : 3 * i + 3]))
    (tmp_path / "_SUCCESS").write_text("")
    for path in (tmp_path, tmp_path / "part-*.csv"):
        assert traces.session_lengths(traces.read(path).sessions).count == 2


NANO = 1_700_000_000_000_000_000


def span(operation, start, seconds, **attributes):
    named = {"gen_ai.operation.name": operation} | attributes
    values = [
        {"key": k, "value": {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}}
        for k, v in named.items()
        if v is not None
    ]
    times = {
        "startTimeUnixNano": str(NANO + int(start * 1e9)),
        "endTimeUnixNano": str(NANO + int((start + seconds) * 1e9)),
    }
    return {"traceId": "5b8e", "spanId": "eee1", "name": "x", **times, "attributes": values}


def call(start, prompt, answer, cached=0, **more):
    names = ("input_tokens", "output_tokens", "cache_read.input_tokens")
    usage = {f"gen_ai.usage.{name}": v for name, v in zip(names, (prompt, answer, cached), strict=True)}
    return span("chat", start, 2, **{"gen_ai.conversation.id": "c1"}, **usage, **more)


def exported(*spans):
    return json.dumps(
        {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}
    )


SPANS = [
    call(0, 1000, 50),
    span("execute_tool", 2, 6),
    call(8, 1400, 70, 1000),
    span("invoke_agent", 0, 10, **{"gen_ai.usage.input_tokens": 2400}),
    span(None, 0, 1),
]


@pytest.mark.parametrize("form", ["lines", "one, printed", "array"])
def test_spans_of_opentelemetry(form, file):
    lines = exported(*SPANS[:2]) + "\n" + exported(*SPANS[2:]) + "\n"
    whole = {
        "lines": lines,
        "one, printed": json.dumps(json.loads(exported(*SPANS)), indent=2),
        "array": "[" + lines.replace("}\n{", "},\n{") + "]",
    }
    trace = traces.read(file(whole[form], "spans.json"))
    summary = traces.summary(trace)
    assert trace.format == "OpenTelemetry spans"
    assert summary.rejected == {
        "no model call: execute_tool": 1,
        "no model call: invoke_agent": 1,
        "input_tokens missing": 1,
    }
    assert trace.columns["cached_tokens"] == "gen_ai.usage.cache_read.input_tokens"
    assert (summary.lengths.maximum, summary.requests, summary.sessions) == (1470, 2, 1)
    assert [q.m_as("s") for q in (summary.lifetime, summary.model_time, summary.wait, summary.tool_time)] == [
        10,
        4,
        6,
        6,
    ]
    assert summary.hits_by_tokens == pytest.approx(1000 / 2400)


def test_a_line_of_spans_that_is_cut_off_is_counted(file):
    trace = traces.read(file(exported(*SPANS[:1]) + "\n" + exported(*SPANS)[:200], "spans.jsonl"))
    assert trace.rejected == {"line that is no JSON object": 1}


def test_spans_that_were_flattened(file):
    names = {"prompt_tokens": "gen_ai.usage.input_tokens", "completion_tokens": "gen_ai.usage.output_tokens"}
    rows = [
        {
            "attributes": {names[k]: row[k] for k in names} | {"gen_ai.conversation.id": row["session_id"]},
            "startTimeUnixNano": NANO,
        }
        for row in GOOD
    ]
    trace = traces.read(file(json_lines(rows)))
    assert trace.columns["session"] == "attributes.gen_ai.conversation.id"
    assert traces.session_lengths(trace.sessions).maximum == 116


def test_tokens_of_the_cache_beside_the_input_are_added(file):
    """Anthropic's API counts them so; OpenAI's within."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90, "output_tokens": 7}
    trace = traces.read(file(json_lines([{"usage": usage}] * 2)))
    assert trace.requests.to_pyarrow().select(["input_tokens", "cached_tokens"]).to_pylist()[0] == {
        "input_tokens": 1000,
        "cached_tokens": 900,
    }
    assert "are added" in " ".join(trace.notes)
    within = {"prompt_tokens": 1000, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 900}}
    trace = traces.read(file(json_lines([{"usage": within}] * 2)))
    assert trace.requests.input_tokens.to_list() == [1000, 1000]
    assert trace.requests.cached_tokens.to_list() == [900, 900]


TIMES = {
    "1700000000": ("time", "s", 1.7e9),
    "1700000000.25": ("time", "s", 1.7e9 + 0.25),
    "1700000000250": ("time", "ms", 1.7e9 + 0.25),
    "1700000000250000": ("time", "us", 1.7e9 + 0.25),
    "1700000000250000000": ("startTimeUnixNano", "ns", 1.7e9 + 0.25),
    "2500": ("start_ms", "ms", 2.5),
    "2.5": ("time", "s", 2.5),
    "2023-11-14 22:13:20.25": ("time", "date and time", 1.7e9 + 0.25),
    "2023-11-14T22:13:20.25Z": ("time", "date and time", 1.7e9 + 0.25),
    "2023-11-15T00:13:20.250+02:00": ("time", "date and time", 1.7e9 + 0.25),
}


@pytest.mark.parametrize("text", TIMES)
def test_a_time_is_read_in_its_unit_and_that_is_shown(text, file):
    name, unit, expected = TIMES[text]
    trace = traces.read(file(f"{name},prompt_tokens\n{text},5\n"), {"time": name})
    assert trace.columns["time"] == f"{name} [{unit}]"
    assert trace.requests.time.to_list() == [pytest.approx(expected, abs=1e-5)]


def test_a_unit_can_be_given(file):
    trace = traces.read(file("at,prompt_tokens\n2500,5\n"), {"time": "at:ms"})
    assert trace.requests.time.to_list() == [2.5]


@pytest.mark.parametrize("other", ["1700000005000", "12", "1e18", "-1700000000"])
def test_a_time_of_another_size_than_the_others_is_noted(other, file):
    times = ["1700000000", "1700000001", "1700000002", other]
    path = file(HEADER + "".join(f"a,{time},100,10\n" for time in times))
    assert "1 row: time that is no date" in " ".join(traces.summary(traces.read(path)).notes)
    for alike in (times[:3], ["1", "2", "3"]):
        path = file(HEADER + "".join(f"a,{time},100,10\n" for time in alike))
        assert "no date" not in " ".join(traces.summary(traces.read(path)).notes)


def test_an_infinite_time_is_no_sign_that_times_are_numbers(file):
    trace = traces.read(file(HEADER + "a,infinity,100,10\na,-infinity,100,10\n" + ROW))
    assert trace.columns["time"] == "timestamp [date and time]"


def test_a_trace_without_one_time_has_no_waits(file):
    path = file("session_id,time,duration,prompt_tokens\na,soon,1,5\na,later,1,6\n")
    summary = traces.summary(traces.read(path))
    assert (summary.wait, summary.lifetime, summary.wait_share) == (None, None, None)
    assert "no session whose calls have a duration and a time" in " ".join(summary.notes)


def test_runs_of_langsmith_that_hold_others_are_no_calls(file):
    rows = [{"run_type": kind, "trace_id": "t", "prompt_tokens": 100} for kind in ("llm", "chain", "tool", "LLM")]
    trace = traces.read(file(json_lines(rows)))
    assert trace.rejected == {"no model call: chain": 1, "no model call: tool": 1}


def test_sessions_called_null_are_noted(file):
    notes = " ".join(traces.summary(traces.read(file("session_id,prompt_tokens\nNULL,1\nNaN,2\nx,3\n"))).notes)
    assert "2 rows: session is called null or the like" in notes


def test_rows_without_a_time_stay_and_that_is_noted(file):
    trace = traces.read(file(HEADER + ROW + "a,,100,10\n" + "a,soon,100,10\n" + "a,inf,100,10\n"))
    assert trace.checks.read == 4
    assert "3 rows: time is missing" in " ".join(traces.summary(trace).notes)


def test_mixed_time_zones_are_noted(file):
    rows = ["a,2026-01-01 00:00:00,100,10", "a,2026-01-01T02:30:00+02:00,100,10"]
    trace = traces.read(file(HEADER + "\n".join(rows) + "\n"))
    assert np.diff(trace.requests.time.to_list()) == [1800]
    assert "without a zone" in " ".join(traces.summary(trace).notes)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_a_clock_that_goes_back_is_noted_and_put_in_order(order, file):
    rows = [f"a,2026-01-01 00:00:0{i},{100 * (i + 1)},10" for i in order]
    trace = traces.read(file(HEADER + "\n".join(rows) + "\n"))
    back = sum(b < a for a, b in itertools.pairwise(order))
    said = [doubt for doubt in trace.checks.doubts if "clock" in doubt]
    assert [trace.checks.doubts[doubt] for doubt in said] == ([back] if back else [])
    growth = traces.context_growth(trace.requests)
    assert [growth.steps[step].maximum for step in (1, 2, 3)] == [100, 200, 300]
    assert traces.burstiness(trace.requests).scv == pytest.approx(0, abs=1e-6)


def test_sessions_one_after_the_other_have_no_clock_that_goes_back(file):
    rows = [f"{session},2026-01-01 00:00:0{i},100,10" for session in "ab" for i in range(3)]
    assert traces.read(file(HEADER + "\n".join(rows) + "\n")).checks.doubts == {}


def test_repeated_requests_and_sessions_are_noted(file):
    assert "1 request with the time and tokens" in " ".join(traces.summary(traces.read(file(HEADER + ROW + ROW))).notes)
    rows = "id,n_req,max_in\na,3,100\na,3,100\nb,4,500\n"
    assert "1 row with the name of a session" in " ".join(traces.summary(traces.read(file(rows))).notes)


def test_rules_of_sessions(file):
    rows = [("u", 0, "x"), ("u", 50, "x"), ("u", 5000, "y"), ("v", 0, "z")]
    path = file("user,timestamp,prompt_tokens,session_id\n" + "".join(f"{u},{t},100,{s}\n" for u, t, s in rows))
    found = {
        rule: traces.session_lengths(traces.read(path, session=rule).sessions).count
        for rule in (None, "none", "user", "user,gap=600")
    }
    assert found == {None: 3, "none": 4, "user": 2, "user,gap=600": 3}


@pytest.mark.parametrize("gap", ["1h", "1 h", "60 min", "3600 s", "3600", "3600.0"])
def test_a_gap_may_have_a_unit(gap, file):
    path = file("user,ts,prompt_tokens\n" + "".join(f"u,{1_700_000_000 + t},100\n" for t in (0, 3000, 6601)))
    trace = traces.read(path, session=f"user, gap = {gap}")
    assert traces.session_lengths(trace.sessions).count == 2
    assert trace.rule.endswith("for 3,600 s")


@pytest.mark.parametrize("gap", ["1 token", "1.2.3", "soon", "", "0", "-5 s"])
def test_what_is_no_gap_is_refused(gap, file):
    path = file("user,ts,prompt_tokens\nu,1700000000,5\n")
    with pytest.raises(InputError, match=re.escape(f"gap = {gap!r}; wanted seconds, as in gap=3600")):
        traces.read(path, session=f"user,gap={gap}")


@pytest.mark.parametrize("form", [as_csv, json_lines, as_parquet])
def test_prompt_and_completion_are_counts_where_they_are_numbers(form, file):
    numbers = [{"prompt": 100 + i, "completion": 10} for i in range(5)]
    trace = traces.read(file(form(numbers)))
    assert dict(trace.columns) == {"input_tokens": "prompt", "output_tokens": "completion"}
    assert trace.rejected == {}
    texts = [{"prompt": "What is 5?", "completion": "It is 5.", **row} for row in [{"n": 1}] * 5]
    with pytest.raises(InputError, match=r"no column of input tokens .*input_tokens=.* --column output_tokens="):
        traces.read(file(form(texts)))
    counts = [{"prompt": "5", "completion": "6", "prompt_tokens": 1, "completion_tokens": 2}]
    assert traces.read(file(form(counts))).columns["input_tokens"] == "prompt_tokens"


def test_a_missing_output_is_said_at_the_top(run, file):
    out = run(file("prompt\n5\n6\n"))[1]
    assert "output_tokens  none: lengths are those of the input alone" in out.partition("length of a request")[0]


# What cannot be read, and why.

REFUSED = {
    "empty": (b"", {}, "is empty"),
    "white space": (b" \n\n ", {}, "white space"),
    "header": (HEADER, {}, "has a header and no row"),
    "binary": (bytes(range(256)) * 9, {}, "a binary file"),
    "packed by another": (b"BZh91AY&SY" + bytes(range(9, 60)), {}, "packed by bzip2; wanted it unpacked"),
    "binary without zeros": (b"%PDF-1.7\n" + bytes(range(1, 99)), {}, "a binary file"),
    "many columns": (",".join(f"c{i}" for i in range(900)) + "\n", {}, "..."),
    "broken Parquet": (b"PAR1" + bytes(50), {}, "no Parquet to its end"),
    "no header": ("1,2,3\n4,5,6\n", {}, "names of the columns"),
    "cut array": (json.dumps(GOOD)[:-20], {}, "cut off"),
    "JSON without objects": ("[1, 2, 3]", {}, "no JSON object"),
    "JSON in UTF-16": (json_lines(GOOD).encode("utf-16"), {}, "UTF-16"),
    "no tokens": ("a,b\n1,2\n", {}, "no column of input tokens among a, b"),
    "wrong column": (as_csv(GOOD), {"columns": {"input_tokens": "prompt_token"}}, "did you mean 'prompt_tokens'"),
    "wrong name": (as_csv(GOOD), {"columns": {"inputs": "prompt_tokens"}}, "did you mean 'input_tokens'"),
    "wrong session": (as_csv(GOOD), {"session": "sesion_id"}, "did you mean 'session_id'"),
    "two guesses": ("input_tokens,prompt_tokens\n1,2\n", {}, "'input_tokens' and 'prompt_tokens' could each be"),
    "the same name twice": ("prompt_tokens,prompt_tokens\n1,2\n", {}, "could each be"),
    "all bad": (HEADER + BAD["input_tokens negative"] * 3, {}, "none of its 3 rows could be read: 3 × input_tokens"),
    "thousands": (HEADER + 'a,2026-01-01,"1,469",5\n', {}, "not a number"),
    "gap without time": ("user,prompt_tokens\na,5\n", {"session": "user,gap=60"}, "needs a time"),
    "blocks without hashes": (as_csv(GOOD), {"session": "blocks"}, "needs hashes"),
    "flags for tokens": (as_parquet([{"prompt_tokens": True}]), {}, "'prompt_tokens' is of type boolean"),
    "lists for tokens": (as_parquet([{"prompt_tokens": [1]}]), {}, "'prompt_tokens' is of type array"),
    "spans without attributes": (exported({"traceId": "1"}), {}, "no span with attributes"),
    "memory": (as_csv(GOOD), {"memory": "much"}, "wanted a size"),
    "packed and cut": (gzip.compress(as_csv(GOOD).encode())[:60], {}, "cannot be read"),
    "an endless line": (b"prompt_tokens\n" + b"1" * 20_000_000, {}, "a line of more than"),
    "an endless first line": (b"p" * 3_000_000, {}, "its first line has more than"),
    "an endless object": (b'{"prompt_tokens": 1}\n{"prompt_tokens": "' + b"1" * 40_000_000, {}, "a line of more than"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_reason(case, file):
    content, options, said = REFUSED[case]
    path = file(content)
    with pytest.raises(InputError) as refused:
        traces.summary(traces.read(path, **options))
    assert said in str(refused.value)
    assert str(path) in str(refused.value) or case == "memory"


@pytest.mark.parametrize("name", ["missing.csv", "missing-*.csv", ""])
def test_what_is_not_there_is_refused(name, tmp_path):
    with pytest.raises(InputError, match="no such file|no file matches|an empty folder"):
        traces.read(tmp_path / name)


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("fault", ["cut", "garbled"])
def test_a_fault_far_down_in_a_packed_file_is_said(kind, fault, file):
    rng = random.Random(4)
    rows = [{"prompt_tokens": rng.randrange(10**6), "completion_tokens": rng.randrange(10**6)} for _ in range(100_000)]
    packed = bytearray(gzip.compress((as_csv(rows) if kind == "csv" else json_lines(rows)).encode(), 1))
    if fault == "cut":
        del packed[-50_000:]
    else:
        packed[-50_000:-40_000] = bytes(10_000)
    with pytest.raises(InputError):
        traces.summary(traces.read(file(bytes(packed))))


def test_files_of_two_forms_or_with_other_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text(as_csv(GOOD))
    (tmp_path / "b.csv").write_text("prompt_tokens\n5\n")
    with pytest.raises(InputError, match="b.csv has other columns than a.csv"):
        traces.read(tmp_path)
    (tmp_path / "b.csv").write_text(json_lines(GOOD))
    with pytest.raises(InputError, match="wanted one format"):
        traces.read(tmp_path)


PROSE = "Real traces, to try the statistics on\n\nThree files. Each has a line of its own.\n- one\n- two\n"


def test_a_text_that_is_no_table_is_not_called_one(file):
    with pytest.raises(InputError, match="README.md: is no CSV, JSON, Parquet or OpenTelemetry"):
        traces.read(file(PROSE, "README.md"))
    with pytest.raises(InputError, match="no column of input tokens among text, n"):
        traces.read(file("text,n\n" + "w " * 100_000 + ",1\n", "long.csv"))
    with pytest.raises(InputError, match="no column of input tokens among tokens"):
        traces.read(file("tokens\n5\n6\n", "one.csv"))


@pytest.mark.parametrize("name", ["README.md", "z.md"])
def test_a_folder_with_something_else_in_it_is_refused_by_its_name(name, tmp_path):
    (tmp_path / "trace.csv").write_text(as_csv(GOOD))
    (tmp_path / name).write_text(PROSE)
    with pytest.raises(InputError, match=f"/{name}: is no CSV.*; wanted files of one format"):
        traces.read(tmp_path)
    (tmp_path / "trace.csv").unlink()
    with pytest.raises(InputError, match=f"/{name}: is no CSV"):
        traces.read(tmp_path)


def test_no_name_is_not_the_current_folder(monkeypatch, tmp_path):
    (tmp_path / "trace.csv").write_text(as_csv(GOOD))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no file is named; wanted a trace"):
        traces.read("")


NAMES_IN_USE = {
    "ContextTokens": "input_tokens",
    "GeneratedTokens": "output_tokens",
    "Request tokens": "input_tokens",
    "Response tokens": "output_tokens",
    "Session ID": "session",
    "Elapsed time": "duration",
    "hash_ids": "blocks",
    "promptTokens": "input_tokens",
    "usage.prompt_tokens": "input_tokens",
    "usage.prompt_tokens_details.cached_tokens": "cached_tokens",
    "usageDetails.input": "input_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
    "attributes.gen_ai.usage.prompt_tokens": "input_tokens",
    "usage.cache_read.input_tokens": "cached_tokens",
}


@pytest.mark.parametrize(("name", "canonical"), NAMES_IN_USE.items())
def test_names_in_use_are_guessed(name, canonical):
    assert {what: choice.column for what, choice in chosen([name], {}, ALIASES, "trace").items()} == {canonical: name}


@pytest.mark.parametrize(
    "name", ["gen_ai.usage.text.input_tokens", "total_tokens", "max_tokens", "input", "prompt", "model"]
)
def test_other_names_are_not(name):
    assert chosen([name], {}, ALIASES, "trace") == {}


@pytest.mark.parametrize("aliases", [ALIASES, SESSION_ALIASES], ids=["requests", "sessions"])
def test_no_name_stands_for_two_things(aliases):
    names = [plain(name) for text in aliases.values() for name in text.split()]
    assert [name for name, number in Counter(names).items() if number > 1] == []


# The command.


def test_the_command_says_what_it_found(run, public):
    code, out, _ = run(public("AzureLLMInferenceTrace_code.csv"), "--cap", 131_072)
    assert code == 0
    for said in (
        "input_tokens   ContextTokens",
        "8,819 rows, of which 8,819 are read",
        "8,819 rows, of which 8,819 are read: 8,819 requests, each counted as a session of its own",
        "length of a request",
        "Memory is kept for sessions that never come: the 99th percentile is 5.69 % of the cap",
        "burstiness of requests (c², 1 for Poisson)  173",
    ):
        assert said in out


def test_requests_without_a_session_are_not_called_sessions(run, file):
    rows = "".join(f"u{i % 2},{1_700_000_000 + i},{100 + i},10\n" for i in range(50))
    path = file("user,ts,prompt_tokens,completion_tokens\n" + rows)
    code, out, _ = run(path)
    assert code == 0
    said = "50 requests, each counted as a session of its own"
    assert said in out.splitlines()[0]
    assert "50 sessions" not in out
    assert "needs 3,688 requests" in out
    assert "column user may tell sessions: --session user,gap=1800" in out
    answer = json.loads(run(path, "--json")[1])
    assert answer["session_rule"] == said
    assert answer["sessions_are_requests"]
    out = run(path, "--session", "user,gap=1800")[1]
    assert "2 sessions; what makes one: requests of one user" in out
    assert "needs 3,688 sessions" in out
    assert "may tell sessions" not in out + run(path, "--session", "none")[1]
    path = file("customer_id,prompt_tokens\na,5\na,6\n")
    assert "column customer_id may tell sessions: --session customer_id" in traces.summary(traces.read(path)).notes


def test_the_command_names_both_shares_of_hits(run, public):
    _, out, _ = run(public("mooncake_synthetic_trace.jsonl"), "--explain")
    assert "prefix hits, of all input tokens            65.1 %" in out
    assert "prefix hits, averaged over requests         43.2 %" in out
    assert "timestamp [ms]" in out


def test_the_command_prints_json(run, public):
    code, out, _ = run(public("agent_sessions.csv"), "--column", "length=last_total", "--json", "--cap", 1_000_000)
    answer = json.loads(out)
    assert code == 0
    p99 = next(row for row in answer["length_tokens"]["quantiles"] if row["p"] == 0.99)
    assert p99 == {"p": 0.99, "tokens": pytest.approx(791262.06), "low": 706980, "high": 881443, "sessions_wanted": 368}
    assert answer["cap"]["verdict"] == "between"
    assert answer["growth"] is None
    assert answer["rows"] == 710


def test_the_command_lists_what_was_not_read(run, file):
    path = file(HEADER + ROW * 5 + BAD["input_tokens negative"] * 2)
    code, out, _ = run(path, "--explain")
    assert code == 0
    assert "- 2 rows: input_tokens negative, as in" in out
    code, out, _ = run("-", "--json", stdin=path.read_bytes())
    assert json.loads(out)["rejected"] == {"input_tokens negative": 2}


@pytest.mark.parametrize(("cap", "between"), [(110_000, False), (200_000, True), (2_000_000, False)])
def test_the_limits_of_a_verdict_are_said_where_it_is_in_between(cap, between, run, file):
    path = file("session,prompt_tokens,completion_tokens\n" + "".join(f"s{i},100000,{i}\n" for i in range(50)))
    out = re.sub(r"\s+", " ", run(path, "--cap", cap)[1])
    limits = "A cap works when the 99th percentile is 80 % of it or more; at 10 % or less it is idle."
    assert (limits in out) == between


def test_numbers_are_written_out_and_explanations_without_markup(run, file):
    rows = "".join(f"s{i},{1_700_000_000 + i / 3},100000000,{i}\n" for i in range(99))
    out = run(file("session,time,prompt_tokens,completion_tokens\n" + rows), "--explain", "--cap", 1000)[1]
    assert re.search(r"sessions that start +10,\d00 an hour", out)
    assert not re.search(r"\de[+-]\d", out)
    assert not re.search(r":\w+:`|``", out)


def test_canonical_names_are_completed():
    from costlib.cli.trace import CANONICAL

    assert sorted(CANONICAL) == sorted(ALIASES | SESSION_ALIASES)


SLIPS = [
    (["missing.csv"], "missing.csv: no such file"),
    (["{}", "--column", "input_tokens"], "wanted NAME=COLUMN"),
    (["{}", "--column", "input_tokens=prompt"], "no column 'prompt'"),
    (["{}", "--cap", "0"], "wanted a whole number of tokens"),
    (["{}", "--session", "x"], "is no column"),
    (["{}", "--memory", "x"], "wanted a size"),
]


@pytest.mark.parametrize(("arguments", "said"), SLIPS)
def test_bad_input_ends_the_command_with_a_sentence(arguments, said, run, file):
    path = file(as_csv(GOOD))
    code, out, err = run(*(str(path) if text == "{}" else text for text in arguments))
    assert (code, out) == (2, "")
    assert said in re.sub(r"\s+", " ", err)


def test_a_person_who_waits_sees_that_it_goes_on(file):
    """Standard error is a terminal, standard output is not."""
    terminal, ours = pty.openpty()
    command = [sys.executable, "-m", "costlib", "trace", str(file(as_csv(GOOD))), "--json"]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=ours, check=True).stdout
    shown = os.read(terminal, 100_000).decode()
    os.close(ours), os.close(terminal)
    assert json.loads(out)["sessions"] == 2
    assert "Reading the trace: 0 s" in shown


def test_a_pass_says_how_far_it_is(tmp_path):
    """Polled while a query runs that is long enough to be seen."""
    connection, seen, over = engine.counting(engine.connect()), [], threading.Event()

    def ask():
        while not over.wait(0.005):
            seen.append(engine.progress(connection))

    asking = threading.Thread(target=ask)
    asking.start()
    connection.raw_sql("SELECT sum(hash(i)) FROM range(60_000_000) AS r(i)").fetchall()
    over.set()
    asking.join()
    told = [done for done in seen if done is not None]
    assert told
    assert all(0 <= done <= 100 for done in told)


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    """Standard input is held open, so that the command is at work when it is interrupted."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "costlib", "trace", "-"]
    at_work = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for _ in range(600):
        if list(tmp_path.glob("costlib-*/input")):
            break
        time.sleep(0.05)
    at_work.send_signal(signal.SIGINT)
    out, err = at_work.communicate(timeout=60)
    assert at_work.returncode in (1, 130)
    assert (out, b"Traceback" in err, list(tmp_path.iterdir())) == (b"", False, [])
