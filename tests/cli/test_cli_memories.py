"""`dowse remember`, `dowse memories` and `dowse forget`; and the tool that keeps notes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp_types import CallToolResult

from dowse.server.mcp import make_server
from dowse.server.runtime import ServerRuntime, make_profile
from support import Run, command_line, write

APP = "class Token:\n    def fresh(self):\n        return 1\n"


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    write(root, {"src/auth.py": APP})
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "none")
    monkeypatch.setenv("DOWSE_FRESHNESS_TIMEOUT_MS", "60000")
    return command_line(capsys)


def listed(run: Run, *words: str) -> list[dict[str, Any]]:
    code, out, _ = run("memories", "--json", *words)
    data = json.loads(out)
    assert code == (0 if data["memories"] else 1)
    assert data["count"] == len(data["memories"])
    return data["memories"]  # type: ignore[no-any-return]


def test_a_note_in_a_folder(run: Run, root: Path) -> None:
    assert run("remember", "plans/q3", "numbat")[1] == f"created plans/q3.md ({root}/.memories/plans/q3.md)\n"
    assert run("remember", "plans/q3.md", "--append", "wombat")[0] == 0
    assert [it["name"] for it in listed(run)] == ["plans/q3.md"]
    assert "wombat" in run("read", "plans/q3.md")[1]
    assert "memory  plans/q3.md" in run("why", "memory:plans/q3")[1]
    assert run("forget", "plans/q3")[1].startswith(f"forgotten plans/q3.md ({root}/.memories/.trash/plans/q3_")
    assert listed(run) == []


def test_a_note_from_its_making_to_the_trash(run: Run, root: Path) -> None:
    words = ("Tokens", "last an hour", "--type", "fact", "--tag", "auth", "--anchor", "src/auth.py:3")
    assert run("remember", "auth", *words, "--valid-until", "2020-01-01") == (
        0,
        f"created auth.md ({root}/.memories/auth.md)\n",
        "",
    )
    assert run("remember", "auth", "--append", "wombat")[0] == 0
    code, out, _ = run("search", "wombat", "--json")
    assert (code, [it["path"] for it in json.loads(out)["hits"]]) == (0, [".memories/auth.md"])
    (note,) = listed(run)
    assert (note["name"], note["type"], note["tags"], note["anchors"]) == (
        "auth.md", "fact", ["auth"], ["src/auth.py#Token.fresh"],
    )  # fmt: skip
    assert (note["valid_until"], note["stale"], note["problem"]) == ("2020-01-01T23:59:59Z", [], "")
    code, out, _ = run("memories")
    assert (code, out.splitlines()) == (
        0,
        ["auth.md  fact  just now  #auth", "    no longer valid: it ended 2020-01-01T23:59:59Z", "1 memory"],
    )
    assert [it["name"] for it in listed(run, "--tag", "#Auth")] == ["auth.md"], "as it is shown"
    assert run("remember", "auth", "--replace", "quokka", "--json")[0] == 0
    assert "quokka" in (root / ".memories/auth.md").read_text()
    code, out, _ = run("forget", "auth", "--json")
    told = json.loads(out)
    assert (code, told["status"], told["name"]) == (0, "forgotten", "auth.md")
    assert "quokka" in Path(told["path"]).read_text()
    assert run("memories") == (1, "0 memories\n", "")


def test_stale_ones_are_listed_and_told_with_hits(run: Run, root: Path) -> None:
    run("remember", "auth", "Tokens last an hour", "--anchor", "src/auth.py#Token.fresh")
    run("remember", "other", "Tokens are made elsewhere", "--type", "plan")
    assert listed(run, "--stale") == []
    write(root, {"src/auth.py": APP.replace("1", "2")})
    why = "src/auth.py#Token.fresh has changed since the memory was written"
    (note,) = listed(run, "--stale")
    assert (note["name"], note["stale"]) == (
        "auth.md",
        [{"anchor": "src/auth.py#Token.fresh", "why": why, "commit": None}],
    )
    out = run("search", "tokens hour", "--json")[1]
    notes = {it["path"]: it["notes"] for it in json.loads(out)["hits"]}
    assert (notes[".memories/auth.md"], notes.get(".memories/other.md", [])) == ([why], [])
    assert f"   {why}" in run("search", "tokens hour")[1].splitlines()
    assert f"    stale: {why}" in run("memories")[1].splitlines()
    assert [it["name"] for it in listed(run, "--type", "plan")] == ["other.md"]
    assert listed(run, "--tag", "none") == []
    run("remember", "auth", "--append", "looked at again")
    assert listed(run, "--stale") == []


def test_text_from_stdin(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("né\n".encode())))
    assert run("remember", "notes", "-")[0] == 0
    assert (root / ".memories/notes.md").read_text().endswith("\n\nné\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"\xff")))
    assert run("remember", "more", "-") == (2, "", "dowse: stdin is not UTF-8 text; pipe text into it\n")


def test_reading_says_what_speaks_against_a_note(run: Run, root: Path) -> None:
    write(root, {".memories/old.md": "---\nstatus: archived\n---\nwombat\n"})
    code, out, err = run("read", "old.md:4")
    assert (code, out, err) == (0, "wombat\n", "dowse: old.md: archived\n")
    assert json.loads(run("read", "old.md", "--json")[1])["notes"] == ["archived"]


BAD_WORDS = [
    (("remember", "notes"), "content is empty"),
    (("remember", "../notes", "x"), "starts with a dot"),
    (("remember", "notes", "x", "--append", "--replace"), "not both"),
    (("remember", "notes", "x", "--append"), "no memory named"),
    (("remember", "notes", "x", "--append", "--tag", "y"), "only set when a memory is created"),
    (("remember", "notes", "x", "--type", "novel"), "Invalid value for '--type'"),
    (("remember", "notes", "x", "--anchor", "nowhere.py"), "is not indexed"),
    (("forget", "notes"), "no memory named"),
    (("memories", "--type", "novel"), "Invalid value for '--type'"),
]


def test_bad_input_is_one_line_and_writes_nothing(run: Run, root: Path) -> None:
    run("index")
    for words, why in BAD_WORDS:
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert why in err
    assert not (root / ".memories").exists()


# --- the tool ---


@pytest.fixture
def call(root: Path, tmp_path: Path) -> Iterator[Callable[..., CallToolResult]]:
    write(root, {"src/auth.py": APP})
    server_runtime = ServerRuntime()
    environment = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    made = make_profile("core", roots=(), flags={}, environment=environment, cwd=root, server_runtime=server_runtime)
    server_runtime.start()

    def call_it(tool: str, /, **arguments: object) -> CallToolResult:
        async def talk() -> CallToolResult:
            async with Client(make_server(made)) as client:
                return await client.call_tool(tool, dict(arguments))

        return anyio.run(talk)

    call_it("index")
    yield call_it
    server_runtime.close()


def test_an_agent_keeps_extends_replaces_and_throws_away_notes(call: Callable[..., CallToolResult], root: Path) -> None:
    def hits(query: str) -> list[str]:
        return [it["path"] for it in call("search", query=query, recipe="lexical").structured_content["hits"]]

    made = call("remember", name="auth", content="numbat", type="plan", tags=["a"], anchors=["src/auth.py"])
    assert made.structured_content == {"status": "created", "name": "auth.md", "path": f"{root}/.memories/auth.md"}
    assert hits("numbat") == [".memories/auth.md"]
    assert call("remember", name="auth", content="quoll", mode="append").structured_content["status"] == "appended"
    assert hits("quoll") == [".memories/auth.md"]
    assert "quoll" in call("fetch", id="auth.md").structured_content["text"]
    write(root, {"src/auth.py": APP.replace("1", "2")})
    fetched = call("fetch", id="auth.md").content[0].text.splitlines()  # type: ignore[union-attr]
    assert fetched[1].strip() == "src/auth.py has changed since the memory was written"
    assert call("remember", name="auth", content="bilby", mode="replace").structured_content["status"] == "replaced"
    assert (hits("quoll"), hits("bilby")) == ([], [".memories/auth.md"])
    thrown = call("remember", name="auth", mode="forget").structured_content
    assert (thrown["status"], ".trash" in thrown["path"], hits("bilby")) == ("forgotten", True, [])


BAD_ARGUMENTS: list[tuple[dict[str, object], str]] = [
    ({"name": "x"}, "content is empty"),
    ({"name": "../x", "content": "x"}, "starts with a dot"),
    ({"name": "x", "content": "x", "mode": "forget"}, "takes no content"),
    ({"name": "x", "content": "x", "mode": "append", "tags": ["a"]}, "only set when a memory is created"),
    ({"name": "x", "content": "x", "mode": "shout"}, "mode"),
    ({"name": "x", "content": "x", "type": "novel"}, "type"),
    ({"name": "x", "content": "x", "kind": "fact"}, "kind"),
    ({"content": "x"}, "name"),
]


def test_the_tool_says_what_is_wrong(call: Callable[..., CallToolResult], root: Path) -> None:
    for arguments, why in BAD_ARGUMENTS:
        result = call("remember", **arguments)
        assert result.is_error
        assert why in result.content[0].text  # type: ignore[union-attr]
    assert not (root / ".memories").exists()


def test_the_path_of_a_memory_can_be_opened_and_read(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, {"notes/heron.md": "# Another\n", "sub/a.md": "# Below\n"})
    run("remember", "notes/heron", "The heron wades at dusk")
    for place in (root, root / "sub"):
        monkeypatch.chdir(place)
        shown = run("search", "heron wades")[1].splitlines()[0].split()[1].partition(":")[0]
        assert "wades" in Path(shown).read_text()
        assert "wades" in run("read", shown)[1]
    (hit,) = [it for it in json.loads(run("search", "heron wades", "--json")[1])["hits"] if it["kind"] == "memory"]
    assert hit["path"] == ".memories/notes/heron.md"
    assert "wades" in run("read", hit["path"])[1]
    monkeypatch.chdir(root)
    run("remember", "everywhere", "An osprey dives", "--memory-location", "user")
    (hit, *_) = json.loads(run("search", "osprey dives", "--memory-location", "user", "--json")[1])["hits"]
    assert "osprey" in Path(hit["path"]).read_text()
    assert "osprey" in run("read", hit["path"], "--memory-location", "user")[1]
