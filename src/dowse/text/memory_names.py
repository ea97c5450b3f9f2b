"""Which memory a name means: `plan`, `plan.md` and `memory:plan#Steps` mean the same file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dowse.model import Record

MEMORY: Final = "memory:"
_SUFFIXES: Final = (".md", ".markdown")


def named(target: str) -> str:
    """The name in a link to a memory; empty where it is a link to anything else."""
    text = target.strip()
    if text[: len(MEMORY)].lower() != MEMORY:
        return ""
    return text[len(MEMORY) :].partition("#")[0].strip().removeprefix("./")


@dataclass(frozen=True, slots=True)
class Names:
    """Memories by what they may be called: the first kind of spelling that is known decides."""

    exact: dict[str, Record]
    folded: dict[str, Record]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Names:
        # Whoever asks, and in whichever order: of those that are called alike, the newest is meant.
        known = sorted(records, key=lambda it: (-it.moment_ns, it.collection, it.path))
        exact: dict[str, Record] = {}
        for record in known:
            exact.setdefault(record.path, record)
        for suffix in _SUFFIXES:
            for record in known:
                if record.path.lower().endswith(suffix):
                    exact.setdefault(record.path[: -len(suffix)], record)
        folded: dict[str, Record] = {}
        for name, record in exact.items():
            folded.setdefault(name.casefold(), record)
        return cls(exact, folded)

    def find(self, name: str) -> Record | None:
        return self.exact.get(name) or self.folded.get(name.casefold())
