"""Why git can not answer is said in the line that tells it."""

from __future__ import annotations

from pathlib import Path

from dowse.git.runner import try_git
from gits import Repo


def test_a_warning_is_no_reason(tmp_path: Path) -> None:
    """Of a partial clone, git may warn first that nothing is fetched."""
    repo = Repo(tmp_path / "repo")
    repo.commit("there", {"a": "1\n"})
    blob = repo.run("rev-parse", "HEAD:a")
    repo.lose(blob)
    repo.run("config", "extensions.partialClone", "origin")
    repo.run("config", "core.repositoryFormatVersion", "1")
    said = try_git(repo.git_directory, "cat-file", "blob", blob)
    assert isinstance(said, str) and said.startswith(("fatal: ", "error: "))
