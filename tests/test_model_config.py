"""Reading a model's configuration: what it keeps, where it comes from, and what is refused."""

import http.server
import io
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from costlib.arguments import ArgumentError
from costlib.book import FILES
from costlib.model_config import InputError, Refused, engines, families, oracle, read, read_table, sources
from costlib.model_config.fields import could_matter
from costlib.units import Quantity, quantity, show

CONFIGS = FILES / "configs"
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "dtype": "bfloat16",
}
LONG = quantity("131072 token")


def kept(table, tokens=1):
    """Bytes that a sequence of so many tokens keeps."""
    return read_table(table, "example").state(Quantity(tokens, "token")).m_as("byte")


# Against the public code

MEASURED = [row for row in oracle.recorded() if row["verdict"] == "right"]


def test_no_architecture_is_read_wrongly_and_nine_in_ten_are_read():
    found = list(oracle.verdicts().values())
    assert len(found) > 190 and "wrong" not in found
    assert found.count("right") >= 0.9 * len(found)


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: f"{row['model']}-{row['tokens']}")
def test_what_is_read_is_what_the_public_code_keeps(row):
    file = CONFIGS / (row["model"].replace("/", "--") + ".json")
    table = json.loads(file.read_text()) if file.exists() else oracle.default_of(row["model"])
    config = read_table(table, row["model"])
    assert oracle.as_the_code_keeps_it(config, int(row["tokens"])) == int(row["measured"])


# Published models, at 131,072 tokens

STATES = {
    "meta-llama--Meta-Llama-3.1-70B": "42.950 GB",
    "mistralai--Mixtral-8x7B-v0.1": "17.180 GB",
    "deepseek-ai--DeepSeek-V3": "9.2107 GB",
    "openai--gpt-oss-120b": "4.8366 GB",
    "google--gemma-4-26B-A4B": "2.8941 GB",
    "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8": "1.2440 GB",
    "meta-llama--Llama-4-Scout-17B-16E-Instruct": "7.6504 GB",
}


@pytest.mark.parametrize("name, state", STATES.items())
def test_the_state_of_a_published_model(name, state):
    assert show(read(CONFIGS / f"{name}.json").state(LONG), "GB", digits=5) == state


def test_state_is_constant_window_and_growth():
    for file in CONFIGS.glob("*.json"):
        config = read(file)
        parts = config.constant_state() + config.window_state(LONG) + config.bytes_per_token() * LONG
        assert parts.m_as("byte") == config.state(LONG).m_as("byte")


def test_a_name_comes_from_the_file_or_from_where_it_lies(tmp_path):
    assert read(CONFIGS / "mistralai--Mixtral-8x7B-v0.1.json").name == "mistralai/Mixtral-8x7B-v0.1"
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert read(tmp_path).name == tmp_path.name
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "_name_or_path": "some/model"}))
    assert read(tmp_path).name == "some/model"


# Fields


@pytest.mark.parametrize(
    "changes, size",
    [
        ({}, 131072),
        ({"head_dim": 64}, 65536),
        ({"num_key_value_heads": None}, 524288),
        ({"num_key_value_heads": 1}, 16384),
        ({"dtype": "float32"}, 262144),
        ({"torch_dtype": "float32", "dtype": None}, 262144),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, 131072),
        ({"quantization_config": {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}}, 65536),
        ({"quantization_config": {"kv_cache_quant_algo": "FP8"}}, 65536),
        ({"quantization_config": {"kv_cache_quant_algo": "NVFP4"}}, 36864),
    ],
    ids=str,
)
def test_a_field_changes_what_a_token_keeps(changes, size):
    assert kept({**LLAMA, **changes}) == size


def test_what_the_file_omits_is_the_architectures_default_and_said():
    config = read_table({"model_type": "mistral", "dtype": "bfloat16"}, "example")
    assert "sliding_window = 4096, the architecture's own default; the file omits it" in config.assumptions
    assert config.state(LONG) == 4096 * 131072 * quantity("1 byte")


