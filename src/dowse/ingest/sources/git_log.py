"""Read commits and patches from git log."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dowse.errors import BadInput
from dowse.git.commit import DEFAULT_REDACTION, FILE_EXCLUDED, CommitData, Redaction
from dowse.git.diff_tree import (
    CHANGED_LINES_UNKNOWN,
    COMMIT_LOG_FORMAT,
    DiffTreeOutput,
    DiffTreeProcess,
    parse_commit,
    parse_seconds,
)
from dowse.git.refs import RefTips, is_object_hash, read_ref_tips, read_refs, read_shallow_commits, to_stdin_lines
from dowse.git.repository import ALL_REFS_OPTIONS
from dowse.git.runner import (
    GIT_TIMEOUT_SECONDS,
    LITERAL_PATHSPECS,
    decode_git_path,
    git_output,
    path_spellings,
    try_git,
)
from dowse.ingest.extract.commit import extract_commit
from dowse.model import Item, Record

_NS_PER_SECOND = 1_000_000_000
_MAX_HEAD_NAMES_BYTES = 50_000_000  # names of a million files
_FULL_HISTORY = "--full-history"  # include side branches even if their changes were discarded
_PLAIN_OUTPUT = ("--no-follow", "--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--encoding=UTF-8")
_LOG_FIELDS = 10  # per commit: its values, and an empty one after them
_ONLY_NAMES = ("-r", "-z", "--root", "--always", "-M50%", "-l400", "--name-status", "--no-ext-diff", "--no-textconv")
_ONLY_MERGES = ("rev-list", "--no-walk=unsorted", "--merges", "--stdin")
_COMBINED = ("diff-tree", "--stdin", "-c", "-r", "-z", "--name-status", "--no-renames")


class PathChange(NamedTuple):
    """A commit's change to a path. The status is A, M, D, T, or R with the previous path in `before`."""

    status: str
    path: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class _PathUses:
    """The commits that use one path: those that touched it, those that renamed a file to it (with the previous path),
    and those that renamed it away."""

    commits: AbstractSet[str]
    arrivals: Mapping[str, str]
    departures: AbstractSet[str]


