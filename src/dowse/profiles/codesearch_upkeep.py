"""The tools of the code search contract that tell about the index, renew it, and explain themselves."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from resource import RUSAGE_SELF, getrusage
from typing import Any

from dowse.lookup.find import NameQuery
from dowse.lookup.grep.question import Lines
from dowse.lookup.symbols.question import Wanted
from dowse.model import Collection
from dowse.profiles.codesearch_desk import Desk
from dowse.profiles.codesearch_help import help_json
from dowse.profiles.codesearch_words import Dir, Ext, listed
from dowse.profiles.tool import Reply

_TYPES = ("content", "definition", "file-list")
_STALE_HOURS = 24
_BYTES_PER_MB = 1024 * 1024
_SECONDS_PER_HOUR = 3600


class UpkeepTools:
    def __init__(self, desk: Desk, wall_clock: Callable[[], float] = time.time) -> None:
        self._desk = desk
        self._wall_clock = wall_clock

    # --- the tools ---

    def search_info(self) -> Reply:
        """What is indexed: how many files, words, definitions and calls, how large and how old; or that it is being
        built."""
        root = self._desk.directory.as_posix()
        figures = self._figures() if self._desk.is_built() else {it: {"status": "building"} for it in _TYPES}
        indexes = [{"type": kind, "root": root, **figures[kind]} for kind in _TYPES]
        indexes += [self._history(it) for it in self._desk.engine().histories()]
        return self._desk.reply({"directory": root, "indexes": indexes, "memoryEstimate": _memory()})

    def search_reindex(self, dir: Dir = "", ext: Ext = "") -> Reply:
        """Bring the index in line with the files on disk, and say when it is done; only what changed is read. `ext`
        limits the files that are counted, all are indexed."""
        done = self._renewed(dir)
        return self._desk.reply({"status": "ok", "files": len(self._files(ext)), "uniqueTokens": self._words(), **done})

    def search_reindex_definitions(self, dir: Dir = "", ext: Ext = "") -> Reply:
        """The same as search_reindex, told in definitions."""
        done = self._renewed(dir)
        return self._desk.reply({"status": "ok", "files": len(self._files(ext)), **self._structure(), **done})

    def search_help(self) -> Reply:
        """Which tool answers what, with examples, and how to ask well."""
        return self._desk.reply(help_json())

    # --- figures ---

    def _renewed(self, directory: str) -> dict[str, Any]:
        place, started = self._desk.place(directory), self._desk.now()
        report = self._desk.reindex(place)
        done: dict[str, Any] = {"rebuildTimeMs": self._desk.ms_since(started), "filesRead": report["indexed"]}
        return {**done, "notes": report["notes"]} if report["notes"] else done

    def _figures(self) -> dict[str, dict[str, Any]]:
        files, index = self._files(), self._desk.engine().index_path
        common = {"extensions": _extensions(files), **self._age(), "inMemory": False}
        lines = index.with_name(f"{index.name}-lines")
        content = {"files": len(files), "uniqueTokens": self._words(), "sizeMb": _mb(lines)}
        return {
            "content": {**content, **common},
            "definition": {"files": len(files), **self._structure(), **common},
            "file-list": {"entries": len(files), "sizeMb": _mb(index), **common},
        }

    def _files(self, ext: str = "") -> list[str]:
        """The paths of all indexed files of the directory."""
        territory = self._desk.territory()
        query = NameQuery(
            (".",),
            "regex",
            extensions=listed(ext),
            only="files",
            collections=tuple(territory.roots),
            wanted=territory.below,
            limit=0,
        )
        return [it.path for it in self._desk.engine().find(query).entries]

    def _words(self) -> int:
        return self._desk.engine().grep(Lines(("a",), limit=1)).index_words

    def _structure(self) -> dict[str, Any]:
        engine = self._desk.engine()
        measured = engine.symbols(Wanted(least={"cyclomatic": 0}, limit=1))
        return {
            "definitions": measured.index_definitions,
            "callSites": engine.status().counts.calls,
            "codeStatsEntries": measured.total,
            "sizeMb": _mb(engine.index_path),
        }

    def _history(self, history: Collection) -> dict[str, Any]:
        """The root is the directory git keeps it in."""
        told = {"type": "git-history", "root": history.root}
        if not history.synced_at:
            return {**told, "status": "building"}
        age = self._hours_since(history.synced_at)
        return {**told, "commits": self._desk.engine().commit_count(history.name), "ageHours": age, "inMemory": False}

    def _age(self) -> dict[str, Any]:
        territory = self._desk.territory()
        synced = [it.synced_at for it in self._desk.engine().collections() if it.name in territory.roots]
        hours = self._hours_since(min(synced, default=0.0))
        return {"ageHours": hours, "stale": hours > _STALE_HOURS}

    def _hours_since(self, moment: float) -> float:
        return round((self._wall_clock() - moment) / _SECONDS_PER_HOUR, 2)


def _extensions(paths: Iterable[str]) -> list[str]:
    """The most frequent first."""
    counted = Counter(PurePosixPath(it).suffix.lower().removeprefix(".") for it in paths)
    return [it for it, _ in counted.most_common() if it]


def _mb(path: Path) -> float:
    try:
        return round(path.stat().st_size / _BYTES_PER_MB, 2)
    except OSError:
        return 0.0  # small indexes have no file of their own for lines


def _memory() -> dict[str, Any]:
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return {"processPeakMB": round(peak * (1 if sys.platform == "darwin" else 1024) / _BYTES_PER_MB, 1)}
