"""The codesearch tools that maintain an index."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from resource import RUSAGE_SELF, getrusage
from typing import Any

from dowse.lookup.find import NameQuery
from dowse.lookup.grep import GrepQuery
from dowse.model import Collection
from dowse.store.types import SymbolQuery
from dowse.tools.codesearch_context import ToolContext, help_json
from dowse.tools.render import DirArg, ExtArg, split_commas
from dowse.tools.tool import ToolReply

_INDEX_TYPES = ("content", "definition", "file-list")
_STALE_HOURS = 24
_BYTES_PER_MB = 1024 * 1024
_SECONDS_PER_HOUR = 3600


class IndexTools:
    def __init__(self, context: ToolContext, wall_clock: Callable[[], float] = time.time) -> None:
        self._context = context
        self._wall_clock = wall_clock

    # --- the tools ---

    def search_info(self) -> ToolReply:
        """Show what is indexed: number of files, words, definitions and calls, size and age; or that the index is being
        built."""
        root = self._context.directory.as_posix()
        stats = self._index_stats() if self._context.is_built() else {it: {"status": "building"} for it in _INDEX_TYPES}
        indexes = [{"type": kind, "root": root, **stats[kind]} for kind in _INDEX_TYPES]
        indexes += [self._history_json(it) for it in self._context.engine().histories.collections()]
        return self._context.reply({"directory": root, "indexes": indexes, "memoryEstimate": _memory_json()})

    def search_reindex(self, dir: DirArg = "", ext: ExtArg = "") -> ToolReply:
        """Update the index from disk and wait until it is done; only changed files are read. `ext` limits the files
        counted, not those indexed."""
        report = self._reindex(dir)
        return self._context.reply(
            {"status": "ok", "files": len(self._files(ext)), "uniqueTokens": self._word_count(), **report}
        )

    def search_reindex_definitions(self, dir: DirArg = "", ext: ExtArg = "") -> ToolReply:
        """Same as search_reindex, with the number of definitions in the answer."""
        report = self._reindex(dir)
        return self._context.reply(
            {"status": "ok", "files": len(self._files(ext)), **self._definition_stats(), **report}
        )

    def search_help(self) -> ToolReply:
        """Show which tool answers what, with examples and advice."""
        return self._context.reply(help_json())

    # --- counts and sizes ---

    def _reindex(self, directory: str) -> dict[str, Any]:
        target, started = self._context.resolve_directory(directory), self._context.now()
        report = self._context.reindex(target)
        result: dict[str, Any] = {"rebuildTimeMs": self._context.ms_since(started), "filesRead": report["indexed"]}
        return {**result, "notes": report["notes"]} if report["notes"] else result

    def _index_stats(self) -> dict[str, dict[str, Any]]:
        files, index = self._files(), self._context.engine().index_path
        common = {"extensions": _extensions(files), **self._age(), "inMemory": False}
        lines = index.with_name(f"{index.name}-lines")
        content = {"files": len(files), "uniqueTokens": self._word_count(), "sizeMb": _mb(lines)}
        return {
            "content": {**content, **common},
            "definition": {"files": len(files), **self._definition_stats(), **common},
            "file-list": {"entries": len(files), "sizeMb": _mb(index), **common},
        }

    def _files(self, ext: str = "") -> list[str]:
        """Return the paths of all indexed files in the directory."""
        dir_scope = self._context.directory_scope()
        query = NameQuery(
            (".",),
            "regex",
            extensions=split_commas(ext),
            entry_type="files",
            collections=tuple(dir_scope.roots),
            path_filter=dir_scope.contains,
            limit=0,
        )
        return [it.path for it in self._context.engine().find(query).entries]

    def _word_count(self) -> int:
        return self._context.engine().grep(GrepQuery(("a",), limit=1)).index_words

    def _definition_stats(self) -> dict[str, Any]:
        engine = self._context.engine()
        measured = engine.symbols(SymbolQuery(min_metrics={"cyclomatic": 0}, limit=1))
        return {
            "definitions": measured.index_definitions,
            "callSites": engine.status().counts.calls,
            "codeStatsEntries": measured.total,
            "sizeMb": _mb(engine.index_path),
        }

    def _history_json(self, history: Collection) -> dict[str, Any]:
        """Describe an indexed git history; its root is the git directory."""
        entry = {"type": "git-history", "root": history.root}
        if not history.synced_at:
            return {**entry, "status": "building"}
        age = self._hours_since(history.synced_at)
        return {
            **entry,
            "commits": self._context.engine().history.commit_count(history.name),
            "ageHours": age,
            "inMemory": False,
        }

    def _age(self) -> dict[str, Any]:
        dir_scope = self._context.directory_scope()
        synced = [it.synced_at for it in self._context.engine().collections() if it.name in dir_scope.roots]
        hours = self._hours_since(min(synced, default=0.0))
        return {"ageHours": hours, "stale": hours > _STALE_HOURS}

    def _hours_since(self, moment: float) -> float:
        return round((self._wall_clock() - moment) / _SECONDS_PER_HOUR, 2)


def _extensions(paths: Iterable[str]) -> list[str]:
    """Return the extensions, most frequent first."""
    counts = Counter(PurePosixPath(it).suffix.lower().removeprefix(".") for it in paths)
    return [it for it, _ in counts.most_common() if it]


def _mb(path: Path) -> float:
    try:
        return round(path.stat().st_size / _BYTES_PER_MB, 2)
    except OSError:
        return 0.0  # a small index has no separate file for lines


def _memory_json() -> dict[str, Any]:
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return {"processPeakMB": round(peak * (1 if sys.platform == "darwin" else 1024) / _BYTES_PER_MB, 1)}
