"""Which cells of a page each cell needs, and which of them the scenario reaches: as their names say.

A statement needs those that may have written the names that it reads, and, where it may have got a function by
such a name, those that wrote what the function reads when it is called. Within a cell, a statement is taken to write
all that it may change in place.

Names do not show that a cell changes another's object in place. The cells of a page must not; the tests run them
all and watch their objects. Of what a reader writes nobody knows: a page with such a cell is always run whole.
"""

import ast
import copy
import symtable
from dataclasses import dataclass, field

__all__ = ["Cell", "Cells"]


@dataclass
class Names:
    """What a part of a program does with names: it reads them before it surely wrote them; its functions read some
    when they are called; it may write some, and some of these it writes surely."""

    reads: set = field(default_factory=set)
    later: set = field(default_factory=set)
    writes: set = field(default_factory=set)
    surely: set = field(default_factory=set)

    def then(self, after, maybe=False):
        """Note the names of what runs after this, or may run."""
        self.reads |= after.reads - self.surely
        self.later |= after.later
        self.writes |= after.writes
        if not maybe:
            self.surely |= after.surely


class Cell:
    """One code cell: its source, its tags, what it states and draws, and the names of its statements.

    Attributes
    ----------
    statements : list of tuple
        Of each the names, and whether it asks for the scenario.
    names : Names
        Of the whole cell.
    """

    def __init__(self, source, tags=()):
        self.source, self.tags = source, tuple(tags)
        self.long = "long" in self.tags  # run only when asked for
        self.names, self.statements = Names(), []
        try:
            compile(source, "cell", "exec")
            body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # it fails when it is run
            body = []
        names = [_statement(statement) for statement in body]
        _change_in_place(body, names)
        self.statements = [(each, any(map(_asks, _calls(node)))) for node, each in zip(body, names, strict=True)]
        for each in names:
            self.names.then(each)
        calls = [call for statement in body for call in _calls(statement)]
        self.keys = _first_texts(calls, "state")
        self.figures = _first_texts(calls, "figure")
        self.draws = any(_called(call) in ("axes", "figure") for call in calls)


class Cells:
    """The cells of a page in order, and which of them belong together.

    Attributes
    ----------
    needs : list of set of int
        Of each cell, the earlier ones from which what it reads comes, near and far.
    reads : list of set of str
        Of each cell, all names that it reads, or a function does that it may call.
    live : set of int
        Cells with a statement that asks for the scenario, or needs one that does.
    """

    def __init__(self, cells):
        self.all = list(cells)
        order = [(number, *statement) for number, cell in enumerate(self.all) for statement in cell.statements]
        needed, read = _needed([names for _, names, _ in order])
        asking = {place for place, (_, _, asks) in enumerate(order) if asks}
        self.needs = [set() for _ in self.all]
        self.reads = [set() for _ in self.all]
        self.live = set()
        for place, (number, _, _) in enumerate(order):
            self.needs[number] |= {order[other][0] for other in needed[place]} - {number}
            self.reads[number] |= read[place]
            if asking & {place, *needed[place]}:
                self.live.add(number)

    def slice(self, wanted):
        """All cells that are wanted, or needed by one that is: a cell is run with all of its statements."""
        found, todo = set(), set(wanted)
        while todo:
            found |= todo
            todo = set().union(*(self.needs[number] for number in todo)) - found
        return found

    def stating(self, keys):
        """Numbers of the cells that state any of these keys."""
        return {number for number, cell in enumerate(self.all) if not set(keys).isdisjoint(cell.keys)}


def _needed(statements):
    """Of each statement in turn, those before it that it needs, by their places; and all names that it may read."""
    needed, read = [], []
    writers = {}  # name -> statements that may have written it last
    for place, names in enumerate(statements):
        found, seen, todo = set(), set(), set(names.reads)
        while todo:
            name = todo.pop()
            seen.add(name)
            for writer in writers.get(name, ()):
                for new in {writer, *needed[writer]} - found:
                    found.add(new)
                    todo |= statements[new].later - seen  # a function's names, as they are when it is called
        needed.append(found)
        read.append(seen)
        for name in names.writes:
            writers[name] = [*(writers.get(name, ()) if name not in names.surely else ()), place]
    return needed, read


