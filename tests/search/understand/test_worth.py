"""How much meaning counts beside words."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.encoders.base import Traits
from dowse.model import Query, Scored
from dowse.search.run import Models, QueryVector, Run
from dowse.search.understand.worth import encoder_worth, undecided
from dowse.store.base import Weights
from dowse.store.dicts import DictStore
from support import OpenEngine, write


@pytest.mark.parametrize(("worth", "share", "counted"), [(1.0, 2.0, 0), (0.1, 0.2, 1), (0.0, 0.0, 1)])
def test_the_share_of_meaning_follows_the_encoder(worth: float, share: float, counted: int) -> None:
    run = Run(Query("x"), DictStore(), Models(lambda _: QueryVector(None)), 10, Weights(), 60)
    run.shares = {"lexical": 1.0, "semantic": 2.0}
    run.vector = QueryVector(None, traits=Traits(worth=worth))
    assert len(encoder_worth({"semantic": [Scored(1, 0.5)]}, run)) == counted
    assert run.shares == {"lexical": 1.0, "semantic": pytest.approx(share)}


def test_without_a_vector_nothing_changes() -> None:
    run = Run(Query("x"), DictStore(), Models(lambda _: QueryVector(None)), 10, Weights(), 60)
    run.shares = {"lexical": 1.0}
    assert len(encoder_worth({}, run)) == 0
    assert run.shares == {"lexical": 1.0}


def test_hashing_never_reorders_what_words_found_but_fills_up(root: Path, open_engine: OpenEngine) -> None:
    texts = {f"{name}.md": f"# {name}\n\nretry limit of the {name} client\n" for name in ("red", "green", "blue")}
    write(root, texts | {"other.md": "# Other\n\nsomething else entirely\n"})
    with open_engine() as engine:
        engine.index([root])
        lexical, hybrid = (
            [hit.stored.record.path for hit in engine.search(Query("retry limit green", recipe=recipe)).hits]
            for recipe in ("lexical", "hybrid")
        )
    assert hybrid[: len(lexical)] == lexical
    assert len(hybrid) > len(lexical)


PAGE = 10


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], 1.0),
        ([9.0] * (PAGE - 1), 1.0),
        ([9.0] * PAGE, 1.0),
        ([9.0] * (PAGE - 1) + [4.5], 0.25),
        ([9.0] * (PAGE - 1) + [4.5, 0.1], 0.25),
        ([9.0] + [0.0] * PAGE, 0.0),
        ([9.0] + [-1.0] * PAGE, 0.0),
        ([0.0] * PAGE, 1.0),
        ([-2.0] * PAGE, 1.0),
        ([1.0] + [2.0] * PAGE, 1.0),
    ],
)
def test_words_decide_where_the_best_stands_out_of_its_page(scores: list[float], expected: float) -> None:
    assert undecided([Scored(key, score) for key, score in enumerate(scores)]) == expected


@pytest.mark.parametrize(("last", "share"), [(9.0, 0.3), (4.5, 0.075), (0.0, 0.0)])
def test_an_encoder_that_yields_counts_as_far_as_words_leave_it_open(last: float, share: float) -> None:
    run = Run(Query("x"), DictStore(), Models(lambda _: QueryVector(None)), 10, Weights(), 60)
    run.shares = {"lexical": 1.0, "semantic": 1.0}
    run.vector = QueryVector(None, traits=Traits(worth=0.3, yields=True))
    words = [Scored(key, 9.0) for key in range(PAGE - 1)] + [Scored(PAGE, last)]
    encoder_worth({"lexical": words, "semantic": []}, run)
    assert run.shares["semantic"] == pytest.approx(share)
