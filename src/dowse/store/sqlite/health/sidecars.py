"""Whether the derived files beside an index are sound; whatever is wrong with them is set aside and made anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dowse.errors import IndexDamaged
from dowse.store.health import Finding
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.quick import MEND
from dowse.store.sqlite.lines import lines_of
from dowse.store.sqlite.lines.header import header_of
from dowse.store.sqlite.vectors import sidecar_of


def sidecar_findings(db: Database, *, deep: bool) -> Iterator[Finding]:
    for path, whole in ((sidecar_of(db.path), _whole_vectors), (lines_of(db.path), _whole_lines)):
        if not path.exists():
            continue
        problem = _problem(path) or ("" if not deep or whole(db, path) else "is damaged")
        if problem and _is_of_another_version(path):
            yield Finding("sidecars", "ok", f"{path.name} is of another version; `dowse index` replaces it")
        elif problem:
            yield Finding("sidecars", "problem", f"{path.name} {problem}", MEND)
        else:
            yield Finding("sidecars", "ok", f"{path.name} is {'sound' if deep else 'there'}")


def _is_of_another_version(path: Path) -> bool:
    from dowse.store.sqlite.vectors.sidecar import is_of_another_version

    return is_of_another_version(path)


def _problem(path: Path) -> str:
    if not path.is_file():
        return "is not a file"
    readable = _opened_vectors(path) if path.name.endswith("-vectors") else header_of(path)
    return "" if readable else "is not whole, or of another version"


def _opened_vectors(path: Path) -> object:
    from dowse.store.sqlite.vectors.sidecar import opened  # brings numpy with it

    return opened(path)


def _whole_lines(db: Database, path: Path) -> bool:
    from dowse.store.sqlite.lines.column import Damaged
    from dowse.store.sqlite.lines.sidecar import opened

    sidecar = opened(path)
    if sidecar is None:
        return False
    try:
        for column in sidecar.segment.columns.values():
            column.whole()
    except Damaged:
        return False
    return True


def _whole_vectors(db: Database, path: Path) -> bool:
    """Rows have no checksum in the file: they are compared with the table, as far as they did not change since."""
    from dowse.store.sqlite.vectors.changes import since
    from dowse.store.sqlite.vectors.coded import CodedRows, parts_of
    from dowse.store.sqlite.vectors.sidecar import opened

    sidecar = opened(path)
    if sidecar is None:
        return False
    with db.moment():
        changes = since(db, sidecar.position)
        if changes is None:
            return True  # of another time: nobody takes it for this one
        rows = CodedRows.of(sidecar.block).changed(changes.vectors)
        table = db.stream("SELECT chunk, vector FROM vectors ORDER BY chunk")
        try:
            return all(rows.agrees(part) for part in parts_of(table))
        except IndexDamaged:
            return False
