"""costlib.worksheet and the command that prints it: five numbers, a cost, and what is missing."""

import contextlib
import dataclasses
import functools
import io
import json
import math
import os
import re
import sys

import nbformat
import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from costlib import catalog, logs, traces
from costlib.arguments import ArgumentError
from costlib.book import FILES
from costlib.book.llama_cpp import Case, write
from costlib.cli import app
from costlib.model_config import Refused, read, read_table
from costlib.model_config.engines import sglang
from costlib.model_config.precision import precision_of
from costlib.model_config.weights import counted_weights
from costlib.schema import InputError
from costlib.traces import Distribution
from costlib.units import Quantity, quantity
from costlib.worksheet import given_price, markdown, notebook, plain, sentence, verdict, worksheet
from costlib.worksheet.as_notebook import _config
from costlib.worksheet.memory import NEEDS
from costlib.worksheet.table import cell

steady = settings(derandomize=True, deadline=None, max_examples=30)

CONFIGS = FILES / "configs"
LLAMA = CONFIGS / "meta-llama--Meta-Llama-3.1-70B.json"
GEMMA = CONFIGS / "google--gemma-4-26B-A4B.json"
NEMOTRON = CONFIGS / "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json"
DEEPSEEK = CONFIGS / "deepseek-ai--DeepSeek-V3.json"
MIXTRAL = CONFIGS / "mistralai--Mixtral-8x7B-v0.1.json"

# A model of eight billion parameters, and what vLLM said of it on a card of 24 GB; in
# https://github.com/vllm-project/vllm/issues/10517
SMALL = {
    "model_type": "llama",
    "dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "vocab_size": 128256,
}
START = """\
Loading model weights took 14.9888 GB
Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB peak_torch_memory=17.06GiB \
memory_usage_post_profile=15.35GiB non_torch_memory=0.35GiB kv_cache_size=3.81GiB gpu_memory_utilization=0.90
# GPU blocks: 1952, # CPU blocks: 2048
Maximum concurrency for 20000 tokens per request: 1.56x
"""
EIGHT_BIT = quantity("1 byte/parameter")
CAP = quantity("32768 token")
HIRE = given_price("2026-11-01", hire=quantity("4 USD/accelerator/hour"))
HOST = given_price(
    "2026-11-01",
    input=quantity("0.5 USD/Mtoken"),
    cached_input=quantity("0.1 USD/Mtoken"),
    output=quantity("2 USD/Mtoken"),
)
SESSION = {
    "prompts": quantity("2e6 token") / quantity("1 session"),
    "output": quantity("30000 token") / quantity("1 session"),
    "hits": quantity("0.9"),
    "lifetime": quantity("30 min"),
    "wait_share": quantity("0.5"),
}


@pytest.fixture(scope="module")
def small():
    return read_table(SMALL, "example")


@pytest.fixture(scope="module")
def log():
    return logs.read(START.splitlines(keepends=True))


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """A trace of a thousand sessions of five requests, and its summary."""
    file = tmp_path_factory.mktemp("trace") / "week.csv"
    random = np.random.default_rng(5)
    rows = ["session_id,timestamp,prompt_tokens,completion_tokens,cached_tokens,duration_s"]
    for session in range(1000):
        start, context = 600 * session, int(random.lognormal(8, 0.8))
        for step in range(5):
            prompt = context * (step + 1)
            rows.append(f"s{session},{start + 60 * step},{prompt},{context // 4},{int(0.8 * prompt)},12")
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="module")
def trace(week):
    return traces.summary(traces.read(week))


def of_lengths(trace, lengths):
    """The trace, with sessions of these lengths."""
    values, counts = np.unique(np.asarray(lengths), return_counts=True)
    return dataclasses.replace(trace, lengths=Distribution(values, counts))


def of_an_h100(log):
    """The log, as if its blocks had been given and it did not state the memory of a card: then it may be of any."""
    return dataclasses.replace(log, memory=None, settings={**log.settings, "override": 1952})


def full(model, log=None, trace=None, **changed):
    """A sheet with all that can be given."""
    given = {"session": SESSION, "hire": HIRE, "hosted": HOST, "load": quantity("0.5"), "tested_sessions": 7}
    given |= {"at_cap": "compact", "cap": CAP, "log": log, "trace": trace, **changed}
    return worksheet(model, "h100-sxm", **given)


def value(sheet, section, row):
    return sheet[section][row].values[0]


def cost_of(sheet, key):
    """The row of one of the sections on cost."""
    sections = [sheet[name] for name in ("rates", "prices", "session", "cost")]
    return next(row for section in sections for row in section.rows if row.key == key)


def says_of_cost(sheet):
    return [*sheet["rates"].says, *sheet["cost"].says]


# the five numbers


def test_the_five_numbers_stand_first(small, log, trace):
    """Each by the best knowledge that there is."""
    sheet = full(small, log=of_an_h100(log), trace=trace)
    found = plain(sheet)["summary"]
    assert list(found)[:5] == ["bytes_per_token", "weights", "cap", "p99", "sessions_per_card"]
    assert found["bytes_per_token"] == 131_072
    assert found["weights"] == math.floor(log.weights.m_as("byte"))
    assert found["cap"] == 32_768
    assert found["p99"] == trace.lengths.quantile(0.99)
    assert found["sessions_per_card"] == 7
    assert found["own"] == pytest.approx(cost_of(sheet, "own").values[0].magnitude)
    assert sheet.sections[0]["cap"].source == "as given; at it: compact"
    assert sheet.sections[0].says == (sheet["length"].says[0], sheet["cost"].says[-1])


def test_what_is_not_known_of_the_five_is_open(small):
    first = worksheet(small, "h100-sxm").sections[0]
    assert [row.key for row in first.rows if not row.known] == ["p99", "own", "host"]
    printed = markdown(worksheet(small, "h100-sxm"))
    assert "| 4. p99 session length | not known yet | a trace: `--trace FILE` |" in printed


def test_a_model_that_does_not_fit_holds_none_and_it_is_said_first():
    """None is a number, and the first thing to know."""
    sheet = worksheet(read(LLAMA), "rtx-4090", 3, CAP)
    first = sheet.sections[0]
    assert first["sessions_per_card"].values[0].m_as("session") == 0
    assert first.says[0].startswith("Not one session of 32,768 tokens fits: the weights leave no room: −25.85 GB on")
    tight = worksheet(read(LLAMA), "h100-sxm", 2, quantity("131072 token"), weight_precision=EIGHT_BIT)
    assert "on each card a session takes 21.47 GB" in "".join(
        worksheet(read(LLAMA), "h100-sxm", 2).sections[0].says
    ) + ("".join(tight.sections[0].says))
    assert not any("Not one session" in text for text in full(read(LLAMA), count=3).sections[0].says)


def test_only_what_is_missing_of_a_cost_is_asked_for(small):
    first = worksheet(small, "h100-sxm", hire=HIRE).sections[0]
    assert first["own"].missing == "what a session is: see below"
    assert first["host"].missing == "--hosted and what a session is: see below"
    assert worksheet(read(LLAMA), "h100-sxm", hire=HIRE).sections[0]["own"].missing == "none fits"


def test_what_a_trace_says_of_a_session_is_not_asked_for(small, trace):
    first = worksheet(small, "h100-sxm", cap=CAP, trace=trace).sections[0]
    assert (first["own"].missing, first["host"].missing) == ("--hire: see below", "--hosted: see below")
    tokens = {key: SESSION[key] for key in ("prompts", "output")}
    parts = worksheet(small, "h100-sxm", cap=CAP, hire=HIRE, hosted=HOST, session={"prompts": SESSION["prompts"]})
    assert parts.sections[0]["host"].missing == "--session-output: see below"
    assert worksheet(small, "h100-sxm", cap=CAP, session=tokens).sections[0]["own"].missing == "--hire: see below"


def test_requests_that_count_as_sessions_are_called_requests(small, week):
    """A trace that does not say which of them belong together."""
    alone = traces.summary(traces.read(week, session="none"))
    source = worksheet(small, "h100-sxm", cap=CAP, trace=alone)["summary"]["p99"].source
    assert source.startswith("the trace, 5,000 requests, each counted as a session: --session; with 95 % confidence")


def test_a_trace_of_sessions_counts_them(small, trace):
    source = worksheet(small, "h100-sxm", cap=CAP, trace=trace)["summary"]["p99"].source
    assert source.startswith("the trace, 1,000 sessions; with 95 % confidence ")


def test_the_sessions_on_all_cards_stand_beside_those_of_one():
    """A cap that is not the log's limit is counted from the tokens of its pool."""
    log, model = four_ranks(), read(LLAMA)
    first = worksheet(model, "h100-sxm", cap=CAP, log=log).sections[0]["sessions_per_card"]
    assert (cell(first, first.values[0]), first.source) == (
        "3.5 sessions",
        "14 sessions on 4 cards, from the log's tokens",
    )
    one = worksheet(model, "h100-sxm", 4, cap=CAP, tested_sessions=1).sections[0]["sessions_per_card"]
    assert one.source == "1 session on 4 cards, in a load test at the cap"
    first = worksheet(model, "h100-sxm", log=log).sections[0]["sessions_per_card"]
    assert (cell(first, first.values[0]), first.source) == ("1.75 sessions", "7 sessions on 4 cards, as the log has it")


