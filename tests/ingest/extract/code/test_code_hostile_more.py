"""Input of the smaller languages that was not meant to be read: deep, broken, empty, on one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_code_extract import assert_sound
from test_code_go import CALLS as GO_CALLS
from test_code_go import SYMBOLS as GO_SYMBOLS
from test_code_go import inside as in_go
from test_code_java import CALLS as JAVA_CALLS
from test_code_java import SYMBOLS as JAVA_SYMBOLS
from test_code_java import inside as in_java
from test_code_kotlin import CALLS as KOTLIN_CALLS
from test_code_kotlin import SYMBOLS as KOTLIN_SYMBOLS
from test_code_kotlin import inside as in_kotlin
from test_code_php import CALLS as PHP_CALLS
from test_code_php import SYMBOLS as PHP_SYMBOLS
from test_code_php import inside as in_php
from test_code_php import php
from test_code_scala import CALLS as SCALA_CALLS
from test_code_scala import SYMBOLS as SCALA_SYMBOLS
from test_code_scala import inside as in_scala

from dowse.ingest.extract.code import extract_code
from dowse.model import Extraction, Item

SNIPPETS = {
    "a.go": [*(source for source, _ in GO_SYMBOLS), *(in_go(body) for body, _ in GO_CALLS)],
    "a.java": [*(source for source, _ in JAVA_SYMBOLS), *(in_java(body) for body, _ in JAVA_CALLS)],
    "a.kt": [*(source for source, _ in KOTLIN_SYMBOLS), *(in_kotlin(body) for body, _ in KOTLIN_CALLS)],
    "a.php": [*(php(source) for source, _ in PHP_SYMBOLS), *(in_php(body) for body, _ in PHP_CALLS)],
    "a.scala": [*(source for source, _ in SCALA_SYMBOLS), *(in_scala(body) for body, _ in SCALA_CALLS)],
}
FUNCTIONS = {
    "a.go": "func f() { %s }",
    "a.java": "class A { void f() { %s } }",
    "a.kt": "fun f() { %s }",
    "a.php": "<?php function f() { %s }",
    "a.scala": "def f() = { %s }",
}
TYPES = {"a.java": "class A { ", "a.kt": "class A { ", "a.php": "<?php class A { ", "a.scala": "class A { "}
DEEP = 1_000
PATHS = sorted(SNIPPETS)


def read(path: str, source: str) -> Extraction:
    found = extract_code(Item(path, 0, 0), source.encode("utf-8", "surrogatepass"))
    assert_sound(found)
    return found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        "(" * DEEP + "g()" + ")" * DEEP,
        "g(" * DEEP + ")" * DEEP,
        "{ " * DEEP,
        "if (a) { " * DEEP,
        "a" + ".b()" * DEEP,
        "a" + "->b()" * DEEP,
        "x = " + "a && " * DEEP + "b",
        "g(" + "x, " * DEEP + "y)",
        "[" * DEEP,
    ],
)
def test_depth_and_width_do_no_harm(path, body):
    read(path, FUNCTIONS[path].replace("%s", body))


@pytest.mark.parametrize("path", sorted(TYPES))
def test_types_in_types_do_no_harm(path):
    read(path, TYPES[path] + TYPES[path].removeprefix("<?php ") * DEEP)


@pytest.mark.parametrize("path", PATHS)
def test_a_large_line_is_read_to_its_end(path):
    found = read(path, FUNCTIONS[path].replace("%s", "g(h(1), x(2)); " * DEEP))
    assert (found.symbols[-1].name, len(found.calls)) == ("f", 3 * DEEP)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("source", ["", "\n", "\ufeff", "\r\n\r\n"])
def test_nothing_is_read_as_nothing(path, source):
    found = read(path, source)
    assert (found.symbols, found.calls, found.facets["empty"]) == ((), (), "nothing but blanks")


@pytest.mark.parametrize("path", PATHS)
def test_a_byte_order_mark_and_crlf_change_nothing(path):
    for source in SNIPPETS[path]:
        plain = read(path, source)
        marked = read(path, "\ufeff" + source.replace("\n", "\r\n"))
        assert (marked.symbols, marked.calls, marked.links) == (plain.symbols, plain.calls, plain.links)


@given(st.sampled_from(PATHS), st.data())
def test_broken_code_is_read_as_far_as_it_goes(path, data):
    parts = data.draw(st.lists(st.sampled_from(SNIPPETS[path]), min_size=1, max_size=3))
    cuts = [data.draw(st.integers(0, len(part))) for part in parts]
    glue = data.draw(st.sampled_from(["", "\n", "{", "}", "(", '"', "\n  "]))
    kept = data.draw(st.booleans())
    read(path, glue.join(part[:cut] if kept else part[cut:] for part, cut in zip(parts, cuts, strict=True)))


@given(st.sampled_from(PATHS), st.text(st.characters(exclude_characters="\0"), max_size=200))
def test_any_text_is_read(path, text):
    read(path, text)
