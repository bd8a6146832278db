"""Sessions from the hashes of shared prefixes, as traces without a session have them."""

import ibis

from costlib.arguments import ArgumentError
from costlib.traces.grouping import wanted

__all__ = ["block_size", "by_prefix", "kept"]

BLOCKS = tuple(2**power for power in range(3, 15))  # tokens
TAILS = 8  # different ends that one session puts behind the same full blocks; more are several sessions'


def block_size(requests):
    """Tokens of a block: the power of two that gives nearly every prompt the number of blocks that it has.

    Parameters
    ----------
    requests : ibis.Table
        Of any backend, with ``input_tokens`` and ``blocks``.

    Returns
    -------
    int or None
    """
    wanted(requests, "input_tokens", "blocks")
    length = requests.blocks.length()
    agrees = {f"b{size}": ((requests.input_tokens / size).ceil() == length).mean() for size in BLOCKS}
    row = requests.agg(**agrees).to_pyarrow().to_pylist()[0]
    best = max(BLOCKS, key=lambda size: row[f"b{size}"] or 0)
    return best if (row[f"b{best}"] or 0) > 0.99 else None


def by_prefix(requests, block=None):
    """Requests with a session that is told from shared prefixes: each goes on where another ended.

    Parameters
    ----------
    requests : ibis.Table
        Of any backend that can keep a table, with ``input_tokens``, ``blocks``, an array of hashes of which each
        stands for its block and all before it, and ``request``, the order of arrival, or ``time``.
    block : int, optional
        Tokens of a block; by default the power of two that agrees with the prompts.

    Returns
    -------
    ibis.Table
        With ``session``: the hash that its first request ended in. Requests without blocks are left out.

    Notes
    -----
    A request continues an earlier one if it holds all full blocks of that one, and of several such the one with
    most; where several continue one, the first does, and the others begin sessions.
    Requests that differ only within the last, unfinished block are one session's if they grow in turn; if
    one is shorter than that before it, or more than eight differ, the blocks are a shared
    prefix, such as a system prompt, and each is a session's beginning. So the rule is wrong where different users
    send the same text, where the beginning of a session is cut away (its later part is another
    session), and for turns that fork.
    Group-bys, joins, and a window within the requests of the same blocks; the chain of parents is followed by doubling.
    """
    wanted(requests, "input_tokens", "blocks")
    order = "request" if "request" in requests.columns else "time"
    wanted(requests, order)
    known = requests.filter(requests.blocks.length() > 0)
    size = block or block_size(known)
    if size is None:
        raise ArgumentError("by_prefix: the blocks agree with no power of two of tokens; wanted block")
    keyed = _with_ends(known, size, order)
    nodes = keyed.group_by("end").agg(
        full=keyed.full.max(), blocks=keyed.blocks.arbitrary(), began=keyed[order].min(), shared=keyed.shared.max()
    )
    roots = _roots(_continued(kept(nodes)))
    told = keyed.join(roots, "end")
    return told.select(*(name for name in requests.columns if name != "session"), session=told.root)


def _with_ends(known, size, order):
    """Requests with the block that they end in: the last full one, or the very last where the full ones are shared."""
    full = ibis.least((known.input_tokens / size).floor().cast("int64"), known.blocks.length())
    ends = known.mutate(
        full=full,
        body=known.blocks[(ibis.greatest(full, ibis.literal(1)) - 1).cast("int32")],  # Spark takes no longer index
        tail=known.blocks[(known.blocks.length() - 1).cast("int32")],
    )
    before = ends.input_tokens.lag().over(ibis.window(group_by=ends.body, order_by=ends[order]))
    ends = ends.mutate(shrinks=(ends.input_tokens < before).fill_null(False).cast("int64"))
    shared = (ends.tail.nunique() > TAILS) | (ends.shrinks.max() == 1)
    told = ends.join(ends.group_by("body").agg(shared=shared.cast("int64")), "body")
    return told.mutate(end=ibis.ifelse(told.shared == 1, told.tail, told.body))


def _continued(nodes):
    """Each end, and the end that it continues where it continues one."""
    entries = nodes.select("end", "full", "began", "blocks").unnest("blocks", offset="place")
    earlier = nodes.filter((nodes.shared == 0) & (nodes.full > 0))
    earlier = earlier.select(parent=earlier.end, depth=earlier.full, parent_began=earlier.began)
    met = entries.join(earlier, [entries.blocks == earlier.parent, entries.place + 1 == earlier.depth])
    met = met.filter((met.end != met.parent) & (met.parent_began < met.began))
    deepest = met.group_by("end").agg(parent=met.parent.argmax(met.depth), began=met.began.min())
    heirs = deepest.group_by("parent").agg(heir=deepest.end.argmin(deepest.began))
    linked = nodes.left_join(heirs, nodes.end == heirs.heir)
    return linked.select(end=linked.end, root=ibis.coalesce(linked.parent, linked.end))


def _roots(links):
    """Each end, and the first of its chain: twice as far with every round."""
    links = kept(links)
    while True:
        ahead = links.select(middle=links.end, far=links.root)
        farther = links.join(ahead, links.root == ahead.middle).select("end", "root", "far")
        if not farther.filter(farther.root != farther.far).count().to_pyarrow().as_py():
            return links
        links = kept(farther.select("end", root=farther.far))


def kept(table):
    """A table that the engine keeps as long as the connection, so that it is computed once."""
    try:
        return table.get_backend().create_table(ibis.util.gen_name("costlib"), table, temp=True)
    except NotImplementedError:  # by Spark; elsewhere Ibis drops what it caches when Python ends, too late for DuckDB
        return table.cache()
