"""costlib.schema: tables in, parts or a clear refusal out."""

import dataclasses
import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.hardware import Accelerator, Price
from costlib.model import Model
from costlib.schema import InputError, Origin, Part, build, choice, nearest, parts, read, size
from costlib.units import Quantity, quantity

steady = settings(derandomize=True, deadline=None, max_examples=200)


@dataclass(frozen=True, kw_only=True)
class Wheel:
    spokes: Quantity = size("element", 1, 100, "spokes")


@dataclass(frozen=True, kw_only=True)
class Cart(Part):
    load: Quantity = size("byte", "1 GB", "1 TB", "what it carries")
    layers: Quantity = size("layer", 1, 1000, "layers")
    share: Quantity | None = size("", 0, 1, "share", optional=True)
    wheels: tuple[Wheel, ...] = parts(Wheel, "wheels")
    colour: str = choice(("red", "green"), "colour")


GOOD = {"title": "a cart", "load": "80 GB", "layers": 4, "wheels": [{"spokes": "8 element"}], "colour": "red"}


def refusal(table, make=build):
    with pytest.raises(InputError) as error:
        make(Cart, table, "cart.toml [cart]")
    return str(error.value)


# What is read


def test_a_complete_table_becomes_a_part():
    cart = build(Cart, GOOD, "here")
    assert (cart.title, cart.load, cart.layers, cart.colour) == (
        "a cart",
        quantity("80 GB"),
        quantity("4 layer"),
        "red",
    )
    assert cart.wheels == (Wheel(spokes=quantity("8 element")),)


def test_an_optional_value_left_out_is_none():
    assert build(Cart, GOOD, "here").share is None


def test_a_part_remembers_where_its_values_come_from():
    origin = {"load": Origin(title="a data sheet")}
    assert build(Cart, GOOD, "here", origin).origin == origin


def test_two_parts_of_equal_values_are_equal_wherever_they_come_from():
    assert build(Cart, GOOD, "here", {"load": Origin(title="a data sheet")}) == build(Cart, GOOD, "here")


def test_a_part_of_a_table_gives_only_its_own_values():
    assert read(Cart, {"load": "2 GB"}, "here") == {"load": quantity("2 GB")}


@pytest.mark.parametrize("given", [80, 80.0, "80", "80 layer", "80 layers", "0.08 klayer"])
def test_a_count_may_be_bare_or_a_quantity(given):
    assert read(Cart, {"layers": given}, "here")["layers"] == quantity("80 layer")


@pytest.mark.parametrize("thousandths", [1001, 1003, 2507, 8030, 70_553])
def test_billions_with_three_decimals_are_whole(thousandths):
    """1.001e9 is not, quite, 1.001 times 1e9."""
    for text in (f"{thousandths / 1000} billion parameters", f"{thousandths / 1000} Gparameter"):
        value = read(Model, {"parameters": text}, "here")["parameters"]
        assert value.m_as("parameter") == pytest.approx(thousandths * 1e6)


@pytest.mark.parametrize("given", [0, 1, "20 %", 0.5])
def test_a_share_may_be_bare_or_a_percentage(given):
    assert 0 <= read(Cart, {"share": given}, "here")["share"].m_as("") <= 1


def test_the_limits_themselves_are_allowed():
    assert read(Cart, {"load": "1 GB", "layers": 1000}, "here")["load"] == quantity("1 GB")
    assert read(Price, {"input": "$0 per million tokens"}, "here")["input"].magnitude == 0


# What is refused


