"""What a layer of each family has, in the blocks of :mod:`costlib.model_config.parameter_blocks`.

A row of :data:`DECODERS` is one family, by its ``model_type``: what its layers mix tokens with and channels, their
norms, and what stands before, after and beside them, as transformers 5.24 builds it. Where no block fits, a function
beside the rows counts what the family has to itself.
"""

from collections.abc import Mapping
from dataclasses import replace

from costlib.model_config.parameter_blocks import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    KINDS,
    KV_HEADS,
    LAYER,
    MOE_INTERMEDIATE,
    RMS,
    VOCABULARY,
    Decoder,
    Sizes,
    Unknown,
    activation,
    by_kind,
    channel_delta_rule,
    conv,
    delta_rule,
    either,
    even,
    every,
    expanded,
    experts,
    four_times,
    gated,
    gated_conv,
    grouped,
    head_dim,
    head_gate,
    head_norms,
    indexer,
    latent,
    linear,
    mamba,
    mamba2,
    optional,
    output_gate,
    own_indexer,
    plain,
    product,
    projection,
    rank_of,
    share,
    shared,
    sparse,
    total,
    unknown,
    where,
    width_norms,
)

__all__ = ["DECODERS"]

# Dense models.

LLAMA = Decoder(attention=grouped(bias="attention_bias"), feed_forward=gated(bias="mlp_bias"))
MISTRAL = Decoder(attention=grouped(), feed_forward=gated())
QWEN2 = Decoder(attention=grouped(bias=True, out_bias=False), feed_forward=gated())
QWEN2_VL = replace(QWEN2, attention=grouped(size=share, bias=True, out_bias=False))
QWEN3 = Decoder(attention=grouped(bias="attention_bias", beside=head_norms), feed_forward=gated())
GEMMA = Decoder(attention=grouped(bias="attention_bias"), feed_forward=gated())
GLM = Decoder(attention=grouped(bias="attention_bias", out_bias=False), feed_forward=gated())
APERTUS = replace(QWEN3, feed_forward=total(plain(), activation))
OLMO2 = Decoder(attention=grouped(bias="attention_bias", beside=width_norms), feed_forward=gated())
COHERE2 = replace(GEMMA, norms=1)

# GPT-2 and its kin: every head its own keys, scales and shifts in the norms, learned positions.
GPT2 = Decoder(
    attention=grouped(size=even, kv_heads=HEADS, bias=True),
    feed_forward=plain(four_times, bias=True),
    norm=LAYER,
    positions="max_position_embeddings",
)
GPTJ = replace(GPT2, attention=grouped(size=even, kv_heads=HEADS), norms=1, positions=0, head_bias=True)
PERSIMMON = Decoder(
    attention=grouped(size=even, kv_heads=HEADS, bias=True, beside=where("qk_layernorm", product(LAYER, head_norms))),
    feed_forward=plain(bias=True),
    norm=LAYER,
)


# The public code builds a head of its own for some families whatever the configuration says.
UNTIED = where(
    optional("tie_word_embeddings"), unknown("the public code does not tie the embeddings of this family"), False
)


def mpt_width(c):
    """Width of MPT's feed-forward."""
    if c["expansion_ratio"] != 4:
        raise Unknown(f"expansion_ratio = {c['expansion_ratio']}, but the public code builds MPT with 4")
    return 4 * c[HIDDEN]


def two_more_positions(c):
    """Positions, and two rows before them that are not used."""
    return c["max_position_embeddings"] + 2


def falcon_heads(c):
    """Key-value heads of Falcon: declared in its newer architecture, in the older one or all."""
    if c["new_decoder_architecture"]:
        return c[either("num_kv_heads", "n_head_kv", HEADS)]
    return 1 if c["multi_query"] else c[HEADS]


def falcon_norms(c):
    """Norms of a layer of Falcon: one where attention and feed-forward read the same input, unless it says two."""
    if not c["parallel_attn"]:
        return 2
    declared = c.get("num_ln_in_parallel_attn")
    return c[where("new_decoder_architecture", 2, 1)] if declared is None else declared


def opt_projections(c):
    """Projections from and to the vectors of OPT's tokens, where those are of another size."""
    width = c["word_embed_proj_dim"]
    return 0 if width == c[HIDDEN] else 2 * width * c[HIDDEN]


OPT_NORM = where("layer_norm_elementwise_affine", LAYER)

