"""The cells of one page, run as a notebook runs them, but only those that have to be."""

from collections import Counter

from costlib.book.live import absent
from costlib.book.live.cells import Cell, Cells
from costlib.book.live.running import Result, run
from costlib.book.live.sameness import same

__all__ = ["Page"]

LONG = "It takes long, and waits until you ask for it"
UNSURE = "It uses what another cell could not compute"


class Page:
    """The cells of a page, with what each of them gave its names.

    Any cell can be run as if all before it had just run: the names are laid out
    anew, from the first cell up to this one, from what each gave them. What a
    cell has done stands as long as the names that it uses stand for the same.

    Parameters
    ----------
    cells : list of dict
        Of each the source and the tags.
    tested : bool
        Whether the tests have seen that no function which the cells call changes an object of another cell.
    """

    def __init__(self, cells, tested=True):
        self.own = [Cell(cell["source"], cell["tags"], tested) for cell in cells]
        self.edited = {}
        self.names = {}
        self._set_up()

    def _set_up(self):
        cells = [self.edited.get(number, cell) for number, cell in enumerate(self.own)]
        self.cells = Cells(cells)
        self.results = [None] * len(cells)  # None where a cell has not run, or may have to run again
        self.before = {}  # what the latter did before
        self.given = Counter()  # how often a cell gave something else to a name, or to all of its names: to None

    # ------------------------------------------------------------ what makes cells run again

    def edit(self, number, source):
        """Put other source into a cell, or its own back. All cells are to be run again."""
        self.edited.pop(number, None)
        if source != self.own[number].source:
            self.edited[number] = Cell(source, self.own[number].tags, strange=True)
        self._set_up()

    def forget_scenario(self):
        """What depends on the scenario may have to run again."""
        if self.cells.unclear:
            self._set_up()
            return
        again = self.cells.to_run({number for number, cell in enumerate(self.cells.all) if cell.loads} | self._asked())
        for number in again:
            if self.results[number]:
                self.before[number] = self.results[number]
            self.results[number] = None
        for number in again:
            if self.cells.remakes[number]:  # objects that are changed in place are made anew
                for each in {number} | self.cells.remakes[number]:
                    self.before.pop(each, None)

    def forget(self, reason):
        """What could not be run for this reason is to be tried again."""
        for number, result in enumerate(self.results):
            if result and reason in (result.why, result.undrawn):
                self.results[number] = None

    def _asked(self):
        """Cells that were seen to ask for the scenario."""
        known = [*enumerate(self.results), *self.before.items()]
        return {number for number, result in known if result and result.asked}

    @property
    def live(self):
        """Cells that may show something else than what is published."""
        if self.cells.unclear:
            return set(range(len(self.results)))
        return self.cells.asking({*self.edited, *(n for n in self._asked() if not self.cells.all[n].loads)})

    # ------------------------------------------------------------ what there is

    def numbers(self):
        """Cells that have more to show than a figure."""
        return {number for number, cell in enumerate(self.cells.all) if not cell.draws or cell.keys}

    def values(self):
        """The records of what the cells state, by key."""
        shown = [output for result in self.results if result and not result.why for output in result.shown]
        return {data["key"]: data for kind, data in shown if kind == "value"}

    def namespaces(self):
        """The page's names, and what each cell gave them."""
        known = [*self.results, *self.before.values()]
        return [self.names, *(result.names for result in known if result)]

    # ------------------------------------------------------------ running

    def run(self, wanted, session):
        """Run those of the wanted cells, and of the cells that they need, that have to run; figures are not drawn.

        Parameters
        ----------
        wanted : set of int
        session : Session
        """
        self._run(set(range(len(self.results))) if self.cells.unclear else self.cells.slice(wanted), session)

    def draw(self, number, session):
        """Run a cell and draw its figures, unless they are drawn and stand. Says what became of it.

        Parameters
        ----------
        number : int
        session : Session

        Returns
        -------
        Result
        """
        plain = self.results[number]
        if plain and (plain.drawn or plain.why):
            return plain
        again = {number}
        if plain and self.cells.remakes[number]:  # it has changed objects in place, and would once more
            again = self.cells.to_run({number})
        for each in again:
            self.results[each] = None
        self._run(self.cells.slice(again), session, number)
        result = self.results[number]
        if result.why and plain:  # what it computes is known, if not its figure
            plain.undrawn, plain.drawn = result.why, True
            self.results[number] = plain
        return result

    def _run(self, needed, session, drawn=None):
        to_run = {number for number in needed if self.results[number] is None}
        self.names.clear()
        self.names["__name__"] = "__main__"
        for number in range(max(to_run, default=-1) + 1):
            if number in to_run:
                draws = number == drawn or (number in self.edited and not absent.waits("figures"))
                self._do(number, session, draws)
            self._lay_out(number)

    def _do(self, number, session, draws):
        """Run a cell, unless it would do what it did before."""
        before, uses = self.before.pop(number, None), self._uses(number)
        if before and before.why == "absent":  # it would be looked for in vain again
            self.results[number] = before
            return
        if before and before.uses == uses and not before.asked and before.drawn >= draws and before.why not in PASSING:
            self.results[number] = before
            return
        result = self.results[number] = self._attempt(number, session, draws)
        result.uses = uses
        if before is None or before.why or result.why or before.left != result.left:
            self.given[number, None] += 1
            return
        imported = self.cells.all[number].imports
        for name, value in result.names.items():
            known = name in before.names
            if not known or not (name in imported or same(before.names[name], value)):
                self.given[number, name] += 1

    def _uses(self, number):
        """What stands behind the names that a cell uses: as long as it is equal, so are they."""
        return [
            (writer, name, self.given[writer, None], self.given[writer, name])
            for name, writers in self.cells.sources[number].items()
            for writer in writers
        ]

    def _attempt(self, number, session, draws):
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


PASSING = ("long", "waits")  # reasons that do not last


def _passed_on(text):
    """The reason of a cell, as that of those that depend on it."""
    return text if text.startswith(UNSURE) else f"{UNSURE}: {text[:1].lower()}{text[1:]}"
