"""The commands of mcp-markdown-ragdocs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ragdocs_server import DOCUMENTS, page_of

from dowse.shells.ragdocs import main
from support import write

RESULT_KEYS = ["chunk_id", "doc_id", "score", "header_path", "file_path", "content"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    write(tmp_path / "work", DOCUMENTS)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_a_query_builds_the_index_and_prints_the_answer(project: Path) -> None:
    done = run("query", "highest at springs", "--top-n", "1")
    assert done.exit_code == 0, done.output
    assert page_of(done.stdout.removesuffix("\n")).paths == ["tides.md"]


def test_a_query_as_json(project: Path) -> None:
    done = run("query", "springs", "--json", "--top-n", "2", "--project", str(project))
    answer = json.loads(done.stdout)
    assert (answer["query"], len(answer["results"])) == ("springs", 2)
    assert [list(row) for row in answer["results"]] == [RESULT_KEYS] * 2
    best = answer["results"][0]
    assert (best["doc_id"], best["file_path"], best["score"]) == ("tides", "tides.md", 1.0)
    assert best["header_path"] == "Tides > Springs"
    assert "the tide is highest" in best["content"]


def test_rebuilding_indexes_everything_again(project: Path) -> None:
    run("query", "springs")
    report = json.loads(run("rebuild-index").stdout)
    assert (report["indexed"], report["unchanged"]) == (len(DOCUMENTS), 0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("query", "x", "--top-n", "0"), "0 is not in the range 1<=x<=100"),
        (("query", "x", "--top-n", "many"), "not a valid integer"),
        (("query", " "), "the query is empty"),
        (("query", "x", "--project", "missing"), "missing does not exist"),
        (("mcp", "--project", "missing"), "missing does not exist"),
        (("rebuild-index", "--project", "/"), "/ is too broad"),
    ],
)
def test_mistakes_are_told_in_a_line(project: Path, arguments: tuple[str, ...], problem: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert problem in done.stderr
