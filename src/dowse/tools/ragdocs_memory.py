"""The memory tools of ragdocs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from dowse.engine import Engine
from dowse.engine.memory_service import MEMORY_RECIPE, MemoryLinkWeb, MemoryText, WrittenMemory
from dowse.errors import BadInput, DowseError
from dowse.lookup.memories import LinkingMemory, normalize_tag
from dowse.model import Answer, DecayRate, FacetFilter, Hit, Query, Record
from dowse.text.memory_notes import CONTRADICTS, DEPENDS_ON, SUPERSEDES
from dowse.tools.core import check_content, memory_caveats
from dowse.tools.ragdocs_render import (
    heading_path_text,
    link_chain_text,
    markdown_page,
    memory_count_text,
    memory_counts_text,
    memory_result_text,
    notes_section,
    related_tags_text,
    tag_cluster_text,
    tag_graph_text,
    truncate_memory,
    whole_passage,
)
from dowse.tools.tool import Param, Tool, ToolReply

# --------------------------------------------------------------------------------------------------
# Shared context of the ragdocs memory tools: the engine and the `[memory]` configuration.

MAX_ARGUMENT_CHARS = 1_000
MAX_TAGS = 100

RagdocsMemoryType = Literal["plan", "journal", "fact", "observation", "reflection"]
MemoryFileName = Annotated[str, Param("File name of the memory, with or without .md; plans/q3 is in a folder")]
TagName = Annotated[str, Param("Tag, with or without #")]


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Options from `[memory]` in the contract's configuration."""

    enabled: bool = True
    score_threshold: float = 0.2
    decay_rates: tuple[DecayRate, ...] = ()


DEFAULT_MEMORY_OPTIONS = MemoryOptions()


@dataclass(frozen=True, slots=True)
class MemoryToolContext:
    """Context shared by the memory tools. `wait` returns once the first indexing is done or its time is up; `notes`
    formats what an answer lacks."""

    engine: Callable[[], Engine]
    wait: Callable[[], None]
    notes: Callable[[Answer], str]
    options: MemoryOptions

    def ready(self) -> Engine:
        self.wait()
        return self.engine()

    def engine_for_writing(self) -> Engine:
        """Return the engine without waiting, unless memories are stored in a root and none is known yet."""
        engine = self.engine()
        if engine.settings.memory_location == "project" and not engine.collections():
            self.wait()
        return engine

    def caveats(self, records: Sequence[Record]) -> list[list[str]]:
        """Return, for each memory, the reasons why it may no longer apply."""
        engine = self.engine()
        standings = engine.memory.validities(records)
        return [
            list(memory_caveats(record, it, engine.memory.staleness(record)))
            for record, it in zip(records, standings, strict=True)
        ]


def check_argument(name: str, text: str) -> str:
    """Strip a word or path, and check its length."""
    text = text.strip()
    if not text:
        raise BadInput(f"{name} is empty; pass one")
    if len(text) > MAX_ARGUMENT_CHARS:
        raise BadInput(f"{name} is {len(text):,} characters long; at most {MAX_ARGUMENT_CHARS:,} are allowed")
    return text


def check_tag_argument(name: str, tag: str) -> str:
    """Normalize a tag for comparison: no `#`, case ignored."""
    return check_argument(name, normalize_tag(check_argument(name, tag)))


