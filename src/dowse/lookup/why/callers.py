"""Who calls a definition: those that are tests apart, the surest first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from dowse.lookup.calls.kinds import CALLABLE
from dowse.lookup.calls.question import CallQuery, Edge
from dowse.lookup.symbols.question import Definition
from dowse.lookup.why.found import Found
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.target import qualified
from dowse.model import UNPARSED, Link, Record

CODE = "code"
MOST_CALLERS = 100
DEADLINE_S = 1.0

_TESTS = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)test_[^/]*$|[._-](test|spec)\.\w+$|Tests?\.\w+$")
_MOST_REFERENCES = 20
_SURE = {"exact": 0, "virtual": 1, "possible": 2}


def callers(ground: Ground, subject: Subject) -> tuple[Found, Found]:
    """Callers, and tests that call; of a whole file, who imports it."""
    definition = subject.definition
    if subject.record is None or subject.record.kind != CODE:
        return Found(), Found()
    if definition is None:
        found = [importer(*it) for it in ground.calls.importers(subject.record)]
        tests = tuple(it for it in found if it.record and is_test(it.record.path))
        return Found(tuple(it for it in found if it not in tests), _unknown(ground, subject.record)), Found(tests)
    if why := _silence(definition):
        return Found(notes=(why,)), Found()
    # Asked for apart: where there are very many of the one, they must not hide the other.
    outside = _calling(ground, definition, lambda path: not is_test(path), "callers")
    return outside, _calling(ground, definition, is_test, "tests that call it")


def _unknown(ground: Ground, record: Record) -> tuple[str, ...]:
    if ground.store.symbols(record):
        return ()
    return (f"no definitions are known in {record.path}, and so no callers",)


def _calling(ground: Ground, definition: Definition, wanted: Callable[[str], bool], what: str) -> Found:
    most = MOST_CALLERS
    query = CallQuery(definition.symbol.name, depth=1, width=most, nodes=most, wanted=wanted, deadline_s=DEADLINE_S)
    tree = ground.calls.around(definition, query)
    edges = sorted((it.edge for it in tree.nodes), key=lambda it: _SURE[it.confidence])
    notes = [f"there may be more {what} than the {len(edges):,} that were looked at"] if tree.cut else []
    if tree.more_possible:
        notes.append(f"{tree.more_possible:,} more calls of this name have an unknown receiver")
    beside = [*map(calling, tree.possible), *map(referring, tree.references[:_MOST_REFERENCES])]
    return Found((*map(calling, edges), *beside), tuple(notes))


def _silence(definition: Definition) -> str:
    """Why nothing is known of calls, if so."""
    record, kind = definition.record, definition.symbol.kind
    if UNPARSED in record.facets:
        return f"callers are not known: {record.path} could not be parsed"
    return "" if kind in CALLABLE else f"a {kind} has no callers; `grep` finds where it is used"


def importer(record: Record, link: Link) -> Neighbour:
    return Neighbour("import", record.path, record, link.line, link.target)


def calling(edge: Edge) -> Neighbour:
    """The caller's end of it."""
    name = qualified(edge.caller) if edge.caller else f"the top of {edge.record.path}"
    lines = [it for it in edge.lines if it != edge.site.line]
    how = "" if edge.confidence == "exact" else edge.how
    also = f"also in lines {', '.join(map(str, lines[:5]))}" if lines else ""
    return Neighbour(
        "calls", name, edge.record, edge.site.line, "; ".join(filter(None, (how, also))), sure=edge.confidence
    )


def referring(edge: Edge) -> Neighbour:
    """Who passes it on, returns or stores it."""
    return replace(calling(edge), kind="refers", how=edge.how, sure="")


def is_test(path: str) -> bool:
    return bool(_TESTS.search(path))
