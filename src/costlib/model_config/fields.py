"""The fields of a model's configuration: typed, bounded, and watched, so that none is overlooked.

A reader asks for the fields that it understands. What it has asked for is
remembered; a field that is set, could change what the model keeps, and was
never asked for is a reason to refuse.
"""

import copy
import re

from costlib.schema import InputError

__all__ = ["Fields", "Inexpressible", "Refused"]


class Refused(InputError):
    """Something that is not understood, and what hangs on it.

    Parameters
    ----------
    field : str
        The field of the configuration.
    given : object
        Its value there; None where it is missing.
    why : str
        Why it matters.
    with_it, without_it : str, optional
        What the answer would be if it were heeded, and if it were not.
    """

    verdict = "is not understood"

    def __init__(self, field, given, why, with_it=None, without_it=None):
        self.field, self.given, self.why = field, given, why
        self.with_it, self.without_it = with_it, without_it
        answers = [f"{label} it: {answer}" for label, answer in (("with", with_it), ("without", without_it)) if answer]
        super().__init__(f"{field} = {_short(given)} {self.verdict}: {why}" + "".join(f"; {text}" for text in answers))


class Inexpressible(Refused):
    """Something that is understood, and that the model of a scenario has no words for."""

    verdict = "cannot be said in a scenario"


LAYERS = (1, 10_000)
HEADS = (1, 65_536)
WIDTH = (1, 10_000_000)
TOKENS = (1, 10**12)


class Fields:
    """The fields of one configuration.

    Parameters
    ----------
    table : mapping
        As the file has them.
    where : str
        How messages call the file.
    defaults : mapping, optional
        What the architecture's own code takes for a field that the file omits.
    aliases : mapping, optional
        Other names under which the architecture's code knows a field: asked name to names.
    """

    def __init__(self, table, where, defaults=None, aliases=None):
        self.table, self.where = table, where
        self._defaults, self._aliases = defaults or {}, aliases or {}
        self.consulted = set()
        self._children = {}
        self.assumptions = {}
        self.notes = []

    def get(self, name):
        """The value as the file has it, or the architecture's default; None where neither has one."""
        spellings = self._spellings(name)
        self.consulted.update(spellings)
        said = {spelling: self.table[spelling] for spelling in spellings if self.table.get(spelling) is not None}
        if len({repr(value) for value in said.values()}) > 1:
            both = " and ".join(f"{spelling} = {_short(value)}" for spelling, value in said.items())
            raise InputError(f"{self.where}: {both}; wanted one of them, they are names of the same")
        if said:
            return next(iter(said.values()))
        if any(spelling in self.table for spelling in spellings):
            return None
        for spelling in spellings:
            if (value := self._defaults.get(spelling)) is None:
                continue
            if value is not False:
                self.assumptions[name] = f"{name} = {_short(value)}, the architecture's own default; the file omits it"
            return value
        return None

    def filled(self):
        """What the file says, a null included, over what the architecture's own code takes for the rest."""
        said = {spelling for name in self.table for spelling in self._spellings(name)}
        said |= {name for name, others in self._aliases.items() if not said.isdisjoint(others)}
        return {name: value for name, value in self._defaults.items() if name not in said} | self.table

    def layer(self, number):
        """The fields as one layer sees them: ``per_layer_config`` may change some for it."""
        changes = self.get("per_layer_config")
        if changes is None:
            return self
        if not isinstance(changes, dict):
            raise InputError(
                f"{self.where}: per_layer_config = {_short(changes)}; wanted tables by number of the layer"
            )
        for key, table in changes.items():
            if not re.fullmatch(r"\d{1,5}", key, re.ASCII) or not isinstance(table, dict):
                raise InputError(f"{self.where}: per_layer_config {_short(key)}; wanted a table under a layer's number")
        mine = [table for key, table in changes.items() if int(key) == number]
        if len(mine) > 1:
            raise InputError(f"{self.where}: per_layer_config has layer {number} twice")
        view = copy.copy(self)
        view.table = {**self.table, **(mine[0] if mine else {})}
        return view

    def check_layers(self, count):
        """Refuse changes for layers that there are not."""
        for key in self.get("per_layer_config") or {}:
            if int(key) >= count:
                raise InputError(f"{self.where}: per_layer_config has layer {key}; wanted one of {count}, from 0")

    def see(self, *names):
        """Note fields as consulted: what they say is said by others, or does not change what is kept."""
        for name in names:
            self.consulted.update(self._spellings(name))

    def has(self, name):
        """Whether the file itself gives the field a value."""
        spellings = self._spellings(name)
        self.consulted.update(spellings)
        return any(self.table.get(spelling) is not None for spelling in spellings)

    def whole(self, name, bounds, default=None):
        """A whole number within bounds; the default, or where that is None an error, if there is none."""
        value = self.get(name)
        if value is None:
            if default is None:
                raise InputError(f"{self.where}: {name} is missing; wanted {_wanted(bounds)}")
            return default
        return self._checked(name, value, bounds)

    def optional(self, name, bounds):
        """A whole number within bounds, or None."""
        value = self.get(name)
        return None if value is None else self._checked(name, value, bounds)

    def at(self, name, layer, bounds, default=None):
        """A whole number that may differ from layer to layer: of this layer, where the field is a list."""
        value = self.get(name)
        if not isinstance(value, list):
            return self.whole(name, bounds, default)
        if layer >= len(value):
            raise InputError(f"{self.where}: {name} has {len(value)} entries; wanted one a layer, at least {layer + 1}")
        if value[layer] is None and default is not None:
            return default
        return self._checked(f"{name}[{layer}]", value[layer], bounds)

    def check_one_a_layer(self, name, count):
        """Refuse a list whose entries are not as many as the layers."""
        value = self.table.get(name)
        if isinstance(value, list):
            self._of_length(name, value, count)

    def flag(self, name, default=False):
        """A true or false."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{self.where}: {name} = {_short(value)}; wanted true or false")
        return value

    def names(self, name, length=None):
        """A list of texts, or None; of so many entries, where a length is given."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise InputError(f"{self.where}: {name} = {_short(value)}; wanted a list of names")
        self._of_length(name, value, length)
        return value

    def numbers(self, name, bounds, length=None):
        """A list of whole numbers, or None."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise InputError(f"{self.where}: {name} = {_short(value)}; wanted a list of whole numbers")
        self._of_length(name, value, length)
        return [self._checked(f"{name}[{i}]", entry, bounds) for i, entry in enumerate(value)]

    def text(self, name):
        """A text, or None."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{self.where}: {name} = {_short(value)}; wanted a text")
        return value

    def inner(self, name):
        """The fields of a nested table; empty where there is none."""
        value = self.get(name)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise InputError(f"{self.where}: {name} = {_short(value)}; wanted a table")
        return self._children.setdefault(name, Fields(value, f"{self.where}: {name}"))

    def quotient(self, name, above, below):
        """One whole number over another, which must divide it; the fallback for a field that is not given."""
        if above % below:
            raise InputError(
                f"{self.where}: {name} is missing, and {above} over {below} is not whole; wanted {name} itself"
            )
        return above // below

    def note(self, text):
        """Something to say beside the answer."""
        self.notes.append(text)

    def refuse_what_was_overlooked(self, answers):
        """Refuse a field that is set, may change what is kept, and that nobody asked for.

        ``answers`` gives, for a field's name and value, the answer with and without it.
        """
        for name, value in self.table.items():
            if name in self.consulted or value in (None, False, 0, "", [], {}) or not could_matter(name):
                continue
            why = (
                "its name says that it may change what is kept, and nothing is known of it here; "
                f"--assume {name}=null reads the file without it"
            )
            raise Refused(name, value, why, *answers(name, value))
        for child in self._children.values():
            child.refuse_what_was_overlooked(answers)
        self._refuse_what_layers_change(answers)

    def _refuse_what_layers_change(self, answers):
        """Refuse changes for single layers that nobody asked for."""
        for number, changes in (self.get("per_layer_config") or {}).items():
            for name, value in changes.items():
                if name not in self.consulted and could_matter(name):
                    why = f"it changes layer {number}, and this architecture is not known to read it"
                    raise Refused(f"per_layer_config.{name}", value, why, *answers(name, value))

    def _spellings(self, name):
        return name, *self._aliases.get(name, ())

    def _checked(self, name, value, bounds):
        low, high = bounds
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"{self.where}: {name} = {_short(value)}; wanted {_wanted(bounds)}")
        return value

    def _of_length(self, name, value, length):
        if length is not None and len(value) != length:
            raise InputError(f"{self.where}: {name} has {len(value)} entries; wanted {length}, one a layer")


