"""costlib.book.site.progress: what a quiet build says, and what make has it say."""

import logging
import subprocess
import time
from types import SimpleNamespace

import pytest
from sphinx.util.logging import getLogger
from test_comparison import make

from conftest import ROOT
from costlib.book.site import progress


class App:
    """As much of Sphinx as is listened to."""

    def __init__(self, quiet):
        self.quiet, self.hears = quiet, {}
        self.env = SimpleNamespace(nb_metadata={}, docname="")

    def connect(self, event, what):
        self.hears[event] = what

    def read(self, page, ran):
        self.hears["source-read"](self, page, [""])
        self.env.docname = page
        self.env.nb_metadata[page] = {"exec_data": {"mtime": time.time() + (0 if ran else -1000), "runtime": 3}}
        self.hears["doctree-read"](self, None)


@pytest.fixture(autouse=True)
def silent_again():
    yield
    logging.getLogger("sphinx.costlib").handlers.clear()


def test_it_says_which_page_is_read_how_far_that_is_and_which_ran(capsys):
    app = App(quiet=True)
    progress.follow(app)
    app.hears["env-before-read-docs"](app, app.env, ["a", "b", "c"])
    app.hears["source-read"](app, "a", [""])
    assert capsys.readouterr().out == "Reading 3 pages, and running what is new or changed\n[1/3] a"  # while it runs
    app.hears["doctree-read"](app, None)
    app.read("b", ran=True)
    app.read("c", ran=False)
    app.hears["env-updated"](app, app.env)
    assert capsys.readouterr().out == "\n[2/3] b: ran, 0.0 s\n[3/3] c\nWriting the site\n"


def test_a_page_that_is_no_notebook_is_read_too(capsys):
    app = App(quiet=True)
    progress.follow(app)
    app.hears["env-before-read-docs"](app, app.env, ["a"])
    app.read("a", ran=False)
    app.env.nb_metadata["a"] = {"exec_data": None}
    app.hears["doctree-read"](app, None)
    assert "ran" not in capsys.readouterr().out


def test_what_our_parts_say_is_said_and_warnings_are_left_to_sphinx(capsys):
    progress.follow(App(quiet=True))
    progress.follow(App(quiet=True))  # a second build in one process
    getLogger("costlib.book.site.assets").info("live pages: %d MB", 4)
    getLogger("costlib.book.site.assets").warning("wrong")
    getLogger("other").info("hidden")
    assert capsys.readouterr().out == "live pages: 4 MB\n"


def test_a_build_that_is_not_quiet_is_left_alone(capsys):
    app = App(quiet=False)
    progress.follow(app)
    getLogger("costlib.book").info("by Sphinx alone")
    assert (app.hears, capsys.readouterr().out) == ({}, "")


def test_make_builds_as_strictly_as_the_tests():
    command = subprocess.run(["make", "-n", "book"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "jupyter-book build . -W -n --keep-going -q ||" in command


def test_a_server_takes_up_what_the_book_has_read():
    """It finds the pages as read, and no setting another than jupyter-book's, which names the contents in full."""
    command = subprocess.run(["make", "-n", "serve"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f'sphinx-autobuild . _build/html -q -n -d _build/.doctrees -D external_toc_path="{ROOT}/_toc.yml"' in command


def test_where_a_build_fails_make_fails_and_says_what_is_kept():
    done = make("book", "BUILD=false")
    assert done.returncode != 0 and done.stdout.startswith("Not built; the reason is above.")
