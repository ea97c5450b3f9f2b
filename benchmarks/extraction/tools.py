"""Extract files with one tool in a process of its own: JSON lines on the standard output.

    python tools.py TOOL < paths      one line per file: path, text, cells, cpu_ms, error; then peak_mb
    python tools.py --list            the tools that are installed

It needs nothing of Dowse unless the tool is `dowse`, so that peers may live in another virtual environment.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROUNDS = 2
PLAIN = (".md", ".asciidoc")
Extracted = tuple[str, list[str] | None, int, list[str]]
"""The text, the cells if the tool gives them (None: they are read from the tables of Markdown), pages if known,
and texts of a sheet that stand in no table."""


def extract_with_dowse() -> Callable[[Path], Extracted]:
    from dowse.ingest.extract.documents.document import assemble
    from dowse.ingest.extract.documents.readers import read_document
    from extraction.measures import text_of_document

    def extract(path: Path) -> Extracted:
        data = path.read_bytes()
        if path.suffix in PLAIN:
            return data.decode(), None, 1, []
        document = read_document(path.name, data)
        assemble(path.name, document)
        found = text_of_document(document)
        is_sheet = path.suffix in (".xlsx", ".xlsm", ".ods")
        loose = Counter(text_of_document(document, is_sheet=is_sheet).cells) - Counter(found.cells)
        return found.text, list(found.cells), len(document.pages), list(loose.elements())

    return extract


def extract_with_office_oxide() -> Callable[[Path], Extracted]:
    import office_oxide

    return lambda path: (office_oxide.to_markdown(str(path)), None, 0, [])


def extract_with_markitdown() -> Callable[[Path], Extracted]:
    from markitdown import MarkItDown

    converter = MarkItDown(enable_plugins=False)
    return lambda path: (converter.convert(str(path)).text_content, None, 0, [])


def extract_with_kreuzberg() -> Callable[[Path], Extracted]:
    import kreuzberg

    config = kreuzberg.ExtractionConfig(output_format="markdown")

    def extract(path: Path) -> Extracted:
        return kreuzberg.extract_file_sync(str(path), config=config).content, None, 0, []

    return extract


TOOLS: dict[str, tuple[str, Callable[[], Callable[[Path], Extracted]]]] = {
    "dowse": ("dowse", extract_with_dowse),
    "office-oxide": ("office_oxide", extract_with_office_oxide),
    "markitdown": ("markitdown", extract_with_markitdown),
    "kreuzberg": ("kreuzberg", extract_with_kreuzberg),
}


def main() -> None:
    if sys.argv[1] == "--list":
        print(json.dumps([name for name, (module, _) in TOOLS.items() if importlib.util.find_spec(module)]))
        return
    extract = TOOLS[sys.argv[1]][1]()
    kinds: set[str] = set()
    for line in sys.stdin:
        path = Path(line.strip())
        warm = path.suffix in kinds
        kinds.add(path.suffix)
        print(json.dumps(_measure(extract, path, ROUNDS if warm else ROUNDS + 1)), flush=True)
    print(json.dumps({"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


def _measure(extract: Callable[[Path], Extracted], path: Path, rounds: int) -> dict[str, object]:
    """Extract a file several times; the fastest counts, so that imports do not."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        try:
            text, cells, pages, loose = extract(path)
        except BaseException as error:  # noqa: BLE001 - a peer may fail in any way
            return {"path": str(path), "error": f"{type(error).__name__}: {error}"[:200]}
        best = min(best, (time.process_time() - started) * 1000)
    return {"path": str(path), "text": text, "cells": cells, "pages": pages, "loose": loose, "cpu_ms": best}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
