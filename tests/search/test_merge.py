"""Several answers as one: the surest hit first, each root's own order kept, nothing twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dowse.model import (
    Answer,
    Chunk,
    Completeness,
    DiskFreshness,
    Hit,
    Query,
    Record,
    SourceCoverage,
    Step,
    StoredChunk,
)
from dowse.search.merge import merge_answers

Rows = list[tuple[str, float]]


def hit(path: str, confidence: float, text: str = "text") -> Hit:
    record = Record("files", path, "doc", path, 1, 1, "", "")
    return Hit(StoredChunk(1, Chunk(0, text, 1, 1), record), 1.0, {"confidence": confidence})


def answer(query: Query, hits: list[Hit], **state: object) -> Answer:
    complete = Completeness(1, 1, 0, 1, 1, 5.0, **state)  # type: ignore[arg-type]
    return Answer(query, tuple(hits), (Step("fuse", 1, 1, 0.1),), complete, 9.0, "" if hits else "nothing here")


def merged(rows: dict[str, Rows], query: Query, roots: dict[str, str] | None = None) -> Answer:
    answers = {root: answer(query, [hit(*it) for it in own]) for root, own in rows.items()}
    places = {root: {"files": (roots or {}).get(root, f"/{root}")} for root in rows}
    return merge_answers(query, answers, places)


NAMES = st.text("abcdef", min_size=1, max_size=3)
LISTS = st.lists(st.tuples(NAMES, st.floats(0, 1)), max_size=8, unique_by=lambda it: it[0])


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), LISTS, min_size=1))
def test_it_is_a_merge_of_the_lists(rows: dict[str, Rows]) -> None:
    found = merged(rows, Query("x", limit=100)).hits
    for root, own in rows.items():
        assert [it.stored.record.path for it in found if it.root == root] == [path for path, _ in own]
    left = {root: list(own) for root, own in rows.items()}
    for it in found:
        heads = [own[0][1] for own in left.values() if own]
        assert it.evidence["confidence"] == max(heads)
        left[it.root].pop(0)


def test_what_two_roots_share_comes_once() -> None:
    rows = {"one": [("a.md", 0.9)], "two": [("a.md", 0.8), ("b.md", 0.1)]}
    same = merged(rows, Query("x"), {"one": "/repo/.git", "two": "/repo/.git"})
    assert [(it.root, it.stored.record.path) for it in same.hits] == [("one", "a.md"), ("two", "b.md")]
    assert len(merged(rows, Query("x")).hits) == 3


def test_limit_and_budget_are_those_of_the_whole() -> None:
    rows = {"one": [("a.md", 0.9), ("b.md", 0.5)], "two": [("c.md", 0.8)]}
    assert [it.root for it in merged(rows, Query("x", limit=2)).hits] == ["one", "two"]
    answers = {root: answer(Query("x"), [hit(f"{root}.md", 0.5, "t" * 150)]) for root in ("one", "two")}
    tight = merge_answers(Query("x", budget_tokens=50), answers, {"one": {}, "two": {}})
    assert [it.root for it in tight.hits] == ["one"]
    assert tight.steps[-1].note == "1 more hits left out (budget 50 tokens)"


def test_what_is_said_of_each_root_is_said_with_its_name() -> None:
    query = Query("x")
    answers = {
        "one": answer(
            query,
            [],
            by_source=(SourceCoverage("commits", 2, 3),),
            disk_freshness=DiskFreshness(7.0, 2, ("a.md", "b.md"), ("slow",)),
        ),
        "two": answer(
            query,
            [],
            notes=("half",),
            by_source=(SourceCoverage("commits", 1, 1),),
            disk_freshness=DiskFreshness(8.0, complete=True),
        ),
    }
    whole = merge_answers(query, answers, {"one": {}, "two": {}})
    assert whole.abstained == "one: nothing here; two: nothing here"
    assert [it.label for it in whole.steps] == ["one: fuse", "two: fuse", "merge"]
    state = whole.completeness
    assert (state.indexed, state.by_source, state.notes) == (2, (SourceCoverage("commits", 3, 4),), ("two: half",))
    assert state.disk_freshness == DiskFreshness(7.0, 2, ("one/a.md", "one/b.md"), ("one: slow",))
    assert set(whole.roots) == {"one", "two"}
