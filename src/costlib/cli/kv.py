"""``costlib kv``: what a model keeps of a context, and what engines reserve for it."""

import inspect
from typing import Annotated, Any

import typer

from costlib.cli.options import (
    LONGEST,
    AsJson,
    Assume,
    Config,
    Explain,
    KVPrecision,
    length,
    notes,
    refusal,
    sized,
    why,
)

__all__ = ["kv"]

NAMES = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp"}  # as the engines call themselves


def kv(
    config: Config,
    tokens: Annotated[
        Any, sized("token", 1, LONGEST, "length of the sequence; by default the model's limit", "N")
    ] = None,
    kv_precision: KVPrecision = None,
    assume: Assume = (),
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Also run the model's public code, without weights, and count what it keeps (extra: measure). "
            "Where it does not run, the answer is printed without, and the exit code is 2.",
        ),
    ] = False,
    explain: Explain = False,
    as_json: AsJson = False,
):
    """Say what a model keeps of one sequence, and what each engine reserves for it."""
    from costlib.cli.printed import plain, print_json, print_text
    from costlib.model_config import Refused, read, read_table
    from costlib.model_config.sources import table_of

    table, where, name = table_of(config) if measure else (None, None, None)
    refused = failed = None
    try:
        model = read(config, assume) if table is None else read_table(table, where, assume, name)
        tokens = length(model, tokens, "--tokens")
        answer = _answer(model, tokens, kv_precision)
    except Refused as error:
        refused = error
        unanswered = {"model": config, "needs": None, "reserves": None, "assumptions": list(assume)}
        answer = {**unanswered, "refused": why(refused)}
    if measure and tokens is not None:
        answer["measured"], failed = _measured_or_why_not(table, tokens)
    if refused and not answer.get("measured"):
        ended = refusal(refused, answer, as_json)
    else:
        print_json(plain(answer)) if as_json else print_text(_blocks(answer, explain))
        ended = typer.Exit(2 if failed else 0)
    if failed:
        typer.echo(f"costlib: not measured: {failed}", err=True)
    raise ended


def _answer(model, tokens, kv_given):
    """The whole answer, in quantities."""
    from costlib.model_config.engines import sglang, vllm
    from costlib.model_config.llama_cpp import llama_cpp
    from costlib.model_config.precision import precision_of

    kv_format = kv_given or model.kv_format
    asked, engines = (tokens, precision_of(kv_format)), {"vllm": vllm, "sglang": sglang, "llama.cpp": llama_cpp}
    kept = [_cache(cache, *asked) for cache in model.caches] + [_state(state) for state in model.states]
    return {
        "model": model.name,
        "model_type": model.model_type,
        "tokens": tokens,
        "kv_precision": kv_format,
        "parameters": _parameters(model),
        "needs": {
            "total_bytes": model.state(*asked),
            "bytes_per_token": model.bytes_per_token(asked[1]),
            "constant_bytes": model.constant_state(),
            "window_bytes": model.window_state(*asked),
            "layers": kept,
        },
        "reserves": {name: _reserved(engine, model, *asked) for name, engine in engines.items()},
        "assumptions": list(model.assumed(kv_given)),
        "notes": notes(model, tokens),
        "fields": _fields(model),
        "refused": None,
    }


def _parameters(model):
    """How many weights the model has, how many of them a token passes through, and how they are stored."""
    counted = model.parameters
    names = ("total", "active", "embedding")
    sizes = {name: None if counted is None else getattr(counted, name) for name in names}
    return {**sizes, "format": model.weight_format, "bytes": model.weights}


def _cache(cache, tokens, precision):
    """What attending layers of one kind keep, and how that comes about."""
    from costlib.units import Quantity, counted, show

    element = show(precision if cache.precision is None else Quantity(cache.precision, "byte/element"), digits=5)
    entry = f"{cache.heads} × ({cache.key_dim} + {cache.value_dim})"
    count = int(cache.entries(tokens).m_as("token"))
    one_each = cache.stride == 1 or cache.remainder
    entries = counted(count, "token") if one_each else counted(count, "entry", "entries")
    stored = "" if cache.precision is None else f" in {element}"
    return {
        "kind": cache.kind,
        "layers": cache.layers,
        "total_bytes": cache.state(tokens, precision),
        "geometry": f"{entry}{stored} for {_kept(cache, int(tokens.m_as('token')), count)}",
        "formula": f"{cache.layers} × {entry} × {element} × {entries}",
    }


def _kept(cache, tokens, entries):
    """Of which tokens a cache keeps entries."""
    from costlib.units import counted

    if cache.remainder and not entries:
        return "no token"
    kept = entries if cache.remainder else tokens if cache.window is None else min(tokens, cache.window)
    last = "the last " if cache.window or cache.remainder else ""
    those = "the last token" if last and kept == 1 else last + counted(kept, "token")
    if cache.stride > 1 and not cache.remainder:
        return f"every {cache.stride} of {those}"
    return f"each of {those}" if kept > 1 else those


def _state(state):
    """What recurrent layers of one kind keep, and how that comes about."""
    size = f"{state.elements:,} × {state.precision:g} B + {state.conv_elements:,} × {state.conv_precision:g} B"
    return {
        "kind": state.kind,
        "layers": state.layers,
        "total_bytes": state.state,
        "geometry": size,
        "formula": f"{state.layers} × ({size})",
    }


