"""Rust, C, C++, Ruby, Swift and Bash: nothing in a file can do harm, and what can be read is."""

from __future__ import annotations

import pytest
import test_code_bash
import test_code_c
import test_code_ruby
import test_code_rust
import test_code_swift
from code_facts import extracted, symbol_lines
from hypothesis import given, settings
from hypothesis import strategies as st
from test_code_extract import assert_sound

from dowse.ingest.extract.code import extract_code
from dowse.model import Item

SNIPPETS = {
    "a.rs": [it[0] for it in (*test_code_rust.SYMBOLS, *test_code_rust.CALLS)],
    "a.c": [it[1] for it in (*test_code_c.SYMBOLS, *test_code_c.THROUGH_MACROS)],
    "a.cpp": [
        *(it[1] for it in (*test_code_c.SYMBOLS, *test_code_c.THROUGH_MACROS)),
        *(it[0] for it in test_code_c.CALLS),
    ],
    "a.rb": [it[0] for it in (*test_code_ruby.SYMBOLS, *test_code_ruby.CALLS)],
    "a.swift": [it[0] for it in (*test_code_swift.SYMBOLS, *test_code_swift.CALLS)],
    "a.sh": [it[0] for it in (*test_code_bash.SYMBOLS, *test_code_bash.CALLS)],
}
FUNCTIONS = {
    "a.rs": "fn {name}() {{ {body} }}\n",
    "a.c": "void {name}(void) {{ {body}; }}\n",
    "a.cpp": "void {name}() {{ {body}; }}\n",
    "a.rb": "def {name}\n {body}\nend\n",
    "a.swift": "func {name}() {{ {body} }}\n",
    "a.sh": "{name}() {{ {body}; }}\n",
}
DEEP = 3_000


def read(path: str, text: str):
    found = extract_code(Item(path, 0, 0), text.encode("utf-8", "surrogatepass"))
    assert_sound(found)
    return found


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_byte_order_mark_and_crlf_change_nothing(path):
    text = FUNCTIONS[path].format(name="a", body="x") + "\n" + FUNCTIONS[path].format(name="b", body="y")
    plain, marked = read(path, text), read(path, "\ufeff" + text.replace("\n", "\r\n"))
    assert [it.name for it in plain.symbols] == ["a", "b"]
    assert (marked.symbols, marked.calls) == (plain.symbols, plain.calls)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_what_follows_a_syntax_error_is_read(path):
    broken = FUNCTIONS[path].format(name="a", body="x") + ") ) = ;\n" + FUNCTIONS[path].format(name="b", body="y")
    found = read(path, broken)
    assert {"a", "b"} <= {it.name for it in found.symbols}
    assert int(found.facets["errors"]) > 0


@pytest.mark.parametrize("path", FUNCTIONS)
@pytest.mark.parametrize(
    "body",
    [
        "(" * DEEP + "f()" + ")" * DEEP,
        "f(" * DEEP + ")" * DEEP,
        "a" + ".b()" * DEEP,
        "{" * DEEP,
        "f(" + "x, " * DEEP + "y)",
    ],
    ids=["brackets", "calls", "chain", "open", "wide"],
)
def test_depth_and_width_do_no_harm(path, body):
    read(path, FUNCTIONS[path].format(name="a", body=body))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rs", "use " + "a::{" * DEEP + "b" + "}" * DEEP + ";"),
        ("a.rs", "fn f(a: " + "Vec<" * DEEP + "u8" + ">" * DEEP + ") { let " + "Some(" * DEEP + "x = a; }"),
        ("a.rs", "m!" + "(" * DEEP + ")" * DEEP),
        ("a.rs", "impl A { fn a() {} }\n" * DEEP),
        ("a.c", "int " + "*" * DEEP + "p; int " + "(" * DEEP + "q" + ")" * DEEP + ";"),
        ("a.c", "#if A\n" * DEEP),
        ("a.c", "#if A\n{\n" * DEEP + "#endif\n" * DEEP),
        ("a.c", "#define A /*" * DEEP),
        ("a.c", "#if A\n{" + "/*" * DEEP + "\n#endif\n"),
        ("a.cpp", "class ABC " * DEEP + ") A(a);" * DEEP + "A(int,(" * DEEP + "x P((" * DEEP),
        ("a.cpp", "void " + "a::" * DEEP + "f() {}"),
        ("a.cpp", "namespace " + "a::" * DEEP + "b {}"),
        ("a.cpp", "void A::f() {}\n" * DEEP),
        ("a.rb", "class A\n" * 2_000),
        ("a.swift", "extension A { " * 2_000),
        ("a.sh", "if a; then " * DEEP),
    ],
)
def test_odd_files_do_no_harm(path, text):
    read(path, text)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_large_file_on_one_line_is_read_to_its_end(path):
    separator = "; " if path in ("a.rb", "a.sh", "a.swift") else " "
    one = FUNCTIONS[path].format(name="a", body="g").strip().replace("\n", ";")
    assert symbol_lines(read(path, separator.join([one] * 2_000)))[-1].startswith("function a")


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, str]:
    """Real snippets of one language, cut and spliced anywhere."""
    path = draw(st.sampled_from(sorted(SNIPPETS)))
    pieces = []
    for part in draw(st.lists(st.sampled_from(SNIPPETS[path]), min_size=1, max_size=4)):
        start = draw(st.integers(0, len(part)))
        pieces.append(draw(st.sampled_from([part, part[start:], part[:start], part[:start] + "\n" + part[start:]])))
    return path, draw(st.sampled_from(["", "\n", "{", "}", "(", '"', "::", "."])).join(pieces)


@settings(max_examples=300)
@given(mangled())
def test_broken_code_is_read_as_far_as_it_goes(drawn):
    read(*drawn)


@given(st.sampled_from(sorted(SNIPPETS)), st.text(st.characters(exclude_characters="\0"), max_size=200))
def test_any_text_is_read(path, text):
    read(path, text)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_an_empty_file_is_told(path):
    assert extracted(path, "\n").facets["empty"] == "nothing but blanks"
