"""Many clients on one index at once, while its files change: servers, commands, and the end of whoever leads."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL

from following.disk import COMMON, Disk
from following.judging import is_hidden, untrue_hits, untrue_lines
from following.official import Refused, Served, served
from following.remains import left_after

READY_S = 60.0
EXIT_S = 30.0  # what is still there then was forgotten, however busy the machine
PAUSE_S = 0.02
NOT_REPAIRING = ("--freshness-timeout-ms", "0")


@dataclass(frozen=True, slots=True)
class Plan:
    seconds: float
    servers: int = 8
    readers: int = 4
    files: int = 200
    seed: int = 5


@dataclass(slots=True)
class Outcome:
    """What happened; `errors`, `untrue` and `orphans` shall be empty."""

    answers: int = 0
    commands: int = 0
    marked: int = 0
    changes: int = 0
    handover_s: float = float("inf")
    errors: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


class Soak:
    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan, self.outcome = plan, Outcome()
        self.disk = Disk(folder / "root", plan.files, random.Random(plan.seed))
        self._data = folder / "data"
        self._errors = folder / "stderr.txt"
        self.environment = os.environ | {"DOWSE_DATA_DIR": str(self._data), "DOWSE_ENCODER": "hashing"}
        self._over = threading.Event()
        self._turn = threading.Lock()

    def run(self) -> Outcome:
        subprocess.run([sys.executable, "-m", "dowse", "index"], cwd=self.disk.root, env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        with self._servers() as servers:
            leader = self._leader(servers)
            with self._busy(servers):
                time.sleep(self.plan.seconds / 2)
                self._kill(leader)
                time.sleep(self.plan.seconds / 2)
            self.outcome.handover_s = self._hand_over(servers)
        left = left_after(str(self._data), EXIT_S)
        self.outcome.orphans = [f"{pid}: {command}" for pid, command in left.items()]
        self.outcome.changes = self.disk.changes
        return self.outcome

    @contextmanager
    def _servers(self) -> Iterator[list[Served]]:
        """Every second one answers without indexing anything first."""
        with ExitStack() as stack:
            log = stack.enter_context(open(self._errors, "w", encoding="utf-8"))
            starts = [
                served(f"server {number}", self.disk.root, self.environment, NOT_REPAIRING if number % 2 else (), log)
                for number in range(self.plan.servers)
            ]
            with ThreadPoolExecutor(len(starts)) as pool:
                servers = list(pool.map(stack.enter_context, starts))
            yield servers

    @contextmanager
    def _busy(self, servers: list[Served]) -> Iterator[None]:
        works: list[Callable[[], None]] = [self.disk.change, *(Asking(self, it).ask for it in servers)]
        works += [Command(self, number).run for number in range(self.plan.readers)]
        threads = [threading.Thread(target=self._repeat, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _repeat(self, work: Callable[[], None]) -> None:
        while not self._over.wait(PAUSE_S):
            work()

    # --- what the threads tell ---

    def answered(self, untrue: Iterator[str], marked: int, *, command: bool = False) -> None:
        found = list(untrue)
        with self._turn:
            self.outcome.untrue += found
            self.outcome.marked += marked
            self.outcome.answers += not command
            self.outcome.commands += command

    def failed(self, error: str) -> None:
        with self._turn:
            self.outcome.errors.append(error)

    # --- who leads ---

    def _leader(self, servers: list[Served]) -> Served:
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            for it in servers:
                if not it.killed and it.ask("status")["watcher"].get("leading"):
                    return it
            time.sleep(0.1)
        raise SystemExit("no server became the leader")

    def _kill(self, leader: Served) -> None:
        pid = leader.ask("status")["watcher"]["leader"]
        leader.killed = True
        os.kill(pid, SIGKILL)

    def _hand_over(self, servers: list[Served]) -> float:
        """From the end of whoever leads until another has indexed a new file, while nobody does so just to answer."""
        self._kill(self._leader(servers))
        began = time.monotonic()
        self.disk.write("d0/after.md", "takenover")
        witness = next(it for it in servers[1::2] if not it.killed)
        while time.monotonic() < began + READY_S:
            hits = witness.ask("search", query="takenover", recipe="lexical")["hits"]
            if any(hit["path"] == "d0/after.md" for hit in hits):
                break
            time.sleep(PAUSE_S)
        return time.monotonic() - began


class Asking:
    """The client of one server."""

    def __init__(self, soak: Soak, server: Served) -> None:
        self._soak, self._server = soak, server
        self._asked = 0

    def ask(self) -> None:
        if self._server.killed:
            return
        self._asked += 1
        try:
            self._save_and_ask() if self._asked % 10 == 0 else self._ask()
        except Refused as error:
            self._soak.failed(str(error))
        except Exception as error:  # noqa: BLE001 - whatever a client of a server that was killed raises
            if not self._server.killed:
                self._soak.failed(f"{self._server.name}: {type(error).__name__}: {error}")

    def _ask(self) -> None:
        since = time.time()
        answer = self._server.ask(
            "search", query=f"{COMMON} part{self._asked % 4}", limit=20, recipe="lexical", explain=True
        )
        self._judge(answer, since)

    def _save_and_ask(self) -> None:
        """What one has just saved is in the answer, or the answer says that it may not be."""
        word = f"{self._server.name.replace(' ', '')}x{self._asked}"
        saved = self._soak.disk.write(f"d1/{word}.md", word)
        since = time.time()
        answer = self._server.ask("search", query=word, recipe="lexical", explain=True)
        if not self._server.killed and is_hidden(answer, f"d1/{word}.md", saved):
            self._soak.failed(f"{self._server.name}: an earlier save is neither in the answer nor reported as missing")
        self._judge(answer, since)

    def _judge(self, answer: dict[str, object], since: float) -> None:
        hits: list[dict[str, object]] = answer["hits"]  # type: ignore[assignment]
        marked = sum(hit.get("freshness") in ("changed", "gone") for hit in hits)
        self._soak.answered(untrue_hits(self._soak.disk, answer, since, time.time()), marked)


class Command:
    """A person at a terminal: searches and looks for lines by turns, each time in a new process."""

    def __init__(self, soak: Soak, number: int) -> None:
        self._soak = soak
        self._asked = number

    def run(self) -> None:
        self._asked += 1
        is_search = self._asked % 2 == 0
        words = ["search", "--mode", "lexical", COMMON] if is_search else ["grep", f"part{self._asked % 4}"]
        since = time.time()
        done = subprocess.run(
            [sys.executable, "-m", "dowse", *words, "--json"], cwd=self._soak.disk.root, env=self._soak.environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            self._soak.failed(f"dowse {' '.join(words)} ended with {done.returncode}: {done.stderr}")
            return
        answer, judge = json.loads(done.stdout), untrue_hits if is_search else untrue_lines
        found = answer["hits" if is_search else "files"]
        marked = sum(it["freshness"] in ("changed", "gone") for it in found)
        self._soak.answered(judge(self._soak.disk, answer, since, time.time()), marked, command=True)
