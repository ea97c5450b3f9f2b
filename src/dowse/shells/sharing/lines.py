"""Bytes as they come, cut into lines; a line that is too long is dropped as it arrives, never kept."""

from __future__ import annotations

MAX_LINE_BYTES = 16_000_000
TOO_LONG = f"a message may have at most {MAX_LINE_BYTES // 1_000_000} MB; ask with less text"


class Lines:
    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that are whole now, each with its newline; None stands for one that was too long."""
        *ends, rest = data.split(b"\n")
        lines = [self._ended(end + b"\n") for end in ends]
        self._keep(rest)
        return lines

    def rest(self) -> bytes | None:
        """What came after the last newline, as a line: the input has ended; empty if nothing did."""
        return self._ended(b"")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _ended(self, end: bytes) -> bytes | None:
        self._keep(end)
        line = None if self._size > self._limit else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line
