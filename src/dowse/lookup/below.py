"""Collections that lie below a root: what is in them has a path from there, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dowse.model import COMMITS, Below, Collection, Scope


def from_roots(scope: Scope, collections: Iterable[Collection]) -> Scope:
    """The scope with globs that lead from a root into what lies below it: `.memories/**` means the memories there."""
    return replace(scope, below=below(collections)) if scope.paths or scope.excluded else scope


def below(collections: Iterable[Collection]) -> tuple[Below, ...]:
    """Each of them with its path from each root around it; a history lies nowhere."""
    roots = [it for it in collections if it.source != COMMITS]
    return tuple(
        Below(inner.name, inner.root.removeprefix(f"{it.root}/"))
        for inner in roots
        for it in roots
        if inner.root.startswith(f"{it.root}/")
    )
