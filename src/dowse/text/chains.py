"""What the definitions of a file are called: by their own names, with those around them, and as commits may call them.

A commit knows what its hunks show: `Shape.area` near the line of the class, `area` far from it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dowse.model import Symbol

Chain = tuple[str, ...]
"""A name behind those of what it stands in."""

_BETWEEN_NAMES = re.compile(r"\.|::|->")


@dataclass(frozen=True, slots=True)
class Spelt:
    """What commits may call something and all that stands in it: `whole` with all names around, `sure` whatever means
    nothing else in the file, `doubtful` the rest."""

    whole: tuple[str, ...] = ()
    sure: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chains:
    """Those of all symbols of one record, by their place among these."""

    symbols: Sequence[Symbol]
    all: Sequence[Chain]
    by_name: Mapping[str, Sequence[int]]
    members: Mapping[int, Sequence[int]]
    spelt_so: Mapping[str, frozenset[Chain]]

    @classmethod
    def of(cls, symbols: Sequence[Symbol]) -> Chains:
        chains: list[Chain] = []
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        members: defaultdict[int, list[int]] = defaultdict(list)
        spelt_so: defaultdict[str, set[Chain]] = defaultdict(set)
        for at, symbol in enumerate(symbols):
            around: Chain = ()
            # A parent stands before what is in it; anything else is none.
            if symbol.parent is not None and 0 <= symbol.parent < at:
                around = chains[symbol.parent]
                members[symbol.parent].append(at)
            chains.append((*around, symbol.name))
            by_name[symbol.name].append(at)
            for it in spelt(chains[at]):
                spelt_so[it].add(chains[at])
        return cls(symbols, chains, by_name, members, {it: frozenset(found) for it, found in spelt_so.items()})

    def named(self, name: str) -> list[int]:
        """Those that are called so, or whose name ends so with those around it."""
        if literal := self.by_name.get(name):  # a heading may have a dot in it
            return list(literal)
        parts = names_in(name)
        ending = self.by_name.get(parts[-1], ()) if parts else ()
        return [it for it in ending if self.all[it][-len(parts) :] == parts]

    def whole(self, chain: Chain) -> list[int]:
        """Those with exactly these names around them: one may be defined more than once."""
        return [it for it in self.by_name.get(chain[-1], ()) if self.all[it] == chain]

    def spelt(self, own: Iterable[int]) -> Spelt:
        inside = {self.all[it]: None for it in self._with_members(own)}
        every = dict.fromkeys(it for chain in inside for it in spelt(chain))
        sure = [it for it in every if inside.keys() >= self.spelt_so[it]]
        known = set(sure)
        return Spelt(tuple(map(".".join, inside)), tuple(sure), tuple(it for it in every if it not in known))

    def lost(self, name: str) -> Spelt:
        """Of what is not there any more: what now means something else may have meant that before, too."""
        every = spelt(names_in(name))
        known = [it for it in every if it in self.spelt_so]
        return Spelt(tuple(every[:1]), tuple(it for it in every if it not in known), tuple(known))

    def _with_members(self, own: Iterable[int]) -> list[int]:
        found = list(own)
        for it in found:  # grows as it is gone through
            found += self.members.get(it, ())
        return found


def names_in(name: str) -> Chain:
    """Its own behind those around it."""
    return tuple(it for it in _BETWEEN_NAMES.split(name) if it)


def spelt(chain: Chain) -> list[str]:
    """With all names around it, with one, with none."""
    return list(dict.fromkeys(".".join(chain[-count:]) for count in (len(chain), 2, 1) if chain))
