"""Speculative decoding: a small draft proposes tokens, and one pass of the target accepts or replaces them.

A distribution is a list of probabilities, one for each token of a vocabulary; a model
is a function from the tokens so far, a tuple, to the distribution of the next.
Floats and fractions both do: with Python's fractions nothing is rounded.
"""

import math
from collections import defaultdict
from numbers import Integral, Real

from costlib.arguments import ArgumentError, extremes, takes
from costlib.units import Quantity

__all__ = [
    "acceptance_probability",
    "acceptance_rate",
    "accepted_share",
    "measured_tokens_per_pass",
    "output_distribution",
    "pass_distribution",
    "residual_distribution",
    "sample_pass",
    "speedup",
    "tokens_per_pass",
    "total_variation",
]

BONUS = Quantity(1, "token")  # every pass puts out one token of the target's own
LARGEST_ERROR = 1e-6  # of a sum of probabilities, as of those of 32 bits
ROUNDING = 1e-15  # of a sum of probabilities of 64 bits; fractions have none
MOST_DRAFTS = 20  # beyond, there are too many outputs to enumerate


# ---------------------------------------------------------------- the rule


def acceptance_probability(target, draft):
    r"""Probability that each token is accepted, if the draft proposes it.

    .. math:: \alpha(v) = \min\left(1, \frac{p(v)}{q(v)}\right)

    Parameters
    ----------
    target : sequence of float
        Distribution of the target, p.
    draft : sequence of float
        Distribution of the draft, q, over the same vocabulary.

    Returns
    -------
    list of float
        1 also for a token that the draft never proposes.

    Raises
    ------
    ArgumentError
        For what is no distribution, or for two of different lengths.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192; Chen et al. (2023), doi:10.48550/arXiv.2302.01318

    Examples
    --------
    >>> acceptance_probability([0.5, 0.5], [0.8, 0.2])
    [0.625, 1]
    """
    return [1 if p >= q else p / q for p, q in _pairs("acceptance_probability", target, draft)]


def acceptance_rate(target, draft):
    r"""Probability that a token which the draft proposes is accepted.

    .. math:: \sum_v \min(p(v), q(v))

    Parameters
    ----------
    target : sequence of float
        Distribution of the target, p.
    draft : sequence of float
        Distribution of the draft, q, over the same vocabulary.

    Returns
    -------
    float

    Raises
    ------
    ArgumentError
        For what is no distribution, or for two of different lengths.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192

    Examples
    --------
    >>> acceptance_rate([0.5, 0.5], [0.8, 0.2])
    0.7
    """
    return sum(min(p, q) for p, q in _pairs("acceptance_rate", target, draft))


def residual_distribution(target, draft):
    r"""Distribution from which a rejected token is replaced.

    .. math:: p_{res}(v) = \frac{\max(0, p(v) - q(v))}{\sum_w \max(0, p(w) - q(w))}

    Parameters
    ----------
    target : sequence of float
        Distribution of the target, p.
    draft : sequence of float
        Distribution of the draft, q, over the same vocabulary.

    Returns
    -------
    list of float

    Raises
    ------
    ArgumentError
        For what is no distribution, for two of different lengths, or where both
        are the same: then nothing is rejected, and there is no residual.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192; Chen et al. (2023), doi:10.48550/arXiv.2302.01318

    Examples
    --------
    >>> residual_distribution([0.25, 0.25, 0.5], [0.75, 0.25, 0])
    [0.0, 0.0, 1.0]
    """
    excess = [max(p - q, 0) for p, q in _pairs("residual_distribution", target, draft)]
    total = sum(excess)
    if not total:
        raise ArgumentError("residual_distribution: target and draft are the same; wanted two that differ")
    return [part / total for part in excess]


def _pairs(function, target, draft):
    """Probabilities of target and draft, token by token."""
    target, draft = _probabilities(function, "target", target), _probabilities(function, "draft", draft)
    if len(target) != len(draft):
        raise ArgumentError(
            f"{function}: target has {len(target)} tokens and draft {len(draft)}; wanted the same vocabulary"
        )
    return zip(target, draft, strict=True)


