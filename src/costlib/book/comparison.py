"""Several scenarios side by side: which files, what they are called, and in which inputs they differ.

``python -m costlib.book.comparison`` says what is wrong with the files, before a build begins.
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

__all__ = ["VARIABLE", "cases", "differing_inputs", "files", "marked"]

VARIABLE = "COSTLIB_COMPARISON"  # the environment variable that names the files, joined as those of PATH


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
        if not re.fullmatch(r"[\w.+ -]+", file.stem):
            raise InputError(f"{file}: a name with other than letters, digits and - _ . +; wanted one without")
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
    return {"reference": scenario.load(REFERENCE)} | {name: scenario.load(file) for name, file in files(own).items()}


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


if __name__ == "__main__":
    try:
        cases(scenario.load().file)
    except InputError as error:
        sys.exit(f"costlib: {error}")
