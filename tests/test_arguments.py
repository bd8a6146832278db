"""costlib.arguments, and through it every argument of every public function."""

import functools
import importlib
import inspect
import math
import pkgutil
import re

import numpy as np
import pint
import pytest
from numpydoc.docscrape import FunctionDoc

import costlib
from costlib import roofline, serving
from costlib.arguments import ArgumentError, takes
from costlib.units import Quantity, quantity

# A value of each unit that the functions accept together: more parameters than
# active ones, more experts than chosen.
SAMPLES = {
    "": 2,
    "USD/accelerator/hour": 4,
    "USD/session": 0.4,
    "USD/token": 5e-7,
    "USD/token/hour": 4e-5,
    "accelerator": 8,
    "bit/element": 8,
    "byte": 1e9,
    "byte/element": 2,
    "byte/parameter": 1,
    "byte/second": 3e12,
    "byte/token": 3e5,
    "channel": 8192,
    "channel/head": 128,
    "element": 32,
    "expert": 64,
    "expert/token": 4,
    "head": 8,
    "layer": 80,
    "operation": 1e13,
    "operation/byte": 100,
    "operation/second": 2e15,
    "operation/token": 1.4e11,
    "parameter": 7e10,
    "second": 0.02,
    "second/token": 2e-5,
    "sequence": 64,
    "sequence/second": 2,
    "session": 64,
    "session/second": 2,
    "token": 3000,
    "token/second/sequence": 40,
    "token/session": 30_000,
}
NAMED = {  # where the unit leaves too much open
    **{"utilisation": 0.3, "load": 4, "servers": 40, "block": 30},
    **{"acceptance": 0.4, "position_rates": 0.4, "states": 512},
    **{"longer_context": 9000, "longer_state": 3e9},
    **{"hits": 0.3, "margin": 0.3, "chosen_from": 1e10},
}

FOREIGN = pint.UnitRegistry()  # pint's own, with which costlib's cannot be mixed


def public_functions():
    """Every decorated function of every module but the book's and the catalog's."""
    for module in pkgutil.iter_modules(costlib.__path__):
        if module.name in ("book", "catalog", "__main__"):
            continue
        module = importlib.import_module(f"costlib.{module.name}")
        for name in getattr(module, "__all__", ()):
            if inspect.isfunction(getattr(module, name)) and hasattr(getattr(module, name), "units"):
                yield getattr(module, name)


FUNCTIONS = list(public_functions())
ARGUMENTS = [(function, name) for function in FUNCTIONS for name in function.units]
each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
each_argument = pytest.mark.parametrize(
    "function, name", ARGUMENTS, ids=[f"{function.__name__}-{name}" for function, name in ARGUMENTS]
)


def sample_of(function, name):
    return NAMED.get(name, SAMPLES[function.units[name]])


def samples(function, **changed):
    return {name: Quantity(sample_of(function, name), unit) for name, unit in function.units.items()} | changed


def other_dimension(unit):
    return "token" if unit != "token" else "byte"


@functools.cache
def described(function, name):
    """What the docstring says of an argument."""
    return " ".join(next(" ".join(p.desc) for p in FunctionDoc(function)["Parameters"] if p.name == name).split())


def may_be_negative(function, name):
    return "negative" in described(function, name)


def may_be_zero(function, name):
    return bool(re.search("zero allowed|zero for|none by default|negative", described(function, name)))


def unusable(function, name):
    """Values that this argument must not have, by what is wrong with them."""
    unit, sample = function.units[name], sample_of(function, name)
    optional = inspect.signature(function).parameters[name].default is None
    yield "another dimension", Quantity(sample, other_dimension(unit))
    yield "NaN", Quantity(math.nan, unit)
    yield "infinity", Quantity(math.inf, unit)
    yield "minus infinity", Quantity(-math.inf, unit)
    yield "a text", f"{sample} {unit}"
    yield "bytes", b"1"
    yield "a bool", True
    yield "an array of bools", Quantity(np.array([True, True]), unit)
    yield "a complex number", Quantity(sample + 0j, unit)
    yield "complex numbers", Quantity(np.array([sample + 0j, sample]), unit)
    yield "texts", ["a", "b"]
    yield "objects", [None, None]
    yield "a table", {}
    yield "rows of two lengths", [[1], [1, 2]]
    yield "a number beyond all floats", Quantity(10**400, unit)
    yield "a quantity of another registry", FOREIGN.Quantity(5, "second")
    yield "quantities of another registry", FOREIGN.Quantity([5.0, 6.0], "")
    yield "an array with a NaN", Quantity(np.array([sample, math.nan, sample]), unit)
    yield "an array with an infinity", Quantity(np.array([sample, math.inf]), unit)
    yield "an empty array", Quantity(np.array([]), unit)
    if not optional:
        yield "nothing", None
    if unit:
        yield "a bare number", sample
        yield "bare numbers", np.array([sample, sample])
    else:
        yield "a bare negative number", -1
        yield "a bare NaN", math.nan
    if not may_be_negative(function, name):
        yield "a negative", Quantity(-sample, unit)
        yield "the least negative", Quantity(-5e-324, unit)
        yield "an array with a negative", Quantity(np.array([sample, -sample]), unit)
    if not may_be_zero(function, name):
        yield "zero", Quantity(0, unit)
        yield "an array with a zero", Quantity(np.array([0, sample]), unit)


