"""Regexes of lines: what they refuse, what they find, and that nothing they match is left out beforehand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.text.regex import MAX_PATTERN_CHARS, compile_line_regex, escape_literal, required_words
from dowse.text.tokenize import folded_words
from oracle.dict_store import passes

PARTS = (
    "foo", "Bar", "x", "é", "ſ", ".", r"\w", r"\s*", r"\b", "[a-c]", "[Ff]", "[^x]", r"\.", "(", ")", "(?:", "(?i)",
    "|", "*", "+", "?", "{2}", "{0,1}", "^", "$", "_", " ", "->", r"\d", "[[:alpha:]]", "(?P<n>", r"\(",
    "[--a]", "[]x]", "{,2}",
)  # fmt: skip
patterns = st.lists(st.sampled_from(PARTS), min_size=1, max_size=7).map("".join)
lines = st.lists(
    st.sampled_from(["foo", "FOO", "bar", "xfoo", "foobar", " ", ".", "é", "S", "s", "x", "_", "(", "->", "1", "aa"]),
    max_size=8,
).map("".join)


def compiles(pattern: str) -> bool:
    try:
        compile_line_regex(pattern, False)
    except BadInput:
        return False
    return True


@settings(max_examples=600)
@given(patterns.filter(compiles), st.lists(lines, max_size=12))
def test_every_line_that_matches_has_the_words_that_are_required(pattern: str, some: list[str]) -> None:
    clauses = required_words(pattern)
    for line in some:
        if any(True for _ in compile_line_regex(pattern, False).places(line.encode() + b"\n")):
            for clause in clauses:
                assert any(passes(word, test) for word in folded_words(line) for test in clause), (line, clause)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("foo", [[("holds", "foo")]]),
        (r"Get\w+Async\(", [[("holds", "get")], [("ends", "async")]]),
        (r"foo\.bar\(", [[("ends", "foo")], [("is", "bar")]]),
        (r"(begin|end)_invoke", [[("holds", "begin"), ("holds", "end")], [("holds", "_invoke")]]),
        (r"(foo)?bar", [[("holds", "bar")]]),
        (r"(foo)+", [[("holds", "foo")]]),
        (r"[Ff]oo", [[("holds", "foo")]]),
        (r"foo|", []),
        (r"foo|x", []),
        (r"[[:alpha:]]foo", []),
        (r"\pLfoo", []),
        (r"f.o", []),
        (r"\w+", []),
    ],
)
def test_what_is_required(pattern: str, expected: list[list[tuple[str, str]]]) -> None:
    assert [[tuple(test) for test in clause] for clause in required_words(pattern)] == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "back references are not supported"),
        (r"(?=a)b", "look-around"),
        (r"(?<!a)b", "look-around"),
        ("(", "missing"),
        ("a)", "unexpected"),
        ("[a", "missing ]"),
        ("foo\\", "trailing"),
        ("*", "no argument"),
        ("a{2000}", "repetition"),
        ("((a{1,100}){1,100}){1,100}", "repetition|too large"),
        (r"\pL{40}", "too large"),
        ("\ud800", "surrogates"),
        ("a" * (MAX_PATTERN_CHARS + 1), "longer than"),
    ],
)
def test_what_can_not_be_used_is_refused_with_its_reason(pattern: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        compile_line_regex(pattern, False)


@given(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_what_is_escaped_matches_itself(literal: str) -> None:
    assert list(compile_line_regex(escape_literal(literal), True).places(f"{literal}\n".encode())) == [0]


@given(
    st.sampled_from(
        [r"a", r"^a", r"a$", r"^$", r"[^b]", r"\s", r"a*", r"a\s+b", r"(?s)a.b", r"\Aa", r"a\z", r"a\n", r"\b"]
    ),
    st.lists(st.text("ab \r", max_size=4), min_size=1, max_size=6),
)
def test_lines_are_matched_one_by_one(pattern: str, some: list[str]) -> None:
    """Whatever a pattern says, it never sees more than one line."""
    text = "".join(f"{line}\n" for line in some).encode()
    starts = [match.start() for match in re.finditer(rb"(?m)^", text)][: len(some)]
    found = {max(it for it in starts if it <= place) for place in compile_line_regex(pattern, True).places(text)}
    python = re.compile(pattern.replace(r"\z", r"\Z"))
    assert found == {start for start, line in zip(starts, some, strict=True) if python.search(line)}


@pytest.mark.parametrize(
    ("bomb", "found"),
    [
        ("(a+)+$", []),
        ("(a|aa)+$", []),
        ("(.*a){12}b", []),
        ("(a?){200}a{200}", [0]),
        ("([a-z]+)*!", [100_001]),
        ("^(([a-z])+.)+[A-Z]", []),
    ],
)
def test_no_pattern_takes_forever(bomb: str, found: list[int]) -> None:
    """A search that tries all ways would not end in the lifetime of the machine."""
    assert list(compile_line_regex(bomb, True).places(b"a" * 100_000 + b"?!\n")) == found
