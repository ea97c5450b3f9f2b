"""Which links mean a file that is asked about, however either is written, and which memory comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.lookup.memories import find_linking_memories, link_matcher, rank_by_relevance
from memory_notes import SCOPE, memory, store_of, to

_ROOTS = ["/home/me/project", "/other"]
_HERE = "/home/me/project/.memories"


@pytest.mark.parametrize(
    "written",
    [
        "src/server.py",
        "./src/server.py",
        "/home/me/project/src/server.py",
        "src/server",
        "../src/server.py",
        "src/server.py:5",
        "src/server.py:5-9",
    ],
)
@pytest.mark.parametrize(
    "asked",
    [
        "src/server.py", "./src/server.py", "src//server.py", "src/x/../server.py", "src\\server.py", "src/server",
        "/home/me/project/src/server.py", "/home/me/project/src/server", "server.py", "server", " src/server.py ",
        "src/server.py#L10", "src/server.py#Server.start",
    ],
)  # fmt: skip
def test_spellings_of_one_file(written: str, asked: str) -> None:
    assert link_matcher(asked, _ROOTS)(written, _HERE)
    assert link_matcher(asked, _ROOTS)(f"{written}#Server", _HERE)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("src/server.py", "src/server.ts"),
        ("src/server.py", "test/src/server.py"),
        ("src/server.py", "test/server.py"),
        ("src/server.py", "server.py"),  # that is one in the root
        ("src/server", "src/server/main.py"),
        ("src", "src/server.py"),
        ("/elsewhere/src/server.py", "src/server.py"),
        ("/home/me/project2/src/server.py", "src/server.py"),
        ("server.py", "server.pyi"),
        ("SERVER.py", "server.py"),
        ("a*", "ab"),
        ("commit:abc", "src/abc"),
        ("commit:12345", "commit:12346"),
        ("/other/src/server.py", "/home/me/project/src/server.py"),
    ],
)
def test_other_files_are_not_meant(asked: str, written: str) -> None:
    assert not link_matcher(asked, _ROOTS)(written, _HERE)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("docs/roadmap.md", "roadmap"),  # a wiki name
        ("memory:plan", "memory:plan.md"),
        ("memory:plan.md", "memory:plan#Steps"),
        ("commit:abc", "commit:abc"),
        (".gitignore", ".gitignore"),
        ("/other/lib/x.c", "lib/x.c"),
        ("Makefile", "build/Makefile"),
    ],
)
def test_what_else_can_be_linked_to(asked: str, written: str) -> None:
    assert link_matcher(asked, _ROOTS)(written, _HERE)


def test_memories_with_links_to_it_newest_first(tmp_path: Path) -> None:
    links = [to("src/a.py", "plans", 3), to("src/b.py", "mentions", 4), to("src/a.py#f", "anchored", 0)]
    store = store_of(
        tmp_path,
        [
            (memory("old.md", at=1), [to("src/a", "mentions")]),
            (memory("new.md", at=2), links),
            (memory("none.md", at=3), [to("src/c.py", "mentions")]),
            (memory("doc.md", at=4, kind="doc"), [to("src/a.py", "links_to")]),
            (memory("foreign.md", at=5, collection="elsewhere"), [to("src/a.py", "mentions")]),
        ],
    )
    found = find_linking_memories(store.view(), SCOPE, "src/a.py", [])
    assert [(it.record.path, [link.line for link in it.links]) for it in found] == [("new.md", [3, 0]), ("old.md", [1])]
    store.writer.put(memory("old.md", at=1), (), links=())
    assert [it.record.path for it in find_linking_memories(store.view(), SCOPE, "src/a.py", [])] == ["new.md"]


def test_words_around_the_link_count_beside_the_text(tmp_path: Path) -> None:
    notes = [
        (memory("around.md", at=1), [to("a.py", "plans", 1, "we shall rework the Lock in a.py")]),
        (memory("text.md", at=2), [to("a.py", "mentions", 1, "see a.py")]),
        (memory("both.md", at=3), [to("a.py", "plans", 1, "rework the lock"), to("a.py", "mentions", 2, "see")]),
        (memory("neither.md", at=4), [to("a.py", "mentions", 1, "a clockwork")]),
    ]
    found = find_linking_memories(store_of(tmp_path, notes).view(), SCOPE, "a.py", [])
    scores = {("notes", "text.md"): 0.5, ("notes", "both.md"): 0.5}
    ranked = rank_by_relevance(found, "rework the lock", scores)
    assert [(it.record.path, round(it.score, 2)) for it in ranked] == [
        ("both.md", 0.7), ("around.md", 0.4), ("text.md", 0.3), ("neither.md", 0.0),
    ]  # fmt: skip
    assert [it.score for it in rank_by_relevance(found, "??", {})] == [0.0] * 4
