"""Exact counts of weights: against what the public model code builds, and against what is published of models."""

import json
from functools import cache
from pathlib import Path

import pytest
from build_parameters import NEEDED, WRAPPED

from costlib.model_config.fields import Fields
from costlib.model_config.parameter_blocks import ALIASES, DEPTH
from costlib.model_config.parameter_table import DECODERS
from costlib.model_config.parameters import Parameters, Unknown, parameters
from costlib.model_config.sources import known

HERE = Path(__file__).parent
# Built by tests/build_parameters.py.
BUILT = json.loads((HERE / "parameters-built.json").read_text())["families"]
# Fields of the configurations at https://huggingface.co/<model>/blob/main/config.json, of the text model alone, with
# the total that transformers 5.24 builds from them; of Nemotron-NAS, which it does not build, see PRINTED.
PUBLISHED = json.loads((HERE / "parameters-published.json").read_text())
MODELS = {model: row["fields"] for row in PUBLISHED for model in row["models"]}

# What publishers print of models: in billions, all weights; and those active, without the table of tokens.
PRINTED = [
    ("openai/gpt-oss-120b", "116.83", "5.13", "https://arxiv.org/abs/2508.10925"),
    ("openai/gpt-oss-20b", "20.91", "3.61", "https://arxiv.org/abs/2508.10925"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "31.6", "3.2", "https://arxiv.org/abs/2512.20848"),
    ("deepseek-ai/DeepSeek-V3", "671", "37", "https://arxiv.org/abs/2412.19437"),
    ("mistralai/Mixtral-8x7B-v0.1", "47", "13", "https://arxiv.org/abs/2401.04088"),
    ("Qwen/Qwen3-0.6B", "0.6", "0.44", "https://huggingface.co/Qwen/Qwen3-0.6B"),
    ("Qwen/Qwen3-1.7B", "1.7", "1.4", "https://huggingface.co/Qwen/Qwen3-1.7B"),
    ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "49.9", None, "https://huggingface.co/nvidia/Llama-3_3-Nemotron-Super-49B-v1"),
]  # fmt: skip


def configurations(family):
    """The default of a family and its variants, each with what it has of weights."""
    built = BUILT[family]
    base = built["fields"] | {"model_type": family}
    yield base, built["total"], built["active"]
    for other in built["others"]:
        yield base | other["differs"], other["total"], other["active"]


def answer(fields):
    """What is counted, or why nothing is."""
    try:
        return parameters(fields)
    except Unknown as reason:
        return str(reason)


@cache
def answers(family):
    """Every configuration of a family, with its weights as built and the answer here."""
    return [(fields, (total, active), answer(fields)) for fields, total, active in configurations(family)]


def billions(weights, printed):
    """A count as it would be printed."""
    return f"{weights / 1e9:.{len(printed.partition('.')[2])}f}"


@pytest.mark.parametrize("family", BUILT)
def test_the_count_is_that_of_the_public_code_or_none(family):
    for fields, built, counted in answers(family):
        assert isinstance(counted, str) or (counted.total, counted.active) == built, fields


@pytest.mark.parametrize("family", BUILT)
def test_the_default_of_no_family_is_refused(family):
    assert isinstance(answers(family)[0][2], Parameters)


def test_few_configurations_are_refused():
    """Those whose sizes contradict each other, and those that the public code builds as no model is."""
    counted = [counted for family in BUILT for _, _, counted in answers(family)]
    refused = [reason for reason in counted if isinstance(reason, str)]
    reasons = ("do not make up", "is not qk_nope", "does not tie", "ties the shared", "experts", "MPT with 4")
    assert [reason for reason in refused if not any(known in reason for known in reasons)] == []
    assert len(refused) / len(counted) < 0.05


@pytest.mark.parametrize("family", BUILT)
def test_what_a_file_leaves_out_is_refused_or_what_the_public_code_takes(family):
    """One field after the other, except those of which the configuration here says more than the default."""
    fields, (total, _), _ = answers(family)[0]
    aliases = known()["aliases"].get(family, {})
    said = {"model_type", DECODERS[family].depth, DEPTH, *ALIASES[DEPTH], *NEEDED.get(family, {})}
    if family in WRAPPED:  # what is around the text model says it
        said.add("tie_word_embeddings")
    for name in fields.keys() - said:
        others = {other for other in (name, *aliases.get(name, ()))}
        left = {other: value for other, value in fields.items() if other not in others}
        counted = answer(Fields(left, family, known()["defaults"].get(family), aliases).filled())
        assert isinstance(counted, str) or counted.total == total, name


def test_nearly_every_family_is_checked():
    """The others are built by code that is not in transformers, or are another family under another name."""
    assert sorted(DECODERS.keys() - BUILT.keys()) == ["emu3_text_model", "kimi_k2", "mimo", "nemotron-nas"]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["models"][0])
def test_published_models_count_as_the_public_code_builds_them(row):
    assert parameters(row["fields"]).total == row["total"]


