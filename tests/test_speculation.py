"""costlib.speculation: the rule, that it changes no output, and what it gains."""

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costlib import speculation
from costlib.arguments import ArgumentError
from costlib.speculation import (
    acceptance_probability,
    acceptance_rate,
    accepted_share,
    measured_tokens_per_pass,
    output_distribution,
    pass_distribution,
    residual_distribution,
    sample_pass,
    speedup,
    tokens_per_pass,
    total_variation,
)
from costlib.units import Quantity, quantity

steady = settings(derandomize=True, deadline=None, max_examples=60)

HALF, FAIR, LOADED = Fraction(1, 2), [Fraction(1, 2)] * 2, [Fraction(3, 4), Fraction(1, 4)]


def normalised(weights, number):
    return [number(weight) / number(sum(weights)) for weight in weights]


@st.composite
def distributions(draw, count, number=Fraction, least=2, most=5):
    """So many distributions over one vocabulary, some of their probabilities zero."""
    tokens = draw(st.integers(least, most))
    weights = st.lists(st.integers(0, 20), min_size=tokens, max_size=tokens).filter(any)
    return [normalised(draw(weights), number) for _ in range(count)]


@st.composite
def models(draw, number, tokens):
    """A model whose distribution hangs on the last two tokens, where there are so many."""
    weights = st.lists(st.integers(0, 9), min_size=tokens, max_size=tokens).filter(any)
    texts = [text for n in range(3) for text in itertools.product(range(tokens), repeat=n)]
    table = {text: normalised(draw(weights), number) for text in texts}
    return lambda text: table[text[-2:]]


def alone(target, tokens, length):
    """The target's own distribution of outputs: the product of what it gives to each token."""
    return {
        output: math.prod(target(output[:i])[token] for i, token in enumerate(output))
        for output in itertools.product(range(tokens), repeat=length)
    }


# The rule


@steady
@given(distributions(2))
def test_what_is_accepted_and_what_replaces_it_make_the_target(pair):
    p, q = pair
    assume(p != q)
    rejected = 1 - acceptance_rate(p, q)
    accepted = [proposed * kept for proposed, kept in zip(q, acceptance_probability(p, q), strict=True)]
    residual = residual_distribution(p, q)
    assert [a + rejected * r for a, r in zip(accepted, residual, strict=True)] == p


@steady
@given(distributions(2))
def test_the_acceptance_rate_is_one_less_the_total_variation(pair):
    p, q = pair
    assert acceptance_rate(p, q) == 1 - total_variation(dict(enumerate(p)), dict(enumerate(q)))
    assert acceptance_rate(p, q) == acceptance_rate(q, p)


@steady
@given(distributions(2))
def test_the_residual_is_a_distribution_over_what_the_draft_proposes_too_rarely(pair):
    p, q = pair
    assume(p != q)
    residual = residual_distribution(p, q)
    assert sum(residual) == 1
    assert [r > 0 for r in residual] == [target > draft for target, draft in zip(p, q, strict=True)]


def test_a_token_that_the_draft_never_proposes_has_no_zero_to_divide_by():
    assert acceptance_probability([HALF, HALF], [1, 0]) == [HALF, 1]
    assert residual_distribution([HALF, HALF], [1, 0]) == [0, 1]


def test_a_token_that_the_target_never_says_is_never_accepted():
    assert acceptance_probability([1, 0], [HALF, HALF]) == [1, 0]


def test_equal_distributions_reject_nothing_and_have_no_residual():
    assert acceptance_rate(FAIR, FAIR) == 1
    with pytest.raises(ArgumentError, match="target and draft are the same"):
        residual_distribution(FAIR, FAIR)
    assert set(map(len, pass_distribution(lambda _: FAIR, lambda _: FAIR, 3))) == {4}


