"""What others measured and printed, each with its public address.

A floor must not be beaten by a measurement; a size must be the one that an
engine allocated or printed, within the digits that it printed.
"""

import math
import re

import pytest

from costlib.arguments import ArgumentError
from costlib.capacity import break_even_bandwidth, engine_pool, reload_time, resident_sequences
from costlib.kv_cache import block_precision, bytes_per_token, context_state, latent_bytes_per_token
from costlib.paging import blocks_needed
from costlib.queueing import (
    erlang_b,
    erlang_c,
    kingman_wait,
    mg1_wait,
    mmc_wait,
    number_in_system,
    offered_load,
    utilisation,
)
from costlib.serving import decode_time, node_step_time, prefill_time, state_copies, weight_bytes, weights_read
from costlib.speculation import accepted_share, measured_tokens_per_pass, speedup, tokens_per_pass
from costlib.units import Quantity, quantity, show

GITHUB = "https://github.com/"
GPT_FAST = GITHUB + "pytorch-labs/gpt-fast/blob/32971d3/README.md"
GPT_FAST_MIXTRAL = GITHUB + "pytorch-labs/gpt-fast/blob/main/mixtral-moe/README.md"
BENCHMARKS = GITHUB + "XiongjieDai/GPU-Benchmarks-on-LLM-Inference/tree/aa72e0e"
BYTE = quantity("1 B/parameter")


# Decode: measured rates against the floor of the bytes read for a token

# model and accelerator, bytes read for a token, memory bandwidth, token/s measured, address
DECODE = [
    ("Llama-2-7B bf16, A100", 13.32e9, 2039e9, 104.9, GPT_FAST),
    ("Llama-2-70B int8, A100", 69.14e9, 2039e9, 19.13, GPT_FAST),
    ("Llama-2-7B int8, A100", 6.872e9, 2039e9, 155.58, GPT_FAST),
    ("Mixtral-8x7B int8, A100", 12.9e9, 2039e9, 97.92, GPT_FAST_MIXTRAL),
    ("Llama-3-8B F16, RTX 4090", 15.01e9, 1008e9, 54.34, BENCHMARKS),
    ("Llama-3-8B F16, M2 Ultra", 15.01e9, 800e9, 36.25, BENCHMARKS),
    ("Llama-3-8B Q4_K_M, RTX 4090", 4_917_737_553.92, 1008e9, 127.74, BENCHMARKS),
    ("Llama-2-13B F16, H100 PCIe", 26_027_501_813.76, 2000e9, 50.86, BENCHMARKS),
    ("Llama-2-70B 2.5 bpw, RTX 4090", 21.5625e9, 1008e9, 38, GITHUB + "turboderp-org/exllamav2/blob/master/README.md"),
]
# Measured far below the floor: it holds, but says nothing of what engines reach.
LOOSE = [("Qwen3-30B-A3B Q2_K, RX 6900 XT", 1.1e9, 512e9, 16.3, GITHUB + "AlexsJones/llmfit/pull/464")]
# Eight cards take turns, layer by layer: a token still waits for one card's bandwidth.
IN_TURN = [("Llama-3-70B F16, 8 RTX 4090", 141.1e9, 1008e9, 6.45, BENCHMARKS)]


def share_of_floor(read, bandwidth, measured):
    """Measured token rate over the largest that the bandwidth allows."""
    floor = decode_time(Quantity(read, "parameter"), BYTE, Quantity(bandwidth, "byte/second"))
    return (Quantity(measured, "token/second") * floor).m_as("")


def names(rows):
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    "name, read, bandwidth, measured, source", DECODE + LOOSE + IN_TURN, ids=names(DECODE + LOOSE + IN_TURN)
)
def test_no_published_decode_rate_beats_the_floor(name, read, bandwidth, measured, source):
    assert share_of_floor(read, bandwidth, measured) < 1


@pytest.mark.parametrize(
    "active, total, bandwidth, measured, source",
    [
        (12.9e9, 46.7e9, 2039e9, 97.92, GPT_FAST_MIXTRAL),
        (1.1e9, 512e9 / 34.7, 512e9, 77.6, GITHUB + "AlexsJones/llmfit/issues/474"),
    ],
    ids=["Mixtral-8x7B int8, A100", "Qwen3.5-35B-A3B, RX 6900 XT"],
)
def test_a_mixtures_floor_is_that_of_its_active_weights(active, total, bandwidth, measured, source):
    """That of all its weights is beaten by a measurement."""
    assert share_of_floor(active, bandwidth, measured) < 1
    assert share_of_floor(total, bandwidth, measured) > 1


