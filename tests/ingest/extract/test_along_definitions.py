"""Blocks along definitions: they cover the text, keep functions whole and say where they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.extract.along_definitions import ALONE_CHARS, WHOLE_CHARS, blocks_along
from dowse.model import Block, Symbol


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
    assert trails(text, blocks_along(text, symbols)) == [
        ("def large():", ("large",)),
        ("def one():", ()),
        ("def wide():", ("wide",)),
    ]


def test_what_does_not_divide_the_text_changes_no_block():
    text = function("one", 20) + "\n" + function("two", 20)
    symbols = [Symbol("one", "function", 1, 20), Symbol("two", "function", 22, 41)]
    inner = [Symbol("one_9", "variable", 11, 11, 1, 0), Symbol("two_9", "variable", 32, 32)]
    assert blocks_along(text, [*symbols, *inner], {2, 3}) == blocks_along(text, symbols)


def test_a_large_class_falls_into_its_members_and_a_small_one_stays_whole():
    def class_of(size: int) -> tuple[str, list[Symbol]]:
        text = "class Box:\n    kind = 'box'\n\n" + function("first", size) + "\n" + function("second", size)
        box = Symbol("Box", "class", 1, 4 + 2 * size)
        first = Symbol("first", "method", 4, 3 + size, 1, 0)
        return text, [box, first, Symbol("second", "method", 5 + size, 4 + 2 * size, 1, 0)]

    small, symbols = class_of(6)
    assert len(small) <= WHOLE_CHARS
    assert trails(small, blocks_along(small, symbols)) == [("class Box:", ("Box",))]
    large, symbols = class_of(40)
    assert [trail for _, trail in trails(large, blocks_along(large, symbols))] == [
        ("Box",),
        ("Box", "first"),
        ("Box", "second"),
    ]


def test_comments_and_decorators_above_belong_to_the_definition():
    text = "import os\nimport sys\n" * 20 + "\n# says why\n@cached\n" + function("work", 20)
    blocks = blocks_along(text, [Symbol("work", "function", 44, 63)])
    assert trails(text, blocks)[-1] == ("# says why", ("work",))


def test_a_namespace_is_gone_through_without_a_trail():
    text = "namespace Some {\n" + function("one", 20) + "\n" + function("two", 20) + "}\n"
    symbols = [
        Symbol("Some", "namespace", 1, 43),
        Symbol("one", "function", 2, 21, 1, 0),
        Symbol("two", "function", 23, 42, 1, 0),
    ]
    assert [trail for _, trail in trails(text, blocks_along(text, symbols))] == [(), ("one",), ("two",)]


def test_definitions_on_one_line_and_without_a_last_line_feed():
    text = "class A: pass; x = 1; y = 2"
    symbols = [Symbol("A", "class", 1, 1), Symbol("x", "variable", 1, 1), Symbol("y", "variable", 1, 1)]
    assert blocks_along(text, symbols) == (Block(0, len(text), ("A",)),)


def test_no_text_and_no_symbols():
    assert blocks_along("", []) == ()
    assert blocks_along("x\n", []) == (Block(0, 2),)


@given(
    st.lists(st.sampled_from(["", "x", "# c", "@d", "y" * ALONE_CHARS, "z" * 90]), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(-2, 70), st.integers(-2, 70), st.integers(0, 9)), max_size=12),
)
def test_whatever_the_spans_the_blocks_cover_the_text_in_order(lines, spans):
    text = "\n".join(lines)
    symbols = [
        Symbol(f"s{at}", "class", max(1, start), end, 0, parent if parent < at else None)
        for at, (start, end, parent) in enumerate(spans)
    ]
    blocks = blocks_along(text, symbols)
    assert "".join(text[it.start : it.end] for it in blocks) == text
    assert all(it.start < it.end for it in blocks)


def test_a_member_written_outside_of_its_class_is_a_piece_of_its_own_below_its_name():
    body = "x" * 600
    text = f"class A;\n{body}\nvoid A.f\n{body}\n"
    symbols = [Symbol("A", "class", 1, 1), Symbol("f", "method", 3, 4, level=1, parent=0)]
    assert [(text[it.start : it.end][:8], it.trail) for it in blocks_along(text, symbols)][-1] == (
        "void A.f",
        ("A", "f"),
    )


def test_namespaces_in_namespaces_have_an_end():
    symbols = [Symbol("a", "namespace", 1, 2, level=it, parent=it - 1 if it else None) for it in range(5_000)]
    assert [(it.start, it.end) for it in blocks_along("a\nb\n", symbols)] == [(0, 4)]


def test_what_only_closes_something_is_no_block_of_its_own():
    body = "".join(f"        call_{number}(with, some, arguments);\n" for number in range(40))
    text = f"class Box\n{{\n    void First()\n    {{\n{body}    }}\n\n    void Last()\n    {{\n{body}    }}\n}}\n"
    symbols = [
        Symbol("Box", "class", 1, 89),
        Symbol("First", "method", 3, 45, 1, 0),
        Symbol("Last", "method", 47, 88, 1, 0),
    ]
    blocks = blocks_along(text, symbols)
    assert [trail for _, trail in trails(text, blocks)] == [("Box",), ("Box", "First"), ("Box", "Last")]
    assert text[blocks[-1].start : blocks[-1].end].endswith("    }\n}\n")
