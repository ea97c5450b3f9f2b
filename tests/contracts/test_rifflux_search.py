"""The search half of the contract, one test per requirement, asked of the real server."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from rifflux_server import Served

from dowse.model import EVERYTHING, Chunk, Record, ScoredChunk
from dowse.search.fuse import fuse_ranks
from dowse.search.recipes import COLUMN_WEIGHTS, get_recipe
from dowse.store.types import ChunkInput
from oracle.dict_store import DictStore

MODES = ("lexical", "semantic", "hybrid")
METADATA = {"chunk_id", "path", "heading_path", "chunk_index", "content"}
BREAKDOWN = {
    "lexical": {"bm25"},
    "semantic": {"cosine"},
    "hybrid": {"rrf", "lexical_rank", "semantic_rank"},
}
# In lexical and semantic mode a row keeps its score beside the breakdown too.
ROW = {
    "lexical": METADATA | {"score_breakdown", "bm25_score"},
    "semantic": METADATA | {"score_breakdown", "cosine"},
    "hybrid": METADATA | {"score_breakdown"},
}
QUERY = "harbour lantern4 galley"
ONE = {"lexical": 1.0, "semantic": 1.0}


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["chunk_id"] for row in rows]


def evidence(rows: list[dict[str, Any]], name: str) -> list[float]:
    return [row["score_breakdown"][name] for row in rows]


def metadata(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in METADATA}


def fused(library: Served, query: str, top_k: int) -> dict[str, float]:
    """What the hybrid scores have to be, from what each modality alone finds in twice `top_k`."""
    scores: dict[str, float] = {}
    for mode in ("lexical", "semantic"):
        for rank, chunk_id in enumerate(ids(library.search(query, top_k=2 * top_k, mode=mode)), 1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (60 + rank)
    return scores


# --- requirements ---


@pytest.mark.parametrize("mode", MODES)
def test_req_001_three_modes(library: Served, mode: str) -> None:
    """REQ-001 lexical, semantic and hybrid are modes, and the answer says which one was applied."""
    answer = library.ask("search_rifflux", query="eviction", mode=mode)
    assert answer["mode"] == mode
    assert answer["count"] > 0


def test_req_002_lexical_alone(library: Served) -> None:
    """REQ-002 Lexical mode finds what has the words, and nothing that is only near in meaning."""
    rows = library.search("galley", top_k=100, mode="lexical")
    assert rows
    assert all("galley" in row["content"] for row in rows)
    assert len(rows) < len(library.search("galley", top_k=100, mode="semantic"))
    assert library.search("zeppelin", mode="lexical") == []


def test_req_003_semantic_alone(library: Served, vectorless: Served) -> None:
    """REQ-003 Semantic mode knows vectors only: without them it finds nothing that has the very words."""
    assert library.search("galley", mode="semantic")
    assert vectorless.search("galley", mode="lexical")
    assert vectorless.search("galley", mode="semantic") == []


def test_req_004_hybrid_is_rrf_over_both(library: Served) -> None:
    """REQ-004 Hybrid results are the fusion of the two rankings by reciprocal rank."""
    expected = fused(library, QUERY, 8)
    rows = library.search(QUERY, top_k=8)
    best = sorted(expected.values(), reverse=True)[:8]
    assert evidence(rows, "rrf") == pytest.approx(best)
    assert evidence(rows, "rrf") == pytest.approx([expected[chunk_id] for chunk_id in ids(rows)])


@pytest.mark.parametrize("mode", MODES)
def test_req_005_result_fields(library: Served, mode: str) -> None:
    """REQ-005 Every result has the six fields, of the types the contract gives them."""
    for row in library.search(QUERY, mode=mode):
        assert METADATA | {"score_breakdown"} <= row.keys()
        assert all(isinstance(row[key], str) for key in ("chunk_id", "path", "heading_path", "content"))
        assert isinstance(row["chunk_index"], int)
        assert isinstance(row["score_breakdown"], dict)


@pytest.mark.parametrize("top_k", [1, 3, 5])
def test_req_006_twice_as_many_candidates(library: Served, top_k: int) -> None:
    """REQ-006 Each modality gives up to twice `top_k` candidates to the fusion, not more and not fewer."""
    expected = fused(library, QUERY, top_k)
    assert len(expected) > top_k
    assert evidence(library.search(QUERY, top_k=top_k), "rrf") == pytest.approx(
        sorted(expected.values(), reverse=True)[:top_k]
    )
    assert get_recipe("rifflux-hybrid").pool(top_k) == 2 * top_k


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("top_k", [1, 2, 10])
def test_req_007_cut_to_top_k(library: Served, mode: str, top_k: int) -> None:
    """REQ-007 More candidates than `top_k` are cut to the best `top_k`."""
    rows = library.search("harbour", top_k=top_k, mode=mode)
    assert len(rows) == top_k


# --- reciprocal rank fusion ---


def test_rrf_001_one_over_k_plus_rank(library: Served) -> None:
    """RRF-001 A list adds 1 / (k + rank), with ranks from 1; a chunk missing from a list gets nothing for it."""
    rows = library.search(QUERY, top_k=100)
    assert {None} < {rank for row in rows for rank in row["score_breakdown"].values()}
    for row in rows:
        part = row["score_breakdown"]
        ranks = [part[name] for name in ("lexical_rank", "semantic_rank") if part[name] is not None]
        assert min(ranks) >= 1
        assert part["rrf"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
    # The contract's own example: c2 is second in the one list and first in the other.
    rankings = {
        "lexical": [ScoredChunk(1, 9.0), ScoredChunk(2, 8.0)],
        "semantic": [ScoredChunk(2, 0.9), ScoredChunk(3, 0.8)],
    }
    assert {it.key: it.score for it in fuse_ranks(rankings, ONE, 60)} == pytest.approx(
        {1: 1 / 61, 2: 1 / 62 + 1 / 61, 3: 1 / 62}
    )


def test_rrf_002_k_is_sixty(library: Served, configured: Served) -> None:
    """RRF-002 The constant is 60 unless it is configured."""
    assert library.search("galley", top_k=1)[0]["score_breakdown"]["rrf"] == pytest.approx(2 / 61)
    assert configured.search("galley", top_k=1)[0]["score_breakdown"]["rrf"] == pytest.approx(2 / 8)


def test_rrf_003_best_first(library: Served) -> None:
    """RRF-003 Hybrid results come with falling fused scores."""
    scores = evidence(library.search(QUERY, top_k=50), "rrf")
    assert len(set(scores)) > 5
    assert scores == sorted(scores, reverse=True)


def test_rrf_004_scores_are_not_averaged() -> None:
    """RRF-004 However large a raw score is, only its rank counts."""
    modest = {
        "lexical": [ScoredChunk(1, 2.0), ScoredChunk(2, 1.0)],
        "semantic": [ScoredChunk(2, 0.2), ScoredChunk(1, 0.1)],
    }
    extreme = {
        "lexical": [ScoredChunk(1, 9e9), ScoredChunk(2, 1.0)],
        "semantic": [ScoredChunk(2, 0.2), ScoredChunk(1, 0.1)],
    }
    assert [(it.key, it.score) for it in fuse_ranks(modest, ONE, 60)] == [
        (it.key, it.score) for it in fuse_ranks(extreme, ONE, 60)
    ]


# --- semantic and lexical ---


def test_sem_001_no_query_embedding(vectorless: Served) -> None:
    """SEM-001 Without a query embedding semantic search is empty."""
    assert vectorless.ask("search_rifflux", query="harbour", mode="semantic")["count"] == 0


def test_sem_002_zero_denominator(library: Served) -> None:
    """SEM-002 A cosine with a zero vector is 0.0, and a query that encodes to one is no error."""
    store = DictStore()
    collection = store.writer.add_collection("/somewhere").name
    record = Record(collection, "a.md", "doc", "A", 1, 1, "d", "c")
    store.writer.put(record, [ChunkInput(Chunk(n, f"text {n}", 1, 1), bytes(16)) for n in range(2)])
    keys = [it.key for it in store.vectors.chunks_without_vector()]
    store.vectors.put_vectors(keys, np.array([[1.0, 0.0], [0.0, 0.0]], dtype=np.float32))
    zero, one = np.zeros(2, dtype=np.float32), np.array([1.0, 0.0], dtype=np.float32)
    assert [it.score for it in store.vectors.near(zero, EVERYTHING, 5)] == [0.0, 0.0]
    assert [it.score for it in store.vectors.near(one, EVERYTHING, 5)] == [1.0, 0.0]
    assert library.search("!!!", mode="semantic") == []


def test_sem_003_highest_cosine_first(library: Served) -> None:
    """SEM-003 Candidates are sorted by falling cosine before they are cut."""
    every = evidence(library.search(QUERY, top_k=100, mode="semantic"), "cosine")
    assert every == sorted(every, reverse=True)
    assert evidence(library.search(QUERY, top_k=4, mode="semantic"), "cosine") == every[:4]


def from_sqlite(library: Served, expression: str) -> list[tuple[str, float]]:
    """What SQLite itself says, asked with another driver."""
    weights = ", ".join(str(weight) for weight in COLUMN_WEIGHTS)
    statement = (
        f"SELECT chunks.public_id, bm25(words, {weights}) AS cost FROM words JOIN chunks ON chunks.id = words.rowid "
        "WHERE words MATCH ? ORDER BY cost, chunks.path, chunks.ordinal"
    )
    with closing(sqlite3.connect(library.ask("index_status")["db_path"])) as connection:
        return list(connection.execute(statement, (expression,)))


def test_lex_001_fts5_match(library: Served) -> None:
    """LEX-001 Lexical search finds exactly what FTS5 matches."""
    expected = {chunk_id for chunk_id, _ in from_sqlite(library, '"anchor" OR "keel" OR "eviction"')}
    assert set(ids(library.search("anchor keel eviction", top_k=100, mode="lexical"))) == expected


def test_lex_002_bm25_order(library: Served) -> None:
    """LEX-002 Results are in SQLite's bm25 order, and show its value with its sign: lower is better."""
    expected = from_sqlite(library, '"galley" OR "halyard" OR "fender"')
    rows = library.search("galley halyard fender", top_k=100, mode="lexical")
    assert len(rows) >= 10
    assert evidence(rows, "bm25") == pytest.approx([cost for _, cost in expected])
    assert dict(expected) == pytest.approx({row["chunk_id"]: row["bm25_score"] for row in rows})
    assert all(score < 0 for score in evidence(rows, "bm25"))


