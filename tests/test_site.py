"""The built site: no warning, every link and anchor, nothing from elsewhere, and what other books cite."""

import base64
import hashlib
import json
import os
import re
import zipfile
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from sphinx.util.inventory import InventoryFile

from conftest import BOOK, code_of
from costlib.book import record_of
from costlib.book.live.fields import FIELDS
from costlib.book.printed import printed
from costlib.book.site import policy
from costlib.book.stated import rows
from costlib.cli import show as cli_show
from costlib.scenario import REFERENCE, load
from costlib.units import size_unit

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
        record = record_of(values[key], size_unit(values[key]) if unit == "B" else unit, digits)
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


# ---------------------------------------------------------------- live pages


@pytest.fixture(scope="module")
def book(site):
    return json.loads((site / "_static" / "live" / "book.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def manifest(site):
    found = json.loads((site / "_static" / "live" / "manifest.json").read_text("utf-8"))
    if found["missing"] and not os.environ.get("CI"):
        pytest.skip(f"the site is built without live {found['missing']}")
    return found


def test_the_site_has_python_for_the_browser(manifest):
    assert manifest["missing"] == {}
    assert [group["name"] for group in manifest["groups"]] == ["core", "numbers", "figures", "simulations"]


def test_each_file_for_the_browser_is_there_as_the_manifest_says_and_no_other(manifest, site):
    files = {file["file"]: file for group in manifest["groups"] for file in group["files"]}
    there = {path.name for path in (site / "_static" / "live").iterdir()}
    assert there == files.keys() | {"book.json", "manifest.json"}
    for name, file in files.items():
        content = (site / "_static" / "live" / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["bytes"], file["sha256"]), name


NEEDED = {
    "numpy": ["numpy/f2py/__init__.py"],  # SciPy asks NumPy for all of its names
    "matplotlib": [  # formulas, as on a logarithmic axis, look for all of these
        f"matplotlib/mpl-data/fonts/ttf/{name}.ttf"
        for name in "DejaVuSans DejaVuSans-Bold DejaVuSansMono STIXGeneral STIXSizOneSymReg cmr10 cmex10".split()
    ],
}


def test_what_a_wheel_needs_is_not_left_out(manifest, site):
    for package, needed in NEEDED.items():
        (file,) = [f["file"] for group in manifest["groups"] for f in group["files"] if f["package"] == package]
        names = zipfile.ZipFile(site / "_static" / "live" / file).namelist()
        assert set(needed) <= set(names), package
        assert not [name for name in names if "/tests/" in name]


def test_pyodide_is_told_of_no_package_that_the_site_does_not_have(manifest, site):
    files = {file["file"]: file["sha256"] for group in manifest["groups"] for file in group["files"]}
    packages = json.loads((site / "_static" / "live" / "pyodide-lock.json").read_text("utf-8"))["packages"]
    assert {p["file_name"]: p["sha256"] for p in packages.values()}.items() <= files.items()
    assert {name for package in packages.values() for name in package["depends"]} <= packages.keys()


def test_book_json_has_every_code_cell_of_every_page_in_order(book):
    for name, page in book["pages"].items():
        assert page["cells"] == code_of(BOOK / f"{name}.md"), name


def test_book_json_leads_from_each_value_to_the_cell_that_states_it(book):
    for key, value in book["values"].items():
        page = book["pages"][value["page"]]
        assert f'"{key}"' in page["cells"][page["states"][key]]["source"], key
    assert sum(len(page["states"]) for page in book["pages"].values()) == len(book["values"])


def test_each_cell_says_on_the_page_which_it_is(book, content):
    for path, page in content.items():
        numbers = [
            [int(name.removeprefix("cell-")) for name in cell["class"] if re.fullmatch("cell-[0-9]+", name)]
            for cell in page.select("div.cell")
        ]
        assert numbers == [[number] for number in range(len(book["pages"][path.stem]["cells"]))], path.name


def spaced(text):
    return text.replace("\u00a0", " ")


def test_each_quoted_value_says_how_it_is_printed(book, content):
    for path, page in content.items():
        quotes = set()
        for data in page.find_all("data"):
            key, form = data["data-key"], data["data-form"]
            assert spaced(data.get_text()) == spaced(printed(book["values"][key], form)), key
            assert data.get("data-dial") == book["values"][key].get("dial")
            quotes.add(f"{key}:{form}" if form else key)
        assert quotes <= set(book["pages"][path.stem]["quotes"]), path.name


def test_a_page_of_the_book_has_the_control_and_no_other_page(pages, site, manifest):
    for path, page in pages.items():
        controls = page.find_all(id="hardware")
        if path.parent != site / "book":
            assert controls == [], path.name
            continue
        (control,) = controls
        assert control.has_attr("hidden") and control["data-page"] == path.stem
        assert (path.parent / control["data-live"]).resolve() == site / "_static" / "live"
        assert control.find_parent("article") and not control.find_previous("h1").find_parent("article")
        names = [field["name"] for field in control.form.find_all(["input", "select"], attrs={"name": True})]
        assert names == [field.key for field in FIELDS]
        assert len(control.form.find_all(type="file")) == 1


def test_each_field_of_the_control_is_named_and_has_a_place_for_what_is_wrong(content, manifest):
    page = next(iter(content.values()))
    for field in page.find(id="hardware").find_all(["input", "select"]):
        assert page.find("label", attrs={"for": field["id"]}).get_text()
        named = [page.find(id=each) for each in field["aria-describedby"].split()]
        assert len(named) == 2 and "output" in {each.name for each in named}


# ---------------------------------------------------------------- the policy of each page


def policy_of(page):
    """Sources that a page's policy allows, by what they are sources of."""
    (meta,) = page.find_all("meta", attrs={"http-equiv": "Content-Security-Policy"})
    allowed = [directive.split() for directive in meta["content"].split(";")]
    return {name: set(sources) for name, *sources in allowed}


def test_each_page_has_a_policy_before_any_script_or_style(pages):
    assert len(pages) > 12
    for path, page in pages.items():
        policy_of(page)
        first = page.find(["script", "style", "link", "meta"], attrs={"charset": False})
        assert first["http-equiv"] == "Content-Security-Policy", path.name


def test_a_policy_allows_the_site_and_the_scripts_of_its_own_page_and_nothing_else(pages):
    for path, page in pages.items():
        scripts = [script for script in page.find_all("script", src=False) if script.string]
        sums = {hashlib.sha256(script.string.encode()).digest() for script in scripts}
        expected = {f"'sha256-{base64.b64encode(found).decode()}'" for found in sums}
        allowed = policy_of(page)
        assert allowed.pop("script-src") == {"'self'", "'wasm-unsafe-eval'"} | expected, path.name
        assert allowed.pop("style-src") == {"'self'", "'unsafe-inline'"}
        assert set().union(*allowed.values()) <= {"'self'", "'none'", "data:", "blob:"}
        assert allowed["default-src"] == allowed["connect-src"] == {"'self'"}
        assert allowed["worker-src"] == {"blob:"}  # of the page, with its policy


def test_no_page_has_a_script_in_an_attribute(pages):
    found = [
        (path.name, name)
        for path, page in pages.items()
        for tag in page.find_all(True)
        for name, value in tag.attrs.items()
        if name.startswith("on") or str(value).startswith("javascript:")
    ]
    assert found == []


PAGE = "<html><head><meta charset='utf-8'><script>one()</script></head><body>{}</body></html>"


def test_a_policy_is_written_once_and_follows_what_is_in_the_page():
    before = policy.written(PAGE.format(""))
    assert policy.written(before) == before
    changed = policy.written(before.replace("one()", "two()"))
    assert changed.count("Content-Security-Policy") == 1
    assert changed != before.replace("one()", "two()")


def test_data_in_a_page_is_no_script_to_allow():
    data = PAGE.format('<script type="application/json">{}</script><script src="a.js"></script>')
    assert policy.policy(data) == policy.policy(PAGE.format(""))
