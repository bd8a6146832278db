"""What was read of a model, and what it keeps of a sequence."""

import math
from dataclasses import dataclass, field

from costlib.arguments import ArgumentError, extremes
from costlib.model_config.layers import AttentionCache, RecurrentState
from costlib.model_config.precision import precision_of
from costlib.units import Quantity

__all__ = ["ModelConfig"]

NONE = Quantity(0.0, "byte")
CACHE_UNDECLARED = "a cache of 16 bits; the file declares no dtype"
# Fields under which tools write what they did to the weights.
QUANTISATION = ("quantization_config", "quantization", "quant_config", "compression_config")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A model as its configuration describes it.

    Parameters
    ----------
    name : str
        How the file calls it.
    model_type : str
        Its architecture.
    caches : tuple of AttentionCache
        What its attending layers keep, by kind.
    states : tuple of RecurrentState
        What its recurrent layers keep, by kind.
    layers : int
        Layers of every kind.
    kv_format : str
        The format of the cache that the file declares: a name in :data:`costlib.model_config.precision.FORMATS`.
    context_limit : int, optional
        Tokens for which the model was made.
    query_heads : int, optional
        Query heads of a layer.
    parameters : Parameters, optional
        How many weights it has, where that is known.
    weights : Quantity [byte], optional
        What they take, where their files lie beside the configuration.
    assumptions : tuple of str
        What is not in the file and was taken for granted.
    notes : tuple of str
        What the answer does not contain.
    fields : Fields, optional
        What it was read from.
    """

    name: str
    model_type: str
    caches: tuple[AttentionCache, ...]
    states: tuple[RecurrentState, ...]
    layers: int
    kv_format: str = "bf16"
    context_limit: int | None = None
    query_heads: int | None = None
    parameters: object = None
    weights: Quantity | None = None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fields: object = field(default=None, repr=False, compare=False)

    @property
    def kv_precision(self):
        """Stored size of an element of the cache, as the file declares it."""
        return precision_of(self.kv_format)

    @property
    def quantisation(self):
        """The field in which the file says that its weights are quantised; None where it does not."""
        return self.fields and next((name for name in QUANTISATION if self.fields.has(name)), None)

    @property
    def weight_format(self):
        """How the file says that its weights are stored: the method that quantised them, or their numbers' format."""
        if self.fields is None:
            return None
        if self.quantisation is None:
            return self.fields.text("dtype")
        quantised = self.fields.get(self.quantisation)
        if not isinstance(quantised, dict):
            return str(quantised)
        bits = quantised.get("bits") or quantised.get("weight_bits")
        detail = quantised.get("quant_algo") or (f"{bits} bits" if bits else "")
        return ", ".join(filter(None, (str(quantised.get("quant_method", "quantised")), str(detail))))

    def assumed(self, kv_given):
        """What was taken for granted; of the size of the cache, nothing where that was given."""
        if not kv_given or CACHE_UNDECLARED not in self.assumptions:
            return self.assumptions
        convolutions = ["inputs of convolutions in 16 bits; the file declares no dtype"] if self.states else []
        return (*(text for text in self.assumptions if text != CACHE_UNDECLARED), *convolutions)

    def state(self, tokens, kv_precision=None):
        """What a sequence of so many tokens keeps: growing, in windows, and recurrent."""
        tokens, precision = _length(tokens), self.precision(kv_precision)
        return sum((cache.state(tokens, precision) for cache in self.caches), self.constant_state())

    def bytes_per_token(self, kv_precision=None):
        """What one more token adds once every window is full."""
        precision = self.precision(kv_precision)
        return sum((cache.growth(precision) for cache in self.caches), Quantity(0.0, "byte/token"))

    def window_state(self, tokens, kv_precision=None):
        """What a sequence of so many tokens keeps in layers that keep no more than a window."""
        tokens, precision = _length(tokens), self.precision(kv_precision)
        return sum((cache.state(tokens, precision) for cache in self.caches if not cache.grows), NONE)

    def constant_state(self):
        """What any sequence keeps in recurrent layers, however short it is."""
        return sum((state.state for state in self.states), NONE)

    def precision(self, given):
        """The stored size of an element: as given, or as the file declares it."""
        if given is None:
            return self.kv_precision
        if not isinstance(given, Quantity) or not given.is_compatible_with("byte/element") or not given.magnitude > 0:
            raise ArgumentError(f"kv_precision = {given!r}; wanted a quantity in bytes an element, more than zero")
        return given


def _length(tokens):
    """A number of tokens, refused where it is none."""
    if not isinstance(tokens, Quantity) or not tokens.is_compatible_with("token"):
        raise ArgumentError(f"tokens = {tokens!r}; wanted a quantity in tokens, zero or more")
    low, high = extremes(tokens.m_as("token"))
    if not 0 <= low <= high < math.inf:
        raise ArgumentError(f"tokens = {tokens:~P}; wanted a quantity in tokens, zero or more")
    return tokens.to("token")
