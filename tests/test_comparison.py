"""Scenarios side by side: which files, what differs, the page that shows it, and the command that builds it."""

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
from bs4 import BeautifulSoup

import costlib
from conftest import BOOK, ROOT, code_of, published_by
from costlib.book import FILES, comparison
from costlib.book.live.kernel import values_of_each
from costlib.scenario import REFERENCE, VARIABLE, load
from costlib.schema import InputError

EXAMPLES = sorted(FILES.glob("scenarios/*.toml"))
VENV = os.path.dirname(os.path.dirname(sys.executable))


@pytest.fixture
def named(tmp_path, monkeypatch):
    """A function that writes files of these texts, by name, and has them compared."""

    def write(**texts):
        files = []
        for name, text in texts.items():
            files.append(tmp_path / f"{name}.toml")
            files[-1].write_text(text, encoding="utf-8")
        monkeypatch.setenv(comparison.VARIABLE, os.pathsep.join(map(str, files)))

    return write


# Which files


def test_by_default_the_examples_are_compared():
    assert list(comparison.files(load().file).values()) == EXAMPLES
    assert list(comparison.cases(load().file)) == ["reference", "b200-mixture", "h200-hybrid", "laptop"]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_a_case_of_its_own_in_which_the_model_fits(file):
    case, reference = load(file), load(REFERENCE)
    assert case.model != reference.model and case.accelerator != reference.accelerator
    assert case.resident_sequences(case.workload.context).magnitude >= 1
    assert file.read_text("utf-8").startswith("# ") and "title" not in tomllib.loads(file.read_text("utf-8"))


def test_the_examples_are_of_three_kinds():
    laptop, hybrid, mixture = (load(FILES / f"scenarios/{n}.toml") for n in ("laptop", "h200-hybrid", "b200-mixture"))
    assert laptop.node.accelerators.magnitude == 1 and not laptop.model.experts
    assert hybrid.model.recurrent_state and "H200" in hybrid.accelerator.title
    assert mixture.model.experts and "B200" in mixture.accelerator.title


def test_named_files_take_the_place_of_the_examples_in_the_order_given(named):
    named(b='model = "qwen3-8b"', a='accelerator = "h200-sxm"')
    assert list(comparison.cases(load().file)) == ["reference", "b", "a"]


def test_the_readers_own_scenario_stands_first(named, tmp_path, monkeypatch):
    named(a="")
    (tmp_path / "own.toml").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "own.toml"))
    assert list(comparison.files(load().file)) == ["own", "a"]
    monkeypatch.setenv(VARIABLE, str(tmp_path / "a.toml"))
    assert list(comparison.files(load().file)) == ["a"]


def test_two_files_of_one_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    files = [tmp_path / "a.toml", tmp_path / "other" / "a.toml"]
    monkeypatch.setenv(comparison.VARIABLE, os.pathsep.join(map(str, files)))
    with pytest.raises(InputError, match=r"other/a\.toml: is called 'a', as .*; wanted names that differ"):
        comparison.files(load().file)


@pytest.mark.parametrize("name", ["a|b", "*", "$x", "[a]", "<b>"])
def test_a_name_that_a_page_cannot_show_is_refused(named, name):
    named(**{name: ""})
    with pytest.raises(InputError, match="a name with other than letters"):
        comparison.files(load().file)


# What differs


def test_only_inputs_that_differ_are_listed(named):
    named(a='accelerator.bandwidth = "4 TB/s"', b='workload.context = "4096 token"\nworkload.observation = 16')
    found = comparison.differing_inputs(comparison.cases(load().file))
    assert found == {
        "accelerator": [*["the reference accelerator (H100 SXM)"] * 1, "the reference accelerator (H100 SXM), changed"]
        + ["the reference accelerator (H100 SXM)"],
        "workload": ["the worked trajectory", "the worked trajectory", "the worked trajectory, changed"],
        "accelerator.bandwidth": ["3.35 TB/s", "4 TB/s", "3.35 TB/s"],
        "workload.context": ["32,768 tokens", "32,768 tokens", "4,096 tokens"],
        "workload.observation": ["8,192 tokens", "8,192 tokens", "16 tokens"],
    }


def test_what_differs_from_the_first_is_marked():
    assert comparison.marked(["1", "1", "2"]) == ["1", "1", "**2**"]


def test_several_scenarios_one_after_another_have_the_values_that_each_has_alone():
    names = ("output-cost", "reference-values", "kv-budget")
    pages = {name: {"cells": code_of(BOOK / f"{name}.md")} for name in names}
    files = [None, *EXAMPLES, None]
    together = values_of_each({"pages": pages}, files)
    assert together == [values_of_each({"pages": pages}, [file])[0] for file in files]
    assert together[0]["output-input-ratio"]["printed"] == "295" != together[1]["output-input-ratio"]["printed"]


# The page


@pytest.fixture(scope="module")
def page(site):
    return BeautifulSoup((site / "book" / "comparison.html").read_text("utf-8"), "html.parser")


@pytest.fixture(scope="module")
def cells(site):
    return json.loads((site / "cells.json").read_text("utf-8"))["cells"]


def body(table):
    return [[cell.get_text() for cell in row.find_all("td")] for row in table.tbody.find_all("tr")]


def test_it_has_the_values_of_every_page_and_those_of_the_reference_are_the_published(page, cells):
    seen = {}
    for table in page.select("table.comparison"):
        for row in table.tbody.find_all("tr"):
            seen[row.a["href"].partition("#")[2]] = row.find_all("td")[1].get_text().replace("’", "'")
    assert {key: text for key, text in seen.items() if cells[key]["printed"].replace("’", "'") != text} == {}
    assert {cells[key]["page"] for key in seen} >= {f"book/{path.stem}.html" for path in BOOK.glob("*.md")} - {
        "book/comparison.html"
    }
    assert len(seen) > 0.75 * len(cells)


