"""Every statistic of a trace is the same on Spark as on DuckDB: skipped where there is no Java or no pyspark."""

import shutil

import ibis
import numpy as np
import pytest
from test_traces import NAMES, made, prefixed, table_of

from costlib import traces
from costlib.traces import statistics
from costlib.traces.prefixes import by_prefix

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),  # of pandas 3, by pyspark
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # of py4j
]


@pytest.fixture(scope="module")
def spark():
    """A Spark on this machine, without its web page, its parallel tasks and its compiler."""
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.default.parallelism": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",  # the tables are small
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def engines(spark):
    """The same requests in DuckDB and in Spark: those with sessions, of which some are repeated, and with blocks."""
    duckdb, other = ibis.duckdb.connect(), ibis.pyspark.connect(spark)
    tables, plain = {}, [dict(zip(NAMES, row, strict=True)) for row in made()]
    for name, rows in {"plain": plain + plain[::7], "blocks": prefixed()}.items():
        spark.createDataFrame(rows).createOrReplaceTempView(name)
        duckdb.create_table(name, table_of(rows))
        tables[name] = duckdb.table(name), other.table(name)
    return tables


def lengths(table):
    return traces.session_lengths(traces.sessions(table))


QUESTIONS = {
    "lengths": ("plain", lengths),
    "lengths by silence": ("plain", lambda table: lengths(traces.by_gap(table, "session", 30.0))),
    "lengths by prefixes": ("blocks", lambda table: lengths(by_prefix(table))),
    "growth": ("plain", traces.context_growth),
    "waits": ("plain", lambda table: traces.waits(traces.sessions(table))),
    "burstiness": ("plain", traces.burstiness),
    "hits as served": ("plain", traces.prefix_hits),
    "hits of a cache that forgets nothing": ("blocks", traces.prefix_hits),
    "repeats": ("plain", statistics.repeated),
    "copies": ("plain", lambda table: statistics.copies(traces.sessions(table))),
}


def numbers(answer):
    """All numbers of an answer."""
    if isinstance(answer, dict):
        return [number for key in sorted(answer) for number in [key, *numbers(answer[key])]]
    if isinstance(answer, traces.Distribution):
        return [*answer.values.tolist(), *answer.counts.tolist()]
    if hasattr(answer, "__dataclass_fields__"):
        return [number for value in vars(answer).values() for number in numbers(value)]
    return [np.nan if answer is None else float(answer)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_spark_and_duckdb_say_the_same(question, engines):
    name, ask = QUESTIONS[question]
    ours, other = (numbers(ask(table)) for table in engines[name])
    assert len(ours) >= 1
    assert ours == pytest.approx(other, rel=1e-12, nan_ok=True)
