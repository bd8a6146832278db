"""The kernel of a live page: the page's own cells under the reader's scenario, and nothing that is not his."""

import json
import math
import random
import subprocess
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from reading import replaced
from watching import pictures

import costlib
from conftest import BOOK, code_of, is_page, published_by
from costlib import book as published
from costlib import catalog, scenario
from costlib.book.live import absent, inputs, rendering
from costlib.book.live.fields import FIELDS
from costlib.book.live.kernel import Kernel, values_of_each
from costlib.book.live.notices import notices
from costlib.book.live.page import Page
from costlib.book.live.rendering import Renderer, cells_of
from costlib.book.live.running import Session, run
from costlib.cli.show import derived
from costlib.units import Quantity

steady = settings(derandomize=True, deadline=None, max_examples=60)
PAGES = [path for path in sorted(BOOK.glob("*.md")) if is_page(path)]
H200 = {"model": "qwen3-32b", "accelerator": "h200-sxm"}
LAPTOP = {"model": "qwen3-8b", "accelerator": "m3-ultra", "node": "single-pcie-5", "precision.arithmetic": "16-bit"}
HYBRID = {"model": "nemotron-3-super-120b-a12b", "accelerator": "h200-sxm", "workload.context": "131072 token"}
LATENT = {"model": "deepseek-v3", "accelerator": "b200-sxm", "node": "hgx-8-nvlink-5"}
TOO_LARGE = {"model": "llama-3.1-405b", "accelerator": "l4", "node": "single-pcie-4"}


@pytest.fixture(scope="module")
def book():
    """What ``book.json`` has of the pages, without their values."""
    return {"pages": {path.stem: {"cells": code_of(path), "quotes": []} for path in PAGES}, "values": {}}


@pytest.fixture(autouse=True)
def in_the_book(monkeypatch):
    monkeypatch.chdir(BOOK)  # where a page runs


@pytest.fixture
def browser():
    """Without what a browser does not have."""
    with absent.standing_in(absent.NATIVE):
        yield


class Reader:
    """A kernel, and what it says."""

    def __init__(self, book, page, folder):
        self.heard = []
        self.kernel = Kernel(book, page, lambda message: self.heard.append(json.loads(json.dumps(message))), folder)

    def ask(self, call, *given):
        self.heard.clear()
        getattr(self.kernel, call)(*given)
        return {message["kind"]: message for message in self.heard}


def page_of(*sources, tags=()):
    """A book of one page with these cells."""
    cells = [{"source": source, "tags": list(tags)} for source in sources]
    return {"pages": {"here": {"cells": cells, "quotes": ["twice", "twice:2 ktoken"]}}, "values": {}}


START = "import costlib\nfrom costlib.book import axes, figure, state, table\ncase = costlib.load()"
TWICE = 'twice = 2 * case.workload.context\nstate("twice", twice, digits=6)'


@pytest.fixture
def reader(tmp_path):
    return lambda book, page="here": Reader(book, page, tmp_path)


# ---------------------------------------------------------------- every page


def shown(page):
    """All that a page's cells show, without drawings: by cell."""
    return {n: (r.why, r.text, r.shown) for n, r in enumerate(page.results) if r}


@pytest.mark.parametrize("name", [path.stem for path in PAGES])
def test_changes_one_after_the_other_give_what_each_gives_alone(book, name, browser):
    cells, session = book["pages"][name]["cells"], Session()
    page = Page(cells)
    with session.around():
        for chosen in (H200, HYBRID, LAPTOP, {}, {"workload.context": "9000 token"}):
            session.scenario = inputs.load(chosen)
            page.forget_scenario()
            page.run(page.numbers() & page.live, session)
            alone = Page(cells)
            alone.run(alone.numbers() & alone.live, session)
            assert shown(page).keys() >= shown(alone).keys()
            for number, found in shown(alone).items():
                assert found == shown(page)[number], (chosen, number)


def run_watched(cells, session):
    """Run all cells that can run, one after the other; say what they do beyond what their names say."""
    page, names, could_not, found, held = Page(cells), {}, set(), [], {}
    for number, cell in enumerate(page.cells.all):
        if page.cells.needs[number] & could_not:
            could_not.add(number)
            continue
        before = dict(names)
        result = run(cell, names, session, draws=False)
        names.pop("__builtins__", None)
        if result.why:
            assert result.why != "failed", result.text
            could_not.add(number)
            for name in names.keys() - before.keys():
                del names[name]
            continue
        same = {name for name in names if name in before and names[name] is before[name]}
        shown = pictures(names)
        found += [f"cell {number} changes {name} in place" for name in same if shown[name] != held[name]]
        found += [f"cell {number} writes {name} unseen" for name in names.keys() - same - cell.names.writes]
        found += [f"cell {number} does not write {name}" for name in cell.names.surely - names.keys()]
        if result.asked and not any(asks for _, asks in cell.statements):
            found.append(f"cell {number} asks for the scenario unseen")
        held = shown
    return found


