"""Answers about why something is as it is, and about its neighbours, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dowse.lookup.related.question import Group, RelatedAnswer
from dowse.lookup.why.question import Neighbour, Section, Source, Subject, WhyAnswer
from dowse.model import Completeness
from dowse.profiles.core_compact import DEFAULT_TOKENS, Shape, fit, flagged, room_of, without_empty
from dowse.profiles.neighbours import (
    candidate_text,
    neighbour_json,
    neighbour_text,
    subject_json,
    subject_text,
)
from dowse.profiles.tool import Reply
from dowse.text.untrusted import numbered

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
        lines.append(f"no {', '.join(empty)} found")
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
    yield from numbered(source.lines, source.start_line)
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


# --- for the tools ---


def why_reply(answer: WhyAnswer, completeness: Completeness, budget_tokens: int) -> Reply:
    """The answer, which is made to its budget already; what is flagged in it may cost its last rows."""
    sections = tuple(replace(it, shown=_flagged(it.shown)) for it in answer.sections)
    warning = flagged("\n".join(answer.source.lines))
    notes = (*answer.notes, *([f"the source {warning}"] if warning else []))
    most = max((len(it.shown) for it in sections), default=0)

    def make(rows: int) -> Reply:
        shown = tuple(replace(it, shown=it.shown[:rows]) for it in sections)
        return _why_form(replace(answer, sections=shown, notes=notes), completeness)

    return fit(make, most, room_of(budget_tokens))


def _why_form(answer: WhyAnswer, completeness: Completeness) -> Reply:
    hidden = [f"{it.left_out:,} {it.name}" for it in answer.sections if it.left_out]
    hint = f"left out: {', '.join(hidden)} (raise `budget_tokens`)" if hidden else ""
    data = why_json(answer, completeness)
    shape = without_empty({key: it for key, it in data.items() if key not in ("target", "complete", "left_out")})
    if "source" in shape.get("definition", {}):  # which begins with it
        shape["definition"].pop("signature", None)
    shape |= {"more": hint} if hint else {}
    return Reply({"definition": None, **shape}, "\n".join(filter(None, (why_text(answer), hint))) + "\n")


def related_reply(answer: RelatedAnswer, completeness: Completeness, scale: float) -> Reply:
    """The groups; where they do not fit `scale` times the default budget, fewer neighbours of each, then fewer groups.

    All are counted.
    """
    groups = tuple(replace(it, shown=_flagged(it.shown)) for it in answer.groups)
    most = max((len(it.shown) for it in groups), default=0)
    levels = [(shown, 1) for shown in range(min(len(groups), 1), len(groups) + 1)]
    levels += [(len(groups), rows) for rows in range(2, most + 1)]

    def make(level: int) -> Reply:
        count, rows = levels[level]
        shown = tuple(replace(it, shown=it.shown[:rows]) for it in groups[:count])
        return _related_form(replace(answer, groups=shown), completeness, len(groups) - count)

    return fit(make, len(levels) - 1, int(scale * room_of(DEFAULT_TOKENS)))


def _related_form(answer: RelatedAnswer, completeness: Completeness, hidden: int) -> Reply:
    parts = [f"{hidden} more kinds of links"] if hidden else []
    left = sum(it.total - len(it.shown) for it in answer.groups)
    parts += [f"{left:,} more of the kinds above"] if left else []
    hint = f"left out: {', '.join(parts)} (raise `limit` or choose `kinds`)" if parts else ""
    data = related_json(answer, completeness)
    shape = without_empty({key: it for key, it in data.items() if key not in ("target", "complete")})
    for group in shape.get("groups", ()):
        group["neighbours"] = [_without_repeats(it) for it in group["neighbours"]]
    shape |= {"more": hint} if hint else {}
    text = "\n".join(filter(None, (related_text(answer, completeness), hint))) + "\n"
    return Reply({"groups": [], **shape}, text)


def _without_repeats(neighbour: Shape) -> Shape:
    """Without the kind, which its group has, and a name that is its path."""
    return {
        key: it for key, it in neighbour.items() if key != "kind" and (key != "name" or it != neighbour.get("path"))
    }


def _flagged(neighbours: Sequence[Neighbour]) -> tuple[Neighbour, ...]:
    return tuple(
        replace(it, warning="; ".join(filter(None, (it.warning, flagged(it.text, it.name))))) for it in neighbours
    )
