"""Seven real configurations, bent: a number within what the fields permit, or a refusal; nothing else.

The suite tries some thousands. More are tried by

    COSTLIB_EXAMPLES=100000 pytest tests/test_mutated_configs.py
"""

import json
import math
import os
from copy import deepcopy
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costlib.model_config import InputError, engines, read, read_table
from costlib.units import Quantity

EXAMPLES = int(os.environ.get("COSTLIB_EXAMPLES", 2000))
many = settings(
    derandomize=True,
    deadline=None,
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

FOLDER = Path(__file__).parent / "configs"
CONFIGS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
LENGTHS = (1, 4097, 10_000_000)
TWO_BYTES = Quantity(2.0, "byte/element")


# What is done to a configuration

ODD_VALUES = [
    *(None, 0, -1, 1, 2, 3, 7, 64, 128, 4097, 10**9, 2**63, 10**30, -(10**30), True, False),
    *(0.0, 0.5, 2.0, -2.0, 1e300, math.nan, math.inf, -math.inf, "", "128", "NaN", "auto", "null", "\0", "é"),
    *([], [0], [None], [8], [[8]], [1, 2, 3], ["full_attention"], {}, {"a": 1}, {"num_hidden_layers": 3}),
    *("M" * 88, "M*E-X", "full_attention", "float64", "bfloat16", "fp8"),
]
ODD = st.sampled_from(ODD_VALUES)
TYPES = st.sampled_from(
    "llama gemma4 gemma4_text gpt_oss deepseek_v3 mixtral llama4 nemotron_h qwen3 gpt2 mamba2 bert unheard-of".split()
)
NAMES = st.sampled_from(
    "num_hidden_layers head_dim num_key_value_heads sliding_window layer_types kv_lora_rank num_kv_shared_layers"
    " hybrid_override_pattern attention_chunk_size full_attention_interval sliding_window_pattern use_sliding_window"
    " num_nextn_predict_layers multi_query cross_attention_layers n_layer n_head n_embd v_head_dim text_config"
    " no_rope_layers layers_block_type compress_ratios index_head_dim foo_layers cache_of_tomorrow window_2 x".split()
)


def paths(table, above=()):
    """Where a value stands, at any depth: in a table, or at either end of a list."""
    for key, value in table.items() if isinstance(table, dict) else {0: table[0], len(table) - 1: table[-1]}.items():
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*above, key))


def matters(path):
    """Fields from which a size is read; the others are bent less often."""
    if "vision_config" in path or "quantization_config" in path:
        return False
    name = next(key for key in reversed(path) if isinstance(key, str))
    words = "layer head dim hidden_size rank window chunk pattern kv_ type state_size n_groups conv config share"
    return any(word in name for word in words.split())


PATHS = {name: list(paths(config)) for name, config in CONFIGS.items()}
VITAL = {name: [path for path in found if matters(path)] for name, found in PATHS.items()}


