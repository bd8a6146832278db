"""Parameters of a model, counted exactly from its configuration, family by family.

The count is that of the public model code (transformers 5.24): what
``AutoModelForCausalLM`` builds of the text model, tied embeddings once, without
the buffers that are no parameters (a router's correction biases, a rotary
table). It does not build the layers that predict further tokens; they are given
apart, for the families where their shape is known.

What a layer of a family has stands in :mod:`costlib.model_config.parameter_table`. A
count is exact or there is none: a field that is missing, that is no whole
number, or that tells of weights which the family is not known to have, raises
:class:`Unknown` with the reason.
"""

from dataclasses import dataclass

from costlib.model_config.parameter_blocks import LEARNED, Sizes, Unknown, optional
from costlib.model_config.parameter_table import DECODERS

__all__ = ["Parameters", "Unknown", "parameters"]


@dataclass(frozen=True)
class Parameters:
    """Weights of a model, as whole numbers.

    Parameters
    ----------
    total : int
        All of them, every expert included; without the layers that predict further tokens.
    active : int or None
        Those that one token passes through: of the experts that are chosen from, as many as are chosen. The table
        of tokens and the output head count in full. None where a token can be sent to experts that do nothing, or
        the configuration does not say to how many.
    embedding : int
        Those of the table of tokens, which the total includes.
    predictors : int or None
        Those of the layers that predict further tokens, without the table and the head that they share with the
        model; None where there are such layers and their shape is not known here.
    experts, experts_per_token : int or None
        Experts that the router of a layer chooses from, and how many it chooses; None where there are none, or
        layers differ in them.
    """

    total: int
    active: int | None
    embedding: int
    predictors: int | None
    experts: int | None = None
    experts_per_token: int | None = None


def parameters(fields):
    """Weights of a text model, from the fields of its configuration.

    Parameters
    ----------
    fields : Mapping
        The fields of the text model with its ``model_type``; what the file leaves out is filled in.

    Returns
    -------
    Parameters

    Raises
    ------
    Unknown
        If the family has no row here, or the fields do not allow an exact count.

    Examples
    --------
    >>> mixtral = parameters({
    ...     "model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 32000,
    ...     "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": False,
    ...     "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2})
    >>> mixtral.total, mixtral.active
    (46702792704, 12879925248)
    >>> mixtral.experts, mixtral.experts_per_token
    (8, 2)
    """
    family = fields.get("model_type")
    if fields.get("is_encoder_decoder"):
        raise Unknown(f"{family} has an encoder beside the decoder, which is not counted here")
    if not isinstance(family, str) or family not in DECODERS:
        raise Unknown(f"what the layers of model_type = {family!r} have is not known here")
    row, model = DECODERS[family], Sizes(fields)
    try:
        total, embedding, predicting = row.total(model), row.embedding(model), predictors(row, model)
        counted = Parameters(total, active(row, model), embedding, predicting, *mixture(model))
    except ZeroDivisionError:
        raise Unknown("a size is zero by which another is divided") from None
    if not 0 < counted.total < ABSURD:
        raise Unknown(f"its sizes make {counted.total:,} weights")
    for name in ACTIVATIONS:
        if "hidden_act" not in model.consulted and fields.get(name) in tuple(LEARNED):
            raise Unknown(f"how many weights {name} = {fields[name]!r} has in {family} is not known here")
    for name in TELLING:
        if name not in model.consulted and fields.get(name):
            raise Unknown(f"{name} = {fields[name]!r} tells of weights that {family} is not known to have")
    return counted


def active(row, model):
    """Weights that one token passes through; None if they cannot be told."""
    try:
        return row.active(model)
    except Unknown:
        return None


def mixture(model):
    """Experts of a layer, and how many of them a token goes to, where all mixtures have as many."""
    alike = len(model.mixtures) == 1
    experts, chosen = next(iter(model.mixtures)) if alike else (None, None)
    return (experts, chosen) if chosen else (None, None)


def predictors(row, model):
    """Weights of the layers that predict further tokens; None if there are such but not known how built."""
    if row.predicting is None:
        return None if any(model.fields.get(name) for name in PREDICTING) else 0
    layers = model[optional(row.predicting)]
    return layers * row.predictor(model) if layers else 0


ABSURD = 10**18

# Names of the activation function.
ACTIVATIONS = ("hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act")

# Fields that declare layers which predict further tokens.
PREDICTING = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")

# Fields that add weights in some family. Where one is set and the family's row has not asked for it, the model is
# another than the row says.
TELLING = (
    "add_cross_attention",
    "altup_num_inputs",
    "attn_res_block_size",
    "block_configs",
    "enable_moe_block",
    "hidden_size_per_layer_input",
    "is_moe",
    "add_full_attention_sink_bias",
    "latent_moe_use_norm",
    "mla_use_output_gate",
    "moe_latent_size",
    "per_layer_config",
    "routed_expert_hidden_size",
    "use_double_wide_mlp",
)
