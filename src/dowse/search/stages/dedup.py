"""Remove duplicates, near-duplicates and repeated files, and diversify."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dowse.encoders.base import CONTRACT_DUPLICATE_SIMILARITY, DEFAULT_TRAITS
from dowse.errors import BadInput
from dowse.model import Hit
from dowse.search.run import SearchRun
from dowse.search.stages.base import multiply_score, relevance, rescore, sort_by_score
from dowse.search.stages.scores import scale_min_max

if TYPE_CHECKING:
    from dowse.store.types import Matrix, Vector

# --------------------------------------------------------------------------------------------------
# Cosine similarity between hits, by their stored vectors.

_COSINE_ROUNDING_DIGITS = 6  # vectors are stored with lower precision, so further digits are noise


def hit_similarities(hits: Sequence[Hit], run: SearchRun) -> Matrix | None:
    """Return the matrix of cosines between hits; a hit without a vector has 0. Return None, with a note, if none has
    one."""
    if not hits:
        return None
    vectors = run.view.vectors([hit.stored.key for hit in hits])
    if not vectors:
        run.notes.append("skipped: the hits have no vectors")
        return None
    without = sum(hit.stored.key not in vectors for hit in hits)
    if without:
        run.notes.append(f"{without} of {len(hits)} hits have no vector and count as dissimilar")
    return _hit_cosine_matrix([vectors.get(hit.stored.key) for hit in hits])


def _hit_cosine_matrix(vectors: Sequence[Vector | None]) -> Matrix:
    import numpy as np

    width = next(len(vector) for vector in vectors if vector is not None)
    nothing = np.zeros(width, dtype=np.float32)
    rows = np.stack([nothing if vector is None else vector for vector in vectors])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    result: Matrix = np.round(unit @ unit.T, _COSINE_ROUNDING_DIGITS)
    return result


_DEDUP_WORD = re.compile(r"\w+")
_MIN_COMMON_WORDS = 0.5  # minimum share of common words in passages with the same content
_COMMON_FROM = 3  # parts that occur in more passages than this count less

# Maps a hit's index to that of the kept hit it duplicates, or None to keep it.
_FindOriginal = Callable[[int], int | None]


def exact_dedup(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Fold passages that differ only in case, whitespace or Unicode normalisation."""
    texts = [_normalize_text(hit) for hit in hits]
    first: dict[str, int] = {}

    def original(place: int) -> int | None:
        original_place = first.setdefault(texts[place], place)
        return None if original_place == place else original_place

    return _fold_duplicates(hits, original)


@dataclass(frozen=True, slots=True)
class NgramDedup:
    """Folds passages that share most word n-grams (Jaccard), both unweighted and with common n-grams discounted
    (`_WeightedOverlap`)."""

    threshold: float = 0.7
    n: int = 3

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        overlap = _WeightedOverlap([_word_ngrams(_normalize_text(hit), self.n) for hit in hits])
        # Only passages that share an n-gram with a kept hit are compared.
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

        return _fold_duplicates(hits, original)

    def _same(self, both: int, sizes: int) -> bool:
        return both / (sizes - both) >= self.threshold


@dataclass(frozen=True, slots=True)
class SemanticDedup:
    """Folds passages with the same meaning: their vectors are similar and they share words. A query may set the
    threshold.

    Thresholds are those of the contract, where `CONTRACT_DUPLICATE_SIMILARITY` means the same text in other words. They
    are converted to the scale of the current encoder (`EncoderTraits.duplicate_similarity`) and to a share of common
    words.
    """

    threshold: float = CONTRACT_DUPLICATE_SIMILARITY

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        similarity = hit_similarities(hits, run)
        if similarity is None:
            return hits
        threshold = self.threshold if run.query.dedup_threshold is None else run.query.dedup_threshold
        min_cosine = _convert_threshold(
            threshold, (run.vector.traits if run.vector else DEFAULT_TRAITS).duplicate_similarity
        )
        min_word_overlap = _convert_threshold(threshold, _MIN_COMMON_WORDS)
        rows = (similarity >= min_cosine).tolist()
        if not any(any(row[:place]) for place, row in enumerate(rows)):
            return hits  # skip the slow split into words
        overlap = _WeightedOverlap([frozenset(_DEDUP_WORD.findall(_normalize_text(hit))) for hit in hits])
        kept: list[int] = []

        def original(place: int) -> int | None:
            near = (it for it in kept if rows[place][it])
            alike = next((it for it in near if overlap.jaccard(place, it) >= min_word_overlap), None)
            if alike is None:
                kept.append(place)
            return alike

        return _fold_duplicates(hits, original)


