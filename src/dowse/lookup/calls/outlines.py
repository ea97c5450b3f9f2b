"""Outlines of files, read in batches and kept from one question to the next for as long as the files stay the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from dowse.lookup.calls.outline import Outline
from dowse.store.call_facts import CallFacts

KEPT = 2_000  # about 100 kB each for a large file of code, 20 kB for a usual one


class Outlines:
    """Shared by all threads; an entry counts only for the stamp it was made under."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._turn = threading.Lock()
        self._held: OrderedDict[int, tuple[str, Outline]] = OrderedDict()

    def get(self, store: CallFacts, keys: Iterable[int]) -> dict[int, Outline]:
        """The outlines of these records, as far as they exist."""
        stamps = store.stamps(list(keys))
        found = self._fresh(stamps)
        missing = [key for key in stamps if key not in found]
        made = {facts.key: Outline(facts) for facts in store.facts(missing)} if missing else {}
        self._keep({key: (stamps[key], outline) for key, outline in made.items()})
        return found | made

    def _fresh(self, stamps: dict[int, str]) -> dict[int, Outline]:
        found = {}
        with self._turn:
            for key, stamp in stamps.items():
                held = self._held.get(key)
                if held is not None and held[0] == stamp:
                    self._held.move_to_end(key)
                    found[key] = held[1]
        return found

    def _keep(self, made: dict[int, tuple[str, Outline]]) -> None:
        with self._turn:
            self._held.update(made)
            while len(self._held) > self._kept:
                self._held.popitem(last=False)
