"""The Sphinx side: values with anchors, quoted in sentences, listed in a ledger and in cells.json.

- A stated cell becomes an entry of the domain ``cost``: what it is worth, and where it stands.
- The role ``{val}`` quotes an entry by its key. It is resolved when a page is
  written, so that it works on any page, in captions, tables and translations.
- The directive ``{ledger}`` lists what the sources state beside what was computed.
- ``cells.json`` lists every entry for chapters of other books.
- Notebooks are executed anew when the library, the catalog, the scenario or the lock changes.
"""

import functools
import hashlib
import json
import os
from pathlib import Path

from docutils import nodes
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_nb.core.render import MimeRenderPlugin
from sphinx.domains import Domain
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

import costlib
from costlib.book import MIME
from costlib.book.printed import printed
from costlib.book.stated import rows
from costlib.scenario import VARIABLE

LOG = logging.getLogger(__name__)
STATED = "book/stated-values.csv"


# ---------------------------------------------------------------- what a page publishes


class Values(Domain):
    """The values that the pages publish, by key; which page quotes which, and how; the code cells of each page."""

    name, label = "cost", "Values"
    initial_data = {"values": {}, "quotes": {}, "pages": {}}  # key -> record; page -> quotes; page -> cells and states
    data_version = 2

    @property
    def values(self):
        return self.data["values"]

    def publish(self, page, record, location):
        key = record["key"]
        if self.values.get(key, {}).get("page", page) != page:
            LOG.warning("the value %r is stated on %s too", key, self.values[key]["page"], location=location)
        self.values[key] = record | {"page": page}

    def clear_doc(self, docname):
        for key in [key for key, record in self.values.items() if record["page"] == docname]:
            del self.values[key]
        for kind in ("quotes", "pages"):
            self.data[kind].pop(docname, None)

    def merge_domaindata(self, docnames, otherdata):
        for key, record in otherdata["values"].items():
            if record["page"] in docnames:
                self.values[key] = record
        for kind in ("quotes", "pages"):
            self.data[kind].update({page: data for page, data in otherdata[kind].items() if page in docnames})

    def resolve_any_xref(self, *_):
        return []


class Published(MimeRenderPlugin):
    """Turns what a cell published into the nodes of the page."""

    mime_priority_overrides = [("*", mime, 1) for mime in MIME.values()]

    @staticmethod
    def handle_mime(renderer, data, inline):
        for kind, build in (("value", _value), ("figure", _figure), ("table", _table)):
            if data.mime_type == MIME[kind]:
                return build(renderer, data)
        return None


def _value(renderer, data):
    """The box under a stated cell: key, value, and what the source states."""
    env, record = renderer.renderer.sphinx_env, data.content
    env.get_domain("cost").publish(env.docname, record, (env.docname, data.line))
    box = nodes.container(classes=["stated"])
    line = nodes.paragraph("", "", nodes.literal(text=record["key"]), nodes.Text(" = "))
    line += nodes.strong(text=record["printed"])
    row = _rows(env.app.srcdir).get(record["key"])
    if row:
        mark = "" if _scenario().file else "✓ " if row.agrees(record["printed"]) else "✗ "
        how = "stated" if row.number or row.stated == row.expected else "recomputed; stated only as"
        line += nodes.inline(text=f" {mark}{how}: {row.stated}", classes=["source"])
    box += line
    _anchor(renderer, box, record["key"])
    return [box]


def _figure(renderer, data):
    content = data.content
    figure, images = nodes.figure(classes=["costlib"], finding=content["title"]), nodes.container()
    figure += images  # apart, since the theme hides a caption beside an image that it hides
    for theme in ("light", "dark"):
        image = content[theme].encode()
        name = f"{content['key']}-{theme}-{hashlib.sha256(image).hexdigest()[:8]}.svg"
        uri = renderer.write_file([name], image, exists_ok=True)
        images += nodes.image(uri=uri, alt=content["alt"], classes=[f"only-{theme}"])
    caption = nodes.caption()
    figure += caption
    with renderer.renderer.current_node_context(caption):
        renderer.renderer.nested_render_text(content["caption"], data.line or 0, inline=True)
    _anchor(renderer, figure, content["key"])
    return [figure]


