"""What a change touches: the definitions its lines stand in, and who calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dowse.lookup.calls.kinds import CALLABLE
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.question import CallQuery, CallTree
from dowse.lookup.calls.roots import Asked, Roots
from dowse.lookup.calls.tree import call_tree
from dowse.lookup.calls.world import World
from dowse.lookup.symbols.question import Definition
from dowse.model import NOT_LOOKED, Seen
from dowse.store.call_facts import Place

Spans = Sequence[tuple[int, int]]
"""First and last lines, from 1."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A definition that a change touches, and its callers."""

    definition: Definition
    callers: CallTree


@dataclass(frozen=True, slots=True)
class Impact:
    """`beside` are changed files in which no definition is touched, `unknown` those that are not indexed."""

    touched: tuple[Touched, ...]
    beside: tuple[str, ...]
    unknown: tuple[str, ...]
    seen: Seen = NOT_LOOKED


def impact(world: World, changes: Mapping[str, Spans], query: CallQuery, collection: str | None = None) -> Impact:
    """`query` says how far and how surely callers are wanted; its name and place do not count."""
    touched: list[Touched] = []
    beside, unknown = [], []
    for path, spans in sorted(changes.items()):
        outline = _outline(world, path, collection)
        if outline is None:
            unknown.append(path)
            continue
        found = touched_by(outline, spans)
        touched += [_with_callers(world, outline, it, query) for it in found]
        if not found:
            beside.append(path)
    return Impact(tuple(touched), tuple(beside), tuple(unknown))


def _outline(world: World, path: str, collection: str | None) -> Outline | None:
    files = world.catalogue.files_named(path.rpartition("/")[2])
    mine = [it for it in files if it.path == path and collection in (None, it.collection)]
    return world.catalogue.outline(mine[0].key) if mine else None


def touched_by(outline: Outline, spans: Spans) -> list[int]:
    """The innermost definitions that can be called around the changed lines, in order."""
    owners = _owners(outline)
    lines = {line for start, end in spans for line in range(max(start, 1), min(end, outline.last_line) + 1)}
    return sorted({owners[line] for line in lines if line in owners})


def _owners(outline: Outline) -> dict[int, int]:
    """For each line the innermost definition around it: inner ones come later, and take their lines over."""
    owners: dict[int, int] = {}
    for ordinal, it in enumerate(outline.symbols):
        if it.kind in CALLABLE:
            owners.update(dict.fromkeys(range(it.start_line, it.end_line + 1), ordinal))
    return owners


def _with_callers(world: World, outline: Outline, ordinal: int, query: CallQuery) -> Touched:
    definition = outline.definition(ordinal)
    asked = Asked(Roots(world).with_constructors([Place(outline.key, ordinal)]), ())
    return Touched(definition, call_tree(world, replace(query, name=definition.symbol.name, direction="up"), asked))
