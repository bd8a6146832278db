"""Paged storage of attention state: blocks of a fixed number of tokens, and tables that say which are whose."""

import math
from numbers import Integral

from costlib.arguments import ArgumentError, takes
from costlib.units import Quantity, maximum

__all__ = [
    "BlockPool",
    "blocks_needed",
    "blocks_with_shared_prefix",
    "expected_tail_waste",
    "smallest_overhead_block",
    "table_size",
]

ONE_TOKEN = Quantity(1.0, "token")


@takes(context="token >= 0", block="token >= 1", returns="")
def blocks_needed(context, block):
    r"""Blocks that hold a context.

    .. math:: \lceil T / B_s \rceil

    Parameters
    ----------
    context : Quantity [token]
        Tokens in the context, T; zero allowed. Scalar or array.
    block : Quantity [token]
        Tokens of a block, B_s. Scalar or array.

    Returns
    -------
    Quantity []
        A whole number; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact for one context by itself. Contexts that share a prefix share its full blocks.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(blocks_needed(quantity("10718 token"), quantity("16 token")))
    '670'
    """
    return -(-context // block)


@takes(prefix="token >= 0", own="token >= 1", sequences="sequence >= 1", block="token >= 1", returns="")
def blocks_with_shared_prefix(prefix, own, sequences, block):
    r"""Blocks that sequences hold together which share a prefix and then go on alone.

    .. math:: \lfloor P / B_s \rfloor + n \lceil ((P \bmod B_s) + t) / B_s \rceil

    Parameters
    ----------
    prefix : Quantity [token]
        Tokens with which all of them begin, P; zero allowed. Scalar or array.
    own : Quantity [token]
        Tokens that each adds, t; at least one. Scalar or array.
    sequences : Quantity [sequence]
        How many share the prefix, n; at least one. Scalar or array.
    block : Quantity [token]
        Tokens of a block, B_s. Scalar or array.

    Returns
    -------
    Quantity []
        A whole number; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact where blocks are copied when written to: the full blocks of the prefix
    are held once, its last, partial one by each sequence, since each writes into it.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> lengths = quantity("10010 token"), quantity("2000 token")
    >>> show(blocks_with_shared_prefix(*lengths, quantity("64 sequence"), quantity("16 token")), digits=9)
    '8,689'
    """
    return prefix // block + sequences.magnitude * blocks_needed(prefix % block + own, block)


@takes(block="token >= 1", bytes_per_token="byte/token", returns="byte")
def expected_tail_waste(block, bytes_per_token):
    r"""Memory that the last block of a context is expected to leave empty.

    .. math:: \mathbb{E}[\text{waste}] = \frac{B_s - 1}{2} \, m_{token}

    Parameters
    ----------
    block : Quantity [token]
        Tokens of a block, B_s. Scalar or array.
    bytes_per_token : Quantity [byte/token]
        State of one token, m_token. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Exact where a context is as likely to end at any token of its last block:
    nearly so for contexts much longer than a block. It does not depend on the context.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(expected_tail_waste(quantity("16 token"), quantity("327680 byte/token")), "MB")
    '2.46 MB'
    """
    return (block - ONE_TOKEN) / 2 * bytes_per_token


@takes(context="token >= 0", block="token >= 1", entry="byte", returns="byte")
def table_size(context, block, entry):
    r"""Memory of the table that maps the positions of a context to its blocks.

    .. math:: \lceil T / B_s \rceil \, b_{entry}

    Parameters
    ----------
    context : Quantity [token]
        Tokens in the context, T; zero allowed. Scalar or array.
    block : Quantity [token]
        Tokens of a block, B_s. Scalar or array.
    entry : Quantity [byte]
        Size of one entry, b_entry. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Small beside the state. What small blocks cost is time: attention gathers as many pieces as there are entries.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(table_size(quantity("32768 token"), quantity("16 token"), quantity("4 byte")), "kB")
    '8.19 kB'
    """
    return blocks_needed(context, block) * entry


@takes(context="token", bytes_per_token="byte/token", entry="byte", returns="token")
def smallest_overhead_block(context, bytes_per_token, entry):
    r"""Block size at which the table of a context and its empty end take least memory together.

    .. math:: \max\left(1, \; \sqrt{2 T b_{entry} / m_{token}}\right)

    Parameters
    ----------
    context : Quantity [token]
        Tokens in the context, T. Scalar or array.
    bytes_per_token : Quantity [byte/token]
        State of one token, m_token. Scalar or array.
    entry : Quantity [byte]
        Size of one entry of the table, b_entry. Scalar or array.

    Returns
    -------
    Quantity [token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Where the derivative of T b_entry / B_s + (B_s - 1) m_token / 2 is zero; between
    the whole numbers beside it, the sum is about the same. Memory only: servers
    take larger blocks, to read in fewer pieces.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> m_token, entry = quantity("327680 byte/token"), quantity("4 byte")
    >>> show(smallest_overhead_block(quantity("32768 token"), m_token, entry))
    '1 token'
    >>> show(smallest_overhead_block(quantity("10 million tokens"), m_token, entry))
    '15.6 tokens'
    """
    return maximum(ONE_TOKEN, (2 * context * entry / bytes_per_token) ** 0.5)


class BlockPool:
    """Blocks of so many tokens, given out as contexts grow and taken back when they end.

    A context is known by a number. A fork shares the blocks of the context that it
    leaves; whoever writes into a block that others hold gets a copy of it first.
    """

    def __init__(self, blocks, block_size):
        if not (_is_whole(blocks) and _is_whole(block_size) and blocks >= 1 and block_size >= 1):
            raise ArgumentError(f"BlockPool: {blocks} blocks of {block_size} tokens; wanted whole numbers, one or more")
        self.block_size = int(block_size)
        self._free = list(range(int(blocks)))
        self._holders = {}  # how many contexts hold a block
        self._tables = {}  # the blocks of each context, in order
        self._lengths = {}
        self._next = 0

    @property
    def free(self):
        """Blocks that nobody holds."""
        return len(self._free)

    @property
    def used(self):
        """Blocks that somebody holds, shared ones counted once."""
        return len(self._holders)

    @property
    def contexts(self):
        """The contexts that live, by number."""
        return list(self._tables)

    def length(self, context):
        """Tokens in a context."""
        self._known(context)
        return self._lengths[context]

    def table(self, context):
        """The blocks of a context, in order."""
        self._known(context)
        return tuple(self._tables[context])

    def start(self):
        """Begin an empty context; its number."""
        return self._new([], 0)

    def fork(self, context):
        """Begin a context that has the same tokens so far; its number."""
        self._known(context)
        for block in self._tables[context]:
            self._holders[block] += 1
        return self._new(list(self._tables[context]), self._lengths[context])

    def append(self, context, tokens):
        """Add tokens to a context: all of them, or, where the pool has no room, none."""
        self._known(context)
        if not _is_whole(tokens) or tokens < 0:
            raise ArgumentError(f"append: tokens = {tokens}; wanted a whole number, zero or more")
        tokens = int(tokens)  # those of a fixed width would wrap around
        table, length = self._tables[context], self._lengths[context]
        tail_is_shared = bool(tokens and length % self.block_size and self._holders[table[-1]] > 1)
        more = math.ceil((length + tokens) / self.block_size) - len(table)
        if more + tail_is_shared > self.free:
            raise MemoryError(f"{more + tail_is_shared} blocks wanted, {self.free} free")
        if tail_is_shared:
            self._holders[table[-1]] -= 1
            table[-1] = self._take()
        table.extend(self._take() for _ in range(more))
        self._lengths[context] = length + tokens

    def end(self, context):
        """End a context, and take back the blocks that nobody else holds."""
        self._known(context)
        for block in self._tables.pop(context):
            self._holders[block] -= 1
            if not self._holders[block]:
                del self._holders[block]
                self._free.append(block)
        del self._lengths[context]

    def _new(self, table, length):
        context, self._next = self._next, self._next + 1
        self._tables[context], self._lengths[context] = table, length
        return context

    def _take(self):
        block = self._free.pop()
        self._holders[block] = 1
        return block

    def _known(self, context):
        if context not in self._tables:
            raise ArgumentError(f"context = {context!r}; wanted one that lives")


def _is_whole(number):
    return isinstance(number, Integral) or (isinstance(number, float) and number.is_integer())
