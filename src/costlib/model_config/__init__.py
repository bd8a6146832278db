"""Reading a model's configuration: what its layers keep, and what engines reserve for it.

- :mod:`costlib.model_config.sources`: from a file, a folder or a repository's name
- :mod:`costlib.model_config.gguf`: from the header of a GGUF file
- :mod:`costlib.model_config.fields`: the fields of the file, watched so that none is overlooked
- :mod:`costlib.model_config.families`: the table of architectures; a new one is a row there, with
  :mod:`costlib.model_config.layer_kinds` of its layers, what they keep by :mod:`costlib.model_config.attention` and
  :mod:`costlib.model_config.recurrent`, and ``make oracle`` for its defaults
- :mod:`costlib.model_config.layers`, :mod:`costlib.model_config.config`: what was read, and what it keeps
- :mod:`costlib.model_config.precision`: formats of the cache
- :mod:`costlib.model_config.parameters`: how many weights there are, by a row of the table in
  :mod:`costlib.model_config.parameter_table`, made of :mod:`costlib.model_config.parameter_blocks`
- :mod:`costlib.model_config.weights`: what they take
- :mod:`costlib.model_config.scenario`: to the catalog's kind of model, and to a scenario file
- :mod:`costlib.model_config.engines`, :mod:`costlib.model_config.llama_cpp`: what engines reserve
- :mod:`costlib.model_config.rank`: what one of several accelerators that share a model has room for
- :mod:`costlib.model_config.measured`, :mod:`costlib.model_config.oracle`: what the public code keeps
"""

from costlib.model_config.config import ModelConfig
from costlib.model_config.fields import Refused
from costlib.model_config.sources import read, read_table
from costlib.schema import InputError

__all__ = ["InputError", "ModelConfig", "Refused", "read", "read_table"]
