"""What FileSource lists, refuses and could not see, in trees of every awkward sort."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.ingest.sources.files import FileSource


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text")


def paths(root: Path, **options) -> list[str]:
    return [item.path for item in FileSource(root, **options).listing().items]


@pytest.fixture(params=["walked", "asked"])
def root(request, tmp_path, git):
    """The same tree must be listed alike whether git is asked or the tree is walked."""
    place = tmp_path / "root"
    place.mkdir()
    if request.param == "asked":
        git(place, "init", "-q")
    return place


# --- what is wanted --------------------------------------------------------------------------


def test_items_are_sorted_and_carry_their_version(root):
    make(root, "b.md", "a/z.md", "a.md", "new\nline.md", "é.md")
    items = FileSource(root).listing().items
    assert [item.path for item in items] == ["a.md", "a/z.md", "b.md", "new\nline.md", "é.md"]
    status = (root / "a.md").stat()
    assert (items[0].size, items[0].mtime_ns) == (status.st_size, status.st_mtime_ns)


def test_ignore_files_and_globs_all_apply(root):
    make(
        root,
        "a.md",
        "a.txt",
        "out/a.md",
        "x/private.md",
        "x/secret/a.md",
        "x/open.md",
        "x/draft.md",
        "y/draft.md",
    )
    (root / ".gitignore").write_text("out/\n")
    (root / "x/.dowseignore").write_text("private.md\nsecret/\n")
    (root / ".dowseignore").write_text("draft.md\n!y/draft.md\n")
    assert paths(root, include=("*.md",), exclude=("/a.md",)) == ["x/open.md", "y/draft.md"]


def test_nothing_comes_back_below_an_ignored_directory(root):
    make(root, "x/y/a.md", "b.md")
    (root / ".dowseignore").write_text("x/\n!x/y/a.md\n")
    assert paths(root, include=("*.md",)) == ["b.md"]


def test_gitignore_can_be_switched_off(root):
    make(root, "a.md", "out/b.md")
    (root / ".gitignore").write_text("out/\n")
    assert paths(root, include=("*.md",), use_gitignore=False) == ["a.md", "out/b.md"]


def test_hidden_files_are_listed_but_tools_directories_are_not(root):
    make(
        root,
        ".github/workflow.yml",
        ".config.toml",
        ".cache/a.md",
        "node_modules/a/b.md",
        "x/__pycache__/a.md",
    )
    make(root, "package-lock.json", "a.min.js", "logo.svg", "sub/.env", "data.csv")
    assert paths(root) == [".config.toml", ".github/workflow.yml"]
    assert "logo.svg" in paths(root, default_excludes=False)


def test_known_binaries_are_not_offered(root):
    make(root, "a.png", "b.ZIP", "c.md")
    listing = FileSource(root).listing()
    assert [item.path for item in listing.items] == ["c.md"]
    assert listing.refused == []
    assert listing.excluded_files == {("binary", ".png"): 1, ("binary", ".zip"): 1}


_LEFT_OUT = {
    ("data", ".csv"): 2, ("data", ".log"): 1, ("data", ".svg"): 1, ("binary", ".zip"): 1, ("binary", ".o"): 1,
    ("generated", ".json"): 1, ("generated", ".lock"): 1,
}  # fmt: skip


def test_what_is_left_out_is_counted_by_reason_and_suffix(root):
    make(root, "a.md", "o", "x/so", "one.csv", "x/two.csv", "x/run.log", "logo.svg", "papers.zip", "m.o")
    make(root, "package-lock.json", "x/poetry.lock", ".DS_Store", "mine.csv", "theirs.png", "node_modules/y/n.csv")
    make(root, "x/node_modules/z.png", "x/venv/v.py", "ignored.csv", "no/deep.png")
    (root / ".gitignore").write_text("ignored.csv\n")
    (root / ".dowseignore").write_text("theirs.png\nno/\n")
    listing = FileSource(root, exclude=("mine.csv",)).listing()
    assert [item.path for item in listing.items] == [".dowseignore", ".gitignore", "a.md", "o", "x/so"]
    assert listing.excluded_files == _LEFT_OUT
    assert listing.excluded_directories == {"node_modules/": 2, "venv/": 1}


def test_extensions_bring_back_what_is_left_out_by_default(root):
    make(root, "a.csv", "b.log", "c.tsv", "node_modules/d.csv")
    listing = FileSource(root, extensions=("csv", ".LOG")).listing()
    assert [item.path for item in listing.items] == ["a.csv", "b.log"]
    assert listing.excluded_files == {("data", ".tsv"): 1}


@pytest.mark.parametrize(
    ("under", "expected"),
    [
        ("docs", ["docs/a.md", "docs/x/b.md"]),
        ("docs/", ["docs/a.md", "docs/x/b.md"]),
        ("docs/x", ["docs/x/b.md"]),
        ("docs/a.md", ["docs/a.md"]),
        ("gone", []),
        ("ignored", []),
        ("ignored/a.md", []),
    ],
)
def test_under_narrows_without_changing_the_rules(root, under, expected):
    make(root, "docs/a.md", "docs/x/b.md", "docs2/c.md", "d.md", "ignored/a.md")
    (root / ".gitignore").write_text("ignored/\n")
    assert paths(root, paths=(under,) if under else ()) == expected


@pytest.mark.parametrize("under", ["..", "../x", "/etc", "a/../../b", "a//b", "nul\0"])
def test_under_must_lie_inside(root, under):
    with pytest.raises(BadInput, match="not a path inside"):
        FileSource(root, paths=(under,)).listing()


def test_barred_directories_are_not_entered(root):
    make(root, "a.md", "other/b.md", "other/deep/c.md", "others/d.md")
    assert paths(root, barred_directories=frozenset({root / "other"})) == ["a.md", "others/d.md"]


def test_a_file_that_is_too_large_is_refused_with_the_setting(root):
    make(root, "a.md")
    with open(root / "huge.txt", "wb") as file:
        file.truncate(50_000_000_000)
    listing = FileSource(root, max_file_bytes=2_000_000).listing()
    assert [item.path for item in listing.items] == ["a.md"]
    assert listing.refused == [("huge.txt", "50,000.0 MB, larger than max_file_bytes (2.0 MB)")]


# --- the root --------------------------------------------------------------------------------


def test_the_root_must_be_a_directory(tmp_path):
    make(tmp_path, "file")
    with pytest.raises(BadInput, match=r"gone does not exist; give the directory"):
        FileSource(tmp_path / "gone").listing()
    with pytest.raises(BadInput, match=r"file is not a directory; give the directory"):
        FileSource(tmp_path / "file").listing()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadInput, match=r"loop cannot be read"):
        FileSource(tmp_path / "loop").listing()


def test_an_empty_root_is_an_empty_listing(root):
    assert FileSource(root).listing().items == []


def test_the_root_may_be_a_link(root, tmp_path):
    make(root, "a/b.md")
    (tmp_path / "link").symlink_to(root)
    source = FileSource(tmp_path / "link")
    (item,) = source.listing().items
    assert item.path == "a/b.md"
    assert source.read(item)[1] == b"text"


# --- what is not a regular file --------------------------------------------------------------


def test_links_are_never_followed(root, tmp_path):
    make(tmp_path, "outside/secret.md")
    make(root, "dir/a.md")
    targets = {
        "out": "../outside",
        "out.md": "../outside/secret.md",
        "in.md": "dir/a.md",
        "in": "dir",
        "up": ".",
    }
    targets |= {"broken.md": "nowhere", "loop": "loop", "first": "second", "second": "first", "absolute": "/"}
    for name, target in targets.items():
        (root / name).symlink_to(target)
    listing = FileSource(root).listing()
    assert [item.path for item in listing.items] == ["dir/a.md"]
    outside = "a symbolic link that points out of the collection; links are not followed"
    assert dict(listing.refused) == {
        "out": outside,
        "out.md": outside,
        "absolute": outside,
        "broken.md": "a broken symbolic link",
        "loop": "a symbolic link that leads to itself",
        "first": "a symbolic link that leads to itself",
        "second": "a symbolic link that leads to itself",
    }


def test_pipes_sockets_and_devices_are_refused_unopened(tmp_path, monkeypatch):
    make(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
    listing = FileSource(tmp_path).listing()
    assert [item.path for item in listing.items] == ["a.md"]
    assert listing.refused == [
        ("pipe.md", "a named pipe, not a regular file"),
        ("socket.md", "a socket, not a regular file"),
    ]


def test_a_device_is_refused():
    listing = FileSource(Path("/dev"), use_gitignore=False, paths=("null",)).listing()
    assert listing.items == []
    assert listing.refused == [("null", "a device, not a regular file")]


def test_a_tracked_file_that_became_a_pipe_is_refused(tmp_path, git):
    git(tmp_path, "init", "-q")
    make(tmp_path, "a.md")
    git(tmp_path, "add", "a.md")
    (tmp_path / "a.md").unlink()
    os.mkfifo(tmp_path / "a.md")
    assert FileSource(tmp_path).listing().refused == [("a.md", "a named pipe, not a regular file")]


def test_undecodable_names_are_refused_in_print(root):
    make(root, "a.md")
    (root / os.fsdecode(b"caf\xe9.md")).write_text("text")
    (root / os.fsdecode(b"d\xff")).mkdir()
    (root / os.fsdecode(b"d\xff/b.md")).write_text("text")
    listing = FileSource(root).listing()
    assert [item.path for item in listing.items] == ["a.md"]
    reason = "its name is not valid UTF-8; rename it"
    assert listing.refused == [("caf\\xe9.md", reason), ("d\\xff/b.md", reason)]
    assert all(path.encode() for path, _ in listing.refused)


# --- directories that cannot be looked into --------------------------------------------------

AS_NOBODY = """
import os, sys
from pathlib import Path
from dowse.ingest.sources.files import FileSource
source = FileSource(Path(sys.argv[1]))
source.listing()  # imports what it needs while it may read it
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
listing = source.listing()
print([item.path for item in listing.items], listing.refused, listing.unreadable_prefixes)
"""


@pytest.fixture(params=["walked", "asked"])
def shared(request, git, public_path):
    if request.param == "asked":
        git(public_path, "init", "-q")
    make(public_path, "a.md", "closed/b.md", "closed/deep/c.md", "listed/d.md", "z.md")
    if request.param == "asked":
        git(public_path, "add", "z.md", "listed/d.md")
    yield public_path
    for directory in ("closed", "listed"):
        (public_path / directory).chmod(0o700)


def seen_by_nobody(root: Path) -> str:
    """What is listed for a user for whom permissions count, which they do not for the superuser."""
    if os.geteuid() == 0:
        for place in [root, *root.rglob("*")]:
            os.chown(place, 65534, 65534)
    command = [sys.executable, "-c", AS_NOBODY, str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_directory_that_may_not_be_read_is_refused_and_unseen(shared):
    (shared / "closed").chmod(0)
    assert (
        seen_by_nobody(shared)
        == str(["a.md", "listed/d.md", "z.md"])
        + " [('closed', 'the directory cannot be read: Permission denied')] ['closed/']"
    )


def test_a_directory_that_may_be_listed_but_not_searched_is_unseen_too(shared):
    (shared / "listed").chmod(0o400)
    listed = str(["a.md", "closed/b.md", "closed/deep/c.md", "z.md"])
    refused = "[('listed', 'the directory cannot be read: Permission denied')]"
    assert seen_by_nobody(shared) == f"{listed} {refused} ['listed/']"


def test_a_path_the_system_cannot_name_is_refused_and_unseen(tmp_path, monkeypatch):
    make(tmp_path, "a.md")
    monkeypatch.chdir(tmp_path)
    for _ in range(17):  # 17 times 251 is more than any path may have
        Path("d" * 250).mkdir()
        os.chdir("d" * 250)
    listing = FileSource(tmp_path).listing()
    monkeypatch.undo()
    assert [item.path for item in listing.items] == ["a.md"]
    ((refused, reason),) = listing.refused
    assert reason == "the directory cannot be read: File name too long"
    assert listing.unreadable_prefixes == [refused + "/"]
    subprocess.run(["rm", "-rf", tmp_path / ("d" * 250)], check=True)


def test_directories_that_come_and_go_do_not_stop_a_walk(tmp_path):
    make(tmp_path, *(f"keep{number}/a.md" for number in range(20)))
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            make(tmp_path, *(f"keep{number}/passing/deep/b.md" for number in range(20)))
            for number in range(20):
                shutil.rmtree(tmp_path / f"keep{number}/passing")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(60):
            listing = FileSource(tmp_path).listing()
            kept = [item.path for item in listing.items if "passing" not in item.path]
            assert len(kept) == 20
            assert listing.refused == []
            assert all("passing" in prefix for prefix in listing.unreadable_prefixes)
    finally:
        stop.set()
        thread.join()


# --- repositories ----------------------------------------------------------------------------


@pytest.fixture(params=["git", "no git"])
def maybe_git(request, git, monkeypatch, tmp_path_factory):
    """Switches git off for FileSource, on request: the listings must not differ."""

    def switch() -> None:
        if request.param == "no git":
            monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("no_programs")))

    return switch


def test_deleted_and_tracked_but_ignored_files(tmp_path, git):
    git(tmp_path, "init", "-q")
    make(tmp_path, "kept.md", "deleted.md", "dir/deleted.md", "ignored.md", "other.md")
    (tmp_path / ".gitignore").write_text("ignored.md\nother.md\n")
    git(tmp_path, "add", "-f", "kept.md", "deleted.md", "dir/deleted.md", "ignored.md")
    (tmp_path / "deleted.md").unlink()
    shutil.rmtree(tmp_path / "dir")
    listing = FileSource(tmp_path, include=("*.md",)).listing()
    assert [item.path for item in listing.items] == ["ignored.md", "kept.md"]
    assert (listing.refused, listing.unreadable_prefixes) == ([], [])


def test_a_root_inside_a_work_tree_keeps_the_rules_from_above(tmp_path, git, maybe_git):
    git(tmp_path, "init", "-q")
    make(tmp_path, "docs/a.md", "docs/draft.md", "docs/x/b.md", "docs/x/c.md", "up.md")
    (tmp_path / ".gitignore").write_text("draft.md\n/docs/x/c.md\n")
    maybe_git()
    assert paths(tmp_path / "docs") == ["a.md", "x/b.md"]


def test_a_root_that_the_work_tree_around_it_ignores_stands_alone(tmp_path, git, maybe_git):
    git(tmp_path, "init", "-q")
    make(tmp_path, "notes/a.md", "notes/x/b.md", "notes/x/c.txt")
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "notes/.gitignore").write_text("*.txt\n")
    maybe_git()
    assert paths(tmp_path / "notes", include=("*.md", "*.txt")) == ["a.md", "x/b.md"]


def test_nested_repositories_and_submodules_follow_their_own_rules(tmp_path, git, maybe_git):
    module, outer = tmp_path / "module", tmp_path / "outer"
    for place in (module, outer, outer / "nested", outer / "nested/inner"):
        place.mkdir()
        git(place, "init", "-q")
    make(module, "m.md", "drop.md")
    (module / ".gitignore").write_text("drop.md\n")
    git(module, "add", "-A")
    git(module, "commit", "-qm", "m")
    git(outer, "submodule", "--quiet", "add", str(module), "sub")
    make(outer, "a.md", "sub/new.md", "sub/drop.md", "nested/n.md", "nested/inner/i.md", "nested/inner/keep.md")
    (outer / ".gitignore").write_text("keep.md\nnew.md\n")
    (outer / ".dowseignore").write_text("i.md\n")
    maybe_git()
    expected = ["a.md", "nested/inner/keep.md", "nested/n.md", "sub/m.md", "sub/new.md"]
    assert paths(outer, include=("*.md",)) == expected
    assert paths(outer, include=("*.md",), paths=("nested/inner",)) == ["nested/inner/keep.md"]


def test_repositories_below_a_plain_directory(tmp_path, git, maybe_git):
    make(tmp_path, "a.md", "one/b.md", "one/drop.md", "two/c.md")
    for name in ("one", "two"):
        git(tmp_path / name, "init", "-q")
    (tmp_path / "one/.gitignore").write_text("drop.md\n")
    maybe_git()
    assert paths(tmp_path, include=("*.md",)) == ["a.md", "one/b.md", "two/c.md"]


def test_a_linked_work_tree_shares_info_exclude(tmp_path, git, maybe_git):
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init", "-q")
    make(main, "a.md")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "m")
    git(main, "worktree", "add", "-q", str(linked))
    (main / ".git/info/exclude").write_text("private.md\n")
    make(linked, "private.md", "new.md")
    maybe_git()
    assert paths(linked) == ["a.md", "new.md"]


@pytest.mark.parametrize("content", ["gitdir: /nowhere/at/all\n", "nonsense", ""])
def test_a_git_file_that_points_nowhere_leaves_the_walk(tmp_path, content):
    make(tmp_path, "a.md", "x/b.md", "x/drop.md", "y/c.md")
    (tmp_path / ".git").write_text(content)
    (tmp_path / "y/.git").write_text(content)
    (tmp_path / ".gitignore").write_text("drop.md\n")
    assert paths(tmp_path, include=("*.md",)) == ["a.md", "x/b.md", "y/c.md"]


def test_a_corrupt_repository_leaves_the_walk(tmp_path, git):
    git(tmp_path, "init", "-q")
    make(tmp_path, "a.md", "drop.md")
    (tmp_path / ".gitignore").write_text("drop.md\n")
    (tmp_path / ".git/index").write_bytes(b"not an index at all, and long enough to be looked at")
    assert paths(tmp_path, include=("*.md",)) == ["a.md"]


@pytest.mark.parametrize("program", ["#!/nowhere/at/all\n", "#!/bin/sh\nexit 1\n"])
def test_a_git_that_cannot_run_leaves_the_walk(tmp_path, git, monkeypatch, program):
    root, programs = tmp_path / "root", tmp_path / "programs"
    make(root, "a.md", "drop.md")
    git(root, "init", "-q")
    (root / ".gitignore").write_text("drop.md\n")
    programs.mkdir()
    (programs / "git").write_text(program)
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert paths(root, include=("*.md",)) == ["a.md"]


def test_the_callers_git_variables_do_not_mislead(tmp_path, git, monkeypatch):
    here, other = tmp_path / "here", tmp_path / "other"
    for place in (here, other):
        place.mkdir()
        git(place, "init", "-q")
    make(here, "a.md")
    make(other, "b.md")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert paths(here) == ["a.md"]


def test_a_tracked_directory_that_became_a_link_is_not_followed(tmp_path, git):
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    make(root, "dir/a.md")
    git(root, "add", "-A")
    shutil.rmtree(root / "dir")
    make(tmp_path, "outside/a.md")
    (root / "dir").symlink_to("../outside")
    listing = FileSource(root).listing()
    assert listing.items == []
    assert [path for path, _ in listing.refused] == ["dir"]