def _reserved(engine, *asked):
    """What an engine reserves, and how that comes about; or why it does not serve this."""
    from costlib.arguments import ArgumentError
    from costlib.model_config import Refused

    try:
        reserved = engine(*asked)
    except (ArgumentError, Refused) as error:
        return {"refused": {"why": str(error)}}
    return {
        "total_bytes": reserved.total,
        "bytes_per_token": reserved.bytes_per_token,
        "constant_bytes": reserved.constant,
        "rows": [{"layers": what, "formula": formula, "total_bytes": size} for what, formula, size in reserved.rows],
        "assumptions": list(reserved.assumptions),
        "source": _source(engine),
    }


def _source(function):
    """Where a function's rules were published: the references of its docstring, in one line."""
    _, _, references = (inspect.getdoc(function) or "").partition("References\n----------\n")
    return " ".join(references.partition("\n\n")[0].split())


def _fields(model):
    """The fields of the file that the answer was read from."""
    if model.fields is None:
        return {}
    return {name: value for name, value in model.fields.table.items() if name in model.fields.consulted}


def _measured_or_why_not(table, tokens):
    """What was measured, or None and the reason."""
    from costlib.schema import InputError

    try:
        return _measured(table, tokens), None
    except InputError as error:
        return None, error


def _measured(table, tokens):
    """What the public code of the model keeps after a prompt of so many tokens, and its parameters."""
    from costlib.model_config.measured import measured
    from costlib.units import Quantity

    count = int(tokens.m_as("token"))
    typer.echo(
        f"Running the public code of {table.get('model_type')} on {count:,} tokens, without weights ...", err=True
    )
    found = measured(table, (count,))
    return {
        "total_bytes": Quantity(float(found.bytes(count)), "byte"),
        "parameters": found.parameters,
        "precision": "bf16",
    }


def _blocks(answer, explain):
    """The answer for people, in blocks."""
    from costlib.cli.printed import WIDTH, listed, table

    if answer["needs"] is not None:
        yield _headline(answer) + _weights(answer["parameters"])
        yield table(_rows(answer, explain), ["layers", "bytes", "GB", "GiB", ""], right={1, 2, 3}, width=WIDTH)
    if answer["refused"]:
        yield f"Not read here: {answer['refused']['field']}: {answer['refused']['why']}."
    if found := answer.get("measured"):
        yield _of_the_public_code(found)
    if explain and answer["needs"] is not None:
        yield from _explained(answer)
    yield from listed("Assumed", answer["assumptions"])
    yield from listed("Note", answer.get("notes"))


def _headline(answer):
    from costlib.units import show

    model = f"{answer['model']} ({answer['model_type']})"
    return f"{model}: one sequence of {show(answer['tokens'], digits=15)}, cache in {answer['kv_precision']}"


def _weights(parameters):
    """Its weights in a line, as far as they are known."""
    from costlib.units import Quantity, show

    total, active, stored = parameters["total"], parameters["active"], parameters["format"]
    if total is None:
        return ""
    count, used = (show(Quantity(n / 1e9, ""), digits=4) for n in (total, active or total))
    line = f"\n{count} billion parameters"
    if used != count:
        line += f", {used} billion of them for each token, its table of tokens included"
    return line + (f"; stored as {stored}" if stored else "")


def _rows(answer, explain):
    """What layers of each kind keep, their sum, and what each engine reserves."""
    from costlib.cli.printed import sizes
    from costlib.units import show

    needs = answer["needs"]
    growth = show(needs["bytes_per_token"], "byte/token", digits=15)
    for kept in needs["layers"]:
        how = kept["formula" if explain else "geometry"]
        yield f"{kept['layers']} × {kept['kind']}", *sizes(kept["total_bytes"]), how
    yield "needed", *sizes(needs["total_bytes"]), f"{growth} more as it grows"
    for engine, kept in answer["reserves"].items():
        name = f"reserved by {NAMES[engine]}"
        if "refused" in kept:
            yield name, "–", "–", "–", kept["refused"]["why"]
        else:
            yield name, *sizes(kept["total_bytes"]), "; ".join(kept["assumptions"])


def _explained(answer):
    """How each engine comes to its total and by whose rules, and the fields of the file from which all is read."""
    from costlib.cli.printed import table

    engines = {NAMES[engine]: kept for engine, kept in answer["reserves"].items() if "refused" not in kept}
    yield table([(engine, row["layers"], _sum(row)) for engine, kept in engines.items() for row in kept["rows"]])
    yield table([(engine, kept["source"]) for engine, kept in engines.items()], ["by the rules in", ""])
    yield table([(name, _short(value)) for name, value in answer["fields"].items()], ["read from", ""])


def _sum(row):
    from costlib.units import show

    return f"{row['formula'].replace(' x ', ' × ')} = {show(row['total_bytes'], 'byte', digits=15)}"


def _short(value):
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _of_the_public_code(found):
    from costlib.units import show

    size = f"{show(found['total_bytes'], 'byte', digits=15)} in {found['precision']}"
    return f"Measured: the public model code keeps {size}, and has {found['parameters']:,} parameters."
