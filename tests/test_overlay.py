"""Other hardware, other models: every page computes, and the ledger shows reference and yours."""

import json
import math
import re

import pytest
from bs4 import BeautifulSoup

import costlib
from conftest import BOOK, build, is_page, published_by
from costlib import catalog, simulation
from costlib.book import llama_cpp, postgres
from costlib.book.live.fields import FIELDS

PAGES = [path for path in sorted(BOOK.glob("*.md")) if is_page(path)]

LAPTOP = """
model = "qwen3-8b"
accelerator = "m3-ultra"
node = "single-pcie-5"
[precision]
arithmetic = "16-bit"
"""
SCENARIOS = {
    "H200 with another dense model": 'model = "qwen3-32b"\naccelerator = "h200-sxm"',
    "a laptop": LAPTOP,
    "a hybrid": 'model = "nemotron-3-super-120b-a12b"\naccelerator = "h200-sxm"',
    "a mixture with latent attention": 'model = "deepseek-v3"\naccelerator = "b200-sxm"\nnode = "hgx-8-nvlink-5"',
    "windows in every layer": 'model = "mistral-7b-v0.1"\naccelerator = "l40s"\nnode = "single-pcie-4"',
    "a model that does not fit": 'model = "llama-3.1-405b"\naccelerator = "l4"\nnode = "single-pcie-4"',
    "very short contexts": "[workload]\nprompt = 10\ncontext = 16\noutput = 1\nobservation = 4",
    "very long contexts": "[workload]\nprompt = 10000000\ncontext = 10000000\nobservation = 1000000",
}


def once(function):
    """What a function gives, worked out once for each of its arguments: it is the same in every scenario."""
    known = {}

    def remembered(*args):
        key = tuple(
            arg.m_as("second").tobytes() if hasattr(arg, "m_as") else getattr(arg, "__name__", repr(arg))
            for arg in args
        )
        if key not in known:
            known[key] = function(*args)
        return known[key]

    return remembered


SLOW = {  # simulations of samples, and experiments on a server and on engines
    **{
        (simulation, name): once(getattr(simulation, name))
        for name in ("queue_waits", "static_batch_waits", "call_waits")
    },
    (postgres, "observed"): once(postgres.observed),
    (llama_cpp, "evidence"): once(llama_cpp.evidence),
}


def published(tmp_path, monkeypatch, text):
    """What the code of every page publishes for a scenario."""
    for (module, name), remembered in SLOW.items():
        monkeypatch.setattr(module, name, remembered)
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("COSTLIB_SCENARIO", str(file))
    monkeypatch.chdir(BOOK)  # where a page runs
    return [published for page in PAGES for published in published_by(page)[0]]


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_every_page_computes(tmp_path, monkeypatch, text):
    shown = published(tmp_path, monkeypatch, text)
    assert len(shown) > 60
    for kind, data in shown:
        texts = " ".join(
            value for name, value in data.items() if isinstance(value, str) and name not in ("light", "dark", "value")
        )
        assert not re.search(r"\b(nan|inf|None)\b", texts), data["key"]
        if kind == "value" and not isinstance(data["value"], str):
            assert math.isfinite(data["value"]), data["key"]
        if data.get("dial"):
            assert is_input(data, data["dial"]), data["key"]


def is_input(record, field):
    """Whether a value is that of a field of the scenario, whatever it is counted by."""
    part, _, name = field.partition(".")
    value = getattr(getattr(costlib.load(), part), name)
    unit = record["unit"] or value.units
    return value.is_compatible_with(unit) and math.isclose(value.m_as(unit), record["value"], rel_tol=1e-12)


EVERY_INPUT_ANOTHER = """
[node]
accelerators = 7
[precision]
weights = "1.07 byte/parameter"
kv_cache = "1.93 byte/element"
[reserve]
weights = "1.97 byte/parameter"
runtime = "19.3 GB"
[workload]
prompt = 30011
output = 307
context = 32771
observation = 8209
batch = 61
token_rate = "41 token/s/sequence"
start_rate = "1.9 sequence/s"
turns = 67
model_time = "3.7 s"
tool_time = "21.1 s"
"""
CAPPED = {"batch-slots", "sharing"}  # two at least, a part of the node: the input in some scenarios only


def test_a_value_that_is_an_input_says_which_and_no_other_does(tmp_path, monkeypatch):
    shown = published(tmp_path, monkeypatch, EVERY_INPUT_ANOTHER)
    numbers = [data for kind, data in shown if kind == "value" and data["number"] and data["key"] not in CAPPED]
    dials = [field.key for field in FIELDS if field.step]
    found = {data["key"]: [key for key in dials if is_input(data, key)] for data in numbers}
    declared = {data["key"]: [data["dial"]] for data in numbers if "dial" in data}
    assert {key: fields for key, fields in found.items() if fields} == declared
    assert len(declared) >= 15


def test_the_scenarios_cover_every_kind_of_model():
    models = [costlib.catalog.part("model", name) for name in catalog.names("model")]
    assert {bool(m.experts) for m in models} == {True, False}


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.toml").write_text(SCENARIOS["H200 with another dense model"], encoding="utf-8")
    return build(folder, COSTLIB_SCENARIO=str(folder / "mine.toml"))


def test_the_whole_book_follows_the_scenario(mine):
    cells = json.loads((mine / "cells.json").read_text("utf-8"))
    assert cells["scenario"] == "mine.toml"
    assert cells["cells"]["output-input-ratio"]["printed"] == "206"
    assert cells["cells"]["accelerator-name"]["value"] == catalog.part("accelerator", "h200-sxm").title


def test_the_ledger_shows_reference_and_yours_side_by_side(mine):
    ledger = BeautifulSoup((mine / "book" / "reproduction.html").read_text("utf-8"), "html.parser")
    table = ledger.find("table", id="ledger-output-cost")
    header = ["Value", "Stated", "Reference", "Yours", "Quantity"]
    assert [cell.get_text() for cell in table.thead.find_all("th")] == header
    ratio = next(row for row in table.tbody.find_all("tr") if row.td.get_text() == "output-input-ratio")
    assert [cell.get_text() for cell in ratio.find_all("td")[1:4]] == ["295", "295", "206"]
