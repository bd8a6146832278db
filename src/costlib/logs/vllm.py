"""The lines of vLLM, and what those of one start-up make together."""

import re

from costlib.logs.lines import Line

__all__ = ["LINES", "assembled"]

LINES = (
    # Who speaks
    Line(
        "LLM engine",
        r"Initializing an? (?:V\d )?LLM engine(?: \(v(?P<version>[^)\s]+)\))? with config",
        "0.2 to 0.27, llm_engine.py and v1/engine/core.py",
        "begins",
    ),
    Line(
        "vLLM API server version",
        r"vLLM API server version (?P<version>[\w.+]+)",
        "0.4 to 0.17, api_server.py",
        "begins",
    ),
    Line("non-default args", r"non-default args: ", "0.10, utils.py", "begins"),
    Line("version ", r"[▀▄█ ]{3}\s*version (?P<version>\d[\w.+]*)", "0.12, api_utils.py"),
    *(
        Line("non-default args: ", rf"'{name}': {value}", "0.10, utils.py")
        for name, value in (
            ("model", r"'(?P<model>[^']+)'"),
            ("max_model_len", "<limit:n>"),
            ("tensor_parallel_size", "<tensor_parallel:n>"),
            ("pipeline_parallel_size", "<pipeline_parallel:n>"),
            ("data_parallel_size", "<data_parallel:n>"),
            ("kv_cache_dtype", r"'(?P<kv_format>\w+)'"),
            ("dtype", r"'(?P<dtype>\w+)'"),
            ("quantization", r"'(?P<quantisation>[\w-]+)'"),
            ("num_speculative_tokens", "<speculated:n>"),
            ("enable_prefix_caching", "(?P<prefix_caching>True|False)"),
        )
    ),
    Line("non-default args: ", r"'speculative_config': \{[^}]*'method': '(?P<drafting>\w+)'", "0.10, utils.py"),
    Line("with config:", r"\bmodel=['\"](?P<model>[^'\"]+)", "llm_engine.py, v1/engine/core.py"),
    Line("with config:", r"\bmax_seq_len=<limit:n>"),
    Line("with config:", r"\btensor_parallel_size=<tensor_parallel:n>"),
    Line("with config:", r"\bpipeline_parallel_size=<pipeline_parallel:n>", "0.5"),
    Line("with config:", r"\bdata_parallel_size=<data_parallel:n>", "0.9"),
    Line("with config:", r"\bkv_cache_dtype=(?P<kv_format>\w+)"),
    Line("with config:", r"\bdtype=torch\.(?P<dtype>\w+)"),
    Line("with config:", r"\bquantization=(?P<quantisation>[\w-]+)"),
    Line("with config:", r"\bnum_spec_tokens=<speculated:n>", "0.9, v1"),
    Line("with config:", r"speculative_config=SpeculativeConfig\(method='(?P<drafting>\w+)'", "0.9, v1"),
    Line("with config:", r"speculative_config=(?P<no_drafting>None)", "0.4 to 0.27"),
    Line("with config:", r"\benable_prefix_caching=(?P<prefix_caching>True|False)", "0.6"),
    Line("gpu_memory_utilization", r"gpu_memory_utilization['\"]?(?:=|: ?|\s+)<utilisation:share>"),
    Line(
        "max_num_batched_tokens",
        r"max_num_batched_tokens['\"]?(?:=|: ?)<batched_tokens:n>",
        "0.4, config.py and scheduler.py",
    ),
    Line("max_num_seqs", r"max_num_seqs['\"]?(?:=|: ?)<sequences:n>"),
    Line(
        "data type to store kv cache", r"Using (?P<kv_format>\w+) data type to store kv cache", "0.3 to 0.27, cache.py"
    ),
    # Weights
    Line(
        "Loading model weights took",
        r"Loading model weights took <weights:GiB> GB",
        "0.3.1 to 0.7, model_runner.py: writes GB",
        "loads",
    ),
    Line(
        "Model loading took",
        r"Model loading took <weights:GiB> (?P<unit>GB|GiB)",
        "0.7.3 to 0.27, gpu_model_runner.py",
        "loads",
    ),
    Line("model weights take", r"model weights take\s+<weights_too:GiB>GiB", "0.6.4 to 0.10, worker.py"),
    # The budget of a card
    Line("total_gpu_memory", r"total_gpu_memory(?:=|\s+|\s*\()<memory:GiB>GiB", "0.6.3 to 0.10, worker.py"),
    Line(
        "x gpu_memory_utilization",
        r"gpu_memory_utilization \(<utilisation:share>\)(?: = <budget:GiB>GiB)?",
        "0.6.4 to 0.10, worker.py",
    ),
    Line("non_torch_memory", r"non_torch_memory(?:=| takes |\s+)<outside:GiB>GiB", "0.6.3 to 0.10, worker.py"),
    Line("peak_torch_memory", r"peak_torch_memory=<peak:GiB>GiB", "0.6.3, worker.py"),
    Line(
        "activation peak memory",
        r"activation peak memory(?: takes |\s+)<activations:GiB>GiB",
        "0.6.4 to 0.10, worker.py",
    ),
    Line(
        "Graph capturing finished",
        r"Graph capturing finished in .*?took <graphs:GiB> GiB",
        "0.7 to 0.27, gpu_model_runner.py",
    ),
    # The pool
    Line("kv_cache_size=", r"kv_cache_size=<cache:GiB>GiB", "0.6.3, worker.py"),
    Line("reserved for KV Cache", r"reserved for KV Cache is <cache:GiB>GiB", "0.6.4 to 0.10, worker.py"),
    Line("Available KV cache memory:", r"Available KV cache memory: <cache:GiB> GiB", "0.8 to 0.27, gpu_worker.py"),
    Line("available_kv_cache_memory", r"available_kv_cache_memory[\s=]+<cache:GiB>GiB", "0.6.5, worker.py"),
    Line(
        "blocks: ",
        r"(?:GPU|CUDA|cuda|rocm|ROCM|hip|cpu|xpu|neuron) blocks: <blocks:n>(?:, # CPU blocks: |\s*$)",
        "0.1 to 0.10, and v1 of 0.7.0 to 0.7.2, executor_base.py",
    ),
    Line("GPU KV cache size:", r"GPU KV cache size: <tokens:n> tokens", "0.7.3 to 0.27, kv_cache_utils.py"),
    Line(
        "Maximum concurrency for",
        r"Maximum concurrency for <limit:n> tokens per request: <concurrency:share>x",
        "0.6.2 to 0.27",
    ),
    Line(
        "num_gpu_blocks_override=",
        r"Overriding num_gpu_blocks=(?!0 ).*num_gpu_blocks_override=<override:n>",
        "0.2 to 0.27",
    ),
    Line(
        "Setting attention block size",
        r"Setting attention block size to <hybrid_block:n> tokens",
        "0.10.1 to 0.27, config.py and interface.py",
    ),
    Line("Padding mamba page size", r"Padding mamba page size by <mamba_padding:%>%", "0.10.1 to 0.27"),
    Line("kv cache block size", r"Setting kv cache block size to <block:n> for", "0.20 to 0.27"),
    Line("'block_size'", r"'block_size': <block:n>", "0.8, utils.py"),
    Line("Block size is set", r"Block size is set to <block:n>", "of vllm-ascend"),
    Line(
        "cp_world_size", r"Multiplying the GPU KV cache size by the cp_world_size <context_parallel:n>", "0.11 to 0.27"
    ),
    Line(
        "ybrid ",
        r"(?P<windows_whole>[Tt]urning off hybrid kv cache manager|(?i:hybrid kv cache manager is disabled))",
        "0.10 to 0.20, config and kv_cache_utils.py",
    ),
    # Refusals
    Line(
        "larger than the maximum number of tokens",
        r"max seq len \(<limit:n>\) is larger than the maximum number of tokens "
        r"that can be stored in KV cache \(<tokens:n>\)",
        "0.2 to 0.8",
    ),
    Line("To serve at least one request", r"max seq len \(<limit:n>\)", "0.8 to 0.27, kv_cache_utils.py"),
    Line("KV cache is needed", r"<needed:GiB> GiB KV cache is needed", "0.8 to 0.27, kv_cache_utils.py"),
    Line("larger than the available KV cache memory", r"available KV cache memory \(<cache:GiB> GiB\)", "0.8 to 0.27"),
    Line("estimated maximum model length", r"estimated maximum model length is <estimated_length:n>", "0.9 to 0.27"),
    Line(
        "No available memory for the cache blocks",
        r"(?P<nothing_left>No available memory for the cache blocks)",
        "0.1 to 0.27",
    ),
    Line(
        "Free memory on device",
        r"Free memory on device(?: \S+)? \(<free:GiB>/<memory:GiB> GiB\)"
        r"(?: on startup is less than desired GPU memory utilization \(<utilisation:share>)?",
        "0.9 to 0.27, worker utils",
    ),
    # At work
    Line("KV cache usage:", r"(?:GPU )?KV cache usage: <usage:%>%", "0.1 to 0.27", "runs"),
    Line("Running: ", r"Running: <running:n> reqs", "", "runs"),
    Line(" reqs", r"(?:Waiting|Pending): <waiting:n> reqs", "", "runs"),
    Line("Preemptions: ", r"Preemptions: <preemptions:n>", "0.20", "runs"),
    Line("total_cumulative_preemption_cnt", r"total_cumulative_preemption_cnt=<preemptions:n>", "0.4 to 0.10", "runs"),
    Line("refix cache hit rate:", r"[^l] ?Prefix cache hit rate: (?:GPU: )?<hit_rate:%>%", "0.6.5 to 0.27", "runs"),
)

