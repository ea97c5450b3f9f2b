"""What the memory tools of the ragdocs contract share: the engine behind them, and what its configuration says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.memories.tags import normal_tag
from dowse.model import Answer, Pace, Record
from dowse.profiles.core_memories import caveats
from dowse.profiles.tool import Param

MAX_TEXT_CHARS = 1_000
MAX_TAGS = 100

MemoryType = Literal["plan", "journal", "fact", "observation", "reflection"]
FileName = Annotated[str, Param("The memory's file name, with or without .md; plans/q3 lies in a folder")]
Tag = Annotated[str, Param("A tag of memories, with or without #")]


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What `[memory]` of the contract's configuration says of its tools."""

    enabled: bool = True
    score_threshold: float = 0.2
    paces: tuple[Pace, ...] = ()


NO_OPTIONS = MemoryOptions()


@dataclass(frozen=True, slots=True)
class MemoryDesk:
    """`wait` returns when the first indexing is over, or has taken its time; `notes` are what an answer lacks."""

    engine: Callable[[], Engine]
    wait: Callable[[], None]
    notes: Callable[[Answer], str]
    options: MemoryOptions

    def ready(self) -> Engine:
        self.wait()
        return self.engine()

    def writing(self) -> Engine:
        """Not waiting for anything, unless memories lie in a root and none is known so early."""
        engine = self.engine()
        if engine.settings.memories == "project" and not engine.collections():
            self.wait()
        return engine

    def caveats(self, records: Sequence[Record]) -> list[list[str]]:
        """Of each, why what it says may not count any more."""
        engine = self.engine()
        standings = engine.standings(records)
        return [list(caveats(record, it, engine.stale(record))) for record, it in zip(records, standings, strict=True)]


def checked(name: str, text: str) -> str:
    """A word or a path of a reasonable length."""
    text = text.strip()
    if not text:
        raise BadInput(f"{name} is empty; name one")
    if len(text) > MAX_TEXT_CHARS:
        raise BadInput(f"{name} is {len(text):,} characters long; at most {MAX_TEXT_CHARS:,} are taken")
    return text


def checked_tag(name: str, tag: str) -> str:
    """As tags are compared: without # and casing."""
    return checked(name, normal_tag(checked(name, tag)))


def checked_tags(name: str, tags: Sequence[str]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS:
        raise BadInput(f"{name}: {len(tags):,} tags; at most {MAX_TAGS} are taken")
    return tuple(checked_tag(name, it) for it in tags)
