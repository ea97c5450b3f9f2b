"""Bash and similar shells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    NodeShape,
    SyntaxDefinition,
    child,
    first_child_of,
)
from dowse.text.receiver_expressions import UNKNOWN_ROOT

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

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
(elif_clause) @else_if
(else_clause) @else
(case_statement) @switch
(case_item) @case
(list ["&&" "||"]) @operator
"""

# Shell builtins: not recorded as calls.
_BUILT_IN = frozenset(
    {
        ".", ":", "alias", "bg", "break", "builtin", "cd", "continue", "declare", "dirs", "disown", "echo", "enable",
        "eval", "exit", "export", "false", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local",
        "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set",
        "shift", "shopt", "source", "suspend", "test", "times", "true", "type", "typeset", "ulimit", "umask",
        "unalias", "unset", "wait",
    }
)  # fmt: skip
_PLAIN_NAME = re.compile(r"[\w+@-]*[^\W\d][\w+@-]*(?:::[\w+@-]+)*")
_ALIAS = re.compile(r"([^\s=$'\"`-][^\s=$'\"`]*)=")
_MAX_NESTING = 8
_MAX_LOOKAHEAD_BYTES = 500  # bytes to search for a closing bracket, so that an unclosed one costs little
_MARK = re.compile(rb"\\.|\$\(\(|\(\(|\$\(|\$\{|\$'|[@!?*+]\((?!\))|<<<|<<-?|[\"'`()#\n]", re.DOTALL)
_CLOSING_MARKS = {b"`": b"`", b'"': b'"', b"(": b")", b"$(": b")"}
_TO_QUOTE = re.compile(rb"[^']*+'")
_TO_BRACKETS = re.compile(rb"[^\n]{0,500}?\)\)")
_CLOSED_BY = {
    b"'": _TO_QUOTE, b"$'": re.compile(rb"(?:[^'\\]|\\.)*+'", re.DOTALL), b"((": _TO_BRACKETS, b"$((": _TO_BRACKETS,
}  # fmt: skip
_CLOSING_WORD = re.compile(rb"[ \t]*+(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s;|&<>()'\"]+))")
_IN_EXPANSION = re.compile(rb"\\.|\$\{|\}|\n", re.DOTALL)
_IN_PATTERN = re.compile(rb"\\.|[()\n]", re.DOTALL)
_EXPANDED_NAME = re.compile(rb"[#!]?[^\W\d]\w*")
_FILLERS = {"comment": "comments"}


def _command_name(node: Node, source: SourceText) -> str:
    """Return the name of a command if it is a plain word, not a path or an expansion; `a::b` becomes `a.b`."""
    name = source.text(node)
    return name.replace("::", ".") if len(name) <= 200 and _PLAIN_NAME.fullmatch(name) else ""


_SHAPES = {
    "command": NodeShape(base="name", step="()"),
    "command_name": NodeShape(translate=_command_name),
    "word": NodeShape(is_name=True),
}