CASES = [(function, name, wrong, value) for function, name in ARGUMENTS for wrong, value in unusable(function, name)]


@pytest.mark.parametrize(
    "function, name, value",
    [(function, name, value) for function, name, _, value in CASES],
    ids=[f"{function.__name__}-{name}-{wrong}" for function, name, wrong, _ in CASES],
)
def test_an_unusable_argument_is_refused_with_function_argument_given_and_wanted(function, name, value):
    with pytest.raises(ArgumentError) as refusal:
        function(**samples(function, **{name: value}))
    message = str(refusal.value)
    start, given_and_wanted = f"{function.__name__}: {name} = ", message.partition(" = ")[2]
    given, _, wanted = given_and_wanted.partition("; wanted ")
    assert message.startswith(start)
    assert given
    assert wanted.startswith("a quantity in " if function.units[name] else "a number")


@each_argument
def test_a_bare_number_is_told_that_it_has_no_unit(function, name):
    if function.units[name]:
        with pytest.raises(ArgumentError, match="has no unit"):
            function(**samples(function, **{name: 3}))
    else:
        bare = sample_of(function, name)
        assert function(**samples(function, **{name: bare})).units == Quantity(1, function.returns).units


def test_the_refusal_is_a_value_error():
    assert issubclass(ArgumentError, ValueError)


def test_the_walk_finds_the_functions_of_every_topic():
    """Or the tests here would pass on nothing."""
    topics = {function.__module__ for function in FUNCTIONS}
    named = (
        "roofline serving decoding speculation kv_cache paging capacity trajectories queueing simulation cost".split()
    )
    assert topics >= {f"costlib.{name}" for name in named}


def test_every_function_of_a_topic_is_gated():
    for topic in ("roofline", "serving", "decoding", "kv_cache", "capacity", "trajectories", "queueing"):
        module = importlib.import_module(f"costlib.{topic}")
        assert [name for name in module.__all__ if not hasattr(getattr(module, name), "units")] == []


@each_argument
def test_an_argument_may_be_zero_only_where_the_docstring_says_so(function, name):
    zero = samples(function, **{name: Quantity(0.0, function.units[name])})
    if may_be_zero(function, name):
        assert np.all(np.isfinite(function(**zero).magnitude))
    else:
        with pytest.raises(ArgumentError):
            function(**zero)


AT_LEAST_ONE = [
    (function, name)
    for function, name in ARGUMENTS
    if name == "accelerators" or (name == "tokens" and "experts" in function.units)
]


@pytest.mark.parametrize("function, name", AT_LEAST_ONE, ids=lambda value: getattr(value, "__name__", value))
def test_there_is_no_half_accelerator_and_no_pass_over_half_a_token(function, name):
    """Between zero and one the formulas would give a negative time, or less than the active weights."""
    with pytest.raises(ArgumentError, match="one or more"):
        function(**samples(function, **{name: Quantity(0.5, function.units[name])}))


@each_function
def test_the_result_is_in_the_unit_declared(function):
    assert function(**samples(function)).units == Quantity(1, function.returns).units


@each_function
def test_a_value_in_another_unit_of_its_dimension_gives_the_same(function):
    values = samples(function)
    kilo = {name: _in_thousands(value) for name, value in values.items()}
    np.testing.assert_allclose(function(**kilo).magnitude, function(**values).magnitude, rtol=1e-12)


def _in_thousands(value):
    first = str(value.units).split(" ")[0]
    return value.to(str(value.units).replace(first, "kilo" + first, 1)) if not value.dimensionless else value


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "uint8", "int64"])
def test_integers_of_a_fixed_width_do_not_wrap_around(kind):
    from costlib.kv_cache import bytes_per_token

    heads = Quantity(np.array([8, 100], dtype=kind), "head")
    layers, size, precision = (
        Quantity(np.array([80], dtype=kind), "layer"),
        quantity("128 channel/head"),
        quantity("2 B/element"),
    )
    assert bytes_per_token(layers, heads, size, precision).magnitude.tolist() == [327_680, 4_096_000]


