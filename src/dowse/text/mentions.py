"""Files a text names: by a path, as a traceback or an address does, or by a dotted module name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

_PATH = re.compile(r"[\w@+-][\w.@+-]*(?:[/\\][\w.@+-]+)*\.[A-Za-z]\w{0,7}\b")
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+")
_READ_CHARS = 10_000
_MOST_NAMES = 100
_MOST_PARTS = 12
_TOO_MANY = 3  # a name that so many files end in points at none of them
_ENTRANCES = frozenset(("__init__", "index", "mod"))  # named by their directory alone


def mentioned(text: str, paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths that the text names; each name counts by its longest ending that any of them has."""
    named, dotted = (it.findall(text[:_READ_CHARS])[:_MOST_NAMES] for it in (_PATH, _DOTTED))
    if not named and not dotted:
        return frozenset()  # as in most queries
    known = list(paths)
    files = _by_ending((path, _parts(path)) for path in known)
    modules = _by_ending((path, _module(path)) for path in known)
    found: set[str] = set()
    for name in named:
        parts = _parts(name.replace("\\", "/"))
        found |= _first(files, ["/".join(parts[start:]) for start in range(len(parts))])
    for name in dotted:
        parts = tuple(name.split(".")[:_MOST_PARTS])
        found |= _first(modules, ["/".join(parts[:end]) for end in range(len(parts), 1, -1)])
    return frozenset(found)


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts[-_MOST_PARTS:]


def _module(path: str) -> tuple[str, ...]:
    whole = PurePosixPath(path)
    return _parts(str(whole.parent if whole.stem in _ENTRANCES else whole.parent / whole.stem))


def _by_ending(paths: Iterable[tuple[str, tuple[str, ...]]]) -> Mapping[str, set[str]]:
    by_ending: defaultdict[str, set[str]] = defaultdict(set)
    for path, parts in paths:
        for start in range(len(parts)):
            by_ending["/".join(parts[start:])].add(path)
    return by_ending


def _first(by_ending: Mapping[str, set[str]], endings: Iterable[str]) -> set[str]:
    found = next((by_ending[it] for it in endings if it in by_ending), set())
    return found if len(found) < _TOO_MANY else set()
