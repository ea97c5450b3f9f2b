"""Letters without case, and what is known of the words around a literal."""

from __future__ import annotations

import sys

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.tokenize import fold_case, folded_words, phrase_regex, word_tests

letters = st.characters(exclude_categories=["Cs"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Foo_BAR9", "foo_bar9"),
        ("STRASSE ẞ ß", "strasse ß ß"),
        ("ΟΔΟΣ ς", "οδοσ σ"),
        ("ſ µ K", "s μ k"),
        ("İı", "İı"),
        ("Ꭰꭰ", "ᎠᎠ"),
    ],
)
def test_folding(text: str, expected: str) -> None:
    assert fold_case(text) == expected


@given(st.text(), st.text())
def test_a_part_folds_to_a_part(before: str, after: str) -> None:
    assert fold_case(before) + fold_case(after) == fold_case(before + after)
    assert fold_case(fold_case(before)) == fold_case(before)


def test_letters_that_regexes_take_for_the_same_fold_to_the_same() -> None:
    """Else lines would be left out before the regex sees them."""
    cased = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF and _has_case(chr(code))]
    options = re2.Options()
    options.case_sensitive = False
    others = {form for letter in cased for form in (letter.upper(), letter.lower(), letter.casefold(), letter.title())}
    single = sorted(form for form in others | set(cased) if len(form) == 1)
    by_fold: dict[str, list[str]] = {}
    for letter in single:
        by_fold.setdefault(fold_case(letter), []).append(letter)
    text = "\n".join(single)
    for letter in ("s", "k", "å", "σ", "μ", "θ", "ß", "i", "ω", "ʼ"):
        same = set(re2.findall(re2.escape(letter), text, options))
        assert same <= set(by_fold.get(fold_case(letter), [letter])), letter


def _has_case(letter: str) -> bool:
    return letter.lower() != letter or letter.upper() != letter


def test_words() -> None:
    assert folded_words("Foo.bar_1(x, 'é東京') -- İx") == ["foo", "bar_1", "x", "é東京", "İx"]


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("foo", [("holds", "foo")]),
        ("Foo.", [("ends", "foo")]),
        (".foo", [("begins", "foo")]),
        ("a.Bar(c", [("ends", "a"), ("is", "bar"), ("begins", "c")]),
        ("->", []),
    ],
)
def test_what_a_literal_tells_of_words(literal: str, expected: list[tuple[str, str]]) -> None:
    assert [tuple(it) for it in word_tests(literal)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("new foo", True),
        ("new\t \n foo", True),
        ("xnew foo", False),
        ("new foox", False),
        ("newfoo", False),
        ("énew foo", False),
        ("new foo(", True),
    ],
)
def test_words_in_a_row(text: str, expected: bool) -> None:
    assert (phrase_regex(("new", "foo")).search(text) is not None) == expected
