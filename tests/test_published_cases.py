"""What others measured and printed: each case of ``published-cases.csv``, and what else is known of it.

A floor must not be beaten by a measurement; a size must be the one that an
engine allocated or printed, within the digits that it printed. Cases that are
printed somewhere without a public address stand at the end, as tests alone.
"""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from costlib.book import FILES
from costlib.book import cases as published
from costlib.book.cases import CASES, PREDICTIONS
from costlib.kv_cache import block_precision
from costlib.model_config import engines, read_table
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.precision import precision_of
from costlib.queueing import erlang_b, erlang_c, kingman_wait, mg1_wait, mmc_wait, number_in_system, offered_load
from costlib.queueing import utilisation as utilisation_of
from costlib.serving import decode_time, node_step_time, prefill_time, weights_read
from costlib.speculation import speedup, tokens_per_pass
from costlib.units import Quantity, quantity

CONFIGS = FILES / "configs"
ONE_TOKEN = quantity("1 token")
BYTE = quantity("1 B/parameter")
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def related(*relations):
    return [case for case in CASES.values() if case.relation in relations]


@each_case
def test_a_prediction_stands_to_what_was_published_as_its_case_says(case):
    assert case.holds, f"{case.what}: published {case.printed[0]}, predicted {case.printed[1]}; wanted {case.relation}"


# The file


def test_the_file_holds_cases_of_every_kind():
    assert set(Counter(case.kind for case in CASES.values())) == set(PREDICTIONS)
    assert {case.relation for case in CASES.values()} == {"equal", "at most", "at least", "trap"}
    assert len({case.topic for case in CASES.values()}) == 7


def test_an_id_stands_once(tmp_path):
    text = published.FILE.read_text(encoding="utf-8")
    twice = tmp_path / "cases.csv"
    twice.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"cases.csv, row \d+: the id 'E04' stands twice"):
        published.read(twice)


