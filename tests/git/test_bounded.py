"""Programs that are run to their end, and those that are not."""

from __future__ import annotations

import os
import subprocess

import pytest

from dowse.git.runner import FinishedProcess, OutputTooLargeError, run_bounded

MUCH = b"0123456789abcde\n" * 100_000


def run(script: str, given: bytes = b"", wait_s: float = 60, most_bytes: int = 10_000_000) -> FinishedProcess:
    return run_bounded(["sh", "-c", script], os.environ, given, wait_s, most_bytes)


def test_both_sides_may_write_at_a_time() -> None:
    done = run("tee /dev/stderr; exit 3", MUCH)
    assert (done.returncode, done.stdout) == (3, MUCH)
    assert done.stderr and MUCH.startswith(done.stderr)


def test_what_is_given_need_not_be_read() -> None:
    assert run("exec <&-; echo told", MUCH).stdout == b"told\n"


def test_what_tells_without_end_is_ended() -> None:
    with pytest.raises(OutputTooLargeError):
        run("exec yes", most_bytes=1_000)
    assert run("echo told", most_bytes=5).stdout == b"told\n"


@pytest.mark.parametrize("script", ["exec sleep 600", "exec >&- 2>&-; exec sleep 600"])
def test_what_does_not_come_to_its_end_is_ended(script: str) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(script, wait_s=0.05)


def test_what_is_no_program() -> None:
    with pytest.raises(OSError):
        run_bounded(["/nowhere/git"], os.environ, b"", 60, 10)
