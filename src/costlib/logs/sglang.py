"""The lines of SGLang, and what those of one start-up make together."""

import re

from costlib.logs.lines import Line

__all__ = ["LINES", "assembled"]

LINES = (
    # Who speaks
    Line(
        "server_args=",
        r"server_args=ServerArgs\(model_path=['\"](?P<model>[^'\"]+)",
        "0.2 to 0.6, launch_server",
        "begins",
    ),
    Line("server_args=", r"\btp_size=<tensor_parallel:n>"),
    Line("server_args=", r"\bdp_size=<data_parallel:n>"),
    Line("server_args=", r"\benable_dp_attention=(?P<attention_replicas>True)", "0.4 to 0.6"),
    Line("server_args=", r"\bkv_cache_dtype=['\"](?P<kv_format>\w+)"),
    Line("server_args=", r"\bmem_fraction_static=<utilisation:share>"),
    Line("server_args=", r"\bspeculative_algorithm=['\"](?P<drafting>\w+)"),
    Line("server_args=", r"\bpage_size=<page:n>"),
    Line("sglang version", r"sglang version[:= ]+(?P<version>[\w.]+)"),
    # Weights
    Line(
        "Load weight begin",
        r"Load weight begin\. avail mem=<free_before:GiB> GB",
        "0.2 to 0.6, model_runner.py: writes GB",
        "loads",
    ),
    Line(
        "Load weight end",
        r"Load weight end\..*?avail mem=<free_after:GiB> GB(?:, mem usage=<weights:GiB> GB)?",
        "0.2 to 0.6; the use since 0.4.4",
    ),
    Line("Load weight end", r"Load weight end\..*?\bdtype=torch\.(?P<dtype>\w+)", "0.2 to 0.6"),
    # The pools
    Line(
        "KV Cache is allocated",
        r"KV Cache is allocated\.(?: dtype: torch\.(?P<stored>\w+),)? #tokens: <pool_tokens:n>, "
        r"K size: <keys:GiB> GB, V size: <values:GiB> GB",
        "0.4.4 to 0.6, memory_pool.py: writes GB",
    ),
    Line(
        "KV Cache is allocated",
        r"KV Cache is allocated\.(?: dtype: torch\.(?P<stored>\w+),)? #tokens: <pool_tokens:n>, KV size: <both:GiB> GB",
        "0.4.6 to 0.6, latents",
    ),
    Line(
        "KV Cache is allocated",
        r"KV Cache is allocated\. K size: <keys:GiB> GB, V size: <values:GiB> GB",
        "0.4.1 to 0.4.3",
    ),
    Line("Using KV cache dtype", r"Using KV cache dtype: torch\.(?P<stored>\w+)", "0.5"),
    Line(
        "Mamba Cache is allocated",
        r"Mamba Cache is allocated\. (?:max_mamba_cache_size: <slots:n>,\s+)?conv_state size: <conv:GiB> ?GB,\s+"
        r"ssm_state size: <ssm:GiB> ?GB",
        "0.5.3 to 0.6, memory_pool.py",
    ),
    Line(
        "intermediate_ssm_state_cache",
        r"intermediate_ssm_state_cache size: <ssm_drafts:GiB> ?GB\s+"
        r"intermediate_conv_window_cache size: <conv_drafts:GiB> ?GB",
        "0.5.3 to 0.6",
    ),
    Line(
        "liding window memory pool",
        r"liding window memory pool\. full_layer_tokens=<full_tokens:n>, swa_layer_tokens=<window_tokens:n>",
        "0.5 to 0.6",
    ),
    Line(
        "SWAKVPool mem usage",
        r"SWAKVPool mem usage: <both_pools:GiB> GB, swa size: <window_tokens:n>, full size: <full_tokens:n>",
        "0.5 to 0.6, swa_memory_pool.py: writes GB",
    ),
    Line("max_total_num_tokens=", r"max_total_num_tokens=<tokens:n>", "0.1.14 to 0.6, scheduler.py"),
    Line("max_running_requests=", r"max_running_requests=<sequences:n>"),
    Line("context_len=", r"context_len=<limit:n>"),
    Line("Memory pool end", r"Memory pool end\. avail mem=<left:GiB> GB", "0.2 to 0.6"),
    Line("Capture cuda graph end", r"Capture cuda graph end\..*?mem usage=<graphs:GiB> GB", "0.4.4 to 0.6"),
    Line(
        "Not enough memory",
        r"(?P<nothing_left>Not enough memory\. Please try to increase --mem-fraction-static)",
        "0.2 to 0.6",
    ),
    # At work
    Line("oken usage: ", r"(?:^|, )(?:full )?token usage: <usage:share>", "0.1.14 to 0.6", "runs"),
    Line("#running-req: ", r"#running-req: <running:n>", "", "runs"),
    Line("#queue-req: ", r"#queue-req: <waiting:n>", "", "runs"),
    Line("Prefill batch", r"#new-token: <new_tokens:n>, #cached-token: <cached_tokens:n>", "0.2 to 0.6", "runs"),
    Line("#retracted_reqs: ", r"#retracted_reqs: <retracted:n>", "0.1.14 to 0.6", "runs"),
)

