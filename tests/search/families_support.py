"""A store in which there is far more of one family of kinds than of the others."""

from __future__ import annotations

import numpy as np

from dowse.model import Chunk, Link, Record
from dowse.store.base import Store
from dowse.store.types import ChunkInput

NOW_NS = 1_700_000_000 * 10**9
COMMITS = 400


def fill(store: Store) -> None:
    """Commits that say much of the anchor, among a few files and memories that say less."""
    for name in ("work", "work.git", "memories"):
        store.writer.add_collection(f"/{name}")
    store.vectors.prepare_vectors("one")
    for number in range(COMMITS):
        author = "Ada <ada@x.org>" if number % 4 == 0 else "Bob <bob@x.org>"
        target = f"src/{'deep' if number % 2 else 'flat'}/{number % 7}.py"
        text = f"anchor anchor anchor number {number}"
        put(store, "work.git", f"{number:040}", "commit", text, facets={"author": author}, link=target)
    for number in range(12):
        put(store, "work", f"src/deep/{number}.py", "code", f"the anchor is mentioned once here, {number} times more")
    for number in range(3):
        put(store, "memories", f"{number}.md", "memory", f"remember the anchor of {number}", tags=("sea",))
    keys = [it.key for it in store.vectors.chunks_without_vector("one")]
    near = {"commit": 1.0, "code": 0.6, "memory": 0.5}
    rows = [(near[it.record.kind], 1.0 - near[it.record.kind], it.key / 10_000) for it in store.catalog.load(keys)]
    store.vectors.put_vectors(keys, np.array(rows, dtype=np.float32), "one")


def put(store: Store, collection: str, path: str, kind: str, text: str, link: str = "", **rest: object) -> None:
    record = Record(collection, path, kind, "", 1, NOW_NS, "d", "c", **rest)  # type: ignore[arg-type]
    links = [Link("touches", link, 1)] if link else []
    store.writer.put(record, [ChunkInput(Chunk(0, text, 1, 1), text.encode().ljust(16)[:16])], (), links, text=None)
