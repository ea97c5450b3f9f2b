"""From a save to the answer that has it: with a server that watches, and through repair at the answer."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from following.repository import Save
from processes import Server, serving
from timing import timed

READY_S = 300.0
VISIBLE_S = 30.0
_POLL_S = 0.005


@dataclass(slots=True)
class Saved:
    """Milliseconds by what was done, and what went wrong."""

    times: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[float]:
        return [it for times in self.times.values() for it in times]


Work = Callable[[Server], Any]


def with_server(root: Path, environment: Mapping[str, str], flags: Sequence[str], work: Work) -> Any:
    """What the work gives, done with a server that has read all files."""
    with serving([sys.executable, "-m", "dowse", "mcp", *flags], environment, root) as server:
        asked(server, "index")
        wait_until(lambda: _is_idle(server), READY_S, "the server never became idle")
        return work(server)


def _is_idle(server: Server) -> bool:
    """Nothing is to be done any more, vectors included, which are made behind everything else."""
    status = asked(server, "status")
    busy = any(it["status"] in ("queued", "running") for it in status["jobs"])
    return not busy and status["vectors"] == status["chunks"]


def until_visible(server: Server, saves: Iterable[Save]) -> Saved:
    """Asks again and again, as nobody would, until the answer has it."""
    saved = Saved()
    for save in saves:
        began = time.perf_counter()
        try:
            wait_until(lambda save=save: is_right(server, save), VISIBLE_S, f"{save} never became visible")
        except SystemExit as error:
            saved.wrong.append(str(error))
        saved.times[save.kind].append((time.perf_counter() - began) * 1000)
    return saved


def at_once(server: Server, saves: Iterable[Save]) -> Saved:
    """Asks once, right after the save."""
    saved = Saved()
    for save in saves:
        right, took_ms = timed(is_right, server, save)
        saved.times[save.kind].append(took_ms)
        if not right:
            saved.wrong.append(f"{save} was not in the answer")
    return saved


def undisturbed(server: Server, count: int) -> list[float]:
    """The same question while nothing changes."""
    asked(server, "search", query="harbour cache", recipe="lexical")
    return [timed(asked, server, "search", query="harbour cache", recipe="lexical")[1] for _ in range(count)]


def is_right(server: Server, save: Save) -> bool:
    hits = asked(server, "search", query=save.word, recipe="lexical")["hits"]
    found = [it["path"] for it in hits if save.word in it["text"]]
    return save.path in found if save.path else not found


def asked(server: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    reply = server.call(tool, arguments)
    result = reply.get("result", {})
    if "error" in reply or result.get("isError"):
        raise SystemExit(f"{tool} {arguments}: {reply.get('error') or result['content']}")
    return dict(result["structuredContent"])


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise SystemExit(otherwise)
        time.sleep(_POLL_S)