class GitLog:
    """The current commits of one repository; created per query."""

    def __init__(self, git_directory: Path, history: str = "", withholding: Redaction = DEFAULT_REDACTION) -> None:
        self._directory = git_directory
        self._history = history
        self._withholding = withholding
        self._uses_by_path: dict[str, _PathUses] = {}
        self._commits_by_time: dict[int, dict[str, tuple[str, ...]]] = {}
        self._ends: RefTips | None = None

    @property
    def problem(self) -> str:
        """Describe the branches and tags that could not be read so far; empty if none."""
        return "" if self._ends is None else self._ends.sentence() or "a branch or tag points to no object"

    def commits(self, names: Sequence[str] = ()) -> list[Record]:
        """Return the commits that touched one of the paths or something below it (no paths: all), newest first."""
        fields = self._log(COMMIT_LOG_FORMAT, "-z", names=names).split(b"\0")
        frames = (fields[at : at + _LOG_FIELDS] for at in range(0, len(fields) - _LOG_FIELDS, _LOG_FIELDS))
        edge = read_shallow_commits(str(self._directory)) if names else frozenset[str]()
        commits = [parse_commit(b"\0".join(it), 0, withholding=self._withholding) for it in frames]
        if names:  # git lists every merge that differs from any parent
            changing = self._changed_merges([it.hash for it in commits if len(it.parents) > 1], names)
            commits = [it for it in commits if it.hash not in edge and (len(it.parents) < 2 or it.hash in changing)]
        return sorted(map(self._to_record, commits), key=lambda it: (-it.mtime_ns, it.path))

    def changes(self, commits: Iterable[str]) -> Iterator[tuple[str, list[PathChange]]]:
        """Yield the changes of each commit.

        A commit at the edge of a shallow clone is left out: every file would look new.
        """
        edge = read_shallow_commits(str(self._directory))
        stdin = to_stdin_lines(it for it in commits if it not in edge)
        if stdin:
            merges = self._changed_merges(
                git_output(self._directory, *_ONLY_MERGES, stdin=stdin).decode("ascii").split()
            )
            for commit, found in _parse_changes(
                git_output(self._directory, "diff-tree", "--stdin", *_ONLY_NAMES, stdin=stdin)
            ):
                yield commit, found or merges.get(commit, [])

    def _changed_merges(self, merges: Sequence[str], names: Sequence[str] = ()) -> dict[str, list[PathChange]]:
        """Return the merges with changes of their own: files that differ from every parent."""
        if not merges:
            return {}
        output = git_output(self._directory, *_COMBINED, "--", *path_spellings(names), stdin=to_stdin_lines(merges))
        return {commit: found for commit, found in _parse_changes(output) if found}

    # --- path history, by git log ---

    def commits_touching(self, name: str) -> AbstractSet[str]:
        return self._load_uses(name).commits

    def arrivals(self, name: str) -> Mapping[str, str]:
        return self._load_uses(name).arrivals

    def departures(self, name: str) -> AbstractSet[str]:
        return self._load_uses(name).departures

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        rows = self._run_from_tips("rev-list", "--parents").decode("ascii").splitlines()
        return {commit: tuple(parents) for commit, *parents in map(str.split, rows)}

    def parents_at(self, moment_ns: int) -> Mapping[str, tuple[str, ...]]:
        """Return the commits of one second with their parents.

        Cached, because git can only find a time by a full walk.
        """
        if not self._commits_by_time:
            for line in self._log("--format=%ct,%H,%P", names=()).splitlines():
                at, commit, parents = line.split(b",")
                same = self._commits_by_time.setdefault(parse_seconds(at) * _NS_PER_SECOND, {})
                same[commit.decode("ascii")] = tuple(parents.decode("ascii").split())
        return self._commits_by_time.get(moment_ns, {})

    def _load_uses(self, name: str) -> _PathUses:
        """Return the uses of a path, cached. A diff limited to one path shows a rename as a delete plus an add, so the
        changes of those commits are read in full."""
        if name not in self._uses_by_path:
            renames = [
                (commit, it) for commit, found in self.changes(self._touching_commits(name, "AD")) for it in found
            ]
            departures = {commit for commit, it in renames if it.before == name}
            arrivals = {commit: it.before for commit, it in renames if it.path == name and it.before}
            touching = (
                self._touching_commits(name, "AMDT") | self._changed_merges(self._merges_touching(name), (name,)).keys()
            )
            self._uses_by_path[name] = _PathUses(touching - departures, arrivals, departures)
        return self._uses_by_path[name]

    def _touching_commits(self, name: str, status: str) -> set[str]:
        listed = self._log("--format=%H", "--no-merges", "--no-renames", f"--diff-filter={status}", names=(name,))
        return set(listed.decode("ascii").split()) - read_shallow_commits(str(self._directory))

    def _merges_touching(self, name: str) -> list[str]:
        return self._log("--format=%H", "--merges", names=(name,)).decode("ascii").split()

    def _log(self, form: str, *options: str, names: Sequence[str]) -> bytes:
        command = ("log", *((_FULL_HISTORY,) if names else ()), *_PLAIN_OUTPUT, form, *options)
        return self._run_from_tips(*command, names=names)

    def _run_from_tips(self, *command: str, names: Sequence[str] = ()) -> bytes:
        """Return git's output for everything reachable from all ref tips, or only from the readable ones if some are
        damaged."""
        paths = ("--", *path_spellings(names))
        if self._ends is None:
            output = try_git(self._directory, *command, *ALL_REFS_OPTIONS, *self._detached_heads(), *paths)
            if not isinstance(output, str):
                return output
            self._ends = read_ref_tips(self._directory, self._detached_heads())
            if self._ends is None or not self._ends.readable:
                raise BadInput(f"git could not read {self._directory}: {output}")
        return git_output(self._directory, *command, "--stdin", *paths, stdin=to_stdin_lines(self._ends.readable))

    def _detached_heads(self) -> tuple[str, ...]:
        """Return the commits of work trees with a detached HEAD."""
        refs = read_refs(str(self._directory))
        return () if refs is None else refs.heads

    def _to_record(self, commit: CommitData) -> Record:
        extract = extract_commit(Item(commit.hash, 0, 0), commit.to_bytes())
        at_ns = commit.committer.at * _NS_PER_SECOND
        return Record(
            self._history, commit.hash, extract.kind, extract.title, 0, at_ns, commit.hash, "", facets=extract.facets
        )


def _parse_changes(output: bytes) -> Iterator[tuple[str, list[PathChange]]]:
    """Parse a hash, then a status and one or two paths per change."""
    fields = iter(output.split(b"\0"))
    commit, changes = "", list[PathChange]()
    for field in fields:
        if is_object_hash(name := field.decode(errors="replace")):
            if commit:
                yield commit, changes
            commit, changes = name, []
        elif field:
            changes.append(_parse_change(_normalize_status(name), fields))
    if commit:
        yield commit, changes


def _normalize_status(status: str) -> str:
    """Return one status letter. Git prints a letter with a similarity score, or for a merge one letter per parent."""
    return status[:1] if len({*status}) == 1 or not status.isalpha() else "M"


def _parse_change(status: str, fields: Iterator[bytes]) -> PathChange:
    first = decode_git_path(next(fields))
    return PathChange(status, decode_git_path(next(fields)), first) if status in "RC" else PathChange(status, first)


def files_of_head(git_directory: Path) -> list[str]:
    """Return the paths of the last commit; none before the first commit, or if there are too many."""
    names = ("ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD")
    listed = try_git(git_directory, *names, max_bytes=_MAX_HEAD_NAMES_BYTES)
    return [] if isinstance(listed, str) else [decode_git_path(it) for it in listed.split(b"\0") if it]