def check_tag_arguments(name: str, tags: Sequence[str]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS:
        raise BadInput(f"{name}: {len(tags):,} tags; at most {MAX_TAGS} are allowed")
    return tuple(check_tag_argument(name, it) for it in tags)


# --------------------------------------------------------------------------------------------------
# The memory tools of the ragdocs contract that search memories by text and by link target.

_LAST_MOMENT = 9_000_000_000  # the latest time that fits into 64-bit nanoseconds
_SECONDS_PER_DAY = 86_400

MemoryQueryText = Annotated[str, Param("A question or keywords about the memories")]
MemoryLimit = Annotated[int, Param("Maximum number of memories", ge=1, le=100)]
UnixTime = Annotated[float | None, Param("Unix seconds", ge=0, le=_LAST_MOMENT)]


class MemorySearchTools:
    """The memory search tools. `now` is the clock that relative days count back from."""

    def __init__(self, context: MemoryToolContext, now: Callable[[], float]) -> None:
        self._context = context
        self._now = now

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.search_memories, "Search memories", strict=True),
            Tool(self.search_linked_memories, "Search memories about a file", strict=True),
        )

    def search_memories(
        self,
        query: MemoryQueryText,
        limit: MemoryLimit = 5,
        filter_tags: Annotated[Sequence[str] | None, Param("Only memories with one of these tags")] = None,
        filter_type: Annotated[RagdocsMemoryType | None, Param("Only memories of this type")] = None,
        load_full_memory: Annotated[bool, Param("Return whole memories; false: only the matching passages")] = True,
        after_timestamp: Annotated[UnixTime, Param("Earliest creation time, in Unix seconds")] = None,
        before_timestamp: Annotated[UnixTime, Param("Latest creation time, in Unix seconds")] = None,
        relative_days: Annotated[
            float | None,
            Param("Only memories of the last N days; overrides both timestamps", ge=0, le=36_500),
        ] = None,
    ) -> ToolReply:
        """Search memories by words and meaning; among equal matches, newer ones come first. Each result says whether it
        is superseded, not valid now, or about code that has changed since."""
        engine = self._context.ready()
        since, until = self._time_range(after_timestamp, before_timestamp, relative_days)
        scope = replace(
            engine.memory.scope(),
            tags=check_tag_arguments("filter_tags", filter_tags or ()),
            facets=(FacetFilter("type", filter_type),) if filter_type else (),
            since=since,
            until=until,
        )
        options = self._context.options
        search_query = Query(
            query.strip(),
            scope,
            limit,
            MEMORY_RECIPE,
            min_score=options.score_threshold,
            decay_rates=options.decay_rates,
        )
        answer = engine.search(search_query)
        return ToolReply({}, self._format_results(answer, self._full_text if load_full_memory else whole_passage))

    def search_linked_memories(
        self,
        query: MemoryQueryText,
        target_document: Annotated[
            str, Param("A file (relative or absolute, with or without suffix) or memory:name; it need not be indexed")
        ],
        limit: MemoryLimit = 5,
    ) -> ToolReply:
        """Search memories that link to a file, ranked by how well their text and the words around the link match the
        query."""
        engine = self._context.ready()
        target = check_argument("target_document", target_document)
        index_notes = engine.freshness.notes()
        found = engine.ranking.linked_memories(query, target)
        title = f"Memories Linked to {' '.join(target.split())}"
        if not found:
            searched = memory_count_text(engine.memory.counts().memories)
            return ToolReply(
                {}, markdown_page(title, f"No memory links to it; {searched} searched.", notes_section(index_notes))
            )
        more = [f"{len(found) - limit:,} more link to it; raise limit"] * (len(found) > limit)
        return ToolReply(
            {}, markdown_page(title, *self._format_linked(found[:limit]), notes_section([*more, *index_notes]))
        )

    def _time_range(
        self, after: float | None, before: float | None, days: float | None
    ) -> tuple[float | None, float | None]:
        if days is not None:
            return self._now() - days * _SECONDS_PER_DAY, None
        if after is not None and before is not None and after > before:
            raise BadInput("after_timestamp is later than before_timestamp; swap them")
        return after, before

    def _format_results(self, answer: Answer, content: Callable[[Hit], str]) -> str:
        title, answer_notes = "Memory Search Results", self._context.notes(answer)
        if not answer.hits:
            reason = "; ".join(it for it in (answer.abstained, answer.completeness.sentence(0)) if it)
            return markdown_page(title, reason, answer_notes)
        caveats = self._context.caveats([it.stored.record for it in answer.hits])
        blocks = [
            memory_result_text(
                rank, hit.stored.record, heading_path_text(hit), hit.score, _caveat_lines(record_caveats), content(hit)
            )
            for rank, (hit, record_caveats) in enumerate(zip(answer.hits, caveats, strict=True), 1)
        ]
        return markdown_page(title, *blocks, answer_notes)

    def _full_text(self, hit: Hit) -> str:
        try:
            return truncate_memory(self._context.engine().memory.recall(hit.stored.record.path).content)
        except DowseError:
            return whole_passage(hit)  # deleted meanwhile; the notes say so

    def _format_linked(self, found: Sequence[LinkingMemory]) -> list[str]:
        caveats = self._context.caveats([it.record for it in found])
        return [
            memory_result_text(
                rank, it.record, it.record.title, it.score, _caveat_lines(record_caveats), _link_contexts(it)
            )
            for rank, (it, record_caveats) in enumerate(zip(found, caveats, strict=True), 1)
        ]


def _caveat_lines(caveats: Sequence[str]) -> list[str]:
    return [f"Note: {it}" for it in caveats]


def _link_contexts(linking: LinkingMemory) -> str:
    return "\n".join(f"- {it.kind} {it.target} (line {it.line}): {it.context}" for it in linking.links)


# --------------------------------------------------------------------------------------------------
# The memory tools of the ragdocs contract that follow tags and links between memories.


