"""What the blocks of a model weigh: projections, norms, attentions, feed-forwards, mixtures and recurrent mixers.

A block is looked up in the sizes of a layer as a field is: ``c["hidden_size"]`` is a number, and so is
``c[gated("intermediate_size")]``. So a block takes a field's name, a number or another block for each of its sizes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

HIDDEN = "hidden_size"
DEPTH = "num_hidden_layers"
HEADS = "num_attention_heads"
KV_HEADS = "num_key_value_heads"
INTERMEDIATE = "intermediate_size"
MOE_INTERMEDIATE = "moe_intermediate_size"
VOCABULARY = "vocab_size"
KINDS = "layer_types"
CHOSEN = "num_experts_per_tok"

RMS, LAYER = 1, 2  # vectors of a norm: a scale; a scale and a shift
LARGEST = 10**9  # of a size
DEEPEST = 10_000  # layers
LEARNED = {"xielu": 2, "prelu": 1}  # activation functions that have weights

# Other names of the same field.
ALIASES = {
    HIDDEN: ("n_embd", "n_embed", "d_model"),
    DEPTH: ("n_layer", "n_layers", "num_layers", "decoder_layers", "num_decoder_layers"),
    HEADS: (
        "n_head",
        "n_heads",
        "num_heads",
        "attention_heads",
        "decoder_attention_heads",
        "num_decoder_attention_heads",
    ),
    INTERMEDIATE: ("n_inner", "ffn_dim", "decoder_ffn_dim", "dff", "dim_ff", "ffn_hidden_size", "block_ff_dim"),
    KINDS: ("layers_block_type", "hybrid_override_pattern"),
    "max_position_embeddings": ("n_positions",),
    "hidden_act": ("hidden_activation", "activation_function", "mlp_hidden_act"),
    CHOSEN: ("num_experts_per_token", "moe_topk", "moe_k"),
    "moe_topk": (CHOSEN,),
    "moe_k": (CHOSEN,),
    "n_routed_experts": ("num_experts", "num_local_experts"),
    "n_shared_experts": ("num_shared_experts",),
    "num_shared_experts": ("n_shared_experts",),
    "attention_bias": ("qkv_bias", "use_qkv_bias"),
    "mlp_bias": ("bias",),
    "tie_word_embeddings": ("tie_embedding",),
    "num_experts": ("num_local_experts",),
    "num_local_experts": ("num_experts",),
    "layer_group_size": ("full_attention_interval",),
    "conv_kernel": ("mamba_d_conv",),
    "n_groups": ("mamba_n_groups",),
    "use_conv_bias": ("mamba_conv_bias",),
}


class Unknown(ValueError):
    """Why the parameters of a model cannot be told exactly from its configuration."""


class Sizes:
    """The fields of a model, or of one of its layers; what is looked up is a field's name, a number, or a block.

    Parameters
    ----------
    fields : Mapping
        The configuration.
    layer : int, optional
        The layer, for those fields that have a value for each.
    chosen_only : bool
        Whether of the experts only those are counted that one token goes to.
    whole : Sizes, optional
        The sizes of the model, where these are of a layer.
    """

    def __init__(self, fields, layer=None, chosen_only=False, whole=None):
        self.fields, self.layer, self.chosen_only = fields, layer, chosen_only
        self.found = {} if whole is None else whole.found  # what was looked up, for all layers
        self.mixtures = set() if whole is None else whole.mixtures  # experts and how many are chosen, as counted

    @property
    def consulted(self):
        """Names of the fields that were looked up."""
        return self.found.keys()

    @property
    def depth(self):
        """How many layers there are."""
        whole = Sizes(self.fields, whole=self)
        kinds = whole.get(KINDS)
        return whole[DEPTH] if DEPTH in whole or not isinstance(kinds, str | list | tuple) else len(kinds)

    def layers(self, depth=None):
        """One of these for each layer."""
        depth = self.depth if depth is None else depth
        if depth > DEEPEST:
            raise Unknown(f"a model of {depth} layers is not known here")
        return [Sizes(self.fields, i, self.chosen_only, self) for i in range(depth)]

    def with_chosen_experts(self):
        """The same, with only the experts that one token goes to."""
        return Sizes(self.fields, self.layer, True, self)

    def get(self, name):
        """Value of a field, of this layer where it differs by layer; None if it is not given."""
        override = self.override()
        if name in override:
            return override[name]
        if name not in self.found:
            self.found[name] = self._spelt(name)
        return self._of_layer(*self.found[name])

    def _spelt(self, name):
        """The name under which a field is given, and what is given."""
        given = {
            known: self.fields[known] for known in (name, *ALIASES.get(name, ())) if self.fields.get(known) is not None
        }
        if len({value for value in given.values() if isinstance(value, int)}) > 1:
            raise Unknown(f"{given} are names of the same size with different values")
        return next(iter(given.items()), (name, None))

    def listed(self, name, needed=False):
        """A field that is a list of its own, not a value for each layer; empty if it is not given."""
        if needed and self.fields.get(name) is None:
            raise Unknown(f"{name} is not given")
        return self._of_kind(name, list | tuple, "list", ())

    def part(self, name):
        """The fields of a part of the configuration; none if it is not given."""
        return Sizes(self._of_kind(name, Mapping, "part of a configuration", {}))

    def override(self):
        """What the configuration says of this layer alone."""
        if self.layer is None or not self.fields.get("per_layer_config"):
            return {}
        by_layer = self._of_kind("per_layer_config", Mapping, "part of a configuration", {})
        own = next((by_layer[layer] for layer in by_layer if str(layer).lstrip("0") == str(self.layer or "")), {})
        if not isinstance(own, Mapping):
            raise Unknown(f"per_layer_config of layer {self.layer} is {own!r}")
        return own

    def _of_kind(self, name, kind, called, otherwise):
        value = self.fields.get(name)
        self.found.setdefault(name, (name, value))
        if value is not None and not isinstance(value, kind):
            raise Unknown(f"{name} = {value!r} is no {called}")
        return otherwise if value is None else value

    def _of_layer(self, name, value):
        by_layer = isinstance(value, list | tuple) or (isinstance(value, str) and name == "hybrid_override_pattern")
        if not by_layer or self.layer is None:
            return value
        if len(value) != self.depth:
            raise Unknown(f"{name} has {len(value)} values for {self.depth} layers")
        return value[self.layer]

    def __contains__(self, name):
        return self.get(name) is not None

    def __getitem__(self, what):
        if callable(what):
            return what(self)
        if not isinstance(what, str):
            return what
        value = self.get(what)
        if value is None:
            raise Unknown(f"{what} is not given")
        if not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise Unknown(f"{what} = {value!r} is no whole number up to {LARGEST}")
        return value

    def factor(self, name):
        """A factor that a size is scaled by, which need not be whole."""
        value = self.get(name)
        if not isinstance(value, int | float) or not 0 < value <= LARGEST:
            raise Unknown(f"{name} = {value!r} is no factor")
        return value


def linear(inputs, outputs, bias=False):
    """A projection."""
    return inputs * outputs + (outputs if bias else 0)


# Sizes made of others.


def either(*names):
    """The first of these fields that is given."""
    return lambda c: c[next((name for name in names[:-1] if name in c), names[-1])]


def optional(name):
    """A field that is zero where it is not given."""
    return lambda c: c[name if name in c else 0]


def product(*sizes):
    """Sizes multiplied."""
    return lambda c: math.prod(c[size] for size in sizes)


def total(*blocks):
    """Blocks together."""
    return lambda c: sum(c[block] for block in blocks)


def projection(inputs, outputs, bias=False):
    """A projection beside the others."""
    return lambda c: linear(c[inputs], c[outputs], c[bias])


def share(c):
    """A head's share of the hidden size."""
    return c[HIDDEN] // c[HEADS]


