"""costlib.model: the sums over a model's layers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import catalog, kv_cache, model_config, serving
from costlib.book import FILES
from costlib.model import AttentionLayers, Model
from costlib.model_config import rank
from costlib.units import Quantity, quantity

steady = settings(derandomize=True, deadline=None, max_examples=80)

PRECISION = quantity("2 B/element")


def kind(layers, query_heads=64, kv_heads=8, size=128, value_size=None, **optional):
    units = {"window": "token", "latent_rank": "channel", "rope_dim": "channel"}
    return AttentionLayers(
        layers=Quantity(layers, "layer"),
        query_heads=Quantity(query_heads, "head"),
        kv_heads=Quantity(kv_heads, "head"),
        key_dim=Quantity(size, "channel/head"),
        value_dim=Quantity(value_size or size, "channel/head"),
        **{name: Quantity(value, units[name]) for name, value in optional.items() if value is not None},
    )


def model(*attention, parameters=70.6e9, layers=None, **optional):
    return Model(
        title="a model",
        parameters=Quantity(parameters, "parameter"),
        layers=Quantity(layers or sum(k.layers.magnitude for k in attention), "layer"),
        width=quantity("8192 channel"),
        vocabulary=quantity("128000 token"),
        attention=attention,
        **{name: quantity(value) for name, value in optional.items()},
    )


def tokens(number):
    return Quantity(number, "token")


DENSE = model(kind(80))
GEMMA = model(kind(10), kind(50, window=1024), parameters=27e9)  # five windows to one whole context, as Gemma 3
LATENT = model(
    kind(61, query_heads=128, kv_heads=1, size=192, value_size=128, latent_rank=512, rope_dim=64), parameters=671e9
)
MIXTRAL = model(
    kind(32, query_heads=32), parameters=46.7e9,
    active_parameters="12.9e9 parameter", experts="8 expert", experts_per_token="2 expert/token",
)  # fmt: skip
HYBRID = model(kind(16), layers=64, recurrent_state="150 MB")


def test_a_dense_model_is_the_plain_functions():
    assert DENSE.bytes_per_token(PRECISION).magnitude == 327_680
    assert DENSE.context_state(tokens(32768), PRECISION).m_as("GiB") == 10
    assert DENSE.attention_crossover().magnitude == pytest.approx(107_727, abs=0.5)
    prompt, attention = (
        tokens(32768),
        serving.prefill_attention_operations(tokens(32768), quantity("80 layer"), quantity("8192 channel")),
    )
    assert DENSE.prefill_operations(prompt) == serving.prefill_operations(
        prompt, quantity("70.6e9 parameter"), attention
    )


def test_only_layers_without_a_window_add_to_a_long_context():
    assert GEMMA.bytes_per_token(PRECISION) == DENSE.bytes_per_token(PRECISION) / 8


def test_a_windowed_layer_keeps_its_window():
    """Charged in full, 139 GB were expected where 32 GB were used: github.com/gpustack/gpustack/issues/2101."""
    per_layer = 2 * 8 * 128 * 2
    assert GEMMA.context_state(tokens(128_000), PRECISION).m_as("B") == per_layer * (10 * 128_000 + 50 * 1024)


def test_a_context_below_the_window_counts_every_layer_alike():
    assert GEMMA.context_state(tokens(128), PRECISION).m_as("B") == 2 * 8 * 128 * 2 * 60 * 128


def test_windows_only_leave_nothing_that_grows():
    windowed = model(kind(32, window=4096))
    assert windowed.bytes_per_token(PRECISION) == quantity("0 B/token")
    assert windowed.context_state(tokens(10**6), PRECISION) == windowed.context_state(tokens(4096), PRECISION)


def test_a_latent_is_kept_once_for_all_heads():
    """github.com/LMCache/LMCache/pull/694: doubled and without the positional key it would be 124,928."""
    assert LATENT.bytes_per_token(PRECISION).magnitude == 70_272


def test_a_latent_model_computes_on_heads_in_prefill_and_on_the_latent_in_decode():
    layer = LATENT.attention[0]
    assert layer.width.m_as("channel") == 128 * (192 + 128) / 2
    assert layer.decode_width.m_as("channel") == 128 * (512 + 64 + 512) / 2


def test_keys_and_values_of_two_sizes_are_both_counted():
    """Twice the key's size would be 256: github.com/modelship-ai/modelship/pull/183."""
    assert model(kind(1, 128, 128, 192, 128)).bytes_per_token(PRECISION).magnitude == (192 + 128) * 128 * 2


