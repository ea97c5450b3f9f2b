"""The reranker of an index: choose, load, and score the best hits again."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.encoders.base import Reranker
from dowse.errors import BadInput, EncoderMissing
from dowse.paths import DataPaths
from dowse.search.run import RerankResult

AUTO_RERANKER, NO_RERANKER, CROSS_RERANKER, LATE_RERANKER = "auto", "none", "cross", "late"
# A search waits for the answer, so a slow server is abandoned sooner than while indexing.
RERANK_TIMEOUT_S = 20.0
RERANK_RETRY_WAITS_S = (0.5,)


@dataclass(frozen=True, slots=True)
class RerankerStatus:
    """The available rerankers, and why others are missing."""

    name: str
    why: str


class IndexRerankers:
    """The rerankers of an index. With `auto`, each recipe gets the one it names; any other setting applies to all."""

    def __init__(self, setting: str, places: DataPaths, *, model_dir: Path | None = None, key: str = "") -> None:
        check_reranker_name(setting)
        self._setting = setting
        self._places = places
        self._model_dir = model_dir
        self._key = key
        self._lock = threading.Lock()
        self._known: dict[str, Reranker] = {}

    def judge(self, asked: str, query: str, texts: Sequence[str]) -> RerankResult:
        if self._setting == NO_RERANKER:
            return RerankResult(None, "skipped: reranking is off (reranker = none)")
        try:
            reranker = self._reranker(asked if self._setting == AUTO_RERANKER else self._setting)
            scores = tuple(reranker.judge(query, texts))
        except EncoderMissing as error:
            return RerankResult(None, f"skipped: {error}")
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            return RerankResult(
                None, f"skipped: the reranker {reranker.name} did not return one finite number per text"
            )
        return RerankResult(scores)

    def describe(self) -> RerankerStatus:
        """Describe the rerankers without loading a model or contacting a server."""
        if self._setting == NO_RERANKER:
            return RerankerStatus(NO_RERANKER, "reranking: off (reranker = none)")
        if self._setting == AUTO_RERANKER:
            return self._describe_installed()
        try:
            self._create(self._setting)
        except EncoderMissing as error:
            return RerankerStatus(NO_RERANKER, str(error))
        return RerankerStatus(self._setting, "set for every recipe that reranks")

    def _describe_installed(self) -> RerankerStatus:
        installed, missing = [], []
        for name in (CROSS_RERANKER, LATE_RERANKER):
            try:
                self._create(name)
                installed.append(name)
            except EncoderMissing as error:
                missing.append(str(error))
        return RerankerStatus(", ".join(installed) or NO_RERANKER, "; ".join(["chosen by the recipe", *missing]))

    def _reranker(self, name: str) -> Reranker:
        with self._lock:
            if name not in self._known:
                self._known[name] = self._create(name)
            return self._known[name]

    def _create(self, name: str) -> Reranker:
        makers: dict[str, Callable[[], Reranker]] = {CROSS_RERANKER: self._cross, LATE_RERANKER: self._late}
        return makers[name]() if name in makers else self._server(name)

    def _cross(self) -> Reranker:
        from dowse.encoders.rerank import CrossEncoder, installed_reranker_files, model_files_in

        return CrossEncoder(model_files_in(self._model_dir) if self._model_dir else installed_reranker_files())

    def _late(self) -> Reranker:
        from dowse.encoders.granite import installed_granite_weights
        from dowse.encoders.rerank import LateInteraction

        return LateInteraction(installed_granite_weights(), cache_dir=self._places.models)

    def _server(self, name: str) -> Reranker:
        from dowse.encoders.choose import RERANKER_SERVERS
        from dowse.encoders.http import HttpTransport
        from dowse.encoders.rerank import HttpReranker

        server = RERANKER_SERVERS.parse(name)
        return HttpReranker(
            server,
            HttpTransport(server.url, api_key=self._key, answer_s=RERANK_TIMEOUT_S, waits_s=RERANK_RETRY_WAITS_S),
        )


def check_reranker_name(name: str) -> None:
    """Raise `BadInput` for an unknown reranker before a search waits for it."""
    if name in (AUTO_RERANKER, NO_RERANKER, CROSS_RERANKER, LATE_RERANKER):
        return
    from dowse.encoders.choose import RERANKER_SERVERS

    if not RERANKER_SERVERS.has(name):
        known = ", ".join(
            [AUTO_RERANKER, NO_RERANKER, CROSS_RERANKER, LATE_RERANKER, *RERANKER_SERVERS.formats.values()]
        )
        raise BadInput(f"unknown reranker; choose one of {known}")
    RERANKER_SERVERS.parse(name)
