"""What a node stands for, written in the language of `dowse.text.expressions`, without any local name in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.scopes import EVERYWHERE, MOST_WAYS, Binding, Scope, bindings_seen
from dowse.ingest.extract.code.source import Source, argument, child
from dowse.text.expressions import (
    ANY_KEY,
    BY_KEY,
    CALLED,
    NO_KEY,
    SPREAD,
    UNKNOWN,
    as_name,
    as_written,
    bundle,
    entries,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import Definition, Language, Mapped, Shape

MAX_STEPS: Final = 24
MAX_CHARS: Final = 300
_MAX_DEPTH: Final = 12  # of locals that hold what other locals hold
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_OBJECT = re.compile(r":([^;]+);|([A-Z][\w.]*)\(\)")  # of a type that its name tells
_KEY = re.compile(r"[\w./ -]{1,40}")
_NOTHING_TO_CALL = frozenset({":str;", ":int;", ":float;", ":bool;"})
_MOST_ELEMENTS: Final = 16
_EMPTY = (":dict[?", ":list[?")
_TYPES = re.compile(r"[<\[][\w,<>]{1,60}[>\]]")

# A sequence of what a way gives is `{*=WAY}` for as long as it is taken apart in the same function.
_SEQUENCE = "{*="
_SAME_ELEMENTS = (
    "Where|OrderBy|OrderByDescending|ThenBy|ThenByDescending|Skip|SkipWhile|Take|TakeWhile|Distinct|Reverse|ToList"
    "|ToArray|AsEnumerable|ToHashSet|toList|filter|sorted|distinct|limit|skip|stream|iter|into_iter|iter_mut|collect"
    "|rev|take|reverse|slice|sort|cloned|copied|peekable"
)
_ONE_ELEMENT = (
    "First|FirstOrDefault|Last|LastOrDefault|Single|SingleOrDefault|ElementAt|ElementAtOrDefault|Find|findFirst|findAny"
    "|find|next|last|first|at|pop|shift|nth"
)
_OUT_OF_OPTIONAL = "unwrap|expect|get|orElse|orElseThrow|orElseGet|unwrap_or_default"
_TAKEN_APART = re.compile(
    rf"(?:\.(?:{_SAME_ELEMENTS})\(\))*(?:\[\w*\]|\.(?:{_ONE_ELEMENT})\(\)(?:\[\]|\.(?:{_OUT_OF_OPTIONAL})\(\))?)"
)
_THE_SAME = re.compile(rf"(?:\.(?:{_SAME_ELEMENTS})\(\))+")


def joined(expressions: Iterable[str]) -> str:
    """All their ways, each once; unknown ones only where no other is."""
    ways: dict[str, None] = {}
    for expression in expressions:
        ways.update(dict.fromkeys(expression.split("|") if "|" in expression else (expression,)))
    known = [way for way in ways if way and not way.startswith(UNKNOWN)]
    return "|".join(known[:MOST_WAYS]) or next(iter(ways), "") or UNKNOWN


def stepped(expression: str, steps: str) -> str:
    """The steps taken from every way of the expression."""
    if not steps:
        return expression
    if "|" not in expression:
        return expression + steps
    return "|".join(way + steps for way in expression.split("|"))


def taken_apart(expression: str) -> str:
    """What is an element of a sequence of something is that itself."""
    return "|".join(map(_one_taken_apart, expression.split("|"))) if _SEQUENCE in expression else expression


def _one_taken_apart(way: str) -> str:
    inner, closing, rest = way.removeprefix(_SEQUENCE).partition("}")
    if not way.startswith(_SEQUENCE) or not closing:
        return way
    steps = _TAKEN_APART.match(rest)
    if steps is None:
        return f"{_SEQUENCE}{inner}}}{_THE_SAME.sub('', rest, count=1)}"
    return "|".join(part + rest[steps.end() :] for part in inner.split("&*="))


def _merged(held: list[str]) -> str:
    """What is written out, with the elements that were given something since; later ones hide earlier ones."""
    held = [it for it in held if not it.startswith(_EMPTY)]
    if not all(it.startswith("{") and it.endswith("}") and "|" not in it for it in held):
        return joined(held)
    by_key: dict[str, list[str]] = {}
    for it in held:
        pairs = entries(it)
        given = {key: [way for other, way in pairs if other == key] for key, _ in pairs}
        by_key |= {key: [*by_key.get(key, ()), *them] if ANY_KEY in key else them for key, them in given.items()}
    return bundle((key, way) for key, them in by_key.items() for way in them)


class Expressions:
    """Reads nodes of one file."""

    def __init__(self, language: Language, source: Source) -> None:
        self._shapes = language.shapes
        self._held = language.held
        self._rewritten = language.rewritten
        self._returned = language.returned
        self._mapped = language.mapped
        self._sequence = language.sequence
        self._names = language.names
        self._follows = language.follows
        self._is_function_type = language.is_function_type
        self._source = source

    def is_function_type(self, type_text: str) -> bool:
        """Whether it is written to hold functions; never where types need not be written."""
        return self._is_function_type is not None and bool(type_text) and self._is_function_type(type_text)

    def followed(self, node: Node, scope: Scope | None, depth: int = 0) -> str:
        """What a value holds, if that may be something to call or to call methods of; else nothing."""
        if self._follows is None or node.type not in self._follows:
            return ""
        if node.type == "identifier":  # as most are
            held = self._look_up(self._source.of(node), scope, node.start_byte, depth)
        else:
            held = self.of(node, scope, depth)
        if self._is_function_type is not None:
            held = "|".join(way for way in held.split("|") if way[0] != ":" or way[-1] != ";")
        return "" if held.startswith(UNKNOWN) or held in _NOTHING_TO_CALL else held

    def of(self, node: Node, scope: Scope | None, depth: int = 0) -> str:
        return self._finished(*self._walk(node, "", scope, depth))

    def callee(self, node: Node, shape: Shape, scope: Scope | None) -> str:
        """What a call calls: its own expression without the last step."""
        written = self._types(node, shape) if shape.types else ""
        if not shape.member:
            below = child(node, shape.onto)
            dotted = self._dotted(below, written, scope, 0) if below is not None else None
            if dotted is not None:
                return self._called(self._finished(*dotted))
        return self._called(self._finished(*self._onward(node, shape, written, scope, 0)))

    def _called(self, callee: str) -> str:
        """What is called on a sequence is a library's."""
        if _SEQUENCE not in callee:
            return callee
        return "|".join(
            f"{self._sequence}{way.partition('}')[2]}" if way.startswith(_SEQUENCE) else way
            for way in callee.split("|")
        )

    def _types(self, node: Node, shape: Shape) -> str:
        """The types that are written for what is called: `<Cat>`."""
        written = child(node, shape.types)
        if written is None or written.end_byte - written.start_byte > MAX_CHARS:
            return ""
        text = "".join(self._source.of(written).split())
        if shape.step == "[]":
            is_called = node.parent is not None and node.parent.type == "call_expression"
            return f"<{text}>" if is_called and text[:1].isupper() and text.isidentifier() else ""
        return f"<{text[1:-1]}>" if _TYPES.fullmatch(text) else ""

    def written(self, type_text: str) -> str:
        """An object of a written type; nothing where it is too long to be of use."""
        return self._held(type_text) if 0 < len(type_text) <= MAX_CHARS else ""

    def returned(self, definition: Definition, values: Iterable[Node], scope: Scope | None) -> str:
        """What calling a function gives that returns any of these."""
        return self._returned(definition, joined(self.of(value, scope) for value in values))

    def bound(self, binding: Binding, scope: Scope | None, depth: int = 0) -> str:
        """What a binding gives its name, worked out once."""
        if not binding.holds:
            binding.holds = self._given(binding, scope, depth)
        return binding.holds

    def _given(self, binding: Binding, scope: Scope | None, depth: int) -> str:
        typed = self.written(binding.type)
        if typed and binding.value is not None and depth <= _MAX_DEPTH and self.is_function_type(binding.type):
            return joined([typed, stepped(self.of(binding.value, scope, depth + 1), binding.step)])
        if typed or binding.value is None or depth > _MAX_DEPTH:
            return typed or UNKNOWN
        if binding.key:
            held = self.followed(binding.value, scope, depth + 1)
            if binding.key == SPREAD:
                return held if held.startswith("{") else UNKNOWN
            return bundle([(binding.key, held)]) if held else UNKNOWN
        return taken_apart(stepped(self.of(binding.value, scope, depth + 1), binding.step))

    def _finished(self, root: str, steps: str) -> str:
        """The whole; of what stands on something unknown, or is too long, only the last name says anything."""
        expression = self._rewritten(taken_apart(stepped(root, steps)))
        if root.startswith(UNKNOWN) or len(expression) > MAX_CHARS:
            return UNKNOWN + steps[steps.rfind(".") :] if "." in steps else UNKNOWN
        return expression

    def _walk(self, node: Node, steps: str, scope: Scope | None, depth: int) -> tuple[str, str]:
        """Down the chain `a.b().c` to its root, gathering steps; what is too long ends in something unknown."""
        for _ in range(MAX_STEPS):
            shape = self._shapes.get(node.type)
            if shape is None:
                return UNKNOWN, steps
            if not shape.onto:
                return self._root(node, shape, scope, depth), steps
            dotted = self._dotted(node, steps, scope, depth) if shape.member and not shape.step else None
            if dotted is not None:
                return dotted
            if self._mapped is not None and shape.step == "()":
                sequence = self._made_of_another(self._mapped(node, self._source), scope, depth)
                if sequence:
                    return sequence, steps
            step = self._chosen(child(node, shape.key), scope) if shape.key else shape.step
            types = self._types(node, shape) if shape.types else ""
            # `Make[Cat]` is no element of Make where it is called and a type stands there.
            steps = self._above(node, shape, (types if types and shape.step == "[]" else types + step) + steps)
            below = child(node, shape.onto)
            if below is None:
                return self._standing_alone(shape, steps, scope, node.start_byte, depth)
            node = below
        return UNKNOWN, steps

    def _made_of_another(self, made: Mapped | None, scope: Scope | None, depth: int) -> str:
        """A sequence of what comes of each element of another; nothing where that can not be told."""
        if made is None or depth > _MAX_DEPTH:
            return ""
        element = taken_apart(stepped(self.of(made.receiver, scope, depth + 1), "[]"))
        if element.startswith(UNKNOWN):
            return ""
        if made.body is None:
            given = stepped(element, f".{made.member}()")
        else:
            inner = Scope(scope, runs_later=False)
            inner.bind(made.parameter, Binding(0, EVERYWHERE, holds=element))
            given = self.of(made.body, inner, depth + 1)
        given = taken_apart(stepped(given, "[]")) if made.many else given
        is_known = not given.startswith(UNKNOWN) and "{" not in given and len(given) <= MAX_CHARS
        return f"{_SEQUENCE}{given.replace('|', '&*=')}}}" if is_known else ""

    def _chosen(self, key: Node | None, scope: Scope | None) -> str:
        """The step to an element: by a number or a text that is written there, or by something unknown."""
        if key is not None and key.type == "identifier":
            seen, _ = bindings_seen(self._source.of(key), scope, key.start_byte)
            key = seen[0].value if len(seen) == 1 and not seen[0].step else None
        if key is not None and key.type == "slice":
            start = self._source.of(key).partition(":")[0].strip()
            return f"[{start}:]" if start.isdigit() or not start else NO_KEY
        known = self.constant(key)
        return f"[{known}]" if known else NO_KEY

    def constant(self, key: Node | None) -> str:
        """A number or a text as a key; nothing where it is neither, or has signs that expressions use."""
        if key is None or key.type not in ("integer", "string"):
            return ""
        text = self._source.of(key).strip("\"'")
        return text if _KEY.fullmatch(text) else ""

    def _onward(self, node: Node, shape: Shape, steps: str, scope: Scope | None, depth: int) -> tuple[str, str]:
        steps = self._above(node, shape, steps)
        below = child(node, shape.onto)
        if below is None:
            return self._standing_alone(shape, steps, scope, node.start_byte, depth)
        return self._walk(below, steps, scope, depth)

    def _above(self, node: Node, shape: Shape, steps: str) -> str:
        return f".{self._member(node, shape)}{steps}" if shape.member else steps

    def _standing_alone(self, shape: Shape, steps: str, scope: Scope | None, at: int, depth: int) -> tuple[str, str]:
        """Where a member may be named without what it is a member of, its name is the root."""
        if not shape.member:
            return UNKNOWN, steps
        name = as_written(steps[1:]) if "!!" in steps else steps[1:]
        found = self._names.match(name)
        if found is None:
            return UNKNOWN, steps
        left = steps[1 + len(as_name(found[0])) :]
        return (found[0] if shape.bare else self._look_up(found[0], scope, at, depth)), left

    def _dotted(self, node: Node, steps: str, scope: Scope | None, depth: int) -> tuple[str, str] | None:
        """Plain `a.b.c`, by far the most frequent, is read off the text instead of node by node."""
        text = self._source.of(node) if node.end_byte - node.start_byte <= MAX_CHARS else ""
        if _DOTTED.fullmatch(text) is None:
            return None
        root, dot, rest = text.partition(".")
        return self._look_up(root, scope, node.start_byte, depth), dot + rest + steps

    def _member(self, node: Node, shape: Shape) -> str:
        """The name of a member; its type arguments do not count."""
        name = self._names.match(self._source.of(child(node, shape.member)).lstrip("."))
        return as_name(name[0]) if name else UNKNOWN

    def _root(self, node: Node, shape: Shape, scope: Scope | None, depth: int) -> str:
        if shape.name:
            return self._look_up(self._source.of(node), scope, node.start_byte, depth)
        if shape.type:
            return self.written(self._source.of(child(node, shape.type))) or UNKNOWN
        if shape.either:
            return self._either(node, shape, scope, depth)
        if shape.read is not None:
            found = shape.read(node, self._source) or UNKNOWN
            if not found.startswith("@"):
                return found
            name, dot, rest = found[1:].partition(".")
            return stepped(self._look_up(name, scope, node.start_byte, depth), dot + rest)
        if shape.element:
            return self._collection(node, shape, scope, depth)
        return shape.root

    def _collection(self, node: Node, shape: Shape, scope: Scope | None, depth: int) -> str:
        """`[Foo()]` is a list of Foo, as far as its first element shows; other elements are told one by one."""
        if shape.written and depth <= _MAX_DEPTH:
            pairs = list(self._pairs(node, shape, scope, depth + 1))
            held = bundle(pairs) if pairs else ""
            alike = (
                not shape.step and len({way for _, way in pairs}) == 1 and _OBJECT.fullmatch(pairs[0][1]) is not None
            )
            if held and not alike and len(held) <= MAX_CHARS:
                return held
        element = child(node, shape.element)
        held = self.of(element, scope, depth + 1) if element is not None and depth <= _MAX_DEPTH else ""
        kind = _OBJECT.fullmatch(held)
        return shape.root.format((kind[1] or kind[2]) if kind else UNKNOWN)

    def _pairs(self, node: Node, shape: Shape, scope: Scope | None, depth: int) -> Iterator[tuple[str, str]]:
        """The elements that may be followed, by their keys."""
        if shape.step == CALLED:
            yield CALLED, self._body(node, scope, depth)
            return
        if shape.element != "0" or node.type == "yield":
            body = child(node, shape.element)
            held = self._from_clause(node, body, scope, depth) if body is not None else ""
            if held:
                yield ANY_KEY, held
            return
        parts = [each for each in node.named_children[:_MOST_ELEMENTS] if not each.is_extra]
        for number, each in enumerate(parts):
            value = child(each, "value") if each.type == "pair" else argument(each)
            held = self.followed(value, scope, depth) if value is not None else ""
            if held and each.type == "pair":
                yield BY_KEY + (self.constant(child(each, "key")) or ANY_KEY), held
            elif held:
                yield str(number), held

    def _from_clause(self, node: Node, body: Node, scope: Scope | None, depth: int) -> str:
        """What a generator gives: of `x for x in y` it is an element of y, for x is no name outside."""
        if node.type == "yield":
            return self.followed(body, scope, depth)
        clause = next((each for each in node.named_children if each.type == "for_in_clause"), None)
        target, value = (child(clause, "left"), child(clause, "right")) if clause is not None else (None, None)
        if target is None or value is None or self._source.of(target) != self._source.of(body):
            return ""
        held = self.followed(value, scope, depth)
        return stepped(held, "[]") if held else ""

    def _body(self, node: Node, scope: Scope | None, depth: int) -> str:
        """What calling a lambda gives, unless that begins with a parameter of it."""
        parameters, body = child(node, "parameters"), child(node, "body")
        if body is None:
            return UNKNOWN
        names = re.findall(r"\w+", self._source.of(parameters))
        root = self._names.match(self._source.of(body))
        if root is not None and root[0] in names:
            return UNKNOWN
        return self.followed(body, scope, depth) or UNKNOWN

    def _either(self, node: Node, shape: Shape, scope: Scope | None, depth: int) -> str:
        if depth > _MAX_DEPTH:
            return UNKNOWN
        parts = [child(node, name) for name in shape.either]
        return joined(self.of(part, scope, depth + 4) for part in parts if part is not None)

    def _look_up(self, name: str, scope: Scope | None, at: int, depth: int) -> str:
        seen, home = bindings_seen(name, scope, at)
        if home is None:
            return name if name.isidentifier() else self._plain(name)
        if depth > _MAX_DEPTH:
            return UNKNOWN
        if len(seen) == 1:
            return self.bound(seen[0], home, depth)
        held = [self.bound(binding, home, depth) for binding in reversed(seen)]
        if any(binding.key for binding in seen):
            held = [_merged(held)]
        return joined(held)

    def _plain(self, name: str) -> str:
        found = self._names.match(name)
        return as_name(found[0].removeprefix("@")) if found else UNKNOWN
