"""What a session costs: from a host that bills tokens, and on accelerators that are hired by the hour.

A host bills tokens, and an idle hour costs nothing. Accelerators bill hours, and
a session costs what share of an hour it takes: of their memory, which it holds
from its start to its end, or of their arithmetic, whichever runs out first.
"""

from costlib.arguments import ArgumentError, extremes, takes
from costlib.units import minimum

__all__ = [
    "break_even_interval",
    "break_even_rate",
    "cost_per_token",
    "holding_cost",
    "hosted_cost",
    "margin_of_cost",
    "margin_of_revenue",
    "price_with_margin_of_cost",
    "price_with_margin_of_revenue",
    "processing_rate",
    "residency_rate",
    "self_hosted_cost",
    "session_rate",
]


@takes(
    prompts="token/session",
    output="token/session",
    hits=" >= 0",
    input_price="USD/token >= 0",
    cached_price="USD/token >= 0",
    output_price="USD/token >= 0",
    returns="USD/session",
)
def hosted_cost(prompts, output, hits, input_price, cached_price, output_price):
    r"""Cost of a session that a host bills by the token.

    .. math:: C = I \, ((1 - h) \, p_{in} + h \, p_{cached}) + O \, p_{out}

    Parameters
    ----------
    prompts : Quantity [token/session]
        Prompt tokens of all requests of a session, those found in the cache included, I. Scalar or array.
    output : Quantity [token/session]
        Output tokens of all its requests, O. Scalar or array.
    hits : Quantity []
        Share of the prompt tokens that the host finds in its cache, h, at most 1; zero allowed. Scalar or array.
    input_price : Quantity [USD/token]
        Price of a prompt token, p_in; zero allowed. Scalar or array.
    cached_price : Quantity [USD/token]
        Price of a prompt token found in the cache, p_cached; zero allowed. Scalar or array.
    output_price : Quantity [USD/token]
        Price of an output token, p_out; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [USD/session]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a share above 1.

    Notes
    -----
    Exact for such a price list. An agent sends its context again in every turn, so that I is many times the
    session's length. The share is weighted by tokens; an average over requests is another number. What a host
    charges for writing to its cache, or for keeping it, is not in it.

    References
    ----------
    Gim et al. (2023), doi:10.48550/arXiv.2311.04934

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> prices = [quantity(f"{price} USD/Mtoken") for price in (0.55, 0.14, 2.19)]
    >>> show(hosted_cost(quantity("2e6 token/session"), quantity("30000 token/session"), 0.9, *prices))
    '0.428 USD/session'
    """
    _check_share("hosted_cost", "hits", hits)
    return prompts * ((1 - hits) * input_price + hits * cached_price) + output * output_price


@takes(sessions="session", lifetime="second", returns="session/second")
def residency_rate(sessions, lifetime):
    r"""Rate at which sessions end where memory is full: each holds its share from its start to its end.

    .. math:: \lambda_{memory} = S / W

    Parameters
    ----------
    sessions : Quantity [session]
        Sessions that the memory holds at once, S. Scalar or array.
    lifetime : Quantity [second]
        Mean time from the start of a session to its end, waits for tools included, W. Scalar or array.

    Returns
    -------
    Quantity [session/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Little's law, exact for the means. Where memory is reserved for the cap, S counts contexts at the cap. An engine
    that gives out blocks as they fill holds more sessions, until they grow; one that evicts a session while its tool
    runs holds it for the model's time alone, and computes or loads its state again.

    References
    ----------
    Little (1961), doi:10.1287/opre.9.3.383

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(residency_rate(quantity("48 session"), quantity("6 min")), "session/hour")
    '480 sessions/h'
    """
    return sessions / lifetime


