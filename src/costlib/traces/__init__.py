"""Request and session traces of any size: how long sessions are, how they grow, wait, arrive and share prefixes.

- :mod:`costlib.traces.sources`, :mod:`costlib.traces.csv_files`, :mod:`costlib.traces.spans`: from files to a
  :mod:`costlib.traces.source`, which DuckDB (:mod:`costlib.traces.engine`) reads
- :mod:`costlib.traces.columns`, :mod:`costlib.traces.requests`: which column is which, and which rows are
  requests; :mod:`costlib.traces.checks`: what became of every row
- :mod:`costlib.traces.trace`: a file as tables of requests and sessions
- :mod:`costlib.traces.grouping`, :mod:`costlib.traces.prefixes`: requests put into sessions
- :mod:`costlib.traces.statistics`, :mod:`costlib.traces.distributions`: what they come to
- :mod:`costlib.traces.summaries`: all of it

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
