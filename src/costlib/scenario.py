"""A scenario: a model on a node under a workload, and a reader's changes to any part of it.

The reference scenario, ``reference.toml``, is that of the book's sources. A file of
the reader's lays over it whatever it names: a part by its name in the catalog,
or single values of a part::

    accelerator = "h200-sxm"

    [model]
    from = "qwen3-32b"

    [workload]
    context = "65536 token"
"""

import dataclasses
import functools
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from costlib import capacity, catalog, serving
from costlib.hardware import ALONE, RATES, WIDTHS, Accelerator, Link, Node
from costlib.model import Model
from costlib.schema import InputError, Origin, Part, build, choice, nearest, read, required, size
from costlib.units import Quantity, maximum, show, times

__all__ = ["REFERENCE", "VARIABLE", "Precision", "Reserve", "Scenario", "Workload", "load", "loads"]

VARIABLE = "COSTLIB_SCENARIO"  # the environment variable that names a reader's file
LARGEST_FILE = 2**20  # bytes; a scenario has some hundred
REFERENCE = Path(__file__).with_name("reference.toml")


@dataclass(frozen=True, kw_only=True)
class Precision(Part):
    """How many bytes each number takes, and at which precision the arithmetic runs."""

    weights: Quantity = size("byte/parameter", 0.1, 8, "stored size of a weight")
    kv_cache: Quantity = size("byte/element", 0.1, 8, "stored size of an element of the KV cache")
    activations: Quantity = size("byte/element", 0.5, 8, "size of an activation that accelerators exchange")
    arithmetic: str = choice(RATES, "precision computed in")

    def __post_init__(self):
        stored, computed = self.weights.m_as("bit/parameter"), WIDTHS[self.arithmetic]
        if stored >= 2 * computed:  # scales beside the weights may take half a bit more
            raise ValueError(
                f"arithmetic = {self.arithmetic!r} is narrower than weights of {stored:g} bits; wanted one as wide"
            )

    @property
    def changed_title(self):
        """Its values: a title that says others would be wrong."""
        weights, arithmetic = f"{_bits(self.weights, 'parameter')} weights", f"{self.arithmetic} arithmetic"
        if weights.startswith(f"{self.arithmetic} "):
            weights, arithmetic = f"{weights} and arithmetic", ""
        said = [weights, arithmetic, f"{_bits(self.kv_cache, 'element')} KV cache"]
        if self.activations != Quantity(2, "byte/element"):
            said.append(f"{_bits(self.activations, 'element')} activations")
        return ", ".join(filter(None, said))


@dataclass(frozen=True, kw_only=True)
class Reserve(Part):
    """What a node's memory holds besides attention state."""

    weights: Quantity = size("byte/parameter", 0.1, 8, "stored size of a weight in the node's memory")
    runtime: Quantity = size("byte", "0 B", "10 TB", "runtime, activations and fragments")

    @property
    def changed_title(self):
        """Its values, as of a precision."""
        return f"{_bits(self.weights, 'parameter')} weights and {show(self.runtime, 'GB')} for the runtime"


def _bits(stored, of):
    """The size of a number, as precisions are called."""
    return f"{stored.m_as(f'bit/{of}'):g}-bit"


