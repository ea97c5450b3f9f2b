"""Rows that can not be among the best get no score, and nobody can tell by the answers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.model import Chunk, Record, Scope, ScoredChunk
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite import fts as pruning
from dowse.store.sqlite.fts import DocumentFrequencies, SqliteTextIndex
from dowse.store.types import ChunkInput, ColumnWeights
from dowse.text.tokenize import parse_query

# Each in a smaller share of the chunks than the one before; two have the same stem.
SHARES = {"refs": 0.45, "ticket": 0.4, "header": 0.3, "headers": 0.2, "parse": 0.1, "cookie": 0.03, "zebra": 0.004}
CHUNKS = 3_000
FILLERS = ["".join(letters) for letters in itertools.product("bdfgkmpr", "aeiou", "bdfgkmpr")]
WEIGHTS = ColumnWeights(title=8.0, trail=4.0, names=2.0, path=3.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path_factory.mktemp("pruning") / "i.db")
    store.writer.add_collection("/r", name="r")
    drawn = random.Random(5)
    with store.writer.batch():
        for number in range(CHUNKS // 3):
            pieces = [ChunkInput(Chunk(at, _text(drawn), at + 1, at + 1, (), "text"), bytes([at])) for at in range(3)]
            store.writer.put(_record(number, " ".join(drawn.sample([*SHARES][:6], 2))), pieces)
    yield store
    store.close()


def _record(number: int, title: str) -> Record:
    return Record("r", f"{number:04}.md", "doc", title, 1, 1, f"{number:064}", "", True)


def _text(drawn: random.Random) -> str:
    words = [word for word, share in SHARES.items() for _ in range(drawn.randint(1, 4)) if drawn.random() < share / 2]
    return " ".join([*words, *drawn.choices(FILLERS, k=drawn.randint(1, 60))])


@given(
    st.lists(st.sampled_from([*SHARES, *FILLERS[:2], "absent", '"refs ticket"', "cook*"]), min_size=1, max_size=7),
    st.sampled_from([1, 3, 10, 50, 120, 400]),
)
def test_the_best_are_the_same_whether_or_not_others_are_passed_over(
    store: SqliteStore, words: list[str], limit: int
) -> None:
    terms = parse_query(" ".join(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "_MIN_PRUNED_ROWS", CHUNKS * 100)
        plain = store.words.match(terms, Scope(), WEIGHTS, limit)
        patch.setattr(pruning, "_MIN_PRUNED_ROWS", 1)
        for enough in (0.01, 0.3, 2):
            patch.setattr(pruning, "_RARE_ROWS_PER_RESULT", enough)
            assert store.words.match(terms, Scope(), WEIGHTS, limit) == plain


def _scored(store: SqliteStore, query: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each of the questions it took was answered with."""
    asked: list[int] = []
    plain = SqliteTextIndex._score_matches

    def counted(self: SqliteTextIndex, *args: object, **more: object) -> list[ScoredChunk]:
        found: list[ScoredChunk] = plain(self, *args, **more)  # type: ignore[arg-type]
        asked.append(len(found))
        return found

    monkeypatch.setattr(SqliteTextIndex, "_score_matches", counted)
    store.words.match(parse_query(query), Scope(), WEIGHTS, limit)
    return asked


def test_one_question_will_do_where_enough_rows_have_a_rare_word(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _scored(store, "cookie refs", 10, monkeypatch) == [10]


def test_where_the_rare_do_not_suffice_everything_is_asked(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "_RARE_ROWS_PER_RESULT", 0.01)
    monkeypatch.setattr(pruning, "_MIN_PRUNED_ROWS", 1)
    passed_over, everything = _scored(store, "zebra cookie", 300, monkeypatch)
    assert passed_over < everything == 300


@pytest.mark.parametrize("query", ["refs", '"refs" ticket parse', "bab bad", "tick* hea*"])
def test_nothing_is_passed_over_where_that_would_not_pay_or_can_not_be_known(store: SqliteStore, query: str) -> None:
    terms = parse_query(query)
    frequencies = DocumentFrequencies(store.db.reader())
    assert pruning.prune_query(terms, frequencies, 10, lambda term: "x") is None


def test_of_a_hundred_words_the_most_common_are_paired(store: SqliteStore) -> None:
    terms = parse_query(" ".join([*SHARES, *FILLERS[:90]]))
    found = pruning.prune_query(terms, DocumentFrequencies(store.db.reader()), 1, lambda term: " ".join(term.words))
    assert found is not None
    assert found.expression.count(" AND ") == 6 * 5 // 2


def test_a_word_twice_is_no_reason_to_pass_over_rows_that_it_counts_twice_in(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    terms = parse_query("refs ticket")
    again = type(terms)((), (*terms.optional, *terms.optional))
    assert pruning.prune_query(again, DocumentFrequencies(store.db.reader()), 1, lambda term: "x") is None
    store.close()


def test_a_row_of_common_words_may_be_better_than_those_with_a_rare_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "_MIN_PRUNED_ROWS", 1)
    store = SqliteStore(tmp_path / "i.db")
    store.writer.add_collection("/r", name="r")
    words = ["zebra"] * 20 + ["refs", "ticket", "parse"] * 200 + ["other"] * 375
    with store.writer.batch():
        for number in range(1_000):
            common = number < 5
            piece = ChunkInput(Chunk(0, "" if common else words[number - 5], 1, 1), number.to_bytes(16))
            store.writer.put(_record(number, "refs ticket parse" if common else ""), [piece])
    found = store.words.match(parse_query("zebra refs ticket parse"), Scope(), WEIGHTS, 10)
    paths = [it.record.path for it in store.catalog.load([it.key for it in found])]
    assert paths[:5] == [f"{number:04}.md" for number in range(5)]
    assert {it.chunk.text for it in store.catalog.load([it.key for it in found[5:]])} == {"zebra"}
    store.close()
