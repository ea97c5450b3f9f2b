"""Front matter is read as text, and whatever it holds, the document goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.frontmatter import MAX_FRONT_MATTER_CHARS, list_value, parse_front_matter, text_value


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("title: Hello", {"title": "Hello"}),
        ("Title: Hello", {"title": "Hello"}),
        ("title: 'a: b'\ntags: [x, y]", {"title": "a: b", "tags": ("x", "y")}),
        ("tags:\n  - one\n  - two\n", {"tags": ("one", "two")}),
        (
            "version: 1.10\ncountry: no\ndate: 0000-99-99",
            {"version": "1.10", "country": "no", "date": "0000-99-99"},
        ),
        ("a:\nb: ~\nc: null\nd: ''\ne: 0", {"e": "0"}),
        ("a: {b: c}\nd: [e, {f: g}, [h], i]", {"d": ("e", "i")}),
        ("text: |\n  two\n  lines\n", {"text": "two\nlines\n"}),
        ("x: !!python/object:os.system ls", {"x": "ls"}),
        ("d: e\n? [a, b]\n: c", {"d": "e"}),
        ("# a comment\n\ntitle: x", {"title": "x"}),
        ("a: 1\na: 2", {"a": "2"}),
        ("{a: b}", {"a": "b"}),
        ("", {}),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("closing", ["---", "...", "--- "])
def test_yaml(source, values, newline, closing):
    head = f"---\n{source}\n{closing}\n".replace("\n", newline)
    found = parse_front_matter(head + "body")
    normal = {key: value.replace("\r", "") if isinstance(value, str) else value for key, value in found.values.items()}
    assert (normal, found.end, found.problem) == (values, len(head), "")


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ('title = "Hello"\ndraft = true\nweight = 3', {"title": "Hello", "draft": "true", "weight": "3"}),
        ('date = 2024-05-06\ntags = ["a", "b"]', {"date": "2024-05-06", "tags": ("a", "b")}),
        ("[extra]\na = 1", {}),
    ],
)
def test_toml(source, values):
    head = f"+++\n{source}\n+++\n"
    found = parse_front_matter(head + "body")
    assert (found.values, found.end, found.problem) == (values, len(head), "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Title\n---\na: b\n---\n",
        " ---\na: b\n---\n",
        "---\na: b\n",
        "----\na: b\n----\n",
        "---\n\nA paragraph between two rules, with no key in sight.\n\n---\n",
        "---\n- a\n- list\n---\n",
        "---\nhttp://example.org\n---\n",
        "---\na: " + "x" * MAX_FRONT_MATTER_CHARS + "\n---\n",
    ],
)
def test_what_is_not_front_matter_stays_in_the_body(text):
    found = parse_front_matter(text)
    assert (found.values, found.end, found.problem) == ({}, 0, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\ntitle: a: b\n---\n", "mapping values are not allowed"),
        ("---\na: @x\n---\n", "cannot start any token"),
        ("---\na: \x01\n---\n", "control characters"),
        ("---\na: &x 1\nb: *x\n---\n", "anchors and aliases"),
        ("---\na: &x 1\n---\n", "anchors and aliases"),
        ("---\na: " + "[" * 3000 + "\n---\n", "nested more than 20 levels deep"),
        ("---\n" + "{a: " * 30 + "1" + "}" * 30 + "\n---\n", "nested more than 20 levels deep"),
        ("+++\na = \n+++\n", "Invalid value"),
        ("+++\na = " + "9" * 5000 + "\n+++\n", "limit"),
        ("+++\na = " + "[" * 8_000 + "\n+++\n", "recursion"),
        ("+++\n" + "a." * 30_000 + "a = 1\n+++\n", "longer than 8 kB"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_said(text, problem):
    found = parse_front_matter(text + "body")
    assert found.values == {}
    assert found.end == len(text)
    assert problem in found.problem
    assert "\n" not in found.problem


def test_unreadable_paragraphs_stay_in_the_body():
    found = parse_front_matter("---\nNote: this: is prose.\n\nMore of it.\n---\n")
    assert (found.values, found.end) == ({}, 0)
    assert found.problem


def test_a_scalar_is_no_mapping():
    found = parse_front_matter('---\n"a: b"\n---\n')
    assert (found.values, found.end, found.problem) == ({}, 0, "front matter ignored: not a mapping")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", ("a",)), ("a, b ,,c", ("a", "b", "c")), (("a, b", " c "), ("a, b", "c")), (" ", ()), ((), ())],
)
def test_strings(value, expected):
    assert list_value({"tags": value}, "tags") == expected
    assert list_value({"tags": value}, "other") == ()


@pytest.mark.parametrize(("value", "expected"), [(" a ", "a"), (("a",), "")])
def test_scalar(value, expected):
    assert text_value({"title": value}, "title") == expected
    assert text_value({}, "title") == ""


@given(st.sampled_from(["---", "+++"]), st.text(alphabet="ab:-[]{}&*!|>'\"#%@,.=\n \t", max_size=60))
def test_never_raises(mark, source):
    text = f"{mark}\n{source}\n{mark}\n"
    found = parse_front_matter(text)
    assert 0 <= found.end <= len(text)
    assert all(isinstance(value, str | tuple) for value in found.values.values())