class MemoryLinkTools:
    def __init__(self, context: MemoryToolContext) -> None:
        self._context = context

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.search_by_tag_cluster, "Memories around a tag", strict=True),
            Tool(self.get_tag_graph, "Tag graph", strict=True),
            Tool(self.suggest_related_tags, "Related tags", strict=True),
            Tool(self.get_memory_versions, "Versions of a memory", strict=True),
            Tool(self.get_memory_dependencies, "Dependencies of a memory", strict=True),
            Tool(self.detect_contradictions, "Contradictions of a memory", strict=True),
        )

    # --- tags ---

    def search_by_tag_cluster(
        self,
        tag: TagName,
        depth: Annotated[
            int, Param("1: memories with the tag; 2: also those sharing a tag with them; 3: one step more", ge=1, le=3)
        ] = 2,
        limit: Annotated[int, Param("Maximum number of memories", ge=1, le=100)] = 10,
    ) -> ToolReply:
        """List the memories with a tag, and those reached through shared tags; nearest and newest first."""
        engine = self._context.ready()
        name = check_tag_argument("tag", tag)
        index_notes = engine.freshness.notes()
        found = engine.memory.cluster(name, depth)
        return ToolReply({}, tag_cluster_text(name, found, limit, engine.memory.counts().memories, index_notes))

    def get_tag_graph(self) -> ToolReply:
        """List every tag with its number of memories, and every pair of tags used on the same memory."""
        engine = self._context.ready()
        index_notes = engine.freshness.notes()
        return ToolReply({}, tag_graph_text(engine.memory.tag_graph(), index_notes))

    def suggest_related_tags(self, tag: TagName) -> ToolReply:
        """List the tags used on the same memories as this one, most frequent first."""
        engine, name = self._context.ready(), check_tag_argument("tag", tag)
        index_notes = engine.freshness.notes()
        graph = engine.memory.tag_graph()
        return ToolReply({}, related_tags_text(name, graph.related(name), graph, index_notes))

    # --- links ---

    def get_memory_versions(self, filename: MemoryFileName) -> ToolReply:
        """List the memories that supersede this one and those it supersedes, directly or indirectly."""
        web, index_notes = self._linked_memories(filename, SUPERSEDES)
        cycle_note = ["the memories supersede each other in a cycle; none of them counts as the newest"]
        return ToolReply(
            {},
            markdown_page(
                f"Versions of {web.memory.path}",
                link_chain_text("Superseded by", web.incoming, "Nothing supersedes it: it is the newest."),
                link_chain_text("Supersedes", web.outgoing, "Nothing: it is the oldest."),
                notes_section([*cycle_note * web.outgoing.circular, *index_notes]),
            ),
        )

    def get_memory_dependencies(self, filename: MemoryFileName) -> ToolReply:
        """List the memories this one depends on and those that depend on it, directly or indirectly."""
        web, index_notes = self._linked_memories(filename, DEPENDS_ON)
        cycle_note = ["the memories depend on each other in a cycle"]
        return ToolReply(
            {},
            markdown_page(
                f"Dependencies of {web.memory.path}",
                link_chain_text("Depends on", web.outgoing, "No other memory."),
                link_chain_text("Needed by", web.incoming, "No other memory."),
                notes_section([*cycle_note * web.outgoing.circular, *index_notes]),
            ),
        )

    def detect_contradictions(self, filename: MemoryFileName) -> ToolReply:
        """List the memories that this one says it contradicts, and those that say they contradict it."""
        web, index_notes = self._linked_memories(filename, CONTRADICTS, far=1)
        names = {it.name for it in web.outgoing.steps} & {it.name for it in web.incoming.steps}
        mutual_notes = [f"{it} and this memory each say that they contradict the other" for it in sorted(names)]
        return ToolReply(
            {},
            markdown_page(
                f"Contradictions of {web.memory.path}",
                link_chain_text("Contradicts", web.outgoing, "No other memory."),
                link_chain_text("Contradicted by", web.incoming, "No other memory."),
                notes_section([*mutual_notes, *index_notes]),
            ),
        )

    def _linked_memories(
        self, filename: str, kind: str, far: int | None = None
    ) -> tuple[MemoryLinkWeb, tuple[str, ...]]:
        """Return the linked memories, with notes on memories that are not indexed yet."""
        engine = self._context.ready()
        index_notes = engine.freshness.notes()
        return engine.memory.link_web(filename, kind, far=far), index_notes


MemoryContent = Annotated[str, Param("Markdown without front matter; [[path]] and [[memory:name]] are links")]
MemoryTags = Annotated[Sequence[str], Param("Tags, without #")]


def memory_tools(context: MemoryToolContext) -> tuple[Tool, ...]:
    """Return all memory tools, or none if the configuration disables them."""
    if not context.options.enabled:
        return ()
    return (
        *MemoryFileTools(context).tools(),
        *MemorySearchTools(context, time.time).tools(),
        *MemoryLinkTools(context).tools(),
    )