def _table(renderer, data):
    content, holder = data.content, nodes.container()
    text = f":::{{table}} {content['caption']}\n:name: {content['key']}\n\n{content['grid']}\n:::"
    with renderer.renderer.current_node_context(holder):
        renderer.renderer.nested_render_text(text, data.line or 0)
    return holder.children


def _anchor(renderer, node, key):
    node["names"].append(key)
    renderer.renderer.document.note_explicit_target(node, node)


def number_cells(app, doctree):
    """Give each cell a class with its number among the page's code cells; keep its source and what it publishes."""
    env, page = app.env, app.env.docname
    notebook = notebook_of(env, page)
    if notebook is None:
        return
    code = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    states = {}
    for cell in doctree.findall(lambda node: isinstance(node, nodes.container) and "cell_index" in node):
        number = code.index(cell["cell_index"])
        cell["classes"].append(f"cell-{number}")
        states |= {box["names"][0]: number for box in cell.findall(nodes.container) if "stated" in box["classes"]}
    env.get_domain("cost").data["pages"][page] = {"cells": code_of(notebook), "states": states}


def notebook_of(env, document):
    """A page as it is written, as a notebook; None where it is none."""
    text = Path(env.doc2path(document)).read_text("utf-8")
    return read_myst_markdown_notebook(text, config=env.myst_config) if is_myst_markdown_notebook(text) else None


