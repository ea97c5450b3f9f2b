"""What the front answers by itself is, byte for byte, what a server answers: of every profile, in every version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

import dowse
from dowse.server import PROFILES
from dowse.server.sharing.proxy import MULTI_ROOT_HANDSHAKE, HandshakeResponder
from support import write

FOLDER = Path(str(dowse.__file__)).parent / "server/sharing/handshakes"
HOW = "If the change is meant, run `pytest tests/server/sharing/test_handshake.py --update`, and commit the files."
CLIENT = {"name": "a client", "version": "1"}
PREFIX = "io.modelcontextprotocol/"
ENVELOPE = {
    f"{PREFIX}protocolVersion": LATEST_MODERN_VERSION,
    f"{PREFIX}clientInfo": CLIENT,
    f"{PREFIX}clientCapabilities": {"roots": {}},
}
Request = dict[str, Any]
FILES = {**{it: (it,) for it in PROFILES}, MULTI_ROOT_HANDSHAKE: ("core", ".", "../other")}
"""For each file of answers, the profile and the roots that a server is started with."""


def request(number: int | str, method: str, params: object = ...) -> Request:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is ... else {**message, "params": params}


def initialize(version: object, number: int | str = 0, **more: object) -> Request:
    capabilities = {"roots": {"listChanged": True}, "sampling": {}}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT, **more}
    return request(number, "initialize", params)


def serve(folder: Path, profile: str, requests: Sequence[Request]) -> list[bytes]:
    """What a server in one process answers, a line for each request."""
    environment = os.environ | {"DOWSE_DATA_DIR": str(folder.with_name("data")), "DOWSE_ENCODER": "none"}
    command = [sys.executable, "-m", "dowse", "mcp", "--no-share", "--profile", FILES[profile][0]]
    command += [f"--root={it}" for it in FILES[profile][1:]]
    lines = b"".join(json.dumps(it).encode() + b"\n" for it in requests)
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in requests]
        process.stdin.close()
    return sorted(answers, key=lambda it: str(json.loads(it)["id"]))


def recorded(folder: Path, profile: str) -> str:
    """The file of a profile, as its server answers."""
    first, tools = serve(folder, profile, [initialize("none", 1), request(2, "tools/list")])
    params = {"_meta": ENVELOPE}
    found, listed = serve(folder, profile, [request(1, "server/discover", params), request(2, "tools/list", params)])
    enveloped = {"server/discover": json.loads(found)["result"], "tools/list": json.loads(listed)["result"]}
    enveloped["tools/list"]["tools"] = []  # those of the handshake
    table = {
        "versions": HANDSHAKE_PROTOCOL_VERSIONS,
        "initialize": json.loads(first)["result"],
        "tools": json.loads(tools)["result"]["tools"],
        "enveloped": {"version": LATEST_MODERN_VERSION, **enveloped},
    }
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


@pytest.fixture
def here(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write(root, {"a.md": "# A\n\nalpha\n", "../other/b.md": "# B\n\nbeta\n"})
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "nothing"))
    yield root


@pytest.mark.parametrize("profile", FILES)
def test_the_file_is_what_a_server_answers(here: Path, profile: str, update: bool) -> None:
    path, now = FOLDER / f"{profile}.json", recorded(here, profile)
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    assert path.exists() and path.read_text(encoding="utf-8") == now, HOW


VERSIONS = (*KNOWN_PROTOCOL_VERSIONS, "1999-01-01", "")
OTHERS = tuple(it for it in FILES if it != "core")


@pytest.mark.parametrize(
    ("profile", "version"), [*(("core", it) for it in VERSIONS), *((it, VERSIONS[0]) for it in OTHERS)]
)
def test_the_front_answers_as_the_server_does(here: Path, profile: str, version: str) -> None:
    asked = [
        initialize(version, 1),
        request(2, "ping"),
        request(3, "tools/list"),
        request(4, "tools/list", {}),
        request(5, "tools/list", None),
        request("6 \u00e4", "tools/list", {"_meta": {"progressToken": "a"}}),
        request(7, "ping", {"_meta": {"progressToken": 1}}),
    ]
    name, *roots = FILES[profile]
    front = HandshakeResponder(name, roots, os.environ)
    assert [front.answer(it) for it in asked] == serve(here, profile, asked), HOW


def test_also_where_every_request_says_who_asks(here: Path) -> None:
    params = {"_meta": ENVELOPE}
    asked = [request(1, "server/discover", params), request(2, "tools/list", params)]
    front = HandshakeResponder("core", (), os.environ)
    answers = [json.loads(front.answer(it) or b"") for it in asked]  # the order of keys differs
    assert answers == [json.loads(it) for it in serve(here, "core", asked)], HOW
    assert front.answer(initialize(VERSIONS[0])) is None


LEFT_TO_THE_SERVER = [
    {},
    {"jsonrpc": "2.0", "method": "ping"},
    {"id": 1, "method": "ping"},
    request(1.5, "ping"),  # type: ignore[arg-type]
    request(True, "ping"),
    request("\ud800", "ping"),
    request(1, "ping", []),
    request(1, "tools/list", {"cursor": "x"}),
    request(1, "tools/list", {"_meta": 5}),
    request(1, "tools/list", {"_meta": {"progressToken": []}}),
    request(1, "tools/list", {"_meta": ENVELOPE}),
    request(1, "tools/call", {"name": "status"}),
    request(1, "server/discover"),
    request([], "ping"),  # type: ignore[arg-type]
    initialize(VERSIONS[0]),  # for the second time
]


@pytest.mark.parametrize("message", LEFT_TO_THE_SERVER, ids=json.dumps)
def test_whatever_is_not_plainly_right_is_left_to_the_server(message: Request) -> None:
    front = HandshakeResponder("core", (), {})
    assert front.answer(request(1, "tools/list")) is None  # before the handshake
    assert front.answer(initialize(VERSIONS[0]))
    assert front.answer(message) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocolVersion": 5}, {"clientInfo": {"name": "a"}}, {"clientInfo": None}, {"capabilities": None},
        {"capabilities": {"roots": True}}, {"more": 1},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_a_wrong_handshake_is_left_to_the_server(wrong: dict[str, object]) -> None:
    message = initialize(VERSIONS[0])
    message["params"] |= wrong
    assert HandshakeResponder("core", (), {}).answer(message) is None


def test_tools_that_a_settings_file_may_take_away_are_listed_by_the_server(here: Path) -> None:
    write(here, {".mcp-markdown-ragdocs/config.toml": "[memory]\nenabled = false\n"})
    (here / "below").mkdir()
    for root in ("", "below", str(here)):
        front = HandshakeResponder("ragdocs", (root,), os.environ)
        assert front.answer(initialize(VERSIONS[0]))
        assert front.answer(request(1, "tools/list")) is None
    front = HandshakeResponder("core", (), os.environ)
    assert front.answer(initialize(VERSIONS[0])) and front.answer(request(1, "tools/list"))


def test_several_roots_that_may_have_one_index_are_listed_by_the_server() -> None:
    for environment, is_named in (({"DOWSE_INDEX": "i.db"}, False), ({}, True)):
        front = HandshakeResponder("core", (".", "../other"), environment, is_index_named=is_named)
        assert front.answer(initialize(VERSIONS[0]))
        assert front.answer(request(1, "tools/list")) is None
