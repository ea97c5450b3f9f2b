"""The one way git is run: nothing that a repository configures is executed, fetched or taken for an option.

Filters can not be switched off, because their names can be anything. So no command may be given that compares files of
a work tree with objects (`status`, `diff`, `diff-files`, `diff-index`, `add`, `ls-files -m`, `blame` without a commit).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.bounded import Finished, TooMuchError, limit_memory, run_bounded
from dowse.ingest.sources.git.confine import OBJECTS, find_common_directory, find_escape, find_git_directory
from dowse.ingest.sources.git.patience import Patience
from dowse.ingest.sources.git.reading.headings import heading_options
from dowse.ingest.sources.git.traps import OF_WORK_TREES, trap_in

MOST_BYTES: Final = 500_000_000
"""Of what one command may tell: the messages of half a million commits."""
MOST_LISTED_BYTES: Final = 150_000_000
"""Of a list of files: a million of them, each with what it holds."""
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
    # People are told as commits name them, by whatever command.
    "-c", "log.mailmap=false",
    "-c", "mailmap.file=",
    "-c", "mailmap.blob=",
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


def ask_work_tree(
    top: str, directory: str, *command: str, given: bytes = b"", most_bytes: int = MOST_BYTES
) -> Finished | None:
    """The finished command, `given` at its input, whether it succeeded or not, in a directory of the work tree that
    begins at `top`; None when it did not come to its end."""
    git, (own, refusal) = shutil.which("git"), find_git_directory(top)
    if git is None or own is None:
        return None
    if why := refusal or find_escape(str(own)) or trap_in(str(own), *OF_WORK_TREES):
        return _refused(command, why)
    # Told where both are, git does not believe a configuration that says the work tree is elsewhere, nor does it look
    # for another repository further up where this one is broken.
    here = (f"--git-dir={own}", f"--work-tree={top}")
    words = [git, "-C", directory, *_HARDENED, *here, *command]
    return _finished(directory, words, _environment(str(own)), given, most_bytes)


def ask_history(
    git_directory: str, *command: str, given: bytes = b"", most_bytes: int = MOST_BYTES, takes_beginning: bool = False
) -> Finished | None:
    """The finished command over the objects and refs of a repository, whatever is checked out of it; None as above.
    One that tells more than so many bytes has failed, unless its caller takes the beginning."""
    git = shutil.which("git")
    if git is None:
        return None
    if escape := find_escape(git_directory):
        return _refused(command, escape)
    words = [git, *_of_history(git_directory), *command]
    environment = _environment(git_directory) | _without_index(git_directory)
    return _finished(git_directory, words, environment, given, most_bytes, takes_beginning)


def why_unfinished(directory: str) -> str:
    """Of a command over it that did not come to its end."""
    if _PATIENCE.is_lost_with(directory):
        return "git did not come to an end; something there, such as a named pipe, may keep it waiting"
    return "git is not installed, or could not be started"


def _finished(
    directory: str,
    words: list[str],
    environment: dict[str, str],
    given: bytes,
    most_bytes: int,
    takes_beginning: bool = False,
) -> Finished | None:
    try:
        done = run_bounded(words, environment, given, _PATIENCE.seconds(directory), most_bytes)
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        _PATIENCE.waited_in_vain(directory)
        return None
    except TooMuchError as error:
        if takes_beginning:
            return Finished(words, 0, error.beginning, b"")
        done = _refused(words, f"git tells more than {most_bytes // 1_000_000:,} MB, which is too much to be read")
    return done


def _refused(words: Sequence[str], why: str) -> Finished:
    return Finished(words, 1, b"", why.encode())


def converse(git_directory: str, *command: str) -> subprocess.Popen[bytes]:
    """The same as a process that is written to and read from; OSError if it can not be started."""
    git = shutil.which("git")
    if git is None:
        raise FileNotFoundError("git is not installed")
    if escape := find_escape(git_directory):
        raise PermissionError(escape)
    process = subprocess.Popen(
        [git, *_of_history(git_directory), *command],
        env=_environment(git_directory) | _without_index(git_directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    limit_memory(process)
    return process


def _of_history(git_directory: str) -> tuple[str, ...]:
    # Told where the work tree is, git does not believe a configuration that says it is elsewhere.
    here = (f"--git-dir={git_directory}", f"--work-tree={git_directory}")
    return ("-C", git_directory, *_HARDENED, *heading_options(), *here)


def _environment(git_directory: str) -> dict[str, str]:
    """Names the places that were checked, so that git reads no file that names others in their stead."""
    common = os.path.realpath(find_common_directory(Path(git_directory))[0])
    places = {"GIT_COMMON_DIR": common, "GIT_OBJECT_DIRECTORY": f"{common}/{OBJECTS}"}
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return kept | _FORCED_VARIABLES | places


def _without_index(git_directory: str) -> dict[str, str]:
    return {"GIT_INDEX_FILE": f"{git_directory}/{_NO_INDEX}"}
