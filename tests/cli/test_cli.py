"""The command line, in process: verbs, exit codes, JSON, precedence of settings, bad input."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import click
import pytest

from dowse.cli import VERBS, normalize_arguments
from dowse.cli.group import dowse
from dowse.config import SECRET_SETTINGS, SETTINGS
from dowse.paths import DataPaths
from dowse.search.recipes import RECIPES
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.locks import write_lock
from dowse.store.sqlite.signing import Signer
from support import Run, command_line, write

FILES = {
    "README.md": "# Project\n\nRetries use exponential backoff.\n",
    "docs/guide.md": "# Guide\n\n## Install\n\nRun the installer and wait for it.\n",
    "src/app.py": "def install_package(name):\n    return name\n",
}


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run(words…)` in the root, with an own data directory and the hashing encoder: exit code, stdout, stderr."""
    write(root, FILES)
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    return command_line(capsys)


def answer(run: Run, *words: str) -> dict[str, Any]:
    code, out, err = run("search", "--json", *words)
    assert code in (0, 1), err
    return json.loads(out)  # type: ignore[no-any-return]


HIT_KEYS = {
    "rank", "chunk_id", "collection", "kind", "path", "start_line", "end_line", "trail", "title", "score", "text",
    "evidence", "freshness", "notes", "at", "tags", "facets",
}  # fmt: skip


def test_the_first_search_builds_the_index_and_answers(run: Run) -> None:
    found = answer(run, "exponential backoff")
    assert set(found) == {"root", "query", "recipe", "count", "hits", "steps", "abstained", "completeness"}
    assert set(found["hits"][0]) == HIT_KEYS
    assert found["hits"][0]["path"] == "README.md"
    assert found["hits"][0]["freshness"] == "fresh"
    assert set(found["steps"][0]) == {"name", "before", "after", "ms", "note"}
    assert found["completeness"]["complete"] is True


def test_exit_codes(run: Run) -> None:
    assert run("search", "backoff")[0] == 0
    assert run("search", "--mode", "lexical", "zzzz")[0] == 1
    assert run("search", "--recipe", "nope", "x")[0] == 2
    assert run("search")[0] == 2
    assert run("nonsense")[0] == 2


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_utf8_is_refused_in_a_sentence_wherever_it_stands(run: Run, verb: str) -> None:
    odd = "a\udcff"
    command = dowse.get_command(click.Context(dowse), verb)
    assert command is not None
    takes = [it.opts[0] for it in command.params if isinstance(it, click.Option) and not it.is_flag]
    for words in ([odd], ["x", odd], [f"--root={odd}"], [f"--{odd}"], *([flag, odd] for flag in takes)):
        code, out, err = run(verb, *words)
        assert (code, out) == (2, "") and err.count("\n") == 1 and "is not valid UTF-8; pass UTF-8 text" in err


def test_an_empty_answer_says_what_was_searched(run: Run) -> None:
    code, out, _ = run("search", "--mode", "lexical", "zzzz")
    assert (code, out.strip()) == (1, "0 hits; 3 of 3 files indexed")


def test_text_output_shows_place_trail_and_passage(run: Run) -> None:
    _, out, _ = run("search", "installer", "--mode", "lexical")
    assert "1. docs/guide.md:1-5  Guide > Install" in out
    assert "Run the installer" in out


def test_explain_shows_evidence_and_steps(run: Run) -> None:
    _, out, _ = run("search", "installer", "--explain")
    assert "bm25" in out and "cosine" in out and "fused" in out
    assert "lexical" in out and "fuse" in out and " ms" in out


def test_scope_options(run: Run) -> None:
    assert {it["path"] for it in answer(run, "install", "--kind", "code")["hits"]} == {"src/app.py"}
    assert {it["path"] for it in answer(run, "install", "--path", "docs/**")["hits"]} == {"docs/guide.md"}
    assert answer(run, "install", "--since", "2099-01-01")["count"] == 0
    assert answer(run, "install", "--until", "1h", "--mode", "lexical")["count"] == 0
    assert answer(run, "install", "-k", "1")["count"] == 1
    assert answer(run, "install", "--files")["recipe"] == "auto-files"


