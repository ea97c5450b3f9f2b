"""Repositories by strangers, indexed and asked about as a whole: nothing they configure runs, nothing they name is
taken for anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.errors import BadInput, Unreadable
from dowse.git.blame import recent_commits
from dowse.git.worktree import Checkout, find_checkout, list_uncommitted_lines, read_branch_status
from dowse.ingest.sources.commits import CommitSource
from dowse.lookup.history import HistoryQuery
from dowse.model import Query, Scope
from gits import Repo
from support import OpenEngine

SETTINGS = (
    "core.fsmonitor", "core.pager", "pager.diff-tree", "pager.rev-list", "pager.log", "core.editor", "core.askPass",
    "core.sshCommand", "core.gitProxy", "diff.external", "diff.trap.command", "diff.trap.textconv",
    "diff.python.command", "diff.python.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process",
    "gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.openpgp.program",
    "credential.helper", "merge.trap.driver", "interactive.diffFilter",
    "remote.origin.uploadpack", "remote.origin.vcs", "uploadpack.packObjectsHook", "trailer.x.command",
    "sequence.editor", "core.alternateRefsCommand", "notes.rewriteRef", "submodule.sub.update",
)  # fmt: skip
ALIASES = ("diff-tree", "rev-list", "for-each-ref", "cat-file", "log", "ls-files", "status", "blame")
HOOKS = (
    "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-checkout", "reference-transaction",
    "post-rewrite", "pre-commit",
)  # fmt: skip


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, Path]:
    """A program that leaves a mark when it is run, and the mark."""
    mark, program = tmp_path / "mark", tmp_path / "trap"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{mark}'\ncat\n")
    program.chmod(0o755)
    return program, mark


@pytest.fixture
def armed(root: Path, trap: tuple[Path, Path]) -> Repo:
    program, mark = trap
    repo = Repo(root)
    repo.commit("first words", {"a.py": "def a():\n    return 1\n", ".gitattributes": "* filter=trap diff=trap\n"})
    repo.commit("second words", {"a.py": "def a():\n    return 2\n"}, "--signoff")
    signed = f"tree {repo.run('rev-parse', 'HEAD^{tree}')}\nauthor A <a@b> 1700000000 +0000\n"
    signed += "committer A <a@b> 1700000000 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n"
    signed += " -----END PGP SIGNATURE-----\n\nsigned words\n"
    name = repo.run("hash-object", "-t", "commit", "-w", "--stdin", given=signed.encode())
    repo.run("update-ref", "refs/heads/signed", name)
    for setting in SETTINGS:
        repo.run("config", setting, str(program))
    for alias in ALIASES:
        repo.run("config", f"alias.{alias}", f"!{program}")
    for setting, text in {
        "log.showSignature": "true",
        "diff.submodule": "log",
        "include.path": str(root / "more.config"),
        "core.hooksPath": str(root / "hooks"),
        "core.attributesFile": str(root / ".gitattributes"),
        "filter.trap.required": "true",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
    }.items():
        repo.run("config", setting, text)
    (root / "more.config").write_text(f"[core]\n\tfsmonitor = {program}\n[diff]\n\texternal = {program}\n")
    (repo.git_directory / "info" / "attributes").write_text("* diff=trap filter=trap\n*.py diff=python\n")
    for hooks in (root / "hooks", repo.git_directory / "hooks"):
        hooks.mkdir(exist_ok=True)
        for hook in HOOKS:
            (hooks / hook).write_bytes(program.read_bytes())
            (hooks / hook).chmod(0o755)
    mark.unlink(missing_ok=True)
    return repo


def titles(engine: Engine) -> set[str]:
    return {it.title for it in engine._core.store.catalog.select(Scope(kinds=("commit",)))}


def test_nothing_a_repository_configures_is_run(
    armed: Repo, trap: tuple[Path, Path], open_engine: OpenEngine, root: Path
) -> None:
    mark = trap[1]
    with open_engine() as engine:
        engine.index([root])
        engine.histories.index_history()
        assert titles(engine) == {"first words", "second words", "signed words"}
        answer = engine.search(Query("words", scope=Scope(kinds=("commit",))))
        assert answer.hits
        for hit in answer.hits:
            assert engine.lines(hit.stored.record).text
        (root / "a.py").write_text("def a():\n    return 3\n")
        assert engine.search(Query("return")).hits
        engine.state.fingerprint([root])
        checkout = engine.history.checkout(root)
        for from_git in (False, True):
            history, _ = engine.history.commits(checkout, HistoryQuery(path="a.py"), from_git=from_git)
            assert len(engine.history.patches(checkout, history, 10)) == 3
        assert len(engine.history.blame(root / "a.py").lines) == 2
        assert "a.py" in engine.history.branch_status(checkout).dirty
    recent_commits(str(root), 10)
    list_uncommitted_lines(root)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("name", [b"trap", b"a=b", b"=", b"a.b=c", b"a\xff", b"a\fb", b"\xc3\xa4", b"a.clean="])
def test_filters_of_any_name_are_not_run(
    trap: tuple[Path, Path], open_engine: OpenEngine, root: Path, name: bytes
) -> None:
    program, mark = trap
    repo = Repo(root)
    repo.commit("words", {"a.txt": "hello\n"})
    (repo.git_directory / "info" / "attributes").write_bytes(b"a.txt filter=" + name + b"\n")
    keys = "".join(f"\t{key} = {program}\n" for key in ("clean", "smudge", "process"))
    with (repo.git_directory / "config").open("ab") as config:
        config.write(b'[filter "' + name + b'"]\n' + keys.encode() + b"\trequired = true\n")
    # As long as before, so that only its content tells that it has changed.
    (root / "a.txt").write_text("HELLO\n")
    os.utime(root / "a.txt", (1_600_000_000, 1_600_000_000))
    with open_engine() as engine:
        engine.index([root])
        engine.histories.index_history()
        found = engine.state.fingerprint([root])
        assert found is not None and found["is_dirty"] is True
    checkout = find_checkout(root)
    assert checkout is not None and read_branch_status(checkout).dirty == ("a.txt",)
    assert list_uncommitted_lines(root).lines == {"a.txt": ((1, 1),)}
    assert not mark.exists(), mark.read_text()
    subprocess.run(["git", "-C", str(root), "status"], capture_output=True, check=False)
    assert mark.exists(), "plain git does run the trap, so the test can fail"


def test_the_trap_works(armed: Repo, trap: tuple[Path, Path], root: Path) -> None:
    """Without precautions the same repository does run its programs, so the test above can fail."""
    subprocess.run(["git", "-C", str(root), "log", "-p", "--all"], capture_output=True, check=False)
    assert trap[1].exists()


def test_a_partial_clone_fetches_nothing(
    armed: Repo, trap: tuple[Path, Path], open_engine: OpenEngine, root: Path
) -> None:
    """What is missing would be fetched, with the program the remote names."""
    mark = trap[1]
    first = armed.run("rev-list", "--max-parents=0", "main")
    blob = armed.run("rev-parse", f"{first}:a.py")
    (armed.git_directory / "objects" / blob[:2] / blob[2:]).unlink()
    for setting, text in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(root),
        "protocol.file.allow": "always",
        "protocol.allow": "always",
        "core.fsmonitor": "false",
    }.items():
        armed.run("config", "--replace-all", setting, text)
    mark.unlink(missing_ok=True)
    with open_engine() as engine:
        engine.index([root])
        engine.histories.index_history()
        (record,) = engine.record(first)
        assert "missing" in record.facets["problem"]
        assert titles(engine) == {"first words", "second words", "signed words"}
    assert not mark.exists(), mark.read_text()


def test_names_that_look_like_options(open_engine: OpenEngine, root: Path, tmp_path: Path) -> None:
    repo = Repo(root)
    written = tmp_path / "written"
    first = repo.commit("first", {"-x": "1\n", f"--output={written.name}": "2\n", "--": "3\n", 'a b\tc\n"': "4\n"})
    long = f"refs/heads/{'a' * 150}/{'b' * 150}"
    for ref in ("refs/heads/-x", "refs/heads/--output=x", "refs/tags/--all", "refs/remotes/-/-p", long):
        second = repo.run("commit-tree", "-p", first, "-m", ref, f"{first}^{{tree}}")
        repo.run("update-ref", "--", ref, second)
    with open_engine() as engine:
        engine.index([root])
        report = engine.histories.index_history()
        assert (report.listed, report.indexed, report.skipped) == (6, 6, 0)
        assert long in titles(engine)
        links = engine._core.store.catalog.links(engine.record(first)[0])
        assert {"-x", "--output=written", "--", 'a b\tc\n"'} <= {it.target for it in links if it.kind == "touches"}
        assert engine.histories.index_history().unchanged == 6
    assert not written.exists() and not (root / "x").exists() and not (repo.git_directory / "x").exists()


def test_a_repository_that_is_no_use(open_engine: OpenEngine, root: Path) -> None:
    for name, damage in {
        "config": lambda place: (place / "config").write_text("[core\nbroken"),
        "version": lambda place: (place / "config").write_text("[core]\n\trepositoryformatversion = 99\n"),
        "packed": lambda place: (place / "packed-refs").write_bytes(b"\xff" * 100),
        "objects": lambda place: [it.unlink() for it in (place / "objects").rglob("*") if it.is_file()],
    }.items():
        repo = Repo(root / name)
        repo.commit("words", {"a.md": f"text of {name}\n"})
        damage(repo.git_directory)
    Repo(root / "good").commit("good words", {"a.md": "text\n"})
    with open_engine() as engine:
        engine.index([root])
        report = engine.histories.index_history()
        assert titles(engine) == {"good words"} or titles(engine) == {"good words", "words"}
        assert len([it for it in report.notes if "indexed commits were kept" in it]) >= 2
        assert engine.histories.index_history().indexed == 0


# --- the history of a repository outside of the root ---

PRIVATE = "private words"


@pytest.fixture
def private(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "private")
    repo.commit(PRIVATE, {"key.txt": "private content\n"})
    repo.run("repack", "-adq")
    repo.commit(f"{PRIVATE} 2", {"key.txt": "more private content\n"})
    return repo


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _bare(place: Path, tip: str = "") -> Path:
    """What makes a directory look like a repository, without a path called `.git`."""
    _write(place / "HEAD", "ref: refs/heads/main\n")
    _write(place / "config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    for name in ("refs/heads", "objects/info", "objects/pack"):
        (place / name).mkdir(parents=True)
    if tip:
        _write(place / "refs/heads/main", f"{tip}\n")
    return place


def _replace_by_link(place: Path, target: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    place.symlink_to(target)


def _git_file(root: Path, private: Repo) -> None:
    _write(root / "sub/.git", f"gitdir: {private.git_directory}\n")


def _git_file_of_the_root(root: Path, private: Repo) -> None:
    _write(root / ".git", "gitdir: ../private/.git\n")


def _git_link(root: Path, private: Repo) -> None:
    (root / "sub").mkdir()
    (root / "sub/.git").symlink_to(private.git_directory)


def _git_link_to_a_file(root: Path, private: Repo) -> None:
    _write(root / "sub/named", f"gitdir: {private.git_directory}\n")
    (root / "sub/.git").symlink_to("named")


def _common_directory(root: Path, private: Repo) -> None:
    _write(_bare(root / "data") / "commondir", f"{private.git_directory}\n")


def _common_directory_before_a_zero_byte(root: Path, private: Repo) -> None:
    _write(_bare(root / "data") / "commondir", f"{private.git_directory}\0\n")


def _common_directory_of_git(root: Path, private: Repo) -> None:
    _write(_bare(root / "sub/.git") / "commondir", "../../../private/.git\n")


def _common_directory_by_a_git_file(root: Path, private: Repo) -> None:
    _write(_bare(root / "sub/data") / "commondir", f"{private.git_directory}\n")
    _write(root / "sub/.git", "gitdir: data\n")


def _common_directory_of_a_false_work_tree(root: Path, private: Repo) -> None:
    _write(_bare(root / "data/worktrees/x") / "commondir", "../link\n")
    _write(root / "data/worktrees/x/gitdir", f"{root}/sub/.git\n")
    (root / "data/worktrees/link").symlink_to(private.git_directory)
    _write(root / "sub/.git", "gitdir: ../data/worktrees/x\n")


def _alternates(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    _write(bare / "objects/info/alternates", f"{private.git_directory}/objects\n")


def _alternates_of_git(root: Path, private: Repo) -> None:
    bare = _bare(root / ".git", private.run("rev-parse", "HEAD"))
    _write(bare / "objects/info/alternates", "# comment\n../../../private/.git/objects\n")


def _quoted_alternates(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    quoted = str(private.git_directory / "objects").replace("/", "\\057")
    _write(bare / "objects/info/alternates", f'"{quoted}"\n')


def _alternates_before_a_zero_byte(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    _write(bare / "objects/info/alternates", f"{private.git_directory}/objects\n\0")


def _alternates_behind_many_comments(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    _write(bare / "objects/info/alternates", "# comment\n" * 200_000 + f"{private.git_directory}/objects\n")


def _chain_of_alternates(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    _write(bare / "objects/info/alternates", "../../more/objects\n")
    _write(_bare(root / "more") / "objects/info/alternates", f"{private.git_directory}/objects\n")


def _linked_objects(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    _replace_by_link(bare / "objects", private.git_directory / "objects")


def _linked_objects_by_a_detour(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    (bare / "objects").rename(bare / "other")
    (bare / "objects").symlink_to("other")
    for part in (private.git_directory / "objects").iterdir():
        _replace_by_link(bare / "other" / part.name, part)


def _linked_parts_of_objects(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    for part in (private.git_directory / "objects").iterdir():
        _replace_by_link(bare / "objects" / part.name, part)


def _linked_packs_and_loose_objects(root: Path, private: Repo) -> None:
    bare = _bare(root / "data", private.run("rev-parse", "HEAD"))
    for file in (private.git_directory / "objects").rglob("*"):
        copy = bare / "objects" / file.relative_to(private.git_directory / "objects")
        copy.parent.mkdir(exist_ok=True)
        if file.is_file():
            copy.symlink_to(file)


def _linked_refs(root: Path, private: Repo) -> None:
    shutil.copytree(private.git_directory / "objects", _bare(root / "data") / "objects", dirs_exist_ok=True)
    _replace_by_link(root / "data/refs", private.git_directory / "refs")


def _linked_ref(root: Path, private: Repo) -> None:
    shutil.copytree(private.git_directory / "objects", _bare(root / "data") / "objects", dirs_exist_ok=True)
    (root / "data/refs/heads/main").symlink_to(private.git_directory / "refs/heads/main")


def _linked_packed_refs(root: Path, private: Repo) -> None:
    private.run("pack-refs", "--all")
    shutil.copytree(private.git_directory / "objects", _bare(root / "data") / "objects", dirs_exist_ok=True)
    (root / "data/packed-refs").symlink_to(private.git_directory / "packed-refs")


def _linked_head(root: Path, private: Repo) -> None:
    private.run("checkout", "-q", "--detach")
    shutil.copytree(private.git_directory / "objects", _bare(root / "data") / "objects", dirs_exist_ok=True)
    _replace_by_link(root / "data/HEAD", private.git_directory / "HEAD")


def _linked_submodule(root: Path, private: Repo) -> None:
    Repo(root).commit("own words", {"a.md": "text\n"})
    (root / ".git/modules").mkdir()
    (root / ".git/modules/sub").symlink_to(private.git_directory)
    _write(root / "sub/.git", "gitdir: ../.git/modules/sub\n")


def _linked_folder_of_submodules(root: Path, private: Repo) -> None:
    Repo(root).commit("own words", {"a.md": "text\n"})
    (root / ".git/modules").symlink_to(private.place)
    _write(root / "sub/.git", "gitdir: ../.git/modules/.git\n")


def _plain_clone(root: Path, private: Repo) -> None:
    """Git writes no path called `.git` down, but any other."""
    stranger = Repo(root.parent / "stranger")
    _write(_bare(stranger.place / "docs/data") / "commondir", "../../../private/.git\n")
    for folder in ("refs/heads", "objects/info"):
        _write(stranger.place / "docs/data" / folder / "kept", "")
    stranger.commit("stranger's words", {"a.md": "text\n"})
    stranger.run("clone", "-q", str(stranger.place), str(root))


def _plain_clone_with_alternates(root: Path, private: Repo) -> None:
    stranger = Repo(root.parent / "stranger")
    bare = _bare(stranger.place / "docs/data", private.run("rev-parse", "HEAD"))
    _write(bare / "objects/info/alternates", "../../../../private/.git/objects\n")
    stranger.commit("stranger's words", {"a.md": "text\n"})
    stranger.run("clone", "-q", str(stranger.place), str(root))


WAYS_OUT = [
    _git_file, _git_file_of_the_root, _git_link, _git_link_to_a_file,
    _common_directory, _common_directory_before_a_zero_byte, _common_directory_of_git, _common_directory_by_a_git_file,
    _common_directory_of_a_false_work_tree,
    _alternates, _alternates_of_git, _quoted_alternates, _alternates_before_a_zero_byte,
    _alternates_behind_many_comments, _chain_of_alternates,
    _linked_objects, _linked_objects_by_a_detour, _linked_parts_of_objects, _linked_packs_and_loose_objects,
    _linked_refs, _linked_ref, _linked_packed_refs, _linked_head,
    _linked_submodule, _linked_folder_of_submodules,
    _plain_clone, _plain_clone_with_alternates,
]  # fmt: skip


@pytest.mark.parametrize("lead_out", WAYS_OUT, ids=lambda it: it.__name__.strip("_"))
def test_no_history_from_outside_of_the_root(
    open_engine: OpenEngine, root: Path, private: Repo, lead_out: Callable[[Path, Repo], None]
) -> None:
    lead_out(root, private)
    (root / "sub").mkdir(exist_ok=True)
    for name in ("b.md", "sub/c.md"):
        _write(root / name, "plain text\n")
    with open_engine() as engine:
        engine.index([root])
        report = engine.histories.index_history()
        assert not {it for it in titles(engine) if PRIVATE in it}
        hits = engine.search(Query(PRIVATE, scope=Scope(kinds=("commit",)))).hits
        assert not [it for it in hits if PRIVATE in it.stored.chunk.text]
        assert {"b.md", "sub/c.md"} <= {it.path for it in engine._core.store.catalog.select(Scope())}
        refusals = [it for it in report.notes if "--git-directories" in it]
        reasons = [it.reason for it in engine.status().skipped]
        assert refusals and all(any(reason in it for reason in reasons) for it in refusals)
        assert engine.histories.index_history().indexed == 0
        assert PRIVATE not in str(recent_commits(str(root / "sub"), 10))
        for place in (root, root / "sub", root / "data"):
            checkout = find_checkout(place)
            if checkout is not None:
                assert PRIVATE not in str(_logged_titles(engine, checkout))
                assert checkout.common != private.git_directory


def _logged_titles(engine: Engine, checkout: Checkout) -> list[str]:
    try:
        history, _ = engine.history.commits(checkout, HistoryQuery(), from_git=True)
    except BadInput:
        return []
    return [it.title for it in history.commits]


def test_a_history_that_was_indexed_is_dropped_when_it_comes_to_lead_out(
    open_engine: OpenEngine, root: Path, private: Repo
) -> None:
    own = Repo(root / "mirror.git", "--bare")
    own.run("fetch", "-q", str(private.place), "main:main")
    with open_engine() as engine:
        engine.index([root])
        engine.histories.index_history()
        assert PRIVATE in titles(engine) and not engine.status().skipped
        _write(own.place / "objects/info/alternates", f"{private.git_directory}/objects\n")
        report = engine.histories.index_history()
        assert not titles(engine) and report.deleted == 2 and not engine.histories.collections()
        assert [it.path for it in engine.status().skipped] == ["mirror.git"]
        (own.place / "objects/info/alternates").unlink()
        engine.histories.index_history()
        assert PRIVATE in titles(engine) and not engine.status().skipped


def _linked_work_tree(place: Path, main: Repo) -> Path:
    main.run("worktree", "add", "-q", str(place / "linked"))
    return place / "linked"


def _work_tree_with_relative_names(place: Path, main: Repo) -> Path:
    linked = _linked_work_tree(place, main)
    own = main.git_directory / "worktrees/linked"
    (linked / ".git").write_text(f"gitdir: {os.path.relpath(own, linked)}\n")
    (own / "gitdir").write_text(f"{os.path.relpath(linked / '.git', own)}\n")
    return linked


def _submodule_alone(place: Path, main: Repo) -> Path:
    outer = Repo(place / "outer")
    outer.run("submodule", "--quiet", "add", str(main.place), "parts/sub")
    return outer.place / "parts/sub"


def _submodule_of_a_linked_work_tree(place: Path, main: Repo) -> Path:
    outer = Repo(place / "outer")
    outer.run("submodule", "--quiet", "add", str(main.place), "parts/sub")
    outer.commit("outer words")
    outer.run("worktree", "add", "-q", str(place / "linked"))
    Repo(place / "linked").run("submodule", "--quiet", "update", "--init")
    return place / "linked"


def _part_of_a_work_tree(place: Path, main: Repo) -> Path:
    (main.place / "part").mkdir()
    return main.place / "part"


def _repository_beside_its_work_trees(place: Path, main: Repo) -> Path:
    main.run("clone", "-q", "--bare", str(main.place), str(place / "project/.bare"))
    _write(place / "project/.git", "gitdir: ./.bare\n")
    return place / "project"


def _links_inside(place: Path, main: Repo) -> Path:
    head = main.git_directory / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    (main.git_directory / "hooks").rename(place / "hooks")
    (main.git_directory / "hooks").symlink_to(place / "hooks")
    return main.place


@pytest.mark.parametrize(
    "lay_out",
    [
        _linked_work_tree, _work_tree_with_relative_names, _submodule_alone, _submodule_of_a_linked_work_tree,
        _part_of_a_work_tree, _repository_beside_its_work_trees, _links_inside,
    ],
    ids=lambda it: it.__name__.strip("_"),
)  # fmt: skip
def test_what_git_itself_lays_out_elsewhere_is_read(
    open_engine: OpenEngine, tmp_path: Path, private: Repo, lay_out: Callable[[Path, Repo], Path]
) -> None:
    (tmp_path / "there").mkdir()
    root = lay_out(tmp_path / "there", private)
    with open_engine() as engine:
        engine.index([root])
        report = engine.histories.index_history()
        assert PRIVATE in titles(engine)
        assert not report.notes and not engine.status().skipped


@pytest.mark.parametrize("lay_out", [_git_file, _git_link, _alternates, _linked_objects, _common_directory])
def test_what_the_user_named_is_read(
    open_engine: OpenEngine, root: Path, private: Repo, lay_out: Callable[[Path, Repo], None]
) -> None:
    lay_out(root, private)
    with open_engine(git_directories=(str(private.place),)) as engine:
        engine.index([root])
        assert not engine.histories.index_history().notes
        assert PRIVATE in titles(engine)


def test_a_git_directory_that_became_a_link_after_it_was_indexed(root: Path, private: Repo) -> None:
    own = Repo(root)
    own.commit("own words", {"a.txt": "a\n"})
    place = own.git_directory
    source = CommitSource(place, max_commits=10, diff_lines=10)
    (own_commit,) = source.listing().items
    place.rename(root.parent / "former")
    place.symlink_to(private.git_directory)
    listing = source.listing()
    assert not listing.items and "cannot be read" in str(listing.refused)
    (stolen, _) = private.run("rev-list", "HEAD").split()
    with pytest.raises(Unreadable):
        source.read(replace(own_commit, path=stolen))
    source.close()


def test_a_work_tree_that_its_repository_does_not_list(open_engine: OpenEngine, root: Path, private: Repo) -> None:
    linked = _linked_work_tree(root.parent, private)
    _write(root / "copy/.git", (linked / ".git").read_text())
    with open_engine() as engine:
        engine.index([root])
        assert "--git-directories" in str(engine.histories.index_history().notes)
        assert not titles(engine)


def test_a_repository_of_another_user_around_the_root(
    open_engine: OpenEngine, private: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (private.place / "mine").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with open_engine() as engine:
        engine.index([private.place / "mine"])
        assert "belongs to another user" in str(engine.histories.index_history().notes)
        assert not titles(engine)
    with open_engine(git_directories=(str(private.place),)) as engine:
        engine.histories.index_history()
        assert PRIVATE in titles(engine)