def head_dim(c):
    """Channels of a head: as declared, else its share of the hidden size."""
    return c["head_dim"] if "head_dim" in c else share(c)


def even(c):
    """Channels of a head where the heads share the hidden size, and must do so evenly."""
    if c[HEADS] * c[head_dim] != c[HIDDEN]:
        raise Unknown(f"{c[HEADS]} heads of {c[head_dim]} do not make up hidden_size = {c[HIDDEN]}")
    return c[head_dim]


def four_times(c):
    """The width of a feed-forward: four times the hidden size, unless it is given."""
    return c[INTERMEDIATE] if INTERMEDIATE in c else 4 * c[HIDDEN]


def activation(c):
    """Weights that the activation function learns."""
    name = c.get("hidden_act")
    return LEARNED.get(name, 0) if isinstance(name, str) else 0


# Which of several blocks a layer has.


def where(field, then, otherwise=0):
    """One block if a field is set, else another."""
    return lambda c: c[then] if c[field] else c[otherwise]


def by_kind(kinds, otherwise=None):
    """The block of this layer's kind; ``otherwise`` tells the kind where the configuration has no list of them."""

    def count(c):
        kind = c.get(KINDS) if otherwise is None or KINDS in c else otherwise(c)
        if not isinstance(kind, str) or kind not in kinds:
            raise Unknown(f"layer {c.layer} is of kind {kind!r}, which is not known here")
        return c[kinds[kind]]

    return count


