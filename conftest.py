"""Collect the pages of the book for nbval, with what the sources state as the reference output.

A page is a MyST notebook, and nbval reads only ``.ipynb``: jupytext turns one
into the other, in memory. A cell that states a value of ``stated-values.csv``
gets the stated figure as its reference, so it is never compared with its own past.
"""

import ast
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import jupytext
import nbformat
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from costlib.book import MIME
from costlib.book.stated import rows
from costlib.cli import main
from costlib.scenario import VARIABLE

ROOT = Path(__file__).parent
BOOK = ROOT / "book"

os.environ.pop(VARIABLE, None)  # the tests are about the reference scenario


def stated_keys(source):
    """Keys that a cell publishes, in order."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [ast.literal_eval(c.args[0]) for c in calls if getattr(c.func, "id", "") == "state"]


def is_page(path):
    return path.suffix == ".md" and path.parent == BOOK and "format_name: myst" in path.read_text("utf-8")[:400]


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
