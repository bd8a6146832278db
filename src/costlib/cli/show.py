"""``costlib show``: what follows from a scenario, under the keys that the book's pages publish."""

import re
from pathlib import Path
from typing import Annotated

import typer

from costlib.cli.options import RUNTIME, TO_GO_BEYOND, UTILISATION, AsJson, Explain

__all__ = ["ROWS", "derived", "formulas", "show"]

# Key, what it is, unit and digits printed as on the pages, and the formula. A unit of B stands for that which suits the
# size. In a formula, {part.field} is a value of the scenario, {key} another row, and {word} a text that depends on the
# model (see _words).
ROWS = [
    ("ridge-point", "ridge point", "operation/byte", 3, "{rate} / {accelerator.bandwidth}"),
    ("prefill-time", "time of a prompt token", "µs/token", 2, "2 op/token/parameter × {active} / {rate}"),
    (
        "decode-floor",
        "least time of an output token on one accelerator",
        "ms/token",
        3,
        "{active} × {precision.weights} / {accelerator.bandwidth}",
    ),
    ("output-input-ratio", "output token over prompt token", None, 3, "{decode-floor} / {prefill-time}"),
    (
        "critical-batch",
        "streams up to which a step waits for memory",
        "stream",
        3,
        "{model.parameters} × {precision.weights} / {accelerator.bandwidth} / {prefill-time}",
    ),
    ("bytes-per-token", "state of a token", "byte/token", 7, "{entry}"),
    ("own-context-state", "state of a context", "GB", 3, "{kept}"),
    ("expert-parameters", "weights of the experts that a router chooses from", "Gparameter", 6, "{experts}"),
    (
        "sharing",
        "accelerators that share each context, for the most contexts",
        "accelerator",
        4,
        "whichever of {sharings} holds the most",
    ),
    ("groups", "groups of so many on the node", None, 4, "{node.accelerators} / {sharing}"),
    (
        "state-copies",
        "times that a group stores each byte of state",
        None,
        4,
        "({stored}) / {own-context-state}",
    ),
    (
        "node-pool",
        "room for state on the node",
        "GB",
        4,
        "{node.accelerators} × {accelerator.memory} − {weights} × {reserve.weights} − {reserve.runtime}",
    ),
    (
        "resident-trajectories",
        "contexts that the node holds",
        "trajectory",
        9,
        "{groups} × ⌊max(0 GB, {node-pool}) / ({groups} × {state-copies} × {own-context-state})⌋",
    ),
    (
        "trajectory-time",
        "time of a trajectory",
        "second",
        3,
        "{workload.turns} × ({workload.model_time} + {workload.tool_time})",
    ),
    ("live-trajectories", "trajectories alive", "trajectory", 3, "{workload.start_rate} × {trajectory-time}"),
    (
        "active-trajectories",
        "of which inside a model call",
        "trajectory",
        3,
        "{workload.start_rate} × {workload.turns} × {workload.model_time}",
    ),
    ("live-state", "state of all that are alive", "B", 2, "{live-trajectories} × {own-context-state}"),
]
# The weights of the experts, and all that the node stores: of a mixture, whose experts may divide among all, or not.
MIXTURE = {
    "experts": "({model.parameters} − {model.active_parameters}) × {model.experts} / "
    "({model.experts} − {model.experts_per_token})",
    "weights": "({groups} × ({model.parameters} − {expert-parameters}) + {node.accelerators} × "
    "min(1 / {sharing}, ⌈{model.experts} / {node.accelerators}⌉ / {model.experts}) × {expert-parameters})",
}
DENSE = {"experts": "0 parameters", "weights": "{groups} × {model.parameters}"}


def show(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A TOML file; by default the one that COSTLIB_SCENARIO names, or else the reference scenario.",
        ),
    ] = None,
    explain: Explain = False,
    as_json: AsJson = False,
):
    """Show what follows from a scenario: times, ratios, attention state, and what its node holds."""
    from costlib.cli.printed import print_json, print_text, wrapped
    from costlib.scenario import load

    if scenario is not None and not Path(scenario).is_dir():
        _check_that_it_is_no_model(scenario)
    case = load(scenario)
    values = derived(case)
    if as_json:
        return print_json(_plain(case, values))
    blocks = [_parts(case), _explained(case, values) if explain else _table(values)]
    said = [_reserved(case), *_remarks(case, values), *_made_for(case)]
    return print_text([*blocks, *map(wrapped, said)])


