"""costlib.model_config.gguf: the header of a file, whole or broken; what it does not understand it refuses."""

import random
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.arguments import ArgumentError
from costlib.book.llama_cpp import EXPERTS, LATENT, WINDOW, Case, write
from costlib.model_config import InputError, Refused
from costlib.model_config.gguf import KNOWN, read_gguf, read_header
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.precision import precision_of
from costlib.units import Quantity

steady = settings(derandomize=True, deadline=None, max_examples=200)
TENSORS = {"token_embd.weight": [1024, 259], "blk.0.ffn_up_exps.weight": [1024, 32, 4], "blk.4.attn_q.weight": [64, 64]}
TOKENS = Quantity(4096, "token")


def file(folder, architecture="llama", fields=(), tensors=(), name="model.gguf"):
    path = Path(folder, name)
    write(str(path), Case("", architecture, dict(fields)), dict(tensors))
    return path


def changed(folder, content, name="changed.gguf"):
    path = Path(folder, name)
    path.write_bytes(content)
    return path


def read(folder, architecture="llama", fields=()):
    return read_gguf(file(folder, architecture, fields))


def test_fields_and_tensors_are_those_that_the_package_gguf_reads(tmp_path):
    path = file(tmp_path, "gpt-oss", {**WINDOW, "attention.sliding_window_pattern": [True, False] * 3}, TENSORS)
    theirs = gguf.GGUFReader(path)
    fields, tensors = read_header(path)
    whole = {name: value.contents() for name, value in theirs.fields.items() if not name.startswith("GGUF.")}
    texts = [name for name, value in theirs.fields.items() if value.types[1:] == [gguf.GGUFValueType.STRING]]
    assert fields == {name: None if name in texts else value for name, value in whole.items()}
    assert tensors == [(t.name, t.n_elements, t.n_bytes) for t in theirs.tensors]


def test_weights_are_counted_from_the_table_of_tensors(tmp_path):
    fields = {"block_count": 5, "nextn_predict_layers": 1, "expert_count": 4, "expert_used_count": 1}
    config = read_gguf(file(tmp_path, "glm4moe", fields, TENSORS))
    counted = config.parameters
    embedding, experts, predictor = 1024 * 259, 1024 * 32 * 4, 64 * 64
    assert counted.total == embedding + experts
    assert counted.active == embedding + experts // 4
    assert (counted.embedding, counted.predictors) == (embedding, predictor)
    assert config.weights == Quantity(4 * (embedding + experts + predictor), "byte")


def test_the_active_weights_are_open_where_the_header_does_not_say_how_many_experts_are_used(tmp_path):
    assert read_gguf(file(tmp_path, "qwen3moe", {}, TENSORS)).parameters.active is None


@pytest.mark.parametrize("content", [b"", b"GG", b"GGUF", b"{}", b"GGML" + bytes(100), bytes(100)])
def test_what_is_no_gguf_file_is_refused(tmp_path, content):
    with pytest.raises(InputError):
        read_gguf(changed(tmp_path, content))


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    content = file(tmp_path, "llama", {}, TENSORS).read_bytes()
    for end in [*range(0, 2000, 7), *range(2000, len(content) - 32, 20_011)]:
        with pytest.raises(InputError, match="cut off|empty|begins with"):
            read_gguf(changed(tmp_path, content[:end]))


@pytest.mark.parametrize("missing", [Path("no-such.gguf"), Path(".")])
def test_what_cannot_be_opened_is_refused(missing):
    with pytest.raises(InputError, match="cannot be read"):
        read_gguf(missing)


def test_a_byte_that_was_changed_never_ends_in_a_traceback(tmp_path):
    content, rng = file(tmp_path, "gpt-oss", {**WINDOW, **EXPERTS}, TENSORS).read_bytes(), random.Random(0)
    for _ in range(500):
        broken = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            broken[rng.randrange(1500)] = rng.choice([0, 1, 255, rng.randrange(256)])
        try:
            config = read_gguf(changed(tmp_path, bytes(broken)))
        except InputError:
            continue
        assert config.state(TOKENS) >= Quantity(0, "byte")


