"""Bash: what a script defines, calls and sources."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.languages.bash import LANGUAGES

SYMBOLS = [
    ("foo() { :; }\nfunction bar { :; }\nfunction baz() { :; }", ["function foo", "function bar", "function baz"]),
    ("X=1\nexport Y=2\nreadonly Z\nX=3", ["variable X", "variable Y"]),
    ("foo() { local a=1; b=2; inner() { :; }; return 1; }", ["function foo", "function foo.inner"]),
    ("a::b() { :; }\nc-d() { :; }", ["function b", "function c-d"]),
    ("e:f() { :; }", ["function e:f"]),
    ("alias ll='ls -l' gs=\"git s\"\nalias -g X='|'\nalias y", ["function ll", "function gs", "function X"]),
    ("echo hi", []),
]
# What the grammar does not understand, each with a function behind it.
MISUNDERSTOOD = [
    "if cat <<EOF; then\nx\nEOF\nfoo; fi",
    "cat <<EOF\n${x\nEOF",
    "cat <<EOF\n${b:-'} \nEOF",
    "cat <<A <<-'B'\n${x\nA\n\t${y\n\tB",
    'if cat <<"E F"; then\nx() {\nE F\nfoo; fi',
    'if a="$(cat <<EOF\n\'\nEOF\n)"; cat <<EOF; then\nx\nEOF\nfoo; fi',
    'a=${b//[!a-z]/}; c=${d#*\\\'}; e="${f%"${g}"}"',
    "case $x in -${n}@([sD]|[hV]*))\n return;; esac",
    "[[ $OSTYPE == *@(linux|darwin)* ]] || return 1",
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


@pytest.mark.parametrize("source", MISUNDERSTOOD)
def test_a_function_behind_what_the_grammar_does_not_understand(source):
    found = extracted("a.sh", f"before() {{ :; }}\n{source}\nafter() {{\n  :\n}}\n")
    lines = source.count("\n") + 1
    functions = [(it.name, it.start_line, it.end_line) for it in found.symbols if it.kind == "function"]
    assert functions == [("before", 1, 1), ("after", lines + 2, lines + 4)]


@pytest.mark.parametrize("mark", ["<<", "<<'", '"$(', "${", "@(", "((", "$'", "`", "<<A <<", "\\"])
def test_a_script_of_nothing_but_marks_stays_as_long_as_it_is(mark):
    script = (mark * 20_000 + "\n" + f"{mark}\n" * 5_000).encode()
    simplify = LANGUAGES[0].simplify
    assert simplify is not None
    found = simplify(script)
    assert (len(found), found.count(b"\n")) == (len(script), script.count(b"\n"))


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