def _probabilities(function, name, given):
    wanted = "wanted probabilities that sum to 1"
    try:
        values = list(given)
    except TypeError:
        raise ArgumentError(f"{function}: {name} = {given!r}; {wanted}") from None
    for value in values:
        if not isinstance(value, Real) or isinstance(value, bool) or not value >= 0:
            raise ArgumentError(f"{function}: {name} has the entry {value!r}; {wanted}")
    total = sum(values)
    if not abs(total - 1) <= LARGEST_ERROR:
        raise ArgumentError(f"{function}: {name} sums to {total}; {wanted}")
    return values if total == 1 else [value / total for value in values]


def _check_count(function, name, count, most=math.inf):
    if not isinstance(count, Integral) or isinstance(count, bool) or not 0 <= count <= most:
        limit = "" if most == math.inf else f", at most {most}"
        raise ArgumentError(f"{function}: {name} = {count!r}; wanted a whole number, zero or more{limit}")


# ---------------------------------------------------------------- what comes of it, by enumeration and by chance


def pass_distribution(target, draft, drafts, prefix=(), accept=acceptance_probability, resample=residual_distribution):
    """Probability of each output of one pass, by enumeration of all drafts.

    Parameters
    ----------
    target : callable
        The target, from the tokens so far to the distribution of the next.
    draft : callable
        The draft, likewise.
    drafts : int
        Tokens that the draft proposes, one after another.
    prefix : tuple of int
        Tokens before the pass.
    accept : callable
        From both distributions to the probabilities of acceptance; another rule gives another output.
    resample : callable
        From both distributions to that of a replacement.

    Returns
    -------
    dict of tuple of int to float
        From the tokens put out, one to ``drafts + 1`` of them, to their probability.

    Examples
    --------
    >>> from fractions import Fraction
    >>> fair, loaded = [Fraction(1, 2)] * 2, [Fraction(3, 4), Fraction(1, 4)]
    >>> found = pass_distribution(lambda prefix: fair, lambda prefix: loaded, 1)
    >>> {tokens: str(probability) for tokens, probability in found.items()}
    {(0, 0): '1/4', (0, 1): '1/4', (1,): '1/4', (1, 0): '1/8', (1, 1): '1/8'}
    """
    _check_count("pass_distribution", "drafts", drafts, MOST_DRAFTS)
    p = _probabilities("pass_distribution", "target", target(prefix))
    if drafts == 0:  # the pass has one distribution more than there are drafts
        return {(token,): probability for token, probability in enumerate(p) if probability}
    q = _probabilities("pass_distribution", "draft", draft(prefix))
    accepted = [proposed * kept for proposed, kept in zip(q, accept(p, q), strict=True)]
    rejected = sum(q) - sum(accepted)
    found = defaultdict(int)
    for token, probability in enumerate(accepted):
        if probability:
            after = pass_distribution(target, draft, drafts - 1, prefix + (token,), accept, resample)
            for tail, further in after.items():
                found[(token, *tail)] += probability * further
    if rejected > ROUNDING:
        for token, probability in enumerate(resample(p, q)):
            if probability:
                found[(token,)] += rejected * probability
    return dict(sorted(found.items()))


def output_distribution(
    target, draft, drafts, length, prefix=(), accept=acceptance_probability, resample=residual_distribution
):
    """Distribution of the first so many tokens that pass after pass puts out, by enumeration.

    Parameters
    ----------
    target : callable
        The target, from the tokens so far to the distribution of the next.
    draft : callable
        The draft, likewise.
    drafts : int
        Tokens that the draft proposes in a pass.
    length : int
        Tokens of the output.
    prefix : tuple of int
        Tokens before the output.
    accept : callable
        As for :func:`pass_distribution`.
    resample : callable
        As for :func:`pass_distribution`.

    Returns
    -------
    dict of tuple of int to float
        From each output of that length to its probability; the target's own, if the rule is the right one.

    Examples
    --------
    >>> from fractions import Fraction
    >>> fair, loaded = [Fraction(1, 2)] * 2, [Fraction(3, 4), Fraction(1, 4)]
    >>> found = output_distribution(lambda prefix: fair, lambda prefix: loaded, 1, 2)
    >>> {tokens: str(probability) for tokens, probability in found.items()}
    {(0, 0): '1/4', (0, 1): '1/4', (1, 0): '1/4', (1, 1): '1/4'}
    """
    _check_count("output_distribution", "length", length)
    if length == 0:
        return {(): 1}
    found = defaultdict(int)
    for tokens, probability in pass_distribution(target, draft, drafts, prefix, accept, resample).items():
        head = tokens[:length]
        after = output_distribution(target, draft, drafts, length - len(head), prefix + head, accept, resample)
        for tail, further in after.items():
            found[head + tail] += probability * further
    return dict(sorted(found.items()))


