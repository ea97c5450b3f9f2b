"""Questions whose answers are known, made from what is indexed: headings, documented definitions, notes, commits.

None of them is what a person would ask. Headings and docstrings stand in the very text they ask for, which favours
words over meaning; `overlap` says how many words of a question stand there even without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

from dowse.evaluate.documented import documented
from dowse.model import Stored
from dowse.text.defined import name_parts
from dowse.text.names import cjk_runs, words
from dowse.text.terms import STOP_WORDS

HEADINGS, DOCSTRINGS, MEMORIES, COMMITS = "headings", "docstrings", "memories", "commits"
ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        HEADINGS: "a heading with those above it → its section",
        DOCSTRINGS: "the first sentence of a docstring or comment → the code it describes",
        MEMORIES: "the first sentence of a memory → its passage",
        COMMITS: "the first line of a commit's message → the files it touched",
    }
)
MAX_TOUCHED = 10  # a commit that touched more says little about each
_LEAST_WORDS = 2
_LEAST_SENTENCE_WORDS = 3  # "Fix tests" could be any commit
_LONGEST_CHARS = 300
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")
# What a convention puts before and behind a subject: `fix(parser): … (#123)`.
_CONVENTIONAL = re.compile(r"^\w+(?:\([^)]*\))?!?:\s+|\s*\(#\d+\)$")

History = Mapping[str, Sequence[tuple[str, Sequence[str]]]]


@dataclass(frozen=True, slots=True)
class Question:
    """`relevant` are ids of files where the question is for files, else of passages."""

    origin: str
    text: str
    relevant: frozenset[str]
    overlap: float

    @property
    def for_files(self) -> bool:
        return self.origin == COMMITS


def file_id(collection: str, path: str) -> str:
    return f"{collection}:{path}"


def passage_id(stored: Stored) -> str:
    return f"{file_id(stored.record.collection, stored.record.path)}#{stored.chunk.ordinal}"


def questions(chunks: Iterable[Stored], history: History) -> Iterator[Question]:
    """All there are, of chunks in the order of their records; `history` has subjects and paths by collection."""
    touched = _touched(history)
    by_path = _by_path(touched)
    for (collection, path), found in groupby(chunks, key=lambda it: (it.record.collection, it.record.path)):
        passages = list(found)
        yield from MAKERS.get(passages[0].record.kind, _nothing)(passages)
        for commit in by_path.get((collection, path), ()):
            commit.saw(file_id(collection, path), passages)
    yield from (commit.question() for commit in touched if commit.files)


# --- headings and docstrings ----------------------------------------------------------------


def _from_headings(passages: Sequence[Stored]) -> Iterator[Question]:
    sections: dict[tuple[str, ...], list[Stored]] = {}
    for passage in passages:
        sections.setdefault(passage.chunk.trail, []).append(passage)
    for trail, found in sections.items():
        text = " ".join(trail)
        if _tells(text, _LEAST_WORDS):
            body = [line for it in found for line in it.chunk.text.splitlines() if line.strip("#= \t") not in trail]
            relevant = frozenset(map(passage_id, found))
            yield Question(HEADINGS, text, relevant, overlap(text, "\n".join(body)))


def _from_docstrings(passages: Sequence[Stored]) -> Iterator[Question]:
    for passage in passages:
        for sentence, rest in documented(passage.chunk.text):
            if _tells(sentence, _LEAST_SENTENCE_WORDS):
                relevant = frozenset([passage_id(passage)])
                yield Question(DOCSTRINGS, sentence, relevant, overlap(sentence, rest))


def _from_notes(passages: Sequence[Stored]) -> Iterator[Question]:
    """Most notes have no headings: what they begin with is asked for, besides those that some have."""
    yield from _from_headings(passages)
    text = "\n".join(it for it in passages[0].chunk.text.splitlines() if not it.startswith("#")).strip()
    first, *others = _SENTENCE_END.split(text, maxsplit=1)
    sentence = " ".join(first.split())
    if _tells(sentence, _LEAST_SENTENCE_WORDS):
        rest = "\n".join([*others, *(it.chunk.text for it in passages[1:])])
        yield Question(MEMORIES, sentence, frozenset([passage_id(passages[0])]), overlap(sentence, rest))


def _nothing(passages: Sequence[Stored]) -> Iterator[Question]:
    return iter(())


# How questions are made of each kind of record; the other kinds, commits say, are no answers either.
MAKERS: Mapping[str, Callable[[Sequence[Stored]], Iterator[Question]]] = MappingProxyType(
    {"doc": _from_headings, "memory": _from_notes, "code": _from_docstrings}
)


# --- commits --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Touched:
    """A commit, with those of its files that are indexed and the words of its subject seen in them."""

    subject: str
    paths: tuple[tuple[str, str], ...]
    files: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    def saw(self, file: str, passages: Sequence[Stored]) -> None:
        self.files.add(file)
        asked = telling(self.subject)
        self.seen |= asked & {word for it in passages for word in telling(it.chunk.text)}

    def question(self) -> Question:
        share = len(self.seen) / len(telling(self.subject))
        return Question(COMMITS, self.subject, frozenset(self.files), share)


def _touched(history: History) -> list[_Touched]:
    return [
        _Touched(subject, tuple((collection, path) for path in paths))
        for collection, commits in history.items()
        for said, paths in commits
        if len(paths) <= MAX_TOUCHED and _tells(subject := _subject(said), _LEAST_SENTENCE_WORDS)
    ]


def _subject(said: str) -> str:
    """Without what conventions put around it; one too long to be asked stays as it is."""
    return _CONVENTIONAL.sub("", said) if len(said) <= _LONGEST_CHARS else said


def _by_path(touched: Sequence[_Touched]) -> dict[tuple[str, str], list[_Touched]]:
    by_path: dict[tuple[str, str], list[_Touched]] = {}
    for commit in touched:
        for place in commit.paths:
            by_path.setdefault(place, []).append(commit)
    return by_path


# --- words ----------------------------------------------------------------------------------


def overlap(text: str, elsewhere: str) -> float:
    """Which share of the telling words of a text stand elsewhere too."""
    asked = telling(text)
    return len(asked & telling(elsewhere)) / len(asked) if asked else 0.0


def telling(text: str) -> set[str]:
    """Words in lower case, identifiers in parts, without those that say nothing."""
    return {part for word in words(text) for part in (name_parts(word) or [word])} - STOP_WORDS


def _tells(text: str, least: int) -> bool:
    """Whether it has enough words to be a question; a script without spaces has one for every two characters."""
    joined = sum(len(run) // 2 for word in words(text) for run in cjk_runs(word))
    return len(text) <= _LONGEST_CHARS and max(len(telling(text)), joined) >= least
