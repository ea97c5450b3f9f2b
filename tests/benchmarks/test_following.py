"""The judges of freshness: they know what was on disk when, and tell an answer that is not true."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from following.checkout import CheckedOut
from following.disk import COMMON, Disk
from following.judging import is_hidden, untrue_hits, untrue_lines
from following.remains import left_after, processes_with
from following.repository import git, make, saves
from following.saving import Saved
from following.section import client_lines, freshness_lines
from following.soak import Outcome, Plan


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "root", 30, random.Random(1))


def hit(disk: Disk, path: str, freshness: str = "fresh") -> dict[str, Any]:
    return {"path": path, "start_line": 1, "text": (disk.root / path).read_text(), "freshness": freshness}


def test_a_hit_is_true_while_its_text_is_there(disk: Disk) -> None:
    path = disk.present()[0]
    shown = hit(disk, path)
    before = time.time()
    disk.write(path, "changed")
    after = time.time()
    assert list(untrue_hits(disk, {"hits": [shown]}, before, after)) == []
    (complaint,) = untrue_hits(disk, {"hits": [shown]}, after, time.time())
    assert path in complaint and "fresh" in complaint
    assert list(untrue_hits(disk, {"hits": [shown | {"freshness": "changed"}]}, after, time.time())) == []


def test_a_hit_of_a_deleted_or_renamed_file_is_untrue(disk: Disk) -> None:
    path = disk.present()[0]
    shown = hit(disk, path)
    now = disk.delete(path) + 0.001
    assert list(untrue_hits(disk, {"hits": [shown]}, now, now + 1))
    assert list(untrue_hits(disk, {"hits": [hit(disk, disk.present()[0]) | {"path": "never/there.md"}]}, 0, now))


def test_a_hit_at_the_wrong_line_is_untrue(disk: Disk) -> None:
    shown = hit(disk, disk.present()[0]) | {"start_line": 2}
    assert list(untrue_hits(disk, {"hits": [shown]}, 0, time.time()))


def test_lines_are_judged_likewise(disk: Disk) -> None:
    path = disk.present()[0]
    lines = (disk.root / path).read_text().split("\n")[2:5]
    file = {"path": path, "freshness": "fresh", "excerpts": [{"start_line": 3, "lines": lines}]}
    assert list(untrue_lines(disk, {"files": [file]}, 0, time.time())) == []
    now = disk.write(path, "changed")
    other = file | {"excerpts": [{"start_line": 3, "lines": ["x"]}]}
    assert len(list(untrue_lines(disk, {"files": [other]}, now, now))) == 1
    assert list(untrue_lines(disk, {"files": [file | {"freshness": "gone"}]}, now, now)) == []


def test_the_memory_of_the_disk_is_what_is_on_it(disk: Disk) -> None:
    for _ in range(200):
        disk.change()
    on_disk = sorted(it.relative_to(disk.root).as_posix() for it in disk.root.rglob("*.md"))
    assert disk.present() == on_disk
    now = time.time()
    assert all(disk.held(path, 1, (disk.root / path).read_text(), now, now) for path in on_disk)
    assert all(COMMON in (disk.root / path).read_text() for path in on_disk)


@pytest.mark.parametrize(
    ("complete", "later_s", "found", "hidden"),
    [(True, 1, False, True), (False, 1, False, False), (True, -1, False, False), (True, 1, True, False)],
)
def test_what_is_missing_must_be_said(complete: bool, later_s: float, found: bool, hidden: bool) -> None:
    saved = 1_800_000_000.0
    as_of = datetime.fromtimestamp(saved + later_s, UTC).isoformat()
    answer = {"hits": [{"path": "a.md"}] * found, "completeness": {"complete": complete, "as_of": as_of}}
    assert is_hidden(answer, "a.md", saved) is hidden


def test_processes_are_known_by_their_environment(tmp_path: Path) -> None:
    environment = os.environ | {"MARK": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", "input()"], env=environment, stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while process.pid not in processes_with(str(tmp_path)):
            assert time.monotonic() < deadline
        assert list(left_after(str(tmp_path), 0)) == [process.pid]
        process.communicate(b"\n")
    assert left_after(str(tmp_path), 30) == {}


def test_saves_are_what_they_say(tmp_path: Path) -> None:
    root, rng = tmp_path / "root", random.Random(2)
    paths = make(root, 80, rng)
    git(root, "diff", "--quiet", "HEAD")
    kinds = []
    for save in saves(root, paths, 12, rng):
        kinds.append(save.kind)
        holding = [it.relative_to(root).as_posix() for it in root.glob("d*/*") if save.word in it.read_text()]
        assert holding == ([save.path] if save.path else [])
    assert kinds == ["edit", "new", "rename", "delete"] * 3


def test_tables_have_every_figure_and_complaint() -> None:
    followed, repaired = Saved(), Saved()
    for number in range(20):
        followed.times["edit"].append(500.0 + number)
        repaired.times["new"].append(40.0)
    repaired.wrong = ["a save was not in the answer"]
    storm = CheckedOut(10_000, 3.0, 61.5, 0)
    text = "\n".join(freshness_lines(followed, repaired, ([5.0], [6.0]), storm))
    assert (
        "| save → visible, with watcher and default debounce | p50 509.00 ms, p95 518.00 ms | p95 ≤ 1000 ms |" in text
    )
    assert "| … new | p50 40.00 ms, p95 40.00 ms |  |" in text
    assert "| … from its end until the index matches the disk | 61.5 s | 0 left |" in text
    assert "- a save was not in the answer" in text
    outcome = Outcome(answers=1234, handover_s=1.25, errors=[f"error {number}" for number in range(7)])
    text = "\n".join(client_lines(Plan(60), outcome))
    assert "| server answers | 1,234 |  |" in text
    assert "| errors | 7 | 0 |" in text and "- … and 2 more" in text
    assert "new file | 1.2 s | ≤ 5 s |" in text
