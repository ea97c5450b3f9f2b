"""Looking at the beginning of an index takes no lock away from those who use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.live.heal import IndexRebuild
from dowse.store.sqlite.database import Database, read_first_bytes
from dowse.store.sqlite.health import find_header_problem

# The bytes on which everybody who has an index open holds a shared lock.
_TRY = (
    "import fcntl, sys; file = open(sys.argv[1], 'r+b')\n"
    "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
)


def _is_free_for_another(index: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", _TRY, str(index)], capture_output=True, timeout=60)
    assert done.returncode == 0 or b"BlockingIOError" in done.stderr
    return done.returncode == 0


def _held(tmp_path: Path) -> Database:
    db = Database(tmp_path / "index.db", create=True)
    with db.transaction() as connection:
        connection.execute("INSERT INTO manifest (key, value) VALUES ('one', 'yes')")
    return db


def test_one_who_looks_at_the_header_keeps_its_locks(tmp_path: Path) -> None:
    db = _held(tmp_path)
    assert find_header_problem(db.path) == ""
    IndexRebuild(Settings(data_dir=tmp_path), db.path, tmp_path).check_replaceable()
    assert not _is_free_for_another(db.path)
    db.close()
    assert _is_free_for_another(db.path)


def test_an_index_that_is_in_its_log_alone_has_a_sound_header(tmp_path: Path) -> None:
    db = _held(tmp_path)
    assert db.path.stat().st_size == 4096
    assert find_header_problem(db.path) == ""
    db.checkpoint("TRUNCATE")
    assert find_header_problem(db.path) == ""
    db.close()
    for at in (44, 47, 56, 59):
        data = bytearray(db.path.read_bytes())
        data[at] ^= 4
        (tmp_path / "damaged").write_bytes(data)
        assert "damaged header" in find_header_problem(tmp_path / "damaged")


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 300])
def test_as_many_as_there_are(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert read_first_bytes(tmp_path / "file", 100) == content[:100]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "nothing"):
        with pytest.raises(OSError):
            read_first_bytes(path, 100)
