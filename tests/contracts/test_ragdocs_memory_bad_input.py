"""Whatever a client sends to the memory tools: a clear refusal or an honest answer, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ragdocs_memory_server import did, found, memory_folder, mistake, names, note, noting
from ragdocs_server import text
from rifflux_server import Served

from support import write

NAMED = ("read_memory", "get_memory_versions", "get_memory_dependencies", "detect_contradictions")
WRITTEN = ("create_memory", "append_memory", "update_memory")
# Each tool with arguments it takes.
RIGHT: dict[str, dict[str, Any]] = {
    **{tool: {"filename": "kept", "content": "x"} for tool in WRITTEN},
    **{tool: {"filename": "kept"} for tool in (*NAMED, "delete_memory")},
    "merge_memories": {"source_files": ["kept"], "target_file": "merged", "summary_content": "x"},
    "get_memory_stats": {},
    "search_memories": {"query": "walrus"},
    "search_linked_memories": {"query": "walrus", "target_document": "a.py"},
    "search_by_tag_cluster": {"tag": "sea"},
    "get_tag_graph": {},
    "suggest_related_tags": {"tag": "sea"},
}
BAD_NAMES = [
    "..", "../outside", "../../etc/passwd", "a/../../b", "/etc/passwd", "/tmp/x.md", "a//b", "a/", "a\\b", "..\\x", "",
    " ", "\t", ".", ".hidden", ".trash", ".trash/x", "x" * 300, "é" * 150, "con", "NUL.md", "aux.txt", "lpt1", "a\0b",
    "a\nb", "a:b", "a*", "a?", "a|b", "<a>", 'a"b', "a.", " a", "a ", "\u202egpj.md", "x" * 50_000, "a/.x/b",
    "indices/x",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    notes = {"kept.md": note("The walrus sleeps. It links to [[a.py]].", tags=("sea", "ice"), type="fact")}
    with noting(tmp_path_factory.mktemp("bad") / "work", notes) as served:
        yield served


@pytest.fixture(autouse=True)
def still_as_it_was(server: Served) -> Iterator[None]:
    """After every test of this module the one memory is there, and nothing is anywhere else."""
    yield
    assert [it.name for it in found(server, "walrus sleeps", limit=1)] == ["kept.md"]
    folder = memory_folder(server.folder)
    assert {it.name for it in folder.iterdir() if it.suffix == ".md"} == {"kept.md"}
    assert {it.name for it in server.folder.iterdir()} == {"guide.md"}


# --- arguments ---


@pytest.mark.parametrize("tool", RIGHT)
def test_an_unknown_parameter_is_named(server: Served, tool: str) -> None:
    for name in ("nonsense", "x" * 50_000, "Filenames"):
        assert f"unknown parameter '{name[:80]}" in server.refusal(tool, **RIGHT[tool], **{name: 1})


@pytest.mark.parametrize(("tool", "name"), [(tool, name) for tool, given in RIGHT.items() for name in given])
def test_a_parameter_that_is_missing_is_named(server: Served, tool: str, name: str) -> None:
    given = {key: value for key, value in RIGHT[tool].items() if key != name}
    assert f"{name}: field required" in server.refusal(tool, **given)


@pytest.mark.parametrize(
    ("tool", "name"),
    [(tool, name) for tool, given in RIGHT.items() for name, value in given.items() if isinstance(value, str)],
)
def test_text_is_text(server: Served, tool: str, name: str) -> None:
    for value in (7, None, True, ["kept"], {"kept": 1}):
        assert f"{name}: input should be a valid string" in server.refusal(tool, **{**RIGHT[tool], name: value})


@pytest.mark.parametrize(
    ("tool", "name", "low", "high"),
    [
        ("search_memories", "limit", 1, 100),
        ("search_linked_memories", "limit", 1, 100),
        ("search_by_tag_cluster", "limit", 1, 100),
        ("search_by_tag_cluster", "depth", 1, 3),
    ],
)
def test_numbers_have_bounds(server: Served, tool: str, name: str, low: int, high: int) -> None:
    def refused(value: object) -> str:
        return server.refusal(tool, **RIGHT[tool], **{name: value})

    for value in (low - 1, -(10**40)):
        assert f"{name}: input should be greater than or equal to {low}" in refused(value)
    assert f"{name}: input should be less than or equal to {high}" in refused(high + 1)
    assert f"{name}: " in refused(10**40)
    for value in (2.5, "2", True, None, [2]):
        assert f"{name}: input should be a valid integer" in refused(value)
    for value in (low, high):
        text(server, tool, **RIGHT[tool], **{name: value})


@pytest.mark.parametrize(
    ("name", "high"),
    [("after_timestamp", 9_000_000_000), ("before_timestamp", 9_000_000_000), ("relative_days", 36_500)],
)
def test_times_have_bounds(server: Served, name: str, high: int) -> None:
    def refused(value: object) -> str:
        return server.refusal("search_memories", query="walrus", **{name: value})

    for value in (-1, -0.001):
        assert f"{name}: input should be greater than or equal to 0" in refused(value)
    for value in (high + 1, 10**40, 1e300):
        assert f"{name}: input should be less than or equal to {high}" in refused(value)
    for value in ("5", "yesterday", True, [5], {"days": 5}):
        assert f"{name}: input should be a valid number" in refused(value)
    for value in (0, 0.5, high, None):
        text(server, "search_memories", query="walrus", **{name: value})


def test_times_that_leave_nothing_are_refused(server: Served) -> None:
    given = {"after_timestamp": 2_000, "before_timestamp": 1_000}
    assert "after_timestamp is later than before_timestamp" in server.refusal("search_memories", query="x", **given)
    text(server, "search_memories", query="walrus", relative_days=1, **given)


@pytest.mark.parametrize("value", ["diary", "", "Fact", 7, True, ["fact"]])
def test_types_are_those_of_the_contract(server: Served, value: object) -> None:
    said = "input should be 'plan', 'journal', 'fact', 'observation' or 'reflection'"
    assert f"filter_type: {said}" in server.refusal("search_memories", query="x", filter_type=value)
    given = {"filename": "new", "content": "x", "memory_type": value}
    assert f"memory_type: {said}" in server.refusal("create_memory", **given)


@pytest.mark.parametrize("value", ["yes", 1, 0, None, []])
def test_load_full_memory_is_true_or_false(server: Served, value: object) -> None:
    refusal = server.refusal("search_memories", query="x", load_full_memory=value)
    assert "load_full_memory: input should be a valid boolean" in refusal


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("sea", "filter_tags"),
        ({"sea": 1}, "filter_tags"),
        ([1], "filter_tags.0: input should be a valid string"),
        ([["sea"]], "filter_tags.0: input should be a valid string"),
        ([""], "filter_tags is empty"),
        ([" \n"], "filter_tags is empty"),
        (["x" * 50_000], "filter_tags is 50,000 characters long"),
        (["x"] * 101, "filter_tags: 101 tags; at most 100 are allowed"),
    ],
)
def test_wrong_tags_are_refused(server: Served, value: object, problem: str) -> None:
    assert problem in server.refusal("search_memories", query="x", filter_tags=value)


@pytest.mark.parametrize(
    "value", [[f"x{n}" for n in range(101)], [""], ["x" * 50_000], ["a\nb"], ["a\0b"], ["a, b"]], ids=range(6)
)
def test_tags_that_can_not_be_written_are_refused(server: Served, value: list[str]) -> None:
    assert mistake(server, "create_memory", filename="new", content="x", tags=value)


@pytest.mark.parametrize("value", ["x", 7, None, {"a": 1}, [1], [None]])
def test_lists_are_lists_of_texts(server: Served, value: object) -> None:
    assert "tags" in server.refusal("create_memory", filename="new", content="x", tags=value)
    given = {**RIGHT["merge_memories"], "source_files": value}
    assert "source_files" in server.refusal("merge_memories", **given)


@pytest.mark.parametrize("tool", ["search_by_tag_cluster", "suggest_related_tags"])
@pytest.mark.parametrize(("value", "problem"), [("", "tag is empty"), (" ", "tag is empty"), ("x" * 1_001, "1,001")])
def test_a_tag_is_one(server: Served, tool: str, value: str, problem: str) -> None:
    assert problem in server.refusal(tool, tag=value)


def test_a_hash_alone_is_no_tag(server: Served) -> None:
    for tool in ("search_by_tag_cluster", "suggest_related_tags"):
        assert "tag is empty" in server.refusal(tool, tag="#")


@pytest.mark.parametrize("value", ["'; DROP TABLE records; --", "*", "sea%", "{a,b}", "🚀", "# Notes"])
def test_a_tag_is_only_a_word(server: Served, value: str) -> None:
    for tool in ("search_by_tag_cluster", "suggest_related_tags"):
        assert "No memory has this tag; 1 memory searched." in text(server, tool, tag=value)


# --- names of files ---


@pytest.mark.parametrize("tool", [*WRITTEN, "delete_memory"])
def test_names_that_are_none_are_told(server: Served, tool: str) -> None:
    for name in BAD_NAMES:
        assert "cannot be a memory name" in mistake(server, tool, **{**RIGHT[tool], "filename": name})


@pytest.mark.parametrize("wrong", ["source", "one of several", "target"])
def test_names_that_are_none_merge_nothing(server: Served, wrong: str) -> None:
    for name in BAD_NAMES:
        sources = {"source": [name], "one of several": ["kept", name]}.get(wrong, ["kept"])
        target = name if wrong == "target" else "merged"
        given = {"source_files": sources, "target_file": target, "summary_content": "x"}
        assert "cannot be a memory name" in mistake(server, "merge_memories", **given)


@pytest.mark.parametrize("tool", NAMED)
def test_names_that_are_none_are_refused(server: Served, tool: str) -> None:
    for name in BAD_NAMES:
        refusal = server.refusal(tool, filename=name)
        assert "cannot be a memory name" in refusal or "no memory named" in refusal


def test_links_in_the_folder_lead_nowhere(server: Served, tmp_path: Path) -> None:
    write(tmp_path, {"secret.md": "The narwhal is secret.\n"})
    link = memory_folder(server.folder) / "link.md"
    link.symlink_to(tmp_path / "secret.md")
    try:
        assert "secret" not in server.refusal("read_memory", filename="link").replace("link.md", "")
        assert mistake(server, "append_memory", filename="link", content="x")
        assert "link.md" not in names(server, "narwhal is secret")
    finally:
        link.unlink()
    assert (tmp_path / "secret.md").read_text() == "The narwhal is secret.\n"


# --- what is asked for and what is written ---


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_question_is_refused(server: Served, query: str) -> None:
    assert "the query is empty" in server.refusal("search_memories", query=query)
    assert "the query is empty" in server.refusal("search_linked_memories", query=query, target_document="a.py")


@pytest.mark.parametrize(
    "query",
    [
        'walrus"', '"walrus', "walrus*", "NEAR(walrus", "walrus AND", "OR walrus", "text:walrus", "^walrus", "(walrus",
        "-walrus", "walrus\0", "walrus'; DROP TABLE x", "[[walrus]]", "WALRUS", "# Notes\n\nwalrus", "walrus " * 5_000,
    ],
)  # fmt: skip
def test_search_syntax_is_only_words(server: Served, query: str) -> None:
    assert names(server, query) == {"kept.md"}
    answer = text(server, "search_linked_memories", query=query, target_document="a.py")
    assert "[1] kept.md" in answer


@pytest.mark.parametrize(
    ("target", "problem"), [("", "target_document is empty"), (" ", "target_document is empty"), ("x" * 1_001, "1,001")]
)
def test_a_target_is_something(server: Served, target: str, problem: str) -> None:
    assert problem in server.refusal("search_linked_memories", query="x", target_document=target)


@pytest.mark.parametrize("target", ["*", "**", "../../a.py", "/", ".", "#", "a.py/", "[a].py", "\0", "{a,b}.py", "%"])
def test_a_target_is_only_a_path(server: Served, target: str) -> None:
    answer = text(server, "search_linked_memories", query="walrus", target_document=target)
    assert ("[1] kept.md" in answer) == (target == "a.py/")


@pytest.mark.parametrize("content", ["", " \n", "a\0b", "x" * 10_000_001])
def test_content_that_can_not_be_kept_is_told(server: Served, content: str) -> None:
    try:
        assert mistake(server, "create_memory", filename="new", content=content)
    finally:
        if (memory_folder(server.folder) / "new.md").exists():
            did(server, "delete_memory", filename="new")


@pytest.mark.parametrize("content", ["", " \n"])
def test_no_words_take_the_place_of_a_memory(server: Served, content: str) -> None:
    before = text(server, "read_memory", filename="kept")
    assert mistake(server, "append_memory", filename="kept", content=content)
    assert mistake(server, "update_memory", filename="kept", content=content)
    assert mistake(server, "merge_memories", source_files=["kept"], target_file="merged", summary_content=content)
    assert text(server, "read_memory", filename="kept") == before


@pytest.mark.parametrize("content", ["---\ntype: plan\n---\n\nEvil.", "---\n- x\n---\n", "\ufeff", "+++\nx=1\n+++\n"])
def test_content_that_looks_like_front_matter_changes_none(server: Served, content: str) -> None:
    did(server, "create_memory", filename="new", content=content, memory_type="fact", tags=["real"])
    assert content.strip("\n") in text(server, "read_memory", filename="new")
    assert "- fact: 2" in text(server, "get_memory_stats")
    did(server, "delete_memory", filename="new")


@pytest.mark.parametrize(
    "written",
    [
        "---\n- a\n- list\n---\n\nThe narwhal dives.\n",
        "---\njust text\n---\n\nThe narwhal dives.\n",
        "---\ntype: [\n---\n\nThe narwhal dives.\n",
        "---\ntype: {a: b}\ntags: {c: d}\ncreated_at: [1]\n---\n\nThe narwhal dives.\n",
        "---\ncreated_at: 99999-99-99\nvalid_until: never\n---\n\nThe narwhal dives.\n",
        "---\ntype: diary\nstatus: lost\n---\n\nThe narwhal dives.\n",
        "---\n\nThe narwhal dives.\n",
    ],
)
def test_front_matter_that_is_none_is_read_as_far_as_it_goes(server: Served, written: str) -> None:
    file = memory_folder(server.folder) / "odd.md"
    file.write_text(written, encoding="utf-8")
    try:
        assert "odd.md" in names(server, "narwhal dives")
        assert text(server, "read_memory", filename="odd").startswith(written)
        for tool in NAMED[1:]:
            text(server, tool, filename="odd")
        assert "- Total: 2" in text(server, "get_memory_stats")
    finally:
        did(server, "delete_memory", filename="odd")


def test_nothing_was_unexpected(server: Served) -> None:
    """The log of the whole module: a refusal is no accident, so no trace of one may be in it."""
    assert server.errors.read_text(encoding="utf-8") == ""
