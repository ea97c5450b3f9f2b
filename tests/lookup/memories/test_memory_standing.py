"""Whether a memory still counts: what took its place, and when it is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.lookup.memories.edges import edges
from dowse.lookup.memories.standing import Standing, standing
from dowse.model import Record
from dowse.text.times import parse_moment
from memory_notes import SCOPE, memory, store_of, to

_NOW = parse_moment("2026-06-15T12:00:00", 0.0)


def alone(tmp_path: Path, record: Record) -> Standing:
    return standing(record, edges(store_of(tmp_path, [(record, [])]), SCOPE, "supersedes"), _NOW)


def test_a_memory_counts_until_something_speaks_against_it(tmp_path: Path) -> None:
    told = alone(tmp_path, memory("a.md", status="active", valid_from="2026-01-01", valid_until="2027-01-01"))
    assert told == Standing()
    assert told.counts


@pytest.mark.parametrize(
    ("facets", "said"),
    [
        ({"status": "archived"}, Standing(archived=True)),
        ({"status": "Archived"}, Standing(archived=True)),
        ({"valid_from": "2026-06-16"}, Standing(not_before="2026-06-16")),
        ({"valid_from": "2026-06-15T12:00:01Z"}, Standing(not_before="2026-06-15T12:00:01Z")),
        ({"valid_from": "2026-06-15T12:00:00Z"}, Standing()),
        ({"valid_until": "2026-06-14"}, Standing(not_after="2026-06-14")),
        ({"valid_until": "2026-06-15T11:59:59Z"}, Standing(not_after="2026-06-15T11:59:59Z")),
        ({"valid_until": "2026-06-15T12:00:00Z"}, Standing()),
        ({"valid_until": "1970-01-01T00:00:00Z"}, Standing(not_after="1970-01-01T00:00:00Z")),
        ({"valid_from": "soon", "valid_until": "later"}, Standing()),
        ({"valid_from": "", "valid_until": ""}, Standing()),
    ],
)
def test_what_its_front_matter_says(tmp_path: Path, facets: dict[str, str], said: Standing) -> None:
    assert alone(tmp_path, memory("a.md", **facets)) == said


def test_what_took_its_place(tmp_path: Path) -> None:
    a, b, c = memory("a.md"), memory("b.md"), memory("c.md")
    links = [(a, [to("memory:b", "supersedes")]), (c, [to("memory:b", "supersedes")]), (b, [])]
    among = edges(store_of(tmp_path, links), SCOPE, "supersedes")
    assert standing(b, among, _NOW).superseded_by == ("a.md", "c.md")
    assert standing(a, among, _NOW).counts


def test_in_a_circle_nothing_took_the_place_of_anything(tmp_path: Path) -> None:
    a, b, c = memory("a.md"), memory("b.md"), memory("c.md")
    links = [
        (a, [to("memory:b", "supersedes")]),
        (b, [to("memory:a", "supersedes")]),
        (c, [to("memory:a", "supersedes")]),
    ]
    among = edges(store_of(tmp_path, links), SCOPE, "supersedes")
    assert standing(a, among, _NOW).superseded_by == ("c.md",)
    assert standing(b, among, _NOW).superseded_by == ()


def test_however_large_the_circle_is(tmp_path: Path) -> None:
    ring = [memory(f"{number}.md") for number in range(700)]
    links = [(it, [to(f"memory:{(number + 1) % 700}", "supersedes")]) for number, it in enumerate(ring)]
    among = edges(store_of(tmp_path, links), SCOPE, "supersedes")
    assert all(standing(it, among, _NOW).counts for it in ring)
