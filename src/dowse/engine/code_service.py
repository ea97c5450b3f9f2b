"""Exact code answers: grep, find, symbols, calls, impact and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from dowse.config import Settings
from dowse.engine.core import EngineCore, make_file_source
from dowse.engine.freshness import FreshnessService
from dowse.engine.history_index import RepositoryLookup
from dowse.engine.history_service import HistoryService
from dowse.engine.memory_service import MemoryService
from dowse.engine.status_service import StatusService
from dowse.errors import DowseError, Unreadable
from dowse.git.repository import work_tree_above
from dowse.ingest.sources.base import ListingScope, Source
from dowse.lookup.find import (
    ContentAnswer,
    NameAnswer,
    NameEntry,
    NameQuery,
    filter_entries,
    find_contents,
    find_names,
    indexed_names,
    list_names,
)
from dowse.lookup.grep import Excerpt, GrepAnswer, GrepQuery
from dowse.lookup.symbols import (
    DefinitionBody,
    SymbolAnswer,
    SymbolAudit,
    TextLines,
    append_implementers,
    audit_symbols,
    definitions_around,
    find_symbols,
    read_bodies,
    text_lines,
)
from dowse.model import Collection, Item, Record
from dowse.paths import is_redirected_root
from dowse.store.types import Definition, SymbolQuery
from dowse.text.unicode import decode

if TYPE_CHECKING:
    from dowse.callgraph.facts import CallQuery, CallTree
    from dowse.callgraph.graph import CallGraph, Impact, LineSpans
    from dowse.git.blame import Blame
    from dowse.git.worktree import UncommittedLines
    from dowse.lookup.related import RelatedAnswer
    from dowse.lookup.why_target import LineCommits, LineSpan, WhyAnswer, WhyContext


@dataclass(frozen=True, slots=True)
class DiskQueries:
    """Names and lines of files on disk, without an index."""

    roots: Sequence[Collection]
    settings: Settings
    source_of: Callable[[str], Source]

    @classmethod
    def at(cls, root: Path, settings: Settings) -> DiskQueries:
        source = make_file_source(root, settings)
        return cls([Collection(root.name or "root", str(root))], settings, lambda _: source)

    def find(self, query: NameQuery, listing_scope: ListingScope) -> NameAnswer:
        return find_names(list_names(self._entries(listing_scope)), query)

    def find_contents(
        self, query: NameQuery, listing_scope: ListingScope, *, deadline_s: float = 10.0
    ) -> ContentAnswer:
        files = [it for it in filter_entries(self._entries(listing_scope), query) if not it.is_directory]
        return find_contents(files, self._read_text, query, deadline_s=deadline_s)

    def _entries(self, listing_scope: ListingScope) -> Iterator[NameEntry]:
        from dowse.ingest.sources.files import list_file_names  # imports everything that listing needs

        for collection in self.roots:
            root = Path(collection.root)
            if is_redirected_root(root):
                continue
            for item in list_file_names(
                str(root.resolve()), listing_scope, exclude=self.settings.exclude, use_gitignore=self.settings.gitignore
            ):
                yield NameEntry(collection.name, item.path, item.size)

    def _read_text(self, entry: NameEntry) -> str | None:
        try:
            return decode(self.source_of(entry.collection).read(Item(entry.path, entry.size, 0))[1])
        except Unreadable:
            return None


class CodeService:
    def __init__(self, core: EngineCore, freshness: FreshnessService) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._freshness = freshness
        self._calls: CallGraph | None = None

    # --- lines ---

    def grep(self, query: GrepQuery) -> GrepAnswer:
        """Return the files with matching lines, best first."""
        from dowse.lookup.grep import search_lines

        seen = self._freshness.ensure()
        return replace(
            search_lines(self._core.view(), replace(query, scope=self._core.expand_scope(query.scope))),
            disk_freshness=seen,
        )

    def excerpts(self, record: Record, lines: Iterable[int], before: int = 0, after: int = 0) -> list[Excerpt]:
        """Return lines of a record as indexed, each with context lines."""
        from dowse.lookup.grep import read_excerpts

        return read_excerpts(self._core.view(), record.collection, record.path, lines, before, after)

    # --- definitions and names ---

    def symbols(self, wanted: SymbolQuery, *, structural: bool = False) -> SymbolAnswer:
        """Find definitions by name, kind, base, attribute, place or metric; the answer counts all matches.

        `structural`: a type with all methods of an interface counts as extending it, even if it does not name it.
        """
        seen = self._freshness.ensure()
        asked = replace(wanted, scope=self._core.expand_scope(wanted.scope))
        answer = find_symbols(self._core.view(), asked)
        if structural and wanted.base.strip():
            implementing = self.call_graph().implementers(wanted.base.strip(), asked.scope.collections)
            answer = append_implementers(self._core.view(), asked, answer, implementing)
        return replace(answer, disk_freshness=seen)

    def definitions_at(self, path: str, line: int, collection: str | None = None) -> list[Definition]:
        """Return the definitions that contain this line, innermost first."""
        record = self._core.one_record(path, collection)
        # Check only this file, because callers ask about many files in a row.
        self._freshness.check_files({(record.collection, record.path)})
        return definitions_around(self._core.view(), self._core.one_record(record.path, record.collection), line)

    def bodies(
        self, definitions: Iterable[Definition], *, max_lines: int = 100, total_lines: int = 500
    ) -> list[DefinitionBody]:
        """Return the lines of each definition, limited per definition and in total; 0 means no limit."""
        return read_bodies(definitions, self._body_source, max_lines=max_lines, total_lines=total_lines)

    def audit(self, min_bytes: int = 500) -> SymbolAudit:
        """List files of known languages that yielded no definition, and why."""
        return audit_symbols(self._core.view(), min_bytes)

    def find(self, query: NameQuery, listing_scope: ListingScope | None = None) -> NameAnswer:
        """Find files and directories by name: indexed ones, or those on disk within `listing_scope`."""
        if listing_scope is None:
            seen = self._freshness.ensure()
            return replace(find_names(indexed_names(self._core.view()), query), disk_freshness=seen)
        return self._disk_queries().find(query, listing_scope)

    def find_contents(
        self, query: NameQuery, listing_scope: ListingScope, *, deadline_s: float = 10.0
    ) -> ContentAnswer:
        """Find matching lines in files on disk, without the index. The query's other conditions select the files."""
        return self._disk_queries().find_contents(query, listing_scope, deadline_s=deadline_s)

    def _disk_queries(self) -> DiskQueries:
        return DiskQueries(self._core.collections(), self._settings, self._sources.source_of)

    def _body_source(self, record: Record) -> TextLines:
        """Return the file from disk if it is unchanged, else its indexed text, where the line numbers are right."""
        item = Item(record.path, record.size, record.mtime_ns)
        source = self._sources.source_of(record.collection)
        if source.freshness(item) == "fresh":
            try:
                return text_lines(decode(source.read(item)[1]))
            except Unreadable as error:
                return TextLines((), problem=str(error))
        return text_lines(self._core.view().text(record), changed=True)

    # --- calls ---

    def calls(self, query: CallQuery) -> CallTree:
        """Return callers or callees as a tree; every edge has its confidence and evidence."""
        seen = self._freshness.ensure()
        return replace(
            self.call_graph().calls(replace(query, scope=self._core.expand_scope(query.scope))), disk_freshness=seen
        )

    def impact(self, changes: Mapping[str, LineSpans], query: CallQuery, collection: str | None = None) -> Impact:
        """Return the definitions that contain the changed lines, and their callers up to the query's depth."""
        seen = self._freshness.ensure()
        asked = replace(query, scope=self._core.expand_scope(query.scope))
        return replace(self.call_graph().impact(changes, asked, collection), disk_freshness=seen)

    def uncommitted_lines(self, collection: Collection, place: Path | None = None) -> UncommittedLines:
        """Return the lines of a root that differ from the last commit.

        The repository is the one below the root that contains `place`, else the one around the root, else all below it.
        """
        from dowse.git.worktree import UncommittedLines, list_uncommitted_lines

        root = Path(collection.root).resolve()
        lines: dict[str, tuple[tuple[int, int], ...]] = {}
        for top in self._changed_trees(root, place):
            found = list_uncommitted_lines(top)
            if found.problem:
                return found
            way = top.relative_to(root)
            lines |= {(way / path).as_posix(): spans for path, spans in found.lines.items()}
        return UncommittedLines(lines)

    def _changed_trees(self, root: Path, place: Path | None) -> list[Path]:
        around = work_tree_above(str((place or root).resolve()))
        if around and root in Path(around).parents:
            return [Path(around)]
        below = (
            ()
            if work_tree_above(str(root))
            else (it for each in self._core.histories() for it in self._sources.work_trees(each))
        )
        return sorted({it.resolve() for it in below if root in it.resolve().parents}) or [root]

    def call_graph(self) -> CallGraph:
        """Create the call graph on first use, because a search does not need its imports."""
        from dowse.callgraph.graph import CallGraph

        if self._calls is None:
            self._calls = CallGraph(self._core.view())
        return self._calls


