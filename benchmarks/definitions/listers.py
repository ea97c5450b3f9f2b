"""Who else lists definitions: universal-ctags, and for what it cannot read the tags query of the language's grammar."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from definitions.comparing import DEFINED, HELD, Tag

PACKAGE: Final = "universal-ctags"
_NAMELESS: Final = ("__anon", "anonymousFunction", "AnonymousFunction")
_LOCAL: Final = "local names inside a function are not symbols"
_PLACE: Final = "names an imported file or module"
_SECTION: Final = "names the package or module of the file, which Dowse represents by the file or a namespace"

_WORDS: Final = frozenset(
    {"new", "readonly", "extends", "from", "delete", "symbol", "exports", "if", "void", "as", "class", "export"}
)

Row = Mapping[str, object]


def _nothing(_row: Row) -> str:
    return ""


def _never(_row: Row) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Lister:
    """Of a language: its name there, which kinds count in which group, which do not, and why.

    `drop` gives the reason why a single tag does not count; `name` reads the name of a tag; `as_held` says which tags
    of a kind that defines are values. `bodies`: where ctags does not tell locals, the suffix of a grammar and its nodes
    for functions: what is held inside of one is local, but for members of `this`.
    """

    called: str
    defined: str
    held: str
    left_out: Mapping[str, str] = field(default_factory=dict)
    drop: Callable[[Row], str] = _nothing
    once: tuple[str, ...] = ()  # kinds whose first assignment is the definition
    as_held: Callable[[Row], bool] = _never
    bodies: tuple[str, str] | None = None
    name: Callable[[str], str] = str
    query: str = ""  # the grammar whose tags query is run instead of ctags

    def group(self, row: Row) -> str | None:
        kind = row["kind"]
        if kind in self.defined.split():
            return HELD if self.as_held(row) else DEFINED
        return HELD if kind in self.held.split() else None

    @property
    def kinds(self) -> list[str]:
        return [*self.defined.split(), *self.held.split(), *self.left_out]


def _is_object(row: Row) -> bool:
    """JavaScript: what ctags calls a class is often an object that is written out."""
    text, name = str(row["pattern"]), re.escape(str(row["name"]))
    if row["kind"] == "method":
        return re.search(rf"prototype\.{name}\s*=(?!\s*(?:async|function))", text) is not None
    return row["kind"] == "class" and not re.search(r"\b(?:class|function|prototype)\b|=>", text)


def _javascript(row: Row) -> str:
    """Why a tag of JavaScript or TypeScript is no definition."""
    text, name, kind = str(row["pattern"]), re.escape(str(row["name"])), row["kind"]
    if re.search(rf"\brequire\s*\(|\bimport type {name}\b", text):
        return _PLACE
    if kind == "class" and re.search(rf"\b{name}\.prototype\b", text):
        return "names a class defined elsewhere, to which a member is added"
    if "prototype" in text and not re.search(rf"(?:{name}\s*|prototype\s*)=|function", text):
        return "uses a member of a prototype"
    if kind == "function" and re.search(rf"\b{name}\s*\[|\b{name}\s*=\s*\(\s*function", text):
        return "has a computed name, or is the result of a function"
    if kind == "field" and re.search(rf"\bthis\.(?:\w+\.)*{name}(?!\w|\s*=[^=])", text):
        return "uses a member of `this`"
    if kind in ("constant", "variable", "alias") and re.search(rf"\b0{name}\b|\[{name}\]|\bkeyof {name}\b", text):
        return "misread as a name: a number, an index or another type"
    return "misread as a name: a keyword" if row["name"] in _WORDS else ""


def _kotlin(row: Row) -> str:
    """Why a tag of Kotlin is no definition."""
    if row["kind"] == "method":
        is_local = row["name"] == "<lambda>" or " fun " not in f" {str(row['pattern']).replace('/^', ' ')}"
    else:
        is_local = row.get("scopeKind") == "method"
    return "local names: variables, loop variables, lambda parameters" if is_local else ""


def _made_by_macro(row: Row) -> str:
    is_macro = row["kind"] == "enumerator" and f"{row['name']}(" in str(row["pattern"])
    return "names a macro that generates the enumerator" if is_macro else ""


def _operator(name: str) -> str:
    """`operator ()` of C++ without the blank."""
    return name.replace("operator ", "operator") if not name[9:10].isalpha() else name


def _shell(row: Row) -> str:
    """Why a tag of a shell script is no definition."""
    text, name = str(row["pattern"]), re.escape(str(row["name"]))
    if row["kind"] == "alias":
        is_one = re.search(rf"(?:^/\^|[;&|{{(]|\b(?:then|do|else))\s*alias\b.*\s{name}=", text)
    else:
        form = rf"(?:function\s+{name}(?![\w(]|\s*\(\s*\w)|{name}\s*\(\s*\)(?!\s*[-+*/.;=)|>]))"
        is_one = re.search(rf"(?:^/\^|[;&|{{(]|\b(?:then|do|else|time))\s*{form}", text)
    return (
        ""
        if is_one and not name.endswith("=")
        else "misread as a name: an argument, an array, a string or another language"
    )


def _sql(row: Row) -> str:
    """Why a tag of SQL is no definition."""
    text, name = str(row["pattern"]), re.escape(str(row["name"]))
    if row["kind"] == "field" and re.search(rf"\b{name}\s+(?:member\s+)?(?:function|procedure)\b", text, re.IGNORECASE):
        return "misread as a name: a keyword before a method"
    is_local = not row.get("scope") and (row["kind"] == "variable" or re.search(r"^/\^\s*type\b", text, re.IGNORECASE))
    return "local names in an anonymous block" if is_local else ""


def _last_part(name: str) -> str:
    """SQL: without the schema and quotes."""
    return name.rpartition(".")[2].strip('"`[]')


_JAVASCRIPT_FUNCTIONS: Final = """
[(function_declaration) (generator_function_declaration) (function_expression) (generator_function) (arrow_function)
 (method_definition) (class_static_block)] @body
