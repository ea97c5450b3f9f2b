"""The front of `dowse mcp`: answers the handshake at once, and passes everything else to a server it finds meanwhile.

Many of these run at a time, and a client waits for the first answer: nothing is imported that only a server needs. A
child process looks for the shared server, and is the server where none can be shared.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

from dowse.shells import PROFILES, parent
from dowse.shells.sharing.handshake import Handshake
from dowse.shells.sharing.proxy import Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:  # their import takes longer than the first answers
    from pathlib import Path

    from dowse.profiles.tool import Profile
    from dowse.shells.backstage import Backstage
    from dowse.shells.sharing.start import Start


class Given:
    """What `dowse mcp` was started with; `flags` are settings by name, None where a flag was not given."""

    def __init__(self, profile: str, roots: Sequence[str], flags: Mapping[str, object]) -> None:
        self.profile = profile
        self.roots = roots
        self.flags = flags

    @property
    def paths(self) -> tuple[Path, ...]:
        from pathlib import Path

        return tuple(map(Path, self.roots))

    def wants_sharing(self, environment: Mapping[str, str]) -> bool:
        """Whether the flag or the variable asks for one process; a settings file is read by whoever serves."""
        if (flag := self.flags.get("share")) is not None:
            return bool(flag)
        if text := environment.get("DOWSE_SHARE"):
            from dowse.config import parse_setting

            return bool(parse_setting("share", text, "the variable DOWSE_SHARE"))
        return True


def read_words(words: Sequence[str]) -> Given | None:
    """The words after `dowse mcp`, as the command line would read them; None for whatever it should read itself."""
    profile, roots = "core", []
    flags: dict[str, object] = {}
    rest = list(words)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if not flag.startswith("--") or not _is_utf8(value):
            return None
        if not equals and flag in ("--share", "--no-share"):
            flags["share"] = flag == "--share"
            continue
        if not equals and (name := _boolean(flag)):
            flags[name] = not flag.startswith("--no-")
            continue
        if not equals:
            value = rest.pop(0) if rest else "-"
        if value.startswith("-") or not _is_utf8(value):
            return None
        if flag == "--profile" and value in PROFILES:
            profile = value
        elif flag == "--root":
            roots.append(value)
        elif name := _valued(flag):
            flags[name] = value
        else:
            return None
    return Given(profile, roots, flags)


def _is_utf8(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _boolean(flag: str) -> str | None:
    """The setting this flag turns on or off."""
    if flag in ("--profile", "--root"):
        return None
    from dowse.config import SETTINGS

    for name in (flag[2:], flag.removeprefix("--no-")):
        setting = SETTINGS.get(name.replace("-", "_"))
        if setting is not None and "_" not in flag and setting.type == "bool":
            return setting.name
    return None


def _valued(flag: str) -> str | None:
    """The setting this flag gives a value to."""
    from dowse.config import SECRETS, SETTINGS

    setting = SETTINGS.get(flag[2:].replace("-", "_"))
    if setting is None or "_" in flag or setting.name in SECRETS or setting.type == "bool":
        return None
    return setting.name


_BY_HAND = (
    "dowse: serving MCP on stdin and stdout, one JSON message a line.\n"
    "dowse: AI agents start this command by themselves; Ctrl-D ends it."
)


def serve_client(given: Given) -> int:
    """Serve the client at stdin and stdout until it leaves."""
    if os.isatty(0):  # a person who typed the command sees nothing happen otherwise
        _tell(_BY_HAND)
    if given.wants_sharing(os.environ):
        if any(map(_may_be_refused, given.roots or (".",))):
            _start_of(given)  # raises what a server of its own would
        handshake = Handshake(given.profile, given.roots, os.environ, is_index_named="index" in given.flags)
        return Proxy(lambda: _start_search(given), handshake).run()
    from dowse.shells.serving import serve_made

    serve_made(lambda backstage: _make_profile(given, backstage), os.environ)
    return 0


def _may_be_refused(root: str) -> bool:
    """Whether the root is worth a look by what a server checks it with, which takes longer to import than this takes:
    it is missing, or a place that few mean to index whole."""
    place, home = os.path.realpath(root), os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 (pathlib is slow to import)
    return place in ("/", home) or not os.path.exists(place)  # noqa: PTH110


def _start_of(given: Given) -> Start:
    from pathlib import Path

    from dowse.shells.sharing.start import Start

    return Start.of(given.profile, roots=given.paths, flags=given.flags, environment=os.environ, cwd=Path.cwd())


def _make_profile(given: Given, backstage: Backstage) -> Profile:
    from pathlib import Path

    from dowse.shells.serving import make_profile

    cwd = Path.cwd()
    _tell(_start_of(given).workspace.notice)
    return make_profile(
        given.profile, roots=given.paths, flags=given.flags, environment=os.environ, cwd=cwd, backstage=backstage
    )


def _tell(sentence: str) -> None:
    if sentence:
        print(sentence, file=sys.stderr, flush=True)  # noqa: T201


# --- the child that finds a server, or is one ---


def _start_search(given: Given) -> socket.socket:
    """The end at which a child says who serves: `shared`, with a connection to the shared server; `own`, where the
    child serves at this very socket; or the `error` that keeps both from serving."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    try:
        ours.close()
        _become_searcher(theirs)
        _find_server(given, theirs)
    except Exception as error:  # noqa: BLE001 - the front tells its client
        _say(theirs, error=f"the server can not start: {error}")
    finally:
        os._exit(0)


def _become_searcher(front: socket.socket) -> None:
    """The client's pipes are the front's alone: they end when it does."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    for descriptor in (0, 1):
        os.dup2(front.fileno(), descriptor)
    parent.note()


def _find_server(given: Given, front: socket.socket) -> None:
    from dowse.errors import DowseError
    from dowse.shells.sharing.place import Unshared

    try:
        start = _start_of(given)
        if start.workspace.settings.share:
            try:
                connection = start.reach().welcomed(parent.is_gone)
                _tell(start.workspace.notice)
                socket.send_fds(front, [b'{"shared": true}\n'], [connection.fileno()])
                return
            except Unshared as error:
                if parent.is_gone():
                    return
                _tell(f"dowse: not shared, this process serves by itself: {error}")
        _serve_front(given, front)
    except (DowseError, OSError) as error:
        _say(front, error=str(error))


def _serve_front(given: Given, front: socket.socket) -> None:
    from dowse.shells.serving import serve_made

    def make(backstage: Backstage) -> Profile:
        profile = _make_profile(given, backstage)
        _say(front, own=True)
        return profile

    serve_made(make, os.environ)


def _say(front: socket.socket, **facts: object) -> None:
    front.sendall(json.dumps(facts).encode() + b"\n")
