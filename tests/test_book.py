"""What turns results into pages: published records, stated rows, and the Sphinx extension on a book of two pages."""

import json
import subprocess
import sys

import pytest
from bs4 import BeautifulSoup
from sphinx.util.inventory import InventoryFile

from costlib import book, quantity
from costlib.book import style
from costlib.book.sphinx_ext import printed
from costlib.book.stated import Row, rows

# ---------------------------------------------------------------- stated rows


def row(stated, computed, unit):
    return Row("key", "page", "source", "place", "quantity", stated, computed, unit, "")


@pytest.mark.parametrize(
    ("stated", "computed", "unit", "expected"),
    [
        ("591 op/B", "590.746", "operation/byte", "591 op/B"),
        ("108,000 tokens", "107727", "token", "108,000 tokens"),
        ("0.34 %", "0.338555", "percent", "0.34 %"),
        ("526.0 GB", "525.995", "GB", "526.0 GB"),  # rounded: the zero counts
        ("10.0 GB", "10", "GiB", "10 GiB"),  # exact: it does not
        ("64,000×", "64000", "1", "64,000"),
        ("70.6 billion", "70.6", "Gparameter", "70.6 billion parameters"),
        ("a few hundred tokens", "295.373", "token", "295 tokens"),
        ("2N/π", "71.3492", "µs/token", "71.3 µs/token"),
        ("200K tokens", "200000", "token", "200,000 tokens"),
        ("fits", "fits", "verdict", "fits"),
        ("1 sequence", "1", "sequence", "1 sequence"),
        ("10 to 75 ms", "10..75", "ms", "10 to 75 ms"),
        ("1 to k+1", "1..k+1", "token", "1 to k+1 tokens"),
    ],
)
def test_what_a_cell_must_print(stated, computed, unit, expected):
    assert row(stated, computed, unit).expected == expected


# ---------------------------------------------------------------- published records


@pytest.fixture
def shown(monkeypatch):
    displayed = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: displayed.append(bundle))
    return displayed


def test_a_value_is_published_with_its_number_unit_and_print(shown):
    book.state("decode-floor", quantity("0.0210746 s/token"), "ms/token")
    assert shown[0]["text/plain"] == "decode-floor = 21.1 ms/token"
    assert shown[0][book.MIME["value"]] == {
        "key": "decode-floor", "value": pytest.approx(21.0746), "number": True,
        "unit": "millisecond/token", "digits": 3, "printed": "21.1 ms/token",
    }  # fmt: skip


def test_a_verdict_is_published_as_it_is(shown):
    book.state("fits", "does not fit")
    assert shown[0][book.MIME["value"]]["value"] == "does not fit"


def test_an_infinite_value_survives_json(shown):
    book.state("never", quantity("1 token") * float("inf"))
    record = json.loads(json.dumps(shown[0][book.MIME["value"]], allow_nan=False))
    assert printed(record) == "∞ tokens"


@pytest.mark.parametrize(
    ("form", "expected"),
    [("", "21.1 ms/token"), ("2", "21 ms/token"), ("4 s/token", "0.02107 s/token"), ("s/token", "0.0211 s/token"),
     ("number", "21.1"), ("each", "21.1 ms")],
)  # fmt: skip
def test_forms_of_a_quotation(form, expected):
    record = book.record_of(quantity("0.0210746 s/token"), "ms/token", 3)
    assert printed(record, form) == expected


def draw():
    drawn, ax = book.axes()
    ax.plot([1, 2], [1, 2], color=style.BLUE)
    style.label(ax, quantity("1"), quantity("1"), "a label", style.ORANGE, (0, 0))
    return drawn


def test_a_figure_is_the_same_bytes_each_time():
    assert style.svg(draw()) == style.svg(draw())


def test_a_dark_figure_keeps_no_colour_of_the_light_one():
    image = style.svg(draw())
    assert style.BLUE in image and style.ORANGE in image
    assert not any(colour in style.dark(image) for colour in (style.BLUE, style.ORANGE, style.INK, style.MUTED))


def logarithmic(**limits):
    drawn, ax = book.axes()
    ax.plot([1, 10], [1, 10])
    ax.set(xscale="log", yscale="log", **limits)
    return drawn, ax


