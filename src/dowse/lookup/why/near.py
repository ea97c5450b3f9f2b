"""Names like one that nothing has."""

from __future__ import annotations

from difflib import get_close_matches

from dowse.lookup.find import NameQuery, find_names, indexed_names
from dowse.lookup.fuzzy import MAX_LETTERS
from dowse.lookup.symbols.question import Wanted
from dowse.lookup.why.target import qualified
from dowse.model import COMMITS
from dowse.store.base import Store
from dowse.text.defined import name_parts

_SHOWN = 5
_LOOKED_AT = 500
_LEAST_CHARS = 3
_ALIKE = 0.6


def near_names(store: Store, target: str) -> tuple[str, ...]:
    """Definitions first, then files whose paths have these letters in this order."""
    short = target[:MAX_LETTERS]
    return tuple([*_definitions(store, short), *_paths(store, short)][:_SHOWN])


def _definitions(store: Store, target: str) -> list[str]:
    """Those that share a part of the name, as far as they are alike as a whole."""
    last = target.removesuffix("()").replace("::", ".").replace("#", ".").rpartition(".")[2].strip()
    pieces = {part for part in (*name_parts(last), last[:_LEAST_CHARS].lower()) if len(part) >= _LEAST_CHARS}
    if not pieces:
        return []
    found = store.definitions(Wanted(names=tuple(sorted(pieces)), limit=_LOOKED_AT)).definitions
    by_name: dict[str, list[str]] = {}
    for it in found:
        by_name.setdefault(it.symbol.name.lower(), []).append(qualified(it))
    alike = get_close_matches(last.lower(), by_name, _SHOWN, _ALIKE)
    return list(dict.fromkeys(full for name in alike for full in by_name[name]))


def _paths(store: Store, target: str) -> list[str]:
    letters = target.partition(":")[0].partition("#")[0]
    files = tuple(it.name for it in store.collections() if it.source != COMMITS)
    if not letters.strip() or not files:
        return []
    query = NameQuery((letters,), "fuzzy", only="files", collections=files, limit=_SHOWN)
    return [it.path for it in find_names(indexed_names(store), query).entries]
