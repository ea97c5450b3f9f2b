"""Moments as people write them: `2026-11-02`, `2026-11-02T10:30`, `7d`, `12h`, or seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dowse.errors import BadInput

_AGO = re.compile(r"(\d{1,6})\s*([hdwmy])")
_SECONDS = re.compile(r"\d{9,11}(\.\d+)?")
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d")
_WEEK = re.compile(r"\d{4}-?W\d\d")
_DAY_S = 86_400
# What can be printed: of a zone behind or before UTC, the last day of all is not quite in it.
_FIRST, _LAST = (it.replace(tzinfo=UTC, microsecond=0).timestamp() for it in (datetime.min, datetime.max))
_UNIT_S = {"h": 3600, "d": 86_400, "w": 604_800, "m": 2_629_800, "y": 31_557_600}


def parse_moment(text: str, now: float) -> float:
    """Seconds since 1970; a length of time counts back from now, a date without a zone is UTC."""
    if ago := _AGO.fullmatch(text.strip()):
        return now - int(ago[1]) * _UNIT_S[ago[2]]
    moment = moment_of(text)
    if moment is None:
        raise BadInput(f"{text.strip()!r} is not a time; write 2026-11-02, 2026-11-02T10:30, 7d, 12h or unix seconds")
    return moment


def moment_of(text: str, *, last: bool = False) -> float | None:
    """Seconds since 1970 of an ISO date or time (UTC, if it says nothing else), or of seconds; None for what is none.

    Of a day or week without a time it is the first second, or the `last`.
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LAST)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return min(max(seconds + (_length(text) if last else 0), _FIRST), _LAST)


def _length(text: str) -> int:
    """To the last second of what is no moment."""
    return _DAY_S - 1 if _DAY.fullmatch(text) else 7 * _DAY_S - 1 if _WEEK.fullmatch(text) else 0


def iso(moment: float) -> str:
    return in_calendar(moment).isoformat(timespec="seconds").replace("+00:00", "Z")


def in_calendar(moment: float) -> datetime:
    """What is beyond the calendar, which files and commits may claim to be, is its first or last second."""
    return datetime.fromtimestamp(max(_FIRST, min(moment, _LAST)), UTC)


def ago(moment: float, now: float) -> str:
    """How long since, in the largest unit that fits."""
    seconds = max(0.0, now - moment)
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
