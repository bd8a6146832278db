"""``costlib claim``: what a claim of memory and context leaves to a token, and which attention can live on it."""

import math
from typing import Annotated, Any

from costlib.cli import options
from costlib.cli.options import LONGEST, AsJson, Explain, sized

__all__ = ["claim"]

HEADS, SIZES = (1, 2, 4, 8, 16, 32), (64, 128, 256)
PRECISIONS = ("bf16", "fp8", "int4")


def claim(
    memory: Annotated[Any, sized("byte", "1 MB", "1 PB", "memory said to suffice", "SIZE", "'24 GB' or '24 GiB'")],
    context: Annotated[Any, sized("token", 1, LONGEST, "context said to fit", "TOKENS")],
    parameters: Annotated[Any, sized("parameter", 1e6, 1e14, "parameters of the model", "COUNT", "'74 billion'")],
    weight_precision: Annotated[Any, options.weight_precision()],
    runtime: Annotated[Any, sized("byte", 0, "1 PB", "what runtime and activations take", "SIZE")] = "0 B",
    explain: Explain = False,
    as_json: AsJson = False,
):
    """Check a vendor's claim: how much state it leaves to a token, and which attention can live on that."""
    from costlib import capacity, serving
    from costlib.cli.printed import plain, print_json, print_text, table, wrapped

    weights = serving.weight_bytes(parameters, weight_precision)
    left = capacity.state_pool(memory, weights, runtime)
    per_token = capacity.implied_bytes_per_token(left, 0 * runtime, context) if left.magnitude > 0 else None
    rows = [] if per_token is None else _feasible(per_token)
    payable = any(any(layers) for _, _, *layers in rows)
    if as_json:
        return print_json(
            {
                "weights_bytes": plain(weights),
                "left_bytes": plain(left),
                "bytes_per_token": None if per_token is None else plain(per_token),
                "feasible": [
                    {"kv_heads": heads, "head_dim": size, "most_layers": dict(zip(PRECISIONS, layers, strict=True))}
                    for heads, size, *layers in rows
                ],
            }
        )
    blocks = [
        _sums(memory, parameters, weight_precision, weights, runtime, left, explain),
        wrapped(_verdict(per_token, payable, left, context)),
    ]
    if payable:
        blocks.append("Layers with a cache that this pays for, at most:")
        blocks.append(table(rows, ["key-value heads", "head size", *PRECISIONS], right=range(5)))
    return print_text(blocks)


def _feasible(per_token):
    """For each geometry, the layers that so much state a token pays for, by precision of the cache."""
    from costlib import capacity
    from costlib.model_config.precision import precision_of
    from costlib.units import Quantity

    def most_layers(heads, size, name):
        geometry = Quantity(heads, "head"), Quantity(size, "channel/head")
        layers = capacity.implied_layers(per_token, *geometry, precision_of(name)).m_as("layer")
        return math.floor(layers * (1 + 1e-12))  # 32 layers, but for rounding

    return [
        (heads, size, *(most_layers(heads, size, name) for name in PRECISIONS)) for heads in HEADS for size in SIZES
    ]


def _sums(memory, parameters, weight_precision, weights, runtime, left, explain):
    """Memory, what it holds, and what is left."""
    from costlib.cli.printed import sizes, table
    from costlib.units import show

    formula = f"= {show(parameters, digits=15)} × {show(weight_precision)}"
    rows = [
        ("memory", *sizes(memory), ""),
        ("weights", *sizes(weights), formula),
        ("runtime", *sizes(runtime), ""),
        ("left for state", *sizes(left), "= memory − weights − runtime"),
    ]
    return table([row if explain else row[:-1] for row in rows], right={1, 2, 3})


def _verdict(per_token, payable, left, context):
    from costlib.units import show

    tokens = show(context, digits=15)
    if per_token is None:
        beyond = f"; they take {show(-left, 'GB', digits=4)} more than there is" if left.magnitude < 0 else ""
        return f"The claim cannot hold: weights and runtime leave nothing for {tokens} of context{beyond}."
    most = f"{show(per_token, 'byte/token', digits=6)}, {show(per_token, 'KiB/token', digits=4)}"
    if not payable:
        return f"The claim cannot hold: it leaves {most}, less than one layer of the smallest attention keeps."
    return f"The claim holds for a model that keeps at most {most} = {show(left, 'GB', digits=4)} / {tokens}."
