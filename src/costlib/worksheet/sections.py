"""The numbers that come from a configuration, an engine's log and a load test."""

from costlib.logs.reader import NAMES
from costlib.model_config import Refused
from costlib.model_config.weights import counted_weights
from costlib.schema import InputError
from costlib.units import Quantity, show
from costlib.worksheet.memory import AS_LOADED, NEEDS, count_of, engine_of, loaded, on_host
from costlib.worksheet.table import Row, Section, minus

__all__ = ["cap_sections", "pool_of", "row_of", "sessions_section", "state_section", "weights_section"]

CLOSE = 0.005  # of the weights: padding, buffers, and the rounding of what is printed
GB = ("GB", "GiB")
EXACT = 1e-4  # of a card's memory: less is not worth a word
SIXTEEN = Quantity(2.0, "byte/parameter")
RESERVES = {  # why an engine holds fewer than the model's need says
    "vLLM": "blocks that are not full, a step more in each window, pages of one size, heads that are repeated",
    "SGLang": "a pool for windows that is a fixed share, a spare slot of state, heads that are repeated",
    "llama.cpp": "cells in multiples of 256, a micro-batch more in each window, states in 32 bits",
}
TOLD = "it is what the engine was told to allocate, --ctx-size, and not what the card has left"
NONE = "Not one session"
LOG_LACKS = "the log does not say it; give all of it, from the engine's start on"
OWN_LOG = "the log of a start of this model on this machine: --log FILE"
SOME = 0.05  # of the weights: the table of tokens is often in main memory
NO_LOG = "start the engine once, and give its log: --log FILE"
SLOTS = "its slots, --parallel"


def state_section(cards, tokens, columns):
    """What a token keeps, and what does not grow: as the model needs it and as engines reserve it."""
    served = [column == NEEDS or not cards.lacks(column, tokens) for column in columns]
    kept = [cards.kept(column, tokens) if able else None for column, able in zip(columns, served, strict=True)]
    growth, beside, total = ([None if one is None else one[i] for one in kept] for i in range(3))
    length = show(tokens, digits=15)
    rows = (
        Row(key="per_token", what="one more token", values=tuple(growth), units=("kB/token", "KiB/token")),
        Row(key="beside", what=f"beside it, at {length}", values=tuple(beside), units=("MB", "MiB")),
        Row(key="session", what=f"a session of {length}", values=tuple(total), units=GB),
    )
    return Section(
        key="per_token",
        title="1. KV cache per token, from the configuration",
        columns=columns,
        rows=rows,
        says=tuple(_says_of_state(cards, tokens, columns)),
    )


def _says_of_state(cards, tokens, columns):
    model = cards.model
    for cache in model.caches:
        yield _of_cache(cache, cards.precision)
    for state in model.states:
        yield f"{state.kind}: {state.layers} layers, {show(state.state, 'MB', 4)}, however long the session is."
    _, beside, total = cards.kept(NEEDS, tokens)
    if beside.magnitude > 0:
        share = show(beside / total, "percent", 2)
        yield f"Growth is not the whole truth: {share} of such a session is in windows and states, which do not grow."
    if cards.count > 1:
        yield (
            f"What engines reserve is summed over {cards.count} cards. Heads are split over them, and repeated where "
            "they do not split, also in the sessions by need; llama.cpp splits layers."
        )
    for column in columns[1:]:
        why = cards.lacks(column, tokens)
        settings = "; ".join(cards.assumptions(column, tokens) if not why else ())
        yield f"{column}: not told, {why}." if why else f"{column}: {settings or 'blocks of one token'}."


def _of_cache(cache, precision):
    """What layers of one kind keep of a token, with the values put in."""
    element = precision if cache.precision is None else Quantity(cache.precision, "byte/element")
    size = show(cache.bytes_per_entry(precision), "byte/token", 15).removesuffix("/token")
    of = "one entry a token" if cache.stride == 1 else f"one entry for {cache.stride} tokens"
    last = f", of the last {cache.window:,} tokens" if cache.window else ""
    return (
        f"{cache.kind}: {cache.layers} layers × {cache.heads} × ({cache.key_dim} + {cache.value_dim}) × "
        f"{show(element, 'byte/element', 5).removesuffix('/element')} = {size}, {of}{last}."
    )


