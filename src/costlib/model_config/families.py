"""How the configuration of each architecture is read: a row of :data:`FAMILIES` each.

A family says three things: the kinds of its layers, what an attending layer
keeps, and what a recurrent one keeps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from costlib.model_config.attention import (
    chatglm,
    compressor,
    databricks,
    falcon,
    gemma4,
    grouped,
    half_window,
    heads_of,
    indexer,
    inkling,
    jetmoe,
    laguna,
    latent,
    latent_unless_off,
    listed_heads,
    mimo_v2,
    mosaic,
    multi_head,
    multi_query,
    nemotron_nas,
    no_more,
    one_head,
    own_indexer,
    shared_indexer,
    sliding_latent,
    twice,
    wide_indexer,
    zamba,
)
from costlib.model_config.fields import LAYERS, TOKENS, Refused
from costlib.model_config.layer_kinds import (
    all_of,
    and_last,
    by_attention_types,
    by_flags,
    by_indices,
    by_kimi_lists,
    by_letters,
    by_local_pattern,
    by_period,
    by_ratios,
    by_rope,
    chunked_with_positions,
    crossing,
    cycled,
    dory_loops,
    every,
    every_first,
    in_turn,
    lfm3_layers,
    listed,
    local_ids,
    looped,
    missing,
    phi3_layers,
    prefixed,
    repeated,
    shared_blocks,
    sharing_across,
    sharing_last,
    sliding_above,
    sliding_below,
    sliding_if_given,
    sliding_if_on,
    sliding_without_positions,
    sparse_layers,
    where,
    zamba2_layers,
)
from costlib.model_config.layers import AttentionCache, RecurrentState
from costlib.model_config.recurrent import (
    bailing_delta,
    four_convolutions,
    gated_delta,
    griffin,
    kimi_delta,
    lightning,
    mamba1,
    mamba2,
    rwkv,
    short_convolution,
)

__all__ = ["FAMILIES", "Family", "kept_layers"]


@dataclass(frozen=True)
class Family:
    """How one architecture is read."""

    kinds: Callable
    attention: Callable = grouped
    recurrent: Callable | None = None
    more: Callable = no_more
    count: str | None = "num_hidden_layers"
    window: str = "sliding_window"
    names: Mapping = field(default_factory=dict)
    chunked: bool = False
    ignored: str = ""  # fields whose names could mislead: they do not change what is kept


def kept_layers(family, f):
    """What the layers keep, those that keep the same together: caches, and recurrent states."""
    count = f.whole(family.count, LAYERS) if family.count else None
    f.see(*family.ignored.split(), *(HEAD_FIELDS if family.recurrent else ()))
    found, kinds = {}, family.kinds(f, count)
    if family.recurrent and not any(kind == "recurrent" or kind.startswith("both") for kind in kinds):
        f.see(*(name for name in f.table if name.startswith(OF_RECURRENT_LAYERS)))
    for name in (*HEAD_FIELDS, "num_key_value_heads_per_layer", "num_kv_heads", "block_configs"):
        f.check_one_a_layer(name, len(kinds))
    f.check_layers(len(kinds))
    for layer, kind in enumerate(kinds):
        for kept in kept_by(family, f.layer(layer), layer, kind):
            one = replace(kept, layers=1)
            found[one] = found.get(one, 0) + kept.layers
    kept = [replace(one, layers=count) for one, count in found.items()]
    caches = tuple(one for one in kept if isinstance(one, AttentionCache) and one.elements)
    return caches, tuple(one for one in kept if isinstance(one, RecurrentState))


OF_RECURRENT_LAYERS = ("mamba_", "ssm_", "linear_", "conv")  # where no layer recurs
HEAD_FIELDS = ("num_attention_heads", "num_key_value_heads", "head_dim")  # of no layer, where all recur


def widened(f, cache):
    """A window that no context of the model can fill is none."""
    limit = f.get("max_position_embeddings") if f.has("max_position_embeddings") else None
    if cache.window is None or type(limit) is not int or cache.window < limit:
        return cache
    return replace(cache, window=None, kind="full" if cache.kind in ("sliding", "chunked") else cache.kind)


def kept_by(family, f, layer, kind):
    """What one layer keeps."""
    if cannot_have(family, kind):
        raise Refused(f"layer {layer}", kind, "this architecture is not known to have such layers")
    if kind in ("recurrent", "convolution", "both", "both, sliding"):
        yield (short_convolution if kind == "convolution" else family.recurrent)(f)
    if kind in ("recurrent", "convolution", "nothing"):
        return
    kind = {"both": "full", "both, sliding": "sliding"}.get(kind, kind)
    cache = family.attention(f, layer, kind)
    if kind in ("sliding", "window alone", "compressed", "heavily compressed") and cache.window is None:
        cache = replace(cache, window=f.whole(family.window, TOKENS))
    if kind == "chunked":
        cache = replace(cache, window=f.whole("attention_chunk_size", TOKENS))
    yield widened(f, cache)
    yield from family.more(f, layer, kind)


def cannot_have(family, kind):
    """Whether a file names a kind of layer for which its architecture has no rule."""
    if kind == "recurrent" or kind.startswith("both"):
        return family.recurrent is None and family.more is not four_convolutions
    if kind == "indexed":
        return family.more is no_more
    if kind in ("sliding", "chunked") and family.attention is latent:
        return True
    if kind == "chunked":
        return not family.chunked
    return kind in ("window alone", "compressed", "heavily compressed") and family.more is not compressor


GPT2 = {"num_hidden_layers": ("n_layer",), "num_attention_heads": ("n_head",), "hidden_size": ("n_embd",)}
BART = Family(
    all_of("full"),
    heads_of("decoder_attention_heads", width="d_model"),
    count="decoder_layers",
    ignored="num_hidden_layers",  # those of the encoder
)
PLAIN = Family(all_of("full"))
LISTED = Family(listed(all_of("full")))
OLD = Family(all_of("full"), multi_head)
LATENT = Family(all_of("full"), latent)
INDEXED = Family(listed(all_of("indexed"), full="indexed"), latent, more=indexer)
QWEN2 = Family(listed(sliding_above()))
BY_FOUR = Family(listed(every(4)))
BY_TWO = Family(listed(every(2)))
PATTERN = {"sliding_window_pattern": ("_sliding_window_pattern", "layer_switch")}
GEMMA3 = Family(listed(every(6, "sliding_window_pattern")), names=PATTERN)
HUNYUAN = Family(sharing_across(all_of("full")), names={"head_dim": ("attention_head_dim",)})
LIGHTNING = Family(by_flags("attn_type_list", missing("attn_type_list"), "full", "recurrent"), recurrent=lightning)
GEMMA4 = Family(sharing_last(and_last(listed(every(6)))), gemma4)
DELTA = Family(listed(every(4, "full_attention_interval", "recurrent")), recurrent=gated_delta)
BAMBA = mamba2("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv")
INKLING = {"full": "full", "both": "full", "both, sliding": "sliding"}

FAMILIES = {
    **dict.fromkeys(
        # Keys and values of grouped heads, for every token, in every layer.
        "apertus apertus1p5_text arcee aria_text cohere deepseek diffllama emu3_text_model ernie4_5"
        " ernie4_5_moe exaone flex_olmo gemma glm glm4 glm4_moe granite granitemoe granitemoeshared helium hy_v3"
        " hyperclovax internlm2 internlm3 iquestcoder jais2 llama llava_llama minicpm nanochat skywork stablelm_epoch"
        " bailing_moe bailing_moe_v2 ernie4_5_moe_vl glm4v_text glm4v_moe_text glm_ocr_text paddleocr_vl_text Yi"
        " musicgen_decoder musicgen_melody_decoder"
        " olmo olmo2 olmoe orion phi phi4_multimodal sarvam_moe seed_oss solar_open stablelm telechat2"
        " telechat3 yi xverse bitnet".split(),
        PLAIN,
    ),
    **dict.fromkeys("mellum cohere_compass_text".split(), LISTED),
    "laguna": replace(LISTED, attention=laguna, ignored="sliding_window"),
    "doge": replace(PLAIN, ignored="keep_window_size"),
    "nemotron": replace(PLAIN, names={"head_dim": ("kv_channels",)}),
    "minimax_m2": Family(by_flags("attn_type_list", all_of("full"), "full", "recurrent"), recurrent=lightning),
    **dict.fromkeys("minimax_text_01 minimax_m1".split(), LIGHTNING),
    **dict.fromkeys("mistral mixtral moshi phimoe starcoder2 ministral3".split(), Family(sliding_if_given)),
    **dict.fromkeys("phi3 phi3_v phi4mm".split(), Family(phi3_layers)),
    "ministral": Family(listed(sliding_if_given)),
    **dict.fromkeys(
        "qwen2 qwen3 qwen3_vl_text qwen3_vl_moe_text qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text mimo minicpmv"
        " minicpmo llava_qwen".split(),
        QWEN2,
    ),
    "qwen2_moe": Family(listed(sliding_below)),
    **dict.fromkeys("qwen3_moe qwen3_omni_moe_text".split(), Family(sliding_if_on)),
    "dots1": Family(listed(sliding_above(switch=False))),
    "smollm3": Family(
        listed(by_rope("no_rope_layers", "no_rope_layer_interval", sliding_without_positions)),
        ignored="max_window_layers sliding_window",
    ),
    **dict.fromkeys("hunyuan hunyuan_v1_dense hunyuan_v1_moe".split(), HUNYUAN),
    "llama4_text": Family(
        listed(by_rope("no_rope_layers", "no_rope_layer_interval", chunked_with_positions)), chunked=True
    ),
    "mllama_text_model": Family(crossing),
    "gpt_oss": BY_TWO,
    "gemma2": replace(BY_TWO, names={"sliding_window": ("sliding_window_size",)}),
    "vaultgemma": BY_TWO,
    **dict.fromkeys("olmo3".split(), BY_FOUR),
    "afmoe": Family(listed(every(4, "global_attn_every_n_layers"))),
    "cohere2": Family(listed(every(4, "sliding_window_pattern")), names=PATTERN, ignored="order_of_interleaved_layers"),
    "cohere2_moe": Family(listed(prefixed)),
    **dict.fromkeys("exaone4 exaone_moe".split(), Family(listed(by_local_pattern))),
    **dict.fromkeys("gemma3_text embedding_gemma".split(), GEMMA3),
    "gemma3n_text": Family(sharing_last(listed(every(5)))),
    **dict.fromkeys("gemma4_text gemma4_unified_text".split(), GEMMA4),
    "beam": Family(listed(and_last(every(6)))),
    "kolibri1": Family(listed(every(5))),
    **dict.fromkeys("granite_swa granitemoe_swa cwm".split(), Family(listed(where(lambda i, n: i % 4 == 0)))),
    **dict.fromkeys("step3p5 step3p7".split(), Family(listed(missing("layer_types")))),
    "flint": Family(listed(where(lambda i, n: i < 2 or i % 4 == 1 or i == n - 1))),
    "modernbert-decoder": Family(listed(every_first(3, "global_attn_every_n_layers")), half_window),
    **dict.fromkeys(
        "mimo_v2 mimo_v2_flash".split(),
        Family(
            by_flags("hybrid_layer_pattern", listed(where(lambda i, n: i == 0 or (i + 1) % 6 == 0)), "sliding", "full"),
            mimo_v2,
            ignored="attention_projection_layout",
        ),
    ),
    "dory": Family(dory_loops),
    "hrm_text": Family(cycled, heads_of("num_attention_heads", "head_dim")),
    **dict.fromkeys(
        "inkling_text inkling2_text".split(),
        Family(listed(local_ids, **INKLING), inkling, more=four_convolutions, window="sliding_window_size"),
    ),
    "inkling2_loop_text": Family(
        looped(listed(local_ids, **INKLING)), inkling, more=four_convolutions, window="sliding_window_size"
    ),
    # Latent attention.
    **dict.fromkeys("axk1 deepseek_v3 glm4_moe_lite kimi_k2 minicpm3 mistral4 sarvam_mla youtu".split(), LATENT),
    "deepseek_v2": Family(all_of("full"), latent_unless_off),
    "longcat_flash": Family(all_of("full"), twice(latent), count="num_layers", ignored="attention_method"),
    **dict.fromkeys("axk2 deepseek_v32".split(), INDEXED),
    **dict.fromkeys("glm_moe_dsa hy_v4".split(), replace(INDEXED, more=shared_indexer)),
    "dots3_note_text": Family(
        listed(where(lambda i, n: i < 2 or i % 4 == 1, "indexed"), full="indexed"), sliding_latent, more=wide_indexer
    ),
    **dict.fromkeys("deepseek_v4 deepseek_ref".split(), Family(listed(by_ratios), one_head, more=compressor)),
    **dict.fromkeys("minimax_m3 minimax_m3_vl_text".split(), Family(listed(sparse_layers), more=own_indexer)),
    # Layers that recur, and layers that attend.
    "jamba": Family(by_period, recurrent=mamba1("mamba_d_state", "mamba_d_conv", "mamba_expand")),
    "bamba": Family(by_indices("attn_layer_indices", "recurrent", "recurrent"), recurrent=BAMBA),
    "falcon_h1": Family(all_of("both"), recurrent=BAMBA),
    "granitemoehybrid": Family(listed(all_of("recurrent")), recurrent=BAMBA),
    "nemotron_h": Family(
        by_letters({"M": "recurrent", "*": "full", "E": "nothing", "-": "nothing"}, "hybrid_override_pattern"),
        recurrent=mamba2("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel"),
        count=None,
        names={"head_dim": ("attention_head_dim",)},
    ),
    "zamba": Family(
        listed(shared_blocks, "layers_block_type"),
        zamba,
        mamba1("mamba_d_state", "mamba_d_conv", "mamba_expand"),
        ignored="n_mamba_heads attn_layer_offset attn_layer_period",
    ),
    "zamba2": Family(
        listed(zamba2_layers, "layers_block_type"),
        zamba,
        mamba2("n_mamba_heads", "mamba_headdim", "mamba_ngroups", "mamba_d_state", "mamba_d_conv"),
        ignored="hybrid_layer_ids kv_channels num_mem_blocks num_query_groups",
    ),
    **dict.fromkeys("qwen3_next qwen3_5_text qwen3_5_moe_text".split(), DELTA),
    "olmo_hybrid": Family(listed(every(4, others="recurrent")), recurrent=gated_delta),
    "lara_mini": Family(listed(in_turn("recurrent", "sliding", "recurrent", "full", "sliding")), recurrent=gated_delta),
    "bailing_hybrid": Family(listed(every(6, "layer_group_size", "recurrent")), latent, bailing_delta),
    "kimi_linear": Family(listed(by_kimi_lists), latent, kimi_delta),
    "minimax": Family(listed(every_first(2, others="recurrent")), recurrent=lightning),
    **dict.fromkeys(
        "lfm2 lfm2_moe".split(),
        Family(
            listed(by_indices("full_attn_idxs", "convolution", "full")),
            names={"num_attention_heads": ("num_heads",)},
            ignored="conv_dim conv_dim_out conv_L_cache",
        ),
    ),
    "lfm3": Family(listed(lfm3_layers)),
    "recurrent_gemma": Family(
        repeated, recurrent=griffin, window="attention_window_size", names={"block_types": ("_block_types",)}
    ),
    **dict.fromkeys(
        "mamba falcon_mamba".split(),
        Family(
            all_of("recurrent"),
            recurrent=mamba1("state_size", "conv_kernel", "expand", "intermediate_size"),
            ignored="n_layer",
        ),
    ),
    "mamba2": Family(
        all_of("recurrent"), recurrent=mamba2("num_heads", "head_dim", "n_groups", "state_size", "conv_kernel")
    ),
    "rwkv": Family(all_of("recurrent"), recurrent=rwkv),
    # Shapes of their own.
    "nemotron-nas": Family(all_of("full"), nemotron_nas),
    "jetmoe": Family(all_of("full"), jetmoe),
    "falcon": Family(all_of("full"), falcon),
    **dict.fromkeys(
        "RefinedWeb RefinedWebModel".split(),
        Family(all_of("full"), falcon, names={**GPT2, "num_kv_heads": ("n_head_kv",)}),
    ),
    "gpt_bigcode": Family(all_of("full"), multi_query, names=GPT2),
    "chatglm": Family(all_of("full"), chatglm, count="num_layers", names={"num_layers": ("num_hidden_layers",)}),
    "openelm": Family(
        all_of("full"),
        listed_heads("num_kv_heads", "num_query_heads"),
        count="num_transformer_layers",
        ignored="share_input_output_layers",
    ),
    "deci": Family(all_of("full"), listed_heads("num_key_value_heads_per_layer")),
    "mpt": Family(all_of("full"), mosaic, count="n_layers"),
    "dbrx": Family(all_of("full"), databricks, count="n_layers"),
    # One key and one value on each head: the older ones.
    "big_bird": replace(OLD, ignored="attention_type"),
    "bigbird_pegasus": replace(BART, ignored="attention_type"),
    **dict.fromkeys(
        "baichuan bert bert-generation biogpt camembert data2vec-text electra ernie fuyu git gpt_neox"
        " gpt_neox_japanese internlm megatron-bert opt persimmon rembert roberta roberta-prelayernorm roc_bert roformer"
        " xlm-roberta xlm-roberta-xl xmod".split(),
        OLD,
    ),
    **dict.fromkeys("gpt2 gpt-sw3 gptj codegen ctrl".split(), replace(OLD, names=GPT2)),
    "bloom": replace(OLD, names={**GPT2, "hidden_size": ("n_embed",)}),
    "gpt_neo": Family(by_attention_types, heads_of("num_heads"), count="num_layers"),
    "qwen": Family(all_of("full"), heads_of("num_attention_heads", "kv_channels"), ignored="use_logn_attn"),
    "xglm": Family(all_of("full"), heads_of("attention_heads", width="d_model"), count="num_layers"),
    **dict.fromkeys("bart blenderbot blenderbot-small marian mbart mvp pegasus plbart whisper trocr".split(), BART),
    "xlm": Family(all_of("full"), heads_of("n_heads", width="emb_dim"), count="n_layers"),
    "prophetnet": Family(all_of("full"), heads_of("num_decoder_attention_heads"), count="num_decoder_layers"),
}
