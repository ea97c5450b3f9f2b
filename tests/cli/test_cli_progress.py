"""Progress of long work, on stderr alone: one bar for each phase, or a line now and then."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from dowse.cli import progress
from dowse.cli.progress import ProgressPhase, format_duration, progress_bar
from support import command_line, eventually, write


def test_the_parts_of_a_phase_are_one_count() -> None:
    phase = ProgressPhase("Reading files")
    seen = []
    for done, total in ((0, 3), (3, 3), (0, 2), (1, 2), (2, 2)):  # a root, then its folder of notes
        phase.note(done, total)
        seen.append((phase.done, phase.total))
    assert seen == [(0, 3), (3, 3), (3, 5), (4, 5), (5, 5)]


def test_what_is_done_already_counts_from_the_beginning() -> None:
    phase = ProgressPhase("Encoding")
    phase.note(40, 100)
    assert (phase.done, phase.total) == (40, 100)


def test_without_a_terminal_there_is_a_line_every_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PROGRESS_LINE_SECONDS", 0.01)
    told: list[str] = []
    with progress_bar() as note:
        note("reading", 1_200, 5_000)
        eventually(lambda: told.append(err) if (err := capsys.readouterr().err) else told)
        note("encoding", 5_000, 5_000)
    out, _ = capsys.readouterr()
    assert told[0].splitlines()[0] == "Reading files: 1,200 of 5,000" and out == ""


def test_work_that_is_over_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as note:
        note("reading", 1, 2)
        note("reading", 2, 2)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_every_phase_has_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with progress_bar() as note:
        for done in range(41):
            note("quick encoding", done, 40)
        note("encoding", 0, 40)
        note("encoding", 10, 40)
    last = terminal.getvalue()
    assert "Preparing semantic search" in last and "40/40" in last
    assert "Encoding for semantic search" in last and "10/40" in last


def test_json_has_stdout_to_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, {f"{number}.md": f"# A {number}\n\nalpha\n" for number in range(30)})
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(root.parent / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    monkeypatch.setattr(progress, "PROGRESS_LINE_SECONDS", 0.001)
    _, out, err = command_line(capsys)("index", "--json")
    assert out.startswith("{") and out.count("\n") == 1
    assert "30 of 30" in err or "of 30" in err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "250 ms"), (9.95, "9.9 s"), (99.0, "99.0 s"), (120.0, "2 min"), (7200.0, "2 h")]
)
def test_lengths_of_time(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
