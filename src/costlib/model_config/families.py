"""How the configuration of each architecture is read: its layers in order, and what each keeps.

A family says three things: the kinds of its layers, what an attending layer
keeps, and what a recurrent one keeps. :data:`FAMILIES` is the table of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from costlib.model_config.fields import HEADS, LAYERS, TOKENS, WIDTH, Fields, Refused
from costlib.model_config.layers import AttentionCache, RecurrentState
from costlib.schema import InputError

__all__ = ["FAMILIES", "Family", "kept_layers"]


# The kinds of layers: one function for each way in which a file says them.

KINDS = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "sliding_attention": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "recurrent",
    "mamba": "recurrent",
    "mamba2": "recurrent",
    "recurrent": "recurrent",
    "conv": "convolution",
    "hybrid": "both",
    "hybrid_sliding": "both, sliding",
    "moe": "nothing",
    "mlp": "nothing",
    "indexed_attention": "indexed",
    "deepseek_sparse_attention": "indexed",
    "qwen_sparse_attention": "indexed",
    "minimax_m3_sparse": "indexed",
    "compressed_sparse_attention": "compressed",
    "heavily_compressed_attention": "heavily compressed",
}
PREDICTORS = (0, 100)
SAID_BY_THE_LIST = (  # other ways to say which layer is of which kind, and sizes of kinds that may not be there
    "sliding_window sliding_window_pattern _sliding_window_pattern max_window_layers use_sliding_window local_layer_ids"
    " full_attention_interval layer_group_size global_attn_every_n_layers prefix_dense_sliding_window_pattern"
    " full_attn_idxs conv_L_cache no_rope_layers no_rope_layer_interval attention_chunk_size compress_ratios"
    " hybrid_layer_pattern mamba_chunk_size"
).split()


def kind_of(name, where):
    """The kind that a name in a list stands for."""
    if name not in KINDS:
        raise Refused(where, name, "layers of this kind keep something that is not known here")
    return KINDS[name]


def all_of(kind):
    """Every layer the same."""
    return lambda f, count: [kind] * count


def listed(otherwise, name="layer_types", **renamed):
    """As the file lists them, layer by layer; where it does not, by the architecture's own rule."""

    def kinds(f, count):
        names = f.names(name)
        if names is None:
            return otherwise(f, count)
        f.see(*SAID_BY_THE_LIST)
        predictors = f.optional("num_nextn_predict_layers", PREDICTORS) or 0
        if len(names) not in (count, count + predictors):  # those that predict stand at the end
            raise InputError(f"{f.where}: {name} has {len(names)} entries; wanted {count}, one a layer")
        found = [kind_of(text, f"{name}[{i}]") for i, text in enumerate(names[:count])]
        return [renamed.get(kind, kind) for kind in found]

    return kinds


def missing(name):
    """No rule of its own: the file has to say."""

    def kinds(f, count):
        raise InputError(f"{f.where}: {name} is missing; wanted the kind of each layer")

    return kinds


def every(n, period=None, others="sliding", full="full"):
    """Full attention in each n-th layer, counted from 1."""

    def kinds(f, count):
        step = n if period is None else f.whole(period, LAYERS, n)
        return [others if (i + 1) % step else full for i in range(count)]

    return kinds


def where(predicate, then="full", otherwise="sliding"):
    """One kind where the predicate of (layer, count of layers) holds, another elsewhere."""
    return lambda f, count: [then if predicate(i, count) else otherwise for i in range(count)]


def every_first(n, period):
    """Full attention in the first layer and each n-th after it."""

    def kinds(f, count):
        step = f.whole(period, LAYERS, n)
        return ["sliding" if i % step else "full" for i in range(count)]

    return kinds


def and_last(kinds):
    """The last layer attends in full, whatever its turn."""
    return lambda f, count: [*kinds(f, count)[:-1], "full"]


def sliding_if_given(f, count):
    """A window in every layer, if the file gives one."""
    return ["full" if f.get("sliding_window") is None else "sliding"] * count


def sliding_above(switch=True):
    """Qwen's rule: the layers from ``max_window_layers`` on have the window, if ``use_sliding_window`` is on."""

    def kinds(f, count):
        first = f.optional("max_window_layers", (0, LAYERS[1]))
        off = switch and not f.flag("use_sliding_window")
        if f.get("sliding_window") is None or off:
            return ["full"] * count
        if first is None:
            raise InputError(f"{f.where}: max_window_layers is missing; wanted the first layer that has the window")
        return ["sliding" if i >= first else "full" for i in range(count)]

    return kinds


