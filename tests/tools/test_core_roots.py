"""Several roots on one server: each has an index of its own, a hit names its root, one root never shows another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.paths import DataPaths
from dowse.server.mcp import bind_tools, reply_text
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.tools.core_render import reply_length
from dowse.tools.tool import ToolReply, ToolSet
from gits import Repo
from support import write

ONE = {
    "README.md": "# One\n\nAlpacas live in the mountains and eat grass.\n",
    "src/app.py": "def feed_alpaca(food):\n    return food\n",
}
TWO = {
    "README.md": "# Two\n\nBadgers dig burrows.\n",
    "notes/deep.md": "# Alpacas\n\nAlpacas and badgers eat grass in the mountains.\n",
    "src/den.py": "def dig_burrow():\n    return feed()\n\n\ndef feed():\n    return 1\n",
}


class Server:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        self.server_runtime = ServerRuntime()
        self.profile: ToolSet

    def start(self, *roots: Path, name: str = "core", **environment: str) -> Server:
        values = {"DOWSE_DATA_DIR": str(self.data), "DOWSE_ENCODER": "hashing", **environment}
        self.profile = make_profile(
            name, roots=roots, flags={}, environment=values, cwd=self.home, server_runtime=self.server_runtime
        )
        self.server_runtime.start()
        return self

    def ask(self, tool: str, **arguments: object) -> ToolReply:
        return bind_tools(self.profile)[tool](arguments)

    def data_of(self, tool: str, **arguments: object) -> dict[str, Any]:
        return dict(self.ask(tool, **arguments).data)

    def text_of(self, tool: str, **arguments: object) -> str:
        return reply_text(self.ask(tool, **arguments))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path.resolve())
    write(made.home / "one", ONE)
    write(made.home / "two", TWO)
    yield made
    made.server_runtime.close()


@pytest.fixture
def both(server: Server) -> Server:
    server.start(Path("one"), Path("two")).ask("index")
    return server


def held(server: Server, root: str) -> list[str]:
    index = DataPaths(server.data).index_path(server.home / root)
    with Engine(Settings(encoder="none", data_dir=server.data), index, create=False) as engine:
        return [it.root for it in engine.collections()]


def test_each_root_has_an_index_of_its_own(both: Server) -> None:
    assert held(both, "one") == [str(both.home / "one")]
    assert held(both, "two") == [str(both.home / "two")]


def test_a_hit_names_its_root_and_one_root_never_shows_another(both: Server) -> None:
    found = both.data_of("search", query="alpacas grass mountains", explain=True)
    assert {it["root"] for it in found["hits"]} == {"one", "two"}
    assert "[two] notes/deep.md:1-3" in both.text_of("search", query="alpacas grass mountains")
    assert [(it["root"], it["complete"]) for it in found["roots"]] == [("one", True), ("two", True)]
    assert found["completeness"]["indexed"] == 5
    for root in ("one", "two"):
        alone = both.data_of("search", query="alpacas badgers", root=root, limit=50)
        paths = {it["path"] for it in alone["hits"]}
        assert paths and paths <= set(ONE if root == "one" else TWO) and alone["root"] == root
    assert both.data_of("search", query="burrow", root="one", recipe="lexical")["hits"] == []


def test_hits_are_merged_by_confidence_and_each_root_keeps_its_order(both: Server) -> None:
    query = "alpacas eat grass"
    merged = both.data_of("search", query=query, limit=50)["hits"]
    for root in ("one", "two"):
        own = [it["chunk_id"] for it in both.data_of("search", query=query, root=root, limit=50)["hits"]]
        assert [it["chunk_id"] for it in merged if it["root"] == root] == own
    best = {root: next(it for it in merged if it["root"] == root)["confidence"] for root in ("one", "two")}
    assert merged[0]["root"] == max(best, key=lambda it: best[it])


def test_limit_and_budget_count_for_the_merged_answer(both: Server) -> None:
    assert len(both.data_of("search", query="alpacas badgers eat", limit=2)["hits"]) == 2
    hits = both.data_of("search", query="alpacas badgers eat", budget_tokens=50)["hits"]
    assert sum(len(it["text"]) for it in hits) <= 200


def test_explain_says_which_root_did_what(both: Server) -> None:
    text = both.text_of("search", query="alpacas", explain=True)
    assert "one: fuse: " in text and "two: fuse: " in text and "\nmerge: " in text


def test_what_two_roots_share_is_shown_once(server: Server, tmp_path: Path) -> None:
    """Two folders of one repository have one history."""
    repo = Repo(tmp_path.resolve() / "mono")
    repo.commit("the zebra commit", {"a/one.md": "# One\n", "b/two.md": "# Two\n"})
    server.start(repo.place / "a", repo.place / "b").ask("index")
    hits = server.data_of("search", query="zebra commit", kinds=["commit"])["hits"]
    assert len(hits) == 1


def test_exact_tools_answer_root_by_root(both: Server) -> None:
    lines = both.data_of("grep", pattern="alpaca")
    assert [it["root"] for it in lines["roots"]] == ["one", "two"]
    assert both.text_of("grep", pattern="alpaca").startswith(f"# one ({both.home / 'one'})\n")
    dug = both.data_of("symbols", name="dig_burrow")
    assert [it["root"] for it in dug["roots"]] == ["two"] and dug["nothing_in"] == ["one"]
    assert "nothing found in one" in both.text_of("calls", name="feed")
    assert [it["root"] for it in both.data_of("why", target="src/den.py:2")["roots"]] == ["two"]
    assert [it["root"] for it in both.data_of("related", target="src/app.py")["roots"]] == ["one"]
    assert [it["root"] for it in both.data_of("status")["roots"]] == ["one", "two"]
    assert both.data_of("symbols", name="dig_burrow", root="one")["total"] == 0


def test_the_limit_of_exact_tools_counts_over_all_roots(server: Server) -> None:
    names = [f"part{number}" for number in range(5)]
    for name in names:
        write(server.home / name, {f"{it}.py": f"def llama{it}():\n    return 1\n" for it in range(3)})
    server.start(*map(Path, names)).ask("index")
    for tool, asked, rows in (
        ("grep", {"pattern": "llama"}, "files"),
        ("symbols", {"name": "llama"}, "definitions"),
    ):
        for limit in (1, 3, 7, 15, 20):
            reply = server.data_of(tool, limit=limit, **asked)
            shown = {it["root"]: len(it[rows]) for it in reply["roots"]}
            assert sum(shown.values()) == min(limit, 15) and max(shown.values()) - min(shown.values()) <= 1
            assert reply.get("not_shown", {}) == dict.fromkeys(names[limit:], 3)
            assert all(("more" in it) == (shown[it["root"]] < 3) for it in reply["roots"])
    assert "part3 (3), part4 (3) (raise `limit` or pass `root`)" in server.text_of("grep", pattern="llama", limit=3)


def test_what_every_root_says_of_itself_fits_the_room_of_an_answer(server: Server) -> None:
    names = [f"{number:02}-{'long-name-' * 20}" for number in range(16)]
    for name in names:
        write(server.home / name, {"a.md": "alpaca", **{f"{it}.md": "\0" for it in range(5)}})
    server.start(*map(Path, names))
    for tool in ("index", "status"):
        reply = server.ask(tool)
        assert reply_length(reply) <= 8_000 and len(reply_text(reply)) <= 8_000
        told = [it["root"] for it in reply.data["roots"]]
        more = reply.data["more"]
        assert told and [*told, *more["names"]] == names[: len(told) + len(more["names"])]
        assert len(told) + len(more["names"]) + more.get("roots", 0) == len(names)
        assert server.data_of(tool, root=names[-1])["root"] == names[-1]


def test_a_place_that_one_root_has_is_found_there(both: Server) -> None:
    found = both.data_of("symbols", at="src/den.py:1")
    assert [it["root"] for it in found["roots"]] == ["two"]
    assert found["problems"] == [{"root": "one", "error": "'src/den.py' is not indexed"}]


def test_fetch_wants_a_root_for_what_several_have(both: Server) -> None:
    with pytest.raises(BadInput, match=r"'README.md' is in several roots \(one, two\); choose one with `root`"):
        both.ask("fetch", id="README.md")
    assert "Badgers dig" in both.data_of("fetch", id="README.md", root="two")["text"]
    assert both.data_of("fetch", id=str(both.home / "one/README.md"))["root"] == "one"
    assert both.data_of("fetch", id="notes/deep.md")["root"] == "two"
    with pytest.raises(BadInput, match="no indexed id or path"):
        both.ask("fetch", id="nowhere.md")


def test_a_note_belongs_to_one_root(both: Server) -> None:
    with pytest.raises(BadInput, match="choose one with `root`: one, two"):
        both.ask("remember", name="plan", content="dig deeper")
    both.ask("remember", name="plan", content="dig deeper", root="two")
    assert (both.home / "two/.memories/plan.md").exists() and not (both.home / "one/.memories").exists()


def test_a_root_may_be_named_by_its_path_and_an_unknown_one_is_refused(both: Server) -> None:
    assert both.data_of("index", root=str(both.home / "two"))["root"] == "two"
    with pytest.raises(BadInput, match="no root named 'three'; choose one of one, two"):
        both.ask("search", query="x", root="three")


def test_a_job_is_stopped_by_its_id_whichever_root_it_is_of(both: Server) -> None:
    with pytest.raises(BadInput, match="no job 'x' is queued"):
        both.ask("index", cancel="x")


def test_roots_of_one_name_are_called_by_their_paths(server: Server) -> None:
    write(server.home / "a/docs", ONE)
    write(server.home / "b/docs", TWO)
    server.start(server.home / "a/docs", server.home / "b/docs").ask("index")
    assert {it["root"] for it in server.data_of("search", query="alpacas")["hits"]} == {
        str(server.home / "a/docs"),
        str(server.home / "b/docs"),
    }


def test_the_parameter_is_there_only_where_there_is_a_choice(server: Server) -> None:
    server.start(Path("one"), Path("two"))
    several = bind_tools(server.profile)
    assert all("root" in it.schema["properties"] for it in several.values())
    assert "Pass `root`" in server.profile.instructions and len(server.profile.instructions) <= 2048
    server.start(Path("one"))
    assert not any("root" in it.schema["properties"] for it in bind_tools(server.profile).values())
    assert set(several) == set(bind_tools(server.profile))


def test_a_named_index_is_one_index_for_all_roots(server: Server) -> None:
    """Who names it wants them together."""
    server.start(Path("one"), Path("two"), DOWSE_INDEX=str(server.home / "both.db")).ask("index")
    found = server.data_of("search", query="alpacas")
    assert {it["collection"] for it in found["hits"]} == {"one", "two"} and "roots" not in found


def test_documents_of_several_roots_are_in_the_index_of_none(server: Server) -> None:
    """The contract of ragdocs has one index for all documents: it lies in a place of its own."""
    server.start(Path("one"), name="core").ask("index")
    server.server_runtime.close()
    server.server_runtime = ServerRuntime()
    server.start(Path("one"), Path("two"), name="ragdocs")
    for behind in server.server_runtime.runtimes():
        behind.jobs.wait(behind.maintenance.index())
    text = server.text_of("query_documents", query="alpacas badgers", min_score=0.0)
    assert str(server.home / "two/notes/deep.md") in text and str(server.home / "one/README.md") in text
    assert held(server, "one") == [str(server.home / "one")]
    assert not DataPaths(server.data).index_path(server.home / "two").exists()


def test_a_root_that_can_not_be_asked_does_not_silence_the_others(server: Server) -> None:
    write(server.home / "broad", {f"{number}.md": "about alpacas\n" for number in range(6)})
    server.start(Path("broad"), Path("one"), DOWSE_ASK_ABOVE_FILES="5")
    server.ask("index", root="one")
    found = server.data_of("search", query="alpacas")
    assert {it["root"] for it in found["hits"]} == {"one"}
    assert "broad: " in found["index"] and "has more than 5 files" in found["index"]
    lines = server.data_of("grep", pattern="alpaca")
    assert [it["root"] for it in lines["roots"]] == ["one"] and lines["problems"][0]["root"] == "broad"
    assert not DataPaths(server.data).index_path(server.home / "broad").exists()
