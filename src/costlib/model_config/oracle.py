"""Hold what is read of every architecture against what its public code keeps: ``make oracle``.

Writes two files of this package anew: ``defaults.json``, what each
architecture's code takes for a field that a file omits, and ``oracle.csv``, the
comparison for the default configuration of every causal language model that
the installed transformers knows, and for the configurations named on the
command line. Needs the extra ``measure``.
"""

import csv
import dataclasses
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from costlib.model_config.config import ModelConfig
from costlib.model_config.families import FAMILIES
from costlib.model_config.measured import measured
from costlib.model_config.sources import NESTED, known, read_table
from costlib.schema import InputError
from costlib.units import Quantity

HERE = Path(__file__).parent
COLUMNS = ("model", "tokens", "measured", "read", "parameters", "verdict", "why")
# Defaults with which an architecture's own code does not run, completed.
COMPLETED = {
    **dict.fromkeys(["dots3_note", "dots3_note_text"], {"sliding_window": 512}),
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "fuyu": {"text_config": {"model_type": "persimmon"}},
    "got_ocr2": {"text_config": {"model_type": "qwen2"}},
    "moss_transcribe_diarize": {"text_config": {"model_type": "qwen3"}},
    "mllama": {
        "text_config": {"model_type": "mllama_text_model", "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]}
    },
    "marian": {"decoder_vocab_size": 58101, "pad_token_id": 58100},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "dbrx": {"attn_config": {"kv_n_heads": 8, "rope_theta": 500000.0, "clip_qkv": 8.0}},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "glm4_moe": {"head_dim": 128},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "nemotron_h": {"hybrid_override_pattern": "ME*E", "num_hidden_layers": 4},
    "bamba": {"attn_layer_indices": [9, 18, 27]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 16},
}


def main(arguments):
    """Write both files; say how it went."""
    write_defaults()
    tables = {name: default_of(name) for name in architectures()}
    tables |= {Path(path).stem.replace("--", "/"): json.loads(Path(path).read_text()) for path in arguments}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rows = [row for found in pool.map(compared, tables, tables.values()) for row in found]
    written = HERE / "oracle.csv.part"
    with written.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    written.replace(HERE / "oracle.csv")
    counts = Counter(verdicts().values())
    print("architectures:", ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts["wrong"] else 0


def architectures():
    """Every causal language model that the installed transformers knows."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def default_of(name):
    """The least that a configuration of this architecture can say."""
    return {"model_type": name, "dtype": "bfloat16", **COMPLETED.get(name, {})}


def compared(name, table):
    """The rows of one configuration: at several lengths, what is kept by its code, and as it is read."""
    try:
        config = read_table(table, name)
    except InputError as error:
        return [_reported([name, "", "", "", "", "refused", str(error)])]
    try:
        found = measured(table, lengths(config))
    except InputError as error:
        return [_reported([name, "", "", "", "", "not measured", str(error)])]
    rows = []
    for tokens in found.kept:
        counted, expected = found.bytes(tokens), int(as_the_code_keeps_it(config, tokens))
        verdict = "right" if counted == expected else "wrong"
        rows.append([name, tokens, counted, expected, found.parameters, verdict, ""])
    return [_reported(row) for row in rows]


def recorded():
    """The rows of the comparison, as it was last written."""
    return list(csv.DictReader((HERE / "oracle.csv").read_text(encoding="utf-8").splitlines()))


def verdicts():
    """What the comparison says of each architecture; one wrong length makes it wrong."""
    found = {}
    for row in recorded():
        if "/" not in row["model"] and found.get(row["model"]) != "wrong":
            found[row["model"]] = row["verdict"]
    return found


def lengths(config):
    """Lengths that tell one rule from another: short, some hundred tokens, and beyond each window."""
    beyond = {cache.window + 64 for cache in config.caches if cache.window}
    limit = config.context_limit or max(beyond, default=300)
    return sorted(length for length in {1, 33, 300, *beyond} if length <= limit)


def as_the_code_keeps_it(config: ModelConfig, tokens):
    """State in bytes, where a window of w keeps w - 1 tokens: the public code drops one before the next comes."""
    caches = tuple(
        replace(cache, window=cache.window - 1) if cache.window and cache.stride == 1 else cache
        for cache in config.caches
    )
    return replace(config, caches=caches).state(Quantity(tokens, "token")).m_as("byte")


def write_defaults():
    """Defaults, other names of fields, and the kinds of language models inside those that also see or hear."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    found = {"defaults": {}, "aliases": {}, "texts": {}}
    for name in sorted(CONFIG_MAPPING_NAMES):
        try:
            cls = CONFIG_MAPPING[name]
        except (ImportError, AttributeError, KeyError):  # belongs to a package that is not installed
            continue
        if name in FAMILIES:
            found["defaults"][name] = _defaults(cls) | KEYWORDS.get(name, {})
            found["aliases"][name] = _aliases(cls)
        inner = [(cls.sub_configs or {}).get(key) for key in NESTED]
        text = next((sub.model_type for sub in inner if getattr(sub, "model_type", None)), None)
        if text and text != name:
            found["texts"][name] = text
    (HERE / "defaults.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    known.cache_clear()


def _defaults(cls):
    """Plain values that the class declares for its fields."""
    from transformers import PreTrainedConfig

    general = {field.name for field in dataclasses.fields(PreTrainedConfig)}
    values = {}
    for field in dataclasses.fields(cls):
        value = field.default_factory() if callable(field.default_factory) else field.default
        value = list(value) if isinstance(value, tuple) else value
        if isinstance(value, bool | int | float | str | list) and (field.name not in general or _own(cls, field.name)):
            values[field.name] = value
    return values


# Defaults that are no fields of the class: its code takes them where a file omits a keyword.
KEYWORDS = {"gemma4_text": {"global_head_dim": 512}, "gemma4_unified_text": {"global_head_dim": 512}}


def _own(cls, name):
    """Whether the class itself says what the field is by default, rather than the one that all derive from."""
    return name in cls.__dict__ and name not in ("dtype", "return_dict")


def _aliases(cls):
    names = {}
    for one, other in (cls.attribute_map or {}).items():
        if isinstance(other, str):
            names.setdefault(one, []).append(other)
            names.setdefault(other, []).append(one)
    return names


def _reported(row):
    print(*row[:6], row[6][:100], sep="  ", file=sys.stderr, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
