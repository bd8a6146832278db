"""The five numbers and the two costs, in a table that stands before all others."""

from costlib.units import show
from costlib.worksheet.memory import NEEDS
from costlib.worksheet.sections import GB, NONE
from costlib.worksheet.table import Row, Section

__all__ = ["summary_section"]

COSTS = (("own", "a session, self-hosted", "hire"), ("host", "a session, hosted", "input_price"))
OF_TOKENS = {"prompts": "--session-prompts", "output": "--session-output"}
OPTIONS = {"hire": "--hire", "input_price": "--hosted"}


def summary_section(sections, cards, held, held_from, foreign, requests):
    """The five numbers, each by the best knowledge that there is.

    Parameters
    ----------
    sections : dict of str to Section
        The others, by their keys.
    cards : Cards
        What holds the sessions.
    held : Quantity [session], optional
        Sessions that they hold at the cap; None where it is not known.
    held_from : str
        How it is known.
    foreign : str, optional
        That the log is of another model or machine, where it is.
    requests : bool
        Whether the trace has no sessions, and each request counts as one.

    Returns
    -------
    Section
    """
    trusted = ("log", "files", "given", "computed")
    weights = next((row for key in trusted for row in _known(sections["weights"], key)), None)
    tokens, at_cap = sections["cap"]["tokens"], sections["cap"]["at_cap"].values[0]
    rows = (
        Row(
            key="bytes_per_token",
            what="1. KV cache per token",
            values=sections["per_token"]["per_token"].values[:1],
            units=("kB/token", "KiB/token"),
            source=_beside(sections["per_token"]["beside"].values[0]),
        ),
        Row(
            key="weights",
            what="2. weights",
            values=(weights and weights.values[0],),
            units=GB,
            source=weights and f"{weights.what}: {weights.source}" or "",
            missing="--weights, or the log of a start: see below",
        ),
        Row(
            key="cap",
            what="3. context cap",
            values=tokens.values,
            digits=15,
            source=f"{tokens.source}; at it: {at_cap or 'not known yet, --at-cap'}",
        ),
        _p99(sections["length"], requests),
        Row(
            key="sessions_per_card",
            what="5. sessions per card, at the cap",
            values=(None if held is None else held / cards.count,),
            digits=3,
            source=_on_cards(held, held_from, cards.count) + _by_engines(sections["sessions_by_cap"], held_from),
            missing="no way to count them serves this model: see below",
        ),
        *(
            Row(
                key=key,
                what=what,
                values=sections["cost"][key].values,
                units=("USD/session",),
                digits=3,
                source=sections["cost"][key].source,
                missing="none fits"
                if key == "own" and not held
                else _of_cost(key, sections["prices"][price], sections),
            )
            for key, what, price in COSTS
        ),
    )
    cost = [text for text in sections["cost"].says[-1:] if not text.startswith("Assumed")]
    none = [text for text in sections["sessions"].says if text.startswith(NONE)] if not held else []
    says = (*([foreign] if foreign else []), *none, *sections["length"].says[:1], *cost)
    return Section(key="summary", title="", rows=rows, says=says)


def _on_cards(held, held_from, count):
    """How the sessions are known, and of several cards how many all of them hold."""
    return held_from if held is None or count == 1 else show(held, digits=15) + held_from.removeprefix("sessions")


def _of_cost(key, price, sections):
    """What a cost wants, and nothing that is known."""
    session = sections["session"]
    tokens = [OF_TOKENS[one] for one in OF_TOKENS if not session[one].known]
    if key == "host":
        lacks = tokens
    else:
        served = any(sections["rates"][one].known for one in ("memory_rate", "compute_rate"))
        lacks = [] if served else [*tokens, "--lifetime"]
    if len(tokens) == len(OF_TOKENS) and lacks:
        lacks = ["what a session is"]
    return _listed([*([] if price.known else [OPTIONS[price.key]]), *lacks]) + ": see below"


def _listed(texts):
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def _beside(size):
    """The source of what a token keeps, and how much stands beside it that does not grow."""
    return "the configuration" + (f"; beside it, {show(size, 'MB', 4)} that do not grow" if size.magnitude > 0 else "")


def _known(section, key):
    """The row of this key, if there is one and it has a value."""
    return [row for row in section.rows if row.key == key and row.known]


def _by_engines(by_cap, held_from):
    """Beside what the model needs, the sessions on all cards by what engines reserve, where they differ."""
    if not held_from.endswith(f"what {NEEDS}"):
        return ""
    needed, *reserved = by_cap["at"].values
    engines = zip(by_cap.columns[1:], reserved, strict=True)
    others = [
        f"{show(n.magnitude, digits=15)} as {engine} reserves" for engine, n in engines if n not in (None, needed)
    ]
    return f" ({show(needed.magnitude, digits=15)}; {', '.join(others)})" if others else ""


def _p99(section, requests):
    """The 99th percentile, with its interval as the source."""
    row, source = section["p99"], ""
    if row.known:
        low, high = (section[key].values[0] for key in ("p99_low", "p99_high"))
        ends = ["none" if end is None else show(end, digits=15) for end in (low, high)]
        count = show(section["count"].values[0], digits=15)
        if requests:
            count = f"{count.partition(' ')[0]} requests, each counted as a session: --session"
        source = f"the trace, {count}; with 95 % confidence {ends[0]} to {ends[1]}"
    return Row(
        key="p99",
        what="4. p99 session length",
        values=row.values,
        digits=row.digits,
        source=source,
        missing="a trace: --trace FILE",
    )
