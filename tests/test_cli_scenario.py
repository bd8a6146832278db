"""The command that writes a scenario file for a model: what it prints loads at once, or nothing is printed."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT
from costlib import catalog, load
from costlib.book import FILES
from costlib.cli import COMMANDS
from costlib.model_config import read
from costlib.model_config.scenario import as_model

CONFIGS = sorted((FILES / "configs").glob("*.json"))
SCOUT = FILES / "configs/meta-llama--Llama-4-Scout-17B-16E-Instruct.json"
GEMMA = FILES / "configs/google--gemma-4-26B-A4B.json"
UNKNOWN = json.dumps({"model_type": "unheard_of", "num_hidden_layers": 2}).encode()


@pytest.mark.parametrize("config", [file for file in CONFIGS if file != SCOUT], ids=lambda file: file.stem)
def test_what_it_writes_loads_and_shows_at_once(run, config, tmp_path):
    file = tmp_path / "mine.toml"
    asked = "scenario", config, "--weight-precision", "fp8"
    assert run(*asked, "--output", file) == (0, "", "")
    assert load(file).model == as_model(read(config))
    assert run(*asked)[1] == file.read_text(encoding="utf-8")
    code, shown, err = run("show", file)
    assert (code, err) == (0, "") and f"model        {read(config).name}\n" in shown
    assert f"({config.name})" not in shown and config.name in run("show", file, "--explain")[1]


def test_the_state_that_show_prints_is_that_of_kv(run, tmp_path):
    file = tmp_path / "mine.toml"
    run("scenario", GEMMA, "--context", "65536", "--kv-precision", "q8_0", "--output", file)
    shown = json.loads(run("show", file, "--json")[1])["values"]["own-context-state"]["value"]
    kept = json.loads(run("kv", GEMMA, "--tokens", "65536", "--kv-precision", "q8_0", "--json")[1])
    assert shown == kept["needs"]["total_bytes"]


def test_a_card_a_node_and_a_context_may_be_asked_for(run):
    asked = "--accelerator", "M3-Ultra", "--node", "single-pcie-5", "--context", "16384", "--weight-precision", "q4_0"
    tables = tomllib.loads(run("scenario", GEMMA, *asked)[1])
    assert (tables["accelerator"], tables["node"]) == ("m3-ultra", "single-pcie-5")
    assert tables["workload"] == {"context": "16384 token"}
    assert (tables["precision"]["arithmetic"], tables["reserve"]["weights"]) == ("16-bit", "0.5625 byte/parameter")


@pytest.mark.parametrize("name", catalog.names("accelerator"))
def test_every_card_takes_a_model_at_four_bits_and_at_sixteen(run, name):
    for asked in ((), ("--weight-precision", "q4_0")):
        code, out, err = run("scenario", GEMMA, "--accelerator", name, *asked)
        assert code == 0 and tomllib.loads(out), err


def test_programs_get_plain_tables(run):
    found = json.loads(run("scenario", GEMMA, "--json")[1])
    assert found["scenario"] == tomllib.loads(run("scenario", GEMMA)[1])
    assert found["model"] == "google/gemma-4-26B-A4B" and found["refused"] is None
    assert "Assumed: weights at 16 bits; the file declares no quantisation" in found["remarks"]


def test_standard_input_and_an_assumption(run):
    code, out, _ = run("scenario", "-", "--assume", "attention_chunk_size=null", stdin=SCOUT.read_bytes())
    assert code == 0 and tomllib.loads(out)["model"]["source"] == "standard input"
    assert "# Assumed: attention_chunk_size = null, assumed; the file has 8192\n" in out


def test_what_a_scenario_cannot_say_is_a_refusal(run, tmp_path):
    file = tmp_path / "mine.toml"
    code, out, err = run("scenario", SCOUT, "--output", file)
    assert (code, out, file.exists()) == (3, "", False)
    assert err == (
        "costlib: refused: attention = '36 × chunked' cannot be said in a scenario: "
        "a token attends to its own chunk alone, on average to half of one\n"
    )


def test_weights_whose_size_the_file_does_not_tell_are_asked_for(run):
    quantised = FILES / "configs/deepseek-ai--DeepSeek-V3.json"
    code, out, err = run("scenario", quantised)
    assert (code, out) == (3, "") and "quantization_config = 'fp8'" in err and "--weights, the size of its files" in err
    assert "--assume" not in err and run("scenario", quantised, "--weights", "688.6 GB")[0] == 0


def test_a_refusal_is_an_answer_for_programs(run):
    code, out, _ = run("scenario", "-", "--json", stdin=UNKNOWN)
    found = json.loads(out)
    assert (code, found["scenario"], found["refused"]["field"]) == (3, None, "model_type")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([GEMMA, "--accelerator", "h200"], "did you mean 'h200-sxm'"),
        ([GEMMA, "--node", "nowhere"], "no node 'nowhere'"),
        ([GEMMA, "--accelerator", ""], "no accelerator ''"),
        ([GEMMA, "--node", ""], "no node ''"),
        ([GEMMA, "--context", "1e9"], "the scenario: [workload] context = '1000000000 token'; wanted"),
        ([GEMMA, "--context", "128k"], "k has two meanings"),
        ([GEMMA, "--weights", "9 TB"], "weights of 2,853.4 bits each; wanted less than 32 bits"),
        ([GEMMA, "--output", "no/such/folder/mine.toml"], "cannot be written"),
        ([GEMMA, "--output", "."], "cannot be written"),
        (["no-such-file.json"], "no-such-file.json"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value[1:])),
)
def test_what_is_wrong_is_said_and_nothing_written(run, monkeypatch, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("scenario", *arguments)
    assert (code, out) == (2, "") and said in err and "Traceback" not in err
    assert os.listdir() == [] and str(tmp_path) not in err


def test_a_file_that_is_there_stays(run, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("precious")
    code, out, err = run("scenario", GEMMA, "--output", file)
    assert (code, out) == (2, "") and "is there already; wanted the name of a new file" in err
    assert file.read_text() == "precious" and os.listdir(tmp_path) == ["mine.toml"]


def test_it_is_one_of_the_commands():
    assert "scenario" in [command.__name__ for command in COMMANDS]
    assert "costlib scenario" in Path(ROOT, "README.md").read_text("utf-8")
