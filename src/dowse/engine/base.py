"""What every verb of the engine stands on: the store, the settings, the sources of its collections, its models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.config import Settings
from dowse.engine.beside import Beside, Questions, spare_processors
from dowse.engine.edits import Edits
from dowse.errors import BadInput, Unreadable, damage
from dowse.ingest.sources.base import Source
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.git.commits import CommitSource
from dowse.ingest.sources.git.confine import allow_git_directories
from dowse.ingest.sources.git.repositories import git_directory_at
from dowse.ingest.sources.git.repository import common_directory_of, is_work_tree
from dowse.ingest.sources.git.withholding import Withholding
from dowse.ingest.sources.memories import FOLDER, memory_files
from dowse.lookup.called import called
from dowse.model import COMMITS, FILES, MEMORIES, OMISSIONS, Collection, Item, Omissions, Record
from dowse.places import Places
from dowse.reranking import Reranking
from dowse.search.refine.subjects import Preferences
from dowse.semantics import Semantics
from dowse.store.base import Store
from dowse.store.health import SIDECARS
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.beside import QUARANTINE, SUFFIXES
from dowse.store.sqlite.signing import Signer
from dowse.text.decode import decode
from dowse.text.globs import literal

if TYPE_CHECKING:
    from dowse.ingest.workers.pool import Workers
    from dowse.lookup.calls.graph import CallGraph

TREES: Final = "work trees "
"""With the name of a history behind it, the manifest's key for the work trees of its repository."""


