"""Options that several commands share, how the text of one becomes a quantity, and what a refusal prints.

What computes is imported when it is needed, so that help and completion are quick.
"""

import re
from typing import Annotated, Any

import typer

__all__ = [
    "AsJson",
    "Assume",
    "Config",
    "Explain",
    "KVPrecision",
    "RUNTIME",
    "TO_GO_BEYOND",
    "UTILISATION",
    "WeightPrecision",
    "Weights",
    "check_weights",
    "completing",
    "length",
    "notes",
    "refusal",
    "sized",
    "weight_precision",
    "why",
]


def sized(unit, low, high, text, metavar, example=""):
    """An option that takes a quantity of this unit, within limits beyond which it is absurd."""
    shown = f", as in {example}" if example else ""
    return typer.Option(
        parser=lambda given: _sized(unit, low, high, given, shown),
        metavar=metavar,
        help=f"{text[0].upper()}{text[1:]}{shown}.",
    )


def _sized(unit, low, high, given, example=""):
    from costlib import schema

    field = schema.size(unit, low, high, "")
    try:
        return schema.sized(field, given, "given")
    except schema.InputError as error:
        said = str(error).removeprefix("given: ").removeprefix("given = ").partition("; wanted ")[0]
        said = said.removesuffix(", such as '3.35 TB/s'")
        said = _thousands(unit, given) or f"{said}; wanted {_wanted(unit, field.metadata)}{example}"
        raise typer.BadParameter(said) from None


def _thousands(unit, given):
    """What to say of 128k: it is 128,000 to some, and 131,072 to others."""
    found = re.fullmatch(r"\s*([\d,]*\.?\d+)\s*([kKmM])(?:\s+tokens?)?\s*", given)
    if unit != "token" or not found:
        return None
    number, power = float(found[1].replace(",", "")), {"k": 1, "m": 2}[found[2].lower()]
    meant = " or ".join(f"{number * step**power:.15g}" for step in (1000, 1024))
    return f"{given!r}: {found[2]} has two meanings; write {meant}"


def _wanted(unit, limits):
    """What an option takes, within its limits."""
    from costlib.units import show

    if unit in ("token", "parameter"):
        return f"a whole number of {unit}s, from {limits['low'].m_as(unit):,.0f} to {limits['high'].m_as(unit):,.0f}"
    what = {
        **{"byte": "a size", "": "a share", "byte/parameter": "the size of a weight"},
        **{"second": "a time", "USD/token": "a price"},
    }[unit]
    return f"{what}, from {show(limits['low'], digits=15)} to {show(limits['high'], digits=15)}"


def _kv_format(given):
    """A format by its own name, whatever it was called."""
    from costlib.model_config.precision import SPELLINGS, precision_of
    from costlib.schema import InputError

    try:
        precision_of(given)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    return SPELLINGS[given.lower()]


def _weight_precision(given):
    from costlib.model_config.precision import precision_of
    from costlib.units import Quantity

    if given[:1].isalpha():
        return precision_of(_kv_format(given)) * Quantity(1, "element/parameter")
    return _sized("byte/parameter", 0.1, 8, given, ", as in '0.6 byte/parameter'")


def completing(kind):
    """What completes a name of the catalog."""

    def names(incomplete: str):
        from costlib import catalog

        return [name for name in catalog.names(kind) if name.startswith(incomplete)]

    return names


def _complete_format(incomplete: str):
    from costlib.model_config.precision import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


LONGEST = 10**12  # tokens
UTILISATION, RUNTIME = "0.9", "2 GB"  # of each accelerator, where nothing else is asked for
TO_GO_BEYOND = "to go beyond, engines scale the model's positions, as by YaRN"  # a context that is too long

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: sizes in bytes, times in seconds, plain numbers.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say how each number comes about, and from what.")]
Config = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG",
        help="A config.json or a folder that has one, a .gguf file, - for standard input, or the name of a repository.",
    ),
]
Assume = Annotated[
    list[str],
    typer.Option(metavar="FIELD=VALUE", help="Take this for granted, and say so beside the result. Can be repeated."),
]
Weights = Annotated[Any, sized("byte", "1 MB", "1 PB", "size of all weights", "SIZE", "'42 GB'")]
KVPrecision = Annotated[
    Any,
    typer.Option(
        parser=_kv_format,
        autocompletion=_complete_format,
        metavar="FORMAT",
        help="Format of the cache, as in bf16, fp8 or q8_0; by default the one that the file declares.",
    ),
]


def weight_precision(more=""):
    """An option that takes the stored size of a weight."""
    return typer.Option(
        parser=_weight_precision,
        autocompletion=_complete_format,
        metavar="FORMAT",
        help=f"Stored size of every weight, as in int4 or '0.6 byte/parameter'{more}.",
    )


WeightPrecision = Annotated[Any, weight_precision("; where some are kept wider, give --weights")]


def check_weights(size, precision):
    """Refuse two answers to one question."""
    from costlib.schema import InputError

    if size is not None and precision is not None:
        raise InputError("--weights and --weight-precision: both say what the weights take; wanted one of them")


def length(model, tokens, option):
    """The tokens asked for, or all that the model was made for."""
    from costlib.schema import InputError
    from costlib.units import Quantity

    if tokens is not None:
        return tokens
    if model.context_limit is None or model.context_limit > LONGEST:
        raise InputError(f"{model.name}: states no credible limit of its context; wanted {option}")
    return Quantity(float(model.context_limit), "token")


def notes(model, tokens):
    """What the answer does not contain, and whether it is beyond what the model was made for."""
    limit = model.context_limit
    if limit is None or tokens.m_as("token") <= limit:
        return list(model.notes)
    return [*model.notes, f"made for contexts of up to {limit:,} tokens; {TO_GO_BEYOND}"]


def why(refused):
    """A refusal as plain data."""
    return {
        "field": refused.field,
        "given": refused.given,
        "why": refused.why,
        "with": refused.with_it,
        "without": refused.without_it,
    }


def refusal(refused, answer, as_json):
    """Print a refusal, in words or within the answer that programs expect; what ends the command with code 3."""
    from costlib.cli.printed import plain, print_json
    from costlib.model_config.fields import Inexpressible

    if as_json:
        print_json(plain(answer))
    else:
        typer.echo(f"costlib: refused: {refused}", err=True)
        if "--" not in refused.why and not isinstance(refused, Inexpressible):
            typer.echo("If you know better, say so with --assume FIELD=VALUE.", err=True)
    return typer.Exit(3)
