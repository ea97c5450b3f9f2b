"""Why something is as it is, and what has to do with it: answers that cross kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from dowse.engine.exact import Exact
from dowse.engine.memories import Memories
from dowse.engine.past import Past
from dowse.errors import DowseError
from dowse.model import Record

if TYPE_CHECKING:
    from dowse.ingest.sources.git.work_tree.blame import Blame
    from dowse.lookup.related.question import RelatedAnswer
    from dowse.lookup.why.question import Ground, Span, WhyAnswer, Written

_BLAMED_LINES = 400
_BLAME_S = 2.0

Value = TypeVar("Value")


class Why(Exact, Memories, Past):
    def why(self, target: str, budget_tokens: int = 1_500, collection: str | None = None) -> WhyAnswer:
        """Its definition, callers, commits, documents and memories, as far as they fit; every item says how it is
        known, what is left out is counted. What could be meant, where that is not one thing."""
        from dowse.lookup.why.why import why

        seen = self._seen()
        self._check_collection(collection)
        besides = (*self._index_notes(), *seen.sentences())
        return replace(why(self._ground(), target, budget_tokens, collection, besides), seen=seen)

    def related(
        self, target: str, kinds: Sequence[str] = (), limit: int = 5, collection: str | None = None
    ) -> RelatedAnswer:
        """What links to it and what it links to, at most so many for each kind of link and direction."""
        from dowse.lookup.related.related import related

        seen = self._seen()
        self._check_collection(collection)
        return replace(related(self._ground(), target, kinds, limit, collection), seen=seen)

    def _check_collection(self, collection: str | None) -> None:
        if collection is not None:
            self._collection(collection)

    def _ground(self) -> Ground:
        from dowse.lookup.why.question import Ground

        return Ground(
            self._store,
            self._call_graph(),
            self.history_of,
            self.file_of,
            self._written,
            lambda record: [it.why for it in self.stale(record)],
            self._clock.now(),
        )

    def _written(self, record: Record, span: Span) -> Written:
        """Of a part that is not too long, if git is quick."""
        from dowse.lookup.why.question import Written

        file = Path(self._collection(record.collection).root, record.path)
        last = min(span.last, span.first + _BLAMED_LINES - 1)
        found = _in_time(lambda: _spans(self.blame(file, span.first, last)), _BLAME_S)
        if isinstance(found, str):
            return Written(problem=f"who wrote its lines is not known: {found}")
        cut = f"who wrote it is told of its first {_BLAMED_LINES} lines only" if last < span.last else ""
        return Written(found, cut)


def _spans(blame: Blame) -> dict[str, list[Span]]:
    """Lines in a row by each commit; what is not committed yet is nobody's."""
    from dowse.lookup.why.question import Span

    found: dict[str, list[Span]] = {}
    for it in blame.lines:
        spans = found.setdefault(it.writing.commit, [])
        if spans and spans[-1].last == it.line - 1:
            spans[-1] = Span(spans[-1].first, it.line)
        else:
            spans.append(Span(it.line, it.line))
    found.pop("", None)
    return found


def _in_time(work: Callable[[], Value], seconds: float) -> Value | str:
    """What the work gives, or why it gave nothing: where it takes longer, nobody waits for it any more."""
    given: list[Value | str] = []

    def run() -> None:
        try:
            given.append(work())
        except DowseError as error:
            given.append(str(error))

    thread = Thread(target=run, daemon=True, name="dowse blame")
    thread.start()
    thread.join(seconds)
    return given[0] if given else "git takes too long"
