"""One thread with one git process: takes requests, keeps a few under way, and starts another process when one ends."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, NamedTuple

from dowse.errors import Unreadable
from dowse.ingest.sources.git.reading.channel import Channel

# Under way at a time: enough to keep a process busy, and little to ask for again when it ends.
_AT_ONCE: Final = 64
_FEW: Final = 8

Told = Callable[[str, bytes | None, bool], bytes]


class Request(NamedTuple):
    name: str
    future: Future[bytes]


class Pump:
    """`changed` guards the requests and everybody's futures; `told` makes of a frame, or of there being none, what is
    to be handed on, or raises Unreadable."""

    def __init__(
        self, requests: deque[Request], changed: threading.Condition, open_channel: Callable[[], Channel], told: Told
    ) -> None:
        self._requests = requests
        self._changed = changed
        self._open = open_channel
        self._told = told
        self._asked: deque[Request] = deque()
        self._channel: Channel | None = None
        self._is_over = False
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="dowse-git", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Whoever calls it holds the lock."""
        self._is_over = True
        if self._channel is not None:
            self._channel.kill()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._take():
                self._hand_on()
        except Exception as error:  # noqa: BLE001 (whoever waits, or asks later, fails for it instead of waiting on)
            self._fail(error)
        self._close()

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self.failure = error
            for _, future in (*self._asked, *self._requests):
                if not future.done():
                    future.set_exception(error)
            self._requests.clear()

    def _take(self) -> bool:
        """Ask for some of what is wanted; false when it is time to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._asked or self._requests)
            room = min(_AT_ONCE - len(self._asked), len(self._requests))
            taken = [] if self._is_over else [self._requests.popleft() for _ in range(room)]
        if taken and not self._asked and self._channel is not None and not self._channel.is_alive():
            self._close()  # with nothing to do, so that none of these is to blame
        self._asked.extend(taken)
        self._ask(taken)
        return not self._is_over

    def _ask(self, requests: list[Request]) -> None:
        if self._channel is None:
            try:
                self._reopen()
            except OSError:
                return  # nobody will answer, which is told one by one
        elif requests:
            self._channel.ask([it.name for it in requests])

    def _reopen(self) -> None:
        channel = self._open()
        with self._changed:
            self._channel = channel
            if self._is_over:
                channel.kill()
        channel.ask([it.name for it in self._asked])

    def _hand_on(self) -> None:
        few = len(self._asked) <= _FEW
        frame = self._channel.receive(in_a_hurry=few) if self._channel is not None else None
        name, future = self._asked.popleft()
        if frame is None or frame.ends:
            self._close()
        if self._is_over:
            return  # its future was told
        data: bytes | Unreadable
        try:
            data = self._told(name, frame.data if frame else None, bool(frame and frame.cut))
        except Unreadable as error:
            data = error
        with self._changed:
            if future.done():
                return
            if isinstance(data, Unreadable):
                future.set_exception(data)
            else:
                future.set_result(data)

    def _close(self) -> None:
        with self._changed:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
