"""Encoders of an index: quick ones first, switches that lose and mix nothing, interruptions, broken models."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dowse.config import Settings
from dowse.encoders.base import Encoder
from dowse.encoders.choose import fast_encoder
from dowse.encoders.static import HashingEncoder
from dowse.engine import Engine
from dowse.engine.semantics import IndexEncoders
from dowse.errors import EncoderMissing
from dowse.ingest import embed as upgrade
from dowse.ingest.embed import UpgradeEncoders, VectorFillReport, VectorUpgrade, format_encoder_input
from dowse.model import EVERYTHING, Query, Scope, StoredChunk
from dowse.paths import DataPaths
from dowse.search.run import QueryVector
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.signing import Signer
from dowse.store.types import ACTIVE_ENCODER_KEY, ENCODER_SETTING_KEY, NEXT_ENCODER_KEY
from dowse.store.view import StoreView
from oracle.dict_store import DictStore
from support import OpenEngine, write

OLD, NEW, OTHER = HashingEncoder(64), HashingEncoder(384), HashingEncoder(96)
CHUNKS = 40
Matrix = NDArray[np.float32]


class Mortal:
    """The hashing encoder, until it has encoded so many texts."""

    def __init__(self, inner: Encoder, lives: int) -> None:
        self.inner, self.lives = inner, lives
        self.name, self.fingerprint, self.dimension = inner.name, inner.fingerprint, inner.dimension

    def encode(self, texts: Sequence[str]) -> Matrix:
        self.lives -= len(texts)
        if self.lives < 0:
            raise EncoderMissing("the encoder is gone")
        return self.inner.encode(texts)


class Broken:
    """Gives whatever it is told to."""

    name, fingerprint, dimension = "broken", "broken:1", 4

    def __init__(self, give: Callable[[int], Matrix]) -> None:
        self.give = give

    def encode(self, texts: Sequence[str]) -> Matrix:
        return self.give(len(texts))


@pytest.fixture(params=["sqlite", "dicts"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, root: Path) -> Engine:
    """An index of 40 chunks without vectors."""
    write(root, {f"{number}.md": f"# Note {number}\n\nword{number} alpha beta\n" for number in range(CHUNKS)})
    store: Store = SqliteStore(tmp_path / "i.db") if request.param == "sqlite" else DictStore()
    settings = Settings(encoder="none", data_dir=tmp_path / "data")
    opened = Engine(settings, tmp_path / "i.db", create=True, store=store)
    opened.index([root])
    request.addfinalizer(opened.close)
    return opened


def bring(
    engine: Engine, wanted: Encoder, quick: Encoder | None = None, maker: Encoder | None = None, stop_after: int = 10**9
) -> VectorFillReport:
    """What indexing does for the vectors; out of time after so many chunks."""
    semantics = IndexEncoders("hashing", DataPaths.of(engine.settings), engine._core.store)
    done: list[int] = []

    def progress(stage: str, count: int, total: int) -> None:
        done.append(count)

    work = VectorUpgrade(engine._core.store, semantics._cache, progress, lambda: bool(done) and done[-1] >= stop_after)
    return work.run(UpgradeEncoders(wanted, quick, lambda fingerprint: maker))


def state(engine: Engine) -> tuple[str | None, str | None, int, int]:
    made, counts = engine._core.store.catalog.metadata(), engine._core.store.catalog.counts()
    return made.get(ACTIVE_ENCODER_KEY), made.get(NEXT_ENCODER_KEY), counts.vectors, counts.next_vectors


def notes(engine: Engine) -> tuple[str, ...]:
    return IndexEncoders("hashing", DataPaths.of(engine.settings), engine._core.store).notes()


def forget_cached(engine: Engine) -> None:
    for file in DataPaths.of(engine.settings).vectors.iterdir():
        file.unlink()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.encoders.base.BATCH_CHARS", 300)


def text_of(stored: StoredChunk) -> str:
    return format_encoder_input(stored.record.title, stored.chunk.trail, stored.chunk.text)


def assert_all_of(engine: Engine, encoder: Encoder) -> None:
    """Every chunk has the vector this encoder makes, and nothing else is left."""
    assert state(engine) == (encoder.fingerprint, None, CHUNKS, 0)
    stored = list(engine.export())
    vectors = engine._core.store.vectors.vectors([it.key for it in stored])
    expected = encoder.encode([text_of(it) for it in stored])
    np.testing.assert_allclose([vectors[it.key] for it in stored], expected, atol=2e-3)
    assert notes(engine) == ()


def test_an_encoder_fills_an_index_and_another_replaces_it(engine: Engine) -> None:
    assert bring(engine, OLD) == VectorFillReport(CHUNKS, 0, [])
    assert_all_of(engine, OLD)
    assert bring(engine, OLD) == VectorFillReport()
    assert bring(engine, NEW) == VectorFillReport(CHUNKS, 0, [])
    assert_all_of(engine, NEW)
    assert bring(engine, OLD) == VectorFillReport(0, CHUNKS, [])
    assert_all_of(engine, OLD)


@pytest.mark.usefixtures("small_batches")
def test_out_of_time_the_old_vectors_answer_and_the_next_run_goes_on(engine: Engine) -> None:
    bring(engine, OLD)
    first = bring(engine, NEW, stop_after=10)
    assert 10 <= first.encoded < CHUNKS
    assert state(engine) == (OLD.fingerprint, NEW.fingerprint, CHUNKS, first.encoded)
    assert notes(engine) == (
        f"semantic index: hash-64 ready, hash-384 {first.encoded / CHUNKS:.0%}; "
        "`dowse jobs` shows progress, `dowse index` finishes it",
    )
    forget_cached(engine)
    second = bring(engine, NEW)
    assert (second.encoded, second.reused) == (CHUNKS - first.encoded, 0)
    assert_all_of(engine, NEW)


@pytest.mark.usefixtures("small_batches")
def test_an_encoder_that_dies_halfway_leaves_what_it_made(engine: Engine) -> None:
    bring(engine, OLD)
    report = bring(engine, Mortal(NEW, 25))
    assert 0 < report.encoded <= 25
    left = CHUNKS - report.encoded
    assert report.notes == [f"{left} chunks have no vector yet (`dowse index` continues): the encoder is gone"]
    assert state(engine) == (OLD.fingerprint, NEW.fingerprint, CHUNKS, report.encoded)
    assert bring(engine, NEW).encoded == left
    assert_all_of(engine, NEW)


@pytest.mark.usefixtures("small_batches")
def test_a_change_of_mind_drops_what_was_begun(engine: Engine) -> None:
    bring(engine, OLD)
    bring(engine, NEW, stop_after=10)
    bring(engine, OTHER, stop_after=10)
    assert state(engine)[:2] == (OLD.fingerprint, OTHER.fingerprint)
    assert bring(engine, OLD) == VectorFillReport()
    assert_all_of(engine, OLD)


@pytest.mark.usefixtures("small_batches")
def test_chunks_that_come_and_go_meanwhile_are_in_both(engine: Engine, root: Path) -> None:
    bring(engine, OLD)
    bring(engine, NEW, stop_after=10)
    write(root, {"new.md": "# Note new\n\nbrand alpha\n"})
    (root / "3.md").unlink()
    engine.index([root])
    report = bring(engine, NEW, maker=OLD, stop_after=1)
    assert report.encoded > 1
    answering, following, vectors, _ = state(engine)
    assert (answering, following, vectors) == (OLD.fingerprint, NEW.fingerprint, CHUNKS)
    bring(engine, NEW, maker=OLD)
    assert_all_of(engine, NEW)


@pytest.mark.usefixtures("small_batches")
def test_what_is_about_to_be_replaced_is_not_completed_at_great_cost(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(engine, OLD, stop_after=10)
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", 5)
    assert bring(engine, NEW, maker=Mortal(OLD, 0)).notes == []
    assert_all_of(engine, NEW)


def test_much_to_do_begins_with_the_quick_encoder(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", CHUNKS - 1)
    report = bring(engine, Mortal(NEW, 0), quick=OLD)
    assert state(engine) == (OLD.fingerprint, NEW.fingerprint, CHUNKS, 0)
    assert report.encoded == CHUNKS and "the encoder is gone" in report.notes[0]
    bring(engine, NEW, quick=OLD)
    assert_all_of(engine, NEW)


@pytest.mark.usefixtures("small_batches")
def test_the_quick_one_is_completed_before_the_upgrade_goes_on(
    engine: Engine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", 0)
    bring(engine, NEW, quick=OLD, stop_after=10)
    assert state(engine)[:2] == (OLD.fingerprint, None) and 10 <= state(engine)[2] < CHUNKS
    bring(engine, Mortal(NEW, 5), quick=OLD, maker=OLD)
    assert state(engine)[:3] == (OLD.fingerprint, NEW.fingerprint, CHUNKS)
    bring(engine, NEW, quick=OLD, maker=OLD)
    assert_all_of(engine, NEW)


@pytest.mark.parametrize("case", ["little to do", "all in the cache", "it is the wanted one", "there are vectors"])
def test_the_quick_encoder_is_left_out_where_it_does_not_pay(
    engine: Engine, root: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", CHUNKS if case == "little to do" else 0)
    if case == "all in the cache":
        bring(engine, NEW)
        (collection,) = engine.collections()
        engine._core.store.writer.drop(collection.name, [f"{number}.md" for number in range(CHUNKS)])
        engine.index([root])
        assert state(engine)[2] == 0
    if case == "there are vectors":
        bring(engine, OTHER)
    quick = Mortal(NEW if case == "it is the wanted one" else OLD, CHUNKS if case == "it is the wanted one" else 0)
    assert bring(engine, NEW, quick=quick).notes == []
    assert_all_of(engine, NEW)


BROKEN: dict[str, Callable[[int], Matrix]] = {
    "nan": lambda count: np.full((count, 4), np.nan, dtype=np.float32),
    "inf": lambda count: np.full((count, 4), np.inf, dtype=np.float32),
    "too wide": lambda count: np.ones((count, 5), dtype=np.float32),
    "too few": lambda count: np.ones((count - 1, 4), dtype=np.float32),
    "too many": lambda count: np.ones((count + 1, 4), dtype=np.float32),
    "flat": lambda count: np.ones(count, dtype=np.float32),
}


@pytest.mark.parametrize("what", BROKEN)
def test_nonsense_never_reaches_the_store_or_the_cache(engine: Engine, what: str) -> None:
    bring(engine, OLD)
    report = bring(engine, Broken(BROKEN[what]))
    assert report.notes[0].startswith("no vectors were made: the encoder broken returned")
    assert state(engine) == (OLD.fingerprint, "broken:1", CHUNKS, 0)
    cache = IndexEncoders("hashing", DataPaths.of(engine.settings), engine._core.store)._cache(Broken(BROKEN[what]))
    assert cache.lacking([it.digest for it in engine._core.store.vectors.pending("broken:1")]) == CHUNKS
    cache.close()


# --- the engine ------------------------------------------------------------------------------------


def test_an_index_of_another_encoder_is_asked_with_that_until_the_switch(open_engine: OpenEngine, root: Path) -> None:
    write(root, {"a.md": "# A\n\nalpha beta\n", "b.md": "# B\n\ngamma delta\n"})
    engine = open_engine()
    engine.index([root])
    bring(engine, OLD)
    assert engine._core.store.catalog.metadata()[ACTIVE_ENCODER_KEY] == OLD.fingerprint
    hits = engine.search(Query("alpha beta", recipe="semantic")).hits
    assert hits[0].stored.record.path == "a.md"
    assert (
        "the vectors of the index are by hash-64:1; run `dowse index` to replace them by those of hash-384:1"
        in engine.status().encoder_why
    )
    engine.index([root])
    assert engine._core.store.catalog.metadata()[ACTIVE_ENCODER_KEY] == NEW.fingerprint
    assert engine.status().encoder_why == "hashing is set"


def test_vectors_of_an_encoder_that_is_not_here_are_not_compared(open_engine: OpenEngine, root: Path) -> None:
    write(root, {"a.md": "# A\n\nalpha beta\n"})
    engine = open_engine()
    engine.index([root])
    engine._core.store.vectors.prepare_vectors("foreign:1")
    engine._core.store.vectors.put_vectors([1], np.ones((1, 384), dtype=np.float32), "foreign:1")
    engine._core.store.vectors.switch_vectors()
    answer = engine.search(Query("alpha"))
    assert len(answer.hits) == 1
    assert "were made by foreign:1, which the encoder setting excludes" in next(
        it.note for it in answer.steps if it.name == "semantic"
    )


@pytest.mark.parametrize("text", ["!!! ???", "x" * 50_000, "alpha " * 10_000, "\ud800", "\0"])
@pytest.mark.parametrize("recipe", ["semantic", "hybrid"])
def test_any_question_is_answered(open_engine: OpenEngine, root: Path, text: str, recipe: str) -> None:
    write(root, {"a.md": "# A\n\nalpha beta\n"})
    engine = open_engine()
    engine.index([root])
    answer = engine.search(Query(text, recipe=recipe))
    step = next(it for it in answer.steps if it.name == "semantic")
    assert step.after or step.note == "skipped: the query has no content to encode"


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
def test_a_damaged_model_is_told_and_words_answer(
    open_engine: OpenEngine, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (tmp_path / "weights").write_bytes(content)
    monkeypatch.setattr("dowse.encoders.choose.installed_granite_weights", lambda: tmp_path / "weights")
    write(root, {"a.md": "# A\n\nalpha beta\n"})
    engine = open_engine(encoder="granite")
    (note,) = engine.index([root]).notes
    assert note.startswith("no vectors were made: the encoder's weights") and "reinstall" in note
    answer = engine.search(Query("alpha"))
    assert [it.stored.record.path for it in answer.hits] == ["a.md"]
    assert answer.completeness.notes == ("0 of 1 chunks have vectors by granite-embedding-30m-english",)


def test_a_switch_between_encoding_a_question_and_comparing_it(open_engine: OpenEngine, root: Path) -> None:
    write(root, {f"{name}.md": f"# Note\n\n{name} words\n" for name in ("alpha", "beta", "gamma")})
    engine = open_engine()
    engine.index([root])
    encode, asked = engine._core.encoders.encode_query, []

    def slow(text: str) -> QueryVector:
        vector = encode(text)
        asked.append(vector.encoder_fingerprint)
        if len(asked) == 1:
            bring(engine, OLD)
        return vector

    engine._core.encoders.encode_query = slow
    answer = engine.search(Query("beta words", recipe="semantic"))
    assert asked == [NEW.fingerprint, OLD.fingerprint]
    assert answer.hits[0].stored.record.path == "beta.md"
    texts = [text_of(it.stored) for it in answer.hits]
    assert [it.score for it in answer.hits] == pytest.approx(
        OLD.encode(texts) @ OLD.encode(["beta words"])[0], abs=2e-3
    )


class Stuck:
    """The hashing encoder, which never comes back from its second batch."""

    name, fingerprint, dimension = NEW.name, NEW.fingerprint, NEW.dimension
    batches = 0

    def encode(self, texts: Sequence[str]) -> Matrix:
        self.batches += 1
        if self.batches > 1:
            threading.Event().wait()
        return NEW.encode(texts)


def switch_and_hang(index: Path, data: Path) -> None:
    engine = Engine(Settings(encoder="none", data_dir=data), index, create=False)
    with engine._core.store.encoding(10):
        bring(engine, Stuck())


@pytest.mark.usefixtures("small_batches")
def test_killed_while_switching_the_next_run_goes_on(tmp_path: Path, root: Path) -> None:
    write(root, {f"{number}.md": f"# Note {number}\n\n{'word ' * 200}{number}\n" for number in range(CHUNKS)})
    engine = Engine(Settings(encoder="none", data_dir=tmp_path / "data"), tmp_path / "i.db", create=True)
    engine.index([root])
    bring(engine, OLD)
    process = multiprocessing.get_context("spawn").Process(
        target=switch_and_hang, args=(tmp_path / "i.db", tmp_path / "data")
    )
    process.start()
    while state(engine)[3] == 0:
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    answering, following, vectors, made = state(engine)
    assert (answering, following, vectors) == (OLD.fingerprint, NEW.fingerprint, CHUNKS)
    with engine._core.store.encoding(10):
        report = bring(engine, NEW)
    assert 0 < made < CHUNKS and report.encoded == CHUNKS - made
    assert_all_of(engine, NEW)
    engine.close()


# --- with the encoders that come with Dowse ------------------------------------------------------------


def test_the_static_encoder_answers_until_granite_is_done(
    open_engine: OpenEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", CHUNKS - 1)
    texts = {
        f"{number}.md": f"# Note {number}\n\nstatement {number} on topic {number}\n" for number in range(CHUNKS - 1)
    }
    write(root, texts | {"login.md": "# Access\n\nauthentication by password\n"})
    engine = open_engine(encoder="auto")
    passed: list[tuple[str | None, str | None]] = []
    found: list[tuple[str, str]] = []

    def watch(stage: str, count: int, total: int) -> None:
        answering, following, vectors, _ = state(engine)
        if (answering, following) not in passed:
            passed.append((answering, following))
        if following and not found:
            assert vectors == CHUNKS
            answer = engine.search(Query("password authentication", recipe="semantic"))
            found.append((answer.hits[0].stored.record.path, answer.completeness.notes[0]))

    engine.index([root], progress=watch)
    static, granite = fast_encoder().fingerprint, state(engine)[0]
    assert granite is not None and granite.startswith("granite")
    assert passed[-2:] == [(static, None), (static, granite)]
    assert state(engine) == (granite, None, CHUNKS, 0)
    ((path, note),) = found
    assert path == "login.md"
    assert note.startswith("semantic index: static-256 ready, granite")


def test_a_first_answer_waits_for_the_quick_encoder_only(
    open_engine: OpenEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", CHUNKS - 1)
    write(root, {f"{number}.md": f"# Note {number}\n\nstatement {number}\n" for number in range(CHUNKS)})
    engine = open_engine(encoder="auto")
    engine.index([root], vectors=False)
    report = engine.indexing.encode(quick_only=True)
    answering, following, vectors, next_vectors = state(engine)
    assert (answering, vectors, next_vectors) == (fast_encoder().fingerprint, CHUNKS, 0)
    assert following is not None and following.startswith("granite") and report.embedded == CHUNKS
    assert (
        engine.state.is_semantic_ready() and engine.state.is_unfinished() and engine.state.lacking_vectors() == CHUNKS
    )
    engine.indexing.encode()
    assert state(engine) == (following, None, CHUNKS, 0) and not engine.state.is_unfinished()


def test_behind_questions_only_the_transformer_has_the_lowest_priority(
    open_engine: OpenEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", CHUNKS - 1)
    write(root, {f"{number}.md": f"# Note {number}\n\nstatement {number}\n" for number in range(CHUNKS)})
    engine = open_engine(encoder="auto")
    engine.index([root], vectors=False)
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    seen: dict[str, set[int]] = {}

    def watch(stage: str, count: int, total: int) -> None:
        seen.setdefault(stage, set()).add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    engine.indexing.encode(progress=watch, behind_questions=True)
    assert seen == {"quick encoding": {usual}, "encoding": {19}}
    assert os.getpriority(os.PRIO_PROCESS, 0) == usual and not engine.state.is_unfinished()


def test_vectors_that_are_there_count_in_the_progress(open_engine: OpenEngine, root: Path) -> None:
    write(root, {f"{number}.md": f"# Note {number}\n\nstatement {number}\n" for number in range(CHUNKS)})
    engine = open_engine()
    engine.index([root])
    write(root, {"new.md": "# New\n\nanother one\n"})
    told: list[tuple[str, int, int]] = []
    engine.index([root], progress=lambda *step: told.append(step))
    assert [it for it in told if it[0] == "encoding"] == [("encoding", CHUNKS, 41), ("encoding", CHUNKS + 1, 41)]


# --- the choice of an index ----------------------------------------------------------------------------

TEXTS = {"a.md": "# A\n\nalpha beta\n", "b.md": "# B\n\ngamma delta\n"}


def test_another_encoder_of_one_run_does_not_replace_the_vectors(open_engine: OpenEngine, root: Path) -> None:
    write(root, TEXTS)
    open_engine(encoder="hashing").index([root])
    write(root, {"c.md": "# C\n\nepsilon zeta\n"})
    other = open_engine(encoder="static")
    (note,) = other.index([root]).notes
    assert note == (
        "the index keeps its 2 vectors by hash-384; run `dowse index --encoder static --switch-encoder` to replace them"
    )
    assert state(other) == (NEW.fingerprint, None, 3, 0)
    assert "run `dowse index --encoder static --switch-encoder` to replace them" in other.status().encoder_why
    answer = other.search(Query("alpha beta", recipe="semantic"))
    assert answer.hits[0].stored.record.path == "a.md"
    told = next(it.note for it in answer.steps if it.name == "semantic")
    assert told == "compared by hash-384, which made the vectors of the index, not by static"


def test_a_switch_replaces_them_and_is_remembered(open_engine: OpenEngine, root: Path) -> None:
    write(root, TEXTS)
    open_engine(encoder="hashing").index([root])
    assert open_engine(encoder="static").indexing.encode(switch=True).notes == []
    write(root, {"c.md": "# C\n\nepsilon zeta\n"})
    later = open_engine(encoder="auto")
    assert later.index([root]).notes == []
    assert state(later) == (fast_encoder().fingerprint, None, 3, 0)
    assert later.state.encoder_name == "static-256"


def test_the_choice_of_the_first_run_stays_until_there_are_vectors(open_engine: OpenEngine, root: Path) -> None:
    """Where nothing would be replaced, any encoder may be asked for."""
    open_engine(encoder="hashing").index([root])
    write(root, TEXTS)
    engine = open_engine(encoder="static")
    assert engine.index([root]).notes == []
    assert open_engine(encoder="auto").index([root]).notes == []
    assert state(engine) == (fast_encoder().fingerprint, None, 2, 0)


def test_auto_never_downgrades(open_engine: OpenEngine, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, TEXTS)
    open_engine(encoder="auto").index([root])
    engine = open_engine(encoder="auto")
    granite, *_ = state(engine)
    assert granite is not None and granite.startswith("granite")

    def missing() -> Path:
        raise EncoderMissing("its weights are not installed")

    monkeypatch.setattr("dowse.encoders.choose.installed_granite_weights", missing)
    write(root, {"c.md": "# C\n\nepsilon zeta\n"})
    (note,) = engine.index([root]).notes
    assert note.startswith("no vectors were made: the vectors of the index are by granite") and "not installed" in note
    assert state(engine) == (granite, None, 2, 0)


def test_a_server_that_only_the_index_names_is_never_asked(open_engine: OpenEngine, root: Path) -> None:
    """An index may have come with a repository: what it says must not send texts anywhere."""
    write(root, TEXTS)
    open_engine(encoder="hashing").index([root])
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        engine = open_engine(encoder="auto")
        engine._core.store.writer.note(ENCODER_SETTING_KEY, f"tei:http://127.0.0.1:{server.getsockname()[1]}")
        write(root, {"c.md": "# C\n\nepsilon zeta\n"})
        (note,) = engine.index([root]).notes
        assert note.startswith("no vectors were made: the index keeps its 2 vectors by hash-384")
        engine.search(Query("alpha"))
        engine.status()
        with pytest.raises(BlockingIOError):
            server.accept()


# --- under load --------------------------------------------------------------------------------------


class Watched:
    """A store whose answers by meaning are compared with what the encoder of the query makes of the same texts."""

    def __init__(self, store: SqliteStore, wrong: list[str]) -> None:
        self._store, self._wrong = store, wrong
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> object:
        """The other methods of the store, and those of its vectors."""
        return getattr(self._store, name) if hasattr(self._store, name) else getattr(self._store.vectors, name)

    def view(self, scope: Scope = EVERYTHING) -> StoreView:
        return StoreView(self, scope)  # type: ignore[arg-type]

    @property
    def vectors(self) -> Watched:
        return self

    def near(self, vector: Matrix, scope: Scope, limit: int, made_by: str | None = None, *among: Any) -> object:
        threading.Event().wait(0.001)  # time for a switch
        found = self._store.vectors.near(vector, scope, limit, made_by, *among)
        assert made_by is not None
        self.seen.add(made_by)
        encoder = next(it for it in (OLD, NEW) if it.fingerprint == made_by)
        scores = {it.key: it.score for it in found}
        for stored in self._store.catalog.load(list(scores)):
            expected = float(encoder.encode([text_of(stored)])[0] @ vector)
            if abs(expected - scores[stored.key]) > 2e-3:
                self._wrong.append(f"{made_by}: {scores[stored.key]} instead of {expected}")
        return found


@pytest.mark.usefixtures("small_batches")
def test_switching_under_load_fails_no_question_and_mixes_nothing(tmp_path: Path, root: Path) -> None:
    write(root, {f"{number}.md": f"# Note {number}\n\nword{number} alpha beta\n" for number in range(CHUNKS)})
    wrong: list[str] = []
    signer = Signer.of(DataPaths(tmp_path / "data"))
    store = Watched(SqliteStore(tmp_path / "i.db", exact_up_to=20, signer=signer), wrong)
    engine = Engine(Settings(encoder="none", data_dir=tmp_path / "data"), tmp_path / "i.db", create=True, store=store)
    engine.index([root])
    bring(engine, OLD)
    engine._core.encoders = IndexEncoders("auto", DataPaths.of(engine.settings), engine._core.store)
    done = threading.Event()

    def ask(recipe: str) -> None:
        count = 0
        while not done.is_set() or count < 5:
            count += 1
            try:
                answer = engine.search(Query(f"word{count % CHUNKS} alpha", recipe=recipe))
            except Exception as error:  # noqa: BLE001 - any failure of a question fails the test
                wrong.append(repr(error))
                return
            step = next(it for it in answer.steps if it.name == "semantic")
            if step.note or not step.after:
                wrong.append(f"{recipe}: {step}")

    threads = [threading.Thread(target=ask, args=(recipe,)) for recipe in ("semantic", "hybrid", "semantic")]
    for thread in threads:
        thread.start()
    indexer = Engine(Settings(encoder="none", data_dir=tmp_path / "data"), tmp_path / "i.db", create=False)
    for turn, encoder in enumerate((NEW, OLD, NEW, OLD, NEW)):
        write(root, {f"{turn}.md": f"# Note {turn}\n\nother{turn} alpha\n", f"new{turn}.md": "# Note n\n\nalpha new\n"})
        (root / f"{CHUNKS - 1 - turn}.md").unlink()
        indexer.index([root])
        bring(indexer, encoder, maker=OLD if encoder is NEW else NEW)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store.seen == {OLD.fingerprint, NEW.fingerprint}
    assert_all_of(indexer, NEW)
    indexer.close()
    engine.close()


@pytest.mark.parametrize("lives", [0, 10])
def test_a_quick_encoder_that_fails_does_not_keep_the_better_one_from_its_work(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, lives: int, small_batches: None
) -> None:
    monkeypatch.setattr(upgrade, "MAX_CHUNKS_WITHOUT_QUICK", CHUNKS - 1)
    filled = bring(engine, NEW, quick=Mortal(OLD, lives))
    assert "no quick vectors were made: the encoder is gone" in filled.notes
    assert_all_of(engine, NEW)
