"""costlib.book.shell: what a page shows of a command is what it prints, and a sheet keeps all of its text."""

import base64
import re

import pytest

from costlib.book import shell
from costlib.schema import InputError

SHEET = """# a model on 1 × a card

Sessions of 8 tokens.

| | | from |
|---|---:|---|
| 1. a token | 2 kB | the file |

## Cap

Give it with --cap, once.

## Made by

    costlib worksheet config.json --cap 8
"""


def test_a_command_runs_in_its_folder(tmp_path):
    (tmp_path / "vllm.log").write_text("# GPU blocks: 1952, # CPU blocks: 2048\n", encoding="utf-8")
    assert "1,952" in shell.ran("costlib log vllm.log", tmp_path)


@pytest.mark.parametrize(
    ("command", "says"),
    [("costlib log missing.log", "missing.log"), ("costlib log x --nonsense", "--nonsense")],
    ids=["bad input", "a wrong option"],
)
def test_a_command_that_fails_fails_the_page(tmp_path, command, says):
    with pytest.raises((InputError, RuntimeError), match=re.escape(says)):
        shell.ran(command, tmp_path)


def test_a_download_holds_its_file():
    link = shell.download("sheet.md", "text/markdown", "1 × 2\n")
    assert base64.b64decode(re.search(r'base64,([^"]+)"', link)[1]).decode() == "1 × 2\n"
    assert 'download="sheet.md"' in link


def test_a_frame_has_all_of_the_sheet_and_no_heading():
    framed = shell.framed(SHEET, "To keep.")
    assert not re.search("^#", framed, re.M)
    before, folded = framed.split(":class: dropdown")
    assert "| 1. a token | 2 kB | the file |" in before and "To keep." in before
    assert "**Cap**" in folded and "Give it with --cap, once." in folded
    assert "    costlib worksheet config.json --cap 8" in folded
