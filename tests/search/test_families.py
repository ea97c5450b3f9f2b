"""One search over all kinds: whatever there is most of, every family of kinds is found, and scores are of one scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from families_support import fill, put
from hypothesis import given
from hypothesis import strategies as st

from dowse.model import FILE_KINDS, FacetFilter, Hit, Query, Scope
from dowse.search.run import QueryVector, SearchModels, groups_of_kinds
from dowse.search.search import SearchResult, search
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore


@pytest.fixture(scope="module", params=["sqlite", "dicts"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place: Path = tmp_path_factory.mktemp("store") / "index.db"
    opened: Store = SqliteStore(place) if request.param == "sqlite" else DictStore()
    fill(opened)
    yield opened
    opened.close()


def ask(store: Store, recipe: str, scope: Scope = Scope(), limit: int = 8) -> SearchResult:  # noqa: B008 - frozen
    models = SearchModels(lambda _: QueryVector(np.array([1, 0, 0], dtype=np.float32), encoder_fingerprint="one"))
    return search(Query("anchor", scope, limit, recipe), store.view(), models, rrf_k=60)


def kinds(found: list[Hit]) -> Counter[str]:
    return Counter(hit.stored.record.kind for hit in found)


@pytest.mark.parametrize("recipe", ["lexical", "semantic", "hybrid"])
def test_files_are_found_below_hundreds_of_better_commits(store: Store, recipe: str) -> None:
    found = ask(store, recipe).hits
    assert len(found) == 8
    counts = kinds(found)
    assert 1 <= counts["commit"] <= 2
    assert counts["code"] >= 4
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_all_places_are_taken_where_files_are_few(store: Store) -> None:
    assert kinds(ask(store, "lexical", limit=100).hits) == {"code": 12, "memory": 3, "commit": 85}


def test_kinds_that_are_named_come_as_they_are(store: Store) -> None:
    assert kinds(ask(store, "hybrid", Scope(kinds=("commit",))).hits) == {"commit": 8}
    assert kinds(ask(store, "hybrid", Scope(kinds=("code", "memory"))).hits).keys() <= {"code", "memory"}
    assert kinds(ask(store, "lexical", Scope(kinds=("commit", "code"))).hits) == {"commit": 8}


def test_paths_are_of_files_and_of_what_commits_touch(store: Store) -> None:
    found = [it.stored.record for it in ask(store, "hybrid", Scope(paths=("src/deep/*",)), limit=20).hits]
    assert Counter(it.kind for it in found) == {"code": 12, "commit": 8}
    assert all(int(it.path) % 2 for it in found if it.kind == "commit")
    commits = ask(store, "lexical", Scope(kinds=("commit",), paths=("src/flat/2.py",)), limit=100).hits
    assert {int(it.stored.record.path) % 7 for it in commits} == {2}
    assert ask(store, "hybrid", Scope(paths=("nowhere/**",))).hits == []


def test_authors_and_tags_are_scopes_like_any_other(store: Store) -> None:
    found = ask(store, "hybrid", Scope(facets=(FacetFilter("author", "ADA", exact=False),))).hits
    assert kinds(found) == {"commit": 8}
    assert all(int(it.stored.record.path) % 4 == 0 for it in found)
    assert kinds(ask(store, "hybrid", Scope(tags=("sea",))).hits) == {"memory": 3}


def test_a_scope_of_files_ranks_as_an_index_of_files_does() -> None:
    mixed, plain = DictStore(), DictStore()
    fill(mixed)
    plain.writer.add_collection("/work")
    for number in range(12):
        put(plain, "work", f"src/deep/{number}.py", "code", f"the anchor is mentioned once here, {number} times more")
    found = [ask(it, "lexical", Scope(kinds=FILE_KINDS)) for it in (mixed, plain)]
    assert [it.stored.record.path for it in found[0].hits] == [it.stored.record.path for it in found[1].hits]
    assert [it.name for it in found[0].steps] == [it.name for it in found[1].steps]


@pytest.mark.parametrize(("recipe", "kind"), [("memories", "memory"), ("commits", "commit")])
def test_recipes_of_one_kind_give_each_record_once(store: Store, recipe: str, kind: str) -> None:
    found = ask(store, recipe, Scope(kinds=(kind,)), limit=3).hits
    assert kinds(found) == {kind: 3}
    assert len({hit.stored.record.path for hit in found}) == 3
    assert all(0 < hit.score <= 1 for hit in found)


def test_memories_are_found_without_vectors() -> None:
    store = DictStore()
    fill(store)
    query = Query("anchor", Scope(kinds=("memory",)), 3, "memories")
    found = search(query, store.view(), SearchModels(lambda _: QueryVector(None, "no encoder")), rrf_k=60).hits
    assert len(found) == 3
    assert found[0].evidence["uncalibrated"] == pytest.approx(2 / 61)


@given(
    st.lists(st.sampled_from(["doc", "code", "commit", "memory", "film"]), max_size=5),
    st.lists(st.sampled_from(["doc", "code", "commit", "memory"]), max_size=3).map(tuple),
)
def test_families_are_those_of_the_kinds_that_are_wanted(present: list[str], wanted: tuple[str, ...]) -> None:
    names = [it.name for it in groups_of_kinds(kind for kind in present if not wanted or kind in wanted)]
    kept = {kind for kind in present if not wanted or kind in wanted}
    assert ("commits" in names) == ("commit" in kept)
    assert ("memories" in names) == ("memory" in kept)
    assert ("files" in names) == bool(kept & {"doc", "code", "film"})