def _define(node: Node, _enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type == "command":
        return _aliases(node, source)
    name, body = source.text(child(node, "name")), child(node, "body")
    header = (node.start_byte, body.start_byte if body is not None else node.end_byte)
    return [SyntaxDefinition(name.rpartition("::")[2] or name, "function", node, header)] if name else []


def _aliases(node: Node, source: SourceText) -> Iterable[SyntaxDefinition]:
    """Define each alias of `alias a=b c='d e'` as a function."""
    for each in node.children_by_field_name("argument"):
        named = _ALIAS.match(source.text(each))
        if named is not None:
            yield SyntaxDefinition(
                named[1], "function", each, each.byte_range, modifiers=("alias",), has_body=False, splits_blocks=False
            )


def _simplify(data: bytes) -> bytes:
    """Remove constructs that the grammar cannot parse: here-documents (`<<EOF`) and patterns (`${x%…}`, `@(a|b)`)."""
    return _Simplifier(data).run()


class _Simplifier:
    """Scans the marks of a script once; `_closing_marks` will close the open constructs."""

    def __init__(self, data: bytes) -> None:
        self._data, self._result = data, bytearray(data)
        self._closing_marks: list[bytes] = []
        self._here_documents: list[tuple[bytes, bool]] = []  # delimiters of pending here-documents; with leading tabs?

    def run(self) -> bytes:
        at = 0
        while mark := _MARK.search(self._data, at):
            at = self._handle_mark(mark[0], mark.start(), mark.end())
        return bytes(self._result)

    def _handle_mark(self, mark: bytes, start: int, end: int) -> int:
        """Handle a mark; return where to resume."""
        in_string = self._closing_marks[-1:] == [b'"']
        if mark in (b"`", b'"', b")") and self._closing_marks[-1:] == [mark]:
            self._closing_marks.pop()
        elif mark == b"${":
            return self._blank_expansion(end)
        elif mark in _CLOSING_MARKS and (mark == b"$(" or not in_string):
            self._closing_marks.append(_CLOSING_MARKS[mark])
        elif in_string:
            return end
        elif mark in (b"'", b"$'", b"((", b"$(("):
            closing = _CLOSED_BY[mark].match(self._data, end)
            return closing.end() if closing else end
        elif mark[1:] == b"(":
            return self._blank_pattern(start, end)
        elif mark.startswith(b"<<") and mark != b"<<<":
            return self._start_here_document(start, end, tabs=mark == b"<<-")
        elif mark == b"#" and self._data[start - 1 : start] in (b"", b" ", b"\t", b"\n", b";"):
            newline = self._data.find(b"\n", end)
            return newline if newline >= 0 else len(self._data)
        elif mark == b"\n" and self._here_documents:
            return self._skip_here_documents(end)
        return end

    def _blank_expansion(self, end: int) -> int:
        """Keep only the name of an expansion; one that spans lines stays unchanged."""
        depth, at = 1, end
        while 0 < depth <= _MAX_NESTING and (mark := _IN_EXPANSION.search(self._data, at, end + _MAX_LOOKAHEAD_BYTES)):
            depth += {b"}": -1, b"${": 1}.get(mark[0], 0)
            at = mark.end()
            if mark[0] == b"\n":
                return end
        name = _EXPANDED_NAME.match(self._data, end)
        if depth or name is None:
            return end
        self._result[name.end() : at - 1] = b"x" * (at - 1 - name.end())
        return at

    def _blank_pattern(self, start: int, end: int) -> int:
        depth, at = 1, end
        while 0 < depth <= _MAX_NESTING and (mark := _IN_PATTERN.search(self._data, at, end + _MAX_LOOKAHEAD_BYTES)):
            if mark[0] == b"\n":
                return end
            depth += {b")": -1, b"(": 1}.get(mark[0], 0)
            at = mark.end()
        if depth:
            return end
        self._result[start:at] = b"x" * (at - start)
        return at

    def _start_here_document(self, start: int, end: int, *, tabs: bool) -> int:
        closing = _CLOSING_WORD.match(self._data, end)
        if closing is None:
            return end
        self._here_documents.append((closing[1] or closing[2] or closing[3], tabs))
        self._blank(start, closing.end())
        return closing.end()

    def _skip_here_documents(self, start: int) -> int:
        at = start
        for word, tabs in self._here_documents:
            while at < len(self._data):
                newline = self._data.find(b"\n", at)
                end = newline + 1 if newline >= 0 else len(self._data)
                line = self._data[at:end].rstrip(b"\r\n")
                self._blank(at, at + len(line))
                at = end
                if (line.lstrip(b"\t") if tabs else line) == word:
                    break
        self._here_documents.clear()
        return at

    def _blank(self, start: int, end: int) -> None:
        self._result[start:end] = b" " * (end - start)


def _bind(node: Node, _source: SourceText) -> Iterable[BoundName]:
    name = child(node, "name")
    return [BoundName(name, node.end_byte, defines=node)] if name is not None and name.type == "variable_name" else []


def _imports(node: Node, source: SourceText) -> Iterable[ImportedName]:
    named = first_child_of(node, "word", "string", "raw_string", "concatenation", "simple_expansion")
    path = source.text(named).strip("\"'")
    return [ImportedName(path, "*")] if path else []


def _no_result(_definition: SyntaxDefinition, _expression: str) -> str:
    """A shell function returns a status, not a value."""
    return ""


def _count_arguments(node: Node) -> int:
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
        call_result=_no_result,
        count_arguments=_count_arguments,
        pseudo_calls=_BUILT_IN | {UNKNOWN_ROOT},
        simplify=_simplify,
    ),
)