def test_a_field_that_is_null_is_not_one_that_is_omitted():
    assert kept({"model_type": "mistral", "dtype": "bfloat16", "sliding_window": None}, 131072) == 131072 * 131072


def test_a_window_that_no_context_fills_is_none():
    wide = {"model_type": "phi3", "sliding_window": 131072, "max_position_embeddings": 131072, "dtype": "bfloat16"}
    assert read_table(wide, "example").bytes_per_token() == quantity("393216 B/token")
    assert read_table({**wide, "sliding_window": 2048}, "example").bytes_per_token() == quantity("0 B/token")


def test_fields_may_be_nested_and_the_top_may_be_of_the_eyes():
    nested = {"model_type": "llava", "num_hidden_layers": 99, "text_config": LLAMA}
    assert kept(nested) == 131072


def test_an_architecture_that_sees_wants_its_language_model_nested():
    with pytest.raises(Refused, match="text_config"):
        read_table({"model_type": "gemma3", "num_hidden_layers": 7}, "example")
    flat = {
        "model_type": "qwen2_vl",
        "num_hidden_layers": 7,
        "num_attention_heads": 8,
        "hidden_size": 1024,
        "dtype": "bfloat16",
    }
    assert kept({**flat, "num_key_value_heads": 2}) == 7 * 2 * 2 * 128 * 2


