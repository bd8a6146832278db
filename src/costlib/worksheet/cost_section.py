"""The sections on cost: the state of a token beside the price of a million, and where the two sides cross."""

from costlib import catalog
from costlib.units import Quantity, show
from costlib.worksheet.table import Row, Section

__all__ = ["cost_sections"]

MILLION = "USD/Mtoken"
DAY = "session/day"
OF_SESSION = (
    ("prompts", "prompt tokens of all requests of a session", (), "a trace, or --session-prompts"),
    ("output", "output tokens of all its requests", (), "a trace, or --session-output"),
    ("hits", "prompt tokens found in a cache", ("percent",), "a trace with cached tokens or blocks, or --hits"),
    ("lifetime", "time from its start to its end", ("s", "min"), "a trace with sessions and times, or --lifetime"),
    ("wait_share", "of that it waits for tools", ("percent",), "a trace with durations, or --wait-share"),
    ("rate", "sessions that start in a day", (DAY,), "a trace with sessions and times"),
)
PRICES = (
    ("input", "prompt tokens", "--input-price"),
    ("cached_input", "prompt tokens found in the cache", "--cached-price"),
    ("output", "output tokens", "--output-price"),
)
ALL_TOKENS = "over all tokens that a host bills: prompt tokens of each request, and output"
RESULTS = (
    ("own", "a session on these cards", "USD/session", "hire × cards / sessions that end"),
    ("host", "a session from the host", "USD/session", "its tokens × the prices"),
    ("own_token", "a million tokens on these cards", MILLION, ALL_TOKENS),
    ("host_token", "a million tokens from the host", MILLION, ALL_TOKENS),
    ("of_revenue", "the host's price over your cost, of revenue", "percent", "1 − cost / price"),
    ("of_cost", "the same, of cost", "percent", "price / cost − 1"),
    ("crossing", "the two cross at", DAY, "hire × cards / a session from the host"),
    ("crossing_load", "over what the cards bear at most", "percent", "that / the lesser rate"),
    ("copies", "groups of such cards for the sessions that start", "", "sessions that start / the lesser rate"),
    ("own_of_these", "a session on those, if nothing else runs there", "USD/session", "hire × cards / those"),
)


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
    yield Section(key="rates", title="What the cards bear", rows=rates, says=tuple(_bounds(costs)))
    yield Section(key="cost", title="Cost", rows=tuple(_costs(costs)), says=tuple(_says(costs)))