@pytest.mark.parametrize("name", [path.stem for path in PAGES])
def test_cells_do_only_what_their_names_say(book, name, browser, tmp_path):
    (tmp_path / inputs.FILE).write_text(inputs.scenario_text(H200), encoding="utf-8")
    session = Session()
    session.scenario, session.long = scenario.load(tmp_path / inputs.FILE), True
    session.file = session.scenario.file
    with session.around(), replaced():
        assert run_watched(book["pages"][name]["cells"], session) == []


@pytest.mark.parametrize(
    "bad, said",
    [
        ("x.append(1)", "changes x in place"),
        ("y['x'].append(1)", "changes x in place"),
        ("f()", "changes x in place"),
        ("draw.random()", "changes draw in place"),
        ("exec('new = 1')", "writes new unseen"),
        ("def g():\n    global new\n    new = 1\ng()", "writes new unseen"),
        ("scenario = __import__('costlib').load\nscenario()", "asks for the scenario unseen"),
    ],
)
def test_what_names_do_not_say_is_seen(bad, said):
    good = "import numpy\nx = [1]\ny = {'x': x}\ndef f(z=x):\n    z.append(1)\ndraw = numpy.random.default_rng(1)"
    session = Session()
    with session.around():
        assert any(said in each for each in run_watched(page_of(good, bad)["pages"]["here"]["cells"], session))


@pytest.fixture(scope="module")
def found(book):
    """The values that the kernel computes for the reference scenario."""
    return values_of_each(book, [None])[0]


def test_published_values_come_out_to_the_last_digit(found):
    names = ("index", "output-cost", "attention-state", "reference-values", "catalog", "reproduction")
    stated = [published for name in names for published in published_by(BOOK / f"{name}.md")[0]]
    records = {data["key"]: data for kind, data in stated if kind == "value"}
    assert len(records) > 100
    for key, record in records.items():
        assert {k: found[key][k] for k in record} == record, key


def test_what_no_browser_has_is_left_out_and_nothing_else(found, book):
    keys = {key for path in PAGES for cell in Page(code_of(path)).cells.all for key in cell.keys}
    missing = keys - found.keys()
    pages = {name: Page(content["cells"]) for name, content in book["pages"].items()}
    homes = {name for name, page in pages.items() if page.cells.stating(missing)}
    assert homes <= {"decode-loop", "kv-budget", "trajectory-queues", "transactions", "worksheet"}
    assert len(missing) < len(keys) / 3


