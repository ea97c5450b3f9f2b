"""A user's words as terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.tokenize import MAX_QUERY_CHARS, MAX_TERMS, QueryTerm, QueryTerms, parse_query


def wanted(*words: str) -> tuple[QueryTerm, ...]:
    return tuple(QueryTerm((word,)) for word in words)


PARSED = [
    ("Retry Policy", QueryTerms(optional=wanted("retry", "policy"))),
    ("how does the retry work", QueryTerms(optional=wanted("retry", "work"))),
    ("to be or not to be", QueryTerms(optional=wanted("to", "be", "or", "not"))),
    ("parseJSON", QueryTerms(optional=wanted("parsejson", "parse", "json"))),
    ("get_user", QueryTerms(optional=wanted("get_user"))),
    ('"exact phrase" more', QueryTerms((QueryTerm(("exact", "phrase")),), wanted("more"))),
    ("“curly quotes”", QueryTerms((QueryTerm(("curly", "quotes")),))),
    ('"the" word', QueryTerms((QueryTerm(("the",)),), wanted("word"))),
    ('unbalanced " quote', QueryTerms(optional=wanted("unbalanced", "quote"))),
    ("検索エンジン", QueryTerms(optional=wanted("検索", "索エ", "エン", "ンジ", "ジン"))),
    ("字", QueryTerms(optional=(QueryTerm(("字",), prefix=True),))),
    ('"全文検索"', QueryTerms((QueryTerm(("全文", "文検", "検索")),))),
    ("", QueryTerms()),
    ("\0 \t *** ()", QueryTerms()),
    ('"same" same', QueryTerms((QueryTerm(("same",)),))),
    ("same same SAME", QueryTerms(optional=wanted("same"))),
]


@pytest.mark.parametrize(("text", "expected"), PARSED)
def test_parse(text: str, expected: QueryTerms) -> None:
    assert parse_query(text) == expected


def test_quotes_in_a_long_text_require_nothing() -> None:
    terms = parse_query('It says "not found" here. ' + "More words follow. " * 12)
    assert terms.required == () and QueryTerm(("found",)) in terms.optional


def test_a_huge_query_is_bounded() -> None:
    terms = parse_query(" ".join(f"word{number}" for number in range(1_000_000)))
    assert 0 < len(terms.optional) <= MAX_TERMS
    assert parse_query("x" * 10_000_000).optional == wanted("x" * MAX_QUERY_CHARS)


@given(st.text())
def test_any_text_parses(text: str) -> None:
    terms = parse_query(text)
    assert bool(terms) == bool(terms.required or terms.optional)
