"""Take over the index of a root that moved, and ask before indexing a broad root."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import DowseError, IndexBusy
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.moved import (
    SAMPLED_PATHS,
    IndexedRoot,
    RootMatch,
    match_moved_root,
    may_have_moved,
    root_identity_key,
)
from dowse.model import COMMITS, FILES
from dowse.paths import INDEX_FILE_NAME, DataPaths
from dowse.server.workspace import Workspace
from dowse.store.sqlite.inspect import inspect_index, sample_files
from dowse.store.sqlite.locks import write_lock
from dowse.store.sqlite.signing import Signer

_MAX_LEFT_INDEXES: Final = 50
_ADOPT_LOCK_TIMEOUT_S: Final = 1.0
_LEADER_FILE_NAME: Final = f"{INDEX_FILE_NAME}.leader"
# Files that a process may leave in the place of an index that it never created.
_LEFTOVER_GLOBS: Final = (f"{INDEX_FILE_NAME}.lock*", _LEADER_FILE_NAME, f"{INDEX_FILE_NAME}-jobs*")


@dataclass(frozen=True, slots=True)
class LeftIndex:
    """An index in the data directory; `home` is the root that its location belongs to, if it still has that root."""

    index: Path
    roots: tuple[IndexedRoot, ...]
    home: IndexedRoot | None

    def match_folder(self, folder: Path) -> tuple[RootMatch, Path] | None:
        """Return how well the index fits the folder, and which of its roots does; an index whose own directory still
        exists never fits."""
        if self.home is None and len(self.roots) > 1:
            return None  # it was created for all of them
        if self.home is not None and not may_have_moved(self.home, folder):
            return None
        fitting = [(found, it.root) for it in self.roots if (found := match_moved_root(it, folder))]
        return max(fitting, default=None)


def adopt_former_index(settings: Settings, folder: Path, index: Path) -> str:
    """Make the index of this directory's former path its own, if there is one; return a message about it."""
    try:
        places = DataPaths.of(settings)
        former = _adopt_best_match(places, folder, index) if settings.index is None else None
        if not index.exists() or (settings.index is not None and not _has_moved_root(places, index, folder)):
            return ""
        with Engine(settings, index, create=False) as engine:
            return engine.indexing.relocate(folder, former)
    except DowseError as error:
        return f"cannot take over the index of {folder} from its former path: {error}"


def find_left_indexes(places: DataPaths) -> list[LeftIndex]:
    """List the indexes in the data directory, newest first, without damaged and foreign ones."""
    found: list[tuple[float, Path]] = []
    with suppress(OSError):
        for entry in os.scandir(places.indexes):
            with suppress(OSError):
                index = Path(entry.path) / INDEX_FILE_NAME
                found.append((index.lstat().st_mtime, index))
    return [
        it for _, index in sorted(found, reverse=True)[:_MAX_LEFT_INDEXES] if (it := _inspect_left_index(places, index))
    ]


def _inspect_left_index(places: DataPaths, index: Path) -> LeftIndex | None:
    roots = _root_traces(places, index)
    home = next((it for it in roots if places.index_path(it.root) == index), None)
    return LeftIndex(index, roots, home) if roots else None


def _root_traces(places: DataPaths, index: Path) -> tuple[IndexedRoot, ...]:
    """Return traces of the roots in the index; files and commits are loaded only for roots that may have moved."""
    seen = inspect_index(index, Signer.of(places))

    def traces(root: str, name: str) -> IndexedRoot:
        identity = seen.metadata.get(root_identity_key(root), "")
        histories = {it.root: it.name for it in seen.collections if it.source == COMMITS}
        below = {it: name for it, name in histories.items() if Path(it).is_relative_to(root)}
        return IndexedRoot(
            Path(root),
            identity,
            partial(sample_files, index, name, SAMPLED_PATHS),
            partial(_history_samples, index, below),
        )

    return tuple(traces(it.root, it.name) for it in seen.collections if it.source == FILES)


