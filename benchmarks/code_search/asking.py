"""Asks every question of an engine that is open and warm, and of ripgrep, and compares what both find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from code_search.questions import Kind
from code_search.ripgrep import Found, scan
from dowse.engine import Engine
from dowse.lookup.grep import GrepQuery
from timing import Cost, costed, p, times

NO_HURRY_S = 60.0


@dataclass(slots=True)
class Asked:
    """What every question costs when it is first asked and when asked again, as ripgrep scans files that were read
    before; `differing` are those whose lines or files ripgrep finds otherwise."""

    kind: Kind
    first: list[Cost] = field(default_factory=list)
    ours: list[Cost] = field(default_factory=list)
    theirs: list[Cost] = field(default_factory=list)
    empty: int = 0
    differing: list[str] = field(default_factory=list)


def ask(kind: Kind, engine: Engine, root: Path, *, peer: bool) -> Asked:
    """First all of ours, so that they are warm among themselves, then the scans."""
    if not kind.asked:
        raise SystemExit(f"{kind.name}: no question of this kind in the corpus")
    asked = Asked(kind)
    kind.answer(engine, kind.asked[-1])
    for question in kind.asked:
        answer, cost = costed(kind.answer, engine, question)
        asked.first.append(cost)
        asked.empty += not kind.found(answer)
    asked.ours = [costed(kind.answer, engine, question)[1] for question in kind.asked]
    for question in kind.asked if peer and kind.pattern else ():
        _compare(asked, question, engine, root)
    return asked


def _compare(asked: Asked, question: Any, engine: Engine, root: Path) -> None:
    assert asked.kind.pattern is not None
    theirs, cost = scan(asked.kind.pattern(question), root)
    asked.theirs.append(cost)
    if asked.kind.same and (told := difference(lines_found(engine, question), theirs, asked.kind.same)):
        asked.differing.append(f"{' '.join(question.terms)}: {told}")


def lines_found(engine: Engine, question: GrepQuery) -> Found:
    """All of them, where the timed question is answered with the best files."""
    answer = engine.grep(replace(question, limit=0, deadline_s=NO_HURRY_S))
    return {it.path: frozenset(it.lines) for it in answer.files}


def difference(ours: Found, theirs: Found, same: str) -> str:
    """Nothing where they agree, else how much only one of them has, with an example."""
    mine, other = (_places(it, same) for it in (ours, theirs))
    if mine == other:
        return ""
    example = min(mine ^ other)
    return f"{len(mine - other)} only in Dowse, {len(other - mine)} only in ripgrep, e.g. {example[0]}:{example[1]}"


def _places(found: Found, same: str) -> set[tuple[str, int]]:
    if same == "files":
        return {(path, 0) for path in found}
    return {(path, line) for path, lines in found.items() for line in lines}


HEADER = [
    "what",
    "Dowse, first time",
    "warm, p50 / p95",
    "CPU",
    "aim",
    "ripgrep, p50 / p95",
    "CPU",
    "ratio, CPU",
    "same found",
    "nothing found",
]


def row(asked: Asked) -> list[str]:
    total = len(asked.kind.asked)
    ratio = f"{_ratio(asked, 'wall_ms')}, {_ratio(asked, 'cpu_ms')}" if asked.theirs else "–"
    agreed = f"{total - len(asked.differing)} of {total}" if asked.theirs and asked.kind.same else "–"
    own, other = _times(asked.ours), _times(asked.theirs)
    return [
        asked.kind.name,
        _times(asked.first)[0],
        *own,
        asked.kind.aim,
        *other,
        ratio,
        agreed,
        f"{asked.empty} of {total}",
    ]


def _times(costs: Sequence[Cost]) -> tuple[str, str]:
    if not costs:
        return "–", "–"
    wall = [it.wall_ms for it in costs]
    return f"{p(wall, 50):.2f} / {p(wall, 95):.2f} ms", f"{p([it.cpu_ms for it in costs], 50):.2f} ms"


def _ratio(asked: Asked, of: str) -> str:
    ours, theirs = (p([getattr(it, of) for it in costs], 50) for costs in (asked.ours, asked.theirs))
    return times(theirs, ours)


def differences(answers: Sequence[Asked], examples: int = 3) -> list[str]:
    """What ripgrep finds otherwise, a few of each kind, as list items."""
    return [f"- {it.kind.name}: `{told}`" for it in answers for told in it.differing[:examples]]
