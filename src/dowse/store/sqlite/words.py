"""BM25 over the FTS5 table. Terms are quoted one by one, so nothing a user types is ever syntax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dowse.errors import PartDamaged
from dowse.model import EVERYTHING, Scope, Scored
from dowse.store.base import Weights, inverse_frequency
from dowse.store.sqlite.catalog.reading import Reading
from dowse.store.sqlite.frequencies import Frequencies
from dowse.store.sqlite.health.mending import ANEW, WORDS, unfinished
from dowse.store.sqlite.pruning import Promising, promising
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
_FEW_CHARS = 16_000  # of keys: to gather so many takes SQLite less than to ask a function here about each match
_AMONG = "+words.rowid IN (SELECT value FROM json_each(?))"
_PROMISING = "+words.rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"


class _Asked(NamedTuple):
    """A question to the FTS5 table."""

    terms: Terms
    weights: Weights
    frequencies: Frequencies

    @property
    def expression(self) -> str:
        return compile_match(self.terms)

    @property
    def matches(self) -> int:
        """About how many chunks have what is asked for."""
        counts = map(self.frequencies.of, self.terms.required or self.terms.wanted)
        return min(counts) if self.terms.required else sum(counts)

    def promising(self, limit: int) -> Promising | None:
        return promising(self.terms, self.frequencies, limit, _quoted)


class SqliteWords(Reading):
    def match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        if not terms or limit < 1:
            return []
        with self._damage.within(WORDS):
            self._refuse_while_mended()
            with self.db.moment():  # so that counts and rows agree
                return self._match(terms, scope, weights, limit)

    def holding(self, required: Sequence[Term]) -> list[int]:
        with self._damage.within(WORDS):
            self._refuse_while_mended()
            expression = compile_match(Terms(tuple(required)))
            return [key for (key,) in self.db.rows("SELECT rowid FROM words WHERE words MATCH ?", (expression,))]

    def inverse_frequencies(self, words: Sequence[str]) -> list[float]:
        with self._damage.within(WORDS):
            counted = self._frequencies()
            return [inverse_frequency(counted.chunks, counted.of(Term((word,)))) for word in words]

    def _frequencies(self) -> Frequencies:
        connection = self.db.reader()
        return self.db.remembered("frequencies", lambda: Frequencies(connection))

    def _refuse_while_mended(self) -> None:
        if self.db.remembered("mending", lambda: WORDS in unfinished(self.db.reader())):
            self._damage.note(WORDS, ANEW)
            raise PartDamaged(WORDS, ANEW)

    def _match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        frequencies = self._frequencies()
        telling = _telling(terms, frequencies)
        if not telling:
            return []
        asked, scope = _Asked(telling, weights, frequencies), self._scopes.narrowed(scope)
        if scope == EVERYTHING:
            return self._best_matches(asked, limit)
        share = self._scopes.share_of_kinds(scope)
        found = self._among_all(asked, scope, limit, share) if share > _MOSTLY else None
        return self._matches_within(asked, scope, limit) if found is None else found

    def _best_matches(self, asked: _Asked, limit: int) -> list[Scored]:
        promising = asked.promising(limit)
        if promising is not None:
            best = self._scored(asked, limit, f" AND {_PROMISING}", promising.expression)
            if len(best) == limit and best[-1].score > promising.others:
                return best
        return self._scored(asked, limit)

    def _scored(self, asked: _Asked, limit: int, condition: str = "", *values: object) -> list[Scored]:
        statement = (
            f"SELECT rowid, {_BM25} AS cost FROM words WHERE words MATCH ?{condition} ORDER BY cost, rowid LIMIT ?"
        )
        rows = self.db.rows(statement, (*asked.weights, asked.expression, *values, limit))
        return [Scored(key, -cost) for key, cost in rows]

    def _among_all(self, asked: _Asked, scope: Scope, limit: int, share: float) -> list[Scored] | None:
        """Where most records are of the kinds that are wanted, so are the best of all: to look whether they are takes
        less than to ask of each match. None if they were not."""
        wanted = int(limit / share * _MORE) + 1
        best = self._best_matches(asked, wanted)
        kinds = self.kinds_of([it.key for it in best])
        found = [it for it in best if kinds.get(it.key) in scope.kinds]
        return found[:limit] if len(found) >= limit or len(best) < wanted else None

    def _matches_within(self, asked: _Asked, scope: Scope, limit: int) -> list[Scored]:
        """Where the records inside are known beforehand, so are their chunks: to look up the record of each match takes
        longer than to score it."""
        if self._scopes.leads(scope, asked.matches):
            return self._matches_among(asked, scope, limit)
        condition, values = self._scopes.condition(scope, as_they_come=True)
        statement = (
            f"SELECT words.rowid, {_BM25} AS cost FROM words "
            f"JOIN chunks ON chunks.id = words.rowid JOIN records ON records.id = chunks.record "
            f"JOIN {RECORDS.removeprefix('records JOIN ')} "
            f"WHERE words MATCH ? AND {condition} ORDER BY cost, words.rowid LIMIT ?"
        )
        rows = self.db.rows(statement, (*asked.weights, asked.expression, *values, limit))
        return [Scored(key, -cost) for key, cost in rows]

    def _matches_among(self, asked: _Asked, scope: Scope, limit: int) -> list[Scored]:
        keys = self._scopes.chunks(scope)
        if len(keys) <= _FEW_CHARS:
            return self._scored(asked, limit, f" AND {_AMONG}", keys)
        # A function of Python around it would take as long again.
        is_inside: Any = self._scopes.chunk_set(scope).__contains__
        self.db.reader().create_scalar_function("is_inside", is_inside, 1, deterministic=True)
        return self._scored(asked, limit, " AND is_inside(words.rowid)")


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
