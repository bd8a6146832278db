"""What DuckDB finds in the book's week, recorded for where there is none: a reader's browser.

The week does not depend on the scenario, so a page that reads the record follows a change of hardware as one does
that reads the week. The record is written by ``python -m costlib.book.recorded book/worksheet.md``.

:func:`cells_run` runs a page for what is recorded of it, here and in :mod:`costlib.book.postgres`.
"""

import contextlib
import dataclasses
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from costlib.book.live import absent
from costlib.units import Quantity

__all__ = ["RECORD", "cells_run", "observed", "plain", "record"]

RECORD = Path(__file__).with_name("week-recorded.json")

_live = []  # what was observed in this process


def observed(figures):
    """What a function finds in the week; what it found when it was recorded, where there is no DuckDB.

    Parameters
    ----------
    figures : callable
        Returns the :class:`~costlib.traces.Summary` of the week, and the interval of each quantile that the page has.

    Returns
    -------
    summary : Summary
    intervals : dict of float to tuple
    """
    if not absent.is_here("duckdb"):
        return recorded()
    found = figures()
    _live.append(found)
    return found


def recorded():
    """The record, as what it was written from."""
    import numpy as np

    from costlib.traces.distributions import CutOff, Distribution
    from costlib.traces.statistics import Growth
    from costlib.traces.summaries import Summary

    def distribution(known):
        return Distribution(np.array(known["values"]), np.array(known["counts"]))

    known = json.loads(RECORD.read_text(encoding="utf-8"))
    summary = {
        name: Quantity(value["number"], value["unit"]) if isinstance(value, dict) and "unit" in value else value
        for name, value in known["summary"].items()
    }
    growth = summary["growth"]
    steps = {int(step): distribution(contexts) for step, contexts in growth["steps"].items()}
    summary |= {
        "lengths": distribution(summary["lengths"]),
        "cut_off": CutOff(**summary["cut_off"]),
        "growth": Growth(**growth | {"steps": steps}),
        "notes": tuple(summary["notes"]),
    }
    return Summary(**summary), {float(p): tuple(ends) for p, ends in known["intervals"].items()}


def plain(found):
    """What was observed, as JSON has it."""
    summary, intervals = found
    return {"summary": _plain(summary), "intervals": _plain(intervals)}


def _plain(value):
    if isinstance(value, Quantity):
        return {"number": float(value.magnitude), "unit": str(value.units)}
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def record(page):
    """Run the cells of a page up to the one that observes the week.

    Parameters
    ----------
    page : path-like
        A MyST notebook.

    Returns
    -------
    dict
        What it observes, as JSON has it.
    """
    before = len(_live)
    for _ in cells_run(page):
        if len(_live) > before:
            break
    return plain(_live.pop())


def cells_run(page):
    """Run the code cells of a page, without what they display, one each time that the next is asked for."""
    import jupytext

    names = {}
    for cell in jupytext.read(page, fmt="md:myst").cells:
        if cell.cell_type == "code":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, str(page), "exec"), names)
            yield


def main():
    from costlib.book import recorded  # the module that the page imports, not the one that runs as a program

    RECORD.write_text(json.dumps(recorded.record(sys.argv[1])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