def test_engines_that_hold_fewer_are_named_first():
    """The model's need is the least that can be."""
    source = worksheet(read(GEMMA), "h100-sxm").sections[0]["sessions_per_card"].source
    assert source == "sessions, computed: by what the model needs (4; 3 as vLLM reserves, 0 as SGLang reserves)"


# 1, 3 and 5: state and sessions


@pytest.mark.parametrize("file, count", [(LLAMA, 4), (GEMMA, 1), (NEMOTRON, 2), (MIXTRAL, 2), (DEEPSEEK, 8)])
def test_the_computed_sessions_are_those_of_fit(file, count):
    """Two commands, one answer."""
    asked = ["fit", str(file), "--accelerator", "h200-sxm", "--context", "32768", "--weight-precision", "fp8", "--json"]
    fits = json.loads(CliRunner().invoke(app, asked).stdout)["fits"]
    fit = next(row for row in fits if row["count"] == count)
    sheet = worksheet(read(file), "h200-sxm", count, CAP, weight_precision=EIGHT_BIT)
    assert value(sheet, "sessions", "needs").m_as("session") == fit["sessions"]
    assert value(sheet, "sessions", "vllm").m_as("session") == fit["sessions_vllm"]
    assert value(sheet, "sessions", "room").m_as("byte") == pytest.approx(fit["room_bytes"], abs=1)


@pytest.mark.parametrize("file", [LLAMA, GEMMA, NEMOTRON, DEEPSEEK])
def test_the_state_is_that_of_kv(file):
    asked = ["kv", str(file), "--tokens", "32768", "--json"]
    kept = json.loads(CliRunner().invoke(app, asked).stdout)
    found = plain(worksheet(read(file), "h100-sxm", cap=CAP, weight_precision=EIGHT_BIT))["per_token"]
    assert found["session"]["needs"] == kept["needs"]["total_bytes"]
    assert found["per_token"]["needs"] == kept["needs"]["bytes_per_token"]
    for engine, reserved in kept["reserves"].items():
        assert found["session"][engine] == reserved.get("total_bytes"), engine


def test_what_does_not_grow_stands_beside_what_does():
    """Layers with windows keep the last 1,024 tokens, however long the session is."""
    sheet = worksheet(read(GEMMA), "h100-sxm", cap=CAP)
    growth, beside, total = (value(sheet, "per_token", key) for key in ("per_token", "beside", "session"))
    assert growth.m_as("byte/token") == 20_480
    assert beside.m_as("byte") == 25 * 8 * 512 * 2 * 1024
    assert total == growth * CAP + beside
    assert any("not the whole truth" in text for text in sheet["per_token"].says)
    assert sheet["summary"]["bytes_per_token"].source == "the configuration; beside it, 209.7 MB that do not grow"


def test_without_windows_growth_is_the_whole_truth():
    sheet = worksheet(read(LLAMA), "h100-sxm", 4, CAP, weight_precision=EIGHT_BIT)
    assert not any("not the whole truth" in text for text in sheet["per_token"].says)


def test_half_the_cap_holds_twice_the_sessions_where_every_token_is_kept():
    sheet = worksheet(read(LLAMA), "h100-sxm", 4, CAP, weight_precision=EIGHT_BIT)
    half, at, twice = (value(sheet, "sessions_by_cap", key).m_as("session") for key in ("half", "at", "twice"))
    assert (half, at, twice) == (42, 21, 10)
    assert value(sheet, "sessions", "needs").m_as("session") == at


@pytest.mark.parametrize("file, count", [(NEMOTRON, 8), (GEMMA, 1), (DEEPSEEK, 8), (LLAMA, 4)])
def test_sessions_can_be_checked_by_hand_from_what_is_printed(file, count):
    """Heads that do not split are in what a session takes on each."""
    sheet = worksheet(read(file), "h200-sxm", count, CAP, weight_precision=EIGHT_BIT)
    room = sheet["sessions"]["room"].values[0].m_as("GB")
    for key in ("needs", "vllm", "llama.cpp"):
        row = sheet["sessions"][key]
        each = float(re.match(r"room / ([\d.,]+) GB", row.source)[1])
        assert row.values[0].m_as("session") == pytest.approx(room / each, rel=1e-3, abs=1), key


@pytest.mark.parametrize("cap", [1, 2, 10**12])
@pytest.mark.parametrize("file", [LLAMA, GEMMA, NEMOTRON, DEEPSEEK])
def test_the_shortest_and_the_longest_cap(file, cap):
    sheet = worksheet(read(file), "h200-sxm", 8, Quantity(float(cap), "token"), weight_precision=EIGHT_BIT)
    assert markdown(sheet)
    assert value(sheet, "sessions_by_cap", "half").magnitude >= value(sheet, "sessions_by_cap", "twice").magnitude


def test_a_session_of_which_nothing_is_kept_is_not_counted(small):
    """One entry for four tokens, and a session of two."""
    (cache,) = small.caches
    model = dataclasses.replace(small, caches=(dataclasses.replace(cache, stride=4),))
    sheet = worksheet(model, "h100-sxm", cap=Quantity(2.0, "token"))
    assert value(sheet, "sessions", "needs") is None
    assert sheet["sessions"]["needs"].missing == "of 2 tokens it keeps nothing"
    assert markdown(sheet) and notebook(sheet)


def test_latents_are_copied_to_every_accelerator():
    one, eight = (worksheet(read(DEEPSEEK), "h200-sxm", n, CAP, weight_precision=EIGHT_BIT) for n in (1, 8))
    reserved = [plain(sheet)["per_token"]["session"]["vllm"] for sheet in (one, eight)]
    assert reserved[1] == 8 * reserved[0]


@pytest.fixture(scope="module")
def hybrid_cards():
    return worksheet(read(NEMOTRON), "h100-sxm", cap=CAP, weight_precision=EIGHT_BIT).cards


@steady
@given(st.integers(1, 60_000), st.floats(1, 70))
def test_sglangs_pools_hold_the_sessions_and_not_one_more(hybrid_cards, tokens, room):
    length, room = Quantity(float(tokens), "token"), Quantity(room, "GB")
    held = int(hybrid_cards.sessions("SGLang", length, room).m_as("session"))

    def taken(sessions):
        return sglang(hybrid_cards.model, sessions * length, hybrid_cards.precision, sequences=sessions).total

    assert held == 0 or taken(held) <= room * (1 + 1e-9)
    assert taken(held + 1) > room


def test_a_model_without_room_holds_none_and_costs_nothing_that_could_be_said():
    sheet = full(read(LLAMA), tested_sessions=None, weight_precision=EIGHT_BIT, count=1, cap=quantity("131072 token"))
    assert value(sheet, "sessions", "needs").m_as("session") == 0
    assert cost_of(sheet, "own").values[0] is None
    assert cost_of(sheet, "host").values[0] is not None
    assert "none fits" in cost_of(sheet, "held").needs


def test_an_engine_that_does_not_serve_it_says_why():
    sheet = worksheet(read(DEEPSEEK), "h200-sxm", 8, CAP, weight_precision=EIGHT_BIT, kv_format="q8_0")
    assert plain(sheet)["per_token"]["session"]["vllm"] is None
    assert any(text.startswith("vLLM: not told, kv_precision") for text in sheet["per_token"].says)


# 2: weights


def test_files_that_are_as_computed_need_no_explanation(small):
    model = dataclasses.replace(small, weights=1.001 * counted_weights(small).size)
    assert any("within 0.5 %" in text for text in worksheet(model, "h100-sxm", cap=CAP)["weights"].says)


def test_a_table_of_tokens_that_is_kept_wider_is_named(small):
    """At 4 bits each, but the table and the head in 16 bits."""
    four = quantity("0.5 byte/parameter")
    wider = 2 * 128256 * 4096 * quantity("1.5 byte")
    model = dataclasses.replace(small, weights=counted_weights(small, four).size + wider)
    says = worksheet(model, "h100-sxm", cap=CAP, weight_precision=four)["weights"].says
    assert any("the table of tokens and the output head in 16 bits, 1.58 GB." in text for text in says)


def test_layers_that_predict_are_named():
    model = read(DEEPSEEK)
    size = counted_weights(model, EIGHT_BIT).size + Quantity(float(model.parameters.predictors), "byte")
    model = dataclasses.replace(model, weights=size)
    says = worksheet(model, "h200-sxm", 8, CAP, weight_precision=EIGHT_BIT)["weights"].says
    assert any("layers that predict further tokens, 11.6 GB." in text for text in says)


def test_a_difference_without_a_reason_is_said_to_be_so(small):
    model = dataclasses.replace(small, weights=1.3 * counted_weights(small).size)
    assert any("30 %: not explained" in text for text in worksheet(model, "h100-sxm", cap=CAP)["weights"].says)


def test_the_logs_weights_stand_beside_their_prediction(small, log):
    sheet = worksheet(small, "rtx-4090", log=log)
    assert value(sheet, "weights", "log") == log.weights
    assert any(text.startswith("weights, by the log 16.094 GB, predicted 16.061 GB") for text in sheet["weights"].says)


EIGHT_RANKS = "Model loading took 83.9 GiB\nAvailable KV cache memory: 40.0 GiB\n"


