"""The memory tools of the ragdocs contract that follow tags and links from memory to memory."""

from __future__ import annotations

from typing import Annotated

from dowse.engine.recollecting import Web
from dowse.profiles.ragdocs_memory_desk import FileName, MemoryDesk, Tag, checked_tag
from dowse.profiles.ragdocs_memory_text import cluster_text, notes, page, related_text, tag_graph_text, walk_text
from dowse.profiles.tool import Param, Reply, Tool
from dowse.text.memory_edges import CONTRADICTS, DEPENDS_ON, SUPERSEDES


class MemoryWeb:
    def __init__(self, desk: MemoryDesk) -> None:
        self._desk = desk

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.search_by_tag_cluster, "Memories around a tag", strict=True),
            Tool(self.get_tag_graph, "Tags and which go together", strict=True),
            Tool(self.suggest_related_tags, "Tags that go with a tag", strict=True),
            Tool(self.get_memory_versions, "What a memory supersedes, and what it", strict=True),
            Tool(self.get_memory_dependencies, "What a memory depends on, and what on it", strict=True),
            Tool(self.detect_contradictions, "Memories that contradict one", strict=True),
        )

    # --- tags ---

    def search_by_tag_cluster(
        self,
        tag: Tag,
        depth: Annotated[
            int, Param("1: memories with the tag; 2: also those that share a tag with one; 3: once more", ge=1, le=3)
        ] = 2,
        limit: Annotated[int, Param("How many memories at most", ge=1, le=100)] = 10,
    ) -> Reply:
        """The memories with a tag, and those that the tags they share lead to, the nearest and newest first."""
        engine = self._desk.ready()
        name = checked_tag("tag", tag)
        lacking = engine.unread_memories()
        found = engine.memory_cluster(name, depth)
        return Reply({}, cluster_text(name, found, limit, engine.memory_counts().memories, lacking))

    def get_tag_graph(self) -> Reply:
        """Every tag with how many memories have it, and every pair of tags that stands on the same memory."""
        engine = self._desk.ready()
        lacking = engine.unread_memories()
        return Reply({}, tag_graph_text(engine.memory_tags(), lacking))

    def suggest_related_tags(self, tag: Tag) -> Reply:
        """The tags that stand on the same memories as this one, those that do most often first."""
        engine, name = self._desk.ready(), checked_tag("tag", tag)
        lacking = engine.unread_memories()
        graph = engine.memory_tags()
        return Reply({}, related_text(name, graph.related(name), graph, lacking))

    # --- links ---

    def get_memory_versions(self, filename: FileName) -> Reply:
        """The memories that supersede this one and those it supersedes, directly and by way of others."""
        web, lacking = self._web(filename, SUPERSEDES)
        circle = ["the memories supersede each other in a circle; none of them counts as the newest"]
        return Reply(
            {},
            page(
                f"Versions of {web.memory.path}",
                walk_text("Superseded by", web.back, "Nothing supersedes it: it is the newest."),
                walk_text("Supersedes", web.onward, "Nothing: it is the oldest."),
                notes([*circle * web.onward.circular, *lacking]),
            ),
        )

    def get_memory_dependencies(self, filename: FileName) -> Reply:
        """The memories this one depends on and those that depend on it, directly and by way of others."""
        web, lacking = self._web(filename, DEPENDS_ON)
        circle = ["the memories depend on each other in a circle"]
        return Reply(
            {},
            page(
                f"Dependencies of {web.memory.path}",
                walk_text("Depends on", web.onward, "No other memory."),
                walk_text("Needed by", web.back, "No other memory."),
                notes([*circle * web.onward.circular, *lacking]),
            ),
        )

    def detect_contradictions(self, filename: FileName) -> Reply:
        """The memories that this one says it contradicts, and those that say so of it."""
        web, lacking = self._web(filename, CONTRADICTS, far=1)
        names = {it.name for it in web.onward.steps} & {it.name for it in web.back.steps}
        both = [f"{it} and this memory each say so of the other" for it in sorted(names)]
        return Reply(
            {},
            page(
                f"Contradictions of {web.memory.path}",
                walk_text("Contradicts", web.onward, "No other memory."),
                walk_text("Contradicted by", web.back, "No other memory."),
                notes([*both, *lacking]),
            ),
        )

    def _web(self, filename: str, kind: str, far: int | None = None) -> tuple[Web, tuple[str, ...]]:
        """And what is not known yet of it."""
        engine = self._desk.ready()
        lacking = engine.unread_memories()
        return engine.memory_web(filename, kind, far=far), lacking
