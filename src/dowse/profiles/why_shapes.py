"""Answers about why something is as it is, and about its neighbours, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dowse.lookup.related.question import Group, RelatedAnswer
from dowse.lookup.why.question import Section, Source, Subject, WhyAnswer
from dowse.model import Completeness
from dowse.profiles.neighbours import (
    candidate_text,
    neighbour_json,
    neighbour_text,
    subject_json,
    subject_text,
)

_ARROWS = {"out": "→", "in": "←"}


# --- JSON ---


def why_json(answer: WhyAnswer, completeness: Completeness) -> dict[str, object]:
    collection = _collection(answer.subject)
    return {
        "target": answer.target,
        "definition": None if answer.subject is None else {**subject_json(answer.subject), **_source(answer.source)},
        **{it.name: [neighbour_json(one, collection) for one in it.shown] for it in answer.sections},
        "left_out": {it.name: it.left_out for it in answer.sections if it.left_out},
        **_ends_json(answer, answer.notes, completeness),
    }


def related_json(answer: RelatedAnswer, completeness: Completeness) -> dict[str, object]:
    collection = _collection(answer.subject)
    return {
        "target": answer.target,
        "subject": None if answer.subject is None else subject_json(answer.subject),
        "groups": [
            {
                "kind": it.kind,
                "direction": it.direction,
                "total": it.total,
                "neighbours": [neighbour_json(one, collection) for one in it.shown],
            }
            for it in answer.groups
        ],
        **_ends_json(answer, notes_of(answer, completeness), completeness),
    }


def _ends_json(
    answer: WhyAnswer | RelatedAnswer, notes: Sequence[str], completeness: Completeness
) -> dict[str, object]:
    """Candidates and near names only where there are any: an answer has no use for them."""
    choices: dict[str, object] = {}
    if answer.candidates:
        choices["candidates"] = [subject_json(it) for it in answer.candidates]
    if answer.near:
        choices["near"] = list(answer.near)
    return {**choices, "notes": list(notes), "complete": completeness.complete}


def _source(source: Source) -> dict[str, object]:
    return {"source": list(source.lines), "source_left_out": source.left_out} if source.lines else {}


def _collection(subject: Subject | None) -> str:
    return subject.record.collection if subject and subject.record else ""


# --- text ---


def why_text(answer: WhyAnswer) -> str:
    lines = [*_head(answer), *_source_lines(answer.source)]
    for it in answer.sections:
        lines += _section_lines(it)
    empty = [it.name for it in answer.sections if not it.total]
    if answer.subject and empty:
        lines.append(f"none: {', '.join(empty)}")
    return "\n".join([*lines, *(f"({note})" for note in answer.notes)])


def related_text(answer: RelatedAnswer, completeness: Completeness) -> str:
    lines = [*_head(answer)]
    for it in answer.groups:
        lines += _group_lines(it)
    return "\n".join([*lines, *(f"({note})" for note in notes_of(answer, completeness))])


def notes_of(answer: RelatedAnswer, completeness: Completeness) -> Sequence[str]:
    """What could not be told, what is not indexed, what has changed on disk."""
    return tuple(dict.fromkeys((*answer.notes, *completeness.notes, *answer.seen.sentences())))


def _head(answer: WhyAnswer | RelatedAnswer) -> Iterator[str]:
    if answer.subject is not None:
        yield subject_text(answer.subject)
    yield from (f"  {candidate_text(it)}" for it in answer.candidates)
    if answer.near:
        yield f"near: {', '.join(answer.near)}"


def _source_lines(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.lines, source.start_line):
        yield f"{number:>5}  {line}"
    if source.left_out:
        yield f"    … {source.left_out:,} more line{'' if source.left_out == 1 else 's'}"


def _section_lines(section: Section) -> Iterator[str]:
    if section.total:
        yield f"{section.name}{_counted(len(section.shown), section.total)}"
    yield from (f"  {neighbour_text(it)}" for it in section.shown)


def _group_lines(group: Group) -> Iterator[str]:
    yield f"{_ARROWS[group.direction]} {group.kind}{_counted(len(group.shown), group.total)}"
    yield from (f"  {neighbour_text(it, with_kind=False)}" for it in group.shown)


def _counted(shown: int, total: int) -> str:
    return "" if shown == total else f" ({shown:,} of {total:,})"