def test_the_weights_of_a_log_do_where_they_cannot_be_counted():
    """A file that declares a quantisation, and a log of one rank of eight."""
    log = logs.read(EIGHT_RANKS.splitlines(keepends=True))
    sheet = worksheet(read(DEEPSEEK), "h200-sxm", 8, CAP, log=log)
    assert sheet.cards.weights.size.m_as("GiB") == pytest.approx(8 * 83.9)
    row = sheet["weights"]["log"]
    assert row.what == "loaded, 1 of 8 ranks, the others taken as these"
    assert sheet.sections[0]["weights"].values[0] == row.values[0] == sheet.cards.weights.size
    assert "WEIGHTS = '" in notebook(sheet)


def test_one_rank_that_has_all_weights_is_not_taken_times_the_ranks(small, log):
    sheet = worksheet(small, "rtx-4090", 2, log=log)
    assert value(sheet, "weights", "other_log") == log.weights
    assert any("another machine, 1 accelerator to a copy" in text for text in sheet["sessions"].says)
    two = logs.read(QWEN.splitlines(keepends=True))  # of two ranks, as it states
    assert value(worksheet(read(LLAMA), "h100-sxm", 8, CAP, log=two), "weights", "other_log") == two.weights


def test_ranks_that_speak_are_counted_where_the_log_does_not_state_how_many():
    """Of two ranks of SGLang, whose cache would otherwise look as if it were stored in half the bytes."""
    lines = [
        f"[2025-11-10 19:58:57 TP{rank}] KV Cache is allocated. #tokens: 1443316, K size: 33.03 GB, V size: 33.03 GB\n"
        for rank in (0, 1)
    ]
    model = read_table({**SMALL, "num_hidden_layers": 48, "num_key_value_heads": 4}, "example")
    sheet = worksheet(model, "h200-sxm", cap=CAP, log=logs.read(lines))
    assert sheet.cards.count == 2
    assert sheet["sessions"]["log"].values[0] == sheet["sessions"]["in_pool"].values[0] == Quantity(44, "session")
    assert not any("fp8" in text for text in sheet["sessions"].says)


def test_a_pipeline_takes_its_ranks_too(small, log):
    staged = dataclasses.replace(log, settings={"tensor_parallel": 2, "pipeline_parallel": 2})
    assert worksheet(small, "rtx-4090", log=staged).cards.count == 4


# 3: the cap


def test_a_cap_that_is_not_set_is_the_models_window(small):
    sheet = worksheet(small, "h100-sxm")
    assert value(sheet, "cap", "tokens").m_as("token") == 131_072
    assert "not set: the cap is the model's context window" in sheet["cap"]["tokens"].source


def test_the_engines_limit_is_a_cap_too(small, log):
    sheet = worksheet(small, "rtx-4090", log=log)
    assert value(sheet, "cap", "tokens").m_as("token") == 20_000
    assert "the engine's limit" in sheet["cap"]["tokens"].source


def test_a_name_that_says_how_weights_are_stored_is_heeded_where_the_file_is_silent(small):
    """Its weights would be counted as twice as large as they are."""
    assert not any("its name" in text for text in worksheet(small, "h100-sxm").assumptions)
    sheet = worksheet(read(NEMOTRON), "h200-sxm", 8, CAP)
    assert any("though its name says FP8: --weight-precision" in text for text in sheet.assumptions)


def test_blocks_of_two_sizes_are_said_as_such():
    assert (
        "vLLM: blocks of 16 and of 32 tokens; at most 8,192 tokens a step."
        in worksheet(read(GEMMA), "h100-sxm", cap=CAP)["per_token"].says
    )


def test_without_any_limit_a_cap_is_wanted(small):
    with pytest.raises(ArgumentError, match="cap = None"):
        worksheet(dataclasses.replace(small, context_limit=None), "h100-sxm")


# 4: session length


@pytest.mark.parametrize(
    "length, told",
    [(1, "idle"), (100, "idle"), (101, "between"), (799, "between"), (800, "works"), (1000, "works"), (1001, "beyond")],
)
def test_the_verdict(length, told):
    assert verdict(Quantity(length, "token"), quantity("1000 token")) == told


@steady
@given(st.integers(1, 10**7), st.integers(1, 10**7), st.integers(1, 1000))
def test_the_verdict_does_not_hang_on_the_unit(length, cap, scale):
    told = verdict(Quantity(float(length), "token"), Quantity(float(cap), "token"))
    assert verdict(Quantity(float(length * scale), "token"), Quantity(float(cap * scale), "token")) == told


def test_the_verdict_in_a_sentence():
    length = quantity("60000 token")
    assert sentence(length, CAP) == "Sessions will meet the cap: the 99th percentile is 180 % of it."
    assert sentence(length, CAP, quantity("0.02")) == "Sessions will meet the cap: 2 % of them are longer."


def says_of(small, trace, lengths, cap=CAP):
    return " ".join(worksheet(small, "h100-sxm", cap=cap, trace=of_lengths(trace, lengths))["length"].says)


def test_the_trace_gives_the_percentile_and_its_interval(small, trace):
    sheet = worksheet(small, "h100-sxm", cap=CAP, trace=trace)
    assert value(sheet, "length", "p99").m_as("token") == trace.lengths.quantile(0.99)
    ends = [value(sheet, "length", key).m_as("token") for key in ("p99_low", "p99_high")]
    assert ends == list(trace.lengths.interval(0.99))
    assert value(sheet, "length", "above").m_as("") == trace.lengths.share_above(32_768)


def test_memory_kept_for_sessions_that_never_come(small, trace):
    found = says_of(small, trace, range(1, 3000))
    assert "Memory is kept for sessions that never come: the 99th percentile is 9.1 % of the cap." in found
    assert "the verdict is the same" in found


def test_sessions_that_will_meet_the_cap_are_counted(small, trace):
    assert "Sessions will meet the cap: 50 % of them are longer. " in says_of(small, trace, [10_000, 50_000] * 400)


def test_few_sessions_do_not_settle_it(small, trace):
    found = says_of(small, trace, range(1000, 1100))
    assert "100 sessions are too few to bound the 99th percentile from above; it takes 368." in found


def test_an_interval_over_which_the_verdict_changes_is_no_verdict(small, trace):
    found = says_of(small, trace, [*range(1, 990), *[30_000] * 11])
    assert "it may also be a tenth of it or less: give more sessions" in found


def test_a_tail_that_ends_at_the_cap_is_of_its_making(small, trace):
    random = np.random.default_rng(1)
    lengths = random.lognormal(9.5, 1, 5000).astype(int)
    assert "They end at the cap" not in says_of(small, trace, lengths)
    lengths = np.minimum(lengths, 32_768)
    assert "They end at the cap" in says_of(small, trace, lengths)
    assert "They end at the cap" not in says_of(small, trace, lengths, cap=quantity("65536 token"))


def test_a_lower_cap_is_worked_out(small, trace):
    """The upper end of the percentile, in whole kibitokens."""
    found = of_lengths(trace, range(1, 30_001, 10))
    assert (found.lengths.quantile(0.99), found.lengths.interval(0.99)[1]) == pytest.approx((29_691, 29_811), abs=20)
    sheet = worksheet(small, "h100-sxm", cap=CAP, trace=found)
    row = sheet["length"]["sessions_at_p99"]
    assert row.what == "sessions at a cap of 30,720 tokens"
    assert row.values[0].m_as("session") == math.floor(sheet.cards.room.m_as("byte") / (30_720 * 131_072))


def test_lengths_are_printed_in_whole_tokens(small, trace):
    """A percentile between two lengths has a fraction of a token, and no reader."""
    sheet = worksheet(small, "h100-sxm", cap=CAP, trace=of_lengths(trace, range(100_000, 500_001, 997)))
    assert value(sheet, "length", "p99").m_as("token") % 1 != 0
    for row in (sheet.sections[0]["p99"], sheet["length"]["p99"], sheet["length"]["p50"]):
        assert cell(row, row.values[0]) == f"{row.values[0].m_as('token'):,.0f} tokens"


def test_rows_that_were_not_read_are_said(small, trace):
    partly = dataclasses.replace(trace, rows=1003, rejected={"negative tokens": 3})
    notes = worksheet(small, "h100-sxm", cap=CAP, trace=partly).notes
    assert "3 of the trace's 1,003 rows were not read: negative tokens" in notes


# 5: measured


def test_the_steps_from_computed_to_tested_are_explained(small, log):
    sheet = worksheet(
        small, "rtx-4090", cap=quantity("4096 token"), log=log, tested_sessions=3, utilisation=quantity("0.8")
    )
    says = " ".join(sheet["sessions"].says)
    assert "the room by the log: +3 sessions against vLLM's reserve" in says
    assert "the load test: −4 sessions against the log's own count: a limit on running sequences" in says
    more = worksheet(small, "rtx-4090", cap=quantity("4096 token"), log=log, tested_sessions=30)
    assert "sessions that share a prefix" in " ".join(more["sessions"].says)


def foreign(sheet):
    """What is said of the log that is not used, right under the first table."""
    (said,) = [text for text in sheet["summary"].says if "not used" in text]
    assert sheet["summary"].says[0] == said
    assert said in sheet["sessions"].says
    assert said.endswith("It is shown here, and not used.")
    return said


def nothing_is_taken(sheet, without):
    """Whether a sheet has the numbers of the one without a log, beside what is shown of it."""
    assert (sheet.cap, sheet.cards.count, sheet.kv_format) == (without.cap, without.cards.count, without.kv_format)
    assert sheet.cards == without.cards
    assert sheet.assumptions == without.assumptions
    assert sheet.notes == without.notes
    assert (sheet.measured, sheet.pool, sheet.costs.held) == (without.measured, without.pool, without.costs.held)
    assert [row.values for row in sheet["summary"].rows] == [row.values for row in without["summary"].rows]
    return True


