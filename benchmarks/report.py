"""RESULTS.md, one section per benchmark, each rewritten by the command that measured it."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


def write_section(name: str, lines: list[str]) -> None:
    """Put the lines in the place of the section's last ones; a new section goes to the end."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else "# Results\n"
    section = "\n".join([f"<!-- {name} -->", *lines, f"<!-- /{name} -->"])
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    text = pattern.sub(lambda _: section, text) if pattern.search(text) else f"{text.rstrip()}\n\n{section}\n"
    RESULTS.write_text(text, encoding="utf-8")


def machine() -> str:
    """What the figures were measured on; only compare inside a table."""
    cores = os.cpu_count()
    return f"{datetime.now(UTC):%Y-%m-%d}, {cores} cores, {platform.machine()}, Python {platform.python_version()}"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