def _remarks(case, values):
    """Why nothing fits, or what keeps more from fitting."""
    from costlib import capacity
    from costlib.units import show, times

    context = case.workload.context
    once = capacity.resident_sequences(case.state_pool, values["own-context-state"]).to("trajectory")
    state, weights = case.times_stored(context), times(case.weight_copies(context))
    if short := case.shortage(context):
        yield f"{short} [reserve] says what weights and runtime take."
    elif once > values["resident-trajectories"] and {state, weights} != {"once"}:
        yield (
            f"Each byte of state is stored {state} and each weight {weights}, on average. "
            f"Were all stored once, the node would hold up to {show(once, digits=9)}."
        )
    if _copies_the_rest(case, values):
        size, copies = show(case.reserve.weights, "B/parameter"), show(values["groups"], digits=9)
        yield (
            f"All weights are taken to be of {size}. Where experts are stored narrower than the rest, of which the "
            f"node has {copies} copies, it may hold fewer."
        )


def _copies_the_rest(case, values):
    """Whether groups each have what is no expert, of weights narrow enough to be a mean of several precisions."""
    from costlib.units import Quantity

    if not case.model.experts or case.reserve.weights >= Quantity(2, "byte/parameter"):
        return False
    return case.weight_copies(case.workload.context) < values["groups"] * (1 - 1e-9)


def _made_for(case):
    """What is asked of the model, or of the accelerator, beyond what it is made for."""
    from costlib import catalog
    from costlib.hardware import ALONE

    if said := case.beyond_limit:
        yield f"{said} [workload] says how long it is; {TO_GO_BEYOND}."
    if said := case.other_link:
        link = case.accelerator.link
        nodes = ", ".join(catalog.nodes(link))
        found = f"Nodes {'of one' if link == ALONE else 'with that link'}: {nodes}."
        yield f"{said} " + (found if nodes else f'No node of the catalog has that link: link = "{link}" enters it.')


def derived(case):
    """The value of each row, by the functions that the pages call."""
    from costlib import queueing, roofline, serving, trajectories
    from costlib.units import Quantity

    model, precision, workload, bandwidth = case.model, case.precision, case.workload, case.accelerator.bandwidth
    lifetime = trajectories.trajectory_time(workload.turns, workload.model_time, workload.tool_time)
    share = trajectories.model_share(workload.model_time, workload.tool_time)
    live = queueing.number_in_system(workload.start_rate, lifetime)
    state = model.context_state(workload.context, precision.kv_cache)
    work, no_state = serving.token_operations(model.active), Quantity(0.0, "byte")
    ranks, size = case.sharing(workload.context), case.node.accelerators
    return {
        "ridge-point": roofline.ridge_point(case.peak_rate, bandwidth),
        "prefill-time": serving.prefill_time(model.active, case.peak_rate),
        "decode-floor": serving.decode_time(model.active, precision.weights, bandwidth),
        "output-input-ratio": serving.output_input_ratio(case.peak_rate, precision.weights, bandwidth),
        "critical-batch": serving.critical_batch(case.weights, no_state, work, case.peak_rate, bandwidth),
        "bytes-per-token": sum(kind.bytes_per_token(precision.kv_cache) for kind in model.attention),
        "own-context-state": state,
        "expert-parameters": model.expert_parameters,
        "sharing": ranks,
        "groups": size / ranks,
        "state-copies": case.state_copies(workload.context),
        "node-pool": size.magnitude * case.rank_pool(ranks),
        "resident-trajectories": case.resident_sequences(workload.context),
        "trajectory-time": lifetime,
        "live-trajectories": live,
        "active-trajectories": queueing.number_in_system(workload.start_rate, lifetime * share),
        "live-state": live * state / Quantity(1, "trajectory"),
    }


def _words(case):
    """The parts of formulas that depend on the model and on the precision computed in."""
    from costlib.hardware import RATES

    kinds = [(_entry(kind), _tokens(kind)) for kind in case.model.attention]
    recurrent = ["{model.recurrent_state}"] if case.model.recurrent_state else []
    ranks = case.sharing(case.workload.context)
    copied = f"{ranks.magnitude:g} × " if ranks.magnitude > 1 else ""
    stored = [(copied + _entry(kind), _tokens(kind)) for kind in case.model.shard(ranks).attention]
    return {
        "rate": f"{{accelerator.{RATES[case.precision.arithmetic]}}}",
        "active": "{model.active_parameters}" if case.model.active_parameters else "{model.parameters}",
        "entry": " + ".join(entry for entry, _ in kinds),
        "kept": " + ".join([f"{tokens} × {entry}" for entry, tokens in kinds] + recurrent),
        "stored": " + ".join([f"{tokens} × {entry}" for entry, tokens in stored] + recurrent),
        **(MIXTURE if case.model.experts else DENSE),
        "sharings": ", ".join(f"{each.magnitude:g}" for each in case.sharings),
    }


