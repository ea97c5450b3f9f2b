"""Links of records resolved: within their own collection, each in the order it stands, nothing to oneself."""

from __future__ import annotations

from dowse.model import Link, Record
from dowse.text.references import LinkedRecords, build_link_resolver


def entry(collection: str, path: str, *links: str) -> tuple[Record, list[Link]]:
    written = [Link("links_to", target, line) for line, target in enumerate(links, 1)]
    return Record(collection, path, "doc", path, 1, 1, "d", "c"), written


ENTRIES: LinkedRecords = [
    entry("notes", "docs/a.md", "b", "ghost", "./a.md", "../c.md#part", "b.md", "", "#here", "elsewhere"),
    entry("notes", "docs/b.md", "/"),
    entry("notes", "c.md", "docs/a"),
    entry("others", "elsewhere.md", "a", "c"),
    entry("others", "c.md"),
]


def test_each_link_in_its_order_without_ghosts_and_links_to_oneself() -> None:
    found = [
        (it.record.collection, it.record.path, it.link.line, it.path)
        for it in build_link_resolver(ENTRIES).resolve_all(ENTRIES)
    ]
    assert found == [
        ("notes", "docs/a.md", 1, "docs/b.md"),
        ("notes", "docs/a.md", 4, "c.md"),
        ("notes", "docs/a.md", 5, "docs/b.md"),
        ("notes", "c.md", 1, "docs/a.md"),
        ("others", "elsewhere.md", 2, "c.md"),
    ]


def test_a_single_link_may_mean_its_own_record() -> None:
    meant = build_link_resolver(ENTRIES)
    (own, _), *_ = ENTRIES
    assert meant.path_meant(own, Link("links_to", "a", 1)) == own.path
    assert meant.path_meant(own, Link("links_to", "ghost", 1)) is None


def test_in_a_collection_that_nothing_is_known_of_everything_is_a_ghost() -> None:
    stranger, _ = entry("strangers", "a.md")
    assert build_link_resolver(ENTRIES).path_meant(stranger, Link("links_to", "a.md", 1)) is None
    assert list(build_link_resolver([]).resolve_all([entry("notes", "a.md", "b", "a")])) == []
