"""Read gold sets of several formats."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from dowse.errors import BadInput
from dowse.text.json_lines import parse_json_object


class RelevanceJudge(Protocol):
    def gains(self, ranking: Sequence[str]) -> list[float]:
        """Return one gain per rank; 0 if the document is irrelevant or repeated."""
        ...

    def ideal(self) -> list[float]:
        """Return the gains of the best possible ranking, best first."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentJudge:
    """Relevance by exact document id; all gains are positive."""

    relevant: Mapping[str, float]

    def gains(self, ranking: Sequence[str]) -> list[float]:
        left = dict(self.relevant)
        return [left.pop(document, 0.0) for document in ranking]

    def ideal(self) -> list[float]:
        return sorted(self.relevant.values(), reverse=True)


@dataclass(frozen=True, slots=True)
class PathJudge:
    """Relevance by a substring of the path, case-sensitive, as (part, gain) pairs; all gains are positive.

    Each pair is credited once, at the first path that contains it. A path is credited for one pair only, the best
    remaining one. Otherwise a ranking could score above the ideal.
    """

    parts: tuple[tuple[str, float], ...]

    def gains(self, ranking: Sequence[str]) -> list[float]:
        left = self._best_first()
        credited = {path: _take_best_gain(path, left) for path in dict.fromkeys(ranking)}
        return [credited.pop(path, 0.0) for path in ranking]

    def ideal(self) -> list[float]:
        return [gain for _, gain in self._best_first()]

    def _best_first(self) -> list[tuple[str, float]]:
        return sorted(self.parts, key=lambda pair: pair[1], reverse=True)


def _take_best_gain(path: str, left: list[tuple[str, float]]) -> float:
    """Return the gain of the best matching pair and remove it from `left`."""
    for place, (part, gain) in enumerate(left):
        if part in path:
            del left[place]
            return gain
    return 0.0


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """A query and the judge of its answers; `collection` restricts where it applies, empty for anywhere."""

    id: str
    text: str
    judge: RelevanceJudge
    collection: str = ""


@dataclass(frozen=True, slots=True)
class GoldSet:
    """Queries with judgements, named after their source; `unjudged` counts those left out for lack of judgements."""

    name: str
    queries: tuple[GoldQuery, ...]
    unjudged: int = 0

    def __post_init__(self) -> None:
        if not self.queries:
            raise BadInput(f"{self.name}: no query has a relevant document; add judgements with a score above 0")


# --------------------------------------------------------------------------------------------------
# Readers of gold sets: a directory in BEIR layout, or JSON lines with judgements by path.

QRELS_HEADER = ["query-id", "corpus-id", "score"]
QRELS_PLACES = ("qrels.tsv", "qrels/test.tsv")

Judgements = dict[str, dict[str, float]]


