"""The front matter of a note."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from dowse.errors import BadInput
from dowse.text.frontmatter import FrontMatterValue, list_value, parse_front_matter, text_value
from dowse.text.memory_notes import ACTIVE, JOURNAL, MEMORY_TYPES
from dowse.text.references import ANCHORS_KEY
from dowse.text.times import format_iso, parse_timestamp

ANCHORED_AT: Final = "anchored_at"

_BOM = "\ufeff"
_EMPTY_FRONT_MATTER = "---\n---\n"
# Text between two fences was meant as front matter, even if it is not a valid mapping.
_FRONT_FENCE = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:(?!\r?\n)[^\n]*\n)*?\1[ \t]*\r?(?:\n|\Z)")
_MAX_FENCED_CHARS: Final = 64 * 1024


def body_start(text: str) -> int:
    """Return the offset of the body, behind the front matter or anything fenced like front matter."""
    skipped = len(_BOM) if text.startswith(_BOM) else 0
    rest = text[skipped:]
    end = parse_front_matter(rest).end
    if not end:
        fenced = _FRONT_FENCE.match(rest[:_MAX_FENCED_CHARS])
        end = fenced.end() if fenced else 0
    return skipped + end if end else 0


def body_of(text: str) -> str:
    return text[body_start(text) :].strip("\r\n")


def parse_facts(text: str) -> Mapping[str, FrontMatterValue]:
    return parse_front_matter(text.removeprefix(_BOM)).values


def compose(values: Mapping[str, str | Sequence[str]], content: str) -> str:
    """Return the text of a new memory; empty values are left out."""
    lines = [line for key, value in values.items() if value for line in _format_entry(key, value)]
    return "\n".join(["---", *lines, "---", "", _end_with_newline(content)])


def append_paragraph(text: str, content: str) -> str:
    """Return the text with the content appended as a paragraph."""
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return _guard_body(text + gap + _end_with_newline(content), body_start(text))


def with_body(text: str, content: str) -> str:
    """Return the text with its body replaced."""
    start = body_start(text)
    if not start:
        return _guard_body(_end_with_newline(content), 0)
    head = text[:start]
    return f"{head if head.endswith(chr(10)) else head + chr(10)}\n{_end_with_newline(content)}"


def rewrite_anchors(text: str, anchors: Mapping[str, str], at: str) -> str:
    """Return the text with some anchors rewritten; unchanged if that cannot be done safely."""
    before = parse_facts(text)
    written = list_value(before, ANCHORS_KEY)
    if not any(it in anchors for it in written):
        return text
    start = body_start(text)
    changed = _set_line(_replace_anchors(text[:start], anchors), ANCHORED_AT, at) + text[start:]
    wanted = {**before, ANCHORS_KEY: tuple(anchors.get(it, it) for it in written), ANCHORED_AT: at}
    after = parse_facts(changed)
    is_right = {**after, ANCHORS_KEY: list_value(after, ANCHORS_KEY)} == wanted and body_of(changed) == body_of(text)
    return changed if is_right else text


def _replace_anchors(head: str, anchors: Mapping[str, str]) -> str:
    """Replace anchors, but only between the anchors key and the next key."""
    key = re.search(rf"^{ANCHORS_KEY}[ \t]*:", head, re.MULTILINE | re.IGNORECASE)
    if key is None:
        return head
    following = re.compile(r"^(?:[^\s#\-\]]|---)", re.MULTILINE).search(head, key.end())
    end = following.start() if following else len(head)
    longest_first = sorted(anchors, key=len, reverse=True)
    any_of = "|".join(map(re.escape, longest_first))
    one = re.compile(rf"(?<![^\s\"',\[])(?:{any_of})(?=[\s\"',\]]|\Z)")
    return head[: key.end()] + one.sub(lambda it: anchors[it[0]], head[key.end() : end]) + head[end:]


def _set_line(head: str, key: str, value: str) -> str:
    line = _format_entry(key, value)[0]
    changed, found = re.subn(rf"^{key}[ \t]*:[^\r\n]*", lambda _: line, head, count=1, flags=re.MULTILINE)
    if found:
        return changed
    above, fence, closing = head.rstrip().rpartition("\n")
    return f"{above}\n{line}{fence}{closing}{head[len(head.rstrip()) :] or chr(10)}"


def _format_entry(key: str, value: str | Sequence[str]) -> list[str]:
    if isinstance(value, str):
        return [f"{key}: {_quote_scalar(value)}"]
    return [f"{key}:", *(f"  - {_quote_scalar(it)}" for it in value)]


def _quote_scalar(text: str) -> str:
    """Quote as JSON, which YAML reads the same way as long as all characters are printable."""
    return json.dumps(text, ensure_ascii=False)


def _end_with_newline(content: str) -> str:
    return content if content.endswith("\n") else f"{content}\n"


def _guard_body(text: str, start: int) -> str:
    """Keep a body that starts like front matter from becoming it, by putting an empty front matter before it.

    Only needed if the text had no front matter before, that is if its body started at 0.
    """
    return text if start or not body_start(text) else _EMPTY_FRONT_MATTER + text


# --------------------------------------------------------------------------------------------------
# Validation of the front matter of new memories.

MAX_TAG_CHARS: Final = 100
MAX_LIST_ENTRIES: Final = 100

FrontMatterFields = dict[str, str | Sequence[str]]


def validate_facts(
    *, type: str, tags: Sequence[str], created_at: str, valid_from: str = "", valid_until: str = ""
) -> FrontMatterFields:
    """Return the front matter fields of a new memory; raise BadInput if one is invalid."""
    if type not in MEMORY_TYPES:
        raise BadInput(f"{type[:50]!r} is not a memory type; use one of {', '.join(MEMORY_TYPES)}")
    begins, ends = _validate_time("valid_from", valid_from), _validate_time("valid_until", valid_until, last=True)
    if begins and ends and begins > ends:
        raise BadInput(f"valid_until ({ends}) is before valid_from ({begins}); swap them")
    return {
        "type": type,
        "status": ACTIVE,
        "tags": validate_tags(tags),
        "created_at": created_at,
        "valid_from": begins,
        "valid_until": ends,
    }


def validate_tags(tags: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(it.strip().lstrip("#").strip() for it in tags))
    unfit = [it for it in names if not it or len(it) > MAX_TAG_CHARS or not it.isprintable() or "," in it]
    if unfit or len(names) > MAX_LIST_ENTRIES:
        shown = f"{unfit[0][:50]!r}" if unfit else f"{len(names):,} tags"
        raise BadInput(f"use at most {MAX_LIST_ENTRIES} short tags without commas, not {shown}")
    return names


def merge_facts(sources: Sequence[Mapping[str, FrontMatterValue]], created_at: str) -> FrontMatterFields:
    """Return the front matter of a merged memory: the tags and anchors of all sources, and their type if they share
    one."""
    types = {found if (found := text_value(it, "type").lower()) in MEMORY_TYPES else JOURNAL for it in sources}
    tags = dict.fromkeys(tag for it in sources for tag in list_value(it, "tags") if tag.isprintable())
    anchors = dict.fromkeys(anchor for it in sources for anchor in list_value(it, "anchors") if anchor.isprintable())
    return {
        "type": types.pop() if len(types) == 1 else JOURNAL,
        "status": ACTIVE,
        "tags": list(tags),
        "created_at": created_at,
        "anchors": list(anchors),
    }


def _validate_time(name: str, text: str, *, last: bool = False) -> str:
    if not text.strip():
        return ""
    moment = parse_timestamp(text, last=last)
    if moment is None:
        raise BadInput(f"{name} must be a time such as 2026-11-02 or 2026-11-02T10:30, not {text[:50]!r}")
    return format_iso(moment)
