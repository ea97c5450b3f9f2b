"""Parts of an index made anew from the catalog, in transactions that are small enough for the log."""

from __future__ import annotations

from dowse.store.base import ANSWERING, NEXT
from dowse.store.health import Progress
from dowse.store.sqlite.database import VECTORS, Database, fetch
from dowse.store.sqlite.health.mending import WORDS, finished, note, unfinished

_AT_ONCE = 2_000
_COLUMNS = "title, trail, text, names, tags, path"
_FILL = f"INSERT INTO words (rowid, {_COLUMNS}) SELECT id, {_COLUMNS} FROM chunks WHERE id > ? AND id <= ?"
_NEXT = "SELECT max(id), count(*) FROM (SELECT id FROM chunks WHERE id > ? ORDER BY id LIMIT ?)"


def empty_words(db: Database) -> None:
    """From here on searches do without the words, until they are all there again."""
    with db.transaction() as connection:
        note(connection, WORDS)
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")


def fill_words(db: Database, progress: Progress, at_once: int = _AT_ONCE) -> None:
    """What is missing of an index that was emptied; it goes on from where a kill has stopped it."""
    with db.transaction() as connection:
        so_far = unfinished(connection).get(WORDS)
        if so_far is None:
            return
        if not so_far:
            connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        ((total,),) = fetch(connection, "SELECT count(*) FROM chunks")
        last = int(so_far or 0)
        ((done,),) = fetch(connection, "SELECT count(*) FROM chunks WHERE id <= ?", (last,))
    while (step := _fill(db, last, at_once)) is not None:
        last, done = step[0], done + step[1]
        progress("filling the words index", done, total)
        db.checkpoint("PASSIVE")


def _fill(db: Database, last: int, at_once: int) -> tuple[int, int] | None:
    """The next chunks into the index: the last one and how many; None when all of them are there."""
    with db.transaction() as connection:
        ((until, count),) = fetch(connection, _NEXT, (last, at_once))
        if not count:
            finished(connection, WORDS)
            return None
        connection.execute(_FILL, (last, until))
        note(connection, WORDS, str(until))
        return until, count


def renew_names(db: Database) -> None:
    """Every name that symbols bear, once, and their trigrams; in one transaction, because they are few."""
    with db.transaction() as connection:
        connection.execute("INSERT INTO symbol_grams (symbol_grams) VALUES ('delete-all')")
        connection.execute("DELETE FROM symbol_names")
        connection.execute("INSERT INTO symbol_names (name) SELECT DISTINCT folded FROM symbols ORDER BY folded")
        connection.execute("INSERT INTO symbol_grams (rowid, name) SELECT id, name FROM symbol_names")


def drop_vectors(db: Database) -> None:
    """Both indexes of vectors, with who made them: they are encoded again, or come from the shared cache."""
    with db.transaction() as connection:
        connection.execute("DROP TABLE vectors; DROP TABLE next_vectors")
        connection.execute("DELETE FROM manifest WHERE key IN (?, ?)", (ANSWERING, NEXT))
        connection.execute(
            "CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks (id), vector BLOB NOT NULL)"
        )
        connection.execute(VECTORS.read_text(encoding="utf-8"))
        for table in ("vectors", "next_vectors"):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN seal INTEGER")
        db.sign(connection)


def renew_indexes(db: Database) -> None:
    """SQLite's own indexes, each in a transaction of its own: what they hold is in the tables."""
    names = db.rows("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
    for (name,) in names:
        with db.transaction() as connection:
            connection.execute(f'REINDEX "{name}"')
        db.checkpoint("PASSIVE")
