"""What a process has found damaged so far, so that it can be told and mended; asking goes on with the rest."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import apsw

from dowse.errors import IndexDamaged, PartDamaged
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.seals import Unsound

Value = TypeVar("Value")

_log = logging.getLogger(__name__)


class Damage:
    """The parts, each with the first reason that was found."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._found: dict[str, str] = {}
        self._state: str | None = None

    def found(self, state: str | None = None) -> dict[str, str]:
        """What was found in this state of the index: in another one, it has to be found again."""
        with self._turn:
            if state != self._state and state is not None:
                if self._state is not None:
                    self._found.clear()
                self._state = state
            return dict(self._found)

    def note(self, part: str, reason: str) -> None:
        with self._turn:
            known = part in self._found
            self._found.setdefault(part, reason)
        if not known:
            _log.info("damaged %s in the index: %s", part, reason)

    @contextmanager
    def within(self, part: str) -> Iterator[None]:
        """Whatever can not be read inside is damage of this part, and of no other."""
        try:
            yield
        except (IndexDamaged, apsw.CorruptError, apsw.SQLError) as error:
            reason = str(error.__cause__ or error)
            self.note(part, reason)
            raise PartDamaged(part, reason) from error

    def sound(self, rows: Iterable[Row], make: Callable[[Row], Value]) -> Iterator[Value]:
        """What the rows hold, without those that are not as they were written."""
        for row in rows:
            try:
                yield make(row)
            except Unsound as error:
                self.note("records", str(error))
