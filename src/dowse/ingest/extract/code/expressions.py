"""Scopes and expressions: what a name is bound to, as text that the resolver reads later."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import SourceText, argument_value, child
from dowse.text.receiver_expressions import (
    ANY_KEY,
    CALL_RESULT_KEY,
    DICT_KEY_PREFIX,
    SPREAD,
    UNKNOWN_KEY_STEP,
    UNKNOWN_ROOT,
    escape_name,
    format_literal,
    parse_entries,
    unescape_name,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import Language, MappingCall, NodeShape, SyntaxDefinition

# --------------------------------------------------------------------------------------------------
# Scopes of local names: which bindings of a name are visible at a position.

MAX_OFFSET: Final = sys.maxsize
MAX_EXPRESSION_ALTERNATIVES: Final = 4
_MAX_BINDINGS_SEARCHED: Final = 32  # bindings of one name: a name bound this often says little


class Binding:
    """A value bound to a name at byte `at`, in a branch ending at `end`. `value_expression` is computed on demand."""

    __slots__ = ("at", "end", "key", "narrows", "step", "type", "value", "value_expression")

    def __init__(
        self,
        at: int,
        end: int,
        type_text: str = "",
        value: Node | None = None,
        step: str = "",
        value_expression: str = "",
        narrows: bool = False,
        key: str = "",
    ) -> None:
        self.at = at
        self.end = end
        self.type = type_text
        self.value = value
        self.step = step
        self.value_expression = value_expression
        self.narrows = narrows
        self.key = key  # of the element assigned; the name keeps its other elements


class NameScope:
    """The names of one function, lambda or comprehension. One that `runs_later` sees every binding of its enclosing
    scopes."""

    __slots__ = ("names", "parent", "runs_later")

    def __init__(self, parent: NameScope | None, runs_later: bool) -> None:
        self.parent = parent
        self.runs_later = runs_later
        self.names: dict[str, list[Binding]] = {}

    def bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)


def visible_bindings(name: str, scope: NameScope | None, at: int) -> tuple[list[Binding], NameScope | None]:
    """Return the bindings of a name visible at byte `at`, latest first, and their scope; none if not a local."""
    while scope is not None:
        bindings = scope.names.get(name)
        reaching = _reaching_bindings(bindings, at) if bindings else None
        if reaching:
            return reaching, scope
        if scope.runs_later:
            at = MAX_OFFSET
        scope = scope.parent
    return [], None


def is_local(name: str, scope: NameScope | None) -> bool:
    """Check whether an enclosing function has bound the name so far."""
    while scope is not None and name not in scope.names:
        scope = scope.parent
    return scope is not None


def _reaching_bindings(bindings: list[Binding], at: int) -> list[Binding]:
    """Return the bindings from `at` back to the first unconditional one; if none precede, those that follow."""
    if len(bindings) == 1 and not bindings[0].narrows and not bindings[0].key:
        return bindings
    before = bisect_right(bindings, at, key=lambda binding: binding.at)
    visible: list[Binding] = []
    for binding in bindings[max(0, before - _MAX_BINDINGS_SEARCHED) : before][::-1]:
        if binding.narrows and binding.end <= at:
            continue
        visible.append(binding)
        if (binding.end > at and not binding.key) or len(visible) == MAX_EXPRESSION_ALTERNATIVES:
            return visible
    return (
        visible
        or [binding for binding in bindings[:_MAX_BINDINGS_SEARCHED] if not binding.narrows][
            :MAX_EXPRESSION_ALTERNATIVES
        ]
    )


MAX_EXPRESSION_STEPS: Final = 24
MAX_EXPRESSION_CHARS: Final = 300
_MAX_DEPTH: Final = 12  # of locals bound to other locals
_DOTTED_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_TYPED_OBJECT = re.compile(r":([^;]+);|([A-Z][\w.]*)\(\)")  # an object whose type is known by name
_LITERAL_KEY = re.compile(r"[\w./ -]{1,40}")
_UNCALLABLE_TYPES = frozenset({":str;", ":int;", ":float;", ":bool;"})
_MAX_ELEMENTS: Final = 16
_EMPTY_COLLECTIONS = (":dict[?", ":list[?")
_TYPE_ARGUMENTS = re.compile(r"[<\[][\w,<>]{1,60}[>\]]")

# `{*=X}` is a sequence of X, used only until the same function takes an element out of it.
_SEQUENCE_PREFIX = "{*="
_SAME_ELEMENT_METHODS = (
    "Where|OrderBy|OrderByDescending|ThenBy|ThenByDescending|Skip|SkipWhile|Take|TakeWhile|Distinct|Reverse|ToList"
    "|ToArray|AsEnumerable|ToHashSet|toList|filter|sorted|distinct|limit|skip|stream|iter|into_iter|iter_mut|collect"
    "|rev|take|reverse|slice|sort|cloned|copied|peekable"
)
_ELEMENT_METHODS = (
    "First|FirstOrDefault|Last|LastOrDefault|Single|SingleOrDefault|ElementAt|ElementAtOrDefault|Find|findFirst|findAny"
    "|find|next|last|first|at|pop|shift|nth"
)
_UNWRAP_METHODS = "unwrap|expect|get|orElse|orElseThrow|orElseGet|unwrap_or_default"
_ELEMENT_ACCESS = re.compile(
    rf"(?:\.(?:{_SAME_ELEMENT_METHODS})\(\))*(?:\[\w*\]|\.(?:{_ELEMENT_METHODS})\(\)(?:\[\]|\.(?:{_UNWRAP_METHODS})\(\))?)"
)
_SAME_ELEMENT_STEPS = re.compile(rf"(?:\.(?:{_SAME_ELEMENT_METHODS})\(\))+")


def join_alternatives(expressions: Iterable[str]) -> str:
    """Combine the alternatives of all expressions, each once; unknown ones only if there are no others."""
    alternatives: dict[str, None] = {}
    for expression in expressions:
        alternatives.update(dict.fromkeys(expression.split("|") if "|" in expression else (expression,)))
    known = [alternative for alternative in alternatives if alternative and not alternative.startswith(UNKNOWN_ROOT)]
    return "|".join(known[:MAX_EXPRESSION_ALTERNATIVES]) or next(iter(alternatives), "") or UNKNOWN_ROOT


def append_steps(expression: str, steps: str) -> str:
    """Append the steps to every alternative of the expression."""
    if not steps:
        return expression
    if "|" not in expression:
        return expression + steps
    return "|".join(alternative + steps for alternative in expression.split("|"))


def take_elements(expression: str) -> str:
    """Replace an element access to a sequence of X by X."""
    return "|".join(map(_take_element, expression.split("|"))) if _SEQUENCE_PREFIX in expression else expression


def _take_element(alternative: str) -> str:
    inner, closing, rest = alternative.removeprefix(_SEQUENCE_PREFIX).partition("}")
    if not alternative.startswith(_SEQUENCE_PREFIX) or not closing:
        return alternative
    steps = _ELEMENT_ACCESS.match(rest)
    if steps is None:
        return f"{_SEQUENCE_PREFIX}{inner}}}{_SAME_ELEMENT_STEPS.sub('', rest, count=1)}"
    return "|".join(part + rest[steps.end() :] for part in inner.split("&*="))


def _merge_literals(literals: list[str]) -> str:
    """Merge a literal collection with the elements assigned later, which override the earlier ones."""
    literals = [literal for literal in literals if not literal.startswith(_EMPTY_COLLECTIONS)]
    if not all(literal.startswith("{") and literal.endswith("}") and "|" not in literal for literal in literals):
        return join_alternatives(literals)
    by_key: dict[str, list[str]] = {}
    for literal in literals:
        pairs = parse_entries(literal)
        assigned = {key: [alternative for other, alternative in pairs if other == key] for key, _ in pairs}
        by_key |= {
            key: [*by_key.get(key, ()), *values] if ANY_KEY in key else values for key, values in assigned.items()
        }
    return format_literal((key, alternative) for key, values in by_key.items() for alternative in values)


class ExpressionTranslator:
    """Translates the nodes of one file."""

    def __init__(self, language: Language, source: SourceText) -> None:
        self._shapes = language.shapes
        self._instance_of = language.instance_of
        self._normalize = language.normalize
        self._call_result = language.call_result
        self._mapping_call = language.mapping_call
        self._sequence_type = language.sequence_type
        self._name_pattern = language.name_pattern
        self._followed_nodes = language.followed_nodes
        self._is_function_type = language.is_function_type
        self._source = source

    def is_function_type(self, type_text: str) -> bool:
        """Check for a declared function type; always false in languages with optional types."""
        return self._is_function_type is not None and bool(type_text) and self._is_function_type(type_text)

    def translate_followed(self, node: Node, scope: NameScope | None, depth: int = 0) -> str:
        """Return the expression of a value that may be called or have methods called on it; otherwise nothing."""
        if self._followed_nodes is None or node.type not in self._followed_nodes:
            return ""
        if node.type == "identifier":  # the most frequent case
            value = self._look_up(self._source.text(node), scope, node.start_byte, depth)
        else:
            value = self.translate(node, scope, depth)
        if self._is_function_type is not None:
            value = "|".join(
                alternative for alternative in value.split("|") if alternative[0] != ":" or alternative[-1] != ";"
            )
        return "" if value.startswith(UNKNOWN_ROOT) or value in _UNCALLABLE_TYPES else value

    def translate(self, node: Node, scope: NameScope | None, depth: int = 0) -> str:
        return self._assemble(*self._walk(node, "", scope, depth))

    def callee(self, node: Node, shape: NodeShape, scope: NameScope | None) -> str:
        """Return what a call calls: its own expression without the last step."""
        type_arguments = self._type_arguments(node, shape) if shape.type_arguments else ""
        if not shape.member:
            base_node = child(node, shape.base)
            dotted = self._read_dotted(base_node, type_arguments, scope, 0) if base_node is not None else None
            if dotted is not None:
                return self._replace_sequences(self._assemble(*dotted))
        return self._replace_sequences(self._assemble(*self._walk_base(node, shape, type_arguments, scope, 0)))

    def _replace_sequences(self, callee: str) -> str:
        """Replace sequences by their library type, whose methods the call uses."""
        if _SEQUENCE_PREFIX not in callee:
            return callee
        return "|".join(
            f"{self._sequence_type}{alternative.partition('}')[2]}"
            if alternative.startswith(_SEQUENCE_PREFIX)
            else alternative
            for alternative in callee.split("|")
        )

    def _type_arguments(self, node: Node, shape: NodeShape) -> str:
        """Return the explicit type arguments of a call: `<Cat>`."""
        types_node = child(node, shape.type_arguments)
        if types_node is None or types_node.end_byte - types_node.start_byte > MAX_EXPRESSION_CHARS:
            return ""
        text = "".join(self._source.text(types_node).split())
        if shape.step == "[]":
            is_called = node.parent is not None and node.parent.type == "call_expression"
            return f"<{text}>" if is_called and text[:1].isupper() and text.isidentifier() else ""
        return f"<{text[1:-1]}>" if _TYPE_ARGUMENTS.fullmatch(text) else ""

    def instance_of(self, type_text: str) -> str:
        """Return an instance of a declared type; nothing if the type is too long to be useful."""
        return self._instance_of(type_text) if 0 < len(type_text) <= MAX_EXPRESSION_CHARS else ""

    def call_result(self, definition: SyntaxDefinition, values: Iterable[Node], scope: NameScope | None) -> str:
        """Return the result of calling a function that returns any of `values`."""
        return self._call_result(definition, join_alternatives(self.translate(value, scope) for value in values))

    def binding_value(self, binding: Binding, scope: NameScope | None, depth: int = 0) -> str:
        """Return the value of a binding, computed once."""
        if not binding.value_expression:
            binding.value_expression = self._evaluate_binding(binding, scope, depth)
        return binding.value_expression

    def _evaluate_binding(self, binding: Binding, scope: NameScope | None, depth: int) -> str:
        typed = self.instance_of(binding.type)
        if typed and binding.value is not None and depth <= _MAX_DEPTH and self.is_function_type(binding.type):
            return join_alternatives(
                [typed, append_steps(self.translate(binding.value, scope, depth + 1), binding.step)]
            )
        if typed or binding.value is None or depth > _MAX_DEPTH:
            return typed or UNKNOWN_ROOT
        if binding.key:
            value = self.translate_followed(binding.value, scope, depth + 1)
            if binding.key == SPREAD:
                return value if value.startswith("{") else UNKNOWN_ROOT
            return format_literal([(binding.key, value)]) if value else UNKNOWN_ROOT
        return take_elements(append_steps(self.translate(binding.value, scope, depth + 1), binding.step))

    def _assemble(self, root: str, steps: str) -> str:
        """Return the whole expression; only its last name if the root is unknown or the text too long."""
        expression = self._normalize(take_elements(append_steps(root, steps)))
        if root.startswith(UNKNOWN_ROOT) or len(expression) > MAX_EXPRESSION_CHARS:
            return UNKNOWN_ROOT + steps[steps.rfind(".") :] if "." in steps else UNKNOWN_ROOT
        return expression

    def _walk(self, node: Node, steps: str, scope: NameScope | None, depth: int) -> tuple[str, str]:
        """Walk down the chain `a.b().c` to its root and collect the steps; overlong chains have an unknown root."""
        for _ in range(MAX_EXPRESSION_STEPS):
            shape = self._shapes.get(node.type)
            if shape is None:
                return UNKNOWN_ROOT, steps
            if not shape.base:
                return self._translate_root(node, shape, scope, depth), steps
            dotted = self._read_dotted(node, steps, scope, depth) if shape.member and not shape.step else None
            if dotted is not None:
                return dotted
            if self._mapping_call is not None and shape.step == "()":
                sequence = self._translate_mapping(self._mapping_call(node, self._source), scope, depth)
                if sequence:
                    return sequence, steps
            step = self._element_step(child(node, shape.key), scope) if shape.key else shape.step
            types = self._type_arguments(node, shape) if shape.type_arguments else ""
            # `Make[Cat]` with a type inside is a generic call, not an element of Make.
            steps = self._prepend_member(node, shape, (types if types and shape.step == "[]" else types + step) + steps)
            base_node = child(node, shape.base)
            if base_node is None:
                return self._resolve_bare_member(shape, steps, scope, node.start_byte, depth)
            node = base_node
        return UNKNOWN_ROOT, steps

    def _translate_mapping(self, mapping: MappingCall | None, scope: NameScope | None, depth: int) -> str:
        """Return the sequence made by mapping each element of another; nothing if that is unknown."""
        if mapping is None or depth > _MAX_DEPTH:
            return ""
        element = take_elements(append_steps(self.translate(mapping.receiver, scope, depth + 1), "[]"))
        if element.startswith(UNKNOWN_ROOT):
            return ""
        if mapping.body is None:
            mapped = append_steps(element, f".{mapping.member}()")
        else:
            inner = NameScope(scope, runs_later=False)
            inner.bind(mapping.parameter, Binding(0, MAX_OFFSET, value_expression=element))
            mapped = self.translate(mapping.body, inner, depth + 1)
        mapped = take_elements(append_steps(mapped, "[]")) if mapping.is_flat else mapped
        is_known = not mapped.startswith(UNKNOWN_ROOT) and "{" not in mapped and len(mapped) <= MAX_EXPRESSION_CHARS
        return f"{_SEQUENCE_PREFIX}{mapped.replace('|', '&*=')}}}" if is_known else ""

    def _element_step(self, key: Node | None, scope: NameScope | None) -> str:
        """Return the step to an element: by a literal number or string, or by an unknown key."""
        if key is not None and key.type == "identifier":
            bindings, _ = visible_bindings(self._source.text(key), scope, key.start_byte)
            key = bindings[0].value if len(bindings) == 1 and not bindings[0].step else None
        if key is not None and key.type == "slice":
            start = self._source.text(key).partition(":")[0].strip()
            return f"[{start}:]" if start.isdigit() or not start else UNKNOWN_KEY_STEP
        known = self.literal_key(key)
        return f"[{known}]" if known else UNKNOWN_KEY_STEP

    def literal_key(self, key: Node | None) -> str:
        """Return a number or string as a key; nothing for other nodes, or if it contains syntax of expressions."""
        if key is None or key.type not in ("integer", "string"):
            return ""
        text = self._source.text(key).strip("\"'")
        return text if _LITERAL_KEY.fullmatch(text) else ""

    def _walk_base(
        self, node: Node, shape: NodeShape, steps: str, scope: NameScope | None, depth: int
    ) -> tuple[str, str]:
        steps = self._prepend_member(node, shape, steps)
        base_node = child(node, shape.base)
        if base_node is None:
            return self._resolve_bare_member(shape, steps, scope, node.start_byte, depth)
        return self._walk(base_node, steps, scope, depth)

    def _prepend_member(self, node: Node, shape: NodeShape, steps: str) -> str:
        return f".{self._member_name(node, shape)}{steps}" if shape.member else steps

    def _resolve_bare_member(
        self, shape: NodeShape, steps: str, scope: NameScope | None, at: int, depth: int
    ) -> tuple[str, str]:
        """Resolve a member named without its object: its name becomes the root."""
        if not shape.member:
            return UNKNOWN_ROOT, steps
        name = unescape_name(steps[1:]) if "!!" in steps else steps[1:]
        match = self._name_pattern.match(name)
        if match is None:
            return UNKNOWN_ROOT, steps
        left = steps[1 + len(escape_name(match[0])) :]
        return (match[0] if shape.never_local else self._look_up(match[0], scope, at, depth)), left

    def _read_dotted(self, node: Node, steps: str, scope: NameScope | None, depth: int) -> tuple[str, str] | None:
        """Read plain `a.b.c`, by far the most frequent case, from the text instead of node by node."""
        text = self._source.text(node) if node.end_byte - node.start_byte <= MAX_EXPRESSION_CHARS else ""
        if _DOTTED_NAME.fullmatch(text) is None:
            return None
        root, dot, rest = text.partition(".")
        return self._look_up(root, scope, node.start_byte, depth), dot + rest + steps

    def _member_name(self, node: Node, shape: NodeShape) -> str:
        """Return the name of a member without type arguments."""
        name = self._name_pattern.match(self._source.text(child(node, shape.member)).lstrip("."))
        return escape_name(name[0]) if name else UNKNOWN_ROOT

    def _translate_root(self, node: Node, shape: NodeShape, scope: NameScope | None, depth: int) -> str:
        if shape.is_name:
            return self._look_up(self._source.text(node), scope, node.start_byte, depth)
        if shape.type:
            return self.instance_of(self._source.text(child(node, shape.type))) or UNKNOWN_ROOT
        if shape.alternatives:
            return self._translate_alternatives(node, shape, scope, depth)
        if shape.translate is not None:
            expression = shape.translate(node, self._source) or UNKNOWN_ROOT
            if not expression.startswith("@"):
                return expression
            name, dot, rest = expression[1:].partition(".")
            return append_steps(self._look_up(name, scope, node.start_byte, depth), dot + rest)
        if shape.element:
            return self._translate_collection(node, shape, scope, depth)
        return shape.root

    def _translate_collection(self, node: Node, shape: NodeShape, scope: NameScope | None, depth: int) -> str:
        """Return a literal's elements one by one; if they are alike, a collection of the first one's type: `[Foo()]` is
        a list of Foo."""
        if shape.is_literal and depth <= _MAX_DEPTH:
            pairs = list(self._element_pairs(node, shape, scope, depth + 1))
            value = format_literal(pairs) if pairs else ""
            alike = (
                not shape.step
                and len({alternative for _, alternative in pairs}) == 1
                and _TYPED_OBJECT.fullmatch(pairs[0][1]) is not None
            )
            if value and not alike and len(value) <= MAX_EXPRESSION_CHARS:
                return value
        element = child(node, shape.element)
        value = self.translate(element, scope, depth + 1) if element is not None and depth <= _MAX_DEPTH else ""
        kind = _TYPED_OBJECT.fullmatch(value)
        return shape.root.format((kind[1] or kind[2]) if kind else UNKNOWN_ROOT)

    def _element_pairs(
        self, node: Node, shape: NodeShape, scope: NameScope | None, depth: int
    ) -> Iterator[tuple[str, str]]:
        """Yield the elements worth following, with their keys."""
        if shape.step == CALL_RESULT_KEY:
            yield CALL_RESULT_KEY, self._lambda_result(node, scope, depth)
            return
        if shape.element != "0" or node.type == "yield":
            body = child(node, shape.element)
            expression = self._generated_value(node, body, scope, depth) if body is not None else ""
            if expression:
                yield ANY_KEY, expression
            return
        parts = [each for each in node.named_children[:_MAX_ELEMENTS] if not each.is_extra]
        for number, each in enumerate(parts):
            value = child(each, "value") if each.type == "pair" else argument_value(each)
            expression = self.translate_followed(value, scope, depth) if value is not None else ""
            if expression and each.type == "pair":
                yield DICT_KEY_PREFIX + (self.literal_key(child(each, "key")) or ANY_KEY), expression
            elif expression:
                yield str(number), expression

    def _generated_value(self, node: Node, body: Node, scope: NameScope | None, depth: int) -> str:
        """Return what a generator yields; `x for x in y` yields elements of y, because x is unknown outside."""
        if node.type == "yield":
            return self.translate_followed(body, scope, depth)
        clause = next((each for each in node.named_children if each.type == "for_in_clause"), None)
        target, value = (child(clause, "left"), child(clause, "right")) if clause is not None else (None, None)
        if target is None or value is None or self._source.text(target) != self._source.text(body):
            return ""
        iterated = self.translate_followed(value, scope, depth)
        return append_steps(iterated, "[]") if iterated else ""

    def _lambda_result(self, node: Node, scope: NameScope | None, depth: int) -> str:
        """Return what calling a lambda returns, unless that starts with one of its parameters."""
        parameters, body = child(node, "parameters"), child(node, "body")
        if body is None:
            return UNKNOWN_ROOT
        names = re.findall(r"\w+", self._source.text(parameters))
        root = self._name_pattern.match(self._source.text(body))
        if root is not None and root[0] in names:
            return UNKNOWN_ROOT
        return self.translate_followed(body, scope, depth) or UNKNOWN_ROOT

    def _translate_alternatives(self, node: Node, shape: NodeShape, scope: NameScope | None, depth: int) -> str:
        if depth > _MAX_DEPTH:
            return UNKNOWN_ROOT
        parts = [child(node, name) for name in shape.alternatives]
        return join_alternatives(self.translate(part, scope, depth + 4) for part in parts if part is not None)

    def _look_up(self, name: str, scope: NameScope | None, at: int, depth: int) -> str:
        bindings, home_scope = visible_bindings(name, scope, at)
        if home_scope is None:
            return name if name.isidentifier() else self._plain_name(name)
        if depth > _MAX_DEPTH:
            return UNKNOWN_ROOT
        if len(bindings) == 1:
            return self.binding_value(bindings[0], home_scope, depth)
        values = [self.binding_value(binding, home_scope, depth) for binding in reversed(bindings)]
        if any(binding.key for binding in bindings):
            values = [_merge_literals(values)]
        return join_alternatives(values)

    def _plain_name(self, name: str) -> str:
        match = self._name_pattern.match(name)
        return escape_name(match[0].removeprefix("@")) if match else UNKNOWN_ROOT
