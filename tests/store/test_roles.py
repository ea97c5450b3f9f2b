"""Chunks that are found by their words only, and records whose lines nobody asks for."""

from __future__ import annotations

import numpy as np
import pytest

from dowse.model import EVERYTHING, Chunk, Record
from dowse.store.base import Store
from dowse.store.types import UNENCODED_ROLES, ChunkInput, ColumnWeights, LineQuery, PatternTerm
from dowse.text.tokenize import parse_query

ROLE = UNENCODED_ROLES[0]


def record(path: str) -> Record:
    return Record("notes", path, "doc", path, 1, 10**18, "d", "c")


def piece(place: int, text: str, role: str = "text") -> ChunkInput:
    return ChunkInput(Chunk(place, text, place + 1, place + 1, role=role), text.encode().ljust(16)[:16])


def put(store: Store, role: str = ROLE) -> None:
    store.writer.put(record("a"), [piece(0, "the head"), piece(1, "the rest", role)])


def encode(store: Store, made_by: str) -> None:
    keys = [it.key for it in store.vectors.chunks_without_vector(made_by)]
    store.vectors.put_vectors(keys, np.ones((len(keys), 4), dtype=np.float32), made_by)


def texts(store: Store, keys: list[int]) -> list[str]:
    return [it.chunk.text for it in store.catalog.load(keys)]


def test_only_the_others_wait_for_a_vector(store: Store) -> None:
    store.vectors.prepare_vectors("one")
    put(store)
    assert texts(store, [it.key for it in store.vectors.chunks_without_vector("one")]) == ["the head"]
    encode(store, "one")
    assert store.vectors.chunks_without_vector("one") == []
    counts = store.catalog.counts()
    assert (counts.chunks, counts.unencoded, counts.encoded, counts.vectors) == (2, 1, 1, 1)


def test_it_takes_no_vector(store: Store) -> None:
    store.vectors.prepare_vectors("one")
    put(store)
    keys = [it.key for it in store.catalog.chunks(record("a"))]
    store.vectors.put_vectors(keys, np.ones((2, 4), dtype=np.float32), "one")
    near = store.vectors.near(np.ones(4, dtype=np.float32), EVERYTHING, 10, "one")
    assert texts(store, [it.key for it in near]) == ["the head"]


def test_the_next_encoder_need_not_wait_for_it(store: Store) -> None:
    store.vectors.prepare_vectors("one")
    put(store)
    encode(store, "one")
    store.vectors.prepare_vectors("two")
    assert not store.vectors.switch_vectors("two")
    encode(store, "two")
    assert store.vectors.switch_vectors("two")


def test_its_words_are_found(store: Store) -> None:
    put(store)
    found = store.words.match(parse_query("rest"), EVERYTHING, ColumnWeights(), 10)
    assert texts(store, [it.key for it in found]) == ["the rest"]
    assert store.catalog.load([found[0].key])[0].chunk.role == ROLE


@pytest.mark.parametrize(("before", "after", "vectors"), [("text", ROLE, 1), (ROLE, "text", 1), (ROLE, ROLE, 1)])
def test_a_chunk_with_another_role_is_another_chunk(store: Store, before: str, after: str, vectors: int) -> None:
    store.vectors.prepare_vectors("one")
    put(store, before)
    encode(store, "one")
    put(store, after)
    assert store.catalog.counts().vectors == vectors
    assert len(store.vectors.chunks_without_vector("one")) == store.catalog.counts().encoded - vectors


def test_a_record_without_a_text_has_no_lines_and_counts_for_none(store: Store) -> None:
    question = LineQuery((PatternTerm("needle"),))
    store.writer.put(record("a"), [piece(0, "x")], text="a needle\n")
    store.writer.put(record("b"), [piece(0, "y")], text="hay\n")
    before = store.lines.find_lines(question)
    store.writer.put(record("c"), [piece(0, "needle")], text=None)
    assert store.lines.find_lines(question) == before
    assert store.catalog.text(record("c")) == ""
    assert store.lines.lines_between("notes", "c", [(1, 9)]) == [()]
    findings = store.maintenance.check(deep=True, progress=lambda *_: None)
    assert [it.text for it in findings if it.state == "problem"] == []


def test_a_text_may_come_and_go(store: Store) -> None:
    for text in ("kept\n", None, "again\n"):
        store.writer.put(record("a"), [piece(0, "x")], text=text)
        assert store.catalog.text(record("a")) == (text or "")
        assert store.lines.lines_between("notes", "a", [(1, 9)]) == [tuple(text.split()) if text else ()]