@pytest.mark.parametrize(
    "table, tokens, size",
    [
        # The inner width that a Mamba declares, rather than the expansion of the stream.
        (
            {"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "expand": 16, "state_size": 16,
             "conv_kernel": 4, "intermediate_size": 8192}, 1, 64 * 8192 * (16 * 4 + 3 * 2),
        ),
        # A window of so many tokens before the one that asks.
        (
            {"model_type": "mimo_v2_flash", "num_hidden_layers": 1, "hybrid_layer_pattern": [1], "sliding_window": 128,
             "sliding_window_size": 128}, 500, 129 * 8 * (192 + 128) * 2,
        ),
        # Old and new names of one field, and switches of the windows.
        (
            {"model_type": "bloom", "n_layer": 2, "n_head": 4, "n_embed": 128}, 1, 2 * 2 * 128 * 2,
        ),
        (
            {"model_type": "qwen2_moe", "num_hidden_layers": 8, "use_sliding_window": True, "sliding_window": 21,
             "max_window_layers": 28, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 1},
            100, 4 * 2 * 64 * 2 * (21 + 100),
        ),
        (
            {"model_type": "mpt", "n_layers": 2, "n_heads": 4, "d_model": 256,
             "attn_config": {"attn_type": "multiquery_attention"}}, 1, 2 * 2 * 64 * 2,
        ),
        (
            {"model_type": "falcon", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512,
             "num_kv_heads": 2, "new_decoder_architecture": True, "multi_query": True}, 1, 2 * 2 * 2 * 64 * 2,
        ),
        (
            {"model_type": "deepseek_v2", "num_hidden_layers": 2, "num_attention_heads": 10, "hidden_size": 1280,
             "kv_lora_rank": None, "use_mla": False}, 1, 2 * 2 * 10 * 128 * 2,
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_rule_of_one_architecture(table, tokens, size):
    assert kept({"dtype": "bfloat16", **table}, tokens) == size


def test_a_window_is_not_compared_with_a_limit_that_the_file_does_not_state():
    table = {"model_type": "starcoder2", "sliding_window": 4096, "dtype": "bfloat16"}
    assert read_table(table, "example").bytes_per_token() == quantity("0 B/token")


def test_what_the_language_model_says_of_its_numbers_holds():
    nested = {
        "model_type": "llava",
        "dtype": "float32",
        "text_config": {**LLAMA, "dtype": None, "torch_dtype": "bfloat16"},
    }
    assert kept(nested) == 131072
    nested["text_config"] = {**LLAMA, "dtype": None, "torch_dtype": None}
    assert kept(nested) == 262144


@pytest.mark.parametrize(
    "kind", ["linear_attention", "hybrid", "moe", "indexed_attention", "compressed_sparse_attention"]
)
def test_a_kind_of_layer_that_the_architecture_cannot_have_is_refused(kind):
    table = {**LLAMA, "model_type": "qwen2", "num_hidden_layers": 2, "layer_types": [kind, "full_attention"]}
    with pytest.raises(Refused, match="not known to have such layers"):
        read_table(table, "example")


@pytest.mark.parametrize(
    "said",
    [
        {"kv_cache_dtype": "fp8"},
        {"quantization": {"kv_cache_quant_algo": "INT8"}},
        {"export": {"kv_cache_group": ["*k_proj"]}},
        {"kv_cache_quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float"}},
        {"kv_cache_scheme": {"num_bits": 8, "type": "float", "strategy": "group"}},
    ],
    ids=str,
)
def test_what_a_quantiser_says_of_the_cache_is_heeded_or_refused(said):
    with pytest.raises(Refused, match="quantization_config"):
        read_table({**LLAMA, "quantization_config": said}, "example")


def test_nested_tables_and_single_layers_are_watched_too():
    table = {"model_type": "mpt", "n_layers": 2, "n_heads": 4, "d_model": 256, "dtype": "bfloat16"}
    with pytest.raises(Refused, match="reuse_kv_layer_idx"):
        read_table({**table, "attn_config": {"reuse_kv_layer_idx": 1}}, "example")
    with pytest.raises(Refused, match="per_layer_config.sliding_window"):
        read_table({**LLAMA, "per_layer_config": {"3": {"sliding_window": 128}}}, "example")
    with pytest.raises(InputError, match="per_layer_config has layer 99"):
        read_table({**LLAMA, "per_layer_config": {"99": {"head_dim": 64}}}, "example")
    assert kept({**LLAMA, "per_layer_config": {"3": {"head_dim": 64}}}) == 131072 * 31.5 / 32


def test_a_switch_of_windows_against_a_list_of_them_is_refused():
    table = {**LLAMA, "model_type": "qwen2", "use_sliding_window": False, "sliding_window": 64}
    with pytest.raises(Refused, match="use_sliding_window"):
        read_table({**table, "layer_types": ["sliding_attention"] * 32}, "example")


@pytest.mark.parametrize("index", ["[]", '{"metadata": null}', '{"metadata": []}'])
def test_an_index_of_weights_without_a_size_is_refused(tmp_path, index):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(InputError, match="total_size"):
        read(tmp_path)


@pytest.mark.parametrize("tokens", [-5.0, float("nan"), float("inf")])
def test_a_length_that_is_none_is_refused(tokens):
    with pytest.raises(ArgumentError, match="tokens"):
        read_table(LLAMA, "example").state(Quantity(tokens, "token"))


@pytest.mark.parametrize("engine", [engines.vllm, engines.sglang], ids=lambda engine: engine.__name__)
def test_heads_that_do_not_come_out_even_are_refused(engine):
    with pytest.raises(ArgumentError, match="tensor_parallel = 3; wanted a divisor of 32 query heads"):
        engine(read_table({**LLAMA, "num_key_value_heads": 1}, "example"), LONG, tensor_parallel=3)
    mamba = {"model_type": "mamba2", "num_heads": 8, "head_dim": 64, "hidden_size": 256, "num_hidden_layers": 2}
    with pytest.raises(ArgumentError, match="heads that recur"):
        engine(read_table({**mamba, "dtype": "bfloat16"}, "example"), LONG, tensor_parallel=3)


def test_two_names_of_one_field_must_agree():
    with pytest.raises(InputError, match="n_embed = 128"):
        read_table({"model_type": "bloom", "n_embed": 128, "hidden_size": 256, "n_layer": 2, "n_head": 4}, "example")


# Refusals


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"model_type": "something_new"}, "model_type"),
        ({"sliding_window": 4096}, "sliding_window"),
        ({"num_kv_shared_layers": 4}, "num_kv_shared_layers"),
        ({"kv_lora_rank": 512}, "kv_lora_rank"),
        ({"attention_sink_window": 64}, "attention_sink_window"),
        ({"layer_types": ["full_attention"] * 32}, "layer_types"),
        ({"dtype": "float4"}, "dtype"),
        ({"quantization_config": {"kv_cache_quant_algo": "INT3"}}, "quantization_config"),
        ({"kv_cache_dtype": "fp8"}, "kv_cache_dtype"),
        ({"sliding_window_tokens": 64}, "sliding_window_tokens"),
        ({"use_mla": True}, "use_mla"),
        ({"num_query_groups": 2}, "num_query_groups"),
        ({"mixer_types": ["mamba"]}, "mixer_types"),
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused_by_name(changes, field):
    with pytest.raises(Refused) as refused:
        read_table({**LLAMA, **changes}, "example")
    assert refused.value.field == field
    assert refused.value.given in (changes[field], "INT3") and refused.value.why


