"""Everything that is measured on one corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from code_search import changing, cold, served
from code_search.asking import Asked, ask, row
from code_search.building import Built, built, environment_for, settings_for
from code_search.corpora import Corpus
from code_search.names import names_in
from code_search.questions import Kind, of_calls, of_definitions, of_lines
from code_search.sampling import sampled
from dowse.engine import Engine
from dowse.lookup.symbols import SymbolAudit
from measuring import say

FEW = 30
# Of which kinds a client of the server asks, by the tables' words.
SERVED = ("grep: a word", "grep: part of a word", "definitions: by part of the name", "calls: callers, 3 levels")


@dataclass(slots=True)
class Measured:
    """`others` are rows of what is measured beside the questions."""

    corpus: Corpus
    built: Built
    audit: SymbolAudit
    asked: list[Asked] = field(default_factory=list)
    others: list[list[str]] = field(default_factory=list)


def measured(corpus: Corpus, work: Path, *, peer: bool, fresh: bool) -> Measured:
    index = built(corpus, work, fresh=fresh)
    with Engine(settings_for(work), index.index, create=False) as engine:
        found = Measured(corpus, index, engine.code.audit(0))
        if not corpus.plan.queried:
            return found
        kinds = questions(corpus, index)
        found.asked = [_asked(kind, engine, corpus, peer=peer) for kind in kinds]
        say(f"{corpus.name}: changing a file")
        found.others = changing.rows(engine, corpus)
    found.others += _processes(kinds, found, environment_for(work))
    return found


def questions(corpus: Corpus, built: Built) -> list[Kind]:
    say(f"{corpus.name}: drawing questions")
    sample = sampled(corpus.root.rglob(f"*{corpus.plan.suffix}"))
    with names_in(built.index) as names:
        return [*of_lines(sample), *of_definitions(names), *of_calls(names)]


def _asked(kind: Kind, engine: Engine, corpus: Corpus, *, peer: bool) -> Asked:
    asked = ask(kind, engine, corpus.root, peer=peer)
    say(f"{corpus.name}: {' | '.join(row(asked))}")
    return asked


def _processes(kinds: Sequence[Kind], found: Measured, environment: dict[str, str]) -> list[list[str]]:
    """What a server and new processes take."""
    say(f"{found.corpus.name}: a server and new processes")
    by_name = {it.name: it.asked[:FEW] for it in kinds}
    root, index = found.corpus.root, found.built.index
    over_mcp = served.rows({name: by_name[name] for name in SERVED}, root, index, environment)
    words = [it.terms[0] for it in by_name["grep: a word"]]
    names = [it.names[0] for it in by_name["definitions: by part of the name"]]
    called = [it.name for it in by_name["calls: callers, 3 levels"]]
    new = cold.rows({"grep --word": words, "symbols": names, "calls": called}, index, environment)
    return [[f"{found.corpus.name}: {row[0]}", *row[1:]] for row in (*over_mcp, *new)]
