"""Servers of the code search contract, and the small repository they are asked about."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rifflux_server import JOB_DEADLINE_S, Served, serving, text_of

CORPUS = Path(__file__).with_name("codesearch_corpus")
BUILDING = "Content index is currently being built in the background. Please retry in a few seconds."

KINDS = [
    "class", "interface", "method", "property", "field", "enum", "struct", "record", "constructor", "delegate", "event",
    "enumMember", "function", "typeAlias", "variable", "storedProcedure", "table", "view", "sqlFunction",
    "userDefinedType", "column", "sqlIndex",
]  # fmt: skip
SORTS = [
    "cyclomaticComplexity", "cognitiveComplexity", "maxNestingDepth", "paramCount", "returnCount", "callCount",
    "lambdaCount", "lines",
]  # fmt: skip

# Files that are not UTF-8: with a mark, and with bytes that mean nothing.
ENCODED = {
    "src/Legacy/Wide.cs": "namespace Acme.Legacy { public class WideGlyph { } }\n".encode("utf-16"),
    "src/Legacy/WideBig.cs": b"\xfe\xff" + "public class WideBigGlyph { }\n".encode("utf-16-be"),
    "src/Legacy/Marked.cs": b"\xef\xbb\xbfpublic class MarkedGlyph { }\n",
    "src/Legacy/Lossy.cs": b"// caf\xe9 \xff\xfe\npublic class LossyGlyph { }\n",
}
FILE_COUNT = sum(path.is_file() for path in CORPUS.rglob("*")) + len(ENCODED)


def lay_out(folder: Path) -> None:
    shutil.copytree(CORPUS, folder, dirs_exist_ok=True)
    for path, data in ENCODED.items():
        (folder / path).write_bytes(data)


@contextmanager
def code_server(folder: Path, *arguments: str, **variables: str) -> Iterator[Served]:
    """A server over a copy of the repository, once it is indexed."""
    lay_out(folder)
    with serving(folder, "dowse", "mcp", "--profile", "codesearch", *arguments, **variables) as served:
        wait_until_built(served)
        yield served


def wait_until_built(served: Served) -> None:
    deadline = time.monotonic() + JOB_DEADLINE_S
    while any("status" in it for it in served.ask("search_info")["indexes"]):
        assert time.monotonic() < deadline, "the index was not built"
        time.sleep(0.02)


def names(rows: list[dict[str, Any]], key: str = "path") -> list[str]:
    """The last parts of the paths, in their order."""
    return [str(row[key]).rpartition("/")[2] for row in rows]


def grep(served: Served, terms: str, **arguments: Any) -> dict[str, Any]:
    return served.ask("search_grep", terms=terms, **arguments)


def definitions(served: Served, **arguments: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = served.ask("search_definitions", **arguments)["definitions"]
    return rows


def answer_bytes(served: Served, tool: str, **arguments: Any) -> int:
    text = text_of(served.call(tool, **arguments))
    json.loads(text)
    return len(text.encode())