def test_the_expected_weights_of_one_token_of_a_mixture_hold_the_same_floor():
    mixtral = (
        quantity("46.7e9 parameter"),
        quantity("12.9e9 parameter"),
        quantity("8 expert"),
        quantity("2 expert/token"),
    )
    read = weights_read(quantity("1 token"), *mixtral, BYTE)
    assert share_of_floor(read.m_as("byte"), 2039e9, 97.92) == pytest.approx(0.6195, abs=1e-3)


def test_the_range_in_the_docstring_of_decode_time_is_that_of_the_measurements():
    low, high = re.search(r"reach (\d+) to (\d+) % of it on one accelerator", decode_time.__doc__).groups()
    shares = [share_of_floor(*row[1:4]) for row in DECODE]
    assert (round(100 * min(shares)), round(100 * max(shares))) == (int(low), int(high))


def eight_accelerators_share_of_floor():
    """Llama-3.1-405B int8 on eight A100, 15.6 token/s, 52.3 GB read on each: gpt-fast's README."""
    step = node_step_time(
        quantity("1 sequence"), 8 * quantity("52.3 GB"), quantity("0 B"), quantity("811.7 Gop/token"),
        quantity("624 Top/s"), quantity("2039 GB/s"), quantity("8 accelerator"), quantity("1"), quantity("0 s"),
    )  # fmt: skip
    return (15.6 / quantity("1 s") * step).m_as("")


def test_eight_accelerators_do_not_beat_the_floor_of_a_node():
    assert eight_accelerators_share_of_floor() < 1


def test_the_share_in_the_docstring_of_node_step_time_is_that_of_the_measurement():
    stated = re.search(r"eight accelerators, reaches (\d+) % of it", node_step_time.__doc__)[1]
    assert round(100 * eight_accelerators_share_of_floor()) == int(stated)


def test_a_measured_read_rate_is_below_the_data_sheet():
    """854.2 of 936.2 GB/s read by a kernel on an RTX 3090: github.com/ashalliants/ninfer-3090/pull/50."""
    seconds_per_byte = decode_time(quantity("1 parameter"), BYTE, quantity("936.2 GB/s")) * quantity("1 token")
    assert (quantity("854.2 GB/s") * seconds_per_byte / quantity("1 B")).m_as("") == pytest.approx(0.913, abs=1e-3)


# Prefill


def prefill_share_of_floor():
    """Llama-3-8B F16 on an RTX 4090, a prompt of 1,024 tokens at 9,056 token/s: GPU-Benchmarks-on-LLM-Inference."""
    floor = prefill_time(quantity("8.03e9 parameter"), quantity("165.2 Top/s"))
    return (quantity("9056.26 token/s") * floor).m_as("")


def test_a_published_prefill_rate_does_not_beat_the_floor():
    assert prefill_share_of_floor() < 1


def test_the_share_in_the_docstring_of_prefill_time_is_that_of_the_measurement():
    stated = re.search(r"on one accelerator, reaches (\d+) % of it", prefill_time.__doc__)[1]
    assert round(100 * prefill_share_of_floor()) == int(stated)


# Attention state of so many tokens

