"""Keeping an index in line with the disk for as long as a server runs: one of those that share it leads, the others
stand by to take over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import Cancelled, DowseError, IndexDamaged
from dowse.live.jobs import Job, Jobs
from dowse.live.keeping import Keeping, stopped
from dowse.live.lead import Leadership, leader_of
from dowse.live.lookout import Lookout
from dowse.live.patience import AGAIN_AFTER_S, Patience
from dowse.live.quiet import Quiet
from dowse.live.requests import Requests

log = logging.getLogger("dowse.upkeep")

TICK_S = 1.0
_OTHERS_MAY_INDEX_S = 3.0  # before a server that does not lead indexes a root of its own
_OTHERS_MAY_ENCODE_S = 30.0  # before it makes vectors that nobody makes
_OTHERS_MAY_HEAL_S = 5.0  # before it mends what its own answers have met, and nobody else's may have
_ENCODE_AGAIN_S = 600.0  # where vectors are missing still: who made them may be gone, or the encoder be back
_FIRST_CHECK_S = 60.0  # of leading, before the whole index is looked at
_LOOK_AGAIN_S = 3_600.0  # whether that is due
_CHECK_EVERY_S = 86_400.0
_REMEMBERED = 200  # jobs of the history
_LAST_TICK_S = 0.3


class Upkeep:
    """The jobs of one server over one index. With `settings.watch`, it leads or stands by; without, it indexes once."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: Jobs,
        settings: Settings,
        index: Path,
        *,
        vectors: bool = True,
        confirm: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        tick_s: float = TICK_S,
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._settings = settings
        self._vectors = vectors
        self._clock = clock
        self._now = now
        self._tick_s = tick_s
        self._index = index
        self._requests = Requests(engine, jobs, settings, index, vectors=vectors)
        self._lookout = Lookout(self._requests, settings, clock)
        self._leadership = Leadership(index)
        self._patience = Patience(jobs, clock)
        self._quiet = Quiet(settings.git_debounce_s, AGAIN_AFTER_S)
        self._encoded = ""  # the state of the records when vectors were last asked for
        self._problem = ""
        self._confirm = confirm
        self._started = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dowse-upkeep", daemon=True)

    # --- what a server does with it ---

    def take(self, roots: Iterable[Path]) -> None:
        """Serve these too."""
        self._requests.take(roots)

    def start(self) -> None:
        """Once; and nothing is done for a server without a root of its own."""
        if self._requests.roots and not self._started:
            self._started = True
            if not self._index.exists() and self._settings.watch and self._leadership.attempt():
                self._requests.index()
            self._thread.start()

    def close(self) -> None:
        """No more jobs from here on; the lock goes to the next one, by a look around that takes longer when it ends."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_TICK_S)
        if not self._thread.is_alive():
            self._stand_down()

    def index(self, *, force: bool = False) -> Job:
        """Compare the server's roots with the disk; histories and vectors follow behind. Who asks for this confirms
        that the roots are to be indexed, however broad they are."""
        self._confirm()
        return self._requests.index(force=force)

    def keeping(self) -> Keeping:
        leader = leader_of(self._index) if self._settings.watch else None
        return Keeping(
            self._settings.watch,
            self._leadership.leading,
            leader,
            self._lookout.status(),
            self._problem or self._leadership.problem or stopped(leader),
        )

    # --- second by second ---

    def _run(self) -> None:
        try:
            self._look_around()
        finally:
            if self._stopping.is_set():
                self._stand_down()  # nobody else does while this may still take the lock, or begin to watch

    def _look_around(self) -> None:
        while True:
            try:
                self._tick()
                self._problem = ""
            except Cancelled:
                return
            except IndexDamaged as error:
                self._note(error)
                if self._leadership.leading or not self._settings.watch:
                    self._heal()
            except Exception as error:  # noqa: BLE001 - whatever it was, the next second may be better
                self._note(error)
            if self._stopping.wait(self._tick_s) or (not self._settings.watch and not self._problem):
                return

    def _note(self, error: Exception) -> None:
        text = str(error) if isinstance(error, DowseError | OSError) else f"{type(error).__name__}: {error}"
        if text != self._problem:
            log.warning("%s", text, exc_info=not isinstance(error, DowseError | OSError))
        self._problem = text

    def _tick(self) -> None:
        if not self._settings.watch:
            self._requests.index()
        elif self._leadership.attempt():
            self._lead()
        else:
            self._stand_down()
            self._stand_by()

    def _stand_down(self) -> None:
        self._lookout.close()
        if self._stopping.is_set():
            self._leadership.close()

    # --- the two roles ---

    def _lead(self) -> None:
        engine = self._engine()
        self._lookout.attend(engine)
        if self._uncovered(engine):
            self._patience.once("index", self._requests.index)
        self._lookout.watch(engine)
        self._lookout.compare_when_due()
        if engine.damaged():
            self._heal()
        elif self._patience.is_over("check", True, _FIRST_CHECK_S) and self._is_unchecked():
            self._requests.check()
        self._see_to_histories(engine)
        self._see_to_vectors(engine, 0.0)

    def _stand_by(self) -> None:
        engine = self._engine()
        self._lookout.attend(engine)
        if self._patience.is_over("index", self._uncovered(engine), _OTHERS_MAY_INDEX_S):
            self._patience.once("index", self._requests.index)
        if self._patience.is_over("heal", bool(engine.damaged()), _OTHERS_MAY_HEAL_S):
            self._heal()
        self._see_to_vectors(engine, _OTHERS_MAY_ENCODE_S)

    # --- what they see to ---

    def _uncovered(self, engine: Engine) -> bool:
        """Whether a root of this server is in no collection yet."""
        known = {Path(it.root) for it in engine.collections()}
        return any(not known & {root, *root.parents} for root in self._requests.roots)

    def _heal(self) -> None:
        self._patience.once("heal", self._requests.heal)

    def _is_unchecked(self) -> bool:
        """Whether it is a day since everything was read and compared with its checksums, by whomever."""
        self._patience.rest("check", _LOOK_AGAIN_S)
        past = self._jobs.history.recent(_REMEMBERED) if self._jobs.history else []
        checks = [it.at for it in past if it.kind in ("check", "heal") and it.state == "completed"]
        return self._now() - max(checks, default=0.0) > _CHECK_EVERY_S

    def _see_to_histories(self, engine: Engine) -> None:
        """Not everything that moves branches and tags is seen as a change of files: the repositories are asked."""
        if self._jobs.running("history") is None and self._quiet.is_due(engine.histories_behind, self._clock()):
            self._requests.read_history()

    def _see_to_vectors(self, engine: Engine, after_s: float) -> None:
        """Ask for the vectors of what has changed, by whomever; one that does not lead leaves time to the others."""
        if not self._vectors:
            return
        state = engine.revision()
        if not self._patience.is_over("encode", engine.lacks_vectors(), after_s):
            return
        if state == self._encoded:
            self._patience.once("encode", self._requests.encode, _ENCODE_AGAIN_S)
        else:
            self._encoded = state
            self._requests.encode()