@each_case
def test_a_case_has_a_public_address(case):
    assert re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[\w./#@%-]*)?", case.source)


@each_case
def test_only_a_trap_may_be_far_off_and_says_why(case):
    tolerance = float(case.tolerance)
    if case.relation == "trap":
        assert case.note
        assert tolerance >= 0.1
    elif case.relation == "equal":
        assert 0 <= tolerance <= 0.05
    else:
        assert tolerance == 0


@pytest.mark.parametrize("case", related("equal"), ids=lambda case: case.id)
def test_a_figure_that_is_off_is_noticed(case):
    """By twice its tolerance, or by a millionth where it is exact."""
    off = max(2 * float(case.tolerance) + abs(case.error), 1e-6)
    assert not replace(case, published=repr(float(case.published) * (1 + off))).holds
    assert not replace(case, published=repr(float(case.published) * (1 - off))).holds


@pytest.mark.parametrize("case", related("at most", "at least"), ids=lambda case: case.id)
def test_a_bound_that_is_passed_is_noticed(case):
    passed = case.predicted.magnitude * (1.001 if case.relation == "at most" else 0.999)
    assert not replace(case, published=repr(passed)).holds


def test_a_trap_into_which_the_prediction_falls_is_noticed():
    trap = CASES["D09-total"]
    assert not replace(trap, published=repr(trap.predicted.magnitude)).holds


def test_published_and_predicted_print_alike():
    assert CASES["V06"].printed == ("652,144 tokens", "652,176 tokens")
    assert CASES["M_L40S"].printed == ("48.30 GB", "48.31 GB")
    assert CASES["Q11"].printed == ("0.10", "0.101")


# Rates against floors

BY_ONE = [case for case in CASES.values() if case.kind == "decode_rate" and case.id not in ("D09-total", "D17", "D25")]


def share_of_floor(case):
    """What was measured over what is possible."""
    return 1 / (1 + case.error)


def stated_shares(function, text):
    """Percentages in a docstring."""
    return tuple(map(int, re.search(text, function.__doc__).groups()))


def test_the_range_in_the_docstring_of_decode_time_is_that_of_the_measurements():
    """Without eight cards that take turns, and a rate so far below the floor that it says nothing of engines."""
    shares = sorted(round(100 * share_of_floor(case)) for case in BY_ONE)
    assert stated_shares(decode_time, r"reach (\d+) to (\d+) % of it on one accelerator") == (shares[0], shares[-1])


def test_the_share_in_the_docstring_of_node_step_time_is_that_of_the_measurement():
    share = round(100 * share_of_floor(CASES["D07"]))
    assert stated_shares(node_step_time, r"eight accelerators, reaches (\d+) % of it") == (share,)


def test_the_share_in_the_docstring_of_prefill_time_is_that_of_the_measurement():
    share = round(100 * share_of_floor(CASES["P01"]))
    assert stated_shares(prefill_time, r"on one accelerator, reaches (\d+) % of it") == (share,)


def test_the_expected_weights_of_one_token_of_a_mixture_hold_the_same_floor():
    mixtral = (
        quantity("46.7e9 parameter"),
        quantity("12.9e9 parameter"),
        quantity("8 expert"),
        quantity("2 expert/token"),
    )
    read = weights_read(ONE_TOKEN, *mixtral, BYTE)
    assert read.m_as("GB") == pytest.approx(CASES["D09"].given["read"].m_as("GB"))


def test_what_copies_lose_is_no_more_than_they_take():
    assert CASES["V32"].value <= CASES["V32"].predicted


def test_the_fewest_servers_are_the_fewest():
    """One less would be late, and 17 lines would lose more than a hundredth."""
    within = published._in_time(13, quantity("10"), quantity("3 min"), quantity("0.33 min"))
    assert within < 0.8
    assert erlang_b(17, 10).magnitude > 0.01 >= erlang_b(18, 10).magnitude


def test_two_servers_are_the_cheapest_of_a_call_centre():
    assert CASES["Q20"].predicted < min(CASES["Q20-1"].predicted, CASES["Q20-3"].predicted)


# Printed somewhere, without an address that could be cited


@pytest.mark.parametrize(
    "name, bits, scales, mebibytes", [("q8_0", 8, 2, 119), ("q4_1", 4, 4, 70), ("8 bits without scales", 8, 0, 112)]
)
def test_keys_in_a_block_format_are_as_large_as_the_format_says(name, bits, scales, mebibytes):
    """Keys of Llama 3.2 3B, 28 layers of 1,024 channels, 4,096 cells; blocks of ggml-common.h in llama.cpp.

    An engine that took 112 MiB for q8_0 would have forgotten the scales.
    """
    stored = block_precision(Quantity(bits, "bit/element"), quantity("32 element"), Quantity(scales, "byte"))
    elements = Quantity(28 * 1024 * 4096, "element")
    assert (elements * stored).m_as("MiB") == mebibytes


def qwen35(layers=64):
    """A quarter of whose layers attend, as Qwen3.8-27B in SGLang's log."""
    return read_table(
        {
            "model_type": "qwen3_5_text",
            "num_hidden_layers": layers,
            "num_attention_heads": 24,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "hidden_size": 5120,
            "full_attention_interval": 4,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128,
            "linear_value_head_dim": 128,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 48,
            "dtype": "bfloat16",
        },
        "config.json",
    )


def test_sglang_prints_the_keys_of_the_layers_that_attend():
    """10.08 GiB of keys of 330,323 tokens, in 16 of 64 layers; all would be 40.3."""
    (reserved,) = [size for name, _, size in engines.sglang(qwen35(), quantity("330323 token")).rows if "full" in name]
    assert reserved.m_as("GiB") / 2 == pytest.approx(10.08, abs=5e-3)


def test_sglang_has_one_slot_more_than_requests():
    """124 requests: 17.58 GiB of states in 32 bits and 0.34 of convolutions; with 124 slots the states were 17.44."""
    model = qwen35()
    reserved = engines.sglang(model, quantity("1 token"), sequences=124)
    assert reserved.constant.m_as("GiB") == pytest.approx(17.58 + 0.34, abs=0.01)
    assert reserved.total == reserved.constant + quantity("1 token") * reserved.bytes_per_token
    (state,) = model.states
    slot = Quantity(state.layers * state.elements * state.precision, "byte")
    assert (125 * slot).m_as("GiB") == pytest.approx(17.58, abs=5e-3)
    assert (124 * slot).m_as("GiB") == pytest.approx(17.44, abs=5e-3)


def test_sglang_keeps_one_latent_for_all_heads():
    """14.37 GiB of 1,912,896 tokens in 7 layers of latents."""
    fields = {"model_type": "deepseek_v3", "num_hidden_layers": 7, "num_attention_heads": 16, "hidden_size": 2048}
    fields |= {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
    model = read_table(fields | {"dtype": "bfloat16"}, "config.json")
    assert engines.sglang(model, quantity("1912896 token")).total.m_as("GiB") == pytest.approx(14.37, abs=5e-3)


def test_sglang_gives_windows_a_pool_of_four_fifths():
    """51,840 B a token of a Gemma-4 of 30 layers in NVFP4: 5 of 1,152, and 25 of 2,304 times 0.8."""
    fields = json.loads((CONFIGS / "google--gemma-4-26B-A4B.json").read_text(encoding="utf-8"))
    reserved = engines.sglang(read_table(fields, "config.json"), quantity("1000 token"), precision_of("nvfp4"))
    assert reserved.bytes_per_token.m_as("byte/token") == pytest.approx(51_840)


@pytest.mark.parametrize("layers, kv, head, pool, blocks", [(24, 2, 64, 34.81, 190_100), (40, 10, 128, 2.18, 715)])
def test_the_blocks_that_vllm_printed(layers, kv, head, pool, blocks):
    """Of Qwen2.5-0.5B, and of a model like Phi-4, within what the pool's three digits allow."""
    found = published.blocks_held(
        Quantity(pool, "GiB"),
        quantity("16 token"),
        layers=Quantity(layers, "layer"),
        kv_heads=Quantity(kv, "head"),
        head_dim=Quantity(head, "channel/head"),
        kv_precision=quantity("2 B/element"),
    )
    assert found == pytest.approx(blocks, rel=0.005 / pool)


def windowed(model_type, layers, window, **more):
    """A model of which every other layer has a window."""
    return read_table(
        {"model_type": model_type, "num_hidden_layers": layers, "sliding_window": window, "dtype": "float16", **more},
        "c",
    )


def of_kind(reserved, kind):
    return sum(size.m_as("MiB") for name, _, size in reserved.rows if name.endswith(kind))


def test_llama_cpp_keeps_a_window_and_what_it_computes_at_once():
    """768 cells for a window of 128 of gpt-oss-20b, 18 MiB, not 3; in q8_0 the whole context of 8,192 is 102 MiB."""
    heads = {"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "hidden_size": 2880}
    model = windowed("gpt_oss", 24, 128, **heads)
    assert of_kind(llama_cpp(model, quantity("8192 token")), "sliding") == 18
    assert of_kind(llama_cpp(model, quantity("8192 token"), precision_of("q8_0")), "full") == 102


def test_llama_cpp_keeps_no_window_longer_than_its_context():
    """Four slots of Gemma-2-2B share 8,192 cells, of a window of 4,096: 416 MiB of either kind."""
    heads = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "hidden_size": 2304}
    model = windowed("gemma2", 26, 4096, **heads)
    reserved = llama_cpp(model, quantity("2048 token"), sequences=4, unified=True)
    assert (of_kind(reserved, "full"), of_kind(reserved, "sliding")) == (416, 416)


def test_irregular_arrivals_at_one_machine():
    """1.7 hours in the queue and 6.8 jobs in it: lecture notes after Curry and Feldman, doi:10.1007/978-3-642-16618-1.

    Arrivals every 15 minutes with a deviation of 30, times of 12 minutes in four exponential stages.
    """
    arrivals, service = quantity("4 sequence/hour"), quantity("12 min")
    wait = kingman_wait(utilisation_of(arrivals, service, 1), service, (30 / 15) ** 2, 1 / 4)
    assert wait.m_as("hour") == pytest.approx(1.7)
    assert number_in_system(arrivals, wait).magnitude == pytest.approx(6.8)


def test_four_an_hour_at_a_server_of_five():
    """0.8 hours in the queue."""
    wait = mg1_wait(quantity("4 sequence/hour"), quantity("1 hour") / 5, 1)
    assert wait.m_as("hour") == pytest.approx(0.8)


def test_three_servers_of_eighty_a_second():
    """70 % wait, 17.6 ms on average, 30.1 ms with the service."""
    arrivals, service = quantity("200 sequence/s"), quantity("1 s") / 80
    wait = mmc_wait(arrivals, service, 3)
    assert erlang_c(3, offered_load(arrivals, service)).magnitude == pytest.approx(0.70, abs=5e-3)
    assert wait.m_as("ms") == pytest.approx(17.6, abs=0.05)
    assert (wait + service).m_as("ms") == pytest.approx(30.1, abs=0.05)


@pytest.mark.parametrize(
    "acceptance, drafts, operations, faster",
    [(0.6, 2, 1.53, 1.96), (0.8, 2, 1.23, 2.44), (0.9, 2, 1.11, 2.71)],
)
def test_a_draft_without_cost_gains_what_its_paper_says(acceptance, drafts, operations, faster):
    """Leviathan et al., doi:10.48550/arXiv.2211.17192, table 1.

    The table is an image, and these were not read from it but worked out from the
    paper's formulas: the tokens of a pass, and the k + 1 positions computed for them.
    """
    k = Quantity(drafts, "token")
    assert speedup(acceptance, k, 0).m_as("") == pytest.approx(faster, abs=5e-3)
    computed = (k + ONE_TOKEN) / tokens_per_pass(acceptance, k)
    assert computed.m_as("") == pytest.approx(operations, abs=5e-3)
