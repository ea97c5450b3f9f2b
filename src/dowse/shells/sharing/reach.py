"""How a client finds the shared server of its index: connect, start one if there is none, and be welcomed."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from dowse.config import SETTINGS
from dowse.shells.sharing.hello import Asked, Hello
from dowse.shells.sharing.place import MeetingPlace, Unshared, is_ours, make_private, try_lock

# On a machine with much to do, one more model would make it worse; and nobody waits in vain, the front answers.
STARTING_S = 30.0
WELCOME_S = 30.0  # a server that was just started listens before it has imported what it serves with
_CONNECT_S = 2.0
_LOOK_AGAIN_S = 0.02
_LOOK_UP_S = 0.1
_REPLY_BYTES = 65_536
Reply = Mapping[str, object]
Stopped = Callable[[], bool]
Report = Callable[[str], None]


def _never() -> bool:
    return False


def tell_terminal(sentence: str) -> None:
    """A line for a person who waits; whoever keeps stderr as a log gets none."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"dowse: {sentence}", file=sys.stderr, flush=True)  # noqa: T201


@dataclass(frozen=True, slots=True)
class Reach:
    """Where to meet, what to say there, and the command that starts a server."""

    place: MeetingPlace
    hello: Hello
    command: list[str]

    def welcomed(self, stopped: Stopped = _never, report: Report = tell_terminal) -> socket.socket:
        """A connection to a server that takes us; raises `Unshared` with the reason if there is none to be had, or
        as soon as it is not wanted any more (`stopped`). A server that has to be started first is reported."""
        make_private(self.place.folder)
        began = time.monotonic()
        deadline = began + STARTING_S
        starting, launched = None, False
        try:
            while time.monotonic() < deadline and not stopped():
                if (connection := self._welcomed(stopped)) is not None:
                    if launched:
                        report(f"the shared server answers, after {time.monotonic() - began:.1f} s")
                    return connection
                if starting is None:
                    starting = try_lock(self.place.starting)
                elif not launched:
                    report(f"starting the shared server of this index; its log is\n  {self.place.log}")
                    launch(self.command, self.place)
                    launched = True
                time.sleep(_LOOK_AGAIN_S)
        except OSError as error:
            raise Unshared(f"the shared server can not be reached: {error}") from error
        finally:
            if starting is not None:
                os.close(starting)
        raise Unshared(f"no shared server could be started within {STARTING_S:g} s; {self.place.log} may say why")

    def _welcomed(self, stopped: Stopped) -> socket.socket | None:
        with ExitStack() as unless_welcome:
            connection = connect(self.place)
            if connection is None:
                return None
            unless_welcome.callback(connection.close)
            reply = converse(connection, self.hello, stopped)
            if reply is None:
                return None
            if reply.get("retired"):
                return None  # one of another version, which has made room for ours
            if not reply.get("ok"):
                raise Unshared(str(reply.get("why", "the shared server refuses this client and gives no reason")))
            unless_welcome.pop_all()
            return connection


def connect(place: MeetingPlace) -> socket.socket | None:
    """A connection to whoever listens there; None if nobody does, whatever a killed server left behind."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_CONNECT_S)
    try:
        connection.connect(str(place.socket))
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError:
        connection.close()
        raise
    if not is_ours(connection):
        connection.close()
        raise Unshared(f"the server at {place.socket} is of another user; remove the socket")
    return connection


def converse(connection: socket.socket, hello: Hello, stopped: Stopped = _never) -> Reply | None:
    """What the server answers to the hello; None if it went away instead."""
    line = b""
    deadline = time.monotonic() + WELCOME_S
    try:
        connection.sendall(hello.line())
        connection.settimeout(_LOOK_UP_S)
        while not line.endswith(b"\n"):
            data = _received(connection, deadline, stopped)
            if not data:
                return None
            line += data
        reply = json.loads(line)
    except (BrokenPipeError, ConnectionResetError):
        return None
    except ValueError:
        raise Unshared("the shared server answered nonsense; `dowse daemon restart` replaces it") from None
    return reply if isinstance(reply, dict) else {}


def _received(connection: socket.socket, deadline: float, stopped: Stopped) -> bytes:
    while time.monotonic() < deadline and not stopped():
        with suppress(TimeoutError):
            return connection.recv(_REPLY_BYTES)
    raise Unshared("the shared server did not answer in time; `dowse daemon stop` ends it or says which process to end")


def daemon_command(asked: Asked, flags: Mapping[str, object]) -> list[str]:
    """The server that takes this client, in words. The directory it starts in must not give it modules (-P)."""
    words = [sys.executable, "-P", "-m", "dowse", "daemon", "run", "--detached", "--profile", asked.profile]
    words += [f"--root={root}" for root in asked.roots]
    return words + setting_words(flags)


def setting_words(flags: Mapping[str, object]) -> list[str]:
    """The settings among these flags, as another process is given them."""
    words: list[str] = []
    for name, value in flags.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool) and name in SETTINGS:
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None and name in SETTINGS:
            words.append(f"--{flag}={value}")
    return words


def launch(command: list[str], place: MeetingPlace) -> None:
    """Run it detached: in a session of its own, and nobody's child, so that it never is our zombie."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(place.log, flags, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _become(command, nothing, log)
    os.close(log)
    os.close(nothing)
    os.waitpid(child, 0)


def _become(command: list[str], nothing: int, log: int) -> None:
    try:
        os.setsid()
        if os.fork() == 0:
            for source, target in ((nothing, 0), (nothing, 1), (log, 2)):
                os.dup2(source, target)
            os.execv(command[0], command)
    finally:
        os._exit(0)
