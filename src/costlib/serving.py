"""Prefill and decode: the work of a token, and the least time it takes.

Two steps of every serving system run here on the roofline: prefill, which reads
a prompt in one pass, and decode, which writes one token a pass for each stream.
Weights and arithmetic may be of different precisions: the weights' size is an
argument, and the peak rate is that of the precision computed in.
"""

import math

from costlib.arguments import ArgumentError, extremes, takes
from costlib.roofline import execution_time
from costlib.units import Quantity, maximum, minimum

__all__ = [
    "all_reduce_time",
    "attention_crossover",
    "attention_operations",
    "chunk_starts",
    "compute_bound_tokens",
    "critical_batch",
    "decode_intensity",
    "decode_time",
    "distinct_experts",
    "expert_parameters",
    "fleet_time_per_token",
    "free_chunk",
    "inter_token_gap",
    "mixed_step_time",
    "node_step_time",
    "output_input_ratio",
    "prefill_attention_operations",
    "prefill_intensity",
    "prefill_operations",
    "prefill_time",
    "state_copies",
    "step_time",
    "time_to_first_token",
    "token_operations",
    "weight_bytes",
    "weights_on_each",
    "weights_read",
]

# The constants that join what is counted: each carries its units.
WEIGHT_WORK = Quantity(2, "operation/parameter/token")  # one multiplication, one addition
ATTENTION_WORK = Quantity(4, "operation/layer/channel/token/token")  # two for the score, two for the sum
DECODED = Quantity(1, "token/sequence")  # each stream gets one token a step
PER_STREAM = Quantity(1, "1/sequence")  # each stream reads a state of its own
MOST_CHUNKS = 10_000_000
ALL_REDUCES = Quantity(2, "1/layer")  # after attention, and after the feed-forward block


@takes(parameters="parameter", weight_precision="byte/parameter", returns="byte")
def weight_bytes(parameters, weight_precision):
    r"""Bytes of so many weights.

    .. math:: N b

    Parameters
    ----------
    parameters : Quantity [parameter]
        Weights, N. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.

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
    Quantised files keep scales, and often the embeddings, at more bits: they are larger.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(weight_bytes(quantity("70.6e9 parameter"), quantity("2 B/parameter")), "GB")
    '141 GB'
    """
    return parameters * weight_precision


@takes(parameters="parameter", returns="operation/token")
def token_operations(parameters):
    r"""Arithmetic that the weights ask of one token.

    .. math:: 2 N

    Parameters
    ----------
    parameters : Quantity [parameter]
        Weights that a token passes through, N; of a mixture of experts, those active. Scalar or array.

    Returns
    -------
    Quantity [operation/token]
        Of the argument's shape.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    One multiplication and one addition a weight. Attention is apart, in
    :func:`attention_operations`. The input embedding is looked up, not
    multiplied; counting it adds 1 to 2 % at 70 billion parameters, more for small models.

    References
    ----------
    Kaplan et al. (2020), doi:10.48550/arXiv.2001.08361

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(token_operations(quantity("70.6e9 parameter")), "Gop/token")
    '141 Gop/token'
    """
    return WEIGHT_WORK * parameters


@takes(prompt="token", weight_precision="byte/parameter", returns="operation/byte")
def prefill_intensity(prompt, weight_precision):
    r"""Arithmetic intensity of prefill: one read of the weights serves the whole prompt.

    .. math:: \mathcal{I} = 2 S / b

    Parameters
    ----------
    prompt : Quantity [token]
        Tokens of the prompt, S. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.

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
    Weights only, of a dense model. Attention adds arithmetic, and activations add traffic.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(prefill_intensity(quantity("1000 token"), quantity("1 B/parameter")))
    '2,000 op/B'
    """
    return WEIGHT_WORK * prompt / weight_precision


@takes(batch="sequence", weight_precision="byte/parameter", returns="operation/byte")
def decode_intensity(batch, weight_precision):
    r"""Arithmetic intensity of decode: one read of the weights serves one token of each stream.

    .. math:: \mathcal{I} = 2 B / b

    Parameters
    ----------
    batch : Quantity [sequence]
        Streams decoded together, B. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.

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
    Weights only, of a dense model. The state that each stream reads lowers it further.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(decode_intensity(quantity("1 sequence"), quantity("1 B/parameter")))
    '2 op/B'
    """
    return WEIGHT_WORK * DECODED * batch / weight_precision


@takes(parameters="parameter", peak_rate="operation/second", returns="second/token")
def prefill_time(parameters, peak_rate):
    r"""Time of one prompt token when arithmetic is the limit.

    .. math:: t_{prefill} \approx 2 N / \pi

    Parameters
    ----------
    parameters : Quantity [parameter]
        Weights that a token passes through, N; of a mixture of experts, those active. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.

    Returns
    -------
    Quantity [second/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    A floor, for prompts longer than :func:`compute_bound_tokens`. A published
    prefill rate, on one accelerator, reaches 88 % of it.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(prefill_time(quantity("70.6e9 parameter"), quantity("1979 Top/s")), "µs/token")
    '71.3 µs/token'
    """
    return WEIGHT_WORK * parameters / peak_rate


