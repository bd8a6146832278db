"""``costlib scenario``: from a model's file to a scenario file."""

from typing import Annotated, Any

import typer

from costlib.cli.options import (
    LONGEST,
    AsJson,
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

__all__ = ["scenario"]


def _named(kind, text):
    """An option that takes a name of the catalog."""
    return typer.Option(metavar="NAME", autocompletion=completing(kind), help=text)


def scenario(
    config: Config,
    accelerator: Annotated[str | None, _named("accelerator", "Accelerator, in the catalog.")] = None,
    node: Annotated[str | None, _named("node", "Node, in the catalog.")] = None,
    context: Annotated[Any, sized("token", 1, LONGEST, "context of a trajectory", "TOKENS")] = None,
    weights: Weights = None,
    weight_precision: WeightPrecision = None,
    kv_precision: KVPrecision = None,
    assume: Assume = (),
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write there, and not to standard output; a new file.")
    ] = None,
    as_json: AsJson = False,
):
    """Write a scenario file for a model: for 'costlib show', for the book's pages, and to change by hand.

    What is not asked for stays as in the reference scenario.
    """
    import json

    from costlib.cli.printed import write
    from costlib.model_config import Refused, read
    from costlib.model_config.precision import precision_of
    from costlib.model_config.scenario import scenario_file
    from costlib.scenario import loads

    check_weights(weights, weight_precision)
    try:
        model = read(config, assume)
        file = scenario_file(
            model,
            accelerator=accelerator and accelerator.lower(),
            node=node and node.lower(),
            context=context,
            weights=weights,
            weight_precision=weight_precision,
            kv_precision=kv_precision and precision_of(kv_precision),
        )
    except Refused as refused:
        answer = {"model": config, "scenario": None, "assumptions": list(assume), "refused": why(refused)}
        raise refusal(refused, answer, as_json) from None
    loads(file.text, "the scenario")  # what the loader would refuse is refused before anything is written
    answer = {"model": model.name, "scenario": file.tables, "remarks": list(file.remarks), "refused": None}
    text = json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False) + "\n" if as_json else file.text
    write(text, output, over=False)
