"""What one attending layer keeps: one function for each shape of attention.

Each takes the fields as the layer sees them, its number, and its kind.
"""

from dataclasses import replace

from costlib.model_config.fields import HEADS, LAYERS, TOKENS, WIDTH, Fields, Refused
from costlib.model_config.layers import AttentionCache
from costlib.schema import InputError


def attention(kind, heads, key_dim, value_dim, query_heads=None):
    """One layer that keeps keys and values, and the query heads that read them."""
    return AttentionCache(
        kind=kind, layers=1, heads=heads, key_dim=key_dim, value_dim=value_dim, query_heads=query_heads
    )


def heads_and_size(f, layer, prefix=""):
    """Query heads, key-value heads and size of a head of one layer."""
    query = f.at(prefix + "num_attention_heads", layer, HEADS)
    by_layer = isinstance(f.get(prefix + "num_key_value_heads"), list)  # there, a layer that does not attend has 0
    kv = f.at(prefix + "num_key_value_heads", layer, (0, HEADS[1]) if by_layer else HEADS, query)
    if kv and query % kv:
        raise InputError(
            f"{f.where}: {prefix}num_key_value_heads = {kv} does not divide {prefix}num_attention_heads = {query}"
        )
    if f.get(prefix + "head_dim") is not None:
        return query, kv, f.at(prefix + "head_dim", layer, WIDTH)
    return query, kv, f.quotient(prefix + "head_dim", f.whole("hidden_size", WIDTH), query)


def grouped(f, layer, kind):
    """Keys and values on so many key-value heads; a size of the head that is declared wins over hidden/heads."""
    query, kv, size = heads_and_size(f, layer)
    return attention(kind, kv, size, size, query)


def multi_head(f, layer, kind):
    """Keys and values on every head, whose size is hidden/heads: architectures older than grouped queries."""
    heads = f.whole("num_attention_heads", HEADS)
    if f.has("num_key_value_heads") and f.get("num_key_value_heads") != heads:
        raise Refused(
            "num_key_value_heads", f.get("num_key_value_heads"), "this architecture has one for each query head"
        )
    size = f.quotient("hidden_size", f.whole("hidden_size", WIDTH), heads)
    return attention(kind, heads, size, size, heads)


def heads_of(heads, size=None, width="hidden_size"):
    """Keys and values on every head, under other names; without a size of the head it is width/heads."""

    def kept(f, layer, kind):
        count = f.whole(heads, HEADS)
        dim = f.whole(size, WIDTH) if size else f.quotient(width, f.whole(width, WIDTH), count)
        return attention(kind, count, dim, dim, count)

    return kept


def latent(f, layer, kind):
    """Multi-head latent attention: one latent and one positional key, for all heads."""
    rank, rope = f.whole("kv_lora_rank", WIDTH), f.whole("qk_rope_head_dim", (0, WIDTH[1]))
    f.see(*SAID_BY_THE_LATENT)
    return attention("latent", 1, rank, rope)


def latent_unless_off(f, layer, kind):
    """DeepSeek: latent attention, but plain heads in the small models that switch it off."""
    if f.get("use_mla") is False or ("kv_lora_rank" in f.table and f.table["kv_lora_rank"] is None):
        f.see("kv_lora_rank", "qk_rope_head_dim", *SAID_BY_THE_LATENT)
        return multi_head(f, layer, kind)
    return latent(f, layer, kind)


SAID_BY_THE_LATENT = (  # heads and their sizes, which are rebuilt from it
    "num_attention_heads num_key_value_heads head_dim qk_head_dim qk_nope_head_dim v_head_dim"
).split()


