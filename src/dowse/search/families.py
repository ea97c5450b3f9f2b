"""Kinds of which one index may hold far more than of others: each family of them is asked for its own candidates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from dowse.model import Linked, Scope, Scored
from dowse.search.kinds import FAMILIES, Family
from dowse.search.run import Run

_TOGETHER = 3  # times as many are asked for at once: mostly each family has enough among them
_ENOUGH = 0.25  # of what a family would have been asked for alone

Ask = Callable[[Scope, int], list[Scored]]


_OF_KIND = {kind: family for family in FAMILIES for kind in family.kinds}


def family_of(kind: str) -> Family:
    return _OF_KIND.get(kind, FAMILIES[0])


def families_of(kinds: Iterable[str]) -> tuple[Family, ...]:
    """The families of these kinds, in the order of all."""
    wanted = {family_of(kind) for kind in kinds}
    return tuple(it for it in FAMILIES if it in wanted)


def gathered(scope: Scope, run: Run, limit: int, ask: Ask) -> list[Scored]:
    """The best of every family that can be found, so many of each, in one ranking: their scores are of one scale."""
    families = families_of(run.findable())
    if len(families) < 2:
        return ask(_about(families[0], scope) if families else scope, limit)
    best = _together(scope, families, run, limit, ask)
    for family in families:
        if family not in best:
            best[family] = ask(replace(_about(family, scope), kinds=_kinds(family, scope)), limit)
            run.kinds |= _kinds_of(family, best[family], run)
    return in_order(it for found in best.values() for it in found[:limit])


def _kinds_of(family: Family, found: list[Scored], run: Run) -> dict[int, str]:
    if len(family.kinds) > 1:
        return run.store.kinds_of([it.key for it in found])
    return dict.fromkeys((it.key for it in found), family.kinds[0])


def _together(scope: Scope, families: Iterable[Family], run: Run, limit: int, ask: Ask) -> dict[Family, list[Scored]]:
    """What one question finds of the families that have enough among the best of all; of the others, nothing."""
    if any(_about(it, scope) != scope for it in families):
        return {}
    together = ask(scope, limit * _TOGETHER)
    run.kinds |= run.store.kinds_of([it.key for it in together])
    best: dict[Family, list[Scored]] = {family: [] for family in families}
    for scored in together:
        best.setdefault(family_of(run.kinds.get(scored.key, "")), []).append(scored)
    least = limit * _ENOUGH if len(together) == limit * _TOGETHER else 0
    return {family: found for family, found in best.items() if len(found) >= least}


def _about(family: Family, scope: Scope) -> Scope:
    """The scope as it is to be put to a family: whose records have no paths of their own is asked by their links."""
    if not family.about or not scope.paths or scope.links:
        return scope
    return replace(scope, paths=(), links=tuple(Linked(family.about, glob) for glob in scope.paths))


def _kinds(family: Family, scope: Scope) -> tuple[str, ...]:
    return tuple(kind for kind in family.kinds if not scope.kinds or kind in scope.kinds)


def in_order(ranking: Iterable[Scored]) -> list[Scored]:
    return sorted(ranking, key=lambda it: (-it.score, it.key))


def parted(ranking: list[Scored], kinds: Collection[str], run: Run) -> tuple[list[Scored], list[Scored]]:
    """Those whose family has one of these kinds, and the others; all of them where no kinds are named, or where only
    one family was found."""
    if not kinds or not run.kinds:
        return ranking, []
    families = {family_of(kind) for kind in kinds}
    concerned: list[Scored] = []
    others: list[Scored] = []
    for scored in ranking:
        (concerned if family_of(run.kinds.get(scored.key, "")) in families else others).append(scored)
    return concerned, others
