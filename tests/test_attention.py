"""costlib.attention: decoding from a cache is exact, the cache holds what the formulas say; and what breaks that."""

import numpy as np
import pytest

from costlib import attention
from costlib.attention import GroupedAttention, LatentAttention
from costlib.kv_cache import bytes_per_token, latent_bytes_per_token
from costlib.units import Quantity, quantity

WIDTH, HEADS, SIZE, RANK, ROPE, TOKENS = 48, 8, 16, 24, 8, 30
INPUTS = np.random.default_rng(1).normal(size=(TOKENS, WIDTH))
LAYERS = {
    "multi-head": GroupedAttention(WIDTH, HEADS, 8, SIZE),
    "grouped-query": GroupedAttention(WIDTH, HEADS, 2, SIZE),
    "multi-query": GroupedAttention(WIDTH, HEADS, 1, SIZE),
    "latent": LatentAttention(WIDTH, HEADS, SIZE, RANK, ROPE),
}
each_design = pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)


def decode(layer):
    cache, outputs = layer.empty_cache(), []
    for token in INPUTS:
        output, cache = layer.step(token, cache)
        outputs.append(output)
    return np.array(outputs), cache


def error(layer):
    return np.abs(decode(layer)[0] - layer.whole(INPUTS)).max()


@each_design
def test_decoding_from_the_cache_gives_the_output_of_the_whole(layer):
    assert error(layer) < 1e-12


@each_design
@pytest.mark.parametrize("storage", [np.float64, np.float32, np.float16])
def test_the_cache_holds_exactly_the_bytes_of_the_formula(layer, storage, monkeypatch):
    monkeypatch.setattr(layer, "storage", storage)
    held = sum(array.nbytes for array in decode(layer)[1].values())
    element = Quantity(np.dtype(storage).itemsize, "byte/element")
    if isinstance(layer, LatentAttention):
        per_token = latent_bytes_per_token(quantity("1 layer"), quantity("24 channel"), quantity("8 channel"), element)
    else:
        heads = Quantity(layer.key.shape[1], "head")
        per_token = bytes_per_token(quantity("1 layer"), heads, Quantity(SIZE, "channel/head"), element)
    assert held == TOKENS * per_token.magnitude


@each_design
def test_a_token_sees_none_after_it(layer):
    changed = INPUTS.copy()
    changed[20:] += 1
    assert layer.whole(changed)[:20] == pytest.approx(layer.whole(INPUTS)[:20])
    assert layer.whole(changed)[20] != pytest.approx(layer.whole(INPUTS)[20])


@each_design
def test_the_order_of_the_tokens_counts(layer):
    swapped = INPUTS.copy()
    swapped[[3, 4]] = swapped[[4, 3]]
    assert layer.whole(swapped)[-1] != pytest.approx(layer.whole(INPUTS)[-1])


def test_multi_head_is_grouped_query_with_groups_of_one():
    grouped = GroupedAttention(WIDTH, HEADS, HEADS, SIZE)
    shared = GroupedAttention(WIDTH, HEADS, 2, SIZE)
    grouped.query, grouped.out = shared.query, shared.out
    grouped.key, grouped.value = (np.repeat(weights, 4, axis=1) for weights in (shared.key, shared.value))
    assert grouped.whole(INPUTS) == pytest.approx(shared.whole(INPUTS))


def test_heads_that_do_not_divide_into_groups_are_refused():
    with pytest.raises(ValueError, match="query_heads = 8 is no multiple of kv_heads = 3"):
        GroupedAttention(WIDTH, HEADS, 3, SIZE)


# ---------------------------------------------------------------- what would go unnoticed, and does not


@each_design
def test_a_cache_that_forgets_its_last_token_is_noticed(layer, monkeypatch):
    attend = layer.attend
    monkeypatch.setattr(layer, "attend", lambda tokens, positions, kept: attend(
        tokens, positions, kept if len(tokens) > 1 or positions[0] == 0 else {k: v[:-1] for k, v in kept.items()}
    ))  # fmt: skip
    assert error(layer) > 1e-3


@each_design
def test_keys_kept_without_their_position_are_noticed(layer, monkeypatch):
    kept_of = layer.kept_of
    monkeypatch.setattr(layer, "kept_of", lambda tokens, positions: kept_of(
        tokens, positions if len(tokens) > 1 else 0 * positions
    ))  # fmt: skip
    assert error(layer) > 1e-3


def test_heads_shared_in_another_order_are_noticed(monkeypatch):
    layer = GroupedAttention(WIDTH, HEADS, 2, SIZE)
    whole = layer.whole(INPUTS)
    monkeypatch.setattr(attention.np, "repeat", lambda array, times, axis: np.tile(array, (1, times, 1)))
    assert np.abs(decode(layer)[0] - whole).max() > 1e-3


def test_a_latent_kept_for_keys_and_again_for_values_is_noticed(monkeypatch):
    """The output is right, so only the bytes tell: github.com/LMCache/LMCache/pull/694."""
    layer = LAYERS["latent"]
    kept_of, empty = layer.kept_of, layer.empty_cache()

    def twice(kept):
        return {"again": kept["latents"], **kept}

    monkeypatch.setattr(layer, "empty_cache", lambda: twice(empty))
    monkeypatch.setattr(layer, "kept_of", lambda *tokens: twice(kept_of(*tokens)))
    assert error(layer) < 1e-12
    held = sum(array.nbytes for array in decode(layer)[1].values())
    assert held == TOKENS * (2 * RANK + ROPE) * 8 != TOKENS * (RANK + ROPE) * 8


def test_fewer_bits_cost_exactness():
    layer = GroupedAttention(WIDTH, HEADS, 2, SIZE, storage=np.float16)
    assert 1e-12 < error(layer) < 1e-2


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: GroupedAttention(8, 4, 2, 3), "head_dim = 3; wanted a whole number, even"),
        (lambda: GroupedAttention(8, 4, 0, 4), "kv_heads = 0; wanted a whole number, one or more"),
        (lambda: LatentAttention(8, 4, 4, 4, 1), "rope_dim = 1; wanted a whole number, even"),
        (lambda: GroupedAttention(8, 4, 2, 4, storage=np.int8), "wanted a floating type"),
    ],
)
def test_sizes_that_no_layer_has_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
