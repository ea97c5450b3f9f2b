"""One process leads, and when it dies another does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dowse.live.lead import Leadership, leader_file, leader_of

HOLD = """
import sys, time
from pathlib import Path
from dowse.live.lead import Leadership
leadership = Leadership(Path(sys.argv[1]))
print(leadership.attempt(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.db"


def test_only_one_leads(index: Path) -> None:
    first, second = Leadership(index), Leadership(index)
    assert first.attempt() and first.leading
    assert not second.attempt() and not second.leading
    assert leader_of(index) == os.getpid()
    assert first.attempt()
    first.close()
    assert not first.leading
    assert leader_of(index) is None
    assert second.attempt()


def test_whoever_dies_leads_no_more(index: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(index)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    other = Leadership(index)
    assert not other.attempt()
    assert leader_of(index) == process.pid
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert other.attempt()
    assert leader_of(index) == os.getpid()


def test_a_lock_file_that_was_deleted_is_no_leadership(index: Path) -> None:
    first, second = Leadership(index), Leadership(index)
    first.attempt()
    leader_file(index).unlink()
    assert second.attempt()
    assert not first.attempt()
    assert not first.leading


def test_where_there_can_be_no_lock_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    leadership = Leadership(tmp_path / "data" / "index.db")
    assert not leadership.attempt()
    assert "nobody follows the files" in leadership.problem


def test_a_link_in_its_place_is_not_followed(index: Path, tmp_path: Path) -> None:
    index.parent.mkdir()
    (tmp_path / "precious").write_text("precious")
    leader_file(index).symlink_to(tmp_path / "precious")
    assert not Leadership(index).attempt()
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 100, b"1" * 5000])
def test_whatever_stands_in_the_file_is_no_reason_to_fail(index: Path, content: bytes) -> None:
    index.parent.mkdir()
    leader_file(index).write_bytes(content)
    leadership = Leadership(index)
    leader_of(index)
    assert leadership.attempt()
    assert leader_of(index) == os.getpid()
