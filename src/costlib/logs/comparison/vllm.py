"""The pool of vLLM: blocks, tokens and concurrency that follow from its bytes, and what one sequence needs."""

import math
from dataclasses import dataclass, replace

from costlib.arguments import ArgumentError
from costlib.logs.comparison.judged import AS_PREDICTED, judged, not_predicted, within
from costlib.logs.comparison.settings import other_formats, other_ranks, precision, ranks_of, split, whole
from costlib.model_config.engines import vllm_blocks
from costlib.units import Quantity

__all__ = ["Case", "Settings", "one_sequence", "pools", "stated_by_few"]

STEPS = (2048, 8192, 16384)  # tokens of a step, as vLLM takes them by itself on one card or another
EVEN = 1.5  # it pads the smaller kind of layers where the larger has less than this times as many
WITHOUT_LAYERS = ("ngram", "ngram_gpu", "suffix")  # ways of drafting that no layer does


@dataclass(frozen=True)
class Settings:
    """With what an engine of blocks may have run."""

    precision: Quantity
    ranks: int
    block: int
    batched: int = 8192
    copies: int = 0
    drafts: int = 0


@dataclass(frozen=True)
class Held:
    """How vLLM cuts a pool: bytes of a block of all layers of a group, its tokens, blocks of a request, groups."""

    size: float
    block: int
    request: int
    groups: int

    def blocks(self, pool):
        """Whole blocks of a pool."""
        return math.floor(pool / self.size)

    def tokens(self, pool):
        """As printed until about 0.20: the blocks of a group."""
        return self.blocks(pool) // self.groups * self.block

    def concurrency(self, pool):
        """Requests of the length for which it was cut."""
        return self.blocks(pool) / self.request


def pools(log, model, kv_precision, tensor_parallel):
    """What a log of vLLM says of its pool, figure by figure, against the prediction."""
    if why := _why_not(log, model):
        if log.cache is not None:
            yield not_predicted("cache", log.cache, why)
        return
    length = int(log.context_limit.m_as("token")) if log.context_limit is not None else None
    pool = None
    if log.cache is not None:
        half = log.rounding.get("cache", 0.0)
        pool = log.cache.m_as("byte") - half, log.cache.m_as("byte") + half
    yield from _budget(log)
    case = _case(log, model, kv_precision, tensor_parallel)
    if log.block is not None and model.states:
        yield _block(case, log)
    yield from _in_their_order(
        _derived(log, model),
        lambda: _tokens(case, log, pool, length) if log.tokens is not None and pool else None,
        lambda: _concurrency(case, log, pool, length) if log.concurrency is not None and length else None,
    )
    if log.needed is not None and length:
        yield _needed(case, log, length)


def _derived(log, model):
    """Whether the tokens may be the printed concurrency times the limit, so that they are no measure of their own."""
    if log.hybrid is not None or None in (log.tokens, log.concurrency, log.context_limit):
        return False
    return bool(model.states) or any(cache.window is not None for cache in model.caches)


def _in_their_order(derived, tokens, concurrency):
    """What is measured first, since what explains it holds for what is derived from it."""
    found = (concurrency(), tokens()) if derived else (tokens(), concurrency())
    yield from (each for each in found if each is not None)


def _why_not(log, model):
    """What is not known of how vLLM cuts a pool; None where all is."""
    if any(cache.stride > 1 for cache in model.caches):
        return "how vLLM groups layers that share an entry for several tokens is not known here"
    if (stages := log.settings.get("pipeline_parallel", 1)) > 1:
        return f"each of {stages} pipeline stages has other layers, and the log does not say which"
    if (parts := log.settings.get("context_parallel", 1)) > 1:
        return f"contexts are split over {parts} ranks"
    if str(log.kv_format).endswith("_ds_mla"):
        return f"in {log.kv_format} an entry has its scales beside it, and a part in 16 bits"
    return None


def _case(log, model, kv_precision, tensor_parallel):
    """The settings that a log states, or that are taken for granted, and what they may have been."""
    base = Settings(
        precision=precision(log, model, kv_precision),
        ranks=ranks_of(log, tensor_parallel),
        block=int(log.block.m_as("token")) if log.block is not None and not model.states else 16,
        batched=log.settings.get("batched_tokens", 8192),
    )
    if log.settings.get("windows_whole"):
        model = replace(model, caches=whole(model.caches))

    def changes(model, settings):
        yield from _drafts(log, model, settings)
        yield from stated_by_few(log, model, settings, kv_precision)
        yield from _states(log, model, settings)
        yield from _windows(log, model, settings)

    return Case(model, base, changes)


