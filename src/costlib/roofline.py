"""The roofline: what an accelerator's two rates allow a computation."""

from costlib.arguments import takes
from costlib.units import maximum, minimum

__all__ = ["attainable_rate", "execution_time", "ridge_point"]


@takes(peak_rate="operation/second", bandwidth="byte/second", returns="operation/byte")
def ridge_point(peak_rate, bandwidth):
    r"""Arithmetic intensity at which an accelerator's two limits meet.

    .. math:: \mathcal{I}^* = \pi / \beta

    Parameters
    ----------
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [operation/byte]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Both rates are data-sheet maxima. Vendors also print rates with structured
    sparsity, twice as high; they do not apply to dense weights.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(ridge_point(quantity("1979 Top/s"), quantity("3.35 TB/s")))
    '591 op/B'
    """
    return peak_rate / bandwidth


@takes(intensity="operation/byte", peak_rate="operation/second", bandwidth="byte/second", returns="operation/second")
def attainable_rate(intensity, peak_rate, bandwidth):
    r"""Largest arithmetic rate that a computation of this intensity can reach.

    .. math:: P = \min(\pi, \mathcal{I} \beta)

    Parameters
    ----------
    intensity : Quantity [operation/byte]
        Operations done for each byte moved. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [operation/second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    An upper bound. It assumes that transfers and arithmetic overlap completely.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(attainable_rate(quantity("2 op/B"), quantity("1979 Top/s"), quantity("3.35 TB/s")), "Top/s")
    '6.7 Top/s'
    """
    return minimum(peak_rate, intensity * bandwidth)


@takes(
    operations="operation >= 0",
    traffic="byte >= 0",
    peak_rate="operation/second",
    bandwidth="byte/second",
    returns="second",
)
def execution_time(operations, traffic, peak_rate, bandwidth):
    r"""Least time for a computation that does so much arithmetic and moves so many bytes.

    .. math:: t = \max(A / \pi, \; Q / \beta)

    Parameters
    ----------
    operations : Quantity [operation]
        Arithmetic, A; zero allowed. Scalar or array.
    traffic : Quantity [byte]
        Bytes moved to or from memory, Q; zero allowed. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative, or a rate of zero.

    Notes
    -----
    A floor: launch overhead, synchronisation and imperfect overlap only add to it.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> computation, accelerator = ("1e12 op", "70.6 GB"), ("1979 Top/s", "3.35 TB/s")
    >>> show(execution_time(*map(quantity, computation + accelerator)), "ms")
    '21.1 ms'
    """
    return maximum(operations / peak_rate, traffic / bandwidth)
