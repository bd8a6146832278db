"""costlib.paging: stated values, limits; and a pool that loses no block and counts none twice."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from costlib.arguments import ArgumentError
from costlib.paging import (
    BlockPool,
    blocks_needed,
    blocks_with_shared_prefix,
    expected_tail_waste,
    smallest_overhead_block,
    table_size,
)
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

PAGE, PER_TOKEN = quantity("16 token"), quantity("327680 byte/token")
tokens = st.integers(0, 10**6)
sizes = st.integers(1, 4096)


def test_the_tail_of_the_reference_model():
    assert show(expected_tail_waste(PAGE, PER_TOKEN), "MB") == "2.46 MB"


def test_blocks_of_one_token_waste_nothing():
    assert expected_tail_waste(quantity("1 token"), PER_TOKEN) == quantity("0 B")


@steady
@given(sizes)
def test_the_tail_is_the_mean_over_all_lengths(block):
    tails = [
        (blocks_needed(Quantity(n, "token"), Quantity(block, "token")).magnitude * block - n)
        for n in range(10 * block, 11 * block)
    ]
    expected = expected_tail_waste(Quantity(block, "token"), quantity("1 byte/token")).magnitude
    assert sum(tails) / block == pytest.approx(expected)


@steady
@given(tokens, sizes)
def test_the_blocks_needed_hold_the_context_and_one_fewer_does_not(context, block):
    needed = blocks_needed(Quantity(context, "token"), Quantity(block, "token")).magnitude
    assert (needed - 1) * block < context <= needed * block


def test_the_table_of_a_context():
    assert table_size(quantity("32768 token"), PAGE, quantity("4 byte")) == quantity("8192 byte")


@steady
@given(st.integers(1, 10**7), st.integers(1, 10**6), st.integers(1, 64))
def test_no_other_block_takes_less_for_the_table_and_the_empty_end(context, per_token, entry):
    """With the table's part as it is between whole blocks."""
    per_token = Quantity(per_token, "byte/token")

    def overhead(block):
        return context * entry / block.magnitude + expected_tail_waste(block, per_token).magnitude

    least = smallest_overhead_block(Quantity(context, "token"), per_token, Quantity(entry, "byte"))
    for other in (least / 1.01, least * 1.01):
        assert other < quantity("1 token") or overhead(least) <= overhead(other)


def test_a_heavy_token_asks_for_blocks_of_one():
    assert smallest_overhead_block(quantity("32768 token"), PER_TOKEN, quantity("4 byte")) == quantity("1 token")


@steady
@given(tokens, st.integers(1, 10**4), sizes)
def test_one_alone_with_its_prefix_holds_what_it_needs(prefix, own, block):
    prefix, own, block = (Quantity(n, "token") for n in (prefix, own, block))
    alone = blocks_with_shared_prefix(prefix, own, quantity("1 sequence"), block)
    assert alone == blocks_needed(prefix + own, block)


@steady
@given(tokens, st.integers(1, 10**4), st.integers(1, 100), sizes)
def test_sharing_never_takes_more_and_saves_at_most_all_prefixes_but_one(prefix, own, sequences, block):
    prefix, own, block = (Quantity(n, "token") for n in (prefix, own, block))
    shared = blocks_with_shared_prefix(prefix, own, Quantity(sequences, "sequence"), block)
    alone = sequences * blocks_needed(prefix + own, block)
    assert alone - (sequences - 1) * blocks_needed(prefix, block) <= shared <= alone


@steady
@given(st.integers(0, 200), st.integers(1, 60), st.integers(1, 12), st.integers(1, 32))
def test_forks_of_a_prefix_hold_the_blocks_of_the_formula(prefix, own, sequences, block):
    pool = BlockPool(4_000, block)
    parent = pool.start()
    pool.append(parent, prefix)
    forks = [pool.fork(parent) for _ in range(sequences)]
    pool.end(parent)
    for fork in forks:
        pool.append(fork, own)
    lengths = Quantity(prefix, "token"), Quantity(own, "token")
    wanted = blocks_with_shared_prefix(*lengths, Quantity(sequences, "sequence"), Quantity(block, "token"))
    assert pool.used == wanted.magnitude


# ---------------------------------------------------------------- the pool


