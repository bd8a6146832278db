"""The real llama.cpp, of the package xllamacpp: what it allocates for a model, by its own log.

A model is a GGUF file of the attention geometry wanted, with a tiny vocabulary
and feed-forward part, and no data: its tensors are holes of the file. Which
tensors an architecture has, and of which shape, says the loader itself: it is
asked again until it misses none.
"""

import contextlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from costlib.model_config.gguf import read_gguf
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.precision import precision_of
from costlib.units import Quantity

__all__ = ["CASES", "Case", "evidence", "logged", "write"]

MIB = 2**20
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
GEOMETRY = {
    "block_count": 4,
    "context_length": 131072,
    "embedding_length": 1024,
    "feed_forward_length": 32,
    "attention.head_count": 16,
    "attention.head_count_kv": 4,
    "attention.key_length": 64,
    "attention.value_length": 64,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "attention.layer_norm_epsilon": 1e-5,
    "logit_scale": 1.0,
    "vocab_size": len(TOKENS),
}


@dataclass(frozen=True)
class Case:
    """A model and the settings with which it is loaded.

    Parameters
    ----------
    name : str
        What it shows.
    architecture : str
        As llama.cpp calls it.
    fields : dict
        Of the header, beside or instead of the common geometry; None leaves one out.
    tokens : int
        Length of a sequence.
    sequences, unified, micro_batch : int, bool, int
        As :func:`costlib.model_config.llama_cpp.llama_cpp` has them.
    keys, values : str
        Formats of the cache.
    tensors : tuple of str
        Names of those that the loader does without, but not the computation.
    """

    name: str
    architecture: str = "llama"
    fields: dict = field(default_factory=dict)
    tokens: int = 4096
    sequences: int = 1
    unified: bool = False
    micro_batch: int = 512
    keys: str = "f16"
    values: str = "f16"
    tensors: tuple = ()


def in_layers(names, *layers):
    """The full names of tensors of some layers."""
    return tuple(f"blk.{layer}.{name}" for layer in layers for name in names.split())


EXPERTS = {"expert_count": 2, "expert_used_count": 1, "expert_feed_forward_length": 32, "expert_gating_func": 2}
SHARED = {**EXPERTS, "expert_shared_count": 1, "leading_dense_block_count": 1, "expert_weights_scale": 1.0}
WINDOW = {"attention.sliding_window": 1024, "block_count": 6}
MAMBA = {
    "ssm.conv_kernel": 5,
    "ssm.inner_size": 2048,
    "ssm.state_size": 128,
    "ssm.time_step_rank": 16,
    "ssm.group_count": 4,
}
RWKV = {
    "wkv.head_size": 64,
    "attention.decay_lora_rank": 32,
    "attention.iclr_lora_rank": 32,
    "attention.value_residual_mix_lora_rank": 32,
    "attention.gate_lora_rank": 32,
}
SOME_HEADS = {"attention.head_count_kv": [0, 4, 0, 0]}
LATENT = {
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.kv_lora_rank": 512,
    "attention.q_lora_rank": 64,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "rope.dimension_count": 64,
}
INDEXER = {"attention.indexer.head_count": 4, "attention.indexer.key_length": 128, "attention.indexer.top_k": 64}
SLOTS = {"sequences": 16, "tokens": 256}
BIASES = in_layers("ssm_conv1d.bias ssm_dt.bias", 0, 2, 3)
PATTERN = "attention.sliding_window_pattern"
NARROW = {"embedding_length": 64, "embedding_length_per_layer_input": 16}
GEMMA4 = {
    "attention.key_length": 128,
    "attention.value_length": 128,
    "attention.key_length_swa": 64,
    "attention.value_length_swa": 64,
    "rope.dimension_count": 128,
    "rope.dimension_count_swa": 64,
    "embedding_length_per_layer_input": 0,
    "attention.shared_kv_layers": 0,
    PATTERN: [True, True, True, False, True, False],
    "attention.head_count_kv": [4, 4, 4, 2, 4, 2],
}

