"""costlib.book.recorded: what is recorded of the week is what DuckDB finds in it, and a browser is given that."""

import json
import math
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from conftest import BOOK, ROOT
from costlib import traces
from costlib.book import recorded
from costlib.book.live import absent

PAGE = BOOK / "worksheet.md"


def leaves(value, path=""):
    """The plain values of a nest of them, by where they stand."""
    if not isinstance(value, dict | list):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {name: leaf for key, item in items for name, leaf in leaves(item, f"{path}.{key}").items()}


def same(one, other):
    """Whether two plain values are, numbers but for their last digits, in which machines differ."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other


@pytest.fixture(scope="module")
def live():
    """What DuckDB finds in the week as the page has it read, as JSON has it."""
    return json.loads(json.dumps(recorded.record(PAGE)))


def test_the_record_is_what_is_found_in_the_week(live):
    """Write it anew with ``python -m costlib.book.recorded book/worksheet.md``."""
    known, found = leaves(json.loads(recorded.RECORD.read_text("utf-8"))), leaves(live)
    assert known.keys() == found.keys()
    assert {name: (known[name], found[name]) for name in known if not same(known[name], found[name])} == {}


def test_a_browser_is_given_the_record_and_reads_nothing():
    with absent.standing_in(absent.NATIVE):
        from costlib.book import recorded as in_a_browser
        from costlib.traces import Summary

        summary, intervals = in_a_browser.observed(lambda: pytest.fail("it reads"))
        assert isinstance(summary, Summary)
        assert in_a_browser.plain((summary, intervals)) == json.loads(recorded.RECORD.read_text("utf-8"))


def test_with_duckdb_the_week_is_read():
    assert recorded.observed(lambda: "read") == "read"


def test_the_record_tells_what_the_summary_tells():
    summary, intervals = recorded.recorded()
    lengths = summary.lengths
    assert lengths.count == summary.sessions == int(np.sum(lengths.counts))
    assert intervals == {p: lengths.interval(p) for p in (0.5, 0.9, 0.99)}
    assert lengths.cut_off().looks == summary.cut_off.looks
    assert isinstance(summary.growth.steps[1], traces.Distribution)


def test_reading_the_week_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recorded.record(PAGE)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_record(tmp_path):
    code = (
        "import pathlib, sys\n"
        "from costlib.book import recorded\n"
        f"recorded.RECORD = pathlib.Path({str(tmp_path / 'record.json')!r})\n"
        "sys.argv = ['recorded', 'book/worksheet.md']\n"
        "recorded.main()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert (
        leaves(json.loads((tmp_path / "record.json").read_text())).keys()
        == leaves(json.loads(recorded.RECORD.read_text("utf-8"))).keys()
    )
