"""`dowse calls` and `dowse impact`, in process, over real files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dowse.callgraph.facts import CallQuery
from dowse.config import Settings
from dowse.engine import Engine
from dowse.tools.render_calls import tree_json, tree_reply, tree_text
from support import Run, command_line, write

FILES = {
    "app/__init__.py": "",
    "app/repo.py": (
        "class Repo:\n    def save(self):\n        pass\n\n\nclass Other:\n    def save(self):\n        pass\n"
    ),
    "app/main.py": (
        "from app.repo import Repo\n\n\ndef work(unknown):\n    Repo().save()\n    unknown.save()\n\n\n"
        "def run():\n    work(1)\n\n\nrun()\n"
    ),
}


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    write(root, FILES)
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "none")
    return command_line(capsys)


def test_callers_are_drawn_as_a_tree(run: Run) -> None:
    code, out, _ = run("calls", "Repo.save")
    assert code == 0
    assert out.splitlines() == [
        "Repo.save  app/repo.py:2",
        "  work  app/main.py:5",
        "    run  app/main.py:10",
        "      (top level)  app/main.py:13",
        "1 unresolved calls (--unresolved lists them)",
    ]


def test_references_possible_callers_and_libraries_stand_apart(tmp_path: Path) -> None:
    """A function that is passed is no call of the one that passes it, and a call on something unknown is no silence."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "flow.py").write_text(
        "import json\n\n\ndef work():\n    return 1\n\n\ndef call(function):\n    return function()\n\n\n"
        "def run():\n    json.dumps(call(work))\n    return work\n\n\n"
        "class Repo:\n    def store(self):\n        pass\n\n    def save(self):\n        pass\n\n\n"
        "def keep(box):\n    box[0].save()\n"
    )
    index = tmp_path / "index.db"
    with Engine(Settings(encoder="none", data_dir=tmp_path), index, create=True) as engine:
        engine.index([tmp_path / "root"])
        callers = tree_json(engine.calls(CallQuery("work")))
        callees = tree_json(engine.calls(CallQuery("run", direction="down", depth=1)))
        unknown = engine.calls(CallQuery("save", "Repo"))
        text = tree_text(engine.calls(CallQuery("work")), with_unresolved=False)
        core = tree_reply(engine.calls(CallQuery("work")), with_unresolved=False, scale=1.0)
    assert [it["definition"]["name"] for it in callers["nodes"]] == ["call"]
    assert callers["nodes"][0]["how"] == "parameter function of call, passed at flow.py:13"
    assert [(it["definition"]["name"], it["how"]) for it in callers["references"]] == [("run", "passed")]
    assert [it["definition"]["name"] for it in callees["nodes"]] == ["call"]
    assert [it["definition"]["name"] for it in callees["references"]] == ["work"]
    assert callees["external"] == [{"name": "json.dumps", "path": "flow.py", "lines": [13]}]
    assert not unknown.nodes and [(it.confidence, it.how) for it in unknown.possible] == [
        ("possible", "receiver unknown")
    ]
    assert "  references, not calls:\n    run  flow.py:13  [passed]" in text
    assert core.data["references"] == [{"name": "run", "path": "flow.py", "line": 13, "how": "passed"}]
    assert "[possible: receiver unknown]" in tree_text(unknown, with_unresolved=False)


def test_callees_and_what_could_not_be_told(run: Run) -> None:
    code, out, _ = run("calls", "app/main.py:5", "--down", "--unresolved")
    assert code == 0
    assert out.splitlines() == [
        "work  app/main.py:4",
        "  Repo.save  app/repo.py:2",
        "  Repo  app/repo.py:1",
        "? app/main.py:6  unknown.save  [receiver unknown]",
    ]


def test_several_that_define_it_are_named(run: Run) -> None:
    _, out, _ = run("calls", "save", "--depth", "1")
    assert "2 definitions; pick one with --in: Other, Repo" in out
    assert "define it" not in run("calls", "save", "--in", "Repo")[1]


