"""The rules of .gitignore-style files, as git applies them: last matching line, deepest file first."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from dowse.ingest.sources.regular_file import opened, read_whole
from dowse.text.wildcards import WildcardError, path_regex, segment_regex, segments

MAX_IGNORE_FILE_BYTES = 4_000_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# git compares what precedes the first wildcard on its own, so that `a/b**/c` reads as `a/b` then `**/c`.
_TREE_AFTER_LITERAL = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*\*+(?:/(.*))?", re.DOTALL)


class _Match(NamedTuple):
    line: int
    ignored: bool


_NO_MATCH = _Match(-1, False)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Many patterns as one regex with one group each, the last line first, so that it wins."""

    regex: re.Pattern[str]
    matches: tuple[_Match, ...]

    def last_match(self, text: str) -> _Match:
        found = self.regex.fullmatch(text)
        return self.matches[found.lastindex - 1] if found and found.lastindex else _NO_MATCH


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """Patterns without a slash judge names at any depth, the others paths below the file's directory."""

    base_chars: int
    names: _Lines | None
    paths: _Lines | None

    def judge(self, directory: str, name: str) -> bool | None:
        """Whether the entry is ignored, or None when no line says anything about it."""
        by_name = self.names.last_match(name) if self.names else _NO_MATCH
        by_path = self.paths.last_match((directory + name)[self.base_chars :]) if self.paths else _NO_MATCH
        last = max(by_name, by_path)
        return None if last is _NO_MATCH else last.ignored


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that apply in one directory, the deepest first."""

    files: tuple[IgnoreFile, ...] = ()

    def ignores(self, directory: str, name: str) -> bool:
        """`directory` is absolute and ends in `/`, and so does `name` if it is a directory's."""
        if not self.files:
            return False
        directory, name = _bytewise(directory), _bytewise(name)
        verdicts = (file.judge(directory, name) for file in self.files)
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def entering(self, directory: str, ignore_file: str) -> IgnoreRules:
        """The rules inside `directory` (absolute, ending in `/`), which may have an ignore file itself."""
        file = load_ignore_file(directory + ignore_file, directory)
        return IgnoreRules((file, *self.files)) if file else self


NO_RULES = IgnoreRules()


def load_ignore_file(path: str, directory: str) -> IgnoreFile | None:
    """The rules in the file at `path` for what is below `directory`; None if there are none to be had."""
    content = ignore_file_content(path)
    return parse_ignore_file(content, directory) if content else None


def ignore_file_content(path: str) -> bytes:
    """Nothing, where there is no file, or none that can be read."""
    try:
        with opened(path) as handle:
            return read_whole(handle, MAX_IGNORE_FILE_BYTES)[1]
    except OSError:
        return b""


def parse_ignore_file(content: bytes, directory: str) -> IgnoreFile | None:
    names: list[tuple[str, _Match]] = []
    paths: list[tuple[str, _Match]] = []
    text = content.removeprefix(_BYTE_ORDER_MARK).decode("latin-1")
    for number, line in enumerate(text.split("\n")):
        pattern = _without_trailing_spaces(line.removesuffix("\r"))
        if pattern.startswith("#"):
            continue
        match = _Match(number, ignored=not pattern.startswith("!"))
        pattern = pattern.removeprefix("!")
        target = paths if "/" in pattern.removesuffix("/") else names
        regex = _regex(pattern)
        if regex:
            target.append((regex, match))
    if not names and not paths:
        return None
    return IgnoreFile(len(_bytewise(directory)), _combined(names), _combined(paths))


def _regex(pattern: str) -> str:
    """The pattern as a regex for a name or a path; nothing for one that git would never match either."""
    end = "/" if pattern.endswith("/") else "/?"
    pattern = pattern.removesuffix("/")
    try:
        if "/" not in pattern:
            bodies = [segment_regex(segments(pattern)[0])]
        else:
            bodies = [path_regex(segments(text)) for text in _spelled_out(pattern.removeprefix("/"))]
    except WildcardError:
        return ""
    return f"(?:{'|'.join(bodies)}){end}" if pattern.strip("/") else ""


def _spelled_out(pattern: str) -> list[str]:
    match = _TREE_AFTER_LITERAL.fullmatch(pattern)
    if not match:
        return [pattern]
    literal, rest = match.groups()
    if rest is None:
        return [f"{literal}*", f"{literal}*/**"]
    joined = literal + rest
    return [*(_spelled_out(joined) if rest.startswith("**") else [joined]), f"{literal}*/**/{rest}"]


def _combined(lines: Iterable[tuple[str, _Match]]) -> _Lines | None:
    last_first = list(lines)[::-1]
    if not last_first:
        return None
    regex = "|".join(f"({regex})" for regex, _ in last_first)
    return _Lines(re.compile(regex, re.DOTALL), tuple(match for _, match in last_first))


def _without_trailing_spaces(line: str) -> str:
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    is_escaped = backslashes % 2 == 1 and len(kept) < len(line)
    return kept + " " if is_escaped else kept


def _bytewise(text: str) -> str:
    """One character for each byte, because git's wildcards see bytes."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")