def by_period(f, count):
    """Jamba's rule: attention where layer modulo period is the offset."""
    period, offset = f.whole("attn_layer_period", LAYERS), f.whole("attn_layer_offset", (0, LAYERS[1]))
    return ["full" if i % period == offset else "recurrent" for i in range(count)]


def by_indices(name, others, default):
    """Attention in the layers whose numbers, from 0, the file lists; the default everywhere if it lists none."""

    def kinds(f, count):
        attending = f.numbers(name, (0, count - 1))
        if attending is None:
            return [default] * count
        return ["full" if i in attending else others for i in range(count)]

    return kinds


def by_flags(name, otherwise, on, off):
    """One number a layer: 1 where it is of the kind ``on``."""

    def kinds(f, count):
        flags = f.numbers(name, (0, 1))
        if flags is None:
            return otherwise(f, count)
        predictors = f.optional("num_nextn_predict_layers", PREDICTORS) or 0
        if len(flags) not in (count, count + predictors):
            raise InputError(f"{f.where}: {name} has {len(flags)} entries; wanted {count}, one a layer")
        return [on if flag else off for flag in flags[:count]]

    return kinds


def by_letters(letters, name):
    """One letter a layer, as in ``MEM*``; the number of layers is that of the letters."""

    def kinds(f, _):
        pattern, count = f.text(name), f.optional("num_hidden_layers", LAYERS)
        if pattern is None:
            names = f.names("layers_block_type") or f.names("layer_types") or missing(name)(f, count)
            return [kind_of(text, f"layers_block_type[{i}]") for i, text in enumerate(names)]
        if count is not None and len(pattern) != count:
            raise InputError(f"{f.where}: {name} has {len(pattern)} letters; wanted {count}, one a layer")
        for i, letter in enumerate(pattern):
            if letter not in letters:
                raise Refused(f"{name}[{i}]", letter, "layers of this kind keep something that is not known here")
        return [letters[letter] for letter in pattern]

    return kinds


def by_local_pattern(f, count):
    """Exaone: a pattern of letters, ``LLLG``, or a period."""
    pattern = f.get("sliding_window_pattern")
    if f.get("sliding_window") is None:
        return ["full"] * count
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
        return ["sliding" if pattern[i % len(pattern)] == "L" else "full" for i in range(count)]
    return every(4, "sliding_window_pattern")(f, count)


def by_attention_types(f, count):
    """GPT-Neo: ``[[["global", "local"], 12]]``, a pattern and how often it repeats."""
    groups = f.get("attention_types") or [[["global", "local"], 12]]
    try:
        names = [name for pattern, times in groups for _ in range(times) for name in pattern]
    except (TypeError, ValueError):
        raise InputError(f"{f.where}: attention_types = {groups!r}; wanted [[[kind, ...], times], ...]") from None
    f.get("attention_layers")
    if len(names) != count:
        raise InputError(f"{f.where}: attention_types name {len(names)} layers; wanted {count}")
    kinds = [kind_of(name, f"attention_types, layer {i}") for i, name in enumerate(names)]
    window = f.whole("window_size", TOKENS)
    f.note(f"{kinds.count('sliding')} layers attend to {window:,} tokens at most; the public code keeps all the same")
    return ["full"] * count


def by_kimi_lists(f, count):
    """Kimi: the layers that attend and those that recur, by their numbers from 1."""
    inner = f.inner("linear_attn_config")
    full, linear = inner.numbers("full_attn_layers", (1, count)), inner.numbers("kda_layers", (1, count))
    if full is None or linear is None:
        return where(lambda i, n: i and i % 4 == 0, "full", "recurrent")(f, count)
    if sorted(full + linear) != list(range(1, count + 1)):
        raise InputError(
            f"{f.where}: linear_attn_config names {len(full)} + {len(linear)} layers; wanted each of {count} once"
        )
    return ["full" if i + 1 in full else "recurrent" for i in range(count)]


