"""The front end of `dowse mcp`: answer the handshake at once, and pass everything else to a server found meanwhile.

Many of these run at a time, and a client waits for the first answer, so nothing is imported that only a server needs. A
child process looks for the shared server, and becomes the server if none can be shared.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

from dowse.server import PROFILES, parent
from dowse.server.sharing.proxy import HandshakeResponder, StdioProxy

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these takes longer than the first answers
    from pathlib import Path

    from dowse.server.runtime import ServerRuntime
    from dowse.server.sharing.client import LaunchConfig
    from dowse.tools.tool import ToolSet


class McpArguments:
    """The arguments of `dowse mcp`; `flags` are settings by name, None if a flag was not given."""

    def __init__(self, profile: str, roots: Sequence[str], flags: Mapping[str, object]) -> None:
        self.profile = profile
        self.roots = roots
        self.flags = flags

    @property
    def paths(self) -> tuple[Path, ...]:
        from pathlib import Path

        return tuple(map(Path, self.roots))

    def wants_sharing(self, environment: Mapping[str, str]) -> bool:
        """Return whether the flag or the variable asks for sharing; the server reads the settings file."""
        if (flag := self.flags.get("share")) is not None:
            return bool(flag)
        if text := environment.get("DOWSE_SHARE"):
            from dowse.config import parse_setting

            return bool(parse_setting("share", text, "the variable DOWSE_SHARE"))
        return True


def parse_mcp_words(words: Sequence[str]) -> McpArguments | None:
    """Parse the words after `dowse mcp` as click would; None if click has to parse them."""
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
        if not equals and (name := _boolean_setting(flag)):
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
        elif name := _valued_setting(flag):
            flags[name] = value
        else:
            return None
    return McpArguments(profile, roots, flags)


def _is_utf8(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _boolean_setting(flag: str) -> str | None:
    """Return the setting that this flag turns on or off."""
    if flag in ("--profile", "--root"):
        return None
    from dowse.config import SETTINGS

    for name in (flag[2:], flag.removeprefix("--no-")):
        setting = SETTINGS.get(name.replace("-", "_"))
        if setting is not None and "_" not in flag and setting.type == "bool":
            return setting.name
    return None


def _valued_setting(flag: str) -> str | None:
    """Return the setting that this flag gives a value to."""
    from dowse.config import SECRET_SETTINGS, SETTINGS

    setting = SETTINGS.get(flag[2:].replace("-", "_"))
    if setting is None or "_" in flag or setting.name in SECRET_SETTINGS or setting.type == "bool":
        return None
    return setting.name


_TERMINAL_NOTICE = (
    "dowse: serving MCP on stdin and stdout, one JSON message per line.\n"
    "dowse: AI agents start this command themselves; Ctrl-D ends it."
)


def serve_mcp_client(arguments: McpArguments) -> int:
    """Serve the client at stdin and stdout until it leaves."""
    if os.isatty(0):  # otherwise a person who typed the command would see nothing happen
        _print_notice(_TERMINAL_NOTICE)
    if arguments.wants_sharing(os.environ):
        if any(map(_might_be_refused, arguments.roots or (".",))):
            _resolve_launch(arguments)  # raises the error that a server would
        handshake = HandshakeResponder(
            arguments.profile, arguments.roots, os.environ, is_index_named="index" in arguments.flags
        )
        return StdioProxy(lambda: _start_server_search(arguments), handshake).run()
    from dowse.server.runtime import serve_with

    serve_with(lambda server_runtime: _make_own_profile(arguments, server_runtime), os.environ)
    return 0


def _might_be_refused(root: str) -> bool:
    """Return whether a server might refuse the root: it is missing, or a place that few people want to index as a
    whole.

    This quick check avoids importing the full one.
    """
    place, home = os.path.realpath(root), os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 (pathlib is slow to import)
    return place in ("/", home) or not os.path.exists(place)  # noqa: PTH110


def _resolve_launch(arguments: McpArguments) -> LaunchConfig:
    from pathlib import Path

    from dowse.server.sharing.client import LaunchConfig

    return LaunchConfig.of(
        arguments.profile, roots=arguments.paths, flags=arguments.flags, environment=os.environ, cwd=Path.cwd()
    )


def _make_own_profile(arguments: McpArguments, server_runtime: ServerRuntime) -> ToolSet:
    from pathlib import Path

    from dowse.server.runtime import make_profile

    cwd = Path.cwd()
    _print_notice(_resolve_launch(arguments).workspace.notice)
    return make_profile(
        arguments.profile,
        roots=arguments.paths,
        flags=arguments.flags,
        environment=os.environ,
        cwd=cwd,
        server_runtime=server_runtime,
    )


def _print_notice(sentence: str) -> None:
    if sentence:
        print(sentence, file=sys.stderr, flush=True)  # noqa: T201


# --- the child process that finds a server or becomes one ---


def _start_server_search(arguments: McpArguments) -> socket.socket:
    """Start a child process and return the socket on which it reports who serves.

    - `shared`: comes with a connection to the shared server
    - `own`: the child itself serves on this socket
    - `error`: why neither can serve
    """
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    try:
        ours.close()
        _set_up_child(theirs)
        _find_or_become_server(arguments, theirs)
    except Exception as error:  # noqa: BLE001 - the front reports it to the client
        _report_to_front(theirs, error=f"the server cannot start: {error}")
    finally:
        os._exit(0)


def _set_up_child(front: socket.socket) -> None:
    """Set up the child process; the client's pipes belong to the front alone and end with it."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    for descriptor in (0, 1):
        os.dup2(front.fileno(), descriptor)
    parent.record_parent()


def _find_or_become_server(arguments: McpArguments, front: socket.socket) -> None:
    from dowse.errors import DowseError
    from dowse.server.sharing.hello import DaemonUnavailable

    try:
        start = _resolve_launch(arguments)
        if start.workspace.settings.share:
            try:
                connection = start.daemon_client().connect_or_start(parent.parent_exited)
                _print_notice(start.workspace.notice)
                socket.send_fds(front, [b'{"shared": true}\n'], [connection.fileno()])
                return
            except DaemonUnavailable as error:
                if parent.parent_exited():
                    return
                _print_notice(f"dowse: no shared server, this process serves by itself: {error}")
        _serve_front(arguments, front)
    except (DowseError, OSError) as error:
        _report_to_front(front, error=str(error))


def _serve_front(arguments: McpArguments, front: socket.socket) -> None:
    from dowse.server.runtime import serve_with

    def make(server_runtime: ServerRuntime) -> ToolSet:
        profile = _make_own_profile(arguments, server_runtime)
        _report_to_front(front, own=True)
        return profile

    serve_with(make, os.environ)


def _report_to_front(front: socket.socket, **facts: object) -> None:
    front.sendall(json.dumps(facts).encode() + b"\n")
