"""The index of a code search server: told about, renewed, built behind the first answers; size, branch and figures."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest
from codesearch_server import (
    BUILDING,
    FILE_COUNT,
    answer_bytes,
    definitions,
    grep,
    lay_out,
    names,
    wait_until_built,
)
from rifflux_server import JOB_DEADLINE_S, Served, is_indexing, run_script, serving, text_of

from dowse.paths import DataPaths
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.locks import write_lock
from support import eventually

ALREADY = "Index is already being built in the background. Please wait for it to finish."
COMMON = {"type", "root", "extensions", "sizeMb", "ageHours", "stale", "inMemory"}
INFO = {
    "content": COMMON | {"files", "uniqueTokens"},
    "definition": COMMON | {"files", "definitions", "callSites", "codeStatsEntries"},
    "file-list": COMMON | {"entries"},
}
LIMIT = 2048


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """On a branch of its own, with figures in its answers, which are short, over C# unless something else is named."""
    folder = tmp_path_factory.mktemp("busy") / "work"
    lay_out(folder)
    subprocess.run(["git", "init", "-b", "feature/long-way"], cwd=folder, check=True, capture_output=True)
    options = ("--dir", str(folder), "--ext", "cs", "--definitions", "--metrics", "--max-response-kb", "2")
    with serving(folder.parent, "search-index", "serve", *options, DOWSE_FRESHNESS_TIMEOUT_MS="0") as served:
        wait_until_built(served)
        yield Served(folder, served.errors, served.portal, served.client)


# --- info ---


@pytest.mark.parametrize("kind", INFO)
def test_info_keys(code: Served, kind: str) -> None:
    (row,) = (it for it in code.ask("search_info")["indexes"] if it["type"] == kind)
    assert row.keys() == INFO[kind]
    assert row["root"] == code.folder.as_posix()
    assert (row["stale"], row["inMemory"]) == (False, False)
    assert 0 <= row["ageHours"] < 1
    assert row["extensions"][0] == "cs"
    assert set(row["extensions"]) == {"cs", "ts", "sql", "py"}


def test_info_figures(code: Served) -> None:
    answer = code.ask("search_info")
    content, definition, files = answer["indexes"]
    assert answer["directory"] == code.folder.as_posix()
    assert answer["memoryEstimate"]["processPeakMB"] > 10
    assert content["files"] == definition["files"] == files["entries"] == FILE_COUNT
    assert content["uniqueTokens"] == grep(code, "order")["summary"]["indexTokens"]
    summary = code.ask("search_definitions", name="x")["summary"]
    assert definition["definitions"] == summary["totalDefinitions"]
    assert 10 < definition["callSites"] < 100
    assert 10 < definition["codeStatsEntries"] < definition["definitions"]
    assert definition["sizeMb"] > 0


# --- renewing ---


@pytest.mark.parametrize("tool", ["search_reindex", "search_reindex_definitions"])
def test_reindex_brings_in_what_changed(busy: Served, tool: str) -> None:
    new = busy.folder / "src/Billing" / f"{tool.title()}.cs"
    new.write_text(f"class Fresh_{tool} {{ }}\n")
    assert definitions(busy, name=f"Fresh_{tool}") == []
    before = busy.ask(tool)
    assert before["filesRead"] == 1
    assert [row["name"] for row in definitions(busy, name=f"Fresh_{tool}")] == [f"Fresh_{tool}"]
    new.rename(new.with_name("Moved.cs"))
    assert busy.ask(tool, dir="src/Billing")["files"] == before["files"]
    assert names(grep(busy, f"fresh_{tool}")["files"]) == ["Moved.cs"]
    (busy.folder / "src/Billing/Moved.cs").unlink()
    assert busy.ask(tool, dir="src")["files"] == before["files"] - 1
    assert grep(busy, f"fresh_{tool}")["files"] == []


def test_reindex_keys(busy: Served) -> None:
    answer = busy.ask("search_reindex")
    assert answer.keys() == {"status", "files", "uniqueTokens", "rebuildTimeMs", "filesRead"}
    assert (answer["status"], answer["files"], answer["filesRead"]) == ("ok", FILE_COUNT, 0)
    assert answer["uniqueTokens"] > 100
    assert answer["rebuildTimeMs"] > 0


