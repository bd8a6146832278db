"""The start-ups of an engine: which lines belong together, and what they say; and how it was at work."""

from collections import Counter
from dataclasses import dataclass, field

from costlib.logs import llama_cpp, ollama, sglang, tensorrt_llm, vllm
from costlib.logs.log import Use

__all__ = ["ENGINES", "INSIDE", "MOST_NOTES", "MOST_READINGS", "Found", "State", "Using"]

ENGINES = {"vllm": vllm, "sglang": sglang, "llama.cpp": llama_cpp, "ollama": ollama, "tensorrt_llm": tensorrt_llm}
INSIDE = {"ollama": "llama.cpp"}  # whose lines stand among those of the other
MOST_READINGS = 5000  # of one start-up; the longest published ones have some 300
MOST_NOTES = 20


class State:
    """The start-ups of one engine: the last that came to its end, and the one under way."""

    def __init__(self, engine):
        self.engine, self.module = engine, ENGINES[engine]
        self.current, self.finished = Found(), None
        self.starts = 0
        self.lasting = {}  # what a server says once, before several start-ups
        self.use = Using()

    def take(self, reading):
        if self._anew(reading):
            self.close()
            self.current = Found(list(self.lasting.values()))
        if reading.line.role == "server":
            self.lasting[reading.line] = reading
        if reading.line.role == "begins":
            self.current.begun.add((reading.line, reading.rank))
        self.current.take(reading)

    def _anew(self, reading):
        """Whether a line opens a new start-up: a first line that was there, or weights after a pool."""
        now, role = self.current, reading.line.role
        if role == "begins":
            return (reading.line, reading.rank) in now.begun or (self._ended(now) and not now.begun)
        return role == "loads" and self._ended(now) and reading.rank in now.loaded

    def _complete(self, found):
        return ollama.complete(found) if self.engine == "llama.cpp" else self.module.complete(found)

    def _ended(self, found):
        module = ollama if self.engine == "llama.cpp" else self.module
        return getattr(module, "ended", self._complete)(found)

    def close(self):
        if self._complete(self.current):
            self.finished = self.current
            self.starts += 1

    def best(self):
        """The readings that count: of the last complete start-up, or of the one that there is."""
        if self._complete(self.current):
            if self.finished is not self.current:
                self.finished = self.current
                self.starts += 1
            return self.current
        if self.finished is not None:
            return self.finished
        return self.current if self.current.readings else None


@dataclass
class Found:
    """The readings of one start-up."""

    readings: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    begun: set = field(default_factory=set)
    loaded: set = field(default_factory=set)
    writers: dict = field(default_factory=dict)
    names: set = field(default_factory=set)  # of all values
    last_number: int = 0

    def __post_init__(self):
        for reading in self.readings:
            self.names.update(reading.values)

    def take(self, reading):
        self.last_number = reading.number
        self.names.update(reading.values)
        self._check_writer(reading)
        if reading.line.role == "loads":
            self.loaded.add(reading.rank)
        if len(self.readings) < MOST_READINGS:
            self.readings.append(reading)
        else:
            self.note(f"a start-up of more than {MOST_READINGS:,} lines that are known; the rest was passed over")

    def _check_writer(self, reading):
        """Say so if a process goes on after another one wrote as the same rank: each has its own start-up."""
        if not reading.writer:
            return
        seen = self.writers.setdefault(reading.rank, [])
        if reading.writer in seen[:-1]:
            self.note(
                "several engines write into this log at once, and their figures are mixed; wanted a file for each"
            )
        elif reading.writer not in seen and len(seen) < MOST_NOTES:
            seen.append(reading.writer)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def has(self, name):
        return name in self.names

    def fits(self, key):
        """Whether a line of this kind was there."""
        return any(reading.line.key == key for reading in self.readings)

    def all(self, name):
        return [reading.values[name] for reading in self.readings if name in reading.values]

    def last(self, name):
        return next(reversed(self.all(name)), None)

    def lasts(self, names):
        """The last value by name, of those that stand there."""
        return {name: self.last(name) for name in names if self.has(name)}

    def least(self, name):
        return min(self.all(name), default=None)

    def ranks(self, *names):
        return list(dict.fromkeys(r.rank for r in self.readings if any(name in r.values for name in names)))

    def of_rank(self, rank):
        return [reading.values for reading in self.readings if reading.rank == rank]

    def by_rank(self, name):
        """The last value by rank; of a value that stands twice and differs the last line is named."""
        values, differs = {}, None
        for reading in self.readings:
            if name not in reading.values:
                continue
            now, before = reading.values[name], values.get(reading.rank)
            if before is not None and abs(now - before) > 0.01 * max(abs(now), abs(before)):
                differs = reading.number
            values[reading.rank] = now
        if differs is not None:
            self.note(f"line {differs:,}: {name} was printed before with another value; this one counts")
        return values

    def sum_by_rank(self, name):
        sums = Counter()
        for reading in self.readings:
            if name in reading.values:
                sums[reading.rank] += reading.values[name]
        return dict(sums)

    def by(self, label, name):
        """The last value by what another value of the line says."""
        return {r.values[label]: r.values[name] for r in self.readings if name in r.values and label in r.values}

    def ranks_spoken(self):
        return list(dict.fromkeys(reading.rank for reading in self.readings))


class Using:
    """Sums over the lines of a server at work."""

    def __init__(self):
        self.lines = self.usages = self.total = 0
        self.peak = self.running = self.waiting = self.preemptions = self.retracted = self.hit_rate = None
        self.new_tokens = self.cached_tokens = 0

    def take(self, values):
        self.lines += "usage" in values
        if "usage" in values:
            self.usages += 1
            self.total += values["usage"]
            self.peak = max(values["usage"], self.peak or 0)
        for name in ("running", "waiting", "preemptions"):
            if name in values:
                setattr(self, name, max(values[name], getattr(self, name) or 0))
        if "retracted" in values:
            self.retracted = values["retracted"] + (self.retracted or 0)
        self.hit_rate = values.get("hit_rate", self.hit_rate)
        self.new_tokens += values.get("new_tokens", 0)
        self.cached_tokens += values.get("cached_tokens", 0)

    def use(self):
        if not (self.usages or self.running is not None or self.preemptions is not None):
            return None
        prompt = self.new_tokens + self.cached_tokens
        return Use(
            lines=self.lines,
            mean=self.total / self.usages if self.usages else None,
            peak=self.peak,
            running=self.running,
            waiting=self.waiting,
            preemptions=self.retracted if self.preemptions is None else self.preemptions,
            hit_rate=self.cached_tokens / prompt if prompt else self.hit_rate,
        )
