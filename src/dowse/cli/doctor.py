"""The command `doctor` and its checks."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import apsw
import click

from dowse.cli.index import sync_report_text
from dowse.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.cli.progress import progress_bar
from dowse.config import Settings
from dowse.engine import Engine
from dowse.engine.semantics import NO_ENCODER
from dowse.errors import DowseError, EncoderMissing, IndexBusy, IndexDamaged, IndexForeign, IndexUnusable, NotIndexed
from dowse.ingest.embed import ProgressCallback
from dowse.live.heal import IndexRebuild, repair_or_rebuild
from dowse.live.watch.watcher import max_inotify_watches
from dowse.model import SkippedItem
from dowse.paths import DataPaths, is_intact_root
from dowse.server.workspace import Workspace
from dowse.store.sqlite.derived import index_files
from dowse.store.sqlite.health import find_header_problem
from dowse.store.sqlite.locks import read_lock_owner, write_lock
from dowse.store.types import STORE_PARTS, Finding

# --------------------------------------------------------------------------------------------------
# Checks of the environment of an index: permissions, disk space, SQLite, system limits, leftovers, writers.

FIX_COMMAND = "dowse doctor --fix"
_MB = 1_000_000
_LARGE_WAL_BYTES = 64 * _MB
_MIN_FREE_BYTES = 200 * _MB
_LOW_WATCH_LIMIT = 65_536
_MIN_SQLITE_VERSION = (3, 51, 3)  # older versions may damage a file that two connections write to
_UNFINISHED_SUFFIXES = (".new", ".new-wal", ".new-shm", ".new.lock", "-vectors.new", "-lines.new", "-jobs.new")
_LEFTOVER_LOCK_TIMEOUT_S = 0.5


def check_environment(index: Path, data_dir: Path) -> Iterator[Finding]:
    yield from _check_permissions(index, data_dir)
    yield from _check_disk_space(index)
    yield _check_wal(index)
    yield from _check_leftovers(index)
    yield _check_write_lock(index)
    yield _check_sqlite()
    yield from _check_watch_limits()


# --- files ---


def exposed_paths(index: Path, data_dir: Path) -> list[tuple[Path, int]]:
    """Return paths that users other than the owner may access, each with the mode it should have."""
    wanted = [(data_dir, 0o700), (index.parent, 0o700)] if data_dir in index.parents else []
    wanted += [(it, 0o600) for it in index_files(index)]
    return [(path, mode) for path, mode in wanted if _path_mode(path) & 0o077 and not path.is_symlink()]


def _path_mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _check_permissions(index: Path, data_dir: Path) -> Iterator[Finding]:
    foreign = [it for it in (data_dir, index) if it.exists() and it.stat().st_uid != os.getuid()]
    for path in foreign:
        yield Finding("permissions", "problem", f"{path} belongs to another user", "chown it, or choose another path")
    for path, mode in exposed_paths(index, data_dir):
        text = f"other users may access {path} (mode {_path_mode(path):o} instead of {mode:o})"
        yield Finding("permissions", "warning", text, FIX_COMMAND)
    if not os.access(index.parent, os.W_OK):
        text = f"{index.parent} is not writable: searching works, indexing and repairing do not"
        yield Finding("permissions", "warning", text, "make it writable, or choose another --index")


def _check_disk_space(index: Path) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(index.parent).free
    except OSError:
        return
    size = sum(it.stat().st_size for it in index_files(index) if it.is_file())
    # A rebuild needs space for a second index.
    needed = max(size, _MIN_FREE_BYTES)
    text = f"{free // _MB:,} MB free, the index takes {size // _MB:,} MB"
    if free < needed:
        yield Finding(
            "disk", "problem", f"{text}: too little space to rebuild it", "free some space, or choose another --index"
        )
    else:
        yield Finding("disk", "ok", text)


def _check_wal(index: Path) -> Finding:
    log = index.with_name(f"{index.name}-wal")
    size = log.stat().st_size if log.is_file() else 0
    if size > _LARGE_WAL_BYTES:
        text = f"the write-ahead log is {size // _MB:,} MB: a reader may be holding an old snapshot"
        return Finding("log", "warning", text, FIX_COMMAND)
    return Finding("log", "ok", f"the write-ahead log is {size / _MB:.1f} MB")


# --- leftovers ---


def unfinished_files(index: Path) -> list[Path]:
    """Return unfinished files whose process is gone; empty while anyone writes, because they may be in use."""
    found = [it for suffix in _UNFINISHED_SUFFIXES if (it := index.with_name(index.name + suffix)).is_file()]
    if not found:
        return []
    with suppress(IndexBusy, OSError), write_lock(index, _LEFTOVER_LOCK_TIMEOUT_S, "looking for leftovers"):
        return found
    return []


def damaged_copies(index: Path) -> list[Path]:
    return sorted(index.parent.glob(f"{index.name}*.damaged*"))


def _check_leftovers(index: Path) -> Iterator[Finding]:
    for path in unfinished_files(index):
        yield Finding("leftovers", "warning", f"{path.name} was left unfinished by a killed process", FIX_COMMAND)
    for path in damaged_copies(index):
        yield Finding("leftovers", "warning", f"{path} was damaged and set aside", "inspect it, then delete it")


# --- the system ---


def _check_write_lock(index: Path) -> Finding:
    holder = read_lock_owner(index)
    if holder is None:
        return Finding("lock", "ok", "no process is writing to the index")
    if holder.stopped:
        text = f"{holder.describe()} holds the write lock but is suspended"
        return Finding("lock", "problem", text, f"kill -CONT {holder.pid}, or kill that process")
    return Finding("lock", "ok", f"{holder.describe()} is writing to the index")


def _check_sqlite() -> Finding:
    version = apsw.sqlite_lib_version()
    if tuple(int(it) for it in version.split(".")) < _MIN_SQLITE_VERSION:
        text = f"SQLite {version} may damage a file that several connections write to"
        return Finding("SQLite", "problem", text, "upgrade apsw")
    if "ENABLE_FTS5" not in apsw.compile_options:
        return Finding("SQLite", "problem", f"SQLite {version} has no full-text search", "reinstall the apsw package")
    return Finding("SQLite", "ok", f"SQLite {version} with FTS5")


def _check_watch_limits() -> Iterator[Finding]:
    allowed = max_inotify_watches()
    if allowed is None:
        yield Finding("watching", "ok", "files are polled, because the system has no inotify")
    elif allowed < _LOW_WATCH_LIMIT:
        text = f"only {allowed:,} directories can be watched at once; more are polled"
        yield Finding("watching", "warning", text, f"sysctl fs.inotify.max_user_watches={8 * _LOW_WATCH_LIMIT}")
    else:
        yield Finding("watching", "ok", f"{allowed:,} directories can be watched at once")


# --------------------------------------------------------------------------------------------------
# Checks of the encoder and of the vector cache that all indexes of this user share.

_ENCODER_PROBE_TEXT = "is the encoder intact?"
_CACHE_BUSY_TIMEOUT_MS = 2_000


def check_encoder(settings: Settings, *, deep: bool) -> Finding:
    """Check that the encoder loads; with `deep`, also compare its weights with their digest and encode something."""
    if settings.encoder == NO_ENCODER:
        return Finding("encoder", "ok", "semantic search is off (encoder = none)")
    from dowse.encoders.choose import choose_encoder

    try:
        choice = choose_encoder(settings.encoder, cache_dir=DataPaths.of(settings).models, patient=False)
        if deep:
            _verify_weights(choice.encoder.name)
            choice.encoder.encode([_ENCODER_PROBE_TEXT])
    except EncoderMissing as error:
        return Finding("encoder", "problem", str(error), "follow this advice, or choose another --encoder")
    return Finding("encoder", "ok", f"{choice.encoder.name}: {choice.why.removesuffix('.')}")


def _verify_weights(name: str) -> None:
    """Check the weights themselves, because the encoder uses a graph built from them as long as that exists."""
    from dowse.encoders import granite

    if name == granite.GRANITE_NAME:
        from dowse.encoders.onnx_model import read_pack

        read_pack(granite.installed_granite_weights(), granite.PACK_SHA256)


def vector_cache_files(places: DataPaths) -> list[Path]:
    return sorted(places.vectors.glob("*.sqlite"))


def check_vector_caches(places: DataPaths) -> Iterator[Finding]:
    files = vector_cache_files(places)
    damaged = [it for it in files if is_cache_damaged(it)]
    for path in damaged:
        yield Finding("vector cache", "problem", f"{path} is damaged: vectors are computed again", FIX_COMMAND)
    if not damaged:
        size = sum(it.stat().st_size for it in files)
        yield Finding("vector cache", "ok", f"{len(files)} files intact, {size // 1_000_000:,} MB of shared vectors")


def is_cache_damaged(cache: Path) -> bool:
    try:
        connection = apsw.Connection(str(cache), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_CACHE_BUSY_TIMEOUT_MS)
            return connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]
        finally:
            connection.close()
    except (apsw.CorruptError, apsw.NotADBError):
        return True
    except apsw.Error:
        return False  # busy, or cannot be opened: not damage


# --------------------------------------------------------------------------------------------------
# The repairs of `dowse doctor --fix`, each reported in a sentence.


def repair_findings(workspace: Workspace, findings: Sequence[Finding], progress: ProgressCallback) -> Iterator[str]:
    """Repair everything; raise if something prevents that: a full disk, another writer, a missing root."""
    places = DataPaths.of(workspace.settings)
    yield from _repair_permissions(workspace.index, places.data_dir)
    yield from _delete_leftovers(workspace.index)
    yield from _delete_damaged_caches(places)
    failed = [it for it in findings if it.state != "ok"]
    if any(it.part in STORE_PARTS and it.state == "problem" for it in failed):
        yield from repair_or_rebuild(workspace.settings, workspace.index, workspace.root, progress)
    yield from _update_index(workspace, progress)
    if any(it.part == "log" for it in failed):
        yield from _empty_wal(workspace)


def _repair_permissions(index: Path, data_dir: Path) -> Iterator[str]:
    for path, mode in exposed_paths(index, data_dir):
        try:
            path.chmod(mode)
        except OSError as error:
            yield f"{path} cannot be made private: {error.strerror}"
        else:
            yield f"{path} is now readable only by its owner"


def _delete_leftovers(index: Path) -> Iterator[str]:
    for path in unfinished_files(index):
        path.unlink(missing_ok=True)
        yield f"{path.name}, left by a killed process, was deleted"


def _delete_damaged_caches(places: DataPaths) -> Iterator[str]:
    for path in vector_cache_files(places):
        if is_cache_damaged(path):
            for ending in ("", "-wal", "-shm"):
                Path(f"{path}{ending}").unlink(missing_ok=True)
            yield f"the damaged vector cache {path.name} was deleted; it refills as text is encoded"


def _update_index(workspace: Workspace, progress: ProgressCallback) -> Iterator[str]:
    """Reindex what was lost with a log or has changed since; an index from a newer Dowse stays unchanged."""
    with suppress(IndexUnusable), workspace.open(create=True) as engine:
        known = [Path(it.root) for it in engine.collections()]
        places = [it for it in known if is_intact_root(it)] or [workspace.root]
        report = engine.index(places, vectors=False, progress=progress)
        report.notes += engine.histories.index_history(progress=progress).notes
        report.add(engine.indexing.encode(progress=progress))
        if report.indexed or report.deleted or report.embedded or report.reused:
            yield f"the index was updated from the files: {sync_report_text(report).splitlines()[0]}"


def _empty_wal(workspace: Workspace) -> Iterator[str]:
    try:
        with workspace.open(create=False) as engine:
            engine.indexing.checkpoint()
    except DowseError as error:
        yield f"the write-ahead log cannot be emptied: {error}"
    else:
        yield "the write-ahead log was emptied as far as its readers allow"


# --------------------------------------------------------------------------------------------------
# Checks of the index, even if it cannot be opened: header, parts, roots, and files left out.

_MAX_SKIP_REASONS = 5


def check_index(workspace: Workspace, progress: ProgressCallback, *, deep: bool) -> Iterator[Finding]:
    index = workspace.index
    if problem := find_header_problem(index):
        yield Finding("catalog", "problem", f"{index} {problem}", FIX_COMMAND)
        return
    try:
        with workspace.open(create=False, heals=False) as engine:
            yield Finding("index", "ok", f"{index}, version {engine.status().schema}")
            yield from engine.health.check(deep=deep, progress=progress)
            yield from _check_roots(engine)
            yield from _check_skipped_files(engine)
    except NotIndexed as error:
        yield Finding("index", "problem", str(error), f"dowse index {workspace.root}")
    except (IndexDamaged, IndexForeign) as error:
        yield Finding("catalog", "problem", str(error.__cause__ or error), FIX_COMMAND)
    except DowseError as error:
        yield Finding("index", "problem", str(error))


def _check_roots(engine: Engine) -> Iterator[Finding]:
    for collection in engine.collections():
        if not is_intact_root(Path(collection.root)):
            text = f"{collection.root} is missing; its indexed data is kept"
            yield Finding("roots", "warning", text, "make it available, or `dowse rebuild --drop-missing`")
        elif not collection.synced_at:
            yield Finding(
                "roots", "warning", f"{collection.root} is only partly indexed", f"dowse index {collection.root}"
            )
        else:
            yield Finding("roots", "ok", f"{collection.root}, {collection.listed:,} files")


def _check_skipped_files(engine: Engine) -> Iterator[Finding]:
    status = engine.status()
    yield _count_skipped("skipped", status.skipped, "every file could be read")
    yield _count_skipped("unparsed", status.quarantined, "every code file could be parsed")


def _count_skipped(part: str, files: Sequence[SkippedItem], otherwise: str) -> Finding:
    if not files:
        return Finding(part, "ok", otherwise)
    common = Counter(it.reason for it in files).most_common(_MAX_SKIP_REASONS)
    reasons = ", ".join(f"{count:,} × {reason}" for reason, count in common)
    return Finding(part, "ok", f"{len(files):,} files: {reasons} (`dowse status` lists them)")


_FINDING_MARKS = {"ok": "✓", "warning": "!", "problem": "✗"}


@click.command("doctor")
@click.option("--fix", "fixes", is_flag=True, help="Repair what can be repaired, and report what was done.")
@click.option("--deep/--quick", default=True, help="Read everything and verify checksums, or only compare counts.")
@root_option
@json_option
@settings_options()
def doctor_command(root: Path | None, fixes: bool, deep: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Check the index and its environment: damage, leftovers, permissions, disk, encoder, limits, skipped files.

    \b
    dowse doctor              check everything; changes nothing
    dowse doctor --quick      compare counts only
    dowse doctor --fix        repair indexes from the catalog, damaged records from
                              files; if that fails, rebuild the whole index

    ✓ fine, ! worth knowing, ✗ problem; → next step. Searches keep working meanwhile, and a damaged index is
    set aside, not deleted. Exit code 0: no problems; 1: problems found, or left; 2: an error.
    """
    workspace = workspace_of(root, flags)
    # Refuse a file that is not an index before reading it.
    IndexRebuild(workspace.settings, workspace.index, workspace.root).check_replaceable(any_sqlite=True)
    with progress_bar() as progress:
        findings = _run_checks(workspace, progress, deep=deep)
        done = list(repair_findings(workspace, findings, progress)) if fixes else []
        if done:
            findings = _run_checks(workspace, progress, deep=deep)
    healthy = all(it.state != "problem" for it in findings)
    click.echo(
        _findings_json(workspace, findings, done, healthy)
        if as_json
        else "\n".join(_findings_lines(findings, done, healthy, fixes))
    )
    return 0 if healthy else 1


