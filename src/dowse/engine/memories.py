"""Memories: notes that are written, kept as files, and found like everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.engine.fresh import Fresh
from dowse.engine.syncing import quiet
from dowse.errors import BadInput, DowseError, IndexBusy
from dowse.ingest.sources.memories import FOLDER
from dowse.lookup.history.question import COMMIT
from dowse.lookup.memories.edges import edges
from dowse.lookup.memories.standing import Standing, standing
from dowse.memories import front
from dowse.memories.anchored import Anchored
from dowse.memories.causes import Causes
from dowse.memories.facts import MAX_ENTRIES, checked_facts, merged_facts
from dowse.memories.folder import Folder
from dowse.memories.staleness import Judge, Staleness
from dowse.model import FILES, Record, Scope, Seen
from dowse.places import Places, is_stored_root
from dowse.text.anchors import ANCHORED, ANCHORS, Anchor
from dowse.text.frontmatter import Value, strings
from dowse.text.memory_edges import SUPERSEDES, Edges
from dowse.text.secrets import masked_text
from dowse.text.times import iso

MEMORY_SCOPE = Scope(kinds=("memory",))
_NO_SUCCESSIONS = Edges({}, {}, {})
_LEFT_OUT = "indexed before histories were left out (git = false); `dowse index` drops it"


@dataclass(frozen=True, slots=True)
class Written:
    """The name of the memory's file and where it lies; `note`: what a reader should know besides."""

    name: str
    path: Path
    note: str = ""


@dataclass(frozen=True, slots=True)
class Recalled:
    """`text` is the file as it is, `content` the same without its front matter, `facts` what that says."""

    name: str
    path: Path
    text: str
    content: str
    facts: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Listed:
    """Memories, and how that stands to the files on disk."""

    records: tuple[Record, ...]
    seen: Seen


@dataclass(frozen=True, slots=True)
class Merged:
    """The name of the new memory and where it lies, and where in the trash the old ones do."""

    name: str
    path: Path
    moved: tuple[Path, ...]
    note: str = ""


