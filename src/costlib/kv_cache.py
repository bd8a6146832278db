"""Attention state: what a token leaves behind for the tokens after it."""

from costlib.arguments import takes
from costlib.units import Quantity, minimum

__all__ = [
    "block_precision",
    "bytes_per_token",
    "context_state",
    "growing_state",
    "latent_bytes_per_token",
    "occupancy",
]

KEYS_AND_VALUES = Quantity(2, "element/layer/channel/token")  # a key and a value on each channel of each head
LATENT = Quantity(1, "element/layer/channel/token")  # one latent serves as both


@takes(layers="layer", kv_heads="head", head_dim="channel/head", kv_precision="byte/element", returns="byte/token")
def bytes_per_token(layers, kv_heads, head_dim, kv_precision):
    r"""State that one token keeps in layers whose key-value heads hold a key and a value each.

    .. math:: m_{token} = 2 L H_{kv} d_{head} b_{kv}

    Parameters
    ----------
    layers : Quantity [layer]
        Layers that keep state for every token, L. Scalar or array.
    kv_heads : Quantity [head]
        Key-value heads of a layer: as many as query heads in multi-head
        attention, 1 in multi-query. Scalar or array.
    head_dim : Quantity [channel/head]
        Size of a head; where keys and values differ, the mean of the two. Scalar or array.
    kv_precision : Quantity [byte/element]
        Stored size of one element, b_kv. Scalar or array.

    Returns
    -------
    Quantity [byte/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Exact for what the architecture needs. An engine reserves more: whole
    blocks, and the scales of block formats.

    References
    ----------
    Ainslie et al. (2023), doi:10.18653/v1/2023.emnlp-main.298

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> geometry = map(quantity, ("80 layer", "8 head", "128 channel/head", "2 B/element"))
    >>> show(bytes_per_token(*geometry), digits=6)
    '327,680 B/token'
    """
    return KEYS_AND_VALUES * layers * kv_heads * head_dim * kv_precision


@takes(layers="layer", latent_rank="channel", rope_dim="channel", kv_precision="byte/element", returns="byte/token")
def latent_bytes_per_token(layers, latent_rank, rope_dim, kv_precision):
    r"""State that one token keeps in layers of multi-head latent attention.

    .. math:: m_{token} = L (r + d_{rope}) b_{kv}

    Parameters
    ----------
    layers : Quantity [layer]
        Layers, L. Scalar or array.
    latent_rank : Quantity [channel]
        Rank of the latent from which keys and values are rebuilt, r. Scalar or array.
    rope_dim : Quantity [channel]
        Channels of the key that carries the position, shared by all heads. Scalar or array.
    kv_precision : Quantity [byte/element]
        Stored size of one element, b_kv. Scalar or array.

    Returns
    -------
    Quantity [byte/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    One latent serves as key and value: it is not doubled, whatever the number of heads.

    References
    ----------
    DeepSeek-AI (2024), DeepSeek-V2, doi:10.48550/arXiv.2405.04434

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> geometry = map(quantity, ("61 layer", "512 channel", "64 channel", "2 B/element"))
    >>> show(latent_bytes_per_token(*geometry), digits=5)
    '70,272 B/token'
    """
    return LATENT * layers * (latent_rank + rope_dim) * kv_precision


@takes(context="token >= 0", bytes_per_token="byte/token", window="token", returns="byte")
def context_state(context, bytes_per_token, window=None):
    r"""State of one whole context.

    .. math:: M_{KV}(T) = \min(T, w) \, m_{token}

    Parameters
    ----------
    context : Quantity [token]
        Tokens in the context, T; zero allowed. Scalar or array.
    bytes_per_token : Quantity [byte/token]
        State of one token, as :func:`bytes_per_token` gives it. Scalar or array.
    window : Quantity [token], optional
        Tokens that a sliding window keeps, w; without it, all of them. Scalar or array.

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
    Exact for what the architecture needs; while it runs, an engine may hold a
    window's worth and the tokens of the current step.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(context_state(quantity("32768 token"), quantity("327680 B/token")), "GB")
    '10.7 GB'
    """
    return (context if window is None else minimum(context, window)) * bytes_per_token


@takes(
    context="token >= 0",
    constant="byte >= 0",
    bytes_per_token="byte/token",
    window_bytes_per_token="byte/token",
    window="token",
    returns="byte",
)
def growing_state(context, constant, bytes_per_token, window_bytes_per_token=None, window=None):
    r"""State of one whole context where some layers keep every token, some a window, and some a state of fixed size.

    .. math:: M_{KV}(T) = M_0 + T \, m_{token} + \min(T, w) \, m_{window}

    Parameters
    ----------
    context : Quantity [token]
        Tokens in the context, T; zero allowed. Scalar or array.
    constant : Quantity [byte]
        What layers that do not attend keep, however long the context is, M_0; zero allowed. Scalar or array.
    bytes_per_token : Quantity [byte/token]
        State of one token in the layers that keep every token, m_token. Scalar or array.
    window_bytes_per_token : Quantity [byte/token], optional
        State of one token in the layers with a window, m_window; without it, there are none. Scalar or array.
    window : Quantity [token], optional
        Tokens that those keep, w; without it, all of them. Scalar or array.

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
    Exact for what the architecture needs, where all windows are of one size.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> hybrid = quantity("170229760 B"), quantity("8192 B/token")
    >>> show(growing_state(quantity("262144 token"), *hybrid), "GB")
    '2.32 GB'
    """
    state = constant + context_state(context, bytes_per_token)
    if window_bytes_per_token is None:
        return state
    return state + context_state(context, window_bytes_per_token, window)


@takes(element_size="bit/element", block="element >= 1", scales="byte >= 0", returns="byte/element")
def block_precision(element_size, block, scales):
    r"""Stored size of one element in a format whose blocks carry scales of their own.

    .. math:: b_{kv} = b_{element} + b_{scales} / n

    Parameters
    ----------
    element_size : Quantity [bit/element]
        Size of one element by itself, b_element. Scalar or array.
    block : Quantity [element]
        Elements that share the scales, n. Scalar or array.
    scales : Quantity [byte]
        What the block keeps beside its elements, b_scales; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [byte/element]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact where heads divide into whole blocks. Scales of a whole tensor or head are too few to count.

    References
    ----------
    Rouhani et al. (2023), doi:10.48550/arXiv.2310.10537; block_q8_0 and block_q4_0 in ggml-common.h of llama.cpp

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> block, scale = quantity("32 element"), quantity("2 byte")
    >>> show(block_precision(quantity("8 bit/element"), block, scale), digits=5)
    '1.0625 B/element'
    >>> show(block_precision(quantity("4 bit/element"), block, scale), digits=5)
    '0.5625 B/element'
    """
    return element_size + scales / block


@takes(state="byte >= 0", time="second >= 0", returns="byte*second")
def occupancy(state, time):
    r"""Memory held, times how long: what state costs while it stays.

    .. math:: O = M_{KV}(T) \, t

    Parameters
    ----------
    state : Quantity [byte]
        State that is resident, M_KV(T); zero allowed. Scalar or array.
    time : Quantity [second]
        How long it stays, t; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [byte*second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    For a state that does not change meanwhile. While a context grows, it is the sum over its steps.

    References
    ----------
    Denning (1968), doi:10.1145/363095.363141

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(occupancy(quantity("10 GiB"), quantity("20 s")), "GB*s")
    '215 GB·s'
    """
    return state * time
