"""The kind of each layer of a model: one function for each way in which a file says them.

Each takes the fields and the number of layers; most are made by a function that takes what differs.
"""

from costlib.model_config.attention import heads_and_size
from costlib.model_config.fields import LAYERS, TOKENS, Refused
from costlib.schema import InputError

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


def check_length(f, name, entries, count):
    """Refuse a list that has not one entry a layer; those of layers that predict may stand at its end."""
    predictors = f.optional("num_nextn_predict_layers", PREDICTORS) or 0
    if len(entries) not in (count, count + predictors):
        raise InputError(f"{f.where}: {name} has {len(entries)} entries; wanted {count}, one a layer")


def all_of(kind):
    """Every layer the same."""
    return lambda f, count: [kind] * count


def listed(otherwise, name="layer_types", feeds_forward=False, **renamed):
    """As the file lists them, layer by layer; where it does not, by the architecture's own rule.

    Layers that only feed forward are listed by the few architectures that have them.
    """

    def kinds(f, count):
        names = f.names(name)
        if names is None:
            return otherwise(f, count)
        f.see(*SAID_BY_THE_LIST)
        check_length(f, name, names, count)
        found = [kind_of(text, f"{name}[{i}]") for i, text in enumerate(names[:count])]
        if "nothing" in found and not feeds_forward:
            i = found.index("nothing")
            raise Refused(f"{name}[{i}]", names[i], "this architecture is not known to have such layers")
        if "sliding" in found and f.table.get("use_sliding_window") is False:
            raise Refused("use_sliding_window", False, f"{name} names windows all the same")
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


def every_first(n, period=None, others="sliding"):
    """Full attention in the first layer and each n-th after it."""

    def kinds(f, count):
        step = n if period is None else f.whole(period, LAYERS, n)
        return [others if i % step else "full" for i in range(count)]

    return kinds


def and_last(kinds):
    """The last layer attends in full, whatever its turn."""
    return lambda f, count: [*kinds(f, count)[:-1], "full"]


def sliding_if_given(f, count):
    """A window in every layer, if the file gives one."""
    if f.table.get("use_sliding_window") is False and f.has("sliding_window"):
        raise Refused("use_sliding_window", False, "this architecture has the window all the same, some engines do not")
    f.see("use_sliding_window")
    return ["full" if f.get("sliding_window") is None else "sliding"] * count


def sliding_above(switch=True):
    """Qwen's rule: the layers from ``max_window_layers`` on have the window, if ``use_sliding_window`` is on."""

    def kinds(f, count):
        f.see("sliding_window", "max_window_layers")
        if (switch and not f.flag("use_sliding_window")) or f.get("sliding_window") is None:
            return ["full"] * count
        first = f.optional("max_window_layers", (0, LAYERS[1]))
        if first is None:
            raise InputError(f"{f.where}: max_window_layers is missing; wanted the first layer that has the window")
        return ["sliding" if i >= first else "full" for i in range(count)]

    return kinds


def sliding_below(f, count):
    """Qwen 2's mixtures: with ``use_sliding_window``, each second layer below ``max_window_layers`` has the window."""
    f.see("sliding_window", "max_window_layers")
    if not f.flag("use_sliding_window") or f.get("sliding_window") is None:
        return ["full"] * count
    end = f.whole("max_window_layers", (0, LAYERS[1]))
    return ["sliding" if i % 2 == 0 and i < end else "full" for i in range(count)]


def sliding_if_on(f, count):
    """Qwen 3's mixtures: with ``use_sliding_window``, every layer has the window."""
    f.see("sliding_window", "max_window_layers")
    on = f.flag("use_sliding_window") and f.get("sliding_window") is not None
    return ["sliding" if on else "full"] * count


def phi3_layers(f, count):
    """A window in every layer, if the file gives one; Phi 4 says besides that none attends in full for it."""
    f.optional("full_attn_mod", (1, 1))
    return sliding_if_given(f, count)


def by_period(f, count):
    """Jamba's rule: attention where layer modulo period is the offset."""
    period = f.whole("attn_layer_period", LAYERS)
    offset = f.whole("attn_layer_offset", (0, period - 1))
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
        check_length(f, name, flags, count)
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
        names = [name for pattern, times in groups for _ in range(min(times, count + 1)) for name in pattern]
        if not all(isinstance(name, str) for name in names):
            raise TypeError
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
    if (full is None) != (linear is None):
        raise InputError(f"{inner.where}: wanted full_attn_layers and kda_layers both, or neither")
    if full is None:
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
    sparse = f.inner("sparse_attention_config")
    flags = (
        sparse.numbers("sparse_attention_freq", (0, 1), count) if sparse.flag("use_sparse_attention", True) else None
    )
    sparse.see("sparse_attention_freq", "sparse_topk_blocks", "sparse_block_size", "sparse_local_block")
    sparse.see("sparse_num_index_heads", "sparse_disable_index_value", "sparse_init_block", "sparse_score_type")
    sparse.see("sparse_index_dim")
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
    kinds = listed(every(4), feeds_forward=True)(f, count)[:: 2 if halves else 1]
    first = f.whole("n_input_layers", (0, LAYERS[1])) // (2 if halves else 1)
    last = f.whole("n_output_layers", (0, LAYERS[1])) // (2 if halves else 1)
    f.get("n_recurrent_layers")
    mode = f.text("recurrent_kv_cache_mode")
    if mode != "per_loop":
        raise Refused("recurrent_kv_cache_mode", mode, "only caches of each loop are known here")
    end = len(kinds) - last
    if first > end:
        raise InputError(f"{f.where}: n_input_layers and n_output_layers are more than the layers")
    return kinds[:first] + kinds[first:end] * f.whole("n_recurrent_loops", (1, 100)) + kinds[end:]


def cycled(f, count):
    """HRM: stacks of layers that run in cycles; a file of the older kind gives the layers of one stack."""
    f.see("L_bp_cycles")
    cycles = f.whole("H_cycles", (1, 30)) * (f.whole("L_cycles", (1, 30)) + 1)
    stack = f.optional("num_layers_per_stack", LAYERS)
    return ["full"] * (count if stack else count * cycles)


def shared_blocks(f, count):
    """Zamba: some layers are a shared attention block followed by a recurrent one."""
    start = ["recurrent", "recurrent", "both"]
    period, offset = f.whole("attn_layer_period", LAYERS), f.whole("attn_layer_offset", (0, LAYERS[1]))
    return [*start, *("both" if i % period == offset else "recurrent" for i in range(count - 3))][:count]


def zamba2_layers(f, count):
    """Zamba 2: which layers begin with a shared attention block; known for its one depth only."""
    both = [*range(6, 43, 6), 47, 51]
    if count != 54:
        return missing("layers_block_type")(f, count)
    return ["both" if i in both else "recurrent" for i in range(count)]


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
