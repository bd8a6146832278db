"""What fits: the memory left for attention state, and how many contexts it holds."""

from costlib import kv_cache
from costlib.arguments import ArgumentError, extremes, takes
from costlib.units import Quantity, maximum

__all__ = [
    "break_even_bandwidth",
    "break_even_wait",
    "constant_between",
    "engine_pool",
    "growth_between",
    "implied_bytes_per_token",
    "implied_layers",
    "largest_context",
    "nodes_for_state",
    "reload_time",
    "resident_on_node",
    "resident_sequences",
    "resident_with_prefix",
    "state_pool",
]

ONE_TOKEN = Quantity(1.0, "token")


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


@takes(memory="byte", utilisation="", weights="byte", non_cache="byte >= 0", returns="byte")
def engine_pool(memory, utilisation, weights, non_cache):
    r"""Memory that an engine takes for attention state when it may use a share of the accelerator.

    .. math:: M_{dynamic} = u M_{HBM} - N b - M_{other}

    Parameters
    ----------
    memory : Quantity [byte]
        Memory of an accelerator as a process sees it, M_HBM. Scalar or array.
    utilisation : Quantity []
        Share of it that the engine may use, u: ``gpu_memory_utilization`` of vLLM; at most 1. Scalar or array.
    weights : Quantity [byte]
        The weights that the accelerator holds, N b. Scalar or array.
    non_cache : Quantity [byte]
        What the engine measured at start beside them, M_other: the peak of activations, the context of the driver,
        recorded graphs; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Negative where the share does not hold the weights and the rest. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a share above 1.

    Notes
    -----
    The engine measures what it takes, after loading; on several accelerators the least of their pools counts.
    The peak that vLLM prints holds the weights already: only what it has beyond them belongs to ``non_cache``.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165; gpu_worker.py of vLLM

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> card, weights, other = map(quantity, ("80 GB", "42 GB", "4 GB"))
    >>> show(engine_pool(card, 0.9, weights, other), "GB")
    '26 GB'
    """
    if extremes(utilisation.magnitude)[1] > 1:
        raise ArgumentError(f"engine_pool: utilisation = {utilisation:~P}; wanted a share of at most 1")
    return state_pool(memory * utilisation, weights, non_cache)


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


@takes(pool="byte >= -inf", state="byte", accelerators="accelerator >= 1", ranks="accelerator >= 1", returns="sequence")
def resident_on_node(pool, state, accelerators, ranks):
    r"""Contexts that the accelerators of a node hold, some of them sharing each.

    .. math:: B = \lfloor n / t \rfloor \, \lfloor M_{rank} / M_{KV,rank}(T) \rfloor

    Parameters
    ----------
    pool : Quantity [byte]
        Memory for attention state of one accelerator beside its weights, M_rank, as
        :func:`costlib.serving.weights_on_each` gives them; none fits where it is negative. Scalar or array.
    state : Quantity [byte]
        What one context keeps on each accelerator that holds a part of it, M_KV,rank(T). Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators of the node, n; at least one. Scalar or array.
    ranks : Quantity [accelerator]
        Accelerators that share each context by tensor parallelism, t; at least one. Scalar or array.

    Returns
    -------
    Quantity [sequence]
        Over all groups of t, which are data-parallel; none where the node has fewer than t. Of the shape to which
        the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite, or a state of zero.

    Notes
    -----
    A rank keeps H_kv / t of H_kv key-value heads, rounded up, and the whole of a latent, as
    :meth:`costlib.model.Model.shard` has it; :func:`costlib.serving.state_copies` says how often a byte is then stored.
    A context lives on one group, so what is left over on each is not added up.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> node, pair = quantity("8 accelerator"), quantity("2 accelerator")
    >>> show(resident_on_node(quantity("12.8 GB"), quantity("5.37 GB"), node, pair))
    '8 sequences'
    """
    groups = (accelerators / ranks).m_as("") // 1
    return groups * resident_sequences(pool, state)