def test_a_log_of_another_machine_is_shown_and_not_used(small, log):
    """It is of a card of 25 GB."""
    sheet = worksheet(small, "h100-sxm", log=log)
    assert value(sheet, "sessions", "other_log").m_as("session") == 1
    assert "The log is of another machine, 25.3 GB to a card." in foreign(sheet)
    assert nothing_is_taken(sheet, worksheet(small, "h100-sxm"))
    assert cost_of(sheet, "held").source == "sessions, computed: by what the model needs"
    two = worksheet(small, "rtx-4090", 2, log=dataclasses.replace(log, settings={"tensor_parallel": 1}))
    assert "another machine, 1 accelerator to a copy" in foreign(two)
    assert "HELD = None" in notebook(two)


def four_ranks(pool="35.98", more=()):
    """The log of a model of 70 billion parameters on four cards of 80 GB, whose memory it does not state."""
    lines = [*more]
    for rank in range(4):
        lines += [
            f"(VllmWorker rank={rank} pid=1{rank}) INFO [gpu_model_runner.py:1843] Model loading took 32.89 GiB\n",
            f"(VllmWorker rank={rank} pid=1{rank}) INFO [gpu_worker.py:227] Available KV cache memory: {pool} GiB\n",
        ]
    tokens = int(float(pool) * 2**30 / 81920)
    lines += [
        f"INFO [kv_cache_utils.py:715] GPU KV cache size: {tokens:,} tokens\n",
        f"INFO [kv_cache_utils.py:719] Maximum concurrency for 65,536 tokens per request: {tokens / 65536:.2f}x\n",
    ]
    return logs.read(lines)


@pytest.mark.parametrize("card, memory", [("rtx-4090", "25.8 GB"), ("l40s", "48.3 GB")])
def test_a_log_that_takes_more_than_a_card_has_is_of_another_machine(card, memory):
    """Seven sessions a card were the first number of a sheet on which none fits."""
    cap = quantity("16384 token")
    sheet = worksheet(read(LLAMA), card, cap=cap, log=four_ranks())
    why = f"The log is of another machine: weights and cache take 73.9 GB on each card, which has {memory}."
    assert why in foreign(sheet)
    assert nothing_is_taken(sheet, worksheet(read(LLAMA), card, cap=cap))
    assert value(sheet, "summary", "sessions_per_card").magnitude == 0
    assert " on 1 × " in markdown(sheet).splitlines()[0]
    used = worksheet(read(LLAMA), "h100-sxm", cap=cap, log=four_ranks())
    assert value(used, "summary", "sessions_per_card").m_as("session") == 7


def test_a_log_that_takes_far_less_than_a_card_has_looks_like_a_smaller_card():
    cap = quantity("16384 token")
    sheet = worksheet(read(LLAMA), "h200-sxm", cap=cap, log=four_ranks())
    why = "The log looks like one of a smaller card: weights and cache take 73.9 GB on each, and the engine may"
    assert f"{why} use 127 GB of this one." in foreign(sheet)
    assert nothing_is_taken(sheet, worksheet(read(LLAMA), "h200-sxm", cap=cap))


def test_a_pool_that_was_asked_for_does_not_tell_of_the_card():
    told = dataclasses.replace(four_ranks(), settings={"override": 2000})
    sheet = worksheet(read(LLAMA), "h200-sxm", cap=CAP, log=told)
    assert sheet.measured.m_as("session") == 14
    assert not any("not used" in text for text in sheet["sessions"].says)


def test_ranks_that_share_a_copy_are_no_log_of_fewer_cards():
    sheet = worksheet(read(LLAMA), "h100-sxm", 1, cap=CAP, log=four_ranks())
    assert "another machine, 4 accelerators to a copy" in foreign(sheet)


def test_a_log_that_counts_sessions_on_this_machine_is_not_called_impossible():
    """What was computed took more for granted than there is."""
    sheet = worksheet(read(LLAMA), "h100-sxm", cap=CAP, log=four_ranks(), runtime=quantity("40 GB"))
    assert value(sheet, "sessions", "needs").magnitude == 0
    assert sheet.measured.magnitude == 14
    assert not any("Not one session" in text for section in sheet.sections for text in section.says)


QWEN = """\
INFO [config.py] Initializing a V1 LLM engine (v0.9.0) with config: model='Qwen/Qwen3-32B', dtype=torch.bfloat16, \
max_seq_len=40960, tensor_parallel_size=2, pipeline_parallel_size=1, quantization=None, kv_cache_dtype=auto
(VllmWorker rank=0 pid=1) INFO [gpu_model_runner.py:1843] Model loading took 30.5852 GiB and 20.1 seconds
(VllmWorker rank=1 pid=2) INFO [gpu_model_runner.py:1843] Model loading took 30.5852 GiB and 20.1 seconds
(VllmWorker rank=0 pid=1) INFO [gpu_worker.py:227] Available KV cache memory: 38.12 GiB
(VllmWorker rank=1 pid=2) INFO [gpu_worker.py:227] Available KV cache memory: 38.10 GiB
INFO [kv_cache_utils.py:715] GPU KV cache size: 312,112 tokens
INFO [kv_cache_utils.py:719] Maximum concurrency for 40,960 tokens per request: 7.62x
"""


@pytest.mark.parametrize("precision, why", [(None, "whose weights are 65.7 GB, not 141 GB"), (EIGHT_BIT, "tokens")])
def test_a_log_of_another_model_is_shown_and_not_used(precision, why):
    """By its weights, or where those might be, by what its pool holds."""
    sheet = worksheet(
        read(LLAMA), "h100-sxm", log=logs.read(QWEN.splitlines(keepends=True)), weight_precision=precision
    )
    said = foreign(sheet)
    assert said.startswith("The log is of another model, ")
    assert why in said
    assert "(Qwen/Qwen3-32B). It" in said
    without = worksheet(read(LLAMA), "h100-sxm", weight_precision=precision)
    assert nothing_is_taken(sheet, without)
    assert value(sheet, "cap", "tokens").m_as("token") == 131_072
    assert sheet.sections[0]["weights"].source.startswith("computed")
    assert value(sheet, "weights", "other_log").m_as("GiB") == pytest.approx(2 * 30.5852)
    assert "computed" in sheet.sections[0]["sessions_per_card"].source


def test_the_weights_of_another_models_log_do_not_stand_for_those_that_are_not_known():
    """The file declares a quantisation, and the cache of the log is of another model."""
    log = logs.read(QWEN.splitlines(keepends=True))
    with pytest.raises(Refused, match="--weights, .* is of another model, .* not used"):
        worksheet(read(DEEPSEEK), "h200-sxm", 2, CAP, log=log)
    bare = dataclasses.replace(read(LLAMA), parameters=None)
    with pytest.raises(InputError, match="wanted --weights. The log is of another model, .* not used"):
        worksheet(bare, "h100-sxm", log=log)


def of_a_quantised_file(layers=80, cache=2560, file_type="Q4_K - Medium", on_card=20005, in_main=20711):
    """The log of llama.cpp with a file of 4.8 bits a weight, half of the layers in main memory."""
    return logs.read(
        f"""\
print_info: file type   = {file_type}
print_info: file size   = 39.59 GiB (4.82 BPW)
print_info: general.name     = Meta Llama 3.1 70B
load_tensors:        CUDA0 model buffer size = {on_card}.00 MiB
load_tensors:   CPU_Mapped model buffer size = {in_main}.00 MiB
llama_context: n_seq_max     = 1
llama_context: n_ctx         = 8192
llama_context: n_ubatch      = 512
llama_kv_cache:      CUDA0 KV buffer size =  {cache / 2:.2f} MiB
llama_kv_cache:        CPU KV buffer size =  {cache / 2:.2f} MiB
llama_kv_cache: size = {cache:.2f} MiB (  8192 cells,  {layers} layers,  1/1 seqs), K (f16): {cache / 2:.2f} MiB, V \
(f16): {cache / 2:.2f} MiB
""".splitlines(keepends=True)
    )


def test_less_weight_is_no_other_model_where_the_log_is_of_a_quantised_file():
    sheet = worksheet(read(LLAMA), "rtx-4090", log=of_a_quantised_file())
    assert not any("not used" in text for text in sheet["sessions"].says)
    assert sheet.cards.weights.size.m_as("MiB") == pytest.approx(40716)
    assert not any("16 bits" in text for text in sheet.assumptions)
    said = "The log's weights are 42.69 GB, not 141.1 GB: they are quantised (Q4_K). Give the .gguf file as CONFIG, or "
    assert f"{said}--weights '42.69 GB'." in sheet["weights"].says
    assert sheet["summary"]["sessions_per_card"].source == "sessions, as the log has it"
    assert "21.7 GB of the weights are in main memory" in " ".join(sheet["sessions"].says)
    assert "42.69 GB" in in_notebook(sheet)
    given = worksheet(read(LLAMA), "rtx-4090", log=of_a_quantised_file(), weights=quantity("42.69 GB"))
    assert given.measured == sheet.measured
    assert not any("Give the .gguf" in text for text in given["weights"].says)


