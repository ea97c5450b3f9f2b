"""Lines that are not committed, kept by file until it or the repository changes: many memories may ask about one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.ingest.sources.git.refs import token_of

if TYPE_CHECKING:
    from dowse.ingest.sources.git.work_tree.uncommitted import Spans

_MOST_FILES: Final = 1_000

_Stamp = tuple[int, int, int, int]
_State = tuple[str | None, tuple[_Stamp | None, ...]]


class Edits:
    """Safe to use from several threads: at worst two work out the same."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_State, Spans]] = {}

    def of(self, place: Path) -> Spans:
        """Those of the file in its work tree that the last commit has not; all of a file that only one of them has."""
        from dowse.ingest.sources.git.asking import spellings
        from dowse.ingest.sources.git.work_tree.checkout import checkout_at
        from dowse.ingest.sources.git.work_tree.uncommitted import edited_lines

        checkout = checkout_at(place.parent)
        if checkout is None or checkout.top is None:
            return ()
        path = place.relative_to(checkout.top).as_posix()
        # Taken before anything is read, so that what changes meanwhile is found the next time.
        stamps = tuple(_stamp(checkout.top / it) for it in spellings([path]))
        state = token_of(str(checkout.common)), stamps
        held = self._known.get(place)
        if held is None or held[0] != state:
            held = state, edited_lines(checkout, path)
            self._keep(place, held)
        return held[1]

    def _keep(self, place: Path, held: tuple[_State, Spans]) -> None:
        if len(self._known) >= _MOST_FILES:
            self._known.clear()
        self._known[place] = held


def _stamp(place: Path) -> _Stamp | None:
    try:
        status = place.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
