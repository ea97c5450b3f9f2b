"""One suite over every backend: SQLite must do what the dict store, the oracle, does."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput, EncoderMismatch
from dowse.model import EVERYTHING, Chunk, Link, NestedCollection, Record, Scope, SkippedItem, Symbol, public_chunk_id
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.types import ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY, ChunkInput, ColumnWeights
from dowse.text.tokenize import parse_query
from oracle.dict_store import DictStore

BACKENDS = ("sqlite", "dicts")
EVEN = ColumnWeights()
RECIPE = ColumnWeights(title=2.0, trail=1.5, text=1.0, names=0.5, tags=1.0, path=0.5)


def open_store(backend: str, folder: Path) -> Store:
    return SqliteStore(folder / "index.db") if backend == "sqlite" else DictStore()


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(request.param, tmp_path)
    opened.writer.add_collection("/work/notes")
    yield opened
    opened.close()


def record(path: str, *, collection: str = "notes", title: str = "", digest: str = "d", **rest: object) -> Record:
    values: dict[str, object] = {"kind": "doc", "size": 1, "mtime_ns": 10**18, "chunking": "c"} | rest
    return Record(collection=collection, path=path, title=title, digest=digest, **values)  # type: ignore[arg-type]


def pieces(*texts: str, trail: tuple[str, ...] = ()) -> list[ChunkInput]:
    return [
        ChunkInput(Chunk(place, text, place + 1, place + 1, trail), text.encode().ljust(16)[:16])
        for place, text in enumerate(texts)
    ]


def found(store: Store, query: str, scope: Scope = Scope(), limit: int = 10) -> list[str]:  # noqa: B008 - frozen
    keys = [scored.key for scored in store.words.match(parse_query(query), scope, EVEN, limit)]
    return [f"{it.record.path}#{it.chunk.ordinal}" for it in store.catalog.load(keys)]


def test_a_moved_collection_keeps_its_name_and_all_it_holds(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one"))
    store.writer.record_listing("notes", listed=1, at=5.0)
    made = iter(("before", "after"))
    assert store.catalog.cached_by_revision("roots", lambda: next(made)) == "before"
    store.writer.move_collection("notes", "/new/papers")
    (moved,) = store.catalog.collections()
    assert (moved.name, moved.root, moved.listed, moved.synced_at) == ("notes", "/new/papers", 1, 5.0)
    assert store.writer.add_collection("/new/papers") == moved
    assert found(store, "one") == ["a.md#0"]
    assert store.catalog.cached_by_revision("roots", lambda: next(made)) == "after"


def test_a_collection_that_was_emptied_can_be_removed(store: Store) -> None:
    store.writer.add_collection("/work/more")
    store.writer.put(record("a.md", collection="more"), pieces("one"))
    store.writer.put(record("b.md"), pieces("one"))
    store.writer.skip(SkippedItem("more", "c.md", "why"))
    store.writer.skip(SkippedItem("notes", "d.md", "why"))
    made = iter(("before", "after"))
    assert store.catalog.cached_by_revision("roots", lambda: next(made)) == "before"
    store.writer.drop("more", ["a.md"])
    store.catalog.cached_by_revision("roots", lambda: "between")
    store.writer.remove_collection("more")
    assert [it.name for it in store.catalog.collections()] == ["notes"]
    assert [it.path for it in store.catalog.skipped_items()] == ["d.md"]
    assert store.catalog.cached_by_revision("roots", lambda: next(made)) == "after"
    assert found(store, "one") == ["b.md#0"]
    assert store.writer.add_collection("/work/more").listed == 0
    assert store.catalog.versions("more") == {}
    assert [it.path for it in store.catalog.skipped_items()] == ["d.md"]


def test_no_collection_is_moved_onto_another(store: Store) -> None:
    store.writer.add_collection("/work/more")
    with pytest.raises(BadInput, match="/work/more: it is already indexed"):
        store.writer.move_collection("notes", "/work/more")
    assert [it.root for it in store.catalog.collections()] == ["/work/notes", "/work/more"]


def test_put_replaces_everything_known_of_a_record(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one", "two"), [Symbol("H", "heading", 1, 2)], [Link("links_to", "b", 1)])
    store.writer.put(record("a.md", digest="e"), pieces("three"), [Symbol("J", "heading", 1, 1, 1)], [])
    (kept,) = store.catalog.records("a.md")
    assert kept.digest == "e"
    assert [it.chunk.text for it in store.catalog.chunks(kept)] == ["three"]
    assert [it.name for it in store.catalog.symbols(kept)] == ["J"]
    assert store.catalog.links(kept) == []
    assert store.catalog.counts().chunks == 1
    assert found(store, "one two") == []


def test_put_keeps_every_field(store: Store) -> None:
    full = record(
        "dir/ü n.md",
        title="Títle",
        tags=("a", "b/c"),
        aliases=("x",),
        facets={"status": "open"},
        settled=False,
    )
    symbols = [Symbol("Top", "heading", 1, 9, 1), Symbol("Sub", "heading", 3, 9, 2, 0)]
    links = [Link("implements", "src/x.py", 4, "see x"), Link("url", "http://e.x/?a=b", 5)]
    store.writer.put(full, pieces("text", trail=("Top", "a > b")), symbols, links)
    (kept,) = store.catalog.records("dir/ü n.md", "notes")
    assert kept == full
    assert store.catalog.symbols(kept) == symbols
    assert store.catalog.links(kept) == links
    (chunk,) = store.catalog.chunks(kept)
    assert chunk.chunk.trail == ("Top", "a > b")
    assert chunk.chunk_id == public_chunk_id("dir/ü n.md", 0)
    assert store.catalog.by_chunk_id(chunk.chunk_id) == [chunk]


def test_versions_touch_and_drop(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one"))
    store.writer.put(record("b.md"), pieces("two"))
    store.writer.touch("notes", "a.md", size=5, mtime_ns=7, settled=True)
    versions = store.catalog.versions("notes")
    assert versions["a.md"][:2] == (5, 7)
    assert store.catalog.chunks(store.catalog.records("a.md")[0])[0].record.size == 5
    assert store.writer.drop("notes", ["b.md", "never.md"]) == 1
    assert set(store.catalog.versions("notes")) == {"a.md"}
    assert found(store, "two") == []


def test_unchanged_chunks_keep_their_vectors(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one", "two", "three"))
    store.vectors.put_vectors([it.key for it in store.vectors.chunks_without_vector()], np.eye(3, dtype=np.float32))
    store.writer.put(record("a.md", digest="e"), pieces("zero", "one", "three"))
    waiting = store.catalog.load([it.key for it in store.vectors.chunks_without_vector()])
    assert [it.chunk.text for it in waiting] == ["zero"]
    assert store.catalog.counts().vectors == 2


def test_the_same_text_twice_in_a_record(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("same", "same"))
    store.writer.put(record("a.md", digest="e"), pieces("same", "same", "same"))
    (kept,) = store.catalog.records("a.md")
    assert [it.chunk.ordinal for it in store.catalog.chunks(kept)] == [0, 1, 2]


def test_skipping_drops_what_was_indexed_and_indexing_unskips(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one"))
    store.writer.skip(SkippedItem("notes", "a.md", "binary file", 3, 4))
    assert store.catalog.skipped_items() == [SkippedItem("notes", "a.md", "binary file", 3, 4)]
    assert store.catalog.counts().records == 0
    store.writer.put(record("a.md"), pieces("one"))
    assert store.catalog.skipped_items() == []
    store.writer.skip(SkippedItem("notes", "b.md", "gone"))
    store.writer.unskip("notes", ["b.md"])
    assert store.catalog.skipped_items() == []


def test_collections_have_unique_names_and_their_own_records(store: Store) -> None:
    other = store.writer.add_collection("/else/notes")
    assert (other.name, store.writer.add_collection("/else/notes")) == ("notes-2", other)
    store.writer.put(record("a.md"), pieces("one"))
    store.writer.put(record("a.md", collection="notes-2"), pieces("one"))
    assert [it.collection for it in store.catalog.records("a.md")] == ["notes", "notes-2"]
    assert len(store.catalog.by_chunk_id(public_chunk_id("a.md", 0))) == 2
    assert len(store.catalog.by_chunk_id(public_chunk_id("a.md", 0), "notes-2")) == 1
    store.writer.drop("notes-2", ["a.md"])
    assert [it.collection for it in store.catalog.records("a.md")] == ["notes"]


def test_marking_a_sync(store: Store) -> None:
    store.writer.record_listing("notes", listed=7, at=None)
    assert [(it.listed, it.synced_at) for it in store.catalog.collections()] == [(7, 0.0)]
    store.writer.record_listing("notes", listed=8, at=99.5)
    store.writer.record_listing("notes", listed=9, at=None)
    assert [(it.listed, it.synced_at) for it in store.catalog.collections()] == [(9, 99.5)]


def test_manifest_notes(store: Store) -> None:
    store.writer.note("encoder", "x")
    store.writer.note("encoder", "y")
    assert store.catalog.metadata()["encoder"] == "y"


def test_export_is_ordered(store: Store) -> None:
    store.writer.put(record("b.md"), pieces("three"))
    store.writer.put(record("a.md"), pieces("one", "two"))
    assert [it.chunk.text for it in store.catalog.export()] == ["one", "two", "three"]


def test_load_gives_what_exists_in_the_order_asked(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one", "two"))
    first, second = (it.key for it in store.vectors.chunks_without_vector())
    assert [it.chunk.text for it in store.catalog.load([second, 10**9, first])] == ["two", "one"]
    assert store.catalog.load([]) == []


LYING = (NestedCollection("notes", "deep"), NestedCollection("notes", "far/deep"), NestedCollection("nowhere", "other"))
SCOPES = [
    (Scope(), {"a.md#0", "docs/b.md#0", "src/c.py#0"}),
    (Scope(kinds=("code",)), {"src/c.py#0"}),
    (Scope(paths=("docs/**",)), {"docs/b.md#0"}),
    (Scope(paths=("*.md",)), {"a.md#0", "docs/b.md#0"}),
    (Scope(tags=("Red",)), {"a.md#0"}),
    (Scope(tags=("red", "blue")), {"a.md#0", "docs/b.md#0"}),
    (Scope(since=200.0), {"docs/b.md#0", "src/c.py#0"}),
    (Scope(until=200.0), {"a.md#0", "docs/b.md#0"}),
    (Scope(since=150.0, until=250.0), {"docs/b.md#0"}),
    (Scope(since=-62_135_596_800.0, until=253_402_300_799.0), {"a.md#0", "docs/b.md#0", "src/c.py#0"}),
    (Scope(since=253_402_300_799.0), set()),
    (Scope(collections=("notes",)), {"a.md#0", "docs/b.md#0", "src/c.py#0"}),
    (Scope(collections=("nowhere",)), set()),
    (Scope(kinds=("code",), paths=("*.md",)), set()),
    (Scope(excluded=("docs/**",)), {"a.md#0", "src/c.py#0"}),
    (Scope(excluded=("docs",)), {"a.md#0", "src/c.py#0"}),
    (Scope(excluded=("b.md", "/src/c.py")), {"a.md#0"}),
    (Scope(excluded=("docs/a.md", "/b.md", "c.md")), {"a.md#0", "docs/b.md#0", "src/c.py#0"}),
    (Scope(excluded=("**",)), set()),
    (Scope(paths=("*.md",), excluded=("*.md",)), set()),
    (Scope(paths=("*.md",), excluded=("docs/",), until=200.0), {"a.md#0"}),
    (Scope(nested=LYING), {"a.md#0", "docs/b.md#0", "src/c.py#0"}),
    (Scope(paths=("deep/docs/*", "src/**"), nested=LYING), {"docs/b.md#0", "src/c.py#0"}),
    (Scope(paths=("far/deep/*.md", "other"), nested=LYING), {"a.md#0"}),
    (Scope(paths=("deep",), excluded=("deep/src/",), nested=LYING), {"a.md#0", "docs/b.md#0"}),
    (Scope(excluded=("/deep/a.md", "src/**"), nested=LYING), {"docs/b.md#0"}),
]


@pytest.mark.parametrize(("scope", "expected"), SCOPES)
def test_a_scope_filters_before_ranking(store: Store, scope: Scope, expected: set[str]) -> None:
    store.writer.put(record("a.md", tags=("red",), mtime_ns=100 * 10**9), pieces("shared word"))
    store.writer.put(record("docs/b.md", tags=("blue",), mtime_ns=200 * 10**9), pieces("shared word"))
    store.writer.put(record("src/c.py", kind="code", mtime_ns=300 * 10**9), pieces("shared word"))
    store.vectors.put_vectors(
        [it.key for it in store.vectors.chunks_without_vector()], np.ones((3, 4), dtype=np.float32)
    )
    assert set(found(store, "shared", scope)) == expected
    near = store.vectors.near(np.ones(4, dtype=np.float32), scope, 10)
    assert {f"{it.record.path}#0" for it in store.catalog.load([scored.key for scored in near])} == expected


def test_what_is_excluded_takes_no_place_of_the_limit(store: Store) -> None:
    for number in range(5):
        store.writer.put(record(f"best-{number}.md"), pieces("word word word"))
    store.writer.put(record("last.md"), pieces("word and much else that makes it the worst match of all of them"))
    vectors = np.array([[1, 0]] * 5 + [[0, 1]], dtype=np.float32)
    store.vectors.put_vectors([it.key for it in store.vectors.chunks_without_vector()], vectors)
    scope = Scope(excluded=("best-*",))
    assert found(store, "word", scope, limit=1) == ["last.md#0"]
    (nearest,) = store.vectors.near(np.array([1, 0], dtype=np.float32), scope, 1)
    assert [it.record.path for it in store.catalog.load([nearest.key])] == ["last.md"]


def test_cosine_order_ties_and_zero_vectors(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one", "two", "three", "four"))
    keys = [it.key for it in store.vectors.chunks_without_vector()]
    matrix = np.array([[1, 0], [0, 1], [3, 3], [0, 0]], dtype=np.float32)
    store.vectors.put_vectors(keys, matrix)
    scored = store.vectors.near(np.array([2, 0], dtype=np.float32), Scope(), 10)
    assert [keys.index(it.key) for it in scored] == [0, 2, 1, 3]
    assert [it.score for it in scored] == pytest.approx([1.0, math.sqrt(0.5), 0.0, 0.0], abs=1e-3)
    assert [it.score for it in store.vectors.near(np.zeros(2, dtype=np.float32), Scope(), 2)] == [0.0, 0.0]
    assert store.vectors.near(np.ones(2, dtype=np.float32), Scope(), 0) == []


def test_vectors_can_be_read_back(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one", "two"))
    first, second = (it.key for it in store.vectors.chunks_without_vector())
    store.vectors.put_vectors([first], np.array([[0.5, 0.25]], dtype=np.float32))
    held = store.vectors.vectors([first, second, 10**9])
    assert list(held) == [first] and held[first].tolist() == [0.5, 0.25]


def test_vectors_of_vanished_chunks_are_not_kept(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one"))
    (waiting,) = store.vectors.chunks_without_vector()
    store.writer.drop("notes", ["a.md"])
    store.vectors.put_vectors([waiting.key], np.ones((1, 2), dtype=np.float32))
    assert store.catalog.counts().vectors == 0
    assert store.vectors.near(np.ones(2, dtype=np.float32), Scope(), 5) == []


def two_texts(store: Store) -> list[int]:
    """Two chunks with vectors of encoder "old"."""
    store.writer.put(record("a.md"), pieces("one", "two"))
    store.vectors.prepare_vectors("old")
    keys = [it.key for it in store.vectors.chunks_without_vector("old")]
    store.vectors.put_vectors(keys, np.array([[1, 0], [0, 1]], dtype=np.float32), "old")
    return keys


def made_by(store: Store) -> tuple[str | None, str | None]:
    return store.catalog.metadata().get(ACTIVE_ENCODER_KEY), store.catalog.metadata().get(NEXT_ENCODER_KEY)


def vectors_of(store: Store) -> tuple[int, int]:
    return store.catalog.counts().vectors, store.catalog.counts().next_vectors


def test_a_second_encoder_fills_beside_the_first_and_takes_over_when_complete(store: Store) -> None:
    first, second = two_texts(store)
    assert not store.vectors.switch_vectors()
    store.vectors.prepare_vectors("new")
    assert [it.key for it in store.vectors.chunks_without_vector("new")] == [first, second]
    assert (store.vectors.chunks_without_vector("old"), store.vectors.chunks_without_vector("other")) == ([], [])
    store.vectors.put_vectors([first], np.array([[0, 1, 0]], dtype=np.float32), "new")
    store.vectors.put_vectors([first], np.array([[9, 9, 9]], dtype=np.float32), "other")
    store.vectors.prepare_vectors("new")  # as the next run does after an interruption
    assert not store.vectors.switch_vectors()
    assert (made_by(store), vectors_of(store)) == (("old", "new"), (2, 1))
    assert store.vectors.near(np.array([1, 0], dtype=np.float32), Scope(), 1, "old")[0].key == first
    assert store.vectors.vectors([first])[first].tolist() == [1, 0]
    assert [it.key for it in store.vectors.chunks_without_vector("new")] == [second]
    store.vectors.put_vectors([second], np.array([[1, 0, 0]], dtype=np.float32), "new")
    assert store.vectors.switch_vectors()
    assert (made_by(store), vectors_of(store)) == (("new", None), (2, 0))
    assert store.vectors.near(np.array([1, 0, 0], dtype=np.float32), Scope(), 1, "new")[0].key == second
    assert store.vectors.vectors([first])[first].tolist() == [0, 1, 0]
    assert not store.vectors.switch_vectors()


def test_a_query_is_only_compared_with_vectors_of_its_encoder(store: Store) -> None:
    keys = two_texts(store)
    store.vectors.prepare_vectors("new")
    query = np.array([1, 0], dtype=np.float32)
    with pytest.raises(EncoderMismatch, match="from old, not from new"):
        store.vectors.near(query, Scope(), 1, "new")
    store.vectors.put_vectors(keys, np.array([[0, 1], [1, 0]], dtype=np.float32), "new")
    assert store.vectors.near(query, Scope(), 1, "old")[0].key == keys[0]
    store.vectors.switch_vectors()
    with pytest.raises(EncoderMismatch, match="from new, not from old"):
        store.vectors.near(query, Scope(), 1, "old")
    assert store.vectors.near(query, Scope(), 1, "new")[0].key == keys[1]


def test_a_next_index_keeps_step_with_the_chunks(store: Store) -> None:
    keys = two_texts(store)
    store.vectors.prepare_vectors("new")
    store.vectors.put_vectors(keys, np.array([[0, 1, 0], [1, 0, 0]], dtype=np.float32), "new")
    store.writer.put(record("a.md", digest="e"), pieces("zero", "two"))
    assert vectors_of(store) == (1, 1)
    (zero,) = (it.key for it in store.vectors.chunks_without_vector("old"))
    assert [it.key for it in store.vectors.chunks_without_vector("new")] == [zero]
    assert not store.vectors.switch_vectors()
    store.vectors.put_vectors([zero], np.array([[0, 0, 1]], dtype=np.float32), "new")
    store.writer.put(record("b.md"), pieces("gone"))
    store.writer.drop("notes", ["b.md"])
    assert store.vectors.switch_vectors()
    texts = store.catalog.load(
        [it.key for it in store.vectors.near(np.array([1, 0, 0.5], dtype=np.float32), Scope(), 5, "new")]
    )
    assert [it.chunk.text for it in texts] == ["two", "zero"]
    assert vectors_of(store) == (2, 0)


def test_beginning_again_drops_what_another_encoder_began(store: Store) -> None:
    keys = two_texts(store)
    store.vectors.prepare_vectors("new")
    store.vectors.put_vectors(keys, np.ones((2, 3), dtype=np.float32), "new")
    store.vectors.prepare_vectors("newer")
    assert (made_by(store), vectors_of(store)) == (("old", "newer"), (2, 0))
    store.vectors.put_vectors(keys, np.ones((2, 3), dtype=np.float32), "new")
    assert vectors_of(store) == (2, 0)
    store.vectors.prepare_vectors("old")
    assert (made_by(store), vectors_of(store)) == (("old", None), (2, 0))
    store.writer.drop("notes", ["a.md"])
    store.vectors.prepare_vectors("newest")
    assert (made_by(store), vectors_of(store)) == (("newest", None), (0, 0))


def test_vectors_of_an_unknown_encoder_are_not_kept_for_a_known_one(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one"))
    (waiting,) = store.vectors.chunks_without_vector()
    store.vectors.put_vectors([waiting.key], np.ones((1, 2), dtype=np.float32))
    store.vectors.prepare_vectors("new")
    assert store.vectors.chunks_without_vector("new") == [waiting]
    assert (made_by(store), vectors_of(store)) == (("new", None), (0, 0))
    assert store.vectors.near(np.ones(3, dtype=np.float32), Scope(), 1, "new") == []


MATCHES = [
    ("retry", {"a.md#0", "a.md#1"}),
    ("retries", {"a.md#0", "a.md#1"}),  # one stem
    ("user name", {"b.py#0", "b.py#1"}),  # the parts of getUserName and get_user_name
    ("getUserName", {"b.py#0", "b.py#1"}),
    ("get_user_name", {"b.py#0", "b.py#1"}),
    ("GETUSERNAME", {"b.py#0"}),
    ('"exponential backoff"', {"a.md#0"}),
    ('"backoff exponential"', set()),
    ('"exponential backoff" retry', {"a.md#0"}),
    ("cafe", {"c.md#0"}),  # diacritics do not count
    ("Straße", {"c.md#1"}),
    ('"Straße ist"', {"c.md#1"}),
    ("a\u0301rbol", {"c.md#1"}),  # an accent written apart
    ("検索", {"d.md#0"}),
    ("全文検索", {"d.md#0"}),
    ("索", {"d.md#0"}),
    ("검색", {"d.md#1"}),
    ("handbook", {"c.md#0", "c.md#1"}),  # title
    ("", set()),
    ("!!! ??? *", set()),
    ('"', set()),
    ("NEAR(retry, 5)", {"a.md#0", "a.md#1"}),
    ("text:retry OR title:x", {"a.md#0", "a.md#1"}),
    ("retry*", {"a.md#0", "a.md#1"}),
    ("-retry", {"a.md#0", "a.md#1"}),
    ("^retry", {"a.md#0", "a.md#1"}),
    ("re\0try", set()),
]


@pytest.mark.parametrize(("query", "expected"), MATCHES)
def test_words(store: Store, query: str, expected: set[str]) -> None:
    store.writer.put(record("a.md"), pieces("Retry with exponential backoff", "No backoff, only one retry"))
    store.writer.put(record("b.py", kind="code"), pieces("def getUserName(): ...", "def get_user_name(): ..."))
    store.writer.put(
        record("c.md", title="Handbook"), pieces("The café opens", "and closes; die Straße ist lang, árbol")
    )
    store.writer.put(record("d.md"), pieces("これは全文検索エンジンです", "로컬 검색엔진"))
    assert set(found(store, query)) == expected


WORDS = ["retry", "backoff", "userName", "the", "検索", "alpha", "beta_gamma", "CamelCase", "x1y2"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=50)
@given(
    documents=st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=6),
    query=st.one_of(texts, st.text(max_size=20), texts.map(lambda text: f'"{text}" alpha')),
)
def test_sqlite_scores_as_the_oracle_does(
    tmp_path_factory: pytest.TempPathFactory, documents: list[list[str]], query: str
) -> None:
    sqlite, memory = SqliteStore(tmp_path_factory.mktemp("store") / "i.db"), DictStore()
    for store in (sqlite, memory):
        store.writer.add_collection("/notes")
        for number, parts in enumerate(documents):
            store.writer.put(record(f"{number}.md", title=parts[0]), pieces(*parts, trail=("Alpha", "beta")))
    terms = parse_query(query)
    theirs, ours = (store.words.match(terms, Scope(), RECIPE, 100) for store in (sqlite, memory))
    sqlite.close()
    assert {it.key: it.score for it in theirs} == pytest.approx({it.key: it.score for it in ours}, rel=1e-6)


@settings(max_examples=50)
@given(query=st.text(max_size=200))
def test_any_string_is_a_valid_query(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("store") / "i.db")
    store.writer.add_collection("/notes")
    store.writer.put(record("a.md"), pieces("some text"))
    store.words.match(parse_query(query), Scope(), EVEN, 5)
    store.close()


def test_tags_and_aliases_are_found_by_their_words(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("text"))
    store.writer.put(record("a.md", digest="e", tags=("storage",), aliases=("Other Name",)), pieces("text"))
    assert found(store, "storage") == ["a.md#0"]
    assert found(store, '"other name"') == ["a.md#0"]
    store.writer.put(record("a.md", digest="f", tags=("storage",)), pieces("text"))
    assert found(store, '"other name"') == []


def test_versions_below_a_place(store: Store) -> None:
    for path in ("docs/a.md", "docs/sub/b.md", "docs-old/c.md", "docs", "z.md"):
        store.writer.put(record(path), pieces("x"))
    assert set(store.catalog.versions("notes", ["docs"])) == {"docs", "docs/a.md", "docs/sub/b.md"}
    assert set(store.catalog.versions("notes", ["z.md"])) == {"z.md"}


def test_nothing_is_known_of_a_dropped_record(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one"), [Symbol("H", "heading", 1, 2)], [Link("links_to", "b", 1)])
    (kept,) = store.catalog.records("a.md")
    store.writer.drop("notes", ["a.md"])
    assert (store.catalog.chunks(kept), store.catalog.symbols(kept), store.catalog.links(kept)) == ([], [], [])


# --- all links at once ---


def test_all_links_of_some_kinds(store: Store) -> None:
    store.writer.add_collection("/work/more")
    urls, related = Link("url", "http://x", 1), [Link("related", "c", 2, "see c"), Link("links_to", "d#e", 3)]
    store.writer.put(record("b.md"), pieces("one"), (), [urls, *related])
    store.writer.put(record("a.md", tags=("x",), aliases=("A",)), pieces("two"), (), [urls])
    store.writer.put(record("z.md", collection="more"), pieces("three"), (), related[1:])
    store.writer.put(record("gone.md"), pieces("four"), (), related)
    store.writer.drop("notes", ["gone.md"])
    expected = [(("more", "z.md"), related[1:]), (("notes", "a.md"), []), (("notes", "b.md"), related)]
    assert [
        ((it.collection, it.path), links) for it, links in store.catalog.records_with_links(("links_to", "related"))
    ] == expected
    assert store.catalog.records_with_links(()) == []
    assert next(it for it, _ in store.catalog.records_with_links(("url",))) == store.catalog.records("a.md")[0]


PATHS = st.sampled_from(["a.md", "b/c.md", "ü.md"])
LINKS = st.lists(st.builds(Link, st.sampled_from(["links_to", "url"]), st.text(max_size=5), st.integers(1, 9)))


@settings(max_examples=40)
@given(st.lists(st.tuples(PATHS, st.one_of(st.none(), LINKS)), max_size=8))
def test_sqlite_knows_the_links_that_the_oracle_knows(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[Link] | None]]
) -> None:
    """Records come, change and go; None drops one."""
    sqlite, memory = SqliteStore(tmp_path_factory.mktemp("store") / "i.db"), DictStore()
    for store in (sqlite, memory):
        store.writer.add_collection("/notes")
        for path, links in steps:
            store.writer.put(record(path), pieces("x"), (), links) if links is not None else store.writer.drop(
                "notes", [path]
            )
    assert sqlite.catalog.records_with_links(("links_to",)) == memory.catalog.records_with_links(("links_to",))
    sqlite.close()


# --- what is remembered ---

CHANGES = {
    "put": lambda store: store.writer.put(record("b.md"), pieces("two")),
    "put again": lambda store: store.writer.put(record("a.md"), pieces("one"), (), [Link("links_to", "b", 1)]),
    "touch": lambda store: store.writer.touch("notes", "a.md", size=5, mtime_ns=7, settled=True),
    "drop": lambda store: store.writer.drop("notes", ["a.md"]),
    "skip": lambda store: store.writer.skip(SkippedItem("notes", "a.md", "binary file")),
}
NO_CHANGES = {
    "note": lambda store: store.writer.note("encoder", "x"),
    "mark": lambda store: store.writer.record_listing("notes", listed=7, at=1.0),
    "vectors": lambda store: store.vectors.put_vectors(
        [it.key for it in store.vectors.chunks_without_vector()], np.ones((1, 2), dtype=np.float32)
    ),
    "reading": lambda store: list(store.catalog.export()),
    "dropping nothing": lambda store: store.writer.drop("notes", ["never.md"]),
    "skipping another": lambda store: store.writer.skip(SkippedItem("notes", "b.bin", "binary file")),
    "keeping the last state": lambda store: store.writer.skip(SkippedItem("notes", "a.md", "locked"), drop=False),
}


class Counter:
    """Gives how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        return self.asked