# What may have been otherwise: name, model and settings


def _drafts(log, model, base):
    if log.settings.get("drafting") in WITHOUT_LAYERS or "no_drafting" in log.settings:
        return
    predictors = model.fields.table.get("num_nextn_predict_layers") if model.fields is not None else None
    for drafts in sorted({1, predictors if isinstance(predictors, int) and 0 < predictors < 100 else 1}):
        yield f"{drafts} layer{'s' if drafts > 1 else ''} more, of a draft", model, replace(base, drafts=drafts)


def stated_by_few(log, model, base, kv_precision):
    """Formats of the cache, and ranks that share heads: of an engine of blocks, where the log does not state them."""
    for name, stored in other_formats(log, kv_precision, base.precision):
        yield name, model, replace(base, precision=stored)
    for ranks in other_ranks(log, model, base.ranks):
        yield split(ranks), model, replace(base, ranks=ranks)


def _states(log, model, base):
    if not model.states:
        return
    speculated = log.settings.get("speculated", 1)
    plain = log.settings.get("prefix_caching") == "False" and "no_drafting" in log.settings
    for copies in () if plain else sorted({1, speculated, speculated + 1}):
        name = f"{copies + 1} pages of recurrent state a sequence, as with prefix caching or speculation"
        yield name, model, replace(base, copies=copies)
    for size, bits in ((4, 32), (2, 16)):
        states = tuple(replace(state, precision=size, declared=True) for state in model.states)
        yield f"the recurrent state is in {bits} bits", replace(model, states=states), base


def _windows(log, model, base):
    if any(cache.window is not None for cache in model.caches):
        yield "windows are counted whole", replace(model, caches=whole(model.caches)), base
        if "batched_tokens" not in log.settings:
            for batched in STEPS:
                yield f"{batched:,} tokens a step", model, replace(base, batched=batched)


class Case:
    """A model, the settings taken for granted, and what they may have been: one explanation holds for all figures.

    ``changes`` gives name, model and settings of what may have been otherwise than a model and settings.
    """

    def __init__(self, model, base, changes):
        self.model, self.base, self.changes = model, base, changes
        self.given, self.held = [], []

    def compared(self, what, printed, unit, half, value, more=(), otherwise=""):
        """A figure against what a function of model and settings gives; what closes it holds for those that follow."""

        def fits(model, settings):
            return within(printed, value(model, settings), half)

        allowed = [each for each in self.changes(self.model, self.base) if self._allows(*each[1:])]
        candidates = [(name, lambda f=f: f(self.model, self.base)) for name, f in more]
        candidates += [(name, lambda m=m, s=s: value(m, s)) for name, m, s in allowed]
        found = judged(what, printed, unit, half, value(self.model, self.base), candidates, otherwise)
        if found.explanation == AS_PREDICTED:
            self.held.append(fits)
            given = f", if {' and '.join(self.given)}" if self.given else ""
            return replace(found, explanation=AS_PREDICTED + given)
        for name, model, settings in allowed:
            if found.explanation == name:
                self._take(name, model, settings, fits)
        return found

    def _take(self, name, model, settings, fits):
        """Go on with a change that explains a figure."""
        self.model, self.base = model, settings
        self.given.append(name)
        self.held.append(fits)

    def _allows(self, model, settings):
        """Whether a change leaves alone what is explained already."""
        try:
            return all(fits(model, settings) for fits in self.held)
        except ArgumentError:  # heads that cannot be split so
            return False


# How a pool is cut


def blocks(model, settings, length):
    """The blocks of a sequence, kind of layer by kind."""
    tokens = Quantity(float(length), "token")
    s = settings
    return vllm_blocks(model, tokens, s.precision, s.ranks, s.block, s.batched, s.copies, s.drafts)


def one_sequence(model, settings, length):
    """Bytes of the blocks of a sequence, as an interval without width."""
    size = sum(kind.kept.layers * kind.count * kind.page for kind in blocks(model, settings, length))
    return size, size


