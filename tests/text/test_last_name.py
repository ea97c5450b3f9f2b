"""The name people ask for, of a type as it is written."""

from __future__ import annotations

import pytest

from dowse.text.tokenize import last_simple_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Foo", "foo"),
        ("data.IRepository<Order>", "irepository"),
        ("a.b.List[int]", "list"),
        ("app.route", "route"),
        ("std::vector<int>", "vector"),
        ("%", "%"),
        ("", ""),
        ("a!" * 50_000 + "b", "b"),
        ("a" * 200_000 + "!!", "a" * 200_000),
    ],
)
def test_last_name(text: str, expected: str) -> None:
    assert last_simple_name(text) == expected
