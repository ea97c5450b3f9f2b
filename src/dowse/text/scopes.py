"""Whether a record lies within what was asked for: decided here wherever no database filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dowse.model import Facet, Link, Record, Scope
from dowse.text.globs import compile_globs

_NS_PER_SECOND = 1_000_000_000


class Inside(Protocol):
    def __call__(self, record: Record, links: Sequence[Link] = (), /) -> bool: ...


def inside(scope: Scope) -> Inside:
    """A predicate that is true for the records of the scope; one that asks for links needs those of the record."""
    in_paths, in_excluded = compile_globs(scope.paths), compile_globs(scope.excluded)
    tags = {tag.lower() for tag in scope.tags}
    targets = [(it.kind, compile_globs((it.glob,))) for it in scope.links]

    facets = [[it for it in scope.facets if it.name == name] for name in {it.name for it in scope.facets}]

    def is_linked(links: Sequence[Link]) -> bool:
        return any(matches(it.target) for it in links for kind, matches in targets if not kind or kind == it.kind)

    def is_inside(record: Record, links: Sequence[Link] = (), /) -> bool:
        return (
            (not scope.collections or record.collection in scope.collections)
            and (not scope.kinds or record.kind in scope.kinds)
            and (not scope.paths or any(map(in_paths, scope.spellings(record.collection, record.path))))
            and not (scope.excluded and any(map(in_excluded, scope.spellings(record.collection, record.path))))
            and (not tags or not tags.isdisjoint(record.tags))
            and (scope.since is None or record.moment_ns >= int(scope.since * _NS_PER_SECOND))
            and (scope.until is None or record.moment_ns <= int(scope.until * _NS_PER_SECOND))
            and all(any(_holds(record, it) for it in wanted) for wanted in facets)
            and (not targets or is_linked(links))
        )

    return is_inside


def _holds(record: Record, facet: Facet) -> bool:
    value, wanted = record.facets.get(facet.name), facet.value.casefold()
    return value is not None and (value.casefold() == wanted if facet.whole else wanted in value.casefold())
