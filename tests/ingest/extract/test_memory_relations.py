"""The words around a link say how a memory stands to its target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.extract.registry import extract
from dowse.model import Item, Link


def links(text: str) -> tuple[Link, ...]:
    data = text.encode()
    return extract(Item("notes.md", len(data), 0, "memory"), data).links


def kinds(text: str) -> list[tuple[str, str]]:
    return [(it.kind, it.target) for it in links(text)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("See [[x]] for more", "mentions"),
        ("The plan is to change [[x]]", "plans"),
        ("I will look at [[x]]", "plans"),
        ("TODO: [[x]]", "plans"),
        ("Next: [[x]]", "plans"),
        ("Refactored [[x]] today", "refactors"),
        ("rewriting [[x]]", "refactors"),
        ("Moved to [[x]]", "refactors"),
        ("This supersedes [[x]]", "supersedes"),
        ("Supersedes: [[x]]", "supersedes"),
        ("replaces [[x]]", "supersedes"),
        ("[[x]] is superseded by this", "supersedes"),
        ("This is superseded by [[x]]", "superseded_by"),
        ("[[x]] supersedes this", "superseded_by"),
        ("This note supersedes the old one. See [[x]]", "mentions"),
        ("The sanitizer replaces tabs with blanks. Background: [[x]]", "mentions"),
        ("It depends on the weather; see [[x]]", "mentions"),
        ("Supersedes what follows.\n\n- [[x]]", "mentions"),
        ("## Supersedes\n\n- [[x]]", "supersedes"),
        ("We will rework the parser. It is in [[x]]", "plans"),
        ("This does not supersede [[x]], both hold.", "mentions"),
        ("It doesn't depend on [[x]]", "mentions"),
        ("It doesn\u2019t yet supersede [[x]]", "mentions"),
        ("We depend no longer on it nor contradict [[x]]", "mentions"),
        ("This no longer depends on [[x]]", "mentions"),
        ("There is no conflict with [[x]]", "mentions"),
        ("[[x]] is not superseded by this", "mentions"),
        ("It was never tested; plans for [[x]]", "plans"),
        ("This not only supersedes [[x]]", "supersedes"),
        ("It does not hold and so supersedes [[x]]", "supersedes"),
        ("It is not much: this supersedes [[x]]", "supersedes"),
        ("depends on [[x]]", "depends_on"),
        ("depends_on: [[x]]", "depends_on"),
        ("It relies on [[x]]", "depends_on"),
        ("contradicts [[x]]", "contradicts"),
        ("[[x]] contradicts what I found", "contradicts"),
        ("in conflict with [[x]]", "contradicts"),
        ("implements [[x]]", "implements"),
        ("tested by [[x]]", "tests"),
        ("fixes the bug in [[x]]", "fixes"),
        ("We plan to refactor [[x]]", "refactors"),
        ("willow and planet and tester of [[x]]", "mentions"),
        ("will" + " blah" * 20 + " [[x]]", "mentions"),
    ],
)
def test_one_link(text: str, kind: str) -> None:
    assert kinds(text) == [(kind, "x")]


def test_words_between_links_are_about_the_second() -> None:
    assert kinds("[[a]] supersedes [[b]]") == [("mentions", "a"), ("supersedes", "b")]
    assert kinds("I read [[a]] and will refactor [[b]].") == [("mentions", "a"), ("refactors", "b")]


def test_unless_they_are_in_the_sentence_of_the_first() -> None:
    assert kinds("[[a]] contradicts that. See [[b]]") == [("contradicts", "a"), ("mentions", "b")]
    assert kinds("supersedes [[a]]; see [[b]]") == [("supersedes", "a"), ("mentions", "b")]


def test_all_of_a_list_are_what_the_first_is() -> None:
    assert {kind for kind, _ in kinds("depends on [[a]], [[b]] and [[c]]")} == {"depends_on"}
    assert {kind for kind, _ in kinds("Depends on:\n\n- [[a]]\n- [[b]]\n- [[c]]\n")} == {"depends_on"}


def test_front_matter_is_no_context() -> None:
    assert kinds("---\ntype: plan\n---\n[[x]] is here") == [("mentions", "x")]


def test_nor_is_it_part_of_what_surrounds_a_link() -> None:
    assert links("---\ntype: plan\n---\nSee [[x]] here")[0].context == "See [[x]] here"


def test_targets_are_as_written_and_addresses_and_images_what_they_are() -> None:
    text = "[[src/server.py]] [[memory:other-note|Other]] [text](../src/a%20b.py) ![[pic.png]] https://a.example/x"
    assert kinds(text) == [
        ("mentions", "src/server.py"),
        ("mentions", "memory:other-note"),
        ("mentions", "../src/a b.py"),
        ("transcludes", "pic.png"),
        ("url", "https://a.example/x"),
    ]


def test_about_a_hundred_characters_around_it() -> None:
    link = links("x " * 100 + "we will change [[src/server.py]] " + "y " * 100)[0]
    assert "we will change [[src/server.py]] y" in link.context
    assert 80 < len(link.context) < 130


@given(
    st.lists(
        st.sampled_from(["[[a]]", "[[", "]]", "will ", "supersedes ", "- ", "\n", ". ", "and ", "x" * 70]), max_size=30
    )
)
def test_any_text_has_a_kind_for_each_link(parts: list[str]) -> None:
    assert all(it.kind and it.target for it in links("".join(parts)))
