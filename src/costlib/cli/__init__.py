"""The command ``costlib``: one module a command, each of which computes with the library and prints.

A table for people or, with ``--json``, plain numbers for programs go to standard
output, in one piece; what is wrong goes to standard error. The exit code is 0
for an answer, 2 for bad input or what could not be measured, 3 for a model that is refused.
"""

import sys
from typing import Annotated

import typer

from costlib.cli import catalog, claim, fit, kv, log, scenario, show, trace, worksheet

__all__ = ["app", "main"]

app = typer.Typer(
    help="What a model keeps in memory, what fits where, and where the numbers come from.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text, and 20 ms less
    pretty_exceptions_enable=False,
)
COMMANDS = (
    *(kv.kv, fit.fit, scenario.scenario, log.log, trace.trace, worksheet.worksheet),
    *(claim.claim, show.show, catalog.catalog),
)
for command in COMMANDS:
    app.command()(command)


def _printable(error):
    """A message without what a terminal would take for a command."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in str(error))


def _print_version(wanted):
    if wanted:
        from costlib import __version__

        typer.echo(f"costlib {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which this is.")]


@app.callback()
def _options(version: Version = False):
    pass


def main():
    """Run the command that the command line names."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")  # where the terminal has no µ, \xb5 and no traceback
    try:
        app(prog_name="costlib")
    except ValueError as error:
        from costlib.arguments import ArgumentError
        from costlib.schema import InputError
        from costlib.units import UnitError

        if not isinstance(error, (InputError, ArgumentError, UnitError)):
            raise
        typer.echo(f"costlib: {_printable(error)}", err=True)
        sys.exit(2)
    except OSError as error:  # the disk is full, or standard output is closed
        typer.echo(f"costlib: cannot write: {error.strerror}", err=True)
        sys.exit(1)