def code_of(notebook):
    """The code cells of a page, as plain data."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [{"source": cell.source, "tags": cell.metadata.get("tags", [])} for cell in code]


def label_published(app, doctree):
    """Name what other books cite, in objects.inv: a value by its print, a figure by its title, an equation at all."""
    labels, page = app.env.get_domain("std").labels, app.env.docname
    for key, record in app.env.get_domain("cost").values.items():
        if record["page"] == page:
            labels[key] = (page, key, record["printed"])
    for figure in doctree.findall(nodes.figure):
        if "finding" in figure:
            labels[figure["names"][0]] = (page, figure["names"][0], figure["finding"])
    for equation in doctree.findall(nodes.math_block):
        if label := equation.get("label"):
            labels[label] = (page, f"equation-{label}", f"equation {label.removeprefix('eq-')}")


# ---------------------------------------------------------------- how a page quotes


class quoted(nodes.Inline, nodes.Element):
    """A place in a page that waits for a value; ``shows`` says what of it."""


class Val(SphinxRole):
    """``{val}`key``` prints a value as stated.

    A form after a colon changes that: ``2 ms`` other digits and another unit,
    ``number`` without its unit, ``each`` without what it is counted by (71 µs for 71 µs/token).
    """

    def run(self):
        key, _, form = self.text.partition(":")
        return [_quote(self.env, key, form=form, location=self.get_source_info())], []


def _quote(env, key, shows="value", **attributes):
    quotes = env.get_domain("cost").data["quotes"].setdefault(env.docname, set())
    quotes.update(attributes.get("keys", [f"{key}:{form}" if (form := attributes.get("form")) else key]))
    return quoted("", nodes.Text("…"), key=key, shows=shows, **attributes)


class Ledger(SphinxDirective):
    """Every row of the stated values, by page: stated, computed, and whether they agree."""

    def run(self):
        pages = {}
        for row in _rows(self.env.app.srcdir).values():
            pages.setdefault(row.page, []).append(row)
        written = {Path(doc).name for doc in self.env.found_docs}
        total = _quote(self.env, "", shows="count", keys=[row.key for group in pages.values() for row in group])
        tables = [self.table(page, group, page in written) for page, group in pages.items()]
        return [nodes.paragraph("", "", total, nodes.Text(".")), *tables]

    def table(self, page, group, written):
        title = f"{page.replace('-', ' ').capitalize().replace('Kv ', 'KV ')}: "
        computed = ["Reference", "Yours"] if _scenario().file else ["Computed", "Agrees"]
        header = ["Value", "Stated", *(computed if written else []), "Quantity"]
        table = grid(header, [self.cells(row, written) for row in group], title, classes=["ledger"])
        count = _quote(self.env, "", shows="count", keys=[row.key for row in group])
        table[0] += count if written else nodes.Text("this page is not written yet")
        table["names"].append(f"ledger-{page}")
        self.state.document.note_explicit_target(table, table)
        return table

    def cells(self, row, written):
        note = nodes.Text(f"{row.quantity} ({row.place})" + (f"; {row.remark}" if row.remark else ""))
        stated, value = [self.quote(row, "key"), nodes.Text(row.stated)], self.quote(row, "value")
        if not written:
            return [*stated, note]
        if _scenario().file:
            return [*stated, nodes.Text(row.expected), value, note]
        return [*stated, value, self.quote(row, "verdict"), note]

    def quote(self, row, shows):
        return _quote(self.env, row.key, shows=shows, missing="–", form="")


def grid(header, body, title, classes):
    """A docutils table of inline nodes."""
    group = nodes.tgroup("", *[nodes.colspec(colwidth=1) for _ in header], cols=len(header))
    group += nodes.thead("", _line([nodes.Text(text) for text in header]))
    group += nodes.tbody("", *[_line(cells) for cells in body])
    return nodes.table("", nodes.title("", title), group, classes=classes)


def _line(cells):
    return nodes.row("", *[nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells])


class Resolve(SphinxPostTransform):
    """Puts the values into the pages, when all of them are known."""

    default_priority = 5  # after myst-nb has chosen among the outputs of each cell

    def run(self, **_):
        self.values = self.env.get_domain("cost").values
        for node in list(self.document.findall(quoted)):
            record = self.values.get(node["key"])
            if record is None and "missing" not in node and node["shows"] != "count":
                LOG.warning("no page states the value %r", node["key"], location=node.get("location"))
            node.replace_self(getattr(self, f"show_{node['shows']}")(node, record))

    def show_value(self, node, record):
        if record is None:
            return nodes.Text(node.get("missing", "?"))
        try:
            text = printed(record, node["form"])
        except Exception as error:
            LOG.warning("cannot print %r as %r: %s", node["key"], node["form"], error, location=node.get("location"))
            return nodes.Text("?")
        return self.link(record, _data(record, text, node["form"]))

    def show_key(self, node, record):
        name = nodes.literal(text=node["key"])
        return self.link(record, name) if record else name

    def show_verdict(self, node, record):
        return nodes.Text("–" if record is None else "yes" if self.agrees(record) else "no")

    def show_count(self, node, _):
        wanted, found = node["keys"], [self.values[key] for key in node["keys"] if key in self.values]
        later = f"; {len(wanted) - len(found)} are not computed yet" if len(found) < len(wanted) else ""
        if _scenario().file:
            return nodes.Text(f"{len(found)} of {len(wanted)} computed for your scenario{later}")
        return nodes.Text(f"{sum(map(self.agrees, found))} of {len(wanted)} agree{later}")

    def agrees(self, record):
        return _rows(self.env.app.srcdir)[record["key"]].agrees(record["printed"])

    def link(self, record, child):
        link = make_refnode(self.app.builder, self.env.docname, record["page"], record["key"], child)
        link["classes"].append("val" if record["number"] else "verdict")
        return link


class value(nodes.inline):
    """A printed value, with its number at full precision beside it."""


def _data(record, text, form):
    if record["number"]:
        text = text.replace(" ", "\u00a0", 1)  # a number and its unit stay together
    return value("", text, key=record["key"], value=record["value"], form=form, dial=record.get("dial"))


def _visit_value(writer, node):
    """A data element; what it carries beside its value is what a live page needs to print it anew."""
    live = {f"data-{name}": node[name] for name in ("key", "form", "dial") if node[name] is not None}
    writer.body.append(writer.starttag(node, "data", "", value=str(node["value"]), **live))


def _depart_value(writer, _):
    writer.body.append("</data>")


def _as_text(*_):
    """Nothing around the text, in builders without data elements."""


# ---------------------------------------------------------------- the build


@functools.cache
def _rows(srcdir):
    return rows(Path(srcdir) / STATED)


@functools.cache
def _scenario():
    return costlib.load()


def _digest(*files):
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def key_caches(app, config):
    """Keep executed notebooks and pages for as long as what they computed from stays the same."""
    root, book = Path(app.srcdir), Path(__file__).parent
    shows = [Path(__file__), *(book / "live").rglob("*.py"), *(book / "site").rglob("*")]  # no cell imports these
    shows = [file for file in shows if file.is_file() and "__pycache__" not in file.parts]
    suffixes = (".py", ".toml", ".txt", ".json", ".csv", ".log")
    library = [file for file in book.parent.rglob("*") if file.suffix in suffixes]
    scenario = [Path(_scenario().file)] if _scenario().file else []
    computed_from = _digest(*set(library) - set(shows), *scenario, root / "requirements.txt")
    config.nb_execution_cache_path = str(root / "_build" / ".jupyter_cache" / computed_from)
    config.costlib_state = computed_from + _digest(*shows, root / STATED)


def pages_to_rewrite(app, env):
    """Pages that quote what has changed since they were written."""
    domain = env.get_domain("cost")
    before, now = domain.data.get("written", {}), {key: dict(record) for key, record in domain.values.items()}
    domain.data["written"] = now
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    quoted = {page: {quote.partition(":")[0] for quote in quotes} for page, quotes in domain.data["quotes"].items()}
    return [page for page, keys in quoted.items() if keys & changed] if before else []


def name_of(key, row):
    """What a value is called: as its row of the stated values says or, where it has none, by its key."""
    return row.quantity if row else key.replace("-", " ")


def write_cells(app, error):
    """Write cells.json: what a citing chapter needs of every value. Say how many agree with the sources."""
    if error or app.builder.format != "html":
        return
    stated, cells = _rows(app.srcdir), {}
    for key, record in sorted(app.env.get_domain("cost").values.items()):
        row = stated.get(key)
        cells[key] = {
            "name": name_of(key, row),
            **{field: record[field] for field in ("value", "unit", "printed")},
            "page": f"{record['page']}.html",
            "anchor": key,
            "stated": row.stated if row else None,
            "source": f"{row.source}, {row.place}" if row else None,
        }
    content = {"scenario": Path(_scenario().file).name or "reference", "cells": cells}
    Path(app.outdir, "cells.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if not _scenario().file:
        computed = [key for key in cells if key in stated]
        differ = [key for key in computed if not stated[key].agrees(cells[key]["printed"])]
        LOG.info("stated values: %d of %d agree %s", len(computed) - len(differ), len(computed), ", ".join(differ))


def name_sources(app, pagename, templatename, context, doctree):
    """Make sources items of their list: ARIA has given up the role that docutils gives them."""
    context["body"] = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app):
    if os.environ.get(VARIABLE):  # notebooks run in another folder than the build
        os.environ[VARIABLE] = os.path.abspath(os.environ[VARIABLE])
    app.add_domain(Values)
    app.add_node(quoted)
    app.add_node(value, html=(_visit_value, _depart_value), latex=(_as_text, _as_text), text=(_as_text, _as_text))
    app.add_role("val", Val())
    app.add_directive("ledger", Ledger)
    app.add_post_transform(Resolve)
    app.add_config_value("costlib_state", "", "env")  # every page is read anew when it changes
    app.connect("config-inited", key_caches, priority=100)
    app.connect("doctree-read", number_cells)
    app.connect("doctree-read", label_published)
    app.connect("env-updated", pages_to_rewrite)
    app.connect("html-page-context", name_sources)
    app.connect("build-finished", write_cells)
    return {"version": costlib.__version__, "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
