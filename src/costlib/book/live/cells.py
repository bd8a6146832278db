"""What the cells of a page read and write, and so which of them belong together.

A cell that reads a name needs the cell that wrote it last, and also whatever
the functions that it may have got by that name read, when they are called.
What cannot be told is taken for the worse: a cell that is run without need
costs time, one that is not run costs a wrong number.
"""

import ast
from dataclasses import dataclass, field

__all__ = ["Cell", "Cells"]

DRAWS = {"axes", "figure"}
UNCLEAR = {"exec", "eval", "globals", "locals", "vars", "__import__"}  # what they read and write no one can tell
CONSUMES = {"all", "any", "dict", "frozenset", "join", "list", "max", "min", "set", "sorted", "sum", "tuple"}
FRESH = {"dict", "list", "set", "sorted"}  # their results are nobody else's
CHANGES_ITSELF = set(
    "add append appendleft clear discard extend fill insert ito ito_base_units ito_reduced_units ito_root_units pop "
    "popitem popleft put remove resize reverse seed send setdefault sort update write writerow writerows "
    "choice choices exponential gauss integers lognormal normal permutation randint random sample uniform".split()
)
CHANGES_ARGUMENT = {"delattr", "heapify", "heappop", "heappush", "next", "setattr", "shuffle"}


@dataclass
class Cell:
    """One code cell, and what its names say of it.

    ``reads`` are names that it may read before it writes them; ``later`` those that functions made in it read when
    they are called; ``writes`` all that it may write, ``surely`` those that it writes in any case. ``changes`` are
    names of earlier cells whose objects it changes in place, ``changes_later`` those whose objects its functions
    change; ``changes_arguments`` says whether one of them changes what it is given.
    """

    source: str
    tags: tuple = ()
    reads: set = field(default_factory=set)
    later: set = field(default_factory=set)
    writes: set = field(default_factory=set)
    surely: set = field(default_factory=set)
    imports: set = field(default_factory=set)
    changes: set = field(default_factory=set)
    changes_later: set = field(default_factory=set)
    changes_arguments: bool = False
    unclear: bool = False
    loads: bool = False  # asks for the scenario by name
    draws: bool = False
    keys: tuple = ()  # of the values that it states
    figures: tuple = ()  # keys of what it draws

    @classmethod
    def of(cls, source, tags=()):
        """A cell from its source; one that is not Python is unclear."""
        cell = cls(source, tuple(tags))
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            cell.unclear = True
            return cell
        _Flow(cell).run(tree)
        return cell

    @property
    def long(self):
        """Whether it takes so long that it is run only when asked for."""
        return "long" in self.tags


class Cells:
    """The cells of a page in order, and which of them each one needs.

    Where one of them is ``unclear``, what is said of the others does not hold either: the page is to be run whole.
    """

    def __init__(self, cells):
        self.all = list(cells)
        self.unclear = any(cell.unclear for cell in self.all)
        self.needs = []  # of each cell, all earlier ones that it needs
        self.remakes = []  # of each cell, those whose objects it changes: where it is run, so are they
        self._writers = {}  # name -> cells that may have written it last, in order
        for number, cell in enumerate(self.all):
            self._add(number, cell)

    def _add(self, number, cell):
        needs = self._sources(cell.reads)
        self.needs.append(needs)
        changed = self._changed(cell, needs)
        remade = self._sources(changed)
        self.remakes.append(remade)
        needs |= remade
        if remade:  # whoever reads what may be the changed object, under any name, needs the cell that changed it
            touched = {i for i in range(number) if i in remade or self.needs[i] & remade}
            for name in {name for i in touched for name in self.all[i].writes - self.all[i].imports}:
                self._writers.setdefault(name, []).append(number)
        for name in cell.surely:
            self._writers[name] = [number]
        for name in cell.writes - cell.surely:
            self._writers.setdefault(name, []).append(number)

    def _sources(self, names):
        """The earlier cells from which these names, and what they need, come."""
        found, todo, seen = set(), set(names), set()
        while todo:
            name = todo.pop()
            seen.add(name)
            for writer in self._writers.get(name, ()):
                for new in ({writer} | self.needs[writer]) - found:
                    found.add(new)
                    todo |= self.all[new].later - seen  # a function's names, as they are when it is called
        return found

    def _changed(self, cell, needs):
        """Names of earlier cells whose objects a cell may change."""
        changed = set(cell.changes)
        for i in needs:
            changed |= self.all[i].changes_later
        if any(self.all[i].changes_arguments for i in needs):
            changed |= {name for name in cell.reads if not self._imported(name)}
        if cell.changes_arguments:  # its own function may be called with what others made
            changed |= {name for name in cell.reads if not self._imported(name)}
        return {name for name in changed if self._writers.get(name)}

    def _imported(self, name):
        return all(name in self.all[i].imports for i in self._writers.get(name, ()))

    def dependents(self, of):
        """All cells that are among these or need one of them."""
        return {i for i, needs in enumerate(self.needs) if i in of or needs & of}

    def slice(self, wanted):
        """All cells that are wanted or needed by one that is."""
        return set(wanted).union(*(self.needs[i] for i in wanted))

    def to_run(self, changed, among):
        """What must be run where these cells are to be run again: they, what depends on them, and what it changes.

        Parameters
        ----------
        changed : set of int
        among : set of int
            Cells that are run at all.
        """
        run = self.dependents(set(changed)) & among
        while True:
            more = self.dependents(run.union(*(self.remakes[i] for i in run))) & among
            if more == run:
                return run
            run = more

    def stating(self, keys):
        """Numbers of the cells that state any of these keys."""
        wanted = set(keys)
        return {i for i, cell in enumerate(self.all) if wanted.intersection(cell.keys)}


