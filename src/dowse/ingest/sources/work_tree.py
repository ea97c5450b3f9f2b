"""Takes over what git lists of a work tree, after looking at what lies there: the index may say anything."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from dowse.ingest.sources.doors import Doors, looked_up
from dowse.ingest.sources.git.bare import BareGround
from dowse.ingest.sources.git.repository import has_other_git, is_work_tree
from dowse.ingest.sources.ledger import Ledger
from dowse.ingest.sources.selection import Selection


class WorkTree:
    __slots__ = ("_doors", "_ground", "_is_open", "_passed", "_root", "_selection")

    def __init__(self, root: str, selection: Selection, doors: Doors, ground: BareGround) -> None:
        self._root = root
        self._selection = selection
        self._doors = doors
        self._ground = ground
        self._is_open = {"": True}
        self._passed = {"": ""}

    def take(self, territory: str, names: Iterable[str], ledger: Ledger) -> list[str]:
        """Writes the named files down; returns the repositories nested in it: territories too."""
        prefix = f"{territory}/" if territory else ""
        paths = (prefix + name.removesuffix("/") for name in names)
        return [path for path in paths if self._is_nested(path, ledger)]

    def _is_nested(self, path: str, ledger: Ledger) -> bool:
        """Whether the path is a repository of its own; if it is a file, it is written down."""
        directory = path.rpartition("/")[0]
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
            place = f"{self._root}/{path}"
            return self._selection.has_directory(path) and (is_work_tree(place) or has_other_git(place))
        # git takes only what has a `.git` for a repository, and names what is in a bare one like any file.
        if self._ground.around(directory) is None:
            self._write_down(path, status, ledger)
        return False

    def _write_down(self, path: str, status: os.stat_result, ledger: Ledger) -> None:
        directory, _, name = path.rpartition("/")
        if self._selection.has_file(path):
            if not self._ignores(directory, name):
                ledger.add(path, status)
        elif passed := self._passed_over(directory):
            ledger.pass_over(passed)
        elif (
            (why := self._selection.why_left_out(path))
            and stat.S_ISREG(status.st_mode)
            and not self._ignores(directory, name)
        ):
            ledger.leave_out(path, why)

    def _passed_over(self, directory: str) -> str:
        """The outermost directory around that is not looked into; empty if there is none."""
        return looked_up(directory, self._passed, self._look_for_passed)

    def _look_for_passed(self, directory: str) -> str:
        above = self._passed[directory.rpartition("/")[0]]
        return above or (directory if self._selection.passes_over(directory) else "")

    def _may_enter(self, directory: str) -> bool:
        """Whether no part of the way is a link, barred, ignored or only git's."""
        return looked_up(directory, self._is_open, self._look_at)

    def _look_at(self, directory: str) -> bool:
        if not self._is_open[directory.rpartition("/")[0]]:
            return False
        is_real = stat.S_ISDIR(os.lstat(f"{self._root}/{directory}").st_mode)
        return is_real and self._ground.reaches(directory) and self._doors.rules(directory) is not None

    def _ignores(self, directory: str, name: str) -> bool:
        rules = self._doors.rules(directory)
        base = f"{self._root}/{directory}/" if directory else f"{self._root}/"
        return rules is None or rules.ignores(base, name)
