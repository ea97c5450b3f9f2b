"""Questions that the benchmark of answers asks: of every tool, and always the same."""

from __future__ import annotations

from collections import Counter

from answers import QUESTIONS, questions

DEFINITIONS = [{"name": f"name_{it % 30}", "path": f"src/{it}.py", "start_line": it + 1} for it in range(100)]


def test_every_tool_is_asked_about_picked_and_about_common_names() -> None:
    asked = questions(DEFINITIONS, seed=1)
    assert Counter(tool for tool, _ in asked) == {
        **dict.fromkeys(("search", "grep", "symbols", "calls", "why", "related"), QUESTIONS),
        "fetch": QUESTIONS // 2,
        "status": 1,
    }
    assert asked == questions(DEFINITIONS, seed=1) != questions(DEFINITIONS, seed=2)


def test_few_definitions_are_enough() -> None:
    assert {tool for tool, _ in questions(DEFINITIONS[:1], seed=1)} >= {"search", "calls", "fetch"}
