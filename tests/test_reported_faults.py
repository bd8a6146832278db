"""Mistakes that users of other tools reported: not the one model, but the rule.

Each goes in where a reader's own file would, as the fields of a ``config.json``,
and is checked against arithmetic written out here; the value that the report
complains of is none that comes out. The address of each stands in its test.
"""

import json
import re

import pytest
from gguf import GGUFWriter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costlib.book import FILES
from costlib.model_config import engines, read_table
from costlib.model_config import read as read_file
from costlib.model_config.precision import precision_of
from costlib.schema import InputError
from costlib.serving import decode_time
from costlib.speculation import accepted_share, measured_tokens_per_pass
from costlib.units import Quantity, quantity, show

TWO_BYTES = quantity("2 B/element")
steady = settings(derandomize=True, deadline=None, max_examples=60)

CONFIGS = FILES / "configs"
# Grouped heads and nothing else; of the first, the public code takes width over heads where none is declared.
DERIVED = ["llama", "mistral", "mixtral", "olmo2", "granite", "nemotron", "cohere", "stablelm"]
GQA = [*DERIVED, "qwen3", "glm4"]


def plain(model_type="llama", *, layers, heads, hidden, **more):
    """A model without windows: the fields that any such file has."""
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_size": hidden,
        "torch_dtype": "bfloat16",
        "sliding_window": None,
        **more,
    }


def read(config):
    return read_table(config, "config.json")


def of_file(name):
    return json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))


def growth(config, precision="2 B/element"):
    """Bytes that a token adds."""
    return read(config).bytes_per_token(quantity(precision)).m_as("byte/token")


def kept(config, tokens, precision="2 B/element"):
    """Bytes that a sequence of so many tokens keeps."""
    return read(config).state(Quantity(tokens, "token"), quantity(precision)).m_as("byte")


small = st.integers(1, 64)
groups = st.sampled_from([1, 2, 3, 4, 5, 8])


# The size of a head


@steady
@given(
    family=st.sampled_from(GQA),
    layers=small,
    kv=small,
    group=groups,
    head=st.integers(1, 512),
    hidden=st.integers(1, 9000),
)
def test_a_declared_size_of_the_head_wins(family, layers, kv, group, head, hidden):
    """Whatever the width over the heads would give, and where it gives nothing whole.

    github.com/LMCache/LMCache/issues/688, github.com/NVIDIA/Model-Optimizer/issues/2482,
    github.com/vllm-project/vllm/pull/2622.
    """
    config = plain(family, layers=layers, heads=kv * group, hidden=hidden, num_key_value_heads=kv, head_dim=head)
    assert growth(config) == 2 * layers * kv * head * 2


@pytest.mark.parametrize(
    "config, right, derived",
    [
        (plain("qwen3", layers=36, heads=32, hidden=2560, num_key_value_heads=8, head_dim=128), 147_456, 92_160),
        (plain("mistral", layers=40, heads=32, hidden=5120, num_key_value_heads=8, head_dim=128), 163_840, 204_800),
        (
            plain("gpt_oss", layers=24, heads=64, hidden=2880, num_key_value_heads=8, head_dim=64, sliding_window=128),
            24_576,
            17_280,
        ),
        (
            plain(
                "gemma3_text",
                layers=48,
                heads=16,
                hidden=3840,
                num_key_value_heads=8,
                head_dim=256,
                sliding_window=1024,
            ),
            65_536,
            61_440,
        ),
    ],
    ids=["Qwen3-4B", "Mistral-Small-24B", "gpt-oss-20b", "Gemma-3-12B"],
)
def test_the_models_in_which_width_over_heads_was_reported_wrong(config, right, derived):
    """The sign of the error differs, so no factor mends it: github.com/NVIDIA/Model-Optimizer/issues/2482.

    Of the last two, the half and the sixth of the layers that see the whole context.
    """
    assert growth(config) == right != derived