@pytest.mark.parametrize("name", [path.stem for path in PAGES])
def test_a_page_leaves_no_file_behind(book, name, browser, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    page, session = Page(book["pages"][name]["cells"]), Session()
    session.scenario = inputs.load(H200)
    with session.around():
        page.run(page.numbers(), session)
        assert not list(tmp_path.iterdir())


def followed(cells, chosen):
    """What a page's live cells show for a reader, by cell; and those that stay, each with the reason."""
    page, session = Page(cells), Session()
    session.scenario = inputs.load(chosen)
    with session.around():
        page.run(page.live - {number for number, cell in enumerate(page.cells.all) if "ran" in cell.source}, session)
    results = {number: page.results[number] for number in page.live if page.results[number]}
    return {n: r.shown for n, r in results.items() if not r.why}, {n: r.text for n, r in results.items() if r.why}


@pytest.mark.parametrize("chosen", [{}, H200, TOO_LARGE])
def test_all_that_follows_from_the_week_of_the_worksheet_follows_in_a_browser(book, chosen):
    cells = book["pages"]["worksheet"]["cells"]
    with absent.standing_in(absent.NATIVE):
        found, stays = followed(cells, chosen)
    with_duckdb, _ = followed(cells, chosen)
    assert found == {number: with_duckdb[number] for number in found}
    keys = {data["key"] for shown in found.values() for kind, data in shown if kind in ("value", "table")}
    assert keys >= {"worksheet-verdict", "worksheet-decision", "worksheet-margins", "tab-worksheet-crossing"}
    shell = next(number for number, cell in enumerate(cells) if "shell.ran(" in cell["source"])
    assert set(stays) == set(range(shell, shell + 6)) and all("the command line" in why for why in stays.values())


def scenarios():
    """Twenty readers' inputs over the catalog, each of which makes a scenario."""
    dice, chosen = random.Random(6), []
    while len(chosen) < 20:
        given = {
            "model": dice.choice(catalog.names("model")),
            "accelerator": dice.choice(catalog.names("accelerator")),
            "node": dice.choice(catalog.names("node")),
            "node.accelerators": str(dice.choice([1, 2, 4, 8, 16])),
            "precision.arithmetic": dice.choice(["16-bit", "8-bit", "4-bit"]),
            "precision.weights": dice.choice(["2 byte/parameter", "8 bit/parameter", "4.25 bit/parameter"]),
            "precision.kv_cache": dice.choice(["2 byte/element", "1 byte/element"]),
            "workload.context": f"{dice.choice([8192, 32768, 131072])} token",
            "workload.turns": str(dice.choice([1, 5, 40])),
        }
        if not inputs.problems(given):
            chosen.append(given)
    return chosen


def test_twenty_scenarios_give_what_the_command_line_gives(book):
    names = ("output-cost", "attention-state", "trajectory-queues", "kv-budget")
    pages, session = [Page(book["pages"][name]["cells"]) for name in names], Session()
    for chosen in scenarios():
        session.scenario = inputs.load(chosen)
        expected, found = derived(session.scenario), {}
        with session.around():
            for page in pages:
                page.forget_scenario()
                page.run(page.cells.stating(expected), session)
                found |= page.values()
        assert expected.keys() <= found.keys()
        for key, wanted in expected.items():
            mine = Quantity(found[key]["value"], found[key]["unit"])
            assert math.isclose(mine.m_as(wanted.units), wanted.magnitude, rel_tol=1e-12), (chosen, key)


# ---------------------------------------------------------------- what the page is told


def test_a_change_says_what_is_different(reader):
    mine = reader(page_of(START, TWICE))
    first = mine.ask("change", {"workload.context": "65536 token"})["numbers"]
    assert first["values"]["twice"]["printed"] == "131,072 tokens"
    assert first["quotes"] == {"twice": "131,072 tokens", "twice:2 ktoken": "130 thousand tokens"}
    assert first["scenario"] == '[workload]\ncontext = "65536 token"\n'
    same = mine.ask("change", {"workload.context": "65536 token", "workload.turns": "3"})["numbers"]
    assert (same["values"], same["quotes"]) == ({}, {})


def test_what_cannot_be_used_changes_nothing(reader, tmp_path):
    mine = reader(page_of(START, TWICE))
    mine.ask("change", {"workload.context": "65536 token"})
    file = (tmp_path / "mine.toml").read_text()
    heard = mine.ask("change", {"workload.context": "65536 GB"})
    assert list(heard) == ["refused"]
    assert "is in GB; wanted context" in heard["refused"]["problems"]["workload.context"]
    assert (tmp_path / "mine.toml").read_text() == file
    assert mine.kernel.record("twice")["printed"] == "131,072 tokens"


def test_a_cell_that_fails_for_a_reader_leaves_nothing_of_an_earlier_one(reader):
    risky = (
        'if case.workload.turns.magnitude > 99:\n    raise ValueError("too many")\nmine = twice\nstate("mine", mine)'
    )
    after = 'state("after", 2 * mine)'
    book = page_of(START, TWICE, risky, after)
    book["values"] = {"mine": {"printed": "published", "page": "here", "number": False, "value": "published"}}
    mine = reader(book)
    mine.ask("change", {"workload.turns": "3"})
    heard = mine.ask("change", {"workload.turns": "100"})["numbers"]
    assert heard["stays"] == {
        "2": "ValueError: too many (line 2)",
        "3": "It uses what another cell could not compute: valueError: too many (line 2)",
    }
    assert heard["why"] == {"2": "failed", "3": "failed"}
    assert set(heard["values_stay"]) == {"mine", "after"}
    assert heard["values"]["mine"]["printed"] == "published"
    again = mine.ask("change", {"workload.turns": "4"})["numbers"]
    assert (again["stays"], set(again["values"])) == ({}, {"mine"} | ({"after"} & set(again["values"])))


def test_tables_and_what_is_printed_are_told_as_html(reader):
    source = 'table("t", ["A", "$x$"], [["`a|b`", 3 * twice], ["<b>", "{val}`twice`"]], "All, *of* {eq}`eq-1`.")\n'
    heard = reader(page_of(START, TWICE, source, "print('<', twice)\n[1, 'a']")).ask("change", H200)["numbers"]
    table = heard["tables"]["t"]
    assert table["head"] == ["<p>A</p>", '<p><span class="math notranslate nohighlight">\\(x\\)</span></p>']
    assert "a|b" in table["rows"][0][0] and table["rows"][1][0] == "<p>&lt;b&gt;</p>"
    assert (
        '<a class="reference internal val" href="#twice"><data value="65536.0" data-key="twice">' in table["rows"][1][1]
    )
    assert table["caption"] == 'All, <em>of</em> <span data-role="eq" data-target="eq-1">eq-1</span>.'
    assert ">&lt; 65536.0 token\n</pre>" in heard["outputs"]["3"] and "[1, 'a']" in heard["outputs"]["3"]


DRAWS = """
share = case.workload.turns / 2
drawn, ax = axes()
ax.plot([0, share.magnitude], [0, 1])
figure("fig", drawn, f"Up to {share.magnitude:g}", "A line.", "A line that rises.")
"""


def test_numbers_come_before_figures_that_they_depend_on(reader):
    mine = reader(page_of(START, DRAWS, 'state("half", share)'))
    heard = mine.ask("change", {"workload.turns": "8"})
    assert [message["kind"] for message in mine.heard] == ["numbers", "figure", "done"]
    assert heard["numbers"]["values"]["half"]["printed"] == "4"
    assert heard["numbers"]["figures"] == ["fig"]
    assert heard["figure"]["caption"] == "<strong>Up to 4.</strong> A line."
    assert heard["figure"]["light"] != heard["figure"]["dark"]
    assert "figure" not in mine.ask("change", {"workload.turns": "8", "workload.context": "9000 token"})
    assert mine.ask("change", {"workload.turns": "9"})["figure"]["caption"] == "<strong>Up to 4.5.</strong> A line."
    assert mine.ask("change", {})["figure"] == {"kind": "figure", "key": "fig", "published": True}
    assert mine.ask("change", {"workload.turns": "9"})["figure"]["caption"] == "<strong>Up to 4.5.</strong> A line."


def test_figures_wait_for_what_draws_them_and_numbers_do_not(reader):
    with absent.standing_in(["matplotlib"]):
        mine = reader(page_of(START, DRAWS, 'state("half", share)'))
        heard = mine.ask("change", {"workload.turns": "8"})
        assert heard["numbers"]["values"]["half"]["printed"] == "4"
        assert heard["stays"]["why"] == "waits"
        heard = mine.ask("arrived", "figures")
        assert heard["figure"]["key"] == "fig" and heard["numbers"]["values"] == {}


def test_what_takes_long_waits_until_it_is_asked_for(reader):
    book = page_of(
        START, TWICE, 'import costlib\nslow = case.workload.turns\nstate("slow", slow)', 'state("more", 2 * slow)'
    )
    book["pages"]["here"]["cells"][2]["tags"] = ["long"]
    mine = reader(book)
    assert mine.ask("change", {"workload.turns": "8"})["numbers"]["why"] == {"2": "long", "3": "long"}
    assert mine.ask("run_long")["numbers"]["values"]["more"]["printed"] == "16"
    assert [m for m in mine.heard if m["kind"] == "progress"] == [
        {"kind": "progress", "done": 1, "of": 2, "cell": 2},
        {"kind": "progress", "done": 2, "of": 2, "cell": 3},
    ]
    assert mine.ask("change", {"workload.turns": "8", "workload.context": "9000 token"})["numbers"]["why"] == {
        "2": "long",
        "3": "long",
    }


def test_an_edited_cell_runs_with_what_depends_on_it_and_back(reader):
    mine = reader(page_of(START, TWICE, 'state("more", 10 * twice)'))
    mine.ask("change", {"workload.context": "10000 token"})
    heard = mine.ask("edit", 1, 'twice = 3 * case.workload.context\nstate("twice", twice, digits=6)\ntwice')["numbers"]
    assert (
        heard["values"]["twice"]["printed"] == "30,000 tokens"
        and heard["values"]["more"]["printed"] == "300,000 tokens"
    )
    assert 'id="twice"' in heard["outputs"]["1"] and "30000.0 token" in heard["outputs"]["1"]
    assert (
        mine.ask("change", {"workload.context": "9000 token"})["numbers"]["values"]["more"]["printed"]
        == "270,000 tokens"
    )
    assert mine.ask("restore", 1)["numbers"]["values"]["more"]["printed"] == "180,000 tokens"


SHARED = "grown = [1]"
GROWS = 'grown.append(2)\nstate("grown", len(grown))'
DRAWN = 'drawn, ax = axes()\ngrown.append(3)\nfigure("fig", drawn, f"{len(grown)}", "A line.", "A line.")'


def test_with_an_edited_cell_all_run_as_if_for_the_first_time(reader):
    mine = reader(page_of(START, SHARED, "case.workload", DRAWN, 'state("last", len(grown))'))
    for call in (("edit", 2, GROWS), ("change", {"workload.turns": "8"}), ("change", {"workload.turns": "9"})):
        heard = mine.ask(*call)
        assert (
            heard["figure"]["caption"] == "<strong>3.</strong> A line." if call[0] == "edit" else "figure" not in heard
        )
        assert mine.kernel.record("grown")["printed"] == "2" and mine.kernel.record("last")["printed"] == "3"


def test_with_an_edited_cell_all_run_again_with_those_that_take_long(reader):
    book = page_of(START, SHARED, "case.workload", "case.workload", 'state("last", len(grown))')
    book["pages"]["here"]["cells"][3]["tags"] = ["long"]
    mine = reader(book)
    mine.ask("edit", 2, GROWS)
    assert mine.ask("run_long")["numbers"]["why"] == {}
    assert mine.kernel.record("last")["printed"] == "2"


@pytest.mark.parametrize(
    "source, text",
    [
        ("1 +", "SyntaxError: invalid syntax (line 1)"),
        ("\nnothing", "NameError: name 'nothing' is not defined (line 2)"),
        ("raise SystemExit(3)", "SystemExit: 3 (line 1)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt:  (line 1)"),
        ("def f():\n    f()\nf()", "RecursionError: maximum recursion depth exceeded (line 2)"),
        ("import os\nos.fork()", ""),
    ],
)
def test_an_edited_cell_that_fails_says_why(reader, source, text):
    mine = reader(page_of(START, TWICE))
    if text:
        heard = mine.ask("edit", 1, source)
        assert heard["failed"] == {"kind": "failed", "cell": 1, "text": text}
        assert heard["numbers"]["why"] == {"1": "failed"}
    assert mine.ask("restore", 1)["numbers"]["why"] == {}


# ---------------------------------------------------------------- what is not there

ALONE = """
import json, sys  
from costlib.book.live import absent
with absent.standing_in([*absent.NATIVE, "matplotlib", "scipy", "simpy"]):
    import costlib.grammar, costlib.simulation, costlib.book.postgres, costlib.book.llama_cpp, costlib.traces
    import scipy.stats
    said = []
    for use in (
        lambda: costlib.grammar.LLMatcher(),
        lambda: scipy.stats.norm.ppf(0.5),
        lambda: costlib.simulation.half_width([1, 2]),
        lambda: costlib.book.postgres.observed(print),
        lambda: costlib.book.llama_cpp.evidence(),
    ):
        try:
            use()
            said.append("used")
        except absent.Absent as reason:
            said.append(f"{type(reason).__name__}: {reason}")
    absent.arrived("simulations")
    said.append(costlib.simulation.half_width([1.0, 2.0, 3.0]) > 0)
    loaded = {name.partition(".")[0] for name in sys.modules}
    print(json.dumps([said, sorted(loaded & {"IPython", "sphinx", "docutils"})]))
"""


QUOTED = {"twice": {"printed": "65,536 tokens", "value": 65536, "number": True, "unit": "token", "digits": 6}}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("twice = 3", "does not state it"),
        ("twice =", "SyntaxError"),
        ("1 / 0\n" + TWICE, "ZeroDivisionError"),
        ('state("twice", case.node.accelerators)', "Cannot convert"),  # the page quotes it in thousands of tokens
        ('state("twice", "many")', "could not convert"),
        ('state("twice", 3)', "Cannot convert"),
    ],
)
def test_a_published_value_that_an_edit_takes_away_is_not_shown_as_the_readers(reader, source, why):
    book = page_of(START, TWICE) | {"values": {"twice": QUOTED["twice"] | {"page": "here"}}}
    here = reader(book)
    here.ask("change", {"workload.context": "9000 token"})
    for _ in range(2):
        assert why in here.ask("edit", 1, source)["numbers"]["values_stay"]["twice"]
        assert why in here.ask("change", {"workload.context": "9000 token"})["numbers"]["values_stay"]["twice"]
    told = here.ask("restore", 1)["numbers"]
    assert told["values_stay"] == {}
    assert told["quotes"] == {"twice": "18,000 tokens", "twice:2 ktoken": "18 thousand tokens"}


