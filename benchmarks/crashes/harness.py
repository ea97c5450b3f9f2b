"""Kill a process, look at what it left, and again; at the end an ordinary run must make everything whole."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from crashes.checks import Broken, check_files, check_tables, contents
from crashes.corpus import Content, Corpus
from crashes.victims import Place, Scenario, Victim

_LONGEST_RUN_S = 300.0
_TABLES_EVERY = 5
_SOONER = 0.9


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many runs were killed before their end, and how many there were; some ended by themselves before."""

    scenario: str
    kills: int
    runs: int
    whole_run_s: float


def run_all(scenarios: Sequence[Scenario], kills: int, folder: Path, seed: int, at_once: int) -> list[Outcome]:
    """So many kills of each; scenarios run beside each other, each on an index of its own. Raises Broken."""
    with ThreadPoolExecutor(at_once) as pool:
        jobs = [
            pool.submit(run, scenario, kills, folder / str(number), seed + number)
            for number, scenario in enumerate(scenarios)
        ]
        return [job.result() for job in jobs]


def run(scenario: Scenario, kills: int, folder: Path, seed: int) -> Outcome:
    try:
        return _Harness(scenario, folder, seed).run(kills)
    except Broken as harm:
        raise Broken(f"{scenario.name}, seed {seed}: {harm}") from harm


class _Harness:
    def __init__(self, scenario: Scenario, folder: Path, seed: int) -> None:
        self._scenario = scenario
        self._rng = random.Random(seed)
        self._corpus = Corpus(folder / "root", seed)
        self._place = Place(folder / "root", folder / "index" / "index.db", folder / "data")
        self._turn = 0
        self._kills = 0
        self._within_s = 0.0

    def run(self, kills: int) -> Outcome:
        if not self._scenario.fresh:
            self._index()
        whole_run_s = self._within_s = self._scenario.lasting_s or self._unhurt_s()
        before = contents(self._place.index, self._place.data)
        while self._kills < kills:
            before = self._kill(before)
            if self._kills % _TABLES_EVERY == 0 and before:
                check_tables(self._place.index)
        self._end()
        return Outcome(self._scenario.name, self._kills, self._turn, whole_run_s)

    def _unhurt_s(self) -> float:
        """How long it takes when nobody kills it, so that kills are spread over all of it."""
        if self._scenario.changes:
            self._corpus.change()
        began = time.monotonic()
        self._start().wait(_LONGEST_RUN_S)
        return time.monotonic() - began

    def _kill(self, before: dict[str, Content]) -> dict[str, Content]:
        if self._scenario.fresh:
            shutil.rmtree(self._place.index.parent, ignore_errors=True)
            before = {}
        if self._scenario.changes:
            self._corpus.change()
        victim = self._start()
        time.sleep(self._rng.uniform(0.0, 1.0) * self._within_s)
        if victim.kill():
            self._kills += 1
        else:
            self._within_s *= _SOONER  # the machine has become quicker since a whole run was timed
        after = contents(self._place.index, self._place.data)
        check_files(before, after, self._corpus.state)
        return after

    def _start(self) -> Victim:
        self._turn += 1
        return self._scenario.start(self._place, self._turn)

    def _index(self) -> None:
        Victim(self._place, ["index"]).wait(_LONGEST_RUN_S)

    def _end(self) -> None:
        """Without any repair: an ordinary run, and the index is what a fresh one would be."""
        self._index()
        if contents(self._place.index, self._place.data) != self._corpus.state:
            raise Broken("a normal run after the last kill does not complete the index")
        check_tables(self._place.index)