@steady
@given(
    family=st.sampled_from(DERIVED), layers=small, kv=small, group=groups, head=st.integers(1, 512), null=st.booleans()
)
def test_without_a_declared_size_it_is_width_over_heads(family, layers, kv, group, head, null):
    config = plain(family, layers=layers, heads=kv * group, hidden=kv * group * head, num_key_value_heads=kv)
    assert growth(config | ({"head_dim": None} if null else {})) == 2 * layers * kv * head * 2


@steady
@given(heads=st.integers(2, 64), hidden=st.integers(1, 9000))
def test_a_size_of_the_head_that_would_not_be_whole_is_not_made_up(heads, hidden):
    assume(hidden % heads)
    with pytest.raises(InputError, match="head_dim"):
        read(plain(layers=2, heads=heads, hidden=hidden, num_key_value_heads=heads))


# How many heads keep a key and a value


@pytest.mark.parametrize(
    "layers, heads, kv, tokens, right, wrong",
    [
        (32, 32, 8, 1, 131_072, 524_288),
        (28, 28, 4, 1, 57_344, 1_605_632),
        (32, 32, 32, 32_768, 2**34, 2**29),
        (80, 64, 8, 32_768, 10 * 2**30, 80 * 2**30),
        (80, 64, 64, 32_768, 80 * 2**30, 32 * 10**9),
    ],
    ids=["Llama-3-8B", "Qwen2.5-7B", "Llama-2-7B", "Llama-3-70B", "70B, if multi-head"],
)
def test_key_value_heads_count_and_no_others(layers, heads, kv, tokens, right, wrong):
    """Not query heads, and not one.

    github.com/KolosalAI/model-memory-calculator/issues/2, github.com/vllm-project/vllm/issues/22291,
    github.com/rohitg00/ai-engineering-from-scratch/pull/57,
    github.com/heathersherry/Knowledge-Graph-Tutorials-and-Papers/issues/10.
    """
    config = plain(layers=layers, heads=heads, hidden=128 * heads, num_key_value_heads=kv)
    assert kept(config, tokens) == right != wrong


@steady
@given(family=st.sampled_from(DERIVED), layers=small, heads=small, head=st.integers(1, 256))
def test_heads_that_are_null_are_all_heads(family, layers, heads, head):
    config = plain(family, layers=layers, heads=heads, hidden=heads * head, num_key_value_heads=None)
    assert growth(config) == 2 * layers * heads * head * 2


@steady
@given(kv=st.lists(st.sampled_from([0, 1, 2, 4, 8]), min_size=1, max_size=40).filter(any), head=st.integers(1, 256))
def test_heads_listed_by_layer_count_layer_by_layer(kv, head):
    """Also where the first of them is zero: github.com/gpustack/gguf-parser-go/issues/31."""
    config = plain(layers=len(kv), heads=8, hidden=8 * head, head_dim=head, num_key_value_heads=kv)
    assert growth(config) == 2 * sum(kv) * head * 2


@steady
@given(kv=st.lists(st.sampled_from([1, 2, 4]), min_size=2, max_size=20), extra=st.integers(1, 5))
def test_a_list_that_is_shorter_than_the_layers_is_no_answer(kv, extra):
    with pytest.raises(InputError, match="num_key_value_heads"):
        read(plain(layers=len(kv) + extra, heads=4, hidden=256, num_key_value_heads=kv))


@steady
@given(full=small, sliding=small, heads=small, key=st.integers(1, 256), value=st.integers(1, 256))
def test_keys_and_values_of_different_width_are_added_not_doubled(full, sliding, heads, key, value):
    """github.com/modelship-ai/modelship/pull/183."""
    widths = {"head_dim": key, "v_head_dim": value, "num_key_value_heads": heads}
    widths |= {f"swa_{name}": width for name, width in widths.items()} | {"swa_num_attention_heads": heads}
    config = plain("mimo_v2_flash", layers=full + sliding, heads=heads, hidden=64, **widths)
    config |= {"hybrid_layer_pattern": [0] * full + [1] * sliding, "sliding_window": 128}
    assert growth(config) == full * heads * (key + value) * 2
    assert kept(config, 1) == (full + sliding) * heads * (key + value) * 2


# The precision of the cache