DENSE = {
    "llama": LLAMA,
    "exaone": LLAMA,
    "granite": LLAMA,
    "iquestcoder": LLAMA,
    "internlm3": LLAMA,
    "smollm3": LLAMA,
    "arcee": replace(LLAMA, feed_forward=plain(bias="mlp_bias")),
    "cwm": replace(LLAMA, attention=grouped()),
    "granite_swa": replace(LLAMA, attention=grouped(bias="attention_bias", beside=HEADS)),  # a sink for each head
    "helium": replace(LLAMA, attention=grouped(size=even, bias="attention_bias", out_bias=False)),
    "hyperclovax": replace(LLAMA, norms=where("use_post_norm", 4, 2)),
    "jais2": replace(LLAMA, feed_forward=plain(bias="mlp_bias"), norm=LAYER),
    "nemotron": replace(LLAMA, feed_forward=plain(bias="mlp_bias"), norm=LAYER),
    "seed_oss": replace(LLAMA, attention=grouped(bias="attention_bias", out_bias="attention_out_bias")),
    "ernie4_5": Decoder(attention=grouped(bias="use_bias"), feed_forward=gated(bias="use_bias")),
    "mistral": MISTRAL,
    "ministral": MISTRAL,
    "ministral3": MISTRAL,
    "phi3": MISTRAL,
    "qwen2": QWEN2,
    "qwen2_vl_text": QWEN2_VL,
    "qwen2_5_vl_text": QWEN2_VL,
    "mimo": replace(GLM, predicting=None),
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "hunyuan_v1_dense": QWEN3,
    "apertus": APERTUS,
    "apertus1p5_text": replace(APERTUS, head_rows=either("output_vocab_size", VOCABULARY)),
    "exaone4": replace(QWEN3, attention=grouped(beside=head_norms)),
    "gemma": GEMMA,
    "vaultgemma": GEMMA,
    "gemma2": replace(GEMMA, norms=4),
    "gemma3_text": replace(QWEN3, norms=4),
    "glm": GLM,
    "glm4": replace(GLM, norms=4),
    "olmo": replace(GEMMA, norms=0, final_norm=0),  # its norms learn nothing
    "nanochat": replace(GEMMA, feed_forward=plain(), norms=0, final_norm=0),
    "olmo2": OLMO2,
    "olmo3": OLMO2,
    "cohere": replace(COHERE2, attention=grouped(bias="attention_bias", beside=where("use_qk_norm", width_norms))),
    "cohere2": COHERE2,
    "bitnet": replace(
        GEMMA, attention=grouped(bias="attention_bias", beside=HIDDEN), feed_forward=total(gated(), INTERMEDIATE)
    ),
    "diffllama": replace(GEMMA, attention=grouped(bias="attention_bias", beside=product(4, head_dim))),
    "dory": Decoder(  # an attention and a feed-forward are two layers of its list, each with a scale of its own
        attention=by_kind(
            dict.fromkeys(
                ("sliding_attention", "full_attention"),
                grouped(bias="attention_bias", beside=total(output_gate, product(2, HEADS, head_dim))),
            )
            | {"mlp": total(gated(bias="mlp_bias"), product(2, INTERMEDIATE))}
        ),
        norms=1,
        final_norm=0,
        beside=VOCABULARY,
    ),
    "stablelm": Decoder(
        attention=grouped(size=even, bias="use_qkv_bias", out_bias=False, beside=where("qk_layernorm", width_norms)),
        feed_forward=gated(),
        norms=where("use_parallel_residual", 1, 2),
        norm=LAYER,
    ),
    "starcoder2": Decoder(attention=grouped(bias="use_bias"), feed_forward=plain(bias="use_bias"), norm=LAYER),
    "persimmon": PERSIMMON,
    "phi": replace(
        PERSIMMON,
        attention=grouped(bias=True, beside=where("qk_layernorm", product(2, LAYER, share))),
        norms=1,
        head_bias=True,
    ),
    "falcon": Decoder(
        attention=grouped(size=even, kv_heads=falcon_heads, bias="bias"),
        feed_forward=plain(four_times, bias="bias"),
        norms=falcon_norms,
        norm=LAYER,
    ),
    "gpt2": GPT2,
    "gpt-sw3": GPT2,
    "openai-gpt": replace(GPT2, feed_forward=plain(product(4, HIDDEN), bias=True), final_norm=0),
    "gpt_bigcode": replace(GPT2, attention=grouped(size=even, kv_heads=where("multi_query", 1, HEADS), bias=True)),
    "gpt_neo": replace(GPT2, attention=grouped(size=even, kv_heads=HEADS, out_bias=True)),
    "gptj": GPTJ,
    "codegen": GPTJ,
    "gpt_neox": replace(GPT2, attention=grouped(size=even, kv_heads=HEADS, bias="attention_bias"), positions=0),
    "gpt_neox_japanese": replace(
        GPT2,
        attention=grouped(size=even, kv_heads=HEADS),
        feed_forward=plain(product("intermediate_multiple_size", HIDDEN)),
        positions=0,
        beside=HIDDEN,  # the last layer alone has a bias
    ),
    "bloom": replace(GPT2, feed_forward=plain(product(4, HIDDEN), bias=True), positions=0, embedding_norm=LAYER),
    "mpt": replace(MISTRAL, attention=grouped(size=even, kv_heads=HEADS), feed_forward=plain(mpt_width)),
    "ctrl": replace(GPT2, feed_forward=plain(bias=True), positions=0, head_bias=True),
    "biogpt": replace(GPT2, feed_forward=plain(bias=True), positions=two_more_positions),
    "xglm": replace(GPT2, feed_forward=plain(bias=True), positions=0),
    "opt": replace(
        GPT2,
        attention=grouped(size=even, kv_heads=HEADS, bias="enable_bias"),
        feed_forward=plain(bias="enable_bias"),
        norm=OPT_NORM,
        final_norm=where("do_layer_norm_before", OPT_NORM),
        positions=two_more_positions,
        embedding_width="word_embed_proj_dim",
        beside=opt_projections,
    ),
    "minicpm3": replace(LLAMA, attention=latent(bias="attention_bias")),
    "youtu": replace(MISTRAL, attention=latent(bias="attention_bias")),
}

# Mixtures of experts.

MIXTRAL = replace(MISTRAL, feed_forward=experts("num_local_experts", gated()))
GRANITE_MOE = replace(GEMMA, feed_forward=experts("num_local_experts", gated()))
SHARED_EXPERT = gated("shared_expert_intermediate_size")
QWEN2_EXPERTS = experts("num_experts", beside=total(SHARED_EXPERT, HIDDEN))  # the shared one is gated by a vector
LLAMA4_EXPERTS = experts("num_local_experts", gated(), beside=gated())


def not_listed(listed, block, otherwise, needed=False):
    """A block, but another in the layers that a field lists."""
    return lambda c: c[otherwise if c.layer in c.listed(listed, needed) else block]


def every_so_many(mixture, needed=False):
    """A mixture in every so many layers, but not in those that are listed as dense."""
    return not_listed("mlp_only_layers", every("decoder_sparse_step", mixture, gated()), gated(), needed)


def llama4_experts(c):
    """A mixture in the layers that are listed, or else in every so many."""
    period = every("interleave_moe_layer_step", LLAMA4_EXPERTS, gated("intermediate_size_mlp"))
    listed = not_listed("moe_layers", gated("intermediate_size_mlp"), LLAMA4_EXPERTS)
    return c[period if c.fields.get("moe_layers") is None else listed]


def ernie_experts(c):
    """A mixture in every so many layers of a range."""
    to_the_end = c.get("moe_layer_end_index") in (-1, None)
    within = c["moe_layer_start_index"] <= c.layer and (to_the_end or c.layer <= c["moe_layer_end_index"])
    chosen = (c.layer + 1) % c["moe_layer_interval"] == 0
    return c[ERNIE_EXPERTS if within and chosen else gated(bias="use_bias")]


ERNIE_EXPERTS = experts(
    "moe_num_experts",
    chosen="moe_k",
    router=total(projection(HIDDEN, "moe_num_experts"), "moe_num_experts"),
    beside=shared("moe_num_shared_experts", bias="use_bias"),
)

# DeepSeek's: many narrow experts and shared ones, behind a few dense layers; latent attention.
DEEPSEEK_EXPERTS = sparse(experts("n_routed_experts", beside=shared("n_shared_experts")), gated())
SHARING_EXPERTS = sparse(experts("num_experts", beside=shared("num_shared_experts")), gated())
DEEPSEEK_V3 = Decoder(
    attention=latent(bias="attention_bias"), feed_forward=DEEPSEEK_EXPERTS, predicting="num_nextn_predict_layers"
)
DEEPSEEK_V32 = replace(DEEPSEEK_V3, attention=latent(bias="attention_bias", beside=own_indexer))
GLM4_MOE = replace(
    DEEPSEEK_V3,
    attention=grouped(bias="attention_bias", out_bias=False, beside=where("use_qk_norm", head_norms)),
)
HYPER = "hc_mult"  # streams that hyper-connections keep


