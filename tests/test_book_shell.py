"""costlib.book.shell: what a page shows of a command is what it prints, and a sheet keeps all of its text."""

import base64
import re

import pytest

from costlib.book import FILES, shell
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


LONG = "the cap      24,576  " + "few sessions come near it, and memory is kept " * 3 + "for the rest"


def test_a_long_line_goes_on_under_its_last_column():
    first, *others = shell.folded(f"short  line\n{LONG}").splitlines()[1:]
    assert others and max(map(len, (first, *others))) <= shell.WIDTH
    assert {len(line) - len(line.lstrip()) for line in others} == {LONG.index("few")}
    assert " ".join(f"{first} {' '.join(others)}".split()) == " ".join(LONG.split())


def test_a_last_column_without_room_goes_below():
    row = f"{'weights':60}  14.99 GiB  +0.21%  "
    assert shell.folded(f"{row}a table of rotations is no parameter").splitlines() == [
        row.rstrip(),
        "    a table of rotations is no parameter",
    ]


def test_a_long_line_without_columns_is_set_in_a_little():
    line = "many words of one sentence " * 6
    assert shell.folded(line).splitlines()[1][:3] in ("  " + word[0] for word in line.split())
    assert shell.folded("x" * 100) == "x" * 100  # a word is not broken


def test_a_table_is_as_narrow_as_a_page():
    config = FILES / "samples"
    lines = shell.ran("costlib kv config.json --tokens 20000", config).splitlines()
    assert max(map(len, lines[lines.index(next(x for x in lines if x.startswith("layers"))) :][:4])) <= shell.WIDTH


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
