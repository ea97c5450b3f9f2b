"""Glob patterns for paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from dowse.errors import BadInput

# --------------------------------------------------------------------------------------------------
# The syntax shared by globs and ignore files, compiled to regexes without catastrophic backtracking.
#
# A star takes the earliest position where the rest fits (an atomic group). A path of n characters then costs about n
# steps per star, instead of n to the power of the number of stars.

STAR, TREE, SLASH = "*", "**", "/"

_NAMED_CLASS = re.compile(r"\[:([^\]]*):\]")
_NAMED_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-\\/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}

PatternSegment = tuple[str, ...]


class WildcardError(ValueError):
    """The pattern is malformed; the message says how."""


def split_segments(pattern: str) -> list[PatternSegment]:
    """Split the pattern at its slashes; a segment consists of stars and one-character regexes."""
    found: list[PatternSegment] = []
    current: list[str] = []
    for token in _tokens(pattern):
        if token == SLASH:
            found.append(tuple(current))
            current = []
        else:
            current.append(token)
    return [*found, tuple(current)]


def path_regex(parts: Sequence[PatternSegment]) -> str:
    """Return a regex for whole path components; the caller decides where it may end."""
    regex, group, open_tree = "", "", False
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == (TREE,):
            regex += _tree_group(group) if open_tree else group
            group, open_tree = (".+", False) if is_last else ("", True)
        else:
            group += segment_regex(part) + ("" if is_last else SLASH)
    return regex + ("(?:[^/]+/)*?" if open_tree else "") + group


def segment_regex(part: PatternSegment) -> str:
    """Return a regex for one non-empty path component."""
    head, *runs = _split_at_stars(part)
    if not runs:
        return head
    if not head and not any(runs):
        return "[^/]+"
    *middle, last = runs
    return head + "".join(f"(?>[^/]*?{run})" for run in middle if run) + f"[^/]*{last}"


def _tree_group(group: str) -> str:
    return f"(?>(?:[^/]+/)*?{group})"


def _split_at_stars(part: PatternSegment) -> list[str]:
    runs = [""]
    for token in part:
        if token in (STAR, TREE):
            runs.append("")
        else:
            runs[-1] += token
    return runs


def _tokens(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            start = at
            while pattern[at : at + 1] == "*":
                at += 1
            yield STAR if at - start == 1 else TREE
        elif character == "[":
            regex, at = _character_class(pattern, at + 1)
            yield regex
        elif character.isalnum():
            at += 1
            yield character
        else:
            literal, at = _next_literal(pattern, at)
            yield "[^/]" if character == "?" else re.escape(literal)


def _next_literal(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\":
        at += 1
    if at == len(pattern):
        raise WildcardError("it ends in a backslash that escapes nothing")
    return pattern[at], at + 1


def _character_class(pattern: str, at: int) -> tuple[str, int]:
    """Return the regex of the class that opens before `at`, and its end. It never matches a slash."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    content, first = "", at
    while at == first or pattern[at : at + 1] != "]":
        if at >= len(pattern):
            raise WildcardError("its [ is not closed")
        named = _NAMED_CLASS.match(pattern, at)
        if named:
            content += _named_class(named[1])
            at = named.end()
        else:
            piece, at = _class_range(pattern, at)
            content += piece
    return f"(?!/)[{'^' if negated else ''}{content}]", at + 1


def _named_class(name: str) -> str:
    if name not in _NAMED_CLASSES:
        raise WildcardError(f"[:{name}:] is not a character class")
    return _NAMED_CLASSES[name]


def _class_range(pattern: str, at: int) -> tuple[str, int]:
    low, at = _next_literal(pattern, at)
    if pattern[at : at + 1] != "-" or pattern[at + 1 : at + 2] in ("", "]"):
        return _escape_in_class(low), at
    high, at = _next_literal(pattern, at + 1)
    # A reversed range matches only its first character.
    return (f"{_escape_in_class(low)}-{_escape_in_class(high)}" if low <= high else _escape_in_class(low)), at


def _escape_in_class(character: str) -> str:
    return "\\" + character if character in "\\]^-[&~|" else character


PathPredicate = Callable[[str], bool]

MAX_GLOB_CHARS = 4096  # longer than any path
MAX_GLOB_ALTERNATIVES = 256  # braces multiply: each pair in {a,b}{a,b}… doubles the number

_ANY_NAME = "[^/]*"
_LITERAL_PREFIX = re.compile(r"[^*?\[{\\]*")
_LEADING_ATOM = re.compile(r"\[\^/\]\*|\\.|\w")


def compile_globs(patterns: Iterable[str]) -> PathPredicate:
    """Return a predicate for paths that match any of the globs; without globs nothing matches."""
    regex = _compile_globs(tuple(patterns))
    return lambda path: regex.match(path) is not None


