"""Documents with the tags a query names, and with tags beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from understand_support import paths, run_for

from dowse.model import Scope
from dowse.search.query_features import TagExpansion
from dowse.store.base import Store
from search.stages.refine_support import put

TAGGED = {
    "a.md": ("storage", "cache"),
    "b.md": ("cache", "memory"),
    "c.md": ("memory", "allocation"),
    "d.md": ("machine-learning",),
    "e.md": (),
    "f.md": ("error_codes",),
    "g.md": ("http", "alpha"),
    "h.md": ("http", "web"),
    "i.md": ("http", "web"),
}


@pytest.fixture
def filled(store: Store) -> Store:
    for path, tags in TAGGED.items():
        put(store, path, "some words on storage", tags=tags)
    return store


@pytest.mark.parametrize(
    ("text", "depth", "tags"),
    [
        ("storage limits", 1, ["storage"]),
        ("storage limits", 2, ["storage", "cache"]),
        ("storage limits", 3, ["storage", "cache", "memory"]),
        ("storage limits", 9, ["storage", "cache", "memory", "allocation"]),
        ("Cache or STORAGE", 2, ["cache", "storage", "memory"]),
        ("machine learning", 2, ["machine-learning"]),
        ("list of error codes", 2, ["error_codes"]),
        ("http", 2, ["http", "web", "alpha"]),
        ("some words", 2, []),
        ("?!", 2, []),
        ("", 2, []),
    ],
)
def test_which_tags(filled: Store, text: str, depth: int, tags: list[str]) -> None:
    assert TagExpansion(depth=depth).tags(run_for(filled, text)) == tags


def test_no_more_tags_than_asked_for(filled: Store) -> None:
    assert TagExpansion(limit=2, depth=9).tags(run_for(filled, "storage limits")) == ["storage", "cache"]
    assert TagExpansion(limit=1).tags(run_for(filled, "storage cache")) == ["storage"]


def test_documents_of_the_tags_the_named_one_first(filled: Store) -> None:
    run = run_for(filled, "storage")
    assert paths(filled, TagExpansion()(run)) == ["a.md", "b.md"]
    assert run.notes == ["tags: storage, cache"]


def test_a_phrase_is_still_required(filled: Store) -> None:
    put(filled, "j.md", "a storage engine", tags=("storage",))
    assert paths(filled, TagExpansion()(run_for(filled, '"storage engine"'))) == ["j.md"]


def test_the_scope_holds(filled: Store) -> None:
    assert paths(filled, TagExpansion()(run_for(filled, "storage", Scope(paths=("a*",))))) == ["a.md"]
    assert TagExpansion()(run_for(filled, "storage", Scope(paths=("e*",)))) == []
    run = run_for(filled, "storage", Scope(tags=("memory",)))
    assert TagExpansion()(run) == [] and run.notes == ["skipped: the query filters by tag already"]


def test_nothing_tagged_is_said(filled: Store) -> None:
    run = run_for(filled, "some words")
    assert TagExpansion()(run) == [] and run.notes == ["no word of the query is a tag"]


@given(st.text(max_size=60))
def test_any_query(text: str) -> None:
    from oracle.dict_store import DictStore

    store = DictStore()
    store.writer.add_collection("/work/notes")
    put(store, "a.md", text, tags=("cache", text.lower()))
    assert len(TagExpansion()(run_for(store, text))) <= 1