def by_ratios(f, count):
    """DeepSeek-V4: the number of tokens that share an entry, layer by layer; 0 for a window alone."""
    kinds = {0: "window alone", 4: "compressed", 128: "heavily compressed"}
    ratios = f.numbers("compress_ratios", (0, 1_000_000))
    if ratios is None:
        return where(lambda i, n: i >= 2 and i % 2, "compressed", "heavily compressed")(f, count)
    if len(ratios) < count:
        raise InputError(f"{f.where}: compress_ratios has {len(ratios)} entries; wanted {count}, one a layer")
    for i, ratio in enumerate(ratios[:count]):
        if ratio not in kinds:
            raise Refused(f"compress_ratios[{i}]", ratio, "0, 4 and 128 are known")
    return [kinds[ratio] for ratio in ratios[:count]]


def sparse_layers(f, count):
    """MiniMax-M3: which layers choose the blocks that they attend to."""
    flags = f.inner("sparse_attention_config").numbers("sparse_attention_freq", (0, 1), count)
    return ["indexed" if flag else "full" for flag in flags] if flags else ["full"] * count


def sharing_last(kinds):
    """The last ``num_kv_shared_layers`` read what layers before them keep."""

    def owners(f, count):
        shared = f.optional("num_kv_shared_layers", (0, count - 1)) or 0
        return kinds(f, count)[: count - shared] + ["nothing"] * shared

    return owners


def sharing_across(kinds):
    """Hunyuan: with ``use_cla``, groups of layers share what their first one keeps."""

    def owners(f, count):
        factor = f.whole("cla_share_factor", LAYERS, 1)
        if not f.flag("use_cla"):
            factor = 1
        return [kind if i % factor == 0 else "nothing" for i, kind in enumerate(kinds(f, count))]

    return owners


def looped(kinds):
    """Layers that a token passes several times keep something on each pass."""

    def passes(f, count):
        found = kinds(f, count)
        loop = f.inner("loop_config")
        start, end, times = (
            loop.optional(inner, (0, LAYERS[1])) or f.whole(name, (0, LAYERS[1]))
            for inner, name in (
                ("core_start", "loop_layer_index_start"),
                ("core_end", "loop_layer_index_end"),
                ("num_passes", "loop_num_passes"),
            )
        )
        if not start <= end <= count:
            raise InputError(f"{f.where}: the loop runs from layer {start} to {end}; wanted layers of {count}")
        return found[:start] + found[start:end] * times + found[end:]

    return passes


def dory_loops(f, count):
    """Dory: attention and feed-forward are listed as layers of their own; those in the middle run in loops."""
    names = f.names("layer_types")
    halves = names is not None and "mlp" in names
    kinds = listed(every(4))(f, count)[:: 2 if halves else 1]
    first = f.whole("n_input_layers", (0, LAYERS[1])) // (2 if halves else 1)
    last = f.whole("n_output_layers", (0, LAYERS[1])) // (2 if halves else 1)
    f.get("n_recurrent_layers")
    mode = f.text("recurrent_kv_cache_mode")
    if mode != "per_loop":
        raise Refused("recurrent_kv_cache_mode", mode, "only caches of each loop are known here")
    end = len(kinds) - last
    if first > end:
        raise InputError(f"{f.where}: n_input_layers and n_output_layers are more than the layers")
    return kinds[:first] + kinds[first:end] * f.whole("n_recurrent_loops", (1, 1000)) + kinds[end:]


def cycled(f, count):
    """HRM: stacks of layers that run in cycles; a file of the older kind gives the layers of one stack."""
    f.see("L_bp_cycles")
    cycles = f.whole("H_cycles", (1, 1000)) * (f.whole("L_cycles", (1, 1000)) + 1)
    stack = f.optional("num_layers_per_stack", LAYERS)
    return ["full"] * (count if stack else count * cycles)


def shared_blocks(f, count):
    """Zamba: some layers are a shared attention block followed by a recurrent one."""
    start = ["recurrent", "recurrent", "both"]
    period, offset = f.whole("attn_layer_period", LAYERS), f.whole("attn_layer_offset", (0, LAYERS[1]))
    return [*start, *("both" if i % period == offset else "recurrent" for i in range(count - 3))][:count]


def repeated(f, count):
    """Griffin: a pattern of blocks, repeated."""
    pattern = f.names("block_types") or []
    if not pattern:
        raise InputError(f"{f.where}: block_types is missing; wanted a list of recurrent and attention")
    kinds = {"recurrent": "recurrent", "attention": "sliding"}
    for name in pattern:
        if name not in kinds:
            raise Refused("block_types", name, "layers of this kind keep something that is not known here")
    return [kinds[pattern[i % len(pattern)]] for i in range(count)]


