"""A worksheet as a notebook: its inputs in the first cell, and each number computed again from them."""

import contextlib
import io
import math
import pprint

from costlib.units import Quantity
from costlib.worksheet.as_markdown import bullets, introduction, remarks, to_do
from costlib.worksheet.costs import SESSION

__all__ = ["notebook"]

TOKENS = ("input", "cached_input", "output")  # that a host has prices for

RUN = "To run it: `pip install jupyterlab`, or any Jupyter that has costlib; change an input below, and run all cells."
READ = """
from costlib import Quantity, catalog, quantity, show
from costlib.model_config import read, read_table
from costlib.model_config.precision import precision_of
from costlib.model_config.weights import Weights, counted_weights
from costlib.worksheet import Cards, Costs, Session, given_price, sentence


def read_in(texts):
    parts = {name: text.partition(" ") for name, text in texts.items()}
    return {name: Quantity(float(number), unit) for name, (number, _, unit) in parts.items()}


model = read_table(CONFIG, "this notebook", name=NAME) if isinstance(CONFIG, dict) else read(CONFIG)
if not isinstance(CAP, str) or CAP.strip().isdigit():  # a plain number is of tokens
    CAP = f"{float(CAP):.15g} token"
cap = quantity(CAP)
if not (cap.is_compatible_with("token") and cap.m_as("token") >= 1):
    raise ValueError(f"CAP = {CAP!r}; wanted tokens, as in '32768 token'")
weight_precision = None if WEIGHT_PRECISION is None else quantity(WEIGHT_PRECISION)
cards = Cards(
    model=model,
    accelerator=catalog.part("accelerator", ACCELERATOR),
    count=COUNT,
    precision=precision_of(KV_FORMAT),
    weights=Weights(quantity(WEIGHTS), "as above") if WEIGHTS else counted_weights(model, weight_precision),
    utilisation=quantity(UTILISATION),
    runtime=quantity(RUNTIME),
    settings=SETTINGS,
)
column = COLUMNS[1] if len(COLUMNS) == 2 and not cards.lacks(COLUMNS[1], cap) else COLUMNS[0]
changed = [name for name, value in MEASURED_AT.items() if globals()[name] != value]
print(f"{COUNT} × {cards.accelerator.title}, {show(cards.accelerator.memory, 'GB', 4)} each")
"""

STATE = """
for one in COLUMNS:
    if why := cards.lacks(one, cap):
        print(f"{one}: not told, {why}")
        continue
    growth, beside, total = cards.kept(one, cap)
    print(f"{one}: {show(growth, 'kB/token', 4)} ({show(growth, 'KiB/token', 4)}),",
          f"beside it {show(beside, 'MB', 4)}, a session {show(total, 'GB', 4)}")
"""

COUNTED = """
counted = counted_weights(model, weight_precision)
print(f"computed: {counted.formula} = {show(counted.size, 'GB', 4)} ({show(counted.size, 'GiB', 4)})")
"""

MEASURED = """
for what, size in MEASURED_WEIGHTS.items():
    print(f"{what}: {show(quantity(size), 'GB', 4)} ({show(quantity(size), 'GiB', 4)})")
"""

CAPS = """
for times in (0.5, 1, 2):
    tokens = quantity(f"{max(1, round(times * cap.m_as('token')))} token")
    held = [f"{show(cards.sessions(one, tokens), digits=15)} ({one})"
            for one in COLUMNS if not cards.lacks(one, tokens)]
    print(f"a cap of {show(tokens, digits=15)}:", ", ".join(held))
"""

LENGTHS = """

def whole(tokens):
    return show(quantity(f"{round(tokens.m_as('token'))} token"), digits=15)


p99 = quantity(SESSION_LENGTHS["p99"])
print(f"99th percentile of {show(quantity(SESSION_LENGTHS['count']), digits=15)}: {whole(p99)}. {sentence(p99, cap)}")
for end in ("low", "high"):
    if SESSION_LENGTHS[end] is not None:
        length = quantity(SESSION_LENGTHS[end])
        print(f"{end} end, with 95 % confidence: {whole(length)}. {sentence(length, cap)}")
"""