@pytest.mark.parametrize(
    "source",
    [
        'table("tab-a", ["a"], [["b"]], "of {val}`twice:1 GB`")',
        'table("tab-a", ["a"], [["{val}`twice:1 nonsense`"]], "c")',
        "from IPython.display import Markdown\nMarkdown('{val}`twice:1 GB`')",
        "from IPython.display import display\ndisplay({'text/plain': 5}, raw=True)",
        "fig, ax = axes()\nfigure('fig-a', fig, 'a', 'of {val}`twice:1 GB`', 'b')",
        "class Odd(Exception):\n    def __str__(self):\n        return 5\nraise Odd",
        "class Odd(Exception):\n    def __str__(self):\n        raise KeyboardInterrupt\nraise Odd",
        "class Odd(BaseException):\n    pass\nraise Odd",
        "-" * 20_000 + "1",
        "raise ValueError('x' * 1_000_000)",
    ],
)
def test_what_a_reader_writes_may_fail_and_python_goes_on(reader, source):
    here = reader(page_of(START, TWICE, "1"))
    here.ask("change", {"workload.context": "9000 token"})
    told = here.ask("edit", 2, source)
    assert told["done"]
    failed = told.get("failed") or told["stays"]
    assert failed["cell"] == 2 and 5 < len(failed["text"]) < 200_000
    assert here.ask("restore", 2)["numbers"]["stays"] == {}


