"""costlib.cost: what a session costs on either side, and where the two cross."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import cost, queueing
from costlib.arguments import ArgumentError
from costlib.units import Quantity, quantity

steady = settings(derandomize=True, deadline=None, max_examples=60)

shares = st.floats(0, 1)
prices = st.floats(1e-8, 1e-3)
tokens = st.floats(1, 1e9)
times = st.floats(1e-3, 1e6)
rates = st.floats(1e-6, 1e3)
counts = st.integers(1, 512)
margins = st.floats(0, 0.99)


def of(number, unit):
    return Quantity(number, unit)


def close(one, other):
    return math.isclose((one / other).m_as(""), 1, rel_tol=1e-9)


# DeepSeek's own account of a day in February 2025: 608 billion prompt tokens, of which 342 billion from the cache,
# 168 billion output tokens, 226.75 nodes of eight accelerators at 2 USD an hour.
# https://github.com/deepseek-ai/open-infra-index, 202502OpenSourceWeek, day 6
DAY = of(608e9, "token/session"), of(168e9, "token/session")
CARDS = of(2, "USD/accelerator/hour"), of(226.75 * 8, "accelerator")


def test_the_published_revenue_of_a_day():
    list_prices = [quantity(f"{price} USD/Mtoken") for price in (0.55, 0.14, 2.19)]
    revenue = cost.hosted_cost(*DAY, 342 / 608, *list_prices)
    assert revenue.m_as("USD/session") == pytest.approx(562_027, rel=5e-4)  # tokens are printed in billions


def test_the_published_cost_of_a_day():
    spent = cost.self_hosted_cost(*CARDS, of(1, "session/day"))
    assert spent.m_as("USD/session") == pytest.approx(87_072)


def test_the_published_margin_is_one_of_cost():
    price, spent = (cost.cost_per_token(of(total, "USD/session"), *DAY) for total in (562_027, 87_072))
    assert cost.margin_of_cost(price, spent).m_as("percent") == pytest.approx(545, abs=0.6)
    assert cost.margin_of_revenue(price, spent).m_as("percent") == pytest.approx(84.5, abs=0.05)


@steady
@given(tokens, tokens, shares, prices, prices, prices)
def test_a_hosted_session_costs_the_sum_of_its_tokens(prompts, output, hits, fresh, cached, written):
    found = cost.hosted_cost(
        of(prompts, "token/session"),
        of(output, "token/session"),
        hits,
        *(of(price, "USD/token") for price in (fresh, cached, written)),
    )
    apart = prompts * hits * cached + prompts * (1 - hits) * fresh + output * written
    assert found.m_as("USD/session") == pytest.approx(apart, rel=1e-9)


@steady
@given(prices, st.floats(0, 1))
def test_where_a_cached_token_costs_as_any_other_hits_change_nothing(price, hits):
    session = of(1e6, "token/session"), of(1e4, "token/session")
    same = of(price, "USD/token")
    assert close(cost.hosted_cost(*session, hits, same, same, same), cost.hosted_cost(*session, 0, same, same, same))


@steady
@given(rates, times)
def test_the_residency_rate_is_littles_law(rate, lifetime):
    held = queueing.number_in_system(of(rate, "session/second"), of(lifetime, "second"))
    assert close(cost.residency_rate(held, of(lifetime, "second")), of(rate, "session/second"))


@steady
@given(tokens, tokens, shares, st.floats(1e-7, 1e-2), st.floats(1e-6, 1))
def test_work_at_the_processing_rate_takes_all_the_time(prompts, output, hits, prefill, decode):
    session = of(prompts, "token/session"), of(output, "token/session")
    rate = cost.processing_rate(*session, hits, of(prefill, "second/token"), of(decode, "second/token"))
    busy = rate.m_as("session/second") * (prompts * (1 - hits) * prefill + output * decode)
    assert busy == pytest.approx(1, rel=1e-9)


def test_with_every_prompt_token_in_the_cache_only_the_output_takes_time():
    session = of(1e6, "token/session"), of(100, "token/session")
    rate = cost.processing_rate(*session, 1, of(1, "second/token"), of(0.5, "second/token"))
    assert rate.m_as("session/second") == pytest.approx(1 / 50)


@steady
@given(rates, rates, st.floats(0.01, 1))
def test_the_rate_is_the_lesser_times_utilisation(memory, compute, utilisation):
    rate = cost.session_rate(of(memory, "session/second"), of(compute, "session/second"), utilisation)
    assert rate.m_as("session/second") == pytest.approx(utilisation * min(memory, compute))


@steady
@given(prices, counts, st.floats(1e-6, 1e4))
def test_at_the_break_even_rate_both_sides_cost_the_same(hire, count, hosted):
    cards = of(hire * 1e6, "USD/accelerator/hour"), of(count, "accelerator")
    bill = of(hosted, "USD/session")
    assert close(cost.self_hosted_cost(*cards, cost.break_even_rate(*cards, bill)), bill)


@steady
@given(rates, st.floats(0.01, 0.5))
def test_half_the_sessions_cost_twice_as_much_each(rate, utilisation):
    def each(u):
        bound = of(rate, "session/second")
        return cost.self_hosted_cost(*CARDS, cost.session_rate(bound, bound, u))

    assert close(each(utilisation), 2 * each(2 * utilisation))


@steady
@given(prices, st.floats(1, 1e9), counts, prices)
def test_held_for_the_break_even_interval_a_token_costs_what_the_host_charges(hire, held, count, cached):
    holding = cost.holding_cost(of(hire * 1e6, "USD/accelerator/hour"), of(count, "accelerator"), of(held, "token"))
    interval = cost.break_even_interval(of(cached, "USD/token"), holding)
    assert close(holding * interval, of(cached, "USD/token"))


@steady
@given(prices, margins)
def test_a_price_has_the_margin_that_it_was_made_with(spent, margin):
    spent = of(spent, "USD/token")
    of_revenue = cost.price_with_margin_of_revenue(spent, margin)
    of_cost = cost.price_with_margin_of_cost(spent, margin)
    assert cost.margin_of_revenue(of_revenue, spent).m_as("") == pytest.approx(margin, abs=1e-9)
    assert cost.margin_of_cost(of_cost, spent).m_as("") == pytest.approx(margin, abs=1e-9)
    assert of_revenue >= of_cost  # 1 / (1 - m) is no less than 1 + m


@steady
@given(prices, prices)
def test_the_two_margins_are_of_the_same_money(price, spent):
    price, spent = of(price, "USD/token"), of(spent, "USD/token")
    of_revenue, of_cost = cost.margin_of_revenue(price, spent), cost.margin_of_cost(price, spent)
    assert (of_revenue * price).m_as("USD/token") == pytest.approx((of_cost * spent).m_as("USD/token"), abs=1e-18)


def test_a_price_below_the_cost_has_a_negative_margin():
    price, spent = quantity("1 USD/Mtoken"), quantity("2 USD/Mtoken")
    assert cost.margin_of_revenue(price, spent).m_as("") == -1
    assert cost.margin_of_cost(price, spent).m_as("") == -0.5


def test_what_is_no_share_is_refused():
    session = of(1e6, "token/session"), of(1e4, "token/session")
    price, time, rate = quantity("1 USD/Mtoken"), of(1e-4, "second/token"), of(1, "session/second")
    with pytest.raises(ArgumentError, match="hosted_cost: hits = 1.1; wanted a share of at most 1"):
        cost.hosted_cost(*session, 1.1, price, price, price)
    with pytest.raises(ArgumentError, match="processing_rate: hits = 1.1"):
        cost.processing_rate(*session, 1.1, time, time)
    with pytest.raises(ArgumentError, match="session_rate: utilisation = 2"):
        cost.session_rate(rate, rate, 2)
    with pytest.raises(ArgumentError, match="price_with_margin_of_revenue: margin = 1.0; wanted .* less than 1"):
        cost.price_with_margin_of_revenue(price, 1)
