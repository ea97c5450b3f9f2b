"""The same thing once: repeated, nearly repeated and reworded passages are folded into the best of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.likeness import cosines
from dowse.search.refine.stage import rescored
from dowse.search.run import Run

_WORD = re.compile(r"\w+")

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
    """Passages that share most of their runs of `n` words (Jaccard)."""

    threshold: float = 0.7
    n: int = 3

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        grams = [_ngrams(_normal(hit), self.n) for hit in hits]
        # Which kept hits hold an n-gram: only those that share some are ever compared.
        holders: dict[str, list[int]] = defaultdict(list)

        def original(place: int) -> int | None:
            mine = grams[place]
            shared = Counter(holder for gram in mine for holder in holders.get(gram, ()))
            alike = [it for it, both in shared.items() if self._same(both, len(mine) + len(grams[it]))]
            if alike:
                return min(alike)
            for gram in mine:
                holders[gram].append(place)
            return None

        return _folded(hits, original)

    def _same(self, both: int, sizes: int) -> bool:
        return both / (sizes - both) >= self.threshold


@dataclass(frozen=True, slots=True)
class SemanticDedup:
    """Passages whose vectors point the same way; a query may ask for another threshold."""

    threshold: float = 0.85

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        likeness = cosines(hits, run)
        if likeness is None:
            return hits
        rows = likeness.tolist()
        threshold = self.threshold if run.query.same_above is None else run.query.same_above
        kept: list[int] = []

        def original(place: int) -> int | None:
            alike = next((it for it in kept if rows[place][it] >= threshold), None)
            if alike is None:
                kept.append(place)
            return alike

        return _folded(hits, original)


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
