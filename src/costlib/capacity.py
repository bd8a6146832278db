"""What fits: the memory left for attention state, and how many contexts it holds."""

from costlib.arguments import takes
from costlib.units import Quantity, maximum

__all__ = [
    "break_even_bandwidth",
    "break_even_wait",
    "nodes_for_state",
    "reload_time",
    "resident_sequences",
    "state_pool",
]


@takes(memory="byte", weights="byte", reserve="byte >= 0", returns="byte")
def state_pool(memory, weights, reserve):
    r"""Memory left for attention state.

    .. math:: M_{dynamic} = M_{HBM} - N b - M_{runtime}

    Parameters
    ----------
    memory : Quantity [byte]
        Memory of the accelerators that share the model, M_HBM. Scalar or array.
    weights : Quantity [byte]
        The weights that they hold, N b. Scalar or array.
    reserve : Quantity [byte]
        What the runtime and activations take; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Negative where the weights and the reserve do not fit. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    80 GB and 80 GiB of memory differ by 7 %; the pool, as what remains, differs by more.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> weights, reserve = quantity("141.2 GB"), quantity("20 GB")
    >>> show(state_pool(8 * quantity("80 GiB"), weights, reserve), "GB", digits=4)
    '526.0 GB'
    >>> show(state_pool(8 * quantity("80 GB"), weights, reserve), "GB", digits=4)
    '478.8 GB'
    """
    return memory - weights - reserve


@takes(pool="byte >= -inf", state="byte", returns="sequence")
def resident_sequences(pool, state):
    r"""Contexts whose state the pool holds at once.

    .. math:: B_{max} = \lfloor M_{dynamic} / M_{KV}(T) \rfloor

    Parameters
    ----------
    pool : Quantity [byte]
        Memory for attention state, M_dynamic, as :func:`state_pool` gives it; none fits where it is negative.
        Scalar or array.
    state : Quantity [byte]
        State of one context, M_KV(T). Scalar or array.

    Returns
    -------
    Quantity [sequence]
        Whole contexts; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite, or a state of zero.

    Notes
    -----
    At the mean context. Growth, fragments and shared prefixes move it either way.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(resident_sequences(quantity("526.0 GB"), quantity("10.74 GB")))
    '48 sequences'
    """
    contexts = (maximum(pool, Quantity(0.0, "byte")) / state).m_as("")
    return Quantity(contexts * (1 + 1e-12) // 1, "sequence")  # 4.1 over 0.1 is 41, but for rounding


@takes(sequences="sequence >= 0", state="byte", pool="byte", returns="node")
def nodes_for_state(sequences, state, pool):
    r"""Nodes whose memory holds the state of so many contexts.

    .. math:: n = B M_{KV}(T) / M_{dynamic}

    Parameters
    ----------
    sequences : Quantity [sequence]
        Contexts held, B; zero allowed. Scalar or array.
    state : Quantity [byte]
        State of one context, M_KV(T). Scalar or array.
    pool : Quantity [byte]
        Memory of a node for attention state, M_dynamic, as :func:`state_pool` gives it. Scalar or array.

    Returns
    -------
    Quantity [node]
        Not rounded: nodes are bought whole. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a pool without room.

    Notes
    -----
    Bytes over bytes. A node holds whole contexts, so a few more nodes are needed than this.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(nodes_for_state(quantity("720 trajectory"), quantity("10 GiB"), quantity("526.0 GB")))
    '14.7 nodes'
    """
    return sequences * state / pool * Quantity(1, "node/sequence")


@takes(state="byte", link_bandwidth="byte/second", returns="second")
def reload_time(state, link_bandwidth):
    r"""Time to bring a context's state back over a link.

    .. math:: T_{reload} = M_{KV}(T) / \beta_{link}

    Parameters
    ----------
    state : Quantity [byte]
        State of the context, M_KV(T). Scalar or array.
    link_bandwidth : Quantity [byte/second]
        What the link carries each way, beta_link; of several links that share the state, their sum. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    A floor. Engines that copy block by block reach a small part of a link: one
    published reload moved less than 1 GB/s over PCIe.

    References
    ----------
    Qin et al. (2024), Mooncake, doi:10.48550/arXiv.2407.00079

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(reload_time(quantity("10 GiB"), quantity("64 GB/s")), "ms")
    '168 ms'
    """
    return state / link_bandwidth


@takes(state="byte", recompute_time="second", returns="byte/second")
def break_even_bandwidth(state, recompute_time):
    r"""Link rate below which a context is sooner prefilled again than reloaded.

    .. math:: \beta_{link}^* = M_{KV}(T) / T_{prefill}(T)

    Parameters
    ----------
    state : Quantity [byte]
        State of the context, M_KV(T). Scalar or array.
    recompute_time : Quantity [second]
        Time to prefill it, T_prefill(T). Scalar or array.

    Returns
    -------
    Quantity [byte/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    The state rises with the context, prefill faster than that: the longer the context, the slower a link will do.

    References
    ----------
    Qin et al. (2024), Mooncake, doi:10.48550/arXiv.2407.00079

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(break_even_bandwidth(quantity("327680 B"), quantity("71.35 µs")), "GB/s")
    '4.59 GB/s'
    """
    return state / recompute_time


@takes(node_time="second", state="byte", pool="byte", returns="second")
def break_even_wait(node_time, state, pool):
    r"""Length of a wait at which holding a context's state costs as much of a node as getting it back.

    .. math:: t^* = T_{node} \, M_{dynamic} / M_{KV}(T)

    Parameters
    ----------
    node_time : Quantity [second]
        Time for which getting the state back occupies the node, T_node. Scalar or array.
    state : Quantity [byte]
        State of the context, M_KV(T). Scalar or array.
    pool : Quantity [byte]
        Memory of the node for attention state, M_dynamic. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or a pool without room.

    Notes
    -----
    Holding takes M_KV(T) / M_dynamic of the node for as long as the wait; recomputing takes all of
    it for a while. The comparison is worth what both are short of: on a node whose memory is not full, holding is free.

    References
    ----------
    Gray, Putzolu (1987), doi:10.1145/38713.38755

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(break_even_wait(quantity("0.381 s"), quantity("10 GiB"), quantity("526.0 GB")))
    '18.7 s'
    """
    return node_time * pool / state
