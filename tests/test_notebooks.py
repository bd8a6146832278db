"""Notebooks that the site offers: the page's code unchanged, text that Jupyter knows, and they run on their own."""

import re
import subprocess
import sys
import zipfile

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient

import costlib
from conftest import BOOK, code_of, is_page, stated_keys
from costlib.book import MIME

PAGES = {path.stem: path for path in sorted(BOOK.glob("*.md")) if is_page(path)}
QUICK = ["attention-state", "catalog", "index", "output-cost", "reference-values"]
by_page = pytest.mark.parametrize("page", PAGES)


@pytest.fixture(scope="module")
def offered(site):
    """What the download button of each page leads to."""
    found = {}
    for page in PAGES:
        html = BeautifulSoup((site / "book" / f"{page}.html").read_text("utf-8"), "html.parser")
        found[page] = (site / "book" / html.find("a", class_="btn-download-notebook-button")["href"]).resolve()
    return found


def text_of(file):
    return "\n\n".join(cell.source for cell in nbformat.read(file, 4).cells if cell.cell_type == "markdown")


@by_page
def test_its_code_cells_are_those_of_the_page(offered, page):
    notebook = nbformat.read(offered[page], 4)
    nbformat.validate(notebook)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert code == [cell["source"] for cell in code_of(PAGES[page])]
    assert not any(cell.outputs for cell in notebook.cells if cell.cell_type == "code")


@by_page
def test_its_text_has_nothing_that_only_sphinx_knows(offered, page):
    text = re.sub(r"^```(?!\{).*?^```", "", text_of(offered[page]), flags=re.S | re.M)
    assert not re.search(r"\{[a-z:+]+\}`|^:::|^```\{|^\([\w-]+\)=$|\]\([^)]*\.md\b|\$\$ *\(", text, re.M)


def test_its_text_quotes_what_the_site_prints(offered, site):
    text = " ".join(text_of(offered["output-cost"]).split())
    assert "takes 71 µs and an output token 21.1 ms, 295 times as long." in text
    assert r"whichever limit it meets first \[WWP09\]: $$ P = " in text and r"\tag{1} $$" in text
    assert r"- \[WWP09\] Samuel Williams" in text
    assert "Figure `fig-roofline` puts both on the roofline." in text
    index = text_of(offered["index"])
    assert "| [Long contexts](output-cost.ipynb#Long-contexts) |" in index


def test_links_lead_to_headings_of_notebooks(offered):
    headings = {
        page: {line.lstrip("# ").replace(" ", "-") for line in text_of(file).splitlines() if line.startswith("#")}
        for page, file in offered.items()
    }
    found = [
        (page, target or page, heading)
        for page, file in offered.items()
        for target, heading in re.findall(r"\]\((?:([\w-]+)\.ipynb)?(?:#([^)]+))?\)", text_of(file))
    ]
    assert len(found) > 30
    assert [link for link in found if link[1] not in PAGES or (link[2] and link[2] not in headings[link[1]])] == []


def test_its_first_cell_says_what_to_install_and_that_is_in_the_site(offered, site):
    first = nbformat.read(offered["kv-budget"], 4).cells[0].source
    wheel = re.search(r'pip install "costlib\[book\] @ ADDRESS/(\S+)"', first)[1]
    assert costlib.__version__ in first and "ADDRESS/book/kv-budget.html" in first
    with zipfile.ZipFile(site / wheel) as package:
        metadata = package.read(f"costlib-{costlib.__version__}.dist-info/METADATA").decode()
        assert "Provides-Extra: book" in metadata
        assert {"costlib/book/samples/vllm.log", "costlib/reference.toml"} <= set(package.namelist())


@pytest.fixture(scope="module")
def installed(site, tmp_path_factory):
    """A folder with the package of the site, installed."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", folder, next(site.glob("costlib-*.whl"))], check=True)
    return folder


@pytest.mark.parametrize("page", QUICK)
def test_it_runs_in_an_empty_folder_and_computes_what_the_site_shows(offered, installed, page, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(installed))
    notebook = nbformat.read(offered[page], 4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    values = [output.data[MIME["value"]] for output in shown if MIME["value"] in output.get("data", {})]
    wanted = [key for cell in notebook.cells if cell.cell_type == "code" for key in stated_keys(cell.source)]
    assert [value["key"] for value in values] == wanted
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_named_before_the_first_cell_changes_the_outputs(offered, installed, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(installed))
    (tmp_path / "mine.toml").write_text('accelerator = "h200-sxm"', encoding="utf-8")
    notebook = nbformat.read(offered["output-cost"], 4)
    line = re.search(r"`(%env \S+)`", notebook.cells[0].source)[1]
    notebook.cells.insert(0, nbformat.v4.new_code_cell(line))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.get("text/plain") for cell in notebook.cells for output in map(_data, cell.get("outputs", ()))]
    assert "output-input-ratio = 206" in shown


def _data(output):
    return output.get("data", {})
