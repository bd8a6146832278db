"""What a session costs, from a host and on accelerators of one's own, and where the two cross."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from costlib import cost, serving
from costlib.hardware import WIDTHS, Price
from costlib.schema import Origin
from costlib.units import Quantity
from costlib.worksheet.memory import NEEDS, Cards

__all__ = ["SESSION", "Costs", "Session", "given_price", "session_of"]

ONE = Quantity(1.0, "session")
ALL = Quantity(1.0, "")
NO_HITS = Quantity(0.0, "")
NO_TIME = Quantity(0.0, "second")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk")


@dataclass(frozen=True, kw_only=True)
class Session:
    """What the mean session is; None where it is not known.

    Parameters
    ----------
    prompts, output : Quantity [token/session], optional
        Tokens of all its requests; a context that is sent again counts again.
    hits : Quantity [], optional
        Share of the prompt tokens found in a cache, weighted by tokens.
    lifetime : Quantity [second], optional
        From its start to its end.
    wait_share : Quantity [], optional
        Share of its life in which it waits for tools.
    requests : Quantity [1/session], optional
    length : Quantity [token], optional
        The most that a request reaches, prompt and output together.
    rate : Quantity [session/second], optional
        Sessions that start.
    sources : dict of str to str
        Where each is from.
    """

    prompts: Quantity | None = None
    output: Quantity | None = None
    hits: Quantity | None = None
    lifetime: Quantity | None = None
    wait_share: Quantity | None = None
    requests: Quantity | None = None
    length: Quantity | None = None
    rate: Quantity | None = None
    sources: dict = None


# Field of a session, its unit, and the field of a trace's summary that has it.
SESSION = (
    ("prompts", "token/session", "input_per_session"),
    ("output", "token/session", "output_per_session"),
    ("hits", "", "hits_by_tokens"),
    ("lifetime", "second", "lifetime"),
    ("wait_share", "", "wait_share"),
    ("requests", "1/session", "requests_per_session"),
    ("length", "token", "lengths.mean"),
    ("rate", "session/second", "session_rate"),
)
MAY_BE_ZERO = ("hits", "wait_share")  # no other can be for a session that there was: a trace that has zero does not say


def session_of(trace, **given):
    """What is known of a session: as given, or else from a trace.

    Parameters
    ----------
    trace : Summary, optional
        What was read of a trace.
    **given : Quantity
        By the fields of :class:`Session`.

    Returns
    -------
    Session
    """
    values, sources = {}, {}
    for key, unit, field in SESSION:
        value, sources[key] = given.get(key), "as given"
        if value is None and trace is not None:
            value, sources[key] = _of(trace, field), "the trace"
        value = None if value is None else _in(unit, value)
        values[key] = value if key in MAY_BE_ZERO or value is None or value.magnitude else None
    return Session(**values, sources=sources)


def _of(trace, path):
    """A field of a trace's summary, or of what one of its fields is; None where it does not say."""
    for name in path.split("."):
        trace = getattr(trace, name, None)
    return trace


def _in(unit, value):
    """A value in its unit: a plain number is in it; tokens are those of a session, and a rate is of sessions."""
    if not isinstance(value, Quantity):
        return Quantity(float(value), unit)
    return next(one for one in (value, value / ONE, value * ONE) if one.is_compatible_with(unit)).to(unit)


def given_price(date="", **prices):
    """A price as it was given, with its date.

    Parameters
    ----------
    date : str
        When it was read.
    **prices : Quantity
        By the fields of :class:`costlib.hardware.Price`.

    Returns
    -------
    Price
    """
    origin = Origin(title="as given", date=date or "")
    return Price(title="a price as given", origin=dict.fromkeys(prices, origin), **prices)