def test_arrays_of_probabilities_do_too():
    p, q = np.array([0.5, 0.5]), np.array([0.8, 0.2])
    assert acceptance_rate(p, q) == pytest.approx(0.7)
    assert acceptance_probability(p, q) == pytest.approx([0.625, 1])


@pytest.mark.parametrize("function", [acceptance_probability, acceptance_rate, residual_distribution])
@pytest.mark.parametrize(
    "wrong, message",
    [
        ([0.5, 0.4], r"sums to 0\.9; wanted probabilities that sum to 1"),
        ([0.7, 0.7], r"sums to 1\.4"),
        ([1.5, -0.5], r"has the entry -0\.5"),
        ([math.nan, 1.0], "has the entry nan"),
        ([math.inf, 0.0], "sums to inf"),
        ([True, False], "has the entry True"),
        (["1", "0"], "has the entry '1'"),
        ([], "sums to 0"),
        (0.5, r"= 0\.5; wanted"),
        (None, "= None; wanted"),
    ],
    ids=str,
)
def test_what_is_no_distribution_is_refused_by_name(function, wrong, message):
    with pytest.raises(ArgumentError, match=f"^{function.__name__}: target {message}"):
        function(wrong, [0.5, 0.5])
    with pytest.raises(ArgumentError, match=f"^{function.__name__}: draft {message}"):
        function([0.5, 0.5], wrong)


@pytest.mark.parametrize("function", [acceptance_probability, acceptance_rate, residual_distribution])
def test_two_vocabularies_are_refused(function):
    with pytest.raises(ArgumentError, match="target has 2 tokens and draft 3; wanted the same vocabulary"):
        function(FAIR, [0.5, 0.25, 0.25])


# No output changes


@settings(steady, max_examples=25)
@given(st.data(), st.integers(1, 3))
def test_outputs_have_exactly_the_distribution_of_the_target(data, drafts):
    """Proof by enumeration, in fractions, over all that pass after pass can do."""
    length = drafts + 1
    target, draft = (data.draw(models(Fraction, 2)) for _ in range(2))
    found = output_distribution(target, draft, drafts, length)
    assert total_variation(found, alone(target, 2, length)) == 0


@settings(steady, max_examples=25)
@given(st.data(), st.integers(1, 2))
def test_outputs_have_the_distribution_of_the_target_in_floats(data, drafts):
    target, draft = (data.draw(models(float, 3)) for _ in range(2))
    found = output_distribution(target, draft, drafts, 3)
    assert total_variation(found, alone(target, 3, 3)) < 1e-12


@steady
@given(st.data(), st.integers(0, 3))
def test_a_pass_puts_out_one_token_to_one_more_than_drafts(data, drafts):
    target, draft = (data.draw(models(Fraction, 2)) for _ in range(2))
    found = pass_distribution(target, draft, drafts)
    assert sum(found.values()) == 1
    assert 1 <= min(map(len, found)) <= max(map(len, found)) <= drafts + 1


def always(p, q):
    return [1 for _ in q]


def where_likelier(p, q):
    return [int(target >= draft) for target, draft in zip(p, q, strict=True)]


def from_target(p, q):
    return p


def unclipped(p, q):
    excess = [abs(target - draft) for target, draft in zip(p, q, strict=True)]
    return [part / sum(excess) for part in excess]


def not_normalised(p, q):
    return [max(target - draft, 0) for target, draft in zip(p, q, strict=True)]


@pytest.mark.parametrize(
    "rule, error",
    [
        ({"accept": always}, Fraction(1, 3)),
        ({"accept": where_likelier}, Fraction(1, 6)),
        ({"resample": from_target}, Fraction(1, 12)),
        ({"resample": unclipped}, Fraction(1, 6)),
        ({"resample": not_normalised}, Fraction(1, 9)),
    ],
    ids=lambda value: next(iter(value.values())).__name__ if isinstance(value, dict) else str(value),
)
def test_no_part_of_the_rule_can_be_left_out(rule, error):
    """One position of three tokens, one draft: how far each mistake leads from the target."""
    p, q = [HALF, Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 4), Fraction(1, 4), HALF]
    found = output_distribution(lambda _: p, lambda _: q, 1, 1, **rule)
    assert total_variation(found, {(token,): probability for token, probability in enumerate(p)}) == error