@dataclass(frozen=True, kw_only=True)
class Workload(Part):
    """What the agents ask for."""

    prompt: Quantity = size("token", 1, 1e8, "prompt of the example call")
    output: Quantity = size("token", 1, 1e7, "output of the example call")
    context: Quantity = size("token", 1, 1e8, "context of a trajectory")
    observation: Quantity = size("token", 1, 1e8, "tool result that a resumed trajectory prefills")
    batch: Quantity = size("sequence", 1, 1e6, "streams that a server decodes together")
    token_rate: Quantity = size("token/second/sequence", 0.01, 1e5, "output rate of a stream")
    start_rate: Quantity = size("sequence/second", 1e-6, 1e6, "trajectories started a second")
    turns: Quantity = size("", 1, 1e6, "turns of a trajectory")
    model_time: Quantity = size("second", "1 ms", "1e6 s", "model time of a turn")
    tool_time: Quantity = size("second", 0, 1e6, "tool time of a turn")

    @property
    def call(self):
        """The example call, prompt and output."""
        return self.prompt + self.output

    def __post_init__(self):
        if self.observation > self.context:
            raise ValueError(f"observation = {show(self.observation, digits=9)} is more than the whole context")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Everything a page computes from."""

    model: Model
    accelerator: Accelerator
    node: Node
    link: Link
    host_link: Link
    precision: Precision
    reserve: Reserve
    workload: Workload
    file: str = ""  # the reader's file; empty for the reference

    @property
    def peak_rate(self):
        """Dense rate of one accelerator at the precision computed in."""
        return self.accelerator.peak_rate(self.precision.arithmetic)

    @property
    def weights(self):
        """Bytes of all weights as they are read in a step."""
        return serving.weight_bytes(self.model.parameters, self.precision.weights)

    @property
    def node_memory(self):
        """Memory of all accelerators of the node."""
        return self.accelerator.memory * (self.node.accelerators / Quantity(1, "accelerator"))

    @property
    def state_pool(self):
        """What the reserve leaves of the node's memory for attention state, if it holds the weights once.

        Negative where they do not fit; then they fit by no sharing.
        """
        weights = serving.weight_bytes(self.model.parameters, self.reserve.weights)
        return capacity.state_pool(self.node_memory, weights, self.reserve.runtime)

    @property
    def runtime_on_each(self):
        """An accelerator's part of what the reserve keeps for the runtime of the node."""
        return self.reserve.runtime / self.node.accelerators.magnitude

    def rank_pool(self, ranks):
        """Memory for state on one accelerator, if so many share each context; negative where the model does not fit."""
        weights = self.model.weights_on_each(self.node.accelerators, ranks, self.reserve.weights)
        return capacity.state_pool(self.accelerator.memory, weights, self.runtime_on_each)

    @property
    def sharings(self):
        """How many accelerators may share each context: the divisors of the node's that divide the model's heads.

        The largest first: all of the node, which counts whether or not it divides them, since a model may fit no
        other way; then it is what padded heads would take.
        """
        count = int(self.node.accelerators.magnitude)
        divisors = [Quantity(float(n), "accelerator") for n in range(count, 0, -1) if count % n == 0]
        return divisors[:1] + [ranks for ranks in divisors[1:] if self.model.divides_among(ranks)]

    def sharing(self, context):
        """How many accelerators should share each context to hold the most of so many tokens.

        The most accelerators where several hold as many; all of the node where none holds one.

        Examples
        --------
        >>> from costlib import show
        >>> case = load()
        >>> show(case.sharing(case.workload.context))
        '8 accelerators'
        """
        return max(self._shards, key=lambda shard: self._held(context, *shard))[0]

    def resident_sequences(self, context):
        """Contexts of so many tokens that the node holds at once, by the best of the sharings.

        Parameters
        ----------
        context : Quantity [token]
            Scalar or array.

        Returns
        -------
        Quantity [sequence]
            Of the shape of the context; zero where the model does not fit.

        Notes
        -----
        By tensor parallelism within a group that shares a context and data parallelism between groups, the experts of
        a mixture divided among all: :func:`costlib.capacity.resident_on_node` with :meth:`rank_pool` and
        :meth:`costlib.model.Model.shard`.

        Examples
        --------
        >>> from costlib import show
        >>> case = load()
        >>> show(case.resident_sequences(case.workload.context))
        '48 sequences'
        """
        return functools.reduce(maximum, [self._held(context, *shard) for shard in self._shards])

    def stored_state(self, context):
        """State of a context as the accelerators that share it store it, each copy of a byte counted.

        Examples
        --------
        >>> from costlib import show
        >>> case = load()
        >>> show(case.stored_state(case.workload.context), "GB")
        '10.7 GB'
        """
        ranks = self.sharing(context)
        return ranks.magnitude * self.model.shard(ranks).context_state(context, self.precision.kv_cache)

    def state_copies(self, context):
        """How often the accelerators that share a context store a byte of its state, on average.

        Examples
        --------
        >>> from costlib import show
        >>> case = load()
        >>> show(case.state_copies(case.workload.context))
        '1'
        """
        return self.stored_state(context) / self.model.context_state(context, self.precision.kv_cache)

    def times_stored(self, context):
        """How often that is, in words.

        Examples
        --------
        >>> case = load()
        >>> case.times_stored(case.workload.context)
        'once'
        """
        return times(self.state_copies(context))

    def stored_weights(self, context):
        """Weights as the node stores them to hold the most contexts of so many tokens, each copy of a byte counted.

        Examples
        --------
        >>> from costlib import show
        >>> case = load()
        >>> show(case.stored_weights(case.workload.context), "GB")
        '141 GB'
        """
        accelerators = self.node.accelerators
        each = self.model.weights_on_each(accelerators, self.sharing(context), self.reserve.weights)
        return accelerators.magnitude * each

    def weight_copies(self, context):
        """How often the node so stores a weight, on average.

        Examples
        --------
        >>> from costlib import show
        >>> case = load()
        >>> show(case.weight_copies(case.workload.context))
        '1'
        """
        return self.stored_weights(context) / serving.weight_bytes(self.model.parameters, self.reserve.weights)

    def shortage(self, context):
        """Why the node holds no context of so many tokens, in a sentence; empty where it holds one."""
        pool, memory = self.state_pool, show(self.node_memory, "GB", 4)
        size = show(self.reserve.weights, "B/parameter")
        if pool.magnitude <= 0:
            taken = show(self.node_memory - pool, "GB", 4)
            return f"It does not fit: weights of {size} and runtime take {taken}, and the node has {memory}."
        if self.resident_sequences(context).magnitude:
            return ""
        stored = self.stored_state(context)
        left = f"Weights of {size} and runtime leave {show(pool, 'GB')} of the node's {memory}"
        return f"{left}; a context of {show(context, digits=9)} takes {show(stored, 'GB')} there."

    @property
    def beyond_limit(self):
        r"""That the context, or else the call, is longer than what the model is made for, in a sentence; empty if not.

        Examples
        --------
        >>> loads('model = "mistral-7b-v0.1"\nworkload.context = "200000 token"', "mine.toml").beyond_limit
        'The model is made for contexts of up to 32,768 tokens; this one has 200,000 tokens.'
        """
        limit, context, call = self.model.context_limit, self.workload.context, self.workload.call
        if limit is None or max(context, call) <= limit:
            return ""
        this = f"this one has {show(context, digits=9)}"
        if context <= limit:
            this = f"the call has {show(call, digits=9)}"
        return f"The model is made for contexts of up to {show(limit, digits=13)}; {this}."

    @property
    def other_link(self):
        """That such accelerators are connected otherwise than those of the node, in a sentence.

        Empty if they are not, and where that is not known: an accelerator may not say, a link may be the reader's own.
        One for a faster PCIe also runs on a slower one.

        Examples
        --------
        >>> loads('accelerator = "l40s"', "mine.toml").other_link
        'NVIDIA L40S 48 GB: such accelerators are connected by PCIe 4.0 x16; the 8 of this node are on NVLink 4.'
        """
        own, count = self.accelerator.link, self.node.accelerators.magnitude
        here = next((name for name in catalog.names("link") if _link(name) == self.link), None)
        if own in (None, here) or here is None or count == 1:
            return ""
        if own.startswith("pcie") and here.startswith("pcie") and self.link.bandwidth < _link(own).bandwidth:
            return ""
        by = "each alone in a machine" if own == ALONE else f"connected by {_called(own)}"
        return (
            f"{self.accelerator.title}: such accelerators are {by}; the {count:g} of this node are on {_called(here)}."
        )

    def _held(self, context, ranks, model, pool):
        state = model.context_state(context, self.precision.kv_cache)
        return capacity.resident_on_node(pool, state, self.node.accelerators, ranks)

    @functools.cached_property
    def _shards(self):
        """Of each sharing that may hold the most, how many share, and what one of them has: its shard, room for state.

        If none fits, of all of the node.

        Fewer accelerators to a context than store each byte once would keep as many weights or more, and gain nothing.
        """
        found = []
        for ranks in self.sharings:
            found.append((ranks, self.model.shard(ranks), self.rank_pool(ranks)))
            if all(kind.state_copies(ranks) == 1 for kind in self.model.attention):
                break
        return [(ranks, model, pool) for ranks, model, pool in found if pool.magnitude > 0] or found[:1]


