"""Who calls a definition: those that are tests apart, the surest first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dowse.lookup.calls.kinds import CALLABLE
from dowse.lookup.calls.question import CallQuery, Edge
from dowse.lookup.symbols.question import Definition
from dowse.lookup.why.found import Found
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.target import qualified
from dowse.model import UNPARSED, Link, Record

CODE = "code"
MOST_CALLERS = 50
DEADLINE_S = 2.0

_TESTS = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)test_[^/]*$|[._-](test|spec)\.\w+$|Tests?\.\w+$")
_SURE = {"exact": 0, "virtual": 1, "possible": 2}


def callers(ground: Ground, subject: Subject) -> tuple[Found, Found]:
    """Callers, and the tests among them; of a whole file, who imports it."""
    definition = subject.definition
    if subject.record is None or subject.record.kind != CODE:
        return Found(), Found()
    if definition is None:
        return _apart([importer(*it) for it in ground.calls.importers(subject.record)])
    if why := _silence(definition):
        return Found(notes=(why,)), Found()
    query = CallQuery(definition.symbol.name, depth=1, width=MOST_CALLERS, nodes=MOST_CALLERS, deadline_s=DEADLINE_S)
    tree = ground.calls.around(definition, query)
    edges = sorted((it.edge for it in tree.nodes), key=lambda it: _SURE[it.confidence])
    notes = (f"there may be more callers than the {len(edges)} that were looked at",) if tree.cut else ()
    return _apart([calling(it) for it in edges], notes)


def _apart(found: Sequence[Neighbour], notes: tuple[str, ...] = ()) -> tuple[Found, Found]:
    tests = tuple(it for it in found if _is_test(it))
    return Found(tuple(it for it in found if it not in tests), notes), Found(tests)


def _silence(definition: Definition) -> str:
    """Why nothing is known of calls, if so."""
    record, kind = definition.record, definition.symbol.kind
    if UNPARSED in record.facets:
        return f"callers are not known: {record.path} could not be parsed"
    return "" if kind in CALLABLE else f"a {kind} has no callers; `grep` finds where it is used"


def importer(record: Record, link: Link) -> Neighbour:
    return Neighbour("import", record.path, record, link.line, f"imports {link.target}")


def calling(edge: Edge) -> Neighbour:
    """The caller's end of it."""
    name = qualified(edge.caller) if edge.caller else f"the top of {edge.record.path}"
    lines = [it for it in edge.lines if it != edge.site.line]
    how = "" if edge.confidence == "exact" else edge.how
    also = f"also in lines {', '.join(map(str, lines[:5]))}" if lines else ""
    return Neighbour(
        "calls", name, edge.record, edge.site.line, "; ".join(filter(None, (how, also))), sure=edge.confidence
    )


def _is_test(neighbour: Neighbour) -> bool:
    return neighbour.record is not None and bool(_TESTS.search(neighbour.record.path))
