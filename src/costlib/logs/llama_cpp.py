"""The lines of llama.cpp, and what those of one start-up make together."""

from costlib.logs.lines import Line

__all__ = ["LINES", "assembled", "contexts", "main_and_drafts"]

CONTEXT = r"(?:llama_context\w*|llama_new_context_with_model|(?:llama_)?init_from_model|llama_init_from_file)"
KEYS_AND_VALUES = (
    r"(?:, (?:K|c\^KV) \((?P<keys>\w+)\):\s*<key_bytes:MiB> MiB"
    r"(?:, V \((?P<values>\w+)\):\s*<value_bytes:MiB> MiB)?)?"
)
META = r"(?:llm_load_print_meta|llama_model_load_internal|print_info)"

LINES = (
    # Who speaks
    Line(
        "build",
        r"(?:\bmain: build = |^(?:\S+ I )?build: |print_info: build |build_info: b)(?P<version>\d+)",
        "2023 to 2026, common.cpp",
        "begins",
    ),
    Line(
        "llama_model_loader: loaded meta data",
        r"loaded meta data with \d+ .{1,60} from (?P<path>\S.*) \(version",
        "2023 to 2026, llama-model-loader.cpp",
        "model",
    ),
    Line(
        "llama.cpp: loading model from", r"llama\.cpp: loading model from (?P<path>\S.*)", "before August 2023", "model"
    ),
    Line("arch ", META + r": arch\s+= (?P<architecture>\S+)", "2023 to 2026"),
    Line("ype ", META + r": (?:model ftype|file type)\s+= (?:all |mostly )?(?P<file_type>\w+)", "2023 to 2026"),
    Line("general.name", META + r": general\.name\s+= (?P<model>\S.*?)\s*$", "2023 to 2026"),
    Line("no_alloc", r"no_alloc\s+= <no_alloc:n>", "2025, llama-model.cpp"),
    Line("n_ctx_train", r"n_ctx_train\s+= <trained:n>", "2023 to 2026"),
    # Weights
    Line("size   ", META + r": (?:model|file) size\s+= <file:size>", "2023 to 2026"),
    Line(
        "buffer size",
        r"(?:load_tensors|llm_load_tensors):\s+(?P<device>\S+)\s+(?:model )?buffer size\s+=\s*<weights:MiB> MiB",
        "2024 to 2026, llama-model.cpp",
    ),
    Line("mem required", r"llm_load_tensors: mem required\s+=\s*<weights:MiB> M", "August to December 2023: writes MB"),
    Line("VRAM used", r"llm_load_tensors: (?P<device>VRAM) used\s*[:=]\s*<weights:MiB> M", "August to December 2023"),
    # Settings of a context
    Line("n_ctx ", CONTEXT + r": n_ctx\s+= <n_ctx:n>\s*$", "2023 to 2026, llama-context.cpp"),
    Line("n_ctx ", r"llama_model_load_internal: n_ctx\s+= <n_ctx:n>\s*$", "before August 2023"),
    Line("n_ctx_per_seq", CONTEXT + r": n_ctx_per_seq\s*= <limit:n>\s*$", "2024 to 2025"),
    Line("n_ctx_seq", CONTEXT + r": n_ctx_seq\s+= <limit:n>\s*$", "2025 to 2026"),
    Line("n_seq_max", CONTEXT + r": n_seq_max\s+= <sequences:n>", "2024 to 2026"),
    Line("n_ubatch", CONTEXT + r": n_ubatch\s+= <micro_batch:n>", "2024 to 2026"),
    Line("kv_unified", CONTEXT + r": kv_unified\s+= (?P<unified>true|false)", "2025 to 2026"),
    Line("kv_size = ", r"kv_size = <kv_size:n>", "January to May 2025, llama-kv-cache.cpp"),
    Line("n_slots = ", r"n_slots = <server_slots:n>", "2024 to 2026, server"),
    # The pools
    Line(
        "KV cache, size",
        r"creating\s+(?P<part>[\w-]+) KV cache, size =\s+<cells:n> cells",
        "May 2025 to 2026, llama-kv-cache-iswa.cpp",
    ),
    Line(
        "kv_cache",
        r"kv_cache\w*: size =\s*<pool:MiB> MiB \(\s*<cells:n> cells,\s*<layers:n> layers"
        r"(?:,\s*<seqs:n>(?:/\s*<streams:n>)? seqs)?\)" + KEYS_AND_VALUES,
        "May 2025 to 2026, llama-kv-cache.cpp",
    ),
    Line(
        "KV self size",
        r"KV self size\s+=\s*<pool:MiB> MiB" + KEYS_AND_VALUES,
        "October 2023 to May 2025, llama.cpp",
    ),
    Line("kv self size", r"kv self size\s+=\s*<pool:MiB> MB", "before October 2023: writes MB"),
    Line(
        "memory_recurrent",
        r"memory_recurrent: size =\s*<states:MiB> MiB \(\s*<slots:n> cells?,\s*<layers:n> layers"
        r"(?:,\s*<seqs:n> seqs(?:\s+<copies:n> rs_seq)?[^)]*)?\)",
        "June 2025 to 2026, llama-memory-recurrent.cpp",
    ),
    Line("KV buffer size", r":\s+(?P<device>\S+) KV buffer size =\s*<device_cache:MiB> MiB", "2024 to 2026"),
    Line("RS buffer size", r":\s+(?P<device>\S+) RS buffer size =\s*<device_states:MiB> MiB", "2025 to 2026"),
    Line("compute buffer", r":\s+(?P<device>\S+) compute buffer(?: size =|\s+=)\s*<compute:MiB> MiB", "2024 to 2026"),
    Line(
        "failed to allocate",
        r"(?P<nothing_left>failed to allocate \w+ buffer|failed to allocate buffer for kv cache)",
        "2024 to 2026",
    ),
)
FIRST = {"sequences", "n_ctx"}  # what a context says of itself first
KINDS = {"SWA": "sliding", "indexer": "indexer"}  # as it calls parts of a cache; all others see the whole context