SESSIONS = """
print(f"room for state on each: {show(cards.room, 'GB', 4)} ({show(cards.room, 'GiB', 4)})")
for one in COLUMNS:
    if not cards.lacks(one, cap):
        by = one if one == COLUMNS[0] else f"{one} reserves"
        print(f"by what {by}: {show(cards.sessions(one, cap), digits=15)}")
"""

POOL = """
if changed:
    print(f"measured at another {', '.join(changed)}: left out")
elif not cards.lacks(column, cap):
    held = cards.sessions(column, cap, quantity(POOL))
    print(f"in the pool of the log, {show(quantity(POOL), 'GB', 4)}: {show(held, digits=15)}")
"""

TESTED = """
for what, held in ({} if changed else MEASURED_SESSIONS).items():
    print(f"{what}: {show(quantity(held), digits=15)}")
"""

COST = """
held = None
if HELD and not changed:
    held = quantity(HELD)
elif not cards.lacks(column, cap):
    held = cards.sessions(column, cap, quantity(POOL) if POOL and not changed else None)
costs = Costs(
    cards=cards,
    cap=cap,
    held=held or None,
    session=Session(**read_in(SESSION)),
    hire=None if HIRE is None else given_price(hire=quantity(HIRE)),
    hosted=given_price(**read_in(PRICES)) if PRICES else None,
    load=None if LOAD is None else quantity(LOAD),
)
filled = costs.as_filled
for what, value, unit in (
    ("holding a million tokens for an hour", costs.holding, "USD/hour/Mtoken"),
    ("sessions a day that memory allows", costs.memory_rate, "session/day"),
    ("sessions a day that prefill and decode allow, at most", costs.compute_rate, "session/day"),
    ("a session, self-hosted", costs.own, "USD/session"),
    ("the same, memory given out as contexts grow", filled and filled.own, "USD/session"),
    ("a session, hosted", costs.host, "USD/session"),
    ("a million tokens, self-hosted", costs.own_token, "USD/Mtoken"),
    ("a million tokens, hosted", costs.host_token, "USD/Mtoken"),
    ("the two cross at", costs.crossing, "session/day"),
    ("utilisation at which they cross", costs.crossing_load, "percent"),
):
    print(f"{what}:", "not known" if value is None else show(value, unit, 4 if what.startswith("holding") else 3))
"""


def notebook(sheet):
    """A worksheet as a Jupyter notebook, filled: its cells compute each number again from the inputs in the first.

    Parameters
    ----------
    sheet : Worksheet
        As :func:`costlib.worksheet.worksheet` fills it.

    Returns
    -------
    str
        The file, in version 4 of the notebook format.

    Notes
    -----
    It needs costlib alone, and neither the trace nor the log: what they said is among its inputs. A model that was
    read from a GGUF file is read from there again.
    """
    import nbformat
    from nbformat import v4

    title, headline = introduction(sheet)
    cells = [v4.new_markdown_cell(f"# {title}\n\n{headline}\n\n{RUN}"), _code(_inputs(sheet)), _code(READ)]
    for section in sheet.sections:
        if section.title:
            cells.append(v4.new_markdown_cell(f"## {section.title}"))
        cells += map(_code, _cells(sheet, section.key))
    open_ends = [f"{what}: {how}" for how, what in to_do(row for _, row in sheet.missing).items()]
    for heading, texts in (("Not known yet, and how to get it", open_ends), *remarks(sheet)):
        cells += [v4.new_markdown_cell(f"## {heading}\n\n{bullets(texts)}")] if texts else []
    _fill(cells)
    for number, one in enumerate(cells):
        one["id"] = f"cell-{number}"  # nbformat's own are random
    info = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    return nbformat.writes(v4.new_notebook(cells=cells, metadata=info)) + "\n"


def _code(source):
    from nbformat.v4 import new_code_cell

    return new_code_cell(source.strip())