def _entry(kind):
    """What a token leaves in layers of one kind."""
    from costlib.units import show

    kept = f"{show(kind.kv_heads, digits=9)} × ({show(kind.key_dim, digits=9)} + {show(kind.value_dim, digits=9)})"
    if kind.latent_rank is not None:
        kept = f"({show(kind.latent_rank, digits=9)} + {show(kind.rope_dim, digits=9)})"
    return f"{show(kind.layers, digits=9)} × {kept} × {{precision.kv_cache}}"


def _tokens(kind):
    """The tokens of a context that layers of one kind keep."""
    from costlib.units import show

    return "{workload.context}" if kind.window is None else f"min({{workload.context}}, {show(kind.window, digits=9)})"


def formulas(case, values):
    """Each row's formula with the values put in, and all inputs that they name, as 'part.field'."""
    from costlib.cli.printed import quoted
    from costlib.units import show

    words, units, inputs = _words(case), _units(values), {}

    def put_in(found):
        name = found[1]
        if name in words:
            return fill(words[name])
        if name in units:
            return quoted(values[name], units[name])
        part, _, field = name.partition(".")
        inputs[name] = getattr(getattr(case, part), field)
        return show(inputs[name], digits=15)

    def fill(formula):
        return re.sub(r"\{([\w.-]+)\}", put_in, formula)

    return {key: fill(formula) for key, *_, formula in ROWS}, inputs


def _units(values):
    """The unit in which each value is printed."""
    from costlib.units import size_unit

    return {key: size_unit(values[key]) if unit == "B" else unit for key, _, unit, *_ in ROWS}


def _printed(values):
    from costlib.units import show

    units = _units(values)
    return [(key, show(values[key], units[key], digits)) for key, _, _, digits, _ in ROWS]


def _parts(case):
    from costlib.cli.printed import table
    from costlib.scenario import PARTS

    return table([(name, getattr(case, name).title) for name in PARTS])


def _table(values):
    from costlib.cli.printed import table

    names = {key: name for key, name, *_ in ROWS}
    return table([(key, printed, names[key]) for key, printed in _printed(values)], right={1})


def _check_that_it_is_no_model(given):
    """Refuse what stands for a model alone, and say what a scenario is that has it."""
    from costlib import catalog
    from costlib.schema import InputError

    if given.lower().endswith((".json", ".gguf")):
        raise InputError(f"{given}: a model's file; wanted a scenario, as 'costlib scenario {given}' writes it")
    if not Path(given).exists() and (name := given.lower()) in catalog.names("model"):
        raise InputError(f'{given}: a model of the catalog; wanted a scenario file, with model = "{name}" in it')


def _reserved(case):
    """What is kept free of the node's memory, and by which options costlib fit keeps the same free."""
    from costlib.cli.fit import kept_free
    from costlib.units import show

    weights = show(case.reserve.weights, "B/parameter", digits=9)
    runtime, each = (show(size, "GB", digits=9) for size in (case.reserve.runtime, case.runtime_on_each))
    return (
        f"Reserved ([reserve]): weights of {weights}, and {runtime} of the node, {each} on each "
        f"accelerator. costlib fit, by tensor parallelism alone, reserves as much with --weight-precision '{weights}' "
        f"--utilisation 1 --runtime '{each}', and otherwise {kept_free(UTILISATION)} and {RUNTIME} on each."
    )


def _explained(case, values):
    """Each value with its formula, then every input with its source."""
    from costlib.cli.printed import table
    from costlib.units import show

    texts, inputs = formulas(case, values)
    rows = [(key, "=", printed, "=", texts[key]) for key, printed in _printed(values)]
    origins = {name: _origin(case, name) for name in inputs}
    sources = [
        (name, show(value, digits=15), origins[name].title, origins[name].address) for name, value in inputs.items()
    ]
    return "\n\n".join([table(rows, right={2}), table(sources, ["input", "value", "source", ""], right={1})])


def _origin(case, name):
    part, _, field = name.partition(".")
    return getattr(case, part).origin[field]


def _plain(case, values):
    from costlib.cli.printed import base, plain
    from costlib.scenario import PARTS

    texts, _ = formulas(case, values)
    return {
        "scenario": Path(case.file).name or "reference",
        "parts": {name: getattr(case, name).title for name in PARTS},
        "fits": values["node-pool"].magnitude >= 0,
        "values": {
            key: {
                "name": name,
                "value": plain(values[key]),
                "unit": f"{base(values[key]).units:C}",
                "formula": texts[key],
            }
            for key, name, *_ in ROWS
        },
    }
