"""Reads the book under a scenario: all that its pages publish, and their sentences, without a build.

Cells are run as the page in a browser runs them, and only those that read a part of the scenario that has
changed. Nothing is drawn or simulated.
"""

import ast
import contextlib
import os
import re
from unittest import mock

import jupytext
import numpy as np

from conftest import BOOK, is_page
from costlib import grammar, simulation
from costlib.book import llama_cpp, postgres
from costlib.book.live.cells import Cell
from costlib.book.live.page import Page
from costlib.book.live.running import Session
from costlib.book.printed import printed
from costlib.scenario import PARTS
from costlib.units import Quantity

ALL = frozenset(PARTS)
# What a property of a scenario follows from; any other name of it is taken to follow from all.
PROPERTIES = {part: frozenset({part}) for part in PARTS} | {
    "peak_rate": frozenset({"accelerator", "precision"}),
    "weights": frozenset({"model", "precision"}),
    "node_memory": frozenset({"accelerator", "node"}),
    "state_pool": frozenset({"model", "accelerator", "node", "reserve"}),
    "runtime_on_each": frozenset({"node", "reserve"}),
    "rank_pool": frozenset({"model", "accelerator", "node", "reserve"}),
    "sharings": frozenset({"model", "node"}),
    "sharing": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "stored_state": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "state_copies": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "stored_weights": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "weight_copies": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "times_stored": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "resident_sequences": frozenset({"model", "accelerator", "node", "reserve", "precision"}),
    "beyond_limit": frozenset({"model", "workload"}),
    "other_link": frozenset({"accelerator", "node", "link"}),
    "file": frozenset(),
}
LOADED = object()  # stands for a scenario where the parts of a name are kept
ROLE = re.compile(r"\{val\}`([^`:]+):?([^`]*)`")


class Seen:
    """What the book says of one scenario."""

    def __init__(self, case, outputs, prose):
        self.case = case
        outputs = [(kind, plain(data)) for kind, data in outputs]
        self.records = {data["key"]: data for kind, data in outputs if kind == "value"}
        self.figures = {data["key"]: data for kind, data in outputs if kind == "figure"}
        self.tables = {data["key"]: data for kind, data in outputs if kind == "table"}
        self._prose = prose

    def __getitem__(self, key):
        """A published number, as a quantity; a verdict, as a text."""
        record = self.records[key]
        return Quantity(float(record["value"]), record["unit"]) if record["number"] else record["value"]

    def number(self, key, unit=None):
        return self[key].m_as(unit) if unit else self[key].magnitude

    def rows(self, key):
        """The rows of a table, without its header."""
        lines = self.tables[key]["grid"].splitlines()[2:]
        return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]

    def texts(self):
        """Every text that a reader reads and that may depend on the scenario, by where it stands."""
        for key, record in self.records.items():
            yield key, record["printed"]
        for key, data in (self.figures | self.tables).items():
            yield from ((key, self.quoted(data[part])) for part in ("caption", "alt", "grid") if part in data)
        for page, line in self._prose:
            if all(key in self.records for key, _ in ROLE.findall(line)):
                yield page, self.quoted(line)

    def quoted(self, text):
        return ROLE.sub(lambda found: printed(self.records[found[1]], found[2]), text)


def plain(data):
    """What was shown, with spaces that may break a line in the place of those that may not."""
    if not isinstance(data, dict):
        return data
    return {name: text.replace("\u00a0", " ") if isinstance(text, str) else text for name, text in data.items()}


class Book:
    """The pages, and what they published when they were last read."""

    def __init__(self):
        self.session = Reading()
        self.session.long = True  # simulations are replaced
        self.case = None
        self.pages, self.parts, self.prose = {}, {}, []
        for path in sorted(BOOK.glob("*.md")):
            if not is_page(path):
                continue
            notebook = jupytext.read(path, fmt="md:myst").cells
            code = [cell for cell in notebook if cell.cell_type == "code"]
            page = Page([{"source": cell.source, "tags": cell.metadata.get("tags", ())} for cell in code])
            self.pages[path.stem], self.parts[path.stem] = page, parts_of_cells(page.cells.all)
            lines = [line for cell in notebook if cell.cell_type != "code" for line in cell.source.splitlines()]
            self.prose += [(path.stem, line) for line in lines if "{val}" in line]

    def read(self, case):
        """What the book says of a scenario. A cell that fails is an error."""
        changed = {part for part in PARTS if self.case is None or getattr(self.case, part) != getattr(case, part)}
        self.case, self.session.scenario, self.session.file = case, case, case.file
        outputs = []
        before = os.getcwd()
        os.chdir(BOOK)  # where a page runs
        try:
            with self.session.around(), replaced():
                for stem, page in self.pages.items():
                    self._run(page, self.parts[stem], changed)
                    outputs += [shown for result in page.results if result for shown in result.shown]
        finally:
            os.chdir(before)
        return Seen(case, outputs, self.prose)

    def _run(self, page, parts, changed):
        live = {number for number, read in enumerate(parts) if read}
        for number in live:
            if parts[number] & changed:
                page.results[number] = None
        page.run(live, self.session)
        failed = [result.text for result in page.results if result and result.why]
        assert not failed, failed[0]

    def keys(self):
        """The keys of all that depends on the scenario: texts among the values, figures and tables."""
        found = set()
        for stem, page in self.pages.items():
            for read, result in zip(self.parts[stem], page.results, strict=True):
                for kind, data in result.shown if result and read else ():
                    if kind in ("figure", "table") or (kind == "value" and not data["number"]):
                        found.add(data["key"])
        return found


