"""The command: what it prints for people and for programs, how it ends, and that no input gives a traceback."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from test_model_scenario import CATALOGUED, PUBLISHED
from test_scenario import weights_of_card

import costlib
from conftest import BOOK
from costlib import capacity, catalog
from costlib.book import FILES
from costlib.book.stated import rows
from costlib.cli import printed
from costlib.cli.kv import NAMES
from costlib.cli.options import RUNTIME, UTILISATION
from costlib.cli.show import ROWS, derived, formulas
from costlib.model_config import oracle, read
from costlib.model_config.engines import sglang, vllm
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.rank import Rank
from costlib.scenario import VARIABLE, load, loads
from costlib.units import Quantity, quantity
from costlib.worksheet import sheet as worksheets

CONFIGS = FILES / "configs"
LLAMA = str(CONFIGS / "meta-llama--Meta-Llama-3.1-70B.json")
GPT_OSS = str(CONFIGS / "openai--gpt-oss-120b.json")
GEMMA = str(CONFIGS / "google--gemma-4-26B-A4B.json")
DEEPSEEK_V3 = str(CONFIGS / "deepseek-ai--DeepSeek-V3.json")
NEMOTRON = str(CONFIGS / "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json")


@pytest.fixture(autouse=True)
def no_scenario_of_the_readers(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def answer(run):
    """A function that runs the command with --json and gives what it printed."""

    def parsed(*arguments, code=0, stdin=b""):
        ended, out, err = run(*arguments, "--json", stdin=stdin)
        assert (ended, err) == (code, "")
        return json.loads(out, parse_constant=pytest.fail)  # NaN and Infinity are no JSON

    return parsed


def command(*arguments, **options):
    """The command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "costlib", *arguments], capture_output=True, text=True, **options)


# kv

AT_131072 = {  # bytes that one sequence needs in bf16
    "deepseek-ai--DeepSeek-V3": 61 * 576 * 2 * 131_072,
    "google--gemma-4-26B-A4B": 5 * 2 * 1024 * 2 * 131_072 + 25 * 8 * 512 * 2 * 1024,
    "meta-llama--Llama-4-Scout-17B-16E-Instruct": 12 * 8 * 256 * 2 * 131_072 + 36 * 8 * 256 * 2 * 8192,
    "meta-llama--Meta-Llama-3.1-70B": 80 * 8 * 256 * 2 * 131_072,
    "mistralai--Mixtral-8x7B-v0.1": 32 * 8 * 256 * 2 * 131_072,
    "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8": 8 * 2 * 256 * 2 * 131_072 + 40 * (4 * 2**20 + 2 * 30_720),
    "openai--gpt-oss-120b": 18 * 8 * 128 * 2 * (131_072 + 128),
}


@pytest.mark.parametrize("name", AT_131072)
def test_kv_gives_plain_numbers(answer, name):
    kept = answer("kv", str(CONFIGS / f"{name}.json"), "--tokens", "131072", "--kv-precision", "bf16")
    needs = kept["needs"]
    assert kept["model"] == name.replace("--", "/")
    assert needs["total_bytes"] == AT_131072[name] == sum(layers["total_bytes"] for layers in needs["layers"])
    assert needs["constant_bytes"] + needs["window_bytes"] + needs["bytes_per_token"] * 131_072 == needs["total_bytes"]
    assert set(kept["reserves"]) == {"vllm", "sglang", "llama.cpp"}
    for reserved in kept["reserves"].values():
        assert reserved["total_bytes"] >= needs["total_bytes"]
        assert {"bytes_per_token", "constant_bytes", "assumptions"} <= reserved.keys()
    assert isinstance(kept["assumptions"], list)
    assert kept["refused"] is None


KV_GPT_OSS = """\
openai/gpt-oss-120b (gpt_oss): one sequence of 32,768 tokens, cache in bf16
116.8 billion parameters, 5.712 billion of them for each token, its table of tokens included; stored as mxfp4

layers                           bytes           GB           GiB
18 × sliding               4,718,592 B  0.004719 GB  0.004395 GiB  8 × (64 + 64) for each of the last 128 tokens
18 × full              1,207,959,552 B     1.208 GB     1.125 GiB  8 × (64 + 64) for each of 32,768 tokens
needed                 1,212,678,144 B     1.213 GB     1.129 GiB  36,864 B/token more as it grows

Assumed:
- a cache of 16 bits; the file declares no dtype
"""


def test_kv_for_people(run):
    """Without the lines of engines: their words belong to the tests of the engines."""
    code, out, err = run("kv", GPT_OSS, "--tokens", "32768")
    assert (code, err) == (0, "")
    assert re.sub(r"^reserved by .*\n(?: +.*\n)*", "", out, flags=re.M) == KV_GPT_OSS
    assert re.findall(r"^reserved by (\S+) +[\d,]+ B", out, re.M) == ["vLLM", "SGLang", "llama.cpp"]


def test_engines_are_called_as_they_call_themselves():
    asked = read(GPT_OSS), quantity("1000 token")
    assert [engine(*asked).engine for engine in (vllm, sglang, llama_cpp)] == list(NAMES.values())


# Of DeepSeek-V4: a layer with a window, one that compresses, one that compresses a lot.
COMPRESSED = json.dumps({
    "model_type": "deepseek_v4", "num_hidden_layers": 3, "hidden_size": 4096, "num_attention_heads": 64,
    "num_key_value_heads": 1, "head_dim": 512, "index_head_dim": 128, "sliding_window": 128, "dtype": "bfloat16",
    "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
}).encode()  # fmt: skip


@pytest.mark.parametrize("tokens", [1, 3, 4, 130, 32_767])
def test_each_kind_of_layers_is_told_apart(answer, tokens):
    layers = answer("kv", "-", "--tokens", str(tokens), stdin=COMPRESSED)["needs"]["layers"]
    assert len({(kind["kind"], kind["geometry"]) for kind in layers}) == len(layers) == 8
    for kind in layers:
        numbers = re.sub(r" B/element| tokens?| entries| entry|,(?=\d{3})", "", kind["formula"])
        assert eval(numbers.replace("×", "*")) == kind["total_bytes"], kind


def test_the_tokens_that_are_kept_are_said_in_words(answer):
    def kept(tokens):
        layers = answer("kv", "-", "--tokens", str(tokens), stdin=COMPRESSED)["needs"]["layers"]
        return [kind["geometry"].split(" for ")[1] for kind in layers]

    one, many = kept(1), kept(131)
    assert {"the last token", "every 4 of 1 token", "every 4 of the last token"} <= set(one)
    assert many[0] == "each of the last 128 tokens"
    assert {"every 4 of 131 tokens", "each of the last 3 tokens", "every 4 of the last 4 tokens"} <= set(many)
    assert "no token" in kept(128)


@pytest.mark.parametrize("name", [*AT_131072, "-"])
def test_the_table_of_kv_is_no_wider_than_a_page(run, name):
    source = "-" if name == "-" else str(CONFIGS / f"{name}.json")
    for more in [(), ("--explain",)]:
        table = run("kv", source, "--tokens", "32767", *more, stdin=COMPRESSED)[1].split("\n\n")[1]
        assert table.startswith("layers ")
        assert max(map(len, table.splitlines())) <= 120


def test_kv_explains_with_the_values_put_in_and_their_source(run):
    out = run("kv", NEMOTRON, "--tokens", "32768", "--kv-precision", "fp8", "--explain")[1]
    assert "8 × 2 × (128 + 128) × 1 B/element × 32,768 tokens" in out
    assert "40 × (1,048,576 × 4 B + 30,720 × 2 B)" in out
    assert re.search(r"^ssm_state_size +128$", out, re.M)
    assert "vllm/v1/kv_cache_interface.py" in out


