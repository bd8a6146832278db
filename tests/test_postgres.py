"""costlib.book.postgres: a real server, crashed and recovered; what is recorded of it is what it does."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from conftest import BOOK, ROOT
from costlib import book
from costlib.book import postgres
from costlib.book.live import absent
from costlib.book.postgres import Server, observed, provenance

PAGE = BOOK / "transactions.md"


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        with server.connect() as session:
            session.execute("CREATE TABLE numbers (number int)")
        yield server


def numbers(server):
    with server.connect() as session:
        return [number for (number,) in session.execute("SELECT number FROM numbers ORDER BY number")]


def test_what_was_committed_outlives_a_crash_and_what_was_not_does_not(server):
    session = server.connect()
    session.execute("INSERT INTO numbers VALUES (1)")
    session.execute("BEGIN")
    session.execute("INSERT INTO numbers VALUES (2)")
    server.crash()
    session.close()
    server.start()
    assert numbers(server) == [1]


def test_a_crash_ends_every_session(server):
    session = server.connect()
    server.crash()
    with pytest.raises(psycopg.OperationalError):
        session.execute("SELECT 1")
    session.close()
    server.start()


def test_records_of_the_log_point_back_to_one_another(server):
    with server.connect() as session:
        session.execute("SELECT pg_switch_wal()")
        (start,) = session.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        session.execute("INSERT INTO numbers VALUES (3)")
        session.execute("INSERT INTO numbers VALUES (4)")
        (end,) = session.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
    records = server.wal(start, end)
    assert [record.what for record in records] == ["Heap INSERT", "Transaction COMMIT"] * 2
    assert [record.transaction for record in records] == [0, 0, 1, 1]
    assert [record.previous for record in records] == [None, *(record.position for record in records[:-1])]


def test_nothing_of_a_server_is_left_when_its_block_fails():
    with pytest.raises(KeyError), Server() as server:
        folder = server._folder
        assert (folder / "postmaster.pid").exists()
        raise KeyError
    assert not folder.exists()


def test_nothing_of_a_server_is_left_when_its_process_is_killed():
    code = "from costlib.book.postgres import Server; s = Server(); print(s._folder, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        folder = Path(process.stdout.readline().decode().strip())
        assert (folder / "postmaster.pid").exists()
        process.kill()
    for _ in range(100):
        if not folder.exists():
            break
        time.sleep(0.1)
    assert not folder.exists()


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_nothing_is_left_when_the_process_is_killed_while_a_server_is_set_up(tmp_path, seconds):
    code = "from costlib.book import postgres; print(flush=True); postgres.Server(); input()"
    elsewhere = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=elsewhere) as process:
        process.stdout.readline()
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()
    end = time.monotonic() + 10
    while list(tmp_path.iterdir()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_where_no_process_can_be_started(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with absent.standing_in(absent.NATIVE), pytest.raises(absent.Absent, match="PostgreSQL"):
        from costlib.book import postgres as in_a_browser

        in_a_browser.Server()
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def live():
    """What the cells of the page observe, on servers started for this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "_publish", lambda *_: None)
        patch.setattr(postgres, "_live", {})
        return postgres.record(PAGE)


def test_servers_started_and_the_record_is_what_they_did(live):
    """Write it anew with ``python -m costlib.book.postgres book/transactions.md``."""
    record = json.loads(postgres.RECORD.read_text(encoding="utf-8"))
    assert live.pop("version").startswith("PostgreSQL 18")
    assert live == record["observations"]


def test_a_prepared_transaction_is_hidden_holds_its_locks_and_outlives_a_crash(live):
    before, prepared, committed, crashed, resolved = live["two_phases"].values()
    assert prepared["free seats"] == before["free seats"] == committed["free seats"] + 1
    assert (prepared["in doubt"], prepared["another write"]) == (2, "waits for the lock")
    assert (crashed["in doubt"], crashed["another write"]) == (2, "waits for the lock")
    assert crashed["locks held"] == prepared["locks held"] > 0
    assert (resolved["in doubt"], resolved["locks held"], resolved["another write"]) == (0, 0, "goes through")
    assert resolved["free seats"] == committed["free seats"]


def test_a_lock_blocks_all_who_come_and_they_wait_half_of_it(live):
    assert live["lock_held"] == {"blocked": 12, "shorter": 11, "half": True}


def test_an_update_in_the_log_without_its_commit_is_not_undone_and_not_seen(live):
    crash = live["crash_and_recover"]
    of_each = {t: [r["what"] for r in crash["records"] if r["transaction"] == t] for t in (0, 1, 2)}
    assert of_each[1] == ["Heap HOT_UPDATE"]
    assert of_each[0][-1] == of_each[2][-1] == "Transaction COMMIT"
    assert (crash["rows"]["B2"], crash["status"]) == (8, "aborted")
    assert crash["written"] not in crash["places"].values()


# ---------------------------------------------------------------- where no server can start


@pytest.fixture
def unable(monkeypatch):
    def refuse(*_):
        raise OSError("no such program")

    monkeypatch.setattr(postgres.Server, "__init__", refuse)
    monkeypatch.setattr(postgres, "_live", {})


def test_then_the_record_is_shown_and_the_page_says_so(unable):
    def two_phases(server):
        raise AssertionError

    record = json.loads(postgres.RECORD.read_text(encoding="utf-8"))
    assert observed(two_phases) == record["observations"]["two_phases"]
    assert provenance() == (
        "No database server could start where this page was built. "
        f"What it shows of one was recorded on {record['date']}, with {record['version']}."
    )


def test_a_fault_in_an_experiment_is_not_taken_for_a_missing_server():
    def two_phases(server):
        raise OSError("of its own")

    with pytest.raises(OSError, match="of its own"):
        observed(two_phases)


def test_without_a_server_nothing_is_recorded(tmp_path):
    code = (
        "import sys\n"
        "from costlib.book import postgres\n"
        "postgres.Server.__init__ = lambda self: 1 / 0\n"
        "sys.argv = ['postgres', 'book/transactions.md']\n"
        "postgres.main()"
    )
    before = postgres.RECORD.read_bytes()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (
        1, "costlib: no server could start on this machine; nothing is recorded",
    )  # fmt: skip
    assert postgres.RECORD.read_bytes() == before
