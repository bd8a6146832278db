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
NEW = (
    ast.BinOp | ast.Compare | ast.Constant | ast.Dict | ast.DictComp | ast.JoinedStr | ast.List | ast.ListComp | ast.Set
) | ast.SetComp
PLAIN = ast.Compare | ast.Constant | ast.JoinedStr  # nothing is a part of these
SPENT = {"enumerate", "filter", "iter", "map", "open", "reversed", "zip"}  # their results are read only once
ALONE = set(  # functions whose results nothing is a part of
    "arange array bool count cumsum deepcopy default_rng empty float format full geomspace int len linspace ones range "
    "round split splitlines str sum zeros".split()
)
FRESH = ALONE | {"copy", "defaultdict", "deque", "dict", "list", "set", "sorted"}  # whose results are nobody else's
CHANGES_ITSELF = set(
    "add append appendleft clear discard extend fill insert ito ito_base_units ito_reduced_units ito_root_units pop "
    "popitem popleft put remove resize reverse seed send setdefault sort update write writerow writerows "
    "choice choices exponential gauss integers lognormal normal permutation randint random sample uniform".split()
)
ASKS = {"load", "ran"}  # functions by which a cell asks for the scenario, or may: a command does
CHANGES_ARGUMENT = {"delattr", "heapify", "heappop", "heappush", "next", "setattr", "shuffle"}


@dataclass
class Statement:
    """One statement of a cell, and what its names say of it.

    ``reads`` are names that it may read before it writes them; ``later`` those that functions made in it read when
    they are called; ``writes`` all that it may write, ``surely`` those that it writes in any case, ``fresh`` those to
    which it gives new objects, ``spent`` those whose objects are used up by being read. ``changes`` are names of
    earlier statements whose objects it changes in place, ``changes_within`` those where it may be a part of the
    object, ``changes_later`` those where its functions do it; ``changes_arguments`` are the arguments of its function,
    which has this ``signature``, ended by None, that are changed; None stands for any. ``passes`` says what it passes
    to functions: the function's name, the argument's place or name, and the name passed; ``passes_later`` the same of
    its functions, ``passes_arguments`` of what these are given. None stands for a function that has no name, and for
    any argument.
    ``mentions`` are names that it does more with than to call them.
    """

    reads: set = field(default_factory=set)
    later: set = field(default_factory=set)
    writes: set = field(default_factory=set)
    surely: set = field(default_factory=set)
    imports: set = field(default_factory=set)
    fresh: set = field(default_factory=set)
    spent: set = field(default_factory=set)
    changes: set = field(default_factory=set)
    changes_within: set = field(default_factory=set)
    changes_later: set = field(default_factory=set)
    signature: tuple = ()
    changes_arguments: set = field(default_factory=set)
    passes: set = field(default_factory=set)
    passes_later: set = field(default_factory=set)
    passes_arguments: set = field(default_factory=set)
    mentions: set = field(default_factory=set)
    defines: bool = False  # a function or a class: what is inside does not run yet
    nests: bool = False  # a function that makes functions
    tested: bool = False
    unclear: bool = False
    loads: bool = False  # asks for the scenario by name


class Cell:
    """One code cell: its source, its tags, and what its statements say of it.

    Of a ``tested`` cell it is known that it calls no function that changes an object of another cell. Of a ``strange``
    one nothing is known: a call may change all that it is given.
    """

    def __init__(self, source, tags=(), tested=False, strange=False):
        self.source, self.tags = source, tuple(tags)
        self.long = "long" in self.tags  # run only when asked for
        self.keys, self.figures = (), ()  # of the values that it states, and of what it draws
        self.draws = False
        self.unclear = False  # whether it may read and write more than its names say
        self.loads = False  # whether it asks for the scenario by name
        self.statements = []
        self.writes, self.surely = set(), set()  # names that it may write, and those that it writes in any case
        self.imports = set()  # names that it gives to modules, and to what comes out of them, and to nothing else
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply
            self.unclear = True
            return
        flow = _Flow(self, tested, strange)
        self.statements = [flow.run(statement) for statement in tree.body]
        self.unclear = any(statement.unclear for statement in self.statements)
        self.loads = any(statement.loads for statement in self.statements)
        self.writes = set().union(*(statement.writes for statement in self.statements))
        self.surely = set().union(*(statement.surely for statement in self.statements))
        self.imports = set().union(*(statement.imports for statement in self.statements))
        self.imports -= set().union(*(statement.writes - statement.imports for statement in self.statements))


