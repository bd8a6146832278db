"""What a model's weights take: as given, as their files are, or counted at a precision."""

import re
from dataclasses import dataclass

from costlib import serving
from costlib.model_config.fields import Refused
from costlib.model_config.precision import precision_of
from costlib.schema import InputError
from costlib.units import Quantity, show

__all__ = ["Weights", "counted_weights", "weights_of"]


@dataclass(frozen=True)
class Weights:
    """Size of all weights of a model.

    Parameters
    ----------
    size : Quantity [byte]
    source : str
        Where it is from, in words.
    formula : str, optional
        How it comes about, where it was counted.
    precision : Quantity [byte/parameter], optional
        At which it was counted.
    assumptions : tuple of str
        What was taken for granted.
    """

    size: Quantity
    source: str
    formula: str | None = None
    precision: Quantity | None = None
    assumptions: tuple[str, ...] = ()


def weights_of(model, given=None, precision=None):
    """Size of all weights: as given, as their files have it, or as the parameters take.

    Parameters
    ----------
    model : ModelConfig
        What was read of the model.
    given : Quantity [byte], optional
        Their size, which then is the answer.
    precision : Quantity [byte/parameter], optional
        Stored size of every weight, at which they are then counted.

    Returns
    -------
    Weights

    Raises
    ------
    InputError
        If it is not known how many there are, and no size is given.
    Refused
        If the file declares a quantisation, and no size is known.
    """
    if given is not None:
        return Weights(given, "as given")
    if precision is None and model.weights is not None:
        return Weights(model.weights, "as their files are")
    return counted_weights(model, precision)


def counted_weights(model, precision=None):
    """Size of all parameters where each is stored alike, at a precision given or the one that the file declares.

    Parameters
    ----------
    model : ModelConfig
        What was read of the model.
    precision : Quantity [byte/parameter], optional
        Stored size of every weight; by default that of the numbers' format which the file declares.

    Returns
    -------
    Weights

    Raises
    ------
    InputError
        If it is not known how many there are.
    Refused
        If no precision is given and the file declares a quantisation.
    """
    if model.parameters is None:
        raise InputError(f"{model.name}: how many weights it has is not known here; wanted --weights")
    stored = precision or _declared(model)
    parameters = Quantity(float(model.parameters.total), "parameter")
    bits = f"{show(stored.m_as('bit/parameter'), digits=5)} bits"
    return Weights(
        size=serving.weight_bytes(parameters, stored),
        source=f"counted at {bits}",
        formula=f"{show(parameters, digits=15)} × {show(stored, 'byte/parameter', digits=5)}",
        precision=stored,
        assumptions=() if precision else (f"weights at {bits}; the file declares no quantisation{_by_name(model)}",),
    )


def _by_name(model):
    """What to ask where a name says that weights are quantised, and the file does not."""
    found = re.search(
        r"(?:^|[-_/. ])(fp8|nvfp4|mxfp4|fp4|int4|int8|awq|gptq|w4a16|w8a8)(?:$|[-_/. ])", model.name, re.I
    )
    return f", though its name says {found[1]}: --weight-precision or --weights" if found else ""


def _declared(model):
    """Stored size of a weight that is not quantised."""
    if model.quantisation is not None:
        raise Refused(
            model.quantisation,
            model.weight_format,
            "how small it makes which weights is not known here; "
            "--weights, the size of its files, is exact, "
            "while --weight-precision, such as fp8, takes every parameter to be stored so",
        )
    return precision_of(model.fields.text("dtype") or "bf16") * Quantity(1, "element/parameter")