def test_recurrent_layers_hold_a_state_whatever_the_context():
    plain = model(kind(16), layers=64)
    for context in (0, 1, 100_000):
        more = HYBRID.context_state(tokens(context), PRECISION) - plain.context_state(tokens(context), PRECISION)
        assert more.m_as("MB") == pytest.approx(150)
    assert HYBRID.bytes_per_token(PRECISION) == plain.bytes_per_token(PRECISION)


def test_a_mixture_computes_with_its_active_weights():
    assert MIXTRAL.active.magnitude == 12.9e9
    assert MIXTRAL.token_operations(tokens(0)).magnitude == 2 * 12.9e9


def test_a_mixture_holds_all_its_weights_but_reads_the_chosen():
    """Taken as 13 billion in memory: github.com/jranaraki/vllm-fit/issues/27.

    Taken as 35 billion for a token: github.com/AlexsJones/llmfit/issues/474.
    """
    one, byte = tokens(1), quantity("1 B/parameter")
    assert MIXTRAL.weights_read(one, byte).m_as("GB") == pytest.approx(12.9)
    assert MIXTRAL.weights_read(tokens(10_000), byte).m_as("GB") == pytest.approx(46.7)


def test_a_dense_model_reads_all_weights_for_one_token():
    assert DENSE.weights_read(tokens(1), quantity("1 B/parameter")).m_as("GB") == pytest.approx(70.6)


def test_a_prefix_takes_attention_but_no_weights():
    whole = DENSE.prefill_operations(tokens(3000))
    parts = DENSE.prefill_operations(tokens(1000)) + DENSE.prefill_operations(tokens(2000), prefix=tokens(1000))
    assert parts.magnitude == pytest.approx(whole.magnitude)


def test_the_whole_context_is_seen_by_layers_without_a_window():
    assert GEMMA.whole_context is GEMMA.attention[0]
    assert model(kind(50, window=1024), kind(10)).whole_context.window is None
    assert model(kind(5, window=7)).whole_context.window == tokens(7)


# Any geometry

kinds = st.builds(
    kind,
    layers=st.integers(1, 100),
    query_heads=st.sampled_from([8, 32, 64, 128]),
    kv_heads=st.sampled_from([1, 2, 8]),
    size=st.sampled_from([64, 128, 256]),
    window=st.none() | st.sampled_from([1, 128, 512, 1024, 4096, 32_768, 131_072, 10**7]),
)
models = st.builds(
    lambda attention, n: model(*attention, parameters=n), st.lists(kinds, min_size=1, max_size=5), st.floats(1e6, 1e12)
)


def attention_share(any_model, prompt):
    """Attention over weights in prefill, by the functions and not by the crossover's formula."""
    return (any_model.prefill_operations(prompt) / (2 * any_model.active.magnitude * prompt.magnitude)).magnitude - 1


@steady
@given(models)
def test_at_the_crossover_attention_and_weights_balance(any_model):
    crossing = any_model.attention_crossover()
    if math.isfinite(crossing.magnitude):
        assert attention_share(any_model, crossing) == pytest.approx(1, rel=1e-6)


@steady
@given(models)
def test_where_there_is_no_crossover_attention_never_catches_up(any_model):
    crossing = any_model.attention_crossover()
    if math.isinf(crossing.magnitude):
        assert all(kind.window is not None for kind in any_model.attention)
        assert attention_share(any_model, tokens(1e15)) <= 1 + 1e-6


