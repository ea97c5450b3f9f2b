"""Call sites and references of one file."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.expressions import MAX_EXPRESSION_CHARS, ExpressionTranslator
from dowse.ingest.extract.code.language import SourceText, argument_value, child, first_child_of
from dowse.model import Call
from dowse.text.receiver_expressions import PARAMETER, UNKNOWN_ROOT, unescape_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.expressions import NameScope
    from dowse.ingest.extract.code.language import ImportedName, Language
    from dowse.ingest.extract.code.syntax_pass import PendingCall

# --------------------------------------------------------------------------------------------------
# Choose which names used as values may be callable.


def keep_callable_references(
    captures: dict[str, list[Node]], imported: Collection[str], language: Language, source: SourceText
) -> dict[str, list[Node]]:
    """Drop the captured names that no definition or import of this file shows to be callable.

    Most arguments are plain values (five in six in Django), so they are dropped before any other work.
    """
    defined = {source.text(node.child_by_field_name("name")) for node in captures.get("define", ())}
    defined.update(source.text(node) for node in captures.get("named", ()))
    defined.discard("")
    name_types = frozenset(
        kind for kind, shape in language.shapes.items() if shape.is_name or (shape.member and not shape.step)
    )
    name_types |= {"scoped_identifier"}  # a path of Rust, which is read off its text
    by_type = language.is_function_type is not None
    callable_nodes = []
    for node in captures.get("refer", ()):
        for each in _name_nodes(node, name_types):
            root, _, rest = to_dotted(source.text(each)).partition(".")
            if (
                root in defined
                or root in imported
                or rest in defined
                or (by_type and _is_type_member(each, root, rest))
            ):
                callable_nodes.append(each)
    return {**captures, "refer": callable_nodes}


def _is_type_member(node: Node, root: str, rest: str) -> bool:
    """Check for an argument like `Texts.Trim`, which may be a method defined in another file."""
    is_argument = node.parent is not None and node.parent.type == "argument"
    return is_argument and root[:1].isupper() and rest[:1].isupper() and "." not in rest


def to_dotted(text: str) -> str:
    """Write `Type::member` with a dot, as other languages do."""
    return text.replace("::", ".") if "::" in text else text


def _name_nodes(node: Node, name_types: frozenset[str]) -> Iterator[Node]:
    """Yield the node, or its children that are names; `key=name` counts as one.

    Not done by queries: a pattern for any child of a list takes time quadratic in the nesting depth.
    """
    if node.type in name_types:
        yield node
        return
    for each in node.named_children:
        if each.type in name_types:
            yield each
        elif each.type == "keyword_argument":
            value = each.child_by_field_name("value")
            if value is not None and value.type in name_types:
                yield value


_LAST_WORD = re.compile(r"\w+(?=\W*$)")
_MAX_LEVELS_TO_CALL: Final = 3
_MAX_NAME_CHARS: Final = 200
_IMPLICIT_MEMBERS: Final = {
    "iterate": (".__iter__", ".__iter__().__next__"),
    "enter": (".__enter__", ".__exit__"),
    "raise": (),
}
_REFERENCE_USES: Final = {
    "argument_list": "passed",
    "keyword_argument": "passed",
    "return_statement": "returned",
    "yield": "returned",
    "lambda": "returned",
    "argument": "passed",
    "arrow_expression_clause": "returned",
}
_SPREAD_PREFIXES: Final = {"list_splat": "*", "dictionary_splat": "**"}
# The other builtins never call their arguments, and most calls are calls of builtins.
_HIGHER_ORDER_BUILTINS: Final = frozenset({"map", "filter", "sorted", "min", "max", "iter"})
_FIRST_ORDER_BUILTINS: Final = frozenset(dir(builtins)) - _HIGHER_ORDER_BUILTINS
_HIGHER_ORDER_MODULES: Final = frozenset(
    {"functools", "itertools", "threading", "multiprocessing", "asyncio", "concurrent"}
)
_FIRST_ORDER_MODULES: Final = sys.stdlib_module_names - _HIGHER_ORDER_MODULES
_UNINFORMATIVE_PREFIXES: Final = (UNKNOWN_ROOT, ":str;", ":string;")
_LIBRARY_VALUE: Final = re.compile(
    r":|\$|(?:range|enumerate|zip|sorted|reversed|list|dict|set|tuple|map|filter|open|os|super)\b(?!\.\w+\.)"
)
DEFAULT_EXPORT: Final = "default"  # name of a module's default export, unknown outside of the module


class CallReader:
    """Reads the call sites of one file; `imported` is by local name, `functions` are those the file defines."""

    def __init__(
        self,
        language: Language,
        source: SourceText,
        expressions: ExpressionTranslator,
        imported: Mapping[str, ImportedName],
        functions: Collection[str] = (),
    ) -> None:
        self._expressions = expressions
        self._shapes = language.shapes
        self._call_method = language.call_method
        self._argument_counter = language.count_arguments
        self._pseudo_calls = language.pseudo_calls
        self._follows_values = language.followed_nodes is not None
        self._has_function_types = language.is_function_type is not None
        self._source = source
        self._imported = imported
        self._functions = functions
        self._member_assignment = language.member_assignment

    def read(self, sites: Iterable[PendingCall]) -> tuple[Call, ...]:
        return tuple(call for site in sites for call in self._read_site(site))

    def _read_site(self, site: PendingCall) -> Iterator[Call]:
        if site.kind == "refer":
            yield from self._reference_calls(site)
            return
        if site.kind == "assign":
            yield from self._assignment_calls(site)
            return
        if site.kind in _IMPLICIT_MEMBERS:
            yield from self._implicit_calls(site)
            return
        callee = self._callee(site)
        if callee in self._pseudo_calls and site.kind == "call":
            return
        arguments, line = self._count_arguments(site.node), site.node.start_point[0] + 1
        passed = self._followed_arguments(site.node, callee, site.scope) if self._follows_values else ""
        if site.kind == "decorate" and self._follows_values and not self._never_calls_arguments(callee):
            yield from self._decorator_calls(site, callee, arguments, passed)
            return
        for name, alternatives in self._group_by_name(callee, site):
            yield Call(
                name, f"{alternatives}\t{passed}" if passed else alternatives, line, site.owner, arguments, site.kind
            )

    def _followed_arguments(self, node: Node, callee: str, scope: NameScope | None) -> str:
        """Return the arguments worth following; none if the callee is unknown, because its parameters are too."""
        arguments = node.child_by_field_name("arguments") or first_child_of(node, "argument_list")
        if arguments is None or not arguments.named_child_count or self._never_calls_arguments(callee):
            return ""
        pairs: list[str] = []
        number = 0
        for each in arguments.named_children:
            key, value = str(number), each
            if each.type == "keyword_argument":
                name, keyword_value = each.child_by_field_name("name"), each.child_by_field_name("value")
                if keyword_value is None:
                    continue
                key, value = self._source.text(name), keyword_value
            elif each.type in _SPREAD_PREFIXES:
                key, value = f"{_SPREAD_PREFIXES[each.type]}{number}", each.named_child(0) or each
            elif each.is_extra:
                continue
            elif each.type == "argument" and each.child_by_field_name("name") is not None:
                key, value = self._source.text(each.child_by_field_name("name")), argument_value(each)
            else:
                value = argument_value(each)
                number += 1
            value_expression = self._expressions.translate_followed(value, scope)
            if value_expression:
                pairs += [f"{key}={alternative}" for alternative in value_expression.split("|")]
        passed = "&".join(pairs)
        return passed if len(passed) <= MAX_EXPRESSION_CHARS else ""

    def _never_calls_arguments(self, callee: str) -> bool:
        """Check for an unknown callee, or a builtin or library function that never calls its arguments."""
        if callee.startswith(_UNINFORMATIVE_PREFIXES):
            return True
        if self._has_function_types:
            return False
        if callee in _FIRST_ORDER_BUILTINS:
            return True
        imported = self._imported.get(callee.partition(".")[0])
        return imported is not None and imported.module.partition(".")[0] in _FIRST_ORDER_MODULES

    def _decorator_calls(self, site: PendingCall, callee: str, arguments: int, passed: str) -> Iterator[Call]:
        """Yield the calls of a decorator. One with arguments is called first; its result is then called with the
        definition."""
        line = site.node.start_point[0] + 1
        definition = f"0={self._decorator_argument(site)}"
        is_call = site.node.type == "call"
        for name, alternatives in self._group_by_name(callee, site):
            arguments_text = passed if is_call else definition
            yield Call(
                name,
                f"{alternatives}\t{arguments_text}" if arguments_text else alternatives,
                line,
                site.owner,
                arguments,
                site.kind,
            )
        if is_call and not callee.startswith(UNKNOWN_ROOT):
            result = "|".join(f"{alternative}()" for alternative in callee.split("|"))
            yield Call(self._call_method, f"{result}\t{definition}", line, site.owner, 1, site.kind)

    def _decorator_argument(self, site: PendingCall) -> str:
        """Return a decorator's argument: the definition, or the result of the next decorator."""
        decorator = site.node.parent
        parent = decorator.parent if decorator is not None else None
        if decorator is None or parent is None:
            return UNKNOWN_ROOT
        following = decorator.next_named_sibling
        while following is not None and following.is_extra:
            following = following.next_named_sibling
        if following is not None and following.type == "decorator":
            inner = following.named_child(0)
            return (
                f"{self._expressions.translate(inner, site.scope)}()".replace("|", "")
                if inner is not None
                else UNKNOWN_ROOT
            )
        return self._source.text(child(parent.child_by_field_name("definition") or parent, "name")) or UNKNOWN_ROOT

    def _implicit_calls(self, site: PendingCall) -> Iterator[Call]:
        """Yield the implicit calls of `for`, `with` and `raise`, where their operand is known."""
        node = site.node
        if node.type == "as_pattern":
            node = node.named_child(0) or node
        line = site.node.start_point[0] + 1
        if site.kind == "raise":
            callee = self._expressions.translate(node, site.scope)
            if callee == self._source.text(node):
                yield Call(self._call_name(callee, site), callee, line, site.owner, 0, site.kind)
            return
        operand = self._expressions.translate_followed(node, site.scope)
        for alternative in operand.split("|") if operand else ():
            if _LIBRARY_VALUE.match(alternative) is None:
                for member in _IMPLICIT_MEMBERS[site.kind]:
                    name = member.rpartition(".")[2]
                    yield Call(name, alternative + member, line, site.owner, 0, "implied")

    def _assignment_calls(self, site: PendingCall) -> Iterator[Call]:
        """Yield the assignment of a function to a field, property or event; the function is one of this file or a
        parameter."""
        assignment = self._member_assignment(site.node, self._source) if self._member_assignment is not None else None
        if assignment is None:
            return
        value = self._expressions.translate_followed(assignment.value, site.scope)
        alternatives = [
            alternative
            for alternative in value.split("|")
            if alternative and (alternative[0] == PARAMETER or self._is_function(alternative))
        ]
        receiver = (
            self._expressions.translate(assignment.receiver, site.scope) if assignment.receiver is not None else ""
        )
        target = (
            f"{receiver}.{self._source.text(assignment.target)}"
            if receiver
            else self._expressions.translate(assignment.target, site.scope)
        )
        if not alternatives or "|" in target or target[0] in (UNKNOWN_ROOT, PARAMETER) or target[-1] == ";":
            return  # no function, or the target is a local
        passed = "&".join(f"0={alternative}" for alternative in alternatives)
        if len(passed) <= MAX_EXPRESSION_CHARS:
            line = site.node.start_point[0] + 1
            yield Call(target.rpartition(".")[2], f"{target}\t{passed}", line, site.owner, 0, site.kind)

    def _is_function(self, alternative: str) -> bool:
        return alternative.rpartition(".")[2] in self._functions

    def _callee(self, site: PendingCall) -> str:
        shape = self._shapes.get(site.node.type)
        if shape is not None and shape.step == "()":
            return self._expressions.callee(site.node, shape, site.scope)
        return self._expressions.translate(site.node, site.scope)

    def _count_arguments(self, node: Node) -> int:
        if self._argument_counter is not None:
            return self._argument_counter(node)
        arguments = node.child_by_field_name("arguments")
        if arguments is None:
            arguments = node if node.type == "argument_list" else first_child_of(node, "argument_list")
        if arguments is None:
            return 0
        if not arguments.type.endswith("s") and not arguments.type.endswith("list"):
            return 1  # a lone generator expression, for example
        count = arguments.named_child_count
        return count and count - self._count_comments(arguments)

    def _count_comments(self, arguments: Node) -> int:
        """Count the comments among the arguments; text without a newline or `/*` has none."""
        start, end = arguments.byte_range
        within = self._source.data[start:end]
        if b"\n" not in within and b"/*" not in within:
            return 0
        return sum(each.is_extra for each in arguments.named_children)

    def _group_by_name(self, callee: str, site: PendingCall) -> Iterable[tuple[str, str]]:
        """Group the alternatives of a callee by name; each name becomes its own call."""
        if "|" not in callee:
            return ((self._call_name(callee, site), callee),)
        by_name: dict[str, list[str]] = {}
        for alternative in callee.split("|"):
            by_name.setdefault(self._call_name(alternative, site), []).append(alternative)
        return [(name, "|".join(alternatives)) for name, alternatives in by_name.items()]

    def _call_name(self, alternative: str, site: PendingCall) -> str:
        if alternative.endswith("!!"):
            return unescape_name(alternative[alternative.rfind(".") + 1 :])
        if alternative[-1] in ")]!}":
            return self._call_method or self._last_word(site.node)
        if alternative[-1] == ";":
            return _type_name(alternative) if site.kind == "new" else self._call_method or self._last_word(site.node)
        if "." in alternative:
            return alternative[alternative.rfind(".") + 1 :].partition("<")[0]
        if alternative == UNKNOWN_ROOT:
            return self._last_word(site.node)
        if alternative[0] == PARAMETER:
            return alternative[1:]
        name = alternative.partition("<")[0]
        imported = self._imported.get(name)
        return imported.member if imported and imported.member not in ("", DEFAULT_EXPORT) else name

    def _last_word(self, node: Node) -> str:
        """Return the last word of the callee's source text."""
        callee = (node.child(0) if node.child_count else None) or node
        text = self._source.data[max(callee.start_byte, callee.end_byte - _MAX_NAME_CHARS) : callee.end_byte]
        word = _LAST_WORD.search(text.decode(errors="ignore"))
        return word[0] if word else UNKNOWN_ROOT

    def _reference_calls(self, site: PendingCall) -> Iterator[Call]:
        """Yield a reference to a callable that is used as a value, unless the name is a local."""
        text = to_dotted(self._source.text(site.node))
        callee = self._expressions.translate(site.node, site.scope)
        is_as_written = unescape_name(callee) == text or callee == f"this.{text.partition('.')[2]}"
        if not is_as_written and self._follows_values:
            # A method of an object held by a local is indexed by the member's name.
            is_known = callee[0] not in (UNKNOWN_ROOT, PARAMETER) and "|" not in callee
            is_as_written = is_known and site.node.type in ("attribute", "member_access_expression")
        if is_as_written and not self._is_pseudo_argument(site.node):
            parent = site.node.parent
            use = _REFERENCE_USES.get(parent.type, "stored") if parent is not None and self._follows_values else ""
            line = site.node.start_point[0] + 1
            yield Call(
                self._call_name(callee, site), f"{callee}\t{use}" if use else callee, line, site.owner, 0, "refer"
            )

    def _is_pseudo_argument(self, node: Node) -> bool:
        """Check whether the reference is an argument of a pseudo-call like `nameof`."""
        parent = node.parent
        for _ in range(_MAX_LEVELS_TO_CALL):
            if parent is None or parent.type in self._pseudo_calls:
                return parent is not None
            shape = self._shapes.get(parent.type)
            if shape is not None and shape.step == "()":
                return self._source.text(child(parent, shape.base)) in self._pseudo_calls
            parent = parent.parent
        return False


def _type_name(alternative: str) -> str:
    """Return the simple name of a type: `:a.b.Foo<T>;` is Foo."""
    bare = re.split(r"[<\[(]", alternative[1:-1], maxsplit=1)[0]
    word = _LAST_WORD.search(bare)
    return word[0] if word else UNKNOWN_ROOT


# --------------------------------------------------------------------------------------------------
# Unwrap declared types with nested type arguments.

_MAX_NESTING: Final = 8


def unwrap_type(type_text: str, wrapper: re.Pattern[str]) -> str:
    """Return group 1 of the wrapper pattern as long as it matches the whole text."""
    for _ in range(_MAX_NESTING):
        match = wrapper.fullmatch(type_text)
        if match is None:
            break
        type_text = match[1].strip()
    return type_text


def remove_nested(path: str, angles: re.Pattern[str]) -> str:
    """Return the path without blanks and nested type arguments; the pattern matches the innermost ones."""
    for _ in range(_MAX_NESTING):
        shorter = angles.sub("", path)
        if shorter == path:
            break
        path = shorter
    return "".join(path.split())
