"""Files that change all the time, and the memory of what each of them held when: what an answer is judged by."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path

COMMON = "harbour"
"""The word that every file holds."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a file held from some moment while it was written; None is no file."""

    begun: float
    ended: float
    text: str | None


class Disk:
    """Changes one file at a time; may be asked by any thread."""

    def __init__(self, root: Path, files: int, rng: random.Random) -> None:
        self.root, self.changes = root, 0
        self._rng = rng
        self._turn = threading.Lock()
        self._versions: dict[str, list[Version]] = {}
        self._numbers = iter(range(10**9))
        root.mkdir(parents=True)
        for number in range(files):
            self.write(f"d{number % 7}/f{number}.md", f"start{number}")

    def write(self, path: str, word: str) -> float:
        """Save the file with a word of its own; the moment from which on it is there."""
        parts = "\n\n".join(f"## Part {part}\n\n{COMMON} {word} part{part}" for part in range(self._rng.randint(1, 4)))
        return self._put(path, f"# {word}\n\n{parts}\n")

    def delete(self, path: str) -> float:
        return self._put(path, None)

    def change(self) -> None:
        """Something that people and programs do: edit, add, remove, rename."""
        self.changes += 1
        word, path = f"word{next(self._numbers)}", self._rng.choice(self.present())
        match self._rng.randrange(8):
            case 0:
                self.write(f"d{self._rng.randrange(7)}/new{next(self._numbers)}.md", word)
            case 1 if len(self.present()) > 20:
                self.delete(path)
            case 2:
                self._rename(path, f"d{self._rng.randrange(7)}/moved{next(self._numbers)}.md")
            case _:
                self.write(path, word)

    def present(self) -> list[str]:
        with self._turn:
            return sorted(path for path, versions in self._versions.items() if versions[-1].text is not None)

    def held(self, path: str, start_line: int, text: str, since: float, until: float) -> bool:
        """Whether the file had this text at this line at any moment of the time."""
        with self._turn:
            versions = list(self._versions.get(path, []))
        ends = (*(it.ended for it in versions[1:]), inf)
        alive = [it for it, end in zip(versions, ends, strict=False) if it.begun <= until and end >= since]
        return any(it.text is not None and _is_at(it.text, start_line, text) for it in alive)

    def _put(self, path: str, text: str | None) -> float:
        place = self.root / path
        with self._turn:
            begun = time.time()
            if text is None:
                place.unlink()
            else:
                place.parent.mkdir(exist_ok=True)
                aside = place.with_name(".saving")
                aside.write_text(text, encoding="utf-8")
                aside.replace(place)
                # For a moment it is a file like any other, and an answer may truly show it.
                shown = self._versions.setdefault(aside.relative_to(self.root).as_posix(), [])
                shown += [Version(begun, time.time(), text), Version(begun, time.time(), None)]
            ended = time.time()
            self._versions.setdefault(path, []).append(Version(begun, ended, text))
        return ended

    def _rename(self, before: str, after: str) -> None:
        with self._turn:
            begun = time.time()
            (self.root / after).parent.mkdir(exist_ok=True)
            (self.root / before).rename(self.root / after)
            text, ended = self._versions[before][-1].text, time.time()
            self._versions[before].append(Version(begun, ended, None))
            self._versions.setdefault(after, []).append(Version(begun, ended, text))


def _is_at(whole: str, start_line: int, text: str) -> bool:
    wanted = text.strip("\n").split("\n")
    return whole.split("\n")[start_line - 1 : start_line - 1 + len(wanted)] == wanted
