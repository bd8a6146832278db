"""A log against the prediction for a model, and what explains the difference.

A prediction is an interval, since what it starts from was rounded to be printed.
Where the printed figure lies outside it, one setting after the other that the log
does not state is changed to what an engine may have had, and what brings the figure
into the interval is named. Nothing is fitted: if none does, that is said, and by how
much they differ.

- :mod:`costlib.logs.comparison.judged`: one figure beside its prediction
- :mod:`costlib.logs.comparison.settings`: what a log states of the settings, and what they may have been
- :mod:`costlib.logs.comparison.weights`: the weights, of all engines
- :mod:`costlib.logs.comparison.vllm`, :mod:`costlib.logs.comparison.sglang`,
  :mod:`costlib.logs.comparison.llama_cpp` (and ollama), :mod:`costlib.logs.comparison.tensorrt_llm`: the pools of each
"""

from costlib.arguments import ArgumentError
from costlib.logs.comparison import llama_cpp, sglang, tensorrt_llm, vllm
from costlib.logs.comparison.judged import AS_PREDICTED, Comparison
from costlib.logs.comparison.settings import ranks_of
from costlib.logs.comparison.weights import weights

__all__ = ["AS_PREDICTED", "Comparison", "compared"]

POOLS = {"vllm": vllm, "sglang": sglang, "llama.cpp": llama_cpp, "ollama": llama_cpp, "tensorrt_llm": tensorrt_llm}


def compared(log, model, *, kv_precision=None, tensor_parallel=None):
    """A log's figures beside the predictions for a model, with what explains their difference.

    Parameters
    ----------
    log : Log
        As :func:`costlib.logs.reader.read` gives it.
    model : ModelConfig
        As :func:`costlib.model_config.sources.read` gives it.
    kv_precision : Quantity [byte/element], optional
        Stored size of an element of the cache; by default what the log says, or else the model's file.
    tensor_parallel : int, optional
        Ranks that share the heads; by default as the log says.

    Returns
    -------
    list of Comparison
        Of what the log prints and the library predicts: weights, block, tokens, concurrency, what a sequence needs,
        and the pools.

    Raises
    ------
    InputError
        If the log's format of the cache is not known, and none is given.

    Examples
    --------
    >>> from costlib.logs import read
    >>> from costlib.model_config import read_table
    >>> log = read(["Available KV cache memory: 69.66 GiB", "GPU KV cache size: 652,144 tokens"])
    >>> model = read_table({"model_type": "qwen3", "num_hidden_layers": 28, "num_attention_heads": 16, "head_dim": 128,
    ...                     "num_key_value_heads": 8, "hidden_size": 1024, "dtype": "bfloat16"}, "example")
    >>> [(c.what, c.explanation) for c in compared(log, model)]
    [('tokens', 'as predicted, within the digits printed')]
    """
    found = [*weights(log, model, ranks_of(log, tensor_parallel, of="weights"))]
    try:
        found += POOLS[log.engine].pools(log, model, kv_precision, tensor_parallel)
    except ArgumentError as error:
        if log.cache is not None:
            found.append(Comparison("cache", None, log.cache, None, f"not predicted: {error}"))
    return found
