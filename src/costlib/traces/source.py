"""A source: files of one format, their columns, and the call of DuckDB that reads them."""

import re
from dataclasses import dataclass, replace

from costlib.traces.engine import text

__all__ = ["SAMPLE", "Column", "Source"]

SAMPLE = 2000  # rows from which columns and units are told


@dataclass(frozen=True)
class Column:
    """A column of a file: how DuckDB gets it, and what it is: text, integer, number, time, array or another type."""

    sql: str
    kind: str
    top: str = ""  # the field of a JSON object that it is in
    type: str = "VARCHAR"  # as which that is read


@dataclass(frozen=True, eq=False)
class Source:
    """Files of one format, their columns, and the function of DuckDB that reads them."""

    where: str
    files: tuple[str, ...]
    format: str
    columns: dict[str, Column]
    reader: str
    options: dict[str, str]
    wrapped: str = "{}"  # a query around the reader, for rows that lie within others

    def relation(self, names=(), **options):
        """What stands after FROM, to read these columns."""
        options = self.options | options
        if self.format in ("JSON lines", "JSON array", "JSON objects"):
            options["columns"] = _declared({self.columns[name].top: self.columns[name].type for name in names})
        elif self.format == "CSV":
            options["columns"] = _declared({name: column.type for name, column in self.columns.items()})
        files = "[" + ", ".join(text(re.sub(r"([*?\[])", r"[\1]", file)) for file in self.files) + "]"  # no patterns
        call = f"{self.reader}({', '.join([files, *(f'{k} = {v}' for k, v in options.items())])})"
        return self.wrapped.format(call)

    @property
    def kind(self):
        """What the files hold, in words."""
        return self.format if self.wrapped == "{}" else "OpenTelemetry spans"

    def with_numbers(self, names):
        """The same, but numbers where a CSV has text: its reader is quick at those, and notes what is none."""
        if self.format != "CSV":
            return self
        numbers = {name: replace(self.columns[name], kind="number", type="DOUBLE") for name in names}
        return replace(self, columns=self.columns | numbers)


def _declared(types):
    return "{" + ", ".join(f"{text(name)}: {text(type)}" for name, type in types.items()) + "}"
