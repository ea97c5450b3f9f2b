"""Whether a memory still counts: what took its place, and when it is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.lookup.memories import MemoryValidity, load_memory_edges, memory_validity
from dowse.model import Record
from dowse.text.times import parse_time
from memory_notes import SCOPE, memory, store_of, to

_NOW = parse_time("2026-06-15T12:00:00", 0.0)


def alone(tmp_path: Path, record: Record) -> MemoryValidity:
    return memory_validity(
        record, load_memory_edges(store_of(tmp_path, [(record, [])]).view(), SCOPE, "supersedes"), _NOW
    )


def test_a_memory_counts_until_something_speaks_against_it(tmp_path: Path) -> None:
    told = alone(tmp_path, memory("a.md", status="active", valid_from="2026-01-01", valid_until="2027-01-01"))
    assert told == MemoryValidity()
    assert told.counts


@pytest.mark.parametrize(
    ("facets", "said"),
    [
        ({"status": "archived"}, MemoryValidity(archived=True)),
        ({"status": "Archived"}, MemoryValidity(archived=True)),
        ({"valid_from": "2026-06-16"}, MemoryValidity(not_before="2026-06-16")),
        ({"valid_from": "2026-06-15T12:00:01Z"}, MemoryValidity(not_before="2026-06-15T12:00:01Z")),
        ({"valid_from": "2026-06-15T12:00:00Z"}, MemoryValidity()),
        ({"valid_until": "2026-06-14"}, MemoryValidity(not_after="2026-06-14")),
        ({"valid_until": "2026-06-15T11:59:59Z"}, MemoryValidity(not_after="2026-06-15T11:59:59Z")),
        ({"valid_until": "2026-06-15T12:00:00Z"}, MemoryValidity()),
        ({"valid_until": "1970-01-01T00:00:00Z"}, MemoryValidity(not_after="1970-01-01T00:00:00Z")),
        ({"valid_from": "soon", "valid_until": "later"}, MemoryValidity()),
        ({"valid_from": "", "valid_until": ""}, MemoryValidity()),
    ],
)
def test_what_its_front_matter_says(tmp_path: Path, facets: dict[str, str], said: MemoryValidity) -> None:
    assert alone(tmp_path, memory("a.md", **facets)) == said


def test_what_took_its_place(tmp_path: Path) -> None:
    a, b, c = memory("a.md"), memory("b.md"), memory("c.md")
    links = [(a, [to("memory:b", "supersedes")]), (c, [to("memory:b", "supersedes")]), (b, [])]
    among = load_memory_edges(store_of(tmp_path, links).view(), SCOPE, "supersedes")
    assert memory_validity(b, among, _NOW).superseded_by == ("a.md", "c.md")
    assert memory_validity(a, among, _NOW).counts


def test_in_a_circle_nothing_took_the_place_of_anything(tmp_path: Path) -> None:
    a, b, c = memory("a.md"), memory("b.md"), memory("c.md")
    links = [
        (a, [to("memory:b", "supersedes")]),
        (b, [to("memory:a", "supersedes")]),
        (c, [to("memory:a", "supersedes")]),
    ]
    among = load_memory_edges(store_of(tmp_path, links).view(), SCOPE, "supersedes")
    assert memory_validity(a, among, _NOW).superseded_by == ("c.md",)
    assert memory_validity(b, among, _NOW).superseded_by == ()


def test_however_large_the_circle_is(tmp_path: Path) -> None:
    ring = [memory(f"{number}.md") for number in range(700)]
    links = [(it, [to(f"memory:{(number + 1) % 700}", "supersedes")]) for number, it in enumerate(ring)]
    among = load_memory_edges(store_of(tmp_path, links).view(), SCOPE, "supersedes")
    assert all(memory_validity(it, among, _NOW).counts for it in ring)
