"""Letters in order: which paths they fit, and which of two they fit better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.lookup.find import fuzzy_letters, fuzzy_score


@pytest.mark.parametrize(
    ("letters", "better", "worse"),
    [
        ("hcm", "src/HttpCookieMode.cs", "src/watchcome.cs"),  # starts of words
        ("user", "src/user.py", "src/u_s_e_r.py"),  # in a row
        ("user", "lib/user.py", "user/lib.py"),  # in the name
        ("ab", "x/azb.py", "x/azzzzzzb.py"),  # few gaps
        ("fb", "foo_bar.py", "foobar.py"),
    ],
)
def test_which_fits_better(letters: str, better: str, worse: str) -> None:
    best, other = fuzzy_score(better, letters), fuzzy_score(worse, letters)
    assert best is not None and other is not None and best > other


def test_what_does_not_hold_the_letters_in_order_has_no_score() -> None:
    assert fuzzy_score("src/app.py", "ppa") is None
    assert fuzzy_score("src/app.py", "srcx") is None


def test_blanks_and_case_do_not_count() -> None:
    assert fuzzy_letters("Http Client") == "httpclient"
    with pytest.raises(BadInput, match="too many"):
        fuzzy_letters("x" * 101)


@given(st.text(alphabet="aAb/._", max_size=12), st.text(alphabet="ab/", max_size=4))
def test_a_score_means_that_the_letters_are_there_in_order(path: str, letters: str) -> None:
    rest = iter(path.lower())
    assert (fuzzy_score(path, letters) is not None) == all(letter in rest for letter in letters)
