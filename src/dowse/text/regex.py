"""Regular expressions: RE2 syntax, literal prefilters and matching."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

from dowse.errors import BadInput
from dowse.text.tokenize import WordTest, fold_case, word_tests

WordClause = tuple[WordTest, ...]
"""Alternative tests: a line must contain a word that passes one of them."""

MAX_PATTERN_CHARS = 4_096
_MAX_RE2_INSTRUCTIONS = 10_000  # RE2 instructions; the worst case takes text length × instructions
_MAX_LITERAL_ALTERNATIVES = 16  # looking up more alternatives would cost as much as reading the lines
_MIN_LITERAL_CHARS = 2  # nearly every line contains any given single letter

# Character classes that Python parses differently from RE2, or warns about.
_INCOMPATIBLE_CLASSES = re.compile(r"\[\^?\]?[^\]]*(?:\[|--|&&|~~|\|\|)")
_PUNCTUATION = re.compile(r"[!-/:-@\[-^`{-~]")
# Constructs that refer to the whole text instead of lines.
_TEXT_EDGES = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m")


class Re2Match(Protocol):
    def start(self) -> int: ...


class Re2Regex(Protocol):
    """The subset of a compiled RE2 that is used; it accepts any buffer."""

    programsize: int

    def search(self, text: bytes | memoryview) -> Re2Match | None: ...

    def finditer(self, text: bytes | memoryview) -> Iterator[Re2Match]: ...


class LineRegex:
    """Finds matching lines in a text; a match never includes a line end."""

    def __init__(self, pattern: str, case_sensitive: bool) -> None:
        # Compile the pattern alone first: the group put around it must not close a parenthesis that it left open.
        plain = _compile_re2(pattern, case_sensitive)
        if plain.programsize > _MAX_RE2_INSTRUCTIONS:
            raise BadInput(f"the regex {_quote_pattern(pattern)} is too large; use fewer repetitions or alternatives")
        self.cost = plain.programsize
        self._single = plain if _TEXT_EDGES.search(pattern) else None
        self._lines = _compile_re2(f"(?m)(?:{pattern}).*", case_sensitive)

    def places(self, text: bytes | memoryview) -> Iterator[int]:
        """Yield ascending offsets: at least one in each matching line, and none elsewhere."""
        if self._single is not None:
            return self._match_single_lines(self._single, text)
        end = len(text)
        return (at for match in self._lines.finditer(text) if (at := match.start()) < end)

    def _match_single_lines(self, regex: Re2Regex, text: bytes | memoryview) -> Iterator[int]:
        at = 0
        for line in bytes(text).removesuffix(b"\n").split(b"\n"):
            if regex.search(line):
                yield at
            at += len(line) + 1


@lru_cache(maxsize=256)
def compile_line_regex(pattern: str, case_sensitive: bool) -> LineRegex:
    """Compile a pattern. Raise `BadInput` if it cannot be matched in linear time."""
    return LineRegex(pattern, case_sensitive)


def _compile_re2(pattern: str, case_sensitive: bool) -> Re2Regex:
    import re2

    if len(pattern) > MAX_PATTERN_CHARS:
        raise BadInput(
            f"the regex {_quote_pattern(pattern)} is longer than {MAX_PATTERN_CHARS:,} characters; shorten it"
        )
    options = re2.Options()
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    options.case_sensitive = case_sensitive
    try:
        regex: Re2Regex = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise BadInput(
            f"invalid regex {_quote_pattern(pattern)}: {_re2_error_reason(error)}{_regex_advice(pattern)}"
        ) from None
    return regex


def _re2_error_reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, UnicodeEncodeError) else error.args[0]
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _regex_advice(pattern: str) -> str:
    if re.search(r"\(\?<?[=!]|\\[1-9]|\(\?P=", pattern):
        return "; look-around and back references are not supported, because they cannot be matched in bounded time"
    return "; to search for it literally, use -F or a substring"


def _quote_pattern(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else f"{pattern[:60]}…")


def escape_literal(literal: str) -> str:
    """Return a regex that matches exactly this text."""
    return _PUNCTUATION.sub(r"\\\g<0>", literal)


# --- required words -----------------------------------------------------------------------------


def required_words(pattern: str) -> tuple[WordClause, ...]:
    """Return tests that the words of every matching line pass, as far as Python's parser understands the pattern."""
    if _INCOMPATIBLE_CLASSES.search(pattern):
        return ()
    from re import _parser  # type: ignore[attr-defined]

    try:
        return tuple(dict.fromkeys(_word_clauses(_literal_sets(_parser.parse(pattern)))))
    except (re.error, OverflowError, RecursionError):
        return ()


def _word_clauses(literals: Iterable[tuple[str, ...]]) -> Iterator[WordClause]:
    """Yield one clause per set of alternatives; for a single literal, one per word."""
    for ways in literals:
        if len(ways) == 1:
            yield from ((test,) for test in word_tests(ways[0]) if _is_selective(test))
        elif all(any(map(_is_selective, word_tests(way))) for way in ways):
            yield tuple(max(word_tests(way), key=_selectivity) for way in ways)


