"""A small attention layer in NumPy, of each design, to show that its cache holds what the formulas say.

Each layer computes the same output in two ways: its method ``whole`` from all tokens at
once, without a cache, and ``step`` from one token and what is kept of those before it.
"""

import numpy as np

__all__ = ["GroupedAttention", "LatentAttention"]


class GroupedAttention:
    """Query heads in groups that share a key-value head: as many as query heads is multi-head, one is multi-query.

    Parameters
    ----------
    width, query_heads, kv_heads, head_dim : int
        The layer's geometry.
    storage : numpy dtype, optional
        In which the cache is kept.
    seed : int, optional
        Of the weights.
    """

    def __init__(self, width, query_heads, kv_heads, head_dim, storage=np.float64, seed=0):
        _check(width=width, query_heads=query_heads, kv_heads=kv_heads, head_dim=head_dim)
        if query_heads % kv_heads:
            raise ValueError(f"query_heads = {query_heads} is no multiple of kv_heads = {kv_heads}")
        if not np.issubdtype(storage, np.floating):
            raise ValueError(f"storage = {storage}; wanted a floating type")
        rng = np.random.default_rng(seed)
        self.query = rng.normal(0, width**-0.5, (width, query_heads, head_dim))
        self.key, self.value = rng.normal(0, width**-0.5, (2, width, kv_heads, head_dim))
        self.out = rng.normal(0, (query_heads * head_dim) ** -0.5, (query_heads, head_dim, width))
        self.storage = storage

    def empty_cache(self):
        """The keys and the values of no tokens."""
        shape = (0, *self.key.shape[1:])
        return {"keys": np.empty(shape, self.storage), "values": np.empty(shape, self.storage)}

    def kept_of(self, tokens, positions):
        """What tokens leave behind for those after them: a key, turned by its position, and a value."""
        keys = turned(project(tokens, self.key), positions)
        return {"keys": keys, "values": project(tokens, self.value)}

    def attend(self, tokens, positions, kept):
        """The output of tokens, from what is kept of all up to the last of them."""
        queries = turned(project(tokens, self.query), positions)
        group = queries.shape[1] // self.key.shape[1]
        keys, values = (np.repeat(np.asarray(kept[name], float), group, axis=1) for name in ("keys", "values"))
        return np.einsum("thd,hdw->tw", mixed(queries, keys, values, positions), self.out)

    def whole(self, tokens):
        """The output of all tokens, from all of them at once."""
        positions = np.arange(len(tokens))
        return self.attend(tokens, positions, self.kept_of(tokens, positions))

    def step(self, token, cache):
        """The output of one more token, and the cache with it."""
        position = np.array([len(next(iter(cache.values())))])
        added = self.kept_of(token[None], position)
        cache = {name: np.concatenate([kept, added[name].astype(self.storage)]) for name, kept in cache.items()}
        return self.attend(token[None], position, cache)[0], cache


class LatentAttention(GroupedAttention):
    """Keys and values of all heads rebuilt from one latent, beside one key for the position that all heads share.

    Parameters
    ----------
    width, query_heads, head_dim : int
        The layer's geometry.
    latent_rank, rope_dim : int
        Size of the latent, and of the positional key.
    storage : numpy dtype, optional
        In which the cache is kept.
    seed : int, optional
        Of the weights.
    """

    def __init__(self, width, query_heads, head_dim, latent_rank, rope_dim, storage=np.float64, seed=0):
        _check(latent_rank=latent_rank, rope_dim=rope_dim)
        super().__init__(width, query_heads, query_heads, head_dim, storage, seed)
        rng = np.random.default_rng([seed, 1])
        self.query_rope = rng.normal(0, width**-0.5, (width, query_heads, rope_dim))
        self.key_rope = rng.normal(0, width**-0.5, (width, 1, rope_dim))
        self.down = rng.normal(0, width**-0.5, (width, latent_rank))
        self.key, self.value = rng.normal(0, latent_rank**-0.5, (2, latent_rank, query_heads, head_dim))

    def empty_cache(self):
        """The latents and the positional keys of no tokens."""
        return {
            "latents": np.empty((0, self.down.shape[1]), self.storage),
            "rope_keys": np.empty((0, *self.key_rope.shape[1:]), self.storage),
        }

    def kept_of(self, tokens, positions):
        """What tokens leave behind: a latent, and a key turned by its position."""
        return {"latents": tokens @ self.down, "rope_keys": turned(project(tokens, self.key_rope), positions)}

    def attend(self, tokens, positions, kept):
        """The output of tokens, from what is kept of all up to the last of them."""
        latents, rope_keys = (np.asarray(kept[name], float) for name in ("latents", "rope_keys"))
        heads = self.key.shape[1]
        queries = [project(tokens, self.query), turned(project(tokens, self.query_rope), positions)]
        keys = [project(latents, self.key), np.repeat(rope_keys, heads, axis=1)]
        values = project(latents, self.value)
        both = (np.concatenate(parts, axis=-1) for parts in (queries, keys))
        return np.einsum("thd,hdw->tw", mixed(*both, values, positions), self.out)


PAIRED = ("head_dim", "rope_dim")


def _check(**sizes):
    """Refuse sizes that are no whole number, or odd where channels are turned in pairs."""
    for name, size in sizes.items():
        if size != int(size) or size < 1 or (name in PAIRED and size % 2):
            raise ValueError(f"{name} = {size}; wanted a whole number, {'even' if name in PAIRED else 'one or more'}")


def project(tokens, weights):
    """Each token through the weights of each head."""
    return np.einsum("tw,whd->thd", tokens, weights)


def turned(heads, positions):
    """Rotary embedding: pairs of channels turned by angles that grow with the position."""
    half = heads.shape[-1] // 2
    angles = positions[:, None, None] * 10_000.0 ** (-np.arange(half) / half)
    one, other = heads[..., :half], heads[..., half:]
    return np.concatenate(
        [one * np.cos(angles) - other * np.sin(angles), one * np.sin(angles) + other * np.cos(angles)], axis=-1
    )


def mixed(queries, keys, values, positions):
    """Values weighed by how well their keys answer the queries; none sees a token after its own."""
    scores = np.einsum("thd,shd->hts", queries, keys) / queries.shape[-1] ** 0.5
    later = np.arange(len(keys)) > positions[:, None]
    scores = np.where(later, -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(axis=-1, keepdims=True), values)
