"""The call-graph suite: small programs in TOML files, one file a theme, each with the calls a reader would name.

A case has `files` (or one `source`), and:

    calls     "caller -> callee": every call between its definitions; "a -> B | B.B" is met by either callee
    may       edges that count neither for nor against: overrides a virtual call may reach, reads of properties
    not       traps: edges that a match by name would invent; any edge that is neither called nor may be is wrong anyway
    outside   "caller: name": sites that lead out of the project
    runs      whether `main.py` can be run, and then shows just these calls
    tree      callers of callers: `of` a definition, `chains` that must be found and names that must `never` turn up

A definition is `path:Class.method`, without the path in a case of one file and without namespaces; where one file has
several of that name, the types of the parameters follow: `Log.Write(string,int)`. Code outside of any definition is
`path:<module>`. A method of Go or Rust is one of its type's, wherever it stands; to write down an object of a type is
no call there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases")
LANGUAGES = {
    "python": "main.py",
    "csharp": "Main.cs",
    "go": "main.go",
    "typescript": "main.ts",
    "java": "Main.java",
    "rust": "main.rs",
}
"""And what the only file of a case is called."""
MODULE = "<module>"

Edge = tuple[str, str]
"""Caller and callee."""


@dataclass(frozen=True, slots=True)
class Tree:
    of: str
    depth: int
    chains: tuple[tuple[str, ...], ...]  # each from the definition asked about upwards
    never: frozenset[str]


@dataclass(frozen=True, slots=True)
class Case:
    language: str
    theme: str
    name: str
    files: Mapping[str, str]
    calls: tuple[frozenset[Edge], ...]  # each met by any one of its edges
    may: frozenset[Edge]
    barred: frozenset[Edge]
    outside: frozenset[Edge]  # caller and the name that is called
    trees: tuple[Tree, ...]
    runs: bool = False

    @property
    def title(self) -> str:
        return f"{self.language}/{self.theme}: {self.name}"


def all_cases() -> list[Case]:
    return [case for language in LANGUAGES for file in sorted((CASES / language).glob("*.toml")) for case in load(file)]


def load(file: Path) -> Iterator[Case]:
    language, content = file.parent.name, tomllib.loads(file.read_text(encoding="utf-8"))
    return (_Reader(language, file.stem, raw).case() for raw in content["case"])


class _Reader:
    """One case of a file; unknown keys are mistakes."""

    def __init__(self, language: str, theme: str, raw: dict[str, Any]) -> None:
        known = {"name", "files", "source", "calls", "may", "not", "outside", "tree", "runs"}
        if unknown := set(raw) - known:
            raise ValueError(f"{theme}: {raw.get('name')}: unknown {', '.join(sorted(unknown))}")
        self._language, self._theme, self._raw = language, theme, raw
        self._only = LANGUAGES[language] if "source" in raw else ""

    def case(self) -> Case:
        raw = self._raw
        return Case(
            language=self._language,
            theme=self._theme,
            name=raw["name"],
            files={self._only: raw["source"]} if self._only else raw["files"],
            calls=tuple(self._alternatives(text) for text in raw["calls"]),
            may=self._edges("may"),
            barred=self._edges("not"),
            outside=frozenset(self._site(text) for text in raw.get("outside", ())),
            trees=tuple(self._tree(it) for it in raw.get("tree", ())),
            runs=raw.get("runs", False),
        )

    def _edges(self, key: str) -> frozenset[Edge]:
        return frozenset(edge for text in self._raw.get(key, ()) for edge in self._alternatives(text))

    def _alternatives(self, text: str) -> frozenset[Edge]:
        caller, callees = text.split(" -> ")
        return frozenset((self._full(caller), self._full(callee)) for callee in callees.split(" | "))

    def _site(self, text: str) -> Edge:
        caller, name = text.rsplit(": ", 1)
        return self._full(caller), name

    def _tree(self, raw: dict[str, Any]) -> Tree:
        chains = (tuple(map(self._full, chain.split(" <- "))) for chain in raw["chains"])
        return Tree(self._full(raw["of"]), raw.get("depth", 3), tuple(chains), frozenset(map(self._full, raw["never"])))

    def _full(self, name: str) -> str:
        return f"{self._only}:{name}" if self._only else name