@pytest.mark.parametrize(("model", "total", "active", "source"), PRINTED, ids=lambda value: value)
def test_published_models_count_as_they_are_printed(model, total, active, source):
    counted = parameters(MODELS[model])
    assert billions(counted.total, total) == total
    if active:
        assert billions(counted.active - counted.embedding, active) == active


MISTRAL = {
    "model_type": "mistral",
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 12,
    "vocab_size": 20,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
}


def test_a_model_small_enough_to_count_by_hand():
    attention = 8 * 8 + 2 * 8 * 4 + 8 * 8
    layer = attention + 3 * 8 * 12 + 2 * 8
    assert parameters(MISTRAL) == Parameters(2 * layer + 8 + 20 * 8, 2 * layer + 8 + 20 * 8, 20 * 8, 0)


def test_tied_embeddings_count_once():
    untied = parameters(MISTRAL | {"tie_word_embeddings": False})
    assert untied.total - parameters(MISTRAL).total == untied.embedding == 160


def test_a_dense_model_is_active_in_full():
    counted = parameters(MISTRAL)
    assert counted.active == counted.total


MIXTRAL = MISTRAL | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}


def test_the_experts_that_are_not_chosen_are_not_active():
    counted = parameters(MIXTRAL)
    assert counted.total - counted.active == 2 * 2 * (3 * 8 * 12)


def test_without_the_number_chosen_the_active_are_unknown():
    del (fields := dict(MIXTRAL))["num_experts_per_tok"]
    assert parameters(fields) == Parameters(parameters(MIXTRAL).total, None, 160, 0)


def test_layers_that_predict_are_apart():
    """One of DeepSeek-V3: a layer with its experts, two norms and one after it, and what joins state and embedding."""
    fields = MODELS["deepseek-ai/DeepSeek-V3"]
    counted, without = parameters(fields), parameters(fields | {"num_nextn_predict_layers": 0})
    assert counted.total == without.total
    assert without.predictors == 0
    experts = 257 * 3 * 7168 * 2048 + 256 * 7168
    attention = 7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 + 512 * 128 * 256 + 128 * 128 * 7168
    assert counted.predictors == experts + attention + 2 * 7168 + 2 * 7168 * 7168 + 3 * 7168


def test_layers_that_predict_are_unknown_where_their_shape_is():
    assert parameters(MISTRAL | {"num_nextn_predict_layers": 1}).predictors is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_type": "no such"}, "model_type = 'no such'"),
        ({"model_type": None}, "model_type = None"),
        ({"hidden_size": None}, "hidden_size is not given"),
        ({"hidden_size": -8}, "hidden_size = -8 is no whole number"),
        ({"hidden_size": 8.5}, "hidden_size = 8.5 is no whole number"),
        ({"hidden_size": "8"}, "hidden_size = '8' is no whole number"),
        ({"hidden_size": 8, "n_embd": 16}, "names of the same size"),
        ({"intermediate_size": [12, 12, 12]}, "3 values for 2 layers"),
        ({"hidden_act": "xielu"}, "hidden_act = 'xielu'"),
        ({"is_encoder_decoder": True}, "has an encoder"),
        ({"moe_latent_size": 4}, "moe_latent_size = 4 tells of weights"),
        ({"add_cross_attention": True}, "add_cross_attention = True tells of weights"),
        ({"num_attention_heads": 0}, "a size is zero"),
        ({"num_hidden_layers": 10**8}, "100000000 layers"),
        ({"vocab_size": 10**10}, "no whole number up to"),
        ({"per_layer_config": [1]}, "per_layer_config = [1] is no part"),
        ({"per_layer_config": {"1": 5}}, "per_layer_config of layer 1 is 5"),
    ],
)
def test_what_is_not_understood_is_refused(change, reason):
    assert reason in str(answer(MISTRAL | change))


def test_more_experts_cannot_be_chosen_than_there_are():
    assert "num_experts_per_tok = 5 of 4 experts" in answer(MIXTRAL | {"num_experts_per_tok": 5})


def test_a_size_can_differ_by_layer():
    """As Gemma 3n's feed-forwards do, or by what the configuration says of one layer alone."""
    wider = parameters(MISTRAL | {"intermediate_size": [12, 14]})
    assert wider.total - parameters(MISTRAL).total == 3 * 8 * 2
    assert parameters(MISTRAL | {"per_layer_config": {"1": {"intermediate_size": 14}}}) == wider


def test_a_mixture_ends_each_period():
    fields = BUILT["qwen3_moe"]["fields"] | {"model_type": "qwen3_moe", "intermediate_size": 96}
    dense = [layer for layer in range(fields["num_hidden_layers"]) if layer % 3 != 2]
    listed = parameters(fields | {"decoder_sparse_step": 1, "mlp_only_layers": dense})
    assert parameters(fields | {"decoder_sparse_step": 3}) == listed
    assert listed.total < parameters(fields | {"decoder_sparse_step": 1}).total
