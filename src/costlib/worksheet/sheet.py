"""The worksheet: its inputs, what is taken for granted in them, and its sections."""

from dataclasses import dataclass, replace

from costlib import catalog
from costlib.arguments import ArgumentError
from costlib.model_config import Refused
from costlib.model_config.precision import precision_of
from costlib.model_config.weights import Weights, weights_of
from costlib.schema import InputError
from costlib.units import Quantity, show
from costlib.worksheet.cost_section import cost_sections
from costlib.worksheet.costs import Costs, session_of
from costlib.worksheet.lengths import length_section
from costlib.worksheet.memory import (
    AS_LOADED,
    ENGINES,
    FAR,
    NEEDS,
    Cards,
    count_of,
    engine_of,
    foreign,
    loaded,
    quantised,
    ranks_of,
    settings_of,
)
from costlib.worksheet.sections import cap_sections, pool_of, row_of, sessions_section, state_section, weights_section
from costlib.worksheet.summary import summary_section
from costlib.worksheet.table import Section

__all__ = ["Worksheet", "worksheet"]

UTILISATION, SHARE = Quantity(0.9, ""), "{} of each accelerator's memory for the engine: --utilisation"
RUNTIME, OTHER = Quantity(2.0, "GB"), "{} on each accelerator for what is neither weights nor state: --runtime"
NOT_SET = "not set: the cap is the model's context window, and the plan is sized by it"


@dataclass(frozen=True, kw_only=True)
class Worksheet:
    """Five numbers and a cost, with where each is from and what is missing.

    Parameters
    ----------
    cards : Cards
        The model, on what it runs.
    accelerator : str
        Their name in the catalog.
    cap : Quantity [token]
    costs : Costs
    sections : tuple of Section
    assumptions : tuple of str
        What was taken for granted.
    notes : tuple of str
        What the numbers do not contain.
    kv_format : str
        Format of the cache.
    weight_precision : Quantity [byte/parameter], optional
        At which weights were counted, where it was given.
    measured : Quantity [session], optional
        Sessions that the cards hold at the cap, by a load test or else by the log.
    pool : Quantity [byte], optional
        Room for state on each of them, by the log.
    lengths : dict, optional
        The 99th percentile of session lengths with the ends of its interval, and of how many sessions.
    source : str
        The file of the model, as it was given.
    command : str
        The command that makes this worksheet.
    """

    cards: Cards
    accelerator: str
    cap: Quantity
    costs: Costs
    sections: tuple[Section, ...]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    kv_format: str
    weight_precision: object = None
    measured: Quantity | None = None
    pool: Quantity | None = None
    lengths: dict | None = None
    source: str = ""
    command: str = ""

    def __getitem__(self, key):
        """The section of this key."""
        return next(section for section in self.sections if section.key == key)

    @property
    def missing(self):
        """Rows without a value, each with how to get it: section, row. The first section has those of the others."""
        rows = ((section, row) for section in self.sections[1:] for row in section.rows)
        return [(section, row) for section, row in rows if not row.known and row.missing]


