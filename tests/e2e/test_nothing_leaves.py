"""Nothing leaves the machine: every system call of every command and server that opens a socket or writes is looked at.

Under strace, a process may have no socket but Unix ones, may not look for a name server, and may write in no place but
Dowse's own: the data directory, and the folder of memories for what writes them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import pytest
from served import HELLO

from dowse.server import PROFILES
from every_verb import DEADLINE_S, DOWSE, UNTIL_STOPPED, all_cases, make_repository, run_to_its_end
from support import eventually

_CALLS = (
    "%network,openat,mkdirat,mknodat,renameat,renameat2,unlinkat,linkat,symlinkat,fchmodat,fchownat,utimensat,truncate,"
    "openat2,?open,?creat,?mkdir,?mknod,?rename,?unlink,?rmdir,?link,?symlink,?chmod,?chown,?lchown,?utimes"
)
_CALL = re.compile(r"\d+ +(?P<name>\w+)\((?P<arguments>.*)")
_PLACE = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
_FAMILY = re.compile(r"\b(?:AF|PF)_(\w+)")
_WRITES = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")
_NAMES = ("/etc/resolv.conf", "/etc/hosts", "/var/run/nscd/socket", "/run/systemd/resolve")
_HARMLESS = ("/dev/null", "/dev/tty", "/proc/self/autogroup")  # the last: the priority of the process itself
_OWN_PIPE = re.compile(r'"/proc/self/fd/1", .*= \d+<pipe:\[\d+\]>$')  # its stdout, opened once more
_CONTRACT = {"rifflux": (".tmp/rifflux",)}  # where the program keeps its index that a profile stands in for
# What a required parameter of a tool is given; a parameter without a row fails the test.
_GIVEN: dict[str, object] = {
    "query": "retries", "pattern": "retry", "name": "retry", "target": "src/client.py", "id": "src/client.py",
    "chunk_id": "0123456789abcdef", "path": "docs/http.md", "hypothesis": "A failed request is tried again.",
    "filename": "backoff", "content": "Once more.", "source_files": ["backoff"], "target_file": "merged",
    "summary_content": "Merged.", "target_document": "src/client.py", "tag": "http", "terms": ["retry"],
    "method": "retry", "repo": ".", "file": "src/client.py", "startLine": 1,
}  # fmt: skip


class Traced:
    """A repository, a home and a temporary directory of its own, and what was seen of the processes run there."""

    def __init__(self, place: Path, *, besides: tuple[str, ...] = (), **variables: str) -> None:
        """`besides`: further folders of the repository in which may be written."""
        self.repository, self.trace = place / "repository", place / "trace"
        self.home, self.data = place / "home", place / "home/.local/share/dowse"
        self.besides = [self.repository / it for it in besides]
        for folder in (self.home, place / "tmp"):
            folder.mkdir()
        make_repository(self.repository)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(place / "tmp"), "TERM": "xterm",
            "SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
            "PYTHONPYCACHEPREFIX": str(place / "bytecode"), "DOWSE_DAEMON_IDLE_S": "0.5", **variables,
        }  # fmt: skip

    def words(self, *command: str) -> list[str]:
        """The command under strace, which writes down each call of interest, with the paths of descriptors."""
        strace = shutil.which("strace")
        assert strace, "strace is not installed; without it nobody can see what leaves: install it"
        return [
            strace, "--follow-forks", "--decode-fds=path", "--seccomp-bpf", "--string-limit=4096", "-qq",
            f"--output={self.trace}", f"--trace={_CALLS}", *command,
        ]  # fmt: skip

    def escapes(self) -> list[str]:
        """The calls that reach for the network, or write where Dowse has nothing to write; one of them each."""
        lines = self.trace.read_text(errors="replace").splitlines()
        assert any(" openat(" in line for line in lines), "strace saw nothing: may processes be traced here (ptrace)?"
        folder, found = str(self.repository), []
        for line in lines:
            if call := _CALL.match(line):
                named = _PLACE.finditer(call["arguments"])
                paths = [os.path.normpath(Path(it["folder"] or folder) / it["path"]) for it in named]
                if reason := self._escape(call["name"], call["arguments"], paths):
                    found.append(f"{reason}: {line}")
        return found

    def _escape(self, name: str, arguments: str, paths: list[str]) -> str:
        if any(path.startswith(_NAMES) for path in paths) or _NAMES[2] in arguments:
            return "looks up a name"
        families = set(_FAMILY.findall(arguments))
        if families - {"UNIX", "LOCAL", "UNSPEC"}:
            return "reaches for the network"
        if families or (name in ("open", "openat", "openat2") and not _WRITES.search(arguments)) or _is_socket(name):
            return ""
        if _OWN_PIPE.search(arguments):
            return ""
        astray = [path for path in paths if not self._is_ours(Path(path))]
        return "writes elsewhere" if astray else ""

    def _is_ours(self, path: Path) -> bool:
        ours = (self.data, self.repository / ".memories", self.repository.with_name("bytecode"), *self.besides)
        above = (self.home / ".local", self.home / ".local/share", *(it.parent for it in self.besides))
        return str(path) in _HARMLESS or path in above or any(path.is_relative_to(it) for it in ours)


def _is_socket(name: str) -> bool:
    return name.startswith(("send", "recv", "sock", "getsock", "setsock", "shutdown", "accept", "listen", "getpeer"))


@pytest.fixture
def place() -> Iterator[Path]:
    """With a short path: the address of a socket has to fit."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.mark.parametrize("encoder", ["auto", "static"])