def test_an_edit_that_clears_the_environment_ends_nothing(reader):
    here = reader(page_of(START, TWICE))
    here.ask(
        "edit", 1, "import os\nfor name in list(os.environ):\n    if 'COSTLIB' in name:\n        del os.environ[name]"
    )
    here.ask("restore", 1)
    assert here.ask("change", {"workload.context": "9000 token"})["numbers"]["values"]["twice"]["value"] == 18000


def test_no_more_is_shown_than_a_browser_can_set(reader):
    here = reader(page_of(START, TWICE))
    shown = here.ask("edit", 1, "print('x' * 10_000_000)\n'y' * 10_000_000")["numbers"]["outputs"]["1"]
    assert len(shown) < 300_000 and "9,900,001 characters more" in shown


def test_a_field_stands_where_the_scenario_does_however_it_was_typed(reader):
    here = reader(page_of(START, TWICE))

    def stands(**given):
        return here.ask("change", {key.replace("__", "."): text for key, text in given.items()})["numbers"]["stands"]

    assert stands(workload__context="64 ktoken")["workload.context"] == 64000
    assert stands(workload__context="65,536 token")["workload.context"] == 65536
    assert stands(precision__weights="4.25 bit/parameter")["precision.weights"] == 0.53125
    assert stands(node="gb200-nvl72")["node.accelerators"] == 72
    chosen = stands(accelerator="b200-sxm", node="pcie-5-8", model="deepseek-v3")
    assert chosen["accelerator.title"] == "NVIDIA B200 SXM 180 GB" and chosen["accelerator.rate_4bit"] == 9000
    assert chosen["link.bandwidth"] == 64 and chosen["model.active_parameters"] < chosen["model.parameters"] < 1000
    published = {field.key: field.published for field in FIELDS if not field.choices}
    for key, value in stands().items():
        text = published.pop(key)
        assert (value is None and not text) or text in (value, str(value)) or float(text.partition(" ")[0]) == value
    assert not published
    assert [key for key, value in stands().items() if value is None] == [
        "model.active_parameters",
        "accelerator.rate_4bit",
    ]


