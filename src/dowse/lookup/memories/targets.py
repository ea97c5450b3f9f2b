"""What a memory speaks of: whether the target of a link and a file somebody asks about are the same."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dowse.text.anchors import COMMIT
from dowse.text.memory_names import MEMORY

_Matches = Callable[[str, str], bool]

_LINES = re.compile(r":\d{1,9}(?:[:-]\d{0,9})?\Z")
_LINE_PART = re.compile(r"L\d{1,9}(?:-L?\d{1,9})?\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """A path as written, brought into one form. A place without suffix may mean any; a bare name, any folder.

    `root` is the one it was written with, if so; `part` the name behind `#`. Lines are no part: they move.
    """

    path: str
    root: str = ""
    part: str = ""

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
        if self.root and other.root and self.root != other.root:
            return False
        if self.suffix and other.suffix:
            return self.path == other.path
        return self.stem == other.stem

    def last(self) -> Place:
        return Place(posixpath.basename(self.path))

    def is_said_by(self, written: Place) -> bool:
        """Whether a link means it that is written so: a wiki name is a bare one, without a suffix."""
        is_name = written.is_bare and not written.suffix
        return self.alike(written) or (is_name and self.last().alike(written.last()))


def place_of(target: str, roots: Sequence[str], here: str = "") -> Place:
    """Without the root before it and the `#symbol` or `:LINE` behind it; `here` is the directory that `../` leads out
    of. Nothing on disk is looked at."""
    path, _, part = target.strip().replace("\\", "/").partition("#")
    text = path.strip() if path.lower().startswith((COMMIT, MEMORY)) else _LINES.sub("", path.strip())
    text = posixpath.normpath(text or ".")
    if here and text.startswith("../"):
        text = posixpath.normpath(f"{here}/{text}")
    part = "" if _LINE_PART.match(part.strip()) else part.strip()
    for root in sorted(roots, key=len, reverse=True):  # of roots in each other, a file is of the inner one
        base = root.replace("\\", "/").rstrip("/")
        if text.startswith(f"{base}/"):
            return Place(text[len(base) + 1 :], root, part)
    return Place(text, "", part)


def means(asked: str, roots: Sequence[str]) -> _Matches:
    """A predicate that is true for the targets of links to the file that is asked about; where a link stands, the
    directory, is what it counts from."""
    wanted = place_of(asked, roots)
    name = wanted.last().stem

    def is_meant(target: str, here: str = "") -> bool:
        if name not in target:  # most are told apart by that, without taking them to pieces
            return False
        written = place_of(target, roots, here)
        # Somebody who asks for a bare name means it in any folder.
        return wanted.is_said_by(written) or (wanted.is_bare and wanted.last().alike(written.last()))

    return is_meant


def directory_of(root: str, path: str) -> str:
    """Where the links of a memory count from: the directory it lies in."""
    base = root.replace("\\", "/").rstrip("/")
    return posixpath.dirname(f"{base}/{path}")
