"""What a backend must offer: a catalog that is the truth, and two indexes that are caches of it.

Every backend passes the same conformance tests; the dict store is their oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from dowse.model import (
    EVERYTHING,
    FILES,
    Call,
    Chunk,
    Collection,
    Counts,
    Glance,
    Link,
    Record,
    Scope,
    Scored,
    Skipped,
    Stored,
    Symbol,
    Version,
)
from dowse.store.call_facts import CallFacts
from dowse.store.definitions import Definitions
from dowse.store.health import Health, Progress
from dowse.store.texts import Texts
from dowse.text.terms import Terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]


Value = TypeVar("Value")


class Weights(NamedTuple):
    """How much a match in each column of the words index counts."""

    title: float = 1.0
    trail: float = 1.0
    text: float = 1.0
    names: float = 1.0
    tags: float = 1.0
    path: float = 1.0


@dataclass(frozen=True, slots=True)
class Pending:
    """A chunk without a vector, and the digest of the text that is to be encoded for it."""

    key: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk on its way in, with the digest of its text as the encoder will see it.

    `names` are its parts of words (`dowse.text.names`) with those of its title and trail; None leaves it to the store
    to work them out.
    """

    chunk: Chunk
    digest: bytes
    names: str | None = None


class Catalog(Protocol):
    """The truth. Each writing method is one transaction: after a crash it happened, or it did not."""

    def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
        """What is written inside is one transaction: quicker than many, but a crash before its end loses all of it.

        A call in it that raises leaves nothing behind, and the others can go on.
        """
        ...

    def collections(self) -> list[Collection]: ...

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        """The collection of this root, made if there is none: called `name`, or like its last part, or nearly so."""
        ...

    def move_collection(self, name: str, root: str) -> None:
        """The same files lie at another root now; the collection keeps its name, which everything knows it by."""
        ...

    def remove_collection(self, name: str) -> None:
        """One whose records were all dropped, with what was said of those it skipped."""
        ...

    def mark(self, collection: str, *, listed: int, at: float | None) -> None:
        """How many items its source offers, and when a sync of all of them ended (None: it has begun)."""
        ...

    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, Version]:
        """What is known of each path; of those at or below one of `under` only, if given."""
        ...

    def put(
        self,
        record: Record,
        pieces: Sequence[Piece],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str | None = "",
    ) -> None:
        """Replace everything known of the record; chunks whose text and role are unchanged keep key and vector.

        Without a text its lines are not indexed.
        """
        ...

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None: ...

    def drop(self, collection: str, paths: Iterable[str]) -> int: ...

    def skip(self, skipped: Skipped, *, drop: bool = True) -> None:
        """Remember why an item is not indexed; what was indexed of it is dropped, or kept as its last known state."""
        ...

    def unskip(self, collection: str, paths: Iterable[str]) -> None: ...

    def kinds(self) -> frozenset[str]:
        """The kinds of the records that are there."""
        ...

    def skipped(self) -> list[Skipped]: ...

    def faceted(self, name: str) -> list[tuple[str, str, str]]:
        """Collection, path and value of each record that has this facet, ordered by collection and path."""
        ...

    def load(self, keys: Sequence[int]) -> list[Stored]:
        """The chunks that exist of these, in the order asked for."""
        ...

    def places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        """Collection, path and ordinal of each of these chunks that exists."""
        ...

    def kinds_of(self, keys: Sequence[int]) -> dict[int, str]:
        """The kind of the record of each of these chunks that exists."""
        ...

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[Stored]: ...

    def records(self, path: str, collection: str | None = None) -> list[Record]: ...

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        """The records within the scope, newest first; as many as are wanted."""
        ...

    def glances(self, scope: Scope, facets: Sequence[str]) -> list[Glance]:
        """The same with no more than is asked for, where there may be a hundred thousand."""
        ...

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        """The path of a record within the scope and the target of its links of these kinds, each once."""
        ...

    def count(self, scope: Scope) -> int:
        """How many records are within the scope."""
        ...

    def linking(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        """The links to exactly these targets, as they are written, of these kinds (any, if none is named), each with
        the record it is in; newest records first."""
        ...

    def chunks(self, record: Record) -> list[Stored]: ...

    def symbols(self, record: Record) -> list[Symbol]: ...

    def links(self, record: Record) -> list[Link]: ...

    def calls(self, record: Record) -> list[Call]: ...

    def text(self, record: Record) -> str:
        """The whole text as it was indexed; empty where none is kept."""
        ...

    def linked(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        """The records of the scope with their links of these kinds, ordered by collection and path; all of one moment.

        Of a collection where none of them has such a link, none is given.
        """
        ...

    def export(self) -> Iterator[Stored]:
        """Every chunk, ordered by collection, path and ordinal."""
        ...

    def counts(self, scope: Scope = EVERYTHING) -> Counts:
        """How much there is of the records of the scope."""
        ...

    def sizes(self) -> dict[str, int]:
        """How many records each collection has."""
        ...

    def manifest(self) -> Mapping[str, str]: ...

    def note(self, key: str, value: str) -> None: ...

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        """What `make` gave for the records as they are, made anew when this or another process has changed any.

        All threads share it. Vectors and notes may change without it; `make` must not write.
        """
        ...


class Words(Protocol):
    def match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        """The best chunks by BM25, higher is better; never raises for any terms."""
        ...


REVISION = "revision"
"""The manifest's name for a token that no two states of the records share; a store may have none."""

ANSWERING = "encoder"
NEXT = "next_encoder"
"""Under these keys the manifest has the fingerprints of the encoders that made the two vector indexes."""


KEPT = "kept "
"""With the name of a collection behind it, the manifest's key for whether what is gone of it is kept on purpose."""


UNENCODED = ("delta",)
"""The roles of chunks that are found by their own words only: they need no vector, and have none. What a record is
called stands for its other chunks; else a word of a title would find every piece of a long record."""


class Vectors(Protocol):
    """At most two vector indexes: the one that answers, and the next one, filled to take its place.

    `made_by` is the fingerprint of an encoder; without it, whichever answers is meant.
    """

    def begin_vectors(self, fingerprint: str) -> None:
        """Make room for this encoder's vectors: in the next index, or in the one that answers while that holds none.

        The next index of any other encoder is dropped.
        """
        ...

    def switch_vectors(self, made_by: str | None = None) -> bool:
        """Let the next index answer and drop the other, in one transaction.

        False unless every chunk that needs a vector is in it, and it is of this encoder, if one is named.
        """
        ...

    def pending(self, made_by: str | None = None) -> list[Pending]:
        """The chunks that need a vector of this encoder and have none; nothing where it has no index."""
        ...

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, made_by: str | None = None) -> None:
        """Kept for chunks that exist, in the index of this encoder if it has one."""
        ...

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        """The vectors of these chunks in the index that answers, as far as they have one."""
        ...

    def near(self, vector: Vector, scope: Scope, limit: int, made_by: str | None = None) -> list[Scored]:
        """The nearest chunks by cosine; a zero vector is at 0.0 from everything.

        Raises OtherVectors when the index that answers is of another encoder than the vector.
        """
        ...


class Store(Catalog, Words, Vectors, Texts, Definitions, CallFacts, Health, Protocol):
    def writing(self, timeout_s: float, what: str = "indexing") -> AbstractContextManager[None]:
        """Hold the one write lock of this store, or raise IndexBusy after the timeout; `what` tells others what for."""
        ...

    def waited_for(self) -> bool:
        """Whether anybody waits for the write lock; who holds it for long may want to let go of it."""
        ...

    def encoding(self, timeout_s: float) -> AbstractContextManager[None]:
        """Be the one that makes vectors, or raise IndexBusy after the timeout; others may write meanwhile."""
        ...

    def tidy(self, progress: Progress) -> None:
        """After much was written, and inside `writing`: put in order what then makes questions quicker, until somebody
        waits to write. Nothing that comes in its way is a failure of what was written."""
        ...

    def settle(self) -> None:
        """Leave nothing in logs beside the store, so that it can be moved as it is."""
        ...

    def close(self) -> None: ...