PREFIX = re.compile(
    r"\((VllmWorker(?:Process)?|Worker\w*|EngineCore\w*|RayWorkerWrapper|RayWorkerVllm)"
    r"((?: (?:TP|rank=)\d+)?) pid=(\d+)(?:, ip=([\d.]+))?"
)
DEFAULT_BLOCK = 16
HALF = 0.005 * 2**30  # it prints two decimals of a GiB, but no zeros at their end: 1.1 is 1.10


def rank_of(text):
    """The rank that a line speaks of; empty for the only one, or the first."""
    found = PREFIX.search(text)
    if not found:
        return ""
    name, number, process, address = found.groups()
    if number:
        return "TP" + re.sub(r"\D", "", number)
    if name in ("VllmWorkerProcess", "VllmWorker") or name.startswith("Ray"):
        return f"worker {process}" + (f" on {address}" if address else "")
    return name.removeprefix("Worker_")


def complete(found):
    """Whether a start-up has come to its end: its pool is known, or why it has none."""
    return any(found.has(name) for name in ("blocks", "tokens", "concurrency", "needed", "free", "nothing_left"))


SETTINGS = (
    "tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel", "batched_tokens", "speculated",
    "drafting", "no_drafting", "prefix_caching", "mamba_padding", "quantisation", "graphs", "override",
    "estimated_length", "windows_whole",
)  # fmt: skip
MEASURED = ("budget", "outside", "peak", "activations")


