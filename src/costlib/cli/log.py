"""``costlib log``: what the log of a serving engine says, and why it differs from the prediction."""

import sys
from typing import Annotated, Any

import typer

from costlib.cli.options import LONGEST, AsJson, Assume, Explain, KVPrecision, refusal, sized, why

__all__ = ["log"]


def log(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG", help="A log of vLLM, SGLang, llama.cpp, ollama or TensorRT-LLM; - for standard input. "
            "Several are several runs of one model, for constant and slope.",
        ),
    ] = ("-",),
    config: Annotated[
        str,
        typer.Option(metavar="CONFIG", help="The model: its config.json, folder or .gguf file, or a repository."),
    ] = None,
    context: Annotated[
        Any, sized("token", 1, LONGEST, "length of the sessions to count; by default the log's context limit", "TOKENS")
    ] = None,
    kv_precision: KVPrecision = None,
    tensor_parallel: Annotated[
        int, typer.Option(min=1, max=1024, metavar="RANKS", help="Ranks that share heads, where the log does not say.")
    ] = None,
    assume: Assume = (),
    explain: Explain = False,
    as_json: AsJson = False,
):  # fmt: skip
    """Say what an engine's log says of memory, set it against the prediction for CONFIG, and explain the difference."""
    from costlib.cli.printed import plain, print_json, print_text
    from costlib.logs import fitted
    from costlib.model_config import Refused, read
    from costlib.model_config.precision import precision_of
    from costlib.schema import InputError

    if config == "-" and "-" in logs or logs.count("-") > 1:
        raise InputError("standard input: is to be read twice; wanted a file for one of them")
    runs = [read_log(path) for path in logs]
    try:
        model = None if config is None else read(config, assume)
    except Refused as refused:
        raise refusal(refused, {"logs": list(logs), "refused": why(refused)}, as_json) from None
    asked = {"kv_precision": kv_precision and precision_of(kv_precision), "tensor_parallel": tensor_parallel}
    answer = {
        "runs": [_answer(path, run, model, context, asked) for path, run in zip(logs, runs, strict=True)],
        "fit": _fit(fitted(runs, [_called(path) for path in logs])) if len(runs) > 1 else None,
        "refused": None,
    }
    print_json(plain(answer)) if as_json else print_text(_blocks(answer, runs, explain))


def read_log(path):
    """What the log of a file or of standard input says."""
    from costlib.logs import lines_of, read
    from costlib.schema import InputError

    if path == "-":
        if sys.stdin is None:
            raise InputError("standard input: is closed")
        return read(lines_of(sys.stdin.buffer), "standard input")
    try:
        with open(path, "rb") as file:
            return read(_watched(lines_of(file), file), path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _watched(lines, file):
    """The lines; of a long file it is shown how far it is read, where a person watches."""
    import os

    size = os.fstat(file.fileno()).st_size
    if not (size > 2**28 and sys.stderr is not None and sys.stderr.isatty()):
        yield from lines
        return
    for number, line in enumerate(lines):
        if number % 200_000 == 0:
            print(f"\r{file.tell() / size:4.0%} read", end="", file=sys.stderr, flush=True)
        yield line
    print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)


def _called(path):
    return "standard input" if path == "-" else path


def _answer(path, run, model, context, asked):
    """What one run says, in quantities."""
    from dataclasses import asdict

    from costlib.logs import compared

    said = {
        name: getattr(run, name)
        for name in "engine version model weights cache tokens block blocks context_limit concurrency sequences"
        " kv_format utilisation memory needed refused settings hybrid starts known unknown".split()
    }
    sizes = ("weights", "cache", "memory", "needed")
    context = run.context_limit if context is None else context
    return {
        "log": _called(path),
        **{f"{name}_bytes" if name in sizes else name: value for name, value in said.items()},
        "ranks": [asdict(rank) for rank in run.ranks],
        "smallest": run.smallest and run.smallest.name,
        "pools": [asdict(pool) for pool in run.pools],
        "context": context,
        "sessions": run.sessions(context, model),
        "use": run.use and asdict(run.use),
        "compared": [] if model is None else [asdict(row) for row in compared(run, model, **asked)],
        "config": model and model.name,
        "assumptions": [] if model is None else list(model.assumptions),
        "notes": list(run.notes),
    }


def _fit(fit):
    return {
        "of": fit.what,
        "points": [{"tokens": tokens, "bytes": round(size)} for tokens, size in fit.points],
        "bytes_per_token": fit.growth,
        "constant_bytes": fit.constant,
        "residual_bytes": fit.residual,
    }


def _blocks(answer, runs, explain):
    """The answer for people, in blocks."""
    from costlib.cli.printed import listed, table

    for said, run in zip(answer["runs"], runs, strict=True):
        yield _headline(said)
        yield table(_rows(said), ["the log says", "bytes", "GB", "GiB", ""], right={1, 2, 3})
        if said["use"]:
            yield "At work: " + _use(said["use"])
        if said["compared"]:
            yield from _other_name(said)
            yield table(_compared(said), [f"against {said['config']}", "predicted", "printed", "", ""], right={1, 2, 3})
        if explain:
            yield table(_readings(run), ["line", "says", "known from"], right={0})
        yield from listed("Assumed", said["assumptions"])
        yield from listed("Note", said["notes"])
    if answer["fit"]:
        yield from _line(answer["fit"])