class Cells:
    """The cells of a page in order, and which of them each one needs.

    Where one of them is ``unclear``, what is said of the others does not hold either: the page is to be run whole.
    """

    def __init__(self, cells):
        self.all = list(cells)
        self.unclear = any(cell.unclear for cell in self.all)
        self._order = [(number, statement) for number, cell in enumerate(self.all) for statement in cell.statements]
        cell_of = [number for number, _ in self._order]
        links = _Links([statement for _, statement in self._order])
        self._needs = links.needs
        count = range(len(self.all))
        self.needs = [set() for _ in count]  # of each cell, all earlier ones that it needs
        self.remakes = [set() for _ in count]  # of each, those whose objects it changes: where it is run, so are they
        self.sources = [{} for _ in count]  # of each, the names that it uses, and the cells that may have written them
        for at, number in enumerate(cell_of):
            self.needs[number] |= {cell_of[i] for i in links.needs[at]} - {number}
            self.remakes[number] |= {cell_of[i] for i in links.remakes[at]} - {number}
            for name, writers in links.sources[at].items():
                self.sources[number].setdefault(name, set()).update({cell_of[i] for i in writers} - {number})

    def asking(self, cells=()):
        """Cells of which a statement asks for the scenario, or needs one that does; these cells ask for it too."""
        asking = {at for at, (number, statement) in enumerate(self._order) if statement.loads or number in cells}
        return {number for at, (number, _) in enumerate(self._order) if at in asking or self._needs[at] & asking}

    def dependents(self, of):
        """All cells that are among these, or need one that is run with them."""
        found = set(of)
        for number, needs in enumerate(self.needs):
            if needs & found:
                found.add(number)
        return found

    def slice(self, wanted):
        """All cells that are wanted, or needed by one that is: a cell is run with all of its statements."""
        found, todo = set(), set(wanted)
        while todo:
            found |= todo
            todo = set().union(*(self.needs[number] for number in todo)) - found
        return found

    def to_run(self, changed):
        """What may have to run again where these cells do: they, what depends on them, and what it changes."""
        run = self.dependents(set(changed))
        while True:
            more = self.dependents(run.union(*(self.remakes[number] for number in run)))
            if more == run:
                return run
            run = more

    def stating(self, keys):
        """Numbers of the cells that state any of these keys."""
        wanted = set(keys)
        return {number for number, cell in enumerate(self.all) if wanted.intersection(cell.keys)}


