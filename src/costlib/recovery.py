"""Write-ahead logging and ARIES, on pages that hold one value each.

The log is a list of :class:`Record`; the disk maps a page to a :class:`Page`.
What a crash leaves is a prefix of the log and, of each page, some version that is
no newer than that prefix: the rule by which the log is written ahead.
"""

from dataclasses import dataclass

__all__ = ["Log", "Page", "Record", "analysis", "recover", "redo", "undo", "versions"]


@dataclass(frozen=True)
class Record:
    """One record of the log.

    ``previous`` points to the record before it of the same transaction. An
    *update* keeps the value before and after; a *compensation* says that an update
    was undone, and in ``undo_next`` which record is to be undone after it.
    """

    position: int
    kind: str  # "update", "compensation", "commit" or "end"
    transaction: str
    previous: int | None = None
    page: str | None = None
    before: object = None
    after: object = None
    undo_next: int | None = None


@dataclass(frozen=True)
class Page:
    """A page on disk: its value, and the position of the last record that changed it."""

    value: object = None
    position: int = 0


class Log(list):
    """A log under construction, record by record; positions count from one."""

    def __init__(self, records=()):
        super().__init__(records)
        self._last = {record.transaction: record.position for record in self}
        self._values = {record.page: record.after for record in self if record.page is not None}

    def update(self, transaction, page, value):
        """Log that a transaction changes a page."""
        self._append("update", transaction, page=page, before=self._values.get(page), after=value)

    def commit(self, transaction):
        """Log that a transaction is to stay."""
        self._append("commit", transaction)

    def end(self, transaction):
        """Log that nothing of a transaction is left to undo."""
        self._append("end", transaction)

    def compensate(self, record):
        """Log that an update is undone."""
        self._append(
            "compensation", record.transaction, page=record.page, after=record.before, undo_next=record.previous
        )

    def rollback(self, transaction):
        """Log that a transaction takes back all its updates, the last one first."""
        if transaction not in self._last:
            raise ValueError(f"rollback: {transaction!r} has no record in the log")
        undo(self, {}, {transaction: self._last[transaction]})  # the pages are not its concern

    def _append(self, kind, transaction, **fields):
        record = Record(len(self) + 1, kind, transaction, self._last.get(transaction), **fields)
        self.append(record)
        self._last[transaction] = record.position
        if record.page is not None:
            self._values[record.page] = record.after


def versions(log, page):
    """What the disk may hold of a page when the server stops at the end of this log.

    Parameters
    ----------
    log : list of Record
        What is left of it.
    page : str
        Its name.

    Returns
    -------
    list of Page
        The page as it was at first, and after each record that changed it.
    """
    return [Page(), *(Page(record.after, record.position) for record in log if record.page == page)]


def recover(log, disk):
    """The log and the disk after recovery: the effects of committed transactions, and no others.

    Parameters
    ----------
    log : list of Record
        What is left of it.
    disk : dict of str to Page
        What is left of the pages.

    Returns
    -------
    tuple of Log and dict
        The log, continued by the compensations; the pages, all of them up to date.

    Raises
    ------
    ValueError
        If a page is newer than the log, written before its record, or is no version of the log's; if the log is not
        one that :class:`Log` would write: positions from one on, pointers within a transaction, nothing after its
        end, and no page changed by two transactions at once.

    Notes
    -----
    Without checkpoints: analysis reads the whole log.

    References
    ----------
    Mohan et al. (1992), doi:10.1145/128765.128770

    Examples
    --------
    >>> log = Log()
    >>> log.update("T1", "A", 1)
    >>> log.update("T2", "B", 2)
    >>> log.commit("T1")
    >>> _, disk = recover(log, {"B": Page(2, 2)})  # B reached the disk, A did not; T2 never committed
    >>> disk["A"].value, disk["B"].value
    (1, None)
    """
    _check(log)
    for page, held in disk.items():
        if held.position > len(log):
            raise ValueError(
                f"page {page!r} is of record {held.position}, the log ends at {len(log)}; written ahead of it"
            )
        if held not in versions(log, page):
            raise ValueError(f"page {page!r} = {held}; wanted a version that the log knows of")
    log, disk = Log(log), dict(disk)
    losers, since = analysis(log)
    redo(log, disk, since)
    undo(log, disk, losers)
    return log, disk


