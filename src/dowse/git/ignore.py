"""Gitignore rules, and pathspecs that git understands."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Final, NamedTuple

from dowse.safe_open import open_file, read_file
from dowse.text.globs import STAR, TREE, PatternSegment, WildcardError, path_regex, segment_regex, split_segments

MAX_IGNORE_FILE_BYTES = 4_000_000
# If there are more than a few wildcard rules, they are grouped by this many of their first and last characters.
_GROUPED_CHARS = 4
_INNER_CHARS = 16  # for rules that start and end with a wildcard: grouped by characters in between
_MAX_RULES_PER_REGEX = 50
_AT_ANY_DEPTH = "**/"
_ONLY_A_NAME = re.compile(r"\*\*/[^/*]+/?", re.DOTALL)
_WILDCARD_CHARACTER = re.compile(r"[*?\[\\]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Git compares the text before the first wildcard separately, so `a/b**/c` is read as `a/b` then `**/c`.
_TREE_AFTER_LITERAL = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*\*+(?:/(.*))?", re.DOTALL)


class _IgnoreMatch(NamedTuple):
    line: int
    ignored: bool


_NO_MATCH = _IgnoreMatch(-1, False)


class _Rule(NamedTuple):
    """A pattern: plain text if it has no wildcards, else segments.

    `head`, `tail` and `inner` are literal characters that a match must start with, end with, or else contain.
    """

    match: _IgnoreMatch
    parts: Sequence[PatternSegment]
    plain: str | None
    head: str
    tail: str
    inner: str
    only_folders: bool

    def regex(self) -> str:
        parts = self.parts
        body = segment_regex(parts[0]) if len(parts) == 1 and parts[0] != (TREE,) else path_regex(parts)
        return f"(?:{body}){'/' if self.only_folders else '/?'}"


class _PatternSet:
    """Many patterns, of which the last match wins.

    Plain patterns are looked up in a dict. The others are grouped by literal start and end, or, if they have neither,
    by literal characters in the middle. So a name is compared with few patterns.
    """

    __slots__ = ("_ends", "_folders", "_groups", "_inner", "_inner_chars", "_plain")

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._plain = {it.plain: it.match for it in rules if it.plain is not None and not it.only_folders}
        self._folders = {it.plain: it.match for it in rules if it.plain is not None and it.only_folders}
        others = [it for it in rules if it.plain is None]
        chars = _GROUPED_CHARS if len(others) > _MAX_RULES_PER_REGEX else 0
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

    def last_match(self, text: str) -> _IgnoreMatch:
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
    """Wildcard patterns, compiled on first use. Each regex holds few of them, because one with thousands of groups is a
    hundred times slower."""

    __slots__ = ("_parse_rules", "_parts")

    def __init__(self, rules: list[_Rule]) -> None:
        self._parse_rules = rules
        self._parts: list[tuple[re.Pattern[str], list[_Rule]]] = []

    def last_match(self, text: str) -> _IgnoreMatch:
        if not self._parts:
            last_first = self._parse_rules[::-1]
            parts = (
                last_first[at : at + _MAX_RULES_PER_REGEX] for at in range(0, len(last_first), _MAX_RULES_PER_REGEX)
            )
            self._parts = [(re.compile("|".join(f"({it.regex()})" for it in part), re.DOTALL), part) for part in parts]
        for regex, rules in self._parts:
            found = regex.fullmatch(text)
            if found and found.lastindex:
                return rules[found.lastindex - 1].match
        return _NO_MATCH


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """One parsed ignore file.

    Patterns without a slash match names at any depth, the others paths below its directory.
    """

    base_chars: int
    names: _PatternSet | None
    paths: _PatternSet | None

    def judge(self, directory: str, name: str) -> bool | None:
        """Return whether the entry is ignored, or None if no line matches it."""
        by_name = self.names.last_match(name) if self.names else _NO_MATCH
        by_path = self.paths.last_match((directory + name)[self.base_chars :]) if self.paths else _NO_MATCH
        last = max(by_name, by_path)
        return None if last is _NO_MATCH else last.ignored


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that apply in one directory, deepest first."""

    files: tuple[IgnoreFile, ...] = ()

    def ignores(self, directory: str, name: str) -> bool:
        """Return whether an entry is ignored. `directory` is absolute and ends in `/`; so does the `name` of a
        directory."""
        if not self.files:
            return False
        directory, name = _bytewise(directory), _bytewise(name)
        verdicts = (file.judge(directory, name) for file in self.files)
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def enter(self, directory: str, ignore_file: str) -> IgnoreRules:
        """Return the rules inside `directory` (absolute, ending in `/`), including its own ignore file."""
        file = load_ignore_file(directory + ignore_file, directory)
        return IgnoreRules((file, *self.files)) if file else self


NO_RULES = IgnoreRules()