def test_each_formula_of_layers_gives_its_bytes(answer):
    for name in AT_131072:
        for layers in answer("kv", str(CONFIGS / f"{name}.json"), "--tokens", "5000")["needs"]["layers"]:
            numbers = re.sub(r"(?: B/element| B| tokens?)|,(?=\d{3})", "", layers["formula"])
            assert eval(numbers.replace("×", "*")) == layers["total_bytes"], layers


def test_kv_takes_the_models_limit_where_no_length_is_given(answer):
    assert answer("kv", LLAMA)["tokens"] == 131_072


def test_kv_reads_a_folder_and_standard_input(answer, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    content = Path(LLAMA).read_bytes()
    (folder / "config.json").write_bytes(content)
    needs = [answer("kv", str(folder))["needs"], answer("kv", "-", stdin=content)["needs"]]
    assert needs == [answer("kv", LLAMA)["needs"]] * 2


def test_kv_and_fit_read_a_gguf_file(run, answer, tmp_path):
    """Weights are as large as the tensors that it lists, however they are stored."""
    gguf = pytest.importorskip("gguf")
    file = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(4)
    writer.add_context_length(4096)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_tensor("token_embd.weight", np.zeros((1000, 64), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert answer("kv", str(file))["needs"]["total_bytes"] == 4 * 2 * (16 + 16) * 2 * 4096
    fits = answer("fit", str(file))
    assert fits["weights_bytes"] == 1000 * 64 * 2
    assert "llama.cpp by itself divides layers" in fits["notes"][-1]
    assert "wanted the config.json" in is_bad(run("kv", str(file), "--measure"))
    file.write_bytes(file.read_bytes()[:100])
    assert "cut off" in is_bad(run("kv", str(file)))


def test_an_assumption_stands_beside_the_result(run, answer):
    asked = "kv", LLAMA, "--tokens", "1000", "--assume", "num_key_value_heads=1"
    kept = answer(*asked)
    assert kept["needs"]["total_bytes"] == 80 * 256 * 2 * 1000
    assert any("num_key_value_heads" in text for text in kept["assumptions"])
    assert "Assumed:\n- num_key_value_heads = 1" in run(*asked)[1]


UNKNOWN = json.dumps({"model_type": "unheard_of", "num_hidden_layers": 2}).encode()


@pytest.mark.parametrize("asked", [("kv", "-", "--tokens", "10"), ("fit", "-", "--weights", "1 GB")])
def test_a_refusal_is_an_answer_of_its_own(run, answer, asked):
    refused = answer(*asked, code=3, stdin=UNKNOWN)["refused"]
    assert refused.keys() == {"field", "given", "why", "with", "without"}
    assert (refused["field"], refused["given"]) == ("model_type", "unheard_of")
    code, out, err = run(*asked, stdin=UNKNOWN)
    assert (code, out) == (3, "")
    assert err.startswith("costlib: refused: model_type = 'unheard_of'") and refused["why"] in err


def test_a_refusal_shows_what_json_does_not_have(answer):
    config = (
        b'{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64, "kv_x": NaN}'
    )
    assert answer("kv", "-", "--tokens", "10", code=3, stdin=config)["refused"]["given"] == "nan"


def test_a_model_of_ours_may_also_be_measured(run, monkeypatch):
    """By the public code, which is not installed for the tests: its place is taken."""
    from costlib.model_config import measured

    found = measured.Measured(7, {10: (measured.Kept("keys", (1, 8, 10, 128), 2),)})
    monkeypatch.setattr(measured, "measured", lambda table, lengths: found)
    code, out, err = run("kv", LLAMA, "--tokens", "10", "--measure")
    assert (code, err.split()[0]) == (0, "Running")
    assert "Measured: the public model code keeps 20,480 B in bf16, and has 7 parameters." in out
    code, out, _ = run("kv", "-", "--tokens", "10", "--measure", stdin=UNKNOWN)
    assert code == 0
    assert out.startswith("Not read here: model_type") and "Measured: " in out


def test_without_the_public_code_the_answer_is_printed_all_the_same(run, answer, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    asked = "kv", LLAMA, "--tokens", "10"
    code, out, err = run(*asked, "--measure")
    assert (code, out) == (2, run(*asked)[1])
    assert "costlib: not measured: " in err and ".[measure]" in err
    code, out, _ = run(*asked, "--measure", "--json")
    assert (code, json.loads(out)) == (2, {**answer(*asked), "measured": None})
    code, out, err = run("kv", "-", "--tokens", "10", "--measure", stdin=UNKNOWN)
    assert (code, out) == (3, "")
    assert "costlib: refused: model_type" in err and ".[measure]" in err
    assert "the exit code is 2" in " ".join(command("kv", "--help").stdout.split())


# fit


FIT_LLAMA = """
accelerators    memory  weights       room              longest  sessions  in vLLM
1 × h100-sxm  85.52 GB    42 GB   32.97 GB   30.70 GiB  100,612         3        3
2 × h100-sxm  85.52 GB    21 GB   53.97 GB   50.26 GiB  131,072        10       10
4 × h100-sxm  85.52 GB  10.5 GB   64.47 GB   60.04 GiB  131,072        24       24
8 × h100-sxm  85.52 GB  5.25 GB   69.72 GB   64.93 GiB  131,072        51       51
1 × l4        24.15 GB    42 GB  -22.26 GB  -20.73 GiB        0         0        0  no room beside the weights
2 × l4        24.15 GB    21 GB  -1.262 GB  -1.176 GiB        0         0        0  no room beside the weights
4 × l4        24.15 GB  10.5 GB   9.238 GB   8.603 GiB  112,763         3        3
8 × l4        24.15 GB  5.25 GB   14.49 GB   13.49 GiB  131,072        10       10
"""


def test_fit_counts_sessions_and_says_why_not(run):
    """42 GB of weights on 90 % of each card, and 2 GB for the runtime."""
    asked = ["--weights", "42 GB", "--context", "32768", "--accelerator", "h100-sxm", "--accelerator", "l4"]
    code, out, _ = run("fit", LLAMA, *asked)
    assert code == 0
    assert FIT_LLAMA in out


def test_fit_explains_room_and_sessions(run):
    out = run("fit", LLAMA, "--weights", "42 GB", "--context", "32768", "--accelerator", "h100-sxm", "--explain")[1]
    room = "room = 90 % × 85.520809984 GB − 42 GB / 2 − 2 GB = 53.9687289856 GB"
    assert f"{room}  sessions = ⌊53.9687289856 GB / 5.36870912 GB⌋ = 10" in out
    assert re.search(r"^h100-sxm +Memory that nvidia-smi reports.* https://", out, re.M)


def test_fit_explains_a_share_and_a_count_that_four_digits_would_not_give(run):
    asked = ["--context", "4000", "--accelerator", "b200-sxm", "--utilisation", "0.9234", "--explain"]
    explained = re.findall(
        r"= 92\.34 % .* sessions = ⌊([\d.]+) GB / ([\d.]+) GB⌋ = ([\d,]+)", run("fit", GEMMA, *asked)[1]
    )
    assert [float(room) // float(state) for room, state, _ in explained] == [428, 1030, 1744, 2519]
    assert [count for *_, count in explained] == ["428", "1,030", "1,744", "2,519"]


def test_fit_shows_of_each_accelerator_the_fewest_that_do(run, answer):
    every = answer("fit", LLAMA, "--weights", "42 GB")["fits"]
    assert {(row["accelerator"], row["count"]) for row in every} == {
        (name, count) for name in catalog.names("accelerator") for count in (1, 2, 4, 8)
    }
    shown = re.findall(r"^(\d) × (\S+)", run("fit", LLAMA, "--weights", "42 GB")[1], re.M)
    assert [name for _, name in shown] == catalog.names("accelerator")
    for count, name in shown:
        fitting = [row["count"] for row in every if row["accelerator"] == name and row["sessions_vllm"]]
        assert int(count) == min(fitting, default=8)


def test_fit_shows_no_count_on_which_vllm_holds_nothing(run, answer):
    """Where one accelerator has room for the state of a session, but not for what vLLM reserves, it takes two."""
    asked = "fit", GEMMA, "--weights", "68.5 GB"
    one, two, *_ = [row for row in answer(*asked)["fits"] if row["accelerator"] == "h100-sxm"]
    assert (one["sessions"], one["sessions_vllm"], one["why_not"]) == (1, 0, None)
    assert re.fullmatch(r"it reserves \S+ GB on each for a session", one["why_not_vllm"])
    assert two["sessions_vllm"]
    assert re.search(r"^2 × h100-sxm", run(*asked)[1], re.M)
    given = run(*asked, "--accelerator", "h100-sxm")[1]
    assert re.search(rf"^1 × h100-sxm .* 1 +0  vLLM: {re.escape(one['why_not_vllm'])}$", given, re.M)
    in_q8 = run(*asked, "--kv-precision", "q8_0")[1]
    assert re.search(r"^1 × h100-sxm .* –$", in_q8, re.M)  # which it does not serve on any


@pytest.mark.parametrize("config", [LLAMA, GPT_OSS, NEMOTRON])
def test_the_longest_context_fits_and_one_token_more_does_not(answer, config):
    model, bf16 = read(config), quantity("2 byte/element")
    asked = "fit", config, "--weights", "1 GB", "--context", "65536", "--utilisation", "0.05", "--runtime", "1 GB"
    partly = [row for row in answer(*asked)["fits"] if 0 < row["longest_context"] < model.context_limit]
    assert partly
    for row in partly:
        rank = Rank(model, quantity("65536 token"), bf16, row["count"])
        assert rank.state(row["longest_context"]).magnitude <= row["room_bytes"]
        assert rank.state(row["longest_context"] + 1).magnitude > row["room_bytes"]


def test_a_context_that_takes_all_the_room_fits():
    rank = Rank(read(LLAMA), quantity("1000 token"), quantity("2 byte/element"), 1)
    assert rank.holds(rank.state(777))["longest_context"] == 777
    assert rank.holds(rank.state(1000))["sessions"] == 1


def test_heads_are_split_and_then_repeated():
    """Of two key-value heads each of eight accelerators keeps one; of the recurrent state, an eighth."""
    model, length, bf16 = read(NEMOTRON), quantity("1000 token"), quantity("2 byte/element")
    growing, constant = model.bytes_per_token(bf16) * length, model.constant_state()
    for count, share in ((1, 1), (2, 1 / 2), (8, 1 / 2)):
        kept = Rank(model, length, bf16, count).state(1000)
        assert kept.m_as("byte") == pytest.approx((growing * share + constant / count).m_as("byte"), rel=1e-12)


def test_heads_that_vllm_cannot_split_empty_its_column_alone(run, answer):
    """Of six key-value heads, each of four accelerators keeps two."""
    asked = ["fit", LLAMA, "--weights", "1 GB", "--context", "1000", "--accelerator", "h200-sxm"]
    asked += [f"--assume={text}" for text in ("num_attention_heads=48", "num_key_value_heads=6", "head_dim=128")]
    rows = answer(*asked)["fits"]
    assert [row["state_bytes"] for row in rows] == [80 * heads * 256 * 2 * 1000 for heads in (6, 3, 2, 1)]
    assert all(row["sessions"] and row["why_not"] is None for row in rows)
    assert [row["sessions_vllm"] is None for row in rows] == [False, False, True, True]
    assert rows[2]["vllm_bytes"] is None and "6 key-value heads" in rows[2]["why_not_vllm"]
    out = run(*asked)[1]
    assert re.search(r"^4 × h200-sxm .* [\d,]+  +–  vLLM: .*6 key-value heads$", out, re.M)
    assert "those for what it reserves, with blocks of 16 tokens." in sentences(out)


def test_a_cache_that_vllm_lacks_empties_its_column_alone(answer):
    rows = answer("fit", LLAMA, "--weights", "1 GB", "--kv-precision", "q8_0", "--accelerator", "h200-sxm")["fits"]
    assert [row["state_bytes"] for row in rows] == [
        80 * 8 * 256 * 34 // 32 * 131_072 // count for count in (1, 2, 4, 8)
    ]
    assert all(row["sessions"] and row["sessions_vllm"] is None and row["why_not_vllm"] for row in rows)


def test_weights_come_from_the_parameters_where_these_are_known(run, answer, monkeypatch):
    known = replace(read(LLAMA), parameters=type("Known", (), {"total": 10**9}))
    monkeypatch.setattr("costlib.model_config.read", lambda *_: known)
    assert "weights of 2 GB, counted at 16 bits;" in run("fit", LLAMA)[1]
    assert "weights of 0.5 GB, counted at 4 bits;" in run("fit", LLAMA, "--weight-precision", "int4")[1]
    assert "weights of 42 GB, as given;" in run("fit", LLAMA, "--weights", "42 GB")[1]
    counted = "1,000,000,000 parameters × 0.53125 B/parameter"
    assert f"weights = {counted} = " in run("fit", LLAMA, "--weight-precision", "mxfp4", "--explain")[1]
    assert answer("fit", LLAMA, "--weight-precision", "mxfp4")["weights_formula"] == counted
    monkeypatch.setattr("costlib.model_config.read", lambda *_: replace(known, weights=quantity("3 GB")))
    assert "weights of 3 GB, as their files are;" in run("fit", LLAMA)[1]
    monkeypatch.setattr("costlib.model_config.read", lambda *_: replace(known, parameters=None))
    assert "wanted --weights" in run("fit", LLAMA)[2]


def test_weights_of_a_file_that_declares_no_quantisation_are_taken_for_granted(run, answer):
    assumed = "weights at 16 bits; the file declares no quantisation"
    assert assumed in answer("fit", LLAMA)["assumptions"]
    assert f"Assumed:\n- {assumed}\n" in run("fit", LLAMA)[1]
    for given in (["--weights", "42 GB"], ["--weight-precision", "bf16"]):
        assert assumed not in answer("fit", LLAMA, *given)["assumptions"]


def test_weights_that_are_quantised_somehow_are_refused(run, answer):
    refused = answer("fit", GPT_OSS, code=3)["refused"]
    assert (refused["field"], refused["given"]) == ("quantization_config", "mxfp4")
    assert "--weights, the size of its files, is exact, while --weight-precision" in refused["why"]
    code, out, err = run("fit", GPT_OSS)
    assert (code, out, err.count("\n")) == (3, "", 1)  # without the advice to assume
    assert "counted at 4.25 bits" in run("fit", GPT_OSS, "--weight-precision", "mxfp4")[1]
    assert "as given" in run("fit", GPT_OSS, "--weights", "65 GB")[1]
    assert "of every weight" in command("fit", "--help").stdout


def test_fit_says_what_the_answer_does_not_contain(run, answer):
    assert answer("fit", GEMMA)["notes"] == list(read(GEMMA).notes) != []
    assert run("fit", GEMMA)[1].endswith(f"\nNote:\n- {read(GEMMA).notes[0]}\n")


@pytest.mark.parametrize("asked", [("kv", LLAMA, "--tokens"), ("fit", LLAMA, "--context")], ids=["kv", "fit"])
def test_a_context_beyond_the_models_limit_is_noted(run, answer, asked):
    noted = "made for contexts of up to 131,072 tokens; to go beyond, engines scale the model's positions, as by YaRN"
    assert answer(*asked, "131073")["notes"] == [noted]
    assert answer(*asked, "131072")["notes"] == []
    assert f"Note:\n- {noted}\n" in run(*asked, "131073")[1]


def test_sessions_longer_than_the_model_was_made_for_are_said_to_be(run):
    beyond, asked = "tokens, longer than it was made for, cache in bf16", ("fit", LLAMA, "--context")
    assert beyond in " ".join(run(*asked, "131073")[1].split())
    assert beyond not in " ".join(run(*asked, "131072")[1].split())


def sentences(out):
    """What is printed, without the ends of its lines."""
    return " ".join(out.split())


def test_fit_says_what_its_columns_take_for_granted(run):
    out = run("fit", GEMMA)[1]
    assert "The longest context is at most that for which the model was made, 262,144 tokens." in sentences(out)
    assert max(map(len, out.splitlines())) <= 120
    in_q8 = sentences(run("fit", LLAMA, "--kv-precision", "q8_0")[1])
    assert "in vLLM, none: kv_precision = 1.0625 B/element; wanted that of fp32, bf16 or fp16, fp8, nvfp4." in in_q8


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (LLAMA, ", with blocks of 16 tokens."),
        (GPT_OSS, ", with blocks of 16 tokens, at most 8,192 tokens a step."),
        (
            GEMMA,
            ", with at most 8,192 tokens a step: "
            "on 1, 2 and 8, blocks of 16 and of 32 tokens; on 4, blocks of 16 tokens.",
        ),
        (NEMOTRON, ": on 1 and 2, blocks of 4,160 tokens; on 4, blocks of 2,080 tokens; on 8, blocks of 1,040 tokens."),
    ],
)
def test_settings_of_vllm_stand_with_the_counts_to_which_they_belong(run, answer, config, said):
    asked = "fit", config, "--weights", "60 GB", "--accelerator", "h200-sxm"
    assert f"in vLLM, those for what it reserves{said}" in sentences(run(*asked)[1])
    model = read(config)
    for row in answer(*asked)["fits"]:
        length = quantity(f"{model.context_limit} token")
        assert row["assumptions_vllm"] == list(vllm(model, length, tensor_parallel=row["count"]).assumptions)


def test_settings_of_counts_that_are_not_shown_are_not_said(run):
    """Where one or two of each card hold it, nothing is said of what four and eight would take for granted."""
    out = run("fit", NEMOTRON, "--weights", "20 GB", "--context", "1000")[1]
    assert set(re.findall(r"^(\d) × ", out, re.M)) == {"1", "2"}
    assert "those for what it reserves, with blocks of 4,160 tokens." in sentences(out)


# fit and show


ENTRIES = {name: entry for name, entry in CATALOGUED.items() if catalog.part("model", entry).experts is None}
NODES = [("h200-sxm", 16384, "20 GB"), ("rtx-4090", 3000, "7 GB")]  # of eight: the card, the context, the runtime


def scenario_of(entry, card, context, runtime):
    return loads(
        f"""model = "{entry}"\naccelerator = "{card}"\nnode.accelerators = 8\nreserve.runtime = "{runtime}"
        workload.context = "{context} token"\nworkload.observation = "{context} token" """,
        "mine.toml",
    )


@pytest.mark.parametrize(("name", "entry"), ENTRIES.items(), ids=ENTRIES.values())
@pytest.mark.parametrize(("card", "context", "runtime"), NODES)
def test_fit_and_a_scenario_agree_where_they_reserve_the_same(run, name, entry, card, context, runtime):
    """For each number of accelerators, and so for the best way of a node to share its copies."""
    fields = next(row["fields"] for row in PUBLISHED if name in row["models"])
    if entry == "gemma-4-31b":
        fields = fields | {"sliding_window": 1024}
    case = scenario_of(entry, card, context, runtime)
    each = case.reserve.runtime.m_as("byte") / 8
    code, out, _ = run(
        *("fit", "-", "--accelerator", card, "--context", str(context), "--utilisation", "1", "--runtime", f"{each} B"),
        *("--weight-precision", "2 byte/parameter", "--kv-precision", "bf16", "--json"),
        stdin=json.dumps(fields | {"dtype": "bfloat16"}).encode(),
    )
    assert code == 0
    held = {row["count"]: row["sessions"] for row in json.loads(out)["fits"]}
    tokens = case.workload.context
    for count, sessions in held.items():
        ranks = Quantity(float(count), "accelerator")
        state = case.model.shard(ranks).context_state(tokens, case.precision.kv_cache)
        assert sessions == capacity.resident_on_node(case.rank_pool(ranks), state, ranks, ranks).magnitude
    divisors = [int(ranks.magnitude) for ranks in case.sharings]
    best = max(8 // count * held[count] for count in divisors)
    assert case.resident_sequences(tokens).magnitude == best


def test_agreement_is_of_models_that_fit_and_of_some_that_do_not():
    kept = [scenario_of(entry, *node) for entry in ENTRIES.values() for node in NODES]
    held = [case.resident_sequences(case.workload.context).magnitude for case in kept]
    assert len(held) >= 16 and 0 < held.count(0) < len(held) / 2


@pytest.mark.parametrize("asked", ["runtime = '20 GB'", "runtime = '7 GB'\nweights = '1 byte/parameter'"])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_show_says_by_which_options_fit_agrees(run, answer, tmp_path, asked, count):
    file = tmp_path / "mine.toml"
    text = f'model = "llama-3.1-70b"\naccelerator = "h200-sxm"\nnode.accelerators = {count}\n[reserve]\n{asked}\n'
    file.write_text(text, encoding="utf-8")
    said = sentences(run("show", str(file))[1])
    options = shlex.split(
        re.search(r"by tensor parallelism alone, reserves as much with (--.*?), and otherwise ", said)[1]
    )
    assert "and otherwise 10 % of the memory and 2 GB on each." in said
    rows = answer("fit", LLAMA, "--context", "32768", "--accelerator", "h200-sxm", *options)["fits"]
    case = load(file)
    for row in rows:
        ranks = Quantity(float(row["count"]), "accelerator")
        assert row["room_bytes"] == pytest.approx(case.rank_pool(ranks).m_as("byte"), rel=1e-7)


def test_fit_and_a_worksheet_reserve_the_same_where_nothing_else_is_asked_for():
    assert (quantity(UTILISATION), quantity(RUNTIME)) == (worksheets.UTILISATION, worksheets.RUNTIME)


def test_fit_says_by_which_options_a_scenario_agrees(run):
    out = sentences(run("fit", LLAMA, "--accelerator", "h200-sxm")[1])
    assert "Reserved on it: 10 % of the memory and 2 GB (--utilisation, --runtime)." in out
    assert "as the reference with 20 GB on 8 accelerators, --utilisation 1 --runtime '2.5 GB'." in out
    out = sentences(run("fit", LLAMA, "--accelerator", "h200-sxm", "--utilisation", "1", "--runtime", "2.5 GB")[1])
    assert "Reserved on it: 2.5 GB (--runtime), as in a scenario with that much for each accelerator." in out
    assert "Reserved on it: 15 % of the memory" in sentences(run("fit", LLAMA, "--utilisation", "0.85")[1])


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (LLAMA, None),
        (DEEPSEEK_V3, "stores the state 4 times on 4 and 8 times on 8."),
        (NEMOTRON, "stores the state 1.86 times on 4 and 3.59 times on 8."),
    ],
)
def test_state_that_is_stored_several_times_is_said_to_be(run, answer, config, said):
    asked = "fit", config, "--weights", "400 GB", "--context", "131072", "--accelerator", "h200-sxm"
    out = sentences(run(*asked)[1])
    assert (
        "by tensor parallelism, which" in out,
        "copies of the model: costlib scenario, then costlib show." in out,
    ) == (said is not None,) * 2
    assert said is None or said in out
    once = read(config).state(quantity("131072 token")).m_as("byte")
    for row in answer(*asked)["fits"]:
        assert row["state_copies"] == pytest.approx(row["count"] * row["state_bytes"] / once, rel=1e-6)


def test_programs_get_whole_bytes(answer):
    row = answer("fit", LLAMA, "--weights", "41.3 GB", "--accelerator", "h100-sxm", "--utilisation", "0.87")["fits"][3]
    assert all(type(row[key]) is int for key in row if key.endswith("_bytes"))
    assert [printed.plain(quantity(text)) for text in ("1.9 B", "41.3 GB", "-1.5 B")] == [1, 41_300_000_000, -2]


# claim

CLAIM = ["claim", "--memory", "24 GB", "--context", "262144", "--parameters", "74 billion",
         "--weight-precision", "2 bit/parameter"]  # fmt: skip


def test_a_claim_leaves_so_much_to_a_token(answer):
    """The article's: 4 GB after the runtime; read as GiB, 16 KiB a token are 32 layers in int8 and 16 in bf16."""
    left = answer(*CLAIM, "--runtime", "1.5 GB")
    assert (left["weights_bytes"], left["left_bytes"]) == (18_500_000_000, 4_000_000_000)
    assert left["bytes_per_token"] == 4e9 / 262_144
    in_gib = answer(*[f"{18.5e9 / 2**30 + 4} GiB" if text == "24 GB" else text for text in CLAIM])
    assert in_gib["bytes_per_token"] == pytest.approx(16 * 1024, rel=1e-12)
    of_two_heads = [row for row in in_gib["feasible"] if (row["kv_heads"], row["head_dim"]) == (2, 128)]
    assert of_two_heads[0]["most_layers"] == {"bf16": 16, "fp8": 32, "int4": 64}


def test_a_claim_that_cannot_hold_is_said_to(run, answer):
    asked = [text.replace("2 bit", "16 bit") for text in CLAIM]
    assert "The claim cannot hold: weights and runtime leave nothing for 262,144 tokens" in run(*asked)[1]
    left = answer(*asked)
    assert (left["bytes_per_token"], left["feasible"]) == (None, [])


def test_a_claim_that_leaves_less_than_a_layer_cannot_hold_either(run):
    out = run(*CLAIM, "--runtime", "5.4999 GB")[1]
    assert sentences(out).endswith("less than one layer of the smallest attention keeps.")
    assert "they take 124.0 GB more than there is." in sentences(run(*CLAIM[:-1], "bf16")[1])
    assert re.search(r"^key-value heads  head size  bf16", run(*CLAIM)[1], re.M)


def test_a_claim_explains_its_weights(run):
    assert "= 74,000,000,000 parameters × 2 bit/parameter" in run(*CLAIM, "--explain")[1]


# show


def test_show_prints_what_the_sources_state(run):
    """Each of these keys is stated by the sources; nbval checks the pages against the same."""
    stated = rows(BOOK / "stated-values.csv")
    shown = dict(re.findall(r"^([a-z-]+)  +(\S.*?)  ", run("show")[1], re.M))
    common = [key for key, *_ in ROWS if key in stated]
    assert len(common) >= 10
    assert {key: shown[key] for key in common} == {key: stated[key].expected for key in common}


SCENARIOS = {
    "reference": "",
    "mixture with latents": 'model = "deepseek-v3"\naccelerator = "b200-sxm"\nnode = "hgx-8-nvlink-5"',
    "hybrid": 'model = "nemotron-3-super-120b-a12b"\n[workload]\ncontext = 100000',
    "windows": 'model = "gpt-oss-120b"',
    "experts that do not divide": 'model = "deepseek-v3"\naccelerator = "h200-sxm"\n[node]\naccelerators = 12',
    "few experts": 'model = "mixtral-8x7b"\n[node]\naccelerators = 32\n[reserve]\nweights = "4 bit/parameter"',
    "almost one more": 'model = "gemma-4-26b-a4b"\naccelerator = "a100-40gb-sxm"\n[workload]\ncontext = 131072\n'
    '[reserve]\nruntime = "1 GB"',
    "no room": 'model = "llama-3.1-405b"\naccelerator = "l4"\nnode = "single-pcie-4"',
}


@pytest.fixture(params=SCENARIOS.values(), ids=SCENARIOS)
def scenario(request, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(request.param, encoding="utf-8")
    return file


def test_each_formula_gives_the_value_beside_it(scenario):
    """Read as arithmetic; also where the digits of a page would hold four contexts more."""
    case = load(scenario)
    values = derived(case)
    texts, _ = formulas(case, values)
    for key, _, unit, *_ in ROWS:
        if key == "sharing":
            continue  # a choice, and no arithmetic
        text = re.sub(r"-?\d[\d,.]*(?: [A-Za-zµ][\w/µ· ]*?)?(?=[)⌋⌉]| [×/+−]|, |$)", r"q('\g<0>')", texts[key])
        for ours, of_python in (("×", "*"), ("−", "-"), ("⌊", "floor("), ("⌋", ")"), ("⌈", "ceil("), ("⌉", ")")):
            text = text.replace(ours, of_python)
        rounding = {"floor": lambda x: x.magnitude // 1, "ceil": lambda x: -(-x // 1)}
        computed = eval(text, {"q": _read_back, "min": min, "max": max, **rounding})
        assert _number(values[key], unit) == pytest.approx(_number(computed, unit), rel=1e-9), texts[key]


def _read_back(text):
    """A printed quantity, counts without their unit: 80 layers × 8 heads is a number here."""
    value = quantity(text.replace(" billion", "e9"))
    bits = value.to_base_units().dimensionality.get("[information]", 0)
    seconds = value.to_base_units().dimensionality.get("[time]", 0)
    return value.to_base_units().magnitude * Quantity(1, "bit") ** bits * Quantity(1, "s") ** seconds


def _number(value, unit):
    value = value if hasattr(value, "magnitude") else Quantity(value, "")
    return value.to_base_units().magnitude


def test_show_gives_plain_numbers(answer, scenario):
    shown = answer("show", str(scenario))
    case = load(scenario)
    assert shown["fits"] == (case.state_pool.magnitude >= 0)
    weights = weights_of_card(case, shown["values"]["sharing"]["value"]) * case.reserve.weights.m_as("B/parameter")
    stored = case.node.accelerators.magnitude * weights
    pool = case.node_memory.m_as("B") - stored - case.reserve.runtime.m_as("B")
    assert shown["values"]["node-pool"]["value"] == pytest.approx(pool, rel=1e-9)
    assert shown["values"]["decode-floor"]["unit"] == "second/token"
    assert shown["parts"]["model"] == case.model.title
    assert list(shown["values"]) == [key for key, *_ in ROWS]


def test_show_explains_with_the_source_of_each_input(run):
    out = run("show", "--explain")[1]
    assert re.search(r"^ridge-point +=.* 1,979 Top/s / 3\.35 TB/s$", out, re.M)
    assert re.search(r"^accelerator\.bandwidth +3\.35 TB/s +NVIDIA Hopper .*https://", out, re.M)
    named = {name for name in re.findall(r"^([a-z_]+\.[a-z_0-9]+) ", out, re.M)}
    assert {"precision.weights", "node.accelerators", "workload.tool_time", "reserve.runtime"} <= named


def test_show_takes_the_scenario_that_the_environment_names(run, monkeypatch, scenario):
    monkeypatch.setenv(VARIABLE, str(scenario))
    assert run("show")[1] == run("show", str(scenario))[1]


DEEPSEEK = 'model = "deepseek-v3"\naccelerator = "h200-sxm"\n'
HYBRID = 'model = "qwen3.5-27b"\nreserve.runtime = "0 B"\naccelerator.memory = "12 GB"\n'
QWEN = 'model = "qwen3-32b"\naccelerator = "l40s"\nnode.accelerators = 2\nworkload.context = "65536 token"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEPSEEK, "It does not fit: weights of 2 B/parameter and runtime take 1,362 GB, and the node has 1,128 GB."),
        (QWEN, "leave 11.1 GB of the node's 96.61 GB; a context of 65,536 tokens takes 17.2 GB there."),
        (
            DEEPSEEK + "reserve.weights = '1 byte/parameter'",
            "is stored once and each weight 1.18 times, on average. Were",
        ),
        (HYBRID, "Each byte of state is stored 1.93 times and each weight once, on average. Were"),
    ],
)
def test_show_says_why_none_fits_or_no_more(run, tmp_path, text, said):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    remarks = [" ".join(block.split()) for block in run("show", str(file))[1].split("\n\n")]
    (remark,) = [block for block in remarks if said in block]
    assert ("[reserve] says" in remark) == ("Were all stored once" not in remark)


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        (
            'model = "mistral-7b-v0.1"\nworkload.context = "200000 token"',
            [
                "The model is made for contexts of up to 32,768 tokens; this one has 200,000 tokens. [workload] says "
                "how long it is; to go beyond, engines scale the model's positions, as by YaRN."
            ],
        ),
        (
            'accelerator = "l40s"\nreserve.weights = "1 B/parameter"',
            [
                "NVIDIA L40S 48 GB: such accelerators are connected by PCIe 4.0 x16; the 8 of this node are on "
                "NVLink 4. Nodes with that link: single-pcie-4, pair-pcie-4, pcie-4-8."
            ],
        ),
        (
            'accelerator = "m3-ultra"\nprecision = {weights = "2 B/parameter", arithmetic = "16-bit"}',
            [
                "Apple M3 Ultra, 80-core GPU, 512 GB: such accelerators are each alone in a machine; the 8 of this "
                "node are on NVLink 4. Nodes of one: single-pcie-4, single-pcie-5."
            ],
        ),
        (
            'model = "qwen3-8b"\naccelerator = "tpu-v5e"\nworkload.prompt = 50000',
            [
                "The model is made for contexts of up to 40,960 tokens; the call has 50,300 tokens. [workload] says "
                "how long it is; to go beyond, engines scale the model's positions, as by YaRN.",
                "Google TPU v5e: such accelerators are connected by TPU v5e interconnect; the 8 of this node are on "
                'NVLink 4. No node of the catalog has that link: link = "tpu-v5e-ici" enters it.',
            ],
        ),
        ('model = "qwen3-8b"\naccelerator = "tpu-v5e"\nlink = "tpu-v5e-ici"', []),
        ('accelerator = "l40s"\nnode = "pcie-4-8"\nreserve.weights = "1 B/parameter"', []),
    ],
)
def test_show_says_what_model_and_accelerator_are_not_made_for(run, answer, tmp_path, text, remarks):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    code, out, err = run("show", str(file))
    shown = [" ".join(block.split()) for block in out.split("\n\n")]
    assert (code, err, shown[3:]) == (0, "", remarks)
    assert answer("show", str(file)).keys() == answer("show").keys()


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        (DEEPSEEK + "reserve.weights = '1 B/parameter'", 8),
        ('model = "kimi-k2.5"\naccelerator = "h200-sxm"\nreserve.weights = "0.58 B/parameter"', 8),
        (DEEPSEEK + "node.accelerators = 16", 0),  # no mean of several
        ('model = "mixtral-8x7b"\nreserve.weights = "1 B/parameter"', 0),  # one group of all
        ('model = "mixtral-8x7b"\nreserve.weights = "1 B/parameter"\nnode.accelerators = 256', 0),  # whole copies
        ('model = "llama-3.1-8b"\nreserve.weights = "1 B/parameter"\nnode.accelerators = 16', 0),
        (DEEPSEEK, 0),  # does not fit
    ],
)
def test_show_says_where_weights_of_several_precisions_would_take_more(run, tmp_path, text, copies):
    """0.58 B/parameter is the mean of a file with 4-bit experts; of it, what each group has takes 2 B/parameter."""
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    said = f"Where experts are stored narrower than the rest, of which the node has {copies} copies, it may hold fewer."
    shown = " ".join(run("show", str(file))[1].split())
    assert (said in shown) == ("stored narrower" in shown) == bool(copies)


