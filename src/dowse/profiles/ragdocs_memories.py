"""The memory tools of the ragdocs contract that write, read and count: told in engine verbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated

from dowse.engine import Engine
from dowse.engine.memories import Recalled, Written
from dowse.errors import BadInput, DowseError
from dowse.profiles.core_memories import check_words
from dowse.profiles.ragdocs_memory_desk import FileName, MemoryDesk, MemoryType
from dowse.profiles.ragdocs_memory_search import MemorySearch
from dowse.profiles.ragdocs_memory_text import counts_text, notes
from dowse.profiles.ragdocs_memory_web import MemoryWeb
from dowse.profiles.tool import Param, Reply, Tool

Content = Annotated[str, Param("Markdown, without front matter; [[path]] and [[memory:name]] are links")]
Tags = Annotated[Sequence[str], Param("Tags, without #")]


def memory_tools(desk: MemoryDesk) -> tuple[Tool, ...]:
    """All of them, those of the other modules included; none where the configuration says so."""
    if not desk.options.enabled:
        return ()
    return (*MemoryFiles(desk).tools(), *MemorySearch(desk, time.time).tools(), *MemoryWeb(desk).tools())


class MemoryFiles:
    """Tools that write tell what they did as the text of a dict, and what went wrong as one with `error`."""

    def __init__(self, desk: MemoryDesk) -> None:
        self._desk = desk

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
        filename: FileName,
        content: Content,
        tags: Tags = (),
        memory_type: Annotated[MemoryType, Param("What kind of note it is; some fade sooner")] = "journal",
    ) -> Reply:
        """Write a new memory; its front matter is made from tags and type. Links are typed by the words around them:
        say that it plans, implements, supersedes, depends on or contradicts what it links to."""

        def create() -> dict[str, object]:
            check_words(content)
            engine = self._desk.writing()
            written = engine.remember(filename, content, type=memory_type, tags=tags)
            return _done("created", written, "path")

        return _told(create)

    def append_memory(self, filename: FileName, content: Content) -> Reply:
        """Add text at the end of a memory; what it says already is kept."""

        def append() -> dict[str, object]:
            check_words(content)
            written = self._desk.writing().add_to_memory(filename, content)
            return _done("appended", written, "path")

        return _told(append)

    def update_memory(self, filename: FileName, content: Content) -> Reply:
        """Put another text in the place of a memory's; type, tags and the time it was created stay."""

        def update() -> dict[str, object]:
            check_words(content)
            written = self._desk.writing().revise(filename, content)
            return _done("updated", written, "path")

        return _told(update)

    def delete_memory(self, filename: FileName) -> Reply:
        """Move a memory to `.trash` in its folder, from where it can be taken back by hand."""

        def delete() -> dict[str, object]:
            written = self._desk.writing().forget(filename)
            return _done("deleted", written, "moved_to")

        return _told(delete)

    def merge_memories(
        self,
        source_files: Annotated[Sequence[str], Param("The memories to merge; they go to the trash")],
        target_file: Annotated[str, Param("The file name of the memory that takes their place")],
        summary_content: Annotated[str, Param("What it says: Markdown, without front matter")],
    ) -> Reply:
        """Put one memory in the place of several: it has all their tags, and they go to the trash."""

        def merge() -> dict[str, object]:
            check_words(summary_content)
            merged = self._desk.writing().merge_memories(tuple(source_files), target_file, summary_content)
            written = Written(merged.name, merged.path, merged.note)
            return {**_done("merged", written, "path"), "moved_to": [str(it) for it in merged.moved]}

        return _told(merge)

    def read_memory(self, filename: FileName) -> Reply:
        """The whole file, front matter included, and behind it whatever speaks against what it says: that it was
        superseded, is not valid now, or is about code that has changed since."""
        engine = self._desk.ready()
        recalled = _recalled(engine, filename)
        return Reply({}, "\n\n".join(it for it in (recalled.text, notes(self._caveats(engine, recalled.name))) if it))

    def _caveats(self, engine: Engine, name: str) -> list[str]:
        """Of a file that is there, even if it is not indexed yet."""
        try:
            (caveats,) = self._desk.caveats([engine.memory(name)])
        except BadInput:
            return ["it is not indexed yet, so that nothing is known of what speaks against it"]
        return caveats

    def get_memory_stats(self) -> Reply:
        """How many memories there are, of which types, with which tags, and where they lie."""
        engine = self._desk.ready()
        lacking = engine.unread_memories()
        return Reply({}, counts_text(engine.memory_counts(), str(engine.memory_folder()), lacking))


def _recalled(engine: Engine, name: str) -> Recalled:
    """By its file, even if that is not indexed yet, else by whatever links may call it."""
    try:
        return engine.recall(name)
    except BadInput:
        with suppress(BadInput):
            return engine.recall(engine.memory(name).path)
        raise


def _done(status: str, written: Written, where: str) -> dict[str, object]:
    done = {"status": status, "filename": written.name, where: str(written.path)}
    return {**done, "note": written.note} if written.note else {**done}


def _told(write: Callable[[], dict[str, object]]) -> Reply:
    try:
        return Reply({}, str(write()))
    except DowseError as error:
        return Reply({}, str({"error": str(error)}))
