"""The original's file watcher: switched on by its variables or by `--watch-path`, and told by index_status."""

from __future__ import annotations

from pathlib import Path

import pytest
from rifflux_server import Served, run_script, serving

from support import eventually, write

KEYS = {
    "enabled", "running", "watch_paths", "include_globs", "exclude_globs", "debounce_ms", "events_received",
    "jobs_submitted", "crash_restarts",
}  # fmt: skip


def paths(server: Served, word: str) -> list[str]:
    return [row["path"] for row in server.search(word, mode="lexical")]


def test_off_by_default_nothing_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "work", {"a.md": "# A\n\nanchor\n"})
    with serving(tmp_path / "work") as server:
        assert server.ask("index_status")["file_watcher"] == {"enabled": False}
        server.ask("reindex")
        write(tmp_path / "work", {"b.md": "# B\n\nbeacon\n"})
        assert paths(server, "beacon") == []


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        ((), {"RIFFLUX_FILE_WATCHER": "1", "RIFFLUX_FILE_WATCHER_PATHS": "docs"}),
        ((), {"RIFFLUX_FILE_WATCHER": "1", "RIFFLUX_AUTO_REINDEX_PATHS": "docs"}),
        (("--watch-path", "docs"), {}),
    ],
)
def test_what_it_watches_is_indexed_and_followed(
    tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str]
) -> None:
    work = tmp_path / "work"
    write(work, {"docs/a.md": "# A\n\nanchor\n", "elsewhere/x.md": "# X\n\nanchor\n"})
    with serving(work, "rifflux-mcp", *arguments, RIFFLUX_FILE_WATCHER_DEBOUNCE_MS="50", **variables) as server:
        eventually(lambda: server.ask("index_status")["file_watcher"]["running"], "never watched")
        eventually(lambda: paths(server, "anchor") == ["a.md"], "never indexed")
        write(work, {"docs/b.md": "# B\n\nbeacon\n", "docs/c.txt": "beacon\n"})
        eventually(lambda: paths(server, "beacon") == ["b.md"], "never followed")
        (work / "docs/b.md").unlink()
        eventually(lambda: paths(server, "beacon") == [], "what is gone was never dropped")
        # What is gone is not shown from that moment on; its event may be read a moment later. Of what came while the
        # watching began, the first comparison tells, without one.
        eventually(lambda: server.ask("index_status")["file_watcher"]["events_received"] >= 1, "nothing was seen")
        told = server.ask("index_status")["file_watcher"]
        assert told.keys() == KEYS
        assert (told["enabled"], told["watch_paths"], told["debounce_ms"]) == (True, [str(work / "docs")], 50)
        assert told["include_globs"] == ["*.md"] and ".git/*" in told["exclude_globs"]
        assert told["jobs_submitted"] >= 1 and told["crash_restarts"] == 0


def test_a_wrong_debounce_and_a_wrong_path_are_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for variables, said in (
        ({"RIFFLUX_FILE_WATCHER_DEBOUNCE_MS": "soon"}, "soon"),
        ({"RIFFLUX_FILE_WATCHER": "1", "RIFFLUX_FILE_WATCHER_PATHS": "typo"}, "typo does not exist"),
        ({"RIFFLUX_FILE_WATCHER": "perhaps"}, "perhaps"),
    ):
        done = run_script("rifflux-mcp", folder=tmp_path / "work", **variables)
        assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True), done.stderr
        assert len(done.stderr.splitlines()) == 1
