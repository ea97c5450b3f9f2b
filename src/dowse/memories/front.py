"""Front matter of memories, written and changed without losing what a hand wrote there: other keys, comments, order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from dowse.text.anchors import ANCHORS
from dowse.text.frontmatter import Value, front_matter, strings

ANCHORED_AT: Final = "anchored_at"

_BOM = "\ufeff"
_EMPTY = "---\n---\n"
# Between two such lines stands what was meant as front matter, even if it is no mapping.
_FENCED = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:(?!\r?\n)[^\n]*\n)*?\1[ \t]*\r?(?:\n|\Z)")
_FENCED_CHARS: Final = 64 * 1024


def body_start(text: str) -> int:
    """Where the body begins: behind the front matter, or behind what stands where one would."""
    skipped = len(_BOM) if text.startswith(_BOM) else 0
    rest = text[skipped:]
    end = front_matter(rest).end
    if not end:
        fenced = _FENCED.match(rest[:_FENCED_CHARS])
        end = fenced.end() if fenced else 0
    return skipped + end if end else 0


def body(text: str) -> str:
    return text[body_start(text) :].strip("\r\n")


def facts(text: str) -> Mapping[str, Value]:
    return front_matter(text.removeprefix(_BOM)).values


def composed(values: Mapping[str, str | Sequence[str]], content: str) -> str:
    """A new memory; what is empty is left out."""
    lines = [line for key, value in values.items() if value for line in _entry(key, value)]
    return "\n".join(["---", *lines, "---", "", _ended(content)])


def extended(text: str, content: str) -> str:
    """The content as a paragraph below the text."""
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return _guarded(text + gap + _ended(content), body_start(text))


def with_body(text: str, content: str) -> str:
    """The content in place of the body."""
    start = body_start(text)
    if not start:
        return _guarded(_ended(content), 0)
    head = text[:start]
    return f"{head if head.endswith(chr(10)) else head + chr(10)}\n{_ended(content)}"


def renewed(text: str, anchors: Mapping[str, str], at: str) -> str:
    """The same with other words for some of its anchors; the text as it was, where that can not be done safely."""
    before = facts(text)
    written = strings(before, ANCHORS)
    if not any(it in anchors for it in written):
        return text
    start = body_start(text)
    changed = _with_line(_with_anchors(text[:start], anchors), ANCHORED_AT, at) + text[start:]
    wanted = {**before, ANCHORS: tuple(anchors.get(it, it) for it in written), ANCHORED_AT: at}
    after = facts(changed)
    is_right = {**after, ANCHORS: strings(after, ANCHORS)} == wanted and body(changed) == body(text)
    return changed if is_right else text


def _with_anchors(head: str, anchors: Mapping[str, str]) -> str:
    """Only between the key and the next one."""
    key = re.search(rf"^{ANCHORS}[ \t]*:", head, re.MULTILINE | re.IGNORECASE)
    if key is None:
        return head
    following = re.compile(r"^(?:[^\s#\-\]]|---)", re.MULTILINE).search(head, key.end())
    end = following.start() if following else len(head)
    longest_first = sorted(anchors, key=len, reverse=True)
    any_of = "|".join(map(re.escape, longest_first))
    one = re.compile(rf"(?<![^\s\"',\[])(?:{any_of})(?=[\s\"',\]]|\Z)")
    return head[: key.end()] + one.sub(lambda it: anchors[it[0]], head[key.end() : end]) + head[end:]


def _with_line(head: str, key: str, value: str) -> str:
    line = _entry(key, value)[0]
    changed, found = re.subn(rf"^{key}[ \t]*:[^\r\n]*", lambda _: line, head, count=1, flags=re.MULTILINE)
    if found:
        return changed
    above, fence, closing = head.rstrip().rpartition("\n")
    return f"{above}\n{line}{fence}{closing}{head[len(head.rstrip()) :] or chr(10)}"


def _entry(key: str, value: str | Sequence[str]) -> list[str]:
    if isinstance(value, str):
        return [f"{key}: {_quoted(value)}"]
    return [f"{key}:", *(f"  - {_quoted(it)}" for it in value)]


def _quoted(text: str) -> str:
    """As JSON does it, which YAML reads the same as long as everything can be printed."""
    return json.dumps(text, ensure_ascii=False)


def _ended(content: str) -> str:
    return content if content.endswith("\n") else f"{content}\n"


def _guarded(text: str, start: int) -> str:
    """Where there was none (the body began at 0), what begins like front matter now gets an empty one before it, so
    that it stays part of the body."""
    return text if start or not body_start(text) else _EMPTY + text
