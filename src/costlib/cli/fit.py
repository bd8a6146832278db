"""``costlib fit``: on which accelerators a model fits, how long a context, and how many sessions."""

import bisect
import dataclasses
import functools
from typing import Annotated, Any

import typer

from costlib.cli.options import (
    LONGEST,
    AsJson,
    Assume,
    Config,
    Explain,
    KVPrecision,
    WeightPrecision,
    length,
    refusal,
    sized,
    why,
)

__all__ = ["fit"]

COUNTS = (1, 2, 4, 8)  # accelerators that share the model
SESSIONS = (("sessions", "state_bytes", "sessions"), ("in vLLM", "vllm_bytes", "sessions_vllm"))


def _complete_accelerator(incomplete: str):
    from costlib import catalog

    return [name for name in catalog.names("accelerator") if name.startswith(incomplete)]


def fit(
    config: Config,
    context: Annotated[
        Any, sized("token", 1, LONGEST, "context cap of a session; by default the model's limit", "TOKENS")
    ] = None,
    weights: Annotated[Any, sized("byte", "1 MB", "1 PB", "size of all weights", "SIZE", "'42 GB'")] = None,
    weight_precision: WeightPrecision = None,
    kv_precision: KVPrecision = None,
    utilisation: Annotated[
        Any, sized("", 0.01, 1, "share of an accelerator's memory that the engine may use", "SHARE")
    ] = "0.9",
    runtime: Annotated[
        Any, sized("byte", 0, "1 PB", "what activations and graphs take of that on each accelerator", "SIZE")
    ] = "2 GB",
    accelerator: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            autocompletion=_complete_accelerator,
            help="Only this one of the catalog, alone and in groups of 2, 4 and 8. Can be repeated.",
        ),
    ] = (),
    assume: Assume = (),
    explain: Explain = False,
    as_json: AsJson = False,
):
    """Say where a model fits: the room beside its weights, the longest context, the sessions at a cap.

    Without --accelerator, all of the catalog are shown, each with the fewest on which a session fits.
    """
    from costlib import catalog
    from costlib.cli.printed import plain, print_json, print_text
    from costlib.model_config import Refused, read
    from costlib.model_config.precision import precision_of

    parts = {name: catalog.part("accelerator", name) for name in accelerator or catalog.names("accelerator")}
    try:
        model = read(config, assume)
    except Refused as refused:
        answer = {"model": config, "fits": None, "assumptions": list(assume), "refused": why(refused)}
        raise refusal(refused, answer, as_json) from None
    kv_format = kv_precision or model.kv_format
    case = {
        "model": model.name,
        "context": length(model, context, "--context"),
        "kv_precision": kv_format,
        "weights_bytes": _weights(model, weights, weight_precision),
        "utilisation": utilisation,
        "runtime_bytes": runtime,
    }
    ranks = [Rank(model, case["context"], precision_of(kv_format), count) for count in COUNTS]
    rows = [row for name, part in parts.items() for row in _on(name, part, case, ranks, accelerator or as_json)]
    answer = {**case, "fits": rows, "assumptions": list(model.assumptions), "refused": None}
    return print_json(plain(answer)) if as_json else print_text(_blocks(answer, explain))


def _weights(model, weights, precision):
    """Size of all weights: as given, as their files have it, or as the model's parameters take."""
    from costlib import serving
    from costlib.model_config.precision import precision_of
    from costlib.schema import InputError
    from costlib.units import Quantity

    if weights is not None:
        return weights
    if precision is None and model.weights is not None:
        return model.weights
    if model.parameters is None:
        raise InputError(f"{model.name}: how many weights it has is not known here; wanted --weights")
    if precision is None:
        if model.fields.has("quantization_config"):
            raise InputError(f"{model.name}: its weights are quantised; wanted --weight-precision or --weights")
        precision = precision_of(model.fields.text("dtype") or "bf16") * Quantity(1, "element/parameter")
    return serving.weight_bytes(Quantity(float(model.parameters.total), "parameter"), precision)


def _on(name, part, case, ranks, every):
    """What 1, 2, 4 and 8 of an accelerator hold; or only the fewest on which a session fits, or else 8."""
    for rank in ranks:
        row = _row(name, part, case, rank)
        if every or row["sessions"] or rank is ranks[-1]:
            yield row
        if row["sessions"] and not every:
            return


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
        **rank.holds(room),
    }


