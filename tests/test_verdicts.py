"""No sentence turns false: what words claim follows from what is published beside them, under every scenario.

Each text that depends on the scenario, among the values, figures and tables, has a check of its own, which
works the claim out from the published numbers, or from the scenario's, and not with the library's functions.
"""

import dataclasses
import functools
import math
import multiprocessing
import os
import re
import traceback

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import Book
from test_scenario import on_node, state_of_card, weights_of_card

import costlib
from costlib import catalog
from costlib.scenario import REFERENCE
from costlib.schema import InputError

CHECKS = {}  # of each text that depends on the scenario, by its key
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
LENGTH = NUMBER + r" tokens?"


def says(*keys):
    """Register a check of what these texts say: a function that asserts it of what was seen."""

    def register(check):
        CHECKS.update(dict.fromkeys(keys, check))
        return check

    return register


def numbers(pattern, text):
    """The numbers in a text; it must read as the pattern does."""
    found = re.search(pattern, text)
    assert found, f"{text!r} does not read {pattern!r}"
    return [float(group.replace(",", "")) for group in found.groups()]


def near(printed, value, digits=3):
    """Whether a printed number is this one, rounded."""
    if not value:
        return printed == 0
    return abs(printed - value) <= 0.51 * 10 ** (math.floor(math.log10(abs(value))) - digits + 1)


def about(one, other, part=0.03):
    """Whether two rounded numbers are the same, as far as they are printed."""
    return abs(one - other) <= part * abs(other)


def millis(text):
    return numbers(NUMBER + " ms", text)[0]


def either(seen, truth, key, yes, no):
    """Whether a text says yes where it is true, and no where it is not."""
    text = seen[key]
    assert (re.search(yes, text) is not None) == truth, text
    assert (re.search(no, text) is not None) == (not truth), text


# ---------------------------------------------------------------- the scenario once more, in plain numbers


@dataclasses.dataclass
class Kind:
    """Layers that attend, all alike, in bytes, channels and tokens."""

    layers: float
    heads: float
    width: float
    decode_width: float
    token: float  # bytes
    window: float


class Plain:
    """A scenario in bytes, seconds, tokens and operations, and its model's sums written out."""

    def __init__(self, case, model=None):
        model, precision = model or case.model, case.precision
        self.b = precision.weights.m_as("byte/parameter")
        kv = precision.kv_cache.m_as("byte/element")
        self.n = case.node.accelerators.magnitude
        self.rate, self.bandwidth = case.peak_rate.m_as("op/s"), case.accelerator.bandwidth.m_as("B/s")
        self.all = model.parameters.m_as("parameter")
        self.active = (model.active_parameters or model.parameters).m_as("parameter")
        self.unchosen = 0.0
        if model.experts:
            self.unchosen = 1 - model.experts_per_token.magnitude / model.experts.magnitude
        self.fixed = model.recurrent_state.m_as("byte") if model.recurrent_state else 0.0
        self.kinds = []
        for kind in model.attention:
            layers, both = kind.layers.magnitude, kind.key_dim.magnitude + kind.value_dim.magnitude
            width = decode = kind.query_heads.magnitude * both / 2
            token, heads = layers * kind.kv_heads.magnitude * both * kv, kind.kv_heads.magnitude
            if kind.latent_rank is not None:
                rank, rope = kind.latent_rank.magnitude, kind.rope_dim.magnitude
                decode, heads = kind.query_heads.magnitude * (2 * rank + rope) / 2, 1
                token = layers * (rank + rope) * kv
            window = kind.window.magnitude if kind.window is not None else math.inf
            self.kinds.append(Kind(layers, heads, width, decode, token, window))

    def state(self, context):
        return self.fixed + sum(kind.token * min(context, kind.window) for kind in self.kinds)

    def work(self, context):
        """Operations of a decoded token."""
        attention = sum(4 * kind.layers * kind.decode_width * min(context, kind.window) for kind in self.kinds)
        return 2 * self.active + attention

    def attention_of_prompt(self, tokens):
        """Operations of attention in a prefill."""
        work = 0.0
        for kind in self.kinds:
            seen = min(tokens, kind.window)
            work += 4 * kind.layers * kind.width * (tokens * seen - seen**2 / 2)
        return work

    def read(self, tokens):
        """Bytes of weights that a pass over so many tokens reads."""
        idle = self.all - self.active
        return self.b * (self.active + idle * (1 - self.unchosen ** (tokens - 1)))

    def step(self, streams, context, positions=1, share=1.0):
        """Time of a pass over so many positions of each stream, on the node."""
        moved = self.read(streams * positions) + streams * self.state(context)
        worked = streams * positions * self.work(context)
        return share * max(moved / self.bandwidth, worked / self.rate) / self.n

    def copies(self):
        return [self.n * math.ceil(kind.heads / self.n) / kind.heads for kind in self.kinds]


KNOWN = {}


def in_plain(case, model=None):
    """A scenario in plain numbers, or as it would be with another model; kept until another scenario is asked for."""
    if KNOWN.get("case") is not case:
        KNOWN.clear()
        KNOWN["case"] = case
    if model not in KNOWN:
        KNOWN[model] = Plain(case, catalog.part("model", model) if model else None)
    return KNOWN[model]


def draft_gain(case, streams, context, drafts, accepted=0.8):
    """Times that speculation makes a stream quicker."""
    target, draft = in_plain(case), in_plain(case, "llama-3.1-8b")
    share = min(1, target.active / 8 / draft.all)
    single = target.step(streams, context)
    cost = drafts * draft.step(streams, context, share=share) / single
    cost += target.step(streams, context, drafts + 1) / single
    return (1 - accepted ** (drafts + 1)) / (1 - accepted) / cost


# ---------------------------------------------------------------- names, and what no scenario changes


NAMES = {
    "model-name": lambda case: case.model.title,
    "accelerator-name": lambda case: case.accelerator.title,
    "host-link": lambda case: case.host_link.title,
    "reload-link": lambda case: case.host_link.title,
}


@says(*NAMES)
def names_are_the_scenarios(seen):
    assert {key: seen[key] for key in NAMES} == {key: name(seen.case) for key, name in NAMES.items()}


CONSTANT = ("least-ratio-name", "most-ratio-name", "price-name")


@says(*CONSTANT)
def these_are_the_same_in_every_scenario(seen):
    assert [seen[key] for key in CONSTANT] == [
        "NVIDIA GeForce RTX 5090 32 GB",
        "Google TPU v6e (Trillium)",
        "DeepSeek-R1, DeepSeek's own API, 2025",
    ]


