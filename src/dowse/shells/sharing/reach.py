"""How a client finds the shared server of its index: connect, start one if there is none, and be welcomed."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dowse.config import SETTINGS
from dowse.shells.sharing.hello import Asked, Hello
from dowse.shells.sharing.place import MeetingPlace, Unshared, is_ours, make_private, try_lock

STARTING_S = 5.0
WELCOME_S = 15.0  # a server that was just started listens before it has imported what it serves with
_LOOK_AGAIN_S = 0.02
_REPLY_BYTES = 65_536
Reply = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reach:
    """Where to meet, what to say there, and the command that starts a server."""

    place: MeetingPlace
    hello: Hello
    command: list[str]

    def welcomed(self, stopped: Callable[[], bool] = lambda: False) -> socket.socket:
        """A connection to a server that takes us; raises `Unshared` with the reason if there is none to be had."""
        make_private(self.place.folder)
        deadline = time.monotonic() + STARTING_S
        starting, launched = None, False
        try:
            while time.monotonic() < deadline and not stopped():
                if (connection := self._welcomed()) is not None:
                    return connection
                if starting is None:
                    starting = try_lock(self.place.starting)
                elif not launched:
                    launch(self.command, self.place)
                    launched = True
                time.sleep(_LOOK_AGAIN_S)
        except OSError as error:
            raise Unshared(f"the shared server can not be reached: {error}") from error
        finally:
            if starting is not None:
                os.close(starting)
        raise Unshared(f"no shared server could be started within {STARTING_S:g} s; {self.place.log} may say why")

    def _welcomed(self) -> socket.socket | None:
        connection = connect(self.place)
        if connection is None:
            return None
        try:
            reply = converse(connection, self.hello)
        except BaseException:
            connection.close()
            raise
        if reply is None:
            connection.close()
        elif not reply.get("ok"):
            connection.close()
            raise Unshared(str(reply.get("why", "it gave no reason")))
        return connection if reply is not None else None


def connect(place: MeetingPlace) -> socket.socket | None:
    """A connection to whoever listens there; None if nobody does, whatever a killed server left behind."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(WELCOME_S)
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


def converse(connection: socket.socket, hello: Hello) -> Reply | None:
    """What the server answers to the hello; None if it went away instead."""
    line = b""
    try:
        connection.sendall(hello.line())
        while not line.endswith(b"\n"):
            data = connection.recv(_REPLY_BYTES)
            if not data:
                return None
            line += data
        reply = json.loads(line)
    except (BrokenPipeError, ConnectionResetError):
        return None
    except TimeoutError:
        raise Unshared(f"the shared server did not answer within {WELCOME_S:g} s; `dowse daemon restart`") from None
    except ValueError:
        raise Unshared("the shared server answered nonsense; `dowse daemon restart` replaces it") from None
    return reply if isinstance(reply, dict) else {}


def daemon_command(asked: Asked, flags: Mapping[str, object]) -> list[str]:
    """The server that takes this client, in words. The directory it starts in must not give it modules (-P)."""
    words = [sys.executable, "-P", "-m", "dowse", "daemon", "run", "--detached", "--profile", asked.profile]
    words += [f"--root={root}" for root in asked.roots]
    for name, value in flags.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
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
