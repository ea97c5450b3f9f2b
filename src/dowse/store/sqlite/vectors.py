"""Vectors of chunks: store, refresh and search."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from dowse.errors import BadInput, EncoderMismatch
from dowse.model import EVERYTHING, Scope, ScoredChunk
from dowse.store.sqlite.damage import HealthState, quarantine
from dowse.store.sqlite.database import VECTORS_SCRIPT, Database, fetch_rows
from dowse.store.sqlite.locks import LockTimeout, file_lock
from dowse.store.sqlite.rows import ENCODED_SQL, to_json
from dowse.store.sqlite.scope import ScopeCompiler
from dowse.store.types import ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY, PendingChunk

if TYPE_CHECKING:
    from dowse.store.sqlite.vector_math import CodedRows, ExactRows, Keys, Matrix, Vector

# --------------------------------------------------------------------------------------------------
# The change log of vectors, so that a cached index needs to read changed vectors only.

VECTOR_LOG_LENGTH = 100_000  # log entries; a process further behind reads everything again
_ENCODER_SQL = f"(SELECT value FROM manifest WHERE key = '{ACTIVE_ENCODER_KEY}')"


class VectorLogPosition(NamedTuple):
    """A point in the history of one index."""

    epoch: int
    token: int


class VectorLogState(NamedTuple):
    """A position and the encoder of the vectors there; the log restarts when the encoder changes."""

    position: VectorLogPosition
    encoder_fingerprint: str | None


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """The current vector of every changed chunk (None: removed), and the position after that."""

    vectors: Mapping[int, bytes | None]
    state: VectorLogState


def trim_vector_log(connection: apsw.Connection) -> None:
    connection.execute(
        "DELETE FROM vector_changes WHERE epoch <= (SELECT max(epoch) FROM vector_changes) - ?", (VECTOR_LOG_LENGTH,)
    )


def latest_vector_state(db: Database) -> VectorLogState:
    """Return the current position; the log is never empty."""
    ((epoch, token, encoder_fingerprint),) = db.rows(
        f"SELECT epoch, token, {_ENCODER_SQL} FROM vector_changes ORDER BY epoch DESC LIMIT 1"
    )
    return VectorLogState(VectorLogPosition(epoch, token), encoder_fingerprint)


def vector_changes_since(db: Database, position: VectorLogPosition) -> VectorChanges | None:
    """Return the changes after a position; None if the log does not, or no longer, contain it."""
    # One statement, so that position, changes and vectors are one snapshot.
    rows = db.rows(
        f"SELECT epoch, token, vector_changes.chunk, vectors.vector, {_ENCODER_SQL} FROM vector_changes "
        "LEFT JOIN vectors ON vectors.chunk = vector_changes.chunk WHERE epoch >= ? ORDER BY epoch",
        (position.epoch,),
    )
    if not rows or VectorLogPosition(*rows[0][:2]) != position:
        return None
    vectors = {key: blob for _, _, key, blob, _ in rows[1:]}
    return VectorChanges(vectors, VectorLogState(VectorLogPosition(*rows[-1][:2]), rows[-1][4]))


# --------------------------------------------------------------------------------------------------
# The vector index of a process: few vectors exactly in memory, many through a sidecar file.

MAX_EXACT_VECTORS = 30_000
"""Number of vectors up to which an exact search is fast enough, and a cold start needs no file."""

_VECTOR_BUILD_TIMEOUT_S = 60.0  # waiting for another process to build
_VECTOR_BUILD_RETRY_S = 300.0  # after a full or read-only disk
_ALL_VECTORS_SQL = "SELECT chunk, vector FROM vectors ORDER BY chunk"


def vector_sidecar_path(index: Path) -> Path:
    return index.with_name(f"{index.name}-vectors")


@dataclass(frozen=True, slots=True)
class _LoadedVectors:
    """Rows and their position in the log. Immutable, so that running queries can keep using them."""

    rows: ExactRows | CodedRows
    state: VectorLogState
    file: int | None = None  # inode of the sidecar they come from, if any


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None


class VectorIndexCache:
    """Applies the commits of any process. The table is authoritative; anything that disagrees with it is rebuilt.

    Queries write nothing: a missing or damaged sidecar is rebuilt by whoever writes to the index.
    """

    def __init__(self, db: Database, exact_up_to: int = MAX_EXACT_VECTORS, damage: HealthState | None = None) -> None:
        self._db = db
        self._health = damage or HealthState()
        self._exact_up_to = exact_up_to
        self._sidecar = vector_sidecar_path(db.path)
        self._lock = threading.Lock()
        self._loaded: _LoadedVectors | None = None
        self._no_build_before = 0.0
        self._sidecar_is_bad = False

    def near(
        self, vector: Vector, allowed: Keys | None, limit: int, encoder_fingerprint: str | None = None
    ) -> list[ScoredChunk]:
        """Return the nearest chunks; raise OtherVectors if another encoder made the query vector."""
        from dowse.store.sqlite.vector_math import VectorsDamaged

        try:
            return self._near(vector, allowed, limit, encoder_fingerprint)
        except VectorsDamaged:
            self._repair()
            return self._near(vector, allowed, limit, encoder_fingerprint)

    def _near(
        self, vector: Vector, allowed: Keys | None, limit: int, encoder_fingerprint: str | None
    ) -> list[ScoredChunk]:

        with self._lock:
            loaded = self._loaded = self._loaded or self._load()
        if encoder_fingerprint is not None and encoder_fingerprint != loaded.state.encoder_fingerprint:
            raise EncoderMismatch(
                f"the index has vectors from {loaded.state.encoder_fingerprint}, not from {encoder_fingerprint}; "
                "repeat the query"
            )
        if not len(loaded.rows) or limit < 1:
            return []
        return loaded.rows.near(vector, allowed, limit)

    def refresh(self) -> bool:
        """Apply all changes of the index, or reload if the log does not cover them."""
        with self._lock:
            updated = self._apply_changes()
            self._loaded = updated if updated and self._is_usable(updated) else self._load()
            return True

    def prepare(self) -> None:
        """Rebuild an outdated sidecar after writing, so that readers do not have to."""
        ((highest,),) = self._db.rows("SELECT max(chunk) FROM vectors")
        # Keys start at one and are never reused, so there are at most as many vectors.
        if (highest or 0) <= self._exact_up_to and not self._sidecar.exists():
            return
        with self._lock:
            if self._sidecar_is_bad:
                quarantine(self._sidecar)
            elif not self._has_many():
                self._drop_sidecar()
            if self._has_many():
                loaded = self._apply_changes()
                good = loaded is not None and self._is_from_sidecar(loaded) and not self._is_outgrown(loaded)
                self._loaded = loaded if good else self._load(writes=True)

    def _apply_changes(self) -> _LoadedVectors | None:
        """Return the cached rows with all changes applied; None if the log does not cover them."""
        loaded = self._loaded
        changes = vector_changes_since(self._db, loaded.state.position) if loaded else None
        return (
            _LoadedVectors(loaded.rows.with_changes(changes.vectors), changes.state, loaded.file)
            if loaded and changes
            else None
        )

    def _is_usable(self, loaded: _LoadedVectors) -> bool:
        """Return whether to keep using these rows; readers tolerate waste until a writer has built a better file."""
        return not self._is_outgrown(loaded) or (self._is_from_sidecar(loaded) and not self._db.is_exclusive)

    def _is_from_sidecar(self, loaded: _LoadedVectors) -> bool:
        """Return whether the rows come from the current sidecar."""
        return loaded.file is not None and loaded.file == _inode(self._sidecar)

    def forget(self) -> None:
        """Drop all copies of vectors that were removed from the table."""
        with self._lock:
            self._loaded = None
            self._drop_sidecar()

    # --- loading ---

    def _load(self, *, writes: bool = False) -> _LoadedVectors:
        """Load from the sidecar if later changes can be applied, else from the table."""
        loaded = None if self._sidecar_is_bad else self._load_sidecar()
        if loaded and not self._is_outgrown(loaded):
            return loaded
        if not self._has_many():
            return self._load_exact()
        built = self._build_sidecar() if writes or self._db.is_exclusive else None
        return built or loaded or self._load_coded()

    def _load_sidecar(self) -> _LoadedVectors | None:
        from dowse.store.sqlite.vector_math import CodedRows, open_vector_sidecar

        inode = _inode(self._sidecar)  # read first: if the file is replaced now, the new one is noticed later
        sidecar = open_vector_sidecar(self._sidecar)
        changes = vector_changes_since(self._db, sidecar.position) if sidecar else None
        if sidecar is None or changes is None:
            return None
        return _LoadedVectors(CodedRows.of(sidecar.block).with_changes(changes.vectors), changes.state, inode)

    def _build_sidecar(self) -> _LoadedVectors | None:
        """Build a new sidecar and load it, unless another process just did; None if it cannot be written."""
        from dowse.store.sqlite.vector_math import write_vector_sidecar

        if time.monotonic() < self._no_build_before:
            return None
        try:
            with file_lock(Path(f"{self._sidecar}.lock"), _VECTOR_BUILD_TIMEOUT_S):
                loaded = self._load_sidecar()
                if loaded is None or self._is_outgrown(loaded):
                    self._quarantine_bad_sidecar()
                    with self._db.snapshot():
                        write_vector_sidecar(
                            self._sidecar, self._db.stream(_ALL_VECTORS_SQL), latest_vector_state(self._db).position
                        )
                    loaded = self._load_sidecar()
                self._sidecar_is_bad = False
                return loaded
        except (OSError, BadInput, LockTimeout):
            self._no_build_before = time.monotonic() + _VECTOR_BUILD_RETRY_S
            return None

    def _quarantine_bad_sidecar(self) -> None:
        """Quarantine an unreadable sidecar; one of another version is simply replaced."""
        from dowse.store.sqlite.vector_math import is_of_another_version, open_vector_sidecar

        readable = open_vector_sidecar(self._sidecar) is not None or is_of_another_version(self._sidecar)
        if self._sidecar.is_file() and not readable:
            quarantine(self._sidecar)

    def _load_coded(self) -> _LoadedVectors:
        from dowse.store.sqlite.vector_math import CodedRows, VectorBlock, read_blocks

        with self._db.snapshot():
            return _LoadedVectors(
                CodedRows.of(VectorBlock.of(read_blocks(self._db.stream(_ALL_VECTORS_SQL)))),
                latest_vector_state(self._db),
            )

    def _load_exact(self) -> _LoadedVectors:
        from dowse.store.sqlite.vector_math import ExactRows

        with self._db.snapshot():
            return _LoadedVectors(ExactRows.of(self._db.stream(_ALL_VECTORS_SQL)), latest_vector_state(self._db))

    def _repair(self) -> None:
        with self._lock:
            self._sidecar_is_bad = True
            self._health.record("sidecars", f"{self._sidecar.name} does not match its checksums")
            self._loaded = self._load_coded()

    def _drop_sidecar(self) -> None:
        """Remove the sidecar. One that cannot be removed does no harm, because it is not used."""
        with suppress(OSError):
            self._sidecar.unlink(missing_ok=True)

    # --- sizes ---

    def _has_many(self) -> bool:
        """Return whether there are too many vectors for exact search; reads no more than needed to know."""
        return bool(self._db.rows("SELECT 1 FROM vectors LIMIT 1 OFFSET ?", (self._exact_up_to,)))

    def _is_outgrown(self, loaded: _LoadedVectors) -> bool:
        from dowse.store.sqlite.vector_math import CodedRows

        rows = loaded.rows
        return rows.wasteful if isinstance(rows, CodedRows) else len(rows) > self._exact_up_to


# --------------------------------------------------------------------------------------------------
# The two vector indexes: which encoders made them, and how the next one replaces the active one.

_INCOMPLETE_SQL = (
    "SELECT 1 FROM chunks LEFT JOIN next_vectors ON next_vectors.chunk = chunks.id "
    f"WHERE next_vectors.chunk IS NULL AND {ENCODED_SQL} LIMIT 1"
)


class EncoderFingerprints(NamedTuple):
    """Encoder fingerprints of the active (`vectors`) and the next index (`next_vectors`)."""

    active: str | None
    next: str | None

    def table_of(self, fingerprint: str | None) -> str | None:
        """Return the table for vectors of this encoder; None if it has no index."""
        if fingerprint is None or fingerprint == self.active:
            return "vectors"
        return "next_vectors" if fingerprint == self.next else None


def read_fingerprints(connection: apsw.Connection) -> EncoderFingerprints:
    rows: dict[str, str] = dict(
        fetch_rows(
            connection, "SELECT key, value FROM manifest WHERE key IN (?, ?)", (ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY)
        )
    )
    return EncoderFingerprints(rows.get(ACTIVE_ENCODER_KEY), rows.get(NEXT_ENCODER_KEY))


def prepare_index(connection: apsw.Connection, fingerprint: str) -> None:
    active, next_fingerprint = read_fingerprints(connection)
    if fingerprint == next_fingerprint:
        return
    connection.execute("DELETE FROM next_vectors")
    connection.execute("DELETE FROM manifest WHERE key = ?", (NEXT_ENCODER_KEY,))
    if fingerprint == active:
        return
    if active is None or not fetch_rows(connection, "SELECT 1 FROM vectors LIMIT 1"):
        _activate(connection, fingerprint)
    else:
        _set_fingerprint(connection, NEXT_ENCODER_KEY, fingerprint)


def switch_index(connection: apsw.Connection, encoder_fingerprint: str | None) -> bool:
    next_fingerprint = read_fingerprints(connection).next
    if (
        next_fingerprint is None
        or encoder_fingerprint not in (None, next_fingerprint)
        or fetch_rows(connection, _INCOMPLETE_SQL)
    ):
        return False
    _activate(connection, next_fingerprint)
    connection.execute("DELETE FROM manifest WHERE key = ?", (NEXT_ENCODER_KEY,))
    return True


def _activate(connection: apsw.Connection, fingerprint: str) -> None:
    """Activate the next index by renaming its table, which takes the same time for any number of vectors."""
    connection.execute("DROP TABLE vectors; ALTER TABLE next_vectors RENAME TO vectors;")
    connection.execute(VECTORS_SCRIPT.read_text(encoding="utf-8"))
    connection.execute("ALTER TABLE next_vectors ADD COLUMN seal INTEGER")
    _set_fingerprint(connection, ACTIVE_ENCODER_KEY, fingerprint)


def _set_fingerprint(connection: apsw.Connection, key: str, fingerprint: str) -> None:
    connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (key, fingerprint))


class SqliteVectors:
    def __init__(self, db: Database, health: HealthState, scopes: ScopeCompiler, exact_up_to: int) -> None:
        self.db = db
        self.cache = VectorIndexCache(db, exact_up_to, health)
        self._health = health
        self._scopes = scopes

    def prepare_vectors(self, fingerprint: str) -> None:
        with self.db.transaction() as connection:
            prepare_index(connection, fingerprint)
            self.db.sign(connection)

    def switch_vectors(self, encoder_fingerprint: str | None = None) -> bool:
        with self.db.transaction() as connection:
            switched = switch_index(connection, encoder_fingerprint)
            self.db.sign(connection)
        if switched:
            self.cache.forget()
        return switched

    def chunks_without_vector(self, encoder_fingerprint: str | None = None) -> list[PendingChunk]:
        table = read_fingerprints(self.db.reader()).table_of(encoder_fingerprint)
        if table is None:
            return []
        rows = self.db.rows(
            f"SELECT chunks.id, chunks.digest FROM chunks LEFT JOIN {table} ON {table}.chunk = chunks.id "
            f"WHERE {table}.chunk IS NULL AND {ENCODED_SQL} ORDER BY chunks.id"
        )
        return [PendingChunk(key, digest) for key, digest in rows]

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, encoder_fingerprint: str | None = None) -> None:
        import numpy as np

        blobs = [row.tobytes() for row in np.asarray(matrix, dtype=np.float16)]
        sealed = [(blob, zlib.crc32(blob), key) for blob, key in zip(blobs, keys, strict=True)]
        with self.db.transaction() as connection:
            table = read_fingerprints(connection).table_of(encoder_fingerprint)
            if table is None:
                return
            trim_vector_log(connection)
            # A chunk may have been replaced while its text was being encoded.
            connection.executemany(
                f"INSERT OR REPLACE INTO {table} (chunk, vector, seal) SELECT id, ?, ? FROM chunks "
                f"WHERE id = ? AND {ENCODED_SQL}",
                sealed,
            )

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        import numpy as np

        rows = self.db.rows(
            "SELECT chunk, vector FROM vectors WHERE chunk IN (SELECT value FROM json_each(?))", (to_json(list(keys)),)
        )
        return {key: np.frombuffer(blob, dtype=np.float16).astype(np.float32) for key, blob in rows}

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        encoder_fingerprint: str | None = None,
        among: Collection[int] | None = None,
    ) -> list[ScoredChunk]:
        with self._health.attribute_to("vectors"):
            return self._near(vector, scope, limit, encoder_fingerprint, among)

    def _near(
        self, vector: Vector, scope: Scope, limit: int, encoder_fingerprint: str | None, among: Collection[int] | None
    ) -> list[ScoredChunk]:
        import numpy as np

        scope = self._scopes.simplify(scope)
        allowed = None if scope == EVERYTHING else self._scopes.cached("keys", scope, lambda: self._keys(scope))
        if among is not None:
            keys = np.fromiter(among, dtype=np.int64, count=len(among))
            allowed = keys if allowed is None else np.intersect1d(keys, allowed)
        self.db.cached_by_revision("vectors", self.cache.refresh)
        return self.cache.near(vector, allowed, limit, encoder_fingerprint)

    def _keys(self, scope: Scope) -> Keys:
        import numpy as np

        return np.array(loads(self._scopes.chunks(scope)), dtype=np.int64)
