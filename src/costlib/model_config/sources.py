"""From a file, a folder, standard input or a repository's name to what a model keeps."""

import json
import os
import re
import sys
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

from costlib import catalog
from costlib.model_config.config import CACHE_UNDECLARED, QUANTISATION, ModelConfig
from costlib.model_config.families import FAMILIES, kept_layers
from costlib.model_config.fields import TOKENS, Fields, Refused
from costlib.model_config.parameters import Unknown, parameters
from costlib.model_config.precision import SPELLINGS
from costlib.schema import InputError, nearest
from costlib.units import Quantity, show

__all__ = ["name_of", "parsed", "read", "read_table", "table_of"]

LARGEST_FILE = 16 * 2**20  # bytes; the longest published config.json has some 100 kB
NESTED = ("text_config", "language_config", "llm_config", "thinker_config", "decoder")
# Architectures that see, of which files without a text_config are published.
FLAT = ("dots3_note", "hunyuan_vl", "paddleocr_vl", "qwen2_vl", "qwen2_5_vl", "step3p7")
SENSES = ("vision_config", "audio_config")
FROM_TOP = ("dtype", "torch_dtype", *QUANTISATION, "tie_word_embeddings")


def read(source, assume=()):
    """A model as its configuration describes it.

    Parameters
    ----------
    source : path-like or str
        A ``config.json``, a folder that holds one, ``-`` for standard input, a
        GGUF file, or the name of a repository such as ``Qwen/Qwen3-8B``, which
        is looked up in the local cache of Hugging Face and fetched where
        ``huggingface_hub`` is installed.
    assume : iterable of str
        Assumptions, ``FIELD=VALUE``, that stand in for what the file says; they stand beside the result.

    Returns
    -------
    ModelConfig

    Raises
    ------
    InputError
        If the source cannot be read, or a field has an impossible value: with field, value and what is wanted.
    Refused
        If it says something that is not understood: which field, why it matters, the answer with and without it.

    Notes
    -----
    Exact for what the architecture's public code keeps: a test compares the
    default configuration of every causal language model of Hugging Face's
    transformers with what that code keeps.

    References
    ----------
    Wolf et al. (2020), doi:10.18653/v1/2020.emnlp-demos.6

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> config = {"model_type": "llama", "num_hidden_layers": 80, "num_attention_heads": 64,
    ...           "num_key_value_heads": 8, "hidden_size": 8192, "dtype": "bfloat16"}
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "config.json")
    >>> _ = file.write_text(json.dumps(config))
    >>> show(read(file).bytes_per_token(), digits=6)
    '327,680 B/token'
    >>> folder.cleanup()
    """
    if str(source).lower().endswith(".gguf"):
        from costlib.model_config.gguf import read_gguf

        return read_gguf(_found(Path(source)), assume)
    table, where, name = table_of(source)
    config = read_table(table, where, assume, name)
    return replace(config, weights=None if str(source) == "-" else _weights_beside(Path(where)))


def table_of(source):
    """What a source other than a GGUF file holds, how messages call it, and what to call the model."""
    if str(source) == "-":
        if sys.stdin is None:
            raise InputError("standard input: is closed")
        content = sys.stdin.buffer.read(LARGEST_FILE + 1)
        return parsed(content, "standard input"), "standard input", None
    if str(source).lower().endswith(".gguf"):
        raise InputError(f"{source}: a GGUF file; wanted the config.json of the model")
    path = _found(Path(source))
    return _with_its_quantisation(parsed(_bytes(path), str(path)), path), str(path), name_of(path)


def _with_its_quantisation(table, path):
    """NVIDIA's quantiser writes what it did into a file of its own, beside the configuration."""
    beside = path.with_name("hf_quant_config.json")
    if path.name != "config.json" or not isinstance(table, dict) or not beside.is_file():
        return table
    said = parsed(_bytes(beside), str(beside))
    said = said.get("quantization") if isinstance(said, dict) else None
    if not isinstance(said, dict):
        raise InputError(f"{beside}: has no quantization; wanted what was done to the model")
    return {"quantization_config": {"quant_method": "modelopt", **said}, **table}