def _link(name):
    return catalog.part("link", name)


def _called(link):
    """What a link of the catalog is called, without what its bandwidth counts."""
    return _link(link).title.partition(",")[0]


PARTS = {f.name: f.type for f in dataclasses.fields(Scenario) if f.name != "file"}
_CATALOG_KIND = {name: name.removeprefix("host_") for name in PARTS if name.removeprefix("host_") in catalog.KINDS}


def load(path=None):
    """The reference scenario, with a reader's file laid over it.

    Parameters
    ----------
    path : path-like, optional
        A TOML file; by default the one that the environment variable
        ``COSTLIB_SCENARIO`` names, if it is set. ``REFERENCE`` gives the reference scenario itself.

    Returns
    -------
    Scenario

    Raises
    ------
    InputError
        If the file cannot be read, or has an unknown key, a wrong unit, a value
        missing or beyond its limits: with file, key, what was given, what is wanted.

    Examples
    --------
    >>> from costlib.units import show
    >>> show(load().model.parameters, "Gparameter")
    '70.6 billion parameters'
    """
    path = path if path is not None else os.environ.get(VARIABLE) or REFERENCE
    return _over_reference({} if path == REFERENCE else _table(_content(Path(path)), path), path)


def loads(text, name):
    """The reference scenario, with the text of a file laid over it.

    Parameters
    ----------
    text : str
        TOML.
    name : str
        What messages call the file.

    Returns
    -------
    Scenario

    Raises
    ------
    InputError
        As :func:`load`.

    Examples
    --------
    >>> loads('accelerator = "h200-sxm"', "mine.toml").accelerator.title
    'NVIDIA H200 SXM 141 GB'
    """
    return _over_reference(_table(text.encode(errors="surrogatepass"), name), name)  # a half is no text of a file


