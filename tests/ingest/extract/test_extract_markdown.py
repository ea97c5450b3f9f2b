"""Markdown: what is title, section, block, symbol, link, tag and facet."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.markdown import extract_markdown
from dowse.model import Item


def extract(text, path="notes/some-file.md"):
    data = text.encode()
    return extract_markdown(Item(path, len(data), 0), data)


def parts(text):
    """Each block's text, trail and wholeness."""
    found = extract(text)
    return [(found.text[block.start : block.end], block.trail, block.atomic) for block in found.blocks]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From above\n---\n# Heading\n", "From above"),
        ("---\ntitle: [a, b]\n---\n# Heading\n", "Heading"),
        ("## Second\n\n# First\n", "First"),
        ("text\n\n### Third\n", "Third"),
        ("#\n\n## Named\n", "Named"),
        ("just text\n", "some-file"),
        ("> # quoted\n\n- # listed\n", "some-file"),
        ("", "some-file"),
        ("# A *b* `c` [d](e) ![f](g) [[h|i]] &amp; <b>j</b> {#id}\n", "A b c d f i & j"),
        ("Two\nlines\n===\n", "Two lines"),
        ("# " + "x" * 300, "x" * 200),
        ("```\n# no\n```\n\n<!--\n# no\n-->\n\n    # no\n", "some-file"),
    ],
)
def test_title(text, title):
    assert extract(text).title == title


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("---\na: b\n---\n", []),
        (" \n\n", [(" \n\n", (), False)]),
        ("---\na: b\n---\n\none\n", [("\none\n", (), False)]),
        ("\n\n# A\n", [("\n\n# A\n", ("A",), False)]),
        (
            "pre\n\n# A\n\none\ntwo\n\n\nthree\n",
            [
                ("pre\n\n", (), False),
                ("# A\n\n", ("A",), False),
                ("one\ntwo\n\n\n", ("A",), False),
                ("three\n", ("A",), False),
            ],
        ),
        (
            "# A\n### B\n## C\n# D\n",
            [
                ("# A\n", ("A",), False),
                ("### B\n", ("A", "B"), False),
                ("## C\n", ("A", "C"), False),
                ("# D\n", ("D",), False),
            ],
        ),
        (
            "# A\n\n#\n\nx\n\n## B\n",
            [
                ("# A\n\n", ("A",), False),
                ("#\n\n", (), False),
                ("x\n\n", (), False),
                ("## B\n", ("B",), False),
            ],
        ),
        (
            "A\n=\nx\n\n  B\n---\ny",
            [
                ("A\n=\n", ("A",), False),
                ("x\n\n", ("A",), False),
                ("  B\n---\n", ("A", "B"), False),
                ("y", ("A", "B"), False),
            ],
        ),
        ("A\r\n=\r\n\r\nx\r\n", [("A\r\n=\r\n\r\n", ("A",), False), ("x\r\n", ("A",), False)]),
        (
            "a\n\n```py\n# x\n\ny\n```\n\nb\n",
            [("a\n\n", (), False), ("```py\n# x\n\ny\n```\n\n", (), True), ("b\n", (), False)],
        ),
        ("a\n\n```\nnever closed\n# x\n", [("a\n\n", (), False), ("```\nnever closed\n# x\n", (), True)]),
        (
            "a\n\n    code\n\n    more\n\nb\n",
            [("a\n\n", (), False), ("    code\n\n    more\n\n", (), True), ("b\n", (), False)],
        ),
        ("\tcode\n", [("\tcode\n", (), True)]),
        ("|a|b|\n|-|-|\n|c|d|\n\nx", [("|a|b|\n|-|-|\n|c|d|\n\n", (), True), ("x", (), False)]),
        ("<div>\n# x\n</div>\n\ny", [("<div>\n# x\n</div>\n\n", (), True), ("y", (), False)]),
        ("- a\n\n  b\n- c\n   - d\n", [("- a\n\n  b\n", (), False), ("- c\n   - d\n", (), False)]),
        (
            "1. a\n   ```\n   x\n   ```\n   b\n2. c\n",
            [
                ("1. a\n", (), False),
                ("   ```\n   x\n   ```\n", (), True),
                ("   b\n", (), False),
                ("2. c\n", (), False),
            ],
        ),
        ("- ```\n  x\n  ```\n- b\n", [("- ```\n  x\n  ```\n", (), True), ("- b\n", (), False)]),
        (
            "> a\n> ```\n> x\n> ```\n> b\n",
            [("> a\n", (), False), ("> ```\n> x\n> ```\n", (), True), ("> b\n", (), False)],
        ),
        ("```\nx\n```\n[a]: b\n[c]: d\n", [("```\nx\n```\n", (), True), ("[a]: b\n[c]: d\n", (), False)]),
        ("[a]: b\n\n# A\n\n[c]: d\n", [("[a]: b\n\n", (), False), ("# A\n\n[c]: d\n", ("A",), False)]),
        ("a\n\n---\n\nb", [("a\n\n", (), False), ("---\n\n", (), False), ("b", (), False)]),
        ("é漢🦊\n\n# é\n\n漢", [("é漢🦊\n\n", (), False), ("# é\n\n", ("é",), False), ("漢", ("é",), False)]),
    ],
)
def test_blocks(text, blocks):
    assert parts(text) == blocks


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("text\n", []),
        ("# A\n", [("A", 1, 1, 1, None)]),
        ("x\n\n# A\n\ny\n\n## B\nz\n# C", [("A", 1, 3, 8, None), ("B", 2, 7, 8, 0), ("C", 1, 9, 9, None)]),
        ("# A\n### B\n## C\n", [("A", 1, 1, 3, None), ("B", 3, 2, 2, 0), ("C", 2, 3, 3, 0)]),
        ("## A\n## A\n", [("A", 2, 1, 1, None), ("A", 2, 2, 2, None)]),
        ("# A\n## \n### B\n", [("A", 1, 1, 3, None), ("B", 3, 3, 3, 0)]),
        ("---\na: b\n---\nA\n=\n\nx\n", [("A", 1, 4, 7, None)]),
        ("> # q\n\n- # l\n", []),
    ],
)
def test_symbols(text, symbols):
    found = [(each.name, each.level, each.start_line, each.end_line, each.parent) for each in extract(text).symbols]
    assert found == symbols
    assert all(each.kind == "heading" for each in extract(text).symbols)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            "[[A]] [[A b|c]] [[A#H]] [[A#H|c]] [[d/e.md]]",
            ["links_to A", "links_to A b", "links_to A#H", "links_to A#H", "links_to d/e.md"],
        ),
        ("![[A]] ![[A#H|c]]", ["transcludes A", "transcludes A#H"]),
        (
            '[a](b.md) [a](b%20c.md "t") [a](<b c.md>) [a](../b.md#c)',
            ["links_to b.md", "links_to b c.md", "links_to b c.md", "links_to ../b.md#c"],
        ),
        ("[a][r] [r] [r][]\n\n[R]: x/y.md 't'\n", ["links_to x/y.md"] * 3),
        (
            "[a](https://x.y/a%20b) [a](mailto:a@b.c) [a](//x.y)",
            ["url https://x.y/a%20b", "url mailto:a@b.c", "url //x.y"],
        ),
        (
            "<https://x.y> <a@b.c> see https://x.y/a_b_(c), (https://z.y).",
            ["url https://x.y", "url mailto:a@b.c", "url https://x.y/a_b_(c)", "url https://z.y"],
        ),
        (
            "![a](b%20c.png) ![a](https://x.y/z.png) [![a](b.png)](c.md)",
            ["image b c.png", "image https://x.y/z.png", "links_to c.md", "image b.png"],
        ),
        ("[a](#b) [a]() [[ ]] ![x](data:image/png;base64,AAAA)", ["links_to #b"]),
        ("[a](b%ff.md) [a](b%00.md)", ["links_to b%ff.md", "links_to b%00.md"]),
        ("[a](" + "b" * 3000 + ")", []),
        ("`[[A]]` \\[[B]\\] <!-- [[C]] -->\n\n```\n[[D]] https://x.y\n```\n\n    [[E]](f)\n", []),
        ("| a |\n|---|\n| [[b\\|c]] |\n", ["links_to b"]),
        ("[https://a.b](c.md)", ["links_to c.md"]),
        ("[^1]\n\n[^1]: [[A]]\n", ["links_to A"]),
        ("[missing] [also][missing]", []),
    ],
)
def test_links(text, links):
    assert [f"{link.kind} {link.target}" for link in extract(text).links] == links


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("# Implementation", "implements"),
        ("# What implements this", "implements"),
        ("# Tests", "tests"),
        ("# Testing notes", "tests"),
        ("# Related work", "related"),
        ("# See also", "related"),
        ("# Attested implementers", "links_to"),
        ("# Other", "links_to"),
        ("# Tests\n## Other", "tests"),
        ("# Tests\n## Related", "related"),
        ("# Tests\n# Other", "links_to"),
    ],
)
def test_the_nearest_telling_heading_gives_a_link_its_kind(heading, kind):
    assert [link.kind for link in extract(f"{heading}\n\n[[A]] [b](https://c.d)\n").links] == [kind, "url"]


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("tests/plan.md", "[[A]]", "tests"),
        ("docs/test/plan.md", "[a](b.md)", "tests"),
        ("docs/test_plan.md", "# Other\n\n[[A]]", "tests"),
        ("docs/login.test.md", "[[A]]", "tests"),
        ("tests/plan.md", "# See also\n\n[[A]]", "related"),
        ("tests/plan.md", "![[A]]", "transcludes"),
        ("tests/plan.md", "<https://a.b>", "url"),
        ("docs/testing.md", "[[A]]", "links_to"),
        ("docs/latest/plan.md", "[[A]]", "links_to"),
        ("docs/specs/plan.md", "[[A]]", "links_to"),
    ],
)
def test_links_in_a_test_file_are_of_tests_unless_a_heading_says_otherwise(path, text, kind):
    assert [link.kind for link in extract(text, path).links] == [kind]


