"""What turns results into pages.

In a notebook: :func:`state` publishes a named value, :func:`figure` and
:func:`table` publish numbered floats. Each shows itself in Jupyter, and carries
what the Sphinx extension, :mod:`costlib.book.sphinx_ext`, needs to put it on a
page with an anchor, to quote it in a sentence with the role ``val`` and to
list it in the ledger.
"""

import html
import json
import re
from pathlib import Path

from costlib.book.style import axes, dark, svg
from costlib.units import Quantity, show

__all__ = ["FILES", "MIME", "axes", "cited", "figure", "show", "state", "table"]

FILES = Path(__file__).parent  # of what pages read: model files in configs, a log and a model in samples, scenarios
MIME = {kind: f"application/vnd.costlib.{kind}+json" for kind in ("value", "figure", "table")}


def state(key, value, unit=None, digits=3, dial=None):
    """Publish a value under a key: the anchor on the page, and the name by which it is quoted and cited.

    Parameters
    ----------
    key : str
        Lower-case words joined by hyphens. Values that the sources state have
        the keys of ``stated-values.csv``.
    value : Quantity, float or str
        A verdict is a text.
    unit : str, optional
        Unit to print in.
    digits : int
        Significant digits to print.
    dial : str, optional
        The field of a scenario file that the value is, such as ``"workload.context"``:
        on a live page, the reader turns it where it is quoted.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", key):
        raise ValueError(f"key {key!r}; wanted lower-case words joined by hyphens, as in 'ridge-point'")
    record = record_of(value, unit, digits) | ({"dial": dial} if dial else {})
    _publish("value", {"key": key, **record}, f"{key} = {record['printed']}")


def record_of(value, unit, digits):
    """A value as plain data: its number at full precision, its unit, and how it is printed."""
    printed = show(value, unit, digits)
    if isinstance(value, str):
        return {"value": value, "number": False, "unit": "", "digits": digits, "printed": printed}
    value = Quantity(value).to(unit) if unit else Quantity(value)
    number = float(value.magnitude)
    plain = number if abs(number) != float("inf") else str(number)  # JSON has no infinity
    return {"value": plain, "number": True, "unit": f"{value.units:C}", "digits": digits, "printed": printed}


def figure(key, drawn, title, caption, alt):
    """Publish a figure, numbered and with an anchor, for light and for dark pages.

    Parameters
    ----------
    key : str
        The anchor.
    drawn : matplotlib.figure.Figure
        Made with :func:`axes`.
    title : str
        The finding, in one sentence without a full stop.
    caption : str
        How to read the figure, in MyST.
    alt : str
        What the figure shows, with its values, for those who do not see it.
    """
    image = svg(drawn)
    data = {
        "key": key,
        "title": title,
        "light": image,
        "dark": dark(image),
        "caption": f"**{title}.** {caption}",
        "alt": alt,
    }
    caption = f"<figcaption><code>{key}</code>: {html.escape(title)}</figcaption>"
    shown = f"<figure aria-label='{html.escape(alt)}'>{image}{caption}</figure>"
    _publish("figure", data, f"{key}: {title}", {"text/html": shown})


def table(key, header, rows, caption):
    """Publish a table, numbered and with an anchor.

    Parameters
    ----------
    key : str
        The anchor.
    header : list of str
    rows : list of list
        Cells in MyST; anything but a text is printed with :func:`costlib.show`.
    caption : str
        What to compare, in MyST.
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"table {key!r}: a row of {len(row)} cells; wanted {len(header)}, as in the header")
    cells = [[cell if isinstance(cell, str) else show(cell) for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    grid = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    shown = re.sub(r"\{[a-z:]+\}(`[^`]*`)", r"\1", f"`{key}`: {caption}\n\n{grid}")  # Jupyter has no roles
    _publish("table", {"key": key, "grid": grid, "caption": caption}, grid, {"text/markdown": shown})


def cited(origin):
    """Where a value comes from, in MyST: its source, linked where it has an address, its date and the note on it."""
    source = f"[{origin.title}]({origin.address})" if origin.address else origin.title
    dated = f"{source}, {origin.date}" if origin.date else source
    return f"{dated}. {origin.note}" if origin.note else dated


def _publish(kind, data, text, in_jupyter=None):
    from IPython.display import display

    bundle = {MIME[kind]: json.loads(json.dumps(data)), "text/plain": text}
    display(bundle | (in_jupyter or {}), raw=True)
