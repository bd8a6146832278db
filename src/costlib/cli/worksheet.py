"""``costlib worksheet``: five numbers before hardware is ordered, and what a session costs on either side."""

import re
import shlex
import sys
from typing import Annotated, Any

import typer

from costlib.cli.options import (
    LONGEST,
    RUNTIME,
    UTILISATION,
    Assume,
    Config,
    KVPrecision,
    WeightPrecision,
    Weights,
    check_weights,
    completing,
    refusal,
    sized,
    why,
)
from costlib.cli.trace import Column, SessionRule

__all__ = ["worksheet"]

AT_CAP = ("compact", "summarise", "truncate", "refuse")
FORMATS = ("markdown", "json", "notebook")


def _one_of(names, text):
    """An option that takes one of these words."""

    def parsed(given):
        if given not in names:
            raise typer.BadParameter(f"{given!r}; wanted {', '.join(names[:-1])} or {names[-1]}")
        return given

    def begun(incomplete: str):
        return [name for name in names if name.startswith(incomplete)]

    return typer.Option(parser=parsed, autocompletion=begun, metavar="|".join(names), help=text)


def _date(given):
    """A day, or a month, as the catalog has them."""
    if not re.fullmatch(r"\d{4}-\d\d(-\d\d)?", given):
        raise typer.BadParameter(f"{given!r}; wanted a day, as in 2026-11-30, or a month, as in 2026-11")
    import datetime

    try:
        datetime.date.fromisoformat(given if given.count("-") == 2 else f"{given}-01")
    except ValueError:
        raise typer.BadParameter(f"{given!r}; there is no such day") from None
    return given


def _price(text, least="0.000001 USD/Mtoken"):
    """An option that takes the price of tokens."""
    return sized("USD/token", least, "1000000 USD/Mtoken", text, "PRICE", "'0.55 USD/Mtoken'")


def worksheet(
    config: Config,
    accelerator: Annotated[
        str,
        typer.Option(metavar="NAME", autocompletion=completing("accelerator"), help="What it runs on, in the catalog."),
    ],
    count: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, metavar="N", help="Accelerators that share one copy; by default the log's, or 1."
        ),
    ] = None,
    cap: Annotated[
        Any,
        sized("token", 1, LONGEST, "cap on a session; by default the engine's limit, or the model's", "TOKENS"),
    ] = None,
    at_cap: Annotated[str | None, _one_of(AT_CAP, "What happens to a session at the cap.")] = None,
    log: Annotated[
        str | None, typer.Option(metavar="FILE", help="Log of the engine's start; - for standard input.")
    ] = None,
    trace: Annotated[str | None, typer.Option(metavar="FILE", help="Trace of requests or of sessions.")] = None,
    column: Column = (),
    session: SessionRule = None,
    tested_sessions: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, metavar="N", help="Sessions that ran at once in a load test at the cap."),
    ] = None,
    hire: Annotated[
        str | None,
        typer.Option(
            metavar="PRICE|NAME",
            autocompletion=completing("price"),
            help="Hire of an accelerator, as in '3.99 USD/hour', or a price of the catalog.",
        ),
    ] = None,
    hosted: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=completing("price"), help="A host's price list in the catalog."),
    ] = None,
    input_price: Annotated[Any, _price("a host's price of a prompt token")] = None,
    cached_price: Annotated[Any, _price("its price of a prompt token found in its cache", "0 USD/Mtoken")] = None,
    output_price: Annotated[Any, _price("its price of an output token")] = None,
    price_date: Annotated[
        str | None,
        typer.Option(parser=_date, metavar="DATE", help="When the prices given were read, as in 2026-11-30."),
    ] = None,
    load: Annotated[
        Any,
        sized(
            "",
            0.001,
            1,
            "sessions that come, as a share of those that could be served, averaged over nights and weekends",
            "SHARE",
        ),
    ] = None,
    session_prompts: Annotated[
        Any, sized("token", 1, LONGEST, "prompt tokens of all requests of a session; by default the trace's", "TOKENS")
    ] = None,
    session_output: Annotated[
        Any, sized("token", 1, LONGEST, "output tokens of all its requests; by default the trace's", "TOKENS")
    ] = None,
    session_requests: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Requests of a session; by default the trace's.")
    ] = None,
    hits: Annotated[
        Any, sized("", 0, 1, "share of the prompt tokens found in a cache; by default the trace's", "SHARE")
    ] = None,
    lifetime: Annotated[
        Any, sized("second", "1 ms", "1e9 s", "time from a session's start to its end; by default the trace's", "TIME")
    ] = None,
    wait_share: Annotated[
        Any, sized("", 0, 1, "share of that in which it waits for tools; by default the trace's", "SHARE")
    ] = None,
    weights: Weights = None,
    weight_precision: WeightPrecision = None,
    kv_precision: KVPrecision = None,
    utilisation: Annotated[
        Any,
        sized(
            "",
            0.01,
            1,
            f"share of an accelerator's memory that the engine may use; by default the log's, or {UTILISATION}",
            "SHARE",
        ),
    ] = None,
    runtime: Annotated[
        Any,
        sized("byte", 0, "1 PB", f"what activations and graphs take of that on each; by default {RUNTIME}", "SIZE"),
    ] = None,
    assume: Assume = (),
    format: Annotated[str, _one_of(FORMATS, "What is written.")] = "markdown",
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write there, and not to standard output.")] = None,
):
    """Fill a worksheet before hardware is ordered: five numbers, and what a session costs on either side.

    What is not known stays open, with how to get it.
    """
    from costlib.cli.printed import write
    from costlib.model_config import Refused, read
    from costlib.worksheet import worksheet as filled

    _check_one_reads_standard_input(config, log, trace)
    check_weights(weights, weight_precision)
    prices = _prices(hire, hosted, (input_price, cached_price, output_price), price_date)
    one = {"hits": hits, "lifetime": lifetime, "wait_share": wait_share}
    one |= {"prompts": session_prompts, "output": session_output, "requests": session_requests}
    try:
        sheet = filled(
            read(config, assume),
            accelerator.lower(),
            count,
            cap,
            at_cap=at_cap,
            weights=weights,
            weight_precision=weight_precision,
            kv_format=kv_precision,
            utilisation=utilisation,
            runtime=runtime,
            log=_log(log),
            trace=_trace(trace, column, session),
            tested_sessions=tested_sessions,
            session=_of_one(one),
            load=load,
            **prices,
            source=config,
            command=shlex.join(["costlib", *sys.argv[1:]]),
        )
    except Refused as refused:
        answer = {"model": config, "refused": why(refused), "assumptions": list(assume)}
        raise refusal(refused, answer, format == "json") from None
    write(_text(sheet, format), output)