def sliding_latent(f, layer, kind):
    """Dots: latent attention, of another rank where it has a window."""
    if kind != "sliding":
        return latent(f, layer, kind)
    prefix, defaults = ("", ()) if f.has("per_layer_config") else ("swa_", (1024, 256, 192))
    rank, size, unturned = (
        f.whole(prefix + name, WIDTH, default)
        for name, default in zip(("kv_lora_rank", "head_dim", "qk_nope_head_dim"), defaults or (None,) * 3, strict=True)
    )
    if size <= unturned:
        raise InputError(
            f"{f.where}: {prefix}head_dim = {size}; wanted more than {prefix}qk_nope_head_dim = {unturned}"
        )
    f.see("swa_num_attention_heads", "swa_num_key_value_heads", "swa_q_lora_rank", "swa_v_head_dim")
    return attention("latent, sliding", 1, rank, size - unturned)


def twice(one):
    """LongCat: two attentions in each layer."""
    return lambda f, layer, kind: replace(one(f, layer, kind), layers=2)


def gemma4(f, layer, kind):
    """Full layers have heads of their own size, and of their own number where keys serve as values."""
    query, kv, size = heads_and_size(f, layer)
    if kind == "full" and not f.has("per_layer_config"):
        size = f.whole("global_head_dim", WIDTH)
        of_full = f.optional("num_global_key_value_heads", HEADS)
        if f.flag("attention_k_eq_v", True):
            kv = of_full or kv
    f.see("attention_k_eq_v")
    return attention(kind, kv, size, size, query)


def mimo_v2(f, layer, kind):
    """Window layers have heads of their own; values are narrower than keys."""
    f.see("attention_chunk_size", "sliding_window")  # the window, under other names
    beyond = f.optional("sliding_window_size", TOKENS)  # tokens before the one that asks
    prefix = "swa_" if kind == "sliding" else ""
    query = f.whole(prefix + "num_attention_heads", HEADS, f.whole("num_attention_heads", HEADS))
    kv = f.whole("num_key_value_heads", HEADS, query)
    kv = f.whole("swa_num_key_value_heads", HEADS, 2 * kv) if prefix else kv
    key = f.whole(prefix + "head_dim", WIDTH, f.whole("head_dim", WIDTH))
    value = f.whole(prefix + "v_head_dim", WIDTH, f.whole("v_head_dim", WIDTH))
    cache = attention(kind, kv, key, value, query)
    return replace(cache, window=beyond + 1) if prefix and beyond else cache


def inkling(f, layer, kind):
    """Window layers have heads of their own."""
    prefix = "swa_" if kind == "sliding" else ""
    query, kv, size = heads_and_size(f, layer, prefix)
    return attention(kind, kv, size, size, query)


def laguna(f, layer, kind):
    """Query heads may differ from layer to layer; key-value heads do not."""
    query, kv, size = heads_and_size(f, layer)
    return attention(kind, kv, size, size, f.at("num_attention_heads_per_layer", layer, HEADS, query))


def falcon(f, layer, kind):
    """One key-value head, unless the decoder is of the new kind or multi-query is off."""
    heads = f.whole("num_attention_heads", HEADS)
    declared = f.optional("num_kv_heads", HEADS)
    new = f.flag("new_decoder_architecture") or f.get("model_type") == "RefinedWeb"
    one = f.flag("multi_query", True)
    many = new or not one
    size = f.quotient("hidden_size", f.whole("hidden_size", WIDTH), heads)
    return attention(kind, (declared or heads) if many else 1, size, size, heads)


def multi_query(f, layer, kind):
    """GPT-BigCode: one key-value head, or with ``multi_query`` off all of them."""
    heads = f.whole("num_attention_heads", HEADS)
    f.get("num_key_value_heads")
    size = f.quotient("hidden_size", f.whole("hidden_size", WIDTH), heads)
    return attention(kind, 1 if f.flag("multi_query", True) else heads, size, size, heads)


def databricks(f, layer, kind):
    """DBRX: as MPT, but one key-value head where ``attn_config`` does not say."""
    return replace(mosaic(f, layer, kind), heads=f.inner("attn_config").whole("kv_n_heads", HEADS, 1))


