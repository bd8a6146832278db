"""The code is formatted and free of what ruff knows to be a mistake."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.mark.parametrize("task", [["check"], ["format", "--check"]], ids=lambda task: task[0])
def test_ruff_finds_nothing(task):
    done = subprocess.run(
        [Path(sys.executable).with_name("ruff"), *task, "--quiet", ROOT], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
