"""What can go wrong, each saying the next step.

DowseError
├── BadInput          the caller's words: a parameter, a path, a setting
├── NotIndexed        there is no index here yet
├── IndexBusy         another process holds the write lock
├── IndexUnusable     the index cannot be opened: newer version, not an index, damaged
├── Unreadable        one item cannot be indexed; sync lists it and goes on
├── ParserFailed      a parser gave up on one item; sync indexes it as plain text and says so
├── EncoderMissing    a model was asked for that is not installed or not intact
└── OtherVectors      the index's vectors are, by now, not of the encoder that was expected
"""

from __future__ import annotations


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