@takes(parameters="parameter", weight_precision="byte/parameter", bandwidth="byte/second", returns="second/token")
def decode_time(parameters, weight_precision, bandwidth):
    r"""Least time to decode one token of one stream: the weights read once from memory.

    .. math:: t_{decode} \ge N b / \beta

    Parameters
    ----------
    parameters : Quantity [parameter]
        Weights read for the token, N; of a mixture of experts, those active. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [second/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    A floor: attention reads, launch overhead and sampling only add to it.
    Published decode rates reach 52 to 81 % of it on one accelerator.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(decode_time(quantity("70.6e9 parameter"), quantity("1 B/parameter"), quantity("3.35 TB/s")), "ms/token")
    '21.1 ms/token'
    """
    return parameters * weight_precision / bandwidth / Quantity(1, "token")


@takes(peak_rate="operation/second", weight_precision="byte/parameter", bandwidth="byte/second", returns="")
def output_input_ratio(peak_rate, weight_precision, bandwidth):
    r"""Time of an output token over the time of a prompt token, at their floors.

    .. math:: t_{decode} / t_{prefill} = \pi b / (2 \beta)

    Parameters
    ----------
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity []
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    The model cancels, a mixture of experts too. 8-bit weights computed at the
    16-bit rate halve it, since the rate halves and the bytes do not.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> b, bandwidth = quantity("1 B/parameter"), quantity("3.35 TB/s")
    >>> show(output_input_ratio(quantity("1979 Top/s"), b, bandwidth))
    '295'
    >>> show(output_input_ratio(quantity("989 Top/s"), b, bandwidth))
    '148'
    """
    return peak_rate * weight_precision / (WEIGHT_WORK * Quantity(1, "token") * bandwidth)


@takes(
    weights="byte", operations="operation/token", peak_rate="operation/second", bandwidth="byte/second", returns="token"
)
def compute_bound_tokens(weights, operations, peak_rate, bandwidth):
    r"""Tokens that one pass must carry before arithmetic takes as long as reading the weights.

    .. math:: S^* = \frac{W / \beta}{o / \pi}

    Parameters
    ----------
    weights : Quantity [byte]
        Weights that the pass reads, W. Scalar or array.
    operations : Quantity [operation/token]
        Arithmetic of one token, o, as :func:`token_operations` gives it. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

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
    For a dense model it is pi b / 2 beta, the number of :func:`output_input_ratio`.
    A mixture of experts reads more weights than one token computes with, so it needs more tokens.

    References
    ----------
    Williams, Waterman, Patterson (2009), doi:10.1145/1498765.1498785

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> N, b = quantity("70.6e9 parameter"), quantity("1 B/parameter")
    >>> show(compute_bound_tokens(N * b, token_operations(N), quantity("1979 Top/s"), quantity("3.35 TB/s")))
    '295 tokens'
    """
    return (weights / bandwidth) / (operations / peak_rate)


@takes(context="token >= 0", layers="layer", width="channel", window="token", returns="operation/token")
def attention_operations(context, layers, width, window=None):
    r"""Arithmetic of attention for one new token over the context before it.

    .. math:: 4 L d \min(s, w)

    Parameters
    ----------
    context : Quantity [token]
        Tokens before the new one, s; zero allowed. Scalar or array.
    layers : Quantity [layer]
        Layers that attend, L. Scalar or array.
    width : Quantity [channel]
        Query heads times head size, d. Scalar or array.
    window : Quantity [token], optional
        Tokens that a sliding window lets it see, w; without it, all. Scalar or array.

    Returns
    -------
    Quantity [operation/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Two operations a channel for the score and two for the weighted sum;
    softmax, a few operations a head and token, is left out.

    References
    ----------
    Vaswani et al. (2017), doi:10.48550/arXiv.1706.03762

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(attention_operations(quantity("32768 token"), quantity("80 layer"), quantity("8192 channel")), "Gop/token")
    '85.9 Gop/token'
    """
    return ATTENTION_WORK * layers * width * (context if window is None else minimum(context, window))


