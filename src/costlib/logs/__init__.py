"""Reading the logs of serving engines, and setting them against what was predicted.

- :mod:`costlib.logs.vllm`, :mod:`costlib.logs.sglang`, :mod:`costlib.logs.llama_cpp`, :mod:`costlib.logs.ollama`,
  :mod:`costlib.logs.tensorrt_llm`: the lines of each, as a table, and what they make together
- :mod:`costlib.logs.lines`: one line; :mod:`costlib.logs.reader`: all of a file; :mod:`costlib.logs.startup`: the
  lines of one start-up; :mod:`costlib.logs.log`: what it says
- :mod:`costlib.logs.comparison`: a log against the prediction for a model, the difference explained, engine by engine
- :mod:`costlib.logs.fit`: constant and slope of the state, from several runs
"""

from costlib.logs.comparison import Comparison, compared
from costlib.logs.fit import Fit, fitted, point
from costlib.logs.lines import lines_of
from costlib.logs.log import Log, Pool, Rank, Use
from costlib.logs.reader import read

__all__ = ["Comparison", "Fit", "Log", "Pool", "Rank", "Use", "compared", "fitted", "lines_of", "point", "read"]
