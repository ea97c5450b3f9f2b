"""The commands of mcp-markdown-ragdocs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ragdocs_server import DOCUMENTS, page_of

from dowse.cli.compat import main
from dowse.search.recipes import get_recipe
from dowse.search.stages.base import stage_name
from dowse.server.contract_settings import ragdocs_workspace
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
    done = run("query", "tide springs", "--json", "--top-n", "2", "--project", str(project))
    answer = json.loads(done.stdout)
    assert (answer["query"], len(answer["results"])) == ("tide springs", 2)
    assert [list(row) for row in answer["results"]] == [RESULT_KEYS] * 2
    best = answer["results"][0]
    assert (best["doc_id"], best["file_path"], round(best["score"], 2)) == ("tides", "tides.md", 0.69)
    assert best["header_path"] == "Tides > Springs"
    assert "the tide is highest" in best["content"]


LEFT_OUT = ("build/x.md", "sub/dist/x.md", ".hidden/x.md", "sub/.notes/deep/x.md", "venv/x.md")


def test_hidden_directories_and_build_output_are_left_out(project: Path) -> None:
    shown = ("rebuild/x.md", ".dotted.md", "distance.md", "sub/x.md")
    write(project, {path: f"# Barnacle {path}\n\nBarnacles of {path}.\n" for path in (*LEFT_OUT, *shown)})
    assert {it["file_path"] for it in rows("barnacle", "--top-n", "50")} == set(shown)


CONFIG = ".mcp-markdown-ragdocs/config.toml"
COPIES = {
    "one.md": "# One\n\nThe barnacle sits on the hull of a vessel and is scraped off in the dock each spring.\n",
    "two.md": "# Two\n\nThe barnacle sits on the hull of a vessel and is scraped off in the yard each spring.\n",
    "three.md": "# Three\n\nA barnacle.\n",
}


def rows(*arguments: str) -> list[dict[str, object]]:
    done = run("query", *arguments, "--json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, object]] = json.loads(done.stdout)["results"]
    return found


def test_documents_and_search_as_configured(project: Path) -> None:
    write(project, {f"docs/{path}": text for path, text in COPIES.items()})
    write(
        project, {"barnacle.md": "# Barnacle\n\nOutside of the documents.\n", "docs/old/x.md": "# Barnacle\n\nOld.\n"}
    )
    lines = ["[indexing]", 'documents_path = "docs"', 'exclude = ["**/old/**"]', "[search]"]

    def found(*search: str) -> list[object]:
        write(project, {CONFIG: "\n".join([*lines, *search])})
        return [it["file_path"] for it in rows("barnacle hull vessel dock")]

    assert found() == ["one.md", "three.md"]  # the second repeats the first
    assert found("dedup_enabled = false", "ngram_dedup_enabled = false") == ["one.md", "two.md", "three.md"]
    apart = ("dedup_enabled = false", "ngram_dedup_enabled = false", "mmr_enabled = true", "mmr_lambda = 0.1")
    assert found(*apart) == ["one.md", "three.md", "two.md"]
    assert found("min_confidence = 0.6") == ["one.md"]


def test_a_reranker_is_asked_where_it_is_configured(project: Path) -> None:
    write(project, {CONFIG: "[search]\nrerank_enabled = true\n"})
    setup = ragdocs_workspace((), flags={}, environment=dict(os.environ), cwd=project)[1]
    stages = [stage_name(it) for it in get_recipe("ragdocs", setup.tuning).stages]  # type: ignore[arg-type]
    assert stages.index("per_record") < stages.index("rerank") < stages.index("best_first")
    assert rows("springs")  # there is no model here, which must not fail the query


def test_parsers_say_which_files_are_documents(project: Path) -> None:
    assert {it["file_path"] for it in rows("lamp")} >= {"guide/lamp.txt", "guide/lighthouse.md"}
    write(project, {CONFIG: '[parsers]\n"**/*.md" = "MarkdownParser"\n'})
    found = {it["file_path"] for it in rows("lamp")}
    assert "guide/lighthouse.md" in found
    assert "guide/lamp.txt" not in found


def test_a_configuration_is_checked(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path, {"home/.config/mcp-markdown-ragdocs/config.toml": f'[[projects]]\nname = "w"\npath = "{project}"\n'}
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    usual = run("check-config").stdout.splitlines()
    assert {f"documents: {project}", f"projects: w ({project})", "active project: w"} <= set(usual)
    write(project, {CONFIG: "[search]\nmmr_enabled = true\nmagic = 1\n[indexing]\nexclude = ['old/']\n"})
    done = run("check-config")
    assert done.exit_code == 0
    told = done.stdout.splitlines()
    assert told[0] == f"configuration: {project / CONFIG}"
    assert {"mmr_enabled: True", "warning: these keys have no effect here: search.magic"} <= set(told)
    assert any(it.startswith("exclude: old/, **/.venv/**") for it in told)
    assert told[-1] == "the configuration is valid"


def test_a_wrong_configuration_is_told_in_a_line(project: Path) -> None:
    write(project, {CONFIG: "[search]\nmmr_lambda = 7\n"})
    for command in (("check-config",), ("query", "tide")):
        done = run(*command)
        assert done.exit_code == 2
        assert "search.mmr_lambda must be a number from 0 to 1, not 7" in done.stderr
        assert "valid" not in done.stdout


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
