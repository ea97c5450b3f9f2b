"""Hits with what stands around them: never a text twice, never too long, lines that agree."""

from __future__ import annotations

import pytest
from refine_support import hits, places, put, run_over

from dowse.model import Chunk, Hit
from dowse.search.stages.context import Neighbours, ParentSection
from dowse.store.base import Store
from dowse.store.types import ChunkInput

TEXTS = ("zero", "one\none", "two", "three", "four")  # on lines 1, 3-4, 6, 8 and 10
FILE = ["zero", "", "one", "one", "", "two", "", "three", "", "four"]


def lines(hit: Hit) -> tuple[int, int]:
    return hit.stored.chunk.start_line, hit.stored.chunk.end_line


def is_verbatim(hit: Hit) -> bool:
    first, last = lines(hit)
    return hit.stored.chunk.text.split("\n") == FILE[first - 1 : last]


@pytest.mark.parametrize(
    ("stage", "scored", "expected"),
    [
        (Neighbours(0), ["a.md#2"], [(6, 6)]),
        (Neighbours(1), ["a.md#2"], [(3, 8)]),
        (Neighbours(2), ["a.md#2"], [(1, 10)]),
        (Neighbours(99), ["a.md#4"], [(1, 10)]),
        (Neighbours(1), ["a.md#0"], [(1, 4)]),
        (Neighbours(1), ["a.md#4"], [(8, 10)]),
        (Neighbours(1), ["a.md#2", "a.md#3"], [(3, 6), (8, 10)]),  # a hit is not another's context
        (Neighbours(1), ["a.md#1", "a.md#3"], [(1, 6), (8, 10)]),  # the better one has the passage between
        (Neighbours(1), ["a.md#3", "a.md#1"], [(6, 10), (1, 4)]),
        (Neighbours(1, max_chars=14), ["a.md#2"], [(3, 6)]),  # "one one two" has 12, with "three" 19
        (Neighbours(1, max_chars=11), ["a.md#2"], [(6, 8)]),  # the one before is too long, the one after not
        (Neighbours(2, max_chars=2), ["a.md#2"], [(6, 6)]),
    ],
)
def test_neighbours(store: Store, stage: Neighbours, scored: list[str], expected: list[tuple[int, int]]) -> None:
    put(store, "a.md", *TEXTS)
    found = hits(store, {place: 1 - at / 10 for at, place in enumerate(scored)})
    widened = stage(found, run_over(store))
    assert places(widened) == scored
    assert [lines(it) for it in widened] == expected
    assert all(is_verbatim(it) for it in widened)
    assert [it.score for it in widened] == [it.score for it in found]
    assert [it.stored.chunk_id for it in widened] == [it.stored.chunk_id for it in found]


def test_neighbours_are_counted(store: Store) -> None:
    put(store, "a.md", *TEXTS)
    put(store, "b.md", "alone")
    both = Neighbours()(hits(store, {"a.md#2": 2, "b.md#0": 1}), run_over(store))
    assert [it.evidence for it in both] == [{"context_chunks": 3}, {}]


def test_what_stood_on_one_line_stays_there_and_blank_lines_come_back(store: Store) -> None:
    put(store, "a.md", "replaced")
    chunks = (Chunk(0, "A sentence.", 1, 1), Chunk(1, "Another\none.", 1, 2), Chunk(2, "Far below.", 5, 5))
    (record,) = store.catalog.records("a.md")
    store.writer.put(record, [ChunkInput(chunk, bytes(16)) for chunk in chunks])
    (hit,) = Neighbours()(hits(store, {"a.md#1": 1}), run_over(store))
    assert hit.stored.chunk.text == "A sentence. Another\none.\n\n\nFar below."
    assert lines(hit) == (1, 5)


TRAILS = [("T",), ("T", "A"), ("T", "A"), ("T", "B", "x"), ("T", "B", "y")]


@pytest.mark.parametrize(
    ("max_chars", "scored", "expected"),
    [
        (4000, ["a.md#1"], {"a.md#1": (1, 10)}),  # the section above A is T
        (4000, ["a.md#0"], {"a.md#0": (1, 10)}),  # above T is the whole record
        (4000, ["a.md#3"], {"a.md#3": (8, 10)}),  # above x is B
        (4000, ["a.md#3", "a.md#4"], {"a.md#3": (8, 10)}),
        (4000, ["a.md#3", "a.md#1"], {"a.md#3": (8, 10), "a.md#1": (3, 6)}),  # T is in part shown already: only A
        (15, ["a.md#1"], {"a.md#1": (3, 6)}),  # T does not fit, A does
        (15, ["a.md#1", "a.md#2"], {"a.md#1": (3, 6)}),
        (3, ["a.md#2"], {"a.md#2": (6, 6)}),
    ],
)
def test_parent_sections(store: Store, max_chars: int, scored: list[str], expected: dict[str, tuple[int, int]]) -> None:
    put(store, "a.md", *TEXTS, trails=TRAILS)
    run = run_over(store)
    widened = ParentSection(max_chars)(hits(store, {place: 1 - at / 10 for at, place in enumerate(scored)}), run)
    assert dict(zip(places(widened), map(lines, widened), strict=True)) == expected
    assert all(is_verbatim(it) for it in widened)
    folded = len(scored) - len(expected)
    assert run.notes == ([f"hits folded into the section of a better one: {folded}"] if folded else [])


@pytest.mark.parametrize(
    ("trails", "expected"),
    [
        ([()] * 5, (6, 6)),  # no section, nothing to widen to
        ([("A", "x"), ("B",), ("A", "x"), ("A", "y"), ("C",)], (6, 8)),  # a heading may come twice
    ],
)
def test_sections_have_no_gaps(store: Store, trails: list[tuple[str, ...]], expected: tuple[int, int]) -> None:
    put(store, "a.md", *TEXTS, trails=trails)
    (hit,) = ParentSection()(hits(store, {"a.md#2": 1}), run_over(store))
    assert lines(hit) == expected


@pytest.mark.parametrize("stage", [Neighbours(), ParentSection()])
def test_a_hit_whose_record_was_indexed_anew_stays_as_it_is(store: Store, stage: Neighbours | ParentSection) -> None:
    put(store, "a.md", *TEXTS, trails=TRAILS)
    found = hits(store, {"a.md#2": 1})
    put(store, "a.md", "other", "words", trails=TRAILS[:2])
    assert stage(found, run_over(store)) == found
