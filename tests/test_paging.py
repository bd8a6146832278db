"""costlib.paging: stated values, limits; and a pool that loses no block and counts none twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from costlib.arguments import ArgumentError
from costlib.paging import BlockPool, blocks_needed, expected_tail_waste, table_size
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
