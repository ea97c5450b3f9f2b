"""How near a name is to what was asked, and regexes over many lines at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.text.regex import (
    EXACT,
    PREFIX,
    SUBSTRING,
    compile_regex_predicate,
    line_predicate,
    lines_matching_regex,
    match_quality,
)


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("save", ["save"], EXACT),
        ("saveall", ["save"], PREFIX),
        ("unsaved", ["save"], SUBSTRING),
        ("load", ["save"], None),
        ("unsaved", ["save", "un"], PREFIX),
        ("unsaved", ["zz", "unsaved", "un"], EXACT),
        ("save", [], None),
    ],
)
def test_nearness(name: str, asked: list[str], expected: int | None) -> None:
    assert match_quality(name, asked) == expected


PATTERNS = [
    "a", "^a", "a$", "^a$", "^$", "", "b*", "(a)(b)", "a|b", "[^a]", "(?:a|b)+$", r"\Aa", r"a\z", r"\s", r"\W",
    "(?s)a.b", r"\Qa", "(?i)A", "(?-i)A", ".", "ab?", "(?P<x>a)",
]  # fmt: skip


@given(
    st.lists(st.text(alphabet="abA .é", max_size=5), min_size=1, max_size=6), st.sampled_from(PATTERNS), st.booleans()
)
def test_one_scan_finds_the_lines_that_a_search_in_each_does(lines: list[str], pattern: str, ignore_case: bool) -> None:
    search = compile_regex_predicate(pattern, ignore_case=ignore_case)
    text = "\n".join(lines)
    expected = {line for line in lines if search(line)}
    assert lines_matching_regex(pattern, text.encode(), ignore_case=ignore_case) == expected
    assert line_predicate(pattern, ignore_case=ignore_case)(text) or not expected


def test_a_file_without_a_matching_line_is_not_looked_at_closer() -> None:
    assert not line_predicate("a[^z]b", ignore_case=False)("a\nb")
    assert line_predicate("^b$", ignore_case=False)("a\nb")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "missing )"),
        (r"(a)\1", "back references are not supported"),
        ("(?<=a)b", "look-around"),
        ("a{1001}", "repetition"),
        ("\ud800", "not valid Unicode"),
        ("a" * 2_001, "longer than 2,000"),
        ("(" * 70, "…"),
    ],
)
def test_what_can_not_be_searched_for_says_why(pattern: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        lines_matching_regex(pattern, b"x", ignore_case=True)
    assert said in str(refused.value)
