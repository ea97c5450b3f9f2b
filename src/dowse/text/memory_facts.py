"""What the front matter of a memory may say, and how its times are read."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

TYPES: Final = ("plan", "journal", "fact", "observation", "reflection")
JOURNAL: Final = "journal"
STATUSES: Final = ("active", "archived")
ACTIVE: Final = "active"

_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
_SECONDS = re.compile(r"\d{9,11}\Z")
_LAST: Final = timedelta(days=1) - timedelta(seconds=1)
_MAX_S: Final = 2**63 // 10**9  # more nanoseconds than that fit nowhere


def moment_of(text: str, *, last: bool = False) -> float | None:
    """Seconds since 1970 of an ISO date or time (UTC, if it says nothing else), or of seconds; None for what is none.

    Of a day without a time it is the first second, or the `last`.
    """
    seconds = _seconds(text.strip(), last)
    return seconds if seconds is not None and abs(seconds) < _MAX_S else None


def _seconds(text: str, last: bool) -> float | None:
    if _SECONDS.match(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
        if last and _DATE.match(text):
            moment += _LAST
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