def _convert_threshold(threshold: float, same: float) -> float:
    """Convert a threshold of the contract to a scale where `same` corresponds to the duplicate threshold; 1 stays 1."""
    return 1 - (1 - threshold) * (1 - same) / (1 - CONTRACT_DUPLICATE_SIMILARITY)


class _WeightedOverlap:
    """The weighted Jaccard similarity of passages.

    Parts that many passages share are boilerplate and do not make two passages equal. They count less, the more
    passages contain them.
    """

    def __init__(self, parts: Sequence[Set[str]]) -> None:
        self.parts = parts
        self._counts = Counter(chain.from_iterable(parts))

    def jaccard(self, one: int, other: int) -> float:
        mine, others = self.parts[one], self.parts[other]
        return self._weight(mine & others) / (self._weight(mine | others) or 1.0)

    def _weight(self, parts: Iterable[str]) -> float:
        return sum(min(1.0, _COMMON_FROM / self._counts[part]) for part in parts)


def _fold_duplicates(hits: list[Hit], original: _FindOriginal) -> list[Hit]:
    """Fold duplicates into the best hit and record their number in its evidence."""
    duplicates: dict[int, float] = {}
    for place, hit in enumerate(hits):
        same = original(place)
        if same is None:
            duplicates[place] = hit.evidence.get("duplicates", 0)
        else:
            duplicates[same] += 1 + hit.evidence.get("duplicates", 0)
    return [_add_duplicate_count(hits[place], count) for place, count in duplicates.items()]


def _add_duplicate_count(hit: Hit, duplicates: float) -> Hit:
    return rescore(hit, hit.score, duplicates=duplicates) if duplicates else hit


def _normalize_text(hit: Hit) -> str:
    return " ".join(unicodedata.normalize("NFKC", hit.stored.chunk.text).casefold().split())


def _word_ngrams(text: str, n: int) -> set[str]:
    """Return all runs of `n` words; a shorter text is one run."""
    words = _DEDUP_WORD.findall(text)
    runs = range(max(1, len(words) - n + 1)) if words else ()
    return {" ".join(words[start : start + n]) for start in runs}


# --------------------------------------------------------------------------------------------------
# Detection of build output and of older versions next to newer ones.

_BUILT_FILE = re.compile(r"(\.d)?\.[cm]?jsx?$|\.d\.[cm]?ts$")
_TYPESCRIPT_FILE = re.compile(r"\.[cm]?tsx?$")
# Directories that denote a build stage, not a subject.
_STAGE_DIRECTORIES = frozenset(("src", "lib", "dist", "build", "out", "esm", "cjs", "es", "umd"))
_VERSION_DIRECTORY = re.compile(r"(?:^|/)v(\d{1,4})(?=/)")


def find_built_copies(paths: Iterable[str]) -> frozenset[str]:
    """Return JavaScript and declaration files whose TypeScript source is among the paths."""
    sources: set[str] = set()
    built: dict[str, str] = {}
    for path in paths:
        if _BUILT_FILE.search(path):
            built[path] = _strip_stage_directories(_BUILT_FILE.sub("", path))
        elif _TYPESCRIPT_FILE.search(path):
            sources.add(_strip_stage_directories(_TYPESCRIPT_FILE.sub("", path)))
    return frozenset(path for path, stem in built.items() if stem in sources)


def _strip_stage_directories(stem: str) -> str:
    return "/".join(part for part in PurePosixPath(stem).parts if part not in _STAGE_DIRECTORIES)


