"""How broad a root is before its first indexing: a folder of many projects or files is indexed after a confirmation."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from dowse.ingest.sources.files import FileSource
from dowse.places import Places
from dowse.shells.workspace import Workspace

_PROJECTS: Final = 5
_MARKERS: Final = (".git", ".hg", ".svn", ".jj")


class Breadth:
    """Asked before every use of an index; what it finds out it finds out once."""

    def __init__(self, workspace: Workspace, *, asks: bool = True) -> None:
        self._workspace = workspace
        self._is_settled = not asks
        self.found: str | None = None
        self._turn = threading.Lock()

    def problem(self) -> str:
        """Why the root is not indexed unasked, with the next step; empty once there is an index or a confirmation."""
        with self._turn:
            if not self._is_settled and self._workspace.index.exists():
                self._is_settled = True
            if self._is_settled:
                return ""
            if self.found is None:
                self.found = breadth_of(self._workspace)
                self._is_settled = not self.found
            return f"{self.found}; {_NEXT_STEP}" if self.found else ""

    def confirm(self) -> None:
        with self._turn:
            self._is_settled = True


_NEXT_STEP: Final = (
    "it is indexed only when you confirm that: run `dowse index` there (over MCP: call `index`), or name a narrower "
    "--root; DOWSE_ASK_ABOVE_FILES=0 never asks"
)


def breadth_of(workspace: Workspace) -> str:
    """What is broad about the root, as the beginning of a sentence; empty where nothing is."""
    most, root = workspace.settings.ask_above_files, workspace.root
    if not most or not root.is_dir():
        return ""
    projects = _projects_in(root)
    if projects >= _PROJECTS:
        return f"{root} is a folder of {projects:,} projects"
    settings = workspace.settings
    source = FileSource(
        root,
        include=settings.include,
        exclude=settings.exclude,
        default_excludes=settings.default_excludes,
        extensions=settings.extra_extensions,
        use_gitignore=settings.gitignore,
        max_file_bytes=settings.max_file_bytes,
        barred=frozenset({Places.of(settings).data_dir}),
    )
    return f"{root} has more than {most:,} files" if source.has_more_than(most) else ""


def _projects_in(root: Path) -> int:
    """Repositories directly below a root that is none itself: in a repository they are parts of it."""
    if any((root / it).exists() for it in _MARKERS):
        return 0
    found = 0
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            with suppress(OSError):
                is_folder = entry.is_dir(follow_symlinks=False)
                found += is_folder and any(Path(entry.path, it).exists() for it in _MARKERS)
    return found