def test_modules_that_are_not_there_can_be_imported_and_say_so_when_they_are_used():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    said, loaded = json.loads(done.stdout or "[]") if done.stdout else ([], done.stderr)
    assert said == [
        "Absent: llguidance, a native grammar engine",
        "Waiting: simulations",
        "Waiting: simulations",
        "Absent: PostgreSQL, a server",
        "Absent: llama.cpp, a native program",
        True,
    ], done.stderr
    assert loaded == []


# ---------------------------------------------------------------- inputs

REFUSED = [
    ({"model": "llama-70b"}, "model", "No model 'llama-70b' in the catalog"),
    ({"workload.context": "65536 GB"}, "workload.context", "'65536 GB' is in GB; wanted context of a trajectory"),
    ({"precision.weights": "4.25"}, "precision.weights", "'4.25' has no unit; wanted stored size of a weight"),
    ({"workload.tool_time": "3"}, "workload.tool_time", "'3' has no unit"),
    ({"workload.context": "lots"}, "workload.context", "'lots' is not a number with a unit"),
    ({"workload.context": "1.5 token"}, "workload.context", "wanted a whole number"),
    ({"workload.colour": "red"}, "workload.colour", "Unknown key 'colour'"),
    ({"__class__": "x"}, "__class__", "Unknown key '__class__'"),
    ({"precision.arithmetic": "3-bit"}, "precision.arithmetic", "'3-bit'; wanted precision computed in"),
    ({"accelerator": "m3-ultra"}, "accelerator", "Apple M3 Ultra"),
    ({"precision.arithmetic": "16-bit", "accelerator": "m3-ultra", "precision.weights": "9 byte/parameter"},
     "precision.weights", "'9 byte/parameter'; wanted"),
    ({"workload.observation": "5e3 token", "workload.context": "4e3 token"}, "workload.context", "Observation = 5,000"),
    ({"workload.context": "9e4 token", "workload.observation": "2e5 token"}, "workload.observation", "200,000 tokens"),
    ({"workload.context": "9e3 token", "workload.observation": "2e4 token"}, "workload.observation", "20,000 tokens"),
    ({"workload.observation": "2e4 token", "workload.context": "9e3 token"}, "workload.context", "20,000 tokens"),
    ({"model.title": "<script>alert(1)</script>"}, "model.title", "wanted a plain text of one line, without markup"),
    ({"workload.source": "a {val}`x`"}, "workload.source", "wanted a plain text"),
    ({'workload.context" = 3\n[model': "x"}, 'workload.context" = 3\n[model', "Unknown key"),
    ({"accelerator.rate_8bit": "2 TB/s"}, "accelerator.rate_8bit", "'2 TB/s' is in TB/s; wanted dense 8-bit rate"),
    ({"accelerator.title": "Ours", "accelerator.memory": "96 GB", "accelerator.bandwidth": "4 TB/s"},
     "accelerator.bandwidth", "Ours has no 8-bit rate"),
    ({"accelerator.title": "<b>"}, "accelerator.title", "plain text"),
    ({"model.active_parameters": "3 billion parameters"}, "model.active_parameters", "A model without experts"),
    ({"model": "deepseek-v3", "model.active_parameters": "3 billion parameters"}, "model.active_parameters",
     "3 billion parameters is less than 8 of 256 experts can have; wanted at least that share of parameters, 20.9696"),
    ({"workload.context": "1" * 5000}, "workload.context", f"'{'1' * 60}...'"),
    ({"model.attention": "[" * 20_000}, "model.attention", "as a list of objects in JSON"),
    ({"reserve.weights": "5"}, "reserve.weights", "in the node's memory, from"),
]  # fmt: skip


@pytest.mark.parametrize("given, field, text", REFUSED)
def test_what_is_wrong_is_said_at_the_field_that_is_at_fault(given, field, text):
    found = inputs.problems(given)
    assert list(found) == [field]
    assert text in found[field]
    assert "mine.toml" not in found[field] and "/tmp" not in found[field]


def test_each_field_that_cannot_be_used_is_named():
    found = inputs.problems({"model": "x", "workload.context": "y", "workload.turns": "3"})
    assert set(found) == {"model", "workload.context"}


@pytest.mark.parametrize(
    "given", [H200, LAPTOP, HYBRID, LATENT, TOO_LARGE, {}, {"node.accelerators": "16"}, {"model": " "}]
)
def test_inputs_make_a_scenario(given):
    assert inputs.problems(given) == {}
    case = inputs.load(given)
    for key, text in given.items():
        if "." not in key and text.strip():
            assert getattr(case, key).title.startswith(catalog.part(key, text).title)