class _Links:
    """Which statement needs which, by the names that they read, write and change."""

    def __init__(self, statements):
        self.all = statements
        self.needs, self.remakes, self.sources = [], [], []
        self._carried = []  # of each statement, those whose functions its names may hold
        self._writers = {}  # name -> statements that may have written it last, in order
        for at, statement in enumerate(statements):
            self._add(at, statement)

    def _add(self, at, statement):
        needs, sources = self._sources(statement.reads)
        self._carried.append(self._carries(at, statement))
        made = self._made(at, statement)
        self.needs.append(needs | made)
        self.remakes.append(made)
        self.sources.append(sources)
        for name in self._shared(made):  # whoever reads what may be the changed object needs what changed it
            self._writers.setdefault(name, []).append(at)
        for name in statement.surely:
            self._writers[name] = [at]
        for name in statement.writes - statement.surely:
            self._writers.setdefault(name, []).append(at)

    def _sources(self, names):
        """The statements from which these names, and what they need, come; and the writers of each name."""
        found, todo, sources = set(), list(names), {}
        while todo:
            name = todo.pop()
            if name in sources:
                continue
            sources[name] = tuple(self._writers.get(name, ()))
            for writer in sources[name]:
                for new in ({writer} | self.needs[writer]) - found:
                    found.add(new)
                    todo += self.all[new].later  # a function's names, as they are when it is called
        return found, sources

    def _carries(self, at, statement):
        """The statements whose functions may be called through the names of this one."""
        carried = {at} if statement.later or statement.defines else set()
        for name in statement.reads | statement.later:
            for writer in self._givers(name):
                if statement.defines or name in statement.mentions or self.all[writer].nests:
                    carried |= self._carried[writer]
        return carried

    def _givers(self, name):
        """The statements that may have put a function into what a name stands for."""
        writers = [(i, self.all[i]) for i in self._writers.get(name, ())]
        return [i for i, s in writers if name in s.writes | s.changes | s.changes_within]

    def _changed(self, at, statement):
        """Names of earlier statements in whose objects a statement may change something, by functions that it calls."""
        if statement.defines or statement.tested:
            return statement.changes_within
        called = set(self._carried[at])
        for name in statement.reads:
            called = called.union(*(self._carried[writer] for writer in self._givers(name)))
        functions = [self.all[i] for i in called]
        changed = statement.changes_within.union(*(function.changes_later for function in functions))
        spoilt = _Spoilt(functions, set().union(*(s.mentions for s in self.all[: at + 1])))
        passed = statement.passes.union(*(function.passes_later for function in functions))
        return changed | {name for function, place, name in passed if spoilt.at(function, place)}

    def _made(self, at, statement):
        """The statements that made the objects that a statement may change, or made what these are parts of."""
        within, made = self._changed(at, statement), set()
        for name in statement.changes | statement.reads:
            for writer in self._writers.get(name, ()):
                if name in self.all[writer].spent or name in statement.changes:
                    made |= {writer} if name in self.all[writer].fresh else {writer} | self.needs[writer]
        for name in within:
            for writer in self._writers.get(name, ()):
                if not self.all[writer].signature:  # a function is called; what it has made comes out of it
                    made |= {writer} | self.needs[writer]
        return {i for i in made if self.all[i].writes != self.all[i].imports}  # nobody changes a module

    def _shared(self, made):
        """Names that may be of objects made by these statements."""
        if not made:
            return set()
        sharing = [i for i, needs in enumerate(self.needs) if i in made or needs & made]
        holding = [self.all[i] for i in sharing if i in made or not self.all[i].defines]  # what functions read is late
        return {name for statement in holding for name in statement.writes - statement.imports}


class _Spoilt:
    """Which arguments functions change, themselves or by passing them to one that does.

    Parameters
    ----------
    functions : list of Statement
        Those that make the functions.
    mentions : set of str
        Names with which more is done than to call them: these functions may be called by any name.
    """

    def __init__(self, functions, mentions):
        self.mentions = mentions
        self.functions = [(function, set(function.changes_arguments)) for function in functions]
        before = None
        while before != (before := sum(len(arguments) for _, arguments in self.functions)):
            for function, arguments in self.functions:
                arguments |= {a for to, place, a in function.passes_arguments if self.at(to, place)}

    def at(self, name, place):
        """Whether a function that may be called by this name changes the argument at this place."""
        return any(
            self._may_be(function, name) and _at(function.signature, place, arguments)
            for function, arguments in self.functions
            if arguments
        )

    def _may_be(self, function, name):
        loose = not function.signature or not self.mentions.isdisjoint(function.writes)
        return loose or name in function.writes


def _at(signature, place, arguments):
    """Whether the argument at a place, a number or a name, is among these."""
    if place is None or None in arguments or not signature:
        return True
    if isinstance(place, str):
        return place in arguments
    return place >= len(signature) - 1 or signature[place] in arguments


