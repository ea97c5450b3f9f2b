"""Moments as people write them."""

from __future__ import annotations

import pytest

from dowse.errors import BadInput
from dowse.text.times import format_ago, format_iso, parse_time, parse_timestamp

NOW = 1_800_000_000.0
MOMENTS = [
    ("7d", NOW - 7 * 86_400),
    ("12h", NOW - 12 * 3600),
    ("2w", NOW - 14 * 86_400),
    ("1700000000", 1_700_000_000.0),
    ("2023-11-14T22:13:20", 1_700_000_000.0),
    ("2023-11-14T22:13:20Z", 1_700_000_000.0),
    ("2023-11-15T00:13:20+02:00", 1_700_000_000.0),
    ("2023-11-14", 1_699_920_000.0),
]


@pytest.mark.parametrize(("text", "expected"), MOMENTS)
def test_parse(text: str, expected: float) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "7", "-3d", "2023-99-99", "nan", "1e400", "d" * 10_000])
def test_what_is_no_time_says_how_to_write_one(text: str) -> None:
    with pytest.raises(BadInput, match="is not a time; write 2026-11-02"):
        parse_time(text, NOW)


LASTING = [
    ("2026-11-17", "2026-11-17T00:00:00Z", "2026-11-17T23:59:59Z"),
    ("20261117", "2026-11-17T00:00:00Z", "2026-11-17T23:59:59Z"),
    ("2026-W47-2", "2026-11-17T00:00:00Z", "2026-11-17T23:59:59Z"),
    ("2026W472", "2026-11-17T00:00:00Z", "2026-11-17T23:59:59Z"),
    ("2026-W47", "2026-11-16T00:00:00Z", "2026-11-22T23:59:59Z"),
    ("9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z"),
    ("9999-12-31T23:00:00-05:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ("2026-11-17T10:30", "2026-11-17T10:30:00Z", "2026-11-17T10:30:00Z"),
    ("1700000000", "2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"),
]


@pytest.mark.parametrize(("text", "first", "last"), LASTING)
def test_days_have_an_end(text: str, first: str, last: str) -> None:
    assert [format_iso(it) for it in (parse_timestamp(text), parse_timestamp(text, last=True)) if it is not None] == [
        first,
        last,
    ]


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "7d"])
def test_what_is_no_moment(text: str) -> None:
    assert parse_timestamp(text) is None


def test_printing() -> None:
    assert format_iso(1_700_000_000) == "2023-11-14T22:13:20Z"
    assert [format_ago(NOW - seconds, NOW) for seconds in (-5, 59, 60, 7200, 200_000)] == [
        "just now", "just now", "1 min ago", "2 h ago", "2 d ago",
    ]  # fmt: skip


def test_what_is_beyond_the_calendar_is_its_first_or_last_second() -> None:
    assert (format_iso(-1e18), format_iso(1e18)) == ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