@pytest.mark.parametrize(
    "changed, given, why",
    [
        ({"layers": 32, "cache": 1024}, {}, "as its cache is 40 % of what is predicted"),
        ({"on_card": 2000, "in_main": 2000}, {}, "whose weights are 4.19 GB, not 141 GB"),
        ({"file_type": "BF16"}, {}, "whose weights are 42.7 GB, not 141 GB"),
        ({}, {"weights": quantity("75 GB")}, "whose weights are 42.7 GB, not 75 GB"),
    ],
)
def test_a_quantised_file_may_be_of_another_model_all_the_same(changed, given, why):
    assert why in foreign(worksheet(read(LLAMA), "rtx-4090", log=of_a_quantised_file(**changed), **given))


def test_a_log_of_vllm_that_states_a_quantisation_is_of_this_model_if_its_cache_is():
    settled = dataclasses.replace(four_ranks(), settings={"quantisation": "awq", "tensor_parallel": 4})
    ranks = tuple(dataclasses.replace(rank, weights=0.28 * rank.weights) for rank in settled.ranks)
    log = dataclasses.replace(settled, ranks=ranks, weights=0.28 * settled.weights, utilisation=0.6)
    sheet = worksheet(read(LLAMA), "h100-sxm", cap=CAP, log=log)
    assert sheet.cards.weights.size == log.weights
    assert "(awq). Give the configuration of the quantised model as CONFIG" in " ".join(sheet["weights"].says)


def test_an_engine_that_did_not_start_is_said(small):
    refused = logs.read(
        [
            "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (3.81 GiB). Based on the available memory, the "
            "estimated maximum model length is 31216.\n"
        ]
    )
    sheet = worksheet(small, "rtx-4090", log=refused)
    assert any(text.startswith("By the log the engine did not start: ") for text in sheet["sessions"].says)
    assert "the log does not say it" in markdown(sheet)
    assert "start the engine once" not in markdown(sheet)


def test_llama_cpp_holds_what_it_was_told_to(small):
    size = "1024.00 MiB (  8192 cells,  32 layers,  1/1 seqs), K (f16):  512.00 MiB, V (f16):  512.00 MiB"
    told = logs.read(["llama_context: n_ctx = 8192\n", f"llama_kv_cache: size = {size}\n"])
    sheet = worksheet(small, "rtx-4090", cap=quantity("8192 token"), log=told)
    assert sheet["per_token"].columns == (NEEDS, "llama.cpp")
    assert "told to allocate, --ctx-size" in " ".join(sheet["sessions"].says)


def test_the_parts_of_the_room_add_up(small, log):
    sheet = worksheet(small, "rtx-4090", log=log, utilisation=quantity("0.8"))
    text = next(text for text in sheet["sessions"].says if text.startswith("Room by the log"))
    whole, *parts = [float(sign.replace("−", "-") + size) for sign, size in re.findall(r"([+−])([\d.]+) GB", text)]
    assert len(parts) == 4
    assert whole == pytest.approx(sum(parts), abs=0.01)


def test_a_log_settles_what_would_be_assumed(small, log):
    sheet = worksheet(small, "rtx-4090", log=log)
    assert sheet.cards.utilisation.m_as("") == log.utilisation
    assert not any("memory for the engine" in text for text in sheet.assumptions)
    assert any("memory for the engine" in text for text in worksheet(small, "rtx-4090").assumptions)
    assert sheet["per_token"].columns == (NEEDS, "vLLM")


def test_the_best_knowledge_of_the_sessions_is_used_for_the_cost(small, log):
    assert cost_of(worksheet(small, "rtx-4090", log=log, tested_sessions=5), "held").values[0].m_as("session") == 5
    logged = cost_of(worksheet(small, "rtx-4090", log=log), "held")
    assert (logged.values[0].m_as("session"), logged.source) == (1, "sessions, as the log has it")
    computed = cost_of(worksheet(small, "h100-sxm", cap=CAP), "held")
    assert computed.source == "sessions, computed: by what the model needs"


# cost


def test_the_cost_by_hand(small):
    """Seven sessions held for half an hour each, at half load, on a card of 4 USD an hour."""
    sheet = full(small)
    assert cost_of(sheet, "memory_rate").values[0].m_as("session/hour") == pytest.approx(14)
    assert cost_of(sheet, "own").values[0].m_as("USD/session") == pytest.approx(4 / 7)
    assert cost_of(sheet, "host").values[0].m_as("USD/session") == pytest.approx(0.2 * 0.5 + 1.8 * 0.1 + 0.03 * 2)
    assert cost_of(sheet, "own_token").values[0].m_as("USD/Mtoken") == pytest.approx(4 / 7 / 2.03)
    assert cost_of(sheet, "crossing").values[0].m_as("session/hour") == pytest.approx(4 / 0.34)
    assert cost_of(sheet, "crossing_load").values[0].m_as("") == pytest.approx(4 / 0.34 / 14)
    assert cost_of(sheet, "holding").values[0].m_as("USD/hour/token") == pytest.approx(4 / (7 * 32_768))
    assert cost_of(sheet, "interval").values[0].m_as("second") == pytest.approx(0.1e-6 / (4 / (7 * 32_768)) * 3600)
    assert cost_of(sheet, "of_revenue").values[0].m_as("") == pytest.approx(1 - 4 / 7 / 0.34)
    assert cost_of(sheet, "of_cost").values[0].m_as("") == pytest.approx(0.34 / (4 / 7) - 1)


def test_a_margin_below_zero_has_a_minus_sign_and_half_a_sentence(small):
    loss = full(small, hire=given_price(hire=quantity("8 USD/accelerator/hour")))
    for key, shown in (("of_revenue", "−236 %"), ("of_cost", "−70.3 %")):
        row = cost_of(loss, key)
        assert cell(row, row.values[0]) == shown
        assert row.source.endswith("; negative, as the price is below your cost")
    assert "| -" not in markdown(loss).replace("| ---", "")
    gain = full(small, hire=given_price(hire=quantity("0.1 USD/accelerator/hour")))
    assert not any("negative" in row.source for row in gain["cost"].rows)


def test_the_floors_by_hand(small):
    """One card; half of seven sessions decode together, over no context where none is known."""
    sheet, card = full(small), catalog.part("accelerator", "h100-sxm")
    n = small.parameters.total
    prefill = 2 * n / card.rate_16bit.m_as("op/s")
    decode = 2 * n / card.bandwidth.m_as("byte/s") / 3.5
    assert cost_of(sheet, "prefill_floor").values[0].m_as("s/token") == pytest.approx(prefill)
    assert cost_of(sheet, "decode_floor").values[0].m_as("s/token") == pytest.approx(decode)
    rate = 1 / (2e6 * 0.1 * prefill + 30_000 * decode)
    assert cost_of(sheet, "compute_rate").values[0].m_as("session/s") == pytest.approx(rate)


def test_attention_is_in_the_floors_where_contexts_are_known(small):
    bare, known = full(small), full(small, session={**SESSION, "requests": quantity("100") / quantity("1 session")})
    more = cost_of(known, "prefill_floor").values[0] - cost_of(bare, "prefill_floor").values[0]
    operations = 4 * 32 * 4096 * 20_000  # layers, width, mean context
    assert more.m_as("s/token") == pytest.approx(operations / known.cards.accelerator.rate_16bit.m_as("op/s"))
    assert cost_of(known, "decode_floor").values[0] > cost_of(bare, "decode_floor").values[0]


def test_no_context_is_beyond_the_cap(small):
    """A trace from before there was one."""
    asked = {**SESSION, "prompts": quantity("1e8 token") / quantity("1 session")}
    sheet = full(small, session={**asked, "requests": quantity("100") / quantity("1 session")})
    assert sheet.costs.floors.context == CAP


def test_a_mixture_reads_the_experts_that_its_tokens_choose():
    """Of one token the active weights, of many nearly all."""
    one, many = (
        full(read(MIXTRAL), count=2, tested_sessions=n, session={**SESSION, "wait_share": quantity("0")})
        for n in (1, 64)
    )
    step = {n: cost_of(sheet, "decode_floor").values[0].m_as("s/token") * n for n, sheet in ((1, one), (64, many))}
    whole = 2 * 2 * 3.35e12 / 2  # two cards; bytes a parameter cancel below
    assert step[1] == pytest.approx(read(MIXTRAL).parameters.active * 2 / whole, rel=1e-3)
    assert step[64] == pytest.approx(read(MIXTRAL).parameters.total * 2 / whole, rel=1e-3)


def test_four_bit_arithmetic_is_not_used_for_eight_bit_weights():
    for precision, arithmetic in (
        ("1 byte/parameter", "8-bit"),
        ("2 byte/parameter", "16-bit"),
        ("0.5 byte/parameter", "4-bit"),
    ):
        sheet = worksheet(read(LLAMA), "b200-sxm", 4, CAP, weight_precision=quantity(precision), session=SESSION)
        assert sheet.costs.floors.arithmetic == arithmetic


@pytest.mark.parametrize("lifetime, binds", [("30 min", "Memory"), ("1 s", "Prefill and decode")])
def test_it_says_which_of_memory_and_processing_binds(small, lifetime, binds):
    sheet = full(small, session={**SESSION, "lifetime": quantity(lifetime)})
    assert any(text.startswith(f"{binds} bind") for text in says_of_cost(sheet))
    rates = [cost_of(sheet, key).values[0] for key in ("memory_rate", "compute_rate")]
    assert sheet.costs.full_rate == min(rates)


