"""What git told of one commit, as it travels from the source to the extractor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple


class Person(NamedTuple):
    """Who did something, and when, in seconds since 1970."""

    name: str
    email: str
    at: int


class Touched(NamedTuple):
    """A file that a commit touched: A, M, D, R, C or T, its path, and the one it had before, if that was another."""

    status: str
    path: str
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """`delta` is what it changed, cut; `omitted` are the lines that were cut off, and if it `is_cut` before it was read
    to its end there are more; `problem` says what git could not tell. `left_out` counts the files whose changes are
    not told, `masked` the secrets that are masked."""

    hash: str
    parents: list[str]
    author: Person
    committer: Person
    message: str
    files: list[Touched]
    delta: str = ""
    omitted: int = 0
    is_cut: bool = False
    problem: str = ""
    left_out: int = 0
    masked: int = 0

    def to_bytes(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Told:
        """Raises ValueError, LookupError or TypeError for what `to_bytes` never gave."""
        values = json.loads(data)
        return cls(
            **values
            | {
                "author": Person(*values["author"]),
                "committer": Person(*values["committer"]),
                "files": [Touched(*it) for it in values["files"]],
            }
        )
