"""Screens as a person sees them, in a real terminal of two sizes, compared with text that was read and found good.

`pytest tests/e2e/test_screens.py --update` writes the files anew; their diff is what a reader of a change looks at.
What differs from run to run (the folder, times, the name of the index) is masked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from gits import Repo

SCREENS = Path(__file__).parent / "screens"
SIZES = ((80, 24), (200, 50))
DEADLINE_S = 120.0
ENDS = ("\n$", "\n:", "\n(END)")  # the prompt of the shell, or of the pager

CLIENT = '''"""Requests over HTTP, tried again where that may help."""

import time

from backoff import wait_seconds


class Client:
    def __init__(self, session, attempts=5):
        self.session = session
        self.attempts = attempts

    def send(self, request):
        """Send a request; a failed one is retried, unless it may not be repeated."""
        for attempt in range(self.attempts):
            response = self.session.send(request)
            if response.status < 500 or not request.is_idempotent:
                return response
            time.sleep(wait_seconds(attempt))
        return response


def fetch(session, url):
    return Client(session).send(session.request("GET", url))
'''
BACKOFF = '''"""How long to wait before a request is retried."""

import random

BASE_S = 0.5
MOST_S = 60.0


def wait_seconds(attempt):
    """Twice as long each time, with jitter, so that many clients do not retry at once."""
    return min(MOST_S, BASE_S * 2**attempt) * random.uniform(0.5, 1.0)
'''
HTTP = """# HTTP client

One client serves the whole program. It keeps connections open and sends each request with a deadline.

## Retries

A failed request is retried with exponential backoff: after 0.5, 1, 2 … seconds, at most 60, with jitter. Only requests
that may be repeated are retried; a POST is handed back to the caller at once.

## Timeouts

Connecting may take 5 seconds, an answer 30. Both count again for every retry.
"""
DECISION = """# Decision 3: retries live in the client

Status: accepted

## Context

Three callers had loops of their own around the client. Two of them retried POST requests: an order was placed twice.

## Decision

Retries are handled in `Client.send` and nowhere else. A caller that wants none says `attempts=1`.
"""
FILES = {"src/client.py": CLIENT.replace("retried, unless it may not be repeated", "tried again"), "docs/http.md": HTTP}
LATER_FILES = {
    "src/client.py": CLIENT,
    "src/backoff.py": BACKOFF,
    "docs/decisions/0003-retries.md": DECISION,
    ".env": "TOKEN=not-for-the-index\n",
}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder whose path is as long on every machine: where lines are wrapped depends on it."""
    folder = Path(mkdtemp(prefix="dowse-", dir="/tmp"))
    repo = Repo(folder / "shop")
    repo.commit("Send requests again when they fail", FILES)
    repo.commit("Wait longer before each retry (#12)", LATER_FILES)
    yield folder
    shutil.rmtree(folder)


class Terminal:
    """A terminal of a size, with a shell in it that has the command to test and nothing of the user's."""

    def __init__(self, place: Path, columns: int, rows: int, data: str) -> None:
        for program in ("tmux", "less"):
            if shutil.which(program) is None:
                pytest.fail(f"{program} is not installed, so no screen can be taken; apt-get install {program}")
        self._tmux = ["tmux", "-u", "-f", "/dev/null", "-S", str(place / f"tmux-{columns}")]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {
            "PATH": path,
            "HOME": str(place),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
            "DOWSE_DATA_DIR": str(place / data),
            "DOWSE_ENCODER": "hashing",
            "DOWSE_FRESHNESS_TIMEOUT_MS": "30000",
            "DOWSE_SHARE": "false",
        }
        shell = "env 'PS1=$ ' bash --norc --noprofile"
        words = [*self._tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows), shell]
        subprocess.run(words, cwd=place / "shop", env=environment, check=True)

    def screen_after(self, *commands: str) -> str:
        """What is on the screen when each command line has been typed and has ended, or its pager waits."""
        self._wait_for(lambda shown: shown.endswith("$"))
        self._type("clear", lambda shown: shown == "$")
        for command in commands:
            self._type(command, lambda shown: shown.endswith(ENDS))
        return self._shown() + "\n"

    def _type(self, command: str, is_done: Callable[[str], bool]) -> None:
        self._run("send-keys", "-l", "--", command)
        self._wait_for(lambda shown: shown.endswith(command))
        self._run("send-keys", "Enter")
        self._wait_for(is_done)

    def _shown(self) -> str:
        return "\n".join(line.rstrip() for line in self._run("capture-pane", "-p").splitlines()).rstrip()

    def _wait_for(self, is_done: Callable[[str], bool]) -> None:
        """Until the screen is so, and stays."""
        deadline = time.monotonic() + DEADLINE_S
        before, shown = None, self._shown()
        while before != shown or not is_done(shown):
            assert time.monotonic() < deadline, f"this screen did not change any more:\n{shown}"
            time.sleep(0.2)
            before, shown = shown, self._shown()

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        self._run("kill-server")


def masked(screen: str, place: Path) -> str:
    """Each mask is as long as what it hides."""
    screen = screen.replace(str(place), "/tmp/dowse-" + "·" * (len(str(place)) - 11))
    screen = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "····-··-··T··:··:··Z", screen)
    return re.sub(r"(?<=shop-)[0-9a-f]{12}", "·" * 12, screen)


SEARCH = 'dowse search "how are retries handled"'
CASES = {
    "welcome": ("dowse",),
    "first_run": (SEARCH,),
    "search": (SEARCH,),
    "grep": ("dowse grep 'retr(y|ied|ies)'",),
    "why": ("dowse why Client.send",),
    "status": ("dowse status",),
    "failure": ("dowse serach retries", "dowse grep '('", "dowse why nosuch", "dowse read docs/nosuch.md"),
}


@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("name", CASES)
def test_screen(place: Path, name: str, columns: int, rows: int, update: bool) -> None:
    data = "d" if name != "first_run" else f"f{columns}"
    terminal = Terminal(place, columns, rows, data)
    try:
        if name != "first_run":
            terminal.screen_after("dowse index")
        shown = masked(terminal.screen_after(*CASES[name]), place)
    finally:
        terminal.close()
    kept = SCREENS / f"{name}-{columns}x{rows}.txt"
    if update:
        kept.write_text(shown)
    assert shown == kept.read_text(), f"{kept.name}: read the new screen, then run pytest with --update"
