"""Search lines by regex, word, literal or phrase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from dowse.errors import BadInput
from dowse.model import EVERYTHING, FRESHNESS_UNKNOWN, DiskFreshness, Scope
from dowse.store.types import FileLines, LineQuery, PatternTerm, PhraseTerm, WordTerm
from dowse.store.view import StoreView
from dowse.text.regex import WordClause, compile_line_regex, escape_literal, required_words
from dowse.text.tokenize import WORD, WordTest, fold_case, word_tests

# --------------------------------------------------------------------------------------------------
# Grep queries and answers.

GrepMode = Literal["word", "substring", "word-regex", "phrase", "regex"]
"""word: a whole word; substring: part of a word or line; word-regex: a regex that matches a whole word; phrase:
consecutive words with any spacing, also across lines; regex: matches within a line, like ripgrep."""


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """A search for lines.

    `match_all`: only files that contain each of the terms. `path_filter` applies after the scope.
    `case_sensitive` works only with `regex`, `substring` and `phrase`.
    """

    terms: tuple[str, ...]
    mode: GrepMode = "word"
    match_all: bool = False
    case_sensitive: bool = False
    scope: Scope = EVERYTHING
    path_filter: Callable[[str], bool] | None = None
    limit: int = 50  # files; 0 means no limit
    deadline_s: float = 5.0


@dataclass(frozen=True, slots=True)
class GrepAnswer:
    """The best files; totals count all matches.

    `searched` are the terms as looked up; `words` the indexed words that matched a substring or word-regex, at most a
    thousand. `cut` says why the search stopped early.
    """

    files: tuple[FileLines, ...]
    total_files: int
    total_occurrences: int
    searched: tuple[str, ...]
    words: tuple[str, ...]
    index_files: int
    index_words: int
    cut: str = ""
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Adjacent lines of a file; `matches` are indexes into `lines`."""

    start_line: int
    lines: tuple[str, ...]
    matches: tuple[int, ...]


# --------------------------------------------------------------------------------------------------
# Exact text search: compiles a query into terms that the line index can look up.

LineTerm = WordTerm | PatternTerm | PhraseTerm

_COUNTED_MODES: frozenset[GrepMode] = frozenset({"phrase", "regex"})
_CASELESS_MODES: frozenset[GrepMode] = frozenset({"word", "word-regex"})
_WORD_EDGE = r"[^\pL\pN_]"


def search_lines(view: StoreView, query: GrepQuery) -> GrepAnswer:
    _check_grep_query(query)
    make = _TERM_COMPILERS[query.mode]
    found = view.find_lines(
        LineQuery(
            terms=tuple(make(term, query.case_sensitive) for term in query.terms),
            match_all=query.match_all,
            rank_by_count=query.mode in _COUNTED_MODES,
            scope=query.scope,
            path_filter=query.path_filter,
            limit=query.limit,
            deadline_s=query.deadline_s,
        )
    )
    return GrepAnswer(
        files=found.files,
        total_files=found.total_files,
        total_occurrences=found.total_occurrences,
        searched=tuple(map(_term_normalizer(query), query.terms)),
        words=found.words,
        index_files=found.index_files,
        index_words=found.index_words,
        cut=found.cut,
    )


def _check_grep_query(query: GrepQuery) -> None:
    if not query.terms or not all(term.strip() for term in query.terms):
        raise BadInput("a search term is empty; pass some text")
    if query.mode != "phrase" and any("\n" in term for term in query.terms):
        raise BadInput("the term contains a line break; use a phrase search, which spans lines")
    if query.case_sensitive and query.mode in _CASELESS_MODES:
        raise BadInput("word search ignores case; use a substring or regex search for case-sensitive matches")
    if query.limit < 0:
        raise BadInput("the file limit must be 0 (no limit) or more")


def _term_normalizer(query: GrepQuery) -> Callable[[str], str]:
    """Return a function that gives terms as they are looked up."""
    keep = query.case_sensitive or query.mode == "regex"
    return (lambda term: term) if keep else fold_case


def _compile_word(term: str, _: bool) -> LineTerm:
    if WORD.fullmatch(term):
        return WordTerm(WordTest("is", fold_case(term)))
    before = rf"(?:^|{_WORD_EDGE})" if WORD.match(term) else ""
    after = rf"(?:{_WORD_EDGE}|$)" if WORD.match(term[-1]) else ""
    whole = tuple((WordTest("is", test.text),) for test in word_tests(term))
    return PatternTerm(f"{before}{escape_literal(term)}{after}", False, whole)


def _compile_substring(term: str, case_sensitive: bool) -> LineTerm:
    if WORD.fullmatch(term) and not case_sensitive:
        return WordTerm(WordTest("holds", fold_case(term)))
    return PatternTerm(escape_literal(term), case_sensitive, _index_clauses(term))


def _compile_word_regex(term: str, _: bool) -> LineTerm:
    # Validate the bare term: the wrapped one would report errors at wrong positions.
    compile_line_regex(term, False)
    return WordTerm(WordTest("matches", term))


def _compile_phrase(term: str, case_sensitive: bool) -> LineTerm:
    parts = term.split()
    if all(map(WORD.fullmatch, parts)):
        return PhraseTerm(tuple(parts if case_sensitive else map(fold_case, parts)), case_sensitive)
    return PatternTerm(r"\s+".join(map(escape_literal, parts)), case_sensitive, _index_clauses(" ".join(parts)))


def _compile_line_regex(term: str, case_sensitive: bool) -> LineTerm:
    compile_line_regex(term, case_sensitive)
    return PatternTerm(term, case_sensitive, required_words(term))


def _index_clauses(literal: str) -> tuple[WordClause, ...]:
    """Return index clauses without single-letter parts of words, which nearly every line contains."""
    return tuple((test,) for test in word_tests(literal) if len(test.text) > 1 or test.kind == "is")


_TERM_COMPILERS: dict[GrepMode, Callable[[str, bool], LineTerm]] = {
    "word": _compile_word,
    "substring": _compile_substring,
    "word-regex": _compile_word_regex,
    "phrase": _compile_phrase,
    "regex": _compile_line_regex,
}


# --------------------------------------------------------------------------------------------------
# Matching lines with context, merged where they touch.


def read_excerpts(
    view: StoreView, collection: str, path: str, lines: Iterable[int], before: int = 0, after: int = 0
) -> list[Excerpt]:
    """Return the lines that still exist with `before` and `after` lines of context; touching ranges become one
    excerpt."""
    wanted = sorted(set(lines))
    groups = list(_excerpt_ranges(wanted, max(before, 0), max(after, 0)))
    texts = view.lines_between(collection, path, [(first, last) for first, last, _ in groups])
    return [
        Excerpt(first, text, tuple(line - first for line in matches if line - first < len(text)))
        for (first, _, matches), text in zip(groups, texts, strict=True)
        if text
    ]


def _excerpt_ranges(lines: list[int], before: int, after: int) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the first and last line of each excerpt, and its matching lines."""
    group: list[int] = []
    for line in lines:
        if group and line - before > group[-1] + after + 1:
            yield max(group[0] - before, 1), group[-1] + after, group
            group = []
        group.append(line)
    if group:
        yield max(group[0] - before, 1), group[-1] + after, group