def test_arrays_broadcast():
    from costlib.roofline import ridge_point

    rates = Quantity(np.array([[1.0], [2.0]]), "Top/s")
    bandwidths = Quantity([1.0, 2.0, 4.0], "TB/s")
    assert ridge_point(rates, bandwidths).magnitude.tolist() == [[1, 0.5, 0.25], [2, 1, 0.5]]


def test_the_argument_itself_is_not_changed():
    from costlib.roofline import ridge_point

    rates = Quantity(np.array([1.0, 2.0]), "Top/s")
    ridge_point(rates, quantity("1 TB/s"))
    assert rates.units == Quantity(1, "Top/s").units
    assert rates.magnitude.tolist() == [1, 2]


def test_a_bare_number_passes_where_a_number_is_wanted():
    @takes(copies="", returns="")
    def twice(copies):
        return 2 * copies

    assert twice(3).magnitude == 6
    assert twice([1, 2]).magnitude.tolist() == [2, 4]


def test_nothing_passes_where_it_is_the_default():
    @takes(window="token", returns="")
    def given(window=None):
        return Quantity(float(window is not None), "")

    assert given(None).magnitude == 0


@pytest.mark.parametrize(
    "units",
    [
        {"returns": "token"},
        {"returns": "token", "context": "token", "window": "token"},
        {"returns": "token", "contxt": "token"},
    ],
    ids=["missing", "too many", "misspelt"],
)
def test_a_decorator_with_the_wrong_names_fails_at_definition(units):
    with pytest.raises(TypeError, match="context"):

        @takes(**units)
        def half(context):
            return context / 2


@pytest.mark.parametrize("units", [{"context": "tokn", "returns": "token"}, {"context": "token", "returns": "tokn"}])
def test_a_decorator_with_an_unknown_unit_fails_at_definition(units):
    with pytest.raises(pint.UndefinedUnitError):

        @takes(**units)
        def half(context):
            return context / 2


def test_a_decorator_with_an_unknown_range_fails_at_definition():
    with pytest.raises((KeyError, ValueError)):

        @takes(context="token >= 2 or so", returns="token")
        def half(context):
            return context / 2


def test_a_function_that_returns_another_dimension_fails():
    @takes(context="token", returns="byte")
    def half(context):
        return context / 2

    with pytest.raises(pint.DimensionalityError):
        half(quantity("2 token"))


@each_function
def test_an_unknown_argument_is_no_argument(function):
    with pytest.raises(TypeError):
        function(**samples(function), nonsense=quantity("1 token"))


NOT_ELEMENTWISE = {
    *(
        "chunk_starts",
        "time_to_first_token",
        "inter_token_gap",
        "measured_tokens_per_pass",
    ),  # an array of two, or one of an array
    *("queue_waits", "call_waits", "static_batch_waits"),  # each wait hangs on all arrivals before it
}


@pytest.mark.parametrize(
    "function", [f for f in FUNCTIONS if f.__name__ not in NOT_ELEMENTWISE], ids=lambda f: f.__name__
)
def test_arrays_give_element_by_element_what_scalars_give(function):
    """Three samples a unit, so that both sides of a maximum are met somewhere."""
    scales = np.array([0.3, 1.0, 2.5]), np.array([1.0, 2.0, 1.5])
    arrays = {
        name: Quantity(sample_of(function, name) * scales[i % 2], unit)
        for i, (name, unit) in enumerate(function.units.items())
    }
    if "active_parameters" in arrays:
        arrays["active_parameters"] = arrays["parameters"] / np.array([1, 2, 4])
    together = function(**arrays).magnitude
    singly = [
        function(**{name: Quantity(float(value.magnitude[i]), value.units) for name, value in arrays.items()}).magnitude
        for i in range(3)
    ]
    assert all(isinstance(value, float) for value in singly)
    np.testing.assert_allclose(together, singly, rtol=1e-11)


def test_a_matrix_is_refused_since_it_multiplies_otherwise():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ArgumentError, match="a matrix, not an array"):
        serving.weight_bytes(Quantity(matrix, "parameter"), Quantity(1, "byte/parameter"))


@pytest.mark.parametrize("size", [1e60, 1e160, 1e-60])
def test_sizes_that_would_overflow_are_refused(size):
    with pytest.raises(ArgumentError, match="too large or too small"):
        serving.token_operations(Quantity(size, "parameter"))


def test_shapes_that_do_not_broadcast_are_an_argument_error():
    with pytest.raises(ArgumentError, match="weight_bytes: .*shape"):
        serving.weight_bytes(Quantity(np.ones(2), "parameter"), Quantity(np.ones(3), "byte/parameter"))


def test_a_misspelt_argument_names_the_function():
    with pytest.raises(TypeError, match="ridge_point.*peak"):
        roofline.ridge_point(peak=Quantity(1, "operation/second"), bandwidth=Quantity(1, "byte/second"))
