"""The rules of .gitignore-style files, as git applies them: last matching line, deepest file first."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import NamedTuple

from dowse.ingest.sources.regular_file import opened, read_whole
from dowse.text.wildcards import STAR, TREE, Segment, WildcardError, path_regex, segment_regex, segments

MAX_IGNORE_FILE_BYTES = 4_000_000
# Rules with wildcards are told apart by so many of their first and last characters, where they are more than a few.
_GROUPED_CHARS = 4
_INNER_CHARS = 16  # the same of those that begin and end with a wildcard, by what is between
_FEW_RULES = 50
_AT_ANY_DEPTH = "**/"
_ONLY_A_NAME = re.compile(r"\*\*/[^/*]+/?", re.DOTALL)
_WILDCARD = re.compile(r"[*?\[\\]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# git compares what precedes the first wildcard on its own, so that `a/b**/c` reads as `a/b` then `**/c`.
_TREE_AFTER_LITERAL = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*\*+(?:/(.*))?", re.DOTALL)


class _Match(NamedTuple):
    line: int
    ignored: bool


_NO_MATCH = _Match(-1, False)


class _Rule(NamedTuple):
    """A pattern: as plain text where it has no wildcards, else as parts, with the characters that it surely begins
    and ends with, or else holds."""

    match: _Match
    parts: Sequence[Segment]
    plain: str | None
    head: str
    tail: str
    inner: str
    only_folders: bool

    def regex(self) -> str:
        parts = self.parts
        body = segment_regex(parts[0]) if len(parts) == 1 and parts[0] != (TREE,) else path_regex(parts)
        return f"(?:{body}){'/' if self.only_folders else '/?'}"


class _Lines:
    """Many patterns, of which the last that matches wins.

    Plain ones are looked up. The others lie in groups with the same beginning and end, or, where they have neither,
    with the same characters in the middle: a name is compared with few.
    """

    __slots__ = ("_ends", "_folders", "_groups", "_inner", "_inner_chars", "_plain")

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._plain = {it.plain: it.match for it in rules if it.plain is not None and not it.only_folders}
        self._folders = {it.plain: it.match for it in rules if it.plain is not None and it.only_folders}
        others = [it for it in rules if it.plain is None]
        chars = _GROUPED_CHARS if len(others) > _FEW_RULES else 0
        grouped: dict[tuple[str, str], list[_Rule]] = {}
        inner: dict[str, list[_Rule]] = {}
        for rule in others:
            ends = rule.head[:chars], rule.tail[-chars:] if chars else ""
            if chars and rule.inner:
                inner.setdefault(rule.inner, []).append(rule)
            else:
                grouped.setdefault(ends, []).append(rule)
        self._groups = {ends: _Group(it) for ends, it in grouped.items()}
        self._inner = {it: _Group(rules) for it, rules in inner.items()}
        self._inner_chars = sorted(set(map(len, inner)))
        self._ends = sorted({(len(head), len(tail)) for head, tail in grouped})

    def last_match(self, text: str) -> _Match:
        name = text.removesuffix("/")
        found = self._plain.get(name, _NO_MATCH)
        if name != text:
            found = max(found, self._folders.get(name, _NO_MATCH))
        for head, tail in self._ends:
            group = self._groups.get((name[:head], name[len(name) - tail :] if tail <= len(name) else ""))
            if group is not None:
                found = max(found, group.last_match(text))
        for chars in self._inner_chars:
            for part in {name[at : at + chars] for at in range(len(name) - chars + 1)} & self._inner.keys():
                found = max(found, self._inner[part].last_match(text))
        return found


class _Group:
    """Patterns with wildcards, compiled when the first name is compared with them: few in one regex, because a regex
    with thousands of groups takes a hundred times as long."""

    __slots__ = ("_parts", "_rules")

    def __init__(self, rules: list[_Rule]) -> None:
        self._rules = rules
        self._parts: list[tuple[re.Pattern[str], list[_Rule]]] = []

    def last_match(self, text: str) -> _Match:
        if not self._parts:
            last_first = self._rules[::-1]
            parts = (last_first[at : at + _FEW_RULES] for at in range(0, len(last_first), _FEW_RULES))
            self._parts = [(re.compile("|".join(f"({it.regex()})" for it in part), re.DOTALL), part) for part in parts]
        for regex, rules in self._parts:
            found = regex.fullmatch(text)
            if found and found.lastindex:
                return rules[found.lastindex - 1].match
        return _NO_MATCH


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
    names: list[_Rule] = []
    paths: list[_Rule] = []
    text = content.removeprefix(_BYTE_ORDER_MARK).decode("latin-1")
    for number, line in enumerate(text.split("\n")):
        pattern = _without_trailing_spaces(line.removesuffix("\r"))
        if pattern.startswith("#"):
            continue
        match = _Match(number, ignored=not pattern.startswith("!"))
        pattern = pattern.removeprefix("!")
        if _ONLY_A_NAME.fullmatch(pattern):
            pattern = pattern.removeprefix(_AT_ANY_DEPTH)
        target = paths if "/" in pattern.removesuffix("/") else names
        target += _rules(pattern, match)
    if not names and not paths:
        return None
    return IgnoreFile(len(_bytewise(directory)), _lines(names), _lines(paths))


def _lines(rules: list[_Rule]) -> _Lines | None:
    return _Lines(rules) if rules else None


def _rules(pattern: str, match: _Match) -> list[_Rule]:
    """The pattern as rules for a name or a path; none for one that git would never match either."""
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern.strip("/"):
        return []
    if not _WILDCARD.search(pattern):
        return [_Rule(match, (), pattern.removeprefix("/"), "", "", "", only_folders)]
    try:
        spelled_out = [segments(it) for it in _spelled_out(pattern.removeprefix("/"))] if "/" in pattern else []
        return [_rule(it, match, only_folders) for it in spelled_out or [segments(pattern)]]
    except WildcardError:
        return []


def _rule(parts: list[Segment], match: _Match, only_folders: bool) -> _Rule:
    plain = "/".join(map(_plain_beginning, parts)) if all(map(_is_plain, parts)) else None
    head, tail = _plain_beginning(parts[0]), _plain_beginning(parts[-1][::-1])[::-1]
    inner = "" if head or tail else _longest_plain(parts)
    return _Rule(match, parts, plain, head, tail, inner, only_folders)


def _is_plain(part: Segment) -> bool:
    return len(_plain_beginning(part)) == len(part)


def _plain_beginning(part: Segment) -> str:
    """Its characters up to the first wildcard."""
    return "".join(it[-1] for it in takewhile(_is_character, part))


def _longest_plain(parts: Sequence[Segment]) -> str:
    """As many characters as stand together between two wildcards, up to a few."""
    runs = ("".join(it[-1] for it in run) for part in parts for plain, run in groupby(part, _is_character) if plain)
    return max(runs, key=len, default="")[:_INNER_CHARS]


def _is_character(token: str) -> bool:
    """A character that means more in a regex is written with a backslash."""
    return token != STAR and (len(token) == 1 or token[0] == "\\")


def _spelled_out(pattern: str) -> list[str]:
    match = _TREE_AFTER_LITERAL.fullmatch(pattern)
    if not match:
        return [pattern]
    literal, rest = match.groups()
    if rest is None:
        return [f"{literal}*", f"{literal}*/**"]
    joined = literal + rest
    return [*(_spelled_out(joined) if rest.startswith("**") else [joined]), f"{literal}*/**/{rest}"]


def _without_trailing_spaces(line: str) -> str:
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    is_escaped = backslashes % 2 == 1 and len(kept) < len(line)
    return kept + " " if is_escaped else kept


def _bytewise(text: str) -> str:
    """One character for each byte, because git's wildcards see bytes."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")