def test_links_know_their_line_and_surroundings():
    before, after = "earlier words " * 20, " later words" * 20
    links = extract(f"---\na: b\n---\nfirst\n\n{before}é [[A]]{after}\n\n[[B]]\n").links
    assert [(link.target, link.line) for link in links] == [("A", 6), ("B", 8)]
    assert "earlier words é [[A]] later words" in links[0].context
    assert 90 <= len(links[0].context) <= 120
    assert links[1].context == "[[B]]"


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one and (#two), #Three/four-five #one", ("one", "three/four-five", "two")),
        ("#123 #1a a#b ##c \\#d &#35; `#e` https://x.y/#f <b id='#g'> #", ("1a",)),
        ("# heading\n\n#tag\n\n```\n#no\n```\n\n    #no\n", ("tag",)),
        ("[#no](x) [#yes](", ("yes",)),
        ("| #cell |\n|---|\n", ("cell",)),
        ("#été #日本", ("été", "日本")),
        ("---\ntags: [B, '#a/c', two words]\nkeywords: x, y\n---\n#B", ("a/c", "b", "two words", "x", "y")),
        ("#" + "x" * 101, ()),
    ],
)
def test_tags(text, tags):
    assert extract(text).tags == tags


def test_front_matter_becomes_aliases_and_facets():
    found = extract(
        "---\ntitle: T\naliases: [a, b c]\nstatus: draft\ndate: 2024-01-02\nlist: [a]\nlong: " + "x" * 201 + "\n---\n"
    )
    assert found.aliases == ("a", "b c")
    assert found.facets == {"status": "draft", "date": "2024-01-02"}


def test_a_description_is_kept_whole_whatever_else_there_is():
    many = "".join(f"k{n}: v\n" for n in range(50))
    assert extract(f"---\n{many}description: {'x' * 900}\n---\n").facets["description"] == "x" * 900
    assert len(extract(f"---\ndescription: {'x' * 5000}\n---\n").facets["description"]) == 1000
    assert "description" not in extract("---\ndescription: [a]\n---\n").facets


def test_facets_are_few():
    assert len(extract("---\n" + "".join(f"k{n}: v\n" for n in range(50)) + "---\n").facets) == 20


def test_broken_front_matter_is_said_and_skipped():
    found = extract("---\ntitle: a: b\n---\n# A\n")
    assert found.title == "A"
    assert "mapping values" in found.facets["front_matter_problem"]
    assert [found.text[block.start : block.end] for block in found.blocks] == ["# A\n"]
