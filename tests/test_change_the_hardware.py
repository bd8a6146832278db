"""The page on scenarios: what it shows is so, and each command on it works as shown."""

import json
import re
import shlex

import pytest
from test_comparison import PRINTS, make

from conftest import BOOK, ROOT, published_by
from costlib.book import FILES
from costlib.model_config import oracle
from costlib.scenario import PARTS, REFERENCE, load

PAGE = BOOK / "change-the-hardware.md"
COMMANDS = re.findall(r"^```shell\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.S | re.M)


@pytest.fixture(scope="module")
def shown():
    """The names of the page's cells, and what they publish."""
    published, names = published_by(PAGE)
    return names, {data["key"]: data for _, data in published}


@pytest.fixture
def mine(shown, tmp_path):
    """The file of three lines."""
    (tmp_path / "mine.toml").write_text(shown[0]["MINE"], encoding="utf-8")
    return tmp_path / "mine.toml"


def grid(table):
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table["grid"].splitlines()[2:]]


def test_three_lines_are_three_lines(shown):
    assert len(shown[0]["MINE"].splitlines()) == 3


def test_each_command_is_one_that_is_tried_below():
    assert "".join(COMMANDS).splitlines() == [
        "make book SCENARIO=mine.toml",
        "costlib show mine.toml",
        'make comparison SCENARIOS="a.toml b.toml"',
        "costlib scenario config.json --output mine.toml",
        "make install",
        ".venv/bin/pytest tests/test_catalog.py tests/test_site.py",
    ]


def test_make_book_hands_the_file_to_the_build(mine):
    done = make("book", f"SCENARIO={mine}", "BUILD=printenv COSTLIB_SCENARIO")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, str(mine)), done.stderr


def test_costlib_show_prints_what_the_page_says(mine, shown, run):
    code, out, _ = run("show", mine)
    for key in ("change-decode", "change-resident"):
        assert re.search(rf"  {re.escape(shown[1][key]['printed'])}  ", out), key
    assert code == 0


def test_costlib_show_remarks_what_the_page_says(mine, shown, run):
    assert shown[1]["change-remark"]["value"] in " ".join(run("show", mine)[1].split())
    assert shown[1]["change-remark"]["value"].endswith("this one has 65,536 tokens.")


def test_make_comparison_takes_several_files(mine):
    done = make("comparison", f"SCENARIOS={mine} {mine}", PRINTS)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{mine}:{mine}"), done.stderr


def test_what_is_installed_is_not_installed_again():
    assert make("install").returncode == 0
    assert all((ROOT / word).is_file() for word in shlex.split(COMMANDS[-1]) if word.startswith("tests/"))


def test_what_is_refused_is_refused_by_a_sentence_that_names_the_file(shown, capsys):
    names, _ = shown
    for line in names["WRONG"]:
        with pytest.raises(ValueError, match=r"^mine\.toml: .*(; |more than)"):
            names["loaded"](line)


def test_every_key_that_it_lists_can_be_set_to_the_value_that_it_shows(shown):
    names, published = shown
    reference = load(REFERENCE)
    rows = grid(published["tab-change-keys"])
    assert {key.strip("`").partition(".")[0] for key, *_ in rows} == set(PARTS)
    for key, _, value, _ in rows:
        if value != "–":
            part, _, field = key.strip("`").partition(".")
            case = names["loaded"](f'{part}.{field} = "{value}"')
            assert getattr(getattr(case, part), field) == getattr(getattr(reference, part), field), key


def test_costlib_scenario_writes_what_the_page_shows(shown, run, tmp_path):
    file = tmp_path / "mine.toml"
    config = FILES / "configs/mistralai--Mixtral-8x7B-v0.1.json"
    assert run("scenario", config, "--output", file) == (0, "", "")
    assert file.read_text("utf-8") == shown[0]["written"].text
    assert load(file).model.parameters == shown[0]["entry"].parameters


def test_the_options_that_the_page_names_are_options_of_the_command(run):
    named = re.findall(r"`(--[\w-]+)`", PAGE.read_text("utf-8"))
    said = run("scenario", "--help")[1]
    assert len(named) > 3 and all(f"{option} " in said for option in named)


@pytest.mark.parametrize("name", ["llama4", "deepseek_v32", "gemma3n_text"])
def test_of_what_the_page_calls_refused_kv_counts_the_state(run, name, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(oracle.default_of(name)))
    assert run("scenario", file)[0] == 3
    assert run("kv", file, "--tokens", "1000")[0] == 0


def test_the_geometry_read_from_a_file_is_that_of_the_catalog(shown):
    assert shown[1]["change-geometry-verdict"]["value"] == "the same"
    assert shown[0]["entered"].startswith("[mixtral-8x7b]") and "[[mixtral-8x7b.attention]]" in shown[0]["entered"]
    assert "mixtral-8x22b" not in shown[0]["entered"]