def _headline(said):
    from costlib.logs.reader import NAMES

    parts = [NAMES[said["engine"]] + (f" {said['version']}" if said["version"] else ""), said["model"]]
    lines = f"{said['known']:,} of {said['known'] + said['unknown']:,} lines are known"
    head = f"{said['log']}: {', '.join(filter(None, parts))}; {lines}"
    return head + (f"\nIt did not start: {said['refused']}." if said["refused"] else "")


def _other_name(said):
    """That the log names another model than the configuration, if it does."""
    one, other = (str(name).rstrip("/").rpartition("/")[2].lower() for name in (said["model"], said["config"]))
    if said["model"] and one != other:
        yield f"The log names its model {said['model']}, and the configuration is {said['config']}."


def _rows(said):
    """What a log says, one thing a row."""
    from costlib.cli.printed import sizes

    for name, field, how in (
        ("weights", "weights_bytes", _of_ranks(said, "weights")),
        ("cache", "cache_bytes", _of_ranks(said, "cache")),
        ("needed by one sequence", "needed_bytes", ""),
        ("memory of a card", "memory_bytes", ""),
    ):
        if said[field] is not None:
            yield name, *sizes(said[field]), how
    for pool in said["pools"] if len(said["pools"]) > 1 else ():
        yield f"- {pool['kind']}", *sizes(pool["size"]), _of_pool(pool)
    for rank in said["ranks"] if len(said["ranks"]) > 1 else ():
        held = [f"{name} {sizes(rank[name])[2]}" for name in ("weights", "cache") if rank[name] is not None]
        yield f"- {rank['name']}", "", "", "", ", ".join(held)
    for name, text in _counts(said):
        yield name, "", "", "", text


def _of_ranks(said, field):
    """Over how many ranks a figure is a sum, or of which one it is; empty where there is one only."""
    speaking = sum(rank[field] is not None for rank in said["ranks"])
    count = max(speaking, said["settings"].get("tensor_parallel") or 1)
    if count == 1:
        return ""
    if field == "cache" and said["smallest"]:
        return f"on a rank: that of {said['smallest']}, the least of {speaking}"
    parts = "ranks" if said["smallest"] or speaking < count else "parts"
    return f"all {count} {parts}" if speaking == count else f"{speaking} of {count} ranks, which is not all"


def _of_pool(pool):
    parts = [f"{pool['tokens']:,} {'slots' if pool['kind'] == 'recurrent' else 'tokens'}" if pool["tokens"] else ""]
    parts += [
        f"layers: {pool['layers']}" if pool["layers"] else "",
        f"for each of {pool['streams']} slots" if pool["streams"] > 1 else "",
    ]
    return ", ".join(filter(None, parts))


def _counts(said):
    """What a log says beside sizes: name and text."""
    from costlib.units import show

    for name in ("tokens", "block", "context_limit"):
        if said[name] is not None:
            yield name.replace("_", " "), show(said[name], digits=15)
    for name in ("blocks", "sequences"):
        if said[name] is not None:
            yield name, f"{said[name]:,}"
    if said["concurrency"] is not None:
        yield "concurrency", f"{said['concurrency']:g} sequences at the limit, as printed"
    for name in ("kv_format", "utilisation"):
        if said[name] is not None:
            yield name.replace("kv_format", "format of the cache"), str(said[name])
    if said["context"] is not None:
        held, length = said["sessions"], show(said["context"], digits=15)
        told = "the log does not tell" if held is None else f"{held.magnitude:,.0f}"
        yield "sessions", f"{told}, of {length}"


def _use(use):
    """In words, how a server at work used its pool."""
    parts = [f"{use['mean']:.1%} of the pool in use on average, {use['peak']:.1%} at most"] if use["lines"] else []
    parts += [f"{use[name]:,} {name} at most" for name in ("running", "waiting") if use[name] is not None]
    parts += [f"{use['preemptions']:,} preempted"] if use["preemptions"] is not None else []
    parts += [f"{use['hit_rate']:.1%} of the prefix found in the cache"] if use["hit_rate"] is not None else []
    return ", ".join(parts) + f" ({use['lines']:,} lines)."


def _compared(said):
    """Predicted and printed figures, and what explains their difference."""
    for row in said["compared"]:
        more = "" if row["difference"] is None else f"{row['difference']:+.2%}"
        yield row["what"], _figure(row["predicted"]), _figure(row["printed"]), more, row["explanation"]


def _figure(value):
    from costlib.units import show

    if value is None:
        return "–"
    if not hasattr(value, "units"):
        return f"{value:.2f}"
    return show(value, "GiB", digits=5) if value.is_compatible_with("byte") else show(value, digits=15)


def _readings(run):
    """Each line from which it comes, and from where its format is known."""
    for reading in run.readings:
        values = ", ".join(f"{name} = {value:,}" if not isinstance(value, str) else f"{name} = {value}"
                           for name, value in reading.values.items())  # fmt: skip
        yield f"{reading.number:,}", values, reading.line.since


def _line(fit):
    """The line through several runs, in words."""
    from costlib.cli.printed import sizes, table
    from costlib.units import show

    rows = [(show(each["tokens"], digits=15), *sizes(each["bytes"])) for each in fit["points"]]
    yield table(rows, [fit["of"], "bytes", "GB", "GiB"], right={1, 2, 3})
    rest = fit["residual_bytes"]
    off = "two runs: any line meets both" if rest is None else f"{show(rest, 'MiB')} off at most"
    constant, growth = (
        show(fit["constant_bytes"], "MiB", digits=6),
        show(fit["bytes_per_token"], "byte/token", digits=8),
    )
    yield f"{constant} and {growth} ({off})"
