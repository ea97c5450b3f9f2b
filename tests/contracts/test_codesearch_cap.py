"""Answers that are too long: what is cut first, that rows stay whole, and that the totals stay those of everything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.tools.codesearch_context import cap_response, json_bytes, to_compact_json

SIGNS = {"responseTruncated", "truncationReason", "originalResponseBytes", "hint"}


def grep_answer(files: int, lines: int, tokens: int = 0, content: bool = False) -> dict[str, Any]:
    rows = [
        {
            "path": f"/work/src/File{number:05}.cs",
            "score": 0.1234,
            "occurrences": lines,
            "lines": list(range(1, lines + 1)),
            **({"lineContent": [{"startLine": 1, "lines": ["x" * 40], "matchIndices": [0]}]} if content else {}),
        }
        for number in range(files)
    ]
    summary = {
        "totalFiles": files,
        "totalOccurrences": files * lines,
        "matchedTokens": [f"t{it}" for it in range(tokens)],
    }
    return {"files": rows, "summary": summary}


def test_what_fits_is_left_as_it_is() -> None:
    data = grep_answer(3, 3)
    assert cap_response(data, json_bytes(data)) == data
    assert cap_response(grep_answer(1000, 100), 0) == grep_answer(1000, 100)


STEPS = [
    pytest.param(grep_answer(20, 200), {"lines": 10}, id="lines-capped-to-10"),
    pytest.param(grep_answer(30, 5, content=True), {"lines": 5}, id="lineContent-removed"),
    pytest.param(grep_answer(25, 10, tokens=3000), {"lines": 10, "tokens": 20}, id="matchedTokens-capped-to-20"),
    pytest.param(grep_answer(40, 200), {"lines": None}, id="lines-removed"),
]


@pytest.mark.parametrize(("data", "kept"), STEPS)
def test_each_step_is_enough_for_something(data: dict[str, Any], kept: dict[str, int | None]) -> None:
    short = cap_response(data, 4096)
    assert len(short["files"]) == len(data["files"])
    lengths = {len(row["lines"]) if "lines" in row else None for row in short["files"]}
    assert lengths == {kept["lines"]}
    assert all("lineContent" not in row for row in short["files"])
    assert len(short["summary"]["matchedTokens"]) == kept.get("tokens", 0)
    assert short["summary"].keys() >= SIGNS


def test_then_files_go_from_the_end_and_the_totals_stay() -> None:
    data = grep_answer(2000, 30)
    short = cap_response(data, 16 * 1024)
    count = len(short["files"])
    assert 0 < count < 2000
    assert [row["path"] for row in short["files"]] == [row["path"] for row in data["files"][:count]]
    assert (short["summary"]["totalFiles"], short["summary"]["totalOccurrences"]) == (2000, 60_000)
    assert short["summary"]["originalResponseBytes"] == json_bytes(data)
    row = json_bytes(short["files"][0])
    assert 16 * 1024 - row - 1 <= json_bytes(short) <= 16 * 1024, "there was no room for one more"


def test_the_limit_is_kept_to_the_byte() -> None:
    data = {"definitions": [{"name": "x" * length} for length in range(60)], "summary": {}}
    answers = {limit: cap_response(data, limit) for limit in range(500, 1000)}
    assert all(json_bytes(answer) <= limit for limit, answer in answers.items())
    assert any(json_bytes(answer) == limit for limit, answer in answers.items())
    assert {answer["summary"]["truncationReason"] for answer in answers.values()} == {"definitions capped"}


def test_other_arrays_go_whole_row_by_row() -> None:
    rows = [{"name": f"Name{it}", "body": ["line"] * 20} for it in range(200)]
    short = cap_response({"definitions": rows, "summary": {"totalResults": 200, "returned": 200}}, 8192)
    kept = short["definitions"]
    assert kept == rows[: len(kept)]
    assert (short["summary"]["totalResults"], short["summary"]["returned"]) == (200, len(kept))
    assert "definitions capped" in short["summary"]["truncationReason"]


def test_one_row_that_is_too_long_alone_is_cut_inside() -> None:
    row = {"name": "Long", "body": [f"line {it}" for it in range(5000)]}
    short = cap_response({"definitions": [row, row], "summary": {}}, 4096)
    (kept,) = short["definitions"]
    assert kept["bodyTruncated"] is True
    assert kept["body"] == row["body"][: len(kept["body"])] != []


def test_a_tree_with_one_root_keeps_its_root() -> None:
    tree = {"method": "Root", "callers": [{"method": f"Caller{it}", "callers": []} for it in range(2000)]}
    short = cap_response({"callTree": [tree], "summary": {"totalNodes": 2001}}, 4096)
    (kept,) = short["callTree"]
    assert kept["method"] == "Root"
    assert 10 < len(kept["callers"]) < 2000
    assert kept["cut"] == "response size"


def test_absurd_texts_that_are_echoed_do_not_fit_either() -> None:
    data = {"callTree": [], "query": {"method": "x" * 100_000}, "summary": {"termsSearched": ["y" * 100_000]}}
    short = cap_response(data, 1024)
    assert json_bytes(short) <= 1024
    assert short["query"]["method"].startswith("xxx")


NUMBERS = st.integers(min_value=0, max_value=10**6)
TEXTS = st.text(max_size=60)
FILES = st.lists(
    st.fixed_dictionaries(
        {"path": TEXTS, "occurrences": NUMBERS, "lines": st.lists(NUMBERS, max_size=40)},
        optional={
            "score": st.floats(0, 1),
            "lineContent": st.lists(st.fixed_dictionaries({"lines": st.lists(TEXTS)}), max_size=5),
        },
    ),
    max_size=40,
)
TREES = st.recursive(
    st.fixed_dictionaries({"method": TEXTS}),
    lambda inner: st.fixed_dictionaries({"method": TEXTS, "callers": st.lists(inner, max_size=5)}),
    max_leaves=60,
)
ANSWERS = st.fixed_dictionaries(
    {
        "summary": st.fixed_dictionaries(
            {"totalFiles": NUMBERS}, optional={"matchedTokens": st.lists(TEXTS, max_size=60), "returned": NUMBERS}
        )
    },
    optional={
        "files": FILES,
        "definitions": st.lists(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=20), max_size=6), max_size=30),
        "callTree": st.lists(TREES, max_size=10),
    },
)  # fmt: skip


@settings(max_examples=30)
@given(ANSWERS, st.integers(min_value=1024, max_value=8192))
def test_every_answer_fits_and_is_an_honest_part(data: dict[str, Any], limit: int) -> None:
    before = to_compact_json(data)
    short = cap_response(data, limit)
    assert to_compact_json(data) == before, "what is given is not changed"
    assert json.loads(to_compact_json(short)) == short
    assert json_bytes(short) <= limit
    assert short["summary"]["totalFiles"] == data["summary"]["totalFiles"]
    assert short.keys() == data.keys()
    assert ("responseTruncated" in short["summary"]) == (json_bytes(data) > limit)
    paths = [row["path"] for row in data.get("files", ())]
    assert [row["path"] for row in short.get("files", ())] == paths[: len(short.get("files", ()))]


@settings(max_examples=10)
@given(ANSWERS)
def test_a_cut_answer_is_not_cut_again(data: dict[str, Any]) -> None:
    short = cap_response(data, 2048)
    assert cap_response(short, 2048) == short
