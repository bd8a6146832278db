"""A model: its weights, and what each of its layers keeps and computes."""

import math
from dataclasses import dataclass, replace

from costlib import kv_cache, serving
from costlib.schema import Part, parts, size
from costlib.units import Quantity, show

__all__ = ["AttentionLayers", "Model"]

ONE_HEAD = Quantity(1.0, "head")
NO_STATE = Quantity(0.0, "byte")
NO_PARAMETERS = Quantity(0.0, "parameter")
ONE_EXPERT = Quantity(1.0, "expert")


@dataclass(frozen=True, kw_only=True)
class AttentionLayers:
    """Layers of one kind that attend: all of one geometry, all with the same window or none."""

    layers: Quantity = size("layer", 1, 1000, "layers of this kind")
    query_heads: Quantity = size("head", 1, 1024, "query heads")
    kv_heads: Quantity = size("head", 1, 1024, "key-value heads")
    key_dim: Quantity = size("channel/head", 8, 2048, "size of a key")
    value_dim: Quantity = size("channel/head", 8, 2048, "size of a value")
    window: Quantity | None = size("token", 1, 1e8, "tokens that a sliding window keeps", optional=True)
    latent_rank: Quantity | None = size("channel", 8, 16384, "rank of the latent of keys and values", optional=True)
    rope_dim: Quantity | None = size("channel", 1, 4096, "channels of the positional key beside it", optional=True)

    def __post_init__(self):
        if (self.latent_rank is None) != (self.rope_dim is None):
            raise ValueError("latent_rank and rope_dim belong together; one is missing")
        if self.kv_heads > self.query_heads:
            raise ValueError(f"kv_heads = {self.kv_heads:~P} is more than query_heads = {self.query_heads:~P}")

    @property
    def head_dim(self):
        """Mean size of a key and a value."""
        return (self.key_dim + self.value_dim) / 2

    @property
    def width(self):
        """Channels over which a prompt's attention computes."""
        return self.query_heads * self.head_dim

    @property
    def decode_width(self):
        """Channels over which a decoded token's attention computes: on the latent itself, where there is one."""
        if self.latent_rank is None:
            return self.width
        return self.query_heads / Quantity(1, "head") * (2 * self.latent_rank + self.rope_dim) / 2

    def bytes_per_token(self, kv_precision):
        """State that each token keeps in these layers, up to the window."""
        if self.latent_rank is not None:
            return kv_cache.latent_bytes_per_token(self.layers, self.latent_rank, self.rope_dim, kv_precision)
        return kv_cache.bytes_per_token(self.layers, self.kv_heads, self.head_dim, kv_precision)

    @property
    def stored_heads(self):
        """Heads by which tensor parallelism divides the state: key-value heads, or the one latent that all read."""
        return ONE_HEAD if self.latent_rank is not None else self.kv_heads

    def state_copies(self, ranks):
        """How many times so many accelerators that share these layers store each byte of their state."""
        return serving.state_copies(self.stored_heads, ranks)

    def shard(self, ranks):
        """These layers as one of so many accelerators that share them has them: its part of the heads, one at least."""

        def part(heads):
            return Quantity(float(math.ceil(heads.magnitude / ranks.magnitude)), "head")

        return replace(self, query_heads=part(self.query_heads), kv_heads=part(self.kv_heads))

    def divide_among(self, ranks):
        """Whether engines share these layers so: query heads divide evenly, and stored ones do or are copied evenly."""
        shares, stored = ranks.magnitude, self.stored_heads.magnitude
        return self.query_heads.magnitude % shares == 0 and (stored % shares == 0 or shares % stored == 0)