# --- constraints and guidelines ---


def test_con_001_core_without_transport() -> None:
    """CON-001 Searching, and even the tools themselves, need nothing of MCP."""
    program = (
        "import sys, dowse.engine, dowse.search.search, dowse.tools.rifflux; "
        "print(sorted({'mcp', 'mcp_types', 'anyio', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("mode", MODES)
def test_con_002_stable_keys(library: Served, mode: str) -> None:
    """CON-002 Rows and their score breakdowns have exactly the keys of their mode."""
    rows = library.search(QUERY, mode=mode)
    assert rows
    assert all(row.keys() == ROW[mode] for row in rows)
    assert all(row["score_breakdown"].keys() == BREAKDOWN[mode] for row in rows)


def test_con_003_one_row_for_both_modalities(library: Served) -> None:
    """CON-003 A chunk found by both modalities comes once, with the metadata it has everywhere else."""
    rows = library.search(QUERY, top_k=50)
    both = [row for row in rows if None not in row["score_breakdown"].values()]
    assert both
    assert len(set(ids(rows))) == len(rows)
    for row in both:
        assert metadata(row) == library.ask("get_chunk", chunk_id=row["chunk_id"])["chunk"]


def test_gud_001_scores_explain(library: Served) -> None:
    """GUD-001 Scores are evidence, not probabilities: nothing offers one number to compare across modes."""
    for mode in MODES:
        for row in library.search(QUERY, mode=mode):
            assert not {"score", "confidence", "probability"} & (row.keys() | row["score_breakdown"].keys())


def test_gud_002_hybrid_by_default(library: Served) -> None:
    """GUD-002 A search that names no mode is hybrid, and the tool's schema says so."""
    assert library.ask("search_rifflux", query=QUERY) == library.ask("search_rifflux", query=QUERY, mode="hybrid")
    assert library.tools()["search_rifflux"].input_schema["properties"]["mode"]["default"] == "hybrid"


# --- acceptance criteria ---


def test_ac_001_bm25_without_semantics(vectorless: Served) -> None:
    """AC-001 Lexical results have their bm25 even where there is nothing semantic at all."""
    rows = vectorless.search("eviction ttl", mode="lexical")
    assert len(rows) >= 2
    assert all(row["score_breakdown"].keys() == {"bm25"} for row in rows)


def test_ac_002_cosine(library: Served) -> None:
    """AC-002 Semantic results have their cosine."""
    rows = library.search("eviction ttl", mode="semantic")
    assert rows
    assert all(-1 <= row["score_breakdown"]["cosine"] == row["cosine"] <= 1 for row in rows)


def test_ac_003_hybrid_breakdown(library: Served) -> None:
    """AC-003 Hybrid results have the fused score and both ranks, null where a list does not have the chunk."""
    first, *others = (row["score_breakdown"] for row in library.search("published", top_k=20))
    assert first["lexical_rank"] == 1
    assert first["rrf"] == pytest.approx(1 / 61 + 1 / (60 + first["semantic_rank"]))
    assert len(others) == 19
    assert all(
        it["lexical_rank"] is None and it["rrf"] == pytest.approx(1 / (60 + it["semantic_rank"])) for it in others
    )


def test_ac_004_no_embedding_no_exception(vectorless: Served) -> None:
    """AC-004 Semantic mode without a query embedding answers with an empty list and goes on working."""
    answer = vectorless.ask("search_rifflux", query="cache ttl", top_k=5, mode="semantic")
    assert (answer["count"], answer["results"], answer["embedding_model"]) == (0, [], "none")
    assert vectorless.search("cache ttl", mode="lexical")


@pytest.mark.parametrize("mode", MODES)
def test_ac_005_never_more_than_top_k(library: Served, mode: str) -> None:
    """AC-005 Whatever the mode and `top_k`, there are at most `top_k` results."""
    for top_k in (1, 7, 33, 100):
        assert 0 < len(library.search("harbour", top_k=top_k, mode=mode)) <= top_k


@pytest.mark.parametrize("mode", MODES)
def test_ac_006_answer_fields(library: Served, mode: str) -> None:
    """AC-006 The answer echoes query and mode, counts its results and names the embedding model."""
    answer = library.ask("search_rifflux", query=QUERY, mode=mode)
    assert answer.keys() == {"query", "mode", "count", "embedding_model", "auto_reindex", "results"}
    assert (answer["query"], answer["mode"], answer["count"]) == (QUERY, mode, len(answer["results"]))
    assert (answer["embedding_model"], answer["auto_reindex"]) == ("hash-384", None)


def test_ac_007_order_of_the_fusion(library: Served) -> None:
    """AC-007 Hybrid order follows the fused ranks, also where averaged raw scores would order otherwise."""
    rows = library.search(QUERY, top_k=40)
    raw: dict[str, float] = {}
    for mode, name, sign in (("lexical", "bm25", -0.5), ("semantic", "cosine", 0.5)):
        for row in library.search(QUERY, top_k=80, mode=mode):
            raw[row["chunk_id"]] = raw.get(row["chunk_id"], 0.0) + sign * row["score_breakdown"][name]
    assert evidence(rows, "rrf") == sorted(evidence(rows, "rrf"), reverse=True)
    assert ids(rows) != sorted(ids(rows), key=lambda chunk_id: -raw[chunk_id])


# --- edge cases ---


def test_common_words_are_ranked_too(library: Served) -> None:
    rows = library.search("harbour", top_k=100, mode="lexical")
    assert ids(rows)[0] == from_sqlite(library, '"harbour"')[0][0]


def test_no_lexical_but_semantic_candidates(library: Served) -> None:
    rows = library.search("zeppelin", top_k=3)
    assert [row["score_breakdown"]["lexical_rank"] for row in rows] == [None] * 3
    assert [row["score_breakdown"]["semantic_rank"] for row in rows] == [1, 2, 3]


def test_no_semantic_but_lexical_candidates(vectorless: Served) -> None:
    rows = vectorless.search("galley", top_k=3)
    assert [row["score_breakdown"]["lexical_rank"] for row in rows] == [1, 2, 3]
    assert [row["score_breakdown"]["semantic_rank"] for row in rows] == [None] * 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["!!!", "", "   ", "\t\n"])
def test_no_candidates_at_all(library: Served, query: str, mode: str) -> None:
    answer = library.ask("search_rifflux", query=query, mode=mode)
    assert (answer["query"], answer["count"], answer["results"]) == (query, 0, [])
