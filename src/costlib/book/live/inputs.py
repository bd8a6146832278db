"""What a reader entered: the scenario file that it makes, what a model's file enters, and what is wrong.

Inputs are texts by field. Any value of a scenario may be one; :data:`costlib.book.live.fields.FIELDS` are those that
the control shows.
"""

import json
import re
from pathlib import Path

import tomli_w

from costlib import catalog, scenario
from costlib.book.live.fields import FIELDS, reference, schema
from costlib.schema import InputError, nearest, read
from costlib.units import Quantity, quantity

__all__ = ["FILE", "from_model_file", "load", "problems", "scenario_text"]

FILE = "mine.toml"  # the reader's file, by name


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
    if "parts" not in schema(key):
        return text
    from costlib.model_config.sources import parsed

    try:
        found = parsed(text.encode(), key)
    except InputError:
        found = None
    plain = isinstance(found, list) and all(isinstance(one, dict) and _is_plain(one) for one in found)
    if not found or not plain:
        given = text if len(text) <= 60 else text[:57] + "..."
        wanted = f"{schema(key)['text']}, as a list of objects in JSON"
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
    return scenario.loads(text, FILE) if text else reference()


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
    tables = {"model": model_table(config)} | _stored(config)
    return {
        f"{part}.{field}": _typed(f"{part}.{field}", value)
        for part, table in tables.items()
        for field, value in table.items()
    }


def _typed(key, value):
    """What a scenario file has as its field shows it: a list as JSON, a quantity in the unit of the field."""
    if isinstance(value, list):
        return json.dumps(value)
    field, unit = next((field for field in FIELDS if field.key == key), None), schema(key).get("unit")
    if not field or not unit:
        return str(value)
    return field.typed(quantity(value) if isinstance(value, str) else Quantity(value, unit))


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


# What a message says to do with a file, and what the control has for it.
HERE = {
    "; set [precision] arithmetic": "; choose another arithmetic, or enter that rate",
    "active_parameters, experts and experts_per_token belong together; not all are given": (
        "a model without experts passes all its parameters; one with experts is in the list, or in its config.json"
    ),
}


def _sentence(message, key):
    """A message of the loader without what stands beside it: the file, the field."""
    message = re.sub(rf"^({re.escape(FILE)})?:? *", "", message)
    part, _, name = key.partition(".")
    message = re.sub(rf"^(\[{re.escape(part)}\]:? *)?({re.escape(name or part)}( = |: ))?", "", message.strip())
    message = re.sub(r"^('[^']*'); wanted", r"given \1; wanted", message)
    message = re.sub(r"(?<!\S)'([^']{60})[^']{4,}'(?!\w)", r"'\1...'", message)  # what was given may be a page long
    for said, here in HERE.items():
        message = message.replace(said, here)
    return message[:1].upper() + message[1:]
