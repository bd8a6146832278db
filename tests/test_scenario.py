"""costlib.scenario: the reference, a reader's file laid over it, and what is wrong with a file."""

import dataclasses
import json
import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costlib import capacity, catalog, serving
from costlib.scenario import PARTS, VARIABLE, InputError, Scenario, load, loads
from costlib.units import Quantity, quantity, times

steady = settings(
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example writes the one file anew
)


@pytest.fixture(autouse=True)
def no_scenario_of_the_readers(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def overlay(tmp_path):
    """A function that loads a file of the text given."""

    def load_text(text):
        file = tmp_path / "mine.toml"
        file.write_text(text, encoding="utf-8")
        return load(file)

    return load_text


@pytest.fixture
def refusal(overlay):
    """A function that returns what is said of a file of the text given."""

    def message(text):
        with pytest.raises(InputError) as error:
            overlay(text)
        return str(error.value)

    return message


# The reference


@pytest.mark.parametrize(
    "part, field, stated",
    [
        ("model", "parameters", "70.6e9 parameter"),
        ("model", "layers", "80 layer"),
        ("model", "width", "8192 channel"),
        ("model", "vocabulary", "128000 token"),
        ("accelerator", "memory", "80 GiB"),
        ("accelerator", "bandwidth", "3.35 TB/s"),
        ("accelerator", "rate_8bit", "1979 Top/s"),
        ("node", "accelerators", "8 accelerator"),
        ("link", "bandwidth", "450 GB/s"),
        ("host_link", "bandwidth", "64 GB/s"),
        ("precision", "weights", "1 byte/parameter"),
        ("precision", "kv_cache", "2 byte/element"),
        ("reserve", "weights", "2 byte/parameter"),
        ("reserve", "runtime", "20 GB"),
        ("workload", "context", "32768 token"),
        ("workload", "batch", "64 sequence"),
        ("workload", "start_rate", "2 sequence/s"),
        ("workload", "turns", "15"),
        ("workload", "tool_time", "20 s"),
    ],
)
def test_the_reference_is_the_appendix(part, field, stated):
    assert getattr(getattr(load(), part), field) == quantity(stated)


def test_the_references_attention_is_that_of_the_appendix():
    (kind,) = load().model.attention
    assert (kind.query_heads, kind.kv_heads, kind.key_dim) == tuple(
        map(quantity, ("64 head", "8 head", "128 channel/head"))
    )


def test_what_follows_from_the_reference_follows():
    scenario = load()
    assert scenario.peak_rate == quantity("1979 Top/s")
    assert scenario.weights.m_as("GB") == pytest.approx(70.6)
    assert scenario.node_memory == quantity("640 GiB")
    assert scenario.file == ""


def test_every_value_of_the_reference_has_an_origin():
    scenario = load()
    for name in PARTS:
        part = getattr(scenario, name)
        values = {field for field in vars(part) if field != "origin" and getattr(part, field) is not None}
        assert values - set(part.origin) == set(), name


# What a reader may change


def test_an_empty_file_changes_nothing(overlay):
    scenario = overlay("")
    assert all(getattr(scenario, name) == getattr(load(), name) for name in PARTS)


def test_a_part_is_chosen_by_its_name(overlay):
    scenario = overlay('model = "qwen3-32b"\naccelerator = "h200-sxm"')
    assert scenario.model == catalog.part("model", "qwen3-32b")
    assert scenario.accelerator == catalog.part("accelerator", "h200-sxm")
    assert scenario.workload == load().workload


def test_single_values_change_and_the_others_stay(overlay):
    scenario = overlay('[workload]\ncontext = "65536 token"')
    assert scenario.workload.context == quantity("65536 token")
    assert scenario.workload.batch == load().workload.batch
    assert scenario.workload.title == "the worked trajectory, changed"


def test_a_changed_value_remembers_its_file_and_note(overlay):
    workload = overlay('[workload]\ncontext = "65536 token"\nnotes.context = "measured"').workload
    assert (workload.origin["context"].title, workload.origin["context"].note) == ("mine.toml", "measured")
    assert workload.origin["batch"] == load().workload.origin["batch"]


def test_a_changed_value_may_name_its_source(overlay):
    assert overlay('[workload]\nturns = 4\nsource = "our logs"').workload.origin["turns"].title == "our logs"


def test_a_part_of_the_catalog_may_be_changed_too(overlay):
    model = overlay('[model]\nfrom = "qwen3-32b"\nparameters = "33e9 parameter"').model
    assert model.parameters == quantity("33e9 parameter")
    assert model.attention == catalog.part("model", "qwen3-32b").attention


def test_a_title_given_is_the_title(overlay):
    assert overlay('[workload]\nturns = 4\ntitle = "ours"').workload.title == "ours"


def test_a_title_does_not_claim_what_was_changed(overlay):
    for part in ("precision", "reserve"):
        assert getattr(load(), part).changed_title == getattr(load(), part).title
    precision = '[precision]\nweights = "4.25 bit/parameter"\nactivations = "1 byte/element"'
    assert overlay(precision).precision.title == (
        "4.25-bit weights, 8-bit arithmetic, 16-bit KV cache, 8-bit activations"
    )
    reserve = overlay('[reserve]\nweights = "1 byte/parameter"\nruntime = "4 GiB"').reserve
    assert reserve.title == "8-bit weights and 4.29 GB for the runtime"
    node = overlay('[node]\nfrom = "hgx-8-nvlink-3"\naccelerators = 16').node
    assert node.title == "16 accelerators on nvlink-3, pcie-4-x16 to the host"


def test_a_part_given_the_values_that_it_has_is_not_changed(overlay):
    scenario = overlay('[accelerator]\nbandwidth = "3350 GB/s"\n[workload]\nturns = 15')
    assert [scenario.accelerator.title, scenario.workload.title] == [load().accelerator.title, load().workload.title]


def test_a_part_from_the_catalog_unchanged_keeps_its_title(overlay):
    assert overlay('[model]\nfrom = "qwen3-32b"').model.title == catalog.part("model", "qwen3-32b").title


def test_a_new_node_brings_its_links(overlay):
    scenario = overlay('node = "hgx-8-nvlink-3"')
    node = catalog.part("node", "hgx-8-nvlink-3")
    assert scenario.link == catalog.part("link", node.link)
    assert scenario.host_link == catalog.part("link", node.host_link)


def test_a_change_to_a_link_is_laid_over_that_of_the_new_node(overlay):
    scenario = overlay('node = "hgx-8-nvlink-3"\n[link]\nlatency = "3 µs"')
    assert scenario.link.latency == quantity("3 µs")
    assert scenario.link.bandwidth == catalog.part("link", "nvlink-3").bandwidth


def test_a_link_named_beside_a_node_is_the_link(overlay):
    assert overlay('node = "hgx-8-nvlink-3"\nlink = "nvlink-5"').link == catalog.part("link", "nvlink-5")


def test_a_node_of_the_readers_names_its_link(overlay):
    scenario = overlay('[node]\naccelerators = 4\nlink = "pcie-5-x16"')
    assert scenario.node.accelerators == quantity("4 accelerator")
    assert scenario.link == catalog.part("link", "pcie-5-x16")


def test_kinds_of_attention_are_an_array_of_tables(overlay):
    kind = "[[model.attention]]\nlayers = {}\nquery_heads = 64\nkv_heads = 8\n"
    kind += "key_dim = '128 channel/head'\nvalue_dim = '128 channel/head'\n"
    attention = overlay(kind.format(20) + kind.format(60) + "window = 4096").model.attention
    assert [k.layers for k in attention] == [quantity("20 layer"), quantity("60 layer")]
    assert [k.window for k in attention] == [None, quantity("4096 token")]


def test_the_arithmetic_chooses_the_rate(overlay):
    assert overlay('[precision]\narithmetic = "16-bit"').peak_rate == load().accelerator.rate_16bit


def test_the_environment_names_the_file(tmp_path, monkeypatch):
    file = tmp_path / "mine.toml"
    file.write_text("[workload]\nturns = 4")
    monkeypatch.setenv(VARIABLE, str(file))
    assert load().workload.turns == quantity("4")
    assert load().file == str(file)


def test_a_file_given_goes_before_that_of_the_environment(overlay, monkeypatch):
    monkeypatch.setenv(VARIABLE, "/nowhere/at/all.toml")
    assert overlay("[workload]\nturns = 4").workload.turns == quantity("4")


def test_an_empty_variable_is_none(monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert load() == load(None)


# What is refused

FAULTS = [
    ("[modle]", ["unknown key 'modle'", "did you mean 'model'"]),
    ("workload = 3", ["[workload] = 3", "wanted a table"]),
    ("model = 3", ["[model] = 3", "wanted a table or a name"]),
    ("[[model]]\nlayers = 3", ["[model] = [{'layers': 3}]", "wanted a table"]),
    ("precision = '8-bit'", ["precision = '8-bit'", "wanted a table [precision]"]),
    ("model = 'qwen3-23b'", ["model: no model 'qwen3-23b'", "did you mean 'qwen3-"]),
    ("model = ''", ["model: no model ''", "Valid: "]),
    ("[model]\nfrom = 'qwen3-23b'", ["model: no model 'qwen3-23b'", "did you mean 'qwen3-"]),
    ("[model]\nfrom = 3", ["[model] from = 3", "wanted a name"]),
    ("[model]\nfrom = ['qwen3-32b']", ["[model] from = ['qwen3-32b']", "wanted a name"]),
    ("[workload]\nfrom = 'x'", ["[workload]: unknown key 'from'"]),
    ("[node]\nlink = 'nvlink-44'", ["no link 'nvlink-44'", "did you mean 'nvlink-4'"]),
    ("[workload]\ncontxt = '1 token'", ["[workload]: unknown key 'contxt'", "did you mean 'context'"]),
    ("[workload]\ncontext = '1 GB'", ["[workload] context = '1 GB' is in GB", "from 1 token to 100,000,000 tokens"]),
    ("[workload]\ncontext = '-1 token'", ["[workload] context = '-1 token'", "from 1 token"]),
    ("[workload]\ncontext = '1e12 token'", ["[workload] context = '1e12 token'", "to 100,000,000 tokens"]),
    ("[workload]\ncontext = nan", ["[workload] context = nan", "from 1 token"]),
    ("[workload]\ncontext = true", ["[workload] context", "True has no unit", "from 1 token"]),
    ("[workload]\ncontext = 1979-05-27", ["[workload] context", "has no unit", "from 1 token"]),
    ("[workload]\ncontext.a = 1", ["[workload] context", "{'a': 1} has no unit", "from 1 token"]),
    ("[workload]\nmodel_time = 4", ["[workload] model_time", "4 has no unit", "from 1 ms"]),
    ("[workload]\nmodel_time = '4'", ["[workload] model_time = '4' has no unit", "from 1 ms"]),
    ("[workload]\nsource = 3", ["[workload] source = 3", "wanted a plain text"]),
    ("[workload]\nnotes = 'x'", ["[workload] notes = 'x'", "wanted a table of texts"]),
    ("[workload]\nturns = 3\nnotes.truns = 'x'", ["[workload] notes: 'truns'", "did you mean 'turns'"]),
    ("[workload]\nnotes.turns = 3", ["[workload] turns = 3", "wanted a plain text"]),
    ("[accelerator]\nbandwidth = '3,35 TB/s'", ["[accelerator] bandwidth", "comma", "from 1 GB/s"]),
    ("[accelerator]\nbandwidth = '3.35 Tb/s'", ["[accelerator] bandwidth", "no unit 'Tb'", "TB", "from 1 GB/s"]),
    ("[accelerator]\nmemory = '80 MB'", ["[accelerator] memory = '80 MB'", "from 1 GB"]),
    ("[precision]\narithmetic = '4-bit'", ["narrower than weights of 8 bits"]),
    (
        "[precision]\nweights = '0.5 byte/parameter'\narithmetic = '4-bit'",
        ["has no 4-bit rate", "it has 16-bit, 8-bit", "set [precision] arithmetic"],
    ),
    ("[precision]\narithmetic = 'fp8'", ["[precision] arithmetic = 'fp8'", "16-bit or 8-bit or 4-bit"]),
    ("[precision]\nweights = '8 bit'", ["[precision] weights = '8 bit' is in bit", "from 0.1 B/parameter"]),
    ("[model]\nlayers = 40", ["[model]: attention has 80", "more than layers = 40"]),
    ("[model]\nexperts = 8", ["[model]: active_parameters, experts and experts_per_token belong together"]),
    ("[model]\nattention = []", ["[model] attention = []", "[[...]] tables"]),
    ("[[model.attention]]\nlayers = 80", ["[model] attention[1]: query_heads is missing", "wanted query heads, from"]),
    (f"[model]\nlayers = {'9' * 400}", ["[model] layers", "too large", "from 1 layer"]),
    (f"[model]\nlayers = {'9' * 5000}", ["is not TOML"]),
    ("[model", ["is not TOML"]),
    ("turns: 4", ["is not TOML"]),
    ("[model]\n[model]", ["is not TOML"]),
]  # fmt: skip


@pytest.mark.parametrize("text, words", FAULTS, ids=[text[:40].replace("\n", " ") for text, _ in FAULTS])
def test_a_fault_is_refused_with_file_key_given_and_wanted(refusal, text, words):
    message = refusal(text)
    assert "mine.toml: " in message
    assert [word for word in words if word not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize("text", [text for text, _ in FAULTS] + ['accelerator = "h200-sxm"', "\N{BYTE ORDER MARK}", ""])
def test_a_text_is_loaded_and_refused_as_the_file_that_has_it(overlay, text):
    def found(load, *given):
        try:
            return dataclasses.replace(load(*given), file="")
        except InputError as error:
            return re.sub(r"[^ ]*mine\.toml", "mine.toml", str(error))

    assert found(loads, text, "mine.toml") == found(overlay, text)


def test_a_text_with_half_a_character_is_refused():
    with pytest.raises(InputError, match=r"mine\.toml: is not a text file"):
        loads('model.title = "\ud800"', "mine.toml")


def test_a_file_that_is_missing_is_refused(tmp_path):
    with pytest.raises(InputError, match="mine.toml: cannot be read: No such file"):
        load(tmp_path / "mine.toml")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_a_binary_file_is_refused(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF\xff\xfe\x00\x80")
    with pytest.raises(InputError, match=r"model.gguf: is not a text file; wanted TOML"):
        load(file)


# The command line


def run(*environment):
    return subprocess.run(
        [sys.executable, "-m", "costlib", "show"], capture_output=True, text=True, env=os.environ | dict(environment)
    )


def test_the_command_prints_the_parts_in_force():
    done = run()
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[: len(PARTS)]] == list(PARTS)
    assert "H100" in done.stdout


@pytest.mark.parametrize("text", ["[model]\nlayers = 'many'", "[model", None], ids=["value", "syntax", "missing"])
def test_the_command_says_in_one_line_what_is_wrong(tmp_path, text):
    file = tmp_path / "mine.toml"
    if text is not None:
        file.write_text(text)
    done = run((VARIABLE, str(file)))
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("costlib: ")
    assert "mine.toml" in done.stderr
    assert done.stderr.count("\n") == 1


# Any file


def toml(table):
    """TOML of a table of JSON-like values; JSON's strings and numbers are TOML's."""
    return "\n".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in table.items())


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


texts = st.text(st.characters(codec="ascii", exclude_characters="\x7f"), max_size=8)
names = st.sampled_from(
    ["h200-sxm", "qwen3-32b", "nvlink-4", "hgx-8-nvlink-4", "80 GB", "4 s", "8 token", "1 B/parameter", "8-bit"]
)
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | names | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted({field for cls in PARTS.values() for field in cls.__dataclass_fields__} | {"from", "source", "notes"})
part_tables = st.dictionaries(st.sampled_from(FIELDS) | texts, values, max_size=4)
tables = st.dictionaries(st.sampled_from(list(PARTS)) | texts, part_tables | values, max_size=3)


@steady
@given(tables)
def test_any_file_gives_a_scenario_or_an_input_error(tmp_path, table):
    file = tmp_path / "any.toml"
    file.write_text(toml(table), encoding="utf-8")
    try:
        assert isinstance(load(file), Scenario)
    except InputError as error:
        assert "any.toml" in str(error)


@steady
@given(st.binary(max_size=40))
def test_any_bytes_give_a_scenario_or_an_input_error(tmp_path, content):
    file = tmp_path / "any.toml"
    file.write_bytes(content)
    try:
        assert isinstance(load(file), Scenario)
    except InputError as error:
        assert "any.toml" in str(error)


def test_a_part_given_in_full_inherits_nothing(overlay):
    mine = "[accelerator]\ntitle = 'Mine'\nmemory = '64 GB'\nbandwidth = '2 TB/s'\nrate_16bit = '400 Top/s'\n"
    with pytest.raises(InputError, match="Mine has no 8-bit rate here; it has 16-bit"):
        overlay(mine)
    scenario = overlay(mine + "[precision]\narithmetic = '16-bit'")
    assert scenario.accelerator.rate_8bit is None and scenario.peak_rate == quantity("400 Top/s")


def test_a_byte_order_mark_is_no_fault(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b"\xef\xbb\xbfmodel = 'qwen3-32b'")
    assert load(tmp_path / "mine.toml").model.title == "Qwen3 32B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[workload]\ncontext = '128.000 token'", "a count with a decimal point"),
        ("[workload]\ncontext = '5000%'", "wanted context"),
        ("[workload]\ncontext = '100 GB/MB'", "wanted context"),
        ("[workload]\nobservation = 40000", "more than the whole context"),
        ("[accelerator]\nbandwidth = '100 TB/s'\nrate_8bit = '1 Top/s'", "bound by arithmetic"),
        ("[precision]\nweights = '2 byte/parameter'", "narrower than weights of 16 bits"),
        ("[model]\ntitle = '<script>'", "without markup"),
        ("[model]\ntitle = 'a\\nb'", "without markup"),
        ('[model]\ntitle = "a\\nb"', "without markup"),
        ("x = " + "[" * 5000, "not TOML"),
        ("model = 'QWEN3-33B'", "did you mean 'qwen3-"),
    ],
)
def test_what_cannot_be_meant_is_refused(overlay, text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        overlay(text)


def test_a_file_without_end_is_refused(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(InputError, match="more than 1 MiB"):
        load(file)


# What a node holds


def changed(model="llama-3.1-70b", accelerators=8, memory="80 GiB", weights="2 byte/parameter", runtime="20 GB"):
    """The reference scenario with another model, node and reserve."""
    case = load()
    return dataclasses.replace(
        case,
        model=catalog.part("model", model),
        node=dataclasses.replace(case.node, accelerators=Quantity(float(accelerators), "accelerator")),
        accelerator=dataclasses.replace(case.accelerator, memory=quantity(memory)),
        reserve=dataclasses.replace(case.reserve, weights=quantity(weights), runtime=quantity(runtime)),
    )


def tokens(number):
    return Quantity(float(number), "token")


def held(case, context=32_768):
    return case.resident_sequences(tokens(context)).magnitude


def undivided(case, context=32_768):
    """Contexts that would fit if weights and state were held once and nothing left over."""
    once = case.model.context_state(tokens(context), case.precision.kv_cache)
    return capacity.resident_sequences(case.state_pool, once).magnitude


def by_sharing(case, context=32_768):
    """Contexts by each number of accelerators that may share one, in plain numbers."""
    return {ranks.magnitude: on_node(case, context, ranks.magnitude)[0] for ranks in case.sharings}


def on_node(case, context, ranks, experts_divide=True):
    """Contexts that the node holds where so many cards share each, and the bytes that a card has left for them."""
    n = case.node.accelerators.magnitude
    weights = weights_of_card(case, ranks) if experts_divide else case.model.parameters.magnitude / ranks
    reserved = weights * case.reserve.weights.m_as("B/parameter") + case.reserve.runtime.m_as("B") / n
    left = case.accelerator.memory.m_as("B") - reserved
    return n // ranks * max(0, math.floor(left / state_of_card(case, context, ranks) * (1 + 1e-12))), left


def weights_of_card(case, ranks):
    """Weights of a card: whole experts of all that the node has, or a part of each; and a part of the rest."""
    total, experts = case.model.parameters.magnitude, 0.0
    if case.model.experts:
        e, k = case.model.experts.magnitude, case.model.experts_per_token.magnitude
        experts = (total - case.model.active_parameters.magnitude) * e / (e - k)
        whole = math.ceil(e / case.node.accelerators.magnitude) * experts / e
        return (total - experts) / ranks + min(experts / ranks, whole)
    return total / ranks


def state_of_card(case, context, ranks):
    """Bytes that a context keeps on each of the cards that share it: its heads, or the one latent."""
    elements = 0
    for kind in case.model.attention:
        kept = kind.layers.magnitude * min(context, kind.window.magnitude if kind.window else math.inf)
        if kind.latent_rank is not None:
            elements += kept * (kind.latent_rank.magnitude + kind.rope_dim.magnitude)
        else:
            heads = math.ceil(kind.kv_heads.magnitude / ranks)
            elements += kept * heads * (kind.key_dim.magnitude + kind.value_dim.magnitude)
    fixed = case.model.recurrent_state.m_as("B") if case.model.recurrent_state else 0
    return elements * case.precision.kv_cache.m_as("B/element") + fixed / ranks


def test_eight_heads_on_eight_accelerators_are_the_pool_over_the_state():
    case = load()
    assert held(case) == undivided(case) == 48
    assert case.sharing(case.workload.context) == quantity("8 accelerator")


def test_each_accelerator_keeps_latents_of_its_own_beside_its_part_of_the_experts():
    """Shared by all, 23 contexts of DeepSeek-V3 fit on eight H200; with attention for itself on each, 136."""
    case = changed("deepseek-v3", memory="141 GB", weights="1 byte/parameter")
    assert (held(case), undivided(case)) == (136, 189)
    assert by_sharing(case) == {8: 23, 4: 44, 2: 80, 1: 136}
    assert on_node(case, 32_768, 4, experts_divide=False)[0] == 0  # whole copies, of which only one fits
    context = case.workload.context
    assert case.sharing(context) == quantity("1 accelerator") and case.times_stored(context) == "once"
    assert times(case.weight_copies(context)) == "1.18 times"


def test_few_cards_for_many_experts():
    """On six cards, some have 43 of 256 experts, and the heads divide among two."""
    case = changed("deepseek-v3", accelerators=6, memory="141 GB", weights="1 byte/parameter")
    assert by_sharing(case) == {6: 11, 2: 24, 1: 24}


def test_a_published_node_holds_as_much_more_of_a_latent():
    """vLLM's recipes, issue 762: of DeepSeek-V4-Flash, eight B200 hold 20.43 contexts where they share each, and 156.9
    with data-parallel attention and expert parallelism: not eight times as many, since each has attention for itself.

    Its experts are stored in 4 bits with a scale of 8 bits for 32, the rest in 8 bits; the engine took 95 % of a card.
    """
    experts = 43 * 256 * 3 * 4096 * 2048
    rest, four_bits = 284_332_230_231 - experts, 0.5 + 1 / 32
    parts = [(experts, experts, four_bits), (rest, 0, 1)]
    eight, one = quantity("8 accelerator"), quantity("1 accelerator")

    def room(ranks):
        kept = [
            serving.weights_on_each(
                eight, ranks, *(Quantity(float(n), "parameter") for n in (weights, chosen)), quantity("256 expert"),
                Quantity(size, "B/parameter"),
            )
            for weights, chosen, size in parts
        ]  # fmt: skip
        return (0.95 * quantity("192 GB") - sum(kept[1:], kept[0])).m_as("GB")

    assert 8 * room(one) / room(eight) == pytest.approx(156.9 / 20.43, rel=0.01)


def test_published_weights_of_a_card_with_attention_of_its_own():
    """SGLang, issue 6017: DeepSeek-V3 takes 105.59 GiB on each of eight cards with data-parallel attention.

    By the command that the issue gives, 32 of 256 experts stand twice, so that each card has 36. Tables of tokens have
    16 bits. What is left are scales, and projections that the engine keeps once more.
    """
    model = catalog.part("model", "deepseek-v3")
    eight, one = quantity("8 accelerator"), quantity("1 accelerator")
    kept = model.weights_on_each(eight, one, quantity("1 B/parameter")).m_as("GB")
    doubled = model.expert_parameters.m_as("Gparameter") * 4 / 256
    tables = 2 * 129_280 * 7168 / 1e9
    assert kept == pytest.approx(98.86, abs=0.01)
    assert kept + doubled + tables == pytest.approx(105.59 * 1.073741824, rel=0.03)


def test_more_groups_hold_more_where_heads_run_out():
    """Eight accelerators would store two key-value heads four times; two groups of four, twice; and so on."""
    case = changed("nemotron-3-super-120b-a12b", memory="141 GB", weights="1 byte/parameter")
    found = by_sharing(case, 131_072)
    assert case.sharing(tokens(131_072)).magnitude == max(found, key=found.get) < 8
    assert held(case, 131_072) == max(found.values()) < undivided(case, 131_072)


def test_the_runtime_and_the_weights_of_a_copy_are_divided():
    case = changed()
    assert case.rank_pool(quantity("8 accelerator")).m_as("GB") == pytest.approx(case.state_pool.m_as("GB") / 8)
    left = 80 * 1.073741824 - 141.107 / 2 - 20 / 8
    assert case.rank_pool(quantity("2 accelerator")).m_as("GB") == pytest.approx(left, abs=0.01)


@pytest.mark.parametrize(
    "model, accelerators, sharings",
    [
        ("llama-3.1-70b", 1, [1]),
        ("llama-3.1-70b", 8, [8, 4, 2, 1]),
        ("llama-3.1-70b", 72, [72, 8, 4, 2, 1]),  # 64 query heads, 8 key-value heads
        ("deepseek-v3", 72, [72, 8, 4, 2, 1]),
        ("qwen2.5-7b", 8, [8, 4, 2, 1]),  # 28 query heads do not divide by all 8, which count all the same
        ("qwen2.5-7b", 16, [16, 4, 2, 1]),
    ],
)
def test_heads_decide_how_many_may_share(model, accelerators, sharings):
    assert [ranks.magnitude for ranks in changed(model, accelerators).sharings] == sharings


def test_what_is_copied_is_said_as_far_as_it_is_seen():
    """Of a hybrid's single token, nearly all is kept in layers that do not attend, and those divide."""
    case = changed("qwen3.5-27b", 8, "12 GB", "2 byte/parameter", "0 B")  # only all of the node hold the weights
    copies = [case.state_copies(tokens(length)).magnitude for length in (1, 32_768)]
    assert 1 < copies[0] < 1.001 and copies[1] > 1.1
    assert [case.times_stored(tokens(length)) for length in (1, 32_768)] == ["once", f"{copies[1]:.3g} times"]


def test_a_model_that_fits_by_no_sharing_leaves_room_for_nothing():
    case = changed("llama-3.1-405b", accelerators=8, memory="24 GB")
    assert case.state_pool.magnitude < 0 and held(case) == 0
    assert case.sharing(tokens(32_768)) == case.node.accelerators


def test_a_context_that_fits_by_no_sharing_is_not_held():
    case = changed()
    assert case.state_pool.magnitude > 0 and held(case, 5e6) == 0
    assert case.sharing(tokens(5e6)) == case.node.accelerators


nodes = st.builds(
    changed,
    st.sampled_from(catalog.names("model")),
    st.sampled_from([1, 2, 3, 4, 6, 8, 16, 36, 72]),
    st.sampled_from(["24 GB", "80 GiB", "141 GB", "288 GB"]),
    st.sampled_from(["0.5 byte/parameter", "1 byte/parameter", "2 byte/parameter"]),
)
contexts = st.sampled_from([1, 1000, 32_768, 100_000, 1_000_000])


@steady
@given(nodes, contexts)
def test_the_node_is_shared_as_it_holds_the_most(case, context):
    """Among all sharings, though not all are tried; where several hold as many, the most accelerators."""
    found = by_sharing(case, context)
    most = max(found.values())
    assert held(case, context) == most
    assert case.sharing(tokens(context)).magnitude == max(ranks for ranks in found if found[ranks] == most)


@steady
@given(nodes, contexts)
def test_a_node_never_holds_more_than_if_everything_were_kept_once(case, context):
    assert held(case, context) <= undivided(case, context)
    if all(kind.state_copies(case.node.accelerators).magnitude == 1 for kind in case.model.attention):
        assert held(case, context) == undivided(case, context)


@steady
@given(nodes, contexts)
def test_dividing_the_experts_never_holds_less(case, context):
    """Than tensor parallelism alone, with whole copies of the model side by side."""
    alone = max(on_node(case, context, ranks.magnitude, experts_divide=False)[0] for ranks in case.sharings)
    assert held(case, context) >= alone
    if not case.model.experts:
        assert held(case, context) == alone


@steady
@given(nodes, contexts, st.floats(1, 3))
def test_more_memory_never_holds_less(case, context, factor):
    larger = dataclasses.replace(case.accelerator, memory=factor * case.accelerator.memory)
    assert held(dataclasses.replace(case, accelerator=larger), context) >= held(case, context)


@steady
@given(nodes)
def test_lengths_at_once_are_lengths_one_by_one(case):
    lengths = [1000, 32_768, 1_000_000]
    at_once = case.resident_sequences(Quantity(np.array(lengths, float), "token"))
    assert list(at_once.magnitude) == [held(case, length) for length in lengths]


# What a model and an accelerator are made for


@pytest.mark.parametrize("model", catalog.names("model"))
def test_a_context_beyond_what_the_model_is_made_for_is_said(model):
    case = dataclasses.replace(load(), model=catalog.part("model", model))
    limit = case.model.context_limit or tokens(1e8)
    for beyond in (0, 1):
        work = dataclasses.replace(case.workload, context=limit + tokens(beyond), prompt=tokens(1), output=tokens(1))
        call = dataclasses.replace(
            case.workload, context=tokens(8192), prompt=limit - tokens(9), output=tokens(9 + beyond)
        )
        length = f"{limit.magnitude + beyond:,.0f} tokens"
        for asked, words in ((work, f"this one has {length}."), (call, f"the call has {length}.")):
            said = dataclasses.replace(case, workload=asked).beyond_limit
            wanted = f"The model is made for contexts of up to {limit.magnitude:,.0f} tokens; {words}"
            assert said == (wanted if beyond and case.model.context_limit else "")


@pytest.mark.parametrize("name", catalog.names("accelerator"))
def test_a_node_of_other_accelerators_is_said(name):
    """For every node: silent on a single one, on one with the accelerator's own link, and on an older PCIe."""
    accelerator = catalog.part("accelerator", name)
    silent = {"pcie-5-x16": {"pcie-5-x16", "pcie-4-x16"}}.get(accelerator.link, {accelerator.link})
    for each in catalog.names("node"):
        node = catalog.part("node", each)
        link, host_link = (catalog.part("link", one) for one in (node.link, node.host_link))
        case = dataclasses.replace(load(), accelerator=accelerator, node=node, link=link, host_link=host_link)
        said = case.other_link
        assert (said == "") == (node.accelerators.magnitude == 1 or node.link in silent)
        if said:
            own = accelerator.link
            assert said.startswith(f"{accelerator.title}: such accelerators are ")
            assert said.endswith(
                f"; the {node.accelerators.magnitude:g} of this node are on {link.title.split(',')[0]}."
            )
            by = "connected by " + catalog.part("link", own).title.split(",")[0] if own != "none" else ""
            assert f" are {by or 'each alone in a machine'}; " in said
            assert not by or not said.endswith(f" on {by.removeprefix('connected by ')}.")


def test_an_accelerator_of_which_no_link_is_known_is_told_nothing(overlay):
    ours = '[accelerator]\ntitle = "Ours"\nmemory = "96 GB"\nbandwidth = "4 TB/s"\nrate_8bit = "800 Top/s"\n'
    assert overlay(ours).accelerator.link is None and overlay(ours).other_link == ""
    assert "connected by PCIe 4.0 x16; the 8 of" in overlay(ours + 'link = "pcie-4-x16"').other_link
    assert "each alone in a machine; the 8 of" in overlay(ours + 'link = "none"').other_link


def test_a_link_of_the_readers_own_is_taken_as_it_is(overlay):
    assert overlay('accelerator = "l40s"\nlink = "infinity-fabric"').other_link.endswith(
        "AMD Infinity Fabric of an MI300X."
    )
    assert overlay('accelerator = "l40s"\nlink = {bandwidth = "20 GB/s"}').other_link == ""
    assert overlay('accelerator = "l40s"\nlink = "pcie-4-x16"').other_link == ""


@pytest.mark.parametrize("given", ["nvlik-4", "", "None", 4])
def test_a_link_that_the_catalog_lacks_is_refused(overlay, given):
    with pytest.raises(InputError, match=r"mine\.toml: \[accelerator\] link = .*; wanted a "):
        overlay(f"accelerator.link = {json.dumps(given)}")