@says("scenario-name", "ledger-verdict")
def the_scenario_is_named(seen):
    name = os.path.basename(seen.case.file)
    assert seen["scenario-name"] == (f"your scenario ({name})" if name else "the reference scenario")
    either(seen, not name, "ledger-verdict", "for the reference scenario", "for your scenario .* may differ")


# ---------------------------------------------------------------- output-cost


@says("ratio-in-words")
def orders_of_magnitude(seen):
    ratio, text = seen.number("output-input-ratio", ""), seen["ratio-in-words"]
    words = {"less than one order of": (1, 10), "more than one order of": (10, 100)}
    words |= {"more than two orders of": (100, 1e3), "more than three orders of": (1e3, 1e4)}
    low, high = words[text.removesuffix(" magnitude")]
    assert low <= ratio <= high


@says("example-slower")
def which_takes_longer(seen):
    either(seen, seen["example-decode"] > seen["example-prefill"], "example-slower", "^The output$", "^The prompt$")


@says("fig-roofline")
def how_far_left_of_the_ridge(seen):
    (factor,) = numbers(f"Decode sits a factor of {NUMBER} left", seen.figures["fig-roofline"]["title"])
    assert factor >= 1 and near(factor, seen.number("ridge-point") / seen.number("decode-intensity"))


@says("tab-precisions")
def a_dash_where_there_is_no_rate(seen):
    accelerator = seen.case.accelerator
    rates = {16: accelerator.rate_16bit, 8: accelerator.rate_8bit, 4: accelerator.rate_4bit}
    for (_, *row), stored in zip(seen.rows("tab-precisions"), (16, 8, 4), strict=True):
        for cell, (computed, rate) in zip(row, rates.items(), strict=True):
            assert (cell == "–") == (rate is None or stored > computed)
            if cell != "–":
                ratio = rate.m_as("op/s") * stored / 8 / 2 / accelerator.bandwidth.m_as("B/s")
                assert near(float(cell.replace(",", "")), ratio)
    assert seen.records["ratio-8-bit-at-16"]["number"]  # the sentence gives it


@says("crossover-verdict", "context-verdict", "fig-long-prefill")
def where_attention_takes_over(seen):
    plain, crossing = in_plain(seen.case), seen.number("attention-crossover")
    finite = math.isfinite(crossing)
    if finite:
        assert about(plain.attention_of_prompt(crossing), 2 * plain.active * crossing, 0.001)
        for key in ("crossover-verdict", "context-verdict"):
            assert near(*numbers(LENGTH, seen[key]), crossing)
    else:
        assert plain.attention_of_prompt(1e12) < 2 * plain.active * 1e12
    either(seen, finite, "crossover-verdict", "^equals", "^never equals")
    either(seen, finite, "context-verdict", "^Past .* mostly attention", "outweigh attention at every length")
    title = seen.figures["fig-long-prefill"]["title"]
    assert title.startswith("Attention takes over" if crossing < 1e6 else "The weights outweigh attention at every")


@says("fig-batch")
def what_state_adds_to_a_step(seen):
    figure, plain = seen.figures["fig-batch"], in_plain(seen.case)
    printed, factor = numbers(f"a step of {NUMBER} streams? takes {NUMBER} times as long", figure["title"])
    streams = min(max(seen.number("fitting"), 1), seen.number("decode-streams"))
    assert near(printed, streams)
    alone = max(plain.read(streams) / plain.bandwidth, 2 * streams * plain.active / plain.rate) / plain.n
    assert factor >= 1 and near(factor, plain.step(streams, 32_768) / alone, 2)
    steps = [float(step.replace(",", "")) for step in re.findall(NUMBER + " ms:", figure["alt"])]
    assert steps == sorted(steps) and len(steps) == 5  # the others lie above


@says("batching-verdict")
def whether_a_batch_is_bound_by_arithmetic(seen):
    plain, text = in_plain(seen.case), seen["batching-verdict"]
    contexts = [10 ** (7 * i / 300) for i in range(301)]
    found = [plain.work(at) / plain.rate > plain.state(at) / plain.bandwidth for at in contexts]
    if text.startswith("Beyond"):
        (beyond,) = numbers(f"^Beyond {LENGTH} of context, no batch", text)
        assert [bound for at, bound in zip(contexts, found, strict=True) if at < 0.9 * beyond].count(False) == 0
        assert [bound for at, bound in zip(contexts, found, strict=True) if at > 1.1 * beyond].count(True) == 0
    else:
        assert all(found) == ("at any context." in text)
        assert (not any(found)) == ("with any context at all" in text)
        assert (len(set(found)) == 2) == text.startswith("At some contexts")


@says("mixture-name", "tab-experts")
def what_a_mixture_reads(seen):
    own = seen.case.model.experts is not None
    assert (seen["mixture-name"] == seen.case.model.title) == own
    assert seen["mixture-name"] in seen.tables["tab-experts"]["caption"]
    read = [numbers(NUMBER + " GB", row[2])[0] for row in seen.rows("tab-experts")]
    assert read == sorted(read) and read[0] < read[-1]
    assert seen["mixture-single"] < seen["mixture-several"]


@says("node-verdict", "tab-node")
def what_a_node_gains(seen):
    plain, text, rows = in_plain(seen.case), seen["node-verdict"], seen.rows("tab-node")
    caption = seen.tables["tab-node"]["caption"]
    assert (len(rows) == 1) == (plain.n == 1) == ("nothing to exchange" in caption) == ("single accel" in text)
    exchanges = [millis(row[2]) for row in rows]
    assert exchanges == sorted(exchanges)  # grows with the accelerators
    if plain.n == 1:
        return
    times = millis(rows[0][1]) / millis(rows[-1][1])
    count, took = numbers(f"On all {NUMBER} accelerators an output token takes about {NUMBER} ms", text)
    assert (count, took) == (plain.n, millis(rows[-1][1]))
    if "times less" in text:
        (less,) = numbers(NUMBER + " times less than on one", text)
        assert about(less, times, 0.06) and less >= 1.05
    elif "times as long" in text:
        (longer,) = numbers(NUMBER + " times as long as on one", text)
        assert about(longer, 1 / times, 0.06) and longer >= 1.05
    else:
        assert "about as long as on one" in text and 0.94 < times < 1.06
    copies = plain.copies()
    assert (max(copies) > 1) == ("the attention state is held" in text)
    if max(copies) > 1:
        assert near(*numbers(f"state is held (?:up to )?{NUMBER} times, since", text), max(copies), 2)
        assert (min(copies) < max(copies)) == ("up to" in text)
        latent = any(kind.latent_rank is not None for kind in seen.case.model.attention)
        assert ("a latent is copied" in text) == latent