def _held(model, settings, length):
    """How vLLM cuts a pool for this model."""
    kinds = blocks(model, settings, length)
    if not model.states and all(cache.window is None for cache in model.caches):
        size = sum(kind.kept.layers * kind.page for kind in kinds)
        return Held(size, settings.block, max(kind.count for kind in kinds), 1)
    alike = {}  # layers that store the same, those of a draft too, are of one kind
    for kind in kinds:
        layers, _ = alike.get(key := (replace(kind.kept, layers=1), kind.tokens), (0, 0))
        alike[key] = layers + kind.kept.layers, kind.count
    counts = [layers for layers, _ in alike.values()]
    least, most = min(counts), max(counts)
    size = most if most < EVEN * least else least
    groups = [math.ceil(layers / size) for layers in counts]
    request = sum(n * count for n, (_, count) in zip(groups, alike.values(), strict=True))
    block = min((kind.tokens for kind in kinds if kind.tokens), default=1)
    return Held(size * kinds[0].page, block, request, sum(groups))


def _interval(value, pool):
    """A value at the least and at the most that a pool may be."""
    return value(pool[0]), value(pool[1])


# Figure by figure


def _budget(log):
    """The pool of the smallest rank from what it may use of its card, and what it measured beside it."""
    outside, peak, activations = (log.settings.get(name) for name in ("outside", "peak", "activations"))
    if None in (log.cache, log.memory, log.utilisation, outside) or (peak is None and activations is None):
        return
    if peak is None:  # without the weights, which the peak of older versions has
        if log.smallest is None or log.smallest.weights is None:
            return
        peak = activations + log.smallest.weights.m_as("byte")
    cent, room = 0.005 * 2**30, log.memory.m_as("byte")
    budget = log.settings.get("budget") or room * log.utilisation
    expected, slack = budget - peak - outside, 0.005 * room
    share = "its share of the card is rounded to two digits", lambda: (expected - slack, expected + slack)
    printed = log.cache.m_as("byte")
    candidates = () if "budget" in log.settings else (share,)
    yield judged("cache, from its budget", printed, "byte", 4 * cent, (expected, expected), candidates)


def _block(case, log):
    """Tokens of a block, raised until its page is as large as a recurrent state."""

    def block(model, settings):
        tokens = next(kind.tokens for kind in blocks(model, settings, 1) if kind.tokens and kind.kept.grows)
        return tokens, tokens

    return case.compared("block", log.block.m_as("token"), "token", 0, block)


def _tokens(case, log, pool, length):
    """The tokens of the pool, as one version or another counts them."""

    def tokens(model, settings):
        return _interval(_held(model, settings, length or settings.block).tokens, pool)

    def as_concurrency(model, settings):
        return _interval(lambda size: math.floor(_held(model, settings, length).concurrency(size) * length), pool)

    printed = log.tokens.m_as("token")
    more = [("concurrency times the context limit, as newer versions print it: no measure of its own", as_concurrency)]
    otherwise = _other_rank(case, log, length)
    return case.compared("tokens", printed, "token", 0, tokens, more if length else (), otherwise)


def _other_rank(case, log, length):
    """What the pool would have to be, if it is that of a rank that the log does not show."""
    ranks = case.base.ranks
    held, printed = _held(case.model, case.base, length or case.base.block), log.tokens.m_as("token")
    if held.tokens(log.cache.m_as("byte")) <= printed or ranks <= sum(rank.cache is not None for rank in log.ranks):
        return ""
    size = Quantity(printed / held.block * held.groups * held.size, "byte").to("GiB")
    return f"the pool is the least of {ranks} ranks, which the log does not all show; it would be {size:.2f~P}"


def _concurrency(case, log, pool, length):
    """Sequences at the limit, from the pool, or from the tokens where it is not printed."""

    if not pool and (log.tokens is None or _derived(log, case.model)):
        why = "its pool is not printed" + (", and its tokens are no measure of their own" if log.tokens else "")
        return not_predicted("concurrency", log.concurrency, why)

    def concurrency(model, settings):
        held = _held(model, settings, length)
        if pool:
            return _interval(held.concurrency, pool)
        blocks = log.tokens.m_as("token") / held.block * held.groups
        return blocks / held.request, (blocks + held.groups - 1) / held.request

    def in_parts(model, settings):  # as long as it was tokens over the limit
        scale = _held(model, settings, length).request * settings.block / length
        return tuple(value * scale for value in concurrency(model, settings))

    half = log.rounding.get("concurrency", 0.0)
    more = [("tokens over the limit, the last block in part", in_parts)] if log.hybrid is not True else []
    return case.compared("concurrency", log.concurrency, "", half, concurrency, more)


def _needed(case, log, length):
    """What one sequence at the limit takes."""

    def needed(model, settings):
        return one_sequence(model, settings, length)

    return case.compared("needed by one sequence", log.needed.m_as("byte"), "byte", log.rounding["needed"], needed)
