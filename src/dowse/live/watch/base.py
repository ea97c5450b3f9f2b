"""The nouns of watching: places to watch, what is seen there, and the batches that come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from dowse.config import Settings

LONGEST_WAIT = 10
"""A file that never rests is indexed after this many times the quiet it should have had."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Place:
    """A collection's root and what of it matters, by paths relative to it with `/`.

    `renew` reads the rules behind the two again; true if other directories may be wanted now than before.
    """

    collection: str
    root: Path
    wanted_dir: Callable[[str], bool]
    wanted: Callable[[str], bool]
    renew: Callable[[], bool] = _never


@dataclass(frozen=True, slots=True)
class Batch:
    """Files and directories of one collection to bring in line with the disk; `whole`: all there are, and these are
    known to differ."""

    collection: str
    paths: frozenset[str]
    whole: bool
    why: str


@dataclass(frozen=True, slots=True)
class Timing:
    debounce_s: float = 0.5
    git_debounce_s: float = 5.0
    poll_s: float = 2.0
    bulk_threshold: int = 100
    again_s: float = 30.0
    """What could not be indexed is tried again after this time."""

    @classmethod
    def of(cls, settings: Settings) -> Timing:
        return cls(settings.debounce_ms / 1000, settings.git_debounce_s, settings.poll_s, settings.bulk_threshold)


class Sight(NamedTuple):
    """Something seen: a `file` or a `tree` (a directory and all below it) that is not what it was, a sign of `git`
    at work, `rules` of what is ignored, or that the view was `lost`."""

    kind: Literal["file", "tree", "git", "rules", "lost"]
    path: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a whole root is compared. `blind`: until then nobody knows what changed; `anew`: the directories to watch
    are worked out again before."""

    text: str
    wait: Literal["none", "files", "git", "again"] = "files"
    blind: bool = True
    anew: bool = False


START = Reason("start", wait="none")
RESTART = Reason("restart", wait="none")
RETURNED = Reason("the root came back")
BULK = Reason("bulk")
RULES = Reason("ignore rules", anew=True)
LOST = Reason("overflow", anew=True)
GIT = Reason("git", wait="git", blind=False)
"""Not blind: every file that git writes is seen by itself."""
AGAIN = Reason("could not be indexed before", wait="again", blind=False)
"""Not blind either: what was missed is remembered."""
