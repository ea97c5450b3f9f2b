"""A history into an index of its own: how long the words take, how long the vectors, and what lies on disk then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from dowse.config import Settings
from dowse.engine import Engine
from dowse.store.sqlite import SqliteStore
from measuring import say
from timing import timed

WORDS_ONLY = "none"
TRANSFORMERS = {"granite": 300}
"""Of how many commits such a slow encoder makes vectors, which is enough for a rate."""
_PARTS = {
    "texts": ("chunks",),
    "words": ("words_data", "words_idx", "words_docsize", "words_config"),
    "commits": ("records",),
    "links to files and definitions": ("links", "links_target"),
    "vectors": ("vectors", "next_vectors", "vector_changes"),
}
OTHER = "everything else"


@dataclass(frozen=True, slots=True)
class Built:
    """`encode_s` is what the vectors took after the words, of which there are `chunks` with a vector."""

    encoder: str
    commits: int
    chunks: int
    vectors: int
    links: int
    words_s: float
    encode_s: float
    bytes_by_part: Mapping[str, int]

    @property
    def words_rate(self) -> float:
        return self.commits / self.words_s

    @property
    def rate(self) -> float:
        return self.commits / (self.words_s + self.encode_s)

    @property
    def bytes_per_commit(self) -> float:
        return sum(self.bytes_by_part.values()) / max(self.commits, 1)


def settings_of(encoder: str, commits: int, place: Path) -> Settings:
    # The root is made for the run, and leads to a repository that lies elsewhere.
    return Settings(encoder=encoder, data_dir=place, max_commits=commits, allow_any_root=True, git_directories=("/",))


def index_in(place: Path) -> Path:
    return place / "index.db"


@contextmanager
def opened(place: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(index_in(place), create=False)
    try:
        yield store
    finally:
        store.close()


def build(repository: Path, encoder: str, commits: int, place: Path, models: Path) -> Built:
    """Into `place`, which is empty."""
    commits = min(commits, TRANSFORMERS.get(encoder, commits))
    say(f"history: {commits:,} commits, encoder {encoder}")
    place.mkdir(parents=True)
    if models.is_dir():
        (place / "models").symlink_to(models)
    with Engine(settings_of(encoder, commits, place), index_in(place), create=True) as engine:
        engine.index([root_of(repository, place / "root")], vectors=False)
        report, words_ms = timed(engine.histories.index_history)
        encode_ms = timed(engine.indexing.encode)[1] if encoder != WORDS_ONLY else 0.0
    with opened(place) as store:
        counts = store.catalog.counts()
    sizes = sizes_of(index_in(place))
    return Built(
        encoder, report.indexed, counts.chunks, counts.vectors, counts.links, words_ms / 1000, encode_ms / 1000, sizes
    )


def root_of(repository: Path, root: Path) -> Path:
    """A directory without files whose history is that of the repository, bare or not."""
    git_directory = repository / ".git" if (repository / ".git").exists() else repository
    root.mkdir(parents=True)
    (root / ".git").write_text(f"gitdir: {git_directory.resolve()}\n", encoding="utf-8")
    return root.resolve()


def sizes_of(index: Path) -> dict[str, int]:
    """Bytes by what they are for."""
    with _reading(index) as connection:
        tables: dict[str, int] = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    sizes = {part: sum(tables.pop(name, 0) for name in names) for part, names in _PARTS.items()}
    beside = sum(
        it.stat().st_size for it in index.parent.glob(f"{index.name}-*") if not it.name.endswith(("wal", "shm"))
    )
    return sizes | {OTHER: sum(tables.values()) + beside}


@contextmanager
def _reading(index: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield connection
    finally:
        connection.close()
