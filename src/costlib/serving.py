"""Prefill and decode: the work of a token, and the least time it takes.

Two steps of every serving system run here on the roofline: prefill, which reads
a prompt in one pass, and decode, which writes one token a pass for each stream.
Weights and arithmetic may be of different precisions: the weights' size is an
argument, and the peak rate is that of the precision computed in.
"""

from costlib.arguments import takes
from costlib.roofline import execution_time
from costlib.units import Quantity, maximum, minimum

__all__ = [
    "all_reduce_time",
    "attention_crossover",
    "attention_operations",
    "chunk_schedule",
    "compute_bound_tokens",
    "critical_batch",
    "decode_intensity",
    "decode_time",
    "distinct_experts",
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
    "weights_read",
]

# The constants that join what is counted: each carries its units.
WEIGHT_WORK = Quantity(2, "operation/parameter/token")  # one multiplication, one addition
ATTENTION_WORK = Quantity(4, "operation/layer/channel/token/token")  # two for the score, two for the sum
DECODED = Quantity(1, "token/sequence")  # each stream gets one token a step
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
    A floor, for prompts longer than :func:`compute_bound_tokens`. Published
    prefill rates reach a half to nine tenths of it.

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
    Published decode rates reach 50 to 75 % of it on one accelerator.

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


@takes(weights="byte", operations="operation/token", peak_rate="operation/second", bandwidth="byte/second", returns="token")
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


@takes(
    prompt="token >= 0", layers="layer", width="channel", prefix="token >= 0", window="token", returns="operation"
)
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
    >>> show(prefill_attention_operations(quantity("32768 token"), quantity("80 layer"), quantity("8192 channel")), "Top")
    '1,410 Top'
    """

    def summed(end):  # of min(s, window) over the positions before end
        seen = end if window is None else minimum(end, window)
        return seen * (end - seen / 2)

    return ATTENTION_WORK * layers * width * (summed(prefix + prompt) - summed(prefix))


@takes(prompt="token", parameters="parameter", attention="operation >= 0", returns="operation")
def prefill_operations(prompt, parameters, attention):
    r"""Arithmetic of prefilling a prompt: weights and attention.

    .. math:: 2 N S + 2 L d S^2

    Parameters
    ----------
    prompt : Quantity [token]
        Tokens to prefill, S. Scalar or array.
    parameters : Quantity [parameter]
        Weights that a token passes through, N; of a mixture of experts, those active. Scalar or array.
    attention : Quantity [operation]
        Arithmetic of attention, as :func:`prefill_attention_operations` gives it; zero allowed. Scalar or array.

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
    memory = batch * (state / Quantity(1, "sequence")) + weights
    return execution_time(batch * (DECODED * operations), memory, peak_rate, bandwidth)


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
    share = maximum(gain, 0 * gain) / (weights / bandwidth)
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
    memory = (weights + batch * (state / Quantity(1, "sequence"))) / bandwidth
    spare = memory / (operations / peak_rate) - batch * DECODED
    return maximum(spare, 0 * spare)


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
    traffic = batch * (state / Quantity(1, "sequence")) + weights + prefix_state
    return execution_time(work, traffic, peak_rate, bandwidth)