"""
# What stands in a getter is a member of the class to ctags, as are some loop variables and locals of functions.
_KOTLIN_BODIES: Final = "[(function_body) (getter) (setter) (anonymous_initializer)] @body"
LISTERS: Final[Mapping[str, Lister]] = {
    "csharp": Lister(
        "C#", "class interface struct enum method", "field property event enumerator",
        {"namespace": _SECTION, "macro": "preprocessor symbols have no content", "typedef": "`using X = Y` is local"},
    ),
    "go": Lister(
        "Go", "struct interface type talias func methodSpec", "const var member anonMember",
        {"package": _SECTION, "packageName": _PLACE, "unknown": "names that ctags cannot classify"},
    ),
    "typescript": Lister(
        "TypeScript", "class interface enum function generator method alias", "property enumerator constant variable",
        {"namespace": _SECTION},
        drop=_javascript,
        bodies=("tree_sitter_typescript:language_typescript", _JAVASCRIPT_FUNCTIONS),
    ),
    "python": Lister(
        "Python", "class function member", "variable", {"namespace": _PLACE, "module": _PLACE, "unknown": _PLACE},
    ),
    "cpp": Lister(
        "C++", "class struct union enum function typedef macro alias", "member enumerator variable",
        {"namespace": _SECTION, "header": _PLACE}, name=_operator,
    ),
    "kotlin": Lister(
        "Kotlin", "class interface object method typealias", "variable constant", {"package": _SECTION},
        drop=_kotlin, name=str.strip, bodies=("tree_sitter_kotlin", _KOTLIN_BODIES),
    ),
    "rust": Lister(
        "Rust", "struct enum interface typedef function method macro", "field enumerator variable",
        {"module": _SECTION, "implementation": "an `impl` extends a type that has its own symbol"},
    ),
    "ruby": Lister(
        "Ruby", "class module method singletonMethod alias", "accessor constant", {"library": _PLACE},
        once=("constant",),
    ),
    "php": Lister("PHP", "class interface trait function", "define variable", {"namespace": _SECTION, "alias": _PLACE},
        once=("variable",)),
    "javascript": Lister(
        "JavaScript", "class function generator method getter setter", "property field constant variable", {},
        drop=_javascript, as_held=_is_object, bodies=("tree_sitter_javascript", _JAVASCRIPT_FUNCTIONS),
    ),
    "java": Lister("Java", "class interface enum annotation method", "field enumConstant", {"package": _SECTION}),
    "c": Lister(
        "C", "struct union enum function typedef macro", "member enumerator variable", {"header": _PLACE},
        drop=_made_by_macro,
    ),
    "shell": Lister(
        "Sh", "function alias", "", {"heredoc": "marks the end of a heredoc", "script": _PLACE}, drop=_shell,
        name=lambda name: name.rpartition("::")[2],
    ),
    "sql": Lister(
        "SQL", "table view function procedure trigger domain index package subtype", "field cursor variable",
        {
            "label": "labels a block for GOTO",
            "synonym": "an alias of something defined elsewhere",
            "ccflag": "compiler settings",
            "event": "statements of a single product", "publication": "statements of a single product",
            "service": "statements of a single product", "mltable": "statements of a single product",
            "mlconn": "statements of a single product", "mlprop": "statements of a single product",
        },
        drop=_sql, name=_last_part,
    ),
    "scala": Lister(
        "", "interface enum class object function type", "variable property", {"module": _SECTION},
        query="tree_sitter_scala",
        bodies=(
            "tree_sitter_scala",
            "(function_definition body: (_) @body) (block) @body (indented_block) @body (case_clause) @body",
        ),
    ),
    "swift": Lister(
        "", "class interface method function", "property", query="tree_sitter_swift",
        bodies=("tree_sitter_swift", "(function_body) @body (lambda_literal) @body (computed_property) @body"),
    ),
}  # fmt: skip
"""By Dowse's names of the languages."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What counts, and how many of what does not, by the reason."""

    tags: list[Tag]
    left_out: list[tuple[str, str, str]]  # path, name, reason


