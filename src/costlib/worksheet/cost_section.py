"""The sections on cost: the KV cache of a token beside the price of a million, and where the two sides cross."""

from costlib import catalog
from costlib.units import Quantity, show
from costlib.worksheet.table import Row, Section

__all__ = ["cost_sections"]

ALL, ONE = Quantity(1.0, ""), Quantity(1.0, "session")
MILLION = "USD/Mtoken"
DAY = "session/day"
OF_SESSION = (
    ("requests", "requests", (), "a trace, or --session-requests"),
    ("prompts", "prompt tokens, all requests", ("token/session",), "a trace, or --session-prompts"),
    ("output", "output tokens, all requests", ("token/session",), "a trace, or --session-output"),
    (
        "hits",
        "prefix hits: prompt tokens found in a cache",
        ("percent",),
        "a trace with cached tokens or blocks, or --hits",
    ),
    ("lifetime", "lifetime, from start to end", ("s", "min"), "a trace with sessions and times, or --lifetime"),
    ("wait_share", "waiting for tools, of that", ("percent",), "a trace with durations, or --wait-share"),
    ("length", "context at its longest", (), "a trace"),
    ("rate", "sessions that start in a day", (DAY,), "a trace with sessions and times"),
)
A_SESSION = (
    "a trace with times, durations and cached tokens: --trace FILE; or "
    "--session-requests, --session-prompts, --session-output, --hits, --lifetime, --wait-share"
)
PRICES = (
    ("input", "hosted: prompt tokens", "--hosted, a name of costlib catalog price; or --input-price"),
    ("cached_input", "hosted: prompt tokens found in its cache", "--cached-price"),
    ("output", "hosted: output tokens", "--output-price"),
)
RESULTS = (
    ("own", "a session, self-hosted", "USD/session", "hire × cards / sessions that end, each held to the cap"),
    ("own_filled", "the same, memory given out as contexts grow", "USD/session", "as above, more sessions held"),
    ("host", "a session, hosted", "USD/session", "its tokens × the prices"),
    ("own_token", "a million tokens, self-hosted", MILLION, "a session / its prompt and output tokens"),
    ("host_token", "a million tokens, hosted", MILLION, "the same"),
    ("of_revenue", "the host's price over your cost: margin of revenue", "percent", "1 − cost / price"),
    ("of_cost", "the same: margin of cost", "percent", "price / cost − 1"),
    ("crossing", "the two cross at", DAY, "hire × cards / a hosted session"),
    ("crossing_load", "utilisation at which they cross", "percent", "that / the lesser rate above"),
    (
        "copies",
        "groups of such cards for the sessions that start, at least",
        "",
        "sessions that start / the lesser rate",
    ),
    ("own_of_these", "a session on those, if nothing else runs there", "USD/session", "hire × cards / those"),
)

MARGINS, LOSS = ("of_revenue", "of_cost"), "; negative, as the price is below your cost"
NO_LOAD = "--load, the mean over nights and weekends; the cost below is at 100 %, the least"


def cost_sections(costs, held_from, accelerator):
    """The sections on cost: prices, the mean session, what the cards bear, and what it comes to.

    Parameters
    ----------
    costs : Costs
        Of a session, on either side.
    held_from : str
        How it is known what the cards hold.
    accelerator : str
        Their name in the catalog, of which it may have the hire.

    Returns
    -------
    iterator of Section
    """
    yield Section(key="prices", title="Memory and money", rows=tuple(_prices(costs, accelerator)))
    yield Section(key="session", title="The mean session", rows=tuple(_session(costs.session)))
    rates = tuple(_rates(costs, held_from))
    yield Section(key="rates", title="Sessions that the cards serve", rows=rates, says=tuple(_bounds(costs)))
    yield Section(key="cost", title="Cost", rows=tuple(_costs(costs)), says=tuple(_says(costs)))