_MATTERS = re.compile(
    r"attention|attn|block_type|blocks|chunk|conv|cross|cycles|delta|global|head|hybrid|index|interval"
    r"|kda|kv|latent|layer|linear|local|loop|lora_rank|lru|mamba|memory|multi_query|nextn|pattern|period|recurr"
    r"|mixer|query_groups|key_dim|value_dim|qk_dim|hyena|num_repeats|ut_steps|lookback|band_width|retention|rwkv"
    r"|share|sliding|sparse|ssm|state|stride|swa"
)
_HARMLESS = re.compile(
    # of the weights alone, or of how numbers are computed
    r"attention_bias|attention_dropout|attn_bias|attn_dropout|attn_pdrop|attn_implementation|layer_?norm|norm_|_norm"
    r"|mlp|moe|expert|ffn|intermediate|_eps$|epsilon|init|layerdrop|layer_drop|layer_scale|scale|scaling|multiplier"
    r"|softcap|logit|temperature|clip|bias$|act_fn|dtype|kernels|impl$|_fp32|fused|rope|rotary|rotate|theta"
    r"|position_embedding|token|tie_|classifier|header|dense_replace|sparse_step|router"
    r"|lm_head|head_bias|max_seq|max_length|^transformers_version$|residual|gating|_gate$|gate_|sinkhorn|hash_layers"
    r"|prompt|sparsity|feed_forward|pruned_heads|embedding|model_type|q_lora_rank|o_lora_rank|dropout"
    r"|(alpha|beta)_factor$|lower_bound"
    r"|per_layer_input|scalar|dense_layers|bidirectional|attn_res_block|activation|parallel|linear_(a|dt|allow)_"
    r"|^(unk|mask|pad|bos|eos|sep|cls|image|audio|video|ignore)_index|encoder_|hidden_act|_act$|dt_rank|random_blocks"
    r"|dual_chunk|normalization|flash|^_attn|^mm_|embd_layer"
)


# What is written about the cache itself matters whatever else the name says; but for these.
_CACHE = re.compile(r"window|(^|_)kv|cache|compress|(^|_)(mla|mqa|gqa|yoco)$")
_NOT_THE_CACHE = {"use_cache", "cache_implementation", "compress_rope_theta"}


def could_matter(name):
    """Whether a field of this name may change what a model keeps."""
    name = name.lower()
    if name in _NOT_THE_CACHE:
        return False
    return bool(_CACHE.search(name) or (_MATTERS.search(name) and not _HARMLESS.search(name)))


def _wanted(bounds):
    low, high = bounds
    return f"a whole number from {low:,} to {high:,}"


def _short(value):
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
