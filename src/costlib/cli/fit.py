"""``costlib fit``: on which accelerators a model fits, how long a context, and how many sessions."""

import bisect
import dataclasses
import functools
from typing import Annotated, Any

import typer

from costlib.cli.options import AsJson, Assume, Config, KVPrecision, WeightPrecision, length, refusal, sized, why

__all__ = ["fit"]

COUNTS = (1, 2, 4, 8)  # accelerators that share the model


def _complete_accelerator(incomplete: str):
    from costlib import catalog

    return [name for name in catalog.names("accelerator") if name.startswith(incomplete)]


def fit(
    config: Config,
    context: Annotated[
        Any, sized("token", 1, 1e12, "context cap of a session; by default the model's limit", "TOKENS")
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
    as_json: AsJson = False,
):
    """Say where a model fits: the room beside its weights, the longest context, the sessions at a cap.

    Without --accelerator, all of the catalog are shown, each with the fewest on which a session fits.
    """
    from costlib import catalog
    from costlib.cli.printed import plain, print_json
    from costlib.model_config import Refused, read
    from costlib.model_config.precision import precision_of

    parts = {name: catalog.part("accelerator", name) for name in accelerator or catalog.names("accelerator")}
    try:
        model = read(config, assume)
    except Refused as refused:
        answer = {"model": config, "fits": None, "assumptions": list(assume), "refused": why(refused)}
        raise refusal(refused, answer, as_json) from None
    kv_format = kv_precision or model.kv_format
    case = Case(
        model=model,
        context=length(model, context, "--context"),
        weights=_weights(model, weights, weight_precision),
        kv_format=kv_format,
        precision=precision_of(kv_format),
        utilisation=utilisation,
        runtime=runtime,
    )
    rows = [row for name, part in parts.items() for row in case.rows(name, part, every=accelerator or as_json)]
    if as_json:
        return print_json(plain(case.answer(rows)))
    return typer.echo("\n\n".join(_blocks(case, rows)))


def _weights(model, weights, precision):
    """Size of all weights: as given, or as the model's parameters take."""
    from costlib import serving
    from costlib.model_config.precision import precision_of
    from costlib.schema import InputError
    from costlib.units import Quantity

    if weights is not None:
        return weights
    if model.parameters is None:
        raise InputError(f"{model.name}: how many weights it has is not known here; wanted --weights")
    if precision is None:
        if model.fields is None or model.fields.has("quantization_config"):
            raise InputError(f"{model.name}: its weights are quantised; wanted --weight-precision or --weights")
        precision = precision_of(model.fields.text("dtype") or "bf16") * Quantity(1, "element/parameter")
    return serving.weight_bytes(Quantity(float(model.parameters.total), "parameter"), precision)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A model with its weights, the cap on a session, and what an engine takes of an accelerator."""

    model: Any
    context: Any
    weights: Any
    kv_format: str
    precision: Any
    utilisation: Any
    runtime: Any

    def rows(self, name, part, every):
        """What 1, 2, 4 and 8 of an accelerator hold; or only the fewest on which a session fits, or else 8."""
        for count in COUNTS:
            row = self.on(name, part, count)
            if every or row["sessions"] or count == COUNTS[-1]:
                yield row
            if row["sessions"] and not every:
                return

    def on(self, name, part, count):
        """What so many accelerators hold that share every layer, by tensor parallelism."""
        from costlib import capacity
        from costlib.units import Quantity, show

        together = Quantity(count, "accelerator")
        room = capacity.engine_pool(part.memory, self.utilisation, self.weights / count, self.runtime)
        state = self.state(count, int(self.context.magnitude))
        sessions = int(capacity.resident_on_node(room, state, together, together).magnitude)
        lengths = range(1, (self.model.context_limit or int(self.context.magnitude)) + 1)
        why = f"a session takes {show(state, 'GB', digits=4)} on each"
        if room.magnitude <= 0:
            why = "no room beside the weights"
        return {
            "accelerator": name,
            "count": count,
            "memory_bytes": part.memory,
            "weights_bytes": self.weights / count,
            "room_bytes": room,
            "state_bytes": state,
            "longest_context": bisect.bisect_right(lengths, room, key=lambda tokens: self.state(count, tokens)),
            "sessions": sessions,
            "why_not": None if sessions else why,
        }

    @functools.cache  # noqa: B019 the command ends with its one case
    def state(self, count, tokens):
        """What each of so many accelerators keeps of a sequence: its share of the heads, at least one."""
        from costlib.units import Quantity

        return _rank(self.model, count).state(Quantity(float(tokens), "token"), self.precision)

    def answer(self, rows):
        """What was asked and what was found, in quantities."""
        return {
            "model": self.model.name,
            "context": self.context,
            "kv_precision": self.kv_format,
            "weights_bytes": self.weights,
            "utilisation": self.utilisation,
            "runtime_bytes": self.runtime,
            "fits": rows,
            "assumptions": list(self.model.assumptions),
            "refused": None,
        }


def _rank(model, count):
    """What one of so many accelerators keeps: its share of the heads, at least one, and of recurrent states."""

    def share(number):
        return -(-number // count)

    return dataclasses.replace(
        model,
        caches=tuple(dataclasses.replace(cache, heads=share(cache.heads)) for cache in model.caches),
        states=tuple(
            dataclasses.replace(state, elements=share(state.elements), conv_elements=share(state.conv_elements))
            for state in model.states
        ),
    )


def _blocks(case, rows):
    """The answer for people, in blocks."""
    from costlib.cli.printed import table
    from costlib.units import show

    def gb(size, unit="GB"):
        return show(size, unit, digits=4)

    context = show(case.context, digits=15)
    yield (
        f"{case.model.name}: sessions of {context}, cache in {case.kv_format}, weights of {gb(case.weights)}; of the "
        f"memory, an engine may use {show(case.utilisation, 'percent')}, and {gb(case.runtime)} of that is not for state"
    )
    yield table(
        [
            (
                f"{row['count']} × {row['accelerator']}",
                gb(row["memory_bytes"]),
                gb(row["weights_bytes"]),
                gb(row["room_bytes"]),
                gb(row["room_bytes"], "GiB"),
                f"{row['longest_context']:,}",
                f"{row['sessions']:,}",
                row["why_not"] or "",
            )
            for row in rows
        ],
        ["on", "memory", "weights", "room", "", "longest context", "sessions", ""],
        right=range(1, 7),
    )
    yield "Memory, weights and room are those of one accelerator."