def _prices(costs, accelerator):
    """The cache of a token beside the price of a million."""
    cards = costs.cards
    growth = cards.model.bytes_per_token(cards.precision)
    yield Row(key="per_token", what="KV cache of a token", values=(growth,), units=("kB/token", "KiB/token"))
    options = "; ".join(how for *_, how in PRICES)
    for field, what, how in PRICES:
        yield Row(
            key=f"{field}_price",
            what=what,
            values=(getattr(costs.hosted, field, None),),
            units=(MILLION,),
            source=_origin(costs.hosted, field),
            missing=options if costs.hosted is None else how,
        )
    yield Row(
        key="hire",
        what="hire of an accelerator",
        values=(costs.per_hour,),
        units=("USD/accelerator/hour",),
        source=_origin(costs.hire, "hire"),
        missing=f"--hire, a price or a name of costlib catalog price{_hires(accelerator)}",
    )
    yield Row(
        key="holding",
        what="holding a million tokens for an hour",
        values=(costs.holding,),
        units=("USD/hour/Mtoken",),
        source="hire × cards / (sessions × cap)",
        needs="needs the hire, and a session that fits",
    )
    yield Row(
        key="interval",
        what="holding a context costs as much as sending it again every",
        values=(costs.interval,),
        units=("s",),
        digits=3,
        source="price of a cached token / holding",
        needs="needs both prices",
    )
    yield from _undated(costs)


def _hires(accelerator):
    """The catalog's prices of an accelerator's hire, to choose from."""
    names = catalog.hires(catalog.part("accelerator", accelerator).title)
    return f": {', '.join(names)}" if names else ""


def _undated(costs):
    """What asks for the date of prices that were given without one."""
    given = [price for price in (costs.hosted, costs.hire) if price is not None]
    if any(not origin.date for price in given for origin in price.origin.values()):
        yield Row(
            key="date",
            what="when the prices given were read",
            values=(None,),
            missing="a price without a date: --price-date",
        )


def _origin(price, field):
    """Where a price is from, and when it was read."""
    if price is None or field not in price.origin:
        return ""
    origin = price.origin[field]
    where = price.title if origin.title == "as given" else f"{price.title}; {origin.title}"
    return f"{where}, {origin.date or 'without a date'}"


def _session(session):
    """What is known of a session; where nothing is, all that is wanted at once."""
    values = {key: getattr(session, key) for key, *_ in OF_SESSION}
    values["requests"] = session.requests and session.requests * ONE
    known = any(value is not None for value in values.values())
    for key, what, units, missing in OF_SESSION:
        yield Row(
            key=key,
            what=what,
            values=(values[key],),
            units=units,
            source=session.sources[key],
            missing=missing if known else A_SESSION,
        )


def _rates(costs, held_from):
    """What memory bears, and what prefill and decode do."""
    floors, filled = costs.floors, costs.as_filled
    yield Row(
        key="held",
        what="sessions held at once",
        values=(costs.held,),
        digits=15,
        source=held_from,
        needs="none fits, or none is known",
    )
    yield Row(
        key="held_filled",
        what="the same, memory given out as contexts grow",
        values=(filled and filled.held,),
        digits=15,
        source=filled and "by the mean session's longest context, and not the cap" or "",
        needs="needs a trace whose sessions are shorter than the cap",
    )
    yield Row(
        key="memory_rate",
        what="sessions a day that memory allows",
        values=(costs.memory_rate,),
        units=(DAY,),
        digits=3,
        source="sessions held, to the cap / lifetime",
        needs="needs the lifetime of a session",
    )
    yield Row(
        key="prefill_floor",
        what="least time of prefill, a token",
        values=(floors and floors.prefill,),
        units=("µs/token",),
        digits=3,
        source=floors and f"dense {floors.arithmetic} arithmetic, contexts of {show(floors.context, digits=3)}" or "",
        needs="needs a session, a model whose weights are counted, and the card's rates",
    )
    yield Row(
        key="decode_floor",
        what="least time of decode, a token",
        values=(floors and floors.decode,),
        units=("ms/token",),
        digits=3,
        source=floors
        and f"a step / the {show(floors.batch, digits=3)} in it; contexts of {show(floors.context, digits=3)}"
        or "",
        needs="as above",
    )
    yield Row(
        key="compute_rate",
        what="sessions a day that prefill and decode allow, at most",
        values=(costs.compute_rate,),
        units=(DAY,),
        digits=3,
        source="1 / (uncached prompt tokens × prefill + output tokens × decode)",
        needs="needs the tokens of a session and the floors",
    )
    yield Row(
        key="load",
        what="utilisation: sessions that come over those",
        values=(costs.load,),
        units=("percent",),
        source="--load",
        missing="" if costs.full_rate is None else NO_LOAD,
        needs="needs a rate of sessions",
    )


