"""From files to a DuckDB relation: which format they have, told by content, and which columns."""

import csv
import gzip
import json
import re
import shutil
import sys
import tempfile
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import ibis
import numpy as np

from costlib.schema import InputError
from costlib.traces.columns import AGAIN

__all__ = ["Column", "Source", "connect", "opened", "readable"]

HEAD = 2**20  # bytes that the format is told from
LONGEST_OBJECT = 2**24  # bytes of an object of JSON
LONGEST_LINE = 2**21  # bytes of a line of CSV; DuckDB notes longer ones, but not those beyond its buffer of 32 MB
STRIDE = 2**23  # bytes: a line that is longer by LONGEST_LINE lies across a multiple of it
SAMPLE = 2000  # objects from which the columns of JSON are told
MIXED = "its lines end in different ways, some in CR LF and some in one of them; wanted one way throughout"
DELIMITERS = (",", "\t", ";", "|")


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
        files = "[" + ", ".join(map(text, self.files)) + "]"
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


class Scratch:
    """A folder for what does not fit into memory, removed with this or when Python ends, by Ctrl-C, too."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="costlib-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def connect(memory="1GB", threads=None):
    """A DuckDB of our own in memory, which spills into a folder that goes with it.

    Raises
    ------
    InputError
        If the memory is no size.
    """
    scratch = Scratch()
    more = {} if threads is None else {"threads": threads}
    try:
        connection = ibis.duckdb.connect(memory_limit=memory, temp_directory=str(scratch.path), **more)
    except Exception as error:
        raise InputError(f"memory = {memory!r}: {first_line(error)}; wanted a size such as 1GB") from None
    connection.costlib_scratch = scratch
    connection.raw_sql("SET TimeZone = 'UTC'")  # of times that do not say theirs
    return connection


@contextmanager
def readable(where):
    """What DuckDB says of a file that it cannot read, as an error of ours; and its word for Ctrl-C, as Python's."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise InputError(f"{where}: {_said(error)}") from None
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from None


def _said(error):
    said = str(error)
    if "maximum_object_size" in said or "Maximum line size" in said:
        return f"has a line of more than {LONGEST_OBJECT:,} bytes; wanted one record a line"
    if "Malformed JSON" in said:
        place = re.search(r"at byte .*", said)
        return (
            f"no JSON to its end, {place[0].split('. ')[0] if place else first_line(error)}; it may have been cut off"
        )
    if "state machine" in said:
        return MIXED
    if "magic bytes" in said:
        return "no Parquet to its end; it may have been cut off"
    if "Out of Memory" in said:
        return f"needs more memory than it may use; give more with --memory ({first_line(error)})"
    return first_line(error)


def first_line(error):
    """What DuckDB says first, without its name for the kind of error."""
    return re.sub(r"^[\w ]*Error: ", "", str(error).strip().partition("\n")[0])[:300]


def opened(connection, path):
    """The source that a path names: a file, a folder, a pattern, or - for standard input."""
    where, files = _files(connection, path)
    heads = {file: _head(file, where) for file in files}
    formats = {file: _format(head, file) for file, (head, _) in heads.items()}
    first = files[0]
    for file in files[1:]:
        if formats[file] != formats[first]:
            both = " and ".join(f"{formats[one]} ({Path(one).name})" for one in (first, file))
            raise InputError(f"{where}: holds {both}; wanted one format")
    head, compression = heads[first]
    with readable(where):
        if formats[first] == "Parquet":
            return _parquet(connection, where, files)
        if formats[first] == "CSV":
            return _csv(where, files, heads)
        return _json(connection, where, files, formats[first], compression)