@says("fig-chunk")
def which_chunk_is_enough(seen):
    figure, observed = seen.figures["fig-chunk"], seen.case.workload.observation.magnitude
    chosen = seen.number("chunk-chosen")
    assert (chosen >= observed) == figure["title"].startswith("Only in one piece")
    first = [float(t.replace(",", "")) for t in re.findall(NUMBER + " ms with", figure["alt"])]
    assert (
        chosen == observed
        or about(seen.number("chunk-first-token", "ms"), first[-1], 0.13)
        or (seen.number("chunk-first-token", "ms") < first[-1])
    )
    assert seen["chunk-gap"] <= seen["piece-gap"]
    if chosen < observed:
        size, shorter = numbers(f"Chunks of {LENGTH} .* gaps {NUMBER} times shorter", figure["title"])
        assert size == chosen
        assert shorter >= 1 and near(shorter, (seen["piece-gap"] / seen["chunk-gap"]).magnitude, 2)


# ---------------------------------------------------------------- decode-loop


@says("logit-step-verdict")
def whether_the_rate_can_be_had(seen):
    step, floor = 1e3 / seen.number("decode-stream-rate"), seen.number("logit-floor", "ms")
    either(seen, step >= floor, "logit-step-verdict", "^At the rate above a step", "would need .* quicker than that")
    assert near(millis(seen["logit-step-verdict"]), step, 2)


@says("host-step-share")
def a_round_trip_beside_a_pass(seen):
    floor = seen.number("logit-floor", "µs")
    low, high = numbers(f"^{NUMBER} % to {NUMBER} %$", seen["host-step-share"])
    assert near(low, 100 * 20 / floor, 2) and near(high, 100 * 150 / floor, 2)


@says("fig-sampling")
def what_logits_add(seen):
    times, share = numbers(f"make {NUMBER} times .* take {NUMBER} %", seen.figures["fig-sampling"]["title"])
    assert near(times, seen.number("sampling-reduction")) and near(share, seen.number("logit-link-share", "percent"), 2)


@says("fig-nesting")
def from_which_depth_no_table_fits(seen):
    (depth,) = numbers(f"At depth {NUMBER}, no table", seen.figures["fig-nesting"]["title"])
    memory, row = seen.case.accelerator.memory.m_as("byte"), 131_072 / 8
    assert depth == seen.number("nesting-limit")
    assert (2**depth - 1) * row <= memory < (2 ** (depth + 1) - 1) * row


@says("draft-name")
def which_draft(seen):
    smaller = in_plain(seen.case).active / 8 < catalog.part("model", "llama-3.1-8b").parameters.m_as("parameter")
    assert ("cut down to an eighth" in seen["draft-name"]) == smaller
    assert ("active weights" in seen["draft-name"]) == (smaller and seen.case.model.experts is not None)


@says("together-verdict")
def how_many_decode_together(seen):
    resident, streams, text = seen.number("resident-trajectories"), seen.number("decode-streams"), "together-verdict"
    if resident < 1:
        assert seen[text] == "of which the node holds none" and seen.number("together-long") == streams
    else:
        assert seen[text] == ("as many as the node holds" if resident <= streams else "the whole batch")
        assert seen.number("together-long") == min(resident, streams)


ADVICE = {
    "alone-short": ("", "short-context"),
    "batch-short": ("decode-streams", "short-context"),
    "large-short": ("large-batch", "short-context"),
    "batch-long": ("together-long", "workload-context"),
}


@says(*ADVICE)
def how_many_drafts_gain_most(seen):
    for key, (streams, context) in ADVICE.items():
        streams = seen.number(streams) if streams else 1
        gains = [draft_gain(seen.case, streams, seen.number(context), drafts) for drafts in range(17)]
        if seen[key].startswith("no number of drafts"):
            assert max(gains) < 1.0501
            continue
        drafts, factor = numbers(f"^{NUMBER} drafts? a pass gains? most.*, a factor of {NUMBER}$", seen[key])
        assert near(factor, max(gains), 2) and about(gains[int(drafts)], max(gains), 1e-6)
        assert ("of those tried" in seen[key]) == (drafts == 16)


@says("speculation-fade", "fig-speculation")
def where_drafts_stop_to_gain(seen):
    case, short, last = seen.case, seen.number("short-context"), int(seen.number("large-batch"))
    title, text = seen.figures["fig-speculation"]["title"], seen["speculation-fade"]
    gains = {streams: draft_gain(case, streams, short, 4) for streams in (1, last)}
    assert near(*numbers(f"make one stream {NUMBER} times as quick", title), gains[1], 2)
    if last > 1:
        assert near(*numbers(rf"each of {last:,} streams {NUMBER} times", title), gains[last], 2)
    shown = {round(1024 ** (i / 120)) for i in range(121)}
    every = [draft_gain(case, streams, short, 4) for streams in sorted(shown) if streams <= last]
    if "gain at every batch" in text:
        assert min(every) > 0.999
    elif "at no batch" in text:
        assert max(every) < 1.001
    elif "past about" in text:
        (past,) = numbers(f"past about {NUMBER} streams?, four drafts gain nothing", text)
        assert gains[1] > 1 and draft_gain(case, 1.15 * past, short, 4) <= 1 <= draft_gain(case, past / 1.15, short, 4)
    else:
        assert min(every) <= 1.001 and max(every) >= 0.999
    held = seen.number("resident-trajectories")
    assert ("does not hold them" in seen.figures["fig-speculation"]["caption"]) == (held < 1)


# ---------------------------------------------------------------- attention-state, reference-values, index


@says("smaller-blocks-verdict", "fig-blocks")
def what_keeps_blocks_from_being_smaller(seen):
    table_too = seen.number("least-overhead-block", "token") >= 16
    either(seen, table_too, "smaller-blocks-verdict", "the table too", "not memory but reading")
    window = seen.case.model.whole_context.window
    kept = min(seen.case.workload.context.magnitude, window.magnitude if window is not None else math.inf)
    pieces = numbers(f"into {NUMBER} piece", seen.figures["fig-blocks"]["title"])[0]
    assert pieces == math.ceil(kept / 16)


@says("tab-designs", "tab-formats")
def designs_in_order(seen):
    state = [numbers(NUMBER + " B/token", row[2])[0] for row in seen.rows("tab-designs")]
    assert state[0] >= state[1] >= state[2]
    shares = [numbers(NUMBER + " %", row[3])[0] for row in seen.rows("tab-formats")]
    assert shares == [100, 50, 53.1, 31.2, 28.1]


