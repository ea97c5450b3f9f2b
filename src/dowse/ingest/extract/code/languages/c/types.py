"""Types of C and C++: what a pointer points to counts, whoever owns it."""

from __future__ import annotations

import re

from dowse.ingest.extract.code.wrapped import unwrapped, without
from dowse.text.expressions import instance

_NOTHING = frozenset({"", "auto", "void", "decltype(auto)"})
_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|class|union|enum|typename|unsigned|signed|restrict)\b|[*&^]")
_POINTER = re.compile(r"(?:\w+::)*(?:unique_ptr|shared_ptr|weak_ptr|auto_ptr|scoped_ptr|intrusive_ptr|RefPtr)<(.+)>")
_ANGLES = re.compile(r"<[^<>]*>")


def held(written: str) -> str:
    """An object of the type: `const Foo *`, `struct Foo` and `std::unique_ptr<Foo>` are all used as a Foo."""
    bare = unwrapped(_QUALIFIER.sub("", written).strip(), _POINTER)
    return "" if bare in _NOTHING else instance(bare)


def without_arguments(path: str) -> str:
    """`Foo<Bar<T>>::baz` without what stands in angles."""
    return without(path, _ANGLES)
