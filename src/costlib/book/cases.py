"""What others printed or measured, beside what this library computes from the same inputs.

``published-cases.csv`` holds the cases. The kind of a case is the function that
predicts it, of this library or of this module; its inputs are that function's
arguments, each with its unit.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from costlib.capacity import break_even_bandwidth, reload_time, resident_sequences, state_pool
from costlib.kv_cache import bytes_per_token, context_state, latent_bytes_per_token
from costlib.model_config import read_table
from costlib.model_config.engines import vllm
from costlib.paging import blocks_needed
from costlib.queueing import erlang_b, erlang_c, mmc_wait, number_in_system
from costlib.serving import (
    decode_time,
    node_step_time,
    prefill_time,
    state_copies,
    token_operations,
    weight_bytes,
)
from costlib.speculation import accepted_share, measured_tokens_per_pass, speedup, tokens_per_pass
from costlib.units import Quantity, quantity, significant, unit_name

__all__ = ["CASES", "Case"]

FILE = Path(__file__).with_name("published-cases.csv")
ROUNDING = 1e-12  # of what is computed in floats, where a case is exact

ONE_TOKEN = Quantity(1.0, "token")
ONE_SEQUENCE = Quantity(1.0, "sequence")
BYTE = Quantity(1.0, "byte/parameter")
TWO_BYTES = Quantity(2.0, "byte/parameter")


@dataclass(frozen=True)
class Case:
    """One figure that someone else printed or measured.

    ``relation`` says how it stands to the prediction: ``equal`` to it within the
    ``tolerance``, a share of it; ``at most`` or ``at least``, where the prediction
    is a bound; or a ``trap``, where what seems to predict it is further off than
    the tolerance, and the ``note`` says why.
    """

    id: str
    topic: str
    kind: str
    what: str
    inputs: str
    published: str
    unit: str
    tolerance: str
    relation: str
    source: str
    note: str

    @property
    def given(self):
        """The inputs by name, as quantities."""
        pairs = (pair.split(" = ") for pair in self.inputs.split("; "))
        return {name: _values(text) for name, text in pairs}

    @property
    def value(self):
        """What was published."""
        return Quantity(float(self.published), self.unit)

    @property
    def predicted(self):
        """What this library computes."""
        return Quantity(PREDICTIONS[self.kind](**self.given)).to(self.unit)

    @property
    def error(self):
        """How far the prediction lies from what was published, as a share of that."""
        return (self.predicted / self.value).m_as("") - 1

    @property
    def holds(self):
        """Whether prediction and publication stand to one another as the case says."""
        tolerance = float(self.tolerance) or ROUNDING
        return {
            "equal": abs(self.error) <= tolerance,
            "at most": self.error >= -tolerance,
            "at least": self.error <= tolerance,
            "trap": abs(self.error) > tolerance,
        }[self.relation]

    @property
    def exact(self):
        """Whether the two are the same, but for the rounding of floats."""
        return abs(self.error) <= ROUNDING

    @property
    def wanted(self):
        """In words, how the published figure should stand to the prediction."""
        if self.relation == "equal":
            return (
                f"equal within {100 * float(self.tolerance):.2g}\u00a0%"
                if float(self.tolerance) > ROUNDING
                else "equal"
            )
        return "not equal: a trap" if self.relation == "trap" else self.relation

    @property
    def printed(self):
        """The figure as published, and the prediction to as many digits."""
        digits = len(self.published.replace(".", "").lstrip("0"))
        return tuple(
            f"{number} {unit_name(self.value.units, plural=number != '1')}".strip()
            for number in (_grouped(self.published), significant(self.predicted.magnitude, max(digits, 3)))
        )


def read(path=FILE):
    """The cases of a file, by their ids."""
    found = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            case = Case(**row)
            if case.id in found:
                raise ValueError(f"{path}, row {number}: the id {case.id!r} stands twice")
            found[case.id] = case
    return found


def _values(text):
    """One quantity, or a list of them."""
    values = [quantity(part) for part in text.split(", ")]
    return values[0] if len(values) == 1 else values


def _grouped(number):
    """A number as written, its thousands grouped."""
    whole, point, decimals = number.partition(".")
    return f"{int(whole):,}{point}{decimals}"


# ---------------------------------------------------------------- attention state


def attention_state(tokens, **geometry):
    return context_state(tokens, bytes_per_token(**geometry))


def latent_state(tokens, **geometry):
    return context_state(tokens, latent_bytes_per_token(**geometry))


def state_in_blocks(tokens, block, **geometry):
    return attention_state(blocks_needed(tokens, block) * block, **geometry)


def keys_on_each(tokens, accelerators, kv_heads, **geometry):
    """Keys, half of the state, on each of the accelerators that share the heads."""
    state = attention_state(tokens, kv_heads=kv_heads, **geometry)
    return state * state_copies(kv_heads, accelerators) / accelerators.magnitude / 2


def blocks_held(pool, block, **geometry):
    return resident_sequences(pool, attention_state(block, **geometry)).magnitude


def tokens_held(pool, block, **geometry):
    return blocks_held(pool, block, **geometry) * block


def sequences_at_once(pool, context):
    """Contexts that a pool of so many tokens holds, in part as well, as an engine prints it."""
    return pool / context


def hybrid_block(kv_heads, head_dim, mamba_heads, mamba_head_dim, groups, state_size, kernel):
    """Tokens of a block whose page is as large as a recurrent state: of a model with one layer of each kind."""
    fields = {
        "model_type": "nemotron_h",
        "hybrid_override_pattern": "M*",
        "num_attention_heads": kv_heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "mamba_num_heads": mamba_heads,
        "mamba_head_dim": mamba_head_dim,
        "n_groups": groups,
        "ssm_state_size": state_size,
        "conv_kernel": kernel,
        "mamba_ssm_cache_dtype": "bfloat16",
        "dtype": "bfloat16",
    }
    table = {name: getattr(value, "magnitude", value) for name, value in fields.items()}
    table = {name: int(value) if isinstance(value, float) else value for name, value in table.items()}
    reserved = vllm(read_table(table, "a model of two layers"), ONE_TOKEN)
    return reserved.rows[0][2] / reserved.bytes_per_token


def engine_pool(memory, share, peak, outside):
    return state_pool(share * memory, peak, outside)


# ---------------------------------------------------------------- weights and rates


def weights_on_each(parameters, weight_precision, accelerators):
    return weight_bytes(parameters, weight_precision) / accelerators.magnitude


def mixed_weights_on_each(parameters, short_parameters, accelerators):
    """Some of the parameters take one byte, the others two."""
    short = weights_on_each(short_parameters, BYTE, accelerators)
    return short + weights_on_each(parameters - short_parameters, TWO_BYTES, accelerators)


def decode_rate(read, bandwidth):
    """Most tokens a second of one stream that reads so many bytes for each."""
    return 1 / decode_time(read / BYTE, BYTE, bandwidth)


def decode_rate_of_node(read_by_each, parameters, peak_rate, bandwidth, accelerators):
    """The same, where each of several accelerators reads its part."""
    read = accelerators.magnitude * read_by_each
    no_state, no_copies, no_exchange = Quantity(0.0, "byte"), Quantity(1.0, ""), Quantity(0.0, "second")
    work = no_state, token_operations(parameters), peak_rate, bandwidth, accelerators, no_copies, no_exchange
    return ONE_TOKEN / node_step_time(ONE_SEQUENCE, read, *work)


def prefill_rate(parameters, peak_rate):
    return 1 / prefill_time(parameters, peak_rate)


def as_printed(value):
    """A value in another unit, or beside its data sheet: nothing is computed."""
    return value


def slope(near, far, near_time, far_time):
    return (far_time - near_time) / (far - near)


def reload_rate(tokens, bytes_per_token, time):
    """Rate at which the state of so many tokens moves in a time."""
    return break_even_bandwidth(context_state(tokens, bytes_per_token), time)


def reload_seconds(tokens, bytes_per_token, link_bandwidth):
    return reload_time(context_state(tokens, bytes_per_token), link_bandwidth)


def mooncake_bandwidth(prompt, layers, width, grouping, peak_rate, kv_precision):
    """Equation 2 of Mooncake: operations of 4 p d + 22 d² a token and layer, and a state of d / grouping wide."""
    p, d = prompt.magnitude, width.magnitude
    operations = Quantity(layers.magnitude * p * (4 * p * d + 22 * d**2), "operation")
    per_token = bytes_per_token(layers, grouping**-1 * Quantity(1, "head"), width / Quantity(1, "head"), kv_precision)
    return break_even_bandwidth(context_state(prompt, per_token), operations / peak_rate)


# ---------------------------------------------------------------- queues and answers


def servers_in_time(load, service_time, within, share):
    """Fewest servers that begin with such a share of requests within such a time."""
    servers = math.floor(load.magnitude) + 1
    while _in_time(servers, load, service_time, within) < share.magnitude:
        servers += 1
    return servers


def _in_time(servers, load, service_time, within):
    left = (servers - load.magnitude) * (within / service_time).m_as("")
    return 1 - erlang_c(servers, load).magnitude * math.exp(-left)


def lines_needed(load, blocking):
    """Fewest lines that lose no more than such a share."""
    lines = 1
    while erlang_b(lines, load) > blocking:
        lines += 1
    return lines


def hourly_cost(arrival_rate, service_time, servers, server_price, waiting_price):
    waiting = number_in_system(arrival_rate, mmc_wait(arrival_rate, service_time, servers)).magnitude
    return servers * server_price + waiting * waiting_price


def answer_time(first, gap, gaps):
    return first + gaps * gap


def closed_loop_rate(clients, time, known_clients, known_time, known_rate):
    """Rate of so many clients, each with one request under way, if answers are as long as in a known run."""
    return known_rate * (clients / time / (known_clients / known_time)).m_as("")


def accepted_tokens(acceptance, drafts):
    return accepted_share(acceptance, drafts) * drafts


# ---------------------------------------------------------------- prices


def revenue(read, hit, out, price_miss, price_hit, price_out):
    return (read - hit) * price_miss + hit * price_hit + out * price_out


def hit_share(read, hit):
    return hit / read


PREDICTIONS = {
    function.__name__: function
    for function in (
        accepted_tokens,
        answer_time,
        as_printed,
        attention_state,
        blocks_held,
        blocks_needed,
        closed_loop_rate,
        decode_rate,
        decode_rate_of_node,
        engine_pool,
        erlang_b,
        erlang_c,
        hit_share,
        hourly_cost,
        hybrid_block,
        keys_on_each,
        latent_state,
        lines_needed,
        measured_tokens_per_pass,
        mixed_weights_on_each,
        mooncake_bandwidth,
        number_in_system,
        prefill_rate,
        reload_rate,
        reload_seconds,
        revenue,
        sequences_at_once,
        servers_in_time,
        slope,
        speedup,
        state_copies,
        state_in_blocks,
        tokens_held,
        tokens_per_pass,
        weight_bytes,
        weights_on_each,
    )
}

CASES = read()
