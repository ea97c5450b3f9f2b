"""Lines that hold what is asked for: the question becomes terms that a store can look up."""

from __future__ import annotations

from collections.abc import Callable

from dowse.errors import BadInput
from dowse.lookup.grep.question import GrepAnswer, Lines, Manner
from dowse.store.texts import InARow, InLine, InWords, LineQuery, Texts
from dowse.text.folding import WORD, WordTest, folded, pieces
from dowse.text.regexes import Clause, escaped, line_regex, required

Term = InWords | InLine | InARow

_COUNTED: frozenset[Manner] = frozenset({"phrase", "regex"})
_CASELESS: frozenset[Manner] = frozenset({"word", "word-regex"})
_EDGE = r"[^\pL\pN_]"


def grep(store: Texts, query: Lines) -> GrepAnswer:
    _check(query)
    make = _MANNERS[query.manner]
    found = store.find_lines(
        LineQuery(
            terms=tuple(make(term, query.case_sensitive) for term in query.terms),
            every=query.every,
            counted=query.manner in _COUNTED,
            scope=query.scope,
            wanted=query.wanted,
            limit=query.limit,
            deadline_s=query.deadline_s,
        )
    )
    return GrepAnswer(
        files=found.files,
        total_files=found.total_files,
        total_occurrences=found.total_occurrences,
        searched=tuple(map(_searched(query), query.terms)),
        words=found.words,
        index_files=found.index_files,
        index_words=found.index_words,
        cut=found.cut,
    )


def _check(query: Lines) -> None:
    if not query.terms or not all(term.strip() for term in query.terms):
        raise BadInput("there is nothing to look for: a term is empty")
    if query.manner != "phrase" and any("\n" in term for term in query.terms):
        raise BadInput("a line has no line end in it; ask for a phrase, which goes across lines")
    if query.case_sensitive and query.manner in _CASELESS:
        raise BadInput("words are kept without case; ask for a substring or a regex where case counts")
    if query.limit < 0:
        raise BadInput("the limit of files is negative; 0 is no limit")


def _searched(query: Lines) -> Callable[[str], str]:
    """Terms as they are looked up."""
    keep = query.case_sensitive or query.manner == "regex"
    return (lambda term: term) if keep else folded


def _word(term: str, _: bool) -> Term:
    if WORD.fullmatch(term):
        return InWords(WordTest("is", folded(term)))
    before = rf"(?:^|{_EDGE})" if WORD.match(term) else ""
    after = rf"(?:{_EDGE}|$)" if WORD.match(term[-1]) else ""
    whole = tuple((WordTest("is", test.text),) for test in pieces(term))
    return InLine(f"{before}{escaped(term)}{after}", False, whole)


def _substring(term: str, case_sensitive: bool) -> Term:
    if WORD.fullmatch(term) and not case_sensitive:
        return InWords(WordTest("holds", folded(term)))
    return InLine(escaped(term), case_sensitive, _clauses(term))


def _word_regex(term: str, _: bool) -> Term:
    # Checked as it is: what is put around it must not hide where it is wrong.
    line_regex(term, False)
    return InWords(WordTest("matches", term))


def _phrase(term: str, case_sensitive: bool) -> Term:
    parts = term.split()
    if all(map(WORD.fullmatch, parts)):
        return InARow(tuple(parts if case_sensitive else map(folded, parts)), case_sensitive)
    return InLine(r"\s+".join(map(escaped, parts)), case_sensitive, _clauses(" ".join(parts)))


def _regex(term: str, case_sensitive: bool) -> Term:
    line_regex(term, case_sensitive)
    return InLine(term, case_sensitive, required(term))


def _clauses(literal: str) -> tuple[Clause, ...]:
    """Without what hardly any line fails: a part of a word that is one letter."""
    return tuple((test,) for test in pieces(literal) if len(test.text) > 1 or test.how == "is")


_MANNERS: dict[Manner, Callable[[str, bool], Term]] = {
    "word": _word,
    "substring": _substring,
    "word-regex": _word_regex,
    "phrase": _phrase,
    "regex": _regex,
}