def test_minor_ticks_are_one_line_where_they_were():
    drawn, ax = logarithmic(xlim=(1.5, 25_000), ylim=(0.3, 200))
    places = [value for value in ax.xaxis.get_minorticklocs() if 1.5 <= value <= 25_000]
    style.svg(drawn)
    along, across = (
        line for line in ax.get_children() if line.__class__.__name__ == "Line2D" and not line.get_in_layout()
    )
    assert along.get_xdata() == pytest.approx(places) and set(along.get_ydata()) == {0}
    assert set(across.get_xdata()) == {0} and len(across.get_ydata()) > 20
    assert len(ax.xaxis.get_minorticklocs()) == 0


def test_minor_ticks_with_labels_stay_as_they_are():
    drawn, ax = logarithmic(xlim=(2, 9))
    style.svg(drawn)
    assert "3" in [text.get_text() for text in ax.xaxis.get_ticklabels(minor=True)]


def test_powers_are_written_as_texts():
    drawn, ax = logarithmic(xlim=(1e-7, 1e7), ylim=(0.01, 1000))
    style.svg(drawn)
    labels = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert {"10⁻⁵", "10⁵", "0.01", "100"} <= set(labels)
    assert not any("$" in text for text in labels)


def test_a_table_escapes_what_would_break_its_grid(shown):
    book.table("tab-x", ["a|b"], [[quantity("3 token")]], "caption")
    assert shown[0][book.MIME["table"]]["grid"] == "| a\\|b |\n| --- |\n| 3 tokens |"


# ---------------------------------------------------------------- a book of two pages

HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python}
---
"""
CONF = """
extensions = ["myst_nb", "costlib.book.sphinx_ext"]
nb_execution_mode = "cache"
myst_enable_extensions = ["colon_fence", "dollarmath"]
numfig = True
"""
INDEX = """# Quoting

```{toctree}
other
```

Plain {val}`decode-floor`, shorter {val}`decode-floor:2 s/token`, bare {val}`decode-floor:each`, a verdict {val}`fits`.

:::{table} A caption with {val}`decode-floor`
:name: tab-quoting

| a cell |
|---|
| {val}`decode-floor` |
:::

```{ledger}
```
"""
OTHER = (
    HEAD
    + """
# Stating

$$ a = b $$ (eq-floor)