def weights_section(cards, log, precision, comparisons, foreign):
    """What the weights take: counted, as their files are, and as the engine's log has it."""
    model = cards.model
    counted, why = _counted(model, precision)
    of_log, speak, of = loaded(None if foreign else log, cards.count, cards.weights.size)
    ranks = "all ranks" if speak == of else f"{speak} of {of} ranks, the others taken as these"
    rows = [
        Row(
            key="computed",
            what="computed",
            values=(counted and counted.size,),
            source=counted.formula if counted else "",
            units=GB,
            missing=why,
        ),
        Row(
            key="files",
            what="their files",
            values=(model.weights,),
            source="their sizes, beside the configuration",
            units=GB,
            missing="put the configuration beside the files, or name a folder that has both",
        ),
        Row(
            key="log",
            what=f"loaded, {ranks}",
            values=(of_log,),
            source=_of(log),
            units=GB,
            missing=_wanted(log, foreign),
        ),
        *(_not_used(log, "other_log", "loaded", loaded(log, count_of(log))[0], GB) if foreign else ()),
    ]
    if cards.weights.source == "as given":
        rows.insert(0, Row(key="given", what="as given", values=(cards.weights.size,), source="--weights", units=GB))
    says = [f"The sessions below are counted with the weights {cards.weights.source}."]
    if cards.weights.source == AS_LOADED and counted is not None:
        says.append(_of_quantised(cards.weights.size, counted.size, log))
    if counted is not None and model.weights is not None:
        says.append(_of_files(model, counted))
    says += [_compared(one) for one in comparisons if one.what == "weights"]
    return Section(key="weights", title="2. Weights", rows=tuple(rows), says=tuple(says))


def _of_quantised(loaded, counted, log):
    """That a log's weights are fewer bytes than the model's file says, and how to have its own file used."""
    size = show(loaded, "GB", 4)
    kind = log.settings.get("file_type") or log.settings.get("quantisation")
    file = "the .gguf file" if engine_of(log) == "llama.cpp" else "the configuration of the quantised model"
    return (
        f"The log's weights are {size}, not {show(counted, 'GB', 4)}: they are quantised"
        f"{f' ({kind})' if kind else ''}. Give {file} as CONFIG, or --weights '{size}'."
    )


def _compared(one):
    """A figure of a log against its prediction, with what explains the difference."""
    shown = {"byte": "GB", "token": "token"}
    unit = next((unit for base, unit in shown.items() if _is(one.printed, base)), None)
    printed = show(one.printed, unit, 5)
    if one.predicted is None:
        return f"{one.what}, by the log {printed}: {one.explanation}."
    share = "" if abs(one.difference or 0) < EXACT else f" ({_more(one.difference)})"
    return f"{one.what}, by the log {printed}, predicted {show(one.predicted, unit, 5)}{share}: {one.explanation}."


def _more(share):
    return ("+" if share > 0 else "−") + show(Quantity(100 * abs(share), ""), digits=2) + " %"


def _is(value, unit):
    return isinstance(value, Quantity) and value.is_compatible_with(unit)


def _of(log):
    """How the source of what a log says is called."""
    return " ".join(filter(None, ("the log of", NAMES.get(log.engine), log.version))) if log is not None else ""


def _counted(model, precision):
    """What the parameters take, or why that is not known."""
    try:
        return counted_weights(model, precision), ""
    except Refused as refused:
        return None, f"how its weights are stored: --weight-precision; the file has {refused.given}"
    except InputError as error:
        return None, str(error)


