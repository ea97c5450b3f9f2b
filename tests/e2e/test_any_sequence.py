"""Whatever happens to a tree, and whenever it is indexed meanwhile, the index ends up as if made anew."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dowse.config import Settings
from dowse.engine import Engine
from dowse.lookup.grep import GrepQuery
from dowse.model import Query, Record
from dowse.store.types import SymbolQuery
from dowse.tools.core_render import export_json
from support import shared_workers

DIRECTORIES = ("", "a", "a/b", "a/b/c", "ä ö", "a.py")
NAMES = ("one.md", "two.md", "Read Me.md", "mod.py", "other.py", "main.go", "data.txt", "image.png", "[x]*.md")
CONTENTS = (
    "",
    "# Title\n\nSee [[two]] and [one](one.md).\n\n## Part\n\nalpha beta gamma\n",
    "# Other\n\nalpha delta\n\n```python\ncode()\n```\n",
    "---\ntags: [x, y]\ntitle: Front\n---\n\n# Front\n\n[[one#Title]] https://example.org/x\n",
    "from mod import helper\n\n\nclass Thing:\n    def run(self):\n        return helper(self)\n",
    "def helper(thing):\n    return other(thing).run()\n",
    "package main\n\nfunc main() {\n\thelper()\n}\n",
    "alpha\x00binary",
    "def broken(:\n    alpha\n",
    "word " * 900,
)
IGNORES = ("", "*.py\n", "a/\n", "/one.md\n!a/one.md\n", "b\nä ö/\n", "*\n!*.md\n!*/\n", "[bad\nimage.png\n")
IGNORE_FILES = (".gitignore", ".dowseignore", "a/.gitignore", "a/b/.dowseignore", "a/.dowseignore")
LOSSES = {
    "words": "INSERT INTO words (words) VALUES ('delete-all')",
    "names": "DELETE FROM symbol_names; INSERT INTO symbol_grams (symbol_grams) VALUES ('delete-all')",
    "vectors": "DELETE FROM vectors",
}
places = st.tuples(st.sampled_from(DIRECTORIES), st.sampled_from(NAMES)).map(lambda it: "/".join(filter(None, it)))
folders = st.sampled_from(DIRECTORIES[1:])
anything = places | folders


@contextmanager
def opened(folder: Path) -> Iterator[Engine]:
    settings = Settings(encoder="hashing", data_dir=folder / "data")
    with Engine(settings, folder / "index" / "index.db", create=True, workers=shared_workers()) as engine:
        yield engine


class Tree(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="dowse-any-")).resolve()
        self.root = self.place / "root"
        self.root.mkdir()
        # An empty root is taken for a disk that is not mounted, and costs nothing that is indexed.
        (self.root / "always.md").write_text("# Always\n\nalpha\n")
        self.touched: set[str] = set()
        self.ends_with_a_part = False
        self._opened = opened(self.place / "followed")
        self.engine = self._opened.__enter__()

    @initialize(is_repository=st.booleans(), ends_with_a_part=st.booleans())
    def begin(self, is_repository: bool, ends_with_a_part: bool) -> None:
        self.ends_with_a_part = ends_with_a_part
        if is_repository:
            subprocess.run(["git", "init", "-q", self.root], check=True)
        self.engine.index([self.root])

    # --- what happens to files ---

    @rule(path=places, text=st.sampled_from(CONTENTS))
    def write(self, path: str, text: str) -> None:
        with suppress(OSError):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
            self.touched.add(path)

    @rule(path=places, text=st.sampled_from(CONTENTS))
    def save_atomically(self, path: str, text: str) -> None:
        with suppress(OSError):
            (self.root / path).with_name(".saving").write_text(text)
            (self.root / path).with_name(".saving").replace(self.root / path)
            self.touched.add(path)

    # What decides about other paths too can not be followed in parts.
    @precondition(lambda self: not self.ends_with_a_part)
    @rule(path=st.sampled_from(IGNORE_FILES), text=st.sampled_from(IGNORES))
    def ignore(self, path: str, text: str) -> None:
        with suppress(OSError):
            (self.root / path).write_text(text)

    @rule(before=anything, after=anything)
    def rename(self, before: str, after: str) -> None:
        with suppress(OSError):
            (self.root / before).rename(self.root / after)
            self.touched |= {before, after}

    @rule(path=anything)
    def delete(self, path: str) -> None:
        place = self.root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        self.touched.add(path)

    @precondition(lambda self: not self.ends_with_a_part)
    @rule(path=anything, to=anything | st.sampled_from(("..", "/nowhere", "always.md")))
    def link(self, path: str, to: str) -> None:
        with suppress(OSError):
            (self.root / path).symlink_to(self.root / to)

    @rule(path=anything, mode=st.sampled_from((0o000, 0o200, 0o755)))
    def chmod(self, path: str, mode: int) -> None:
        with suppress(OSError):
            (self.root / path).chmod(mode)
            self.touched.add(path)

    # --- when it is indexed ---

    @rule(vectors=st.booleans())
    def index(self, vectors: bool) -> None:
        self.engine.index([self.root], vectors=vectors)
        self.touched.clear()

    @rule()
    def refresh_what_changed(self) -> None:
        self._refresh(sorted(self.touched))

    @rule(paths=st.lists(anything, min_size=1, max_size=3))
    def refresh_anything(self, paths: list[str]) -> None:
        self._refresh(paths)

    def _refresh(self, paths: list[str]) -> None:
        (collection,) = self.engine.collections()
        self.engine.indexing.refresh(collection.name, paths)

    # --- what is lost of the index itself ---

    @rule(part=st.sampled_from(tuple(LOSSES)))
    def lose_and_mend(self, part: str) -> None:
        """Whatever is a cache of the catalog can go: nothing but the catalog is needed to make it anew."""
        with self.engine._core.store.db.transaction() as connection:  # type: ignore[attr-defined]
            connection.execute(LOSSES[part])
        assert self.engine.health.repair([part]).left == {}

    # --- how it ends ---

    def teardown(self) -> None:
        try:
            self._open_everything()
            whole = not self.ends_with_a_part
            if not whole:
                self._refresh(sorted(self.touched))
            else:
                self.engine.index([self.root])
            with opened(self.place / "fresh") as fresh:
                fresh.index([self.root], vectors=whole)
                assert facts(self.engine, vectors=whole) == facts(fresh, vectors=whole)
        finally:
            self._opened.__exit__(None, None, None)
            shutil.rmtree(self.place)

    def _open_everything(self) -> None:
        """What can not be read now keeps its last known state, which a new index can not know."""
        for folder, directories, names in os.walk(self.root):
            for name in (*directories, *names):
                place = Path(folder) / name
                if not place.is_symlink() and not os.access(place, os.R_OK):
                    place.chmod(0o755)
                    self.touched.add(place.relative_to(self.root).as_posix())


def facts(engine: Engine, *, vectors: bool) -> dict[str, Any]:
    """Everything an index knows, without keys, which tell in which order it came in."""
    store = engine._core.store
    chunks = list(engine.export())
    records = {(it.record.collection, it.record.path): it.record for it in chunks}
    found = store.vectors.vectors([it.key for it in chunks]) if vectors else {}
    counts = store.catalog.counts() if vectors else replace(store.catalog.counts(), vectors=0)
    lines = engine.grep(GrepQuery(("alpha",)))
    hits = engine.search(Query("alpha helper title", recipe="lexical", limit=50)).hits
    defined = engine.symbols(SymbolQuery(names=("elp", "hin"))).definitions
    return {
        "export": [json.dumps(export_json(it)) for it in chunks],
        "vectors": [found[it.key].tolist() for it in chunks] if vectors else [],
        "records": {key: _facts(engine, record) for key, record in records.items()},
        "skipped": [(it.path, it.reason) for it in store.catalog.skipped()],
        "counts": counts,
        "listed": [it.listed for it in store.catalog.collections()],
        "hits": [(it.stored.record.path, it.stored.chunk.ordinal, round(it.score, 9)) for it in hits],
        "defined": [(it.record.path, it.symbol) for it in defined],
        "lines": [(it.path, it.lines) for it in lines.files],
    }


def _facts(engine: Engine, record: Record) -> tuple[object, ...]:
    store = engine._core.store
    own = (record.kind, record.title, record.size, record.mtime_ns, record.digest, record.tags, dict(record.facets))
    return (
        *own,
        store.catalog.symbols(record),
        store.catalog.links(record),
        store.catalog.calls(record),
        store.catalog.text(record),
    )


TestAnySequence = Tree.TestCase
TestAnySequence.settings = settings(max_examples=30, stateful_step_count=25)
