"""What the text of a link means: paths first, then names that only one record has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.model import Record
from dowse.text.references import LinkTargets, index_link_targets


def record(path: str, title: str = "", aliases: tuple[str, ...] = ()) -> Record:
    return Record("notes", path, "doc", title, 1, 1, "d", "c", aliases=aliases)


@pytest.fixture(scope="module")
def known() -> LinkTargets:
    return index_link_targets(
        [
            record("README.md", "The project"),
            record("docs/README.md", "Documents"),
            record("docs/retry.md", "Retries and backoff", ("tries", "CI/CD")),
            record("docs/guide/setup.md", "Set up"),
            record("docs/guide/index.md", "Guide", ("twice",)),
            record("notes/cache.markdown", "Cache", ("twice",)),
            record("old/setup.md", "Once was"),
            record("src/retry.py", "retry.py"),
            record("src/server.py", "server.py"),
            record("src/über.md", "Ü"),
        ]
    )


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        # paths, from the linking file's folder
        ("retry.md", "docs/README.md", "docs/retry.md"),
        ("./retry.md", "docs/README.md", "docs/retry.md"),
        ("guide/setup.md#step-2", "docs/README.md", "docs/guide/setup.md"),
        ("../../src/retry.py", "docs/guide/setup.md", "src/retry.py"),
        ("../guide/./setup", "docs/guide/index.md", "docs/guide/setup.md"),
        ("cache", "notes/x.md", "notes/cache.markdown"),
        ("guide", "docs/retry.md", "docs/guide/index.md"),
        ("guide/", "docs/retry.md", "docs/guide/index.md"),
        ("../docs/", "src/retry.py", "docs/README.md"),
        # paths from the root
        ("docs/retry", "old/setup.md", "docs/retry.md"),
        ("/docs/retry.md", "old/setup.md", "docs/retry.md"),
        ("/", "old/setup.md", "README.md"),
        # names
        ("Server.py", "docs/retry.md", "src/server.py"),
        ("retry", "old/setup.md", "docs/retry.md"),
        ("RETRY#Limits", "old/setup.md", "docs/retry.md"),
        ("tries", "old/setup.md", "docs/retry.md"),
        ("ci/cd", "old/setup.md", "docs/retry.md"),
        ("retries and BACKOFF", "old/setup.md", "docs/retry.md"),
        ("server", "old/setup.md", "src/server.py"),
        ("Über", "README.md", "src/über.md"),
        # the nearest path decides between equal names
        ("setup", "docs/guide/index.md", "docs/guide/setup.md"),
        ("setup", "old/x.md", "old/setup.md"),
        # ghosts
        ("setup", "README.md", None),
        ("twice", "README.md", None),
        ("nowhere", "README.md", None),
        ("./server", "docs/retry.md", None),
        ("/retry.md", "docs/x.md", None),
        ("../../../../docs/retry.md", "docs/guide/setup.md", None),
        ("#heading", "docs/retry.md", None),
        ("", "docs/retry.md", None),
        ("  ", "docs/retry.md", None),
    ],
)
def test_targets(known: LinkTargets, target: str, source: str, path: str | None) -> None:
    assert known.resolve(target, source) == path


@given(st.text(max_size=40), st.sampled_from(["docs/retry.md", "README.md", "a/b/c/d.md"]))
def test_any_text_means_a_known_path_or_nothing(known: LinkTargets, target: str, source: str) -> None:
    assert known.resolve(target, source) in {*known.by_path.values(), None}
