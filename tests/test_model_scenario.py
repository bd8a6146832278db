"""From a model's file to a scenario: the same state to the byte, the catalog's own entries, or a refusal."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_model_config import LLAMA

from costlib import catalog, load
from costlib.book import FILES
from costlib.book.llama_cpp import CASES, EXPERTS, GEOMETRY, LATENT, Case, write
from costlib.model_config import Refused, oracle, read, read_table
from costlib.model_config.config import QUANTISATION
from costlib.model_config.fields import Inexpressible
from costlib.model_config.gguf import read_gguf
from costlib.model_config.layers import AttentionCache
from costlib.model_config.precision import precision_of
from costlib.model_config.scenario import as_model, model_table, scenario_file
from costlib.model_config.weights import weights_of
from costlib.schema import InputError
from costlib.units import Quantity, quantity, show

CONFIGS = sorted((FILES / "configs").glob("*.json"))
EIGHT_BITS = quantity("1 byte/parameter")
BUILT = json.loads((Path(__file__).parent / "parameters-built.json").read_text())["families"]
PUBLISHED = json.loads((Path(__file__).parent / "parameters-published.json").read_text())
# The catalog's names of published models whose configurations the tests have.
CATALOGUED = {
    "meta-llama/Meta-Llama-3.1-8B": "llama-3.1-8b",
    "meta-llama/Meta-Llama-3.1-70B": "llama-3.1-70b",
    "meta-llama/Meta-Llama-3.1-405B": "llama-3.1-405b",
    "mistralai/Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "mistralai/Mixtral-8x22B-v0.1": "mixtral-8x22b",
    "Qwen/Qwen3-0.6B": "qwen3-0.6b",
    "Qwen/Qwen3-1.7B": "qwen3-1.7b",
    "Qwen/Qwen3-8B": "qwen3-8b",
    "Qwen/Qwen3-32B": "qwen3-32b",
    "Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Qwen/Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": "qwen3-coder-480b-a35b",
    "Qwen/Qwen3.5-27B": "qwen3.5-27b",
    "Qwen/Qwen3.5-35B-A3B": "qwen3.5-35b-a3b",
    "Qwen/Qwen3.5-122B-A10B": "qwen3.5-122b-a10b",
    "Qwen/Qwen3.5-397B-A17B": "qwen3.5-397b-a17b",
    "deepseek-ai/DeepSeek-V3": "deepseek-v3",
    "deepseek-ai/DeepSeek-R1": "deepseek-r1",
    "moonshotai/Kimi-K2-Instruct": "kimi-k2",
    "moonshotai/Kimi-K2.5": "kimi-k2.5",
    "openai/gpt-oss-20b": "gpt-oss-20b",
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "google/gemma-4-26B-A4B": "gemma-4-26b-a4b",
    "nvidia/Gemma-4-31B-IT-NVFP4": "gemma-4-31b",
    "nvidia/Nemotron-H-56B-Base-8K": "nemotron-h-56b",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "nemotron-3-nano-30b-a3b",
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8": "nemotron-3-super-120b-a12b",
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": "nemotron-3-ultra-550b-a55b",
    "MiniMaxAI/MiniMax-M2.5": "minimax-m2.5",
    "MiniMaxAI/MiniMax-M2.7": "minimax-m2.7",
    "XiaomiMiMo/MiMo-V2-Flash": "mimo-v2-flash",
}


WINDOWS = {  # which weigh nothing, so that the fields of the published models are without them
    "google/gemma-4-26B-A4B": 1024,
    "nvidia/Gemma-4-31B-IT-NVFP4": 1024,
    "XiaomiMiMo/MiMo-V2-Flash": 128,
}


def published(model):
    """The configuration of a published model."""
    fields = next(row["fields"] for row in PUBLISHED if model in row["models"])
    return read_table(fields | ({"sliding_window": WINDOWS[model]} if model in WINDOWS else {}), model)


def assert_same_state(config, model):
    """At lengths on both sides of each window, in two formats of the cache."""
    beside = {length for cache in config.caches if cache.window for length in (cache.window, cache.window + 1)}
    lengths = Quantity(np.array(sorted({1, 33, 5000, 1_000_000, *beside}), float), "token")
    for name in ("bf16", "q8_0"):
        kept, said = (one.m_as("byte") for one in both(config, model, lengths, precision_of(name)))
        assert kept.tolist() == said.tolist(), (config.name, name, lengths)


def both(config, model, *asked):
    return config.state(*asked), model.context_state(*asked)


def built():
    """Configurations of which the weights were built: of each family the default and every fourth variant."""
    for family, known in BUILT.items():
        base = {"dtype": "bfloat16", **known["fields"], "model_type": family}
        yield from (
            (f"{family}-{i}", base | other.get("differs", {})) for i, other in enumerate([{}, *known["others"][::4]])
        )


# What is kept


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_a_configuration_of_the_book_keeps_as_much_or_is_refused(file):
    config = read(file)
    if "Llama-4" in file.stem:
        with pytest.raises(Inexpressible, match="36 × chunked"):
            as_model(config)
    else:
        assert_same_state(config, as_model(config))


def test_every_architecture_keeps_as_much_or_is_refused():
    """The default configurations of the oracle, and of each family those of which the weights were built."""
    made = set()
    for name, table in [*((name, oracle.default_of(name)) for name in oracle.verdicts()), *built()]:
        try:
            config = read_table(table, name)
            model = as_model(config)
        except ValueError:
            continue
        made.add(config.model_type)
        assert_same_state(config, model)
    assert len(made) > 110, len(made)


@pytest.mark.parametrize("name, entry", CATALOGUED.items())
def test_a_published_model_is_the_entry_of_the_catalog(name, entry):
    config, entered = published(name), catalog.part("model", entry)
    made = as_model(config)
    assert made.context_limit is None  # which weighs nothing, so that the fields of the published models are without it
    assert replace(made, title=entered.title, context_limit=entered.context_limit) == entered
    assert_same_state(config, entered)


@pytest.mark.parametrize("file", [file for file in CONFIGS if "Llama-4" not in file.stem], ids=lambda file: file.stem)
def test_a_configuration_of_the_book_is_the_entry_of_the_catalog(file):
    """Also in the longest context that the model is made for."""
    config = read(file)
    entered = catalog.part("model", CATALOGUED[config.name])
    assert replace(as_model(config), title=entered.title) == entered
    assert entered.context_limit == Quantity(float(config.context_limit), "token")


def test_a_limit_that_the_file_does_not_state_is_left_out():
    config = read(CONFIGS[0])
    assert "context_limit" not in model_table(replace(config, context_limit=None))
    assert as_model(replace(config, context_limit=10**12)).context_limit == quantity("1e12 token")


@pytest.fixture
def header(tmp_path):
    """A function that gives a configuration from a GGUF file with the fields of a case."""

    def read_case(case):
        tensors = {"token_embd.weight": [case.fields.get("embedding_length", GEOMETRY["embedding_length"]), 20_000]}
        mixture = {"blk.0.ffn_up_exps.weight": [1024, 32, 2]} if "expert_count" in case.fields else {}
        write(str(tmp_path / "model.gguf"), case, tensors | mixture)
        return read_gguf(tmp_path / "model.gguf")

    return read_case


def test_a_gguf_file_keeps_as_much_or_is_refused(header):
    """For every kind of layer that llama.cpp is tried on."""
    made = set()
    for case in CASES:
        config = header(case)
        try:
            model = as_model(config)
        except Refused:
            continue
        made.add(case.architecture)
        assert_same_state(config, model)
        assert (model.width.magnitude, model.vocabulary.magnitude) == (config.fields.get("embedding_length"), 20_000)
    assert len(made) > 25, made


def test_a_gguf_file_says_as_much_of_a_model(header):
    mixture = as_model(header(Case("", "deepseek2", {**LATENT, **EXPERTS})))
    assert [show(value) for value in (mixture.experts, mixture.experts_per_token)] == ["2 experts", "1 expert/token"]
    (latent,) = mixture.attention
    said = {name: int(getattr(latent, name).magnitude) for name in ("latent_rank", "rope_dim", "key_dim", "value_dim")}
    assert said["key_dim"] == LATENT["attention.key_length_mla"]
    assert said["value_dim"] == LATENT["attention.value_length_mla"]
    assert said["latent_rank"] + said["rope_dim"] == LATENT["attention.key_length"]
    config = header(Case("", "llama"))
    quartered = scenario_file(replace(config, weights=config.weights / 4)).tables
    assert quartered["precision"]["weights"] == quartered["reserve"]["weights"] == "1 byte/parameter"
    assert quartered["model"]["source"] == "model.gguf"


def test_every_value_of_a_model_says_where_it_is_from():
    model = as_model(read(CONFIGS[1]))
    assert {origin.title for origin in model.origin.values()} == {CONFIGS[1].name}


def test_a_recurrent_state_does_not_follow_the_cache():
    config = published("Qwen/Qwen3.5-27B")
    fp8, bf16 = (as_model(replace(config, kv_format=name)).recurrent_state for name in ("fp8", "bf16"))
    assert fp8 == bf16 == quantity("153944064 B")


def test_query_heads_may_differ_from_layer_to_layer():
    fields = BUILT["laguna"]["fields"] | {"model_type": "laguna", "dtype": "bfloat16"}
    count = fields["num_hidden_layers"]
    config = read_table(fields | {"num_attention_heads_per_layer": [48] + [64] * (count - 1)}, "mine")
    heads = {int(kind.query_heads.magnitude) for kind in as_model(config).attention}
    assert heads == {48, 64}
    assert_same_state(config, as_model(config))


# What is refused


@pytest.mark.parametrize(
    "table, given",
    [
        ("gemma3n_text", "20 of 35 layers"),
        ("mllama", "32 of 40 layers"),
        ("glm_moe_dsa", "78 × indexer"),
        ("deepseek_v4", "23 × compressed"),
        ("llama4", "36 × chunked"),
        ("gpt_neo", "gpt_neo"),
        ("doge", "doge"),
        ("zamba2", "zamba2"),
        ("hrm_text", "128 times in 16 layers"),
        ("mamba2", None),
    ],
)
def test_what_a_model_cannot_say_is_refused(table, given):
    with pytest.raises(Inexpressible, match="cannot be said in a scenario") as refused:
        as_model(read_table(oracle.default_of(table), table))
    assert refused.value.given == given


def test_layers_that_read_what_another_keeps_are_refused():
    table = {**LLAMA, "model_type": "hunyuan_v1_dense", "use_cla": True, "cla_share_factor": 2, "head_dim": 128}
    with pytest.raises(Refused):
        as_model(read_table(table, "mine"))


@pytest.mark.parametrize(
    "cache",
    [
        AttentionCache(kind="full", layers=32, heads=8, key_dim=128, value_dim=128, query_heads=32, precision=4.0),
        AttentionCache(kind="full", layers=32, heads=8, key_dim=128, value_dim=128, query_heads=32, stride=4),
        AttentionCache(kind="cross", layers=32, heads=8, key_dim=128, value_dim=128, query_heads=32),
        AttentionCache(kind="full", layers=32, heads=8, key_dim=128, value_dim=128),
        AttentionCache(kind="full", layers=31, heads=8, key_dim=128, value_dim=128, query_heads=32),
        AttentionCache(kind="full", layers=33, heads=8, key_dim=128, value_dim=128, query_heads=32),
    ],
    ids=["its own precision", "shared entries", "of an encoder", "unknown queries", "too few", "too many"],
)
def test_a_cache_that_is_not_the_catalogs_is_refused(cache):
    config = read_table(LLAMA, "mine")
    assert as_model(config).attention
    with pytest.raises(Refused):
        as_model(replace(config, caches=(cache,)))


def test_a_model_of_which_the_active_weights_are_not_known_is_refused():
    with pytest.raises(Refused, match="active_parameters"):
        as_model(read_table(oracle.default_of("longcat_flash"), "mine"))


def test_a_model_whose_weights_are_not_counted_is_refused_with_the_reason():
    with pytest.raises(Refused, match="lru_width is not given"):
        as_model(read_table(oracle.default_of("recurrent_gemma"), "mine"))


# The file


@pytest.mark.parametrize("file", [file for file in CONFIGS if "Llama-4" not in file.stem], ids=lambda file: file.stem)
def test_the_file_loads_and_has_the_model(file, tmp_path):
    config = read(file)
    written = tmp_path / "mine.toml"
    written.write_text(scenario_file(config, weight_precision=EIGHT_BITS).text, encoding="utf-8")
    case = load(written)
    assert case.model == as_model(config)
    assert case.precision.kv_cache == config.kv_precision
    assert case.precision.weights == case.reserve.weights == EIGHT_BITS
    assert case.model.origin["attention"].title == file.name


def written(table, **options):
    """The tables of a file, which load, and the remarks above them."""
    file = scenario_file(read_table(table, "mine.json"), **options)
    assert tomllib.loads(file.text) == file.tables
    return file.tables, "\n".join(file.remarks)


def test_weights_are_as_the_file_declares_them():
    tables, remarks = written(LLAMA)
    assert tables["precision"]["weights"] == tables["reserve"]["weights"] == "2 byte/parameter"
    assert tables["precision"]["arithmetic"] == "16-bit"
    assert "Assumed: weights at 16 bits; the file declares no quantisation" in remarks


def test_weights_whose_size_is_not_known_are_asked_for():
    quantised = {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4}}
    with pytest.raises(Refused, match="quantization_config = 'gptq, 4 bits' .*--weights, .*--weight-precision"):
        written(quantised)
    tables, _ = written(quantised, weight_precision=quantity("4.5 bit/parameter"))
    assert tables["precision"]["weights"] == tables["reserve"]["weights"] == "0.5625 byte/parameter"


def test_weights_wider_than_any_arithmetic_are_refused():
    with pytest.raises(InputError, match="weights of 32 bits each; wanted less than 32 bits, by --weight-precision"):
        written({**LLAMA, "dtype": "float32"})


def test_what_a_file_says_is_one_line_of_a_comment():
    for odd in (
        "awq\n[workload]\ncontext = '9000 token'\n#",
        "a\rb",
        "\u2028",
        "\x85",
        "\ud800",
        ["\n"],
        5,
        {"a": "\n"},
    ):
        for quantised in ({"quant_method": odd}, {"quant_algo": odd}, {"bits": odd}, odd):
            tables, _ = written({**LLAMA, "quantization_config": quantised}, weight_precision=EIGHT_BITS)
            assert tables.keys() == {"model", "precision", "reserve"}


@pytest.mark.parametrize("field", QUANTISATION)
@pytest.mark.parametrize("said, given", [({"bits": 4}, "quantised, 4 bits"), ("awq", "awq"), ({}, "quantised")])
@pytest.mark.parametrize("nested", [False, True])
def test_a_quantisation_is_seen_under_each_name_that_tools_give_it(field, said, given, nested):
    table = {"model_type": "llava", "text_config": LLAMA} if nested else LLAMA
    with pytest.raises(Refused, match=f"{field} = '?{given}"):
        written({**table, field: said})
    with pytest.raises(Refused, match=f"{field} = "):
        weights_of(read_table({**table, field: said}, "mine"))


def test_weights_as_given_and_as_their_files_are():
    count = float(read_table(LLAMA, "mine").parameters.total)
    tables, _ = written(LLAMA, weight_precision=quantity("0.5625 byte/parameter"))
    assert tables["reserve"]["weights"] == "0.5625 byte/parameter" and "arithmetic" not in tables["precision"]
    tables, remarks = written(LLAMA, weights=Quantity(count, "byte"))
    assert tables["precision"]["weights"] == "1 byte/parameter" and "of weights, as given: 8 bits each" in remarks
    config = replace(read_table(LLAMA, "mine"), weights=Quantity(1.5 * count, "byte"))
    assert scenario_file(config).tables["reserve"]["weights"] == "1.5 byte/parameter"


def test_arithmetic_is_one_that_the_card_has():
    small = {"weight_precision": quantity("0.5 byte/parameter")}
    assert "arithmetic" not in written(LLAMA, **small, accelerator="h200-sxm")[0]["precision"]
    assert written(LLAMA, **small, accelerator="m3-ultra")[0]["precision"]["arithmetic"] == "16-bit"


@pytest.mark.parametrize(
    "bits, arithmetic", [(4.6, None), (8.2, None), (14, None), (15.9, "16-bit"), (16.3, "16-bit"), (31.9, "16-bit")]
)
def test_sixteen_bits_that_were_rounded_are_sixteen_bits(bits, arithmetic):
    size = Quantity(read_table(LLAMA, "mine").parameters.total * bits / 8, "byte")
    assert written(LLAMA, weights=size)[0]["precision"].get("arithmetic") == arithmetic


def test_what_is_asked_for_stands_in_the_file():
    tables, _ = written(LLAMA, accelerator="h200-sxm", node="hgx-8-nvlink-4", context=quantity("65536 token"))
    assert (tables["accelerator"], tables["node"]) == ("h200-sxm", "hgx-8-nvlink-4")
    assert tables["workload"] == {"context": "65536 token"}


def test_a_context_shorter_than_a_tool_result_shortens_it():
    tables, remarks = written(LLAMA, context=quantity("4096 token"))
    assert tables["workload"] == {"context": "4096 token", "observation": "4096 token"}
    assert "Assumed: a tool result as long as the context" in remarks


def test_what_was_assumed_stands_above():
    config = read_table({"model_type": "qwen2", "num_hidden_layers": 24}, "mine.json", ["hidden_size=2048"])
    lines = scenario_file(config).text.splitlines()
    assert "# Assumed: hidden_size = 2048, assumed" in lines
    assert any(line.startswith("# Assumed: num_attention_heads = 32, the architecture's own default") for line in lines)


def test_the_precision_of_a_recurrent_state_is_said_where_the_file_does_not():
    assumed = "Assumed: the recurrent state of 48 × gated delta rule in 32 bits, as the public code keeps it"
    assert assumed in scenario_file(published("Qwen/Qwen3.5-27B")).remarks
    declared = read(FILES / "configs/nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json")
    assert not any("recurrent state" in remark for remark in scenario_file(declared).remarks)


@pytest.mark.parametrize("name", ["a`b", "two\nlines", "\ud800", "[x](y)", "\x1b[2J", "", "日本"])
def test_any_name_makes_a_file_that_loads(name, tmp_path):
    config = read_table({**LLAMA, "_name_or_path": name}, f"{name}/conf{name}.json")
    file = tmp_path / "mine.toml"
    file.write_text(scenario_file(config).text, encoding="utf-8")
    assert load(file).model.parameters == as_model(config).parameters


def test_a_table_of_a_model_is_plain():
    table = model_table(published("google/gemma-4-26B-A4B"))
    assert json.loads(json.dumps(table)) == table
