"""Compare extracted words with the words of the raw layer of a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from dowse.ingest.extract.documents.document import Element, Table

MIN_COVERAGE: Final = 0.9
"""Below this share the next reader of a format is tried."""

_WORD: Final = re.compile(r"\w+")


def measure_coverage(raw: str, parts: Iterable[Element | Table]) -> float:
    """Return the share of the words of `raw` that are among the words of `parts`, counted with repetitions."""
    expected = Counter(_WORD.findall(raw))
    if not expected:
        return 1.0
    found: Counter[str] = Counter()
    for part in parts:
        found.update(_WORD.findall(text_of(part)))
    return (expected & found).total() / expected.total()


def text_of(part: Element | Table) -> str:
    """Return the words of a part; those of headers once."""
    if isinstance(part, Element):
        return part.text
    return "\n".join([part.title, *part.headers, *(cell for row in part.rows for cell in row.cells)])
