"""Scenarios side by side: which files, what differs, the page that shows it, and the command that builds it."""

import json
import os
import re
import subprocess
import sys
import tomllib
from unittest import mock

import pytest
from bs4 import BeautifulSoup

import costlib
from conftest import BOOK, ROOT, code_of, published_by
from costlib.book import FILES, comparison
from costlib.book.live.kernel import values_of_each
from costlib.book.site import assets
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


@pytest.mark.parametrize("name", ["a|b", "*", "$x", "[a]", "<b>", "_a_", "a--b", "a..."])
def test_a_name_that_a_page_cannot_show_is_refused(named, name):
    named(**{name: ""})
    with pytest.raises(InputError, match="wanted a name of letters and digits"):
        comparison.files(load().file)


def test_a_path_that_would_be_taken_for_two_is_refused(tmp_path):
    file = tmp_path / f"a{os.pathsep}b.toml"
    file.write_text("")
    with pytest.raises(SystemExit, match=rf"b\.toml: wanted a path without {os.pathsep!r}"):
        comparison.main([file])


def test_the_name_of_the_reference_is_taken(named):
    named(reference="")
    with pytest.raises(InputError, match="is called 'reference', as the column beside it is"):
        comparison.files(load().file)


@pytest.mark.parametrize("name", ["my offer", "b200-mixture", "größer_2", "v1.5+x"])
def test_other_names_are_taken(named, name):
    named(**{name: ""})
    assert list(comparison.files(load().file)) == [name]


def test_contexts_are_those_of_all_files_or_each_its_own(named):
    def contexts():
        found = comparison.contexts(comparison.cases(load().file))
        return {name: length.m_as("token") for name, length in found.items()}

    longer = 'workload.context = "65536 token"'
    named(a=longer, b=longer + '\nmodel = "qwen3-8b"')
    assert contexts() == {"reference": 65_536, "a": 65_536, "b": 65_536}
    named(a=longer, b="")
    assert contexts() == {"reference": 32_768, "a": 65_536, "b": 32_768}
    named(a=longer)
    assert contexts() == {"reference": 65_536, "a": 65_536}


def test_all_that_are_ahead_are_named():
    assert comparison.leaders({"a": 1, "b": 2, "c": 2}) == ["b", "c"]
    assert comparison.leaders({"a": 1, "b": 2, "c": 2}, least=True) == ["a"]
    assert comparison.listed(["a"]) == "a" and comparison.listed(["a", "reference"]) == "a and the reference"


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


def test_a_value_has_the_sources_name_or_its_key_which_looks_like_one(page, cells):
    names = [row.a for row in page.select("table.comparison tbody tr")]
    for name in names:
        key = name["href"].partition("#")[2]
        assert bool(name.code) == (cells[key]["stated"] is None), key
        assert name.get_text().replace("’", "'") == (key if name.code else cells[key]["name"]), key


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


PRINTS = "BUILD=sh -c 'echo $$COSTLIB_COMPARISON; echo $$*' --"  # what a build would be given


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
    done = make("comparison", f"SCENARIOS={relative} {tmp_path}/b.toml", PRINTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{tmp_path}/a.toml:{tmp_path}/b.toml",
        "--path-output _build/comparison",
        "The comparison is built: open _build/comparison/_build/html/book/comparison.html",
    ]


def test_a_name_with_a_space_is_quoted(tmp_path):
    for name in ("my offer", "b"):
        (tmp_path / f"{name}.toml").write_text('model = "qwen3-8b"')
    done = make("comparison", f"SCENARIOS='{tmp_path}/my offer.toml' {tmp_path}/b.toml", PRINTS)
    assert done.stdout.splitlines()[0] == f"{tmp_path}/my offer.toml:{tmp_path}/b.toml", done.stderr


def test_without_files_the_examples_are_compared():
    assert make("comparison", PRINTS).stdout.splitlines()[0] == ""


