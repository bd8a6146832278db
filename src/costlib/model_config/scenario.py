"""From what was read of a model to a scenario: the catalog's kind of model, and a scenario file that has it.

:class:`costlib.model.Model` says less than a configuration may. What it cannot say is refused, never rounded off.
"""

import re
from dataclasses import dataclass

import tomli_w

from costlib import catalog, scenario
from costlib.hardware import WIDTHS
from costlib.model import Model
from costlib.model_config.fields import WIDTH, Inexpressible, Refused
from costlib.model_config.parameter_blocks import HIDDEN, Sizes
from costlib.model_config.parameter_table import DECODERS
from costlib.model_config.weights import weights_of
from costlib.schema import InputError, Origin, build
from costlib.units import Quantity, show

__all__ = ["ScenarioFile", "as_model", "model_table", "scenario_file"]

# Kinds of layers whose state is not that of attention to the whole context or to a window, or whose arithmetic is not.
UNLIKE = {
    "chunked": "a token attends to its own chunk alone, on average to half of one",
    "indexer": "the layers that have it keep keys to choose by, and attend to what they chose alone",
    "latent, sliding": "a latent that only a window of tokens keeps has sizes of its own",
}
OTHERWISE = "it is not one entry of keys and values for each token"
# Architectures that keep what attention would, and compute something else.
COMPUTED_OTHERWISE = {
    "doge": "its layers keep every token and attend to those that a mask of theirs chooses",
    "gpt_neo": "its layers keep every token, of which every second one attends to a window",
    "zamba": "its attending layers are one block of weights, which a token passes several times",
    "zamba2": "its attending layers are a few blocks of weights, each of which a token passes several times",
}
ALMOST = 0.9  # of twice the width of an arithmetic
FEED_FORWARD_ALONE = ("nemotron_h", "nemotron_h_moe", "nemotron-nas", "deci")  # architectures with such layers


def as_model(config):
    """The catalog's kind of model, from a model's configuration.

    Parameters
    ----------
    config : ModelConfig
        As :func:`costlib.model_config.read` gives it.

    Returns
    -------
    Model
        Whose state of a context is that of the configuration, to the byte.

    Raises
    ------
    Refused
        If such a model cannot say what this one keeps or computes, or if its weights could not be counted.
    InputError
        If a size is beyond what a scenario allows.

    Notes
    -----
    The recurrent state is that of the file, or of the public code where the file does not say: it does not follow the
    precision of the cache. Of a mixture, the experts are those that the router chooses from.

    Examples
    --------
    >>> from costlib.model_config import read_table
    >>> config = read_table({"model_type": "mistral", "dtype": "bfloat16"}, "mine")
    >>> as_model(config).context_state(Quantity(32768, "token"), config.kv_precision).to("MB").magnitude
    536.870912
    """
    table = model_table(config)
    origin = Origin(title=table.pop("source"))
    return build(Model, table, config.name, dict.fromkeys(table, origin))


def model_table(config):
    """The values of a model as a scenario file has them, under their keys, and their source.

    Parameters
    ----------
    config : ModelConfig
        As :func:`costlib.model_config.read` gives it.

    Returns
    -------
    dict
        Whole numbers and texts, and a list of such tables under ``attention``.

    Raises
    ------
    Refused
        As :func:`as_model`.
    """
    _check_what_is_computed(config)
    weights, (layers, width, vocabulary) = _weights(config), _shape(config)
    _check_that_each_layer_keeps_its_own(config, layers)
    recurrent = config.constant_state().m_as("byte")
    return {
        "title": _plain(config.name),
        **weights,
        "layers": layers,
        "width": width,
        "vocabulary": vocabulary,
        **({"context_limit": config.context_limit} if config.context_limit else {}),
        **({"recurrent_state": f"{recurrent:.15g} B"} if recurrent else {}),
        "attention": [_attention(config, cache) for cache in sorted(config.caches, key=_reach)],
        "source": _plain(re.split(r"[/\\]", config.fields.where)[-1]),
    }


def _reach(cache):
    """By which layers are sorted: those that keep the whole context first, as in the catalog."""
    return cache.window or 0


def _check_what_is_computed(config):
    """Refuse what a model of a scenario would compute otherwise, whatever it keeps."""
    if config.model_type in COMPUTED_OTHERWISE:
        raise Inexpressible("model_type", config.model_type, COMPUTED_OTHERWISE[config.model_type])
    if not config.caches:
        raise Inexpressible("attention", None, "no layer attends")
    for cache in config.caches:
        own = cache.stride > 1 or cache.remainder or cache.precision is not None
        if own or cache.kind not in ("full", "sliding", "latent"):
            raise Inexpressible("attention", _said(cache), UNLIKE.get(cache.kind, OTHERWISE))