@steady
@given(some.text(max_size=20))
def test_any_text_reaches_the_scenario_as_it_is(text):
    import tomllib

    read = tomllib.loads(inputs.scenario_text({"model": text, "workload.context": text, 'odd "key"\x7f': text}))
    kept = text.strip().encode("utf-8", "replace").decode()
    assert read == ({"model": kept, 'odd "key"\x7f': kept, "workload": {"context": kept}} if kept else {})


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.key)
def test_the_published_value_of_a_field_changes_nothing(field):
    if field.published:
        assert inputs.load({field.key: field.published}).peak_rate == inputs.load({}).peak_rate
        part, _, name = field.key.partition(".")
        typed = getattr(getattr(inputs.load({field.key: field.published}), part), name)
        assert typed == getattr(getattr(costlib.load(), part), name)
        assert getattr(inputs.load({field.key: field.published}), part).title == getattr(costlib.load(), part).title
    assert not field.step or field.limits[0] < field.limits[1]


def test_a_card_that_no_catalog_has_is_entered_value_by_value():
    card = {"title": "Ours", "memory": "96 GB", "bandwidth": "4 TB/s", "rate_8bit": "800 Top/s"}
    ours = inputs.load({f"accelerator.{name}": text for name, text in card.items()}).accelerator
    assert (ours.title, ours.rate_16bit) == ("Ours", None)  # of no other card has it anything


EIGHT_BITS = {"precision.weights": "1 B/parameter", "reserve.weights": "1 B/parameter"}
SIXTEEN_BITS = {"precision.weights": "2 B/parameter", "precision.arithmetic": "16-bit"}
OWN = {
    "model.attention": '[{"layers": 80, "query_heads": 64, "kv_heads": 8, "key_dim": 128, "value_dim": 128}]',
}
NOTICED = [
    (
        {"model": "llama-3.1-405b", "accelerator": "l4"},
        {"accelerator": "take 831.7 GB, and the node has 193.2 GB. NVIDIA L4 24 GB: such accelerators are"},
    ),
    (
        {"accelerator": "l4", "model": "llama-3.1-405b"},
        {"model": "It does not fit", "accelerator": "that link, or enter its bandwidth, 32 GB/s."},
    ),
    ({"accelerator": "l40s", "node": "hgx-8-nvlink-5"}, {"node": "the 8 of this node are on NVLink 5."}),
    (
        {"accelerator": "l40s", "node.accelerators": "4"},
        {"node.accelerators": "the 4 of this node are on NVLink 4. Choose a node with that link"},
    ),
    ({"accelerator": "m3-ultra"} | SIXTEEN_BITS, {"accelerator": "are each alone in a machine; the 8 of this node"}),
    ({"accelerator": "m3-ultra", "node": "single-pcie-5"} | SIXTEEN_BITS, {}),
    ({"accelerator": "l40s", "node": "pcie-4-8"}, {}),
    ({"accelerator": "l40s", "link.bandwidth": "25 GB/s"}, {}),
    ({"accelerator": "l40s", "accelerator.bandwidth": "800 GB/s"}, {"accelerator": "NVIDIA L40S 48 GB, changed: such"}),
    ({"accelerator": "rtx-5090", "node": "pcie-4-8", "reserve.weights": "1 B/parameter"}, {}),
    ({"accelerator": "tpu-v5e", "reserve.weights": "4 bit/parameter", "precision.weights": "4 bit/parameter"},
     {"accelerator": "by TPU v5e interconnect; the 8 of this node are on NVLink 4."}),
    (
        {"model": "mistral-7b-v0.1", "workload.context": "200000 token"},
        {"workload.context": "up to 32,768 tokens; this one has 200,000 tokens."},
    ),
    ({"workload.context": "200000 token", "model": "mistral-7b-v0.1"}, {"model": "this one has 200,000 tokens."}),
    (
        {"workload.prompt": "131000 token", "workload.output": "73 token"},
        {"workload.output": "the context of 32,768 tokens. The model is made for contexts of up to 131,072 tokens; "
                            "the call has 131,073 tokens."},
    ),
    ({"model.context_limit": "16384"}, {"workload.context": "up to 16,384 tokens; this one has 32,768 tokens."}),
    ({"workload.context": "131072 token"}, {}),
    ({"model": "mistral-nemo-12b", "workload.context": "1000000 token"}, {}),
    ({"reserve.weights": "1 B/parameter", "reserve.runtime": "620 GB"}, {"reserve.runtime": "take 690.6 GB"}),
    ({"model.title": "Ours", "model.parameters": "900e9 parameter"}, {"model": "It does not fit"}),
    ({"node.accelerators": "2", "reserve.runtime": "30.5 GB"}, {"reserve.runtime": "context of 32,768 tokens takes"}),
    ({"node.accelerators": "2", "workload.context": "65536 token"}, {"workload.context": "65,536 tokens takes"}),
    ({"precision.weights": "4 bit/parameter"}, {"precision.weights": "still takes 2 B/parameter"}),
    ({"reserve.weights": "4 bit/parameter"}, {"reserve.weights": "still reads 1 B/parameter"}),
    ({"reserve.weights": "1 B/parameter"}, {}),
    (
        {"model": "deepseek-v3", "accelerator": "h200-sxm", "reserve.runtime": "0 GB"} | EIGHT_BITS
        | {"workload.context": "900000 token"},
        {"workload.context": "leave 457 GB of the node's 1,128 GB; a context of 900,000 tokens takes 506 GB there"},
    ),
    (OWN, {"precision.weights": "Still as published: 1 B/parameter as read, 2 B/parameter in memory"}),
    (OWN | EIGHT_BITS, {}),
    ({"reserve.weights": "5 bit/parameter", "precision.weights": "4 bit/parameter"}, {}),
    ({"workload.context": "8192 token"}, {"workload.context": "30,000 tokens and an output of 300 tokens: more than"}),
    ({"workload.prompt": "32500 token"}, {"workload.prompt": "more than the context of 32,768 tokens"}),
    ({"workload.output": "2768 token"}, {}),
    ({"workload.turns": "3"}, {}),
    ({}, {}),
]  # fmt: skip


