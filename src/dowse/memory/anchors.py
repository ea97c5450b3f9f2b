"""Anchors of notes in code, and whether that code has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dowse.errors import BadInput
from dowse.model import COMMITS, FILES, Collection, Record, Scope, Symbol
from dowse.store.view import StoreView
from dowse.text.code_names import split_qualified_name
from dowse.text.globs import escape_glob
from dowse.text.references import ANCHORED_LINK, Anchor, content_digest, parse_anchor
from dowse.text.times import parse_timestamp
from dowse.text.tokenize import is_identifiable_in_commits

_ANCHOR_DIGEST_CHARS = 16
_DIGEST_CACHE_KEY = "anchor digests"


@dataclass(frozen=True, slots=True)
class AnchorResolver:
    """Resolves anchors. `home` is the collection the memories belong to, if any; paths are looked up there first."""

    view: StoreView
    home: str = ""

    def resolve(self, written: str) -> Anchor:
        """Return the anchor with the digest of its current target; raise BadInput if there is no target."""
        anchor = parse_anchor(written)
        if anchor is None:
            raise BadInput(f"{written[:100]!r} is not an anchor; use path, path#Symbol, path:LINE or commit:HASH")
        if anchor.commit:
            return Anchor("", commit=self._full_hash(anchor.commit))
        record = self.record(anchor.path)
        if record is None:
            raise BadInput(f"{anchor.path[:100]!r} is not indexed, so it cannot be an anchor; `dowse find` lists files")
        if anchor.line and not anchor.symbol:
            anchor = with_symbol(anchor, self._symbol_at(record, anchor.line))
        digest = self.digest(record, anchor.symbol)
        if not digest:
            raise BadInput(f"{record.path} has no definition {anchor.symbol[:100]!r}; `dowse symbols` lists them")
        return anchor._replace(path=record.path, line=0, digest=digest)

    def record(self, path: str) -> Record | None:
        """Return the file with this path, preferring the memories' own root."""
        roots = self.roots()
        found = [it for it in self.view.records(path) if it.collection in roots]
        return min(found, key=lambda it: roots.index(it.collection), default=None)

    def roots(self) -> list[str]:
        names = [it.name for it in self.view.collections() if it.source == FILES]
        return sorted(names, key=lambda it: it != self.home)

    def digest(self, record: Record, symbol: str = "") -> str:
        """Return the digest of the file, or of all its definitions with this name; empty if there is none."""
        if not symbol:
            return record.digest[:_ANCHOR_DIGEST_CHARS]
        # Cached for each revision of the index: a file may hold thousands of definitions.
        known: dict[tuple[str, str, str], str] = self.view.cached_by_revision(_DIGEST_CACHE_KEY, dict)
        key = record.collection, record.path, symbol
        if key not in known:
            known[key] = self._digest(record, symbol)
        return known[key]

    def _digest(self, record: Record, symbol: str) -> str:
        spans = [(it.start_line, it.end_line) for it in self.named(record, symbol)]
        lines = self.view.text(record).split("\n") if spans else []
        return (
            content_digest("\n".join(line for first, last in spans for line in lines[first - 1 : last]))
            if spans
            else ""
        )

    def named(self, record: Record, name: str) -> list[Symbol]:
        """Return the definitions with this name, or whose qualified name ends with it."""
        chains = self.view.qualified_names(record)
        return [chains.symbols[it] for it in chains.find_by_suffix(name)]

    def histories(self) -> list[Collection]:
        return [it for it in self.view.collections() if it.source == COMMITS and it.synced_at]

    def commit(self, start: str) -> Record | None:
        """Return the commit whose hash starts with `start`, if it is unique."""
        names = tuple(it.name for it in self.histories())
        scope = Scope(collections=names, paths=(f"{escape_glob(start)}*",))
        found = self.view.select(scope, 2) if names else []
        return found[0] if len({it.path for it in found}) == 1 else None

    def _full_hash(self, start: str) -> str:
        found = self.commit(start)
        if found is None and self.histories():
            raise BadInput(f"no indexed commit, or more than one, starts with {start[:64]!r}; give the full hash")
        return found.path if found else start

    def _symbol_at(self, record: Record, line: int) -> str:
        """Return the innermost definition at the line, or an empty string; raise BadInput beyond the end of the
        file."""
        lines = self.view.text(record).removesuffix("\n").count("\n") + 1
        if line > lines:
            raise BadInput(f"{record.path} has {lines:,} lines; line {line:,} is beyond its end")
        around = self.view.definitions_at(record, line)
        return ".".join((*around[0].trail, around[0].symbol.name)) if around else ""


def with_symbol(anchor: Anchor, symbol: str) -> Anchor:
    return anchor._replace(symbol=symbol, line=0)


# --------------------------------------------------------------------------------------------------
# Change attribution: the commit, or the uncommitted edit, that changed the target of an anchor.