def test_a_refusal_says_the_answer_with_and_without():
    with pytest.raises(Refused) as refused:
        read_table({**LLAMA, "sliding_window": 4096}, "example")
    assert "4,096 tokens" in refused.value.with_it and "131,072 B/token" in refused.value.without_it


def test_a_kind_of_layer_that_is_not_known_is_refused():
    table = {**LLAMA, "model_type": "qwen3", "layer_types": ["full_attention"] * 31 + ["wonder_attention"]}
    with pytest.raises(Refused, match=r"layer_types\[31\] = 'wonder_attention'"):
        read_table(table, "example")


def test_an_assumption_stands_in_and_stands_beside_the_result():
    config = read_table({**LLAMA, "sliding_window": 4096}, "example", ["sliding_window=null"])
    assert config.bytes_per_token() == quantity("131072 B/token")
    assert "sliding_window = null, assumed; the file has 4096" in config.assumptions
    assert read_table({**LLAMA, "model_type": "new"}, "example", ["model_type=llama"]).model_type == "llama"


def test_names_that_matter_and_names_that_do_not():
    assert all(map(could_matter, "sliding_window kv_lora_rank layer_types mamba_d_state cla_share_factor".split()))
    assert not any(map(could_matter, "rope_theta attention_bias tie_word_embeddings moe_layer_freq".split()))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"num_hidden_layers": "32"}, "num_hidden_layers = '32'; wanted a whole number from 1 to 10,000"),
        ({"num_hidden_layers": True}, "num_hidden_layers = True"),
        ({"num_hidden_layers": 0}, "num_hidden_layers = 0"),
        ({"num_attention_heads": 32.0}, "num_attention_heads = 32.0"),
        ({"num_key_value_heads": 5}, "num_key_value_heads = 5 does not divide num_attention_heads = 32"),
        ({"hidden_size": 4100}, "head_dim is missing, and 4100 over 32 is not whole"),
        ({"model_type": 5}, "model_type = 5"),
        ({"head_dim": 0}, "head_dim = 0"),
        ({"num_key_value_heads": [8] * 33}, "num_key_value_heads has 33 entries; wanted 32, one a layer"),
        ({"text_config": "x"}, "text_config = 'x'; wanted a table"),
    ],
    ids=str,
)
def test_an_impossible_field_is_named(changes, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_table({**LLAMA, **changes}, "example")


def test_an_assumption_that_changes_nothing_is_refused():
    with pytest.raises(InputError, match="assume foo: nothing is read from a field of that name in llama"):
        read_table(LLAMA, "example", ["foo=1"])


def test_an_assumption_says_what_the_file_has():
    config = read_table(LLAMA, "example", ["num_key_value_heads=4"])
    assert "num_key_value_heads = 4, assumed; the file has 8" in config.assumptions


def test_an_assumption_has_a_name_and_a_value():
    with pytest.raises(InputError, match="wanted FIELD=VALUE"):
        read_table(LLAMA, "example", ["nothing"])


# Where it is read from


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested more than 60 deep"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"{", "is not JSON"),
        (b"[1]", "has no fields; wanted those of a model"),
        (b"null", "has no fields; wanted those of a model"),
        (b"{}", "model_type is missing"),
        (b"\xff\xfe\x00", "is not text"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b"[" * 100_000, "nested more than 60 deep"),
        (b'{"a": "' + b"[" * 70 + b'\\"{", "b": "' + b"x" * 9, "is not JSON"),  # brackets of a text are none
        (b" " * (16 * 2**20 + 1), "more than 16 MiB"),
    ],
    ids=["nested", "empty", "blank", "begun", "list", "null", "no field", "binary", "twice", "deep", "text", "large"],
)
def test_a_file_that_is_no_configuration(tmp_path, content, message):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(file)


