"""What the store knows of code, for one state of it: every lookup is made once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from dowse.lookup.calls.kinds import CALLABLE, FUNCTIONS, TYPES
from dowse.lookup.calls.languages import habits_of
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.outlines import Outlines
from dowse.model import Symbol
from dowse.store.call_facts import CallFacts, FileName, Named, Place, Site

MOST_OF_A_NAME = 500
"""So many definitions of one name are looked at where only the name is known."""

MOST_SITES_KEPT = 200_000
"""About 400 bytes each."""


class FileSites:
    """The calls of one file, by line; and those of a kind, which are asked for one definition after the other."""

    def __init__(self, sites: tuple[Site, ...]) -> None:
        self.all = sites

    @cached_property
    def _by_symbol(self) -> dict[int | None, tuple[Site, ...]]:
        found: dict[int | None, list[Site]] = {}
        for it in self.all:
            found.setdefault(it.symbol, []).append(it)
        return {symbol: tuple(them) for symbol, them in found.items()}

    def of(self, symbol: int | None) -> tuple[Site, ...]:
        """Those that stand in a definition, in none further inside."""
        return self._by_symbol.get(symbol, ())

    @cached_property
    def passing(self) -> tuple[Site, ...]:
        """Plain calls that pass something that may be followed."""
        return tuple(it for it in self.all if it.passed and it.kind == "call")


class Catalogue:
    def __init__(self, store: CallFacts, outlines: Outlines) -> None:
        self._store = store
        self._shared = outlines
        self._outlines: Memo[int, Outline] = Memo(5_000)
        self._named: Memo[tuple[str, str, str], tuple[Named, ...]] = Memo(50_000)
        self._overfull: set[str] = set()
        self._files: Memo[str, tuple[FileName, ...]] = Memo(50_000)
        self._extending: Memo[str, tuple[Named, ...]] = Memo(50_000)
        self._callable: Memo[str, tuple[Named, ...]] = Memo(5_000)
        self._called: Memo[tuple[str, ...], tuple[Site, ...]] = Memo(MOST_SITES_KEPT)
        self._sites: Memo[int, FileSites] = Memo(2_000)
        self._some: Memo[tuple[int, str, str], tuple[Site, ...]] = Memo(MOST_SITES_KEPT)

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

    def callable_named(self, name: str) -> tuple[Named, ...]:
        """Whatever can be called by this name, whatever its case."""
        found = self._callable.get(name)
        if found is None:
            found = self._callable.keep(name, tuple(self._store.named([name], kinds=sorted(CALLABLE))))
        return found

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

    def sites_in(self, key: int) -> FileSites:
        found = self._sites.get(key)
        return found if found is not None else self._sites.keep(key, FileSites(tuple(self._store.sites_in(key))))

    def sites_of_kind(self, key: int, kind: str) -> tuple[Site, ...]:
        return self._some_in(key, kind, "")

    def sites_having(self, key: int, text: str) -> tuple[Site, ...]:
        """The calls of a file with this text in the callee or in what is passed."""
        return self._some_in(key, "", text)

    def _some_in(self, key: int, kind: str, having: str) -> tuple[Site, ...]:
        """Read by themselves: a large file has thousands of others."""
        asked = (key, kind, having)
        found = self._some.get(asked)
        if found is None:
            found = tuple(self._store.sites_in(key, kind=kind, having=having))
            self._some.keep(asked, found, len(found) + 1)
        return found

    def sites(self, names: Iterable[str], limit: int) -> tuple[Site, ...]:
        """The first calls of these names, by file and line."""
        key = (*sorted(names), str(limit))
        found = self._called.get(key)
        if found is None:
            found = tuple(self._store.sites(key[:-1], limit))
            self._called.keep(key, found, len(found) + 1)
        return found