HistoryOf = Callable[[Record], tuple[Collection, str] | None]
EditedLines = Callable[[Record], Sequence[tuple[int, int]]]
_CommitChanges = tuple[Record, Sequence[str]]
"""A commit, and the symbols of one file it changed."""

_CHANGES_LINK = "changes"
_FILE_LINKS = ("touches", "renames")
_MAX_HEAD_LINES = 50  # of a definition; its name is among them, whatever decorators or comments come first
_MAX_FILE_COMMITS = 20  # commits of a file to inspect one by one
_COMMIT_CACHE_KEY = "newest commits of anchored files"
_MAX_LINKED_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """The cause of a change. `existed`: whether the target ever existed, as far as known."""

    commit: Record | None = None
    is_uncommitted: bool = False
    existed: bool = True


@dataclass(frozen=True, slots=True)
class _CandidateCommits:
    """Commits that may have changed the target, newest first, by strength of evidence.

    - `unambiguous`: they use a name that means nothing else in the file
    - `ambiguous`: they use a name that another definition shares
    - `file_commits`: they changed the file; counts only if commits cannot name the definition
    """

    unambiguous: Sequence[Record] = ()
    ambiguous: Sequence[Record] = ()
    file_commits: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class ChangeAttribution:
    """Attributes changes to commits.

    `history_of` returns the history of a file and its path there; `edited_lines` the line spans that differ from the
    last commit.
    """

    anchor_resolver: AnchorResolver
    history_of: HistoryOf
    edited_lines: EditedLines

    def find_certain_commit(self, anchor: Anchor, file: Record, since_ns: int) -> Record | None:
        """Return the newest commit since `since_ns` that certainly changed the target.

        For anchors without a digest, where no comparison can show a change.
        """
        home = self.history_of(file)
        candidates = self._candidates(*home, anchor, file) if home else _CandidateCommits()
        return _newest_since(candidates.unambiguous, since_ns) or _newest_since(candidates.file_commits, since_ns)

    def find_cause(self, anchor: Anchor, file: Record | None, since_ns: int) -> ChangeCause:
        """Return the cause of a changed or missing target. The commit may be older than the memory: a merge can bring
        it later."""
        place = file or self._placeholder(anchor.path)
        home = self.history_of(place) if place else None
        if place is None or home is None:
            return ChangeCause(existed=bool(anchor.digest))
        candidates = self._candidates(*home, anchor, file)
        if recent := _newest_since(candidates.unambiguous, since_ns):
            return ChangeCause(recent)
        if not (candidates.unambiguous or candidates.ambiguous or anchor.digest):
            return ChangeCause(existed=False)
        if self._is_edited(anchor, place):
            return ChangeCause(is_uncommitted=True)
        others = (_newest_since(it, since_ns) for it in (candidates.ambiguous, candidates.file_commits))
        return ChangeCause(
            next(
                filter(
                    None,
                    (*others, *candidates.unambiguous[:1], *candidates.ambiguous[:1], *candidates.file_commits[:1]),
                ),
                None,
            )
        )

    def _candidates(self, history: Collection, path: str, anchor: Anchor, file: Record | None) -> _CandidateCommits:
        touched = self._file_commits(history, path)
        touching = [commit for commit, _ in touched]
        if file is None or not anchor.symbol:
            return _CandidateCommits(touching)
        chains = self.anchor_resolver.view.qualified_names(file)
        indices = chains.find_by_suffix(anchor.symbol)
        spelt = chains.commit_names(indices) if indices else chains.removed_commit_names(anchor.symbol)
        # Members that were removed from the definition have no name in the file any more.
        start = f"{path}#{'.'.join(split_qualified_name(anchor.symbol))}."
        losing = [commit for commit, changed in touched if any(it.startswith(start) for it in changed)]
        sure = sorted(
            [*self._commits_changing(history, path, spelt.unambiguous), *losing], key=lambda it: -it.timestamp_ns
        )
        doubtful = self._commits_changing(history, path, spelt.ambiguous)
        can_be_named = bool(indices) and self._can_be_named(path, [chains.symbols[it] for it in indices], file)
        return _CandidateCommits(sure, doubtful, () if can_be_named else touching)

    def _commits_changing(self, history: Collection, path: str, names: Sequence[str]) -> list[Record]:
        return self._commits_linking(history, [f"{path}#{it}" for it in names[:_MAX_LINKED_NAMES]], (_CHANGES_LINK,))

    def _commits_linking(self, history: Collection, targets: Sequence[str], kinds: Sequence[str]) -> list[Record]:
        return [it for it, _ in self.anchor_resolver.view.links_to(targets, kinds) if it.collection == history.name]

    def _file_commits(self, history: Collection, path: str) -> Sequence[_CommitChanges]:
        """Return the newest commits of the file. Cached for each revision of the index, because many memories may be
        anchored to one file."""
        known: dict[tuple[str, str], Sequence[_CommitChanges]] = self.anchor_resolver.view.cached_by_revision(
            _COMMIT_CACHE_KEY, dict
        )
        key = history.name, path
        if key not in known:
            newest = {it.path: it for it in self._commits_linking(history, [path], _FILE_LINKS)}
            known[key] = [(it, self._changed_symbols(it, path)) for it in list(newest.values())[:_MAX_FILE_COMMITS]]
        return known[key]

    def _changed_symbols(self, commit: Record, path: str) -> list[str]:
        links = self.anchor_resolver.view.links(commit)
        return [it.target for it in links if it.kind == _CHANGES_LINK and it.target.startswith(f"{path}#")]

    def _can_be_named(self, path: str, definitions: Sequence[Symbol], file: Record) -> bool:
        """Return whether commits that change these definitions can name them."""
        spans = [(it.start_line, min(it.end_line, it.start_line + _MAX_HEAD_LINES - 1)) for it in definitions]
        heads = self.anchor_resolver.view.lines_between(file.collection, file.path, spans)
        return all(is_identifiable_in_commits(path, it.name, head) for it, head in zip(definitions, heads, strict=True))

    def _is_edited(self, anchor: Anchor, file: Record) -> bool:
        """Return whether the target has uncommitted edits. For a whole file, or a missing target, any edit of the file
        counts."""
        definitions = self.anchor_resolver.named(file, anchor.symbol) if anchor.symbol else []
        spans = [(it.start_line, it.end_line) for it in definitions]
        return any(not spans or _overlaps_any(it, spans) for it in self.edited_lines(file))

    def _placeholder(self, path: str) -> Record | None:
        """Return a placeholder record for a deleted file."""
        roots = self.anchor_resolver.roots()
        return Record(roots[0], path, "", "", 0, 0, "", "") if roots else None


