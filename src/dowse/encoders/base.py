"""The protocols of encoders and rerankers, their calibration, and batching."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


class Encoder(Protocol):
    """A text encoder. `fingerprint` identifies model, weights and dimension; vectors of two fingerprints are never
    mixed."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one L2-normalised float32 row per text, in order; a text without content gives a zero row."""
        ...


CONTRACT_DUPLICATE_SIMILARITY = 0.85
"""The cosine above which two passages have the same content, on the scale of the thresholds in the contracts."""


@dataclass(frozen=True, slots=True)
class EncoderTraits:
    """Measured properties of an encoder.

    - `ranking_weight`: weight of its ranking relative to a lexical one (1 is equal).
    - `similarity_floor`: the cosine below which two texts are unrelated; 0 if unknown.
    - `duplicate_similarity`: the cosine above which two passages have the same content.
    - `min_confidence`: minimum confidence of the best hit for the index to cover a question.
    - `unknown_word_penalty`: log-odds that a question loses if the index contains none of its words; 0 if the
      encoder was calibrated without it, and without the two rules of the planner that belong to it.
    """

    ranking_weight: float = 1.0
    similarity_floor: float = 0.0
    duplicate_similarity: float = CONTRACT_DUPLICATE_SIMILARITY
    min_confidence: float = 0.0911
    unknown_word_penalty: float = 0.0


DEFAULT_TRAITS = EncoderTraits()


@runtime_checkable
class MeasuredEncoder(Protocol):
    """An encoder with measured traits."""

    @property
    def traits(self) -> EncoderTraits: ...


def get_traits(encoder: Encoder) -> EncoderTraits:
    return encoder.traits if isinstance(encoder, MeasuredEncoder) else DEFAULT_TRAITS


@runtime_checkable
class SkippingEncoder(Protocol):
    """An encoder that returns a zero row for a text it cannot encode, instead of raising."""

    def take_problem(self) -> str:
        """Return and clear a sentence about the texts skipped since the last call; empty if there were none."""
        ...


def take_encoder_problem(encoder: Encoder) -> str:
    return encoder.take_problem() if isinstance(encoder, SkippingEncoder) else ""


# --------------------------------------------------------------------------------------------------
# Batching of texts by length, so that partial results of a long run can be stored.

# About 6,000 tokens, or 15 texts over all cores: a third of a second for the transformer on two cores.
BATCH_CHARS = 24_000
# The model truncates most of the text beyond this, so it costs nothing and must not count.
MAX_COUNTED_CHARS = 2_400


def encode_in_batches(encoder: Encoder, texts: Sequence[str]) -> Iterator[tuple[list[int], Matrix]]:
    """Yield (positions in `texts`, their rows), short texts first. Each position occurs once."""
    for positions in group_by_similar_length(texts):
        yield positions, encoder.encode([texts[position] for position in positions])


def group_by_similar_length(texts: Sequence[str]) -> Iterator[list[int]]:
    """Group the positions of `texts` by similar length into batches of about equal work."""
    lengths = [min(len(text), MAX_COUNTED_CHARS) + 1 for text in texts]
    return pack_by_length(lengths, BATCH_CHARS)


def pack_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group positions by ascending length so that group size × longest member stays within the budget."""
    group: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[position] * (len(group) + 1) > budget:
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def group_by_equal_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group positions by equal length, in ascending order, so that the sum of each group stays within the budget."""
    by_length: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        by_length.setdefault(length, []).append(position)
    for length, positions in sorted(by_length.items()):
        count = max(1, budget // max(1, length))
        yield from (positions[start : start + count] for start in range(0, len(positions), count))


# --------------------------------------------------------------------------------------------------
# Thread-safe lazy loading of models.

LazyValueType = TypeVar("LazyValueType")


class LazyValue(Generic[LazyValueType]):
    """The value of `make`, computed by the first caller while others wait. A failure is retried by the next caller."""

    def __init__(self, make: Callable[[], LazyValueType]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._value: LazyValueType | None = None

    def __call__(self) -> LazyValueType:
        with self._lock:
            if self._value is None:
                self._value = self._make()
            return self._value


# --------------------------------------------------------------------------------------------------
# The reranker interface: a reranker scores how well a text answers a query.


class Reranker(Protocol):
    """A reranker. It is loaded once, on first use, and is thread-safe."""

    @property
    def name(self) -> str: ...

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text, in order; higher is better. Scores of different calls are not comparable."""
        ...