class Rank:
    """One of so many accelerators that share every layer by tensor parallelism, and what it keeps of a session."""

    def __init__(self, model, context, precision, count):
        self.count, self._model, self._precision = count, self._of(model, count), precision
        self._context = int(context.m_as("token"))
        self._longest = min(model.context_limit or self._context, LONGEST)
        self.state = functools.cache(self.state)  # asked for again and again, by every accelerator
        self._reserved, self._unsplit = self._in_vllm(model, context)

    @staticmethod
    def _of(model, count):
        """The model as a rank keeps it: its share of the heads, one at least, and its share of recurrent states."""

        def shared(kept, *fields):
            return dataclasses.replace(kept, **{field: -(-getattr(kept, field) // count) for field in fields})

        return dataclasses.replace(
            model,
            caches=tuple(shared(cache, "heads") for cache in model.caches),
            states=tuple(shared(state, "elements", "conv_elements") for state in model.states),
        )

    def state(self, tokens):
        from costlib.units import Quantity

        return self._model.state(Quantity(float(tokens), "token"), self._precision).to("byte")

    def _in_vllm(self, model, context):
        """What vLLM reserves for a session, or why it cannot split the heads so."""
        from costlib.arguments import ArgumentError
        from costlib.model_config.engines import vllm

        try:
            return vllm(model, context, self._precision, tensor_parallel=self.count).total, None
        except ArgumentError as error:
            return None, str(error)

    def holds(self, room):
        """What a session takes, the longest context for which there is room, the sessions, and why there are none."""
        nothing = {"longest_context": 0, "sessions": 0, "sessions_vllm": 0}
        if self._unsplit:
            return {"state_bytes": None, "vllm_bytes": None, **nothing, "why_not": self._unsplit}
        lengths, space = range(1, self._longest + 1), room.m_as("byte")
        state = self.state(self._context)
        sessions = _sessions(room, state)
        return {
            "state_bytes": state,
            "vllm_bytes": self._reserved,
            "longest_context": bisect.bisect_right(lengths, space, key=lambda tokens: self.state(tokens).magnitude),
            "sessions": sessions,
            "sessions_vllm": _sessions(room, self._reserved),
            "why_not": None if sessions else _why_not(room, state),
        }


def _sessions(room, state):
    from costlib import capacity

    return int(capacity.resident_sequences(room, state).magnitude)


def _why_not(room, state):
    return "no room beside the weights" if room.magnitude <= 0 else f"a session takes {_gb(state)} on each"


def _gb(size, unit="GB"):
    from costlib.units import show

    return show(size, unit, digits=4)


def _blocks(answer, explain):
    """The answer for people, in blocks."""
    from costlib.cli.printed import table
    from costlib.units import show

    yield (
        f"{answer['model']}: weights of {_gb(answer['weights_bytes'])}, "
        f"sessions of {show(answer['context'], digits=15)}, cache in {answer['kv_precision']}"
    )
    sizes = ("memory_bytes", "weights_bytes", "room_bytes")
    counts = ("longest_context", "sessions", "sessions_vllm")
    yield table(
        [
            (
                f"{row['count']} × {row['accelerator']}",
                *(_gb(row[size]) for size in sizes),
                _gb(row["room_bytes"], "GiB"),
                *(f"{row[count]:,}" for count in counts),
                row["why_not"] or "",
            )
            for row in answer["fits"]
        ],
        ["accelerators", "memory", "weights", "room", "", "longest", "sessions", "in vLLM", ""],
        right=range(1, 8),
    )
    yield (
        f"Memory, weights and room are those of one accelerator, of whose memory the engine may use "
        f"{show(answer['utilisation'], 'percent')}, {_gb(answer['runtime_bytes'])} of that for what is not state.\n"
        "Sessions are those for whose state there is room; in vLLM, those for what it reserves."
    )
    if explain:
        yield from _explained(answer)
    if answer["assumptions"]:
        yield "\n".join(["Assumed:", *(f"- {text}" for text in answer["assumptions"])])


def _explained(answer):
    """How the numbers of each row come about, and where the sizes of memory come from."""
    from costlib import catalog
    from costlib.cli.printed import table
    from costlib.units import show

    used = f"{show(answer['utilisation'], 'percent')} × "
    rows = [(f"{row['count']} × {row['accelerator']}", row) for row in answer["fits"]]
    yield table(
        [
            (
                place,
                f"room = {used}{_gb(row['memory_bytes'])} − {_gb(answer['weights_bytes'])} / {row['count']}"
                f" − {_gb(answer['runtime_bytes'])} = {_gb(row['room_bytes'])}",
                *(
                    f"{what} = ⌊{_gb(row['room_bytes'])} / {_gb(row[size])}⌋ = {row[what_count]:,}"
                    for what, size, what_count in SESSIONS
                    if row["sessions"]
                ),
            )
            for place, row in rows
        ]
    )
    memory = {row["accelerator"]: catalog.part("accelerator", row["accelerator"]).origin["memory"] for _, row in rows}
    yield table([(name, o.title, o.address) for name, o in memory.items()], ["memory of", "from", ""])
