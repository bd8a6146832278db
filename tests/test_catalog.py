"""The catalog: whole, with an origin for every value, and in agreement with published figures."""

import re
import tomllib
from importlib import resources

import pytest

from costlib import catalog
from costlib.hardware import ALONE
from costlib.schema import InputError
from costlib.units import quantity

FILES = {
    name: tomllib.loads(resources.files(catalog).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    for name in [*(kind + "s" for kind in catalog.KINDS), "sources"]
}
ENTRIES = [(kind, name) for kind in catalog.KINDS for name in catalog.names(kind)]
TWO_BYTES = quantity("2 byte/element")

# Bytes that one more token adds at 16 bits; of layers without window alone.
GROWTH = {
    "llama-3.1-8b": 131_072,
    "llama-3.1-70b": 327_680,
    "llama-3.1-405b": 516_096,
    "mistral-7b-v0.1": 0,
    "mistral-nemo-12b": 163_840,
    "mistral-large-2407": 360_448,
    "mixtral-8x7b": 131_072,
    "mixtral-8x22b": 229_376,
    "qwen2.5-7b": 57_344,
    "qwen2.5-72b": 327_680,
    "qwen3-0.6b": 114_688,
    "qwen3-1.7b": 114_688,
    "qwen3-4b": 147_456,
    "qwen3-8b": 147_456,
    "qwen3-14b": 163_840,
    "qwen3-32b": 262_144,
    "qwen3-30b-a3b": 98_304,
    "qwen3-235b-a22b": 192_512,
    "qwen3-coder-480b-a35b": 253_952,
    "qwen3.5-27b": 65_536,
    "qwen3.5-35b-a3b": 20_480,
    "qwen3.5-122b-a10b": 24_576,
    "qwen3.5-397b-a17b": 30_720,
    "qwen3.6-27b": 65_536,
    "qwen3.6-35b-a3b": 20_480,
    "deepseek-v3": 70_272,
    "deepseek-r1": 70_272,
    "kimi-k2": 70_272,
    "kimi-k2.5": 70_272,
    "gpt-oss-20b": 24_576,
    "gpt-oss-120b": 36_864,
    "gemma-4-26b-a4b": 20_480,
    "gemma-4-31b": 81_920,
    "nemotron-h-56b": 40_960,
    "nemotron-3-nano-30b-a3b": 6_144,
    "nemotron-3-super-120b-a12b": 8_192,
    "nemotron-3-ultra-550b-a55b": 12_288,
    "minimax-m2.5": 253_952,
    "minimax-m2.7": 253_952,
    "mimo-v2-flash": 23_040,
}

# Tokens of the longest context that models are made for, as their configurations state it.
LIMITS = {
    8_192: {"nemotron-h-56b"},
    32_768: {"mistral-7b-v0.1", "mixtral-8x7b", "qwen2.5-7b", "qwen2.5-72b"},
    40_960: {
        *("qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "qwen3-8b", "qwen3-14b", "qwen3-32b"),
        *("qwen3-30b-a3b", "qwen3-235b-a22b"),
    },
    65_536: {"mixtral-8x22b"},
    131_072: {
        *("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "mistral-large-2407", "kimi-k2"),
        *("gpt-oss-20b", "gpt-oss-120b"),
    },
    163_840: {"deepseek-v3", "deepseek-r1"},
    196_608: {"minimax-m2.5"},
    204_800: {"minimax-m2.7"},
    262_144: {
        *("qwen3-coder-480b-a35b", "qwen3.5-27b", "qwen3.5-35b-a3b", "qwen3.5-122b-a10b", "qwen3.5-397b-a17b"),
        *("qwen3.6-27b", "qwen3.6-35b-a3b", "kimi-k2.5", "gemma-4-26b-a4b", "gemma-4-31b", "mimo-v2-flash"),
        *("nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b", "nemotron-3-ultra-550b-a55b"),
    },
}
WITHOUT_LIMIT = {"mistral-nemo-12b"}  # whose configurations disagree

# GB of a context of 131,072 tokens at 16 bits, windows and recurrent state included.
STATE = {
    "llama-3.1-70b": 42.950,
    "mixtral-8x7b": 17.180,
    "deepseek-v3": 9.211,
    "gpt-oss-120b": 4.837,
    "gemma-4-26b-a4b": 2.894,
    "nemotron-3-super-120b-a12b": 1.244,
}

# Billions that a token uses, as published or in the name; and whether that leaves out the input embedding table.
ACTIVE = {
    "mixtral-8x7b": (12.9, False),
    "mixtral-8x22b": (39, False),
    "qwen3-30b-a3b": (3.3, False),
    "qwen3-235b-a22b": (22, False),
    "qwen3-coder-480b-a35b": (35, False),
    "qwen3.5-35b-a3b": (3, True),
    "qwen3.5-122b-a10b": (10, False),
    "qwen3.5-397b-a17b": (17, False),
    "qwen3.6-35b-a3b": (3, True),
    "deepseek-v3": (37, False),
    "deepseek-r1": (37, False),
    "kimi-k2": (32, False),
    "kimi-k2.5": (32, False),
    "gpt-oss-20b": (3.6, True),
    "gpt-oss-120b": (5.1, True),
    "gemma-4-26b-a4b": (4, False),
    "nemotron-3-nano-30b-a3b": (3.5, False),
    "nemotron-3-super-120b-a12b": (12, True),
    "nemotron-3-ultra-550b-a55b": (55, True),
    "minimax-m2.5": (10, True),
    "minimax-m2.7": (10, True),
    "mimo-v2-flash": (15, False),
}

# Weights of one routed expert: matrices x width x inner size, and biases.
EXPERT = {
    "mixtral-8x7b": (32, 3 * 4096 * 14336),
    "mixtral-8x22b": (56, 3 * 6144 * 16384),
    "qwen3-30b-a3b": (48, 3 * 2048 * 768),
    "qwen3-235b-a22b": (94, 3 * 4096 * 1536),
    "qwen3-coder-480b-a35b": (62, 3 * 6144 * 2560),
    "qwen3.5-35b-a3b": (40, 3 * 2048 * 512),
    "qwen3.5-122b-a10b": (48, 3 * 3072 * 1024),
    "qwen3.5-397b-a17b": (60, 3 * 4096 * 1024),
    "qwen3.6-35b-a3b": (40, 3 * 2048 * 512),
    "deepseek-v3": (58, 3 * 7168 * 2048),
    "deepseek-r1": (58, 3 * 7168 * 2048),
    "kimi-k2": (60, 3 * 7168 * 2048),
    "kimi-k2.5": (60, 3 * 7168 * 2048),
    "gpt-oss-20b": (24, 3 * 2880 * 2880 + 3 * 2880),
    "gpt-oss-120b": (36, 3 * 2880 * 2880 + 3 * 2880),
    "gemma-4-26b-a4b": (30, 3 * 2816 * 704),
    "nemotron-3-nano-30b-a3b": (23, 2 * 2688 * 1856),
    "nemotron-3-super-120b-a12b": (40, 2 * 1024 * 2688),
    "nemotron-3-ultra-550b-a55b": (48, 2 * 2048 * 5120),
    "minimax-m2.5": (62, 3 * 3072 * 1536),
    "minimax-m2.7": (62, 3 * 3072 * 1536),
    "mimo-v2-flash": (47, 3 * 4096 * 2048),
}

# Batch at which 8-bit weights take as long to read as to use.
RIDGE = {
    "a100-40gb-sxm": 200.6,
    "a100-80gb-sxm": 153.0,
    "a100-80gb-pcie": 161.2,
    "h100-sxm": 295.4,
    "h100-pcie": 378.2,
    "h200-sxm": 206.1,
    "b200-sxm": 292.2,
    "b300-sxm": 290.3,
    "gb300": 312.5,
    "l4": 403.3,
    "l40s": 424.2,
    "rtx-4090": 163.8,
    "rtx-5090": 116.9,
    "rtx-pro-6000": 261.0,
    "mi300x": 246.6,
    "mi325x": 217.9,
    "mi355x": 312.5,
    "gaudi-3": 248.0,
    "tpu-v5p": 166.0,
    "tpu-v6e": 559.8,
    "dgx-spark": 457.9,
}
WITHOUT_RIDGE = {"gb200", "tpu-v5e", "m3-ultra"}  # entered without a figure of others to check them by


def model(name):
    return catalog.part("model", name)


def test_is_large_enough():
    assert len(catalog.names("model")) >= 25
    assert len(catalog.names("accelerator")) >= 20
    assert all(catalog.names(kind) for kind in catalog.KINDS)


@pytest.mark.parametrize("kind, name", ENTRIES)
def test_every_value_has_an_origin(kind, name):
    part = catalog.part(kind, name)
    given = set(FILES[kind + "s"][name]) - {"source", "sources", "notes"}
    assert set(part.origin) == given
    for origin in part.origin.values():
        assert origin.title
        assert origin.address.startswith("https://")
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", origin.date)


@pytest.mark.parametrize("kind, name", ENTRIES)
def test_sources_and_notes_are_of_values_that_are_there(kind, name):
    entry = FILES[kind + "s"][name]
    for table in ("sources", "notes"):
        assert set(entry.get(table, {})) <= set(entry)
        assert all(entry.get(table, {}).values())


def test_every_source_is_used():
    used = set()
    for kind in catalog.KINDS:
        for entry in FILES[kind + "s"].values():
            used |= {entry["source"], *entry.get("sources", {}).values()}
    assert used == set(FILES["sources"])


def test_every_source_is_complete():
    for source in FILES["sources"].values():
        assert set(source) == {"title", "address", "date"}


@pytest.mark.parametrize("name", catalog.names("node"))
def test_links_of_a_node_exist(name):
    node = catalog.part("node", name)
    assert {node.link, node.host_link} <= set(catalog.names("link"))


@pytest.mark.parametrize("name", catalog.names("accelerator"))
def test_the_link_of_an_accelerator_exists(name):
    assert catalog.part("accelerator", name).link in {*catalog.names("link"), ALONE}


def test_nodes_of_a_link():
    assert catalog.nodes("nvlink-4") == ["hgx-8-nvlink-4"]
    assert catalog.nodes(ALONE) == ["single-pcie-4", "single-pcie-5"]
    assert catalog.nodes("ethernet-400g") == []


def test_every_kind_of_architecture_is_there():
    models = [model(name) for name in catalog.names("model")]
    assert any(not m.experts for m in models)
    assert any(m.experts for m in models)
    assert any(kind.latent_rank for m in models for kind in m.attention)
    assert any(m.recurrent_state for m in models)
    assert any({kind.window is None for kind in m.attention} == {True, False} for m in models)
    assert any(all(kind.window for kind in m.attention) for m in models)
    assert any(kind.key_dim != kind.value_dim and not kind.latent_rank for m in models for kind in m.attention)


@pytest.mark.parametrize("name", catalog.names("model"))
def test_layers_without_window_come_first(name):
    windows = [kind.window is not None for kind in model(name).attention]
    assert windows == sorted(windows)


@pytest.mark.parametrize("name", catalog.names("model"))
def test_layers_that_do_not_attend_hold_a_state(name):
    m = model(name)
    attending = sum(kind.layers for kind in m.attention)
    assert (attending < m.layers) == (m.recurrent_state is not None)


def test_growth_is_checked_for_every_model():
    assert set(GROWTH) == set(catalog.names("model"))


@pytest.mark.parametrize("name, published", GROWTH.items())
def test_bytes_per_token(name, published):
    assert model(name).bytes_per_token(TWO_BYTES).m_as("byte/token") == published


def test_what_a_model_is_made_for():
    assert set().union(*LIMITS.values()) | WITHOUT_LIMIT == set(catalog.names("model"))
    entered = {name: model(name).context_limit for name in catalog.names("model")}
    stated = {name: quantity(f"{tokens} token") for tokens, names in LIMITS.items() for name in names}
    assert entered == stated | dict.fromkeys(WITHOUT_LIMIT)


@pytest.mark.parametrize("name, published", STATE.items())
def test_state_of_a_long_context(name, published):
    state = model(name).context_state(quantity("131072 token"), TWO_BYTES)
    assert state.m_as("GB") == pytest.approx(published, rel=1e-3)


def test_first_token_of_gpt_oss_is_kept_in_all_layers():
    state = model("gpt-oss-120b").context_state(quantity("1 token"), TWO_BYTES)
    assert state.m_as("byte") == 73_728


def test_recurrent_state_as_sglang_allocates_it():
    # 125 slots of a model of this shape: 17.58 GiB of state and 0.34 GiB for the convolution, as its log prints.
    assert 125 * model("qwen3.6-27b").recurrent_state.m_as("GiB") == pytest.approx(17.58 + 0.34, rel=1e-3)


def test_active_parameters_are_checked_for_every_mixture():
    assert set(ACTIVE) == {name for name in catalog.names("model") if model(name).experts}


@pytest.mark.parametrize("name, billions, without_input", [(name, *published) for name, published in ACTIVE.items()])
def test_active_parameters(name, billions, without_input):
    m = model(name)
    active = m.active_parameters.m_as("parameter")
    if without_input:
        active -= m.vocabulary.m_as("token") * m.width.m_as("channel")
    assert active == pytest.approx(billions * 1e9, rel=0.05)


@pytest.mark.parametrize("name, layers, weights", [(name, *expert) for name, expert in EXPERT.items()])
def test_weights_of_an_expert(name, layers, weights):
    m = model(name)
    idle = m.experts.m_as("expert") - m.experts_per_token.m_as("expert/token")
    assert (m.parameters - m.active_parameters).m_as("parameter") == idle * layers * weights
    all_of_them = m.experts.m_as("expert") * layers * weights
    assert m.expert_parameters.m_as("parameter") == pytest.approx(all_of_them, rel=1e-12)


def test_the_experts_of_every_mixture_are_counted():
    assert EXPERT.keys() == {name for name in catalog.names("model") if model(name).experts}


def test_a_ridge_is_checked_for_every_accelerator():
    assert RIDGE.keys() | WITHOUT_RIDGE == set(catalog.names("accelerator"))


@pytest.mark.parametrize(
    "entry, said",
    [
        (
            {"title": "a card"},
            r"accelerators\.toml \[new\]: no source; wanted the name of one in catalog/sources\.toml",
        ),
        ({"source": "nvidia-h10"}, r"no source 'nvidia-h10' in catalog/sources\.toml; did you mean"),
    ],
)
def test_an_entry_without_its_source_is_refused(monkeypatch, entry, said):
    entries = {"accelerators": {"new": {"title": "a card"} | entry}}
    real = catalog._file
    monkeypatch.setattr(catalog, "_file", lambda name: entries.get(name) or real(name))
    with pytest.raises(InputError, match=said):
        catalog.part("accelerator", "new")


@pytest.mark.parametrize("name, published", RIDGE.items())
def test_ridge(name, published):
    accelerator = catalog.part("accelerator", name)
    ridge = accelerator.rate_8bit.m_as("operation/second") / (2 * accelerator.bandwidth.m_as("byte/second"))
    assert ridge == pytest.approx(published, rel=3e-3)


@pytest.mark.parametrize("name", catalog.names("accelerator"))
def test_rates_grow_as_the_precision_falls(name):
    accelerator = catalog.part("accelerator", name)
    rates = [accelerator.rate_16bit, accelerator.rate_8bit, accelerator.rate_4bit]
    given = [rate.m_as("operation/second") for rate in rates if rate is not None]
    assert given == sorted(given)
    assert accelerator.rate_16bit is not None


@pytest.mark.parametrize(
    "name, gigabytes", [("h100-sxm", 85.52), ("a100-40gb-sxm", 42.95), ("l40s", 48.31), ("l4", 24.15)]
)
def test_memory_is_what_a_process_sees(name, gigabytes):
    assert catalog.part("accelerator", name).memory.m_as("GB") == pytest.approx(gigabytes, abs=0.01)


def test_prices_of_deepseek_reproduce_its_revenue():
    price = catalog.part("price", "deepseek-r1-2025")
    hit, miss, out = quantity("342e9 token"), quantity("266e9 token"), quantity("168e9 token")
    revenue = hit * price.cached_input + miss * price.input + out * price.output
    assert revenue.m_as("USD") == pytest.approx(562_027, rel=2e-4)


def test_the_hires_of_an_accelerator_are_its_own():
    for name in catalog.names("accelerator"):
        hires = catalog.hires(catalog.part("accelerator", name).title)
        assert {price.rpartition("-")[0].rpartition("-")[0] for price in hires} <= {name}
        assert all(catalog.part("price", price).hire for price in hires)
    assert catalog.hires("NVIDIA H200 SXM 141 GB") == ["h200-sxm-hyperstack-2026"]
    assert catalog.hires("NVIDIA L4 24 GB") == catalog.hires("no such card") == []


def test_a_name_that_begins_alike_is_another_accelerator(monkeypatch):
    prices = catalog._file("prices")
    monkeypatch.setitem(prices, "l40s-2026", prices["h100-pcie-runpod-2026"])
    assert catalog.hires("NVIDIA L40S 48 GB") == ["l40s-2026"]
    assert catalog.hires("NVIDIA L4 24 GB") == []
