"""costlib.serving: stated values, limits and identities."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costlib import serving
from costlib.arguments import ArgumentError
from costlib.serving import (
    all_reduce_time,
    attention_crossover,
    attention_operations,
    chunk_starts,
    compute_bound_tokens,
    critical_batch,
    decode_intensity,
    decode_time,
    distinct_experts,
    expert_parameters,
    fleet_time_per_token,
    free_chunk,
    inter_token_gap,
    mixed_step_time,
    node_step_time,
    output_input_ratio,
    prefill_attention_operations,
    prefill_intensity,
    prefill_operations,
    prefill_time,
    state_copies,
    step_time,
    time_to_first_token,
    token_operations,
    weight_bytes,
    weights_on_each,
    weights_read,
)
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

# The reference model at 8 bits on an H100 SXM.
N, BYTE = quantity("70.6e9 parameter"), quantity("1 B/parameter")
LAYERS, WIDTH = quantity("80 layer"), quantity("8192 channel")
PEAK, BANDWIDTH = quantity("1979 Top/s"), quantity("3.35 TB/s")
WEIGHTS, WORK = quantity("70.6 GB"), quantity("141.2 Gop/token")
NOTHING, NO_TIME = quantity("0 B"), quantity("0 s")
CONTEXT = quantity("32768 token")
CONTEXT_STATE = 32768 * quantity("327680 B")


def of(unit, low, high):
    return st.floats(low, high).map(lambda x: Quantity(x, unit))


parameters = of("parameter", 1e6, 1e13)
precisions = of("byte/parameter", 0.3, 4)
rates = of("operation/second", 1e11, 1e17)
bandwidths = of("byte/second", 1e9, 1e14)
batches = st.integers(1, 10_000).map(lambda n: Quantity(n, "sequence"))
weights = of("byte", 1e6, 1e13)
states = of("byte", 0, 1e11)
operations = of("operation/token", 1e6, 1e13)
tokens = st.integers(1, 10**6).map(lambda n: Quantity(n, "token"))


def close(one, other, rel=1e-9):
    return one.m_as(other.units) == pytest.approx(other.magnitude, rel=rel)


# Stated values


@pytest.mark.parametrize(
    "value, unit, stated",
    [
        (decode_intensity(quantity("1 sequence"), BYTE), "op/B", 2),
        (prefill_time(N, PEAK), "µs/token", 71.3492),
        (decode_time(N, BYTE, BANDWIDTH), "ms/token", 21.0746),
        (output_input_ratio(PEAK, BYTE, BANDWIDTH), "", 295.373),
        (compute_bound_tokens(WEIGHTS, WORK, PEAK, BANDWIDTH), "token", 295.373),
        (critical_batch(WEIGHTS, NOTHING, WORK, PEAK, BANDWIDTH), "sequence", 295.373),
        (free_chunk(quantity("0 sequence"), WEIGHTS, NOTHING, WORK, PEAK, BANDWIDTH), "token", 295.373),
        (attention_crossover(N, LAYERS, WIDTH), "token", 107727),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_stated_value_is_reproduced(value, unit, stated):
    assert value.m_as(unit) == pytest.approx(stated, rel=3e-6)


def test_the_ratio_of_8_bit_weights_computed_at_the_16_bit_rate_is_148():
    assert show(output_input_ratio(quantity("989 Top/s"), BYTE, BANDWIDTH)) == "148"


def test_attention_adds_30_percent_at_32768_tokens():
    attention = prefill_attention_operations(CONTEXT, LAYERS, WIDTH)
    assert f"{attention / prefill_operations(CONTEXT, N, 0 * attention):.4%}" == "30.4176%"


# Prefill and decode


@steady
@given(parameters, precisions, rates, bandwidths)
def test_the_ratio_is_decode_over_prefill_for_any_model(n, b, peak, bandwidth):
    assert close(decode_time(n, b, bandwidth) / prefill_time(n, peak), output_input_ratio(peak, b, bandwidth))


@steady
@given(parameters, precisions, rates, bandwidths)
def test_a_pass_of_a_dense_model_is_compute_bound_at_the_ratio(n, b, peak, bandwidth):
    bound = compute_bound_tokens(weight_bytes(n, b), token_operations(n), peak, bandwidth)
    assert close(bound, output_input_ratio(peak, b, bandwidth) * quantity("1 token"))


@steady
@given(st.integers(1, 10**6), precisions)
def test_a_prompt_has_the_intensity_of_as_many_streams(number, b):
    assert close(prefill_intensity(Quantity(number, "token"), b), decode_intensity(Quantity(number, "sequence"), b))


# Attention


@steady
@given(tokens, tokens)
def test_a_window_as_long_as_the_context_changes_no_attention(context, more):
    assert attention_operations(context, LAYERS, WIDTH, context + more) == attention_operations(context, LAYERS, WIDTH)


@steady
@given(tokens, tokens, st.integers(0, 10**6).map(lambda n: Quantity(n, "token")))
def test_a_window_as_long_as_prefix_and_prompt_changes_no_prefill(prompt, more, prefix):
    whole = prefill_attention_operations(prompt, LAYERS, WIDTH, prefix)
    assert prefill_attention_operations(prompt, LAYERS, WIDTH, prefix, prompt + prefix + more) == whole


@steady
@given(tokens, tokens, st.integers(0, 10**5).map(lambda n: Quantity(n, "token")), st.none() | tokens)
def test_two_chunks_take_together_what_the_prompt_takes(first, second, prefix, window):
    apart = prefill_attention_operations(first, LAYERS, WIDTH, prefix, window) + prefill_attention_operations(
        second, LAYERS, WIDTH, prefix + first, window
    )
    assert close(apart, prefill_attention_operations(first + second, LAYERS, WIDTH, prefix, window))


@pytest.mark.parametrize("prefix", [0, 7, 300])
@pytest.mark.parametrize("window", [None, 1, 64, 10_000])
def test_prefill_attention_is_the_sum_over_its_tokens(prefix, window):
    """The integral takes each token at its middle; min() has a corner in at most one of them."""
    limit = None if window is None else Quantity(window, "token")
    each = [
        attention_operations(Quantity(prefix + i + 0.5, "token"), LAYERS, WIDTH, limit).magnitude for i in range(200)
    ]
    summed = prefill_attention_operations(quantity("200 token"), LAYERS, WIDTH, Quantity(prefix, "token"), limit)
    assert summed.magnitude == pytest.approx(sum(each), rel=1e-3)


@steady
@given(parameters, st.integers(1, 200), st.integers(64, 20_000))
def test_at_the_crossover_attention_takes_what_the_weights_take(n, layers, width):
    layers, width = Quantity(layers, "layer"), Quantity(width, "channel")
    prompt = attention_crossover(n, layers, width)
    attention = prefill_attention_operations(prompt, layers, width)
    assert close(attention, prefill_operations(prompt, n, 0 * attention))


# A step of a batch


@steady
@given(parameters, precisions, rates, bandwidths)
def test_a_step_of_one_stream_without_state_is_the_decode_floor(n, b, peak, bandwidth):
    assume(output_input_ratio(peak, b, bandwidth).magnitude >= 1)
    step = step_time(quantity("1 sequence"), weight_bytes(n, b), NOTHING, token_operations(n), peak, bandwidth)
    assert close(step / quantity("1 token"), decode_time(n, b, bandwidth))


@steady
@given(weights, states, operations, rates, bandwidths)
def test_at_the_critical_batch_both_sides_of_a_step_meet(w, m, o, peak, bandwidth):
    batch = critical_batch(w, m, o, peak, bandwidth)
    assume(math.isfinite(batch.magnitude) and batch.magnitude < 1e9)
    reading = (w + batch.magnitude * m) / bandwidth
    computing = batch.magnitude * quantity("1 token") * o / peak
    assert close(reading, computing, rel=1e-5)
    assert close(step_time(batch, w, m, o, peak, bandwidth), computing, rel=1e-5)


@steady
@given(weights, states, operations, rates, bandwidths)
def test_no_batch_is_critical_where_state_costs_more_than_arithmetic(w, m, o, peak, bandwidth):
    longer_to_read = m / bandwidth >= quantity("1 token") * o / peak
    assert math.isinf(critical_batch(w, m, o, peak, bandwidth).magnitude) == longer_to_read


def test_the_critical_batch_of_an_array_is_never_minus_infinity():
    batches = critical_batch(WEIGHTS, Quantity(np.array([0, 0.1, 10.7]), "GB"), WORK, PEAK, BANDWIDTH)
    assert batches.magnitude[0] == pytest.approx(295.373, rel=1e-6)
    assert batches.magnitude[2] == math.inf


@steady
@given(batches, batches, weights, states, operations, rates, bandwidths)
def test_the_fleet_pays_less_for_a_token_of_a_larger_batch(one, other, w, m, o, peak, bandwidth):
    small, large = sorted((one, other))
    small, large = (fleet_time_per_token(step_time(b, w, m, o, peak, bandwidth), b) for b in (small, large))
    assert large <= small * (1 + 1e-12)


@steady
@given(batches, weights, states, operations, rates, bandwidths)
def test_the_fleet_never_pays_less_than_the_arithmetic(batch, w, m, o, peak, bandwidth):
    assert fleet_time_per_token(step_time(batch, w, m, o, peak, bandwidth), batch) >= o / peak * (1 - 1e-12)


@steady
@given(batches, weights, states, operations, rates, bandwidths)
def test_state_only_lengthens_a_step(batch, w, m, o, peak, bandwidth):
    assert step_time(batch, w, m, o, peak, bandwidth) >= step_time(batch, w, NOTHING, o, peak, bandwidth)


# A step that also prefills

decoding_batches = st.integers(0, 5_000).map(lambda n: Quantity(n, "sequence"))


def mixed(batch, w, m, o, chunk, peak, bandwidth):
    return mixed_step_time(batch, w, m, o, chunk * o, NOTHING, peak, bandwidth)


@steady
@given(decoding_batches, weights, states, operations, rates, bandwidths)
def test_the_free_chunk_is_free(batch, w, m, o, peak, bandwidth):
    chunk = free_chunk(batch, w, m, o, peak, bandwidth)
    without = mixed(batch, w, m, o, quantity("0 token"), peak, bandwidth)
    assert close(mixed(batch, w, m, o, chunk, peak, bandwidth), without)


@steady
@given(decoding_batches, weights, states, operations, rates, bandwidths)
def test_a_longer_chunk_is_not_free(batch, w, m, o, peak, bandwidth):
    longer = (
        free_chunk(batch, w, m, o, peak, bandwidth) * 1.01
        + 0.01 * (batch * quantity("1 token/sequence"))
        + quantity("1 token")
    )
    assert mixed(batch, w, m, o, longer, peak, bandwidth) > mixed(batch, w, m, o, quantity("0 token"), peak, bandwidth)


def test_the_free_chunk_of_too_large_a_batch_is_nothing():
    none = free_chunk(quantity("1000 sequence"), WEIGHTS, NOTHING, WORK, PEAK, BANDWIDTH)
    assert show(none) == "0 tokens"


@steady
@given(batches, weights, states, operations, rates, bandwidths)
def test_a_mixed_step_without_a_chunk_is_a_decode_step(batch, w, m, o, peak, bandwidth):
    alone = step_time(batch, w, m, o, peak, bandwidth)
    assert close(mixed_step_time(batch, w, m, o, quantity("0 op"), NOTHING, peak, bandwidth), alone)


@steady
@given(batches, weights, states, operations, rates, bandwidths)
def test_a_chunk_reads_the_state_before_it_once_as_one_more_stream_does(batch, w, m, o, peak, bandwidth):
    chunk = quantity("1 token") * o  # of one token: the same work as one more stream's
    one_more = step_time(batch + quantity("1 sequence"), w, m, o, peak, bandwidth)
    assert close(mixed_step_time(batch, w, m, o, chunk, m, peak, bandwidth), one_more)


@pytest.mark.parametrize("prompt, chunk, starts", [(1000, 400, [0, 400, 800]), (800, 400, [0, 400]), (1, 400, [0])])
def test_chunks_begin_until_the_prompt_ends(prompt, chunk, starts):
    assert chunk_starts(Quantity(prompt, "token"), Quantity(chunk, "token")).magnitude.tolist() == starts


def test_a_prompt_of_a_numpy_number_has_chunks_too():
    assert chunk_starts(Quantity(np.float64(1000), "token"), quantity("400 token")).magnitude.tolist() == [0, 400, 800]


def test_several_prompts_at_once_have_no_chunks():
    with pytest.raises(ArgumentError, match="wanted one prompt"):
        chunk_starts(Quantity([1000.0, 2000.0], "token"), quantity("400 token"))


def test_the_first_token_waits_for_all_steps_and_the_others_for_the_longest():
    steps = Quantity([20.0, 45.0, 30.0], "ms")
    assert close(time_to_first_token(steps), quantity("95 ms"))
    assert close(inter_token_gap(steps), quantity("45 ms"))


def test_one_step_needs_no_array():
    assert close(time_to_first_token(quantity("20 ms")), quantity("20 ms"))
    assert close(inter_token_gap(quantity("20 ms")), quantity("20 ms"))


# Mixtures of experts

mixtures = st.integers(1, 512).flatmap(lambda e: st.tuples(st.just(e), st.integers(1, e)))


def experts(e, k):
    return Quantity(e, "expert"), Quantity(k, "expert/token")


@steady
@given(mixtures, tokens)
def test_a_pass_uses_at_least_the_chosen_and_at_most_all_experts(mixture, number):
    used = distinct_experts(number, *experts(*mixture)).magnitude
    assert mixture[1] * (1 - 1e-12) <= used <= mixture[0]


@steady
@given(mixtures, tokens, tokens)
def test_more_tokens_use_no_fewer_experts(mixture, number, more):
    assert distinct_experts(number + more, *experts(*mixture)) >= distinct_experts(number, *experts(*mixture))


@steady
@given(mixtures)
def test_one_token_uses_the_experts_chosen_for_it(mixture):
    assert distinct_experts(quantity("1 token"), *experts(*mixture)).magnitude == pytest.approx(mixture[1])


@pytest.mark.parametrize("e, k, number", [(8, 2, 3), (128, 8, 32), (256, 8, 100)])
def test_the_expected_experts_are_those_of_a_simulation(e, k, number):
    random = np.random.default_rng(seed=7)
    used = [len(set(np.argsort(random.random((number, e)), axis=1)[:, :k].flat)) for _ in range(400)]
    error = np.std(used) / math.sqrt(len(used))
    assert distinct_experts(Quantity(number, "token"), *experts(e, k)).magnitude == pytest.approx(
        np.mean(used), abs=4 * error
    )


def test_no_token_chooses_more_experts_than_there_are():
    with pytest.raises(ArgumentError, match="^distinct_experts: experts_per_token is more than experts"):
        distinct_experts(quantity("1 token"), *experts(8, 9))
    with pytest.raises(ArgumentError, match="^distinct_experts: experts_per_token is more than experts"):
        distinct_experts(quantity("1 token"), Quantity([16, 8], "expert"), quantity("9 expert/token"))


MIXTRAL = quantity("46.7e9 parameter"), quantity("12.9e9 parameter"), *experts(8, 2), quantity("2 B/parameter")


def test_one_token_reads_the_active_weights():
    assert close(weights_read(quantity("1 token"), *MIXTRAL), quantity("25.8 GB"))


def test_many_tokens_read_all_weights():
    assert close(weights_read(quantity("1000 token"), *MIXTRAL), quantity("93.4 GB"))


@steady
@given(mixtures.filter(lambda m: m[1] < m[0]), tokens)
def test_weights_are_read_in_the_share_of_the_experts_used(mixture, number):
    e, k = mixture
    n, active = 40e9, 10e9
    used = distinct_experts(number, *experts(e, k)).magnitude
    read = weights_read(number, Quantity(n, "parameter"), Quantity(active, "parameter"), *experts(e, k), BYTE)
    assert read.magnitude == pytest.approx(active + (used - k) * (n - active) / (e - k), rel=1e-9)


def test_a_mixture_that_chooses_every_expert_reads_all_weights():
    read = weights_read(
        quantity("2 token"), quantity("40e9 parameter"), quantity("10e9 parameter"), *experts(8, 8), BYTE
    )
    assert close(read, quantity("40 GB"))


@steady
@given(mixtures.filter(lambda m: m[1] < m[0]), st.floats(0, 1e12), st.floats(1, 1e12))
def test_experts_are_what_tokens_leave_aside(mixture, others, chosen_from):
    """From weights that are put together, the weights of the experts are found again."""
    e, k = mixture
    active = Quantity(others + chosen_from * k / e, "parameter")
    found = expert_parameters(Quantity(others + chosen_from, "parameter"), active, *experts(e, k)).magnitude
    assert found == pytest.approx(chosen_from, rel=1e-6, abs=1e-3 * (others + chosen_from) * e * 1e-12)


@pytest.mark.parametrize(
    "parameters, active, mixture, words",
    [
        (47e9, 13e9, (8, 8), "experts_per_token is all of experts; wanted fewer"),
        (47e9, 13e9, (8, 9), "experts_per_token is more than experts"),
        (13e9, 47e9, (8, 2), "active_parameters is more than parameters"),
        (47e9, 11e9, (8, 2), "active_parameters is less than the chosen experts' share"),
        (47e9, [13e9, 11e9], (8, 2), "active_parameters is less than the chosen experts' share"),
    ],
)
def test_weights_that_no_mixture_has_are_refused(parameters, active, mixture, words):
    given = Quantity(parameters, "parameter"), Quantity(active, "parameter"), *experts(*mixture)
    with pytest.raises(ArgumentError, match=f"^expert_parameters: {words}"):
        expert_parameters(*given)


def kept_on_each(cards, ranks, chosen_from=80e9, e=128):
    """Of 100 billion weights of a byte each, GB."""
    given = [Quantity(float(cards), "accelerator"), ranks * quantity("1 accelerator"), quantity("100e9 parameter")]
    given += [Quantity(chosen_from, "parameter"), Quantity(float(e), "expert"), BYTE]
    return weights_on_each(*given).m_as("GB")


@pytest.mark.parametrize(
    "cards, ranks, e, kept",
    [
        (8, 8, 128, 100 / 8),  # all share: an eighth of everything
        (8, 1, 128, 20 + 10),  # each has its 16 experts, and all that is no expert
        (8, 2, 128, 10 + 10),
        (6, 1, 128, 20 + 80 * 22 / 128),  # 128 experts on six cards: on some of them 22
        (6, 6, 128, 100 / 6),  # or they divide within
        (8, 1, 4, 20 + 80 / 4),  # fewer experts than cards: four cards have one, and one has to stand somewhere whole
        (8, 4, 4, 20 / 4 + 80 / 4),
        (8, 4, 2, 100 / 4),  # half of the experts is more than a quarter of each
        (1, 1, 128, 100),
    ],
)
def test_experts_divide_among_all_and_the_rest_among_those_that_share(cards, ranks, e, kept):
    assert kept_on_each(cards, ranks, e=e) == pytest.approx(kept)


@steady
@given(st.integers(1, 128), st.integers(1, 128), st.floats(0, 100e9), st.integers(1, 1000))
def test_a_card_keeps_its_part_at_least_and_no_more_than_without_expert_parallelism(cards, ranks, chosen_from, e):
    ranks = min(cards, ranks)
    kept = kept_on_each(cards, ranks, chosen_from, e)
    assert 100 / cards * (1 - 1e-12) <= kept <= 100 / ranks * (1 + 1e-12)
    assert kept_on_each(cards, ranks, 0.0, e) == pytest.approx(100 / ranks)


def test_several_sharings_at_once_and_too_many_experts():
    ranks = np.array([1.0, 2.0, 8.0])
    assert kept_on_each(8, ranks).tolist() == pytest.approx([30, 20, 12.5])
    with pytest.raises(ArgumentError, match="^weights_on_each: chosen_from is more than parameters"):
        kept_on_each(8, 1, 101e9)


@pytest.mark.parametrize("active", ["47e9 parameter", [1e9, 47e9]], ids=["scalar", "array"])
def test_no_more_weights_are_active_than_there_are(active):
    active = quantity(active) if isinstance(active, str) else Quantity(active, "parameter")
    with pytest.raises(ArgumentError, match="^weights_read: active_parameters is more than parameters"):
        weights_read(quantity("1 token"), quantity("46.7e9 parameter"), active, *experts(8, 2), BYTE)


# Several accelerators


@pytest.mark.parametrize(
    "heads, accelerators, copies", [(8, 8, 1), (2, 8, 4), (1, 8, 8), (8, 32, 4), (8, 2, 1), (8, 1, 1)]
)
def test_heads_are_replicated_not_split(heads, accelerators, copies):
    """Divided they became 0 or a fraction: github.com/vllm-project/vllm/pull/1640, tenstorrent/vllm/pull/50."""
    assert state_copies(Quantity(heads, "head"), Quantity(accelerators, "accelerator")).magnitude == copies


@steady
@given(st.integers(1, 128), st.integers(1, 128))
def test_no_accelerator_holds_less_than_its_share_or_more_than_everything(heads, accelerators):
    copies = state_copies(Quantity(heads, "head"), Quantity(accelerators, "accelerator")).magnitude
    assert 1 <= copies <= accelerators
    assert copies * heads / accelerators == pytest.approx(math.ceil(heads / accelerators))


def reduce(accelerators, latency="0 s"):
    node = Quantity(accelerators, "accelerator"), quantity("450 GB/s"), quantity(latency)
    return all_reduce_time(quantity("64 token"), LAYERS, WIDTH, quantity("2 B/element"), *node)


def test_one_accelerator_exchanges_nothing():
    assert reduce(1, "5 µs") == NO_TIME


def test_an_exchange_counts_every_layer_twice_and_every_message_of_the_ring():
    message = 64 * 8192 * 2 / 8 / 450e9
    assert reduce(8, "1 µs").m_as("s") == pytest.approx(2 * 80 * 2 * 7 * (message + 1e-6))


def test_an_exchange_approaches_twice_the_activations_over_the_link():
    assert reduce(1e9).m_as("s") == pytest.approx(2 * 80 * 2 * 64 * 8192 * 2 / 450e9, rel=1e-6)


@steady
@given(batches, weights, states, operations, rates, bandwidths)
def test_a_node_of_one_accelerator_is_an_accelerator(batch, w, m, o, peak, bandwidth):
    alone = step_time(batch, w, m, o, peak, bandwidth)
    node = quantity("1 accelerator"), quantity("1"), NO_TIME
    assert close(node_step_time(batch, w, m, o, peak, bandwidth, *node), alone)


@steady
@given(batches, weights, states, operations, rates, bandwidths, st.integers(1, 64))
def test_a_node_that_shares_everything_evenly_is_so_many_times_as_quick(batch, w, m, o, peak, bandwidth, n):
    alone = step_time(batch, w, m, o, peak, bandwidth)
    node = Quantity(n, "accelerator"), quantity("1"), NO_TIME
    assert close(n * node_step_time(batch, w, m, o, peak, bandwidth, *node), alone)


def test_copies_and_communication_lengthen_a_nodes_step():
    """A latent kept eight times over by eight accelerators: github.com/vllm-project/recipes/issues/762."""
    arguments = quantity("64 sequence"), WEIGHTS, CONTEXT_STATE, WORK, PEAK, BANDWIDTH, quantity("8 accelerator")
    one, eight = (node_step_time(*arguments, copies, NO_TIME) for copies in (quantity("1"), quantity("8")))
    assert close(eight - one, 64 * 7 * CONTEXT_STATE / (8 * BANDWIDTH))
    assert close(node_step_time(*arguments, quantity("1"), quantity("3 ms")) - one, quantity("3 ms"))


def test_every_public_name_is_tested_here():
    with open(__file__, encoding="utf-8") as file:
        tests = file.read().partition("# Stated values")[2]
    assert [name for name in serving.__all__ if f"{name}(" not in tests] == []


def test_a_short_prompt_behind_a_vast_prefix_keeps_its_attention():
    layer, width = quantity("1 layer"), quantity("1 channel")
    work = prefill_attention_operations(quantity("1 token"), layer, width, quantity("1e16 token"))
    assert work.m_as("operation") == pytest.approx(4e16)


def test_chunks_that_divide_a_prompt_evenly_leave_no_empty_one():
    assert chunk_starts(quantity("2.1 token"), quantity("0.7 token")).size == 3


def test_a_prompt_of_too_many_chunks_is_refused():
    with pytest.raises(ArgumentError, match="chunks"):
        chunk_starts(quantity("1e12 token"), quantity("1 token"))


def test_the_caller_keeps_its_arrays():
    batch, state = Quantity(np.arange(1.0, 5.0), "sequence"), Quantity(np.full(4, 1e9), "byte")
    before = batch.magnitude.copy(), state.magnitude.copy()
    rates = quantity("70.6 GB"), state, quantity("141.2 Gop/token"), quantity("1979 Top/s"), quantity("3.35 TB/s")
    first = step_time(batch, *rates)
    assert (first == step_time(batch, *rates)).all()
    assert (batch.magnitude == before[0]).all() and (state.magnitude == before[1]).all()
