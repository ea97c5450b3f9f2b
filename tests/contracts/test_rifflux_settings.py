"""The original's variables do here what they did there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from rifflux_server import Serve, Served, run_script

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.jobs import JobQueue
from dowse.server.runtime import EnginePool, rifflux_workspace
from dowse.tools.rifflux import RiffluxOptions, RiffluxTools, apply_aliases, parse_rifflux_options
from support import write

PETS = {
    "pets.md": "# Pets\n\nFelines adore dozing upon sofas.\n",
    "money.md": "# Money\n\nInterest rates determine mortgage instalments.\n",
    "sea.md": "# Sea\n\nTrawlers haul herring through stormy fjords.\n",
}


def test_the_default_encoder_finds_a_paraphrase(serve: Serve, work: Path) -> None:
    write(work, PETS)
    server = serve(RIFFLUX_EMBEDDING_BACKEND="auto")
    answer = server.ask("reindex")
    assert answer["embedding_backend"] == "onnx"
    question = "cat sleeping on a couch"
    assert server.search(question, mode="lexical") == []
    assert server.search(question, mode="semantic")[0]["path"] == "pets.md"
    assert server.search(question)[0]["path"] == "pets.md"


def test_db_path(configured: Served) -> None:
    index = configured.folder / "elsewhere/my.db"
    assert configured.ask("index_status")["db_path"] == str(index)
    assert index.is_file()
    assert not (configured.folder / ".tmp").exists()


def test_chunk_chars(configured: Served) -> None:
    chunks = configured.ask("get_file", path="long.md")["file"]["chunks"]
    assert len(chunks) > 4
    assert all(len(chunk["content"]) <= 200 for chunk in chunks)


def test_include_and_exclude_globs(configured: Served) -> None:
    status = configured.ask("index_status")
    assert (status["index_include_globs"], status["index_exclude_globs"]) == (["*.md", "*.txt"], ["drafts/*"])
    paths = {row["path"] for row in configured.search("long galley draft module", top_k=100)}
    assert paths == {"long.md", "galley.txt", "node_modules/b.md"}


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("RIFFLUX_RRF_K", "sixty"),
        ("RIFFLUX_MAX_CHUNK_CHARS", "-1"),
        ("RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS", "soon"),
    ],
)
def test_a_wrong_value_is_refused_at_the_start(work: Path, variable: str, text: str) -> None:
    done = run_script("rifflux-mcp", folder=work, **{variable: text})
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_backend_is_named(serve: Serve, work: Path) -> None:
    write(work, PETS)
    assert "'quantum'" in serve(RIFFLUX_EMBEDDING_BACKEND="quantum").refusal("reindex")


def test_our_variables_win_unless_empty() -> None:
    theirs = {"RIFFLUX_DB_PATH": "theirs.db", "RIFFLUX_RRF_K": "7"}
    assert apply_aliases({**theirs, "DOWSE_INDEX": "ours.db"})["DOWSE_INDEX"] == "ours.db"
    assert apply_aliases({**theirs, "DOWSE_INDEX": ""})["DOWSE_INDEX"] == "theirs.db"
    assert apply_aliases({"RIFFLUX_DB_PATH": ""}) == {}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, RiffluxOptions(False, (".",), 2.0)),
        ({"ON_SEARCH": "1", "PATHS": "a, b,", "MIN_INTERVAL_SECONDS": "0.5"}, RiffluxOptions(True, ("a", "b"), 0.5)),
        ({"ON_SEARCH": "True"}, RiffluxOptions(True, (".",), 2.0)),
        ({"ON_SEARCH": "0", "MIN_INTERVAL_SECONDS": "-3"}, RiffluxOptions(False, (".",), 0.0)),
    ],
)
def test_auto_reindex_variables(variables: dict[str, str], expected: RiffluxOptions) -> None:
    assert parse_rifflux_options({f"RIFFLUX_AUTO_REINDEX_{name}": text for name, text in variables.items()}) == expected


def test_auto_reindex_variables_must_be_numbers() -> None:
    with pytest.raises(BadInput, match="MIN_INTERVAL_SECONDS must be a number"):
        parse_rifflux_options({"RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS": "soon"})


def test_auto_reindex_runs_behind_a_search_and_is_throttled(serve: Serve, work: Path) -> None:
    write(work, PETS)
    server = serve(RIFFLUX_AUTO_REINDEX_ON_SEARCH="1", RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS="3600")
    started = server.ask("search_rifflux", query="herring")["auto_reindex"]
    assert started.keys() == {"enabled", "executed", "job_id", "paths"}
    assert (started["enabled"], started["executed"], started["paths"]) == (True, "background", [str(work)])
    assert server.job(started["job_id"])["result"]["indexed_files"] == 3
    answer = server.ask("search_rifflux", query="herring", mode="lexical")
    assert answer["count"] == 1
    assert answer["auto_reindex"] == {
        "enabled": True, "executed": False, "reason": "throttled", "min_interval_seconds": 3600.0,
    }  # fmt: skip


def _variables(work: Path) -> dict[str, str]:
    return {"DOWSE_DATA_DIR": str(work.parent / "data"), "DOWSE_ENCODER": "hashing"}


def test_auto_reindex_does_not_queue_up_behind_itself(work: Path) -> None:
    write(work, PETS)
    workspace = rifflux_workspace(flags={}, environment=_variables(work), cwd=work)
    jobs, gate = JobQueue(), threading.Event()
    tools = RiffluxTools(EnginePool(workspace).at, jobs, work, workspace.settings, RiffluxOptions(True, (".",), 0.0))
    jobs.submit("in the way", lambda progress: {"waited": gate.wait()})
    one, two = (tools.search_rifflux("herring").data["auto_reindex"] for _ in range(2))
    gate.set()
    jobs.close(timeout_s=30)
    assert one == two
    assert [job.kind for job in jobs.all()] == ["in the way", "auto-reindex"]


def test_a_search_while_the_index_is_brought_up_to_date_asks_for_another_run(work: Path) -> None:
    """The one in hand may have passed what was saved meanwhile."""
    workspace = rifflux_workspace(flags={}, environment=_variables(work), cwd=work)
    entered, gate, engines = threading.Event(), threading.Event(), EnginePool(workspace)

    def slow(path: str | None) -> Engine:
        if threading.current_thread().name == "dowse-jobs":
            entered.set()
            gate.wait(30)
        return engines.at(path)

    jobs = JobQueue()
    tools = RiffluxTools(slow, jobs, work, workspace.settings, RiffluxOptions(True, (".",), 0.0))
    tools.search_rifflux("herring")
    assert entered.wait(30)
    write(work, PETS)
    two, three = (tools.search_rifflux("herring").data["auto_reindex"]["job_id"] for _ in range(2))
    gate.set()
    _, second = jobs.all()
    assert two == three == second.id and jobs.wait(second, 30)
    assert tools.search_rifflux("herring").data["count"] > 0
    jobs.close(30)


def test_a_cancelled_job_is_a_failed_one(work: Path) -> None:
    workspace = rifflux_workspace(flags={}, environment=_variables(work), cwd=work)
    jobs, gate = JobQueue(), threading.Event()
    tools = RiffluxTools(EnginePool(workspace).at, jobs, work, workspace.settings, RiffluxOptions())
    jobs.submit("in the way", lambda task: {"waited": gate.wait(30)})
    jobs.cancel(str(tools.reindex(background=True).data["job_id"]))
    job = tools.index_status().data["background_jobs"][-1]
    gate.set()
    jobs.close(30)
    assert (job["status"], job["error"]) == ("failed", "cancelled: stopped on request")
