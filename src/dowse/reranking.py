"""The reranker of an engine: which one judges and why, one instance for all threads, loaded when first asked."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.encoders.reranker import Reranker
from dowse.errors import BadInput, EncoderMissing
from dowse.places import Places
from dowse.search.run import Judged

AUTO, NONE, CROSS, LATE = "auto", "none", "cross", "late"
# A search waits for the answer, so a slow server is given up sooner than when an index is made.
ANSWER_S = 20.0
WAITS_S = (0.5,)


@dataclass(frozen=True, slots=True)
class Offer:
    """What judges here, and why nothing else does."""

    name: str
    why: str


class Reranking:
    """`setting` auto lets each recipe have the reranker it names; any other judges for all of them."""

    def __init__(self, setting: str, places: Places, *, model_dir: Path | None = None, key: str = "") -> None:
        check_name(setting)
        self._setting = setting
        self._places = places
        self._model_dir = model_dir
        self._key = key
        self._turn = threading.Lock()
        self._known: dict[str, Reranker] = {}

    def judge(self, asked: str, query: str, texts: Sequence[str]) -> Judged:
        if self._setting == NONE:
            return Judged(None, "skipped: reranking is switched off (reranker = none)")
        try:
            reranker = self._reranker(asked if self._setting == AUTO else self._setting)
            scores = tuple(reranker.judge(query, texts))
        except EncoderMissing as error:
            return Judged(None, f"skipped: {error}")
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            return Judged(None, f"skipped: the reranker {reranker.name} did not give one finite number per text")
        return Judged(scores)

    def describe(self) -> Offer:
        """Without loading a model or asking a server."""
        if self._setting == NONE:
            return Offer(NONE, "reranking is switched off by the reranker setting")
        if self._setting == AUTO:
            return self._offered()
        try:
            self._made(self._setting)
        except EncoderMissing as error:
            return Offer(NONE, str(error))
        return Offer(self._setting, "it judges for every recipe that reranks, as the reranker setting says")

    def _offered(self) -> Offer:
        found, missing = [], []
        for name in (CROSS, LATE):
            try:
                self._made(name)
                found.append(name)
            except EncoderMissing as error:
                missing.append(str(error))
        return Offer(", ".join(found) or NONE, "; ".join(["chosen by the recipe", *missing]))

    def _reranker(self, name: str) -> Reranker:
        with self._turn:
            if name not in self._known:
                self._known[name] = self._made(name)
            return self._known[name]

    def _made(self, name: str) -> Reranker:
        makers: dict[str, Callable[[], Reranker]] = {CROSS: self._cross, LATE: self._late}
        return makers[name]() if name in makers else self._server(name)

    def _cross(self) -> Reranker:
        from dowse.encoders.cross import CrossEncoder, files_in, installed_files

        return CrossEncoder(files_in(self._model_dir) if self._model_dir else installed_files())

    def _late(self) -> Reranker:
        from dowse.encoders.granite import installed_weights
        from dowse.encoders.late import LateInteraction

        return LateInteraction(installed_weights(), cache_dir=self._places.models)

    def _server(self, name: str) -> Reranker:
        from dowse.encoders.http_names import RERANKERS
        from dowse.encoders.http_transport import Transport
        from dowse.encoders.rerank_http import HttpReranker

        server = RERANKERS.parse(name)
        return HttpReranker(server, Transport(server.url, api_key=self._key, answer_s=ANSWER_S, waits_s=WAITS_S))


def check_name(name: str) -> None:
    """Refuse an unknown reranker at once, before a search waits for it."""
    if name in (AUTO, NONE, CROSS, LATE):
        return
    from dowse.encoders.http_names import RERANKERS

    if not RERANKERS.has(name):
        known = ", ".join([AUTO, NONE, CROSS, LATE, *RERANKERS.forms.values()])
        raise BadInput(f"unknown reranker: choose one of {known}")
    RERANKERS.parse(name)
