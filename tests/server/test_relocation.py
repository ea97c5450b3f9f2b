"""A project that is renamed or moved keeps its index; nothing else ever takes an index from a directory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from dowse.errors import BadInput
from dowse.paths import DataPaths
from dowse.server.workspace import Workspace, find_workspace
from dowse.store.sqlite.locks import write_lock
from gits import Repo
from support import write

FILES = {f"docs/note{number}.md": f"# Note {number}\n\nSomething about topic{number}.\n" for number in range(20)}
GONE = "took over the index of {}, which no longer exists"


class Machine:
    """Directories to work in and one data directory, as one user has them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        self.places = DataPaths(self.data)
        self.environment = {"DOWSE_DATA_DIR": str(self.data), "DOWSE_ENCODER": "none"}

    def project(self, name: str) -> Path:
        write(self.home / name, FILES)
        self.index(self.home / name)
        return self.home / name

    def workspace(self, root: Path, **flags: object) -> Workspace:
        return find_workspace(cwd=root, environment=self.environment, flags=flags, root=root)

    def index(self, root: Path, **flags: object) -> tuple[int, int]:
        """How many files had to be indexed, and how many were known (by content, if they were written just before)."""
        with self.workspace(root, **flags).open(create=True) as engine:
            report = engine.index([root])
            return report.indexed, report.unchanged + report.touched

    def roots(self, workspace: Workspace) -> list[str]:
        with workspace.open(create=False) as engine:
            return [it.root for it in engine.collections()]

    def indexes(self) -> list[Path]:
        return sorted(self.places.indexes.glob("*/index.db"))

    def dowse(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | self.environment
        return subprocess.run(
            [sys.executable, "-m", "dowse", *words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def renamed(machine: Machine, old: Path) -> Path:
    return old.rename(machine.home / "new")


def moved_with_its_parent(machine: Machine, old: Path) -> Path:
    (machine.home / "elsewhere").mkdir()
    return old.rename(machine.home / "elsewhere" / old.name)


def copied_and_deleted(machine: Machine, old: Path) -> Path:
    shutil.copytree(old, machine.home / "copy")
    shutil.rmtree(old)
    return machine.home / "copy"


def copied_without_times(machine: Machine, old: Path) -> Path:
    shutil.copytree(old, machine.home / "copy", copy_function=shutil.copyfile)
    shutil.rmtree(old)
    return machine.home / "copy"


def moved_into_its_own_name(machine: Machine, old: Path) -> Path:
    aside = old.rename(machine.home / "aside")
    old.mkdir()
    return aside.rename(old / "inner")


def moved_and_linked_back(machine: Machine, old: Path) -> Path:
    new = old.rename(machine.home / "new")
    old.symlink_to(new)
    return new


MOVES = [renamed, moved_with_its_parent, copied_and_deleted, moved_into_its_own_name, moved_and_linked_back]


@pytest.mark.parametrize("move", MOVES)
def test_a_moved_project_is_not_read_again(machine: Machine, move: Callable[[Machine, Path], Path]) -> None:
    old = machine.project("old")
    new = move(machine, old)
    workspace = machine.workspace(new)
    assert workspace.notice == GONE.format(old)
    assert machine.roots(workspace) == [str(new)]
    assert machine.index(new) == (0, 20)
    assert machine.indexes() == [machine.places.index_path(new)]
    assert machine.workspace(new).notice == ""


def test_history_and_memories_move_along(machine: Machine) -> None:
    old = machine.home / "old"
    repo = Repo(old)
    repo.commit("All notes", FILES)
    with machine.workspace(old).open(create=True) as engine:
        engine.index([old])
        engine.histories.index_history()
        engine.memory.remember("topics", "Every note has a topic.")
    new = renamed(machine, old)
    with machine.workspace(new).open(create=False) as engine:
        assert [it.root for it in engine.collections()] == [str(new), str(new / ".memories")]
        assert [it.root for it in engine.histories.collections()] == [str(new / ".git")]
        assert engine.memory.recall("topics").path == new / ".memories" / "topics.md"
        assert (engine.histories.index_history().indexed, engine.index([new]).deleted) == (0, 0)


def bare_project(machine: Machine, name: str = "old.git") -> Path:
    """A root that is a bare repository itself, of which nothing but the history is indexed."""
    work = Repo(machine.home / "work")
    for number in range(5):
        work.commit(f"Step {number} of {name}", {"step": str(number)})
    work.run("clone", "-q", "--bare", ".", str(machine.home / name))
    with machine.workspace(machine.home / name).open(create=True) as engine:
        engine.index([machine.home / name])
        assert engine.histories.index_history().indexed == 5
    return machine.home / name


@pytest.mark.parametrize("move", MOVES)
def test_a_moved_bare_repository_is_not_read_again(machine: Machine, move: Callable[[Machine, Path], Path]) -> None:
    old = bare_project(machine)
    new = move(machine, old)
    workspace = machine.workspace(new)
    assert workspace.notice == GONE.format(old)
    with workspace.open(create=False) as engine:
        assert [it.root for it in engine.collections()] == [str(new)]
        assert [it.root for it in engine.histories.collections()] == [str(new / "objects")]
        report = engine.histories.index_history()
        assert (report.indexed, report.unchanged) == (0, 5)
    assert machine.indexes() == [machine.places.index_path(new)]


def test_a_bare_repository_that_moved_in_an_index_that_is_named(machine: Machine) -> None:
    old, index = machine.home / "old.git", machine.home / "one.db"
    bare_project(machine)
    with machine.workspace(old, index=str(index)).open(create=True) as engine:
        engine.index([old])
        engine.histories.index_history()
        new = renamed(machine, old)
        assert GONE.format(old) in engine.index([new]).notes
        assert engine.histories.index_history().indexed == 0


def another_repository(machine: Machine, place: Path) -> None:
    repo = Repo(machine.home / "stranger")
    repo.commit("Something else", {"step": "else"})
    repo.run("clone", "-q", "--bare", ".", str(place))


def plain_files(_machine: Machine, place: Path) -> None:
    write(place, FILES)


def a_repository_without_commits(_machine: Machine, place: Path) -> None:
    Repo(place, "--bare")


@pytest.mark.parametrize("make", [another_repository, plain_files, a_repository_without_commits])
def test_nothing_else_is_taken_for_a_bare_repository_that_is_gone(
    machine: Machine, make: Callable[[Machine, Path], None]
) -> None:
    shutil.rmtree(bare_project(machine))
    make(machine, machine.home / "new")
    workspace = machine.workspace(machine.home / "new")
    assert workspace.notice == "" and not workspace.index.exists()


def test_the_index_that_was_taken_is_of_the_root_it_was_taken_for(machine: Machine) -> None:
    """Whoever took it may have seen other files than the engine would look at."""
    old = machine.project("old")
    with machine.workspace(old).open(create=False) as engine:
        new = copied_and_deleted(machine, old)
        write(new, dict.fromkeys(FILES, "all new"))
        assert engine.indexing.relocate(new) == ""
        assert engine.indexing.relocate(new, old) == GONE.format(old)
        assert [it.root for it in engine.collections()] == [str(new)]


def test_a_gone_root_gets_no_memories(machine: Machine) -> None:
    old = machine.project("old")
    workspace = machine.workspace(old)
    shutil.rmtree(old)
    with workspace.open(create=False) as engine, pytest.raises(BadInput, match="there is none"):
        engine.memory.remember("note", "Where would it lie?")
    assert not old.exists()


def test_files_with_other_times_are_known_by_their_content(machine: Machine) -> None:
    new = copied_without_times(machine, machine.project("old"))
    assert machine.workspace(new).notice
    assert machine.index(new) == (0, 20)


def test_from_a_directory_inside_the_moved_project_too(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    workspace = find_workspace(cwd=new / "docs", environment=machine.environment, flags={})
    assert (workspace.root, workspace.notice) == (new, GONE.format(old))


def test_changed_files_do_not_matter_where_the_directory_is_the_same(machine: Machine) -> None:
    new = renamed(machine, machine.project("old"))
    write(new, dict.fromkeys(FILES, "all new"))
    assert machine.workspace(new).notice


def test_a_copy_takes_nothing_from_what_is_still_there(machine: Machine) -> None:
    old = machine.project("old")
    shutil.copytree(old, machine.home / "copy")
    assert machine.workspace(machine.home / "copy").notice == ""
    assert machine.indexes() == [machine.places.index_path(old)]


def test_a_directory_that_shares_some_files_is_another(machine: Machine) -> None:
    old = machine.project("old")
    new = copied_and_deleted(machine, old)
    for path in list(FILES)[:3]:
        (new / path).write_text("something else, and longer than it was")
    assert machine.workspace(new).notice == ""


def test_a_new_directory_under_an_old_inode_is_another(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    shutil.rmtree(new / "docs")
    write(new, {f"src/{number}.py": "pass\n" for number in range(5)})
    assert machine.workspace(new).notice == ""


def test_an_index_of_nothing_fits_nothing(machine: Machine) -> None:
    old = machine.home / "old"
    old.mkdir()
    machine.index(old)
    old.rmdir()
    (machine.home / "new").mkdir()
    assert machine.workspace(machine.home / "new").notice == ""


def test_of_two_the_better_one_is_taken(machine: Machine) -> None:
    near = machine.project("near")
    write(machine.home / "far", FILES | {"docs/note0.md": "# Other\n\nAnd of another size.\n"})
    shutil.copystat(near / "docs/note1.md", machine.home / "far/docs/note1.md")
    machine.index(machine.home / "far")
    new = machine.home / "new"
    shutil.copytree(near, new)
    shutil.rmtree(near)
    shutil.rmtree(machine.home / "far")
    assert machine.workspace(new).notice == GONE.format(near)


def test_an_index_of_two_roots_stays_with_the_one_that_is_left(machine: Machine) -> None:
    home, other = machine.project("home"), machine.home / "other"
    write(other, FILES | {"more.md": "more"})
    with machine.workspace(home).open(create=False) as engine:
        engine.index([other])
    moved = other.rename(machine.home / "moved")
    assert machine.workspace(moved).notice == ""
    assert machine.places.index_path(home).exists()
    assert machine.roots(machine.workspace(home)) == [str(home)]


def test_an_index_in_the_project_follows_it(machine: Machine) -> None:
    old = machine.home / "old"
    write(old, FILES | {"dowse.toml": 'index = ".dowse/index.db"\n'})
    machine.index(old)
    new = renamed(machine, old)
    workspace = machine.workspace(new)
    assert workspace.notice == GONE.format(old)
    assert machine.roots(workspace) == [str(new)]
    assert machine.workspace(new).notice == ""


def test_a_named_index_follows_only_its_own_project(machine: Machine) -> None:
    index = machine.home / "shared.db"
    old, other = machine.home / "old", machine.home / "other"
    write(old, FILES)
    write(other, {"a.md": "a"})
    machine.index(old, index=index)
    new = renamed(machine, old)
    assert machine.workspace(other, index=index).notice == ""
    assert machine.workspace(new, index=index).notice == GONE.format(old)


def test_an_index_that_can_not_be_written_to_now_is_said(machine: Machine) -> None:
    index = machine.home / "shared.db"
    old = machine.home / "old"
    write(old, FILES)
    machine.index(old, index=index)
    new = renamed(machine, old)
    with write_lock(index, 1):
        notice = machine.workspace(new, index=index, lock_timeout_s=0.1).notice
    assert "cannot take over the index" in notice and "writing to" in notice
    assert machine.workspace(new, index=index).notice == GONE.format(old)


def test_killed_between_the_rename_and_the_new_root_it_goes_on(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    machine.places.index_path(old).parent.rename(machine.places.index_path(new).parent)
    with machine.workspace(new).open(create=False) as engine:
        report = engine.index([new])
    assert (caplog.messages, report.unchanged + report.touched) == ([GONE.format(old)], 20)
    assert machine.roots(machine.workspace(new)) == [str(new)]


def test_killed_between_and_moved_again_it_goes_on(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    machine.places.index_path(old).parent.rename(machine.places.index_path(new).parent)
    again = new.rename(machine.home / "again")
    assert machine.workspace(again).notice == GONE.format(old)


def test_back_and_forth(machine: Machine) -> None:
    old = machine.project("old")
    for _ in range(2):
        new = renamed(machine, old)
        assert machine.index(new) == (0, 20)
        # What a process that never came to make an index leaves there.
        machine.places.index_path(old).parent.mkdir()
        for suffix in (".lock", ".lock.next", ".leader"):
            machine.places.index_path(old).with_name(f"index.db{suffix}").touch()
        old = new.rename(old)
        assert machine.index(old) == (0, 20)


def test_whoever_writes_to_it_keeps_it_for_now(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    with write_lock(machine.places.index_path(old), 1):
        assert machine.workspace(new).notice == ""
    assert machine.workspace(new).notice == GONE.format(old)


def test_what_stands_in_the_new_place_is_left_alone(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    place = machine.places.index_path(new).parent
    write(place, {"precious.txt": "kept"})
    assert machine.workspace(new).notice == ""
    assert (place / "precious.txt").read_text() == "kept"
    assert machine.places.index_path(old).exists()


def test_adopters_at_once_leave_one_whole_index(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    command = [sys.executable, "-m", "dowse", "index", "--json"]
    environment = os.environ | machine.environment
    processes = [
        subprocess.Popen(command, cwd=new, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    results = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, results
    assert machine.indexes() == [machine.places.index_path(new)]
    assert machine.roots(machine.workspace(new)) == [str(new)]
    assert machine.index(new) == (0, 20)


def test_hostile_files_among_the_indexes_are_no_indexes(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    whole = machine.places.index_path(old).read_bytes()
    foreign = machine.places.indexes / "foreign" / "index.db"
    write(machine.places.indexes, {"text/index.db": "no database", "empty/index.db": "", "stray": "a file"})
    write(machine.places.indexes, {"cut/index.db": "", "zeroed/index.db": "", "foreign/x": ""})
    (machine.places.indexes / "cut" / "index.db").write_bytes(whole[: len(whole) // 3])
    (machine.places.indexes / "zeroed" / "index.db").write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    apsw.Connection(str(foreign)).execute("CREATE TABLE collections (a); CREATE TABLE records (b)")
    (machine.places.indexes / "pipe").mkdir()
    os.mkfifo(machine.places.indexes / "pipe" / "index.db")
    (machine.places.indexes / "loop").symlink_to("loop")
    before = {path: path.read_bytes() for path in (foreign, machine.places.indexes / "cut" / "index.db")}
    assert machine.workspace(new).notice == GONE.format(old)
    assert {path: path.read_bytes() for path in before} == before


def test_the_command_says_it_once_and_finds_everything(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    first = machine.dowse("search", "topic7", cwd=new / "docs")
    assert first.returncode == 0, first.stderr
    assert first.stderr == GONE.format(old) + "\n"
    assert first.stdout.startswith("1. note7.md:") and "[gone]" not in first.stdout
    assert machine.dowse("search", "topic7", cwd=new).stderr == ""


def test_a_server_says_it_too(machine: Machine) -> None:
    old = machine.project("old")
    new = renamed(machine, old)
    command = [sys.executable, "-m", "dowse", "mcp"]
    done = subprocess.run(
        command, cwd=new, env=os.environ | machine.environment, input="", capture_output=True, text=True, check=False
    )
    assert GONE.format(old) in done.stderr
    assert machine.index(new) == (0, 20)


def test_killed_at_any_moment_nothing_is_lost(machine: Machine) -> None:
    place = machine.project("here")
    for number in range(12):
        place = place.rename(machine.home / f"there{number}")
        process = subprocess.Popen(
            [sys.executable, "-m", "dowse", "status"],
            cwd=place,
            env=os.environ | machine.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(0.15 + 0.02 * number)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert machine.index(place) == (0, 20)
    assert len(machine.indexes()) == 1
