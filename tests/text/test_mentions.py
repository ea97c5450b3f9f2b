"""Files that a text names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.references import mentioned_paths

PATHS = (
    "django/contrib/admin/filters.py",
    "django/db/models/fields/__init__.py",
    "django/forms/fields.py",
    "docs/guide/install.md",
    "a/util.py",
    "b/util.py",
    "c/util.py",
    "src/flask/app.py",
)
CASES = [
    ("see https://example.org/x/blob/2.2.1/django/contrib/admin/filters.py#L196", {"django/contrib/admin/filters.py"}),
    ('File "/usr/lib/python3/django/forms/fields.py", line 3', {"django/forms/fields.py"}),
    (r"in django\forms\fields.py", {"django/forms/fields.py"}),
    ("django.db.models.fields.CharField is wrong", {"django/db/models/fields/__init__.py"}),
    ("flask.app fails", {"src/flask/app.py"}),
    ("read install.md first", {"docs/guide/install.md"}),
    ("look into util.py", set()),
    ("look into b/util.py", {"b/util.py"}),
    ("e.g. this, i.e. that. Nothing else.", set()),
    ("self.fields", set()),
    ("", set()),
]


@pytest.mark.parametrize(("text", "named"), CASES)
def test_what_is_named(text: str, named: set[str]) -> None:
    assert mentioned_paths(text, PATHS) == named


def test_nothing_is_named_among_nothing() -> None:
    assert mentioned_paths("django/forms/fields.py", ()) == frozenset()


@given(st.text(alphabet="ab./\\ \n", max_size=200), st.lists(st.text(alphabet="ab./", min_size=1, max_size=20)))
def test_only_given_paths_are_named(text: str, paths: list[str]) -> None:
    assert mentioned_paths(text, paths) <= set(paths)


def test_a_long_text_is_read_only_so_far() -> None:
    assert mentioned_paths("x/" * 200_000 + "y.py", PATHS) == frozenset()
    assert mentioned_paths("a.b" * 100_000, PATHS) == frozenset()
