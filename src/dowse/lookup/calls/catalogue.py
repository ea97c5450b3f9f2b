"""What the store knows of code, for one state of it: every lookup is made once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dowse.lookup.calls.kinds import CALLABLE, FUNCTIONS, TYPES
from dowse.lookup.calls.languages import habits_of
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.outlines import Outlines
from dowse.model import Symbol
from dowse.store.call_facts import CallFacts, FileName, Named, Place, Site
from dowse.text.expressions import split_passed

MOST_OF_A_NAME = 500
"""So many definitions of one name are looked at where only the name is known."""


class Catalogue:
    def __init__(self, store: CallFacts, outlines: Outlines) -> None:
        self._store = store
        self._shared = outlines
        self._outlines: Memo[int, Outline] = Memo(5_000)
        self._named: Memo[tuple[str, str, str], tuple[Named, ...]] = Memo(50_000)
        self._overfull: set[str] = set()
        self._files: Memo[str, tuple[FileName, ...]] = Memo(50_000)
        self._extending: Memo[str, tuple[Named, ...]] = Memo(50_000)
        self._called: Memo[tuple[str, ...], tuple[Site, ...]] = Memo(500)
        self._sites: Memo[int, tuple[Site, ...]] = Memo(2_000)

    def outline(self, key: int) -> Outline:
        found = self._outlines.get(key)
        return found if found is not None else self._outlines.keep(key, self._shared.get(self._store, [key])[key])

    def prefetch(self, keys: Iterable[int]) -> None:
        """Read these outlines together, which is quicker than one by one."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._outlines]
        for key, outline in self._shared.get(self._store, missing).items() if len(missing) > 1 else ():
            self._outlines.keep(key, outline)

    def symbol(self, place: Place) -> Symbol:
        return self.outline(place.record).symbols[place.ordinal]

    def files_named(self, name: str) -> tuple[FileName, ...]:
        found = self._files.get(name)
        return found if found is not None else self._files.keep(name, tuple(self._store.files_named(name)))

    def types_named(self, name: str, family: str) -> tuple[Named, ...]:
        return self._lookup(name, family, "types")

    def functions_named(self, name: str, family: str) -> tuple[Named, ...]:
        return self._lookup(name, family, "functions")

    def has_more(self, name: str, family: str) -> bool:
        """Whether there are more functions of this name than are looked at."""
        self.functions_named(name, family)
        return name in self._overfull

    def extensions_named(self, name: str, family: str) -> tuple[Named, ...]:
        """Methods that are written outside of the type they extend."""
        return self._lookup(name, family, "extensions")

    def _lookup(self, name: str, family: str, sort: str) -> tuple[Named, ...]:
        key = (name, family, sort)
        found = self._named.get(key)
        return found if found is not None else self._named.keep(key, tuple(self._read(name, family, sort)))

    def _read(self, name: str, family: str, sort: str) -> Iterable[Named]:
        kinds: Sequence[str] = sorted(TYPES if sort == "types" else FUNCTIONS)
        modifier = "extension" if sort == "extensions" else ""
        rows = self._store.named([name], kinds=kinds, modifier=modifier, limit=MOST_OF_A_NAME)
        if len(rows) >= MOST_OF_A_NAME and sort == "functions":
            self._overfull.add(name)
        return (it for it in rows if it.name == name and habits_of(it.path).family == family)

    def callable_named(self, name: str) -> list[Named]:
        """Whatever can be called by this name, whatever its case."""
        return self._store.named([name], kinds=sorted(CALLABLE))

    def interfaces_named(self, name: str) -> list[Named]:
        """Of any language, whatever the case."""
        return self._store.named([name], kinds=["interface"], limit=MOST_OF_A_NAME)

    def members_named(self, name: str, records: Sequence[int]) -> list[Named]:
        return [it for it in self._store.named([name], within=records) if it.name == name]

    def extending(self, name: str) -> tuple[Named, ...]:
        """The types with a base of this last name."""
        folded = name.lower()
        found = self._extending.get(folded)
        return found if found is not None else self._extending.keep(folded, tuple(self._store.extending([folded])))

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        return self._store.imported_as(targets, member)

    def sites_in(self, key: int) -> tuple[Site, ...]:
        found = self._sites.get(key)
        return found if found is not None else self._sites.keep(key, tuple(map(_parted, self._store.sites_in(key))))

    def sites(self, names: Iterable[str], limit: int) -> tuple[Site, ...]:
        """The first calls of these names, by file and line."""
        key = (*sorted(names), str(limit))
        found = self._called.get(key)
        if found is None:
            found = self._called.keep(key, tuple(map(_parted, self._store.sites(key[:-1], limit))))
        return found


def _parted(site: Site) -> Site:
    if "\t" not in site.callee:
        return site
    callee, passed = split_passed(site.callee)
    record, ordinal, name, _, line, symbol, arguments, kind, _ = site
    return Site(record, ordinal, name, callee, line, symbol, arguments, kind, passed)
