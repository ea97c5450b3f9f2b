"""Every command of `dowse`, with arguments that make it work, and a small repository for them to work on.

A command without a row here fails the tests that go over all of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dowse.cli import VERBS
from gits import Repo

DOWSE = (sys.executable, "-m", "dowse")
DEADLINE_S = 300.0

# In the order of the commands: what one writes, a later one finds.
CASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (("how are retries handled",), ("--explain", "--mode", "semantic", "retry"), ("--files", "retry")),
    "grep": (("retry",), ("-l", "retry"), ("-C", "1", "retry")),
    "index": (("--force",),),
    "calls": (("retry",), ("--down", "--unresolved", "fetch")),
    "impact": ((),),
    "why": (("src/client.py:5",), ("retry",)),
    "related": (("src/client.py",), ("memory:backoff",)),
    "symbols": ((), ("--at", "src/client.py:5"), ("--body", "--stats", "retry"), ("--audit",)),
    "find": (("client",), ("--live", "client"), ("--contents", "retry")),
    "read": (("docs/http.md",), ("src/client.py:1-3",)),
    "remember": (("jitter", "Jitter is on purpose", "--tag", "http", "--anchor", "src/client.py#retry"),),
    "memories": ((), ("--stale",)),
    "forget": (("jitter",),),
    "status": ((),),
    "watch": ((),),
    "jobs": ((),),
    "indexes": ((), ("prune", "--yes")),
    "export": ((),),
    "doctor": ((), ("--fix",)),
    "rebuild": ((),),
    "eval": (("--self", "--queries", "4"), ("gold.jsonl",)),
    "mcp": ((),),
    "daemon": (("run",), ("start",), ("status",), ("restart",), ("stop",)),
}
UNTIL_STOPPED = {"watch"}  # commands that never end by themselves


def all_cases() -> Iterator[tuple[str, ...]]:
    """Each command line, of every command there is."""
    for verb in VERBS:
        yield from ((verb, *words) for words in CASES[verb])


def make_repository(place: Path) -> Repo:
    """Code, a document, a note, two commits, and a change that is not committed."""
    repo = Repo(place)
    code = "def fetch(url):\n    return retry(url)\n\n\ndef retry(url):\n    return url\n"
    gold = '{"query": "retries", "relevance": [{"path_contains": "http", "gain": 1}]}\n'
    repo.commit("Fetch once", {"src/client.py": code, "docs/http.md": "# HTTP\n\n## Retries\n\nThere are none.\n"})
    note = "---\ntype: fact\ntags: [http]\n---\nRetries are of [[src/client.py]].\n"
    repo.commit(
        "Retry with backoff",
        {
            "docs/http.md": "# HTTP\n\n## Retries\n\nA failed request is tried again, see [code](../src/client.py).\n",
            ".memories/backoff.md": note,
            "gold.jsonl": gold,
        },
    )
    (place / "src/client.py").write_text(code.replace("return url\n", "return url or retry(url)\n"))
    return repo


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: bytes
    err: bytes


def run_to_its_end(words: Sequence[str], cwd: Path, environment: Mapping[str, str], *, stops: bool = False) -> Ended:
    """A process whose stderr is a terminal, so that progress bars are drawn. One that `stops` is asked to, once it
    has said something there."""
    terminal, its_end = os.openpty()
    process = subprocess.Popen(
        words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=its_end
    )
    os.close(its_end)
    said, speaking = bytearray(), threading.Event()

    def listen() -> None:
        with suppress(OSError):  # so the end of a terminal is told
            while piece := os.read(terminal, 65_536):
                said.extend(piece)
                speaking.set()
        speaking.set()

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        if stops:
            speaking.wait(DEADLINE_S)
            _ask_to_stop(process.pid)
        out, _ = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        listener.join()
        os.close(terminal)
    return Ended(process.returncode, out, bytes(said))


def _ask_to_stop(pid: int) -> None:
    """The process, or what a tracer runs for us: a tracer that is stopped itself lets go of it."""
    traced = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    tracer = Path(f"/proc/{pid}/comm").read_text().strip() == "strace"
    os.kill(int(traced[0]) if tracer else pid, signal.SIGTERM)