def by_rope(name, interval, otherwise):
    """SmolLM3 and Llama 4: a number a layer, 1 where it has positions; without them it attends in full."""

    def kinds(f, count):
        flags = f.numbers(name, (0, 1))
        step = f.whole(interval, LAYERS, 4)
        if not flags:
            flags = [int((i + 1) % step != 0) for i in range(count)]
        if len(flags) != count:
            raise InputError(f"{f.where}: {name} has {len(flags)} entries; wanted {count}, one a layer")
        return [otherwise(f, flag) for flag in flags]

    return kinds


def sliding_without_positions(f, flag):
    """SmolLM3: a window where there are no positions, if windows are on."""
    on = f.flag("use_sliding_window") and f.get("sliding_window") is not None
    return "sliding" if on and not flag else "full"


def chunked_with_positions(f, flag):
    """Llama 4: chunks where there are positions, if the file gives their length."""
    return "chunked" if flag and f.get("attention_chunk_size") is not None else "full"


def prefixed(f, count):
    """Cohere: the first, dense layers have a period of their own."""
    dense = f.whole("first_k_dense_replace", (0, count), 0)
    head = every(1, "prefix_dense_sliding_window_pattern")(f, dense)
    return head + every(4, "sliding_window_pattern")(f, count - dense)


def in_turn(*pattern):
    """A pattern of kinds, repeated."""
    return lambda f, count: [pattern[i % len(pattern)] for i in range(count)]


def local_ids(f, count):
    """Inkling: the layers that have the window, by their numbers from 0; by default all but each sixth."""
    local = f.numbers("local_layer_ids", (0, count - 1))
    if local is None:
        return every(6)(f, count)
    return ["sliding" if i in local else "full" for i in range(count)]


def lfm3_layers(f, count):
    """A convolution in two of four layers, a window in one, full attention in one; the first is a convolution."""
    return ["full" if i % 4 == 2 else "sliding" if i % 4 == 0 and i else "convolution" for i in range(count)]


def crossing(f, count):
    """Mllama: the layers that attend to an image instead of the text."""
    crossed = f.numbers("cross_attention_layers", (0, count - 1))
    if crossed is None:
        raise InputError(f"{f.where}: cross_attention_layers is missing; wanted the layers that attend to images")
    _, kv, size = heads_and_size(f, 0)
    f.note(
        f"{len(crossed)} layers attend to images instead of the text; they keep {2 * kv * size * len(crossed):,} "
        "elements for each token of an image, which are not counted here"
    )
    return ["nothing" if i in crossed else "full" for i in range(count)]


# What an attending layer keeps.


def attention(kind, heads, key_dim, value_dim):
    """One layer that keeps keys and values."""
    return AttentionCache(kind=kind, layers=1, heads=heads, key_dim=key_dim, value_dim=value_dim)


def heads_and_size(f, layer, prefix=""):
    """Query heads, key-value heads and size of a head of one layer."""
    query = f.at(prefix + "num_attention_heads", layer, HEADS)
    kv = f.at(prefix + "num_key_value_heads", layer, (0, HEADS[1]), query)
    if kv and query % kv:
        raise InputError(
            f"{f.where}: {prefix}num_key_value_heads = {kv} does not divide {prefix}num_attention_heads = {query}"
        )
    size = f.get(prefix + "head_dim") and f.at(prefix + "head_dim", layer, WIDTH)
    return query, kv, size or f.quotient(prefix + "head_dim", f.whole("hidden_size", WIDTH), query)


def grouped(f, layer, kind):
    """Keys and values on so many key-value heads; a size of the head that is declared wins over hidden/heads."""
    _, kv, size = heads_and_size(f, layer)
    return attention(kind, kv, size, size)


def multi_head(f, layer, kind):
    """Keys and values on every head, whose size is hidden/heads: architectures older than grouped queries."""
    heads = f.whole("num_attention_heads", HEADS)
    size = f.quotient("hidden_size", f.whole("hidden_size", WIDTH), heads)
    return attention(kind, heads, size, size)