@steady
@given(models)
def test_attention_is_the_smaller_part_before_the_crossover_and_the_larger_behind(any_model):
    crossing = any_model.attention_crossover()
    if math.isfinite(crossing.magnitude):
        assert attention_share(any_model, crossing / 2) < 1 < attention_share(any_model, crossing * 2)


@pytest.mark.parametrize(
    "any_model, finite",
    [(DENSE, True), (GEMMA, True), (LATENT, True), (MIXTRAL, True), (HYBRID, True),
     (model(kind(32, window=4096), parameters=7e9), False),
     (model(kind(80, window=131_072), parameters=8e9), True)],
    ids=["dense", "windows", "latent", "mixture", "hybrid", "all windows", "all wide windows"],
)  # fmt: skip
def test_the_crossover_of_each_design_is_finite_or_not(any_model, finite):
    assert math.isfinite(any_model.attention_crossover().magnitude) == finite


@steady
@given(models, st.integers(0, 10**6), st.integers(1, 10**5))
def test_one_more_token_adds_at_most_the_sum_of_all_layers(any_model, context, more):
    grown = any_model.context_state(tokens(context + more), PRECISION) - any_model.context_state(
        tokens(context), PRECISION
    )
    all_layers = sum(kind.bytes_per_token(PRECISION).magnitude for kind in any_model.attention)
    assert any_model.bytes_per_token(PRECISION).magnitude * more <= grown.magnitude <= all_layers * more


@steady
@given(models, st.integers(0, 10**7))
def test_a_models_state_is_that_of_its_kinds_of_layers(any_model, context):
    apart = sum(
        kv_cache.context_state(tokens(context), kind.bytes_per_token(PRECISION), kind.window).magnitude
        for kind in any_model.attention
    )
    assert any_model.context_state(tokens(context), PRECISION).magnitude == apart


# What cannot be


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: kind(1, query_heads=8, kv_heads=16), "kv_heads = 16 head is more than query_heads = 8 head"),
        (lambda: kind(1, latent_rank=512), "latent_rank and rope_dim belong together"),
        (lambda: kind(1, rope_dim=64), "latent_rank and rope_dim belong together"),
        (lambda: model(kind(80), layers=79), "attention has 80 layers, more than layers = 79 layer"),
        (lambda: model(kind(1), experts="8 expert"), "belong together; not all are given"),
        (lambda: model(kind(1), active_parameters="1e9 parameter"), "belong together; not all are given"),
        (
            lambda: model(
                kind(1), active_parameters="80e9 parameter", experts="8 expert", experts_per_token="2 expert/token"
            ),
            "active_parameters = .* is not less than parameters",
        ),
        (
            lambda: model(
                kind(1), active_parameters="8e9 parameter", experts="8 expert", experts_per_token="9 expert/token"
            ),
            "experts_per_token = .* is more than experts",
        ),
        (
            lambda: model(
                kind(1), active_parameters="8e9 parameter", experts="8 expert", experts_per_token="8 expert/token"
            ),
            "experts_per_token = 8 is all of experts = 8; wanted fewer",
        ),
        (
            lambda: model(
                kind(1), active_parameters="8e9 parameter", experts="8 expert", experts_per_token="2 expert/token"
            ),
            "active_parameters = 8 billion parameters is less than 2 of 8 experts can have; wanted .* 17.6500 billion",
        ),
    ],
)
def test_a_model_that_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# One of several accelerators that share a model


def accelerators(number):
    return Quantity(float(number), "accelerator")


def on_each(model, number, context=32768):
    return model.shard(accelerators(number)).context_state(tokens(context), PRECISION).m_as("B")


@pytest.mark.parametrize("shared", [DENSE, GEMMA, LATENT, MIXTRAL, HYBRID])
def test_an_accelerator_alone_keeps_everything(shared):
    assert shared.shard(accelerators(1)) == shared


@pytest.mark.parametrize("number, heads", [(2, 4), (4, 2), (8, 1), (16, 1), (72, 1), (3, 3), (6, 2)])
def test_heads_divide_and_an_accelerator_keeps_at_least_one(number, heads):
    assert on_each(DENSE, number) == pytest.approx(on_each(DENSE, 1) * heads / 8)
    assert DENSE.shard(accelerators(number)).bytes_per_token(PRECISION).magnitude == 40_960 * heads


