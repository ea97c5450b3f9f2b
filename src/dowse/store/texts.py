"""What a backend must offer of lines: how they are asked for, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dowse.model import EVERYTHING, Scope
from dowse.text.folding import WordTest
from dowse.text.regexes import Clause


@dataclass(frozen=True, slots=True)
class InWords:
    """Lines with a word that passes the test. Each such word counts by itself: its lines / words of the file × ln(files
    / files with it)."""

    test: WordTest


@dataclass(frozen=True, slots=True)
class InLine:
    """Lines that a regex matches. Whoever keeps the words of lines need not read those that fail one of `clauses`."""

    pattern: str
    case_sensitive: bool = False
    clauses: tuple[Clause, ...] = ()


@dataclass(frozen=True, slots=True)
class InARow:
    """These words with nothing but blanks and line ends between them; found in the line of the first one. They are
    folded, unless case counts."""

    words: tuple[str, ...]
    case_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class LineQuery:
    """`every`: only files in which each of the terms is found. `counted`: files score by their lines instead of by how
    rare the terms are. `wanted` decides by path; a `limit` of 0 is none. After `deadline_s` what was found is given."""

    terms: tuple[InWords | InLine | InARow, ...]
    every: bool = False
    counted: bool = False
    scope: Scope = EVERYTHING
    wanted: Callable[[str], bool] | None = None
    limit: int = 50
    deadline_s: float = 5.0


class FileLines(NamedTuple):
    """A file with lines that match, from 1. `score` is TF-IDF: the sum over what matched of occurrences / words of the
    file × ln(files / files with it), a line counting once a word; for phrases and regexes the number of lines."""

    collection: str
    path: str
    score: float
    lines: tuple[int, ...]
    occurrences: int
    terms_matched: int


@dataclass(frozen=True, slots=True)
class FoundLines:
    """The best files, by score and path; totals count all of them. `words` are those that passed a test other than
    `is`, the first thousand of them. `cut` says why not everything was looked at, if so."""

    files: tuple[FileLines, ...] = ()
    total_files: int = 0
    total_occurrences: int = 0
    words: tuple[str, ...] = ()
    index_files: int = 0
    index_words: int = 0
    cut: str = ""


WORDS_NAMED = 1_000
SCORE_DIGITS = 9  # beyond them scores differ by the order of their sums, and files would not tie


class Texts(Protocol):
    def find_lines(self, query: LineQuery) -> FoundLines:
        """Raises BadInput for a pattern that can not be matched in bounded time."""
        ...

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        """The lines of each span, first and last from 1, as far as the file has them."""
        ...
