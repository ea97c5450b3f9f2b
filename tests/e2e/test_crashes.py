"""kill -9 at more than a hundred random moments: nothing lost, nothing half, and never a repair by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from crashes.checks import Broken, check_files, check_tables, contents
from crashes.corpus import FILES, Content, Corpus
from crashes.harness import run_all
from crashes.victims import SCENARIOS, Place, Victim
from dowse.store.sqlite import SqliteStore

KILLS_EACH = 16
AT_ONCE = 3
SEED = 20


def test_killed_at_random_moments_an_index_is_never_harmed(tmp_path: Path) -> None:
    outcomes = run_all(SCENARIOS, KILLS_EACH, tmp_path, SEED, AT_ONCE)
    assert sum(it.kills for it in outcomes) > 100


# --- the checks find what they are for ---


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Place, Corpus]:
    corpus = Corpus(tmp_path / "root", SEED)
    place = Place(tmp_path / "root", tmp_path / "index.db", tmp_path / "data")
    Victim(place, ["index"]).wait(120)
    return place, corpus


def halve(state: dict[str, Content]) -> None:
    path = next(path for path, chunks in state.items() if len(chunks) > 1)
    state[path] = state[path][:1]


def lose(state: dict[str, Content]) -> None:
    del state[next(iter(state))]


def make_up(state: dict[str, Content]) -> None:
    state["never/there.md"] = next(iter(state.values()))


@pytest.mark.parametrize("harm", [halve, lose, make_up])
def test_a_harmed_file_is_noticed(whole: tuple[Place, Corpus], harm: Callable[[dict[str, Content]], None]) -> None:
    place, corpus = whole
    before = contents(place.index, place.data)
    assert before == corpus.state and len(before) == FILES
    after = dict(before)
    check_files(before, after, corpus.state)
    harm(after)
    with pytest.raises(Broken):
        check_files(before, after, corpus.state)


def test_harmed_tables_are_noticed(whole: tuple[Place, Corpus]) -> None:
    place, _ = whole
    check_tables(place.index)
    store = SqliteStore(place.index)
    with store.db.transaction() as connection:
        connection.execute("DELETE FROM records WHERE id = 1")
    store.close()
    with pytest.raises(Broken):
        check_tables(place.index)
