"""An encoder that is a server: Ollama, TEI, or any that speaks the OpenAI way of asking for embeddings."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dowse.encoders.http_dialects import dialect_of, unit_rows
from dowse.encoders.http_names import ServerName
from dowse.encoders.http_replies import Failure
from dowse.encoders.http_transport import Transport
from dowse.errors import EncoderMissing
from dowse.text.surrogates import valid

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

# What TEI accepts at most unless it is told otherwise.
BATCH = 32
# A text every server can encode: it tells the dimension, and whether a failure is the server's or a text's.
PROBE = "dowse"
# A text that is refused even at this length is not refused for its length.
SHORTEST_CHARS = 200


@dataclass(frozen=True, slots=True)
class Skipped:
    """A text without a vector: its position, and what the server made of it."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Encoded:
    rows: Matrix
    skipped: list[Skipped] = field(default_factory=list)


class HttpEncoder:
    """The server is first asked when its dimension is needed; may be used from several threads."""

    def __init__(self, server: ServerName, transport: Transport, *, batch: int = BATCH) -> None:
        self._server = server
        self._transport = transport
        self._batch = batch
        self._dialect = dialect_of(server.kind, server.url)
        self._lock = threading.Lock()
        self._identity: tuple[str, int] | None = None
        self._skipped: list[Skipped] = []

    @property
    def name(self) -> str:
        return str(self._server)

    @property
    def fingerprint(self) -> str:
        model, dimension = self._identified()
        return f"{self._server.kind}:{model}:{dimension}"

    @property
    def dimension(self) -> int:
        return self._identified()[1]

    def encode(self, texts: Sequence[str]) -> Matrix:
        """As every encoder; a text the server cannot encode gets a zero row too, see `take_problem`."""
        encoded = self.try_encode(texts)
        self._skipped.extend(encoded.skipped)
        return encoded.rows

    def take_problem(self) -> str:
        """What `encode` has skipped since this was last asked, in a sentence; empty if nothing."""
        skipped = self._skipped[:]
        del self._skipped[: len(skipped)]
        if not skipped:
            return ""
        texts = "1 text has" if len(skipped) == 1 else f"{len(skipped)} texts have"
        return f"{texts} no vector: the encoder server {self._transport.host} {skipped[-1].reason}"

    def try_encode(self, texts: Sequence[str]) -> Encoded:
        """A row per text, and which of them are zero because the server failed on that text alone."""
        import numpy as np

        encoded = Encoded(np.zeros((len(texts), self.dimension), dtype=np.float32))
        # One half of a surrogate pair, and strict servers refuse the whole request.
        full = [(place, valid(text)) for place, text in enumerate(texts) if text and not text.isspace()]
        for start in range(0, len(full), self._batch):
            self._fill(encoded, full[start : start + self._batch], patient=True)
        return encoded

    def _fill(self, encoded: Encoded, part: list[tuple[int, str]], *, patient: bool) -> None:
        try:
            rows = self._rows([text for _, text in part], self.dimension, patient=patient)
            encoded.rows[[place for place, _ in part]] = rows
        except Failure as failure:
            if failure.whole:
                raise self._missing(failure) from failure
            if len(part) == 1:
                self._fill_alone(encoded, *part[0], failure)
                return
            middle = len(part) // 2
            # Halving is the second try.
            self._fill(encoded, part[:middle], patient=False)
            self._fill(encoded, part[middle:], patient=False)

    def _fill_alone(self, encoded: Encoded, place: int, text: str, failure: Failure) -> None:
        """Servers fail on what is too long for their model in many ways, so any failure may be one of length."""
        self._check_server()
        while not failure.whole and len(text) > SHORTEST_CHARS:
            text = text[: len(text) // 2]
            try:
                encoded.rows[place] = self._rows([text], self.dimension, patient=False)[0]
                return
            except Failure as again:
                failure = again
        if failure.whole:
            raise self._missing(failure) from failure
        encoded.skipped.append(Skipped(place, str(failure)))

    def _check_server(self) -> None:
        """A text is only at fault if the server can still encode another one, and as before."""
        dimension = self._probe()
        if dimension != self.dimension:
            raise self._missing(
                f"now gives vectors of {dimension} numbers instead of {self.dimension}: "
                "`dowse index` makes all vectors anew"
            )

    def _rows(self, texts: list[str], dimension: int | None, *, patient: bool = True) -> Matrix:
        question = self._dialect.question(self._server.model, texts)
        answer = self._transport.ask(self._dialect.path, question, patient=patient)
        return unit_rows(self._dialect.rows(answer), len(texts), dimension)

    # --- identity -------------------------------------------------------------------------------

    def _identified(self) -> tuple[str, int]:
        if self._identity is None:
            dimension = self._probe()
            identity = self._server.model or self._served_model(), dimension
            # Asked outside of the lock: nobody waits for the timeouts of others, and the first to know decides.
            with self._lock:
                self._identity = self._identity or identity
        return self._identity

    def _probe(self) -> int:
        """The dimension the server gives now."""
        try:
            return int(self._rows([PROBE], None).shape[1])
        except Failure as failure:
            raise self._missing(failure) from failure

    def _served_model(self) -> str:
        """What a server of one model calls it; its address where it does not say."""
        try:
            about = self._transport.ask("/info")
        except Failure:
            return self._server.url
        model = about.get("model_id") if isinstance(about, dict) else None
        return model if isinstance(model, str) and model else self._server.url

    def _missing(self, reason: Failure | str) -> EncoderMissing:
        return EncoderMissing(f"the encoder server {self._transport.host} {reason}")
