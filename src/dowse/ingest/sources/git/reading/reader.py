"""Reads commits ahead of being asked, with a git process or a few at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Final

from dowse.errors import Unreadable
from dowse.ingest.sources.git.reading.channel import MOST_BYTES, Channel, Much, told_once
from dowse.ingest.sources.git.reading.merges import Merges
from dowse.ingest.sources.git.reading.parsing import told_of
from dowse.ingest.sources.git.reading.pump import Pump, Request
from dowse.ingest.sources.git.reading.told import Told, Touched
from dowse.ingest.sources.git.withholding import MASKING, Withholding

# Two do not share what they have unpacked, and one alone is quicker than what it tells can be indexed.
PROCESSES: Final = 1

TOO_MUCH: Final = f"what it changed is more than {MOST_BYTES / 1e6:,.0f} MB, of which only the beginning was read"
NO_CHANGES: Final = "git could not tell which lines it changed, because objects are missing or damaged"
NO_FILES: Final = "git could not tell what it changed, because objects are missing or damaged"
TOO_LARGE: Final = "git could not tell what it changed, because that takes more memory than git may use"
NO_PARENTS: Final = "what it changed is not known, because the clone is shallow and its parents were not fetched"
_LESS: Final[tuple[tuple[Much, str], ...]] = (("files", NO_CHANGES), ("head", NO_FILES))


class Reader:
    """Commits of one repository, by their whole names. `close` ends every process; the next question starts new ones.

    Of a commit in `shallow` git would tell everything there is as new, so it is asked for its message only.
    """

    def __init__(
        self,
        git_directory: str,
        delta_lines: int,
        shallow: frozenset[str] = frozenset(),
        *,
        withholding: Withholding = MASKING,
        processes: int = PROCESSES,
        open_channel: Callable[[str], Channel] = Channel,
    ) -> None:
        self._git_directory = git_directory
        self._delta_lines = delta_lines
        self._shallow = shallow
        self._withholding = withholding
        self._processes = processes
        self._open = open_channel
        self._changed = threading.Condition()
        self._requests: deque[Request] = deque()
        self._futures: dict[str, Future[bytes]] = {}
        self._pumps: list[tuple[Pump, Merges]] = []

    def expect(self, names: Iterable[str]) -> None:
        """These will be asked for soon."""
        with self._changed:
            if failed := next((pump.failure for pump, _ in self._pumps if pump.failure), None):
                raise failed
            for name in names:
                if name not in self._futures and name not in self._shallow:
                    self._futures[name] = Future()
                    self._requests.append(Request(name, self._futures[name]))
            while self._requests and len(self._pumps) < self._processes:
                merges = Merges(self._git_directory)
                told = partial(self._told, merges)
                pump = Pump(self._requests, self._changed, lambda: self._open(self._git_directory), told)
                self._pumps.append((pump, merges))
                pump.start()
            self._changed.notify_all()

    def is_expected(self, name: str) -> bool:
        return name in self._futures

    def told(self, name: str) -> bytes:
        """As the extractor reads it. Raises Unreadable when there is no such commit, or reading was given up."""
        if name in self._shallow:
            return self._once(name, (("head", NO_PARENTS),)).to_bytes()
        self.expect([name])
        with self._changed:
            future = self._futures.get(name)
        if future is None:
            raise Unreadable("reading it was given up", lasting=False)
        try:
            return future.result()
        finally:
            with self._changed:
                self._futures.pop(name, None)

    def close(self) -> None:
        with self._changed:
            pumps, self._pumps = self._pumps, []
            futures, self._futures = self._futures, {}
            self._requests.clear()
            for pump, merges in pumps:
                pump.end()
                merges.end()
            for future in futures.values():
                if not future.done():
                    future.set_exception(Unreadable("reading it was given up", lasting=False))
            self._changed.notify_all()
        for pump, merges in pumps:
            pump.join()
            merges.close()

    def _told(self, merges: Merges, name: str, frame: bytes | None, is_cut: bool) -> bytes:
        """For the pumps; without a frame, git has ended over this commit."""
        told = self._told_by(frame, is_cut) or self._once(name, _LESS)
        return (_with_files(told, merges.touched(name)) if len(told.parents) > 1 else told).to_bytes()

    def _told_by(self, frame: bytes | None, is_cut: bool) -> Told | None:
        """None for nothing, or not even a whole head: git may tell more when it is asked for less."""
        if frame is None:
            return None
        try:
            problem = TOO_MUCH if is_cut else ""
            return told_of(frame, self._delta_lines, problem, is_cut=is_cut, withholding=self._withholding)
        except ValueError:
            return None

    def _once(self, name: str, ways: Iterable[tuple[Much, str]]) -> Told:
        is_large = False
        for much, problem in ways:
            try:
                frame = told_once(self._git_directory, name, much)
                if frame is not None:
                    why, cut, withholding = TOO_LARGE if is_large else problem, frame.cut, self._withholding
                    return told_of(frame.data, self._delta_lines, why, is_cut=cut, withholding=withholding)
            except MemoryError:
                is_large = True
            except ValueError:
                continue  # not even a whole head
        raise Unreadable("git can not read this commit, or is not installed", lasting=False)


def _with_files(merge: Told, files: list[Touched] | None) -> Told:
    """Of a merge nothing but its files is asked for, so that with them nothing is missing."""
    if files is None:
        return replace(merge, problem=NO_FILES)
    return replace(merge, files=files, problem="" if merge.problem in (NO_CHANGES, NO_FILES) else merge.problem)