def _of_files(model, counted):
    """By how much the files differ from what the parameters take, and what explains it."""
    more = model.weights - counted.size
    by = f"their files − computed: {show(more, 'GB', 3)}, {show(more / counted.size, 'percent', 2)}"
    close = CLOSE * counted.size
    if abs(more) <= close:
        return f"{by}: within {show(Quantity(CLOSE, ''), 'percent')}, as padding, buffers and headers are."
    for reasons, extra in _larger_files(model, counted):
        if abs(more - extra) <= close:
            return f"{by}: {reasons}, {show(extra, 'GB', 3)}."
    quantised = model.quantisation is not None
    hint = "; a quantised file has scales, and keeps some weights wider" if quantised else ""
    return f"{by}: not explained{hint}."


def _larger_files(model, counted):
    """What the files may have beside the parameters at the precision counted, and how much it takes."""
    wider = Quantity(max(0.0, (SIXTEEN - counted.precision).m_as("byte/parameter")), "byte/parameter")
    table = Quantity(float(model.parameters.embedding), "parameter") * wider
    predictors = Quantity(float(model.parameters.predictors or 0), "parameter") * counted.precision
    for predicting in (0, 1):
        for tables in (0, 1, 2):
            reasons = [
                *(["layers that predict further tokens"] if predicting else []),
                *([f"the table of tokens{' and the output head' if tables > 1 else ''} in 16 bits"] if tables else []),
            ]
            yield " and ".join(reasons), predicting * predictors + tables * table


def cap_sections(cards, tokens, source, at_cap, columns):
    """The cap and what happens at it; then the sessions at half, at and at twice the cap."""
    limit, says = cards.model.context_limit, []
    if limit is not None and 2 * tokens.m_as("token") > limit:
        says.append(f"The model was made for contexts of up to {limit:,} tokens.")
    yield Section(
        key="cap",
        title="3. Context cap",
        rows=(
            Row(key="tokens", what="the cap", values=(tokens,), source=source, digits=15),
            Row(
                key="at_cap",
                what="what happens at it",
                values=(at_cap,),
                source="as given",
                missing="decide, enforce it, and write it down: --at-cap compact, summarise, truncate or refuse",
            ),
        ),
    )
    lengths = (("half", "half the cap", 0.5), ("at", "the cap", 1.0), ("twice", "twice the cap", 2.0))
    yield Section(
        key="sessions_by_cap",
        title="",
        columns=columns,
        rows=tuple(_at(cards, columns, key, what, tokens, times) for key, what, times in lengths),
        says=tuple(says),
    )


def _at(cards, columns, key, what, tokens, times):
    length = Quantity(float(max(1, round(tokens.m_as("token") * times))), "token")
    held = tuple(_held(cards, column, length) for column in columns)
    return Row(key=key, what=f"sessions at {what}, {show(length, digits=15)}", values=held, digits=15)


def _held(cards, column, tokens):
    return None if cards.lacks(column, tokens) else cards.sessions(column, tokens)


