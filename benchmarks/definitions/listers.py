"""Who else lists definitions: universal-ctags, and for what it cannot read the tags query of the language's grammar."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from definitions.comparing import DEFINED, HELD, Tag

PACKAGE: Final = "universal-ctags"
_NAMELESS: Final = ("__anon", "anonymousFunction", "AnonymousFunction")
_LOCAL: Final = "names of a function's own body are no symbols"
_PLACE: Final = "names a file or module that is used, not one that is defined"
_SECTION: Final = "names a package or module of the file, which Dowse has as the file or as a namespace"

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Lister:
    """Of a language: its name there, which kinds count in which group, which do not, and why.

    `drop` says which single tags do not count, with the reason `dropped`; `name` reads the name of a tag.
    """

    called: str
    defined: str
    held: str
    left_out: Mapping[str, str] = field(default_factory=dict)
    drop: Callable[[Row], bool] | None = None
    dropped: str = ""
    name: Callable[[str], str] = str
    query: str = ""  # the grammar whose tags query is run instead of ctags

    def group(self, kind: str) -> str | None:
        return DEFINED if kind in self.defined.split() else HELD if kind in self.held.split() else None

    @property
    def kinds(self) -> list[str]:
        return [*self.defined.split(), *self.held.split(), *self.left_out]


def _inside(*kinds: str) -> Callable[[Row], bool]:
    return lambda row: row.get("scopeKind") in kinds


def _last_part(name: str) -> str:
    """SQL: without the schema and quotes."""
    return name.rpartition(".")[2].strip('"`[]')


LISTERS: Final[Mapping[str, Lister]] = {
    "csharp": Lister(
        "C#", "class interface struct enum method", "field property event enumerator",
        {"namespace": _SECTION, "macro": "symbols of the preprocessor hold nothing", "typedef": "using X = Y is local"},
    ),
    "go": Lister(
        "Go", "struct interface type talias func methodSpec", "const var member anonMember",
        {"package": _SECTION, "packageName": _PLACE, "unknown": "names that ctags cannot classify"},
    ),
    "typescript": Lister(
        "TypeScript", "class interface enum function generator method alias", "property enumerator constant variable",
        {"namespace": _SECTION},
    ),
    "python": Lister(
        "Python", "class function member", "variable", {"namespace": _PLACE, "module": _PLACE, "unknown": _PLACE},
    ),
    "cpp": Lister(
        "C++", "class struct union enum function typedef macro alias", "member enumerator variable",
        {"namespace": _SECTION, "header": _PLACE},
    ),
    "kotlin": Lister("Kotlin", "class interface object method typealias", "variable constant", {"package": _SECTION}),
    "rust": Lister(
        "Rust", "struct enum interface typedef function method macro", "field enumerator variable",
        {"module": _SECTION, "implementation": "an impl adds to a type that has its own symbol"},
    ),
    "ruby": Lister(
        "Ruby", "class module method singletonMethod alias", "accessor constant", {"library": _PLACE},
    ),
    "php": Lister("PHP", "class interface trait function", "define variable", {"namespace": _SECTION, "alias": _PLACE}),
    "javascript": Lister(
        "JavaScript", "class function generator method getter setter", "property field constant variable", {},
    ),
    "java": Lister("Java", "class interface enum annotation method", "field enumConstant", {"package": _SECTION}),
    "c": Lister(
        "C", "struct union enum function typedef macro", "member enumerator variable", {"header": _PLACE},
    ),
    "shell": Lister(
        "Sh", "function alias", "", {"heredoc": "labels the end of a text", "script": _PLACE},
    ),
    "sql": Lister(
        "SQL", "table view function procedure trigger domain index package subtype", "field cursor variable",
        {
            "label": "labels a block, as for a GOTO",
            "synonym": "another name of what is defined elsewhere",
            "ccflag": "settings of a compiler",
            "event": "statements of one product", "publication": "statements of one product",
            "service": "statements of one product", "mltable": "statements of one product",
            "mlconn": "statements of one product", "mlprop": "statements of one product",
        },
        name=_last_part,
    ),
    "scala": Lister(
        "", "interface enum class object function type", "variable property", {"module": _SECTION},
        query="tree_sitter_scala",
    ),
    "swift": Lister(
        "", "class interface method function", "property", query="tree_sitter_swift",
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
    for row in rows:
        path, kind, name = str(row["path"]), str(row["kind"]), lister.name(str(row["name"]))
        reason = lister.left_out.get(kind, "")
        if name.startswith(_NAMELESS) or not name:
            reason = "has no name in the source"
        elif lister.drop is not None and lister.drop(row):
            reason = lister.dropped
        group = lister.group(kind)
        if reason or group is None:
            left_out.append((path, name, reason or f"kind {kind}"))
        else:
            tags.append(Tag(path, name, int(str(row["line"])), kind, group))
    return Listed(tags, left_out)


def _ctags(lister: Lister, files: Iterable[Path]) -> Iterator[Row]:
    program = shutil.which("ctags-universal") or shutil.which("ctags")
    asked = [program, "--version"] if program else []
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout if asked else ""
    if program is None or "Universal Ctags" not in told:
        raise SystemExit(f"definitions are compared with those of Universal Ctags; install the package {PACKAGE}")
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
                yield {"path": str(path), "kind": kind, "name": name, "line": node.start_point[0] + 1}
