"""Lines found by reading every line of every text: slow, plain, and what every index of lines is compared with."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dowse.store.texts import SCORE_DIGITS, WORDS_NAMED, FileLines, FoundLines, InARow, InLine, InWords, LineQuery
from dowse.text.folding import WordTest, folded, in_a_row, words
from dowse.text.regexes import line_regex

Name = tuple[str, str]  # collection and path


class _Match(NamedTuple):
    """What matched, a word or the term itself, and where."""

    name: Name
    line: int
    what: str


def lines_of(text: str) -> list[str]:
    """Only a line feed ends a line; a carriage return before it belongs to the end."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def found_lines(texts: Mapping[Name, str], inside: Iterable[Name], query: LineQuery) -> FoundLines:
    """`inside` are those of the texts that lie in the query's scope."""
    split = {name: lines_of(text) for name, text in texts.items()}
    allowed = {name for name in inside if query.wanted is None or query.wanted(name[1])}
    lengths = {name: sum(len(words(line)) for line in lines) for name, lines in split.items()}
    by_term = [_matches(term, split) for term in query.terms]
    files = _files(by_term, allowed, lengths, query)
    named = {
        match.what
        for term, matches in zip(query.terms, by_term, strict=True)
        if isinstance(term, InWords) and term.test.how != "is"
        for match in matches
    }
    return FoundLines(
        files=tuple(files[: query.limit or len(files)]),
        total_files=len(files),
        total_occurrences=sum(it.occurrences for it in files),
        words=tuple(sorted(named)[:WORDS_NAMED]),
        index_files=len(texts),
        index_words=len({word for lines in split.values() for line in lines for word in words(line)}),
    )


def _files(
    by_term: Sequence[list[_Match]], allowed: set[Name], lengths: Mapping[Name, int], query: LineQuery
) -> list[FileLines]:
    scores: defaultdict[Name, float] = defaultdict(float)
    found: defaultdict[Name, list[int]] = defaultdict(list)
    terms: Counter[Name] = Counter()
    for term, matches in zip(query.terms, by_term, strict=True):
        here = [match for match in matches if match.name in allowed]
        holding = _holding(matches if isinstance(term, InWords) else here)
        for match in here:
            found[match.name].append(match.line)
            rarity = math.log(len(lengths) / holding[match.what])
            scores[match.name] += 1.0 if query.counted else rarity / max(lengths[match.name], 1)
        terms.update({match.name for match in here})
    files = [
        FileLines(*name, round(scores[name], SCORE_DIGITS), tuple(sorted(set(lines))), len(lines), terms[name])
        for name, lines in found.items()
        if not query.every or terms[name] == len(query.terms)
    ]
    return sorted(files, key=lambda it: (-it.score, it.path, it.collection))


def _holding(matches: Iterable[_Match]) -> Counter[str]:
    """In how many files each thing that matched is."""
    return Counter(what for _, what in {(match.name, match.what) for match in matches})


def _matches(term: InWords | InLine | InARow, split: Mapping[Name, list[str]]) -> list[_Match]:
    return [_Match(name, *it) for name, lines in split.items() for it in _in_file(term, lines)]


def _in_file(term: InWords | InLine | InARow, lines: Sequence[str]) -> list[tuple[int, str]]:
    if isinstance(term, InARow):
        return [(line, "") for line in _in_a_row(term, lines)]
    if isinstance(term, InLine):
        regex = line_regex(term.pattern, term.case_sensitive)
        return [(at, "") for at, line in enumerate(lines, 1) if _any(regex.places(_encoded(line)))]
    return [
        (at, word) for at, line in enumerate(lines, 1) for word in sorted(set(words(line))) if passes(word, term.test)
    ]


def _any(places: Iterable[int]) -> bool:
    return next(iter(places), None) is not None


def _encoded(line: str) -> bytes:
    return line.encode("utf-8", "surrogatepass") + b"\n"


def _in_a_row(term: InARow, lines: Sequence[str]) -> list[int]:
    """Each line is tried by itself, with all that follows it."""
    pattern = in_a_row(term.words)
    found = []
    for at in range(len(lines)):
        rest = "\n".join(lines[at:])
        match = pattern.search(rest if term.case_sensitive else folded(rest))
        if match and match.start() <= len(lines[at]):
            found.append(at + 1)
    return found


def passes(word: str, test: WordTest) -> bool:
    how, text = test
    if how == "matches":
        return _any(line_regex(f"^(?:{text})$", False).places(_encoded(word)))
    return {"is": word == text, "holds": text in word, "begins": word.startswith(text), "ends": word.endswith(text)}[
        how
    ]
