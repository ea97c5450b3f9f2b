"""What works behind the profiles of one process: engines, the queue of jobs, and the upkeep of each index."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.history import History
from dowse.live.jobs import Jobs
from dowse.live.upkeep import Upkeep
from dowse.shells.breadth import Breadth
from dowse.shells.workspace import Workspace

# Every write is a transaction of its own, so a job that takes longer is cut off without harm.
_LAST_JOB_S = 1.2


class Engines:
    """The server's own engine and, by path, any other a client names; each opened once."""

    def __init__(
        self,
        workspace: Workspace,
        breadth: Breadth | None = None,
        on_open: Callable[[Engine], None] = lambda _: None,
    ) -> None:
        self._workspace = workspace
        self._on_open = on_open
        self._breadth = breadth
        self._turn = threading.Lock()
        self._open: dict[Path, tuple[Engine, object]] = {}

    def own(self) -> Engine:
        """Refused as long as nobody has confirmed that so broad a root is to be indexed."""
        if self._breadth and (problem := self._breadth.problem()):
            raise BadInput(problem)
        return self._get(self._workspace.index, create=True)

    def asked(self) -> Engine:
        """The server's own for a question: work in the background gives way to it."""
        engine = self.own()
        engine.questions.note()
        return engine

    def at(self, path: str | None) -> Engine:
        """The index at this path, which must exist; None is the server's own."""
        return self.asked() if path is None else self._get(_checked(path), create=False)

    def only_own(self, path: str | None) -> Engine:
        """The server's own index, also by its path; any other is refused."""
        if path is not None and _checked(path).resolve() != self._workspace.index.resolve():
            raise BadInput(f"this server answers from {self._workspace.index} alone; leave db_path out")
        return self.asked()

    def _get(self, index: Path, *, create: bool) -> Engine:
        with self._turn:
            engine, file = self._open.get(index, (None, None))
            if engine is None or _file_at(index) != file:
                # Not there yet, or another process has put a rebuilt index in its place.
                workspace = self._workspace
                is_own = index == workspace.index
                engine = workspace.open(create=create) if is_own else Engine(workspace.settings, index, create=create)
                self._on_open(engine)
                self._open[index] = engine, _file_at(index)
            return engine


def _checked(path: str) -> Path:
    try:
        index = Path(path).absolute()
        _file_at(index)
    except (OSError, ValueError) as error:
        raise BadInput(f"db_path {path[:100]!r} can not be used: {error.args[-1]}"[:300]) from None
    return index


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True, slots=True)
class Behind:
    """What is behind one profile; profiles that mean the same index share it."""

    engines: Engines
    upkeep: Upkeep
    jobs: Jobs

    @property
    def engine(self) -> Callable[[], Engine]:
        return self.engines.asked


class Backstage:
    """One queue of jobs for each index, one upkeep for each index and its settings. `jobs` is the queue of the first
    index: there are others only where several roots are served. `on_open` is called with every engine."""

    def __init__(self, on_open: Callable[[Engine], None] = lambda _: None) -> None:
        self._on_open = on_open
        self.jobs = Jobs()
        self._queues: dict[Path, Jobs] = {}
        self._turn = threading.Lock()
        self._behind: dict[tuple[Path, Settings], Behind] = {}

    def behind(self, workspace: Workspace, *roots: Path, vectors: bool = True, asks: bool = True) -> Behind:
        """What is behind a profile that serves these roots; it begins with `start`. `asks`: whether a broad root is
        indexed only after a confirmation."""
        with self._turn:
            key = workspace.index.resolve(), workspace.settings
            if key not in self._behind:
                self._behind[key] = self._made(workspace, vectors, Breadth(workspace, asks=asks))
            behind = self._behind[key]
        behind.upkeep.take(roots)
        return behind

    def opened(self) -> list[Behind]:
        """One for each index and its settings."""
        return list(self._behind.values())

    def is_quiet(self) -> bool:
        """Whether no job runs, and the watchers know of no file that changed since it was indexed."""
        return all(it.jobs.running() is None and it.engine().has_nothing_pending() for it in self.opened())

    def start(self) -> None:
        """Begin with whatever was not begun yet, and has something to work on."""
        for behind in self.opened():
            behind.upkeep.start()

    def _made(self, workspace: Workspace, vectors: bool, breadth: Breadth) -> Behind:
        jobs = self._queues.setdefault(workspace.index.resolve(), Jobs() if self._queues else self.jobs)
        if jobs.history is None:
            jobs.history = History(workspace.index)
        engines = Engines(workspace, breadth, self._on_open)
        upkeep = Upkeep(
            engines.own, jobs, workspace.settings, workspace.index, vectors=vectors, confirm=breadth.confirm
        )
        return Behind(engines, upkeep, jobs)

    def close(self) -> None:
        """No new work, then an end to the work in hand."""
        for behind in self.opened():
            behind.upkeep.close()
        closing = [threading.Thread(target=it.close, args=(_LAST_JOB_S,)) for it in self._queues.values()]
        for it in closing:  # together: leaving takes no longer with many roots than with one
            it.start()
        for it in closing:
            it.join()