class _Flow(ast.NodeVisitor):
    """Walks a cell in the order in which it runs, and notes names."""

    def __init__(self, cell, tested, strange):
        self.whole, self.tested, self.strange = cell, tested, strange
        self.node = self.statement = None  # the one that it walks through, and what it notes of it
        self.bound = set()  # names surely written in it so far
        self.scopes = []  # names of functions and comprehensions around
        self.parameters = []  # of the functions around
        self.origins = {}  # name written in it -> names whose object it may be, or be a part of
        self.parts = {}  # name written in it -> names whose objects may be parts of the new one that it stands for

    def run(self, node):
        defines = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        self.node, self.statement, self.bound = node, Statement(defines=defines, tested=self.tested), set()
        self.origins, self.parts = {}, {}
        self.visit(node)
        self.statement.surely = self.bound & self.statement.writes
        return self.statement

    # ------------------------------------------------------------ names

    def _local(self, name):
        return any(name in scope for scope in self.scopes)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self._read(node.id)
        else:
            if isinstance(node.ctx, ast.Del):
                self._read(node.id)
            self._write(node.id)
            if isinstance(node.ctx, ast.Del):
                self.bound.discard(node.id)

    def _read(self, name, mentioned=True):
        if self._local(name):
            return
        if name in UNCLEAR:
            self.statement.unclear = True
        if self.parameters:
            self.statement.later.add(name)
        if mentioned:
            self.statement.mentions.add(name)
        if name not in self.bound:
            self.statement.reads.add(name)

    def _write(self, name):
        if not self._local(name):
            self.statement.writes.add(name)
            self.bound.add(name)

    def visit_Global(self, node):
        self.statement.unclear = True

    def _import(self, node):
        for alias in node.names:
            name = (alias.asname or alias.name).partition(".")[0]
            if name == "*":
                self.statement.unclear = True
            if not self._local(name):
                self.statement.imports.add(name)
            self._write(name)
            if alias.name in ASKS:
                self.statement.loads = True

    visit_Import = visit_ImportFrom = _import

    # ------------------------------------------------------------ what is changed in place

    def _change(self, node):
        """Note that an object is changed in place, and that of which it may be a part."""
        name = _root(node)
        arguments, later, now = self._resolved(name, within=not isinstance(node, ast.Name))
        self.statement.changes_arguments |= arguments
        self.statement.changes_later |= later
        if isinstance(node, ast.Name):
            self.statement.changes |= now & {name}
            now = now - {name}
        self.statement.changes_within |= now

    def _pass(self, function, place, name):
        """Note that the object of a name is passed to a function."""
        arguments, later, now = self._resolved(name)
        self.statement.passes_arguments |= {(function, place, argument) for argument in arguments}
        self.statement.passes_later |= {(function, place, name) for name in later}
        self.statement.passes |= {(function, place, name) for name in now}

    def _resolved(self, name, within=True):
        """What a name may stand for, or for a part of it: arguments, names that functions find, and others."""
        todo, seen = {name} - {None}, set()
        arguments, later, now = set(), set(), set()
        while todo:
            name = todo.pop()
            seen.add(name)
            todo |= self.origins.get(name, set()) - seen
            if within or len(seen) > 1:
                todo |= self.parts.get(name, set()) - seen
            if any(name in parameters for parameters in self.parameters):
                own = self.statement.signature and name in self.parameters[0]
                arguments.add(name if own else None)
            elif self._local(name):
                pass
            elif self.parameters:
                later.add(name)
            elif name not in self.bound:
                now.add(name)
        return arguments, later, now

    def _comes_from(self, targets, value):
        """Note of which names' objects the targets may be."""
        for target in targets:
            if pairs := _paired(target, value):
                for one, its in pairs:
                    self._comes_from([one], its)
                continue
            if isinstance(target, ast.Name) and not self.scopes:
                self.statement.fresh |= {target.id} if _fresh(value) else set()
                self.statement.spent |= {target.id} if _spent(value) else set()
            names = set() if isinstance(value, PLAIN) or _called(value) in ALONE else _names(value)
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    whose = self.parts if _fresh(value) and node is target else self.origins
                    whose.setdefault(node.id, set()).update(names)

    def _target(self, target):
        """Where something is assigned: to a name, or into an object."""
        for node in ast.walk(target):
            if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self._change(node.value)
                self.statement.unclear |= self.strange and isinstance(node, ast.Attribute)  # of a module, perhaps
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
            self._change(node.target)  # of a list; of a number it is not, which the name alone does not say
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
        either = self._maybe(node.body) & self._maybe(node.orelse)
        self.bound |= either

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
        name = _called(node)
        if isinstance(node.func, ast.Attribute) and name in CHANGES_ITSELF:
            self._change(node.func.value)
        if name in CHANGES_ARGUMENT and node.args:
            self._change(node.args[0])
        if self.strange:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part is not node.func:
                    self._change(ast.Attribute(part))
        for keyword in node.keywords:
            if keyword.arg == "out":
                self._change(keyword.value)
        if name in ASKS:
            self.statement.loads = True
        if isinstance(node.func, ast.Name) and name in DRAWS:
            self.whole.draws = True
        if isinstance(node.func, ast.Name) and node.args and isinstance(node.args[0], ast.Constant):
            if name == "state":
                self.whole.keys += (node.args[0].value,)
            if name == "figure":
                self.whole.figures += (node.args[0].value,)
        function = node.func.id if isinstance(node.func, ast.Name) and not self._local(node.func.id) else None
        if function:
            self._read(function, mentioned=False)
        else:
            self.visit(node.func)
            self._pass(None, None, _root(node.func))
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        places = [(None if starred else place, argument) for place, argument in enumerate(node.args)]
        for place, argument in [*places, *((keyword.arg, keyword.value) for keyword in node.keywords)]:
            for name in _names(argument):
                self._pass(function, place, name)
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
            self._comes_from([generator.target], generator.iter)
            self._into(generator.target)
        self._maybe([test for generator in node.generators for test in generator.ifs])
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._maybe(parts)
        self.scopes.pop()

    def _into(self, target):
        for node in ast.walk(target):
            if isinstance(node, ast.Subscript | ast.Attribute):
                self.statement.unclear = True  # an object filled by a comprehension

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
        if node is self.node:
            self.statement.signature = (*(a.arg for a in [*node.args.posonlyargs, *node.args.args]), None)
        self._function({a.arg for a in arguments}, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        self._function({a.arg for a in _arguments(node.args)}, [node.body])

    def _function(self, parameters, body):
        if self.parameters:
            self.statement.nests = True
        self.scopes.append(parameters | _assigned(body))
        self.parameters.append(parameters)
        self._maybe(body)
        self.parameters.pop()
        self.scopes.pop()

    def visit_ClassDef(self, node):
        for part in [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]:
            self.visit(part)
        outside = set(self.bound), set(self.statement.writes)
        for statement in node.body:
            self.visit(statement)
        if not self.scopes:
            self.bound, self.statement.writes = outside
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


def _paired(target, value):
    """Which value goes to which target in a, b = c, d; nothing where that is not so plain."""
    displays = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
    if not displays or len(target.elts) != len(value.elts):
        return []
    if any(isinstance(part, ast.Starred) for part in target.elts + value.elts):
        return []
    return list(zip(target.elts, value.elts, strict=True))


def _names(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _spent(value):
    """Whether an expression makes what can be read only once."""
    return _called(value) in SPENT or isinstance(value, ast.GeneratorExp)


def _fresh(value):
    """Whether an expression makes a new object, which no other name can be of; its parts may be others'."""
    return isinstance(value, NEW) or _called(value) in FRESH or _called(value)[:1].isupper()


def _called(value):
    """The last part of the name of what is called; empty where nothing is."""
    return getattr(value.func, "id", getattr(value.func, "attr", "")) if isinstance(value, ast.Call) else ""
