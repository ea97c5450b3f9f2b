"""The files below a directory by name alone, as they are now: also of kinds that are never indexed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.base import Reach
from dowse.ingest.sources.defaults import DEFAULT_EXCLUDE
from dowse.ingest.sources.part import part_of
from dowse.ingest.sources.selection import Selection
from dowse.ingest.sources.survey import survey
from dowse.model import Item
from dowse.text.globs import compile_globs
from dowse.text.secrets import is_secret_file

_ANY_SIZE = 2**63


def names_below(root: str, reach: Reach, *, exclude: tuple[str, ...] = (), use_gitignore: bool = True) -> list[Item]:
    """Regular files, no links, by path relative to the root, which is absolute and resolved."""
    under = reach.under.strip("/")
    if "\0" in under or any(part in (".", "..") for part in under.split("/")):
        raise BadInput(f"{reach.under!r} is not a directory inside {root}; give it relative to that, without '..'")
    if not Path(root, under).is_dir():
        raise BadInput(f"{root}/{under} is no directory that is there; check the path")
    if reach.ignored:
        items = list(_walk(root, under, reach))
    else:
        items = _surveyed(root, under, (*DEFAULT_EXCLUDE, *exclude), use_gitignore)
    above = under.count("/") + 1 if under else 0
    return [it for it in items if _is_in_reach(it.path, reach, above)]


def _is_in_reach(path: str, reach: Reach, above: int) -> bool:
    parts = path.split("/")[above:]
    if reach.max_depth and len(parts) > reach.max_depth:
        return False
    return reach.hidden or not any(part.startswith(".") for part in parts)


def _surveyed(root: str, under: str, exclude: tuple[str, ...], use_gitignore: bool) -> list[Item]:
    part = part_of((under,) if under else ())
    selection = Selection(compile_globs(("**",)), compile_globs(exclude), frozenset(), part, is_secret_file)
    found = survey(root, selection, frozenset(), use_gitignore=use_gitignore, max_file_bytes=_ANY_SIZE)
    return found.listing().items


def _walk(root: str, under: str, reach: Reach) -> Iterator[Item]:
    """Everything there is; what can not be looked into is passed over, as it would be by any lister of names."""
    start = f"{root}/{under}" if under else root
    for directory, folders, names in os.walk(start):
        inside = directory.removeprefix(root).strip("/")
        depth = directory.removeprefix(start).count("/")
        folders[:] = sorted(it for it in folders if _enters(it, depth, reach))
        for name in sorted(names):
            path = f"{inside}/{name}" if inside else name
            item = _item(root, path)
            if item is not None:
                yield item


def _enters(name: str, depth: int, reach: Reach) -> bool:
    return (reach.hidden or not name.startswith(".")) and not (reach.max_depth and depth + 1 >= reach.max_depth)


def _item(root: str, path: str) -> Item | None:
    try:
        status = os.lstat(f"{root}/{path}")
        path.encode()
    except (OSError, UnicodeEncodeError):
        return None
    return Item(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None
