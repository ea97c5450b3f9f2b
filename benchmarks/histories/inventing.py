"""A repository that nobody ever worked in, of any length, the same on every machine: files that grow, move and go,
branches that are merged, and messages of words that are distributed like real ones."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import IO

FILES = 400
AUTHORS = 40
_WORDS = 5_000
_LINES = 25
_MOST_LINES = 60
_BEGUN = 1_100_000_000
_APART_S = 7_200
_FORKED, _MERGED = 0.1, 0.3  # how often a branch is begun, and how often one that is open is merged
_VERBS = ("Add", "Fix", "Remove", "Refactor", "Speed up", "Document", "Test", "Rename", "Handle", "Support")
MAIN = "refs/heads/main"

Lines = tuple[str, ...]


@dataclass(slots=True)
class _Branch:
    """What its files hold, which of them it changed since it was begun, and the mark of its last commit."""

    name: str
    files: dict[str, Lines]
    last: int = 0
    changed: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Words:
    """Rare and common ones, by a falling curve."""

    rng: random.Random
    words: list[str]
    falling: list[float]

    def some(self, count: int) -> str:
        return " ".join(self.rng.choices(self.words, cum_weights=self.falling, k=count))

    def one(self) -> str:
        return self.some(1)


def invent(place: Path, commits: int, seed: int = 1) -> Path:
    """A bare repository of so many commits at a place where nothing is yet."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    with _importing(place) as stream:
        _Story(random.Random(seed), stream).tell(commits)
    return place


@contextmanager
def _importing(place: Path) -> Iterator[IO[bytes]]:
    command = ["git", "-C", str(place), "fast-import", "--quiet", "--depth=50"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        yield process.stdin
        process.stdin.close()
        if process.wait():
            raise SystemExit("git fast-import failed")


class _Story:
    def __init__(self, rng: random.Random, stream: IO[bytes]) -> None:
        self._rng = rng
        self._stream = stream
        words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(_WORDS)]
        self._words = _Words(rng, words, list(accumulate(1 / (rank + 2) for rank in range(_WORDS))))
        self._people = [f"{self._name()} <{self._words.one()}{number}@example.org>" for number in range(AUTHORS)]
        self._main = _Branch(MAIN, {})
        self._side: _Branch | None = None
        self._at = _BEGUN
        self._mark = 0

    def tell(self, commits: int) -> None:
        self._commit(self._main, {self._new_path(): self._content() for _ in range(FILES)})
        while self._mark < commits:
            self._at += self._rng.randrange(_APART_S)
            if self._side is None and self._rng.random() < _FORKED:
                name = f"refs/heads/side-{self._mark}"
                self._side = _Branch(name, dict(self._main.files), self._main.last)
                self._main.changed.clear()
            if self._side is not None and self._side.changed and self._rng.random() < _MERGED:
                self._merge(self._side)
            else:
                self._work(self._side if self._side is not None and self._rng.random() < 0.5 else self._main)

    def _work(self, branch: _Branch) -> None:
        paths = self._rng.sample(list(branch.files), k=self._rng.choice((1, 1, 1, 2, 3)))
        match self._rng.randrange(40):
            case 0:
                self._commit(branch, {self._new_path(): self._content()})
            case 1 if len(branch.files) > FILES // 2:
                self._commit(branch, {paths[0]: None})
            case 2:
                self._commit(branch, {self._new_path(): branch.files[paths[0]], paths[0]: None})
            case _:
                self._commit(branch, {path: self._edited(branch.files[path]) for path in paths})

    def _merge(self, side: _Branch) -> None:
        """What both have changed is what both have, one after the other."""
        changes: dict[str, Lines | None] = {path: side.files.get(path) for path in sorted(side.changed)}
        for path in sorted(side.changed & self._main.changed):
            ours, theirs = self._main.files.get(path), side.files.get(path)
            changes[path] = ours and theirs and tuple(dict.fromkeys((*ours, *theirs)))
        self._commit(self._main, changes, merged=side)
        self._write(f"reset {side.name}\nfrom {'0' * 40}\n\n")
        self._side = None

    def _commit(self, branch: _Branch, changes: dict[str, Lines | None], merged: _Branch | None = None) -> None:
        self._mark += 1
        who, message = self._rng.choice(self._people), self._message(merged)
        head = [f"commit {branch.name}", f"mark :{self._mark}", f"committer {who} {self._at} +0000"]
        self._write("\n".join(head) + f"\n{_data(message)}")
        self._write(f"from :{branch.last}\n" if branch.last else "")
        self._write(f"merge :{merged.last}\n" if merged else "")
        for path, lines in changes.items():
            if lines is None:
                self._write(f"D {path}\n" if branch.files.pop(path, None) else "")
            else:
                branch.files[path] = lines
                self._write(f"M 644 inline {path}\n{_data(''.join(f'{it}{chr(10)}' for it in lines))}")
        branch.changed |= changes.keys()
        branch.last = self._mark

    def _message(self, merged: _Branch | None) -> str:
        if merged is not None:
            return f"Merge branch '{merged.name.rpartition('/')[2]}'\n"
        title = f"{self._rng.choice(_VERBS)} {self._words.some(self._rng.randint(2, 7))}"
        body = [self._words.some(10) for _ in range(self._rng.choice((0, 0, 1, 2, 4)))]
        return "\n".join([title, *(["", *body] if body else []), ""])

    def _content(self) -> Lines:
        return tuple(line for _ in range(_LINES // 5) for line in self._function())

    def _function(self) -> Sequence[str]:
        name, words = f"{self._words.one()}_{self._words.one()}", self._words
        head = f"def {name}({words.one()}, {words.one()}):"
        return [head, *(f"    {words.one()} = {words.one()}({words.one()}, {words.one()})" for _ in range(3)), ""]

    def _edited(self, lines: Lines) -> Lines:
        at = self._rng.randrange(len(lines) + 1)
        if self._rng.random() < 0.3:
            return self._shortened((*lines[:at], *self._function(), *lines[at:]))
        return (*lines[:at], f"    return {self._words.some(1)}({self._words.one()})", *lines[at + 1 :])

    def _shortened(self, lines: Lines) -> Lines:
        return lines if len(lines) <= _MOST_LINES else (*lines[: _LINES // 2], *lines[-_LINES // 2 :])

    def _new_path(self) -> str:
        folder = "/".join(self._words.words[self._rng.randrange(12)] for _ in range(self._rng.randint(1, 3)))
        return f"{folder}/{self._words.one()}_{self._words.words[self._rng.randrange(_WORDS)]}.py"

    def _name(self) -> str:
        return " ".join(self._words.one().capitalize() for _ in range(2))

    def _write(self, text: str) -> None:
        self._stream.write(text.encode())


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}"
