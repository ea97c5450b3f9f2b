"""One client of the shared server: its socket, read line by line, and written to as slowly as it likes."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator

import anyio

from dowse.shells.sharing.lines import Lines

_READ_BYTES = 65_536


class Connection:
    def __init__(self, peer: socket.socket) -> None:
        peer.setblocking(False)
        self._peer = peer
        self._waiting: anyio.CancelScope | None = None
        self._ended = False

    def end_input(self) -> None:
        """As if the client had closed its end: what was asked is still answered."""
        self._ended = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def lines(self) -> AsyncGenerator[bytes | None, None]:
        """Until the client closes its end; None stands for a line that was too long."""
        lines = Lines()
        while data := await self._receive():
            for line in lines.feed(data):
                yield line
        if rest := lines.rest():
            yield rest

    async def _receive(self) -> bytes:
        with anyio.CancelScope() as self._waiting:
            while not self._ended:
                await anyio.wait_readable(self._peer)
                try:
                    return self._peer.recv(_READ_BYTES)
                except BlockingIOError:
                    continue
                except ConnectionError:
                    return b""
        return b""

    async def write(self, data: bytes) -> None:
        """Whole, however slowly it is read; a client that is gone needs no answers."""
        left = memoryview(data)
        while left:
            try:
                left = left[self._peer.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._peer)
            except ConnectionError:
                self.end_input()
                return

    def close(self) -> None:
        self._peer.close()
