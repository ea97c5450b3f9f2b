"""What git tells of a commit, as it travels from the source to the extractor: bytes of compact JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Told:
    """`author` and `committer` are name, e-mail and seconds since 1970; of `files`, each is a status letter, a path and
    the path it was renamed or copied from, empty if it was not. `omitted` lines of the delta were cut off its end."""

    hash: str
    parents: list[str]
    author: list[Any]
    committer: list[Any]
    message: str
    files: list[list[str]]
    delta: str = ""
    omitted: int = 0
    problem: str = ""

    def to_bytes(self) -> bytes:
        return _ENCODE(dict(zip(_NAMES, _VALUES(self), strict=True))).encode("utf-8", "replace")

    @classmethod
    def from_bytes(cls, data: bytes) -> Told:
        """Raises ValueError or TypeError for what was never made by `to_bytes`."""
        return cls(**json.loads(data))


_NAMES = tuple(it.name for it in fields(Told))
_VALUES = attrgetter(*_NAMES)
