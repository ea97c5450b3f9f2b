"""Lines that begin a definition, by the suffix of their file: a parser would need the whole file, and far more time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_MAX_LINE_CHARS: Final = 300

_NO_NAMES = r"(?!(?:if|else|for|foreach|while|do|switch|case|catch|return|throw|new|await|yield|delete|using|lock)\b)"
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|override|virtual|async|readonly|partial|open"
    r"|default|synchronized|native|extern|unsafe|const|constexpr|inline|export|declare|data|inner|implicit|case"
    r"|lazy|suspend|operator|infix|fileprivate|mutating|required|convenience|unsafe|pub(?:\([^)]*\))?)\s+)*"
)
_TYPE_NAME = r"(?:class|interface|enum(?:\s+class)?|struct|record|trait|object|protocol|extension|actor|union)\s+(\w+)"

_PYTHON = r"(?:(?:async\s+)?def\s+(\w+)\s*[(\[]|class\s+(\w+)\s*[(:\[])"
_JAVASCRIPT = (
    rf"{_MODIFIERS}(?:function\s*\*?|class|interface|enum|namespace|type)\s+([A-Za-z_$][\w$]*)"
    rf"|{_MODIFIERS}(?:const|let|var)\s+([\w$]+)\s*(?::[^=]+)?=\s*(?:async\s+)?"
    r"(?:function\b|class\b|[\w$]+\s*=>|\([^()]*\)\s*(?::[^=]+)?=>)"
    rf"|(?<=\s){_MODIFIERS}(?:(?:get|set|\*)\s+)?{_NO_NAMES}([\w$#]+)\s*\((?:(?!=>|function\b)[^\"'`;])*\)"
    r"\s*(?::[^;{=]+)?\{\s*$"
)
_CURLY = (
    rf"{_MODIFIERS}{_TYPE_NAME}"
    rf"|(?<=\s){_MODIFIERS}{_NO_NAMES}(?:[\w.<>\[\],?]+\s+)+{_NO_NAMES}(\w+)\s*\([^;=]*$"
    rf"|(?<=\s)(?:public|private|protected|internal)\s+(\w+)\s*\([^;=]*$"
)
_C = (
    rf"(?:template\s*<[^>]*>\s*)?(?:typedef\s+)?{_MODIFIERS}(?:class|struct|enum(?:\s+class)?|union|namespace)\s+(\w+)"
    r"[^;()]*$"
    rf"|{_NO_NAMES}(?:[\w:<>,*&]+\s+)+[*&]*{_NO_NAMES}((?:\w+::)*~?\w+)\s*\([^;=\"]*$"
)
_GO = r"func\s+(?:\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)\s*)?(\w+)|type\s+(\w+)"
_RUST = (
    r"(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:async\s+|unsafe\s+|const\s+|extern\s+(?:\"[^\"]*\"\s+)?)*"
    r"(?:fn|struct|enum|trait|mod|union|type)\s+(\w+)"
    r"|(?:unsafe\s+)?impl(?:\s*<[^{]*?>)?\s+(?:[\w:<>, '&]+\s+for\s+)?(?:\w+::)*(\w+)"
)
_RUBY = r"def\s+(?:self\.)?([\w?!=]+)|(?:class|module)\s+(?:\w+::)*(\w+)"
_PHP = rf"{_MODIFIERS}(?:function\s+&?(\w+)|(?:class|interface|trait|enum)\s+(\w+))"
_KOTLIN = (
    rf"{_MODIFIERS}fun\s+(?:<[^>]*>\s*)?(?:\w+\.)?(\w+)"
    rf"|{_MODIFIERS}(?:enum\s+|annotation\s+)?(?:class|interface|object)\s+(\w+)"
)
_SCALA = rf"{_MODIFIERS}(?:def\s+(\w+)|(?:class|object|trait|enum)\s+(\w+))"
_SWIFT = rf"{_MODIFIERS}(?:func\s+(\w+)|(init)\s*[?(<]|{_TYPE_NAME})"
_BASH = r"(?:function\s+([\w:-]+)|([\w:-]+)\s*\(\)\s*\{?)"
_SQL = (
    r"(?:create|alter)\s+(?:or\s+\w+\s+)?(?:procedure|proc|function|view|table|trigger)\s+"
    r"(?:[\w\[\]\"]+\.)*[\[\"]?(\w+)"
)

_BY_SUFFIX: Final = {
    _PYTHON: "py pyi pyw",
    _JAVASCRIPT: "js jsx mjs cjs ts tsx mts cts",
    _CURLY: "java cs groovy dart",
    _C: "c h cc cpp cxx hh hpp hxx m mm",
    _GO: "go",
    _RUST: "rs",
    _RUBY: "rb rake",
    _PHP: "php",
    _KOTLIN: "kt kts",
    _SCALA: "scala sc",
    _SWIFT: "swift",
    _BASH: "sh bash zsh",
    _SQL: "sql tsql ddl prc pks pkb pkg pck pls plsql plb tps tpb fnc",
}
_KNOWN: Final = {
    f".{suffix}": re.compile(rf"\s*(?:{pattern})", re.IGNORECASE if pattern is _SQL else 0)
    for pattern, suffixes in _BY_SUFFIX.items()
    for suffix in suffixes.split()
}


def beginnings(path: str) -> re.Pattern[str] | None:
    """What lines that begin a definition look like in this file, if that is known."""
    return _KNOWN.get(path[path.rfind(".") :].lower())


def begins(pattern: re.Pattern[str], changed: str) -> bool:
    """Whether the line of a hunk, behind its mark, begins a definition."""
    return pattern.match(changed, 1, _MAX_LINE_CHARS) is not None


def defined_name(pattern: re.Pattern[str], line: str) -> str:
    """The name the line begins to define, with that of its owner if the line tells; empty if it does not."""
    found = pattern.match(line, 0, _MAX_LINE_CHARS)
    return ".".join(filter(None, found.groups())).replace("::", ".") if found else ""


def tells(path: str, name: str, lines: Iterable[str]) -> bool:
    """Whether commits can tell that what is so named and stands on these lines was changed: one of them begins it."""
    pattern = beginnings(path)
    return pattern is not None and any(defined_name(pattern, it).rpartition(".")[2] == name for it in lines)
