"""A worksheet as Markdown, to paste into a runbook, and as plain numbers, for programs."""

import re

from costlib.plain import plain as plain_value
from costlib.units import show
from costlib.worksheet.memory import NEEDS
from costlib.worksheet.table import cell

NAMES = {NEEDS: "needs"}  # of columns, for programs
OPEN = "not known yet"

__all__ = ["introduction", "markdown", "plain", "remarks"]


def markdown(sheet):
    """A worksheet as Markdown.

    Parameters
    ----------
    sheet : Worksheet
        As :func:`costlib.worksheet.worksheet` fills it.

    Returns
    -------
    str
    """
    title, headline = introduction(sheet)
    blocks = [f"# {title}", headline]
    for section in sheet.sections:
        blocks += [f"## {section.title}"] if section.title else []
        blocks.append(_table(section))
        blocks += [_list(section.says)] if section.says else []
    blocks += [f"## {heading}\n\n{text}" for heading, text in remarks(sheet)]
    if sheet.command:
        blocks.append(f"## Made by\n\n    {_line(sheet.command)}")
    return "\n\n".join(blocks) + "\n"


def introduction(sheet):
    """The title of a worksheet, and a line on what it is for."""
    cards = sheet.cards
    dates = [price.origin[field].date for price, field in _dated(sheet) if price is not None and field in price.origin]
    when = f"; prices of {', '.join(sorted(set(filter(None, dates))))}" if any(dates) else ""
    return (
        _text(f"{cards.model.name} on {cards.count} × {cards.accelerator.title}"),
        _text(f"Sessions of {show(sheet.cap, digits=15)}, cache in {sheet.kv_format}{when}."),
    )


def remarks(sheet):
    """What is not known yet and how to get it, what was assumed, and what the numbers do not contain."""
    open_ends = {}
    for _, row in sheet.missing:
        open_ends.setdefault(row.missing, []).append(row.what)
    for heading, texts in (
        ("Not known yet, and how to get it", [f"{'; '.join(what)}: {how}" for how, what in open_ends.items()]),
        ("Assumed", sheet.assumptions),
        ("Note", sheet.notes),
    ):
        if texts:
            yield heading, _list(texts)


def _dated(sheet):
    return (sheet.costs.hire, "hire"), (sheet.costs.hosted, "input"), (sheet.costs.hosted, "output")


def _table(section):
    """A section's rows; where there is one column of values, with where they are from, or how to get them."""
    if len(section.columns) > 1:
        rows = [[row.what, *(cell(row, value) for value in row.values)] for row in section.rows]
        rows = [row if any(c != "–" for c in row[1:]) else [row[0], OPEN, *row[2:]] for row in rows]
        return _lines(["", *section.columns], rows)
    rows = [
        [row.what, cell(row, row.values[0]), row.source]
        if row.known
        else [row.what, "not known yet", row.missing or row.needs]
        for row in section.rows
    ]
    return _lines(["", "", "from"], rows)


def _lines(header, rows):
    lines = [header, ["---"] + ["---:"] * (1 if header[-1] == "from" else len(header) - 1), *rows]
    if header[-1] == "from":
        lines[1] = ["---", "---:", "---"]
    return "\n".join(f"| {' | '.join(_text(c) for c in line)} |" for line in lines)


def _list(texts):
    return "\n".join(f"- {_text(text)}" for text in texts)


def _line(text):
    """A text on one line, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def _text(text):
    """A text in which nothing is taken for markup: names come from files."""
    return re.sub(r"([|*_`<>\[\]#\\])", r"\\\1", _line(text))


def plain(sheet):
    """A worksheet as plain numbers: sizes in bytes, times in seconds, prices in USD, None where nothing is known.

    Parameters
    ----------
    sheet : Worksheet
        As :func:`costlib.worksheet.worksheet` fills it.

    Returns
    -------
    dict
    """
    return {
        "model": sheet.cards.model.name,
        "accelerator": sheet.accelerator,
        "count": sheet.cards.count,
        "kv_precision": sheet.kv_format,
        **{section.key: _plain_section(section) for section in sheet.sections},
        "missing": [
            {"section": s.key, "row": row.key, "what": row.what, "how": row.missing} for s, row in sheet.missing
        ],
        "assumptions": list(sheet.assumptions),
        "notes": list(sheet.notes),
        "command": sheet.command,
    }


def _plain_section(section):
    """Values by key, and by column where there are several; and the sentences."""
    columns, names = section.columns, [NAMES.get(column, column.lower()) for column in section.columns]
    values = {
        row.key: plain_value(row.values[0] if len(columns) == 1 else dict(zip(names, row.values, strict=True)))
        for row in section.rows
    }
    return {
        **values,
        "sources": {row.key: row.source for row in section.rows if row.source},
        "says": list(section.says),
    }