@takes(prompt="token >= 0", layers="layer", width="channel", prefix="token >= 0", window="token", returns="operation")
def prefill_attention_operations(prompt, layers, width, prefix=Quantity(0, "token"), window=None):
    r"""Arithmetic of causal attention over a prompt that follows a prefix already in the cache.

    .. math:: 4 L d \int_p^{p+S} \min(s, w) \, ds \; = \; 2 L d S^2 \text{ without prefix and window}

    Parameters
    ----------
    prompt : Quantity [token]
        Tokens to prefill, S; zero allowed. Scalar or array.
    layers : Quantity [layer]
        Layers that attend, L. Scalar or array.
    width : Quantity [channel]
        Query heads times head size, d. Scalar or array.
    prefix : Quantity [token], optional
        Tokens before the prompt whose state is kept, p; none by default. Scalar or array.
    window : Quantity [token], optional
        Tokens that a sliding window lets each see, w; without it, all before it. Scalar or array.

    Returns
    -------
    Quantity [operation]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Each token attends only to those before it. A kernel that computes the masked
    half too does up to twice as much.

    References
    ----------
    Vaswani et al. (2017), doi:10.48550/arXiv.1706.03762

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> prompt_and_model = map(quantity, ("32768 token", "80 layer", "8192 channel"))
    >>> show(prefill_attention_operations(*prompt_and_model), "Top")
    '1,410 Top'
    """

    if window is None:
        seen = prompt * (prefix + prompt / 2)
    else:
        start, end = minimum(prefix, window), minimum(prefix + prompt, window)
        seen = (end - start) * (start + end) / 2 + window * (prompt - (end - start))
    return ATTENTION_WORK * layers * width * seen


@takes(prompt="token", parameters="parameter", attention="operation >= 0", returns="operation")
def prefill_operations(prompt, parameters, attention):
    r"""Arithmetic of prefilling a prompt: weights and attention.

    .. math:: 2 N S + A

    Parameters
    ----------
    prompt : Quantity [token]
        Tokens to prefill, S. Scalar or array.
    parameters : Quantity [parameter]
        Weights that a token passes through, N; of a mixture of experts, those active. Scalar or array.
    attention : Quantity [operation]
        Arithmetic of attention, A, as :func:`prefill_attention_operations` gives it; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [operation]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Exact for the two largest terms; norms, activations and softmax are left out.

    References
    ----------
    Kaplan et al. (2020), doi:10.48550/arXiv.2001.08361

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> S, N = quantity("32768 token"), quantity("70.6e9 parameter")
    >>> attention = prefill_attention_operations(S, quantity("80 layer"), quantity("8192 channel"))
    >>> show(prefill_operations(S, N, attention) / prefill_operations(S, N, 0 * attention), digits=4)
    '1.304'
    """
    return WEIGHT_WORK * parameters * prompt + attention


@takes(parameters="parameter", layers="layer", width="channel", returns="token")
def attention_crossover(parameters, layers, width):
    r"""Prompt length at which attention takes as much prefill arithmetic as the weights.

    .. math:: S^* = N / (L d)

    Parameters
    ----------
    parameters : Quantity [parameter]
        Weights that a token passes through, N; of a mixture of experts, those active. Scalar or array.
    layers : Quantity [layer]
        Layers that attend to the whole context, L. Scalar or array.
    width : Quantity [channel]
        Query heads times head size, d. Scalar or array.

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
    For layers alike. :meth:`costlib.model.Model.attention_crossover` handles those with windows.

    References
    ----------
    Kaplan et al. (2020), doi:10.48550/arXiv.2001.08361

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(attention_crossover(quantity("70.6e9 parameter"), quantity("80 layer"), quantity("8192 channel")))
    '108,000 tokens'
    """
    return 2 * WEIGHT_WORK * parameters / (ATTENTION_WORK * layers * width)


@takes(
    batch="sequence",
    weights="byte",
    state="byte >= 0",
    operations="operation/token",
    peak_rate="operation/second",
    bandwidth="byte/second",
    returns="second",
)
def step_time(batch, weights, state, operations, peak_rate, bandwidth):
    r"""Least time of one decode step of a batch, reading weights once and each stream's state.

    .. math:: t_{step}(B) = \max\left(\frac{W + B M}{\beta}, \; \frac{B o}{\pi}\right)

    Parameters
    ----------
    batch : Quantity [sequence]
        Streams decoded together, B. Scalar or array.
    weights : Quantity [byte]
        Weights read in the step, W; of a mixture of experts, :func:`weights_read`. Scalar or array.
    state : Quantity [byte]
        Attention state that each stream reads, M; zero for weights only. Scalar or array.
    operations : Quantity [operation/token]
        Arithmetic of one token, o: of its weights and, over a context, of its attention. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    A floor. It does not ask whether the batch fits into memory.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> W, o, pi, beta = map(quantity, ("70.6 GB", "141.2 Gop/token", "1979 Top/s", "3.35 TB/s"))
    >>> show(step_time(quantity("64 sequence"), W, quantity("0 B"), o, pi, beta), "ms")
    '21.1 ms'
    >>> show(step_time(quantity("64 sequence"), W, quantity("10.7 GB"), o, pi, beta), "ms")
    '225 ms'
    """
    # The few constants first, and the larger into the memory of the sum: a long array costs what it does by hand.
    reading = batch * (state * (PER_STREAM / bandwidth)) + weights / bandwidth
    computing = batch * (DECODED * operations / peak_rate)
    return maximum(reading, computing, overwrite=True)


