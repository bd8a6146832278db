"""The reader of GGUF headers and the rule of llama.cpp, against what the real llama.cpp allocates."""

import pytest

from costlib.book.llama_cpp import CASES, evidence


@pytest.fixture(scope="module")
def rows():
    return {row["case"]: row for row in evidence()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.architecture}: {case.name}")
def test_what_is_predicted_is_what_it_allocates(case, rows):
    row = rows[case.name]
    assert row["predicted"] == row["allocated"], row["log"]
