"""Writes tests/parameters-built.json: what the public model code has of weights, for configurations of every family.

    python tests/build_parameters.py

It needs torch and transformers. Every model is built on torch's meta device,
which allocates nothing, from the default configuration of its family and from
others: each field that changes the count changed by itself, and several at once.
"""

import contextlib
import json
import random
import signal
import warnings
from pathlib import Path

from costlib.model_config.parameter_table import DECODERS

BUILT = Path(__file__).with_name("parameters-built.json")
LAYERS = 8  # enough for every pattern of layers
TOGETHER = 4  # configurations of a family in which several fields differ

# What a default configuration needs to be built, or to be one of a model that runs.
NEEDED = {
    "cohere_compass_text": {"rope_parameters": None},
    "deepseek_v2": {"num_experts_per_tok": 6, "first_k_dense_replace": 1},
    "dots1": {"n_routed_experts": 16, "n_shared_experts": 2, "num_experts_per_tok": 4, "first_k_dense_replace": 1},
    "gemma3n_text": {"num_hidden_layers": 10, "num_kv_shared_layers": 4},
    "gemma4_text": {"enable_moe_block": True, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 64},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 8, "moe_topk": 2},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 2, "num_hidden_layers": 8},
    "lfm2": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 2, "num_hidden_layers": 8},
    "ministral": {"head_dim": 128},
    "nemotron": {"head_dim": 128, "num_key_value_heads": 8},
    "nemotron_h": {"moe_latent_size": 1024},
    "bamba": {"attn_layer_indices": [2, 5]},
    "granitemoehybrid": {"layer_types": ["mamba", "mamba", "attention", "mamba"] * 2, "num_hidden_layers": 8},
    "minimax_m3_vl_text": {"num_hidden_layers": 8, "layer_types": ["full_attention", "minimax_m3_sparse"] * 4},
    "gpt_neo": {"num_layers": 24},
    "zamba2": {"num_hidden_layers": 54},
    "deepseek_v4": {
        "num_hidden_layers": 8,
        "layer_types": [
            "sliding_attention",
            "sliding_attention",
            "compressed_sparse_attention",
            "heavily_compressed_attention",
        ]
        * 2,
    },
}
# Fields whose place a default leaves empty, but that some models of a family fill.
FILLED = {"head_dim": 48, "num_key_value_heads": 4, "q_lora_rank": 96, "moe_latent_size": 96, "n_inner": 96}
ADDED = {"head_dim": 48, "num_key_value_heads": 4}  # tried even where a family has no place for them
# Families that are built only with what feeds them images, and weights that are not of the text model.
WRAPPED = {
    "qwen2_vl_text": "qwen2_vl",
    "qwen2_5_vl_text": "qwen2_5_vl",
    "qwen3_vl_text": "qwen3_vl",
    "qwen3_vl_moe_text": "qwen3_vl_moe",
    "mllama_text_model": "mllama",
}
ASIDE = ("vis", "audio", "embed_tokens_extend", "multi_modal_projector")
CHOSEN = ("num_experts_per_tok", "moe_topk", "moe_k", "top_k_experts")