def _files(connection, path):
    """How messages call what is read, and its files."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input: is closed")
        copy = connection.costlib_scratch.path / "input"
        with copy.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        return "standard input", (str(copy),)
    place = Path(path)
    if place.is_dir():
        inside = sorted(p for p in place.rglob("*") if p.is_file() and not p.name.startswith((".", "_")))
        if not inside:
            raise InputError(f"{path}: an empty folder; wanted files of one format")
        return str(path), tuple(map(str, inside))
    if place.is_file():
        return str(path), (str(place),)
    if re.search(r"[*?\[]", str(path)):
        parent = Path(place.anchor or ".")
        matched = sorted(str(p) for p in parent.glob(str(place.relative_to(place.anchor))) if p.is_file())
        if matched:
            return str(path), tuple(matched)
        raise InputError(f"{path}: no file matches")
    raise InputError(f"{path}: no such file")


def _head(file, where):
    """The first bytes of a file, unpacked, and how it is packed."""
    try:
        with open(file, "rb") as raw:
            start = raw.read(4)
        if start[:2] == b"\x1f\x8b":
            with gzip.open(file) as unpacked:
                return unpacked.read(HEAD), "gzip"
        with open(file, "rb") as raw:
            return raw.read(HEAD), "none"
    except (OSError, EOFError) as error:
        raise InputError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _format(head, file):
    """What a file is, told from its first bytes."""
    if not head:
        raise InputError(
            f"{file}: is empty; wanted a trace: CSV, JSON lines, a JSON array, Parquet or OpenTelemetry spans"
        )
    if head[:4] == b"PAR1":
        return "Parquet"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        if head[2:4].strip(b"\0") in (b"{", b"["):
            raise InputError(f"{file}: JSON in UTF-16; wanted UTF-8, as iconv -f UTF-16 -t UTF-8 writes it")
        return "CSV"
    if b"\0" in head or head[:4] == b"\x28\xb5\x2f\xfd":
        raise InputError(
            f"{file}: a binary file; wanted a trace: CSV, JSON lines, a JSON array, Parquet or OpenTelemetry spans"
        )
    shown = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not shown:
        raise InputError(f"{file}: has nothing but white space")
    if shown[:1] == b"[":
        return "JSON array"
    if shown[:1] == b"{":
        lines = shown.split(b"\n")[:20]
        return "JSON lines" if any(map(_is_object, lines)) or len(shown) == HEAD == len(lines[0]) else "JSON objects"
    return "CSV"


def _is_object(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _csv(where, files, heads):
    headers = {file: _header(head, file) for file, (head, _) in heads.items()}
    for file, (_, compression) in heads.items():
        _refuse_endless_lines(file, compression)
    first = files[0]
    encoding, skip, delimiter, names = headers[first]
    for file, header in headers.items():
        if header != headers[first]:
            raise InputError(
                f"{where}: {Path(file).name} has other columns than {Path(first).name}; wanted the same in each"
            )
    options = {
        "auto_detect": "false",
        "header": "true",
        "skip": str(skip),
        "delim": text(delimiter),
        "quote": "'\"'",
        "escape": "'\"'",
        "encoding": text(encoding),
        "compression": text(heads[first][1]),
        "max_line_size": str(LONGEST_LINE),
        "ignore_errors": "true",
    }
    columns = {name: Column(quoted(name), "text") for name in names}
    return Source(where, files, "CSV", columns, "read_csv", options)


def _refuse_endless_lines(file, compression):
    """Refuse a file with a line that DuckDB's reader of CSV would pass over without a word."""
    with gzip.open(file) if compression == "gzip" else open(file, "rb") as read:
        place = 0
        while ahead := read.read(LONGEST_LINE):
            if len(ahead) == LONGEST_LINE and b"\n" not in ahead and b"\r" not in ahead:
                where = f"a line of more than {LONGEST_LINE:,} bytes at byte {place:,}"
                raise InputError(f"{file}: has {where}; wanted one record a line")
            place += STRIDE
            read.seek(place)


def lines_of_text(source):
    """How many lines of a CSV have something in them, its headers among them; None where they are not in bytes."""
    if source.options["encoding"] != "'utf-8'":
        return None
    return sum(_lines(file, source.options["compression"]) for file in source.files)


def _lines(file, compression):
    number, ended = 0, True
    with gzip.open(file) if compression == "'gzip'" else open(file, "rb") as read:
        while chunk := read.read(STRIDE):
            marks = np.frombuffer(chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), np.uint8) == ord("\n")
            begins = ~marks & np.concatenate([[ended], marks[:-1]])
            number, ended = number + int(np.count_nonzero(begins)), bool(marks[-1])
    return number


