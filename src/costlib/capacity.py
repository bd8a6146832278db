"""What fits: the memory left for attention state, and how many contexts it holds."""

from costlib.arguments import takes
from costlib.units import Quantity, maximum

__all__ = ["resident_sequences", "state_pool"]


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
