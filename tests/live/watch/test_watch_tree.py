"""Directories followed through the real inotify, read as soon as something has happened."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse.ingest.sources.files import FileSource
from dowse.live.watch.debounce import FileEvent, WatchTarget
from dowse.live.watch.inotify import Inotify, InotifyBackend, RootGone
from dowse.live.watch.watcher import watch_target_of
from gits import Git
from watching import place

OpenTree = Callable[..., InotifyBackend]


@pytest.fixture
def open_tree() -> Iterator[OpenTree]:
    trees: list[InotifyBackend] = []

    def one(at: Path | WatchTarget) -> InotifyBackend:
        trees.append(InotifyBackend(at if isinstance(at, WatchTarget) else place(at), Inotify()))
        return trees[-1]

    yield one
    for tree in trees:
        tree.close()


def file(path: str) -> FileEvent:
    return FileEvent("file", path)


def folder(path: str) -> FileEvent:
    return FileEvent("tree", path)


def test_a_file_is_seen_as_soon_as_it_is_closed(root, open_tree):
    tree = open_tree(root)
    for number in range(500):
        (root / f"{number}.md").write_text("x")
        assert tree.read_events() == [file(f"{number}.md")]
    assert tree.read_events() == []


def test_every_way_to_change_a_file(root, open_tree):
    (root / "a.md").write_text("a")
    (root / "b.md").write_text("b")
    tree = open_tree(root)

    def seen(change: Callable[[], object]) -> list[FileEvent]:
        change()
        return tree.read_events()

    assert seen(lambda: (root / "a.md").write_text("more")) == [file("a.md")]
    assert seen(lambda: os.utime(root / "a.md")) == [file("a.md")]
    assert seen(lambda: (root / "a.md").chmod(0o600)) == [file("a.md")]
    assert seen(lambda: os.truncate(root / "a.md", 1)) == [file("a.md")]
    assert seen(lambda: os.link(root / "a.md", root / "linked.md")) == [file("linked.md")]
    assert seen(lambda: (root / "a.md").rename(root / "c.md")) == [file("a.md"), file("c.md")]
    assert seen(lambda: (root / "c.md").replace(root / "b.md")) == [file("c.md"), file("b.md")]
    assert seen(lambda: (root / "b.md").unlink()) == [file("b.md")]
    assert seen(lambda: (root / "link").symlink_to("nowhere")) == [file("link")]
    assert seen((root / "linked.md").read_text) == []


def test_what_is_written_and_kept_open_is_seen(root, open_tree):
    tree = open_tree(root)
    with open(root / "log.md", "w") as log:
        assert tree.read_events() == [file("log.md")]
        log.write("one line\n")
        log.flush()
        assert tree.read_events() == [file("log.md")]


def test_what_is_written_through_a_mapping_is_seen_when_it_ends(root, open_tree):
    (root / "map.md").write_bytes(b"a" * 4096)
    tree = open_tree(root)
    with open(root / "map.md", "r+b") as opened:
        mapping = mmap.mmap(opened.fileno(), 4096)
    tree.read_events()
    mapping[0:1] = b"b"
    mapping.close()
    assert tree.read_events() == [file("map.md")]


def test_a_file_that_is_given_its_name_last_is_seen(root, open_tree):
    tree = open_tree(root)
    handle = os.open(root, os.O_TMPFILE | os.O_RDWR)
    os.write(handle, b"text")
    folder_handle = os.open(root, os.O_RDONLY)
    os.link(f"/proc/self/fd/{handle}", "named.md", dst_dir_fd=folder_handle, follow_symlinks=True)
    assert tree.read_events() == [file("named.md")]
    os.close(handle)
    os.close(folder_handle)


@pytest.mark.parametrize("temporary", ["a.md.wanted", "ignored"])
def test_atomic_saves(root, open_tree, temporary):
    (root / "a.md").write_text("a")
    tree = open_tree(root)
    (root / temporary).write_text("new")
    (root / temporary).replace(root / "a.md")
    assert file("a.md") in tree.read_events()


def test_new_directories_are_watched_with_all_that_is_in_them(root, open_tree):
    tree = open_tree(root)
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/b/c/deep.md").write_text("x")
    assert folder("a") in tree.read_events()
    (root / "a/b/c/deep.md").write_text("y")
    assert tree.read_events() == [file("a/b/c/deep.md")]


FILLER = """
import os, sys
for number in range(300):
    directory = f"{sys.argv[1]}/d{number}/e/f"
    os.makedirs(directory)
    open(f"{directory}/x.md", "w").close()