def bent(config, path, how, odd):
    """One change; none where an earlier one took the place away."""
    holder = config
    for key in path[:-1]:
        try:
            holder = holder[key]
        except (KeyError, IndexError, TypeError):
            return
    key = path[-1]
    try:
        value = holder[key]
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(holder, str):
        return
    if how == "remove":
        del holder[key]
    elif how == "set":
        holder[key] = odd
    elif how == "nest":
        holder[key] = {"value": value} if isinstance(odd, str) else [value]
    elif how == "text":
        holder[key] = str(value)
    elif how == "rename" and isinstance(holder, dict):
        holder[odd if isinstance(odd, str) else f"{key}_"] = holder.pop(key)
    elif how == "scale" and isinstance(value, int):
        holder[key] = value * 2 if odd else value // 2
    elif how == "scale" and isinstance(value, list | str):
        holder[key] = value * 2 if odd else value[: len(value) // 2]
    elif how == "lengthen" and isinstance(value, list):
        value.append(odd)
    elif how == "lengthen" and isinstance(value, str):
        holder[key] = value + (odd if isinstance(odd, str) else "?")
    elif how == "shorten" and isinstance(value, list | str):
        holder[key] = value[:-1]
    elif how == "turn" and isinstance(value, list | str):
        holder[key] = value[::-1]
    elif how == "add" and isinstance(value, dict):
        value["x_" + (odd if isinstance(odd, str) else "layers")] = odd


HOW = "remove set set set nest text rename scale scale lengthen shorten turn add".split()


class Bent:
    """One of the seven, and the changes that made it another; the fields are too many to print."""

    def __init__(self, name, config, changes):
        self.name, self.config, self.changes = name, config, changes

    def __repr__(self):
        return f"{self.name} after {self.changes}"


@st.composite
def bent_configs(draw):
    """One of the seven after one to four changes."""
    name = draw(st.sampled_from(sorted(CONFIGS)))
    config, changes = deepcopy(CONFIGS[name]), []
    for _ in range(draw(st.integers(1, 4))):
        where = draw(st.sampled_from([VITAL, VITAL, VITAL, PATHS]))[name]
        change = draw(st.sampled_from(where)), draw(st.sampled_from(HOW)), deepcopy(draw(ODD))
        bent(config, *change)
        changes.append(change)
    place = draw(st.sampled_from(["as it is"] * 6 + ["with", "inside", "of type", "text over top", "text"]))
    text = config["text_config"] if isinstance(config.get("text_config"), dict) else config
    if place == "with":
        added = {draw(NAMES): deepcopy(draw(ODD))}
        text.update(added)
        changes.append((place, added))
    elif place == "inside":
        outer = draw(st.sampled_from(["text_config", "language_config"]))
        config = {"model_type": draw(TYPES), outer: config}
        changes.append((place, outer, config["model_type"]))
    elif place == "of type":
        text["model_type"] = draw(TYPES)
        changes.append((place, text["model_type"]))
    elif place != "as it is":
        config = {**config, **text} if place == "text over top" else text
        changes.append(place)
    return Bent(name, config, changes)


# What the fields permit


def values(table, name):
    """All that stands under a name, at any depth."""
    if isinstance(table, dict):
        for key, value in table.items():
            if key == name:
                yield value
            yield from values(value, name)
    elif isinstance(table, list):
        for value in table:
            yield from values(value, name)


def wholes(table, *names):
    """The whole numbers under these names, also those in a list."""
    for name in names:
        for value in values(table, name):
            for number in value if isinstance(value, list) else [value]:
                if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
                    yield number


def most(tables, *names):
    """The largest number under these names: in the bent file, or in the real one, for what the bent one omits."""
    return max((number for table in tables for number in wholes(table, *names)), default=0)


def largest_state(tables, tokens):
    """No fewer bytes than any reading of these fields could keep: everything at its largest, in every layer."""
    lists = ("layer_types", "hybrid_override_pattern", "layers_block_type")
    listed = [value for table in tables for name in lists for value in values(table, name)]
    layers = max(
        most(tables, "num_hidden_layers"), 61, *(len(value) for value in listed if isinstance(value, list | str))
    )
    heads = max(most(tables, "num_key_value_heads", "num_attention_heads", "num_global_key_value_heads"), 128)
    sizes = ("head_dim", "global_head_dim", "v_head_dim", "hidden_size", "attention_head_dim")
    latent = most(tables, "kv_lora_rank") + most(tables, "qk_rope_head_dim")
    size = max(most(tables, *sizes), latent, 576)
    inner = max(most(tables, "mamba_num_heads"), 128) * max(most(tables, "mamba_head_dim"), 128)
    states = max(most(tables, "ssm_state_size"), 128)
    conv = (inner + 2 * max(most(tables, "n_groups"), 8) * states) * max(most(tables, "conv_kernel"), 4)
    return layers * (2 * heads * size * tokens * 2 + inner * states * 8 + conv * 8)


def smallest_state(tables, tokens):
    """No more bytes than one layer keeps on one head of the smallest size, of the smallest window."""
    declared = [wholes(table, "head_dim", "global_head_dim", "kv_lora_rank") for table in tables]
    heads = max(most(tables, "num_attention_heads"), 1)
    derived = [size // heads for table in tables for size in wholes(table, "hidden_size")]
    sizes = [size for size in (*chain(*declared), *derived) if size]
    windows = (wholes(table, "sliding_window", "attention_chunk_size") for table in tables)
    return 2 * min(sizes, default=1) * min(tokens, *(window for window in chain(*windows) if window), 10**30)


def check(model, tables=()):
    """What holds for the answer, whatever the file said; and, of these tables, what their fields permit."""
    before = 0
    growing = model.bytes_per_token(TWO_BYTES).m_as("byte/token")
    constant = model.constant_state().m_as("byte")
    assert math.isfinite(growing) and growing >= 0
    assert math.isfinite(constant) and constant >= 0
    for length in LENGTHS:
        tokens = Quantity(length, "token")
        state = model.state(tokens, TWO_BYTES).m_as("byte")
        window = model.window_state(tokens, TWO_BYTES).m_as("byte")
        assert math.isfinite(state) and state > 0
        assert 0 <= window <= state
        assert state >= before
        assert state == pytest.approx(constant + window + growing * length, rel=1e-12)
        if tables:
            assert state <= largest_state(tables, length)
            assert not model.caches or state >= constant + smallest_state(tables, length)
        before = state
    for cache in model.caches:
        assert cache.layers >= 1 and cache.heads >= 1 and cache.key_dim >= 1 and cache.value_dim >= 0
        assert cache.window is None or cache.window >= 1
    assert all(state.layers >= 1 and state.bytes_per_layer > 0 for state in model.states)
    if model.parameters is not None:
        assert 0 < (model.parameters.active or 1) <= model.parameters.total < 10**18
    check_engines(model)
    assert str(model.name) and all(isinstance(text, str) for text in (*model.assumptions, *model.notes))


def check_engines(model):
    """What an engine reserves is finite, and holds at least what attending layers keep."""
    for length in (1, 10_000_000):
        tokens = Quantity(length, "token")
        cached = (model.state(tokens, TWO_BYTES) - model.constant_state()).m_as("byte")
        for engine in (engines.vllm, engines.sglang):
            reserved = engine(model, tokens, TWO_BYTES)
            total = reserved.total.m_as("byte")
            assert math.isfinite(total) and total > 0
            assert total == pytest.approx(sum(size.m_as("byte") for _, _, size in reserved.rows))
            assert reserved.constant.m_as("byte") >= 0 and reserved.bytes_per_token.m_as("byte/token") >= 0
        assert engines.vllm(model, tokens, TWO_BYTES).total.m_as("byte") >= cached


def model_types(table):
    return {value for value in values(table, "model_type") if isinstance(value, str)}


def check_answer(config, name):
    """A number as :func:`check` wants it, or a refusal with words; and the fields are not touched."""
    before = repr(config)
    try:
        model = read_table(config, "config.json")
    except InputError as error:
        assert str(error)
        return
    finally:
        assert repr(config) == before
    of_the_same_type = model_types(config) <= model_types(CONFIGS[name])
    check(model, (config, CONFIGS[name]) if of_the_same_type else ())


@many
@given(bent_configs())
def test_a_bent_configuration_gives_a_number_or_a_refusal(drawn):
    check_answer(drawn.config, drawn.name)


@pytest.mark.parametrize("name, path", [(name, path) for name, found in VITAL.items() for path in found], ids=str)
def test_a_field_with_any_odd_value_gives_a_number_or_a_refusal(name, path):
    """Each field that matters, alone, with each of the values: what the drawn ones may miss."""
    for how, odd in [("remove", None), *(("set", odd) for odd in ODD_VALUES)]:
        config = deepcopy(CONFIGS[name])
        bent(config, path, how, deepcopy(odd))
        try:
            check_answer(config, name)
        except Exception as error:
            raise AssertionError(f"{how} {odd!r}: {error!r}") from error


@settings(many, max_examples=EXAMPLES // 4)
@given(bent_configs(), st.data())
def test_a_torn_file_gives_a_number_or_a_refusal(tmp_path, drawn, data):
    """The same as text: with NaN and Infinity, names that stand twice, letters lost, swapped and repeated."""
    text = json.dumps(drawn.config, ensure_ascii=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 30)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", text[start:end] * 2, '"', "0", "\ufeff", "{", "]"]))
            + text[end:]
        )
    file = tmp_path / "config.json"
    file.write_text(text, encoding="utf-8")
    try:
        model = read(file)
    except InputError as error:
        assert str(error)
        return
    check(model)


@pytest.mark.parametrize("name", CONFIGS)
def test_unbent_the_bounds_hold_and_are_not_idle(name):
    """The state is within six orders of magnitude of both bounds: one of infinity would check nothing."""
    config = CONFIGS[name]
    check(read_table(config, name), (config,))
    state = read_table(config, name).state(Quantity(4096, "token"), TWO_BYTES).m_as("byte")
    assert largest_state((config,), 4096) < 1e6 * state
    assert smallest_state((config,), 4096) > 1e-6 * state
