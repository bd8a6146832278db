"""What the reader's browser asks of Python: change the scenario, edit a cell, run what takes long.

Answers are messages, plain data. ``numbers`` says what of the page is different
from what it shows now, ``figure`` brings a picture, ``done`` ends the answer.
"""

import os
from dataclasses import replace

from costlib import scenario
from costlib.book.live import absent, fields, inputs, rendering
from costlib.book.live.notices import notices
from costlib.book.live.page import Page
from costlib.book.live.running import Session, said
from costlib.book.printed import printed

__all__ = ["Kernel", "start", "values_of_each"]


UNSTATED = "The edited code does not state it"


def start(book, page, emit, folder="."):
    """A kernel in a browser, with stand-ins for what is not there. The modules of the pages are imported after this."""
    around = absent.standing_in()
    around.__enter__()
    kernel = Kernel(book, page, emit, folder, at_once=False)
    kernel.around = around  # which would end if nobody kept it
    return kernel


class Kernel:
    """One page in a reader's browser.

    It is run in the folder of the pages, whose files the cells read.

    Parameters
    ----------
    book : dict
        As ``book.json`` has it.
    page : str
        The page that is shown.
    emit : callable
        Takes each message.
    folder : str
        Where the reader's file is written.
    at_once : bool
        Whether an answer brings its figures. A browser asks for one after the other, with :meth:`draw`, so that
        it can ask for something newer between two.
    """

    def __init__(self, book, page, emit, folder=".", at_once=True):
        self.book, self.page, self.emit = book, page, emit
        self.file = os.path.join(os.path.abspath(folder), inputs.FILE)
        self.given = {}
        self.session = Session()
        self.shown = {}  # what the page shows now, by what it is
        self.all = False  # whether cells that do not depend on the scenario are run too
        self.at_once = at_once
        self.to_draw = []  # numbers of cells
        self.edited = None  # the cell whose outputs the page has no place for
        self.renderer = rendering.Renderer(page, self.record)
        self.quotes = list(dict.fromkeys(book["pages"][page]["quotes"]))
        self.keys = {quote.partition(":")[0] for quote in self.quotes}
        self.pages = {name: Page(book["pages"][name]["cells"]) for name in self._concerned()}
        self.own = self.pages[page]

    def _concerned(self):
        homes = [self.book["values"][key]["page"] for key in self.keys if key in self.book["values"]]
        return dict.fromkeys([self.page, *sorted(homes)])

    # ------------------------------------------------------------ what the page asks

    def change(self, given, figures_first=()):
        """Run what these inputs change, figures in view first; or say why they cannot be used, and change nothing.

        Parameters
        ----------
        given : dict of str to str
            Texts by field, the one that was set last, last.
        figures_first : iterable of str
            Keys of figures.
        """
        given = {key: text for key, text in given.items() if text.strip()}
        try:
            case = inputs.load(given)
        except inputs.InputError:
            self.emit({"kind": "refused", "problems": inputs.problems(given)})
            return
        self.given = given
        if given:
            with open(self.file, "w", encoding="utf-8") as file:
                file.write(inputs.scenario_text(given))
        self.use(replace(case, file=self.file if given else ""))
        self._answer(figures_first)

    def model_file(self, name, text):
        """Say which inputs a model's file makes, or why it makes none; the page stays as it is."""
        try:
            self.emit({"kind": "model", "inputs": inputs.from_model_file(name, text)})
        except inputs.InputError as error:
            self.emit({"kind": "refused", "problems": {"model": str(error)}})

    def use(self, case):
        """Take a scenario for the one that the cells ask for."""
        self.session.scenario, self.session.file = case, case.file
        self.session.long = False
        for page in self.pages.values():
            page.forget_scenario()

    def edit(self, cell, source, figures_first=()):
        """Run the page with another source of a cell."""
        self.own.edit(cell, source)
        self.edited = cell
        self._answer(figures_first)

    def restore(self, cell, figures_first=()):
        """Run the page with the cell's own source."""
        self.edit(cell, self.book["pages"][self.page]["cells"][cell]["source"], figures_first)

    def run_long(self, figures_first=()):
        """Run the cells that take long; after each cell, say how far it is."""
        self.session.long = True
        self.session.progress = self._progress
        self._again("long", figures_first)
        self.session.progress = None

    def run_all(self):
        """Run also the cells that do not depend on the scenario: to see that they give what is published."""
        self.all = True
        self._answer(())

    def arrived(self, group, figures_first=()):
        """Run what waited for the files of a group, which are there now."""
        absent.arrived(group, [names for page in self.pages.values() for names in page.namespaces()])
        self._again("waits", figures_first)

    def _progress(self, done, of, cell):
        self.emit({"kind": "progress", "done": done, "of": of, "cell": cell})

    def _again(self, reason, figures_first):
        for page in self.pages.values():
            page.forget(reason)
        if self.session.scenario is not None:
            self._answer(figures_first)

    # ------------------------------------------------------------ values

    def record(self, key):
        """A value as it is now: as computed, or as published where it stays so. None where no page states it."""
        home = self.book["values"].get(key, {}).get("page", self.page)
        for name in dict.fromkeys([self.page, home]):
            if name in self.pages and (found := self.pages[name].values().get(key)):
                return found | {"page": name}
        return self.book["values"].get(key)

    def wanted(self, name):
        """The cells of a page that are run: those that show more than figures or state what is quoted, where it may be
        other than what is published."""
        page = self.pages[name]
        wanted = page.numbers() if name == self.page else page.cells.stating(self.keys)
        return wanted if self.all else wanted & page.live

    # ------------------------------------------------------------ an answer

    def _answer(self, figures_first):
        if self.session.scenario is None:
            self.use(inputs.load({}))
        with self.session.around():
            for name in self.pages:
                self.pages[name].run(self.wanted(name), self.session)
            self.to_draw = self._to_draw(figures_first)
            self._emit_numbers()
        while self.at_once and self.draw():
            pass

    def draw(self):
        """Draw the next figures that are to be drawn; says whether there were any."""
        if not self.to_draw:
            self.emit({"kind": "done"})
            return False
        number = self.to_draw.pop(0)
        with self.session.around():
            self._emit_figures(number, self.own.draw(number, self.session))
        return True

    def _to_draw(self, figures_first):
        """Cells whose figures may be other than the page shows; those in view first."""
        cells, first = self.own.cells.all, set(figures_first)
        drawing = [number for number in sorted(self.own.live) if cells[number].draws]
        if not self.session.file and not self.own.edited:  # all is as published
            self._take_back(key for number in drawing for key in cells[number].figures)
            return []
        return sorted(drawing, key=lambda number: first.isdisjoint(cells[number].figures))

    def _take_back(self, keys):
        """Have the page show its published figures again."""
        for key in keys:
            if self.shown.pop(("figure", key), None):
                self.emit({"kind": "figure", "key": key, "published": True})

    def _emit_figures(self, number, result):
        pictures = self._rendered(number, self._pictures) if not result.why else ()
        result = self.own.results[number] if pictures is None else result
        if result.why:
            self._take_back(self.own.cells.all[number].figures)
            self.emit({"kind": "stays", "cell": number, "why": result.why, "text": result.text})
        for picture in pictures or ():
            if self._new(("figure", picture["key"]), picture):
                self.emit({"kind": "figure", **picture})

    def _pictures(self, number):
        figures = [data for kind, data in self.own.results[number].shown if kind == "figure"]
        names = ("key", "light", "dark", "alt")
        return [
            {name: data[name] for name in names} | {"caption": self.renderer.inline(data["caption"])}
            for data in figures
        ]

    def _emit_numbers(self):
        tables, outputs = self._shown()
        results = dict(enumerate(self.own.results))
        stays = {n: result.text for n, result in results.items() if result and result.why}
        why = {n: results[n].why for n in stays}
        if self.edited in stays and why[self.edited] == "failed":
            self.emit({"kind": "failed", "cell": self.edited, "text": stays[self.edited]})
        values = self._values()
        quotes, unprinted = self._quotes(values)
        self.emit(
            {
                "kind": "numbers",
                "values": values,
                "quotes": quotes,
                "tables": tables,
                "outputs": outputs,
                "figures": [key for number in self.to_draw for key in self.own.cells.all[number].figures],
                "scenario": inputs.scenario_text(self.given),
                "stands": fields.numbers(self.session.scenario),
                "notices": notices(self.given, self.session.scenario),
                "stays": stays,
                "why": why,
                "values_stay": self._unknown() | unprinted,
            }
        )
        self.edited = None

    def _values(self):
        """Records that the page shows otherwise, its own and those that it quotes."""
        before = [key for kind, key in self.shown if kind == "value"]
        keys = dict.fromkeys([*self.own.values(), *sorted(self.keys), *before])
        records = {key: record for key in keys if (record := self.record(key))}
        return {key: record for key, record in records.items() if self._new(("value", key), record)}

    def _unknown(self):
        """Keys that stay as published, since the cell that states them did not run; with the reason."""
        unknown = {}
        for name, page in self.pages.items():
            for number in page.cells.stating(self.keys) if name != self.page else range(len(page.results)):
                result = page.results[number]
                if result and result.why:
                    unknown |= dict.fromkeys({*page.cells.all[number].keys, *page.own[number].keys}, result.text)
        gone = {key for number in self.own.edited for key in self.own.own[number].keys} - self.own.values().keys()
        return dict.fromkeys(gone, UNSTATED) | unknown

    def _quotes(self, values):
        """Texts of what the page quotes and what has changed; and what cannot be quoted so, with the reason."""
        texts, unprinted = {}, {}
        for quote in self.quotes:
            key, _, form = quote.partition(":")
            if record := self.record(key):
                try:
                    text = printed(record, form)
                except (ValueError, TypeError) as error:  # in another unit than before, or no number any more
                    unprinted[key] = f"It cannot be quoted here: {error}"
                    continue
                if key in values:
                    texts[quote] = text
        return texts, unprinted

    def _shown(self):
        """Tables and other outputs of the page's cells that it shows otherwise: by key, by cell; None as published."""
        shown = {}
        for number in sorted(self.own.live):
            result = self.own.results[number]
            if result and not result.why:
                shown |= self._rendered(number, self._tables_and_output) or {}
        for what in [what for what in self.shown if what[0] in ("table", "output") and what not in shown]:
            shown[what] = None
        new = {what: data for what, data in shown.items() if self._new(what, data)}
        return ({name: data for (kind, name), data in new.items() if kind == wanted} for wanted in ("table", "output"))

    def _tables_and_output(self, number):
        outputs = self.own.results[number].shown
        shown = {("table", data["key"]): self.renderer.table(data) for kind, data in outputs if kind == "table"}
        if number in self.own.edited or any(kind in ("stream", "plain", "markdown") for kind, _ in outputs):
            shown["output", number] = "".join(self._output(*output) for output in outputs)
        return shown

    def _rendered(self, number, render):
        """What a cell shows, as HTML; None where its texts cannot be set: then the cell has failed."""
        try:
            return render(number)
        except Exception as error:
            self.own.results[number] = replace(self.own.results[number], why="failed", text=said(error))

    def _output(self, kind, data):
        make = {
            "value": self.renderer.box,
            "table": self.renderer.whole_table,
            "figure": lambda data: self.renderer.figure(data["key"]),
            "stream": rendering.stream,
            "plain": rendering.plain,
            "markdown": self.renderer.block,
        }
        return make[kind](data)

    def _new(self, what, data):
        """Whether the page shows something else; it will show this."""
        if self.shown.get(what) == data:
            return False
        self.shown[what] = data
        return True


def values_of_each(book, files):
    """All values that the pages compute for each scenario, without what takes long or needs more than Python.

    Cells that do not depend on the scenario are run once.

    Parameters
    ----------
    book : dict
        As ``book.json`` has it.
    files : iterable of path-like or None
        The scenarios'; None is the reference scenario.

    Returns
    -------
    list of dict
        For each, the record of each key, with its page.
    """
    session, found = Session(), []
    pages = {name: Page(content["cells"]) for name, content in book["pages"].items()}
    with absent.standing_in(absent.NATIVE), session.around():
        for file in files:
            session.scenario = scenario.load(file or scenario.REFERENCE)
            session.file = session.scenario.file
            found.append(_values(pages, session))
    return found


def _values(pages, session):
    found = {}
    for name, page in pages.items():
        page.forget_scenario()
        page.run(page.cells.stating({key for cell in page.cells.all for key in cell.keys}), session)
        found |= {key: record | {"page": name} for key, record in page.values().items()}
    return found