def read_table(table, where, assume=(), name=None):
    """A model as the fields of its configuration describe it; as :func:`read`, of what a file holds.

    Parameters
    ----------
    table : dict
        What a ``config.json`` holds.
    where : str
        How messages call it.
    assume : iterable of str
        As in :func:`read`.
    name : str, optional
        What to call the model where the file does not say.

    Returns
    -------
    ModelConfig

    Raises
    ------
    InputError, Refused
        As :func:`read`.
    """
    if not isinstance(table, dict):
        raise InputError(f"{where}: has no fields; wanted those of a model, in braces")
    text = unnested(table, where)
    before = dict(text)
    assumed = [assume_field(text, item) for item in assume]
    model_type = text.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        said = "is missing" if model_type is None else f"= {model_type!r}"
        raise InputError(f"{where}: model_type {said}; wanted the name of an architecture")
    if model_type not in FAMILIES:
        close = nearest(model_type, FAMILIES).partition("Valid")[0]
        raise Refused(
            "model_type",
            model_type,
            f"how this architecture stores its state is not known here; {close}"
            "what is like an architecture that is known can be read as that one: --assume model_type=llama",
        )
    family = FAMILIES[model_type]
    aliases = {"dtype": ("torch_dtype",), **known()["aliases"].get(model_type, {}), **family.names}
    f = Fields(text, where, known()["defaults"].get(model_type), aliases)
    caches, states = kept_layers(family, f)
    _note_what_is_not_counted(f)
    if any(table.get(key) for key in (*NESTED, *SENSES)) or _of_text(table.get("model_type")) != table.get(
        "model_type"
    ):
        f.note("the language model alone; the weights of what sees or hears beside it are not counted")
    config = ModelConfig(
        name=_name_in(table) or name or where,
        model_type=model_type,
        caches=caches,
        states=states,
        layers=sum(one.layers for one in (*caches, *states)),
        kv_format=kv_format(f),
        context_limit=_context_limit(f.table),
        query_heads=_one(f.get("num_attention_heads")),
        parameters=_counted(f),
        notes=tuple(f.notes),
        fields=f,
    )
    f.refuse_what_was_overlooked(lambda field, value: answers(config, field, value))
    for name in sorted(set(text) - set(before) - f.consulted):
        raise InputError(f"assume {name}: nothing is read from a field of that name in {model_type}")
    return replace(config, assumptions=(*assumed, *f.assumptions.values()))


def _counted(f):
    """How many weights the model has; None, and a note why, where that is not known."""
    try:
        return parameters(f.filled())
    except Unknown as reason:
        f.note(f"its weights are not counted: {reason}")
        return None


def _note_what_is_not_counted(f):
    """Layers that predict further tokens, and sources that a decoder attends to."""
    f.see("mtp_hybrid_override_pattern", "mtp_layers_block_type", "mtp_hidden_states_first", "mtp_local_layer_ids")
    count = next(
        (n for name in PREDICTORS if (n := f.optional(name, (0, 100)))),
        0,
    )
    if count:
        layers = f"{count} more layers predict" if count > 1 else "one more layer predicts"
        f.note(f"{layers} further tokens; an engine that speculates so keeps state there too")
    if f.flag("is_encoder_decoder") | f.flag("add_cross_attention"):
        f.note("the decoder alone; it also keeps keys and values of each token that an encoder gives it")


PREDICTORS = (
    "num_nextn_predict_layers",
    "mtp_num_hidden_layers",
    "mtp_transformer_layers",
    "num_mtp_layers",
    "num_mtp_modules",
)
CONTEXT_LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "n_ctx")


def _context_limit(table):
    """Tokens for which the model was made."""
    given = (table.get(name) for name in CONTEXT_LIMITS)
    return next((n for n in given if type(n) is int and TOKENS[0] <= n <= TOKENS[1]), None)


CACHE_ALGORITHMS = {"FP8": "fp8", "NVFP4": "nvfp4"}


def _said_of_the_cache(table):
    """What a table of quantisation says of keys and values, wherever in it."""
    if not isinstance(table, dict):
        return {}
    found = {}
    for name, value in table.items():
        if re.search(r"(^|_)kv(_|$)|cache", name.lower()) and value not in (None, False, [], {}):
            found[name] = value
        else:
            found |= _said_of_the_cache(value)
    return found


def kv_format(f):
    """The format of the cache that the file declares, or else that of the model's numbers."""
    said = {}
    for name in QUANTISATION:
        said |= _said_of_the_cache(f.get(name))
    scheme, algorithm = said.pop("kv_cache_scheme", None), said.pop("kv_cache_quant_algo", None)
    if said:
        name, value = next(iter(said.items()))
        raise Refused(f"quantization_config.{name}", value, "the size of an element of the cache hangs on it")
    if isinstance(scheme, dict):  # {"num_bits": 8, "type": "float", "strategy": "tensor", ...}
        plain = scheme.get("type") == "float" and scheme.get("strategy") in (None, "tensor", "channel")
        scheme = f"FP{scheme.get('num_bits')}" if plain else scheme
    found = {str(one) for one in (scheme, algorithm) if one is not None}
    if found:
        if len(found) > 1 or not found <= set(CACHE_ALGORITHMS):
            given = " and ".join(sorted(found))
            raise Refused("quantization_config", given, "the size of an element of the cache hangs on it")
        return CACHE_ALGORITHMS[found.pop()]
    declared = f.text("dtype")
    if declared is None:
        f.assumptions["dtype"] = CACHE_UNDECLARED
        return "bf16"
    if declared not in SPELLINGS:
        raise Refused("dtype", declared, "the size of an element of the cache hangs on it")
    return SPELLINGS[declared]