CASES = (
    Case("multi-head", fields={"attention.head_count_kv": 16}),
    Case("heads of the cache not said: as many as query heads", fields={"attention.head_count_kv": None}),
    Case("grouped heads"),
    Case("one head, multi-query", fields={"attention.head_count_kv": 1}),
    Case("head size declared", fields={"attention.key_length": 128, "attention.value_length": 128}),
    Case("head size not said: width over heads", fields={"attention.key_length": None, "attention.value_length": None}),
    Case("keys and values of different widths", "mimo2", {
        **WINDOW, **EXPERTS, "attention.key_length": 192, "attention.value_length": 128, "rope.dimension_count": 64,
        PATTERN: [False, False, False, False, False, True],
    }),
    Case("a context that is no multiple of 256", tokens=5000),
    Case("a context of a few tokens", tokens=4),
    Case("keys and values in q8_0", keys="q8_0", values="q8_0"),
    Case("keys in q8_0, values in q4_0", keys="q8_0", values="q4_0"),
    Case("keys in q5_1, values in q5_0", keys="q5_1", values="q5_0"),
    Case("keys in q4_1, values in f16", keys="q4_1"),
    Case("keys in f32, values in bf16", keys="f32", values="bf16"),
    Case("four slots", sequences=4, tokens=1024),
    Case("four slots, no multiple of 256", sequences=4, tokens=1000),
    Case("four slots, unified", sequences=4, tokens=1000, unified=True),
    Case("heads differ from layer to layer", "openelm", {
        "attention.head_count": [8, 8, 16, 16], "attention.head_count_kv": [2, 2, 4, 4],
    }),
    Case("layers without attention", "deci", {
        "attention.head_count": [16, 0, 16, 16], "attention.head_count_kv": [4, 0, 8, 2],
    }),
    Case("a layer that predicts, and keeps nothing", "glm4moe", {**SHARED, "block_count": 5, "nextn_predict_layers": 1},
        tensors=("blk.0.attn_norm.weight",)),
    Case("every other layer has a window", "gemma2", WINDOW),
    Case("five of six layers have a window", "gemma3", WINDOW),
    Case("ten of eleven layers have a window", "gemma3", {**WINDOW, "block_count": 11}),
    Case("windows, micro-batch of 128", "gemma3", WINDOW, micro_batch=128),
    Case("windows, four slots", "gemma3", WINDOW, sequences=4),
    Case("windows, four slots, unified", "gemma3", WINDOW, sequences=4, unified=True),
    Case("windows, four slots, q8_0", "gemma3", {**WINDOW, "attention.sliding_window": 1536}, sequences=4, keys="q8_0",
        values="q8_0"),
    Case("windows, a context below them", "gemma3", WINDOW, tokens=700),
    Case("windows by a period of the header", "gemma3", {**WINDOW, PATTERN: 3}),
    Case("windows by a list of the header", "gemma3", {**WINDOW, PATTERN: [True, False, False, True, True, False]}),
    Case("a window of 128", "gpt-oss", {**WINDOW, **EXPERTS, "attention.sliding_window": 128}),
    Case("windows of Cohere 2", "cohere2", {**WINDOW, "block_count": 12}),
    Case("windows of Olmo 3", "olmo2", {**WINDOW, "block_count": 12}),
    Case("windows of AFMoE", "afmoe", {**WINDOW, **SHARED, "block_count": 12}),
    Case("windows whose period begins with the whole context", "cohere2moe", {**WINDOW, **SHARED, "block_count": 12}),
    Case("windows of SmallThinker, fixed at 4,096", "smallthinker", {
        **WINDOW, **EXPERTS, "block_count": 12,
    }, tokens=8192),
    Case("chunks of Llama 4, fixed at 8,192", "llama4", {
        **EXPERTS, "interleave_moe_layer_step": 1, "block_count": 12, "attention.head_count_kv": 2,
    }, tokens=16384),
    Case("windows of PLaMo 3, seven of eight layers", "plamo3", {**WINDOW, "block_count": 15}),
    Case("windows of Exaone 4, which has them in 64 layers", "exaone4", {
        **WINDOW, "block_count": 64, "attention.sliding_window": 256,
    }, tokens=1024, micro_batch=256),
    Case("Exaone 4 of fewer layers, which has none", "exaone4", WINDOW),
    Case("windows, and heads that differ from layer to layer", "step35", {
        **WINDOW, **EXPERTS, "attention.head_count": [16, 16, 8] * 2, "attention.head_count_kv": [4, 4, 2] * 2,
        PATTERN: [True, True, False] * 2,
    }),
    Case("windows that it does not heed", "phi3", WINDOW, tensors=in_layers("attn_qkv.weight", *range(6))),
    Case("layers that share the caches of others", "gemma3n", {
        **NARROW, **WINDOW, "block_count": 22, "attention.shared_kv_layers": 2,
    }),
    Case("full layers with heads of their own", "gemma4", {**WINDOW, **GEMMA4}),
    Case("the same, and the last two layers share", "gemma4", {**WINDOW, **GEMMA4, "attention.shared_kv_layers": 2}),
    Case("latent attention", "deepseek2", {**LATENT, **SHARED}),
    Case("latent attention, four slots, q8_0", "deepseek2", {**LATENT, **SHARED}, sequences=4, keys="q8_0",
        values="q8_0"),
    Case("an old file of latent attention, without its sizes", "deepseek2", {
        **SHARED, "attention.head_count_kv": 16, "attention.key_length": 192, "attention.value_length": 128,
        "attention.kv_lora_rank": 512, "attention.q_lora_rank": 64, "rope.dimension_count": 64,
    }, tokens=1024),
    Case("latent attention and an indexer", "deepseek32", {**LATENT, **SHARED, **INDEXER}),
    Case("latent attention and an indexer, four slots, q8_0", "deepseek32", {**LATENT, **SHARED, **INDEXER},
        sequences=4, keys="q8_0", values="q8_0"),
    Case("Mamba", "mamba", {**MAMBA, "ssm.group_count": None}, **SLOTS),
    Case("Mamba 2", "mamba2", MAMBA, **SLOTS),
    Case("RWKV 7", "rwkv7", RWKV, **SLOTS),
    Case("RWKV 7 in a Qwen, one shift", "arwkv7", {**RWKV, "token_shift_count": 1}, **SLOTS),
    Case("Mamba and attention", "jamba", {**MAMBA, **SOME_HEADS, "ssm.group_count": None}, **SLOTS),
    Case("Mamba 2 and attention", "granitehybrid", {**MAMBA, **SOME_HEADS}, tensors=BIASES, **SLOTS),
    Case("Mamba 2 and attention, q8_0", "granitehybrid", {**MAMBA, **SOME_HEADS}, keys="q8_0", values="q8_0",
        tensors=BIASES, sequences=16, tokens=512),
    Case("Mamba 2 and attention, unified", "granitehybrid", {**MAMBA, **SOME_HEADS}, unified=True, tensors=BIASES,
        **SLOTS),
    Case("Mamba 2, attention and layers that only feed forward", "nemotron_h", {
        **MAMBA, "block_count": 5, "attention.head_count_kv": [0, 4, 0, 0, 0], "feed_forward_length": [0, 0, 0, 32, 32],
    }, tensors=in_layers("ssm_conv1d.bias ssm_dt.bias", 0, 2), **SLOTS),
    Case("Mamba 2 and attention in each layer", "falcon-h1", MAMBA,
        tensors=in_layers("ssm_conv1d.bias ssm_dt.bias", 0, 1, 2, 3), **SLOTS),
    Case("gated delta rule, three of four layers", "qwen3next", {**MAMBA, **EXPERTS},
        tensors=in_layers("attn_qkv.weight attn_gate.weight", 0, 1, 2), **SLOTS),
    Case("gated delta rule, every other layer, and one that predicts", "qwen35", {
        **MAMBA, "block_count": 5, "full_attention_interval": 2, "nextn_predict_layers": 1,
        "rope.dimension_sections": [8, 8, 8, 8],
    }, tensors=("blk.0.attn_norm.weight", *in_layers("attn_qkv.weight attn_gate.weight", 0, 2)), **SLOTS),
    Case("Kimi delta rule and latent attention", "kimi-linear", {
        **LATENT, **SHARED, "attention.head_count_kv": [0, 0, 0, 1], "ssm.conv_kernel": 5, "kda.head_dim": 128,
    }, sequences=16, tokens=512),
    Case("short convolutions", "lfm2", {"attention.head_count_kv": [0, 0, 4, 0], "shortconv.l_cache": 3}, sequences=64,
        tokens=256),
)  # fmt: skip


