"""Reads gold sets: a directory in the layout of BEIR, or JSON lines that judge by parts of the path."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dowse.errors import BadInput
from dowse.evaluate.gold import ByDocument, ByPath, Gold, GoldQuery
from dowse.text.json_lines import json_object

QRELS_HEADER = ["query-id", "corpus-id", "score"]
QRELS_PLACES = ("qrels.tsv", "qrels/test.tsv")

Judgements = dict[str, dict[str, float]]


class Place(NamedTuple):
    """Where a line stands, as messages show it."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def read_gold(path: Path, documents: Container[str] | None = None) -> Gold:
    """A directory is read as BEIR, a file as JSON lines."""
    return read_beir(path, documents) if path.is_dir() else read_gold_lines(path)


def read_beir(directory: Path, documents: Container[str] | None = None) -> Gold:
    """`queries.jsonl` and its judgements; given `documents`, a judgement of any other one is an error."""
    queries = _queries(directory / "queries.jsonl")
    judged = _judgements(_qrels(directory), queries, documents)
    gold = tuple(GoldQuery(id, queries[id], ByDocument(judged[id])) for id in queries if judged.get(id))
    return Gold(str(directory), gold, unjudged=len(queries) - len(gold))


def read_gold_lines(path: Path) -> Gold:
    """Lines of `{"slug", "collection", "query", "relevance": [{"path_contains", "gain"}]}`.

    A slug names a collection and is shared by its queries, so ids add the line's number; slug and
    collection may be left out.
    """
    lines = [_gold_query(entry, where) for entry, where in _json_lines(path)]
    queries = tuple(query for query in lines if query.judge.ideal())
    return Gold(str(path), queries, unjudged=len(lines) - len(queries))


# --- BEIR -----------------------------------------------------------------------------------


def _queries(path: Path) -> dict[str, str]:
    queries: dict[str, str] = {}
    for entry, where in _json_lines(path):
        id, text = _text(entry, "_id", where), _text(entry, "text", where)
        if id in queries:
            raise BadInput(f"{where}: query {id!r} appears twice; give each query its own _id")
        queries[id] = text
    return queries


def _qrels(directory: Path) -> Path:
    for place in QRELS_PLACES:
        if (directory / place).is_file():
            return directory / place
    raise BadInput(f"{directory} has neither {' nor '.join(QRELS_PLACES)}; put the judgements in one of them")


def _judgements(qrels: Path, queries: Mapping[str, str], documents: Container[str] | None) -> Judgements:
    """Relevant documents by query. Scores of 0 and below are judged irrelevant, which counts as unjudged."""
    seen: Judgements = {}
    for query, document, score, where in _rows(qrels):
        if query not in queries:
            raise BadInput(f"{where}: query {query!r} is not in queries.jsonl; add it or remove the line")
        if documents is not None and document not in documents:
            raise BadInput(f"{where}: document {document!r} is not in the corpus; add it or remove the line")
        if seen.setdefault(query, {}).setdefault(document, score) != score:
            raise BadInput(f"{where}: document {document!r} is judged twice with two scores; keep one line")
    return {query: {id: score for id, score in judged.items() if score > 0} for query, judged in seen.items()}


def _rows(qrels: Path) -> Iterator[tuple[str, str, float, Place]]:
    lines = _lines(qrels)
    header, where = next(lines, (b"", Place(qrels, 1)))
    if _fields(header, where) != QRELS_HEADER:
        raise BadInput(f"{where}: expected the header {' '.join(QRELS_HEADER)}, tab-separated; add it")
    for raw, where in lines:
        fields = _fields(raw, where)
        if len(fields) != len(QRELS_HEADER):
            raise BadInput(f"{where}: expected 3 tab-separated fields, found {len(fields)}; correct the line")
        yield fields[0], fields[1], _score(fields[2], where), where


def _fields(raw: bytes, where: Place) -> list[str]:
    try:
        return raw.decode("utf-8-sig").rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}: not UTF-8 text; save the file as UTF-8") from error


def _score(field: str, where: Place) -> float:
    try:
        score = float(field)
    except ValueError as error:
        raise BadInput(f"{where}: score {field!r} is not a number; correct the line") from error
    return _finite(score, "score", where)


# --- JSON lines that judge by path ----------------------------------------------------------


def _gold_query(entry: Mapping[str, object], where: Place) -> GoldQuery:
    relevance = entry.get("relevance")
    if not isinstance(relevance, list):
        raise BadInput(f'{where}: "relevance" must be a list of {{"path_contains", "gain"}}; correct the line')
    pairs = [_pair(judgement, where) for judgement in relevance]
    slug = _text(entry, "slug", where, default="")
    return GoldQuery(
        id=f"{slug}:{where.line}" if slug else str(where.line),
        text=_text(entry, "query", where),
        judge=ByPath(tuple((part, gain) for part, gain in pairs if gain > 0)),
        collection=_text(entry, "collection", where, default=""),
    )


def _pair(judgement: object, where: Place) -> tuple[str, float]:
    if not isinstance(judgement, dict):
        raise BadInput(f'{where}: each relevance must be {{"path_contains", "gain"}}; correct the line')
    gain = judgement.get("gain")
    if isinstance(gain, bool) or not isinstance(gain, int | float):
        raise BadInput(f'{where}: "gain" must be a number; correct the line')
    return _text(judgement, "path_contains", where), _finite(gain, "gain", where)


# --- lines and values -----------------------------------------------------------------------


def _lines(path: Path) -> Iterator[tuple[bytes, Place]]:
    """Lines that are not blank."""
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield raw, Place(path, number)
    except OSError as error:
        raise BadInput(f"cannot read {path} ({error.strerror}); check the path of the gold set") from error


def _json_lines(path: Path) -> Iterator[tuple[dict[str, object], Place]]:
    for raw, where in _lines(path):
        yield json_object(raw, where), where


def _text(entry: Mapping[str, object], key: str, where: Place, default: str | None = None) -> str:
    """A string that is not empty, or the default where the key is missing."""
    value = entry.get(key, default)
    if isinstance(value, str) and (value.strip() or value == default):
        return value
    raise BadInput(f'{where}: "{key}" must be a string that is not empty; correct the line')


def _finite(number: float, name: str, where: Place) -> float:
    try:
        finite = float(number)
    except OverflowError:
        finite = math.inf
    if not math.isfinite(finite):
        raise BadInput(f"{where}: {name} must be a finite number; correct the line")
    return finite
