"""Memories as a web: what follows what, which tags go together, what speaks of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dowse.engine.asking import Asking
from dowse.errors import BadInput
from dowse.lookup.called import called, memories_named
from dowse.lookup.memories.counts import MemoryCounts, memory_counts
from dowse.lookup.memories.edges import edges
from dowse.lookup.memories.known import known
from dowse.lookup.memories.linked import Linking, by_relevance, linking
from dowse.lookup.memories.tags import Clustered, TagGraph, normal_tag, tag_cluster, tag_graph
from dowse.lookup.memories.walk import Walk, follow
from dowse.model import FILES, MEMORIES, Link, Query, Record, Scope
from dowse.text.globs import literal
from dowse.text.memory_edges import Key, key
from dowse.text.terms import parse

RECIPE = "memories"
_MOST_RANKED = 500  # memories that link to one file: each is a path to be compared


@dataclass(frozen=True, slots=True)
class Web:
    """What a memory refers to by one kind of link, and what refers to it."""

    memory: Record
    onward: Walk
    back: Walk


class Recollecting(Asking):
    def memory_scope(self) -> Scope:
        """The memories of the folder that is written to, and no others."""
        folder = self.memory_folder()
        held = [it.name for it in self.collections() if it.source == MEMORIES and Path(it.root) == folder]
        # No collection is called nothing: a folder that does not exist yet holds no memories.
        return Scope(collections=tuple(held) or ("",), kinds=("memory",))

    def memory(self, name: str) -> Record:
        """The memory of this name, or whatever else links may call it."""
        self._seen()
        (folder,) = self.memory_scope().collections
        found = memories_named(self._store, name, folder)
        if not found:
            raise BadInput(f"there is no memory {name[:100]!r}; a search finds memories by what they say")
        return found[0]

    def memory_web(self, name: str, kind: str, *, far: int | None = None) -> Web:
        """Memories that one refers to by this kind of link, and those that refer to it, as far as wanted."""
        record = self.memory(name)
        among = edges(self._store, self.memory_scope(), kind)
        return Web(record, follow(among, record, far=far), follow(among, record, back=True, far=far))

    def unread_memories(self) -> tuple[str, ...]:
        """What a reader must know of files that have changed and are not in the index yet."""
        return self._seen().sentences()

    def memory_counts(self) -> MemoryCounts:
        return memory_counts(self._memories())

    def memory_tags(self) -> TagGraph:
        return tag_graph(self._memories())

    def memory_cluster(self, tag: str, depth: int) -> list[Clustered]:
        """Memories with this tag, and those that tags they share lead to."""
        if not normal_tag(tag):
            raise BadInput("the tag is empty; name one")
        return tag_cluster(self._memories(), tag, depth)

    def linked_memories(self, question: str, target: str) -> list[Linking]:
        """The memories with links to a file, or whatever else the target is, those that fit the question best first."""
        if not question.strip():
            raise BadInput("the query is empty; ask for something")
        self._seen()
        scope = self.memory_scope()
        roots = [it.root for it in self.collections() if it.source == FILES]
        found = linking(self._store, scope, target, roots, self._links_to(target))
        if not found:
            return []
        paths = tuple(literal(f"/{it.record.path}") for it in found[:_MOST_RANKED])
        narrow = Scope(collections=scope.collections, kinds=scope.kinds, paths=paths)
        answer = self.search(Query(question, narrow, limit=len(paths), recipe=RECIPE, min_score=0.0))
        scores: dict[tuple[str, str], float] = {}
        for hit in answer.hits:
            place = key(hit.stored.record)
            scores[place] = max(hit.score, scores.get(place, 0.0))
        if parse(question).required:
            found = [it for it in found if key(it.record) in scores]
        return by_relevance(found, question, scores)

    def _links_to(self, target: str) -> set[tuple[Key, Link]]:
        """Those that mean what is indexed, however they write it."""
        from dowse.lookup.why.memory_links import MemoryLinks  # brings more than a search needs
        from dowse.lookup.why.question import Subject

        records = called(self._store, target) or memories_named(self._store, target)
        links = MemoryLinks.of(self._store)
        found = (told for it in records for told in links.to(Subject(it.path, it)))
        return {(key(teller), link) for teller, link in found}

    def _memories(self) -> list[Record]:
        self._seen()
        return known(self._store, self.memory_scope())