@dataclass(frozen=True, kw_only=True)
class Model(Part):
    """A decoder: the sums over its layers of what :mod:`costlib.serving` says of one."""

    parameters: Quantity = size("parameter", "1 Mparameter", "100 Tparameter", "weights, all experts included")
    active_parameters: Quantity | None = size(
        "parameter", "1 Mparameter", "100 Tparameter", "weights that one token uses", optional=True
    )
    experts: Quantity | None = size("expert", 2, 1e5, "experts of a layer that the router chooses from", optional=True)
    experts_per_token: Quantity | None = size("expert/token", 1, 1e4, "experts that it chooses", optional=True)
    layers: Quantity = size("layer", 1, 1000, "layers of every kind")
    width: Quantity = size("channel", 16, 1e6, "size of the residual stream")
    vocabulary: Quantity = size("token", 100, 1e7, "tokens that it can put out")
    context_limit: Quantity | None = size("token", 1, 1e12, "longest context that it is made for", optional=True)
    attention: tuple[AttentionLayers, ...] = parts(AttentionLayers, "layers that attend, by kind")
    recurrent_state: Quantity | None = size(
        "byte", "1 B", "1 TB", "state a sequence of layers that do not attend", optional=True
    )

    def __post_init__(self):
        mixture = (self.active_parameters, self.experts, self.experts_per_token)
        if any(mixture) and not all(mixture):
            raise ValueError("active_parameters, experts and experts_per_token belong together; not all are given")
        if self.experts:
            self._check_mixture()
        attending = sum(kind.layers for kind in self.attention)
        if attending > self.layers:
            raise ValueError(f"attention has {attending:~P}s, more than layers = {self.layers:~P}")

    def _check_mixture(self):
        """Refuse numbers that leave the experts no weights, or more than all."""
        chosen, experts = self.experts_per_token.m_as("expert/token"), self.experts.m_as("expert")
        if self.active_parameters >= self.parameters:
            raise ValueError(
                f"active_parameters = {self.active_parameters:~P} is not less than parameters = {self.parameters:~P}"
            )
        if chosen > experts:
            raise ValueError(
                f"experts_per_token = {self.experts_per_token:~P} is more than experts = {self.experts:~P}"
            )
        if chosen == experts:
            raise ValueError(
                f"experts_per_token = {chosen:g} is all of experts = {experts:g}; wanted fewer: "
                "a token that passes every expert passes all weights"
            )
        least = chosen / experts * self.parameters
        if self.active_parameters < least * (1 - 1e-9):
            given, least = (show(weights, "Gparameter", digits=6) for weights in (self.active_parameters, least))
            raise ValueError(
                f"active_parameters = {given} is less than {chosen:g} of {experts:g} experts can have; "
                f"wanted at least that share of parameters, {least}"
            )

    @property
    def active(self):
        """Weights that one token passes through: all, unless it is a mixture of experts."""
        return self.active_parameters or self.parameters

    @property
    def whole_context(self):
        """The layers whose state grows with the whole context; the first kind where all have a window."""
        return next((kind for kind in self.attention if kind.window is None), self.attention[0])

    def bytes_per_token(self, kv_precision):
        """State that one more token adds to a context longer than every window."""
        growing = [kind.bytes_per_token(kv_precision) for kind in self.attention if kind.window is None]
        return sum(growing, Quantity(0.0, "byte/token"))

    def context_state(self, context, kv_precision):
        """State of a whole context: what grows, what windows keep, and what recurrent layers hold."""
        kept = [
            kv_cache.context_state(context, kind.bytes_per_token(kv_precision), kind.window) for kind in self.attention
        ]
        return sum(kept, self.recurrent_state or NO_STATE)

    def divides_among(self, ranks):
        """Whether engines share a context among so many accelerators: the heads of each kind divide."""
        return all(kind.divide_among(ranks) for kind in self.attention)

    def shard(self, ranks):
        r"""What one of the accelerators has that share each context by tensor parallelism.

        .. math::

            M_{KV,rank}(T) = \frac{M_0}{t} + \sum_{kinds} \frac{\lceil H_{kv} / t \rceil}{H_{kv}} m_{token} \min(T, w)

        Parameters
        ----------
        ranks : Quantity [accelerator]
            Accelerators that share each context, t.

        Returns
        -------
        Model
            With its part of the weights and of the heads; its :meth:`context_state` is what the accelerator keeps.

        Notes
        -----
        Of each kind of layers, the key-value heads divide, H_kv of them, and a rank keeps at least one; a latent,
        which all heads read, stands whole on each. What layers that do not attend keep, M_0, divides by heads of
        their own. So do the weights, experts and all; :meth:`weights_on_each` has them where experts divide among more.

        References
        ----------
        Pope et al. (2022), doi:10.48550/arXiv.2211.05102

        Examples
        --------
        >>> from costlib import catalog, quantity, show
        >>> context, precision, eight = quantity("32768 token"), quantity("2 B/element"), quantity("8 accelerator")
        >>> heads, latent = catalog.part("model", "llama-3.1-70b"), catalog.part("model", "deepseek-v3")
        >>> [show(model.context_state(context, precision), "GB") for model in (heads, heads.shard(eight))]
        ['10.7 GB', '1.34 GB']
        >>> [show(model.context_state(context, precision), "GB") for model in (latent, latent.shard(eight))]
        ['2.30 GB', '2.30 GB']
        """
        share = {
            name: value / ranks.magnitude
            for name in ("parameters", "active_parameters", "recurrent_state")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, **share, attention=tuple(kind.shard(ranks) for kind in self.attention))

    def token_operations(self, context):
        """Arithmetic of one decoded token: its weights, and attention over the context before it."""
        over_context = [
            serving.attention_operations(context, kind.layers, kind.decode_width, kind.window)
            for kind in self.attention
        ]
        return sum(over_context, serving.token_operations(self.active))

    def prefill_operations(self, prompt, prefix=Quantity(0.0, "token")):
        """Arithmetic of prefilling a prompt behind a prefix: its weights, and causal attention."""
        attention = [
            serving.prefill_attention_operations(prompt, kind.layers, kind.width, prefix, kind.window)
            for kind in self.attention
        ]
        return serving.prefill_operations(prompt, self.active, sum(attention, Quantity(0.0, "operation")))

    def weights_read(self, tokens, weight_precision):
        """Weights that a pass over so many tokens reads: of a mixture, the experts that any of them chose."""
        if not self.experts:
            return serving.weight_bytes(self.parameters, weight_precision)
        return serving.weights_read(
            tokens, self.parameters, self.active, self.experts, self.experts_per_token, weight_precision
        )

    @property
    def expert_parameters(self):
        """Weights of the experts that routers choose from; none in a dense model."""
        if not self.experts:
            return NO_PARAMETERS
        return serving.expert_parameters(self.parameters, self.active, self.experts, self.experts_per_token)

    def weights_on_each(self, accelerators, ranks, weight_precision):
        """Weights that each of so many accelerators keeps, where so many of them share each context."""
        return serving.weights_on_each(
            accelerators, ranks, self.parameters, self.expert_parameters, self.experts or ONE_EXPERT, weight_precision
        )

    def attention_crossover(self):
        """Prompt length at which attention takes as much prefill arithmetic as the weights; infinite if none does."""
        windows = sorted({kind.window.m_as("token") for kind in self.attention if kind.window})
        for reach in [*windows, math.inf]:  # suppose that the crossing lies before this window is full
            crossing = self._crossover_with(reach)
            if crossing <= reach:
                break
        return Quantity(crossing, "token")

    def _crossover_with(self, reach):
        """The root of 2 a S^2 + 4 b S - 2 c = 2 N S, where a sums L d over the layers
        whose window is no shorter than reach, and b = L d w, c = L d w^2 over the others."""
        a = b = c = 0.0
        for kind in self.attention:
            ld = (kind.layers * kind.width).m_as("layer*channel")
            window = kind.window.m_as("token") if kind.window else math.inf
            if window >= reach:
                a += ld
            else:
                b += ld * window
                c += ld * window**2
        half = self.active.m_as("parameter") / 2 - b
        if a == 0:
            return math.inf if half >= 0 else -c / (2 * half)
        return (half + math.sqrt(half**2 + a * c)) / a
