"""What is written into the front matter of a new memory, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dowse.errors import BadInput
from dowse.text.frontmatter import Value, scalar, strings
from dowse.text.memory_facts import ACTIVE, JOURNAL, TYPES
from dowse.text.times import iso, moment_of

MAX_TAG_CHARS: Final = 100
MAX_ENTRIES: Final = 100

Facts = dict[str, str | Sequence[str]]


def checked_facts(
    *, type: str, tags: Sequence[str], created_at: str, valid_from: str = "", valid_until: str = ""
) -> Facts:
    """Raises BadInput for what a memory can not say of itself."""
    if type not in TYPES:
        raise BadInput(f"{type[:50]!r} is no type of memory; there are {', '.join(TYPES)}")
    begins, ends = _checked_time("valid_from", valid_from), _checked_time("valid_until", valid_until, last=True)
    if begins and ends and begins > ends:
        raise BadInput(f"valid_until ({ends}) is before valid_from ({begins}), so that it would never hold; swap them")
    return {
        "type": type,
        "status": ACTIVE,
        "tags": checked_tags(tags),
        "created_at": created_at,
        "valid_from": begins,
        "valid_until": ends,
    }


def checked_tags(tags: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(it.strip().lstrip("#").strip() for it in tags))
    unfit = [it for it in names if not it or len(it) > MAX_TAG_CHARS or not it.isprintable() or "," in it]
    if unfit or len(names) > MAX_ENTRIES:
        shown = f"{unfit[0][:50]!r}" if unfit else f"{len(names):,} of them"
        raise BadInput(f"tags are up to {MAX_ENTRIES} short words without commas, not {shown}")
    return names


def merged_facts(sources: Sequence[Mapping[str, Value]], created_at: str) -> Facts:
    """The tags of all, and the type they share."""
    types = {found if (found := scalar(it, "type").lower()) in TYPES else JOURNAL for it in sources}
    tags = dict.fromkeys(tag for it in sources for tag in strings(it, "tags") if tag.isprintable())
    anchors = dict.fromkeys(anchor for it in sources for anchor in strings(it, "anchors") if anchor.isprintable())
    return {
        "type": types.pop() if len(types) == 1 else JOURNAL,
        "status": ACTIVE,
        "tags": list(tags),
        "created_at": created_at,
        "anchors": list(anchors),
    }


def _checked_time(name: str, text: str, *, last: bool = False) -> str:
    if not text.strip():
        return ""
    moment = moment_of(text, last=last)
    if moment is None:
        raise BadInput(f"{name} must be a time such as 2026-11-02 or 2026-11-02T10:30, not {text[:50]!r}")
    return iso(moment)