def _fill(cells):
    """Run the cells in order, and put what they print beneath them."""
    from nbformat.v4 import new_output

    names, count = {"__name__": "__main__"}, 0
    for one in cells:
        if one.cell_type != "code":
            continue
        count, printed = count + 1, io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(one.source, names)  # made here, of inputs that are literals
        one.execution_count = count
        if printed.getvalue():
            one.outputs = [new_output("stream", name="stdout", text=printed.getvalue())]


def _inputs(sheet):
    """The first cell: everything that the numbers come from, as literals."""
    cards, costs, lengths = sheet.cards, sheet.costs, sheet.lengths
    prices = costs.hosted
    inputs = {
        "NAME": cards.model.name,
        "CONFIG": _config(sheet),
        "ACCELERATOR": sheet.accelerator,
        "COUNT": cards.count,
        "CAP": _text(sheet.cap),
        "KV_FORMAT": sheet.kv_format,
        "WEIGHTS": None if cards.weights.formula else _text(cards.weights.size),  # counted, they are again
        "WEIGHT_PRECISION": _text(sheet.weight_precision),
        "UTILISATION": _text(cards.utilisation),
        "RUNTIME": _text(cards.runtime),
        "SETTINGS": cards.settings,
        "COLUMNS": list(sheet["sessions_by_cap"].columns),
        "MEASURED_WEIGHTS": _measured(sheet["weights"], ("given", "files", "log")),
        "MEASURED_SESSIONS": _measured(sheet["sessions"], ("log", "tested")),
        "POOL": _text(sheet.pool),
        "SESSION_LENGTHS": lengths and {name: _text(value) for name, value in lengths.items()},
        "HELD": _text(sheet.measured),
        "SESSION": {key: _text(value) for key, *_ in SESSION if (value := getattr(costs.session, key)) is not None},
        "HIRE": _text(costs.per_hour),
        "PRICES": {field: _text(price) for field in TOKENS if (price := getattr(prices, field, None)) is not None},
        "LOAD": _text(costs.load),
    }
    inputs["MEASURED_AT"] = {name: inputs[name] for name in ("ACCELERATOR", "COUNT", "CAP", "KV_FORMAT", "UTILISATION")}
    infinite = "from math import inf, nan  # the model's file has such\n\n" if _has_infinity(inputs["CONFIG"]) else ""
    return infinite + "\n".join(
        f"{name} = {pprint.pformat(value, width=88, sort_dicts=False)}" for name, value in inputs.items()
    )


def _config(sheet):
    """The fields of the model's file, or the name of a file that is not made of fields."""
    model = sheet.cards.model
    if model.fields is None or sheet.source.lower().endswith(".gguf"):
        return sheet.source
    return model.fields.table


def _has_infinity(value):
    """Whether a nest of values has a number that is not finite: Python writes them by name."""
    if isinstance(value, dict | list):
        return any(map(_has_infinity, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and not math.isfinite(value)


def _text(value):
    """A quantity as a text that is read back as the same."""
    if not isinstance(value, Quantity):
        return value
    return f"{float(value.magnitude)!r}".removesuffix(".0") + f" {value.units:~C}".rstrip().replace("**", "^")


def _measured(section, keys):
    return {row.what: _text(row.values[0]) for row in section.rows if row.key in keys and row.known}


def _cells(sheet, key):
    """The code of a section: what can be computed of it."""
    if key == "per_token":
        yield STATE
    elif key == "weights":
        if sheet["weights"]["computed"].known:
            yield COUNTED
        if _measured(sheet["weights"], ("given", "files", "log")):
            yield MEASURED
    elif key == "sessions_by_cap":
        yield CAPS
    elif key == "length" and sheet.lengths:
        yield LENGTHS
    elif key == "sessions":
        yield SESSIONS
        if sheet.pool is not None:
            yield POOL
        if _measured(sheet["sessions"], ("log", "tested")):
            yield TESTED
    elif key == "cost":
        yield COST
