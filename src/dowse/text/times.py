"""Times as people write them: `2026-11-02`, `2026-11-02T10:30`, `7d`, `12h`, or unix seconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dowse.errors import BadInput

_DURATION_AGO = re.compile(r"(\d{1,6})\s*([hdwmy])")
_UNIX_SECONDS = re.compile(r"\d{9,11}(\.\d+)?")
_ISO_DAY = re.compile(r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d")
_ISO_WEEK = re.compile(r"\d{4}-?W\d\d")
_DAY_SECONDS = 86_400
# The range of dates that can be formatted in UTC; some offsets would exceed it.
_MIN_TIMESTAMP, _MAX_TIMESTAMP = (
    it.replace(tzinfo=UTC, microsecond=0).timestamp() for it in (datetime.min, datetime.max)
)
_UNIT_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800, "m": 2_629_800, "y": 31_557_600}


def parse_time(text: str, now: float) -> float:
    """Return unix seconds. A duration counts back from now; a date without a time zone is UTC."""
    if ago := _DURATION_AGO.fullmatch(text.strip()):
        return now - int(ago[1]) * _UNIT_SECONDS[ago[2]]
    moment = parse_timestamp(text)
    if moment is None:
        raise BadInput(f"{text.strip()!r} is not a time; write 2026-11-02, 2026-11-02T10:30, 7d, 12h or unix seconds")
    return moment


def parse_timestamp(text: str, *, last: bool = False) -> float | None:
    """Return unix seconds for an ISO date or time (default UTC) or for seconds; None for any other text.

    For a day or week, return its first second, or its `last`.
    """
    text = text.strip()
    if _UNIX_SECONDS.fullmatch(text):
        return min(float(text), _MAX_TIMESTAMP)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return min(max(seconds + (_period_seconds(text) if last else 0), _MIN_TIMESTAMP), _MAX_TIMESTAMP)


def _period_seconds(text: str) -> int:
    """Return the seconds from the start to the last second of a day or week; 0 for a time."""
    return _DAY_SECONDS - 1 if _ISO_DAY.fullmatch(text) else 7 * _DAY_SECONDS - 1 if _ISO_WEEK.fullmatch(text) else 0


def format_iso(moment: float) -> str:
    return to_datetime(moment).isoformat(timespec="seconds").replace("+00:00", "Z")


def to_datetime(moment: float) -> datetime:
    """Convert to a datetime, clamping the impossible times that files and commits may claim."""
    return datetime.fromtimestamp(max(_MIN_TIMESTAMP, min(moment, _MAX_TIMESTAMP)), UTC)


def format_ago(moment: float, now: float) -> str:
    """Format the elapsed time in the largest unit that fits."""
    seconds = max(0.0, now - moment)
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
