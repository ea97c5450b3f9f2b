"""The one way git is run: nothing that a repository configures is executed, fetched or taken for an option.

Filters can not be switched off, because their names can be anything. So no command may be given that compares files of
a work tree with objects (`status`, `diff`, `diff-files`, `diff-index`, `add`, `ls-files -m`, `blame` without a commit).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

from dowse.ingest.sources.git.headings import heading_options
from dowse.ingest.sources.git.patience import Patience

_PATIENCE: Final = Patience()

# A repository's own configuration names programs; these are the ones that a listing or a comparison could reach.
_HARDENED: Final = (
    "--no-pager",
    "--no-replace-objects",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.untrackedCache=false",
    "-c", "core.sshCommand=false",
    "-c", "core.gitProxy=",
    "-c", "credential.helper=",
    "-c", "gpg.program=false",
    "-c", "log.showSignature=false",
    "-c", "diff.external=",
    "-c", "diff.orderFile=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.bigFileThreshold=64m",
)  # fmt: skip
# The caller's git variables may point at another repository; only where the user's settings are is kept.
_KEPT_VARIABLES: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
_FORCED_VARIABLES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A partial clone would fetch what it lacks, with the programs its remotes name.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
# What a history says must not depend on what is checked out or staged at the moment.
_NO_INDEX: Final = "no-index-is-read"

Finished = subprocess.CompletedProcess[bytes]


def run_git(git: str, directory: str, *command: str, given: bytes = b"") -> Finished | None:
    """The finished command, `given` at its input, whether it succeeded or not; None when it did not come to its end."""
    return _finished(directory, [git, "-C", directory, *_HARDENED, *command], _environment(), given)


def ask_history(git_directory: str, *command: str, given: bytes = b"") -> Finished | None:
    """The finished command over the objects and refs of a repository, whatever is checked out of it; None as above."""
    git = shutil.which("git")
    if git is None:
        return None
    words = [git, *_of_history(git_directory), *command]
    return _finished(git_directory, words, _environment() | _without_index(git_directory), given)


def why_unfinished(directory: str) -> str:
    """Of a command over it that did not come to its end."""
    if _PATIENCE.is_lost_with(directory):
        return "git did not come to an end; something there, such as a named pipe, may keep it waiting"
    return "git is not installed, or could not be started"


def _finished(directory: str, words: list[str], environment: dict[str, str], given: bytes) -> Finished | None:
    wait_s = _PATIENCE.seconds(directory)
    try:
        done = subprocess.run(words, env=environment, input=given, capture_output=True, timeout=wait_s, check=False)
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        _PATIENCE.waited_in_vain(directory)
        return None
    _PATIENCE.came_to_its_end(directory)
    return done


def converse(git_directory: str, *command: str) -> subprocess.Popen[bytes]:
    """The same as a process that is written to and read from; OSError if it can not be started."""
    git = shutil.which("git")
    if git is None:
        raise FileNotFoundError("git is not installed")
    return subprocess.Popen(
        [git, *_of_history(git_directory), *command],
        env=_environment() | _without_index(git_directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )


def _of_history(git_directory: str) -> tuple[str, ...]:
    # Told where the work tree is, git does not believe a configuration that says it is elsewhere.
    here = (f"--git-dir={git_directory}", f"--work-tree={git_directory}")
    return ("-C", git_directory, *_HARDENED, *heading_options(), *here)


def _environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return kept | _FORCED_VARIABLES


def _without_index(git_directory: str) -> dict[str, str]:
    return {"GIT_INDEX_FILE": f"{git_directory}/{_NO_INDEX}"}
