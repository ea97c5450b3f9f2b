"""The neighbours of anything, by typed links across kinds, so many of each kind that none drowns the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dowse.errors import BadInput
from dowse.lookup.related.calling import in_code
from dowse.lookup.related.incoming import incoming
from dowse.lookup.related.outgoing import outgoing
from dowse.lookup.related.question import MOST_LIMIT, Direction, Edge, Group, RelatedAnswer
from dowse.lookup.related.together import together
from dowse.lookup.why.judged import as_memory
from dowse.lookup.why.near import near_names
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.target import checked
from dowse.lookup.why.things import things
from dowse.lookup.why.why import MOST_CANDIDATES, choice, unknown
from dowse.model import MEMORIES


def related(
    ground: Ground, target: str, kinds: Sequence[str], limit: int, collection: str | None = None
) -> RelatedAnswer:
    if not 1 <= limit <= MOST_LIMIT:
        raise BadInput(f"a limit is 1 to {MOST_LIMIT} neighbours of a kind, not {limit:,}")
    text = checked(target)
    found = things(ground.store, text, collection)
    if len(found) > 1:
        return RelatedAnswer(text, None, candidates=tuple(found[:MOST_CANDIDATES]), notes=(choice(text, found),))
    subject = found[0] if found else Subject(text)
    groups = list(_groups(_edges(ground, subject)))
    if not found and not groups:
        near = near_names(ground.store, text)
        return RelatedAnswer(text, None, near=near, notes=(unknown(ground.store, text),))
    return _answer(ground, text, subject, groups, kinds, limit)


def _answer(
    ground: Ground, target: str, subject: Subject, groups: list[Group], kinds: Sequence[str], limit: int
) -> RelatedAnswer:
    wanted = [it for it in groups if not kinds or it.kind in kinds]
    notes = [*subject.notes()]
    if kinds and not wanted:
        known = ", ".join(dict.fromkeys(it.kind for it in groups)) or "none"
        notes.append(f"it has no neighbours of kind {', '.join(kinds)}; it has {known}")
    elif not groups:
        notes.append("nothing links to it, and it links to nothing")
    shown = tuple(replace(it, shown=tuple(_warned(ground, it.shown[:limit]))) for it in wanted)
    return RelatedAnswer(target, subject, shown, notes=tuple(notes))


def _edges(ground: Ground, subject: Subject) -> Iterator[Edge]:
    yield from in_code(ground, subject)
    yield from outgoing(ground, subject)
    yield from incoming(ground, subject)
    yield from together(ground, subject)


def _groups(edges: Iterable[Edge]) -> Iterator[Group]:
    """Each with all of its neighbours, in the order they were found; the same one once."""
    found: dict[tuple[str, Direction], dict[tuple[object, ...], Neighbour]] = {}
    for it in edges:
        one = it.neighbour
        place = (one.record.collection, one.record.path, one.name) if one.record else (one.name,)
        found.setdefault((one.kind, it.direction), {}).setdefault(place, one)
    for (kind, direction), members in found.items():
        yield Group(kind, direction, tuple(members.values()), len(members))


def _warned(ground: Ground, shown: Iterable[Neighbour]) -> Iterator[Neighbour]:
    folders = {it.name for it in ground.store.collections() if it.source == MEMORIES}
    for it in shown:
        is_memory = it.record is not None and it.record.collection in folders
        yield as_memory(ground, it, it.record) if is_memory and it.record else it
