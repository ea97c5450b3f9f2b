"""Questions made from what is indexed, the sample drawn of them, and the weights they speak for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.evaluate import Advice, FusionWeights, QueryScore, Sample, Scores, SyntheticQuestion, advise, draw_sample
from dowse.evaluate.self_eval import (
    COMMIT_QUESTIONS,
    DEFAULT_FUSION_WEIGHTS,
    DOCSTRING_QUESTIONS,
    HEADING_QUESTIONS,
    MEMORY_QUESTIONS,
    MIN_TUNING_QUESTIONS,
    documented_definitions,
    generate_questions,
    passage_id,
    question_id,
    split_halves,
    word_overlap,
)
from dowse.model import Chunk, Record, StoredChunk

SENTENCES = [
    ('def f(x):\n    """Adds one to it. And more."""\n    return x\n', ["Adds one to it"]),
    ("class C:\n    '''\n    Holds things\n    together.\n\n    More.\n    '''\n", ["Holds things together"]),
    ('def f(\n    x,\n) -> int:\n    r"""Adds one."""\n', ["Adds one"]),
    ('"""A module says nothing of a definition."""\n\nimport os\n', []),
    ('x = 1\nif x:\n    """Not of a definition."""\n', []),
    (
        "// Flush sends what is buffered.\n// It may fail.\nfunc (u *Uplink) Flush() error {\n",
        ["sends what is buffered"],
    ),
    ("/** Signs a body. */\nexport function sign(body) {\n", ["Signs a body"]),
    ("/**\n * Signs a body,\n * and more.\n */\nexport function sign(body) {\n", ["Signs a body, and more"]),
    ("# Opens the lid.\n@hinge\nclass Lid:\n    pass\n", ["Opens the lid"]),
    ("/// Opens the lid.\n#[inline]\npub fn open() {}\n", ["Opens the lid"]),
    ("-- Opens the lid.\nlocal function open()\n", ["Opens the lid"]),
    ("# Not next to it.\n\ndef f(): ...\n", []),
    ("#!/bin/sh\nfunction f {\n", []),
    ("//\nfunction f() {}\n", []),
    ("# About a value\nvalue = 1\n", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "sentences"), SENTENCES)
def test_documented(text: str, sentences: list[str]) -> None:
    assert [sentence for sentence, _ in documented_definitions(text)] == sentences


def test_what_is_left_without_the_sentence() -> None:
    ((sentence, rest),) = documented_definitions('def tidy_up(x):\n    """Sweeps the floor."""\n    return broom(x)\n')
    assert "Sweeps" not in rest and "tidy_up" in rest and "broom" in rest
    assert word_overlap(sentence, rest) == 0.0
    ((sentence, rest),) = documented_definitions("// Sweeps it.\nfunction sweepsFloor() {}\n")
    assert word_overlap(sentence, rest) == 1.0


@given(st.text(alphabet="/*#- \t\n\"':abcdef(", max_size=200))
def test_any_text_may_be_read_for_documentation(text: str) -> None:
    for sentence, _ in documented_definitions(text):
        assert "\n" not in sentence


def test_long_lines_take_no_time() -> None:
    text = "#" + " " * 50_000 + "x\n" + "*" * 50_000 + "\n" + ":\n" * 20_000
    assert list(documented_definitions(text)) == []


def chunk(path: str, ordinal: int, text: str, *trail: str, kind: str = "doc") -> StoredChunk:
    record = Record("root", path, kind, path, 1, 1, "", "")
    return StoredChunk(ordinal, Chunk(ordinal, text, 1, 2, trail), record)


GUIDE = [
    chunk("guide.md", 0, "# Guide\n\nWelcome.", "Guide"),
    chunk("guide.md", 1, "## Pairing a scale\n\nHold the button.", "Guide", "Pairing a scale"),
    chunk("guide.md", 2, "Then wait for the scale.", "Guide", "Pairing a scale"),
    chunk("plain.txt", 0, "No headings here at all."),
]
CODE = [chunk("src/app.py", 0, 'def go():\n    """Starts the old engine."""\n', kind="code")]


def test_headings_ask_for_all_passages_of_their_section() -> None:
    (question,) = generate_questions(GUIDE, {})
    assert (question.origin, question.text) == (HEADING_QUESTIONS, "Guide Pairing a scale")
    assert question.relevant == {passage_id(GUIDE[1]), passage_id(GUIDE[2])}
    assert question.overlap == pytest.approx(1 / 3), "of guide, pairing and scale only the last stands in the text"
    assert not question.for_files


def test_docstrings_ask_for_their_passage() -> None:
    (question,) = generate_questions(CODE, {})
    assert (question.origin, question.relevant) == (DOCSTRING_QUESTIONS, {passage_id(CODE[0])})


def test_kinds_that_nothing_is_made_of() -> None:
    assert list(generate_questions([chunk("c", 0, "text", "A heading here", kind="commit")], {})) == []


def test_scripts_without_spaces_are_questions_too() -> None:
    assert [it.text for it in generate_questions([chunk("a.md", 0, "本文", "分蜂の警報")], {})] == ["分蜂の警報"]


COMMITS_OF_ROOT = [
    ("fix(app): Start the engine in winter (#12)", ("src/app.py", "gone.py")),
    ("Fix it", ("src/app.py",)),
    ("Touch nothing that is indexed", ("gone.py",)),
    ("Touch very many files at once", (*(f"{n}.py" for n in range(10)), "src/app.py")),
    ("word " * 100, ("src/app.py",)),
    ("Merge nothing into nothing", ()),
]


def test_commits_ask_for_their_files() -> None:
    found = [
        it
        for it in generate_questions([*GUIDE, *CODE], {"root": COMMITS_OF_ROOT, "other": COMMITS_OF_ROOT})
        if it.for_files
    ]
    assert [(it.origin, it.text, it.relevant) for it in found] == [
        (COMMIT_QUESTIONS, "Start the engine in winter", {"root:src/app.py"})
    ]
    assert found[0].overlap == pytest.approx(1 / 3), "engine; neither start nor winter"


# --- the sample -----------------------------------------------------------------------------


def test_memories_are_asked_for_by_what_they_begin_with() -> None:
    notes = [
        chunk("a.md", 0, "# Smoke\n\nBees calm down when\nsmoke comes. Smoke is cool.", "Smoke", kind="memory"),
        chunk("a.md", 1, "Bees again.", "Smoke", kind="memory"),
        chunk("b.md", 0, "Too short.", kind="memory"),
        chunk("c.md", 0, "Winter feed is sugar water\n\nThe rest", "Feeding", "In winter", kind="memory"),
    ]
    found = list(generate_questions(notes, {}))
    asked = {it.text: it for it in found if it.origin == MEMORY_QUESTIONS}
    assert list(asked) == ["Bees calm down when smoke comes.", "Winter feed is sugar water"]
    first = asked["Bees calm down when smoke comes."]
    assert first.relevant == {passage_id(notes[0])}
    assert first.overlap == word_overlap(first.text, "Smoke is cool. Bees again.") > 0
    assert [it.text for it in found if it.origin == HEADING_QUESTIONS] == ["Feeding In winter"]


def made(origin: str, count: int, share: float = 0.5) -> list[SyntheticQuestion]:
    return [SyntheticQuestion(origin, f"{origin} number {n}", frozenset([f"{origin}{n}"]), share) for n in range(count)]


def test_origins_take_turns_and_fill_up() -> None:
    sample = draw_sample(
        [*made(HEADING_QUESTIONS, 50), *made(DOCSTRING_QUESTIONS, 3), *made(COMMIT_QUESTIONS, 50)], 21, seed=1
    )
    assert {origin: count for origin, (count, _) in sample.origins().items()} == {
        HEADING_QUESTIONS: 9, DOCSTRING_QUESTIONS: 3, MEMORY_QUESTIONS: 0, COMMIT_QUESTIONS: 9
    }  # fmt: skip
    assert (sample.possible, sample.ambiguous) == (103, 0)


def test_the_sample_depends_on_the_seed_alone() -> None:
    everything = made(HEADING_QUESTIONS, 50)
    assert draw_sample(everything, 10, seed=1) == draw_sample(everything[::-1], 10, seed=1)
    assert draw_sample(everything, 10, seed=1) != draw_sample(everything, 10, seed=2)


def test_a_question_with_two_answers_is_none() -> None:
    twice = [
        SyntheticQuestion(HEADING_QUESTIONS, text, frozenset(["x"]), 0.5) for text in ("Read me", "read  ME", "Other")
    ]
    sample = draw_sample(twice, 10, seed=1)
    assert ([it.text for it in sample.questions], sample.possible, sample.ambiguous) == (["Other"], 1, 2)


def test_what_any_search_finds_is_asked_last() -> None:
    easy = [SyntheticQuestion(HEADING_QUESTIONS, f"easy {n}", frozenset(["x"]), 1.0) for n in range(20)]
    sample = draw_sample([*easy, *made(HEADING_QUESTIONS, 5)], 8, seed=1)
    assert [it.overlap for it in sample.questions] == [0.5] * 5 + [1.0] * 3


def test_halves_hold_as_many_of_each_origin() -> None:
    sample = draw_sample([*made(HEADING_QUESTIONS, 11), *made(COMMIT_QUESTIONS, 6)], 100, seed=1)
    first, second = split_halves(sample.questions)
    assert not first & second and len(first | second) == 17
    assert [len(first & sample.ids(origin)) for origin in (HEADING_QUESTIONS, COMMIT_QUESTIONS)] == [6, 3]


def test_surrogates_in_texts_do_no_harm() -> None:
    assert (
        draw_sample([SyntheticQuestion(HEADING_QUESTIONS, "a\udc80b", frozenset(["x"]), 0.0)], 1, seed=1).possible == 1
    )


# --- advice ---------------------------------------------------------------------------------


def scored(sample: Sample, values) -> Scores:
    return Scores(
        tuple(QueryScore(question_id(it), {"mrr": values(n, it)}, 1.0) for n, it in enumerate(sample.questions))
    )


def advised(better, count: int = 100) -> Advice:
    """Of a sample of headings and commits, where other weights score what `better` says and the default one half."""
    sample = draw_sample([*made(HEADING_QUESTIONS, count // 2), *made(COMMIT_QUESTIONS, count // 2)], count, seed=1)
    scores = {
        DEFAULT_FUSION_WEIGHTS: scored(sample, lambda n, it: 0.5),
        FusionWeights(1.0, 4.0): scored(sample, better),
    }
    return advise(scores, sample, "mrr", seed=1)


ADVICE = [
    ("surely better", lambda n, it: 0.7, 100, FusionWeights(1.0, 4.0), r"on the second, p 0\.0\d+\)$"),
    ("equal", lambda n, it: 0.5, 100, DEFAULT_FUSION_WEIGHTS, "no other weights did better"),
    ("worse", lambda n, it: 0.4, 100, DEFAULT_FUSION_WEIGHTS, "no other weights did better"),
    ("one lucky question", lambda n, it: 1.0 if n == 0 else 0.5, 100, DEFAULT_FUSION_WEIGHTS, "not significant"),
    (
        "better on the first half only",
        lambda n, it: 0.9 if n // 2 % 2 == 0 else 0.45,
        100,
        DEFAULT_FUSION_WEIGHTS,
        "not significant",
    ),
    (
        "at a cost",
        lambda n, it: 0.9 if it.origin == HEADING_QUESTIONS else 0.4,
        100,
        DEFAULT_FUSION_WEIGHTS,
        "but it is worse for commits",
    ),
    (
        "too few",
        lambda n, it: 0.9,
        MIN_TUNING_QUESTIONS - 2,
        DEFAULT_FUSION_WEIGHTS,
        "38 questions are too few; at least 40",
    ),
]


@pytest.mark.parametrize(
    ("better", "count", "weights", "reason"), [it[1:] for it in ADVICE], ids=[it[0] for it in ADVICE]
)
def test_advice(better, count: int, weights: FusionWeights, reason: str) -> None:
    found = advised(better, count)
    assert found.weights == weights
    assert re.search(reason, found.reason)


def test_of_equal_weights_the_nearest_to_the_default() -> None:
    sample = draw_sample(made(HEADING_QUESTIONS, 100), 100, seed=1)
    far = {FusionWeights(1.0, ratio): scored(sample, lambda n, it: 0.9) for ratio in (0.25, 4.0, 2.0)}
    scores = {
        DEFAULT_FUSION_WEIGHTS: scored(sample, lambda n, it: 0.1),
        FusionWeights(0.0, 1.0): scored(sample, lambda n, it: 0.9),
        **far,
    }
    assert advise(scores, sample, "mrr", seed=1).weights == FusionWeights(1.0, 2.0)


@pytest.mark.parametrize(
    ("commits", "weights"), [(0, DEFAULT_FUSION_WEIGHTS), (18, DEFAULT_FUSION_WEIGHTS), (20, FusionWeights(1.0, 0.25))]
)
def test_more_weight_for_words_needs_questions_that_do_not_favour_them(commits: int, weights: FusionWeights) -> None:
    sample = draw_sample([*made(HEADING_QUESTIONS, 60), *made(COMMIT_QUESTIONS, commits)], 100, seed=1)
    scores = {
        DEFAULT_FUSION_WEIGHTS: scored(sample, lambda n, it: 0.5),
        FusionWeights(1.0, 0.25): scored(sample, lambda n, it: 0.9),
    }
    found = advise(scores, sample, "mrr", seed=1)
    assert found.weights == weights
    assert ("too few commits" in found.reason) is (weights == DEFAULT_FUSION_WEIGHTS)
