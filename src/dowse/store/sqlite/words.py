"""BM25 over the FTS5 table. Terms are quoted one by one, so nothing a user types is ever syntax."""

from __future__ import annotations

import apsw

from dowse.errors import PartDamaged
from dowse.model import EVERYTHING, Scope, Scored
from dowse.store.base import Weights
from dowse.store.sqlite.catalog.reading import Reading
from dowse.store.sqlite.database import fetch
from dowse.store.sqlite.health.mending import ANEW, WORDS, unfinished
from dowse.store.sqlite.rows import RECORDS
from dowse.text.terms import Term, Terms

# A word in many chunks costs most of the time of an OR and tells the least, so it is left out where a rarer
# one is found. In more than half of the chunks FTS5 gives it no weight anyway; below that it has some, so an
# index that is quick with it keeps it: (from this many chunks, the largest share that is kept).
COMMON_SHARES = ((8_000, 0.2), (1_000, 0.5), (0, 1.0))
# A long text as a query is its rarest terms.
MAX_MATCHED_TERMS = 100
_MOSTLY = 0.5  # of the records
_MORE = 1.2  # than would be enough if all kinds were found alike
_BM25 = f"bm25(words, {', '.join('?' * len(Weights._fields))})"
TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))


class SqliteWords(Reading):
    def match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        if not terms or limit < 1:
            return []
        with self._damage.within(WORDS):
            if self.db.remembered("mending", lambda: WORDS in unfinished(self.db.reader())):
                raise PartDamaged(WORDS, ANEW)
            return self._match(terms, scope, weights, limit)

    def _match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        connection = self.db.reader()
        frequencies = self.db.remembered("frequencies", lambda: Frequencies(connection))
        telling = _telling(terms, frequencies)
        if not telling:
            return []
        expression, scope = compile_match(telling), self._scopes.narrowed(scope)
        if scope == EVERYTHING:
            return self._best_matches(expression, weights, limit)
        share = self._scopes.share_of_kinds(scope)
        found = self._among_all(expression, scope, weights, limit, share) if share > _MOSTLY else None
        return self._matches_within(expression, scope, weights, limit) if found is None else found

    def _best_matches(self, expression: str, weights: Weights, limit: int) -> list[Scored]:
        statement = f"SELECT rowid, {_BM25} AS cost FROM words WHERE words MATCH ? ORDER BY cost, rowid LIMIT ?"
        return [Scored(key, -cost) for key, cost in self.db.rows(statement, (*weights, expression, limit))]

    def _among_all(
        self, expression: str, scope: Scope, weights: Weights, limit: int, share: float
    ) -> list[Scored] | None:
        """Where most records are of the kinds that are wanted, so are the best of all: to look whether they are takes
        less than to ask of each match. None if they were not."""
        asked = int(limit / share * _MORE) + 1
        best = self._best_matches(expression, weights, asked)
        kinds = self.kinds_of([it.key for it in best])
        found = [it for it in best if kinds.get(it.key) in scope.kinds]
        return found[:limit] if len(found) >= limit or len(best) < asked else None

    def _matches_within(self, expression: str, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        condition, values = self._scopes.condition(scope)
        statement = (
            f"SELECT words.rowid, {_BM25} AS cost FROM words "
            f"JOIN chunks ON chunks.id = words.rowid JOIN records ON records.id = chunks.record "
            f"JOIN {RECORDS.removeprefix('records JOIN ')} "
            f"WHERE words MATCH ? AND {condition} ORDER BY cost, words.rowid LIMIT ?"
        )
        return [Scored(key, -cost) for key, cost in self.db.rows(statement, (*weights, expression, *values, limit))]


def compile_match(terms: Terms) -> str:
    """An FTS5 expression that finds chunks with all required terms, ranked by those and the wanted ones."""
    required = [_quoted(term) for term in terms.required]
    wanted = [_quoted(term) for term in terms.wanted]
    if not required:
        return " OR ".join(wanted)
    must = " AND ".join(required)
    return f"({must}) AND ({' OR '.join([required[0], *wanted])})" if wanted else must


def _quoted(term: Term) -> str:
    phrase = " ".join(term.words).replace('"', '""')
    return f'"{phrase}"*' if term.prefix else f'"{phrase}"'


def _telling(terms: Terms, frequencies: Frequencies) -> Terms:
    """The wanted terms worth matching: without the ones nearly everywhere where rarer ones remain."""
    share = next(share for chunks, share in COMMON_SHARES if frequencies.chunks >= chunks)
    if len(terms.wanted) <= 1 or (share == 1.0 and len(terms.wanted) <= MAX_MATCHED_TERMS):
        return terms
    counted = sorted((frequencies.of(term), place, term) for place, term in enumerate(terms.wanted))
    found = [row for row in counted if row[0] > 0]
    rare = [row for row in found if row[0] <= share * frequencies.chunks] or found
    kept = sorted(rare[:MAX_MATCHED_TERMS], key=lambda row: row[1])
    return Terms(terms.required, tuple(term for _, _, term in kept))


class Frequencies:
    """In how many chunks a term occurs, remembered for as long as the index does not change."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._tokenize = connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
        self._known: dict[str, int] = {}
        self.chunks: int = fetch(connection, "SELECT count(*) FROM chunks")[0][0]

    def of(self, term: Term) -> int:
        """Of a phrase, the count of its rarest word."""
        tokens = [token for word in term.words for token in self._tokens(word)]
        return min((self._count(token) for token in tokens), default=0)

    def _tokens(self, word: str) -> list[str]:
        found = self._tokenize(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return [str(token) for colocated in found for token in colocated]

    def _count(self, token: str) -> int:
        if token not in self._known:
            rows = fetch(self._connection, "SELECT doc FROM vocabulary WHERE term = ?", (token,))
            self._known[token] = int(rows[0][0]) if rows else 0
        return self._known[token]
