"""Quantiles of session lengths against DuckDB's own SQL for them: time and peak memory, each in a fresh process.

Both are run on a file of a few rows first, in the same process, so that libraries are loaded on either side (a
quarter of a second, and 80 MB, once); the peak of DuckDB's SQL in a process that has loaded no more than DuckDB is
printed beside it. COSTLIB_ROWS=100000000 for another size.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANY = int(float(os.environ.get("COSTLIB_ROWS", 1e7)))
FEW = 1000  # rows of the file that libraries are loaded with
REPEATS = 5
MOST_TIME, MOST_MEMORY, LIMIT = 1.2, 1.3, 2.0  # ratios, and GB for the whole of `costlib trace`
SHARES = [0.5, 0.9, 0.99]

STEPS, ABREAST = 20, 1000  # requests of a session, and sessions that run at once
REQUESTS = """
    SELECT concat('session-', i // {together} * {abreast} + i % {abreast}) AS session_id,
        1.7e9 + i / 100 AS timestamp,
        4000 + hash(i % {abreast}) % 5000 + hash(i) % 4000 + 900 * (i // {abreast} % {steps}) AS input_tokens,
        hash(3 * i) % 700 AS output_tokens,
        hash(5 * i) % 900 / 100 AS duration_s
    FROM range({rows}) AS numbered(i)
"""


def written(folder, kind, rows):
    """A file of so many requests."""
    import duckdb

    file = Path(folder, f"{rows}.{kind}")
    query = REQUESTS.format(rows=rows, steps=STEPS, abreast=ABREAST, together=STEPS * ABREAST)
    duckdb.connect(config={"memory_limit": "1GB"}).execute(f"COPY ({query}) TO '{file}'")
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
    query = f"SELECT quantile_cont(length, {SHARES}) FROM ({lengths})"
    return duckdb.connect().sql(query).fetchall()[0][0]


def whole(file):
    """All that `costlib trace` says of the file."""
    from costlib.traces import read, summary

    return summary(read(file)).lengths.quantile(0.5)


def main():
    ends = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for kind in ("csv", "parquet"):
            file, small = written(folder, kind, MANY), written(folder, kind, FEW)
            print(f"{MANY:,} requests, {file.stat().st_size / 1e6:,.0f} MB of {kind}")
            ends += compared(file, small)
            file.unlink()
    return any(ends)


def compared(file, small):
    """Print both ways beside each other; whether a target is missed, one by one."""
    tries = [[measured(function, file, small) for function in (ours, plain)] for _ in range(REPEATS)]
    assert all(mine["value"] == peer["value"] for mine, peer in tries)
    times = [min(each["seconds"] for each in column) for column in zip(*tries, strict=True)]
    peaks = [min(each["bytes"] for each in column) for column in zip(*tries, strict=True)]
    alone = min(measured(plain, file)["bytes"] for _ in range(REPEATS))
    print(f"  costlib        {times[0]:7.2f} s {peaks[0] / 1e6:7,.0f} MB")
    print(f"  DuckDB's SQL   {times[1]:7.2f} s {peaks[1] / 1e6:7,.0f} MB ({alone / 1e6:,.0f} MB without our libraries)")
    time_ratio, memory_ratio = times[0] / times[1], peaks[0] / peaks[1]
    print(f"  time {time_ratio:.2f} times (target: at most {MOST_TIME}), memory {memory_ratio:.2f} ({MOST_MEMORY})")
    everything = measured(whole, file)
    print(f"  costlib trace  {everything['seconds']:7.2f} s {everything['bytes'] / 1e6:7,.0f} MB (at most {LIMIT} GB)")
    return time_ratio > MOST_TIME, memory_ratio > MOST_MEMORY, everything["bytes"] > LIMIT * 1e9


def measured(function, *files):
    """What a function gives of the first file in a fresh process, its seconds, and the process's peak memory."""
    run = [sys.executable, __file__, function.__name__, *map(str, files)]
    return json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout)


def one(name, file, *small):
    """Run one function in this process, both on the small file before if there is one; print what was measured."""
    for path in small:
        ours(path), plain(path)
    start = time.perf_counter()
    value = globals()[name](file)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"value": value, "seconds": seconds, "bytes": peak}))


if __name__ == "__main__":
    sys.exit(one(*sys.argv[1:]) if sys.argv[1:] else main())
