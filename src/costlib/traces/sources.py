"""From a path to a source: which files, and which format they have, told by content."""

import json
import re
import shutil
import sys
from pathlib import Path

from costlib.schema import InputError
from costlib.traces.csv_files import HEAD, NO_TRACE, csv_source, is_table
from costlib.traces.engine import LONGEST_OBJECT, quoted, readable, text, unpacked
from costlib.traces.source import SAMPLE, Column, Source

__all__ = ["opened"]

PACKED = {"none": "", "gzip": ", packed"}
PACKERS = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z"}
BINARY = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")  # what no text has
WANTED = "wanted a trace: CSV, JSON lines, a JSON array, Parquet or OpenTelemetry spans"


def opened(connection, path):
    """The source that a path names: a file, a folder, a pattern, or - for standard input."""
    where, files = _files(connection, path)
    heads, formats, first = {}, {}, files[0]
    several = len(files) > 1 or Path(path).is_dir()
    for file in files:
        heads[file] = head, compression = _head(file)
        formats[file] = _format(head, file)
        if several and formats[file] == "CSV" and not is_table(head):
            raise InputError(f"{file}: {NO_TRACE}; wanted files of one format of traces, and nothing else")
        if (formats[file], compression) != (formats[first], heads[first][1]):
            both = " and ".join(f"{formats[f]}{PACKED[heads[f][1]]} ({Path(f).name})" for f in (first, file))
            raise InputError(f"{where}: holds {both}; wanted one format")
    head, compression = heads[first]
    with readable(where):
        if formats[first] == "Parquet":
            return _parquet(connection, where, files)
        if formats[first] == "CSV":
            return csv_source(where, files, heads)
        for file in files if compression == "gzip" else ():
            _read_through(file)
        return _json(connection, where, files, formats[first], compression)


def _files(connection, path):
    """How messages call what is read, and its files."""
    if not str(path):
        raise InputError(f"trace: no file is named; {WANTED}")
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input: is closed")
        return "standard input", (_copied(connection, sys.stdin.buffer),)
    place = Path(path)
    if place.is_fifo():
        with place.open("rb") as pipe:
            return str(path), (_copied(connection, pipe),)
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


def _copied(connection, stream):
    """What can be read once, as a file that can be read again."""
    copy = connection.costlib_scratch.path / "input"
    with copy.open("wb") as out:
        shutil.copyfileobj(stream, out)
    return str(copy)


def _head(file):
    """The first bytes of a file, unpacked, and how it is packed."""
    with unpacked(file, "none") as raw:
        compression = "gzip" if raw.read(2) == b"\x1f\x8b" else "none"
    with unpacked(file, compression) as read:
        return read.read(HEAD), compression


def _read_through(file):
    """Unpack a file to its end and check sum, which DuckDB does not look at."""
    with unpacked(file, "gzip") as read:
        while read.read(2**20):
            pass


def _format(head, file):
    """What a file is, told from its first bytes."""
    if not head:
        raise InputError(f"{file}: is empty; {WANTED}")
    if head[:4] == b"PAR1":
        return "Parquet"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        if head[2:4].strip(b"\0") in (b"{", b"["):
            raise InputError(f"{file}: JSON in UTF-16; wanted UTF-8, as iconv -f UTF-16 -t UTF-8 writes it")
        return "CSV"
    for start, packer in PACKERS.items():
        if head.startswith(start):
            raise InputError(f"{file}: is packed by {packer}; wanted it unpacked, or packed by gzip")
    if BINARY.search(head):
        raise InputError(f"{file}: a binary file; {WANTED}")
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
    elif type.is_unknown():
        yield name, _unknown(connection, sql)
    else:
        kinds = {
            "integer": type.is_integer(),
            "number": type.is_floating() or type.is_decimal(),
            "text": type.is_string() or type.is_json() or type.is_uuid(),
            "time": type.is_timestamp(),
            "array": type.is_array(),
        }
        yield name, Column(sql, next((kind for kind, is_it in kinds.items() if is_it), str(type)))


def _unknown(connection, sql):
    """A column of a type that DuckDB has and Ibis has not, as one of a type that both have."""
    type = connection.raw_sql(f"DESCRIBE SELECT {sql} AS value FROM file").fetchall()[0][1]
    if type.startswith("TIMESTAMP"):
        return Column(f"({sql})::TIMESTAMPTZ", "time")
    return Column(f"({sql})::VARCHAR", type)