def every(period, then, otherwise, offset=None):
    """One block in every so many layers, from an offset or else at the end of each period, another in between."""

    def count(c):
        place = c[offset] if offset else c[period] - 1
        return c[then if c[period] and c.layer % c[period] == place else otherwise]

    return count


def sparse(mixture, dense):
    """A mixture in the layers that have experts, a dense feed-forward in the others."""
    return lambda c: c[mixture if has_experts(c) else dense]


def unknown(reason):
    """A block that cannot be counted."""

    def refuse(c):
        raise Unknown(reason)

    return refuse


def has_experts(c):
    """Whether this layer is a mixture of experts: by a list of kinds, or behind a few dense layers."""
    kind = c.get("mlp_layer_types")
    if kind is not None:
        return kind != "dense"
    frequency = c.get("moe_layer_freq")
    if isinstance(c.fields.get("moe_layer_freq"), list | tuple):  # whether each layer is one
        return bool(frequency)
    if frequency not in (None, 1):
        raise Unknown(f"moe_layer_freq = {frequency!r} is not known here")
    return c.layer >= c[either("first_k_dense_replace", "num_dense_layers")]


# Attentions.


def grouped(
    heads=HEADS, kv_heads=either(KV_HEADS, HEADS), size=head_dim, values=None, bias=False, out_bias=None, beside=0
):
    """Attention whose query heads share fewer key-value heads, and what stands beside its projections."""

    def count(c):
        h, queries, keys = c[HIDDEN], c[heads] * c[size], c[kv_heads] * c[size]
        value = c[size if values is None else values]
        inputs = linear(h, queries, c[bias]) + linear(h, keys, c[bias]) + linear(h, c[kv_heads] * value, c[bias])
        return inputs + linear(c[heads] * value, h, c[bias if out_bias is None else out_bias]) + c[beside]

    return count


def head_norms(c):
    """Norms of queries and keys, each over a head."""
    return 2 * c[head_dim]


def width_norms(c):
    """Norms of queries and keys, each over all its heads."""
    return (c[HEADS] + c[either(KV_HEADS, HEADS)]) * c[head_dim]


def output_gate(c):
    """A gate for each channel of the heads."""
    return c[HIDDEN] * c[HEADS] * c[head_dim]


def head_gate(c):
    """A gate for each head."""
    return c[HIDDEN] * c[HEADS]


def latent(bias=False, beside=0):
    """Multi-head latent attention: keys and values from one latent of low rank, and a positional key beside it."""

    def count(c):
        h, n, rank, rope = c[HIDDEN], c[HEADS], c["kv_lora_rank"], c["qk_rope_head_dim"]
        key = c["qk_nope_head_dim"] + rope
        if c.get("qk_head_dim") not in (None, key):
            raise Unknown(f"qk_head_dim = {c.get('qk_head_dim')!r} is not qk_nope_head_dim + qk_rope_head_dim = {key}")
        queries = n * key
        if "q_lora_rank" not in c:
            query = linear(h, queries)
        elif low := c["q_lora_rank"]:
            query = linear(h, low, c[bias]) + low + linear(low, queries)
        else:
            raise Unknown("q_lora_rank = 0 is no rank; null says that there is none")
        latents = linear(h, rank + rope, c[bias]) + rank
        expanded = linear(rank, n * (c["qk_nope_head_dim"] + c["v_head_dim"]))
        return query + latents + expanded + linear(n * c["v_head_dim"], h, c[bias]) + c[beside]

    return count