@pytest.mark.parametrize(("change", "made"), [(it, 2) for it in CHANGES] + [(it, 1) for it in NO_CHANGES])
def test_what_is_remembered_lasts_until_a_record_changes(store: Store, change: str, made: int) -> None:
    store.writer.put(record("a.md"), pieces("one"))
    count, other = Counter(), Counter()
    assert [
        store.catalog.cached_by_revision("x", count),
        store.catalog.cached_by_revision("x", count),
        store.catalog.cached_by_revision("y", other),
    ] == [1, 1, 1]
    (CHANGES | NO_CHANGES)[change](store)
    assert [
        store.catalog.cached_by_revision("x", count),
        store.catalog.cached_by_revision("x", count),
        store.catalog.cached_by_revision("y", other),
    ] == [made] * 3


def test_what_could_not_be_made_is_not_remembered(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.catalog.cached_by_revision("x", lambda: 1 / 0)
    assert store.catalog.cached_by_revision("x", lambda: None) is None
    assert store.catalog.cached_by_revision("x", lambda: 1 / 0) is None


def test_what_is_remembered_may_rest_on_something_remembered(store: Store) -> None:
    count = Counter()
    assert (
        store.catalog.cached_by_revision("above", lambda: store.catalog.cached_by_revision("below", count) + 10) == 11
    )
    assert store.catalog.cached_by_revision("below", count) == 1


def test_a_change_while_it_is_made_is_noticed_the_next_time(store: Store) -> None:
    def seen_then_changed() -> int:
        found = len(store.catalog.select(Scope()))
        store.writer.put(record("a.md"), pieces("one"))
        return found

    assert store.catalog.cached_by_revision("x", seen_then_changed) == 0
    assert store.catalog.cached_by_revision("x", lambda: len(store.catalog.select(Scope()))) == 1


def test_threads_share_what_one_of_them_makes(store: Store) -> None:
    count, begin, results = Counter(), threading.Barrier(6), []

    def slow() -> int:
        time.sleep(0.05)  # long enough for the others to ask meanwhile
        return count()

    def ask() -> None:
        begin.wait()
        results.append(store.catalog.cached_by_revision("x", slow))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] * 6