def test_drawn_at_random_outputs_have_the_targets_distribution():
    """20,000 outputs: as far from the target as so many drawn from it would be."""
    target = {(): [0.5, 0.3, 0.2], (0,): [0.1, 0.1, 0.8], (1,): [0.6, 0.4, 0.0], (2,): [0.2, 0.5, 0.3]}
    draft = {(): [0.2, 0.2, 0.6], (0,): [0.3, 0.3, 0.4], (1,): [0.1, 0.2, 0.7], (2,): [0.0, 1.0, 0.0]}
    random, count = Random(1), 20_000
    found = dict.fromkeys(alone(target.__getitem__, 3, 2), 0)
    for _ in range(count):
        output = sample_pass(lambda text: target[text[-1:]], lambda text: draft[text[-1:]], 1, random)
        if len(output) == 1:
            output += sample_pass(lambda text: target[text[-1:]], lambda text: draft[text[-1:]], 1, random, output)
        found[output[:2]] += 1 / count
    wanted = alone(lambda text: target[text[-1:]], 3, 2)
    noise = sum(math.sqrt(2 * p * (1 - p) / (math.pi * count)) for p in wanted.values()) / 2
    assert total_variation(found, wanted) < 2 * noise


def test_random_passes_are_as_long_as_enumeration_says():
    random = Random(2)
    lengths = [len(sample_pass(lambda _: FAIR, lambda _: LOADED, 3, random)) for _ in range(20_000)]
    expected = tokens_per_pass(0.75, quantity("3 token")).m_as("token")
    assert sum(lengths) / len(lengths) == pytest.approx(expected, rel=0.01)


# What it gains


@steady
@given(distributions(2), st.integers(0, 4))
def test_the_tokens_of_a_pass_are_those_of_the_enumeration(pair, drafts):
    p, q = pair
    found = pass_distribution(lambda _: p, lambda _: q, drafts)
    mean = sum(len(output) * probability for output, probability in found.items())
    rate = float(acceptance_rate(p, q))
    assert tokens_per_pass(rate, Quantity(drafts, "token")).m_as("token") == pytest.approx(float(mean), rel=1e-12)


@pytest.mark.parametrize("drafts", [0, 1, 7])
def test_at_the_ends_a_pass_puts_out_one_or_all(drafts):
    k = Quantity(drafts, "token")
    assert tokens_per_pass(0, k).m_as("token") == 1
    assert tokens_per_pass(1, k).m_as("token") == drafts + 1


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_near_one_nothing_cancels(gap):
    exact = sum(Fraction(1 - gap) ** i for i in range(9))
    found = tokens_per_pass(1 - gap, quantity("8 token")).m_as("token")
    assert found == pytest.approx(float(exact), rel=1e-14)


@steady
@given(st.floats(0, 1), st.integers(1, 50))
def test_the_share_of_accepted_drafts_is_what_a_pass_puts_out_besides_its_own(acceptance, drafts):
    k = Quantity(drafts, "token")
    share = accepted_share(acceptance, k).m_as("")
    assert share <= acceptance * (1 + 1e-12)
    assert 1 + share * drafts == pytest.approx(tokens_per_pass(acceptance, k).m_as("token"), rel=1e-12)


def test_the_share_of_accepted_drafts_falls_with_every_draft():
    shares = accepted_share(0.8, Quantity(np.arange(1.0, 20), "token")).magnitude
    assert shares[0] == pytest.approx(0.8)
    assert (np.diff(shares) < 0).all()


