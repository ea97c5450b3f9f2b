"""Regexes of lines: compiled so that none can take forever, and what every line they match must hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

from dowse.errors import BadInput
from dowse.text.folding import WordTest, folded, pieces

Clause = tuple[WordTest, ...]
"""A line must have a word that passes one of the tests."""

MAX_PATTERN_CHARS = 4_096
_MAX_PROGRAM = 10_000  # instructions; beside text × instructions nothing bounds the slowest matching
_MAX_WAYS = 16  # alternatives that are looked up; more would cost as much as reading the lines
_LEAST_CHARS = 2  # of a literal: nearly every line has any one letter

# Where Python reads a class otherwise than RE2, or would warn of it.
_OTHER_CLASSES = re.compile(r"\[\^?\]?[^\]]*(?:\[|--|&&|~~|\|\|)")
_PUNCTUATION = re.compile(r"[!-/:-@\[-^`{-~]")
# What looks at the whole text, where only lines begin and end otherwise.
_TEXT_EDGES = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m")


class Match(Protocol):
    def start(self) -> int: ...


class Regex(Protocol):
    """As much of a compiled RE2 as is used; it reads any bytes that can be mapped."""

    programsize: int

    def search(self, text: bytes | memoryview) -> Match | None: ...

    def finditer(self, text: bytes | memoryview) -> Iterator[Match]: ...


class LineRegex:
    """Finds the lines of a text; what ends a line is never part of a match."""

    def __init__(self, pattern: str, case_sensitive: bool) -> None:
        # Checked alone first: what is put around it must not close what it left open.
        plain = _re2(pattern, case_sensitive)
        if plain.programsize > _MAX_PROGRAM:
            raise BadInput(f"the regex {_shown(pattern)} is too large; repeat less, or say less at once")
        self.cost = plain.programsize
        self._single = plain if _TEXT_EDGES.search(pattern) else None
        self._lines = _re2(f"(?m)(?:{pattern}).*", case_sensitive)

    def places(self, text: bytes | memoryview) -> Iterator[int]:
        """Offsets in ascending order, at least one in each line that matches, and none elsewhere."""
        if self._single is not None:
            return self._one_by_one(self._single, text)
        end = len(text)
        return (at for match in self._lines.finditer(text) if (at := match.start()) < end)

    def _one_by_one(self, regex: Regex, text: bytes | memoryview) -> Iterator[int]:
        at = 0
        for line in bytes(text).removesuffix(b"\n").split(b"\n"):
            if regex.search(line):
                yield at
            at += len(line) + 1


@lru_cache(maxsize=256)
def line_regex(pattern: str, case_sensitive: bool) -> LineRegex:
    """Raises BadInput, with the reason, for what can not be matched in linear time."""
    return LineRegex(pattern, case_sensitive)


def _re2(pattern: str, case_sensitive: bool) -> Regex:
    import re2

    if len(pattern) > MAX_PATTERN_CHARS:
        raise BadInput(f"the regex {_shown(pattern)} is longer than {MAX_PATTERN_CHARS:,} characters")
    options = re2.Options()
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    options.case_sensitive = case_sensitive
    try:
        regex: Regex = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise BadInput(f"invalid regex {_shown(pattern)}: {_reason(error)}{_advice(pattern)}") from None
    return regex


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, UnicodeEncodeError) else error.args[0]
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _advice(pattern: str) -> str:
    if re.search(r"\(\?<?[=!]|\\[1-9]|\(\?P=", pattern):
        return "; look-around and back references are not supported, they can not be matched in bounded time"
    return "; to search for it literally, use -F or a substring"


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else f"{pattern[:60]}…")


def escaped(literal: str) -> str:
    """A regex that matches exactly this."""
    return _PUNCTUATION.sub(r"\\\g<0>", literal)


# --- what a match must hold ---------------------------------------------------------------------


def required(pattern: str) -> tuple[Clause, ...]:
    """Tests that the words of every matching line pass, as far as Python's parser understands the pattern."""
    if _OTHER_CLASSES.search(pattern):
        return ()
    from re import _parser  # type: ignore[attr-defined]

    try:
        return tuple(dict.fromkeys(_clauses(_literals(_parser.parse(pattern)))))
    except (re.error, OverflowError, RecursionError):
        return ()


def _clauses(literals: Iterable[tuple[str, ...]]) -> Iterator[Clause]:
    """Of each set of alternatives one clause, of a single literal one for each of its words."""
    for ways in literals:
        if len(ways) == 1:
            yield from ((test,) for test in pieces(ways[0]) if _telling(test))
        elif all(any(map(_telling, pieces(way))) for way in ways):
            yield tuple(max(pieces(way), key=_weight) for way in ways)


def _telling(test: WordTest) -> bool:
    return len(test.text) >= _LEAST_CHARS


def _weight(test: WordTest) -> tuple[int, bool]:
    return len(test.text), test.how == "is"


def _literals(items: Sequence[tuple[Any, Any]]) -> list[tuple[str, ...]]:
    """Sets of literals; a match has at least one of each set."""
    found: list[tuple[str, ...]] = []
    run = ""
    for name, value in items:
        letter = _letter(str(name), value)
        if letter:
            run += letter
            continue
        found += [(run,)] if run else []
        run = ""
        found += _inside(str(name), value)
    return [*found, (run,)] if run else found


def _letter(name: str, value: Any) -> str:  # noqa: ANN401 - the parser's own types
    """The one letter that a part of a pattern stands for, whatever its case."""
    if name == "LITERAL":
        return folded(chr(value))
    if name == "IN":
        letters = {_letter(str(kind), it) for kind, it in value}
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _inside(name: str, value: Any) -> list[tuple[str, ...]]:  # noqa: ANN401
    if name == "SUBPATTERN":
        return _literals(value[-1])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
        return _literals(value[-1])
    if name == "BRANCH":
        return _either([_literals(way) for way in value[1]])
    return []


def _either(ways: Sequence[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """One set for all ways, each giving its most telling one; none if a way may be matched by anything."""
    if not all(ways):
        return []
    best = [max(sets, key=lambda it: min(map(len, it))) for sets in ways]
    together = tuple(dict.fromkeys(literal for literals in best for literal in literals))
    return [together] if len(together) <= _MAX_WAYS else []