def _prices(costs, accelerator):
    """The state of a token beside the price of a million."""
    cards = costs.cards
    growth = cards.model.bytes_per_token(cards.precision)
    yield Row(key="per_token", what="state of a token", values=(growth,), units=("kB/token", "KiB/token"))
    for field, what, option in PRICES:
        price = getattr(costs.hosted, field) if costs.hosted is not None else None
        yield Row(
            key=f"{field}_price",
            what=f"the host's price of {what}",
            values=(price,),
            units=(MILLION,),
            source=_origin(costs.hosted, field),
            missing=f"a price list: --hosted NAME, of costlib catalog price; or {option}",
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
        source="hire / (sessions × cap)",
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
    names = [name for name in catalog.names("price") if name.startswith(accelerator)]
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
    for key, what, units, missing in OF_SESSION:
        value = getattr(session, key)
        yield Row(key=key, what=what, values=(value,), units=units, source=session.sources[key], missing=missing)


def _rates(costs, held_from):
    """What memory and arithmetic bear."""
    floors = costs.floors
    yield Row(
        key="held",
        what="sessions held at once",
        values=(costs.held,),
        digits=15,
        source=held_from,
        needs="none fits, or none is known",
    )
    yield Row(
        key="memory_rate",
        what="sessions a day that memory bears",
        values=(costs.memory_rate,),
        units=(DAY,),
        digits=3,
        source="sessions held / lifetime",
        needs="needs the lifetime of a session",
    )
    yield Row(
        key="prefill_floor",
        what="least time of a prompt token on the cards",
        values=(floors and floors.prefill,),
        units=("µs/token",),
        digits=3,
        source=floors
        and f"dense {floors.arithmetic} arithmetic, over contexts of {show(floors.context, digits=3)}"
        or "",
        needs="needs a model whose weights are counted, and the card's rates",
    )
    yield Row(
        key="decode_floor",
        what="least time of an output token on the cards",
        values=(floors and floors.decode,),
        units=("ms/token",),
        digits=3,
        source=floors
        and f"a step of {show(floors.batch, digits=3)}, contexts of {show(floors.context, digits=3)}, over the batch"
        or "",
        needs="as above",
    )
    yield Row(
        key="compute_rate",
        what="sessions a day that arithmetic bears, at most",
        values=(costs.compute_rate,),
        units=(DAY,),
        digits=3,
        source="1 / (uncached prompt tokens × floor + output tokens × floor)",
        needs="needs the tokens of a session and the floors",
    )
    yield Row(
        key="load",
        what="sessions that come over those that could be served",
        values=(costs.load,),
        units=("percent",),
        source="--load",
        missing="the mean over nights and weekends: --load; without, all that could be are served, the least cost",
    )


def _costs(costs):
    """What a session and a million tokens cost on either side, and where they cross."""
    for key, what, unit, source in RESULTS:
        yield Row(
            key=key,
            what=what,
            values=(getattr(costs, key),),
            units=(unit,) if unit else (),
            digits=3,
            source=source,
            needs="needs prices, the session, and what the cards bear",
        )


def _bounds(costs):
    """What was taken for granted in what the cards bear, and which of the two binds."""
    if costs.floors is not None and costs.session.wait_share is None:
        yield "Assumed: every session held is inside a model call, which makes the floor of an output token the least."
    if costs.memory_rate is None:
        return
    if costs.compute_rate is None:
        yield "Arithmetic is left out: what it bears is not known. The cost on the cards is a floor."
        return
    binds, other = ("Memory", "arithmetic") if costs.memory_rate <= costs.compute_rate else ("Arithmetic", "memory")
    ratio = max(costs.memory_rate / costs.compute_rate, costs.compute_rate / costs.memory_rate)
    yield (
        f"{binds} binds: {other} would bear {show(ratio, digits=2)} times the sessions. "
        "What arithmetic bears is a ceiling; published rates reach 40 to 90 % of such floors."
    )


def _says(costs):
    """What was taken for granted, and which side is cheaper from where on."""
    if costs.session.prompts is not None and costs.session.hits is None:
        yield "Assumed: no prompt token is found in a cache, the dearest case on either side."
    if costs.hosted is not None and costs.hosted.cached_input is None and costs.hosted.input is not None:
        yield "Assumed: the host charges a cached token as any other; its price list has none."
    yield from _crossing(costs)


def _crossing(costs):
    """Which side is cheaper, from where on, and what the trace has."""
    if costs.crossing is None:
        return
    at = show(costs.crossing, DAY, 3)
    if costs.full_rate is None:
        yield f"The cards cost less from {at}, if they bear so many."
        return
    most = show(costs.full_rate, DAY, 3)
    if costs.crossing_load > Quantity(1.0, ""):
        yield f"The host is cheaper at any load: the two would cross at {at}, and the cards bear {most}."
    else:
        load = show(costs.crossing_load, "percent", 2)
        yield f"The cards cost less from {at}, {load} of the {most} that they bear at most."
    yield from _of_these(costs)


def _of_these(costs):
    """Which side is cheaper for the sessions that there are."""
    if costs.own_of_these is None:
        return
    cheaper = "the cards are cheaper" if costs.own_of_these < costs.host else "the host is cheaper"
    groups = "these cards" if costs.copies.magnitude == 1 else f"{show(costs.copies, digits=15)} groups of such cards"
    own, host = show(costs.own_of_these, "USD/session"), show(costs.host, "USD/session")
    yield f"For the {show(costs.session.rate, DAY, 3)} that start: {own} on {groups}, {host} from the host; {cheaper}."