def _history_samples(index: Path, histories: Mapping[str, str]) -> dict[str, list[str]]:
    return {root: list(sample_files(index, name, SAMPLED_PATHS)) for root, name in histories.items()}


def _has_moved_root(places: DataPaths, index: Path, folder: Path) -> bool:
    """Return whether a named index knows the folder under another path."""
    return any(match_moved_root(it, folder) for it in _root_traces(places, index))


def _adopt_best_match(places: DataPaths, folder: Path, index: Path) -> Path | None:
    """Rename the directory of the index that fits best, atomically and while nobody writes to it; return its former
    root if that was done."""
    fitting = [(*fit, it.index) for it in find_left_indexes(places) if (fit := it.match_folder(folder))]
    if not fitting:
        return None
    _, root, former = max(fitting)
    with suppress(IndexBusy), write_lock(former, _ADOPT_LOCK_TIMEOUT_S):
        if former.exists() and not index.exists():
            return root if _rename_index_folder(former.parent, index.parent) else None
    return None


def _rename_index_folder(source: Path, target: Path) -> bool:
    for leftover in (it for name in _LEFTOVER_GLOBS for it in target.glob(name)):
        leftover.unlink(missing_ok=True)
    # Fails if another process was faster and has put its index there.
    with suppress(OSError):
        source.rename(target)
        # The current leader follows a path that is gone; a new process must be able to lead.
        (target / _LEADER_FILE_NAME).unlink(missing_ok=True)
        return True
    return False


# --------------------------------------------------------------------------------------------------
# Check how broad a root is before its first indexing: many projects or files need a confirmation.

_BROAD_PROJECT_COUNT: Final = 5
_REPOSITORY_MARKERS: Final = (".git", ".hg", ".svn", ".jj")


class BroadRootGuard:
    """Checks, before every use of an index, whether its root is too broad; computed once."""

    def __init__(self, workspace: Workspace, *, asks: bool = True) -> None:
        self._workspace = workspace
        self._is_confirmed = not asks
        self.found: str | None = None
        self._lock = threading.Lock()

    def problem(self) -> str:
        """Return why the root needs confirmation, with the next step; empty once it is indexed or confirmed."""
        with self._lock:
            if not self._is_confirmed and self._workspace.index.exists():
                self._is_confirmed = True
            if self._is_confirmed:
                return ""
            if self.found is None:
                self.found = describe_broad_root(self._workspace)
                self._is_confirmed = not self.found
            return f"{self.found}; {_CONFIRM_HINT}" if self.found else ""

    def confirm(self) -> None:
        with self._lock:
            self._is_confirmed = True


_CONFIRM_HINT: Final = (
    "to confirm, run `dowse index` there (over MCP: call `index`), or pass a narrower --root; DOWSE_ASK_ABOVE_FILES=0 "
    "never asks"
)


def describe_broad_root(workspace: Workspace) -> str:
    """Describe why the root is broad, as the start of a sentence; empty if it is not."""
    most, root = workspace.settings.ask_above_files, workspace.root
    if not most or not root.is_dir():
        return ""
    projects = _count_projects(root)
    if projects >= _BROAD_PROJECT_COUNT:
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
        max_document_bytes=settings.max_document_bytes,
        barred_directories=frozenset({DataPaths.of(settings).data_dir}),
    )
    return f"{root} has more than {most:,} files" if source.has_more_than(most) else ""


def _count_projects(root: Path) -> int:
    """Count the repositories directly below a root; none if the root is a repository, because then they are parts of
    it."""
    if any((root / it).exists() for it in _REPOSITORY_MARKERS):
        return 0
    found = 0
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            with suppress(OSError):
                is_folder = entry.is_dir(follow_symlinks=False)
                found += is_folder and any(Path(entry.path, it).exists() for it in _REPOSITORY_MARKERS)
    return found
