"""What a reader may change: the fields of the control, the scenario file that they make, and what is wrong with them.

Inputs are texts by field; a field is a part of a scenario, as in ``model``, or
a value of a part, as in ``workload.context``. Any value of a scenario may be
one; :data:`FIELDS` are those that the control shows.
"""

import dataclasses
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from costlib import catalog, scenario
from costlib.schema import InputError, nearest, read
from costlib.units import Quantity, quantity, show

__all__ = ["FIELDS", "FILE", "Field", "from_model_file", "load", "notices", "numbers", "problems", "scenario_text"]

FILE = "mine.toml"  # the reader's file, by name


@dataclass(frozen=True)
class Field:
    """One field of the control: chosen from the catalog, or typed in its unit, or in another one.

    ``step`` says how a dial goes: ``"doubling"`` or ``"1-2-5"``; empty where no sentence has one.
    """

    key: str
    label: str
    group: str
    unit: str = ""
    step: str = ""

    @property
    def choices(self):
        """Pairs of a name and what it is called; empty where a value is typed. The published one has an empty name."""
        part, dot, _ = self.key.partition(".")
        if not dot:
            kind = part.removeprefix("host_")
            catalogued = [(name, catalog.part(kind, name).title) for name in catalog.names(kind)]
            return [("", getattr(_reference(), part).title), *catalogued]
        return [(option, option) for option in _schema(self.key).get("options", ())]

    def stands(self, case):
        """What a scenario has there: a number in the field's unit, or a text; None where it has none."""
        part, _, name = self.key.partition(".")
        value = getattr(getattr(case, part), name)
        return value if value is None or isinstance(value, str) else self._number(value)

    @property
    def published(self):
        """The published value, as it would be typed; empty for a part, and where there is none."""
        if "." not in self.key or (value := self.stands(_reference())) is None:
            return ""
        return value if isinstance(value, str) else f"{value:.15g} {self.unit}".strip()

    @property
    def limits(self):
        """The least and the most, in its unit; None where no number is wanted."""
        schema = _schema(self.key)
        return (self._number(schema["low"]), self._number(schema["high"])) if "low" in schema else None

    def _number(self, value):
        one = _one(self.unit)
        return float(f"{value.m_as(one.units) / one.magnitude:.15g}")


@functools.cache
def _one(unit):
    """One of a unit, as it is typed: "billion parameters"."""
    return quantity(f"1 {unit}")


HARDWARE, MORE = "Model and hardware", "Workload and runtime"
MODEL, CARD, LINKS = "The model itself", "The accelerator itself", "Links"
FIELDS = [
    Field("model", "Model", HARDWARE),
    Field("accelerator", "Accelerator", HARDWARE),
    Field("node", "Node", HARDWARE),
    Field("node.accelerators", "Accelerators per node", HARDWARE, "accelerators", "doubling"),
    Field("precision.weights", "Weights as read", HARDWARE, "B/parameter", "doubling"),
    Field("reserve.weights", "Weights in memory", HARDWARE, "B/parameter", "doubling"),
    Field("precision.kv_cache", "KV cache", HARDWARE, "B/element", "doubling"),
    Field("precision.arithmetic", "Arithmetic", HARDWARE),
    Field("workload.context", "Context", HARDWARE, "tokens", "doubling"),
    Field("workload.prompt", "Prompt", MORE, "tokens", "doubling"),
    Field("workload.output", "Output", MORE, "tokens", "doubling"),
    Field("workload.observation", "Observation of a tool", MORE, "tokens", "doubling"),
    Field("workload.batch", "Batch", MORE, "streams", "doubling"),
    Field("workload.token_rate", "Output rate of a stream", MORE, "tokens/s/stream", "1-2-5"),
    Field("workload.start_rate", "Starts of trajectories", MORE, "trajectories/s", "1-2-5"),
    Field("workload.turns", "Turns of a trajectory", MORE, "", "1-2-5"),
    Field("workload.model_time", "Model time of a turn", MORE, "s", "1-2-5"),
    Field("workload.tool_time", "Tool time of a turn", MORE, "s", "1-2-5"),
    Field("reserve.runtime", "Runtime and activations", MORE, "GB", "1-2-5"),
    Field("model.parameters", "Parameters", MODEL, "billion parameters"),
    Field("model.active_parameters", "Active parameters", MODEL, "billion parameters"),
    Field("accelerator.title", "Name of the accelerator", CARD),
    Field("accelerator.memory", "Memory of one", CARD, "GB"),
    Field("accelerator.bandwidth", "Memory bandwidth", CARD, "TB/s"),
    Field("accelerator.rate_16bit", "Dense 16-bit rate", CARD, "Top/s"),
    Field("accelerator.rate_8bit", "Dense 8-bit rate", CARD, "Top/s"),
    Field("accelerator.rate_4bit", "Dense 4-bit rate", CARD, "Top/s"),
    Field("link.bandwidth", "Link bandwidth", LINKS, "GB/s"),
    Field("link.latency", "Link latency", LINKS, "ns"),
    Field("host_link.bandwidth", "Host link bandwidth", LINKS, "GB/s"),
    Field("host_link.latency", "Host link latency", LINKS, "ns"),
]


