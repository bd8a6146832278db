"""costlib.kv_cache: stated values, limits and identities."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.kv_cache import (
    block_precision,
    bytes_per_token,
    context_state,
    growing_state,
    latent_bytes_per_token,
    occupancy,
)
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

LAYERS, HEAD_DIM, PRECISION = quantity("80 layer"), quantity("128 channel/head"), quantity("2 B/element")
PER_TOKEN = quantity("327680 B/token")

tokens = st.integers(0, 10**7).map(lambda n: Quantity(n, "token"))
windows = st.integers(1, 10**6).map(lambda n: Quantity(n, "token"))


@pytest.mark.parametrize("heads, stated", [(64, 2_621_440), (8, 327_680), (1, 40_960)], ids=["MHA", "GQA", "MQA"])
def test_bytes_per_token_of_the_reference_geometry(heads, stated):
    assert bytes_per_token(LAYERS, Quantity(heads, "head"), HEAD_DIM, PRECISION).magnitude == stated


@pytest.mark.parametrize("heads, stated", [(64, "85.9 GB"), (8, "10.7 GB"), (1, "1.34 GB")], ids=["MHA", "GQA", "MQA"])
def test_state_of_a_32k_context(heads, stated):
    per_token = bytes_per_token(LAYERS, Quantity(heads, "head"), HEAD_DIM, PRECISION)
    assert show(context_state(quantity("32768 token"), per_token), "GB") == stated


def test_10_737_gb_are_10_gib():
    state = context_state(quantity("32768 token"), PER_TOKEN)
    assert state.m_as("GB") == pytest.approx(10.737, abs=5e-4)
    assert state.m_as("GiB") == 10


def test_an_8_bit_cache_is_half_of_a_16_bit_one():
    one, other = (bytes_per_token(LAYERS, quantity("8 head"), HEAD_DIM, Quantity(b, "byte/element")) for b in (1, 2))
    assert one.magnitude == 163_840
    assert (one / other).magnitude == 0.5


def test_a_latent_is_kept_once_not_as_key_and_value():
    """Doubled and without the positional key it would be 124,928: github.com/LMCache/LMCache/pull/694."""
    size = latent_bytes_per_token(quantity("61 layer"), quantity("512 channel"), quantity("64 channel"), PRECISION)
    assert size.magnitude == 70_272


@steady
@given(tokens, windows)
def test_a_window_never_keeps_more_than_the_whole_context(context, window):
    assert context_state(context, PER_TOKEN, window) <= context_state(context, PER_TOKEN)


@steady
@given(tokens, windows)
def test_a_window_as_long_as_the_context_changes_nothing(context, window):
    longer = max(window, context)
    assert context_state(context, PER_TOKEN, longer) == context_state(context, PER_TOKEN)


@steady
@given(tokens, windows)
def test_a_full_window_stays_as_it_is(beyond, window):
    assert context_state(window + beyond, PER_TOKEN, window) == (window * PER_TOKEN).to("byte")


def test_a_context_shorter_than_the_window_takes_no_more_than_itself():
    """A ring sized for a window of 1,024 where a context has 128: github.com/tenstorrent/tt-xla/issues/5727."""
    assert context_state(quantity("128 token"), PER_TOKEN, quantity("1024 token")) == (
        128 * PER_TOKEN.magnitude
    ) * quantity("1 B")


def test_an_empty_context_has_no_state():
    assert context_state(quantity("0 token"), PER_TOKEN) == quantity("0 B")


@pytest.mark.parametrize("bits, scales, size", [(8, 2, 34), (4, 2, 18), (4, 4, 20), (16, 0, 64)])
def test_blocks_of_32_with_their_scales(bits, scales, size):
    """block_q8_0, block_q4_0 and block_q4_1 of ggml-common.h in llama.cpp, and 16 bits without any."""
    block = quantity("32 element")
    stored = block_precision(Quantity(bits, "bit/element"), block, Quantity(scales, "byte"))
    assert (stored * block).m_as("byte") == size


@steady
@given(st.integers(1, 16), st.integers(1, 512), st.integers(0, 16))
def test_scales_only_add_and_less_in_larger_blocks(bits, block, scales):
    one, other = (
        block_precision(Quantity(bits, "bit/element"), Quantity(n, "element"), Quantity(scales, "byte"))
        for n in (block, 2 * block)
    )
    assert one >= other >= Quantity(bits, "bit/element")


def test_the_idle_occupancy_of_the_worked_wait():
    held = occupancy(context_state(quantity("32768 token"), PER_TOKEN), quantity("20 s"))
    assert held.m_as("GB*s") == pytest.approx(214.748, abs=5e-4)


@steady
@given(st.floats(0, 1e12), st.floats(0, 1e4), st.floats(0, 1e4))
def test_two_waits_hold_as_much_as_one_of_their_length(state, one, other):
    state, one, other = Quantity(state, "byte"), Quantity(one, "s"), Quantity(other, "s")
    together = (occupancy(state, one) + occupancy(state, other)).magnitude
    assert together == pytest.approx(occupancy(state, one + other).magnitude)


def test_a_state_of_three_kinds():
    """50 B whatever the length, 2 B for every token, 8 B for the last 100."""
    growth = list(map(quantity, ("50 byte", "2 byte/token", "8 byte/token", "100 token")))
    states = [growing_state(Quantity(n, "token"), *growth).m_as("byte") for n in (0, 1, 99, 100, 101, 5000)]
    assert states == [50, 60, 1040, 1050, 1052, 10_850]


@steady
@given(tokens, windows)
def test_without_a_window_a_state_grows_by_both(context, window):
    constant, each, other = quantity("50 byte"), quantity("2 byte/token"), quantity("8 byte/token")
    unbounded = growing_state(context, constant, each, other)
    assert unbounded == growing_state(context, constant, each + other)
    assert growing_state(context, constant, each, other, window) <= unbounded
    assert growing_state(context, constant, each) == constant + context_state(context, each)