@lru_cache(maxsize=256)  # a server compiles the same default globs for each changed file
def _compile_globs(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(glob_regex(patterns), re.DOTALL)


def escape_glob(path: str) -> str:
    """Return a glob that matches exactly this path."""
    return re.sub(r"([*?\[\]{}\\,!])", r"\\\1", path)


def literal_prefix(pattern: str) -> str:
    """Return the literal prefix of every path that the glob matches; empty if there is none."""
    text = pattern.removeprefix("./").removeprefix("/")
    if text == pattern and "/" not in pattern.strip("/"):
        return ""
    plain = _LITERAL_PREFIX.match(text)
    start = plain[0].rstrip("/") if plain else ""
    return "" if "." in start.split("/") or "//" in pattern else start


def directory_of_tree_glob(pattern: str) -> str:
    """Return the directory whose whole content, and nothing else, the glob matches; empty if there is none."""
    start = literal_prefix(pattern)
    return start if start and pattern.removeprefix("./").removeprefix("/") == f"{start}/{TREE}" else ""


def glob_regex(patterns: Iterable[str]) -> str:
    """Return one regex for all globs, to be used with `match` and DOTALL."""
    anchored: list[str] = []
    floating: list[str] = []
    for pattern in patterns:
        for alternative in _expand_braces(pattern):
            is_floating, regex = _glob_to_regex(pattern, alternative)
            (floating if is_floating else anchored).append(regex)
    branches = [*dict.fromkeys(anchored)]
    if floating:
        # Search once for the component where any floating glob begins, instead of once per glob.
        branches.append(f"(?:[^/]+/)*?(?:{_factor_prefixes(floating)})")
    return "|".join(branches) or "(?!)"


def _factor_prefixes(regexes: list[str]) -> str:
    """Factor out common prefixes: five times faster for a long list of names."""
    groups: dict[str, list[str]] = {}
    for regex in dict.fromkeys(regexes):
        beginning = _LEADING_ATOM.match(regex)
        lead = beginning[0] if beginning else ""
        groups.setdefault(lead, []).append(regex[len(lead) :])
    return "|".join(_prefix_group(lead, rests) for lead, rests in groups.items())


def _prefix_group(lead: str, rests: list[str]) -> str:
    if not lead:
        return "|".join(rests)
    return f"{lead}(?:{_factor_prefixes(rests) if lead == _ANY_NAME else '|'.join(rests)})"


def _glob_to_regex(pattern: str, alternative: str) -> tuple[bool, str]:
    """Return whether the glob may begin at any component, and its regex."""
    if not alternative:
        raise BadInput(f"the glob {pattern!r} has an empty alternative, which would match everything; remove it")
    try:
        parts = [part for part in split_segments(alternative.strip("/")) if part not in ((), ("\\.",))]
    except WildcardError as problem:
        raise BadInput(f"invalid glob {pattern!r}: {problem}") from None
    if ("\\.", "\\.") in parts:
        raise BadInput(f"invalid glob {pattern!r}: paths are relative to the root; remove '..'")
    end = "/" if alternative.endswith("/") else "(?:/|\\Z)"
    if not parts:
        return False, "(?:)"
    if parts[0] == (TREE,) and len(parts) > 1:
        return True, path_regex(parts[1:]) + end
    is_floating = len(parts) == 1 and not alternative.startswith(("/", "./"))
    return is_floating, path_regex(parts) + end


def _expand_braces(pattern: str) -> list[str]:
    """Expand braces: return one glob per alternative."""
    if not pattern.strip():
        raise BadInput(f"the glob {pattern!r} is empty; write '**' for everything")
    if len(pattern) > MAX_GLOB_CHARS:
        raise BadInput(f"the glob {pattern[:40]!r}… is longer than {MAX_GLOB_CHARS} characters; shorten it")
    finished, pending = [], [pattern]
    while pending:
        text = pending.pop()
        braces = _innermost_braces(pattern, text)
        if braces is None:
            finished.append(text)
        else:
            start, commas, end = braces
            cuts = [start, *commas, end]
            choices = [text[low + 1 : high] for low, high in pairwise(cuts)]
            pending += [text[:start] + choice + text[end + 1 :] for choice in choices]
        if len(finished) + len(pending) > MAX_GLOB_ALTERNATIVES:
            raise BadInput(f"the glob {pattern!r} has more than {MAX_GLOB_ALTERNATIVES} alternatives; split it")
    return finished


def _innermost_braces(pattern: str, text: str) -> tuple[int, list[int], int] | None:
    """Return start, commas and end of the first pair of braces that contains no braces."""
    start, at = -1, 0
    commas: list[int] = []
    while at < len(text):
        character = text[at]
        if character == "{":
            start, commas = at, []
        elif character == "," and start >= 0:
            commas.append(at)
        elif character == "}" and start >= 0:
            return start, commas, at
        at += 2 if character == "\\" else 1
    if start >= 0:
        raise BadInput(f"invalid glob {pattern!r}: its {{ is not closed")
    return None
