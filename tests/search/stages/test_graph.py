"""Links between records: the graph of a store, hits that join by links, hits in good company."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refine_support import DAY, NOW, hits, places, put, run_over, scores

from dowse.model import Hit, Link, Scope
from dowse.search.recipes import RECIPES
from dowse.search.stages.graph import CommunityBoost, GraphNeighbours, get_link_graph, record_node
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.types import ColumnWeights
from dowse.text.references import DOCUMENT_LINKS
from dowse.text.tokenize import parse_query
from oracle.dict_store import DictStore, DictTables

Value = TypeVar("Value")


@pytest.fixture
def linked(store: Store) -> Store:
    put(store, "docs/hub.md", "hub", "more", links=["a.md", "b", "a.md", "ghost", "hub.md", Link("url", "c", 1)])
    put(store, "docs/a.md", "first of a", "second of a", links=[Link("implements", "../src/x.py", 1)])
    put(store, "docs/b.md", "b", tags=("old",), age_days=100, links=[Link("related", "c", 1), Link("image", "x.py", 1)])
    put(store, "docs/c.md", "c", links=[Link("tests", "a", 1)])
    put(store, "src/x.py", "x", kind="code")
    put(store, "empty.md", links=["hub"])
    return store


def test_the_graph_of_a_store(linked: Store) -> None:
    graph = get_link_graph(linked.view())
    edges = [(node.path, end.kind, end.node.path) for node, ends in graph.outgoing.items() for end in ends]
    assert sorted(edges) == [
        ("docs/a.md", "implements", "src/x.py"), ("docs/b.md", "related", "docs/c.md"),
        ("docs/c.md", "tests", "docs/a.md"), ("docs/hub.md", "links_to", "docs/a.md"),
        ("docs/hub.md", "links_to", "docs/b.md"), ("empty.md", "links_to", "docs/hub.md"),
    ]  # fmt: skip
    back = [(end.node.path, end.kind, node.path) for node, ends in graph.incoming.items() for end in ends]
    assert sorted(back) == sorted(edges)
    assert get_link_graph(linked.view()) is graph


def test_links_stay_in_their_collection(store: Store) -> None:
    store.writer.add_collection("/work/others")
    put(store, "a.md", "a", links=["b"])
    put(store, "b.md", "b", collection="others")
    graph = get_link_graph(store.view())
    assert (graph.outgoing, graph.incoming) == ({}, {})


@pytest.mark.parametrize(
    ("stage", "found", "expected"),
    [
        # outgoing links first, then incoming; a record without chunks has nothing to show
        (GraphNeighbours(), {"docs/hub.md#1": 0.8}, {"docs/hub.md#1": 0.8, "docs/a.md#0": 0.4, "docs/b.md#0": 0.4}),
        (GraphNeighbours(), {"src/x.py#0": 0.8}, {"src/x.py#0": 0.8, "docs/a.md#0": 0.4}),
        # linked with two hits: the better one counts; those that are there already are lifted, by their best passage
        (
            GraphNeighbours(),
            {"docs/hub.md#0": 0.8, "docs/c.md#0": 0.3, "docs/b.md#0": 0.1},
            {"docs/hub.md#0": 0.8, "docs/b.md#0": 0.4, "docs/a.md#0": 0.4, "docs/c.md#0": 0.3},
        ),
        (
            GraphNeighbours(limit=0),
            {"docs/hub.md#0": 0.8, "docs/b.md#0": 0.7, "docs/a.md#1": 0.2, "docs/a.md#0": 0.1},
            {"docs/hub.md#0": 0.8, "docs/b.md#0": 0.7, "docs/a.md#1": 0.4, "docs/a.md#0": 0.1},
        ),
        (GraphNeighbours(0.25, limit=1), {"docs/hub.md#0": 0.8}, {"docs/hub.md#0": 0.8, "docs/a.md#0": 0.2}),
        (GraphNeighbours(links=("related",)), {"docs/hub.md#0": 0.8}, {"docs/hub.md#0": 0.8}),
        (GraphNeighbours(links=("related",)), {"docs/c.md#0": 0.8}, {"docs/c.md#0": 0.8, "docs/b.md#0": 0.4}),
        (GraphNeighbours(), {"docs/b.md#0": -0.2}, {"docs/b.md#0": -0.2, "docs/c.md#0": -0.3, "docs/hub.md#0": -0.3}),
        (GraphNeighbours(limit=0), {"docs/hub.md#0": 0.8}, {"docs/hub.md#0": 0.8}),
        (GraphNeighbours(), {}, {}),
    ],
)
def test_neighbours(linked: Store, stage: GraphNeighbours, found: dict[str, float], expected: dict[str, float]) -> None:
    joined = stage(hits(linked, found), run_over(linked))
    assert list(scores(joined).items()) == list(expected.items())


def test_a_neighbour_says_where_it_comes_from(linked: Store) -> None:
    found = hits(linked, {"src/x.py#0": 0.8, "docs/b.md#0": 0.7})
    joined = GraphNeighbours()(found, run_over(linked))
    assert {place: hit.evidence for place, hit in zip(places(joined), joined, strict=True)} == {
        "src/x.py#0": {},
        "docs/b.md#0": {},
        "docs/a.md#0": {"linked_from_rank": 1, "link_factor": 0.5},
        "docs/c.md#0": {"linked_from_rank": 2, "link_factor": 0.5},
        "docs/hub.md#0": {"linked_from_rank": 2, "link_factor": 0.5},
    }


def test_more_hits_lose_none_that_joined_by_a_link(linked: Store) -> None:
    few = GraphNeighbours()(hits(linked, {"docs/hub.md#0": 0.8}), run_over(linked))
    many = GraphNeighbours()(
        hits(linked, {"docs/hub.md#0": 0.8, "docs/a.md#0": 0.1, "docs/c.md#0": 0.05}), run_over(linked)
    )
    assert scores(few).items() <= scores(many).items()
    assert {place: it.evidence for place, it in zip(places(many), many, strict=True)}["docs/a.md#0"] == few[1].evidence


@pytest.mark.parametrize(
    ("scope", "joined"),
    [
        (Scope(), ["docs/a.md#0", "docs/b.md#0"]),
        (Scope(tags=("OLD",)), ["docs/b.md#0"]),
        (Scope(paths=("docs/a*",)), ["docs/a.md#0"]),
        (Scope(since=NOW - 10 * DAY), ["docs/a.md#0"]),
        (Scope(until=NOW - 10 * DAY), ["docs/b.md#0"]),
        (Scope(kinds=("code",)), []),
        (Scope(collections=("others",)), []),
    ],
)
def test_neighbours_stay_within_the_scope(linked: Store, scope: Scope, joined: list[str]) -> None:
    found = GraphNeighbours()(hits(linked, {"docs/hub.md#0": 1}), run_over(linked, scope))
    assert places(found)[1:] == joined


def test_company(store: Store) -> None:
    for name, links in {"a": "bc", "b": "c", "c": "", "x": "yz", "y": "z", "z": "", "alone": ""}.items():
        put(store, f"{name}.md", name, links=list(links))
    found = hits(store, {"a.md#0": 1.0, "alone.md#0": 0.9, "x.md#0": 0.6, "b.md#0": 0.58, "y.md#0": 0.5})
    boosted = CommunityBoost(seeds=1)(found, run_over(store))
    assert scores(boosted) == {"a.md#0": 1.1, "alone.md#0": 0.9, "b.md#0": 0.638, "x.md#0": 0.6, "y.md#0": 0.5}
    assert boosted[2].evidence == {"community": 0, "community_boost": 1.1}
    everyone = CommunityBoost(factor=2)(found, run_over(store))
    assert scores(everyone) == {"a.md#0": 2.0, "x.md#0": 1.2, "b.md#0": 1.16, "y.md#0": 1.0, "alone.md#0": 0.9}


@pytest.mark.parametrize("stage", [GraphNeighbours(), CommunityBoost()])
def test_an_index_without_links_says_so(store: Store, stage: GraphNeighbours | CommunityBoost) -> None:
    put(store, "a.md", "a", links=["ghost"])
    found, run = hits(store, {"a.md#0": 1}), run_over(store)
    assert stage(found, run) == found
    assert run.notes == ["no links between records"]


class Forgetful(DictTables):
    """Never notices that a record has changed."""

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, object] = {}

    def cached_by_revision(self, name: str, make: Callable[[], Value]) -> Value:
        if name not in self._first:
            self._first[name] = make()
        return cast("Value", self._first[name])


def test_a_graph_may_know_records_as_they_were_a_moment_ago() -> None:
    store, scope = DictStore(Forgetful()), Scope(tags=("open",))
    store.writer.add_collection("/work/notes")
    put(store, "a.md", "a", links=["gone", "secret", "here"], tags=("open",))
    for name in ("gone", "secret", "here"):
        put(store, f"{name}.md", name, tags=("open",))
    found, run = hits(store, {"a.md#0": 1}), run_over(store, scope)
    assert places(GraphNeighbours()(found, run))[1:] == ["gone.md#0", "secret.md#0", "here.md#0"]
    store.writer.drop("notes", ["gone.md"])
    put(store, "secret.md", "secret", tags=("closed",))
    assert places(GraphNeighbours()(found, run))[1:] == ["here.md#0"]


def test_a_changed_link_is_followed_at_once(linked: Store) -> None:
    found, run = hits(linked, {"docs/c.md#0": 1}), run_over(linked)
    assert places(GraphNeighbours()(found, run)) == ["docs/c.md#0", "docs/a.md#0", "docs/b.md#0"]
    put(linked, "docs/b.md", "b", links=["hub"])
    assert places(GraphNeighbours()(found, run)) == ["docs/c.md#0", "docs/a.md#0"]


def test_what_a_stage_dropped_does_not_come_back() -> None:
    """Neighbours join while nothing is dropped yet."""
    places = [[isinstance(it, GraphNeighbours) for it in recipe.stages] for recipe in RECIPES.values()]
    assert any(any(found) for found in places)
    assert all(not any(found[1:]) for found in places)


# --- no way around a scope ---

COLLECTIONS, KINDS, TAGS = ("notes", "others"), ("doc", "code"), ("red", "blue")
SOME = st.sampled_from
RECORDS = st.dictionaries(
    st.tuples(SOME(COLLECTIONS), SOME(["a.md", "b.md", "in/a.md", "in/c.md", "in/d.py"])),
    st.fixed_dictionaries(
        {
            "kind": SOME(KINDS),
            "tags": st.lists(SOME(TAGS), unique=True).map(tuple),
            "age_days": st.integers(0, 3),
            "links": st.lists(SOME(["a", "b", "c", "d.py", "in/a", "/a", "/in/c", "../b", "ghost"]), max_size=4),
        }
    ),
    min_size=1,
)
SCOPES = st.builds(
    Scope,
    collections=st.lists(SOME((*COLLECTIONS, "nowhere")), max_size=1).map(tuple),
    kinds=st.lists(SOME(KINDS), max_size=1).map(tuple),
    paths=st.lists(SOME(["in/**", "*.md", "a.md", "/b.md", "none/*"]), max_size=2).map(tuple),
    tags=st.lists(SOME(["RED", "blue", "green"]), max_size=2).map(tuple),
    since=st.one_of(st.none(), st.integers(0, 3).map(lambda days: NOW - days * DAY)),
    until=st.one_of(st.none(), st.integers(0, 3).map(lambda days: NOW - days * DAY)),
)


@settings(max_examples=60)
@given(records=RECORDS, scope=SCOPES)
def test_links_lead_nowhere_that_the_scope_excludes(
    tmp_path_factory: pytest.TempPathFactory, records: dict[tuple[str, str], dict[str, object]], scope: Scope
) -> None:
    """What the words index finds within the scope is all there is to see, whatever links there are."""
    store = SqliteStore(tmp_path_factory.mktemp("store") / "i.db")
    for collection in COLLECTIONS:
        store.writer.add_collection(f"/work/{collection}")
    for (collection, path), values in records.items():
        put(store, path, "shared", collection=collection, **values)  # type: ignore[arg-type]
    visible = store.catalog.load(
        [it.key for it in store.words.match(parse_query("shared"), scope, ColumnWeights(), 100)]
    )
    for one in visible:
        joined = GraphNeighbours(limit=100)([Hit(one, 1.0, {})], run_over(store, scope))[1:]
        near = set(get_link_graph(store.view()).neighbours(record_node(one.record), DOCUMENT_LINKS))
        expected = {record_node(it.record) for it in visible} & near
        assert {record_node(it.stored.record) for it in joined} == expected
    store.close()
