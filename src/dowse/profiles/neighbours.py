"""What an answer is about and its neighbours, as JSON and as text: what `why`, `related` and the tools share."""

from __future__ import annotations

from collections.abc import Iterator

from dowse.lookup.why.question import Neighbour, Subject
from dowse.lookup.why.shortened import shortened
from dowse.model import Record
from dowse.text.times import iso
from dowse.text.untrusted import one_line

_HASH_CHARS = 12
_NS_PER_SECOND = 1_000_000_000
_COMMIT, _MEMORY = "commit", "memory"


# --- JSON: what is empty is left out ---


def subject_json(subject: Subject) -> dict[str, object]:
    record, definition = subject.record, subject.definition
    data: dict[str, object] = {"name": subject.name}
    if record is None:
        return {**data, "kind": "", "indexed": False}
    kind = definition.symbol.kind if definition else record.kind
    data |= {"kind": kind, "collection": record.collection, "path": record.path}
    if subject.first_line:
        data |= {"start_line": subject.first_line, "end_line": subject.last_line}
    if definition and definition.symbol.signature:
        data["signature"] = shortened(definition.symbol.signature)
    return data


def neighbour_json(it: Neighbour, collection: str) -> dict[str, object]:
    """`collection` is that of what was asked about; only others are named."""
    record = it.record
    place: dict[str, object] = {"indexed": False} if record is None else _place_json(record, it.line, collection)
    said = {"confidence": it.sure, "how": it.how, "text": it.text, "warning": it.warning}
    return {"kind": it.kind, "name": it.name, **place, **{key: value for key, value in said.items() if value}}


def _place_json(record: Record, line: int, collection: str) -> dict[str, object]:
    if record.kind == _COMMIT:
        return {"commit": record.path[:_HASH_CHARS], "at": day_of(record), "author": author_of(record)}
    data: dict[str, object] = {"path": record.path}
    if line:
        data["line"] = line
    if record.kind == _MEMORY:
        data["type"] = record.facets.get("type", "")
    elif record.collection != collection:
        data["collection"] = record.collection
    return data


def day_of(record: Record) -> str:
    """Empty for moments no calendar has, as commits may be given any."""
    try:
        return iso(record.moment_ns / _NS_PER_SECOND)[:10]
    except (ValueError, OverflowError, OSError):
        return ""


def author_of(record: Record) -> str:
    return record.facets.get("author", "").partition(" <")[0]


# --- text: a line for each, beginning with a place one can go to ---


def subject_text(subject: Subject) -> str:
    return one_line(_subject_text(subject))


def _subject_text(subject: Subject) -> str:
    record, definition = subject.record, subject.definition
    if record is None:
        return subject.name
    if record.kind == _COMMIT:
        return f"commit {_commit_text(record)}: {record.title}"
    last = f"-{subject.last_line}" if subject.last_line > subject.first_line else ""
    lines = f":{subject.first_line}{last}" if subject.first_line else ""
    what = f"{subject.name}  {definition.symbol.kind}  " if definition else f"{record.kind}  "
    return f"{what}{record.path}{lines}"


def neighbour_text(it: Neighbour, *, with_kind: bool = True) -> str:
    return one_line("  ".join(_parts(it, with_kind)))


def _parts(it: Neighbour, with_kind: bool) -> Iterator[str]:
    record = it.record
    line = f":{it.line}" if it.line else ""
    if record is None:
        yield f"{it.name} (not indexed)"
    elif record.kind == _COMMIT:
        yield f"{_commit_text(record)}: {it.name}"
    elif it.name in (shortened(record.title), record.path):
        yield f"{record.path}{line}{_type_text(record)}"
    else:
        yield f"{it.name}  {record.path}{line}"
    if it.text:
        yield f'"{it.text}"'
    if because := ": ".join(filter(None, (_tie(it, with_kind), it.how))):
        yield f"[{because}]"
    if it.warning:
        yield f"! {it.warning}"


def _tie(it: Neighbour, with_kind: bool) -> str:
    """How sure it is, or what ties it, unless its words say so."""
    if it.sure:
        return "" if it.sure == "exact" else it.sure
    is_told = it.kind == "names" or (it.record is not None and it.record.kind == _COMMIT)
    return "" if not with_kind or (is_told and it.how) else it.kind


def _commit_text(record: Record) -> str:
    return " ".join(filter(None, (record.path[:_HASH_CHARS], day_of(record), author_of(record))))


def _type_text(record: Record) -> str:
    type_ = record.facets.get("type", "") if record.kind == _MEMORY else ""
    return f" ({type_})" if type_ else ""


def candidate_text(subject: Subject) -> str:
    return one_line(_candidate_text(subject))


def _candidate_text(subject: Subject) -> str:
    record = subject.record
    if record is None:
        return subject.name
    if record.kind == _COMMIT:
        return f"{_commit_text(record)}: {record.title}"
    line = f":{subject.first_line}" if subject.first_line else ""
    kind = subject.definition.symbol.kind if subject.definition else record.kind
    return f"{record.path}{line}  {kind} {subject.name}  (collection {record.collection})"