def test_where_the_two_do_not_cross_it_says_so(small):
    dear = full(small, hire=given_price(hire=quantity("400 USD/accelerator/hour")))
    assert any(text.startswith("The host is cheaper at any load") for text in says_of_cost(dear))
    cheap = full(small, hire=given_price(hire=quantity("0.04 USD/accelerator/hour")))
    assert any(
        text.startswith("Self-hosting costs less above 2.82 sessions/day, 0.84 %") for text in says_of_cost(cheap)
    )


def test_what_the_trace_has_decides_which_side_is_cheaper(small, trace):
    for hire, cheaper in (
        ("0.01 USD/accelerator/hour", "self-hosting is cheaper"),
        ("400 USD/accelerator/hour", "the host is cheaper"),
    ):
        sheet = full(small, trace=trace, session={}, hire=given_price(hire=quantity(hire)))
        assert says_of_cost(sheet)[-1].endswith(f"{cheaper}.")
    starts = cost_of(sheet, "rate").values[0]
    copies = cost_of(sheet, "copies").values[0].m_as("")
    assert copies == math.ceil((starts / sheet.costs.full_rate).m_as(""))
    assert cost_of(sheet, "own_of_these").values[0].m_as("USD/session") == pytest.approx(
        copies * (quantity("400 USD/hour") / starts).m_as("USD/session")
    )


def test_a_trace_says_what_a_session_is(small, trace):
    session = worksheet(small, "h100-sxm", cap=CAP, trace=trace).costs.session
    assert session.prompts.m_as("token/session") == pytest.approx(trace.input_per_session)
    assert session.lifetime.m_as("s") == pytest.approx(4 * 60 + 12)
    assert session.wait_share.m_as("") == pytest.approx(1 - 60 / 252)
    assert session.hits.m_as("") == pytest.approx(0.8, abs=1e-3)
    assert session.sources["hits"] == "the trace"


def test_a_trace_of_zeros_does_not_say(small, trace):
    """Single requests without a duration live for no time, as far as the trace knows."""
    zeros = dataclasses.replace(trace, lifetime=quantity("0 s"), output_per_session=0.0, hits_by_tokens=0.0)
    session = worksheet(small, "h100-sxm", cap=CAP, trace=zeros, hire=HIRE, hosted=HOST).costs.session
    assert (session.lifetime, session.output) == (None, None)
    assert session.hits.m_as("") == 0


def test_what_is_given_goes_before_the_trace(small, trace):
    session = full(small, trace=trace).costs.session
    assert (session.hits, session.sources["hits"]) == (SESSION["hits"], "as given")


def test_what_is_taken_for_granted_in_a_cost_is_said(small):
    bare = {key: SESSION[key] for key in ("prompts", "output", "lifetime")}
    host = given_price(input=quantity("1 USD/Mtoken"), output=quantity("2 USD/Mtoken"))
    says = " ".join(says_of_cost(full(small, session=bare, hosted=host)))
    assert says.count("Assumed:") == 4
    assert "--session-requests" in says
    assert "no prompt token is found in a cache" in says
    assert "charges a cached token as any other" in says


def test_arithmetic_that_is_not_known_is_left_out_and_said(small):
    sheet = full(dataclasses.replace(small, parameters=None), weights=quantity("16 GB"))
    assert cost_of(sheet, "compute_rate").values[0] is None
    assert cost_of(sheet, "own").values[0] is not None
    assert any(text.startswith("Prefill and decode are left out") for text in says_of_cost(sheet))
    timeless = full(small, session={**SESSION, "lifetime": None})
    assert timeless.costs.full_rate == timeless.costs.compute_rate
    assert any(text.startswith("Memory is left out") for text in says_of_cost(timeless))


def test_a_cost_where_memory_is_given_out_as_contexts_grow(small, trace):
    """Of a quarter of the cap's length four times the sessions, and a quarter of the cost where memory binds."""
    short = of_lengths(trace, [8192] * 400)
    sheet = full(small, trace=short, session={**SESSION, "lifetime": quantity("10 h")}, tested_sessions=7)
    assert cost_of(sheet, "held_filled").values[0].m_as("session") == 28
    own, filled = (cost_of(sheet, key).values[0] for key in ("own", "own_filled"))
    assert filled.m_as("USD/session") == pytest.approx(own.m_as("USD/session") / 4)
    longer = full(small, trace=of_lengths(trace, [40_000] * 400))
    assert cost_of(longer, "held_filled").values[0] is None


def test_a_host_is_not_called_cheaper_at_any_load_where_that_hangs_on_how_memory_is_given(small, trace):
    """They cross at 282 a day; 168 are served where the cap is kept for each, and more where memory follows."""
    session = {**SESSION, "lifetime": quantity("1 h"), "requests": quantity("1000") / quantity("1 session")}
    said = says_of_cost(full(small, trace=of_lengths(trace, [8192] * 400), session=session))
    assert any(text.startswith("With memory kept for the cap, the host is cheaper at any load. Given") for text in said)
    said = says_of_cost(full(small, session=session))
    assert any(text.startswith("The host is cheaper at any load: the two would cross at 282") for text in said)


@pytest.fixture(scope="module")
def costs(small):
    return full(small).costs


@steady
@given(st.floats(0, 1), st.floats(0, 0.99), st.floats(1, 1e5), st.integers(1, 100))
def test_own_and_host_cost_the_same_at_the_crossing(costs, hits, waits, life, held):
    changed = {"hits": Quantity(hits, ""), "wait_share": Quantity(waits, ""), "lifetime": Quantity(life, "s")}
    session = dataclasses.replace(costs.session, **changed)
    costs = dataclasses.replace(costs, session=session, held=Quantity(float(held), "session"))
    if costs.crossing_load > Quantity(1, ""):
        return
    at = dataclasses.replace(costs, load=costs.crossing_load)
    assert at.own.m_as("USD/session") == pytest.approx(costs.host.m_as("USD/session"))
    assert at.of_revenue.m_as("") == pytest.approx(0, abs=1e-9)


# what is missing


def test_every_empty_row_says_how_to_fill_it(small):
    sheet = worksheet(small, "h100-sxm")
    empty = [row for section in sheet.sections for row in section.rows if not row.known]
    assert len(empty) > 20
    assert all(row.missing or row.needs for row in empty)
    assert {row.key for _, row in sheet.missing} >= {"at_cap", "p99", "log", "tested", "hire", "input_price"}
    served = worksheet(small, "h100-sxm", session=SESSION)
    assert "load" in {row.key for _, row in served.missing}


def test_a_full_sheet_has_no_empty_row(small, log, trace):
    model = dataclasses.replace(small, weights=counted_weights(small).size)
    sheet = full(model, log=of_an_h100(log), trace=trace)
    assert [row.key for section in sheet.sections for row in section.rows if not row.known] == []
    assert sheet.missing == []


def test_hires_of_the_catalog_are_named(small):
    assert "h100-sxm-lambda-2026" in cost_of(worksheet(small, "h100-sxm"), "hire").missing
    assert "lambda" not in cost_of(worksheet(small, "l4"), "hire").missing


def test_options_that_are_named_exist(small):
    """What an empty row asks for can be given."""
    printed = markdown(worksheet(small, "h100-sxm"))
    known = CliRunner().invoke(app, ["worksheet", "--help"], env={"COLUMNS": "200"}).stdout
    asked = set(re.findall(r"--[a-z][a-z-]+", printed))
    assert asked >= {"--log", "--trace", "--hire", "--tested-sessions", "--at-cap"}
    assert asked <= set(re.findall(r"--[a-z][a-z-]+", known))


# Markdown, JSON, notebook


def test_what_to_do_is_said_once_and_the_cost_is_short_without_prices(small):
    printed = markdown(worksheet(small, "h100-sxm"))
    assert printed.count("start the engine once") == 2  # of the weights, and of the sessions
    assert printed.count("not known yet") < 16
    assert len(printed[printed.index("## Memory and money") : printed.index("## Assumed")].splitlines()) < 22
    assert "## Cost" not in printed


def test_the_tables_of_the_markdown_are_whole(small, log, trace):
    for sheet in (worksheet(small, "h100-sxm"), full(small, log=log, trace=trace)):
        for block in markdown(sheet).split("\n\n"):
            if block.startswith("|"):
                cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
                assert len(cells) == 1, block


def test_names_of_files_are_no_markup(small):
    nasty = dataclasses.replace(small, name="a|b\n# c <script> `d` [e](f) \x1b[2J *g*")
    printed = markdown(worksheet(nasty, "h100-sxm", at_cap="a | b\nc"))
    assert printed.startswith(r"# a\|b \# c \<script\> \`d\` \[e\](f)  \[2J \*g\* on 1 × NVIDIA H100 SXM 80 GB" + "\n")
    assert "\x1b" not in printed
    assert r"| a \| b c |" in printed


def test_the_title_has_the_date_of_the_prices(small):
    assert "prices of 2026-11-01." in markdown(full(small))
    undated = markdown(full(small, hire=given_price(hire=quantity("1 USD/accelerator/hour")), hosted=None))
    assert "without a date" in undated


def test_json_is_plain_and_has_every_row(small, log, trace):
    for sheet in (worksheet(small, "h100-sxm"), full(small, log=log, trace=trace)):
        found = json.loads(json.dumps(plain(sheet), allow_nan=False))
        for section in sheet.sections:
            assert {row.key for row in section.rows} <= found[section.key].keys()
        keys = [section.key for section in sheet.sections] + ["model", "count", "assumptions"]
        assert len(keys) == len(set(keys))