def _said(cache):
    """Layers of one kind in words."""
    return f"{cache.layers} × {cache.kind}"


def _weights(config):
    """How many weights, all and those that a token passes, and the experts that make the difference."""
    counted = config.parameters
    if counted is None:
        reasons = [note for note in config.notes if "not counted: " in note and "weights" in note]
        raise Refused("parameters", None, reasons[-1] if reasons else "its weights are not counted")
    if counted.active == counted.total:
        return {"parameters": counted.total}
    if counted.active is None:
        raise Refused("active_parameters", None, "how many weights a token passes through is not known here")
    if counted.experts is None:
        raise Inexpressible("experts", None, "layers differ in how many they have, or a token goes to")
    return {
        "parameters": counted.total,
        "active_parameters": counted.active,
        "experts": counted.experts,
        "experts_per_token": counted.experts_per_token,
    }


def _shape(config):
    """Layers, width and vocabulary."""
    f = config.fields
    if _is_header(f):
        width = f.whole("embedding_length", WIDTH)
        return config.layers, width, config.parameters.embedding // width
    row, sizes = DECODERS[config.model_type], Sizes(f.filled())
    return row.layers(sizes), sizes[HIDDEN], sizes[row.head_rows]


def _is_header(fields):
    """Whether these are the fields of a GGUF file."""
    return "block_count" in fields.table


def _check_that_each_layer_keeps_its_own(config, layers):
    """Refuse layers that attend to what others keep, and layers that a token passes more than once."""
    attending = sum(cache.layers for cache in config.caches)
    if attending > layers:
        raise Inexpressible("attention", f"{attending} times in {layers} layers", "a layer attends once to each token")
    idle = layers - attending - sum(state.layers for state in config.states)
    if idle > 0 and config.model_type not in FEED_FORWARD_ALONE:
        raise Inexpressible(
            "attention",
            f"{attending} of {layers} layers",
            f"{idle} more attend to what others keep, or to something else",
        )


def _attention(config, cache):
    """Layers of one kind, as a table of a scenario file."""
    heads = _of_latent(config, cache) if cache.kind == "latent" else _of_keys_and_values(cache)
    if heads["query_heads"] is None:
        raise Refused("query_heads", None, f"how many there are in {_said(cache)} is not known here")
    return {"layers": cache.layers, **heads, **({"window": cache.window} if cache.window else {})}


def _of_keys_and_values(cache):
    return {
        "query_heads": cache.query_heads,
        "kv_heads": cache.heads,
        "key_dim": cache.key_dim,
        "value_dim": cache.value_dim,
    }


def _of_latent(config, cache):
    """Heads that are rebuilt from a latent, one key and one value each."""
    f, rope = config.fields, cache.value_dim
    if _is_header(f):
        key, value = f.whole("attention.key_length_mla", WIDTH), f.whole("attention.value_length_mla", WIDTH)
    else:
        key, value = f.whole("qk_nope_head_dim", WIDTH) + rope, f.whole("v_head_dim", WIDTH)
    return {
        "query_heads": config.query_heads,
        "kv_heads": config.query_heads,
        "key_dim": key,
        "value_dim": value,
        "latent_rank": cache.key_dim,
        "rope_dim": rope,
    }


def _plain(text):
    """A text of one line without markup, which is what a scenario takes."""
    return re.sub(r"[<>`{}$|\\\[\]]", " ", _one_line(text)).strip() or "unnamed"


def _one_line(text):
    """A text without the characters that end a line, move a cursor or are halves."""
    return "".join(c if c.isprintable() else " " for c in text)


