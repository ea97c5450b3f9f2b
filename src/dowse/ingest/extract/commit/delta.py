"""The text of a diff taken apart: the hunks of each file, without a look at what its lines say."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dowse.text.surrogates import unquoted

_FILE = re.compile(r"\ndiff --(?:git|cc|combined) ")  # a literal is found faster than the beginning of any line
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@ ?(.*)\n?", re.MULTILINE)
_MAX_HEADING_CHARS: Final = 200  # git itself shows fewer
_NOTHING: Final = "/dev/null"


@dataclass(frozen=True, slots=True)
class Hunk:
    """`line` is where it begins in the new file, `heading` the definition git says it stands in."""

    line: int
    heading: str
    lines: Sequence[str]

    @property
    def first_changed(self) -> int:
        """The line in the new file at which it changes something."""
        line = self.line
        for text in self.lines:
            if text[:1] in ("+", "-"):
                break
            line += 1
        return max(line, 1)


@dataclass(frozen=True, slots=True)
class FileDelta:
    path: str
    hunks: Sequence[Hunk]

    @property
    def first_line(self) -> int:
        return self.hunks[0].first_changed


def file_deltas(delta: str, paths: Container[str]) -> Iterator[FileDelta]:
    """Of the files at these paths, those whose lines were changed; a merge shown beside all its parents has none."""
    for section in _FILE.split("\n" + delta)[1:]:
        found = _HUNK.search(section)
        path = _path(section[: found.start()]) if found else ""
        if found and path in paths:
            yield FileDelta(path, list(_hunks(section, found)))


def _hunks(section: str, found: re.Match[str] | None) -> Iterator[Hunk]:
    while found:
        following = _HUNK.search(section, found.end())
        text = section[found.end() : following.start() if following else len(section)]
        yield Hunk(int(found[1]), found[2][:_MAX_HEADING_CHARS].rstrip(), text.removesuffix("\n").split("\n"))
        found = following


def _path(header: str) -> str:
    """Of the new file, or of the old one where that was deleted."""
    names = {line[:4]: line[4:].removesuffix("\t") for line in header.split("\n") if line[:4] in ("--- ", "+++ ")}
    path = names.get("+++ ", "")
    path = unquoted(names.get("--- ", "") if path == _NOTHING else path)
    return path.partition("/")[2]  # behind the `a/` or `b/`
