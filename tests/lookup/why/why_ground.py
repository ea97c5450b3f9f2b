"""A small project as it lies in a store: code, documents, commits and memories that speak of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dowse.callgraph.graph import CallGraph
from dowse.ingest.extract.registry import extract
from dowse.lookup.why_target import LineCommits, LineSpan, WhyContext
from dowse.model import COMMITS, MEMORIES, Chunk, Collection, Extraction, Item, Link, Record
from dowse.store.base import Store
from dowse.store.types import ChunkInput

REPO = """\
class Repo:
    limit = 3

    def save(self, item):
        return store(item)

    def load(self):
        return None


def store(item):
    return item
"""
SERVICE = """\
from app.repo import Repo, store


class Service:
    def __init__(self, repo: Repo):
        self.repo = repo

    def keep(self, item):
        return self.repo.save(item)


def main():
    Service(Repo()).keep(1)
    return store(2)
"""
TEST = """\
from app.repo import Repo


def test_save():
    assert Repo().save(1) == 1
"""
GUIDE = """\
# Guide

Items are kept by [the repository](../src/app/repo.py).

## Saving

`Repo.save` writes an item at once; see also `save`.
"""
OTHER = "# Other\n\nMoney one can save is money earned; Repo is a word here.\n"
FILES = {
    "src/app/repo.py": REPO,
    "src/app/service.py": SERVICE,
    "tests/test_repo.py": TEST,
    "docs/guide.md": GUIDE,
    "docs/other.md": OTHER,
}
FIRST, SECOND, THIRD = "1a" * 20, "2b" * 20, "3c" * 20
DAY_NS = 86_400_000_000_000
ADA = "Ada <ada@example.org>"


@dataclass(slots=True)
class Project:
    store: Store
    root: str = "/work/app"
    written: dict[tuple[str, int], str] = field(default_factory=dict)
    stale: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""
    judged: list[str] = field(default_factory=list)

    def files(self, files: Mapping[str, str], root: str = "") -> Collection:
        collection = self.store.writer.add_collection(root or self.root)
        for path, text in files.items():
            item = Item(path, len(text), 1)
            self.put(collection.name, path, extract(item, text.encode()))
        return collection

    def put(self, collection: str, path: str, found: Extraction, mtime_ns: int = 1) -> None:
        record = Record(
            collection, path, found.kind, found.title, len(found.text), mtime_ns, "d", "c",
            tags=found.tags, aliases=found.aliases, facets=found.facets, at_ns=found.at_ns,
        )  # fmt: skip
        pieces = [ChunkInput(Chunk(0, found.text, 1, found.text.count("\n") + 1), b"d")]
        self.store.writer.put(
            record, pieces, found.symbols, found.links, found.calls, found.text if found.has_line_index else ""
        )

    def commit(
        self, hash: str, title: str, day: int, links: Sequence[Link], parents: str = "", author: str = ADA
    ) -> None:
        history = self.store.writer.add_collection(f"{self.root}/.git", source=COMMITS, name="app.git")
        files = str(sum(it.kind == "touches" for it in links))
        facets = {"author": author, "committer": author, "files": files, "parents": parents}
        found = Extraction("commit", title, title, (), links=tuple(links), facets=facets, has_line_index=False)
        self.put(history.name, hash, found, mtime_ns=day * DAY_NS)

    def memory(self, path: str, text: str, links: Sequence[Link], root: str = "", **facets: str) -> None:
        folder = self.store.writer.add_collection(f"{root or self.root}/.memories", source=MEMORIES)
        told = {"type": "journal", "status": "active", **facets}
        found = Extraction("memory", path.removesuffix(".md"), text, (), links=tuple(links), facets=told, at_ns=DAY_NS)
        self.put(folder.name, path, found)

    def bare(self) -> WhyContext:
        return WhyContext(
            self.store.view(),
            CallGraph(self.store.view()),
            self._history_of,
            self._file_of,
            self._written,
            self._stale,
            0.0,
        )

    def _history_of(self, record: Record) -> tuple[Collection, str] | None:
        histories = {
            it.root.removesuffix("/.git"): it for it in self.store.catalog.collections() if it.source == COMMITS
        }
        home = {it.name: it.root for it in self.store.catalog.collections()}[record.collection]
        return (histories[home], record.path) if home in histories else None

    def _file_of(self, history: str, path: str) -> Record | None:
        names = [it.name for it in self.store.catalog.collections() if it.root == self.root]
        return next(iter(self.store.catalog.records(path, names[0])), None)

    def _written(self, record: Record, span: LineSpan) -> LineCommits:
        lines = {line: hash for (path, line), hash in self.written.items() if path == record.path}
        found: dict[str, list[LineSpan]] = {}
        for line in range(span.first, span.last + 1):
            if line in lines:
                found.setdefault(lines[line], []).append(LineSpan(line, line))
        return LineCommits(found, self.problem)

    def _stale(self, record: Record) -> Sequence[str]:
        self.judged.append(record.path)
        return self.stale.get(record.path, ())


def whole_project(store: Store) -> Project:
    """Introduced as old.py, moved, changed; with a memory that names the file and one anchored to the symbol."""
    project = Project(store)
    project.files(FILES)
    old, new = "src/old.py", "src/app/repo.py"
    project.commit(FIRST, "Keep items", 1, [
        Link("touches", old, 1, "A"), Link("touches", "src/app/service.py", 1, "A"),
        Link("changes", f"{old}#Repo.save", 4, "class Repo:"),
    ])  # fmt: skip
    project.commit(SECOND, "Give the repository its own place", 2, [
        Link("touches", new, 0, "R"), Link("renames", old, 0, new), Link("touches", "src/app/service.py", 1, "M"),
    ], FIRST)  # fmt: skip
    project.commit(THIRD, "Save at once", 3, [
        Link("touches", new, 4, "M"), Link("changes", f"{new}#Repo.save", 4, "def save(self, item):"),
    ], SECOND)  # fmt: skip
    project.memory("why-save.md", "Saving at once, see [[src/app/repo.py]].\n", [
        Link("mentions", new, 1, "Saving at once, see [[src/app/repo.py]]."),
    ])  # fmt: skip
    project.memory("anchored.md", "Nobody may retry here.\n", [
        Link("anchored", f"{new}#Repo.save", 0, "0123456789abcdef"),
    ], type="fact")  # fmt: skip
    project.written[new, 4] = FIRST
    project.written[new, 5] = THIRD
    return project