def _check(log):
    """Refuse a log that cannot have been written under strict locking."""
    last, ended, owner = {}, set(), {}
    for position, record in enumerate(log, 1):
        who, where = record.transaction, f"record {position} of the log"
        changes = record.kind in ("update", "compensation")
        if record.position != position:
            raise ValueError(f"{where} has the position {record.position}; wanted {position}")
        if not changes and record.kind not in ("commit", "end"):
            raise ValueError(f"{where} is of the kind {record.kind!r}; wanted update, compensation, commit or end")
        if record.previous != last.get(who):
            raise ValueError(f"{where} points back to {record.previous}; wanted {last.get(who)}, the last of {who}")
        if who in ended:
            raise ValueError(f"{where} follows the end of {who}; wanted nothing after it")
        if changes != (record.page is not None):
            raise ValueError(f"{where}, {record.kind}, has the page {record.page!r}")
        if changes and owner.setdefault(record.page, who) != who:
            raise ValueError(f"{where} changes {record.page!r}, which {owner[record.page]} has changed and not ended")
        if record.undo_next is not None and not (
            record.undo_next < position and log[record.undo_next - 1].transaction == who
        ):
            raise ValueError(f"{where} is to be followed by {record.undo_next}; wanted an earlier record of {who}")
        last[who] = position
        if not changes:
            ended.add(who)
            owner = {page: holder for page, holder in owner.items() if holder != who}


def analysis(log):
    """The first pass: which transactions were under way, and which pages may be behind.

    Parameters
    ----------
    log : list of Record
        What is left of it.

    Returns
    -------
    tuple of dict and dict
        The last record of each transaction to undo; the first record of each page that the disk may lack.
    """
    losers, since = {}, {}
    for record in log:
        if record.kind in ("commit", "end"):
            losers.pop(record.transaction, None)
        else:
            losers[record.transaction] = record.position
            since.setdefault(record.page, record.position)
    return losers, since


def redo(log, disk, since):
    """The second pass: repeat history, also that of transactions to undo.

    Parameters
    ----------
    log : list of Record
        What is left of it.
    disk : dict of str to Page
        Brought up to date.
    since : dict of str to int
        The first record of each page that the disk may lack, as :func:`analysis` gives it.

    Returns
    -------
    list of int
        The records that had to be repeated: those newer than their page.
    """
    repeated = []
    for record in log[min(since.values(), default=1) - 1 :]:
        if record.page is not None and disk.get(record.page, Page()).position < record.position:
            disk[record.page] = Page(record.after, record.position)
            repeated.append(record.position)
    return repeated


def undo(log, disk, losers):
    """The third pass: take back the updates of the losers, the last one first, and log that.

    Parameters
    ----------
    log : Log
        Continued by a compensation for each update, and the end of each transaction.
    disk : dict of str to Page
        Brought to the state without the losers.
    losers : dict of str to int
        The last record of each transaction to undo, as :func:`analysis` gives it.

    Returns
    -------
    list of int
        The records taken back, in that order.
    """
    taken_back, next_of = [], dict(losers)
    while next_of:
        transaction = max(next_of, key=next_of.get)
        record = log[next_of[transaction] - 1]
        if record.kind == "update":
            log.compensate(record)
            disk[record.page] = Page(record.before, log[-1].position)
            taken_back.append(record.position)
            following = record.previous
        else:  # a compensation: what it took back is not taken back again
            following = record.undo_next
        if following is None:
            log.end(transaction)
            del next_of[transaction]
        else:
            next_of[transaction] = following
    return taken_back
