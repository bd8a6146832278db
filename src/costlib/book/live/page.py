"""The cells of one page, run as a notebook runs them, but only those that have to be."""

from costlib.book.live import absent
from costlib.book.live.cells import Cell, Cells
from costlib.book.live.running import Result, run
from costlib.book.live.sameness import same

__all__ = ["Page"]

LONG = "It takes long, and waits until you ask for it"
UNSURE = "It uses what another cell on this page could not compute"


class Page:
    """The cells of a page, with what each of them gave its names.

    Any cell can be run as if all before it had just run: the names are laid out
    anew, from the first cell up to this one, from what each gave them.
    """

    def __init__(self, cells):
        self.own = [Cell(cell["source"], cell["tags"]) for cell in cells]
        self.edited = {}
        self.names = {}
        self._set_up()

    def _set_up(self):
        cells = [self.edited.get(number, cell) for number, cell in enumerate(self.own)]
        self.cells = Cells(cells)
        self.results = [None] * len(cells)
        self.before = {}  # what cells that are to be run again did before

    # ------------------------------------------------------------ what makes cells run again

    def edit(self, number, source):
        """Put other source into a cell, or its own back. All cells are to be run again."""
        self.edited.pop(number, None)
        if source != self.own[number].source:
            self.edited[number] = Cell(source, self.own[number].tags)
        self._set_up()

    @property
    def whole(self):
        """Whether only a run of the whole page is sure to be right: with cells that nobody has tested."""
        return bool(self.edited) or self.cells.unclear

    def forget_scenario(self):
        """What may depend on the scenario is to be run again, if what it uses turns out to be different."""
        asking = {number for number, cell in enumerate(self.cells.all) if cell.loads} | self._seen_asking()
        again = set(range(len(self.results))) if self.whole else self.cells.to_run(asking)
        for number in again:
            if self.results[number]:
                self.before[number] = self.results[number]
            self.results[number] = None
        for number in again:
            if self.cells.remakes[number]:
                for each in {number} | self.cells.remakes[number]:
                    self.before.pop(each, None)
        if self.whole:
            self.before = {}

    def forget(self, *reasons):
        """What could not be run for one of these reasons is to be tried again."""
        for number, result in enumerate(self.results):
            if result and result.why in reasons:
                self.results[number] = None

    def _seen_asking(self):
        return {number for number, result in enumerate(self.results) if result and result.asked}

    @property
    def live(self):
        """Cells that may show something else than what is published."""
        if self.whole:
            return set(range(len(self.results)))
        return self.cells.asking({number for number in self._seen_asking() if not self.cells.all[number].loads})

    # ------------------------------------------------------------ running

    def numbers(self):
        """Cells that have more to show than a figure."""
        return {number for number, cell in enumerate(self.cells.all) if not cell.draws or cell.keys}

    def run(self, wanted, session, draw=None):
        """Run those of the wanted cells, and of the cells that they need, that are to be run.

        Parameters
        ----------
        wanted : set of int
        session : object
            What the cells run in, as :func:`costlib.book.live.running.run` takes it.
        draw : int, optional
            The one cell that draws its figures; others are run without.
        """
        needed = self.cells.slice(wanted)
        if draw is not None:
            needed |= self._again(draw)
        elif self.whole:
            needed = set(range(len(self.results)))
        to_run = {number for number in needed if self.results[number] is None}
        changed = {}  # of the cells that ran again, the names to which they gave something else
        self.names.clear()
        self.names["__name__"] = "__main__"
        for number in range(max(to_run, default=-1) + 1):
            if number in to_run:
                before = self.before.pop(number, None)
                if before and self._stands(number, before, changed):
                    self.results[number] = before
                else:
                    self.results[number] = self._run(number, session, number == draw)
                    changed[number] = _changed(before, self.results[number])
            self._lay_out(number)

    def _stands(self, number, before, changed):
        """Whether a cell would do what it did before: it does not ask for the scenario, and uses nothing else."""
        if before.asked or before.why in ("long", "waits"):
            return False
        return not any(
            writer in changed and (changed[writer] is None or name in changed[writer])
            for name, writers in self.cells.sources[number].items()
            for writer in writers
        )

    def _run(self, number, session, draws):
        cell = self.cells.all[number]
        for before in sorted(self.cells.needs[number]):
            if self.results[before] and self.results[before].why:
                return Result(why=self.results[before].why, text=_passed_on(self.results[before].text))
        if cell.long and not session.long:
            return Result(why="long", text=LONG)
        if draws and absent.waits("figures"):
            return Result(why="waits", text=absent.WAITS)
        spared = self._spared(number)
        before = {name: self.names.pop(name) for name in spared if name in self.names}
        result = run(cell, self.names, session, draws)
        if result.why:
            return result
        if cell.unclear:
            result.names = dict(self.names)
            return result
        result.names = {name: self.names[name] for name in cell.writes if name in self.names}
        result.left = {name for name in spared if name not in self.names}
        self.names.update({name: before[name] for name in result.left if name in before})
        return result

    def _spared(self, number):
        """Names that a cell may or may not write, and does not read: whether it did, one sees by taking them away."""
        cell = self.cells.all[number]
        return cell.writes - cell.surely - self.cells.sources[number].keys()

    def namespaces(self):
        """The page's names, and what each cell gave them."""
        return [self.names, *(result.names for result in self.results if result)]

    def values(self):
        """The records of what the cells state, by key."""
        shown = [output for result in self.results if result and not result.why for output in result.shown]
        return {data["key"]: data for kind, data in shown if kind == "value"}

    def _lay_out(self, number):
        """Give the names what a cell gave them; none where it could not run, so that nobody takes an older one."""
        result, cell = self.results[number], self.cells.all[number]
        if result is None:
            return
        if cell.unclear and not result.why:
            self.names.clear()
        for name in cell.writes - result.left - result.names.keys():
            self.names.pop(name, None)
        self.names.update(result.names)


def _changed(before, now):
    """Names to which a cell gave something else than before; None where all of them may be."""
    if before is None or before.why or now.why or before.left != now.left:
        return None
    return {
        name for name, value in now.names.items() if name not in before.names or not same(before.names[name], value)
    }


def _passed_on(text):
    """The reason of a cell, as that of those that depend on it."""
    return text if text.startswith(UNSURE) else f"{UNSURE}: {text[:1].lower()}{text[1:]}"
