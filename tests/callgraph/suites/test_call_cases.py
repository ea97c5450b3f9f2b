"""The call-graph suite is sound: its programs are valid, and it speaks only of definitions that are in them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from call_cases import Case, Edge, all_cases, load
from call_names import names
from call_scores import Score, judged

CASES = all_cases()


def test_there_are_enough_cases() -> None:
    by_language = Counter(case.language for case in CASES)
    assert by_language["python"] >= 230
    assert all(by_language[it] >= 40 for it in ("csharp", "go", "typescript", "java", "rust"))
    assert sum(len(case.trees) for case in CASES) >= 12
    assert len({case.title for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda it: it.title)
def test_a_case_is_valid_and_speaks_of_its_own_definitions(case: Case) -> None:
    trees = {name for tree in case.trees for chain in tree.chains for name in (*chain, tree.of, *tree.never)}
    callers = {caller for caller, _ in case.outside}
    ends = {end for edge in _all_edges(case) for end in edge}
    assert (trees | callers | ends) - names(case) <= _alternatives(case)


def _all_edges(case: Case) -> set[Edge]:
    return {edge for any_of in case.calls for edge in any_of} | case.may | case.barred


def _alternatives(case: Case) -> set[str]:
    """Of several callees that would do, only one must be there."""
    return {callee for any_of in case.calls if len(any_of) > 1 for _, callee in any_of}


@pytest.mark.parametrize("case", CASES, ids=lambda it: it.title)
def test_an_edge_is_expected_tolerated_or_barred_but_one_of_them_only(case: Case) -> None:
    expected = {edge for any_of in case.calls for edge in any_of}
    assert not expected & case.may and not expected & case.barred and not case.may & case.barred
    assert expected or case.barred
    chains = (chain for tree in case.trees for chain in tree.chains)
    assert {(caller, callee) for chain in chains for callee, caller in pairwise(chain)} <= expected


@pytest.mark.parametrize("case", [case for case in CASES if case.runs], ids=lambda it: it.title)
def test_running_a_case_shows_its_calls(case: Case, tmp_path: Path) -> None:
    for path, source in case.files.items():
        (tmp_path / path).write_text(source, encoding="utf-8")
    runner = Path(__file__).with_name("call_runner.py")
    ran = subprocess.run([sys.executable, runner, tmp_path], capture_output=True, text=True, check=True)
    shown = {(caller, callee) for caller, callee in json.loads(ran.stdout.splitlines()[-1])}
    expected = {edge for any_of in case.calls for edge in any_of}
    assert expected <= shown <= expected | case.may


@pytest.mark.parametrize(
    ("found", "direction", "score"),
    [
        ([("m:f", "m:C.__init__"), ("m:<module>", "m:f")], "up", Score(2, 2)),
        ([("m:f", "m:C.__init__")], "down", Score(1, 1)),
        ([("m:f", "m:C"), ("m:f", "m:g")], "down", Score(0, 0, missed=(("m:f", "m:C.__init__"),))),
        ([("m:f", "m:h")], "down", Score(0, 0, (("m:f", "m:h"),), (("m:f", "m:C.__init__"),))),
        ([], "up", Score(0, 0, (), (("m:f", "m:C.__init__"), ("m:<module>", "m:f")))),
    ],
)
def test_scores(found: list[Edge], direction, score: Score) -> None:
    """A class in place of its constructor is not wrong but not found; downwards, nobody asks for the module."""
    calls = (frozenset({("m:f", "m:C.__init__")}), frozenset({("m:<module>", "m:f")}))
    case = Case("python", "t", "n", {}, calls, frozenset({("m:f", "m:g")}), frozenset(), frozenset(), ())
    assert judged(case, found, direction) == score


def test_shares() -> None:
    edge = ("a", "b")
    score = Score(3, 2, (edge,), (edge, edge)) + Score()
    assert (score.precision, score.recall) == (0.75, 0.5)
    assert (Score().precision, Score().recall) == (1.0, 1.0)


def test_an_unknown_key_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "python" / "odd.toml"
    file.parent.mkdir()
    file.write_text("[[case]]\nname = 'n'\nsource = ''\ncalls = []\nnever = []\n")
    with pytest.raises(ValueError, match="never"):
        list(load(file))