@says("fig-occupancy")
def what_is_held_in_waits(seen):
    (share,) = numbers(f"^{NUMBER} % of what", seen.figures["fig-occupancy"]["title"])
    wait, call = seen.number("wait-time", "s"), seen.number("call-time", "s")
    assert near(share, 100 * wait / (wait + call), 2)


@says("geometry-note")
def which_layers_keep(seen):
    text, kinds, layers = seen["geometry-note"], seen.case.model.attention, seen.case.model.layers.magnitude
    growing = sum(kind.layers.magnitude for kind in kinds if kind.window is None)
    latent = any(kind.latent_rank is not None for kind in kinds)
    assert ("one latent for all heads" in text) == latent
    assert ("beyond them, a token adds nothing" in text) == (not growing)
    if not growing:
        windows = {kind.window.magnitude for kind in kinds}
        fewer = " or fewer" if len(windows) > 1 else ""
        assert numbers(f"attends keeps only {LENGTH}{fewer};", text) == [max(windows)]
    assert (text == "Every layer of this model keeps every token.") == (growing == layers and not latent)
    if 0 < growing < layers and not latent:
        assert numbers(f"Of this model's {NUMBER} layers, {NUMBER} keeps? every", text) == [layers, growing]
    assert (seen.number("ref-bytes-per-token") > 0) == (growing > 0)


def sharings(case):
    """Cards that engines let share a context; and all."""
    cards = int(case.node.accelerators.magnitude)
    return [n for n in range(1, cards + 1) if n == cards or not (cards % n or padded(case, n))]


def padded(case, ranks):
    """Whether heads have to be padded to divide among so many cards."""
    kinds = zip(case.model.attention, in_plain(case).kinds, strict=True)
    return any(k.query_heads.magnitude % ranks or (own.heads % ranks and ranks % own.heads) for k, own in kinds)


def sharing(case, context):
    """Sessions that a node holds, and the cards that share each where it holds the most; the most such cards."""
    return max((on_node(case, context, ranks)[0], ranks) for ranks in sharings(case))


@says("sharing-verdict")
def how_a_node_shares_a_model(seen):
    case, context, text = seen.case, seen.number("workload-context"), seen["sharing-verdict"]
    (held, ranks), cards = sharing(case, context), case.node.accelerators.magnitude
    assert (seen.number("resident-trajectories"), seen.number("sharing")) == (held, ranks)
    assert seen.number("groups") == cards / ranks
    stored = ranks * state_of_card(case, context, ranks) / in_plain(case).state(context)
    assert about(seen.number("state-copies"), stored, 1e-9)
    _, left = on_node(case, context, ranks)
    assert about(seen.number("node-pool", "byte"), cards * left, 1e-9)
    assert text.startswith("This node has no room for") == (not held)
    if not held:
        assert ("room for the model" in text) == (left <= 0)
        return
    assert ("a single accelerator, which stores a state once" in text) == (cards == 1)
    assert ("has to pad them" in text) == padded(case, ranks)
    if cards > 1:
        times = "once" if stored < 1.005 else f"{NUMBER} times"
        found = re.search(rf"stores? the state of a context {times}\.", text)
        assert found and (stored < 1.005 or near(float(found[1].replace(",", "")), stored))
        assert (f"all {ranks:,.0f} accelerators share each and store" in text) == (ranks == cards)
        assert (f"where {ranks:,.0f} accelerators share each and store" in text) == (1 < ranks < cards)
        assert ("where a single accelerator has each and stores" in text) == (ranks == 1)
        divided = weights_of_card(case, ranks) < in_plain(case).all / ranks * (1 - 1e-9)
        who = "Each accelerator has" if ranks == 1 else "Each such group has"
        assert (f"{who} a copy of the model." in text) == (ranks < cards and not divided)
        experts = (
            f"what every token passes; the experts that it chooses from divide among all {cards:,.0f} accelerators."
        )
        assert (f"{who} {experts}" in text) == (ranks < cards and divided)


@says("pool-verdict", "scenario-fits")
def whether_the_model_fits(seen):
    pool, text = seen.number("ref-node-pool", "GB"), seen["pool-verdict"]
    either(seen, pool >= 0, "scenario-fits", "has room for the model", "has no room for this model")
    assert ("does not fit on this node" in text) == (pool < 0)
    state = in_plain(seen.case).state(seen.number("workload-context")) / 1e9
    assert ("no room for a context" in text) == (0 <= pool < state)
    if pool >= state:
        held, once = seen.number("resident-trajectories"), pool / state * (1 + 1e-12) // 1
        if held == once:
            said, context = numbers(rf"pool holds {NUMBER} trajector(?:y|ies) of {LENGTH}\.", text)
        else:
            context, more = numbers(rf"^Of {LENGTH} it would hold {NUMBER} trajector", text)
            (said,) = numbers(rf"the node holds {NUMBER}\.$", text)
            assert more == once > held
        assert said == held and near(context, seen.number("workload-context"), 6)


@says("tab-inputs", "tab-models")
def tables_are_complete(seen):
    assert len(seen.rows("tab-inputs")) == 12
    assert len(seen.rows("tab-models")) == len(catalog.names("model"))


@says("tab-change-three-lines")
def a_column_of_yours(seen):
    header = seen.tables["tab-change-three-lines"]["grid"].splitlines()[0]
    assert ("Yours" in header) == bool(seen.case.file)


# ---------------------------------------------------------------- kv-budget


