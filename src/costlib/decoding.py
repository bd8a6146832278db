"""The decode loop around the forward pass: what leaves the accelerator for each token."""

from costlib.arguments import takes
from costlib.units import Quantity

__all__ = ["logit_traffic", "token_id_traffic"]

LOGIT = Quantity(1, "element/token")  # one a vocabulary entry
TOKEN_ID = Quantity(4, "byte/token")  # a 32-bit integer


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
    logits = vocabulary * LOGIT * logit_precision
    return logits * streams * token_rate / Quantity(1, "token")


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
    return TOKEN_ID * streams * token_rate
