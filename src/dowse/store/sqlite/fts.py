"""Full-text search: FTS5, term frequencies and pruning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import apsw

from dowse.errors import PartDamaged
from dowse.model import EVERYTHING, Scope, ScoredChunk
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.damage import REBUILDING, WORDS_PART, HealthState, unfinished_rebuilds
from dowse.store.sqlite.database import Database, fetch_rows
from dowse.store.sqlite.rows import RECORDS_SQL, to_json
from dowse.store.sqlite.scope import Condition
from dowse.store.types import HEADING_KIND, ColumnWeights, SymbolQuery
from dowse.text.tokenize import QueryTerm, QueryTerms, last_simple_name

# --------------------------------------------------------------------------------------------------
# Document frequencies: the number of chunks each word occurs in.

FTS_TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))


class DocumentFrequencies:
    """Valid until the index changes."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._tokenize = connection.fts5_tokenizer(FTS_TOKENIZER[0], list(FTS_TOKENIZER[1]))
        self._known: dict[str, int] = {}
        self.chunks: int = fetch_rows(connection, "SELECT count(*) FROM chunks")[0][0]

    def estimate(self, term: QueryTerm) -> int:
        """Return the number of chunks with this term; for a phrase, with its rarest word."""
        return min(map(self._count, self._all_tokens(term)), default=0)

    def exact_count(self, term: QueryTerm) -> int | None:
        """Return the exact number, or None for phrases and prefixes, which have no count."""
        tokens = self._all_tokens(term)
        return self._count(tokens[0]) if len(tokens) == 1 and not term.prefix else None

    def _all_tokens(self, term: QueryTerm) -> list[str]:
        return [token for word in term.words for token in self._tokens(word)]

    def _tokens(self, word: str) -> list[str]:
        found = self._tokenize(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return [str(token) for colocated in found for token in colocated]

    def _count(self, token: str) -> int:
        if token not in self._known:
            rows = fetch_rows(self._connection, "SELECT doc FROM vocabulary WHERE term = ?", (token,))
            self._known[token] = int(rows[0][0]) if rows else 0
        return self._known[token]


# --------------------------------------------------------------------------------------------------
# Prunes rows that cannot be among the best: scoring a row by BM25 takes far longer than finding it.

# The most a term can score, in multiples of its weight, however often it occurs: k1 + 1 of FTS5's bm25().
_MAX_TERM_FACTOR = 2.2
_MIN_TERM_WEIGHT = 1e-6  # of a term in nearly all rows, as in FTS5
_MIN_PRUNED_ROWS = 1_000  # rows: scoring fewer is quicker than pruning them
_RARE_ROWS_PER_RESULT = 2  # times the limit: rows that should have a rarer term
_MAX_COMMON_TERMS = 6  # terms, which are combined in pairs


class PrunedQuery(NamedTuple):
    """An expression that skips rows with a single common term; these score at most `max_pruned_score`."""

    expression: str
    max_pruned_score: float


def prune_query(
    terms: QueryTerms, frequencies: DocumentFrequencies, limit: int, quote: Callable[[QueryTerm], str]
) -> PrunedQuery | None:
    """Return an expression without hopeless rows, or None if pruning would not pay."""
    if terms.required or len({*terms.optional}) < len(terms.optional):
        return None
    counts = {term: frequencies.exact_count(term) for term in terms.optional}
    common = _common_terms(counts, limit)
    if sum(counts[term] or 0 for term in common) < _MIN_PRUNED_ROWS:
        return None
    rare = [quote(term) for term in terms.optional if term not in common]
    pairs = [f"({quote(one)} AND {quote(other)})" for one, other in combinations(common, 2)]
    heaviest = max(_term_weight(counts[term] or 0, frequencies.chunks) for term in common)
    return PrunedQuery(" OR ".join((*rare, *pairs)), heaviest * _MAX_TERM_FACTOR)


def _common_terms(counts: dict[QueryTerm, int | None], limit: int) -> Sequence[QueryTerm]:
    """Return the most common terms with known counts, such that enough rows have a rarer one."""
    known = sorted((count, place, term) for place, (term, count) in enumerate(counts.items()) if count is not None)
    rows, common = 0, []
    for count, _, term in known:
        if rows >= limit * _RARE_ROWS_PER_RESULT:
            common.append(term)
        rows += count
    return common[-_MAX_COMMON_TERMS:]


def _term_weight(count: int, chunks: int) -> float:
    return max(_MIN_TERM_WEIGHT, math.log((chunks - count + 0.5) / (count + 0.5)))


# --------------------------------------------------------------------------------------------------

# (minimum number of chunks, largest share of chunks a wanted word may be in). A common word costs most of the time of
# an OR and says the least, so it is dropped if rarer ones match. FTS5 gives no weight to words in more than half of the
# chunks. Below that they have some, so a small index, which is fast anyway, keeps them.
COMMON_SHARES = ((8_000, 0.2), (1_000, 0.5), (0, 1.0))
# A long text as a query is reduced to its rarest terms.
MAX_MATCHED_TERMS = 100
_MIN_KIND_SHARE = 0.5  # of the records
_OVERFETCH_FACTOR = 1.2  # safety factor, because matches are not spread evenly over kinds
_BM25 = f"bm25(words, {', '.join('?' * len(ColumnWeights._fields))})"
_MAX_KEY_LIST_CHARS = 16_000  # of keys as JSON: SQLite collects fewer faster than it calls a Python function per match
_KEYS_SQL = "+words.rowid IN (SELECT value FROM json_each(?))"
_PRUNED_SQL = "+words.rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"


class _FtsQuery(NamedTuple):
    """A query of the FTS5 table."""

    terms: QueryTerms
    weights: ColumnWeights
    frequencies: DocumentFrequencies

    @property
    def expression(self) -> str:
        return compile_match(self.terms)

    @property
    def matches(self) -> int:
        """Return roughly how many chunks match."""
        counts = map(self.frequencies.estimate, self.terms.required or self.terms.optional)
        return min(counts) if self.terms.required else sum(counts)

    def prune(self, limit: int) -> PrunedQuery | None:
        return prune_query(self.terms, self.frequencies, limit, _quote)


class SqliteTextIndex:
    def __init__(self, db: Database, health: HealthState, catalog: SqliteCatalog) -> None:
        self.db = db
        self._health = health
        self._catalog = catalog
        self._scopes = catalog.scopes

    def match(self, terms: QueryTerms, scope: Scope, weights: ColumnWeights, limit: int) -> list[ScoredChunk]:
        if not terms or limit < 1:
            return []
        with self._health.attribute_to(WORDS_PART):
            self._raise_while_rebuilding()
            with self.db.snapshot():  # so that counts and rows agree
                return self._match(terms, scope, weights, limit)

    def chunks_containing(self, required: Sequence[QueryTerm]) -> list[int]:
        with self._health.attribute_to(WORDS_PART):
            self._raise_while_rebuilding()
            expression = compile_match(QueryTerms(tuple(required)))
            return [key for (key,) in self.db.rows("SELECT rowid FROM words WHERE words MATCH ?", (expression,))]

    def document_frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        with self._health.attribute_to(WORDS_PART):
            counted = self._frequencies()
            return counted.chunks, [counted.estimate(QueryTerm((word,))) for word in words]

    def _frequencies(self) -> DocumentFrequencies:
        connection = self.db.reader()
        return self.db.cached_by_revision("frequencies", lambda: DocumentFrequencies(connection))

    def _raise_while_rebuilding(self) -> None:
        if self.db.cached_by_revision("mending", lambda: WORDS_PART in unfinished_rebuilds(self.db.reader())):
            self._health.record(WORDS_PART, REBUILDING)
            raise PartDamaged(WORDS_PART, REBUILDING)

    def _match(self, terms: QueryTerms, scope: Scope, weights: ColumnWeights, limit: int) -> list[ScoredChunk]:
        frequencies = self._frequencies()
        useful_terms = _drop_common_terms(terms, frequencies)
        if not useful_terms:
            return []
        query, scope = _FtsQuery(useful_terms, weights, frequencies), self._scopes.simplify(scope)
        if scope == EVERYTHING:
            return self._best_matches(query, limit)
        share = self._scopes.share_of_kinds(scope)
        found = self._filter_best_matches(query, scope, limit, share) if share > _MIN_KIND_SHARE else None
        return self._match_within_scope(query, scope, limit) if found is None else found

    def _best_matches(self, query: _FtsQuery, limit: int) -> list[ScoredChunk]:
        promising = query.prune(limit)
        if promising is not None:
            best = self._score_matches(query, limit, f" AND {_PRUNED_SQL}", promising.expression)
            if len(best) == limit and best[-1].score > promising.max_pruned_score:
                return best
        return self._score_matches(query, limit)

    def _score_matches(self, query: _FtsQuery, limit: int, condition: str = "", *values: object) -> list[ScoredChunk]:
        statement = (
            f"SELECT rowid, {_BM25} AS cost FROM words WHERE words MATCH ?{condition} ORDER BY cost, rowid LIMIT ?"
        )
        rows = self.db.rows(statement, (*query.weights, query.expression, *values, limit))
        return [ScoredChunk(key, -cost) for key, cost in rows]

    def _filter_best_matches(
        self, query: _FtsQuery, scope: Scope, limit: int, share: float
    ) -> list[ScoredChunk] | None:
        """Search all kinds and filter the best matches; None if too few remain.

        If most records have the requested kinds, this is quicker than testing each match.
        """
        fetch_limit = int(limit / share * _OVERFETCH_FACTOR) + 1
        best = self._best_matches(query, fetch_limit)
        kinds = self._catalog.chunk_kinds([it.key for it in best])
        found = [it for it in best if kinds.get(it.key) in scope.kinds]
        return found[:limit] if len(found) >= limit or len(best) < fetch_limit else None

    def _match_within_scope(self, query: _FtsQuery, scope: Scope, limit: int) -> list[ScoredChunk]:
        """Search within a scope, over its chunk keys if these are known: looking up the record of a match takes longer
        than scoring it."""
        if self._scopes.should_collect_first(scope, query.matches):
            return self._match_among_keys(query, scope, limit)
        condition, values = self._scopes.condition(scope, as_they_come=True)
        statement = (
            f"SELECT words.rowid, {_BM25} AS cost FROM words "
            f"JOIN chunks ON chunks.id = words.rowid JOIN records ON records.id = chunks.record "
            f"JOIN {RECORDS_SQL.removeprefix('records JOIN ')} "
            f"WHERE words MATCH ? AND {condition} ORDER BY cost, words.rowid LIMIT ?"
        )
        rows = self.db.rows(statement, (*query.weights, query.expression, *values, limit))
        return [ScoredChunk(key, -cost) for key, cost in rows]

    def _match_among_keys(self, query: _FtsQuery, scope: Scope, limit: int) -> list[ScoredChunk]:
        keys = self._scopes.chunks(scope)
        if len(keys) <= _MAX_KEY_LIST_CHARS:
            return self._score_matches(query, limit, f" AND {_KEYS_SQL}", keys)
        # The bare method: a Python function around it would double the time.
        is_inside: Any = self._scopes.chunk_set(scope).__contains__
        self.db.reader().create_scalar_function("is_inside", is_inside, 1, deterministic=True)
        return self._score_matches(query, limit, " AND is_inside(words.rowid)")


def compile_match(terms: QueryTerms) -> str:
    """Return an FTS5 expression for chunks with all required terms, ranked by required and wanted ones."""
    required = [_quote(term) for term in terms.required]
    wanted = [_quote(term) for term in terms.optional]
    if not required:
        return " OR ".join(wanted)
    must = " AND ".join(required)
    return f"({must}) AND ({' OR '.join([required[0], *wanted])})" if wanted else must


def _quote(term: QueryTerm) -> str:
    phrase = " ".join(term.words).replace('"', '""')
    return f'"{phrase}"*' if term.prefix else f'"{phrase}"'


def _drop_common_terms(terms: QueryTerms, frequencies: DocumentFrequencies) -> QueryTerms:
    """Return the terms without wanted ones that are nearly everywhere, if rarer ones remain."""
    share = next(share for chunks, share in COMMON_SHARES if frequencies.chunks >= chunks)
    if len(terms.optional) <= 1 or (share == 1.0 and len(terms.optional) <= MAX_MATCHED_TERMS):
        return terms
    by_frequency = sorted((frequencies.estimate(term), place, term) for place, term in enumerate(terms.optional))
    found = [row for row in by_frequency if row[0] > 0]
    rare = [row for row in found if row[0] <= share * frequencies.chunks] or found
    chosen = sorted(rare[:MAX_MATCHED_TERMS], key=lambda row: row[1])
    return QueryTerms(terms.required, tuple(term for _, _, term in chosen))


# --------------------------------------------------------------------------------------------------
# Builds the SQL that selects candidate symbols: tables, join order and conditions.

_SYMBOLS_PER_NAME = 3  # estimate
_MAX_COUNTED_TRAITS = 10_000  # larger counts make no difference to the join order
_MAX_METRIC_BOUND = 2**62  # within SQLite's integer range

METRIC_COLUMNS: Mapping[str, str] = {
    "cyclomatic": "symbols.cyclomatic",
    "cognitive": "symbols.cognitive",
    "nesting": "symbols.nesting",
    "parameters": "symbols.arity",
    "returns": "symbols.returns",
    "calls": "symbols.calls_made",
    "lambdas": "symbols.lambdas",
    "lines": "(symbols.end_line - symbols.start_line + 1)",
}


@dataclass(frozen=True, slots=True)
class _SqlPart:
    """A table or a condition, with the values of its placeholders."""

    sql: str
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """`FROM … WHERE …` over `symbols`.

    SQLite keeps the order of tables joined by CROSS JOIN. So the most selective table leads, and the others are looked
    up by key.
    """

    tables: tuple[_SqlPart, ...]
    conditions: tuple[_SqlPart, ...]

    @property
    def sql(self) -> str:
        conditions = " AND ".join(it.sql for it in self.conditions)
        return f"FROM {' CROSS JOIN '.join(it.sql for it in self.tables)} WHERE {conditions}"

    @property
    def values(self) -> tuple[object, ...]:
        return tuple(value for it in (*self.tables, *self.conditions) for value in it.values)


_SYMBOL_TABLE = _SqlPart("symbols")
_OWNER_TABLE = _SqlPart("symbols AS owner")
_RECORD_TABLES = (_SqlPart("records"), _SqlPart("collections"))


def build_candidate_query(
    connection: apsw.Connection,
    query: SymbolQuery,
    names: Sequence[str] | None,
    owners: Callable[[], Sequence[str]],
    within: Condition,
) -> CandidateQuery:
    """Build the query.

    `names` are the matching indexed names, best first (None: any); `named.key` is the position of each. `owners`
    returns the possible names of the enclosing definition. `within` is the scope.
    """
    traits = _requested_traits(connection, query)
    conditions = [_SqlPart("symbols.kind != ?", (HEADING_KIND,)), *_symbol_conditions(query)]
    conditions += [_trait_condition(kind, value) for _, kind, value in traits]
    tables = [_SqlPart(f"traits AS {kind}") for _, kind, _ in traits]
    if names is not None:
        leads = not traits or _SYMBOLS_PER_NAME * len(names) < traits[0][0]
        # The LIMIT limits nothing. It keeps SQLite from flattening the subquery, so that it gets an automatic index.
        named = "json_each(?) AS named" if leads else "(SELECT key, value FROM json_each(?) LIMIT -1) AS named"
        tables.insert(0 if leads else len(tables), _SqlPart(named, (to_json(names),)))
        conditions.append(_SqlPart("symbols.folded = named.value"))
    return _join_tables(connection, query, tables, conditions, owners, within)


def _trait_condition(kind: str, value: str) -> _SqlPart:
    return _SqlPart(
        f"{kind}.kind = ? AND {kind}.value = ? AND {kind}.record = symbols.record AND {kind}.symbol = symbols.ordinal",
        (kind, value),
    )


def _join_tables(
    connection: apsw.Connection,
    query: SymbolQuery,
    leading: Sequence[_SqlPart],
    conditions: list[_SqlPart],
    owners: Callable[[], Sequence[str]],
    within: Condition,
) -> CandidateQuery:
    """Join symbols as the second table. Without a leading table, enclosing definitions lead, or else files."""
    has_files = query.scope != EVERYTHING or query.path_filter is not None
    tables = [*leading[:1], _SYMBOL_TABLE, *leading[1:]]
    if query.parent:
        conditions.append(_owner_condition(query.parent))
    if query.parent and not leading:
        tables = [_SqlPart("json_each(?) AS owning", (to_json(owners()),)), _OWNER_TABLE, _SYMBOL_TABLE]
        conditions.append(_SqlPart("owner.folded = owning.value"))
    elif query.parent:
        tables.append(_OWNER_TABLE)
    if has_files:
        conditions += _file_conditions(connection, query, within)
        leads = not leading and not query.parent
        tables = [*_RECORD_TABLES, *tables] if leads else [*tables, *_RECORD_TABLES]
    return CandidateQuery(tuple(tables), tuple(conditions))


def _requested_traits(connection: apsw.Connection, query: SymbolQuery) -> list[tuple[int, str, str]]:
    """Return approximate count, kind and value of each requested trait (base, attribute), rarest first."""
    requested = [
        (kind, last_simple_name(text)) for kind, text in (("base", query.base), ("attribute", query.attribute)) if text
    ]
    return sorted((_count_trait(connection, kind, value), kind, value) for kind, value in requested)


def _count_trait(connection: apsw.Connection, kind: str, value: str) -> int:
    rows = fetch_rows(
        connection,
        "SELECT count(*) FROM (SELECT 1 FROM traits WHERE kind = ? AND value = ? LIMIT ?)",
        (kind, value, _MAX_COUNTED_TRAITS),
    )
    return int(rows[0][0])


def _symbol_conditions(query: SymbolQuery) -> Iterator[_SqlPart]:
    if query.kinds:
        yield _SqlPart("symbols.kind IN (SELECT value FROM json_each(?))", (to_json(query.kinds),))
    for modifier in query.modifiers:
        # Quoted as in the JSON list: much faster than parsing the list.
        yield _SqlPart("instr(lower(symbols.modifiers), ?) > 0", (to_json(modifier.lower()),))
    for name, bound in query.min_metrics.items():
        yield _SqlPart(f"{METRIC_COLUMNS[name]} >= ?", (max(-_MAX_METRIC_BOUND, min(bound, _MAX_METRIC_BOUND)),))


def _owner_condition(parent: str) -> _SqlPart:
    return _SqlPart(
        "owner.record = symbols.record AND owner.ordinal = symbols.parent AND owner.ordinal < symbols.ordinal "
        "AND instr(owner.folded, ?) > 0",
        (parent.lower(),),
    )


def _file_conditions(connection: apsw.Connection, query: SymbolQuery, within: Condition) -> Iterable[_SqlPart]:
    yield _SqlPart("records.id = symbols.record AND collections.id = records.collection")
    condition, values = within
    if condition:
        yield _SqlPart(condition, tuple(values))
    if query.path_filter is not None:
        accepts_path = query.path_filter
        connection.create_scalar_function(
            "accepts_path", lambda *path: int(accepts_path(str(path[0]))), 1, deterministic=True
        )
        yield _SqlPart("accepts_path(records.path)")
