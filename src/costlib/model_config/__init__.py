"""Reading a model's configuration: what its layers keep, and what engines reserve for it.

- :mod:`costlib.model_config.sources`: from a file, a folder or a repository's name
- :mod:`costlib.model_config.fields`: the fields of the file, watched so that none is overlooked
- :mod:`costlib.model_config.families`: how each architecture is read
- :mod:`costlib.model_config.layers`, :mod:`costlib.model_config.config`: what was read, and what it keeps
- :mod:`costlib.model_config.precision`: formats of the cache
"""

from costlib.model_config.config import ModelConfig
from costlib.model_config.fields import Refused
from costlib.model_config.sources import read, read_table
from costlib.schema import InputError

__all__ = ["InputError", "ModelConfig", "Refused", "read", "read_table"]