def answers(config, name, value):
    """What would be kept if a field that nobody reads were heeded, and what is kept without it."""
    without = f"{show(config.bytes_per_token(), 'B/token', 9)}, growing with the context"
    if isinstance(value, int) and ("window" in name or "chunk" in name):
        return f"at most {value:,} tokens in every layer that attends", without
    if isinstance(value, int) and "shared" in name:
        return f"{value} layers fewer", without
    return None, without


def unnested(table, where):
    """The fields of the language model: nested under a name in configurations that also have eyes or ears."""
    given = [key for key in NESTED if table.get(key) is not None]
    if len(given) > 1 and "text_config" in given[:1] and given[1] != "decoder":
        raise InputError(f"{where}: {given[0]} and {given[1]}; wanted one language model")
    for key in NESTED:
        inner = table.get(key)
        if inner is None:
            continue
        if not isinstance(inner, dict):
            raise InputError(f"{where}: {key} = {inner!r}; wanted a table")
        said = {name: value for name, value in inner.items() if value is not None or name not in FROM_TOP}
        text = {**_from_top(table, inner), **said}
        if any(inner.get(deeper) is not None for deeper in NESTED):
            return unnested(text, f"{where}: {key}")
        if text.get("model_type") is None:
            text["model_type"] = _of_text(table.get("model_type"))
        return text
    model_type = table.get("model_type")
    if _of_text(model_type) != model_type and model_type not in FLAT and "num_hidden_layers" in table:
        raise Refused(
            "text_config",
            None,
            f"in {model_type} the fields of the language model stand there; without it, its code takes defaults",
        )
    return {**table, "model_type": _of_text(model_type)}


def _from_top(table, inner):
    """What holds for the whole model, unless the language model says otherwise, under either name of it."""
    outer = {name: table[name] for name in FROM_TOP if name in table and inner.get(name) is None}
    if inner.get("dtype") or inner.get("torch_dtype"):
        outer = {name: value for name, value in outer.items() if "dtype" not in name}
    return outer


def _of_text(model_type):
    """The architecture of the language model inside one that also sees or hears."""
    return known()["texts"].get(model_type, model_type) if isinstance(model_type, str) else model_type


def assume_field(text, item):
    """Lay an assumption over the fields; how it is reported."""
    name, equals, value = item.partition("=")
    if not equals or not name:
        raise InputError(f"assume = {item!r}; wanted FIELD=VALUE, such as sliding_window=null")
    said = f"; the file has {json.dumps(text[name])[:60]}" if name in text else ""
    try:
        text[name] = json.loads(value)
    except (ValueError, RecursionError):
        text[name] = value
    return f"{name} = {value}, assumed{said}"


@cache
def known():
    """Of each architecture: what its public code takes for a field that a file omits, and the fields' other names."""
    return json.loads(resources.files("costlib.model_config").joinpath("defaults.json").read_text())


def _weights_beside(path):
    """What the weights take whose files lie beside a configuration: as their index says, or else by their sizes."""
    if path.name != "config.json":
        return None
    index = path.with_name("model.safetensors.index.json")
    if index.is_file():
        table = parsed(_bytes(index), str(index))
        metadata = table.get("metadata") if isinstance(table, dict) else None
        total = metadata.get("total_size") if isinstance(metadata, dict) else None
        if type(total) is not int or total <= 0:
            raise InputError(f"{index}: total_size = {total!r}; wanted a number of bytes")
        return Quantity(float(total), "byte")
    files = [file for file in path.parent.glob("model*.safetensors") if file.is_file()]
    parts = {found[1] for file in files if (found := re.search(r"-of-(\d+)\.safetensors$", file.name))}
    if not files or (parts and parts != {f"{len(files):05}"}):  # none, or not all of them
        return None
    return Quantity(float(sum(file.stat().st_size for file in files)), "byte")


