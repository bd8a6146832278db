# ruff: noqa: E501  lines of logs are as long as they are printed
"""Logs of engines: published lines are read, and the figures in them are those that are predicted.

Where a case has a public address it stands with it; the others are lines of the
same format with figures that were seen in a log that cannot be cited.
"""

import contextlib
import functools
import io
import itertools
import json
import math
import random
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.book import FILES
from costlib.logs import compared, fitted, lines_of, point, read
from costlib.logs.comparison import AS_PREDICTED
from costlib.logs.lines import LONGEST
from costlib.logs.reader import LONGEST_SHAPE, MOST_SHAPES, Reader
from costlib.logs.startup import ENGINES, MOST_READINGS
from costlib.model_config import read as read_config
from costlib.model_config import read_table
from costlib.model_config.precision import precision_of
from costlib.schema import InputError
from costlib.units import Quantity, quantity

CONFIGS = FILES / "configs"
steady = settings(derandomize=True, deadline=None, max_examples=60)


def logged(text):
    return read(text.splitlines(keepends=True))


def dense(layers, kv, head, **more):
    """A model whose layers all keep the whole context."""
    heads = more.pop("heads", kv)
    fields = {"num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": head}
    fields |= {"hidden_size": heads * head, "dtype": "bfloat16", "model_type": "llama"}
    return read_table(fields | more, "config.json")


LLAMA_8B = dense(
    32, 8, 128, heads=32, intermediate_size=14336, vocab_size=128256, max_position_embeddings=131072,
    tie_word_embeddings=False,
)  # fmt: skip
QWEN_235B = dense(94, 4, 128, heads=64)
LLAMA_70B = dense(80, 8, 128, heads=64)


