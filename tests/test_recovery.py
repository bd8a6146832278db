"""costlib.recovery: a crash at every record, with every state of the disk that the rule allows."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.recovery import Log, Page, Record, analysis, recover, redo, undo, versions

steady = settings(derandomize=True, deadline=None, max_examples=150)

PAGES, TRANSACTIONS = "ABC", ("T1", "T2", "T3", "T4")
moves = st.lists(
    st.tuples(st.sampled_from(TRANSACTIONS), st.sampled_from(["update", "update", "update", "commit", "rollback"]),
              st.sampled_from(PAGES)),
    max_size=25,
)  # fmt: skip


def history(moves):
    """A log in which a page belongs to one transaction until that ends, and nobody writes after the end."""
    log, owner, open_, closed = Log(), {}, set(), set()
    for value, (transaction, move, page) in enumerate(moves, 100):
        if transaction in closed:
            continue
        if move == "update" and owner.setdefault(page, transaction) == transaction:
            log.update(transaction, page, value)
            open_.add(transaction)
        elif move != "update" and transaction in open_:
            log.commit(transaction) if move == "commit" else log.rollback(transaction)
            open_.discard(transaction)
            closed.add(transaction)
            owner = {page: who for page, who in owner.items() if who != transaction}
    return log


def committed_values(log):
    """What the pages must hold: by going through the log again, without ARIES."""
    winners = {record.transaction for record in log if record.kind == "commit"}
    values = dict.fromkeys(PAGES)
    for record in log:
        if record.kind == "update" and record.transaction in winners:
            values[record.page] = record.after
    return values


def disks(log):
    """Every state of the disk that the rule allows."""
    for chosen in itertools.product(*(versions(log, page) for page in PAGES)):
        yield dict(zip(PAGES, chosen, strict=True))


def values_of(disk):
    return {page: disk.get(page, Page()).value for page in PAGES}


@steady
@given(moves, st.randoms(use_true_random=False))
def test_a_crash_at_every_record_recovers_what_was_committed(moves, random):
    log = history(moves)
    for length in range(len(log) + 1):
        left = log[:length]
        disk = {page: random.choice(versions(left, page)) for page in PAGES}
        assert values_of(recover(left, disk)[1]) == committed_values(left)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(moves.filter(lambda moves: len(moves) <= 12))
def test_whatever_reached_the_disk(moves):
    log = history(moves)
    for length in range(len(log) + 1):
        for disk in disks(log[:length]):
            assert values_of(recover(log[:length], disk)[1]) == committed_values(log[:length])


@steady
@given(moves, st.randoms(use_true_random=False))
def test_a_crash_at_every_record_of_the_recovery_recovers_the_same(moves, random):
    log = history(moves)
    longer, _ = recover(log, {})
    for length in range(len(log), len(longer) + 1):
        left = longer[:length]
        disk = {page: random.choice(versions(left, page)) for page in PAGES}
        again, recovered = recover(left, disk)
        assert values_of(recovered) == committed_values(log)
        assert len(again) == len(longer)  # nothing is taken back twice


@steady
@given(moves)
def test_recovery_of_what_was_recovered_does_nothing(moves):
    log, disk = recover(history(moves), {})
    assert recover(log, disk) == (log, disk)
    assert redo(log, dict(disk), analysis(log)[1]) == []


def two_transactions():
    log = Log()
    log.update("T1", "A", 1)
    log.update("T2", "B", 2)
    log.update("T1", "B2", 3)
    log.commit("T2")
    return log


def test_back_pointers_lead_through_one_transaction():
    assert [record.previous for record in two_transactions()] == [None, None, 1, 2]


def test_the_three_passes_of_a_small_log():
    log, disk = two_transactions(), {"A": Page(1, 1)}
    losers, since = analysis(log)
    assert (losers, since) == ({"T1": 3}, {"A": 1, "B": 2, "B2": 3})
    assert redo(log, disk, since) == [2, 3]  # A was up to date
    assert undo(log, disk, losers) == [3, 1]
    assert {page: held.value for page, held in disk.items()} == {"A": None, "B": 2, "B2": None}
    assert [(record.kind, record.undo_next) for record in log[4:]] == [
        ("compensation", 1), ("compensation", None), ("end", None),
    ]  # fmt: skip


def test_updates_of_several_losers_are_taken_back_the_last_one_first():
    log = Log()
    for transaction, page in (("T1", "A"), ("T2", "B"), ("T1", "C"), ("T2", "D")):
        log.update(transaction, page, 1)
    assert undo(log, {}, analysis(log)[0]) == [4, 3, 2, 1]


def test_a_page_newer_than_the_log_breaks_the_rule():
    with pytest.raises(ValueError, match="page 'A' is of record 9, the log ends at 4"):
        recover(two_transactions(), {"A": Page(1, 9)})


UPDATE = Record(1, "update", "T", None, "A", None, 1)


@pytest.mark.parametrize(
    "log, message",
    [
        ([replace(UPDATE, previous=1)], "points back to 1; wanted None"),
        ([replace(UPDATE, position=2)], "has the position 2; wanted 1"),
        ([replace(UPDATE, kind="updated")], "of the kind 'updated'"),
        ([replace(UPDATE, page=None)], "update, has the page None"),
        ([UPDATE, Record(2, "compensation", "T", 1, "A", undo_next=2)], "wanted an earlier record of T"),
        ([UPDATE, Record(2, "commit", "T", 1), Record(3, "update", "T", 2, "A", 1, 2)], "follows the end of T"),
        ([UPDATE, Record(2, "update", "U", None, "A", 1, 2)], "changes 'A', which T has changed and not ended"),
    ],
)
def test_a_log_that_nobody_can_have_written_is_refused(log, message):
    with pytest.raises(ValueError, match=message):
        recover(log, {})


def test_a_page_of_which_the_log_knows_nothing_is_refused():
    with pytest.raises(ValueError, match="wanted a version that the log knows of"):
        recover([UPDATE], {"A": Page(7, 1)})


def test_what_never_wrote_cannot_be_rolled_back():
    with pytest.raises(ValueError, match="'X' has no record in the log"):
        Log().rollback("X")
