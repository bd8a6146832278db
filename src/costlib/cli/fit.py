"""``costlib fit``: on which accelerators a model fits, how long a context, and how many sessions."""

from typing import Annotated, Any

import typer

from costlib.cli.options import (
    LONGEST,
    RUNTIME,
    UTILISATION,
    AsJson,
    Assume,
    Config,
    Explain,
    KVPrecision,
    WeightPrecision,
    Weights,
    check_weights,
    completing,
    length,
    notes,
    refusal,
    sized,
    why,
)

__all__ = ["fit", "kept_free"]

COUNTS = (1, 2, 4, 8)  # accelerators that share the model
SESSIONS = (("sessions", "state_bytes", "sessions"), ("in vLLM", "vllm_bytes", "sessions_vllm"))


def fit(
    config: Config,
    context: Annotated[
        Any, sized("token", 1, LONGEST, "context cap of a session; by default the model's limit", "TOKENS")
    ] = None,
    weights: Weights = None,
    weight_precision: WeightPrecision = None,
    kv_precision: KVPrecision = None,
    utilisation: Annotated[
        Any, sized("", 0.01, 1, "share of an accelerator's memory that the engine may use", "SHARE")
    ] = UTILISATION,
    runtime: Annotated[
        Any, sized("byte", 0, "1 PB", "what activations and graphs take of that on each accelerator", "SIZE")
    ] = RUNTIME,
    accelerator: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            autocompletion=completing("accelerator"),
            help="Only this one of the catalog, alone and in groups of 2, 4 and 8. Can be repeated.",
        ),
    ] = (),
    assume: Assume = (),
    explain: Explain = False,
    as_json: AsJson = False,
):
    """Say where a model fits: the room beside its weights, the longest context, the sessions at a cap.

    By tensor parallelism. A scenario reserves otherwise: 'costlib show' says by which options both agree.

    Without --accelerator, all of the catalog are shown, each with the fewest on which a session fits, in vLLM too.
    """
    from costlib import catalog
    from costlib.cli.printed import plain, print_json, print_text
    from costlib.model_config import Refused, read
    from costlib.model_config.precision import precision_of
    from costlib.model_config.rank import Rank
    from costlib.model_config.weights import weights_of

    check_weights(weights, weight_precision)
    names = [name.lower() for name in accelerator] or catalog.names("accelerator")
    parts = {name: catalog.part("accelerator", name) for name in names}
    try:
        model = read(config, assume)
        stored = weights_of(model, weights, weight_precision)
    except Refused as refused:
        answer = {"model": config, "fits": None, "assumptions": list(assume), "refused": why(refused)}
        raise refusal(refused, answer, as_json) from None
    tokens, kv_format = length(model, context, "--context"), kv_precision or model.kv_format
    ranks = [Rank(model, tokens, precision_of(kv_format), count) for count in COUNTS]
    case = {
        "weights_bytes": stored.size,
        "weights_from": stored.source,
        "weights_formula": stored.formula,
        "utilisation": utilisation,
        "runtime_bytes": runtime,
    }
    rows = [row for name, part in parts.items() for row in _on(name, part, case, ranks, accelerator or as_json)]
    answer = {
        "model": model.name,
        "context": tokens,
        "context_limit": model.context_limit,
        "kv_precision": kv_format,
        **case,
        "fits": rows,
        "assumptions": [*model.assumed(kv_precision), *stored.assumptions],
        "notes": [*notes(model, tokens), *_of_llama_cpp(config)],
        "refused": None,
    }
    return print_json(plain(answer)) if as_json else print_text(_blocks(answer, explain))


def _of_llama_cpp(config):
    """What is not said of the engine that a GGUF file is for."""
    if config.lower().endswith(".gguf"):
        yield "several accelerators divide heads, as in vLLM; llama.cpp by itself divides layers: costlib worksheet"


def _on(name, part, case, ranks, every):
    """What 1, 2, 4 and 8 of an accelerator hold; or only the fewest on which a session fits, in vLLM too if on any."""
    rows = [_row(name, part, case, rank) for rank in ranks]
    if every:
        return rows
    fitting = [row for row in rows if row["sessions"]] or rows[-1:]
    return [next((row for row in fitting if row["sessions_vllm"]), fitting[0])]


def _row(name, part, case, rank):
    """What so many of an accelerator hold."""
    from costlib import capacity

    share = case["weights_bytes"] / rank.count
    room = capacity.engine_pool(part.memory, case["utilisation"], share, case["runtime_bytes"])
    return {
        "accelerator": name,
        "count": rank.count,
        "memory_bytes": part.memory,
        "weights_bytes": share,
        "room_bytes": room,
        "state_copies": rank.copies,
        **rank.holds(room),
    }


def _gb(size, unit="GB"):
    from costlib.units import show

    return show(size, unit, digits=4)


def _blocks(answer, explain):
    """The answer for people, in blocks."""
    from costlib.cli.printed import listed, table, wrapped
    from costlib.units import show

    yield wrapped(
        f"{answer['model']}: weights of {_gb(answer['weights_bytes'])}, {answer['weights_from']}; "
        f"sessions of {show(answer['context'], digits=15)}{_beyond(answer)}, cache in {answer['kv_precision']}"
    )
    unserved = _unserved(answer["fits"])
    yield table(
        [_line(row, unserved) for row in answer["fits"]],
        ["accelerators", "memory", "weights", "room", "", "longest", "sessions", "in vLLM", ""],
        right=range(1, 8),
    )
    yield "\n".join(_footer(answer, unserved))
    if explain:
        yield from _explained(answer)
    yield from listed("Assumed", answer["assumptions"])
    yield from listed("Note", answer["notes"])