def hybrid(layers=64, query=24, kv=4, keys=16, values=48, **more):
    """A quarter of whose layers attend, and the others recur by a gated delta rule: Qwen3.5 and later."""
    fields = {"model_type": "qwen3_5_text", "num_hidden_layers": layers, "num_attention_heads": query, "head_dim": 256}
    fields |= {"num_key_value_heads": kv, "hidden_size": 2048, "full_attention_interval": 4, "dtype": "bfloat16"}
    fields |= {"linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128}
    fields |= {"linear_num_key_heads": keys, "linear_num_value_heads": values, "mamba_ssm_dtype": "float32"}
    return read_table(fields | more, "config.json")


def windowed(model_type, layers, kv, head, window, **more):
    """A model of which every other layer has a window."""
    fields = {"model_type": model_type, "num_hidden_layers": layers, "num_attention_heads": 8, "dtype": "float16"}
    fields |= {"num_key_value_heads": kv, "head_dim": head, "hidden_size": 2304, "sliding_window": window}
    return read_table(fields | more, "config.json")


def latent(layers):
    fields = {"model_type": "deepseek_v3", "num_hidden_layers": layers, "num_attention_heads": 16, "hidden_size": 2048}
    fields |= {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
    return read_table(fields | {"dtype": "bfloat16"}, "config.json")


def gemma4(**changed):
    fields = json.loads((CONFIGS / "google--gemma-4-26B-A4B.json").read_text(encoding="utf-8"))["text_config"]
    return read_table({**fields, **changed}, "config.json")


E4B = gemma4(
    num_hidden_layers=42, num_key_value_heads=2, num_global_key_value_heads=2, num_kv_shared_layers=18,
    sliding_window=512, enable_moe_block=False, layer_types=(["sliding_attention"] * 5 + ["full_attention"]) * 7,
)  # fmt: skip
GPT_OSS_20B = windowed("gpt_oss", 24, 8, 64, 128, num_attention_heads=64)

V10517 = """\
Loading model weights took 14.9888 GB
Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB peak_torch_memory={peak}GiB \
memory_usage_post_profile=15.35GiB non_torch_memory=0.35GiB kv_cache_size={cache}GiB gpu_memory_utilization=0.90
# GPU blocks: {blocks}, # CPU blocks: 2048
Maximum concurrency for {limit} tokens per request: {concurrency}x
"""
RUN_20K = V10517.format(peak=17.06, cache=3.81, blocks=1952, limit=20000, concurrency=1.56)
RUN_29K = V10517.format(peak=17.98, cache=2.89, blocks=1478, limit=29000, concurrency=0.82) + (
    "The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648)."
    " Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
)


def v1(cache, tokens, limit=None, concurrency=None):
    """The lines of a newer vLLM."""
    text = f"(EngineCore_DP0 pid=187) INFO 05-01 20:47:46 [gpu_worker.py:298] Available KV cache memory: {cache} GiB\n"
    text = (text if cache else "") + f"INFO 05-01 [kv_cache_utils.py:1087] GPU KV cache size: {tokens:,} tokens\n"
    if limit:
        text += f"INFO [kv_cache_utils.py] Maximum concurrency for {limit:,} tokens per request: {concurrency}x\n"
    return text


def v0(blocks, cache):
    """The lines of vLLM 0.6.4 to 0.7."""
    return (
        f"INFO worker.py:267] PyTorch activation peak memory takes 1.83GiB; the rest of the memory reserved for "
        f"KV Cache is {cache}GiB.\nINFO executor_base.py:111] # cuda blocks: {blocks}, # CPU blocks: 0\n"
    )


def cells(size, cells, layers, fmt="f16", seqs="1/1", extra=""):
    """The lines of llama.cpp since May 2025."""
    half = f"{size / 2:8.2f}"
    return (
        f"llama_context: n_seq_max     = {seqs.partition('/')[0]}\n"
        f"llama_context: n_ctx         = {cells * int(seqs.partition('/')[2])}\n{extra}"
        f"llama_kv_cache: size = {size:8.2f} MiB ({cells:6d} cells, {layers:3d} layers, {seqs} seqs), "
        f"K ({fmt}): {half} MiB, V ({fmt}): {half} MiB\n"
    )


def self_size(size, cells):
    """The lines of llama.cpp in 2024."""
    return f"llama_new_context_with_model: n_ctx      = {cells}\n" + (
        f"llama_new_context_with_model: KV self size  = {size:7.2f} MiB, K (f16): {size / 2:.2f} MiB, "
        f"V (f16): {size / 2:.2f} MiB\n"
    )


def sglang(tokens, keys, extra="", prefix=""):
    return f"[2025-07-22 10:00:00{prefix}] KV Cache is allocated. #tokens: {tokens}, K size: {keys} GB, V size: {keys} GB\n{extra}"


DRAFT, FP8 = "1 layer more, of a draft", "the cache is in fp8"
RECURRENT = (
    "llama_memory_recurrent: size = {} MiB (     1 cells,  {} layers,  1 seqs), R (f32): 1.00 MiB, S (f32): 1.00 MiB\n"
)
OLD = "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference"

# name: model, text, what is explained and how (as predicted, where it does not say), and the source
CASES = {
    "V01 V03 V04": (LLAMA_8B, RUN_20K, {
        "weights": "a table of rotations, 131,072 tokens × 128 in 16 bits, is no parameter", "cache, from its budget": "",
        "tokens": "", "concurrency": ""}, "https://github.com/vllm-project/vllm/issues/10517"),
    "V02": (LLAMA_8B, RUN_29K, {"tokens": "", "concurrency": ""}, "https://github.com/vllm-project/vllm/issues/10517"),
    "V06 V07": (dense(28, 8, 128, heads=16), v1(69.66, 652_144, 4096, 159.21), {"tokens": "", "concurrency": ""},
        "https://github.com/vllm-project/vllm/pull/24577"),
    "V10": (dense(48, 4, 128, heads=32), "ValueError: To serve at least one request with the models's max seq len "
        "(221000), (10.12 GiB KV cache is needed, which is larger than the available KV cache memory (9.81 GiB).\n",
        {"needed by one sequence": f"{FP8} or heads are split over 2 ranks"}, "https://github.com/vllm-project/vllm/issues/25350"),
    "V13": (read_config(CONFIGS / "openai--gpt-oss-120b.json"), v1(5.38, 78_384), {"tokens": ""},
        "https://github.com/alvarobartt/hf-mem/issues/60"),
    "V17": (LLAMA_8B, v1(51.63, 410_128, 131_072, 3.13), {
        "tokens": DRAFT, "concurrency": f"{AS_PREDICTED}, if {DRAFT}"}, "https://github.com/vllm-project/vllm/issues/19996"),
    "V20": (dense(24, 2, 64, heads=14), v0(190_100, 34.81), {"tokens": ""}, ""),
    "V22": (dense(40, 10, 128, heads=40), "INFO worker.py:267] the current vLLM instance can use total_gpu_memory "
        "(79.25GiB) x gpu_memory_utilization (0.15) = 11.89GiB\nINFO model weights take 8.51GiB; non_torch_memory takes "
        "0.26GiB; PyTorch activation peak memory takes 0.94GiB; the rest of the memory reserved for KV Cache is 2.18GiB."
        "\n# CUDA blocks: 715, # CPU blocks: 1310\nMaximum concurrency for 2048 tokens per request: 5.59x\n",
        {"cache, from its budget": "", "tokens": "", "concurrency": ""}, ""),
    "V30": (read_table({
        "model_type": "nemotron_h", "hybrid_override_pattern": "M*-", "num_attention_heads": 40, "head_dim": 128,
        "num_key_value_heads": 8, "mamba_num_heads": 128, "mamba_head_dim": 80, "n_groups": 8, "ssm_state_size": 128,
        "conv_kernel": 4, "mamba_ssm_cache_dtype": "bfloat16", "dtype": "bfloat16"}, "config.json"),
        "INFO [config.py] Setting attention block size to 672 tokens to ensure that attention page size is >= mamba page"
        " size.\n", {"block": ""}, "https://github.com/vllm-project/vllm/issues/24280"),
    "V34": (dense(28, 8, 128, heads=16), "non-default args: {'block_size': 1}\n" + v1("2.90", 54_284), {"tokens": f"{FP8} or heads are split over 2 ranks"},
        "https://github.com/FlashML-org/FreeToken/pull/126"),
    "V38": (LLAMA_70B, v0(8724, round(45_738_885_120 / 2**30, 2)), {"tokens": ""},
        "https://github.com/vllm-project/vllm/pull/45947"),
    "Qwen3.5-27B": (hybrid(), "INFO Setting attention block size to 784 tokens to ensure that attention page size is >= "
        "mamba page size.\n" + v1(None, 290_864, 32_768, 33.04), {"block": "", "concurrency": ""},
        "https://github.com/vllm-project/vllm/issues/40691"),
    "all layers with a window": (read_table({
        "model_type": "starcoder2", "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2,
        "hidden_size": 3072, "sliding_window": 4096, "dtype": "bfloat16"}, "c"),
        v1(None, 2_198_512, 16_384, 178.68), {"concurrency": ""}, "https://github.com/vllm-project/vllm/pull/19029"),
    "prefix caching": (hybrid(40, 16, 2, 16, 32), "Setting attention block size to 2096 tokens to ensure\n"
        + v1(2.95, 75_456, 65_536, 3.87), {
        "block": FP8, "tokens": f"{AS_PREDICTED}, if {FP8}",
        "concurrency": "2 pages of recurrent state a sequence, as with prefix caching or speculation"}, ""),
    "S01": (QWEN_235B, "[2025-07-22 10:00:00] server_args=ServerArgs(model_path='/path/to/Qwen3-235B-A22B-FP8', tp_size=4"
        ", kv_cache_dtype='auto')\n" + sglang(367_404, "8.23", prefix=" TP0"), {"keys and values": ""},
        "https://github.com/vllm-project/vllm/issues/21348"),
    "S01, without its ranks": (QWEN_235B, sglang(367_404, "8.23"), {"keys and values": "heads are split over 4 ranks"},
        "https://github.com/vllm-project/vllm/issues/21348"),
    "S03 S04 S05": (hybrid(), "Mamba Cache is allocated. max_mamba_cache_size: 124, conv_state size: 0.34GB, "
        "ssm_state size: 17.58GB\n" + sglang(330_323, "10.08"), {
        "keys and values": "", "recurrent states": f"{AS_PREDICTED}, with one slot more than 124"}, ""),
    "S09": (latent(7), "[2026-08-15 10:00:00 TP0] KV Cache is allocated. #tokens: 1912896, KV size: 14.37 GB\n",
        {"keys and values": ""}, ""),
    "S11": (gemma4(), "[2026-08-15] Use sliding window memory pool. full_layer_tokens=1000000, swa_layer_tokens=800000\n"
        + sglang(800_000, 21.46) + sglang(1_000_000, 2.68), {
        "keys and values": "the cache is in nvfp4", "keys and values of windows": "the cache is in nvfp4"}, ""),
    "T01": (dense(32, 32, 128), "[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache. \n"
        "[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.\n", {"cache": ""},
        "https://github.com/NVIDIA/TensorRT-LLM/issues/1400"),
    "T03": (LLAMA_8B, "[TensorRT-LLM][INFO] Number of tokens per block: 64.\n[TensorRT-LLM][INFO] [MemUsageChange] "
        "Allocated 26.91 GiB for max tokens in paged KV cache (220480).\n", {"cache": ""}, ""),
    "T05": (dense(32, 32, 128), f"[TensorRT-LLM][INFO] Allocate {10_720 * 524_288} bytes for k/v cache.\n"
        "[TensorRT-LLM][INFO] Using 10718 tokens in paged KV cache.\n", {"cache": ""},
        "https://github.com/NVIDIA/TensorRT-LLM/issues/224"),
    "L01": (dense(32, 32, 128), "llama_new_context_with_model: n_ctx      = 512\n"
        "llama_new_context_with_model: kv self size  =  256.00 MB\n", {"cache": ""}, OLD),
    "L03": (LLAMA_70B, self_size(160, 512), {"cache": ""}, OLD),
    "L05": (dense(28, 8, 128, heads=24), self_size(448, 4096), {"cache": ""}, ""),
    "L06": (dense(28, 8, 128, heads=24), cells(238, 4096, 28, "q8_0"), {"cache": ""}, ""),
    "L08": (dense(28, 8, 128, heads=24), cells(140, 4096, 28, "q4_1"), {"cache": ""}, ""),
    "L10": (dense(64, 8, 128, heads=40), cells(4352, 32_768, 64, "q8_0"), {"cache": ""},
        "https://github.com/ggml-org/llama.cpp/issues/11200"),
    "L12": (dense(32, 32, 80), self_size(640, 2048), {"cache": ""}, ""),
    "L14": (dense(40, 40, 128), "llama_init_from_file: n_ctx      = 512\nllama_init_from_file: kv self size  =  400.00 MB\n",
        {"cache": ""}, ""),
    "L16": (dense(40, 8, 128, heads=40), cells(2560, 16_384, 40), {"cache": ""}, ""),
    "L18": (hybrid(32, 16, 4, 16, 32), cells(8192, 262_144, 8) + RECURRENT.format("  50.25", 32), {
        "full cells": "", "recurrent states": "", "cache": ""}, ""),
    "L20": (hybrid(32, 16, 4, 16, 32), cells(1152, 131_072, 8, "q4_0"),
        {"cache": "the log does not show the recurrent part"}, ""),
    "L22": (hybrid(), cells(1088, 32_768, 16, "q8_0") + RECURRENT.format(" 149.62", 64), {
        "full cells": "", "recurrent states": "", "cache": ""}, ""),
    "L24": (GPT_OSS_20B, cells(192, 8192, 12) + "llama_kv_cache_iswa: creating     SWA KV cache, size = 768 cells\n"
        "llama_kv_cache: size =    18.00 MiB (   768 cells,  12 layers,  1/1 seqs), K (f16):    9.00 MiB, V (f16):    9.00"
        " MiB\n", {"full cells": "", "sliding cells": "", "cache": ""}, ""),
    "L26": (GPT_OSS_20B, cells(102, 8192, 12, "q8_0", extra="llama_context: n_ubatch      = 128\n")
        + "llama_kv_cache_iswa: creating     SWA KV cache, size = 256 cells\nllama_kv_cache: size =     3.19 MiB (   256 "
        "cells,  12 layers,  1/1 seqs), K (q8_0):    1.59 MiB, V (q8_0):    1.59 MiB\n",
        {"full cells": "", "sliding cells": "", "cache": ""}, ""),
    "L28": (windowed("gemma2", 26, 4, 256, 4096), cells(416, 8192, 13, seqs="4/1")
        + "llama_kv_cache_iswa: creating     SWA KV cache, size = 8192 cells\n"
        "llama_kv_cache: size =  416.00 MiB (  8192 cells,  13 layers,  4/1 seqs), K (f16):  208.00 MiB, V (f16):  208.00"
        " MiB\n", {"full cells": "", "sliding cells": "", "cache": ""}, ""),
    "L29": (E4B, "llama_context: n_ubatch      = 1024\n" + cells(64, 4096, 4) + "llama_kv_cache_iswa: creating     SWA KV "
        "cache, size = 4096 cells\nllama_kv_cache: size =  160.00 MiB (  4096 cells,  20 layers,  1/1 seqs)\n", {
        "full cells": "", "sliding cells": "windows keep the whole context, as with --swa-full or before May 2025"},
        "https://github.com/qualcomm/GenieX/pull/1346"),
    "L29, cut to their window": (E4B, cells(64, 4096, 4, extra="llama_context: n_ubatch      = 1024\n")
        + "llama_kv_cache_iswa: creating     SWA KV cache, size = 1536 cells\n"
        "llama_kv_cache: size =   60.00 MiB (  1536 cells,  20 layers,  1/1 seqs)\n", {
        "full cells": "", "sliding cells": "", "cache": ""}, "https://github.com/qualcomm/GenieX/pull/1346"),
    "L32": (latent(61), "llama_new_context_with_model: n_ctx      = 32768\nllama_new_context_with_model: KV self size  = "
        "2196.00 MiB\n", {"cache": ""}, "https://github.com/ggml-org/llama.cpp/pull/11446"),
    "L35": (hybrid(), cells(16_384, 262_144, 16) + RECURRENT.format(" 149.62", 64), {
        "full cells": "", "recurrent states": "", "cache": ""}, "https://github.com/tmac1973/llama-toolchest/pull/166"),
    "L37": (dense(6, 8, 64, heads=32), cells(384, 32_768, 6), {"cache": ""},
        "https://github.com/gpustack/gguf-parser-go/issues/31"),
    "L39": (dense(12, 12, 64), cells(288, 8192, 12), {"cache": ""}, "https://github.com/lablup/mlxcel/issues/927"),
    "L41": (dense(126, 16, 128, heads=128), cells(126_000, 128_000, 126), {"cache": ""},
        "https://github.com/huggingface/blog/issues/2345"),
    "L43": (LLAMA_70B, cells(40_000, 128_000, 80), {"cache": ""}, "https://github.com/huggingface/blog/issues/2345"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_published_log_is_read_and_explained(case):
    model, text, expected, _ = CASES[case]
    rows = {row.what: row for row in compared(logged(text), model)}
    for what, explanation in expected.items():
        row = rows[what]
        assert row.closed, row
        assert row.explanation == (explanation or AS_PREDICTED)


@pytest.mark.parametrize("case", CASES)
def test_a_log_of_another_pool_is_not_explained(case):
    """Were what is printed a ninth more, no explanation would close it: they are no free parameters."""
    model, text, expected, _ = CASES[case]
    log = logged(text)
    more = 10 / 9
    if log.engine == "vllm":
        changed = {"needed": log.needed and log.needed * more, "tokens": log.tokens}
        changed["tokens"] = log.tokens * more if log.cache is not None and log.tokens is not None else log.tokens
        changed["concurrency"] = log.concurrency and log.concurrency * more
        changed["block"] = log.block and (log.block if not model.states else log.block * 2)
    else:
        changed = {"cache": log.cache * more, "pools": tuple(replace(p, size=p.size * more) for p in log.pools)}
    rows = [row for row in compared(replace(log, **changed), model) if row.what in expected]
    for row in rows:
        if row.what not in ("weights", "block", "cache, from its budget"):
            assert not row.closed and row.explanation.startswith("not explained"), row


# What cannot be closed


def test_a_rank_that_does_not_speak_may_have_the_least_pool():
    """V36, https://github.com/vllm-project/vllm/issues/13061: 81,536 tokens, where the rank shown has room for 94,912."""
    text = "(VllmWorkerProcess pid=1786) INFO Loading model weights took 13.9476 GB\n" + (
        "(VllmWorkerProcess pid=1786) INFO worker.py:266] the rest of the memory reserved for KV Cache is 8.69GiB.\n"
        "INFO executor_base.py:110] # CUDA blocks: 5096, # CPU blocks: 2730\n"
    )
    (row,) = compared(logged(text), dense(48, 8, 128, heads=40), tensor_parallel=2)[1:]
    assert not row.closed
    assert row.difference == pytest.approx(81_536 / 94_912 - 1, abs=1e-3)
    assert "the least of 2 ranks, which the log does not all show; it would be 7.46 GiB" in row.explanation


def test_a_part_of_the_weights_in_8_bits_is_not_explained_away():
    """V26, https://github.com/vllm-project/vllm/issues/6746: 57.752 GiB on each of eight, for 405 billion parameters."""
    fields = {"num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8, "hidden_size": 16384}
    fields |= {"intermediate_size": 53248, "vocab_size": 128256, "tie_word_embeddings": False, "dtype": "bfloat16"}
    quantised = {"quantization_config": {"quant_method": "fbgemm_fp8"}}
    model = read_table({"model_type": "llama", **fields, **quantised}, "config.json")
    text = "".join(f"(VllmWorkerProcess pid={n}) INFO Loading model weights took 57.7520 GB\n" for n in range(8))
    log = logged(text + "INFO # GPU blocks: 10, # CPU blocks: 2\n")
    assert log.weights.m_as("GiB") == pytest.approx(8 * 57.752)
    (row,) = compared(log, model)
    assert (
        row.predicted is None and not row.closed and row.explanation.startswith("not predicted: how its quantisation")
    )
    assert 405_853_388_800 < log.weights.m_as("byte") < 2 * 405_853_388_800


def test_gigabytes_that_are_gibibytes_are_read_so():
    """V19: 2.8884 "GB" of a file of 3.09 GB; the small rest is not taken apart."""
    fields = {"model_type": "qwen2", "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2}
    fields |= {"hidden_size": 1536, "intermediate_size": 8960, "vocab_size": 151936, "tie_word_embeddings": True}
    model = read_table({**fields, "dtype": "bfloat16"}, "config.json")
    log = logged("INFO model_runner.py:1115] Loading model weights took 2.8884 GB\n")
    assert log.weights.m_as("GB") == pytest.approx(3.10, abs=0.005)
    assert log.notes == ("the weights are printed in GB and are GiB",)
    (row,) = compared(log, model)
    assert not row.closed and 0.004 < row.difference < 0.005


def test_padding_and_rotations_are_no_parameters():
    fields = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 8}
    fields |= {"hidden_size": 1024, "intermediate_size": 4096, "vocab_size": 32_001, "tie_word_embeddings": False}
    model = read_table({**fields, "max_position_embeddings": 4096, "dtype": "bfloat16"}, "config.json")
    size = model.parameters.total * 2
    padding, rotations = 63 * 1024 * 2 * 2, 4096 * 128 * 2
    for more, said in [
        (0, AS_PREDICTED),
        (padding, "the table of tokens is padded to a multiple of 64"),
        (
            padding + rotations,
            "a table of rotations, 4,096 tokens × 128 in 16 bits, is no parameter, and the table of tokens is padded",
        ),
        (2 * padding, "not explained"),
    ]:
        (row,) = compared(logged(f"Loading model weights took {(size + more) / 2**30:.4f} GB\n"), model)
        assert row.explanation.startswith(said)
    (row,) = compared(logged(f"Model loading took {size / 1e9:.4f} GiB and 1.0 seconds\n"), model)
    assert row.explanation == "the size is in GB, not in GiB"


@pytest.mark.parametrize(
    "config, why",
    [
        ("pipeline_parallel_size=2", "each of 2 pipeline stages has other layers"),
        (
            "dtype=torch.bfloat16)\nMultiplying the GPU KV cache size by the cp_world_size 4",
            "contexts are split over 4",
        ),
    ],
)
def test_what_is_not_known_is_not_predicted(config, why):
    text = f"Initializing a V1 LLM engine (v0.15.0) with config: model='m', {config}\n{v1(3.0, 16_000)}"
    (row,) = compared(logged(text), LLAMA_8B)
    assert (row.predicted, row.closed) == (None, False)
    assert row.explanation.startswith(f"not predicted: {why}")


def test_weights_that_the_log_calls_quantised_are_not_predicted_from_16_bits():
    text = "Initializing a V1 LLM engine (v0.15.0) with config: model='m', quantization=awq\n" + RUN_20K
    row = compared(logged(text), LLAMA_8B)[0]
    assert (row.what, row.predicted) == ("weights", None)


def test_a_latent_stands_on_every_rank():
    """V32, https://github.com/vllm-project/vllm/issues/51454: eight ranks hold no more of a latent than one."""
    model, pool = latent(61), v1(40.0, 16 * math.floor(40 * 2**30 / (61 * 576 * 2 * 16)))
    for ranks in (1, 8):
        (row,) = compared(logged(pool), model, tensor_parallel=ranks)
        assert row.explanation == AS_PREDICTED


def test_blocks_and_tokens():
    """V23, https://github.com/OpenRLHF/OpenRLHF/issues/336; V28, …/mitchross/talos-argocd-proxmox/pull/1995."""
    assert logged("# GPU blocks: 378, # CPU blocks: 819\n").tokens == quantity("6048 token")
    log = logged("Setting attention block size to 1568 tokens to ensure\n" + v1(None, 168 * 1568 * 2, 262_144, 2.0))
    assert (log.block.m_as("token"), log.hybrid) == (1568, True)
    assert math.ceil(262_144 / log.block.m_as("token")) == 168


def test_a_token_takes_what_all_layers_keep():
    """V14, V34, L44: one token of gpt-oss, fp8 half of bf16, and 4,196 tokens of Llama-2-7B in 2.05 GiB."""
    model = read_config(CONFIGS / "openai--gpt-oss-120b.json")
    assert model.state(quantity("1 token")).m_as("byte") == 73_728
    text = "non-default args: {'block_size': 1}\n" + v1("2.90", 27_142)
    (row,) = compared(logged(text), dense(28, 8, 128, heads=16))
    assert row.closed and row.explanation == AS_PREDICTED
    (row,) = compared(logged(self_size(2176, 4352)), dense(32, 32, 128))  # llama.cpp gives them whole 256 cells
    assert row.closed and 4196 / 4352 * row.printed.m_as("GiB") == pytest.approx(2.05, abs=5e-3)


# What is read


SEEN = {
    "vLLM 0.19": ("vllm", """\
(EngineCore pid=187) INFO 05-01 20:45:03 [core.py:107] Initializing a V1 LLM engine (v0.19.2rc1.dev8+g4b7f5ea1a) with \
config: model='RedHatAI/gemma-4-26B-A4B-it-NVFP4', speculative_config=SpeculativeConfig(method='eagle', \
model='RedHatAI/gemma-4-26B-A4B-it-speculator.eagle3', num_spec_tokens=3), dtype=torch.bfloat16, max_seq_len=98304, \
tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, kv_cache_dtype=fp8_e4m3, enable_prefix_caching=True
2026-05-01 22:45:53.672 | (EngineCore pid=187) INFO 05-01 [gpu_model_runner.py:4879] Model loading took 21.86 GiB memory \
and 33.868409 seconds
2026-05-01 22:47:46.772 | (EngineCore pid=187) INFO 05-01 20:47:46 [gpu_worker.py:440] Available KV cache memory: 2.95 GiB
2026-05-01 22:47:46.772 | (EngineCore pid=187) INFO 05-01 20:47:46 GPU KV cache size: 75,456 tokens
INFO 05-01 20:47:49 [gpu_model_runner.py:6133] Graph capturing finished in 1 secs, took 0.73 GiB
""", {"version": "0.19.2rc1.dev8+g4b7f5ea1a", "model": "RedHatAI/gemma-4-26B-A4B-it-NVFP4", "kv_format": "fp8_e4m3",
      "context_limit": "98304 token", "weights": "21.86 GiB", "cache": "2.95 GiB", "tokens": "75456 token"}),
    "vLLM 0.7, V1": ("vllm", """\
INFO 01-30 03:18:12 gpu_model_runner.py:848] Loading model weights took 67.7229 GB
INFO 01-30 03:19:14 kv_cache_utils.py:395] # GPU blocks: 1381
INFO 01-30 03:19:14 kv_cache_utils.py:398] Maximum concurrency for 2048 tokens per request: 10.79x
""", {"weights": "67.7229 GiB", "blocks": 1381, "block": "16 token", "tokens": "22096 token", "concurrency": 10.79}),
    "vLLM, both in a line": ("vllm", "INFO GPU KV cache size: 1,553,140 tokens, Maximum concurrency for 1,000,000 tokens "
        "per request: 1.55x\n", {"tokens": "1553140 token", "concurrency": 1.55, "context_limit": "1000000 token"}),
    "vLLM 0.6.5": ("vllm", """\
INFO 12-13 19:54:18 worker.py:243] total_gpu_memory     79.22GiB
INFO 12-13 19:54:18 worker.py:243] gpu_memory_utilization       0.90
INFO 12-13 19:54:18 worker.py:243] model weights take   14.96GiB
INFO 12-13 19:54:18 worker.py:243] non_torch_memory     1.79GiB
INFO 12-13 19:54:18 worker.py:243] PyTorch activation peak memory       1.26GiB
INFO 12-13 19:54:18 worker.py:243] available_kv_cache_memory    53.29GiB
""", {"memory": "79.22 GiB", "weights": "14.96 GiB", "cache": "53.29 GiB", "utilisation": 0.9}),
    "vLLM that has nothing left": ("vllm", "ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization` when initializing the engine.\n", {"refused": "there is no memory left for the cache"}),
    "vLLM whose pool is negative": ("vllm", "Available KV cache memory: -2.71 GiB\nNo available memory for the cache "
        "blocks.\n", {"cache": "-2.71 GiB", "refused": "there is no memory left for the cache"}),
    "vLLM with DeepSeek V4": ("vllm", "(EngineCore pid=2739502) ERROR 06-03 14:24:40 [core.py:1165] ValueError: To serve at "
        "least one request with the model's max seq len (30000), (6.66 GiB KV cache is needed, which is larger than the "
        "available KV cache memory (5.44 GiB). Based on the available memory, the estimated maximum model length is 13528."
        "\n", {"needed": "6.66 GiB", "cache": "5.44 GiB", "context_limit": "30000 token"}),
    "SGLang 0.5": ("sglang", """\
[2026-09-09 11:57:18] Mamba Cache is allocated. max_mamba_cache_size: 48, conv_state size: 0.09GB, ssm_state size: 6.46GB
[2026-09-09 11:57:18] KV Cache is allocated. #tokens: 2618868, K size: 19.98 GB, V size: 19.98 GB
[2026-09-09 11:57:27] max_total_num_tokens=2618868, chunked_prefill_size=-1, max_prefill_tokens=16384, \
max_running_requests=48, context_len=16384, available_gpu_mem=13.38 GB
""", {"tokens": "2618868 token", "sequences": 48, "context_limit": "16384 token", "cache": "46.51 GiB", "hybrid": True}),
    "SGLang with windows": ("sglang", """\
[2026-01-31 13:50:39 TP2] Use sliding window memory pool. full_layer_tokens=375360, swa_layer_tokens=300288
[2026-01-31 13:50:39 TP2] KV Cache is allocated. #tokens: 300288, K size: 8.38 GB, V size: 5.59 GB
""", {"tokens": "375360 token", "cache": "13.97 GiB", "hybrid": True}),
    "SGLang on an NPU": ("sglang", """\
[2026-03-11 13:53:21 TP0] Load weight end. elapsed=23.18 s, type=Glm4MoeLiteForCausalLM, avail mem=32.02 GB, mem usage=28.79 GB.
[2026-03-11 13:53:23 TP0] KV Cache is allocated. #tokens: 383872, KV size: 19.36 GB
""", {"weights": "28.79 GiB", "tokens": "383872 token", "cache": "19.36 GiB"}),
    "SGLang of early 2024": ("sglang", "[gpu_id=0] Load weight begin. avail mem=78.59 GB\n[gpu_id=0] Load weight end. "
        "type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.51 GB\n[gpu_id=0] Memory pool end. avail mem=9.01 GB\n"
        "max_total_num_tokens=445900, max_prefill_tokens=16384, context_len=8192\n",
        {"weights": "15.08 GiB", "tokens": "445900 token", "context_limit": "8192 token", "kv_format": "bfloat16"}),
    "TensorRT-LLM 0.17": ("tensorrt_llm", """\
[TensorRT-LLM][INFO] Loaded engine size: 15320 MiB
[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: 17.83 GiB
[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 8219
[TensorRT-LLM][INFO] Number of blocks in KV cache secondary pool: 0, onboard blocks to primary memory before reuse: true
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008)
""", {"weights": "15320 MiB", "blocks": 8219, "block": "32 token", "tokens": "263008 token", "cache": "16.05 GiB",
      "memory": "31.84 GiB"}),
    "TensorRT-LLM 1.2": ("tensorrt_llm", """\
[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 65 [window size=2051], tokens per block=32, primary blocks=116617, \
secondary blocks=0
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 78.30 GiB for max tokens in paged KV cache (3731744).
[04/10/2025-09:38:53] [TRT-LLM] [I] max_seq_len=2051, max_num_requests=2048, max_num_tokens=8192, max_batch_size=2048
""", {"blocks": 116617, "tokens": "3731744 token", "cache": "78.3 GiB", "context_limit": "2051 token", "sequences": 2048}),
    "ollama 0.5": ("ollama", """\
time=2025-01-10T22:05:21.891+08:00 level=INFO source=memory.go:356 msg="offload to cuda" layers.requested=-1 \
layers.model=41 layers.offload=29 memory.required.full="9.6 GiB" memory.required.kv="400.0 MiB" \
memory.required.allocations="[6.8 GiB]" memory.weights.total="8.2 GiB" memory.weights.repeating="7.8 GiB"
time=2025-01-10T22:05:21.897+08:00 level=INFO source=server.go:376 msg="starting llama server" cmd="runner --model x \
--ctx-size 2048 --batch-size 512 --n-gpu-layers 29 --parallel 1 --port 50000"
""", {"cache": "400 MiB", "weights": "8.2 GiB", "context_limit": "2048 token", "sequences": 1, "kv_format": "f16"}),
    "ollama 0.20": ("ollama", """\
Apr 09 23:30:17 ai ollama[3110]: time=2026-04-09T23:30:17.630-07:00 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="19.9 GiB"
Apr 09 23:30:17 ai ollama[3110]: time=2026-04-09T23:30:17.630-07:00 level=INFO source=device.go:245 msg="model weights" device=CPU size="28.3 GiB"
Apr 09 23:30:17 ai ollama[3110]: time=2026-04-09T23:30:17.631-07:00 level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="1.1 GiB"
Apr 09 23:30:17 ai ollama[3110]: time=2026-04-09T23:30:17.631-07:00 level=INFO source=device.go:256 msg="kv cache" device=CPU size="1.5 GiB"
""", {"cache": "2.6 GiB", "weights": "48.2 GiB"}),
    "llama.cpp on two cards": ("llama.cpp", """\
llama_model_loader: loaded meta data with 29 key-value pairs and 724 tensors from /models/llama-70b.gguf (version GGUF V3 (latest))
llm_load_print_meta: arch             = llama
llm_load_print_meta: model size       = 37.22 GiB (4.53 BPW)
llm_load_print_meta: general.name     = Meta Llama 3.1 70B Instruct
llm_load_tensors:      CUDA0 buffer size = 18000.00 MiB
llm_load_tensors:      CUDA1 buffer size = 19000.50 MiB
llama_new_context_with_model: n_ctx      = 65536
llama_kv_cache_init:      CUDA0 KV buffer size =  4896.02 MiB
llama_kv_cache_init:      CUDA1 KV buffer size =  5984.02 MiB
llama_new_context_with_model: KV self size  = 10880.00 MiB, K (q8_0): 5440.00 MiB, V (q8_0): 5440.00 MiB
""", {"cache": "10880 MiB", "weights": "37000.5 MiB", "tokens": "65536 token", "kv_format": "q8_0",
      "model": "Meta Llama 3.1 70B Instruct"}),
    "llama.cpp and a draft": ("llama.cpp", """\
llama_model_loader: loaded meta data with 29 key-value pairs and 724 tensors from /models/big.gguf (version GGUF V3 (latest))
llama_context: n_ctx         = 4096
llama_kv_cache_unified: size = 1280.00 MiB (  4096 cells,  80 layers,  1 seqs), K (f16):  640.00 MiB, V (f16):  640.00 MiB
llama_model_loader: loaded meta data with 29 key-value pairs and 99 tensors from /models/small.gguf (version GGUF V3 (latest))
llama_context: n_ctx         = 4096
llama_kv_cache_unified: size =  128.00 MiB (  4096 cells,  16 layers,  1 seqs), K (f16):   64.00 MiB, V (f16):   64.00 MiB
""", {"cache": "1280 MiB", "tokens": "4096 token", "model": "/models/big.gguf"}),
    "llama.cpp that tries first": ("llama.cpp", "".join(
        f"print_info: no_alloc = {tried}\nllama_context: n_ctx = 4096\nllama_kv_cache: size = 160.00 MiB (4096 cells, 10 layers"
        ", 1/1 seqs), K (f16): 80.00 MiB, V (f16): 80.00 MiB\n" for tried in (1, 0)), {"cache": "160 MiB"}),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_lines_that_engines_print_are_read(name):
    engine, text, expected = SEEN[name]
    log = logged(text)
    assert log.engine == engine
    for field, value in expected.items():
        found = getattr(log, field)
        if isinstance(value, str) and isinstance(found, Quantity):
            assert found.m_as("byte" if found.is_compatible_with("byte") else "token") == pytest.approx(
                quantity(value.removeprefix("-")).to_base_units().to(found.units).magnitude
                * (-1) ** value.startswith("-"),
                abs=1,
            ), field
        else:
            assert found == value, field


PREFIXES = {
    "none": "{}\n",
    "docker": "{}\n",
    "JSON of docker": '{{"log":{json},"stream":"stderr","time":"2026-05-01T20:47:46.77Z"}}\n',
    "JSON of a collector": '{{"message":{json},"pod":"vllm-0"}}\n',
    "kubectl": "2026-05-01T20:47:46.772Z stdout F {}\n",
    "journald": "Aug 18 22:21:59 sys0 vllm[188300]: {}\n",
    "colours": "\x1b[1;36m(EngineCore_DP0 pid=7)\x1b[0;0m {}\x1b[0m\n",
    "colours spelt out": "#033[1;36m(EngineCore_DP0 pid=7)#033[0;0m {}\n",
    "Windows": "{}\r\n",
    "quoted": ">>> {}\n",
    "an old Mac": "{}\r",
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    "name", ["vLLM 0.7, V1", "SGLang 0.5", "TensorRT-LLM 0.17", "ollama 0.5", "llama.cpp on two cards"]
)
def test_what_stands_around_a_line_does_not_matter(name, prefix):
    _, text, _ = SEEN[name]
    wrapped = "".join(PREFIXES[prefix].format(line, json=json.dumps(line + "\n")) for line in text.splitlines())
    file = io.BufferedReader(io.BytesIO(wrapped.encode()))
    plain, found = logged(text), read(lines_of(file))
    same = (
        "engine version model weights cache tokens block blocks context_limit concurrency sequences pools known".split()
    )
    assert {name: getattr(found, name) for name in same} == {name: getattr(plain, name) for name in same}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_log_in_any_encoding(encoding):
    text = "Größe \xe9\n" + RUN_20K
    file = io.BufferedReader(io.BytesIO(text.encode(encoding)))
    assert read(lines_of(file)).blocks == 1952


def test_each_rank_speaks_and_the_least_pool_counts():
    text = "".join(
        f"(Worker_TP{rank} pid=6{rank}) INFO [gpu_model_runner.py] Model loading took 8.{rank} GiB and 3 seconds\n"
        f"(Worker_TP{rank} pid=6{rank}) INFO [gpu_worker.py] Available KV cache memory: {20 - rank}.50 GiB\n"
        for rank in range(4)
    )
    log = logged(text + "(EngineCore_DP0 pid=5) INFO GPU KV cache size: 573,424 tokens\n")
    assert [rank.name for rank in log.ranks] == ["TP0", "TP1", "TP2", "TP3"]
    assert (log.smallest.name, log.cache.m_as("GiB")) == ("TP3", 17.5)
    assert log.weights.m_as("GiB") == pytest.approx(8.0 + 8.1 + 8.2 + 8.3)
    assert "the pools of the ranks differ; the least counts for all" in log.notes
    (row,) = [row for row in compared(log, LLAMA_8B, tensor_parallel=4) if row.what == "tokens"]
    assert row.explanation == AS_PREDICTED


@pytest.mark.parametrize(
    "prefix, name",
    [
        ("(VllmWorker TP1 pid=12)", "TP1"),
        ("(VllmWorker rank=1 pid=12)", "TP1"),
        ("(VllmWorkerProcess pid=2607784)", "worker 2607784"),
        ("(Worker_TP1 pid=9)", "TP1"),
        ("(Worker_PP0_TP1 pid=9)", "PP0_TP1"),
        ("(RayWorkerWrapper pid=8, ip=10.0.0.2)", "worker 8 on 10.0.0.2"),
        ("(EngineCore_DP0 pid=7)", "EngineCore_DP0"),
        ("INFO 05-01", "rank 0"),
    ],
)
def test_ranks_of_vllm_by_their_prefix(prefix, name):
    assert logged(f"{prefix} Available KV cache memory: 3.00 GiB\n").ranks[0].name == name


def test_a_line_a_worker_and_the_least_counts():
    """Until 0.10 each worker's pool was printed by the engine."""
    lines = [v1(None, 16_000, 8000, "2.00"), v1(None, 8000, 8000, "1.00"), v1(None, 12_000, 8000, "1.50")]
    log = logged("".join(lines))
    assert (log.tokens.m_as("token"), log.concurrency, log.starts) == (8000, 1.0, 1)


def test_a_pool_of_less_than_one_sequence_is_a_refusal():
    text = "# GPU blocks: 10, # CPU blocks: 2\nMaximum concurrency for 200 tokens per request: {}x\n"
    assert logged(text.format("0.80")).refused == "the pool holds less than one sequence at the context limit"
    assert logged(text.format("1.00")).refused is None


def test_only_some_ranks_say_what_their_weights_take():
    config = (
        "Initializing a V1 LLM engine (v0.11.0) with config: model='m', tensor_parallel_size=8, dtype=torch.bfloat16\n"
    )
    log = logged(config + "(Worker_TP0 pid=1) Model loading took 17.00 GiB and 3 seconds\n")
    assert "1 of 8 ranks say what their weights take; the others are not in the sum" in log.notes


def test_the_last_complete_start_up_counts():
    log = logged(RUN_20K + RUN_29K)
    assert (log.blocks, log.starts) == (1478, 2)
    assert "2 start-ups came to their end; the last counts" in log.notes
    assert log.refused == "the pool holds less than one sequence at the context limit"
    assert logged(RUN_29K + RUN_20K).refused is None


def test_a_start_up_that_did_not_come_to_its_end_does_not_count():
    begun = "INFO llm_engine.py Initializing a V1 LLM engine (v0.1{}.0) with config: model='m{}', max_seq_len=10\n"
    text = begun.format(0, 0) + RUN_20K + begun.format(1, 1) + "INFO Loading weights\n"
    log = logged(text)
    assert (log.version, log.model, log.blocks, log.starts) == ("0.10.0", "m0", 1952, 1)
    assert "a start-up after it did not come to its end" in log.notes
    assert logged(begun.format(0, 0) + begun.format(1, 1) + RUN_20K).version == "0.11.0"
    assert logged(text + begun.format(1, 1) + begun.format(1, 1)).blocks == 1952  # it fails, and is started again


def test_a_draft_of_sglang_is_of_the_same_start_up():
    """EAGLE: one layer more, loaded after the pool of the model is there."""
    begin = "[2025] Load weight begin. avail mem=78.50 GB\n"
    text = (
        begin
        + "[2025] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.50 GB, mem usage=15.00 GB.\n"
        + sglang(100_000, "6.10")
        + begin
        + "[2025] Load weight end. type=LlamaForCausalLMEagle, dtype=torch.bfloat16, avail mem=50.00 GB, mem usage=0.90 GB.\n"
        + sglang(100_000, "0.19")
        + "[2025] max_total_num_tokens=100000, max_prefill_tokens=16384, context_len=8192\n"
    )
    log = logged(text)
    assert [pool.kind for pool in log.pools] == ["full", "draft"]
    assert (log.starts, log.weights.m_as("GiB"), log.cache.m_as("GiB")) == (
        1,
        pytest.approx(15.9),
        pytest.approx(12.58),
    )
    (row,) = [row for row in compared(log, LLAMA_8B) if row.what != "weights"]
    assert (row.what, row.explanation) == ("keys and values", AS_PREDICTED)
    assert logged(text + text).starts == 2
    assert logged(text + text).cache == log.cache


def test_replicas_of_vllm_are_said_to_be_several():
    text = "".join(f"(EngineCore_DP{n} pid=1{n}) Available KV cache memory: 3.0{n} GiB\n" for n in range(2))
    assert "2 engines serve side by side; tokens, blocks and concurrency are those of one" in logged(text).notes


def test_several_engines_in_one_file():
    """As in https://github.com/vllm-project/vllm/issues/21348."""
    first, second = v1(8.11, 178_880), sglang(367_404, "8.23")
    log = logged(first + second)
    assert (log.engine, log.known) == ("sglang", 3)
    assert "a start-up of vLLM is there too, before it; wanted a file for each" in log.notes
    assert logged(second + first).engine == "vllm"


MIXED = "several engines write into this log at once, and their figures are mixed; wanted a file for each"


@pytest.mark.parametrize(
    "one, other",
    [
        ("(EngineCore_DP0 pid=187) ", "(EngineCore_DP0 pid=188) "),
        ("svc-a-1  | ", "svc-b-1  | "),
        ("[pod/a/vllm] ", "[pod/b/vllm] "),
        ("[53871] 0.00.039.249 I ", "[53872] 0.00.039.806 I "),
    ],
)
def test_engines_that_write_at_once_are_said_to(one, other):
    first = [one + line for line in RUN_20K.splitlines(keepends=True)]
    second = [other + line for line in RUN_29K.splitlines(keepends=True)]
    mixed = "".join(itertools.chain(*itertools.zip_longest(first, second, fillvalue="\n")))
    assert MIXED in logged(mixed).notes
    for text in ("".join(first), "".join(first + second), "".join(first[:2] + second)):
        assert MIXED not in logged(text).notes


def test_llama_cpp_that_only_tries_allocates_nothing():
    log = logged(SEEN["llama.cpp that tries first"][1].partition("print_info: no_alloc = 0")[0])
    assert log.cache is None


def test_a_model_in_parts_has_several_buffers_on_a_device():
    buffer = "load_tensors:   CPU_Mapped model buffer size = {} MiB\n"
    log = logged(buffer.format("100.00") + buffer.format("50.50") + cells(16, 512, 8))
    assert log.weights.m_as("MiB") == 150.5


def test_blocks_of_tensorrt_llm_are_tokens():
    text = "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 631\n"
    assert logged(text).tokens is None
    assert logged(text + "[TensorRT-LLM][INFO] Number of tokens per block: 64.\n").tokens == quantity("40384 token")


def test_one_explanation_holds_for_all_figures():
    """A cache in fp8 would hold twice as many sequences, but not these tokens."""
    tokens, concurrency = compared(logged(v1(69.66, 652_144, 4096, 318.43)), dense(28, 8, 128, heads=16))
    assert tokens.explanation == AS_PREDICTED
    assert not concurrency.closed


def test_ollama_with_the_llama_cpp_inside():
    ollama = 'time=2026 level=INFO source=runner.go:965 msg="starting go runner"\n'
    log = logged(ollama + cells(512, 4096, 32) + 'time=2026 msg="kv cache" device=CPU size="512.0 MiB"\n')
    assert (log.engine, log.cache.m_as("MiB"), len(log.pools)) == ("ollama", 512, 1)


def test_a_number_that_is_not_credible_is_passed_over_and_said():
    for number in ("1e30", "nan", "inf", "-5"):
        log = logged(f"GPU KV cache size: {number} tokens\nAvailable KV cache memory: 3.00 GiB\n")
        assert log.tokens is None
        assert f"line 1: tokens = {number} is not credible, and was passed over" in log.notes
    assert logged("Available KV cache memory: 1e30 GiB\nGPU KV cache size: 16 tokens\n").cache is None


def test_a_number_of_very_many_digits_is_not_read_in_part():
    for digits in ("1" * 60, "1," * 60 + "1", "1." + "1" * 60):
        log = logged(
            f"# GPU blocks: {digits}\nGPU KV cache size: {digits} tokens\nAvailable KV cache memory: 3.00 GiB\n"
        )
        assert (log.blocks, log.tokens, log.known) == (None, None, 1)


def test_lines_that_contradict_one_another_are_said_to():
    log = logged("Available KV cache memory: 3.00 GiB\nAvailable KV cache memory: 9.00 GiB\n")
    assert "line 2: cache was printed before with another value; this one counts" in log.notes


def test_what_users_write_is_no_line_of_the_engine():
    trick = "INFO Received request cmpl-1: prompt: 'GPU KV cache size: 5 tokens'\n"
    assert logged(v1(3.0, 16_000) + trick).tokens == quantity("16000 token")


def test_a_log_cut_within_its_last_line():
    whole = v1(69.66, 652_144)
    start = whole[: whole.index("69.66") + 3]
    assert logged(v1(None, 16) + start).cache is None
    assert logged(whole[:-12]).tokens is None  # the count may have gone on
    assert logged(v1(None, 652_144) + "# GPU blocks: 13").notes[-1].startswith("the last line has no end")
    assert logged(whole).notes == ()


# At work

V1_LINE = (
    "INFO 05-01 [loggers.py:127] Engine 000: Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 283.4 "
    "tokens/s, Running: {} reqs, Waiting: {} reqs, {}GPU KV cache usage: {}%, Prefix cache hit rate: {}%\n"
)


def test_a_server_at_work_is_summed_up():
    lines = [(3, 1, "", 10.0, 82.8), (9, 4, "Preemptions: 7, ", 98.5, 60.0), (2, 0, "Preemptions: 7, ", 1.5, 55.5)]
    use = logged(v1(3.0, 16_000) + "".join(V1_LINE.format(*line) for line in lines)).use
    assert (use.lines, use.running, use.waiting, use.preemptions) == (3, 9, 4, 7)
    assert (use.mean, use.peak, use.hit_rate) == pytest.approx((110 / 300, 0.985, 0.555))


def test_the_running_lines_of_vllm_0():
    text = (
        "INFO 05-22 02:20:59 metrics.py:229] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.1 tokens/s, "
        "Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 0.1%, CPU KV cache usage: 0.0%\n"
        "INFO metrics.py Prefix cache hit rate: GPU: 45.00%, CPU: 0.00%\n"
        "WARNING scheduler.py Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV "
        "cache space. total_cumulative_preemption_cnt=51\n"
    )
    log = logged(v0(1000, 2.0) + text)
    assert (log.use.running, log.use.waiting, log.use.preemptions) == (1, 2, 51)
    assert (log.use.peak, log.use.hit_rate) == pytest.approx((0.001, 0.45))


def test_the_running_lines_of_sglang():
    text = (
        "[2025] Prefill batch. #new-seq: 1, #new-token: 300, #cached-token: 700, token usage: 0.25, #running-req: 4, "
        "#queue-req: 1, \n[2025] Prefill batch, #new-seq: 1, #new-token: 100, #cached-token: 900, token usage: 0.35, "
        "#running-req: 6, #queue-req: 0, \n[2025] Decode batch. #running-req: 7, #token: 1000, token usage: 0.90, gen "
        "throughput (token/s): 10.0, #queue-req: 3\n"
        "[2025] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.5 -> 0.7\n"
    )
    use = logged(sglang(1000, 1.0) + text).use
    assert (use.lines, use.running, use.waiting, use.preemptions) == (3, 7, 3, 2)
    assert (use.mean, use.peak, use.hit_rate) == pytest.approx((0.5, 0.9, 0.8))


# Sessions


def test_sessions_are_whole_contexts():
    log = logged(RUN_20K)
    assert log.sessions().magnitude == 1
    assert log.sessions(quantity("4096 token")).magnitude == 7  # 1,952 blocks, 256 each
    assert logged(RUN_29K).sessions().magnitude == 0
    assert log.sessions(quantity("1 token")).magnitude == 1952


def test_a_pool_that_one_sequence_does_not_fit_holds_none():
    log = logged(SEEN["vLLM with DeepSeek V4"][1])
    assert log.sessions().magnitude == 0
    assert log.sessions(quantity("8192 token")) is None


def test_a_pool_without_layers_is_no_measure():
    """https://github.com/ggml-org/llama.cpp/issues/26654: each sequence has a cache of its own, whatever is shared."""
    text = "llama_context: kv_unified = true\nllama_context: n_seq_max = 4\nllama_context: n_ctx_seq = 4096\n"
    log = logged(text + "llama_kv_cache: size = 0.00 MiB (4096 cells, 0 layers, 4/1 seqs)\n")
    assert (log.tokens, log.hybrid, log.sessions().magnitude) == (None, True, 4)


def test_the_tokens_of_a_hybrid_are_no_measure():
    log = logged("Setting attention block size to 784 tokens to ensure\n" + v1(None, 290_864, 32_768, 33.04))
    assert log.sessions().magnitude == 33
    assert "its tokens would be 8.88 contexts of the limit, and the 33.04 printed are right" in log.notes[0]
    assert log.sessions(quantity("8192 token")) is None
    assert log.sessions(quantity("8192 token"), hybrid()) is None


def test_tokens_that_are_concurrency_times_the_limit_may_be_those_of_a_hybrid():
    begun = "Initializing a V1 LLM engine (v0.27.1) with config: model='m', max_seq_len=8192\n"
    log = logged(begun + v1(3.0, 28_672, 8192, 3.5))
    assert log.hybrid is None
    assert log.sessions(quantity("1024 token")) is None
    assert log.sessions(quantity("1024 token"), LLAMA_8B).magnitude == 28
    assert logged(begun.replace("0.27", "0.11") + v1(3.0, 28_672, 8192, 3.5)).hybrid is False


def test_slots_of_llama_cpp():
    log = logged("llama_context: n_ctx_seq = 1024\n" + cells(512, 1024, 32, seqs="4/4"))
    assert log.sessions().magnitude == 4
    assert log.sessions(quantity("2000 token")).magnitude == 0
    shared = logged("llama_context: kv_unified = true\n" + cells(512, 4096, 32, seqs="4/1"))
    assert [shared.sessions(Quantity(n, "token")).magnitude for n in (512, 1024, 2000, 4096)] == [4, 4, 2, 1]


def test_requests_of_sglang_are_bounded_by_slots_and_by_tokens():
    log = logged(SEEN["SGLang 0.5"][1])
    assert log.sessions().magnitude == 48
    assert log.sessions(quantity("1000000 token")).magnitude == 2
    assert logged(SEEN["SGLang with windows"][1]).sessions(quantity("1000 token")) is None


@steady
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_blocks_hold_no_more_than_their_tokens(blocks, context):
    held = logged(
        f"# GPU blocks: {blocks}, # CPU blocks: 1\nMaximum concurrency for 16 tokens per request: {blocks}.00x\n"
    )
    count = held.sessions(Quantity(context, "token")).magnitude
    assert count * context <= blocks * 16 < (count + 1) * (context + 16)


# Constant and slope


def test_two_runs_give_constant_and_slope():
    """V01 and V02: a sequence of Llama-3.1-8B takes 128 KiB a token, within the rounding of concurrency."""
    fit = fitted([logged(RUN_20K), logged(RUN_29K)])
    assert fit.growth.m_as("byte/token") == pytest.approx(131_072, rel=0.02)
    assert fit.residual is None


@steady
@given(st.integers(1, 64), st.integers(0, 2000), st.lists(st.integers(1, 1000), min_size=3, max_size=6, unique=True))
def test_runs_on_a_line_give_the_line(slope, constant, lengths):
    runs = [
        logged(self_size(256 * n * slope / 1024 + constant, 256 * n)) for n in lengths
    ]  # KiB a token, and MiB whatever the length
    fit = fitted(runs)
    assert fit.growth.m_as("KiB/token") == pytest.approx(slope, rel=1e-6, abs=0.05)
    assert fit.constant.m_as("MiB") == pytest.approx(constant, abs=1)
    assert fit.residual.m_as("MiB") < 0.02


def test_runs_off_a_line_leave_a_residual():
    fit = fitted([logged(self_size(size, n)) for n, size in ((1024, 128), (2048, 256), (4096, 600))])
    assert fit.residual.m_as("MiB") > 10
    assert [tokens.magnitude for tokens, _ in fit.points] == [1024, 2048, 4096]


@pytest.mark.parametrize(
    "texts, message",
    [
        ([self_size(128, 1024), self_size(256, 1024)], "the runs are all of 1,024 tokens; wanted two lengths or more"),
        ([self_size(128, 1024)], "the runs are all of 1,024 tokens"),
        (
            [self_size(128, 1024), "# GPU blocks: 3, # CPU blocks: 1\n"],
            "run 2: does not say a length and what it takes",
        ),
        (
            [self_size(128, 1024), RUN_20K],
            "run 2: engine = 'vllm', and 'llama.cpp' in run 1; wanted runs that are alike",
        ),
        ([cells(128, 1024, 8), cells(128, 2048, 8, "q8_0")], "run 2: kv_format = 'q8_0', and 'f16' in run 1"),
    ],
)
def test_runs_that_give_no_line(texts, message):
    with pytest.raises(InputError) as error:
        fitted([logged(text) for text in texts])
    assert message in str(error.value)


def test_points_of_engines():
    assert point(logged(SEEN["SGLang 0.5"][1]))[1:] == (quantity("2618868 token"), logged(SEEN["SGLang 0.5"][1]).cache)
    assert point(logged(SEEN["vLLM with DeepSeek V4"][1]))[2].m_as("GiB") == pytest.approx(6.66)
    assert point(logged(v1(3.0, 16_000))) is None


# Bad input


def test_nothing_known_says_what_is_looked_for():
    with pytest.raises(InputError) as error:
        read(["hello\n", "world\n"], "a.log")
    said = str(error.value)
    assert said.startswith("a.log: none of its 2 lines is known; looked for lines of vLLM: 'Model loading took")
    assert all(name in said for name in ("SGLang: ", "llama.cpp: ", "ollama: ", "TensorRT-LLM: "))


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "log: is empty; wanted the log of an engine"),
        (random.Random(1).randbytes(100_000), "is known (it has bytes that are no text)"),
        (b"x" * (3 * LONGEST), "log: its line is not one that is known (1 of more than 65,536 characters)"),
        (b"\0" * 100, "(it has bytes that are no text)"),
    ],
)
def test_what_is_no_log(content, message):
    with pytest.raises(InputError) as error:
        read(lines_of(io.BufferedReader(io.BytesIO(content))))
    assert message.replace("its line is not one that is known", "its line is not known") in str(error.value).replace(
        "its line is not one that is known", "its line is not known"
    )


def test_a_long_line_is_passed_over_and_counted():
    file = io.BufferedReader(io.BytesIO(b"y" * (4 * LONGEST) + b"\n" + RUN_20K.encode()))
    log = read(lines_of(file))
    assert (log.blocks, log.unknown) == (1952, 1)
    assert f"1 lines of more than {LONGEST:,} characters were passed over" in log.notes


class Endless(io.RawIOBase):
    """A file of one line, a gigabyte long, of which nothing is kept."""

    left = 2**30

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(len(buffer), self.left)
        self.left -= count
        buffer[:count] = bytes(count) if count < 1024 else SPACES[:count]
        return count


SPACES = b" " * 2**20


@pytest.mark.parametrize("filling", ["1", "9,", "1.1", " from x", "= ", "mem ", "size="])
def test_no_line_takes_long(filling):
    """Of what fits a pattern almost, again and again: half a second for each at most."""
    for line in (line for module in ENGINES.values() for line in module.LINES):
        text = line.key + filling * ((LONGEST - 2 * len(line.key)) // len(filling)) + line.key
        start = time.process_time()
        with contextlib.suppress(ValueError):
            line.read(text)
        assert time.process_time() - start < 0.5, line.text


@pytest.mark.parametrize("size", [2**26])
def test_a_very_long_line_takes_no_memory(size):
    import tracemalloc

    Endless.left = size
    tracemalloc.start()
    with pytest.raises(InputError):
        read(lines_of(io.BufferedReader(Endless())))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**22


def test_a_long_log_takes_no_memory():
    import tracemalloc

    def lines():
        yield from RUN_20K.splitlines(keepends=True)
        for number in range(5_000):
            yield V1_LINE.format(number % 7, 0, "", number % 100, 50)

    tracemalloc.start()
    log = read(lines())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert log.use.lines == 5_000
    assert peak < 2**20


def test_lines_alike_but_for_numbers_are_searched_for_patterns_once():
    """So a long log is read several times as fast; what is remembered of it is bounded."""
    reader = Reader()
    for number in range(2_000):
        reader.take([V1_LINE.format(number % 7, 0, "", number % 100, 50), f"INFO: 10.0.0.{number} - POST 200 OK\n"])
    assert len(reader.shapes) == 2
    assert (reader.known, reader.unknown, reader.number) == (2_000, 2_000, 4_000)
    words = ["".join(letters) + "\n" for letters in itertools.product("abcdefgh", repeat=5)]
    reader.take(words)
    reader.take(["z" * LONGEST_SHAPE + "\n"])
    assert len(reader.shapes) <= MOST_SHAPES


def test_an_engine_that_fails_again_and_again_is_read_quickly():
    start = time.process_time()
    log = read(f"Model loading took {n % 7 + 1}.50 GiB and 3 seconds\n" for n in range(60_000))
    assert time.process_time() - start < 10  # of it each line would look through thousands
    assert len(log.notes) == 2


def test_a_start_up_without_end_is_bounded():
    log = read(f"llama_context: n_ctx = {n + 1}\n" for n in range(2 * MOST_READINGS))
    assert any(note.startswith("a start-up of more than 5,000 lines") for note in log.notes)


@steady
@given(st.text(alphabet="abz 0123456789.,:=()[]{}\"'#\x1b\0GKMTPVUBCaceikosz\n", max_size=400))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InputError):
        read(text.splitlines(keepends=True))


@steady
@given(st.data())
def test_a_mangled_log_is_read_or_refused(data):
    """Characters of a real log are dropped, doubled or replaced."""
    text = data.draw(st.sampled_from([each[1] for each in SEEN.values()] + [RUN_29K]))
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, len(text) - 1))
        text = (
            text[:at] + data.draw(st.sampled_from(["", "9", "-", ".", "\n", "e9", ",", "nan", "\x00"])) + text[at + 1 :]
        )
    with contextlib.suppress(InputError):
        log = logged(text)
        compared(log, LLAMA_8B)
        log.sessions()


# What more logs said


LIVE_SERVER = """\
0.06.391.848 I load_tensors:   CPU_Mapped model buffer size =  1164.63 MiB
0.06.391.849 I load_tensors:      Vulkan0 model buffer size = 17680.46 MiB
0.10.583.854 I llama_context: n_ctx         = 8192
0.10.583.854 I llama_context: n_ctx_seq     = 8192
0.10.583.856 I llama_context: kv_unified    = true
0.10.595.035 I llama_kv_cache:    Vulkan0 KV buffer size =   512.00 MiB
0.10.652.579 I llama_memory_recurrent:        CPU RS buffer size =    74.81 MiB
0.10.722.349 I llama_memory_recurrent:    Vulkan0 RS buffer size =  1720.69 MiB
0.10.722.378 I llama_memory_recurrent: size = 1795.50 MiB (     4 cells,  64 layers,  4 seqs  2 rs_seq), R (f32):   67.50 MiB, S (f32): 1728.00 MiB
0.10.946.605 I srv    load_model: creating MTP draft context against the target model 'qwen3.8-27b-ud-q5km.gguf'
0.10.946.675 I llama_context: n_ctx         = 8192
0.10.946.676 I llama_context: n_ctx_seq     = 8192
0.10.946.681 I llama_context: kv_unified    = true
0.10.952.145 I llama_kv_cache:    Vulkan0 KV buffer size =    32.00 MiB
0.11.149.576 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'true'
"""


def test_pools_without_a_line_of_their_own_are_the_sum_of_their_buffers():
    """As llama-server prints them since 2026 where it says less; a second context is that of a draft."""
    log = logged(LIVE_SERVER)
    assert sorted((pool.kind, pool.size.m_as("MiB"), pool.tokens) for pool in log.pools) == [
        ("draft", 32, 8192), ("full", 512, 8192), ("recurrent", 1795.5, 4)]  # fmt: skip
    assert (log.cache.m_as("MiB"), log.sequences, log.settings["unified"]) == (2307.5, 4, True)
    assert [log.sessions(Quantity(n, "token")).magnitude for n in (2048, 8192, 9000)] == [4, 1, 0]
    assert "the line with the size of a pool is not there; it is the sum of its buffers" in log.notes
    windows = (
        "llama_context: n_ctx = 8192\nllama_kv_cache_iswa: creating non-SWA KV cache, size = 8192 cells\n"
        "llama_kv_cache:    Vulkan1 KV buffer size =    48.00 MiB\n"
        "llama_kv_cache_iswa: creating     SWA KV cache, size =  4096 cells\n"
        "llama_kv_cache:    Vulkan1 KV buffer size =    40.00 MiB\nllama_kv_cache: CPU KV buffer size = 8.00 MiB\n"
    )
    assert [(p.kind, p.size.m_as("MiB"), p.tokens) for p in logged(windows).pools] == [
        ("full", 48, 8192), ("sliding", 48, 4096)]  # fmt: skip


def test_a_pool_with_its_line_does_not_count_its_buffers_again():
    assert logged(SEEN["llama.cpp on two cards"][1]).cache.m_as("MiB") == 10880
    assert logged(LIVE_SERVER.replace("CPU RS", "CPU_x RS")).cache.m_as("MiB") == 2307.5


def test_llama_cpp_of_2023():
    log = logged(
        "main: build = 623 (590250f)\nllama.cpp: loading model from 13B.bin\nllama_model_load_internal: n_ctx      = 512\n"
        "llama_model_load_internal: mem required  = 2264.17 MB (+ 1608.00 MB per state)\n"
        "llama_init_from_file: kv self size  =  400.00 MB\n"
    )
    assert (log.tokens, log.context_limit, log.weights) == (quantity("512 token"), quantity("512 token"), None)
    weights = "llm_load_tensors: mem required  = 100.50 MB\nllm_load_tensors: VRAM used: 5563 MB\n"
    assert logged(weights + self_size(16, 512)).weights.m_as("MiB") == 5663.5


def test_the_latent_of_a_fork_has_its_format():
    """https://github.com/ikawrakow/ik_llama.cpp/pull/259"""
    log = logged(
        "llama_new_context_with_model: n_ctx      = 32768\nllama_kv_cache_init:      CUDA0 KV buffer size =  1166.65 MiB\n"
        "llama_new_context_with_model: KV self size  = 1166.62 MiB, c^KV (q8_0): 1166.62 MiB, kv^T: not used\n"
    )
    assert (log.kv_format, log.cache.m_as("MiB")) == ("q8_0", pytest.approx(1166.62))
    (row,) = compared(log, latent(61))
    assert row.explanation == AS_PREDICTED


def test_a_slot_is_no_longer_than_its_limit_though_slots_share():
    text = "llama_context: n_seq_max = 2\nllama_context: n_ctx = 8192\nllama_context: n_ctx_per_seq = 4096\n"
    log = logged(text + "llama_kv_cache_unified: size = 1024.00 MiB (8192 cells, 32 layers, 2 seqs)\n")
    assert [log.sessions(Quantity(n, "token")).magnitude for n in (4096, 8192)] == [2, 0]


OLLAMA_LOAD = """\
time=2026-02-25 level=INFO source=server.go:431 msg="starting runner" cmd="ollama runner --model /blobs/sha256-8 --port 5"
time=2026-02-25 level=INFO source=device.go:240 msg="model weights" device=Metal size="4.7 GiB"
time=2026-02-25 level=INFO source=device.go:251 msg="kv cache" device=Metal size="{} GiB"
time=2026-02-25 level=INFO source=runner.go:965 msg="starting {}"
"""


def test_a_start_up_of_ollama_is_one():
    """Of its two engines one says what it will allocate before it starts, and the other after."""
    plan, own = OLLAMA_LOAD.format(1.2, "go runner"), OLLAMA_LOAD.format(2.5, "ollama engine")
    assert logged(plan + cells(1280, 32_768, 40)).starts == 1
    assert logged(plan.partition("\n")[2] + cells(1280, 32_768, 40)).starts == 1
    lines = own.splitlines(keepends=True)
    own = "".join([lines[0], lines[3], *lines[1:3]])
    for text, cache, starts in [
        (own + plan + cells(1280, 32_768, 40), 1.25, 2), (plan + cells(1280, 32_768, 40) + own, 2.5, 2),
    ]:  # fmt: skip
        log = logged(text)
        assert (log.engine, log.starts, log.cache.m_as("GiB")) == ("ollama", starts, pytest.approx(cache))


def test_what_a_server_says_once_holds_for_all_of_its_models():
    text = (
        'time=2026 msg="server config" env="map[OLLAMA_KV_CACHE_TYPE:q8_0 OLLAMA_LLM_LIBRARY:]"\n'
        'time=2026 msg="Listening on 127.0.0.1:11434 (version 0.13.5)"\n'
    )
    log = logged(text + 2 * OLLAMA_LOAD.format(2.5, "ollama engine"))
    assert (log.starts, log.version, log.kv_format) == (2, "0.13.5", "q8_0")
    assert "the format of the cache is not printed; taken to be f16, as by default" not in log.notes
    log = logged(OLLAMA_LOAD.format(2.5, "ollama engine"))
    assert "the format of the cache is not printed; taken to be f16, as by default" in log.notes


@pytest.mark.parametrize("device", ["", " cuda:0"])
def test_vllm_that_finds_its_card_in_use(device):
    """https://github.com/vllm-project/vllm/issues/20305, https://github.com/pytorch/pytorch/issues/175666"""
    log = logged(
        f"ValueError: Free memory on device{device} (31.44/47.38 GiB) on startup is less than desired GPU memory "
        "utilization (0.95, 45.01 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    )
    assert (log.refused, log.utilisation) == ("less of the card is free than it may use", 0.95)
    assert log.memory.m_as("GiB") == pytest.approx(47.38)


def test_blocks_of_a_trial_are_not_given():
    """https://github.com/vllm-project/vllm/pull/39559: it measures CUDA graphs with a pool of so many blocks."""
    text = "Overriding num_gpu_blocks={} with num_gpu_blocks_override=512\n" + v1(6.9, 89_760, 262_144, 1.36)
    assert not any("was given" in note for note in logged(text.format(0)).notes)
    assert any("was given: 512" in note for note in logged(text.format(7000)).notes)


def test_a_pool_below_nothing_is_a_refusal():
    """https://github.com/vllm-project/vllm-ascend/issues/9372"""
    log = logged("Loading model weights took 27.5376 GB\nAvailable KV cache memory: -0.87 GiB\n")
    assert log.refused == "there is no memory left for the cache"


def test_what_vllm_was_called_with_counts_where_its_config_is_not_there():
    """https://github.com/noonghunna/club-3090/issues/295"""
    log = logged(
        "(APIServer pid=1) INFO 06-01 [api_utils.py:339]   █▄█▀ █     █     █     █  version 0.25.0\n"
        "(APIServer pid=1) INFO 06-01 [utils.py:278] non-default args: {'model_tag': 'a', 'dtype': 'float16', 'model': 'a/b', "
        "'max_model_len': 262144, 'quantization': 'auto_round', 'tensor_parallel_size': 2, 'kv_cache_dtype': 'fp8_e5m2', "
        "'enable_prefix_caching': True, 'max_num_seqs': 2, 'speculative_config': {'method': 'mtp', "
        "'num_speculative_tokens': 3}}\n" + v1(None, 620_944, 262_144, 2.37)
    )
    assert (log.version, log.model, log.kv_format, log.sequences) == ("0.25.0", "a/b", "fp8_e5m2", 2)
    assert log.settings == {"tensor_parallel": 2, "quantisation": "auto_round", "speculated": 3, "drafting": "mtp",
                            "prefix_caching": "True"}  # fmt: skip


def test_windows_that_are_kept_whole_are_said_to_be():
    """https://github.com/tenstorrent/tt-xla/issues/5727"""
    log = logged(
        "WARNING Hybrid KV cache manager is disabled for this hybrid model, This means\n" + v1(None, 7584, 128, 59.25)
    )
    assert log.settings["windows_whole"]


def test_a_pool_of_an_npu_without_tokens_is_complete():
    log = logged("INFO [utils.py:1404]  Block size is set to 128\n" + v1(51.98, 1).splitlines(keepends=True)[0]
                 + "Maximum concurrency for 8,192 tokens per request: 207.73x\n")  # fmt: skip
    assert (log.starts, log.sessions().magnitude) == (1, 207)


def test_attention_in_replicas_does_not_split_its_heads():
    """https://github.com/sgl-project/sglang/issues/6017; each replica has tokens of its own."""
    lines = "".join(
        f"[2025-05-09 15:00:16 DP{n} TP{n}] KV Cache is allocated. #tokens: 16384, K size: 1.00 GB, V size: 1.00 GB\n"
        for n in range(8)
    )
    args = "server_args=ServerArgs(model_path='m', tp_size=8, dp_size=8, enable_dp_attention=True)\n"
    for text in (lines, args + lines):
        log = logged(text)
        assert "8 replicas of attention serve side by side; tokens are those of one" in log.notes
        (row,) = compared(log, LLAMA_8B)
        assert row.explanation == AS_PREDICTED


def test_replicas_of_vllm_do_not_split_heads():
    text = "".join(f"(EngineCore_DP{n} pid=1{n}) Available KV cache memory: 69.66 GiB\n" for n in range(2))
    (row,) = compared(logged(text + v1(None, 652_144)), dense(28, 8, 128, heads=16))
    assert row.explanation == AS_PREDICTED


def test_weights_of_some_ranks_are_not_taken_for_all():
    text = "[2025 TP0] Load weight end. type=X, dtype=torch.bfloat16, avail mem=31.87 GB, mem usage=105.59 GB.\n"
    log = logged(text + sglang(1000, "1.00", prefix=" TP0") + sglang(1000, "1.00", prefix=" TP1"))
    assert "1 of 2 ranks say what their weights take; the others are not in the sum" in log.notes


def test_a_second_start_up_that_fails_is_said_though_its_first_line_is_not_known():
    first = "Model loading took 6.59 GiB and 7.2 seconds\nNo available memory for the cache blocks.\n"
    log = logged(first + "Model loading took 6.46 GiB and 8.3 seconds\n")
    assert (log.starts, log.notes) == (1, ("a start-up after it did not come to its end",))


# What is no explanation

STATED = (
    "Initializing a V1 LLM engine (v0.11.0) with config: model='m', speculative_config={}, dtype=torch.bfloat16, "
    "max_seq_len=4096, tensor_parallel_size={}, kv_cache_dtype={}, enable_prefix_caching=False\n"
)


@pytest.mark.parametrize(
    "drafting, ranks, stored, tokens",
    [
        ("None", 1, "fp8", 652_144),  # as many as would be there in 16 bits
        ("None", 1, "auto", 2 * 652_144),  # … on two ranks
        ("None", 1, "auto", 652_144 * 28 // 29 // 16 * 16),  # … with a draft of one layer
        ("SpeculativeConfig(method='ngram', model=None, num_spec_tokens=3)", 1, "auto", 652_144 * 28 // 29 // 16 * 16),
    ],
)
def test_what_a_log_states_is_not_explained_away(drafting, ranks, stored, tokens):
    """The same figures are explained where it states nothing."""
    model = dense(28, 8, 128, heads=16)
    said = STATED.format(drafting, ranks, stored)
    pool = v1(69.66, tokens)
    (free,) = compared(logged(pool), model)
    (row,) = compared(logged(said + pool), model)
    if stored == "auto" and tokens > 652_144:
        assert row.explanation == FP8  # what a checkpoint with scales has, though the log says auto
        (row,) = compared(logged(said.replace("auto", "fp8") + v1(69.66, 4 * 652_144)), model)
    assert free.closed and not row.closed
    assert row.explanation.startswith("not explained")


@pytest.mark.parametrize("stored, keys", [("bfloat16", 6.1036), ("float8_e4m3fn", 3.0518)])
def test_a_format_that_sglang_allocated_is_not_explained_away(stored, keys):
    pool = "[2026] KV Cache is allocated. dtype: torch.{0}, #tokens: 100000, K size: {1:.2f} GB, V size: {1:.2f} GB\n"
    assert compared(logged(pool.format(stored, keys)), LLAMA_8B)[0].explanation == AS_PREDICTED
    said = "server_args=ServerArgs(model_path='m', tp_size=1)\n"
    assert not compared(logged(said + pool.format(stored, keys / 2)), LLAMA_8B)[0].closed
    assert compared(logged(pool.format(stored, keys / 2)), LLAMA_8B)[0].explanation == "heads are split over 2 ranks"


def test_what_the_user_states_is_not_explained_away():
    """But of ranks, which a worksheet takes from the cards that are asked for."""
    model, bf16 = dense(28, 8, 128, heads=16), precision_of("bf16")
    (row,) = compared(logged(v1(69.66, 652_144 // 2)), model, kv_precision=bf16, tensor_parallel=1)
    assert not row.closed
    (row,) = compared(logged(v1(69.66, 652_144)), model, kv_precision=bf16, tensor_parallel=2)
    assert row.explanation == "heads are not split over ranks"


def test_states_are_kept_once_where_nothing_is_speculated_or_cached():
    text = "Setting attention block size to 2096 tokens to ensure\n" + v1(2.95, 75_456, 65_536, 3.87)
    model = hybrid(40, 16, 2, 16, 32)
    for said, closed in ((STATED.format("None", 1, "fp8"), False), ("", True)):
        rows = compared(logged(said + text), model)
        assert next(row for row in rows if row.what == "concurrency").closed is closed


def test_windows_are_whole_where_the_log_says_so():
    model = windowed("gemma2", 26, 4, 256, 4096)
    text = v1(10, 10 * 2**30 // (26 * 2 * 4 * 256 * 2 * 16) * 16, 32_768, 3.08)
    assert compared(logged(text), model)[0].explanation == "windows are counted whole"
    said = "WARNING Hybrid KV cache manager is disabled for this hybrid model\n"
    assert [row.explanation for row in compared(logged(said + text), model)] == [AS_PREDICTED] * 2


def test_a_layout_with_scales_is_not_predicted_from_its_elements():
    """656 bytes for 576 elements, in vLLM's fp8_ds_mla: not 576."""
    said = STATED.format("None", 8, "fp8_ds_mla")
    (row,) = compared(logged(said + v1(40.0, 40 * 2**30 // (61 * 656 * 16) * 16)), latent(61))
    assert row.explanation == "not predicted: in fp8_ds_mla an entry has its scales beside it, and a part in 16 bits"


def test_several_states_a_slot_are_those_that_the_log_counts():
    """llama.cpp with a draft that predicts two tokens: a state each, beside the one that holds."""
    rows = {row.what: row for row in compared(logged(LIVE_SERVER), hybrid())}
    assert rows["recurrent states"].explanation == rows["full cells"].explanation == AS_PREDICTED
    rows = {row.what: row for row in compared(logged(LIVE_SERVER.replace("  2 rs_seq", "  0 rs_seq")), hybrid())}
    assert not rows["recurrent states"].closed


def test_weights_of_a_file_are_not_those_of_another_format():
    cut = "llm_load_print_meta: model ftype      = {}\nllm_load_tensors: CUDA0 buffer size = {} MiB\n" + self_size(
        16, 512
    )
    sixteen = LLAMA_8B.parameters.total * 2 / 2**20
    (row, *_) = compared(logged(cut.format("Q4_0", 4437.80)), LLAMA_8B)
    assert row.explanation.startswith("not predicted: how its file stores which weights is not known without it")
    (row, *_) = compared(logged(cut.format("all F32", 2 * sixteen)), LLAMA_8B)
    assert row.predicted is None
    (row, *_) = compared(logged(cut.format("F16", round(sixteen, 2))), LLAMA_8B)
    assert row.explanation == AS_PREDICTED
    (row, *_) = compared(logged(cut.format("F16", round(sixteen + 32, 2))), LLAMA_8B)  # the size of vLLM's rotations
    assert row.explanation.startswith("not explained")


def test_weights_that_may_be_quantised_are_said_to_be():
    (row,) = compared(logged("Model loading took 5.5 GiB and 3 seconds\n"), LLAMA_8B)
    assert "; they may be quantised, or split over ranks that do not speak, which the log" in row.explanation
    (row,) = compared(logged("Model loading took 7.48 GiB and 3 seconds\n"), LLAMA_8B)
    assert row.explanation == "heads are split over 2 ranks"
    (row,) = compared(
        logged(STATED.format("None", 1, "auto") + "Model loading took 7.48 GiB and 3 seconds\n"), LLAMA_8B
    )
    assert not row.closed


def test_experts_of_replicas_are_not_predicted():
    text = "".join(f"(EngineCore_DP{n} pid=1{n}) Model loading took 30.00 GiB and 3 seconds\n" for n in range(2))
    model = read_config(CONFIGS / "mistralai--Mixtral-8x7B-v0.1.json")
    (row,) = compared(logged(text), model)
    assert row.explanation == "not predicted: how its experts are shared out over 2 replicas is not known here"
    (row,) = compared(logged(text), LLAMA_8B)
    assert row.predicted.m_as("GiB") == pytest.approx(2 * LLAMA_8B.parameters.total * 2 / 2**30)


def test_the_budget_is_that_of_the_rank_whose_pool_counts():
    line = (
        "{}INFO worker.py:267] the current vLLM instance can use total_gpu_memory (23.55GiB) x gpu_memory_utilization "
        "(0.90) = 21.19GiB\n{}INFO worker.py:267] model weights take 7.97GiB; non_torch_memory takes {}GiB; PyTorch "
        "activation peak memory takes 1.40GiB; the rest of the memory reserved for KV Cache is {}GiB.\n"
    )
    other = "(VllmWorkerProcess pid=7) "
    text = line.format("", "", "3.00", "8.82") + line.format(other, other, "0.25", "11.57")
    row = compared(logged(text), LLAMA_8B, tensor_parallel=2)[-1]
    assert (row.what, row.explanation) == ("cache, from its budget", AS_PREDICTED)


def test_tokens_that_are_derived_are_explained_with_what_they_come_from():
    """https://github.com/noonghunna/club-3090/issues/612; without a pool nothing is predicted from them, as in …/295."""
    model, said = (
        hybrid(40, 16, 2, 16, 32),
        "non-default args: {'kv_cache_dtype': 'fp8', 'max_num_batched_tokens': 8192}\n",
    )
    concurrency, tokens = compared(logged(said + v1(5.98, 567_978, 131_072, 4.33)), model)
    assert concurrency.explanation.startswith("2 pages of recurrent state a sequence")
    assert tokens.explanation.startswith("concurrency times the context limit, as newer versions print it")
    (row,) = compared(logged(said + v1(None, 620_944, 262_144, 2.37)), hybrid())
    assert row.explanation == ("not predicted: its pool is not printed, and its tokens are no measure of their own")


@pytest.mark.parametrize("tokens, count", [(16_384, 2), (16_368, 1), (16_352, 1)])
def test_a_concurrency_is_not_rounded_up_to_a_session(tokens, count):
    """2.00 is printed from 1.995 on: the tokens, where they agree, say more."""
    log = logged(v1(3.0, tokens, 8192, f"{tokens / 8192:.2f}"))
    assert log.sessions().magnitude == count
    for printed, count in (("2.00", 1), ("2.01", 2), ("1.00", 1), ("0.99", 0)):
        text = f"Maximum concurrency for 8,192 tokens per request: {printed}x\n"
        assert logged(text).sessions().magnitude == count


def test_ranks_of_tensorrt_llm_that_do_not_say_which_they_are():
    """https://github.com/triton-inference-server/tensorrtllm_backend/issues/396"""
    text = "".join(f"[TensorRT-LLM][INFO] MPI size: 4, rank: {rank}\n" for rank in range(4))
    text += (
        4 * "[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 2048\n[TensorRT-LLM][INFO] Loaded engine size: 3404 MiB\n"
    )
    log = logged(text + "[TensorRT-LLM][INFO] Number of tokens per block: 64.\n")
    assert log.weights.m_as("MiB") == 4 * 3404
    assert log.context_limit == quantity("2048 token")
    one = "[TensorRT-LLM][INFO] MPI size: 4, rank: 0\n[TensorRT-LLM][INFO] Loaded engine size: 3404 MiB\n"
    assert "1 of 4 ranks say what their weights take; the others are not in the sum" in logged(one).notes


def test_two_pools_of_sglang_in_one_line():
    log = logged("[2026-06] SWAKVPool mem usage: 79.94 GB, swa size: 798276, full size: 997846\n")
    assert (log.cache.m_as("GiB"), log.tokens.magnitude) == (pytest.approx(79.94), 997_846)
    assert log.sessions(quantity("1000 token")) is None
    log = logged(CASES["S11"][1] + "[2026-08-15] SWAKVPool mem usage: 48.28 GB, swa size: 800000, full size: 1000000\n")
    assert log.cache.m_as("GiB") == pytest.approx(48.28)


def test_pools_of_layers_that_are_shared_out():
    text = "".join(f"[2026 TP{n}] KV Cache is allocated. #tokens: 7632896, KV size: {size} GB\n"
                   for n, size in ((0, "18.26"), (3, "9.13")))  # fmt: skip
    said = "the ranks hold the same tokens in pools of different sizes, so they hold different layers or heads"
    assert said in logged(text).notes


def test_vllm_prints_two_decimals_without_their_zeros():
    text = "max seq len (32768), ({} GiB KV cache is needed, which is larger than the available KV cache memory (1.1 GiB).\n"
    log = logged("To serve at least one request with the model's " + text.format("1.8"))
    assert log.rounding == {"cache": 0.005 * 2**30, "needed": 0.005 * 2**30}
    assert not compared(log, dense(28, 4, 128))[0].closed  # 1.75


def test_cells_that_slots_share_give_the_slope_of_all():
    runs = [logged(f"llama_context: kv_unified = true\n{cells(n / 8, n, 32, seqs='4/1')}") for n in (4096, 8192)]
    assert fitted(runs).growth.m_as("KiB/token") == pytest.approx(128)
    assert fitted(runs).what == "the cells that 4 slots share"


HYBRID = hybrid()
ABSURD = {name: text for name, (_, text, _) in SEEN.items()} | {"V22": CASES["V22"][1]}
ABSURD["arguments"] = (
    STATED.format("None", 1, "auto") + "(Worker_TP0 pid=1) Model loading took 15.00 GiB and 3 seconds\n"
    "Block size is set to 16\nOverriding num_gpu_blocks=5 with num_gpu_blocks_override=6\n" + v1(10, 81_920, 4096, 20.0)
)
ABSURD["arguments of SGLang"] = (
    "server_args=ServerArgs(model_path='m', tp_size=8, dp_size=8, enable_dp_attention=True, page_size=16)\n"
    + sglang(1600, "1.00", "max_total_num_tokens=1600, max_running_requests=4, context_len=1600\n")
)


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_numbers_are_read_or_refused(name):
    """Each number of a log in turn is nothing, one, or very many: there is an answer, or a reason."""
    text = ABSURD[name]
    for found in re.finditer(r"(?<![\w.])\d[\d,.]*", text):
        for number in ("0", "999999999999"):
            with contextlib.suppress(InputError):
                log = logged(text[: found.start()] + number + text[found.end() :])
                for model in (LLAMA_8B, HYBRID):
                    compared(log, model)
                    log.sessions(quantity("1000 token"), model)
                log.sessions()
                point(log)


# The tables


LINES = [(engine, line) for engine, module in ENGINES.items() for line in module.LINES]


@pytest.mark.parametrize("engine, line", LINES, ids=lambda each: getattr(each, "key", each))
def test_a_line_has_its_key_and_no_numbers_of_unknown_units(engine, line):
    assert not re.search(r"<\w+:", line.pattern.pattern)
    assert not re.search(r"[\d\"\\\0]", line.key)  # what may be left out, or be escaped, where a key is looked for
    assert line.role in ("", "begins", "loads", "server", "runs", "model")


def test_a_version_is_known_of_most_lines():
    known = [line for _, line in LINES if line.since]
    assert len(known) > 0.7 * len(LINES)


def test_no_line_of_one_engine_is_one_of_another():
    """But those of llama.cpp, which ollama prints too."""
    for engine, text, _ in SEEN.values():
        log = logged(text)
        others = [note for note in log.notes if "is there too" in note]
        assert (log.engine, others) == (engine, [])


def test_a_format_that_is_not_known_is_asked_for():
    config = "Initializing a V1 LLM engine (v0.11.0) with config: model='m', dtype=torch.bfloat16, kv_cache_dtype=tq4\n"
    log = logged(config + v1(3.0, 16_000))
    with pytest.raises(
        InputError, match="the log's cache is in 'tq4', which is not known here; wanted its --kv-precision"
    ):
        compared(log, LLAMA_8B)
    assert compared(log, LLAMA_8B, kv_precision=precision_of("bf16"))


# The command


@pytest.fixture
def run(run):
    """A function that runs ``costlib log``, as that of all tests does ``costlib``."""
    return functools.partial(run, "log")


@pytest.fixture
def file(tmp_path):
    """A function that writes a text into a file."""
    return lambda text, name="engine.log": (tmp_path / name).write_text(text) and tmp_path / name


GPT_OSS = CONFIGS / "openai--gpt-oss-120b.json"


def test_the_command_says_what_a_log_says_and_why_it_differs(run, file):
    code, out, err = run(file(v1(5.38, 78_384, 4096, 19.09)), "--config", GPT_OSS)
    assert (code, err) == (0, "")
    assert re.search(r"^cache +5,776,731,013 B +5.777 GB +5.380? GiB", out, re.M)
    assert re.search(r"^tokens +78,344 tokens +78,384 tokens +\+0.05% +as predicted", out, re.M)
    assert re.search(r"^sessions +19, of 4,096 tokens", out, re.M)


def test_the_command_reads_standard_input(run):
    code, out, _ = run(stdin=RUN_29K.encode())
    assert code == 0 and out.startswith(
        "standard input: vLLM; 5 of 5 lines are known\nIt did not start: the pool holds less"
    )
    assert run("-", stdin=RUN_29K.encode())[1] == out


def test_the_command_prints_json_of_plain_numbers(run, file):
    code, out, _ = run(file(v1(5.38, 78_384)), "--config", GPT_OSS, "--json")
    said = json.loads(out, parse_constant=pytest.fail)["runs"][0]
    assert (code, said["engine"], said["cache_bytes"], said["tokens"]) == (0, "vllm", round(5.38 * 2**30), 78_384)
    assert [row["what"] for row in said["compared"]] == ["tokens"]
    assert said["sessions"] is None and said["smallest"] == "EngineCore_DP0"


def test_the_command_fits_a_line_through_runs(run, file):
    runs = [file(self_size(128 * n + 10, 1024 * n), f"{n}.log") for n in (1, 2, 4)]
    code, out, _ = run(*runs)
    assert code == 0 and out.endswith("10 MiB and 131,072 B/token (0 MiB off at most)\n")
    fit = json.loads(run(*runs, "--json")[1])["fit"]
    assert (fit["bytes_per_token"], fit["constant_bytes"]) == pytest.approx((131_072, 10 * 2**20), abs=1)


def test_the_command_names_the_file_that_gives_no_line(run, file):
    one, other = file(self_size(128, 1024), "one.log"), file("# GPU blocks: 3, # CPU blocks: 1\n", "other.log")
    code, out, err = run(one, other)
    assert (code, out) == (2, "") and f"{other}: does not say a length and what it takes" in err
    _, out, _ = run(file(v1(3.0, 16_000, 8000, 1.37), "a"), file(v1(3.0, 16_000, 4000, 2.77), "b"))
    assert "bytes" in out and not re.search(r"\.\d+ B\s", out)


def test_the_command_explains_from_which_lines(run, file):
    _, out, _ = run(file(RUN_20K), "--explain")
    assert re.search(r"^ +3 +blocks = 1,952 +0.1 to 0.10", out, re.M)


@pytest.mark.parametrize(
    "arguments, stdin, message",
    [
        (["no-such.log"], b"", "no-such.log: No such file or directory"),
        (["/"], b"", "/: Is a directory"),
        ([], b"", "standard input: is empty; wanted the log of an engine"),
        (["-", "-"], b"", "standard input: is to be read twice; wanted a file for one of them"),
        (["--config", "-"], b"", "standard input: is to be read twice"),
        (["--config", "no-such.json"], RUN_20K.encode(), "no-such.json"),
        (["--tensor-parallel", "0"], b"", "Invalid value for '--tensor-parallel'"),
        (["--context", "128k"], b"", "k has two meanings"),
        (["--config", GPT_OSS, "--tensor-parallel", "3"], RUN_20K.encode(), ""),
    ],
)
def test_what_the_command_refuses(run, arguments, stdin, message):
    code, out, err = run(*arguments, stdin=stdin)
    assert "Traceback" not in err
    assert message in err
    assert (code, out) == (2, "") if message else "not predicted: tensor_parallel = 3" in out


def test_a_model_that_is_not_understood_is_refused(run, file):
    config = file(json.dumps({"model_type": "unheard_of", "num_hidden_layers": 2}), "config.json")
    code, out, err = run(file(RUN_20K), "--config", config)
    assert (code, out) == (3, "") and "refused: model_type" in err


TWO_OF_FOUR = """\
Initializing a V1 LLM engine (v0.11.0) with config: model='meta-llama/Llama-3.1-70B', tensor_parallel_size=4
(Worker_TP0 pid=1) Model loading took 32.8900 GiB and 20 seconds
(Worker_TP1 pid=2) Model loading took 32.8900 GiB and 20 seconds
(Worker_TP0 pid=1) Available KV cache memory: 35.98 GiB
(Worker_TP1 pid=2) Available KV cache memory: 35.97 GiB
"""


def test_the_command_says_of_which_ranks_a_size_is(run, file):
    _, out, _ = run(file(TWO_OF_FOUR))
    assert re.search(r"^weights .* 2 of 4 ranks, which is not all$", out, re.M)
    assert re.search(r"^cache .* on a rank: that of TP1, the least of 2$", out, re.M)


@pytest.mark.parametrize("name, told", [("meta-llama/Llama-3.1-70B", True), ("/models/GPT-OSS-120b/", False)])
def test_the_command_says_if_the_log_names_another_model(run, file, name, told):
    _, out, _ = run(file(TWO_OF_FOUR.replace("meta-llama/Llama-3.1-70B", name)), "--config", GPT_OSS)
    assert (f"The log names its model {name}, and the configuration is openai/gpt-oss-120b." in out) is told
