"""A user's words as terms to match: any string is a valid query, and quotes make a phrase."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from dowse.text.names import camel_parts, cjk_runs, pairs, words

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”')
MAX_QUERY_CHARS = 10_000
MAX_TERMS = 256
MAX_HEADLINE_CHARS = 200
MAX_PHRASED_CHARS = 200  # quotes make a phrase required in queries up to this length

# Words that say nothing about what is looked for; a query of nothing else keeps them.
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


@dataclass(frozen=True, slots=True)
class Term:
    """Words that must stand next to each other; `prefix` lets the last one go on."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """`required` all have to be there; `wanted` count for the rank, and one is needed if nothing is required."""

    required: tuple[Term, ...] = ()
    wanted: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.wanted)


def parse(text: str) -> Terms:
    # Letters and their accents as one: written apart, an accent would cut the word in two.
    text = unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS])
    required = _unique(term for phrase in quoted(text) for term in _phrase(phrase))
    if len(text) > MAX_PHRASED_CHARS:
        # A long text quotes what others said; it does not ask for it.
        required = []
    rest = _QUOTED.sub(" ", text) if required else text
    expanded = _unique(term for word in words(rest) for term in _expand(word))
    wanted = [term for term in expanded if term not in required]
    telling = [term for term in wanted if not _is_stop_word(term)]
    return Terms(tuple(required), tuple((telling or ([] if required else wanted))[:MAX_TERMS]))


def quoted(text: str) -> list[str]:
    """The phrases in quotes, as they are written."""
    return [first or second for first, second in _QUOTED.findall(text)]


def headline(text: str) -> str:
    """What a text of several lines is about, as its first one says: as in a bug report or a mail."""
    first, _, rest = text[:MAX_QUERY_CHARS].strip().partition("\n")
    return first if rest.strip() and len(first) <= MAX_HEADLINE_CHARS else ""


def _phrase(phrase: str) -> list[Term]:
    """A quoted phrase; inside a script without spaces it is the run of its character pairs."""
    terms: list[Term] = []
    plain: list[str] = []
    for word in words(phrase):
        runs = cjk_runs(word)
        if runs:
            terms += [Term(tuple(pairs(run)[:-1]) or (run,), prefix=len(run) == 1) for run in runs]
        else:
            plain.append(word.lower())
    return ([Term(tuple(plain))] if plain else []) + terms


def _expand(word: str) -> list[Term]:
    """The word itself and the parts it would be found by in the `names` column."""
    runs = cjk_runs(word)
    if runs:
        cjk = [Term((pair,)) for run in runs for pair in pairs(run) if len(pair) == 2]
        single = [Term((run,), prefix=True) for run in runs if len(run) == 1]
        return [*single, *cjk, *(Term((part.lower(),)) for part in words(_without(word, runs)))]
    return [Term((word.lower(),)), *(Term((part.lower(),)) for part in camel_parts(word))]


def _without(word: str, runs: list[str]) -> str:
    for run in runs:
        word = word.replace(run, " ")
    return word


def _is_stop_word(term: Term) -> bool:
    return len(term.words) == 1 and term.words[0] in STOP_WORDS


def _unique(terms: Iterable[Term]) -> list[Term]:
    return list(dict.fromkeys(terms))