def test_an_accelerator_has_its_part_of_the_weights():
    eighth = MIXTRAL.shard(accelerators(8))
    assert (8 * eighth.parameters, 8 * eighth.active) == (MIXTRAL.parameters, MIXTRAL.active)


def test_what_is_no_expert_is_kept_by_each_group():
    """DeepSeek-V3 on eight cards: the experts once on the node, the rest once in each group."""
    deepseek = catalog.part("model", "deepseek-v3")
    experts = 58 * 256 * 3 * 7168 * 2048
    rest = 671_026_404_352 - experts
    assert deepseek.expert_parameters.magnitude == pytest.approx(experts)
    for ranks in (1, 2, 4, 8):
        kept = deepseek.weights_on_each(accelerators(8), accelerators(ranks), quantity("1 B/parameter"))
        assert kept.m_as("B") == pytest.approx(rest / ranks + experts / 8)


def test_a_dense_model_is_kept_whole_by_each_group():
    assert DENSE.expert_parameters.magnitude == 0
    kept = DENSE.weights_on_each(accelerators(8), accelerators(2), quantity("2 B/parameter"))
    assert kept.m_as("GB") == pytest.approx(70.6)


def test_a_latent_stands_whole_on_each():
    assert {on_each(LATENT, number) for number in (1, 2, 8, 72)} == {32768 * 70_272}


def test_each_kind_of_layers_divides_by_its_own_heads():
    """As Gemma 4: few heads where the whole context is kept, more where a window is."""
    shared = model(kind(10, kv_heads=4), kind(50, kv_heads=16, window=1024))
    assert on_each(shared, 8) == 2 * 2 * 128 * (10 * 32768 + 50 * 2 * 1024)


def test_a_recurrent_state_divides():
    more = on_each(HYBRID, 8) - on_each(model(kind(16), layers=64), 8)
    assert more == pytest.approx(150e6 / 8)


@pytest.mark.parametrize("number", [1, 2, 4, 28])
def test_engines_share_layers_where_their_heads_divide(number):
    assert kind(28, query_heads=28, kv_heads=4).divide_among(accelerators(number))


@pytest.mark.parametrize("number", [3, 7, 8])
def test_engines_do_not_where_query_heads_or_copies_of_stored_ones_would_not(number):
    """28 and 4 heads, as in Qwen2.5 7B: seven ranks divide the 28, but would keep 4 / 7 of a head each."""
    assert not kind(28, query_heads=28, kv_heads=4).divide_among(accelerators(number))


def test_a_latent_goes_wherever_query_heads_divide():
    assert kind(28, query_heads=28, latent_rank=512, rope_dim=64).divide_among(accelerators(7))


FILE_OF = {
    "deepseek-v3": "deepseek-ai--DeepSeek-V3",
    "gemma-4-26b-a4b": "google--gemma-4-26B-A4B",
    "llama-3.1-70b": "meta-llama--Meta-Llama-3.1-70B",
    "mixtral-8x7b": "mistralai--Mixtral-8x7B-v0.1",
    "nemotron-3-super-120b-a12b": "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
    "gpt-oss-120b": "openai--gpt-oss-120b",
}


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6, 8, 16, 72])
@pytest.mark.parametrize("name, file", FILE_OF.items(), ids=FILE_OF)
def test_the_catalog_divides_a_model_as_its_file_does(name, file, number):
    """To the byte, but for whole elements of recurrent states where they do not divide."""
    config = model_config.read(FILES / f"configs/{file}.json")
    for context in (1, 1000, 131_072):
        of_file = rank.Rank(config, tokens(context), PRECISION, number).state(context).m_as("B")
        exact = not config.states or number in (1, 2, 4, 8, 16)
        assert on_each(catalog.part("model", name), number, context) == pytest.approx(
            of_file, rel=1e-12 if exact else 1e-4
        )
