"""Answers frozen byte by byte: query commands and every tool of every profile, over three corpora, at one moment.

After a change that is meant to change them, run this file with `--update`, and review the difference.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest
from served import Served

from dowse.paths import DataPaths
from dowse.server import PROFILES
from storied import storied

HERE = Path(__file__).parent / "frozen"
ANSWERS = HERE / "answers"
MOMENT = 1_779_900_000  # when files were changed last: before the clock of `clock/sitecustomize.py` begins
DEADLINE_S = 300
_OF_THE_SERVER = {"index", "index_status", "status", "search_info"}  # these tell of jobs, which go on meanwhile
_KEYS = (
    "elapsed_seconds", "searchTimeMs", "rebuildTimeMs", "ageHours", "leader", "processPeakMB", "originalResponseBytes",
    "job_id", "sizeMb", "as_of", "synced_at", "ms",
)  # fmt: skip
_FRACTION = re.compile(r"-?\b\d+\.\d{7,}(?:e-?\d+)?")
# As JSON, and as JSON inside of a JSON string.
_VOLATILE = re.compile(rf"""(\\?["'](?:{"|".join(_KEYS)})\\?["']: ?)(?:-?[\d.]+(?:e-?\d+)?|\\?["'][^"'\\]*\\?["'])""")


def _own_files(root: Path) -> None:
    """Files of this repository, as they once were."""
    with tarfile.open(HERE / "dowse.tar.xz") as archive:
        archive.extractall(root, filter="data")


def _csharp(root: Path) -> None:
    shutil.copytree(HERE.parents[1] / "contracts/codesearch_corpus", root, dirs_exist_ok=True)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Files, what is asked of them by commands, and what required parameters of tools are given."""

    make: Callable[[Path], object]
    commands: tuple[str, ...]
    given: Mapping[str, object]


_GIVEN: dict[str, object] = {
    "chunk_id": "0123456789abcdef", "filename": "backoff", "content": "Once more.", "source_files": ["backoff"],
    "target_file": "merged", "summary_content": "Merged.", "tag": "http", "repo": ".", "startLine": 3,
    "hypothesis": "The answer is made of passages that were found by words and meaning.",
}  # fmt: skip
CORPORA = {
    "own": Corpus(
        _own_files,
        (
            "search 'how are scores fused'", "search --explain --recipe hybrid 'rank fusion'", "search --files quotas",
            "search --recipe lexical 'fuse_scores'", "grep fuse_scores", "grep -l 'def \\w+_scores'",
            "symbols fuse_scores",
            "symbols --base Protocol", "calls fuse_scores", "calls --down search", "why src/dowse/search/fuse.py:40",
            "why fuse_scores", "related src/dowse/search/fuse.py", "find fuse", "read src/dowse/search/fuse.py:1-20",
        ),
        _GIVEN
        | {
            "query": "fused scores", "pattern": "fuse_scores", "name": "fuse_scores", "target": "fuse_scores",
            "id": "src/dowse/search/fuse.py", "path": "docs/architecture.md", "target_document": "docs/architecture.md",
            "terms": ["fuse", "scores"], "method": "fuse_scores", "file": "src/dowse/search/fuse.py",
        },
    ),
    "csharp": Corpus(
        _csharp,
        (
            "search 'how is an order placed'", "search --explain --recipe hybrid invoice", "search --files order",
            "grep OrderService", "symbols OrderService", "symbols --base IOrderService", "calls Place",
            "calls --down Place",
            "why OrderService", "related src/Orders/OrderService.cs", "find Order", "read src/Orders/Order.cs:1-9",
        ),
        _GIVEN
        | {
            "query": "place an order", "pattern": "OrderService", "name": "OrderService", "target": "OrderService",
            "id": "src/Orders/Order.cs", "path": "src/Orders/Order.cs", "target_document": "src/Orders/Order.cs",
            "terms": ["Order", "Service"], "method": "Place", "file": "src/Orders/OrderService.cs",
        },
    ),
    "story": Corpus(
        storied,
        (
            "search 'why is None refused'", "search --explain --recipe hybrid save", "grep refuse", "symbols Repo",
            "calls save", "why src/app/repo.py:3", "why Repo.save", "related src/app/repo.py", "memories", "impact",
            "find repo", "read docs/guide.md",
        ),
        _GIVEN
        | {
            "query": "saving items", "pattern": "save", "name": "save", "target": "Repo.save", "id": "src/app/repo.py",
            "path": "docs/guide.md", "target_document": "src/app/repo.py", "terms": ["save"], "method": "save",
            "file": "src/app/repo.py",
        },
    ),
}  # fmt: skip


class Place:
    """A corpus on disk, with a data directory and an environment of its own."""

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        self.root, self.data = folder / "root", folder / "data"
        self.root.mkdir()
        corpus.make(self.root)
        for path in [*self.root.rglob("*"), self.root]:
            if ".git" not in path.relative_to(self.root).parts:
                os.utime(path, (MOMENT, MOMENT))
        self.variables = {
            "DOWSE_DATA_DIR": str(self.data), "DOWSE_ENCODER": "hashing", "DOWSE_SHARE": "false",
            "DOWSE_BACKGROUND": "false", "DOWSE_WATCH": "false", "PYTHONPATH": str(HERE / "clock"),
        }  # fmt: skip

    def run(self, *words: str) -> str:
        command = [sys.executable, "-m", "dowse", *words]
        done = subprocess.run(
            command, cwd=self.root, env=os.environ | self.variables, capture_output=True, text=True, check=False,
            timeout=DEADLINE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode in (0, 1), (words, done.stderr)
        return done.stdout

    def scrubbed(self, text: str) -> str:
        index = DataPaths(self.data).index_path(self.root.resolve()).parent
        return scrub(text.replace(str(index), "INDEX").replace(str(self.root), "ROOT").replace(str(self.data), "DATA"))


def scrub(text: str) -> str:
    """Without values that differ from run to run (durations, sizes of files and processes, ids of jobs), and with six
    digits of a fraction: processors differ in the last ones."""
    rounded = _FRACTION.sub(lambda it: f"{float(it[0]):.6f}", text)
    return _VOLATILE.sub(r"\1…", rounded)


@pytest.fixture(params=CORPORA)
def corpus(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def compare(name: str, found: str, update: bool) -> None:
    path = ANSWERS / name
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found)
    different = "\n".join(
        unified_diff(path.read_text().splitlines(), found.splitlines(), "frozen", "now", lineterm="", n=2)
    )
    assert not different, different


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory whose path always has the same length, because answers are cut at a number of bytes."""
    with tempfile.TemporaryDirectory(prefix="frozen-", dir="/tmp") as place:
        yield Path(place)


def test_commands(corpus: str, directory: Path, update: bool) -> None:
    place = Place(directory, CORPORA[corpus])
    place.run("index")
    asked = [shlex.split(it) for it in CORPORA[corpus].commands]
    answers = {" ".join(words): pretty(place.run(words[0], "--json", *words[1:])) for words in asked}
    answers["export"] = "".join(digests(place.run("export")))
    compare(f"{corpus}/commands.txt", place.scrubbed("".join(f"$ {k}\n{v}\n" for k, v in answers.items())), update)


def pretty(answer: str) -> str:
    """Without the step that looks at the disk: how much it looks at depends on how busy the machine is."""
    answers = [json.loads(line) for line in answer.splitlines()]
    for it in answers:
        if "steps" in it:
            it["steps"] = [step for step in it["steps"] if step["name"] != "freshness"]
    return "\n".join(json.dumps(it, indent=1, ensure_ascii=False) for it in answers)


def digests(exported: str) -> Iterator[str]:
    """A line for each chunk: short, and still another one where anything of the chunk is."""
    for line in exported.splitlines():
        chunk = json.loads(line)
        yield f"{chunk.get('path')} {hashlib.sha256(line.encode()).hexdigest()[:16]}\n"


@pytest.mark.parametrize("profile", PROFILES)
def test_tools(corpus: str, profile: str, directory: Path, update: bool) -> None:
    place = Place(directory, CORPORA[corpus])
    place.run("index")
    given, answers = CORPORA[corpus].given, []
    server = Served(place.root, place.data, words=("--profile", profile), **place.variables)
    try:
        server.greet()
        for tool in server.ask("tools/list", {})["result"]["tools"]:
            if tool["name"] in _OF_THE_SERVER:
                continue
            arguments = {name: given[name] for name in tool["inputSchema"].get("required", ())}
            answer = server.ask("tools/call", {"name": tool["name"], "arguments": arguments})
            answer.pop("id")
            answers.append(
                f"> {tool['name']} {json.dumps(arguments)}\n{json.dumps(answer, indent=1, ensure_ascii=False)}\n"
            )
    finally:
        server.close()
    compare(f"{corpus}/{profile}.txt", place.scrubbed("\n".join(answers)), update)