@dataclass(frozen=True, kw_only=True)
class Floors:
    """Least times for which tokens occupy the accelerators, and what they were computed for."""

    prefill: Quantity
    decode: Quantity
    batch: Quantity
    context: Quantity
    arithmetic: str


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of a session, each None where something that it needs is not known.

    Parameters
    ----------
    cards : Cards
    cap : Quantity [token]
    held : Quantity [session], optional
        Sessions that the cards hold at the cap; None where none fits.
    session : Session
    hire : Price, optional
        Of an accelerator for an hour.
    hosted : Price, optional
        Of a host's tokens.
    load : Quantity [], optional
        Sessions that come over those that could be served; by default all that could.
    """

    cards: Cards
    cap: Quantity
    held: Quantity | None
    session: Session
    hire: Price | None = None
    hosted: Price | None = None
    load: Quantity | None = None

    @property
    def count(self):
        return Quantity(float(self.cards.count), "accelerator")

    @property
    def per_hour(self):
        return self.hire.hire if self.hire is not None else None

    @property
    def input_price(self):
        return self.hosted.input if self.hosted is not None else None

    @property
    def output_price(self):
        return self.hosted.output if self.hosted is not None else None

    @property
    def cached_price(self):
        """Of a prompt token found in the cache; that of any other where the list has none."""
        if self.hosted is None:
            return None
        return self.input_price if self.hosted.cached_input is None else self.hosted.cached_input

    @property
    def hits(self):
        """Share of the prompt tokens found in a cache; none where nothing is known, the dearest case."""
        return NO_HITS if self.session.hits is None else self.session.hits

    @cached_property
    def holding(self):
        """Cost of holding a token for an hour."""
        tokens = _known(lambda sessions: sessions * self.cap / ONE, self.held)
        return _known(cost.holding_cost, self.per_hour, self.count, tokens)

    @cached_property
    def interval(self):
        """Time between requests at which holding a context costs as much as sending it again."""
        price = self.cached_price
        return _known(cost.break_even_interval, price if price is None or price.magnitude else None, self.holding)

    @cached_property
    def memory_rate(self):
        """Sessions that end in a second where memory is full."""
        return _known(cost.residency_rate, self.held, self.session.lifetime)

    @cached_property
    def floors(self):
        """Least times of tokens; None where the model's weights or the card's rates are not known."""
        model, accelerator = self.cards.model, self.cards.accelerator
        if self.held is None or model.parameters is None or not model.parameters.active or not self._has_tokens:
            return None
        stored = self.cards.weights.size / Quantity(float(model.parameters.total), "parameter")
        arithmetic = _arithmetic(stored, accelerator)
        if arithmetic is None:
            return None
        peak, context, batch = accelerator.peak_rate(arithmetic), self._context(), self._batch()
        active = Quantity(float(model.parameters.active), "parameter")
        attention = _attention(model, context)
        step = serving.node_step_time(
            batch,
            _read(model, batch, stored),
            model.state(context, self.cards.precision),
            serving.token_operations(active) + attention,
            peak,
            accelerator.bandwidth,
            self.count,
            self.cards.copies(context),
            NO_TIME,
        )
        prefill = serving.prefill_time(active, self.cards.count * peak) + attention / (self.cards.count * peak)
        decode = serving.fleet_time_per_token(step, batch)
        return Floors(prefill=prefill, decode=decode, batch=batch, context=context, arithmetic=arithmetic)

    @property
    def _has_tokens(self):
        return self.session.prompts is not None or self.session.output is not None

    def _context(self):
        """Tokens that a request begins with, in the mean, and at most the cap; none, the floor, where not known."""
        mean = _known(lambda prompts, requests: prompts / requests, self.session.prompts, self.session.requests)
        return Quantity(0.0, "token") if mean is None else min(mean.to("token"), self.cap)

    def _batch(self):
        """Sessions that are inside a model call when memory is full; where that is not known, all."""
        share = ALL if self.session.wait_share is None else 1 - self.session.wait_share
        return Quantity(max(1.0, (self.held * share).m_as("session")), "sequence")

    @cached_property
    def compute_rate(self):
        """Sessions that end in a second where the accelerators compute all the time, at most."""
        if self.floors is None:
            return None
        times = self.floors.prefill, self.floors.decode
        return _known(cost.processing_rate, self.session.prompts, self.session.output, self.hits, *times)

    @cached_property
    def full_rate(self):
        """Sessions that end in a second, at most; by one of memory and processing where the other is not known."""
        memory = self.compute_rate if self.memory_rate is None else self.memory_rate
        compute = self.memory_rate if self.compute_rate is None else self.compute_rate
        return _known(cost.session_rate, memory, compute, ALL)

    @cached_property
    def as_filled(self):
        """The same where memory is not kept for the cap but given out as contexts grow: to sessions of mean length.

        None where the length is not known, or no shorter than the cap.
        """
        if self.held is None or self.session.length is None or not self.session.length < self.cap:
            return None
        mean = Quantity(float(math.ceil(self.session.length.m_as("token"))), "token")
        if self.cards.lacks(NEEDS, mean):
            return None
        (*_, at_cap), (*_, at_mean) = (self.cards.kept(NEEDS, tokens) for tokens in (self.cap, mean))
        times = (at_cap / at_mean).m_as("")
        return replace(self, held=Quantity(math.floor(self.held.m_as("session") * times * (1 + 1e-12)), "session"))

    @cached_property
    def rate(self):
        """Sessions that end in a second at the load that there is."""
        return _known(lambda full: (ALL if self.load is None else self.load) * full, self.full_rate)

    @cached_property
    def own(self):
        """Cost of a session on the cards."""
        return _known(cost.self_hosted_cost, self.per_hour, self.count, self.rate)

    @cached_property
    def host(self):
        """Cost of a session from the host."""
        prices = self.input_price, self.cached_price, self.output_price
        return _known(cost.hosted_cost, self.session.prompts, self.session.output, self.hits, *prices)

    @cached_property
    def own_token(self):
        """Cost of a token on the cards, over all that a host would bill."""
        return _known(cost.cost_per_token, self.own, self.session.prompts, self.session.output)

    @cached_property
    def host_token(self):
        """Price of a token from the host, over all that it bills."""
        return _known(cost.cost_per_token, self.host, self.session.prompts, self.session.output)

    @cached_property
    def crossing(self):
        """Sessions a second from which the cards cost less than the host."""
        return _known(cost.break_even_rate, self.per_hour, self.count, self.host)

    @cached_property
    def crossing_load(self):
        """The same, over what the cards bear at most."""
        return _known(lambda rate, full: (rate / full).to(""), self.crossing, self.full_rate)

    @cached_property
    def copies(self):
        """Such groups of cards that it takes for the sessions that start."""
        return _known(
            lambda starts, full: Quantity(float(math.ceil((starts / full).m_as(""))), ""),
            self.session.rate,
            self.full_rate,
        )

    @cached_property
    def own_of_these(self):
        """Cost of a session on those, if these sessions are all that they serve."""
        rate = _known(lambda starts, copies: starts / copies, self.session.rate, self.copies)
        return _known(cost.self_hosted_cost, self.per_hour, self.count, rate)

    @cached_property
    def of_revenue(self):
        """What the host's price leaves above the cards' cost, of that price."""
        return _known(cost.margin_of_revenue, self.host_token, self.own_token)

    @cached_property
    def of_cost(self):
        """What the host's price leaves above the cards' cost, of that cost."""
        return _known(cost.margin_of_cost, self.host_token, self.own_token)


def _known(function, *arguments):
    """A function of what is known; None where something is not."""
    return None if any(argument is None for argument in arguments) else function(*arguments)


def _arithmetic(stored, accelerator):
    """The narrowest arithmetic that the accelerator has and that is no narrower than the weights."""
    known = accelerator.arithmetics
    bits = stored.m_as("bit/parameter") / 2  # scales, and what is not quantised, may take nearly as much again
    wide_enough = [name for name in known if WIDTHS[name] > bits]
    return wide_enough[-1] if wide_enough else next(iter(known), None)


def _attention(model, context):
    """Arithmetic of attention for one more token, in the layers whose query heads are as large as their keys."""
    plain = (
        [cache for cache in model.caches if cache.kind in ("full", "sliding", "chunked")] if model.query_heads else []
    )
    each = [
        serving.attention_operations(
            context,
            Quantity(float(cache.layers), "layer"),
            Quantity(model.query_heads * (cache.key_dim + cache.value_dim) / 2, "channel"),
            None if cache.window is None else Quantity(float(cache.window), "token"),
        )
        for cache in plain
    ]
    return sum(each, Quantity(0.0, "operation/token"))


def _read(model, batch, stored):
    """Weights that a step reads: of a mixture of experts, those that its tokens choose, where that can be told."""
    total, active = (Quantity(float(n), "parameter") for n in (model.parameters.total, model.parameters.active))
    experts, chosen = _field(model, EXPERTS), _field(model, CHOSEN)
    if active < total and experts and chosen and chosen <= experts:
        numbers = Quantity(float(experts), "expert"), Quantity(float(chosen), "expert/token")
        return serving.weights_read(batch * serving.DECODED, total, active, *numbers, stored)
    return serving.weight_bytes(total, stored)


def _field(model, names):
    values = (model.fields.get(name) for name in names) if model.fields is not None else ()
    return next((value for value in values if type(value) is int and value > 0), None)
