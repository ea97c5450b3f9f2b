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
    name, body = source.of(child(node, "name")), child(node, "body")
    header = (node.start_byte, body.start_byte if body is not None else node.end_byte)
    return [Definition(name.rpartition(":")[2] or name, "function", node, header)] if name else []


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
    ),
)