def _run_checks(workspace: Workspace, progress: ProgressCallback, *, deep: bool) -> list[Finding]:
    places = DataPaths.of(workspace.settings)
    findings = list(check_index(workspace, progress, deep=deep))
    findings += check_environment(workspace.index, places.data_dir)
    findings.append(check_encoder(workspace.settings, deep=deep))
    return [*findings, *check_vector_caches(places)]


def _findings_json(workspace: Workspace, findings: Sequence[Finding], done: Sequence[str], healthy: bool) -> str:
    data = {
        "index": str(workspace.index),
        "healthy": healthy,
        "findings": [asdict(it) for it in findings],
        "fixed": list(done),
    }
    return json.dumps(data, ensure_ascii=False)


def _findings_lines(findings: Sequence[Finding], done: Sequence[str], healthy: bool, fixes: bool) -> list[str]:
    width = max(len(it.part) for it in findings)
    lines = [_finding_line(it, width) for it in findings]
    lines += [f"  fixed: {it}" for it in done]
    return [*lines, "", _findings_verdict(findings, healthy, fixes)]


def _finding_line(finding: Finding, width: int) -> str:
    step = f"  → {finding.fix}" if finding.fix else ""
    return f"{_FINDING_MARKS[finding.state]} {finding.part:<{width}}  {finding.text}{step}"


def _findings_verdict(findings: Sequence[Finding], healthy: bool, fixes: bool) -> str:
    problems = sum(it.state == "problem" for it in findings)
    if healthy:
        return "no problems found"
    left = " left" if fixes else ""
    return f"{problems} {'problem' if problems == 1 else 'problems'}{left}"