@pytest.mark.parametrize(
    "quantised",
    [
        {"quant_method": "gptq", "bits": 8},
        {"quant_method": "awq", "bits": 4},
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
        None,
    ],
)
@pytest.mark.parametrize("dtype", ["torch_dtype", "dtype"])
def test_the_precision_of_the_weights_is_not_that_of_the_cache(quantised, dtype):
    """And eight bits are one byte: github.com/vllm-project/vllm/issues/22291."""
    config = plain(layers=28, heads=28, hidden=3584, num_key_value_heads=4)
    del config["torch_dtype"]
    model = read(config | {dtype: "bfloat16", "quantization_config": quantised})
    precision = model.kv_precision
    assert precision.m_as("byte/element") == 2
    assert model.bytes_per_token(precision).m_as("byte/token") == 57_344


@steady
@given(tokens=st.integers(1, 10**7), more=st.integers(1, 10**6))
def test_growth_does_not_depend_on_the_length(tokens, more):
    """49,152 B a token with a cache of one byte, at any length: github.com/vllm-project/vllm/issues/25350."""
    config = plain("qwen3_moe", layers=48, heads=32, hidden=2048, num_key_value_heads=4, head_dim=128)
    assert growth(config, "1 B/element") == 49_152
    assert kept(config, tokens + more, "1 B/element") - kept(config, tokens, "1 B/element") == 49_152 * more


# Latents


@steady
@given(
    family=st.sampled_from(["deepseek_v2", "deepseek_v3"]), layers=small, rank=st.integers(1, 1024),
    rope=st.integers(1, 128), heads=small, value=small, nope=small,
)  # fmt: skip
def test_a_latent_is_kept_once_with_its_positions(family, layers, rank, rope, heads, value, nope):
    """However many heads read it: github.com/LMCache/LMCache/pull/694."""
    config = plain(family, layers=layers, heads=heads, hidden=64, num_key_value_heads=heads)
    config |= {"kv_lora_rank": rank, "qk_rope_head_dim": rope, "v_head_dim": value, "qk_nope_head_dim": nope}
    assert growth(config) == layers * (rank + rope) * 2


def test_deepseek_v3_is_neither_doubled_nor_without_positions():
    found = growth(of_file("deepseek-ai--DeepSeek-V3"))
    assert found == 70_272
    assert found not in (61 * 2 * 512 * 2, 61 * 512 * 2, 61 * 128 * (192 + 128) * 2)


# Windows


def gemma3(layers, window=1024, **more):
    widths = {"num_key_value_heads": 16, "head_dim": 128, "sliding_window": window}
    return plain("gemma3_text", layers=layers, heads=32, hidden=5376, **widths | more)


@steady
@given(
    tokens=st.integers(1, 200_000), window=st.integers(1, 5000), layers=st.integers(8, 64), pattern=st.integers(2, 8)
)
def test_a_window_keeps_its_tokens_and_no_more_than_there_are(tokens, window, layers, pattern):
    """Neither the whole context, nor a window where the context is shorter.

    github.com/gpustack/gpustack/issues/2101, github.com/tenstorrent/tt-xla/issues/5727.
    """
    full = layers // pattern
    config = gemma3(layers, window, sliding_window_pattern=pattern)
    each = 2 * 16 * 128 * 2
    assert kept(config, tokens) == each * (full * tokens + (layers - full) * min(tokens, window))
    assert growth(config) == each * full


@steady
@given(kinds=st.lists(st.sampled_from(["full_attention", "sliding_attention"]), min_size=1, max_size=40))
def test_the_kinds_of_layers_that_a_file_lists_win_over_the_pattern(kinds):
    config = gemma3(len(kinds), layer_types=kinds, sliding_window_pattern=6)
    assert growth(config) == 2 * 16 * 128 * 2 * kinds.count("full_attention")


def test_gemma_3_27b_at_128000_tokens():
    """139 GB was the estimate, all layers in full; 85,000 ran in 32 GB: github.com/gpustack/gpustack/issues/2101."""
    q8_0 = precision_of("q8_0")
    model = read(gemma3(62))
    in_full = 62 * 2 * 16 * 128 * 128_000 * 34 / 32
    found = model.state(quantity("128000 token"), q8_0).m_as("byte")
    assert found == (10 * 128_000 + 52 * 1024) * 2 * 16 * 128 * 34 / 32 < in_full / 5
    assert model.state(quantity("85000 token"), q8_0) < quantity("5 GB")