def _newest_since(commits: Sequence[Record], since_ns: int) -> Record | None:
    return commits[0] if commits and commits[0].timestamp_ns >= since_ns else None


def _overlaps_any(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(span[0] <= last and first <= span[1] for first, last in others)


# --------------------------------------------------------------------------------------------------
# Staleness of memories: whether the target of an anchor has changed or is gone, and which commit did it.

_NANOSECONDS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Staleness:
    """A stale anchor; `commit` is the newest commit that changed its target, if known."""

    anchor: str
    why: str
    commit: Record | None = None


@dataclass(frozen=True, slots=True)
class StalenessChecker:
    anchor_resolver: AnchorResolver
    causes: ChangeAttribution

    def check(self, record: Record) -> tuple[Staleness, ...]:
        links = [it for it in self.anchor_resolver.view.links(record) if it.kind == ANCHORED_LINK]
        anchors = [(parse_anchor(it.target), it.context) for it in links]
        found = (self._check_anchor(it._replace(digest=digest), record) for it, digest in anchors if it is not None)
        return tuple(it for it in found if it is not None)

    def _check_anchor(self, anchor: Anchor, memory: Record) -> Staleness | None:
        if anchor.commit:
            return self._check_commit(anchor)
        file = self.anchor_resolver.record(anchor.path)
        digest = self.anchor_resolver.digest(file, anchor.symbol) if file else ""
        if digest and digest == anchor.digest:
            return None
        if file and digest and not anchor.digest:  # nothing to compare with
            commit = self.causes.find_certain_commit(anchor, file, anchored_since_ns(memory))
            return (
                Staleness(anchor.target, _describe_change(anchor, file, digest, ChangeCause(commit)), commit)
                if commit
                else None
            )
        cause = self.causes.find_cause(anchor, file, anchored_since_ns(memory))
        return Staleness(anchor.target, _describe_change(anchor, file, digest, cause), cause.commit)

    def _check_commit(self, anchor: Anchor) -> Staleness | None:
        if not self.anchor_resolver.histories() or self.anchor_resolver.commit(anchor.commit):
            return None
        return Staleness(anchor.target, f"commit {anchor.commit[:12]} is no longer in any indexed history")


def anchored_since_ns(memory: Record) -> int:
    """Return when the memory's digests were taken, else when it was written. Truncated to seconds, like commit
    times."""
    taken = parse_timestamp(memory.facets.get("anchored_at", ""))
    seconds = memory.timestamp_ns // _NANOSECONDS_PER_SECOND if taken is None else int(taken)
    return seconds * _NANOSECONDS_PER_SECOND


def _describe_change(anchor: Anchor, file: Record | None, digest: str, cause: ChangeCause) -> str:
    by = (
        f" by commit {cause.commit.path[:12]}"
        if cause.commit
        else ", not committed yet"
        if cause.is_uncommitted
        else ""
    )
    gone = f" any more{by and f' (changed{by})'}" if cause.existed else ""
    if file is None:
        return f"{anchor.target} is not there{gone}"
    if not digest:
        return f"{anchor.path} has no {anchor.symbol}{gone}"
    by_commit = f": commit {cause.commit.path[:12]}" if cause.commit else by
    return f"{anchor.target} has changed since the memory was written{by_commit}"
