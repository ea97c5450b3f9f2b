"""The same thing once: repeated, nearly repeated and reworded passages are folded into the best of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from dowse.encoders.base import SAME, UNMEASURED
from dowse.model import Hit
from dowse.search.refine.likeness import cosines
from dowse.search.refine.stage import rescored
from dowse.search.run import Run

_WORD = re.compile(r"\w+")
_SAME_WORDS = 0.5  # of the words of two passages that say the same, at least so many are in both
_FEW = 3  # what more passages than this have in common counts less

# Given a hit's place, the place of the best kept hit that it repeats, or None: then it is kept itself.
_Original = Callable[[int], int | None]


def exact_dedup(hits: list[Hit], run: Run) -> list[Hit]:
    """Passages whose text differs in case, spacing or forms of the same characters at most."""
    texts = [_normal(hit) for hit in hits]
    first: dict[str, int] = {}

    def original(place: int) -> int | None:
        held = first.setdefault(texts[place], place)
        return None if held == place else held

    return _folded(hits, original)


@dataclass(frozen=True, slots=True)
class NgramDedup:
    """Passages that share most of their runs of `n` words (Jaccard), also where common ones count less (`_Overlap`)."""

    threshold: float = 0.7
    n: int = 3

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        overlap = _Overlap([_ngrams(_normal(hit), self.n) for hit in hits])
        # Which kept hits hold an n-gram: only those that share some are ever compared.
        holders: dict[str, list[int]] = defaultdict(list)

        def original(place: int) -> int | None:
            grams = overlap.parts[place]
            shared = Counter(holder for gram in grams for holder in holders.get(gram, ()))
            near = [it for it, both in shared.items() if self._same(both, len(grams) + len(overlap.parts[it]))]
            alike = [it for it in near if overlap.jaccard(place, it) >= self.threshold]
            if alike:
                return min(alike)
            for gram in grams:
                holders[gram].append(place)
            return None

        return _folded(hits, original)

    def _same(self, both: int, sizes: int) -> bool:
        return both / (sizes - both) >= self.threshold


@dataclass(frozen=True, slots=True)
class SemanticDedup:
    """Passages that say the same: their vectors point the same way, and they share words. A query may ask for another
    threshold.

    Thresholds are those of the contract, made for an encoder for which `SAME` means the same text in other words. They
    are converted to the scale of the encoder at hand (`Traits.same`), and to the share of words in common.
    """

    threshold: float = SAME

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        likeness = cosines(hits, run)
        if likeness is None:
            return hits
        asked = self.threshold if run.query.same_above is None else run.query.same_above
        least = _converted(asked, (run.vector.traits if run.vector else UNMEASURED).same)
        least_words = _converted(asked, _SAME_WORDS)
        rows = (likeness >= least).tolist()
        if not any(any(row[:place]) for place, row in enumerate(rows)):
            return hits  # to part all words takes longer than all the rest
        overlap = _Overlap([frozenset(_WORD.findall(_normal(hit))) for hit in hits])
        kept: list[int] = []

        def original(place: int) -> int | None:
            near = (it for it in kept if rows[place][it])
            alike = next((it for it in near if overlap.jaccard(place, it) >= least_words), None)
            if alike is None:
                kept.append(place)
            return alike

        return _folded(hits, original)


def _converted(threshold: float, same: float) -> float:
    """A threshold of the contract on a scale where `same` means what `SAME` means there; 1 means 1 on both."""
    return 1 - (1 - threshold) * (1 - same) / (1 - SAME)


class _Overlap:
    """How much passages have in common, as a Jaccard index of their parts.

    A part that many passages have is a form they are all written in: it does not make two of them the same. So it
    counts the less, the more of them have it.
    """

    def __init__(self, parts: Sequence[Set[str]]) -> None:
        self.parts = parts
        self._counts = Counter(chain.from_iterable(parts))

    def jaccard(self, one: int, other: int) -> float:
        mine, others = self.parts[one], self.parts[other]
        return self._weight(mine & others) / (self._weight(mine | others) or 1.0)

    def _weight(self, parts: Iterable[str]) -> float:
        return sum(min(1.0, _FEW / self._counts[part]) for part in parts)


def _folded(hits: list[Hit], original: _Original) -> list[Hit]:
    """From the best down; whoever is kept says how many passages it stands for besides itself."""
    duplicates: dict[int, float] = {}
    for place, hit in enumerate(hits):
        same = original(place)
        if same is None:
            duplicates[place] = hit.evidence.get("duplicates", 0)
        else:
            duplicates[same] += 1 + hit.evidence.get("duplicates", 0)
    return [_counted(hits[place], count) for place, count in duplicates.items()]


def _counted(hit: Hit, duplicates: float) -> Hit:
    return rescored(hit, hit.score, duplicates=duplicates) if duplicates else hit


def _normal(hit: Hit) -> str:
    return " ".join(unicodedata.normalize("NFKC", hit.stored.chunk.text).casefold().split())


def _ngrams(text: str, n: int) -> set[str]:
    """Every run of `n` words; a text with fewer is one run."""
    words = _WORD.findall(text)
    runs = range(max(1, len(words) - n + 1)) if words else ()
    return {" ".join(words[start : start + n]) for start in runs}
