"""Whether this user's Dowse made an index: a signature of its schema and its roots, with a key outside of every root.

An index may come with a repository. It would choose its own roots, bring triggers, and be served like the user's own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from dowse.errors import BadInput, IndexDamaged, IndexForeign
from dowse.places import Places

_SIGNATURE: Final = "signature"  # its key in the manifest
_KEY_BYTES: Final = 32
_NAME_DIGITS: Final = 16
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
_ROOTS: Final = "SELECT name, root, source FROM collections ORDER BY id"
_COPIES: Final = (  # each collection is kept twice
    "SELECT substr(twin, 1, instr(twin, char(31)) - 1), substr(twin, instr(twin, char(31)) + 1), source "
    "FROM collections ORDER BY id"
)
_OLD_ROOTS: Final = "SELECT name, root, 'files' FROM collections ORDER BY id"  # before version 5, all were of files
_READ: Final = ("manifest", "collections")

Rows = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs and checks indexes. Those below `own` are the user's own, even if an older Dowse did not sign them."""

    key_file: Path
    own: Path

    @classmethod
    def of(cls, places: Places) -> Signer:
        return cls(places.data_dir / "key", places.indexes)

    def check(self, connection: apsw.Connection, index: Path, scripts: Sequence[Path]) -> None:
        """Raises IndexForeign for an index that this user's Dowse did not make, and IndexDamaged for one that it made
        and something else changed. The scripts make the schema of an index of this version."""
        schema, key = _rows(connection, _SCHEMA), self._key()
        signature = _signature_in(connection, schema)
        if signature.is_by(key):
            if signature != _signature(key, _version(connection), schema, _roots(connection, _ROOTS)):
                raise IndexDamaged(
                    f"{index} is not as Dowse left it: its tables or its roots changed; `dowse rebuild` makes it anew"
                )
        elif not self._is_own(index):
            raise IndexForeign(
                f"{index} was not made by your Dowse, so it is not read; `dowse rebuild --index {index}` makes a new "
                "one from the files and sets this one aside"
            )
        elif [row[:3] for row in schema] != _made_by(scripts):
            raise IndexDamaged(f"{index} has not the tables of an index; `dowse rebuild` makes it anew")

    def made(self, connection: apsw.Connection, version: int) -> bool:
        """Whether it was signed as an index of this version, whatever its header says."""
        schema, key = _rows(connection, _SCHEMA), self._key()
        signature = _signature_in(connection, schema)
        return signature.is_by(key) and signature.schema == _code(key, [(version,), *schema])

    def trusted_roots(self, connection: apsw.Connection, index: Path) -> Rows:
        """Name, root and source of each collection, also of a damaged index: from the copy that was signed."""
        signature, key = _signature_in(connection, _rows(connection, _SCHEMA)), self._key()
        if signature.is_by(key):
            copies = (_roots(connection, statement) for statement in (_ROOTS, _COPIES))
            return next((it for it in copies if signature.roots == _code(key, it)), [])
        if not self._is_own(index):
            return []
        return _roots(connection, _ROOTS) or _roots(connection, _OLD_ROOTS)

    def sign(self, connection: apsw.Connection) -> None:
        """In the transaction that has changed the schema or the collections."""
        key, schema = self._key() or self._new_key(), _rows(connection, _SCHEMA)
        signature = _signature(key, _version(connection), schema, _rows(connection, _ROOTS))
        if _signature_in(connection, schema) != signature:
            values = _SIGNATURE, ":".join(signature)
            connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", values)

    def _is_own(self, index: Path) -> bool:
        return self.own.resolve() in index.resolve().parents

    def _key(self) -> bytes:
        """Empty where there is none, or none that can be read."""
        try:
            file = os.open(self.key_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            key = os.read(file, _KEY_BYTES)
        except OSError:
            return b""
        finally:
            os.close(file)
        return key if len(key) == _KEY_BYTES else b""

    def _new_key(self) -> bytes:
        """Written whole, then given its name: of several processes that make one, the first one's stays."""
        aside = self.key_file.with_name(f".key.{os.urandom(8).hex()}")
        try:
            self.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(os.urandom(_KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(aside, self.key_file)
        except OSError as error:
            raise BadInput(
                f"cannot write {self.key_file}, the key that signs indexes: {error.strerror}; "
                "name a directory for it with --data-dir"
            ) from error
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        if not (key := self._key()):
            raise BadInput(f"{self.key_file} is not a key; remove it, and the next command makes a new one")
        return key


class _Signature(NamedTuple):
    """Of nobody, where it is empty. Roots have a code of their own: they are known even if a table is lost."""

    signed_by: str = ""
    schema: str = ""
    roots: str = ""

    def is_by(self, key: bytes) -> bool:
        return bool(key) and self.signed_by == _name_of(key)


def _signature(key: bytes, version: int, schema: Rows, roots: Rows) -> _Signature:
    return _Signature(_name_of(key), _code(key, [(version,), *schema]), _code(key, roots))


def _version(connection: apsw.Connection) -> int:
    return int(str(_rows(connection, "PRAGMA user_version")[0][0]))


def _signature_in(connection: apsw.Connection, schema: Rows) -> _Signature:
    """For this, nothing but two plain tables is ever read of an unknown file."""
    tables = {row[1]: str(row[3]) for row in schema if row[0] == "table"}
    if not all(tables.get(name, "").startswith("CREATE TABLE ") for name in _READ):
        return _Signature()
    try:
        rows = _rows(connection, "SELECT value FROM manifest WHERE key = ?", _SIGNATURE)
    except apsw.SQLError:
        return _Signature()
    parts = str(rows[0][0]).split(":") if rows else []
    return _Signature(*parts) if len(parts) == len(_Signature._fields) else _Signature()


def _roots(connection: apsw.Connection, statement: str) -> Rows:
    try:
        return _rows(connection, statement)
    except apsw.SQLError:
        return []  # there are no such columns: no signature is of that


def _rows(connection: apsw.Connection, statement: str, *values: object) -> Rows:
    return connection.execute(statement, values).fetchall()


def _name_of(key: bytes) -> str:
    """By which a signature says whose it is; nothing of the key can be told from it."""
    return hashlib.blake2b(b"name", key=key).hexdigest()[:_NAME_DIGITS]


def _code(key: bytes, rows: Rows) -> str:
    signed = json.dumps(rows, default=str).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(signed, key=key, digest_size=_KEY_BYTES).hexdigest()


def _made_by(scripts: Sequence[Path]) -> Rows:
    """Kind, name and table of whatever these scripts make."""
    connection = apsw.Connection(":memory:")
    try:
        for script in scripts:
            connection.execute(script.read_text(encoding="utf-8"))
        return [row[:3] for row in _rows(connection, _SCHEMA)]
    finally:
        connection.close()
