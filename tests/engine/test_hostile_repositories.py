"""Repositories by strangers, indexed and asked about as a whole: nothing they configure runs, nothing they name is
taken for anything else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.ingest.sources.git.work_tree.branches import branch_status
from dowse.ingest.sources.git.work_tree.checkout import checkout_at
from dowse.ingest.sources.git.work_tree.commit_log import recent_commits
from dowse.ingest.sources.git.work_tree.uncommitted import uncommitted
from dowse.lookup.history.question import Sought
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
    return {it.title for it in engine._store.select(Scope(kinds=("commit",)))}


def test_nothing_a_repository_configures_is_run(
    armed: Repo, trap: tuple[Path, Path], open_engine: OpenEngine, root: Path
) -> None:
    mark = trap[1]
    with open_engine() as engine:
        engine.index([root])
        engine.index_history()
        assert titles(engine) == {"first words", "second words", "signed words"}
        answer = engine.search(Query("words", scope=Scope(kinds=("commit",))))
        assert answer.hits
        for hit in answer.hits:
            assert engine.lines(hit.stored.record).text
        (root / "a.py").write_text("def a():\n    return 3\n")
        assert engine.search(Query("return")).hits
        engine.fingerprint([root])
        checkout = engine.checkout(root)
        for from_git in (False, True):
            history, _ = engine.commits(checkout, Sought(path="a.py"), from_git=from_git)
            assert len(engine.patches(checkout, history, 10)) == 3
        assert len(engine.blame(root / "a.py").lines) == 2
        assert "a.py" in engine.branch_status(checkout).dirty
    recent_commits(str(root), 10)
    uncommitted(root)
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
        engine.index_history()
        found = engine.fingerprint([root])
        assert found is not None and found["is_dirty"] is True
    checkout = checkout_at(root)
    assert checkout is not None and branch_status(checkout).dirty == ("a.txt",)
    assert uncommitted(root).lines == {"a.txt": ((1, 1),)}
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
        engine.index_history()
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
        report = engine.index_history()
        assert (report.listed, report.indexed, report.skipped) == (6, 6, 0)
        assert long in titles(engine)
        links = engine._store.links(engine.record(first)[0])
        assert {"-x", "--output=written", "--", 'a b\tc\n"'} <= {it.target for it in links if it.kind == "touches"}
        assert engine.index_history().unchanged == 6
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
        report = engine.index_history()
        assert titles(engine) == {"good words"} or titles(engine) == {"good words", "words"}
        assert len([it for it in report.notes if "what was indexed was kept" in it]) >= 2
        assert engine.index_history().indexed == 0