def test_a_comparison_of_ones_own_files_has_no_control(named):
    """In a browser nobody knows these files: the page would compare the examples."""
    assert "core" not in assets.unavailable(ROOT)
    named(a="")
    assert assets.unavailable(ROOT) == {"core": "it sets scenarios of its own side by side"}


def test_what_is_left_of_a_build_that_fails_is_said(tmp_path):
    done = make("comparison", "BUILD=false")
    assert done.returncode != 0 and done.stdout.startswith("Not built; the reason is above.")
    assert "is built" not in done.stdout


# What the page says


NOTHING_FITS = """
model = "llama-3.1-405b"
accelerator = "l4"
node = "single-pcie-4"
"""
LISTS = {
    "the examples": {},
    "one scenario": {"alone": 'accelerator = "h200-sxm"'},
    "one scenario, another context": {"alone": 'workload.context = "65536 token"'},
    "the reference is best": {"small": 'accelerator = "l4"\nnode = "single-pcie-4"'},
    "one holds the most, another the most of the longest": {
        "windows": 'model = "mistral-7b-v0.1"\n[reserve]\nweights = "4 byte/parameter"\nruntime = "500 GB"',
        "recurrent": 'model = "nemotron-3-super-120b-a12b"\naccelerator = "h200-sxm"',
    },
    "all the same": {"a": "", "my b": "", "c": ""},
    "two the same, of another context": dict.fromkeys("ab", 'workload.context = "65536 token"'),
    "one that does not fit": {"large": NOTHING_FITS, "my offer": 'accelerator = "h200-sxm"'},
    "five": {f"offer {n}": f'accelerator = "h200-sxm"\nworkload.context = "{1024 * n} token"\nworkload.observation = 16'
             for n in range(1, 6)},
}  # fmt: skip