def outputs(book):
    return [output["text"] for one in book.cells if one.cell_type == "code" for output in one.outputs]


def test_a_notebook_runs_and_prints_the_numbers_that_it_has(small, log, trace, monkeypatch):
    """In a kernel of its own, where neither the trace nor the log is at hand."""
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    book = nbformat.reads(notebook(full(small, log=of_an_h100(log), trace=trace)), as_version=4)
    filled = outputs(book)
    for one in book.cells:
        if one.cell_type == "code":
            one.outputs, one.execution_count = [], None
    NotebookClient(book, timeout=60, kernel_name="python3").execute()
    assert outputs(book) == filled
    assert len(filled) >= 9


def test_a_notebook_keeps_the_settings_of_the_log(log):
    """A window that holds a step of 2,048 tokens more, not of 8,192."""
    model = read(GEMMA)
    log = dataclasses.replace(of_an_h100(log), weights=None, ranks=(), cache=None, tokens=None, concurrency=None)
    settled = dataclasses.replace(log, settings={**log.settings, "batched_tokens": 2048})
    sheet, otherwise = (full(model, log=one, tested_sessions=None) for one in (settled, log))
    reserved = [one["per_token"]["session"].values[1] for one in (sheet, otherwise)]
    assert reserved[0] < reserved[1]
    assert f"a session {cell(sheet['per_token']['session'], reserved[0]).partition(' (')[0]}" in in_notebook(sheet)


def in_notebook(sheet):
    return "".join(outputs(nbformat.reads(notebook(sheet), as_version=4)))


@pytest.mark.parametrize("file, count", [(LLAMA, 4), (GEMMA, 1), (NEMOTRON, 2), (DEEPSEEK, 8)])
def test_a_notebook_has_the_numbers_of_the_markdown(file, count):
    sheet = full(read(file), count=count, weight_precision=EIGHT_BIT, tested_sessions=None)
    printed = in_notebook(sheet)
    for column, held in zip(sheet["sessions_by_cap"].columns, sheet["sessions_by_cap"]["at"].values, strict=True):
        if held is not None:
            assert f"{held.m_as('session'):,.0f} session" in printed
            assert f"({column})" in printed
    for key in ("own", "host", "own_token", "host_token", "crossing", "memory_rate", "compute_rate", "holding"):
        row = cost_of(sheet, key)
        assert cell(row, row.values[0]) in printed if row.known else "not known" in printed, key


def test_a_notebook_is_the_same_every_time_and_valid(small, log, trace):
    made = [notebook(full(small, log=log, trace=trace)) for _ in range(2)]
    assert made[0] == made[1]
    nbformat.validate(nbformat.reads(made[0], as_version=4))


def changed_notebook(sheet, **changed):
    """What the cells of a sheet's notebook compute and print when inputs of the first one are changed."""
    book = nbformat.reads(notebook(sheet), as_version=4)
    first, *others = [one.source for one in book.cells if one.cell_type == "code"]
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(first, names)
        assert changed.keys() <= names.keys()
        names.update(changed)
        exec("\n".join(others), names)
    return names, printed.getvalue()


def test_a_notebook_computes_anew_when_an_input_is_changed(small):
    """The cap of the first cell halved: twice the sessions, at half the cost."""
    before = full(small, tested_sessions=None)
    names, _ = changed_notebook(before, CAP="16384 token")
    assert names["costs"].held.m_as("session") == pytest.approx(2 * before.costs.held.m_as("session"), abs=1)
    assert names["costs"].own < 0.55 * before.costs.own


@pytest.mark.parametrize(
    "name, given",
    [
        ("CAP", "16384 token"),
        ("COUNT", 2),
        ("ACCELERATOR", "h200-sxm"),
        ("KV_FORMAT", "fp8"),
        ("UTILISATION", "0.5"),
    ],
)
def test_what_was_measured_otherwise_is_left_out_of_a_changed_notebook(small, log, name, given):
    """A load test tells nothing of another cap or of another card."""
    sheet = full(small, log=of_an_h100(log), tested_sessions=7)
    same, printed = changed_notebook(sheet)
    assert same["costs"].held.m_as("session") == 7
    assert "left out" not in printed
    changed, printed = changed_notebook(sheet, **{name: given})
    assert changed["costs"].held == changed["cards"].sessions("vLLM", changed["cap"])
    assert f"measured at another {name}: left out" in printed


@pytest.mark.parametrize("given", [32768, 32768.0, "32768"])
def test_a_plain_number_for_the_cap_of_a_notebook_is_of_tokens(small, log, given):
    sheet = full(small, log=of_an_h100(log))
    names, printed = changed_notebook(sheet, CAP=given)
    assert names["cap"] == CAP
    assert "left out" not in printed


@pytest.mark.parametrize("given", ["3 GB", "0 token"])
def test_a_cap_that_is_not_of_tokens_is_refused_in_a_notebook(small, given):
    with pytest.raises(ValueError, match="wanted tokens, as in '32768 token'"):
        changed_notebook(full(small), CAP=given)


def test_a_notebook_prints_sentences_and_whole_tokens(small, trace):
    sheet = full(
        small, trace=dataclasses.replace(trace, lengths=of_lengths(trace, [100, 101, *range(28000, 29000)]).lengths)
    )
    assert sheet.lengths["p99"].m_as("token") % 1
    printed = in_notebook(sheet)
    assert (
        "99th percentile of 1,002 sessions: 28,989 tokens. The cap works: the 99th percentile is 88 % of it." in printed
    )
    assert re.search(r"high end, with 95 % confidence: 28,\d\d\d tokens\. The cap works", printed)
    assert not re.search(r"\d\.\d+ tokens\b", printed)
    assert "by what vLLM reserves: " in printed
    assert "by what the model needs: " in printed
    first = nbformat.reads(notebook(sheet), as_version=4).cells[0].source
    assert "pip install jupyterlab" in first.splitlines()[-1]


def test_weights_that_were_counted_follow_their_precision(small):
    names, _ = changed_notebook(full(small), WEIGHT_PRECISION="1 byte/parameter")
    assert names["cards"].weights.size == counted_weights(small, EIGHT_BIT).size


def test_a_notebook_of_an_engine_that_does_not_serve_it(log):
    """Then sessions are counted by what the model needs, as in the Markdown."""
    settled = dataclasses.replace(log, memory=None, weights=None, ranks=(), cache=None, tokens=None, concurrency=None)
    sheet = full(
        read(DEEPSEEK), count=8, weight_precision=EIGHT_BIT, log=settled, kv_format="q8_0", tested_sessions=None
    )
    names, printed = changed_notebook(sheet)
    assert "vLLM: not told" in printed
    assert names["held"] == sheet["sessions"]["needs"].values[0]


def test_a_model_of_a_gguf_file_is_read_from_there_again(small):
    sheet = dataclasses.replace(full(small), source="model.gguf")
    assert _config(sheet) == "model.gguf"
    assert _config(full(small))["num_hidden_layers"] == 32


# the command


@pytest.fixture
def run(run):
    """A function that runs ``costlib worksheet``, as that of all tests does ``costlib``."""
    return functools.partial(run, "worksheet")


@pytest.fixture
def files(tmp_path, week):
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    (tmp_path / "vllm.log").write_text(START)
    (tmp_path / "week.csv").write_bytes(week.read_bytes())
    return tmp_path


def test_a_config_a_log_and_a_trace_fill_a_worksheet(run, files):
    code, out, err = run(
        *(
            files / "config.json",
            "--accelerator",
            "rtx-4090",
            "--log",
            files / "vllm.log",
            "--trace",
            files / "week.csv",
        ),
        *("--hire", "0.5 USD/hour", "--price-date", "2026-11-30", "--hosted", "deepseek-v3-2025"),
        *("--at-cap", "compact", "--tested-sessions", "2", "--load", "50 %"),
    )
    assert (code, err) == (0, "")
    assert out.count("\n## ") >= 7
    assert out.count("not known yet") == 1  # no files of weights lie there
    assert "costlib worksheet" in out
    assert "prices of 2026-11, 2026-11-30." in out


def test_json_and_notebook_are_printed_too(run, files):
    asked = (files / "config.json", "--accelerator", "h100-sxm")
    code, out, _ = run(*asked, "--format", "json")
    assert (code, json.loads(out)["cap"]["tokens"]) == (0, 131_072)
    code, out, _ = run(*asked, "--format", "notebook")
    assert code == 0
    assert nbformat.reads(out, as_version=4).cells[0].source.startswith("# ")


def test_one_of_the_files_may_be_standard_input(run, files):
    code, out, _ = run(files / "config.json", "--accelerator", "rtx-4090", "--log", "-", stdin=START.encode())
    assert code == 0
    assert "by the log 16.094 GB" in out
    code, _, err = run("-", "--accelerator", "rtx-4090", "--log", "-")
    assert (code, "is to be read twice" in err) == (2, True)