@says("node-sessions-verdict", "own-sessions-verdict", "data-parallel-verdict", "tab-node-sessions")
def how_many_sessions(seen):
    case, text, own = seen.case, seen["node-sessions-verdict"], seen["own-sessions-verdict"]
    cards, cap = int(case.node.accelerators.magnitude), case.workload.context.m_as("token")
    held = {ranks: on_node(case, cap, ranks) for ranks in sharings(case)}
    most = max(sessions for sessions, _ in held.values())
    for (ranks, groups, weights, pool, _, sessions), (count, (right, left)) in zip(
        seen.rows("tab-node-sessions"), held.items(), strict=True
    ):
        assert numbers(f"^{NUMBER} {NUMBER}$", f"{ranks} {groups}") == [count, cards // count]
        kept = weights_of_card(case, count) * case.reserve.weights.m_as("byte/parameter") / 1e9
        assert near(numbers(f"^{NUMBER} GB$", weights)[0], kept)
        assert float(sessions.replace(",", "")) == right and ("does not fit" in pool) == (left < 0)
    assert ("Not one session fits." in text) == (most == 0)
    assert ("single card" in text) == (cards == 1 and most > 0)
    if most and cards > 1:
        ranks, sessions = numbers(rf"fit with {NUMBER} cards? a group: {NUMBER}\.", text)
        assert held[int(ranks)][0] == sessions == most
    assert ("has to pad them" in text) == bool(most and padded(case, sharing(case, cap)[1]))
    undivided = max(seen.number("ref-node-pool", "byte") / in_plain(case).state(cap), 0) // 1
    assert ("Were weights and state each held once" in text) == (undivided > most)
    apart, copies = seen["data-parallel-verdict"], max(on_node(case, cap, ranks, False)[0] for ranks in held)
    assert ("is dense: it has no experts" in apart) == (not case.model.experts)
    if case.model.experts:
        count = f"{copies:,.0f}" if copies else "not one"
        if copies == most:
            count = "as many" if most else "not one either"
        assert copies <= most and apart.endswith(f" would hold {count}.")
    assert seen.number("expert-parameters", "parameter") <= in_plain(case).all
    room = held[cards][1] >= 0 or most > 0
    assert own == ("has no room for the model at all" if not room else own)
    if room:
        assert own.startswith("holds not one of" if not most else f"holds {most:,.0f} session")
        assert own.endswith(f" of {case.workload.context.m_as('token'):,.9g} tokens") or cap == 1


@says("made-for-verdict")
def what_model_and_accelerator_are_made_for(seen):
    case, said = seen.case, seen["made-for-verdict"]
    limit, work = case.model.context_limit, case.workload
    context, call = work.context.m_as("token"), (work.prompt + work.output).m_as("token")
    if limit is None:
        assert said.startswith("For how long a context the model is made is not known here.")
    else:
        most, counted = numbers(rf"^The model is made for contexts of up to {LENGTH}; .* has {LENGTH}\.", said)
        assert most == limit.m_as("token")
        if context > most or call <= most:
            assert near(counted, context, 9)
        else:
            assert near(counted, call, 9) and "; the call has" in said
        assert ("; this one has" in said) == (context > most)
    own, alone = case.accelerator.link, case.node.accelerators.magnitude == 1
    if alone or own == case.node.link or own is None:
        assert "such accelerators" not in said
    elif not own.startswith("pcie"):
        assert said.endswith(f"; the {case.node.accelerators.magnitude:g} of this node are on NVLink 4.") or (
            case.node.link != "nvlink-4"
        )


@says("tab-own-budget", "tab-five", "fig-own-sessions")
def the_node_beside_the_worked_card(seen):
    case = seen.case
    (best,) = numbers(f"{NUMBER} cards? a group", seen.tables["tab-own-budget"]["caption"])
    assert best == sharing(case, case.workload.context.m_as("token"))[1]
    for row in seen.rows("tab-own-budget"):
        if found := re.fullmatch(f"Sessions of {LENGTH}", row[0]):
            assert float(row[2].replace(",", "")) == sharing(case, float(found[1].replace(",", "")))[0]
    ends = [sharing(case, at)[0] for at in (4_096, 262_144)]
    title = seen.figures["fig-own-sessions"]["title"]
    if ends[0] == 0:
        assert title == "The node holds not one session of any length shown"
    else:
        wanted = "not one" if ends[1] == 0 else f"{ends[1]:,.0f}"
        assert f"holds {ends[0]:,.0f} session{'s' * (ends[0] > 1)} of 4,096 tokens, and {wanted} of 262,144" in title
    made_for, caption = case.model.context_limit, seen.tables["tab-own-budget"]["caption"]
    if made_for is None:
        assert "may stop sooner than its memory" in caption
    else:
        assert numbers(f"The model is made for up to {LENGTH}", caption) == [made_for.m_as("token")]
    *_, (row, _, longest) = seen.rows("tab-own-budget")
    assert row == "Longest context that the memory holds"
    if whole_context(case) and (found := re.fullmatch(LENGTH, longest)):
        tokens = float(found[1].replace(",", ""))
        assert any(holds_alone(case, tokens, ranks) for ranks in sharings(case)) or not tokens
        assert not any(holds_alone(case, tokens + 1, ranks) for ranks in sharings(case))
    first, *_, (_, _, _, sessions) = seen.rows("tab-five")
    assert numbers(f"^{NUMBER}, computed", sessions)[0] == seen.number("resident-trajectories")
    assert_copies(seen, sessions)
    token = seen.number("ref-bytes-per-token") / 1024
    assert near(numbers(f"^{NUMBER} KiB", first[-1])[0], token) if token else first[-1].startswith("none")


def whole_context(case):
    """Whether a layer keeps the whole context."""
    return any(kind.window is None for kind in case.model.attention)


def holds_alone(case, tokens, ranks):
    """Whether a group of so many cards holds a context of so many tokens."""
    return state_of_card(case, tokens, ranks) <= on_node(case, 1, ranks)[1] * (1 + 1e-12)


def assert_copies(seen, text):
    """A text says how often a node stores the state of a context, if it holds one and stores it more than once."""
    copies = seen.number("state-copies")
    again = holds_one(seen) and copies >= 1.005
    assert ("state" in text) == again
    if again:
        assert near(*numbers(f"{NUMBER} times", text), copies)


@says("tab-levers")
def what_a_reload_takes(seen):
    (wait,) = numbers(f"at least {NUMBER} ms", seen.tables["tab-levers"]["grid"])
    rate = seen.case.host_link.bandwidth.m_as("B/s")
    assert near(wait, 1e3 * in_plain(seen.case).state(32_768) / rate, 2)


@says("holding-verdict")
def whether_holding_is_cheaper(seen):
    often = seen["holding-turn"] < seen["break-even-interval"]
    either(seen, often, "holding-verdict", "^more often.* the card is cheaper", "^less often.* the host is cheaper")


# ---------------------------------------------------------------- trajectory-queues, transactions


def holds_one(seen):
    return seen.number("resident-trajectories") >= 1


def stored(seen):
    """Bytes that a context of the workload takes on all cards of its group."""
    ranks = seen.number("sharing")
    return ranks * state_of_card(seen.case, seen.number("workload-context"), ranks)


@says("queues-answer", "gap-verdict")
def nodes_for_the_state(seen):
    either(seen, holds_one(seen), "queues-answer", "^Keeping the state of all takes", "^This node has no room for")
    either(seen, holds_one(seen), "gap-verdict", "^The ratio of the two", "^This node has no room for")
    if not holds_one(seen):
        assert ("for the model" in seen["queues-answer"]) == (seen.number("ref-node-pool") <= 0)
        return
    found = numbers(f"takes {NUMBER} nodes?, of those inside a call {NUMBER} nodes?", seen["queues-answer"])
    pool, state = seen.number("node-pool", "byte"), stored(seen)
    for nodes, key in zip(found, ("live-trajectories", "active-trajectories"), strict=True):
        assert near(nodes, seen.number(key) * state / pool, 2)
    (ratio,) = numbers(f"waits, {NUMBER} to one", seen["gap-verdict"])
    assert near(ratio, seen.number("live-trajectories") / seen.number("active-trajectories"), 2)


@says("fig-batching", "fig-little", "tab-little", "fig-lock")
def what_only_the_workload_moves(seen):
    (limit,) = numbers(f"full at {NUMBER} %", seen.figures["fig-batching"]["title"])
    assert near(limit, seen.number("static-limit", "percent"), 2) and limit <= 100
    (alive,) = numbers(rf"with {NUMBER} trajector(?:y|ies) alive", seen.figures["fig-little"]["title"])
    life = seen.number("sim-turns") * (seen.number("model-time", "s") + seen.number("tool-time", "s"))
    assert near(alive, seen.number("sim-rate") * life)
    assert len(seen.rows("tab-little")) == 2
    (an_hour,) = numbers(f"at most {NUMBER} an hour", seen.figures["fig-lock"]["title"])
    assert near(an_hour, 3600 / seen.number("trajectory-time", "s"), 2)


@says("reload-verdict", "fig-reload")
def whether_to_reload(seen):
    recompute = seen["break-even-here"] > seen["reload-link-rate"]
    either(seen, recompute, "reload-verdict", "^recomputes sooner", "^reloads sooner")
    assert seen["reload-verdict"] in seen.figures["fig-reload"]["title"]
    plain, context = in_plain(seen.case), seen.number("workload-context")
    work = 2 * plain.active * context + plain.attention_of_prompt(context)
    prefill = max(work / plain.rate, plain.read(context) / plain.bandwidth)
    assert about(seen.number("break-even-here", "B/s"), plain.state(context) / prefill, 1e-6)


@says("fig-keep", "keep-advice")
def how_long_to_keep(seen):
    title, advice = seen.figures["fig-keep"]["title"], seen["keep-advice"]
    assert title.startswith("This node has no room for") == (not holds_one(seen))
    assert advice.endswith("there is nothing to decide.") == (not holds_one(seen))
    assert ("nothing to keep" in seen.figures["fig-keep"]["alt"]) == (not holds_one(seen))
    if holds_one(seen):
        at, wait = numbers(f"after {NUMBER} s; the tool wait of {NUMBER} s is (?:not )?longer$", title)
        exact = seen.number("break-even-recompute", "s")
        assert near(at, exact, 2) and near(wait, seen.number("tool-time", "s"))
        assert title.endswith("is longer") == (seen.number("tool-time", "s") > exact)
        transfer, prefill = numbers(f"than {NUMBER} ms is not .* than {NUMBER} s not worth", advice)
        assert near(prefill, exact, 2) and near(transfer, seen.number("break-even-offload", "ms"), 2)


@says("recompute-trade", "tab-fleet")
def whether_recomputing_pays(seen):
    text, rows = seen["recompute-trade"], seen.rows("tab-fleet")
    if not holds_one(seen):
        assert "nothing to keep" in text and rows[0][1] == rows[1][1] == "no number of nodes"
        return
    starts, turns = seen.number("start-rate"), seen.number("turns")
    recompute, tool = seen.number("recompute-node-time", "s"), seen.number("tool-time", "s")
    share = stored(seen) / seen.number("node-pool", "byte")
    wait = recompute * seen.number("groups")  # only one group prefills
    saved, stolen = starts * turns * (tool - wait) * share, starts * turns * recompute
    if saved <= 0:
        assert text.startswith("Recomputing fills more memory than keeping does")
        return
    frees, takes = numbers(f"memory of {NUMBER} nodes? and takes the time of {NUMBER} node", text)
    assert near(frees, saved, 2) and near(takes, stolen, 2)
    assert text.endswith("a loss." if stolen > saved else "a gain." if stolen < 0.8 * saved else "about even.")


# ---------------------------------------------------------------- worksheet


@says("worksheet-token", "worksheet-sessions", "tab-worksheet", "worksheet-cap-sessions", "fig-worksheet-cap")
def what_a_sheet_says(seen):
    growth, held = seen.number("ref-bytes-per-token"), seen.number("resident-trajectories")
    assert (seen["worksheet-token"] == "nothing once its windows are full") == (growth == 0)
    if growth:
        assert near(numbers(f"^{NUMBER} kB$", seen["worksheet-token"])[0], growth / 1e3)
    assert_copies(seen, seen.tables["tab-worksheet"]["caption"].rpartition("the most")[2])
    words = f"{held:,.0f} session{'s' * (held > 1)}" if held else "not one session"
    assert seen["worksheet-sessions"] == f"{words} of that cap"
    room, text = seen.number("ref-node-pool") > 0, seen["worksheet-cap-sessions"]
    assert text.startswith(f"{words} at its cap" if room else "no session, whatever the cap")
    assert ("the node holds" in seen.figures["fig-worksheet-cap"]["title"]) == room
    if room:
        half, twice = numbers(f"tokens?, {NUMBER} at half of it and {NUMBER} at twice", text)
        assert half >= held >= twice


@says("worksheet-verdict", "worksheet-cap-met", "tab-worksheet-lengths")
def whether_the_cap_is_at_work(seen):
    p99, cap, text = seen.number("worksheet-p99"), seen.number("worksheet-cap"), seen["worksheet-verdict"]
    assert ("grow beyond the cap" in text) == (p99 > cap)
    met, half, twice = numbers(f"^{NUMBER} %; half of it {NUMBER} %, twice {NUMBER} %$", seen["worksheet-cap-met"])
    assert ("stops few" in text) == (0.8 * cap <= p99 <= cap and met > 0)
    assert ("stops none of the week's" in text) == (0.8 * cap <= p99 <= cap and met == 0)
    assert ("never come" in text) == (p99 <= 0.1 * cap)
    assert ("few sessions come near it" in text) == (0.1 * cap < p99 < 0.8 * cap)
    assert ("leave no memory for sessions" in text) == (seen.number("ref-node-pool") <= 0)
    if p99 <= cap:
        assert near(*numbers(f"^That is {NUMBER} %", text), 100 * p99 / cap)
    assert half >= met >= twice


@says("worksheet-crossing-verdict", "worksheet-decision", "fig-worksheet-crossing", "tab-worksheet-crossing")
def whether_to_hire(seen):
    text, decision = seen["worksheet-crossing-verdict"], seen["worksheet-decision"]
    title, row = seen.figures["fig-worksheet-crossing"]["title"], seen.rows("tab-worksheet-crossing")[0]
    if not holds_one(seen):
        assert text == "Here there is nothing to compare." and decision.startswith("Cards that do not hold a session")
        assert title == "Not one session fits on the cards" and row[1:] == ["0", "–", "–", "never"]
        return
    memory, arithmetic = (float(cell.replace(",", "")) for cell in row[2:4])
    if memory != arithmetic:
        assert text.startswith(f"Here {'memory' if memory < arithmetic else 'arithmetic'} runs out first. ")
    assert title in text
    if "cheaper from a utilisation" in text:
        assert row[4] == re.search(r"utilisation of (.+ %)", title)[1]
        assert numbers(NUMBER, row[4])[0] <= 100
    else:
        (times,) = numbers(f"Even full, the cards cost {NUMBER} times", text)
        assert (
            times >= 1
            and f"× {times:g}"
            == re.search("× [0-9.,]+", row[4])[0].replace(",", "").rstrip("0").rstrip("." if "." in row[4] else "")
            or about(times, numbers(f"× {NUMBER}", row[4])[0], 1e-9)
        )
    used, cards, host = numbers(f"would use {NUMBER} % .* cost {NUMBER} USD .*, and {NUMBER} USD from a host", decision)
    (full,) = numbers(f"{NUMBER} USD full", seen.figures["fig-worksheet-crossing"]["alt"])
    assert used <= 100 and about(cards, full / used * 100, 0.02)
    assert about(host, seen.number("worksheet-hosted"), 0.01)
    assert ("at the hire of others" in decision) == (not hires(seen.case))


def hires(case):
    """Whether the catalog has a hire of the scenario's accelerator, or it is the reference one."""
    title = case.accelerator.title.removesuffix(", changed")
    return bool(catalog.hires(title)) or title == costlib.load(REFERENCE).accelerator.title


@says("worksheet-hire-name", "worksheet-host-name", "cached-name", "hire-name")
def whose_prices(seen):
    assert seen["worksheet-host-name"].startswith("DeepSeek-V3") and seen["cached-name"].startswith("DeepSeek-V3")
    assert hires(seen.case) or seen["worksheet-hire-name"].startswith("H100 SXM")


@says("worksheet-margins", "tab-worksheet-sides")
def what_a_token_earns(seen):
    text, last = seen["worksheet-margins"], seen.rows("tab-worksheet-sides")[-1]
    assert text.startswith("With not one session") == (not holds_one(seen))
    if holds_one(seen):
        own, sold = (numbers(NUMBER + " USD", cell)[0] for cell in last[1:])
        revenue, cost = numbers(f"would (?:earn|lose) {NUMBER} % of revenue, or {NUMBER} % of cost", text)
        assert abs(revenue - 100 * abs(sold - own) / sold) <= 0.02 * revenue + 1
        assert abs(cost - 100 * abs(sold - own) / own) <= 0.02 * cost + 1
        if not about(own, sold, 0.01):
            assert ("would earn" in text) == (sold > own)


# ---------------------------------------------------------------- grammar, of everything that is read


COUNTED = "tokens|streams|sessions|accelerators|trajectories|nodes|cards|layers|heads|pieces|turns|agents|drafts"
ONE = "token|stream|session|accelerator|trajectory|node|card|layer|head|piece|turn|agent|draft"
WRONG = {
    "one of many": re.compile(rf"(?<![\d.,+–])\b1 (?:{COUNTED})\b"),
    "many of one": re.compile(rf"(?<![\d.,])(?:0|[2-9]|\d[\d,.]*\d) (?:{ONE})\b(?![-/])"),
    "no number": re.compile(r"\b(?:nan|inf|None|array|Quantity)\b"),
    "two stops": re.compile(r"[^.]\.\.(?!\.)|,,| ,| \.(?:\s|$)"),
    "twice negated": re.compile(r"\b(?:at most|no|not) (?:no|not|never)\b"),
    "a minus": re.compile(r"holds? (?:at most )?[-−]"),
}


@functools.cache
def faults_of_text(text):
    found = ((fault, pattern.search(text)) for fault, pattern in WRONG.items())
    return [f"{fault}: …{text[max(at.start() - 60, 0) : at.end() + 40]}…" for fault, at in found if at]


def grammar(seen):
    assert [f"in {where}, {fault}" for where, text in seen.texts() for fault in faults_of_text(text)] == []


# ---------------------------------------------------------------- scenarios


NODES = {  # the node that suits each accelerator, and its link where the node's is another's
    "a100-40gb-sxm": "hgx-8-nvlink-3",
    "a100-80gb-sxm": "hgx-8-nvlink-3",
    "a100-80gb-pcie": "pair-pcie-4",
    "h100-sxm": "hgx-8-nvlink-4",
    "h100-pcie": "pcie-5-8",
    "h200-sxm": "hgx-8-nvlink-4",
    "b200-sxm": "hgx-8-nvlink-5",
    "gb200": "gb200-nvl72",
    "b300-sxm": "hgx-8-nvlink-5-pcie-6",
    "gb300": "gb200-nvl4",
    "l4": "single-pcie-4",
    "l40s": "pcie-4-8",
    "rtx-4090": "pair-pcie-4",
    "rtx-5090": "single-pcie-5",
    "rtx-pro-6000": "pair-pcie-5",
    "mi300x": "mi300x-8",
    "mi325x": "mi300x-8",
    "mi355x": "mi300x-8",
    "gaudi-3": "gaudi-3-8",
    "tpu-v5e": ("tpu-v6e-8", "tpu-v5e-ici"),
    "tpu-v5p": ("tpu-v6e-8", "tpu-v5p-ici"),
    "tpu-v6e": "tpu-v6e-8",
    "dgx-spark": "single-pcie-5",
    "m3-ultra": "single-pcie-5",
}


def written(model, accelerator, arithmetic="8-bit", **workload):
    """A reader's file."""
    node, *link = [NODES[accelerator]] if isinstance(NODES[accelerator], str) else NODES[accelerator]
    lines = [f'model = "{model}"', f'accelerator = "{accelerator}"', f'node = "{node}"']
    lines += [f'link = "{name}"' for name in link]
    if catalog.part("accelerator", accelerator).rate_8bit is None:
        arithmetic = "16-bit"
    lines += ["[precision]", f'arithmetic = "{arithmetic}"', f'weights = "{arithmetic[:-4]} bit/parameter"']
    lines += ["[workload]", *(f"{name} = {value}" for name, value in workload.items())]
    return "\n".join(lines)


def loaded(folder, text):
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return costlib.load(file)


@functools.cache
def book():
    """The book, read once under the reference scenario; what does not depend on it is not run again."""
    book = Book()
    book.read(costlib.load(REFERENCE))
    return book


def faults(case):
    """What the book says of a scenario that is not so, a line each."""
    found = []
    try:
        seen = book().read(case)
    except AssertionError as error:
        return [f"a cell fails: {error}"]
    for check in dict.fromkeys([*CHECKS.values(), grammar]):
        try:
            check(seen)
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            line = traceback.extract_tb(error.__traceback__)[-1].line
            found.append(f"{check.__name__}: {type(error).__name__} {str(error).splitlines()[:1]} {line}")
    return found


def test_every_text_that_depends_on_the_scenario_has_its_check():
    assert book().keys() - CHECKS.keys() == set()
    assert CHECKS.keys() - book().keys() == set()


def test_the_reference_scenario():
    assert faults(costlib.load(REFERENCE)) == []


def test_what_is_not_run_again_would_be_the_same(tmp_path):
    case = loaded(tmp_path, written(*FEW[1], context=50_000, tool_time='"7 s"'))
    again, anew = book().read(case), Book().read(case)
    assert [again.records, again.figures, again.tables] == [anew.records, anew.figures, anew.tables]


def faults_of_model(arguments):
    """Of one model on every accelerator of the catalog; accelerators of one precision after another."""
    model, folder = arguments
    found, read, refused = [], 0, []
    accelerators = catalog.names("accelerator")
    for name in sorted(accelerators, key=lambda name: catalog.part("accelerator", name).rate_8bit is None):
        try:
            case = loaded(folder, written(model, name))
        except InputError as error:
            refused.append(str(error))
            continue
        read += 1
        found += [f"{model} on {name}: {fault}" for fault in faults(case)]
    return found, read, refused


def test_all_models_on_all_accelerators(tmp_path_factory):
    jobs = [(model, tmp_path_factory.mktemp(model.replace(".", "-"))) for model in catalog.names("model")]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(faults_of_model, jobs, chunksize=1)
    found, read, refused = ([each for each in column] for column in zip(*results, strict=True))
    assert [fault for faults in found for fault in faults] == []
    assert sum(read) + sum(map(len, refused)) == len(jobs) * len(catalog.names("accelerator"))
    assert all("wanted" in reason or "has no" in reason for reasons in refused for reason in reasons)
    assert sum(read) >= 0.9 * len(jobs) * len(catalog.names("accelerator"))


EXTREMES = {
    "one token": {"prompt": 1, "context": 1, "output": 1, "observation": 1},
    "one stream": {"batch": 1, "start_rate": '"1 sequence/s"', "turns": 1},
    "no tool time": {"tool_time": '"0 s"'},
    "very long": {"prompt": 10_000_000, "context": 10_000_000, "observation": 1_000_000},
    "in an instant": {"model_time": '"1 ms"', "tool_time": '"0 s"', "turns": 1},
    "very many": {"batch": 4096, "start_rate": '"1000 sequence/s"', "turns": 200},
}
FEW = [("qwen3-8b", "m3-ultra"), ("nemotron-3-super-120b-a12b", "h200-sxm"), ("deepseek-v3", "b200-sxm")]
FEW += [("mistral-7b-v0.1", "l4"), ("llama-3.1-405b", "rtx-4090"), ("gemma-4-31b", "gb200")]


@pytest.mark.parametrize("workload", EXTREMES.values(), ids=EXTREMES)
def test_extreme_workloads(tmp_path, workload):
    found = {pair: faults(loaded(tmp_path, written(*pair, **workload))) for pair in FEW}
    assert {pair: lines for pair, lines in found.items() if lines} == {}


ODD_SHAPES = {
    "one window": "{layers=2, query_heads=8, kv_heads=2, key_dim=8, value_dim=8, window=1}",
    "two windows": "{layers=1, query_heads=8, kv_heads=2, key_dim=64, value_dim=64, window=128},"
    "{layers=1, query_heads=8, kv_heads=2, key_dim=64, value_dim=64, window=4096}",
    "latents in a window": "{layers=2, query_heads=8, kv_heads=8, key_dim=192, value_dim=128, latent_rank=512,"
    " rope_dim=64, window=1024}",
}


@pytest.mark.parametrize("shape", ODD_SHAPES.values(), ids=ODD_SHAPES)
def test_odd_shapes_of_attention(tmp_path, shape):
    model = '[model]\ntitle = "Odd"\nparameters = 7_000_000_000\nlayers = 2\nwidth = 4096\nvocabulary = 32000\n'
    assert faults(loaded(tmp_path, f"{model}attention = [{shape}]\n")) == []


@pytest.mark.parametrize("count", [1, 7, 1024])
def test_odd_nodes(tmp_path, count):
    assert faults(loaded(tmp_path, f"[node]\naccelerators = {count}\n")) == []
    assert faults(loaded(tmp_path, f'model = "deepseek-v3"\n[node]\naccelerators = {count}\n')) == []
    all_of_them = f'[model]\nfrom = "deepseek-v3"\nparameters = {30_000_000_000 * count}\nexperts = {2 * count}\n'
    all_of_them += "experts_per_token = 1\n"
    assert (
        faults(loaded(tmp_path, f"{all_of_them}active_parameters = 20_000_000_000\n[node]\naccelerators = {count}\n"))
        == []
    )


@settings(derandomize=True, deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(catalog.names("model")),
    st.sampled_from(catalog.names("accelerator")),
    st.fixed_dictionaries(
        {
            "context": st.integers(1, 2_000_000),
            "output": st.integers(1, 20_000),
            "batch": st.integers(1, 512),
            "tool_time": st.integers(0, 5_000).map('"{} s"'.format),
        }
    ),
)
def test_scenarios_at_random(tmp_path, model, accelerator, workload):
    workload |= {"observation": max(workload["context"] // 3, 1), "prompt": workload["context"]}
    assert faults(loaded(tmp_path, written(model, accelerator, **workload))) == []