def test_the_state_of_all_is_printed_in_a_unit_that_suits_it(run, answer):
    """As on the page: that of a laptop is not 0.0017 TB."""
    laptop = FILES / "scenarios/laptop.toml"
    assert re.search(r"^live-state +1\.7 GB ", run("show", laptop)[1], re.M)
    assert re.search(r"^live-state +7\.7 TB ", run("show")[1], re.M)
    assert answer("show", laptop)["values"]["live-state"]["unit"] == "byte"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Qwen3-8B", """: a model of the catalog; wanted a scenario file, with model = "qwen3-8b" in it"""),
        (LLAMA, f": a model's file; wanted a scenario, as 'costlib scenario {LLAMA}' writes it"),
        ("no.gguf", ": a model's file; wanted a scenario, as 'costlib scenario no.gguf' writes it"),
    ],
)
def test_show_of_a_model_says_what_a_scenario_is(run, given, said):
    assert is_bad(run("show", given)) == f"costlib: {given}{said}\n"


def test_a_scenario_may_be_called_as_a_model(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("qwen3-8b").write_text('model = "qwen3-8b"')
    assert "Qwen3 8B" in run("show", "qwen3-8b")[1]


def test_show_says_no_more_of_the_reference(run):
    assert run("show")[1].strip().split("\n\n")[-1].startswith("Reserved ([reserve]): ")


# catalog


def test_the_catalog_is_listed_by_kind(run, answer):
    every = answer("catalog")
    assert [(entry["kind"], entry["name"]) for entry in every] == [
        (kind, name) for kind in catalog.KINDS for name in catalog.names(kind)
    ]
    assert [entry["name"] for entry in answer("catalog", "node")] == catalog.names("node")
    assert len(run("catalog", "node")[1].splitlines()) == 1 + len(catalog.names("node"))


def test_a_kind_in_other_words_is_told_the_kind(run):
    assert is_bad(run("catalog", "nodes")).startswith("costlib: no entry 'nodes' in the catalog; did you mean 'node'?")


def test_what_show_says_is_as_wide_as_a_page(run):
    assert max(map(len, run("show", FILES / "scenarios/b200-mixture.toml")[1].splitlines())) <= printed.WIDTH


def test_the_catalog_is_searched_in_names_and_titles(answer):
    assert {entry["kind"] for entry in answer("catalog", "h100")} == {"accelerator", "price"}
    assert [entry["name"] for entry in answer("catalog", "accelerator", "NVIDIA H100 pcie")] == ["h100-pcie"]


def test_an_entry_shows_the_source_of_each_value(run, answer):
    code, out, _ = run("catalog", "accelerator", "h100-sxm")
    assert code == 0
    assert re.search(r"^bandwidth +3\.35 TB/s  \[2\]$", out, re.M)
    assert re.search(r"^\[2\]  NVIDIA Hopper Architecture .*  https://", out, re.M)
    assert "neither 80 GB nor 80 GiB" in out
    values = answer("catalog", "h100-sxm")["values"]  # the name alone is enough
    assert values["bandwidth"]["value"] == 3_350_000_000_000
    assert values["bandwidth"]["unit"] == "byte/second"
    assert values["memory"]["source"]["note"].startswith("As nvidia-smi reports")


def test_every_entry_can_be_shown(answer):
    for kind in catalog.KINDS:
        for name in catalog.names(kind):
            assert answer("catalog", kind, name)["values"]


# how numbers are printed


@pytest.mark.parametrize(
    "text, number",
    [("1 kB", 1000), ("2 bit/parameter", 0.25), ("1 hour", 3600), ("50 %", 0.5), ("1e20 B", 1e20), ("3 layer", 3)],
)
def test_programs_get_bytes_and_seconds(text, number):
    given = printed.plain(quantity(text))
    assert given == number
    assert isinstance(given, type(number))


def test_programs_get_null_for_infinity():
    assert printed.plain({"crossover": [Quantity(float("inf"), "token"), "kept", None]}) == {
        "crossover": [None, "kept", None]
    }


def test_a_table_takes_texts_as_they_are():
    assert printed.table([("a [b] :smile:", "1"), ("µ", "22")], ["what", "n"], right={1}) == (
        "what            n\na [b] :smile:   1\nµ              22"
    )


def test_no_input_moves_the_cursor(run):
    config = json.dumps({**json.loads(Path(LLAMA).read_text()), "_name_or_path": "a\x1b[2J\x07b"}).encode()
    assert run("kv", "-", "--tokens", "10", stdin=config)[1].startswith(r"a\x1b[2J\x07b (llama)")


# bad input

TINY = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
BAD_FILES = {
    "empty": b"",
    "binary": bytes(range(256)),
    "not UTF-8": '{"model_type": "é"}'.encode("latin-1"),
    "cut short": b'{"model_type": "llama", ',
    "a list": b"[1, 2]",
    "a number": b"12",
    "deeply nested": b"[" * 100_000,
    "a key twice": b'{"model_type": "llama", "model_type": "llama"}',
    "no model_type": b"{}",
    **{
        f"{field} = {value!r}": json.dumps({**TINY, field: value}).encode()
        for field, value in [
            ("num_hidden_layers", -1),
            ("num_hidden_layers", 10**400),
            ("num_hidden_layers", 1.5),
            ("num_hidden_layers", "2"),
            ("num_hidden_layers", True),
            ("num_hidden_layers", float("nan")),
            ("num_hidden_layers", float("inf")),
            ("num_attention_heads", 0),
            ("hidden_size", 63),
            ("model_type", None),
            ("model_type", ["llama"]),
            ("num_key_value_heads", {}),
            ("text_config", 3),
        ]
    },
}


def is_bad(ended):
    code, out, err = ended
    assert (code, out) == (2, "")
    assert err.startswith(("costlib: ", "Usage: costlib"))
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["people", "programs"])
def test_a_bad_file_is_an_error_of_one_line(run, content, json_too):
    err = is_bad(run("kv", "-", "--tokens", "10", *json_too, stdin=content))
    assert err.startswith("costlib: standard input: ") and err.count("\n") == 1
    is_bad(run("fit", "-", "--weights", "1 GB", *json_too, stdin=content))


BAD_COMMANDS = {
    "unknown command": ["keep"],
    "unknown option": ["kv", LLAMA, "--token", "3"],
    "no config": ["kv"],
    "no such file": ["kv", "no-such-file.json"],
    "no such folder": ["kv", "/no/such/folder"],
    "a folder without config": ["kv", str(CONFIGS)],
    "no such GGUF": ["kv", "no-such-file.gguf"],
    "no limit to be the length": ["kv", "-"],
    "length without a number": ["kv", LLAMA, "--tokens", "many"],
    "negative length": ["kv", LLAMA, "--tokens", "-5"],
    "zero length": ["kv", LLAMA, "--tokens", "0"],
    "half a token": ["kv", LLAMA, "--tokens", "0.5"],
    "NaN": ["kv", LLAMA, "--tokens", "nan"],
    "huge length": ["kv", LLAMA, "--tokens", "1e30"],
    "beyond floats": ["kv", LLAMA, "--tokens", "9" * 400],
    "length in bytes": ["kv", LLAMA, "--tokens", "5 GB"],
    "decimal comma": ["kv", LLAMA, "--tokens", "0,5"],
    "unknown format": ["kv", LLAMA, "--kv-precision", "bf61"],
    "assumption without a value": ["kv", LLAMA, "--assume", "rope"],
    "assumption without a field": ["kv", LLAMA, "--assume", "=3"],
    "impossible assumption": ["kv", LLAMA, "--assume", "num_hidden_layers=-3"],
    "no such accelerator": ["fit", LLAMA, "--weights", "1 GB", "--accelerator", "h100"],
    "weights without a unit": ["fit", LLAMA, "--weights", "42"],
    "weights in Gb": ["fit", LLAMA, "--weights", "42 Gb"],
    "share above one": ["fit", LLAMA, "--weights", "42 GB", "--utilisation", "1.5"],
    "negative runtime": ["fit", LLAMA, "--weights", "42 GB", "--runtime", "-1 GB"],
    "claim without memory": ["claim", "--context", "10"],
    "precision in bytes": [*CLAIM[:-1], "2 byte"],
    "empty precision": [*CLAIM[:-1], ""],
    "no such scenario": ["show", "no-such-file.toml"],
    "a scenario that is a folder": ["show", str(CONFIGS)],
    "a scenario that is JSON": ["show", LLAMA],
    "no such entry": ["catalog", "h1000"],
    "no such kind": ["catalog", "card", "h100-sxm"],
}


@pytest.mark.parametrize("arguments", BAD_COMMANDS.values(), ids=BAD_COMMANDS)
def test_a_bad_command_says_what_is_wanted(run, arguments):
    is_bad(run(*arguments, stdin=json.dumps(TINY).encode()))


WANTED = {
    "128k": "'128k': k has two meanings; write 128000 or 131072",
    "1M tokens": "'1M tokens': M has two meanings; write 1000000 or 1048576",
    "0.5": "'0.5'; wanted a whole number of tokens, from 1 to 1,000,000,000,000",
    "many": "'many' is not a number with a unit; wanted a whole number of tokens, from 1 to 1,000,000,000,000",
    "5 GB": "'5 GB' is in GB; wanted a whole number of tokens, from 1 to 1,000,000,000,000",
}


@pytest.mark.parametrize("given", WANTED)
def test_what_an_option_takes_is_said_in_a_sentence(run, given):
    said = is_bad(run("fit", LLAMA, "--context", given))
    assert said.endswith(f"Error: Invalid value for '--context': {WANTED[given]}\n")


@pytest.mark.parametrize("asked", [("fit",), ("scenario",), ("worksheet", "--accelerator", "l40s")], ids=lambda a: a[0])
def test_two_sizes_of_the_weights_are_one_too_many(run, asked):
    name, *options = asked
    said = is_bad(run(name, LLAMA, *options, "--weights", "42 GB", "--weight-precision", "int4"))
    assert said == "costlib: --weights and --weight-precision: both say what the weights take; wanted one of them\n"


@pytest.mark.parametrize("asked", [("kv",), ("fit", "--weight-precision", "mxfp4")], ids=["kv", "fit"])
def test_a_size_of_the_cache_that_is_given_is_not_assumed(run, answer, asked):
    name, *options = asked
    assumed = "a cache of 16 bits; the file declares no dtype"
    assert answer(name, GPT_OSS, *options)["assumptions"] == [assumed]
    assert answer(name, GPT_OSS, *options, "--kv-precision", "q8_0")["assumptions"] == []
    fields = json.loads(Path(NEMOTRON).read_text()) | {"dtype": None, "torch_dtype": None}
    left = answer(name, "-", *options, "--kv-precision", "fp8", stdin=json.dumps(fields).encode())["assumptions"]
    assert "inputs of convolutions in 16 bits; the file declares no dtype" in left and assumed not in left


@pytest.mark.parametrize(
    ("given", "name"), [("FP8", "fp8"), ("fp8_e5m2", "fp8"), ("bfloat16", "bf16"), ("q8_0", "q8_0")]
)
def test_a_format_is_called_by_its_own_name(run, answer, given, name):
    assert answer("kv", LLAMA, "--kv-precision", given) == answer("kv", LLAMA, "--kv-precision", name)
    assert f"cache in {name}\n" in run("fit", LLAMA, "--kv-precision", given)[1]


def test_a_share_may_be_a_percentage(answer, run):
    asked = "fit", LLAMA, "--accelerator", "h200-sxm", "--utilisation"
    assert answer(*asked, "85 %") == answer(*asked, "0.85")
    assert "Reserved on it: 15 % of the memory" in sentences(run(*asked, "85%")[1])


def test_sizes_and_shares_are_said_with_their_limits(run):
    said = is_bad(run("fit", LLAMA, "--weights", "42"))
    assert said.endswith("'42' has no unit; wanted a size, from 1 MB to 1 PB, as in '42 GB'\n")
    assert "'1.5'; wanted a share, from 0.01 to 1\n" in is_bad(run("fit", LLAMA, "--utilisation", "1.5"))
    assert "as in '0.6 byte/parameter'\n" in is_bad(run("fit", LLAMA, "--weight-precision", "9 byte/parameter"))


def test_an_accelerator_may_be_written_in_capitals(answer):
    asked = "fit", LLAMA, "--weights", "42 GB", "--accelerator"
    assert answer(*asked, "H100-SXM") == answer(*asked, "h100-sxm")


def test_an_absurd_limit_of_the_file_is_no_length(run):
    for limit in (10**30, 10**400):
        config = json.dumps({**TINY, "max_position_embeddings": limit}).encode()
        is_bad(run("kv", "-", stdin=config))
        assert run("fit", "-", "--context", "100", "--weights", "1 GB", stdin=config)[0] in (0, 2)


def test_a_file_that_may_not_be_read(run, tmp_path):
    file = tmp_path / "config.json"
    file.symlink_to(file)  # leads nowhere, for any user
    assert str(file) in is_bad(run("kv", str(file)))


# the process


def test_the_module_is_the_command():
    assert command("--version").stdout == f"costlib {costlib.__version__}\n"


def test_alone_it_says_what_it_can_do():
    done = command()
    assert re.findall(r"^  (kv|fit|claim|show|catalog) ", done.stdout + done.stderr, re.M) == [
        "kv", "fit", "claim", "show", "catalog"
    ]  # fmt: skip


def test_a_reader_may_leave_early():
    """As `| head -1` does."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open(write_end, "wb") as closed:
        done = subprocess.run([sys.executable, "-m", "costlib", "catalog"], stdout=closed, stderr=subprocess.PIPE)
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_said_to_be():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "costlib", "show"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "costlib: cannot write: No space left on device\n")