@takes(
    prompts="token/session",
    output="token/session",
    hits=" >= 0",
    prefill_time="second/token",
    decode_time="second/token",
    returns="session/second",
)
def processing_rate(prompts, output, hits, prefill_time, decode_time):
    r"""Rate at which sessions end where the accelerators compute all the time.

    .. math:: \lambda_{compute} = \frac{1}{I (1 - h) \, t_{prefill} + O \, t_{decode}}

    Parameters
    ----------
    prompts : Quantity [token/session]
        Prompt tokens of all requests of a session, those found in the cache included, I. Scalar or array.
    output : Quantity [token/session]
        Output tokens of all its requests, O. Scalar or array.
    hits : Quantity []
        Share of the prompt tokens that are found in the cache, h, at most 1; zero allowed. Scalar or array.
    prefill_time : Quantity [second/token]
        Time for which one prompt token occupies the accelerators, t_prefill, as
        :func:`costlib.serving.prefill_time` gives its floor. Scalar or array.
    decode_time : Quantity [second/token]
        Time for which one output token occupies them, the time of a step over its batch, t_decode, as
        :func:`costlib.serving.fleet_time_per_token` gives it. Scalar or array.

    Returns
    -------
    Quantity [session/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a share above 1.

    Notes
    -----
    With times that are floors it is a ceiling: published rates reach 88 % of the prefill floor, and 40 to 81 % of
    the decode floor. Put in measured times where you have them. Prefill and decode are taken one after the other; a
    step that does both hides some of one behind the other.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102; Agrawal et al. (2024), doi:10.48550/arXiv.2403.02310

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> session = quantity("2e6 token/session"), quantity("30000 token/session"), 0.9
    >>> show(processing_rate(*session, quantity("71.3 µs/token"), quantity("330 µs/token")), "session/hour")
    '149 sessions/h'
    """
    _check_share("processing_rate", "hits", hits)
    return 1 / (prompts * (1 - hits) * prefill_time + output * decode_time)


@takes(residency_rate="session/second", processing_rate="session/second", utilisation="", returns="session/second")
def session_rate(residency_rate, processing_rate, utilisation):
    r"""Rate of sessions that memory and arithmetic both bear, at the utilisation that there is.

    .. math:: \lambda = u \, \min(\lambda_{memory}, \lambda_{compute})

    Parameters
    ----------
    residency_rate : Quantity [session/second]
        What memory bears, lambda_memory. Scalar or array.
    processing_rate : Quantity [session/second]
        What arithmetic bears, lambda_compute. Scalar or array.
    utilisation : Quantity []
        Sessions that come over those that could be served, in the mean over nights and weekends, u; at most 1.
        Scalar or array.

    Returns
    -------
    Quantity [session/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or a utilisation above 1.

    Notes
    -----
    A bound: sessions that come unevenly wait long before it is 1, as :mod:`costlib.queueing` says.
    Where arithmetic is the lesser, sessions live longer than they would alone, and fill the memory all the same.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> memory, arithmetic = quantity("480 session/hour"), quantity("149 session/hour")
    >>> show(session_rate(memory, arithmetic, 0.5), "session/day")
    '1,790 sessions/day'
    """
    _check_share("session_rate", "utilisation", utilisation)
    return utilisation * minimum(residency_rate, processing_rate)


@takes(hire="USD/accelerator/hour", accelerators="accelerator >= 1", rate="session/second", returns="USD/session")
def self_hosted_cost(hire, accelerators, rate):
    r"""Cost of a session on accelerators that are hired by the hour.

    .. math:: C = n p_{hire} / \lambda

    Parameters
    ----------
    hire : Quantity [USD/accelerator/hour]
        Price of an accelerator for an hour, whether it works or not, p_hire. Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators that are hired, n; at least one. Scalar or array.
    rate : Quantity [session/second]
        Sessions that end in a second, lambda, as :func:`session_rate` gives it. Scalar or array.

    Returns
    -------
    Quantity [USD/session]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    The hire alone: of what is owned, put in its price over its life, with power and care. What people cost who keep
    it running is not in it.

    References
    ----------
    Walker (2009), doi:10.1109/MC.2009.135

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> hire, node = quantity("3.99 USD/accelerator/hour"), quantity("8 accelerator")
    >>> show(self_hosted_cost(hire, node, quantity("1790 session/day")))
    '0.428 USD/session'
    """
    return hire * accelerators / rate