def _is_selective(test: WordTest) -> bool:
    return len(test.text) >= _MIN_LITERAL_CHARS


def _selectivity(test: WordTest) -> tuple[int, bool]:
    return len(test.text), test.kind == "is"


def _literal_sets(items: Sequence[tuple[Any, Any]]) -> list[tuple[str, ...]]:
    """Return sets of literals; every match contains at least one literal of each set."""
    found: list[tuple[str, ...]] = []
    run = ""
    for name, value in items:
        letter = _single_letter(str(name), value)
        if letter:
            run += letter
            continue
        found += [(run,)] if run else []
        run = ""
        found += _nested_literals(str(name), value)
    return [*found, (run,)] if run else found


def _single_letter(name: str, value: Any) -> str:  # noqa: ANN401 - the parser's own types
    """Return the single letter, ignoring case, that this part of a pattern matches; else an empty string."""
    if name == "LITERAL":
        return fold_case(chr(value))
    if name == "IN":
        letters = {_single_letter(str(kind), it) for kind, it in value}
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _nested_literals(name: str, value: Any) -> list[tuple[str, ...]]:  # noqa: ANN401
    if name == "SUBPATTERN":
        return _literal_sets(value[-1])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
        return _literal_sets(value[-1])
    if name == "BRANCH":
        return _merge_branches([_literal_sets(way) for way in value[1]])
    return []


def _merge_branches(branches: Sequence[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Merge the most selective set of each branch into one; return nothing if a branch has no literal."""
    if not all(branches):
        return []
    best_sets = [max(sets, key=lambda it: min(map(len, it))) for sets in branches]
    merged = tuple(dict.fromkeys(literal for literals in best_sets for literal in literals))
    return [merged] if len(merged) <= _MAX_LITERAL_ALTERNATIVES else []


# --------------------------------------------------------------------------------------------------
# Name matching, and regexes with guaranteed linear time.

EXACT, PREFIX, SUBSTRING = range(3)

MAX_NAME_PATTERN_CHARS = 2_000
_MAX_SHOWN_PATTERN_CHARS = 60
# Constructs whose meaning differs between one multi-line text and its single lines: text anchors and switched-off
# flags.
_LINE_SENSITIVE = re.compile(r"\\[AzQC]|\(\?\w*-")


def match_quality(name: str, queries: Sequence[str]) -> int | None:
    """Return how well the name matches the best text: exactly, by prefix, or in part; None if no text occurs in it."""
    if name in queries:
        return EXACT
    contained = [text for text in queries if text in name]
    if not contained:
        return None
    return PREFIX if any(name.startswith(text) for text in contained) else SUBSTRING


def compile_regex_predicate(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    """Return a predicate for texts that contain the regex. Raise `BadInput` if it cannot be searched in linear time."""
    compiled = compile_regex(pattern, ignore_case=ignore_case)
    return lambda text: compiled.search(text) is not None


def lines_matching_regex(pattern: str, lines: bytes, *, ignore_case: bool) -> set[str]:
    """Return the lines of a UTF-8 text that contain the regex. One scan is eight times faster than one per line."""
    search = compile_regex_predicate(pattern, ignore_case=ignore_case)
    if _LINE_SENSITIVE.search(pattern):
        return {line for line in lines.decode().split("\n") if search(line)}
    scan = compile_regex(f"(?m)^.*?(?:{pattern}).*$", ignore_case=ignore_case, by_line=True)
    return {found.group().decode() for found in scan.finditer(lines)}  # a named group still captures: take the match


def line_predicate(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    """Return a predicate that is false only if no line of a text contains the regex."""
    if _LINE_SENSITIVE.search(pattern):
        return lambda text: True
    compiled = compile_regex(f"(?m){pattern}", ignore_case=ignore_case, by_line=True)
    return lambda text: compiled.search(text) is not None


def compile_regex(pattern: str, *, ignore_case: bool, by_line: bool = False) -> Any:  # noqa: ANN401 - an untyped library
    """Compile with RE2. With `by_line`, matches never span lines and groups capture nothing."""
    import re2

    if len(pattern) > MAX_NAME_PATTERN_CHARS:
        raise BadInput(f"the regex is longer than {MAX_NAME_PATTERN_CHARS:,} characters; shorten it")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.never_nl = options.never_capture = by_line
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        shown = pattern if len(pattern) <= _MAX_SHOWN_PATTERN_CHARS else pattern[:_MAX_SHOWN_PATTERN_CHARS] + "…"
        raise BadInput(
            f"invalid regex {shown!r}: {_regex_error_reason(error)}; look-around and back references are not supported"
        ) from None


def _regex_error_reason(error: Exception) -> str:
    reason = error.args[0] if error.args and not isinstance(error, UnicodeEncodeError) else "it is not valid Unicode"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
