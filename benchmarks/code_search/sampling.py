"""Questions drawn from a corpus itself, the same ones on every machine: words of all frequencies, phrases, names.

Nothing is drawn in proportion to how often it stands there: of each band of frequencies, from once to nearly
everywhere, comes the same number.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TypeVar

SEED = 20261115
QUERIES = 60
FILES = 1200
_WORD = re.compile(r"[a-z_][a-z0-9_]{2,40}", re.ASCII | re.IGNORECASE)
_PHRASE = re.compile(r"(?<!\S)([a-z]{2,20}) ([a-z]{2,20}) ([a-z]{2,20})(?!\S)", re.ASCII | re.IGNORECASE)
_CALL = re.compile(r"\b([a-z_]\w{2,30})\.([a-z_]\w{2,30})\(", re.ASCII | re.IGNORECASE)

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Sample:
    """What stands in some of the files: words by the number of them that have it, and pieces of their lines.

    `pairs` are two words of the same file.
    """

    words: Mapping[str, int]
    pairs: Sequence[tuple[str, ...]]
    phrases: Sequence[str]
    calls: Sequence[tuple[str, str]]


def sampled(paths: Iterable[Path]) -> Sample:
    words: Counter[str] = Counter()
    pairs: list[tuple[str, ...]] = []
    phrases: set[str] = set()
    calls: set[tuple[str, str]] = set()
    for path in _some(sorted(paths), FILES):
        text = path.read_text(encoding="utf-8", errors="replace")
        own = {it.lower() for it in _WORD.findall(text)}
        words.update(own)
        pairs.append(tuple(drawn(own, 2, path.name)))
        phrases.update(" ".join(it).lower() for it in _PHRASE.findall(text)[:20])
        calls.update(_CALL.findall(text)[:20])
    return Sample(dict(sorted(words.items())), [it for it in pairs if len(it) == 2], sorted(phrases), sorted(calls))


def across(weights: Mapping[Thing, int], count: int, salt: str = "") -> list[Thing]:
    """So many of them, in turn from each band of weights; a band is twice as wide as the one before it."""
    ordered = sorted(weights, key=lambda it: (weights[it].bit_length(), str(it)))
    bands = [list(it) for _, it in groupby(ordered, key=lambda it: weights[it].bit_length())]
    for band in bands:
        _shuffled(band, salt)
    nothing = object()
    turns = (it for turn in zip_longest(*bands, fillvalue=nothing) for it in turn if it is not nothing)
    return [it for it, _ in zip(turns, range(count), strict=False)]  # type: ignore[misc]


def drawn(things: Iterable[Thing], count: int, salt: str = "") -> list[Thing]:
    """So many of them, each as likely; fewer where there are fewer."""
    shuffled = sorted(things, key=str)
    _shuffled(shuffled, salt)
    return shuffled[:count]


def parts_of(words: Sequence[str]) -> list[str]:
    """The middle of each word, at least four letters: what is looked for without knowing the whole."""
    return [
        word[1:5] if len(word) < 7 else word[len(word) // 4 : len(word) // 4 + max(4, len(word) // 2)] for word in words
    ]


_SHAPES: tuple[Callable[[str, str], str], ...] = (
    lambda left, right: rf"{left}\.{right}\s*\(",
    lambda left, right: rf"\b{right}\w*\(\)",
    lambda left, right: rf"^\s*(return|if|var)\b.*{left}",
    lambda left, right: rf"{right}\s*\([^)]*{left[:4]}",
    lambda left, right: rf"(new|=)\s+\w*{left[:5]}\w*\.",
    lambda left, right: rf"{left[:3]}\w*\.{right[:4]}\w*\s*\(",
)


def regexes(calls: Sequence[tuple[str, str]]) -> list[str]:
    """Of each call one regex, in turn of each shape people look for: calls, statements, arguments, halves of names."""
    return [_SHAPES[number % len(_SHAPES)](*call) for number, call in enumerate(calls)]


def word_regexes(words: Sequence[str]) -> list[str]:
    """In turn: a beginning, an end, a middle left open."""
    shapes = (r"{head}\w*", r"\w*{tail}", r"{head}\w*{tail}")
    return [
        shapes[number % 3].format(head=word[: max(3, len(word) // 2)], tail=word[-max(3, len(word) // 3) :])
        for number, word in enumerate(words)
    ]


def _some(paths: Sequence[Path], count: int) -> list[Path]:
    """Evenly spread over the sorted paths."""
    return [paths[number * len(paths) // count] for number in range(count)] if len(paths) > count else list(paths)


def _shuffled(things: list[Thing], salt: str) -> None:
    random.Random(f"{SEED}{salt}").shuffle(things)