# model, layers that keep it, key-value heads, head size, bytes an element, tokens, size printed, tolerance,
# and the address, below github.com
STATE = [
    ("gpt-oss-120b", 36, 8, 64, 2, 1, "73728 B", 0, "alvarobartt/hf-mem/issues/60"),
    ("Qwen3-4B", 36, 8, 128, 2, 1, "147456 B", 0, "LMCache/LMCache/issues/688"),
    ("Qwen2.5-7B GPTQ-Int8", 28, 4, 128, 2, 1, "57344 B", 0, "vllm-project/vllm/issues/22291"),
    ("qwen35moe, every fourth layer", 10, 2, 256, 2, 1, "20480 B", 0, "gpustack/gguf-parser-go/issues/28"),
    ("LLaMA3-70B, 1 token", 80, 8, 128, 2, 1, "320 KiB", 0, "kvcache-ai/Mooncake"),
    ("LLaMA3-70B, 128k tokens", 80, 8, 128, 2, 131072, "40 GiB", 0, "kvcache-ai/Mooncake"),
    ("Llama-2-7B, TensorRT-LLM", 32, 32, 128, 2, 132608, "69524783104 B", 0, "NVIDIA/TensorRT-LLM/issues/1400"),
    ("Llama-2-7B on A10", 32, 32, 128, 2, 10718, "5.62 GB", 1e-3, "NVIDIA/TensorRT-LLM/issues/224"),
    ("Llama-2-7B, llama.cpp", 32, 32, 128, 2, 512, "256 MiB", 0, "XiongjieDai/GPU-Benchmarks-on-LLM-Inference"),
    ("Llama-2-70B, llama.cpp", 80, 8, 128, 2, 512, "160 MiB", 0, "XiongjieDai/GPU-Benchmarks-on-LLM-Inference"),
    ("8 heads of a width of 4096", 32, 8, 128, 2, 1, "131072 B", 0, "KolosalAI/model-memory-calculator/issues/2"),
    ("7B, all layers and heads", 32, 32, 128, 2, 32768, "16 GiB", 0, "rohitg00/ai-engineering-from-scratch/pull/57"),
    ("70B, if multi-head", 80, 64, 128, 2, 32768, "85.9 GB", 1e-3, "rohitg00/ai-engineering-from-scratch/pull/57"),
    ("Qwen2.5-Coder-32B, 8-bit blocks", 64, 8, 128, 34 / 32, 32768, "4352 MiB", 0, "ggml-org/llama.cpp/issues/11200"),
    ("Qwen3.8-27B, 16 of 64 layers", 16, 4, 256, 2, 262144, "16384 MiB", 0, "tmac1973/llama-toolchest/pull/166"),
    ("LFM2-1.2B, 6 of 16 layers", 6, 8, 64, 2, 32768, "384 MiB", 0, "gpustack/gguf-parser-go/issues/31"),
    ("Gemma-4 E4B, 20 layers of its own", 20, 2, 256, 2, 4096, "160 MiB", 0, "qualcomm/GenieX/pull/1346"),
    ("GPT-2", 12, 12, 64, 2, 8192, "301989888 B", 0, "lablup/mlxcel/issues/927"),
    ("Llama-3.1-405B, first upload", 126, 16, 128, 2, 128000, "123.05 GiB", 1e-4, "huggingface/blog/issues/2345"),
    ("Llama-3.1-70B", 80, 8, 128, 2, 128000, "39.06 GiB", 1e-4, "huggingface/blog/issues/2345"),
    ("Llama-2-7B", 32, 32, 128, 2, 4196, "2.05 GiB", 1e-3, "jy-yuan/KIVI/issues/17"),
    ("48 layers, 8-bit", 48, 4, 128, 1, 221000, "10.12 GiB", 5e-4, "vllm-project/vllm/issues/25350"),
    ("Qwen3-0.6B", 28, 8, 128, 2, 652144, "69.66 GiB", 5e-4, "vllm-project/vllm/pull/24577"),
    ("gpt-oss-120b, all layers", 36, 8, 64, 2, 78384, "5.38 GiB", 1e-3, "alvarobartt/hf-mem/issues/60"),
    ("Llama-3.1-8B and one draft layer", 33, 8, 128, 2, 410128, "51.63 GiB", 5e-4, "vllm-project/vllm/issues/19996"),
    ("Qwen3-1.7B", 28, 8, 128, 2, 27142, "2.90 GiB", 2e-3, "FlashML-org/FreeToken/pull/126"),
    ("Llama-3.1-70B, 8724 blocks of 16", 80, 8, 128, 2, 139584, "45.74 GB", 1e-4, "vllm-project/vllm/pull/45947"),
    ("Llama-3.1-8B, 1952 blocks of 16", 32, 8, 128, 2, 31232, "3.81 GiB", 2e-3, "vllm-project/vllm/issues/10517"),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, layers, heads, size, precision, tokens, printed, tolerance, source", STATE, ids=names(STATE)
)
def test_state_is_what_an_engine_printed(name, layers, heads, size, precision, tokens, printed, tolerance, source):
    per_token = bytes_per_token(
        Quantity(layers, "layer"),
        Quantity(heads, "head"),
        Quantity(size, "channel/head"),
        Quantity(precision, "byte/element"),
    )
    state = context_state(Quantity(tokens, "token"), per_token)
    assert (state / quantity(printed)).m_as("") == pytest.approx(1, rel=max(tolerance, 1e-12))


