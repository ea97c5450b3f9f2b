"""The ends of a damaged repository's branches and tags: which of them can be read, and which lead to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.loose import KINDS
from dowse.ingest.sources.git.refs import is_name, lines
from dowse.ingest.sources.git.running import ask_history
from dowse.ingest.sources.git.traps import trap_in

_HEAD: Final = "the head of a work tree"
_NAMED: Final = 3
_DIGITS: Final = 12
_MOST_CHARS: Final = 100
_DEEPEST: Final = 5  # a tag may be put on a tag


@dataclass(frozen=True, slots=True)
class Ends:
    """`readable` are names of objects; `lost` are refs with the names of what they should lead to."""

    readable: tuple[str, ...]
    lost: tuple[tuple[str, str], ...]

    def sentence(self) -> str:
        """Which are lost; empty if none is."""
        named = [f"{ref[:_MOST_CHARS]} leads to {name[:_DIGITS]}" for ref, name in self.lost[:_NAMED]]
        more = f" and {len(self.lost) - _NAMED:,} more" if len(self.lost) > _NAMED else ""
        return f"{', '.join(named)}{more}: missing or damaged" if named else ""


def ends_of(git_directory: Path, heads: Iterable[str]) -> Ends | None:
    """None if not even that can be told. Without the refs that name no object at all: of these only git tells."""
    if trap_in(str(git_directory)):
        return None
    form = "--format=%(objectname) %(refname)"
    listed = ask_history(str(git_directory), "for-each-ref", form, *(f"refs/{kind}/" for kind in KINDS))
    if listed is None or listed.returncode:
        return None
    # Only a line feed ends a row: what else may end lines is part of a name.
    rows = (line.decode(errors="replace").partition(" ") for line in listed.stdout.split(b"\n"))
    ends = [*((name, ref) for name, _, ref in rows if is_name(name)), *((it, _HEAD) for it in heads)]
    lost = _lost(str(git_directory), [name for name, _ in ends])
    if lost is None:
        return None
    readable = dict.fromkeys(name for name, _ in ends if name not in lost)
    return Ends(tuple(readable), tuple((ref, lost[name]) for name, ref in ends if name in lost))


def _lost(git_directory: str, names: Iterable[str]) -> dict[str, str] | None:
    """Which of them lead to nothing, with what is not there: they themselves, or what a tag was put on."""
    lost: dict[str, str] = {}
    ways = {name: name for name in names}
    for _ in range(_DEEPEST):
        kinds = _kinds(git_directory, list(dict.fromkeys(ways.values())))
        if kinds is None:
            return None
        lost |= {name: at for name, at in ways.items() if kinds[at] == "missing"}
        tags = {name: at for name, at in ways.items() if kinds[at] == "tag"}
        targets = _targets(git_directory, list(dict.fromkeys(tags.values())))
        lost |= {name: at for name, at in tags.items() if at not in targets}
        ways = {name: targets[at] for name, at in tags.items() if at in targets}
    return lost


def _kinds(git_directory: str, names: list[str]) -> dict[str, str] | None:
    if not names:
        return {}
    checked = ask_history(git_directory, "cat-file", "--batch-check=%(objecttype)", given=lines(names))
    if checked is None or checked.returncode:
        return None
    # Of what is not there it says the name and that it is missing.
    told = (line.rpartition(b" ")[2].decode() for line in checked.stdout.splitlines())
    return dict(zip(names, told, strict=True))


def _targets(git_directory: str, tags: list[str]) -> dict[str, str]:
    """What the tags were put on, without those that can not be read, at each of which git may end."""
    targets: dict[str, str] = {}
    while tags:
        told = ask_history(git_directory, "cat-file", "--batch=%(objectsize)", given=lines(tags))
        read = list(_headed(BytesIO(told.stdout if told else b"")))
        targets |= zip(tags, read, strict=False)
        tags = tags[len(read) + 1 :]
    return targets


def _headed(told: BytesIO) -> Iterator[str]:
    """The object that each tag begins with, up to one that is none."""
    while (size := told.readline().strip()).isdigit():
        name = told.read(int(size) + 1).partition(b"\n")[0].removeprefix(b"object ").decode(errors="replace")
        if not is_name(name):
            return
        yield name
