"""What one recurrent layer keeps: one function for each kind of recurrence.

A convolution keeps the inputs that the next token needs: one fewer than its kernel.
"""

from dataclasses import replace

from costlib.model_config.attention import heads_and_size, inkling
from costlib.model_config.fields import HEADS, WIDTH, Refused
from costlib.model_config.layers import RecurrentState

KERNEL = (1, 1000)


def recurrent(f, kind, elements, conv_elements=0, precision=4.0, declared=False):
    """One recurrent layer; its state is in 32 bits, as the public code keeps it, unless the file says otherwise."""
    f.see("chunk_size", "mamba_chunk_size", "mamba_dt_rank", "mamba_hidden_act", "time_step_rank")
    for name in ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"):
        dtype = f.text(name)
        if dtype not in (None, "auto", *BYTES):
            raise Refused(name, dtype, "the size of the recurrent state hangs on it")
        precision, declared = BYTES.get(dtype, precision), declared or dtype in BYTES
    return RecurrentState(
        kind=kind,
        layers=1,
        elements=elements,
        precision=precision,
        declared=declared,
        conv_elements=conv_elements,
        conv_precision=model_precision(f),
    )


BYTES = {"float64": 8.0, "float32": 4.0, "bfloat16": 2.0, "float16": 2.0}


def model_precision(f):
    """Bytes of a number of the model as it computes."""
    return BYTES.get(f.text("dtype"), 2.0)


def mamba1(state, kernel, expand):
    """Mamba: a state of so many elements on each inner channel."""

    def kept(f):
        inner = f.whole(expand, KERNEL, 2) * f.whole("hidden_size", WIDTH)
        conv = inner * (f.whole(kernel, KERNEL) - 1)
        return recurrent(f, "mamba", inner * f.whole(state, WIDTH), conv)

    return kept


def mamba2(heads, size, groups, state, kernel):
    """Mamba-2: a state of so many elements on each channel of each head; the convolution also runs over B and C."""

    def kept(f):
        inner = f.whole(heads, HEADS) * (
            mamba_head(f, heads) if f.get(size) in (None, "auto") else f.whole(size, WIDTH)
        )
        n = f.whole(state, WIDTH)
        conv = (inner + 2 * f.whole(groups, HEADS) * n) * (f.whole(kernel, KERNEL) - 1)
        for name in ("mamba_d_ssm", "mamba_expand", "expand"):  # the heads say it
            f.get(name)
        return recurrent(f, "mamba2", inner * n, conv)

    return kept


def mamba_head(f, heads):
    """Size of a head where the file leaves it open: the inner width over the heads."""
    inner = f.optional("mamba_d_ssm", WIDTH) or f.whole("mamba_expand", KERNEL, 2) * f.whole("hidden_size", WIDTH)
    return f.quotient("size of a Mamba head", inner, f.whole(heads, HEADS))


def gated_delta(f):
    """Gated delta rule: a matrix of key by value size on each value head."""
    heads = f.whole("num_attention_heads", HEADS)
    key_heads, value_heads = (
        f.whole("linear_num_key_heads", HEADS, heads),
        f.whole("linear_num_value_heads", HEADS, heads),
    )
    key = f.optional("linear_key_head_dim", WIDTH) or int(0.75 * f.whole("hidden_size", WIDTH) / key_heads)
    value = f.optional("linear_value_head_dim", WIDTH) or 2 * key
    channels = 2 * key_heads * key + value_heads * value
    return recurrent(
        f, "gated delta rule", value_heads * key * value, channels * (f.whole("linear_conv_kernel_dim", KERNEL) - 1)
    )


def kimi_delta(f):
    """Kimi delta attention: a square matrix on each head; three convolutions, of query, key and value."""
    inner = f.inner("linear_attn_config")
    heads = inner.optional("num_heads", HEADS) or f.optional("linear_num_heads", HEADS)
    heads = heads or f.whole("num_attention_heads", HEADS)
    size = inner.optional("head_dim", WIDTH) or f.optional("linear_head_dim", WIDTH) or f.whole("head_dim", WIDTH)
    kernel = inner.optional("short_conv_kernel_size", KERNEL) or f.optional("linear_conv_kernel_dim", KERNEL)
    kernel = kernel or f.whole("short_conv_kernel_size", KERNEL)
    f.see("short_conv_kernel_size", "head_dim")
    return recurrent(f, "Kimi delta rule", heads * size * size, 3 * heads * size * (kernel - 1), declared=True)


def lightning(f):
    """MiniMax's linear attention: a square matrix on each head, in the precision of the model."""
    heads, _, size = heads_and_size(f, 0)
    return recurrent(f, "linear attention", heads * size * size, precision=model_precision(f))


def short_convolution(f):
    """Only the last inputs of a convolution over the stream."""
    return recurrent(f, "convolution", 0, f.whole("hidden_size", WIDTH) * (f.whole("conv_L_cache", KERNEL) - 1))


def four_convolutions(f, layer, kind):
    """Inkling: convolutions over keys, values and, twice, the stream."""
    cache = inkling(f, layer, kind)
    channels = cache.heads * (cache.key_dim + cache.value_dim) + 2 * f.whole("hidden_size", WIDTH)
    kernel = f.whole("conv_kernel_size", KERNEL)
    f.see("number_of_conv_states")
    yield replace(recurrent(f, "convolution", 0, channels * (kernel - 1)), conv_precision=4.0)


def rwkv(f):
    """RWKV: numerator, denominator and maximum of the weighted average; and the token before, twice."""
    width = f.whole("hidden_size", WIDTH)
    return recurrent(f, "rwkv", 3 * (f.optional("attention_hidden_size", WIDTH) or width), 2 * width)


def griffin(f):
    """Griffin: one value on each channel of the recurrence, and a convolution."""
    width = f.optional("lru_width", WIDTH) or f.whole("hidden_size", WIDTH)
    return recurrent(f, "gated linear recurrence", width, width * (f.whole("conv1d_width", KERNEL) - 1))