@pytest.mark.parametrize(
    "layers, tokens, printed, source",
    [
        (61, 1, "70272 B", GITHUB + "LMCache/LMCache/pull/694"),
        (61, 32768, "2196 MiB", GITHUB + "ggml-org/llama.cpp/pull/11446"),
        (24, 1, "27648 B", GITHUB + "inference-sim/inference-sim/issues/1635"),
    ],
    ids=["DeepSeek-V3", "DeepSeek-R1, 32,768 tokens", "Kimi K3, 24 of 93 layers"],
)
def test_the_state_of_a_latent_is_what_an_engine_printed(layers, tokens, printed, source):
    per_token = latent_bytes_per_token(
        Quantity(layers, "layer"), quantity("512 channel"), quantity("64 channel"), quantity("2 B/element")
    )
    assert context_state(Quantity(tokens, "token"), per_token) == quantity(printed).to("B")


def test_a_latent_gains_from_eight_replicas_what_eight_copies_lose():
    """156.9 against 20.43 times as many requests on eight accelerators: github.com/vllm-project/recipes/issues/762."""
    copies = state_copies(quantity("1 head"), quantity("8 accelerator")).m_as("")
    assert copies >= 156.9 / 20.43
    assert copies == pytest.approx(156.9 / 20.43, rel=0.05)


# Memory and what fits


@pytest.mark.parametrize(
    "card, mebibytes, printed",
    [
        ("H100", 81559, 85.52),
        ("A100-40GB", 40960, 42.94),
        ("A100-80GB", 81920, 85.90),
        ("L40S", 46068, 48.30),
        ("T4", 15360, 16.11),
    ],
)
def test_a_cards_label_is_neither_its_gb_nor_its_gib(card, mebibytes, printed):
    """What nvidia-smi reports, in decimal gigabytes: github.com/modal-labs/modal-client/pull/2797."""
    assert Quantity(mebibytes, "MiB").m_as("GB") == pytest.approx(printed, abs=0.01)


def test_an_engines_pool_is_its_share_of_memory_less_weights_and_reserve():
    """0.9 of 23.58 GiB, less 17.06 at the peak and 0.35 beside, is 3.81: github.com/vllm-project/vllm/issues/10517.

    The peak holds the weights, 14.99, already; to subtract them again would leave nothing.
    """
    weights = quantity("14.9888 GiB")
    beside_the_weights = quantity("17.06 GiB") - weights + quantity("0.35 GiB")
    left = engine_pool(quantity("23.58 GiB"), 0.9, weights, beside_the_weights)
    assert left.m_as("GiB") == pytest.approx(3.81, abs=0.005)


def test_an_engines_concurrency_is_what_fits():
    """159.21 sequences of 4,096 tokens in 652,144: github.com/vllm-project/vllm/pull/24577."""
    per_token = quantity("114688 B/token")
    assert resident_sequences(quantity("652144 token") * per_token, quantity("4096 token") * per_token) == quantity(
        "159 sequence"
    )


def test_weights_at_16_bits_are_what_an_engine_loaded():
    """14.9888, printed as GB: github.com/vllm-project/vllm/issues/10517. As decimal GB it would be 7 % off."""
    weights = weight_bytes(quantity("8030261248 parameter"), quantity("2 B/parameter"))
    assert weights.m_as("GiB") == pytest.approx(14.9888, rel=5e-3)
    assert weights.m_as("GB") != pytest.approx(14.9888, rel=5e-2)


def test_a_partly_8_bit_model_is_larger_than_a_byte_a_weight():
    """57.752 GiB on each of eight GPUs: github.com/vllm-project/vllm/issues/6746."""
    assert weight_bytes(quantity("405853388800 parameter"), BYTE).m_as("GiB") / 8 < 57.752


# Prices


def test_prices_and_tokens_make_a_revenue():
    """562,027 USD a day: github.com/deepseek-ai/open-infra-index, 202502OpenSourceWeek, day 6."""
    price_miss, price_hit, price_out = map(
        quantity, ("$0.55 per million tokens", "$0.14 per million tokens", "$2.19 per million tokens")
    )
    read, hit, out = map(quantity, ("608 billion tokens", "342 billion tokens", "168 billion tokens"))
    revenue = (read - hit) * price_miss + hit * price_hit + out * price_out
    assert revenue.m_as("USD") == pytest.approx(562_027, rel=5e-4)
    assert (hit / read).m_as("") == pytest.approx(0.563, abs=6e-4)