def _costs(costs):
    """What a session and a million tokens cost on either side, and where they cross."""
    for key, what, unit, source in RESULTS:
        yield Row(
            key=key,
            what=what,
            values=(costs.as_filled and costs.as_filled.own if key == "own_filled" else getattr(costs, key),),
            units=(unit,) if unit else (),
            digits=3,
            source=source + (LOSS if key in MARGINS and _is_loss(costs) else ""),
            needs="needs prices, the session, and what the cards serve",
        )


def _is_loss(costs):
    return costs.of_cost is not None and costs.of_cost.magnitude < 0


def _bounds(costs):
    """What was taken for granted in what the cards serve, and which of the two binds."""
    if costs.floors is not None and costs.session.wait_share is None:
        yield "Assumed: every session held is inside a model call, which makes the decode of a token the quickest."
    if costs.floors is not None and not costs.floors.context.magnitude:
        yield (
            "Assumed: decode reads no context, as the requests of a session are not known (--session-requests); "
            "real decode takes longer, and a session costs more."
        )
    if costs.full_rate is None:
        return
    if costs.memory_rate is None or costs.compute_rate is None:
        left_out = "Memory is" if costs.memory_rate is None else "Prefill and decode are"
        yield f"{left_out} left out: how many sessions that allows is not known. The cost of self-hosting is a floor."
        return
    names = ("Memory", "prefill and decode"), ("Prefill and decode", "memory")
    binds, other = names[costs.memory_rate > costs.compute_rate]
    ratio = max(costs.memory_rate / costs.compute_rate, costs.compute_rate / costs.memory_rate)
    yield (
        f"{binds} bind{'s' if binds == 'Memory' else ''}: {other} would allow {show(ratio, digits=2)} times the "
        "sessions. What prefill and decode allow is a ceiling; published rates reach 40 to 90 % of it."
    )


def _says(costs):
    """What was taken for granted, and which side is cheaper from where on."""
    if costs.session.prompts is not None and costs.session.hits is None:
        yield "Assumed: no prompt token is found in a cache, the dearest case on either side."
    if costs.hosted is not None and costs.hosted.cached_input is None and costs.hosted.input is not None:
        yield "Assumed: the host charges a cached token as any other; its price list has none."
    if costs.crossing is not None:
        yield _crossing(costs)
        yield from _of_these(costs)


def _crossing(costs):
    """Which side is cheaper, from where on."""
    at, filled = show(costs.crossing, DAY, 3), costs.as_filled
    if costs.full_rate is None:
        return f"Self-hosting costs less above {at}, if the cards serve so many; below, the host does."
    if costs.crossing_load <= ALL:
        return f"Self-hosting costs less above {at}, {_of_most(costs)}; below, the host does."
    if filled is None:
        return f"The host is cheaper at any load: the two would cross at {at}, and the cards serve {_most(costs)}."
    if filled.crossing_load <= ALL:
        return (
            f"With memory kept for the cap, the host is cheaper at any load. Given out as contexts grow, self-hosting "
            f"costs less above {at}, {_of_most(filled)}; below, the host does."
        )
    return (
        f"The host is cheaper at any load: the two would cross at {at}, and the cards serve {_most(costs)}, "
        f"or {_most(filled)} where memory is given out as contexts grow."
    )


def _most(costs):
    return show(costs.full_rate, DAY, 3)


def _of_most(costs):
    return f"{show(costs.crossing_load, 'percent', 2)} of the {_most(costs)} that the cards serve at most"


def _of_these(costs):
    """Which side is cheaper for the sessions that there are."""
    if costs.own_of_these is None:
        return
    ways = [costs] if costs.as_filled in (None, costs) else [costs, costs.as_filled]
    if ways[0].copies == ways[-1].copies:
        ways = ways[:1]
    own = ", or ".join(_on_groups(one) for one in ways)
    own += " with memory given out as contexts grow" if len(ways) > 1 else ""
    cheaper = {one.own_of_these < costs.host for one in ways}
    verdict = {(True,): "self-hosting is cheaper", (False,): "the host is cheaper"}
    yield (
        f"For the {show(costs.session.rate, DAY, 3)} that start: {own}; {show(costs.host, 'USD/session')} "
        f"from the host; {verdict.get(tuple(cheaper), 'which is cheaper hangs on that')}."
    )


def _on_groups(costs):
    """What a session costs on the groups of cards that it takes."""
    groups = "these cards" if costs.copies.magnitude == 1 else f"{show(costs.copies, digits=15)} groups of such cards"
    return f"{show(costs.own_of_these, 'USD/session')} on {groups}"
