"""Scopes of either backend against the naive predicate: facets, links, kinds, moments, in every question there is."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.model import (
    EVERYTHING,
    FILE_KINDS,
    Chunk,
    FacetFilter,
    Link,
    LinkFilter,
    NestedCollection,
    Record,
    Scope,
    Symbol,
)
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite import fts as words
from dowse.store.sqlite import scope as scopes
from dowse.store.sqlite.database import Database, Row
from dowse.store.types import ChunkInput, ColumnWeights, LineQuery, PatternTerm, SymbolQuery
from dowse.text.code_names import scope_predicate
from dowse.text.globs import compile_globs, directory_of_tree_glob, literal_prefix
from dowse.text.tokenize import parse_query
from oracle.dict_store import DictStore

NS = 10**9
TARGETS = (
    "src/a.py",
    "src/a.py/x",
    "src/ab.py",
    "docs/a.md",
    "a.py",
    "src",
    "ä/b.md",
    "src/a b.py",
    "./a.py",
    "src/",
    "src0",
)
PEOPLE = ("Ada <ada@x.org>", "ADA L <l@y.org>", "Bob <bob@x.org>", "ÄÖ <s@z>", "")
KINDS = ("doc", "code", "commit", "memory")

links = st.builds(
    Link, st.sampled_from(["touches", "renames"]), st.sampled_from(TARGETS), st.just(1), st.sampled_from(["", "M"])
)
records = st.builds(
    lambda number, kind, author, other, tags, mtime, at, found: (
        Record(
            "notes" if number % 2 else "more",
            f"r{number}.md",
            kind,
            "word",
            1,
            mtime * NS,
            "d",
            "c",
            tags=tags,
            facets={"author": author, **({"type": other} if other else {})},
            at_ns=None if at is None else at * NS,
        ),
        found,
    ),
    st.integers(0, 30),
    st.sampled_from(KINDS),
    st.sampled_from(PEOPLE),
    st.sampled_from(["", "plan", "fact"]),
    st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True).map(tuple),
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
    st.lists(links, max_size=4),
)
globs = st.sampled_from(
    ["src/a.py", "/src/a.py", "src/", "src/**", "**/*.py", "a.py", "*.md", "src/a*", "./a.py", "src", "{src,docs}/a*",
     "src/a\\ b.py", "ä/*", "src//a.py", "src/./a.py", "src/.", "/", "**", "[s]rc/a.py", "a?.py", "nothing/here"]
)  # fmt: skip
facets = st.builds(
    FacetFilter,
    st.sampled_from(["author", "type", "nobody"]),
    st.sampled_from(["ada", "ADA <ada@x.org>", "Ada <ADA@x.org>", "x.org", "plan", "", "äö"]),
    st.booleans(),
)
moments = st.none() | st.floats(0, 5)
all_scopes = st.builds(
    Scope,
    collections=st.lists(st.sampled_from(["notes", "more", "none"]), max_size=2).map(tuple),
    kinds=st.lists(st.sampled_from([*KINDS, "film"]), max_size=3).map(tuple),
    paths=st.lists(st.sampled_from(["r1*", "*.md", "far/*", "far/deep/r*"]), max_size=2).map(tuple),
    excluded=st.lists(st.sampled_from(["r2*", "far/r*", "deep"]), max_size=1).map(tuple),
    tags=st.lists(st.sampled_from(["a", "B"]), max_size=1).map(tuple),
    since=moments,
    until=moments,
    facets=st.lists(facets, max_size=3).map(tuple),
    links=st.lists(st.builds(LinkFilter, st.sampled_from(["touches", "renames", ""]), globs), max_size=2).map(tuple),
    nested=st.sampled_from(
        [
            (),
            (NestedCollection("more", "far"),),
            (NestedCollection("more", "far"), NestedCollection("notes", "far/deep")),
        ]
    ),
)


@contextmanager
def both() -> Iterator[tuple[Store, Store]]:
    with TemporaryDirectory() as folder:
        opened = SqliteStore(Path(folder, "index.db")), DictStore()
        for store in opened:
            store.writer.add_collection("/work/notes")
            store.writer.add_collection("/work/more")
        yield opened
        opened[0].close()


def put(store: Store, record: Record, found: list[Link]) -> None:
    text = f"word of {record.path}"
    store.writer.put(
        record,
        [ChunkInput(Chunk(0, text, 1, 1), text.encode().ljust(16)[:16])],
        [Symbol("thing", "function", 1, 1)],
        found,
        text=f"{text}\n",
    )


Key = tuple[str, str]


def key(record: Record) -> Key:
    return record.collection, record.path


def answers(store: Store, scope: Scope) -> dict[str, object]:
    """What every question says of the scope, as the records it is about."""
    matched = store.catalog.load([it.key for it in store.words.match(parse_query("word"), scope, ColumnWeights(), 99)])
    near = store.catalog.load([it.key for it in store.vectors.near(np.ones(4, dtype=np.float32), scope, 99)])
    lines = store.lines.find_lines(LineQuery((PatternTerm("word"),), scope=scope, limit=0))
    return {
        "match": {key(it.record) for it in matched},
        "near": {key(it.record) for it in near},
        "lines": {(it.collection, it.path) for it in lines.files},
        "definitions": {key(it.record) for it in store.symbols.definitions(SymbolQuery(scope=scope)).definitions},
        "select": [key(it) for it in store.catalog.select(scope)],
        "first": [key(it) for it in store.catalog.select(scope, 2)],
        "glances": store.catalog.summaries(scope, ("author", "missing")),
        "targets": sorted(store.catalog.targets(("touches",), scope)),
        "count": store.catalog.count(scope),
        "counts": store.catalog.counts(scope),
        "linked": [(key(it), found) for it, found in store.catalog.records_with_links(("touches",), scope)],
    }


# Few, of a time, of ids: what decides who leads. As they are, nobody but what is kept, everybody.
Sizes = tuple[int, float, float]
SIZES: tuple[Sizes, ...] = (
    (scopes._MAX_LISTED_IDS, scopes._TIMED_RECORDS_PER_LOOKUP, scopes._KNOWN_RECORDS_PER_LOOKUP),
    (0, 1e-9, 1e-9),
    (0, 99.0, 9.0),
)


@contextmanager
def sized(sizes: Sizes) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name, size in zip(
            ("_MAX_LISTED_IDS", "_TIMED_RECORDS_PER_LOOKUP", "_KNOWN_RECORDS_PER_LOOKUP"), sizes, strict=True
        ):
            patched.setattr(scopes, name, size)
        yield


@settings(max_examples=60, deadline=None)
@given(
    st.lists(records, max_size=7, unique_by=lambda it: key(it[0])),
    st.lists(all_scopes, min_size=1, max_size=4),
    st.sampled_from(SIZES),
)
def test_every_question_keeps_to_the_scope(
    rows: list[tuple[Record, list[Link]]], wanted: list[Scope], sizes: Sizes
) -> None:
    with both() as stores, sized(sizes):
        for store in stores:
            store.vectors.prepare_vectors("one")
            for record, found in rows:
                put(store, record, found)
            keys = [it.key for it in store.vectors.chunks_without_vector("one")]
            store.vectors.put_vectors(keys, np.ones((len(keys), 4), dtype=np.float32), "one")
        for scope in wanted:
            within = scope_predicate(scope)
            chosen = sorted(
                (it for it, found in rows if within(it, found)), key=lambda it: (-it.timestamp_ns, *key(it))
            )
            expected = [key(it) for it in chosen]
            sqlite, dicts = (answers(store, scope) for store in stores)
            assert sqlite == dicts
            assert sqlite["select"] == expected
            assert sqlite["first"] == expected[:2]
            assert sqlite["count"] == len(expected)
            for name in ("match", "near", "lines", "definitions"):
                assert sqlite[name] == set(expected), name


@settings(max_examples=300)
@given(globs, st.sampled_from(TARGETS) | st.text("sra/.b*", max_size=6))
def test_what_a_glob_matches_begins_as_it_is_said(glob: str, path: str) -> None:
    if compile_globs((glob,))(path):
        assert path.startswith(literal_prefix(glob))


def record(path: str, kind: str = "commit", author: str = "Ada <a@x>", at: int = 1) -> Record:
    return Record("notes", path, kind, "word", 1, at * NS, "d", "c", facets={"author": author})


def test_what_was_worked_out_is_worked_out_anew_after_a_change(store: Store) -> None:
    scope = Scope(facets=(FacetFilter("author", "ada", exact=False),), links=(LinkFilter("touches", "src/*"),))
    put(store, record("1"), [Link("touches", "src/a", 1)])
    assert store.catalog.count(scope) == 1
    put(store, record("2"), [Link("touches", "src/b", 1)])
    assert [it.path for it in store.catalog.select(scope)] == ["1", "2"]
    put(store, record("1"), [Link("touches", "docs/a", 1)])
    assert [it.path for it in store.catalog.select(scope)] == ["2"]
    put(store, record("2", author="Bob <b@x>"), [Link("touches", "src/b", 1)])
    assert store.catalog.select(scope) == []


@pytest.mark.parametrize("few_chars", [0, 10**6])
@pytest.mark.parametrize("sizes", SIZES)
def test_many_are_found_as_few_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes, few_chars: int
) -> None:
    monkeypatch.setattr(words, "_MAX_KEY_LIST_CHARS", few_chars)
    with sized(sizes), noted(tmp_path, monkeypatch) as (opened, _):
        for number in range(6):
            put(opened, record(str(number), author="Ada" if number % 3 else "Bob", at=number), [])
        by_author, by_time = Scope(facets=(FacetFilter("author", "ada"),)), Scope(since=1.5, until=4.0)
        for scope, paths in (
            (by_author, "5421"),
            (by_time, "432"),
            (replace(by_author, since=1.5, until=4.0), "42"),
            (replace(by_author, excluded=("4",)), "521"),
            (replace(by_time, paths=("[34]",), facets=by_author.facets), "4"),
        ):
            assert [it.path for it in opened.catalog.select(scope)] == [*paths]
            assert [it.path for it in opened.catalog.select(scope, 2)] == [*paths][:2]
            found = opened.catalog.load(
                [it.key for it in opened.words.match(parse_query("word"), scope, ColumnWeights(), 9)]
            )
            assert {it.record.path for it in found} == {*paths}
        assert (
            opened.words.match(
                parse_query("word"), Scope(facets=(FacetFilter("author", "nobody"),)), ColumnWeights(), 9
            )
            == []
        )


@contextmanager
def noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SqliteStore, list[str]]]:
    """A store, and the statements that are read with it."""
    opened, asked, rows = SqliteStore(folder / "index.db"), [], Database.rows
    opened.writer.add_collection("/work/notes")

    def noting(db: Database, statement: str, values: Sequence[object] = ()) -> list[Row]:
        asked.append(statement)
        return rows(db, statement, values)

    monkeypatch.setattr(Database, "rows", noting)
    yield opened, asked
    opened.close()


def listings(asked: Sequence[str]) -> int:
    """How often the chunks of a scope were found before the words."""
    return sum("json_group_array(chunks.id)" in sql for sql in asked)


@pytest.mark.parametrize(
    ("sizes", "other", "leads"),
    [
        ((0, 1e-9, 1e-9), Scope(), True),  # nothing varies: they are kept
        ((0, 1e-9, 1e-9), Scope(kinds=("commit",)), True),
        ((0, 1e-9, 1e-9), Scope(since=0.0), False),
        ((0, 1e-9, 1e-9), Scope(excluded=("x",)), False),
        ((0, 99.0, 1e-9), Scope(since=0.0), True),  # few are of the time
        ((0, 1e-9, 99.0), Scope(since=0.0), True),  # few have the author
        ((0, 99.0, 99.0), Scope(since=0.0, excluded=("x",)), False),  # to match a glob takes longest
        ((6, 1e-9, 1e-9), Scope(paths=("*",)), True),
        ((5, 1e-9, 1e-9), Scope(paths=("*",)), False),
        ((6, 1e-9, 1e-9), Scope(since=0.0), True),
        ((5, 1e-9, 1e-9), Scope(since=0.0), False),
    ],
)
def test_chunks_are_found_before_words_where_they_are_kept_or_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes, other: Scope, leads: bool
) -> None:
    with sized(sizes), noted(tmp_path, monkeypatch) as (opened, asked):
        for number in range(6):
            put(opened, record(str(number)), [])
        put(opened, record("other", kind="doc", author="Bob"), [])
        scope = replace(other, facets=(FacetFilter("author", "ada", exact=False),))
        assert len(opened.words.match(parse_query("word"), scope, ColumnWeights(), 9)) == 6
        assert listings(asked) == leads


def test_questions_of_changing_moments_push_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with noted(tmp_path, monkeypatch) as (opened, asked):
        put(opened, record("1"), [Link("touches", "src/a", 1)])
        steady = Scope(links=(LinkFilter("touches", "src/**"),))
        opened.words.match(parse_query("word"), steady, ColumnWeights(), 9)
        for number in range(200):
            passing = replace(steady, since=number / 1_000)
            assert len(opened.words.match(parse_query("word"), passing, ColumnWeights(), 9)) == 1
            assert len(opened.lines.find_lines(LineQuery((PatternTerm("word"),), scope=passing)).files) == 1
        asked.clear()
        opened.words.match(parse_query("word"), steady, ColumnWeights(), 9)
        opened.words.match(parse_query("word"), passing, ColumnWeights(), 9)
        assert listings(asked) == 0
        assert sum("FROM links" in sql for sql in asked) == 0


def test_what_is_remembered_may_ask_for_a_scope_that_another_works_out(tmp_path: Path) -> None:
    """After a change in between: each holds what the other would wait for, if all that is remembered had one lock."""
    opened = SqliteStore(tmp_path / "index.db")
    opened.writer.add_collection("/work/notes")
    put(opened, record("1"), [])
    scope = Scope(facets=(FacetFilter("author", "ada", exact=False),))
    begun, waiting, changed = threading.Event(), threading.Event(), threading.Event()
    before, found = opened.catalog.current_members(), []

    def work_out() -> str:
        begun.set()
        assert changed.wait(30)
        return opened.catalog.scopes.chunks(scope)

    def rest_on_it() -> str:
        waiting.set()
        return before.cached("worked out", lambda: "by the other")

    makers = (
        lambda: found.append(before.cached("worked out", work_out)),
        lambda: found.append(opened.catalog.cached_by_revision("resting", rest_on_it)),
    )
    threads = [threading.Thread(target=it, daemon=True) for it in makers]
    for thread, event in zip(threads, (begun, waiting), strict=True):
        thread.start()
        assert event.wait(30)
    put(opened, record("2"), [])
    changed.set()
    for thread in threads:
        thread.join(30)
    assert len(found) == 2
    assert found[0] == found[1] == opened.catalog.scopes.chunks(scope)
    opened.close()


def test_words_and_meaning_share_what_was_worked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with noted(tmp_path, monkeypatch) as (opened, asked):
        put(opened, record("1"), [Link("touches", "src/a", 1)])
        opened.vectors.put_vectors(
            [it.key for it in opened.vectors.chunks_without_vector()], np.ones((1, 4), dtype=np.float32)
        )
        for others in (EVERYTHING, Scope(since=0.5)):
            asked.clear()
            scope = replace(others, links=(LinkFilter("touches", "src/**"),))
            (matched,) = opened.words.match(parse_query("word"), scope, ColumnWeights(), 9)
            (near,) = opened.vectors.near(np.ones(4, dtype=np.float32), scope, 9)
            assert matched.key == near.key
            assert sum("FROM links" in sql for sql in asked) == (others == EVERYTHING)
            assert listings(asked) == 1


@pytest.mark.parametrize("few", [0, 9])
def test_the_first_of_many_are_asked_about_and_few_are_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(scopes, "_MAX_LISTED_IDS", few)
    with noted(tmp_path, monkeypatch) as (opened, asked):
        for number in range(6):
            put(opened, record(str(number), at=number), [])
        scope = Scope(facets=(FacetFilter("author", "ada", exact=False),))
        assert [it.path for it in opened.catalog.select(scope, 2)] == ["5", "4"]
        assert any("is_member" in sql for sql in asked) == (few == 0)
        asked.clear()
        assert opened.catalog.count(scope) == len(opened.catalog.select(scope)) == 6
        assert not any("is_member" in sql for sql in asked)


@settings(max_examples=300)
@given(globs | st.text("s/.*{}[]\\", max_size=8), st.sampled_from(TARGETS) | st.text("s/.b*0", max_size=6))
def test_a_glob_of_a_tree_matches_what_lies_below(glob: str, path: str) -> None:
    tree = directory_of_tree_glob(glob)
    if tree and ".." not in tree.split("/"):  # which no glob may have
        assert compile_globs((glob,))(path) == (path.startswith(f"{tree}/") and path != f"{tree}/")


@pytest.mark.parametrize(
    ("glob", "tree"),
    [("src/**", "src"), ("/src/**", "src"), ("./a b/c/**", "a b/c"), ("src/", ""), ("**", ""), ("src/*", ""),
     ("s*/**", ""), ("src/**/", ""), ("src/**/**", ""), ("a\\ b/**", ""), ("{a,b}/**", ""), ("src", "")],
)  # fmt: skip
def test_which_globs_are_of_a_tree(glob: str, tree: str) -> None:
    assert directory_of_tree_glob(glob) == tree


def test_a_folder_is_what_lies_below_it_and_not_what_is_called_alike(store: Store) -> None:
    for number, target in enumerate(("src", "src/", "src/a", "src/a/b", "src0", "src.py", "src/\U0010ffff", "ssrc/a")):
        put(store, record(str(number)), [Link("touches" if number != 3 else "renames", target, 1)])
    assert {it.path for it in store.catalog.select(Scope(links=(LinkFilter("touches", "src/**"),)))} == {"2", "6"}
    assert {it.path for it in store.catalog.select(Scope(links=(LinkFilter("", "src/**"),)))} == {"2", "3", "6"}


def test_hostile_globs_and_values_find_nothing(store: Store) -> None:
    put(store, record("1"), [Link("touches", "src/a", 1)])
    assert store.catalog.count(Scope(links=(LinkFilter("touches", "src/\udcff/*"),))) == 0
    assert store.catalog.count(Scope(facets=(FacetFilter("author", "\udcff' OR 1=1 --"),))) == 0
    assert store.catalog.count(Scope(facets=(FacetFilter("a'\"]$.\x00", "x", exact=False),))) == 0
    with pytest.raises(BadInput):
        store.catalog.count(Scope(links=(LinkFilter("touches", "{"),)))


def test_links_by_their_targets_newest_first(store: Store) -> None:
    put(store, record("1", at=1), [Link("touches", "src/a", 3, "M"), Link("changes", "src/a", 4)])
    put(store, record("2", at=2), [Link("touches", "src/a", 5, "A"), Link("touches", "src/b", 1)])
    found = [(it.path, link.kind, link.line) for it, link in store.catalog.links_to(["src/a"])]
    assert found == [("2", "touches", 5), ("1", "touches", 3), ("1", "changes", 4)]
    assert [it.path for it, _ in store.catalog.links_to(["src/a", "src/b"], ["touches"])] == ["2", "2", "1"]
    assert store.catalog.links_to(["src/\udcff", "src"]) == []


def test_targets_by_the_name_behind_the_mark(store: Store) -> None:
    found = [Link("changes", it, 1) for it in ("b#Repo.load", "a#Repo.load", "a#Repo.loads", "a#Load", "c#x.Repo.load")]
    put(store, record("1"), [*found, Link("touches", "t#Repo.load", 1), Link("changes", "é#Repo.load", 1)])
    put(store, record("2"), found)
    assert store.catalog.anchors_named("Repo.load", ["changes"]) == ["a#Repo.load", "b#Repo.load", "é#Repo.load"]
    assert store.catalog.anchors_named("Repo.load", ["touches", "anchored"]) == ["t#Repo.load"]
    assert store.catalog.anchors_named("%", ["changes"]) == store.catalog.anchors_named("\udcff", ["changes"]) == []


def test_collections_without_such_links_are_not_read(store: Store) -> None:
    store.writer.add_collection("/work/more")
    put(store, record("1"), [Link("touches", "x", 1)])
    put(store, Record("more", "a.md", "doc", "word", 1, NS, "d", "c"), [Link("related", "b", 1)])
    assert [it.path for it, _ in store.catalog.records_with_links(("related",))] == ["a.md"]
    assert store.catalog.records_with_links(("related",), Scope(kinds=("commit",))) == []


def test_files_and_counts_are_those_of_files(store: Store) -> None:
    put(store, record("1"), [Link("touches", "x", 1)])
    put(store, record("a.py", kind="code"), [])
    assert [it.path for it in store.symbols.files()] == ["a.py"]
    assert store.symbols.record_count() == 1
    counts = store.catalog.counts(Scope(kinds=FILE_KINDS))
    assert (counts.records, counts.chunks, counts.links, counts.symbols) == (1, 1, 0, 1)
    assert store.catalog.counts().records == 2
    assert store.catalog.sizes() == {"notes": 2}
    assert store.catalog.chunk_kinds([it.key for it in store.catalog.export()]) == {
        it.key: it.record.kind for it in store.catalog.export()
    }


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_the_best_of_the_most_frequent_kind_are_its_best(store: Store, limit: int) -> None:
    for number in range(12):
        put(store, record(f"d{number}", kind="doc"), [])
    for number in range(20):
        longer = record(f"c{number}")
        text = f"word {'and more ' * (number + 1)}"
        store.writer.put(longer, [ChunkInput(Chunk(0, text, 1, 1), text.encode().ljust(16)[:16])])
    found = store.catalog.load(
        [it.key for it in store.words.match(parse_query("word"), Scope(kinds=("commit",)), ColumnWeights(), limit)]
    )
    assert [it.record.path for it in found] == [f"c{number}" for number in range(20)][:limit]
