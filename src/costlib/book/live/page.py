"""The cells of one page, run as a notebook runs them, but only those that have to be."""

from costlib.book.live import absent
from costlib.book.live.cells import Cell, Cells
from costlib.book.live.running import Result, run

__all__ = ["Page"]

LONG = "It takes long, and waits until you ask for it"
UNSURE = "It uses what another cell on this page could not compute"


class Page:
    """The cells of a page, with what each of them gave its names.

    Any cell can be run as if all before it had just run: the names are laid out
    anew, from the first cell up to this one, from what each gave them.
    """

    def __init__(self, cells):
        self.own = [Cell.of(cell["source"], cell["tags"]) for cell in cells]
        self.edited = {}
        self.names = {}
        self._set_up()

    def _set_up(self):
        cells = [self.edited.get(number, cell) for number, cell in enumerate(self.own)]
        self.cells = Cells(cells)
        self.results = [None] * len(cells)

    # ------------------------------------------------------------ what makes cells run again

    def edit(self, number, source):
        """Put other source into a cell, or its own back. All cells are to be run again."""
        self.edited.pop(number, None)
        if source != self.own[number].source:
            self.edited[number] = Cell.of(source, self.own[number].tags)
        self._set_up()

    @property
    def whole(self):
        """Whether only a run of the whole page is sure to be right: with cells that nobody has tested."""
        return bool(self.edited) or self.cells.unclear

    def forget_scenario(self):
        """What depends on the scenario is to be run again."""
        if self.whole:
            self.results = [None] * len(self.results)
            return
        known = {number for number, result in enumerate(self.results) if result}
        for number in self.cells.to_run(self.asking, known):
            self.results[number] = None

    def forget(self, *reasons):
        """What could not be run for one of these reasons is to be tried again."""
        for number, result in enumerate(self.results):
            if result and result.why in reasons:
                self.results[number] = None

    @property
    def asking(self):
        """Cells that ask for the scenario: by what they say, or because they were seen to."""
        return {
            number
            for number, (cell, result) in enumerate(zip(self.cells.all, self.results, strict=True))
            if cell.loads or (result and result.asked)
        }

    @property
    def live(self):
        """Cells that may show something else than what is published."""
        if self.whole:
            return set(range(len(self.results)))
        return self.cells.dependents(self.asking)

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
        needed = set(range(len(self.results))) if self.whole and draw is None else self.cells.slice(wanted)
        if draw is not None:
            needed |= self._again(draw)
        to_run = {number for number in needed if self.results[number] is None}
        self.names.clear()
        self.names["__name__"] = "__main__"
        for number in range(max(to_run, default=-1) + 1):
            if number in to_run:
                self.results[number] = self._run(number, session, number == draw)
            self._lay_out(number)

    def _again(self, number):
        """Let a cell run again, with what it has changed in place. Says which cells that are."""
        again = {number}
        if self.results[number] and self.cells.remakes[number]:
            again = self.cells.to_run({number}, {n for n, result in enumerate(self.results) if result})
        for each in again:
            self.results[each] = None
        return again

    def _run(self, number, session, draws):
        cell = self.cells.all[number]
        for before in sorted(self.cells.needs[number]):
            if self.results[before] and self.results[before].why:
                return Result(why=self.results[before].why, text=f"{UNSURE}: {_lower(self.results[before].text)}")
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
        read = cell.reads.union(*(self.cells.all[before].later for before in self.cells.needs[number]))
        return cell.writes - cell.surely - read

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


def _lower(sentence):
    return sentence[:1].lower() + sentence[1:]
