"""The way from the folder of memories to a file below it: opened part by part, so that no link leads out of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dowse.errors import BadInput
from dowse.memories.lock import open_folder
from dowse.memories.names import MAX_PARTS, SUFFIXES


@contextmanager
def holding(folder: int, path: str) -> Iterator[tuple[int, str]]:
    """The directory that holds the file, opened, and the file's name in it; FileNotFoundError where there is none."""
    *above, name = path.split("/")
    place = os.dup(folder)
    try:
        for part in above:
            place = _entered(place, part)
        yield place, name
    finally:
        os.close(place)


def lead_to(folder: int, path: str, mode: int) -> None:
    """Make the directories that are to hold the file, as far as they are not there."""
    place = os.dup(folder)
    try:
        for part in path.split("/")[:-1]:
            with suppress(FileExistsError):
                os.mkdir(part, mode, dir_fd=place)
                os.fsync(place)
            place = _entered(place, part)
    finally:
        os.close(place)


def notes_below(folder: int) -> list[str]:
    """The paths of all notes that a name may mean."""
    found: list[str] = []
    for place, folders, names, _ in os.fwalk(".", dir_fd=folder):
        # No name leads further down than that, and a tree that somebody made may be deeper than we can follow.
        is_deepest = place.count("/") + 1 >= MAX_PARTS
        folders[:] = [] if is_deepest else [it for it in folders if not it.startswith(".")]
        found += [f"{place}/{it}".removeprefix("./") for it in names if it.lower().endswith(SUFFIXES)]
    return sorted(found)


def opened_in(place: int, part: str) -> int:
    """The directory of this name."""
    try:
        return open_folder(part, place)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise BadInput(f"{part} is no directory of its own, and links are not followed; move it away") from None
        raise


def _entered(place: int, part: str) -> int:
    """The directory of this name, opened in exchange for the one it is in."""
    inside = opened_in(place, part)
    os.close(place)
    return inside
