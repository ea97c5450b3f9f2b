from __future__ import annotations

from collections.abc import Iterator

import pytest

from dowse.live.watch import ChangeBatch, Watcher, WatchTarget, WatchTiming
from support import eventually
from watching import QUICK, Follow, Following


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks, or closes, waits for as long as a busy machine may take."""
    monkeypatch.setattr("dowse.live.watch.watcher._QUERY_LOCK_WAIT_S", 60.0)
    monkeypatch.setattr("dowse.live.watch.watcher._CLOSE_WAIT_S", 60.0)


@pytest.fixture
def follow() -> Iterator[Follow]:
    watchers: list[Watcher] = []

    def one(*places: WatchTarget, timing: WatchTiming = QUICK, settled: bool = True, **options: object) -> Following:
        batches: list[ChangeBatch] = []
        watcher = Watcher(places, batches.append, timing, **options)  # type: ignore[arg-type]
        watchers.append(watcher)
        watcher.start()
        following = Following(watcher, batches)
        if settled:
            eventually(lambda: len(batches) == len(places), "the first comparison did not come")
            following.settle()
        return following

    yield one
    for watcher in watchers:
        watcher.close()
