"""Seven real configurations, bent: a number within what the fields permit, or a refusal; nothing else.

The suite tries some thousands. More are tried by

    COSTLIB_EXAMPLES=100000 pytest tests/test_mutated_configs.py
"""

import json
import math
import os
from collections import defaultdict
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costlib.book import FILES
from costlib.model_config import InputError, engines, read, read_table
from costlib.model_config.llama_cpp import llama_cpp
from costlib.model_config.sources import known
from costlib.units import Quantity

EXAMPLES = int(os.environ.get("COSTLIB_EXAMPLES", 2000))
many = settings(
    derandomize=True,
    deadline=None,
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

FOLDER = FILES / "configs"
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


def sizes(*tables):
    """The whole numbers under each name, at any depth, also in a list; and of lists and texts, the lengths."""
    found = defaultdict(list)
    left = list(tables)
    while left:
        for name, value in left.pop().items():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict):
                    left.append(inner)
                elif isinstance(inner, int) and not isinstance(inner, bool) and inner > 0:
                    found[name].append(inner)
            if isinstance(value, list | str):
                found[f"length of {name}"].append(len(value))
    return found


class Permitted:
    """The least and the most that any reading of some tables could keep; simpler than any reading, and looser."""

    def __init__(self, *tables):
        self.sizes = sizes(*tables)

    def all(self, *names):
        return [size for name in names for size in self.sizes[name]]

    def most(self, *names):
        return max(self.all(*names), default=0)

    def largest(self, tokens):
        """Everything at its largest, in every layer."""
        lists = "length of layer_types", "length of hybrid_override_pattern", "length of layers_block_type"
        layers = self.most("num_hidden_layers", *lists)
        heads = self.most("num_key_value_heads", "num_attention_heads", "num_global_key_value_heads")
        latent = self.most("kv_lora_rank") + self.most("qk_rope_head_dim")
        derived = self.most("hidden_size") // min(self.all("num_attention_heads"))
        width = max(self.most("head_dim", "global_head_dim", "v_head_dim"), latent, derived)
        inner = self.most("mamba_num_heads") * self.most("mamba_head_dim")
        channels = inner + 2 * self.most("n_groups") * self.most("ssm_state_size")
        state = inner * self.most("ssm_state_size") + channels * self.most("conv_kernel")
        return layers * (2 * heads * width * tokens * 2 + state * 8)

    def smallest(self, tokens):
        """One layer, on one head of the smallest size, with the smallest window."""
        derived = min(self.all("hidden_size")) // self.most("num_attention_heads")
        width = min([size for size in (*self.all("head_dim", "global_head_dim", "kv_lora_rank"), derived) if size])
        return 2 * width * min(tokens, *self.all("sliding_window", "attention_chunk_size"), tokens)


def check(model, permitted=None):
    """What holds for the answer, whatever the file said; and that it lies within what the fields permit."""
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
        if permitted:
            assert state <= permitted.largest(length)
            assert not model.caches or state >= constant + permitted.smallest(length)
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
        for engine in (engines.vllm, engines.sglang, llama_cpp):
            reserved = engine(model, tokens, TWO_BYTES)
            total = reserved.total.m_as("byte")
            assert math.isfinite(total) and total > 0
            assert total == pytest.approx(sum(size.m_as("byte") for _, _, size in reserved.rows))
            assert reserved.constant.m_as("byte") >= 0 and reserved.bytes_per_token.m_as("byte/token") >= 0
            assert engine is engines.sglang or total >= cached  # its pool for windows is shared by sequences


def model_types(table):
    """The architectures that a table names, at the top and of the text."""
    inner = (table[key] for key in ("text_config", "language_config") if isinstance(table.get(key), dict))
    return {repr(one.get("model_type")) for one in (table, *inner)}


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
    check(model, Permitted(config, CONFIGS[name]) if of_the_same_type else None)


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
    """A bound of infinity, or of zero, would check nothing."""
    config = CONFIGS[name]
    permitted = Permitted(config)
    check(read_table(config, name), permitted)
    state = read_table(config, name).state(Quantity(4096, "token"), TWO_BYTES).m_as("byte")
    assert permitted.largest(4096) < 1000 * state
    assert permitted.smallest(4096) > 1e-6 * state


DEFAULTS = [
    (name, field)
    for name, config in CONFIGS.items()
    for text in [config.get("text_config", config)]
    for field in sorted(text.keys() & known()["defaults"].get(text["model_type"], {}).keys() - {"model_type"})
]


@pytest.mark.parametrize("name, field", DEFAULTS)
def test_a_field_that_is_omitted_is_as_the_architecture_has_it(name, field):
    """The same as if the file said what the architecture's code takes for it, a false and a zero as well."""
    omitted, said = deepcopy(CONFIGS[name]), deepcopy(CONFIGS[name])
    text = said.get("text_config", said)
    del omitted.get("text_config", omitted)[field]
    text[field] = known()["defaults"][text["model_type"]][field]
    assert answer(omitted) == answer(said)


def answer(config):
    """What is kept of a short and of a long sequence; or that it is refused."""
    try:
        model = read_table(config, "config.json")
    except InputError:
        return "refused"
    return [model.state(Quantity(length, "token"), TWO_BYTES) for length in LENGTHS]
