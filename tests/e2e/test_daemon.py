"""Many agents, one server: real processes, the official client, and what happens when one of them dies."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from served import children_of
from shared_site import DOWSE, INITIALIZE, INITIALIZED, ByHand, Site, call, is_alive

from dowse.processes import process_by_pid
from dowse.server.sharing.client import exchange_hello
from support import eventually, write

FILES = {
    "docs/retry.md": "# Retries\n\nA failed request is retried with exponential backoff.\n",
    **dict.fromkeys(
        ("click.py", "json.py", "anyio.py", "dowse.py"), "raise SystemExit('imported from a served root')\n"
    ),
    "src/app.py": "def install_package(name):\n    return name\n\n\ndef main():\n    install_package('x')\n",
}
TOOLS = ["search", "fetch", "grep", "symbols", "calls", "why", "related", "remember", "index", "status"]
HEAVY = {"numpy", "onnxruntime", "tokenizers", "pydantic", "mcp", "mcp_types", "rich", "anyio", "asyncio", "apsw"}
HEAVY |= {"click"}


@contextmanager
def made_site() -> Iterator[Site]:
    """In a directory with a short name: the address of a socket has its limit."""
    with TemporaryDirectory(prefix="dw") as base:
        write(Path(base, "root"), FILES)
        site = Site(Path(base, "root"), Path(base, "data"))
        yield site
        site.end()


@pytest.fixture
def site() -> Iterator[Site]:
    with made_site() as made:
        yield made


@pytest.fixture(scope="module")
def served() -> Iterator[Site]:
    """One whose server outlives every test that uses it."""
    with made_site() as made:
        with made.by_hand() as agent:
            agent.shake_hands()
            agent.ask(1, "index")
        yield made


def test_every_tool_answers_through_the_pipe(served: Site) -> None:
    with served.agent() as agent:
        agent.ask("index")
        hit = agent.ask("search", query="exponential backoff")["hits"][0]
        assert hit["path"] == "docs/retry.md" and "freshness" not in hit
        assert "exponential" in agent.ask("fetch", id=hit["chunk_id"])["text"]
        assert "docs/retry.md" in json.dumps(agent.ask("grep", pattern="backoff"))
        assert "install_package" in json.dumps(agent.ask("symbols", name="install"))
        assert "main" in json.dumps(agent.ask("calls", name="install_package"))
        assert "install_package" in json.dumps(agent.ask("why", target="install_package"))
        assert "install_package" in json.dumps(agent.ask("related", target="install_package"))
        assert agent.ask("remember", name="backoff", content="Keep the jitter.")["name"] == "backoff.md"
        assert agent.ask("status")["records"] == 6
        assert agent.call("nothing").is_error
        listed = agent.portal.call(agent.client.list_tools).tools
        assert [it.name for it in listed] == TOOLS
        assert agent.errors.read_text() == ""


def test_eight_agents_that_start_at_once_share_one_server(site: Site) -> None:
    with ExitStack() as stack:
        with ThreadPoolExecutor(8) as pool:
            profiles = ["core", "ragdocs", "codesearch", "core"] * 2
            entering = [pool.submit(stack.enter_context, site.by_hand("--profile", it)) for it in profiles]
            agents = [it.result() for it in entering]
            for agent in agents:
                agent.say(INITIALIZE, INITIALIZED, call(1, "nothing"))
            answers = list(pool.map(lambda it: (it.hear(), it.hear()), agents))
        assert all("serverInfo" in first["result"] and second["id"] == 1 for first, second in answers)
        state = site.state()
        assert state["profiles"] == {"core": 4, "ragdocs": 2, "codesearch": 2}
        assert servers_of(site) == [state["pid"]]


def servers_of(site: Site) -> list[int]:
    """Every process that serves there, whoever started it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            here = (folder / "cwd").resolve() == site.root.resolve()
        except OSError:
            continue
        if here and b"daemon" in words and is_alive(int(folder.name)):
            found.append(int(folder.name))
    return found


