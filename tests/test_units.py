"""costlib.units: what is read, what is refused, and how a quantity is printed."""

import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pint
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from costlib.units import Quantity, UnitError, maximum, minimum, quantity, show, significant, ureg

steady = settings(derandomize=True, deadline=None, max_examples=150)

PARSERS = [quantity, ureg, Quantity]
parsed_by_all = pytest.mark.parametrize("parse", PARSERS, ids=["quantity", "ureg", "Quantity"])


# What is refused


@parsed_by_all
@pytest.mark.parametrize("text", ["1 Gb", "1 b", "1 KB", "1 Kb", "1 M", "1 Mb/s", "1 m", "1 Hz", "1 foo"])
def test_a_unit_of_another_trade_is_refused(parse, text):
    """pint's own list has a gilbert, a barn and a molar under the first names (pint 0.25.3, default_en.txt)."""
    with pytest.raises((UnitError, pint.UndefinedUnitError)):
        parse(text)


@pytest.mark.parametrize(
    "text, nearest",
    [
        ("1 Gb", ["GB", "Gbit", "GiB"]),
        ("1 b", ["B"]),
        ("1 KB", ["kB", "KiB"]),
        ("1 M", ["MB"]),
        ("1 Mb/s", ["MB", "Mbit"]),
        ("1 gb", ["GB", "Gbit"]),
        ("1 GIB", ["GiB"]),
        ("1 tok/s", ["token"]),
    ],
)
def test_the_refusal_names_the_text_and_the_nearest_units(text, nearest):
    with pytest.raises(UnitError) as refusal:
        quantity(text)
    message = str(refusal.value)
    hints = message.partition("nearest: ")[2].split(", ")
    assert repr(text) in message
    assert set(nearest) <= set(hints)


@parsed_by_all
@pytest.mark.parametrize("text", ["3,35 TB/s", "3.350,5 TB/s", "1,9790 TOPS", "0,500 TB/s", "1,2,3 s", "1,979,5 TOPS"])
def test_a_comma_that_does_not_group_thousands_is_refused(parse, text):
    with pytest.raises(UnitError, match="comma"):
        parse(text)


@parsed_by_all
@pytest.mark.parametrize("text, value", [("1,979 TOPS", 1979), ("12,345,678 TOPS", 12345678), ("1,979.5 TOPS", 1979.5)])
def test_a_comma_may_group_thousands(parse, text, value):
    assert parse(text).m_as("Top/s") == value


@pytest.mark.parametrize(
    "text", ["", " ", "GB", "nan token", "inf token", "1e400 s", "1.2.3 s", "3 35 TB/s", "5 * 2 s", "1/2 s"]
)
def test_what_is_not_one_number_and_one_unit_is_refused(text):
    with pytest.raises(UnitError):
        quantity(text)


# What is not the same


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("1 byte", ""),
        ("1 byte/token", "byte"),
        ("1 token", ""),
        ("1 token/s", "1/s"),
        ("1 token/s", "op/s"),
        ("1 sequence", "token"),
        ("1 head", "layer"),
        ("1 op", ""),
        ("1 TFLOP", "TFLOPS"),
        ("1 USD", ""),
        ("1 accelerator", "node"),
        ("1 expert", "parameter"),
        ("1 B/element", "B/parameter"),
    ],
)
def test_one_dimension_does_not_become_another(given, wanted):
    """In pint's registry a byte is the number 8 and byte/token is in bytes (github.com/hgrecco/pint/issues/185)."""
    with pytest.raises(pint.DimensionalityError):
        quantity(given).to(wanted)


def test_a_byte_is_not_added_to_a_number():
    with pytest.raises(pint.DimensionalityError):
        quantity("1 byte") + 1


