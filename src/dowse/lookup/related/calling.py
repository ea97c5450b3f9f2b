"""Neighbours in code: who calls it and what it calls, what it extends and what extends it, who imports it."""

from __future__ import annotations

from collections.abc import Iterator

from dowse.lookup.calls.kinds import CALLABLE, TYPES
from dowse.lookup.calls.question import CallQuery
from dowse.lookup.related.question import Edge
from dowse.lookup.symbols.question import Definition, Wanted
from dowse.lookup.why.callers import CODE, calling, importer, referring
from dowse.lookup.why.inherited import last_name
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.target import qualified
from dowse.model import UNPARSED, Scope

INHERITS = "inherits"

_MOST = 50
_DEADLINE_S = 1.0


def in_code(ground: Ground, subject: Subject) -> Iterator[Edge]:
    if subject.record is None or subject.record.kind != CODE or UNPARSED in subject.record.facets:
        return
    if subject.definition is None:
        yield from (Edge("in", importer(*it)) for it in ground.calls.importers(subject.record))
        return
    if subject.definition.symbol.kind in CALLABLE:
        yield from _calls(ground, subject.definition)
    if subject.definition.symbol.kind in TYPES:
        yield from _types(ground, subject.definition)


def _calls(ground: Ground, definition: Definition) -> Iterator[Edge]:
    name = definition.symbol.name
    up = CallQuery(name, depth=1, width=_MOST, nodes=_MOST, deadline_s=_DEADLINE_S)
    callers = ground.calls.around(definition, up)
    yield from (Edge("in", calling(it.edge)) for it in callers.nodes)
    yield from (Edge("in", referring(it)) for it in callers.references[:_MOST])
    down = CallQuery(name, direction="down", depth=1, width=_MOST, nodes=_MOST, deadline_s=_DEADLINE_S)
    for node in ground.calls.around(definition, down).nodes:
        if callee := node.edge.callee:
            how = f"line {node.edge.site.line}" + (f"; {node.edge.how}" if node.edge.confidence != "exact" else "")
            yield Edge("out", _found(callee, "calls", how, node.edge.confidence))


def _types(ground: Ground, definition: Definition) -> Iterator[Edge]:
    """By the last name of the base, which is how it is written: another type of this name may be meant."""
    scope = Scope(collections=(definition.record.collection,))
    for base in definition.symbol.bases:
        asked = Wanted(names=(last_name(base),), matching="exact", kinds=tuple(sorted(TYPES)), scope=scope, limit=2)
        found = ground.store.definitions(asked).definitions
        yield Edge("out", _found(found[0], INHERITS) if len(found) == 1 else Neighbour(INHERITS, base, None))
    below = ground.store.definitions(Wanted(base=definition.symbol.name, scope=scope, limit=_MOST))
    yield from (Edge("in", _found(it, INHERITS)) for it in below.definitions)


def _found(it: Definition, kind: str, how: str = "", sure: str = "") -> Neighbour:
    return Neighbour(kind, qualified(it), it.record, it.symbol.start_line, how, sure=sure)
