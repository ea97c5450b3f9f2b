"""One reading of what memories say of each other: rankings, versions and warnings can not differ."""

from __future__ import annotations

import pytest

from dowse.lookup.memories import follow_links
from dowse.model import Record
from dowse.text.memory_notes import MemoryEdges, collect_edges
from memory_notes import memory, to


def told(edges: MemoryEdges) -> set[tuple[str, str]]:
    return {(it.source.name, it.target.name) for every in edges.outgoing.values() for it in every}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("memory:a", "a.md"),
        ("memory:in/c#Why", "in/c.md"),
        ("memory:c", "in/c.md"),  # from within its folder
        ("memory:plan", "a.md"),  # another one is titled that
        ("memory:gone", "gone"),
        ("a", "a.md"),
        ("a.md#Why", "a.md"),
        ("../a.md", "a.md"),
        ("c", "in/c.md"),
        ("c.md", "in/c.md"),
        ("Plan", "a.md"),
        ("note:a", "a.md"),
        ("gone", None),
        ("gone.md", None),
        ("./a.md", None),  # there is none in its folder
        ("src/a.py", None),
        ("https://example.org/a.md", None),
        ("memory:", None),
        ("memory:#Why", None),
        ("#Why", None),
        ("", None),
        ("\ud800", None),
    ],
)
def test_by_the_name_of_its_file_else_as_documents_link(written: str, meant: str | None) -> None:
    old = Record("notes", "a.md", "memory", "Plan", 1, 1, "digest", "1")
    entries = [(old, []), (memory("in/c.md"), []), (memory("in/d.md"), [to(written, "supersedes")])]
    assert told(collect_edges(entries, "supersedes")) == ({("in/d.md", meant)} if meant else set())


def test_a_link_that_names_nothing_is_not_to_a_file_without_a_name() -> None:
    entries = [(memory(".md"), []), (memory("a.md"), [to("src/a.py", "supersedes"), to("memory:", "supersedes")])]
    assert told(collect_edges(entries, "supersedes")) == set()


@pytest.mark.parametrize("written", ["memory:a", "a", "a.md"])
def test_however_it_is_written_it_is_read_from_either_end(written: str) -> None:
    entries = [(memory("a.md"), []), (memory("b.md"), [to(written, "superseded_by")])]
    assert told(collect_edges(entries, "supersedes")) == {("a.md", "b.md")}


def test_the_name_of_a_file_is_before_a_title() -> None:
    titled = Record("notes", "x.md", "memory", "Plan.md", 1, 1, "digest", "1")
    entries = [(titled, [to("memory:PLAN.MD", "supersedes")]), (memory("plan.md"), [])]
    assert told(collect_edges(entries, "supersedes")) == {("x.md", "plan.md")}


def test_no_name_leads_from_one_folder_of_memories_to_another() -> None:
    here, there = memory("a.md"), memory("b.md", collection="others")
    links = [(here, [to("memory:gone", "supersedes")]), (there, [to("memory:gone", "superseded_by")])]
    found = collect_edges(links, "supersedes")
    assert [it.name for it in follow_links(found, here).steps] == ["gone"]
    assert [it.name for it in follow_links(found, there, back=True).steps] == ["gone"]


def test_of_those_that_are_called_alike_the_newest_is_meant_in_whichever_order_they_come() -> None:
    notes = [
        (memory("Plan.md", at=1), []),
        (memory("plan.md", at=2), []),
        (memory("x.md"), [to("memory:PLAN", "supersedes")]),
    ]
    for entries in (notes, notes[::-1]):
        assert told(collect_edges(entries, "supersedes")) == {("x.md", "plan.md")}