def heads_of(heads, size=None, width="hidden_size"):
    """Keys and values on every head, under other names; without a size of the head it is width/heads."""

    def kept(f, layer, kind):
        count = f.whole(heads, HEADS)
        dim = f.whole(size, WIDTH) if size else f.quotient(width, f.whole(width, WIDTH), count)
        return attention(kind, count, dim, dim)

    return kept


def latent(f, layer, kind):
    """Multi-head latent attention: one latent and one positional key, for all heads."""
    rank, rope = f.whole("kv_lora_rank", WIDTH), f.whole("qk_rope_head_dim", (0, WIDTH[1]))
    f.see(*SAID_BY_THE_LATENT)
    return attention("latent", 1, rank, rope)


SAID_BY_THE_LATENT = (  # heads and their sizes, which are rebuilt from it
    "num_attention_heads num_key_value_heads head_dim qk_head_dim qk_nope_head_dim v_head_dim"
).split()


def sliding_latent(f, layer, kind):
    """Dots: latent attention, of another rank where it has a window."""
    if kind != "sliding":
        return latent(f, layer, kind)
    rank = f.whole("kv_lora_rank", WIDTH) if f.has("per_layer_config") else f.whole("swa_kv_lora_rank", WIDTH, 1024)
    return attention("latent, sliding", 1, rank, f.whole("qk_rope_head_dim", WIDTH))


def twice(one):
    """LongCat: two attentions in each layer."""
    return lambda f, layer, kind: replace(one(f, layer, kind), layers=2)


def gemma4(f, layer, kind):
    """Full layers have heads of their own size, and of their own number where keys serve as values."""
    _, kv, size = heads_and_size(f, layer)
    if kind == "full" and not f.has("per_layer_config"):
        size = f.whole("global_head_dim", WIDTH, 512)
        of_full = f.optional("num_global_key_value_heads", HEADS)
        if f.flag("attention_k_eq_v", True):
            kv = of_full or kv
    f.see("attention_k_eq_v")
    return attention(kind, kv, size, size)


def mimo_v2(f, layer, kind):
    """Window layers have heads of their own; values are narrower than keys."""
    f.see("attention_chunk_size", "sliding_window_size")  # the window, under two more names
    prefix = "swa_" if kind == "sliding" else ""
    query = f.whole(prefix + "num_attention_heads", HEADS, f.whole("num_attention_heads", HEADS))
    kv = f.whole(prefix + "num_key_value_heads", HEADS, 8 if prefix else query)
    key = f.whole(prefix + "head_dim", WIDTH, f.whole("head_dim", WIDTH))
    value = f.whole(prefix + "v_head_dim", WIDTH, f.whole("v_head_dim", WIDTH))
    return attention(kind, kv, key, value)


def inkling(f, layer, kind):
    """Window layers have heads of their own."""
    prefix = "swa_" if kind == "sliding" else ""
    _, kv, size = heads_and_size(f, layer, prefix)
    return attention(kind, kv, size, size)


def falcon(f, layer, kind):
    """One key-value head, unless the decoder is of the new kind or multi-query is off."""
    heads = f.whole("num_attention_heads", HEADS)
    declared = f.optional("num_kv_heads", HEADS)
    many = f.flag("new_decoder_architecture") or not f.flag("multi_query", True)
    size = f.quotient("hidden_size", f.whole("hidden_size", WIDTH), heads)
    return attention(kind, (declared or heads) if many else 1, size, size)


def multi_query(f, layer, kind):
    """GPT-BigCode: one key-value head, or with ``multi_query`` off all of them."""
    heads = f.whole("num_attention_heads", HEADS)
    f.get("num_key_value_heads")
    size = f.quotient("hidden_size", f.whole("hidden_size", WIDTH), heads)
    return attention(kind, 1 if f.flag("multi_query", True) else heads, size, size)


def mosaic(f, layer, kind):
    """MPT and DBRX: the number of key-value heads stands in ``attn_config``."""
    heads = f.whole("n_heads", HEADS)
    size = f.quotient("d_model", f.whole("d_model", WIDTH), heads)
    return attention(kind, f.inner("attn_config").whole("kv_n_heads", HEADS, heads), size, size)


def zamba(f, layer, kind):
    """Attention over the state and the embedding together: twice as wide as the stream."""
    heads = f.whole("num_attention_heads", HEADS)
    kv = f.whole("num_key_value_heads", HEADS, heads)
    size = f.optional("attention_head_dim", WIDTH)
    size = size or f.quotient("attention_head_dim", 2 * f.whole("hidden_size", WIDTH), heads)
    f.get("attention_hidden_size")
    return attention(kind, kv, size, size)


