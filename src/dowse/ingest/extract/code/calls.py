"""Sites become calls: what is called, without any local name, and the name it is found by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.expressions import Expressions
from dowse.ingest.extract.code.references import dotted
from dowse.ingest.extract.code.source import Source, child, first_of
from dowse.model import Call
from dowse.text.expressions import UNKNOWN, as_written

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.drafts import Site
    from dowse.ingest.extract.code.language import Imported, Language

_LAST_WORD = re.compile(r"\w+(?=\W*$)")
_FROM_ARGUMENT_TO_CALL: Final = 3
_MAX_NAME_CHARS: Final = 200
DEFAULT: Final = "default"  # the member of a module that has no name outside of it


class Calls:
    """Reads the sites of one file. `imported` is what its imports are called here."""

    def __init__(
        self,
        language: Language,
        source: Source,
        expressions: Expressions,
        imported: Mapping[str, Imported],
    ) -> None:
        self._expressions = expressions
        self._shapes = language.shapes
        self._invoked = language.invoked
        self._count = language.arguments
        self._no_calls = language.no_calls
        self._source = source
        self._imported = imported

    def read(self, sites: Iterable[Site]) -> tuple[Call, ...]:
        return tuple(call for site in sites for call in self._of(site))

    def _of(self, site: Site) -> Iterator[Call]:
        if site.kind == "refer":
            yield from self._referred(site)
            return
        callee = self._callee(site)
        if callee in self._no_calls and site.kind == "call":
            return
        arguments, line = self._arguments(site.node), site.node.start_point[0] + 1
        for name, ways in self._by_name(callee, site):
            yield Call(name, ways, line, site.draft, arguments, site.kind)

    def _callee(self, site: Site) -> str:
        shape = self._shapes.get(site.node.type)
        if shape is not None and shape.step == "()":
            return self._expressions.callee(site.node, shape, site.scope)
        return self._expressions.of(site.node, site.scope)

    def _arguments(self, node: Node) -> int:
        if self._count is not None:
            return self._count(node)
        arguments = node.child_by_field_name("arguments")
        if arguments is None:
            arguments = node if node.type == "argument_list" else first_of(node, "argument_list")
        if arguments is None:
            return 0
        if not arguments.type.endswith("s") and not arguments.type.endswith("list"):
            return 1  # such as a lone generator expression
        count = arguments.named_child_count
        return count and count - self._comments(arguments)

    def _comments(self, arguments: Node) -> int:
        """How many of the children are comments; a line that has no `/*` can not hold any."""
        start, end = arguments.byte_range
        within = self._source.data[start:end]
        if b"\n" not in within and b"/*" not in within:
            return 0
        return sum(each.is_extra for each in arguments.named_children)

    def _by_name(self, callee: str, site: Site) -> Iterable[tuple[str, str]]:
        """A local may hold one thing or another: each name is a call of its own."""
        if "|" not in callee:
            return ((self._name(callee, site), callee),)
        named: dict[str, list[str]] = {}
        for way in callee.split("|"):
            named.setdefault(self._name(way, site), []).append(way)
        return [(name, "|".join(ways)) for name, ways in named.items()]

    def _name(self, way: str, site: Site) -> str:
        if way.endswith("!!"):
            return as_written(way[way.rfind(".") + 1 :])
        if way[-1] in ")]!":
            return self._invoked or self._written(site.node)
        if way[-1] == ";":
            return _type_name(way) if site.kind == "new" else self._invoked or self._written(site.node)
        if "." in way:
            return way[way.rfind(".") + 1 :].partition("<")[0]
        if way == UNKNOWN:
            return self._written(site.node)
        name = way.partition("<")[0]
        it = self._imported.get(name)
        return it.member if it and it.member not in ("", DEFAULT) else name

    def _written(self, node: Node) -> str:
        """The last word of what is called, as it stands there."""
        called = (node.child(0) if node.child_count else None) or node
        text = self._source.data[max(called.start_byte, called.end_byte - _MAX_NAME_CHARS) : called.end_byte]
        word = _LAST_WORD.search(text.decode(errors="ignore"))
        return word[0] if word else UNKNOWN

    def _referred(self, site: Site) -> Iterator[Call]:
        """A name that is passed on counts if it is no local one."""
        text = dotted(self._source.of(site.node))
        callee = self._expressions.of(site.node, site.scope)
        is_as_written = as_written(callee) == text or callee == f"this.{text.partition('.')[2]}"
        if is_as_written and not self._goes_nowhere(site.node):
            yield Call(self._name(callee, site), callee, site.node.start_point[0] + 1, site.draft, 0, "refer")

    def _goes_nowhere(self, node: Node) -> bool:
        """Whether it is passed to what is no call, such as `nameof`."""
        around = node.parent
        for _ in range(_FROM_ARGUMENT_TO_CALL):
            if around is None or around.type in self._no_calls:
                return around is not None
            shape = self._shapes.get(around.type)
            if shape is not None and shape.step == "()":
                return self._source.of(child(around, shape.onto)) in self._no_calls
            around = around.parent
        return False


def _type_name(way: str) -> str:
    """`:a.b.Foo<T>;` is found as Foo."""
    bare = re.split(r"[<\[(]", way[1:-1], maxsplit=1)[0]
    word = _LAST_WORD.search(bare)
    return word[0] if word else UNKNOWN