def gemma4(layers=60, **more):
    kinds = ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(layers)]
    return plain(
        "gemma4_text", layers=layers, heads=32, hidden=5376, num_key_value_heads=16, head_dim=256,
        global_head_dim=512, num_global_key_value_heads=4, attention_k_eq_v=True, sliding_window=1024,
        layer_types=kinds, num_kv_shared_layers=0,
    ) | more  # fmt: skip


def test_whole_context_layers_have_heads_of_their_own():
    """Gemma-4-31B: 163,840 B was said for a token, of a tenth of the layers: github.com/alvarobartt/hf-mem/pull/61."""
    assert kept(gemma4(), 1) == (50 * 16 * 256 + 10 * 4 * 512) * 2 * 2
    assert growth(gemma4()) == 10 * 4 * 512 * 2 * 2


# Layers that keep none of their own, and layers that keep a state


@steady
@given(layers=st.integers(12, 60), share=st.floats(0, 0.5))
def test_layers_that_read_anothers_keep_none(layers, share):
    """github.com/vllm-project/vllm-metal/pull/269, github.com/google/gemma.cpp/pull/1012."""
    shared = int(layers * share)
    own = ["full_attention" if (i + 1) % 6 == 0 or i == layers - 1 else "sliding_attention" for i in range(layers)]
    own = own[: layers - shared]
    config = gemma4(layers, num_kv_shared_layers=shared)
    config["layer_types"][-1] = "full_attention"
    full, sliding = own.count("full_attention"), own.count("sliding_attention")
    assert kept(config, 1) == (sliding * 16 * 256 + full * 4 * 512) * 2 * 2


def test_gemma_4_e2b_keeps_15_of_35_layers():
    kinds = (["sliding_attention"] * 4 + ["full_attention"]) * 7
    config = gemma4(35, layer_types=kinds, num_kv_shared_layers=20, num_key_value_heads=1, num_attention_heads=8)
    config |= {"attention_k_eq_v": False, "num_global_key_value_heads": None}
    assert sum(cache.layers for cache in read(config).caches) == 15
    assert growth(config) == 3 * 512 * 2 * 2


