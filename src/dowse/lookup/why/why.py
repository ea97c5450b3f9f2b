"""Why something is as it is: its definition, its callers, the commits that shaped it, and what is written of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dowse.errors import BadInput
from dowse.lookup.why.budget import (
    counts_chars,
    fitting,
    fitting_names,
    fitting_source,
    notes_chars,
    reasons_chars,
    room_of,
)
from dowse.lookup.why.callers import callers
from dowse.lookup.why.commits import commits
from dowse.lookup.why.found import Found
from dowse.lookup.why.judged import MEMORY
from dowse.lookup.why.memory_links import MemoryLinks
from dowse.lookup.why.mentions import mentions
from dowse.lookup.why.naming import COMMIT, fitting_candidates, fitting_subject
from dowse.lookup.why.near import near_names
from dowse.lookup.why.question import LEAST_BUDGET, MOST_BUDGET, Ground, Source, Subject, WhyAnswer
from dowse.lookup.why.shares import chars, fitting_notes
from dowse.lookup.why.shortened import beginning
from dowse.lookup.why.target import checked
from dowse.lookup.why.things import things
from dowse.model import Record
from dowse.store.base import Store

MOST_CANDIDATES = 20
_SOURCE_LINES = 60
_QUOTED_CHARS = 200
_ITS_LINKS = "`related` tells what it links to, `fetch` or `dowse read` the whole of it"


def why(
    ground: Ground, target: str, budget_tokens: int, collection: str | None = None, besides: Sequence[str] = ()
) -> WhyAnswer:
    """`besides` is what is to be said of the index with any answer, as far as it fits."""
    if not LEAST_BUDGET <= budget_tokens <= MOST_BUDGET:
        raise BadInput(f"a budget is {LEAST_BUDGET} to {MOST_BUDGET:,} tokens, not {budget_tokens:,}")
    text = checked(target)
    found = things(ground.store, text, collection)
    if len(found) > 1:
        return _candidates(text, found, budget_tokens, besides)
    if found or ground.store.linking([text]) or MemoryLinks.of(ground.store).to(Subject(text)):
        subject = found[0] if found else Subject(text)
        return _answer(ground, text if subject.record else subject.name, subject, budget_tokens, besides)
    return _nothing(ground.store, text, budget_tokens, besides)


def _candidates(target: str, found: list[Subject], budget_tokens: int, besides: Sequence[str]) -> WhyAnswer:
    room = room_of(budget_tokens)
    shown = beginning(target, room // 4)
    room -= chars(shown)
    longest = fitting_notes((choice(shown, found, min(len(found) - 1, MOST_CANDIDATES)), *besides), _for_notes(room))
    listed = fitting_candidates(found[:MOST_CANDIDATES], room - notes_chars(longest))
    notes = fitting_notes((choice(shown, found, len(listed)), *besides), _for_notes(room))
    return WhyAnswer(shown, None, candidates=listed, notes=notes)


def _nothing(store: Store, target: str, budget_tokens: int, besides: Sequence[str]) -> WhyAnswer:
    room = room_of(budget_tokens)
    shown, note = beginning(target, room // 4), unknown(store, target, min(room // 4, _QUOTED_CHARS))
    room -= chars(shown)
    notes = fitting_notes((note, *besides), _for_notes(room))
    return WhyAnswer(shown, None, near=fitting_names(near_names(store, target), room - notes_chars(notes)), notes=notes)


def _answer(ground: Ground, target: str, subject: Subject, budget_tokens: int, besides: Sequence[str]) -> WhyAnswer:
    """What is not indexed has no name but the target, which is repeated then."""
    calling, tests = callers(ground, subject)
    documents, memories = mentions(ground, subject, room_of(budget_tokens))
    sections = (
        ("callers", calling),
        ("commits", commits(ground, subject)),
        ("memories", memories),
        ("documents", documents),
        ("tests", tests),
    )
    room = room_of(budget_tokens) - counts_chars(sections)
    target = beginning(target, room // (3 if subject.record else 5))
    named = subject if subject.record else replace(subject, name=target)
    room -= chars(target)
    notes = fitting_notes((*_notes(named, sections), *besides), _for_notes(room))
    room -= notes_chars(notes)
    reasons = reasons_chars(sections)
    shown, used = fitting_subject(named, room, reasons)
    source, lines = fitting_source(_source(ground.store, subject), room - used, reasons)
    return WhyAnswer(target, shown, source, fitting(sections, room - used - lines), notes=notes)


def _for_notes(room: int) -> int:
    """The rest is for what the answer is about."""
    return room * 2 // 3


def _notes(subject: Subject, sections: tuple[tuple[str, Found], ...]) -> tuple[str, ...]:
    told = (_ITS_LINKS,) if _is_told(subject) else ()
    return (*subject.notes(), *told, *(note for _, found in sections for note in found.notes))


def _source(store: Store, subject: Subject) -> Source:
    """The lines of the definition, or the line itself, as they were indexed."""
    if subject.record is not None and _is_told(subject):
        return _beginning(store, subject.record)
    if subject.record is None or not subject.first_line:
        return Source()
    last = min(subject.last_line, subject.first_line + _SOURCE_LINES - 1)
    spans = [(subject.first_line, last)]
    lines = store.lines_between(subject.record.collection, subject.record.path, spans)[0]
    return Source(subject.first_line, lines, subject.last_line - last)


def _is_told(subject: Subject) -> bool:
    """Whether it is a text that says why something is so, and has no other reason than that."""
    return subject.record is not None and not subject.first_line and subject.record.kind in (MEMORY, COMMIT)


def _beginning(store: Store, record: Record) -> Source:
    """The first lines of its text, without what stands before that."""
    chunks = [it.chunk for it in store.chunks(record)]
    if not chunks:
        return Source()
    lines = tuple(chunks[0].text.removesuffix("\n").split("\n")[:_SOURCE_LINES])
    return Source(chunks[0].start_line, lines, max(0, chunks[-1].end_line - chunks[0].start_line - len(lines) + 1))


def choice(target: str, found: list[Subject], listed: int = MOST_CANDIDATES) -> str:
    more = f" (the first {listed:,} {'is' if listed == 1 else 'are'} listed)" if len(found) > listed else ""
    collections = {it.record.collection for it in found if it.record}
    same_path = len({it.record.path for it in found if it.record}) == 1
    if not collections:  # nothing of them is indexed
        return f"{target!r} may be any of {len(found):,}{more}; ask for one of them by its whole name"
    step = "with its collection" if len(collections) > 1 and same_path else "as path:line"
    return f"{target!r} may be any of {len(found):,}{more}; ask for one of them {step}"


def unknown(store: Store, target: str, most_chars: int = _QUOTED_CHARS) -> str:
    """What is known of something that is not indexed, whose name may take so many characters."""
    path = target.partition(":")[0].partition("#")[0].removeprefix("./")
    for it in store.skipped():
        if it.path == path:
            return f"{beginning(it.path, most_chars)} is not indexed: {it.reason}"
    return f"no file, symbol or link named {beginning(target, most_chars)!r}"