def build(family, changed):
    """A model's configuration, its weights, and those that one token passes through."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    wrapper = WRAPPED.get(family)
    tied = {"tie_word_embeddings": changed.get("tie_word_embeddings", False)}
    whole = CONFIG_MAPPING[wrapper](text_config=changed, **tied) if wrapper else CONFIG_MAPPING[family](**changed)
    if hasattr(whole, "is_decoder"):
        whole.is_decoder = True
    signal.alarm(20)  # some sizes make the code loop
    with torch.device("meta"):
        model = (AutoModelForImageTextToText if wrapper else AutoModelForCausalLM).from_config(whole)
    signal.alarm(0)
    config = whole.get_text_config() if wrapper else whole
    fields = config.to_dict() | (tied if wrapper else {})
    weights = {name: p for name, p in model.named_parameters() if not any(tower in name for tower in ASIDE)}
    total = sum(p.numel() for p in weights.values())
    chosen = next((k for name in CHOSEN if isinstance(k := getattr(config, name, None), int)), None)
    routed = [p for name, p in weights.items() if is_expert(family, name, p)]
    idle = sum(p.numel() - p.numel() // p.shape[0] * chosen for p in routed) if chosen else 0
    return fields, total, None if family == "longcat_flash" or (routed and not chosen) else total - idle


def is_expert(family, name, weight):
    """Whether these are the weights of experts that a router chooses from, an expert a row."""
    if family == "jetmoe":
        return name.endswith(("input_linear.weight", "output_linear.weight"))
    return ".experts." in name and weight.dim() > 1


def variants(family, config, read):
    """Changes of one field, then of several, of those that the family's row reads."""
    single = {}
    for name in sorted(read):
        value = config.get(name)
        if isinstance(value, bool):
            single[name] = [not value]
        elif isinstance(value, int) and name != "num_hidden_layers":
            single[name] = [2 * value if value else 1, value + 1]
        elif value is None and (name in FILLED and name in config or name in ADDED):
            single[name] = [FILLED[name] if name in config else ADDED[name]]
        elif isinstance(value, list) and len(set(map(str, value))) > 1 and isinstance(value[0], str):
            single[name] = [value[::-1]]
    yield from ({name: value} for name, values in single.items() for value in values)
    chance = random.Random(family)
    names = sorted(single)
    for _ in range(TOGETHER if names else 0):
        some = chance.sample(names, min(len(names), 5))
        yield {name: chance.choice(single[name]) for name in some}


def rows(family):
    """The default configuration of a family and the others, with what they have of weights."""
    needed = dict(NEEDED.get(family, {}))
    try:
        config, total, active = build(family, needed)
        depth = next((n for n in ("num_hidden_layers", "n_layer", "n_layers", "num_layers") if n in config), None)
        if depth and depth not in needed and (config[depth] or 0) > LAYERS:
            needed[depth] = LAYERS
            config, total, active = build(family, needed)
    except Exception as reason:
        print(family, "is not built:", type(reason).__name__, str(reason)[:100])
        return None
    read = fields_read(config | {"model_type": family})
    others = []
    for changed in variants(family, config, read):
        try:
            other, *weights = build(family, needed | changed)
        except Exception:  # sizes that do not go together
            continue
        finally:
            signal.alarm(0)
        others.append((other, *weights))
    read = read.union(*(fields_read(other | {"model_type": family}) for other, *_ in others))
    base = {name: config[name] for name in sorted(read) if config.get(name) is not None}
    return {"fields": base, "total": total, "active": active, "others": [row(base, read, *other) for other in others]}


def row(base, read, config, total, active):
    """What a configuration has, and where it differs from the default."""
    differs = {name: config[name] for name in sorted(read) if name in config and config[name] != base.get(name)}
    return {"differs": differs, "total": total, "active": active}


def fields_read(fields):
    """The fields that a family's row reads, whatever they are called in this configuration."""
    from costlib.model_config.parameter_blocks import ALIASES, Sizes, Unknown

    model = Sizes(fields)
    row = DECODERS[fields["model_type"]]
    for count in (row.total, row.active):
        with contextlib.suppress(Unknown):  # then what it has read so far
            count(model)
    names = set(model.consulted) | {row.depth}
    return {other for name in names for other in (name, *ALIASES.get(name, ()))}


def main():
    """Build every family, and write what was found."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()

    def give_up(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    families = {}
    for family in sorted(DECODERS):
        if (family in CAUSAL or family in WRAPPED) and (found := rows(family)):
            families[family] = found
            print(family, found["total"], len(found["others"]), flush=True)
    built = {"transformers": transformers.__version__, "families": families}
    text = (
        json.dumps(built, separators=(",", ":"))
        .replace('{"fields"', '\n{"fields"')
        .replace('{"differs"', '\n{"differs"')
    )
    BUILT.write_text(text + "\n")


if __name__ == "__main__":
    main()
