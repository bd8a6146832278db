"""What cells show, as HTML of the page: MyST of captions and table cells, values, streams.

Everything is escaped; HTML that stands in a text is shown as text. References
to equations, sections and sources are left as elements that say their target,
since the published page has the links already.
"""

import functools
import html
import re

from costlib.book.printed import printed
from costlib.units import Quantity

__all__ = ["Renderer", "as_text", "cells_of", "plain", "shortened", "stream"]

MARKUP = re.compile(r"[\\`*{}\[\]<>$&\"'!\n]|\b_|_\b")  # without these, a text is itself
APOSTROPHE = re.compile(r"(?<=[^\W_])'(?=[^\W_])")
QUOTE = re.compile(r"\{val\}`([^`\n]+)`")


class Renderer:
    """MyST to HTML, with the values of a page.

    Parameters
    ----------
    page : str
        Where the HTML will stand.
    lookup : callable
        Gives the record of a key, with its ``page``; None where there is none.
    """

    def __init__(self, page, lookup):
        self.page = page
        self.lookup = lookup

    def inline(self, text):
        """Text of one line."""
        # Most have no markup but quoted values, and are spared what knows all of MyST: loading it takes long.
        pieces = QUOTE.split(text)
        pieces[::2] = [APOSTROPHE.sub("’", piece) for piece in pieces[::2]]
        if any(MARKUP.search(piece) for piece in pieces[::2]):
            return self._fill(_inline(text))
        pieces[1::2] = map(self.value, pieces[1::2])
        return "".join(pieces)

    def block(self, text):
        """Paragraphs, lists and tables."""
        return self._fill(_markdown().render(text))

    def _fill(self, rendered):
        return re.sub(r"<val>(.*?)</val>", lambda found: self.value(html.unescape(found[1])), rendered)

    def value(self, quote):
        """A value as the role ``val`` quotes it: ``key`` or ``key:form``."""
        key, _, form = quote.partition(":")
        record = self.lookup(key)
        if record is None:
            return "?"
        text = printed(record, form)
        if record["number"]:
            text = text.replace(" ", "\u00a0", 1)
        where = "" if record["page"] == self.page else f"{record['page']}.html"
        kind = "val" if record["number"] else "verdict"
        data = {"value": record["value"], "data-key": key, **({"data-form": form} if form else {})}
        attributes = " ".join(f'{name}="{html.escape(str(value))}"' for name, value in data.items())
        link = f'<a class="reference internal {kind}" href="{html.escape(where)}#{html.escape(key)}">'
        return f"{link}<data {attributes}>{html.escape(text)}</data></a>"

    def box(self, record):
        """The box under a cell that states a value."""
        key, text = html.escape(record["key"]), html.escape(record["printed"])
        name = f'<code class="docutils literal notranslate"><span class="pre">{key}</span></code>'
        return f'<div class="stated docutils container" id="{key}"><p>{name} = <strong>{text}</strong></p></div>'

    def table(self, data):
        """The parts of a table: its caption, the cells of its head, and those of each row."""
        head, *rows = [[self._paragraph(cell) for cell in line] for line in cells_of(data["grid"])]
        return {"caption": self.inline(data["caption"]), "head": head, "rows": rows}

    def _paragraph(self, text):
        return f"<p>{self.inline(text)}</p>" if text else ""

    def whole_table(self, data):
        """A table that the published page does not have."""
        parts, key = self.table(data), html.escape(data["key"])
        head = "".join(f'<th class="head">{cell}</th>' for cell in parts["head"])
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in parts["rows"])
        caption = f'<caption><span class="caption-text">{parts["caption"]}</span></caption>'
        return (
            f'<div class="pst-scrollable-table-container"><table class="table" id="{key}">{caption}'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def figure(self, key):
        """The place of a figure that the published page does not have."""
        key = html.escape(key)
        images = "".join(f'<img class="only-{theme}" alt="">' for theme in ("light", "dark"))
        holder = f'<div class="docutils container">{images}</div>'
        return f'<figure class="costlib" id="{key}">{holder}<figcaption></figcaption></figure>'


def cells_of(grid):
    """The texts of a table's cells, line by line, from its pipe table: the header, then the rows."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in grid.split("\n")]
    del lines[1]  # of dashes
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in lines]


def stream(text):
    """What a cell printed."""
    return _preformatted("stream", text)


def plain(text):
    """The value of a cell's last expression."""
    return _preformatted("text_plain", text)


LONGEST = 100_000  # characters of a text that a page shows; a browser takes long to set more


def shortened(text):
    """A text, cut where it is too long for a page, which it says."""
    rest = len(text) - LONGEST
    return text if rest <= 0 else f"{text[:LONGEST]}\n… {rest:,} characters more, which this page does not show"


def _preformatted(kind, text):
    text = shortened(text)
    classes = f"output {kind} highlight-myst-ansi notranslate"
    inner = f'<div class="highlight"><pre><span></span>{html.escape(text, quote=False)}</pre></div>'
    return f'<div class="{classes}">{inner}</div>'


@functools.cache
def _markdown():
    # Not before there is something to render: they take a tenth of the time to a page's first numbers.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.myst_role import myst_role_plugin

    parser = MarkdownIt("commonmark", {"html": False, "typographer": True}).enable(["smartquotes", "table"])
    parser.use(myst_role_plugin).use(dollarmath_plugin, allow_labels=False, double_inline=True)
    for name, rule in {
        "myst_role": _role,
        "math_inline": _math,
        "math_inline_double": _math,
        "math_block": _math,
        "code_inline": _code,
        "link_open": _link,
    }.items():
        parser.add_render_rule(name, rule)
    return parser


@functools.lru_cache(maxsize=4096)
def _inline(text):
    return _markdown().renderInline(text)


def _role(_, tokens, index, *__):
    name, content = tokens[index].meta["name"], html.escape(tokens[index].content)
    if name == "val":
        return f"<val>{content}</val>"
    return f'<span data-role="{html.escape(name)}" data-target="{content}">{content}</span>'


def _math(_, tokens, index, *__):
    return f'<span class="math notranslate nohighlight">\\({html.escape(tokens[index].content)}\\)</span>'


def _code(_, tokens, index, *__):
    words = [f'<span class="pre">{html.escape(word)}</span>' for word in tokens[index].content.split(" ")]
    return f'<code class="docutils literal notranslate">{" ".join(words)}</code>'


def _link(_, tokens, index, *__):
    address = tokens[index].attrGet("href")
    if address.startswith("#"):
        target = html.escape(address[1:])
        return f'<a class="reference internal" data-target="{target}" href="#{target}">'
    return f'<a class="reference external" href="{html.escape(address)}">'


def as_text(value):
    """A value as a notebook prints it."""
    if isinstance(value, Quantity):
        return f"{value:~P}"
    import pprint  # seldom needed, and the first numbers wait for it

    return pprint.pformat(value)
