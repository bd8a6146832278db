"""Collect the pages of the book for nbval, with what the sources state as the reference output.

A page is a MyST notebook, and nbval reads only ``.ipynb``: jupytext turns one
into the other, in memory. A cell that states a value of ``stated-values.csv``
gets the stated figure as its reference, so it is never compared with its own past.
"""

import ast
import functools
import http.server
import io
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import jupytext
import nbformat
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from costlib.book import MIME, comparison
from costlib.book.stated import rows
from costlib.cli import main
from costlib.scenario import VARIABLE

ROOT = Path(__file__).parent
BOOK = ROOT / "book"

os.environ.pop(VARIABLE, None)  # the tests are about the reference scenario
os.environ.pop(comparison.VARIABLE, None)


def stated_keys(source):
    """Keys that a cell publishes, in order."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [ast.literal_eval(c.args[0]) for c in calls if getattr(c.func, "id", "") == "state"]


def is_page(path):
    return path.suffix == ".md" and path.parent == BOOK and "format_name: myst" in path.read_text("utf-8")[:400]


def code_of(page):
    """The code cells of a page, as ``book.json`` has them."""
    code = [cell for cell in jupytext.read(page, fmt="md:myst").cells if cell.cell_type == "code"]
    return [{"source": cell.source, "tags": cell.metadata.get("tags", [])} for cell in code]


def published_by(page):
    """Run the code of a page here: what it publishes, pairs of a kind and its data; and the names that it leaves."""
    shown, names = [], {}
    with mock.patch("costlib.book._publish", lambda kind, data, *_: shown.append((kind, data))):
        for cell in code_of(page):
            exec(compile(cell["source"], page.name, "exec"), names)
    return shown, names


class Page(IPyNbFile):
    """A page as nbval sees it."""

    def collect(self):
        notebook = jupytext.read(self.path, fmt="md:myst")
        expected = {
            key: row.expected for key, row in rows(BOOK / "stated-values.csv").items() if row.page == self.path.stem
        }
        for cell in notebook.cells:
            if cell.cell_type == "code":
                _expect(cell, expected)
        read = mock.patch("nbval.plugin.nbformat.read", return_value=notebook)
        with read, mock.patch("nbval.plugin.IPyNbCell.from_parent", _named):
            yield from super().collect()

    def setup(self):
        super().setup()
        self.skip_compare += (MIME["value"],)


_cell = IPyNbCell.from_parent


def _named(parent, *, name, cell, **options):
    """A cell under the name of what it publishes, so that a failure names the value."""
    keys = stated_keys(cell.source)
    return _cell(parent, name=f"{name} ({', '.join(keys)})" if keys else name, cell=cell, **options)


def _expect(cell, expected):
    """Give a cell the outputs that the sources state."""
    keys = stated_keys(cell.source)
    if any(key in expected for key in keys):
        cell.execution_count = 1  # nbval compares only cells that have run
        cell.metadata.setdefault("tags", []).append("nbval-check-output")
        cell.outputs = [
            nbformat.v4.new_output(
                "display_data", {"text/plain": f"{key} = {expected.get(key, 'a value that no source states')}"}
            )
            for key in keys
        ]


def pytest_collect_file(file_path, parent):
    if is_page(file_path):
        return Page.from_parent(parent, path=file_path)
    return None


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The book, built strictly, from nothing but the notebooks already executed."""
    return build(tmp_path_factory.mktemp("site"))


def build(folder, **environment):
    """Build the book into a folder, as ``make book`` does; where that fails or warns, so does the test."""
    command = [
        Path(sys.executable).with_name("jupyter-book"),
        "build",
        ROOT,
        "-W",
        "-n",
        "--keep-going",
        "--path-output",
        folder,
    ]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    complaints = [line for line in said.splitlines() if "WARNING" in line or "Error" in line]
    assert (done.returncode, complaints) == (0, []), said[-2000:]
    return folder / "_build" / "html"


@pytest.fixture
def run(monkeypatch, capsys):
    """A function that runs the command ``costlib`` here: its exit code, standard output and standard error."""

    def run_here(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["costlib", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run_here


# ---------------------------------------------------------------- the site in a browser


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def address(site):
    """Where the built site is served."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")  # while it is there, no other event loop can run
def browser():
    """Headless Chromium, of this machine."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium and os.environ.get("CI"):
        pytest.fail("no Chromium found; CI has to install it", pytrace=False)
    if not chromium:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    quiet = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    quiet += " --disable-component-update --disable-sync"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet.split())
        yield browser
        browser.close()


def listen(page):
    """Have a page of the browser remember what it asks for, and what it complains of."""
    page.asked, page.complaints = [], []
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.on("requestfailed", lambda asked: page.complaints.append(f"failed: {asked.url}"))
    page.on("response", lambda answer: answer.ok or page.complaints.append(f"{answer.status}: {answer.url}"))
    page.on("console", lambda line: line.type in ("error", "warning") and page.complaints.append(line.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return page