class MemoryFileTools:
    """Tools for memory files. By contract, a write answers with a dict as text, and a failure with one that has
    `error`."""

    def __init__(self, context: MemoryToolContext) -> None:
        self._context = context

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.create_memory, "Create a memory", read_only=False, idempotent=False, strict=True),
            Tool(self.append_memory, "Append to a memory", read_only=False, idempotent=False, strict=True),
            Tool(self.update_memory, "Replace a memory's text", read_only=False, destructive=True, strict=True),
            Tool(self.read_memory, "Read a memory", strict=True),
            Tool(self.delete_memory, "Move a memory to the trash", read_only=False, idempotent=False, strict=True),
            Tool(self.merge_memories, "Merge memories into one", read_only=False, idempotent=False, strict=True),
            Tool(self.get_memory_stats, "Count memories", strict=True),
        )

    def create_memory(
        self,
        filename: MemoryFileName,
        content: MemoryContent,
        tags: MemoryTags = (),
        memory_type: Annotated[
            RagdocsMemoryType, Param("Type of memory; some types lose rank faster with age")
        ] = "journal",
    ) -> ToolReply:
        """Write a new memory, with front matter from tags and type. The words around a link set its type: plans,
        implements, supersedes, depends on, contradicts."""

        def create() -> dict[str, object]:
            check_content(content)
            engine = self._context.engine_for_writing()
            written = engine.memory.remember(filename, content, type=memory_type, tags=tags)
            return _write_result("created", written, "path")

        return _reply_or_error(create)

    def append_memory(self, filename: MemoryFileName, content: MemoryContent) -> ToolReply:
        """Append text to a memory; the existing text is kept."""

        def append() -> dict[str, object]:
            check_content(content)
            written = self._context.engine_for_writing().memory.append(filename, content)
            return _write_result("appended", written, "path")

        return _reply_or_error(append)

    def update_memory(self, filename: MemoryFileName, content: MemoryContent) -> ToolReply:
        """Replace a memory's text; type, tags and creation time are kept."""

        def update() -> dict[str, object]:
            check_content(content)
            written = self._context.engine_for_writing().memory.revise(filename, content)
            return _write_result("updated", written, "path")

        return _reply_or_error(update)

    def delete_memory(self, filename: MemoryFileName) -> ToolReply:
        """Move a memory to `.trash` in its folder, from where it can be restored by hand."""

        def delete() -> dict[str, object]:
            written = self._context.engine_for_writing().memory.forget(filename)
            return _write_result("deleted", written, "moved_to")

        return _reply_or_error(delete)

    def merge_memories(
        self,
        source_files: Annotated[Sequence[str], Param("Memories to merge; they move to the trash")],
        target_file: Annotated[str, Param("File name of the merged memory")],
        summary_content: Annotated[str, Param("Text of the merged memory: Markdown without front matter")],
    ) -> ToolReply:
        """Replace several memories with one. It gets all their tags, and they move to the trash."""

        def merge() -> dict[str, object]:
            check_content(summary_content)
            merged = self._context.engine_for_writing().memory.merge(tuple(source_files), target_file, summary_content)
            written = WrittenMemory(merged.name, merged.path, merged.note)
            return {**_write_result("merged", written, "path"), "moved_to": [str(it) for it in merged.trashed]}

        return _reply_or_error(merge)

    def read_memory(self, filename: MemoryFileName) -> ToolReply:
        """Read the whole file with its front matter, followed by caveats: superseded, not valid now, or about code that
        has changed since."""
        engine = self._context.ready()
        recalled = _recall(engine, filename)
        return ToolReply(
            {}, "\n\n".join(it for it in (recalled.text, notes_section(self._caveats(engine, recalled.name))) if it)
        )

    def _caveats(self, engine: Engine, name: str) -> list[str]:
        """Return the caveats of an existing file, which may not be indexed yet."""
        try:
            (caveats,) = self._context.caveats([engine.memory.find(name)])
        except BadInput:
            return ["not indexed yet, so it is not known whether it still applies"]
        return caveats

    def get_memory_stats(self) -> ToolReply:
        """Count memories by type, status and tag, and show where they are stored."""
        engine = self._context.ready()
        index_notes = engine.freshness.notes()
        return ToolReply({}, memory_counts_text(engine.memory.counts(), str(engine.memory.folder()), index_notes))


def _recall(engine: Engine, name: str) -> MemoryText:
    """Read a memory by file name, indexed or not, else by any name that links may use."""
    try:
        return engine.memory.recall(name)
    except BadInput:
        with suppress(BadInput):
            return engine.memory.recall(engine.memory.find(name).path)
        raise


def _write_result(status: str, written: WrittenMemory, where: str) -> dict[str, object]:
    fields = {"status": status, "filename": written.name, where: str(written.path)}
    return {**fields, "note": written.note} if written.note else {**fields}


def _reply_or_error(write: Callable[[], dict[str, object]]) -> ToolReply:
    try:
        return ToolReply({}, str(write()))
    except DowseError as error:
        return ToolReply({}, str({"error": str(error)}))
