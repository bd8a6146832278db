"""The fields of the control above a page: what each is called, how it is typed or chosen, and where it stands.

A field is a part of a scenario, as in ``model``, or a value of a part, as in ``workload.context``.
"""

import dataclasses
import functools
from dataclasses import dataclass

from costlib import catalog, scenario
from costlib.units import quantity

__all__ = ["FIELDS", "Field", "numbers", "reference", "schema"]


@dataclass(frozen=True)
class Field:
    """One field of the control: chosen from the catalog, or typed in its unit, or in another one.

    ``step`` is the large step of a dial: ``"doubling"`` or ``"1-2-5"``; empty where no sentence has one. The small one
    is of the second digit, and of ``least`` at the least; without it, all steps are large.
    """

    key: str
    label: str
    group: str
    unit: str = ""
    step: str = ""
    least: float = 0

    @property
    def choices(self):
        """Pairs of a name and what it is called; empty where a value is typed. The published one has an empty name."""
        part, dot, _ = self.key.partition(".")
        if not dot:
            kind = part.removeprefix("host_")
            catalogued = [(name, catalog.part(kind, name).title) for name in catalog.names(kind)]
            return [("", getattr(reference(), part).title), *catalogued]
        return [(option, option) for option in schema(self.key).get("options", ())]

    def of(self, case):
        """What a scenario has there; None where it has none."""
        part, _, name = self.key.partition(".")
        return getattr(getattr(case, part), name)

    def stands(self, case):
        """The same as a number in the field's unit, or a text."""
        value = self.of(case)
        return value if value is None or isinstance(value, str) else self._number(value)

    def typed(self, value):
        """A quantity as it is typed."""
        return f"{self._number(value):.15g} {self.unit}".strip()

    @property
    def published(self):
        """The published value, as it would be typed; empty for a part, and where there is none."""
        if "." not in self.key or (value := self.of(reference())) is None:
            return ""
        return value if isinstance(value, str) else self.typed(value)

    @property
    def limits(self):
        """The least and the most, in its unit; None where no number is wanted."""
        known = schema(self.key)
        return (self._number(known["low"]), self._number(known["high"])) if "low" in known else None

    def _number(self, value):
        one = _one(self.unit)
        return float(f"{value.m_as(one.units) / one.magnitude:.15g}")


@functools.cache
def _one(unit):
    """One of a unit, as it is typed: "billion parameters"."""
    return quantity(f"1 {unit}")


HARDWARE, MORE = "Model and hardware", "Workload and runtime"
MODEL, CARD, LINKS = "The model itself", "The accelerator itself", "Links"
FIELDS = [
    Field("model", "Model", HARDWARE),
    Field("accelerator", "Accelerator", HARDWARE),
    Field("node", "Node", HARDWARE),
    Field("node.accelerators", "Accelerators per node", HARDWARE, "accelerators", "doubling"),
    Field("precision.weights", "Weights as read", HARDWARE, "B/parameter", "doubling"),
    Field("reserve.weights", "Weights in memory", HARDWARE, "B/parameter", "doubling"),
    Field("precision.kv_cache", "KV cache", HARDWARE, "B/element", "doubling"),
    Field("precision.arithmetic", "Arithmetic", HARDWARE),
    Field("workload.context", "Context", HARDWARE, "tokens", "doubling", 1),
    Field("workload.prompt", "Prompt", MORE, "tokens", "doubling", 1),
    Field("workload.output", "Output", MORE, "tokens", "doubling", 1),
    Field("workload.observation", "Observation of a tool", MORE, "tokens", "doubling", 1),
    Field("workload.batch", "Batch", MORE, "streams", "doubling", 1),
    Field("workload.token_rate", "Output rate of a stream", MORE, "tokens/s/stream", "1-2-5", 0.01),
    Field("workload.start_rate", "Starts of trajectories", MORE, "trajectories/s", "1-2-5", 0.01),
    Field("workload.turns", "Turns of a trajectory", MORE, "", "1-2-5", 1),
    Field("workload.model_time", "Model time of a turn", MORE, "s", "1-2-5", 0.01),
    Field("workload.tool_time", "Tool time of a turn", MORE, "s", "1-2-5", 0.01),
    Field("reserve.runtime", "Runtime and activations", MORE, "GB", "1-2-5", 0.01),
    Field("model.parameters", "Parameters", MODEL, "billion parameters"),
    Field("model.active_parameters", "Active parameters", MODEL, "billion parameters"),
    Field("accelerator.title", "Name of the accelerator", CARD),
    Field("accelerator.memory", "Memory of one", CARD, "GB"),
    Field("accelerator.bandwidth", "Memory bandwidth", CARD, "TB/s"),
    Field("accelerator.rate_16bit", "Dense 16-bit rate", CARD, "Top/s"),
    Field("accelerator.rate_8bit", "Dense 8-bit rate", CARD, "Top/s"),
    Field("accelerator.rate_4bit", "Dense 4-bit rate", CARD, "Top/s"),
    Field("link.bandwidth", "Link bandwidth", LINKS, "GB/s"),
    Field("link.latency", "Link latency", LINKS, "ns"),
    Field("host_link.bandwidth", "Host link bandwidth", LINKS, "GB/s"),
    Field("host_link.latency", "Host link latency", LINKS, "ns"),
]


def reference():
    """The published scenario."""
    return scenario.load(scenario.REFERENCE)


def schema(key):
    """What the scenario's schema says of a value; nothing of a whole part, or of what it does not know."""
    part, _, name = key.partition(".")
    if part not in scenario.PARTS:
        return {}
    return next((f.metadata for f in dataclasses.fields(scenario.PARTS[part]) if f.name == name), {})


def numbers(case):
    """Where the typed fields of a scenario stand, and its dials: as :meth:`Field.stands`."""
    return {field.key: field.stands(case) for field in _typed()}


@functools.cache
def _typed():
    return [field for field in FIELDS if not field.choices]
