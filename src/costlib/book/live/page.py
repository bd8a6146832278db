"""The cells of one page, run as a notebook runs them, but only those that have to be."""

from costlib.book.live import absent
from costlib.book.live.cells import Cell, Cells
from costlib.book.live.running import Result, run

__all__ = ["Page"]

LONG = "It takes long, and waits until you ask for it"
UNSURE = "It uses what another cell could not compute"


class Page:
    """The cells of a page, with what each of them gave its names.

    Any cell can be run as if all before it had just run: the names are laid out
    anew, from the first cell up to this one, from what each gave them. Where the
    scenario changes, the cells that it reaches run again; what the others gave stands.
    With a cell of the reader's among them all run again, in a row, after any change.

    Parameters
    ----------
    cells : list of dict
        Of each the source and the tags.
    """

    def __init__(self, cells):
        self.own = [Cell(cell["source"], cell["tags"]) for cell in cells]
        self.edited = {}
        self.names = {}
        self._set_up()

    def _set_up(self):
        self.cells = Cells([self.edited.get(number, cell) for number, cell in enumerate(self.own)])
        self.results = [None] * len(self.own)  # None where a cell is yet to run

    # ------------------------------------------------------------ what makes cells run again

    def edit(self, number, source):
        """Put other source into a cell, or its own back. All cells are to be run again."""
        self.edited.pop(number, None)
        if source != self.own[number].source:
            self.edited[number] = Cell(source, self.own[number].tags)
        self._set_up()

    def forget_scenario(self):
        """Have what depends on the scenario run again, but for what would be looked for in vain once more."""
        self._forget(n for n in self.live if self.results[n] and self.results[n].why != "absent")

    def forget(self, reason):
        """Have what could not be run for this reason run again."""
        self._forget(n for n, result in enumerate(self.results) if result and reason in (result.why, result.undrawn))

    def _forget(self, numbers):
        numbers = set(numbers)
        for number in range(len(self.results)) if numbers and self.edited else numbers:
            self.results[number] = None

    @property
    def live(self):
        """Cells that may show something else than what is published."""
        return set(range(len(self.results))) if self.edited else self.cells.live

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
        return [self.names, *(result.names for result in self.results if result)]

    # ------------------------------------------------------------ running

    def run(self, wanted, session):
        """Run those of the wanted cells, and of the cells that they need, that have to run; figures are not drawn.

        Parameters
        ----------
        wanted : set of int
        session : Session
        """
        self._run(self.live if self.edited else self.cells.slice(wanted), session)

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
        if self.edited and not absent.waits("figures"):
            again = self.live
        for each in again:
            self.results[each] = None
        self._run(self.cells.slice(again), session, again)
        result = self.results[number]
        if result.why and plain:  # what it computes is known, if not its figure
            plain.undrawn, plain.drawn = result.why, True
            self.results[number] = plain
        return result

    def _run(self, needed, session, drawn=()):
        to_run = sorted(number for number in needed if self.results[number] is None)
        self.names.clear()
        self.names["__name__"] = "__main__"
        for number in range(to_run[-1] + 1 if to_run else 0):
            if number in to_run:
                draws = number in drawn or (number in self.edited and not absent.waits("figures"))
                self.results[number] = self._attempt(number, session, draws)
                if session.progress:
                    session.progress(to_run.index(number) + 1, len(to_run), number)
            if not self.edited:
                self._lay_out(number)

    def _attempt(self, number, session, draws):
        cell = self.cells.all[number]
        for before in sorted(self.cells.needs[number]):
            if self.results[before].why:
                return Result(why=self.results[before].why, text=_passed_on(self.results[before].text))
        if cell.long and not session.long:
            return Result(why="long", text=LONG)
        if draws and cell.draws and absent.waits("figures"):
            return Result(why="waits", text=absent.WAITS)
        return run(cell, self.names, session, draws) if self.edited else self._run_alone(number, session, draws)

    def _run_alone(self, number, session, draws):
        """Run a cell, and keep what it gave its names."""
        cell = self.cells.all[number]
        aside = {name: self.names.pop(name) for name in self._spared(number) if name in self.names}
        result = run(cell, self.names, session, draws)
        result.names = {name: self.names[name] for name in cell.names.writes if name in self.names}
        for name, value in aside.items():
            self.names.setdefault(name, value)
        return result

    def _spared(self, number):
        """Names that a cell may or may not write, and does not read: whether it did, one sees by taking them away."""
        names = self.cells.all[number].names
        return names.writes - names.surely - self.cells.reads[number]

    def _lay_out(self, number):
        """Give the names what a cell gave them; none where it could not run, so that nobody takes an older one."""
        cell, result = self.cells.all[number], self.results[number]
        if result is None:
            return
        given = {} if result.why else result.names
        for name in cell.names.writes - given.keys() - (set() if result.why else self._spared(number)):
            self.names.pop(name, None)
        self.names.update(given)


def _passed_on(text):
    """The reason of a cell, as that of those that depend on it."""
    return text if text.startswith(UNSURE) else f"{UNSURE}: {text[:1].lower()}{text[1:]}"