class GoldLine(NamedTuple):
    """The location of a line, as shown in messages."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def read_gold(path: Path, documents: Container[str] | None = None) -> GoldSet:
    """Read a directory as BEIR, or a file as JSON lines."""
    return read_beir(path, documents) if path.is_dir() else read_gold_lines(path)


def read_beir(directory: Path, documents: Container[str] | None = None) -> GoldSet:
    """Read `queries.jsonl` and its judgements. If `documents` is given, judgements of others are an error."""
    queries = _read_queries(directory / "queries.jsonl")
    judged = _read_judgements(_find_qrels(directory), queries, documents)
    gold = tuple(GoldQuery(id, queries[id], DocumentJudge(judged[id])) for id in queries if judged.get(id))
    return GoldSet(str(directory), gold, unjudged=len(queries) - len(gold))


def read_gold_lines(path: Path) -> GoldSet:
    """Read lines of `{"slug", "collection", "query", "relevance": [{"path_contains", "gain"}]}`.

    The queries of a collection share its slug, so ids add the line number. Slug and collection are optional.
    """
    lines = [_gold_query(entry, where) for entry, where in _read_json_lines(path)]
    queries = tuple(query for query in lines if query.judge.ideal())
    return GoldSet(str(path), queries, unjudged=len(lines) - len(queries))


# --- BEIR -----------------------------------------------------------------------------------


def _read_queries(path: Path) -> dict[str, str]:
    queries: dict[str, str] = {}
    for entry, where in _read_json_lines(path):
        id, text = _require_text(entry, "_id", where), _require_text(entry, "text", where)
        if id in queries:
            raise BadInput(f"{where}: query {id!r} appears twice; give each query its own _id")
        queries[id] = text
    return queries


def _find_qrels(directory: Path) -> Path:
    for place in QRELS_PLACES:
        if (directory / place).is_file():
            return directory / place
    raise BadInput(f"{directory} has neither {' nor '.join(QRELS_PLACES)}; put the judgements in one of them")


def _read_judgements(qrels: Path, queries: Mapping[str, str], documents: Container[str] | None) -> Judgements:
    """Return the relevant documents by query. Scores of 0 and below mean irrelevant, like unjudged ones."""
    seen: Judgements = {}
    for query, document, score, where in _read_qrels(qrels):
        if query not in queries:
            raise BadInput(f"{where}: query {query!r} is not in queries.jsonl; add it or remove the line")
        if documents is not None and document not in documents:
            raise BadInput(f"{where}: document {document!r} is not in the corpus; add it or remove the line")
        if seen.setdefault(query, {}).setdefault(document, score) != score:
            raise BadInput(f"{where}: document {document!r} is judged twice with two scores; keep one line")
    return {query: {id: score for id, score in judged.items() if score > 0} for query, judged in seen.items()}


def _read_qrels(qrels: Path) -> Iterator[tuple[str, str, float, GoldLine]]:
    lines = _non_blank_lines(qrels)
    header, where = next(lines, (b"", GoldLine(qrels, 1)))
    if _split_fields(header, where) != QRELS_HEADER:
        raise BadInput(f"{where}: expected the header {' '.join(QRELS_HEADER)}, tab-separated; add it")
    for raw, where in lines:
        fields = _split_fields(raw, where)
        if len(fields) != len(QRELS_HEADER):
            raise BadInput(f"{where}: expected 3 tab-separated fields, found {len(fields)}; correct the line")
        yield fields[0], fields[1], _parse_score(fields[2], where), where


def _split_fields(raw: bytes, where: GoldLine) -> list[str]:
    try:
        return raw.decode("utf-8-sig").rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}: not UTF-8 text; save the file as UTF-8") from error


def _parse_score(field: str, where: GoldLine) -> float:
    try:
        score = float(field)
    except ValueError as error:
        raise BadInput(f"{where}: score {field!r} is not a number; correct the line") from error
    return _check_finite(score, "score", where)


# --- JSON lines with judgements by path -----------------------------------------------------


def _gold_query(entry: Mapping[str, object], where: GoldLine) -> GoldQuery:
    relevance = entry.get("relevance")
    if not isinstance(relevance, list):
        raise BadInput(f'{where}: "relevance" must be a list of {{"path_contains", "gain"}}; correct the line')
    pairs = [_parse_judgement(judgement, where) for judgement in relevance]
    slug = _require_text(entry, "slug", where, default="")
    return GoldQuery(
        id=f"{slug}:{where.line}" if slug else str(where.line),
        text=_require_text(entry, "query", where),
        judge=PathJudge(tuple((part, gain) for part, gain in pairs if gain > 0)),
        collection=_require_text(entry, "collection", where, default=""),
    )


def _parse_judgement(judgement: object, where: GoldLine) -> tuple[str, float]:
    if not isinstance(judgement, dict):
        raise BadInput(f'{where}: each relevance must be {{"path_contains", "gain"}}; correct the line')
    gain = judgement.get("gain")
    if isinstance(gain, bool) or not isinstance(gain, int | float):
        raise BadInput(f'{where}: "gain" must be a number; correct the line')
    return _require_text(judgement, "path_contains", where), _check_finite(gain, "gain", where)


# --- lines and values -----------------------------------------------------------------------


def _non_blank_lines(path: Path) -> Iterator[tuple[bytes, GoldLine]]:
    """Yield the lines that are not blank."""
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield raw, GoldLine(path, number)
    except OSError as error:
        raise BadInput(f"cannot read {path} ({error.strerror}); check the path of the gold set") from error


def _read_json_lines(path: Path) -> Iterator[tuple[dict[str, object], GoldLine]]:
    for raw, where in _non_blank_lines(path):
        yield parse_json_object(raw, where), where


def _require_text(entry: Mapping[str, object], key: str, where: GoldLine, default: str | None = None) -> str:
    """Return a non-empty string, or the default if the key is missing."""
    value = entry.get(key, default)
    if isinstance(value, str) and (value.strip() or value == default):
        return value
    raise BadInput(f'{where}: "{key}" must be a non-empty string; correct the line')


def _check_finite(number: float, name: str, where: GoldLine) -> float:
    try:
        finite = float(number)
    except OverflowError:
        finite = math.inf
    if not math.isfinite(finite):
        raise BadInput(f"{where}: {name} must be a finite number; correct the line")
    return finite