@takes(step_time="second", batch="sequence", returns="second/token")
def fleet_time_per_token(step_time, batch):
    r"""Accelerator time that each token of a batch costs.

    .. math:: t_{step}(B) / B

    Parameters
    ----------
    step_time : Quantity [second]
        Time of the step. Scalar or array.
    batch : Quantity [sequence]
        Streams decoded together, B. Scalar or array.

    Returns
    -------
    Quantity [second/token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    What the fleet pays, not what a stream waits: each stream still waits the whole step.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(fleet_time_per_token(quantity("21.1 ms"), quantity("64 sequence")), "µs/token")
    '330 µs/token'
    """
    return step_time / (DECODED * batch)


@takes(
    weights="byte",
    state="byte >= 0",
    operations="operation/token",
    peak_rate="operation/second",
    bandwidth="byte/second",
    returns="sequence",
)
def critical_batch(weights, state, operations, peak_rate, bandwidth):
    r"""Batch from which a decode step is bound by arithmetic.

    .. math:: B^* = \frac{W / \beta}{o / \pi - M / \beta}

    Parameters
    ----------
    weights : Quantity [byte]
        Weights read in the step, W; of a mixture of experts, all of them. Scalar or array.
    state : Quantity [byte]
        Attention state that each stream reads, M; zero for weights only. Scalar or array.
    operations : Quantity [operation/token]
        Arithmetic of one token, o. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [sequence]
        Infinite where a stream's state takes longer to read than its token to
        compute: no batch is then bound by arithmetic. Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    With state the crossing moves up, and soon to infinity: batching shares the
    weights, never the state.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> W, o, pi, beta = map(quantity, ("70.6 GB", "141.2 Gop/token", "1979 Top/s", "3.35 TB/s"))
    >>> show(critical_batch(W, quantity("0 B"), o, pi, beta))
    '295 sequences'
    >>> show(critical_batch(W, quantity("10.7 GB"), o, pi, beta))
    '∞ sequences'
    """
    gain = operations / peak_rate - state / bandwidth / Quantity(1, "token")
    share = maximum(gain, Quantity(0.0, "second/token")) / (weights / bandwidth)
    return _reciprocal(share) / DECODED


def _reciprocal(value):
    """1 over a quantity, infinite at zero, for scalars and arrays."""
    magnitude = value.magnitude
    if not hasattr(magnitude, "shape"):
        return Quantity(1 / magnitude if magnitude else float("inf"), 1 / value.units)
    import numpy

    with numpy.errstate(divide="ignore"):
        return Quantity(1 / magnitude, 1 / value.units)


@takes(
    batch="sequence >= 0",
    weights="byte",
    state="byte >= 0",
    operations="operation/token",
    peak_rate="operation/second",
    bandwidth="byte/second",
    returns="token",
)
def free_chunk(batch, weights, state, operations, peak_rate, bandwidth):
    r"""Prefill tokens that fit into a decode step without making it longer.

    .. math:: c = \max\left(0, \; \frac{(W + B M) / \beta}{o / \pi} - B\right)

    Parameters
    ----------
    batch : Quantity [sequence]
        Streams that decode in the same step, B; zero allowed. Scalar or array.
    weights : Quantity [byte]
        Weights read in the step, W. Scalar or array.
    state : Quantity [byte]
        Attention state that each stream reads, M; zero allowed. Scalar or array.
    operations : Quantity [operation/token]
        Arithmetic of one token, o. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [token]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    Without streams it is :func:`compute_bound_tokens`. Attention of the chunk over a
    long prefix is not counted, so the true chunk is smaller.

    References
    ----------
    Agrawal et al. (2024), doi:10.48550/arXiv.2403.02310

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> W, o, pi, beta = map(quantity, ("70.6 GB", "141.2 Gop/token", "1979 Top/s", "3.35 TB/s"))
    >>> show(free_chunk(quantity("0 sequence"), W, quantity("0 B"), o, pi, beta))
    '295 tokens'
    """
    memory = (weights + batch * (state * PER_STREAM)) / bandwidth
    spare = memory / (operations / peak_rate) - batch * DECODED
    return maximum(spare, Quantity(0.0, "token"))


