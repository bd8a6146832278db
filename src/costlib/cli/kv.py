"""``costlib kv``: what a model keeps of a context, and what engines reserve for it."""

from typing import Annotated, Any

import typer

from costlib.cli.options import AsJson, Assume, Config, Explain, KVPrecision, length, refusals, sized

__all__ = ["kv"]


def kv(
    config: Config,
    tokens: Annotated[Any, sized("token", 1, 1e12, "length of the sequence; by default the model's limit", "N")] = None,
    kv_precision: KVPrecision = None,
    assume: Assume = (),
    explain: Explain = False,
    as_json: AsJson = False,
):
    """Say what a model keeps of one sequence, and what each engine reserves for it."""
    from costlib.cli.printed import plain, print_json
    from costlib.model_config import read

    with refusals(as_json, {"model": config, "needs": None, "reserves": None, "assumptions": list(assume)}):
        model = read(config, assume)
        answer = _answer(model, length(model, tokens, "--tokens"), kv_precision or model.kv_format)
    if as_json:
        return print_json(plain(answer))
    return typer.echo("\n\n".join(_blocks(answer, model, explain)))


def _answer(model, tokens, kv_format):
    """The whole answer, in quantities."""
    from costlib.model_config import engines
    from costlib.model_config.precision import precision_of

    asked = tokens, precision_of(kv_format)
    kept = [_cache(cache, *asked) for cache in model.caches] + [_state(state) for state in model.states]
    reserve = {"vllm": engines.vllm, "sglang": engines.sglang, "llama.cpp": engines.llama_cpp}
    return {
        "model": model.name,
        "model_type": model.model_type,
        "tokens": tokens,
        "kv_precision": kv_format,
        "needs": {
            "total_bytes": model.state(*asked),
            "bytes_per_token": model.bytes_per_token(asked[1]),
            "window_bytes": model.window_state(*asked),
            "constant_bytes": model.constant_state(),
            "layers": kept,
        },
        "reserves": {name: _reserved(engine(model, *asked)) for name, engine in reserve.items()},
        "assumptions": list(model.assumptions),
        "notes": list(model.notes),
        "refused": None,
    }


def _cache(cache, tokens, precision):
    """What attending layers of one kind keep, and how that comes about."""
    from costlib.units import Quantity, show

    element = show(precision if cache.precision is None else Quantity(cache.precision, "byte/element"), digits=5)
    entries = show(cache.entries(tokens), digits=15)
    size = f"{cache.heads} × ({cache.key_dim} + {cache.value_dim})"
    return {
        "kind": cache.kind,
        "layers": cache.layers,
        "total_bytes": cache.state(tokens, precision),
        "geometry": f"{size} for each of {'the last ' if cache.window else ''}{entries}",
        "formula": f"{cache.layers} × {size} × {element} × {entries}",
    }


def _state(state):
    """What recurrent layers of one kind keep, and how that comes about."""
    size = f"{state.elements:,} × {state.precision:g} B + {state.conv_elements:,} × {state.conv_precision:g} B"
    formula = f"{state.layers} × ({size})"
    return {"kind": state.kind, "layers": state.layers, "total_bytes": state.state, "geometry": size, "formula": formula}


def _reserved(reserved):
    return {
        "total_bytes": reserved.total,
        "bytes_per_token": reserved.bytes_per_token,
        "constant_bytes": reserved.constant,
        "assumptions": list(reserved.assumptions),
    }


def _blocks(answer, model, explain):
    """The answer for people, in blocks."""
    from costlib.cli.printed import sizes, table
    from costlib.units import show

    needs = answer["needs"]
    growth = show(needs["bytes_per_token"], "byte/token", digits=15)
    yield (
        f"{answer['model']} ({answer['model_type']}): one sequence of {show(answer['tokens'], digits=15)}, "
        f"cache in {answer['kv_precision']}"
    )
    how = "formula" if explain else "geometry"
    rows = [(f"{kept['layers']} × {kept['kind']}", *sizes(kept["total_bytes"]), kept[how]) for kept in needs["layers"]]
    rows.append(("needed", *sizes(needs["total_bytes"]), f"and {growth} as it grows"))
    for engine, kept in answer["reserves"].items():
        more = (kept["total_bytes"] / needs["total_bytes"]).m_as("") - 1
        rows.append((f"reserved by {engine}", *sizes(kept["total_bytes"]), f"{more:+.1%}"))
    yield table(rows, ["layers", "bytes", "GB", "GiB", ""], right={1, 2, 3})