def mosaic(f, layer, kind):
    """MPT: the number of key-value heads stands in ``attn_config``."""
    heads = f.whole("n_heads", HEADS)
    size = f.quotient("d_model", f.whole("d_model", WIDTH), heads)
    inner = f.inner("attn_config")
    kinds = {None: heads, "multihead_attention": heads, "grouped_query_attention": heads, "multiquery_attention": 1}
    named = inner.text("attn_type")
    if named not in kinds:
        raise Refused("attn_config.attn_type", named, "the number of key-value heads hangs on it")
    kv = inner.whole("kv_n_heads", HEADS, kinds[named])
    if heads % kv:
        raise InputError(f"{inner.where}: kv_n_heads = {kv}; wanted a divisor of {heads} heads")
    if f.has("num_key_value_heads") and f.get("num_key_value_heads") != kv:
        raise Refused("num_key_value_heads", f.get("num_key_value_heads"), f"attn_config has {kv}")
    return attention(kind, kv, size, size, heads)


def zamba(f, layer, kind):
    """Attention over the state and the embedding together: twice as wide as the stream."""
    heads = f.whole("num_attention_heads", HEADS)
    kv = f.whole("num_key_value_heads", HEADS, heads)
    size = f.optional("attention_head_dim", WIDTH)
    size = size or f.quotient("attention_head_dim", 2 * f.whole("hidden_size", WIDTH), heads)
    f.get("attention_hidden_size")
    return attention(kind, kv, size, size, heads)


def half_window(f, layer, kind):
    """ModernBERT: the window counts both sides, of which a decoder sees one."""
    cache = multi_head(f, layer, kind)
    f.see("local_attention")
    window = f.optional("sliding_window", TOKENS) or f.whole("local_attention", (2, TOKENS[1])) // 2
    return cache if kind == "full" else replace(cache, window=window)


def one_head(f, layer, kind):
    """DeepSeek-V4: keys that serve as values too, on one head."""
    f.see("num_key_value_heads", "num_attention_heads")
    return attention("sliding", 1, f.whole("head_dim", WIDTH), 0)


def jetmoe(f, layer, kind):
    """Each key-value head has ``kv_channels``, and serves as many queries as experts are chosen."""
    size = f.whole("kv_channels", WIDTH)
    f.see("num_attention_heads")
    heads, chosen = f.whole("num_key_value_heads", HEADS), f.optional("num_experts_per_tok", HEADS)
    return attention(kind, heads, size, size, heads * chosen if chosen else None)


def chatglm(f, layer, kind):
    """Key-value heads are groups, if multi-query attention is on."""
    heads, size = f.whole("num_attention_heads", HEADS), f.whole("kv_channels", WIDTH)
    groups = f.optional("multi_query_group_num", HEADS)
    kv = (groups or 1) if f.flag("multi_query_attention") else heads
    if heads % kv:
        raise InputError(f"{f.where}: multi_query_group_num = {kv}; wanted a divisor of {heads} heads")
    return attention(kind, kv, size, size, heads)


def listed_heads(name, queries="num_attention_heads"):
    """Key-value heads listed layer by layer, and query heads where they are listed too."""

    def kept(f, layer, kind):
        size = f.optional("head_dim", WIDTH)
        size = size or f.quotient("head_dim", f.whole("hidden_size", WIDTH), f.whole("num_attention_heads", HEADS))
        query = f.at(queries, layer, HEADS) if f.get(queries) is not None else None
        return attention(kind, f.at(name, layer, HEADS), size, size, query)

    return kept


