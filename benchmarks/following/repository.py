"""A made-up repository under git, of documents and code, and what people do to its files."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WORDS = ("alpha", "beta", "gamma", "delta", "retry", "cache", "index", "token", "query", "chunk", "worker", "harbour")


@dataclass(frozen=True, slots=True)
class Save:
    """Something done to a file: from then on the word is found in `path`, or nowhere if that is None."""

    kind: str
    word: str
    path: str | None


def text_of(path: str, word: str, rng: random.Random) -> str:
    """A page of text or of code with a word of its own."""
    prose = [" ".join(rng.choices(_WORDS, k=12)) for _ in range(20)]
    if path.endswith(".py"):
        bodies = (f"def {word}_{place}():\n    # {line}\n    return {place}\n" for place, line in enumerate(prose))
        return f"# {word}\n\n" + "\n\n".join(bodies)
    return f"# {word}\n\n" + "\n\n".join(prose) + "\n"


def make(root: Path, files: int, rng: random.Random, mark: str = "first") -> list[str]:
    """So many files, committed; their paths."""
    paths = [f"d{number % 40:02}/f{number}.{'py' if number % 2 else 'md'}" for number in range(files)]
    write_all(root, paths, rng, mark)
    git(root, "init", "-q")
    commit(root, mark)
    return paths


def write_all(root: Path, paths: list[str], rng: random.Random, mark: str) -> None:
    for number, path in enumerate(paths):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text_of(path, f"{mark}{number}", rng) + f"\n# {mark}\n")


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", message)


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)


def saves(root: Path, paths: list[str], count: int, rng: random.Random) -> Iterator[Save]:
    """Edits, new files, renames and deletions by turns; each is done when it is asked for."""
    known = dict.fromkeys(paths, "")
    for number in range(count):
        kind, word = ("edit", "new", "rename", "delete")[number % 4], f"saved{number}word"
        match kind:
            case "edit":
                path = rng.choice(list(known))
                _write(root, path, word, rng)
            case "new":
                path = f"d{rng.randrange(40):02}/new{number}.md"
                _write(root, path, word, rng)
            case "rename":
                before = next(it for it, own in reversed(known.items()) if own)
                path, word = f"d{rng.randrange(40):02}/moved{number}.md", known.pop(before)
                (root / before).rename(root / path)
            case _:
                path = next(it for it, own in reversed(known.items()) if own)
                word = known.pop(path)
                (root / path).unlink()
                yield Save(kind, word, None)
                continue
        known.pop(path, None)
        known[path] = word
        yield Save(kind, word, path)


def _write(root: Path, path: str, word: str, rng: random.Random) -> None:
    """As editors save: beside it, then in its place."""
    aside = (root / path).with_name(".saving~")
    aside.write_text(text_of(path, word, rng))
    aside.replace(root / path)
