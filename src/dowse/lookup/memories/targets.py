"""What a memory speaks of: whether the target of a link and a file somebody asks about are the same."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_Matches = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Place:
    """A path as written, brought into one form. A place without suffix may mean any; a bare name, any folder."""

    path: str

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.path)[1]

    @property
    def stem(self) -> str:
        return posixpath.splitext(self.path)[0]

    @property
    def is_bare(self) -> bool:
        return "/" not in self.path

    def alike(self, other: Place) -> bool:
        """Whether they are written alike, but for a suffix that one of them has not."""
        if self.suffix and other.suffix:
            return self.path == other.path
        return self.stem == other.stem

    def last(self) -> Place:
        return Place(posixpath.basename(self.path))


def place_of(target: str, roots: Sequence[str]) -> Place:
    """Without the root before it and the `#symbol` behind it; nothing else on disk is looked at."""
    text = posixpath.normpath(target.strip().replace("\\", "/").partition("#")[0].strip() or ".")
    for root in roots:
        base = root.replace("\\", "/").rstrip("/")
        if text.startswith(f"{base}/"):
            return Place(text[len(base) + 1 :])
    return Place(text)


def means(asked: str, roots: Sequence[str]) -> _Matches:
    """A predicate that is true for the targets of links to the file that is asked about."""
    wanted = place_of(asked, roots)
    name = wanted.last().stem

    def is_meant(target: str) -> bool:
        if name not in target:  # most are told apart by that, without taking them to pieces
            return False
        written = place_of(target, roots)
        if wanted.alike(written):
            return True
        # Somebody who asks for a bare name means it in any folder; a link is a wiki name only without a suffix.
        loose = wanted.is_bare or (written.is_bare and not written.suffix)
        return loose and wanted.last().alike(written.last())

    return is_meant
