"""Any code: what is said about a file as a whole, and that nothing in it can do harm."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines
from hypothesis import given
from hypothesis import strategies as st
from test_code_csharp import CALLS as CSHARP_CALLS
from test_code_csharp import SYMBOLS as CSHARP_SYMBOLS
from test_code_csharp import inside
from test_code_python import CALLS as PYTHON_CALLS
from test_code_python import SYMBOLS as PYTHON_SYMBOLS

from dowse.ingest.extract.code import extract_code
from dowse.model import Extraction, Item
from dowse.text.receiver_expressions import UNKNOWN_ROOT, parse_expression, split_arguments

SNIPPETS = {
    "a.py": [source for source, _ in [*PYTHON_SYMBOLS, *PYTHON_CALLS]],
    "a.cs": [*(source for source, _ in CSHARP_SYMBOLS), *(inside(body) for body, _ in CSHARP_CALLS)],
}
DEEP = 10_000


@pytest.mark.parametrize(
    ("path", "source", "facets"),
    [
        ("a.py", "x = 1", {"language": "python"}),
        ("a.cs", "class A { }", {"language": "csharp"}),
        ("a.PY", "x = 1", {"language": "python"}),
        ("a.unknown", "x = 1", {}),
        ("a.py", "", {"language": "python", "empty": "nothing but blanks"}),
        ("a.py", "# c\n'''doc'''", {"language": "python", "empty": "only comments"}),
        ("a.py", "# c\nimport a\nfrom b import c", {"language": "python", "empty": "only imports"}),
        ("a.py", "import a\nmain()", {"language": "python", "empty": "only imports and statements"}),
        ("a.py", "{'a': [1, 2]}", {"language": "python", "empty": "only data"}),
        (
            "a.cs",
            "// c\nusing A;\n[assembly: B]",
            {"language": "csharp", "empty": "only using directives and attributes"},
        ),
        ("a.cs", "/* c */", {"language": "csharp", "empty": "only comments"}),
        ("a.cs", "#if X\nusing A;\n#endif", {"language": "csharp", "empty": "only using directives"}),
        ("a.py", "def f(:\n  pass\n", {"language": "python", "errors": "1"}),
    ],
)
def test_facets(path, source, facets):
    assert extracted(path, source).facets == facets


def test_a_byte_order_mark_and_crlf_change_nothing():
    source = "class A:\n  def m(self):\n    return f()\n\nx = A()\n"
    plain = extracted("a.py", source)
    marked = extract_code(Item("a.py", 0, 0), b"\xef\xbb\xbf" + source.replace("\n", "\r\n").encode())
    assert (marked.symbols, marked.calls) == (plain.symbols, plain.calls)
    wide = extract_code(Item("a.py", 0, 0), b"\xff\xfe" + source.encode("utf-16-le"))
    assert (wide.symbols, wide.calls) == (plain.symbols, plain.calls)


def test_lines_count_line_feeds_whatever_stands_before():
    found = extracted("a.py", "'''ä\u2028ö'''\n\n\ndef f():\n  g()\n")
    assert (found.symbols[0].start_line, found.symbols[0].end_line, found.calls[0].line) == (4, 5, 5)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "x = " + "(" * DEEP + "f()" + ")" * DEEP),
        ("a.py", "x = " + "f(" * DEEP + ")" * DEEP),
        ("a.py", "x = a" + ".b()" * DEEP),
        ("a.py", "x = " + "a or " * DEEP + "b"),
        ("a.py", "x = " + "a if b else " * DEEP + "c"),
        ("a.py", "x = " + "[" * DEEP),
        ("a.py", "def f(x):\n" + "  x = x.next()\n" * DEEP + "  x.go()"),
        ("a.py", "def f(x):\n" + "".join(f"  x{n} = x{n - 1}\n" for n in range(1, DEEP)) + f"  x{DEEP - 1}.go()"),
        ("a.py", "def f(x):\n" + "  if x: y = g()\n" * DEEP + "  y.go()"),
        ("a.py", "f(" + "x, " * DEEP + ")"),
        ("a.py", "a, " * DEEP + "b = c"),
        ("a.cs", "class A { object x = " + "(" * DEEP + "F()" + ")" * DEEP + "; }"),
        ("a.cs", "class A { object x = a" + ".B()" * DEEP + "; }"),
        ("a.cs", "class A { object x = " + "a ?? " * DEEP + "b; }"),
        ("a.cs", "class A { " * 2_000),
        ("a.cs", "class A { void M() { " + "if (a) { " * 2_000),
        ("a.cs", "class A { void M() { " + "if (a) F(); else " * 2_000 + "G(); } }"),
        ("a.cs", "class A { " + "List<" * 2_000 + "int" + ">" * 2_000 + " x; }"),
    ],
)
def test_depth_and_width_do_no_harm(path, source):
    assert_sound(extract_code(Item(path, 0, 0), source.encode()))


def test_what_is_kept_is_cut_to_a_length():
    found = extracted("a.py", f"def f({'p, ' * 1_000}):\n  x = a{'.b()' * 1_000}\n  x.go()\n")
    assert 290 < len(found.symbols[0].signature) <= 300
    assert max(len(call.callee) for call in found.calls) <= 300
    assert found.calls[-1].callee == "?.go"


def test_a_large_line_is_read_to_its_end():
    found = extract_code(Item("a.py", 0, 0), b"f(g(1), x.y(2));" * 5_000 + b"z = 1\n")
    assert (len(found.calls), symbol_lines(found)) == (15_000, ["variable z = :int;"])


def test_the_same_names_again_and_again():
    found = extracted("a.py", "class A(A):\n  def m(self): self.m()\n" * 50)
    assert len(found.symbols) == 100
    assert set(call_lines(found)) == {"A.m: m this.m"}


def assert_sound(found: Extraction) -> None:
    last = found.text.count("\n") + 1
    for number, symbol in enumerate(found.symbols):
        assert 1 <= symbol.start_line <= symbol.end_line <= last
        assert symbol.parent is None or symbol.parent < number
        above = None if symbol.parent is None else found.symbols[symbol.parent]
        assert symbol.level == (0 if above is None else above.level + 1)
        assert not symbol.value_expression or parse_expression(symbol.value_expression)[0].root != UNKNOWN_ROOT
    for call in found.calls:
        assert 1 <= call.line <= last
        assert call.symbol is None or 0 <= call.symbol < len(found.symbols)
        assert call.name
        assert call.callee
        callee, _ = split_arguments(call.callee)
        assert len(parse_expression(callee)) == callee.count("|") + 1


@st.composite
def mangled(draw: st.DrawFn, path: str) -> str:
    """Real snippets, cut and spliced anywhere."""
    parts = draw(st.lists(st.sampled_from(SNIPPETS[path]), min_size=1, max_size=4))
    pieces = []
    for part in parts:
        start = draw(st.integers(0, len(part)))
        pieces.append(draw(st.sampled_from([part, part[start:], part[:start], part[:start] + "\n" + part[start:]])))
    return draw(st.sampled_from(["", "\n", "{", "}", "(", '"', "\n  "])).join(pieces)


@given(mangled("a.py"))
def test_broken_python_is_read_as_far_as_it_goes(source):
    assert_sound(extract_code(Item("a.py", 0, 0), source.encode()))


@given(mangled("a.cs"))
def test_broken_csharp_is_read_as_far_as_it_goes(source):
    assert_sound(extract_code(Item("a.cs", 0, 0), source.encode()))


@given(st.text(st.characters(exclude_characters="\0"), max_size=300), st.sampled_from(["a.py", "a.cs"]))
def test_any_text_is_read(text, path):
    assert_sound(extract_code(Item(path, 0, 0), text.encode("utf-8", "surrogatepass")))
