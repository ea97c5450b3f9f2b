"""RESULTS.md, one section per benchmark, each rewritten by the command that measured it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True, slots=True)
class Section:
    """`name` marks its place in the file."""

    name: str
    title: str
    lines: Sequence[str]

    def text(self, command: str) -> str:
        head = [f"<!-- {self.name} -->", f"## {self.title}", "", f"`{command}`, {machine()}.", ""]
        return "\n".join([*head, *self.lines, f"<!-- /{self.name} -->"])


def write_section(section: Section, command: str, path: Path = RESULTS) -> None:
    """Put the section in the place of its last version; a new one goes to the end."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Results\n"
    new = section.text(command)
    pattern = re.compile(rf"<!-- {section.name} -->.*?<!-- /{section.name} -->", re.DOTALL)
    text = pattern.sub(lambda _: new, text) if pattern.search(text) else f"{text.rstrip()}\n\n{new}\n"
    path.write_text(text, encoding="utf-8")


def machine() -> str:
    """What the figures were measured on; only compare inside a table."""
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    where = f"{os.cpu_count()} cores, {load}, {platform.machine()}, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {where}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (header, rule, *rows)]
    return [f"| {' | '.join(row)} |" for row in escaped]