def indexer(c):
    """The small attention that picks what the sparse one reads."""
    size, heads = c["index_head_dim"], c["index_n_heads"]
    return linear(c["q_lora_rank"], heads * size) + linear(c[HIDDEN], size) + LAYER * size + linear(c[HIDDEN], heads)


def own_indexer(c):
    """The indexer of a layer that has one; the others read what a layer before has picked."""
    kind = c.get("indexer_types")
    if kind not in (None, "full", "shared"):
        raise Unknown(f"indexer_types has {kind!r}, which is not known here")
    if kind is None and (c.get("index_topk_pattern") or c.get("index_topk_freq") not in (None, 1)):
        raise Unknown("index_topk_pattern and index_topk_freq are not known here where indexer_types is not given")
    return 0 if kind == "shared" else c[indexer]


# Feed-forwards.


def gated(width=INTERMEDIATE, bias=False, inputs=HIDDEN):
    """A feed-forward whose channels are gated: three projections."""

    def count(c):
        h, w, b = c[inputs], c[width], c[bias]
        return 2 * linear(h, w, b) + linear(w, h, b)

    return count


def plain(width=INTERMEDIATE, bias=False, inputs=HIDDEN):
    """A feed-forward of two projections."""

    def count(c):
        h, w, b = c[inputs], c[width], c[bias]
        return linear(h, w, b) + linear(w, h, b)

    return count


EXPERT = gated(MOE_INTERMEDIATE)


def experts(number, expert=EXPERT, chosen=CHOSEN, router=None, beside=0):
    """A router, the experts that it chooses from, and what every token passes beside them."""

    def count(c):
        n = c[number]
        if chosen in c and c[chosen] > n:
            raise Unknown(f"{chosen} = {c[chosen]} of {n} experts")
        routed = c[chosen] if c.chosen_only else n
        c.mixtures.add((n, c.get(chosen)))
        return routed * c[expert] + (linear(c[HIDDEN], n) if router is None else c[router]) + c[beside]

    return count


def shared(number, width=MOE_INTERMEDIATE, bias=False):
    """Experts that every token passes, built as one feed-forward of their joint width."""
    block = gated(product(number, width), bias=bias)
    return lambda c: c[block] if c[number] else 0


# Recurrent mixers.


def conv(channels, kernel, bias=False):
    """A short convolution, of each channel by itself."""
    return channels * kernel + (channels if bias else 0)


