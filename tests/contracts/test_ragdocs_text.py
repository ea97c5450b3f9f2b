"""Which questions are cut short, and what names of excluded files mean."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.text.globs import compile_globs
from dowse.tools.ragdocs import excluded_globs
from dowse.tools.ragdocs_render import is_factual, passage_beginning


@pytest.mark.parametrize(
    ("query", "factual"),
    [
        ("getUserById function", True),
        ("install", True),
        ("What is a token?", True),
        ("CONFIG file", True),
        ("how do tokens expire?", False),
        ("why use tokens", False),
        ("How to install", False),
        ("getting started with the setup", False),
        ("Explain the command", False),
        ("what is the difference of both", False),
        ("installation guide", False),
        ("tokens", True),
        ("tokens?", False),
    ],
)
def test_questions_that_look_something_up(query: str, factual: bool) -> None:
    assert is_factual(query) is factual


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a" * 200, "a" * 200),
        ("a" * 201, "a" * 200 + "..."),
        ("a" * 190 + " " * 20 + "b", "a" * 190 + "..."),
        ("🚀" * 201, "🚀" * 200 + "..."),
    ],
)
def test_beginnings(text: str, shown: str) -> None:
    assert passage_beginning(text) == shown


PATHS = ("api.md", "api.v2.md", "api.txt", "api/intro.md", "docs/api.md", "docs/API.md", "docs/my api.md")


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("api.md", {"api.md", "docs/api.md"}),
        ("./api.md", {"api.md"}),
        ("/root/api.md", {"api.md"}),
        ("/root/docs/api", {"docs/api.md"}),
        ("/rooted/api.md", set()),
        ("docs/api.md", {"docs/api.md"}),
        ("docs//api.md", {"docs/api.md"}),
        ("x/../docs/./api.md", {"docs/api.md"}),
        ("/docs/api.md", {"docs/api.md"}),
        ("api", {"api.md", "api.txt", "api/intro.md", "docs/api.md"}),
        ("docs/api", {"docs/api.md"}),
        ("docs", {"docs/api.md", "docs/API.md", "docs/my api.md"}),
        ("api/", {"api/intro.md"}),
        ("my api", {"docs/my api.md"}),
        ("api.v2", {"api.v2.md"}),
        ("ap?.*", {"api.md", "api.v2.md", "api.txt", "docs/api.md"}),
        ("docs/*", {"docs/api.md", "docs/API.md", "docs/my api.md"}),
        ("../api.md", set()),
        ("/root/../api.md", {"api.md"}),
        ("/x/../root/docs/api.md", {"docs/api.md"}),
        ("/root/docs/../../api.md", {"api.md"}),
        ("..", set()),
    ],
)
def test_names_of_excluded_files(name: str, paths: set[str]) -> None:
    excluded = compile_globs(excluded_globs([name], ["/root"]))
    assert {path for path in PATHS if excluded(path)} == paths


@given(st.lists(st.text(st.sampled_from("ab./\\*?[]{}!,-~ \0é"), max_size=12), max_size=5))
def test_any_names_are_globs_or_refused(names: list[str]) -> None:
    try:
        globs = excluded_globs(names, ["/root", "/a b"])
    except BadInput as problem:
        assert str(problem).startswith("excluded_files: ")
    else:
        compile_globs(globs)("a/b.md")


@given(st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1, max_size=30))
@example(". ")
def test_a_path_as_it_is_shown_is_excluded(name: str) -> None:
    if name.strip() and name not in (".", ".."):
        assert compile_globs(excluded_globs([f"docs/{name}"], ["/root"]))(f"docs/{name}")
        assert compile_globs(excluded_globs([name], ["/root"]))(f"docs/{name}")
