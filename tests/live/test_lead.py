"""One process leads, and when it dies another does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dowse.live.leader import LeaderLock, leader_file, leader_of

HOLD = """
import sys, time
from pathlib import Path
from dowse.live.leader import LeaderLock
leadership = LeaderLock(Path(sys.argv[1]))
print(leadership.try_acquire(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.db"


def test_only_one_leads(index: Path) -> None:
    first, second = LeaderLock(index), LeaderLock(index)
    assert first.try_acquire() and first.is_leader
    assert not second.try_acquire() and not second.is_leader
    assert leader_of(index) == os.getpid()
    assert first.try_acquire()
    first.close()
    assert not first.is_leader
    assert leader_of(index) is None
    assert second.try_acquire()


def test_whoever_dies_leads_no_more(index: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(index)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    other = LeaderLock(index)
    assert not other.try_acquire()
    assert leader_of(index) == process.pid
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert other.try_acquire()
    assert leader_of(index) == os.getpid()


def test_a_lock_file_that_was_deleted_is_no_leadership(index: Path) -> None:
    first, second = LeaderLock(index), LeaderLock(index)
    first.try_acquire()
    leader_file(index).unlink()
    assert second.try_acquire()
    assert not first.try_acquire()
    assert not first.is_leader


def test_where_there_can_be_no_lock_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    leadership = LeaderLock(tmp_path / "data" / "index.db")
    assert not leadership.try_acquire()
    assert "changes are not watched" in leadership.problem


def test_a_link_in_its_place_is_not_followed(index: Path, tmp_path: Path) -> None:
    index.parent.mkdir()
    (tmp_path / "precious").write_text("precious")
    leader_file(index).symlink_to(tmp_path / "precious")
    assert not LeaderLock(index).try_acquire()
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 100, b"1" * 5000])
def test_whatever_stands_in_the_file_is_no_reason_to_fail(index: Path, content: bytes) -> None:
    index.parent.mkdir()
    leader_file(index).write_bytes(content)
    leadership = LeaderLock(index)
    leader_of(index)
    assert leadership.try_acquire()
    assert leader_of(index) == os.getpid()
