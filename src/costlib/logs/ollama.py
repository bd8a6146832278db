"""The lines of ollama: its own estimate, its own engine, and those of the llama.cpp inside."""

from costlib.logs import llama_cpp
from costlib.logs.lines import Line

__all__ = ["LINES", "assembled"]

LINES = (
    Line("Listening on", r"Listening on \S+ \(version (?P<ollama_version>[\w.-]+)\)", "0.1 to 0.20", "server"),
    Line("OLLAMA_KV_CACHE_TYPE:", r"OLLAMA_KV_CACHE_TYPE:(?P<cache_type>\w+)", "0.5 to 0.20, envconfig", "server"),
    Line("starting runner", r"msg=\"starting (?P<server>runner)\"", "0.11.5 to 0.20, llm/server.go", "begins"),
    Line("offload to gpu", r"\skv=\"<estimate:size>\"", "0.1.32, llm/server.go: an estimate", "begins"),
    Line(
        "memory.required.kv=",
        r"memory\.required\.kv=\"<estimate:size>\"",
        "0.1.33 to 0.13, llm/memory.go: an estimate",
        "begins",
    ),
    Line(
        "memory.weights.total=",
        r"memory\.weights\.total=\"<estimated_weights:size>\"",
        "0.1.33 to 0.13, llm/memory.go: an estimate",
    ),
    Line("--ctx-size", r"--ctx-size <ctx_size:n>", "0.1.33 to 0.12, llm/server.go"),
    Line("--parallel", r"--parallel <parallel:n>", "0.1.33 to 0.12"),
    Line("--kv-cache-type", r"--kv-cache-type (?P<cache_type>\w+)", "0.5 to 0.12"),
    Line("starting go runner", r"msg=\"starting (?P<runner>go runner)\"", "0.4 to 0.20, runner.go", "begins"),
    Line("starting ollama engine", r"msg=\"starting (?P<runner>ollama engine)\"", "0.7 to 0.20, runner.go", "begins"),
    Line("KvSize:", r"KvSize:<ctx_size:n>", "0.11 to 0.20, runner.go"),
    Line("Parallel:", r"\bParallel:<parallel:n>", "0.11 to 0.20"),
    Line("KvCacheType:", r"KvCacheType:(?P<cache_type>\w+)", "0.11 to 0.20"),
    Line(
        "model weights",
        r"msg=\"model weights\" (?:device|buffer|backend)=(?P<device>\S+) .*?size=\"<device_weights:size>\"",
        "0.4 to 0.20, ml/device.go",
    ),
    Line(
        "kv cache",
        r"msg=\"kv cache\" (?:device|buffer|backend)=(?P<device>\S+) (?:.*? )?size=\"<device_kv:size>\"",
        "0.11.5 to 0.20, ml/device.go",
    ),
    Line("architecture=", r"architecture=(?P<ollama_arch>\w+) file_type=", "0.6 to 0.20, ggml.go"),
)


def complete(found):
    """Whether a start-up has come to its end: a pool is known, or an estimate of it."""
    return llama_cpp.complete(found) or found.has("device_kv") or found.has("estimate")


def ended(found):
    """Whether all of a start-up was printed: its own engine says what it allocates, the other what it will."""
    return llama_cpp.complete(found) or (found.has("device_kv") and "ollama engine" in found.all("runner"))


def assembled(found):
    """The fields of a log, from the readings of one start-up."""
    said = llama_cpp.assembled(found)
    weights, caches = found.by("device", "device_weights"), found.by("device", "device_kv")
    if said["cache"] is None:
        said |= {"cache": sum(caches.values()) if caches else found.last("estimate"), "caches": caches}
        said |= {"pools": [], "hybrid": None}
        if not caches and found.has("estimate"):
            found.note("the sizes are an estimate of ollama's, made before anything was allocated")
    if not said["weights"]:
        estimate = found.last("estimated_weights")
        said["weights"] = weights or ({"": estimate} if estimate else {})
    size, parallel = found.last("ctx_size"), found.last("parallel") or 1
    if said["tokens"] is None and size:
        said |= {"tokens": size, "sequences": parallel, "context_limit": size // parallel}
    if said["kv_format"] is None:
        said["kv_format"] = found.last("cache_type") or "f16"
        if not found.has("cache_type"):
            found.note("the format of the cache is not printed; taken to be f16, as by default")
    said["version"] = found.last("ollama_version") or said["version"]
    if found.has("ollama_arch"):
        said["settings"].setdefault("architecture", found.last("ollama_arch"))
    return said
