"""What one part of an answer found, before anything is left out."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.lookup.why.question import Neighbour


@dataclass(frozen=True, slots=True)
class Found:
    """Neighbours, what matters most first; `notes` say what could not be told."""

    neighbours: tuple[Neighbour, ...] = ()
    notes: tuple[str, ...] = ()
