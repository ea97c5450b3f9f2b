"""Find files and directories by name, glob, content or fuzzy match."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from dowse.errors import BadInput
from dowse.model import FRESHNESS_UNKNOWN, DiskFreshness
from dowse.store.view import StoreView
from dowse.text.globs import compile_globs
from dowse.text.regex import SUBSTRING, compile_regex_predicate, line_predicate, lines_matching_regex, match_quality

# --------------------------------------------------------------------------------------------------
# Fuzzy path scores: consecutive letters and letters at word starts count more.

MAX_LETTERS = 100

_LETTER_SCORE = 1
_CONSECUTIVE_BONUS = 8
_WORD_START_BONUS = 6
_FILE_NAME_BONUS = 20  # bonus if the file name contains all letters
_SEPARATORS = frozenset("/._- ")


def fuzzy_letters(text: str) -> str:
    """Return the typed letters in lower case, without whitespace."""
    letters = "".join(text.lower().split())
    if len(letters) > MAX_LETTERS:
        raise BadInput(f"{len(letters):,} letters are too many for a fuzzy search; use at most {MAX_LETTERS}")
    return letters


def fuzzy_regex(letters: str) -> str:
    return ".*".join(map(re.escape, letters))


def fuzzy_score(path: str, letters: str) -> int | None:
    """Return the score, higher is better, or None if the letters do not occur in this order."""
    name = path.rpartition("/")[2]
    in_name = _positions(name.lower(), letters)
    if in_name is not None:
        return _FILE_NAME_BONUS + _position_score(name, in_name)
    in_path = _positions(path.lower(), letters)
    return None if in_path is None else _position_score(path, in_path)


def _positions(text: str, letters: str) -> list[int] | None:
    """Return the positions of the letters: the earliest possible end, and the latest start for that end."""
    end = -1
    for letter in letters:
        end = text.find(letter, end + 1)
        if end < 0:
            return None
    places: list[int] = []
    for letter in reversed(letters):
        end = text.rfind(letter, 0, end + 1)
        places.append(end)
        end -= 1
    return places[::-1]


def _position_score(text: str, places: list[int]) -> int:
    gaps = places[-1] - places[0] + 1 - len(places) if places else 0
    in_a_row = sum(right == left + 1 for left, right in pairwise(places))
    starts = sum(_starts_word(text, place) for place in places)
    return _LETTER_SCORE * len(places) + _CONSECUTIVE_BONUS * in_a_row + _WORD_START_BONUS * starts - gaps // 2


def _starts_word(text: str, place: int) -> bool:
    if place == 0 or text[place - 1] in _SEPARATORS:
        return True
    return text[place].isupper() and not text[place - 1].isupper()


NameMode = Literal["part", "path", "glob", "regex", "fuzzy"]
"""part: substring of the name, or of the path if it contains a slash; path: substring of the path; glob and regex:
match the name, or the path if they contain a slash; fuzzy: the letters in this order."""

MAX_PATTERNS = 100


@dataclass(frozen=True, slots=True)
class NameQuery:
    """A search for names that match any pattern and every other filter. Fuzzy matching always ignores case."""

    patterns: tuple[str, ...]
    mode: NameMode = "part"
    ignore_case: bool = False
    extensions: tuple[str, ...] = ()  # with or without a dot, case-insensitive
    entry_type: Literal["", "files", "directories"] = ""
    min_bytes: int = 0
    max_bytes: int | None = None
    max_depth: int = 0  # 1 is directly below the root; 0 means no limit
    collections: tuple[str, ...] = ()
    path_filter: Callable[[str], bool] | None = None
    limit: int = 100  # 0 means no limit


class NameEntry(NamedTuple):
    """A file, or a directory that contains one; paths are relative to the collection."""

    collection: str
    path: str
    size: int = 0
    is_directory: bool = False


@dataclass(frozen=True, slots=True)
class NameListing:
    """The names to search: parallel lists of entries, their base names, and these in lower case."""

    entries: Sequence[NameEntry]
    names: Sequence[str]
    folded: Sequence[str]


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """The best matches; `total` counts all matches, `scanned` all entries checked."""

    entries: tuple[NameEntry, ...]
    total: int
    scanned: int
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN


def split_patterns(text: str, mode: NameMode) -> tuple[str, ...]:
    """Split `a, b` into alternatives; commas in a regex or in the braces of a glob stay."""
    if mode == "regex" or (mode == "glob" and "{" in text):
        return (text,)
    return tuple(part for part in map(str.strip, text.split(",")) if part)


def list_names(files: Iterable[NameEntry]) -> NameListing:
    """Return the files, preceded by the directories that contain them."""
    listed = list(files)
    entries = [
        *(NameEntry(collection, path, 0, True) for collection, path in sorted(_parent_directories(listed))),
        *listed,
    ]
    names = [it.path.rpartition("/")[2] for it in entries]
    return NameListing(entries, names, [name.lower() for name in names])


def _parent_directories(files: Iterable[NameEntry]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for file in files:
        path = file.path.rpartition("/")[0]
        while path and (file.collection, path) not in found:
            found.add((file.collection, path))
            path = path.rpartition("/")[0]
    return found


def indexed_names(view: StoreView) -> NameListing:
    """Return every indexed file and directory, cached per index revision."""
    return view.cached_by_revision(
        "names", lambda: list_names(NameEntry(it.collection, it.path, it.size) for it in view.files())
    )


def find_names(names: NameListing, query: NameQuery) -> NameAnswer:
    """Rank exact stems first, then prefixes, then other matches; ties by length, then by path."""
    check_name_query(query)
    patterns = [pattern for pattern in query.patterns if pattern.strip()]
    matching = dict.fromkeys(chain.from_iterable(_match_pattern(names, pattern, query) for pattern in patterns))
    found = list(filter_entries(matching, query))
    best = sorted(found, key=_ranking_key(patterns, query))
    return NameAnswer(tuple(best[: query.limit or None]), len(found), len(names.entries))


def check_name_query(query: NameQuery) -> None:
    if not any(pattern.strip() for pattern in query.patterns):
        raise BadInput("the pattern is empty; pass part of a name")
    if len(query.patterns) > MAX_PATTERNS:
        raise BadInput(f"{len(query.patterns):,} patterns are too many for one query; pass at most {MAX_PATTERNS}")
    for name in ("limit", "max_depth", "min_bytes", "max_bytes"):
        if (getattr(query, name) or 0) < 0:
            raise BadInput(f"{name} must be 0 or more, not {getattr(query, name)}")


def _match_pattern(names: NameListing, pattern: str, query: NameQuery) -> list[NameEntry]:
    if query.mode == "fuzzy":
        return _match_regex(names.entries, [it.path for it in names.entries], fuzzy_regex(fuzzy_letters(pattern)), True)
    whole = query.mode == "path" or "/" in pattern
    subjects = [it.path for it in names.entries] if whole else names.names
    if query.mode == "regex":
        return _match_regex(names.entries, subjects, pattern, query.ignore_case)
    if query.ignore_case:
        pattern, subjects = pattern.lower(), [it.lower() for it in subjects] if whole else names.folded
    if query.mode == "glob":
        matches = compile_globs([pattern])
        return [it for it, subject in zip(names.entries, subjects, strict=True) if matches(subject)]
    return [it for it, subject in zip(names.entries, subjects, strict=True) if pattern in subject]


def _match_regex(
    entries: Sequence[NameEntry], subjects: Sequence[str], pattern: str, ignore_case: bool
) -> list[NameEntry]:
    """Match subjects as lines; a name that contains a line break never matches."""
    lines = "\n".join(it for it in subjects if "\n" not in it).encode("utf-8", "replace")
    hits = lines_matching_regex(pattern, lines, ignore_case=ignore_case)
    return [it for it, subject in zip(entries, subjects, strict=True) if subject in hits]


def filter_entries(entries: Iterable[NameEntry], query: NameQuery) -> Iterable[NameEntry]:
    """Apply every filter except the patterns."""
    endings = tuple(f".{it.strip().lstrip('.').lower()}" for it in query.extensions)
    by_file = bool(endings or query.min_bytes or query.max_bytes is not None)
    most = math.inf if query.max_bytes is None else query.max_bytes
    return (
        it
        for it in entries
        if not (query.entry_type and it.is_directory != (query.entry_type == "directories"))
        and not (by_file and it.is_directory)
        and not (endings and not it.path.lower().endswith(endings))
        and query.min_bytes <= it.size <= most
        and not (query.max_depth and it.path.count("/") >= query.max_depth)
        and not (query.collections and it.collection not in query.collections)
        and (query.path_filter is None or query.path_filter(it.path))
    )


def _ranking_key(patterns: Sequence[str], query: NameQuery) -> Callable[[NameEntry], tuple[object, ...]]:
    if query.mode == "fuzzy":
        wanted_parts = [fuzzy_letters(pattern) for pattern in patterns]
        return lambda it: (-_best_score(it.path, wanted_parts), len(it.path), it.path, it.collection)
    wanted_parts = [pattern.lower() if query.ignore_case else pattern for pattern in patterns]

    def rank(it: NameEntry) -> tuple[object, ...]:
        name = it.path.rpartition("/")[2]
        name = name.lower() if query.ignore_case else name
        stem = name.rpartition(".")[0] or name
        near = [
            level
            for level in (match_quality(stem, wanted_parts), match_quality(name, wanted_parts))
            if level is not None
        ]
        return min(near, default=SUBSTRING), len(stem), it.path, it.collection

    return rank


def _best_score(path: str, wanted_parts: Iterable[str]) -> int:
    scores = (fuzzy_score(path, letters) for letters in wanted_parts)
    return max(score for score in scores if score is not None)


# --------------------------------------------------------------------------------------------------
# Content search on the files on disk, without the index: slow but current, and bounded by a deadline.

MAX_LINE_CHARS = 500

TextTest = Callable[[str], bool]


class LineMatch(NamedTuple):
    line: int
    text: str


class FileMatches(NamedTuple):
    entry: NameEntry
    matches: tuple[LineMatch, ...]


@dataclass(frozen=True, slots=True)
class ContentAnswer:
    """The first files with matching lines; totals count all matches. `cut` says why the scan stopped early."""

    files: tuple[FileMatches, ...]
    total_files: int
    total_lines: int
    scanned: int
    unreadable: int
    cut: str = ""


def find_contents(
    entries: Iterable[NameEntry],
    read: Callable[[NameEntry], str | None],
    query: NameQuery,
    *,
    deadline_s: float = 10.0,
    clock: Callable[[], float] = time.monotonic,
) -> ContentAnswer:
    """Find files with a line that matches any pattern; `read` returns None for files that are not text."""
    check_name_query(query)
    in_file, in_line = _compile_tests(query)
    end = clock() + deadline_s
    found: list[FileMatches] = []
    files = lines = scanned = unreadable = 0
    cut = ""
    for entry in entries:
        if clock() > end:
            cut = f"stopped after {deadline_s:g} s and {scanned:,} files; narrow the search by directory or extension"
            break
        text = read(entry)
        scanned += 1
        unreadable += text is None
        matches = _matching_lines(text, in_file, in_line) if text else ()
        files, lines = files + bool(matches), lines + len(matches)
        if matches and (not query.limit or len(found) < query.limit):
            found.append(FileMatches(entry, matches))
    return ContentAnswer(tuple(found), files, lines, scanned, unreadable, cut)


def _matching_lines(text: str, in_file: TextTest, in_line: TextTest) -> tuple[LineMatch, ...]:
    text = text.replace("\r\n", "\n")
    if not in_file(text):
        return ()
    numbered = enumerate(text.split("\n"), 1)
    return tuple(LineMatch(number, line[:MAX_LINE_CHARS]) for number, line in numbered if in_line(line))


def _compile_tests(query: NameQuery) -> tuple[TextTest, TextTest]:
    """Return a test for whole files and one for lines; the first rejects most files cheaply."""
    patterns = [pattern for pattern in query.patterns if pattern.strip()]
    if query.mode == "regex":
        in_files = [line_predicate(pattern, ignore_case=query.ignore_case) for pattern in patterns]
        in_lines = [compile_regex_predicate(pattern, ignore_case=query.ignore_case) for pattern in patterns]
        return _any_of(in_files), _any_of(in_lines)
    holds = (
        _contains_any_folded(patterns) if query.ignore_case else _any_of([_contains(pattern) for pattern in patterns])
    )
    return holds, holds


def _any_of(tests: Sequence[TextTest]) -> TextTest:
    return tests[0] if len(tests) == 1 else lambda text: any(test(text) for test in tests)


def _contains(part: str) -> TextTest:
    return lambda text: part in text


def _contains_any_folded(parts: Sequence[str]) -> TextTest:
    test = _any_of([_contains(part.lower()) for part in parts])
    return lambda text: test(text.lower())
