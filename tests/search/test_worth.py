"""How much meaning counts beside words."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.encoders.base import EncoderTraits
from dowse.model import Chunk, Query, Record, ScoredChunk
from dowse.search.query_features import encoder_worth
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.store.types import ChunkInput, ColumnWeights
from oracle.dict_store import DictStore
from support import OpenEngine, write


def weighed(worth: float, *passages: tuple[str, int], query: str = "x") -> float:
    """The share of meaning, of 2, where the nearest are of these kinds and lengths."""
    store = DictStore()
    store.writer.add_collection("/c")
    for number, (kind, length) in enumerate(passages):
        record = Record("c", f"{number}", kind, "", 1, 1, "d", "c")
        store.writer.put(record, [ChunkInput(Chunk(0, "x" * length, 1, 1), b"%16d" % number)], (), [], text=None)
    keys = [it.key for it in store.catalog.export()]
    run = SearchRun(Query(query), store.view(), SearchModels(lambda _: QueryVector(None)), 10, ColumnWeights(), 60)
    run.retriever_weights = {"lexical": 1.0, "semantic": 2.0}
    run.vector = QueryVector(None, traits=EncoderTraits(ranking_weight=worth))
    run.kinds = store.catalog.chunk_kinds(keys)
    assert len(encoder_worth({"semantic": [ScoredChunk(key, 0.5) for key in keys]}, run)) == len(passages)
    assert run.retriever_weights["lexical"] == 1.0
    return run.retriever_weights["semantic"]


def test_the_share_of_meaning_follows_the_encoder_the_lengths_and_the_kinds() -> None:
    usual = weighed(1.0, ("doc", 700))
    assert usual == pytest.approx(2.0, abs=0.01)
    assert weighed(0.5, ("doc", 700)) == pytest.approx(usual / 2)
    assert weighed(1.0, ("doc", 400), ("doc", 1000)) == pytest.approx(usual)
    assert weighed(1.0, ("doc", 60)) < weighed(1.0, ("doc", 300)) < usual > weighed(1.0, ("doc", 1800))
    code, both = weighed(1.0, ("code", 700)), weighed(1.0, ("code", 700), ("doc", 700))
    assert code > both > usual
    assert weighed(1.0, ("code", 700), query="the server crashed " * 30) == pytest.approx(usual)  # a report


def test_years_and_amounts_are_found_by_their_digits() -> None:
    plain, named = (weighed(1.0, ("doc", 300), query=text) for text in ("net sales in one year", "net sales in 2015"))
    assert named < 0.2 * plain
    assert weighed(1.0, ("doc", 300), query="the 3 largest") == pytest.approx(plain)
    assert weighed(1.0, ("code", 300), query="status 404") == weighed(1.0, ("code", 300))


def test_without_a_vector_nothing_changes() -> None:
    run = SearchRun(Query("x"), DictStore().view(), SearchModels(lambda _: QueryVector(None)), 10, ColumnWeights(), 60)
    run.retriever_weights = {"lexical": 1.0}
    assert len(encoder_worth({}, run)) == 0
    assert run.retriever_weights == {"lexical": 1.0}


def test_hashing_never_reorders_what_words_found_but_fills_up(root: Path, open_engine: OpenEngine) -> None:
    texts = {f"{name}.md": f"# {name}\n\nretry limit of the {name} client\n" for name in ("red", "green", "blue")}
    write(root, texts | {"other.md": "# Other\n\nsomething else entirely\n"})
    with open_engine() as engine:
        engine.index([root])
        lexical, hybrid = (
            [hit.stored.record.path for hit in engine.search(Query("retry limit green", recipe=recipe)).hits]
            for recipe in ("lexical", "hybrid")
        )
    assert hybrid[: len(lexical)] == lexical
    assert len(hybrid) > len(lexical)