class Reading(Session):
    """What cells run in: figures keep their texts and are not drawn."""

    def figure(self, key, drawn, title, caption, alt):
        self.shown.append(("figure", {"key": key, "title": title, "caption": f"**{title}.** {caption}", "alt": alt}))


# ---------------------------------------------------------------- which cells read what


def parts_of_cells(cells):
    """The parts of the scenario that each cell reads, by way of whatever names."""
    known, found, loading = {}, [], set()
    for cell in cells:
        parts, own = set(), objects(cell.source)
        for statement in statements(cell.source):
            names = Cell(ast.unparse(statement)).names
            of_it = ALL if loads(statement) else parts_read(statement, names.reads, known)
            parts |= of_it
            for name in changed(statement, names, own):
                before = frozenset() if name in names.surely else known.get(name, frozenset())
                known[name] = of_it if before is LOADED else of_it | before
            if ast.unparse(statement) == "case = costlib.load()":
                known["case"] = LOADED
                loading.add(len(found))
        found.append(parts)
    for number in loading:  # what it has loaded must be up to date for all that read it
        found[number] = found[number].union(*found)
    return found


def changed(statement, names, own):
    """The names that a statement writes, and those of its cell's objects that it changes in place."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    return names.writes | {root(node) for node in ast.walk(statement) if changes(node)} & own


def objects(source):
    """The names that a cell gives to anything but modules and what comes out of them."""
    made = [node for node in ast.parse(source).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return Cell(ast.unparse(made)).names.writes - {"case"}


def changes(node):
    """Whether it changes an object in place: by a method that is called for nothing else, or by what is put into it."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    return isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)


def root(node):
    """The name with which a.b[c].d() begins."""
    while isinstance(node, ast.Expr | ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", None)


def loads(statement):
    """Whether it asks for the reader's scenario."""
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call) and not node.args)
    return any(ast.unparse(call.func) == "costlib.load" for call in calls)


def statements(source):
    """The statements of a cell; several names assigned at once are taken apart."""
    for statement in ast.parse(source).body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                yield ast.fix_missing_locations(ast.Assign([one], its, lineno=statement.lineno))
        else:
            yield statement


def parts_read(statement, names, known):
    parts = frozenset().union(*(known[name] for name in names if name in known and known[name] is not LOADED))
    for name in (name for name in names if known.get(name) is LOADED):
        uses = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name]
        fields = [
            node.attr
            for node in ast.walk(statement)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        ]
        parts |= frozenset().union(*(PROPERTIES.get(field, ALL) for field in fields))
        if len(fields) < len(uses):
            parts |= ALL
    return parts


# ---------------------------------------------------------------- what is not run


def some_waits(arrivals, *_):
    """In the place of a simulation: waits of no meaning."""
    shape = arrivals.magnitude.shape
    return Quantity(np.random.default_rng(0).exponential(1, shape), "second")


def some_call_waits(_, model_times, *__):
    return some_waits(model_times)


def once(function):
    known = {}

    def remembered(*args):
        if repr(args) not in known:
            known[repr(args)] = function(*args)
        return known[repr(args)]

    return remembered


REPLACED = {
    (simulation, "queue_waits"): some_waits,
    (simulation, "static_batch_waits"): some_waits,
    (simulation, "call_waits"): some_call_waits,
    (grammar, "byte_automaton"): once(grammar.byte_automaton),
    (postgres, "observed"): once(postgres.observed),
    (llama_cpp, "evidence"): once(llama_cpp.evidence),
}


@contextlib.contextmanager
def replaced():
    """Around the cells: what takes long is left out, or done once."""
    with contextlib.ExitStack() as stack:
        for (module, name), new in REPLACED.items():
            stack.enter_context(mock.patch.object(module, name, new))
        yield
