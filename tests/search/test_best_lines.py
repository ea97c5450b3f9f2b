"""Which lines of a passage are shown: those that hold most of the query, with real places."""

from __future__ import annotations

import pytest

from dowse.search.best_lines import BestLines, LineSelector, parse_query_words

BODY = [f"    step_{number} = prepare({number})" for number in range(40)]
CODE = "\n".join(
    ["class Client:", "    def send(self, request):", *(f"    {it}" for it in BODY), "        retry(request)"]
)


def shown(text: str, query: str, lines: int = 10, chars: int = 800) -> BestLines:
    return LineSelector(text, parse_query_words(query)).best(lines, chars)


def test_a_short_passage_is_shown_whole() -> None:
    assert shown("one\ntwo", "two") == BestLines(0, ("one", "two"), False)


def test_the_lines_with_the_words_are_shown_with_the_definition_around_them() -> None:
    found = shown(CODE, "where does it retry a request")
    assert found.start + len(found.lines) == len(CODE.split("\n")) and len(found.lines) == 10
    assert found.lines[-1] == "        retry(request)"
    assert found.heading == (1, "    def send(self, request):") and found.cut


@pytest.mark.parametrize(
    ("query", "line"),
    [("step_17", 19), ("prepare 33", 35), ('"step 25"', 27), ("STEP_30", 32)],
)
def test_lines_are_where_they_stand(query: str, line: int) -> None:
    found = shown(CODE, query, lines=5)
    assert found.lines == tuple(CODE.split("\n")[found.start : found.start + len(found.lines)])
    assert found.start <= line < found.start + len(found.lines)


def test_without_any_of_the_words_it_is_the_beginning() -> None:
    assert shown(CODE, "unheard of").start == 0 and len(shown(CODE, "unheard of").lines) == 10


def test_a_long_line_is_cut_around_the_word() -> None:
    text = f"{'a' * 5_000} needle {'b' * 5_000}"
    (line,) = shown(text, "needle", chars=200).lines
    assert len(line) <= 200 and "needle" in line and line[0] == line[-1] == "…"


def test_characters_are_kept_to_and_the_best_line_stays() -> None:
    text = "\n".join([*("x" * 90 for _ in range(9)), "the needle", *("y" * 90 for _ in range(9))])
    found = shown(text, "needle", chars=250)
    assert "the needle" in found.lines and sum(map(len, found.lines)) <= 250


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", " ", "\n\nfirst\n\n"])
@pytest.mark.parametrize("query", ["", "?", "first", "错误处理", '"a b"'])
def test_any_text_and_any_query(text: str, query: str) -> None:
    found = shown(text, query, lines=3, chars=10)
    assert found.lines and text.split("\n")[found.start : found.start + 1] == [found.lines[0]]


def test_words_of_scripts_without_spaces_are_found_by_pairs() -> None:
    text = "\n".join([*("其他内容" for _ in range(20)), "这里是错误处理的说明", *("其他内容" for _ in range(20))])
    assert "这里是错误处理的说明" in shown(text, "错误处理", lines=3).lines
