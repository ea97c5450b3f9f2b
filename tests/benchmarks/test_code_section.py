"""The tables on code: every figure in its row, what is not measured or does not agree said in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_search.asking import Asked, row
from code_search.building import Built, environment_for, sizes_of
from code_search.changing import middle, restored
from code_search.corpora import Corpus, Plan
from code_search.footprint import Footprint
from code_search.measured import Measured
from code_search.questions import Kind
from code_search.section import lines
from code_search.served import as_call
from dowse.callgraph.facts import CallQuery
from dowse.lookup.grep import GrepQuery
from dowse.lookup.symbols import FileWithoutDefinitions, SymbolAudit
from dowse.store.types import SymbolQuery
from timing import Cost


def kind(same: str = "lines") -> Kind:
    return Kind("grep: a word", ["one", "two"], lambda *_: 1, int, lambda _: None, same, "p50 < 1 ms")  # type: ignore[arg-type]


def corpus(root: Path, *, suffix: str = ".cs") -> Corpus:
    return Corpus(Plan("tiny", suffix, (("tool", ""),), "a test"), root, 2, 3_000_000)


def measured(root: Path, *silent: FileWithoutDefinitions) -> Measured:
    counts = {"records": 2, "chunks": 30, "symbols": 1400, "calls": 5000}
    built = Built(
        root / "i.db", Footprint(2.0, 1.5, 300, 200), {"": 4_000_000, "-lines": 2_000_000}, counts, {"too big": 1}
    )
    asked = Asked(
        kind(),
        [Cost(2.0, 2.0), Cost(3.0, 3.0)],
        [Cost(0.5, 0.4), Cost(1.0, 0.9)],
        [Cost(8.0, 8.0), Cost(9.0, 9.0)],
        1,
        ["two: 1 only in Dowse, 0 only in ripgrep, e.g. a.cs:1"],
    )
    return Measured(corpus(root), built, SymbolAudit(2, 1, 0, 0, silent), [asked], [["tiny: cold", "90 ms", ""]])


ROWS = [
    "- tiny: 2 files, 3 MB, a test",
    "| wall | 2.0 s |",
    "| CPU, all processes | 1.5 s |",
    "| source per CPU-second | 2.00 MB |",
    "| peak memory, all processes, RSS | 300 MB |",
    "| index: catalog | 4 MB |",
    "| index: `-lines` | 2 MB |",
    "| definitions | 1,400 |",
    "| calls | 5,000 |",
    "| files left out | 1 too big |",
    "| grep: a word | 2.00 / 3.00 ms | 0.50 / 1.00 ms | 0.40 ms | p50 < 1 ms "
    "| 8.00 / 9.00 ms | 8.00 ms | 16.0 ×, 20.0 × | 1 of 2 | 1 of 2 |",
    "- grep: a word: `two: 1 only in Dowse, 0 only in ripgrep, e.g. a.cs:1`",
    "| tiny: cold | 90 ms |  |",
    "| without definitions: only comments | 1 |",
    "| without definitions: unexplained | 1 |",
    "- tiny, unexplained: `b.cs`",
]


@pytest.mark.parametrize("expected", ROWS)
def test_every_figure_has_its_row(expected: str, tmp_path: Path) -> None:
    silent = [FileWithoutDefinitions("a.cs", "root", 9, "only comments"), FileWithoutDefinitions("b.cs", "root", 9, "")]
    assert expected in lines([measured(tmp_path, *silent)], "13.0")


def test_where_nothing_is_unexplained_that_is_said(tmp_path: Path) -> None:
    assert "| without definitions: unexplained | 0 |" in lines([measured(tmp_path)], "13.0")


def test_a_missing_peer_is_said(tmp_path: Path) -> None:
    assert "ripgrep is not installed" in "\n".join(lines([measured(tmp_path)], ""))
    assert row(Asked(kind(), [Cost(0.5, 0.5)], [Cost(0.5, 0.5)]))[5:] == ["–", "–", "–", "–", "0 of 2"]


def test_a_scan_that_is_only_near_is_not_compared() -> None:
    assert row(Asked(kind(same=""), [], [Cost(1.0, 1.0)], [Cost(2.0, 4.0)]))[7:] == ["2.0 ×, 4.0 ×", "–", "0 of 2"]


CALLS = [
    (GrepQuery(("a", "b")), ("search_grep", {"terms": "a,b", "substring": False})),
    (GrepQuery(("a",), "substring"), ("search_grep", {"terms": "a", "substring": True})),
    (SymbolQuery(("Load",)), ("search_definitions", {"name": "Load"})),
    (SymbolQuery(base="IRepo"), ("search_definitions", {"baseType": "IRepo"})),
    (CallQuery("Load", "Repo"), ("search_callers", {"method": "Load", "class": "Repo", "direction": "up"})),
]


@pytest.mark.parametrize(("question", "expected"), CALLS)
def test_questions_in_the_words_of_the_contract(
    question: GrepQuery | SymbolQuery | CallQuery, expected: object
) -> None:
    assert as_call(question) == expected


def test_the_parts_of_an_index_are_measured_by_what_their_names_add(tmp_path: Path) -> None:
    for name, size in {"i.db": 5, "i.db-lines": 7, "i.db-shm": 3, "i.db.lock": 0, "other.db": 9}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    assert sizes_of(tmp_path / "i.db") == {"": 5, "-lines": 7}


def test_measured_processes_are_compiled_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("DOWSE_ENCODER", "granite")
    found = environment_for(tmp_path)
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert (found["PYTHONPYCACHEPREFIX"], found["DOWSE_ENCODER"]) == (str(tmp_path / "compiled"), "none")


def test_a_file_that_ends_like_code_is_changed_and_restored(tmp_path: Path) -> None:
    for name, text in {
        "a.cs": "}",
        "b.cs": "#if X",
        "c.cs": "class C { }\n",
        "d.cs": "// last words, long ago",
    }.items():
        (tmp_path / name).write_text(text)
    path = middle(corpus(tmp_path))
    assert path.name == "c.cs"
    with pytest.raises(SystemExit), restored(path):
        path.write_text("changed")
        raise SystemExit
    assert path.read_text() == "class C { }\n"