@takes(session_cost="USD/session", prompts="token/session", output="token/session", returns="USD/token")
def cost_per_token(session_cost, prompts, output):
    r"""Cost of a session over all tokens that a host would bill for it.

    .. math:: c = C / (I + O)

    Parameters
    ----------
    session_cost : Quantity [USD/session]
        Cost of a session, C. Scalar or array.
    prompts : Quantity [token/session]
        Prompt tokens of all its requests, those found in the cache included, I. Scalar or array.
    output : Quantity [token/session]
        Output tokens of all its requests, O. Scalar or array.

    Returns
    -------
    Quantity [USD/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    A mean over tokens that cost very different amounts. Two of these compare only for the same session.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> tokens = quantity("2e6 token/session"), quantity("30000 token/session")
    >>> show(cost_per_token(quantity("0.428 USD/session"), *tokens), "USD/Mtoken")
    '0.211 USD per million tokens'
    """
    return session_cost / (prompts + output)


@takes(
    hire="USD/accelerator/hour", accelerators="accelerator >= 1", hosted_cost="USD/session", returns="session/second"
)
def break_even_rate(hire, accelerators, hosted_cost):
    r"""Rate of sessions from which hired accelerators cost less than a host that bills each session.

    .. math:: \lambda^* = n p_{hire} / C_{hosted}

    Parameters
    ----------
    hire : Quantity [USD/accelerator/hour]
        Price of an accelerator for an hour, p_hire. Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators that are hired, n; at least one. Scalar or array.
    hosted_cost : Quantity [USD/session]
        What the host bills for a session, C_hosted. Scalar or array.

    Returns
    -------
    Quantity [session/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Over the rate that the accelerators bear, it is the utilisation at which the two cross. Above 1 they do not: no
    number of such accelerators is cheaper than the host.

    References
    ----------
    Walker (2009), doi:10.1109/MC.2009.135

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> hire, node = quantity("3.99 USD/accelerator/hour"), quantity("8 accelerator")
    >>> show(break_even_rate(hire, node, quantity("0.428 USD/session")), "session/day")
    '1,790 sessions/day'
    """
    return hire * accelerators / hosted_cost


@takes(hire="USD/accelerator/hour", accelerators="accelerator >= 1", tokens="token", returns="USD/token/hour")
def holding_cost(hire, accelerators, tokens):
    r"""Cost of holding the state of a token for an hour on accelerators whose memory is full.

    .. math:: p_{hold} = n p_{hire} / T

    Parameters
    ----------
    hire : Quantity [USD/accelerator/hour]
        Price of an accelerator for an hour, p_hire. Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators that are hired, n; at least one. Scalar or array.
    tokens : Quantity [token]
        Tokens of context that their memory holds at once, T. Scalar or array.

    Returns
    -------
    Quantity [USD/token/hour]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    The whole hire is laid on memory, and the arithmetic comes with it. Where state is reserved for a cap that
    sessions do not reach, a token that is there costs more.

    References
    ----------
    Gray, Putzolu (1987), doi:10.1145/38713.38755

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> card, tokens = quantity("1 accelerator"), quantity("103759 token")
    >>> show(holding_cost(quantity("3.99 USD/accelerator/hour"), card, tokens), "USD/hour/Mtoken", digits=4)
    '38.45 USD/h per million tokens'
    """
    return hire * accelerators / tokens


@takes(cached_price="USD/token", holding_cost="USD/token/hour", returns="second")
def break_even_interval(cached_price, holding_cost):
    r"""Time between two requests of a session at which holding its context costs as much as sending it again.

    .. math:: t^* = p_{cached} / p_{hold}

    Parameters
    ----------
    cached_price : Quantity [USD/token]
        What a host charges for a prompt token that it finds in its cache, p_cached. Scalar or array.
    holding_cost : Quantity [USD/token/hour]
        Cost of holding a token for an hour, p_hold, as :func:`holding_cost` gives it. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Of the context alone: what is new in a request, and the output, come on top on either side.

    References
    ----------
    Gray, Putzolu (1987), doi:10.1145/38713.38755

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(break_even_interval(quantity("0.07 USD/Mtoken"), quantity("38.45 USD/Mtoken/hour")), "s")
    '6.55 s'
    """
    return cached_price / holding_cost