def rank_of(field):
    """The rank of a time step: as given, or a sixteenth of the hidden size."""
    return lambda c: -(-c[HIDDEN] // 16) if c.get(field) == "auto" else c[field]


def expanded(field):
    """The hidden size times a factor, which need not be whole."""

    return lambda c: int(c.factor(field) * c[HIDDEN])


def mamba(inner, rank, state, kernel, conv_bias, bias, beside=0):
    """Mamba of the first generation: a state for each channel."""

    def count(c):
        h, d, r, n = c[HIDDEN], c[inner], c[rank], c[state]
        selection = linear(d, r + 2 * n) + linear(r, d, True) + d * n + d
        return (
            linear(h, 2 * d, c[bias]) + conv(d, c[kernel], c[conv_bias]) + selection + linear(d, h, c[bias]) + c[beside]
        )

    return count


def mamba2(inner, heads, groups, state, kernel, conv_bias, bias, out_bias=None, norm=True):
    """Mamba of the second generation: one decay a head, and a gated norm over all of them."""

    def count(c):
        h, d, n = c[HIDDEN], c[inner], c[heads]
        channels = d + 2 * c[groups] * c[state]
        inputs = linear(h, d + channels + n, c[bias]) + conv(channels, c[kernel], c[conv_bias])
        return inputs + 3 * n + (d if c[norm] else 0) + linear(d, h, c[bias if out_bias is None else out_bias])

    return count


def delta_rule(c):
    """The gated delta rule: keys, values and an output gate, and a decay and a rate for each head."""
    h, heads = c[HIDDEN], c["linear_num_value_heads"]
    keys = c["linear_num_key_heads"] * c["linear_key_head_dim"]
    values = heads * c["linear_value_head_dim"]
    inputs = linear(h, 2 * keys + 2 * values + 2 * heads) + conv(2 * keys + values, c["linear_conv_kernel_dim"])
    return inputs + 2 * heads + c["linear_value_head_dim"] + linear(values, h)


def channel_delta_rule(heads, size, kernel, low_rank=True):
    """The delta rule with a decay for each channel; decay and output gate through a low rank or not."""

    def count(c):
        h, n, d = c[HIDDEN], c[heads], c[size]
        width = n * d
        gate = linear(h, d) + linear(d, width) if low_rank else linear(h, width)
        inputs = linear(h, 3 * width + n) + conv(3 * width, c[kernel])
        return inputs + 2 * gate + width + n + d + linear(width, h)

    return count


def gated_conv(c):
    """A short convolution between two gates."""
    h, bias = c[HIDDEN], c["conv_bias"]
    return linear(h, 3 * h, bias) + conv(h, c["conv_L_cache"], bias) + linear(h, h, bias)


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """What a layer of a family has, and what stands before, after and beside the layers.

    Parameters
    ----------
    attention, feed_forward : block
        What a layer mixes tokens with, and channels.
    norms : block
        How many norms a layer has.
    norm : block
        Vectors of each: ``RMS`` or ``LAYER``.
    embedding_norm, final_norm : block
        Vectors of the norms before and after the layers; after them as in a layer, if it is not said.
    positions : block
        Positions that have a learned vector.
    tied : block
        Whether the output head is the table of tokens.
    table_rows, head_rows, head_bias : block
        Rows of the table and of the head, and how many biases the head has.
    embedding_width : block
        Size of the vector of a token.
    beside : block
        What else the model has once.
    predicting : str, optional
        Field with the number of layers that predict further tokens, if those are built as the last layer is.
    depth : str
        Field with the number of layers.
    """

    attention: object
    feed_forward: object = 0
    norms: object = 2
    norm: object = RMS
    embedding_norm: object = 0
    final_norm: object = None
    positions: object = 0
    tied: object = "tie_word_embeddings"
    table_rows: object = VOCABULARY
    head_rows: object = VOCABULARY
    head_bias: object = False
    embedding_width: object = HIDDEN
    beside: object = 0
    predicting: str | None = None
    depth: str = DEPTH

    def layers(self, c):
        """How many layers the model has."""
        return c.depth if c.get(self.depth) is None else c[self.depth]

    def layer(self, c):
        """Weights of one layer."""
        return c[self.attention] + c[self.feed_forward] + c[self.norms] * c[self.norm] * c[HIDDEN]

    def embedding(self, c):
        """Weights of the table of tokens."""
        return c[self.table_rows] * c[self.embedding_width]

    def head(self, c):
        """Weights of the output head that are not those of the table."""
        rows = c[self.head_rows]
        return (0 if c[self.tied] else rows * c[self.embedding_width]) + rows * c[self.head_bias]

    def total(self, c):
        """All weights."""
        final = self.norm if self.final_norm is None else self.final_norm
        vectors = c[self.embedding_norm] + c[self.positions] + c[final]
        layers = sum(self.layer(layer) for layer in c.layers(self.layers(c)))
        return self.embedding(c) + layers + vectors * c[HIDDEN] + c[self.beside] + self.head(c)

    def active(self, c):
        """Weights that one token passes through."""
        return self.total(c.with_chosen_experts())

    def predictor(self, c):
        """Weights of a layer that predicts a further token, from the hidden state and an embedding, both normed."""
        if not c.layers():
            raise Unknown("layers that predict further tokens are built as the last layer is, but there is none")
        return self.layer(c.layers()[-1]) + linear(2 * c[HIDDEN], c[HIDDEN]) + 3 * c[HIDDEN]