def sample_pass(target, draft, drafts, random, prefix=()):
    """Tokens that one pass puts out, drawn at random.

    Parameters
    ----------
    target : callable
        The target, from the tokens so far to the distribution of the next.
    draft : callable
        The draft, likewise.
    drafts : int
        Tokens that the draft proposes.
    random : random.Random
        Where chance comes from.
    prefix : tuple of int
        Tokens before the pass.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from random import Random
    >>> sample_pass(lambda prefix: [0, 1], lambda prefix: [0.5, 0.5], 3, Random(1))
    (1,)
    """
    tokens = tuple(prefix)
    _check_count("sample_pass", "drafts", drafts)
    for _ in range(drafts):
        p = _probabilities("sample_pass", "target", target(tokens))
        q = _probabilities("sample_pass", "draft", draft(tokens))
        token = _draw(q, random)
        if random.random() >= acceptance_probability(p, q)[token]:
            tokens += (_draw(residual_distribution(p, q), random),)
            break
        tokens += (token,)
    else:
        tokens += (_draw(_probabilities("sample_pass", "target", target(tokens)), random),)
    return tokens[len(prefix) :]


def _draw(distribution, random):
    return random.choices(range(len(distribution)), distribution)[0]


def total_variation(one, other):
    r"""Distance of two distributions: the largest difference of the probabilities that they give to any event.

    .. math:: \tfrac{1}{2} \sum_x |p(x) - q(x)|

    Parameters
    ----------
    one : dict
        Probabilities, by outcome; of an outcome that is missing, zero.
    other : dict
        Likewise.

    Returns
    -------
    float
        Zero for the same distribution, one for two without a common outcome.

    References
    ----------
    Levin, Peres, Wilmer (2009), doi:10.1090/mbk/058

    Examples
    --------
    >>> total_variation({"a": 0.5, "b": 0.5}, {"a": 0.75, "c": 0.25})
    0.5
    """
    return sum(abs(one.get(x, 0) - other.get(x, 0)) for x in one.keys() | other.keys()) / 2


# ---------------------------------------------------------------- what it gains


@takes(acceptance=" >= 0", drafts="token >= 0", returns="token")
def tokens_per_pass(acceptance, drafts):
    r"""Expected tokens that a pass puts out, if each draft is accepted with the same probability.

    .. math:: 1 + \alpha + \dots + \alpha^k = \frac{1 - \alpha^{k + 1}}{1 - \alpha}

    Parameters
    ----------
    acceptance : Quantity []
        Probability that a draft is accepted, given that those before it were, alpha; at most one, zero allowed.
        Scalar or array.
    drafts : Quantity [token]
        Tokens that the draft proposes in a pass, k; whole ones, zero allowed. Scalar or array.

    Returns
    -------
    Quantity [token]
        From 1 to k + 1; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, an acceptance above one, part of a token.

    Notes
    -----
    The probability is not the share of all drafts that is accepted, which is
    lower: :func:`accepted_share`. Real acceptance falls with the position and
    differs from text to text; of what an engine logs, :func:`measured_tokens_per_pass`.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(tokens_per_pass(0.8, quantity("4 token")))
    '3.36 tokens'
    """
    _check_at_most_one("tokens_per_pass", "acceptance", acceptance)
    _check_whole("tokens_per_pass", drafts)
    return Quantity(_sum_of_powers(acceptance.magnitude, (drafts + BONUS).magnitude), "token")


@takes(acceptance=" >= 0", drafts="token >= 1", returns="")
def accepted_share(acceptance, drafts):
    r"""Expected share of all drafts that is accepted, if each is accepted with the same probability.

    .. math:: \frac{\alpha + \dots + \alpha^k}{k}

    Parameters
    ----------
    acceptance : Quantity []
        Probability that a draft is accepted, given that those before it were, alpha; at most one, zero allowed.
        Scalar or array.
    drafts : Quantity [token]
        Tokens that the draft proposes in a pass, k; whole ones, at least one. Scalar or array.

    Returns
    -------
    Quantity []
        At most alpha; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, an acceptance above one, part of a token.

    Notes
    -----
    A rejection discards every draft behind it, accepted or not: the share falls as k grows.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(accepted_share(0.8, quantity("8 token")), "percent")
    '41.6 %'
    """
    _check_at_most_one("accepted_share", "acceptance", acceptance)
    _check_whole("accepted_share", drafts)
    return acceptance * Quantity(_sum_of_powers(acceptance.magnitude, drafts.magnitude), "token") / drafts


