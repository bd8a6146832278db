"""Every public function's docstring against its signature and its declared units."""

import importlib
import inspect
import pkgutil
import re

import pytest
from numpydoc.docscrape import FunctionDoc

import costlib

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(costlib.__path__, "costlib.")
    if not module.name.startswith(("costlib.book", "costlib.cli", "costlib.__main__"))
]
FUNCTIONS = [
    getattr(module, name)
    for module in MODULES
    for name in getattr(module, "__all__", ())
    if inspect.isfunction(getattr(module, name)) and getattr(module, name).__module__ == module.__name__
]
FORMULAS = [function for function in FUNCTIONS if hasattr(function, "units")]
# What is no formula says in a sentence what it does; where it has sections, they must be right.
OTHERS = [function for function in FUNCTIONS if not hasattr(function, "units") and "Parameters\n" in function.__doc__]

each_formula = pytest.mark.parametrize("function", FORMULAS, ids=lambda f: f"{f.__module__}.{f.__name__}")
each_other = pytest.mark.parametrize("function", OTHERS, ids=lambda f: f"{f.__module__}.{f.__name__}")


def test_the_walk_finds_the_functions_of_every_topic():
    """Or the tests here would pass on nothing."""
    assert {"costlib.roofline", "costlib.serving", "costlib.kv_cache", "costlib.capacity", "costlib.speculation"} <= {
        f.__module__ for f in FORMULAS
    }
    assert {"quantity", "show", "load", "takes", "read", "read_gguf", "vllm"} <= {f.__name__ for f in OTHERS}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_the_first_line_is_one_sentence(function):
    first = function.__doc__.partition("\n")[0]
    assert first.endswith(".")
    assert len(first) <= 120


@each_formula
def test_a_formula_has_every_section(function):
    document = FunctionDoc(function)
    empty = [
        name for name in ("Parameters", "Returns", "Raises", "Notes", "References", "Examples") if not document[name]
    ]
    assert empty == []


@each_formula
def test_the_parameters_are_those_of_the_signature(function):
    assert [p.name for p in FunctionDoc(function)["Parameters"]] == list(inspect.signature(function).parameters)


@each_formula
def test_each_parameter_has_the_unit_that_is_checked(function):
    described = {p.name: p.type.removesuffix(", optional") for p in FunctionDoc(function)["Parameters"]}
    assert described == {name: f"Quantity [{unit}]" for name, unit in function.units.items()}


@each_formula
def test_a_parameter_is_optional_where_it_has_a_default(function):
    optional = {p.name for p in FunctionDoc(function)["Parameters"] if p.type.endswith(", optional")}
    defaults = {p.name for p in inspect.signature(function).parameters.values() if p.default is not p.empty}
    assert optional == defaults


@each_formula
def test_the_result_has_the_unit_that_is_returned(function):
    assert [p.type for p in FunctionDoc(function)["Returns"]] == [f"Quantity [{function.returns}]"]


@each_formula
def test_each_parameter_says_what_it_is_and_whether_arrays_are_taken(function):
    for p in FunctionDoc(function)["Parameters"]:
        assert re.search(r"Scalar or array\.$|A scalar\.$|Array\.$", " ".join(p.desc)), p.name


@each_formula
def test_a_formula_is_written_out(function):
    assert "\n.. math:: " in inspect.getdoc(function)


@each_formula
def test_a_formula_raises_an_argument_error(function):
    assert [p.type for p in FunctionDoc(function)["Raises"]] == ["ArgumentError"]


@each_formula
def test_a_formula_refers_to_a_publication(function):
    assert re.search(r"doi:10\.\d{4,}/\S+", " ".join(FunctionDoc(function)["References"]))


@each_formula
def test_the_example_calls_the_function(function):
    assert any(
        line.startswith(">>> ") and f"{function.__name__}(" in line for line in FunctionDoc(function)["Examples"]
    )


@each_other
def test_sections_of_another_function_match_its_signature(function):
    document = FunctionDoc(function)
    names = [
        ("**" if p.kind is p.VAR_KEYWORD else "*" if p.kind is p.VAR_POSITIONAL else "") + p.name
        for p in inspect.signature(function).parameters.values()
    ]
    assert [p.name for p in document["Parameters"]] == names
    assert all(p.type and p.desc for p in document["Parameters"])


@each_other
def test_what_returns_something_says_what(function):
    if function.__name__ == "takes":
        assert FunctionDoc(function)["Raises"]
    else:
        assert FunctionDoc(function)["Returns"]


DOCUMENTED = [
    *MODULES,
    *FUNCTIONS,
    *(cls for m in MODULES for _, cls in inspect.getmembers(m, inspect.isclass) if cls.__module__ == m.__name__),
]


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda d: d.__name__)
def test_no_docstring_refers_to_what_does_not_exist(documented):
    home = importlib.import_module(getattr(documented, "__module__", documented.__name__))
    for kind, target in re.findall(r":(func|meth|mod|class):`~?([\w.]+)`", documented.__doc__ or ""):
        assert exists(home, target), f":{kind}:`{target}`"


def exists(home, target):
    if not target.startswith("costlib"):
        return hasattr(home, target)
    path = target.split(".")
    for i in range(len(path), 0, -1):
        try:
            found = importlib.import_module(".".join(path[:i]))
        except ModuleNotFoundError:
            continue
        for name in path[i:]:
            found = getattr(found, name, None)
        return found is not None
    return False
