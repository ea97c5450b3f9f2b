"""Names and types of PHP, with dots for backslashes: the form in which names of all languages are looked up."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.source import child, first_of
from dowse.text.expressions import instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_SAY_NOTHING = frozenset({"", "void", "never", "mixed", "null", "false", "array", "iterable", "callable", "object"})
_OWN = frozenset({"self", "static"})
_CLASSES = frozenset({"class_declaration", "trait_declaration", "enum_declaration", "interface_declaration"})


def dotted(name: str) -> str:
    """`\\A\\B` is A.B, as `namespace\\B` is B of the same namespace."""
    return name.strip().removeprefix("namespace\\").strip("\\").replace("\\", ".")


@lru_cache(maxsize=20_000)
def held(written: str) -> str:
    """`?Foo` holds a Foo, `Foo|Bar` either; arrays and the like say nothing about what is in them."""
    parts = [dotted(part.strip(" ()?")) for part in written.partition("&")[0].split("|")]
    said = [instance("self" if part in _OWN else part) for part in parts if part.lower() not in _SAY_NOTHING]
    return "|".join(dict.fromkeys(said))


def relative(node: Node, source: Source) -> str:
    return "super" if source.of(node) == "parent" else "this"


def property_of(node: Node, source: Source) -> str:
    """`Foo::$bar`, and `self::$bar`."""
    scope = child(node, "scope")
    if scope is None or scope.type not in ("name", "qualified_name", "relative_scope"):
        return ""
    owner = relative(scope, source) if scope.type == "relative_scope" else dotted(source.of(scope))
    return f"{owner}.{source.of(child(node, 'name')).lstrip('$')}"


def created(node: Node, source: Source) -> str:
    """What `new` makes: a class by its name, the one it stands in, or one without a name of some base."""
    named = child(node, "0")
    if named is not None and named.type == "anonymous_class":
        extended = first_of(named, "base_clause", "class_interface_clause")
        named = child(extended, "0") if extended is not None else None
    if named is None or named.type not in ("name", "qualified_name"):
        return ""
    written = source.of(named)
    return held(_class_around(node, source) if written in _OWN else written)


def _class_around(node: Node, source: Source) -> str:
    around = node.parent
    while around is not None and around.type not in _CLASSES:
        around = around.parent
    return source.of(child(around, "name")) if around is not None else ""
