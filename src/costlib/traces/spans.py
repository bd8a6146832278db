"""OpenTelemetry's spans as the collector's file exporter writes them: from nested exports to one row a span.

The format is OTLP in JSON, ``resourceSpans[].scopeSpans[].spans[]``, whose attributes
are a list of keys and typed values. Which attribute is what is a matter of
:mod:`costlib.traces.columns`, as for any other file.
References: https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/ and
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

from dataclasses import replace

from costlib.schema import InputError
from costlib.traces.engine import text
from costlib.traces.source import SAMPLE, Column

__all__ = ["is_of_spans", "spans_of"]

FIELD = "resourceSpans"
VALUES = ("intValue", "stringValue", "doubleValue", "boolValue")
PLAIN = ("traceId", "spanId", "parentSpanId", "name", "startTimeUnixNano", "endTimeUnixNano")
SPAN = (
    "STRUCT("
    + ", ".join(f"{name} VARCHAR" for name in PLAIN)
    + ', attributes STRUCT("key" VARCHAR, "value" STRUCT('
    + ", ".join(f"{name} VARCHAR" for name in VALUES)
    + "))[])"
)
UNNESTED = (
    "(SELECT unnest(scope.spans) AS span FROM (SELECT unnest(resource.scopeSpans) AS scope FROM "
    f'(SELECT unnest("{FIELD}") AS resource FROM {{}})))'
)


def is_of_spans(source):
    """Whether a JSON source holds exports of spans."""
    return any(column.top == FIELD for column in source.columns.values())


def spans_of(connection, source):
    """A source with one row a span, whose columns are its fields and attributes.

    Raises
    ------
    InputError
        If it holds no span.
    """
    whole = Column("span", "text", FIELD, f"STRUCT(scopeSpans STRUCT(spans {SPAN}[])[])[]")
    spans = replace(source, wrapped=UNNESTED, columns={"span": whole})
    some = f"SELECT span FROM {spans.relation(['span'])} LIMIT {SAMPLE}"
    keys = f"SELECT DISTINCT unnest(list_transform(span.attributes, lambda a: a.key)) FROM ({some})"
    attributes = sorted(key for (key,) in connection.raw_sql(keys).fetchall() if key is not None)
    if not attributes:
        raise InputError(
            f"{source.where}: has no span with attributes; wanted gen_ai.usage.input_tokens of model calls"
        )
    plain = {name: replace(whole, sql=f"span.{name}") for name in PLAIN}
    named = {key: replace(whole, sql=_attribute(key)) for key in attributes}
    return replace(spans, columns=plain | named)


def _attribute(key):
    """The value of a span's attribute, as text; of one that is there twice, the first."""
    value = f"list_filter(span.attributes, lambda a: a.key = {text(key)})[1].value"
    return f"coalesce({', '.join(f'{value}.{name}' for name in VALUES)})"
