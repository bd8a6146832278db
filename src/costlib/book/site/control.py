"""The form with the reader's hardware, above each page that has something to change.

It is hidden until ``live.js`` shows it: without JavaScript, a page is the published one.
"""

from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from costlib.book.live.fields import FIELDS
from costlib.book.site import assets
from costlib.scenario import PARTS

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def add(app, pagename, templatename, context, doctree):
    """Put the control in front of the page's own content."""
    pages = app.env.get_domain("cost").data
    if doctree is None or not (pages["pages"].get(pagename) or pages["quotes"].get(pagename)):
        return
    if "core" not in app.config.costlib_without:
        app.add_js_file("live.js", type="module")  # which the browser defers
        app.add_css_file("live.css")
    control = TEMPLATES.get_template("control.html").render(
        page=Path(pagename).name,
        live=context["pathto"]("_static/live/", resource=True),
        parts=" ".join(PARTS),
        groups={name: list(fields) for name, fields in groupby(FIELDS, lambda field: field.group)},
        without=app.config.costlib_without,
        labels={name: group.label for name, group in assets.GROUPS.items()},
    )
    context["body"] = control + context["body"]