V4_KINDS = {0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}


def compressor(rate, width, size):
    """What turns a few tokens into one entry: keys, gates, a bias for each place, and a norm."""
    return lambda c: 2 * c[HIDDEN] * c[width] + rate(c) * c[width] + c[size]


def compression(kind, ratio):
    """Tokens for each entry of such a layer."""
    return lambda c: c.part("compress_rates")[either(kind, ratio)]


def v4_indexer(c):
    """The indexer of DeepSeek-V4, over entries that it compresses itself."""
    size, heads = c["index_head_dim"], c["index_n_heads"]
    own = compressor(SPARSE_RATE, product(2, "index_head_dim"), "index_head_dim")
    return c[own] + linear(c["q_lora_rank"], heads * size) + linear(c[HIDDEN], heads)


SPARSE_RATE = compression("compressed_sparse_attention", 4)
HEAVY_RATE = compression("heavily_compressed_attention", 128)


def v4_attention(c):
    """DeepSeek-V4's attention: queries and outputs through low ranks, and one head of keys, which are the values."""
    h, heads, size, rank = c[HIDDEN], c[HEADS], c["head_dim"], c["q_lora_rank"]
    out = c["o_groups"] * c["o_lora_rank"]
    queries = linear(h, rank) + rank + linear(rank, heads * size)
    outputs = linear(heads * size // c["o_groups"], out) + linear(out, h)
    return queries + linear(h, size) + size + outputs + heads + c[V4_COMPRESSORS]


def v4_kind(c):
    """The kind of a layer, from how many tokens its entries stand for."""
    ratios = c.listed("compress_ratios")  # those of the layers that predict come last
    return V4_KINDS.get(ratios[c.layer]) if c.layer < len(ratios) and isinstance(ratios[c.layer], int) else None


V4_COMPRESSORS = by_kind(
    {
        "sliding_attention": 0,
        "compressed_sparse_attention": total(compressor(SPARSE_RATE, product(2, "head_dim"), "head_dim"), v4_indexer),
        "heavily_compressed_attention": compressor(HEAVY_RATE, "head_dim", "head_dim"),
    },
    otherwise=v4_kind,
)


def v4_streams(c):
    """Hyper-connections of a layer of DeepSeek-V4, around both of its blocks."""
    n = c[HYPER]
    mixes = (2 + n) * n
    return 2 * (linear(n * c[HIDDEN], mixes, True) + 3)


def head_streams(c):
    """What joins the streams of hyper-connections before the output head."""
    n = c[HYPER]
    return linear(n * c[HIDDEN], n, True) + 1


MIXTURES = {
    "mixtral": MIXTRAL,
    "minimax_m2": replace(MIXTRAL, attention=grouped(beside=width_norms)),
    "phimoe": replace(GRANITE_MOE, norm=LAYER, head_bias="lm_head_bias"),
    "gpt_oss": replace(
        GEMMA,
        attention=grouped(bias="attention_bias", beside=HEADS),  # a sink for each head
        feed_forward=experts(
            "num_local_experts", gated(bias=True), router=projection(HIDDEN, "num_local_experts", True)
        ),
    ),
    "granitemoe": GRANITE_MOE,
    "granitemoeshared": replace(
        GRANITE_MOE, feed_forward=experts("num_local_experts", gated(), beside=gated("shared_intermediate_size"))
    ),
    "granitemoe_swa": replace(
        GRANITE_MOE,
        attention=grouped(bias="attention_bias", beside=HEADS),
        feed_forward=experts("num_local_experts", gated(), beside=gated("shared_intermediate_size")),
    ),
    "olmoe": replace(
        OLMO2,
        attention=grouped(bias="attention_bias", beside=total(HIDDEN, product(KV_HEADS, share))),
        feed_forward=experts("num_experts", gated()),
    ),
    "flex_olmo": replace(OLMO2, feed_forward=experts("num_experts", gated())),
    "qwen2_moe": replace(
        QWEN2, attention=grouped(bias="qkv_bias", out_bias=False), feed_forward=every_so_many(QWEN2_EXPERTS)
    ),
    "qwen3_moe": replace(QWEN3, feed_forward=every_so_many(experts("num_experts"))),
    "qwen3_vl_moe_text": replace(QWEN3, feed_forward=every_so_many(experts("num_experts"))),
    "mellum": replace(QWEN3, feed_forward=sparse(experts("num_local_experts"), gated())),
    "aria_text": replace(
        LLAMA,
        feed_forward=experts(
            "moe_num_experts",
            gated(),
            chosen="moe_topk",
            beside=shared("moe_num_shared_experts", INTERMEDIATE, "mlp_bias"),
        ),
    ),
    "llama4_text": replace(GEMMA, feed_forward=llama4_experts),
    "ernie4_5_moe": Decoder(attention=grouped(bias="use_bias"), feed_forward=ernie_experts, head_bias="use_bias"),
    "cohere2_moe": replace(
        COHERE2,
        feed_forward=sparse(
            experts("num_experts", gated(), beside=shared("num_shared_experts", INTERMEDIATE)), gated()
        ),
    ),
    "hunyuan_v1_moe": replace(QWEN3, feed_forward=experts("num_experts", gated(), chosen="moe_topk", beside=gated())),
    "deepseek_v2": replace(
        DEEPSEEK_V3,
        feed_forward=sparse(
            experts("n_routed_experts", beside=shared("n_shared_experts", bias="mlp_bias")), gated(bias="mlp_bias")
        ),
    ),
    "deepseek_v3": DEEPSEEK_V3,
    "kimi_k2": DEEPSEEK_V3,
    "glm4_moe_lite": DEEPSEEK_V3,
    "sarvam_mla": DEEPSEEK_V3,
    "axk1": replace(DEEPSEEK_V3, feed_forward=sparse(total(DEEPSEEK_EXPERTS, HIDDEN), gated())),
    "deepseek_v32": DEEPSEEK_V32,
    "glm_moe_dsa": DEEPSEEK_V32,
    "glm4_moe": GLM4_MOE,
    "sarvam_moe": GLM4_MOE,
    "dots1": replace(DEEPSEEK_V3, attention=grouped(bias="attention_bias", beside=head_norms)),
    "solar_open": replace(
        GLM, feed_forward=experts("n_routed_experts", beside=shared("n_shared_experts")), predicting=None
    ),
    "exaone_moe": replace(QWEN3, attention=grouped(beside=head_norms), feed_forward=SHARING_EXPERTS),
    "hy_v3": replace(
        QWEN3,
        feed_forward=sparse(
            experts("num_experts", beside=shared("num_shared_experts", bias="mlp_bias")), gated(bias="mlp_bias")
        ),
    ),
    "afmoe": replace(
        QWEN3,
        attention=grouped(bias="attention_bias", beside=total(head_norms, output_gate)),
        feed_forward=sparse(experts("num_experts", beside=total(shared("num_shared_experts"), "num_experts")), gated()),
        norms=4,
    ),
    "beam": replace(
        QWEN3,
        attention=grouped(bias="attention_bias", beside=total(head_norms, output_gate, HEADS)),
        feed_forward=sparse(experts("num_experts"), gated()),
        norms=4,
    ),
    "flint": replace(
        QWEN3,
        attention=grouped(bias="attention_bias", beside=total(head_norms, HEADS)),
        feed_forward=every_so_many(experts("num_experts", beside=SHARED_EXPERT), needed=True),
    ),
    "kolibri1": replace(
        QWEN3,
        attention=grouped(beside=head_norms),
        feed_forward=experts("num_local_experts", beside=SHARED_EXPERT),
        norms=4,
    ),
    "deepseek_v4": Decoder(
        attention=v4_attention,
        feed_forward=total(experts("n_routed_experts", beside=gated(MOE_INTERMEDIATE, bias="mlp_bias")), v4_streams),
        beside=head_streams,
    ),
}

# Attention beside recurrent mixers.

QWEN3_NEXT = replace(
    QWEN3,
    attention=by_kind(
        {
            "full_attention": grouped(
                bias="attention_bias",
                beside=total(head_norms, projection(HIDDEN, product(HEADS, head_dim), "attention_bias")),
            ),
            "linear_attention": delta_rule,
        },
        otherwise=every("layer_group_size", lambda c: "full_attention", lambda c: "linear_attention"),
    ),
)
QWEN3_5 = replace(QWEN3_NEXT, predicting="mtp_num_hidden_layers")
NEMOTRON_MAMBA = mamba2(
    product("mamba_num_heads", "mamba_head_dim"),
    "mamba_num_heads",
    "n_groups",
    "ssm_state_size",
    "conv_kernel",
    "use_conv_bias",
    "use_bias",
)


def latent_experts(c):
    """The mixture of Nemotron: experts of two projections, which may work on a narrower vector than the layer."""
    inside = "moe_latent_size" if "moe_latent_size" in c else HIDDEN
    narrowed = linear(c[HIDDEN], c[inside], c["mlp_bias"]) + linear(c[inside], c[HIDDEN], c["mlp_bias"])
    every_token = plain("moe_shared_expert_intermediate_size", "mlp_bias")
    block = experts("n_routed_experts", plain("moe_intermediate_size", inputs=inside), beside=every_token)
    return c[block] + (narrowed if "moe_latent_size" in c else 0)


BAMBA_MIXER = mamba2(
    expanded("mamba_expand"),
    "mamba_n_heads",
    "mamba_n_groups",
    "mamba_d_state",
    "mamba_d_conv",
    "mamba_conv_bias",
    "mamba_proj_bias",
)
JAMBA_MIXER = mamba(
    expanded("mamba_expand"),
    rank_of("mamba_dt_rank"),
    "mamba_d_state",
    "mamba_d_conv",
    "mamba_conv_bias",
    "mamba_proj_bias",
    beside=lambda c: c[rank_of("mamba_dt_rank")] + 2 * c["mamba_d_state"],  # norms of what is selected
)
MAMBA = Decoder(
    attention=mamba(INTERMEDIATE, rank_of("time_step_rank"), "state_size", "conv_kernel", "use_conv_bias", "use_bias"),
    norms=1,
)


def h1_inner(c):
    """Channels of the mixer of Falcon-H1: as declared, else a multiple of the hidden size."""
    return c["mamba_d_ssm" if "mamba_d_ssm" in c else expanded("mamba_expand")]


def lfm_width(c):
    """Width of the feed-forward of LFM2: two thirds of what is declared, scaled and rounded up."""
    width = c[INTERMEDIATE]
    if not c["block_auto_adjust_ff_dim"]:
        return width
    width, step = 2 * width // 3, c["block_multiple_of"]
    if "block_ffn_dim_multiplier" not in c:
        return width
    return -(-int(c.factor("block_ffn_dim_multiplier") * width) // step) * step


def lfm_kind(c):
    """The kind of a layer of LFM2, by the list of those that attend; without one, all do."""
    listed = c.fields.get("full_attn_idxs") is not None
    return "conv" if listed and c.layer not in c.listed("full_attn_idxs") else "full_attention"


LFM2 = Decoder(
    attention=by_kind({"full_attention": grouped(beside=head_norms), "conv": gated_conv}, otherwise=lfm_kind),
    feed_forward=gated(lfm_width),
)


def bamba_kind(c):
    """The kind of a layer of Bamba, by the list of those that attend."""
    return "full_attention" if c.layer in c.listed("attn_layer_indices") else "linear_attention"


def kimi_kind(c):
    """The kind of a layer of Kimi Linear, by the lists of its file, which count from one."""
    part = c.part("linear_attn_config")
    kinds = {"full_attn_layers": "full_attention", "kda_layers": "linear_attention"}
    return next((kind for name, kind in kinds.items() if c.layer + 1 in part.listed(name)), None)


def kimi_size(name, within):
    """A size of Kimi's delta rule: in the part of its file on linear attention, else a field of its own."""
    return lambda c: c.part("linear_attn_config")[within] if within in c.part("linear_attn_config") else c[name]


KIMI_DELTA = channel_delta_rule(
    kimi_size("linear_num_heads", "num_heads"),
    kimi_size("linear_head_dim", "head_dim"),
    kimi_size("linear_conv_kernel_dim", "short_conv_kernel_size"),
)

HYBRIDS = {
    "qwen3_next": replace(QWEN3_NEXT, feed_forward=every_so_many(QWEN2_EXPERTS)),
    "qwen3_5_text": QWEN3_5,
    "qwen3_5_moe_text": replace(QWEN3_5, feed_forward=QWEN2_EXPERTS),
    "olmo_hybrid": replace(
        OLMO2,
        attention=by_kind(
            {
                "full_attention": grouped(bias="attention_bias", beside=width_norms),
                "linear_attention": delta_rule,
            }
        ),
    ),
    "lara_mini": replace(
        QWEN3,
        attention=by_kind(
            {
                "sliding_attention": grouped(bias="attention_bias", beside=head_norms),
                "full_attention": grouped(bias="attention_bias", beside=head_norms),
                "linear_attention": delta_rule,
            }
        ),
        feed_forward=experts("num_experts", beside=SHARED_EXPERT),
    ),
    "kimi_linear": Decoder(
        attention=by_kind(
            {"full_attention": latent(bias="attention_bias"), "linear_attention": KIMI_DELTA}, otherwise=kimi_kind
        ),
        feed_forward=SHARING_EXPERTS,
        tied=UNTIED,
    ),
    "bailing_hybrid": Decoder(
        attention=by_kind(
            {
                "full_attention": latent(bias="attention_bias", beside=head_gate),
                "linear_attention": channel_delta_rule(
                    "linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", low_rank=False
                ),
            }
        ),
        feed_forward=SHARING_EXPERTS,
        tied=UNTIED,
    ),
    "nemotron_h": Decoder(
        attention=by_kind(
            dict.fromkeys(("linear_attention", "mamba", "M"), NEMOTRON_MAMBA)
            | dict.fromkeys(("full_attention", "attention", "*"), grouped())
            | dict.fromkeys(("moe", "E"), latent_experts)
            | dict.fromkeys(("mlp", "-"), plain(bias="mlp_bias"))
        ),
        norms=1,
        tied=UNTIED,
    ),
    "jamba": Decoder(
        attention=every("attn_layer_period", grouped(), JAMBA_MIXER, "attn_layer_offset"),
        feed_forward=every(
            "expert_layer_period",
            lambda c: c[experts("num_experts", gated()) if c["num_experts"] > 1 else gated()],
            gated(),
            "expert_layer_offset",
        ),
    ),
    "bamba": Decoder(
        attention=by_kind(
            {"full_attention": grouped(bias="attention_bias"), "linear_attention": BAMBA_MIXER}, otherwise=bamba_kind
        ),
        feed_forward=gated(bias="mlp_bias"),
    ),
    "falcon_h1": Decoder(
        attention=total(
            grouped(bias="attention_bias"),
            mamba2(
                h1_inner,
                "mamba_n_heads",
                "mamba_n_groups",
                "mamba_d_state",
                "mamba_d_conv",
                "mamba_conv_bias",
                "mamba_proj_bias",
                out_bias="projectors_bias",
                norm="mamba_rms_norm",
            ),
        ),
        feed_forward=gated(bias="mlp_bias"),
    ),
    "granitemoehybrid": Decoder(
        attention=by_kind(
            dict.fromkeys(("full_attention", "attention"), grouped(bias="attention_bias"))
            | dict.fromkeys(("linear_attention", "mamba"), BAMBA_MIXER)
        ),
        feed_forward=total(
            gated("shared_intermediate_size"),
            lambda c: c[experts("num_local_experts", gated())] if c["num_local_experts"] else 0,
        ),
    ),
    "lfm2": LFM2,
    "lfm2_moe": replace(LFM2, feed_forward=sparse(experts("num_experts"), gated())),
    "lfm3": replace(
        LFM2,
        attention=by_kind(
            dict.fromkeys(
                ("full_attention", "sliding_attention"),
                grouped(bias="attention_bias", beside=total(head_norms, where("use_attention_gate", head_gate))),
            )
            | {"conv": gated_conv}
        ),
        feed_forward=gated(),
        norms=where("use_sandwich_norm", 4, 2),
    ),
    "minimax": replace(
        MIXTRAL,
        attention=by_kind(
            {
                "full_attention": grouped(),
                "linear_attention": grouped(kv_heads=HEADS, beside=total(product(HEADS, head_dim), output_gate)),
            }
        ),
    ),
    "mamba": MAMBA,
    "falcon_mamba": MAMBA,
    "mamba2": Decoder(
        attention=mamba2(
            expanded("expand"),
            HEADS,
            "n_groups",
            "state_size",
            "conv_kernel",
            "use_conv_bias",
            "use_bias",
        ),
        norms=1,
    ),
}

# Layers that differ in heads, sizes or what they keep.


def mimo_heads(c):
    """Key-value heads of MiMo's layers with a window: twice those of the others."""
    declared = c.get("swa_num_key_value_heads")
    if declared not in (None, 2 * c[KV_HEADS]):
        raise Unknown(f"swa_num_key_value_heads = {declared!r} is not twice num_key_value_heads = {c[KV_HEADS]}")
    return 2 * c[KV_HEADS]


def mimo_kind(c):
    """The kind of a layer of MiMo, by its pattern."""
    return "sliding_attention" if c["hybrid_layer_pattern"] else "full_attention"


def minimax_indexer(c):
    """The indexer of MiniMax-M3: queries and one key, each normed."""
    size = c["index_head_dim"]
    return linear(c[HIDDEN], (c["index_n_heads"] + 1) * size) + 2 * size


def minimax_kind(c):
    """The kind of a layer of MiniMax-M3, as its file lists them."""
    listed = c.part("sparse_attention_config").listed("sparse_attention_freq")
    if len(listed) != c.depth:
        raise Unknown("neither layer_types nor sparse_attention_config tells the kinds of all layers")
    return "minimax_m3_sparse" if listed[c.layer] else "full_attention"


def shares_keys(c):
    """Whether a layer of Gemma reads the keys and values of one before it."""
    if c["num_kv_shared_layers"] > c.depth:
        raise Unknown(f"num_kv_shared_layers = {c['num_kv_shared_layers']} of {c.depth} layers")
    return c.layer >= c.depth - c["num_kv_shared_layers"]


def gemma4_head_dim(c):
    """Channels of a head of Gemma 4: those that attend to everything have their own."""
    if c.get(KINDS) is None:
        raise Unknown("layer_types is not given")
    own = c.get(KINDS) == "full_attention" and c.get("per_layer_config") is None
    return c["global_head_dim" if own else "head_dim"]


def gemma4_kv_heads(c):
    """Key-value heads of Gemma 4: those that attend to everything can have their own."""
    own = (
        c.get(KINDS) == "full_attention"
        and c.get("per_layer_config") is None
        and c["attention_k_eq_v"]
        and "num_global_key_value_heads" in c
    )
    return c["num_global_key_value_heads" if own else KV_HEADS]


def gemma4_attention(c):
    """Attention of Gemma 4: some layers have no keys of their own, some no values but their keys."""
    size, bias = c[gemma4_head_dim], c["attention_bias"]
    queries, keys = c[HEADS] * size, c[gemma4_kv_heads] * size
    weights = linear(c[HIDDEN], queries, bias) + linear(queries, c[HIDDEN], bias) + size
    if shares_keys(c):
        return weights
    projections = 1 if c["attention_k_eq_v"] and c.get(KINDS) == "full_attention" else 2
    return weights + projections * linear(c[HIDDEN], keys, bias) + size


def gemma4_width(c):
    """Width of the feed-forward of Gemma 4."""
    return c[INTERMEDIATE] * (2 if c["use_double_wide_mlp"] and shares_keys(c) else 1)


GEMMA4_EXPERTS = total(
    experts(
        "num_experts", chosen="top_k_experts", router=total(projection(HIDDEN, "num_experts"), HIDDEN, "num_experts")
    ),
    product(3, HIDDEN),
)


def gemma3n_attention(c):
    """Attention of Gemma 3n: the last layers have no keys and values of their own."""
    size, bias = c["head_dim"], c["attention_bias"]
    queries, keys = c[HEADS] * size, c[KV_HEADS] * size
    weights = linear(c[HIDDEN], queries, bias) + linear(queries, c[HIDDEN], bias) + size
    return weights if shares_keys(c) else weights + 2 * linear(c[HIDDEN], keys, bias) + size


def layer_inputs(c):
    """What takes the vector that a token has for this layer alone."""
    return 2 * c[HIDDEN] * c["hidden_size_per_layer_input"] + c[HIDDEN] if c["hidden_size_per_layer_input"] else 0


def layer_tables(c):
    """The tables of what a token has for each layer alone, and what mixes them with its embedding."""
    size = c["hidden_size_per_layer_input"]
    return (c["vocab_size_per_layer_input"] + c[HIDDEN]) * c.depth * size + size if size else 0


def alternating_updates(c):
    """What predicts and corrects the streams of Gemma 3n, and its low-rank residual."""
    n, h = c["altup_num_inputs"], c[HIDDEN]
    return n**3 + n**2 + n * h + 2 * h + 2 * h * c["laurel_rank"] + h


GEMMA4 = Decoder(
    attention=gemma4_attention,
    feed_forward=total(gated(gemma4_width), layer_inputs, where("enable_moe_block", GEMMA4_EXPERTS)),
    norms=4,
    beside=layer_tables,
)


def axk2_attention(c):
    """Latent attention whose output gates come with the queries, and an indexer."""
    n, rank, query = c[HEADS], c["q_lora_rank"], c["qk_nope_head_dim"] + c["qk_rope_head_dim"]
    with_gates = linear(2 * rank, n * (query + c["v_head_dim"])) - linear(rank, n * query)
    return c[latent(bias="attention_bias", beside=indexer)] + with_gates


def axk2_norm_gates(c):
    """Low-rank gates of the norms of a layer: before attention, and before a mixture."""
    return (2 if c.get("mlp_layer_types") == "sparse" else 1) * 2 * c[HIDDEN] * c["gated_norm_rank"]


def hy_indexer(c):
    """The indexer of a layer of Hunyuan 4, whose configuration says which have one."""
    if "indexer_types" not in c:
        raise Unknown("indexer_types is not given")
    return c[own_indexer]


def two_streams(c):
    """Hyper-connections of a layer, around both of its blocks."""
    mixes = 2 * c[HYPER]
    return 2 * (linear(c[HYPER] * c[HIDDEN], mixes, True) + 2)


DOTS3_BESIDE = total("qk_rope_head_dim", head_gate)  # a norm of the positional key


def dots3_window(c):
    """Attention of Dots 3 over a window, whose sizes the configuration gives for each such layer."""
    if c.get("per_layer_config") is None:
        raise Unknown("per_layer_config is not given, and the layers with a window have sizes of their own")
    return c[latent(bias="attention_bias", beside=DOTS3_BESIDE)]


def laguna_gate(c):
    """The gate of Laguna's attention: for each head or for each of its channels."""
    heads = c[LAGUNA_HEADS]
    return c[HIDDEN] * heads * (1 if c.get("gating") in (True, "per-head") else c[head_dim])


LAGUNA_HEADS = either("num_attention_heads_per_layer", HEADS)


def jetmoe_attention(c):
    """Attention of JetMoE: its queries and outputs are a mixture of experts."""
    keys = c["kv_channels"] * c[KV_HEADS]
    mixture = experts("num_local_experts", lambda c: 2 * c[HIDDEN] * keys)
    return linear(c[HIDDEN], 2 * keys) + c[mixture] + c[HIDDEN]


def longcat_experts(c):
    """The mixture of LongCat: some of the experts do nothing, but the public code gives them inputs."""
    if c.chosen_only:
        raise Unknown("how many experts do something for a token is not known")
    h, width, idle = c[HIDDEN], c["expert_ffn_hidden_size"], c[optional("zero_expert_num")]
    every_one = c["n_routed_experts"] + idle
    return every_one * 2 * width * h + c["n_routed_experts"] * width * h + linear(h, every_one, c.get("router_bias"))


def recurrent_kind(c):
    """The kind of a layer of RecurrentGemma: its kinds take turns."""
    turns = c.listed("block_types") or ("recurrent", "recurrent", "attention")
    return turns[c.layer % len(turns)]


def linear_recurrence(c):
    """The recurrent block of Griffin: two branches, a convolution and a gated linear recurrence."""
    h, width, heads = c[HIDDEN], c["lru_width"], c[HEADS]
    block = width // heads
    recurrence = width + 2 * (heads * block * block + heads * block)
    return 2 * linear(h, width, True) + linear(width, h, True) + conv(width, c["conv1d_width"], True) + recurrence


def half(field):
    """Half of a field."""
    return lambda c: c[field] // 2


def rwkv_width(c):
    """Channels of RWKV's attention."""
    return c[either("attention_hidden_size", HIDDEN)]


def rwkv_attention(c):
    """RWKV's linear attention: a decay and a bonus for each channel, and three mixes of this token and the last."""
    return 4 * c[HIDDEN] * c[rwkv_width] + 2 * c[rwkv_width] + 3 * c[HIDDEN]


def rwkv_feed_forward(c):
    """RWKV's feed-forward: gated by a receptance, and two mixes of this token and the last."""
    return c[plain(four_times)] + linear(c[HIDDEN], c[HIDDEN]) + 2 * c[HIDDEN]


def inkling_attention(kind):
    """Inkling's attention: keys and values through short convolutions, and a bias by distance, of a low rank."""
    heads, kv_heads, size, extent = (
        ("swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "sliding_window_size")
        if kind == "hybrid_sliding"
        else (HEADS, KV_HEADS, "head_dim", "rel_extent")
    )

    def distances(c):
        convolutions = 2 * c[kv_heads] * c[size] * c["conv_kernel_size"]
        return convolutions + 2 * c[size] + c[HIDDEN] * c[heads] * c["d_rel"] + c["d_rel"] * c[extent]

    return grouped(heads, kv_heads, size, beside=distances)


INKLING_EXPERTS = experts(
    "n_routed_experts",
    router=lambda c: linear(c[HIDDEN], c["n_routed_experts"] + c["n_shared_experts"]) + 1,
    beside=shared("n_shared_experts"),
)
CONVOLUTIONS = product(2, HIDDEN, "conv_kernel_size")  # after each of the two blocks


def zamba_hybrid(c):
    """Whether a layer of Zamba calls the shared transformer, through a projection of its own."""
    return c.get(KINDS) == "hybrid"


def zamba_transformer(c):
    """A shared transformer of Zamba, which reads the layer's input beside the embedding."""
    h, wide, size = c[HIDDEN], c["attention_hidden_size"], c["attention_head_dim"]
    queries, keys = c[HEADS] * size, c[KV_HEADS] * size
    return linear(wide, queries) + 2 * linear(wide, keys) + linear(queries, h) + wide + h


def zamba_shared(c):
    """Zamba's one shared transformer."""
    return zamba_transformer(c) + c[gated()]


def zamba2_shared(c):
    """Zamba 2's shared transformers, and the low-rank adapters that each of their calls has."""
    calls = sum(zamba_hybrid(layer) for layer in c.layers())
    rank, h, width = c["adapter_rank"], c[HIDDEN], c[INTERMEDIATE]
    adapters = calls * (linear(h, rank) + linear(rank, 2 * width))
    if c["use_shared_attention_adapter"]:
        adapters += calls * 3 * 2 * c["attention_hidden_size"] * rank
    transformer = zamba_transformer(c) + c[gated(bias="add_bias_linear")]
    return c["num_mem_blocks"] * transformer + adapters


ZAMBA_CALL = by_kind({"hybrid": product(HIDDEN, HIDDEN), "mamba": 0, "linear_attention": 0})


ZAMBA_UNTIED = unknown("the public code ties the shared transformers of Zamba only where it ties the embeddings")


def zamba_mixer(c):
    """Mamba of Zamba, whose heads each select for themselves."""
    h, d, r, n = c[HIDDEN], c[product("mamba_expand", HIDDEN)], c[rank_of("mamba_dt_rank")], c["mamba_d_state"]
    selection = d * (r + 2 * n) + linear(r, d, True) + d * n + d
    bias = c["mamba_proj_bias"]
    return linear(h, 2 * d, bias) + conv(d, c["mamba_d_conv"], c["mamba_conv_bias"]) + selection + linear(d, h, bias)


def zaya_router(c):
    """Zaya's router: a small network, which also takes the state of the router before it."""
    h, size = c[HIDDEN], c["router_hidden_size"]
    network = linear(h, size, True) + size + 2 * linear(size, size, True) + linear(size, c["num_experts"] + 1)
    return network + (size if c.layer else 0)


def zaya_attention(c):
    """Zaya's attention: queries and keys through convolutions, half of the values from the token before."""
    h, size, bias = c[HIDDEN], c["head_dim"], c["attention_bias"]
    queries, keys = c[HEADS] * size, c[KV_HEADS] * size
    both = queries + keys
    values = 2 * linear(h, keys // 2, bias)
    convolutions = conv(both, c["cca_time0"], True) + both * size * c["cca_time1"] + both
    inputs = linear(h, queries, bias) + linear(h, keys, bias) + values
    return inputs + convolutions + linear(queries, h, bias) + c[KV_HEADS]


def nas_block(c, part):
    """What a layer of Nemotron-NAS has for attention or feed-forward."""
    blocks = c.listed("block_configs")
    if len(blocks) != c.depth or not all(isinstance(block, Mapping) for block in blocks):
        raise Unknown(f"block_configs does not say what each of {c.depth} layers has")
    return Sizes(blocks[c.layer]).part(part)


def nas_part(part, block):
    """Attention or feed-forward of a layer of Nemotron-NAS with its norm, or a projection in its place, or nothing."""

    def count(c):
        own = nas_block(c, part)
        if own["no_op"]:
            return 0
        return c[HIDDEN] + (c[HIDDEN] ** 2 if own["replace_with_linear"] else c[block])

    return count


def nas_heads(c):
    """Key-value heads of a layer of Nemotron-NAS."""
    return c[HEADS] // nas_block(c, "attention")["n_heads_in_group"]


def nas_width(c):
    """Width of a feed-forward of Nemotron-NAS: two thirds of a multiple of the hidden size, rounded up."""
    return -(-int(2 * nas_block(c, "ffn").factor("ffn_mult") * c[HIDDEN] / 3) // 256) * 256


def mllama_attention(c):
    """Attention of Llama 3.2 Vision: some layers attend to the image, behind two gates."""
    image = c.layer in c.listed("cross_attention_layers", needed=True)
    return c[grouped(size=share)] + (2 + 2 * c[share] if image else 0)


BERT = replace(
    GPT2,
    feed_forward=plain(bias=True),
    embedding_norm=LAYER,
    final_norm=0,
    head_bias=where("tie_word_embeddings", 1, 2),  # the same one twice, untied from itself
    beside=total(product("type_vocab_size", HIDDEN), projection(HIDDEN, HIDDEN, True), product(LAYER, HIDDEN)),
)

OTHERS = {
    "mimo_v2_flash": Decoder(
        attention=by_kind(
            {
                "full_attention": grouped(values="v_head_dim", bias="attention_bias", out_bias=False),
                "sliding_attention": grouped(
                    kv_heads=mimo_heads, values="v_head_dim", bias="attention_bias", out_bias=False, beside=HEADS
                ),
            },
            otherwise=mimo_kind,
        ),
        feed_forward=sparse(experts("n_routed_experts"), gated()),
    ),
    "minimax_m3_vl_text": Decoder(
        attention=by_kind(
            {
                "full_attention": grouped(beside=head_norms),
                "minimax_m3_sparse": grouped(beside=total(head_norms, minimax_indexer)),
            },
            otherwise=minimax_kind,
        ),
        feed_forward=sparse(
            experts("num_local_experts", gated(), beside=gated("shared_intermediate_size")),
            gated("dense_intermediate_size"),
        ),
    ),
    "gemma3n_text": Decoder(
        attention=gemma3n_attention,
        feed_forward=total(gated(), layer_inputs, alternating_updates),
        norms=4,
        beside=total(layer_tables, lambda c: 2 * (c["altup_num_inputs"] - 1) * c[HIDDEN] ** 2),
    ),
    "gemma4_text": GEMMA4,
    "gemma4_unified_text": Decoder(attention=gemma4_attention, feed_forward=gated(), norms=4),
    "axk2": replace(DEEPSEEK_V3, attention=axk2_attention, feed_forward=total(DEEPSEEK_EXPERTS, axk2_norm_gates)),
    "dots3_note_text": replace(
        DEEPSEEK_V3,
        attention=by_kind(
            {
                "indexed_attention": latent(bias="attention_bias", beside=total(DOTS3_BESIDE, indexer)),
                "full_attention": latent(bias="attention_bias", beside=DOTS3_BESIDE),
                "sliding_attention": dots3_window,
            }
        ),
        feed_forward=sparse(
            experts("n_routed_experts", beside=shared("n_shared_experts", "shared_experts_intermediate_size")), gated()
        ),
    ),
    "hy_v4": replace(
        DEEPSEEK_V3,
        attention=latent(bias="attention_bias", beside=total(hy_indexer, HEADS, product(HIDDEN, HEADS, "v_head_dim"))),
        feed_forward=total(DEEPSEEK_EXPERTS, two_streams),
        beside=head_streams,
    ),
    "inkling_text": Decoder(
        attention=total(
            by_kind({kind: inkling_attention(kind) for kind in ("hybrid", "hybrid_sliding")}), CONVOLUTIONS
        ),
        feed_forward=sparse(INKLING_EXPERTS, gated()),
        embedding_norm=RMS,
        tied=UNTIED,
    ),
    "laguna": replace(
        QWEN3,
        attention=grouped(LAGUNA_HEADS, bias="attention_bias", beside=total(head_norms, laguna_gate)),
        feed_forward=sparse(
            experts(
                "num_experts", router=total(projection(HIDDEN, "num_experts"), "num_experts"), beside=SHARED_EXPERT
            ),
            gated(),
        ),
    ),
    "jetmoe": Decoder(attention=jetmoe_attention, feed_forward=total(experts("num_local_experts", gated()), HIDDEN)),
    "longcat_flash": Decoder(  # two attentions and two feed-forwards a layer
        attention=product(2, latent(bias="attention_bias")),
        feed_forward=total(product(2, gated("ffn_hidden_size")), longcat_experts),
        norms=4,
    ),
    "doge": replace(
        LLAMA,
        attention=grouped(
            bias="attention_bias",
            beside=total(head_norms, KV_HEADS, projection(product(KV_HEADS, head_dim), KV_HEADS, "attention_bias")),
        ),
        norms=4,  # two norms and two scales of the residual
    ),
    "hrm_text": Decoder(  # the layers of two stacks, which are run in turns
        attention=product(
            2,
            grouped(
                kv_heads=HEADS,
                bias="attention_bias",
                beside=projection(HIDDEN, product(HEADS, head_dim), "attention_bias"),
            ),
        ),
        feed_forward=product(2, gated(bias="mlp_bias")),
        norms=0,
        final_norm=0,
        beside=HIDDEN,
        depth="num_layers_per_stack",
    ),
    "modernbert-decoder": Decoder(
        attention=grouped(size=even, kv_heads=HEADS, bias="attention_bias"),
        feed_forward=gated(bias="mlp_bias"),
        norm=where("norm_bias", LAYER, RMS),
        embedding_norm=where("norm_bias", LAYER, RMS),
        # The first layer has one norm less, the output head one more.
        beside=projection(HIDDEN, HIDDEN, "classifier_bias"),
        head_bias="decoder_bias",
    ),
    "moshi": Decoder(
        attention=grouped(),
        feed_forward=gated(half("ffn_dim")),
        table_rows=lambda c: c[VOCABULARY] + 1,
        tied=UNTIED,
    ),
    "mllama_text_model": Decoder(
        attention=mllama_attention,
        feed_forward=gated(),
        table_rows=lambda c: c[VOCABULARY] + 8,
        tied=UNTIED,
    ),
    "phi4_multimodal": MISTRAL,
    "emu3_text_model": replace(LLAMA, attention=grouped(bias="attention_bias")),
    "recurrent_gemma": Decoder(
        attention=by_kind(
            {"recurrent": linear_recurrence, "attention": grouped(bias="attention_bias", out_bias=True)},
            otherwise=recurrent_kind,
        ),
        feed_forward=gated(half(INTERMEDIATE), bias=True),
    ),
    "rwkv": Decoder(attention=rwkv_attention, feed_forward=rwkv_feed_forward, norm=LAYER, embedding_norm=LAYER),
    "zamba": Decoder(
        attention=total(zamba_mixer, ZAMBA_CALL),
        norms=1,
        beside=where("tie_word_embeddings", zamba_shared, ZAMBA_UNTIED),
    ),
    "zamba2": Decoder(
        attention=total(
            mamba2(
                expanded("mamba_expand"),
                "n_mamba_heads",
                "mamba_ngroups",
                "mamba_d_state",
                "mamba_d_conv",
                True,
                "add_bias_linear",
            ),
            ZAMBA_CALL,
        ),
        norms=1,
        beside=where("tie_word_embeddings", zamba2_shared, ZAMBA_UNTIED),
    ),
    "zaya": Decoder(
        attention=zaya_attention,
        feed_forward=experts("num_experts", router=zaya_router),
        norms=10,  # two norms, and a scale and a shift of the input and of the output of each block
        embedding_norm=LAYER,
        final_norm=RMS,
        head_bias="lm_head_bias",
    ),
    "nemotron-nas": Decoder(
        attention=nas_part("attention", grouped(kv_heads=nas_heads, bias="attention_bias")),
        feed_forward=nas_part("ffn", gated(nas_width, "mlp_bias")),
        norms=0,
        final_norm=RMS,
    ),
    "bert": BERT,
    "camembert": BERT,
    "data2vec-text": BERT,
    "ernie": replace(BERT, beside=total(BERT.beside, where("use_task_id", product("task_type_vocab_size", HIDDEN)))),
    "megatron-bert": BERT,
    "roberta": BERT,
    "roberta-prelayernorm": replace(BERT, final_norm=LAYER),
    "xlm-roberta": BERT,
    "xlm-roberta-xl": BERT,
    "bert-generation": replace(BERT, beside=0),
}

DECODERS = DENSE | MIXTURES | HYBRIDS | OTHERS
