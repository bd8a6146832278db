"""A cell that need not run is not run, and nobody can tell: small programs under one scenario and another."""

import ast
import contextlib
import io
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from costlib.book.live.cells import Cell, _Scopes
from costlib.book.live.page import Page
from costlib.book.live.running import Session

steady = settings(derandomize=True, deadline=None, max_examples=80)
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp

FIRST = """
import costlib
from functools import partial

case = costlib.load()
a, b, c = case.x, 2, 3
k, l, m = [1, 2], [case.y], [4]
d = {"k": k, "n": 0}
def f():
    return a + len(k)
def g(z):
    return z + b
h = [f, lambda: c]
def p(z):
    z.append(b)
"""

NUMBERS, LISTS = some.sampled_from("abc"), some.sampled_from("klm")


def filled(template, **parts):
    return some.fixed_dictionaries(parts).map(lambda chosen: template.format(**chosen))


NUMBER = some.one_of(
    NUMBERS,
    some.integers(0, 3).map(str),
    filled("len({l})", l=LISTS),
    filled("sum({l})", l=LISTS),
    some.sampled_from(["f()", "g(a)", "h[0]()", "h[1]()", "d['n']", "sum(z for z in k)", "case.x", "len(d['k'])"]),
)
LIST = some.one_of(
    LISTS,
    filled("[{n}]", n=NUMBER),
    filled("list({l})", l=LISTS),
    filled("{l} + [{n}]", l=LISTS, n=NUMBER),
    filled("[z + {n} for z in {l}]", l=LISTS, n=NUMBERS),
    some.sampled_from(["d['k']", "(lambda: l)()"]),
)
CONDITION = filled("{n} % 2", n=NUMBER)
STATEMENT = some.one_of(
    filled("{t} = {n}", t=NUMBERS, n=NUMBER),
    filled("{t} += {n}", t=NUMBERS, n=NUMBER),
    filled("{t} = {l}", t=LISTS, l=LIST),
    filled("{t} = [{n}]\n{t} += [{m}]", t=LISTS, n=NUMBER, m=NUMBER),
    filled("{t} = list({l})\n{t}.append({n})", t=LISTS, l=LISTS, n=NUMBER),
    filled("d = dict(d)\nd['n'] = {n}", n=NUMBER),
    filled("{t} = [{n}]\np({t})", t=LISTS, n=NUMBER),
    filled("x, y = list({l}), {n}\nx.append(y)\nb = len(x)", l=LISTS, n=NUMBER),
    filled("for {t} in {l}[:2]:\n    {u} = {t} + {n}", t=NUMBERS, l=LISTS, u=NUMBERS, n=NUMBER),
    filled("if {c}:\n    {t} = {n}", c=CONDITION, t=NUMBERS, n=NUMBER),
    filled("if {c}:\n    {t} = {l}\nelse:\n    {u} = [1]", c=CONDITION, t=LISTS, l=LIST, u=LISTS),
    filled("def f():\n    return {n}", n=NUMBERS),
    filled("def g(z, w={n}):\n    return z + w + {t}", n=NUMBERS, t=NUMBERS),
    filled("def p(z):\n    {u} = 1\n    z.append({u})", u=NUMBERS),
    filled("h = [f, lambda: {n}]", n=NUMBERS),
    filled("h = [partial(g, {n}), *h[1:]]", n=NUMBERS),
    filled("d = dict(k={l}, n={n})", l=LISTS, n=NUMBER),
    filled("{t} = [z for z in (w + {n} for w in {l})]", t=LISTS, l=LISTS, n=NUMBERS),
    filled(
        "try:\n    {t} = {n} // ({u} - 2)\nexcept ZeroDivisionError:\n    {v} = 1",
        t=NUMBERS,
        n=NUMBERS,
        u=NUMBERS,
        v=NUMBERS,
    ),
    some.just("case = costlib.load()"),
)
# Of changes in place of another cell's object, names say nothing: these are the reader's only, who may write what he
# likes, or what is told by no names at all.
WILD = [
    "k.append({n})",
    "p({t})",
    "d['n'] = {n}",
    "d['k'].append({n})",
    "h[0] = lambda: {n}",
    "globals()['a'] = {n}",
    "exec('b = {n}')",
    "def f():\n    global c\n    c = {n}\nf()",
]
WILDLY = some.sampled_from(WILD).flatmap(lambda template: filled(template, n=NUMBERS, t=LISTS))
SEES = some.lists(some.one_of(NUMBERS, LISTS, some.sampled_from(["d", "f()", "g(1)", "h[1]()"])), max_size=2)
CELL = filled(
    "{body}\nprint({sees})",
    body=some.lists(STATEMENT, min_size=1, max_size=3).map("\n".join),
    sees=SEES.map(", ".join),
)
WILD_CELL = filled(
    "{body}\nprint({sees})",
    body=some.lists(some.one_of(STATEMENT, WILDLY), min_size=1, max_size=3).map("\n".join),
    sees=SEES.map(", ".join),
)
PROGRAM = some.lists(CELL, min_size=2, max_size=7).map(lambda cells: [FIRST, *cells])
SCENARIOS = some.lists(
    some.builds(lambda x, y: SimpleNamespace(x=x, y=y), some.integers(0, 2), some.integers(0, 2)),
    min_size=2,
    max_size=4,
)


