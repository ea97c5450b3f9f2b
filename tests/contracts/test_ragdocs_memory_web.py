"""The memory tools that follow tags and links, over the wire: what each parameter does, and the exact text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ragdocs_memory_server import did, note, noting
from ragdocs_server import text
from rifflux_server import Served

_AT = "2024-01-01T00:00:00Z"
_FACTS = "Type: journal | Status: active"


def told(body: str, *tags: str, created_at: str = _AT) -> str:
    return note(body, tags=tags, created_at=created_at)


NOTES = {
    "auth.md": told("# Auth\n\nTokens.", "auth", "security", created_at="2024-01-02T00:00:00Z"),
    "login.md": told("# Login\n\nForms.", "Auth", "ui"),
    "paint.md": told("# Paint\n\nColours.", "ui", "design"),
    "print.md": told("# Print\n\nInk.", "design", "paper"),
    "alone.md": told("# Alone\n\nNothing.", "alone"),
    "v1.md": note("First.", aliases=("the first",), created_at=_AT),
    "v2.md": told("Second. Supersedes [[memory:v1]]."),
    "v3.md": told("Third.\n\nSupersedes [[memory:v2.md]]."),
    "roof.md": told("Depends on [[memory:walls]]."),
    "walls.md": told("Depends on [[memory:ground]]. Depends on [[memory:bricks]]."),
    "ground.md": told("Solid."),
    "flat.md": told("The earth is flat. It contradicts [[memory:round]]."),
    "round.md": told("The earth is round. It contradicts [[memory:flat]]."),
    "doubt.md": told("This contradicts [[memory:round]]."),
    "hen.md": told("Supersedes [[memory:egg]] and depends on [[memory:egg]]."),
    "egg.md": told("Supersedes [[memory:hen]]. Depends on [[memory:hen]]."),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with noting(tmp_path_factory.mktemp("web") / "work", NOTES) as served:
        yield served


# --- tags ---


def test_the_memories_around_a_tag(server: Served) -> None:
    assert text(server, "search_by_tag_cluster", tag="auth") == (
        "# Memories around the Tag auth\n\n"
        "[1] auth.md (distance 1, by auth)\n"
        "Type: journal | Status: active | Tags: auth, security | Created: 2024-01-02T00:00:00Z\nAuth\n\n"
        "[2] login.md (distance 1, by auth)\n"
        f"{_FACTS} | Tags: auth, ui | Created: {_AT}\nLogin\n\n"
        "[3] paint.md (distance 2, by ui)\n"
        f"{_FACTS} | Tags: design, ui | Created: {_AT}\nPaint"
    )


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, ["auth.md", "login.md"]),
        (2, ["auth.md", "login.md", "paint.md"]),
        (3, ["auth.md", "login.md", "paint.md", "print.md"]),
    ],
)
def test_depth(server: Served, depth: int, expected: list[str]) -> None:
    answer = text(server, "search_by_tag_cluster", tag="#AUTH", depth=depth)
    assert [line.split()[1] for line in answer.splitlines() if line.startswith("[")] == expected


def test_the_limit_of_a_cluster_is_said(server: Served) -> None:
    answer = text(server, "search_by_tag_cluster", tag="auth", depth=3, limit=1)
    assert answer.count("(distance ") == 1
    assert answer.endswith("# Notes\n\n- 3 more are within this depth; raise limit")
    assert "# Notes" not in text(server, "search_by_tag_cluster", tag="auth", depth=3, limit=4)


def test_a_tag_that_nothing_has(server: Served) -> None:
    looked_at = f"No memory has this tag; {len(NOTES)} memories searched."
    assert text(server, "search_by_tag_cluster", tag="none") == f"# Memories around the Tag none\n\n{looked_at}"
    assert text(server, "suggest_related_tags", tag="none") == f"# Tags Related to none\n\n{looked_at}"


def test_the_graph_of_tags(server: Served) -> None:
    assert text(server, "get_tag_graph") == (
        f"# Tag Graph\n\n6 tags on {len(NOTES)} memories, 4 pairs used together.\n\n"
        "## Tags\n\n- auth (2)\n- design (2)\n- ui (2)\n- alone (1)\n- paper (1)\n- security (1)\n\n"
        "## Used Together\n\n- auth — security (1)\n- auth — ui (1)\n- design — paper (1)\n- design — ui (1)"
    )


def test_related_tags(server: Served) -> None:
    assert text(server, "suggest_related_tags", tag="Auth") == (
        "# Tags Related to auth\n\n"
        "- security (on 1 memory together, 50% of those with either)\n"
        "- ui (on 1 memory together, 33% of those with either)"
    )
    assert text(server, "suggest_related_tags", tag="alone") == (
        "# Tags Related to alone\n\nIt is on 1 memory, never together with another tag."
    )


# --- links ---


def test_versions_both_ways(server: Served) -> None:
    assert text(server, "get_memory_versions", filename="v2") == (
        "# Versions of v2.md\n\n"
        f"## Superseded by\n\n- v3.md (distance 1; {_FACTS} | Created: {_AT})\n"
        "  v3.md, line 8: Supersedes [[memory:v2.md]].\n\n"
        f"## Supersedes\n\n- v1.md (distance 1; {_FACTS} | Created: {_AT})\n"
        "  v2.md, line 6: Second. Supersedes [[memory:v1]]."
    )


def test_versions_by_way_of_others(server: Served) -> None:
    oldest = text(server, "get_memory_versions", filename="v1.md")
    assert "- v2.md (distance 1" in oldest
    assert "- v3.md (distance 2" in oldest
    assert oldest.endswith("## Supersedes\n\nNothing: it is the oldest.")
    newest = text(server, "get_memory_versions", filename="v3")
    assert "## Superseded by\n\nNothing supersedes it: it is the newest." in newest
    assert "- v1.md (distance 2" in newest


@pytest.mark.parametrize("name", ["The First", "memory:the first", "memory:v1#Part", "V1"])
def test_a_memory_is_asked_for_by_whatever_it_is_called(server: Served, name: str) -> None:
    assert text(server, "get_memory_versions", filename=name) == text(server, "get_memory_versions", filename="v1")
    assert text(server, "read_memory", filename=name) == text(server, "read_memory", filename="v1")


def test_dependencies_both_ways_and_on_what_is_not_there(server: Served) -> None:
    answer = text(server, "get_memory_dependencies", filename="walls")
    onward, _, back = answer.partition("\n\n## Needed by\n\n")
    assert onward == (
        "# Dependencies of walls.md\n\n"
        f"## Depends on\n\n- ground.md (distance 1; {_FACTS} | Created: {_AT})\n"
        "  walls.md, line 6: Depends on [[memory:ground]]. Depends on [[memory:bricks]].\n"
        "- bricks (distance 1; no such memory)\n"
        "  walls.md, line 6: Depends on [[memory:ground]]. Depends on [[memory:bricks]]."
    )
    assert back.startswith("- roof.md (distance 1;")
    assert "- roof.md (distance 2;" in text(server, "get_memory_dependencies", filename="ground")


def test_contradictions_both_ways_and_not_by_way_of_others(server: Served) -> None:
    answer = text(server, "detect_contradictions", filename="round")
    onward, _, back = answer.partition("\n\n## Contradicted by\n\n")
    assert onward.startswith("# Contradictions of round.md\n\n## Contradicts\n\n- flat.md (distance 1;")
    assert "doubt.md (" not in onward
    assert "- doubt.md (distance 1;" in back
    assert back.endswith("# Notes\n\n- flat.md and this memory each say that they contradict the other")
    assert "flat.md" not in text(server, "detect_contradictions", filename="doubt")
    assert "## Contradicts\n\nNo other memory." in text(server, "detect_contradictions", filename="v1")


def test_circles_are_cut_and_said(server: Served) -> None:
    versions = text(server, "get_memory_versions", filename="hen")
    assert versions.count("- egg.md (distance 1;") == 2
    assert "# Notes\n\n- the memories supersede each other in a cycle" in versions
    needs = text(server, "get_memory_dependencies", filename="egg")
    assert needs.count("- hen.md (distance 1;") == 2
    assert needs.endswith("# Notes\n\n- the memories depend on each other in a cycle")
    for name in ("hen", "egg"):
        assert "superseded by" not in text(server, "read_memory", filename=name)


def test_what_is_written_is_followed_at_once(server: Served) -> None:
    did(server, "create_memory", filename="lamp-1", content="Oil.", tags=["lamp"])
    did(server, "create_memory", filename="lamp-2", content="Gas, supersedes [[memory:lamp-1]].", tags=["lamp", "gas"])
    assert "- lamp-2.md (distance 1;" in text(server, "get_memory_versions", filename="lamp-1")
    assert "- gas (" in text(server, "suggest_related_tags", tag="lamp")
    did(server, "delete_memory", filename="lamp-2")
    assert "it is the newest" in text(server, "get_memory_versions", filename="lamp-1")
    did(server, "delete_memory", filename="lamp-1")


def test_nothing_was_unexpected(server: Served) -> None:
    assert server.errors.read_text(encoding="utf-8") == ""