def assembled(found):
    """The fields of a log, from the readings of one start-up."""
    caches = found.by_rank("cache")
    cut, concurrency = _cut(found), found.least("concurrency")
    hybrid = _hybrid(found, cut["tokens"], concurrency, found.last("limit"))
    _note(found, caches, cut["tokens"] if hybrid else None, concurrency)
    return cut | {
        "version": found.last("version"),
        "model": found.last("model"),
        "weights": {**found.by_rank("weights_too"), **found.by_rank("weights")},
        "caches": caches,
        "memory": found.by_rank("memory"),
        "cache": found.least("cache"),
        "context_limit": found.last("limit"),
        "concurrency": concurrency,
        "sequences": found.last("sequences"),
        "kv_format": _kv_format(found),
        "utilisation": found.last("utilisation"),
        "needed": found.last("needed"),
        "refused": _refused(found, concurrency),
        "settings": found.lasts(SETTINGS) | _measured(found, caches),
        "hybrid": hybrid,
        "half": HALF,
    }


def _measured(found, caches):
    """What a rank measured of its card, of the rank whose pool counts."""
    smallest = min(caches, key=caches.get, default="")
    by_name = {name: found.by_rank(name) for name in MEASURED}
    return {name: values[smallest] for name, values in by_name.items() if smallest in values}