# Queues

PYWORKFORCE = GITHUB + "rodrigo-arenas/pyworkforce/tree/ca48925"


def test_a_call_centre_of_fourteen():
    """100 calls in half an hour, 3 minutes each: PYWORKFORCE, docs/guide/erlangc.md, to all digits printed."""
    load = offered_load(quantity("100 sequence") / quantity("30 min"), quantity("3 min"))
    assert erlang_c(14, load).magnitude == pytest.approx(0.1741319335950498, rel=1e-14)


def test_fourteen_is_the_fewest_that_answer_four_in_five_in_time():
    """14 positions, 20 with a shrinkage of 0.3, for 80 % within 0.33 minutes: PYWORKFORCE, tests/test_erlang.py."""

    def in_time(servers):
        return 1 - erlang_c(servers, 10).magnitude * math.exp(-(servers - 10) * 0.33 / 3)

    assert in_time(13) < 0.8 <= in_time(14)
    assert math.ceil(14 / 0.7) == 20


def test_two_lines_and_one_erlang():
    """0.2 is lost: PYWORKFORCE, tests/test_erlang_b.py."""
    assert erlang_b(2, 1).magnitude == pytest.approx(0.2, rel=1e-15)


def test_fifteen_lines_lose_a_hundredth_of_8_108_erlang():
    """erlang.com/calculatormanual/howmuchtrafficcanatrunkgrouphandle.htm; the load is printed to three decimals."""
    assert erlang_b(15, 8.108).magnitude == pytest.approx(0.01, rel=1e-4)


def test_ten_erlang_need_eighteen_lines_for_a_hundredth():
    """abstractmicro.com prints 17.44497 lines, by a formula for parts of a line. Lines are whole here: 18."""
    assert erlang_b(17, 10).magnitude > 0.01 >= erlang_b(18, 10).magnitude
    with pytest.raises(ValueError, match="wanted a whole number"):
        erlang_b(17.44497, 10)


def test_patient_callers_wait_more_often_than_those_who_give_up():
    """0.14526 wait of those who give up after 5 minutes: PYWORKFORCE, tests/test_abandonment.py (Erlang A).

    Erlang C has no one who gives up: it is the bound from above.
    """
    assert erlang_c(14, 10).magnitude > 0.14526


def test_the_probability_of_waiting_for_one_of_ten_machines():
    """About 0.10, read off a chart; with 1 - rho for the empty system, as for one machine, it comes out wrong.

    huggingface.co/datasets/nvidia/Nemotron-CC-Math-v1, a question on ten machines, 2 a minute, 3 minutes each.
    """
    assert erlang_c(10, 6).magnitude == pytest.approx(0.1013, abs=5e-5)


@pytest.mark.parametrize("channels, load, delayed", [(8, 3.87, 0.05), (10, 4.08, 0.01)])
def test_the_table_of_a_trunked_radio_system(channels, load, delayed):
    """Loads of so many channels for 5 % and 1 % of calls delayed, to two decimals: scribd.com/document/831962299."""
    assert erlang_c(channels, load - 0.01).magnitude < delayed < erlang_c(channels, load + 0.01).magnitude


def test_irregular_arrivals_at_one_machine():
    """1.7 hours in the queue and 6.8 jobs in it: lecture notes after Curry and Feldman, doi:10.1007/978-3-642-16618-1.

    Arrivals every 15 minutes with a deviation of 30, times of 12 minutes in four exponential stages.
    """
    arrivals, service = quantity("4 sequence/hour"), quantity("12 min")
    wait = kingman_wait(utilisation(arrivals, service, 1), service, (30 / 15) ** 2, 1 / 4)
    assert wait.m_as("hour") == pytest.approx(1.7)
    assert number_in_system(arrivals, wait).magnitude == pytest.approx(6.8)


def test_four_an_hour_at_a_server_of_five():
    """0.8 hours in the queue: a textbook's example whose address is not known."""
    wait = mg1_wait(quantity("4 sequence/hour"), quantity("1 hour") / 5, 1)
    assert wait.m_as("hour") == pytest.approx(0.8)


def test_three_servers_of_eighty_a_second():
    """70 % wait, 17.6 ms on average, 30.1 ms with the service: a blog's example whose address is not known."""
    arrivals, service = quantity("200 sequence/s"), quantity("1 s") / 80
    wait = mmc_wait(arrivals, service, 3)
    assert erlang_c(3, offered_load(arrivals, service)).magnitude == pytest.approx(0.70, abs=5e-3)
    assert wait.m_as("ms") == pytest.approx(17.6, abs=0.05)
    assert (wait + service).m_as("ms") == pytest.approx(30.1, abs=0.05)