def test_limits_are_said(run: Run, root: Path) -> None:
    write(root, {"many.py": "def f(): pass\n" + "".join(f"def g{n}(): f()\n" for n in range(20))})
    _, out, _ = run("calls", "f", "--width", "3")
    assert out.count("g") >= 3 and "17 more callers (--width)" in out
    assert "16 more callers (--nodes)" in run("calls", "f", "--width", "0", "--nodes", "4")[1]


def test_json(run: Run) -> None:
    code, out, _ = run("calls", "save", "--in", "Repo", "--json", "--depth", "1")
    tree = json.loads(out)
    assert (code, tree["total"], tree["truncated"], tree["owners"]) == (0, 1, False, ["Other", "Repo"])
    (node,) = tree["nodes"]
    assert (node["definition"]["name"], node["path"], node["line"], node["confidence"]) == (
        "work",
        "app/main.py",
        5,
        "exact",
    )
    assert (node["cut"], node["branches"]) == ("depth", [])
    assert [it["how"] for it in tree["unresolved"]] == ["receiver unknown"]


def test_nothing_of_that_name(run: Run) -> None:
    code, out, _ = run("calls", "nowhere")
    assert code == 1 and "'nowhere'" in out and "3 of 3 files indexed" in out
    code, out, _ = run("calls", "nowhere", "--json")
    assert code == 1 and json.loads(out)["roots"] == []


def test_bad_input_is_one_line(run: Run) -> None:
    for words in (("calls", "save", "--depth", "0"), ("calls", "app/none.py:3"), ("calls", " "), ("calls",)):
        code, _, err = run(*words)
        assert code == 2 and err.startswith("dowse: ") and err.count("\n") == 1


def test_impact_of_uncommitted_changes(run: Run, root: Path) -> None:
    code, _, err = run("impact")
    assert code == 2 and "git" in err
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "m"]):
        subprocess.run([*git, *command], cwd=root, check=True, capture_output=True)
    assert run("impact") == (1, "no changes since the last commit\n", "")
    changed = FILES["app/repo.py"].replace("pass", "return 1", 1)
    write(root, {"app/repo.py": changed, "app/new.py": "x = 1\n", "README.md": "# new\n"})
    run("index")
    code, out, _ = run("impact")
    assert code == 0
    assert out.splitlines() == [
        "Repo.save  app/repo.py:2",
        "  work  app/main.py:5",
        "    run  app/main.py:10",
        "README.md: no definition touched",
        "app/new.py: no definition touched",
    ]
    write(root, {"app/later.py": "y = 1\n"})
    found = json.loads(run("impact", "--json", "--freshness-timeout-ms", "0")[1])
    assert found["touched"][0]["definition"]["name"] == "save"
    assert found["files_not_indexed"] == ["app/later.py"]
    assert json.loads(run("impact", "--json")[1])["files_not_indexed"] == []
    write(root, {".memories/note.md": "A note, which is no file that calls anything."})
    assert ".memories/note.md: not indexed" in run("impact")[1].splitlines()


def test_impact_in_repositories_below_the_root(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    one, two = (root / "work" / name for name in ("one", "two"))
    for place in (one, two):
        write(place, {"src/a.py": "def alpha():\n    return 1\n\n\ndef beta():\n    return alpha()\n"})
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "m"]):
            subprocess.run([*git, *command], cwd=place, check=True, capture_output=True)
    assert run("index")[0] == 0
    monkeypatch.chdir(one / "src")
    assert run("impact")[:2] == (1, "no changes since the last commit\n")
    write(one, {"src/a.py": "def alpha():\n    return 2\n\n\ndef beta():\n    return alpha()\n"})
    assert run("impact") == (0, "alpha  a.py:1\n  beta  a.py:6\n", "")
    monkeypatch.chdir(two)
    assert run("impact")[:2] == (1, "no changes since the last commit\n")
    monkeypatch.chdir(root)
    for words in (("impact",), ("impact", "--root", str(root))):
        assert run(*words)[:2] == (0, "alpha  work/one/src/a.py:1\n  beta  work/one/src/a.py:6\n")
