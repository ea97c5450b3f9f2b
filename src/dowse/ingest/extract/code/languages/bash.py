"""Bash and other shells of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Definition, Imported, Language, Shape
from dowse.ingest.extract.code.source import child, first_of
from dowse.text.expressions import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_QUERY = """
(function_definition) @define
(command name: (command_name) @_name (#eq? @_name "alias")) @define
(variable_assignment) @bind
(command) @call
(command name: (command_name) @_name (#any-of? @_name "source" ".")) @import
(command name: (command_name) @_name (#eq? @_name "return")) @return
(command name: (command_name) @_name
  (#any-of? @_name "trap" "command" "exec" "time" "nohup" "sudo" "retry" "run" "xargs" "complete")) @refer
[(if_statement) (for_statement) (c_style_for_statement) (while_statement)] @branch
(elif_clause) @further
(else_clause) @otherwise
(case_statement) @switch
(case_item) @case
(list ["&&" "||"]) @operator
"""

# Words of the shell itself: nothing is called.
_BUILT_IN = frozenset(
    {
        ".", ":", "alias", "bg", "break", "builtin", "cd", "continue", "declare", "dirs", "disown", "echo", "enable",
        "eval", "exit", "export", "false", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local",
        "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set",
        "shift", "shopt", "source", "suspend", "test", "times", "true", "type", "typeset", "ulimit", "umask",
        "unalias", "unset", "wait",
    }
)  # fmt: skip
_PLAIN = re.compile(r"[\w+@-]*[^\W\d][\w+@-]*(?:::[\w+@-]+)*")
_ALIAS = re.compile(r"([^\s=$'\"`-][^\s=$'\"`]*)=")
_DEEPEST = 8
_MOST_AHEAD = 500  # bytes of a pattern: what opens and is not closed must not be looked for to the end of the text
_MARK = re.compile(rb"\\.|\$\(\(|\(\(|\$\(|\$\{|\$'|[@!?*+]\((?!\))|<<<|<<-?|[\"'`()#\n]", re.DOTALL)
_OPENING = {b"`": b"`", b'"': b'"', b"(": b")", b"$(": b")"}
_TO_QUOTE = re.compile(rb"[^']*+'")
_TO_BRACKETS = re.compile(rb"[^\n]{0,500}?\)\)")
_CLOSED_BY = {
    b"'": _TO_QUOTE, b"$'": re.compile(rb"(?:[^'\\]|\\.)*+'", re.DOTALL), b"((": _TO_BRACKETS, b"$((": _TO_BRACKETS,
}  # fmt: skip
_CLOSING_WORD = re.compile(rb"[ \t]*+(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s;|&<>()'\"]+))")
_IN_EXPANSION = re.compile(rb"\\.|\$\{|\}|\n", re.DOTALL)
_IN_PATTERN = re.compile(rb"\\.|[()\n]", re.DOTALL)
_EXPANDED = re.compile(rb"[#!]?[^\W\d]\w*")
_FILLERS = {"comment": "comments"}


def _command(node: Node, source: Source) -> str:
    """Its name, if it is a plain one: neither a path nor made of something else. `a::b` is the b of a."""
    name = source.of(node)
    return name.replace("::", ".") if len(name) <= 200 and _PLAIN.fullmatch(name) else ""


_SHAPES = {
    "command": Shape(onto="name", step="()"),
    "command_name": Shape(read=_command),
    "word": Shape(name=True),
}


def _define(node: Node, _around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type == "command":
        return _aliases(node, source)
    name, body = source.of(child(node, "name")), child(node, "body")
    header = (node.start_byte, body.start_byte if body is not None else node.end_byte)
    return [Definition(name.rpartition("::")[2] or name, "function", node, header)] if name else []


def _aliases(node: Node, source: Source) -> Iterable[Definition]:
    """`alias a=b c='d e'`: each is called like a function."""
    for each in node.children_by_field_name("argument"):
        named = _ALIAS.match(source.of(each))
        if named is not None:
            yield Definition(
                named[1], "function", each, each.byte_range, modifiers=("alias",), has_body=False, divides=False
            )


def _simplified(data: bytes) -> bytes:
    """Without texts that lines give to commands (`<<EOF`), and without patterns: `${x%…}` and `@(a|b)`."""
    return _Simplifier(data).run()


class _Simplifier:
    """Goes over the marks of a script once; `_inside` are the marks that will close what is open."""

    def __init__(self, data: bytes) -> None:
        self._data, self._result = data, bytearray(data)
        self._inside: list[bytes] = []
        self._texts: list[tuple[bytes, bool]] = []  # what ends each, and whether tabs may stand before it

    def run(self) -> bytes:
        at = 0
        while mark := _MARK.search(self._data, at):
            at = self._take(mark[0], mark.start(), mark.end())
        return bytes(self._result)

    def _take(self, mark: bytes, start: int, end: int) -> int:
        """Where to go on."""
        in_string = self._inside[-1:] == [b'"']
        if mark in (b"`", b'"', b")") and self._inside[-1:] == [mark]:
            self._inside.pop()
        elif mark == b"${":
            return self._expansion(end)
        elif mark in _OPENING and (mark == b"$(" or not in_string):
            self._inside.append(_OPENING[mark])
        elif in_string:
            return end
        elif mark in (b"'", b"$'", b"((", b"$(("):
            closing = _CLOSED_BY[mark].match(self._data, end)
            return closing.end() if closing else end
        elif mark[1:] == b"(":
            return self._pattern(start, end)
        elif mark.startswith(b"<<") and mark != b"<<<":
            return self._text(start, end, tabs=mark == b"<<-")
        elif mark == b"#" and self._data[start - 1 : start] in (b"", b" ", b"\t", b"\n", b";"):
            newline = self._data.find(b"\n", end)
            return newline if newline >= 0 else len(self._data)
        elif mark == b"\n" and self._texts:
            return self._skip_texts(end)
        return end

    def _expansion(self, end: int) -> int:
        """Only the name is left of it; one that goes over lines stays as it is."""
        depth, at = 1, end
        while 0 < depth <= _DEEPEST and (mark := _IN_EXPANSION.search(self._data, at, end + _MOST_AHEAD)):
            depth += {b"}": -1, b"${": 1}.get(mark[0], 0)
            at = mark.end()
            if mark[0] == b"\n":
                return end
        name = _EXPANDED.match(self._data, end)
        if depth or name is None:
            return end
        self._result[name.end() : at - 1] = b"x" * (at - 1 - name.end())
        return at

    def _pattern(self, start: int, end: int) -> int:
        depth, at = 1, end
        while 0 < depth <= _DEEPEST and (mark := _IN_PATTERN.search(self._data, at, end + _MOST_AHEAD)):
            if mark[0] == b"\n":
                return end
            depth += {b")": -1, b"(": 1}.get(mark[0], 0)
            at = mark.end()
        if depth:
            return end
        self._result[start:at] = b"x" * (at - start)
        return at

    def _text(self, start: int, end: int, *, tabs: bool) -> int:
        closing = _CLOSING_WORD.match(self._data, end)
        if closing is None:
            return end
        self._texts.append((closing[1] or closing[2] or closing[3], tabs))
        self._blank(start, closing.end())
        return closing.end()

    def _skip_texts(self, start: int) -> int:
        at = start
        for word, tabs in self._texts:
            while at < len(self._data):
                newline = self._data.find(b"\n", at)
                end = newline + 1 if newline >= 0 else len(self._data)
                line = self._data[at:end].rstrip(b"\r\n")
                self._blank(at, at + len(line))
                at = end
                if (line.lstrip(b"\t") if tabs else line) == word:
                    break
        self._texts.clear()
        return at

    def _blank(self, start: int, end: int) -> None:
        self._result[start:end] = b" " * (end - start)


def _bind(node: Node, _source: Source) -> Iterable[Bound]:
    name = child(node, "name")
    return [Bound(name, node.end_byte, keeps=node)] if name is not None and name.type == "variable_name" else []


def _imports(node: Node, source: Source) -> Iterable[Imported]:
    named = first_of(node, "word", "string", "raw_string", "concatenation", "simple_expansion")
    path = source.of(named).strip("\"'")
    return [Imported(path, "*")] if path else []


def _nothing(_definition: Definition, _expression: str) -> str:
    """A function returns how it went, no value."""
    return ""


def _arguments(node: Node) -> int:
    return len(node.children_by_field_name("argument"))


LANGUAGES = (
    Language(
        name="bash",
        suffixes=(".sh", ".bash", ".zsh", ".ksh", ".bats"),
        file_names=(".bashrc", ".bash_profile", ".bash_aliases", ".zshrc", ".profile", ".zprofile"),
        grammar="tree_sitter_bash",
        query=_QUERY,
        shapes=_SHAPES,
        define=_define,
        bind=_bind,
        imports=_imports,
        fillers=_FILLERS,
        returned=_nothing,
        arguments=_arguments,
        no_calls=_BUILT_IN | {UNKNOWN},
        simplified=_simplified,
    ),
)