def test_a_session_outlives_its_servers(site: Site) -> None:
    """The first is killed while it answers, the second told to leave, the third loses its socket."""
    with site.by_hand() as agent:
        agent.shake_hands()
        assert "result" in agent.ask("index", "index")
        first = site.pid()
        os.kill(first, signal.SIGSTOP)
        agent.say(call("lost", "search", query="backoff"))
        eventually(agent.has_read)  # else it may learn of the end first, and asks another
        os.kill(first, signal.SIGKILL)
        lost = agent.hear()
        assert (lost["id"], "ask again" in lost["error"]["message"]) == ("lost", True)
        second = asked_again(site, agent, {first})
        # Nobody's child: whoever started it has no zombie of it when it dies.
        assert Path(f"/proc/{second}/stat").read_text().rpartition(")")[2].split()[1] != str(agent.process.pid)

        agent.say(call(1, "search", query="backoff"), call(2, "status"))
        os.kill(second, signal.SIGTERM)
        answers = [agent.hear(), agent.hear()]
        # Asked before it was told to leave, or just after: answered, or told to ask again.
        assert all("result" in it or "ask again" in it["error"]["message"] for it in answers)
        eventually(lambda: not is_alive(second))
        third = asked_again(site, agent, {first, second})

        site.start().socket_paths.socket.unlink()
        eventually(lambda: not is_alive(third))
        asked_again(site, agent, {first, second, third})
        assert agent.leave() == 0
    eventually(lambda: site.state()["connections"] == 0)


def asked_again(site: Site, agent: ByHand, before: set[int]) -> int:
    """The server that answers now, which none of those before is."""
    answer = agent.ask("again", "search", query="backoff")
    for _ in range(5):  # on a machine with much to do, a server may not be there in time
        if "no shared server could be started" in answer.get("error", {}).get("message", ""):
            time.sleep(5)
            answer = agent.ask("again", "search", query="backoff")
    assert "result" in answer, answer
    assert answer["result"]["structuredContent"]["hits"][0]["path"] == "docs/retry.md"
    assert site.pid() not in before
    return site.pid()


def end_server(site: Site) -> None:
    pid = site.pid()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid))


def test_where_no_server_can_be_shared_the_session_goes_on_with_one_of_its_own(site: Site) -> None:
    with site.by_hand() as agent:
        agent.shake_hands()
        agent.ask(0, "index")
        end_server(site)
        (site.data / "run").chmod(0o755)  # where others may look in, nobody is met
        assert "result" in agent.ask(1, "search", query="backoff")
        own, *_ = children_of(agent.process.pid)
        os.kill(own, signal.SIGKILL)
        eventually(lambda: not children_of(agent.process.pid))
        assert "result" in agent.ask(2, "status")
        own, *_ = children_of(agent.process.pid)
        (site.data / "run").chmod(0o700)
        assert agent.leave() == 0
        eventually(lambda: not is_alive(own))
        assert agent.process.stderr is not None
        assert b"mode 0700" in agent.process.stderr.read()


def test_without_any_server_every_request_is_told_and_the_exit_code_says_so(site: Site) -> None:
    with site.by_hand() as agent:
        agent.shake_hands()
        agent.ask(0, "status")
        end_server(site)
        write(site.root, {"dowse.toml": "limit = 'many'\n"})
        for number in (1, 2):
            assert "limit must be a whole number" in agent.ask(number, "status")["error"]["message"]
        (site.root / "dowse.toml").unlink()
        assert agent.leave() == 1


def test_what_can_never_be_served_ends_with_its_reason(site: Site) -> None:
    with site.by_hand("--root", "missing") as agent:
        assert agent.process.wait(60) == 2
        assert agent.process.stdout is not None and agent.process.stderr is not None
        assert agent.process.stdout.read() == b""
        assert b"missing does not exist" in agent.process.stderr.read()


def test_the_first_answers_need_no_server(site: Site) -> None:
    with site.by_hand() as agent:
        agent.say(INITIALIZE, INITIALIZED, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert [agent.hear()["id"] for _ in range(2)] == [0, 1]
        assert memory_kb(agent.process.pid) <= 20_000
        assert agent.leave() == 0


def memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(it for it in lines if it.startswith("VmRSS")).split()[1])


def test_requests_piped_in_at_once_are_answered_although_the_input_ends(site: Site) -> None:
    with site.by_hand() as agent:
        agent.say(INITIALIZE, INITIALIZED, call(1, "status"))
        assert agent.process.stdin is not None and agent.process.stdout is not None
        agent.process.stdin.close()
        assert [json.loads(it)["id"] for it in agent.process.stdout] == [0, 1]
        assert agent.process.wait(60) == 0


