"""Quantiles of session lengths against DuckDB's own SQL for them: time and peak memory, each in a fresh process.

COSTLIB_ROWS=100000000 for another size; that of memory grows little with it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = int(float(os.environ.get("COSTLIB_ROWS", 1e7)))
REPEATS = 5
MOST_TIME, MOST_MEMORY, LIMIT = 1.2, 1.3, 2.0  # ratios, and GB for the whole of `costlib trace`
SHARES = [0.5, 0.9, 0.99]

STEPS, ABREAST = 20, 1000  # requests of a session, and sessions that run at once
REQUESTS = f"""
    SELECT concat('session-', i // {STEPS * ABREAST} * {ABREAST} + i % {ABREAST}) AS session_id,
        1.7e9 + i / 100 AS timestamp,
        4000 + hash(i % {ABREAST}) % 5000 + hash(i) % 4000 + 900 * (i // {ABREAST} % {STEPS}) AS input_tokens,
        hash(3 * i) % 700 AS output_tokens,
        hash(5 * i) % 900 / 100 AS duration_s
    FROM range({ROWS}) AS numbered(i)
"""


def written(folder, kind):
    """A file of so many requests."""
    import duckdb

    file = Path(folder, f"requests.{kind}")
    duckdb.connect(config={"memory_limit": "1GB"}).execute(f"COPY ({REQUESTS}) TO '{file}'")
    return file


def ours(file):
    """The quantiles by the library."""
    from costlib.traces import read, session_lengths

    trace = read(file)
    lengths = session_lengths(trace.sessions)
    return [lengths.quantile(share) for share in SHARES]


def plain(file):
    """The quantiles in SQL, as one would write it."""
    import duckdb

    lengths = f"SELECT max(input_tokens + output_tokens) AS length FROM '{file}' GROUP BY session_id"
    return duckdb.sql(f"SELECT quantile_cont(length, {SHARES}) FROM ({lengths})").fetchall()[0][0]


def whole(file):
    """All that `costlib trace` says of the file."""
    from costlib.traces import read, summary

    return summary(read(file)).lengths.quantile(0.5)


def measured(function, file):
    """What a function gives in a fresh process, its seconds without the imports, and the process's peak memory."""
    run = [sys.executable, __file__, function.__name__, str(file)]
    return json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout)


def main():
    ends = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for kind in ("csv", "parquet"):
            file = written(folder, kind)
            print(f"{ROWS:,} requests, {file.stat().st_size / 1e6:,.0f} MB of {kind}")
            ends += compared(file)
            file.unlink()
    return any(ends)


def compared(file):
    """Print both ways beside each other; whether a target is missed, one by one."""
    tries = [[measured(function, file) for function in (ours, plain)] for _ in range(REPEATS)]
    assert all(mine["value"] == peer["value"] for mine, peer in tries)
    times = [min(each["seconds"] for each in column) for column in zip(*tries, strict=True)]
    peaks = [min(each["bytes"] for each in column) for column in zip(*tries, strict=True)]
    for name, seconds, peak in zip(("costlib", "DuckDB's SQL"), times, peaks, strict=True):
        print(f"  {name:14} {seconds:7.2f} s {peak / 1e6:7,.0f} MB")
    time_ratio, memory_ratio = times[0] / times[1], peaks[0] / peaks[1]
    print(f"  time {time_ratio:.2f} times (target: at most {MOST_TIME}), memory {memory_ratio:.2f} ({MOST_MEMORY})")
    everything = measured(whole, file)
    print(f"  costlib trace  {everything['seconds']:7.2f} s {everything['bytes'] / 1e6:7,.0f} MB (at most {LIMIT} GB)")
    return time_ratio > MOST_TIME, memory_ratio > MOST_MEMORY, everything["bytes"] > LIMIT * 1e9


def one(name, file):
    """Run one function in this process, and print what was measured."""
    import costlib.traces  # noqa: F401  its imports, like DuckDB's, are not of the query

    start = time.perf_counter()
    value = globals()[name](file)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"value": value, "seconds": seconds, "bytes": peak}))


if __name__ == "__main__":
    sys.exit(one(*sys.argv[1:]) if sys.argv[1:] else main())
