"""The measures of the labelled sets against values worked out by hand."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelled.measures import (
    Lined,
    Span,
    Target,
    all_files,
    coverage,
    documents,
    first_ranks,
    line_ranges,
    resolved,
    span_of,
)
from labelled.model import Found

SECOND = 1 / log2(3)
THIRD = 1 / log2(4)


def at(path: str, start: int = 1, end: int = 1) -> Found:
    return Found(path, start, end)


def test_documents_count_once_and_by_the_measures_of_their_sets() -> None:
    values = documents({"a": 1.0, "b": 1.0})([at("x"), at("a"), at("a"), at("y"), at("b")])
    assert values["ndcg@10"] == pytest.approx((SECOND + 1 / log2(5)) / (1 + SECOND))
    assert values["precision@3"] == pytest.approx(1 / 3)
    assert values["recall@3"] == values["mrr@3"] == 0.5
    assert (values["pass@5"], values["pass@20"], values["recall@100"]) == (1.0, 1.0, 1.0)


def test_what_stands_behind_the_first_three_is_not_in_their_mrr() -> None:
    values = documents({"a": 1.0})([at("x"), at("y"), at("z"), at("a")])
    assert (values["mrr@3"], values["mrr"]) == (0.0, 0.25)


LINES = [
    pytest.param([at("a", 1, 5)], 2.0 / (2 + SECOND), 1.0, id="the better of two ranges first"),
    pytest.param([at("a", 1, 5), at("a", 1, 5)], 2.0 / (2 + SECOND), 1.0, id="each range is credited once"),
    pytest.param([at("a", 1, 5), at("b", 30, 40)], 1.0, 1.0, id="one line in common is enough"),
    pytest.param([at("a", 6, 9), at("b", 1, 29)], 0.0, 0.0, id="next to it is not on it"),
    pytest.param([at("b", 1, 5), at("x"), at("x"), at("x"), at("x"), at("a", 5, 5)], 0.7123 / 2.6309, 0.0, id="late"),
    pytest.param([], 0.0, 0.0, id="nothing found"),
]


@pytest.mark.parametrize(("found", "ndcg", "hit"), LINES)
def test_line_ranges(found: list[Found], ndcg: float, hit: float) -> None:
    values = line_ranges([Target("b", 30, 60, 1.0), Target("a", 2, 5, 2.0)])(found)
    assert values["ndcg@10"] == pytest.approx(ndcg, abs=1e-4)
    assert values["hit@5"] == hit


def test_one_passage_over_two_ranges_is_credited_for_the_better() -> None:
    values = line_ranges([Target("a", 1, 2, 1.0), Target("a", 3, 4, 2.0)])([at("a", 1, 9)])
    assert values["ndcg@10"] == pytest.approx(2 / (2 + SECOND))


FIRST = [
    pytest.param([Target("a"), Target("b")], [at("a"), at("b")], 1.0, id="both at the top"),
    pytest.param([Target("a"), Target("b")], [at("a"), at("a"), at("b")], (1 + THIRD) / (1 + SECOND), id="waste"),
    pytest.param([Target("a", 5, 9)], [at("a", 1, 4), at("a", 9, 12)], SECOND, id="only where the lines overlap"),
    pytest.param([Target("a")], [at("x")] * 10 + [at("a")], 0.0, id="the eleventh is too late"),
    pytest.param([Target(str(n)) for n in range(12)], [at(str(n)) for n in range(10)], 1.0, id="ten are enough"),
]


@pytest.mark.parametrize(("targets", "found", "expected"), FIRST)
def test_first_ranks(targets: list[Target], found: list[Found], expected: float) -> None:
    assert first_ranks(targets)(found)["ndcg@10"] == pytest.approx(expected)


def test_all_files_must_be_among_the_first_distinct_ones() -> None:
    found = [at("a"), at("a"), at("x"), at("b")]
    every = {"acc@1": 1.0, "acc@3": 1.0, "acc@5": 1.0, "acc@10": 1.0}
    assert all_files(frozenset({"a"}))(found) == {**every, "ndcg@10": 1.0}
    both = all_files(frozenset({"a", "b"}))(found)
    assert both == {**every, "acc@1": 0.0, "ndcg@10": pytest.approx((1 + 1 / 2) / (1 + 1 / log2(3)))}
    assert all_files(frozenset({"a", "c"}))(found)["acc@10"] == 0.0


TEXT = Lined.of("alpha\nbeta beta\ngamma\n")


def test_coverage_counts_characters() -> None:
    judge = coverage("t.md", [Span(6, 10), Span(16, 21)], {"t.md": TEXT, "u.md": Lined.of("other")})
    values = judge([Found("t.md", 2, 2, "beta beta"), Found("u.md", 1, 1, "other")])
    assert values["recall"] == pytest.approx(4 / 9)
    assert values["precision"] == pytest.approx(4 / 14)
    assert values["iou"] == pytest.approx(4 / (14 + 5))
    assert values["ndcg@10"] == pytest.approx(1 / (1 + 1 / log2(3)))  # one of two references, at the first place


def test_overlapping_passages_cover_once_and_cost_twice() -> None:
    judge = coverage("t.md", [Span(0, 5)], {"t.md": TEXT})
    values = judge([Found("t.md", 1, 1, "alpha"), Found("t.md", 1, 1, "alpha")])
    assert (values["recall"], values["precision"]) == (1.0, 0.5)


def test_nothing_found_covers_nothing() -> None:
    assert coverage("t.md", [Span(0, 5)], {"t.md": TEXT})([]) == dict.fromkeys(
        ("recall", "precision", "iou", "ndcg@10"), 0.0
    )


SPANS = [
    (Found("t", 1, 1, "alpha"), Span(0, 5)),
    (Found("t", 2, 3, "beta\ngamma"), Span(11, 21)),
    (Found("t", 2, 3, "made from several"), Span(6, 22)),
    (Found("t", 2, 2, "gamma"), Span(6, 16)),
    (Found("t", 3, 99, "beyond"), Span(16, 22)),
]


@pytest.mark.parametrize(("hit", "expected"), SPANS)
def test_where_a_passage_stands(hit: Found, expected: Span) -> None:
    assert span_of(hit, TEXT) == expected


@given(st.text(alphabet="ab \n", min_size=1), st.data())
def test_a_slice_is_found_as_long_as_it_is(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    line = text.count("\n", 0, start) + 1
    span = span_of(Found("t", line, line + text.count("\n", start, end), text[start:end]), Lined.of(text))
    assert text[span.start : span.end] == text[start:end]


LABELS = [
    ("src/flask/app.py", ["flask/app.py", "app.py", "flask/sansio/app.py"], "flask/app.py"),
    ("lib/index.js", ["index.js", "lib/index.js"], "lib/index.js"),
    ("app.py", ["flask/app.py"], "flask/app.py"),
    ("src/app.py", ["happ.py", "notsrc/app.py"], "src/app.py"),
    ("src/gone.py", [], "src/gone.py"),
]


@pytest.mark.parametrize(("label", "paths", "expected"), LABELS)
def test_labels_name_files_of_the_corpus(label: str, paths: list[str], expected: str) -> None:
    assert resolved(label, paths) == expected
