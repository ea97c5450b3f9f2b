"""What can be asked of lines, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dowse.model import EVERYTHING, NOT_LOOKED, Scope, Seen
from dowse.store.texts import FileLines

__all__ = ["Excerpt", "FileLines", "GrepAnswer", "Lines", "Manner"]

Manner = Literal["word", "substring", "word-regex", "phrase", "regex"]
"""word: a whole word; substring: part of a word or of a line; word-regex: a regex that a whole word matches;
phrase: words in a row, however they are spaced, also across lines; regex: of a line, as ripgrep would."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Which lines are wanted. `every`: only files in which each of the terms is found. `wanted` decides by path, after
    the scope. Case does not count unless `case_sensitive`, which only `regex`, `substring` and `phrase` can be."""

    terms: tuple[str, ...]
    manner: Manner = "word"
    every: bool = False
    case_sensitive: bool = False
    scope: Scope = EVERYTHING
    wanted: Callable[[str], bool] | None = None
    limit: int = 50  # files; 0 is all of them
    deadline_s: float = 5.0


@dataclass(frozen=True, slots=True)
class GrepAnswer:
    """The best files; totals count all of them. `searched` are the terms as they were looked up, `words` those of the
    index that matched a substring or a word-regex, at most a thousand. `cut` says why not everything was looked at,
    if so."""

    files: tuple[FileLines, ...]
    total_files: int
    total_occurrences: int
    searched: tuple[str, ...]
    words: tuple[str, ...]
    index_files: int
    index_words: int
    cut: str = ""
    seen: Seen = NOT_LOOKED


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring lines of a file; `matches` are indexes into `lines`."""

    start_line: int
    lines: tuple[str, ...]
    matches: tuple[int, ...]
