"""Exact answers: lines, definitions, names, calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.engine.fresh import Fresh
from dowse.errors import Unreadable
from dowse.ingest.sources.base import Reach
from dowse.ingest.sources.git.repository import work_tree_above
from dowse.lookup.find import Entry, NameAnswer, NameQuery, find_names, fitting, indexed_names, listing
from dowse.lookup.find_contents import ContentAnswer, find_contents
from dowse.lookup.grep.question import Excerpt, GrepAnswer, Lines
from dowse.lookup.symbols.audit import audit
from dowse.lookup.symbols.bodies import TextLines, bodies, text_lines
from dowse.lookup.symbols.find import containing, find, with_implementers
from dowse.lookup.symbols.question import Audit, Body, Definition, SymbolAnswer, Wanted
from dowse.model import Collection, Item, Record
from dowse.places import leads_elsewhere
from dowse.text.decode import decode

if TYPE_CHECKING:
    from dowse.ingest.sources.git.work_tree.uncommitted import Uncommitted
    from dowse.lookup.calls.graph import CallGraph
    from dowse.lookup.calls.impact import Impact, Spans
    from dowse.lookup.calls.question import CallQuery, CallTree


class Exact(Fresh):
    # --- lines ---

    def grep(self, query: Lines) -> GrepAnswer:
        """The files with lines that hold what is asked for, best first."""
        from dowse.lookup.grep.grep import grep

        seen = self._seen()
        return replace(grep(self._store, replace(query, scope=self._scoped(query.scope))), seen=seen)

    def excerpts(self, record: Record, lines: Iterable[int], before: int = 0, after: int = 0) -> list[Excerpt]:
        """Lines of a record as they were indexed, each with so many around it."""
        from dowse.lookup.grep.excerpts import excerpts

        return excerpts(self._store, record.collection, record.path, lines, before, after)

    # --- definitions and names ---

    def symbols(self, wanted: Wanted, *, structural: bool = False) -> SymbolAnswer:
        """Definitions by name, kind, base, attribute, place or measure; all that match are counted.

        `structural`: what has the methods of an interface counts as extending it, though it does not name it.
        """
        seen = self._seen()
        asked = replace(wanted, scope=self._scoped(wanted.scope))
        answer = find(self._store, asked)
        if structural and wanted.base.strip():
            implementing = self._call_graph().implementers(wanted.base.strip(), asked.scope.collections)
            answer = with_implementers(self._store, asked, answer, implementing)
        return replace(answer, seen=seen)

    def containing(self, path: str, line: int, collection: str | None = None) -> list[Definition]:
        """The definitions that hold this line of the file, innermost first."""
        record = self._one_record(path, collection)
        # Only this file is looked at, because this is asked of many files in a row.
        self._following.look_at({(record.collection, record.path)})
        return containing(self._store, self._one_record(record.path, record.collection), line)

    def bodies(self, definitions: Iterable[Definition], *, max_lines: int = 100, total_lines: int = 500) -> list[Body]:
        """The lines of each definition, at most so many of one and of all; 0 is no limit."""
        return bodies(definitions, self._body_source, max_lines=max_lines, total_lines=total_lines)

    def audit(self, least_bytes: int = 500) -> Audit:
        """Which files of known languages yielded no definition, and why."""
        return audit(self._store, least_bytes)

    def find(self, query: NameQuery, reach: Reach | None = None) -> NameAnswer:
        """Files and directories by name: indexed ones, or those on disk now that are within `reach`."""
        if reach is None:
            seen = self._seen()
            return replace(find_names(indexed_names(self._store), query), seen=seen)
        return find_names(listing(self._on_disk(reach)), query)

    def find_contents(self, query: NameQuery, reach: Reach, *, deadline_s: float = 10.0) -> ContentAnswer:
        """Lines of the files on disk now, without the index; the query's other conditions choose the files."""
        files = [it for it in fitting(self._on_disk(reach), query) if not it.is_directory]
        return find_contents(files, self._text_on_disk, query, deadline_s=deadline_s)

    def _on_disk(self, reach: Reach) -> Iterator[Entry]:
        from dowse.ingest.sources.names import names_below  # brings all that listing needs

        for collection in self.collections():
            root, settings = Path(collection.root), self.settings
            if leads_elsewhere(root):
                continue
            for item in names_below(
                str(root.resolve()), reach, exclude=settings.exclude, use_gitignore=settings.gitignore
            ):
                yield Entry(collection.name, item.path, item.size)

    def _text_on_disk(self, entry: Entry) -> str | None:
        try:
            return decode(self._source(entry.collection).read(Item(entry.path, entry.size, 0))[1])
        except Unreadable:
            return None

    def _body_source(self, record: Record) -> TextLines:
        """The file as it is if nothing happened to it, else as it was indexed: there the lines are right."""
        item = Item(record.path, record.size, record.mtime_ns)
        source = self._source(record.collection)
        if source.freshness(item) == "fresh":
            try:
                return text_lines(decode(source.read(item)[1]))
            except Unreadable as error:
                return TextLines((), problem=str(error))
        return text_lines(self._store.text(record), changed=True)

    # --- calls ---

    def calls(self, query: CallQuery) -> CallTree:
        """Who calls it, or what it calls, as a tree; every edge says how sure it is and why."""
        seen = self._seen()
        return replace(self._call_graph().calls(replace(query, scope=self._scoped(query.scope))), seen=seen)

    def impact(self, changes: Mapping[str, Spans], query: CallQuery, collection: str | None = None) -> Impact:
        """Which definitions changed lines, by path, stand in, and who calls these: as far as the query says."""
        seen = self._seen()
        asked = replace(query, scope=self._scoped(query.scope))
        return replace(self._call_graph().impact(changes, asked, collection), seen=seen)

    def uncommitted(self, collection: Collection, place: Path | None = None) -> Uncommitted:
        """The lines of a root that differ from the last commit: of the repository below it that holds `place`, else of
        the one around it, else of all below it."""
        from dowse.ingest.sources.git.work_tree.uncommitted import Uncommitted, uncommitted

        root = Path(collection.root).resolve()
        lines: dict[str, tuple[tuple[int, int], ...]] = {}
        for top in self._changed_trees(root, place):
            found = uncommitted(top)
            if found.problem:
                return found
            way = top.relative_to(root)
            lines |= {(way / path).as_posix(): spans for path, spans in found.lines.items()}
        return Uncommitted(lines)

    def _changed_trees(self, root: Path, place: Path | None) -> list[Path]:
        around = work_tree_above(str((place or root).resolve()))
        if around and root in Path(around).parents:
            return [Path(around)]
        below = () if work_tree_above(str(root)) else (it for each in self.histories() for it in self._work_trees(each))
        return sorted({it.resolve() for it in below if root in it.resolve().parents}) or [root]

    def _call_graph(self) -> CallGraph:
        """Made when first asked for: a search has no use for all that it imports."""
        from dowse.lookup.calls.graph import CallGraph

        if self._calls is None:
            self._calls = CallGraph(self._store)
        return self._calls
