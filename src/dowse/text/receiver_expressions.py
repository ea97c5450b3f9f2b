"""Receiver expressions: a small language for callees, written by extractors and read by the resolver.

    expression   one or more paths, joined by `|`, if a name may have several values
    path         a root and any number of steps

    root         this       the object whose method contains the call (self, cls, this)
                 super      what its class inherits from
                 :TYPE;     an object of that type, as written but without blanks: `:IList<Foo>;`
                 NAME       a name that is not a local of the function: a member, a definition, an import, a module
                 $NAME      a parameter of the enclosing function, or of one around it; `$^N` of a lambda there
                 {KEY=PATH&KEY=PATH}   a literal: a list or tuple by index, a dict by `'key`, `*` for any
                            key, and by the key `()` the result of calling a lambda
                 ?          unknown

    step         .NAME      a member
                 ()         the result of a call; for a class, an instance
                 []         an element, each in turn
                 [KEY]      the element with this key: of a tuple, the one at that index; `[?]` with an unknown key,
                            `[N:]` all from index N on
                 !          the result of awaiting

    name         as written, but `!!` for a `!` that belongs to the name (`save!` in Ruby)

Locals never appear: the extractor substitutes their values, or `?` if they are unknown. So `self.repo.save(x)` has
the callee `this.repo.save`, `a = Foo(); a.bar()` has `Foo().bar`, and `new Foo()` has the callee `:Foo;`.

After the callee of a call and a tab come the arguments: `KEY=PATH&KEY=PATH`, by index or by name, with `*` and `**`
for unpacked ones. After that of a reference comes its use: passed, returned or stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

UNKNOWN_ROOT = "?"
PARAMETER = "$"
LAMBDA_PARAMETER = "$^"
ANY_KEY = "*"
SPREAD = "**"
CALL_RESULT_KEY = "()"
DICT_KEY_PREFIX = "'"  # prefix of a dict key
UNKNOWN_KEY_STEP = "[?]"
_ESCAPED_NAME = r"(?:[^.()\[\]!|:;]|!!)+"
_STEP_PATTERN = rf"(?:\.{_ESCAPED_NAME}|\(\)|\[[^\[\]|{{}}&=]*\]|!)"
_PATH_PATTERN = re.compile(rf"(:[^;]*;|{_ESCAPED_NAME})({_STEP_PATTERN}*)(?:\||$)")
_STEPS_AFTER_BRACES = re.compile(rf"({_STEP_PATTERN}*)(?:\||$)")
_STEP_REGEX = re.compile(_STEP_PATTERN)
_MAX_BRACE_DEPTH = 8


@dataclass(frozen=True, slots=True)
class AccessPath:
    """One path of an expression; its steps are `.name`, `()`, `[]` and `!`."""

    root: str
    steps: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """Return the type named by the root, or an empty string."""
        return self.root[1:-1] if self.root.startswith(":") else ""


def instance_root(type_text: str) -> str:
    """Return the root for an object of this type."""
    return f":{''.join(type_text.split()).replace(';', '')};"


def escape_name(written: str) -> str:
    """Escape a name for use in an expression."""
    return written.replace("!", "!!")


def unescape_name(name: str) -> str:
    """Unescape a name of an expression."""
    return name.replace("!!", "!")


@lru_cache(maxsize=50_000)
def parse_expression(expression: str) -> tuple[AccessPath, ...]:
    """Parse an expression into its paths; invalid ones become unknown."""
    found: list[AccessPath] = []
    at = 0
    while at < len(expression):
        end = _end_of_braces(expression, at) if expression[at] == "{" else 0
        path = _STEPS_AFTER_BRACES.match(expression, end) if end else _PATH_PATTERN.match(expression, at)
        if path is None:
            return (AccessPath(UNKNOWN_ROOT),)
        root, steps = (expression[at:end], path[1]) if end else (path[1], path[2])
        found.append(AccessPath(unescape_name(root), tuple(unescape_name(it) for it in _STEP_REGEX.findall(steps))))
        at = path.end()
    return tuple(found) or (AccessPath(UNKNOWN_ROOT),)


@lru_cache(maxsize=20_000)
def parse_entries(text: str) -> tuple[tuple[str, str], ...]:
    """Parse `KEY=PATH&KEY=PATH`, with or without braces, into pairs."""
    inner = text[1:-1] if text.startswith("{") else text
    found: list[tuple[str, str]] = []
    depth = start = 0
    for at, sign in enumerate(f"{inner}&"):
        depth += (sign == "{") - (sign == "}")
        if sign == "&" and depth == 0:
            key, is_pair, path = inner[start:at].partition("=")
            start = at + 1
            if is_pair:
                found.append((key, path))
    return tuple(found)


def format_literal(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a literal as a root, with one entry for each path of a value."""
    return "{" + "&".join(f"{key}={path}" for key, value in pairs for path in split_paths(value)) + "}"


def split_paths(expression: str) -> list[str]:
    return expression.split("|")  # safe: no path contains `|`, see `format_literal`


def split_arguments(callee: str) -> tuple[str, str]:
    """Split a callee from the arguments or the use that follow it."""
    callee, _, passed = callee.partition("\t")
    return callee, passed


def _end_of_braces(expression: str, at: int) -> int:
    """Return the end of the braces that open at `at`, or 0 if they are unclosed or nested too deeply."""
    depth = 0
    for place in range(at, len(expression)):
        depth += (expression[place] == "{") - (expression[place] == "}")
        if depth == 0:
            return place + 1
        if depth > _MAX_BRACE_DEPTH:
            break
    return 0
