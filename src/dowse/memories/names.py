"""What a memory may be called: one file in the folder or below it, on every system, whatever the caller wrote."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

from dowse.errors import BadInput

SUFFIXES: Final = (".md", ".markdown")
MAX_BYTES: Final = 200  # of each part
MAX_PARTS: Final = 10
_SHOWN_CHARS: Final = 60
_FORBIDDEN: Final = frozenset('<>:"|?*')
# Devices on some systems, whatever stands behind the dot.
_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))),
)
# A folder that memories share with files of other programs, which are not searched.
_NOT_SEARCHED: Final = "indices"


def file_name(name: str) -> str:
    """The path of the file in the folder of memories: `notes` and `notes.md` are the same memory, `plans/notes` is
    another. Raises BadInput for what is no name."""
    if problem := _problem(name):
        shown = repr(name[:_SHOWN_CHARS])
        raise BadInput(f"{shown} can not be the name of a memory: {problem}; write one like notes.md or plans/q3.md")
    name = unicodedata.normalize("NFC", name)
    suffix = next((it for it in SUFFIXES if name.lower().endswith(it)), "")
    return f"{name[: -len(suffix)]}{suffix}" if suffix else f"{name}.md"


def same(name: str) -> str:
    """Equal for names that some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def alike(name: str, others: Iterable[str]) -> str:
    """The first of the others that is this name but for case or the way its letters are encoded; empty if none is."""
    return next((it for it in others if it != name and same(it) == same(name)), "")


def _problem(name: str) -> str:
    parts = name.split("/")
    if len(parts) > MAX_PARTS:
        return f"it has more than {MAX_PARTS} parts"
    if len(parts) > 1 and same(parts[0]) == _NOT_SEARCHED:
        return f"{parts[0]} is no folder of memories"
    if any(same(it).endswith(SUFFIXES) for it in parts[:-1]):
        return "a folder of it ends as notes do, so that it may be taken for one"
    return next((found for it in parts if (found := _problem_of_part(it))), "")


def _problem_of_part(name: str) -> str:
    if not name.strip():
        return "it, or a part of it, is empty"
    if "\\" in name:
        return "it has a backslash in it, and folders end with /"
    if not name.isprintable():
        return "it has characters that can not be printed"
    if name.startswith("."):
        return "it, or a part of it, begins with a dot"
    if name != name.strip() or name.endswith("."):
        return "it, or a part of it, begins or ends with a blank, or ends with a dot"
    if found := sorted(_FORBIDDEN & set(name)):
        return f"it has {' '.join(found)} in it"
    if name.partition(".")[0].rstrip().lower() in _RESERVED:
        return "systems reserve it for a device"
    if len(unicodedata.normalize("NFC", name).encode()) > MAX_BYTES:
        return f"it is longer than {MAX_BYTES} bytes"
    return ""
