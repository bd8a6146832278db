"""The form with the reader's hardware, above each page that has something to change.

It is hidden until ``live.js`` shows it: without JavaScript, a page is the published one.
"""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from jinja2 import Environment, FileSystemLoader

import costlib
from costlib import catalog
from costlib.book.site import assets
from costlib.units import show

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


@dataclass(frozen=True)
class Field:
    key: str
    label: str
    group: str
    choices: list = field(default_factory=list)
    example: str = ""


def _catalog(kind):
    return [(name, catalog.part(kind, name).title) for name in catalog.names(kind)]


@functools.cache
def fields():
    return [
        Field("model", "Model", "Model and hardware", _catalog("model")),
        Field("accelerator", "Accelerator", "Model and hardware", _catalog("accelerator")),
        Field("node", "Node", "Model and hardware", _catalog("node")),
        Field("node.accelerators", "Accelerators in the node", "Model and hardware", example="8"),
        Field("precision.weights", "Weights", "Precision", example="4.25 bit/parameter"),
        Field("precision.kv_cache", "KV cache", "Precision", example="1 byte/element"),
        Field("precision.arithmetic", "Arithmetic", "Precision", [(r, r) for r in ("16-bit", "8-bit", "4-bit")]),
        Field("workload.context", "Context", "Workload", example="65536 token"),
        Field("workload.prompt", "Prompt", "Workload", example="8000 token"),
        Field("workload.output", "Output", "Workload", example="500 token"),
        Field("workload.batch", "Streams decoded together", "Workload", example="32 sequence"),
    ]


def add(app, pagename, templatename, context, doctree):
    """Put the control in front of the page's own content."""
    pages = app.env.get_domain("cost").data
    if doctree is None or not (pages["pages"].get(pagename) or pages["quotes"].get(pagename)):
        return
    if "core" not in app.config.costlib_without:
        for static, add_file in (("live.js", app.add_js_file), ("live.css", app.add_css_file)):
            if any(Path(app.srcdir, folder, static).exists() for folder in app.config.html_static_path):
                add_file(static, **({"loading_method": "defer"} if static.endswith("js") else {}))
    groups = {}
    for given in fields():
        groups.setdefault(given.group, []).append(
            SimpleNamespace(**vars(given), id=given.key.replace(".", "-"), published=published(given.key))
        )
    control = TEMPLATES.get_template("control.html").render(
        page=Path(pagename).name,
        live=context["pathto"]("_static/live/", resource=True),
        groups=groups,
        without=app.config.costlib_without,
        labels={name: group.label for name, group in assets.GROUPS.items()},
    )
    context["body"] = control + context["body"]


@functools.cache
def published(key):
    """What the published pages compute with, of one field."""
    part, _, name = key.partition(".")
    value = getattr(costlib.load(), part)
    value = getattr(value, name) if name else value.title
    return value if isinstance(value, str) else show(value, digits=9)
