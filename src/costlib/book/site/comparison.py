"""The directive ``{comparison}``: every value of every page, for the reference and for other scenarios.

The cells of the pages are run by the kernel that runs them in the reader's
browser too, in a process of its own; no notebook is executed again.
"""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

import costlib
from costlib.book import comparison
from costlib.book.sphinx_ext import STATED, code_of, grid, notebook_of
from costlib.book.stated import rows


@dataclass(frozen=True)
class Source:
    """A page as it is written: its document, its title and its code cells."""

    document: str
    title: str
    cells: list

    @property
    def page(self):
        return Path(self.document).name


class Comparison(SphinxDirective):
    """A table a page: each value in every scenario, what differs from the reference marked."""

    def run(self):
        self.env.costlib_comparison = self.env.docname, _compared()
        self.stated = rows(Path(self.env.srcdir) / STATED)
        sources = [source for document in self.env.external_site_map if (source := self.read(document))]
        book = {"pages": {source.page: {"cells": source.cells} for source in sources}}
        columns = _values(book, {comparison.FIRST: None} | comparison.files(costlib.load().file))
        stating = {record["page"] for record in columns[comparison.FIRST].values()}
        return [self.table(source, columns) for source in sources if source.page in stating]

    def read(self, document):
        """A page, if it is another one and has cells."""
        self.env.note_dependency(self.env.doc2path(document))
        notebook = notebook_of(self.env, document)
        if document == self.env.docname or notebook is None:
            return None
        title = notebook.cells[0].source.partition("# ")[2].partition("\n")[0]
        return Source(document, title, code_of(notebook))

    def table(self, source, columns):
        """All values of a page."""
        keys = [key for key, record in columns[comparison.FIRST].items() if record["page"] == source.page]
        printed = {key: [column.get(key, {}).get("printed", "–") for column in columns.values()] for key in keys}
        differ = sum(len(set(texts)) > 1 for texts in printed.values())
        body = [[self.link(source.document, key), *map(nodes.Text, texts)] for key, texts in printed.items()]
        title = f"{source.title}: {differ} of {len(keys)} values differ"
        table = grid(["Value", *columns], body, title, classes=["comparison"])
        for row in next(table.findall(nodes.tbody)).children:
            _mark(row)
        table["names"].append(f"comparison-{source.page}")
        self.state.document.note_explicit_target(table, table)
        return table

    def link(self, document, key):
        row = self.stated.get(key)
        name = nodes.Text(row.quantity) if row else nodes.literal(text=key)
        return make_refnode(self.env.app.builder, self.env.docname, document, key, name)


def _values(book, files):
    """The values of each scenario, by its name."""
    given = json.dumps([book, [str(file or "") for file in files.values()]])
    command = [sys.executable, "-m", "costlib.book.live.values"]
    done = subprocess.run(command, input=given, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise ExtensionError(f"the comparison: {done.stderr.strip()[-2000:]}")
    return dict(zip(files, json.loads(done.stdout), strict=True))


def _mark(row):
    """Let what differs from the reference stand out."""
    _, reference, *others = row.children
    for entry in others:
        if entry.astext() != reference.astext():
            entry["classes"].append("differs")


def _compared():
    """What is compared: the files and what they say."""
    files = comparison.files(costlib.load().file)
    content = [name.encode() + b"\0" + file.read_bytes() for name, file in files.items()]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def outdated(_app, env, *_):
    """The comparison is read anew when other files are compared, or one of them says something else."""
    page, compared = getattr(env, "costlib_comparison", (None, None))
    return [page] if page in env.found_docs and compared != _compared() else []