@takes(
    batch="sequence >= 0",
    weights="byte",
    state="byte >= 0",
    operations="operation/token",
    chunk_operations="operation >= 0",
    prefix_state="byte >= 0",
    peak_rate="operation/second",
    bandwidth="byte/second",
    returns="second",
)
def mixed_step_time(batch, weights, state, operations, chunk_operations, prefix_state, peak_rate, bandwidth):
    r"""Least time of a step that decodes a batch and prefills one chunk.

    .. math:: \max\left(\frac{W + B M + M_p}{\beta}, \; \frac{B o + o_c}{\pi}\right)

    Parameters
    ----------
    batch : Quantity [sequence]
        Streams that decode in the step, B; zero allowed. Scalar or array.
    weights : Quantity [byte]
        Weights read in the step, W. Scalar or array.
    state : Quantity [byte]
        Attention state that each stream reads, M; zero allowed. Scalar or array.
    operations : Quantity [operation/token]
        Arithmetic of one decoded token, o. Scalar or array.
    chunk_operations : Quantity [operation]
        Arithmetic of the whole chunk, as :func:`prefill_operations` gives it; zero allowed. Scalar or array.
    prefix_state : Quantity [byte]
        State before the chunk, which it reads once; zero allowed. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate at the precision computed in, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth, beta. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    A floor: it lets the arithmetic of the chunk overlap the reads of the decodes completely.

    References
    ----------
    Agrawal et al. (2024), doi:10.48550/arXiv.2403.02310

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> W, o, pi, beta = map(quantity, ("70.6 GB", "141.2 Gop/token", "1979 Top/s", "3.35 TB/s"))
    >>> B, none = quantity("8 sequence"), quantity("0 B")
    >>> show(mixed_step_time(B, W, none, o, quantity("256 token") * o, none, pi, beta), "ms")
    '21.1 ms'
    >>> show(mixed_step_time(B, W, none, o, quantity("2048 token") * o, none, pi, beta), "ms")
    '147 ms'
    """
    work = batch * (DECODED * operations) + chunk_operations
    traffic = batch * (state * PER_STREAM) + weights + prefix_state
    return execution_time(work, traffic, peak_rate, bandwidth)


@takes(prompt="token", chunk="token", returns="token")
def chunk_starts(prompt, chunk):
    r"""Positions at which the chunks of a prompt begin.

    .. math:: 0, \; c, \; 2c, \; \dots < S

    Parameters
    ----------
    prompt : Quantity [token]
        Tokens to prefill, S. A scalar.
    chunk : Quantity [token]
        Tokens of a chunk, c; the last one may be shorter. A scalar.

    Returns
    -------
    Quantity [token]
        An array of one entry a chunk.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or an array.

    Notes
    -----
    Chunk i holds the tokens from its start up to the next start, or to the end of the prompt.

    References
    ----------
    Agrawal et al. (2024), doi:10.48550/arXiv.2403.02310

    Examples
    --------
    >>> from costlib.units import quantity
    >>> chunk_starts(quantity("1000 token"), quantity("400 token")).magnitude.tolist()
    [0.0, 400.0, 800.0]
    """
    import numpy

    if numpy.ndim(prompt.magnitude) or numpy.ndim(chunk.magnitude):
        raise ArgumentError("chunk_starts: prompt or chunk is an array; wanted one prompt and one chunk")
    chunks = math.ceil(prompt.magnitude / chunk.magnitude * (1 - 1e-12))  # 2.1 over 0.7 is 3, but for rounding
    if chunks > MOST_CHUNKS:
        raise ArgumentError(f"chunk_starts: the prompt has {chunks:,} chunks; wanted at most {MOST_CHUNKS:,}")
    return Quantity(numpy.arange(chunks) * chunk.magnitude, "token")


@takes(step_times="second", returns="second")
def time_to_first_token(step_times):
    r"""Time from the first chunk of a prompt to its first output token.

    .. math:: \sum_i t_i

    Parameters
    ----------
    step_times : Quantity [second]
        Times of the steps that carry the prompt's chunks, as :func:`mixed_step_time` gives them. Array.

    Returns
    -------
    Quantity [second]
        A scalar.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Without the wait for the first step to begin.

    References
    ----------
    Agrawal et al. (2024), doi:10.48550/arXiv.2403.02310

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(time_to_first_token(quantity("20 ms") * [1, 1, 2]), "ms")
    '80 ms'
    """
    return step_times.sum() if hasattr(step_times.magnitude, "shape") else step_times


@takes(step_times="second", returns="second")
def inter_token_gap(step_times):
    r"""Longest gap between two tokens of a stream that decodes beside a prompt's chunks.

    .. math:: \max_i t_i

    Parameters
    ----------
    step_times : Quantity [second]
        Times of the steps that carry the prompt's chunks, as :func:`mixed_step_time` gives them. Array.

    Returns
    -------
    Quantity [second]
        A scalar.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    One prompt at a time; an engine that takes chunks of several in one step makes it longer.

    References
    ----------
    Agrawal et al. (2024), doi:10.48550/arXiv.2403.02310

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> show(inter_token_gap(quantity("20 ms") * [1, 1, 2]), "ms")
    '40 ms'
    """
    return step_times.max() if hasattr(step_times.magnitude, "shape") else step_times


