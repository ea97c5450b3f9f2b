"""What can go wrong, each saying the next step.

DowseError
├── BadInput          the caller's words: a parameter, a path, a setting
├── NotIndexed        there is no index here yet
├── IndexBusy         another process holds the write lock
├── IndexUnusable     the index cannot be opened: newer version, not an index
│   ├── IndexDamaged  it can not be read, as a whole or in the place that was asked for
│   └── IndexForeign  it was not made by this user's Dowse
├── PartDamaged       one part of the index is damaged; the others answer until it is made anew
├── Cancelled         a job was told to stop; what it has written by then is whole
├── Unreadable        one item cannot be indexed; sync lists it and goes on
├── ParserFailed      a parser gave up on one item; sync indexes it as plain text and says so
├── EncoderMissing    a model was asked for that is not installed or not intact
└── OtherVectors      the index's vectors are, by now, not of the encoder that was expected
"""

from __future__ import annotations

import re


class DowseError(Exception):
    """The root of everything Dowse raises on purpose; its text is one line for the user."""


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


def advised(text: str, command: str) -> str:
    """An error's text with another command in place of those that mend an index of `dowse`."""
    return _MENDING.sub(f"`{command}`", text)


_MENDING = re.compile(r"`dowse (?:rebuild|doctor --fix)[^`]*`")


def damage(part: str, reason: str) -> str:
    """What is said of a damaged part of an index."""
    return f"damaged {part} ({reason}): a running server mends that, or `dowse doctor --fix`"


class PartDamaged(DowseError):
    """`part` is one of `dowse.store.health.PARTS`."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(damage(part, reason))
        self.part = part


class Cancelled(DowseError):
    pass


class Unreadable(DowseError):
    """`lasting` reasons (binary, too large) hold until the file changes; others are tried again each time."""

    def __init__(self, reason: str, *, lasting: bool = True) -> None:
        super().__init__(reason)
        self.lasting = lasting


class ParserFailed(DowseError):
    pass


class EncoderMissing(DowseError):
    pass


class OtherVectors(DowseError):
    pass
