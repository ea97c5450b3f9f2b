"""Globs that lead from a root into a collection of its own below it: `.memories/**` means the memories there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from dowse.model import COMMITS, Collection, Scope


def inward(scope: Scope, collections: Iterable[Collection]) -> Scope:
    """The scope as it is for these collections, whose paths do not tell where they lie.

    Where some globs lead there and others elsewhere, it stays as it is: a scope has one list of globs for all.
    """
    for way, names in _ways(collections).items():
        inside = [_behind(way, it) for it in scope.paths]
        chosen = tuple(it for it in names if not scope.collections or it in scope.collections)
        if inside and chosen and None not in inside:
            globs = tuple(it for it in inside if it is not None)
            return replace(scope, collections=chosen, paths=() if "" in globs else globs)
    return scope


def _ways(collections: Iterable[Collection]) -> dict[str, list[str]]:
    """The collections that lie below others, by their paths from there."""
    roots = [it for it in collections if it.source != COMMITS]
    found: dict[str, list[str]] = defaultdict(list)
    for inner in roots:
        for it in roots:
            if inner.root.startswith(f"{it.root}/"):
                found[inner.root.removeprefix(f"{it.root}/")].append(inner.name)
    return found


def _behind(way: str, glob: str) -> str | None:
    """What the glob says of the paths in there, empty for all of them; None if it leads elsewhere."""
    text = glob.removeprefix("./").removeprefix("/")
    if text.rstrip("/") == way:
        return ""
    rest = text.removeprefix(f"{way}/") if text.startswith(f"{way}/") else None
    return "" if rest == "**" else f"/{rest}" if rest else None