def test_no_command_reaches_out(place: Path, encoder: str) -> None:
    traced = Traced(place, DOWSE_ENCODER=encoder)
    escaped = {}
    for words in all_cases():
        command = traced.words(*DOWSE, *words)
        done = run_to_its_end(command, traced.repository, traced.environment, stops=words[0] in UNTIL_STOPPED)
        assert done.code in (0, 1) and b"Traceback" not in done.err, (words, done)
        if found := traced.escapes():
            escaped[words] = found[:5]
    assert not escaped
    if encoder == "auto":
        assert list((traced.data / "models").iterdir()), "the encoder that imports onnxruntime was not used"


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("profile", PROFILES)
def test_no_server_reaches_out(place: Path, profile: str, share: bool) -> None:
    traced = Traced(place, besides=_CONTRACT.get(profile, ()), DOWSE_SHARE=str(share).lower())
    with _Server(traced, profile) as server:
        for tool in server.ask("tools/list", {})["tools"]:
            required = tool["inputSchema"].get("required", ())
            server.ask("tools/call", {"name": tool["name"], "arguments": {name: _GIVEN[name] for name in required}})
    assert traced.escapes() == []
    assert (traced.data / "run").exists() == share


def test_what_onnxruntime_does_by_itself_is_seen_and_a_server_does_nothing_of_it(place: Path) -> None:
    """So the trace is known to see. The look-ups begin seconds after the import; the server lives for longer."""
    for name in ("guarded", "open"):
        (place / name).mkdir()
    guarded, unguarded = Traced(place / "guarded"), Traced(place / "open")
    with _Server(guarded, "core") as server:
        assert server.ask("tools/call", {"name": "search", "arguments": {"query": "retries", "mode": "semantic"}})
        sessions = "import onnxruntime, sys; sys.stdin.read()"
        process = subprocess.Popen(
            unguarded.words(sys.executable, "-c", sessions),
            cwd=unguarded.repository, env=unguarded.environment, stdin=subprocess.PIPE,
        )  # fmt: skip
        with process:
            seen = set[str]()

            def look() -> bool:
                if unguarded.trace.exists() and "openat(" in unguarded.trace.read_text():
                    seen.update(it.partition(":")[0] for it in unguarded.escapes())
                return seen == {"writes elsewhere", "reaches for the network", "looks up a name"}

            eventually(look, f"of onnxruntime without the variable, only this was seen: {seen}", within_s=60)
    assert guarded.escapes() == []


class _Server:
    """A traced `dowse mcp`, after the handshake; ends when the client leaves."""

    def __init__(self, traced: Traced, profile: str) -> None:
        command = traced.words(*DOWSE, "mcp", "--profile", profile)
        self.process = subprocess.Popen(
            command,
            cwd=traced.repository,
            env=traced.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._asked = 0

    def __enter__(self) -> _Server:
        self.ask("initialize", HELLO)
        self._say({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe(self.process.stdin).close()
        self.process.wait(DEADLINE_S)
        self._pipe(self.process.stdout).close()

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, list[dict[str, dict[str, list[str]]]]]:
        self._asked += 1
        self._say({"id": self._asked, "method": method, "params": params})
        while line := self._pipe(self.process.stdout).readline():
            reply = json.loads(line)
            if reply.get("id") == self._asked:
                return reply["result"]  # type: ignore[no-any-return]
        raise AssertionError(f"the server ended before it answered {method}")

    def _say(self, message: Mapping[str, object]) -> None:
        pipe = self._pipe(self.process.stdin)
        pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        pipe.flush()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe
