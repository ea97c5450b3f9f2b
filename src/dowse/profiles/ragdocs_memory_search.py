"""The memory tools of the ragdocs contract that search: by what memories say, and by what they link to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from dowse.engine.recollecting import RECIPE
from dowse.errors import BadInput, DowseError
from dowse.lookup.memories.linked import Linking
from dowse.model import Answer, Facet, Hit, Query
from dowse.profiles.ragdocs_memory_desk import MemoryDesk, MemoryType, checked, checked_tags
from dowse.profiles.ragdocs_memory_text import cut, memories, notes, page, result
from dowse.profiles.ragdocs_text import headings, whole_passage
from dowse.profiles.tool import Param, Reply, Tool

_LAST_MOMENT = 9_000_000_000  # as many seconds as a count of nanoseconds can hold
_SECONDS_PER_DAY = 86_400

Question = Annotated[str, Param("A question or keywords about what was noted down")]
Limit = Annotated[int, Param("How many memories at most", ge=1, le=100)]
Moment = Annotated[float | None, Param("Unix seconds", ge=0, le=_LAST_MOMENT)]


class MemorySearch:
    """`now` is the time that days are counted back from."""

    def __init__(self, desk: MemoryDesk, now: Callable[[], float]) -> None:
        self._desk = desk
        self._now = now

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.search_memories, "Search memories", strict=True),
            Tool(self.search_linked_memories, "Search memories about a file", strict=True),
        )

    def search_memories(
        self,
        query: Question,
        limit: Limit = 5,
        filter_tags: Annotated[Sequence[str] | None, Param("Only memories with one of these tags")] = None,
        filter_type: Annotated[MemoryType | None, Param("Only memories of this type")] = None,
        load_full_memory: Annotated[bool, Param("Whole memories; false: the passages found")] = True,
        after_timestamp: Annotated[Moment, Param("Only memories created then or later, in Unix seconds")] = None,
        before_timestamp: Annotated[Moment, Param("Only memories created then or earlier, in Unix seconds")] = None,
        relative_days: Annotated[
            float | None,
            Param("Only memories of the last so many days; overrides both timestamps", ge=0, le=36_500),
        ] = None,
    ) -> Reply:
        """Search memories by words and by meaning, newer ones first where they fit as well. Each says whether it was
        superseded, is not valid now, or is about code that has changed since."""
        engine = self._desk.ready()
        since, until = self._times(after_timestamp, before_timestamp, relative_days)
        scope = replace(
            engine.memory_scope(),
            tags=checked_tags("filter_tags", filter_tags or ()),
            facets=(Facet("type", filter_type),) if filter_type else (),
            since=since,
            until=until,
        )
        options = self._desk.options
        wanted = Query(query.strip(), scope, limit, RECIPE, min_score=options.score_threshold, paces=options.paces)
        answer = engine.search(wanted)
        return Reply({}, self._results(answer, self._full if load_full_memory else whole_passage))

    def search_linked_memories(
        self,
        query: Question,
        target_document: Annotated[
            str, Param("A file (relative or absolute, with or without suffix) or memory:name; it need not be indexed")
        ],
        limit: Limit = 5,
    ) -> Reply:
        """Memories with links to a file, those whose text and words around the link fit the query best first."""
        engine = self._desk.ready()
        target = checked("target_document", target_document)
        lacking = engine.unread_memories()
        found = engine.linked_memories(query, target)
        title = f"Memories Linked to {' '.join(target.split())}"
        if not found:
            looked_at = memories(engine.memory_counts().memories)
            return Reply({}, page(title, f"No memory links to it; {looked_at} looked at.", notes(lacking)))
        more = [f"{len(found) - limit:,} more link to it; ask for a larger limit"] * (len(found) > limit)
        return Reply({}, page(title, *self._linked(found[:limit]), notes([*more, *lacking])))

    def _times(
        self, after: float | None, before: float | None, days: float | None
    ) -> tuple[float | None, float | None]:
        if days is not None:
            return self._now() - days * _SECONDS_PER_DAY, None
        if after is not None and before is not None and after > before:
            raise BadInput("after_timestamp is later than before_timestamp, so that nothing lies between; swap them")
        return after, before

    def _results(self, answer: Answer, content: Callable[[Hit], str]) -> str:
        title, lacking = "Memory Search Results", self._desk.notes(answer)
        if not answer.hits:
            said = "; ".join(it for it in (answer.abstained, answer.completeness.sentence(0)) if it)
            return page(title, said, lacking)
        caveats = self._desk.caveats([it.stored.record for it in answer.hits])
        blocks = [
            result(rank, hit.stored.record, headings(hit), hit.score, _noted(told), content(hit))
            for rank, (hit, told) in enumerate(zip(answer.hits, caveats, strict=True), 1)
        ]
        return page(title, *blocks, lacking)

    def _full(self, hit: Hit) -> str:
        try:
            return cut(self._desk.engine().recall(hit.stored.record.path).content)
        except DowseError:
            return whole_passage(hit)  # it is gone since; the notes say so

    def _linked(self, found: Sequence[Linking]) -> list[str]:
        caveats = self._desk.caveats([it.record for it in found])
        return [
            result(rank, it.record, it.record.title, it.score, _noted(told), _contexts(it))
            for rank, (it, told) in enumerate(zip(found, caveats, strict=True), 1)
        ]


def _noted(caveats: Sequence[str]) -> list[str]:
    return [f"Note: {it}" for it in caveats]


def _contexts(linking: Linking) -> str:
    return "\n".join(f"- {it.kind} {it.target} (line {it.line}): {it.context}" for it in linking.links)
