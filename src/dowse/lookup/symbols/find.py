"""Which definitions are wanted, and what stands around a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dowse.errors import BadInput
from dowse.lookup.symbols.question import Definition, SymbolAnswer, Wanted
from dowse.model import Record, Stats
from dowse.store.base import Store
from dowse.text.surrogates import valid

KINDS = (
    "class", "constructor", "delegate", "enum", "enumMember", "event", "field", "function", "interface", "method",
    "namespace", "property", "record", "struct", "typeAlias", "variable",
    "column", "sqlFunction", "sqlIndex", "storedProcedure", "table", "userDefinedType", "view",
)  # fmt: skip
"""What can always be asked for; kinds that only some languages have can when the index holds any."""

MEASURES = (*Stats._fields, "lines")
MATCHINGS = ("part", "regex", "exact")
MAX_NAMES = 200
_LARGEST_LIMIT = 10_000_000


def find(store: Store, wanted: Wanted) -> SymbolAnswer:
    asked = checked(store, wanted)
    found = store.definitions(asked)
    return SymbolAnswer(
        tuple(found.definitions), found.total, found.before_stats, store.record_count(), store.definition_count()
    )


def with_implementers(
    store: Store, wanted: Wanted, answer: SymbolAnswer, implementing: Sequence[Definition]
) -> SymbolAnswer:
    """The answer, and those of these types that fulfil the rest of the question, behind it."""
    if not implementing:
        return answer
    notes = {(it.record.collection, it.record.path, it.ordinal): it.note for it in implementing}
    asked = replace(checked(store, wanted), base="", limit=0)
    if not asked.names:  # the store knows all other conditions; it looks only at the names that come into question
        asked = replace(asked, names=tuple(sorted({it.symbol.name for it in implementing})), matching="exact")
    found = store.definitions(asked).definitions
    also = [
        replace(it, note=notes[place])
        for it in found
        if (place := (it.record.collection, it.record.path, it.ordinal)) in notes
    ]
    room = max(0, wanted.limit - len(answer.definitions)) if wanted.limit else len(also)
    return replace(
        answer,
        definitions=(*answer.definitions, *also[:room]),
        total=answer.total + len(also),
        before_stats=answer.before_stats + len(also),
    )


def containing(store: Store, record: Record, line: int) -> list[Definition]:
    """Innermost first; nothing for a line that no definition holds."""
    if line < 1:
        raise BadInput(f"lines are counted from 1; {line} is none")
    return store.around(record, min(line, _LARGEST_LIMIT))


def checked(store: Store, wanted: Wanted) -> Wanted:
    """The question as it can be answered, or BadInput that says what could be asked instead."""
    names = tuple(_clean(name) for name in wanted.names if name.strip())
    if len(names) > MAX_NAMES:
        raise BadInput(f"{len(names):,} names are too many at once; at most {MAX_NAMES} can be asked for")
    if wanted.limit < 0:
        raise BadInput(f"the limit must be 0 (all of them) or more, not {wanted.limit}")
    _check_one_of("way of matching", (wanted.matching,), MATCHINGS)
    _check_one_of("measure to sort by", (wanted.order,) if wanted.order else (), MEASURES)
    _check_one_of("measure to ask for", tuple(wanted.least), MEASURES)
    if not set(wanted.kinds) <= set(KINDS):
        _check_one_of("kind of definition", wanted.kinds, sorted(store.definition_kinds().union(KINDS)))
    return replace(
        wanted,
        names=names,
        attribute=_clean(wanted.attribute),
        base=_clean(wanted.base),
        parent=_clean(wanted.parent),
        modifiers=tuple(map(_clean, wanted.modifiers)),
        limit=min(wanted.limit, _LARGEST_LIMIT),
    )


def _check_one_of(what: str, given: tuple[str, ...], known: tuple[str, ...] | list[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise BadInput(f"{unknown[0]!r} is no {what}; there are {', '.join(known)}")


def _clean(text: str) -> str:
    """Without blanks around it, and as something that can be looked up: halves of surrogate pairs are in no name."""
    return valid(text.strip())
