"""Who calls a definition: those that are tests apart, the surest first."""

from __future__ import annotations

import re

from dowse.lookup.calls.kinds import CALLABLE
from dowse.lookup.calls.question import CallQuery, Edge
from dowse.lookup.why.found import Found
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.target import qualified
from dowse.model import UNPARSED

MOST_CALLERS = 50
DEADLINE_S = 2.0

_TESTS = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)test_[^/]*$|[._-](test|spec)\.\w+$|Tests?\.\w+$")
_SURE = {"exact": 0, "virtual": 1, "possible": 2}


def callers(ground: Ground, subject: Subject) -> tuple[Found, Found]:
    """Callers, and the tests among them."""
    definition = subject.definition
    if definition is None or definition.record.kind != "code":
        return Found(), Found()
    if why := _silence(subject):
        return Found(notes=(why,)), Found()
    query = CallQuery(definition.symbol.name, depth=1, width=MOST_CALLERS, nodes=MOST_CALLERS, deadline_s=DEADLINE_S)
    tree = ground.callers(definition, query)
    edges = sorted((it.edge for it in tree.nodes), key=lambda it: _SURE[it.confidence])
    found = [_neighbour(it) for it in edges]
    notes = (f"there are more callers than the {MOST_CALLERS} that were looked at",) if tree.truncated else ()
    return (
        Found(tuple(it for it in found if not _is_test(it)), notes),
        Found(tuple(it for it in found if _is_test(it))),
    )


def _silence(subject: Subject) -> str:
    """Why nothing is known of calls, if so."""
    assert subject.definition is not None
    record, kind = subject.definition.record, subject.definition.symbol.kind
    if UNPARSED in record.facets:
        return f"callers are not known: {record.path} could not be parsed"
    return "" if kind in CALLABLE else f"a {kind} has no callers; `grep` finds where it is used"


def _neighbour(edge: Edge) -> Neighbour:
    name = qualified(edge.caller) if edge.caller else f"the top of {edge.record.path}"
    lines = [it for it in edge.lines if it != edge.site.line]
    how = "" if edge.confidence == "exact" else edge.how
    also = f"also in lines {', '.join(map(str, lines[:5]))}" if lines else ""
    return Neighbour(
        "calls", name, edge.record, edge.site.line, "; ".join(filter(None, (how, also))), sure=edge.confidence
    )


def _is_test(neighbour: Neighbour) -> bool:
    return neighbour.record is not None and bool(_TESTS.search(neighbour.record.path))
