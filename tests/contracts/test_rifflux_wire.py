"""The pipes themselves: nothing but JSON-RPC on stdout, answers while indexing, a quick end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rifflux_server import SCRIPTS, is_indexing, run_script, variables_for

from support import eventually, write

END_WITHIN_S = 60  # soon; but a machine may have much else to do
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"},
    },
}  # fmt: skip
# The server, which gives its last answers all the time that a busy machine may need for them.
PATIENT = (
    "from dowse.cli import compat; from dowse.server import mcp;"
    "mcp._STDIO_LAST_ANSWERS_SECONDS = mcp._LAST_WRITE_SECONDS = 60.0; compat.rifflux_mcp()"
)
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
FILES = {f"docs/{number}.md": f"# File {number}\n\nNumber {number} of a few hundred.\n" for number in range(300)}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@contextmanager
def process(folder: Path, *command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        [str(SCRIPTS / command[0]), *command[1:]],
        cwd=folder,
        env={**os.environ, **variables_for(folder, command[0], variables)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


def say(running: subprocess.Popen[str], *messages: object) -> None:
    assert running.stdin is not None
    running.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    running.stdin.flush()


def hear(running: subprocess.Popen[str]) -> dict[str, Any]:
    assert running.stdout is not None
    answer: dict[str, Any] = json.loads(running.stdout.readline())
    assert answer["jsonrpc"] == "2.0"
    return answer


def piped(folder: Path, lines: list[str], **variables: str) -> list[dict[str, Any]]:
    """All that comes out when everything is put in at once; every line has to be a message."""
    done = subprocess.run(
        [sys.executable, "-c", PATIENT],
        cwd=folder,
        env={**os.environ, **variables_for(folder, "rifflux-mcp", variables)},
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    return answers


def test_stdout_carries_the_protocol_and_nothing_else(work: Path) -> None:
    """Also with the most talkative log, and with every answer still on its way when the input ends."""
    write(work, {"a.md": "# A\n\nalpha\n"})
    messages = [
        INITIALIZE, INITIALIZED, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        call(3, "reindex"), call(4, "search_rifflux", query="alpha"), call(5, "nothing"), call(6, "index_status"),
    ]  # fmt: skip
    answers = {it["id"]: it for it in piped(work, list(map(json.dumps, messages)), RIFFLUX_LOG_LEVEL="DEBUG")}
    assert answers.keys() == {1, 2, 3, 4, 5, 6}
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    assert answers[1]["result"]["serverInfo"]["name"] == "rifflux"
    assert len(answers[2]["result"]["tools"]) == 5
    assert [answers[number]["result"]["isError"] for number in (3, 4, 5, 6)] == [False, False, True, False]


def test_what_is_no_message_gets_an_answer_too(work: Path) -> None:
    lines = [json.dumps(INITIALIZE), "not json", "{}", "[]", '"' + "[" * 5000, "\x00", "[" * 100_000]
    answers = piped(work, [*lines, json.dumps(call(2, "index_status"))])
    assert [it["error"]["code"] for it in answers if it["id"] is None] == [-32700] * 6
    assert next(it for it in answers if it["id"] == 2)["result"]["isError"] is False


def test_lone_surrogates_are_answered(work: Path) -> None:
    """JSON can escape them, UTF-8 can not have them; clients in JavaScript send them as they are."""
    requests = [
        call(2, "search_rifflux", query="%"), call(3, "get_chunk", chunk_id="%"), call(4, "get_file", path="%"),
        call(5, "reindex", path="%"), call(6, "search_rifflux", query="x", db_path="%"), call(7, "%"),
    ]  # fmt: skip
    lines = [json.dumps(request).replace("%", r"\ud83d alpha \ude80") for request in requests]
    answers = {it["id"]: it for it in piped(work, [json.dumps(INITIALIZE), *lines])}
    failed = {number: answers[number]["result"]["isError"] for number in range(2, 8)}
    assert failed == {2: False, 3: False, 4: False, 5: True, 6: True, 7: True}


def test_numbers_that_are_none(work: Path) -> None:
    texts = ["NaN", "Infinity", "-Infinity", "1e400", "1.5"]
    request = json.dumps(call(0, "search_rifflux", query="x", top_k="%"))
    lines = [request.replace('"id": 0', f'"id": {it}').replace('"%"', text) for it, text in enumerate(texts, 2)]
    answers = {it["id"]: it for it in piped(work, [json.dumps(INITIALIZE), *lines])}
    for number in range(2, 2 + len(texts)):
        assert answers[number]["result"]["isError"]
        assert "top_k" in answers[number]["result"]["content"][0]["text"]


def test_arguments_must_be_an_object(work: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "index_status", "arguments": [1]}}
    (answer,) = (it for it in piped(work, [json.dumps(INITIALIZE), json.dumps(request)]) if it["id"] == 2)
    assert answer["error"]["code"] == -32602


# --- while it is indexing ---


@contextmanager
def held(index: Path) -> Iterator[None]:
    """Nobody else can write to the index meanwhile: what indexes has to wait."""
    with open(index.with_name(index.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def index(work: Path) -> Path:
    """A small index, and many files that are not in it yet."""
    write(work, {"first.md": "# First\n\nIndexed before.\n"})
    place = work.parent / "core.db"
    done = run_script("dowse", "index", "--index", str(place), folder=work, DOWSE_ENCODER="hashing")
    assert done.returncode == 0, done.stderr
    write(work, FILES)
    return place


def core(work: Path, index: Path) -> tuple[str, ...]:
    return "dowse", "mcp", "--root", str(work), "--index", str(index), "--encoder", "hashing"


def test_handshake_and_answers_while_indexing(work: Path, index: Path) -> None:
    with process(work, *core(work, index)) as running:
        with held(index):
            say(running, INITIALIZE)
            assert hear(running)["result"]["serverInfo"]["name"] == "dowse"
            eventually(lambda: is_indexing(index))
            say(running, INITIALIZED, call(2, "search", query="indexed before"))
            found = hear(running)["result"]["structuredContent"]
            assert found["hits"][0]["path"] == "first.md"
            assert "indexing is running" in found["index"]
        say(running, call(3, "index"), call(4, "ping"))
        answers = {it["id"]: it for it in (hear(running), hear(running))}
        assert answers[3]["result"]["structuredContent"]["status"] == "completed"
        say(running, call(5, "status"))
        assert hear(running)["result"]["structuredContent"]["records"] == 301


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
def test_it_ends_soon_while_indexing(work: Path, index: Path, how: str) -> None:
    """Without a word to stdout; that it ends when it has nothing to do, the piped tests show."""
    with process(work, *core(work, index)) as running, held(index):
        say(running, INITIALIZE)
        hear(running)
        assert running.stdin is not None
        assert running.stdout is not None
        if how == "end of input":
            running.stdin.close()
        else:
            running.send_signal(getattr(signal, how))
        assert running.wait(END_WITHIN_S) == 0
        assert running.stdout.read() == ""
