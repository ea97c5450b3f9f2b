"""Everything is measured on a tiny corpus through the real engine: no kind of question is left out or finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from code_search import changing, measured
from code_search.asking import ask, lines_found
from code_search.building import Built, settings_for
from code_search.corpora import Corpus, Plan
from code_search.footprint import Footprint
from code_search.questions import Kind
from dowse.callgraph.facts import CallQuery
from dowse.engine import Engine
from dowse.lookup.grep import GrepQuery
from dowse.store.types import SymbolQuery

TEXT = '''"""A shop that has some things."""

import functools


class Base:
    """What everything here is."""


class Basket(Base):
    @functools.lru_cache
    def total_price(self, number, discount):
        if discount:
            return self.reduced_price{number}(number)
        return self.full_price(number)

    def reduced_price{number}(self, number):
        return self.full_price(number) - {number}

    def full_price(self, number):
        return number + {number} + shipping_costs(number)


def shipping_costs{number}(weight):
    return weight if weight > {number} else 0
'''


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    root = tmp_path_factory.mktemp("work") / "code" / "tiny"
    root.mkdir(parents=True)
    for number in range(5):
        (root / f"shop{number}.py").write_text(TEXT.replace("{number}", str(number)))
    return Corpus(Plan("tiny", ".py", (), "a test"), root, 5, 2000)


@pytest.fixture(scope="module")
def engine(corpus: Corpus) -> Iterator[Engine]:
    work = corpus.root.parents[1]
    with Engine(settings_for(work), work / "index.db", create=True) as engine:
        engine.index([corpus.root])
        yield engine


@pytest.fixture(scope="module")
def kinds(engine: Engine, corpus: Corpus) -> dict[str, Kind]:
    built = Built(engine.index_path, Footprint(1, 1, 1, 1), {}, {}, {})
    return {it.name: it for it in measured.questions(corpus, built)}


NAMES = [
    "grep: a word",
    "grep: two words, both in the file",
    "grep: three words, any of them",
    "grep: a phrase of three words",
    "grep: part of a word",
    "grep: a regex for a whole word",
    "grep: a regex for a line",
    "definitions: by part of the name",
    "definitions: by the exact name",
    "definitions: by base type",
    "definitions: by attribute",
    "definitions: by name, kind and parent",
    "definitions: by part of the name, most complex first",
    "definitions: around a line",
    "calls: callers, 3 levels",
    "calls: callers of every definition of a name, 3 levels",
    "calls: callees, 3 levels",
]


def test_all_kinds_are_there(kinds: dict[str, Kind]) -> None:
    assert list(kinds) == NAMES
    assert set(measured.SERVED) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_asks_and_finds(name: str, kinds: dict[str, Kind], engine: Engine, corpus: Corpus) -> None:
    asked = ask(kinds[name], engine, corpus.root, peer=False)
    assert len(asked.ours) == len(kinds[name].asked) > 0
    assert asked.empty < len(asked.ours)


def test_a_kind_without_questions_is_a_mistake(kinds: dict[str, Kind], engine: Engine, corpus: Corpus) -> None:
    with pytest.raises(SystemExit, match="grep: a word: no question of this kind in the corpus"):
        ask(replace(kinds["grep: a word"], asked=[]), engine, corpus.root, peer=False)


def test_a_change_is_seen_and_taken_back(engine: Engine, corpus: Corpus) -> None:
    before = {path: path.read_bytes() for path in corpus.root.iterdir()}
    definitions = engine.status().counts.symbols
    ((what, total, parts),) = changing.rows(engine, corpus)
    assert what.startswith("tiny: a function added to a file")
    assert total.startswith("p50 ")
    assert [it.split()[0] for it in parts.split(", ")] == ["sync", "grep", "symbols", "calls"]
    assert {path: path.read_bytes() for path in corpus.root.iterdir()} == before
    assert engine.status().counts.symbols == definitions


UNSEEN = [("grep", GrepQuery(("absent",))), ("symbols", SymbolQuery(("absent",))), ("calls", CallQuery("absent"))]


@pytest.mark.parametrize(("verb", "asked"), UNSEEN)
def test_a_change_that_is_not_seen_by_all_is_no_figure(
    verb: str, asked: object, engine: Engine, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = getattr(engine, verb)(asked)
    monkeypatch.setattr(engine, verb, lambda _: nothing)
    with pytest.raises(SystemExit, match="is not found everywhere"):
        changing.rows(engine, corpus)


def test_all_lines_are_compared_not_only_those_of_the_best_files(engine: Engine) -> None:
    found = lines_found(engine, GrepQuery(("return",), limit=1))
    assert len(found) == 5
    assert all(len(lines) == 5 for lines in found.values())