def test_columns_of_a_trace_may_be_named(run, files):
    odd = (files / "week.csv").read_text().replace("prompt_tokens", "alpha").replace("completion_tokens", "beta")
    (files / "odd.csv").write_text(odd)
    asked = (files / "config.json", "--accelerator", "h100-sxm")
    code, _, err = run(*asked, "--trace", files / "odd.csv")
    assert (code, "odd.csv" in err) == (2, True)
    named = ("--column", "input_tokens=alpha", "--column", "output_tokens=beta", "--session", "session_id")
    code, out, _ = run(*asked, "--trace", files / "odd.csv", *named)
    assert code == 0
    assert "| sessions in the trace | 1,000 sessions |" in out
    code, _, err = run(*asked, *named)
    assert (code, "wanted --trace too" in err) == (2, True)


def test_a_file_is_written_whole_or_not_at_all(run, files):
    target = files / "sheet.md"
    asked = (files / "config.json", "--accelerator", "h100-sxm", "--output", target)
    code, out, err = run(*asked)
    assert (code, out, err) == (0, "", "")
    written = target.read_text()
    assert written.startswith("# ")
    code, _, _ = run(*asked, "--log", files / "config.json")
    assert code == 2
    assert target.read_text() == written
    assert sorted(file.name for file in files.iterdir()) == ["config.json", "sheet.md", "vllm.log", "week.csv"]


def test_a_pipe_is_written_to_and_not_replaced(run, files):
    """Nor is a device."""
    pipe = files / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code, out, err = run(files / "config.json", "--accelerator", "h100-sxm", "--output", pipe)
    assert (code, out, err) == (0, "", "")
    assert pipe.is_fifo()
    assert os.read(reader, 2) == b"# "
    os.close(reader)


@pytest.mark.parametrize("form", ["markdown", "json", "notebook"])
def test_a_name_that_is_no_text_is_written_all_the_same(run, files, form):
    config = files / "w\udcff|`y`.json"
    config.write_text(json.dumps(SMALL))
    target = files / f"sheet.{form}"
    code, _, err = run(config, "--accelerator", "h100-sxm", "--format", form, "--output", target)
    assert (code, err) == (0, "")
    written = target.read_text(encoding="utf-8")
    assert form == "markdown" or json.loads(written)


def test_layers_are_not_split_over_more_cards_than_there_are_layers():
    held = worksheet(read(GEMMA), "h100-sxm", 64, CAP)["sessions"]["llama.cpp"]
    assert not held.known
    assert held.missing == "it splits layers; wanted at most 30 accelerators"


def test_a_dash_is_standard_output(run, files, monkeypatch):
    monkeypatch.chdir(files)
    code, out, _ = run("config.json", "--accelerator", "h100-sxm", "--output", "-")
    assert (code, out[:2], (files / "-").exists()) == (0, "# ", False)


def test_a_gguf_file_without_weights_says_what_is_wanted(run, tmp_path):
    write(str(tmp_path / "bare.gguf"), Case("", "llama", {}), {})
    code, out, err = run(tmp_path / "bare.gguf", "--accelerator", "h100-sxm")
    assert (code, out) == (2, "")
    assert "how many weights it has is not known here; wanted --weights" in err
    code, out, _ = run(tmp_path / "bare.gguf", "--accelerator", "h100-sxm", "--weights", "5 GB")
    assert (code, "weights are not counted: the file has none" in out) == (0, True)


def test_requests_of_a_session_may_be_given(run, files):
    asked = (files / "config.json", "--accelerator", "h100-sxm", "--cap", "32768", "--format", "json")
    tokens = ("--session-prompts", "2000000", "--session-output", "30000")
    _, out, _ = run(*asked, *tokens)
    _, known, _ = run(*asked, *tokens, "--session-requests", "100")
    bare, known = json.loads(out), json.loads(known)
    assert known["session"]["requests"] == 100
    assert known["rates"]["decode_floor"] > bare["rates"]["decode_floor"]


def test_a_folder_is_no_file_to_write(run, files):
    (files / "folder").mkdir()
    code, _, err = run(files / "config.json", "--accelerator", "h100-sxm", "--output", files / "folder")
    assert code == 2
    assert "folder: cannot be written: Is a directory" in err
    assert not list(files.glob(".costlib-*"))


@pytest.mark.parametrize(
    "asked, message",
    [
        (("--price-date", "2026-11-30"), "--price-date 2026-11-30: no price is given that it could date"),
        (("--hosted", "deepseek-v3-2025", "--input-price", "1 USD/Mtoken"), "wanted one of them"),
        (("--input-price", "1 USD/Mtoken"), "wanted both --input-price and --output-price"),
        (("--hire", "3 EUR/hour"), "--hire: '3 EUR/hour': no unit 'EUR'"),
        (("--hire", "3 USD/s"), None),
        (("--hire", "3 USD"), "--hire 3 USD: wanted the price of an accelerator for an hour"),
        (("--hire", "0 USD/hour"), "--hire 0 USD/hour: wanted"),
        (("--hire", "deepseek-v3-2025"), "--hire deepseek-v3-2025: has no such price; wanted one of h800-2025"),
        (("--hosted", "h800-2025"), "--hosted h800-2025: has no such price; wanted one of deepseek-r1-2025"),
        (("--hosted", ""), "no price '' in the catalog"),
        (("--hire", "nan USD/hour"), "--hire: 'nan USD/hour' is not a number with a unit"),
        (("--hire", "-1 USD/hour"), "--hire -1 USD/hour: wanted"),
        (("--hire", ""), "--hire: '' is not a number with a unit"),
        (("--hosted", "deepseek"), "no price 'deepseek' in the catalog; did you mean"),
        (("--output", "/nowhere/at/all.md"), "--output /nowhere/at/all.md: cannot be written: No such file"),
        (("--log", "/nowhere.log"), "/nowhere.log: No such file or directory"),
        (("--trace", "/nowhere.csv"), "/nowhere.csv"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(run, files, asked, message):
    code, out, err = run(files / "config.json", "--accelerator", "h100-sxm", *asked)
    if message is None:
        assert code == 2
        return
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "option, given",
    [
        ("--cap", "128k"),
        ("--hits", "1.5"),
        ("--load", "0"),
        ("--format", "pdf"),
        ("--at-cap", "truncat"),
        ("--lifetime", "soon"),
        ("--input-price", "1 USD"),
        ("--input-price", "0 USD/Mtoken"),
        ("--price-date", "yesterday"),
        ("--price-date", "2026-13"),
        ("--price-date", "2026-02-30"),
        ("--session-requests", "0"),
        ("--tested-sessions", "99999999999999999999"),
    ],
)
def test_options_are_checked(run, files, option, given):
    code, out, err = run(files / "config.json", "--accelerator", "h100-sxm", option, given)
    assert (code, out) == (2, "")
    assert option in err


def test_what_happens_at_the_cap_is_one_of_four(run, files):
    asked = (files / "config.json", "--accelerator", "h100-sxm", "--format", "json", "--at-cap")
    for word in ("compact", "summarise", "truncate", "refuse"):
        code, out, _ = run(*asked, word)
        assert (code, json.loads(out)["cap"]["at_cap"]) == (0, word)
    code, _, err = run(*asked, "drop")
    assert code == 2
    assert "'drop'; wanted compact, summarise, truncate or refuse" in " ".join(re.sub("[│╭╰─╮╯]", "", err).split())


@pytest.mark.parametrize(
    "option, begun, words",
    [("--at-cap", "t", {"truncate"}), ("--format", "", {"markdown", "json", "notebook"})],
)
def test_words_are_completed(option, begun, words):
    command = typer.main.get_command(app).commands["worksheet"]
    parameter = next(one for one in command.params if option in one.opts)
    completed = parameter.shell_complete(command.make_context("worksheet", [], resilient_parsing=True), begun)
    assert {one.value for one in completed} == words


def test_options_stand_in_the_order_of_their_use():
    """What fills the five numbers first; what is rarely given last."""
    command = typer.main.get_command(app).commands["worksheet"]
    names = [one.name for one in command.params]
    first = "config accelerator count cap at_cap log trace column session tested_sessions hire hosted input_price"
    assert names[:17] == [*first.split(), "cached_price", "output_price", "price_date", "load"]
    load = next(one for one in command.params if one.name == "load")
    assert load.help == (
        "Sessions that come, as a share of those that could be served, averaged over nights and weekends."
    )


def test_a_notebook_without_nbformat_says_what_it_needs(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbformat", None)
    code, out, err = run(files / "config.json", "--accelerator", "h100-sxm", "--format", "notebook")
    assert (code, out) == (2, "")
    assert "a notebook needs nbformat; install the extra notebook: pip install '.[notebook]' in costlib's folder" in err


def test_an_unknown_accelerator_is_refused(run, files):
    code, _, err = run(files / "config.json", "--accelerator", "h100")
    assert code == 2
    assert "no accelerator 'h100' in the catalog; did you mean" in err


def test_a_quantised_model_without_a_size_is_refused(run):
    code, out, err = run(DEEPSEEK, "--accelerator", "h100-sxm")
    assert (code, out) == (3, "")
    assert "quantization_config" in err
    code, out, _ = run(DEEPSEEK, "--accelerator", "h100-sxm", "--format", "json")
    assert (code, json.loads(out)["refused"]["field"]) == (3, "quantization_config")


def test_a_cache_of_a_log_in_a_format_that_is_not_known_asks_for_it(small, log):
    odd = dataclasses.replace(log, kv_format="turbo3")
    with pytest.raises(InputError, match="'turbo3' is not known.*--kv-precision"):
        worksheet(small, "rtx-4090", log=odd)
    assert worksheet(small, "rtx-4090", log=odd, kv_format="fp8").cards.precision == precision_of("fp8")
