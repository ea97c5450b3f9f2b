"""A user's words as terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.terms import MAX_QUERY_CHARS, MAX_TERMS, Term, Terms, parse


def wanted(*words: str) -> tuple[Term, ...]:
    return tuple(Term((word,)) for word in words)


PARSED = [
    ("Retry Policy", Terms(wanted=wanted("retry", "policy"))),
    ("how does the retry work", Terms(wanted=wanted("retry", "work"))),
    ("to be or not to be", Terms(wanted=wanted("to", "be", "or", "not"))),
    ("parseJSON", Terms(wanted=wanted("parsejson", "parse", "json"))),
    ("get_user", Terms(wanted=wanted("get_user"))),
    ('"exact phrase" more', Terms((Term(("exact", "phrase")),), wanted("more"))),
    ("“curly quotes”", Terms((Term(("curly", "quotes")),))),
    ('"the" word', Terms((Term(("the",)),), wanted("word"))),
    ('unbalanced " quote', Terms(wanted=wanted("unbalanced", "quote"))),
    ("検索エンジン", Terms(wanted=wanted("検索", "索エ", "エン", "ンジ", "ジン"))),
    ("字", Terms(wanted=(Term(("字",), prefix=True),))),
    ('"全文検索"', Terms((Term(("全文", "文検", "検索")),))),
    ("", Terms()),
    ("\0 \t *** ()", Terms()),
    ('"same" same', Terms((Term(("same",)),))),
    ("same same SAME", Terms(wanted=wanted("same"))),
]


@pytest.mark.parametrize(("text", "expected"), PARSED)
def test_parse(text: str, expected: Terms) -> None:
    assert parse(text) == expected


def test_quotes_in_a_long_text_require_nothing() -> None:
    terms = parse('It says "not found" here. ' + "More words follow. " * 12)
    assert terms.required == () and Term(("found",)) in terms.wanted


def test_a_huge_query_is_bounded() -> None:
    terms = parse(" ".join(f"word{number}" for number in range(1_000_000)))
    assert 0 < len(terms.wanted) <= MAX_TERMS
    assert parse("x" * 10_000_000).wanted == wanted("x" * MAX_QUERY_CHARS)


@given(st.text())
def test_any_text_parses(text: str) -> None:
    terms = parse(text)
    assert bool(terms) == bool(terms.required or terms.wanted)