def _reference():
    return scenario.load(scenario.REFERENCE)


def _schema(key):
    """What the scenario's schema says of a value; nothing of a whole part, or of what it does not know."""
    part, _, name = key.partition(".")
    if part not in scenario.PARTS:
        return {}
    return next((f.metadata for f in dataclasses.fields(scenario.PARTS[part]) if f.name == name), {})


def numbers(case):
    """Where the typed fields of a scenario stand, and its dials: as :meth:`Field.stands`."""
    return {field.key: field.stands(case) for field in _typed()}


@functools.cache
def _typed():
    return [field for field in FIELDS if not field.choices]


# ---------------------------------------------------------------- the reader's file


def scenario_text(inputs):
    """The scenario file that these inputs make, as TOML.

    Parameters
    ----------
    inputs : dict of str to str
        Texts by field; an empty one is left as published. The text of a list of tables, as of ``model.attention``,
        is JSON.

    Returns
    -------
    str
        Empty without inputs.

    Raises
    ------
    InputError
        If such a list is none.
    """
    given = {_whole(key): _whole(text.strip()) for key, text in inputs.items() if text.strip()}
    tables = {key: text for key, text in given.items() if "." not in key}
    for key, text in given.items():
        part, dot, name = key.partition(".")
        if dot:
            if isinstance(tables.get(part), str):
                tables[part] = {"from": tables[part]}
            tables.setdefault(part, {})[name] = _value(key, text)
    return tomli_w.dumps(tables)


def _whole(text):
    """A text without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _value(key, text):
    """What a file holds for the text of a field: itself, or the tables of a list.

    Raises
    ------
    InputError
        If a list is wanted, and this is none.
    """
    if "parts" not in _schema(key):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    plain = isinstance(found, list) and all(isinstance(one, dict) and _is_plain(one) for one in found)
    if not found or not plain:
        given = text if len(text) <= 60 else text[:57] + "..."
        wanted = f"{_schema(key)['text']}, as a list of objects in JSON"
        raise InputError(f"{key.partition('.')[2]} = {given!r}; wanted {wanted}")
    return found


def _is_plain(table):
    """Whether each value is a number or a text."""
    return all(isinstance(value, int | float | str) for value in table.values())


def load(inputs):
    """The scenario that these inputs make.

    Raises
    ------
    InputError
        As :func:`costlib.scenario.load`.
    """
    text = scenario_text(inputs)
    return scenario.loads(text, FILE) if text else _reference()


# ---------------------------------------------------------------- a model's file


def from_model_file(name, text):
    """The inputs that a model's file makes.

    Parameters
    ----------
    name : str
        Name of the file.
    text : str
        What it holds: that of a ``config.json``.

    Returns
    -------
    dict of str to str
        All values of the model, by field; and how its weights are stored, where the file tells.

    Raises
    ------
    InputError
        If it is no such file, or has a model that a scenario cannot say; in a sentence for the reader.
    """
    from costlib.model_config import read_table
    from costlib.model_config.scenario import as_model, model_table
    from costlib.model_config.sources import name_of, parsed

    if name.lower().endswith(".gguf"):
        raise InputError(f"{name}: a GGUF file; wanted config.json, or the command costlib scenario, which reads both")
    try:
        config = read_table(parsed(_whole(text).encode(), name), name, name=name_of(Path(name)))
        as_model(config)  # which looks at each size
    except InputError as error:
        told = str(error) if str(error).startswith(name) else f"{name}: {error}"
        raise InputError(told + "; the command costlib scenario takes it" if "--assume" in told else told) from None
    tables = _stored(config) | {"model": model_table(config)}
    return {
        f"{part}.{field}": json.dumps(value) if isinstance(value, list) else str(value)
        for part, table in tables.items()
        for field, value in table.items()
    }


def _stored(config):
    """How a model's weights are stored, and an arithmetic as wide, as a scenario file says it; nothing if not known."""
    from costlib.model_config.scenario import scenario_file

    try:
        tables = scenario_file(config).tables
    except InputError:  # quantised, and not told how far, or wider than any arithmetic
        return {}
    wanted = ("weights", "arithmetic")
    return {
        part: {key: tables[part][key] for key in wanted if key in tables[part]} for part in ("precision", "reserve")
    }


# ---------------------------------------------------------------- what is wrong


def problems(inputs):
    """What is wrong with inputs: a sentence for each field at fault.

    A field whose own text cannot be used is at fault. Where all can be, but not
    together, it is the last one without which they can.

    Parameters
    ----------
    inputs : dict of str to str
        The one that was set last, last.

    Returns
    -------
    dict of str to str
        Empty where nothing is.
    """
    given = {key: text for key, text in inputs.items() if text.strip()}
    alone = {key: _sentence(fault, key) for key, text in given.items() if (fault := _alone(key, text))}
    if alone:
        return alone
    fault = _together(given)
    if not fault:
        return {}
    for key in reversed(given):
        if not _together({other: text for other, text in given.items() if other != key}):
            return {key: _sentence(fault, key)}
    last = list(given)[-1]
    return {last: _sentence(fault, last)}