@pytest.mark.parametrize(
    "one, other",
    [
        ("8 bit", "1 byte"),
        ("1 Gbit/s", "125 MB/s"),
        ("1 Gbps", "125 MB/s"),
        ("1 TOPS", "1 Top/s"),
        ("1 TFLOPS", "1 Top/s"),
        ("1 trajectory", "1 sequence"),
        ("1 session", "1 stream"),
        ("1 kB", "1000 B"),
        ("1 KiB", "1024 B"),
        ("70.6 billion parameters", "70.6 Gparameter"),
        ("$0.55 per million tokens", "0.55 USD/Mtoken"),
        ("$ 0.55 / Mtoken", "0.55 USD/Mtoken"),
        ("$3 per hour per accelerator", "3 USD/hour/accelerator"),
        ("1000 µs", "1 ms"),
        ("1 hour", "60 min"),
        ("20 %", "0.2"),
        ("5 thousand tokens", "5000 token"),
        ("-5 GB", "-5e9 B"),
    ],
)
def test_two_spellings_of_one_quantity_agree(one, other):
    assert math.isclose((quantity(one) / quantity(other)).m_as(""), 1, rel_tol=1e-12)


# GB and GiB


def test_a_ratio_of_gb_and_gib_is_a_plain_number_at_once():
    """pint leaves 1.0 GB/GiB until it is told to reduce."""
    assert (quantity("16 GB") / quantity("16 GiB")).magnitude == pytest.approx(0.931323, rel=1e-6)


_products = st.lists(
    st.tuples(
        st.sampled_from("GB GiB byte bit token ktoken s ms hour op parameter percent".split()), st.integers(-2, 2)
    ),
    min_size=1,
    max_size=5,
)


@steady
@example([("ktoken", 2), ("token", 2)], 1.0)  # equal units, in two orders: each order keeps its own
@example([("token", 2), ("ktoken", 2)], 1.0)
@given(_products, st.floats(0.1, 1e6))
def test_a_product_is_reduced_as_pint_itself_reduces_it(factors, number):
    """The units that remain are remembered; the number is to be the same to the last bit, also the second time."""
    units = Quantity(number, "")._units
    for unit, power in factors:
        units = units * Quantity(1, unit)._units ** power
    ours, again, pints = (Quantity(number, units) for _ in range(3))
    ours.ito_reduced_units()
    again.ito_reduced_units()
    pint.UnitRegistry.Quantity.ito_reduced_units(pints)
    assert (ours.magnitude, ours.units) == (again.magnitude, again.units) == (pints.magnitude, pints.units)


@pytest.mark.parametrize("label, decimal, binary", [("65248815744 B", 65.25, 60.77), ("5000000 B", 0.005, 0.00465661)])
def test_a_size_in_gb_is_not_its_size_in_gib(label, decimal, binary):
    """65248815744 bytes, printed as "60.77 GB": github.com/alvarobartt/hf-mem/issues/33."""
    size = quantity(label)
    assert size.m_as("GB") == pytest.approx(decimal, rel=1e-4)
    assert size.m_as("GiB") == pytest.approx(binary, rel=1e-4)


def test_a_megabyte_is_decimal():
    """Libraries that took it as 2**20: github.com/qudt/qudt-public-repo/issues/586, github.com/llnl/units/pull/4."""
    assert quantity("5000000 B").m_as("MB") == 5
    assert quantity("5000000 B").m_as("MiB") == pytest.approx(4.768372, rel=1e-6)


# Formats


@pytest.mark.parametrize(
    "text, spec, printed", [("0.2", ".0%", "20%"), ("20 %", ".1%", "20.0%"), ("1 ms/s", ".2%", "0.10%")]
)
def test_a_percent_format_prints_nothing_but_the_percentage(text, spec, printed):
    """pint alone prints "20.0% dimensionless"."""
    assert format(quantity(text), spec) == printed


def test_a_percentage_read_is_a_share_not_a_remainder():
    """Old versions of pint took "%" for Python's modulo: github.com/hgrecco/pint/issues/857."""
    assert ureg("0.1%").m_as("") == pytest.approx(0.001)


def test_another_format_prints_the_unit():
    assert f"{quantity('3.25 TB/s'):.2f~P}" == "3.25 TB/s"