class Base:
    """Opened and closed by its owner; safe to use from several threads."""

    def __init__(
        self,
        settings: Settings,
        index: Path,
        *,
        create: bool,
        store: Store | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.settings = settings
        self.index_path = index.resolve()
        allow_git_directories(settings.git_directories)
        places = Places.of(settings)
        self._store = store or SqliteStore(
            index, create=create, busy_timeout_s=settings.lock_timeout_s, signer=Signer.of(places)
        )
        self._sources: dict[str, Source] = {}
        self._workers = workers
        self._preferences = Preferences()
        self._edits = Edits()
        self._beside = Beside(spare_processors())
        self.questions = Questions()
        self._calls: CallGraph | None = None
        self._semantics = Semantics(
            settings.encoder,
            places,
            self._store,
            api_key=settings.encoder_key,
            threads=settings.encoder_threads,
        )
        self._reranking = Reranking(
            settings.reranker, places, model_dir=settings.reranker_model, key=settings.reranker_key
        )

    def spare_processors_when(self, is_contended: Callable[[], bool]) -> None:
        """Use one thread for a search as long as others wait, which whoever serves them knows."""
        self._beside.is_contended = is_contended

    def close(self) -> None:
        self._beside.close()
        if self._workers:
            self._workers.close()
        for source in self._sources.values():
            if isinstance(source, CommitSource):
                source.close()
        self._store.close()

    def _index_notes(self) -> Iterator[str]:
        """What a reader must know of the index as a whole: what is not there yet, and what is damaged."""
        collections = self._store.collections()
        unfinished = [it.name for it in collections if not it.synced_at]
        if not collections:
            yield "nothing is indexed yet"
        if unfinished:
            yield f"{', '.join(unfinished)} is indexed only in part so far"
        yield from self._semantics.notes()
        yield from (damage(part, why) for part, why in self._store.damaged().items() if part != SIDECARS)

    def omissions(self) -> dict[str, Omissions]:
        """What each collection leaves out by its default rules, as of the last run over the whole of it."""
        notes = self._store.manifest()
        kept = {it.name: notes.get(OMISSIONS + it.name) for it in self._store.collections()}
        return {name: Omissions(**json.loads(text)) for name, text in kept.items() if text}

    def collections(self) -> list[Collection]:
        """What is read from files: the roots, and the folders of memories."""
        return [it for it in self._store.collections() if it.source != COMMITS]

    def histories(self) -> list[Collection]:
        """What is read from repositories."""
        return [it for it in self._store.collections() if it.source == COMMITS]

    def record(self, path: str, collection: str | None = None) -> list[Record]:
        """Every record with this path, or that is called so (`memory:NAME`, `commit:HASH`): where several roots are
        indexed, more than one may be."""
        return called(self._store, path, collection)

    def _one_record(self, path: str, collection: str | None) -> Record:
        records = self.record(path, collection)
        if len(records) != 1:
            known = f"{len(records)} collections have {path!r}; name one" if records else f"{path!r} is not indexed"
            raise BadInput(known)
        return records[0]

    def _source(self, collection: str) -> Source:
        source = self._sources.get(collection)
        if source is None or isinstance(source, FileSource | CommitSource):
            known = self._collection(collection)
            root = git_directory_at(known.root) if known.source == COMMITS else Path(known.root)
            if source is None or source.root != root:  # another process may have found it elsewhere
                source = self._commits(known) if known.source == COMMITS else self._files(root)
                self._sources[collection] = source
        return source

    def _commits(
        self, history: Collection, only: tuple[str, ...] | None = None, cut: tuple[str, str] | None = None
    ) -> CommitSource:
        place, settings = git_directory_at(history.root), self.settings
        withholding = self._withholding(self._work_trees(history) or [place])
        return CommitSource(place, settings.max_commits, settings.delta_lines, only, cut, withholding)

    def _work_trees(self, history: Collection) -> list[Path]:
        """Those that were met below the roots, as far as they still are of this repository."""
        noted: list[str] = json.loads(self._store.manifest().get(TREES + history.name) or "[]")
        home = git_directory_at(history.root)
        return [Path(it) for it in noted if is_work_tree(it) and common_directory_of(it).resolve() == home]

    def _withholding(self, tops: Sequence[Path]) -> Withholding:
        """What is not told of a repository whose work trees begin at these places: of its files that which the roots
        leave out, of those outside of every root what such a root would."""
        roots = [Path(it.root) for it in self.collections() if it.source == FILES and Path(it.root).is_absolute()]
        around = [(top, root) for top in tops for root in roots if top.is_relative_to(root)]
        inside = [(top, root) for top in tops for root in roots if root != top and root.is_relative_to(top)]
        judges = {root: self._files(root).left_out() for root in {root for _, root in (*around, *inside)}}
        ways = [(f"{top.relative_to(root).as_posix()}/".removeprefix("./"), judges[root]) for top, root in around]
        parts = [(f"{root.relative_to(top).as_posix()}/", judges[root]) for top, root in inside]
        outside = [] if around else [self._files(top).left_out() for top in tops]

        @lru_cache(maxsize=100_000)  # a path is asked about once for each commit that touched it
        def is_left_out(path: str) -> bool:
            within = [judge(path.removeprefix(way)) for way, judge in parts if path.startswith(way)]
            return (
                any(judge(way + path) for way, judge in ways)
                or any(within)
                or (not within and any(judge(path) for judge in outside))
            )

        return Withholding(is_left_out, self.settings.show_secrets)

    def _current_text(self, record: Record) -> str | None:
        """As its source gives it now; None where it gives nothing."""
        source = self._source(record.collection)
        try:
            item, data = source.read(Item(record.path, record.size, record.mtime_ns))
        except Unreadable:
            return None
        if not isinstance(source, CommitSource):
            return decode(data)
        from dowse.ingest.extract.table import extract  # brings every extractor with it

        return extract(item, data).text

    def _collection(self, name: str) -> Collection:
        found = next((it for it in self._store.collections() if it.name == name), None)
        if found is None:
            raise BadInput(f"no collection is called {name!r}; `dowse status` lists them")
        return found

    def files(self, collection: str) -> FileSource:
        """The files of a collection as they are on disk."""
        return self._files(Path(self._collection(collection).root))

    def _files(self, root: Path, under: tuple[str, ...] = ()) -> FileSource:
        known = {Path(it.root): it for it in self.collections()}
        if root in known and known[root].source == MEMORIES:
            return memory_files(root, under, show_secrets=self.settings.show_secrets)
        inner = {it for it in known if root in it.parents}
        settings = self.settings
        return FileSource(
            root,
            include=settings.include,
            exclude=(*settings.exclude, *self._own_files(root)),
            default_excludes=settings.default_excludes,
            extensions=settings.extra_extensions,
            use_gitignore=settings.gitignore,
            show_secrets=settings.show_secrets,
            max_file_bytes=settings.max_file_bytes,
            under=under,
            barred=frozenset(inner | {Places.of(settings).data_dir, root / FOLDER}),
            is_stored=True,
        )

    def _kind_of(self, root: Path) -> str:
        """What a directory is read as: by its name, so that memories are never documents, whoever asks for them."""
        is_kept = root == Places.of(self.settings).memories.resolve()
        return MEMORIES if root.name == FOLDER or is_kept else FILES

    def _add_collection(self, root: Path) -> Collection:
        source = self._kind_of(root)
        name = f"{root.parent.name}.memories" if root.name == FOLDER else ""
        return self._store.add_collection(str(root), source=source, name=name)

    def _own_files(self, root: Path) -> tuple[str, ...]:
        """Globs for the index and what lies beside it, where that is inside the root."""
        if root not in self.index_path.parents:
            return ()
        name = literal("/" + self.index_path.relative_to(root).as_posix())
        own = (f"{name}{new}{suffix}" for new in ("", ".new") for suffix in ("", *SUFFIXES))
        return (f"{name}{QUARANTINE}*", *own)