def test_words_of_a_query_need_no_quotes(run: Run) -> None:
    assert answer(run, "exponential", "backoff")["query"] == "exponential backoff"


def test_index_reports_what_it_did(run: Run, root: Path) -> None:
    code, out, _ = run("index", "--json")
    report = json.loads(out)
    assert code == 0 and (report["listed"], report["indexed"], report["embedded"]) == (3, 3, 3)
    (root / "README.md").unlink()
    code, out, _ = run("index")
    assert "2 files: 0 indexed, 2 unchanged, 1 deleted" in out


def test_several_roots_in_one_index(run: Run, root: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", {"notes.md": "About zebras."})
    index = str(tmp_path / "both.db")
    assert run("index", str(root), str(tmp_path / "other"), "--index", index)[0] == 0
    found = answer(run, "zebras", "--index", index, "--mode", "lexical")
    assert [(it["collection"], it["path"]) for it in found["hits"]] == [("other", "notes.md")]


def test_several_roots_are_searched_each_in_its_own_index(run: Run, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, {"notes.md": "About zebras and backoff."})
    found = answer(run, "backoff", "--mode", "lexical", "--root", str(root), "--root", str(other))
    assert {(it["root"], it["path"]) for it in found["hits"]} == {("root", "README.md"), ("other", "notes.md")}
    _, out, _ = run("search", "backoff", "--root", str(root), "--root", str(other))
    assert re.search(r"\[other\] /\S+/other/notes.md:1-1", out) and "plan:" not in out
    assert answer(run, "zebras", "--mode", "lexical")["count"] == 0
    assert {it["path"] for it in answer(run, "backoff", "--root", str(other))["hits"]} == {"notes.md"}


@pytest.mark.parametrize("words", [("grep", "x"), ("status",), ("index",), ("read", "a.md"), ("remember", "n", "text")])
def test_other_verbs_take_one_root_instead_of_the_last_of_several(run: Run, words: tuple[str, ...]) -> None:
    code, _, err = run(*words, "--root", ".", "--root", "docs")
    assert code == 2 and "this command works on one root; pass --root once" in err


def test_an_index_keeps_its_encoder_until_it_is_switched(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_ENCODER", "")

    def encoder() -> str:
        return str(json.loads(run("status", "--json")[1])["encoder"])

    run("index", "--encoder", "hashing")
    _, out, _ = run("index", "--encoder", "static")
    assert "the index keeps its 3 vectors from hash-384" in out and encoder() == "hash-384"
    assert "compared with hash-384" in run("search", "backoff", "--mode", "semantic", "--encoder", "static")[1]
    assert run("index", "--encoder", "static", "--switch-encoder")[0] == 0
    assert encoder() == "static-256"
    assert run("index")[0] == run("rebuild")[0] == 0
    assert encoder() == "static-256"
    assert run("rebuild", "--encoder", "hashing")[0] == 0
    assert encoder() == "hash-384"


def test_from_a_directory_below_an_indexed_one_the_whole_is_searched(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index")
    monkeypatch.chdir(root / "docs")
    assert answer(run, "backoff", "--mode", "lexical")["hits"][0]["path"] == "README.md"


def test_read_lines_ids_and_whole_files(run: Run) -> None:
    hit = answer(run, "installer", "--mode", "lexical")["hits"][0]
    assert run("read", "docs/guide.md:5")[1] == "Run the installer and wait for it.\n"
    assert run("read", "docs/guide.md:1-3")[1] == "# Guide\n\n## Install\n"
    assert "Run the installer" in run("read", hit["chunk_id"])[1]
    assert json.loads(run("read", "docs/guide.md", "--json")[1])["total_lines"] == 5
    code, _, err = run("read", "../outside.md")
    assert code == 2 and "no indexed id or path" in err


def test_two_roots_with_the_same_path_are_told_apart(run: Run, tmp_path: Path) -> None:
    index = str(tmp_path / "both.db")
    for name, text in (("one", "about alpacas"), ("two", "about badgers")):
        write(tmp_path / name, {"README.md": text})
    run("index", str(tmp_path / "one"), str(tmp_path / "two"), "--index", index)
    code, _, err = run("read", "README.md", "--index", index)
    assert code == 2 and "several collections (one, two); choose one with --collection" in err
    assert run("read", "README.md", "--index", index, "--collection", "two")[1] == "about badgers\n"
    assert f"[two] {tmp_path}/two/README.md:1-1" in run("search", "about", "--index", index, "--mode", "lexical")[1]


def test_reading_a_changed_file_says_so(run: Run, root: Path) -> None:
    hit = answer(run, "installer", "--mode", "lexical")["hits"][0]
    write(root, {"docs/guide.md": "something\nelse\n"})
    code, out, err = run("read", hit["chunk_id"])
    assert code == 0 and "Run the installer" in out and "is changed since it was indexed" in err
    assert run("read", "docs/guide.md:99")[0] == 2


def test_a_place_inside_an_indexed_root_is_a_part_of_it(run: Run, root: Path) -> None:
    run("index")
    write(root, {"docs/new.md": "about zebras"})
    assert json.loads(run("index", "docs", "--json")[1])["indexed"] == 1
    assert answer(run, "zebras", "--mode", "lexical")["hits"][0]["path"] == "docs/new.md"


def test_an_index_may_lie_above_or_inside_the_root(run: Run, root: Path) -> None:
    write(root, {"kb.md": "beside the index", "kb-notes.md": "this too"})
    for index in ("../kb.db", "kb"):
        assert run("index", "--index", index)[0] == 0
        paths = {it["path"] for it in answer(run, "beside too", "--index", index, "--mode", "lexical")["hits"]}
        assert paths == {"kb.md", "kb-notes.md"}


def test_secrets_are_held_back_counted_and_shown_only_where_the_user_says_so(run: Run, root: Path) -> None:
    token = "ghp_" + "a1B2c3D4e" * 4
    write(root, {".env": "PASSWORD=hunter2hunter2\n", "notes.md": f"# Notes\n\nThe token is {token}.\n"})
    assert run("index")[0] == 0
    assert json.loads(run("status", "--json")[1])["held_back"] == {"files": 1, "changes": 0, "values": 1}
    assert "held back files: 1, changes in commits: 0, masked values: 1" in run("status")[1]
    assert "1 skipped (see status)" in answer(run, "token notes")["completeness"]["text"]
    for words in (("grep", "token"), ("read", "notes.md"), ("search", "token"), ("export",)):
        told = run(*words)[1]
        assert "ghp_*****" in told and token not in told
    (root / "dowse.toml").write_text("show_secrets = true\n")
    assert "show_secrets must not be set here" in run("index")[2]
    (root / "dowse.toml").unlink()
    assert run("index", "--show-secrets")[0] == 0
    assert token in run("read", "--show-secrets", "notes.md")[1]
    assert "held back" not in run("status", "--show-secrets")[1]


@pytest.mark.parametrize("line", ['index = "../other.db"', 'index = "/etc/passwd"'])
def test_a_settings_file_names_no_place_outside_its_directory(run: Run, root: Path, line: str) -> None:
    (root / "dowse.toml").write_text(line)
    code, _, err = run("search", "x")
    assert code == 2 and "must be inside" in err


def test_a_settings_file_is_a_file(run: Run, root: Path) -> None:
    (root / "dowse.toml").symlink_to("/dev/zero")
    code, _, err = run("search", "x", "--root", ".")
    assert code == 2 and "is not a settings file" in err


def test_rebuild_stops_at_a_missing_root_and_at_foreign_files(run: Run, root: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", {"a.md": "alpha"})
    index = tmp_path / "both.db"
    run("index", str(root), str(tmp_path / "other"), "--index", str(index))
    (tmp_path / "other").rename(tmp_path / "away")
    code, _, err = run("rebuild", "--index", str(index))
    assert code == 2 and "is missing" in err
    assert run("rebuild", "--index", str(index), "--drop-missing")[0] == 0
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE precious (x)")
    before = foreign.read_bytes()
    code, _, err = run("rebuild", "--index", str(foreign))
    assert code == 2 and "is not replaced" in err and foreign.read_bytes() == before


def test_rebuild_waits_for_a_writer(run: Run, tmp_path: Path) -> None:
    index = tmp_path / "own.db"
    run("index", "--index", str(index))
    with write_lock(index, 1.0):
        code, _, err = run("rebuild", "--index", str(index), "--lock-timeout-s", "0.1")
    assert code == 2 and "is writing" in err
    assert run("rebuild", "--index", str(index))[0] == 0


def test_damage_inside_the_index_is_healed_and_no_line_is_printed_twice(run: Run, tmp_path: Path) -> None:
    index = tmp_path / "own.db"
    run("index", "--index", str(index))
    before = run("export", "--index", str(index))
    connection = apsw.Connection(str(index))
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").fetchall()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with open(index, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    code, out, err = run("export", "--index", str(index))
    assert (code, out) == (2, "") and "rebuilt" in err and "run the command again" in err
    assert run("export", "--index", str(index)) == before


def test_the_first_search_does_not_wait_for_another_process_that_indexes(run: Run, tmp_path: Path) -> None:
    index = tmp_path / "own.db"
    SqliteStore(index, signer=Signer.of(DataPaths(tmp_path / "data"))).close()
    with write_lock(index, 1.0):
        code, _, err = run("search", "backoff", "--index", str(index))
    assert code == 1 and "Another process is indexing" in err


STATUS_KEYS = {
    "root", "index", "records", "chunks", "symbols", "links", "vectors", "encoder", "schema", "jobs", "watcher",
    "skipped", "quarantined", "freshness",
}  # fmt: skip


def test_status(run: Run, root: Path) -> None:
    code, _, err = run("status")
    assert code == 2 and "dowse index" in err and err.count("\n") == 1
    (root / "x.txt").write_bytes(b"\0")
    run("index")
    status = json.loads(run("status", "--json")[1])
    assert set(status) >= STATUS_KEYS
    assert (status["records"], status["encoder"]) == (3, "hash-384")
    assert status["skipped"][0]["path"] == "x.txt"
    assert "1 × binary file" in run("status")[1]


def test_export_is_stable_and_complete(run: Run) -> None:
    run("index")
    first = run("export", "--json")[1]
    rows = [json.loads(line) for line in first.splitlines()]
    assert [row["path"] for row in rows] == sorted(row["path"] for row in rows)
    assert set(rows[0]) >= {"path", "chunk_index", "trail", "start_line", "end_line", "text"}
    run("rebuild")
    assert run("export")[1] == first


def test_rebuild_forgets_what_is_gone_and_keeps_a_foreign_file(run: Run, root: Path, tmp_path: Path) -> None:
    run("index")
    for path in list(root.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "kept" in run("index")[1]
    assert run("rebuild")[0] == 0
    assert json.loads(run("status", "--json")[1])["records"] == 0
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    code, _, err = run("rebuild", "--index", str(precious))
    assert code == 2 and "is not a Dowse index" in err
    assert precious.read_text() == "mine"


def test_flags_variables_and_file_in_order(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dowse.toml").write_text("limit = 1\n")
    assert answer(run, "install retries project")["count"] == 1
    monkeypatch.setenv("DOWSE_LIMIT", "2")
    assert answer(run, "install retries project")["count"] == 2
    assert answer(run, "install retries project", "--limit", "3")["count"] == 3


def test_flags_may_stand_before_the_verb(run: Run) -> None:
    code, out, _ = run("--json", "--limit", "1", "search", "install")
    assert code == 0 and json.loads(out)["count"] == 1


ORDERS = [
    (["search", "x", "-k", "1"], ["search", "x", "-k", "1"]),
    (["-k", "1", "search", "x"], ["search", "-k", "1", "x"]),
    (["--help"], ["--help"]),
    (["--json"], ["--json"]),
    ([], []),
]


@pytest.mark.parametrize(("given", "expected"), ORDERS)
def test_in_order(given: list[str], expected: list[str]) -> None:
    assert normalize_arguments(given) == expected


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_with_help(run: Run, verb: str) -> None:
    code, out, _ = run(verb, "--help")
    assert code == 0 and "Usage: dowse" in out
    assert verb in run("--help")[1]
    assert "--parse-timeout-s" not in out and "--help-all" in out, "settings do not bury what the verb takes"
    assert len(out.splitlines()) < 60


def test_the_whole_help_has_every_setting(run: Run) -> None:
    code, out, _ = run("grep", "--help-all")
    flags = ["--" + name.replace("_", "-") for name in SETTINGS if name not in SECRET_SETTINGS]
    assert code == 0 and [flag for flag in flags if f"  {flag}" not in out and f", {flag}" not in out] == []
    assert "DOWSE_MAX_FILE_BYTES" in out


def test_help_names_the_settings_a_verb_is_about(run: Run) -> None:
    assert "Maximum files (default: 50)." in run("grep", "--help")[1]
    assert "DOWSE_MEMORY_LOCATION" in run("remember", "--help")[1]


BAD = [
    (("search", ""), "the query is empty"),
    (("search", "x", "--limit", "0"), "limit must be between 1 and 1,000"),
    (("search", "x", "--limit", "1000000000"), "limit must be between"),
    (("search", "x", "--limit", "nan"), "--limit must be a whole number"),
    (("search", "x", "--mode", "magic"), "'magic' is not one of"),
    (("search", "x", "--mode", "lexical", "--recipe", "hybrid"), "not both"),
    (("search", "x", "--since", "whenever"), "is not a time"),
    (
        ("search", "x", "--since", "2025-02-01", "--until", "2025-01-01"),
        "since 2025-02-01 is later than until 2025-01-01",
    ),
    (("search", "x", "--tag", "#"), "empty tag"),
    (("memories", "--tag", ""), "empty tag"),
    (("search", "x", "--path", "a/../b"), "a/../b"),
    (("search", "x", "--unknown", "1"), "No such option"),
    (("search", "x", "--root", "missing"), "missing does not exist"),
    (("search", "x", "--budget", "0"), "--budget"),
    (("search", "x", "--encoder", "gpt"), "unknown encoder 'gpt'"),
    (("index", "missing"), "missing does not exist"),
    (("index", "/"), "too broad"),
    (("index", "--index", "."), "cannot use"),
    (("eval", "missing.jsonl"), "missing.jsonl"),
    (("read", "nothing.md"), "no indexed id or path"),
    (("read", "docs/guide.md:5-3"), "end_line 3 is before start_line 5; swap them"),
    (("mcp", "--profile", "none"), "'none' is not one of"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_clear_error(run: Run, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(*words)
    assert code == 2
    assert message in err
    assert "Traceback" not in err + out


@pytest.mark.parametrize("query", ['"', "*", "NEAR(a b)", "a AND", "-x", "col:y", "\0", "🙂", "ש", "'; --"])
def test_any_query_is_answered(run: Run, query: str) -> None:
    assert run("search", "--", query)[0] in (0, 1)


def test_eval_on_a_labelled_corpus_and_on_gold_lines(run: Run, tmp_path: Path) -> None:
    beir = tmp_path / "beir"
    documents = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(["red apple", "green pear"])]
    write(
        beir,
        {
            "corpus.jsonl": "\n".join(map(json.dumps, documents)),
            "queries.jsonl": '{"_id": "q", "text": "apple"}\n',
            "qrels.tsv": "query-id\tcorpus-id\tscore\nq\td0\t1\n",
            "gold.jsonl": '{"query": "backoff", "relevance": [{"path_contains": "README", "gain": 1}]}\n',
        },
    )
    code, out, _ = run("eval", str(beir), "--json")
    report = json.loads(out)
    assert code == 0 and report["recipes"]["hybrid"]["means"]["ndcg@10"] == 1.0
    assert set(report["comparisons"]) == {"semantic", "hybrid"}
    code, out, _ = run("eval", str(beir / "gold.jsonl"), "--recipe", "lexical")
    assert code == 0 and "lexical" in out and "1.000" in out
    for recipe in ("auto", *RECIPES):
        code, out, err = run("eval", str(beir), "--recipe", recipe, "--json")
        assert (code, list(json.loads(out)["recipes"])) == (0, [recipe]), err


@pytest.mark.parametrize("words", [("eval", "beir"), ("eval", "--self"), ("search", "x")])
def test_a_recipe_that_does_not_exist_is_refused_before_anything_is_indexed(
    run: Run, root: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    write(
        root, {"beir/corpus.jsonl": '{"_id": "d", "text": "red apple"}', "beir/queries.jsonl": "", "beir/qrels.tsv": ""}
    )
    code, _, err = run(*words, "--recipe", "nope")
    assert code == 2 and "unknown recipe 'nope'; choose one of auto, lexical" in err
    assert not [*(tmp_path / "data").rglob("*.db")]


def test_a_measure_that_does_not_exist_is_refused_before_anything_is_indexed(run: Run, tmp_path: Path) -> None:
    code, _, err = run("eval", "missing.jsonl", "--measure", "ndcg@11")
    assert code == 2 and "unknown measure 'ndcg@11'; choose one of mrr, ndcg@5" in err
    assert not [*(tmp_path / "data").rglob("*.db")]


def test_a_second_process_indexing_does_not_keep_a_search_waiting(run: Run, root: Path) -> None:
    from dowse.config import Settings
    from dowse.paths import DataPaths

    run("index")
    index = DataPaths(Path(os.environ["DOWSE_DATA_DIR"])).index_path(root.resolve())
    store = SqliteStore(index)
    with store.writing(Settings().lock_timeout_s):
        assert run("search", "backoff")[0] == 0
        code, _, err = run("index", "--lock-timeout-s", "0.1")
        assert code == 2 and "is writing to" in err and err.count("\n") == 1
    store.close()


MOST = {
    "max_file_bytes": 2**30, "max_document_bytes": 2**30, "max_files": 2**40, "max_total_bytes": 2**60,
    "memory_mb": 2**30, "workers": 64, "max_commits": 2**40, "diff_lines": 1_000_000, "max_chunk_chars": 100_000,
    "min_chunk_chars": 2000, "rrf_k": 1_000_000, "limit": 1000, "max_response_kb": 1_000_000,
    "freshness_timeout_ms": 60_000, "debounce_ms": 600_000, "bulk_threshold": 1_000_000, "ask_above_files": 2**40,
    "encoder_threads": 256,
}  # fmt: skip


def test_every_whole_number_has_a_most_that_is_tried() -> None:
    assert set(MOST) == {name for name, it in SETTINGS.items() if it.type == "int"}


@pytest.mark.parametrize("name", MOST)
def test_a_setting_at_its_most_works(run: Run, name: str) -> None:
    flag = f"--{name.replace('_', '-')}"
    code, out, err = run("index", flag, str(MOST[name]))
    assert code == 0 and "3 files: 3 indexed" in out, err
    assert run("search", "backoff", flag, str(MOST[name]))[0] == 0
    assert run("grep", "backoff", flag, str(MOST[name]))[0] == 0


@pytest.mark.parametrize("name", [*MOST])
@pytest.mark.parametrize("beyond", [1, 2**70])
def test_a_setting_beyond_its_most_is_refused_in_a_sentence(run: Run, name: str, beyond: int) -> None:
    code, _, err = run("index", f"--{name.replace('_', '-')}", str(MOST[name] + beyond))
    assert code == 2 and err.startswith(f"dowse: {name} must be between ") and err.count("\n") == 1


def test_every_file_is_indexed_or_counted_as_left_out(root: Path, run: Run) -> None:
    write(root, {"a.md": "# Heron\n\nwades", "o": "a heron", "rows.csv": "heron,1", "run.log": "heron", "b.zip": "PK"})
    write(root, {"node_modules/x.js": "heron"})
    code, out, _ = run("search", "heron", "--root", str(root))
    assert (code, out.splitlines()[-1].partition("; ")[2]) == (0, "5 of 8 files indexed, 3 left out (see status)")
    _, out, _ = run("status", "--root", str(root))
    assert "left out  2 data files: .csv 1, .log 1; `--extra-extensions csv` would index .csv files\n" in out
    assert "left out  1 binary files: .zip 1\n" in out
    assert "not read  directories of generated files: node_modules/ 1; ignored files are not counted\n" in out
    code, out, _ = run("search", "heron", "--root", str(root), "--extra-extensions", "csv,log", "--json")
    assert json.loads(out)["completeness"]["left_out"] == 3  # of the last run over all
    run("index", str(root), "--extra-extensions", "csv,log")
    code, out, _ = run("search", "heron", "--root", str(root), "--extra-extensions", "csv,log", "--json")
    told = json.loads(out)["completeness"]
    assert (told["indexed"], told["listed"], told["left_out"]) == (7, 8, 1)