def rank_of(text):
    """One process speaks for all devices."""
    return ""


def complete(found):
    """Whether a start-up has come to its end: a pool is known, or why there is none."""
    return any(found.has(name) for name in ("pool", "states", "device_cache", "device_states", "nothing_left"))


SETTINGS = ("micro_batch", "n_ctx", "trained", "state_copies", "file_type", "architecture")


def assembled(found):
    """The fields of a log, from the readings of one start-up."""
    main, drafts = main_and_drafts(contexts(found))
    made = main["pools"]
    full = [pool for pool in made if pool["kind"] == "full" and pool["layers"] != 0]
    largest = max(full, key=lambda pool: pool["tokens"] or 0, default={})
    _note(found, main, drafts)
    slots = _slots(found, main, largest)
    cells, streams = largest.get("tokens"), largest.get("streams") or 1
    return slots | {
        "version": found.last("version"),
        "model": main.get("model") if main.get("model") not in (None, "n/a") else main.get("path"),
        "weights": main["weights"] or ({"": main["file"]} if main.get("file") else {}),
        "caches": main["devices"],
        "cache": sum(pool["size"] for pool in made) if made else None,
        "tokens": cells * streams if cells else None,
        "kv_format": _kv_format(found, full or made),
        "refused": "a buffer could not be allocated" if found.has("nothing_left") and not made else None,
        "settings": _settings(main, slots),
        "pools": [*made, *({**pool, "kind": "draft"} for draft in drafts for pool in draft["pools"])],
        "hybrid": any(pool not in full for pool in made) if made else None,
        "layered": True,
    }


def _note(found, main, drafts):
    """What misleads in the figures as they are printed."""
    if drafts:
        found.note("a second context is there, of a draft; its cache is not in that of the model")
    if found.fits("kv self size"):
        found.note("the cache is printed in MB and is MiB")
    if main["summed"]:
        found.note("the line with the size of a pool is not there; it is the sum of its buffers")


def _slots(found, main, largest):
    """Sequences at once, tokens of one, and whether they share one cache."""
    by_pool = next((pool["sequences"] for pool in main["pools"] if pool["sequences"]), None)
    sequences = main.get("sequences") or largest.get("sequences") or found.last("server_slots") or by_pool or 1
    unified = main.get("unified")
    if unified is None and largest:
        unified = (largest.get("streams") or 1) < sequences
    of_one = main["n_ctx"] // (1 if unified else sequences) if main.get("n_ctx") else largest.get("tokens")
    limit = main.get("limit") or of_one
    return {"sequences": sequences, "context_limit": limit, "unified": bool(unified) and sequences > 1}


def _settings(main, slots):
    settings = {"unified": slots.pop("unified")}
    settings |= {name: main[name] for name in SETTINGS if main.get(name) is not None}
    compute = sum(main["compute"].values())
    return settings | ({"compute": compute} if compute else {})