def test_reindex_definitions_keys(busy: Served) -> None:
    answer = busy.ask("search_reindex_definitions")
    assert answer.keys() == {
        "status", "files", "definitions", "callSites", "codeStatsEntries", "sizeMb", "rebuildTimeMs", "filesRead",
    }  # fmt: skip
    assert answer["definitions"] > answer["codeStatsEntries"] > 10


@pytest.mark.parametrize("tool", ["search_reindex", "search_reindex_definitions"])
def test_reindex_ext_limits_what_is_counted(busy: Served, tool: str) -> None:
    assert busy.ask(tool, ext="ts, sql")["files"] == 3


# --- help ---


def test_help_names_every_tool_and_its_arguments_are_right(code: Served) -> None:
    answer = code.ask("search_help")
    assert answer.keys() == {"tasks", "bestPractices", "parameterExamples"}
    tasks = [it for it in answer["tasks"] if "repo" not in it["arguments"]]  # which needs a repository
    assert {it["tool"] for it in tasks} == {
        "search_grep", "search_fast", "search_find", "search_definitions", "search_callers",
    }  # fmt: skip
    for task in tasks:
        code.ask(task["tool"], **task["arguments"])
    known = {name for tool in code.tools().values() for name in tool.input_schema["properties"]}
    assert answer["parameterExamples"].keys() <= known


# --- what the options change ---


def test_branch_warning_follows_the_branch(busy: Served) -> None:
    assert "'feature/long-way'" in grep(busy, "submit")["summary"]["branchWarning"]
    head = busy.folder / ".git/HEAD"
    before = head.read_text()
    head.write_text("ref: refs/heads/master\n")
    assert "branchWarning" not in grep(busy, "submit")["summary"]
    head.write_text(before)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_grep", {"terms": "order", "countOnly": True}),
        ("search_definitions", {"name": "Rounds"}),
        ("search_callers", {"method": "There"}),
        ("search_fast", {"pattern": "Rounds"}),
        ("search_find", {"pattern": "Rounds"}),
    ],
)
def test_metrics_and_branch_are_in_every_summary(busy: Served, tool: str, arguments: dict[str, object]) -> None:
    summary = busy.ask(tool, **arguments)["summary"]
    assert summary["estimatedTokens"] == summary["responseBytes"] // 4 > 0
    assert "branchWarning" in summary


def test_no_figures_unless_asked_for(code: Served) -> None:
    assert not {"responseBytes", "estimatedTokens", "branchWarning"} & grep(code, "submit")["summary"].keys()


def test_the_server_s_extensions_count_where_none_are_named(busy: Served) -> None:
    assert {it.rpartition(".")[2] for it in names(grep(busy, "submit")["files"])} == {"cs"}
    assert names(grep(busy, "submit", ext="ts")["files"]) == ["orders.ts"]


@pytest.mark.parametrize(
    ("tool", "arguments", "rows", "total"),
    [
        ("search_grep", {"terms": "order", "ext": "cs", "contextLines": 9}, "files", "totalFiles"),
        ("search_definitions", {"file": ".cs", "includeBody": True}, "definitions", "totalResults"),
        ("search_find", {"pattern": "r", "contents": True}, "files", "totalMatches"),
    ],
)
def test_answers_are_cut_to_the_limit_and_say_so(
    busy: Served, code: Served, tool: str, arguments: dict[str, object], rows: str, total: str
) -> None:
    short = busy.ask(tool, **arguments)
    long = code.ask(tool, **arguments)
    assert answer_bytes(busy, tool, **arguments) <= LIMIT
    summary = short["summary"]
    assert summary["responseTruncated"] is True
    assert summary["originalResponseBytes"] > LIMIT
    assert summary["truncationReason"] and summary["hint"]
    assert len(short[rows]) > 0
    assert summary[total] == long["summary"][total]


def test_files_go_last_and_whole(busy: Served, code: Served) -> None:
    short, long = (grep(it, "r", ext="cs,ts,sql,py", maxResults=0, showLines=True) for it in (busy, code))
    assert short["summary"]["truncationReason"].endswith("files capped")
    count = len(short["files"])
    assert 0 < count < len(long["files"]) == short["summary"]["totalFiles"]
    assert names(short["files"]) == names(long["files"])[:count]
    assert short["summary"]["totalOccurrences"] == long["summary"]["totalOccurrences"]


