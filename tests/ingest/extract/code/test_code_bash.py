"""Bash: what a script defines, calls and sources."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

SYMBOLS = [
    ("foo() { :; }\nfunction bar { :; }\nfunction baz() { :; }", ["function foo", "function bar", "function baz"]),
    ("X=1\nexport Y=2\nreadonly Z\nX=3", ["variable X", "variable Y"]),
    ("foo() { local a=1; b=2; inner() { :; }; return 1; }", ["function foo", "function foo.inner"]),
    ("a::b() { :; }\nc-d() { :; }", ["function b", "function c-d"]),
    ("echo hi", []),
]

CALLS = [
    ("bar x y", ["f: bar bar"]),
    ("a=$(bar x | baz)", ["f: bar bar", "f: baz baz"]),
    ("echo a; cd b; return 1", []),
    ('"$cmd" x; ./run.sh; $y', []),
    ("if bar; then a::b 1; fi", ["f: bar bar", "f: b a.b"]),
    ("trap f EXIT", ["f: trap trap", "refer f: f f"]),
    ("apt-get update && bar", ["f: apt-get apt-get", "f: bar bar"]),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_definitions(source, expected):
    assert symbol_lines(extracted("a.sh", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    assert call_lines(extracted("a.sh", f"f() {{ {body}; }}")) == expected


def test_calls_count_their_arguments():
    assert [it.arguments for it in extracted("a.sh", 'f\ng 1 "$2"\n').calls] == [0, 2]


def test_what_is_sourced():
    found = extracted("a.bash", '. ./lib.sh\nsource "$DIR/x.sh"\n')
    assert [(it.target, it.context) for it in found.links] == [("./lib.sh", "*="), ("$DIR/x.sh", "*=")]


def test_how_involved_a_function_is():
    source = """
        f() { if a && b; then for i in x; do g; done; elif c; then d; else e; fi
          case $1 in a) s;; *) t;; esac; return 1; }
    """
    (it,) = extracted("a.sh", source).symbols
    assert it.stats is not None
    assert tuple(it.stats) == (7, 7, 2, 0, 1, 9, 0)


@pytest.mark.parametrize(("source", "reason"), [("# c", "only comments"), ("echo hi", "only statements")])
def test_why_a_file_defines_nothing(source, reason):
    assert extracted(".bashrc", source).facets == {"language": "bash", "empty": reason}
