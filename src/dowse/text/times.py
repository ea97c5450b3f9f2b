"""Moments as people write them: `2026-11-02`, `2026-11-02T10:30`, `7d`, `12h`, or seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dowse.errors import BadInput

_AGO = re.compile(r"(\d{1,6})\s*([hdwmy])")
_DATE = r"[\d-]+|\d+-?W\d+(-?\d)?"
_UNIT_S = {"h": 3600, "d": 86_400, "w": 604_800, "m": 2_629_800, "y": 31_557_600}
_FIRST_S = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LAST_S = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def parse_moment(text: str, now: float) -> float:
    """Seconds since 1970; a length of time counts back from now, a date without a zone is UTC."""
    text = text.strip()
    if ago := _AGO.fullmatch(text):
        return now - int(ago[1]) * _UNIT_S[ago[2]]
    if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a time; write 2026-11-02, 2026-11-02T10:30, 7d, 12h or unix seconds") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def moment_of(text: str, *, end_of_day: bool = False) -> float | None:
    """Seconds since 1970 of a date or time; None where it is none. A date is its first moment, or its last."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if end_of_day and re.fullmatch(_DATE, text.strip()):
        moment = moment.replace(hour=23, minute=59, second=59, microsecond=999_999)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def iso(moment: float) -> str:
    return in_calendar(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def in_calendar(moment: float) -> datetime:
    """What is beyond the calendar, which files and commits may claim to be, is its first or last second."""
    return datetime.fromtimestamp(max(_FIRST_S, min(moment, _LAST_S)), UTC)


def ago(moment: float, now: float) -> str:
    """How long since, in the largest unit that fits."""
    seconds = max(0.0, now - moment)
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