def load_ignore_file(path: str, directory: str) -> IgnoreFile | None:
    """Load the rules in the file at `path` for entries below `directory`; None if it has none or cannot be read."""
    content = ignore_file_content(path)
    return parse_ignore_file(content, directory) if content else None


def ignore_file_content(path: str) -> bytes:
    """Return the file's content; empty if there is no file or it cannot be read."""
    try:
        with open_file(path) as handle:
            return read_file(handle, MAX_IGNORE_FILE_BYTES)[1]
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
        match = _IgnoreMatch(number, ignored=not pattern.startswith("!"))
        pattern = pattern.removeprefix("!")
        if _ONLY_A_NAME.fullmatch(pattern):
            pattern = pattern.removeprefix(_AT_ANY_DEPTH)
        target = paths if "/" in pattern.removesuffix("/") else names
        target += _parse_rules(pattern, match)
    if not names and not paths:
        return None
    return IgnoreFile(len(_bytewise(directory)), _pattern_set(names), _pattern_set(paths))


def _pattern_set(rules: list[_Rule]) -> _PatternSet | None:
    return _PatternSet(rules) if rules else None


def _parse_rules(pattern: str, match: _IgnoreMatch) -> list[_Rule]:
    """Convert a pattern to rules for a name or a path; none if git would never match it either."""
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern.strip("/"):
        return []
    if not _WILDCARD_CHARACTER.search(pattern):
        return [_Rule(match, (), pattern.removeprefix("/"), "", "", "", only_folders)]
    try:
        expanded = (
            [split_segments(it) for it in _expand_tree_wildcard(pattern.removeprefix("/"))] if "/" in pattern else []
        )
        return [_make_rule(it, match, only_folders) for it in expanded or [split_segments(pattern)]]
    except WildcardError:
        return []


def _make_rule(parts: list[PatternSegment], match: _IgnoreMatch, only_folders: bool) -> _Rule:
    plain = "/".join(map(_plain_beginning, parts)) if all(map(_is_plain, parts)) else None
    head, tail = _plain_beginning(parts[0]), _plain_beginning(parts[-1][::-1])[::-1]
    inner = "" if head or tail else _longest_plain(parts)
    return _Rule(match, parts, plain, head, tail, inner, only_folders)


def _is_plain(part: PatternSegment) -> bool:
    return len(_plain_beginning(part)) == len(part)


def _plain_beginning(part: PatternSegment) -> str:
    """Return the literal characters up to the first wildcard."""
    return "".join(it[-1] for it in takewhile(_is_character, part))


def _longest_plain(parts: Sequence[PatternSegment]) -> str:
    """Return the longest run of literal characters between two wildcards, up to a few characters."""
    runs = ("".join(it[-1] for it in run) for part in parts for plain, run in groupby(part, _is_character) if plain)
    return max(runs, key=len, default="")[:_INNER_CHARS]


def _is_character(token: str) -> bool:
    """Return whether the token is one literal character, possibly escaped with a backslash for the regex."""
    return token != STAR and (len(token) == 1 or token[0] == "\\")


def _expand_tree_wildcard(pattern: str) -> list[str]:
    match = _TREE_AFTER_LITERAL.fullmatch(pattern)
    if not match:
        return [pattern]
    literal, rest = match.groups()
    if rest is None:
        return [f"{literal}*", f"{literal}*/**"]
    joined = literal + rest
    return [*(_expand_tree_wildcard(joined) if rest.startswith("**") else [joined]), f"{literal}*/**/{rest}"]


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    is_escaped = backslashes % 2 == 1 and len(stripped) < len(line)
    return stripped + " " if is_escaped else stripped


def _bytewise(text: str) -> str:
    """Return one character per byte, because git's wildcards match bytes."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


# --------------------------------------------------------------------------------------------------
# Build the pathspecs that limit `git ls-files` to a few paths of a work tree.

# With more than this, git is slower than a full listing, or the command line is too long.
_MAX_PATHSPECS: Final = 200
_MAX_PATHSPEC_BYTES: Final = 60_000


def build_pathspecs(directory: str, places: Iterable[str]) -> list[str] | None:
    """Convert paths below the (absolute) directory to literal pathspecs; None if a full listing is better."""
    specs = sorted({_shorten_path(directory, place) for place in places})
    too_long = sum(len(os.fsencode(place)) + 1 for place in specs) > _MAX_PATHSPEC_BYTES
    return None if len(specs) > _MAX_PATHSPECS or too_long else specs


def _shorten_path(directory: str, place: str) -> str:
    """Shorten a path to what git accepts: it refuses paths beyond a link, and lists only the name of a nested
    repository."""
    reached = directory
    parts = place.split("/")
    for count, part in enumerate(parts, 1):
        reached = f"{reached}/{part}"
        if not _is_directory(reached) or os.path.lexists(f"{reached}/.git"):
            return "/".join(parts[:count])
    return place


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
