"""What one of several accelerators that share a model has room for."""

import bisect
import dataclasses
import functools

from costlib import capacity
from costlib.arguments import ArgumentError
from costlib.model_config.engines import vllm
from costlib.model_config.fields import TOKENS, Refused
from costlib.units import Quantity, show

__all__ = ["Rank"]

LONGEST = TOKENS[1]


class Rank:
    """One of so many accelerators that share every layer by tensor parallelism, and what it keeps of a session."""

    def __init__(self, model, context, precision, count):
        self.count, self._model, self._precision = count, self._shard(model, count), precision
        self._context = int(context.m_as("token"))
        self._once = model.state(context, precision)
        self._longest = min(model.context_limit or LONGEST, LONGEST)
        self.state = functools.cache(self.state)  # asked for again and again, by every accelerator
        self._reserved, self.assumptions, self._lacks = self._in_vllm(model, context)

    @staticmethod
    def _shard(model, count):
        """The model as a rank keeps it: its share of the heads, one at least, and its share of recurrent states."""

        def shared(kept, *fields):
            return dataclasses.replace(kept, **{field: -(-getattr(kept, field) // count) for field in fields})

        return dataclasses.replace(
            model,
            caches=tuple(shared(cache, "heads") for cache in model.caches),
            states=tuple(shared(state, "elements", "conv_elements") for state in model.states),
        )

    def state(self, tokens):
        return self._model.state(Quantity(float(tokens), "token"), self._precision).to("byte")

    @property
    def copies(self):
        """How many times the accelerators store each byte of state between them."""
        if not self._once.magnitude:
            return Quantity(1.0, "")
        return Quantity(max(1.0, (self.count * self.state(self._context) / self._once).m_as("")), "")

    def _in_vllm(self, model, context):
        """What vLLM reserves for a session and by which settings, or why it cannot serve it so."""
        try:
            reserved = vllm(model, context, self._precision, tensor_parallel=self.count)
        except (ArgumentError, Refused) as error:
            return None, (), str(error)
        return reserved.total, reserved.assumptions, None

    def holds(self, room):
        """What a session takes, the longest context for which there is room, the sessions, and why there are none."""
        lengths, space = range(1, self._longest + 1), room.m_as("byte")
        state = self.state(self._context)
        return {
            "state_bytes": state,
            "vllm_bytes": self._reserved,
            "longest_context": bisect.bisect_right(lengths, space, key=lambda tokens: self.state(tokens).magnitude),
            "sessions": _sessions(room, state),
            "sessions_vllm": None if self._lacks else _sessions(room, self._reserved),
            "assumptions_vllm": list(self.assumptions),
            "why_not": _why_not(room, state, "a session takes {} on each"),
            "why_not_vllm": self._lacks or _why_not(room, self._reserved, "it reserves {} on each for a session"),
        }


def _sessions(room, state):
    return int(capacity.resident_sequences(room, state).magnitude)


def _why_not(room, state, what):
    """Why there is no session; None where there is one."""
    if room.magnitude <= 0:
        return "no room beside the weights"
    return None if _sessions(room, state) else what.format(show(state, "GB", digits=4))
