"""Runs one cell, and collects what it shows: as a notebook does, without one."""

import ast
import contextlib
import functools
import io
import os
import sys
from dataclasses import dataclass, field
from types import ModuleType

import costlib
from costlib import book, scenario
from costlib.book import MIME
from costlib.book.live import absent, drawing
from costlib.book.live.rendering import as_text, shortened

__all__ = ["Result", "Session", "run", "said"]

KINDS = {mime: kind for kind, mime in MIME.items()}


@dataclass
class Result:
    """What became of a cell.

    ``names`` are what it gave its names; ``shown`` its outputs, pairs of a kind and its data. Where it did not
    run, ``why`` is one of ``"waits"``, ``"absent"``, ``"long"`` and ``"failed"``, and ``text`` says it to a reader.
    """

    names: dict = field(default_factory=dict)
    shown: list = field(default_factory=list)
    why: str = ""
    text: str = ""
    asked: bool = False  # for the scenario
    drawn: bool = False  # whether its figures were, or could not be: for the reason ``undrawn``
    undrawn: str = ""


class Session:
    """What cells run in: a scenario, a place for what they show, and figures that are drawn or not.

    Used as a context, it takes the place of what a notebook has around a cell.
    """

    def __init__(self):
        self.scenario = None
        self.file = ""  # the reader's, empty without one
        self.long = False  # whether cells that take long are run
        self.progress = None  # called after each cell: how many are done, of how many, and which it was
        self.draws = False
        self.shown = []
        self.asked = False
        self.printed = io.StringIO()
        self._axes, self._figure, self._load = book.axes, book.figure, scenario.load

    @contextlib.contextmanager
    def around(self):
        """The surroundings of a cell, for as long as the context lasts."""
        display = ModuleType("IPython.display")
        display.display, display.Markdown, display.HTML = self.display, Markdown, Html
        with (
            _in_place(sys.modules, "IPython.display", display),
            _in_place(os.environ, scenario.VARIABLE, self.file),
            _in_place(vars(book), "axes", self.axes),
            _in_place(vars(book), "figure", self.figure),
            _in_place(vars(costlib), "load", self.load),
            _in_place(vars(scenario), "load", self.load),
            contextlib.redirect_stdout(self.printed),
        ):
            yield

    def load(self, path=None):
        """As :func:`costlib.load`; the reader's scenario is loaded once, and noted as asked for."""
        if path is not None:
            return self._load(path)
        self.asked = True
        return self.scenario

    def axes(self, *args, **options):
        return (self._axes if self.draws else drawing.axes)(*args, **options)

    def figure(self, *args, **options):
        if self.draws:
            self._figure(*args, **options)

    def display(self, *values, raw=False):
        """As IPython's: bundles of MIME types as they are, anything else as text."""
        for value in values:
            self.flush()
            if not raw:
                self.shown.append(_kind_of(value))
                continue
            kind = next((KINDS[mime] for mime in value if mime in KINDS), None)
            self.shown.append((kind, value[MIME[kind]]) if kind else ("plain", value.get("text/plain", "")))

    def flush(self):
        """Put what was printed so far among what is shown."""
        text = self.printed.getvalue()
        self.printed.seek(0)
        self.printed.truncate()
        if text:
            self.shown.append(("stream", text))


@contextlib.contextmanager
def _in_place(mapping, key, value):
    """Have one entry of a mapping be another for a while; others may come and go."""
    before = mapping.get(key)
    mapping[key] = value
    try:
        yield
    finally:
        if before is None:
            mapping.pop(key, None)
        else:
            mapping[key] = before


class Markdown(str):
    """A text in MyST, to be displayed."""


class Html(str):
    """HTML, which is shown as text: what a cell writes gets no further."""


def _kind_of(value):
    if isinstance(value, Markdown):
        return "markdown", str(value)
    return "plain", str(value) if isinstance(value, Html) else as_text(value)


def run(cell, names, session, draws):
    """Run a cell in a namespace.

    Parameters
    ----------
    cell : Cell
    names : dict
        Its namespace, which it changes.
    session : Session
        Within its context.
    draws : bool
        Whether its figures are drawn.

    Returns
    -------
    Result
        Without the names.
    """
    session.draws, session.asked, session.shown = draws, False, []
    result = Result(drawn=draws)
    try:
        body, last = _compiled(cell.source)
        exec(body, names)
        if last is not None and (value := eval(last, names)) is not None:
            session.display(value)
    except absent.Waiting:
        result.why, result.text = "waits", absent.WAITS
    except absent.Absent as what:
        result.why, result.text = "absent", f"It needs {what}"
    except BaseException as error:  # also an exit, or an interrupt: only the reader's button stops Python
        result.why, result.text = "failed", said(error)
    session.flush()
    result.shown, result.asked = session.shown, session.asked
    return result


@functools.lru_cache(maxsize=1024)
def _compiled(source):
    """The code of a cell, and that of its last expression, whose value is shown; None where it has none."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = compile(ast.Expression(tree.body.pop().value), "cell", "eval")
    return compile(tree, "cell", "exec"), last


def said(error):
    """An error in a line: of which kind, what it says, and where in the cell."""
    line = getattr(error, "lineno", None)
    try:
        text = shortened(str(getattr(error, "msg", error)))
    except BaseException:
        text = "an error that does not say what it is"
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == "cell":
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f" (line {line})" if line else ""
    return f"{type(error).__name__}: {text}{where}"