class Pools(RuleBasedStateMachine):
    """Any order of starting, growing, forking and ending, beside a plain record of what each context holds."""

    contexts = Bundle("contexts")

    def __init__(self):
        super().__init__()
        self.pool = BlockPool(blocks=60, block_size=4)
        self.written = {}  # the tokens of each context, each by a number of its own
        self.stored = {}  # what lies in each block, place by place
        self.next_token = 0

    @rule(target=contexts)
    def start(self):
        context = self.pool.start()
        self.written[context] = []
        return context

    @rule(context=contexts, count=st.integers(0, 15))
    def append(self, context, count):
        if context not in self.written:
            return
        before = self.pool.free, self.pool.length(context), self.pool.table(context)
        try:
            self.pool.append(context, count)
        except MemoryError:
            assert (self.pool.free, self.pool.length(context), self.pool.table(context)) == before
            return
        new = list(range(self.next_token, self.next_token + count))
        self.next_token += count
        old = self.written[context]
        self.written[context] = [*old, *new]
        table = self.pool.table(context)
        copied = set(table) - set(before[2])
        for place, token in enumerate(self.written[context]):
            if place >= len(old) or table[place // 4] in copied:
                self.stored[table[place // 4], place % 4] = token

    @rule(target=contexts, context=contexts)
    def fork(self, context):
        if context not in self.written:
            return context
        other = self.pool.fork(context)
        self.written[other] = list(self.written[context])
        return other

    @rule(context=consumes(contexts))
    def end(self, context):
        if context in self.written:
            self.pool.end(context)
            del self.written[context]

    @invariant()
    def every_block_is_free_or_held(self):
        held = {block for context in self.written for block in self.pool.table(context)}
        assert self.pool.used == len(held)
        assert self.pool.free + self.pool.used == 60

    @invariant()
    def each_context_reads_what_it_wrote(self):
        for context, written in self.written.items():
            table = self.pool.table(context)
            assert self.pool.length(context) == len(written)
            assert [self.stored[table[place // 4], place % 4] for place in range(len(written))] == written

    def teardown(self):
        for context in list(self.written):
            self.pool.end(context)
        assert (self.pool.free, self.pool.used) == (60, 0)


TestPools = Pools.TestCase
TestPools.settings = settings(derandomize=True, deadline=None, max_examples=100, stateful_step_count=40)


def test_a_fork_shares_all_blocks_until_somebody_writes():
    pool = BlockPool(10, 4)
    parent = pool.start()
    pool.append(parent, 6)
    child = pool.fork(parent)
    assert pool.used == 2 and pool.table(child) == pool.table(parent)
    pool.append(child, 1)
    assert pool.used == 3 and pool.table(child)[0] == pool.table(parent)[0]
    pool.append(parent, 1)  # now alone with its last block
    assert pool.used == 3


def test_a_fork_at_the_end_of_a_block_needs_no_copy():
    pool = BlockPool(10, 4)
    parent = pool.start()
    pool.append(parent, 8)
    pool.append(pool.fork(parent), 1)
    assert pool.used == 3


def test_the_empty_ends_of_growing_contexts_are_those_of_the_formula():
    """In 4,000 lengths by chance the mean is within four standard errors, of (B² - 1) / 12 each."""
    rng, pool, block = random.Random(3), BlockPool(40_000, 16), 16
    context, tails = pool.start(), []
    for _ in range(4_000):
        pool.append(context, rng.randint(1, 200))
        tails.append(len(pool.table(context)) * block - pool.length(context))
    expected = expected_tail_waste(PAGE, quantity("1 byte/token")).magnitude
    assert sum(tails) / 4_000 == pytest.approx(expected, abs=4 * ((block**2 - 1) / 12 / 4_000) ** 0.5)


def test_where_there_is_no_room_nothing_is_added():
    pool = BlockPool(2, 4)
    context = pool.start()
    with pytest.raises(MemoryError, match="3 blocks wanted, 2 free"):
        pool.append(context, 9)
    assert (pool.length(context), pool.free) == (0, 2)


def test_the_copy_of_a_shared_block_needs_room_too():
    pool = BlockPool(1, 4)
    parent = pool.start()
    pool.append(parent, 2)
    child = pool.fork(parent)
    with pytest.raises(MemoryError, match="1 blocks wanted, 0 free"):
        pool.append(child, 1)


@pytest.mark.parametrize(
    "call",
    [lambda pool: pool.append(3, 1), lambda pool: pool.fork(3), lambda pool: pool.end(3), lambda pool: pool.length(3)],
)
def test_a_context_that_does_not_live_is_refused(call):
    with pytest.raises(ArgumentError, match="context = 3; wanted one that lives"):
        call(BlockPool(4, 4))


def test_a_context_ends_once():
    pool = BlockPool(4, 4)
    context = pool.start()
    pool.end(context)
    with pytest.raises(ArgumentError):
        pool.end(context)


@pytest.mark.parametrize("blocks, size", [(0, 16), (4, 0), (2.5, 16), (4, -1)])
def test_a_pool_of_no_or_broken_blocks_is_refused(blocks, size):
    with pytest.raises(ArgumentError, match="wanted whole numbers, one or more"):
        BlockPool(blocks, size)


@pytest.mark.parametrize("count", [-1, 1.5])
def test_tokens_are_added_whole(count):
    pool = BlockPool(4, 4)
    with pytest.raises(ArgumentError, match="wanted a whole number"):
        pool.append(pool.start(), count)


def test_tokens_of_a_narrow_integer_do_not_wrap_around():
    import numpy as np

    pool = BlockPool(200, 4)
    context = pool.start()
    pool.append(context, np.uint8(200))
    pool.append(context, np.uint8(100))
    assert (pool.length(context), pool.used) == (300, 75)


def test_a_change_of_unit_adds_no_block():
    """2.007 thousand tokens are 2,006.9999999999998 in floating point, and 2,007 blocks of one."""
    assert blocks_needed(quantity("2.007 ktoken"), quantity("1 token")).magnitude == 2007
