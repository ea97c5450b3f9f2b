"""The health of an index as its store tells and mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import apsw

from dowse.errors import IndexDamaged
from dowse.store.health import Finding, Lost, Progress
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.chunks import delete_chunks
from dowse.store.sqlite.database import fetch
from dowse.store.sqlite.health.mending import ANEW, unfinished
from dowse.store.sqlite.lines import HeldLines
from dowse.store.sqlite.vectors import HeldVectors

_MENDED = "mended"
_PROBE_S = 5.0
_HOMELESS = (
    "SELECT id FROM records WHERE id NOT IN (SELECT record FROM texts) "
    "OR collection NOT IN (SELECT id FROM collections)"
)
_WHOSE = (
    "SELECT collections.name, records.path FROM records LEFT JOIN collections ON collections.id = records.collection "
    "WHERE records.id = ?"
)


class SqliteHealth(SqliteCatalog):
    _held: HeldVectors
    _lines: HeldLines

    def damaged(self) -> Mapping[str, str]:
        if self.db.damage and not self._damage.found():
            self._damage.note("catalog", self.db.damage)  # whoever met it knew of no part that it is of
        self.db.damage = ""
        if self.db.is_closed:
            return self._damage.found()
        try:
            token = self.manifest().get(_MENDED, "")
            mending = self.db.remembered("mending parts", lambda: unfinished(self.db.reader()))
        except IndexDamaged as error:
            return {**self._damage.found(), "catalog": str(error)}
        # What this process has found may have been mended by another one since.
        return dict.fromkeys(mending, ANEW) | self._damage.found(token)

    def probe(self) -> None:
        found = self.check(deep=False, progress=lambda stage, done, total: None)
        try:
            from dowse.store.sqlite.health.deep import page_findings

            found += page_findings(self.db, _PROBE_S)
        except IndexDamaged as error:
            found.append(Finding("catalog", "problem", str(error.__cause__ or error)))
        for it in found:
            if it.state == "problem":
                self._damage.note(it.part, it.text)

    def check(self, *, deep: bool, progress: Progress) -> list[Finding]:
        found: list[Finding] = []
        try:
            found.extend(self._findings(deep, progress))
        except (IndexDamaged, apsw.CorruptError, apsw.SQLError) as error:
            reason = error.__cause__ or error
            found.append(Finding("catalog", "problem", f"the file can not be read ({reason})", "dowse doctor --fix"))
        return found

    def _findings(self, deep: bool, progress: Progress) -> Iterator[Finding]:
        from dowse.store.sqlite.health.deep import deep_findings
        from dowse.store.sqlite.health.quick import quick_findings
        from dowse.store.sqlite.health.sidecars import sidecar_findings

        yield from quick_findings(self.db)
        if deep:
            yield from deep_findings(self.db, progress)
        yield from sidecar_findings(self.db, deep=deep)

    def begin_mending(self, parts: Iterable[str], available: Iterable[str], progress: Progress) -> list[Lost]:
        from dowse.store.sqlite.health import mend

        wanted = frozenset(parts)
        if "catalog" in wanted:
            raise IndexDamaged(f"{self.db.path} can not be mended in its place; `dowse rebuild` makes it anew")
        lost: list[Lost] = []
        if "records" in wanted:
            mend.renew_indexes(self.db)
            lost = self._drop_unsound(frozenset(available), progress)
        if "words" in wanted:
            mend.empty_words(self.db)
        if wanted & {"names", "records"}:
            mend.renew_names(self.db)
        if "vectors" in wanted:
            mend.drop_vectors(self.db)
        if wanted & {"vectors", "sidecars"}:
            self._held.forget()
            self._lines.forget()
        return lost

    def finish_mending(self, progress: Progress) -> None:
        from dowse.store.sqlite.health.mend import fill_words

        fill_words(self.db, progress)
        with self.db.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO manifest (key, value) VALUES (?, hex(randomblob(8)))", (_MENDED,)
            )

    def _drop_unsound(self, available: frozenset[str], progress: Progress) -> list[Lost]:
        """Of collections that can be read again; what is damaged of the others is better than nothing."""
        from dowse.store.sqlite.health.unsound import unsound_records

        keys = {*unsound_records(self.db, progress), *(key for (key,) in self.db.rows(_HOMELESS))}
        lost: list[Lost] = []
        for key in sorted(keys):
            with self.batch() as connection:
                collection, path = _whose(connection, key)
                if collection is None or collection in available:
                    self._forget_record(connection, key)
                    lost.append(Lost(collection or "", path))
        with self.batch() as connection:
            self._drop_orphans(connection)
        return lost

    def _drop_orphans(self, connection: apsw.Connection) -> None:
        chunks = fetch(connection, "SELECT id FROM chunks WHERE record NOT IN (SELECT id FROM records)")
        delete_chunks(connection, self._late_words, [key for (key,) in chunks])
        for table in ("texts", "symbols", "traits", "links", "calls"):
            connection.execute(f"DELETE FROM {table} WHERE record NOT IN (SELECT id FROM records)")
        for table in ("vectors", "next_vectors"):
            connection.execute(f"DELETE FROM {table} WHERE chunk NOT IN (SELECT id FROM chunks)")


def _whose(connection: apsw.Connection, key: int) -> tuple[str | None, str]:
    """Collection and path, as far as they can be read."""
    try:
        ((collection, path),) = fetch(connection, _WHOSE, (key,))
    except UnicodeDecodeError:
        return None, "a record whose path can not be read"
    return collection, path