def sessions_section(cards, tokens, log, tested, columns, comparisons, foreign):
    """Sessions that the accelerators hold: computed, by the log, and under load; of a foreign log, that it is one."""
    engine = columns[1] if len(columns) == 2 else None
    per = f" on {cards.count} cards" if cards.count > 1 else ""
    rows = [
        Row(
            key="room",
            what="room for KV cache on each card",
            values=(cards.room,),
            source=(
                f"{show(cards.utilisation, 'percent')} × {show(cards.accelerator.memory, 'GB', 4)}"
                f" − {show(cards.weights.size, 'GB', 4)}{f' / {cards.count}' if cards.count > 1 else ''}"
                f" − {show(cards.runtime, 'GB', 4)}"
            ),
            units=GB,
        )
    ]
    for column in columns:
        by = "the model needs" if column == NEEDS else f"{column} reserves"
        rows.append(
            Row(
                key=row_of(column),
                what=f"sessions{per}, computed: by what {by}",
                values=(_held(cards, column, tokens),),
                source=_division(cards, column, tokens),
                missing=cards.lacks(column, tokens) or "",
                digits=15,
            )
        )
    used = None if foreign else log
    pool = pool_of(used, cards)
    by_log = _by_log(log, tokens, cards.model)
    rows += [
        Row(
            key="pool",
            what="room for KV cache on the smallest card, loaded",
            values=(pool,),
            source=_of(log),
            units=GB,
            missing=_wanted(log, foreign),
        ),
        Row(
            key="in_pool",
            what=f"sessions{per}, computed: in that pool",
            values=(None if pool is None else _in(cards, engine or NEEDS, tokens, pool),),
            source=_division(cards, engine or NEEDS, tokens, "pool"),
            digits=15,
            needs="needs that pool",
        ),
        Row(
            key="log",
            what=f"sessions{per}, {_by(used, tokens)}",
            values=(None if foreign else by_log,),
            source=_of(log),
            missing=_wanted(log, foreign),
        ),
        *(_of_foreign(log, tokens, cards.model) if foreign else ()),
        Row(
            key="tested",
            what=f"sessions{per}, in a load test at the cap",
            values=(None if tested is None else Quantity(float(tested), "session"),),
            source="--tested-sessions",
            digits=15,
            missing=(
                f"run sessions of {show(tokens, digits=15)} until one is preempted or refused; "
                "--tested-sessions, the most that ran"
            ),
        ),
    ]
    return Section(
        key="sessions",
        title="5. Sessions per card",
        rows=tuple(rows),
        says=(
            *([foreign] if foreign else []),
            *_none_fits(cards, columns[-1] if engine else NEEDS, tokens, tested or (not foreign and by_log)),
            *_explained(rows, cards, used, engine),
            *_not_started(log),
            *_in_main_memory(used),
            *_of_room(cards, used),
            *(_compared(one) for one in comparisons if one.what != "weights"),
        ),
    )


def _by(log, tokens):
    """How a log counts sessions: as it prints it, for its own limit, or by the tokens that its pool holds."""
    as_printed = log is None or engine_of(log) == "llama.cpp" or log.context_limit in (None, tokens)
    return "as the log has it" if as_printed else "from the log's tokens"


def _of_foreign(log, tokens, model):
    """The rows of what a foreign log says of its pool: of sessions of its own limit, if it states one."""
    length = tokens if log.context_limit is None else log.context_limit
    what = f"sessions of {show(length, digits=15)}, {_by(log, length)}"
    yield from _not_used(log, "other_pool", "room for KV cache on its smallest card", log.cache, GB)
    yield from _not_used(log, "other_log", what, _by_log(log, length, model))


def _not_used(log, key, what, value, units=()):
    """The row of what a foreign log says, where it says it."""
    if value is not None:
        yield Row(key=key, what=f"not used: {what}", values=(value,), source=_of(log), units=units)


def _wanted(log, foreign):
    return NO_LOG if log is None else OWN_LOG if foreign else LOG_LACKS


def _in_main_memory(log):
    """What of the weights is on no card, by a log of llama.cpp."""
    weights = [rank.weights for rank in log.ranks if on_host(rank) and rank.weights] if log is not None else []
    cards = [rank for rank in log.ranks if not on_host(rank) and rank.weights] if weights else []
    if cards and sum(weights) > SOME * log.weights:
        yield (
            f"By the log {show(sum(weights), 'GB', 3)} of the weights are in main memory. The times and the cost below "
            "are those of cards that hold them all: real ones are longer."
        )


def _none_fits(cards, column, tokens, measured):
    """Why the cards hold not one session of the cap, where that is so, and no load test or log says otherwise."""
    if measured or cards.lacks(column, tokens) or cards.sessions(column, tokens).magnitude:
        return
    if cards.room.magnitude <= 0:
        why = f"the weights leave no room: {minus(show(cards.room, 'GB', 4))} on each card"
    else:
        each = show(cards.on_each(column, tokens), "GB", 4)
        why = f"on each card a session takes {each}, and there is room for {show(cards.room, 'GB', 4)}"
    yield f"{NONE} of {show(tokens, digits=15)} fits: {why}. More cards, a lower cap or a smaller format may do."


def _division(cards, column, tokens, room="room"):
    """How sessions are counted in a room, with what one of them takes there."""
    if column == "SGLang" or cards.lacks(column, tokens):
        return f"as many as its pools hold in that {room}"
    share = show(cards.on_each(column, tokens), "GB", 4)
    return f"{room} / {share}{' of a session on each' if cards.count > 1 else ''}"


