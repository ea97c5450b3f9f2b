"""Globs: what each form of pattern means, and that no pattern can crash or stall."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.text.globs import compile_globs

MATCHES = [
    ("*.md", "a.md", True),
    ("*.md", "x/y/a.md", True),
    ("*.md", "a.mdx", False),
    ("*.md", ".md", True),
    ("*.md", "a.MD", False),
    ("node_modules", "node_modules/a.js", True),
    ("node_modules", "x/node_modules/y/a.js", True),
    ("node_modules", "node_modules", True),
    ("node_modules", "my_node_modules/a.js", False),
    ("build/", "build/a.o", True),
    ("build/", "x/build/y/a.o", True),
    ("build/", "build", False),
    ("build/", "x/build", False),
    ("docs/*", "docs/a.md", True),
    ("docs/*", "docs/x/a.md", True),
    ("docs/*", "docs", False),
    ("docs/*", "docs/", False),
    ("docs/*", "x/docs/a.md", False),
    ("docs/**", "docs/x/y/a.md", True),
    ("docs/**", "docs", False),
    ("docs/**", "x/docs/a", False),
    ("docs/*.md", "docs/a.md", True),
    ("docs/*.md", "docs/x/a.md", False),
    ("docs/**/*.md", "docs/a.md", True),
    ("docs/**/*.md", "docs/x/y/a.md", True),
    ("docs/**/*.md", "docs/x/y/a.txt", False),
    ("docs/api", "docs/api/x.md", True),
    ("docs/api", "docs/api", True),
    ("docs/api", "docs/apis", False),
    ("src/**/tests/**/test_*.py", "src/a/tests/b/test_x.py", True),
    ("src/**/tests/**/test_*.py", "src/tests/test_x.py", True),
    ("src/**/tests/**/test_*.py", "src/a/test_x.py", False),
    ("**/a*b/c", "ax/ab/c", True),
    ("**", "any/thing", True),
    ("*", "any/thing", True),
    (".", "any/thing", True),
    ("/README.md", "README.md", True),
    ("/README.md", "x/README.md", False),
    ("./README.md", "x/README.md", False),
    ("./docs//*.md", "docs/a.md", True),
    ("**/README.md", "README.md", True),
    ("**/README.md", "x/y/README.md", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("a?c", "aéc", True),
    ("[abc].md", "b.md", True),
    ("[abc].md", "d.md", False),
    ("[!abc].md", "d.md", True),
    ("[^abc].md", "a.md", False),
    ("[a-c]x", "bx", True),
    ("a[+-9]c", "a/c", False),
    ("a[!b]c", "a/c", False),
    ("[[:digit:]]x", "7x", True),
    ("[]]x", "]x", True),
    ("[a-]x", "-x", True),
    ("*.{md,txt}", "x/a.txt", True),
    ("*.{md,txt}", "x/a.rst", False),
    ("{docs,notes}/**/*.{md,txt}", "notes/x/a.md", True),
    ("{a,b{c,d}}e", "bde", True),
    ("{a,b{c,d}}e", "be", False),
    ("x{,.bak}", "x", True),
    (r"\*.md", "*.md", True),
    (r"\*.md", "a.md", False),
    (r"\[id\].tsx", "app/[id].tsx", True),
    (r"a\{b", "a{b", True),
    ("a.c", "abc", False),
    ("x*", "x\ny", True),
    ("a*b*c", "a1b2b3c", True),
    ("a*b*c", "a1c2b", False),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
def test_a_pattern_means(pattern, path, expected):
    assert compile_globs([pattern])(path) is expected


RIFFLUX_EXCLUDES = (
    ".git/*",
    ".venv/*",
    "**/__pycache__/*",
    "**/.pytest_cache/*",
    "**/.ruff_cache/*",
    "**/node_modules/*",
)


@pytest.mark.parametrize(
    "path",
    [
        ".git/HEAD",
        ".git/refs/heads/main",
        ".venv/lib/python/a.md",
        "__pycache__/a.md",
        "x/__pycache__/y/a.md",
        ".pytest_cache/README.md",
        "x/y/.ruff_cache/a",
        "node_modules/a/b/README.md",
        "web/node_modules/a/README.md",
    ],
)
def test_star_below_a_directory_covers_everything_below_it(path):
    assert compile_globs(RIFFLUX_EXCLUDES)(path)


def test_a_list_matches_what_any_of_its_globs_matches():
    matches = compile_globs(["*.md", "docs/", "/setup.py", "*.mdx", "README"])
    paths = ["a.md", "b.mdx", "docs/c", "setup.py", "x/setup.py", "README", "x/README", "a.mdy"]
    assert [path for path in paths if matches(path)] == [
        "a.md",
        "b.mdx",
        "docs/c",
        "setup.py",
        "README",
        "x/README",
    ]


def test_no_globs_match_nothing():
    assert not compile_globs([])("a")


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "  ",
        "[",
        "a[b",
        "[]",
        "[[:nonsense:]]",
        "{a",
        "{,a}",
        "a\\",
        "../x",
        "x/../y",
        "{a,b}" * 9,
        "x" * 5000,
    ],
)
def test_a_broken_glob_is_named(pattern):
    with pytest.raises(BadInput, match=re.escape(repr(pattern)[1:20])):
        compile_globs([pattern])


@pytest.mark.parametrize(
    "pattern", ["*a" * 500 + "b", "**/a/" * 300 + "b", "**/*a*a*a*a*a*a*a*a*a/b", "**/" * 900 + "b"]
)
def test_no_glob_runs_away(pattern):
    """With backtracking these would not end in this universe's time."""
    assert not compile_globs([pattern])("a" * 255 + "/a" * 1500 + "c")


@given(
    st.lists(st.text(alphabet="ab/*?[]{},!^-\\.:é\n", max_size=12), max_size=4),
    st.text(alphabet="ab/.é\n", max_size=12),
)
def test_any_text_is_a_glob_or_bad_input(patterns, path):
    try:
        matches = compile_globs(patterns)
    except BadInput:
        return
    singly = []
    for pattern in patterns:
        singly.append(compile_globs([pattern])(path))
    assert matches(path) is any(singly)