def _unserved(rows):
    """Why vLLM serves this in no row, if it is for one reason."""
    reasons = {row["why_not_vllm"] if row["sessions_vllm"] is None else None for row in rows}
    return reasons.pop() if len(reasons) == 1 else None


def _line(row, unserved):
    """A row for people; what keeps vLLM from every row stands below the table."""
    lacking, reasons = row["sessions_vllm"] is None, [row["why_not"]]
    if row["why_not_vllm"] not in (None, unserved) and (lacking or row["sessions"]):
        reasons.append(f"vLLM: {row['why_not_vllm']}")
    return (
        f"{row['count']} × {row['accelerator']}",
        *(_gb(row[size]) for size in ("memory_bytes", "weights_bytes", "room_bytes")),
        _gb(row["room_bytes"], "GiB"),
        f"{row['longest_context']:,}",
        f"{row['sessions']:,}",
        "–" if lacking else f"{row['sessions_vllm']:,}",
        "; ".join(filter(None, reasons)),
    )


def _beyond(answer):
    """Whether sessions are longer than those for which the model was made."""
    limit = answer["context_limit"]
    return ", longer than it was made for" if limit and answer["context"].m_as("token") > limit else ""


def _footer(answer, unserved):
    """What the columns are, and what is taken for granted in them."""
    from costlib.cli.printed import wrapped

    limit, rows = answer["context_limit"], answer["fits"]
    yield wrapped(f"Memory, weights and room are those of one accelerator. {_reserved(answer)}")
    yield (
        f"The longest context is at most that for which the model was made, {limit:,} tokens."
        if limit
        else "The longest context is at most that of a session: the file states no limit."
    )
    in_vllm = f"none: {unserved}" if unserved else f"those for what it reserves{_settings(rows)}"
    yield wrapped(f"Sessions are those for whose state there is room; in vLLM, {in_vllm}.")
    yield from map(wrapped, _copied(rows))


def _reserved(answer):
    """What is kept free, and by which options the same is kept free as in a scenario."""
    from costlib.scenario import REFERENCE, load
    from costlib.units import show

    share, runtime = answer["utilisation"].m_as(""), answer["runtime_bytes"]
    if share == 1:
        return f"Reserved on it: {_gb(runtime)} (--runtime), as in a scenario with that much for each accelerator."
    case = load(REFERENCE)
    return (
        f"Reserved on it: {kept_free(share)} and {_gb(runtime)} (--utilisation, --runtime). costlib show reserves no "
        f"share, and [reserve] runtime on a node: as the reference with {_gb(case.reserve.runtime)} on "
        f"{show(case.node.accelerators)}, --utilisation 1 --runtime '{_gb(case.runtime_on_each)}'."
    )


def kept_free(share):
    """What an engine that may use a share of a memory leaves of it, in words."""
    return f"{100 * (1 - float(share)):.9g} % of the memory"


def _settings(rows):
    """The settings of vLLM that were taken for granted: those of all rows, and those of some with their counts."""
    of = {row["count"]: row["assumptions_vllm"] for row in rows if row["sessions_vllm"] is not None}
    common = [text for text in next(iter(of.values()), ()) if all(text in texts for texts in of.values())]
    own = {}
    for count, texts in sorted(of.items()):
        own.setdefault(", ".join(text for text in texts if text not in common), []).append(f"{count}")
    said = "; ".join(f"on {_listing(counts)}, {text}" for text, counts in own.items() if text)
    settings = f", with {', '.join(common)}" if common else ""
    return f"{settings}: {said}" if said else settings


def _copied(rows):
    """How often tensor parallelism stores a byte of state, where that is more than once and keeps others out."""
    from costlib.units import times

    often = {row["count"]: times(row["state_copies"]) for row in rows if row["room_bytes"].magnitude > 0}
    copied = [f"{often[count]} on {count}" for count in sorted(often) if often[count] != "once"]
    if copied:
        yield (
            f"Accelerators share the model by tensor parallelism, which stores the state {_listing(copied)}. More may "
            "fit with data-parallel attention, or several copies of the model: costlib scenario, then costlib show."
        )


def _listing(texts):
    """Texts as a sentence lists them."""
    *before, last = texts
    return f"{', '.join(before)} and {last}" if before else last


def _explained(answer):
    """How the numbers of each row come about, and where the sizes of memory come from."""
    from costlib import catalog
    from costlib.cli.printed import quoted, table

    def gb(size):
        return quoted(size, "GB")

    if answer["weights_formula"]:
        yield f"weights = {answer['weights_formula']} = {gb(answer['weights_bytes'])}"
    used = f"{quoted(answer['utilisation'], 'percent')} × "
    rows = [(f"{row['count']} × {row['accelerator']}", row) for row in answer["fits"]]
    yield table(
        [
            (
                place,
                f"room = {used}{gb(row['memory_bytes'])} − {gb(answer['weights_bytes'])} / {row['count']}"
                f" − {gb(answer['runtime_bytes'])} = {gb(row['room_bytes'])}",
                *(
                    f"{what} = ⌊{gb(row['room_bytes'])} / {gb(row[size])}⌋ = {row[what_count]:,}"
                    for what, size, what_count in SESSIONS
                    if row[what_count]
                ),
            )
            for place, row in rows
        ]
    )
    memory = {row["accelerator"]: catalog.part("accelerator", row["accelerator"]).origin["memory"] for _, row in rows}
    yield table([(name, o.title, o.address) for name, o in memory.items()], ["memory of", "from", ""])