def test_a_server_of_another_version_makes_room_and_serves_those_it_has(site: Site) -> None:
    with site.by_hand() as agent:
        agent.shake_hands()
        agent.ask(1, "index")
        first = site.pid()
        newer = dataclasses.replace(site.start().hello("serve"), build="another")
        with site.connection() as connection:
            assert (exchange_hello(connection, newer) or {})["retired"]
        assert site.state() == {}
        with site.by_hand() as other:
            other.shake_hands()
            assert "result" in other.ask(1, "status")
            second = site.pid()
            assert second != first and not children_of(other.process.pid)
            assert agent.ask(2, "search", query="backoff")["result"]["structuredContent"]["hits"]
            assert sorted(servers_of(site)) == sorted([first, second])
            assert agent.leave() == 0
            eventually(lambda: servers_of(site) == [second])


def test_other_settings_are_served_by_a_process_of_their_own(served: Site) -> None:
    with served.agent("--limit", "3", DOWSE_FRESHNESS_TIMEOUT_MS="7") as agent:
        assert agent.ask("search", query="backoff")["hits"]
        said = agent.errors.read_text()
        assert "serves by itself" in said and "other settings (freshness_timeout_ms, limit);" in said
        assert served.state()["connections"] == 0


def test_people_start_stop_and_look_at_it(site: Site) -> None:
    assert site.run("daemon", "status").returncode == 1
    started = json.loads(site.run("daemon", "start", "--json").stdout)
    assert (started["running"], started["connections"]) == (True, 0)
    twice = site.run("daemon", "run")
    assert twice.returncode == 2 and f"is already running as process {started['pid']}" in twice.stderr
    assert "other settings (limit)" in site.run("daemon", "start", "--limit", "3").stderr
    with site.by_hand() as agent:
        agent.shake_hands()
        restarted = json.loads(site.run("daemon", "restart", "--json", "--limit", "10").stdout)
        assert restarted["pid"] != started["pid"]
        eventually(lambda: not is_alive(started["pid"]))
        assert "result" in agent.ask(1, "status")
    assert site.run("daemon", "stop").stdout == "stopped\n"
    eventually(lambda: not is_alive(restarted["pid"]))
    assert not Path(restarted["socket"]).exists()
    assert "shutting down on request" in Path(restarted["log"]).read_text()
    assert "no shared server was running" in site.run("daemon", "stop").stdout


def test_a_deleted_index_is_made_anew(served: Site) -> None:
    with served.agent() as agent:
        agent.ask("index")
        for it in served.start().workspace.index.parent.iterdir():
            it.unlink()
        agent.ask("index")
        assert agent.ask("search", query="backoff")["hits"]


def test_a_long_data_directory_meets_elsewhere_and_nobody_stays_when_nobody_needs_it(site: Site) -> None:
    long = Site(site.root, site.data / ("d" * 100))
    short = site.root.with_name("t")
    short.mkdir()
    with long.agent(TMPDIR=str(short), DOWSE_DAEMON_IDLE_S="2") as agent:
        assert agent.ask("status")["schema"]
        assert agent.errors.read_text() == ""
        folder = short / f"dowse-{os.getuid()}"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        pid = int(next(folder.glob("*.lock")).read_text())
        assert is_alive(pid)
    eventually(lambda: not is_alive(pid))
    assert not list(folder.glob("*.sock"))


@pytest.mark.parametrize("end", ["input", signal.SIGTERM, signal.SIGINT])
def test_the_pipe_ends_at_once_and_delivers_what_was_asked(served: Site, end: str | signal.Signals) -> None:
    with served.by_hand() as agent:
        garbage = (b"garbage", b"", b"[" * 100_000, b"\xff\xfe", b'"\\ud800"', b"[]")
        agent.say(INITIALIZE, INITIALIZED, *garbage, call(1, "status"))
        if end == "input":
            assert agent.process.stdin is not None
            agent.process.stdin.close()
        else:
            first = agent.hear()  # by now it has installed what catches signals
            agent.process.send_signal(end)
            assert first["id"] == 0
        assert agent.process.wait(60) == 0
        answers = [json.loads(line) for line in agent.process.stdout or ()]
        assert [it["id"] for it in answers][-6:] == [None] * 5 + [1]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_what_was_said_before_a_signal_is_answered(served: Site, end: signal.Signals) -> None:
    """Both are there when it looks up."""
    with served.by_hand() as agent:
        agent.shake_hands()
        agent.process.send_signal(signal.SIGSTOP)
        eventually(lambda: process_by_pid(agent.process.pid).is_stopped())
        agent.say(call(1, "status"))
        agent.process.send_signal(end)
        agent.process.send_signal(signal.SIGCONT)
        answer = agent.hear()
        assert (answer["id"], answer.get("error")) == (1, None)
        assert agent.process.wait(60) == 0


