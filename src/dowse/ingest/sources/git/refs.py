"""The state of a repository's branches, tags and heads, read from its files without running git."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.confine import small_text
from dowse.ingest.sources.git.loose import KINDS, entries, loose
from dowse.ingest.sources.git.repository import HEAD
from dowse.ingest.sources.git.running import ask_history
from dowse.ingest.sources.git.traps import trap_in

_HEX: Final = frozenset("0123456789abcdef")
_USUAL: Final = tuple(f"refs/{kind}/" for kind in KINDS)
_SYMBOLIC: Final = "ref: "
_DEEPEST: Final = 5  # a ref may lead to another, as far as git goes
_SHALLOW: Final = "shallow"
_MOST_CHARS: Final = 16_000_000  # of its names: some hundred thousand, where a clone has a few
_WHOLE_FILES: Final = (HEAD, "packed-refs", _SHALLOW, "reftable/tables.list")


@dataclass(frozen=True, slots=True)
class Refs:
    """`token` differs whenever anything that a history is made from may have changed; `heads` are the commits that
    work trees are at without a branch, and with one of a kind of its own."""

    token: str
    heads: tuple[str, ...]


def refs_of(git_directory: str) -> Refs | None:
    """None where no repository is, or none that can be read."""
    token = token_of(git_directory)  # before anything is read, so that what changes meanwhile is found the next time
    if token is None or not _line(git_directory, HEAD) or trap_in(git_directory):
        return None
    heads = (HEAD, *_heads(git_directory))
    at = (text if is_name(text := _line(git_directory, it)) else _resolved(git_directory, it) for it in heads)
    return Refs(token, tuple(sorted({*at} - {""})))


def token_of(git_directory: str) -> str | None:
    """Every question asks for it, so nothing but heads is read: git replaces these files as a whole, and what they are
    like shows whether they changed. Another one where the repository is moved to."""
    names = (HEAD, *_heads(git_directory))
    odd = (it for name in names for it in _odd_targets(git_directory, name))
    stamps = [*_kept(git_directory, (*_WHOLE_FILES, *names[1:], *odd)), *_loose(git_directory)]
    if not stamps or not stamps[0].startswith(HEAD):
        return None
    return hashlib.sha256("\0".join((git_directory, *stamps)).encode(errors="surrogateescape")).hexdigest()


def is_name(text: str) -> bool:
    """Whether it is the whole name of an object, and nothing that git could take for anything else."""
    return len(text) in (40, 64) and _HEX.issuperset(text)


def lines(names: Iterable[str]) -> bytes:
    """As git reads them."""
    return "".join(f"{it}\n" for it in names).encode("ascii")


def shallow_of(git_directory: str) -> frozenset[str]:
    """The commits whose parents were not fetched."""
    return frozenset(filter(is_name, small_text(Path(git_directory, _SHALLOW), most_chars=_MOST_CHARS).split()))


def _heads(git_directory: str) -> list[str]:
    """Those of the linked work trees."""
    return [f"worktrees/{it.name}/{HEAD}" for it in entries(f"{git_directory}/worktrees")]


def _odd_target(head: str) -> str:
    """The ref that a head leads to, if it is of no kind that counts anyway."""
    target = head.removeprefix(_SYMBOLIC) if head.startswith(_SYMBOLIC) else ""
    is_usual = target.startswith(_USUAL) or ".." in target.split("/") or not target.startswith("refs/")
    return "" if is_usual else target


def _odd_targets(git_directory: str, head: str, deepest: int = _DEEPEST) -> Iterator[str]:
    """Such refs, which may lead to others, each as one of the head's own work tree and as one that all share: git names
    them by the files they have in the repository."""
    own, text = head.removesuffix(HEAD), _line(git_directory, head)
    while deepest and (target := _odd_target(text)):
        yield from dict.fromkeys((own + target, target))
        text = _line(git_directory, own + target) or _line(git_directory, target)
        deepest -= 1


def _line(git_directory: str, name: str) -> str:
    return small_text(Path(git_directory, name)).strip()


def _resolved(git_directory: str, head: str) -> str:
    """The commit of a head that leads to such a ref, which may be packed, so that git is asked; empty of all others."""
    for target in _odd_targets(git_directory, head, 1):
        found = ask_history(git_directory, "rev-parse", "--verify", "--quiet", target)
        if found is not None and is_name(name := found.stdout.decode(errors="replace").strip()):
            return name
    return ""


def _kept(git_directory: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        with suppress(OSError):
            yield _stamp(name, Path(git_directory, name).stat())


def _stamp(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _loose(git_directory: str) -> Iterator[str]:
    for name, entry in loose(git_directory):
        with suppress(OSError):
            yield _stamp(name, entry.stat())
