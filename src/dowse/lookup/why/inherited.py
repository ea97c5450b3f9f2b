"""Members that a class has from its bases."""

from __future__ import annotations

from collections.abc import Iterator

from dowse.lookup.calls.kinds import CLASSES
from dowse.lookup.symbols.question import Definition, Wanted
from dowse.model import Scope
from dowse.store.base import Store

_MOST_CLASSES = 50


def inherited(store: Store, owner: str, name: str, scope: Scope) -> list[Definition]:
    """The first definition of the name above the classes so called, level by level; bases go by their last names."""
    level, seen = [owner], {owner.lower()}
    while level and len(seen) < _MOST_CLASSES:
        types = _classes(store, level, scope)
        if found := [it for one in types for it in _members(store, one, name)]:
            return found
        level = [base for one in types for base in map(last_name, one.symbol.bases) if base.lower() not in seen]
        seen.update(it.lower() for it in level)
    return []


def _classes(store: Store, names: list[str], scope: Scope) -> list[Definition]:
    kinds = tuple(sorted(CLASSES & store.definition_kinds()))
    wanted = Wanted(names=tuple(dict.fromkeys(names)), matching="exact", kinds=kinds, scope=scope, limit=_MOST_CLASSES)
    return store.definitions(wanted).definitions if kinds else []


def _members(store: Store, type_: Definition, name: str) -> Iterator[Definition]:
    for at, it in enumerate(store.symbols(type_.record)):
        if it.parent == type_.ordinal and it.name.lower() == name.lower():
            yield Definition(type_.record, at, it, (*type_.trail, type_.symbol.name))


def last_name(base: str) -> str:
    """`data.Repo<Item>` → Repo"""
    return base.replace("::", ".").partition("<")[0].partition("[")[0].rpartition(".")[2].strip()
