"""Notes: write, change, delete, and check against the code they are anchored to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.engine.core import EngineCore
from dowse.engine.freshness import FreshnessService
from dowse.engine.history_index import RepositoryLookup
from dowse.engine.index_service import SyncRunner, no_progress
from dowse.errors import BadInput, DowseError, IndexBusy
from dowse.ingest.sources.files import MEMORIES_FOLDER
from dowse.lookup.history import COMMIT_KIND
from dowse.lookup.memories import (
    ClusteredMemory,
    MemoryCounts,
    MemoryValidity,
    MemoryWalk,
    TagGraph,
    build_tag_graph,
    cluster_by_tag,
    follow_links,
    load_memories,
    load_memory_edges,
    memory_counts,
    memory_validity,
    normalize_tag,
)
from dowse.lookup.targets import memories_by_name
from dowse.memory import frontmatter as front
from dowse.memory.anchors import AnchorResolver, ChangeAttribution, Staleness, StalenessChecker
from dowse.memory.files import MemoryFolder
from dowse.memory.frontmatter import MAX_LIST_ENTRIES, merge_facts, validate_facts
from dowse.model import FILES, MEMORIES, DiskFreshness, Record, Scope
from dowse.paths import DataPaths, is_intact_root
from dowse.text.frontmatter import FrontMatterValue, list_value
from dowse.text.memory_notes import SUPERSEDES, MemoryEdges
from dowse.text.references import ANCHORED_LINK, ANCHORS_KEY, Anchor
from dowse.text.secrets import mask_secrets_in_text
from dowse.text.times import format_iso

MEMORY_SCOPE = Scope(kinds=("memory",))
_NO_SUCCESSORS = MemoryEdges({}, {}, {})
_HISTORY_DISABLED = "indexed before histories were disabled (git = false); `dowse index` drops it"


@dataclass(frozen=True, slots=True)
class WrittenMemory:
    """A written memory: file name and path. `note`: a remark for the user."""

    name: str
    path: Path
    note: str = ""


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A memory read from disk: `text` is the whole file, `content` its body, `facts` its front matter."""

    name: str
    path: Path
    text: str
    content: str
    facts: Mapping[str, FrontMatterValue]


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Memories, and the freshness of the list."""

    records: tuple[Record, ...]
    disk_freshness: DiskFreshness


@dataclass(frozen=True, slots=True)
class MergedMemory:
    """A merged memory: file name, path, and the trash paths of its sources."""

    name: str
    path: Path
    trashed: tuple[Path, ...]
    note: str = ""


MEMORY_RECIPE = "memories"
_MAX_RANKED_MEMORIES = 500  # memories that link to one file; each becomes a path filter


@dataclass(frozen=True, slots=True)
class MemoryLinkWeb:
    """The memories that one memory refers to by a kind of link, and those that refer to it."""

    memory: Record
    outgoing: MemoryWalk
    incoming: MemoryWalk


class MemoryService:
    def __init__(
        self, core: EngineCore, freshness: FreshnessService, repositories: RepositoryLookup, syncs: SyncRunner
    ) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._freshness = freshness
        self._repositories = repositories
        self._syncs = syncs

    def folder(self) -> Path:
        """Return the folder that memories are written to; it may not exist yet."""
        if self._settings.memory_location != "project":
            return DataPaths.of(self._settings).memories.resolve()
        known = [Path(it.root) for it in self._core.view().collections() if it.source == FILES]
        roots = [it for it in known if it.is_absolute() and is_intact_root(it)]
        if not roots:
            raise BadInput("memories need an indexed root, and there is none; run `dowse index` first")
        return roots[0] / MEMORIES_FOLDER

    def remember(
        self,
        name: str,
        content: str,
        *,
        type: str = "journal",
        tags: Sequence[str] = (),
        anchors: Sequence[str] = (),
        valid_from: str = "",
        valid_until: str = "",
    ) -> WrittenMemory:
        """Write a new memory."""
        now = self._core.clock.now()
        facts = validate_facts(
            type=type, tags=tags, created_at=format_iso(now), valid_from=valid_from, valid_until=valid_until
        )
        anchored = self._resolve_anchors(anchors)
        written = list(dict.fromkeys(it.text for it in anchored.values()))
        facts |= {ANCHORS_KEY: written, front.ANCHORED_AT: format_iso(now)} if written else {}
        created = self._index_memories(self._folder().create(name, front.compose(facts, content)))
        return replace(created, note="; ".join([*_file_anchor_notes(anchored), *filter(None, [created.note])]))

    def append(self, name: str, content: str) -> WrittenMemory:
        """Append to a memory. Its anchors are renewed to their current targets, as if it were newly written."""
        return self._index_memories(self._folder().append(name, content, self._anchor_renewer()))

    def revise(self, name: str, content: str) -> WrittenMemory:
        """Replace a memory's body and renew its anchors; keep the rest of its front matter."""
        return self._index_memories(self._folder().replace(name, content, self._anchor_renewer()))

    def recall(self, name: str) -> MemoryText:
        """Read a memory from disk."""
        folder = self._folder()
        name, text = folder.read(name)
        text = text if self._settings.show_secrets else mask_secrets_in_text(text)[0]
        return MemoryText(name, folder.directory / name, text, front.body_of(text), front.parse_facts(text))

    def forget(self, name: str) -> WrittenMemory:
        """Move a memory to the trash; `path` is its path there."""
        name, trashed = self._folder().move_to_trash(name, self._core.clock.now())
        return WrittenMemory(name, trashed, self._index_memories(name).note)

    def merge(self, sources: Sequence[str], target: str, summary: str) -> MergedMemory:
        """Replace several memories by one with the tags of all; move the old ones to the trash."""
        if not sources:
            raise BadInput("name the memories to merge")
        now, folder, renewed = self._core.clock.now(), self._folder(), self._anchor_renewer()

        def text(texts: Sequence[str]) -> str:
            return renewed(
                front.compose(merge_facts([front.parse_facts(it) for it in texts], format_iso(now)), summary)
            )

        name, names, moved = folder.merge(sources, target, text, now)
        return MergedMemory(name, folder.directory / name, moved, self._index_memories(name, *names).note)

    def select(self, scope: Scope = MEMORY_SCOPE) -> MemoryList:
        """Return the memories within the scope, newest first."""
        seen = self._freshness.ensure()
        return MemoryList(tuple(self._core.view().select(replace(scope, kinds=MEMORY_SCOPE.kinds))), seen)

    def staleness(self, record: Record) -> tuple[Staleness, ...]:
        """Return the anchors of a memory whose targets have changed since; empty for other records."""
        if ANCHORS_KEY not in record.facets:
            return ()
        anchored = self._anchor_resolver(record.collection)
        return StalenessChecker(
            anchored, ChangeAttribution(anchored, self._repositories.history_of, self._repositories.edited_lines)
        ).check(record)

    def caveats(self, record: Record) -> tuple[str, ...]:
        """Return sentences about why a record may no longer hold.

        It may be superseded, archived, outside its validity period, stale, or no longer updated. Costs nothing for
        records other than memories.
        """
        left_out = [_HISTORY_DISABLED] if record.kind == COMMIT_KIND and not self._settings.git else []
        (validity,) = self.validities([record])
        return (*left_out, *validity.sentences(), *(it.why for it in self.staleness(record)))

    def validities(self, records: Iterable[Record]) -> list[MemoryValidity]:
        """Return whether each record is still valid according to other memories; `stale` compares one with the code."""
        now = self._core.clock.now()
        return [memory_validity(record, self._successors(record), now) for record in records]

    def anchors(self, record: Record) -> tuple[str, ...]:
        """Return a memory's anchor targets, without digests."""
        return tuple(it.target for it in self._core.view().links(record) if it.kind == ANCHORED_LINK)

    # --- anchors ---

    def _resolve_anchors(self, anchors: Sequence[str]) -> dict[str, Anchor]:
        """Return the resolved anchors by their original spelling."""
        if len(anchors) > MAX_LIST_ENTRIES:
            raise BadInput(f"{len(anchors):,} anchors are too many for one memory; pass at most {MAX_LIST_ENTRIES}")
        if not anchors:
            return {}
        self._freshness.ensure()  # so that an anchor's digest includes an edit saved just now
        anchored = self._anchor_resolver()
        return {it: anchored.resolve(self._relative_to_root(it)) for it in anchors}

    def _anchor_renewer(self) -> Callable[[str], str]:
        """Return a function that updates the anchor digests in a memory's text; anchors without a target stay."""
        self._freshness.ensure()
        anchored, now = self._anchor_resolver(), format_iso(self._core.clock.now())

        def renewed(text: str) -> str:
            found: dict[str, str] = {}
            for anchor in list_value(front.parse_facts(text), ANCHORS_KEY)[:MAX_LIST_ENTRIES]:
                with suppress(BadInput):
                    found[anchor] = anchored.resolve(anchor).text
            return front.rewrite_anchors(text, found, now)

        return renewed

    def _successors(self, record: Record) -> MemoryEdges:
        """Return which memories of the record's folder supersede which. A name never refers to another folder."""
        if record.kind not in MEMORY_SCOPE.kinds:
            return _NO_SUCCESSORS
        scope = replace(MEMORY_SCOPE, collections=(record.collection,))
        return load_memory_edges(self._core.view(), scope, SUPERSEDES)

    def _anchor_resolver(self, memories: str = "") -> AnchorResolver:
        """Return the anchor resolver for the memories of this collection, or for newly written ones."""
        roots = {Path(it.root): it for it in self._core.view().collections()}
        place = next((root for root, it in roots.items() if it.name == memories), None) or self.folder()
        home = roots.get(place.parent)
        return AnchorResolver(self._core.view(), home.name if home else "")

    def _relative_to_root(self, anchor: str) -> str:
        """Return an absolute path relative to its root."""
        roots = [f"{it.root}/" for it in self._core.view().collections() if it.source == FILES]
        return next((anchor.removeprefix(it) for it in roots if anchor.startswith(it)), anchor)

    # --- folder and index ---

    def _folder(self) -> MemoryFolder:
        is_private = self._settings.memory_location != "project"
        return MemoryFolder(self.folder(), is_private, self._settings.lock_timeout_s)

    def _index_memories(self, name: str, *others: str) -> WrittenMemory:
        """Index the written memories. If that fails, return a note instead: the next freshness check finds them."""
        place = self.folder()
        note = ""
        try:
            with self._core.store.writing(self._settings.lock_timeout_s):
                self._sync_memories(place, (name, *others))
        except IndexBusy as error:
            note = f"saved, but not searchable until the index is free: {error}"
        except (DowseError, OSError) as error:
            # An error would make the caller retry, and append the text twice.
            note = f"saved, but not indexed yet: {error}"
        return WrittenMemory(name, place / name, note)

    def _sync_memories(self, place: Path, names: tuple[str, ...]) -> None:
        """Index these files, or the whole folder if it is new to the index."""
        collection = self._sources.add_collection(place)
        subpaths = names if collection.synced_at else ()
        self._syncs.sync(self._sources.files_at(place, subpaths), collection, subpaths, False, True, no_progress)

    # --- linked memories ---

    def scope(self) -> Scope:
        """Return the scope of the memory folder that is written to."""
        folder = self.folder()
        names = [it.name for it in self._core.collections() if it.source == MEMORIES and Path(it.root) == folder]
        # No collection has an empty name, so a folder that does not exist yet yields no memories.
        return Scope(collections=tuple(names) or ("",), kinds=("memory",))

    def find(self, name: str) -> Record:
        """Return the memory with this name, or with any reference that links may use for it."""
        self._freshness.ensure()
        (folder,) = self.scope().collections
        found = memories_by_name(self._core.view(), name, folder)
        if not found:
            raise BadInput(f"no memory named {name[:100]!r}; search finds memories by content")
        return found[0]

    def link_web(self, name: str, kind: str, *, far: int | None = None) -> MemoryLinkWeb:
        """Return the memories linked from and to a memory by this kind of link, up to `far` steps."""
        record = self.find(name)
        among = load_memory_edges(self._core.view(), self.scope(), kind)
        return MemoryLinkWeb(
            record, follow_links(among, record, far=far), follow_links(among, record, back=True, far=far)
        )

    def counts(self) -> MemoryCounts:
        return memory_counts(self._memories())

    def tag_graph(self) -> TagGraph:
        return build_tag_graph(self._memories())

    def cluster(self, tag: str, depth: int) -> list[ClusteredMemory]:
        """Return the memories with this tag, and those reachable through shared tags."""
        if not normalize_tag(tag):
            raise BadInput("the tag is empty; pass one")
        return cluster_by_tag(self._memories(), tag, depth)

    def _memories(self) -> list[Record]:
        self._freshness.ensure()
        return load_memories(self._core.view(), self.scope())


def _file_anchor_notes(anchors: Mapping[str, Anchor]) -> list[str]:
    """Return a note for each line anchor that became a file anchor, because the line is in no definition."""
    files = [it for it, anchor in anchors.items() if anchor.path and not anchor.symbol]
    lines = [it for it in files if it.rpartition(":")[2].isdecimal()]
    return [f"{it} is in no definition, so the whole file is anchored" for it in lines]
