"""``costlib catalog``: what the catalog knows, and where each value comes from."""

import dataclasses
from typing import Annotated

import typer

from costlib.cli.options import AsJson

__all__ = ["catalog"]


def _complete(ctx: typer.Context, incomplete: str):
    """Names of the kind that stands before; where none does, the kinds, or else the names of all."""
    from costlib import catalog

    if ctx.params.get("kind") in catalog.KINDS:
        known = catalog.names(ctx.params["kind"])
    elif any(kind.startswith(incomplete) for kind in catalog.KINDS):
        known = catalog.KINDS
    else:
        known = [name for kind in catalog.KINDS for name in catalog.names(kind)]
    return [name for name in known if name.startswith(incomplete)]


def catalog(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            autocompletion=_complete,
            help="model, accelerator, node, link or price; anything else is looked for in all of them.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", autocompletion=_complete, help="An entry, or a part of its name or of its title."
        ),
    ] = None,
    as_json: AsJson = False,
):
    """List the catalog, search it, or show an entry with the source of each value."""
    from costlib.catalog import KINDS
    from costlib.cli.printed import print_json, print_text

    if name is None and kind is not None and kind not in KINDS:
        kind, name = None, kind
    entries = _entries(kind, name)
    if [n for _, n, _ in entries] == [name]:
        return print_json(_plain(*entries[0])) if as_json else print_text(_sheet(*entries[0]))
    if as_json:
        return print_json([{"kind": kind, "name": name, "title": part.title} for kind, name, part in entries])
    return print_text([_list(entries)])


def _entries(kind, name):
    """The entries meant, each with its kind and name: the one of this very name, or all that contain it."""
    from costlib import catalog
    from costlib.schema import InputError, nearest

    known = [(k, n) for k in ([kind] if kind else catalog.KINDS) for n in catalog.names(k)]
    entries = [(k, n, catalog.part(k, n)) for k, n in known]
    if name is None:
        return entries
    exact = [entry for entry in entries if entry[1] == name]
    found = exact or [entry for entry in entries if name.lower() in f"{entry[1]} {entry[2].title}".lower()]
    if not found:
        valid = [*(() if kind else catalog.KINDS), *(n for _, n in known)]
        raise InputError(f"no {kind or 'entry'} {name!r} in the catalog; {nearest(name, valid)}")
    return found


def _list(entries):
    from costlib.cli.printed import table

    return table([(kind, name, part.title) for kind, name, part in entries], ["kind", "name", "title"])


def _values(part):
    """The sized fields of a part that have a value, those of its smaller parts among them."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, tuple):
            for i, smaller in enumerate(value, 1):
                yield from ((f"{field.name}[{i}].{name}", inner, field.name) for name, inner, _ in _values(smaller))
        elif field.name not in ("title", "origin") and value is not None:
            yield field.name, value, field.name


def _sheet(kind, name, part):
    """An entry for people: values, each with the number of its source, then the sources and the notes."""
    from costlib.cli.printed import table
    from costlib.units import show

    origins = {field: dataclasses.replace(origin, note="") for field, origin in part.origin.items()}
    numbers = {origin: f"[{i}]" for i, origin in enumerate(dict.fromkeys(origins[f] for _, _, f in _values(part)), 1)}
    values = [(path, show(value, digits=15), numbers[origins[field]]) for path, value, field in _values(part)]
    sources = [(number, o.title, o.date, o.address) for o, number in numbers.items()]
    notes = [(field, origin.note) for field, origin in part.origin.items() if origin.note]
    blocks = [f"{kind} {name}: {part.title}", table(values, right={1}), table(sources)]
    return blocks + ([table(notes)] if notes else [])


def _plain(kind, name, part):
    """An entry for programs."""
    from costlib.cli.printed import base, plain

    values = {
        path: {
            "value": plain(value),
            "unit": "" if isinstance(value, str) else f"{base(value).units:C}",
            "source": dataclasses.asdict(part.origin[field]),
        }
        for path, value, field in _values(part)
    }
    return {"kind": kind, "name": name, "title": part.title, "values": values}
