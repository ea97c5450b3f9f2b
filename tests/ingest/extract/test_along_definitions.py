"""Blocks along definitions: they cover the text, keep functions whole and say where they stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.chunk import ChunkLimits, chunk_extract
from dowse.ingest.extract.code.chunks import MAX_JOINABLE_CHARS, MAX_WHOLE_CHARS, split_along_definitions
from dowse.ingest.extract.registry import extract
from dowse.model import TEST_ROLE, Block, Item, Symbol


def function(name: str, lines: int) -> str:
    return f"def {name}():\n" + "".join(
        f"    {name}_{number} = 'some value of a line'\n" for number in range(lines - 1)
    )


def trails(text: str, blocks: tuple[Block, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [(text[it.start : it.end].strip().split("\n")[0], it.trail) for it in blocks]


def test_functions_of_some_length_stand_alone_and_small_ones_join():
    text = function("large", 20) + "\n" + function("one", 2) + "\n" + function("two", 2) + "\n" + function("wide", 20)
    symbols = [
        Symbol("large", "function", 1, 20),
        Symbol("one", "function", 22, 23),
        Symbol("two", "function", 25, 26),
        Symbol("wide", "function", 28, 47),
    ]
    assert trails(text, split_along_definitions(text, symbols)) == [
        ("def large():", ("large",)),
        ("def one():", ()),
        ("def wide():", ("wide",)),
    ]


def test_what_does_not_divide_the_text_changes_no_block():
    text = function("one", 20) + "\n" + function("two", 20)
    symbols = [Symbol("one", "function", 1, 20), Symbol("two", "function", 22, 41)]
    inner = [Symbol("one_9", "variable", 11, 11, 1, 0), Symbol("two_9", "variable", 32, 32)]
    assert split_along_definitions(text, [*symbols, *inner], {2, 3}) == split_along_definitions(text, symbols)


def test_a_large_class_falls_into_its_members_and_a_small_one_stays_whole():
    def class_of(size: int) -> tuple[str, list[Symbol]]:
        text = "class Box:\n    kind = 'box'\n\n" + function("first", size) + "\n" + function("second", size)
        box = Symbol("Box", "class", 1, 4 + 2 * size)
        first = Symbol("first", "method", 4, 3 + size, 1, 0)
        return text, [box, first, Symbol("second", "method", 5 + size, 4 + 2 * size, 1, 0)]

    small, symbols = class_of(6)
    assert len(small) <= MAX_WHOLE_CHARS
    assert trails(small, split_along_definitions(small, symbols)) == [("class Box:", ("Box",))]
    large, symbols = class_of(40)
    assert [trail for _, trail in trails(large, split_along_definitions(large, symbols))] == [
        ("Box",),
        ("Box", "first"),
        ("Box", "second"),
    ]


def test_comments_and_decorators_above_belong_to_the_definition():
    text = "import os\nimport sys\n" * 20 + "\n# says why\n@cached\n" + function("work", 20)
    blocks = split_along_definitions(text, [Symbol("work", "function", 44, 63)])
    assert trails(text, blocks)[-1] == ("# says why", ("work",))


def test_a_namespace_is_gone_through_without_a_trail():
    text = "namespace Some {\n" + function("one", 20) + "\n" + function("two", 20) + "}\n"
    symbols = [
        Symbol("Some", "namespace", 1, 43),
        Symbol("one", "function", 2, 21, 1, 0),
        Symbol("two", "function", 23, 42, 1, 0),
    ]
    assert [trail for _, trail in trails(text, split_along_definitions(text, symbols))] == [(), ("one",), ("two",)]


def test_definitions_on_one_line_and_without_a_last_line_feed():
    text = "class A: pass; x = 1; y = 2"
    symbols = [Symbol("A", "class", 1, 1), Symbol("x", "variable", 1, 1), Symbol("y", "variable", 1, 1)]
    assert split_along_definitions(text, symbols) == (Block(0, len(text), ("A",)),)


def test_no_text_and_no_symbols():
    assert split_along_definitions("", []) == ()
    assert split_along_definitions("x\n", []) == (Block(0, 2),)


@given(
    st.lists(st.sampled_from(["", "x", "# c", "@d", "y" * MAX_JOINABLE_CHARS, "z" * 90]), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(-2, 70), st.integers(-2, 70), st.integers(0, 9)), max_size=12),
)
def test_whatever_the_spans_the_blocks_cover_the_text_in_order(lines, spans):
    text = "\n".join(lines)
    symbols = [
        Symbol(f"s{at}", "class", max(1, start), end, 0, parent if parent < at else None)
        for at, (start, end, parent) in enumerate(spans)
    ]
    blocks = split_along_definitions(text, symbols)
    assert "".join(text[it.start : it.end] for it in blocks) == text
    assert all(it.start < it.end for it in blocks)


def test_a_member_written_outside_of_its_class_is_a_piece_of_its_own_below_its_name():
    body = "x" * 600
    text = f"class A;\n{body}\nvoid A.f\n{body}\n"
    symbols = [Symbol("A", "class", 1, 1), Symbol("f", "method", 3, 4, level=1, parent=0)]
    assert [(text[it.start : it.end][:8], it.trail) for it in split_along_definitions(text, symbols)][-1] == (
        "void A.f",
        ("A", "f"),
    )


def test_namespaces_in_namespaces_have_an_end():
    symbols = [Symbol("a", "namespace", 1, 2, level=it, parent=it - 1 if it else None) for it in range(5_000)]
    assert [(it.start, it.end) for it in split_along_definitions("a\nb\n", symbols)] == [(0, 4)]


def test_what_only_closes_something_is_no_block_of_its_own():
    body = "".join(f"        call_{number}(with, some, arguments);\n" for number in range(40))
    text = f"class Box\n{{\n    void First()\n    {{\n{body}    }}\n\n    void Last()\n    {{\n{body}    }}\n}}\n"
    symbols = [
        Symbol("Box", "class", 1, 89),
        Symbol("First", "method", 3, 45, 1, 0),
        Symbol("Last", "method", 47, 88, 1, 0),
    ]
    blocks = split_along_definitions(text, symbols)
    assert [trail for _, trail in trails(text, blocks)] == [("Box",), ("Box", "First"), ("Box", "Last")]
    assert text[blocks[-1].start : blocks[-1].end].endswith("    }\n}\n")


# A comment (with what else stands above a definition) in front of each definition, as it is written in each language.
LINE = "    call(with_, some, arguments, of_, a_, line);\n"
ABOVE = [
    ("a.js", "/**\n * Says why.\n */\n\n", "app.work = function work(x) {\n", "};\n"),
    ("a.js", "/**\n * Says why, for lib/**\n */\n", "module.exports.work = function (x) {\n", "};\n"),
    ("a.js", "// Says why,\n// in two lines.\n\n", "exports.work = (x) => {\n", "};\n"),
    ("a.js", "/* Says why\n   without stars. */\n", "const work = function (x) {\n", "};\n"),
    ("a.js", "/** Says why. */\n\n", "Thing.prototype.work = async function (x) {\n", "};\n"),
    ("a.ts", "/**\n * Says why.\n */\n\n", "export const work = async (x: string): Promise<void> => {\n", "};\n"),
    ("a.ts", "// Says why.\n@cached({\n  size: 3,\n})\n", "export class Work {\n  run() {\n", "  }\n}\n"),
    ("a.py", "# Says why.\n\n\n", "def work(x):\n", ""),
    ("a.py", "# Says why.\n@cached(\n    size=3,\n)\n", "def work(x):\n", ""),
    ("a.py", "# Says why.\n\n", "work = lambda x: (\n", ")\n"),
    ("a.go", "// Says why.\n//\n// And how.\n", "func work(x int) {\n", "}\n"),
    ("a.go", "/*\nSays why.\n*/\n", "func work(x int) {\n", "}\n"),
    ("a.rs", '/// Says why.\n#[cfg_attr(\n    feature = "a",\n    inline\n)]\n', "pub fn work(x: i32) {\n", "}\n"),
    ("a.rs", "// Says why.\n\n#[inline]\n", "pub fn work(x: i32) {\n", "}\n"),
    ("A.java", "/**\n * Says why.\n */\n\n@Deprecated\n", "class Work {\n  void run() {\n", "  }\n}\n"),
    ("a.c", "/* Says why. */\n\n", "static void work(int x)\n{\n", "}\n"),
    ("a.cpp", "// Says why.\n\n", "void Thing::work(int x)\n{\n", "}\n"),
    ("a.rb", "# Says why.\n\n", "def work(x)\n", "end\n"),
    ("a.rb", "=begin\nSays why.\n=end\n", "def work(x)\n", "end\n"),
    ("a.php", "/**\n * Says why.\n */\n\n#[Pure]\n", "function work($x) {\n", "}\n"),
    ("A.cs", "/// <summary>Says why.</summary>\n[Some(\n    1)]\n", "class Work\n{\n  void Run()\n  {\n", "  }\n}\n"),
    ("a.kt", "/**\n * Says why.\n */\n\n@Cached(\n    3,\n)\n", "fun work(x: Int) {\n", "}\n"),
    ("a.swift", "/// Says why.\n\n@discardableResult\n", "func work(x: Int) {\n", "}\n"),
    ("a.scala", "/** Says why.\n  */\n\n", "def work(x: Int) = {\n", "}\n"),
    ("a.sh", "# Says why.\n\n", "work() {\n", "}\n"),
    ("a.sql", "-- Says why.\n\n", "CREATE FUNCTION work() RETURNS int AS $$ BEGIN\n", "END $$ LANGUAGE plpgsql;\n"),
    ("a.lua", "--[[\nSays why.\n--]]\n\n", "Thing.work = function(x)\n", "end\n"),
    ("a.ex", "# Says why.\n\n", "def work(x) do\n", "end\n"),
]


@pytest.mark.parametrize(("path", "above", "opening", "closing"), ABOVE)
def test_a_comment_belongs_to_what_follows_it(path: str, above: str, opening: str, closing: str) -> None:
    head = "<?php\n" if path.endswith(".php") else ""
    bodies = [opening.replace("ork", f"ork{at}") + LINE * 22 + closing for at in range(3)]
    text = head + "\n".join(
        [bodies[0], *(above.replace("why", f"why {at + 1}") + it for at, it in enumerate(bodies[1:]))]
    )
    found = [it.text for it in chunk_extract(extract(Item(path, 0, 0), text.encode()), ChunkLimits(1_500, 1))]
    for at in (1, 2):
        (said,) = (it for it in found if f"why {at}" in it)
        assert f"ork{at}" in said.split(LINE.strip())[0]
        assert said.startswith(above[:2])


def test_a_definition_on_one_line_is_not_above_the_next():
    body = "".join(f"        call_{number}(with, some, arguments);\n" for number in range(40))
    methods = "".join(f"    int {name}() {{\n{body}    }}\n" for name in "bc")
    text = f"class A {{\n    @Fast int a() {{ return 1; }}\n{methods}}}\n"
    blocks = extract(Item("A.java", 0, 0), text.encode()).blocks
    assert [it.trail for it in blocks] == [("A",), ("A", "b"), ("A", "c")]


IN_TESTS = [
    (
        "a.rs",
        "fn work() {\n  BODY\n}\n\n#[cfg(test)]\nmod tests {\n  use super::*;\n\n  fn helper() {\n    BODY\n  }\n\n"
        "  #[test]\n  fn works() {\n    BODY\n  }\n}\n",
        {"cfg(test)", "super", "helper", "works"},
    ),
    ("a.rs", "fn work() {\n  BODY\n}\n\n#[cfg(all(unix, test))]\nmod t {\n  fn x() {\n    BODY\n  }\n}\n", {"fn x"}),
    ("a.rs", "#[cfg(not(test))]\nfn work() {\n  BODY\n}\n\n#[cfg(any(test, unix))]\nfn x() {\n  BODY\n}\n", set()),
    ("a.rs", "fn work() {\n  BODY\n}\n\n#[tokio::test]\nasync fn works() {\n  BODY\n}\n", {"works"}),
    ("a.rs", "fn work() {}\n\n#[cfg(test)]\nmod tests {\n  #[test]\n  fn works() {}\n}\n", {"works"}),
    ("A.java", "class Work {\n  void run() {}\n}\n\nclass Works {\n  @Test\n  void x() {}\n}\n", {"class Works"}),
    ("A.cs", "class Work\n{\n  void Run()\n  {\n  }\n}\n\n[TestFixture]\nclass Works\n{\n}\n", {"class Works"}),
    ("a.kt", "fun work() {\n  BODY\n}\n\n@Test\nfun works() {\n  BODY\n}\n", {"works"}),
]


@pytest.mark.parametrize(("path", "text", "tests"), IN_TESTS)
def test_tests_among_other_code_are_blocks_of_their_own_role(path: str, text: str, tests: set[str]) -> None:
    text = text.replace("BODY", "call(with_, some, arguments); " * 20)
    found = chunk_extract(extract(Item(path, 0, 0), text.encode()), ChunkLimits())
    marked = "\n".join(it.text for it in found if it.role == TEST_ROLE)
    assert {it for it in tests if it in marked} == tests
    assert bool(marked) == bool(tests)
    assert re.search(r"\bwork\b|\bWork\b", marked) is None
    assert "".join("".join(it.text.split()) for it in found) == "".join(text.split())