def test_a_folder_without_a_configuration_and_a_path_that_leads_nowhere(tmp_path):
    with pytest.raises(InputError, match="is a folder without config.json; wanted one"):
        read(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "missing.json")
    with pytest.raises(InputError, match="not found"):
        read("missing")


def test_weights_are_weighed_where_their_files_lie(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert read(tmp_path).weights is None
    (tmp_path / "model-1.safetensors").write_bytes(b"x" * 100)
    (tmp_path / "model-2.safetensors").write_bytes(b"x" * 50)
    assert read(tmp_path).weights == quantity("150 byte")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 149}}))
    assert read(tmp_path).weights == quantity("149 byte")
    index.write_text(json.dumps({"metadata": {"total_size": -1}}))
    with pytest.raises(InputError, match="total_size = -1"):
        read(tmp_path)


def test_weights_of_which_a_part_is_missing_are_not_weighed(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"x" * 100)
    assert read(tmp_path).weights is None
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"x" * 100)
    assert read(tmp_path).weights == quantity("200 byte")


def test_what_a_quantiser_wrote_beside_the_configuration_is_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    beside = tmp_path / "hf_quant_config.json"
    beside.write_text(json.dumps({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}))
    config = read(tmp_path)
    assert (config.kv_format, config.weight_format) == ("fp8", "modelopt, FP8")
    beside.write_text("[]")
    with pytest.raises(InputError, match="has no quantization"):
        read(tmp_path)


def test_a_name_that_is_a_path_of_its_author_is_none(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "_name_or_path": "/home/somebody/checkpoints"}))
    assert read(tmp_path).name == tmp_path.name


def test_standard_input(monkeypatch):
    content = io.TextIOWrapper(io.BytesIO(json.dumps(LLAMA).encode()))
    monkeypatch.setattr(sys, "stdin", content)
    assert read("-").bytes_per_token() == quantity("131072 B/token")


def test_a_repository_is_looked_up_in_the_local_cache(tmp_path, monkeypatch):
    folder = tmp_path / "models--some--model"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    (folder / "snapshots" / "abc123").mkdir(parents=True)
    (folder / "snapshots" / "abc123" / "config.json").write_text(json.dumps(LLAMA))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert read("some/model").name == "some/model"


def test_a_repository_that_is_not_there_says_how_to_fetch_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install '\.\[hub\]'"):
        read("some/model")


def test_a_repository_is_fetched_where_the_library_is_installed(tmp_path, monkeypatch):
    import huggingface_hub

    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    asked = []
    fetch = lambda repository, file: asked.append((repository, file)) or str(tmp_path / file)  # noqa: E731
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetch)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url: None)
    assert read("some/model").bytes_per_token() == quantity("131072 B/token")
    assert asked == [("some/model", "config.json")]


def assumed(engine, table, tokens, *asked):
    return engine(read_table(table, "example"), Quantity(tokens, "token"), *asked).assumptions


