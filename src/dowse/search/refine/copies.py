"""Files that another file among them makes second best: built from it, or of an older version beside it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

_BUILT = re.compile(r"(\.d)?\.[cm]?jsx?$|\.d\.[cm]?ts$")
_SOURCE = re.compile(r"\.[cm]?tsx?$")
# Directories that say at which stage of building a file is, not what it is about.
_STAGES = frozenset(("src", "lib", "dist", "build", "out", "esm", "cjs", "es", "umd"))
_VERSION = re.compile(r"(?:^|/)v(\d{1,4})(?=/)")


def built_copies(paths: Iterable[str]) -> frozenset[str]:
    """JavaScript and declarations whose TypeScript source is among the paths."""
    sources: set[str] = set()
    built: dict[str, str] = {}
    for path in paths:
        if _BUILT.search(path):
            built[path] = _whatever_stage(_BUILT.sub("", path))
        elif _SOURCE.search(path):
            sources.add(_whatever_stage(_SOURCE.sub("", path)))
    return frozenset(path for path, stem in built.items() if stem in sources)


def _whatever_stage(stem: str) -> str:
    return "/".join(part for part in PurePosixPath(stem).parts if part not in _STAGES)


def older_versions(paths: Iterable[str], asked: str) -> frozenset[str]:
    """Files below a `v3` with a `v4` beside it, unless that version is asked for."""
    found = [(path, match) for path in paths for match in _VERSION.finditer(path)]
    newest: defaultdict[str, int] = defaultdict(int)
    for path, match in found:
        newest[path[: match.start()]] = max(newest[path[: match.start()]], int(match[1]))
    wanted = {int(number) for number in re.findall(r"\bv(\d{1,4})\b", asked)}
    return frozenset(
        path for path, match in found if int(match[1]) < newest[path[: match.start()]] and int(match[1]) not in wanted
    )