@takes(pool="byte >= -inf", prefix="byte >= 0", own="byte", returns="sequence")
def resident_with_prefix(pool, prefix, own):
    r"""Contexts that the pool holds when all of them begin alike and share the state of that beginning.

    .. math:: B_{max} = \left\lfloor \frac{M_{dynamic} - M_P}{M_{KV}(T) - M_P} \right\rfloor

    Parameters
    ----------
    pool : Quantity [byte]
        Memory for attention state, M_dynamic; none fits where it is negative. Scalar or array.
    prefix : Quantity [byte]
        State of the common beginning, held once, M_P; zero allowed. Scalar or array.
    own : Quantity [byte]
        State that each context adds to it, M_KV(T) - M_P. Scalar or array.

    Returns
    -------
    Quantity [sequence]
        Whole contexts; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite, or contexts that add nothing of their own.

    Notes
    -----
    Where layers keep every token. A recurrent state is each context's own, whatever they begin with, and counts to
    ``own``; blocks are shared whole, so less than a block of the prefix may be.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(resident_with_prefix(quantity("34 GB"), quantity("5 GiB"), quantity("5 GiB")))
    '5 sequences'
    """
    return resident_sequences(pool - prefix, own)


@takes(
    memory="byte >= -inf",
    constant="byte >= 0",
    bytes_per_token="byte/token",
    window_bytes_per_token="byte/token",
    window="token",
    returns="token",
)
def largest_context(memory, constant, bytes_per_token, window_bytes_per_token=None, window=None):
    r"""Longest context whose state fits: :func:`costlib.kv_cache.growing_state` solved for the tokens.

    .. math:: T_{max} = \max \{ T : M_0 + T \, m_{token} + \min(T, w) \, m_{window} \le M \}

    Parameters
    ----------
    memory : Quantity [byte]
        Memory for the state of one context, M; no context fits where it is negative. Scalar or array.
    constant : Quantity [byte]
        What layers that do not attend keep, M_0; zero allowed. Scalar or array.
    bytes_per_token : Quantity [byte/token]
        State of one token in the layers that keep every token, m_token. Scalar or array.
    window_bytes_per_token : Quantity [byte/token], optional
        State of one token in the layers with a window, m_window; without it, there are none. Scalar or array.
    window : Quantity [token], optional
        Tokens that those keep, w; without it, all of them. Scalar or array.

    Returns
    -------
    Quantity [token]
        Whole tokens, zero where not one fits; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite, or layers of which none keeps every token.

    Notes
    -----
    Exact to the token. Where every layer has a window or a state of fixed size, there is no longest context: any
    fits, once that of the longest window does.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(largest_context(quantity("34 GB"), quantity("0 B"), quantity("327680 B/token")), digits=6)
    '103,759 tokens'
    """
    growth = constant, bytes_per_token, window_bytes_per_token, window
    left = memory - constant
    if window_bytes_per_token is None:
        longest = left / bytes_per_token
    else:
        longest = left / (bytes_per_token + window_bytes_per_token)
        if window is not None:
            longest = maximum(longest, (left - window * window_bytes_per_token) / bytes_per_token)
    nothing = Quantity(0.0, "token")
    tokens = maximum(longest, nothing) // ONE_TOKEN * ONE_TOKEN
    # The quotient may have been rounded across a whole number: look which of its neighbours fits.
    one_more_fits = kv_cache.growing_state(tokens + ONE_TOKEN, *growth) <= memory
    tokens = tokens + Quantity(1.0 * one_more_fits, "token")
    too_many = kv_cache.growing_state(tokens, *growth) > memory
    return maximum(tokens - Quantity(1.0 * too_many, "token"), nothing)


@takes(memory="byte", constant="byte >= 0", context="token", returns="byte/token")
def implied_bytes_per_token(memory, constant, context):
    r"""State of a token that a claim implies: so much memory holds so long a context.

    .. math:: m_{token} \le (M - M_0) / T

    Parameters
    ----------
    memory : Quantity [byte]
        Memory that the state has, M. Scalar or array.
    constant : Quantity [byte]
        What layers that do not attend keep of it, M_0; zero allowed. Scalar or array.
    context : Quantity [token]
        Context claimed, T. Scalar or array.

    Returns
    -------
    Quantity [byte/token]
        The most that the claim leaves to a token; negative where the memory does not hold even the constant.
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    A bound from above. The model may keep less; one that keeps more makes the claim false.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(implied_bytes_per_token(quantity("4 GiB"), quantity("0 B"), quantity("262144 token")), "KiB/token")
    '16 KiB/token'
    """
    return (memory - constant) / context