def test_what_differs_from_the_reference_is_marked_and_nothing_else(page):
    cells = [row.find_all("td")[1:] for row in page.select("table.comparison tbody tr")]
    assert any(others for _, *others in cells) and not page.select("th.differs")
    for reference, *others in cells:
        for other in others:
            assert ("differs" in other.get("class", [])) == (other.get_text() != reference.get_text())


def test_a_column_is_what_the_scenario_computes(page):
    header = [cell.get_text() for cell in page.find("table", id="comparison-output-cost").thead.find_all("th")]
    rows = {row[0]: row for row in body(page.find("table", id="comparison-output-cost"))}
    assert header == ["Value", "reference", "b200-mixture", "h200-hybrid", "laptop"]
    ridge = next(row for name, row in rows.items() if "ridge" in name)
    bandwidth = costlib.quantity("14.2 Top/s") / costlib.quantity("400 GB/s")
    assert ridge[4] == costlib.show(bandwidth.to("operation/byte"))


# The command


def make(*arguments):
    command = ["make", "--no-print-directory", f"VENV={VENV}", f"--assume-old={VENV}/installed", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_file_that_is_wrong_is_named_with_its_key_and_nothing_is_built(tmp_path):
    (tmp_path / "good.toml").write_text('model = "qwen3-8b"')
    (tmp_path / "bad.toml").write_text('accelerator.bandwidth = "4.8 TB"')
    files = f"{tmp_path}/bad.toml {tmp_path}/good.toml"  # the wrong one is not the last
    done = make("comparison", f"SCENARIOS={files}", f"BUILD=touch {tmp_path}/built")
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert done.returncode != 0 and len(said) == 1
    assert re.search(r"bad\.toml: \[accelerator\] bandwidth = '4.8 TB' is in TB; wanted", said[0])
    assert not (tmp_path / "built").exists()


def test_files_that_cannot_be_told_apart_are_refused_before_a_build_begins(tmp_path):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.toml").write_text("")
    files = f"{tmp_path}/one/a.toml {tmp_path}/other/a.toml"
    done = make("comparison", f"SCENARIOS={files}", f"BUILD=touch {tmp_path}/built")
    assert re.search(r"^costlib: .*other/a\.toml: is called 'a', as", done.stderr, re.M)
    assert done.returncode != 0 and not (tmp_path / "built").exists()


def test_the_command_hands_the_files_to_the_build(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text('model = "qwen3-8b"')
    relative = os.path.relpath(tmp_path / "a.toml", ROOT)
    done = make("comparison", f"SCENARIOS={relative} {tmp_path}/b.toml", "BUILD=printenv COSTLIB_COMPARISON")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"{tmp_path}/a.toml:{tmp_path}/b.toml"


# What the page says


SCENARIOS = {
    "the examples": {},
    "one scenario": {"alone": 'accelerator = "h200-sxm"'},
    "the reference is best": {"small": 'accelerator = "l4"\nnode = "single-pcie-4"'},
    "one holds the most, another the most of the longest": {
        "windows": 'model = "mistral-7b-v0.1"\n[reserve]\nweights = "4 byte/parameter"\nruntime = "500 GB"',
        "recurrent": 'model = "nemotron-3-super-120b-a12b"\naccelerator = "h200-sxm"',
    },
}


@pytest.fixture(params=SCENARIOS.values(), ids=SCENARIOS)
def said(request, named):
    """What the page says of some scenarios, and they."""
    if request.param:
        named(**request.param)
    published, _ = published_by(BOOK / "comparison.md")
    return {data["key"]: data for _, data in published}, comparison.cases()


def least_time(case):
    """Seconds of an output token at the least, from the scenario in plain numbers."""
    read = case.model.active.m_as("parameter") * case.precision.weights.m_as("byte/parameter")
    return read / case.accelerator.bandwidth.m_as("byte/s")


def most_held(found, tokens, for_each=False):
    """The scenario whose node, or each accelerator of it, holds the most contexts of so many tokens."""
    held = {
        name: case.resident_sequences(tokens * costlib.quantity("1 token")).magnitude for name, case in found.items()
    }
    return max(found, key=lambda name: held[name] / (found[name].node.accelerators.magnitude if for_each else 1))


def test_the_sentences_name_the_right_scenarios(said):
    shown, found = said
    length = found["reference"].workload.context.m_as("token")
    quick, slow = (choose(found, key=lambda name: least_time(found[name])) for choose in (min, max))
    assert shown["compared-count"]["value"] == f"{len(found) - 1} scenario{'s' * (len(found) != 2)}"
    assert shown["compared-names"]["value"].split(", ") == [name for name in found if name != "reference"]
    assert f"the node of {most_held(found, length)} holds" in shown["compared-holds"]["value"]
    assert shown["compared-writes"]["value"].endswith(f"with {slow}.")
    assert f"with {quick}, and" in shown["compared-writes"]["value"]


def test_the_figures_find_what_is_so(said):
    shown, found = said
    best = most_held(found, found["reference"].workload.context.m_as("token"), for_each=True)
    quick = min(found, key=lambda name: least_time(found[name]))
    offers = f"{best} holds the most, and writes quickest too"
    assert shown["fig-compared-offers"]["title"] == (
        offers if best == quick else f"{best} holds the most, and {quick} writes quickest"
    )
    short, long = most_held(found, 1_000), most_held(found, 1_000_000)
    title = shown["fig-compared-contexts"]["title"]
    assert (f"{short} holds the most short contexts, {long} the most long ones" == title) == (short != long)
    assert short == long or not title.startswith("At every length")