def contexts(found):
    """The contexts that were made, in their order: of the model, of a draft, and of a trial that allocates nothing."""
    model, made = _model(None), []
    for reading in found.readings:
        values = reading.values
        if reading.line.role == "model":
            model = _model(values["path"])
            made.append(_context(model))
        if not made or (made[-1]["pools"] and FIRST & set(values)) or ("n_ctx" in values and "n_ctx" in made[-1]):
            made.append(_context(model))
        _take(model, made[-1], values)
    latest = {}  # a context that is made again, after a trial, stands for the one before
    for context in made:
        _sum_up(context)
        if context["pools"] and not context["model_of"].get("no_alloc"):
            latest[context["model_of"]["path"], tuple(map(_alike, context["pools"]))] = context
    return [{**context["model_of"], **context} for context in latest.values()] or [{**model, **_context(model)}]


def _alike(pool):
    return pool["layers"] or pool["size"]


def main_and_drafts(made):
    """The context with the most layers, or the most state where layers are not printed; and the others."""
    main = max(
        made, key=lambda c: (sum(pool["layers"] or 0 for pool in c["pools"]), sum(p["size"] for p in c["pools"]))
    )
    return main, [context for context in made if context is not main]


def _model(path):
    return {"path": path, "weights": {}}


def _context(model):
    made = {"pools": [], "devices": {}, "compute": {}, "buffers": {}, "part": None, "part_cells": None, "summed": False}
    return {"model_of": model, **made}


OF_THE_MODEL = ("architecture", "model", "file", "file_type", "trained", "no_alloc")
OF_THE_CONTEXT = ("n_ctx", "limit", "sequences", "micro_batch", "kv_size")


def _take(model, context, values):
    """What a line adds to a model and to the context that is being made."""
    if "pool" in values or "states" in values:
        pool = _pool(context, values) if "pool" in values else _recurrent(context, values)
        context["buffers"].pop(pool["kind"], None)
        context["pools"].append(pool)
    elif "device_cache" in values:
        _add_buffer(context, KINDS.get(context["part"], "full"), values["device"], values["device_cache"])
    elif "device_states" in values:
        _add_buffer(context, "recurrent", values["device"], values["device_states"])
    elif "compute" in values:
        context["compute"][values["device"]] = values["compute"]
    elif "weights" in values:
        _add(model["weights"], values.get("device", ""), values["weights"])
    elif "part" in values:
        _sum_up(context)
        context["part"], context["part_cells"] = values["part"], values["cells"]
    else:
        model |= {name: values[name] for name in OF_THE_MODEL if name in values}
        context |= {name: values[name] for name in OF_THE_CONTEXT if name in values}
        context |= {"unified": values["unified"] == "true"} if "unified" in values else {}


def _add(sums, name, value):
    sums[name] = sums.get(name, 0) + value


def _add_buffer(context, kind, device, size):
    _add(context["devices"], device, size)
    _add(context["buffers"], kind, size)


def _sum_up(context):
    """Make pools of the buffers whose own line, with the size of the pool, is not there."""
    for kind, size in context["buffers"].items():
        cells = None if kind == "recurrent" else context["part_cells"] or context.get("n_ctx")
        pool = {"kind": kind, "size": size, "tokens": cells, "layers": None, "sequences": context.get("sequences")}
        context["pools"].append(pool | {"streams": 1, "keys": None, "values": None})
        context["summed"] = True
    context["buffers"] = {}


def _recurrent(context, values):
    """A pool of recurrent states; those that are kept for tokens that were speculated are counted."""
    context |= {"state_copies": values["copies"]} if values.get("copies") else {}
    return {
        "kind": "recurrent",
        "size": values["states"],
        "tokens": values["slots"],
        "layers": values["layers"],
        "sequences": values.get("seqs"),
        "streams": 1,
        "keys": "f32",
        "values": "f32",
    }


def _pool(context, values):
    part, context["part"], context["part_cells"] = context["part"], None, None
    return {
        "kind": KINDS.get(part, "full"),
        "size": values["pool"],
        "tokens": values.get("cells") or context.get("kv_size") or context.get("n_ctx"),
        "layers": values.get("layers"),
        "sequences": values.get("seqs") or context.get("sequences"),
        "streams": values.get("streams") or 1,
        "keys": values.get("keys"),
        "values": values.get("values"),
    }


def _kv_format(found, pools):
    pools = [pool for pool in pools if pool["kind"] != "recurrent"]
    formats = {pool[name] for pool in pools for name in ("keys", "values") if pool.get(name)}
    if len(formats) > 1:
        found.note(f"the cache is stored in several formats: {', '.join(sorted(formats))}")
    return min(formats, default=None) if len(formats) < 2 else "/".join(sorted(formats))
