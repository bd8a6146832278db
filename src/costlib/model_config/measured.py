"""A second opinion: the public model code itself, run without weights or memory, and its cache counted.

PyTorch's meta device computes shapes only, so that a model of any size is
built and runs a prompt on any machine. Needs the extra ``measure``.
"""

import math
from dataclasses import dataclass

from costlib.schema import InputError

__all__ = ["Kept", "Measured", "measured"]


@dataclass(frozen=True)
class Kept:
    """One tensor that the public code keeps after a prompt.

    Parameters
    ----------
    what : str
        ``keys``, ``values``, ``conv_states``, …
    shape : tuple of int
    size : int
        Bytes of an element.
    """

    what: str
    shape: tuple[int, ...]
    size: int

    @property
    def bytes(self):
        """Bytes that it takes."""
        return math.prod(self.shape) * self.size

    @property
    def bytes_needed(self):
        """Bytes that the next token needs: the code keeps one input of a convolution more than that."""
        if "conv" in self.what:
            return self.bytes // self.shape[-1] * (self.shape[-1] - 1)
        return self.bytes


@dataclass(frozen=True)
class Measured:
    """What the public code builds and keeps.

    Parameters
    ----------
    parameters : int
        Weights, those that are tied counted once.
    kept : dict of int to tuple of Kept
        By the length of the prompt.
    """

    parameters: int
    kept: dict[int, tuple[Kept, ...]]

    def bytes(self, tokens):
        """Bytes that the next token after so many needs."""
        return sum(kept.bytes_needed for kept in self.kept[tokens])


def measured(table, lengths, dtype="bfloat16"):
    """Build the model that a configuration describes, run prompts of these lengths, and count what is kept.

    Parameters
    ----------
    table : dict
        What its ``config.json`` holds.
    lengths : iterable of int
        Tokens of each prompt.
    dtype : str
        Precision of the model's numbers, and so of its cache.

    Returns
    -------
    Measured

    Raises
    ------
    InputError
        If PyTorch and transformers are not installed, do not know the architecture, or cannot run it without weights.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise InputError(
            "measuring runs the public model code; "
            "install the extra measure: pip install '.[measure]' in costlib's folder"
        ) from None
    transformers.logging.set_verbosity_error()
    try:
        model = _built(table, getattr(torch, dtype))
        kept = {length: tuple(_kept(_cache_after(model, length))) for length in lengths}
    except Exception as error:  # whatever a model's own code raises
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"the public code of {table.get('model_type')!r} does not run so: {said[0][:200]}") from None
    weights = {id(weight): weight.numel() for weight in model.parameters()}
    return Measured(sum(weights.values()), kept)


def _built(table, dtype):
    import torch
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoModelForCausalLM
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    model_type = table.get("model_type")
    if model_type not in CONFIG_MAPPING:
        raise ValueError("transformers does not know it")
    config = CONFIG_MAPPING[model_type].from_dict({k: v for k, v in table.items() if k != "quantization_config"})
    text = config.get_text_config(decoder=True)
    config = text if type(text) in MODEL_FOR_CAUSAL_LM_MAPPING else config
    config._experts_implementation = "batched_mm"
    if hasattr(config, "is_decoder"):
        config.is_decoder = True
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="eager").eval()


def _cache_after(model, length):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class NoValues(TorchDispatchMode):
        """What a tensor's values would decide is taken for granted: no shape of the cache hangs on it."""

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            if operation is torch.ops.aten._local_scalar_dense.default:
                return args[0].dtype is torch.bool
            if operation is torch.ops.aten.nonzero.default:
                return torch.empty((0, args[0].ndim), dtype=torch.long, device="meta")
            return operation(*args, **(kwargs or {}))

    tokens = torch.zeros((1, length), dtype=torch.long, device="meta")
    with torch.no_grad(), NoValues():
        output = model(input_ids=tokens, use_cache=True)
    names = ("cache", "past_key_values", "cache_params", "state")
    cache = next((output[name] for name in names if output.get(name) is not None), None)
    if cache is None:
        raise ValueError("it hands out no cache")
    return cache


def _kept(cache):
    """The tensors in a cache, found wherever they lie."""
    import torch

    found, waiting, seen = [], [("", cache)], set()
    while waiting:
        what, thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            if thing.is_floating_point():
                found.append(Kept(what, tuple(thing.shape), thing.element_size()))
        elif isinstance(thing, dict):
            waiting += [(f"{what} {key}", value) for key, value in thing.items()]
        elif isinstance(thing, list | tuple):
            waiting += [(what, value) for value in thing]
        elif hasattr(thing, "__dict__") and not isinstance(thing, torch.nn.Module | type):
            waiting += [(key, value) for key, value in vars(thing).items() if not key.endswith("config")]
    return found