def worksheet(
    model,
    accelerator,
    count=None,
    cap=None,
    *,
    at_cap=None,
    weights=None,
    weight_precision=None,
    kv_format=None,
    utilisation=None,
    runtime=None,
    log=None,
    trace=None,
    tested_sessions=None,
    session=None,
    load=None,
    hire=None,
    hosted=None,
    source="",
    command="",
):
    """Five numbers to write down before hardware is ordered, and what a session costs.

    Parameters
    ----------
    model : ModelConfig
        What was read of the model.
    accelerator : str
        A name in the catalog.
    count : int, optional
        Accelerators that share one copy of the model; by default as many as the log is of, or one.
    cap : Quantity [token], optional
        The cap on a session; by default the engine's limit in the log, or that for which the model was made.
    at_cap : str, optional
        What happens to a session at the cap.
    weights : Quantity [byte], optional
        Size of all weights; by default that of their files, or as counted.
    weight_precision : Quantity [byte/parameter], optional
        Stored size of every weight, at which they are then counted.
    kv_format : str, optional
        Format of the cache; by default that of the log, or the one that the model's file declares.
    utilisation : Quantity [], optional
        Share of an accelerator's memory that the engine may use; by default that of the log, or 0.9.
    runtime : Quantity [byte], optional
        What activations and graphs take of that on each accelerator; by default 2 GB.
    log : Log, optional
        What ``costlib.logs.read`` read of an engine's log.
    trace : Summary, optional
        What ``costlib.traces.summary`` says of a trace.
    tested_sessions : int, optional
        Sessions that ran at once in a load test at the cap.
    session : dict of str to Quantity, optional
        What the mean session is, by the fields of :class:`~costlib.worksheet.costs.Session`; the rest is the trace's.
    load : Quantity [], optional
        Sessions that come over those that could be served.
    hire : Price, optional
        Of an accelerator for an hour.
    hosted : Price, optional
        Of a host's tokens.
    source : str
        The file of the model, as a command would name it.
    command : str
        The command that makes this worksheet, for those who read it.

    Returns
    -------
    Worksheet

    Raises
    ------
    InputError, Refused
        If the accelerator is not in the catalog, or what the weights take is not known.
    ArgumentError
        If a count is no whole number, or a cap is missing and the model states none.

    Examples
    --------
    >>> from costlib.model_config import read_table
    >>> from costlib.units import quantity
    >>> model = read_table({"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
    ...     "num_key_value_heads": 8, "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
    ...     "tie_word_embeddings": False, "dtype": "bfloat16"}, "example")
    >>> sheet = worksheet(model, "h100-sxm", cap=quantity("32768 token"))
    >>> show(sheet["sessions"]["needs"].values[0])
    '13 sessions'
    """
    for name, value in (("count", count), ("tested_sessions", tested_sessions)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ArgumentError(f"worksheet: {name} = {value!r}; wanted a whole number, 1 or more")
    asked = {
        "cap": cap,
        "count": count,
        "weights": weights,
        "weight_precision": weight_precision,
        "kv_format": kv_format,
        "utilisation": utilisation,
        "runtime": runtime,
    }
    plan = _plan(model, accelerator, log, **asked)
    comparisons = _comparisons(log, kv_format and plan.cards.precision, plan.cards)
    given = weights is not None or weight_precision is not None or source.lower().endswith(".gguf")
    why, used = foreign(plan.cards, log, comparisons, weights_given=given), log
    if why:
        comparisons, used = [], None
        plan = _without_log(model, accelerator, asked, why)
    elif not given:
        plan = _stored_as_in(log, plan)
    cards, cap = plan.cards, plan.cap
    engine = engine_of(used)
    columns = (NEEDS, *((engine,) if engine else ENGINES))
    by_sessions = sessions_section(cards, cap, log, tested_sessions, columns, comparisons, why)
    by_length = length_section(trace, cap, cards, engine or NEEDS)
    held, held_from = _held(by_sessions, engine)
    costs = Costs(
        cards=cards,
        cap=cap,
        held=held or None,
        session=session_of(trace, **(session or {})),
        hire=hire,
        hosted=hosted,
        load=load,
    )
    sections = (
        state_section(cards, cap, columns),
        weights_section(cards, log, weight_precision, comparisons, why),
        *cap_sections(cards, cap, plan.cap_source, at_cap, columns),
        by_length,
        by_sessions,
        *cost_sections(costs, held_from, accelerator),
    )
    return Worksheet(
        cards=cards,
        accelerator=accelerator,
        cap=cap,
        costs=costs,
        sections=(
            summary_section({s.key: s for s in sections}, cards, held, held_from, why, _of_requests(trace)),
            *sections,
        ),
        assumptions=tuple(plan.assumptions),
        notes=(*model.notes, *_of_log(used, "notes", ()), *_of_trace(trace)),
        kv_format=plan.kv_format,
        weight_precision=weight_precision,
        measured=next((by_sessions[key].values[0] for key in ("tested", "log") if by_sessions[key].known), None),
        pool=pool_of(used, cards),
        lengths=_p99(by_length),
        source=source,
        command=command,
    )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is planned: as given, or else as a log says, or else what is taken for granted, which is listed."""

    cards: Cards
    cap: Quantity
    cap_source: str
    kv_format: str
    assumptions: list


def _plan(model, accelerator, log, *, cap, count, weights, weight_precision, kv_format, utilisation, runtime):
    kv_given = kv_format or _of_log(log, "kv_format")
    assumptions, kv_format = list(model.assumed(kv_given)), kv_given or model.kv_format
    cap, cap_source = _cap(model, cap, log)
    count = count or count_of(log)
    stored = _weights(model, weights, weight_precision, loaded(log, count)[0])
    cards = Cards(
        model=model,
        accelerator=catalog.part("accelerator", accelerator),
        count=count,
        precision=_precision(kv_format),
        weights=stored,
        utilisation=_or_assumed(utilisation, _of_log(log, "utilisation"), UTILISATION, SHARE, assumptions),
        runtime=_or_assumed(runtime, None, RUNTIME, OTHER, assumptions),
        settings=settings_of(log),
    )
    return _Plan(
        cards=cards,
        cap=cap,
        cap_source=cap_source,
        kv_format=kv_format,
        assumptions=assumptions + [*stored.assumptions],
    )


def _without_log(model, accelerator, asked, why):
    """The plan without what a foreign log says, which may lack weights that only such a log has."""
    try:
        return _plan(model, accelerator, None, **asked)
    except Refused as refused:
        raise Refused(refused.field, refused.given, f"{refused.why}. {why}") from None
    except InputError as error:
        raise InputError(f"{error}. {why}") from None


def _stored_as_in(log, plan):
    """The plan with the weights of a log that are quantised where those of the model's file are not."""
    size = loaded(log, plan.cards.count, plan.cards.weights.size)[0]
    if size is None or not quantised(log) or size >= (1 - FAR) * plan.cards.weights.size:
        return plan
    assumptions = [text for text in plan.assumptions if text not in plan.cards.weights.assumptions]
    cards = replace(plan.cards, weights=Weights(size, AS_LOADED))
    return replace(plan, cards=cards, assumptions=assumptions)


def _weights(model, given, precision, of_log):
    """The weights as given, of the files or counted; where they cannot be, as the log has them."""
    try:
        return weights_of(model, given, precision)
    except (InputError, Refused):
        if of_log is None:
            raise
        return Weights(of_log, AS_LOADED)


def _comparisons(log, precision, cards):
    """What a log prints, beside what is predicted."""
    if log is None:
        return []
    from costlib.logs import compared

    ranks = log.settings.get("tensor_parallel") or ranks_of(log, cards.count, cards.weights.size)
    return compared(log, cards.model, kv_precision=precision, tensor_parallel=ranks)


def _of_trace(trace):
    """What a trace is not, and the rows of it that were not read."""
    if trace is None:
        return
    yield from trace.notes
    for reason, count in trace.rejected.items():
        yield f"{count:,} of the trace's {trace.rows:,} rows were not read: {reason}"


def _of_requests(trace):
    """Whether a trace does not say which requests make a session."""
    return trace is not None and trace.alone


def _of_log(log, field, default=None):
    return default if log is None else getattr(log, field, default) or default


def _precision(kv_format):
    try:
        return precision_of(kv_format)
    except InputError as error:
        raise InputError(f"the cache of the log: {error}; say which is meant with --kv-precision") from None


def _cap(model, given, log):
    """The cap, and where it is from."""
    if given is not None:
        return given, "as given"
    limit = _of_log(log, "context_limit")
    if limit is not None:
        return limit, "not given: the engine's limit, as its log has it"
    if model.context_limit is None:
        raise ArgumentError("worksheet: cap = None, and the model states no limit of its context; wanted tokens")
    return Quantity(float(model.context_limit), "token"), NOT_SET


def _or_assumed(given, logged, otherwise, text, assumptions):
    """A setting as it was given or logged; or else what is taken for granted, which is then said."""
    for value in (given, logged):
        if value is not None:
            return value if isinstance(value, Quantity) else Quantity(float(value), "")
    assumptions.append(text.format(show(otherwise, "percent" if otherwise.check("") else None)))
    return otherwise


def _p99(section):
    """The 99th percentile of session lengths, and how sure it is."""
    if not section["p99"].known:
        return None
    keys = {"p99": "p99", "low": "p99_low", "high": "p99_high", "count": "count"}
    return {name: section[key].values[0] for name, key in keys.items()}


def _held(section, engine):
    """Sessions that the cards hold, by the best knowledge there is, and how that is known."""
    for key in ("tested", "log", "in_pool", *((row_of(engine),) if engine else ()), "needs"):
        row = section[key]
        if row.known:
            return row.values[0], row.what
    return None, ""
