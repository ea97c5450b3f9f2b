"""Servers of the ragdocs contract with memories, and what their memory tools answer, taken apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ragdocs_server import text
from rifflux_server import Served, serving

from support import write

_RESULT = re.compile(r"^\[(\d+)\] (\S+) § (.+) \((\d\.\d\d)\)\n", re.MULTILINE)


class Found(NamedTuple):
    rank: int
    name: str
    headings: str
    score: float
    content: str


@contextmanager
def noting(folder: Path, notes: dict[str, str] | None = None, **variables: str) -> Iterator[Served]:
    """A server over one document, with these memories written by hand before it starts."""
    write(folder, {"guide.md": "# Guide\n\nThe lighthouse is no memory.\n"})
    write(memory_folder(folder), notes or {})
    variables = {"DOWSE_ENCODER": "hashing", **variables}
    with serving(folder, "dowse", "mcp", "--profile", "ragdocs", **variables) as served:
        yield served


def memory_folder(folder: Path) -> Path:
    return folder.parent / f"{folder.name}-data" / "memories"


def note(body: str, **facts: object) -> str:
    lines = [f"{name}: {list(value) if isinstance(value, tuple) else value}" for name, value in facts.items()]
    return "\n".join(["---", *lines, "---", "", body, ""])


def did(served: Served, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """What a tool that writes tells: the text of a dict, and no error."""
    told = ast.literal_eval(text(served, tool, **arguments))
    assert isinstance(told, dict)
    assert "error" not in told, told
    return told


def mistake(served: Served, tool: str, /, **arguments: Any) -> str:
    """What a tool that writes could not do: one sentence under `error`, and nothing else."""
    told = ast.literal_eval(text(served, tool, **arguments))
    assert list(told) == ["error"]
    assert isinstance(told["error"], str)
    assert "\n" not in told["error"]
    return told["error"]


def found(served: Served, query: str, **arguments: Any) -> list[Found]:
    return results(text(served, "search_memories", query=query, **arguments), "# Memory Search Results")


def names(served: Served, query: str, **arguments: Any) -> set[str]:
    return {it.name for it in found(served, query, **arguments)}


def results(answer: str, title: str) -> list[Found]:
    answer, _, _ = answer.partition("\n\n# Notes\n\n")
    assert answer.startswith(f"{title}\n\n"), answer
    _, *fields = _RESULT.split(answer)
    rows = [fields[at : at + 5] for at in range(0, len(fields), 5)]
    return [Found(int(rank), name, head, float(score), body.rstrip("\n")) for rank, name, head, score, body in rows]
