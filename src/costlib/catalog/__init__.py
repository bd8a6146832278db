"""Models, accelerators, nodes, links and prices, as TOML: every value with its unit, source and date.

Each file holds the parts of one kind, by name. An entry names the ``source`` of
its values; a table ``sources`` names that of single values, and a table
``notes`` says why one was taken where several disagree. The sources themselves
stand in ``sources.toml``.
"""

import functools
import tomllib
from importlib import resources

from costlib.hardware import ALONE, Accelerator, Link, Node, Price
from costlib.model import Model
from costlib.schema import InputError, Origin, build, nearest

__all__ = ["KINDS", "hires", "names", "nodes", "part"]

KINDS = {"model": Model, "accelerator": Accelerator, "node": Node, "link": Link, "price": Price}


def names(kind):
    """Names of the catalog's parts of one kind, in its order."""
    if kind not in KINDS:
        raise InputError(f"no kind {kind!r} in the catalog; {nearest(kind, KINDS)}")
    return list(_file(kind + "s"))


@functools.cache
def part(kind, name):
    """The catalog's part of this kind and name.

    Raises
    ------
    InputError
        If there is none; names the nearest.
    """
    names(kind)  # refuses an unknown kind
    entries = _file(kind + "s")
    if name not in entries:
        raise InputError(f"no {kind} {name!r} in the catalog; {nearest(name, entries)}")
    entry, where = dict(entries[name]), f"catalog/{kind}s.toml [{name}]"
    if "source" not in entry:
        raise InputError(f"{where}: no source; wanted the name of one in catalog/sources.toml")
    source, own, notes = entry.pop("source"), entry.pop("sources", {}), entry.pop("notes", {})
    origin = {field: _origin(own.get(field, source), notes.get(field, ""), where) for field in entry}
    return build(KINDS[kind], entry, where, origin)


def hires(title):
    """Names of the prices at which an accelerator is hired.

    Parameters
    ----------
    title : str
        Of the accelerator, as the catalog has it.

    Returns
    -------
    list of str
        In the catalog's order; empty where it has none.
    """
    named = tuple(f"{name}-" for name in names("accelerator") if part("accelerator", name).title == title)
    return [name for name in names("price") if name.startswith(named) and part("price", name).hire is not None]


def nodes(link):
    """Names of the nodes whose accelerators are connected by a link.

    Parameters
    ----------
    link : str
        Its name in the catalog, or "none", for nodes of a single accelerator.

    Returns
    -------
    list of str
        In the catalog's order.

    Examples
    --------
    >>> nodes("pcie-4-x16")
    ['single-pcie-4', 'pair-pcie-4', 'pcie-4-8']
    """
    known = [(name, part("node", name)) for name in names("node")]
    return [name for name, node in known if (node.accelerators.magnitude == 1 if link == ALONE else node.link == link)]


def _origin(source, note, where):
    sources = _file("sources")
    if source not in sources:
        raise InputError(f"{where}: no source {source!r} in catalog/sources.toml; {nearest(source, sources)}")
    return Origin(**sources[source], note=note)


@functools.cache
def _file(name):
    return tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
