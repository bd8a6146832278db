"""How an answer is printed: tables that paste as plain text, and JSON of plain numbers."""

import json
import re
import textwrap

import typer

from costlib.plain import base, plain
from costlib.units import Quantity, show

__all__ = ["base", "listed", "plain", "print_json", "print_text", "quoted", "sizes", "table", "wrapped", "write"]

WIDTH = 120  # columns of what is printed, where it can be folded


def print_json(answer):
    """Print an answer for programs; standard JSON, which has no infinity and no NaN."""
    typer.echo(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))


def print_text(blocks):
    """Print an answer for people, a blank line between its blocks; what would move a terminal's cursor is spelt out."""
    text = "\n\n".join(blocks)
    typer.echo(re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: ascii(found[0])[1:-1], text))


def write(text, path, over=True):
    """Print, or write a whole file or none; over a file that is there, or not."""
    if path in (None, "-"):
        typer.echo(text, nl=False)
        return
    import os
    import tempfile

    from costlib.schema import InputError

    content = text.encode(errors="backslashreplace")  # names of files may be no text
    target = os.path.realpath(path)
    if os.path.isfile(target) and not over:
        raise InputError(f"--output {path}: is there already; wanted the name of a new file")
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe is written to; a folder is not
            with open(target, "wb") as file:
                file.write(content)
            return
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".costlib-")
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.umask(mask := os.umask(0))
            os.chmod(beside, 0o666 & ~mask)
            os.replace(beside, target)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise InputError(f"--output {path}: cannot be written: {error.strerror}") from None


def table(rows, header=None, right=(), width=None):
    """Rows as lines of aligned text.

    Parameters
    ----------
    rows : iterable of sequence of str
    header : sequence of str, optional
    right : container of int
        Columns set to the right, as numbers are.
    width : int, optional
        Columns of text beyond which the last cell of a row is folded.

    Returns
    -------
    str
    """
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    rows = [tuple(map(str, row)) for row in rows]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=header is not None)
    columns = max(map(len, rows), default=0)
    for column in range(columns):
        name, folded = header[column] if header else "", width is not None and column == columns - 1
        grid.add_column(name, justify="right" if column in right else "left", no_wrap=not folded)
    for row in rows:
        grid.add_row(*row)
    written = StringIO()
    # A notebook would show a table of its own, and leave this one empty.
    plain_text = {"color_system": None, "markup": False, "emoji": False, "highlight": False, "force_jupyter": False}
    Console(file=written, width=width or 100_000, **plain_text).print(grid)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def wrapped(text):
    """A sentence as lines that a page is wide."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def listed(heading, texts):
    """A block that lists texts under a heading, if there are any."""
    if texts:
        yield "\n".join([f"{heading}:", *(f"- {text}" for text in texts)])


def sizes(value):
    """A size to the byte, in GB and in GiB, because the two are mistaken for each other."""
    return [show(value, "byte", digits=15), show(value, "GB", digits=4), show(value, "GiB", digits=4)]


def quoted(value, unit):
    """A result as the next formula has it: in so many digits that what is rounded down comes out as it did."""
    return show(Quantity(float(f"{value.m_as(unit or ''):.11e}"), unit), digits=15)