def _change_in_place(body, names):
    """Have each statement of a cell write, perhaps, all objects of the cell that it may change in place.

    These are what it names, what is named together with that in another statement, for one may be a part of the
    other, and so on. No part of an object is a module, or a function that knows of no object of the cell.
    """
    own = set().union(*(each.writes for each in names))
    groups = []
    for node, each in zip(body, names, strict=True):
        objects = (each.reads | each.writes) & own
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.FunctionDef) and len(objects) == 1):
            own -= each.writes
            continue
        near = [group for group in groups if group & objects]
        groups = [group for group in groups if not group & objects] + [objects.union(*near)]
    for each in names:
        each.writes = each.writes.union(*(group for group in groups if group & (each.reads | each.writes)))


# ---------------------------------------------------------------- the names of a statement


def _statement(node):
    """The names of a statement: of its head, and then of its blocks, each of which may run or not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return _simple(node)
    blocks = list(_blocks(node))
    if not blocks:
        return _simple(node)
    head = _simple(_head(node))
    sure = isinstance(node, ast.If | ast.With)
    found = Names(head.reads, head.later, set(head.writes), set(head.surely) if sure else set())
    inside = []
    for block in blocks:
        names = Names(surely=set(head.surely))  # a loop's names, within it
        for statement in block:
            names.then(_statement(statement))
        found.then(names, maybe=True)
        inside.append(names.surely)
    if isinstance(node, ast.If) and node.orelse:
        found.surely |= set.intersection(*inside)
    return found


def _blocks(node):
    """The blocks of a statement, those of its handlers and cases as well."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                yield value
            elif isinstance(value[0], ast.ExceptHandler | ast.match_case):
                for part in value:
                    yield from _blocks(part)


def _head(node):
    """A statement with nothing in its blocks."""
    head = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                setattr(head, name, [ast.Pass()])
            elif isinstance(value[0], ast.ExceptHandler | ast.match_case):
                setattr(head, name, [_head(part) for part in value])
    return head


def _simple(node):
    """The names of a statement that is read, and written, as one: as Python's compiler sees them."""
    found = Names()
    scoped = _Scopes().visit(copy.deepcopy(node))
    todo = [(symtable.symtable(ast.unparse(scoped), "cell", "exec"), False)]
    while todo:
        table, called = todo.pop()
        called = called or (table.get_type() == "function" and table.get_name() not in AT_ONCE)
        inner = table.get_type() == "class"  # where a name of its own, not yet written, is one of the page
        names = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (s.is_global() or inner)}
        found.reads |= names  # of a function too, which may be called at once
        found.later |= names if called else set()
        todo += [(child, called) for child in table.get_children()]
        if table.get_type() == "module":
            found.surely = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    if isinstance(node, ast.AugAssign | ast.Delete):
        found.reads |= found.surely
    perhaps = {part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)}
    found.writes = found.surely | perhaps
    found.surely = found.surely - perhaps
    return found


AT_ONCE = {"genexpr"}  # scopes that run where they stand, see below


class _Scopes(ast.NodeTransformer):
    """Gives every comprehension a scope of its own: from 3.12 on, Python's compiler has it in that around it.

    A comprehension becomes a generator, which has one; a generator, which may run later, a function that makes it.
    """

    def visit_ListComp(self, node):
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node):
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)

    def visit_GeneratorExp(self, node):
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Lambda(nothing, node)


def _calls(node):
    return [part for part in ast.walk(node) if isinstance(part, ast.Call)]


def _called(call):
    """The last part of the name of what is called."""
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _asks(call):
    """Whether a call asks for the reader's scenario: that of a command does, and of load without a file."""
    return _called(call) == "ran" or (_called(call) == "load" and not call.args)


def _first_texts(calls, function):
    """The texts that a function is given first: keys."""
    given = [call.args[0] for call in calls if _called(call) == function and call.args]
    return tuple(text.value for text in given if isinstance(text, ast.Constant))
