"""Fit the parts of a why answer into a budget."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from dowse.lookup.memories import MemoryValidity, load_memory_edges, memory_validity
from dowse.lookup.why_target import (
    NO_SOURCE_EXCERPT,
    RelatedItem,
    SectionItems,
    SourceExcerpt,
    Target,
    WhyContext,
    WhySection,
)
from dowse.model import CHARS_PER_TOKEN, Record, Scope
from dowse.text.memory_notes import SUPERSEDES

# --------------------------------------------------------------------------------------------------
# Single-line, abbreviated texts for lists.

MAX_ABBREVIATED_CHARS = 160


def abbreviate(text: str) -> str:
    flat = " ".join(text[: 10 * MAX_ABBREVIATED_CHARS].split())
    return flat if len(flat) <= MAX_ABBREVIATED_CHARS else f"{flat[:MAX_ABBREVIATED_CHARS]}…"


def cut_text(text: str, most_chars: int) -> str:
    """Return the text, or the longest beginning that takes at most `most_chars` characters when quoted."""
    if _quoted_chars(text) <= most_chars:
        return text
    fits = bisect_right(range(len(text)), most_chars, key=lambda end: _quoted_chars(f"{text[:end]}…"))
    return f"{text[: max(0, fits - 1)]}…"


def _quoted_chars(text: str) -> int:
    """Return the JSON length, alone or quoted in a sentence: a control character takes up to ten."""
    return max(len(json.dumps(it, ensure_ascii=False)) for it in (text, repr(text)))


# --------------------------------------------------------------------------------------------------
# Texts that share limited room: short ones stay whole, long ones are cut to equal length.

LINE_OVERHEAD_CHARS: Final = 4
_MIN_NOTE_CHARS: Final = 40  # a shorter note says nothing


def json_chars(text: str) -> int:
    """Return the length in JSON, the longest output format."""
    return len(json.dumps(text, ensure_ascii=False))


def cut_to_share(texts: Sequence[str], room: int) -> tuple[str, ...]:
    """Return all texts, cut to a common maximum length that makes them fit."""
    share = max_length_per_text([json_chars(it) for it in texts], room)
    return tuple(it if json_chars(it) <= share else cut_text(it, share) for it in texts)


def max_length_per_text(lengths: Sequence[int], room: int) -> int:
    """Return the largest length per text with which all texts fit."""
    return bisect_right(range(1, max(room, 0) + 1), room, key=lambda most: sum(min(it, most) for it in lengths))


def fit_notes(notes: Sequence[str], room: int) -> tuple[str, ...]:
    """Return the distinct notes that fit, and a last one that counts those left out."""
    distinct = tuple(dict.fromkeys(notes))
    for count_shown in range(len(distinct), 1, -1):
        shown = (*distinct[:count_shown], *_omission_note(len(distinct) - count_shown))
        within = room - LINE_OVERHEAD_CHARS * len(shown)
        if max_length_per_text([json_chars(it) for it in shown], within) >= _MIN_NOTE_CHARS:
            return cut_to_share(shown, within)
    first = (*distinct[:1], *_omission_note(len(distinct) - 1))
    return cut_to_share(first, room - LINE_OVERHEAD_CHARS * len(first))


def _omission_note(count: int) -> tuple[str, ...]:
    return (f"{count} more note{'' if count == 1 else 's'}",) if count > 0 else ()


# --------------------------------------------------------------------------------------------------
# The target of an answer, shortened to fit the budget.

COMMIT_ITEM_KIND: Final = "commit"
AUTHOR_KEY: Final = "author"
_CANDIDATE_KEY_CHARS: Final = 90


def fit_target(subject: Target, room: int, reasons: int) -> tuple[Target, int]:
    """Drop the signature if the reasons need its room, shorten names to fit, and return the target with its size."""
    bare = subject
    if subject.definition and target_chars(subject) + reasons > room:
        symbol = subject.definition.symbol._replace(signature="")
        bare = replace(subject, definition=replace(subject.definition, symbol=symbol))
    shown = _shorten_names(bare, room)
    return shown, target_chars(shown)


def fit_candidates(found: Sequence[Target], room: int) -> tuple[Target, ...]:
    """Return as many of the first candidates as fit, at least one, with its names shortened."""
    shown = [*(fit_target(it, room - _CANDIDATE_KEY_CHARS, 0)[0] for it in found[:1]), *found[1:]]
    ends = accumulate(target_chars(it) + _CANDIDATE_KEY_CHARS for it in shown)
    return tuple(it for place, (it, end) in enumerate(zip(shown, ends, strict=True)) if end <= room or not place)


def target_chars(subject: Target) -> int:
    """Return the size in the longest output format: for commits the text, which has title and author."""
    return sum(map(json_chars, (*_target_names(subject), *_other_texts(subject))))


def _shorten_names(subject: Target, room: int) -> Target:
    if target_chars(subject) <= room:
        return subject
    return _with_names(
        subject, cut_to_share(_target_names(subject), room - sum(map(json_chars, _other_texts(subject))))
    )


def _target_names(subject: Target) -> tuple[str, ...]:
    record = subject.record
    if record is None:
        return (subject.name,)
    names = (subject.name, record.path, record.collection)
    return (*names, record.title, record.facets.get(AUTHOR_KEY, "")) if record.kind == COMMIT_ITEM_KIND else names


def _with_names(subject: Target, names: Sequence[str]) -> Target:
    if subject.record is None:
        return replace(subject, name=names[0])
    record = replace(subject.record, path=names[1], collection=names[2])
    if record.kind == COMMIT_ITEM_KIND:
        record = replace(record, title=names[3], facets={**record.facets, AUTHOR_KEY: names[4]})
    return replace(subject, name=names[0], record=record)


def _other_texts(subject: Target) -> tuple[str, ...]:
    symbol = subject.definition.symbol if subject.definition else None
    kind = symbol.kind if symbol else subject.record.kind if subject.record else ""
    signature = ("signature", f"{abbreviate(symbol.signature)}: , ") if symbol and symbol.signature else ()
    return (kind, *signature)


# --------------------------------------------------------------------------------------------------

# With little room, the reasons for the code matter more than its users.
_SECTION_ORDER: Final = ("commits", "memories", "callers", "documents", "tests")
_REASON_SECTIONS: Final = ("commits", "memories")
_FRAME_CHARS: Final = 250  # key and section names, two lines
_KEY_CHARS: Final = 6  # quotes, colon, comma, spaces
_NUMBER_CHARS: Final = 6
_COMMIT_CHARS: Final = 50  # hash prefix and date, with their keys
_SOURCE_KEY_CHARS: Final = 45
_SOURCE_SHARE: Final = 0.3
_MAX_SOURCE_LINES: Final = 40


def available_chars(budget_tokens: int) -> int:
    """Return the characters available besides the frame, in JSON, the longest output format."""
    return budget_tokens * CHARS_PER_TOKEN - _FRAME_CHARS


def counts_chars(found: Sequence[tuple[str, SectionItems]]) -> int:
    return sum(len(name) + _KEY_CHARS + len(str(len(it.neighbours))) for name, it in found if it.neighbours)


def notes_chars(notes: Sequence[str]) -> int:
    return sum(json_chars(it) + LINE_OVERHEAD_CHARS for it in notes)


def fit_names(names: Sequence[str], room: int) -> tuple[str, ...]:
    """Return as many of the first names as fit."""
    ends = accumulate(json_chars(it) + LINE_OVERHEAD_CHARS for it in names)
    return tuple(it for it, end in zip(names, ends, strict=True) if end <= room)


def reasons_chars(found: Sequence[tuple[str, SectionItems]]) -> int:
    """Return the size of the best item in each section that gives reasons."""
    return sum(item_chars(it.neighbours[0]) for name, it in found if name in _REASON_SECTIONS and it.neighbours)


def fit_source(source: SourceExcerpt, room: int, reasons: int = 0) -> tuple[SourceExcerpt, int]:
    """Return the first source lines that fit their share, leaving enough for the reasons, and their size."""
    share, used, lines = min(int(room * _SOURCE_SHARE), room - reasons), _SOURCE_KEY_CHARS, 0
    for line in source.lines[:_MAX_SOURCE_LINES]:
        cost_of_line = json_chars(line) + LINE_OVERHEAD_CHARS
        if used + cost_of_line > share:
            break
        used, lines = used + cost_of_line, lines + 1
    if not lines:
        return NO_SOURCE_EXCERPT, 0
    left = source.left_out + len(source.lines) - lines
    return SourceExcerpt(source.start_line, source.lines[:lines], left), used


def fit_sections(found: Sequence[tuple[str, SectionItems]], room: int) -> tuple[WhySection, ...]:
    """Fill sections round-robin while there is room; long items lose their text, then also their explanation."""
    shown: dict[str, list[RelatedItem]] = {name: [] for name, _ in found}
    waiting = {name: list(it.neighbours) for name, it in sorted(found, key=_section_rank) if it.neighbours}
    while waiting:
        for name, neighbours in list(waiting.items()):
            fit = _shorten_to_fit(neighbours.pop(0), room)
            if fit is not None:
                room -= item_chars(fit)
                shown[name].append(fit)
            if fit is None or not neighbours:
                del waiting[name]
    return tuple(WhySection(name, tuple(shown[name]), len(it.neighbours)) for name, it in found)


def _section_rank(found: tuple[str, SectionItems]) -> int:
    return _SECTION_ORDER.index(found[0]) if found[0] in _SECTION_ORDER else len(_SECTION_ORDER)


def _shorten_to_fit(item: RelatedItem, room: int) -> RelatedItem | None:
    forms = (item, replace(item, text=""), replace(item, text="", how=""))
    return next((it for it in forms if item_chars(it) <= room), None)


def item_chars(item: RelatedItem) -> int:
    """Return the length of an item in its longest output format."""
    optional = {
        "confidence": item.confidence,
        "how": item.how,
        "text": item.text,
        "warning": item.warning,
    }
    texts = {"kind": item.kind, "name": item.name, **{key: it for key, it in optional.items() if it}}
    place = sum(_place_chars(item.record, item.line)) if item.record else len('"indexed": false, ')
    return LINE_OVERHEAD_CHARS + sum(len(key) + _KEY_CHARS + json_chars(it) for key, it in texts.items()) + place


def _place_chars(record: Record, line: int) -> Iterator[int]:
    if record.kind == COMMIT_ITEM_KIND:
        author = record.facets.get(AUTHOR_KEY, "").partition(" <")[0]
        yield _COMMIT_CHARS + len(AUTHOR_KEY) + _KEY_CHARS + json_chars(author)
        return
    yield len("path") + _KEY_CHARS + json_chars(record.path)
    yield len("line") + _KEY_CHARS + _NUMBER_CHARS if line else 0
    type_ = record.facets.get("type", "")
    key, value = ("type", type_) if type_ else ("collection", record.collection)
    yield len(key) + _KEY_CHARS + json_chars(value)


# --------------------------------------------------------------------------------------------------
# Memories with their text and with warnings, evaluated only for those that can be shown.

MEMORY_KIND = "memory"


def sort_by_validity(
    context: WhyContext, memories: Sequence[tuple[RelatedItem, Record]], room: int
) -> list[RelatedItem]:
    """Sort memories without warnings first.

    Comparing a memory with its code is slow, so only as many are compared as fit, valid ones first.
    """
    ordered = sorted(memories, key=lambda it: not _validity(context, it[1]).counts)
    least = min((item_chars(replace(it, text="", how="")) for it, _ in ordered), default=1)
    most = room // least
    shown = [memory_item(context, *it) for it in ordered[:most]]
    return [*sorted(shown, key=lambda it: bool(it.warning)), *(it for it, _ in ordered[most:])]


def memory_item(context: WhyContext, it: RelatedItem, record: Record) -> RelatedItem:
    """Add a text, if the link has none, and the warnings against the memory."""
    chunks = context.view.chunks(record) if not it.text else []
    text = it.text or abbreviate(chunks[0].chunk.text if chunks else "")
    return replace(it, text=text, warning="; ".join(_warnings(context, record)))


def _warnings(context: WhyContext, record: Record) -> Iterator[str]:
    validity = _validity(context, record)
    yield from replace(validity, superseded_by=validity.superseded_by[:1]).sentences()
    yield from context.staleness(record)


def _validity(context: WhyContext, record: Record) -> MemoryValidity:
    among = load_memory_edges(context.view, Scope(collections=(record.collection,), kinds=(MEMORY_KIND,)), SUPERSEDES)
    return memory_validity(record, among, context.now)
