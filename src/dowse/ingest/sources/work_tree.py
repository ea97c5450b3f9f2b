"""Takes over what git lists of a work tree, after looking at each name: the index may say anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from dowse.ingest.sources.doors import Doors, ancestors_and_self
from dowse.ingest.sources.git.repository import HEAD, is_bare, is_work_tree
from dowse.ingest.sources.ledger import Ledger
from dowse.ingest.sources.selection import Selection

# No name git would write itself, but an index is a file that anyone can craft.
_HEAD = f"/{HEAD}"
_LEADS_ASTRAY = re.compile(r"(?:\A|/)(?:|\.|\.\.|\.git)(?:/|\Z)")


class WorkTree:
    __slots__ = ("_bare", "_doors", "_is_open", "_root", "_selection")

    def __init__(self, root: str, selection: Selection, doors: Doors) -> None:
        self._root = root
        self._selection = selection
        self._doors = doors
        self._is_open: dict[str, bool] = {}
        self._bare: set[str] = set()

    def take(self, territory: str, names: Iterable[str], ledger: Ledger) -> list[str]:
        """Writes the named files down; returns the repositories nested in it: territories too."""
        prefix = f"{territory}/" if territory else ""
        paths = [prefix + name.removesuffix("/") for name in names]
        # git takes only what has a `.git` for a repository, and names what is in others like any file.
        headed = (path.removesuffix(_HEAD) for path in paths if path.endswith(_HEAD))
        self._bare.update(it for it in headed if is_bare(f"{self._root}/{it}"))
        return [path for path in paths if not _LEADS_ASTRAY.search(path) and self._is_nested(path, ledger)]

    def _is_nested(self, path: str, ledger: Ledger) -> bool:
        """Whether the path is a repository of its own; if it is a file, it is written down."""
        directory, _, name = path.rpartition("/")
        try:
            if not self._may_enter(directory):
                return False
            status = os.lstat(f"{self._root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return False  # still in the index, but deleted
        except OSError as error:
            ledger.close(directory, error)
            return False
        if stat.S_ISDIR(status.st_mode):
            return self._selection.has_directory(path) and is_work_tree(f"{self._root}/{path}")
        if self._selection.has_file(path) and not self._ignores(directory, name):
            ledger.add(path, status)
        return False

    def _may_enter(self, directory: str) -> bool:
        """Whether no part of the way is a link, barred, ignored or a repository itself."""
        if directory not in self._is_open:
            way = list(ancestors_and_self(directory))
            is_real = all(stat.S_ISDIR(os.lstat(f"{self._root}/{part}").st_mode) for part in way)
            is_open = is_real and self._bare.isdisjoint(way)
            self._is_open[directory] = is_open and self._doors.rules(directory) is not None
        return self._is_open[directory]

    def _ignores(self, directory: str, name: str) -> bool:
        rules = self._doors.rules(directory)
        base = f"{self._root}/{directory}/" if directory else f"{self._root}/"
        return rules is None or rules.ignores(base, name)