@steady
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_rates_of_each_position_make_the_mean_length_of_a_pass(conditional):
    rates = np.cumprod(conditional)
    lengths = {j: (rates[j - 1] if j else 1) - (rates[j] if j < len(rates) else 0) for j in range(len(rates) + 1)}
    mean = sum((j + 1) * probability for j, probability in lengths.items())
    assert measured_tokens_per_pass(rates).m_as("token") == pytest.approx(mean, rel=1e-12)


@steady
@given(st.floats(0, 1), st.integers(1, 8))
def test_equal_acceptance_at_each_position_is_the_closed_form(acceptance, drafts):
    rates = np.cumprod([acceptance] * drafts)
    closed = tokens_per_pass(acceptance, Quantity(drafts, "token"))
    assert measured_tokens_per_pass(rates).m_as("token") == pytest.approx(closed.m_as("token"), rel=1e-12)


def test_a_rate_that_rises_counts_drafts_that_were_discarded():
    with pytest.raises(ArgumentError, match="rises from 0 to 1 at position 3"):
        measured_tokens_per_pass([1, 0, 1, 0])


def test_a_draft_that_costs_nothing_gains_the_tokens_of_a_pass():
    assert speedup(0.8, quantity("4 token"), 0).magnitude == pytest.approx(3.3616)
    assert speedup(0.8, quantity("0 token"), 0.5).magnitude == 1


def test_a_draft_that_is_never_right_makes_it_slower():
    assert speedup(0, quantity("4 token"), 0.1).magnitude == pytest.approx(1 / 1.4)


def test_a_pass_that_takes_as_long_as_its_tokens_gains_nothing():
    """Bound by arithmetic, a pass over k + 1 positions takes k + 1 steps: no acceptance makes up for it."""
    assert speedup(1, quantity("4 token"), 0, 5).magnitude == 1
    assert speedup(0.8, quantity("4 token"), 0, 5).magnitude < 1


@pytest.mark.parametrize("function", [tokens_per_pass, accepted_share])
def test_a_probability_above_one_and_part_of_a_draft_are_refused(function):
    with pytest.raises(ArgumentError, match=rf"{function.__name__}: acceptance = 1\.1; wanted at most 1"):
        function(1.1, quantity("4 token"))
    with pytest.raises(ArgumentError, match=r"acceptance = 80; wanted at most 1"):
        function(80, quantity("4 token"))
    with pytest.raises(ArgumentError, match=rf"{function.__name__}: drafts has 0\.5 of a token"):
        function(0.8, quantity("2.5 token"))


def test_a_speedup_refuses_them_too():
    with pytest.raises(ArgumentError, match=r"speedup: acceptance = 1\.1"):
        speedup(1.1, quantity("4 token"), 0.1)
    with pytest.raises(ArgumentError, match="speedup: drafts has"):
        speedup(0.8, quantity("2.5 token"), 0.1)
    with pytest.raises(ArgumentError, match="measured_tokens_per_pass: position_rates = 1.2"):
        measured_tokens_per_pass([1.2, 0.5])


@pytest.mark.parametrize("drafts", [-1, 1.5, True, 2000])
def test_drafts_that_cannot_be_enumerated_are_refused(drafts):
    fair = [0.5, 0.5]
    with pytest.raises(ArgumentError, match="pass_distribution: drafts = .*; wanted a whole number"):
        speculation.pass_distribution(lambda _: fair, lambda _: fair, drafts)


def test_a_draft_that_differs_from_the_target_by_rounding_only():
    """Softmax by two formulas; the last bits differ, and nothing is left to replace."""
    p = [0.4893835677483369, 0.009708001711801665, 0.5009084305398613]
    q = [0.48938356774833697, 0.009708001711801667, 0.5009084305398614]
    found = speculation.pass_distribution(lambda _: p, lambda _: q, 1)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def test_the_last_distribution_of_a_pass_is_checked_too():
    with pytest.raises(ArgumentError, match="target sums to"):
        speculation.pass_distribution(lambda _: [0.5, 0.4], lambda _: [0.5, 0.5], 0)