"""


def test_nothing_slips_through_while_another_process_makes_directories(root, open_tree):
    tree = open_tree(root)
    filler = subprocess.Popen([sys.executable, "-c", FILLER, str(root)])
    seen: set[FileEvent] = set()
    while filler.poll() is None:
        seen.update(tree.read_events())
    seen.update(tree.read_events())
    assert filler.returncode == 0
    assert {folder(f"d{number}") for number in range(300)} <= seen
    for number in range(300):
        (root / f"d{number}/e/f/x.md").write_text("more")
    assert set(tree.read_events()) == {file(f"d{number}/e/f/x.md") for number in range(300)}


def test_a_renamed_directory_is_followed_under_its_new_name(root, open_tree):
    (root / "old/in").mkdir(parents=True)
    tree = open_tree(root)
    (root / "old").rename(root / "new")
    (root / "new/in/x.md").write_text("x")
    assert tree.read_events() == [folder("old"), folder("new")]
    (root / "new/in/x.md").write_text("y")
    assert tree.read_events() == [file("new/in/x.md")]
    assert tree.directories == 3


def test_directories_renamed_in_a_row_and_swapped(root, open_tree):
    for name in ("a", "b"):
        (root / name).mkdir()
    tree = open_tree(root)
    (root / "a").rename(root / "c")
    (root / "b").rename(root / "a")
    (root / "c").rename(root / "b")
    tree.read_events()
    (root / "a/from_b.md").write_text("x")
    (root / "b/from_a.md").write_text("x")
    assert set(tree.read_events()) == {file("a/from_b.md"), file("b/from_a.md")}


def test_a_directory_that_is_found_at_its_new_place_before_it_is_missed_at_the_old_one(root, open_tree):
    (root / "old/in").mkdir(parents=True)
    tree = open_tree(root)
    (root / "new").mkdir()
    (root / "old").rename(root / "new/old")
    assert tree.read_events() == [folder("new"), folder("old")]
    (root / "new/old/in/x.md").write_text("x")
    (root / "new/old/y.md").write_text("x")
    assert tree.read_events() == [file("new/old/in/x.md"), file("new/old/y.md")]
    assert tree.directories == 4


def test_a_directory_moved_out_is_not_followed(root, tmp_path, open_tree):
    (root / "a/b").mkdir(parents=True)
    tree = open_tree(root)
    (root / "a").rename(tmp_path / "elsewhere")
    assert tree.read_events() == [folder("a")]
    (tmp_path / "elsewhere/b/x.md").write_text("x")
    assert tree.read_events() == []
    assert tree.directories == 1


def test_a_directory_moved_in_is_followed(root, tmp_path, open_tree):
    (tmp_path / "outside/b").mkdir(parents=True)
    tree = open_tree(root)
    (tmp_path / "outside").rename(root / "in")
    assert tree.read_events() == [folder("in")]
    (root / "in/b/x.md").write_text("x")
    assert tree.read_events() == [file("in/b/x.md")]


def test_a_deleted_directory_costs_nothing_and_may_come_back(root, open_tree):
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/x.md").write_text("x")
    tree = open_tree(root)
    shutil.rmtree(root / "a")
    assert {folder("a"), folder("a/b"), file("a/b/x.md")} == set(tree.read_events())
    assert tree.directories == 1
    (root / "a/b").mkdir(parents=True)
    tree.read_events()
    (root / "a/b/x.md").write_text("x")
    assert tree.read_events() == [file("a/b/x.md")]


def test_directories_that_are_not_wanted_cost_no_watch(root, open_tree):
    (root / "ignored/deep").mkdir(parents=True)
    tree = open_tree(root)
    assert tree.directories == 1
    (root / "ignored/deep/x.md").write_text("x")
    (root / "ignored/deep/new").mkdir()
    assert tree.read_events() == []
    shutil.rmtree(root / "ignored")
    (root / "ignored").mkdir()
    assert tree.read_events() == []
    assert tree.directories == 1


def test_links_are_never_followed(root, tmp_path, open_tree):
    (tmp_path / "outside").mkdir()
    (root / "before").symlink_to(tmp_path / "outside")
    tree = open_tree(root)
    (root / "after").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    tree.read_events()
    (tmp_path / "outside/x.md").write_text("x")
    assert tree.read_events() == []
    assert tree.directories == 1


def test_a_root_that_is_a_link_is_followed(root, tmp_path, open_tree):
    (tmp_path / "link").symlink_to(root)
    tree = open_tree(tmp_path / "link")
    (root / "x.md").write_text("x")
    assert tree.read_events() == [file("x.md")]


@pytest.mark.parametrize("name", [".gitignore", "sub/.gitignore", ".dowseignore", "sub/.dowseignore", "dowse.toml"])
def test_what_says_what_is_ignored(root, open_tree, name):
    (root / "sub").mkdir()
    tree = open_tree(root)
    (root / name).write_text("*.log")
    assert tree.read_events() == [FileEvent("rules")]
    (root / name).unlink()
    assert tree.read_events() == [FileEvent("rules")]


def test_a_settings_file_below_the_root_is_a_file(root, open_tree):
    (root / "sub").mkdir()
    tree = open_tree(root)
    (root / "sub/dowse.toml").write_text("")
    assert tree.read_events() == [file("sub/dowse.toml")]


def test_ignore_files_that_come_with_a_directory(root, tmp_path, open_tree):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/.gitignore").write_text("x")
    tree = open_tree(root)
    (tmp_path / "other").rename(root / "other")
    assert tree.read_events() == [FileEvent("rules"), folder("other")]


def test_names_of_any_bytes(root, open_tree):
    tree = open_tree(root)
    names = ["new\nline.md", "tab\t.md", "ü.md", "𝄞.md", "a" * 255]
    for name in names:
        (root / name).write_text("x")
    (root / os.fsdecode(b"\xff.md")).write_text("x")
    (root / os.fsdecode(b"\xfe")).mkdir()
    assert tree.read_events() == [file(name) for name in names]


def test_a_root_that_is_not_there(tmp_path, open_tree):
    with pytest.raises(RootGone):
        open_tree(tmp_path / "missing")
    (tmp_path / "file").write_text("")
    with pytest.raises(RootGone):
        open_tree(tmp_path / "file")


def test_a_root_that_is_deleted_moved_or_replaced(tmp_path, open_tree):
    for number, change in enumerate((shutil.rmtree, lambda it: it.rename(tmp_path / "moved"))):
        root = tmp_path / f"root{number}"
        root.mkdir()
        tree = open_tree(root)
        assert tree.is_there()
        change(root)
        root.mkdir()
        tree.read_events()
        assert not tree.is_there()


def test_a_root_whose_parent_is_moved(tmp_path, open_tree):
    (tmp_path / "above/root").mkdir(parents=True)
    tree = open_tree(tmp_path / "above/root")
    (tmp_path / "above").rename(tmp_path / "moved")
    assert not tree.is_there()


AS_NOBODY = """
import os, sys
from pathlib import Path
from dowse.live.watch.debounce import WatchTarget
from dowse.live.watch.inotify import Inotify
from dowse.live.watch.inotify import InotifyBackend
root = Path(sys.argv[1])
list(Inotify().read())  # imports what it needs while it may read it
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
tree = InotifyBackend(WatchTarget("c", root, lambda path: True, lambda path: True), Inotify())
print(tree.directories)
(root / "closed").chmod(0o700)
print(tree.read_events())
(root / "closed/x.md").write_text("x")
print(tree.read_events())
os.utime(root / "closed")
print(tree.read_events())
(root / "closed").chmod(0)
print(tree.read_events())
(root / "closed").chmod(0o700)
print(tree.read_events())
"""


def test_a_directory_that_may_not_be_read_is_watched_when_it_may(open_tree):
    with tempfile.TemporaryDirectory() as shared:  # pytest's own directories are private
        root = Path(shared)
        (root / "closed/in").mkdir(parents=True)
        root.chmod(0o755)
        if os.geteuid() == 0:
            for it in (root, root / "closed", root / "closed/in"):
                os.chown(it, 65534, 65534)
        (root / "closed").chmod(0)
        command = [sys.executable, "-c", AS_NOBODY, str(root)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    closed, changed = [folder("closed")], [file("closed/x.md")]
    assert done.stdout.splitlines() == [str(it) for it in (1, closed, changed, [], closed, closed)]


def test_git_tells_of_checkouts_and_commits_but_not_of_objects(root, open_tree, git: Git):
    git(root, "init", "-q")
    (root / "a.md").write_text("a")
    tree = open_tree(root)
    git(root, "hash-object", "-w", "a.md")
    assert tree.read_events() == []
    git(root, "add", "a.md")
    assert tree.read_events() == [FileEvent("git")]
    git(root, "commit", "-qm", "one")
    assert FileEvent("git") in tree.read_events()
    git(root, "branch", "other")
    assert tree.read_events() == [FileEvent("git")]
    git(root, "checkout", "-q", "other")
    assert tree.read_events() == [FileEvent("git")]
    (root / ".git/info/exclude").write_text("*.log")
    assert tree.read_events() == [FileEvent("rules")]


def test_a_bare_repository_is_noticed_and_not_followed(root, tmp_path, open_tree, git: Git):
    git(tmp_path, "init", "-q", "--bare", "aside")
    tree = open_tree(root)
    (tmp_path / "aside").rename(root / "mirror.git")
    assert tree.read_events() == [FileEvent("rules"), folder("mirror.git")]
    assert tree.directories == 2
    (root / "mirror.git/refs/heads/main").write_text("x")
    (root / "mirror.git/objects/ab").mkdir()
    assert not [it for it in tree.read_events() if it.path.startswith("mirror.git/refs")]
    assert open_tree(root).directories == 2


def test_a_bare_repository_made_where_it_is_watched_changes_the_rules(root, open_tree, git: Git):
    (root / "made").mkdir()
    tree = open_tree(root)
    git(root / "made", "init", "-q", "--bare", ".")
    assert FileEvent("rules") in tree.read_events()


def test_work_trees_in_a_bare_repository_are_followed(root, open_tree, git: Git):
    git(root, "init", "-q", "--bare", "project")
    nothing = git(root / "project", "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    one = git(root / "project", "commit-tree", "-m", "x", nothing).strip()
    tree = open_tree(watch_target_of("c", FileSource(root)))
    for name in ("dev", "feature/login"):
        git(root / "project", "worktree", "add", "-q", "--detach", name, one)
        assert FileEvent("rules") in tree.read_events()
    tree = open_tree(watch_target_of("c", FileSource(root)))
    for name in ("dev", "feature/login"):
        (root / "project" / name / "a.md").write_text("text")
        assert tree.read_events() == [file(f"project/{name}/a.md")]
    (root / "project/feature/beside.md").write_text("text")
    (root / "project/hooks/h").write_text("text")
    assert tree.read_events() == []
    (root / "project/feature/next").mkdir()
    assert tree.read_events() == [FileEvent("rules")]


def test_a_file_called_head_is_followed_like_any_other(root, open_tree):
    (root / "HEAD").write_text("text")
    (root / "sub").mkdir()
    tree = open_tree(root)
    with open(root / "HEAD", "a") as opened:
        opened.write("more")
        opened.flush()
        assert tree.read_events() == [file("HEAD")]
    assert tree.read_events() == [file("HEAD")]
    (root / "HEAD").chmod(0o600)
    assert tree.read_events() == [file("HEAD")]
    (root / "HEAD").rename(root / "sub/HEAD")
    assert tree.read_events() == [FileEvent("rules"), file("HEAD"), file("sub/HEAD")]
    (root / "HEAD").mkdir()
    assert tree.read_events() == [FileEvent("rules"), folder("HEAD")]
    (root / "HEAD/a.md").write_text("text")
    assert tree.read_events() == [file("HEAD/a.md")]
    (root / "sub/HEAD").unlink()
    assert tree.read_events() == [FileEvent("rules"), file("sub/HEAD")]


def test_rules_of_a_repository_that_had_none(root, open_tree, git: Git):
    git(root, "init", "-q", "--template=")
    tree = open_tree(root)
    (root / ".git/info").mkdir()
    assert tree.read_events() == [FileEvent("rules")]


def test_git_of_a_linked_work_tree_and_of_one_above_the_root(root, tmp_path, open_tree, git: Git):
    git(root, "init", "-q")
    (root / "sub").mkdir()
    (root / "sub/a.md").write_text("a")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked, below = open_tree(tmp_path / "linked"), open_tree(root / "sub")
    git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "two")
    assert FileEvent("git") in linked.read_events()
    git(root, "checkout", "-q", "--detach")
    assert below.read_events() == [FileEvent("git")]
    (root / ".git/info/exclude").write_text("*.log")
    assert linked.read_events() == [FileEvent("rules")]


def test_a_repository_that_comes_or_goes_changes_what_is_ignored(root, open_tree, git: Git):
    tree = open_tree(root)
    git(root, "init", "-q")
    assert FileEvent("rules") in tree.read_events()
    shutil.rmtree(root / ".git")
    assert FileEvent("rules") in tree.read_events()


def test_a_crafted_git_file_is_harmless(root, open_tree):
    for number, text in enumerate(("gitdir: /", "gitdir: ../../..", "gitdir: \0", "gitdir: " + "a" * 9000, "\xff")):
        (root / f"{number}").mkdir()
        (root / f"{number}/.git").write_text(text)
    tree = open_tree(root)
    (root / "0/x.md").write_text("x")
    assert tree.read_events() == [file("0/x.md")]


def test_a_repository_whose_files_are_pipes_holds_up_nobody(root, open_tree):
    (root / ".git/info").mkdir(parents=True)
    for name in ("HEAD", "commondir", "index"):
        os.mkfifo(root / ".git" / name)
    tree = open_tree(root)
    (root / ".git/info/exclude").write_text("x")
    assert tree.read_events() == [FileEvent("rules")]
