"""A cell that need not run is not run, and nobody can tell: small programs under one scenario and another."""

import contextlib
import io
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from costlib.book.live.page import Page
from costlib.book.live.running import Session

steady = settings(derandomize=True, deadline=None, max_examples=80)

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
    filled("{t} += [{n}]", t=LISTS, n=NUMBER),
    filled("{t}.append({n})", t=LISTS, n=NUMBER),
    filled("d['n'] = {n}", n=NUMBER),
    filled("d['k'].append({n})", n=NUMBER),
    filled("p({t})", t=LISTS),
    filled("x, y = {l}, {n}\nx.append(y)", l=LISTS, n=NUMBER),
    filled("for {t} in {l}[:2]:\n    {u} = {t} + {n}", t=NUMBERS, l=LISTS, u=NUMBERS, n=NUMBER),
    filled("if {c}:\n    {t} = {n}", c=CONDITION, t=NUMBERS, n=NUMBER),
    filled("if {c}:\n    {t} = {l}\nelse:\n    {u}.append(1)", c=CONDITION, t=LISTS, l=LIST, u=LISTS),
    filled("def f():\n    return {n}", n=NUMBERS),
    filled("def f():\n    {l}.append({n})\n    return len({l})", l=LISTS, n=NUMBERS),
    filled("def g(z, w={n}):\n    return z + w + {t}", n=NUMBERS, t=NUMBERS),
    filled("def p(z):\n    {u} = 1\n    z.append({u})", u=NUMBERS),
    filled("h = [f, lambda: {n}]", n=NUMBERS),
    filled("h[0] = partial(g, {n})", n=NUMBERS),
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
SEES = some.lists(some.one_of(NUMBERS, LISTS, some.sampled_from(["d", "f()", "g(1)", "h[1]()"])), max_size=2)
CELL = filled(
    "{body}\nprint({sees})",
    body=some.lists(STATEMENT, min_size=1, max_size=3).map("\n".join),
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


def printed(result):
    return "".join(text for kind, text in result.shown if kind == "stream")


KINDS = {  # of dependence that names alone do not show; the last cell prints what the others lead to
    "a name that may be written, and is not": ["x = case.x", "if case.y == 5:\n    x = 9", "print(x)"],
    "a name that may be written, and was": ["x = 1", "if case.x:\n    x = 9", "print(x)"],
    "a name that is not written, whatever the scenario": ["x = case.x\nz = 0", "if z:\n    x = 9", "print(x)"],
    "a name that is gone": ["x = case.x", "del x", "try:\n    print(x)\nexcept NameError:\n    print('gone')"],
    "what a function reads when it is called": ["x = 1\ndef f():\n    return x", "x = case.x", "print(f())"],
    "a function in a list": ["h = [lambda: x]", "x = case.x", "print(h[0]())"],
    "a function that a function makes": ["def make():\n    return lambda: x", "f = make()", "x = case.x", "print(f())"],
    "a method": ["class C:\n    def f(self):\n        return x", "x = case.x", "print(C().f())"],
    "a default": ["x = case.x", "def f(y=x):\n    return y", "print(f())"],
    "a default that a rerun changes": ["x = [case.x]", "def f(y=x):\n    return y", "print(f())"],
    "a generator that runs later": ["x = 1", "g = (x for _ in range(2))", "x = case.x", "print(list(g))"],
    "a list that grows": ["x = []", "x.append(case.x)", "print(x)"],
    "a list under another name": ["x = []", "y = x", "y.append(case.x)", "print(x)"],
    "a list in a dictionary": ["x = []", "y = {1: x}", "y[1].append(case.x)", "print(x)"],
    "a list that a loop takes out": ["x = [[]]", "for y in x:\n    y.append(case.x)", "print(x)"],
    "a list that a function is given": ["def p(z):\n    z.append(case.x)", "x = []", "p(x)", "print(x)"],
    "given under another name": ["def p(z):\n    z.append(1)\nq = p", "x = [case.x]", "q(x)", "print(x)"],
    "given through a map": ["def p(z):\n    z.append(1)", "x = [[case.x]]", "list(map(p, x))", "print(x)"],
    "given to a method": [
        "class C:\n    def p(self, z):\n        z.append(1)",
        "x = []",
        "C().p(x)",
        "y = case.x\nprint(x)",
    ],
    "given by name": ["def p(y, z):\n    z.append(y)", "x = []", "p(z=x, y=case.x)", "print(x)"],
    "an argument left alone": ["def p(y, z):\n    z.append(y)", "x = [case.x]", "p(x, [])", "print(x)"],
    "given on": ["def p(z):\n    z.append(1)", "def q(z):\n    p(z)", "x = [case.x]", "q(x)", "print(x)"],
    "a list that a function finds": ["x = []\ndef p():\n    x.append(case.x)", "p()", "print(x)"],
    "found and renamed": ["x = [[]]\ndef p():\n    y = x[0]\n    y.append(1)", "p()\nz = case.x", "print(x, z)"],
    "an iterator that is used up": ["x = iter([1, case.y, 3])", "next(x)", "print(next(x))"],
    "a name that is given up": ["x = case.x", "y = x\ndel x", "x = 2", "print(x, y)"],
    "a sum that goes on": ["x = [1]", "y = x", "x += [case.x]", "print(y)"],
    "a slot": ["x = {}", "x[1] = case.x", "print(x)"],
    "zero and minus zero": ["x = -0.0 if case.x else 0.0", "print(x)"],
    "one and true": ["x = bool(case.x) if case.y else case.x", "print(x)"],
    "globals": ["x = case.x", "globals()['y'] = x", "print(y)"],
    "a global statement": ["def f():\n    global x\n    x = case.x", "f()", "print(x)"],
    "a star": ["x, *y = case.x, 1, case.y", "print(y, x)"],
    "a walrus": ["z = [y := case.x]", "print(y)"],
    "a match": ["match case.x:\n    case 1:\n        x = 5\n    case y:\n        x = y", "print(x)"],
    "a cache": ["import functools\n@functools.cache\ndef f():\n    return case.x", "print(f())"],
}


@pytest.mark.parametrize("cells", KINDS.values(), ids=KINDS)
def test_dependence_that_names_do_not_show(cells):
    program = ["import costlib\ncase = costlib.load()", *cells]
    page, session = Page([{"source": source, "tags": []} for source in program], tested=False), Session()
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
    page, session = Page([{"source": source, "tags": []} for source in program], tested=False), Session()
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
    page, session = Page([{"source": source, "tags": []} for source in program], tested=False), Session()
    wanted = {number % len(program) for number in wanted}
    with session.around():
        for case in cases:
            session.scenario = case
            page.forget_scenario()
            page.run(wanted, session)
            found = fresh(program, case)
            assert {n: printed(page.results[n]) for n in wanted} == {n: found[n] for n in wanted}


@steady
@given(PROGRAM, SCENARIOS, some.lists(some.tuples(some.integers(1, 7), CELL), min_size=1, max_size=3))
def test_cells_that_a_reader_writes_are_run_as_well(program, cases, edits):
    page, session = Page([{"source": source, "tags": []} for source in program], tested=False), Session()
    program = list(program)
    with session.around():
        for case, (number, source) in zip(cases, edits, strict=False):
            program[number % len(program)] = source if number % len(program) else FIRST
            session.scenario = case
            page.edit(number % len(program), program[number % len(program)])
            page.run(page.numbers(), session)
            assert [printed(result) for result in page.results] == fresh(program, case)
            session.scenario = cases[0]
            page.forget_scenario()
            page.run(page.numbers(), session)
            assert [printed(result) for result in page.results] == fresh(program, cases[0])


@steady
@given(PROGRAM, SCENARIOS)
def test_cells_that_the_scenario_does_not_reach_print_the_same_under_each(program, cases):
    live = Page([{"source": source, "tags": []} for source in program], tested=False).live
    first, *others = (fresh(program, case) for case in cases)
    for other in others:
        assert {n for n, (one, another) in enumerate(zip(first, other, strict=True)) if one != another} <= live