@takes(tokens="token >= 1", experts="expert", experts_per_token="expert/token", returns="expert")
def distinct_experts(tokens, experts, experts_per_token):
    r"""Expected number of different experts that a pass over so many tokens uses in a layer.

    .. math:: E \left(1 - (1 - k / E)^T\right)

    Parameters
    ----------
    tokens : Quantity [token]
        Tokens of the pass, T; at least one. Scalar or array.
    experts : Quantity [expert]
        Experts of the layer, E. Scalar or array.
    experts_per_token : Quantity [expert/token]
        Experts that the router chooses for a token, k. Scalar or array.

    Returns
    -------
    Quantity [expert]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or more experts chosen than there are.

    Notes
    -----
    For tokens that choose independently and evenly. Tokens of one text choose
    alike, so real passes use fewer.

    References
    ----------
    Shazeer et al. (2017), doi:10.48550/arXiv.1701.06538

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> E, k = quantity("128 expert"), quantity("8 expert/token")
    >>> show(distinct_experts(quantity("1 token"), E, k)), show(distinct_experts(quantity("32 token"), E, k))
    ('8 experts', '112 experts')
    """
    chosen = _chosen_share("distinct_experts", experts, experts_per_token)
    return experts * (1 - (1 - chosen) ** tokens.magnitude)


def _chosen_share(function, experts, experts_per_token):
    """Share of a layer's experts that one token uses."""
    chosen = (experts_per_token / experts * Quantity(1, "token")).m_as("")
    if extremes(chosen)[1] > 1:
        raise ArgumentError(f"{function}: experts_per_token is more than experts; wanted at most all of them")
    return chosen


@takes(
    tokens="token >= 1",
    parameters="parameter",
    active_parameters="parameter",
    experts="expert",
    experts_per_token="expert/token",
    weight_precision="byte/parameter",
    returns="byte",
)
def weights_read(tokens, parameters, active_parameters, experts, experts_per_token, weight_precision):
    r"""Expected weights of a mixture of experts that a pass over so many tokens reads.

    .. math:: \left(N_a + (N - N_a) \left(1 - (1 - k / E)^{T - 1}\right)\right) b

    Parameters
    ----------
    tokens : Quantity [token]
        Tokens of the pass, T; at least one. Scalar or array.
    parameters : Quantity [parameter]
        All weights, N. Scalar or array.
    active_parameters : Quantity [parameter]
        Weights that one token uses, N_a. Scalar or array.
    experts : Quantity [expert]
        Experts of a layer, E. Scalar or array.
    experts_per_token : Quantity [expert/token]
        Experts that the router chooses for a token, k. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.

    Returns
    -------
    Quantity [byte]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or more active than all.

    Notes
    -----
    One token reads the active weights; a large batch reads all. The share of the
    rest is (D - k) / (E - k), with D of :func:`distinct_experts`. For mixtures
    whose layers have equally many experts.

    References
    ----------
    Shazeer et al. (2017), doi:10.48550/arXiv.1701.06538

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> sizes = "46.7e9 parameter", "12.9e9 parameter", "8 expert", "2 expert/token", "2 B/parameter"
    >>> mixtral = [quantity(size) for size in sizes]
    >>> show(weights_read(quantity("1 token"), *mixtral), "GB")
    '25.8 GB'
    >>> show(weights_read(quantity("64 token"), *mixtral), "GB")
    '93.4 GB'
    """
    idle = parameters - active_parameters
    if extremes(idle.magnitude)[0] < 0:
        raise ArgumentError("weights_read: active_parameters is more than parameters; wanted at most all of them")
    chosen = _chosen_share("weights_read", experts, experts_per_token)
    share = 1 - (1 - chosen) ** (tokens.magnitude - 1)
    return (active_parameters + share * idle) * weight_precision


@takes(
    parameters="parameter",
    active_parameters="parameter",
    experts="expert",
    experts_per_token="expert/token",
    returns="parameter",
)
def expert_parameters(parameters, active_parameters, experts, experts_per_token):
    r"""Weights of the experts that the routers of a mixture choose from.

    .. math:: N_x = (N - N_a) \frac{E}{E - k}

    Parameters
    ----------
    parameters : Quantity [parameter]
        All weights, N. Scalar or array.
    active_parameters : Quantity [parameter]
        Weights that one token uses, N_a. Scalar or array.
    experts : Quantity [expert]
        Experts of a layer that its router chooses from, E. Scalar or array.
    experts_per_token : Quantity [expert/token]
        Experts that it chooses, k. Scalar or array.

    Returns
    -------
    Quantity [parameter]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, a router that chooses every expert,
        and numbers that no mixture has: more active than all, or less than the share of the chosen experts.

    Notes
    -----
    A token leaves aside E - k of the E experts of each layer, and nothing else. Exact where the active weights are
    counted with the tables of tokens, as those of the catalog are, and all layers with experts have equally many, in
    however few layers they sit. Published numbers are rounded, and some leave a table of tokens out: for gpt-oss-20b
    that gives 3 % more. Experts that every token passes are none of these.

    References
    ----------
    Shazeer et al. (2017), doi:10.48550/arXiv.1701.06538

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> sizes = "46.7e9 parameter", "12.9e9 parameter", "8 expert", "2 expert/token"
    >>> show(expert_parameters(*[quantity(size) for size in sizes]), "Gparameter")
    '45.1 billion parameters'
    """
    chosen = _chosen_share("expert_parameters", experts, experts_per_token)
    if extremes(chosen)[1] == 1:
        raise ArgumentError("expert_parameters: experts_per_token is all of experts; wanted fewer")
    idle = parameters - active_parameters
    if extremes(idle.magnitude)[0] < 0:
        raise ArgumentError("expert_parameters: active_parameters is more than parameters; wanted at most all of them")
    if extremes((active_parameters - chosen * parameters * (1 - 1e-9)).magnitude)[0] < 0:
        raise ArgumentError(
            "expert_parameters: active_parameters is less than the chosen experts' share of parameters; "
            "wanted at least experts_per_token / experts of them"
        )
    return idle / (1 - chosen)


