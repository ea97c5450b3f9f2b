"""Files and directories by name: of the index, or of whatever was listed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from dowse.errors import BadInput
from dowse.lookup.fuzzy import fuzzy_score, letters_of, letters_regex
from dowse.model import NOT_LOOKED, Seen
from dowse.store.base import Store
from dowse.text.globs import compile_globs
from dowse.text.matching import PART, lines_with, nearness

Manner = Literal["part", "path", "glob", "regex", "fuzzy"]
"""part: of the name, or of the whole path where it holds a slash; path: of the whole path; glob and regex: of the name,
or with a slash of the whole path; fuzzy: its letters in this order."""

MAX_PATTERNS = 100


@dataclass(frozen=True, slots=True)
class NameQuery:
    """Which names: any of the patterns, and everything else that is given. Fuzzy never looks at case."""

    patterns: tuple[str, ...]
    manner: Manner = "part"
    ignore_case: bool = False
    extensions: tuple[str, ...] = ()  # with or without a dot; case does not count
    only: Literal["", "files", "directories"] = ""
    least_bytes: int = 0
    most_bytes: int | None = None
    max_depth: int = 0  # 1 is directly below the root; 0 is any
    collections: tuple[str, ...] = ()
    wanted: Callable[[str], bool] | None = None  # by path
    limit: int = 100  # 0 is all of them


class Entry(NamedTuple):
    """A file, or a directory that holds one; paths are relative to the collection."""

    collection: str
    path: str
    size: int = 0
    is_directory: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What is looked through: the last part of each entry's path stands beside it, as it is and in lower case."""

    entries: Sequence[Entry]
    names: Sequence[str]
    folded: Sequence[str]


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """The best of them; `total` counts all that match, `scanned` all that were looked at."""

    entries: tuple[Entry, ...]
    total: int
    scanned: int
    seen: Seen = NOT_LOOKED


def alternatives(text: str, manner: Manner) -> tuple[str, ...]:
    """`a, b` asks for either; in a regex, and in the braces of a glob, a comma is a comma."""
    if manner == "regex" or (manner == "glob" and "{" in text):
        return (text,)
    return tuple(part for part in map(str.strip, text.split(",")) if part)


def listing(files: Iterable[Entry]) -> Listing:
    """The files, and before them the directories that hold them."""
    listed = list(files)
    entries = [*(Entry(collection, path, 0, True) for collection, path in sorted(_directories(listed))), *listed]
    names = [it.path.rpartition("/")[2] for it in entries]
    return Listing(entries, names, [name.lower() for name in names])


def _directories(files: Iterable[Entry]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for it in files:
        path = it.path.rpartition("/")[0]
        while path and (it.collection, path) not in found:
            found.add((it.collection, path))
            path = path.rpartition("/")[0]
    return found


def indexed_names(store: Store) -> Listing:
    """Every indexed file and directory, listed once for each state of the index."""
    return store.remembered("names", lambda: listing(Entry(it.collection, it.path, it.size) for it in store.files()))


def find_names(names: Listing, query: NameQuery) -> NameAnswer:
    """Exact stems first, then those that begin with a pattern, then the rest; shorter ones first, then by path."""
    check(query)
    patterns = [pattern for pattern in query.patterns if pattern.strip()]
    matching = dict.fromkeys(chain.from_iterable(_by_pattern(names, pattern, query) for pattern in patterns))
    found = list(fitting(matching, query))
    best = sorted(found, key=_rank(patterns, query))
    return NameAnswer(tuple(best[: query.limit or None]), len(found), len(names.entries))


def check(query: NameQuery) -> None:
    if not any(pattern.strip() for pattern in query.patterns):
        raise BadInput("the pattern is empty; give a part of a name")
    if len(query.patterns) > MAX_PATTERNS:
        raise BadInput(f"{len(query.patterns):,} patterns are too many at once; at most {MAX_PATTERNS}")
    for name in ("limit", "max_depth", "least_bytes", "most_bytes"):
        if (getattr(query, name) or 0) < 0:
            raise BadInput(f"{name} must be 0 or more, not {getattr(query, name)}")


def _by_pattern(names: Listing, pattern: str, query: NameQuery) -> list[Entry]:
    if query.manner == "fuzzy":
        return _by_regex(names.entries, [it.path for it in names.entries], letters_regex(letters_of(pattern)), True)
    whole = query.manner == "path" or "/" in pattern
    subjects = [it.path for it in names.entries] if whole else names.names
    if query.manner == "regex":
        return _by_regex(names.entries, subjects, pattern, query.ignore_case)
    if query.ignore_case:
        pattern, subjects = pattern.lower(), [it.lower() for it in subjects] if whole else names.folded
    if query.manner == "glob":
        matches = compile_globs([pattern])
        return [it for it, subject in zip(names.entries, subjects, strict=True) if matches(subject)]
    return [it for it, subject in zip(names.entries, subjects, strict=True) if pattern in subject]


def _by_regex(entries: Sequence[Entry], subjects: Sequence[str], pattern: str, ignore_case: bool) -> list[Entry]:
    """A name with a line end in it is no line, and is not found."""
    lines = "\n".join(it for it in subjects if "\n" not in it).encode("utf-8", "replace")
    hits = lines_with(pattern, lines, ignore_case=ignore_case)
    return [it for it, subject in zip(entries, subjects, strict=True) if subject in hits]


def fitting(entries: Iterable[Entry], query: NameQuery) -> Iterable[Entry]:
    """What everything but the patterns lets in."""
    endings = tuple(f".{it.strip().lstrip('.').lower()}" for it in query.extensions)
    by_file = bool(endings or query.least_bytes or query.most_bytes is not None)
    most = math.inf if query.most_bytes is None else query.most_bytes
    return (
        it
        for it in entries
        if not (query.only and it.is_directory != (query.only == "directories"))
        and not (by_file and it.is_directory)
        and not (endings and not it.path.lower().endswith(endings))
        and query.least_bytes <= it.size <= most
        and not (query.max_depth and it.path.count("/") >= query.max_depth)
        and not (query.collections and it.collection not in query.collections)
        and (query.wanted is None or query.wanted(it.path))
    )


def _rank(patterns: Sequence[str], query: NameQuery) -> Callable[[Entry], tuple[object, ...]]:
    if query.manner == "fuzzy":
        asked = [letters_of(pattern) for pattern in patterns]
        return lambda it: (-_best_score(it.path, asked), len(it.path), it.path, it.collection)
    asked = [pattern.lower() if query.ignore_case else pattern for pattern in patterns]

    def rank(it: Entry) -> tuple[object, ...]:
        name = it.path.rpartition("/")[2]
        name = name.lower() if query.ignore_case else name
        stem = name.rpartition(".")[0] or name
        near = [level for level in (nearness(stem, asked), nearness(name, asked)) if level is not None]
        return min(near, default=PART), len(stem), it.path, it.collection

    return rank


def _best_score(path: str, asked: Iterable[str]) -> int:
    scores = (fuzzy_score(path, letters) for letters in asked)
    return max(score for score in scores if score is not None)
