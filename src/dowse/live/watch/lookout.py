"""Watches one place by the best means there is, and notices when its root goes and comes back."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from dowse.live.watch.base import GIT, RETURNED, Place, Reason, Timing
from dowse.live.watch.gather import Due, Gather
from dowse.live.watch.inotify import CanNotWatch, Notifier
from dowse.live.watch.polling import Polling
from dowse.live.watch.remote import remote_kind
from dowse.live.watch.tree import RootGone, Tree
from dowse.places import is_stored_root

Method = Literal["inotify", "polling", "off"]


@dataclass(frozen=True, slots=True)
class Means:
    """What every lookout of a watcher shares. The lock guards what questions and the watching thread both touch."""

    timing: Timing
    notifier: Callable[[], Notifier]
    clock: Callable[[], float]
    lock: Lock


class Lookout:
    """Only the watching thread opens, looks around and closes; `look` and what it notes need the lock."""

    def __init__(self, place: Place, means: Means) -> None:
        self.place = place
        self.gather = Gather(place.collection, means.timing)
        self.eye: Tree | Polling | None = None
        self.is_missing = False
        self.why = ""
        self._means = means
        self._received_before = 0

    @property
    def method(self) -> Method:
        if self.eye is None:
            return "off"
        return "inotify" if isinstance(self.eye, Tree) else "polling"

    @property
    def received(self) -> int:
        return self._received_before + (self.eye.received if self.eye else 0)

    def fileno(self) -> int:
        return self.eye.fileno() if isinstance(self.eye, Tree) else -1

    def open(self, reason: Reason | None) -> bool:
        """Begin to watch, again if need be; for a reason, everything is compared then. False if there is no root."""
        self.close()
        self.place.renew()
        eye = self._best_eye()
        with self._means.lock:
            self.eye = eye
            self.is_missing = eye is None
            if eye is None:
                self.gather.forget()
            elif reason is not None:
                self.gather.compare(reason, self._means.clock())
        return eye is not None

    def close(self) -> None:
        with self._means.lock:
            if self.eye is not None:
                self._received_before += self.eye.received
                self.eye.close()
            self.eye = None
            self.is_missing = False

    def look(self) -> bool:
        """Note what the system has told up to now; whether it is known what changed. Needs the lock."""
        if not isinstance(self.eye, Tree):
            return self.is_missing and not self._is_there()
        self.gather.see(self.eye.look(), self._means.clock())
        return self.eye.is_there()

    def look_around(self) -> None:
        """What the system does not tell: polled files, roots that went or came back."""
        if self.is_missing:
            if self._is_there():
                self.open(RETURNED)
        elif isinstance(self.eye, Tree):
            if not self.eye.is_there():
                self.open(RETURNED)
        elif isinstance(self.eye, Polling) and self._means.clock() >= self.eye.next_at:
            self._poll(self.eye)

    def next_at(self) -> float:
        """When to look around again."""
        usual = self._means.clock() + self._means.timing.poll_s
        return self.eye.next_at if isinstance(self.eye, Polling) else usual

    def prepared(self, due: Due) -> bool:
        """Watch other directories where the rules have changed; false if there is nothing to compare any more."""
        must_open = any(it.anew for it in due.reasons)
        if must_open or (GIT in due.reasons and self.place.renew()):
            with self._means.lock:
                self.gather.blinds(due.batch)  # what changes between the old eye and the new one is seen by neither
            return self.open(None)
        return True

    def _best_eye(self) -> Tree | Polling | None:
        every_s = self._means.timing.poll_s
        try:
            tree = self._tree()
        except RootGone:
            self.why = f"{self.place.root} is not there or may not be read; it is watched when it is back"
            return None
        except CanNotWatch as error:
            self.why = f"{error}; until then files are looked at every {every_s:g} s"
            return Polling(self.place, every_s, self._means.clock)
        self.why = ""
        return tree

    def _tree(self) -> Tree:
        if not self._is_there():
            raise RootGone
        kind = remote_kind(self.place.root)
        if kind is not None:
            raise CanNotWatch(f"{self.place.root} is on a file system ({kind}) where others change files unseen")
        return Tree(self.place, self._means.notifier())

    def _poll(self, eye: Polling) -> None:
        if not self._is_there():
            self.open(RETURNED)
            return
        sights = eye.look()
        with self._means.lock:
            self.gather.see(sights, self._means.clock())

    def _is_there(self) -> bool:
        return is_stored_root(self.place.root) and os.access(self.place.root, os.R_OK | os.X_OK)