def test_what_another_store_on_the_file_changes_is_noticed_by_every_thread(tmp_path: Path) -> None:
    here, there = SqliteStore(tmp_path / "i.db"), SqliteStore(tmp_path / "i.db")
    there.writer.add_collection("/notes")
    count = Counter()
    with ThreadPoolExecutor(1) as pool:
        for expected in (1, 2, 3):
            assert here.catalog.cached_by_revision("x", count) == expected
            assert pool.submit(here.catalog.cached_by_revision, "x", count).result() == expected
            there.writer.put(record("a.md"), pieces("one"))
            there.writer.drop("notes", ["a.md"])  # the records are as before, the state is another one
    here.close()
    there.close()


def test_kinds_are_those_of_the_records_that_are_there(store: Store) -> None:
    assert store.catalog.kinds() == frozenset()
    store.writer.add_collection("notes")
    for path, kind in (("a.md", "doc"), ("b.py", "code"), ("c.py", "code")):
        store.writer.put(record(path, kind=kind), pieces("text"), (), ())
    assert store.catalog.kinds() == {"doc", "code"}
    store.writer.drop("notes", ["b.py", "c.py"])
    assert store.catalog.kinds() == {"doc"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"salt water"', {"a.md#0", "b.md#0"}),
        ('"Salt WATERS"', {"a.md#0", "b.md#0"}),  # as lexical search has it: without case, by stems
        ('"salt water" "dead sea"', {"b.md#0"}),
        ('"water salt"', set()),
    ],
)
def test_chunks_that_hold_phrases(store: Store, query: str, expected: set[str]) -> None:
    store.writer.put(record("a.md"), pieces("so much salt water", "salt and water"))
    store.writer.put(record("b.md"), pieces("The dead sea has salt water."))
    held = store.catalog.load(sorted(store.words.chunks_containing(parse_query(query).required)))
    assert {f"{it.record.path}#{it.chunk.ordinal}" for it in held} == expected


