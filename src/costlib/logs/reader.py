"""From the lines of a log to what the last complete start-up in it says."""

from collections import Counter
from itertools import chain, islice

from costlib.logs import llama_cpp
from costlib.logs.lines import LONGEST, Reading, cleaned, writer_of
from costlib.logs.log import Log, Pool, Rank
from costlib.logs.startup import ENGINES, INSIDE, MOST_NOTES, State
from costlib.schema import InputError
from costlib.units import Quantity

__all__ = ["read"]

NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama.cpp": "llama.cpp",
    "ollama": "ollama",
    "tensorrt_llm": "TensorRT-LLM",
}
TOGETHER = 128  # lines that are looked at at once
MOST_SHAPES, LONGEST_SHAPE = 4096, 512  # lines without their digits of which it is remembered what they may fit
PASSED = b"0123456789\0"  # what a key never has
WRITTEN = ("Received request", "Added request", "prompt: ")  # what users wrote may look like a line of an engine
SHOWN = {
    "vllm": ("Model loading took … GiB", "Available KV cache memory: … GiB", "# GPU blocks: …"),
    "sglang": ("KV Cache is allocated. #tokens: …", "max_total_num_tokens=…"),
    "llama.cpp": ("llama_kv_cache: size = … MiB", "KV self size = … MiB"),
    "ollama": ('msg="kv cache" device=… size=…', "memory.required.kv=…"),
    "tensorrt_llm": ("Allocated … GiB for max tokens in paged KV cache", "Using … tokens in paged KV cache"),
}


def read(lines, where="log"):
    """What a log says, by its last complete start-up.

    Parameters
    ----------
    lines : iterable of str
        Of a file, of standard input, or of a text that was pasted. They are streamed: what is kept does not grow
        with the number of lines of a server at work.
    where : str
        How messages call it.

    Returns
    -------
    Log

    Raises
    ------
    InputError
        If no line is known: with what is looked for, engine by engine.

    Notes
    -----
    Lines that are not known are passed over and counted. Of several start-ups the last that came to its end counts;
    of several engines the one that started last.

    Examples
    --------
    >>> log = read(["INFO gpu_worker.py Available KV cache memory: 69.66 GiB",
    ...             "INFO kv_cache_utils.py GPU KV cache size: 652,144 tokens"])
    >>> log.engine, log.tokens.m_as("token"), log.known
    ('vllm', 652144.0, 2)
    """
    reader = Reader()
    lines = iter(lines)
    while some := list(islice(lines, TOGETHER)):
        reader.take(some)
    return reader.log(where)


class Reader:
    """Takes one line after the other."""

    def __init__(self):
        self.states = {engine: State(engine) for engine in ENGINES if engine not in INSIDE}
        self.number = self.known = self.unknown = self.too_long = 0
        self.odd = Counter()
        self.cut = self.nul = False
        self.own = Counter()  # lines of an engine that has another inside
        self.notes = []
        self.table = [
            (line, engine, INSIDE.get(engine, engine), getattr(module, "rank_of", llama_cpp.rank_of))
            for engine, module in ENGINES.items()
            for line in module.LINES
        ]
        self.keys = {line.key.encode() for line, *_ in self.table}
        self.shapes = {}

    def take(self, lines):
        """Some lines, with or without their ends."""
        if not self.known:
            self.nul = self.nul or any("\0" in raw for raw in lines)
        before = self.known
        for number, (raw, table) in enumerate(zip(lines, self._tables(lines), strict=True), self.number + 1):
            self.cut = False
            if table and self._known(number, raw, table):
                self.known += 1
        self.number += len(lines)
        self.unknown += len(lines) - (self.known - before)

    def _tables(self, lines):
        """The patterns that each line may fit: those whose key it has.

        A log repeats its lines, but for numbers. No key has a digit, so a line without its digits has the same keys,
        or more; of those lines it is remembered, and the others are searched for a key all at once.
        """
        shapes = [b"" if len(raw) > LONGEST else raw.encode(errors="replace").translate(None, PASSED) for raw in lines]
        if len(self.shapes) > MOST_SHAPES:
            self.shapes.clear()
        tables = {shape: self.shapes.get(shape) for shape in shapes}
        fresh = [shape for shape, table in tables.items() if table is None]
        together = b"".join(fresh)
        keys = [key for key in self.keys if key in together] if fresh else ()
        for shape in fresh:
            found = {key for key in keys if key in shape}
            tables[shape] = tuple(row for row in self.table if row[0].key.encode() in found) if found else ()
            if len(shape) <= LONGEST_SHAPE:
                self.shapes[shape] = tables[shape]
        self.too_long += sum(len(raw) > LONGEST for raw in lines)
        return [tables[shape] for shape in shapes]

    def _known(self, number, raw, table):
        """Whether a line fits a pattern; what it says goes to the start-up of its engine."""
        text, known = cleaned(raw), False
        if any(mark in text for mark in WRITTEN):
            return False
        for line, engine, family, rank_of in table:
            try:
                values = line.read(text)
            except ValueError as error:
                self._note(f"line {number:,}: {error} is not credible, and was passed over")
                known = True
                continue
            if values is None:
                continue
            known = True
            self.own[engine] += 1
            if line.role == "runs":
                self.states[family].use.take(values)
            else:
                self.states[family].take(Reading(number, line, rank_of(text), values, writer_of(text)))
            self.cut |= not raw.endswith("\n") and line.ends(text)
        return known

    def _note(self, text):
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    def log(self, where):
        """What was read, all in all."""
        started = [state for state in self.states.values() if state.best() is not None]
        if not started:
            raise InputError(self._nothing(where))
        state = max(started, key=lambda state: state.best().last_number)
        engine = "ollama" if state.engine == "llama.cpp" and self.own["ollama"] else state.engine
        found = state.best()
        found.engine = engine
        said = ENGINES[engine].assembled(found)
        return _log(engine, said, found.ranks_spoken(), state, [*found.notes, *self._remarks(state, engine)], self)

    def _remarks(self, state, engine):
        """What is to be said of the whole file."""
        if state.starts > 1:
            yield f"{state.starts} start-ups came to their end; the last counts"
        if state.finished not in (None, state.current) and state.current.last_number:
            yield "a start-up after it did not come to its end"
        for other in self.states.values():
            if other is not state and other.finished is not None:
                yield f"a start-up of {NAMES[other.engine]} is there too, before it; wanted a file for each"
        if self.too_long:
            yield f"{self.too_long:,} lines of more than {LONGEST:,} characters were passed over"
        if self.cut and self.number > 1:
            yield "the last line has no end: if the log is cut there, its number may be"
        yield from self.notes

    def _nothing(self, where):
        if not self.number:
            return f"{where}: is empty; wanted the log of an engine"
        wanted = "; ".join(f"{NAMES[name]}: {', '.join(map(repr, texts))}" for name, texts in SHOWN.items())
        count = f"none of its {self.number:,} lines" if self.number > 1 else "its line is not one that"
        what = " (it has bytes that are no text)" if self.nul else ""
        what += f" ({self.too_long:,} of more than {LONGEST:,} characters)" if self.too_long else ""
        what += f" ({self.notes[0]})" if self.notes else ""
        return f"{where}: {count} is known{what}; looked for lines of {wanted}".replace("one that is known", "known")


