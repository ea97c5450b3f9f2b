"""Which commits came and which went between two states of a repository, as long as they are few."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.commits import beyond_newest, newest_names
from dowse.ingest.sources.git.loose import KINDS
from dowse.ingest.sources.git.refs import is_name, lines, refs_of, shallow_of
from dowse.ingest.sources.git.running import ask_history

_MOST_TIPS: Final = 1_000


# In what is kept, so that a text of a time when less was sure is like no other.
_MANNER: Final = "by listing what may have gone"


@dataclass(frozen=True, slots=True)
class Moves:
    came: tuple[str, ...]
    went: tuple[str, ...]


def tips_of(git_directory: Path) -> str:
    """What all that is reachable can be told from, as a text to be kept; empty if that is too much or not known."""
    refs = refs_of(str(git_directory))
    if refs is None:
        return ""
    listing = ask_history(
        str(git_directory), "for-each-ref", "--format=%(objectname)", *(f"refs/{kind}/" for kind in KINDS)
    )
    if listing is None or listing.returncode:
        return ""
    tips = sorted({*refs.heads, *filter(is_name, listing.stdout.decode("ascii", "replace").split())})
    edge = hashlib.sha256(" ".join([_MANNER, *sorted(shallow_of(str(git_directory)))]).encode()).hexdigest()
    return " ".join([edge, *tips]) if len(tips) <= _MOST_TIPS else ""


def moves_between(git_directory: Path, before: str, now: str, most: int) -> Moves | None:
    """By two texts of `tips_of`; None if more commits than so many came or went, or nobody knows which.

    Git looks for what both lead to by the clocks of commits, and gives up where these went back: none that came or went
    is missing, but some of what came may have been there, and some of what went may still be."""
    edge, *old = before.split() or [""]
    same_edge, *new = now.split() or ["-"]
    if edge != same_edge:
        return None  # another part of the history was fetched
    came, went = _reached(git_directory, new, old, most), _reached(git_directory, old, new, most)
    if came is None or went is None or len(came) > most or len(went) > most:
        return None
    return Moves(came, went)


def moves_within(
    git_directory: Path, known: AbstractSet[str], max_commits: int, most: int
) -> tuple[Moves, tuple[str, str] | None] | None:
    """Exactly which commits come among the newest so many, which leave these, and the first that is left out, with the
    reason, if one is; None as above. Clocks go back and stand still, so that only git's own order tells, which is
    looked through for it."""
    refs = refs_of(str(git_directory))
    names = None if refs is None else newest_names(git_directory, refs.heads, max_commits)
    if refs is None or names is None:
        return None
    newest = names[:max_commits]
    moves = Moves(tuple(it for it in newest if it not in known), tuple(known - {*newest}))
    if len(moves.came) > most or len(moves.went) > most:
        return None
    beyond = names[max_commits:]
    return moves, (beyond[0], beyond_newest(git_directory, refs.heads, max_commits)) if beyond else None


def _reached(git_directory: Path, tips: Sequence[str], others: Sequence[str], most: int) -> tuple[str, ...] | None:
    """From the tips and not from the others; None if one of them is not there any more."""
    command = ("rev-list", f"--max-count={most + 1}", "--stdin")
    listing = ask_history(str(git_directory), *command, given=lines([*tips, *(f"^{it}" for it in others)]))
    if listing is None or listing.returncode:
        return None
    return tuple(listing.stdout.decode("ascii").split()) if tips else ()