def _alone(key, text):
    """Why a field's text cannot be used, whatever the others are; None where it can."""
    part, dot, name = key.partition(".")
    try:
        if part not in scenario.PARTS:
            return f"unknown key {key!r}; {nearest(part, scenario.PARTS)}"
        if dot and name not in ("from", "source", "notes"):
            read(scenario.PARTS[part], {name: _value(key, text.strip())}, "")
        elif not dot and part.removeprefix("host_") in catalog.KINDS:
            catalog.part(part.removeprefix("host_"), text.strip())
    except InputError as error:
        return str(error)
    return None


def _together(inputs):
    try:
        load(inputs)
    except InputError as error:
        return str(error)
    return None


def _sentence(message, key):
    """A message of the loader without what stands beside it: the file, the field."""
    message = re.sub(rf"^({re.escape(FILE)})?:? *", "", message)
    part, _, name = key.partition(".")
    message = re.sub(rf"^(\[{re.escape(part)}\]:? *)?({re.escape(name or part)}( = |: ))?", "", message.strip())
    message = re.sub(r"^('[^']*'); wanted", r"given \1; wanted", message)
    message = message.replace("; set [precision] arithmetic", "; choose another arithmetic, or enter that rate")
    return message[:1].upper() + message[1:]


# ---------------------------------------------------------------- what is worth a word


def notices(inputs, case):
    """What the reader has to hear of inputs that can be used: a sentence for each field concerned.

    Parameters
    ----------
    inputs : dict of str to str
        The one that was set last, last.
    case : Scenario
        The one that they make.

    Returns
    -------
    dict of str to str
        Empty where there is nothing to say, as of the published inputs.
    """
    found = {}
    for sentence, keys in (
        (_room(case), _two_sizes(inputs, case), _not_told(inputs, case), _call(case)) if inputs else ()
    ):
        if sentence:
            key = _set_last(inputs, keys)
            found[key] = f"{found[key]} {sentence}" if key in found else sentence
    return found


def _set_last(inputs, keys):
    """Which of these fields was set last; a part with a title of the reader's own was set as one."""
    for key in reversed(inputs):
        part = key.partition(".")[0]
        field = part if f"{part}.title" in inputs else key
        if field in keys:
            return field
    return keys[0]


def _room(case):
    """Whether the node has room for the model, and for one context."""
    keys = ["model", "model.parameters", "accelerator", "accelerator.memory", "node", "node.accelerators"]
    keys += ["reserve.weights", "reserve.runtime"]
    context, pool = case.workload.context, case.state_pool
    held, memory = case.node_memory - pool, show(case.node_memory, "GB", 4)
    if pool <= 0 * pool:
        return f"It does not fit: weights and runtime take {show(held, 'GB', 4)}, and the node has {memory}.", keys
    if case.resident_sequences(context) < Quantity(1, "sequence"):
        ranks = case.sharing(context)
        stored = ranks.magnitude * case.model.rank(case.precision.kv_cache, ranks).state(context)
        left = f"Weights and runtime leave {show(pool, 'GB')} of the node's {memory}"
        return f"{left}; a context of {show(context, digits=9)} takes {show(stored, 'GB')} there.", [
            *keys,
            "precision.kv_cache",
            "workload.context",
        ]
    return "", keys


def _not_told(inputs, case):
    """Whether a model of the reader's own has weights of a size that nobody set."""
    read, held = "precision.weights", "reserve.weights"
    if "model.attention" not in inputs or read in inputs or held in inputs:
        return "", []
    sizes = show(case.precision.weights, "B/parameter"), show(case.reserve.weights, "B/parameter")
    return f"Still as published: {sizes[0]} as read, {sizes[1]} in memory. The model's file does not tell.", [read]


def _two_sizes(inputs, case):
    """Whether only one of the sizes of a weight was set, and the other is another."""
    read, held = "precision.weights", "reserve.weights"
    sizes = [show(part.weights, "B/parameter") for part in (case.precision, case.reserve)]
    if (read in inputs) == (held in inputs) or case.precision.weights == case.reserve.weights:
        return "", []
    if read in inputs:
        return f"In the node's memory a weight still takes {sizes[1]}; set that as well if it shrinks there.", [read]
    return f"A step still reads {sizes[0]}; set that as well if it reads what is held.", [held]


def _call(case):
    """Whether the example call is longer than a context."""
    work = case.workload
    if work.prompt + work.output <= work.context:
        return "", []
    prompt, output, context = (show(each, digits=9) for each in (work.prompt, work.output, work.context))
    return f"The call has a prompt of {prompt} and an output of {output}: more than the context of {context}.", [
        "workload.prompt",
        "workload.output",
        "workload.context",
    ]