def test_it_can_be_interrupted():
    waiting = subprocess.Popen(
        [sys.executable, "-m", "costlib", "kv", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    with waiting:
        waiting.stdin.write(b" " * 2**20)  # more than a pipe holds: written once it reads
        waiting.stdin.flush()
        while fcntl.ioctl(waiting.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
            time.sleep(0.01)
        time.sleep(0.2)  # and now it waits: Python sees a signal between two reads only after the second
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(10) == 130
        assert b"Traceback" not in waiting.stderr.read()


def test_a_terminal_without_our_letters():
    done = command(
        "show", "--explain", env=os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}, encoding="latin-1"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"80 GiB \u2212" in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["kv", "--help"]])
def test_help_loads_nothing_that_computes(arguments):
    code = (
        "import sys; sys.argv[0] = 'costlib'\n"
        "from costlib.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(', '.join({'pint', 'numpy', 'rich', 'costlib.units'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_answers_where_numpy_is_not_installed():
    code = "import sys; sys.modules['numpy'] = None; sys.argv[0] = 'costlib'\nfrom costlib.cli import main; main()"
    for arguments in (["kv", GPT_OSS], ["fit", GPT_OSS, "--weights", "65 GB"], ["show", "--explain"], CLAIM):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "typed, offered",
    [
        ("costlib cl", {"claim"}),
        ("costlib catalog acc", {"accelerator"}),
        ("costlib catalog mi30", {"mi300x", "mi300x-8"}),
        ("costlib catalog accelerator h100", {"h100-sxm", "h100-pcie"}),
        ("costlib kv x --kv-precision q8", {"q8_0"}),
        ("costlib claim --weight-precision bf", {"bf16"}),
        ("costlib fit x --accelerator mi3", {"mi300x", "mi325x", "mi355x"}),
        ("costlib trace x --column out", {"output_tokens="}),
        ("costlib trace x --session b", {"blocks"}),
    ],
)
def test_a_shell_completes(typed, offered):
    words = typed.split()
    asked = {"_COSTLIB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    assert set(command(env=os.environ | asked).stdout.split()) == offered


README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", re.findall(r"^costlib (?:kv|fit) src/costlib/book/.*", README, re.M))
def test_the_commands_of_the_readme_answer(run, monkeypatch, line):
    monkeypatch.chdir(Path(__file__).parents[1])
    code, out, _ = run(*line.split()[1:])
    assert code == 0 and "gemma-4-26B-A4B" in out


def test_the_readme_shows_what_the_command_prints(run, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    first = re.search(r"^costlib (kv .*)", README, re.M)[1]
    shown = re.search(r"The first answers\n\n((?: {4}.*\n|\n)+)", README)[1]
    assert textwrap.dedent(shown).strip() in run(*first.split())[1]


def test_the_readme_leads_to_a_filled_worksheet(run, monkeypatch, tmp_path):
    shutil.copytree(FILES / "samples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for line in re.search(r"&& cd tried\n((?:.*\n)+?)```", README)[1].splitlines():
        program, *arguments = line.split()
        if program == "python":
            subprocess.run([sys.executable, *arguments], check=True)
        else:
            assert run(*arguments)[0] == 0, line
    sheet = Path("sheet.md").read_text(encoding="utf-8")
    numbers = [re.search(rf"^\| {number}\. [^|]* \| (\S+)", sheet, re.M)[1] for number in range(1, 6)]
    assert "not" not in numbers  # as in 'not known yet'


def test_the_readme_says_how_many_architectures_are_read():
    known, right = re.search(r"of the (\d+) architectures .* (\d+) are read", README).groups()
    found = list(oracle.verdicts().values())
    assert (int(known), int(right)) == (len(found), found.count("right"))


def test_a_table_is_text_in_a_notebook_too():
    """rich would show it there by itself, and leave nothing to print."""
    with mock.patch("rich.console._is_jupyter", return_value=True):
        assert printed.table([("a", "1")], ["name", "value"]) == "name  value\na     1"
