"""Statistics of random requests with holes and ties, against pandas."""

import math

import ibis
import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import traces
from costlib.traces import statistics

TYPES = {
    "session": "string",
    "time": "float64",
    "input_tokens": "int64",
    "output_tokens": "int64",
    "duration": "float64",
    "cached_tokens": "int64",
}
COLUMNS = pyarrow.schema([pyarrow.field(*pair) for pair in TYPES.items()])
TURN = ["session", "time", "input_tokens", "output_tokens"]


def quarters(most):
    return st.none() | st.integers(0, most).map(lambda number: number / 4)


REQUEST = st.fixed_dictionaries(
    {
        "session": st.none() | st.sampled_from("abc"),
        "time": quarters(40),
        "input_tokens": st.integers(0, 5),
        "output_tokens": st.integers(0, 3),
        "duration": quarters(16),
        "cached_tokens": st.none() | st.integers(0, 5),
    }
)
some = given(st.lists(REQUEST, min_size=1, max_size=25))
few = settings(derandomize=True, deadline=None, max_examples=15)


def both(rows):
    """The same requests for the library and for pandas."""
    frame = pd.DataFrame(rows, columns=COLUMNS.names).astype({"time": float, "duration": float, "cached_tokens": float})
    return ibis.memtable(pyarrow.Table.from_pylist(rows, COLUMNS)), frame


def in_turn(frame):
    return frame[frame.session.notna() & frame.time.notna()].sort_values(TURN)


@few
@some
def test_sessions(rows):
    table, frame = both(rows)
    found = {row["session"]: row for row in traces.sessions(table).to_pyarrow().to_pylist()}
    assert set(found) == set(frame.session.dropna())
    for name, calls in frame.groupby("session"):
        assert found[name]["length"] == (calls.input_tokens + calls.output_tokens).max()
        assert (found[name]["requests"], found[name]["input_tokens"]) == (len(calls), calls.input_tokens.sum())
        outside = (calls.time + calls.duration).max() - calls.time.min() - calls.duration.sum()
        told = calls.duration.notna().all() and calls.time.notna().all()
        assert found[name]["wait"] == (pytest.approx(max(outside, 0)) if told else None)
        assert found[name]["model_time"] == (pytest.approx(calls.duration.sum()) if told else None)


@few
@some
def test_growth_and_repeats(rows):
    table, frame = both(rows)
    growth, calls = traces.context_growth(table, steps=(1, 2, 3)), in_turn(frame)
    step = calls.groupby("session").cumcount() + 1
    assert set(growth.steps) == {1, 2, 3} & set(step)
    for number, contexts in growth.steps.items():
        assert contexts.quantile(0.5) == calls.input_tokens[step == number].median()
    added = calls.groupby("session").input_tokens.diff().dropna()
    expected = (added.mean(), (added < 0).mean()) if len(added) else (None, None)
    assert (growth.added, growth.shrinking) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
    assert growth.repeated == statistics.repeated(table) == calls.duplicated(TURN).sum()


@few
@some
def test_arrivals(rows):
    table, frame = both(rows)
    times = np.sort(frame.time.dropna())
    found = traces.burstiness(table)
    if len(times) < 3 or times[0] == times[-1]:
        assert found is None or found.scv is None
    else:
        gaps = np.diff(times)
        assert found.scv == pytest.approx(gaps.var() / gaps.mean() ** 2, abs=1e-9)


@few
@some
def test_hits_as_served(rows):
    table, frame = both(rows)
    found, told = traces.prefix_hits(table), frame[(frame.input_tokens > 0) & frame.cached_tokens.notna()]
    shares = (told.cached_tokens / told.input_tokens).mean()
    assert (math.nan if found is None else found.by_requests) == pytest.approx(shares, nan_ok=True)
    if found is not None:
        assert found.by_tokens == pytest.approx(told.cached_tokens.sum() / told.input_tokens.sum())


@few
@given(st.lists(REQUEST, min_size=1, max_size=25), st.sampled_from([0.25, 1, 3]))
def test_sessions_by_silence(rows, gap):
    table, frame = both(rows)
    found = traces.sessions(traces.by_gap(table.rename(user="session"), "user", gap))
    expected = sum(1 + (np.diff(calls.time) > gap).sum() for _, calls in in_turn(frame).groupby("session"))
    assert found.count().to_pyarrow().as_py() == expected