def is_in_head(git_directory: Path, path: str) -> bool:
    """Return whether the last commit has a file or directory at this path."""
    names = path_spellings([path]) if path.strip("/") else []
    listed = (
        try_git(git_directory, "ls-tree", "-z", "--full-tree", "--name-only", "HEAD", "--", *names) if names else ""
    )
    return not isinstance(listed, str) and path in map(decode_git_path, listed.split(b"\0"))


# --------------------------------------------------------------------------------------------------
# The patches of commits in some files, each truncated to a number of lines.
#
# They are streamed, one commit after another. Lines beyond the limit are only counted, and a commit that git cannot
# diff does not affect the others.

MAX_PATCHES_CHARS = 16_000_000
"""Limit for all patches together."""
PATCHES_TOO_LARGE = "not read: the patches before it are too large or took too long; ask for fewer commits"
_PATCH_COMMAND = (
    LITERAL_PATHSPECS,
    # For larger files, git only reports that they differ.
    "-c", "core.bigFileThreshold=2m",
    "diff-tree", "--stdin", "--always", "-r", "-p", "--cc", "--root", "-M50%", "-l400",
    "--no-ext-diff", "--no-textconv", "--no-color", "--",
)  # fmt: skip
_MAX_PATCH_LINE_CHARS = 500
_REQUESTED_AHEAD = 8  # commits requested in advance


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch. `omitted` counts the lines left out; if `cut`, only those read before reading stopped. `problem` says
    why there is no text."""

    text: str
    omitted: int = 0
    cut: bool = False
    problem: str = ""


def read_patches(
    git_directory: Path,
    commits: Sequence[str],
    names: Sequence[str],
    max_lines: int,
    *,
    most_chars: int = MAX_PATCHES_CHARS,
    for_s: float = GIT_TIMEOUT_SECONDS,
    withholding: Redaction = DEFAULT_REDACTION,
) -> dict[str, Patch]:
    """Return patches by commit, for the files with these names or below them. A merge shows what differs from all
    parents."""
    found: dict[str, Patch] = {}
    deadline, chars = time.monotonic() + for_s, 0
    with closing(
        _read_outputs(str(git_directory), commits, (*_PATCH_COMMAND, *path_spellings(names)), for_s)
    ) as frames:
        for commit, frame in frames:
            is_late = time.monotonic() >= deadline
            if frame is not None or not is_late:  # otherwise git was killed for not responding
                found[commit] = _parse_patch(frame, max_lines, withholding)
                chars += len(found[commit].text)
            if chars >= most_chars or is_late:
                break
    return found | {it: Patch("", problem=PATCHES_TOO_LARGE) for it in commits if it not in found}


def _read_outputs(
    git_directory: str, commits: Sequence[str], command: Sequence[str], timeout_s: float
) -> Generator[tuple[str, DiffTreeOutput | None], None, None]:
    """Yield git's output for each commit; None if the commit ends the process, which is then restarted."""
    at = 0
    while at < len(commits):
        channel = _start_process(git_directory, command, timeout_s)
        try:
            channel.ask(commits[at : at + _REQUESTED_AHEAD])
            frame: DiffTreeOutput | None = DiffTreeOutput(b"")
            while at < len(commits) and frame is not None and not frame.is_last:
                frame = channel.receive()
                yield commits[at], frame
                channel.ask(commits[at + _REQUESTED_AHEAD : at + _REQUESTED_AHEAD + 1])
                at += 1
        finally:
            channel.close()


def _start_process(git_directory: str, command: Sequence[str], timeout_s: float) -> DiffTreeProcess:
    try:
        return DiffTreeProcess(git_directory, command, timeout_s=timeout_s)
    except OSError as error:
        raise BadInput(f"git could not read {git_directory}: {error.strerror or error}") from error


def _parse_patch(frame: DiffTreeOutput | None, max_lines: int, withholding: Redaction) -> Patch:
    """Parse git's output, which starts with the commit's hash."""
    name, _, patch = (frame.data if frame else b"").partition(b"\n")
    if frame is None or not is_object_hash(name.decode(errors="replace")):
        return Patch("", problem=CHANGED_LINES_UNKNOWN)
    patch, left_out = withholding.redact_files(patch)
    if left_out and not patch.strip():
        return Patch("", problem=FILE_EXCLUDED)
    patch = withholding.mask_secrets(patch)[0].removesuffix(b"\n")
    rows = patch.split(b"\n", max_lines)[:max_lines] if patch else []
    text = "\n".join(_shorten_line(it) for it in _decode_rows(rows))
    return Patch(text, patch.count(b"\n") + 1 - len(rows) if rows else 0, frame.cut)


def _decode_rows(rows: Iterable[bytes]) -> Iterator[str]:
    """Decode the rows.

    Those before the first hunk of a file contain paths, which are escaped as everywhere in Dowse.
    """
    is_heading = True
    for row in rows:
        is_heading = row.startswith(b"diff --") or (is_heading and not row.startswith(b"@@"))
        yield decode_git_path(row) if is_heading else row.decode("utf-8", "replace")


def _shorten_line(line: str) -> str:
    return line if len(line) <= _MAX_PATCH_LINE_CHARS else f"{line[:_MAX_PATCH_LINE_CHARS]}…"