def fresh(program, case):
    """What each cell prints, run in order in a new namespace."""
    session, names, shown = Session(), {}, []
    session.scenario = case
    with session.around():
        for source in program:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(source, names)
            shown.append(said.getvalue())
    return shown


def page_of(program):
    return Page([{"source": source, "tags": []} for source in program])


def printed(result):
    return "".join(text for kind, text in result.shown if kind == "stream")


KINDS = {  # of dependence by names; the last cell prints what the others lead to
    "a name that may be written, and is not": ["x = case.x", "if case.y == 5:\n    x = 9", "print(x)"],
    "a name that may be written, and was": ["x = 1", "if case.x:\n    x = 9", "print(x)"],
    "a name that is not written, whatever the scenario": ["x = case.x\nz = 0", "if z:\n    x = 9", "print(x)"],
    "a name that either branch writes": ["x = 1", "if case.x:\n    x = 9\nelse:\n    x = case.y", "print(x)"],
    "a name that an expression may write": ["x = case.y", "z = case.x and (x := 7)", "print(x)"],
    "a name that is gone": ["x = case.x", "del x", "try:\n    print(x)\nexcept NameError:\n    print('gone')"],
    "a name that is given up": ["x = case.x", "y = x\ndel x", "x = 2", "print(x, y)"],
    "what a function reads when it is called": ["x = 1\ndef f():\n    return x", "x = case.x", "print(f())"],
    "a function in a list": ["h = [lambda: x]", "x = case.x", "print(h[0]())"],
    "a function that a function makes": ["def make():\n    return lambda: x", "f = make()", "x = case.x", "print(f())"],
    "a method": ["class C:\n    def f(self):\n        return x", "x = case.x", "print(C().f())"],
    "a class's own name": ["x = 1", "class C:\n    y = x\n    x = 3", "x = case.x", "print(C.x, C.y, x)"],
    "a default": ["x = case.x", "def f(y=x):\n    return y", "print(f())"],
    "a decorator": ["def d(f):\n    return lambda: f() + x", "x = case.x", "@d\ndef f():\n    return 1", "print(f())"],
    "a generator that runs later": ["x = 1", "g = lambda: (x for _ in range(2))", "x = case.x", "print(list(g()))"],
    "a name of a comprehension": ["x = case.x", "y = [x for x in (1, 2)]", "print(x, y)"],
    "a name of a loop": ["x = case.x", "for x in (1, 2)[:case.y]:\n    pass", "print(x)"],
    "a loop that changes its own list": ["x = []\nfor y in range(case.x):\n    x.append(y)", "print(x)"],
    "an error's name": ["z = case.x", "try:\n    y = 1 // z\nexcept ArithmeticError as e:\n    y = str(e)", "print(y)"],
    "a sum that goes on": ["x = 1", "x += case.x", "print(x)"],
    "zero and minus zero": ["x = -0.0 if case.x else 0.0", "print(x)"],
    "a star": ["x, *y = case.x, 1, case.y", "print(y, x)"],
    "a walrus": ["z = [y := case.x]", "print(y)"],
    "a walrus in a comprehension": ["z = [(y := case.x + i) for i in (1, 2)]", "print(y)"],
    "a match": ["match case.x:\n    case 1:\n        x = 5\n    case y:\n        x = y", "print(x)"],
    "a context": [
        "import io\nwith io.StringIO() as file:\n    file.write(str(case.x))\n    x = file.getvalue()",
        "print(x)",
    ],
    "a cache": ["import functools\n@functools.cache\ndef f():\n    return case.x", "print(f())"],
}