def test_a_killed_agent_is_forgotten_by_the_server(served: Site) -> None:
    with served.by_hand() as agent, served.by_hand() as other:
        agent.shake_hands()
        other.shake_hands()
        agent.process.kill()
        eventually(lambda: served.state()["connections"] == 1)
        assert "result" in other.ask(1, "status")


def test_the_pipe_ends_with_its_parent_even_if_its_input_stays_open(served: Site) -> None:
    reading, writing = os.pipe()
    script = (
        "import subprocess, sys, time\np = subprocess.Popen(sys.argv[1:])\nprint(p.pid, flush=True)\ntime.sleep(600)"
    )
    command = [sys.executable, "-c", script, DOWSE, "mcp"]
    with subprocess.Popen(
        command,
        cwd=served.root,
        env=served.environment(),
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as parent:
        os.close(reading)
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        eventually(lambda: served.state()["connections"] == 1)
        parent.kill()
        eventually(lambda: not is_alive(pid))
    os.close(writing)
    eventually(lambda: served.state()["connections"] == 0)


def test_hostile_clients_do_not_keep_it_from_serving(served: Site) -> None:
    with served.by_hand() as agent, ExitStack() as stack:
        agent.shake_hands()
        pid = served.pid()
        silent, refused, endless, *crowd = [stack.enter_context(served.connection()) for _ in range(200)]
        rude = (b"\n", b"GET / HTTP/1.1\r\n\r\n", b"\xff\0\n", b"[" * 100_000 + b"\n", b'{"verb": "serve"}\n')
        for connection, line in zip(crowd, rude, strict=False):
            connection.sendall(line)
        refused.sendall(b'{"verb": "serve", "asked": 5}\n')
        assert b"must be a Dowse handshake" in refused.recv(10_000)
        with suppress(ConnectionError):
            for _ in range(1000):
                endless.sendall(b"x" * 100_000)
            endless.sendall(b"\n")
            assert endless.recv(1) == b""
        assert "result" in agent.ask(2, "search", query="backoff")
        assert silent.recv(1) == b""  # it has never said anything
        assert served.pid() == pid


def test_too_long_a_message_is_refused_and_the_next_one_answered(served: Site) -> None:
    with served.by_hand() as agent:
        agent.shake_hands()
        agent.say(b'{"jsonrpc": "2.0", "id": 7, "method": "' + b"x" * 40_000_000 + b'"}')
        assert "at most 16 MB" in agent.hear()["error"]["message"]
        assert agent.ask(8, "search", query="y" * 1_000_000)["id"] == 8


def test_one_who_does_not_read_holds_nobody_up(served: Site) -> None:
    write(served.root, {"long.md": "\n".join(f"line {number} {'x' * 200}" for number in range(2000))})
    with served.by_hand() as greedy, served.by_hand() as agent:
        greedy.shake_hands()
        agent.shake_hands()
        agent.ask(1, "index")
        asked = [call(number, "fetch", id="long.md", budget_tokens=100_000) for number in range(50)]
        greedy.say(*asked)
        assert "result" in agent.ask(2, "search", query="line")
        heard = {greedy.hear()["id"] for _ in asked}
        assert heard == set(range(50))


def test_the_first_answers_import_nothing_heavy(served: Site) -> None:
    command = [sys.executable, "-X", "importtime", DOWSE, "mcp"]
    asked = (INITIALIZE, INITIALIZED, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    lines = "".join(json.dumps(it) + "\n" for it in asked)
    done = subprocess.run(
        command, cwd=served.root, env=served.environment(), input=lines, capture_output=True, text=True, check=True
    )
    assert [json.loads(it)["id"] for it in done.stdout.splitlines()] == [0, 1]
    imported = {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "dowse" in imported
    assert imported & HEAVY == set()