@takes(
    accelerators="accelerator >= 1",
    ranks="accelerator >= 1",
    parameters="parameter",
    chosen_from="parameter >= 0",
    experts="expert",
    weight_precision="byte/parameter",
    returns="byte",
)
def weights_on_each(accelerators, ranks, parameters, chosen_from, experts, weight_precision):
    r"""Weights that each accelerator of a node keeps, where so many of them share each context.

    .. math:: \left(\frac{N - N_x}{t} + \min\left(\frac{1}{t}, \frac{\lceil E / n \rceil}{E}\right) N_x\right) b

    Parameters
    ----------
    accelerators : Quantity [accelerator]
        Accelerators of the node, n; at least one. Scalar or array.
    ranks : Quantity [accelerator]
        Accelerators that share each context by tensor parallelism, t; at least one. Scalar or array.
    parameters : Quantity [parameter]
        All weights, N. Scalar or array.
    chosen_from : Quantity [parameter]
        Those of the experts that routers choose from, N_x, as :func:`expert_parameters` gives them; zero for a dense
        model. Scalar or array.
    experts : Quantity [expert]
        Experts of a layer, E; any number where there are none. Scalar or array.
    weight_precision : Quantity [byte/parameter]
        Stored size of one weight, b. Scalar or array.

    Returns
    -------
    Quantity [byte]
        On the accelerator that keeps the most; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero, or more experts' weights than all.

    Notes
    -----
    The n / t groups each have all that is no expert, its attention above all, and divide it among their t; a dense
    model is copied so whole. The experts stand once on the node, so many whole ones on each accelerator, which takes
    in the tokens of all groups for them: data-parallel attention with expert parallelism. Where a group has more than
    so many of its own by dividing them within, it does that.
    This is ``--data-parallel-size`` with ``--enable-expert-parallel`` in vLLM, and ``--enable-dp-attention`` in SGLang.
    Left aside are copies of experts much in demand, and that experts may be stored narrower than the rest.

    References
    ----------
    DeepSeek-AI (2024), doi:10.48550/arXiv.2412.19437; Lepikhin et al. (2020), doi:10.48550/arXiv.2006.16668

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> node, one = quantity("8 accelerator"), quantity("1 accelerator")
    >>> sizes = "671.0e9 parameter", "653.9e9 parameter", "256 expert", "1 B/parameter"
    >>> deepseek = [quantity(size) for size in sizes]
    >>> [show(weights_on_each(node, ranks, *deepseek), "GB") for ranks in (node, one)]
    ['83.9 GB', '98.8 GB']
    """
    if extremes((parameters - chosen_from).magnitude)[0] < 0:
        raise ArgumentError("weights_on_each: chosen_from is more than parameters; wanted at most all of them")
    divided = Quantity(1 / ranks.magnitude, "")
    whole_experts = Quantity(-(-experts.magnitude // accelerators.magnitude) / experts.magnitude, "")
    kept = (parameters - chosen_from) * divided + chosen_from * minimum(divided, whole_experts)
    return kept * weight_precision


@takes(kv_heads="head", accelerators="accelerator >= 1", returns="")
def state_copies(kv_heads, accelerators):
    r"""How many times tensor parallelism stores each byte of attention state.

    .. math:: n \lceil H_{kv} / n \rceil / H_{kv}

    Parameters
    ----------
    kv_heads : Quantity [head]
        Key-value heads of a layer, H_kv; 1 for latent attention. Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators that share each layer, n. Scalar or array.

    Returns
    -------
    Quantity []
        1 where the heads divide evenly; of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or not more than zero.

    Notes
    -----
    Heads are replicated, not split. Engines refuse counts that do not divide;
    the value for those is what padding would store.

    References
    ----------
    Pope et al. (2022), doi:10.48550/arXiv.2211.05102

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> node = quantity("8 accelerator")
    >>> show(state_copies(quantity("8 head"), node)), show(state_copies(quantity("2 head"), node))
    ('1', '4')
    """
    heads, n = kv_heads.magnitude, accelerators.magnitude
    return Quantity(n * -(-heads // n) / heads, "")


@takes(
    tokens="token",
    layers="layer",
    width="channel",
    activation_precision="byte/element",
    accelerators="accelerator >= 1",
    link_bandwidth="byte/second",
    latency="second >= 0",
    returns="second",
)
def all_reduce_time(tokens, layers, width, activation_precision, accelerators, link_bandwidth, latency):
    r"""Time that tensor parallelism spends in a pass on summing activations across accelerators.

    .. math:: 2 L \left( \frac{2 (n - 1)}{n} \frac{T d b_a}{\beta_{link}} + 2 (n - 1) \ell \right)

    Parameters
    ----------
    tokens : Quantity [token]
        Tokens of the pass, T. Scalar or array.
    layers : Quantity [layer]
        Layers, L; each sums twice. Scalar or array.
    width : Quantity [channel]
        Size of the residual stream, d. Scalar or array.
    activation_precision : Quantity [byte/element]
        Size of one activation, b_a. Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators that share each layer, n; zero time for one. Scalar or array.
    link_bandwidth : Quantity [byte/second]
        What an accelerator sends each way, beta_link. Scalar or array.
    latency : Quantity [second]
        Time of a message of no size, l; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    For a ring. Switches that sum in the network, and trees for small messages, are quicker.

    References
    ----------
    Patarasuk, Yuan (2009), doi:10.1016/j.jpdc.2008.09.002; Shoeybi et al. (2019), doi:10.48550/arXiv.1909.08053

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> node = [quantity(q) for q in ("80 layer", "8192 channel", "2 B/element", "8 accelerator", "450 GB/s", "0 s")]
    >>> show(all_reduce_time(quantity("64 token"), *node), "ms")
    '0.652 ms'
    """
    n = accelerators / Quantity(1, "accelerator")
    activations = tokens * width * activation_precision * Quantity(1, "element/token/channel")
    return ALL_REDUCES * layers * 2 * (n - 1) * (activations / n / link_bandwidth + latency)


@takes(
    batch="sequence",
    weights="byte",
    state="byte >= 0",
    operations="operation/token",
    peak_rate="operation/second",
    bandwidth="byte/second",
    accelerators="accelerator >= 1",
    copies=" >= 1",
    communication="second >= 0",
    returns="second",
)
def node_step_time(batch, weights, state, operations, peak_rate, bandwidth, accelerators, copies, communication):
    r"""Least time of one decode step of a batch whose layers are shared by several accelerators.

    .. math:: \max\left(\frac{W + B \kappa M}{n \beta}, \; \frac{B o}{n \pi}\right) + t_{comm}

    Parameters
    ----------
    batch : Quantity [sequence]
        Streams decoded together, B. Scalar or array.
    weights : Quantity [byte]
        Weights read in the step, W. Scalar or array.
    state : Quantity [byte]
        Attention state that each stream reads, M; zero for weights only. Scalar or array.
    operations : Quantity [operation/token]
        Arithmetic of one token, o. Scalar or array.
    peak_rate : Quantity [operation/second]
        Dense arithmetic rate of one accelerator, pi. Scalar or array.
    bandwidth : Quantity [byte/second]
        Memory bandwidth of one accelerator, beta. Scalar or array.
    accelerators : Quantity [accelerator]
        Accelerators that share each layer, n. Scalar or array.
    copies : Quantity []
        Copies of the state that they hold between them, kappa, as :func:`state_copies` gives it. Scalar or array.
    communication : Quantity [second]
        Time in which they exchange activations, as :func:`all_reduce_time` gives it; zero allowed. Scalar or array.

    Returns
    -------
    Quantity [second]
        Of the shape to which the arguments broadcast.

    Raises
    ------
    ArgumentError
        For a wrong dimension, a value that is not finite or is negative.

    Notes
    -----
    A floor: weights split evenly, and no exchange overlaps with computing.
    A published decode rate, of one stream on eight accelerators, reaches 40 % of it.

    References
    ----------
    Shoeybi et al. (2019), doi:10.48550/arXiv.1909.08053

    Examples
    --------
    >>> from costlib.units import quantity, show
    >>> W, o, pi, beta = map(quantity, ("70.6 GB", "141.2 Gop/token", "1979 Top/s", "3.35 TB/s"))
    >>> node = quantity("8 accelerator"), quantity("1"), quantity("0.65 ms")
    >>> show(node_step_time(quantity("64 sequence"), W, quantity("0 B"), o, pi, beta, *node), "ms")
    '3.28 ms'
    """
    n = accelerators / Quantity(1, "accelerator")
    return step_time(batch, weights, copies * state, operations, n * peak_rate, n * bandwidth) + communication