# The file


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario file.

    Parameters
    ----------
    tables : dict
        What it holds.
    remarks : tuple of str
        What stands above it as comments: what was assumed, and what was left out.
    """

    tables: dict
    remarks: tuple[str, ...]

    @property
    def text(self):
        """The file itself, as TOML."""
        comments = "".join(f"# {_one_line(remark)}\n" for remark in self.remarks)
        return f"{comments}\n{tomli_w.dumps(self.tables)}"


def scenario_file(
    config, *, accelerator=None, node=None, context=None, weights=None, weight_precision=None, kv_precision=None
):
    """A scenario file for a model: what it does not have stays as in the reference scenario.

    Parameters
    ----------
    config : ModelConfig
        As :func:`costlib.model_config.read` gives it.
    accelerator : str, optional
        Its name in the catalog.
    node : str, optional
        Its name in the catalog.
    context : Quantity [token], optional
        Context of a trajectory.
    weights : Quantity [byte], optional
        Size of all weights.
    weight_precision : Quantity [byte/parameter], optional
        Stored size of every weight; by default that of the format which the file declares.
    kv_precision : Quantity [byte/element], optional
        Stored size of an element of the cache; by default that of the format which the file declares.

    Returns
    -------
    ScenarioFile

    Raises
    ------
    Refused, InputError
        As :func:`as_model`; also if the file declares a quantisation, and the size of the weights is not given.
    """
    model = model_table(config)
    stored, remarks = _stored(config, weights, weight_precision)
    reference = scenario.load(scenario.REFERENCE)
    card = reference.accelerator if accelerator is None else catalog.part("accelerator", accelerator)
    precision = _precision(reference.precision, card, stored, kv_precision or config.kv_precision)
    workload, shortened = _workload(reference.workload, context)
    tables = {
        **({} if accelerator is None else {"accelerator": accelerator}),
        **({} if node is None else {"node": node}),
        "model": model,
        "precision": {**precision, "source": model["source"]},
        "reserve": {"weights": precision["weights"], "source": model["source"]},
        **({"workload": workload} if workload else {}),
    }
    said = [f"{model['title']}. What this file leaves out is as in the reference scenario.", *remarks, *shortened]
    said += [f"Assumed: {text}" for text in (*config.assumed(kv_precision), *_of_recurrent_state(config))]
    said += [f"Note: {text}" for text in (*config.notes, *_beyond(config, context or reference.workload.context))]
    return ScenarioFile(tables, tuple(said))


def _stored(config, size, precision):
    """Stored size of a weight, and what to say of it."""
    found = weights_of(config, size, precision)
    stored = found.precision or found.size / Quantity(float(config.parameters.total), "parameter")
    bits = show(stored.m_as("bit/parameter"), digits=5)
    if stored.m_as("bit/parameter") >= (widest := 2 * max(WIDTHS.values())):
        raise InputError(
            f"{config.name}: weights of {bits} bits each; wanted less than {widest} bits, "
            "by --weight-precision or --weights"
        )
    counted = f"{show(found.size, 'GB')} of weights, {found.source}: {bits} bits each on average"
    return stored, [f"Assumed: {text}" for text in found.assumptions] or [counted]


def _precision(reference, card, stored, kv_cache):
    """The precisions of a scenario; another arithmetic where weights are too wide for it, or the card has no rate."""
    bits = stored.m_as("bit/parameter")
    able = [name for name in card.arithmetics if bits < 2 * WIDTHS[name]]
    # A mean that is almost twice as wide is that of such weights: files lack a tensor, or a reader rounded their size.
    able = [name for name in able if bits < ALMOST * 2 * WIDTHS[name]] or able
    arithmetic = reference.arithmetic if reference.arithmetic in able or not able else able[0]
    return {
        "weights": _typed(stored, "byte/parameter"),
        **({} if arithmetic == reference.arithmetic else {"arithmetic": arithmetic}),
        "kv_cache": _typed(kv_cache, "byte/element"),
    }


def _workload(reference, context):
    """A context of so many tokens, and a tool result no longer than that; with what to say of it."""
    if context is None:
        return {}, []
    tokens = _typed(context, "token")
    if context >= reference.observation:
        return {"context": tokens}, []
    return {"context": tokens, "observation": tokens}, ["Assumed: a tool result as long as the context"]


def _beyond(config, context):
    """Whether the context is beyond what the model was made for."""
    if config.context_limit is not None and context.m_as("token") > config.context_limit:
        yield f"made for contexts of up to {config.context_limit:,} tokens; this one has {show(context, digits=15)}"


def _typed(value, unit):
    """A value in a unit as it stands in a file, to the last digit."""
    return f"{value.m_as(unit):.15g} {unit}"


def _of_recurrent_state(config):
    """What was taken for granted of states whose precision the file does not fix."""
    for state in config.states:
        if state.elements and not state.declared:
            bits = show(8 * state.precision)
            yield f"the recurrent state of {state.layers} × {state.kind} in {bits} bits, as the public code keeps it"
