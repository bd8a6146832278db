"""The lines of TensorRT-LLM, and what those of one start-up make together."""

import re

from costlib.logs.lines import Line

__all__ = ["LINES", "assembled"]

LINES = (
    Line("TensorRT-LLM version", r"TensorRT-LLM version:? (?P<version>[\w.]+)", "0.8 to 1.2", "begins"),
    Line("Engine version", r"Engine version (?P<version>[\w.]+) found", "0.8 to 0.20", "begins"),
    Line("MPI size:", r"MPI size: <tensor_parallel:n>", "0.6 to 0.20"),
    Line("Loaded engine size:", r"Loaded engine size: <weights:MiB> MiB", "0.5 to 0.20", "loads"),
    Line(
        "Memory used after loading model weights",
        r"Memory used after loading model weights \(inside torch\) in memory usage profiling: <weights:GiB> GiB",
        "0.19 to 1.2",
    ),
    Line("device total memory", r"device total memory <memory:GiB> GiB", "0.19 to 1.2"),
    Line("bytes for k/v cache", r"Allocate <cache:B> bytes for k/v cache", "0.5 to 0.9"),
    Line("tokens in paged KV cache", r"Using <tokens:n> tokens in paged KV cache", "0.5 to 0.9"),
    Line(
        "when calculating max tokens",
        r"paged kv cache: total: <memory:GiB> GiB, available: <free:GiB> GiB",
        "0.10 to 0.20",
    ),
    Line(
        "KV cache primary pool", r"[Bb]locks in KV cache primary pool: <blocks:n>", "0.10 to 0.20, kvCacheManager.cpp"
    ),
    Line(
        "primary blocks=",
        r"\[window size=<window:n>\], tokens per block=<block:n>, primary blocks=<window_blocks:n>",
        "0.20 to 1.2, kvCacheManager.cpp",
    ),
    Line("Number of tokens per block", r"Number of tokens per block: <block:n>", "0.10 to 1.2, kvCacheManager.cpp"),
    Line(
        "in paged KV cache (",
        r"Allocated <cache:GiB> GiB for max tokens in paged KV cache \(<tokens:n>\)",
        "0.10 to 1.2, kvCacheManager.cpp",
    ),
    Line(
        "max_num_requests=",
        r"\bmax_seq_len=<limit:n>, max_num_requests=<sequences:n>, max_num_tokens=",
        "0.16 to 1.2, PyTorch backend",
    ),
    Line("maxSequenceLen:", r"TRTGptModel maxSequenceLen: <limit:n>", "0.11 to 0.20"),
    Line("maxNumSequences", r"maxNumSequences: <sequences:n>", "0.6 to 0.20"),
    Line("mMaxAttentionWindowSize", r"mMaxAttentionWindowSize: (?:\(<limit:n>\)|<limit_too:n>)", "0.6 to 0.20"),
    Line(
        "must be large enough to process",
        r"(?P<nothing_left>maxTokensInPagedKvCache must be large enough to process at least 1 sequence)",
        "0.5 to 0.9",
    ),
)

PREFIX = re.compile(r"^\[\d+,(\d+)\]<std|\[RANK (\d+)\]")


def rank_of(text):
    """The rank that a line speaks of; empty where it does not say."""
    found = PREFIX.search(text)
    return f"rank {found[1] or found[2]}" if found else ""


def complete(found):
    """Whether a start-up has come to its end: its pool is known, or why it has none."""
    return any(found.has(name) for name in ("cache", "tokens", "blocks", "nothing_left"))


def assembled(found):
    """The fields of a log, from the readings of one start-up."""
    windows = found.by("window", "window_blocks")
    tokens, block, blocks = found.last("tokens"), found.last("block"), found.last("blocks")
    if len(windows) > 1:
        found.note(f"the pool is divided among {len(windows)} windows; its tokens are the sum of theirs")
    if block and blocks is None and tokens and tokens % block == 0:
        blocks = tokens // block
    if tokens is None and blocks and block:
        tokens = blocks * block
    ranks = found.last("tensor_parallel")
    return {
        "version": found.last("version"),
        "weights": _weights(found, ranks),
        "caches": found.by_rank("cache"),
        "memory": found.by_rank("memory"),
        "cache": found.last("cache"),
        "tokens": tokens,
        "block": block,
        "blocks": blocks,
        "context_limit": found.last("limit") or found.last("limit_too"),
        "sequences": found.last("sequences"),
        "refused": "the pool holds less than one sequence" if found.has("nothing_left") else None,
        "settings": {"tensor_parallel": ranks} if ranks else {},
        "hybrid": len(windows) > 1 if tokens else None,
    }


def _weights(found, ranks):
    """By rank; in their order where each of several prints its part, and none says which it is."""
    parts = found.all("weights")
    if set(by_rank := found.by_rank("weights")) == {""} and len(parts) == ranks:
        return {f"rank {number}": part for number, part in enumerate(parts)}
    return by_rank
