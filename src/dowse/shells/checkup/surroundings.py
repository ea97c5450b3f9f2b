"""What lies around an index: permissions, room on the disk, SQLite, limits of the system, leftovers, who writes."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw

from dowse.errors import IndexBusy
from dowse.live.watch.limits import most_watches
from dowse.store.health import Finding
from dowse.store.sqlite.beside import belongings
from dowse.store.sqlite.holder import holder_of
from dowse.store.sqlite.locks import write_lock

FIX = "dowse doctor --fix"
_MB = 1_000_000
_LONG_LOG_BYTES = 64 * _MB
_LEAST_ROOM_BYTES = 200 * _MB
_FEW_WATCHES = 65_536
_FIXED_SQLITE = (3, 51, 3)  # older ones may damage a file that two connections write to
_LEFT_BY_KILLS = (".new", ".new-wal", ".new-shm", ".new.lock", "-vectors.new", "-lines.new", "-jobs.new")
_NO_WAIT_S = 0.5


def surroundings(index: Path, data_dir: Path) -> Iterator[Finding]:
    yield from _permissions(index, data_dir)
    yield from _room(index)
    yield _log(index)
    yield from _leftovers(index)
    yield _writer(index)
    yield _sqlite()
    yield from _watching()


# --- files ---


def exposed(index: Path, data_dir: Path) -> list[tuple[Path, int]]:
    """What others than its owner may read or write, each with the mode it should have."""
    wanted = [(data_dir, 0o700), (index.parent, 0o700)] if data_dir in index.parents else []
    wanted += [(it, 0o600) for it in belongings(index)]
    return [(path, mode) for path, mode in wanted if _mode(path) & 0o077 and not path.is_symlink()]


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _permissions(index: Path, data_dir: Path) -> Iterator[Finding]:
    foreign = [it for it in (data_dir, index) if it.exists() and it.stat().st_uid != os.getuid()]
    for path in foreign:
        yield Finding("permissions", "problem", f"{path} belongs to another user", "chown it, or name another place")
    for path, mode in exposed(index, data_dir):
        text = f"others may read {path} (mode {_mode(path):o} instead of {mode:o})"
        yield Finding("permissions", "warning", text, FIX)
    if not os.access(index.parent, os.W_OK):
        text = f"{index.parent} can not be written to: searching works, indexing and mending do not"
        yield Finding("permissions", "warning", text, "make it writable, or name another --index")


def _room(index: Path) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(index.parent).free
    except OSError:
        return
    size = sum(it.stat().st_size for it in belongings(index) if it.is_file())
    # A new index is made beside the old one.
    needed = max(size, _LEAST_ROOM_BYTES)
    text = f"{free // _MB:,} MB free where the index takes {size // _MB:,} MB"
    if free < needed:
        yield Finding("disk", "problem", f"{text}: too little to make it anew", "make room, or name another --index")
    else:
        yield Finding("disk", "ok", text)


def _log(index: Path) -> Finding:
    log = index.with_name(f"{index.name}-wal")
    size = log.stat().st_size if log.is_file() else 0
    if size > _LONG_LOG_BYTES:
        text = f"the write-ahead log has {size // _MB:,} MB: a reader may be holding an old state"
        return Finding("log", "warning", text, FIX)
    return Finding("log", "ok", f"the write-ahead log has {size / _MB:.1f} MB")


# --- leftovers ---


def left_by_kills(index: Path) -> list[Path]:
    """Unfinished files whose maker is gone; nothing while somebody writes, because then they may be in use."""
    found = [it for suffix in _LEFT_BY_KILLS if (it := index.with_name(index.name + suffix)).is_file()]
    if not found:
        return []
    with suppress(IndexBusy, OSError), write_lock(index, _NO_WAIT_S, "looking for leftovers"):
        return found
    return []


def set_aside(index: Path) -> list[Path]:
    return sorted(index.parent.glob(f"{index.name}*.damaged*"))


def _leftovers(index: Path) -> Iterator[Finding]:
    for path in left_by_kills(index):
        yield Finding("leftovers", "warning", f"{path.name} was left unfinished by a process that was killed", FIX)
    for path in set_aside(index):
        yield Finding("leftovers", "warning", f"{path} was damaged and set aside", "look at it, then delete it")


# --- the system ---


def _writer(index: Path) -> Finding:
    holder = holder_of(index)
    if holder is None:
        return Finding("lock", "ok", "nobody is writing to the index")
    if holder.stopped:
        text = f"{holder.told()} holds the write lock and does not run"
        return Finding("lock", "problem", text, f"kill -CONT {holder.pid}, or end that process")
    return Finding("lock", "ok", f"{holder.told()} is writing to the index")


def _sqlite() -> Finding:
    version = apsw.sqlite_lib_version()
    if tuple(int(it) for it in version.split(".")) < _FIXED_SQLITE:
        text = f"SQLite {version} may damage a file that several connections write to"
        return Finding("SQLite", "problem", text, "upgrade apsw")
    if "ENABLE_FTS5" not in apsw.compile_options:
        return Finding(
            "SQLite", "problem", f"SQLite {version} has no full-text search", "install the apsw package anew"
        )
    return Finding("SQLite", "ok", f"SQLite {version} with FTS5")


def _watching() -> Iterator[Finding]:
    allowed = most_watches()
    if allowed is None:
        yield Finding("watching", "ok", "files are followed by looking again and again: the system has no inotify")
    elif allowed < _FEW_WATCHES:
        text = f"only {allowed:,} directories can be watched at once; beyond, they are polled"
        yield Finding("watching", "warning", text, f"sysctl fs.inotify.max_user_watches={8 * _FEW_WATCHES}")
    else:
        yield Finding("watching", "ok", f"{allowed:,} directories can be watched at once")
