"""costlib.decoding: what leaves the accelerator for each token, and what masks it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.decoding import (
    host_stall,
    logit_traffic,
    logit_vector,
    mask_row,
    mask_table,
    server_token_rate,
    token_id_traffic,
)
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

SERVER = quantity("64 stream"), quantity("40 token/s/stream")
VOCABULARY, HALF = quantity("128000 token"), quantity("2 B/element")


# Sampling


def test_the_sources_server():
    assert show(logit_vector(VOCABULARY, HALF)) == "256,000 B"
    assert show(server_token_rate(*SERVER)) == "2,560 tokens/s"
    assert show(logit_traffic(VOCABULARY, HALF, *SERVER), "MB/s") == "655 MB/s"
    assert show(token_id_traffic(*SERVER), "kB/s", digits=2) == "10 kB/s"


@steady
@given(st.integers(100, 10**6), st.floats(0.5, 4), st.integers(1, 10**5), st.floats(0.1, 1e4))
def test_logits_take_a_vector_where_identifiers_take_four_bytes(vocabulary, precision, streams, rate):
    sizes = Quantity(vocabulary, "token"), Quantity(precision, "B/element")
    server = Quantity(streams, "stream"), Quantity(rate, "token/s/stream")
    ratio = (logit_traffic(*sizes, *server) / token_id_traffic(*server)).m_as("")
    assert ratio == pytest.approx(logit_vector(*sizes).m_as("B") / 4, rel=1e-12)
    assert ratio == pytest.approx(vocabulary * precision / 4, rel=1e-12)


# Masks


@pytest.mark.parametrize(
    "vocabulary, size", [(1, 1), (8, 1), (9, 2), (128_000, 16_000), (128_256, 16_032), (131_072, 16_384)]
)
def test_a_row_has_a_bit_for_each_entry_in_whole_bytes(vocabulary, size):
    assert mask_row(Quantity(vocabulary, "token")) == Quantity(size, "B")


@steady
@given(st.integers(1, 10**6))
def test_a_row_is_as_long_as_numpy_packs_it(vocabulary):
    packed = np.packbits(np.zeros(vocabulary, dtype=bool))
    assert mask_row(Quantity(vocabulary, "token")).m_as("B") == packed.nbytes


def test_the_sources_table():
    assert show(mask_table(512, quantity("131072 token")), digits=9) == "8,388,608 B"


def test_rows_of_several_vocabularies():
    vocabularies = Quantity(np.array([9.0, 16.0, 131_072.0]), "token")
    assert mask_row(vocabularies).m_as("B").tolist() == [2, 2, 16_384]
    assert mask_table(2, vocabularies).m_as("B").tolist() == [4, 4, 32_768]


# A host in the loop


@pytest.mark.parametrize("step, stall", [("20 us/token", 10), ("50 us/token", 25), ("150 us/token", 75)])
def test_the_stall_of_the_sources_output(step, stall):
    assert host_stall(quantity("500 token"), quantity(step)).m_as("ms") == pytest.approx(stall)
