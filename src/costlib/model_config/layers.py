"""What the layers of a model keep of one sequence, by kind.

Counts are plain whole numbers, as a configuration file has them; what is
computed from them carries units.
"""

from dataclasses import dataclass

from costlib.units import Quantity, minimum

__all__ = ["AttentionCache", "RecurrentState"]

ONE_TOKEN = Quantity(1.0, "token")


@dataclass(frozen=True, kw_only=True)
class AttentionCache:
    """Layers of one geometry that keep an entry for each token, or for the last so many.

    Parameters
    ----------
    kind : str
        ``full``, ``sliding``, ``chunked``, ``latent``, ``indexer``, ``compressed`` or ``cross``.
    layers : int
        How many layers keep their own; those that read another's keep none.
    heads : int
        Key-value heads; 1 for a latent that all heads share.
    key_dim, value_dim : int
        Elements of a key and of a value on one head; of a latent, its rank and the channels of its positional key.
    window : int, optional
        Tokens kept at most.
    stride : int
        Tokens that share one entry.
    remainder : bool
        Whether it holds the tokens that do not fill a stride yet, one entry each.
    precision : float, optional
        Bytes of an element, where it is not that of the cache.
    query_heads : int, optional
        Query heads that read an entry of keys and values, where they are known; they change nothing of what is kept.
    """

    kind: str
    layers: int
    heads: int
    key_dim: int
    value_dim: int
    window: int | None = None
    stride: int = 1
    remainder: bool = False
    precision: float | None = None
    query_heads: int | None = None

    @property
    def elements(self):
        """Elements of one entry, in all these layers."""
        return self.layers * self.heads * (self.key_dim + self.value_dim)

    @property
    def grows(self):
        """Whether it grows for as long as the sequence does."""
        return self.window is None and not self.remainder

    def entries(self, tokens):
        """Entries that a sequence of so many tokens keeps in a layer, each for one token or a few."""
        kept = tokens if self.window is None else minimum(tokens, self.window * ONE_TOKEN)
        if self.stride == 1:
            return kept
        stride = self.stride * ONE_TOKEN
        return kept % stride if self.remainder else kept // stride * ONE_TOKEN

    def bytes_per_entry(self, kv_precision):
        """Size of one entry in all these layers."""
        return (
            self.elements
            * (kv_precision if self.precision is None else Quantity(self.precision, "byte/element"))
            * (Quantity(1, "element/token"))
        )

    def state(self, tokens, kv_precision):
        """What a sequence of so many tokens keeps here."""
        return self.entries(tokens) * self.bytes_per_entry(kv_precision)

    def growth(self, kv_precision):
        """What one more token adds once every window is full."""
        if not self.grows:
            return Quantity(0.0, "byte/token")
        return self.bytes_per_entry(kv_precision) / self.stride


@dataclass(frozen=True, kw_only=True)
class RecurrentState:
    """Layers that keep a state of one size, however long the sequence is.

    Parameters
    ----------
    kind : str
        What they are: ``mamba``, ``mamba2``, ``delta rule``, ``convolution``, …
    layers : int
    elements : int
        Elements of the recurrent state of a layer.
    precision : float
        Bytes of each.
    declared : bool
        Whether the file or the architecture fixes them; otherwise an engine may choose.
    conv_elements : int
        Elements of the convolution's last inputs of a layer.
    conv_precision : float
        Bytes of each.
    """

    kind: str
    layers: int
    elements: int
    precision: float
    declared: bool = False
    conv_elements: int = 0
    conv_precision: float = 2.0

    @property
    def bytes_per_layer(self):
        """State of one layer, as a number of bytes."""
        return self.elements * self.precision + self.conv_elements * self.conv_precision

    @property
    def state(self):
        """What any sequence keeps here."""
        return Quantity(self.layers * self.bytes_per_layer, "byte")