def find_older_versions(paths: Iterable[str], asked: str) -> frozenset[str]:
    """Return files below `v3/` if there is a `v4/` next to it, unless the query names that version."""
    found = [(path, match) for path in paths for match in _VERSION_DIRECTORY.finditer(path)]
    newest: defaultdict[str, int] = defaultdict(int)
    for path, match in found:
        newest[path[: match.start()]] = max(newest[path[: match.start()]], int(match[1]))
    wanted = {int(number) for number in re.findall(r"\bv(\d{1,4})\b", asked)}
    return frozenset(
        path for path, match in found if int(match[1]) < newest[path[: match.start()]] and int(match[1]) not in wanted
    )


# --------------------------------------------------------------------------------------------------
# Diversity: novel passages move up, and no record fills the answer alone.


@dataclass(frozen=True, slots=True)
class Mmr:
    """Maximal marginal relevance: the next hit is the best mix of relevance and novelty.

    The mix is `lambda_ × relevance + (1 - lambda_) × novelty`, both from 0 to 1. It gives the same order as the classic
    difference. Scores stay with the positions, because they measure relevance, not novelty.
    """

    lambda_: float = 0.7

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        similarity = hit_similarities(hits, run)
        return hits if similarity is None else list(self._select(hits, similarity))

    def _select(self, hits: list[Hit], similarity: Matrix) -> Iterator[Hit]:
        import numpy as np

        relevances = np.array(scale_min_max([relevance(hit) for hit in hits]))
        redundancy = np.zeros(len(hits))
        remaining = np.ones(len(hits), dtype=bool)
        for place in hits:
            values = self.lambda_ * relevances + (1 - self.lambda_) * (1 - redundancy)
            best = int(np.argmax(np.where(remaining, values, -np.inf)))
            novelty = 1 - float(redundancy[best])
            mmr_evidence = {"mmr": float(values[best]), "relevance": float(relevances[best]), "novelty": novelty}
            yield rescore(hits[best], place.score, **mmr_evidence)
            remaining[best] = False
            redundancy = np.maximum(redundancy, np.minimum(similarity[best], 1.0))


@dataclass(frozen=True, slots=True)
class PerRecord:
    """Keeps the best `limit` passages of each record."""

    limit: int = 2

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        seen: Counter[tuple[str, str]] = Counter()
        kept: list[Hit] = []
        for hit in hits:
            record = (hit.stored.record.collection, hit.stored.record.path)
            if seen[record] < self.limit:
                seen[record] += 1
                kept.append(hit)
        return kept


# --------------------------------------------------------------------------------------------------
# Preferences of a subject: documents promoted or demoted by hand for one session.

MIN_PREFERENCE_DELTA, MAX_PREFERENCE_DELTA = -0.9, 4.0
MIN_PREFERENCE_FACTOR = 0.1  # even a fully demoted document can still be found


@dataclass(frozen=True, slots=True)
class Preference:
    """A change of a document's weight: a delta of 0.2 adds a fifth, -0.5 halves it."""

    delta: float = 0.0

    @property
    def multiplier(self) -> float:
        return max(MIN_PREFERENCE_FACTOR, 1 + self.delta)

    def shifted_by(self, delta: float) -> Preference:
        return Preference(min(max(self.delta + delta, MIN_PREFERENCE_DELTA), MAX_PREFERENCE_DELTA))


class Preferences:
    """The preferences of each subject, by collection and path. Changes add up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_subject: defaultdict[str, dict[tuple[str, str], Preference]] = defaultdict(dict)

    def move(self, subject: str, collection: str, path: str, delta: float) -> Preference:
        if math.isnan(delta):
            raise BadInput("the delta is not a number; give one from -0.9 to 4")
        with self._lock:
            preferences = self._by_subject[subject]
            preferences[collection, path] = preferences.get((collection, path), Preference()).shifted_by(delta)
            return preferences[collection, path]

    def factors_for(self, subject: str) -> Mapping[tuple[str, str], float]:
        """Return a copy of the subject's factors."""
        with self._lock:
            return {place: it.multiplier for place, it in self._by_subject.get(subject, {}).items()}


def subject_priors(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Multiply scores by the preferences of the query's subject."""
    return sort_by_score([_apply_preference(hit, run.priors) for hit in hits]) if run.priors else hits


def _apply_preference(hit: Hit, priors: Mapping[tuple[str, str], float]) -> Hit:
    prior = priors.get((hit.stored.record.collection, hit.stored.record.path), 1.0)
    return multiply_score(hit, prior, prior=prior)
