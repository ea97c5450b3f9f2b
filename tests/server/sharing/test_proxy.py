"""The pipe to a shared server as a process of its own, with a server and a client that do as they are told."""

from __future__ import annotations

import fcntl
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from dowse.processes import process_by_pid
from support import eventually

# Its clock tells the length of a file, in seconds.
PIPE = """
import os, socket, sys
from dowse.server.sharing.proxy import StdioProxy

server = socket.socket(fileno=int(sys.argv[1]))
sys.exit(StdioProxy(lambda: server, None, lambda: float(os.path.getsize(sys.argv[2]))).run())
"""
LINE = b'{"jsonrpc": "2.0", "method": "notifications/said", "params": {"text": "%s"}}\n' % (b"x" * 20_000)
PIPE_BYTES = 1 << 20


class Piped:
    """Both ends of a pipe that runs; what its client says fits into its input, or is taken from there."""

    def __init__(self, process: subprocess.Popen[bytes], server: socket.socket, clock: Path) -> None:
        self.process, self.server, self.clock = process, server, clock

    @property
    def input(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def say(self, text: bytes) -> None:
        self.input.write(text)
        self.input.flush()

    def heard(self) -> bytes:
        """All that reaches the server, until nothing more will."""
        return b"".join(iter(lambda: self.server.recv(1 << 16), b""))

    def pass_time(self, seconds: int) -> None:
        with self.clock.open("ab") as file:
            file.write(bytes(seconds))

    def look_up(self) -> None:
        """It has gone round since: when it takes the second part, it is done with all that followed the first."""
        for part in (b"[", b"["):
            self.server.sendall(part)
            eventually(lambda: not struct.unpack("i", fcntl.ioctl(self.server, termios.TIOCOUTQ, bytes(4)))[0])

    def end(self) -> int:
        self.server.close()
        return self.process.wait(60)


@contextmanager
def pipe(folder: Path, stdin: int | IO[bytes]) -> Iterator[Piped]:
    ours, theirs = socket.socketpair()
    clock = folder / "clock"
    clock.write_bytes(b"")
    command = [sys.executable, "-c", PIPE, str(theirs.fileno()), str(clock)]
    with (
        ours,
        subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=stdin, stdout=subprocess.PIPE) as process,
    ):
        theirs.close()
        ours.settimeout(60)
        made = Piped(process, ours, clock)
        try:
            ours.sendall(b'{"own": true}\n')
            made.look_up()  # by now it has installed what catches signals
            yield made
        finally:
            process.kill()


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Piped]:
    with pipe(tmp_path, subprocess.PIPE) as made:
        fcntl.fcntl(made.input, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        yield made


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_all_that_was_said_before_a_signal_is_passed_on(piped: Piped, end: signal.Signals) -> None:
    piped.process.send_signal(signal.SIGSTOP)
    eventually(lambda: process_by_pid(piped.process.pid).is_stopped())
    piped.say(LINE * 40)
    piped.process.send_signal(end)
    piped.process.send_signal(signal.SIGCONT)
    assert piped.heard() == LINE * 40
    assert piped.end() == 0


def test_also_while_much_waits_for_the_server(piped: Piped) -> None:
    piped.say(LINE * 100)
    piped.process.send_signal(signal.SIGTERM)
    assert piped.heard() == LINE * 100
    assert piped.end() == 0


def test_one_that_never_stops_to_talk_is_not_listened_to_for_ever(tmp_path: Path) -> None:
    with open("/dev/zero", "rb") as endless, pipe(tmp_path, endless) as piped:
        piped.process.send_signal(signal.SIGTERM)
        assert piped.heard() == b""
        assert piped.end() == 0


def test_a_client_that_has_left_is_noticed_although_its_input_is_not_read_to_the_end(piped: Piped) -> None:
    piped.say(LINE * 100)
    piped.input.close()
    eventually(lambda: piped.pass_time(4) or piped.process.poll() is not None, "it waits for the server", 60)
    assert piped.process.returncode == 0


def test_it_waits_from_when_the_client_has_closed_its_input(piped: Piped) -> None:
    """And not from when the server has last taken anything."""
    piped.say(LINE * 100)
    piped.pass_time(100)
    piped.look_up()
    piped.input.close()
    piped.look_up()
    assert piped.heard() == LINE * 100
    assert piped.end() == 0


def test_it_stays_while_the_client_takes_answers(piped: Piped) -> None:
    piped.say(LINE * 100)
    piped.input.close()
    assert piped.process.stdout is not None
    for _ in range(5):
        piped.server.sendall(b"\n")
        piped.process.stdout.readline()
        piped.pass_time(2)
        piped.look_up()
    assert piped.heard() == LINE * 100
    assert piped.end() == 0
