"""The DuckDB that reads files on this machine: its memory, its folder, and what its errors mean."""

import gzip
import re
import shutil
import tempfile
import weakref
import zlib
from contextlib import contextmanager
from pathlib import Path

import ibis

from costlib.schema import InputError

__all__ = [
    "LONGEST_OBJECT",
    "MIXED",
    "connect",
    "counting",
    "progress",
    "quoted",
    "readable",
    "shortened",
    "text",
    "unpacked",
]

LONGEST_OBJECT = 2**24  # bytes of an object of JSON
MIXED = "its lines end in different ways, some in CR LF and some in one of them; wanted one way throughout"


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
    connection.raw_sql("SET parquet_metadata_cache = true")  # each view and each pass would read it again
    return connection


def counting(connection):
    """The same DuckDB, which from now on counts how far a query is; not in Jupyter, where it wants widgets for that."""
    connection.raw_sql("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def progress(connection):
    """Per cent of the query that DuckDB is at, or None where it does not count or cannot say."""
    done = connection.con.query_progress()
    return None if done < 0 else done


@contextmanager
def unpacked(file, compression):
    """A file to read bytes from, and what is wrong with it as an error of ours."""
    try:
        with gzip.open(file) if compression == "gzip" else open(file, "rb") as read:
            yield read
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


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


def shortened(text, most=300):
    """A text for a message: without its end if it is long, and without what a terminal would not show."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text[:most])
    return shown if len(text) <= most else shown + " ..."


def quoted(name):
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value):
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