@takes(cost="USD/token", margin=" >= 0", returns="USD/token")
def price_with_margin_of_revenue(cost, margin):
    r"""Price of which a share remains after the cost: a margin of revenue.

    .. math:: p = c / (1 - m)

    Parameters
    ----------
    cost : Quantity [USD/token]
        Cost of a token, c. Scalar or array.
    margin : Quantity []
        Share of the price that is no cost, m, less than 1; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [USD/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a margin of 1 and more.

    Notes
    -----
    Exact; what is called gross margin. A margin of revenue of 50 % is a margin of cost of 100 %.

    References
    ----------
    Barroso, Hölzle, Ranganathan (2018), doi:10.2200/S00874ED3V01Y201809CAC046

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(price_with_margin_of_revenue(quantity("0.211 USD/Mtoken"), 0.6), "USD/Mtoken", digits=4)
    '0.5275 USD per million tokens'
    """
    if extremes(margin.magnitude)[1] >= 1:
        raise ArgumentError(
            f"price_with_margin_of_revenue: margin = {margin:~P}; wanted a share of the price, less than 1"
        )
    return cost / (1 - margin)


@takes(cost="USD/token", margin=" >= 0", returns="USD/token")
def price_with_margin_of_cost(cost, margin):
    r"""Price that is the cost and a share of it: a margin of cost.

    .. math:: p = c \, (1 + m)

    Parameters
    ----------
    cost : Quantity [USD/token]
        Cost of a token, c. Scalar or array.
    margin : Quantity []
        What is added, over the cost, m; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [USD/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact; also called mark-up. It may be far above 1.

    References
    ----------
    Barroso, Hölzle, Ranganathan (2018), doi:10.2200/S00874ED3V01Y201809CAC046

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(price_with_margin_of_cost(quantity("0.211 USD/Mtoken"), 0.6), "USD/Mtoken", digits=4)
    '0.3376 USD per million tokens'
    """
    return cost * (1 + margin)


@takes(price="USD/token", cost="USD/token", returns="")
def margin_of_revenue(price, cost):
    r"""Share of a price that remains after the cost.

    .. math:: m = 1 - c / p

    Parameters
    ----------
    price : Quantity [USD/token]
        Price of a token, p. Scalar or array.
    cost : Quantity [USD/token]
        Cost of a token, c. Scalar or array.

    Returns
    -------
    Quantity []
        Negative where the price does not cover the cost. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Exact. Below 1, however high the price.

    References
    ----------
    Barroso, Hölzle, Ranganathan (2018), doi:10.2200/S00874ED3V01Y201809CAC046

    Examples
    --------
    >>> from costlib.units import quantity
    >>> f'{margin_of_revenue(quantity("0.55 USD/Mtoken"), quantity("0.22 USD/Mtoken")):.0%}'
    '60%'
    """
    return 1 - cost / price


@takes(price="USD/token", cost="USD/token", returns="")
def margin_of_cost(price, cost):
    r"""What a price adds to the cost, over the cost.

    .. math:: m = p / c - 1

    Parameters
    ----------
    price : Quantity [USD/token]
        Price of a token, p. Scalar or array.
    cost : Quantity [USD/token]
        Cost of a token, c. Scalar or array.

    Returns
    -------
    Quantity []
        Negative where the price does not cover the cost. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Exact. The 545 % that DeepSeek published for one day of 2025 are of cost; of revenue they are 85 %.

    References
    ----------
    Barroso, Hölzle, Ranganathan (2018), doi:10.2200/S00874ED3V01Y201809CAC046;
    DeepSeek (2025), DeepSeek-V3/R1 inference system overview, https://github.com/deepseek-ai/open-infra-index

    Examples
    --------
    >>> from costlib.units import quantity
    >>> f'{margin_of_cost(quantity("0.55 USD/Mtoken"), quantity("0.22 USD/Mtoken")):.0%}'
    '150%'
    """
    return price / cost - 1


def _check_share(function, name, value):
    if extremes(value.magnitude)[1] > 1:
        raise ArgumentError(f"{function}: {name} = {value:~P}; wanted a share of at most 1")