@takes(position_rates=" >= 0", returns="token")
def measured_tokens_per_pass(position_rates):
    r"""Mean tokens that a pass puts out, from how often an engine accepted the draft at each position.

    .. math:: 1 + \sum_{j=1}^{k} r_j

    Parameters
    ----------
    position_rates : Quantity []
        Share of passes that accepted the first draft, the second, and so on, r_j; zero allowed, none above the one
        before. Array.

    Returns
    -------
    Quantity [token]
        A scalar.

    Raises
    ------
    ArgumentError
        For a value that is not finite, is negative or above one, or a rate that rises from one position to the next.

    Notes
    -----
    Exact, whatever the acceptance depends on. A rate that rises counts drafts behind a rejection, which were discarded.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192

    Examples
    --------
    >>> from costlib.units import show
    >>> show(measured_tokens_per_pass([0.805, 0.632, 0.483]))
    '2.92 tokens'
    """
    _check_at_most_one("measured_tokens_per_pass", "position_rates", position_rates)
    given = position_rates.magnitude
    if getattr(given, "ndim", 0) > 1:
        raise ArgumentError(f"measured_tokens_per_pass: position_rates of shape {given.shape}; wanted one row")
    rates = given.tolist() if getattr(given, "ndim", 0) else [float(given)]
    for position, (before, rate) in enumerate(zip(rates, rates[1:], strict=False), 2):
        if rate > before:
            raise ArgumentError(
                f"measured_tokens_per_pass: position_rates rises from {before:g} to {rate:g} at position {position}; "
                "wanted rates of drafts that were accepted with all before them"
            )
    return BONUS * (1 + math.fsum(rates))


@takes(acceptance=" >= 0", drafts="token >= 0", draft_cost=" >= 0", pass_cost="", returns="")
def speedup(acceptance, drafts, draft_cost, pass_cost=Quantity(1, "")):
    r"""Times that speculation makes a stream quicker.

    .. math:: \frac{1 - \alpha^{k + 1}}{(1 - \alpha)(k c + v)}

    Parameters
    ----------
    acceptance : Quantity []
        Probability that a draft is accepted, given that those before it were, alpha; at most one, zero allowed.
        Scalar or array.
    drafts : Quantity [token]
        Tokens that the draft proposes in a pass, k; whole ones, zero allowed. Scalar or array.
    draft_cost : Quantity []
        Time of a step of the draft over that of a step of the target, c; zero allowed. Scalar or array.
    pass_cost : Quantity [], optional
        Time of the pass that checks the drafts over that of a step of the target, v; 1 where both wait for the same
        read of the weights. Scalar or array.

    Returns
    -------
    Quantity []
        Below one where it makes the stream slower; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, an acceptance above one, part of a token.

    Notes
    -----
    Sampling, and whatever else a pass does beside the two models, is left out.

    References
    ----------
    Leviathan et al. (2022), doi:10.48550/arXiv.2211.17192

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(speedup(0.75, quantity("8 token"), 0.015), digits=2)
    '3.3'
    """
    _check_at_most_one("speedup", "acceptance", acceptance)
    _check_whole("speedup", drafts)
    tokens = _sum_of_powers(acceptance.magnitude, (drafts + BONUS).magnitude)
    return Quantity(tokens, "") / (drafts / BONUS * draft_cost + pass_cost)


def _check_at_most_one(function, name, value):
    highest = extremes(value.magnitude)[1]
    if highest > 1:
        raise ArgumentError(f"{function}: {name} = {highest:g}; wanted at most 1")


def _check_whole(function, drafts):
    part = extremes(drafts.magnitude % 1)[1]
    if part:
        raise ArgumentError(f"{function}: drafts has {part:g} of a token; wanted whole ones")


def _sum_of_powers(base, terms):
    """1 + a + a^2 + ..., so many terms; without the cancellation that the closed form has near one."""
    if hasattr(base, "shape") or hasattr(terms, "shape"):
        import numpy  # loaded already by whoever made the array

        return numpy.vectorize(_sum_of_powers, otypes=[float])(base, terms)
    if base in (0, 1):
        return 1.0 if base == 0 else float(terms)
    return math.expm1(terms * math.log(base)) / (base - 1)