def _found(path):
    """The file that a path, or the name of a repository, stands for."""
    within = path / "config.json"
    try:
        if within.is_file():
            return within
        folder, there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:  # a name that is too long, or has a zero in it
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if folder:
        raise InputError(f"{path}: is a folder without config.json; wanted one that holds it, or a file")
    if there or path.suffix in (".json", ".gguf"):
        return path
    if len(path.parts) == 2 and not path.is_absolute():
        return _in_hub(str(path))
    raise InputError(f"{path}: {_not_found(str(path).lower())}")


def _not_found(name):
    """What is wanted in the place of what is no file; of a model of the catalog also who takes it."""
    wanted = "a file, a folder, '-' or the name of a repository, as in Qwen/Qwen3-8B"
    if name not in catalog.names("model"):
        return f"not found; wanted {wanted}"
    origin = catalog.part("model", name).origin["attention"]
    return (
        "a model of the catalog, which has less of it than is needed here; costlib show takes it, as "
        f'model = "{name}" in a scenario. Wanted {wanted}; the catalog has it from {origin.title}, {origin.address}'
    )


def _in_hub(repository):
    """A repository's config.json: from the local cache, or else from its host."""
    home = os.environ.get("HF_HUB_CACHE") or Path(os.environ.get("HF_HOME") or "~/.cache/huggingface", "hub")
    folder = Path(home) / ("models--" + repository.replace("/", "--"))
    try:
        folder = folder.expanduser()
        revision = (folder / "refs" / "main").read_text().strip()
    except (OSError, RuntimeError):
        revision = ""
    if revision and (folder / "snapshots" / revision / "config.json").is_file():
        return folder / "snapshots" / revision / "config.json"
    try:
        import huggingface_hub as hub
        from huggingface_hub import errors
    except ImportError:
        raise InputError(
            f"{repository}: no such file, and not in the local cache of Hugging Face; "
            "to fetch it, install the extra hub: pip install '.[hub]' in costlib's folder"
        ) from None
    said = {
        errors.GatedRepoError: "its owner gives it to those who ask; log in by 'hf auth login', or save the file",
        errors.RepositoryNotFoundError: "there is no such repository, or it is private",
        errors.RemoteEntryNotFoundError: "the repository has no config.json",
    }
    try:
        # Asked once: a download asks a host that it cannot reach six times, for half a minute.
        hub.get_hf_file_metadata(hub.hf_hub_url(repository, "config.json"))
        return Path(hub.hf_hub_download(repository, "config.json"))
    except Exception as error:  # its own, the network's, the disk's
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = next((text for kind, text in said.items() if isinstance(error, kind)), lines[0])
        raise InputError(
            f"{repository}: not in the local cache of Hugging Face, nor fetched from {hub.constants.ENDPOINT}: {reason}"
        ) from None


def _bytes(path):
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def parsed(content, where):
    """What the bytes of a JSON file hold; how messages call the file."""
    if len(content) > LARGEST_FILE:
        raise InputError(f"{where}: more than {LARGEST_FILE >> 20} MiB; wanted a model's config.json")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where}: is not text; wanted a model's config.json, or a file that ends in .gguf") from None
    if not text.strip():
        raise InputError(f"{where}: is empty; wanted a model's config.json")
    if _is_deep(text):
        raise InputError(f"{where}: is nested more than {DEEPEST} deep; wanted a model's config.json")
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, where))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: is not JSON: {error}; wanted a model's config.json") from None


DEEPEST = 60
BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)  # and whole texts, whose brackets are none


def _is_deep(text):
    """Whether lists and tables are nested too deep; seen before they are read, which would end Python in a browser."""
    level = 0
    for bracket in BRACKETS.finditer(text) if text.count("{") + text.count("[") > DEEPEST else ():
        level += {"[": 1, "{": 1, "]": -1, "}": -1}.get(bracket[0], 0)
        if level > DEEPEST:
            return True
    return False


def _unique(pairs, where):
    table = {}
    for name, value in pairs:
        if name in table:
            raise InputError(f"{where}: {name!r} stands twice")
        table[name] = value
    return table


def name_of(path):
    """A model's name, from where its file lies."""
    names = [part for part in path.parts[::-1] if part.startswith("models--")]
    stem = names[0].removeprefix("models--") if names else path.stem if path.stem != "config" else path.parent.name
    return stem.replace("--", "/")


def _name_in(table):
    """The name that the file itself gives; not where its author kept it."""
    name = table.get("_name_or_path")
    return name if isinstance(name, str) and not name.startswith(("/", ".")) else None


def _one(value):
    """A number that holds for every layer."""
    return value if type(value) is int else None
