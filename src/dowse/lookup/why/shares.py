"""Texts that share a room: short ones stay whole, long ones are cut alike."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from dowse.lookup.why.shortened import beginning

LINE_CHARS: Final = 4
_LEAST_NOTE: Final = 40  # less of a sentence says nothing


def chars(text: str) -> int:
    """What it takes in the longest form, JSON."""
    return len(json.dumps(text, ensure_ascii=False))


def sharing(texts: Sequence[str], room: int) -> tuple[str, ...]:
    """All of them, each as far as its share goes: of those that are too long, none has more than another."""
    share = allowance([chars(it) for it in texts], room)
    return tuple(it if chars(it) <= share else beginning(it, share) for it in texts)


def allowance(lengths: Sequence[int], room: int) -> int:
    """The most that each may take, so that all together fit."""
    return bisect_right(range(1, max(room, 0) + 1), room, key=lambda most: sum(min(it, most) for it in lengths))


def fitting_notes(notes: Sequence[str], room: int) -> tuple[str, ...]:
    """All that are different, or the first of them; how many are left out is said, too."""
    said = tuple(dict.fromkeys(notes))
    for kept in range(len(said), 1, -1):
        shown = (*said[:kept], *_left_out(len(said) - kept))
        within = room - LINE_CHARS * len(shown)
        if allowance([chars(it) for it in shown], within) >= _LEAST_NOTE:
            return sharing(shown, within)
    first = (*said[:1], *_left_out(len(said) - 1))
    return sharing(first, room - LINE_CHARS * len(first))


def _left_out(count: int) -> tuple[str, ...]:
    return (f"{count} more such note{'' if count == 1 else 's'}",) if count > 0 else ()
