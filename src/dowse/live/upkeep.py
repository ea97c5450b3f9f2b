"""Keeping an index in line with the disk for as long as a server runs: one of those that share it leads, the others
stand by to take over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import Cancelled, DowseError, IndexDamaged
from dowse.live.jobs import Job, Jobs
from dowse.live.lead import Leadership, leader_of
from dowse.live.quiet import Quiet
from dowse.live.watch import Batch, Timing, Watcher, WatchStatus, place_of
from dowse.live.work import Check, Encode, Follow, Heal, Index, ReadHistory
from dowse.processes import process_now

log = logging.getLogger("dowse.upkeep")

TICK_S = 1.0
_OTHERS_MAY_INDEX_S = 3.0  # before a server that does not lead indexes a root of its own
_OTHERS_MAY_ENCODE_S = 30.0  # before it makes vectors that nobody makes
_OTHERS_MAY_HEAL_S = 5.0  # before it mends what its own answers have met, and nobody else's may have
_AGAIN_AFTER_S = 30.0  # when a job has failed
_ENCODE_AGAIN_S = 600.0  # where vectors are missing still: who made them may be gone, or the encoder be back
_FIRST_CHECK_S = 60.0  # of leading, before the whole index is looked at
_LOOK_AGAIN_S = 3_600.0  # whether that is due
_CHECK_EVERY_S = 86_400.0
_REMEMBERED = 200  # jobs of the history
_LAST_TICK_S = 0.3


@dataclass(frozen=True, slots=True)
class Keeping:
    """Who keeps the index in line with the disk, and how; `leader` is a process, `problem` a sentence."""

    enabled: bool
    leading: bool
    leader: int | None
    watch: WatchStatus | None
    problem: str


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
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        tick_s: float = TICK_S,
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._settings = settings
        self._roots: tuple[Path, ...] = ()
        self._vectors = vectors
        self._clock = clock
        self._now = now
        self._tick_s = tick_s
        self._index = index
        self._leadership = Leadership(index)
        self._watcher: Watcher | None = None
        self._watched: tuple[str, ...] = ()
        self._attended: Engine | None = None
        self._compare_at: float | None = None  # the next comparison of everything
        self._encoded = ""  # the state of the records when vectors were last asked for
        self._waiting_since: dict[str, float] = {}
        self._quiet = Quiet(settings.git_debounce_s, _AGAIN_AFTER_S)
        self._problem = ""
        self._started = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dowse-upkeep", daemon=True)

    # --- what a server does with it ---

    def take(self, roots: Iterable[Path]) -> None:
        """Serve these too."""
        self._roots = tuple(dict.fromkeys((*self._roots, *roots)))

    def start(self) -> None:
        """Once; and nothing is done for a server without a root of its own."""
        if self._roots and not self._started:
            self._started = True
            if not self._index.exists() and self._settings.watch and self._leadership.attempt():
                self.index()
            self._thread.start()

    def close(self) -> None:
        """No more jobs from here on; the lock goes to the next one."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_TICK_S)
        self._stand_down()

    def index(self, roots: Sequence[Path] = (), *, force: bool = False) -> Job:
        """Compare these roots, else the server's own, with the disk; vectors follow behind."""
        work = Index(self._engine, tuple(roots) or self._roots, force, self._behind_files)
        return self._jobs.submit("index", work, key=work.roots, join=Index.joined)

    def read_history(self) -> Job | None:
        """Bring in what the repositories tell, or drop it where histories are left out, behind all work on files;
        vectors follow."""
        if not self._settings.git and not self._engine().histories():
            return None
        work = ReadHistory(self._engine, self.read_history, self.encode)
        return self._jobs.submit("history", work, background=True)

    def _behind_files(self) -> None:
        if self.read_history() is None:
            self.encode()

    def encode(self) -> Job | None:
        """Make the vectors that are missing, behind all other work."""
        if not self._vectors:
            return None
        return self._jobs.submit("encode", Encode(self._engine, self.encode), background=True)

    def keeping(self) -> Keeping:
        watcher, leader = self._watcher, leader_of(self._index) if self._settings.watch else None
        return Keeping(
            self._settings.watch,
            self._leadership.leading,
            leader,
            watcher.status() if watcher else None,
            self._problem or self._leadership.problem or _stopped(leader),
        )

    # --- second by second ---

    def _run(self) -> None:
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
            self.index()
        elif self._leadership.attempt():
            self._lead()
        else:
            self._stand_down()
            self._stand_by()

    def _stand_down(self) -> None:
        watcher, self._watcher, self._watched = self._watcher, None, ()
        if watcher:
            watcher.close()
        if self._stopping.is_set():
            self._leadership.close()

    # --- leading ---

    def _lead(self) -> None:
        engine = self._engine()
        if engine is not self._attended:
            engine.watched_by(self._pending)
            self._attended = engine
        if self._uncovered(engine):
            self._once("index", self.index)
        self._watch(engine)
        now = self._clock()
        if self._compare_at is not None and now >= self._compare_at:
            self._compare(now)
        if engine.damaged():
            self._heal()
        elif self._long(True, "check", _FIRST_CHECK_S) and self._is_unchecked():
            self._jobs.submit("check", Check(self._healing()), background=True)
        self._see_to_histories(engine)
        self._see_to_vectors(engine, 0.0)

    def _see_to_histories(self, engine: Engine) -> None:
        """Not everything that moves branches and tags is seen as a change of files: the repositories are asked."""
        if self._jobs.running("history") is None and self._quiet.is_due(engine.histories_behind, self._clock()):
            self.read_history()

    def _watch(self, engine: Engine) -> None:
        """Follow every collection. Whenever that begins, all of it is compared, for what was missed before."""
        roots = _roots(engine)
        if self._watcher and roots == self._watched:
            return
        if self._watcher:
            self._watcher.close()
        places = [place_of(it.name, engine.files(it.name)) for it in engine.collections()]
        self._watcher, self._watched = Watcher(places, self._follow, Timing.of(self._settings)), roots
        self._watcher.start()
        self._put_off(self._clock())

    def _pending(self) -> Mapping[str, frozenset[str]] | None:
        """None also while there is a collection that came a moment ago and is not followed yet."""
        watcher, engine = self._watcher, self._attended
        if watcher is None or engine is None or _roots(engine) != self._watched:
            return None
        return watcher.pending()

    def _compare(self, now: float) -> None:
        work = Index(self._engine, (), False, self._behind_files)
        self._jobs.submit("reconcile", work, join=Index.joined, unless_done=lambda _: self._compare_soon())
        self._put_off(now)

    def _compare_soon(self) -> None:
        self._compare_at = self._clock() + _AGAIN_AFTER_S

    def _put_off(self, now: float) -> None:
        self._compare_at = now + self._settings.reconcile_s if self._settings.reconcile_s else None

    def _follow(self, batch: Batch) -> None:
        watcher = self._watcher
        if watcher is None:
            return

        def then(batches: Sequence[Batch]) -> None:
            for it in batches:
                watcher.done(it)
            if any(it.whole for it in batches):  # a repository may have come, or git have been at work
                self.read_history()

        def missed(work: Follow) -> None:
            for it in work.batches:
                watcher.missed(it)

        work = Follow(self._engine, batch.collection, self._settings.bulk_threshold, (batch,), then)
        kind = "reconcile" if batch.whole else "follow"
        self._jobs.submit(kind, work, key=batch.collection, join=Follow.joined, unless_done=missed)

    def _heal(self) -> None:
        self._once("heal", lambda: self._jobs.submit("heal", self._healing()))

    def _healing(self) -> Heal:
        return Heal(self._settings, self._index, self._roots[0], self.encode)

    def _is_unchecked(self) -> bool:
        """Whether it is a day since everything was read and compared with its checksums, by whomever."""
        self._waiting_since["check"] = self._clock() + _LOOK_AGAIN_S
        past = self._jobs.history.recent(_REMEMBERED) if self._jobs.history else []
        checks = [it.at for it in past if it.kind in ("check", "heal") and it.state == "completed"]
        return self._now() - max(checks, default=0.0) > _CHECK_EVERY_S

    # --- standing by ---

    def _stand_by(self) -> None:
        engine = self._engine()
        if self._long(self._uncovered(engine), "index", _OTHERS_MAY_INDEX_S):
            self._once("index", self.index)
        if self._long(bool(engine.damaged()), "heal", _OTHERS_MAY_HEAL_S):
            self._heal()
        self._see_to_vectors(engine, _OTHERS_MAY_ENCODE_S)

    def _uncovered(self, engine: Engine) -> bool:
        """Whether a root of this server is in no collection yet."""
        known = {Path(it.root) for it in engine.collections()}
        return any(not known & {root, *root.parents} for root in self._roots)

    def _see_to_vectors(self, engine: Engine, after_s: float) -> None:
        """Ask for the vectors of what has changed, by whomever; one that does not lead leaves time to the others."""
        if not self._vectors:
            return
        state = engine.revision()
        if not self._long(engine.lacks_vectors(), "encode", after_s):
            return
        if state == self._encoded:
            self._once("encode", self.encode, _ENCODE_AGAIN_S)
        else:
            self._encoded = state
            self.encode()

    # --- patience ---

    def _long(self, holds: bool, name: str, for_s: float) -> bool:
        """Whether this has held for so long without a break."""
        if not holds:
            self._waiting_since.pop(name, None)
            return False
        return self._clock() - self._waiting_since.setdefault(name, self._clock()) >= for_s

    def _once(self, kind: str, submit: Callable[[], object], again_s: float = _AGAIN_AFTER_S) -> None:
        """Unless it is under way already, or has just failed."""
        last = self._jobs.last(kind)
        ended = None if last is None else last.finished
        if last is None or (ended is not None and self._jobs.clock() - ended > again_s):
            submit()


def _roots(engine: Engine) -> tuple[str, ...]:
    return tuple(it.root for it in engine.collections())


def _stopped(leader: int | None) -> str:
    """A process that does nothing keeps its lock all the same."""
    if leader is None or not process_now(leader).is_stopped():
        return ""
    return f"process {leader} leads, but is stopped: nobody follows the files until it goes on (`kill -CONT {leader}`)"