def test_chunks_that_contain_a_word(store: Store) -> None:
    for number in range(8):
        store.writer.put(record(f"{number}.md"), pieces("salt water" if number else "salt water of the dead sea"))
    chunks, (common, rare, both, unknown, nothing) = store.words.document_frequencies(
        ["salt", "seas", "salt-sea", "desert", "!"]
    )
    assert (chunks, common) == (8, 8) and common > rare == both > unknown == nothing == 0
    assert store.words.document_frequencies([]) == (8, [])


def test_the_nearest_among_some(store: Store) -> None:
    store.writer.put(record("a.md"), pieces("one", "two", "three"))
    keys = [it.key for it in store.vectors.chunks_without_vector()]
    store.vectors.put_vectors(keys, np.array([[1, 0], [1, 1], [0, 1]], dtype=np.float32))
    query = np.array([1, 0], dtype=np.float32)
    assert [it.key for it in store.vectors.near(query, Scope(), 9, among={keys[1], keys[2]})] == [keys[1], keys[2]]
    assert [it.key for it in store.vectors.near(query, Scope(kinds=("doc",)), 9, among=[keys[2]])] == [keys[2]]
    assert store.vectors.near(query, Scope(), 9, among=()) == []


def test_chunks_that_define_a_name(store: Store) -> None:
    box, opened = Symbol("Box", "class", 1, 3), Symbol("open", "method", 2, 2, 1, 0)
    store.writer.put(record("b.py", kind="code"), pieces("class Box:", "def open(self):"), [box, opened])
    store.writer.put(record("a.py", kind="code"), pieces("Box = 1", "def open():"), [Symbol("Box", "variable", 1, 1)])
    store.writer.put(record("a.md"), pieces("# Box"), [Symbol("Box", "heading", 1, 1)])
    chunks = [it for path in ("a.py", "b.py") for it in store.catalog.chunks(record(path))]
    keys = {(it.record.path, it.chunk.start_line): it.key for it in chunks}

    def defining(*names: str, scope: Scope = EVERYTHING, limit: int = 9) -> list[int]:
        return store.symbols.chunks_defining(names, scope, limit)

    assert defining("Box") == [keys["b.py", 1], keys["a.py", 1]]
    assert defining("Box", "open", limit=2) == [keys["b.py", 1], keys["a.py", 1]]
    assert defining("Box", scope=Scope(paths=("a.*",))) == [keys["a.py", 1]]
    assert defining("box") == defining("Bo") == defining() == defining("Box", scope=Scope(kinds=("doc",))) == []


def test_names_that_chunks_define(store: Store) -> None:
    symbols = [
        Symbol("Box", "class", 1, 3),
        Symbol("open", "method", 2, 2, 1, 0),
        Symbol("close", "method", 3, 3, 1, 0),
        Symbol("Title", "heading", 1, 3),
    ]
    store.writer.put(record("a.py", kind="code"), pieces("class Box:", "def open(self):", "def close(self):"), symbols)
    store.writer.put(record("b.py", kind="code"), pieces("open()"))
    keys = [it.key for path in ("a.py", "b.py") for it in store.catalog.chunks(record(path))]
    expected = [(("Box", "class"),), (("open", "method"),), (("close", "method"),), ()]
    for _ in range(2):  # the second time it may be known
        assert [store.symbols.definitions_in_chunks(keys)[key] for key in keys] == expected
    store.writer.put(record("a.py", kind="code", digest="e"), pieces("class Box:"), symbols[:1])
    (key,) = [it.key for it in store.catalog.chunks(record("a.py"))]
    assert store.symbols.definitions_in_chunks([key]) == {key: (("Box", "class"),)}
