"""Logs that the real llama.cpp writes here: read, and equal to the prediction for the model that it loaded."""

import pytest

from costlib.book.llama_cpp import CASES, logged
from costlib.logs import compared, fitted, read
from costlib.logs.comparison import AS_PREDICTED
from costlib.units import Quantity

NAMES = (
    "grouped heads",
    "keys in f32, values in bf16",
    "keys in q8_0, values in q4_0",
    "four slots, unified",
    "windows, four slots",
    "layers that share the caches of others",
    "latent attention",
    "latent attention and an indexer, four slots, q8_0",
    "Mamba 2 and attention",
    "gated delta rule, every other layer, and one that predicts",
    "short convolutions",
)


@pytest.fixture(scope="module")
def logs():
    cases = [case for case in CASES if case.name in NAMES]
    return {case.name: (case, model, read(text.splitlines(keepends=True))) for case, model, text in logged(cases)}


@pytest.mark.parametrize("name", NAMES)
def test_what_it_logs_is_what_is_predicted(name, logs):
    case, model, log = logs[name]
    assert log.engine == "llama.cpp"
    assert log.settings["architecture"] == case.architecture
    assert log.sessions(Quantity(case.tokens, "token")).magnitude == case.sequences
    rows = {row.what: row for row in compared(log, model)}
    assert {"weights", "cache"} <= set(rows)
    assert len(rows) == 2 + (len({pool.kind for pool in log.pools}) if len(log.pools) > 1 else 0)
    assert {row.explanation for row in rows.values()} == {AS_PREDICTED}
    assert rows["cache"].difference == pytest.approx(0, abs=1e-12)


def test_the_logs_are_of_architectures_of_every_kind(logs):
    kinds = {pool.kind for _, _, log in logs.values() for pool in log.pools}
    assert kinds == {"full", "sliding", "indexer", "recurrent"}
    assert len({case.architecture for case, _, _ in logs.values()}) >= 4


def test_constant_and_slope_of_a_hybrid():
    """Three contexts of one model: what its recurrent layers keep, and what the others add."""
    (case,) = (case for case in CASES if case.name == "Mamba 2 and attention")
    runs = logged([type(case)(**{**vars(case), "tokens": tokens}) for tokens in (256, 1024, 4096)])
    fit = fitted([read(text.splitlines(keepends=True)) for _, _, text in runs])
    _, model, _ = runs[0]
    assert fit.growth.m_as("byte/token") == pytest.approx(model.bytes_per_token().m_as("byte/token"))
    kept = sum(state.layers * (state.elements + state.conv_elements) * 4 for state in model.states)
    assert fit.constant.m_as("byte") == pytest.approx(kept)
    assert fit.residual.m_as("byte") < 1