class _Flow(ast.NodeVisitor):
    """Walks a cell in the order in which it runs, and notes names."""

    def __init__(self, cell):
        self.cell = cell
        self.bound = set()  # names surely written so far
        self.scopes = []  # names of functions and comprehensions around
        self.parameters = []  # of the functions around
        self.origins = {}  # own name -> names whose object it may be

    def run(self, tree):
        for statement in tree.body:
            self.visit(statement)
        self.cell.surely = self.bound & self.cell.writes

    # ------------------------------------------------------------ names

    def _local(self, name):
        return any(name in scope for scope in self.scopes)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self._read(node.id)
        else:
            self._write(node.id)
            if isinstance(node.ctx, ast.Del):
                self.bound.discard(node.id)

    def _read(self, name):
        if self._local(name):
            return
        if name in UNCLEAR:
            self.cell.unclear = True
        if self.parameters:
            self.cell.later.add(name)
        if name not in self.bound:
            self.cell.reads.add(name)

    def _write(self, name):
        if not self._local(name):
            self.cell.writes.add(name)
            self.bound.add(name)

    def visit_Global(self, node):
        self.cell.unclear = True

    def _import(self, node):
        for alias in node.names:
            name = (alias.asname or alias.name).partition(".")[0]
            if name == "*":
                self.cell.unclear = True
            if not self._local(name):
                self.cell.imports.add(name)
            self._write(name)
            if alias.name == "load":
                self.cell.loads = True

    visit_Import = visit_ImportFrom = _import

    # ------------------------------------------------------------ what is changed in place

    def _change(self, name):
        if name is None:
            return
        if self.parameters:
            if any(name in parameters for parameters in self.parameters):
                self.cell.changes_arguments = True
            elif not self._local(name):
                self.cell.changes_later.add(name)
            return
        if self._local(name):  # of a comprehension
            return
        todo, seen = {name}, set()
        while todo:
            name = todo.pop()
            seen.add(name)
            if name not in self.bound:
                self.cell.changes.add(name)
            todo |= self.origins.get(name, set()) - seen

    def _comes_from(self, targets, value):
        """Note of which names' objects the targets may be."""
        if self.parameters or _fresh(value):
            return
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.origins.setdefault(node.id, set()).update(names)

    def _target(self, target):
        """Where something is assigned: to a name, or into an object."""
        for node in ast.walk(target):
            if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self._change(_root(node))
        self.visit(target)

    # ------------------------------------------------------------ statements, in the order in which they run

    def visit_Assign(self, node):
        self.visit(node.value)
        self._comes_from(node.targets, node.value)
        for target in node.targets:
            self._target(target)

    def visit_AnnAssign(self, node):
        self.visit(node.annotation)
        if node.value:
            self.visit(node.value)
            self._comes_from([node.target], node.value)
            self._target(node.target)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        self._comes_from([node.target], node.value)
        self._maybe([node.target])

    def visit_AugAssign(self, node):
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)
            self._change(node.target.id)  # of a list; of a number it is not, which the name alone does not say
            self._write(node.target.id)
        else:
            self._target(node.target)

    def visit_Delete(self, node):
        for target in node.targets:
            self._target(target)

    def _maybe(self, nodes):
        """Visit what may not run: what it binds is not sure afterwards. Says what it would have bound."""
        before = set(self.bound)
        for node in nodes:
            self.visit(node)
        inside, self.bound = self.bound, before
        return inside

    def visit_If(self, node):
        self.visit(node.test)
        self.bound |= self._maybe(node.body) & self._maybe(node.orelse)

    def visit_IfExp(self, node):
        self.visit(node.test)
        self._maybe([node.body])
        self._maybe([node.orelse])

    def visit_BoolOp(self, node):
        self.visit(node.values[0])
        for value in node.values[1:]:
            self._maybe([value])

    def visit_For(self, node):
        self.visit(node.iter)
        self._comes_from([node.target], node.iter)
        self._maybe([node.target, *node.body])
        self._maybe(node.orelse)

    def visit_While(self, node):
        self.visit(node.test)
        self._maybe(node.body)
        self._maybe(node.orelse)

    def visit_Try(self, node):
        self._maybe(node.body + node.orelse)
        for handler in node.handlers:
            self._maybe([handler])
        for statement in node.finalbody:
            self.visit(statement)

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node):
        if node.type:
            self.visit(node.type)
        if node.name:
            self._write(node.name)
        for statement in node.body:
            self.visit(statement)

    def visit_With(self, node):
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars:
                self._comes_from([item.optional_vars], item.context_expr)
                self._target(item.optional_vars)
        self._maybe(node.body)  # the context may swallow an exception

    def visit_Match(self, node):
        self.visit(node.subject)
        for case in node.cases:
            self._maybe([case.pattern, *filter(None, [case.guard]), *case.body])

    def visit_MatchAs(self, node):
        self._captured(node, node.name)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        self._captured(node, node.rest)

    def _captured(self, node, name):
        self.generic_visit(node)
        if name:
            self._write(name)

    # ------------------------------------------------------------ calls

    def visit_Call(self, node):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if isinstance(node.func, ast.Attribute) and name in CHANGES_ITSELF:
            self._change(_root(node.func.value))
        if name in CHANGES_ARGUMENT and node.args:
            self._change(_root(node.args[0]))
        for keyword in node.keywords:
            if keyword.arg == "out":
                self._change(_root(keyword.value))
        if name == "load":
            self.cell.loads = True
        if isinstance(node.func, ast.Name) and name in DRAWS:
            self.cell.draws = True
        if isinstance(node.func, ast.Name) and node.args and isinstance(node.args[0], ast.Constant):
            if name == "state":
                self.cell.keys += (node.args[0].value,)
            if name == "figure":
                self.cell.figures += (node.args[0].value,)
        self.visit(node.func)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(argument, ast.GeneratorExp) and name in CONSUMES:
                self._comprehension(argument)
            else:
                self.visit(argument)

    def visit_Starred(self, node):
        if isinstance(node.value, ast.GeneratorExp) and isinstance(node.ctx, ast.Load):
            self._comprehension(node.value)
        else:
            self.generic_visit(node)

    # ------------------------------------------------------------ scopes of their own

    def _comprehension(self, node):
        first, *others = node.generators
        self.visit(first.iter)
        names = set()
        for generator in node.generators:
            names |= {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        self.scopes.append(names)
        for generator in node.generators:
            if generator is not first:
                self.visit(generator.iter)
            self._into(generator.target)
        self._maybe([test for generator in node.generators for test in generator.ifs])
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._maybe(parts)
        self.scopes.pop()

    def _into(self, target):
        for node in ast.walk(target):
            if isinstance(node, ast.Subscript | ast.Attribute):
                self.cell.unclear = True  # an object filled by a comprehension

    visit_ListComp = visit_SetComp = visit_DictComp = _comprehension

    def visit_GeneratorExp(self, node):
        self.visit(node.generators[0].iter)
        self.parameters.append(set())
        self._comprehension(node)
        self.parameters.pop()

    def visit_FunctionDef(self, node):
        for part in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        arguments = _arguments(node.args)
        for part in [*(a.annotation for a in arguments), node.returns]:
            if part:
                self.visit(part)
        self._write(node.name)
        self._function({a.arg for a in arguments}, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        self._function({a.arg for a in _arguments(node.args)}, [node.body])

    def _function(self, parameters, body):
        self.scopes.append(parameters | _assigned(body))
        self.parameters.append(parameters)
        self._maybe(body)
        self.parameters.pop()
        self.scopes.pop()

    def visit_ClassDef(self, node):
        for part in [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]:
            self.visit(part)
        outside = set(self.bound), set(self.cell.writes)
        for statement in node.body:
            self.visit(statement)
        if not self.scopes:
            self.bound, self.cell.writes = outside
        self._write(node.name)


def _arguments(arguments):
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [argument for argument in every if argument]


def _assigned(body):
    """Names that a function's body assigns itself, those of functions inside it left aside."""
    names, todo = set(), list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        if isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            children = [n for child in children for n in ast.walk(child) if isinstance(n, ast.NamedExpr)]
        todo += children
    return names


def _root(node):
    """The name at the beginning of a.b[c].d(); None where it begins otherwise."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _fresh(value):
    """Whether an expression makes a new object, which no other name can be of."""
    if isinstance(value, ast.Call):
        name = getattr(value.func, "id", getattr(value.func, "attr", ""))
        return name in FRESH or name[:1].isupper()
    new = ast.Constant | ast.JoinedStr | ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
    return isinstance(value, new)
