"""A model of the reader's own on a live page: from its file to inputs, to the scenario that they make."""

import json
import subprocess
import sys
import tomllib
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from costlib.book import FILES
from costlib.book.live import inputs
from costlib.book.live.kernel import Kernel
from costlib.book.live.notices import notices
from costlib.model_config import read
from costlib.model_config.scenario import as_model

CONFIGS = [file for file in sorted((FILES / "configs").glob("*.json")) if "Llama-4" not in file.stem]
MIXTRAL = FILES / "configs/mistralai--Mixtral-8x7B-v0.1.json"
LAYERS = [{"layers": 80, "query_heads": 64, "kv_heads": 8, "key_dim": 128, "value_dim": 128}]


def of(file):
    return inputs.from_model_file(file.name, file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_a_file_makes_inputs_that_make_its_model(file):
    found = of(file)
    assert inputs.problems(found) == {}
    assert inputs.load(found).model == as_model(read(file))
    assert found["model.source"] == file.name and found["model.title"] == file.stem.replace("--", "/")


def test_weights_are_as_the_file_tells():
    stored = ("precision.weights", "reserve.weights", "precision.arithmetic")
    assert [of(MIXTRAL).get(key) for key in stored] == ["2 B/parameter", "2 B/parameter", "16-bit"]
    quantised = of(FILES / "configs/deepseek-ai--DeepSeek-V3.json")
    assert not quantised.keys() & {*stored}
    assert "does not say what a weight takes" in notices(quantised, inputs.load(quantised))["precision.weights"][0]


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_an_address_carries_them(file):
    query = urlencode(of(file))
    assert dict(parse_qsl(query)) == of(file)
    assert len(query) < 1000


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("model.gguf", "GGUF", "wanted config.json, or the command costlib scenario"),
        ("config.json", "{", "is not JSON"),
        ("config.json", "[1]", "has no fields; wanted those of a model"),
        ("config.json", " " * (2**24 + 1), "more than 16 MiB"),
        (
            "config.json",
            '{"model_type": "unheard_of"}',
            "--assume model_type=llama; the command costlib scenario takes",
        ),
        ("config.json", '{"model_type": "mamba2"}', "no layer attends"),
        ("config.json", '{"model_type": "llama", "num_hidden_layers": 1001}', "layers = 1001; wanted layers of every"),
        ("config.json", '{"model_type": "\ud800"}', "model_type"),
    ],
    ids=["GGUF", "no JSON", "a list", "large", "unknown", "cannot be said", "absurd", "half a character"],
)
def test_what_is_no_model_is_refused_in_a_sentence(name, text, said):
    with pytest.raises(inputs.InputError, match=f"^{name}:? .*{said}"):
        inputs.from_model_file(name, text)


def test_the_kernel_answers_with_inputs_or_with_a_sentence(tmp_path):
    heard = []
    book = {"pages": {"here": {"cells": [], "quotes": []}}, "values": {}}
    kernel = Kernel(book, "here", heard.append, tmp_path)
    kernel.model_file(MIXTRAL.name, MIXTRAL.read_text(encoding="utf-8"))
    kernel.model_file("config.json", "{")
    assert heard[0] == {"kind": "model", "inputs": of(MIXTRAL)}
    assert heard[1]["kind"] == "refused" and heard[1]["problems"]["model"].startswith("config.json: is not JSON")
    assert kernel.given == {}  # the page stays as it was


def test_a_file_is_read_without_what_no_browser_has():
    code = (
        "import sys\n"
        "from costlib.book.live import absent, inputs\n"
        "with absent.standing_in(absent.NATIVE):\n"
        "    found = inputs.from_model_file('config.json', sys.stdin.read())\n"
        "assert found['model.layers'] == '32', found\n"
        "loaded = {name.partition('.')[0] for name in sys.modules if name.startswith(('typer', 'gguf', 'rich'))}\n"
        "print(sorted(loaded))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=MIXTRAL.read_bytes(), capture_output=True)
    assert (done.stdout.decode().strip(), done.stderr.decode()) == ("[]", "")


# A list of tables as an input


def test_a_list_of_tables_is_one_in_the_file():
    text = inputs.scenario_text({"model.attention": json.dumps(LAYERS), "model.layers": "80"})
    assert tomllib.loads(text) == {"model": {"attention": LAYERS, "layers": "80"}}
    assert inputs.load({"model.attention": json.dumps(LAYERS)}).model.attention == inputs.load({}).model.attention


@pytest.mark.parametrize("text", ["x", "[]", "{}", "[1]", '[{"layers": null}]', '[{"a": {}}]', "[" * 100_000, "NaN"])
def test_what_is_no_list_of_tables_is_refused_beside_its_field(text):
    found = inputs.problems({"model.attention": text})["model.attention"]
    assert found.startswith("Given '") and found.endswith("as a list of objects in JSON") and len(found) < 160


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"layers": 0}, r"Attention\[1\] layers = 0; wanted layers of this kind"),
        ({"window": "4 GB"}, r"window = '4 GB' is in GB"),
        ({"wndow": 4096}, "did you mean 'window'"),
        ({"latent_rank": 512}, "belong together"),
        ({"layers": 81}, "more than layers = 80"),
        ({"layers": True}, "True"),
    ],
    ids=str,
)
def test_a_wrong_value_in_a_list_is_named(changes, said):
    import re

    found = inputs.problems({"model.attention": json.dumps([LAYERS[0] | changes])})["model.attention"]
    assert re.search(said, found), found


anything = some.recursive(
    some.none() | some.booleans() | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.text(max_size=5), inner, max_size=2),
)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(some.text(max_size=30) | anything.map(json.dumps))
def test_no_text_of_a_list_breaks_anything(text):
    found = inputs.problems({"model.attention": text})
    assert set(found) == ({"model.attention"} if text.strip() else set())