@takes(
    bytes_per_token="byte/token", kv_heads="head", head_dim="channel/head", kv_precision="byte/element", returns="layer"
)
def implied_layers(bytes_per_token, kv_heads, head_dim, kv_precision):
    r"""Layers of a geometry that so much state a token pays for.

    .. math:: L \le \frac{m_{token}}{2 H_{kv} d_{head} b_{kv}}

    Parameters
    ----------
    bytes_per_token : Quantity [byte/token]
        State of one token in all layers, m_token. Scalar or array.
    kv_heads : Quantity [head]
        Key-value heads of a layer, H_kv. Scalar or array.
    head_dim : Quantity [channel/head]
        Size of a head; where keys and values differ, the mean of the two. Scalar or array.
    kv_precision : Quantity [byte/element]
        Stored size of one element, b_kv. Scalar or array.

    Returns
    -------
    Quantity [layer]
        Not rounded: a geometry with more layers than this does not fit. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    One equation for four unknowns. It excludes geometries and finds none; the configuration file names the one.

    References
    ----------
    Ainslie et al. (2023), doi:10.18653/v1/2023.emnlp-main.298

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> geometry = map(quantity, ("2 head", "128 channel/head", "1 B/element"))
    >>> show(implied_layers(quantity("16 KiB/token"), *geometry))
    '32 layers'
    """
    one_layer = Quantity(1.0, "layer")
    return bytes_per_token / kv_cache.bytes_per_token(one_layer, kv_heads, head_dim, kv_precision) * one_layer


@takes(context="token", state="byte >= 0", longer_context="token", longer_state="byte >= 0", returns="byte/token")
def growth_between(context, state, longer_context, longer_state):
    r"""State that each further token adds, from the sizes that an engine reports at two lengths.

    .. math:: m_{token} = \frac{M(T_2) - M(T_1)}{T_2 - T_1}

    Parameters
    ----------
    context : Quantity [token]
        The shorter length, T_1. Scalar or array.
    state : Quantity [byte]
        Size reported for it, M(T_1); zero allowed. Scalar or array.
    longer_context : Quantity [token]
        The longer length, T_2. Scalar or array.
    longer_state : Quantity [byte]
        Size reported for it, M(T_2); zero allowed. Scalar or array.

    Returns
    -------
    Quantity [byte/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a second length that is not the longer.

    Notes
    -----
    Exact if both lengths are whole blocks and longer than every window. One size divided by one length is larger
    than this by the constant's share: of a hybrid at a short length, many times.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> short, long = map(quantity, ("4096 token", "203784192 B")), map(quantity, ("65536 token", "707100672 B"))
    >>> show(growth_between(*short, *long), digits=4)
    '8,192 B/token'
    """
    if extremes((longer_context - context).magnitude)[0] <= 0:
        raise ArgumentError(
            f"growth_between: longer_context = {longer_context:~P}; wanted more than context = {context:~P}"
        )
    return (longer_state - state) / (longer_context - context)


@takes(context="token", state="byte >= 0", longer_context="token", longer_state="byte >= 0", returns="byte")
def constant_between(context, state, longer_context, longer_state):
    r"""State that does not grow with the context, from the sizes that an engine reports at two lengths.

    .. math:: M_0 = M(T_1) - T_1 \frac{M(T_2) - M(T_1)}{T_2 - T_1}

    Parameters
    ----------
    context : Quantity [token]
        The shorter length, T_1. Scalar or array.
    state : Quantity [byte]
        Size reported for it, M(T_1); zero allowed. Scalar or array.
    longer_context : Quantity [token]
        The longer length, T_2. Scalar or array.
    longer_state : Quantity [byte]
        Size reported for it, M(T_2); zero allowed. Scalar or array.

    Returns
    -------
    Quantity [byte]
        What recurrent layers keep, and full windows; slightly negative where sizes were rounded. Of the shape to
        which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a second length that is not the longer.

    Notes
    -----
    Sizes that were rounded to be printed leave an error of the rounding times T_2 / (T_2 - T_1).

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> short, long = map(quantity, ("4096 token", "203784192 B")), map(quantity, ("65536 token", "707100672 B"))
    >>> show(constant_between(*short, *long), "MB", digits=4)
    '170.2 MB'
    """
    return state - context * growth_between(context, state, longer_context, longer_state)


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

    .. math:: T_{wait} = T_{node} \, M_{dynamic} / M_{KV}(T)

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
