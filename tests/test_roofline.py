"""costlib.roofline: stated values, limits and identities."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.roofline import attainable_rate, execution_time, ridge_point
from costlib.units import Quantity, quantity, show

steady = settings(derandomize=True, deadline=None, max_examples=60)

PEAK, BANDWIDTH = quantity("1979 Top/s"), quantity("3.35 TB/s")  # of an H100 SXM, 8 bits, dense

rates = st.floats(1e9, 1e18).map(lambda x: Quantity(x, "operation/second"))
bandwidths = st.floats(1e6, 1e15).map(lambda x: Quantity(x, "byte/second"))
intensities = st.floats(1e-3, 1e6).map(lambda x: Quantity(x, "operation/byte"))
works = st.floats(0, 1e18).map(lambda x: Quantity(x, "operation"))
traffics = st.floats(0, 1e15).map(lambda x: Quantity(x, "byte"))


def test_the_ridge_point_of_the_reference_accelerator_is_591():
    assert show(ridge_point(PEAK, BANDWIDTH)) == "591 op/B"
    assert ridge_point(PEAK, BANDWIDTH).magnitude == pytest.approx(590.746, abs=5e-4)


def test_decode_of_one_stream_has_a_third_of_a_percent_of_the_ridge_intensity():
    assert f"{quantity('2 op/B') / ridge_point(PEAK, BANDWIDTH):.4%}" == "0.3386%"


@steady
@given(intensities, rates, bandwidths)
def test_the_attainable_rate_exceeds_neither_limit(intensity, peak, bandwidth):
    rate = attainable_rate(intensity, peak, bandwidth)
    assert rate <= peak
    assert rate <= intensity * bandwidth


@steady
@given(intensities, rates, bandwidths)
def test_the_attainable_rate_reaches_one_of_the_limits(intensity, peak, bandwidth):
    assert attainable_rate(intensity, peak, bandwidth) in (peak, (intensity * bandwidth).to("operation/second"))


@steady
@given(rates, bandwidths, st.floats(1e-9, 1e-3))
def test_the_attainable_rate_is_continuous_at_the_ridge(peak, bandwidth, step):
    ridge = ridge_point(peak, bandwidth)
    below, above = (attainable_rate(ridge * (1 + side), peak, bandwidth) for side in (-step, step))
    assert above.magnitude == pytest.approx(peak.magnitude, rel=1e-12)
    assert below.magnitude == pytest.approx(peak.magnitude * (1 - step), rel=1e-12)


@steady
@given(rates, bandwidths, st.floats(1.01, 1e3))
def test_the_ridge_is_where_memory_stops_being_the_limit(peak, bandwidth, factor):
    ridge = ridge_point(peak, bandwidth)
    assert attainable_rate(ridge / factor, peak, bandwidth) < peak
    assert attainable_rate(ridge * factor, peak, bandwidth) == peak


@steady
@given(works, traffics, rates, bandwidths)
def test_a_computation_takes_as_long_as_the_slower_of_its_two_parts(work, traffic, peak, bandwidth):
    time = execution_time(work, traffic, peak, bandwidth)
    assert time == max(
        execution_time(work, 0 * traffic, peak, bandwidth), execution_time(0 * work, traffic, peak, bandwidth)
    )


@steady
@given(works.filter(lambda w: w.magnitude > 1), traffics.filter(lambda q: q.magnitude > 1e-3), rates, bandwidths)
def test_work_over_time_is_the_attainable_rate(work, traffic, peak, bandwidth):
    reached = work / execution_time(work, traffic, peak, bandwidth)
    assert reached.m_as("operation/second") == pytest.approx(
        attainable_rate(work / traffic, peak, bandwidth).magnitude, rel=1e-9
    )


def test_nothing_to_do_takes_no_time():
    assert execution_time(quantity("0 op"), quantity("0 B"), PEAK, BANDWIDTH) == quantity("0 s")
