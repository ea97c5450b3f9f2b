"""Drafts become symbols: what they hold is worked out, headers become signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.expressions import Expressions, joined
from dowse.ingest.extract.code.source import Source
from dowse.model import Symbol
from dowse.text.expressions import UNKNOWN

if TYPE_CHECKING:
    from dowse.ingest.extract.code.drafts import Draft

MAX_SIGNATURE_CHARS: Final = 300
MAX_TYPE_CHARS: Final = 200
_MOST_RETURNS: Final = 4  # more than that say little, and take long to read


def symbols(drafts: list[Draft], expressions: Expressions, source: Source) -> tuple[Symbol, ...]:
    levels: list[int] = []
    found: list[Symbol] = []
    for draft in drafts:
        levels.append(0 if draft.parent is None else levels[draft.parent] + 1)
        found.append(_symbol(draft, levels[-1], expressions, source))
    return tuple(found)


def _symbol(draft: Draft, level: int, expressions: Expressions, source: Source) -> Symbol:
    it = draft.definition
    passed = it.parameters[it.hidden : len(it.parameters) - it.added]
    signature = source.line(*it.header, 4 * MAX_SIGNATURE_CHARS)
    return Symbol(
        name=it.name,
        kind=it.kind,
        start_line=it.span.start_point[0] + 1,
        end_line=_last_line(draft, source),
        level=level,
        parent=draft.parent,
        signature=signature[:MAX_SIGNATURE_CHARS].rstrip(" :;={"),
        holds=_holds(draft, expressions),
        parameters=tuple(parameter.type[:MAX_TYPE_CHARS] for parameter in passed),
        modifiers=it.modifiers,
        attributes=it.attributes,
        bases=it.bases,
        stats=draft.tally.stats(len(passed)) if draft.tally else None,
    )


def _last_line(draft: Draft, source: Source) -> int:
    if draft.definition.to_the_end:
        return source.data.rstrip().count(b"\n") + 1
    span = draft.definition.span
    if source.data[span.end_byte - 1 : span.end_byte].isspace():  # where indentation ends it, with all that follows
        return span.start_point[0] + source.data[span.start_byte : span.end_byte].rstrip().count(b"\n") + 1
    return span.end_point[0] + 1


def _holds(draft: Draft, expressions: Expressions) -> str:
    """As it is written, else what it is given, else what it returns; nothing where that can not be told."""
    it = draft.definition
    found = it.holds or expressions.written(it.type)
    if not found and it.value is not None:
        found = expressions.of(it.value, draft.scope)
    if not found and draft.given:
        found = joined(expressions.bound(binding, scope) for binding, scope in draft.given)
    if 0 < len(draft.returned) <= _MOST_RETURNS:
        if not found:
            found = expressions.returned(it, draft.returned, draft.scope)
        elif expressions.is_function_type(it.type):
            found = joined([found, *(expressions.followed(each, draft.scope) for each in draft.returned)])
    return "" if found.startswith(UNKNOWN) else found