# --- what is not as it was indexed ---


def test_bodies_of_files_that_changed_or_went(busy: Served) -> None:
    changed, gone = busy.folder / "src/Billing/Rounds.cs", busy.folder / "src/Orders/SqlOrderRepository.cs"
    before = {it: it.read_bytes() for it in (changed, gone)}
    changed.write_text("// other lines\n" * 30)
    gone.unlink()
    for arguments, line in (
        ({"name": "There"}, "public void There(int count)"),
        ({"name": "Load", "parent": "SqlOrderRepository"}, "public Order Load(int id)"),
    ):
        (row,) = definitions(busy, includeBody=True, **arguments)
        assert "changed" in row["bodyWarning"]
        assert row["body"][0].strip() == line
    for place, data in before.items():
        place.write_bytes(data)
    busy.ask("search_reindex")


# --- building behind the answers ---


def test_the_first_build_and_a_second_start(tmp_path: Path) -> None:
    """Whoever holds the lock keeps the index from being built, for as long as the test needs."""
    folder = tmp_path / "work"
    lay_out(folder)
    index = DataPaths(tmp_path / "work-data").index_path(folder)
    SqliteStore(index).close()
    command = ("dowse", "mcp", "--profile", "codesearch")
    with ExitStack() as stack:
        lock = stack.enter_context(ExitStack())
        lock.enter_context(write_lock(index, 5.0))
        served = stack.enter_context(serving(folder, *command))
        assert len(served.tools()) == 15
        for tool, arguments in (
            ("search_grep", {"terms": "submit"}),
            ("search_definitions", {"name": "submit"}),
            ("search_callers", {"method": "submit"}),
        ):
            assert served.refusal(tool, **arguments) == BUILDING
        assert {it["status"] for it in served.ask("search_info")["indexes"]} == {"building"}
        eventually(lambda: is_indexing(index))
        for tool in ("search_reindex", "search_reindex_definitions"):
            assert served.refusal(tool) == ALREADY
        assert served.ask("search_help")["tasks"]
        lock.close()
        wait_until_built(served)
        assert grep(served, "submit")["files"]
    with write_lock(index, 60.0), serving(folder, *command) as served:
        assert grep(served, "submit")["files"], "an index that is there answers at once"
        eventually(lambda: is_indexing(index))
        assert served.refusal("search_reindex") == ALREADY
        assert names(served.ask("search_fast", pattern="Rounds")["files"]) == ["Rounds.cs"]


def test_a_build_that_fails_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    lay_out(folder)
    index = DataPaths(tmp_path / "work-data").index_path(folder)
    SqliteStore(index).close()
    connection = apsw.Connection(str(index))
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with serving(folder, "dowse", "mcp", "--profile", "codesearch") as served:
        deadline = time.monotonic() + JOB_DEADLINE_S
        while "newer Dowse" not in (said := text_of(served.call("search_grep", terms="submit"))):
            assert time.monotonic() < deadline, said
            time.sleep(0.05)
        assert str(index) in said


def test_a_file_as_directory_and_two_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cs").write_text("class A { }\n")
    done = run_script("search-index", "serve", "--dir", "a.cs", folder=tmp_path)
    assert (done.returncode, "is not a directory" in done.stderr) == (2, True)
    done = run_script("dowse", "mcp", "--profile", "codesearch", "--root", ".", "--root", ".", folder=tmp_path)
    assert (done.returncode, "one directory" in done.stderr) == (2, True)


@pytest.mark.parametrize("watch", [True, False])
def test_files_are_followed_if_that_is_asked_for(tmp_path: Path, watch: bool) -> None:
    """Without the look at the disk before an answer, which would bring a changed file in."""
    folder = tmp_path / "work"
    lay_out(folder)
    arguments = ("serve", "--dir", ".", *(("--watch", "--debounce-ms", "50") if watch else ()))
    with serving(folder, "search-index", *arguments, DOWSE_FRESHNESS_TIMEOUT_MS="0") as served:
        wait_until_built(served)
        deadline = time.monotonic() + (JOB_DEADLINE_S if watch else 1.5)
        (folder / "Followed.cs").write_text("class Followed { void Harbour() { } }\n")
        while not (found := grep(served, "Harbour")["files"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert bool(found) == watch