HEADER = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
KEY = struct.pack("<Q", 1) + b"a"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "little-endian"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (HEADER + KEY + struct.pack("<I", 99), "type 99"),
        (HEADER + KEY + struct.pack("<IIQ", 9, 9, 1), "list of type 9"),
        (HEADER + KEY + struct.pack("<IIQ", 9, 0, 2**60), "cut off"),
        (HEADER + KEY + struct.pack("<IIQ", 9, 8, 2**60), "cut off"),
        (HEADER + struct.pack("<Q", 2**63), "cut off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "cut off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (KEY + struct.pack("<IB", 0, 1)) * 2, "twice"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + KEY + struct.pack("<I", 200), "200 dimensions"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + KEY + struct.pack("<IQIQ", 1, 1, 999, 0), "format 999"),
        (HEADER + KEY + struct.pack("<IB", 0, 1), "general.architecture"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused_with_the_reason(tmp_path, content, why):
    with pytest.raises(InputError, match=why):
        read_gguf(changed(tmp_path, content))


def parts(folder, count):
    """A model in so many parts, of which the first has the fields."""
    for number in range(count):
        writer = gguf.GGUFWriter(str(Path(folder, f"m-{number + 1:05}-of-{count:05}.gguf")), "llama")
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", count)
        if not number:
            for name in ("block_count", "embedding_length", "attention.head_count"):
                writer.add_uint32(f"llama.{name}", 4)
        writer.add_tensor("token_embd.weight" if number else "output.weight", np.zeros(8, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def test_a_model_in_parts_is_counted_over_all_of_them(tmp_path):
    parts(tmp_path, 3)
    assert read_gguf(tmp_path / "m-00001-of-00003.gguf").parameters.total == 3 * 8


def test_a_model_whose_parts_are_not_all_there_is_not_counted(tmp_path):
    parts(tmp_path, 2)
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    config = read_gguf(tmp_path / "m-00001-of-00002.gguf")
    assert config.parameters is None
    assert config.notes == ("weights are not counted: not all parts of the file are here",)


def test_a_part_that_is_not_the_first_is_refused(tmp_path):
    parts(tmp_path, 2)
    with pytest.raises(InputError, match="wanted the first"):
        read_gguf(tmp_path / "m-00002-of-00002.gguf")


@pytest.mark.parametrize("architecture", ["bert", "t5", "deepseek4", "gema3"])
def test_an_architecture_that_is_not_known_is_refused(tmp_path, architecture):
    with pytest.raises(Refused) as refused:
        read(tmp_path, architecture)
    assert (refused.value.field, refused.value.given) == ("general.architecture", architecture)


@pytest.mark.parametrize(
    ("architecture", "fields", "field"),
    [
        ("llama", {"attention.sliding_window": 4096}, "attention.sliding_window"),
        ("granite", {"ssm.state_size": 128}, "ssm.state_size"),
        ("qwen3", {"full_attention_interval": 4}, "full_attention_interval"),
        ("llama", {"attention.compress_ratios": [4, 4]}, "attention.compress_ratios"),
        ("deepseek2", {**LATENT, "attention.indexer.key_length": 128}, "attention.indexer.key_length"),
        ("deepseek2", {**LATENT, "attention.kv_lora_rank_swa": 128}, "attention.kv_lora_rank_swa"),
    ],
)
def test_a_field_that_the_architecture_is_not_known_to_have_is_refused(tmp_path, architecture, fields, field):
    with pytest.raises(Refused) as refused:
        read(tmp_path, architecture, fields)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("architecture", "fields", "named"),
    [
        ("llama", {"block_count": 0}, "block_count"),
        ("llama", {"block_count": None}, "block_count"),
        ("llama", {"block_count": 2, "nextn_predict_layers": 2}, "block_count"),
        ("llama", {"attention.head_count_kv": [2, 2]}, "attention.head_count_kv"),
        ("llama", {"attention.key_length": None, "embedding_length": 1000, "attention.head_count": 3}, "key_length"),
        ("llama", {"attention.key_length": None, "attention.head_count": None}, "attention.head_count"),
        ("gemma4", {**WINDOW, "attention.sliding_window_pattern": [True]}, "attention.sliding_window_pattern"),
        ("gemma4", WINDOW, "attention.sliding_window_pattern"),
        ("gemma3", {**WINDOW, "attention.sliding_window_pattern": [7] * 6}, "attention.sliding_window_pattern"),
        ("deepseek2", {**LATENT, "attention.key_length": 100}, "attention.key_length"),
        ("mamba", {"ssm.conv_kernel": 0}, "ssm"),
        ("qwen3next", {"full_attention_interval": 0}, "full_attention_interval"),
    ],
)
def test_an_impossible_value_is_refused_by_its_name(tmp_path, architecture, fields, named):
    with pytest.raises(InputError, match=named.replace(".", r"\.")):
        read(tmp_path, architecture, fields)


def test_an_assumption_stands_in_for_a_field_and_beside_the_result(tmp_path):
    path = file(tmp_path, "gemma3", WINDOW)
    config = read_gguf(path, ["attention.sliding_window=256"])
    assert {cache.window for cache in config.caches} == {None, 256}
    assert "attention.sliding_window = 256, assumed; the file has 1024" in config.assumptions


NUMBERS = st.one_of(
    st.integers(0, 2**32 - 1), st.integers(0, 64), st.lists(st.integers(0, 64), max_size=6), st.booleans()
)
NAMES = (
    "block_count embedding_length feed_forward_length attention.head_count attention.head_count_kv attention.key_length"
    " attention.value_length attention.key_length_swa attention.sliding_window attention.sliding_window_pattern"
    " attention.shared_kv_layers attention.kv_lora_rank attention.key_length_mla attention.indexer.key_length"
    " nextn_predict_layers full_attention_interval ssm.conv_kernel ssm.inner_size ssm.state_size ssm.group_count"
    " kda.head_dim wkv.head_size token_shift_count shortconv.l_cache context_length"
).split()


@steady
@given(st.sampled_from(sorted(KNOWN)), st.dictionaries(st.sampled_from(NAMES), NUMBERS, max_size=6))
def test_any_header_gives_a_number_or_a_reason(tmp_path_factory, architecture, fields):
    path = file(tmp_path_factory.getbasetemp(), architecture, fields, name="any.gguf")
    try:
        config = read_gguf(path)
        reserved = llama_cpp(config, TOKENS)
    except (InputError, ArgumentError) as reason:
        assert str(reason)
        return
    assert config.state(TOKENS) >= Quantity(0, "byte")
    assert reserved.total >= Quantity(0, "byte")
    assert sum(c.layers for c in (*config.caches, *config.states) if c.kind != "indexer") <= 2 * config.layers


def test_more_than_it_has_formats_for_is_refused(tmp_path):
    config = read(tmp_path)
    with pytest.raises(ArgumentError, match="kv_precision = 1 B/element; wanted that of fp32"):
        llama_cpp(config, TOKENS, precision_of("fp8"))
    with pytest.raises(ArgumentError, match="value_precision"):
        llama_cpp(config, TOKENS, value_precision=precision_of("mxfp4"))


def test_heads_that_are_no_whole_blocks_are_refused(tmp_path):
    config = read(tmp_path, fields={"attention.key_length": 80, "attention.value_length": 64})
    with pytest.raises(ArgumentError, match="kv_precision = 1.0625 B/element; .* blocks of 32 divide 80"):
        llama_cpp(config, TOKENS, precision_of("q8_0"))
    assert llama_cpp(config, TOKENS, value_precision=precision_of("q8_0")).total > Quantity(0, "byte")


def test_latents_have_one_format(tmp_path):
    config = read(tmp_path, "deepseek2", LATENT)
    with pytest.raises(ArgumentError, match="one for both"):
        llama_cpp(config, TOKENS, precision_of("q8_0"), value_precision=precision_of("q4_0"))


@pytest.mark.parametrize("setting", [{"sequences": 0}, {"sequences": 1.0}, {"micro_batch": 0}, {"micro_batch": True}])
def test_a_setting_that_is_no_whole_number_is_refused(tmp_path, setting):
    with pytest.raises(ArgumentError, match=next(iter(setting))):
        llama_cpp(read(tmp_path), TOKENS, **setting)


@pytest.mark.parametrize("tokens", [Quantity(-1, "token"), Quantity(1.5, "token"), Quantity(1, "byte"), 4096])
def test_a_length_that_is_none_is_refused(tmp_path, tokens):
    with pytest.raises(ArgumentError, match="tokens"):
        llama_cpp(read(tmp_path), tokens)


def test_the_rows_add_up_to_the_total_and_say_so_in_their_formulas(tmp_path):
    reserved = llama_cpp(read(tmp_path, "gemma3", WINDOW), TOKENS, sequences=2)
    assert [formula for _, formula, _ in reserved.rows] == [
        "5 layers × 2 × pad(min(4,096, 1,024 × 1 + 512)) = 1,536 cells × 1,024 B",
        "1 layers × 2 × 4,096 cells × 1,024 B",
    ]
    assert sum(size.m_as("byte") for _, _, size in reserved.rows) == reserved.total.m_as("byte")
    assert reserved.bytes_per_token == Quantity(1024, "byte/token")