def _check_one_reads_standard_input(*paths):
    from costlib.schema import InputError

    if paths.count("-") > 1:
        raise InputError("standard input: is to be read twice; wanted a file for one of them")


def _of_one(session):
    """What is given of a session, its tokens and requests as those of one session."""
    from costlib.units import Quantity

    each = Quantity(1.0, "session")
    return {
        key: value / each if key in ("prompts", "output", "requests") else value
        for key, value in session.items()
        if value is not None
    }


def _log(path):
    if path is None:
        return None
    from costlib.cli.log import read_log

    return read_log(path)


def _trace(path, column, session):
    """What a trace says; options that say how to read one are of no use without."""
    if path is None:
        if column or session:
            from costlib.schema import InputError

            raise InputError("--column and --session say how a trace is read; wanted --trace too")
        return None
    from costlib.cli.trace import read_trace

    return read_trace(path, column, session)[1]


def _prices(hire, hosted, given, date):
    """The two price lists, of the catalog or as given."""
    from costlib.schema import InputError
    from costlib.worksheet.costs import given_price

    prices = dict(zip(("input", "cached_input", "output"), given, strict=True))
    prices = {field: price for field, price in prices.items() if price is not None}
    if hosted is not None and prices:
        raise InputError(f"--hosted {hosted} and prices of tokens; wanted one of them")
    if date is not None and not prices and not (hire and _is_price(hire)):
        raise InputError(f"--price-date {date}: no price is given that it could date; those of the catalog have theirs")
    if prices and not {"input", "output"} <= prices.keys():
        raise InputError("prices of tokens; wanted both --input-price and --output-price")
    return {
        "hire": None if hire is None else _hire(hire, date),
        "hosted": given_price(date, **prices) if prices else _hosted(hosted),
    }


def _hosted(name):
    return None if name is None else _of_catalog(name, "--hosted", "input")


def _is_price(text):
    """Whether this is a price and not the name of one, which is of letters, digits and dashes."""
    return not re.fullmatch(r"[a-z][a-z0-9.-]*", text, re.IGNORECASE)


def _hire(text, date):
    """The hire of an accelerator: a price an hour, or one of the catalog."""
    if not _is_price(text):
        return _of_catalog(text, "--hire", "hire")
    from costlib.schema import InputError
    from costlib.units import Quantity, UnitError, quantity
    from costlib.worksheet.costs import given_price

    wanted = "wanted the price of an accelerator for an hour, as in '3.99 USD/hour'"
    try:
        price = quantity(text)
    except UnitError as error:
        raise InputError(f"--hire: {error}; {wanted}") from None
    if price.is_compatible_with("USD/hour"):
        price = price / Quantity(1.0, "accelerator")
    if not price.is_compatible_with("USD/accelerator/hour") or not 0 < price.m_as("USD/accelerator/hour") <= 1e4:
        raise InputError(f"--hire {text}: {wanted}")
    return given_price(date, hire=price)


def _of_catalog(name, option, field):
    """A price of the catalog that has this."""
    from costlib import catalog
    from costlib.schema import InputError

    price = catalog.part("price", name)
    if getattr(price, field) is None:
        fit = [other for other in catalog.names("price") if getattr(catalog.part("price", other), field) is not None]
        raise InputError(f"{option} {name}: has no such price; wanted one of {', '.join(fit)}")
    return price


def _text(sheet, format):
    import json

    from costlib.worksheet import markdown, notebook, plain

    if format == "json":
        return json.dumps(plain(sheet), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "markdown":
        return markdown(sheet)
    try:
        return notebook(sheet)
    except ModuleNotFoundError as error:
        from costlib.schema import InputError

        raise InputError(
            f"a notebook needs {error.name}; install the extra notebook: pip install '.[notebook]' in costlib's folder"
        ) from None
