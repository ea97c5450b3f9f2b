"""Step 3: from the teacher's view of single words to vectors whose sums rank as the teacher does. numpy only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bags = Sequence[NDArray[np.int32]]

EPOCHS = 3
TAUGHT, UNTAUGHT = 128, 384
RATE = 4e-3
TEMPERATURE = 0.05
# How much the teacher's vectors and its order of a batch count beside the pairs themselves.
COSINE, ORDER = 1.0, 1.0
SMOOTHING = 3e-4


@dataclass(frozen=True, slots=True)
class Space:
    """The teacher's vectors, centred and turned to the directions in which they differ most."""

    middle: Floats
    axes: Floats

    @classmethod
    def of(cls, vectors: Floats, dimension: int) -> Space:
        middle = vectors.mean(axis=0)
        _, _, axes = np.linalg.svd(vectors - middle, full_matrices=False)
        return cls(middle, axes[:dimension].T.astype(np.float32))

    def project(self, vectors: Floats, middle: Floats | None = None) -> Floats:
        return (vectors - (self.middle if middle is None else middle)) @ self.axes


def first_table(words: Floats, counts: Sequence[int], space: Space) -> Floats:
    """What the teacher says of each word alone; frequent words say little (smooth inverse frequency)."""
    shares = (np.array(counts, dtype=np.float32) + 1) / (sum(counts) + len(counts))
    weights = SMOOTHING / (SMOOTHING + shares)
    table = unit(space.project(words, words.mean(axis=0))) * weights[:, np.newaxis]
    table[0] = 0  # the unknown word
    return table.astype(np.float32)


def unit(rows: Floats) -> Floats:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)


# --- training -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lesson:
    """Pairs as bags of token numbers; the first ones have the teacher's vectors as well."""

    queries: Bags
    passages: Bags
    taught_queries: Floats
    taught_passages: Floats


def train(table: Floats, lesson: Lesson, seed: int, tell: Callable[[Floats], str]) -> Floats:
    """The rate falls to nothing, so that the last steps settle what the first ones found."""
    adam = _Adam(table.copy(), np.zeros_like(table), np.zeros_like(table), np.zeros(len(table), dtype=np.int32))
    random = np.random.default_rng(seed)
    for epoch in range(EPOCHS):
        batches = list(_batches(lesson, random))
        losses = []
        for number, batch in enumerate(batches):
            adam.rate = RATE * (1 - (epoch + number / len(batches)) / EPOCHS)
            losses.append(_step(adam, lesson, *batch))
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {tell(adam.table)}", flush=True)
    return adam.table


def _batches(lesson: Lesson, random: np.random.Generator) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Numbers of pairs, the taught ones first, and how many those are; one pass over all the others."""
    taught = len(lesson.taught_queries)
    others = taught + random.permutation(len(lesson.queries) - taught)
    for start in range(0, len(others) - UNTAUGHT + 1, UNTAUGHT):
        chosen = random.choice(taught, TAUGHT, replace=False)
        yield np.concatenate([chosen, others[start : start + UNTAUGHT]]), TAUGHT


def _step(adam: _Adam, lesson: Lesson, batch: NDArray[np.intp], taught: int) -> float:
    queries = _Summed.of(adam.table, [lesson.queries[at] for at in batch])
    passages = _Summed.of(adam.table, [lesson.passages[at] for at in batch])
    to_queries, to_passages = np.zeros_like(queries.unit), np.zeros_like(passages.unit)
    # The right passage of each query among all of the batch, and the right query of each passage.
    truth = np.eye(len(batch), dtype=np.float32)
    scores = queries.unit @ passages.unit.T / TEMPERATURE
    forth, loss = _cross_entropy(scores, truth)
    back, loss_back = _cross_entropy(scores.T, truth)
    slope = (forth + back.T) / 2
    # The teacher's order of the taught ones.
    wanted_queries, wanted_passages = lesson.taught_queries[batch[:taught]], lesson.taught_passages[batch[:taught]]
    order = _softmax(wanted_queries @ wanted_passages.T / TEMPERATURE)
    ordered, _ = _cross_entropy(scores[:taught, :taught], order)
    slope[:taught, :taught] += ORDER * ordered
    to_queries += slope @ passages.unit / TEMPERATURE
    to_passages += slope.T @ queries.unit / TEMPERATURE
    to_queries[:taught] -= COSINE * wanted_queries / taught
    to_passages[:taught] -= COSINE * wanted_passages / taught
    adam.move(*_gathered((queries, to_queries), (passages, to_passages)))
    return (loss + loss_back) / 2


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _cross_entropy(scores: Floats, wanted: Floats) -> tuple[Floats, float]:
    """Its slope by the scores, and its value."""
    given = _softmax(scores)
    return (given - wanted) / len(scores), float(-(wanted * np.log(given + 1e-9)).sum() / len(scores))


@dataclass(frozen=True, slots=True)
class _Summed:
    """Unit vectors of bags, with what is needed to go back to the words."""

    words: NDArray[np.int32]
    owner: NDArray[np.intp]
    lengths: Floats
    unit: Floats

    @classmethod
    def of(cls, table: Floats, bags: Bags) -> _Summed:
        words = np.concatenate(bags)
        sizes = np.array([len(bag) for bag in bags])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        sums = np.add.reduceat(table[words], starts)
        lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        return cls(words, np.repeat(np.arange(len(bags)), sizes), lengths, sums / lengths)

    def slope(self, to_unit: Floats) -> Floats:
        """By the sums: what points along the vector changes its length only."""
        along = (to_unit * self.unit).sum(axis=1, keepdims=True)
        return (to_unit - along * self.unit) / self.lengths


def _gathered(*sides: tuple[_Summed, Floats]) -> tuple[NDArray[np.int32], Floats]:
    """The words of the batch, each once, with the slope by its vector."""
    words = np.concatenate([side.words for side, _ in sides])
    slopes = np.concatenate([side.slope(to_unit)[side.owner] for side, to_unit in sides])
    order = np.argsort(words, kind="stable")
    firsts = np.flatnonzero(np.diff(words[order], prepend=-1))
    return words[order][firsts], np.add.reduceat(slopes[order], firsts)


@dataclass(slots=True)
class _Adam:
    """Only the words of a batch move."""

    table: Floats
    first: Floats
    second: Floats
    times: NDArray[np.int32]
    rate: float = RATE

    def move(self, words: NDArray[np.int32], slope: Floats) -> None:
        self.times[words] += 1
        times = self.times[words][:, np.newaxis]
        self.first[words] = 0.9 * self.first[words] + 0.1 * slope
        self.second[words] = 0.99 * self.second[words] + 0.01 * slope**2
        first = self.first[words] / (1 - 0.9**times)
        second = self.second[words] / (1 - 0.99**times)
        self.table[words] -= self.rate * first / (np.sqrt(second) + 1e-9)
        self.table[0] = 0
