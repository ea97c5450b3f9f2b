"""Rules for names in src: one class name occurs once, and a loop over several lines names its element."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import dowse

SOURCES = {path: ast.parse(path.read_text("utf-8")) for path in Path(dowse.__file__).parent.rglob("*.py")}


def test_one_class_name_occurs_once() -> None:
    names = Counter(it.name for tree in SOURCES.values() for it in ast.walk(tree) if isinstance(it, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_loops_name_their_element() -> None:
    loops = [(path.name, it) for path, tree in SOURCES.items() for it in ast.walk(tree) if isinstance(it, ast.For)]
    assert [(name, it.lineno) for name, it in loops if isinstance(it.target, ast.Name) and it.target.id == "it"] == []
