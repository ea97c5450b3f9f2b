"""The log of a server without a terminal: one file and the one before it, whatever writes to it."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

_MAX_BYTES = 1_000_000
_STDERR = 2


class StderrFile(RotatingFileHandler):
    """What goes to stderr past the log, a crash in C for one, goes into the same file."""

    def doRollover(self) -> None:  # noqa: N802 - the library's name
        super().doRollover()
        if self.stream is not None:
            os.dup2(self.stream.fileno(), _STDERR)


def log_to_file(path: Path, level: str) -> None:
    handler = StderrFile(path, maxBytes=_MAX_BYTES, backupCount=1, encoding="utf-8")
    known = logging.getLevelNamesMapping()
    logging.basicConfig(
        level=known.get(level.upper(), logging.INFO),
        format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s",
        handlers=[handler],
    )