def evidence(cases=CASES):
    """What is predicted of each case from its header, and what llama.cpp allocates.

    Parameters
    ----------
    cases : iterable of Case

    Returns
    -------
    list of dict
        Plain data: ``case``, ``architecture``, ``predicted`` and ``allocated`` in bytes, and ``log``, the lines that
        say so. They have two decimals of a MiB; the geometries of :data:`CASES` come out even in them.

    Raises
    ------
    RuntimeError
        If llama.cpp does not load a model.
    """
    return [_row(*each) for each in logged(cases)]


def logged(cases=CASES):
    """What llama.cpp logs as it loads the model of each case, and the model as its header describes it.

    Parameters
    ----------
    cases : iterable of Case

    Returns
    -------
    list of (Case, ModelConfig, str)

    Raises
    ------
    RuntimeError
        If llama.cpp does not load a model.
    """
    cases = list(cases)
    with tempfile.TemporaryDirectory(prefix="gguf-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        models = [json.dumps([case.architecture, case.fields, case.tensors]) for case in cases]
        paths = [Path(folder, f"{models.index(model)}.gguf") for model in models]
        logs = [Path(folder, f"{number}.log") for number in range(len(cases))]
        jobs = [(str(path), str(log), asdict(case)) for path, log, case in zip(paths, logs, cases, strict=True)]
        # Cases of one model stay together: its file is written once.
        groups = [[job for job in jobs if job[0] == str(path)] for path in sorted(set(paths))]
        workers = os.cpu_count()
        list(pool.map(_load_all, (sum(groups[start::workers], []) for start in range(workers))))
        texts = [log.read_text(errors="replace") for log in logs]
        for case, text in zip(cases, texts, strict=True):
            if IDLE not in text or not SIZE.search(text):
                raise RuntimeError(f"{case.name}: llama.cpp did not load the model: {text[-1000:]}")
        return [(case, read_gguf(path), text) for case, path, text in zip(cases, paths, texts, strict=True)]


def _load_all(jobs):
    """Load a model with one setting after the other, in a process of its own."""
    run = [sys.executable, "-c", "from costlib.book import llama_cpp; llama_cpp.main()"]
    env = {**os.environ, "GGML_NO_BACKTRACE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(run, input=json.dumps(jobs), text=True, env=env, stdout=subprocess.DEVNULL, check=True)


def _row(case, model, log):
    """What was predicted of a case, and what was logged."""
    lines = [re.sub(" +", " ", line) for line in SIZE.findall(log)]
    reserved = llama_cpp(
        model,
        Quantity(case.tokens, "token"),
        precision_of(case.keys),
        value_precision=precision_of(case.values),
        sequences=case.sequences,
        unified=case.unified,
        micro_batch=case.micro_batch,
    )
    return {
        "case": case.name,
        "architecture": case.architecture,
        "predicted": round(reserved.total.m_as("byte")),
        "allocated": round(sum(float(re.search("size = ([0-9.]+) MiB", line)[1]) for line in lines) * MIB),
        "log": lines,
    }


SIZE = re.compile(r"(llama_(?:kv_cache|memory_recurrent): size = .*)")


def main():
    """Write and load the models of standard input, each in a copy of this process: llama.cpp may end it."""
    import gguf  # noqa: F401  loaded once, for all copies
    import xllamacpp  # noqa: F401

    for path, log, case in json.load(sys.stdin):
        if not (child := os.fork()):
            log = os.open(log, os.O_RDWR | os.O_CREAT)
            os.dup2(log, 2)
            (loaded if os.path.exists(path) else fitted)(path, Case(**case), log)
            os._exit(0)  # a server that is told to stop before it waits for tasks never stops
        os.waitpid(child, 0)


def fitted(path, case, log):
    """Load a model again and again, with the tensors that the loader misses; what it logged the last time."""
    for alike in (True, False):
        tensors, tried = {name: [1] for name in case.tensors}, defaultdict(list if alike else lambda: [ALONE])
        while True:
            write(path, case, tensors)
            text = loaded(path, case, log)
            if not complete(tensors, text, tried, case.tensors):
                break
        if "wrong number of tensors" not in text:  # a layer has only some of those of the one that it was likened to
            break
    return text


MISSING = re.compile(r"tensor '([^']+)' not found|missing tensor '([^']+)'")
SHAPE = re.compile(r"tensor '([^']+)' has wrong shape; expected +([\d, ]+), got")


def complete(tensors, text, tried, given):
    """Add what the loader misses, or give a tensor the shape that it wants; whether there was something.

    A layer is first tried as a copy of each kind before it that has the tensor, which saves most of the loads.
    """
    if (found := SHAPE.search(text)) and (shape := [int(size) for size in found[2].split(",")]) != tensors[found[1]]:
        while len(shape) > 1 and shape[-1] == 1:
            shape.pop()
        tensors[found[1]] = shape
        return True
    found = MISSING.search(text)
    name = found and (found[1] or found[2])
    if not name or name in tensors:
        return False
    layer = re.match(r"blk\.(\d+)\.", name)
    if not layer:
        tensors[name] = [1]
        return True
    number, part = int(layer[1]), name.removeprefix(layer[0])
    before = [parts for earlier in reversed(range(number)) if part in (parts := _of_layer(tensors, earlier))]
    like = next((parts for parts in before if set(parts) not in tried[number]), None)
    if tried[number] and ALONE not in tried[number]:  # it is not like the last one tried
        for other in set(_of_layer(tensors, number)) - {name.removeprefix(layer[0]) for name in given}:
            del tensors[layer[0] + other]
    if like is None or ALONE in tried[number]:
        tried[number].append(ALONE)
        tensors[name] = before[0][part] if before else [1]
    else:
        tried[number].append(set(like))
        tensors.update({layer[0] + other: shape for other, shape in like.items()})
    return True


ALONE = frozenset()


def _of_layer(tensors, number):
    """The tensors of one layer, by their names in it."""
    prefix = f"blk.{number}."
    return {name.removeprefix(prefix): shape for name, shape in tensors.items() if name.startswith(prefix)}


IDLE, FAILED = "all slots are idle\n", "exiting due to model loading error\n"
SERVERS = []  # kept, since one that is deleted too early hangs


def loaded(path, case, log):
    """Load a model; what llama.cpp logged."""
    import xllamacpp

    types = xllamacpp.ggml_type
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel = case.tokens * case.sequences, case.sequences
    params.kv_unified, params.n_ubatch = case.unified, case.micro_batch
    params.cache_type_k = getattr(types, "GGML_TYPE_" + case.keys.upper())
    params.cache_type_v = getattr(types, "GGML_TYPE_" + case.values.upper())
    params.warmup = params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more would wait for each other, busily
    params.verbosity = 4
    os.ftruncate(log, 0)
    os.lseek(log, 0, os.SEEK_SET)
    with contextlib.suppress(RuntimeError):
        SERVERS.append(xllamacpp.Server(params))
    deadline = time.monotonic() + 10  # a thread of its own writes the log
    while time.monotonic() < deadline:
        text = os.pread(log, 2**24, 0).decode(errors="replace")
        if IDLE in text or FAILED in text:
            break
        time.sleep(0.0005)
    return text


def write(path, case, tensors):
    """Write a GGUF file whose tensors are holes.

    Parameters
    ----------
    path : str
    case : Case
    tensors : dict of str to list of int
        Shapes by name, the innermost dimension first, as llama.cpp has them.

    Returns
    -------
    None
    """
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, case.architecture)
    for name, value in {**GEOMETRY, **case.fields}.items():
        key = f"{case.architecture}.{name}"
        if isinstance(value, list):
            writer.add_array(key, value)
        elif value is not None:
            add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}[type(value)]
            add(key, value)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([2, 3, 3, *[6] * 256])
    sizes = {name: 4 * math.prod(shape) for name, shape in tensors.items()}
    for name, shape in tensors.items():
        writer.add_tensor_info(name, shape[::-1], np.dtype(np.float32), sizes[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    end = os.path.getsize(path) + sum(-(-size // 32) * 32 for size in sizes.values())
    os.truncate(path, end + 32)
