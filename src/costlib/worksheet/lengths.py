"""The lengths that sessions reach, against the cap that memory is reserved for."""

import math

from costlib.units import Quantity, show
from costlib.worksheet.memory import NEEDS
from costlib.worksheet.table import Row, Section

__all__ = ["length_section", "sentence", "verdict"]

NEAR, IDLE = 0.8, 0.1  # of the cap
HEAP = 0.01  # of the sessions, all of one length: no accident
AT_CAP = 0.05  # of it: an end so near to it is of its making
P99 = 0.99


def verdict(length, cap):
    """What the 99th percentile of session lengths says of a cap.

    Parameters
    ----------
    length : Quantity [token]
        The 99th percentile.
    cap : Quantity [token]
        The cap that memory is reserved for.

    Returns
    -------
    str
        ``beyond`` above the cap; ``works`` near it, from 80 %; ``idle`` at a tenth of it or less; else ``between``.

    Examples
    --------
    >>> from costlib.units import quantity
    >>> verdict(quantity("3000 token"), quantity("32768 token"))
    'idle'
    """
    if length > cap:
        return "beyond"
    if length >= NEAR * cap:
        return "works"
    return "idle" if length <= IDLE * cap else "between"


SAYS = {
    "beyond": "Sessions will meet the cap: {above} of them are longer.",
    "works": "The cap works: the 99th percentile is {share} of it.",
    "idle": (
        "Memory is kept for sessions that never come: the 99th percentile is {share} of the cap. "
        "Lower the cap, and serve more."
    ),
    "between": (
        "In between: the 99th percentile is {share} of the cap, neither near it nor a tenth of it. "
        "A cap nearer to it would hold more sessions."
    ),
}
BEYOND = "Sessions will meet the cap: the 99th percentile is {share} of it."
NAMES = {"beyond": "above the cap", "works": "near the cap", "idle": "a tenth of it or less", "between": "in between"}
HOW = "give a trace of sessions: --trace FILE, with a session, prompt tokens and output tokens in each row"


def sentence(length, cap, above=None):
    """What the 99th percentile of session lengths says of a cap, in a sentence.

    Parameters
    ----------
    length : Quantity [token]
        The 99th percentile.
    cap : Quantity [token]
        The cap that memory is reserved for.
    above : Quantity [], optional
        Share of the sessions that are longer than the cap, where it is known.

    Returns
    -------
    str

    Examples
    --------
    >>> from costlib.units import quantity
    >>> sentence(quantity("30000 token"), quantity("32768 token"))
    'The cap works: the 99th percentile is 92 % of it.'
    """
    told, share = verdict(length, cap), show(length / cap, "percent", 2)
    if told == "beyond" and above is None:
        return BEYOND.format(share=share)
    return SAYS[told].format(share=share, above=above is not None and show(above, "percent", 2))


def length_section(trace, cap, cards, column):
    """The section on session lengths.

    Parameters
    ----------
    trace : Summary, optional
        What was read of a trace.
    cap : Quantity [token]
        The cap that memory is reserved for.
    cards : Cards
        What holds the sessions.
    column : str
        By what sessions are counted: what the model needs, or what an engine reserves.

    Returns
    -------
    Section
    """
    title = "4. p99 session length, from traces"
    if trace is None or trace.lengths is None or not trace.lengths.count:
        row = Row(key="p99", what="99th percentile of session length", values=(None,), missing=HOW)
        return Section(key="length", title=title, rows=(row,))
    found = trace.lengths
    median, p99 = _tokens(found.quantile(0.5)), _tokens(found.quantile(P99))
    low, high = (None if end is None else _tokens(end) for end in found.interval(P99))
    rows = (
        Row(
            key="count",
            what="sessions in the trace",
            values=(Quantity(float(found.count), "session"),),
            digits=15,
            source=trace.rule,
        ),
        Row(key="p50", what="median", values=(median,), digits=_whole(median)),
        Row(key="p99", what="99th percentile", values=(p99,), digits=_whole(p99), source="the trace"),
        Row(key="p99_low", what="at least, with 95 % confidence", values=(low,), digits=15, source="order statistics"),
        Row(
            key="p99_high",
            what="at most, with 95 % confidence",
            values=(high,),
            digits=15,
            source="order statistics",
            missing=f"a trace of at least {found.wanted(P99):,} sessions; this one has {found.count:,}",
        ),
        Row(key="longest", what="longest", values=(_tokens(found.maximum),), digits=15),
        Row(key="of_cap", what="99th percentile over the cap", values=((p99 / cap).to(""),), units=("percent",)),
        Row(key="above", what="sessions longer than the cap", values=(_above(found, cap),), units=("percent",)),
        _lower_cap(p99, high, cap, cards, column),
    )
    return Section(key="length", title=title, rows=rows, says=tuple(_says(found, p99, low, high, cap)))


def _tokens(number):
    return number.to("token") if isinstance(number, Quantity) else Quantity(float(number), "token")


def _whole(tokens):
    """Digits that print whole tokens: a percentile between two lengths has a fraction of one."""
    return len(str(round(tokens.m_as("token"))))


def _above(found, cap):
    return Quantity(float(found.share_above(cap.m_as("token"))), "")


def _lower_cap(p99, high, cap, cards, column):
    """What a cap at the 99th percentile would hold: at the upper end of its interval, in whole kibitokens."""
    lower = Quantity(1024.0 * math.ceil((high or p99).m_as("token") / 1024), "token")
    what, held = f"sessions at a cap of {show(lower, digits=15)}", None
    if not cards.lacks(column, lower):
        held = cards.sessions(column, lower)
    by = "what the model needs" if column == NEEDS else f"what {column} reserves"
    source = f"a cap at the upper end of the percentile, rounded up to 1,024 tokens; by {by}"
    return Row(key="sessions_at_p99", what=what, values=(held,), digits=15, source=source)


def _says(found, p99, low, high, cap):
    told = verdict(p99, cap)
    yield sentence(p99, cap, _above(found, cap))
    if told == "beyond":
        yield "Costs count the sessions as they are, those beyond the cap too."
    ends = {verdict(end, cap) for end in (low, high) if end is not None}
    if high is None:
        yield (
            f"How sure: {found.count:,} sessions are too few to bound the 99th percentile from above; "
            f"it takes {found.wanted(P99):,}."
        )
    else:
        between = f"from {'none' if low is None else show(low, digits=15)} to {show(high, digits=15)}"
        others = " or ".join(NAMES[end] for end in sorted(ends - {told}))
        how = f"it may also be {others}: give more sessions" if others else "the verdict is the same"
        yield f"How sure: {between}, {how}."
    yield from _cut(found, cap)


def _cut(found, cap):
    """Whether long sessions look cut off, and whether by this cap."""
    cut, heap = found.cut_off(), found.share_above(found.maximum - 1)
    near = "" if cut.near is None else f" near {show(_tokens(round(cut.near)), digits=3)}"
    looks = {
        None: "It cannot be told whether long sessions are cut off",
        False: f"Long sessions may be cut off{near}" if cut.may else "Long sessions do not look cut off",
        True: f"Long sessions look cut off{near}",
    }
    yield f"{looks[cut.looks]}: {cut.why}."
    ends = [end for end in (cut.looks and cut.near, heap >= HEAP and found.maximum) if end]
    if any(abs(end / cap.m_as("token") - 1) <= AT_CAP for end in ends):
        yield "They end at the cap: how long they would be without it, the trace does not say."