# --------------------------------------------------------------------------------------------------
# Cross-kind queries: explain a target, and list related items.

_MAX_BLAMED_LINES = 400
_BLAME_TIMEOUT_S = 2.0

TimedResult = TypeVar("TimedResult")


class ExplainService:
    """Explains a target, and lists what is related to it, over all kinds of records."""

    def __init__(
        self,
        core: EngineCore,
        freshness: FreshnessService,
        repositories: RepositoryLookup,
        code: CodeService,
        history: HistoryService,
        memory: MemoryService,
        status: StatusService,
    ) -> None:
        self._core = core
        self._freshness = freshness
        self._repositories = repositories
        self._code = code
        self._history = history
        self._memory = memory
        self._status = status

    def why(self, target: str, budget_tokens: int = 1_500, collection: str | None = None) -> WhyAnswer:
        """Return the target's definition, callers, commits, documents and memories within the budget.

        Every item has its evidence, and omissions are counted. An ambiguous target yields the candidates.
        """
        from dowse.lookup.why import explain

        seen = self._freshness.ensure()
        self._check_collection(collection)
        besides = (*self._status.index_notes(), *seen.sentences())
        return replace(explain(self._why_context(), target, budget_tokens, collection, besides), disk_freshness=seen)

    def related(
        self, target: str, kinds: Sequence[str] = (), limit: int = 5, collection: str | None = None
    ) -> RelatedAnswer:
        """Return links to and from the target, at most `limit` for each kind of link and direction."""
        from dowse.lookup.related import find_related

        seen = self._freshness.ensure()
        self._check_collection(collection)
        return replace(find_related(self._why_context(), target, kinds, limit, collection), disk_freshness=seen)

    def _check_collection(self, collection: str | None) -> None:
        if collection is not None:
            self._core.collection(collection)

    def _why_context(self) -> WhyContext:
        from dowse.lookup.why_target import WhyContext

        return WhyContext(
            self._core.view(),
            self._code.call_graph(),
            self._repositories.history_of,
            self._repositories.file_of,
            self._line_commits,
            lambda record: [it.why for it in self._memory.staleness(record)],
            self._core.clock.now(),
        )

    def _line_commits(self, record: Record, span: LineSpan) -> LineCommits:
        """Return the commits of a span, if it is short enough and git answers in time."""
        from dowse.lookup.why_target import LineCommits

        file = Path(self._core.collection(record.collection).root, record.path)
        last = min(span.last, span.first + _MAX_BLAMED_LINES - 1)
        found = _run_with_timeout(
            lambda: _spans_by_commit(self._history.blame(file, span.first, last)), _BLAME_TIMEOUT_S
        )
        if isinstance(found, str):
            return LineCommits(problem=f"its authors are unknown: {found}")
        cut = f"authors are shown for the first {_MAX_BLAMED_LINES} lines only" if last < span.last else ""
        return LineCommits(found, cut)


def _spans_by_commit(blame: Blame) -> dict[str, list[LineSpan]]:
    """Return contiguous line spans by commit, without uncommitted lines."""
    from dowse.lookup.why_target import LineSpan

    found: dict[str, list[LineSpan]] = {}
    for line in blame.lines:
        spans = found.setdefault(line.writing.commit, [])
        if spans and spans[-1].last == line.line - 1:
            spans[-1] = LineSpan(spans[-1].first, line.line)
        else:
            spans.append(LineSpan(line.line, line.line))
    found.pop("", None)
    return found


def _run_with_timeout(work: Callable[[], TimedResult], seconds: float) -> TimedResult | str:
    """Return the result of the work, or a sentence why there is none. Work that takes too long is abandoned."""
    outcome: list[TimedResult | str] = []

    def run() -> None:
        try:
            outcome.append(work())
        except DowseError as error:
            outcome.append(str(error))

    thread = Thread(target=run, daemon=True, name="dowse blame")
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else "git took too long"
