"""The full-text index lies in segments, each of what was written at once: few of them are searched sooner than many."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from dowse.store.health import Progress
from dowse.store.sqlite.database import Database

_STAGE = "merging words"
_PAGES = 500  # merged in one transaction: a twentieth of a second, which others who write can wait for
_MANY = 2_000  # chunks: fewer leave no segments that could be felt
_SHARE = 0.2  # of all chunks: then to merge them takes little beside the writing


_NOTHING = 1  # change: the command itself


def is_due(written: int, chunks: Callable[[], int]) -> bool:
    """Whether after so many chunks were written it is time to merge."""
    return written >= _MANY and written >= _SHARE * chunks()


def merge(db: Database, goes_on: Callable[[], bool], progress: Progress) -> bool:
    """Whether it came to its end: one segment is left."""
    ((total,),) = db.rows("SELECT count(*) FROM words_data")
    pages = -_PAGES  # below zero: all segments, whatever they are like
    for step in count():
        progress(_STAGE, min(step * _PAGES, total), total)
        if not goes_on():
            return False
        with db.transaction() as connection:
            before = connection.total_changes()
            connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
            if connection.total_changes() - before <= _NOTHING:
                break
        pages = _PAGES
    progress(_STAGE, total, total)
    return True
