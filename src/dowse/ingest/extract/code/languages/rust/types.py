"""Types of Rust: what is reached through a reference or a smart pointer is the thing itself."""

from __future__ import annotations

import re

from dowse.ingest.extract.code.wrapped import unwrapped, without
from dowse.text.expressions import instance

_NOTHING = frozenset({"", "()", "_", "!"})
_REFERRING = re.compile(r"&+\s*(?:'\w+\s*)?(?:mut\s+)?|\b(?:dyn|impl)\s+|'\w+\s*,\s*|\*(?:const|mut)\s+")
_POINTER = re.compile(r"(?:[\w:]+::)?(?:Box|Rc|Arc|Cow|Pin|Ref|RefMut|MutexGuard)<(.+)>")
_INNER_POINTER = re.compile(r"([<,(]\s*)(?:[\w:]+::)?(?:Box|Rc|Arc)<([^<>]*)>")
_DEEPEST = 4
_ANGLES = re.compile(r"(?:::)?<[^<>]*>")
_SLICE = re.compile(r"\[([^;\[\]]+)(?:;[^\]]*)?\]")


def held(written: str) -> str:
    """An object of the type; `&mut dyn Foo` and `Arc<Foo>` are used as a Foo, `[Foo; 3]` and `&[Foo]` are many."""
    bare = _REFERRING.sub("", written.split("->")[0] if written.startswith("fn") else written).strip()
    bare = without_pointers(bare)
    bare = _SLICE.sub(r"\1[]", unwrapped(bare, _POINTER).partition(" + ")[0])
    return "" if bare in _NOTHING else instance(bare)


def without_pointers(written: str) -> str:
    """`Vec<Box<Foo>>` holds Foo."""
    for _ in range(_DEEPEST if "<" in written else 0):
        shorter = _INNER_POINTER.sub(r"\1\2", written)
        if shorter == written:
            break
        written = shorter
    return written


def without_generics(path: str) -> str:
    """`Foo::<T>::new` and `Foo<Bar<T>>` without what stands in angles."""
    return without(path, _ANGLES)