def row_of(column):
    """The key of the row that counts sessions so."""
    return "needs" if column == NEEDS else column.lower()


def pool_of(log, cards):
    """Room for state on each accelerator, by a log; llama.cpp's sums it over devices."""
    if log is None or log.cache is None:
        return None
    return log.cache / cards.count if engine_of(log) == "llama.cpp" else log.cache


def _in(cards, column, tokens, pool):
    return None if cards.lacks(column, tokens) else cards.sessions(column, tokens, pool)


def _by_log(log, tokens, model):
    held = log.sessions(tokens, model) if log is not None else None
    return None if held is None else held.to("session")


def _explained(rows, cards, log, engine):
    """Each step from the computed number to the measured one, and what is between."""
    by_key = {row.key: row.values[0] for row in rows}
    told = engine == "llama.cpp"
    steps = [("the model's need", by_key["needs"], "")]
    if engine:
        steps.append((f"{engine}'s reserve", by_key[row_of(engine)], RESERVES[engine]))
    steps.append(("the room by the log", by_key["in_pool"], TOLD if told else "that room differs, as below"))
    steps.append(("the log's own count", by_key["log"], SLOTS if told else "the engine divides it otherwise, as below"))
    steps.append(("the load test", by_key["tested"], None))
    known = [step for step in steps if step[1] is not None]
    for (name, held, _), (other, then, why) in zip(known, known[1:], strict=False):
        if abs((then - held).m_as("session")) < 1:
            yield f"{other}: as {name}."
        else:
            yield f"{other}: {_signed(then - held, 'session')} against {name}: {why or _of_test(held, then, log)}."
    if cards.count > 1 and known:
        name, held, _ = known[-1]
        yield f"For each card, by {name}: {show((held / cards.count).m_as('session'), digits=3)} sessions."


def _not_started(log):
    """That the engine did not start, where its log says so."""
    if log is not None and log.refused:
        yield f"By the log the engine did not start: {log.refused}."


def _signed(difference, unit):
    return ("+" if difference.magnitude >= 0 else "−") + show(abs(difference), unit, 3)


def _of_room(cards, log):
    """What the room of a log has in it otherwise than the one that was computed; nothing where no log says."""
    pool = pool_of(log, cards)
    if pool is None or engine_of(log) == "llama.cpp":
        return
    share = cards.utilisation if log.utilisation is None else Quantity(log.utilisation, "")
    memory = cards.accelerator.memory if log.memory is None else log.memory
    computed, loaded = cards.weights.size / cards.count, log.smallest.weights if log.smallest is not None else None
    kept = computed if loaded is None else loaded
    parts = (
        ("a card's memory", cards.utilisation * (memory - cards.accelerator.memory)),
        ("the share that the engine may use", (share - cards.utilisation) * memory),
        ("weights", computed - kept),
        (
            "what is neither weights nor state" + ("" if log.memory is not None else ", on such a card"),
            cards.runtime - (share * memory - kept - pool),
        ),
    )
    shown = "; ".join(f"{what} {_signed(more, 'GB')}" for what, more in parts if abs(more) > EXACT * memory)
    yield f"Room by the log against the computed: {_signed(pool - cards.room, 'GB')}{shown and f' ({shown})'}."


def _of_test(held, then, log):
    """What moves a load test away from a division, by the direction."""
    use = log.use if log is not None else None
    if then > held:
        hits = "" if use is None or use.hit_rate is None else f"; the log has prefix hits of {use.hit_rate:.0%}"
        return (
            "sessions that share a prefix, or that were not at the cap, or state moved to the host; "
            f"the engine's counts of prefix hits and of swapped blocks tell which{hits}"
        )
    gave_back = "" if use is None or not use.preemptions else f"; the log has {use.preemptions:,} preemptions"
    return (
        "a limit on running sequences, fragments, or batches that need room of their own; "
        f"the engine's counts of waiting and of preempted requests tell which{gave_back}"
    )