def test_an_engine_says_what_it_stores_otherwise_than_asked_or_needed():
    stored, four_bits = "keys and values stored as nvfp4", quantity("0.5625 byte/element")
    for engine in (engines.vllm, engines.sglang):
        assert stored in assumed(engine, LLAMA, 100, four_bits) and stored not in assumed(engine, LLAMA, 100)
    hybrid = oracle.default_of("qwen3_next") | {"dtype": "bfloat16"}
    states = "recurrent states in the model's 16 bits"
    assert states in assumed(engines.vllm, hybrid, 100) and states not in assumed(engines.sglang, hybrid, 100)
    assert states not in assumed(engines.vllm, hybrid | {"dtype": "float32"}, 100)
    declared = json.loads((CONFIGS / "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json").read_text())
    assert states not in assumed(engines.vllm, declared, 100)


def test_a_pool_for_windows_that_is_too_small_for_a_sequence_is_said_to_be():
    windowed = {**LLAMA, "model_type": "mistral", "sliding_window": 1000}
    few = "a pool for windows of 0.8 of the tokens, fewer than one sequence of this length keeps there"
    assert few in assumed(engines.sglang, windowed, 100) and few in assumed(engines.sglang, windowed, 1248)
    assert few not in assumed(engines.sglang, windowed, 1249)


REPOSITORIES = """
import sys, time
from costlib.model_config import read
from costlib.schema import InputError
for name in sys.argv[1:]:
    started = time.perf_counter()
    try:
        read(name)
    except InputError as error:
        print(time.perf_counter() - started, error)
"""


def not_fetched(host, folder, *names):
    """The reasons for which a host does not give repositories, and the seconds that each takes."""
    environment = os.environ | {"HF_ENDPOINT": host, "HF_HUB_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", REPOSITORIES, *names], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""  # nor is anything tried again
    lines = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    start = f": not in the local cache of Hugging Face, nor fetched from {host}: "
    said = {name: text.removeprefix(name + start) for name, (_, text) in zip(names, lines, strict=True)}
    return said, [float(seconds) for seconds, _ in lines]


def test_a_host_that_cannot_be_reached_is_said_at_once(tmp_path):
    with socket.socket() as bound:  # and does not listen
        bound.bind(("127.0.0.1", 0))
        host = f"http://127.0.0.1:{bound.getsockname()[1]}"
        said, seconds = not_fetched(host, tmp_path, "some/model")
    assert "Connection refused" in said["some/model"]
    assert seconds[0] < 5  # and not half a minute


class Host(http.server.BaseHTTPRequestHandler):
    """A host that has no such file, and says why as that of Hugging Face does."""

    def do_HEAD(self):
        code, reason = {
            "no": (404, "RepoNotFound"),
            "gated": (403, "GatedRepo"),
            "without": (404, "EntryNotFound"),
            "broken": (500, ""),
        }[self.path.split("/")[1]]
        self.send_response(code)
        self.send_header("X-Error-Code", reason)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_host_that_does_not_give_a_file_is_said_to_with_the_reason(tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        names = "no/model", "gated/model", "without/model", "broken/model"
        said, seconds = not_fetched(f"http://127.0.0.1:{server.server_port}", tmp_path, *names)
        server.shutdown()
    assert said["no/model"] == "there is no such repository, or it is private"
    assert said["gated/model"].startswith("its owner gives it to those who ask")
    assert said["without/model"] == "the repository has no config.json"
    assert "500" in said["broken/model"]
    assert max(seconds) < 5


@pytest.mark.parametrize("name", ["qwen3-8b", "Qwen3-8B"])
def test_a_name_of_the_catalog_is_told_where_it_is_taken(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        read(name)
    said = str(refused.value)
    assert said.startswith(f"{name}: a model of the catalog, ") and 'takes it, as model = "qwen3-8b" in' in said
    assert "config.json of Qwen/Qwen3-8B, as" in said and said.endswith("https://huggingface.co/Qwen/Qwen3-8B")
    Path(name).mkdir()
    Path(name, "config.json").write_text(json.dumps(LLAMA))
    assert read(name).name == name  # a folder of that name is what it says


def test_every_family_with_defaults_is_one_that_is_read():
    assert set(sources.known()["defaults"]) <= set(families.FAMILIES)