def half_window(f, layer, kind):
    """ModernBERT: the window counts both sides, of which a decoder sees one."""
    f.see("sliding_window")
    cache = multi_head(f, layer, kind)
    if kind == "full":
        return cache
    return replace(cache, window=f.whole("local_attention", (2, TOKENS[1])) // 2)


def one_head(f, layer, kind):
    """DeepSeek-V4: keys that serve as values too, on one head."""
    f.see("num_key_value_heads", "num_attention_heads")
    return attention("sliding", 1, f.whole("head_dim", WIDTH), 0)


def jetmoe(f, layer, kind):
    """Each key-value head has ``kv_channels``, and serves as many queries as experts are chosen."""
    size = f.whole("kv_channels", WIDTH)
    f.see("num_attention_heads")
    return attention(kind, f.whole("num_key_value_heads", HEADS), size, size)


def chatglm(f, layer, kind):
    """Key-value heads are groups, if multi-query attention is on."""
    heads, size = f.whole("num_attention_heads", HEADS), f.whole("kv_channels", WIDTH)
    groups = f.optional("multi_query_group_num", HEADS)
    kv = (groups or 1) if f.flag("multi_query_attention") else heads
    return attention(kind, kv, size, size)


def by_layer(name):
    """Key-value heads listed layer by layer."""

    def kept(f, layer, kind):
        size = f.optional("head_dim", WIDTH)
        size = size or f.quotient("head_dim", f.whole("hidden_size", WIDTH), f.whole("num_attention_heads", HEADS))
        return attention(kind, f.at(name, layer, HEADS), size, size)

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
    return attention(kind, heads // group, size, size)


# What an attending layer keeps besides.


def no_more(f, layer, kind):
    """Nothing."""
    return ()


def indexer(f, layer, kind):
    """Sparse attention: a key by which the tokens attended to are chosen, in the layers that choose themselves."""
    f.see("index_n_heads", "index_topk", "index_share_for_mtp_iteration")
    if kind == "indexed" and index_types(f)[layer] == "full":
        yield attention("indexer", 1, f.whole("index_head_dim", WIDTH), 0)


def wide_indexer(f, layer, kind):
    """Dots: the same, kept in 32 bits."""
    return (replace(kept, precision=4.0) for kept in indexer(f, layer, kind))


def index_types(f):
    """Which layers choose by keys of their own, and which take the choice of one before."""
    count = f.whole("num_hidden_layers", LAYERS)
    types = f.names("indexer_types")
    pattern = f.get("index_topk_pattern")
    each = 4 if f.get("model_type") == "hy_v4" else 1
    period = f.whole("index_topk_freq", (0, LAYERS[1]), each) or 1
    offset = f.whole("index_skip_topk_offset", (0, LAYERS[1]), 2)
    if types is None and isinstance(pattern, str):
        types = [{"F": "full", "S": "shared"}.get(letter, letter) for letter in pattern]
    if types is None:
        return ["full" if max(i - offset + 1, 0) % period == 0 else "shared" for i in range(count)]
    if len(types) < count:
        raise InputError(f"{f.where}: indexer_types has {len(types)} entries; wanted {count}, one a layer")
    for i, text in enumerate(types):
        if text not in ("full", "shared"):
            raise Refused(f"indexer_types[{i}]", text, "full and shared are known")
    return types


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


# What a recurrent layer keeps. A convolution keeps the inputs that the next token needs: one fewer than its kernel.

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
    return BYTES.get(f.get("dtype"), 2.0)


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


# The table.


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
    ignored: str = ""  # fields whose names could mislead: they do not change what is kept


def kept_layers(family, f):
    """What the layers keep, those that keep the same together: caches, and recurrent states."""
    count = f.whole(family.count, LAYERS) if family.count else None
    f.see(*family.ignored.split(), *(HEAD_FIELDS if family.recurrent else ()))
    found = {}
    for layer, kind in enumerate(family.kinds(f, count)):
        for kept in kept_by(family, f.layer(layer), layer, kind):
            one = replace(kept, layers=1)
            found[one] = found.get(one, 0) + kept.layers
    kept = [replace(one, layers=count) for one, count in found.items()]
    caches = tuple(one for one in kept if isinstance(one, AttentionCache) and one.elements)
    return caches, tuple(one for one in kept if isinstance(one, RecurrentState))


HEAD_FIELDS = ("num_attention_heads", "num_key_value_heads")  # of no layer, where all recur


def kept_by(family, f, layer, kind):
    """What one layer keeps."""
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
    yield cache
    yield from family.more(f, layer, kind)


GPT2 = {"num_hidden_layers": ("n_layer",), "num_attention_heads": ("n_head",), "hidden_size": ("n_embd",)}
BART = Family(all_of("full"), heads_of("decoder_attention_heads", width="d_model"), count="decoder_layers")
PLAIN = Family(all_of("full"))
LISTED = Family(listed(all_of("full")))
OLD = Family(all_of("full"), multi_head)
LATENT = Family(all_of("full"), latent)
INDEXED = Family(listed(all_of("indexed"), full="indexed"), latent, more=indexer)
QWEN2 = Family(listed(sliding_above()))
BY_FOUR = Family(listed(every(4)))
BY_TWO = Family(listed(every(2)))
GEMMA3 = Family(listed(every(6, "sliding_window_pattern")))
GEMMA4 = Family(sharing_last(and_last(listed(every(6)))), gemma4)
DELTA = Family(listed(every(4, "full_attention_interval", "recurrent")), recurrent=gated_delta)
BAMBA = mamba2("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv")
INKLING = {"full": "full", "both": "full", "both, sliding": "sliding"}

FAMILIES = {
    **dict.fromkeys(
        # Keys and values of grouped heads, for every token, in every layer.
        "apertus apertus1p5_text arcee aria_text cohere deepseek diffllama doge emu3_text_model ernie4_5"
        " ernie4_5_moe exaone flex_olmo gemma glm glm4 glm4_moe granite granitemoe granitemoeshared helium hy_v3"
        " hyperclovax internlm2 internlm3 iquestcoder jais2 llama minicpm nanochat nemotron"
        " musicgen_decoder musicgen_melody_decoder"
        " olmo olmo2 olmoe orion persimmon phi phi4_multimodal sarvam_moe seed_oss solar_open stablelm telechat2"
        " telechat3 yi xverse bitnet".split(),
        PLAIN,
    ),
    **dict.fromkeys("mellum cohere_compass_text".split(), LISTED),
    "laguna": replace(LISTED, ignored="num_attention_heads_per_layer"),
    "minimax_m2": Family(by_flags("attn_type_list", all_of("full"), "full", "recurrent"), recurrent=lightning),
    "minimax_text_01": Family(
        by_flags("attn_type_list", missing("attn_type_list"), "full", "recurrent"), recurrent=lightning
    ),
    **dict.fromkeys("mistral mixtral moshi phi3 phimoe starcoder2 ministral3".split(), Family(sliding_if_given)),
    "ministral": Family(listed(sliding_if_given)),
    **dict.fromkeys(
        "qwen2 qwen2_moe qwen3 qwen3_vl_text qwen3_vl_moe_text qwen2_vl_text qwen2_5_vl_text mimo".split(), QWEN2
    ),
    "qwen3_moe": Family(sliding_above()),
    "dots1": Family(listed(sliding_above(switch=False))),
    "smollm3": Family(listed(by_rope("no_rope_layers", "no_rope_layer_interval", sliding_without_positions))),
    "hunyuan_v1_dense": Family(sharing_across(all_of("full"))),
    "hunyuan_v1_moe": Family(sharing_across(all_of("full"))),
    "hunyuan": Family(sharing_across(all_of("full"))),
    "llama4_text": Family(listed(by_rope("no_rope_layers", "no_rope_layer_interval", chunked_with_positions))),
    "mllama_text_model": Family(crossing),
    "gpt_oss": BY_TWO,
    **dict.fromkeys("gemma2 vaultgemma".split(), BY_TWO),
    **dict.fromkeys("olmo3".split(), BY_FOUR),
    "afmoe": Family(listed(every(4, "global_attn_every_n_layers"))),
    "cohere2": Family(listed(every(4, "sliding_window_pattern"))),
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
    "mimo_v2_flash": Family(
        by_flags("hybrid_layer_pattern", listed(where(lambda i, n: i == 0 or (i + 1) % 6 == 0)), "sliding", "full"),
        mimo_v2,
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
    **dict.fromkeys("axk1 deepseek_v2 deepseek_v3 glm4_moe_lite kimi_k2 minicpm3 sarvam_mla youtu".split(), LATENT),
    "longcat_flash": Family(all_of("full"), twice(latent), count="num_layers"),
    **dict.fromkeys("axk2 deepseek_v32 glm_moe_dsa hy_v4".split(), INDEXED),
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
        listed(missing("layers_block_type"), "layers_block_type"),
        zamba,
        mamba2("n_mamba_heads", "mamba_headdim", "mamba_ngroups", "mamba_d_state", "mamba_d_conv"),
        ignored="hybrid_layer_ids kv_channels num_mem_blocks num_query_groups",
    ),
    **dict.fromkeys("qwen3_next qwen3_5_text qwen3_5_moe_text".split(), DELTA),
    "olmo_hybrid": Family(listed(every(4, others="recurrent")), recurrent=gated_delta),
    "lara_mini": Family(listed(in_turn("recurrent", "sliding", "recurrent", "full", "sliding")), recurrent=gated_delta),
    "bailing_hybrid": Family(listed(every(6, "layer_group_size", "recurrent")), latent, kimi_delta),
    "kimi_linear": Family(listed(by_kimi_lists), latent, kimi_delta),
    "minimax": Family(listed(where(lambda i, n: i % 2, "full", "recurrent")), recurrent=lightning),
    **dict.fromkeys("lfm2 lfm2_moe".split(), Family(listed(by_indices("full_attn_idxs", "convolution", "full")))),
    "lfm3": Family(listed(lfm3_layers)),
    "recurrent_gemma": Family(repeated, recurrent=griffin, window="attention_window_size"),
    **dict.fromkeys(
        "mamba falcon_mamba".split(),
        Family(all_of("recurrent"), recurrent=mamba1("state_size", "conv_kernel", "expand")),
    ),
    "mamba2": Family(
        all_of("recurrent"), recurrent=mamba2("num_heads", "head_dim", "n_groups", "state_size", "conv_kernel")
    ),
    "rwkv": Family(all_of("recurrent"), recurrent=rwkv),
    # Shapes of their own.
    "nemotron-nas": Family(all_of("full"), nemotron_nas),
    "jetmoe": Family(all_of("full"), jetmoe),
    "falcon": Family(all_of("full"), falcon),
    "gpt_bigcode": Family(all_of("full"), multi_query, names=GPT2),
    "chatglm": Family(all_of("full"), chatglm, count="num_layers"),
    "openelm": Family(all_of("full"), by_layer("num_kv_heads"), count="num_transformer_layers"),
    "deci": Family(all_of("full"), by_layer("num_key_value_heads_per_layer")),
    "mpt": Family(all_of("full"), mosaic, count="n_layers"),
    "dbrx": Family(all_of("full"), mosaic, count="n_layers"),
    # One key and one value on each head: the older ones.
    "big_bird": replace(OLD, ignored="attention_type"),
    "bigbird_pegasus": replace(BART, ignored="attention_type"),
    **dict.fromkeys(
        "baichuan bert bert-generation biogpt camembert data2vec-text electra ernie fuyu git gpt_neox"
        " gpt_neox_japanese internlm megatron-bert opt rembert roberta roberta-prelayernorm roc_bert roformer"
        " xlm-roberta xlm-roberta-xl xmod".split(),
        OLD,
    ),
    **dict.fromkeys("gpt2 gpt-sw3 openai-gpt gptj codegen ctrl bloom".split(), replace(OLD, names=GPT2)),
    "gpt_neo": Family(by_attention_types, heads_of("num_heads"), count="num_layers"),
    "qwen": Family(all_of("full"), heads_of("num_attention_heads", "kv_channels")),
    "xglm": Family(all_of("full"), heads_of("attention_heads", width="d_model"), count="num_layers"),
    **dict.fromkeys("bart blenderbot blenderbot-small marian mbart mvp pegasus plbart whisper trocr".split(), BART),
    "xlm": Family(all_of("full"), heads_of("n_heads", width="emb_dim"), count="n_layers"),
    "prophetnet": Family(all_of("full"), heads_of("num_decoder_attention_heads"), count="num_decoder_layers"),
}