```{code-cell}
from costlib import quantity
from costlib.book import state
state("decode-floor", quantity("21.0746 ms/token"), "ms/token")
state("ridge-point", quantity("592 op/B"))
state("fits", "it fits")
```
"""
)
STATED = """key,page,source,place,quantity,stated,computed,unit,remark
decode-floor,other,a paper,eq. 2,floor,21.1 ms,21.0746,ms/token,
ridge-point,other,a paper,§1,ridge,591 op/B,590.746,operation/byte,
later,nowhere,a paper,§9,later,5 B,5,byte,
"""


class TwoPages:
    """A small book in a folder, built in a process of its own."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "_build" / "html"
        (folder / "book").mkdir()
        self.write("conf.py", CONF)
        self.write("requirements.txt", "pint==0.25.3\n")
        self.write("index.md", INDEX)
        self.write("other.md", OTHER)
        self.write("book/stated-values.csv", STATED)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def build(self, *options):
        """Build it; return what the build said."""
        command = [sys.executable, "-m", "sphinx", "-b", "html", *options, ".", self.out]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def page(self, name):
        return BeautifulSoup((self.out / f"{name}.html").read_text("utf-8"), "html.parser")

    def cells(self):
        return json.loads((self.out / "cells.json").read_text("utf-8"))["cells"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pages = TwoPages(tmp_path_factory.mktemp("two"))
    assert "WARNING" not in pages.build()
    return pages


@pytest.fixture
def fresh(tmp_path):
    return TwoPages(tmp_path)


def test_a_sentence_quotes_another_page(built):
    text = built.page("index").get_text().replace("\u00a0", " ")
    assert "Plain 21.1 ms/token, shorter 0.021 s/token, bare 21.1 ms, a verdict it fits." in text


def test_captions_and_table_cells_quote_too(built):
    table = built.page("index").find("table", id="tab-quoting")
    assert [tag.get_text().replace("\u00a0", " ") for tag in table.find_all("data")] == ["21.1 ms/token"] * 2


def test_a_quotation_carries_the_number_at_full_precision_and_leads_to_its_cell(built):
    data = built.page("index").find("data", attrs={"data-key": "decode-floor"})
    assert data["value"] == "21.0746" and data.find_parent("a")["href"] == "other.html#decode-floor"


def test_a_stated_cell_shows_whether_it_agrees(built):
    lines = {line.code.get_text(): line.get_text() for line in built.page("other").select(".stated")}
    assert "✓ stated: 21.1 ms" in lines["decode-floor"]
    assert "✗ stated: 591 op/B" in lines["ridge-point"]
    assert "stated" not in lines["fits"]


def test_the_ledger_counts_what_agrees_and_names_what_is_missing(built):
    page = built.page("index")
    captions = {table["id"]: table.caption.get_text() for table in page.select("table.ledger")}
    assert "1 of 2 agree" in captions["ledger-other"]
    assert "this page is not written yet" in captions["ledger-nowhere"]
    assert "1 of 3 agree; 1 are not computed yet." in page.get_text()


def test_equations_and_values_are_in_the_inventory(built):
    with (built.out / "objects.inv").open("rb") as file:
        labels = InventoryFile.load(file, "", lambda base, target: target)["std:label"]
    assert labels["eq-floor"][2] == "other.html#equation-eq-floor"
    assert labels["decode-floor"][2] == "other.html#decode-floor"


def test_cells_json_has_what_a_chapter_cites(built):
    assert built.cells()["decode-floor"] == {
        "name": "floor", "value": 21.0746, "unit": "millisecond/token", "printed": "21.1 ms/token",
        "page": "other.html", "anchor": "decode-floor", "stated": "21.1 ms", "source": "a paper, eq. 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("addition", "warning"),
    [
        ("{val}`no-such-key`", "no page states the value 'no-such-key'"),
        ("{val}`decode-floor:2 GB`", "cannot print 'decode-floor' as '2 GB'"),
    ],
)
def test_a_quotation_that_cannot_be_printed_is_a_warning(fresh, addition, warning):
    fresh.write("index.md", INDEX + "\n" + addition + "\n")
    assert warning in fresh.build()


def test_a_key_stated_on_two_pages_is_a_warning(fresh):
    fresh.write("third.md", "---\norphan: true\n" + OTHER.removeprefix("---\n").replace("(eq-floor)", "(eq-third)"))
    assert "is stated on" in fresh.build()


def test_a_changed_value_is_rewritten_wherever_it_is_quoted(fresh):
    fresh.build()
    fresh.write("other.md", OTHER.replace("21.0746", "42"))
    fresh.build()
    assert fresh.page("index").find("data", attrs={"data-key": "decode-floor"})["value"] == "42.0"


def test_a_changed_reference_file_is_seen_on_pages_that_did_not_change(fresh):
    fresh.build()
    fresh.write("book/stated-values.csv", STATED.replace("591 op/B", "592 op/B"))
    fresh.build()
    assert "✓ stated: 592 op/B" in fresh.page("other").get_text()


def test_notebooks_are_kept_until_what_they_computed_from_changes(fresh):
    kept = fresh.folder / "_build" / ".jupyter_cache"
    fresh.build()
    fresh.write("index.md", INDEX + "\nMore prose.\n")
    fresh.build()
    assert len(list(kept.iterdir())) == 1
    fresh.write("requirements.txt", "pint==0.25.4\n")
    fresh.build()
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize("key", ["a_b", "A-B", "a b", "", "a--b", "<b>"])
def test_a_key_that_is_no_anchor_is_refused(key):
    with pytest.raises(ValueError, match="wanted lower-case words joined by hyphens"):
        book.state(key, 1)


def test_a_row_that_does_not_fit_its_header_is_refused():
    with pytest.raises(ValueError, match="a row of 2 cells; wanted 1"):
        book.table("tab-x", ["a"], [["1", "2"]], "caption")


@pytest.mark.parametrize(
    ("text", "message"),
    [(STATED + "later,nowhere,a paper,§9,later,5 B,5,byte,\n", "row 5: the key 'later' stands twice"),
     (STATED + "a,b,c,d,e,f,g,h,i,j\n", "row 5: wanted the columns")],
)  # fmt: skip
def test_a_faulty_reference_file_names_the_row(tmp_path, text, message):
    (tmp_path / "stated.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        rows(tmp_path / "stated.csv")


def test_a_relative_scenario_is_found_by_the_notebooks_too(fresh, monkeypatch):
    fresh.write("mine.toml", "model = 'qwen3-32b'\n")
    fresh.write(
        "other.md", OTHER + "\n```{code-cell}\nimport costlib\nstate('model', costlib.load().model.title)\n```\n"
    )
    monkeypatch.setenv("COSTLIB_SCENARIO", "mine.toml")
    fresh.build()
    assert fresh.cells()["model"]["value"] == "Qwen3 32B"
