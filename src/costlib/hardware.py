"""What a model runs on: an accelerator, and a node of several with the link between them."""

from dataclasses import dataclass

from costlib.schema import InputError, Part, size
from costlib.units import Quantity, show

__all__ = ["ALONE", "RATES", "WIDTHS", "Accelerator", "Link", "Node", "Price"]

RATES = {"16-bit": "rate_16bit", "8-bit": "rate_8bit", "4-bit": "rate_4bit"}  # by arithmetic, the widest first
WIDTHS = {"16-bit": 16, "8-bit": 8, "4-bit": 4}  # bits
ALONE = "none"  # in the place of a link: of an accelerator that has none to others of its kind


@dataclass(frozen=True, kw_only=True)
class Accelerator(Part):
    """One accelerator: its memory, the two rates of the roofline, and the name of the link to others of its kind."""

    memory: Quantity = size("byte", "1 GB", "5 TB", "memory")
    bandwidth: Quantity = size("byte/second", "1 GB/s", "100 TB/s", "memory bandwidth")
    rate_16bit: Quantity | None = size("operation/second", "0.1 Top/s", "100 Pop/s", "dense 16-bit rate", optional=True)
    rate_8bit: Quantity | None = size("operation/second", "0.1 Top/s", "100 Pop/s", "dense 8-bit rate", optional=True)
    rate_4bit: Quantity | None = size("operation/second", "0.1 Top/s", "100 Pop/s", "dense 4-bit rate", optional=True)
    link: str | None = None  # not known

    @property
    def arithmetics(self):
        """The precisions that it has a rate for, the widest first."""
        return [name for name, rate in RATES.items() if getattr(self, rate) is not None]

    def peak_rate(self, arithmetic):
        """Dense rate at the precision computed in: '16-bit', '8-bit' or '4-bit'."""
        rate = getattr(self, RATES[arithmetic])
        if rate is None:
            has = ", ".join(self.arithmetics) or "none"
            raise InputError(f"{self.title} has no {arithmetic} rate here; it has {has}")
        return rate


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """A link: what one accelerator sends over it, each way, and what a message costs however small."""

    bandwidth: Quantity = size("byte/second", "1 MB/s", "10 TB/s", "bandwidth each way")
    latency: Quantity | None = size("second", "1 ns", "1 s", "time of a message of no size", optional=True)


@dataclass(frozen=True, kw_only=True)
class Node(Part):
    """Accelerators that serve one model together, and the names of the links to each other and to the host."""

    accelerators: Quantity = size("accelerator", 1, 1024, "accelerators in the node")
    link: str
    host_link: str

    @property
    def changed_title(self):
        """Its title says how many accelerators it has, and over what: so does this."""
        return f"{show(self.accelerators, digits=9)} on {self.link}, {self.host_link} to the host"


@dataclass(frozen=True, kw_only=True)
class Price(Part):
    """What is charged: for tokens by a host, or for the hire of an accelerator."""

    input: Quantity | None = size(
        "USD/token", "0 USD/Mtoken", "1e6 USD/Mtoken", "price of a prompt token", optional=True
    )
    cached_input: Quantity | None = size(
        "USD/token", "0 USD/Mtoken", "1e6 USD/Mtoken", "price of a prompt token found in a cache", optional=True
    )
    output: Quantity | None = size(
        "USD/token", "0 USD/Mtoken", "1e6 USD/Mtoken", "price of an output token", optional=True
    )
    hire: Quantity | None = size("USD/hour/accelerator", 0, 1e4, "hire of an accelerator", optional=True)
