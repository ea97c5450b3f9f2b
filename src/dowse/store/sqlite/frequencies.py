"""In how many chunks words occur."""

from __future__ import annotations

import apsw

from dowse.store.sqlite.database import fetch
from dowse.text.terms import Term

TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))


class Frequencies:
    """Remembered for as long as the index does not change."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._tokenize = connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
        self._known: dict[str, int] = {}
        self.chunks: int = fetch(connection, "SELECT count(*) FROM chunks")[0][0]

    def of(self, term: Term) -> int:
        """Of a phrase, the count of its rarest word."""
        return min(map(self._count, self._all_tokens(term)), default=0)

    def exactly(self, term: Term) -> int | None:
        """None where only an index of phrases or of beginnings of words could tell."""
        tokens = self._all_tokens(term)
        return self._count(tokens[0]) if len(tokens) == 1 and not term.prefix else None

    def _all_tokens(self, term: Term) -> list[str]:
        return [token for word in term.words for token in self._tokens(word)]

    def _tokens(self, word: str) -> list[str]:
        found = self._tokenize(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return [str(token) for colocated in found for token in colocated]

    def _count(self, token: str) -> int:
        if token not in self._known:
            rows = fetch(self._connection, "SELECT doc FROM vocabulary WHERE term = ?", (token,))
            self._known[token] = int(rows[0][0]) if rows else 0
        return self._known[token]
