"""A folder of many files or projects is not indexed by a first search before somebody confirms it."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.paths import DataPaths
from dowse.server.mcp import bind_tools
from dowse.server.relocation import describe_broad_root
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.server.workspace import find_workspace
from support import Run, command_line, write

MANY = {f"docs/{number}.md": f"# Note {number}\n\nabout zebras\n" for number in range(6)}
NEXT_STEP = "run `dowse index` there (over MCP: call `index`), or pass a narrower --root"


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    write(root, MANY)
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    monkeypatch.setenv("DOWSE_ASK_ABOVE_FILES", "5")
    return command_line(capsys)


def index_of(root: Path, tmp_path: Path) -> Path:
    return DataPaths(tmp_path / "data").index_path(root.resolve())


@pytest.mark.parametrize("words", [("search", "zebras"), ("grep", "zebras"), ("symbols", "x"), ("why", "docs/1.md")])
def test_a_first_question_is_refused_with_the_next_step(
    run: Run, root: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"{root.resolve()} has more than 5 files" in err and NEXT_STEP in err and "DOWSE_ASK_ABOVE_FILES=0" in err
    assert not index_of(root, tmp_path).exists()


def test_who_asks_for_the_index_is_told_and_then_answered(run: Run) -> None:
    code, _, err = run("index")
    assert code == 0 and "has more than 5 files: indexing all of it" in err
    assert run("search", "zebras")[0] == 0
    assert run("index")[2] == ""


def test_a_narrower_root_or_the_setting_needs_no_confirmation(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_ASK_ABOVE_FILES", "6")
    assert run("search", "zebras", "--root", "docs")[0] == 0
    monkeypatch.setenv("DOWSE_ASK_ABOVE_FILES", "0")
    assert run("search", "zebras")[0] == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_on_a_terminal_it_asks(
    run: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    given = io.StringIO(typed)
    monkeypatch.setattr(given, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", given)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run("search", "zebras")[0] == code
    assert index_of(root, tmp_path).exists() == (code == 0)


def broad(root: Path, **environment: str) -> str:
    given = {"DOWSE_DATA_DIR": str(root.parent / "data"), **environment}
    return describe_broad_root(find_workspace(cwd=root, environment=given, flags={}, root=root))


def test_what_is_ignored_does_not_count(root: Path) -> None:
    write(root, MANY | {".gitignore": "docs/\n", "a.md": "a"})
    assert broad(root, DOWSE_ASK_ABOVE_FILES="2") == ""
    assert "more than 2 files" in broad(root, DOWSE_ASK_ABOVE_FILES="2", DOWSE_GITIGNORE="false")


def test_a_folder_of_many_projects_is_broad_but_not_a_repository_with_parts(root: Path) -> None:
    for number in range(5):
        write(root, {f"project{number}/.git/HEAD": "ref: refs/heads/main\n", f"project{number}/a.md": "a"})
    assert broad(root) == f"{root.resolve()} is a folder of 5 projects"
    (root / ".git").mkdir()
    assert broad(root) == ""


# --- a server ---


class Server:
    def __init__(self, root: Path, profile: str = "core", **environment: str) -> None:
        self.server_runtime = ServerRuntime()
        values = {"DOWSE_DATA_DIR": str(root.parent / "data"), "DOWSE_ENCODER": "hashing", **environment}
        self.tools = bind_tools(
            make_profile(profile, roots=(), flags={}, environment=values, cwd=root, server_runtime=self.server_runtime)
        )
        self.server_runtime.start()


@pytest.fixture
def served(root: Path) -> Iterator[Server]:
    write(root, MANY)
    made = Server(root, DOWSE_ASK_ABOVE_FILES="5")
    yield made
    made.server_runtime.close()


def test_a_server_answers_with_the_sentence_until_index_confirms(served: Server, root: Path, tmp_path: Path) -> None:
    for tool, arguments in (("search", {"query": "zebras"}), ("grep", {"pattern": "zebras"}), ("status", {})):
        with pytest.raises(BadInput, match="has more than 5 files; to confirm, run `dowse index` there"):
            served.tools[tool](arguments)
    assert not index_of(root, tmp_path).exists()
    served.tools["index"]({})
    assert len(served.tools["search"]({"query": "zebras"}).data["hits"]) == 6


def test_a_server_goes_on_when_somebody_else_has_made_the_index(served: Server, root: Path, run: Run) -> None:
    with pytest.raises(BadInput):
        served.tools["search"]({"query": "zebras"})
    assert run("index")[0] == 0
    assert len(served.tools["search"]({"query": "zebras"}).data["hits"]) == 6


@pytest.mark.parametrize(
    ("profile", "tool", "arguments"),
    [("ragdocs", "query_documents", {"query": "zebras"}), ("codesearch", "search_grep", {"terms": "zebras"})],
)
def test_every_profile_asks(root: Path, tmp_path: Path, profile: str, tool: str, arguments: dict[str, object]) -> None:
    write(root, MANY)
    server = Server(root, profile, DOWSE_ASK_ABOVE_FILES="5")
    try:
        with pytest.raises(BadInput, match="has more than 5 files"):
            server.tools[tool](arguments)
        assert not index_of(root, tmp_path).exists()
    finally:
        server.server_runtime.close()
