"""Commands that a page runs, and what they write, on the page: in a frame, and to keep."""

import base64
import contextlib
import re
import shlex
import sys
import textwrap
from unittest import mock

__all__ = ["download", "folded", "framed", "ran"]

WIDTH = 88  # columns of code that a page has room for


def ran(command, folder):
    """What a command of costlib prints, its tables as narrow as a page.

    Parameters
    ----------
    command : str
        As it is typed, ``costlib`` first.
    folder : path-like
        Where it runs.

    Returns
    -------
    str

    Raises
    ------
    InputError
        For bad input.
    RuntimeError
        If it ends without an answer: with the command, and what it printed.
    """
    from typer.testing import CliRunner

    runner = CliRunner()  # first: a browser says here that it has no command line
    from costlib.cli import app, printed

    words = shlex.split(command)
    as_typed = mock.patch.object(sys, "argv", words)  # a sheet says what it was made by
    narrow = mock.patch.object(printed, "WIDTH", WIDTH)
    with contextlib.chdir(folder), as_typed, narrow:
        done = runner.invoke(app, words[1:], catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(f"{command}: {done.output}")
    return done.stdout


def folded(text):
    """Text whose long lines go on below: under the start of their last column, or with it, where it has no room.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return "\n".join(_folded(line) for line in text.splitlines())


def _folded(line):
    if len(line) <= WIDTH:
        return line
    kept = {"replace_whitespace": False, "break_long_words": False, "break_on_hyphens": False}
    last = max((gap.end() for gap in re.finditer(r"(?<=\S)  +", line)), default=2)
    if last > 2 / 3 * WIDTH:  # too little room beside the other columns
        below = textwrap.fill(line[last:], WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4, **kept)
        return f"{line[:last].rstrip()}\n{below}"
    return textwrap.fill(line, WIDTH, subsequent_indent=" " * last, **kept)


def download(name, kind, text):
    """A link that holds a file itself, so that a page needs nothing beside it.

    Parameters
    ----------
    name : str
    kind : str
        As MIME names it.
    text : str

    Returns
    -------
    str
        In HTML.
    """
    data = base64.b64encode(text.encode()).decode()
    return f'<a download="{name}" href="data:{kind};base64,{data}">{name}</a>'


def framed(sheet, note):
    """A worksheet in a frame: the five numbers open, its sections folded, their headings none of the page's.

    Parameters
    ----------
    sheet : str
        As :func:`costlib.worksheet.markdown` writes it.
    note : str
        What stands above the numbers.

    Returns
    -------
    str
        In MyST.
    """
    title, _, text = sheet.removeprefix("# ").partition("\n")
    five, heading, sections = text.partition("\n## ")
    sections = re.sub(r"^#+ (.*)$", r"**\1**", heading + sections, flags=re.M)
    folded = f"::::{{admonition}} Section by section\n:class: dropdown\n{sections}\n::::"
    return f":::::{{admonition}} {title}\n{note}\n{five}\n{folded}\n:::::"
