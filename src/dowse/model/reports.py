"""What work on an index comes to: how much it holds, and what one sync did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

OMISSIONS: Final = "omissions "
"""With the name of a collection behind it, the manifest's key for what the collection leaves out."""


@dataclass(frozen=True, slots=True)
class Counts:
    records: int = 0
    chunks: int = 0
    symbols: int = 0
    links: int = 0
    calls: int = 0
    vectors: int = 0
    next_vectors: int = 0  # of another encoder, which take the place of the others when every chunk has one
    unencoded: int = 0  # chunks that are found by their words only

    @property
    def encoded(self) -> int:
        """The chunks that are to have a vector."""
        return self.chunks - self.unencoded


@dataclass(frozen=True, slots=True)
class Omissions:
    """What a source leaves out by its default rules: how many files, by reason and suffix, and how many directories
    it does not look into, by name."""

    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    directories: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(sum(it.values()) for it in self.files.values())


@dataclass(slots=True)
class SyncReport:
    """What one sync did, file by file counts; `notes` are sentences a person should read."""

    listed: int = 0
    indexed: int = 0
    unchanged: int = 0
    touched: int = 0
    deleted: int = 0
    skipped: int = 0
    embedded: int = 0
    reused: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: SyncReport) -> None:
        for name in ("listed", "indexed", "unchanged", "touched", "deleted", "skipped", "embedded", "reused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.notes.extend(other.notes)

    def go_on(self, other: SyncReport) -> None:
        """The other is of another run over the same, which went on where this one stopped."""
        earlier = self.indexed + self.touched
        self.listed = self.unchanged = self.skipped = 0
        self.add(other)
        self.unchanged = max(0, self.unchanged - earlier)
