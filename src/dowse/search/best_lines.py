"""Selection of the lines of a passage that best match a query, with their context."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from dowse.search.confidence import query_stems
from dowse.text.tokenize import cjk_runs, parse_query

_NON_WORD_CHARS = re.compile(r"[\W_]+")
_DEFINITION_LINE = re.compile(
    r"\s*(?:[\w@]+\s+){0,4}?(?:def|class|function|interface|struct|enum|fn|func|trait|impl|module|namespace|record)\b"
)
_PHRASE_WEIGHT = 3.0
_DEFINITION_WEIGHT = 0.5
_LINE_WEIGHT, _MAX_COUNTED_LINES = 0.1, 5
_ELLIPSIS = "…"


class QueryWords(NamedTuple):
    """The parts of a query that lines are matched against.

    A stem matches the beginning of a word. A stem that starts with a space must match a whole word.
    """

    stems: tuple[str, ...]
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BestLines:
    """Consecutive lines of a passage, starting at line `start` (from 0). `cut` is true if anything was left out.

    `heading` is the enclosing definition and its line number, if that line lies above the excerpt.
    """

    start: int
    lines: tuple[str, ...]
    cut: bool
    heading: tuple[int, str] | None = None


def parse_query_words(query: str) -> QueryWords:
    """Return the content words of a query, or all its words if it has only stop words."""
    terms = parse_query(query)
    all_words = [word for term in (*terms.required, *terms.optional) for word in term.words]
    stems = [*query_stems(query), *(word for word in all_words if cjk_runs(word))]
    phrases = (" ".join(term.words) for term in terms.required if len(term.words) > 1)
    return QueryWords(tuple(dict.fromkeys(stems or all_words)), tuple(phrases))


def compile_match_pattern(words: QueryWords) -> re.Pattern[str] | None:
    """Compile a pattern for whole phrases and for words, or parts of identifiers, that begin with a stem."""
    between = _NON_WORD_CHARS.pattern
    parts = [f"(?i:{between.join(map(re.escape, phrase.split()))})" for phrase in words.phrases]
    for stem in words.stems:
        plain = re.escape(stem.strip())
        if cjk_runs(stem):
            parts.append(plain)
        elif stem.startswith(" "):
            parts.append(rf"(?<![^\W_])(?i:{plain})(?![^\W_])")
        else:
            parts.append(rf"(?:(?<![^\W_])|(?<=[^\W_A-Z])(?=[A-Z]))(?i:{plain})[^\W_]*")
    return re.compile("|".join(parts)) if parts else None


class LineSelector:
    """Picks the best lines of one passage for one query. Matches are computed once and reused for every size."""

    def __init__(self, text: str, words: QueryWords) -> None:
        self._words = words
        self._lines = text.strip("\n").split("\n")
        self._leading_newlines = len(text) - len(text.lstrip("\n"))
        self._match_bits = [_match_query_words(line, words) for line in self._lines]
        self._phrase_mask = ((1 << len(words.phrases)) - 1) << len(words.stems)
        self._window_scores: dict[tuple[int, int], float] = {}

    def best(self, max_lines: int, max_chars: int) -> BestLines:
        """Return at most `max_lines` lines and `max_chars` characters, or the start of the text if no word matches.

        A single line that is too long is cut around its first match.
        """
        lines = self._lines
        start, end, best = self._best_window(max_lines)
        start, end = _shrink_to_chars(lines, start, end, best, max_chars)
        excerpt = tuple(_clip_excerpt_line(line, self._words, max_chars) for line in lines[start:end])
        is_complete = (start, end) == (0, len(lines)) and excerpt == tuple(lines)
        return BestLines(
            start + self._leading_newlines,
            excerpt,
            not is_complete,
            _enclosing_definition(lines, start, self._leading_newlines),
        )

    def _best_window(self, max_lines: int) -> tuple[int, int, int]:
        """Return start, end and best line of the window with the most query words; ties go to the earliest."""
        found, count = self._match_bits, len(self._lines)
        if count <= max_lines or not any(found):
            end = min(max_lines, count)
            return 0, end, max(range(end), key=lambda at: (found[at].bit_count(), -at))
        last = count - max_lines
        starts = sorted({min(at, last) for at, words in enumerate(found) if words})
        first = max(starts, key=lambda at: (self._window_score(at, max_lines), -at))
        best = max(range(first, first + max_lines), key=lambda at: (found[at].bit_count(), -at))
        preferred_start = best - max_lines * 3 // 10  # show less context before the best line than after it
        starts_around = range(max(0, best - max_lines + 1), min(best, last) + 1)
        start = max(starts_around, key=lambda at: (self._window_score(at, max_lines), -abs(at - preferred_start)))
        return start, start + max_lines, best

    def _window_score(self, start: int, max_lines: int) -> float:
        if (start, max_lines) not in self._window_scores:
            window_bits = matching_lines = 0
            has_definition = False
            for at in range(start, min(start + max_lines, len(self._lines))):
                if words := self._match_bits[at]:
                    window_bits |= words
                    matching_lines += 1
                    has_definition = has_definition or _DEFINITION_LINE.match(self._lines[at]) is not None
            phrases = (window_bits & self._phrase_mask).bit_count()
            repeated = _LINE_WEIGHT * min(matching_lines, _MAX_COUNTED_LINES)
            score = window_bits.bit_count() + _PHRASE_WEIGHT * phrases + _DEFINITION_WEIGHT * has_definition + repeated
            self._window_scores[start, max_lines] = score
        return self._window_scores[start, max_lines]


def _match_query_words(line: str, words: QueryWords) -> int:
    """Return a bit mask: one bit for each stem in the line, then one for each phrase."""
    lower = line.lower()
    bits = 0
    # Cheap substring tests first: most lines contain none of the words.
    for at, stem in enumerate(words.stems):
        word = stem.strip()
        if word in lower and (not stem.startswith(" ") or _contains_whole_word(word, lower)):
            bits |= 1 << at
    if any(phrase.split(" ", 1)[0] in lower for phrase in words.phrases):
        normalized = f" {_NON_WORD_CHARS.sub(' ', lower)} "  # the slowest step of this function
        for at, phrase in enumerate(words.phrases, len(words.stems)):
            bits |= (phrase in normalized) << at
    return bits


def _contains_whole_word(word: str, line: str) -> bool:
    at = line.find(word)
    while at >= 0:
        end = at + len(word)
        if not (line[at - 1 : at].isalnum() or line[end : end + 1].isalnum()):
            return True
        at = line.find(word, at + 1)
    return False


def _shrink_to_chars(lines: list[str], start: int, end: int, best: int, max_chars: int) -> tuple[int, int]:
    """Return the lines around the best one that fit, preferring those after it. Trim blank lines at both ends."""
    remaining = max_chars - min(len(lines[best]), max_chars)
    first = last = best
    while True:
        if last + 1 < end and len(lines[last + 1]) < remaining:
            last += 1
            remaining -= len(lines[last]) + 1
        elif first > start and len(lines[first - 1]) < remaining:
            first -= 1
            remaining -= len(lines[first]) + 1
        else:
            break
    while last > first and not lines[last].strip():
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    return first, last + 1


def _clip_excerpt_line(line: str, words: QueryWords, max_chars: int) -> str:
    if len(line) <= max_chars:
        return line
    lower = line.lower()
    matches = [at for stem in words.stems if (at := lower.find(stem.strip())) >= 0]
    room = max(max_chars - 2, 1)
    start = max(0, min(min(matches, default=0) - room // 3, len(line) - room))
    end = start + room
    return f"{_ELLIPSIS if start else ''}{line[start:end]}{_ELLIPSIS if end < len(line) else ''}"


def _enclosing_definition(lines: list[str], start: int, skipped: int) -> tuple[int, str] | None:
    """Return the enclosing definition: the nearest one above that is indented less."""
    indent = _indent_width(lines[start])
    for at in range(start - 1, -1, -1):
        line = lines[at]
        if line.strip() and _indent_width(line) < indent:
            if _DEFINITION_LINE.match(line):
                return at + skipped, line
            indent = _indent_width(line) + line.lstrip().startswith(
                ")"
            )  # the line that opens a signature has this indent
    return None


def _indent_width(line: str) -> int:
    return len(line) - len(line.lstrip())