@pytest.mark.parametrize("taken", ["[x for x in y if k]", "{x for x in y if k}", "{x: x for x in y if k}"])
def test_the_names_of_a_comprehension_are_not_the_pages_on_any_python(taken):
    """From 3.12 on, its compiler has them among those around; the tests may run on an older one, a browser does not."""
    names = Cell(f"z = {taken}").names
    assert (names.reads, names.later, names.writes, names.surely) == ({"y", "k"}, set(), {"z"}, {"z"})
    assert not any(isinstance(part, COMPREHENSIONS) for part in ast.walk(_Scopes().visit(ast.parse(taken))))


@pytest.mark.parametrize("cells", KINDS.values(), ids=KINDS)
def test_dependence_by_names(cells):
    program = ["import costlib\ncase = costlib.load()", *cells]
    page, session = page_of(program), Session()
    with session.around():
        for x, y in [(0, 0), (1, 0), (1, 5), (0, 5), (2, 1), (0, 0)]:
            session.scenario = SimpleNamespace(x=x, y=y)
            page.forget_scenario()
            page.run({len(cells)}, session)  # the last one, and what it needs
            assert printed(page.results[-1]) == fresh(program, session.scenario)[-1], (x, y)
            page.run(page.numbers(), session)
            assert [printed(result) for result in page.results] == fresh(program, session.scenario), (x, y)


@steady
@given(PROGRAM, SCENARIOS)
def test_a_change_gives_what_a_new_run_gives(program, cases):
    page, session = page_of(program), Session()
    with session.around():
        for case in cases:
            session.scenario = case
            page.forget_scenario()
            page.run(page.numbers(), session)
            assert [result.text for result in page.results if result.why] == []
            assert [printed(result) for result in page.results] == fresh(program, case)


@steady
@given(PROGRAM, SCENARIOS, some.lists(some.integers(0, 7), min_size=1, max_size=3))
def test_cells_that_are_wanted_alone_give_what_they_give_among_all(program, cases, wanted):
    page, session = page_of(program), Session()
    wanted = {number % len(program) for number in wanted}
    with session.around():
        for case in cases:
            session.scenario = case
            page.forget_scenario()
            page.run(wanted, session)
            found = fresh(program, case)
            assert {n: printed(page.results[n]) for n in wanted} == {n: found[n] for n in wanted}


@steady
@given(PROGRAM, SCENARIOS, some.lists(some.tuples(some.integers(1, 7), WILD_CELL), min_size=1, max_size=3))
def test_cells_that_a_reader_writes_are_run_as_well(program, cases, edits):
    page, session = page_of(program), Session()
    program = list(program)
    with session.around():
        for case, (number, source) in zip(cases, edits, strict=False):
            program[number % len(program)] = source if number % len(program) else FIRST
            session.scenario = case
            page.edit(number % len(program), program[number % len(program)])
            page.run({1}, session)
            if page.edited:
                assert [printed(result) for result in page.results] == fresh(program, case)
            session.scenario = cases[0]
            page.forget_scenario()
            page.run(page.numbers(), session)
            assert [printed(result) for result in page.results] == fresh(program, cases[0])


@steady
@given(PROGRAM, SCENARIOS)
def test_cells_that_the_scenario_does_not_reach_print_the_same_under_each(program, cases):
    live = page_of(program).live
    first, *others = (fresh(program, case) for case in cases)
    for other in others:
        assert {n for n, (one, another) in enumerate(zip(first, other, strict=True)) if one != another} <= live
