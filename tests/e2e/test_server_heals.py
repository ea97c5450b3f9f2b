"""A server whose index is damaged under it: it answers from what is left, mends it by itself, and is as good as new."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from served import Served

from dowse.paths import DataPaths
from support import eventually, write

WORDS = ("anchor", "beacon", "harbour", "lantern", "quay")
FILES = {
    f"docs/page{number}.md": f"# Page {number}\n\n{WORDS[number % 5]} number{number} {'and more text ' * 40}\n"
    for number in range(60)
} | {f"src/module{number}.py": f"def open_{number}():\n    return {number}\n" for number in range(10)}


def sql(*statements: str) -> Callable[[Path], None]:
    def damage(index: Path) -> None:
        connection = apsw.Connection(str(index))
        connection.set_busy_timeout(5_000)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return damage


def overwritten(start: int, length: int) -> Callable[[Path], None]:
    def damage(index: Path) -> None:
        with open(index, "r+b") as file:
            file.seek(start)
            file.write(b"\x5a" * length)

    return damage


def truncated(index: Path) -> None:
    os.truncate(index, index.stat().st_size // 2)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a words index that is corrupt": sql("UPDATE words_data SET block = zeroblob(20) WHERE id > 10"),
    "a words index that lacks words": sql("DELETE FROM words_data WHERE id > 10"),
    "an index of names that is corrupt": sql("UPDATE symbol_grams_data SET block = zeroblob(20) WHERE id > 10"),
    "vectors of another length": sql("UPDATE vectors SET vector = substr(vector, 1, 10)"),
    "a text that was changed": sql("UPDATE chunks SET text = 'forged anchor' WHERE id = 7"),
    "a text that can not be unpacked": sql("UPDATE texts SET body = zeroblob(9) WHERE record = 3"),
    "a header that is no header": overwritten(0, 100),
    "pages full of garbage": overwritten(4096 * 3, 4096 * 40),
    "half a file": truncated,
}


@dataclass(frozen=True)
class Sound:
    """An index that nothing has happened to, and what it answers."""

    root: Path
    data: Path
    answers: dict[str, list[tuple[str, str]]]
    exported: bytes


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    base = tmp_path_factory.mktemp("sound")
    write(base / "root", FILES)
    server = Served(base / "root", base / "data")
    try:
        server.greet()
        eventually(lambda: is_whole(server), "never indexed")
        return Sound(base / "root", base / "data", everything(server), export(server))
    finally:
        server.leave()


@pytest.fixture
def serve(sound: Sound, tmp_path: Path) -> Iterator[Callable[[Callable[[Path], None]], Served]]:
    servers: list[Served] = []

    def start(damage: Callable[[Path], None]) -> Served:
        """What is damaged while nobody holds it open is found when it is opened."""
        shutil.copytree(sound.data, tmp_path / "data")
        damage(DataPaths(tmp_path / "data").index_path(sound.root.resolve()))
        servers.append(Served(sound.root, tmp_path / "data"))
        servers[-1].greet()
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def call(server: Served, tool: str, **arguments: object) -> dict[str, Any]:
    reply = server.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
    return reply.get("structuredContent") or {"error": reply["content"][0]["text"]}


def found(server: Served, word: str) -> list[tuple[str, str]]:
    hits = call(server, "search", query=word, recipe="lexical", limit=100).get("hits", [])
    return sorted((hit["path"], hit["text"]) for hit in hits)


def everything(server: Served) -> dict[str, list[tuple[str, str]]]:
    return {word: found(server, word) for word in (*WORDS, "number7", "open_3")}


def export(server: Served) -> bytes:
    command = [sys.executable, "-m", "dowse", "export"]
    return subprocess.run(command, cwd=server.root, env=server.environment, capture_output=True, check=False).stdout


def is_whole(server: Served) -> bool:
    status = call(server, "status")
    return status.get("vectors") == status.get("chunks") and bool(status.get("chunks"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_mended_by_the_server_itself(
    sound: Sound, serve: Callable[[Callable[[Path], None]], Served], damage: str
) -> None:
    assert all(sound.answers.values()) and sound.exported
    server = serve(DAMAGES[damage])
    texts = {hit for hits in sound.answers.values() for hit in hits}
    assert all(hit in texts for hits in everything(server).values() for hit in hits)
    eventually(lambda: everything(server) == sound.answers and is_whole(server), f"never mended: {damage}")
    eventually(lambda: export(server) == sound.exported, f"never mended as a whole: {damage}")