def _header(head, file):
    """Encoding, lines before the header, delimiter, and the names of the columns."""
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    shown = head.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    lines = shown.splitlines()
    skip = next(i for i, line in enumerate(lines) if line.strip())
    if len(head) == HEAD and len(lines) == skip + 1:
        raise InputError(f"{file}: its first line has more than {HEAD:,} bytes; wanted a header and one record a line")
    if '"' not in shown and len(set(re.findall("\r\n|\r|\n", shown.removesuffix("\r")))) > 1:
        raise InputError(f"{file}: {MIXED}")
    split = {delimiter: next(csv.reader([lines[skip]], delimiter=delimiter)) for delimiter in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda delimiter: len(split[delimiter]))
    names = [name.strip() for name in split[delimiter]]
    if any(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", name, re.IGNORECASE) for name in names):
        raise InputError(
            f"{file}: its first line, {lines[skip][:60]!r}, holds numbers; wanted the names of the columns"
        )
    return encoding, skip, delimiter, tuple(_told_apart(names))


def _told_apart(names):
    """Names of which none is empty, and none the same as another."""
    seen = set()
    for i, name in enumerate(names, 1):
        name = name or f"column {i}"
        while name.lower() in seen:
            name += AGAIN
        seen.add(name.lower())
        yield name


def _json(connection, where, files, format, compression):
    kind = {"JSON lines": "newline_delimited", "JSON array": "array", "JSON objects": "unstructured"}[format]
    options = {"format": text(kind), "compression": text(compression), "maximum_object_size": str(LONGEST_OBJECT)}
    if format == "JSON lines":
        options["ignore_errors"] = "true"
    objects = Source(where, files, "", {}, "read_json_objects", options)
    sample = f"SELECT json FROM {objects.relation()} WHERE json_type(json) = 'OBJECT' LIMIT {SAMPLE}"
    structure = connection.raw_sql(f"SELECT json_group_structure(json) FROM ({sample})").fetchall()[0][0]
    if structure is None:
        raise InputError(f"{where}: no JSON object in it; wanted one a request, one a line")
    columns = dict(_leaves(json.loads(structure)))
    return Source(where, files, format, columns, "read_json", options | {"records": "true"})


def _leaves(structure):
    """Columns of a JSON object: what is no table itself."""
    for top, inside in structure.items():
        if isinstance(inside, dict):
            for path in _paths(inside):
                dotted = "$" + "".join('."' + part.replace('"', '\\"') + '"' for part in path)
                yield ".".join([top, *path]), Column(f"{quoted(top)} ->> {text(dotted)}", "text", top, "JSON")
        elif isinstance(inside, list):
            number = inside[:1] in (["UBIGINT"], ["BIGINT"])
            yield top, Column(quoted(top), "array", top, "BIGINT[]" if number else "VARCHAR[]")
        else:
            yield top, Column(quoted(top), "text", top)


def _paths(structure):
    for key, inside in structure.items():
        if isinstance(inside, dict):
            yield from ([key, *path] for path in _paths(inside))
        else:
            yield [key]


def _parquet(connection, where, files):
    options = {"union_by_name": "true"} if len(files) > 1 else {}
    source = Source(where, files, "Parquet", {}, "read_parquet", options)
    connection.raw_sql(f"CREATE TEMP VIEW file AS SELECT * FROM {source.relation()}")
    schema = connection.table("file").schema()
    for name, type in schema.items():
        source.columns.update(_typed(connection, source, name, quoted(name), type))
    return source


def _typed(connection, source, name, sql, type):
    """A column of Parquet, or those within it."""
    if type.is_struct():
        for key, inside in type.items():
            yield from _typed(connection, source, f"{name}.{key}", f"{sql}.{quoted(key)}", inside)
    elif type.is_map():
        keys = f"SELECT DISTINCT unnest(map_keys({sql})) FROM (SELECT * FROM {source.relation()} LIMIT {SAMPLE})"
        for (key,) in connection.raw_sql(keys).fetchall():
            yield f"{name}.{key}", Column(f"{sql}[{text(str(key))}]::VARCHAR", "text")
    else:
        kinds = {
            "integer": type.is_integer(),
            "number": type.is_floating() or type.is_decimal(),
            "text": type.is_string() or type.is_json() or type.is_uuid(),
            "time": type.is_timestamp(),
            "array": type.is_array(),
        }
        yield name, Column(sql, next((kind for kind, is_it in kinds.items() if is_it), str(type)))


def quoted(name):
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value):
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