def test_two_servers_are_the_cheapest_of_a_call_centre():
    """20 calls an hour, 2.5 minutes each, 20 USD an hour a server, 120 a caller on hold: studylib.net/doc/6815589."""

    arrivals, service = quantity("20 sequence/hour"), quantity("2.5 min")

    def cost(servers):
        on_hold = number_in_system(arrivals, mmc_wait(arrivals, service, servers)).magnitude
        return 20 * servers + 120 * on_hold

    assert [cost(servers) for servers in (1, 2, 3)] == pytest.approx([520.00, 61.01, 62.66], abs=0.005)


def test_the_number_in_the_system_follows_the_rate_achieved_not_the_rate_offered():
    """41.51 of 100 requests a second, 17.09 s each, under 800 clients: github.com/NVIDIA/TensorRT-LLM/issues/4275."""
    time = quantity("17.09 s")
    assert number_in_system(quantity("41.51 sequence/s"), time).magnitude == pytest.approx(709.4, abs=0.05)
    assert number_in_system(quantity("100 sequence/s"), time).magnitude > 800


def test_a_gap_fewer_than_the_tokens_falls_short_of_a_mean_answer():
    """1.39 s printed for 19.75 ms to the first of 179.15 tokens and 7.66 ms a gap: NVIDIA/TensorRT-LLM/issues/4275.

    A gap less than tokens makes 1.384, 0.4 % short; as many gaps as tokens make 1.392, what is printed. Little's law
    cannot tell: at 0.99 requests a second, either way 1.4 are in the system.
    """
    first, gap, rate = quantity("19.75 ms"), quantity("7.66 ms"), quantity("0.99 sequence/s")
    fewer, as_many = first + (179.15 - 1) * gap, first + 179.15 * gap
    assert (round(fewer.m_as("s"), 2), round(as_many.m_as("s"), 2)) == (1.38, 1.39)
    assert {show(number_in_system(rate, time).magnitude, digits=2) for time in (fewer, as_many)} == {"1.4"}


@pytest.mark.parametrize("concurrency, seconds, rate", [(8, 12.22, 74.6), (32, 24.02, 151.1)])
def test_a_closed_loop_keeps_its_law(concurrency, seconds, rate):
    """Output tokens a request, from the rate of 8 GPUs: 900 to 912. github.com/SemiAnalysisAI/InferenceX/issues/870."""
    requests = Quantity(concurrency / seconds, "sequence/s")
    assert number_in_system(requests, Quantity(seconds, "s")).magnitude == pytest.approx(concurrency)
    assert 900 <= (8 * Quantity(rate, "token/s") / requests).m_as("token/sequence") <= 912


# Reload or recompute


def test_a_reload_that_won_far_below_the_rate_of_its_link():
    """3,072 tokens of Llama-3.1-70B, 1280.4 ms against 2140.5 of prefill: github.com/vllm-project/vllm/pull/45947."""
    state = context_state(quantity("3072 token"), quantity("327680 B/token"))
    reloaded = (state / quantity("1280.4 ms")).to("GB/s")
    assert reloaded.magnitude == pytest.approx(0.786, abs=5e-4)
    assert break_even_bandwidth(state, quantity("2140.5 ms")) < reloaded
    assert reload_time(state, quantity("64 GB/s")) < quantity("1280.4 ms") / 50


def test_the_least_bandwidth_for_which_mooncake_reloads():
    """6 GB/s in the text, 5.86 by its equation 2 (FAST 25, section 2.3): 8,192 tokens of a 70B model on eight A800."""
    prompt, width, layers, grouped = 8192, 8192, 80, 8
    operations = layers * prompt * (4 * prompt * width + 22 * width**2)
    time = Quantity(operations, "operation") / quantity("2496 Top/s")
    state = Quantity(layers * prompt * 2 * width / grouped * 2, "byte")
    assert break_even_bandwidth(state, time).m_as("GB/s") == pytest.approx(5.86, abs=5e-3)


# Blocks: of elements with their scales, of tokens


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


def test_a_context_takes_whole_blocks():
    """262,144 tokens in blocks of 1,568 are 168: github.com/mitchross/talos-argocd-proxmox/pull/1995."""
    assert blocks_needed(quantity("262144 token"), quantity("1568 token")).magnitude == 168


