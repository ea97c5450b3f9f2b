"""The ends of a damaged repository's branches and tags: which of them can be read, and which lead to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.refs import KINDS
from dowse.ingest.sources.git.running import ask_history

_HEAD: Final = "the head of a work tree"
_NAMED: Final = 3
_DIGITS: Final = 12
_MOST_CHARS: Final = 100


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
    form = "--format=%(objectname) %(refname)"
    listed = ask_history(str(git_directory), "for-each-ref", form, *(f"refs/{kind}/" for kind in KINDS))
    if listed is None or listed.returncode:
        return None
    rows = (line.partition(" ") for line in listed.stdout.decode(errors="replace").splitlines())
    ends = [*((name, ref) for name, _, ref in rows), *((it, _HEAD) for it in heads)]
    given = "".join(f"{name}\n" for name, _ in ends).encode()
    checked = ask_history(str(git_directory), "cat-file", "--batch-check=%(objecttype)", given=given)
    if checked is None or checked.returncode:
        return None
    # Of what is not there it says the name and that it is missing.
    there = [not line.endswith(b" missing") for line in checked.stdout.splitlines()]
    told = list(zip(ends, there, strict=True))
    readable = dict.fromkeys(name for (name, _), is_there in told if is_there)
    return Ends(tuple(readable), tuple((ref, name) for (name, ref), is_there in told if not is_there))
