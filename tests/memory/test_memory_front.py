"""Front matter is written and changed without losing anything that stands there."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dowse.memory import frontmatter as front
from dowse.text.frontmatter import list_value, parse_front_matter

LINES = st.sampled_from(
    [
        "type: plan",
        "type: [a",
        "# a comment",
        "mood:   'fine'   # so it was",
        "- a",
        "tags: [a, b]",
        "nested:",
        "  deeper: x",
        "anchors:",
        "  - src/a.py",
        "- src/a.py#f  # why",
        "a: &x 1",
        "",
        "é: ü",
        "---",
        "...",
        "\ttab: x",
    ]
)
HEADS = st.builds(
    lambda lines, mark, end: f"{mark}{end}" + "".join(f"{it}{end}" for it in lines) + f"{mark}{end}",
    st.lists(LINES, max_size=6),
    st.sampled_from(["---", "+++"]),
    st.sampled_from(["\n", "\r\n"]),
)
BODIES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
BEFORE = st.sampled_from(["", "\ufeff"])
HOSTILE = st.sampled_from(["---\ntype: fact\n---\n", "---", "---\n", "+++\na = 1\n+++\n", "---\n- a\n---\nx", "...\n"])


@given(BEFORE, HEADS, BODIES, BODIES | HOSTILE)
@example("", "", "---\na: b", "---")
@example("", "", "", "---\na: b\n---\nrest")
@example("", "---\na: b\n---", "", "x")
def test_whatever_stands_before_the_body_survives(bom: str, head: str, body: str, content: str) -> None:
    text = bom + head + body
    start = front.body_start(text)
    longer = front.append_paragraph(text, content)
    assert longer.removeprefix("---\n---\n").startswith(text) or longer.startswith(text)
    assert front.parse_facts(longer) == front.parse_facts(text)
    assert front.body_of(longer).endswith(content.strip("\r\n"))
    other = front.with_body(text, content)
    assert other.startswith(text[:start])
    assert front.parse_facts(other) == front.parse_facts(text)
    assert front.body_of(other) == content.strip("\r\n")


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12)


@given(st.dictionaries(st.sampled_from(["type", "status", "mood"]), WORDS), st.lists(WORDS, max_size=3), BODIES)
def test_what_is_composed_is_read_again(values: dict[str, str], tags: list[str], content: str) -> None:
    text = front.compose({**values, "tags": tags}, content)
    nothing = {"~", "null", "Null", "NULL"}
    found = front.parse_facts(text)
    assert {key: found[key] for key in values if values[key] not in nothing} == {
        key: value for key, value in values.items() if value not in nothing
    }
    assert list_value(found, "tags") == tuple(it for it in tags if it not in nothing)
    assert front.body_of(text) == content.strip("\r\n")


WRITTEN = """---
# what I think
type: fact
anchors:   # the parts that matter
  - src/a.py          # the module
  - "src/a.py#run"
  - 'src/b.py#run@0123456789abcdef'
mood: fine
title: src/a.py
---
body src/a.py
"""


def test_digests_are_renewed_and_all_else_stays() -> None:
    new = {
        "src/a.py": "src/a.py@1111111111111111",
        "src/a.py#run": "src/a.py#run@2222222222222222",
        "src/b.py#run@0123456789abcdef": "src/b.py#run@3333333333333333",
    }
    text = front.rewrite_anchors(WRITTEN, new, "2026-01-01T00:00:00Z")
    expected = WRITTEN.replace("- src/a.py ", "- src/a.py@1111111111111111 ")
    expected = expected.replace('"src/a.py#run"', '"src/a.py#run@2222222222222222"')
    expected = expected.replace("0123456789abcdef", "3333333333333333")
    assert text == expected.replace("title: src/a.py\n", 'title: src/a.py\nanchored_at: "2026-01-01T00:00:00Z"\n')
    again = front.rewrite_anchors(
        text, {"src/a.py@1111111111111111": "src/a.py@4444444444444444"}, "2027-01-01T00:00:00Z"
    )
    assert again == text.replace("1" * 16, "4" * 16).replace("2026-01", "2027-01")


@pytest.mark.parametrize(
    "text",
    [
        "no front matter",
        "+++\nanchors = ['src/a.py']\n+++\nbody\n",
        "---\n{anchors: [src/a.py], type: fact}\n---\nbody\n",
        "---\nanchors: src/b.py\n---\n",
        '---\nanchors: ["src\\x2fa.py"]\n---\nbody\n',
        "---\nanchors: [src/a.py\n---\nbody\n",
        "---\n- src/a.py\n---\nbody\n",
    ],
)
def test_what_can_not_be_changed_safely_is_left_alone(text: str) -> None:
    assert front.rewrite_anchors(text, {"src/a.py": "src/a.py@1111111111111111"}, "2026-01-01T00:00:00Z") == text


@given(HEADS, BODIES)
def test_renewing_changes_nothing_else(head: str, body: str) -> None:
    text = head + body
    changed = front.rewrite_anchors(text, {"src/a.py": "src/a.py@1111111111111111"}, "2026-01-01T00:00:00Z")
    if changed == text:
        return
    before, after = dict(parse_front_matter(text).values), dict(parse_front_matter(changed).values)
    assert {**after, "anchors": ("src/a.py@1111111111111111",)} == after
    assert {key: before[key] for key in before if key not in ("anchors", "anchored_at")} == {
        key: after[key] for key in after if key not in ("anchors", "anchored_at")
    }
    assert front.body_of(changed) == front.body_of(text)
    assert [line for line in text.splitlines() if "#" in line and "src" not in line] == [
        line for line in changed.splitlines() if "#" in line and "src" not in line
    ]