# Another process


@pytest.mark.parametrize("magnitude", [3, 2.5, [1.0, 2.0, 4.0]], ids=["integer", "float", "array"])
@pytest.mark.parametrize("unit", ["token", "byte/token", "USD/Mtoken", "GiB"])
def test_a_pickled_quantity_loads_where_costlib_was_never_imported(magnitude, unit):
    """pint alone looks the unit up in the other process's own registry: github.com/hgrecco/pint/issues/725."""
    value = Quantity(np.array(magnitude) if isinstance(magnitude, list) else magnitude, unit)
    code = (
        "import json, pickle, sys\n"
        "assert 'costlib' not in sys.modules\n"
        "value = pickle.loads(sys.stdin.buffer.read())\n"
        "number = value.m.tolist() if hasattr(value.m, 'tolist') else value.m\n"
        "print(json.dumps([isinstance(value, sys.modules['costlib.units'].Quantity), number, str(value.u)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(value), capture_output=True, check=True)
    assert json.loads(done.stdout) == [True, magnitude, str(value.units)]


def test_a_pickled_quantity_joins_those_of_this_process():
    assert pickle.loads(pickle.dumps(quantity("1 GiB"))) + quantity("1 GiB") == quantity("2 GiB")


# Printing


@pytest.mark.parametrize(
    "text, unit, digits, printed",
    [
        ("107727 token", None, 3, "108,000 tokens"),
        ("107727 token", None, 6, "107,727 tokens"),
        ("1 token", None, 3, "1 token"),
        ("1.004 token", None, 3, "1.00 tokens"),
        ("0 token", None, 3, "0 tokens"),
        ("0.0210746 s/token", "ms/token", 3, "21.1 ms/token"),
        ("70.6e9 parameter", "Gparameter", 3, "70.6 billion parameters"),
        ("1e9 parameter", "Gparameter", 3, "1 billion parameters"),
        ("720 trajectory", None, 3, "720 trajectories"),
        ("3 session", None, 3, "3 sessions"),
        ("48 sequence", None, 3, "48 sequences"),
        ("0.55 USD/Mtoken", None, 3, "0.55 USD per million tokens"),
        ("2560 token/s", None, 3, "2,560 tokens/s"),
        ("1979 Top/s", None, 3, "1,980 Top/s"),
        ("590.746 op/byte", None, 3, "591 op/B"),
        ("214.748 GB*s", None, 3, "215 GB·s"),
        ("0.1 %", None, 3, "0.1 %"),
        ("15", None, 3, "15"),
        ("327680 B/token", None, 3, "328,000 B/token"),
        ("327680 B/token", None, 5, "327,680 B/token"),
        ("9.996 s", None, 3, "10.0 s"),
        ("0.00012345 s", None, 3, "0.000123 s"),
        ("-5.554 GB", None, 3, "-5.55 GB"),
        ("-0 %", None, 3, "0 %"),
    ],
)
def test_a_quantity_is_printed_for_a_reader(text, unit, digits, printed):
    assert show(quantity(text), unit, digits) == printed


@pytest.mark.parametrize("value, printed", [(math.inf, "∞ tokens"), (-math.inf, "−∞ tokens"), (-0.0, "0 tokens")])
def test_infinity_is_printed_with_its_sign_and_zero_without(value, printed):
    assert show(Quantity(value, "token")) == printed


def test_a_text_is_printed_as_it_is():
    assert show("does not fit") == "does not fit"


def test_nothing_is_printed_in_a_unit_of_another_dimension():
    with pytest.raises(pint.DimensionalityError):
        show(quantity("1 token"), "GB")


numbers = st.floats(min_value=1e-6, max_value=1e15)
units = st.sampled_from(
    [
        "B",
        "GB",
        "GiB",
        "TB/s",
        "Gbit/s",
        "token",
        "token/s",
        "s/token",
        "ms/token",
        "Mtoken",
        "Gparameter",
        "B/parameter",
        "B/token",
        "byte/element",
        "layer",
        "head",
        "channel",
        "channel/head",
        "expert",
        "expert/token",
        "Top",
        "Gop/token",
        "Top/s",
        "op/B",
        "USD",
        "USD/Mtoken",
        "USD/hour/accelerator",
        "sequence",
        "trajectory",
        "node",
        "accelerator",
        "token/s/sequence",
        "%",
        "s",
        "ms",
        "µs",
        "hour",
        "GB*s",
    ]  # fmt: skip
)


@steady
@given(numbers, units, st.integers(1, 15))
def test_what_is_printed_can_be_read_again(number, unit, digits):
    value = Quantity(number, unit)
    assert quantity(show(value, digits=digits)).is_compatible_with(value)


@steady
@given(numbers, units, st.integers(1, 15))
def test_what_is_printed_is_within_half_a_unit_of_its_last_digit(number, unit, digits):
    value = Quantity(number, unit)
    printed = quantity(show(value, digits=digits)).m_as(value.units)
    last_digit = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    assert abs(printed - number) <= 0.5 * last_digit * (1 + 1e-6) + 1e-12 * number


@steady
@given(st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) > 1e-12), st.integers(1, 15))
def test_rounding_changes_no_number_by_more_than_half_a_digit(number, digits):
    rounded = float(significant(number, digits).replace(",", ""))
    last_digit = 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1) if number else 0
    assert abs(rounded - number) <= 0.5 * last_digit * (1 + 1e-6) + 1e-15 * abs(number)


