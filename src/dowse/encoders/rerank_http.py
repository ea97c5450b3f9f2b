"""A reranker that is a server: TEI, or any that speaks the way of Cohere, Jina, vLLM and Infinity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dowse.encoders.http_names import ServerName
from dowse.encoders.http_replies import Failure
from dowse.encoders.http_transport import Transport
from dowse.errors import EncoderMissing
from dowse.text.surrogates import valid

PATH = "/rerank"
# What TEI accepts at most unless it is told otherwise.
BATCH = 32


@dataclass(frozen=True, slots=True)
class Dialect:
    question: Callable[[str, str, Sequence[str]], object]
    results: Callable[[object], object]
    score: str


def _tei_question(model: str, query: str, texts: Sequence[str]) -> object:
    # Raw scores: what is near 1 or 0 after a sigmoid can hardly be told apart.
    return {"query": query, "texts": list(texts), "truncate": True, "raw_scores": True}


def _cohere_question(model: str, query: str, texts: Sequence[str]) -> object:
    return {"model": model, "query": query, "documents": list(texts), "return_documents": False}


DIALECTS = {
    "tei": Dialect(_tei_question, lambda answer: answer, "score"),
    "cohere": Dialect(_cohere_question, lambda answer: _field(answer, "results"), "relevance_score"),
}


class HttpReranker:
    def __init__(self, server: ServerName, transport: Transport, *, batch: int = BATCH) -> None:
        self._server = server
        self._transport = transport
        self._batch = batch
        self._dialect = DIALECTS[server.kind]

    @property
    def name(self) -> str:
        return str(self._server)

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            # One half of a surrogate pair, and strict servers refuse the whole request.
            return list(self._scores(valid(query), [valid(text) for text in texts]))
        except Failure as failure:
            raise EncoderMissing(f"the reranker server {self._transport.host} {failure}") from failure

    def _scores(self, query: str, texts: list[str]) -> Iterator[float]:
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            answer = self._transport.ask(PATH, self._dialect.question(self._server.model, query, part))
            yield from self._in_order(answer, len(part))

    def _in_order(self, answer: object, count: int) -> list[float]:
        """Servers answer best first, with the place of each text; each must be there once."""
        results = self._dialect.results(answer)
        if not isinstance(results, list):
            raise Failure("answered without a list of scores: check the kind and the address of the reranker")
        scores = {_field(it, "index"): _number(_field(it, self._dialect.score)) for it in results}
        # Numbers of JSON are floats here, and 1.0 is the same key as 1.
        if len(results) != count or scores.keys() != set(range(count)):
            raise Failure(f"gave {len(results)} scores for {count} texts, or not one for each")
        return [scores[place] for place in range(count)]


def _field(value: object, name: str) -> object:
    if not isinstance(value, dict) or name not in value:
        raise Failure(f"answered without `{name}`: check the kind and the address of the reranker")
    found: object = value[name]
    if isinstance(found, list | dict) and name == "index":
        raise Failure("gave a place that is not a number")
    return found


def _number(value: object) -> float:
    if not isinstance(value, float):
        raise Failure("gave a score that is not a number")
    return value
