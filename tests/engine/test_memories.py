"""Memories as verbs of the engine: written as files, found at once, and never documents of a root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.watch.watcher import watch_target_of
from dowse.lookup.grep import GrepQuery
from dowse.model import FILES, MEMORIES, FacetFilter, Query, Record, Scope
from dowse.store.sqlite.locks import write_lock
from support import OpenEngine, write


def found(engine: Engine, words: str) -> list[tuple[str, str]]:
    hits = engine.search(Query(words, recipe="lexical")).hits
    return [(it.stored.record.path, it.stored.record.kind) for it in hits]


def memory(engine: Engine, name: str) -> Record:
    (record,) = [it for it in engine.memory.select().records if it.path == name]
    return record


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, {"src/app.py": "def start():\n    return 1\n", "README.md": "# Readme\n\nquokka\n"})
    engine = open_engine(freshness_timeout_ms=60_000)
    engine.index([root])
    return engine


def test_a_memory_from_its_making_to_the_trash(engine: Engine, root: Path) -> None:
    written = engine.memory.remember("auth", "The quokka guards [[src/app.py]]", type="fact", tags=["Auth"])
    assert (written.name, written.path, written.note) == ("auth.md", root / ".memories/auth.md", "")
    assert found(engine, "guards") == [("auth.md", "memory")]
    assert engine.memory.append("auth.md", "and a wombat").path == written.path
    assert found(engine, "wombat") == [("auth.md", "memory")]
    recalled = engine.memory.recall("auth")
    assert recalled.content == "The quokka guards [[src/app.py]]\n\nand a wombat"
    assert recalled.text == written.path.read_text()
    assert (recalled.facts["type"], recalled.facts["tags"]) == ("fact", ("Auth",))
    engine.memory.revise("auth", "only a numbat")
    assert engine.memory.recall("auth").facts == recalled.facts
    assert (found(engine, "wombat"), found(engine, "numbat")) == ([], [("auth.md", "memory")])
    record = memory(engine, "auth.md")
    assert (record.tags, record.facets["type"], record.facets["status"]) == (("auth",), "fact", "active")
    thrown = engine.memory.forget("auth").path
    assert thrown.parent == root / ".memories/.trash"
    assert "numbat" in thrown.read_text()
    assert found(engine, "numbat") == []
    assert engine.memory.select().records == ()


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ((".memories/**",), {"auth.md", "plans/q3.md"}),
        ((".memories",), {"auth.md", "plans/q3.md"}),
        (("./.memories/plans/*.md",), {"plans/q3.md"}),
        ((".memories/*.md", ".memories/plans/**"), {"auth.md", "plans/q3.md"}),
        ((".memories/nothing/**",), set()),
        ((".memories/auth.md",), {"auth.md"}),
    ],
)
def test_globs_lead_from_the_root_into_its_memories(engine: Engine, paths: tuple[str, ...], found: set[str]) -> None:
    engine.memory.remember("auth", "The quokka guards it")
    engine.memory.remember("plans/q3", "A quokka, too")
    scope = Scope(paths=paths)
    assert {it.stored.record.path for it in engine.search(Query("quokka", scope)).hits} == found
    assert {it.path for it in engine.grep(GrepQuery(("quokka",), scope=scope)).files} == found


def test_a_memory_is_read_by_its_path_in_the_root_too(engine: Engine, root: Path) -> None:
    engine.memory.remember("auth", "The quokka guards it")
    assert engine.record(".memories/auth.md") == engine.record("auth.md") == [memory(engine, "auth.md")]
    assert engine.record("./.memories/auth.md", f"{root.name}.memories") == engine.record("auth.md")
    for asked in ("memory:auth", "memory:AUTH.md", str(root / ".memories/auth.md")):
        assert engine.record(asked) == engine.record("auth.md")
        subject = engine.related(asked).subject
        assert subject and subject.record and subject.record.path == "auth.md"
    unknown = ("auth", "memory:other", "memory:", ".memories/other.md")
    for other in (*unknown, ".memories/../auth.md", "src/auth.md", ".memories"):
        assert engine.record(other) == []
    assert engine.record(".memories/auth.md", root.name) == []


def test_merging_keeps_tags_and_what_was_said_lies_in_the_trash(engine: Engine) -> None:
    engine.memory.remember("a", "alpha", type="fact", tags=["x", "y"], anchors=["README.md"])
    engine.memory.remember("b", "beta", type="fact", tags=["y", "z"])
    merged = engine.memory.merge(["a", "b"], "both", "gamma")
    record = memory(engine, "both.md")
    assert (record.tags, record.facets["type"]) == (("x", "y", "z"), "fact")
    assert engine.memory.anchors(record) == ("README.md",)
    assert [it.path for it in engine.memory.select().records] == [merged.path.name]
    assert sorted("alpha" in it.read_text() for it in merged.trashed) == [False, True]
    assert (found(engine, "alpha"), found(engine, "gamma")) == ([], [("both.md", "memory")])


UNFIT: list[tuple[dict[str, object], str]] = [
    ({"type": "novel"}, "not a memory type"),
    ({"tags": ["a,b"]}, "short tags without commas"),
    ({"tags": ["#"]}, "short tags without commas"),
    ({"tags": ["a\nb: c"]}, "short tags without commas"),
    ({"tags": [str(it) for it in range(101)]}, "short tags without commas"),
    ({"valid_from": "soon"}, "valid_from must be a time"),
    ({"valid_from": "2027-01-01", "valid_until": "2026-01-01"}, "is before valid_from"),
    ({"anchors": ["../x"]}, "is not an anchor"),
    ({"anchors": ["src/gone.py"]}, "is not indexed"),
    ({"anchors": ["src/app.py#Gone"]}, "has no definition 'Gone'"),
    ({"anchors": ["src/app.py:3"]}, "has 2 lines; line 3 is beyond its end"),
    ({"anchors": ["README.md"] * 101}, "too many"),
    ({"name": "../x"}, "starts with a dot"),
]


def test_what_can_not_be_is_told_before_anything_is_written(engine: Engine, root: Path) -> None:
    for changes, why in UNFIT:
        with pytest.raises(BadInput, match=why):
            engine.memory.remember(**{"name": "notes", "content": "x", **changes})  # type: ignore[arg-type]
    assert not (root / ".memories").exists()


def test_a_line_in_no_definition_anchors_the_file_and_says_so(engine: Engine) -> None:
    assert (
        engine.memory.remember("notes", "x", anchors=["README.md", "src/app.py:1"], valid_from="2026-01-01").note == ""
    )
    write(Path(engine.collections()[0].root), {"src/plain.py": "import os\n\n\ndef f():\n    pass\n"})
    written = engine.memory.remember(
        "more", "x", anchors=["src/plain.py:1", "src/plain.py:5"], valid_until="2026-01-01"
    )
    assert written.note == "src/plain.py:1 is in no definition, so the whole file is anchored"
    assert engine.memory.anchors(memory(engine, "more.md")) == ("src/plain.py", "src/plain.py#f")
    assert engine.memory.remember("why", "x", anchors=["commit:9136"]).note == ""


def test_a_memory_is_read_whatever_the_case_of_its_name(engine: Engine) -> None:
    engine.memory.remember("plan-a", "x")
    assert (engine.memory.recall("PLAN-A").name, engine.memory.find("PLAN-A").path) == ("plan-a.md", "plan-a.md")


def test_filters_by_type_tag_and_time(engine: Engine) -> None:
    engine.memory.remember("a", "x", type="fact", tags=["one"])
    engine.memory.remember("b", "x", type="plan", tags=["one", "two"])
    assert [it.path for it in engine.memory.select(Scope(facets=(FacetFilter("type", "plan"),))).records] == ["b.md"]
    assert {it.path for it in engine.memory.select(Scope(tags=("one",))).records} == {"a.md", "b.md"}
    assert engine.memory.select(Scope(until=1.0)).records == ()


# --- the folder and the roots ---


def test_a_folder_that_came_with_a_clone_is_memories_and_no_document(root: Path, open_engine: OpenEngine) -> None:
    write(root, {".memories/old.md": "---\ntype: fact\n---\nechidna", ".memories/.trash/x.md": "echidna", "a.md": "x"})
    write(root, {".memories/.hidden.md": "echidna", ".memories/notes.txt": "echidna", ".gitignore": "*.md\n"})
    engine = open_engine()
    engine.index([root])
    assert found(engine, "echidna") == [("old.md", "memory")]
    assert [(it.name, it.source) for it in engine.collections()] == [("root", FILES), ("root.memories", MEMORIES)]
    engine.memory.remember("new", "bilby")
    engine.index([root])
    assert found(engine, "bilby") == [("new.md", "memory")]
    assert len(engine.collections()) == 2


def test_a_folder_asked_for_by_name_is_memories_too(root: Path, open_engine: OpenEngine) -> None:
    write(root, {".memories/old.md": "echidna", "a.md": "x"})
    engine = open_engine()
    engine.index([root / ".memories"])
    engine.index([root])
    assert found(engine, "echidna") == [("old.md", "memory")]


def test_looking_makes_no_folder(engine: Engine, root: Path) -> None:
    engine.memory.select()
    found(engine, "quokka")
    engine.memory.folder()
    with pytest.raises(BadInput):
        engine.memory.recall("notes")
    assert not (root / ".memories").exists()


def test_a_file_edited_by_hand_is_in_the_next_answer(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "one")
    place = root / ".memories/notes.md"
    place.write_text(place.read_text() + "\nbandicoot by hand\n")
    assert found(engine, "bandicoot") == [("notes.md", "memory")]
    (root / ".memories/other.md").write_text("potoroo")
    assert found(engine, "potoroo") == [("other.md", "memory")]
    place.unlink()
    assert found(engine, "bandicoot") == []


def test_the_case_of_a_suffix_hides_nothing(engine: Engine, root: Path) -> None:
    assert engine.memory.remember("Wombats.MD", "wombat").name == "Wombats.md"
    write(root, {".memories/OLD.MD": "wombat of old"})
    assert sorted(found(engine, "wombat")) == [("OLD.MD", "memory"), ("Wombats.md", "memory")]
    assert engine.memory.find("old").path == "OLD.MD"
    assert engine.memory.append("OLD.MD", "and still").name == "OLD.MD"


def test_a_folder_made_by_hand_is_in_the_next_answer(engine: Engine, root: Path) -> None:
    write(root, {".memories/notes.md": "potoroo"})
    assert found(engine, "potoroo") == [("notes.md", "memory")]
    assert [it.path for it in engine.memory.select().records] == ["notes.md"]


def test_the_watcher_follows_what_is_worth_it(engine: Engine) -> None:
    engine.memory.remember("notes", "one")
    (name,) = [it.name for it in engine.collections() if it.source == MEMORIES]
    place = watch_target_of(name, engine.indexing.files_of(name))
    assert place.wants_file("notes.md")
    assert not place.wants_directory(".trash")
    assert not place.wants_file(".writing")
    documents = watch_target_of("root", engine.indexing.files_of("root"))
    assert not documents.wants_directory(".memories")


def test_the_users_own_folder(root: Path, open_engine: OpenEngine, tmp_path: Path) -> None:
    write(root, {"a.md": "x"})
    engine = open_engine(memory_location="user")
    engine.index([root])
    assert engine.memory.folder() == tmp_path / "data/memories"
    assert not engine.memory.folder().exists()
    written = engine.memory.remember("notes", "dunnart", anchors=["a.md"])
    assert written.path == tmp_path / "data/memories/notes.md"
    assert found(engine, "dunnart") == [("notes.md", "memory")]
    engine.index([root])
    assert found(engine, "dunnart") == [("notes.md", "memory")]
    assert not (root / ".memories").exists()


def test_a_data_directory_inside_the_root(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "x"})
    engine = open_engine(memory_location="user", data_dir=root / "data")
    engine.index([root])
    engine.memory.remember("notes", "dunnart")
    engine.index([root])
    assert found(engine, "dunnart") == [("notes.md", "memory")]


def test_another_index_finds_the_users_memories(root: Path, open_engine: OpenEngine, tmp_path: Path) -> None:
    write(root, {"a.md": "x"})
    write(tmp_path / "data/memories", {"old.md": "kowari"})
    engine = open_engine(memory_location="user")
    engine.index([root])
    assert found(engine, "kowari") == [("old.md", "memory")]


def test_without_a_root_there_is_no_place_for_memories(open_engine: OpenEngine) -> None:
    with pytest.raises(BadInput, match="`dowse index` first"):
        open_engine().memory.remember("notes", "x")


def test_a_link_in_place_of_the_folder_is_neither_read_nor_written(
    root: Path, open_engine: OpenEngine, tmp_path: Path
) -> None:
    write(tmp_path / "outside", {"secret.md": "numbat"})
    write(root, {"a.md": "x"})
    (root / ".memories").symlink_to(tmp_path / "outside")
    engine = open_engine()
    engine.index([root])
    assert found(engine, "numbat") == []
    with pytest.raises(BadInput, match="links are not followed"):
        engine.memory.remember("notes", "x")
    assert [it.name for it in (tmp_path / "outside").iterdir()] == ["secret.md"]


def test_a_folder_that_was_removed_is_no_error(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "one")
    (root / ".memories/notes.md").unlink()
    (root / ".memories").rmdir()
    assert engine.index([root]).deleted == 1
    assert engine.search(Query("one", recipe="lexical")).completeness.sentence(0).count("not there") == 0
    assert engine.memory.select().records == ()
    engine.memory.remember("notes", "two")
    assert engine.memory.recall("notes").content == "two"


def test_while_others_index_a_memory_is_written_and_says_so(
    engine: Engine, root: Path, open_engine: OpenEngine
) -> None:
    other = open_engine(lock_timeout_s=0.1)
    with write_lock(engine.index_path, 1.0):
        written = other.memory.remember("notes", "quoll")
    assert "not searchable until the index is free" in written.note
    assert written.path.exists()
    engine.index([root])
    assert found(engine, "quoll") == [("notes.md", "memory")]


def test_where_the_index_has_no_room_what_is_done_is_told_as_done(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "quoll")
    with engine._core.store.db.transaction() as connection:  # type: ignore[attr-defined]
        ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    text = "numbat " * 50_000
    for written in (engine.memory.append("notes", text), engine.memory.remember("others", text)):
        assert "saved, but not indexed yet: no space left" in written.note
    assert (root / ".memories/notes.md").read_text().count("numbat") == 50_000
    assert (root / ".memories/others.md").exists()


# --- many writers, through the engine ---

WRITER = """
import sys
from pathlib import Path
from dowse.config import Settings
from dowse.engine import Engine
index, data, who = sys.argv[1:]
with Engine(Settings(encoder="none", data_dir=Path(data), lock_timeout_s=60), Path(index), create=False) as engine:
    for turn in range(3):
        engine.memory.append("shared", f"entry{who}{'klm'[turn]}")
        assert not engine.memory.remember(f"own-{who}-{turn}", f"owned{who}{'klm'[turn]}").note