@steady
@given(st.integers(0, 10**15 - 1).filter(lambda n: n % 1000))
def test_a_whole_number_shown_with_all_its_digits_is_exact(number):
    assert int(significant(number, 15).replace(",", "")) == number


@steady
@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_one_kind_of_error(text):
    try:
        assert isinstance(quantity(text), Quantity)
    except UnitError as error:
        assert str(error)


# The larger and the smaller


def test_the_larger_of_two_is_found_across_units():
    assert maximum(quantity("1 GB"), quantity("1 GiB")) == quantity("1 GiB")
    assert minimum(quantity("1 GB"), quantity("1 GiB")) == quantity("1 GB")


def test_the_larger_is_found_element_by_element():
    array = Quantity(np.array([1.0, 3.0]), "GB")
    assert maximum(array, quantity("2000 MB")).m_as("GB").tolist() == [2, 3]
    assert minimum(quantity("2000 MB"), array).m_as("GB").tolist() == [1, 2]


def test_two_dimensions_have_no_larger_one():
    with pytest.raises(pint.DimensionalityError):
        maximum(quantity("1 GB"), quantity("1 token"))
    with pytest.raises(pint.DimensionalityError):
        minimum(Quantity(np.array([1.0]), "GB"), quantity("1 token"))


@pytest.mark.parametrize(
    "text",
    ["80 GB?", "80 ≈ GB", "80 $ GB", "80 GB<1", "80 GB # x", "100 £ GB", "5 B #/s", "$1/1 Mtoken", "80 mB", "3 mT/s"],
)
def test_a_character_or_prefix_that_means_nothing_here_is_not_dropped(text):
    with pytest.raises(UnitError):
        quantity(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("3.35 TBps", "3.35 TB/s"),
        ("4.8 TB/sec", "4.8 TB/s"),
        ("4.8 terabytes per second", "4.8 TB/s"),
        ("$2.19 / M tokens", "2.19 USD/Mtoken"),
        ("$2.19 per million tokens", "2.19 USD/Mtoken"),
        ("400 Gbps", "400 Gbit/s"),
    ],
)
def test_common_spellings_are_read(text, same):
    assert quantity(text) == quantity(same)


def test_a_quantity_of_another_registry_is_not_printed_as_ours():
    with pytest.raises(UnitError, match="another unit registry"):
        show(pint.UnitRegistry().Quantity(80, "GB"))
