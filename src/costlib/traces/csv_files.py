"""CSV: its header and delimiter, and what DuckDB's reader would pass over without a word."""

import csv
import re
from pathlib import Path

import numpy as np

from costlib.schema import InputError
from costlib.traces.columns import AGAIN
from costlib.traces.engine import MIXED, quoted, text, unpacked
from costlib.traces.source import Column, Source

__all__ = ["HEAD", "NO_TRACE", "csv_source", "head_of", "is_table", "lines_of_text"]

HEAD = 2**20  # bytes that the format is told from, and the most that a header has
NO_TRACE = "is no CSV, JSON, Parquet or OpenTelemetry"
LONGEST_LINE = 2**21  # bytes; DuckDB notes longer lines, but not those beyond its buffer of 32 MB
STRIDE = 2**23  # bytes: a line that is longer by LONGEST_LINE lies across a multiple of it
DELIMITERS = (",", "\t", ";", "|")


def csv_source(where, files, heads):
    """Files of CSV, told from their heads."""
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
    with unpacked(file, compression) as read:
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
    return sum(_lines(file, source.options["compression"].strip("'")) for file in source.files)


def _lines(file, compression):
    number, ended = 0, True
    with unpacked(file, compression) as read:
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


def is_table(head):
    """Whether the first bytes of a text look like a CSV: most lines have as many cells as the first has names."""
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = [line for line in head.decode(encoding, errors="replace").splitlines() if line.strip()]
    try:
        counts = [
            [len(row) for row in csv.reader(lines[:50], delimiter=delimiter)]
            for delimiter in DELIMITERS
            if delimiter in lines[0]
        ]
    except csv.Error:  # a cell of more than 128 KiB, as prompts may be
        return True
    if not counts:
        return len(lines[0].split()) == 1 and all(len(line.split()) <= 1 for line in lines[:50])
    names, *cells = max(counts, key=lambda counts: counts[0])
    return sum(number == names for number in cells) >= len(cells) / 2


def head_of(source):
    """The first bytes of the first file of a source of CSV."""
    with unpacked(source.files[0], source.options["compression"].strip("'")) as read:
        return read.read(HEAD)


def _told_apart(names):
    """Names of which none is empty, and none the same as another."""
    seen = set()
    for i, name in enumerate(names, 1):
        name = name or f"column {i}"
        while name.lower() in seen:
            name += AGAIN
        seen.add(name.lower())
        yield name