@steady
@given(layers=st.integers(10, 100), interval=st.integers(2, 10), kv=small, head=st.integers(1, 256))
def test_only_every_so_manyth_layer_of_a_hybrid_attends(layers, interval, kv, head):
    """All 40 were charged, not 10: github.com/gpustack/gguf-parser-go/issues/28."""
    assert growth(qwen35(layers, interval, kv, head)) == 2 * (layers // interval) * kv * head * 2


def qwen35(layers=40, interval=4, kv=2, head=256):
    return plain(
        "qwen3_5_moe_text", layers=layers, heads=8 * kv, hidden=2048, num_key_value_heads=kv, head_dim=head,
        full_attention_interval=interval, linear_conv_kernel_dim=4, linear_key_head_dim=128,
        linear_value_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=32,
    )  # fmt: skip


def test_qwen_3_5_moe_grows_by_20480_bytes():
    assert growth(qwen35()) == 20_480 != 81_920


@steady
@given(pattern=st.text("ME*-", min_size=2, max_size=100), kv=small, head=st.integers(1, 256))
def test_of_a_pattern_of_letters_only_stars_grow_and_only_m_keeps_a_state(pattern, kv, head):
    """All were priced as attention, and the state not at all: github.com/inference-sim/inference-sim/issues/1558."""
    assume({"M", "*"} <= set(pattern))
    config = plain("nemotron_h", layers=len(pattern), heads=2 * kv, hidden=4096, num_key_value_heads=kv, head_dim=head)
    config |= {"hybrid_override_pattern": pattern, "mamba_num_heads": 128, "mamba_head_dim": 64}
    config |= {"n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4, "mamba_ssm_cache_dtype": "float32"}
    model = read(config)
    assert model.bytes_per_token(quantity("2 B/element")).m_as("byte/token") == pattern.count("*") * 2 * kv * head * 2
    state = 128 * 64 * 128 * 4 + (128 * 64 + 2 * 8 * 128) * 3 * 2
    assert model.constant_state().m_as("byte") == pattern.count("M") * state


@steady
@given(indices=st.sets(st.integers(0, 15), min_size=1, max_size=15))
def test_of_convolutions_and_attention_only_attention_grows(indices):
    """A tool that read the first layer alone found no state: github.com/gpustack/gguf-parser-go/issues/31."""
    kinds = ["full_attention" if i in indices else "conv" for i in range(16)]
    config = plain("lfm2", layers=16, heads=32, hidden=2048, num_key_value_heads=8, layer_types=kinds, conv_L_cache=3)
    assert growth(config) == len(indices) * 2 * 8 * 64 * 2


def kimi(layers=93, attending=range(4, 94, 4), **more):
    attending = sorted({*attending, layers} if layers == 93 else attending)
    lists = {
        "full_attn_layers": attending,
        "kda_layers": [i for i in range(1, layers + 1) if i not in attending],
        "num_heads": 96,
        "head_dim": 128,
        "short_conv_kernel_size": 4,
    }
    latent = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
    return plain("kimi_linear", layers=layers, heads=96, hidden=7168, linear_attn_config=lists, **latent | more)


def test_kimi_k3_grows_in_24_of_93_layers():
    """github.com/inference-sim/inference-sim/issues/1635."""
    assert growth(kimi()) == 24 * 576 * 2 != 93 * 576 * 2


@steady
@given(layers=st.integers(2, 60), data=st.data())
def test_layers_listed_by_number_are_counted_from_one(layers, data):
    attending = data.draw(st.sets(st.integers(1, layers), min_size=1, max_size=layers - 1))
    model = read(kimi(layers, attending))
    assert model.bytes_per_token(quantity("2 B/element")).m_as("byte/token") == len(attending) * 576 * 2
    assert sum(state.layers for state in model.states) == layers - len(attending)


# Where the fields stand


@pytest.mark.parametrize("wrapper", ["text_config", "language_config", "llm_config"])
@pytest.mark.parametrize("name", ["meta-llama--Meta-Llama-3.1-70B", "deepseek-ai--DeepSeek-V3", "openai--gpt-oss-120b"])
def test_nested_fields_are_read_as_those_at_the_top(name, wrapper):
    """github.com/alvarobartt/hf-mem/pull/26, github.com/IINemo/lm-polygraph/pull/435."""
    config = of_file(name)
    nested = {"model_type": "llava", "vision_config": {"num_hidden_layers": 24, "hidden_size": 1024}, wrapper: config}
    for tokens in (1, 5000):
        assert kept(nested, tokens) == kept(config, tokens)


@steady
@given(tower=small, layers=small)
def test_layers_at_the_top_may_be_those_of_the_eye(tower, layers):
    """33 at the top, 40 of the text: github.com/jundot/omlx/pull/1448."""
    text = plain(layers=layers, heads=8, hidden=512, num_key_value_heads=2)
    nested = {"model_type": "llava", "num_hidden_layers": tower, "hidden_size": 100, "text_config": text}
    assert growth(nested) == growth(text) == 2 * layers * 2 * 64 * 2


# Parameters and operations


def test_a_mixture_holds_all_its_experts_and_reads_two():
    """Mixtral was read as 13B: github.com/jranaraki/vllm-fit/issues/27."""
    model = read(of_file("mistralai--Mixtral-8x7B-v0.1"))
    assert model.parameters.total == 46_702_792_704
    assert model.parameters.active == pytest.approx(12.9e9, rel=5e-3)


def test_an_output_matrix_of_its_own_is_counted():
    """And a tied one is stored once; its arithmetic is the same: github.com/huggingface/trl/pull/6731."""
    vocabulary, width = 128_256, 4096
    config = plain(layers=2, heads=32, hidden=width, num_key_value_heads=8, intermediate_size=14336)
    config |= {"vocab_size": vocabulary}
    tied, own = (read(config | {"tie_word_embeddings": tie}) for tie in (True, False))
    assert own.parameters.total - tied.parameters.total == vocabulary * width


def test_a_floor_of_all_weights_of_a_mixture_is_beaten():
    """77.6 token/s of a card whose floor of all weights would be 34.7: github.com/AlexsJones/llmfit/issues/474."""
    one, bandwidth = quantity("1 B/parameter"), quantity("512 GB/s")
    measured = quantity("77.6 token/s")
    active, total = quantity("1.1e9 parameter"), quantity("512e9 parameter") / 34.7
    assert measured * decode_time(active, one, bandwidth) < 1 < measured * decode_time(total, one, bandwidth)


# Tensor parallelism, and what engines reserve


@steady
@given(kv=st.sampled_from([1, 2, 4, 8]), devices=st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_heads_beyond_the_devices_are_replicated_not_split(kv, devices):
    """Never zero heads, nor parts: github.com/vllm-project/vllm/pull/1640, github.com/tenstorrent/vllm/pull/50."""
    config = read(plain(layers=4, heads=32, hidden=4096, num_key_value_heads=kv))
    reserved = engines.vllm(config, quantity("1600 token"), quantity("2 B/element"), tensor_parallel=devices)
    assert reserved.bytes_per_token.m_as("byte/token") == 2 * 4 * max(1, kv // devices) * 128 * 2


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_a_latent_stands_on_every_device(devices):
    """github.com/vllm-project/recipes/issues/762."""
    config = read(of_file("deepseek-ai--DeepSeek-V3"))
    reserved = engines.vllm(config, quantity("1600 token"), quantity("2 B/element"), tensor_parallel=devices)
    assert reserved.bytes_per_token.m_as("byte/token") == 70_272


@steady
@given(kv=st.sampled_from([1, 2, 4, 8]), power=st.integers(0, 3), tokens=st.integers(1, 10**6))
def test_all_devices_together_hold_what_one_would(kv, power, tokens):
    """And no less, where heads are replicated: github.com/tenstorrent/tt-xla/issues/5728."""
    devices = 2**power
    config = read(plain(layers=4, heads=32, hidden=4096, num_key_value_heads=kv))
    one, each = (engines.vllm(config, Quantity(tokens, "token"), tensor_parallel=n).total for n in (1, devices))
    assert devices * each == one * max(1, devices // kv)


@steady
@given(tokens=st.integers(1, 1023), batched=st.integers(16, 10_000))
def test_a_window_longer_than_the_context_reserves_the_context(tokens, batched):
    """And a block more: github.com/tenstorrent/tt-xla/issues/5727, 5860, and pull/5834."""
    of_windows, of_all = (
        engines.vllm(read(gemma3(2, layer_types=[kind] * 2)), Quantity(tokens, "token"), batched_tokens=batched).total
        for kind in ("sliding_attention", "full_attention")
    )
    block = 16 * 2 * 16 * 128 * 2
    assert (of_windows - of_all).m_as("byte") <= 2 * block


def test_a_reservation_says_what_it_took_for_granted():
    """Two versions of an engine counted 55 and 525 thousand tokens: github.com/vllm-project/vllm/issues/43308."""
    said = engines.vllm(read(gemma4()), quantity("50000 token"), batched_tokens=2048).assumptions
    assert any("2,048" in text for text in said)
    assert any("blocks" in text for text in said)


@steady
@given(kv=st.sampled_from([1, 2, 4]), head=st.sampled_from([64, 128, 256]), value_heads=st.sampled_from([16, 32, 48]))
def test_the_block_of_a_hybrid_is_the_least_whose_page_holds_the_state(kv, head, value_heads):
    """A page is of keys and values; with keys alone it came out twice as large: vllm-project/vllm-ascend/pull/14543."""
    config = qwen35(kv=kv, head=head) | {"linear_num_value_heads": value_heads}
    reserved = engines.vllm(read(config), quantity("1 token"), quantity("2 B/element"))
    per_token = 2 * kv * head * 2
    page = reserved.rows[0][2].m_as("byte") / 10
    state = value_heads * 128 * 128 * 2 + (2 * 16 * 128 + value_heads * 128) * 3 * 2
    assert page % (16 * per_token) == 0
    assert page - 16 * per_token < state <= page


# Headers of GGUF files


def header(folder, architecture, layers, **fields):
    """A GGUF file without weights: names as llama.cpp has them, with underscores for dots."""
    file = folder / "model.gguf"
    writer = GGUFWriter(file, architecture)
    for name, value in {"block_count": layers, "context_length": 131_072, **fields}.items():
        key = f"{architecture}." + re.sub("^(attention|ssm|shortconv)_", r"\1.", name)
        writer.add_array(key, value) if isinstance(value, list) else writer.add_uint32(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return read_file(file)


def test_a_header_has_heads_and_widths_of_its_own(tmp_path):
    """The width of the embedding is not them: github.com/KolosalAI/model-memory-calculator/issues/2."""
    widths = {"attention_key_length": 128, "attention_value_length": 128}
    model = header(
        tmp_path, "llama", 32, embedding_length=4096, attention_head_count=32, attention_head_count_kv=8, **widths
    )
    assert model.bytes_per_token(TWO_BYTES).m_as("byte/token") == 131_072


def test_keys_and_values_of_a_header_may_differ_in_width(tmp_path):
    """github.com/modelship-ai/modelship/pull/183: (192 + 128) on 128 heads."""
    widths = {"attention_key_length": 192, "attention_value_length": 128}
    model = header(
        tmp_path, "llama", 61, embedding_length=7168, attention_head_count=128, attention_head_count_kv=128, **widths
    )
    assert model.bytes_per_token(TWO_BYTES).m_as("byte/token") == (192 + 128) * 128 * 61 * 2


def test_the_interval_of_a_header_is_heeded(tmp_path):
    """github.com/gpustack/gguf-parser-go/issues/28."""
    recurrent = {"ssm_conv_kernel": 4, "ssm_state_size": 128, "ssm_group_count": 16, "ssm_time_step_rank": 32}
    recurrent |= {"ssm_inner_size": 4096}
    model = header(
        tmp_path, "qwen35moe", 40, embedding_length=2048, attention_head_count=16, attention_head_count_kv=2,
        attention_key_length=256, attention_value_length=256, full_attention_interval=4, **recurrent,
    )  # fmt: skip
    assert model.bytes_per_token(TWO_BYTES).m_as("byte/token") == 20_480


def test_heads_of_a_header_may_differ_from_layer_to_layer(tmp_path):
    """The first alone was read, and it is zero: github.com/gpustack/gguf-parser-go/issues/31."""
    kv = [0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0]
    model = header(
        tmp_path, "lfm2", 16, embedding_length=2048, attention_head_count=32, attention_head_count_kv=kv,
        shortconv_l_cache=3,
    )  # fmt: skip
    state = model.state(quantity("32768 token"), TWO_BYTES) - model.constant_state()
    assert state.m_as("MiB") == 384


# Units


def test_a_divisor_and_its_label_agree():
    """github.com/alvarobartt/hf-mem/issues/33, github.com/vllm-project/vllm/issues/14979."""
    size = quantity("65248815744 B")
    assert (show(size, "GiB", 4), show(size, "GB", 4)) == ("60.77 GiB", "65.25 GB")


# Speculation


def test_drafts_behind_a_rejection_do_not_count():
    """Accepted, rejected, accepted, rejected: a rate of 0.5, but two tokens of five: vllm-project/vllm/issues/9565."""
    tested = [1, 0, 1, 0]
    assert sum(tested) / len(tested) == 0.5
    with pytest.raises(ValueError, match="rises"):
        measured_tokens_per_pass(tested)
    kept = [1, 0, 0, 0]
    assert measured_tokens_per_pass(kept).m_as("token") / (len(tested) + 1) == 0.4


def test_the_share_of_accepted_drafts_is_not_the_probability():
    """3.329 of 8 drafts at 0.8, not 6.4: ggml-org/llama.cpp/issues/3649."""
    assert accepted_share(0.8, quantity("8 token")).m_as("") == pytest.approx(0.416, abs=5e-4)
