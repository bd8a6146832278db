"""The weights that a log says were loaded, beside those of the files or those counted."""

import re

from costlib.logs.comparison.judged import judged, not_predicted
from costlib.logs.comparison.settings import RANKS, split
from costlib.model_config.precision import precision_of
from costlib.serving import weight_bytes
from costlib.units import Quantity

__all__ = ["weights"]

PER_PARAMETER = Quantity(1, "element/parameter")
VOCABULARY = 64  # rows of the table of tokens come in so many
SPLIT = ("vllm", "sglang", "tensorrt_llm")  # whose ranks hold parts of each layer
SIXTEEN_BITS = ("F16", "BF16")  # files of llama.cpp whose weights are as in the model's
FEWER = 0.9  # of the declared format, below which weights are stored otherwise


def weights(log, model, ranks):
    """The weights of all ranks that say so, against the prediction; nothing where none says so."""
    if log.weights is None:
        return
    predicted = _predicted(model)
    if why := _why_not(log, model, predicted):
        yield not_predicted("weights", log.weights, why)
        return
    speaking = sum(rank.weights is not None for rank in log.ranks)
    ranks *= log.settings.get("pipeline_parallel") or 1
    share = speaking / ranks if log.engine in SPLIT else 1
    expected, printed = predicted.m_as("byte") * share, log.weights.m_as("byte")
    candidates = [
        (name, lambda more=more: (expected + more * speaking, expected + more * speaking))
        for name, more in (_buffers(model, ranks) if log.engine == "vllm" else ())
    ]
    decimal = expected * 2**30 / 1e9
    candidates.append(("the size is in GB, not in GiB", lambda: (decimal, decimal)))
    if log.engine in SPLIT and ranks == 1 and "tensor_parallel" not in log.settings:
        parts = ((split(n), expected / n) for n in RANKS if n > 1)
        candidates += [(name, lambda part=part: (part, part)) for name, part in parts]
    otherwise = _otherwise(log, printed / expected, speaking, ranks, model)
    yield judged("weights", printed, "byte", log.rounding.get("weights", 0.0), (expected,) * 2, candidates, otherwise)


def _predicted(model):
    """The size of its files, or of all parameters in the declared format; None if that is not known."""
    if model.weights is not None:
        return model.weights
    fields = model.fields
    if model.parameters is None or fields is None or model.quantisation is not None:
        return None
    stored = precision_of(fields.text("dtype") or "bf16") * PER_PARAMETER
    return weight_bytes(Quantity(float(model.parameters.total), "parameter"), stored)


def _why_not(log, model, predicted):
    """Why the weights are not predicted; empty where they are."""
    if predicted is None and not model.parameters:
        return "how many weights it has is not known here"
    quantised = log.settings.get("quantisation", "None") != "None"
    if predicted is None or (quantised and model.weights is None):
        return "how its quantisation stores which weights is not known without its files"
    if log.engine not in SPLIT and model.weights is None and log.settings.get("file_type") not in SIXTEEN_BITS:
        return "how its file stores which weights is not known without it; wanted the .gguf file as CONFIG"
    if _replicas(log) > 1 and model.parameters and (model.parameters.active or 0) != model.parameters.total:
        return f"how its experts are shared out over {_replicas(log)} replicas is not known here"
    return ""


def _replicas(log):
    """Replicas of the attention that serve side by side, whose experts may lie on one of them only."""
    named = {found[0] for rank in log.ranks if (found := re.search(r"DP\d+", rank.name))}
    return max(len(named), log.settings.get("data_parallel", 1))


def _otherwise(log, ratio, speaking, ranks, model):
    """What is to be said of a difference that nothing closes."""
    if ratio < FEWER and model.weights is None and "quantisation" not in log.settings:
        return "they may be quantised, or split over ranks that do not speak, which the log does not say"
    if log.engine == "sglang":
        return "it is what loading took of the card's free memory, whatever took it"
    if log.engine in SPLIT and speaking != ranks:
        return f"{speaking} of {ranks} ranks, each of which keeps some parts whole"
    return "buffers, padding and parts that every rank keeps whole are not taken apart"


def _buffers(model, ranks):
    """What vLLM keeps beside the parameters, on each rank: name and bytes."""
    table = model.fields.table if model.fields is not None else {}
    found = [*_rotations(model, table), *_padding(table)] if ranks == 1 else [*_rotations(model, table)]
    yield from found
    if len(found) > 1:
        yield ", and ".join(name for name, _ in found), sum(size for _, size in found)
    if model.parameters and table.get("tie_word_embeddings") and ranks == 1:
        yield "the output head is kept apart from the table of tokens", model.parameters.embedding * 2


def _rotations(model, table):
    """The table of rotary positions, of all that the model was made for."""
    heads = [cache for cache in model.caches if cache.kind in ("full", "sliding", "chunked")]
    if model.context_limit and heads:
        width = round(heads[0].key_dim * (table.get("partial_rotary_factor") or 1))
        what = f"a table of rotations, {model.context_limit:,} tokens × {width} in 16 bits, is no parameter"
        yield what, model.context_limit * width * 2


def _padding(table):
    """Rows that fill up the table of tokens, and the output head where it is another."""
    rows, width = table.get("vocab_size"), table.get("hidden_size")
    if isinstance(rows, int) and isinstance(width, int) and rows % VOCABULARY:
        tables = 1 if table.get("tie_word_embeddings") else 2
        what = f"the table of tokens is padded to a multiple of {VOCABULARY}"
        yield what, -rows % VOCABULARY * width * tables * 2
