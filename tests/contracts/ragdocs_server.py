"""Servers of the ragdocs contract, their answers taken apart, and the documents they are asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rifflux_server import Served, serving, text_of

from support import eventually, write

QUERY_TOOLS = ("query_documents", "query_unique_documents", "query_documents_compressed")
STATS = re.compile(
    r"- Original results: (\d+)\n"
    r"- After score filter \(≥(0\.\d+|1\.0)\): (\d+)\n"
    r"- After deduplication: (\d+)\n"
    r"(?:- After document limit \([12] per doc\): (\d+)\n)?"
    r"- Clusters merged: (\d+)"
)
_RESULT = re.compile(r"\[(\d+)\] (.+) § (.+) \((\d\.\d\d)\)\n")

# Longer than a section may be that is shown as one, so that several of its parts can be results.
_HARBOUR = "# Harbour\n\n" + "".join(
    f"## Berth {number}\n\nBerth {number} of the harbour is kept for {kind}.\n\n"
    + "".join(f"{kind.title()} rule {rule}: {kind} from {kind}{rule} moor at quay{rule}.\n\n" for rule in range(30))
    for number, kind in enumerate(("trawlers", "ferries", "tankers", "dinghies"), 1)
)
DOCUMENTS = {
    "guide/harbour.md": _HARBOUR,
    "guide/lighthouse.md": "# Lighthouse\n\nThe lamp of the lighthouse turns once in ten seconds and is seen far.\n",
    "guide/lamp.txt": "A lamp burns oil, and its wick must be cut every evening before the harbour closes.\n",
    "tides.md": "# Tides\n\n## Springs\n\nAt springs the tide is highest, some days after a new or a full moon.\n",
    "tides/neaps.md": "# Neaps\n\nAt neaps the tide is lowest, when the moon is half, and dinghies run aground.\n",
    "code.py": 'def tide(moon):\n    """The tide at springs and neaps."""\n    return moon\n',
}


class Result(NamedTuple):
    rank: int
    path: str
    headings: str
    score: float
    content: str


class Page(NamedTuple):
    """An answer, cut at its headings."""

    title: str
    results: list[Result]
    stats: str
    notes: str
    body: str

    @property
    def paths(self) -> list[str]:
        return [it.path for it in self.results]


@contextmanager
def documents(folder: Path, **variables: str) -> Iterator[Served]:
    """Not watched: of a comparison that goes on, answers would tell, and each may come before it or after. For the same
    reason nobody asks before the look for a history has ended."""
    write(folder, DOCUMENTS)
    variables = {"DOWSE_ENCODER": "hashing", "DOWSE_WATCH": "0", **variables}
    with serving(folder, "dowse", "mcp", "--profile", "ragdocs", **variables) as served:
        eventually(lambda: "is being read" not in text(served, "query_documents", query="tide"))
        yield served


def text(served: Served, tool: str, /, **arguments: Any) -> str:
    """The answer: one block of text, and nothing beside it."""
    result = served.call(tool, **arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def page(served: Served, tool: str, /, **arguments: Any) -> Page:
    return page_of(text(served, tool, **arguments))


def page_of(answer: str | None) -> Page:
    rest, _, notes = (answer or "").partition("\n\n# Notes\n\n")
    rest, _, stats = rest.partition("\n\n# Compression Stats\n\n")
    title, _, body = rest.partition("\n\n")
    _, *fields = _RESULT.split(body)
    rows = [fields[at : at + 5] for at in range(0, len(fields), 5)]
    results = [
        Result(int(rank), path, headings, float(score), content.removesuffix("\n\n"))
        for rank, path, headings, score, content in rows
    ]
    return Page(title, results, stats, notes, body)
