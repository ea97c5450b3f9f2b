"""The full-text index lies in segments, each of what was written at once: few of them are searched sooner than many."""

from __future__ import annotations

from collections.abc import Callable

from dowse.store.sqlite.database import Database

_PAGES = 500  # merged in one transaction: a twentieth of a second, which others who write can wait for
_MANY = 2_000  # chunks: fewer leave no segments that could be felt
_SHARE = 0.2  # of all chunks: then to merge them takes little beside the writing


_NOTHING = 1  # change: the command itself


def is_due(written: int, chunks: Callable[[], int]) -> bool:
    """Whether after so many chunks were written it is time to merge."""
    return written >= _MANY and written >= _SHARE * chunks()


def merge(db: Database, goes_on: Callable[[], bool]) -> bool:
    """Whether it came to its end: one segment is left."""
    pages = -_PAGES  # below zero: all segments, whatever they are like
    while goes_on():
        with db.transaction() as connection:
            before = connection.total_changes()
            connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
            if connection.total_changes() - before <= _NOTHING:
                return True
        pages = _PAGES
    return False
