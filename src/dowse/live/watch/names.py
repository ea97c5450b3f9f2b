"""Names that mean something to whoever watches a place."""

from __future__ import annotations

from dowse.config import FILE_NAME
from dowse.ingest.sources.doors import IGNORE_FILE
from dowse.ingest.sources.git.repository import GIT_IGNORE_FILE

GIT_ENTRY = ".git"
_IGNORE_FILES = frozenset((IGNORE_FILE, GIT_IGNORE_FILE))


def is_rules(path: str) -> bool:
    """Whether the file says what is ignored, here or below."""
    return path == FILE_NAME or path.rpartition("/")[2] in _IGNORE_FILES
