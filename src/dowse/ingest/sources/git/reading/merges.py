"""What merges changed by themselves: the files that differ from those of every parent, told by a process of its own.

With the lines and renamings of all other commits it would have to read every file that both sides changed; names and
statuses alone need the trees only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from dowse.errors import Unreadable
from dowse.ingest.sources.git.reading.channel import Channel, Frame
from dowse.ingest.sources.git.reading.told import Touched
from dowse.text.surrogates import spelt_out

COMMAND: Final = ("diff-tree", "--stdin", "--no-commit-id", "-c", "-r", "-z", "--name-status", "--no-renames")


class Merges:
    """Used by one thread; started with the first merge that is asked for, and anew when it has ended. `end` may be
    called by any."""

    def __init__(self, git_directory: str, open_channel: Callable[[str, Sequence[str]], Channel] = Channel) -> None:
        self._git_directory = git_directory
        self._open = open_channel
        self._turn = threading.Lock()
        self._channel: Channel | None = None
        self._is_over = False

    def touched(self, name: str) -> list[Touched] | None:
        """None where git can not tell, because trees are missing or damaged. Raises Unreadable where it could not be
        asked."""
        # One that was ended by somebody else says nothing of the trees; one that they end, they end again.
        frame = self._told(name) or self._told(name)
        return None if frame is None or frame.cut else list(merged(frame.data))

    def end(self) -> None:
        with self._turn:
            self._is_over = True
            if self._channel is not None:
                self._channel.kill()

    def close(self) -> None:
        with self._turn:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _told(self, name: str) -> Frame | None:
        """None when git has ended instead."""
        channel = self._opened()
        channel.ask([name])
        frame = channel.receive()
        if frame is None or frame.ends:
            self.close()
        return frame

    def _opened(self) -> Channel:
        with self._turn:
            if self._is_over:
                raise Unreadable("reading it was given up", lasting=False)
            if self._channel is None:
                try:
                    self._channel = self._open(self._git_directory, COMMAND)
                except OSError as error:
                    why = f"git could not be started ({error.strerror or error}); the next run tries again"
                    raise Unreadable(why, lasting=False) from error
            return self._channel


def merged(frame: bytes) -> Iterator[Touched]:
    """A status for each parent, then the path: a file that none of them has is new, one that all have can be gone."""
    fields = iter(frame.split(b"\0"))
    for statuses, path in zip(fields, fields, strict=False):
        kinds = set(statuses.decode("ascii", "replace"))
        yield Touched(kinds.pop() if len(kinds) == 1 else "M", spelt_out(path))
