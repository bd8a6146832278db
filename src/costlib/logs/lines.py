"""One line of a log: which patterns it fits, which numbers stand in it, and of which rank it speaks.

A pattern is written as it is printed, with ``<name:unit>`` where a number
stands: ``Model loading took <weights:GiB> GiB``. The unit is the one meant, which
is not always the one printed.
"""

import contextlib
import io
import json
import math
import re
from dataclasses import dataclass, field

__all__ = ["LONGEST", "Line", "Printed", "Reading", "cleaned", "lines_of", "writer_of"]

LONGEST = 2**16  # characters of a line; a longer one holds a prompt, not a figure

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "n": 1, "share": 1, "%": 0.01}
SIZES = {"", "K", "M", "G", "T"}
# Of bounded length, so that a line of digits alone is not tried from each of them to its end.
NUMBER = r"(?<![\d.,])[-+]?(?:\d[\d,]{0,24}(?:\.\d{1,24})?(?:[eE][-+]?\d{1,4})?(?![\d,]*\d)|nan|inf)"
SIZE = rf"{NUMBER} ?[KMGT]?i?B"
MOST = {"n": 1e15, "share": 1e6, "%": 1e3}  # beyond which a number is not credible; of sizes, an exbibyte
EXBIBYTE = 2**60


class Printed(float):
    """A number that was rounded to be printed; ``half`` a unit of its last digit is what it may be off."""

    half = 0.0

    def __new__(cls, value, half=0.0):
        number = super().__new__(cls, value)
        number.half = half
        return number

    def __add__(self, other):
        return Printed(float(self) + float(other), self.half + getattr(other, "half", 0.0))

    __radd__ = __add__

    def __sub__(self, other):
        return Printed(float(self) - float(other), self.half + getattr(other, "half", 0.0))


@dataclass(frozen=True)
class Line:
    """A line that an engine prints.

    Parameters
    ----------
    key : str
        Text that every such line has, for a quick look.
    text : str
        A regular expression, with ``<name:unit>`` for numbers.
    since : str
        From which version or source it is known.
    role : str
        ``begins``: the first line of a start-up; ``loads``: one of a new start-up, if the one before has come to its
        end; ``model``: a file that llama.cpp opens, of a model or of its draft; ``server``: said once, before several;
        ``runs``: of a server at work; empty: of a start-up.
    """

    key: str
    text: str
    since: str = ""
    role: str = ""
    pattern: re.Pattern = field(init=False, repr=False, compare=False)
    groups: tuple = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        pattern = re.compile(re.sub(r"<(\w+):([\w%]+)>", _group, self.text))
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "groups", tuple(_named(group) for group in pattern.groupindex))

    def read(self, text):
        """The values in a line, by name; None if it is another line, and ValueError where a number is not credible."""
        if self.key not in text or not (found := self.pattern.search(text)):
            return None
        return {
            name: _value(name, unit, given)
            for (name, unit), given in zip(self.groups, found.groups(), strict=True)
            if given is not None
        }

    def ends(self, text):
        """Whether it fits a line up to its end, so that more might have stood there."""
        return (found := self.pattern.search(text)) is not None and found.end() == len(text)


@dataclass(frozen=True)
class Reading:
    """What one line said: its number, the pattern, the rank that spoke, the values, and which process wrote it."""

    number: int
    line: Line
    rank: str
    values: dict
    writer: str = ""


def _group(found):
    name, unit = found.groups()
    unit = "share_of_100" if unit == "%" else unit
    return f"(?P<{name}__{unit}>{SIZE if unit == 'size' else NUMBER})"


def _named(group):
    """Name and unit of a group of a pattern."""
    name, _, unit = group.partition("__")
    return name, "%" if unit == "share_of_100" else unit


def _value(name, unit, given):
    """A number in bytes, a count or a share; a text as it is."""
    if not unit:
        return given.strip()
    if unit == "size":
        given, unit = _size(given)
    value = float(given.replace(",", "")) * UNITS[unit]
    if not math.isfinite(value) or abs(value) > MOST.get(unit, EXBIBYTE) or (unit in MOST and value < 0):
        raise ValueError(f"{name} = {given} {unit if unit in UNITS and unit not in ('n', 'share') else ''}".strip())
    if unit == "n" and value == int(value):
        return int(value)
    decimals = len(given.partition(".")[2]) if "e" not in given.lower() else 0
    return Printed(value, 0.0 if unit == "B" else UNITS[unit] * 10**-decimals / 2)


def _size(given):
    """A number and its unit; ``1.5 GB`` and ``1.5 GiB`` are 1.5 × 2³⁰ to the engines that print them."""
    number, letter = re.fullmatch(rf"({NUMBER}) ?([KMGT]?)i?B", given).groups()
    return number, f"{letter}iB" if letter else "B"


COLOUR = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|#033)\[[0-9;]*[A-Za-z]")


def cleaned(text):
    """A line without colours, the wrapping of a container's log, and the zeros of UTF-16, as a PowerShell writes it."""
    text = text.rstrip("\r\n")
    if text.startswith("{"):
        text = _unwrapped(text)
    if "\x1b[" in text or "1b[" in text or "033[" in text:  # a quick look
        text = COLOUR.sub("", text)
    return text.replace("\0", "")


CONTAINER = re.compile(
    r"[A-Za-z][\w.-]*\s+\| |\[pod/\S+\]|\[\d+\] (?=\d+\.\d\d\.)"
)  # … or a server that llama.cpp routes to
PROCESS = re.compile(r"\bpid=(\d+)")


def writer_of(text):
    """Container and process that wrote a line, as far as it says."""
    container, process = CONTAINER.match(text), PROCESS.search(text)
    return f"{container[0] if container else ''}{process[1] if process else ''}"


def _unwrapped(text):
    """The message of a line of JSON, as Docker and log collectors write them."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return text
    messages = [table.get(name) for name in ("log", "message", "msg", "MESSAGE")] if isinstance(table, dict) else []
    return next((message.rstrip("\r\n") for message in messages if isinstance(message, str)), text)


def lines_of(file):
    """The lines of a binary file, a longer one cut.

    Parameters
    ----------
    file : binary file
        From where it stands to its end.

    Returns
    -------
    iterator of str
        Each with its line end, and none longer than :data:`LONGEST` and one more.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace")
    try:
        while line := text.readline(LONGEST + 1):
            yield line
            while len(line) > LONGEST and not line.endswith("\n"):  # what is left of it
                if not (rest := text.readline(LONGEST + 1)) or rest.endswith("\n"):
                    break
    finally:
        with contextlib.suppress(ValueError):  # closed before the last line was asked for
            text.detach()
