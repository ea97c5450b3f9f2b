"""Whether a record lies within what was asked for: decided here wherever no database filters."""

from __future__ import annotations

from collections.abc import Callable

from dowse.model import Record, Scope
from dowse.text.globs import compile_globs

_NS_PER_SECOND = 1_000_000_000


def inside(scope: Scope) -> Callable[[Record], bool]:
    """A predicate that is true for the records of the scope."""
    in_paths, in_excluded = compile_globs(scope.paths), compile_globs(scope.excluded)
    tags = {tag.lower() for tag in scope.tags}

    def is_inside(record: Record) -> bool:
        return (
            (not scope.collections or record.collection in scope.collections)
            and (not scope.kinds or record.kind in scope.kinds)
            and (not scope.paths or in_paths(record.path))
            and not in_excluded(record.path)
            and (not tags or not tags.isdisjoint(record.tags))
            and (scope.since is None or record.mtime_ns >= int(scope.since * _NS_PER_SECOND))
            and (scope.until is None or record.mtime_ns <= int(scope.until * _NS_PER_SECOND))
        )

    return is_inside
