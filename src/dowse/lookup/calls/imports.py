"""Which file an import brings in, and which files import a file; only where modules are files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dowse.lookup.calls.languages import habits_of
from dowse.lookup.calls.world import World
from dowse.model import Link, Record

IMPORT = "import"

_DEEPEST = 6
_PACKAGE = "__init__"


def key_of(world: World, record: Record) -> int | None:
    files = world.catalogue.files_named(record.path.rpartition("/")[2])
    return next((it.key for it in files if (it.collection, it.path) == (record.collection, record.path)), None)


def imported(world: World, record: Record, link: Link) -> Record | None:
    """The file that an import of this record means."""
    home = key_of(world, record)
    if home is None or habits_of(record.path).modules == "namespace":
        return None
    file = _inner(world, home, link) or world.modules.module(link.target, home).file
    return None if file is None else world.catalogue.outline(file).record


def _inner(world: World, home: int, link: Link) -> int | None:
    """`from package import module` means the module."""
    member = link.context.partition("=")[2]
    if not member or world.catalogue.outline(home).habits.modules != "python":
        return None
    joint = "" if link.target.endswith(".") else "."
    return world.modules.module(f"{link.target}{joint}{member}", home).file


def import_spellings(path: str) -> list[str]:
    """How other files may write an import of this one, and some that only may be one: each must be resolved."""
    modules = habits_of(path).modules
    if modules == "namespace":
        return []
    stem = path.rpartition(".")[0]
    if posixpath.basename(stem) in (_PACKAGE, "index"):
        stem = posixpath.dirname(stem)
    found = _python(stem) if modules == "python" else _scripts(path, stem)
    return list(dict.fromkeys(found))


def _python(stem: str) -> Iterator[str]:
    """Also as a member of the package it is in."""
    parts = stem.split("/")
    for wanted in (parts, parts[:-1]):
        for start in range(len(wanted)):
            dotted = ".".join(wanted[start:])
            yield dotted
            yield from (f"{'.' * dots}{dotted}" for dots in range(1, _DEEPEST))
    yield from ("." * dots for dots in range(1, _DEEPEST))


def _scripts(path: str, stem: str) -> Iterator[str]:
    for whole in (path, stem):
        parts = whole.split("/")
        for start in range(len(parts)):
            ending = "/".join(parts[start:])
            yield from (f"./{ending}", ending, f"@/{ending}", f"~/{ending}")
            yield from (f"{'../' * up}{ending}" for up in range(1, _DEEPEST))
