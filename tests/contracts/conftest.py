"""Servers of the Rifflux contract: one over a corpus that is only read, others as a test needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from codesearch_server import code_server
from rifflux_server import Serve, Served, serving

from support import write

_CACHE = """# Cache

The cache holds answers that were costly to compute, so that asking again is cheap. It is shared by all workers.

## Eviction

Entries that nobody asked for are evicted first; a time to live (ttl) bounds how stale an entry may become here.

```python
def evict(entries):
    return sorted(entries, key=lambda entry: entry.last_used)[:100]
```

## Metrics

Hits and misses are counted per worker and published every minute, together with the number of evictions so far.
"""

_QUEUE = """# Queue

Jobs wait in a queue until a worker is free. A job that fails is tried again with a growing delay between tries.

## Eviction

A queue never evicts: when it is full, producers wait. This is what keeps a job from being lost under pressure.
"""

_SHIPS = ("anchor", "ballast", "capstan", "davit", "ensign", "fender", "galley", "halyard", "jib", "keel")

# Each note speaks of a harbour, some more often than others, and of things no other note has.
_NOTES = {
    f"notes/{number:02}.md": f"# Note {number}\n\n{'harbour ' * (1 + number % 7)}"
    f"{' '.join(_SHIPS[: number % len(_SHIPS)])} lantern{number} tide{number * 3}\n"
    for number in range(30)
}

CORPUS = {"guide/cache.md": _CACHE, "guide/queue.md": _QUEUE, **_NOTES}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The corpus, indexed with the hashing encoder; for tests that only read."""
    folder = tmp_path_factory.mktemp("library") / "work"
    write(folder, CORPUS)
    with serving(folder) as served:
        served.ask("reindex")
        yield served


@pytest.fixture(scope="session")
def vectorless(tmp_path_factory: pytest.TempPathFactory, library: Served) -> Iterator[Served]:
    """The corpus without any vectors: there is no query embedding either. It belongs to the user of the library."""
    folder = tmp_path_factory.mktemp("vectorless") / "work"
    write(folder, CORPUS)
    with serving(
        folder, RIFFLUX_EMBEDDING_BACKEND="none", DOWSE_DATA_DIR=str(library.folder.with_name("work-data"))
    ) as served:
        served.ask("reindex")
        yield served


@pytest.fixture(scope="session")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Everything the original's variables can change about an index, changed."""
    folder = tmp_path_factory.mktemp("configured") / "work"
    paragraphs = "\n\n".join(f"Paragraph {number} of a long story about boats." for number in range(20))
    write(
        folder,
        {
            "long.md": f"# Long\n\n{paragraphs}\n",
            "galley.txt": "The galley is the kitchen.",
            "drafts/a.md": "# Draft\n\nNot yet.\n",
            "node_modules/b.md": "# Module\n\nFound, because the default globs were replaced.\n",
            "code.py": "galley = 1\n",
        },
    )
    variables = {
        "DB_PATH": "elsewhere/my.db",
        "MAX_CHUNK_CHARS": "200",
        "MIN_CHUNK_CHARS": "1",
        "RRF_K": "7",
        "INDEX_INCLUDE_GLOBS": "*.md, *.txt",
        "INDEX_EXCLUDE_GLOBS": "drafts/*",
    }
    with serving(folder, **{f"RIFFLUX_{name}": text for name, text in variables.items()}) as served:
        served.ask("reindex")
        yield served


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def serve(work: Path) -> Iterator[Serve]:
    """Starts servers that work in the test's own folder; they end with the test."""
    with ExitStack() as stack:
        yield lambda **variables: stack.enter_context(serving(work, **variables))


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The small repository, indexed; for tests that only read."""
    with code_server(tmp_path_factory.mktemp("code") / "work") as served:
        yield served
