"""Exceptions. Each message states the problem and the next step.

DowseError
├── BadInput          invalid input: a parameter, a path, a setting
├── NotIndexed        there is no index yet
├── IndexBusy         another process holds the write lock
├── IndexUnusable     the index cannot be opened: newer version, not an index
│   ├── IndexDamaged  the index cannot be read, as a whole or in part
│   └── IndexForeign  the index was not made by this user's Dowse
├── PartDamaged       one part of the index is damaged; the others keep working until it is rebuilt
├── Cancelled         a job was stopped; everything written so far is consistent
├── Unreadable        one item cannot be indexed; sync lists it and continues
├── ParserFailed      a parser failed on one item; sync indexes it as plain text and says so
├── EncoderMissing    the requested model is not installed or is damaged
└── OtherVectors      the vectors of the index no longer come from the expected encoder
"""

from __future__ import annotations

import re


class DowseError(Exception):
    """The base class of all errors raised on purpose; the message is one line for the user."""


class BadInput(DowseError):
    pass


class NotIndexed(DowseError):
    pass


class IndexBusy(DowseError):
    pass


class IndexUnusable(DowseError):
    pass


class IndexDamaged(IndexUnusable):
    pass


class IndexForeign(IndexUnusable):
    pass


def replace_repair_command(text: str, command: str) -> str:
    """Replace the repair command in an error message by another command."""
    return _REPAIR_COMMAND.sub(f"`{command}`", text)


_REPAIR_COMMAND = re.compile(r"`dowse (?:rebuild|doctor --fix)[^`]*`")


def damage_message(part: str, reason: str) -> str:
    """Return the message for a damaged part of an index."""
    return f"damaged {part} ({reason}): run `dowse doctor --fix`, or let a running server repair it"


class PartDamaged(DowseError):
    """A damaged part of the index; `part` is one of `dowse.store.base.STORE_PARTS`."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(damage_message(part, reason))
        self.part = part


class Cancelled(DowseError):
    pass


class Unreadable(DowseError):
    """An item that cannot be indexed. A `lasting` reason (binary, too large) holds until the file changes; others are
    retried."""

    def __init__(self, reason: str, *, lasting: bool = True) -> None:
        super().__init__(reason)
        self.lasting = lasting


class ParserFailed(DowseError):
    pass


class EncoderMissing(DowseError):
    pass


class EncoderMismatch(DowseError):
    pass
