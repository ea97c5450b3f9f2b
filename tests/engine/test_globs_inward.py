"""Globs from a root into what lies below it: its memories, a root of its own, and the commits that touched them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.callgraph.facts import CallQuery
from dowse.engine import Engine
from dowse.lookup.grep import GrepQuery
from dowse.model import Query, Scope
from dowse.store.types import SymbolQuery
from storied import commit, git
from support import OpenEngine, write

FIRST, MADE = "Documents of a quokka", "Memories of a quokka"
CODE = "def quokka():\n    return wombat()\n\ndef wombat():\n    return 1\n"
NOTES = {".memories/plan.md": "A quokka plans.\n", ".memories/deep/log.md": "A quokka logs.\n"}


def found(engine: Engine, *paths: str, no: tuple[str, ...] = ()) -> set[str]:
    """Commits by their titles."""
    scope = Scope(paths=paths, excluded=no)
    hits = engine.search(Query("quokka", scope, limit=50, recipe="lexical")).hits
    return {it.title if it.kind == "commit" else it.path for it in (hit.stored.record for hit in hits)}


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    git(root, "init", "-q", "-b", "main")
    write(root, {"plan.md": "A quokka of the root.\n", "docs/guide.md": "A quokka guides.\n"})
    commit(root, FIRST, "2026-01-01")
    write(root, NOTES)
    commit(root, MADE, "2026-01-02")
    engine = open_engine(freshness_timeout_ms=60_000)
    engine.index([root])
    engine.histories.index_history()
    return engine


@pytest.mark.parametrize(
    ("paths", "no", "expected"),
    [
        ((".memories/**",), (), {"plan.md", "deep/log.md", MADE}),
        ((".memories/deep/*.md", "docs/**"), (), {"deep/log.md", "docs/guide.md", MADE, FIRST}),
        (("{.memories/deep,docs}/*.md",), (), {"deep/log.md", "docs/guide.md", MADE, FIRST}),
        ((".memories/**",), (".memories/plan.md",), {"deep/log.md", MADE}),
        (("*.md",), (".memories/**",), {"plan.md", "docs/guide.md", MADE, FIRST}),
        (("docs/**",), (), {"docs/guide.md", FIRST}),
    ],
)  # fmt: skip
def test_of_memories_in_git(engine: Engine, paths: tuple[str, ...], no: tuple[str, ...], expected: set[str]) -> None:
    assert found(engine, *paths, no=no) == expected


def test_no_document_is_taken_for_a_memory_of_its_path(engine: Engine) -> None:
    hits = engine.search(Query("quokka", Scope(paths=(".memories/plan.md",), kinds=("doc", "memory")))).hits
    assert [(it.stored.record.kind, it.stored.record.path) for it in hits] == [("memory", "plan.md")]


def test_of_a_root_in_another(root: Path, open_engine: OpenEngine) -> None:
    git(root, "init", "-q", "-b", "main")
    write(root, {"src/a.py": CODE, "b.py": "# quokka\n"})
    commit(root, "A quokka in code", "2026-01-01")
    engine = open_engine(freshness_timeout_ms=60_000)
    engine.index([root / "src"])
    engine.index([root])
    engine.histories.index_history()
    assert found(engine, "src/**") >= {"a.py", "A quokka in code"}
    assert "b.py" not in found(engine, "src/**")
    assert found(engine, "*.py", no=("src/**",)) == {"b.py", "A quokka in code"}
    inner, outer = Scope(paths=("src/**",)), Scope(excluded=("src/**",))
    assert {it.path for it in engine.grep(GrepQuery(("quokka",), scope=inner)).files} >= {"a.py"}
    assert {it.path for it in engine.grep(GrepQuery(("quokka",), scope=outer)).files} == {"b.py"}
    assert engine.symbols(SymbolQuery(names=("quokka",), scope=inner)).total >= 1
    assert engine.symbols(SymbolQuery(names=("quokka",), scope=outer)).total == 0
    assert engine.calls(CallQuery("wombat", scope=inner)).nodes
    assert not engine.calls(CallQuery("wombat", scope=outer)).nodes
