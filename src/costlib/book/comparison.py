"""Several scenarios side by side: which files, what they are called, in what they differ, and which is ahead.

``python -m costlib.book.comparison FILE...`` says what is wrong with the files, before a build begins; if nothing is,
it prints them as ``COSTLIB_COMPARISON`` names them.
"""

import dataclasses
import os
import re
import sys
from pathlib import Path

from costlib import scenario
from costlib.book import FILES, show
from costlib.scenario import PARTS, REFERENCE
from costlib.schema import InputError

__all__ = ["VARIABLE", "cases", "contexts", "differing_inputs", "files", "leaders", "listed", "marked"]

VARIABLE = "COSTLIB_COMPARISON"  # the environment variable that names the files, joined as those of PATH
FIRST = "reference"  # what the column of the reference is called
NAME = r"[^\W_]+([ ._+-][^\W_]+)*"  # that text, tables and figures show as it is


def files(own=""):
    """The scenario files to compare with the reference, by name: the reader's own first.

    Parameters
    ----------
    own : str
        The file of the reader's scenario; empty where he has none.

    Returns
    -------
    dict of str to Path
        Those that ``COSTLIB_COMPARISON`` names or, without it, those that come with the book.

    Raises
    ------
    InputError
        If two files have the same name, so that nobody could tell them apart, or a name that a page cannot show.
    """
    given = os.environ.get(VARIABLE)
    compared = map(Path, given.split(os.pathsep)) if given else sorted(FILES.glob("scenarios/*.toml"))
    found = {}
    for file in [*([Path(own)] if own else []), *compared]:
        if not re.fullmatch(NAME, file.stem):
            raise InputError(f"{file}: wanted a name of letters and digits, joined by single - _ . + or spaces")
        if file.stem == FIRST:
            raise InputError(f"{file}: is called {FIRST!r}, as the column beside it is; wanted another name")
        other = found.setdefault(file.stem, file)
        if other.resolve() != file.resolve():
            raise InputError(f"{file}: is called {file.stem!r}, as {other} is; wanted names that differ")
    return found


def cases(own=""):
    """The scenarios to compare, by name, the reference first.

    Parameters
    ----------
    own : str
        As for :func:`files`.

    Returns
    -------
    dict of str to Scenario
    """
    return {FIRST: scenario.load(REFERENCE)} | {name: scenario.load(file) for name, file in files(own).items()}


def differing_inputs(compared):
    """The inputs that are not the same in all scenarios, each as it is printed.

    Parameters
    ----------
    compared : dict of str to Scenario

    Returns
    -------
    dict of str to list of str
        For each, its value in every scenario: what parts are called, then their values.
    """
    parts = {part: [getattr(case, part).title for case in compared.values()] for part in PARTS}
    values = {
        f"{part}.{field.name}": [_printed(getattr(getattr(case, part), field.name)) for case in compared.values()]
        for part in PARTS
        for field in dataclasses.fields(PARTS[part])
        if field.metadata.keys() & {"unit", "options"}
    }
    return {name: printed for name, printed in (parts | values).items() if len(set(printed)) > 1}


def contexts(compared):
    """The length of context at which each scenario is compared: that of all files, where they agree, or its own.

    Parameters
    ----------
    compared : dict of str to Scenario
        As :func:`cases` gives them.

    Returns
    -------
    dict of str to Quantity
        [token], by name.
    """
    own = {name: case.workload.context for name, case in compared.items()}
    first, *others = (length for name, length in own.items() if name != FIRST)
    return dict.fromkeys(own, first) if all(other == first for other in others) else own


def leaders(values, least=False):
    """The names of the largest value, or of the least: more than one where they are equal.

    Parameters
    ----------
    values : dict of str to Quantity
    least : bool

    Returns
    -------
    list of str
    """
    best = (min if least else max)(values.values())
    return [name for name, value in values.items() if value == best]


def listed(names):
    """Names of scenarios, in a sentence.

    Examples
    --------
    >>> listed(["reference", "a", "b"])
    'the reference, a and b'
    """
    *others, last = ["the reference" if name == FIRST else name for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def _printed(value):
    return "–" if value is None else show(value, digits=9)


def marked(printed):
    """A row of a table in MyST: what differs from the first cell stands out.

    Parameters
    ----------
    printed : list of str

    Returns
    -------
    list of str
    """
    first, *others = printed
    return [first, *(other if other == first else f"**{other}**" for other in others)]


def main(given):
    paths = [os.path.abspath(file) for file in given]
    for path in paths:
        if os.pathsep in path:  # which stands between them
            sys.exit(f"costlib: {path}: wanted a path without {os.pathsep!r}")
    if paths:
        os.environ[VARIABLE] = os.pathsep.join(paths)
    try:
        cases(scenario.load().file)
    except InputError as error:
        sys.exit(f"costlib: {error}")
    print(os.environ.get(VARIABLE, ""))


if __name__ == "__main__":
    main(sys.argv[1:])
