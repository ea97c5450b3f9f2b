"""An index in the standard place of a root answers for that root alone, whatever an earlier version brought in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import IndexBusy
from dowse.live.heal import IndexRebuild
from dowse.paths import DataPaths
from dowse.server.workspace import Workspace, find_workspace
from dowse.store.sqlite.locks import write_lock
from gits import Repo
from support import Run, command_line, write


class Site:
    """Two projects with histories and memories, and an index of the first that holds both of them."""

    def __init__(self, home: Path) -> None:
        self.data = home / "data"
        self.one, self.two = home / "one", home / "two"
        for root, animal in ((self.one, "alpaca"), (self.two, "badger")):
            repo = Repo(root)
            repo.commit(f"the {animal} commit", {"README.md": f"# About the {animal}\n"})
            write(root, {".memories/note.md": f"The {animal} sleeps.\n", "sub/deep.md": f"a deep {animal}\n"})
        self.index = DataPaths(self.data).index_path(self.one)
        with Engine(self.settings, self.index, create=True) as engine:
            engine.index([self.one / "sub"])
            engine.index([self.one, self.two])
            engine.histories.index_history()

    @property
    def settings(self) -> Settings:
        return Settings(encoder="none", data_dir=self.data, lock_timeout_s=0.2)

    def workspace(self, root: Path) -> Workspace:
        environment = {"DOWSE_DATA_DIR": str(self.data), "DOWSE_ENCODER": "none", "DOWSE_LOCK_TIMEOUT_S": "0.2"}
        return find_workspace(cwd=root, environment=environment, flags={}, root=root)

    def names(self) -> list[str]:
        with Engine(self.settings, self.index, create=False) as engine:
            return sorted(it.name for it in (*engine.collections(), *engine.histories.collections()))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path.resolve())


@pytest.fixture
def run(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("DOWSE_DATA_DIR", str(site.data))
    monkeypatch.setenv("DOWSE_ENCODER", "none")
    monkeypatch.chdir(site.one)
    return command_line(capsys)


@pytest.mark.parametrize(
    "words",
    [
        ("search", "--json", "--mode", "lexical", "badger"),
        ("grep", "--json", "badger"),
        ("read", "--json", "two/README.md"),
        ("related", "--json", "commit:badger"),
        ("memories", "--json"),
        ("status", "--json"),
        ("export",),
    ],
)
def test_no_answer_in_one_root_shows_another(run: Run, site: Site, words: tuple[str, ...]) -> None:
    _, out, _ = run(*words)
    assert "About the badger" not in out and "badger sleeps" not in out and str(site.two) not in out
    assert json.loads(run("search", "--json", "--mode", "lexical", "alpaca")[1])["count"] > 0


def test_what_belongs_to_the_root_stays(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    assert set(site.names()) == {"one", "sub", "one.memories", "one.git", "two", "two.memories", "two.git"}
    site.workspace(site.one).open(create=False).close()
    assert site.names() == ["one", "one.git", "one.memories", "sub"]
    assert caplog.messages == [f"removed {site.two} from the index of {site.one}"]
    caplog.clear()
    site.workspace(site.one).open(create=False).close()
    assert caplog.messages == []


def test_from_a_directory_inside_the_root_nothing_of_the_root_goes(site: Site) -> None:
    workspace = site.workspace(site.one)
    Workspace(workspace.settings, site.one / "sub", workspace.index).open(create=False).close()
    assert site.names() == ["one", "one.git", "one.memories", "sub"]


def test_while_another_process_writes_there_is_no_answer(site: Site) -> None:
    with write_lock(site.index, 1), pytest.raises(IndexBusy):
        site.workspace(site.one).open(create=False)
    assert "two" in site.names()


def test_a_named_index_keeps_every_root(site: Site) -> None:
    named = site.data.parent / "both.db"
    with Engine(site.settings, named, create=True) as engine:
        engine.index([site.one, site.two])
    environment = {"DOWSE_DATA_DIR": str(site.data), "DOWSE_INDEX": str(named)}
    with find_workspace(cwd=site.one, environment=environment, flags={}).open(create=False) as engine:
        assert {"one", "two"} <= {it.name for it in engine.collections()}


def test_a_rebuilt_index_has_its_own_root_only(site: Site) -> None:
    IndexRebuild(site.settings, site.index, site.one).run(lambda stage, done, total: None)
    assert "two" not in site.names() and "one" in site.names()