def _log(engine, said, speakers, state, notes, reader):
    """A log, with units."""
    weights, caches, memory = said.get("weights") or {}, said.get("caches") or {}, said.get("memory") or {}
    ranks = _ranks(weights, caches, memory, said.get("held") or {})
    settings = said.get("settings") or {}
    notes += _of_the_ranks(ranks, settings, said)
    smallest = None
    if not said.get("layered") and any(rank.cache is not None for rank in ranks):
        smallest = min((rank for rank in ranks if rank.cache is not None), key=lambda rank: rank.cache)
    return Log(
        engine=engine,
        version=said.get("version"),
        model=said.get("model"),
        ranks=ranks,
        smallest=smallest,
        weights=_bytes(sum(weights.values())) if weights else None,
        cache=_bytes(said.get("cache")),
        tokens=_of("token", said.get("tokens")),
        block=_of("token", said.get("block")),
        blocks=said.get("blocks"),
        context_limit=_of("token", said.get("context_limit")),
        concurrency=_plain(said.get("concurrency")),
        sequences=said.get("sequences"),
        kv_format=said.get("kv_format"),
        utilisation=_plain(said.get("utilisation")),
        memory=_bytes(min(memory.values())) if memory else None,
        needed=_bytes(said.get("needed")),
        refused=said.get("refused"),
        settings=settings,
        pools=tuple(Pool(**{**pool, "size": _bytes(pool["size"])}) for pool in said.get("pools", ())),
        hybrid=said.get("hybrid"),
        use=state.use.use(),
        rounding=_rounding(said, weights),
        notes=tuple(dict.fromkeys(notes)),
        readings=tuple(state.best().readings),
        starts=state.starts,
        known=reader.known,
        unknown=reader.unknown,
    )


def _rounding(said, weights):
    """What the printed figures may be off, in their units."""
    values = {"weights": sum(weights.values()), **{name: said.get(name) for name in ("cache", "needed", "concurrency")}}
    halves = {name: value.half for name, value in values.items() if hasattr(value, "half")}
    if (most := said.get("half")) is not None:
        halves |= {name: min(half, most) for name, half in halves.items() if name in ("cache", "needed")}
    return halves


def _ranks(weights, caches, memory, held):
    return tuple(
        Rank(
            name=name or "rank 0",
            weights=_bytes(weights.get(name)),
            cache=_bytes(caches.get(name)),
            memory=_bytes(memory.get(name)),
            tokens=_of("token", held.get(name)),
        )
        for name in dict.fromkeys(chain(weights, caches))
    )


def _of_the_ranks(ranks, settings, said):
    """Notes on ranks that do not speak, and on pools that differ."""
    count = max(settings.get("tensor_parallel", 1), len(ranks))
    speaking = [rank for rank in ranks if rank.weights is not None]
    if not said.get("layered") and 0 < len(speaking) < count:
        yield f"{len(speaking)} of {count} ranks say what their weights take; the others are not in the sum"
    if (stages := settings.get("pipeline_parallel", 1)) > 1:
        yield f"{stages} pipeline stages hold different layers: the sizes of a rank are those of its layers"
    pools = [(rank.cache, rank.tokens) for rank in ranks if rank.cache is not None]
    sizes, held = [size for size, _ in pools], {tokens for _, tokens in pools}
    if not said.get("layered") and len(sizes) > 1 and max(sizes) > 1.01 * min(sizes):
        if len(held) == 1 and None not in held:
            yield "the ranks hold the same tokens in pools of different sizes, so they hold different layers or heads"
        else:
            yield "the pools of the ranks differ; the least counts for all"


def _bytes(value):
    return None if value is None else Quantity(float(round(value)), "byte")


def _plain(value):
    return None if value is None else float(value)


def _of(unit, value):
    return None if value is None else Quantity(float(value), unit)
