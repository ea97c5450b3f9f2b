"""A memory's front matter becomes facets, tags and anchors; whatever it says, the note is read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.extract.registry import extract
from dowse.model import Extraction, Item, Link
from dowse.text.memory_notes import MEMORY_STATUSES, MEMORY_TYPES
from dowse.text.times import format_iso, parse_timestamp

NS = 1_000_000_000
WRITTEN_NS = 1_700_000_000 * NS


def read(text: str) -> Extraction:
    data = text.encode()
    return extract(Item("notes.md", len(data), WRITTEN_NS, "memory"), data)


def test_what_the_front_matter_says() -> None:
    note = read(
        "---\ntype: plan\nstatus: archived\ntags: [Auth, 'next']\ncreated_at: 2025-01-10T10:00:00Z\n"
        "valid_from: 2025-02-01\nvalid_until: 2025-02-28\nmood: fine\n---\n# Title\n\nText #inline\n"
    )
    assert (note.kind, note.title) == ("memory", "Title")
    assert note.tags == ("auth", "inline", "next")
    assert dict(note.facets) == {
        "type": "plan",
        "status": "archived",
        "created_at": "2025-01-10T10:00:00Z",
        "valid_from": "2025-02-01T00:00:00Z",
        "valid_until": "2025-02-28T23:59:59Z",
        "mood": "fine",
    }
    assert note.at_ns == 1_736_503_200 * NS
    assert note.has_line_index


def test_without_front_matter_it_is_a_journal_of_the_time_it_was_written() -> None:
    note = read("just words")
    assert dict(note.facets) == {"type": "journal", "status": "active"}
    assert (note.at_ns, note.title) == (None, "notes")


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("type: novel", "type 'novel' is not one of plan"),
        ("type: [plan]", "type ['plan'] is not one of"),
        ("status: gone", "status 'gone' is not one of active"),
        ("created_at: yesterday", "created_at 'yesterday' is not a valid time"),
        ("created_at: 9999-12-31", "is not a valid time"),
        ("created_at: 0001-01-01T00:00:00+23:59", "is not a valid time"),
        ("valid_until: [1, 2]", "valid_until ['1', '2'] is not a valid time"),
        ("anchors: [/etc/passwd, ../x, 'commit:zz']", "'/etc/passwd' is not a valid anchor"),
        ("type: [", "front matter ignored"),
        ("- a\n- b", "not a mapping"),
        ("just words", "not a mapping"),
    ],
)
def test_what_can_not_be_meant_is_told_and_not_fatal(front: str, problem: str) -> None:
    note = read(f"---\n{front}\n---\nThe text\n")
    assert problem in note.facets["front_matter_problem"]
    assert note.facets["type"] == "journal"
    assert note.facets["status"] == "active"
    assert note.at_ns is None
    assert not {"created_at", "valid_until"} & set(note.facets)
    assert [it for it in note.links if it.kind == "anchored"] == []
    assert note.text[note.blocks[-1].start : note.blocks[-1].end].strip().endswith("The text")


def test_what_is_no_mapping_stays_text() -> None:
    note = read("---\n- zebra\n---\nThe text\n")
    assert "zebra" in note.text[note.blocks[0].start : note.blocks[-1].end]


def test_anchors_are_links_with_their_digests() -> None:
    note = read(
        "---\nanchors:\n- src/a.py#Server.run@0123456789abcdef\n- ./src/b.py:12\n- src/c.py\n- commit:ABC1234\n---\nx"
    )
    assert note.links == (
        Link("anchored", "src/a.py#Server.run", 1, "0123456789abcdef"),
        Link("anchored", "src/b.py", 1, ""),
        Link("anchored", "src/c.py", 1, ""),
        Link("anchored", "commit:abc1234", 1, ""),
    )


def test_so_many_anchors_are_too_many() -> None:
    note = read("---\nanchors:\n" + "".join(f"- a{it}.py\n" for it in range(500)) + "---\nx")
    assert len(note.links) == 200
    assert "only the first 200" in note.facets["front_matter_problem"]


def test_until_for_ever_is_a_time() -> None:
    note = read("---\nvalid_from: 20261117\nvalid_until: 9999-12-31\n---\nx")
    assert (note.facets["valid_from"], note.facets["valid_until"]) == ("2026-11-17T00:00:00Z", "9999-12-31T23:59:59Z")
    assert "front_matter_problem" not in note.facets


def test_a_day_ends_at_its_end_however_it_is_written() -> None:
    assert read("---\nvalid_until: 20261117\n---\nx").facets["valid_until"] == "2026-11-17T23:59:59Z"


VALUES = st.one_of(
    st.sampled_from(
        ["plan", "Fact", "active", "[plan]", "{a: b}", "null", "", "2026-01-01", "1e999", "'", "&a x", "|"]
    ),
    st.text(max_size=20),
)


@given(
    st.lists(st.tuples(st.sampled_from(["type", "status", "created_at", "valid_until", "tags", "anchors"]), VALUES)),
    st.text(max_size=50),
)
def test_no_front_matter_is_fatal(lines: list[tuple[str, str]], body: str) -> None:
    text = "---\n" + "".join(f"{key}: {value}\n" for key, value in lines) + "---\n" + body
    note = read(text.replace("\0", "").encode("utf-8", "replace").decode())
    assert note.kind == "memory"
    assert note.facets["type"] in MEMORY_TYPES
    assert note.facets["status"] in MEMORY_STATUSES
    assert note.at_ns is None or abs(note.at_ns) < 2**63


@given(st.text(max_size=40) | st.datetimes().map(str) | st.dates().map(str) | st.integers().map(str))
def test_times_fit_or_are_none(text: str) -> None:
    first, last = parse_timestamp(text), parse_timestamp(text, last=True)
    assert first is None or parse_timestamp(format_iso(first)) == math.floor(first)
    if first is not None and last is not None:
        assert last - first in (0, 86_399, 7 * 86_400 - 1)