def _over_reference(table, path):
    """The reference scenario with what a file holds laid over it, if a page can be computed from the two."""
    chosen = {}
    _lay_over(chosen, _table(_content(REFERENCE), REFERENCE), REFERENCE)
    _lay_over(chosen, table, Path(path))
    scenario = Scenario(**chosen, file="" if path == REFERENCE else str(path))
    try:
        rate = scenario.peak_rate
    except InputError as error:
        raise InputError(f"{path}: {error}; set [precision] arithmetic") from None
    ratio = serving.output_input_ratio(rate, scenario.precision.weights, scenario.accelerator.bandwidth)
    if ratio < 1:
        raise InputError(
            f"{path}: {scenario.accelerator.title} computes {show(rate, 'Top/s')} and moves "
            f"{show(scenario.accelerator.bandwidth, 'TB/s')}, so that even one stream is bound by arithmetic; "
            "wanted an accelerator on which decode waits for memory"
        )
    return scenario


def _content(file):
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None


def _table(content, file):
    if len(content) > LARGEST_FILE:
        raise InputError(f"{file}: more than {LARGEST_FILE >> 20} MiB; wanted a scenario")
    try:
        return tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not a text file; wanted TOML") from None
    except (ValueError, RecursionError) as error:  # also thousands of digits, or of brackets
        raise InputError(f"{file}: is not TOML: {error}; texts stand in quotes") from None


def _lay_over(chosen, table, file):
    """Change the chosen parts as one file says."""
    for key in table:
        if key not in PARTS:
            raise InputError(f"{file}: unknown key {key!r}; {nearest(key, PARTS)}")
    for name in PARTS:
        if name in ("link", "host_link") and "node" in table:  # a new node brings its links
            chosen[name] = _named(name, getattr(chosen["node"], name), file)
        if name in table:
            chosen[name] = _part(name, chosen.get(name), table[name], file)
    link, links = chosen["accelerator"].link, [*catalog.names("link"), ALONE]
    if link not in (None, *links):
        raise InputError(f"{file}: [accelerator] link = {link!r}; wanted a link in the catalog; {nearest(link, links)}")


def _part(name, current, given, file):
    if isinstance(given, str):
        return _named(name, given, file)
    where = f"{file}: [{name}]"
    if not isinstance(given, dict):
        raise InputError(f"{where} = {given!r}; wanted a table" + (" or a name" if name in _CATALOG_KIND else ""))
    changes = dict(given)
    if changes.keys() >= set(required(PARTS[name])):
        current = None  # all that a part must have is given: it is a new one, and inherits nothing
    if "from" in changes and name in _CATALOG_KIND:
        current = _named(name, changes.pop("from"), file)
    source, notes = changes.pop("source", file.name), changes.pop("notes", {})
    if not isinstance(notes, dict):
        raise InputError(f"{where} notes = {notes!r}; wanted a table of texts, by key")
    for key, text in {"title": changes.get("title", ""), "source": source, **notes}.items():
        if not isinstance(text, str) or re.search(r"[\x00-\x1f<>`{}$|\\\[\]]", text):
            raise InputError(f"{where} {key} = {text!r}; wanted a plain text of one line, without markup")
    for key in notes:
        if key not in changes:
            raise InputError(f"{where} notes: {key!r} is not changed here; {nearest(key, changes)}")
    origin = {key: Origin(title=source, note=notes.get(key, "")) for key in changes}
    if current is None:
        return build(PARTS[name], changes, where, origin)
    values = read(PARTS[name], changes, where)
    try:
        changed = dataclasses.replace(current, **values, origin={**current.origin, **origin})
        same = "title" in values or changed == current
        return changed if same else dataclasses.replace(changed, title=changed.changed_title)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def _named(name, given, file):
    if name not in _CATALOG_KIND:
        raise InputError(f"{file}: {name} = {given!r}; wanted a table [{name}]")
    if not isinstance(given, str):
        raise InputError(f"{file}: [{name}] from = {given!r}; wanted a name in the catalog")
    try:
        return catalog.part(_CATALOG_KIND[name], given)
    except InputError as error:
        raise InputError(f"{file}: {name}: {error}") from None