def _cut(found):
    """Tokens of a block, blocks and tokens: as printed, or as they follow from what is."""
    blocks, tokens, concurrency = found.least("blocks"), found.least("tokens"), found.least("concurrency")
    block, limit = found.last("hybrid_block") or found.last("block"), found.last("limit")
    if block is None and blocks and concurrency and limit:
        block = _block(blocks, concurrency, limit)
    if block is None and blocks and tokens and tokens % blocks == 0:
        block = tokens // blocks
    if block is None and blocks:
        block = DEFAULT_BLOCK
        found.note("the block is not printed; taken to have 16 tokens, as by default")
    return {"block": block, "blocks": blocks, "tokens": tokens or (blocks * block if blocks else tokens)}


def _note(found, caches, mixed_tokens, concurrency):
    """What misleads in the figures as they are printed; ``mixed_tokens`` are those of layers of several kinds."""
    if found.has("override"):
        found.note(f"the number of blocks was given: {found.last('override'):,}, whatever there was room for")
    if "GB" in found.all("unit") or found.fits("Loading model weights took"):
        found.note("the weights are printed in GB and are GiB")
    if mixed_tokens and concurrency and (limit := found.last("limit")):
        found.note(
            f"layers of several kinds share the pool: its tokens would be {mixed_tokens / limit:.2f} contexts of the "
            f"limit, and the {concurrency:g} printed are right"
        )
    engines = {name for name in caches if re.search(r"DP\d", name)}
    if len(engines) > 1:
        found.note(f"{len(engines)} engines serve side by side; tokens, blocks and concurrency are those of one")


def _block(blocks, concurrency, limit):
    """The block that the printed concurrency follows from; None if it follows from none."""
    for block in (16, 8, 32, 64, 128, 256, 1):
        if abs(blocks * block / limit - concurrency) <= 0.0051:
            return block
    return None


def _kv_format(found):
    """The format of the cache; where it is that of the model, the model's."""
    given = found.last("kv_format")
    return found.last("dtype") if given in (None, "auto") else given


def _refused(found, concurrency):
    if found.has("needed"):
        return "one sequence at the context limit needs more than the pool has"
    if found.has("free"):
        return "less of the card is free than it may use"
    if found.has("nothing_left") or (found.least("cache") or 0) < 0:
        return "there is no memory left for the cache"
    if found.fits("larger than the maximum number of tokens") or (concurrency is not None and concurrency < 1):
        return "the pool holds less than one sequence at the context limit"
    return None


NEWEST = (0, 20)  # from about here on, tokens are printed as concurrency times limit: they tell nothing of layers


def _hybrid(found, tokens, concurrency, limit):
    """Whether layers of several kinds share the pool, by its concurrency; None if that cannot be told."""
    if found.has("hybrid_block"):
        return True
    if not (tokens and concurrency and limit):
        return None
    if abs(tokens / limit - concurrency) > 0.0051 + 0.001 * concurrency:
        return True
    release = re.match(r"(\d+)\.(\d+)", found.last("version") or "")
    old = found.has("blocks") or (release and tuple(map(int, release.groups())) < NEWEST)
    return False if old else None