def listed(language: str, files: Iterable[Path]) -> Listed:
    """The definitions in the files; the path of a tag is that of its file."""
    lister = LISTERS[language]
    rows = _queried(lister, files) if lister.query else _ctags(lister, files)
    tags: list[Tag] = []
    left_out: list[tuple[str, str, str]] = []
    within = _Bodies(lister.bodies) if lister.bodies else None
    given: set[tuple[str, str, str]] = set()
    for row in rows:
        path, kind, name = str(row["path"]), str(row["kind"]), lister.name(str(row["name"]))
        reason = lister.left_out.get(kind, "")
        if name.startswith(_NAMELESS) or not name:
            reason = "has no name in the source code"
        group = lister.group(row)
        reason = reason or lister.drop(row)
        if kind in lister.once and not reason:
            place = (path, name, str(row.get("scope")))
            reason = "assigns to a variable that is defined above" if place in given else ""
            given.add(place)
        if within is not None and group == HELD and not reason and within.holds(row):
            reason = _LOCAL
        if reason or group is None:
            left_out.append((path, name, reason or f"kind {kind}"))
        else:
            tags.append(Tag(path, name, int(str(row["line"])), kind, group))
    return Listed(tags, left_out)


class _Bodies:
    """Which lines of which files are inside of functions."""

    def __init__(self, bodies: tuple[str, str]) -> None:
        from tree_sitter import Language, Parser, Query

        module, _, function = bodies[0].partition(":")
        language = Language(getattr(importlib.import_module(module), function or "language")())
        self._parser, self._query = Parser(language), Query(language, bodies[1])
        self._lines = lru_cache(maxsize=1)(self._read)

    def holds(self, row: Row) -> bool:
        line, name = int(str(row["line"])) - 1, str(row["name"]).encode()
        inside, text = self._lines(str(row["path"]))
        found = text[line].find(name) if line < len(text) else -1
        at = int(str(row.get("column", found)))
        return (
            at >= 0
            and not text[line][:at].endswith(b"this.")
            and any(start < (line, at) < end for start, end in inside)
        )

    def _read(self, path: str) -> tuple[list[tuple[tuple[int, int], tuple[int, int]]], list[bytes]]:
        from tree_sitter import QueryCursor

        data = Path(path).read_bytes()
        nodes = QueryCursor(self._query).captures(self._parser.parse(data).root_node).get("body", ())
        bodies = [(tuple(node.start_point), tuple(node.end_point)) for node in nodes]
        return bodies, data.split(b"\n")


def _ctags(lister: Lister, files: Iterable[Path]) -> Iterator[Row]:
    program = shutil.which("ctags-universal") or shutil.which("ctags")
    asked = [program, "--version"] if program else []
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout if asked else ""
    if program is None or "Universal Ctags" not in told:
        raise SystemExit(f"Universal Ctags is missing; install the package {PACKAGE}")
    kinds = "".join(f"{{{kind}}}" for kind in lister.kinds)
    command = [
        program, "--options=NONE", "--output-format=json", "--fields=*", "--extras=-{qualified}", "--sort=no",
        f"--languages={lister.called}", f"--language-force={lister.called}", f"--kinds-{lister.called}={kinds}",
        "-L", "-", "-f", "-",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        input="\n".join(map(str, files)).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    for line in done.stdout.decode(errors="replace").splitlines():
        row = json.loads(line)
        if row["_type"] == "tag" and row.get("language") == lister.called:
            yield row


def _queried(lister: Lister, files: Iterable[Path]) -> Iterator[Row]:
    """What the tags query of the grammar names: the parser is the one Dowse uses, the choice of nodes is not."""
    from tree_sitter import Language, Parser, Query, QueryCursor

    module = importlib.import_module(lister.query)
    language = Language(module.language())
    query = Query(language, (Path(str(module.__file__)).parent / "queries" / "tags.scm").read_text(encoding="utf-8"))
    parser = Parser(language)
    for path in files:
        data = path.read_bytes()
        for _, captures in QueryCursor(query).matches(parser.parse(data).root_node):
            kind = next((it.removeprefix("definition.") for it in captures if it.startswith("definition.")), "")
            for node in captures["name"] if kind else ():
                name = data[node.start_byte : node.end_byte].decode(errors="replace")
                line, column = node.start_point
                yield {"path": str(path), "kind": kind, "name": name, "line": line + 1, "column": column}
