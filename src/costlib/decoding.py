"""The decode loop around the forward pass: what leaves the accelerator for each token, and what masks it."""

from costlib.arguments import takes
from costlib.units import Quantity

__all__ = [
    "host_stall",
    "logit_traffic",
    "logit_vector",
    "mask_row",
    "mask_table",
    "server_token_rate",
    "token_id_traffic",
]

LOGIT = Quantity(1, "element/token")  # one a vocabulary entry
TOKEN_ID = Quantity(4, "byte/token")  # a 32-bit integer
MASK_BYTE = Quantity(8, "token")  # vocabulary entries to a byte, one a bit


@takes(vocabulary="token", logit_precision="byte/element", returns="byte")
def logit_vector(vocabulary, logit_precision):
    r"""Logits that the model puts out for one token of one stream.

    .. math:: |V| b_l

    Parameters
    ----------
    vocabulary : Quantity [token]
        Entries of the vocabulary, \|V\|. Scalar or array.
    logit_precision : Quantity [byte/element]
        Size of a logit, b_l. Scalar or array.

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
    Engines often widen logits to 32 bits before they sample, which doubles it.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(logit_vector(quantity("128000 token"), quantity("2 B/element")))
    '256,000 B'
    """
    return vocabulary * LOGIT * logit_precision


@takes(streams="sequence", token_rate="token/second/sequence", returns="token/second")
def server_token_rate(streams, token_rate):
    r"""Tokens that a server puts out a second, over all its streams.

    .. math:: B R

    Parameters
    ----------
    streams : Quantity [sequence]
        Streams that the server decodes, B. Scalar or array.
    token_rate : Quantity [token/second/sequence]
        Output rate of a stream, R. Scalar or array.

    Returns
    -------
    Quantity [token/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Of streams that decode all the time; those that wait for a tool put out nothing.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(server_token_rate(quantity("64 sequence"), quantity("40 token/s/sequence")))
    '2,560 tokens/s'
    """
    return streams * token_rate


@takes(
    vocabulary="token",
    logit_precision="byte/element",
    streams="sequence",
    token_rate="token/second/sequence",
    returns="byte/second",
)
def logit_traffic(vocabulary, logit_precision, streams, token_rate):
    r"""Traffic if the logits of every token leave the accelerator to be sampled elsewhere.

    .. math:: |V| b_l B R

    Parameters
    ----------
    vocabulary : Quantity [token]
        Entries of the vocabulary, \|V\|. Scalar or array.
    logit_precision : Quantity [byte/element]
        Size of a logit, b_l. Scalar or array.
    streams : Quantity [sequence]
        Streams that the server decodes, B. Scalar or array.
    token_rate : Quantity [token/second/sequence]
        Output rate of a stream, R. Scalar or array.

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
    Payload only; the fixed cost of each transfer and of waiting for it comes on top.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> server = quantity("64 sequence"), quantity("40 token/s/sequence")
    >>> show(logit_traffic(quantity("128000 token"), quantity("2 B/element"), *server), "MB/s")
    '655 MB/s'
    """
    return logit_vector(vocabulary, logit_precision) * server_token_rate(streams, token_rate) / Quantity(1, "token")


@takes(streams="sequence", token_rate="token/second/sequence", returns="byte/second")
def token_id_traffic(streams, token_rate):
    r"""Traffic if the accelerator samples and only token identifiers leave it.

    .. math:: 4 B R

    Parameters
    ----------
    streams : Quantity [sequence]
        Streams that the server decodes, B. Scalar or array.
    token_rate : Quantity [token/second/sequence]
        Output rate of a stream, R. Scalar or array.

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
    Identifiers are integers of 4 bytes.

    References
    ----------
    Kwon et al. (2023), doi:10.1145/3600006.3613165

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(token_id_traffic(quantity("64 sequence"), quantity("40 token/s/sequence")), "kB/s")
    '10.2 kB/s'
    """
    return TOKEN_ID * server_token_rate(streams, token_rate)


@takes(vocabulary="token", returns="byte")
def mask_row(vocabulary):
    r"""Size of a grammar mask of one automaton state: a bit for each entry of the vocabulary, in whole bytes.

    .. math:: \lceil |V| / 8 \rceil

    Parameters
    ----------
    vocabulary : Quantity [token]
        Entries of the vocabulary, \|V\|. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Of the shape of the argument.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Engines fill up to whole words of 32 bits, at most 3 bytes more.

    References
    ----------
    Willard, Louf (2023), doi:10.48550/arXiv.2307.09702

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(mask_row(quantity("131072 token")), digits=5)
    '16,384 B'
    """
    return Quantity(-(-(vocabulary / MASK_BYTE).m_as("") // 1), "byte")


@takes(states=" >= 1", vocabulary="token", returns="byte")
def mask_table(states, vocabulary):
    r"""Size of a table with the mask of every state of an automaton.

    .. math:: |Q| \lceil |V| / 8 \rceil

    Parameters
    ----------
    states : Quantity []
        States of the automaton, \|Q\|; at least one. Scalar or array.
    vocabulary : Quantity [token]
        Entries of the vocabulary, \|V\|. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite, or less than one state.

    Notes
    -----
    Masks only. The next state for each token, which the sampler needs as well,
    takes a word for each allowed token where it is kept as a table too.

    References
    ----------
    Willard, Louf (2023), doi:10.48550/arXiv.2307.09702

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(mask_table(512, quantity("131072 token")), "MB")
    '8.39 MB'
    """
    return states * mask_row(vocabulary)


@takes(output="token", host_step="second/token", returns="second")
def host_stall(output, host_step):
    r"""Time that an output waits for masks which a process on the host makes, one token after another.

    .. math:: T_{out} \, t_{host}

    Parameters
    ----------
    output : Quantity [token]
        Tokens of the output, T_out. Scalar or array.
    host_step : Quantity [second/token]
        Time of one round trip: the token to the host, a transition of the
        automaton, the mask back, the next step begun; t_host. Scalar or array.

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
    For an engine that waits. One that makes the next mask during the forward
    pass waits only for what is longer than the pass.

    References
    ----------
    Dong et al. (2024), doi:10.48550/arXiv.2411.15100

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(host_stall(quantity("500 token"), quantity("150 us/token")), "ms")
    '75 ms'
    """
    return output * host_step
