"""A worksheet as Markdown, to paste into a runbook, and as plain numbers, for programs."""

import re

from costlib.plain import plain as plain_value
from costlib.units import show
from costlib.worksheet.memory import NEEDS
from costlib.worksheet.table import cell

NAMES = {NEEDS: "needs"}  # of columns, for programs
OPEN = "not known yet"

__all__ = ["bullets", "introduction", "markdown", "plain", "remarks", "to_do"]


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
        blocks += _section(section)
    blocks += [f"## {heading}\n\n{bullets(texts)}" for heading, texts in remarks(sheet)]
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
    """What was assumed, and what the numbers do not contain: each a heading with its texts, if there are any."""
    return [(heading, texts) for heading, texts in (("Assumed", sheet.assumptions), ("Note", sheet.notes)) if texts]


def to_do(rows):
    """Rows without a value by how to get it: how, what. Those that follow from others are left out."""
    by_how = {}
    for row in rows:
        if not row.known and row.missing:
            by_how.setdefault(row.missing, []).append(row.what)
    return {how: "; ".join(what) for how, what in by_how.items()}


def _dated(sheet):
    return (sheet.costs.hire, "hire"), (sheet.costs.hosted, "input"), (sheet.costs.hosted, "output")


def _section(section):
    """A section's title, rows and sentences; nothing where nothing is known of it, nor to be done about it."""
    table = _columns(section) if len(section.columns) > 1 else _one_column(section)
    if table:
        yield from [f"## {section.title}"] if section.title else []
        yield table
        yield from [bullets(section.says)] if section.says else []


def _columns(section):
    """A table of several columns of values."""
    rows = [[row.what, *(cell(row, value) for value in row.values)] for row in section.rows]
    return _lines(["", *section.columns], ["---:"] * len(section.columns), rows)


def _one_column(section):
    """A table of values, with where they are from; of what is not known yet, what is got in the same way in one row."""
    rows, unknown = [], to_do(section.rows)
    for row in section.rows:
        if row.known:
            rows.append([row.what, cell(row, row.values[0]), row.source])
        elif what := unknown.pop(row.missing, None):
            rows.append([what, OPEN, row.missing])
    return _lines(["", "", "from"], ["---:", "---"], rows) if rows else ""


def _lines(header, aligned, rows):
    """Lines of a table, the first column set to the left."""
    return "\n".join(f"| {' | '.join(map(_text, line))} |" for line in (header, ["---", *aligned], *rows))


def bullets(texts):
    """Texts as a list."""
    return "\n".join(f"- {_text(text)}" for text in texts)


def _line(text):
    """A text on one line, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def _text(text):
    """A text in which nothing is taken for markup, since names come from files, and options stand as code."""
    escaped = re.sub(r"([|*_`<>\[\]#\\])", r"\\\1", _line(text))
    return re.sub(r"(?<!\S)--[a-z][a-z-]*(?: [A-Z]+\b)?", r"`\g<0>`", escaped)  # or -- becomes a dash


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
