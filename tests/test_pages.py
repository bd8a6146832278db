"""The pages as written: which cell states which value, and no figure typed into prose."""

import ast
import re
from collections import Counter

import jupytext
import pytest

from conftest import BOOK, is_page, stated_keys
from costlib.book.stated import rows

PAGES = sorted(path for path in BOOK.glob("*.md") if is_page(path))
STATED = rows(BOOK / "stated-values.csv")
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)

# A number in digits followed by a unit or a word for one.
FIGURE = re.compile(
    r"(?<![\w.,-])\d[\d.,]*\s*(?:%|×|[kMGTP]?i?B\b|[kMGT]?bits?\b|[TGM]?op\b|[mµun]?s\b|hours?\b|USD\b|times\b|percent\b"
    r"|(?:(?:thousand|million|billion) )?"
    r"(?:tokens?|parameters?|streams?|sequences?|trajector(?:y|ies)|accelerators?|nodes?|layers?|heads?)\b)"
)


def cells(page, kind):
    return [cell for cell in jupytext.read(page, fmt="md:myst").cells if cell.cell_type == kind]


def prose(text):
    """What a reader reads as text: no code, no mathematics, no values in roles."""
    text = re.sub(r"^(`{3,}|:{3,}\{math).*?^\1", "", text, flags=re.S | re.M)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "", text, flags=re.S)
    return re.sub(r"\{[a-z:]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)", "", text)


def captions(source):
    """Texts that a cell hands to a figure or table, apart from those that name a quantity."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = {
        id(node) for call in calls if getattr(call.func, "id", "") in ("quantity", "show") for node in ast.walk(call)
    }
    shown = [call for call in calls if getattr(call.func, "id", "") in ("figure", "table")]
    nodes = [node for call in shown for node in ast.walk(call) if id(node) not in named]
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@by_page
def test_every_stated_value_is_computed_by_exactly_one_cell_of_its_page(page):
    wanted = [key for key, row in STATED.items() if row.page == page.stem]
    found = Counter(key for cell in cells(page, "code") for key in stated_keys(cell.source))
    assert {key: found[key] for key in wanted} == dict.fromkeys(wanted, 1)


def test_no_value_is_published_twice():
    found = Counter(key for page in PAGES for cell in cells(page, "code") for key in stated_keys(cell.source))
    assert [key for key, times in found.items() if times > 1] == []


@by_page
def test_a_cell_with_a_stated_value_states_nothing_that_no_source_does(page):
    for cell in cells(page, "code"):
        stated = [key in STATED for key in stated_keys(cell.source)]
        assert all(stated) or not any(stated), cell.source


@by_page
def test_no_figure_is_typed_into_prose(page):
    texts = [prose(cell.source) for cell in cells(page, "markdown")]
    texts += [text for cell in cells(page, "code") for text in captions(cell.source)]
    assert [found for text in texts for found in FIGURE.findall(text)] == []


@pytest.mark.parametrize(
    "text",
    ["takes 21.1 ms", "about 30 %", "8 streams", "80 GiB of memory", "295 times as long", "70 billion parameters"],
)
def test_the_search_for_typed_figures_finds_them(text):
    assert FIGURE.search(prose(f"A token {text}."))
    assert any(FIGURE.search(caption) for caption in captions(f"figure(0, 0, {text!r})"))


@by_page
def test_code_is_no_wider_than_a_page_bears(page):
    lines = [line for cell in cells(page, "code") for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > 88] == []


def is_number(text):
    return re.fullmatch(r"[\d.]+(e[+-]\d+)?", text) is not None


NUMBERS = {key: row for key, row in STATED.items() if row.number and is_number(row.computed)}


@pytest.mark.parametrize("row", NUMBERS.values(), ids=NUMBERS)
def test_the_reference_file_holds_no_slip(row):
    """What a source states and the independent calculation beside it are the same, as far as stated."""
    assert float(row.number.replace(",", "")) == pytest.approx(float(row.computed), rel=0.6 * 10 ** (1 - row.digits))