@pytest.fixture(scope="module", params=LISTS.values(), ids=LISTS)
def said(request, tmp_path_factory):
    """What the page says of some scenarios, and they."""
    folder = tmp_path_factory.mktemp("scenarios")
    files = [folder / f"{name}.toml" for name in request.param]
    for file, text in zip(files, request.param.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    with mock.patch.dict(os.environ, {comparison.VARIABLE: os.pathsep.join(map(str, files))}):
        published, _ = published_by(BOOK / "comparison.md")
        return {data["key"]: data for _, data in published}, comparison.cases()


def least_time(case):
    """Seconds of an output token at the least, from the scenario in plain numbers."""
    read = case.model.active.m_as("parameter") * case.precision.weights.m_as("byte/parameter")
    return read / case.accelerator.bandwidth.m_as("byte/s")


def lengths_of(found):
    """Tokens at which each is compared."""
    own = {name: case.workload.context.m_as("token") for name, case in found.items()}
    of_files = {length for name, length in own.items() if name != "reference"}
    return dict.fromkeys(own, of_files.pop()) if len(of_files) == 1 else own


def held(found, lengths):
    token = costlib.quantity("1 token")
    return {name: case.resident_sequences(lengths[name] * token).magnitude for name, case in found.items()}


def names_of(values, choose=max):
    """Who has the largest value, or the least, in a sentence."""
    names = [name for name, value in values.items() if value == choose(values.values())]
    *others, last = ["the reference" if name == "reference" else name for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def test_the_sentences_name_the_right_scenarios(said):
    shown, found = said
    lengths, times = lengths_of(found), {name: least_time(case) for name, case in found.items()}
    counts, says = held(found, lengths), {key: data["value"] for key, data in shown.items() if "value" in data}
    others = [name for name in found if name != "reference"]
    assert says["compared-count"] == f"{len(others)} scenario{'s' * (len(others) != 1)}"
    assert re.split(", | and ", says["compared-names"]) == others
    for choose in (max, min):
        nodes = re.escape(names_of(counts, choose))
        number = f"{choose(counts.values()):,.0f}" if choose(counts.values()) else "none"
        assert re.search(rf"nodes? of {nodes} (each hold|holds) {number}\b", says["compared-holds"]), choose
        assert re.search(rf" ms with {re.escape(names_of(times, choose))}(\.|, and )", says["compared-writes"]), choose
    assert says["compared-holds"].count("node") == 1 + (max(counts.values()) > min(counts.values()))


def test_it_says_of_what_length_contexts_are(said):
    shown, found = said
    lengths, says = lengths_of(found), shown["compared-lengths"]["value"]
    shared = set(lengths.values())
    if len(shared) == 1:
        assert says.startswith(f"Contexts are of {shared.pop():,.0f} tokens here, as in ")
        assert says.endswith("its file." if len(found) == 2 else "each of the files.")
    else:
        assert all(f"{length:,.0f} tokens with {names_of({name: 0})}" in says for name, length in lengths.items())
    of_them = "of them" if len(set(lengths.values())) == 1 else "of its own"
    assert re.search(rf"\d {of_them}(,|\.)", shown["compared-holds"]["value"])
    of_length = (
        "of each scenario's own length" if len(set(lengths.values())) > 1 else f"of {lengths['reference']:,.0f} tokens"
    )
    assert of_length in shown["fig-compared-offers"]["caption"]


def test_the_figures_find_what_is_so(said):
    shown, found = said
    each = {
        name: count / found[name].node.accelerators.magnitude for name, count in held(found, lengths_of(found)).items()
    }
    times = {name: least_time(case) for name, case in found.items()}
    title = shown["fig-compared-offers"]["title"].replace("The ref", "the ref")
    best, quick = names_of(each), names_of(times, min)
    if len(set(each.values())) == len(set(times.values())) == 1:
        assert title == "All hold equally many, and write equally quickly"
    elif best == quick:
        assert re.fullmatch(rf"{best} holds? the most, and writes? quickest too", title)
    else:
        assert re.fullmatch(rf"{best} holds? the most, and {quick} writes? quickest", title)
    without = [name for name, count in each.items() if not count]
    caption = shown["fig-compared-offers"]["caption"]
    assert ("Without room for one such context" in caption) == bool(without)
    assert not without or f": {names_of(each, min)}." in caption
    title = shown["fig-compared-contexts"]["title"].replace("The ref", "the ref")
    tried = [held(found, dict.fromkeys(found, tokens)) for tokens in (1_000, 4_000, 30_000, 200_000, 1_000_000)]
    ends = [names_of(tried[0]), names_of(tried[-1])]
    if title.startswith("At no length does another hold more than "):
        ahead = re.split(", | and ", title.partition(" more than ")[2].replace("the ref", "ref"))
        assert all(counts[name] == max(counts.values()) for counts in tried for name in ahead)
    elif ends[0] != ends[1]:
        assert re.fullmatch(rf"{ends[0]} holds? the most short contexts, {ends[1]} the most long ones", title)
    elif len(re.split(", | and ", ends[0])) == len(found):
        assert title == "At every length, all hold equally many"
    else:
        assert re.fullmatch(rf"{ends[0]} holds? the most (at every length|contexts, but not at every length)", title)


def test_where_nothing_differs_the_table_says_so(said):
    shown, found = said
    table = shown["tab-compared-inputs"]
    rows = table["grid"].splitlines()[2:]
    assert table["caption"].startswith("No input differs") == (not rows)
    assert bool(rows) == (len({repr(comparison.differing_inputs(found))} - {"{}"}) > 0)


def test_where_no_node_holds_a_context_it_says_so(named, monkeypatch):
    """The reference holds some, so this is tried with another in its place."""
    named(a=NOTHING_FITS, b=NOTHING_FITS)
    large = comparison.cases()["a"]
    with mock.patch.object(comparison, "cases", lambda own: {"reference": large, "a": large, "b": large}):
        shown = {data["key"]: data for _, data in published_by(BOOK / "comparison.md")[0]}
    assert "The nodes of the reference, a and b each hold none of them." in shown["compared-holds"]["value"]
    assert shown["fig-compared-offers"]["title"].startswith("No node holds a context, and ")
    assert shown["fig-compared-contexts"]["title"] == "At no length does a node hold a context"
