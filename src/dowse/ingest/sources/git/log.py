"""A history asked of git itself: for whoever trusts no index, and as long as there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dowse.errors import BadInput
from dowse.ingest.extract.commit.extract import extract_commit
from dowse.ingest.sources.git.asking import ask, attempt, path_of, spellings
from dowse.ingest.sources.git.ends import Ends, ends_of
from dowse.ingest.sources.git.loose import EVERY
from dowse.ingest.sources.git.reading.parsing import FORMAT, seconds, told_of
from dowse.ingest.sources.git.reading.told import Told
from dowse.ingest.sources.git.refs import is_name, lines, refs_of, shallow_of
from dowse.ingest.sources.git.withholding import MASKING, Withholding
from dowse.model import Item, Record

_NS_PER_SECOND = 1_000_000_000
_MOST_NAMES_BYTES = 50_000_000  # of the files of a commit: a million
_TOUCHING = "--full-history"  # side branches are not left out, however they ended
_PLAIN = ("--no-follow", "--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--encoding=UTF-8")
_FIELDS = 10  # of a commit: what is told of it, and an empty one behind that
_ONLY_NAMES = ("-r", "-z", "--root", "--always", "-M50%", "-l400", "--name-status", "--no-ext-diff", "--no-textconv")
_ONLY_MERGES = ("rev-list", "--no-walk=unsorted", "--merges", "--stdin")
_COMBINED = ("diff-tree", "--stdin", "-c", "-r", "-z", "--name-status", "--no-renames")


class Change(NamedTuple):
    """What a commit did to a path: A, M, D, T or R with the name it had before."""

    status: str
    path: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Uses:
    """Of one name: the commits that touched a file of it, that gave it to one (with its name before), that took it."""

    touching: AbstractSet[str]
    arrivals: Mapping[str, str]
    departures: AbstractSet[str]


class GitLog:
    """The commits of one repository as they are now; made for each question."""

    def __init__(self, git_directory: Path, history: str = "", withholding: Withholding = MASKING) -> None:
        self._directory = git_directory
        self._history = history
        self._withholding = withholding
        self._known: dict[str, _Uses] = {}
        self._moments: dict[int, dict[str, tuple[str, ...]]] = {}
        self._ends: Ends | None = None

    @property
    def problem(self) -> str:
        """Which branches and tags could not be told of, as far as anything was asked; empty if none."""
        return "" if self._ends is None else self._ends.sentence() or "a branch or a tag names no object"

    def commits(self, names: Sequence[str] = ()) -> list[Record]:
        """Those that touched one of the names, or something below it, or all, in the order of their moments."""
        fields = self._log(FORMAT, "-z", names=names).split(b"\0")
        frames = (fields[at : at + _FIELDS] for at in range(0, len(fields) - _FIELDS, _FIELDS))
        edge = shallow_of(str(self._directory)) if names else frozenset[str]()
        told = [told_of(b"\0".join(it), 0, withholding=self._withholding) for it in frames]
        if names:  # git lists every merge that differs from any parent
            changing = self._merges([it.hash for it in told if len(it.parents) > 1], names)
            told = [it for it in told if it.hash not in edge and (len(it.parents) < 2 or it.hash in changing)]
        return sorted(map(self._record, told), key=lambda it: (-it.mtime_ns, it.path))

    def changes(self, commits: Iterable[str]) -> Iterator[tuple[str, list[Change]]]:
        """Of each what it changed; at the edge of a shallow clone, where all there is would look new, nobody knows."""
        edge = shallow_of(str(self._directory))
        given = lines(it for it in commits if it not in edge)
        if given:
            merges = self._merges(ask(self._directory, *_ONLY_MERGES, given=given).decode("ascii").split())
            for commit, found in _parsed(ask(self._directory, "diff-tree", "--stdin", *_ONLY_NAMES, given=given)):
                yield commit, found or merges.get(commit, [])

    def _merges(self, merges: Sequence[str], names: Sequence[str] = ()) -> dict[str, list[Change]]:
        """Those of them that changed something by themselves: files that differ from those of all parents."""
        if not merges:
            return {}
        told = ask(self._directory, *_COMBINED, "--", *spellings(names), given=lines(merges))
        return {commit: found for commit, found in _parsed(told) if found}

    # --- what it knows of names ---

    def touching(self, name: str) -> AbstractSet[str]:
        return self._uses(name).touching

    def arrivals(self, name: str) -> Mapping[str, str]:
        return self._uses(name).arrivals

    def departures(self, name: str) -> AbstractSet[str]:
        return self._uses(name).departures

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        rows = self._reached("rev-list", "--parents").decode("ascii").splitlines()
        return {commit: tuple(parents) for commit, *parents in map(str.split, rows)}

    def parents_at(self, moment_ns: int) -> Mapping[str, tuple[str, ...]]:
        """Asked for once: git can not look for a moment without a walk through all of them."""
        if not self._moments:
            for line in self._log("--format=%ct,%H,%P", names=()).splitlines():
                at, commit, parents = line.split(b",")
                same = self._moments.setdefault(seconds(at) * _NS_PER_SECOND, {})
                same[commit.decode("ascii")] = tuple(parents.decode("ascii").split())
        return self._moments.get(moment_ns, {})

    def _uses(self, name: str) -> _Uses:
        """Asked for once: a renaming looks like a deletion and a new file, as long as only one name is looked at."""
        if name not in self._known:
            comings = [(commit, it) for commit, found in self.changes(self._touched(name, "AD")) for it in found]
            departures = {commit for commit, it in comings if it.before == name}
            arrivals = {commit: it.before for commit, it in comings if it.path == name and it.before}
            touching = self._touched(name, "AMDT") | self._merges(self._merging(name), (name,)).keys()
            self._known[name] = _Uses(touching - departures, arrivals, departures)
        return self._known[name]

    def _touched(self, name: str, status: str) -> set[str]:
        listed = self._log("--format=%H", "--no-merges", "--no-renames", f"--diff-filter={status}", names=(name,))
        return set(listed.decode("ascii").split()) - shallow_of(str(self._directory))

    def _merging(self, name: str) -> list[str]:
        return self._log("--format=%H", "--merges", names=(name,)).decode("ascii").split()

    def _log(self, form: str, *options: str, names: Sequence[str]) -> bytes:
        command = ("log", *((_TOUCHING,) if names else ()), *_PLAIN, form, *options)
        return self._reached(*command, names=names)

    def _reached(self, *command: str, names: Sequence[str] = ()) -> bytes:
        """What git tells from every end, or, where some lead to nothing, from all others."""
        paths = ("--", *spellings(names))
        if self._ends is None:
            told = attempt(self._directory, *command, *EVERY, *self._heads(), *paths)
            if not isinstance(told, str):
                return told
            self._ends = ends_of(self._directory, self._heads())
            if self._ends is None or not self._ends.readable:
                raise BadInput(f"git could not read {self._directory}: {told}")
        return ask(self._directory, *command, "--stdin", *paths, given=lines(self._ends.readable))

    def _heads(self) -> tuple[str, ...]:
        """What work trees are at that is on no branch."""
        refs = refs_of(str(self._directory))
        return () if refs is None else refs.heads

    def _record(self, told: Told) -> Record:
        extract = extract_commit(Item(told.hash, 0, 0), told.to_bytes())
        at_ns = told.committer.at * _NS_PER_SECOND
        return Record(
            self._history, told.hash, extract.kind, extract.title, 0, at_ns, told.hash, "", facets=extract.facets
        )


def _parsed(output: bytes) -> Iterator[tuple[str, list[Change]]]:
    """A hash, then a status and one or two paths for each change."""
    fields = iter(output.split(b"\0"))
    commit, changes = "", list[Change]()
    for field in fields:
        if is_name(name := field.decode(errors="replace")):
            if commit:
                yield commit, changes
            commit, changes = name, []
        elif field:
            changes.append(_change(_status(name), fields))
    if commit:
        yield commit, changes


def _status(told: str) -> str:
    """One letter and how sure that is, or, of a merge, one for each parent."""
    return told[:1] if len({*told}) == 1 or not told.isalpha() else "M"


def _change(status: str, fields: Iterator[bytes]) -> Change:
    first = path_of(next(fields))
    return Change(status, path_of(next(fields)), first) if status in "RC" else Change(status, first)


def files_of_head(git_directory: Path) -> list[str]:
    """The paths of the last commit; none before the first, and none of one that has too many to be looked through."""
    names = ("ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD")
    listed = attempt(git_directory, *names, most_bytes=_MOST_NAMES_BYTES)
    return [] if isinstance(listed, str) else [path_of(it) for it in listed.split(b"\0") if it]


def is_in_head(git_directory: Path, path: str) -> bool:
    """Whether the last commit has a file or a directory of this path."""
    names = spellings([path]) if path.strip("/") else []
    listed = (
        attempt(git_directory, "ls-tree", "-z", "--full-tree", "--name-only", "HEAD", "--", *names) if names else ""
    )
    return not isinstance(listed, str) and path in map(path_of, listed.split(b"\0"))
