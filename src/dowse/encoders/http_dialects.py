"""How the three kinds of servers are asked for vectors, and where in their answers the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dowse.encoders.http_replies import Failure

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

# Four times as many as any model in wide use gives; an answer with more is none of a model for texts.
MOST_NUMBERS = 16_384


@dataclass(frozen=True, slots=True)
class Dialect:
    path: str
    question: Callable[[str, Sequence[str]], object]
    rows: Callable[[object], Sequence[object]]


def dialect_of(kind: str, url: str) -> Dialect:
    if kind == "ollama":
        return Dialect("/api/embed", _named_and_cut, lambda answer: _list(_field(answer, "embeddings")))
    if kind == "tei":
        return Dialect("/embed", lambda _, texts: {"inputs": list(texts), "truncate": True}, _list)
    # Addresses of this kind are often given with the version already in them.
    return Dialect("/embeddings" if url.endswith("/v1") else "/v1/embeddings", _named, _openai_rows)


def unit_rows(rows: Sequence[object], count: int, dimension: int | None = None) -> Matrix:
    """The rows as unit vectors; anything else than `count` finite ones of one dimension raises Failure."""
    import numpy as np

    if len(rows) != count:
        raise Failure(f"gave {len(rows)} vectors for {count} texts")
    numbers = [_numbers(row) for row in rows]
    size = len(numbers[0]) if dimension is None else dimension
    if size > MOST_NUMBERS:
        raise Failure(f"gave a vector of {size:,} numbers, more than {MOST_NUMBERS:,}: choose another model")
    for row in numbers:
        if len(row) != size:
            raise Failure(f"gave a vector of {len(row)} numbers where {size} were expected")
    values = np.array(numbers, dtype=np.float64)
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(values, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        raise Failure("gave a vector that is zero or not finite")
    unit: Matrix = (values / norms).astype(np.float32)
    return unit


def _named(model: str, texts: Sequence[str]) -> object:
    return {"model": model, "input": list(texts)}


def _named_and_cut(model: str, texts: Sequence[str]) -> object:
    # It is said to be the default, but some versions refuse long texts without it.
    return {"model": model, "input": list(texts), "truncate": True}


def _openai_rows(answer: object) -> Sequence[object]:
    items = _list(_field(answer, "data"))
    rows = {_field(item, "index"): _field(item, "embedding") for item in items}
    # Numbers of JSON are floats here, and 1.0 is the same key as 1.
    if rows.keys() != set(range(len(items))):
        raise Failure("gave vectors that are not numbered from 0 on")
    return [rows[place] for place in range(len(items))]


def _field(value: object, name: str) -> object:
    if not isinstance(value, dict) or name not in value:
        raise Failure(f"answered without `{name}`: check the kind and the address")
    return value[name]


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise Failure("answered without a list of vectors: check the kind and the address")
    return value


def _numbers(row: object) -> list[float]:
    if not isinstance(row, list) or not all(type(it) is float for it in row):
        raise Failure("gave a vector that is not a list of numbers")
    return row
