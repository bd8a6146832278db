"""costlib.capacity: what fits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.arguments import ArgumentError
from costlib.capacity import (
    break_even_bandwidth,
    break_even_wait,
    constant_between,
    engine_pool,
    growth_between,
    implied_bytes_per_token,
    implied_layers,
    largest_context,
    nodes_for_state,
    reload_time,
    resident_on_node,
    resident_sequences,
    resident_with_prefix,
    state_pool,
)
from costlib.kv_cache import bytes_per_token, growing_state
from costlib.serving import prefill_time, state_copies
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

WEIGHTS, RESERVE = quantity("141.2 GB"), quantity("20 GB")
STATE = 32768 * quantity("327680 B")


@pytest.mark.parametrize("memory, pool, fitting", [("80 GiB", 525.995, 48), ("80 GB", 478.8, 44)])
def test_the_node_pool_hangs_on_what_80_gb_means(memory, pool, fitting):
    left = state_pool(8 * quantity(memory), WEIGHTS, RESERVE)
    assert left.m_as("GB") == pytest.approx(pool, abs=5e-4)
    assert resident_sequences(left, STATE) == Quantity(fitting, "sequence")


def test_the_pool_is_negative_where_the_weights_do_not_fit():
    assert state_pool(quantity("80 GB"), WEIGHTS, RESERVE).m_as("GB") == pytest.approx(-81.2)


def test_nothing_fits_into_a_negative_pool():
    assert show(resident_sequences(quantity("-81.2 GB"), STATE)) == "0 sequences"


def test_nothing_fits_where_an_array_of_pools_is_negative():
    pools = Quantity(np.array([-5.0, 0.0, 5.0, 25.0]), "GB")
    assert [show(fitting) for fitting in resident_sequences(pools, quantity("10 GB"))] == [
        "0 sequences", "0 sequences", "0 sequences", "2 sequences",
    ]  # fmt: skip


@steady
@given(st.floats(-1e15, 1e15), st.floats(1, 1e12))
def test_what_fits_does_fit_and_one_more_does_not(pool, state):
    fitting = resident_sequences(Quantity(pool, "byte"), Quantity(state, "byte")).m_as("sequence")
    assert fitting == int(fitting) >= 0
    assert fitting * state <= max(pool, 0) * (1 + 1e-12)
    assert (fitting + 1) * state > pool * (1 - 1e-12)


@steady
@given(st.integers(1, 1000), st.integers(1, 10**9))
def test_a_pool_of_exactly_so_many_states_holds_them(sequences, state):
    assert (
        resident_sequences(Quantity(sequences * state, "byte"), Quantity(state, "byte")).m_as("sequence") == sequences
    )


@pytest.mark.parametrize(
    ("pool", "state", "fit"), [("4.1 GB", "0.1 GB", 41), ("524.8 GB", "12.8 GB", 41), ("4.09 GB", "0.1 GB", 40)]
)
def test_an_exact_multiple_is_not_lost_to_rounding(pool, state, fit):
    assert resident_sequences(quantity(pool), quantity(state)).magnitude == fit


# ---------------------------------------------------------------- keep, recompute or reload

POOL = state_pool(8 * quantity("80 GiB"), WEIGHTS, RESERVE)
positive = st.floats(1e-3, 1e6)


@pytest.mark.parametrize("alive, nodes", [(720, 14.6978), (120, 2.44963)])
def test_nodes_that_hold_the_state_of_the_worked_fleet(alive, nodes):
    """Foundations of inference cost, §4: about 15 nodes, or 2.4."""
    assert nodes_for_state(Quantity(alive, "trajectory"), STATE, POOL).m_as("node") == pytest.approx(nodes, rel=1e-5)


def test_no_pool_no_nodes():
    with pytest.raises(ArgumentError, match="pool = "):
        nodes_for_state(quantity("1 trajectory"), STATE, quantity("-5 GB"))


def test_the_link_at_which_recomputing_and_reloading_a_token_are_even():
    """The rule of §4, m_token pi / 2N: 4.59 GB/s on the reference accelerator."""
    time = prefill_time(quantity("70.6e9 parameter"), quantity("1979 Top/s")) * quantity("1 token")
    assert break_even_bandwidth(quantity("327680 B"), time).m_as("GB/s") == pytest.approx(4.59263, rel=1e-5)


@steady
@given(positive, positive)
def test_over_the_break_even_link_a_reload_takes_as_long_as_recomputing(state, time):
    state, time = Quantity(state, "MB"), Quantity(time, "ms")
    again = reload_time(state, break_even_bandwidth(state, time))
    assert again.m_as("ms") == pytest.approx(time.magnitude)


@steady
@given(positive, positive, positive)
def test_at_the_break_even_wait_keeping_takes_as_much_of_the_node(time, state, pool):
    time, state, pool = Quantity(time, "s"), Quantity(state, "MB"), Quantity(pool, "GB")
    kept = break_even_wait(time, state, pool) * state / pool
    assert kept.m_as("s") == pytest.approx(time.magnitude)


# ---------------------------------------------------------------- the longest context that fits

sizes = st.integers(1, 10**7)
lengths = st.integers(1, 10**6)
NOTHING = quantity("0 byte")


def kept(tokens, constant, each, windowed, window):
    """The state of so many tokens, in whole bytes."""
    return constant + each * tokens + windowed * min(tokens, window)


@steady
@given(st.integers(0, 10**13), st.integers(0, 10**9), sizes, sizes, lengths)
def test_the_longest_context_fits_and_a_token_more_does_not(memory, constant, each, windowed, window):
    growth = constant, each, windowed, window
    units = "byte", "byte/token", "byte/token", "token"
    longest = largest_context(Quantity(memory, "byte"), *map(Quantity, growth, units)).m_as("token")
    assert longest == int(longest) >= 0
    assert kept(int(longest), *growth) <= max(memory, constant)
    assert kept(int(longest) + 1, *growth) > memory


@steady
@given(st.integers(0, 10**6), st.integers(0, 10**9), sizes, sizes, lengths)
def test_the_longest_context_is_the_inverse_of_the_state(tokens, constant, each, windowed, window):
    growth = [Quantity(constant, "byte"), Quantity(each, "byte/token"), Quantity(windowed, "byte/token")]
    growth.append(Quantity(window, "token"))
    state = growing_state(Quantity(tokens, "token"), *growth)
    assert largest_context(state, *growth).m_as("token") == tokens
    assert largest_context(state - quantity("1 byte"), *growth).m_as("token") == max(tokens - 1, 0)


@steady
@given(st.integers(1, 10**6), st.floats(0.01, 1e6))
def test_rounding_neither_loses_a_token_nor_adds_one(tokens, each):
    """Part of a byte a token, as on one of three ranks: the quotient may lie on the wrong side of a whole number."""
    each = Quantity(each, "byte/token")
    state = Quantity(tokens, "token") * each
    below = Quantity(math.nextafter(state.magnitude, 0), "byte")
    assert largest_context(state, NOTHING, each).m_as("token") == tokens
    assert largest_context(below, NOTHING, each).m_as("token") == tokens - 1


def test_the_longest_context_on_both_sides_of_the_window():
    """2 B for every token, 8 B for the last 100, 50 B whatever the length."""
    growth = map(quantity, ("50 byte", "2 byte/token", "8 byte/token", "100 token"))
    memory = Quantity(np.array([-7, 49, 59, 60, 1049, 1050, 1051, 1052, 9999]), "byte")
    assert largest_context(memory, *growth).magnitude.tolist() == [0, 0, 0, 1, 99, 100, 100, 101, 4574]


def test_layers_with_a_window_of_no_end_count_like_the_others():
    memory, each = quantity("1 GB"), quantity("1000 byte/token")
    assert largest_context(memory, NOTHING, each, 3 * each) == largest_context(memory, NOTHING, 4 * each)


def test_an_exact_fit_in_decimal_gigabytes_is_not_lost_to_rounding():
    """4.1 GB over 0.1 MB a token is 41,000 tokens, not one less."""
    assert largest_context(quantity("4.1 GB"), NOTHING, quantity("0.1 MB/token")).m_as("token") == 41_000


def test_no_layer_that_keeps_every_token_no_longest_context():
    with pytest.raises(ArgumentError, match="bytes_per_token = 0"):
        largest_context(quantity("1 GB"), NOTHING, quantity("0 byte/token"))


# ---------------------------------------------------------------- nodes, prefixes, engines


@steady
@given(st.floats(-1e12, 1e12), st.floats(1, 1e11))
def test_a_node_of_one_card_holds_what_the_card_holds(pool, state):
    pool, state, one = Quantity(pool, "byte"), Quantity(state, "byte"), quantity("1 accelerator")
    assert resident_on_node(pool, state, one, one) == resident_sequences(pool, state)


@pytest.mark.parametrize("ranks, sessions", [(1, 24), (2, 12), (3, 6), (4, 6), (8, 3), (16, 0)])
def test_copies_are_whole_and_so_is_what_each_holds(ranks, sessions):
    """A card has room for 3.9 states: eight copies hold 24, not 31; three cards a copy leave two idle."""
    pool, state = quantity("3.9 GB"), quantity("1 GB")
    held = resident_on_node(pool, state, quantity("8 accelerator"), Quantity(ranks, "accelerator"))
    assert held.m_as("sequence") == sessions


def test_a_latent_on_eight_ranks_is_held_eight_times():
    """Data-parallel attention holds eight times the contexts of a model with one latent for all heads."""
    eight, one = quantity("8 accelerator"), quantity("1 accelerator")
    pool, state = quantity("60 GB"), quantity("2 GB")
    shared = state * state_copies(quantity("1 head"), eight) / 8
    assert resident_on_node(pool, state, eight, one) == 8 * resident_on_node(pool, shared, eight, eight)


@steady
@given(st.integers(-(10**12), 10**12), st.integers(0, 10**11), st.integers(1, 10**11))
def test_a_shared_prefix_is_counted_once(pool, prefix, own):
    held = resident_with_prefix(Quantity(pool, "byte"), Quantity(prefix, "byte"), Quantity(own, "byte"))
    held = int(held.m_as("sequence"))
    assert held == max((pool - prefix) // own, 0)


def test_a_share_of_the_card_is_at_most_one():
    card, weights = quantity("80 GB"), quantity("42 GB")
    assert engine_pool(card, 1, weights, RESERVE) == state_pool(card, weights, RESERVE)
    with pytest.raises(ArgumentError, match="utilisation = 1.1; wanted a share of at most 1"):
        engine_pool(card, 1.1, weights, RESERVE)
    with pytest.raises(ArgumentError, match="utilisation = "):
        engine_pool(card, np.array([0.9, 90]), weights, RESERVE)


def test_the_share_is_of_the_card_and_the_weights_are_subtracted_once():
    """0.9 of 23.58 GiB, less 17.06 at a peak that holds the weights, and 0.35 beside it, is 3.81.

    As vLLM printed: github.com/vllm-project/vllm/issues/10517.
    """
    weights = quantity("14.9888 GiB")
    beside_the_weights = quantity("17.06 GiB") - weights + quantity("0.35 GiB")
    left = engine_pool(quantity("23.58 GiB"), 0.9, weights, beside_the_weights)
    assert left.m_as("GiB") == pytest.approx(3.81, abs=0.005)


# ---------------------------------------------------------------- the inverse of a claim, and of a log

GEOMETRY = quantity("2 head"), quantity("128 channel/head")


@steady
@given(lengths, st.integers(0, 10**9), sizes)
def test_a_claim_that_a_model_just_meets_implies_its_state_of_a_token(tokens, constant, each):
    constant, each = Quantity(constant, "byte"), Quantity(each, "byte/token")
    context = Quantity(tokens, "token")
    memory = growing_state(context, constant, each)
    assert implied_bytes_per_token(memory, constant, context).m_as("byte/token") == pytest.approx(each.magnitude)


@pytest.mark.parametrize("layers", [1, 8, 80])
@pytest.mark.parametrize("precision", ["2 B/element", "1 B/element", "0.5625 B/element"])
def test_the_layers_implied_by_a_geometry_are_its_own(layers, precision):
    kept = bytes_per_token(Quantity(layers, "layer"), *GEOMETRY, quantity(precision))
    assert implied_layers(kept, *GEOMETRY, quantity(precision)).m_as("layer") == pytest.approx(layers, rel=1e-15)


def test_a_memory_without_room_for_the_constant_implies_a_negative():
    implied = implied_bytes_per_token(quantity("1 MB"), quantity("2 MB"), quantity("1000 token"))
    assert implied.m_as("byte/token") == -1000


@steady
@given(lengths, lengths, st.integers(0, 10**9), sizes)
def test_two_sizes_give_back_what_stays_and_what_grows(tokens, more, constant, each):
    short, long = Quantity(tokens, "token"), Quantity(tokens + more, "token")
    growth = Quantity(constant, "byte"), Quantity(each, "byte/token")
    seen = short, growing_state(short, *growth), long, growing_state(long, *growth)
    assert growth_between(*seen).m_as("byte/token") == each
    assert constant_between(*seen).m_as("byte") == constant


@pytest.mark.parametrize("function", [growth_between, constant_between])
@pytest.mark.parametrize("second", ["4096 token", "4095 token"])
def test_the_second_length_has_to_be_the_longer(function, second):
    with pytest.raises(ArgumentError, match="longer_context = .*; wanted more than context = 4096"):
        function(quantity("4096 token"), quantity("1 GB"), quantity(second), quantity("2 GB"))
