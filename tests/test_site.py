"""The built site: no warning, every link and anchor, nothing from elsewhere, and what other books cite."""

import json
import re
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from sphinx.util.inventory import InventoryFile

from conftest import BOOK
from costlib.book import record_of
from costlib.book.stated import rows
from costlib.cli import show as cli_show
from costlib.scenario import REFERENCE, load

STATED = rows(BOOK / "stated-values.csv")
FINISHED = {path.stem for path in BOOK.glob("*.md")}


@pytest.fixture(scope="module")
def pages(site):
    return {path: BeautifulSoup(path.read_text("utf-8"), "html.parser") for path in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def content(pages, site):
    """The pages of the book itself, without search and index."""
    return {path: page for path, page in pages.items() if path.parent == site / "book"}


@pytest.fixture(scope="module")
def cells(site):
    return json.loads((site / "cells.json").read_text("utf-8"))["cells"]


@pytest.fixture(scope="module")
def inventory(site):
    with (site / "objects.inv").open("rb") as file:
        return InventoryFile.load(file, "", lambda base, target: base + target)


def test_the_command_shows_what_the_pages_publish(cells):
    values = cli_show.derived(load(REFERENCE))
    for key, _, unit, digits, _ in cli_show.ROWS:
        record = record_of(values[key], unit, digits)
        assert (record["printed"], record["value"]) == (cells[key]["printed"], cells[key]["value"]), key


def test_every_page_of_the_contents_is_built(content):
    assert {path.stem for path in content} == FINISHED


def test_no_page_loads_anything_from_another_host(pages):
    loading = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
    found = [
        (path.name, tag[attribute])
        for path, page in pages.items()
        for name, attribute in loading.items()
        for tag in page.find_all(name, **{attribute: re.compile("^(https?:)?//")})
        if tag.get("rel") not in (["canonical"], ["license"])
    ]
    assert found == []


def test_no_style_sheet_loads_anything_from_another_host(site):
    found = [
        (path.name, address)
        for path in site.rglob("*.css")
        for address in re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]+)", path.read_text("utf-8"))
    ]
    assert found == []


def test_every_internal_link_leads_to_a_page_and_an_anchor(pages):
    broken = []
    for path, page in pages.items():
        for link in page.find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or parts.netloc or link["href"] == "#":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and not pages[target].find(id=anchor)):
                broken.append((path.name, link["href"]))
    assert broken == []


def test_no_anchor_occurs_twice_on_a_page(content):
    for path, page in content.items():
        anchors = [tag["id"] for tag in page.find_all(id=True)]
        assert sorted({a for a in anchors if anchors.count(a) > 1}) == [], path.name


def test_every_figure_has_a_number_a_caption_and_a_text_for_those_who_do_not_see_it(content):
    figures = [figure for page in content.values() for figure in page.find_all("figure", class_="costlib")]
    assert len(figures) >= 4
    for figure in figures:
        assert figure.find(class_="caption-number") and len(figure.figcaption.get_text()) > 60
        images = figure.find_all("img")
        assert [image["class"] for image in images] == [["only-light"], ["only-dark"]]
        assert all(len(image["alt"]) > 60 and image["src"].endswith(".svg") for image in images)


def test_every_finished_value_is_in_cells_json_as_the_source_states_it(cells):
    wanted = {key: row for key, row in STATED.items() if row.page in FINISHED}
    assert {key: cells[key]["printed"] for key in wanted} == {key: row.expected for key, row in wanted.items()}


def test_values_agree_with_the_independent_calculation_at_full_precision(cells):
    wanted = {key: row for key, row in STATED.items() if row.page in FINISHED}
    numbers = {key: row for key, row in wanted.items() if row.unit != "verdict" and ".." not in row.computed}
    assert len(numbers) > 30
    for key, row in numbers.items():
        assert cells[key]["value"] == pytest.approx(float(row.computed), rel=1e-5), key


def test_cells_json_leads_to_each_value(cells, pages, site):
    for key, cell in cells.items():
        assert pages[site / cell["page"]].find(id=cell["anchor"]), key
        assert {"name", "value", "unit", "printed", "stated", "source"} <= cell.keys()


def test_sentences_print_what_cells_json_holds(content, cells):
    quoted = [tag for page in content.values() for tag in page.find_all("data")]
    assert len(quoted) > 100
    assert [t["data-key"] for t in quoted if t["value"] != str(cells[t["data-key"]]["value"])] == []


def test_values_equations_figures_and_tables_can_be_cited_from_other_books(content, cells, inventory):
    floats = {
        tag["id"]
        for page in content.values()
        for tag in page.find_all(["figure", "table"])
        if tag.get("id", "").startswith(("fig-", "tab-", "ledger-"))
    }
    equations = {
        tag["id"].removeprefix("equation-")
        for page in content.values()
        for tag in page.find_all(id=re.compile("^equation-eq-"))
    }
    assert len(floats) >= 15 and len(equations) >= 9
    assert (floats | equations | set(cells)) - set(inventory["std:label"]) == set()


def test_what_is_cited_is_named_by_what_it_says(inventory, cells):
    project, _, _, named = inventory["std:label"]["decode-floor"]
    assert (project, named) == ("The executable appendix on inference cost", cells["decode-floor"]["printed"])
    assert inventory["std:label"]["fig-roofline"][3] == "Decode sits a factor of 295 left of the ridge"


def test_an_entry_of_the_inventory_leads_to_its_anchor(inventory, pages, site):
    for key in ("ridge-point", "eq-ratio", "fig-roofline", "tab-inputs", "long-contexts"):
        page, _, anchor = inventory["std:label"][key][2].partition("#")
        assert pages[site / page].find(id=anchor), key


def test_the_ledger_has_every_stated_value_and_all_agree(content, site):
    ledger = content[site / "book" / "reproduction.html"]
    assert {tag.get_text() for tag in ledger.select("table.ledger td:first-child")} == set(STATED)
    captions = {table["id"]: table.caption.get_text() for table in ledger.select("table.ledger")}
    for page in {row.page for row in STATED.values()}:
        count = sum(row.page == page for row in STATED.values())
        assert f"{count} of {count} agree" in captions[f"ledger-{page}"]
    assert f"{len(STATED)} of {len(STATED)} agree." in ledger.get_text()


def test_mathjax_is_served_from_the_site(content, site):
    page = content[site / "book" / "output-cost.html"]
    sources = [script["src"] for script in page.find_all("script", src=True) if "mathjax" in script["src"].lower()]
    assert sources and all((site / "book" / urlsplit(source).path).resolve().exists() for source in sources)
