"""Code that has the query's words, in code files and between fences."""

from __future__ import annotations

import pytest
from understand_support import paths, run_for

from dowse.search.query_features import CodeBlocks
from dowse.store.base import Store
from search.stages.refine_support import put


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("Call it:\n```python\nretry_all()\nretry(3)\n```\nDone.", "doc", True),
        ("Call it:\n~~~\nretryLater(3)\n~~~", "doc", True),
        ("A list:\n  ```\n  retry\n", "doc", True),  # a fence that a chunk's end has cut
        ("Just retry.\n```\nother()\n```\nretry again", "doc", False),
        ("Just retry.", "doc", False),
        ("Say `retry`.", "doc", False),
        ("def retry(): ...", "code", True),
    ],
)
def test_only_code_counts(store: Store, text: str, kind: str, found: bool) -> None:
    put(store, "a.md", text, kind=kind)
    run = run_for(store, "retry")
    assert paths(store, CodeBlocks()(run)) == (["a.md"] if found else [])
    assert run.notes == ([] if found else ["no code contains the words of the query"])


@pytest.mark.parametrize(("text", "found"), [("one two six four five", True), ("one two six seven five", False)])
def test_most_of_the_words_must_be_in_the_code(store: Store, text: str, found: bool) -> None:
    put(store, "a.md", "six seven\n```\none two four five\n```")
    assert bool(CodeBlocks()(run_for(store, text))) is found


@pytest.mark.parametrize("query", ["parse json", "parse_json", "parseJson", "json parse"])
@pytest.mark.parametrize("code", ["parse_json(text)", "_parse_json(text)", "PARSE_JSON = 1", "parseJson(text)"])
def test_names_in_code_are_found_by_their_parts(store: Store, query: str, code: str) -> None:
    put(store, "a.md", f"Call it:\n```python\n{code}\n```")
    assert paths(store, CodeBlocks()(run_for(store, query))) == ["a.md"]


def test_ranked_by_words(store: Store) -> None:
    put(store, "a.md", "```\nretry()\nother()\nand_more()\n```")
    put(store, "b.md", "```\nretry(retry)\n```")
    put(store, "c.md", "retry " * 9)
    put(store, "d.md", "nothing\n```\nx\n```")
    put(store, "e.md", "else")
    put(store, "f.md", "at all")
    put(store, "g.md", "here")
    assert paths(store, CodeBlocks()(run_for(store, "retry"))) == ["b.md", "a.md"]


def test_a_query_without_words(store: Store) -> None:
    put(store, "a.md", "```\nretry\n```")
    assert CodeBlocks()(run_for(store, "?!")) == []