@pytest.mark.parametrize("given, wanted", NOTICED)
def test_what_is_worth_a_word_is_said_at_the_field_that_was_set_last(given, wanted):
    assert inputs.problems(given) == {}
    found = notices(given, inputs.load(given))
    assert found.keys() == wanted.keys()
    for key, text in wanted.items():
        assert text in " ".join(found[key]) and all(sentence.endswith(".") for sentence in found[key])


def test_of_the_published_inputs_nothing_is_worth_a_word():
    given = {field.key: field.published for field in FIELDS if field.published}
    assert notices(given, inputs.load(given)) == notices({}, inputs.load({})) == {}


chosen = some.fixed_dictionaries(
    {},
    optional={
        **{kind: some.sampled_from(catalog.names(kind)) for kind in ("model", "accelerator", "node", "link")},
        "precision.arithmetic": some.just("16-bit"),
        "precision.weights": some.sampled_from(["4 bit/parameter", "2 B/parameter"]),
        "model.context_limit": some.sampled_from(["1", "4096 token", "1e12 token"]),
        "accelerator.link": some.sampled_from([*catalog.names("link"), "none"]),
        "accelerator.title": some.just("Ours"),
        "node.accelerators": some.sampled_from(["1", "3", "1024"]),
        "workload.context": some.sampled_from(["8192", "1e8 token"]),
        "workload.prompt": some.sampled_from(["1", "1e8 token"]),
    },
)


@steady
@given(chosen, some.randoms())
def test_what_is_worth_a_word_stands_beside_a_field(found, random):
    given = dict(random.sample(sorted(found.items()), len(found)))
    if not inputs.problems(given):
        case = inputs.load(given)
        said = notices(given, case)
        assert said.keys() <= {field.key for field in FIELDS}
        every = [sentence for sentences in said.values() for sentence in sentences]
        assert all(text.endswith(".") and text == " ".join(text.split()) for text in every)
        both = " ".join(every)
        assert all(sentence in both for sentence in (case.beyond_limit, case.other_link)) if given else not both


def test_the_page_hears_of_what_is_worth_a_word(reader):
    here = reader(page_of(START, TWICE))
    assert list(here.ask("change", {"workload.context": "9000 token"})["numbers"]["notices"]) == ["workload.context"]
    assert here.ask("change", {})["numbers"]["notices"] == {}


# ---------------------------------------------------------------- rendering


@steady
@given(some.text(alphabet="<>&\"'`*_{}[]()!$\\ab/:#-|", max_size=30))
def test_no_markup_of_html_gets_through(text):
    from html.parser import HTMLParser

    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(Renderer("here", lambda key: None).inline(text))
    for tag, attributes in found:
        assert tag in {"p", "em", "strong", "code", "span", "a", "img", "br"}
        assert not any(name.startswith("on") for name in attributes)
        assert not attributes.get("href", "").startswith("javascript")


PIECES = ["a", "8", " ", "_", "'", "é", ".", "(", "*", "{val}`k`", "`c`", "–", "$", "{", "&"]


@steady
@given(some.lists(some.sampled_from(PIECES), max_size=8).map("".join).filter(lambda text: text == text.strip()))
def test_a_text_without_markup_is_rendered_as_by_what_knows_all_of_myst(text):
    renderer = Renderer("here", lambda key: None)
    assert renderer.inline(text) == renderer._fill(rendering._inline(text))


@steady
@given(
    some.lists(some.lists(some.text(alphabet="a|\\` b", max_size=6).map(str.strip), min_size=2, max_size=2), min_size=1)
)
def test_a_table_is_read_as_it_was_written(rows):
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "_publish", lambda kind, data, *_: shown.append(data))
        published.table("t", ["x", "y"], rows, "")
    assert cells_of(shown[0]["grid"])[1:] == rows


def test_html_is_shown_as_text():
    text = '<img src=x onerror="alert(1)"> <b>x</b> [x](javascript:alert(1))'
    rendered = Renderer("here", lambda key: None).inline(text)
    assert rendered.startswith("&lt;img src=x") and "<b>" not in rendered and "href" not in rendered


def test_before_the_first_numbers_nothing_is_imported_that_they_do_not_need():
    code = "import sys, costlib.book.live.kernel; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = {"unittest", "pprint", "markdown_it", "mdit_py_plugins", "matplotlib", "IPython"}
    assert not late & set(done.stdout.split())