class Memories(Fresh):
    def memory_folder(self) -> Path:
        """Where memories are written to; it may not exist yet."""
        if self.settings.memories != "project":
            return Places.of(self.settings).memories.resolve()
        known = [Path(it.root) for it in self._store.collections() if it.source == FILES]
        roots = [it for it in known if it.is_absolute() and is_stored_root(it)]
        if not roots:
            raise BadInput("memories lie in an indexed root, and there is none; `dowse index` first")
        return roots[0] / FOLDER

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
    ) -> Written:
        """Write a new memory."""
        now = self._clock.now()
        facts = checked_facts(type=type, tags=tags, created_at=iso(now), valid_from=valid_from, valid_until=valid_until)
        anchored = self._resolved(anchors)
        written = list(dict.fromkeys(it.written for it in anchored.values()))
        facts |= {ANCHORS: written, front.ANCHORED_AT: iso(now)} if written else {}
        created = self._indexed(self._folder().create(name, front.composed(facts, content)))
        return replace(created, note="; ".join([*_as_files(anchored), *filter(None, [created.note])]))

    def add_to_memory(self, name: str, content: str) -> Written:
        """Write below what a memory says already; it counts as written anew, so that what it is anchored to is what
        is there now."""
        return self._indexed(self._folder().append(name, content, self._renewal()))

    def revise(self, name: str, content: str) -> Written:
        """Let a memory say something else; its front matter stays, and counts as written anew."""
        return self._indexed(self._folder().replace(name, content, self._renewal()))

    def recall(self, name: str) -> Recalled:
        """A memory as it is on disk now."""
        folder = self._folder()
        name, text = folder.read(name)
        text = text if self.settings.show_secrets else masked_text(text)[0]
        return Recalled(name, folder.place / name, text, front.body(text), front.facts(text))

    def forget(self, name: str) -> Written:
        """Move a memory to the trash; `path` is where it lies there."""
        name, thrown = self._folder().throw_away(name, self._clock.now())
        return Written(name, thrown, self._indexed(name).note)

    def merge_memories(self, sources: Sequence[str], target: str, summary: str) -> Merged:
        """One memory in place of several, which go to the trash; it has the tags of all of them."""
        if not sources:
            raise BadInput("name the memories to merge")
        now, folder, renewed = self._clock.now(), self._folder(), self._renewal()

        def text(texts: Sequence[str]) -> str:
            return renewed(front.composed(merged_facts([front.facts(it) for it in texts], iso(now)), summary))

        name, names, moved = folder.merge(sources, target, text, now)
        return Merged(name, folder.place / name, moved, self._indexed(name, *names).note)

    def memories(self, scope: Scope = MEMORY_SCOPE) -> Listed:
        """The memories within the scope, newest first."""
        seen = self._seen()
        return Listed(tuple(self._store.select(replace(scope, kinds=MEMORY_SCOPE.kinds))), seen)

    def stale(self, record: Record) -> tuple[Staleness, ...]:
        """What of that to which a memory is anchored has changed since, as it is indexed; nothing for other records."""
        if ANCHORS not in record.facets:
            return ()
        anchored = self._anchored(record.collection)
        return Judge(anchored, Causes(anchored, self.history_of, self.edited_lines)).stale(record)

    def doubts(self, record: Record) -> tuple[str, ...]:
        """Sentences about what a record says that may not hold now: it is superseded, archived, out of its time, stale,
        or not brought in line any more. Costs nothing for what is no memory."""
        left_out = [_LEFT_OUT] if record.kind == COMMIT and not self.settings.git else []
        (standing,) = self.standings([record])
        return (*left_out, *standing.sentences(), *(it.why for it in self.stale(record)))

    def standings(self, records: Iterable[Record]) -> list[Standing]:
        """Whether what each says still counts, as far as memories tell; `stale` compares one with the code."""
        now = self._clock.now()
        return [standing(record, self._successions(record), now) for record in records]

    def anchors(self, record: Record) -> tuple[str, ...]:
        """What a memory is anchored to, without digests."""
        return tuple(it.target for it in self._store.links(record) if it.kind == ANCHORED)

    # --- anchors ---

    def _resolved(self, anchors: Sequence[str]) -> dict[str, Anchor]:
        """What is there now, by how it was asked for."""
        if len(anchors) > MAX_ENTRIES:
            raise BadInput(f"{len(anchors):,} anchors are too many for one memory; give at most {MAX_ENTRIES}")
        if not anchors:
            return {}
        self._seen()  # what was saved just now is anchored as it was saved
        anchored = self._anchored()
        return {it: anchored.resolved(self._inside(it)) for it in anchors}

    def _renewal(self) -> Callable[[str], str]:
        """Gives the text of a memory with the digests of what its anchors lead to now; lost ones stay as they are."""
        self._seen()
        anchored, now = self._anchored(), iso(self._clock.now())

        def renewed(text: str) -> str:
            found: dict[str, str] = {}
            for it in strings(front.facts(text), ANCHORS)[:MAX_ENTRIES]:
                with suppress(BadInput):
                    found[it] = anchored.resolved(it).written
            return front.renewed(text, found, now)

        return renewed

    def _successions(self, record: Record) -> Edges:
        """Which memories of its folder supersede which; those of others are not meant by a name."""
        if record.kind not in MEMORY_SCOPE.kinds:
            return _NO_SUCCESSIONS
        scope = replace(MEMORY_SCOPE, collections=(record.collection,))
        return edges(self._store, scope, SUPERSEDES)

    def _anchored(self, memories: str = "") -> Anchored:
        """Where the anchors of the memories of this collection lead, or of those that are written now."""
        roots = {Path(it.root): it for it in self._store.collections()}
        place = next((root for root, it in roots.items() if it.name == memories), None) or self.memory_folder()
        home = roots.get(place.parent)
        return Anchored(self._store, home.name if home else "")

    def _inside(self, anchor: str) -> str:
        """An absolute path as it is called in its root."""
        roots = [f"{it.root}/" for it in self._store.collections() if it.source == FILES]
        return next((anchor.removeprefix(it) for it in roots if anchor.startswith(it)), anchor)

    # --- the folder and the index ---

    def _folder(self) -> Folder:
        is_private = self.settings.memories != "project"
        return Folder(self.memory_folder(), is_private, self.settings.lock_timeout_s)

    def _indexed(self, name: str, *others: str) -> Written:
        """Bring what was written into the index; where that can not be now, say so: a later look will find it."""
        place = self.memory_folder()
        note = ""
        try:
            with self._store.writing(self.settings.lock_timeout_s):
                self._sync_memories(place, (name, *others))
        except IndexBusy as error:
            note = f"it is written, and will be found as soon as the index is free: {error}"
        except (DowseError, OSError) as error:
            # An error would have it done once more, and what is appended twice is no longer what was meant.
            note = f"it is done, only the index does not know yet: {error}"
        return Written(name, place / name, note)

    def _sync_memories(self, place: Path, names: tuple[str, ...]) -> None:
        """These files; the whole folder, while it is new to the index."""
        collection = self._add_collection(place)
        under = names if collection.synced_at else ()
        self._sync(self._files(place, under), collection, under, False, True, quiet)


def _as_files(anchors: Mapping[str, Anchor]) -> list[str]:
    """Of which lines the whole file is anchored, because they stand in no definition."""
    files = [it for it, anchor in anchors.items() if anchor.path and not anchor.symbol]
    lines = [it for it in files if it.rpartition(":")[2].isdecimal()]
    return [f"{it} stands in no definition, so the whole file is anchored" for it in lines]
