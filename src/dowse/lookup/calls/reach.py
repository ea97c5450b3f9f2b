"""Where a call leads, and what led there."""

from __future__ import annotations

from typing import NamedTuple

from dowse.lookup.calls.question import Confidence
from dowse.lookup.calls.values import Type
from dowse.store.call_facts import Place

ORDER: dict[str, int] = {"exact": 0, "virtual": 1, "possible": 2}


class Reach(NamedTuple):
    """`asked` is the type it is called on; `is_open`: an object of a subtype may be meant as well."""

    place: Place
    how: str
    asked: Type | None = None
    is_open: bool = False
    confidence: Confidence = "exact"
    is_reference: bool = False  # it is passed on, returned or stored, not called


class Resolution(NamedTuple):
    """`why` says why nothing was reached; it begins with `outside:` where the call leads out of the index."""

    reaches: tuple[Reach, ...]
    receiver: str = ""
    why: str = ""

    @property
    def is_outside(self) -> bool:
        return self.why.startswith(OUTSIDE)


OUTSIDE = "outside:"
