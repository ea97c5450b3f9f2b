"""Kinds of which one index may hold far more than of others: each family of them is asked for its own candidates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from dowse.model import Scope, Scored
from dowse.search.kinds import FAMILIES, Family
from dowse.search.run import Run

_TOGETHER = 3  # times as many are asked for at once: mostly each family has enough among them
_ENOUGH = 0.25  # of what a family would have been asked for alone

Ask = Callable[[Scope, int], list[Scored]]


def family_of(kind: str) -> Family:
    return next((it for it in FAMILIES if kind in it.kinds), FAMILIES[0])


def families_within(scope: Scope, kinds: Iterable[str]) -> tuple[Family, ...]:
    """The families of these kinds, as far as the scope lets them in, in the order of all."""
    wanted = {family_of(kind) for kind in kinds if not scope.kinds or kind in scope.kinds}
    return tuple(it for it in FAMILIES if it in wanted)


def gathered(scope: Scope, run: Run, limit: int, ask: Ask) -> list[Scored]:
    """The best of every family that can be found, so many of each, in one ranking: their scores are of one scale."""
    families = families_within(scope, run.store.kinds())
    if len(families) < 2:
        return ask(scope, limit)
    wide = limit * _TOGETHER
    together = ask(scope, wide)
    run.kinds |= run.store.kinds_of([it.key for it in together])
    best = {family: [it for it in together if _is_of(it, family, run)][:limit] for family in families}
    for family, found in best.items():
        if len(together) == wide and len(found) < limit * _ENOUGH:
            best[family] = ask(replace(scope, kinds=_kinds(family, scope)), limit)
            run.kinds |= run.store.kinds_of([it.key for it in best[family]])
    return in_order(it for found in best.values() for it in found)


def _kinds(family: Family, scope: Scope) -> tuple[str, ...]:
    return tuple(kind for kind in family.kinds if not scope.kinds or kind in scope.kinds)


def _is_of(scored: Scored, family: Family, run: Run) -> bool:
    return family_of(run.kinds.get(scored.key, "")) == family


def in_order(ranking: Iterable[Scored]) -> list[Scored]:
    return sorted(ranking, key=lambda it: (-it.score, it.key))


def parted(ranking: list[Scored], kinds: Collection[str], run: Run) -> tuple[list[Scored], list[Scored]]:
    """Those whose family has one of these kinds, and the others; all of them where no kinds are named, or where only
    one family was found."""
    if not kinds or not run.kinds:
        return ranking, []
    concerned = [it for it in ranking if not set(family_of(run.kinds.get(it.key, "")).kinds).isdisjoint(kinds)]
    keys = {it.key for it in concerned}
    return concerned, [it for it in ranking if it.key not in keys]