def nemotron_nas(f, layer, kind):
    """Each block says how many query heads share a key-value head, or that it does not attend."""
    blocks = f.get("block_configs")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise InputError(f"{f.where}: block_configs is missing; wanted a table for each layer")
    if layer >= len(blocks):
        raise InputError(f"{f.where}: block_configs has {len(blocks)} entries; wanted one a layer")
    block = Fields(blocks[layer], f"{f.where}: block_configs[{layer}]").inner("attention")
    f.get("num_key_value_heads")
    heads = f.whole("num_attention_heads", HEADS)
    size = f.optional("head_dim", WIDTH) or f.quotient("head_dim", f.whole("hidden_size", WIDTH), heads)
    if block.flag("no_op"):
        return attention(kind, 0, size, size)
    for name in ("replace_with_linear", "sparsify", "window_length", "num_sink_tokens"):
        if block.get(name):
            raise Refused(
                f"block_configs[{layer}].attention.{name}", block.get(name), "it changes what the layer keeps"
            )
    group = block.whole("n_heads_in_group", HEADS)
    if heads % group:
        raise InputError(f"{block.where}: n_heads_in_group = {group}; wanted a divisor of {heads} heads")
    return attention(kind, heads // group, size, size, heads)


# What an attending layer keeps besides.


def no_more(f, layer, kind):
    """Nothing."""
    return ()


def indexer(f, layer, kind):
    """Sparse attention: a key by which the tokens attended to are chosen."""
    f.see("index_n_heads", "index_topk")
    if kind == "indexed":
        yield attention("indexer", 1, f.whole("index_head_dim", WIDTH), 0)


def shared_indexer(f, layer, kind):
    """The same, only in the layers that choose themselves; others take the choice of one before."""
    f.see("index_share_for_mtp_iteration")
    yield from indexer(f, layer, kind if chooses_itself(f, layer) else "takes the choice of another")


def wide_indexer(f, layer, kind):
    """Dots: the same, kept in 32 bits."""
    return (replace(kept, precision=4.0) for kept in indexer(f, layer, kind))


def chooses_itself(f, layer):
    """Whether a layer chooses by keys of its own, rather than take the choice of one before."""
    count = f.whole("num_hidden_layers", LAYERS)
    types = f.names("indexer_types")
    pattern = f.get("index_topk_pattern")
    each = 4 if f.get("model_type") == "hy_v4" else 1
    period = f.whole("index_topk_freq", (0, LAYERS[1]), each) or 1
    offset = f.whole("index_skip_topk_offset", (0, LAYERS[1]), 2)
    if types is None and isinstance(pattern, str | list):
        types = [{"F": "full", "S": "shared"}.get(letter, letter) for letter in map(str, pattern)]
    if types is None:
        return max(layer - offset + 1, 0) % period == 0
    if len(types) != count:
        raise InputError(f"{f.where}: indexer_types has {len(types)} entries; wanted {count}, one a layer")
    if types[layer] not in ("full", "shared"):
        raise Refused(f"indexer_types[{layer}]", types[layer], "full and shared are known")
    return types[layer] == "full"


def own_indexer(f, layer, kind):
    """A key by which the blocks attended to are chosen, in each sparse layer."""
    f.see("index_n_heads", "index_topk_blocks", "index_block_size", "index_local_blocks", "index_head_dim")
    if kind == "indexed":
        sparse = f.inner("sparse_attention_config")
        size = sparse.optional("sparse_index_dim", WIDTH) or f.whole("index_head_dim", WIDTH)
        yield attention("indexer", 1, size, 0)


def compressor(f, layer, kind):
    """DeepSeek-V4: entries that several tokens share, what is not yet shared, and the keys that choose among them."""
    f.see("index_n_heads", "index_topk", "o_lora_rank")
    rates = f.inner("compress_rates")
    for name, rate in (("compressed_sparse_attention", 4), ("heavily_compressed_attention", 128)):
        if rates.whole(name, TOKENS, rate) != rate:
            raise Refused(f"compress_rates.{name}", rates.get(name), f"{rate} tokens that share an entry are known")
    size = f.whole("head_dim", WIDTH)
    entry = attention("compressed", 1, size, 0)
    if kind == "heavily compressed":
        yield replace(entry, stride=128)
        yield replace(attention("not yet compressed", 1, 2 * size, 0), stride=128, remainder=True)
    if kind == "compressed":
        index = f.whole("index_head_dim", WIDTH)
        yield replace(entry, stride=4)
        yield replace(attention("indexer", 1, index, 0), stride=4)
        yield replace(attention("not yet compressed", 1, 4 * (size + index), 0), stride=4, remainder=True)
        before = replace(attention("block before", 1, 4 * (size + index), 0), window=4, stride=4)
        yield from (before, replace(before, precision=4.0))
