"""What the one that leads does about files: it watches every collection, and has all of them compared now and then."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dowse.config import Settings
from dowse.engine import Engine
from dowse.live.patience import AGAIN_AFTER_S
from dowse.live.requests import Requests
from dowse.live.watch import Batch, Timing, Watcher, WatchStatus, place_of


class Lookout:
    """Has a watcher for as long as it attends to an engine."""

    def __init__(self, requests: Requests, settings: Settings, clock: Callable[[], float]) -> None:
        self._requests = requests
        self._settings = settings
        self._clock = clock
        self._watcher: Watcher | None = None
        self._watched: tuple[str, ...] = ()
        self._attended: Engine | None = None
        self._compare_at: float | None = None  # the next comparison of everything

    def attend(self, engine: Engine) -> None:
        """From now on its answers ask here what is outstanding."""
        if engine is not self._attended:
            engine.watched_by(self.pending)
            self._attended = engine

    def watch(self, engine: Engine) -> None:
        """Follow every collection. Whenever that begins, all of it is compared, for what was missed before."""
        roots = _roots(engine)
        if self._watcher and roots == self._watched:
            return
        if self._watcher:
            self._watcher.close()
        places = [place_of(it.name, engine.files(it.name)) for it in engine.collections()]
        self._watcher, self._watched = Watcher(places, self._follow, Timing.of(self._settings)), roots
        self._watcher.start()
        self._put_off()

    def compare_when_due(self) -> None:
        if self._compare_at is not None and self._clock() >= self._compare_at:
            self._requests.compare(unless_done=lambda _: self._compare_soon())
            self._put_off()

    def pending(self) -> Mapping[str, frozenset[str]] | None:
        """What the watcher has seen and is not indexed yet, by collection; None where that is not known, also while
        there is a collection that came a moment ago and is not followed yet."""
        watcher, engine = self._watcher, self._attended
        if watcher is None or engine is None or _roots(engine) != self._watched:
            return None
        return watcher.pending()

    def status(self) -> WatchStatus | None:
        watcher = self._watcher
        return watcher.status() if watcher else None

    def close(self) -> None:
        """It may begin again."""
        watcher, self._watcher, self._watched = self._watcher, None, ()
        if watcher:
            watcher.close()

    def _follow(self, batch: Batch) -> None:
        watcher = self._watcher
        if watcher is not None:
            self._requests.follow(batch, watcher)

    def _compare_soon(self) -> None:
        self._compare_at = self._clock() + AGAIN_AFTER_S

    def _put_off(self) -> None:
        self._compare_at = self._clock() + self._settings.reconcile_s if self._settings.reconcile_s else None


def _roots(engine: Engine) -> tuple[str, ...]:
    return tuple(it.root for it in engine.collections())
