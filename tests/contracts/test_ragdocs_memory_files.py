"""The memory tools of the ragdocs contract: what is offered, and a round trip of every tool that writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ragdocs_memory_server import did, found, memory_folder, mistake, names, note, noting
from ragdocs_server import text
from rifflux_server import Served

from support import write

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
TYPES = ["plan", "journal", "fact", "observation", "reflection"]
NAMED = {"filename": TEXT}
WRITTEN = {"filename": TEXT, "content": TEXT}
MOMENT = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 9_000_000_000}, {"type": "null"}], "default": None}
SCHEMAS = {
    "create_memory": {
        **WRITTEN,
        "tags": {**TEXTS, "default": []},
        "memory_type": {"type": "string", "enum": TYPES, "default": "journal"},
    },
    "append_memory": WRITTEN,
    "update_memory": WRITTEN,
    "read_memory": NAMED,
    "delete_memory": NAMED,
    "merge_memories": {"source_files": TEXTS, "target_file": TEXT, "summary_content": TEXT},
    "get_memory_stats": {},
    "search_memories": {
        "query": TEXT,
        "limit": {"type": "integer", "default": 5, "minimum": 1, "maximum": 100},
        "filter_tags": {"anyOf": [TEXTS, {"type": "null"}], "default": None},
        "filter_type": {"anyOf": [{"type": "string", "enum": TYPES}, {"type": "null"}], "default": None},
        "load_full_memory": {"type": "boolean", "default": True},
        "after_timestamp": MOMENT,
        "before_timestamp": MOMENT,
        "relative_days": {
            "anyOf": [{"type": "number", "minimum": 0, "maximum": 36_500}, {"type": "null"}],
            "default": None,
        },
    },
    "search_linked_memories": {
        "query": TEXT,
        "target_document": TEXT,
        "limit": {"type": "integer", "default": 5, "minimum": 1, "maximum": 100},
    },
    "search_by_tag_cluster": {
        "tag": TEXT,
        "depth": {"type": "integer", "default": 2, "minimum": 1, "maximum": 3},
        "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
    },
    "get_tag_graph": {},
    "suggest_related_tags": {"tag": TEXT},
    "get_memory_versions": NAMED,
    "get_memory_dependencies": NAMED,
    "detect_contradictions": NAMED,
}
WRITING = {"create_memory", "append_memory", "update_memory", "delete_memory", "merge_memories"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with noting(tmp_path_factory.mktemp("files") / "work") as served:
        yield served


@pytest.fixture
def folder(server: Served) -> Path:
    return memory_folder(server.folder)


# --- what is offered ---


def test_the_tools_their_parameters_defaults_and_bounds(server: Served) -> None:
    tools = {name: tool for name, tool in server.tools().items() if name in SCHEMAS}
    for tool in tools.values():
        for parameter in tool.input_schema["properties"].values():
            assert parameter.pop("description")
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == (tool.name not in WRITING)
    assert {name: tool.input_schema["properties"] for name, tool in tools.items()} == SCHEMAS
    assert {name: tool.input_schema.get("required", []) for name, tool in tools.items()} == {
        name: [key for key, it in properties.items() if "default" not in it] for name, properties in SCHEMAS.items()
    }


def test_memories_can_be_switched_off(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write(folder, {".mcp-markdown-ragdocs/config.toml": "[memory]\nenabled = false"})
    with noting(folder) as served:
        offered = served.tools()
        assert "query_documents" in offered
        assert not SCHEMAS.keys() & offered.keys()
        assert "unknown tool 'create_memory'" in served.refusal("create_memory", filename="a", content="b")


def test_memories_can_lie_in_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write(folder, {".mcp-markdown-ragdocs/config.toml": '[memory]\nstorage_strategy = "project"'})
    with noting(folder) as served:
        told = did(served, "create_memory", filename="a", content="The heron nests here.")
        assert told["path"] == str(folder / ".memories/a.md")
        assert names(served, "heron nests") == {"a.md"}
        assert "heron" not in text(served, "query_documents", query="heron nests")
    assert not memory_folder(folder).exists()


# --- create ---


def test_create_tells_where_it_wrote(server: Served, folder: Path) -> None:
    told = did(server, "create_memory", filename="otter", content="# Otter\n\nOtters hold hands.")
    path = folder / "otter.md"
    assert told == {"status": "created", "filename": "otter.md", "path": str(path)}
    written = path.read_text(encoding="utf-8")
    assert written.endswith("---\n\n# Otter\n\nOtters hold hands.\n")
    assert re.search(r'^type: "?journal"?$', written, re.MULTILINE)
    assert re.search(r'^status: "?active"?$', written, re.MULTILINE)
    assert names(server, "otters hold hands") == {"otter.md"}


def test_create_with_tags(server: Served) -> None:
    did(server, "create_memory", filename="beaver", content="Beavers build.", tags=["dam", "River"])
    assert names(server, "beavers build", filter_tags=["river"]) == {"beaver.md"}
    assert names(server, "beavers build", filter_tags=["otherwise"]) == set()


@pytest.mark.parametrize("given", TYPES)
def test_create_with_a_type(server: Served, given: str) -> None:
    did(server, "create_memory", filename=f"badger-{given}", content=f"Badgers dig {given}s.", memory_type=given)
    assert names(server, "badgers dig", filter_type=given) == {f"badger-{given}.md"}


def test_what_is_there_is_not_written_over(server: Served) -> None:
    did(server, "create_memory", filename="vole.md", content="first")
    assert "note 'vole' exists" in mistake(server, "create_memory", filename="vole", content="second")
    assert "first" in text(server, "read_memory", filename="vole")


# --- append and update ---


def test_append_keeps_what_is_there(server: Served, folder: Path) -> None:
    did(server, "create_memory", filename="heron", content="Herons stand still.", tags=["bird"])
    before = (folder / "heron.md").read_text(encoding="utf-8")
    told = did(server, "append_memory", filename="heron.md", content="They also pounce.")
    assert told == {"status": "appended", "filename": "heron.md", "path": str(folder / "heron.md")}
    assert (folder / "heron.md").read_text(encoding="utf-8") == f"{before}\nThey also pounce.\n"
    assert names(server, "pounce") == {"heron.md"}


def test_update_keeps_the_front_matter(server: Served, folder: Path) -> None:
    did(server, "create_memory", filename="newt", content="Newts are slow.", tags=["pond"], memory_type="fact")
    head = (folder / "newt.md").read_text(encoding="utf-8").partition("Newts")[0]
    told = did(server, "update_memory", filename="newt", content="Salamanders are quick.")
    assert told == {"status": "updated", "filename": "newt.md", "path": str(folder / "newt.md")}
    assert (folder / "newt.md").read_text(encoding="utf-8") == f"{head}Salamanders are quick.\n"
    assert names(server, "salamanders quick", filter_type="fact", filter_tags=["pond"]) == {"newt.md"}
    assert all("Newts are slow" not in it.content for it in found(server, "newts are slow"))


@pytest.mark.parametrize("tool", ["append_memory", "update_memory"])
def test_only_what_is_there_is_changed(server: Served, tool: str) -> None:
    assert "no memory named 'nobody.md'" in mistake(server, tool, filename="nobody", content="x")


# --- read and delete ---


def test_read_gives_the_file_as_it_is(server: Served, folder: Path) -> None:
    content = "# Crane\n\n- one\n- two\n\n```\n# no heading\n```"
    did(server, "create_memory", filename="crane", content=content)
    whole = (folder / "crane.md").read_text(encoding="utf-8")
    assert text(server, "read_memory", filename="crane") == whole
    assert text(server, "read_memory", filename="crane.md") == whole
    assert "no memory named 'gone.md'" in server.refusal("read_memory", filename="gone")


def test_a_file_edited_by_hand_is_seen(server: Served, folder: Path) -> None:
    write(folder, {"by-hand.md": note("Kingfishers dive.", type="fact", tags=("blue",))})
    assert names(server, "kingfishers dive", filter_tags=["blue"], filter_type="fact") == {"by-hand.md"}
    write(folder, {"by-hand.md": note("Dippers walk under water.", type="plan", tags=("brown",))})
    assert names(server, "dippers under water", filter_tags=["brown"], filter_type="plan") == {"by-hand.md"}
    assert "Dippers" in text(server, "read_memory", filename="by-hand")
    (folder / "by-hand.md").unlink()
    assert "by-hand.md" not in names(server, "dippers under water")


def test_delete_moves_to_the_trash(server: Served, folder: Path) -> None:
    did(server, "create_memory", filename="dodo", content="The dodo was last seen.")
    whole = (folder / "dodo.md").read_text(encoding="utf-8")
    told = did(server, "delete_memory", filename="dodo")
    assert list(told) == ["status", "filename", "moved_to"]
    assert (told["status"], told["filename"]) == ("deleted", "dodo.md")
    thrown = Path(told["moved_to"])
    assert thrown.parent == folder / ".trash"
    assert re.fullmatch(r"dodo_\d{8}_\d{6}\.md", thrown.name)
    assert thrown.read_text(encoding="utf-8") == whole
    assert not (folder / "dodo.md").exists()
    assert "dodo.md" not in names(server, "dodo last seen")
    assert "no memory named 'dodo.md'" in mistake(server, "delete_memory", filename="dodo")


# --- merge ---


def test_merge_puts_one_in_the_place_of_several(server: Served, folder: Path) -> None:
    did(server, "create_memory", filename="tern-1", content="Terns fish.", tags=["sea"])
    did(server, "create_memory", filename="tern-2", content="Terns migrate.", tags=["sky"])
    told = did(
        server,
        "merge_memories",
        source_files=["tern-1", "tern-2.md"],
        target_file="terns",
        summary_content="Terns fish and migrate.",
    )
    assert list(told) == ["status", "filename", "path", "moved_to"]
    assert (told["status"], told["filename"], told["path"]) == ("merged", "terns.md", str(folder / "terns.md"))
    assert [Path(it).parent == folder / ".trash" and Path(it).exists() for it in told["moved_to"]] == [True, True]
    assert names(server, "terns fish and migrate") == {"terns.md"}
    for tag in ("sea", "sky"):
        assert names(server, "terns", filter_tags=[tag]) == {"terns.md"}


def test_a_merge_that_can_not_be_done_changes_nothing(server: Served, folder: Path) -> None:
    did(server, "create_memory", filename="wren", content="Wrens sing.")
    sources = {"source_files": ["wren", "missing"], "target_file": "wrens"}
    assert "no memory named 'missing.md'" in mistake(server, "merge_memories", **sources, summary_content="x")
    assert (folder / "wren.md").exists()
    assert not (folder / "wrens.md").exists()
    assert "name the memories" in mistake(
        server, "merge_memories", source_files=[], target_file="wrens", summary_content="x"
    )


# --- stats ---


def test_stats_count_what_is_there(tmp_path: Path) -> None:
    notes = {
        "a.md": note("One.", type="fact", tags=("x", "y"), created_at="2026-01-02T03:04:05Z"),
        "b.md": note("Two.", type="fact", tags=("x",), status="archived", created_at="2025-01-01T00:00:00Z"),
        "c.md": note("Three.", created_at="2026-05-05T00:00:00Z"),
        ".trash/d.md": note("Gone.", type="plan"),
    }
    folder = tmp_path / "work"
    with noting(folder, notes) as served:
        size = sum(len(it.encode()) for name, it in notes.items() if "/" not in name)
        assert text(served, "get_memory_stats") == (
            f"# Memory Statistics\n\n- Total: 3\n- Size: {size:,} bytes\n- Folder: {memory_folder(folder)}\n"
            "- Oldest: 2025-01-01T00:00:00Z\n- Newest: 2026-05-05T00:00:00Z\n\n"
            "## By Type\n\n- fact: 2\n- journal: 1\n\n## By Status\n\n- active: 2\n- archived: 1\n\n"
            "## Tags\n\n- x: 2\n- y: 1"
        )


def test_the_first_memory_is_followed_at_once(tmp_path: Path) -> None:
    """Its folder is new: nobody watches it yet when the next question comes."""
    folder = tmp_path / "work"
    with noting(folder) as served:
        told = text(served, "get_memory_stats")
        assert told == f"# Memory Statistics\n\n- Total: 0\n- Size: 0 bytes\n- Folder: {memory_folder(folder)}"
        did(served, "create_memory", filename="first", content="Plovers run.")
        write(memory_folder(folder), {"second.md": "Curlews call."})
        assert "second.md" in names(served, "curlews call")


def test_nothing_was_unexpected(server: Served) -> None:
    assert server.errors.read_text(encoding="utf-8") == ""


def test_files_that_are_not_indexed_yet_are_told_and_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    with noting(folder, DOWSE_FRESHNESS_TIMEOUT_MS="0", DOWSE_WATCH="0") as served:
        did(served, "create_memory", filename="known", content="Kakapo.", tags=["bird"])
        write(memory_folder(folder), {"late.md": note("Kea, in place of [[memory:known]].", tags=("bird",))})
        assert "Kea" in text(served, "read_memory", filename="late")
        for tool, arguments in {
            "get_memory_stats": {},
            "get_tag_graph": {},
            "suggest_related_tags": {"tag": "bird"},
            "search_by_tag_cluster": {"tag": "bird"},
            "search_linked_memories": {"query": "kea", "target_document": "memory:known"},
            "get_memory_versions": {"filename": "known"},
            "get_memory_dependencies": {"filename": "known"},
            "detect_contradictions": {"filename": "known"},
        }.items():
            assert "- 1 changed file is not in this answer yet: late.md" in text(served, tool, **arguments), tool


# --- folders ---


def test_every_tool_takes_the_name_of_a_memory_in_a_folder(server: Served, folder: Path) -> None:
    write(folder, {"plans/otters.md": note("Otterish. Supersedes [[memory:plans/old]].", type="plan")})
    path = folder / "plans/otters.md"
    told = did(server, "append_memory", filename="plans/otters", content="Depends on [[memory:plans/old]].")
    assert told == {"status": "appended", "filename": "plans/otters.md", "path": str(path)}
    assert text(server, "read_memory", filename="plans/otters.md").startswith(path.read_text(encoding="utf-8"))
    made = did(server, "create_memory", filename="plans/old", content="It contradicts [[memory:plans/otters]].")
    assert (made["filename"], made["path"]) == ("plans/old.md", str(folder / "plans/old.md"))
    for tool in ("get_memory_versions", "get_memory_dependencies", "detect_contradictions"):
        assert "plans/old.md" in text(server, tool, filename="plans/otters")
    did(server, "update_memory", filename="plans/old", content="Weaselish.")
    assert names(server, "weaselish") == {"plans/old.md"}
    given = {"source_files": ["plans/old", "plans/otters"], "target_file": "done/both", "summary_content": "Stoatish."}
    merged = did(server, "merge_memories", **given)
    assert (merged["filename"], merged["path"]) == ("done/both.md", str(folder / "done/both.md"))
    assert [Path(it).parent for it in merged["moved_to"]] == [folder / ".trash/plans"] * 2
    deleted = did(server, "delete_memory", filename="done/both")
    assert Path(deleted["moved_to"]).parent == folder / ".trash/done"
    assert names(server, "stoatish weaselish otterish") & {"done/both.md", "plans/old.md", "plans/otters.md"} == set()


def test_memories_that_its_users_have_already_are_found_and_written_to(tmp_path: Path) -> None:
    own = tmp_path / "share/mcp-markdown-ragdocs/memories"
    write(own, {"old.md": note("The barnacle was scraped off.", type="fact", tags=["hull"])})
    with noting(tmp_path / "work", XDG_DATA_HOME=str(tmp_path / "share")) as served:
        assert names(served, query="barnacle") == {"old.md"}
        did(served, "create_memory", filename="new", content="The hull is clean.")
    assert (own / "new.md").is_file()
