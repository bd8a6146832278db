"""The five numbers and the two costs, in a table that stands before all others."""

from costlib.units import show
from costlib.worksheet.sections import GB
from costlib.worksheet.table import Row, Section

__all__ = ["summary_section"]

OPEN = "see below"


def summary_section(sections, costs, held_from):
    """The five numbers, each by the best knowledge that there is.

    Parameters
    ----------
    sections : dict of str to Section
        The others, by their keys.
    costs : Costs
        Of a session, on either side.
    held_from : str
        How it is known what the cards hold.

    Returns
    -------
    Section
    """
    weights = next(
        (row for key in ("log", "files", "given", "computed") for row in _known(sections["weights"], key)), None
    )
    tokens, at_cap = sections["cap"]["tokens"], sections["cap"]["at_cap"].values[0]
    each = None if costs.held is None else costs.held / costs.cards.count
    rows = (
        Row(
            key="bytes_per_token",
            what="1. one more token of a session keeps",
            values=sections["per_token"]["per_token"].values[:1],
            units=("kB/token", "KiB/token"),
            source=_beside(sections["per_token"]["beside"].values[0]),
        ),
        Row(
            key="weights",
            what="2. the weights take",
            values=(weights and weights.values[0],),
            units=GB,
            source=weights and f"{weights.what}: {weights.source}" or "",
            needs=OPEN,
        ),
        Row(
            key="cap",
            what="3. the cap on a session",
            values=tokens.values,
            digits=15,
            source=f"at it: {at_cap}" if at_cap else "what happens at it is not known yet",
        ),
        _p99(sections["length"]),
        Row(
            key="sessions_per_card",
            what="5. sessions per card",
            values=(each,),
            digits=3,
            source=held_from,
            needs="none fits",
        ),
        *(
            Row(key=key, what=what, values=sections["cost"][key].values, units=("USD/session",), digits=3, needs=OPEN)
            for key, what in (("own", "a session on these cards costs"), ("host", "a session from the host costs"))
        ),
    )
    says = [*sections["length"].says[:1], *sections["cost"].says[-1:]]
    return Section(key="summary", title="", rows=rows, says=tuple(t for t in says if not t.startswith("Assumed")))


def _beside(size):
    """The source of what a token keeps, and how much stands beside it that does not grow."""
    return "the configuration" + (f"; beside it, {show(size, 'MB', 4)} that do not grow" if size.magnitude > 0 else "")


def _known(section, key):
    """The row of this key, if there is one and it has a value."""
    return [row for row in section.rows if row.key == key and row.known]


def _p99(section):
    """The 99th percentile, with its interval as the source."""
    what, source = "4. one session in a hundred outgrows", ""
    if section["p99"].known:
        low, high = (section[key].values[0] for key in ("p99_low", "p99_high"))
        ends = ["none" if end is None else show(end, digits=15) for end in (low, high)]
        source = (
            f"the trace, {show(section['count'].values[0], digits=15)}; with 95 % confidence {ends[0]} to {ends[1]}"
        )
    return Row(key="p99", what=what, values=section["p99"].values, digits=6, source=source, needs=OPEN)
