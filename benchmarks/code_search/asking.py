"""Asks every question of an engine that is open and warm, and of ripgrep, and compares what both find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from code_search.questions import Kind
from code_search.ripgrep import Found, scan
from dowse.engine import Engine
from dowse.lookup.grep.question import Lines
from timing import p, p50_p95, timed, times

NO_HURRY_S = 60.0


@dataclass(slots=True)
class Asked:
    """Milliseconds of every question; `differing` are those whose lines or files ripgrep finds otherwise."""

    kind: Kind
    ours_ms: list[float] = field(default_factory=list)
    theirs_ms: list[float] = field(default_factory=list)
    empty: int = 0
    differing: list[str] = field(default_factory=list)


def ask(kind: Kind, engine: Engine, root: Path, *, peer: bool) -> Asked:
    """First all of ours, so that they are warm among themselves, then the scans."""
    asked = Asked(kind)
    kind.answer(engine, kind.asked[-1])
    for question in kind.asked:
        answer, took_ms = timed(kind.answer, engine, question)
        asked.ours_ms.append(took_ms)
        asked.empty += not kind.found(answer)
    for question in kind.asked if peer and kind.pattern else ():
        _compare(asked, question, engine, root)
    return asked


def _compare(asked: Asked, question: Any, engine: Engine, root: Path) -> None:
    assert asked.kind.pattern is not None
    theirs, took_ms = scan(asked.kind.pattern(question), root)
    asked.theirs_ms.append(took_ms)
    if asked.kind.same and (told := difference(lines_found(engine, question), theirs, asked.kind.same)):
        asked.differing.append(f"{' '.join(question.terms)}: {told}")


def lines_found(engine: Engine, question: Lines) -> Found:
    """All of them, where the timed question is answered with the best files."""
    answer = engine.grep(replace(question, limit=0, deadline_s=NO_HURRY_S))
    return {it.path: frozenset(it.lines) for it in answer.files}


def difference(ours: Found, theirs: Found, same: str) -> str:
    """Nothing where they agree, else how much only one of them has, with an example."""
    mine, other = (_places(it, same) for it in (ours, theirs))
    if mine == other:
        return ""
    example = min(mine ^ other)
    return f"{len(mine - other)} only here, {len(other - mine)} only by ripgrep, e.g. {example[0]}:{example[1]}"


def _places(found: Found, same: str) -> set[tuple[str, int]]:
    if same == "files":
        return {(path, 0) for path in found}
    return {(path, line) for path, lines in found.items() for line in lines}


def row(asked: Asked) -> list[str]:
    theirs = p50_p95(asked.theirs_ms) if asked.theirs_ms else "–"
    ratio = times(p(asked.theirs_ms, 50), p(asked.ours_ms, 50)) if asked.theirs_ms else "–"
    total = len(asked.kind.asked)
    agreed = f"{total - len(asked.differing)} of {total}" if asked.theirs_ms and asked.kind.same else "–"
    empty = f"{asked.empty} of {total}"
    return [asked.kind.name, p50_p95(asked.ours_ms), asked.kind.aim, theirs, ratio, agreed, empty]


def differences(answers: Sequence[Asked], examples: int = 3) -> list[str]:
    """What ripgrep finds otherwise, a few of each kind, as list items."""
    return [f"- {it.kind.name}: `{told}`" for it in answers for told in it.differing[:examples]]
