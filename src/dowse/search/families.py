"""Kinds of which one index may hold far more than of others: each family of them is asked for its own candidates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from dowse.model import Linked, Scope, Scored
from dowse.search.kinds import FAMILIES, Family
from dowse.search.run import Run

_TOGETHER = 3  # times as many at most are asked for at once: mostly each family has enough among them
_ENOUGH = 0.25  # of what a family would have been asked for alone

Ask = Callable[[Scope, int], list[Scored]]


_OF_KIND = {kind: family for family in FAMILIES for kind in family.kinds}


def family_of(kind: str) -> Family:
    return _OF_KIND.get(kind, FAMILIES[0])


def families_of(kinds: Iterable[str]) -> tuple[Family, ...]:
    """The families of these kinds, in the order of all."""
    wanted = {family_of(kind) for kind in kinds}
    return tuple(it for it in FAMILIES if it in wanted)


def gathered(scope: Scope, run: Run, limit: int, ask: Ask, *, leans: bool = False) -> list[Scored]:
    """The best of every family that can be found, so many of each, in one ranking: their scores are of one scale. Where
    the run `leans`, they decide between documents and code."""
    families = _parts(families_of(run.findable()), run)
    if len(families) < 2:
        return ask(_about(families[0], scope) if families else scope, limit)
    best = _together(scope, families, run, limit, ask, leans)
    for family in families:
        if family not in best:
            best[family] = ask(replace(_about(family, scope), kinds=_kinds(family, scope)), limit)
            run.kinds |= dict.fromkeys((it.key for it in best[family]), family.kinds[0])
    return in_order(it for found in best.values() for it in found[:limit])


def _parts(families: tuple[Family, ...], run: Run) -> tuple[Family, ...]:
    """The families, those of several kinds one for each, where it counts which of them a candidate is of."""
    if not run.leans:
        return families
    found = run.findable()
    return tuple(it._replace(kinds=(kind,)) for it in families for kind in it.kinds if kind in found) or families


def _together(
    scope: Scope, families: Iterable[Family], run: Run, limit: int, ask: Ask, leans: bool
) -> dict[Family, list[Scored]]:
    """What one question finds of the families that have enough among the best of all; of the others, nothing."""
    best: dict[Family, list[Scored]] = {it: [] for it in families if _about(it, scope) == scope}
    if len(best) < 2:
        return {}
    if any(it not in best for it in families):
        scope = replace(scope, kinds=tuple(kind for it in best for kind in _kinds(it, scope)))
    wanted = limit * min(_TOGETHER, len(best))
    together = ask(scope, wanted)
    run.kinds |= run.store.kinds_of([it.key for it in together])
    of_kind = {kind: found for family, found in best.items() for kind in family.kinds}
    for scored in together:
        of_kind.get(run.kinds.get(scored.key, ""), next(iter(of_kind.values()))).append(scored)
    if leans and run.leans and together:
        lowest = together[-1].score  # what was not found is below all that was
        run.lean({kind: found[0].score if found else lowest for kind, found in of_kind.items()})
    least = limit * _ENOUGH if len(together) == wanted else 0
    return {family: found for family, found in best.items() if len(found) >= least or not _needed(family, run)}


def _needed(family: Family, run: Run) -> bool:
    """Whether it must have candidates of its own: of documents and code, those that the question is about."""
    return not run.leans or family.share < 1 or run.leaning()[family.kinds[0]] == 1


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
    """Those of these kinds, and the others; all of them where no kinds are named, or where nobody asked for kinds."""
    if not kinds or not run.kinds:
        return ranking, []
    concerned: list[Scored] = []
    others: list[Scored] = []
    for scored in ranking:
        (concerned if run.kinds.get(scored.key, "") in kinds else others).append(scored)
    return concerned, others
