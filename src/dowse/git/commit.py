"""The data of one commit, and redaction of secrets in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.text.secrets import mask_secrets
from dowse.text.unicode import unquote_git_path


class Signature(NamedTuple):
    """Name, email and time of an author or committer; the time is in seconds since 1970."""

    name: str
    email: str
    at: int


class FileChange(NamedTuple):
    """A file changed by a commit: status A, M, D, R, C or T, path, and previous path if it was another."""

    status: str
    path: str
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class CommitData:
    """One commit.

    - `diff`: its patch, truncated.
    - `omitted`: number of patch lines cut off; if `is_cut`, there are more, because reading stopped early.
    - `problem`: what git could not report.
    - `left_out`: number of files whose changes are withheld.
    - `masked`: number of masked secrets.
    """

    hash: str
    parents: list[str]
    author: Signature
    committer: Signature
    message: str
    files: list[FileChange]
    diff: str = ""
    omitted: int = 0
    is_cut: bool = False
    problem: str = ""
    left_out: int = 0
    masked: int = 0

    def to_bytes(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> CommitData:
        """Parse the output of `to_bytes`; raise ValueError, LookupError or TypeError for anything else."""
        values = json.loads(data)
        return cls(
            **values
            | {
                "author": Signature(*values["author"]),
                "committer": Signature(*values["committer"]),
                "files": [FileChange(*it) for it in values["files"]],
            }
        )


# --------------------------------------------------------------------------------------------------
# Withhold parts of commits: the changes of files that are not indexed, and known secrets.

FILE_EXCLUDED: Final = "the file is excluded by its name, the settings or .dowseignore"
# No content line can look like this: each has a mark before it. A literal is ten times faster to find than `^diff`.
_FILE_HEADER: Final = re.compile(rb"\ndiff --")
_HUNK_HEADER: Final = re.compile(rb"^@@", re.MULTILINE)
_SIDE_MARKS: Final = (b"--- ", b"+++ ")
_NULL_PATH: Final = "/dev/null"
_RENAME_MARKS: Final = (b"rename from ", b"rename to ", b"copy from ", b"copy to ")


def exclude_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Redaction:
    """Rules for withholding. `is_excluded` takes paths relative to the top of the repository."""

    is_excluded: Callable[[str], bool] = exclude_nothing
    show_secrets: bool = False

    def redact_files(self, patch: bytes) -> tuple[bytes, int]:
        """Remove the parts of files that are left out under any of their names; return the patch and the number
        removed."""
        if not patch or self.is_excluded is exclude_nothing:
            return patch, 0
        starts = [it.start() for it in _FILE_HEADER.finditer(b"\n" + patch)]
        if not starts:
            return patch, 0
        parts = [patch[start:end] for start, end in zip(starts, [*starts[1:], len(patch)], strict=True)]
        kept = [it for it in parts if not any(map(self.is_excluded, _file_paths(it)))]
        left_out = len(parts) - len(kept)
        return (patch[: starts[0]] + b"".join(kept), left_out) if left_out else (patch, 0)

    def mask_secrets(self, data: bytes) -> tuple[bytes, int]:
        """Mask known secrets without changing the length; return the data and the number masked."""
        return (data, 0) if self.show_secrets else mask_secrets(data)


DEFAULT_REDACTION: Final = Redaction()


def _file_paths(part: bytes) -> Iterator[str]:
    """Yield a file's paths before and after the change; none if it has no hunk."""
    hunk = _HUNK_HEADER.search(part)
    for line in part[: hunk.start()].split(b"\n") if hunk else ():
        text = line.decode("utf-8", "replace").removesuffix("\t")
        if line.startswith(_SIDE_MARKS) and text[4:] != _NULL_PATH:
            yield unquote_git_path(text[4:]).partition("/")[2]  # after the `a/` or `b/`
        elif line.startswith(_RENAME_MARKS):
            yield unquote_git_path(text.split(" ", 2)[2])
