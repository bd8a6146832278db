"""Request and session traces of any size: how long sessions are, how they grow, wait, arrive and share prefixes.

- :mod:`costlib.traces.sources`, :mod:`costlib.traces.csv_files`, :mod:`costlib.traces.spans`: from files to a
  :mod:`costlib.traces.source`, which DuckDB (:mod:`costlib.traces.engine`) reads
- :mod:`costlib.traces.columns`, :mod:`costlib.traces.requests`: which column is which, and which rows are
  requests; :mod:`costlib.traces.checks`: what became of every row
- :mod:`costlib.traces.trace`: a file as tables of requests and sessions
- :mod:`costlib.traces.grouping`, :mod:`costlib.traces.prefixes`: requests put into sessions
- :mod:`costlib.traces.statistics`, :mod:`costlib.traces.distributions`: what they come to
- :mod:`costlib.traces.summaries`: all of it

A file is read by :func:`read`. A table of one's own needs the names and seconds that the functions want:

>>> import ibis
>>> own = ibis.memtable({"who": ["ann"] * 3, "at": ["2026-01-01 08:00", "2026-01-01 08:05", "2026-01-01 17:00"],
...                      "prompt": [100, 250, 80], "answer": [50, 50, 20]})
>>> t = own.rename(user="who", input_tokens="prompt", output_tokens="answer")
>>> t = t.mutate(time=t["at"].cast("timestamp").epoch_seconds())
>>> by_session = sessions(by_gap(t, "user", 3600))
>>> session_lengths(by_session).quantile(0.99)
298.0

Needs the extra ``trace``. The functions of tables take an Ibis table of any
backend; those that open files use DuckDB on this machine.
"""

from costlib.traces.distributions import CutOff, Distribution, distribution
from costlib.traces.grouping import by_gap, sessions
from costlib.traces.statistics import burstiness, context_growth, prefix_hits, session_lengths, waits
from costlib.traces.summaries import Summary, summary
from costlib.traces.trace import Trace, read

__all__ = [
    "CutOff",
    "Distribution",
    "Summary",
    "Trace",
    "burstiness",
    "by_gap",
    "context_growth",
    "distribution",
    "prefix_hits",
    "read",
    "session_lengths",
    "sessions",
    "summary",
    "waits",
]
