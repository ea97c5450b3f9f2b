"""How git is asked for a few paths of a work tree, so that it answers as it would for all of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

# More than these take git longer than a listing of everything, or do not fit a command line.
_MOST: Final = 200
_MOST_BYTES: Final = 60_000


def pathspecs(directory: str, places: Iterable[str]) -> list[str] | None:
    """Paths below the (absolute) directory as literal pathspecs; None where all of it had better be listed."""
    asked = sorted({_within_reach(directory, place) for place in places})
    too_long = sum(len(os.fsencode(place)) + 1 for place in asked) > _MOST_BYTES
    return None if len(asked) > _MOST or too_long else asked


def _within_reach(directory: str, place: str) -> str:
    """As far down as git looks by itself: it refuses paths beyond a link, and of a nested repository it tells the name
    only."""
    reached = directory
    parts = place.split("/")
    for count, part in enumerate(parts, 1):
        reached = f"{reached}/{part}"
        if not _is_directory(reached) or os.path.lexists(f"{reached}/.git"):
            return "/".join(parts[:count])
    return place


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