"""


def test_what_several_processes_write_is_found(engine: Engine, tmp_path: Path) -> None:
    engine.memory.remember("shared", "first")
    command = [sys.executable, "-c", WRITER, str(engine.index_path), str(tmp_path / "data")]
    running = [subprocess.Popen([*command, who]) for who in "abcd"]
    assert [it.wait(timeout=120) for it in running] == [0] * 4
    for who in "abcd":
        for turn in range(3):
            assert found(engine, f"entry{who}{'klm'[turn]}") == [("shared.md", "memory")]
            assert found(engine, f"owned{who}{'klm'[turn]}") == [(f"own-{who}-{turn}.md", "memory")]


@pytest.mark.parametrize("link", ["[[memory:first]]", "[[first]]", "[the first](first.md)"])
@pytest.mark.parametrize("scope", [Scope(), Scope(kinds=("memory",))])
def test_where_one_hit_is_wanted_the_superseded_one_gives_way(engine: Engine, scope: Scope, link: str) -> None:
    engine.memory.remember("first", "wombat wombat wombat")
    engine.memory.remember("second", f"The wombat lives in a burrow. Supersedes {link}.")
    assert engine.memory.validities([memory(engine, "first.md")])[0].superseded_by == ("second.md",)
    (hit,) = engine.search(Query("wombat", scope, limit=1, recipe="lexical")).hits
    assert hit.stored.record.path == "second.md"


@pytest.mark.parametrize("recipe", ["auto", "lexical"])
def test_a_successor_is_shown_where_the_superseded_one_would_have_been(engine: Engine, root: Path, recipe: str) -> None:
    notes = {f".memories/{number}.md": f"The wombat of burrow {number} digs." for number in range(50)}
    notes[".memories/old.md"] = "Wombat rollout, wombat rollout: begins on Monday."
    notes[".memories/new.md"] = "We begin on Friday. Supersedes [[memory:old]]."
    write(root, notes)
    hits = engine.search(Query("wombat rollout", limit=3, recipe=recipe)).hits
    assert hits[0].stored.record.path == "new.md"
    assert "old.md" not in [it.stored.record.path for it in hits] or hits[1].notes == ("superseded by new.md",)


def test_what_is_archived_ranks_lower_and_says_so(engine: Engine, root: Path) -> None:
    write(root, {".memories/a.md": "---\nstatus: archived\n---\nwombat wombat", ".memories/b.md": "A wombat, digging."})
    hits = engine.search(Query("wombat", recipe="lexical")).hits
    assert [(it.stored.record.path, it.notes) for it in hits] == [("b.md", ()), ("a.md", ("archived",))]
    assert hits[1].evidence["archived"] == 0.5


def test_what_is_read_comes_with_its_doubts(engine: Engine, root: Path) -> None:
    written = "---\nstatus: archived\nvalid_until: 2020-01-01\n---\nwombat"
    write(root, {".memories/a.md": written, ".memories/b.md": "Supersedes [[memory:a]]"})
    record = memory(engine, "a.md")
    doubts = ("superseded by b.md", "archived", "not valid since 2020-01-01T23:59:59Z")
    assert engine.lines(record).notes == doubts
    assert engine.passages.passage(engine.passages.chunks(record)[0]).notes == doubts
    assert engine.lines(memory(engine, "b.md")).notes == ()


def test_what_is_read_just_after_it_was_saved_is_judged_as_it_is_now(engine: Engine, root: Path) -> None:
    write(root, {".memories/a.md": "---\ntype: plan\n---\nwombat\n"})
    record = memory(engine, "a.md")
    write(root, {".memories/a.md": "---\ntype: plan\nstatus: archived\n---\nThe wombat has moved.\n"})
    passage = engine.lines(record, 5)
    assert (passage.text, passage.freshness, passage.notes) == ("The wombat has moved.", "fresh", ("archived",))
    assert passage.record.digest != record.digest


def test_a_passage_of_a_memory_that_was_saved_or_deleted_since_is_told_as_it_was(engine: Engine, root: Path) -> None:
    write(root, {".memories/a.md": "wombat\n" * 9})
    (chunk,) = engine.passages.chunks(memory(engine, "a.md"))
    write(root, {".memories/a.md": "numbat\n"})
    found = engine.passages.passage(chunk)
    assert (found.text, found.end_line, found.freshness) == (chunk.chunk.text, chunk.chunk.end_line, "changed")
    (chunk,) = engine.passages.chunks(memory(engine, "a.md"))
    (root / ".memories/a.md").unlink()
    for found in (engine.lines(chunk.record), engine.passages.passage(chunk)):
        assert (found.text.strip(), found.freshness) == ("numbat", "gone")


# --- folders of the folder ---


def test_a_memory_in_a_folder_made_by_hand_is_like_any_other(engine: Engine, root: Path) -> None:
    write(root, {".memories/plans/q3.md": "---\ntype: plan\n---\n\nThe quokka moves in", ".memories/base.md": "bilby"})
    assert engine.memory.recall("plans/q3").content == "The quokka moves in"
    assert engine.memory.find("plans/q3.md") == engine.memory.find("plans/q3") == memory(engine, "plans/q3.md")
    assert engine.memory.append("plans/q3", "with a wombat").name == "plans/q3.md"
    assert found(engine, "wombat") == [("plans/q3.md", "memory")]
    engine.memory.revise("plans/q3.md", "numbat. Supersedes [[memory:plans/old/q2]]")
    written = engine.memory.remember("plans/old/q2", "dunnart, depends on [[memory:base]]")
    assert (written.name, written.path) == ("plans/old/q2.md", root / ".memories/plans/old/q2.md")
    assert found(engine, '"dunnart"') == [("plans/old/q2.md", "memory")]
    assert found(engine, "dunnart") == [("plans/q3.md", "memory"), ("plans/old/q2.md", "memory")]
    web = engine.memory.link_web("plans/old/q2", "supersedes")
    assert [it.name for it in web.incoming.steps] == ["plans/q3.md"]


def test_what_is_forgotten_or_merged_out_of_a_folder_is_found_no_more(engine: Engine, root: Path) -> None:
    engine.memory.remember("plans/q3", "numbat", tags=["x"])
    engine.memory.remember("plans/q4", "bilby", tags=["y"])
    engine.memory.remember("plans/q5", "potoroo")
    thrown = engine.memory.forget("plans/q5")
    assert (thrown.name, thrown.path.parent) == ("plans/q5.md", root / ".memories/.trash/plans")
    merged = engine.memory.merge(["plans/q3", "plans/q4"], "done/all", "quoll")
    assert (merged.name, merged.path) == ("done/all.md", root / ".memories/done/all.md")
    assert [it.path for it in engine.memory.select().records] == ["done/all.md"]
    assert [found(engine, it) for it in ("numbat", "bilby", "potoroo")] == [[], [], []]
    assert found(engine, "quoll") == [("done/all.md", "memory")]
