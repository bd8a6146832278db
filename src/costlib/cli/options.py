"""Options that several commands share, and how the text of one becomes a quantity.

What computes is imported when it is needed, so that help and completion are quick.
"""

from typing import Annotated, Any

import typer

__all__ = ["AsJson", "Explain", "sized"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: sizes in bytes, times in seconds, plain numbers.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say how each number comes about, and from which source.")]


def sized(unit, low, high, text, metavar, **options):
    """The annotation of an option that takes a quantity of this unit, within limits beyond which it is absurd."""

    def parse(given):
        from costlib import schema

        try:
            return schema.sized(schema.size(unit, low, high, text), given, metavar)
        except schema.InputError as error:
            raise typer.BadParameter(str(error)) from None

    return Annotated[Any, typer.Option(parser=parse, metavar=metavar, **options)]
