"""What an extractor finds in a snippet, as short lines to compare."""

from __future__ import annotations

from textwrap import dedent

from dowse.ingest.extract.code import extract_code
from dowse.model import Extraction, Item


def extracted(path: str, source: str) -> Extraction:
    return extract_code(Item(path, 0, 0), dedent(source).encode())


def symbol_lines(found: Extraction) -> list[str]:
    """`kind Parent.name = value`."""
    return [
        f"{it.kind} {_qualified(found, number)} = {it.value_expression}".removesuffix(" = ")
        for number, it in enumerate(found.symbols)
    ]


def call_lines(found: Extraction) -> list[str]:
    """`Caller: name callee`, with the kind in front where it is no plain call."""
    return [
        f"{it.kind + ' ' if it.kind != 'call' else ''}{_qualified(found, it.symbol)}: {it.name} {it.callee}"
        for it in found.calls
    ]


def _qualified(found: Extraction, number: int | None) -> str:
    names: list[str] = []
    while number is not None:
        names.insert(0, found.symbols[number].name)
        number = found.symbols[number].parent
    return ".".join(names)
