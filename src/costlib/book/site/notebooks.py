"""Each page as a notebook that runs in Jupyter, with nothing beside it but the package.

The code cells are the page's own, unchanged. What Jupyter does not know of the
text is put into plain Markdown: values are printed as published, labels are
dropped, directives written out. The package lies in the site, as a wheel.
"""

import re
from pathlib import Path

import nbformat
from docutils import nodes
from markdown_it.renderer import RendererHTML
from myst_parser.parsers.mdit import create_md_parser
from pybtex.backends.markdown import Backend
from sphinx.errors import ExtensionError

import costlib
from costlib.book.printed import printed
from costlib.book.site import assets
from costlib.book.sphinx_ext import notebook_of

FOLDER = "_sources"  # of the site, where the theme's button looks for it
FOLDED = {  # how JupyterLab folds what the page folds
    "hide-input": {"source_hidden": True},
    "hide-output": {"outputs_hidden": True},
    "hide-cell": {"source_hidden": True, "outputs_hidden": True},
}
SPAN = re.compile(r"(?:\{([\w:+-]+)\})?(?<!`)(`+)(?!`)(.+?)(?<!`)\2(?!`)", re.DOTALL)  # of code, or a role
LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:)([\w-]+\.md)?(?:#([\w-]+))?\)")


def offer(app, page, _template, context, _doctree):
    """Let the theme's download button offer the notebook."""
    if page in app.env.found_docs and notebook_of(app.env, page):
        context["ipynb_source"] = f"{page}.ipynb"


def write(app, error):
    """Write the notebook of each page, and the package, into the site."""
    if error or app.builder.format != "html":
        return
    wheel, content = assets.library(app.srcdir)
    for old in Path(app.outdir).glob("costlib-*.whl"):
        old.unlink()
    Path(app.outdir, wheel).write_bytes(content)
    for page in sorted(app.env.found_docs):
        if written := notebook_of(app.env, page):
            file = Path(app.outdir, FOLDER, f"{page}.ipynb")
            file.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(alone(app, page, written, wheel), file)


def alone(app, page, made, wheel):
    """The notebook of a page as one that runs on its own, without outputs."""
    text = Text(app, page)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = text.plain(cell.source)
        else:
            folded = [FOLDED[tag] for tag in cell.metadata.get("tags", ()) if tag in FOLDED]
            cell.metadata |= {"jupyter": folded[0]} if folded else {}
    made.cells = [nbformat.v4.new_markdown_cell(_first(app, page, wheel)), *(c for c in made.cells if c.source)]
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"  # by default a random one
    return made


def _first(app, page, wheel):
    """What to install, and where the page stands."""
    title, where = app.env.titles[page].astext(), app.config.html_baseurl or "ADDRESS/"
    site = "" if app.config.html_baseurl else ", where `ADDRESS` is that of the site that this notebook comes from"
    scenario = Path(costlib.load().file).name
    return f"""\
> This notebook is a page of **{app.config.project}**: *{title}*, with its code, unchanged.
> The page stands at `{where}{page}.html`{site}.
> It runs with Python 3.11, 3.12 or 3.13 and version {costlib.__version__} of the package:
>
> `pip install "costlib[book] @ {where}{wheel}"`
>
> Numbers in the text are those of {scenario or "the reference scenario"}.
> For your own, `%env COSTLIB_SCENARIO=mine.toml` in a cell before the first; then those in the outputs are yours."""


# ---------------------------------------------------------------- from MyST to plain Markdown


class Text:
    """The text of one page, in Markdown that Jupyter knows."""

    def __init__(self, app, page):
        self.app, self.env, self.page = app, app.env, page
        self.parser = create_md_parser(app.env.myst_config, RendererHTML)
        self.values = app.env.get_domain("cost").values

    def plain(self, text):
        """A cell of text, block by block."""
        lines, done, reached = text.split("\n"), [], 0
        for token in self.parser.parse(text):
            if token.level == 0 and token.map and token.map[0] >= reached:
                start, end = token.map
                done += lines[reached:start]
                done += self.block(token, lines[start:end])
                reached = end
        return "\n".join([*done, *lines[reached:]]).strip("\n")

    def block(self, token, lines):
        """The lines of a block."""
        if token.type == "myst_target":
            return []
        if token.type == "math_block_label":
            return ["$$", token.content.strip("\n"), rf"\tag{{{self.equation(token.info)[1:-1]}}}", "$$"]
        if token.type in ("fence", "colon_fence"):
            directive, _, argument = token.info.partition(" ")
            return self.directive(directive.strip("{}"), argument, token) if directive[:1] == "{" else lines
        text = self.inline("\n".join(lines))
        if token.type == "dl_open":  # a word and its meaning, one sentence here
            text = text.replace("\n: ", " ")
        return text.split("\n")

    def directive(self, name, argument, token):
        written = getattr(self, f"write_{name.replace('-', '_')}", None)
        if not written:
            raise ExtensionError(f"{self.page}: notebooks have no words for the directive {name!r}")
        return written(argument, token).split("\n")

    def write_bibliography(self, *_):
        cited = [c for c in self.env.get_domain("cite").citations if c.bibliography_key.docname == self.page]
        entries = [c.formatted_entry for c in cited]
        texts = [entry.text.render(Backend()).replace("\n", " ") for entry in entries]
        return "\n".join(f"- \\[{entry.label}\\] {text}" for entry, text in zip(entries, texts, strict=True))

    def write_ledger(self, *_):
        return "The ledger, of every figure that the sources state beside the one computed, stands on the page."

    def write_comparison(self, *_):
        return "The tables, of every value of every page in each scenario, stand on the page."

    def write_list_table(self, caption, token):
        """A list of lists as a table, its first row the header."""
        body = re.sub(r"^:[\w-]+:.*\n", "", token.content, flags=re.MULTILINE)
        rows = []
        for inner in self.parser.parse(body):
            if inner.type == "list_item_open" and inner.level == 1:
                rows.append([])
            elif inner.type == "inline":
                rows[-1].append(self.inline(inner.content).replace("\n", " ").replace("|", "\\|"))
        grid = [f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]]]
        return "\n".join([f"{self.inline(caption)}:", "", *grid])

    def inline(self, text):
        """Roles and links, none of them within code."""
        return LINK.sub(self.link, SPAN.sub(self.role, text))

    def role(self, found):
        role, _, content = found.groups()
        if role is None:
            return found[0]
        written = {"val": self.value, "eq": self.equation, "numref": self.float, "cite:p": self.citations}.get(role)
        if not written:
            raise ExtensionError(f"{self.page}: notebooks have no words for the role {role!r}")
        return written(content)

    def value(self, content):
        key, _, form = content.partition(":")
        return printed(self.values[key], form) if key in self.values else "?"  # as on the page, of which Sphinx warns

    def equation(self, label):
        """Its number, as the page has it, in parentheses."""
        resolve = self.env.get_domain("math").resolve_xref
        return resolve(self.env, self.page, self.app.builder, "eq", label, None, nodes.inline()).astext()

    def float(self, key):
        """A figure or a table by its key, which stands in its caption."""
        return f"{'Table' if key.startswith('tab-') else 'Figure'} `{key}`"

    def citations(self, content):
        entries = {c.key: c.formatted_entry.label for c in self.env.get_domain("cite").citations}
        return f"\\[{', '.join(entries[key] for key in content.split(','))}\\]"

    def link(self, found):
        """To a heading of this notebook or of another, as JupyterLab names headings."""
        text, page, anchor = found.groups()
        page, _, title = self.env.get_domain("std").labels.get(anchor or Path(page).stem, (self.page, "", ""))
        beside = "" if page == self.page else f"{Path(page).name}.ipynb"
        heading = f"#{title.replace(' ', '-')}" if anchor and title and anchor not in self.values else ""
        return f"[{text}]({beside}{heading})" if beside or heading else text