def test_an_engine_rounds_a_context_up_to_its_blocks():
    """10,718 tokens are kept as 10,720: github.com/NVIDIA/TensorRT-LLM/issues/224.

    The 8,348 blocks that the same report quotes of another engine, on the same card of 24 GB, cannot be
    of this model: they would take 70 GB.
    """
    page = quantity("16 token")
    assert blocks_needed(quantity("10718 token"), page) * page == quantity("10720 token")
    per_token = bytes_per_token(
        quantity("32 layer"), quantity("32 head"), quantity("128 channel/head"), quantity("2 B/element")
    )
    assert context_state(8348 * page, per_token) > quantity("24 GB")


def test_blocks_and_tokens_of_one_report_agree():
    """378 blocks of 16 are the 6,048 tokens that it prints: github.com/OpenRLHF/OpenRLHF/issues/336."""
    assert blocks_needed(quantity("6048 token"), quantity("16 token")).magnitude == 378
    assert blocks_needed(quantity("6049 token"), quantity("16 token")).magnitude == 379


# Speculative decoding

ONE_TOKEN = quantity("1 token")


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


@pytest.mark.parametrize("acceptance, faster", [(0.75, 3.3), (0.8, 3.9), (0.87, 4.9)])
def test_a_draft_of_little_cost_gains_what_its_paper_says(acceptance, faster):
    """Leviathan et al., doi:10.48550/arXiv.2211.17192, appendix A.5: eight drafts, each of 0.015 of a step."""
    found = speedup(acceptance, quantity("8 token"), 0.015).m_as("")
    assert found == pytest.approx(faster, abs=0.05)


def test_the_tokens_of_a_pass_are_one_more_than_the_rates_of_its_positions():
    """167 drafts accepted in 87 passes: github.com/ggml-org/llama.cpp/pull/24536."""
    found = measured_tokens_per_pass([0.805, 0.632, 0.483]).m_as("token")
    assert found == pytest.approx(2.92, abs=5e-3)
    assert found == pytest.approx(1 + 167 / 87, abs=5e-3)


def test_the_share_of_accepted_drafts_taken_for_the_probability_promises_too_little():
    """Of the same log's 259 drafts 167 were accepted; as a probability that would make 2.33 tokens, not 2.92."""
    assert tokens_per_pass(167 / 259, 3 * ONE_TOKEN).m_as("token") == pytest.approx(2.33, abs=5e-3)


def test_a_measured_speedup_is_less_than_the_tokens_of_a_pass():
    """1.89 tokens a pass, 175.49 against 128.64 token/s, two drafts: vllm-project/vllm/pull/16035, 2025-04-09.
    The difference makes a draft's step 0.193 of the target's, all else that a pass does included."""
    acceptance, measured = 0.5676, 175.49 / 128.64  # 1 + 0.5676 + 0.5676 ** 2 is 1.89
    assert tokens_per_pass(acceptance, 2 * ONE_TOKEN).m_as("token") == pytest.approx(1.89, abs=5e-4)
    assert measured < 1.89
    assert speedup(acceptance, 2 * ONE_TOKEN, 0.193).m_as("") == pytest.approx(measured, rel=1e-3)


def test_the_share_of_accepted_drafts_is_not_the_probability():
    """3.329 of 8 drafts at 0.8, not 6.4; with the pass's own token 4.329: ggml-org/llama.cpp/issues/3649."""
    drafts = quantity("8 token")
    share = accepted_share(0.8, drafts)
    assert (share * drafts).m_as("token") == pytest.approx(3.329, abs=5e-4)
    assert share.m_as("") == pytest.approx(0.416, abs=5e-4)
    assert tokens_per_pass(0.8, drafts).m_as("token") == pytest.approx(4.329, abs=5e-4)


def test_drafts_behind_a_rejection_do_not_count():
    """Accepted, rejected, accepted, rejected: a rate of 0.5, but two tokens of five: vllm-project/vllm/issues/9565."""
    tested = [1, 0, 1, 0]
    assert sum(tested) / len(tested) == 0.5
    with pytest.raises(ArgumentError, match="rises"):
        measured_tokens_per_pass(tested)
    kept = [1, 0, 0, 0]
    assert measured_tokens_per_pass(kept).m_as("token") / (len(tested) + 1) == 0.4