PREFIX = re.compile(r"\b((?:DP\d+ )?(?:PP\d+ )?TP\d+(?: EP\d+)?)\]")


def rank_of(text):
    """The rank that a line speaks of; empty where there is one."""
    found = PREFIX.search(text)
    return found[1] if found else ""


def complete(found):
    """Whether a start-up has come to its end: its pool is known, or why it has none."""
    return any(found.has(name) for name in ("tokens", "pool_tokens", "both_pools", "nothing_left"))


def ended(found):
    """Whether all of a start-up was printed: after its pool a draft may load, and has a pool of its own."""
    return found.has("tokens")


SETTINGS = ("tensor_parallel", "data_parallel", "drafting", "page", "full_tokens", "window_tokens", "graphs")


def assembled(found):
    """The fields of a log, from the readings of one start-up."""
    per_rank = {rank: _pools(found, rank) for rank in found.ranks("keys", "both", "ssm")}
    caches = {rank: sum(pool["size"] for pool in pools) for rank, pools in per_rank.items() if pools}
    caches = {**found.by_rank("both_pools"), **caches}
    smallest = min(caches, key=caches.get, default=None)
    pools = per_rank.get(smallest, [])
    held = {rank: _tokens(pools) for rank, pools in per_rank.items()}
    settings = _settings(found)
    _note(found, caches, per_rank)
    return {
        "version": found.last("version"),
        "model": found.last("model"),
        "weights": _weights(found),
        "caches": caches,
        "held": held,
        "cache": caches.get(smallest),
        "tokens": found.least("full_tokens") or found.least("tokens") or held.get(smallest),
        "block": settings.get("page", 1),
        "context_limit": found.last("limit"),
        "sequences": found.last("sequences"),
        "kv_format": _kv_format(found),
        "utilisation": found.last("utilisation"),
        "refused": "there is no memory left for the cache" if found.has("nothing_left") else None,
        "settings": settings,
        "pools": pools,
        "hybrid": any(found.has(name) for name in ("slots", "ssm", "window_tokens")) if caches else None,
    }


def _settings(found):
    settings = found.lasts(SETTINGS)
    if found.has("attention_replicas"):
        replicas = settings.get("data_parallel") or 1
        settings["attention_parallel"] = max(1, settings.get("tensor_parallel", 1) // replicas)
    if found.has("stored"):
        settings["allocated_format"] = found.last("stored")
    if found.has("slots"):
        settings["recurrent_slots"] = found.least("slots")
    return settings


def _note(found, caches, per_rank):
    """What misleads in the figures as they are printed."""
    if caches or found.has("weights"):
        found.note("sizes are printed in GB and are GiB")
    if any(pool["kind"] == "draft" for pools in per_rank.values() for pool in pools):
        found.note("a draft has a pool of its own, which is in that of the rank; its weights are in the sum")
    replicas = {group[1] for rank in found.ranks_spoken() if (group := re.search(r"DP(\d+)", rank))}
    if len(replicas) > 1:
        found.note(f"{len(replicas)} replicas of attention serve side by side; tokens are those of one")


def _tokens(pools):
    """Tokens of the pool that sees the whole context."""
    return next((pool["tokens"] for pool in pools if pool["kind"] == "full"), None)


def _pools(found, rank):
    """The pools of a rank in the order in which they were allocated.

    With windows, the pool of as many tokens as theirs is that of the windows. What comes after is of a draft.
    """
    pools, windows = [], found.last("window_tokens")
    seen = set()
    for values in found.of_rank(rank):
        if "ssm" in values:
            size = values["ssm"] + values["conv"]
            pools.append(_pool("recurrent", size, values.get("slots")))
        elif "ssm_drafts" in values:
            pools.append(_pool("recurrent, drafts", values["ssm_drafts"] + values["conv_drafts"]))
        elif "keys" in values or "both" in values:
            size = values["both"] if "both" in values else values["keys"] + values["values"]
            tokens = values.get("pool_tokens")
            kind = "sliding" if windows and tokens == windows and tokens != found.last("full_tokens") else "full"
            kind = "draft" if kind in seen else kind
            seen.add(kind)
            pools.append(_pool(kind, size, tokens, values.get("stored")))
    return pools


def _pool(kind, size, tokens=None, stored=None):
    return {"kind": kind, "size": size, "tokens": tokens, "keys": stored}


def _weights(found):
    """By rank: as printed, or what loading took of the free memory; a draft's are added."""
    if found.has("weights"):
        return found.sum_by_rank("weights")
    before, after = found.by_rank("free_before"), found.by_rank("free_after")
    return {rank: before[rank] - after[rank] for rank in after if rank in before}


def _kv_format(found):
    """The format of the cache; where it is that of the model, the model's."""
    stored, given = found.last("stored"), found.last("kv_format")
    return stored or (found.last("dtype") if given in (None, "auto") else given)
