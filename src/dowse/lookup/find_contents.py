"""Lines of files as they are on disk now, without any index: slow but of this moment, and bounded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dowse.lookup.find import Entry, NameQuery, check
from dowse.text.matching import regex_search, search_by_line

MAX_LINE_CHARS = 500

Test = Callable[[str], bool]


class LineMatch(NamedTuple):
    line: int
    text: str


class FileMatches(NamedTuple):
    entry: Entry
    matches: tuple[LineMatch, ...]


@dataclass(frozen=True, slots=True)
class ContentAnswer:
    """The first files with matching lines; totals count all that were found. `cut` says why not all were looked at."""

    files: tuple[FileMatches, ...]
    total_files: int
    total_lines: int
    scanned: int
    unreadable: int
    cut: str = ""


def find_contents(
    entries: Iterable[Entry],
    read: Callable[[Entry], str | None],
    query: NameQuery,
    *,
    deadline_s: float = 10.0,
    clock: Callable[[], float] = time.monotonic,
) -> ContentAnswer:
    """Files, of those listed, with a line that any pattern is found in; `read` gives None for what is no text."""
    check(query)
    in_file, in_line = _tests(query)
    end = clock() + deadline_s
    found: list[FileMatches] = []
    files = lines = scanned = unreadable = 0
    cut = ""
    for entry in entries:
        if clock() > end:
            cut = f"stopped after {deadline_s:g} s and {scanned:,} files; narrow it down by directory or extension"
            break
        text = read(entry)
        scanned += 1
        unreadable += text is None
        matches = _lines(text, in_file, in_line) if text else ()
        files, lines = files + bool(matches), lines + len(matches)
        if matches and (not query.limit or len(found) < query.limit):
            found.append(FileMatches(entry, matches))
    return ContentAnswer(tuple(found), files, lines, scanned, unreadable, cut)


def _lines(text: str, in_file: Test, in_line: Test) -> tuple[LineMatch, ...]:
    text = text.replace("\r\n", "\n")
    if not in_file(text):
        return ()
    numbered = enumerate(text.split("\n"), 1)
    return tuple(LineMatch(number, line[:MAX_LINE_CHARS]) for number, line in numbered if in_line(line))


def _tests(query: NameQuery) -> tuple[Test, Test]:
    """Whether a file may hold a match, and whether a line does: most files are done with at the first."""
    patterns = [pattern for pattern in query.patterns if pattern.strip()]
    if query.manner == "regex":
        in_files = [search_by_line(pattern, ignore_case=query.ignore_case) for pattern in patterns]
        in_lines = [regex_search(pattern, ignore_case=query.ignore_case) for pattern in patterns]
        return _any(in_files), _any(in_lines)
    holds = _holds_folded(patterns) if query.ignore_case else _any([_holds(pattern) for pattern in patterns])
    return holds, holds


def _any(tests: Sequence[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda text: any(test(text) for test in tests)


def _holds(part: str) -> Test:
    return lambda text: part in text


def _holds_folded(parts: Sequence[str]) -> Test:
    test = _any([_holds(part.lower()) for part in parts])
    return lambda text: test(text.lower())
