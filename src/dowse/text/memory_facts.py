"""What the front matter of a memory may say, and whether it holds at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dowse.text.times import moment_of

TYPES: Final = ("plan", "journal", "fact", "observation", "reflection")
JOURNAL: Final = "journal"
ACTIVE: Final = "active"
ARCHIVED: Final = "archived"
STATUSES: Final = (ACTIVE, ARCHIVED)


class OutOfTime(NamedTuple):
    """Its times as they are written; empty where they do not speak against it."""

    not_before: str = ""
    not_after: str = ""


def out_of_time(facets: Mapping[str, str], now: float) -> OutOfTime:
    """Whether it is too early or too late for what it says; what is no time says nothing of that."""
    valid_from, valid_until = facets.get("valid_from", ""), facets.get("valid_until", "")
    begins, ends = moment_of(valid_from), moment_of(valid_until, last=True)
    return OutOfTime(
        valid_from if begins is not None and now < begins else "",
        valid_until if ends is not None and now > ends else "",
    )
