"""The few lines of a passage that answer a query: those that hold most of its words, with what stands around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from dowse.search.confidence import stems_of
from dowse.text.names import cjk_runs
from dowse.text.terms import parse

_BETWEEN_WORDS = re.compile(r"[\W_]+")
_DEFINITION = re.compile(
    r"\s*(?:[\w@]+\s+){0,4}?(?:def|class|function|interface|struct|enum|fn|func|trait|impl|module|namespace|record)\b"
)
_PHRASE_WEIGHT = 3.0
_DEFINITION_WEIGHT = 0.5
_LINE_WEIGHT, _COUNTED_LINES = 0.1, 5
_HIDDEN = "…"


class Words(NamedTuple):
    """What lines are compared with: beginnings of words, words that have to stand alone, and whole phrases."""

    stems: tuple[str, ...]
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BestLines:
    """Lines of a passage in a row, the first of them at `start` (from 0). `cut`: whether anything was left out.

    `heading` is the definition that they stand in, with its place, where that is above them.
    """

    start: int
    lines: tuple[str, ...]
    cut: bool
    heading: tuple[int, str] | None = None


def words_of(query: str) -> Words:
    """The telling words of a query; all of its words, if none is telling."""
    terms = parse(query)
    everything = [word for term in (*terms.required, *terms.wanted) for word in term.words]
    stems = [*stems_of(query), *(word for word in everything if cjk_runs(word))]
    phrases = (" ".join(term.words) for term in terms.required if len(term.words) > 1)
    return Words(tuple(dict.fromkeys(stems or everything)), tuple(phrases))


def match_pattern(words: Words) -> re.Pattern[str] | None:
    """What the words look like in a text: whole phrases, and words, or parts of names, that begin with a stem."""
    between = _BETWEEN_WORDS.pattern
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


class LineChoice:
    """Chooses lines of one passage for one query. The words are looked for once, whatever lengths are asked for."""

    def __init__(self, text: str, words: Words) -> None:
        self._words = words
        self._lines = text.strip("\n").split("\n")
        self._skipped = len(text) - len(text.lstrip("\n"))
        self._found = [_found(line, words) for line in self._lines]
        self._phrases = ((1 << len(words.phrases)) - 1) << len(words.stems)
        self._worths: dict[tuple[int, int], float] = {}

    def best(self, most_lines: int, most_chars: int) -> BestLines:
        """At most so many lines and characters of the text: where none of the words stands in it, its beginning.

        A line that is too long by itself is cut around the first word that was found in it.
        """
        lines = self._lines
        start, end, best = self._window(most_lines)
        start, end = _within_chars(lines, start, end, best, most_chars)
        shown = tuple(_clipped(line, self._words, most_chars) for line in lines[start:end])
        whole = (start, end) == (0, len(lines)) and shown == tuple(lines)
        return BestLines(start + self._skipped, shown, not whole, _heading(lines, start, self._skipped))

    def _window(self, most_lines: int) -> tuple[int, int, int]:
        """First line, end, and the best line of the stretch that holds most of the words; the earliest of equals."""
        found, count = self._found, len(self._lines)
        if count <= most_lines or not any(found):
            end = min(most_lines, count)
            return 0, end, max(range(end), key=lambda at: (found[at].bit_count(), -at))
        last = count - most_lines
        starts = sorted({min(at, last) for at, words in enumerate(found) if words})
        first = max(starts, key=lambda at: (self._worth(at, most_lines), -at))
        best = max(range(first, first + most_lines), key=lambda at: (found[at].bit_count(), -at))
        wanted = best - most_lines * 3 // 10  # less before it than behind it
        around = range(max(0, best - most_lines + 1), min(best, last) + 1)
        start = max(around, key=lambda at: (self._worth(at, most_lines), -abs(at - wanted)))
        return start, start + most_lines, best

    def _worth(self, start: int, most_lines: int) -> float:
        if (start, most_lines) not in self._worths:
            held = matching = 0
            defines = False
            for at in range(start, min(start + most_lines, len(self._lines))):
                if words := self._found[at]:
                    held |= words
                    matching += 1
                    defines = defines or _DEFINITION.match(self._lines[at]) is not None
            phrases = (held & self._phrases).bit_count()
            repeated = _LINE_WEIGHT * min(matching, _COUNTED_LINES)
            worth = held.bit_count() + _PHRASE_WEIGHT * phrases + _DEFINITION_WEIGHT * defines + repeated
            self._worths[start, most_lines] = worth
        return self._worths[start, most_lines]


def _found(line: str, words: Words) -> int:
    """A bit for each stem that the line holds, then one for each phrase."""
    lower = line.lower()
    bits = 0
    # Most lines have none of the words, also without regard to what stands between them.
    for at, stem in enumerate(words.stems):
        bare = stem.strip()
        if bare in lower and (not stem.startswith(" ") or _stands_alone(bare, lower)):
            bits |= 1 << at
    if any(phrase.split(" ", 1)[0] in lower for phrase in words.phrases):
        plain = f" {_BETWEEN_WORDS.sub(' ', lower)} "  # takes longer than all the rest
        for at, phrase in enumerate(words.phrases, len(words.stems)):
            bits |= (phrase in plain) << at
    return bits


def _stands_alone(word: str, line: str) -> bool:
    at = line.find(word)
    while at >= 0:
        end = at + len(word)
        if not (line[at - 1 : at].isalnum() or line[end : end + 1].isalnum()):
            return True
        at = line.find(word, at + 1)
    return False


def _within_chars(lines: list[str], start: int, end: int, best: int, most_chars: int) -> tuple[int, int]:
    """As many of the lines around the best one as fit, those behind it first; no blank ones at the ends."""
    left = most_chars - min(len(lines[best]), most_chars)
    first = last = best
    while True:
        if last + 1 < end and len(lines[last + 1]) < left:
            last += 1
            left -= len(lines[last]) + 1
        elif first > start and len(lines[first - 1]) < left:
            first -= 1
            left -= len(lines[first]) + 1
        else:
            break
    while last > first and not lines[last].strip():
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    return first, last + 1


def _clipped(line: str, words: Words, most_chars: int) -> str:
    if len(line) <= most_chars:
        return line
    lower = line.lower()
    places = [at for stem in words.stems if (at := lower.find(stem.strip())) >= 0]
    room = max(most_chars - 2, 1)
    start = max(0, min(min(places, default=0) - room // 3, len(line) - room))
    end = start + room
    return f"{_HIDDEN if start else ''}{line[start:end]}{_HIDDEN if end < len(line) else ''}"


def _heading(lines: list[str], start: int, skipped: int) -> tuple[int, str] | None:
    """The nearest definition above that is indented less: the one around the lines."""
    indent = _indent(lines[start])
    for at in range(start - 1, -1, -1):
        line = lines[at]
        if line.strip() and _indent(line) < indent:
            if _DEFINITION.match(line):
                return at + skipped, line
            indent = _indent(line) + line.lstrip().startswith(")")  # the end of a signature: its beginning is as far in
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
