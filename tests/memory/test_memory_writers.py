"""Sixteen writers at once, threads and processes, killed in between: nothing is lost, and no file is ever half."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dowse.errors import BadInput
from dowse.memory.files import MemoryFolder

PROCESSES, THREADS, EACH = 8, 8, 12

WRITER = """
import sys
from pathlib import Path
from dowse.memory.files import MemoryFolder
folder, who, count = MemoryFolder(Path(sys.argv[1]), timeout_s=120), sys.argv[2], int(sys.argv[3])
for turn in range(count):
    folder.append("shared", f"<{who}:{turn}>" + "." * 500 + "<end>")
    folder.create(f"{who}-{turn}", f"own {turn}")
    print(turn, flush=True)
"""


def start(place: Path, who: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(place), who, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def write(folder: MemoryFolder, who: str) -> None:
    for turn in range(EACH):
        folder.append("shared", f"<{who}:{turn}>" + "." * 500 + "<end>")
        folder.create(f"{who}-{turn}", f"own {turn}")


def entries(text: str) -> list[str]:
    return re.findall(r"<(\w+:\d+)>\.{500}<end>\n", text)


def test_sixteen_writers_lose_nothing(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "memories", timeout_s=120)
    folder.create("shared", "---\nmood: fine # really\n---\n\nfirst\n")
    running = [start(folder.directory, f"p{it}", EACH) for it in range(PROCESSES)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda it: write(folder, f"t{it}"), range(THREADS)))
    for it in running:
        it.communicate(timeout=120)
        assert it.returncode == 0
    _, text = folder.read("shared")
    writers = [*(f"p{it}" for it in range(PROCESSES)), *(f"t{it}" for it in range(THREADS))]
    assert sorted(entries(text)) == sorted(f"{who}:{turn}" for who in writers for turn in range(EACH))
    assert text.startswith("---\nmood: fine # really\n---\n\nfirst\n")
    assert {it.name for it in folder.directory.iterdir()} == {
        "shared.md",
        *(f"{who}-{turn}.md" for who in writers for turn in range(EACH)),
    }


def test_only_one_of_sixteen_makes_a_memory(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "memories", timeout_s=120)

    def make(who: int) -> bool:
        try:
            folder.create("notes", f"made by {who}")
        except BadInput:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(make, range(16)))
    assert made.count(True) == 1
    assert folder.read("notes")[1] == f"made by {made.index(True)}"


def test_writers_that_are_killed_leave_whole_files(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "memories", timeout_s=120)
    folder.create("shared", "first\n")
    told: set[str] = set()
    for turn in range(6):
        running = [start(folder.directory, f"k{turn}x{it}", 10_000) for it in range(3)]
        for it in running:
            assert it.stdout is not None
            it.stdout.readline()  # it has begun to write
        time.sleep(0.01 * turn)
        for place, it in enumerate(running):
            it.send_signal(signal.SIGKILL)
            done = 1 + len(it.communicate(timeout=60)[0].splitlines())
            told |= {f"k{turn}x{place}:{n}" for n in range(done)}
        folder.append("shared", f"<me:{turn}>" + "." * 500 + "<end>")  # the dead hold nobody up
    _, text = folder.read("shared")
    found = entries(text)
    assert told <= set(found)
    assert [it for it in found if it.startswith("me:")] == [f"me:{turn}" for turn in range(6)]
    assert len(found) == len(set(found)) == text.count("<end>")
    own = list(folder.directory.glob("k*.md"))
    assert own
    assert all(re.fullmatch(r"own \d+", it.read_text()) for it in own)
    assert {it.name for it in folder.directory.iterdir() if it.name.startswith(".")} <= {".writing"}
    folder.create("last", "x")
    assert not (folder.directory / ".writing").exists()
