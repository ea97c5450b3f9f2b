"""Explain a line or a symbol: callers, commits, documents and notes within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dowse.errors import BadInput
from dowse.lookup.why_budget import (
    COMMIT_ITEM_KIND,
    MEMORY_KIND,
    available_chars,
    counts_chars,
    cut_text,
    fit_candidates,
    fit_names,
    fit_notes,
    fit_sections,
    fit_source,
    fit_target,
    json_chars,
    notes_chars,
    reasons_chars,
)
from dowse.lookup.why_evidence import MemoryLinks, find_callers, find_mentions, find_shaping_commits, resolve_target
from dowse.lookup.why_target import (
    MAX_WHY_TOKENS,
    MIN_WHY_TOKENS,
    SectionItems,
    SourceExcerpt,
    Target,
    WhyAnswer,
    WhyContext,
    check_target,
    similar_names,
)
from dowse.model import Record
from dowse.store.view import StoreView

MAX_CANDIDATES = 20
_MAX_INDEXED_SOURCE_LINES = 60
_MAX_QUOTED_TARGET_CHARS = 200
_REASON_NOTE = "use `related` for its links, `fetch` or `dowse read` for its full text"


def explain(
    context: WhyContext, target: str, budget_tokens: int, collection: str | None = None, index_notes: Sequence[str] = ()
) -> WhyAnswer:
    """Explain a target; `index_notes` are caveats about the index, added if they fit."""
    if not MIN_WHY_TOKENS <= budget_tokens <= MAX_WHY_TOKENS:
        raise BadInput(f"the budget must be {MIN_WHY_TOKENS} to {MAX_WHY_TOKENS:,} tokens, not {budget_tokens:,}")
    text = check_target(target)
    found = resolve_target(context.view, text, collection)
    if len(found) > 1:
        return _ambiguous_answer(text, found, budget_tokens, index_notes)
    if found or context.view.links_to([text]) or MemoryLinks.of(context.view).links_to(Target(text)):
        subject = found[0] if found else Target(text)
        return _explain_target(context, text if subject.record else subject.name, subject, budget_tokens, index_notes)
    return _unknown_answer(context.view, text, budget_tokens, index_notes)


def _ambiguous_answer(target: str, found: list[Target], budget_tokens: int, index_notes: Sequence[str]) -> WhyAnswer:
    room = available_chars(budget_tokens)
    shown = cut_text(target, room // 4)
    room -= json_chars(shown)
    longest = fit_notes(
        (ambiguity_note(shown, found, min(len(found) - 1, MAX_CANDIDATES)), *index_notes), _notes_room(room)
    )
    listed = fit_candidates(found[:MAX_CANDIDATES], room - notes_chars(longest))
    notes = fit_notes((ambiguity_note(shown, found, len(listed)), *index_notes), _notes_room(room))
    return WhyAnswer(shown, None, candidates=listed, notes=notes)


def _unknown_answer(view: StoreView, target: str, budget_tokens: int, index_notes: Sequence[str]) -> WhyAnswer:
    room = available_chars(budget_tokens)
    shown, note = cut_text(target, room // 4), unknown_note(view, target, min(room // 4, _MAX_QUOTED_TARGET_CHARS))
    room -= json_chars(shown)
    notes = fit_notes((note, *index_notes), _notes_room(room))
    return WhyAnswer(shown, None, near=fit_names(similar_names(view, target), room - notes_chars(notes)), notes=notes)


def _explain_target(
    context: WhyContext, target: str, subject: Target, budget_tokens: int, index_notes: Sequence[str]
) -> WhyAnswer:
    """Build the answer. An unindexed target has no other name, so its name is shortened like the target."""
    calling, tests = find_callers(context, subject)
    documents, memories = find_mentions(context, subject, available_chars(budget_tokens))
    sections = (
        ("callers", calling),
        ("commits", find_shaping_commits(context, subject)),
        ("memories", memories),
        ("documents", documents),
        ("tests", tests),
    )
    room = available_chars(budget_tokens) - counts_chars(sections)
    target = cut_text(target, room // (3 if subject.record else 5))
    named = subject if subject.record else replace(subject, name=target)
    room -= json_chars(target)
    notes = fit_notes((*_collect_notes(named, sections), *index_notes), _notes_room(room))
    room -= notes_chars(notes)
    reasons = reasons_chars(sections)
    shown, used = fit_target(named, room, reasons)
    source, lines = fit_source(_read_source(context.view, subject), room - used, reasons)
    return WhyAnswer(target, shown, source, fit_sections(sections, room - used - lines), notes=notes)


def _notes_room(room: int) -> int:
    """Return the room for notes; the rest is for the content."""
    return room * 2 // 3


def _collect_notes(subject: Target, sections: tuple[tuple[str, SectionItems], ...]) -> tuple[str, ...]:
    reason_note = (_REASON_NOTE,) if _is_reason(subject) else ()
    return (*subject.notes(), *reason_note, *(note for _, found in sections for note in found.notes))


def _read_source(view: StoreView, subject: Target) -> SourceExcerpt:
    """Return the indexed lines of the definition, or the single line."""
    if subject.record is not None and _is_reason(subject):
        return _first_lines(view, subject.record)
    if subject.record is None or not subject.first_line:
        return SourceExcerpt()
    last = min(subject.last_line, subject.first_line + _MAX_INDEXED_SOURCE_LINES - 1)
    spans = [(subject.first_line, last)]
    lines = view.lines_between(subject.record.collection, subject.record.path, spans)[0]
    return SourceExcerpt(subject.first_line, lines, subject.last_line - last)


def _is_reason(subject: Target) -> bool:
    """Return whether the target is itself a reason, a memory or commit, and needs no further one."""
    return (
        subject.record is not None and not subject.first_line and subject.record.kind in (MEMORY_KIND, COMMIT_ITEM_KIND)
    )


def _first_lines(view: StoreView, record: Record) -> SourceExcerpt:
    """Return the first lines of the text, without front matter."""
    chunks = [it.chunk for it in view.chunks(record)]
    if not chunks:
        return SourceExcerpt()
    lines = tuple(chunks[0].text.removesuffix("\n").split("\n")[:_MAX_INDEXED_SOURCE_LINES])
    return SourceExcerpt(
        chunks[0].start_line, lines, max(0, chunks[-1].end_line - chunks[0].start_line - len(lines) + 1)
    )


def ambiguity_note(target: str, found: list[Target], listed: int = MAX_CANDIDATES) -> str:
    more = f" (the first {listed:,} {'is' if listed == 1 else 'are'} listed)" if len(found) > listed else ""
    collections = {it.record.collection for it in found if it.record}
    same_path = len({it.record.path for it in found if it.record}) == 1
    if not collections:  # none of them is indexed
        return f"{target!r} matches {len(found):,}{more}; pass the full name of one"
    step = "and its collection" if len(collections) > 1 and same_path else "as path:line"
    return f"{target!r} matches {len(found):,}{more}; pass one {step}"


def unknown_note(view: StoreView, target: str, most_chars: int = _MAX_QUOTED_TARGET_CHARS) -> str:
    """Explain that a target is unknown; its name takes at most `most_chars` characters."""
    path = target.partition(":")[0].partition("#")[0].removeprefix("./")
    for skipped in view.skipped_items():
        if skipped.path == path:
            return f"{cut_text(skipped.path, most_chars)} is not indexed: {skipped.reason}"
    return f"no file, symbol or link named {cut_text(target, most_chars)!r}"
