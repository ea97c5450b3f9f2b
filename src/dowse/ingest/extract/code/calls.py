"""Sites become calls: what is called, without any local name, and the name it is found by."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.expressions import MAX_CHARS, Expressions
from dowse.ingest.extract.code.references import dotted
from dowse.ingest.extract.code.source import Source, argument, child, first_of
from dowse.model import Call
from dowse.text.expressions import PARAMETER, UNKNOWN, as_written

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.drafts import Site
    from dowse.ingest.extract.code.language import Imported, Language
    from dowse.ingest.extract.code.scopes import Scope

_LAST_WORD = re.compile(r"\w+(?=\W*$)")
_FROM_ARGUMENT_TO_CALL: Final = 3
_MAX_NAME_CHARS: Final = 200
_IMPLIED: Final = {
    "iterate": (".__iter__", ".__iter__().__next__"),
    "enter": (".__enter__", ".__exit__"),
    "raise": (),
}
_FATES: Final = {
    "argument_list": "passed",
    "keyword_argument": "passed",
    "return_statement": "returned",
    "yield": "returned",
    "lambda": "returned",
    "argument": "passed",
    "arrow_expression_clause": "returned",
}
_SPREAD: Final = {"list_splat": "*", "dictionary_splat": "**"}
# What these are given they do not call, and most calls are calls of these.
_CALL_WHAT_THEY_GET: Final = frozenset({"map", "filter", "sorted", "min", "max", "iter"})
_TAKE_VALUES: Final = frozenset(dir(builtins)) - _CALL_WHAT_THEY_GET
_MODULES_THAT_CALL: Final = frozenset(
    {"functools", "itertools", "threading", "multiprocessing", "asyncio", "concurrent"}
)
_MODULES_THAT_DO_NOT: Final = sys.stdlib_module_names - _MODULES_THAT_CALL
_TELL_NOTHING: Final = (UNKNOWN, ":str;", ":string;")
_LIBRARY: Final = re.compile(
    r":|\$|(?:range|enumerate|zip|sorted|reversed|list|dict|set|tuple|map|filter|open|os|super)\b(?!\.\w+\.)"
)
DEFAULT: Final = "default"  # the member of a module that has no name outside of it


class Calls:
    """Reads the sites of one file. `imported` is what its imports are called here, `functions` what it defines."""

    def __init__(
        self,
        language: Language,
        source: Source,
        expressions: Expressions,
        imported: Mapping[str, Imported],
        functions: Collection[str] = (),
    ) -> None:
        self._expressions = expressions
        self._shapes = language.shapes
        self._invoked = language.invoked
        self._count = language.arguments
        self._no_calls = language.no_calls
        self._follows = language.follows is not None
        self._is_typed = language.is_function_type is not None
        self._source = source
        self._imported = imported
        self._functions = functions
        self._read_assigned = language.assigned

    def read(self, sites: Iterable[Site]) -> tuple[Call, ...]:
        return tuple(call for site in sites for call in self._of(site))

    def _of(self, site: Site) -> Iterator[Call]:
        if site.kind == "refer":
            yield from self._referred(site)
            return
        if site.kind == "assign":
            yield from self._assigned(site)
            return
        if site.kind in _IMPLIED:
            yield from self._implied(site)
            return
        callee = self._callee(site)
        if callee in self._no_calls and site.kind == "call":
            return
        arguments, line = self._arguments(site.node), site.node.start_point[0] + 1
        passed = self._passed(site.node, callee, site.scope) if self._follows else ""
        if site.kind == "decorate" and self._follows and not self._calls_nothing(callee):
            yield from self._decorated(site, callee, arguments, passed)
            return
        for name, ways in self._by_name(callee, site):
            yield Call(name, f"{ways}\t{passed}" if passed else ways, line, site.draft, arguments, site.kind)

    def _passed(self, node: Node, callee: str, scope: Scope | None) -> str:
        """The arguments that may be followed; of what is called on something unknown nobody can tell who gets them."""
        arguments = node.child_by_field_name("arguments") or first_of(node, "argument_list")
        if arguments is None or not arguments.named_child_count or self._calls_nothing(callee):
            return ""
        found: list[str] = []
        number = 0
        for each in arguments.named_children:
            key, value = str(number), each
            if each.type == "keyword_argument":
                name, given = each.child_by_field_name("name"), each.child_by_field_name("value")
                if given is None:
                    continue
                key, value = self._source.of(name), given
            elif each.type in _SPREAD:
                key, value = f"{_SPREAD[each.type]}{number}", each.named_child(0) or each
            elif each.is_extra:
                continue
            elif each.type == "argument" and each.child_by_field_name("name") is not None:
                key, value = self._source.of(each.child_by_field_name("name")), argument(each)
            else:
                value = argument(each)
                number += 1
            held = self._expressions.followed(value, scope)
            if held:
                found += [f"{key}={way}" for way in held.split("|")]
        passed = "&".join(found)
        return passed if len(passed) <= MAX_CHARS else ""

    def _calls_nothing(self, callee: str) -> bool:
        """Whether it is something of the language itself that does not call what is passed to it."""
        if callee.startswith(_TELL_NOTHING):
            return True
        if self._is_typed:
            return False
        if callee in _TAKE_VALUES:
            return True
        imported = self._imported.get(callee.partition(".")[0])
        return imported is not None and imported.module.partition(".")[0] in _MODULES_THAT_DO_NOT

    def _decorated(self, site: Site, callee: str, arguments: int, passed: str) -> Iterator[Call]:
        """A decorator with arguments is called, and then what it gives is, with the definition below it."""
        line = site.node.start_point[0] + 1
        below = f"0={self._below(site)}"
        is_call = site.node.type == "call"
        for name, ways in self._by_name(callee, site):
            given = passed if is_call else below
            yield Call(name, f"{ways}\t{given}" if given else ways, line, site.draft, arguments, site.kind)
        if is_call and not callee.startswith(UNKNOWN):
            again = "|".join(f"{way}()" for way in callee.split("|"))
            yield Call(self._invoked, f"{again}\t{below}", line, site.draft, 1, site.kind)

    def _below(self, site: Site) -> str:
        """What a decorator is given: the definition, or what the decorator below makes of it."""
        decorator = site.node.parent
        around = decorator.parent if decorator is not None else None
        if decorator is None or around is None:
            return UNKNOWN
        following = decorator.next_named_sibling
        while following is not None and following.is_extra:
            following = following.next_named_sibling
        if following is not None and following.type == "decorator":
            inner = following.named_child(0)
            return f"{self._expressions.of(inner, site.scope)}()".replace("|", "") if inner is not None else UNKNOWN
        return self._source.of(child(around.child_by_field_name("definition") or around, "name")) or UNKNOWN

    def _implied(self, site: Site) -> Iterator[Call]:
        """What `for`, `with` and `raise` call without saying so, where it is known what they stand on."""
        node = site.node
        if node.type == "as_pattern":
            node = node.named_child(0) or node
        line = site.node.start_point[0] + 1
        if site.kind == "raise":
            callee = self._expressions.of(node, site.scope)
            if callee == self._source.of(node):
                yield Call(self._name(callee, site), callee, line, site.draft, 0, site.kind)
            return
        onto = self._expressions.followed(node, site.scope)
        for way in onto.split("|") if onto else ():
            if _LIBRARY.match(way) is None:
                for member in _IMPLIED[site.kind]:
                    name = member.rpartition(".")[2]
                    yield Call(name, way + member, line, site.draft, 0, "implied")

    def _assigned(self, site: Site) -> Iterator[Call]:
        """A function that a field, a property or an event is given: one of this file, or a parameter."""
        it = self._read_assigned(site.node, self._source) if self._read_assigned is not None else None
        if it is None:
            return
        held = self._expressions.followed(it.value, site.scope)
        ways = [way for way in held.split("|") if way and (way[0] == PARAMETER or self._is_function(way))]
        onto = self._expressions.of(it.onto, site.scope) if it.onto is not None else ""
        target = f"{onto}.{self._source.of(it.target)}" if onto else self._expressions.of(it.target, site.scope)
        if not ways or "|" in target or target[0] in (UNKNOWN, PARAMETER) or target[-1] == ";":
            return  # nothing that is called, or what is given to a local
        passed = "&".join(f"0={way}" for way in ways)
        if len(passed) <= MAX_CHARS:
            line = site.node.start_point[0] + 1
            yield Call(target.rpartition(".")[2], f"{target}\t{passed}", line, site.draft, 0, site.kind)

    def _is_function(self, way: str) -> bool:
        return way.rpartition(".")[2] in self._functions

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
        if way[-1] in ")]!}":
            return self._invoked or self._written(site.node)
        if way[-1] == ";":
            return _type_name(way) if site.kind == "new" else self._invoked or self._written(site.node)
        if "." in way:
            return way[way.rfind(".") + 1 :].partition("<")[0]
        if way == UNKNOWN:
            return self._written(site.node)
        if way[0] == PARAMETER:
            return way[1:]
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
        if not is_as_written and self._follows:
            # A method of what a local holds: its name is the member's, whatever it is a member of.
            is_known = callee[0] not in (UNKNOWN, PARAMETER) and "|" not in callee
            is_as_written = is_known and site.node.type in ("attribute", "member_access_expression")
        if is_as_written and not self._goes_nowhere(site.node):
            around = site.node.parent
            fate = _FATES.get(around.type, "stored") if around is not None and self._follows else ""
            line = site.node.start_point[0] + 1
            yield Call(self._name(callee, site), f"{callee}\t{fate}" if fate else callee, line, site.draft, 0, "refer")

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
