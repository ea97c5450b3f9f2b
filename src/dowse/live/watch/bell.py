"""Wakes a thread that waits for file descriptors."""

from __future__ import annotations

import os
import threading


class Bell:
    """A pipe with itself. Ringing one that was taken down does nothing, from whatever thread."""

    def __init__(self) -> None:
        self._ears, self._cord = os.pipe()
        os.set_blocking(self._ears, False)
        os.set_blocking(self._cord, False)
        self._lock = threading.Lock()
        self._is_up = True

    def fileno(self) -> int:
        return self._ears

    def ring(self) -> None:
        with self._lock:
            if self._is_up:
                try:
                    os.write(self._cord, b"!")
                except BlockingIOError:
                    return  # it is ringing already

    def hush(self) -> None:
        try:
            while os.read(self._ears, 4096):
                pass
        except BlockingIOError:
            return

    def take_down(self) -> None:
        with self._lock:
            self._is_up = False
            os.close(self._ears)
            os.close(self._cord)