@pytest.mark.parametrize(
    "key, given, words",
    [
        ("load", "80", ["'80' has no unit", "from 1 GB to 1 TB"]),
        ("load", 80, ["80 has no unit", "from 1 GB to 1 TB"]),
        ("load", "80 token", ["'80 token' is in token", "from 1 GB to 1 TB"]),
        ("load", "80 Gb", ["no unit 'Gb'; nearest: GB", "from 1 GB to 1 TB"]),
        ("load", "3,35 GB", ["comma", "from 1 GB to 1 TB"]),
        ("load", "many", ["'many'", "from 1 GB to 1 TB"]),
        ("load", "-80 GB", ["'-80 GB'", "from 1 GB to 1 TB"]),
        ("load", "80 PB", ["'80 PB'", "from 1 GB to 1 TB"]),
        ("load", "0 GB", ["'0 GB'", "from 1 GB to 1 TB"]),
        ("load", ["80 GB"], ["['80 GB']", "from 1 GB to 1 TB"]),
        ("load", {}, ["{}", "from 1 GB to 1 TB"]),
        ("load", None, ["None", "from 1 GB to 1 TB"]),
        ("layers", True, ["True", "from 1 layer to 1,000 layers"]),
        ("layers", 1.5, ["1.5", "a whole number", "from 1 layer to 1,000 layers"]),
        ("layers", "0.0015 klayer", ["a whole number"]),
        ("layers", 0, ["0", "from 1 layer to 1,000 layers"]),
        ("layers", math.nan, ["nan", "from 1 layer to 1,000 layers"]),
        ("layers", math.inf, ["inf", "from 1 layer to 1,000 layers"]),
        ("layers", 10**400, ["too large", "from 1 layer to 1,000 layers"]),
        ("layers", "4 head", ["'4 head' is in head", "from 1 layer to 1,000 layers"]),
        ("share", 1.01, ["1.01", "from 0 to 1"]),
        ("share", "5 token", ["is in token", "from 0 to 1"]),
        ("colour", "blue", ["'blue'", "red or green"]),
        ("colour", 3, ["3", "red or green"]),
        ("title", "", ["''", "a text"]),
        ("title", 7, ["7", "a text"]),
        ("wheels", [], ["[]", "as [[...]] tables"]),
        ("wheels", "round", ["'round'", "as [[...]] tables"]),
        ("wheels", {"spokes": 8}, ["{'spokes': 8}", "as [[...]] tables"]),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_place_key_given_and_wanted(key, given, words):
    message = refusal(GOOD | {key: given})
    assert message.startswith(f"cart.toml [cart] {key}")
    assert "; wanted " in message
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    "table, key", [({"spokes": "8 token"}, "spokes"), ({"spoke": 8}, "'spoke'"), ({}, "spokes is missing"), (3, "3")]
)
def test_a_fault_in_an_inner_table_names_which_one(table, key):
    message = refusal(GOOD | {"wheels": [{"spokes": "8 element"}, table]})
    assert message.startswith("cart.toml [cart] wheels[2]")
    assert key in message


def test_an_unknown_key_is_refused_with_the_nearest_and_all_valid_ones():
    assert refusal(GOOD | {"laod": "80 GB"}) == (
        "cart.toml [cart]: unknown key 'laod'; did you mean 'load'? Valid: colour, layers, load, share, title, wheels"
    )


def test_an_origin_is_not_a_key():
    assert "unknown key 'origin'" in refusal(GOOD | {"origin": {}})


@pytest.mark.parametrize("key", ["title", "load", "layers", "wheels", "colour"])
def test_a_missing_value_is_named_with_what_is_wanted(key):
    message = refusal({name: value for name, value in GOOD.items() if name != key})
    assert message.startswith(f"cart.toml [cart]: {key} is missing; wanted ")
    assert not message.endswith("wanted ")


@pytest.mark.parametrize("table", ["a cart", 3, None, ["a"], True])
def test_what_is_no_table_is_refused(table):
    assert "wanted a table" in refusal(table)


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


def test_what_is_far_from_every_name_is_near_to_none():
    assert nearest("xyzzy", ["load", "layers"]) == "Valid: layers, load"


# Any table

words = st.sampled_from(
    ["80 GB", "1,979 TOPS", "3.35 TB/s", "3,35 TB/s", "8", "-1", "16-bit", "nan", "1e999 s", "8 token", "", "%", "$"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def junk(cls):
    """Tables whose keys are those of a part, or nearly, or anything."""
    keys = st.sampled_from([f.name for f in dataclasses.fields(cls)] + ["window", "layers", "from"]) | st.text(
        max_size=8
    )
    return st.dictionaries(keys, values, max_size=6)


@steady
@given(
    st.sampled_from([Cart, Model, Accelerator, Price]).flatmap(lambda cls: st.tuples(st.just(cls), junk(cls) | values))
)
def test_any_table_gives_a_part_or_an_input_error(case):
    cls, table = case
    try:
        assert isinstance(build(cls, table, "here"), cls)
    except InputError as error:
        assert str(error).startswith("here")


@steady
@given(st.sampled_from(list(GOOD)), values)
def test_any_value_in_a_good_table_gives_a_part_or_an_input_error(key, value):
    try:
        assert isinstance(build(Cart, GOOD | {key: value}, "here"), Cart)
    except InputError as error:
        assert str(error).startswith(f"here {key}")
