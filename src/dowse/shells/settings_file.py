"""Changes single settings in a root's `dowse.toml` and leaves every other character of it as it is."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from dowse.config import FILE_NAME
from dowse.errors import BadInput
from dowse.places import replace_file

_NEW_FILE_MODE = 0o644


def check_settings_file(folder: Path) -> None:
    """Refuses what could not be written to, before work is done whose result should go there."""
    _mode(folder / FILE_NAME)
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{folder} may not be written to; leave out --write")


def write_settings(folder: Path, values: Mapping[str, float]) -> Path:
    """The file after it was written, which happens whole or not at all; it is made where there is none."""
    path = folder / FILE_NAME
    by_hand = "write this into it yourself: " + ", ".join(f"{name} = {value}" for name, value in values.items())
    try:
        mode = _mode(path)
        before = path.read_bytes().decode("utf-8") if mode is not None else ""
        after = _changed(before, values)
        if after is None:
            raise BadInput(f"{path} is not simple enough to be changed safely; {by_hand}")
        if after != before:
            replace_file(path, after.encode("utf-8"), _NEW_FILE_MODE if mode is None else mode)
    except (OSError, ValueError) as error:
        raise BadInput(f"can not write {path}: {error}; {by_hand}") from error
    return path


def _mode(path: Path) -> int | None:
    """The permissions of the file, None if there is none. A link may lead anywhere, and is not written through."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise BadInput(f"{path} is a link or no regular file and was not changed; put a file in its place")
    return stat.S_IMODE(found)


def _changed(text: str, values: Mapping[str, float]) -> str | None:
    """The text with the values in it; None if it would then mean anything else than that."""
    before = tomllib.loads(text)
    for name, value in values.items():
        text = _with(text, name, value)
    try:
        return text if tomllib.loads(text) == {**before, **values} else None
    except tomllib.TOMLDecodeError:
        return None


def _with(text: str, name: str, value: float) -> str:
    line = re.compile(rf"^([ \t]*([\"']?){name}\2[ \t]*=[ \t]*)[^\s#]+", re.MULTILINE)
    if line.search(text):
        return line.sub(rf"\g<1>{value}", text, count=1)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else newline
    return f"{text}{gap}{name} = {value}{newline}"
